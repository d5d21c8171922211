"""A report in a notebook: its first screen without scripts, so that any viewer shows it."""

from __future__ import annotations

import base64

from polyjudge.second.report.charts import draw
from polyjudge.second.report.charts.vega import can_draw
from polyjudge.second.report.in_python import in_python
from polyjudge.second.report.page.render import environment
from polyjudge.second.report.sections import Chart, Report
from polyjudge.second.report.tables import rows

ROWS = 30


def notebook(report: Report) -> str:
    """HTML for a notebook cell. Charts are pictures: nothing in them can run."""
    shown = (*report.picture, *(b for s in report.unfolded for b in s.blocks))
    blocks = [b.instead if isinstance(b, Chart) and not can_draw() else b for b in shown]
    return (
        environment()
        .get_template("notebook.html.j2")
        .render(
            report=report,
            blocks=[b for b in blocks if b is not None],
            findings=[] if report.brief else report.unsaid,
            draw=draw,
            rows=rows,
            most=ROWS,
            base64=lambda text: base64.b64encode(text.encode()).decode(),
            in_python=in_python,
        )
    )
