"""Cell means and interaction of a panel with holes, by least squares within tasks (docs/methods.md, section 14).

Three designs. "paired": score = task:language + task:judge + cell, which no task, language or judge effect can bias.
"additive": score = task + cell, for panels where too few tasks have two languages scored by the same two judges.
"answers": score = task:language + cell, for languages that no tasks join. All come down to normal equations for the
cells, summed over tasks after the task's own terms have been eliminated. A complete panel gives the closed form of
docs/methods.md, section 2, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.estimate.designs import (
    CHUNK_BYTES,
    RANK_TOLERANCE,
    Design,
    Elimination,
    basis,
    distinct,
    normal_matrices,
    reciprocal,
)
from polyjudge.second.estimate.identify import explain, identified_design
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array, row_blocks, unit_mean
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel

DENSE_BYTES = 256 << 20
"""Normal matrices of all missingness patterns are kept up to this size; beyond it the solution is iterative."""
DENSE_CELLS = 400
"""The same for the number of cells: every resample would solve as many equations."""
DENSE_ANSWERS = 100
"""The same of "answers", where the steps are as good: a language's cells rest on its own tasks."""

_estimates: WeakKeyDictionary[Panel, InteractionEstimate] = WeakKeyDictionary()
_stand_ins: WeakKeyDictionary[Panel, Panel] = WeakKeyDictionary()
_sampled: WeakKeyDictionary[Panel, Panel] = WeakKeyDictionary()
"""Several analyses ask for the estimate of the same panel. Panels do not change, so it is made once."""


