"""An audit in a notebook: verdict, findings and two charts, without scripts, so that any viewer shows it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from polyjudge.report import charts
from polyjudge.report.charts.theme import unchecked
from polyjudge.report.export import chart_bytes
from polyjudge.report.verdict import verdict

if TYPE_CHECKING:
    from polyjudge.analyse.audit import Audit


def audit_fragment(audit: Audit) -> str:
    """HTML for a notebook cell. The charts are pictures: nothing in them can run."""
    with unchecked():
        drawn = (
            ("Ranks of the judges by language", charts.ranks_before_after(audit.ranks)),
            ("Interaction of language and judge", charts.interaction_heatmap(audit.uncertainty)),
        )
    s = audit.summary
    title = f"Audit of {len(s.judges)} judges in {len(s.languages)} languages, {s.tasks} tasks"
    parts = [Markup("<div><h3>{}</h3>").format(title)]
    parts += [Markup("<p>{}</p>").format(sentence) for sentence in verdict(audit)]
    parts.append(Markup("<ul>"))
    parts += [Markup("<li><strong>{}</strong> {}</li>").format(f.severity, f.text) for f in audit.findings]
    parts.append(Markup("</ul>"))
    parts += [_picture(words, chart) for words, chart in drawn]
    parts.append(Markup("<p>The whole report: <code>audit.to_html('report.html')</code></p></div>"))
    return str(Markup("").join(parts))


def _picture(words: str, chart: Any) -> Markup:
    data = base64.b64encode(chart_bytes(chart, "svg")).decode()
    return Markup('<p><img alt="{}" style="max-width:100%" src="data:image/svg+xml;base64,{}"></p>').format(words, data)
