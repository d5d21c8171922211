"""How many tasks does a question need? (METHODS 4 and 23)

From a pilot: tasks until every `off` is known to within a radius, and until two systems that differ by so much are told
apart, both in at least 80% of studies, checked by resampling the pilot. Without a pilot: the paper's Prop. 2 turned
round, and the same with Student's t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge import cbc
from polyjudge.answers.audit.advice import command
from polyjudge.answers.audit.boards import round_up, settle
from polyjudge.answers.margins import margins
from polyjudge.answers.plan_labels import LabelPlan, plan_finding, plan_labels, plan_table
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import percent
from polyjudge.base.options import ColumnsJudgesItems
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table
from polyjudge.stats.cells import excess
from polyjudge.stats.interval import FEWEST, group_df, interval, pass_prior

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
CHANCE, POWER = 0.8, 0.84
"""The chance with which a plan reaches its goal, and its normal quantile."""
SIZES = (20, 50, 100, 200, 500, 1000, 2000)
MOST = 100_000_000
DRAWS, NUMBERS = 100, 3e7
"""Resamples of the pilot by which a plan is checked, and the numbers they may take."""


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """Tasks that a goal needs. Frames:

    needed : goal ("radius", "separate", "paper"), target (points), tasks, chance (share of resampled pilots that reach
        it; missing without a pilot), pilot (what as many tasks as the pilot's give in 80% of studies, points)
    sizes : tasks, radius (of every off), separate (difference of two systems that would be told), paper (Prop. 2, of
        beta^), scores
    labels : with labels of a pilot: languages, labels (more of them in each), total, half_width (of the lead by
        people), shown (the lead that they would show); else None
    """

    needed: pd.DataFrame
    sizes: pd.DataFrame
    level: float
    seed: int
    findings: tuple[Finding, ...]
    panel_: Panel | None
    labels: pd.DataFrame | None = None
    labels_: LabelPlan | None = None

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        factor, unit = (1.0, "points") if p is None else (p.factor, p.unit_name)
        columns = [x for x in ("radius", "separate", "paper") if self.sizes[x].notna().any()]
        shown = self.sizes.assign(**{x: factor * self.sizes[x] for x in columns})
        heads = {
            "radius": f"off known to within, {unit}" if p is not None else "radius of beta by Student's t",
            "separate": f"systems told apart, {unit}",
            "paper": "radius of beta by the paper's bound",
        }
        front = [x for x in columns if x != "paper" or p is None]
        formats = {"tasks": "count", **dict.fromkeys(columns, "points"), "scores": "count"}
        title = "What a number of tasks gives" + ("" if p is None else f", in {percent(CHANCE)} of studies")
        table = Table("sizes", title, shown, formats, heads)
        board = Table("board", title, shown, {x: formats[x] for x in ("tasks", *front, "scores")}, heads)
        import pandas as pd

        lines = pd.concat(
            [shown[["tasks", x]].set_axis(["x", "value"], axis=1).assign(label=heads[x]) for x in columns]
        )
        chart = Chart(
            "sizes", "lines", "What a number of tasks gives", lines,
            "Half-widths and differences fall with the square root of the number of tasks.",
            x="tasks", y=unit, options={"log": True},
        )  # fmt: skip
        after: tuple[Step, ...] = ()
        if p is not None and p.source:
            after = (Step(command(p, "audit"), "see what these scores already tell"),)
        facts = () if p is None else (*p.read_facts, *p.notes)
        sections, board = self._with_labels(Section("sizes", title, tables=(table,), charts=(chart,)), board)
        return Report(
            "plan", "How many tasks", facts, self.findings, board, after, sections, about={"level": self.level}
        )

    def _with_labels(self, sizes: Section, board: Table) -> tuple[tuple[Section, ...], Table]:
        """What labels give comes first, where they were asked for."""
        if self.labels_ is None:
            return (sizes,), board
        by_labels = plan_table(self.labels_)
        return (Section("labels", by_labels.title, tables=(by_labels,)), sizes), by_labels


def plan(
    panel: Panel | Any | None = None,
    *,
    radius: float | None = None,
    separate: float | None = None,
    labels: Any = None,
    judge_count: int | None = None,
    language_count: int | None = None,
    sigma: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    **columns: Unpack[ColumnsJudgesItems],
) -> Plan:
    """How many tasks does a question need?

    Give the scores of a pilot, at least six tasks, better thirty. Without a pilot give the numbers of judges and
    languages, the noise of a score and the radius.

    panel : scores of a pilot
    radius : know how far every judge is off in each language to within so many points (pass or fail: percentage points)
    separate : tell two systems apart that differ by this many points (pass or fail: percentage points)
    labels : human labels of the pilot, in a file of their own: how many more, in how many languages, a lead of so many
        points needs by people (--separate)
    judge_count : without a pilot, number of judges
    language_count : without a pilot, number of languages
    sigma : without a pilot, standard deviation of the noise of one score
    level : confidence level of the intervals
    seed : number that fixes what is drawn at random

    Examples:
        polyjudge plan pilot.csv --radius 5
        polyjudge plan pilot.csv --separate 1
        polyjudge plan pilot.csv --labels labels.csv --separate 2
        polyjudge plan --judge-count 6 --language-count 8 --sigma 22.24 --radius 10.3
    """
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    for what, size in (("--radius", radius), ("--separate", separate), ("--sigma", sigma)):
        if size is not None and not (math.isfinite(size) and size > 1e-9):
            raise UsageError(f"{what} takes a number of points above 0, not {size:g}.")
    if panel is None:
        return _without(judge_count, language_count, sigma, radius, level, seed)
    from polyjudge.read import read_panel

    panel = read_panel(panel, **columns)
    if panel.units < FEWEST:
        raise PanelError(f"{panel.units} tasks are too few for a pilot: {FEWEST} are the least, 30 are better.")
    _, s, k, m = panel.shape
    goals: list[_Goal] = []
    if min(k, m) > 1 and (radius is not None or separate is None or s < 2):
        goals.append(_Goal("radius", panel.least(radius), *_off_values(margins(panel))))
    if s > 1 and (separate is not None or radius is None):
        apart = panel.least(separate) if separate else 0.01 * panel.width
        goals.append(_Goal("separate", apart, *_system_values(panel)))
    if not goals or (radius is not None and min(k, m) < 2) or (separate is not None and s < 2):
        two = f"two judges in two {panel.nouns}"
        lacking = "two systems" if separate is not None else two if radius is not None else f"two systems, or {two}"
        raise PanelError(
            f"This plan needs a pilot with {lacking}. Add such scores, or plan without a pilot: "
            "polyjudge plan --judge-count 3 --language-count 4 --sigma 10 --radius 2"
        )
    each = panel.weight.sum() / panel.units  # tasks of a unit
    rows, said, safe = [], [], []
    for goal in goals:
        units, chance, grown = goal.needed(level, seed)
        tasks = round_up(units * each)
        safe.append(grown)
        now = grown * goal.reach(panel.units, level)
        rows.append((goal.name, goal.target, tasks, chance, now))
        said.append(_words(panel, goal, tasks, chance))
    by_labels = None if labels is None else plan_labels(panel, labels, separate, level=level, seed=seed)
    said.append(_start_labelling(panel) if by_labels is None else plan_finding(by_labels))
    wanted = sorted({*SIZES, *(r[2] for r in rows if r[2] <= 10 * SIZES[-1]), round(panel.weight.sum())})
    sizes = [_size(panel, goals, safe, n, n / each, level) for n in wanted if n / each >= FEWEST]
    frame = None if by_labels is None else by_labels.frame
    return Plan(_needed(rows), _sizes(sizes), level, seed, tuple(said), panel, labels=frame, labels_=by_labels)


def _start_labelling(panel: Panel) -> Finding:
    """How many labels to begin with."""
    per = f" per {panel.noun}: `polyjudge humans` then says whether more would help" if panel.shape[2] > 1 else ""
    return Finding("info", "labels", f"Start with 20 labelled answers{per}.", "Labels")


class _Goal(NamedTuple):
    """x : (units, contrasts) of the pilot; together: contrasts asked at once; at: those that decide; more: what
    `interval` takes besides."""

    name: str
    target: float
    x: Array
    together: int
    at: NDArray[np.int64]
    more: dict[str, Any]

    def _quantile(self, units: float, level: float) -> tuple[float, float]:
        """Largest sd of the contrasts that decide, and the quantile that so many units will have."""
        found = interval(self.x, level=level, together=self.together, **self.more)
        spread = found.se * math.sqrt(len(self.x))
        worst = self.at[int(np.nanargmax(spread[self.at]))]
        grow = max(1.0, float(found.df[worst]) / (len(self.x) - 1))
        df = max(units - 1, 1.0) * grow
        return float(spread[worst]), float(stdtrit(df, 1 - (1 - level ** (1 / self.together)) / 2))

    def reach(self, units: float, level: float) -> float:
        """Half-width that so many units give, or the difference that would be told with a chance of 80%."""
        spread, q = self._quantile(units, level)
        return (q + (POWER if self.name == "separate" else 0.0)) * spread / math.sqrt(units)

    def needed(self, level: float, seed: int) -> tuple[float, float, float]:
        """Units that reach the target, the share of resampled pilots that do, and how much `reach` is to be widened
        to hold in 80% of studies."""
        units, pilot = float(len(self.x)), len(self.x)
        for _ in range(20):
            spread, q = self._quantile(units, level)
            if spread <= 1e-9 * self.target:
                return float(FEWEST), 1.0, 1.0
            power = 0.0 if self.name == "separate" else POWER  # a half-width is reached or not: no power is in it
            units = max(settle(spread, q - power, pilot, self.target), float(FEWEST))
        chance, wider = self._chance(units, level, seed), settle(1.0, 1 - POWER, pilot, 1.0)
        for _ in range(12):
            if not chance < CHANCE:
                break
            units, wider = 1.1 * units, 1.1 * wider
            chance = self._chance(units, level, seed)
        return min(units, float(MOST)), chance, math.sqrt(wider)

    def _chance(self, units: float, level: float, seed: int) -> float:
        """Share of studies, drawn from the pilot, whose interval reaches the target."""
        n = math.ceil(units)
        draws = min(DRAWS, int(NUMBERS // (n * self.x.shape[1])))
        if draws < 20:
            return math.nan
        g = np.random.default_rng(seed)
        reached = 0
        for _ in range(draws):
            x = self.x[g.integers(len(self.x), size=n)]
            found = interval(x, level=level, together=self.together, **self.more)
            if self.name == "radius":
                reached += bool((found.q * found.se)[self.at].max() <= self.target)
            else:
                moved = found.estimate - self.x.mean(0)  # about a true difference of the target
                reached += bool((moved + self.target - found.q * found.se)[self.at].min() > 0)
        return reached / draws


def _off_values(panel: Panel) -> tuple[Array, int, NDArray[np.int64], dict[str, Any]]:
    """What every unit says of off, each distinct contrast once."""
    values = panel.values()
    k, m = values.present.shape
    contrasts = excess(values.present).contrasts
    distinct = np.ones((k, m), bool)
    distinct[1:] &= k > 2
    distinct[:, 1:] &= m > 2
    contrasts = contrasts[distinct.ravel()]
    x = values.contrast(contrasts)
    told = np.isfinite(x).all(0) & (np.abs(contrasts).max(1) > 0)
    if not (x.std(0) > 1e-9 * panel.width)[told].any():
        raise PanelError(
            "Nothing can be planned from this pilot: no tasks join its languages and judges, or the gaps between the "
            "judges are the same in all of them."
        )
    x, contrasts = x[:, told], contrasts[told]
    more: dict[str, Any] = {}
    if panel.two_valued:
        more["prior"] = pass_prior((values.mean - panel.scale[0]) / panel.width, values.units, contrasts)
    if values.seen is not None:  # languages share no tasks: each contrast has as many degrees of freedom less
        few = group_df(x, values.seen)
        assert few is not None
        return x * np.sqrt((len(x) - 1) / few), len(few), np.arange(len(few)), more
    return x, x.shape[1], np.arange(x.shape[1]), more


def _system_values(panel: Panel) -> tuple[Array, int, NDArray[np.int64], dict[str, Any]]:
    """What every unit says of every two systems; the two best decide."""
    values = panel.system_values()
    i, j = np.triu_indices(len(panel.systems), 1)
    x = values.v[:, i] - values.v[:, j]
    told = np.isfinite(x).all(0) & (np.abs(values.null[i] - values.null[j]).max(1, initial=0.0) < 1e-6)
    told &= x.std(0) > 1e-9 * panel.width  # nothing can be learnt of copies
    if not told.any():
        raise PanelError(
            "Nothing can be planned from this pilot: no tasks join its systems, or their differences are the same in "
            "all of them. With --radius only what is off is planned."
        )
    first, second = np.argsort(-np.round(values.mean, 9), kind="stable")[:2]
    best = np.flatnonzero((i[told] == min(first, second)) & (j[told] == max(first, second)))
    at = best if len(best) else np.arange(int(told.sum()))
    more: dict[str, Any] = {}
    if panel.two_valued:
        p = np.clip((values.mean - panel.scale[0]) / panel.width, 1 / (2 * len(x)), 1 - 1 / (2 * len(x)))
        more["prior"] = (p * (1 - p))[i[told]] + (p * (1 - p))[j[told]]
    return x[:, told], int(told.sum()), at, more


def _size(
    panel: Panel, goals: list[_Goal], safe: list[float], tasks: float, units: float, level: float
) -> dict[str, float]:
    """One row of `sizes`."""
    _, s, k, m = panel.shape
    row = {"tasks": tasks, "radius": math.nan, "separate": math.nan, "paper": math.nan, "scores": tasks * s * k * m}
    for goal, wider in zip(goals, safe, strict=True):
        row[goal.name] = wider * goal.reach(units, level)
    if min(k, m) > 1 and panel.complete:
        row["paper"] = cbc.radius(cbc.noise_sigma(panel.values().v), units, k, m, 1 - level)
    return row


def _without(
    judges: int | None, languages: int | None, sigma: float | None, radius: float | None, level: float, seed: int
) -> Plan:
    """Without a pilot: independent noise of one sd."""
    if judges is None or languages is None or sigma is None or radius is None:
        raise UsageError(
            "Without the scores of a pilot a plan needs --judge-count, --language-count, --sigma and --radius."
        )
    k, m = languages, judges
    if min(k, m) < 2:
        raise UsageError("A plan needs at least two judges and two languages.")
    paper = cbc.tasks_for(radius, sigma, k, m, 1 - level)
    c = cbc.variance_constant(k, m)

    def ours(n: float) -> float:
        q = float(stdtrit((n - 1) * (k - 1) * (m - 1), 1 - (1 - level ** (1 / (k * m))) / 2))
        return q * sigma * math.sqrt(c / n)

    n = float(FEWEST)
    while ours(n) > radius and n < MOST:
        n = math.ceil(1.01 * n)
    rows = [("paper", radius, paper, math.nan, math.nan), ("radius", radius, int(n), math.nan, math.nan)]
    text = (
        f"{paper:,} tasks bring the paper's radius of beta (Prop. 2) down to {radius:.4g} points; with intervals by "
        f"Student's t {int(n):,} tasks do. Both take the noise to be independent with standard deviation {sigma:.4g}."
    )
    better = "Better: score a pilot of 30 tasks and plan from it. Real noise is rarely this regular."
    said = (Finding("info", "plan-bound", text, "Tasks"), Finding("info", "pilot", better, "Pilot"))
    sizes = [
        {
            "tasks": x,
            "radius": ours(x),
            "separate": math.nan,
            "paper": cbc.radius(sigma, x, k, m, 1 - level),
            "scores": x * k * m,
        }
        for x in sorted({*SIZES, paper, int(n)})
    ]
    return Plan(_needed(rows), _sizes(sizes), level, seed, said, None)


def _needed(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=["goal", "target", "tasks", "chance", "pilot"])


def _sizes(rows: list[dict[str, float]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows).astype({"tasks": int, "scores": int})


def _words(panel: Panel, goal: _Goal, tasks: int, chance: float) -> Finding:
    size = f"{goal.target * panel.factor:.3g} {panel.unit_name}"
    size = size[:-1] if size.startswith("1 ") else size
    have = round(panel.weight.sum())
    sure = (
        f"in at least {percent(CHANCE)} of studies" if not chance < CHANCE else f"in about {percent(chance)} of studies"
    )
    if goal.name == "radius":
        text = (
            f"About {tasks:,} tasks show how far every judge is off in every {name(panel.noun)} to within {size}, "
            f"{sure}."
        )
    else:
        text = f"About {tasks:,} tasks tell two systems apart that differ by {size}, {sure}."
    text += " You have enough." if tasks <= have else f" You have {have:,}."
    return Finding("info", f"plan-{goal.name}", text, "Tasks")