class InteractionEstimate:
    """Cell means, interaction and what each task contributes to them.

    design : "complete" (closed form), "paired", "additive" or "answers"
    cells : (k, m) cell means as if every task had been scored everywhere; of "answers", as if every judge had scored
        every answer of the language
    interaction : (k, m) their double centring
    tasks : (k, m) number of units that inform each cell
    influence : (n, k, m) one value per unit, with (unit-weighted) mean `interaction`; its spread gives the sandwich
        standard error. For a complete panel it is the double centring of each task's scores.
    cell_influence : the same for `cells`; for a complete panel, the scores
    """

    design: Design
    cells: Array
    interaction: Array
    tasks: NDArray[np.int64]

    def __init__(self, panel: Panel, design: Design, like: InteractionEstimate | None = None) -> None:
        """like : of other scores with the same holes, for the additive design: what rests on these is not made again"""
        self.design = design
        self._scores, self._units, self.cluster = panel.scores, panel.weights, panel.cluster
        n, k, m = panel.shape
        if design == "complete":
            self.cells = panel.cell_means
            self.interaction = double_centre(self.cells)
            self.tasks = np.full((k, m), n)
            return
        weights = entry_weights(panel)
        there = weights > 0
        self._scores = np.where(there, panel.scores, 0.0)
        if design == "answers":
            self._fit = self._level = _Fit(*distinct(weights), self._scores, design)
            self.interaction = double_centre(self._fit.cells)
            self.cells = self._answer_levels(self._units[None], self._fit.cells[None])[0]
            self.tasks = (there & (there.sum(axis=2, keepdims=True) > 1)).sum(axis=0)
            return
        # Judge and language effects need levels, which the paired design has eliminated: they come from the additive.
        if like is None:
            patterns, group = distinct(weights)
            self._level = _Fit(patterns, group, self._scores, "additive")
        else:
            self._level = like._level.again(self._scores)
        self._fit = _Fit(patterns, group, self._scores, "paired") if design == "paired" else self._level
        level = self._level.cells + unit_mean(self._task_level(self._level.cells), self._units)
        self.interaction = double_centre(self._fit.cells)
        self.cells = level - double_centre(level) + self.interaction
        if design == "paired":  # an entry alone in its row or column of the task is fitted whatever it is
            there = there & (there.sum(axis=1, keepdims=True) > 1) & (there.sum(axis=2, keepdims=True) > 1)
        self.tasks = there.sum(axis=0)

    @cached_property
    def influence(self) -> Array:
        if self.design == "complete":
            return double_centre(self._scores)
        return self._centred(self._fit.deviations())

    def _centred(self, deviations: Array) -> Array:
        own = deviations if self.design == "answers" else double_centre(deviations)
        out: Array = double_centre(own * self._scale)
        out += self.interaction
        return out

    @cached_property
    def cell_influence(self) -> Array:
        if self.design == "complete":
            return self._scores
        deviations = self._level.deviations()
        if self.design == "answers":
            return self._answer_influence(deviations * self._scale)
        own = self._centred(deviations) if self._fit is self._level else self.influence
        moved = deviations * self._per_unit
        covered = unit_mean(self._task_means[1][self._some], self._units[self._some]).reshape(self.cells.shape)
        level = self._task_level(self._level.cells) - (moved * covered).sum(axis=(1, 2))
        level -= unit_mean(level, self._units)
        values: Array = (moved - double_centre(moved)) + level[:, None, None] + own
        return values + (self.cells - self.interaction)

    @property
    def se(self) -> Array:
        """(k, m) standard error of the interaction from the spread over units, or their clusters (sandwich)."""
        return unit_mean_and_se(*by_cluster(self.influence, self._units, self.cluster))[1]

    @cached_property
    def shape_of_covariance(self) -> Array:
        """(p, p) covariance of the interaction in `basis(k, m, "paired")` if noise were even, scaled to trace p.

        The identity for a complete panel; larger where holes leave less to go by.
        """
        k, m = self.cells.shape
        p = (k - 1) * (m - 1)
        if self.design == "complete":
            return np.eye(p)
        shape = self._fit.inverse
        if self.design != "paired":
            turn = basis(k, m, "paired").reshape(p, -1) @ self._fit.basis.reshape(len(shape), -1).T
            shape = turn @ shape @ turn.T
        return shape * (p / np.trace(shape))

    @cached_property
    def noise_sd(self) -> float:
        """Standard deviation of one entry about the task's own terms and its cell: sigma (docs/methods.md, 4)."""
        n, k, m = self._scores.shape
        if self.design == "complete":
            apart = (self.influence - self.interaction) ** 2
            share = self._units / self._units.mean()
            return float(np.sqrt((share[:, None, None] * apart).sum() / ((n - 1) * (k - 1) * (m - 1))))
        square, freedom, weight = self._fit.residual_square()
        return float(np.sqrt(square / max(freedom, 1.0) / weight))

    def resample(self, multiplicity: Array) -> tuple[Array, Array]:
        """(cells, interaction), each (R, k, m), of panels where unit t counts `multiplicity[r, t]` times.

        NaN where a resampled panel no longer identifies the interaction. With so many different missingness patterns
        that their normal matrices would not fit in memory (then tasks are many), it is the one-step value: the
        weighted mean of the influence values.
        """
        weight = np.asarray(multiplicity, dtype=np.float64)
        weight = weight if bool(np.all(self._units == 1)) else weight * self._units
        total = weight.sum(axis=1)
        n, k, m = self._scores.shape
        if self.design == "complete":
            cells: Array = ((weight @ self._scores.reshape(n, -1)) / total[:, None]).reshape(-1, k, m)
            return cells, double_centre(cells)
        if not (self._fit.dense and self._level.dense):
            cells = ((weight @ self.cell_influence.reshape(n, -1)) / total[:, None]).reshape(-1, k, m)
            return cells, double_centre(cells)
        times = np.asarray(multiplicity, dtype=np.float64)
        effects = self._level.resample(times)
        if self.design == "answers":
            return self._answer_levels(weight, effects), double_centre(effects)
        raw, share = self._task_means
        total = weight @ self._some
        with np.errstate(invalid="ignore", divide="ignore"):  # nothing but empty tasks drawn: effects are NaN too
            grand = (weight @ raw - np.einsum("rc,rc->r", weight @ share, effects.reshape(len(effects), -1))) / total
        interaction = double_centre(effects if self._fit is self._level else self._fit.resample(times))
        return effects + grand[:, None, None] - double_centre(effects) + interaction, interaction

    @property
    def answered(self) -> Array:
        """(n, k): 1 where a task has any score in a language, else 0. Of "answers" only."""
        return self._answers[2]

    @cached_property
    def _answers(self) -> tuple[Array, Array, Array]:
        """Weighted mean of each answer's scores (n, k), each entry's share in it (n, k, m), and whether it has any."""
        weights = self._fit.weights[self._fit.group]
        share = weights * reciprocal(weights.sum(axis=2, keepdims=True))
        return (share * self._scores).sum(axis=2), share, share.sum(axis=2).round()

    def _answer_levels(self, weight: Array, effects: Array) -> Array:
        """Effects (R, k, m) at the mean level of their language's answers, with unit weights (R, n)."""
        mean, share, some = self._answers
        n, k, m = share.shape
        covered = (weight @ share.reshape(n, -1)).reshape(-1, k, m)
        with np.errstate(invalid="ignore", divide="ignore"):  # a language of which nothing was drawn: effects are NaN
            level = (weight @ mean - (covered * effects).sum(axis=2)) / (weight @ some)
        return effects + level[..., None]

    def _answer_influence(self, moved: Array) -> Array:
        """`cell_influence` from what each unit moves the effects."""
        mean, share, some = self._answers
        part = some * self._units[:, None] / (self._units @ some)
        covered = np.einsum("tl,tlb->lb", part, share)
        level = mean - (share * self._fit.cells).sum(axis=2) - (self.cells - self._fit.cells)[:, 0]
        n, own = len(part), np.maximum(some.sum(axis=0), 2)
        level *= part * np.sqrt((n - 1) / n * own / (own - 1)) * self._per_unit[:, 0]
        moved = moved - moved.mean(axis=2, keepdims=True)
        return moved + (level - (moved * covered).sum(axis=2))[..., None] + self.cells

    @cached_property
    def _task_means(self) -> tuple[Array, Array]:
        """Weighted mean of each task's scores (n,), and each entry's share in it (n, km)."""
        flat = self._level.weights[self._level.group].reshape(len(self._scores), -1)
        share = flat * reciprocal(flat.sum(axis=1, keepdims=True))
        mean: Array = np.einsum("tc,tc->t", share, self._scores.reshape(len(share), -1))
        return mean, share

    def _task_level(self, effects: Array) -> Array:
        mean, share = self._task_means
        out: Array = mean - share @ effects.ravel()
        out[~self._some] = np.average(out[self._some], weights=self._units[self._some])  # a task without any score
        return out

    @cached_property
    def _some(self) -> NDArray[np.bool_]:
        """(n,): units with any score."""
        return np.asarray(self._task_means[1].sum(axis=1) > 0, dtype=np.bool_)

    @property
    def _per_unit(self) -> Array:
        return (self._units.sum() / self._units)[:, None, None]

    @property
    def _scale(self) -> Array:
        """Makes sd / sqrt(n) of the influence values honest where a cell rests on fewer than all n units.

        A unit pulls the fit towards itself, so residuals are too small. With even noise it is known by how much; with
        too many patterns for that, each cell is treated as a mean over the units that inform it.
        """
        n = len(self._units)
        own = np.maximum(self.tasks, 2)
        lost = self._fit.leverage if self._fit.dense else 1 / own
        return self._per_unit * np.sqrt((n - 1) / n / (1 - np.minimum(lost, 0.5)))


