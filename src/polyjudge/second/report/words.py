"""Words that every report shares."""

from __future__ import annotations

from polyjudge.second.panel.say import Template, Values, plural


def _position(v: Values) -> str:
    where = "" if v["language"] == "(all)" else " in {language}"
    side, sign = ("first", 1) if v["preference"] > 0 else ("second", -1)
    low, high = sorted(0.5 + sign * float(v[end]) for end in ("low", "high"))
    often = f"{0.5 + abs(v['preference']):.0%} [{low:.0%}, {high:.0%}]"
    known = v["consistency"] == v["consistency"]
    kept = "; with the two turned round it keeps its winner in {consistency:share} of pairs" if known else ""
    more = f" {v['count'] - 1} more of the {v['judges']} judges lean too." if v["count"] > 1 else ""
    end = " Every pair stands in both orders, so no mean is moved by it."
    if not v["balanced"]:
        end = f" With both orders in balance {{winner}} {'would be' if v['turned'] else 'is still'} first."
    much = f"{{judge}} picks the answer shown {side} in {often} of verdicts{where}, where half would be even"
    return f"{much}{kept}.{more}{end}"


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
    "details.json": "All details: --json",
    "details": "All details: --full. As a page: -o {command}/",
    "read.looks": lambda v: (
        "The collection could stop at {looks} looks. The 95% intervals here do not allow for that."
        if v["level"] is None
        else f"The collection could stop at {{looks}} looks, so each interval is at {100 * v['level']:.4g}%: together "
        f"they keep {100 * (1 - (1 - v['level']) * v['looks']):.4g}%."
    ),
    "position": _position,
    "position.title": "Does the place of an answer decide?",
    "position.cells": "Verdicts for the answer shown first less one half, and the same winner in both orders, "
    "{level:share} intervals over tasks",
    "position.systems": "Margins as the verdicts are, and as with both orders equally often",
    "position.none": "No judge surely prefers a place.",
    "position.scope": lambda v: (
        "A preference of 10% means that the first place wins 60% of verdicts between equals. "
        + (
            "From tasks that have both orders of a pair."
            if v["paired"]
            else "No task has both orders of a pair: this holds if the order was drawn by chance."
        )
        + (" All pairs stand in both orders equally often: position moves no mean." if v["balanced"] else "")
    ),
    "position.unknown": "Each pair stands in one order only: a liking for the first place cannot be told from quality. "
    "Asking the same pairs in the other order, on thirty of the tasks, would tell.",
}
