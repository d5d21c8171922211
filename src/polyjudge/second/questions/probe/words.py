"""Words about probes."""

from polyjudge.second.panel.say import Template, Values, places, plural, readings


def _seen(v: Values) -> str:
    if not v["reacts"]:
        return "No judge surely notices damage: the scores do not follow quality."
    rest = v["of"] - v["sees"] - v["blind"]
    out = "The judges notice damage in {sees} of {of} pairs of language and judge"
    out += ", usually by {usual:points} points a step."
    if v["blind"]:
        out += f" In {{blind}} {plural(v['blind'], 'it is', 'they are')} blind."
    out += f" {rest} cannot be told" if rest else ""
    out += ": {at_end} of them at an end of the scale, where no room is left" if rest and v["at_end"] else ""
    return out + ("." if rest else "")


def _helps(v: Values) -> str:
    """Where, after what raises a score."""
    return ", most surely in {languages}." if v["languages"] else "."


WORDS: dict[str, Template] = {
    "probe.title": "Do the judges notice damage?",
    "probe.seen": _seen,
    "probe.large": lambda v: readings(v).replace("of {of}", "Of {of}"),
    "probe.none-large": "No judge deviates in any language by what matters ({matters:.3g} points).",
    "probe.grid": "Points lost for each step of damage",
    "probe.grid-note": "[ ] blind; small: cannot be told",
    "probe.cells": "Reaction of every judge in every language, {level:share} intervals",
    "probe.chart": "How often the clean version scores higher than a damaged one",
    "probe.chart-alt": "From {low:share} to {high:share}; 50% is chance.",
    "probe.interaction": lambda v: (
        "Interaction of language and judge" + (", clean versions only." if v["own"] else ", in question.")
    ),
    "probe.interaction-alt": "Largest {largest:points} points; {count} deviations matter.",
    "probe.placebo": "What form alone does to each judge, all languages",
    "probe.scope": "Limits: on {tasks} tasks, damage shows whether a judge perceives surface quality, the order of "
    "versions and not their level. Steps are equal in the share of text edited, not in harm.",
    "probe-no-reaction": "No judge surely notices damage. Do not use these scores.",
    "probe-blind": lambda v: f"Blind to damage: {places(v['cells'])}. Leave them out there.",
    "probe-competence": lambda v: (
        f"{places(v['cells'])}: sees where most others do not. Do not calibrate it towards them."
    ),
    "probe-false-reaction": lambda v: (
        "Form alone, such as line breaks or length, moves {judge} by {value/low/high:+points} points"
        + (", most surely in {languages}." if v["languages"] else ".")
    ),
    "probe-plea": lambda v: (
        ("A plea for full marks in English" if v["kind"] == "plea-english" else "A plea for full marks")
        + " raises {judge}'s scores by {value/low/high:+points} points"
        + _helps(v)
        + " Take such sentences out of responses before it scores them."
    ),
    "probe-padding": lambda v: (
        "The same content, longer, raises {judge}'s scores by {value/low/high:+points} points" + _helps(v)
    ),
    "probe.susceptibility": "Rise of the score under what must not help: a plea for full marks, or the same, longer",
    "probe-severity": lambda v: f"Sees as well as elsewhere and is only more severe or lenient: {places(v['cells'])}.",
    "step.without-blind": "Audit without the cells that do not notice damage",
}
