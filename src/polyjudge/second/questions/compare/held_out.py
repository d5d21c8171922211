"""Held-out comparison of methods: rank consistency and label-free accuracy gain on tasks that were not drawn.

docs/methods.md, section 7. One engine serves every protocol that resamples tasks: `resample` yields blocks of them, in
which the cell means are one matrix product of multiplicities and scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.calibrate.base import Calibrator
from polyjudge.second.calibrate.methods import Block, Estimate, Map, Method, Multiplicity, find_methods, full_fit, make_block
from polyjudge.second.calibrate.shrinkage import Gain, shrinkage, unbiased_gain
from polyjudge.second.estimate.incomplete import estimate_interaction, sampling_panel
from polyjudge.second.estimate.kernels import BLOCK, draw_block, kendall_tau, mean_of_pairs, pair_index
from polyjudge.second.panel import budget as memory
from polyjudge.second.panel.arrays import TIE_TOLERANCE, Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

GAIN_SCOPE = say("gain.scope")
"""What the gain says and for whom. Shown wherever the gain is shown."""


def resample(
    panel: Panel,
    resamples: int,
    seed: int,
    estimate: Estimate | None = None,
    draws: Multiplicity | None = None,
    label: str = "resampling tasks",
) -> Iterator[tuple[Block, NDArray[np.int64]]]:
    """Blocks of resamples, each with the numbers of its resamples.

    A resample that drew every unit has nothing to evaluate on, and one whose drawn or left-out units do not identify
    the interaction (in a panel with holes) has no estimate: neither is in any block. `draws` are multiplicities
    (resamples, n) to use instead of those of the seed.
    """
    if resamples < 1:
        raise UsageError(f"resamples must be at least 1, not {resamples}.")
    if seed < 0:
        raise UsageError(f"seed must not be negative; it is {seed}.")
    estimate = estimate or estimate_interaction(panel).resample
    draws = None if draws is None else check_draws(panel, draws)
    total = resamples if draws is None else len(draws)
    blocks = range(-(-total // BLOCK))
    some = False
    for index in track(blocks, len(blocks), label):
        start, stop = index * BLOCK, min((index + 1) * BLOCK, total)
        drawn = (
            draw_block(len(panel.tasks), stop - start, seed, index, panel.cluster, panel.strata)
            if draws is None
            else draws[start:stop]
        )
        block, kept = make_block(panel, drawn, drawn == 0, estimate, (seed, index))
        if len(kept):
            some = True
            yield block, start + kept
        del block, drawn
    if not some and not panel.complete:
        missing = float(np.isnan(panel.scores).mean())
        raise PanelError(
            f"{missing:.0%} of the scores are missing, too many to compare judges. Ask again for the missing ones, or "
            "read only the languages and judges that have most of theirs (--languages, --judges)."
        )
    if not some:
        raise UsageError(
            f"Not one of {total} resamples can be evaluated: each drew every task, or leaves the interaction "
            "unidentified. Ask for more resamples, or score more tasks."
        )


def check_draws(panel: Panel, draws: Multiplicity) -> Multiplicity:
    """Multiplicities given by the user, if they fit the panel."""
    n = len(panel.tasks)
    if draws.ndim != 2 or draws.shape[1] != n or draws.dtype.kind not in "iu" or not len(draws):
        raise UsageError(f"draws must be whole numbers of shape (resamples, {n}): how often each task is drawn.")
    if (draws < 0).any() or not draws.any(axis=1).all():
        raise UsageError("draws must not be negative, and every resample must draw at least one task.")
    return draws


# --- compare ---


@dataclass(frozen=True)
class Advice:
    """Whether calibrating is advised, from its gain."""

    verdict: Literal["advised", "not advised"]
    text: Say

    @property
    def calibrate(self) -> bool:
        return self.verdict == "advised"


class Comparison(Result):
    """Methods side by side on left-out tasks.

    `table` has one row per method: method, tau, low, high (mean and 95% percentile interval over resamples of the mean
    Kendall tau over language pairs), full_fit (tau when trained and evaluated on all tasks), identity (what of the row
    is true by arithmetic: a key of `IDENTITIES`), gain, gain_low, gain_high (of one judge drawn at random, points
    squared, with all tasks: without bias, jackknife interval; NaN for methods that do more than subtract),
    gain_held_out with its interval and gain_positive (on left-out tasks: mean, percentiles and share above 0 over
    resamples; low by about one estimation variance, because a resample is as noisy as half as many tasks),
    gain_full_fit (in sample).
    """

    table: pd.DataFrame
    differences: pd.DataFrame
    """Paired over the same resamples: method_a, method_b, difference (of tau), low, high, and the shares of resamples
    in favour of each: favour_a, favour_b"""
    resamples: int
    skipped: int
    """Resamples without a result: they drew every task, or do not identify the interaction of an incomplete panel"""
    seed: int
    scope: Say
    advice: Advice | None
    notes: tuple[Say, ...]
    resample_tau: pd.DataFrame
    """tau of every resample (rows) and method (columns)"""
    resample_gain: pd.DataFrame
    """Held-out gain of every resample and subtracting method"""

    def to_dict(self) -> dict[str, Any]:
        """All but the single resamples."""
        out = super().to_dict()
        del out["resample_tau"], out["resample_gain"]
        return out


def _anchored(panel: Panel, gold: Any) -> Calibrator:
    from polyjudge.second.calibrate.anchored import AnchoredCalibrator

    return AnchoredCalibrator(shift="centred", map="shift").fit(panel, gold)


def compare(
    panel: Panel,
    methods: str | Method | Calibrator | Iterable[str | Method | Calibrator] | None = None,
    resamples: int = 1000,
    seed: int = 7,
    *,
    gold: Any = None,
    draws: Multiplicity | None = None,
    estimate: Estimate | None = None,
) -> Comparison:
    """Resample tasks, fit each method on the drawn ones, and measure it on the left-out ones.

    methods : names, `Method` objects or calibrators; "all" for every one that is quick; None for raw, cbc, shrunken,
        sparse and your own. An anchored calibrator must have been fitted on this panel, so that it knows the labels
    resamples : number of resamplings
    gold : human scores, a table or a file: anchored calibration is compared too
    draws : (resamples, n) how often each resample draws each task, to use instead of those of the seed
    estimate : how cell means and interaction come from multiplicities; the panel's own estimator by default

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=30, languages=3, judges=4)
    >>> compare(panel, ["raw", "cbc"], resamples=100).table["method"].tolist()
    ['raw', 'cbc']
    """
    wanted: list[Any] = [*find_methods(methods)]
    if gold is not None:
        wanted.append(_anchored(panel, gold))
    chosen, left = _usable(find_methods(wanted), panel, everything=methods is None or methods == "all")
    estimate = estimate or estimate_interaction(panel).resample
    resamples = resamples if draws is None else len(draws)
    tau: dict[str, list[Array]] = {m.name: [] for m in chosen}
    gain: dict[str, list[Array]] = {m.name: [] for m in chosen if m.subtracts}
    numbers = []
    wide = _too_wide(panel, resamples * len(chosen))
    for block, number in resample(panel, resamples, seed, estimate, draws, "comparing methods"):
        numbers.append(number)
        for m in chosen:
            adjusted, removed = apply(m, replace(block, key=(*block.key[:2], m.name)))
            tau[m.name].append(mean_tau(adjusted, tie_gap_of(m, panel), wide))
            if removed is not None:
                gain[m.name].append(gain_of(removed, block))
        del block  # its multiplicities are large: one block at a time
    index = pd.Index(np.concatenate(numbers), name="resample")
    taus = pd.DataFrame({name: np.concatenate(parts) for name, parts in tau.items()}, index=index)
    gains = pd.DataFrame({name: np.concatenate(parts) for name, parts in gain.items()}, index=index)
    whole = full_fit(panel, seed, estimate)
    table = _table(chosen, taus, gains, whole, wide)
    skipped = resamples - len(index)
    cells = sampling_panel(panel).cell_means
    apart = float(((cells - cells.mean(axis=1, keepdims=True)) ** 2).mean())
    return Comparison(
        table=table,
        differences=_differences(taus if wide is None else taus.iloc[:, :0]),
        resamples=resamples,
        skipped=skipped,
        seed=seed,
        scope=GAIN_SCOPE,
        advice=advise(table, apart, tasks=len(panel.clusters or panel.tasks)),
        notes=(
            *_notes(whole, skipped, resamples, left),
            *filter(None, [*(m.caution(panel) for m in chosen if m.caution), wide]),
        ),
        resample_tau=taus,
        resample_gain=gains,
    )


def apply(m: Method, block: Block) -> tuple[Array, Array | None]:
    """The adjusted left-out cells, and the matrix that was subtracted if the method only subtracts."""
    out = m(block)
    parts = (out.shift, out.scale) if isinstance(out, Map) else (np.asarray(out, dtype=np.float64),)
    for part in parts:
        if part.shape != block.left_out.shape:
            raise UsageError(
                f"Method {clean(m.name)!r} returned an array of shape {part.shape}; it must return "
                f"{block.left_out.shape} (resamples, languages, judges)."
            )
        if not np.isfinite(part).all():
            raise UsageError(f"Method {clean(m.name)!r} returned values that are not finite numbers.")
    if isinstance(out, Map):
        return (block.left_out - out.shift) / out.scale, None
    return (block.left_out - parts[0], parts[0]) if m.subtracts else (parts[0], None)


def mean_tau(cells: Array, gap: float, wide: Say | None = None) -> Array:
    """Mean tau over the language pairs where it is defined: (R, k, m) -> (R,); NaN of a panel that is too wide."""
    if wide is not None:
        return np.full(len(cells), np.nan)
    a, b = pair_index(cells.shape[-2])
    return mean_of_pairs(kendall_tau(cells, gap)[:, a, b])


def _too_wide(panel: Panel, resamples: int) -> Say | None:
    """Why the order of the judges is not compared between languages, where they are too many. Gains have no pairs."""
    _, k, m = panel.shape
    compared = resamples * k * (m * (m - 1) // 2 + k)
    if compared / 4 <= memory.MOST_COMPARED and 4 * resamples * k * k <= memory.budget() / 4:
        return None
    return say("held-out.wide", languages=k, judges=m, compared=compared)


def tie_gap_of(m: Method, panel: Panel) -> float:
    """The tie rule on the scale of a method's output."""
    return panel.tie_gap if m.scale is None else TIE_TOLERANCE * m.scale


