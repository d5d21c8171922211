"""Results of the questions: records that show themselves by the `view` beside the module that defines them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polyjudge.panel.records import Record
from polyjudge.report import chart_names, fragment, html, plot, text


class Result(Record):
    """Base of every result of a question, of collecting and of the paper."""

    def to_html(self, path: str | Path | None = None) -> str | None:
        """The report as one self-contained HTML page: written to `path`, or returned when there is none."""
        return html(self, path)

    def plot(self, name: str | None = None) -> Any:
        """A chart of the result by its name (Altair): the first one when none is named. `charts` lists the names."""
        return plot(self, name)

    @property
    def charts(self) -> tuple[str, ...]:
        """Names that `plot` takes."""
        return chart_names(self)

    def _repr_html_(self) -> str | None:
        return fragment(self)

    def __repr__(self) -> str:
        return text(self) or super().__repr__()
