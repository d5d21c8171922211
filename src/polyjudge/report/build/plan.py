"""What a plan says: tasks needed, or human labels needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.core.schema import envelope
from polyjudge.core.sections import Column, Report, Section, Table, Words, say
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
            Column(name="tasks", title="tasks (– is over 10,000,000)", kind="count"),
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
            value("free_radius", "distribution-free"),
            _expected("expected_cells", f"clear cells of {cells}", "cells"),
            _expected("expected_reversals", f"swaps of {swaps:.1f}", "swaps"),
        ),
    )
    says: list[Words] = [*notes((p.assumed,)), say("plan.simulated")]
    sections = [
        Section(name="buys", title="What a number of tasks buys", says=tuple(says), blocks=(buys,), folded=False),
    ]
    if p.decision is not None:
        sections.append(_study(p.decision))
    verdict = tuple(notes((p.advice,))) if p.advice else ()
    frame = frame_of("plan", p, panel)
    return Report(
        **frame,
        title="Tasks that a panel needs",
        verdict=(*verdict, *notes(p.notes)),
        picture=(needed,),
        sections=tuple(sections),
    )


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
        picture=(needed, after),
        sections=(Section(name="notes", title="Notes", says=notes(b.notes), folded=False),),
    )


def _count(row: pd.Series[Any], name: str) -> str:
    def text(value: Any) -> str:
        return "more tasks" if missing(value) else f"{value:,.0f}"

    if missing(row[name]):
        return text(None)
    return f"{text(row[name])} [{text(row[f'{name}_low'])}, {text(row[f'{name}_high'])}]".replace(NONE, "more tasks")