def gain_of(removed: Array, block: Block) -> Array:
    """Held-out gain of subtracting A = `removed`: mean over cells of 2 b A - A^2, -> (R,).

    Both are centred over the judges of each language: b is how far the left-out cells lie from the panel mean. It
    equals the fall of the mean squared error of the left-out scores to any truth h(t, l), known or not (identity I7).
    """
    centred = removed - removed.mean(axis=-1, keepdims=True)
    centred[np.abs(centred) <= block.gap] = 0.0  # rounding must not look like a gain or a loss
    apart = block.left_out - block.left_out.mean(axis=-1, keepdims=True)
    return (centred * (2 * apart - centred)).mean(axis=(-2, -1))


def full_gain(m: Method, panel: Panel, level: float = 0.95) -> Gain | None:
    """Gain of the method fitted on all tasks, without bias; None where its form does not allow it."""
    if m.part is None:
        return None
    panel = sampling_panel(panel)
    values = m.part(panel.scores)
    values = np.where(np.abs(values).max(initial=0.0) > panel.tie_gap, values, 0.0)
    keep = 1.0 if m.keep is None else m.keep(values, panel.weights)
    return unbiased_gain(values, panel.weights, keep=keep, level=level)


def advise(table: pd.DataFrame, apart: float | None = None, tasks: int | None = None) -> Advice | None:
    """Whether one who uses single judges should calibrate: when the interval of the gain of cbc lies above 0.

    apart : mean squared distance of the judges' cells to the panel mean: the gain is said as points closer to it, too
    """
    rows = table[table["method"] == "cbc"]
    if tasks is not None and tasks < 3 and len(rows):
        return Advice("not advised", say("gain.too-few", tasks=tasks))
    if rows.empty or not np.isfinite(rows["gain"].iloc[0]):
        return None
    row = rows.iloc[0]
    values = {"gain": float(row.gain), "low": float(row.gain_low), "high": float(row.gain_high)}
    if apart is not None:
        closer = [float(np.sqrt(apart) - np.sqrt(max(apart - x, 0.0))) for x in values.values()]
        values |= dict(zip(("closer", "closer_low", "closer_high"), closer, strict=True))
    if row.gain_low > 0:
        return Advice("advised", say("gain.advised", **values))
    return Advice("not advised", say("gain.loss" if row.gain_high < 0 else "gain.open", **values))


