"""Words about explanations, advice and what matters. They are the first a person reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polyjudge.panel.numbers import number, percent
from polyjudge.panel.say import Template, Values, names, places, readings


def about(value: float, low: float, high: float, sign: bool = False) -> str:
    """A value with its interval, rounded to the first digit that the interval leaves sure.

    >>> about(31.12, 25.17, 32.88), about(0.031, 0.012, 0.049)
    ('31 [25, 33]', '0.03 [0.01, 0.05]')
    """
    half = abs(high - low) / 2
    digits = min(6, max(0, -math.floor(math.log10(half)))) if half > 0 else 1
    return f"{number(value, digits, sign)} [{number(low, digits, sign)}, {number(high, digits, sign)}]"


def off(v: Values) -> str:
    """Points too low or too high, with the interval."""
    low, high = sorted((abs(v["low"]), abs(v["high"])))
    if v["low"] <= 0 <= v["high"]:  # the interval has both sides
        return f"{about(v['excess'], v['low'], v['high'], True)} {v['unit']} off"
    return f"{about(abs(v['excess']), low, high)} {v['unit']} {'lower' if v['excess'] < 0 else 'higher'}"


def _gate(v: Values) -> str:
    """The use, with the pass mark."""
    return f"To gate at {v['mark']:g} or more" if v["at_least"] else f"To gate above {v['mark']:g}"


def _place(named: Sequence[tuple[str, str]]) -> str:
    return names([f"{judge} in {language}" for language, judge in named])


def _piled(v: Values) -> str:
    """Where a culprit's scores are heaped up, or gone."""
    piled = v["piled"]
    if piled is None:
        return ""
    share, elsewhere = percent(piled["share"]), percent(piled["elsewhere"])
    if piled["what"] == "missing":
        return f" {share} of its scores there are missing, elsewhere {elsewhere}."
    return f" {share} of its scores there are {number(piled['end'], 0)}, elsewhere {elsewhere}."


def _blind(v: Values) -> str:
    what = "which task deserves more" if v["by_task"] else "which system did better on the same task"
    seen = "the tasks" if v["by_task"] else "the systems"
    return (
        f"The judges do not see {seen}: they do not agree {what}, in any language (reliability "
        "{one/low/high:.2f}, at most {most:.2f})."
    )


def _open(v: Values) -> str:
    seen = "No judge is clearly off in any language" if not v["clear"] else "Judges are a little off in some languages"
    return (
        f"{seen}, but {{tasks}} tasks cannot rule out that one is off by {{delta:points}} {{unit}} ({{level:share}}, "
        "all {cells} cells together). From {matters:.2g} on it matters."
    )


def _diffuse(v: Values) -> str:
    judges = "spread over all judges" if len(v["judges"]) == v["panel"] else f"by {names(v['judges'])}"
    count = f"{{count}} of {{cells}} cells are off by more than {{matters:.2g}} {{unit}}, {judges}"
    return f"Beyond that, {count}." if v["also"] else f"Language changes your judges: {count}."


def _probed(v: Values) -> str:
    if not v["reacts"]:
        return "Probes: no judge surely notices damage. Do not use these scores."
    if not v["of"]:
        blind = f" But {places(v['blind_places'])} cannot see: leave out." if v["blind_places"] else ""
        return f"Probes ({{tasks}} tasks): no deviation that matters needs a reading.{blind}"
    return "Probes ({tasks} tasks): " + readings(v)


def _rank_probed(v: Values) -> str:
    start = "To use one judge, or rank them over all languages: "
    if not v["reacts"]:
        return start + "do not. No judge surely notices damage."
    if v["competence"]:
        return start + f"do not calibrate {places(v['competence_places'])}; it sees where most others do not."
    if v["blind_places"]:
        return start + "leave out the places that cannot see, then look again."
    if v["of"] and v["severity"] == v["of"]:
        return start + "calibrate. Probes say the deviations are severity, so it is safe."
    return start + ("probes leave open what the deviations are; labels decide." if v["of"] else "as the scores are.")


def _ranks(v: Values) -> str:
    if "winner" in v:
        return " The lead of {winner} hangs on {judge}: without it {rival} may be as good."
    if "system_i" in v:
        return " But {system_i} and {system_j} change places between {higher_in} and {lower_in}: rank by language."
    return ""


