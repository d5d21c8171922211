"""Where the differences between systems come from, and how many tasks, judges and languages tell the best apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.second.estimate.components import components, subsets, sums_of_squares, whole
from polyjudge.second.estimate.covariance import require_systems
from polyjudge.second.estimate.kernels import stream
from polyjudge.second.estimate.resample import check_level, jackknife, leave_out, mean_and_se
from polyjudge.second.estimate.subsets import (
    Masks,
    draws_of,
    errors_of,
    fold_of,
    moments_of,
    slopes_of,
    subsets_of,
    sure_slopes,
    task_prices,
)
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import families as find_families
from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.plan.planning import MOST_TASKS, smallest
from polyjudge.second.report.result import Result

AXES = ("task", "system", "language", "judge")
GROUPS = 50
NOISE = "noise"
DRAWS = 2000
"""Simulated studies behind a number of tasks: its power is known to within a percent."""
PILOT = 0.8
"""One-sided level of the limit of the pilot's variance that is planned with."""


class SystemVariance(Result):
    """Variance components of single scores with systems.

    components : component ("task", "task:system", ..., and "noise" where replicates tell it from the four-way term),
        variance (points squared; unbiased, so it may fall below 0), share (of the sum, below 0 counted as 0), low, high
    """

    components: pd.DataFrame
    replicated: bool
    level: float

    def of(self, component: str) -> float:
        """The variance of a component, not below 0; 0 where it is part of another."""
        rows = self.components[self.components["component"] == component]["variance"]
        return max(float(rows.iloc[0]), 0.0) if len(rows) else 0.0


class Separation(Result):
    """How many tasks tell the best system apart from others that are `points` behind.

    table : judges (two or more: the taste of one ranks nothing), languages, tasks (needed with these judges and
        languages), floor (smallest difference that any number of tasks can show, where judges and languages stand for
        others like them)
    """

    table: pd.DataFrame
    variance: SystemVariance
    points: float
    power: float
    level: float
    best: tuple[str, str]
    """The two best systems of the pilot."""
    difference: float
    """Their difference in the pilot, with its standard error over tasks."""
    se: float
    hangs_on: str
    """The judge without whom the pilot does not tell them apart, though it does with all; "" for none."""
    tasks: int
    """Tasks of the pilot."""
    needed: int | None
    """Tasks needed with the judges and languages of the pilot; None where no number is enough."""
    kept: tuple[str, ...]
    """The judges that tell such systems apart at the least cost; measured on tasks that did not choose them."""
    kept_tasks: int | None
    kept_cost: float | None
    """In the unit of the prices; scores where there are none."""
    cost: float | None
    """The same of all judges on the tasks that they need."""
    priced: bool


def system_variance(panel: Panel, *, level: float = 0.95) -> SystemVariance:
    """Variance components of task, system, language, judge and all their interactions, from mean squares.

    Needs every system scored everywhere. Where all components are positive these are the estimates of a mixed model
    (REML) with all effects random. Intervals are a jackknife over tasks (clusters).

    >>> from polyjudge.second import simulate_panel
    >>> found = system_variance(simulate_panel(tasks=50, languages=3, judges=4, systems=5, seed=1)[0])
    >>> len(found.components)
    15
    """
    check_level(level)
    scores = require_systems(panel, "Variance components of systems")
    if not panel.systems_complete or not np.all(panel.weights == 1):
        raise PanelError(
            "Variance components of systems need every system scored on every task, and units of one task."
        )
    groups = np.unique(panel.cluster, return_inverse=True)[1]
    groups = groups if groups.max() < GROUPS else groups * GROUPS // (int(groups.max()) + 1)
    rows = panel.system_replicates
    noisy = rows is not None and not np.isnan(rows).any()
    found = []
    for total in (whole, partial(leave_out, cluster=groups)):
        units = total(np.ones(len(scores)))
        noise = None
        if rows is not None and noisy:
            noise = total(rows.var(axis=-1, ddof=1).mean(axis=(1, 2, 3))) / units, 1 / rows.shape[-1]
        squares = sums_of_squares(scores, np.ones(len(scores)), total)
        found.append(components(squares, units, units, scores.shape[1:], noise))
    share, left = (_shares(x) for x in found)
    _, low, high = jackknife(share, left, level)
    table = pd.DataFrame(
        {
            "component": [":".join(AXES[axis] for axis in term) for term in subsets(len(AXES))] + [NOISE] * noisy,
            "variance": found[0],
            "share": share,
            "low": np.maximum(low, 0.0),
            "high": np.clip(high, 0, 1),
        }
    )
    return SystemVariance(components=table, replicated=noisy, level=level)