def estimate_interaction(panel: Panel) -> InteractionEstimate:
    """Cell means and interaction of a panel, complete or not.

    The design is that of `identified_design`. A panel that none identifies raises a PanelError that names the
    unconnected parts.

    >>> import numpy as np
    >>> panel = Panel.from_array([[[1, 2], [3, 8]], [[1, 2], [3, 8]], [[0, np.nan], [1, 2]]])
    >>> estimate_interaction(panel).interaction.round(6)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if panel.complete:
        return InteractionEstimate(panel, "complete")
    known = _estimates.get(panel)
    if known is None:
        design = identified_design(panel)
        if design is None:
            raise PanelError(explain(panel))
        known = _estimates[panel] = InteractionEstimate(panel, design)
    return known


@dataclass(frozen=True, eq=False)
class StandIn(Panel):
    """A complete panel of influence values or of their means, not of scores: only means and spread over its units have
    a meaning."""


def stand_in(panel: Panel) -> Panel:
    """A complete panel with the same means and the same spread over tasks, for whatever rests on means over tasks.

    The panel itself when it is complete. Else its scores are the influence values: their mean is the least-squares
    estimate of each cell, and means, standard errors, tests and bootstraps over tasks come out as for the estimator
    (to first order in 1 / tasks). They are no scores: nothing that looks at single scores may use them.
    """
    if panel.complete:
        return panel
    known = _stand_ins.get(panel)
    if known is None:
        own = {"reading": panel.reading, "clusters": panel.clusters, "cluster": panel.cluster}
        values = estimate_interaction(panel).cell_influence
        known = _stand_ins[panel] = _standing(panel, values, panel.tasks, panel.weights, **own)
    return known


def _standing(panel: Panel, values: Array, units: tuple[str, ...], weights: Array, **own: Any) -> StandIn:
    """Values of units in the languages and by the judges of a panel."""
    own |= {"declared_range": panel.declared_range, "observed_range": panel.observed_range}
    return StandIn(values, units, panel.languages, panel.judges, weights=weights, notes=panel.notes, **own)


def sum_clusters(values: Array, cluster: NDArray[np.int64]) -> Array:
    """Sums over the units of each cluster: (n, ...) -> (g, ...). Units that are their own clusters stay as they are."""
    g = int(cluster.max()) + 1
    if g == len(values):
        return values[np.argsort(cluster)]
    out = np.zeros((g, *values.shape[1:]))
    np.add.at(out, cluster, values)
    return out


def by_cluster(values: Array, weights: Array, cluster: NDArray[np.int64]) -> tuple[Array, Array]:
    """Weighted means over the units of each cluster, and their weights: the same mean, clusters as units.

    The ratio standard error of the clusters (`mean_and_se`) is then the cluster-robust one, with t on clusters - 1.
    """
    if int(cluster.max()) + 1 == len(values):
        return values, weights
    shape = (-1, *[1] * (values.ndim - 1))
    total = sum_clusters(weights, cluster)
    return sum_clusters(values * weights.reshape(shape), cluster) / total.reshape(shape), total


def unit_mean_and_se(values: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean over units and its standard error over them: (n, ...) -> (...), (...)."""
    n = len(values)
    flat = values.reshape(n, -1)
    share = weights / weights.sum()
    mean = share @ flat
    even = np.ptp(weights) == 0
    noise = share**2 if even else noise_shares(weights)
    spread = sum(noise[part] @ (flat[part] - mean) ** 2 for part in row_blocks(flat))
    se = np.sqrt(n / (n - 1) * spread if even else spread)
    # Rounding leaves a trace where every task has the same value: that trace is no spread.
    se[se <= 1e-13 * np.maximum(flat.max(axis=0), -flat.min(axis=0))] = 0.0
    return mean.reshape(values.shape[1:]), se.reshape(values.shape[1:])


