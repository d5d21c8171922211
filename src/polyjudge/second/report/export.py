"""Reports and figures as files: the page, and its charts as SVG, PNG and PDF, made without a browser."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import atomic_path
from polyjudge.second.report.charts import draw
from polyjudge.second.report.charts.vega import Picture, converter
from polyjudge.second.report.sections import Report

FORMATS = ("svg", "png", "pdf")


def parse_formats(text: str) -> tuple[str, ...]:
    """Figure formats from a list such as "svg,png,pdf".

    >>> parse_formats("svg, PDF")
    ('svg', 'pdf')
    """
    wanted = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    unknown = [part for part in wanted if part not in FORMATS]
    if unknown or not wanted:
        raise UsageError(f"Figures are saved as {', '.join(FORMATS)}, several separated by commas; not as {text!r}.")
    return wanted


def chart_bytes(chart: Picture, form: str, scale: float = 2) -> bytes:
    """A chart as the content of an SVG, PNG or PDF file. `scale`: pixels of a PNG per unit of the chart."""
    if form == "png":
        return bytes(converter().svg_to_png(chart.svg, scale=scale))
    return bytes(converter().svg_to_pdf(chart.svg)) if form == "pdf" else chart.svg.encode()


def save_chart(chart: Picture, path: str | Path, scale: float = 2) -> None:
    """Write a chart; the suffix of the path is the format."""
    path = Path(path)
    (form,) = parse_formats(path.suffix[1:])
    with atomic_path(path) as part:
        part.write_bytes(chart_bytes(chart, form, scale))


def save_figures(report: Report, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Every chart of a report in every format. Returns what was written."""
    written = []
    for block in report.charts if (formats := tuple(formats)) else ():
        drawn = draw(block)
        for index, chart in enumerate(drawn):
            stem = f"{block.name}-{index}" if len(drawn) > 1 else block.name
            for form in formats:
                written.append(folder / f"{stem}.{form}")
                save_chart(chart, written[-1])
    return written