def separate(
    panel: Panel,
    points: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    prices: Mapping[str, float] | None = None,
    families: Mapping[str, str] | None = None,
    seed: int = 7,
) -> Separation:
    """How many tasks, judges and languages tell the best system apart from all others, `points` behind it.

    Told apart means what a leaderboard means by it: every two systems at once, and also without any one judge or maker.
    Systems further behind are told apart with fewer tasks. The pilot's variance is an estimate: its upper limit is
    planned with.

    power : chance of telling them apart
    prices : what one score by each judge costs; every score counts 1 without them
    families : makers of judges by name; found from the names where not given
    """
    check_level(level)
    if not points > 0:
        raise UsageError(f"points is the difference to be told, above 0, not {points:g}.")
    if not 0.5 <= power < 1:
        raise UsageError(f"power is a chance from 0.5 to under 1 (usually 0.8), not {power:g}.")
    scores = require_systems(panel, "Planning for systems")
    found = system_variance(panel, level=level)
    k, m = len(panel.languages), len(panel.judges)
    ask = _Ask(points=points, power=power, level=level, systems=len(panel.systems), seed=seed)
    makers = list(find_families(panel.judges, families).values())
    repeats = max(len(panel.replicates), 1) if found.replicated else 1
    pilot = _Pilot(found, repeats, _upper(panel, scores, PILOT))
    # One language or one judge says nothing of a second one.
    widths, sizes = ({1, k, 2 * k} if k > 1 else {1}), ({*range(2, m + 1), 2 * m} if m > 1 else {1})
    grid = [(j, x) for x in sorted(widths) for j in sorted(sizes)]
    tasks = [ask.tasks(*pilot.spread(x), makers if j == m else range(j)) for j, x in grid]
    sigmas = ask.critical + float(ndtri(power))  # that `points` must be where nobody is left out
    rows = [(*at, n, sigmas * pilot.left(*at)) for at, n in zip(grid, tasks, strict=True)]
    needed = ask.tasks(*pilot.spread(k), makers)
    each = float(task_prices(panel, prices).sum()) * k
    return Separation(
        table=pd.DataFrame(rows, columns=["judges", "languages", "tasks", "floor"]).astype({"tasks": "Int64"}),
        variance=found,
        points=points,
        power=power,
        level=level,
        **_two_best(panel, scores, float(ndtri((1 + level) / 2))),
        tasks=len(scores),
        needed=needed,
        **_cheapest(panel, ask, pilot.spread(k), makers, prices),
        cost=None if needed is None else needed * each,
        priced=prices is not None,
    )


@dataclass(frozen=True, eq=False)
class _Pilot:
    """What a pilot says of the spread of a difference of two systems."""

    found: SystemVariance
    repeats: int
    margin: float
    """Upper limit of its variance over the estimate."""

    def spread(self, languages: int) -> tuple[float, float, float]:
        """Variance of a difference of two systems in a task: what judges share and what is each one's own; and the
        variance of the judges' own tastes."""
        of = self.found.of
        shared = of("task:system") + of("task:system:language") / languages
        own = of("task:system:judge") + of("task:system:language:judge") / languages
        own += of(NOISE) / (languages * self.repeats)
        taste = of("system:judge") + of("system:language:judge") / languages
        return 2 * shared * self.margin, 2 * own * self.margin, 2 * taste

    def left(self, judges: int, languages: int) -> float:
        """Sd of a difference that no number of tasks lowers, where judges and languages stand for others like them."""
        variance = 2 * self.found.of("system:language") / languages + self.spread(languages)[2] / judges
        return float(np.sqrt(variance))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Ask:
    """The best of `systems`, ahead of all others by `points`, to be told apart from each with this power."""

    points: float
    power: float
    level: float
    systems: int
    seed: int

    @cached_property
    def critical(self) -> float:
        """What |t| of a pair must exceed among all pairs at once, with many tasks."""
        z = stream(self.seed, 0, "largest of all pairs").standard_normal((DRAWS, self.systems))
        return float(np.quantile((z.max(axis=1) - z.min(axis=1)) / np.sqrt(2), self.level))

    def tasks(self, shared: float, own: float, taste: float, makers: Sequence[object]) -> int | None:
        """Tasks needed by judges of these makers; None where no number is enough.

        shared, own : variance of the difference in a task that judges have in common, and that of each judge
        taste : variance of what a judge finds between two systems on every task, beyond the others
        """
        s, m = self.systems, len(makers)
        alone = ~np.eye(m, dtype=bool) if m > 1 else np.zeros((0, m), bool)
        each = np.array([[x != maker for x in makers] for maker in dict.fromkeys(makers)])
        each = each[(each.sum(axis=1) > 0) & (each.sum(axis=1) < m - 1)]
        kept = np.concatenate([np.ones((1, m), bool), alone, each]).astype(float)  # (x, m): who judges
        kept /= kept.sum(axis=1, keepdims=True)
        rng = stream(self.seed, m, "judges and tasks")

        def ahead(of_systems: Array) -> Array:
            """(draws, s - 1, x) of the best system over each other one, from (draws, s, x)."""
            return of_systems[:, :1] - of_systems[:, 1:]

        tastes = np.sqrt(taste / 2) * rng.standard_normal((DRAWS, s, m))
        true = self.points + ahead((tastes - tastes.mean(axis=2, keepdims=True)) @ kept.T)
        luck = np.sqrt(shared / 2) * rng.standard_normal((DRAWS, s, 1))
        luck = ahead(luck + np.sqrt(own / 2) * rng.standard_normal((DRAWS, s, m)) @ kept.T)
        luck -= self.critical * np.sqrt(shared + own * (kept**2).sum(axis=1))

        def enough(n: int) -> bool:
            return bool((true + luck / np.sqrt(n) > 0).all(axis=(1, 2)).mean() >= self.power)

        return smallest(enough, MOST_TASKS)


