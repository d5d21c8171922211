"""How many tasks, and what to buy more of: radii inverted, detectable effects, and a decision study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.estimate.bands import bonferroni_t, free_radius, gaussian_radius, noise_sigma, uncertainty
from polyjudge.second.estimate.components import COMPONENTS, panel_components
from polyjudge.second.estimate.incomplete import sampling_panel
from polyjudge.second.estimate.kernels import double_centre, pair_index
from polyjudge.second.estimate.label_budget import FEWEST, budget_table
from polyjudge.second.estimate.pairs import check_pairs
from polyjudge.second.estimate.resample import (
    check_level,
    jackknife,
    mean_and_se,
    task_interactions,
)
from polyjudge.second.estimate.subsets import prices_of
from polyjudge.second.estimate.tetrads import gap_changes
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.build import fields
from polyjudge.second.report.result import Result

MOST_TASKS = 10_000_000
LADDER = (10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
"""Numbers of tasks whose worth is shown."""


class Plan(Result):
    """Tasks needed for a target radius, and what a number of tasks buys.

    `needed`: bound, sigma, tasks. `table`: one row per number of tasks with the radius under each bound and the
    expected number of cells and of reversing pairs that would be found. `decision`: the decision study (with data).
    """

    table: pd.DataFrame
    needed: pd.DataFrame
    languages: int
    judges: int
    sigma: float
    radius: float
    level: float
    tasks: int | None
    """Tasks of the pilot."""
    enough: int | None
    """Tasks that bring the band of an audit down to the radius; None beyond `MOST_TASKS`."""
    ruled_out: int | None
    """Tasks that rule out a gap of two judges that changes by the radius between two languages, as `audit` asks; None
    where there is no pilot, or the pilot rules it out already or shows it."""
    scores_per_task: int
    price_per_task: float | None
    """What a task costs by all judges in all languages, where prices are known."""
    assumed: Say
    """What the expected numbers take as the truth."""
    decision: pd.DataFrame | None
    advice: Say | None
    notes: tuple[Say, ...]


def plan(
    panel: Panel | None = None,
    *,
    judges: int | None = None,
    languages: int | None = None,
    sigma: float | None = None,
    radius: float | None = None,
    score_range: tuple[float, float] | None = None,
    interaction_sd: float | None = None,
    judge_sd: float | None = None,
    tasks: Iterable[int] | None = None,
    prices: Mapping[str, float] | None = None,
    level: float = 0.95,
    draws: int = 400,
    seed: int = 7,
) -> Plan:
    """Plan a panel: how many tasks give every cell of the interaction this radius?

    panel : scores to learn sigma, effects and variance components from; without one, give judges, languages, sigma and
        radius
    sigma : sd of the noise of one score
    radius : half-width wanted for all cells at once; with a panel half of its largest cell unless given
    score_range : the scale, for the distribution-free bound
    interaction_sd, judge_sd : sd of the true interaction and of the judges' means behind the expected numbers;
        without a panel both are `radius` unless given
    tasks : numbers of tasks of the table
    prices : with a panel: what one score by each judge costs

    >>> p = plan(judges=6, languages=8, sigma=22.24, radius=20.61 / 2)
    >>> int(p.needed["tasks"].iloc[0]), p.enough
    (52, 43)
    """
    check_level(level)
    world = (
        _without_scores(judges, languages, sigma, radius, interaction_sd, judge_sd, prices)
        if panel is None
        else _learned(panel, sigma, radius, judges, languages, level)
    )
    if panel is not None:
        score_range = score_range or panel.range
    if score_range is not None and not (np.isfinite(score_range).all() and score_range[1] > score_range[0]):
        raise UsageError("The score range needs a low end below its high end.")
    width = None if score_range is None else score_range[1] - score_range[0]

    needed = _needed(world, width, level)
    notes = [*world.notes, *([say("plan.no-range")] if width is None else [])]
    gaussian, enough = (None if pd.isna(n) else int(n) for n in needed["tasks"][:2])
    sizes = sorted({*LADDER, *(n for n in (gaussian, enough, world.tasks) if n is not None and 3 <= n <= 100_000)})
    if tasks is not None:
        sizes = sorted(set(tasks))
        if not sizes or sizes[0] < 3:
            raise UsageError("The numbers of tasks in a plan start at 3.")
    table = pd.DataFrame([_row(world, n, width, level, draws, seed) for n in sizes])
    decision = advice = None
    if panel is not None and not panel.complete:
        notes.append(say("plan.no-study"))
    elif panel is not None:
        decision, advice = decision_study(panel, level)
        if len(panel.replicates) < 2:
            notes.append(say("plan.no-replicates"))
    scores, price = _cost(world, panel, prices)
    return Plan(
        needed=needed,
        table=table,
        **fields(world, "languages", "judges", "sigma", "radius", "tasks", "assumed"),
        level=level,
        enough=enough,
        ruled_out=None if panel is None else _ruled_out(panel, world.radius, level),
        scores_per_task=scores,
        price_per_task=price,
        decision=decision,
        advice=advice,
        notes=tuple(notes),
    )


def _cost(world: _World, panel: Panel | None, prices: Mapping[str, float] | None) -> tuple[int, float | None]:
    """Scores of a task, and their price where it is known. A task has all languages, or those that tasks join: of
    languages that share none, one."""
    if panel is None:
        return world.languages * world.judges, None
    repeats = max(1, len(panel.systems)) * max(1, len(panel.replicates))
    answers = repeats * float(panel.own.sum(axis=1).mean())
    price = None if prices is None else answers * float(prices_of(panel, prices).sum())
    return round(answers * world.judges), price


def _ruled_out(panel: Panel, radius: float, level: float) -> int | None:
    found = gap_changes(panel, level)
    if found.widest.high <= radius or found.surest.low > radius:
        return None
    return found.tasks_needed(panel.n_tasks, radius, uncertainty(panel, level=level).critical, level)


def _needed(world: _World, width: float | None, level: float) -> pd.DataFrame:
    """Tasks that bring each bound down to the radius wanted: bound, sigma, tasks."""
    bounds = {
        "gaussian_radius": ("Gaussian", world.sigma),
        "band_radius": ("simultaneous band, widest cell", world.widest),
        "free_radius": ("distribution-free", np.nan),
    }

    def needed(name: str) -> int | None:
        return smallest(lambda n: _radii(world, n, width, level)[name] <= world.radius, MOST_TASKS)

    rows = [(*bounds[name], needed(name)) for name in list(bounds)[: 2 if width is None else 3]]
    return pd.DataFrame(rows, columns=["bound", "sigma", "tasks"]).astype({"tasks": "Int64"})


def _radii(world: _World, n: int, width: float | None, level: float) -> dict[str, float]:
    """Half-widths that n tasks give under each bound."""
    k, m = world.languages, world.judges
    return {
        "gaussian_radius": gaussian_radius(world.sigma, n, k, m, level),
        "band_radius": world.wider * band_radius(world.widest, n, k, m, level),
        "free_radius": np.nan if width is None else free_radius(width, n, k, m, level),
    }


def _row(world: _World, n: int, width: float | None, level: float, draws: int, seed: int) -> dict[str, float]:
    """What n tasks would give."""
    k, m = world.languages, world.judges
    cells, reversals, true_reversals = _expected(world, n, level, draws, seed)
    return {
        "tasks": n,
        **_radii(world, n, width, level),
        "expected_cells": cells.mean(),
        "expected_cells_se": cells.std(ddof=1) / math.sqrt(draws),
        "expected_reversals": reversals.mean(),
        "expected_reversals_se": reversals.std(ddof=1) / math.sqrt(draws),
        "true_reversals": true_reversals.mean(),
        "cells": k * m,
        "pairs": m * (m - 1) // 2,
    }


def band_radius(sd: float, n: float, k: int, m: int, level: float) -> float:
    """Half-width of the simultaneous band of a cell whose task-level deviations have this sd (Bonferroni's t)."""
    return bonferroni_t(int(n), k * m, level) * sd / math.sqrt(n)


def smallest(enough: Callable[[int], bool], most: int) -> int | None:
    """The smallest number (at least 2) that is enough, where every larger one is too; None beyond `most`."""
    low, high = 1, 2
    while not enough(high):
        low, high = high, high * 2
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# --- the world a plan takes as true ---


@dataclass(frozen=True, eq=False, kw_only=True)
class _World:
    languages: int
    judges: int
    sigma: float
    widest: float
    """Largest sd over tasks of a cell's deviation."""
    wider: float = 1.0
    """Critical value of the panel's own band over Bonferroni's t: above 1 where the scores have heavy tails."""
    radius: float
    means: Array | None = None
    """Cell means (k, m), or None to draw them."""
    root: Array | None = None
    """Square root of the covariance of a task's scores (km, km), or None for independent noise of sd `sigma`."""
    interaction_sd: float = 0.0
    judge_sd: float = 0.0
    tasks: int | None = None
    assumed: Say
    notes: tuple[Say, ...] = ()

    @cached_property
    def spreads(self) -> tuple[Array, Array]:
        """Sds over tasks of the deviation of every cell (k, m) and of the gap of every two judges (k, pairs)."""
        k, m = self.languages, self.judges
        if self.root is None:
            gaps = np.full((k, m * (m - 1) // 2), self.sigma * math.sqrt(2))
            return np.full((k, m), self.widest), gaps
        rows = self.root.reshape(-1, k, m)
        return np.sqrt((double_centre(rows) ** 2).sum(axis=0)), np.sqrt((_gaps(rows) ** 2).sum(axis=1))


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a positive number, not {value}.")
    return float(value)


def _without_scores(
    judges: int | None,
    languages: int | None,
    sigma: float | None,
    radius: float | None,
    interaction_sd: float | None,
    judge_sd: float | None,
    prices: Mapping[str, float] | None,
) -> _World:
    if prices is not None:
        raise UsageError("Prices are of judges by name: give scores to plan from too (plan(panel), --from SCORES).")
    wanted = {"judges": judges, "languages": languages, "sigma": sigma, "radius": radius}
    missing = [name for name, given in wanted.items() if given is None]
    if missing:
        raise UsageError(
            f"A plan without scores needs {', '.join(missing)}. Give them, or give scores to learn from "
            "(plan(panel), --from SCORES)."
        )
    m, k = int(judges or 0), int(languages or 0)
    if m < 2 or k < 2:
        raise UsageError("A plan needs at least two judges and two languages.")
    if m * k > 100_000:
        raise UsageError(f"{m} judges x {k} languages are more cells than a plan can hold.")
    sigma, radius = _positive("sigma", sigma or 0), _positive("radius", radius or 0)
    effect = _positive("interaction_sd", radius if interaction_sd is None else interaction_sd)
    apart = _positive("judge_sd", radius if judge_sd is None else judge_sd)
    return _World(
        languages=k,
        judges=m,
        sigma=sigma,
        widest=sigma * math.sqrt((1 - 1 / k) * (1 - 1 / m)),
        radius=radius,
        interaction_sd=effect,
        judge_sd=apart,
        assumed=say("plan.assumed", effect=effect, apart=apart, sigma=sigma),
    )


def _learned(
    panel: Panel, sigma: float | None, radius: float | None, judges: int | None, languages: int | None, level: float
) -> _World:
    panel = sampling_panel(panel)
    n, k, m = panel.shape
    if (judges is not None and judges != m) or (languages is not None and languages != k):
        raise UsageError(
            f"The scores have {k} languages and {m} judges; a plan from scores is for the same ones. Leave out "
            "--judges and --languages, or plan without scores."
        )
    w = panel.weights
    deviations = task_interactions(panel)
    beta, se = mean_and_se(deviations, w)
    learned = noise_sigma(panel, deviations)
    if learned <= panel.tie_gap and sigma is None:
        raise UsageError("The scores have no noise at all, so there is nothing to plan for.")
    centred = (panel.scores - panel.cell_means).reshape(n, -1) * np.sqrt(w)[:, None]
    # The noise-corrected spread of the true cells; the estimate's own spread is larger by its error.
    factor = math.sqrt(max(0.0, 1 - float((se**2).sum()) / max(float((beta**2).sum()), np.finfo(float).tiny)))
    means = panel.cell_means - (1 - factor) * beta
    values, vectors = np.linalg.eigh(centred.T @ centred / (n - 1))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    scale = 1.0 if sigma is None else _positive("sigma", sigma) / max(learned, np.finfo(float).tiny)
    target = float(np.abs(beta).max()) / 2 if radius is None else radius
    spread = np.sqrt(np.tensordot(w, (deviations - beta) ** 2, 1) / (n - 1))
    return _World(
        languages=k,
        judges=m,
        sigma=learned * scale,
        widest=float(spread.max()) * scale,
        wider=max(1.0, uncertainty(panel, level=level).critical / bonferroni_t(n, k * m, level)),
        radius=_positive("radius", target),
        means=means,
        root=root * scale,
        tasks=panel.n_tasks,
        assumed=say("plan.learned", factor=factor),
        notes=() if radius is not None else (say("plan.own-radius", radius=target),),
    )


def _expected(world: _World, n: int, level: float, draws: int, seed: int) -> tuple[Array, Array, Array]:
    """Cells clear of the band, pairs found reversing (selection-valid), and truly reversing pairs, in each draw."""
    k, m = world.languages, world.judges
    check_pairs(k, m, draws)
    rng = np.random.default_rng([seed, n])
    if world.means is None:
        beta = double_centre(rng.normal(0, world.interaction_sd, (draws, k, m)))
        truth = beta + rng.normal(0, world.judge_sd, (draws, 1, m))
    else:
        truth = np.broadcast_to(world.means, (draws, k, m))
    z = rng.standard_normal((draws, k * m))
    noise = world.sigma * z if world.root is None else z @ world.root
    cell_sd, gap_sd = world.spreads
    estimate = truth + noise.reshape(draws, k, m) / math.sqrt(n)
    # Chi-square factors stand for the estimated standard errors.
    wobble = np.sqrt(rng.chisquare(n - 1, (draws, 1, 1)) / (n - 1))
    tiny = float(np.finfo(float).tiny)
    beta_t = np.abs(double_centre(estimate)) / np.maximum(cell_sd * wobble / math.sqrt(n), tiny)
    cells = (beta_t > world.wider * bonferroni_t(n, k * m, level)).sum(axis=(1, 2))
    # Judges, then draws, last: the gaps of a judge to all later ones are views, worked on while they are near at hand.
    judged = np.ascontiguousarray(estimate.transpose(1, 2, 0))
    extreme, at = np.empty((m * (m - 1) // 2, draws)), 0
    for a in range(m - 1):
        part = slice(at, at := at + m - 1 - a)
        gap_t = judged[:, a, None] - judged[:, a + 1 :]
        gap_t /= np.maximum(gap_sd[:, part, None] * wobble[:, 0, 0] / math.sqrt(n), tiny)
        # The largest p of both sides, each over its best language: the p of the smaller of the two extremes.
        np.maximum(-gap_t.max(axis=0), gap_t.min(axis=0), out=extreme[part])
    # Benjamini and Hochberg: as many as the last of the sorted ones that is beyond the critical value of its place.
    beyond = np.sort(extreme.T, axis=1) <= stdtrit(n - 1, (1 - level) * np.arange(1, at + 1) / (at * k))
    found = np.where(beyond, np.arange(1, at + 1), 0).max(axis=1)
    d = _gaps(truth if world.means is None else truth[:1])
    true = ((d.max(axis=0) > 0) & (d.min(axis=0) < 0)).sum(axis=1)
    return cells.astype(float), found.astype(float), np.broadcast_to(true.astype(float), draws)


def _gaps(cells: Array) -> Array:
    """Differences of every two judges, languages first: (draws, k, m) -> (k, draws, pairs)."""
    i, j = pair_index(cells.shape[-1])
    cells = cells.swapaxes(0, 1)
    out: Array = cells[..., i] - cells[..., j]
    return out


# --- decision study ---


def decision_study(panel: Panel, level: float = 0.95) -> tuple[pd.DataFrame, Say]:
    """Reliability of three orders when one facet grows, from the variance components with jackknife intervals.

    `judges_overall`: the judges' order over all languages; `judges_in_language`: their order in one language;
    `languages`: the order of the languages' shared shifts. Reliability is the share of the variance of the ordered
    means that is not sampling of tasks, languages, judges or replicates.
    """
    n, k, m = panel.n_tasks, len(panel.languages), len(panel.judges)
    full, parts = panel_components(panel)
    noisy = len(full) == len(COMPONENTS)
    r = len(panel.replicates) if noisy else 1
    facets = {"tasks": n, "languages": k, "judges": m} | ({"replicates": r} if noisy else {})
    rows = []
    for facet, now in facets.items():
        for factor in (0.5, 1, 2, 4):
            size = math.ceil(now * factor)
            if size < (1 if facet == "replicates" else 2) or (factor < 1 and size == now):
                continue
            at = {"tasks": n, "languages": k, "judges": m, "replicates": r} | {facet: size}
            point, around = _reliability(full, at), _reliability(parts, at)
            _, low, high = jackknife(point, around, level)
            ends = np.maximum(point, 0.0), np.maximum(low, 0.0), np.clip(high, 0, 1)
            orders = ("judges_overall", "judges_in_language", "languages")
            rows += [(facet, size, factor, order, *map(float, x)) for order, *x in zip(orders, *ends, strict=True)]
    frame = pd.DataFrame(rows, columns=["facet", "size", "factor", "order", "reliability", "low", "high"])
    overall = frame[frame["order"] == "judges_overall"]
    doubled = overall[(overall["factor"] == 2) & (overall["facet"] != "judges")]
    best = doubled.iloc[int(doubled["reliability"].argmax())]
    values = {"facet": best["facet"]}
    for name, row in (("now", overall[overall["factor"] == 1].iloc[0]), ("then", best)):
        values |= {name: row["reliability"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
    return frame, say("plan.advice", **values)


def _reliability(estimate: Array, size: dict[str, int]) -> Array:
    """Reliabilities of the three orders: (..., 7 or 8) -> (..., 3)."""
    c = dict(zip(COMPONENTS, np.moveaxis(np.maximum(estimate, 0.0), -1, 0), strict=False))
    language, judge = estimate[..., 1], estimate[..., 2]  # not truncated, so that 0 has an interval too
    n, k, m, r = (size[f] for f in ("tasks", "languages", "judges", "replicates"))
    noise = c.get("noise", np.zeros_like(c["task"])) / r + c["task:language:judge"]
    signal = [judge, judge + c["language:judge"], language]
    error = [
        c["task:judge"] / n + c["language:judge"] / k + noise / (n * k),
        (c["task:judge"] + noise) / n,
        c["task:language"] / n + c["language:judge"] / m + noise / (n * m),
    ]
    s, e = np.stack(signal, axis=-1), np.stack(error, axis=-1)
    total = np.maximum(s, 0.0) + e
    return ratio(s, total)


# --- labels ---


class LabelBudget(Result):
    """Labels that the languages need; the columns of `table` are those of `budget_table`."""

    table: pd.DataFrame
    half_width: float
    level: float
    quantity: str

    @property
    def notes(self) -> tuple[Say, ...]:
        """What the numbers take for granted, and the languages where they mean little."""
        where = {"labels.all-equal": ~(self.table["sd"] > 0), "labels.pooled": self.table["pooled"]}
        listed = {code: self.table["language"][mask.astype(bool)].tolist() for code, mask in where.items()}
        more = (say(code, languages=names, fewest=FEWEST) for code, names in listed.items() if names)
        return say("labels.pilot", level=self.level), *more


def label_budget(panel: Panel, gold: Gold, half_width: float, *, level: float = 0.95) -> LabelBudget:
    """Labels per language for a target half-width, from a pilot of labels."""
    quantity, table = budget_table(panel, gold, half_width, level=level)
    return LabelBudget(table=table, half_width=half_width, level=level, quantity=quantity)
