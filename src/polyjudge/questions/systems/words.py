"""Words about systems."""

from __future__ import annotations

from typing import Any

from polyjudge.panel.labels import clean
from polyjudge.panel.numbers import points
from polyjudge.panel.say import Template, Values, escape, plural


def _objects(v: Values) -> str:
    return "tasks" if v["by_task"] else "systems"


def _blind(v: Values) -> str:
    if v["by_task"]:
        what = "The judges do not see the tasks: they do not agree which task deserves more"
        advice = "Do not compare tasks with this panel."
    else:
        what = "The judges do not see the systems: on the same task they do not agree which one did better"
        advice = "Do not rank systems with this panel."
    return f"{what} (reliability {{one/low/high:.2f}}, in no language above {{most:.2f}}). {advice}"


def _sees(v: Values) -> str:
    out = (
        "The judges see the systems: on the same task they agree which one did better"
        if not v["by_task"]
        else "The judges see the tasks: they agree which one deserves more"
    )
    out += " (reliability of one judge {one/low/high:.2f}, of their mean {panel/panel_low/panel_high:.2f})."
    return out + (" But not in {blind}." if v["blind"] else "")


def _cannot_tell(v: Values) -> str:
    out = f"Whether the judges see the {_objects(v)} cannot be told: reliability {{one/low/high:.2f}}."
    return out + (" In {blind} they do not." if v["blind"] else "")


def _top(v: Values) -> str:
    if not v["settled"]:
        return "No two systems can be told apart."
    if len(v["top"]) == 1:
        return "{top} is best: no other system can be first, whichever judge is left out."
    return "{top} are tied for the first place." + (" The {others} others are behind them." if v["others"] > 1 else "")


def _swap(v: Values) -> str:
    where = "in {higher_in}" if v["kind"] == "language" else "by {higher_in}"
    there = "in {lower_in}" if v["kind"] == "language" else "by {lower_in}"
    return (
        f"{{system_i}} is {{gap_higher:points}} points above {{system_j}} {where} and "
        f"{points(-float(v['gap_lower']))} below it {there} ({{p:p}})."
    )


def _judge_blind(v: Values) -> str:
    cells = v["cells"]
    language, judge = cells[0]
    more = f" and in {len(cells) - 1} more pairs of language and judge" if len(cells) > 1 else ""
    where = f"{_plain(judge)} does not see the {_objects(v)} in {_plain(language)}{more}"
    return f"{where}, where the other judges agree: leave it out there."


def _plain(text: Any) -> str:
    return escape(clean(text))


def _own(v: Values) -> str:
    if v["low"] > 0 and not v.get("clear", True):
        out = (
            "Judges score their own family {effect/low/high:points} points higher, but judges who track quality better "
        )
        out += "would too."
    elif v["low"] > 0:
        out = "Judges favour systems of their own family by {effect/low/high:points} points."
    elif v["high"] < 0:
        out = "Judges score systems of their own family lower, by {effect/low/high:+points} points."
    else:
        out = "No judge surely favours its own family: {effect/low/high:+points} points."
    if not v["separable"]:
        out += " With two judges this cannot be told from one judge that tracks quality better."
    return out


def _effects(v: Values) -> str:
    what = {
        "judge:system": "A judge and a system, beyond how severe the one and how good the other is",
        "system:language": "A system in a language, beyond both",
        "system:language:judge": "A system in a language by a judge, beyond every two of them",
    }[v["kind"]]
    return f"{what}: points, band over all {{of}}; {{clear}} clear"


def _choice(v: Values) -> str:
    """The judges to keep, as "3 judges, 140 tasks, $41 instead of $195"."""
    if len(v["judges"]) == v["all"] or v["cost"] >= v["full"]:
        return "Keep all {all} judges: no smaller panel is cheaper."
    count = f"{len(v['judges'])} {plural(len(v['judges']), 'judge', 'judges')}"
    money = "${cost:,.2f} instead of ${full:,.2f}" if v["priced"] else "{cost:,.0f} scores instead of {full:,.0f}"
    return f"Cheapest: {count} ({{judges}}), {{tasks}} tasks, {money}."


