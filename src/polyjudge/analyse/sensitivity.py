"""Does the conclusion hang on one judge, one task, or the linear scale (docs/methods.md, section 10)?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit, stdtrit

from polyjudge.analyse.gates import pass_rates, spread
from polyjudge.analyse.reversal import count_reversals
from polyjudge.core.arrays import Array
from polyjudge.core.panel import Panel
from polyjudge.core.results import Result
from polyjudge.core.sections import Say, say
from polyjudge.estimate.incomplete import sampling_panel
from polyjudge.estimate.kernels import BLOCK, CHUNK, double_centre, pair_chunks, ranks
from polyjudge.estimate.resample import (
    bootstrap_blocks,
    check_level,
    check_resamples,
    in_groups,
    mean_and_se,
    task_interactions,
)

SURVIVES = 0.9
"""The linear conclusion survives a link when the lower limit of the rank correlation of cells is at least this ..."""
FLIPS = 0.05
"""... and at most this share of the cells of one percent of the range or more changes sign."""
MOST_RANKED = 60_000_000
"""Cells ranked over all resamples; beyond it fewer resamples are made."""
KNOTS = 50_000
"""Percentile ranks of more distinct scores than this are interpolated between as many of them."""


@dataclass(frozen=True, repr=False, eq=False)
class Sensitivity(Result):
    """What happens to the largest cell and the reversals when something is left out or the scale is changed.

    `judges`: judge left out, max_interaction, reversing_pairs, pairs, panel_without (reversals of the full panel among
    the pairs that are left). `tasks`: the single task that moves each figure most, and the range over all tasks.
    `links`: link, spearman with interval, sign_flips among `large` cells, reversing_pairs, same_reversals, gate
    spreads, survives. `pile_up`: share of scores at the floor and at the ceiling per judge, with interval.
    """

    max_interaction: float
    reversing_pairs: int
    judges: pd.DataFrame
    tasks: pd.DataFrame
    links: pd.DataFrame
    pile_up: pd.DataFrame
    threshold: float
    """Threshold of the gate spreads: the median score unless given."""
    survives: bool
    verdict: Say
    notes: tuple[Say, ...]

    def to_frame(self) -> pd.DataFrame:
        return self.links


def sensitivity(
    panel: Panel,
    *,
    threshold: float | None = None,
    resamples: int = 1000,
    seed: int = 7,
    level: float = 0.95,
) -> Sensitivity:
    """Leave one judge out, leave one task out, links, and pile-up at the ends of the scale."""
    check_level(level)
    check_resamples(resamples)
    means = sampling_panel(panel).cell_means
    notes: list[Say] = []
    known, weight = distribution = _distribution(panel)
    median = known[np.searchsorted(np.cumsum(weight), weight.sum() / 2)]
    q = float(median if threshold is None else threshold)
    if np.ptp(panel.observed_range) <= panel.tie_gap:
        notes.append(say("sensitivity.constant"))
    made = min(resamples, max(100, MOST_RANKED // (4 * means.size)))
    if made < resamples:
        notes.append(say("sensitivity.fewer-resamples", made=made, asked=resamples))
    links = _links(panel, distribution, q, made, seed, level)
    failing = links.loc[~links["survives"], "link"].tolist()
    verdict = say("scale.depends", links=failing) if failing else say("scale.survives")
    return Sensitivity(
        float(np.abs(double_centre(means)).max()),
        int(count_reversals(means, panel.tie_gap)),
        _judges(panel, notes),
        _tasks(panel),
        links,
        pile_up(panel, level),
        q,
        not failing,
        verdict,
        tuple(notes),
    )


def _judges(panel: Panel, notes: list[Say]) -> pd.DataFrame:
    m = len(panel.judges)
    columns = ["judge", "max_interaction", "reversing_pairs", "pairs"]
    if m < 3:
        notes.append(say("sensitivity.two-judges"))
        return pd.DataFrame([], columns=columns)
    means = sampling_panel(panel).cell_means
    own = np.zeros(m, np.int64)  # reversing pairs that a judge is in: without it there are so many fewer
    for i, j, there in reversing(means, panel.tie_gap):
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


def link_functions(
    panel: Panel, distribution: tuple[Array, Array] | None = None
) -> dict[str, Callable[[Array], Array]]:
    """Scores on other scales. All are increasing; logit is squeezed away from the ends by half a task."""
    low, high = panel.range
    width = max(high - low, float(np.finfo(float).tiny))
    n = max(panel.n_tasks, 2)
    known, weight = distribution or _distribution(panel)
    place = (np.cumsum(weight) - (weight - 1) / 2) / weight.sum()  # mean rank of tied scores

    def share(s: Array) -> Array:
        out: Array = np.clip((s - low) / width, 0.0, 1.0)
        return out

    thin = np.unique(np.linspace(0, known.size - 1, KNOTS).astype(int)) if known.size > KNOTS else slice(None)

    def percentile(s: Array) -> Array:
        out: Array = np.interp(s, known[thin], place[thin])
        return out

    return {
        "arcsine": lambda s: np.arcsin(np.sqrt(share(s))),
        "rank": percentile,
        "logit": lambda s: logit((share(s) * (n - 1) + 0.5) / n),
    }


def _linked(panel: Panel, link: Callable[[Array], Array]) -> Array:
    """The scores on the scale of a link; missing ones stay missing."""
    out: Array = np.where(np.isnan(panel.scores), np.nan, link(panel.scores))
    return out


def _distribution(panel: Panel) -> tuple[Array, Array]:
    """The distinct scores in order, and the number of tasks behind each."""
    there = ~np.isnan(panel.scores)
    known, code = np.unique(panel.scores[there], return_inverse=True)
    weight = np.broadcast_to(panel.weights[:, None, None], panel.scores.shape)[there]
    counts: Array = np.bincount(code.ravel(), weight.ravel()).astype(np.float64)
    return known, counts


def _links(
    panel: Panel, distribution: tuple[Array, Array], q: float, resamples: int, seed: int, level: float
) -> pd.DataFrame:
    low, high = panel.range
    linear, weights = task_interactions(panel), sampling_panel(panel).weights
    beta, se = (x.ravel() for x in mean_and_se(linear, weights))
    large = np.abs(beta) >= 0.01 * (high - low)
    plain, least = sampling_panel(panel).cell_means, panel.tie_gap
    links = link_functions(panel, distribution)
    bent = {name: panel.with_scores(_linked(panel, link)) for name, link in links.items()}
    linked = {name: task_interactions(other) for name, other in bent.items()}
    values, grouped = in_groups(np.stack([linear, *linked.values()], axis=1), weights)
    # One resampling for all scales: drawing the tasks is what takes the time.
    again = np.concatenate([_rank_correlations(x) for x in bootstrap_blocks(values, grouped, resamples, seed)])
    gates_linear = _gate_spread(panel, sampling_panel(panel).cell_means, q, panel.tie_gap)
    rows = []
    for (name, link), correlations in zip(links.items(), again.T, strict=True):
        other, other_se = (x.ravel() for x in mean_and_se(linked[name], weights))
        means = sampling_panel(bent[name]).cell_means
        gap = bent[name].tie_gap
        flips = large & (np.sign(beta) != np.sign(other))
        sure = (np.abs(beta) > 2 * se) & (np.abs(other) > 2 * other_se)
        limits = np.quantile(correlations, [(1 - level) / 2, (1 + level) / 2])
        correlation = float(spearman(beta[None], other[None])[0])
        pairs = zip(reversing(plain, least), reversing(means, gap), strict=True)
        there, both = np.sum([(b[2].sum(), (a[2] & b[2]).sum()) for a, b in pairs], axis=0)
        threshold = float(link(np.array([q]))[0])
        gate = _gate_spread(bent[name], means, threshold, gap)
        rows.append(
            {
                "link": name,
                "spearman": correlation,
                "low": limits[0],
                "high": limits[1],
                "large_cells": int(large.sum()),
                "sign_flips": int(flips.sum()),
                "sure_flips": int((flips & sure).sum()),
                "reversing_pairs": int(there),
                "same_reversals": int(both),
                "spread_raw": gates_linear[0],
                "spread_calibrated_linear": gates_linear[1],
                "spread_calibrated_link": gate[1],
                "survives": bool(
                    not large.any() or (limits[0] >= SURVIVES and flips.sum() <= FLIPS * max(int(large.sum()), 1))
                ),
            }
        )
    return pd.DataFrame(rows)


def reversing(means: Array, gap: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Judge pairs and whether they change places between languages, in parts: (k, m) -> first, second, (pairs,)."""
    for i, j in pair_chunks(means.shape[-1], len(means)):
        d = means[:, i] - means[:, j]
        yield i, j, (d.max(axis=0) > gap) & (d.min(axis=0) < -gap)