def noise_shares(weights: Array) -> Array:
    """What the squared deviation of each unit adds to the variance of the weighted mean: (n,), n / (n - 1) / n^2 each
    where all weigh the same. A heavy unit draws the mean towards itself: its deviation counts for more (CR2)."""
    share = weights / weights.sum()
    n = len(weights)
    return n / (n - 1) * share**2 if np.ptp(weights) == 0 else share**2 / np.maximum(1 - share, 1e-9)


def sampling_panel(panel: Panel) -> Panel:
    """`stand_in` with clusters as units where clusters were declared: the panel whose units are resampled."""
    whole = stand_in(panel)
    if not panel.clustered:
        return whole
    known = _sampled.get(panel)
    if known is None:
        scores, weights = by_cluster(whole.scores, whole.weights, panel.cluster)
        known = _sampled[panel] = _standing(panel, scores, panel.clusters, weights)
    return known


def informing(panel: Panel) -> Array:
    """(k, m) number of units, or clusters of them, behind each cell; one less are the degrees of freedom.

    Clusters of unequal size count as fewer: as many equal ones as would know the error as well.
    """
    _, k, m = panel.shape
    weights = sum_clusters(panel.weights, panel.cluster)
    fewer = effective_units(weights) / len(weights) if panel.clustered else 1.0
    if panel.complete:
        return np.full((k, m), fewer * len(weights))
    there = estimate_interaction(panel).tasks
    if panel.clustered:
        there = (sum_clusters((~np.isnan(panel.scores)).astype(np.float64), panel.cluster) > 0).sum(axis=0)
    return np.maximum(fewer * there.astype(np.float64), 2.0)


