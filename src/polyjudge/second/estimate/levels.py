"""Scores of few levels, or heaped at an end: the cells on the latent scale of an ordinal model, which has no ends.

Points near an end are squeezed: judges and languages that add up on the latent scale do not in points, and double
centring reads an interaction that is none. See docs/methods.md, sections 18 and 24.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.estimate.deviations import Units
from polyjudge.second.estimate.incomplete import language_strata, sum_clusters
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.panel.scale import FEW, MOST_STEPS

if TYPE_CHECKING:
    from polyjudge.second.estimate.ordinal import OrdinalFit

Reason = Literal["two-levels", "few-levels", "ends"]
END = 0.2
"""Share of all scores on one end of the scale from which the ends are called heavy ..."""
JUDGE_END = 0.5
"""... or share of one judge's scores."""
OWN_LEVEL = 0.05
"""A lowest or highest score with at least this share of all scores is a level of its own where scores are cut."""
INNER = 5
"""Levels that the other scores are cut into, each with about as many scores."""
FEWEST = 10
"""Tasks from which the lowest and highest scores seen count as ends of a scale."""
MOST_TERMS = 500_000
"""Above this many unit x cell x level entries a random part of the units is fitted."""


def asks(panel: Panel) -> Reason | None:
    """Why the scores want a model of levels: two levels, few levels, or many scores at an end. None: they do not."""
    low, high = panel.observed_range
    if not np.all(panel.weights == 1) or high - low <= panel.tie_gap:
        return None
    scores = panel.singles
    some = scores.ravel()[:: max(1, scores.size // FEW)]
    known = np.unique(some[~np.isnan(some)])
    if len(known) <= MOST_STEPS:
        return "two-levels" if len(known) == 2 else "few-levels"
    return "ends" if heaped(panel) else None


def heaped(panel: Panel) -> bool:
    """Whether many scores, or most of one judge's, lie at one end of the scale."""
    low, high = panel.observed_range
    if panel.n_tasks < FEWEST or not np.all(panel.weights == 1) or high - low <= panel.tie_gap:
        return False
    scores = panel.singles
    at_ends = [scores <= low + panel.tie_gap, scores >= high - panel.tie_gap]
    scored = (~np.isnan(scores)).sum(axis=(0, 1, 3))
    shares = np.array([end.sum(axis=(0, 1, 3)) for end in at_ends])
    return bool((shares.sum(axis=1) >= END * scored.sum()).any() or (shares >= JUDGE_END * scored).any())


@dataclass(frozen=True, eq=False, kw_only=True)
class Latent:
    """The model of levels of a panel: g tasks (or clusters), k languages, m judges.

    cells : (k, m) latent cell effects
    values : (g, k, m) what each task says of them: their mean is `cells`
    levels : level, low, high (scores from and to), share
    """

    fit: OrdinalFit
    cells: Array
    values: Array
    levels: pd.DataFrame
    binned: bool
    notes: list[Say]
    strata: NDArray[np.int64] | None = None

    def units(self, seed: int) -> Units:
        """What tasks say about the interaction in logits, for `choose`."""
        values, (g, k, m) = self.values, self.values.shape
        if (apart := self.fit.separated).any():
            # All scores at one end leave no spread over tasks to go by: the model's own error stands in.
            drawn = np.random.default_rng([seed, 23]).normal(size=(g, int(apart.sum())))
            drawn = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0, ddof=1)
            values = values.reshape(g, -1).copy()
            values[:, apart] += drawn * np.sqrt(g * np.diag(self.fit.inverse)[apart])
            values = values.reshape(g, k, m)
        return Units.of(double_centre(values), values, np.ones(g), strata=self.strata)


def latent_cells(panel: Panel, seed: int = 7) -> Latent:
    """Fit the cumulative logit model (two levels: the logistic one) to the single scores of a panel."""
    if not np.all(panel.weights == 1):
        raise PanelError("A model of levels needs single tasks; units that hold several have no levels.")
    _, k, m = panel.shape
    require_time(float(k * m) ** 3 / 64, f"A model of levels with {k * m:,} cells")
    answers, notes = _part(panel.by_system(), seed)
    scores = answers.singles
    edges, levels, binned = _levels(scores)
    counts = _counts(scores, edges)
    if (empty := counts.sum(axis=(0, 2)) == 0).any():
        at = divmod(int(empty.argmax()), m)
        place = f"{panel.judges[at[1]]} in {panel.languages[at[0]]}"
        raise PanelError(f"A model of levels needs scores in every cell, and {place} has none.")
    from polyjudge.second.estimate.ordinal import fit_ordinal  # few panels ask for it

    fit = fit_ordinal(counts)
    influence = sum_clusters(fit.influence, answers.cluster)
    g = len(influence)
    strata = language_strata(panel, answers.cluster, answers)
    for of in [] if strata is None else [strata == x for x in np.unique(strata)]:  # few draw the fit to themselves
        mean, few = influence[of].mean(axis=0), int(of.sum())
        influence[of] = mean + (influence[of] - mean) * np.sqrt((g - 1) / g * few / max(few - 1, 1))
    values = (fit.cells + g * influence).reshape(g, k, m)
    cells = fit.cells.reshape(k, m)
    return Latent(fit=fit, cells=cells, values=values, levels=levels, binned=binned, notes=notes, strata=strata)


def deciding_units(panel: Panel, units: Units, seed: int, latent: Latent | None = None) -> tuple[Units, bool]:
    """The units by which an explanation is chosen, and whether they are latent.

    Where scores are heaped at an end it is decided on the latent scale, if that can be had; points only describe.
    """
    if not heaped(panel):
        return units, False
    try:
        return (latent or latent_cells(panel, seed)).units(seed), True
    except PanelError:
        return units, False


def _part(answers: Panel, seed: int) -> tuple[Panel, list[Say]]:
    """The answers, or whole clusters of them drawn at random where there are very many."""
    n, k, m = answers.shape
    most = max(FEWEST, MOST_TERMS // (k * m * (MOST_STEPS - 1)))
    if n <= most:
        return answers, []
    clusters = int(answers.cluster.max()) + 1
    drawn = np.random.default_rng([seed, 19]).permutation(clusters)[: max(FEWEST, clusters * most // n)]
    keep = np.isin(answers.cluster, drawn)
    part = answers.select(tasks=[t for t, kept in zip(answers.tasks, keep, strict=True) if kept])
    return part, [say("bounded.part", part=int(keep.sum()), units=n)]


def _levels(scores: Array) -> tuple[Array, pd.DataFrame, bool]:
    """Edges between levels, what each level holds, and whether scores were cut into levels."""
    known, count = np.unique(scores[~np.isnan(scores)], return_counts=True)
    binned = len(known) > MOST_STEPS
    if binned:
        low, high = count[0] >= OWN_LEVEL * count.sum(), count[-1] >= OWN_LEVEL * count.sum()
        inner = slice(1 if low else 0, len(known) - (1 if high else 0))
        place = np.cumsum(count[inner]) / count[inner].sum()
        cut = np.searchsorted(place, np.arange(1, INNER) / INNER - 1e-12) + inner.start
        last = np.unique([*([0] if low else []), *cut, *([len(known) - 2] if high else [])])
        last = last[last < len(known) - 1]
    else:
        last = np.arange(len(known) - 1)
    if len(last) == 0:
        raise PanelError("All scores are equal: there are no levels to tell apart.")
    edges = (known[last] + known[last + 1]) / 2
    starts = np.concatenate([[0], last + 1])
    share = np.add.reduceat(count, starts) / count.sum()
    ends = np.concatenate([last, [len(known) - 1]])
    table = {"level": np.arange(1, len(starts) + 1), "low": known[starts], "high": known[ends], "share": share}
    return edges, pd.DataFrame(table), binned


def _counts(scores: Array, edges: Array) -> Array:
    """Number of single scores on each level: (n, k, m, q) -> (n, k * m, levels)."""
    n, k, m, _ = scores.shape
    there = ~np.isnan(scores)
    code = np.searchsorted(edges, np.where(there, scores, 0.0))
    out = np.stack([((code == c) & there).sum(axis=3) for c in range(len(edges) + 1)], axis=-1)
    return out.reshape(n, k * m, -1).astype(np.float64)
