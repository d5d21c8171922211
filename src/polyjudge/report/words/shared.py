"""Words that every report shares."""

from __future__ import annotations

from polyjudge.report.words import Template, plural

WORDS: dict[str, Template] = {
    "calibrate.outside": lambda v: (
        "{count} of {of} calibrated scores lay beyond the scale and were cut: the mean over the judges moves."
        if v["clipped"]
        else "{count} of {of} calibrated scores lie beyond the scale. --clip cuts them and moves the judges' mean."
    ),
    "note": "{text:text}",
    "validate.verdict": "{missed} of {limits} limits missed, on {panels} panels per scenario. A limit counts as "
    "missed when "
    "the figure lies beyond it by more than 3.5 Monte Carlo standard errors.",
    "more-rows": lambda v: "... and {rows} more " + plural(v["rows"], "row", "rows") + " (all of them with --json)",
    "more-findings": lambda v: f"{{count}} more {'remark' if v['count'] == 1 else 'remarks'}: --full",
    "details": "All details: --full. As a page: -o {command}/",
}
