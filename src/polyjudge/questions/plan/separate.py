"""Where the differences between systems come from, and how many tasks, judges and languages tell the best apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from polyjudge.estimate.resample import check_level, jackknife, mean_and_se
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import PanelError, UsageError
from polyjudge.panel.panel import Panel
from polyjudge.questions.judges.choose import cheapest, task_prices
from polyjudge.questions.systems.leaderboard import require_systems
from polyjudge.report.result import Result

AXES = ("task", "system", "language", "judge")
GROUPS = 50
NOISE = "noise"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Separation(Result):
    """How many tasks tell two systems apart that differ by `points`.

    table : judges, languages, tasks (needed with these judges and languages), floor (smallest difference that any
        number of tasks can show, where judges and languages stand for others like them)
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
    needed: int
    """Tasks needed with the judges and languages of the pilot."""
    kept: tuple[str, ...]
    """The judges that tell such systems apart at the least cost; measured on tasks that did not choose them."""
    kept_tasks: int
    kept_cost: float
    """In the unit of the prices; scores where there are none."""
    cost: float
    """The same of all judges on the tasks that they need."""
    priced: bool


def system_variance(panel: Panel, *, level: float = 0.95) -> SystemVariance:
    """Variance components of task, system, language, judge and all their interactions, from mean squares.

    Needs every system scored everywhere. Where all components are positive these are the estimates of a mixed model
    (REML) with all effects random. Intervals are a jackknife over tasks (clusters).

    >>> from polyjudge import simulate_panel
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
    squares, means, names = _pieces(panel, scores)
    noise = None
    if panel.system_replicates is not None and not np.isnan(panel.system_replicates).any():
        spread = panel.system_replicates.var(axis=-1, ddof=1).mean(axis=(1, 2, 3))
        noise = (spread, panel.system_replicates.shape[-1])
    full = _components(squares, means, scores.shape, noise, np.ones(len(scores)))
    groups = np.unique(panel.cluster, return_inverse=True)[1]
    groups = groups if groups.max() < GROUPS else groups * GROUPS // (int(groups.max()) + 1)
    left = [
        _components(squares, means, scores.shape, noise, (groups != g).astype(np.float64)) for g in np.unique(groups)
    ]
    share = _shares(full)
    _, low, high = jackknife(share, np.stack([_shares(x) for x in left]), level)
    table = pd.DataFrame(
        {
            "component": names + ([NOISE] if noise is not None else []),
            "variance": full,
            "share": share,
            "low": np.clip(low, 0, 1),
            "high": np.clip(high, 0, 1),
        }
    )
    return SystemVariance(components=table, replicated=noise is not None, level=level)


def separate(
    panel: Panel,
    points: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    most: int = 2,
    prices: Mapping[str, float] | None = None,
    seed: int = 7,
) -> Separation:
    """How many tasks, judges and languages separate the two best systems when they differ by `points`, from a pilot.

    power : chance of telling them apart
    most : judges and languages are tabulated up to this many times the pilot's
    prices : what one score by each judge costs; every score counts 1 without them
    """
    check_level(level)
    if not points > 0:
        raise UsageError(f"points is the difference to be told, above 0, not {points:g}.")
    if not 0.5 <= power < 1:
        raise UsageError(f"power is a chance from 0.5 to under 1 (usually 0.8), not {power:g}.")
    found = system_variance(panel, level=level)
    scores = require_systems(panel, "Planning for systems")
    z = float(ndtri((1 + level) / 2) + ndtri(power))
    k, m = len(panel.languages), len(panel.judges)

    def sd(axis: str, judges: int, languages: int) -> float:
        """Sd of a difference of two systems: per task (axis "task:"), or what judges and languages leave in it."""
        parts = {
            f"{axis}system": 1.0 if axis else 0.0,
            f"{axis}system:language": 1 / languages,
            f"{axis}system:judge": 1 / judges,
            f"{axis}system:language:judge": 1 / (languages * judges),
        }
        total = sum(share * found.of(name) for name, share in parts.items())
        if axis:
            repeats = max(len(panel.replicates), 1) if found.replicated else 1
            total += found.of(NOISE) / (languages * judges * repeats)
        return float(np.sqrt(2 * total))

    rows = [
        {
            "judges": j,
            "languages": spoken,
            "tasks": max(2, int(np.ceil((z * sd("task:", j, spoken) / points) ** 2))),
            "floor": z * sd("", j, spoken),
        }
        for spoken in sorted({1, k, most * k})
        for j in sorted({1, *range(2, m + 1), most * m})
    ]
    best, gap, se, hangs_on = _two_best(panel, scores, float(ndtri((1 + level) / 2)))
    needed = max(2, int(np.ceil((z * sd("task:", m, k) / points) ** 2)))
    return Separation(
        **_choice(panel, points, z, prices, needed, seed),
        table=pd.DataFrame(rows),
        variance=found,
        points=points,
        power=power,
        level=level,
        best=best,
        difference=gap,
        se=se,
        hangs_on=hangs_on,
        tasks=len(scores),
        needed=needed,
    )


def _two_best(panel: Panel, scores: Array, z: float) -> tuple[tuple[str, str], float, float, str]:
    """The two best systems of the pilot, their difference and its standard error, and the judge it hangs on."""
    first, second = (int(i) for i in np.argsort(-scores.mean(axis=(0, 2, 3)), kind="stable")[:2])
    gaps = (scores[:, first] - scores[:, second]).mean(axis=1)  # (n, m)
    without = (gaps.sum(axis=1, keepdims=True) - gaps) / (gaps.shape[1] - 1)
    mean, se = mean_and_se(np.column_stack([gaps.mean(axis=1), without]), panel.weights, panel.cluster)
    lead = mean - z * se
    worst = int(lead[1:].argmin())
    hangs = bool(lead[0] > 0 >= lead[1 + worst])
    names = panel.systems[first], panel.systems[second]
    return names, float(mean[0]), float(se[0]), panel.judges[worst] if hangs else ""


def _choice(
    panel: Panel, points: float, z: float, prices: Mapping[str, float] | None, needed: int, seed: int
) -> dict[str, Any]:
    """The cheapest judges for the difference, and what all of them cost on the tasks that they need."""
    kept, tasks, cost = cheapest(panel, points, z, prices, seed)
    each = float(task_prices(panel, prices).sum()) * len(panel.languages)
    return {"kept": kept, "kept_tasks": tasks, "kept_cost": cost, "cost": needed * each, "priced": prices is not None}


def _subsets(size: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(size), r) for r in range(size + 1)))


def _pieces(panel: Panel, scores: Array) -> tuple[Array, list[Array], list[str]]:
    """Of every subset of system, language and judge: squared size of each task's part, (n, 8), and the parts."""
    n = len(scores)
    squares, parts = [], []
    for subset in _subsets(3):
        part = scores
        for axis in range(3):
            mean = part.mean(axis=axis + 1, keepdims=True)
            part = part - mean if axis in subset else mean
        others = np.prod([scores.shape[axis + 1] for axis in range(3) if axis not in subset])
        flat = part.reshape(n, -1) * np.sqrt(others)
        squares.append((flat**2).sum(axis=1))
        parts.append(flat)
    names = [":".join(AXES[i] for i in subset) for subset in _subsets(4) if subset]
    return np.stack(squares, axis=1), parts, names


