"""Words about two audits compared."""

from __future__ import annotations

from polyjudge.panel.say import Template, plural

WORDS: dict[str, Template] = {
    "difference.title": "What changed between two audits",
    "difference.read": "{old} tasks before, {new} now",
    "difference.same": "Both audits are of the same scores.",
    "difference.none": "Nothing changed beyond noise.",
    "difference.cells": lambda v: (
        f"{{count}} of {{of}} {plural(v['of'], 'place', 'places')} changed beyond noise, most {{judge}} in {{language}}"
        ": {change/low/high:+points} points (was {old:+points}, now {new:+points})."
    ),
    "difference.judges": lambda v: (
        f"{{count}} {plural(v['count'], 'judge', 'judges')} became "
        f"{'more' if v['change'] > 0 else 'less'} lenient, most {{judge}}: {{change/low/high:+points}} points."
        if v["count"] == 1
        else "{count} judges changed how lenient they are, most {judge}: {change/low/high:+points} points."
    ),
    "difference.languages": "All judges together shifted {language}: {change/low/high:+points} points.",
    "difference.gone": "No longer found: {codes}.",
    "difference.arrived": "Newly found: {codes}.",
    "difference.table.cells": "Points a judge gives in a language beyond its own and the language's level",
    "difference.table.judges": "How lenient each judge is, in points from the panel's mean",
    "difference.table.languages": "The shift that all judges share in a language",
    "difference.how": "Intervals hold for all rows of a table together and take the audits as independent. Where they "
    "share tasks, true intervals are narrower.",
}
