"""A report in a notebook: its first screen without scripts, so that any viewer shows it."""

from __future__ import annotations

import base64

from markupsafe import Markup

from polyjudge.panel.say import word
from polyjudge.report.charts import draw
from polyjudge.report.charts.vega import Picture, can_draw
from polyjudge.report.in_python import in_python
from polyjudge.report.sections import Block, Chart, Report
from polyjudge.report.tables import rows

ROWS = 30


def notebook(report: Report) -> str:
    """HTML for a notebook cell. Charts are pictures: nothing in them can run."""
    parts = [Markup("<div><h3>{}</h3>").format(word(report.title))]
    parts += [Markup("<p>{}</p>").format(word(s)) for s in report.read]
    parts += [Markup("<p><strong>{}</strong></p>").format(word(s)) for s in report.verdict]
    for block in [*report.picture, *(b for s in report.unfolded for b in s.blocks)]:
        parts += _block(block)
    parts += [Markup("<p>{}</p>").format(word(s)) for s in report.uses]
    rest = [] if report.brief else report.unsaid
    if rest:
        items = [Markup("<li><strong>{}</strong> {}</li>").format(f.severity, word(f)) for f in rest]
        parts += [Markup("<ul>"), *items, Markup("</ul>")]
    for step in report.next:
        parts.append(
            Markup("<p>{} <code>{}</code></p>").format(word(step.why), in_python(step.command) or step.command)
        )
    parts.append(Markup("<p>The whole report: <code>.to_html('report.html')</code></p></div>"))
    return str(Markup("").join(parts))


def _block(block: Block) -> list[Markup]:
    if isinstance(block, Chart) and not can_draw():
        return [] if block.instead is None else _block(block.instead)
    if isinstance(block, Chart):
        return [_picture(word(block.caption), chart) for chart in draw(block)]
    return [_rows(word(block.caption), *rows(block, ROWS))]


def _rows(caption: str, head: list[str], body: list[list[str]]) -> Markup:
    def row(kind: str, cells: list[str]) -> Markup:
        return Markup("<tr>{}</tr>").format(Markup("").join(Markup(f"<{kind}>{{}}</{kind}>").format(c) for c in cells))

    every = Markup("").join([row("th", head), *(row("td", cells) for cells in body)])
    return Markup("<table><caption>{}</caption>{}</table>").format(caption, every)


def _picture(words: str, chart: Picture) -> Markup:
    data = base64.b64encode(chart.svg.encode()).decode()
    return Markup('<p><img alt="{}" style="max-width:100%" src="data:image/svg+xml;base64,{}"></p>').format(words, data)
