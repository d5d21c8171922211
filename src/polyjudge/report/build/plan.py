"""What a plan says: tasks needed, or human labels needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.core.schema import envelope
from polyjudge.core.sections import Chart, Column, Report, Section, Table, Words, say
from polyjudge.report.build.shared import LANGUAGE, frame_of, notes, value
from polyjudge.report.numbers import NONE, missing

if TYPE_CHECKING:
    from polyjudge.analyse.label_budget import LabelBudget
    from polyjudge.analyse.planning import Plan
    from polyjudge.core.panel import Panel

FACETS = ("tasks", "languages", "replicates", "judges")


def build(result: Any, panel: Panel | None = None) -> Report:
    """A plan of tasks or of labels."""
    return _labels(result, panel) if type(result).__name__ == "LabelBudget" else _tasks(result, panel)


def _tasks(p: Plan, panel: Panel | None) -> Report:
    cells, swaps = p.table["cells"].iloc[0], p.table["true_reversals"].mean()
    needed = Table(
        name="needed",
        caption=say("plan.needed", radius=p.radius, languages=p.languages, judges=p.judges, level=p.level),
        frame=p.needed.assign(tasks=pd.to_numeric(p.needed["tasks"], errors="coerce").astype(float)),
        columns=(
            Column(name="bound", title="bound"),
            value("sigma", "sd"),
            Column(name="tasks", title="tasks", kind="count"),
        ),
    )
    table = p.table.assign(
        cells_low=p.table["expected_cells"] - 2 * p.table["expected_cells_se"],
        cells_high=p.table["expected_cells"] + 2 * p.table["expected_cells_se"],
        swaps_low=p.table["expected_reversals"] - 2 * p.table["expected_reversals_se"],
        swaps_high=p.table["expected_reversals"] + 2 * p.table["expected_reversals_se"],
    )
    buys = Table(
        name="plan",
        caption=say("plan.buys"),
        frame=table,
        columns=(
            Column(name="tasks", title="tasks", kind="count"),
            value("gaussian_radius", "Gaussian"),
            value("band_radius", "band"),
            *([] if p.table["free_radius"].isna().all() else [value("free_radius", "distribution-free")]),
            _expected("expected_cells", f"clear cells of {cells}", "cells"),
            _expected("expected_reversals", f"swaps of {swaps:.1f}", "swaps"),
        ),
    )
    says = (p.assumed, say("plan.simulated"), *notes(p.notes))
    sections = [
        Section(name="buys", title="What a number of tasks buys", says=says, blocks=(buys,), folded=False),
    ]
    if p.decision is not None:
        sections.append(_study(p.decision))
    return Report(
        **frame_of("plan", p, panel),
        title="Tasks that a panel needs",
        verdict=_answer(p),
        picture=(needed,),
        beside=(_curve(p),),
        sections=tuple(sections),
    )


def _answer(p: Plan) -> tuple[Words, ...]:
    """How many tasks, at what cost, what they would show, and what else to buy."""
    more = None if p.enough is None else max(0, p.enough - (p.tasks or 0))
    says: list[Words] = [
        say(
            "plan.answer",
            enough=p.enough,
            have=p.tasks,
            more=more,
            radius=p.radius,
            languages=p.languages,
            judges=p.judges,
            cells=p.languages * p.judges,
            level=p.level,
        )
    ]
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
    return Chart(
        name="radius",
        draw="curves",
        data=(
            {
                "frame": long.assign(bound=long["bound"].map(names)), "x": "tasks", "y": "points", "by": "bound",
                "title": "What more tasks buy", "x_title": "tasks", "y_title": "points that stay possible",
                "at": p.radius,
            },
        ),
        caption=say("plan.curve"),
        alt=say("plan.curve-chart", radius=p.radius),
    )  # fmt: skip


def _expected(name: str, title: str, ends: str) -> Column:
    return Column(name=name, title=title, kind="ratio", digits=1, low=f"{ends}_low", high=f"{ends}_high")


def _study(decision: pd.DataFrame) -> Section:
    wide = decision.assign(shown=[f"{r:.3f} [{a:.3f}, {b:.3f}]" for r, a, b in _reliability(decision)])
    wide = wide.pivot(index=["facet", "factor", "size"], columns="order", values="shown").reset_index()
    wide = wide.sort_values(["facet", "factor"], key=lambda s: s.map(FACETS.index) if s.name == "facet" else s)
    columns = (
        Column(name="facet", title="more of"),
        Column(name="size", title="number", kind="count"),
        Column(name="judges_overall", title="judges, overall"),
        Column(name="judges_in_language", title="judges, in one language"),
        Column(name="languages", title="languages"),
    )
    table = Table(name="decision", caption="Reliability of three orders", frame=wide, columns=columns)
    return Section(name="decision", title="Which to buy more of", blocks=(table,))


def _reliability(frame: pd.DataFrame) -> list[tuple[float, float, float]]:
    return list(zip(frame["reliability"], frame["low"], frame["high"], strict=True))


def _labels(b: LabelBudget, panel: Panel | None) -> Report:
    frame = b.table.assign(
        **{
            f"{name}_text": [_count(row, name) for _, row in b.table.iterrows()]
            for name in ("labels_only", "with_panel")
        }
    )
    labels = Column(name="labels", title="labels", kind="count")
    needed = Table(
        name="label_plan",
        caption=say("plan.labels", half_width=b.half_width, level=b.level, quantity=b.quantity),
        frame=frame,
        columns=(
            LANGUAGE,
            labels,
            value("half_width", "half-width now"),
            Column(name="correlation", title="correlation", kind="ratio", digits=2),
            Column(name="labels_only_text", title="labels only"),
            Column(name="with_panel_text", title="with the panel"),
        ),
    )
    after = Table(
        name="next",
        caption=say("plan.next", batch=b.batch),
        frame=frame,
        columns=(
            LANGUAGE,
            Column(name="next_labels", title="next labels", kind="count"),
            value("next_half_width", "half-width after"),
            Column(name="settles", title="open cells that labels settle", kind="count"),
        ),
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

    if missing(row[name]):
        return text(None)
    return f"{text(row[name])} [{text(row[f'{name}_low'])}, {text(row[f'{name}_high'])}]".replace(NONE, "more tasks")