def informing_interaction(panel: Panel) -> Array:
    """(k, m) the same for the interaction. Of "answers" it is a cell of one language less the mean over languages, each
    known from tasks of its own: degrees of freedom as Satterthwaite's, by the noise that each language shows."""
    tasks = informing(panel)
    if panel.complete or (estimate := estimate_interaction(panel)).design != "answers":
        return tasks
    k = len(panel.languages)
    moved = sum_clusters((estimate.cell_influence - estimate.cells) * panel.weights[:, None, None], panel.cluster)
    noise = ((moved - moved.mean(axis=2, keepdims=True)) ** 2).sum(axis=0) / k**2
    own = (k - 1) ** 2 * noise
    total = own + noise.sum(axis=0) - noise
    square = own**2 / (tasks - 1)
    noise = noise**2 / (tasks - 1)
    square += noise.sum(axis=0) - noise
    return np.where(square > 0, 1 + total**2 / np.where(square > 0, square, 1.0), tasks)


def informed_share(panel: Panel) -> Array:
    """(k,) share of the tasks (clusters) that inform a language's values of `sampling_panel`: of "answers" not those of
    other languages, which stand at the mean. The values of the others are as much larger."""
    if panel.complete or (estimate := estimate_interaction(panel)).design != "answers":
        return np.ones(len(panel.languages))
    return np.asarray((sum_clusters(estimate.answered, panel.cluster) > 0).mean(axis=0))


def language_strata(
    panel: Panel, cluster: NDArray[np.int64] | None = None, answers: Panel | None = None
) -> NDArray[np.int64] | None:
    """Of "answers": which units, or clusters of them, have scores in the same languages, (n,) or (g,); else None.

    Sets of languages that only one or two have are one stratum. answers : the panel by system, or a part of it
    """
    if panel.complete or estimate_interaction(panel).design != "answers":
        return None
    there = np.asarray((~np.isnan((answers or panel).scores)).any(axis=2), np.float64)
    if cluster is not None and int(cluster.max()) + 1 < len(there):
        there = np.minimum(sum_clusters(there, cluster), 1.0)
    _, codes, count = np.unique(there, axis=0, return_inverse=True, return_counts=True)
    return np.where(count[codes] > 2, codes, -1)


def effective_units(weights: Array) -> float:
    """One more than the degrees of freedom of the error of a weighted mean (Bell and McCaffrey, for CR2)."""
    share = weights / weights.sum()
    if np.ptp(weights) == 0:
        return float(len(weights))
    crossed = share**2 / np.maximum(1 - share, 1e-9)
    return 1 + 1 / float((share**2).sum() + crossed.sum() ** 2 - (crossed**2).sum())


@dataclass(frozen=True, eq=False)
class Holes:
    """What each unit lacks: all that the rates of any marks have in common.

    weights : (n, c), 0 where missing; units : (n,) tasks in each unit
    """

    weights: Array
    units: Array

    @cached_property
    def kinds(self) -> tuple[Array, NDArray[np.int64]]:
        """The different rows of weights, and which of them each unit has."""
        return distinct(self.weights)

    @cached_property
    def share(self) -> Array:
        """(n, c): the part of each entry in the mean of its unit."""
        return self.weights * reciprocal(self.weights.sum(axis=1))[:, None]

    @cached_property
    def counted(self) -> Array:
        """(n,): tasks in each unit that has any score; one without has no level."""
        return self.units * (self.weights.sum(axis=1) > 0)

    @cached_property
    def kept(self) -> bool:
        """Whether every kind of unit has its own normal matrix; else there are so many units that one serves all."""
        return bool(len(self.kinds[0]) * self.weights.shape[1] ** 2 * 8 <= DENSE_BYTES)

    @cached_property
    def products(self) -> Array:
        """(kinds, c c): what a unit of each kind takes off the normal matrix."""
        patterns = self.kinds[0]
        share = patterns * reciprocal(patterns.sum(axis=1))[:, None]
        return (patterns[:, :, None] * share[:, None]).reshape(len(patterns), -1)

    @cached_property
    def inverse(self) -> Array:
        """(c, c) inverse of the normal matrix of all units."""
        return np.asarray(np.linalg.inv(_level_free(self.weights.sum(axis=0), -(self.share.T @ self.weights))))


def _level_free(covered: Array, normal: Array) -> Array:
    """(..., c, c) `normal` with its diagonal, and the level fixed: any value of it gives the same cells."""
    c = covered.shape[-1]
    normal[..., np.arange(c), np.arange(c)] += covered
    return np.asarray(normal + (covered.mean(axis=-1) / c)[..., None, None])


