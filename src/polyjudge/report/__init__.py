"""Results in words: terminal, page, notebook, Markdown, JSON.

How a result comes to be seen everywhere:

1. `analyse/` computes it: a frozen `Result`, findings and notes as data (`find("warning", "code", judge=..., ...)`,
   `say("code", ...)`), no prose.
2. `report/build/NAME.py` has one function `build(result, panel=None) -> Report`: which sentences, tables, grids and
   charts, in which order. The head of a table is noted as in `build.shared.column`. Name it in `BUILDERS` below.
3. `report/words/NAME.py` words the codes: `"code": "{judge} is off by {size/low/high:+points} points."`

A new statistic of a known result is one field in `analyse/`, one column or sentence in its builder and one entry in its
words. Charts are functions in `report/charts/`, named by `Chart(draw=...)`. Nothing else needs to know:
`print(result)`, the terminal, `report.html`, notebooks, `summary.md` and `--json` show any `Report`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyjudge.core.panel import Panel
    from polyjudge.core.results import Result
    from polyjudge.core.sections import Chart, Report

BUILDERS = {
    "analyse.ablations.Ablation": "compare",
    "analyse.anchors.Anchor": "anchor",
    "analyse.bounded.Bounded": "bounded",
    "analyse.choose.Choice": "choose",
    "analyse.audit.Audit": "audit",
    "analyse.check.Check": "reading",
    "analyse.decisions.Decisions": "compare",
    "analyse.difference.Difference": "difference",
    "analyse.explain.Explanation": "explain",
    "analyse.gates.Gates": "gate",
    "analyse.held_out.Comparison": "compare",
    "analyse.label_budget.LabelBudget": "plan",
    "analyse.planning.Plan": "plan",
    "analyse.probes.Probe": "probe",
    "analyse.sequential.Replay": "replay",
    "analyse.swap.Swap": "choose",
    "analyse.separate.Separation": "separate",
    "analyse.systems.Systems": "systems",
    "analyse.unseen.Unseen": "compare",
    "calibrate.drift.Drift": "drift",
    "calibrate.extend.Extension": "extend",
    "collect.preview.Preview": "collect",
    "collect.summary.Summary": "collect",
    "paper.result.Reproduction": "polyjudge.paper.report",
    "validate.suite.Validation": "validate",
}
"""Result -> module in `report.build` (or by its full name), whose `build(result, panel)` makes the report."""


def report_of(result: Result, panel: Panel | None = None) -> Report | None:
    """What a result says; None when nothing but its table is to be shown."""
    kind = type(result)
    name = BUILDERS.get(f"{kind.__module__}.{kind.__qualname__}".removeprefix("polyjudge."))
    if name is None:
        return None
    from polyjudge.report.fit import fitted

    return fitted(import_module(name if "." in name else f"{__name__}.build.{name}").build(result, panel))


def text(result: Result) -> str | None:
    """The first screen as plain text."""
    from polyjudge.report import terminal

    report = report_of(result)
    return None if report is None else terminal.text(report, details="details.python")


def html(result: Result, path: str | Path | None = None, command: str | None = None) -> str | None:
    """The page: written to `path`, or returned when there is none. `command` is what makes it again."""
    from polyjudge.core.errors import UsageError
    from polyjudge.core.files import atomic_write
    from polyjudge.report.page.render import render_report

    report = report_of(result)
    if report is None:
        raise UsageError(f"There is no page for {type(result).__name__}; see its to_frame().")
    page = render_report(report, command or f'{type(result).__name__}.to_html("report.html")')
    if path is None:
        return page
    with atomic_write(path) as file:
        file.write(page)
    return None


def _charts(result: Result) -> dict[str, Chart]:
    report = report_of(result)
    return {} if report is None else {chart.name: chart for chart in report.charts}


def chart_names(result: Result) -> tuple[str, ...]:
    """Names of a result's charts."""
    return tuple(_charts(result))


def plot(result: Result, name: str | None = None) -> Any:
    """A chart of a result as an Altair chart; several pictures of one name stand below each other."""
    import altair

    from polyjudge.core.errors import UsageError
    from polyjudge.report.charts import draw
    from polyjudge.report.charts.vega import stacked

    found = _charts(result)
    wanted = name if name is not None else next(iter(found), "")
    if wanted not in list(found):
        known = ", ".join(found) or "none"
        raise UsageError(f"{type(result).__name__} has no chart {wanted!r}. Its charts are: {known}.")
    drawn = draw(found[wanted])
    picture = drawn[0] if len(drawn) == 1 else stacked(drawn, "vconcat")
    return altair.Chart.from_dict(picture.to_dict(), validate=False)


def fragment(result: Result) -> str | None:
    """HTML for a notebook cell, without scripts; None when there is only a table."""
    from polyjudge.report.notebook import notebook

    report = report_of(result)
    return None if report is None else notebook(report)