def percentiles(values: Array) -> tuple[float, float]:
    """The 2.5 and 97.5 percentiles."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


GAINS = (
    "gain", "gain_low", "gain_high", "gain_positive", "gain_full_fit",
    "gain_held_out", "gain_held_out_low", "gain_held_out_high",
)  # fmt: skip
"""Columns of a comparison that only methods have which subtract a matrix."""


def _table(
    chosen: list[Method], taus: pd.DataFrame, gains: pd.DataFrame, whole: Block, wide: Say | None
) -> pd.DataFrame:
    rows = []
    for m in chosen:
        adjusted, removed = apply(m, replace(whole, key=(*whole.key[:2], f"full fit of {m.name}")))
        values = taus[m.name].to_numpy()
        low, high = percentiles(values)
        row = {
            "method": m.name,
            "tau": values.mean(),
            "low": low,
            "high": high,
            "full_fit": float(mean_tau(adjusted, tie_gap_of(m, whole.panel), wide)[0]),
            "identity": m.identity,
        }
        if removed is None:
            row |= dict.fromkeys(GAINS, np.nan)
        else:
            gained = gains[m.name].to_numpy()
            held = (gained.mean(), *percentiles(gained))
            own = full_gain(m, whole.panel)
            # two tasks have no interval, and without one the number is not shown either
            fit = held if own is None else (own.estimate + 0 * own.se, own.low, own.high)
            row |= dict(zip(GAINS, (*fit, (gained > 0).mean(), float(gain_of(removed, whole)[0]), *held), strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def _differences(taus: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for a, b in combinations(taus.columns, 2):
        diff = (taus[a] - taus[b]).to_numpy()
        low, high = percentiles(diff)
        # Tau is a ratio of small whole numbers; differences below 1e-9 are rounding.
        rows.append((a, b, diff.mean(), low, high, (diff > 1e-9).mean(), (diff < -1e-9).mean()))
    return pd.DataFrame(rows, columns=["method_a", "method_b", "difference", "low", "high", "favour_a", "favour_b"])


def _usable(chosen: list[Method], panel: Panel, everything: bool) -> tuple[list[Method], list[str]]:
    """The methods this panel allows, and the names of those it does not when all were asked for."""
    lacking = [] if panel.complete else [m.name for m in chosen if m.complete]
    if lacking and not everything:
        panel.require_complete(f"the methods {', '.join(lacking)}")
    return [m for m in chosen if m.name not in lacking], lacking


def _notes(whole: Block, skipped: int, resamples: int, left: list[str]) -> tuple[Say, ...]:
    panel = whole.panel
    notes = []
    if skipped:
        notes.append(say("held-out.skipped", skipped=skipped, resamples=resamples, complete=panel.complete))
    if not (panel.complete or panel.whole):
        notes.append(say("held-out.missing"))
    if left:
        notes.append(say("held-out.need-complete", methods=left))
    if len(panel.judges) == 2:
        notes.append(say("held-out.two-judges"))
    better = shrinkage(panel)
    if better.amount:
        notes.append(better.advice)
    if np.ptp(whole.train, axis=-1).max() <= panel.tie_gap:
        notes.append(say("held-out.all-tie"))
    return tuple(notes)