class CellRates:
    """Cell means of incomplete values by the additive design, for each of R resamplings: factorised once.

    times : (R, n) how often each unit counts
    """

    def __init__(self, holes: Holes, times: Array) -> None:
        self.holes, self.times = holes, times
        self.counted = times * holes.counted
        c = holes.weights.shape[1]
        if holes.kept:
            taken = sum_kinds(times, holes.kinds[1]) @ holes.products
            self.inverse = np.linalg.inv(_level_free(times @ holes.weights, -taken.reshape(-1, c, c)))
        else:
            self.inverse = holes.inverse * (len(holes.units) / times.sum(axis=1))[:, None, None]

    def __call__(self, values: Array) -> Array:
        """(R, c) rates of `values` (n, c); anything finite where missing."""
        right, level = self.sums(values)
        return self.levelled(right[:, None], level[:, None])[:, 0]

    def sums(self, values: Array) -> tuple[Array, Array]:
        """Right sides (R, c) and sums of the units' means (R,) of `values` (n, c)."""
        mean = np.einsum("tc,tc->t", values, self.holes.share)
        return self.times @ (self.holes.weights * (values - mean[:, None])), self.counted @ mean

    def levelled(self, right: Array, level: Array) -> Array:
        """(R, e, c) cells from the right sides (R, e, c) and the sums of the units' means (R, e)."""
        effects = np.matmul(right, self.inverse)  # a symmetric matrix
        own = np.matmul(effects, (self.counted @ self.holes.share)[..., None])[..., 0]
        return effects + ((level - own) / self.counted.sum(axis=1)[:, None])[..., None]


def sum_kinds(times: Array, kind: NDArray[np.int64]) -> Array:
    """(R, n) summed over the units of each kind: (R, kinds)."""
    order = np.argsort(kind, kind="stable")
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    return np.add.reduceat(times[:, order], starts, axis=1)


def entry_weights(panel: Panel) -> Array:
    """(n, k, m) weight of each entry: its rows, at least one for each task of its unit; 0 where missing."""
    counts = np.maximum(panel.counts.astype(np.float64), panel.weights[:, None, None])
    return np.where(np.isnan(panel.scores), 0.0, counts)