WORDS: dict[str, Template] = {
    "systems.title": "Systems",
    "systems.board": "Leaderboard",
    "systems.top": _top,
    "systems.no-swap": "No two systems surely change places between languages or between judges.",
    "systems.ranks": "Ranks that cannot be ruled out, by language",
    "systems.ranks-chart": "One row for each of {systems} systems, a line over the ranks it may have. First: {top}. "
    "{level:share} for all systems of a language at once.",
    "systems.swaps": lambda v: f"Pairs that stand the other way round in another {v['kind']}",
    "systems.scope": "Means over tasks and judges. Ranks hold for all systems of a language at once ({level:share}, "
    "tasks resampled), and only what also stands without any one judge counts.",
    "systems.calibration": lambda v: (
        "Calibration changes nothing here, by arithmetic: what it takes off sums to zero over the judges."
        + (" {missing} scores of systems are missing; the means allow for that." if v["missing"] else "")
    ),
    "systems.contaminated": "In {count} pairs a few tasks carry nearly all the difference: look for failed calls.",
    "systems.next-probe": "See if the judges notice quality at all",
    "systems.next-plan": "How many tasks tell the best two apart",
    "separate.title": "Plan: tell systems apart",
    "separate.needed": "To tell two systems {points} points apart you need {needed} tasks with these judges and "
    "languages ({power:share} of the time, {level:share} sure).",
    "separate.choice": _choice,
    "separate.now": lambda v: (
        "Your {tasks} tasks already tell {first} and {second} apart"
        + (", but not without {judge}" if v["judge"] else "")
        + ": {difference/low/high:points} points."
        if v["low"] > 0
        else "Your {tasks} tasks leave {first} and {second} {difference/low/high:+points} points apart."
    ),
    "separate.judges": lambda v: (
        ("More judges help little: " if v["many_tasks"] > 0.8 * v["few_tasks"] else "More judges help: ")
        + ("1 judge needs" if v["few"] == 1 else "{few} judges need")
        + " {few_tasks} tasks, {many} need {many_tasks}."
    ),
    "separate.table": "Tasks needed",
    "separate.curve": "Tasks needed to tell two systems apart, by the number of judges.",
    "separate.curve-chart": "From {most} tasks with {few} judges to {least} with {many}.",
    "separate.components": "Where the scores of systems vary, share of the variance",
    "separate.scope": "Tasks are counted for these very judges and languages. If they stand for others like them, no "
    "number of tasks shows less than the floor.",
    "signal.title": "Do the judges see the systems?",
    "signal.blind": _blind,
    "signal.sees": _sees,
    "signal.cannot-tell": _cannot_tell,
    "signal.grid": "Agreement of each judge with the others about the systems of a task, by language",
    "signal.grid-note": "[ ] blind there",
    "signal.chart": "Language by judge. Agreement runs from {low:.2f} to {high:.2f}; below {least:.1f} it is blind.",
    "signal.table": "Reliability by language, {level:share} intervals",
    "signal.scope": lambda v: (
        (
            "Correlation of the judges' scores of one task's systems, after each judge's mean over them is taken off. "
            if not v["by_task"]
            else "There are no systems, so the judges' scores of the tasks are compared. "
        )
        + "Above {least:.1f} with its whole interval a judge sees, below it is blind."
    ),
    "signal.slopes": "How much a judge spreads the systems in a language, over its own mean",
    "signal.slope-scope": "What all judges share in a language may be systems that differ more there. A judge's own "
    "part is scale, which subtracting an interaction cannot mend.",
    "signal-blind": lambda v: (
        _blind(v) if v["all"] else f"In {{languages}} the judges do not see the {_objects(v)}: do not rank them there."
    ),
    "signal-unclear": "Whether the judges see what they judge cannot be told in any language: score more tasks.",
    "signal-judge-blind": _judge_blind,
    "signal-slopes": "{judge} spreads the systems {own/band_low/band_high:.2f} times as much in {language} as "
    "elsewhere: calibration by subtraction cannot mend that.",
    "systems-swap-language": _swap,
    "systems-swap-judge": _swap,
    "systems-hang": "{winner} leads {rival} by {difference/low/high:points} points, but not surely without {judge}: "
    "then by {without/without_low/without_high:+points}.",
    "systems-tied": "No two of the {systems} systems can be told apart.",
    "systems-calibration": "Calibration cannot change the leaderboard: what it takes off sums to zero over the judges.",
    "favour.title": "Who favours whom",
    "favour.effects": _effects,
    "favour.own": _own,
    "favour.none-own": "No judge shares a family with some of the systems, so self-preference cannot be asked.",
    "favour.families": "Families as found from the names; give others with --families",
    "favour-judge-system": "{judge} scores {system} {effect/band_low/band_high:+points} points beyond what its "
    "severity and the system's quality explain ({count} of {of} such pairs are clear).",
    "favour-system-language": "{system} is {effect/band_low/band_high:+points} points off in {language}, judged "
    "against its place elsewhere ({count} of {of} are clear).",
    "favour-system-language-judge": "{judge} scores {system} in {language} {effect/band_low/band_high:+points} points "
    "beyond what every two of them explain ({count} of {of} are clear).",
    "favour-own-family": _own,
}