def _rank_correlations(drawn: Array) -> Array:
    """Rank correlation of the plain cells with those of each link: (b, 1 + links, k, m) -> (b, links)."""
    out = np.empty((len(drawn), drawn.shape[1] - 1))
    step = min(BLOCK, max(1, CHUNK // drawn[0].size))
    for start in range(0, len(drawn), step):
        part = drawn[start : start + step].reshape(-1, *drawn.shape[1:2], drawn[0, 0].size)
        place = ranks(part, 0.0)
        place -= place.mean(axis=2, keepdims=True)
        square = (place**2).sum(axis=2)
        scale = np.sqrt(square[:, :1] * square[:, 1:])
        top = (place[:, :1] * place[:, 1:]).sum(axis=2)
        out[start : start + step] = np.divide(top, scale, out=np.ones_like(top), where=scale > 0)
    return out


def spearman(a: Array, b: Array) -> Array:
    """Rank correlation of the rows of two arrays: (R, c), (R, c) -> (R,). 1 where both are constant."""
    x, y = ranks(a, 0.0), ranks(b, 0.0)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    out: Array = np.divide((x * y).sum(axis=1), scale, out=np.ones(len(a)), where=scale > 0)
    return out


def _gate_spread(panel: Panel, means: Array, q: float, gap: float) -> tuple[float, float]:
    raw, _ = pass_rates(panel, panel.scores > q + gap)
    calibrated, _ = pass_rates(panel, panel.scores - double_centre(means) > q + gap)
    return float(spread(raw)), float(spread(calibrated))


# --- floor and ceiling ---


def pile_up(panel: Panel, level: float = 0.95) -> pd.DataFrame:
    """Share of single scores at the ends of the scale per judge, with interval, and the worst language."""
    low, high = panel.range
    rows = panel.singles
    there = ~np.isnan(rows)
    count = np.maximum(there.sum(axis=3), 1)
    columns: dict[str, object] = {"judge": panel.judges}
    for name, at in (("floor", rows <= low + panel.tie_gap), ("ceiling", rows >= high - panel.tie_gap)):
        rate = (at & there).sum(axis=3) / count
        scored = (there.any(axis=3) * panel.weights[:, None, None]).astype(np.float64)
        mean, se = mean_and_se(_ratio_values(rate, scored, panel), panel.weights, panel.cluster)
        half = stdtrit(panel.cluster.max(), (1 + level) / 2) * se
        cell = (scored * rate).sum(axis=0) / np.maximum(scored.sum(axis=0), np.finfo(float).tiny)
        columns |= {
            name: mean,
            f"{name}_low": np.clip(mean - half, 0, 1),
            f"{name}_high": np.clip(mean + half, 0, 1),
            f"{name}_worst": cell.max(axis=0),
            f"{name}_worst_language": [panel.languages[i] for i in cell.argmax(axis=0)],
        }
    return pd.DataFrame(columns)


def _ratio_values(rate: Array, scored: Array, panel: Panel) -> Array:
    """(n, m) values with the mean over all scored entries of each judge, and its spread over units."""
    if panel.complete:
        plain: Array = rate.mean(axis=1)
        return plain
    share = scored.sum(axis=1) / panel.weights[:, None]
    hits = (scored * rate).sum(axis=1) / panel.weights[:, None]
    w = panel.weights / panel.weights.sum()
    base = np.maximum(w @ share, np.finfo(float).tiny)
    mean = w @ hits / base
    out: Array = mean + (hits - mean * share) / base
    return out
