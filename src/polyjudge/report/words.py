"""Words that every report shares."""

from __future__ import annotations

from polyjudge.panel.say import Template, plural

WORDS: dict[str, Template] = {
    "note": "{text:text}",
    "more-rows": lambda v: "... and {rows} more " + plural(v["rows"], "row", "rows") + " (all of them with --json)",
    "grid-cut": lambda v: (
        f"{'{note:text}; shown' if v['note'] else 'Shown'} are the {{rows}} of {{of_rows}} rows and {{columns}} of "
        "{of_columns} columns with the largest values (all of them with --json)"
    ),
    "not-drawn": lambda v: (
        "A chart is not drawn: it would hold too much."
        if v["charts"] == 1
        else "{charts} charts are not drawn: they would hold too much."
    ),
    "more-findings": "{count} more remarks: --full",
    "details.python": "All details: .to_html('{command}.html')",
    "details": "All details: --full. As a page: -o {command}/",
    "read.looks": lambda v: (
        "The collection could stop at {looks} looks. The 95% intervals here do not allow for that."
        if v["level"] is None
        else f"The collection could stop at {{looks}} looks, so each interval is at {100 * v['level']:.4g}%: together "
        f"they keep {100 * (1 - (1 - v['level']) * v['looks']):.4g}%."
    ),
}