def _upper(panel: Panel, scores: Array, level: float) -> float:
    """The upper limit of the variance of a system difference over its estimate: jackknife of its logarithm."""
    means = scores.mean(axis=(2, 3))
    deviations = means - means.mean(axis=1, keepdims=True)
    square = ((deviations - deviations.mean(axis=0)) ** 2).sum(axis=1)
    left = np.log(np.maximum(leave_out(square, cluster=panel.cluster), 1e-300))
    left -= np.log(np.maximum(leave_out(np.ones(len(square)), cluster=panel.cluster), 1))
    g = len(left)
    se = float(np.sqrt((g - 1) / g * ((left - left.mean()) ** 2).sum()))
    return float(np.exp(stdtrit(g - 1, level) * se))


def _two_best(panel: Panel, scores: Array, z: float) -> dict[str, Any]:
    """The two best systems of the pilot, their difference and its standard error, and the judge it hangs on."""
    first, second = (int(i) for i in np.argsort(-scores.mean(axis=(0, 2, 3)), kind="stable")[:2])
    gaps = (scores[:, first] - scores[:, second]).mean(axis=1)  # (n, m)
    without = (gaps.sum(axis=1, keepdims=True) - gaps) / max(gaps.shape[1] - 1, 1)
    mean, se = mean_and_se(np.column_stack([gaps.mean(axis=1), without]), panel.weights, panel.cluster)
    lead = mean - z * se
    worst = int(lead[1:].argmin())
    hangs = gaps.shape[1] > 1 and bool(lead[0] > 0 >= lead[1 + worst])
    sizes = {"difference": float(mean[0]), "se": float(se[0])}
    return {
        "best": (panel.systems[first], panel.systems[second]),
        **sizes,
        "hangs_on": panel.judges[worst] if hangs else "",
    }


def _cheapest(
    panel: Panel, ask: _Ask, spread: tuple[float, float, float], makers: list[str], prices: Mapping[str, float] | None
) -> dict[str, Any]:
    """The judges that tell the systems apart at the least cost: their names, tasks and cost.

    At least two, for the taste of one judge ranks nothing. Their variance is measured on tasks that did not choose
    them; how much of it they share is that of all judges.
    """
    if len(panel.judges) < 2:
        return {"kept": panel.judges, "kept_tasks": None, "kept_cost": None}
    price = task_prices(panel, prices) * len(panel.languages)
    moments = moments_of(panel)
    weights = np.asarray(panel.weights, float)
    v = moments.covariance(weights)
    z, _ = subsets_of(v, len(panel.judges))
    z = z[z.sum(axis=1) >= 2]
    slopes = sure_slopes(v, draws_of(moments, weights, 100, ask.seed)[0], 0.95)[0]
    flat = bool((slopes == 1).all())

    def per_task(chosen: NDArray[np.bool_], by: Array, rows: Masks) -> Array:
        """Squared error of a difference from one task, over all languages."""
        more = float(chosen.sum() / max(chosen.sum() - 1, 1))
        return more * errors_of(moments.within(weights * chosen), by, rows, 1.0)[-1] ** 2

    fold = fold_of(moments, ask.seed)
    left = []
    for f in range(int(fold.max()) + 1):
        by = slopes if flat else slopes_of(moments.covariance(weights * (fold != f)))
        pick = int(np.argmin(per_task(fold != f, by, z) * (z @ price)))
        left.append(float(per_task(fold == f, by, z[[pick]])[0]) * (fold == f).mean())
    best = z[int(np.argmin(per_task(np.ones(len(fold), bool), slopes, z) * (z @ price)))]
    names = tuple(name for name, there in zip(panel.judges, best, strict=True) if there)
    shared, own, taste = spread
    whole = shared + own / len(names)
    scale = sum(left) / whole if whole > 0 else 1.0
    made = [maker for maker, there in zip(makers, best, strict=True) if there]
    tasks = ask.tasks(shared * scale, own * scale, taste, made)
    cost = None if tasks is None else tasks * float(best @ price)
    return {"kept": names, "kept_tasks": tasks, "kept_cost": cost}


def _shares(variance: Array) -> Array:
    kept = np.maximum(variance, 0.0)
    return kept / np.maximum(kept.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