WORDS: dict[str, Template] = {
    "verdict.blind": _blind,
    "verdict.agree": "The languages agree. No judge is off by more than {delta:points} {unit} in any language "
    "({level:share}, all {cells} cells together).",
    "verdict.open": _open,
    "verdict.cell": lambda v: f"{{judge}} breaks in {{language}}: it scores {off(v)} there than it should.{_piled(v)}",
    "verdict.cells": lambda v: (
        f"{len(v['named'])} places break: {_place(v['named'])}. The worst, {{judge}} in {{language}}, scores {off(v)} "
        f"than it should.{_piled(v)}"
    ),
    "verdict.judge": lambda v: (
        "{judge} reacts to language unlike the other judges, most in {language}: it scores "
        f"{off(v)} there than it should."
    ),
    "verdict.language": lambda v: (
        "In {language} the judges part as they do in no other language, most {judge}: it scores "
        f"{off(v)} there than it should. Check the prompt in {{language}}."
    ),
    "verdict.diffuse": _diffuse,
    "verdict.swap": "{judge_i} is {gap_above:points} {unit} above {judge_j} in {above} and {gap_below:points} below it "
    "in {below}. That is no accident ({p:p}).",
    "verdict.rest": lambda v: (
        "All else agrees."
        if not v["clear"]
        else "Without it the largest deviation falls from {largest:points} to {without:points} {unit}."
    ),
    "verdict.two-judges": "With two judges nobody can tell which of them is off: add a third.",
    "use.compare.blind": lambda v: (
        f"To compare {'systems' if v['systems'] else 'tasks'}: not with this panel. Nothing that is done to its scores "
        "helps."
    ),
    "use.compare.none": "To compare systems: these scores do not say which system they are of. Name that column: "
    "--system NAME.",
    "use.compare.mean": lambda v: (
        "To compare systems: average the judges. Calibrating cannot change their order."
        + (" Whether the judges see the systems at all cannot be told yet." if v["doubt"] else "")
        + _ranks(v)
    ),
    "use.compare.missing": lambda v: (
        "To compare systems: calibrate first. Scores are missing, so a system may meet harsher judges than another."
        + _ranks(v)
    ),
    "use.gate.none": "To gate: name the pass mark with --at, and see how many decisions depend on the language.",
    "use.gate.blind": lambda v: (
        f"{_gate(v)}: not with this panel. Its judges do not see the {'tasks' if v['by_task'] else 'systems'}, so what "
        "passes says nothing."
    ),
    "use.gate.agree": lambda v: (
        f"{_gate(v)}: use the scores as they are. Calibrating would turn {{flips}} of {{decisions}} decisions."
    ),
    "use.gate.open": lambda v: f"{_gate(v)}: use the scores as they are until more tasks are scored.",
    "use.gate.culprit": lambda v: (
        f"{_gate(v)}: mend or leave out the broken place first; its pass rate there is wrong."
    ),
    "use.gate.diffuse": lambda v: (
        f"{_gate(v)} with single judges: calibrate, it turns {{flips}} of {{decisions}} decisions "
        "({share/low/high:share})."
        if v["narrows"]
        else f"{_gate(v)} with single judges: calibrating would turn {{flips}} of {{decisions}} decisions "
        "({share/low/high:share}), but does not surely narrow the gap between languages."
    ),
    "use.rank.agree": "To rank judges: one order holds in every language, give or take {matters:.2g} {unit}. It is one "
    "of leniency, not of quality.",
    "use.rank.open": lambda v: (
        "To rank judges: "
        + ("their order says who is lenient, and nothing else." if v["blind"] else "wait for more tasks. ")
        + ("" if v["blind"] else "The order is one of leniency, not of quality.")
    ),
    "use.rank.culprit": "To rank judges: leave the broken place out. The order is one of leniency, not of quality.",
    "use.rank.diffuse": "To use one judge, or rank them over all languages: calibrate. The order is one of leniency, "
    "not of quality.",
    "use.rank.few": "To use one judge, or rank them over all languages: score more tasks first. {tasks} are too few to "
    "calibrate on.",
    "use.best": "To pick the best judge for a language: that needs labels or probes. Mean scores show who is lenient.",
    "use.rank.probed": _rank_probed,
    "use.best.probed": lambda v: (
        "To pick a judge for a language: probes show who notices damage, not who is best."
        + (f" Leave out {places(v['blind_places'])}." if v["blind_places"] and v["reacts"] else "")
    ),
    "use.mean.probed": lambda v: (
        f"To average the judges: not where most of them are blind. There {places(v['competence_places'])} sees more "
        "than the mean."
    ),
    "verdict.probes": _probed,
    "step.without-blind": "See the panel without the places that cannot see",
    "use.mean.blind": lambda v: (
        f"To average the judges: their mean does not see the {'tasks' if v['by_task'] else 'systems'} either."
    ),
    "use.mean.nothing": "To average the judges: do it. Calibrating changes nothing there, by arithmetic.",
    "use.mean.culprit": lambda v: (
        f"To average the judges: {{judge}} pulls {{language}} {'down' if v['excess'] < 0 else 'up'} by "
        f"{about(abs(v['excess']), *sorted((abs(v['low']), abs(v['high']))))} {{unit}}. Leave it out there, or "
        "correct it alone."
    ),
    "step.read-worst": "Read its worst answers",
    "step.without": "See the panel without it",
    "step.correct-alone": "Or correct it alone",
    "step.calibrate": "Calibrate",
    "step.compare": "See what calibrating gains",
    "step.plan": lambda v: "Plan more tasks" + ("" if v["needed"] is None else f" (about {number(v['needed'], 0)})"),
    "step.baseline": "Keep this as your baseline, to compare later scores with (polyjudge drift)",
    "step.systems": "See which system wins, and how surely",
    "step.gate": "See the pass rates by language",
    "step.labels": "See who is right where (LABELS: task, language, score by people)",
    "step.probe": "See whether they notice quality: damage some responses (ITEMS: your tasks with them)",
    "explain.title": "What explains the differences between languages",
    "explain.kind.none": "Nothing: judges and languages add up, within noise.",
    "explain.kind.cell": "One place: {judge} in {language}.",
    "explain.kind.cells": lambda v: f"A few places: {_place(v['named'])}.",
    "explain.kind.judge": "One judge: {judge}.",
    "explain.kind.language": "One language: {language}.",
    "explain.kind.diffuse": lambda v: (
        "Everything a little: no few places explain it"
        + (f", though {_place(v['named'])} stands out." if v["named"] else ".")
    ),
    "explain.stability": "{stability:share} of {resamples} random halves of the tasks say the same.",
    "explain.cell": lambda v: (
        f"{{judge}} in {{language}}: {off(v)} than the other judges and languages lead to expect (double centring "
        "says {interaction:+points})."
    ),
    "explain.shares": lambda v: (
        "Scores at the lowest value: {floor:share} there, {floor_elsewhere:share} in its other languages; at the "
        "highest: {ceiling:share} and {ceiling_elsewhere:share}; missing: {missing:share} and "
        "{missing_elsewhere:share}."
    ),
    "explain.shares-chart": lambda v: (
        "Each small picture shows how often a judge gave which score in a language."
        + (f" In the accent colour: {_place(v['named'])}." if v["named"] else "")
    ),
    "explain.shares-missing": "Missing: {missing:share} of its scores there, {missing_elsewhere:share} in its other "
    "languages.",
    "explain.without": "Without the places named, the largest deviation falls from {largest:points} to "
    "{without:points} {unit}, and {clear_without} of {cells} cells are clear of noise instead of {clear}.",
    "explain.majority": "This rests on the majority: it shows who differs, not who is right. Labels or probes decide.",
    "explain.worst": "Tasks that show it most: the score, and what the other judges and languages lead to expect",
    "explain.alt": lambda v: (
        "How far each judge is off in each language, beyond its own and the language's level."
        + (" The culprit is framed." if v["named"] else "")
    ),
    "explain.grid": lambda v: f"{v['unit'].capitalize()} beyond the judge's and the language's own level",
    "explain.grid-note": lambda v: (
        ("[ ] the culprit; " if v["named"] else "") + ". within {matters:.2g} {unit} (--matters), or within noise"
    ),
    "explain.cells": "Every place: the sparse reading with its {level:share} interval, and double centring with its "
    "band",
    "explain.certificate": lambda v: {
        "certified": "Certified: at {level:share} no judge is off by more than {delta:points} {unit} in any language; "
        "{matters:.2g} matter.",
        "refuted": "Refuted: {material} of {cells} places are off by more than {matters:.2g} {unit} for sure, {open} "
        "may be, {negligible} are not.",
        "open": "Open: deviations up to {delta:points} {unit} are not ruled out; {matters:.2g} matter."
        + ("" if v["needed"] is None else " If nothing is off, about {needed} tasks would certify it."),
    }[v["status"]],
}
