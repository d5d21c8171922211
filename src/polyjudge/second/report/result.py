"""Results of the questions: records that show themselves by the `view` beside the module that defines them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import atomic_write
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import Record
from polyjudge.second.panel.say import LANGUAGE
from polyjudge.second.report.sections import Chart, Report


class Result(Record):
    """Base of every result of a question, of collecting and of the paper."""

    def to_html(self, path: str | Path | None = None) -> str | None:
        """The report as one self-contained HTML page: written to `path`, or returned when there is none."""
        from polyjudge.second.report.page.render import render_report

        report = report_of(self)
        if report is None:
            raise UsageError(f"There is no page for {type(self).__name__}; see its to_frame().")
        page = render_report(report, f'{type(self).__name__}.to_html("report.html")')
        if path is None:
            return page
        with atomic_write(path) as file:
            file.write(page)
        return None

    def plot(self, name: str | None = None) -> Any:
        """A chart of the result by its name (Altair): the first one when none is named. `charts` lists the names."""
        if find_spec("altair") is None:
            raise UsageError("Charts in Python need Altair: pip install 'polyjudge[figures]'.")
        import altair

        from polyjudge.second.report.charts import draw
        from polyjudge.second.report.charts.vega import stacked

        found = self._charts()
        wanted = name if name is not None else next(iter(found), "")
        if wanted not in list(found):
            known = ", ".join(found) or "none"
            raise UsageError(f"{type(self).__name__} has no chart {wanted!r}. Its charts are: {known}.")
        drawn = draw(found[wanted])
        spec = (drawn[0] if len(drawn) == 1 else stacked(drawn, "vconcat")).to_dict()
        kinds = {"layer": "LayerChart", "hconcat": "HConcatChart", "vconcat": "VConcatChart", "facet": "FacetChart"}
        kind = next((kind for key, kind in kinds.items() if key in spec), "Chart")
        return getattr(altair, kind).from_dict(spec, validate=False)

    @property
    def charts(self) -> tuple[str, ...]:
        """Names that `plot` takes."""
        return tuple(self._charts())

    def _charts(self) -> dict[str, Chart]:
        report = report_of(self)
        return {} if report is None else {chart.name: chart for chart in report.charts}

    def _repr_html_(self) -> str | None:
        """HTML for a notebook cell, without scripts; None when there is only a table."""
        from polyjudge.second.report.notebook import notebook

        report = report_of(self)
        return None if report is None else notebook(report)

    def __repr__(self) -> str:
        """The first screen as plain text."""
        from polyjudge.second.report import terminal

        report = report_of(self)
        return super().__repr__() if report is None else terminal.text(report, details="details.python")


def report_of(result: Record, panel: Panel | None = None) -> Report | None:
    """What a result says: made by the `view` beside the module that defines it, whose `VIEWS` has the name of its type.

    None when nothing but its table is to be shown.
    """
    package = type(result).__module__.rpartition(".")[0]
    beside = f"{package}.view"
    build = import_module(beside).VIEWS.get(type(result).__name__) if package and find_spec(beside) else None
    if build is None:
        return None
    from polyjudge.second.report.fit import fitted, in_words_of

    noun = panel.condition if panel is not None else getattr(result, "condition_", LANGUAGE)
    return fitted(in_words_of(build(result, panel), noun))
