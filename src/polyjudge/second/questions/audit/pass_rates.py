"""Gates: which tasks pass a threshold, by language and judge, before and after calibration.

See docs/methods.md, section 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.second.estimate.incomplete import CellRates, Holes, InteractionEstimate, entry_weights, estimate_interaction
from polyjudge.second.estimate.kernels import BLOCK, CHUNK, double_centre
from polyjudge.second.estimate.resample import check_level, check_resamples, mean_and_se, mean_of_known, tracked_draws
from polyjudge.second.estimate.shares import wilson
from polyjudge.second.estimate.tetrads import FEW_CHANGES, upper_share
from polyjudge.second.panel.arrays import Array, mean_there, row_blocks
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

if TYPE_CHECKING:
    from polyjudge.second.estimate.passing import Moved

MOST_SHUFFLED = 4_000_000
"""Pass marks moved by the shuffles behind `spread_chance`; larger panels get fewer of them."""
MOST_COMPARED = 2_000_000_000
"""Comparisons of scores with thresholds over all resamples; beyond it fewer resamples are made."""
SHRUNK = np.linspace(0.0, 1.0, 11)
"""Parts of the differences between languages at which spreads are resampled, for the lower limit of a spread."""
HERE = (
    "spread_raw",
    "spread_calibrated",
    *(f"held_out_{x}" for x in ("raw", "calibrated", "reduction", "low", "high")),
)
"""Columns of the sweep that are fields of the result too, of its own threshold."""


class Gates(Result):
    """Pass rates at a threshold, raw and calibrated.

    `cells`: language, judge, pass_raw, pass_calibrated (shares of tasks) with their standard errors over tasks.
    `sweep`: one row per threshold. Spreads are in percentage points: over judges the mean of the largest less the
    smallest pass rate over languages. `reduction` is raw less calibrated on the same tasks; `held_out_*` are measured
    on left-out tasks with the interaction from the drawn ones. `systems`: system, language, and over its judges
    pass_raw, pass_calibrated with their standard errors, decisions, flips (those that calibrating turns); empty without
    systems.
    """

    threshold: float
    cells: pd.DataFrame
    systems: pd.DataFrame
    spread_raw: float
    spread_calibrated: float
    held_out_raw: float
    held_out_calibrated: float
    held_out_reduction: float
    held_out_low: float
    held_out_high: float
    base: str | None
    contrast: pd.DataFrame | None
    """Pass rate of the base language less the mean of the others, in percentage points, with score limits."""
    sweep: pd.DataFrame
    resamples: int
    level: float
    notes: tuple[Say, ...]
    spread_chance: float
    """Raw spread when the languages of each task and judge are shuffled, on average: what chance alone gives. NaN where
    scores are missing."""
    at_least: bool = False
    """Whether a task passes at the threshold itself (>=), or only above it (>)."""
    decisions: int = 0
    """Scores that pass or fail: every task, system, language and judge."""
    flips: int = 0
    """Decisions that calibrating turns."""
    flip_share: float = 0.0
    flip_low: float = 0.0
    flip_high: float = 0.0
    """Share of decisions that calibrating turns, with its interval over tasks."""


def gates(
    panel: Panel,
    threshold: float,
    *,
    sweep: Iterable[float] = (),
    base: str | None = None,
    at_least: bool = False,
    resamples: int = 1000,
    seed: int = 7,
    level: float = 0.95,
) -> Gates:
    """Pass rates and their spread over languages at `threshold`: a task passes when its score is above it.

    sweep : more thresholds to measure the spread at; those outside the scores are left out with a note
    base : language to contrast with the mean of the others
    at_least : a task passes at the threshold too
    resamples : task bootstraps behind held-out spreads and intervals

    >>> from polyjudge.second import simulate_panel
    >>> g = gates(simulate_panel(seed=1)[0], 50)
    >>> bool(g.spread_calibrated < g.spread_raw)
    True
    """
    check_level(level)
    check_resamples(resamples)
    whole, panel = panel, panel.by_system()  # a decision falls on a system's answer to a task, not on their mean
    _check_gate(panel, threshold, base, at_least)
    inside, resamples, notes = _prepared(panel, threshold, sweep, at_least, resamples)
    beta = estimate_interaction(panel).interaction
    raw, calibrated = panel.scores, panel.scores - beta
    at = int(np.flatnonzero(inside == threshold)[0])
    edges = _edge(panel, inside, at_least)
    table = [[pass_rates(panel, s > edge) for s in (raw, calibrated)] for edge in edges]
    before, after = raw > edges[at], calibrated > edges[at]
    del calibrated  # as large as the panel
    wanted = None if base is None else (at, panel.languages.index(base))
    found = np.stack([[rate for rate, _ in row] for row in table], axis=1)  # (2, edges, k, m)
    draws = (_resampled if panel.complete else _resampled_with_holes)(panel, edges, resamples, seed, wanted, found)
    tails = [(1 - level) / 2, (1 + level) / 2]
    frame = pd.DataFrame([_sweep_row(q, table[i], draws, i, tails) for i, q in enumerate(inside)])
    here: dict[str, Any] = {name: float(frame[name].iloc[at]) for name in HERE}
    (pass_raw, se_raw), (pass_calibrated, se_calibrated) = table[at]
    rates = {"pass_raw": pass_raw, "pass_calibrated": pass_calibrated}
    errors = {"pass_raw_se": se_raw, "pass_calibrated_se": se_calibrated}
    cells = panel.long(**rates, **errors)
    contrast = None
    if wanted is not None:
        marks = {"raw": before, "calibrated": after}
        means = {"raw": pass_raw, "calibrated": pass_calibrated}
        contrast = _contrast(panel, wanted[1], marks, means, draws, level)
    return Gates(
        threshold=float(threshold),
        cells=cells,
        systems=_by_system(whole, panel, before, after),
        **here,
        base=base,
        contrast=contrast,
        sweep=frame,
        resamples=resamples,
        level=level,
        notes=tuple(notes),
        spread_chance=chance_spread(panel, before, seed) if panel.complete else float("nan"),
        at_least=at_least,
        **_flips(panel, before, after, level),
    )


def means_inside(panel: Panel, level: float, threshold: float | None, at_least: bool) -> pd.DataFrame:
    """Mean score, and share that passes, of each language and judge, over the tasks (clusters) it has: for panels that
    cannot be compared between languages."""
    mean, se, _, tasks = mean_of_known(panel.scores, panel)
    half = np.where(tasks > 1, stdtrit(np.maximum(tasks - 1, 1), (1 + level) / 2) * se, np.nan)
    columns = {"mean": mean, "low": mean - half, "high": mean + half, "tasks": tasks}
    if threshold is not None:
        _check_gate(panel, threshold, None, at_least)
        single = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
        passes = np.where(np.isnan(single), np.nan, single > _edge(panel, threshold, at_least))
        share, _, _, clusters = mean_of_known(mean_there(passes, 1), panel)
        # Answers of one task vary less than whole tasks, so the interval of so many tasks is safe.
        low, high = wilson(share, np.maximum(clusters, 1), ndtri((1 + level) / 2))
        columns |= {"pass_rate": share, "pass_low": low, "pass_high": high}
    return panel.long(**columns)


def _edge(panel: Panel, threshold: Any, at_least: bool) -> Any:
    """What a score must exceed to pass: one within a tie of the threshold is at it."""
    return threshold + (-panel.tie_gap if at_least else panel.tie_gap)


def _check_gate(panel: Panel, threshold: float, base: str | None, at_least: bool) -> None:
    low, high = panel.range
    if not _divides(threshold, low, high, at_least):
        side = "no task can pass" if threshold >= high else "every task passes"
        raise UsageError(
            f"The threshold {threshold:g} lies outside the scores [{low:g}, {high:g}], so {side}. Choose one inside."
        )
    if base is not None and base not in panel.languages:
        known = ", ".join(clean(x) for x in panel.languages[:12])
        raise UsageError(f"The base language {clean(base)!r} is not in the panel; it has {known}.")


def _prepared(
    panel: Panel, threshold: float, sweep: Iterable[float], at_least: bool, resamples: int
) -> tuple[Array, int, list[Say]]:
    """Thresholds inside the scores, the number of resamples that is affordable, and notes on both."""
    low, high = panel.range
    wanted = sorted({float(q) for q in sweep} | {float(threshold)})
    inside = np.array([q for q in wanted if _divides(q, low, high, at_least)])
    notes = []
    if len(inside) < len(wanted):
        notes.append(say("gate.note.outside", count=len(wanted) - len(inside), low=low, high=high))
    most = max(100, MOST_COMPARED // (panel.scores.size * len(inside)))
    if resamples > most:
        notes.append(say("gate.note.fewer-resamples", made=most, asked=resamples, units=len(panel.tasks)))
        resamples = most
    if not panel.complete:
        notes.append(say("gate.note.missing"))
    if not np.all(panel.weights == 1):
        notes.append(say("gate.note.units"))
    return inside, resamples, notes


def _sweep_row(
    threshold: float, rates: list[tuple[Array, Array]], draws: dict[str, Array], index: int, tails: list[float]
) -> dict[str, float]:
    """One threshold of the sweep: pass rates and their spread, raw and calibrated, seen and held out."""
    out: dict[str, float] = {"threshold": threshold}
    of = {name: rate for name, (rate, _) in zip(("raw", "calibrated"), rates, strict=True)}
    out |= {f"pass_{name}": 100 * rate.mean() for name, rate in of.items()}
    out |= {f"spread_{name}": float(spread(rate)) for name, rate in of.items()}
    for name in of:
        high = np.quantile(draws[f"drawn_{name}"][:, index], tails[1])
        low = _least(out[f"spread_{name}"], np.quantile(draws[f"shrunk_{name}"][:, index], tails[1], axis=0))
        out |= {f"spread_{name}_low": low, f"spread_{name}_high": high}
    out["reduction"] = out["spread_raw"] - out["spread_calibrated"]
    held = {name: draws[f"held_{name}"][:, index] for name in of}
    out |= {f"held_out_{name}": values.mean() for name, values in held.items()}
    reduction = held["raw"] - held["calibrated"]
    low, high = np.quantile(reduction, tails)
    return out | {"held_out_reduction": reduction.mean(), "held_out_low": low, "held_out_high": high}


def _least(found: float, largest: Array) -> float:
    """The least spread that may be behind the one found: it is that of the rates drawn together to a part (`SHRUNK`).

    The largest of several rates less the smallest is above 0 by noise alone, and a resample adds its own. So rates are
    drawn together until the one found is `largest`, what resamples then seldom exceed.
    """
    reach = np.maximum.accumulate(largest)
    return found * float(np.interp(found, reach, SHRUNK)) if found > reach[0] else 0.0


def _divides(threshold: float, low: float, high: float, at_least: bool) -> bool:
    """Whether scores from `low` to `high` can both pass and fail."""
    return low < threshold <= high if at_least else low <= threshold < high


def _flips(panel: Panel, before: NDArray[np.bool_], after: NDArray[np.bool_], level: float) -> dict[str, Any]:
    """Decisions (n, k, m) that calibrating turns, out of all, and their share with its interval over tasks."""
    there = ~np.isnan(panel.scores)
    count = there.sum(axis=(1, 2))
    turned = ((before != after) & there).sum(axis=(1, 2))
    used = count > 0
    cluster = np.unique(panel.cluster[used], return_inverse=True)[1]
    share, se = mean_and_se((turned[used] / count[used])[:, None], panel.weights[used] * count[used], cluster)
    units = int(cluster.max()) + 1
    half = float(stdtrit(units - 1, (1 + level) / 2) * se[0])
    high = float(share[0]) + half
    moved = np.count_nonzero(np.bincount(cluster, turned[used]))
    if moved < FEW_CHANGES:  # few tasks hold all that turns: their spread does not bound what is rarer still
        high = max(high, float(upper_share(np.array([moved]), units, (1 + level) / 2)[0]))
    return {
        "decisions": int(count.sum()),
        "flips": int(turned.sum()),
        "flip_share": float(share[0]),
        "flip_low": max(0.0, float(share[0]) - half),
        "flip_high": min(1.0, high),
    }


def _by_system(whole: Panel, panel: Panel, before: NDArray[np.bool_], after: NDArray[np.bool_]) -> pd.DataFrame:
    """Which system passes where: the mean over its decisions (n, k, m) in a language, every answer counting alike."""
    there, rows = ~np.isnan(panel.scores), []
    of = np.array(whole.answers()[1] if whole.systems else (), object)
    for system, (x, language) in product(whole.systems, enumerate(panel.languages)):
        used = (of == system) & there[:, x].any(axis=1)
        if used.sum() < 2:
            continue
        held, count = there[used, x], there[used, x].sum(axis=1)
        passed = np.stack([(marks[used, x] & held).sum(axis=1) / count for marks in (before, after)], axis=1)
        rate, se = mean_and_se(passed, panel.weights[used], np.unique(panel.cluster[used], return_inverse=True)[1])
        turned = int(((before != after)[used, x] & held).sum())
        rows.append((system, language, *np.column_stack([rate, se]).ravel(), int(count.sum()), turned))
    names = ["pass_raw", "pass_raw_se", "pass_calibrated", "pass_calibrated_se", "decisions", "flips"]
    return pd.DataFrame(rows, columns=["system", "language", *names])


def chance_spread(panel: Panel, passed: NDArray[np.bool_], seed: int, shuffles: int = 200) -> float:
    """Mean spread of pass marks (n, k, m) whose languages are shuffled inside each task and judge."""
    share = panel.weights / panel.weights.sum()
    marks = passed.transpose(0, 2, 1) * share[:, None, None]
    rng = np.random.default_rng([seed, 2])
    draws = min(shuffles, max(5, MOST_SHUFFLED // marks.size))
    rates = np.stack([rng.permuted(marks, axis=2).sum(axis=0).T for _ in range(draws)])
    return float(spread(rates).mean())


def spread(rates: Array) -> Array:
    """Mean over judges of the range over languages, in percentage points: (..., k, m) -> (...)."""
    out: Array = 100 * (rates.max(axis=-2) - rates.min(axis=-2)).mean(axis=-1)
    return out


def _draws(panel: Panel, resamples: int, seed: int, width: int = 4) -> tuple[NDArray[np.int64], Iterator[Array]]:
    """The drawn thing (cluster, or unit) each unit belongs to, and blocks of (2, b, drawn): times drawn, left out.

    width : the larger, the shorter the blocks of many units
    """
    n, drawn = len(panel.tasks), int(panel.cluster.max()) + 1
    blocks = tracked_draws(drawn, resamples, seed, label="resampling gates")
    both = (np.stack([c[part], c[part] == 0]).astype(np.float64) for c in blocks for part in row_blocks(c, width))
    return np.arange(n) if drawn == n else panel.cluster, (x[:, x[1].any(axis=1)] for x in both)


def _resampled(
    panel: Panel, edges: Array, resamples: int, seed: int, wanted: tuple[int, int] | None, found: Array
) -> dict[str, Array]:
    """Spreads (resamples, edges) of drawn and of left-out tasks, raw and calibrated by drawn ones; and of drawn ones
    that are drawn together (resamples, edges, `SHRUNK`), given the rates `found` (2, edges, k, m) of all tasks.

    `wanted`: the edge whose contrast (resamples, m + 1) of a base language is kept as well.
    """
    n, k, m = panel.shape
    flat = panel.scores.reshape(n, -1)
    column, blocks = _draws(panel, resamples, seed)
    from polyjudge.second.estimate.passing import Passing

    passing = Passing(flat, column, panel.weights)
    total = np.bincount(column, panel.weights)
    scores = (
        (flat if bool(np.all(panel.weights == 1)) else flat * panel.weights[:, None])
        if len(total) == n
        else np.stack([np.bincount(column, x * panel.weights) for x in flat.T], axis=1)
    )
    out: dict[str, list[Array]] = {}
    step = max(1 if passing.few else BLOCK // 4, 2 * CHUNK // (2 * len(edges) * k * m))
    for block in blocks:
        beta = double_centre((block[0] @ scores / (block[0] @ total)[:, None]).reshape(-1, k, m))
        for start in range(0, len(beta), step):
            times = block[:, start : start + step]
            # The calibrated score passes q where the raw one passes q plus the cell's interaction.
            passed = passing(_thresholds(beta[start : start + step], edges), times)
            _keep(out, passed / (times @ total)[..., None, None], found, wanted)
    return {name: np.concatenate(parts) for name, parts in out.items()}


def _thresholds(beta: Array, edges: Array) -> Array:
    """(R, 2 edges, km): what a raw score must pass, raw and calibrated by the interaction (R, k, m)."""
    raw = np.broadcast_to(edges[:, None], (len(beta), len(edges), beta[0].size))
    return np.concatenate([raw, beta.reshape(len(beta), 1, -1) + edges[:, None]], axis=1)


def _keep(out: dict[str, list[Array]], rates: Array, found: Array, wanted: tuple[int, int] | None) -> None:
    """Adds the spreads of rates (sides, R, 2 edges, km), and the contrast at an edge, to what is there."""
    for side, both in zip(("drawn", "held"), rates, strict=True):
        for name, part, whole in zip(("raw", "calibrated"), np.split(both, 2, axis=1), found, strict=True):
            cells = part.reshape(len(part), *whole.shape)
            out.setdefault(f"{side}_{name}", []).append(spread(cells))
            if side == "held":
                continue
            apart = whole - whole.mean(axis=-2, keepdims=True)
            less = [spread(cells - (1 - kept) * apart) for kept in SHRUNK]
            out.setdefault(f"shrunk_{name}", []).append(np.stack(less, axis=-1))
            if wanted is not None:
                at, base = wanted
                out.setdefault(f"contrast_{name}", []).append(_apart(cells[:, at], base))


def pass_rates(panel: Panel, passed: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Pass rate of each cell and its standard error: (n, k, m) -> (k, m), (k, m)."""
    values = passed.astype(np.float64)
    if panel.complete:
        return mean_and_se(values, panel.weights, panel.cluster)
    holed = panel.with_scores(np.where(np.isnan(panel.scores), np.nan, values))
    estimate = InteractionEstimate(holed, "additive", estimate_interaction(panel))
    return np.clip(estimate.cells, 0.0, 1.0), mean_and_se(estimate.cell_influence, panel.weights, panel.cluster)[1]