class _Fit:
    """Weighted least squares for the cells under one design, from the distinct weight patterns of the tasks."""

    def __init__(self, patterns: Array, group: NDArray[np.int64], scores: Array, design: Design) -> None:
        self.scores, self.design = scores, design
        self.weights, self.group = patterns, group
        k, m = scores.shape[1:]
        self.basis = basis(k, m, design)
        p = len(self.basis)
        most = DENSE_ANSWERS if design == "answers" else DENSE_CELLS
        self.dense = len(self.weights) * p**2 * 8 <= DENSE_BYTES and p <= most
        self.times = np.bincount(self.group, minlength=len(self.weights)).astype(np.float64)
        if self.dense:
            self.matrices = normal_matrices(self.weights, design, self.basis)
            self.normal = np.einsum("g,gpq->pq", self.times, self.matrices)
        self._solve()

    def again(self, scores: Array) -> _Fit:
        """The fit of other scores with the same holes. It shares what rests on the holes alone."""
        _ = self.leverage if self.dense else self.inverse
        out = copy(self)
        out.scores = scores
        out._solve()
        return out

    def _solve(self) -> None:
        flat = self.basis.reshape(len(self.basis), -1)
        self.right = np.concatenate(
            [out.reshape(len(out), -1) @ flat.T for out in self._by_task(lambda e, s, _: e.residual(s[:, None])[:, 0])]
        )
        total = self.right.sum(axis=0)
        if self.dense:
            self.solution = np.linalg.solve(self.normal, total)
        else:
            entries = self.times @ (self.weights > 0).sum(axis=(1, 2))
            start = total / max(float(entries) / self.scores[0].size, 1.0)
            from scipy.sparse.linalg import LinearOperator, cg  # takes longer to load than most panels take to audit

            matrix = LinearOperator((len(total), len(total)), matvec=self._apply, dtype=np.float64)
            self.solution = cg(matrix, total, start, rtol=1e-12, maxiter=4 * len(total))[0]
        self.cells = (self.solution @ flat).reshape(self.scores.shape[1:])

    def _chunks(self, count: int) -> list[slice]:
        k, m = self.scores.shape[1:]
        step = max(1, CHUNK_BYTES // (8 * k * m))
        return [slice(i, min(i + step, count)) for i in range(0, count, step)]

    @cached_property
    def _eliminations(self) -> list[Elimination]:
        return [Elimination(self.weights[part], self.design) for part in self._chunks(len(self.weights))]

    def _parts(self) -> Iterator[tuple[Elimination, slice]]:
        return zip(self._eliminations, self._chunks(len(self.weights)), strict=True)

    def _apply(self, vector: Array) -> Array:
        cells = np.tensordot(vector, self.basis, 1)
        out = sum((e.apply(cells, self.times[part]) for e, part in self._parts()), np.zeros(cells.shape))
        return self.basis.reshape(len(self.basis), -1) @ out.ravel()

    def _by_task(self, what: Callable[[Elimination, Array, slice], Array]) -> list[Array]:
        """`what` of (elimination, scores, their place) over chunks of tasks."""
        out = []
        for part in self._chunks(len(self.scores)):
            group = self.group[part]
            known = self._judges[group] if self.design == "paired" else None  # made once for each pattern
            out.append(what(Elimination(self.weights[group], self.design, known), self.scores[part], part))
        return out

    @cached_property
    def _judges(self) -> Array:
        return np.concatenate([e.judges for e in self._eliminations])

    def deviations(self) -> Array:
        """(n, k, m) change of the cells by each task: they sum to zero over tasks."""
        n, k, m = self.scores.shape
        flat = self.basis.reshape(len(self.basis), -1)
        if self.dense:
            moments = self.right - np.einsum("gpq,q->gp", self.matrices, self.solution)[self.group]
        else:
            left = np.concatenate(self._by_task(lambda e, s, _: e.residual(self.cells[None, None])[:, 0]))
            moments = self.right - left.reshape(n, -1) @ flat.T
        return ((moments @ self.inverse) @ flat).reshape(n, k, m)

    @cached_property
    def leverage(self) -> Array:
        """(k, m) share of each interaction's variance that residuals do not show: 1 / n in a complete panel."""
        pull = self.inverse @ self.matrices
        part = np.einsum("g,gpq->pq", self.times, pull @ pull) @ self.inverse
        # a task moves the cells of its own languages: of "answers" each language is corrected for its own tasks
        cells = self.basis if self.design == "answers" else double_centre(self.basis)
        cells = cells.reshape(len(cells), -1)
        own, all_of_it = ((cells * (x @ cells)).sum(axis=0) for x in (part, self.inverse))
        return (own / all_of_it).reshape(self.basis.shape[1:])

    @cached_property
    def inverse(self) -> Array:
        """(p, p) inverse of the normal matrix: the covariance of the solution, but for the noise variance."""
        if self.dense:
            return np.asarray(np.linalg.inv(self.normal))
        flat = self.basis.reshape(len(self.basis), -1)
        normal = sum(e.normal(self.times[part]) for e, part in self._parts())
        return np.asarray(np.linalg.inv(flat @ normal @ flat.T))

    def residual_square(self) -> tuple[float, float, float]:
        """Weighted sum of squared residuals, its degrees of freedom, and the mean weight of an entry."""

        def square(task: Elimination, scores: Array, _: slice) -> Array:
            apart = np.where(task.weights > 0, scores - self.cells, 0.0)
            return np.asarray((task.residual(apart[:, None])[:, 0] * apart).sum(axis=(1, 2)), dtype=np.float64)

        freedom = float(self.times @ np.concatenate([e.freedom() for e in self._eliminations])) - len(self.basis)
        mean = float((self.times @ self.weights.reshape(len(self.weights), -1)).sum()) / float(
            (self.times @ (self.weights > 0).reshape(len(self.weights), -1)).sum()
        )
        return float(np.concatenate(self._by_task(square)).sum()), freedom, mean

    def resample(self, times: Array) -> Array:
        """(R, k, m) cells with each task counted `times` (R, n); NaN where they are not identified."""
        p = len(self.basis)
        normal = (sum_kinds(times, self.group) @ self.matrices.reshape(len(self.weights), -1)).reshape(-1, p, p)
        values, vectors = np.linalg.eigh(normal)
        known = values[:, 0] > RANK_TOLERANCE * values[:, -1]
        right = np.einsum("rqp,rq->rp", vectors, times @ self.right)
        solution = np.einsum("rpq,rq->rp", vectors, right / np.where(known[:, None], values, 1.0))
        solution[~known] = np.nan
        return np.tensordot(solution, self.basis, 1)
