"""Does the conclusion hang on one judge, one task, or the linear scale (docs/methods.md, section 10)?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit, stdtrit

from polyjudge.second.estimate.incomplete import sampling_panel
from polyjudge.second.estimate.kernels import BLOCK, CHUNK, double_centre, ranks
from polyjudge.second.estimate.resample import (
    bootstrap_blocks,
    check_level,
    check_resamples,
    in_groups,
    mean_and_se,
    task_interactions,
)
from polyjudge.second.panel.arrays import Array, ratio, row_blocks
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.audit.orders import count_reversals, reversals
from polyjudge.second.questions.audit.pass_rates import pass_rates, spread
from polyjudge.second.report.result import Result

SURVIVES = 0.9
"""The linear conclusion survives a link when the lower limit of the rank correlation of cells is at least this ..."""
FLIPS = 0.05
"""... and at most this share of the cells of one percent of the range or more changes sign."""
MOST_RANKED = 60_000_000
"""Cells ranked over all resamples; beyond it fewer resamples are made."""
KNOTS = 50_000
"""Percentile ranks of more distinct scores than this are interpolated between as many of them."""


class Sensitivity(Result):
    """What happens to the largest cell and the reversals when something is left out or the scale is changed.

    `judges`: judge left out, max_interaction, reversing_pairs, pairs, panel_without (reversals of the full panel among
    the pairs that are left). `tasks`: the single task that moves each figure most, and the range over all tasks.
    `links`: link, spearman with interval, sign_flips among `large` cells, reversing_pairs, same_reversals, gate
    spreads, survives. `pile_up`: share of scores at the floor and at the ceiling per judge, with interval.
    """

    max_interaction: float
    reversing_pairs: int
    links: pd.DataFrame
    judges: pd.DataFrame
    tasks: pd.DataFrame
    pile_up: pd.DataFrame
    threshold: float
    """Threshold of the gate spreads: the median score unless given."""
    survives: bool
    verdict: Say
    notes: tuple[Say, ...]


def sensitivity(
    panel: Panel, *, threshold: float | None = None, resamples: int = 1000, seed: int = 7, level: float = 0.95
) -> Sensitivity:
    """Leave one judge out, leave one task out, links, and pile-up at the ends of the scale."""
    check_level(level)
    check_resamples(resamples)
    means = sampling_panel(panel).cell_means
    notes: list[Say] = []
    knots, median = _distribution(panel)
    q = float(median if threshold is None else threshold)
    if np.ptp(panel.observed_range) <= panel.tie_gap:
        notes.append(say("sensitivity.constant"))
    made = min(resamples, max(100, MOST_RANKED // (4 * means.size)))
    if made < resamples:
        notes.append(say("sensitivity.fewer-resamples", made=made, asked=resamples))
    links = _links(panel, knots, q, made, seed, level)
    failing = links.loc[~links["survives"], "link"].tolist()
    verdict = say("scale.depends", links=failing) if failing else say("scale.survives")
    return Sensitivity(
        max_interaction=float(np.abs(double_centre(means)).max()),
        reversing_pairs=int(count_reversals(means, panel.tie_gap)),
        judges=_judges(panel, notes),
        tasks=_tasks(panel),
        links=links,
        pile_up=pile_up(panel, level),
        threshold=q,
        survives=not failing,
        verdict=verdict,
        notes=tuple(notes),
    )


def _judges(panel: Panel, notes: list[Say]) -> pd.DataFrame:
    m = len(panel.judges)
    columns = ["judge", "max_interaction", "reversing_pairs", "pairs"]
    if m < 3:
        notes.append(say("sensitivity.two-judges"))
        return pd.DataFrame([], columns=columns)
    means = sampling_panel(panel).cell_means
    own = np.zeros(m, np.int64)  # reversing pairs that a judge is in: without it there are so many fewer
    for i, j, there in reversals(means, panel.tie_gap):
        own += np.bincount(i[there], minlength=m) + np.bincount(j[there], minlength=m)
    total = int(own.sum()) // 2
    rows = []
    for b, name in enumerate(panel.judges):
        largest = float(np.abs(double_centre(np.delete(means, b, axis=1))).max())
        rows.append((name, largest, total - int(own[b]), (m - 1) * (m - 2) // 2))
    return pd.DataFrame(rows, columns=columns)


def _tasks(panel: Panel) -> pd.DataFrame:
    """Range of each figure over leaving one unit out, and the unit that moves it most."""
    panel = sampling_panel(panel)
    w = panel.weights
    n, k, m = panel.shape
    total = np.tensordot(w, panel.scores, 1)
    largest, counts = np.empty(n), np.empty(n)
    step = max(1, CHUNK // (k * m))
    for start in range(0, n, step):
        part = slice(start, start + step)
        rest = (total - w[part, None, None] * panel.scores[part]) / (w.sum() - w[part])[:, None, None]
        largest[part] = np.abs(double_centre(rest)).max(axis=(1, 2))
        counts[part] = count_reversals(rest, panel.tie_gap)
    full = np.abs(double_centre(panel.cell_means)).max(), count_reversals(panel.cell_means, panel.tie_gap)
    rows = []
    for name, values, whole in (("max_interaction", largest, full[0]), ("reversing_pairs", counts, full[1])):
        mover = int(np.abs(values - whole).argmax())
        moved = abs(values[mover] - whole) > panel.tie_gap
        rows.append(
            (name, float(whole), values.min(), values.max(), panel.tasks[mover] if moved else None, values[mover])
        )
    return pd.DataFrame(rows, columns=["figure", "all_tasks", "lowest", "highest", "task", "without_it"])


# --- links ---


def link_functions(panel: Panel, knots: tuple[Array, Array] | None = None) -> dict[str, Callable[[Array], Array]]:
    """Scores on other scales. All are increasing; logit is squeezed away from the ends by half a task."""
    low, high = panel.range
    width = max(high - low, float(np.finfo(float).tiny))
    n = max(panel.n_tasks, 2)
    known, place = knots or _distribution(panel)[0]

    def share(s: Array) -> Array:
        return np.clip((s - low) / width, 0.0, 1.0)

    def percentile(s: Array) -> Array:
        return np.interp(s, known, place)

    return {
        "arcsine": lambda s: np.arcsin(np.sqrt(share(s))),
        "rank": percentile,
        "logit": lambda s: logit((share(s) * (n - 1) + 0.5) / n),
    }


def _distribution(panel: Panel) -> tuple[tuple[Array, Array], float]:
    """The distinct scores in order (at most `KNOTS` of them) with their mean rank as a share of all, and the median."""
    there = ~np.isnan(panel.scores)
    ordered, reached = panel.scores[there], None
    if np.all(panel.weights == 1):
        ordered.sort()
    else:
        order = np.argsort(ordered, kind="stable")
        ordered = ordered[order]
        reached = np.cumsum(np.broadcast_to(panel.weights[:, None, None], there.shape)[there][order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    total = float(ordered.size if reached is None else reached[-1])
    middle = int(np.ceil(total / 2)) - 1 if reached is None else np.searchsorted(reached, total / 2)
    median = float(ordered[middle])
    thin = np.unique(np.linspace(0, last.size - 1, KNOTS).astype(int)) if last.size > KNOTS else np.arange(last.size)
    ends, starts = last[thin], last[thin - 1]
    upto, before = (ends + 1.0, starts + 1.0) if reached is None else (reached[ends], reached[starts])
    weight = upto - np.where(thin > 0, before, 0)
    place = (upto - (weight - 1) / 2) / total
    return (ordered[last[thin]], place), median


def _links(panel: Panel, knots: tuple[Array, Array], q: float, resamples: int, seed: int, level: float) -> pd.DataFrame:
    low, high = panel.range
    linear, weights = task_interactions(panel), sampling_panel(panel).weights
    beta = mean_and_se(linear, weights)[0].ravel()
    large = np.abs(beta) >= 0.01 * (high - low)
    turns = _reversing(sampling_panel(panel))
    links = link_functions(panel, knots)
    values, grouped = in_groups(linear, weights)
    del linear  # as large as the panel
    seen = {name: _on_scale(panel, link, q, weights) for name, link in links.items()}
    values = np.stack([values, *(s[0] for s in seen.values())], axis=1)
    # One resampling for all scales: drawing the tasks is what takes the time.
    again = np.concatenate([_rank_correlations(x) for x in bootstrap_blocks(values, grouped, resamples, seed)])
    gates_linear = _gate_spread(panel, sampling_panel(panel).cell_means, q)
    rows = []
    for (name, (_, other, there, gate)), correlations in zip(seen.items(), again.T, strict=True):
        flips = large & (np.sign(beta) != np.sign(other))
        limits = np.quantile(correlations, [(1 - level) / 2, (1 + level) / 2])
        rows.append(
            {
                "link": name,
                "spearman": float(spearman(beta[None], other[None])[0]),
                "low": limits[0],
                "high": limits[1],
                "large_cells": int(large.sum()),
                "sign_flips": int(flips.sum()),
                "reversing_pairs": int(there.sum()),
                "same_reversals": int((there & turns).sum()),
                "spread_raw": gates_linear[0],
                "spread_calibrated_linear": gates_linear[1],
                "spread_calibrated_link": gate,
                "survives": bool(
                    not large.any() or (limits[0] >= SURVIVES and flips.sum() <= FLIPS * max(int(large.sum()), 1))
                ),
            }
        )
    return pd.DataFrame(rows)


def _on_scale(
    panel: Panel, link: Callable[[Array], Array], q: float, weights: Array
) -> tuple[Array, Array, NDArray[np.bool_], float]:
    """On the scale of a link: interactions of groups of tasks, their mean, which pairs reverse, and the calibrated
    spread at the gate."""
    scores = np.empty(panel.scores.shape)
    for part in row_blocks(scores):
        scores[part] = np.where(np.isnan(panel.scores[part]), np.nan, link(panel.scores[part]))
    bent = panel.with_scores(scores)
    values = task_interactions(bent)
    beta = mean_and_se(values, weights)[0].ravel()
    values = in_groups(values, weights)[0]
    whole = sampling_panel(bent)
    _, gate = _gate_spread(bent, whole.cell_means, float(link(np.array([q]))[0]))
    return values, beta, _reversing(whole), gate


def _reversing(panel: Panel) -> NDArray[np.bool_]:
    """(pairs,): which judge pairs change places between languages."""
    return np.concatenate([there for _, _, there in reversals(panel.cell_means, panel.tie_gap)])


def _rank_correlations(drawn: Array) -> Array:
    """Rank correlation of the plain cells with those of each link: (b, 1 + links, k, m) -> (b, links)."""
    cells = drawn.reshape(*drawn.shape[:2], -1)
    step = min(BLOCK, max(1, CHUNK // cells[0].size))
    parts = [cells[start : start + step] for start in range(0, len(cells), step)]
    return np.concatenate([spearman(part[:, :1], part[:, 1:]) for part in parts])


def spearman(a: Array, b: Array) -> Array:
    """Rank correlation of the rows of two arrays: (..., c), (..., c) -> (...). 1 where both are constant."""
    x, y = ranks(a, 0.0), ranks(b, 0.0)
    x, y = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    scale = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    return ratio((x * y).sum(axis=-1), scale, 1.0)


def _gate_spread(panel: Panel, means: Array, q: float) -> tuple[float, float]:
    """Spread of pass rates at a gate, raw and calibrated."""
    edge = q + panel.tie_gap
    raw, _ = pass_rates(panel, panel.scores > edge)
    calibrated, _ = pass_rates(panel, panel.scores - double_centre(means) > edge)
    return float(spread(raw)), float(spread(calibrated))


# --- floor and ceiling ---


def pile_up(panel: Panel, level: float = 0.95) -> pd.DataFrame:
    """Share of single scores at the ends of the scale per judge, with interval, and the worst language."""
    low, high = panel.range
    ends = {"floor": (-np.inf, low + panel.tie_gap), "ceiling": (high - panel.tie_gap, np.inf)}
    columns: dict[str, object] = {"judge": panel.judges}
    for name, (least, most) in ends.items():
        values, cell = _at_end(panel, least, most)
        mean, se = mean_and_se(values, panel.weights, panel.cluster)
        half = stdtrit(panel.cluster.max(), (1 + level) / 2) * se
        columns |= {
            name: mean,
            f"{name}_low": np.clip(mean - half, 0, 1),
            f"{name}_high": np.clip(mean + half, 0, 1),
            f"{name}_worst": cell.max(axis=0),
            f"{name}_worst_language": [panel.languages[i] for i in cell.argmax(axis=0)],
        }
    return pd.DataFrame(columns)


def _at_end(panel: Panel, least: float, most: float) -> tuple[Array, Array]:
    """Scores from `least` to `most`: (n, m) values whose mean is their share of each judge's, and (k, m) shares."""
    rows, tiny = panel.singles, np.finfo(float).tiny
    share, hits = (np.empty((len(rows), len(panel.judges))) for _ in range(2))
    of_cell, cells = np.zeros(panel.shape[1:]), np.zeros(panel.shape[1:])
    for part in row_blocks(rows, 4):
        there = ~np.isnan(rows[part])
        at = (rows[part] >= least) & (rows[part] <= most)
        rate = at.sum(axis=3) / np.maximum(there.sum(axis=3), 1)
        w = panel.weights[part]
        scored = there.any(axis=3) * w[:, None, None]
        share[part] = scored.sum(axis=1) / w[:, None]
        hits[part] = (scored * rate).sum(axis=1) / w[:, None]
        of_cell += (scored * rate).sum(axis=0)
        cells += scored.sum(axis=0)
    unit = panel.weights / panel.weights.sum()
    base = np.maximum(unit @ share, tiny)
    mean = unit @ hits / base
    return mean + (hits - mean * share) / base, of_cell / np.maximum(cells, tiny)