def _resampled_with_holes(
    panel: Panel, edges: Array, resamples: int, seed: int, wanted: tuple[int, int] | None, found: Array
) -> dict[str, Array]:
    """The same for a panel with missing scores: every rate is a least-squares estimate, in every resample."""
    n, k, m = panel.shape
    require_time(resamples * float(k * m) ** 3 / 256, f"Gates of {k * m:,} cells, some of whose scores are missing,")
    flat = panel.scores.reshape(n, -1)
    holes = Holes(entry_weights(panel).reshape(n, -1), panel.weights)
    estimate = estimate_interaction(panel)
    column, blocks = _draws(panel, resamples, seed, -(-n // (int(panel.cluster.max()) + 1)))
    from polyjudge.second.estimate.passing import Moved

    moved = Moved(flat)
    out: dict[str, list[Array]] = {}
    for times in blocks:
        betas = [estimate.resample(side[:, column])[1] for side in times]
        known = np.isfinite(betas[0]).all(axis=(1, 2)) & np.isfinite(betas[1]).all(axis=(1, 2))
        if known.any():
            fits = [CellRates(holes, side[known][:, column]) for side in times]
            rates = _by_moves(fits, moved, _thresholds(betas[0][known], edges))
            _keep(out, np.clip(np.stack(rates), 0.0, 1.0), found, wanted)
    if not out:
        raise PanelError(
            "In no resampling do the left-out tasks identify the interaction, so held-out gates cannot be had. Score "
            "more tasks, or drop those that lack scores (--incomplete drop)."
        )
    return {name: np.concatenate(parts) for name, parts in out.items()}


def _by_moves(fits: list[CellRates], moved: Moved, limits: Array) -> list[Array]:
    """Rates (R, limits, km) of each side.

    Every score is compared with the median of each limit over the resamplings. The limits of one resampling lie close
    to it, so only the few scores in between are looked at again.
    """
    from scipy.sparse import csr_array

    draws, edges, cells = limits.shape
    holes = fits[0].holes
    first = np.median(limits, axis=0)
    right: Array = np.empty((len(fits), draws, edges, cells))
    level: Array = np.empty((len(fits), draws, edges))
    for e in range(edges):
        marks = (moved.scores > first[e]).astype(np.float64)
        for s, fit in enumerate(fits):
            right[s, :, e], level[s, :, e] = fit.sums(marks)
    right, level = right.reshape(len(fits), -1, cells), level.reshape(len(fits), -1)
    for c in range(cells):
        for rows, begins, units, gain in moved(c, first[:, c], limits[..., c]):
            row = np.repeat(np.arange(rows.start, rows.stop), np.diff(begins))
            for s, fit in enumerate(fits):
                counted = gain * fit.times[row // edges, units]
                right[s, rows, c] += np.bincount(row - rows.start, counted * holes.weights[units, c], len(begins) - 1)
                means = csr_array((counted * holes.share[units, c], units, begins), (len(begins) - 1, len(holes.units)))
                right[s, rows] -= means @ holes.weights
                level[s, rows] += means @ holes.counted
    shaped = zip(fits, right.reshape(-1, *limits.shape), level.reshape(-1, draws, edges), strict=True)
    return [fit.levelled(*sums) for fit, *sums in shaped]


def _apart(rates: Array, base: int) -> Array:
    """Base language less the mean of the others, in points: (..., k, m) -> (..., m + 1), mean of judges last."""
    gap = 100 * (rates[..., base, :] - np.delete(rates, base, axis=-2).mean(axis=-2))
    return np.concatenate([gap, gap.mean(axis=-1, keepdims=True)], axis=-1)


def _contrast(
    panel: Panel, base: int, marks: dict[str, NDArray[np.bool_]], means: dict[str, Array], draws: dict[str, Array],
    level: float,
) -> pd.DataFrame:  # fmt: skip
    """The contrast of every judge and of the mean of the judges, with score limits; with holes those of resamples."""
    columns: dict[str, object] = {"judge": [*panel.judges, "(mean of judges)"]}
    for name in ("raw", "calibrated"):
        drawn = draws[f"contrast_{name}"]
        if panel.complete:
            low, high = _score_limits(panel, marks[name], base, drawn.std(axis=0, ddof=1), level)
        else:
            low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        columns |= {name: _apart(means[name], base), f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)


def _score_limits(
    panel: Panel, passed: NDArray[np.bool_], base: int, spread: Array, level: float
) -> tuple[Array, Array]:
    """Limits of base less the others, in points, from the score limits of both rates (Newcombe 1998, paired): (m + 1,).

    Near 0% or 100% tasks that differ are few, and limits from their spread alone miss too often. `spread` (m + 1,) is
    the standard error over resamples, which knows that the calibration was estimated: limits are as much wider.
    """
    values = passed.astype(np.float64)
    pair = np.stack([values[:, base], np.delete(values, base, axis=1).mean(axis=1)], axis=1)  # (n, 2, m)
    pair = np.concatenate([pair, pair.mean(axis=2, keepdims=True)], axis=2)
    both = np.concatenate([pair, pair[:, :1] - pair[:, 1:]], axis=1)
    rates, errors = mean_and_se(both, panel.weights, panel.cluster)
    (a, b), (se_a, se_b, se) = rates[:2], errors
    units = float(panel.cluster.max() + 1)
    t = float(stdtrit(units - 1, (1 + level) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        together = np.where(se_a * se_b > 0, (se_a**2 + se_b**2 - se**2) / (2 * se_a * se_b), 0.0)

    def limits(p: Array, error: Array) -> tuple[Array, Array]:
        """Of as many independent tasks as have this error."""
        n = np.divide(p * (1 - p), error**2, out=np.full_like(p, units), where=error > 0)
        return wilson(p, np.clip(n, 1.0, 1e9), t)

    (low_a, high_a), (low_b, high_b) = limits(a, se_a), limits(b, se_b)

    def reach(first: Array, second: Array) -> Array:
        return np.sqrt(np.maximum(first**2 - 2 * together * first * second + second**2, 0.0))

    wider = np.maximum(1.0, np.divide(spread / 100, se, out=np.ones_like(se), where=se > 0))
    below, above = reach(a - low_a, high_b - b) * wider, reach(high_a - a, b - low_b) * wider
    return 100 * np.maximum(a - b - below, -1), 100 * np.minimum(a - b + above, 1)


def parse_sweep(text: str) -> list[float]:
    """Thresholds from `first:last:step`, both ends included.

    >>> parse_sweep("10:30:10")
    [10.0, 20.0, 30.0]
    """
    try:
        first, last, step = (float(x) for x in text.split(":"))
    except ValueError:
        raise UsageError(f"A sweep is written first:last:step, for example 10:70:5; this is {clean(text)!r}.") from None
    if not (np.isfinite([first, last, step]).all() and step > 0 and last >= first):
        raise UsageError(f"The sweep {clean(text)} needs a last threshold at or above the first and a positive step.")
    if (last - first) / step > 1000:
        raise UsageError(f"The sweep {clean(text)} has more than 1,000 thresholds. Use a larger step.")
    return [first + i * step for i in range(int((last - first) / step + 1e-9) + 1)]