def _components(
    squares: Array, parts: list[Array], shape: tuple[int, ...], noise: tuple[Array, int] | None, times: Array
) -> Array:
    """Unbiased components of the tasks that count, in the order of the subsets of task, system, language, judge."""
    n = times.sum()
    sizes = (n, *shape[1:])
    mean_square: dict[tuple[int, ...], float] = {}
    for index, inner in enumerate(_subsets(3)):
        subset = tuple(axis + 1 for axis in inner)
        df = float(np.prod([shape[axis] - 1 for axis in subset]))
        common = float(((times @ parts[index]) ** 2).sum() / n)
        if subset:
            mean_square[subset] = common / df
        mean_square[(0, *subset)] = (float(times @ squares[:, index]) - common) / (df * (n - 1))
    out = []
    for subset in _subsets(4):
        if not subset:
            continue
        total = sum(
            (-1) ** (len(other) - len(subset)) * value
            for other, value in mean_square.items()
            if set(subset) <= set(other)
        )
        out.append(total / float(np.prod([sizes[axis] for axis in range(4) if axis not in subset])))
    if noise is not None:
        each = float(times @ noise[0] / n)
        out[-1] -= each / noise[1]
        out.append(each)
    return np.array(out)


def _shares(variance: Array) -> Array:
    kept = np.maximum(variance, 0.0)
    return kept / max(float(kept.sum()), np.finfo(float).tiny)
