"""What a plan says: tasks needed, or human labels needed."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.panel.numbers import missing
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.plan import replay_view, separate_view
from polyjudge.questions.plan.labels import LabelBudget
from polyjudge.questions.plan.planning import Plan
from polyjudge.questions.plan.separate import Separation
from polyjudge.questions.plan.sequential import Replay
from polyjudge.report.build import chart, fields, frame_of, notes, table
from polyjudge.report.schema import envelope
from polyjudge.report.sections import Chart, Report, Section

FACETS = ("tasks", "languages", "replicates", "judges")


def build(result: Plan | LabelBudget, panel: Panel | None = None) -> Report:
    """A plan of tasks or of labels."""
    return _labels(result, panel) if isinstance(result, LabelBudget) else _tasks(result, panel)


def _tasks(p: Plan, panel: Panel | None) -> Report:
    needed = table(
        "needed",
        say("plan.needed", **fields(p, "radius", "languages", "judges", "level")),
        p.needed.assign(tasks=pd.to_numeric(p.needed["tasks"], errors="coerce").astype(float)),
        "bound | sd = sigma:points | tasks:count",
    )
    frame = p.table
    for name in ("expected_cells", "expected_reversals"):
        error = 2 * frame[f"{name}_se"]
        frame = frame.assign(**{f"{name}_low": frame[name] - error, f"{name}_high": frame[name] + error})
    found = f"clear cells of {frame['cells'].iloc[0]} = expected_cells/_low/_high:ratio.1"
    swaps = f"swaps of {frame['true_reversals'].mean():.1f} = expected_reversals/_low/_high:ratio.1"
    radii = "tasks:count | Gaussian = gaussian_radius:points | band = band_radius:points"
    free = [] if frame["free_radius"].isna().all() else ["distribution-free = free_radius:points"]
    buys = table("plan", say("plan.buys"), frame, radii, *free, found, swaps)
    says = (p.assumed, say("plan.simulated"), *notes(p.notes))
    section = Section(name="buys", title="What a number of tasks buys", says=says, blocks=(buys,), folded=False)
    return Report(
        **frame_of("plan", p, panel),
        title="Tasks that a panel needs",
        verdict=_answer(p),
        picture=(needed,),
        beside=(_curve(p),),
        sections=(section,) if p.decision is None else (section, _study(p.decision)),
    )


def _answer(p: Plan) -> tuple[Words, ...]:
    """How many tasks, at what cost, what they would show, and what else to buy."""
    more = None if p.enough is None else max(0, p.enough - (p.tasks or 0))
    sizes = fields(p, "enough", "radius", "languages", "judges", "level")
    says: list[Words] = [say("plan.answer", have=p.tasks, more=more, cells=p.languages * p.judges, **sizes)]
    if more:
        cost = None if p.price_per_task is None else more * p.price_per_task
        says.append(say("plan.cost", scores=more * p.scores_per_task, cost=cost, more=p.tasks is not None))
    row = p.table[p.table["tasks"] == (p.enough if more else p.tasks)]
    if len(row):
        found, error = float(row["expected_cells"].iloc[0]), 2 * float(row["expected_cells_se"].iloc[0])
        low, high = max(0.0, found - error), found + error
        says.append(say("plan.finds", tasks=int(row["tasks"].iloc[0]), found=found, low=low, high=high))
    return (*says, p.advice) if p.advice else tuple(says)


def _curve(p: Plan) -> Chart:
    """How far off an unseen effect may be, by the number of tasks."""
    names = {"band_radius": "band", "gaussian_radius": "Gaussian bound"}
    long = p.table.melt("tasks", list(names), "bound", "points").dropna()
    return chart(
        "radius",
        "curves",
        say("plan.curve"),
        say("plan.curve-chart", radius=p.radius),
        frame=long.assign(bound=long["bound"].map(names)),
        x="tasks",
        y="points",
        by="bound",
        title="What more tasks buy",
        x_title="tasks",
        y_title="points that stay possible",
        at=p.radius,
    )


def _study(decision: pd.DataFrame) -> Section:
    ends = zip(decision["reliability"], decision["low"], decision["high"], strict=True)
    wide = decision.assign(shown=[f"{r:.3f} [{a:.3f}, {b:.3f}]" for r, a, b in ends])
    wide = wide.pivot(index=["facet", "factor", "size"], columns="order", values="shown").reset_index()
    wide = wide.sort_values(["facet", "factor"], key=lambda s: s.map(FACETS.index) if s.name == "facet" else s)
    orders = "judges, overall = judges_overall | judges, in one language = judges_in_language | languages"
    head = f"more of = facet | number = size:count | {orders}"
    study = table("decision", "Reliability of three orders", wide, head)
    return Section(name="decision", title="Which to buy more of", blocks=(study,))


def _labels(b: LabelBudget, panel: Panel | None) -> Report:
    shown = {f"{x}_text": [_count(row, x) for _, row in b.table.iterrows()] for x in ("labels_only", "with_panel")}
    frame = b.table.assign(**shown)
    needed = table(
        "label_plan",
        say("plan.labels", **fields(b, "half_width", "level", "quantity")),
        frame,
        "language | labels:count | half-width now = half_width:points | correlation:ratio.2 "
        "| labels only = labels_only_text | with the panel = with_panel_text",
    )
    after = table(
        "next",
        say("plan.next", batch=b.batch),
        frame,
        "language | next labels = next_labels:count | half-width after = next_half_width:points",
    )
    report = frame_of("label_plan", b, panel)
    report["payload"] = lambda: envelope("plan", {"labels": b.to_dict(), **b.to_dict()})
    return Report(
        **report,
        title="Human labels that the languages need",
        verdict=_labels_answer(b),
        picture=(needed, after),
        sections=(Section(name="notes", title="Notes", says=notes(b.notes), folded=False),),
    )


def _labels_answer(b: LabelBudget) -> tuple[Words, ...]:
    """How many more labels, with the panel's help and without it."""
    reached = b.table[b.table["with_panel"].notna()]
    needed = reached["with_panel"]
    answer = say(
        "plan.labels-answer",
        more=int((needed - reached["labels"]).clip(lower=0).sum()),
        total=int(needed.sum()),
        alone=int(reached["labels_only"].sum()),
        half_width=b.half_width,
        level=b.level,
        languages=reached["language"].tolist(),
        all=len(reached) == len(b.table),
    )
    short = b.table["language"][b.table["with_panel"].isna()].tolist()
    return (*([answer] if len(reached) else []), *([say("plan.labels-short", languages=short)] if short else []))


def _count(row: pd.Series[Any], name: str) -> str:
    def text(value: Any) -> str:
        return "more tasks" if missing(value) else f"{value:,.0f}"

    likely = f"{text(row[f'{name}_likely'])} [{text(row[f'{name}_low'])}, {text(row[name])}]"
    return text(None) if missing(row[name]) else f"{text(row[name])} (likely {likely})"


VIEWS = {Replay: replay_view.build, Separation: separate_view.build, Plan: build, LabelBudget: build}
