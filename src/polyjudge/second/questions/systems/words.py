"""Words about systems."""

from typing import Any

from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.numbers import points
from polyjudge.second.panel.say import Template, Values, escape


def _objects(v: Values) -> str:
    return "tasks" if v["by_task"] else "systems"


def _better(v: Values) -> str:
    if v.get("pairs"):
        return "which of the two wins which task"
    return "which task deserves more" if v["by_task"] else "which system did better"


ONE, BOTH = "{one/low/high:.2f}", "{one/low/high:.2f}, of their mean {panel/panel_low/panel_high:.2f}"


def _disagree(v: Values) -> str:
    return (
        f"The judges do not agree {_better(v)} ({ONE}, in no language above {{most:.2f}}). "
        f"Do not {'compare tasks' if v['by_task'] else 'rank systems'} with this panel."
    )


def _agree(v: Values) -> str:
    out = f"The judges agree with each other {_better(v)} (reliability of one {BOTH})."
    return out + (" But not in {odd}." if v["odd"] else "")


def _cannot_tell(v: Values) -> str:
    """Agreement that proves little, or none that could be told, and why."""
    why, odd = v["why"], " In {odd} they do not." if v["odd"] else ""
    agree = f"The judges agree with each other {_better(v)} ({ONE})"
    if why == "one maker":
        alone = f"{agree}. All {{judges}} are of one maker ({{makers}})"
        return f"{alone}: an error they share would not show here; only labels would tell."
    if why == "two judges":
        return f"{agree}. An error that both share would not show: labels, or a judge of another maker, would tell."
    if why == "group":
        return f"Some judges agree {_better(v)}, the others do not ({ONE} over all): who is right cannot be told.{odd}"
    if why == "one judge":
        cheap = "A second judge on thirty of the tasks is the cheapest check, labels the surest."
        return f"One judge cannot agree with anybody: its errors would not show here. {cheap}"
    if why == "constant":
        return f"Nearly all {_objects(v)} got one score, so whether the judges agree cannot be told."
    return f"Whether the judges agree {_better(v)} cannot be told yet ({ONE}).{odd}"


def _top(v: Values) -> str:
    if not v["settled"]:
        return "No two systems can be told apart."
    by = "By these judges" if v["judges"] > 1 else "By this judge"
    if len(v["top"]) == 1:
        which = ", whichever judge or maker is left out" if v["makers"] > 1 else ", whichever of them is left out"
        return f"{by} {{top}} wins" + (f"{which}." if v["judges"] > 1 else ".")
    return f"{by} {{top}} are tied for the first place." + (
        " The {others} others are behind them." if v["others"] > 1 else ""
    )


def _swap(v: Values) -> str:
    where = "in {higher_in}" if v["kind"] == "language" else "by {higher_in}"
    there = "in {lower_in}" if v["kind"] == "language" else "by {lower_in}"
    return (
        f"{{system_i}} is {{gap_higher:points}} points above {{system_j}} {where} and "
        f"{points(-float(v['gap_lower']))} below it {there} ({{p:p}})."
    )


def _judge_odd(v: Values) -> str:
    cells = v["cells"]
    language, judge = cells[0]
    more = f" and in {len(cells) - 1} more pairs of language and judge" if len(cells) > 1 else ""
    where = f"{_plain(judge)} does not agree with the other judges about the {_objects(v)} in {_plain(language)}{more}"
    return f"{where}, while they agree with each other: it errs there, or they share an error. Labels tell."


def _plain(text: Any) -> str:
    return escape(clean(text))


def _own(v: Values) -> str:
    if v["low"] > 0 and not v.get("clear", True):
        out = "Judges score their own family {effect/low/high:points} points higher, but judges with tastes of their "
        out += "own would too" + (" ({p:share} of relabellings make as much)." if v["p"] > 0.05 else ".")
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


def _length(v: Values) -> str:
    more = " ({count} of {judges} judges score longer or shorter answers apart)" if v["count"] > 1 else ""
    out = "{judge} gives {slope/low/high:+points} points to an answer twice as long as another" + more + "."
    if v["winner"] != v["equal"]:
        return out + " At equal length {equal} would be first, not {winner}. Longer may be better: look at some."
    return out + " {winner} is first at equal length too."


WORDS: dict[str, Template] = {
    "length": _length,
    "length.title": "Do scores go with length?",
    "length.cells": "Points for an answer twice as long as another one of the same task, {level:share} intervals",
    "length.systems": "Means as they are, and at equal length within each task if these slopes held",
    "length.scope": lambda v: (
        "A description, not a correction: longer answers may be better ones."
        + (" The length of {known:share} of the answers is known." if v["known"] < 1 else "")
    ),
    "systems.title": "Systems",
    "systems.board": "Leaderboard",
    "systems.top": _top,
    "systems.no-swap": lambda v: (
        "No two systems surely change places between "
        + " or between ".join(axis for axis in ("languages", "judges") if v[axis])
        + "."
    ),
    "systems.ranks": "Ranks that cannot be ruled out, by language",
    "systems.ranks-chart": "One row for each of {systems} systems, a line over the ranks it may have. First: {top}. "
    "{level:share} for all systems of a language at once.",
    "systems.swaps": lambda v: (
        f"Pairs that stand the other way round {'in' if v['kind'] == 'language' else 'by'} another {v['kind']}"
    ),
    "systems.scope": lambda v: (
        "Means over tasks. Ranks are as this judge would rank on other tasks: all systems of a language at once "
        "({level:share})."
        if v["judges"] == 1
        else "Means over tasks and judges. Ranks are as these judges would rank on other tasks: all systems of a "
        "language at once ({level:share}), and only what also stands without any one judge or maker counts."
    ),
    "systems.calibration": lambda v: (
        (
            "Calibration changes nothing here, by arithmetic: what it takes off sums to zero over the judges. "
            if v["crossed"]
            else ""
        )
        + ("{missing} scores of systems are missing; the means allow for that." if v["missing"] else "")
    ),
    "systems.contaminated": "In {count} pairs a few tasks carry nearly all the difference: look for failed calls.",
    "systems.next-probe": "See if the judges notice quality at all",
    "systems.next-label": "Fifty labels a language show an error that all judges share",
    "systems.no-whole": "No system is scored in every language: the languages are ranked one by one.",
    "systems.apart": "The languages share no tasks: what compares languages task by task is left out.",
    "systems.shared-error": "An error that all judges share cannot show here; fifty labels a language would tell.",
    "systems.next-plan": "How many tasks tell the best two apart",
    "signal.title": "Do the judges agree with each other?",
    "signal.do-not-agree": _disagree,
    "signal.agree": _agree,
    "signal.cannot-tell": _cannot_tell,
    "signal.grid": "Agreement of each judge with the others about the systems of a task, by language",
    "signal.grid-note": "[ ] does not agree with the others there",
    "signal.chart": "Language by judge. Agreement runs from {low:.2f} to {high:.2f}; below {least:.1f} there is none.",
    "signal.table": "Reliability by language, {level:share} intervals",
    "signal.scope": lambda v: (
        (
            "Correlation of the judges' scores of one task's systems, after each judge's mean over them is taken off. "
            if not v["by_task"]
            else "There are no systems, so the judges' scores of the tasks are compared. "
        )
        + "Above {least:.1f} with the whole interval judges agree, below it they do not. Agreement counts across "
        "makers, and must stand outside the group of makers that agrees most. Consistent: the panel's scores against "
        "their mean over the other languages. Agreement is not truth: judges that share an error agree too."
    ),
    "signal.slopes": "How much a judge spreads the systems in a language, over its own mean",
    "signal.slope-scope": "What all judges share in a language may be systems that differ more there. A judge's own "
    "part is scale, which subtracting an interaction cannot mend.",
    "signal.groups": "Judges that agree with each other more than with the rest",
    "signal-disagree": lambda v: (
        _disagree(v) if v["all"] else f"In {{languages}} the judges do not agree {_better(v)}: do not rank there."
    ),
    "signal-unclear": lambda v: _cannot_tell(dict(v) | {"odd": v["languages"]}),
    "signal-one-maker": "All judges are of {maker}: an error they share would not show.",
    "signal-judge-odd": _judge_odd,
    "signal-strays": "In {languages} the scores do not follow those of the other languages "
    "({consistency/low/high:.2f}, where {usual:.2f} is usual): check that the tasks there are the same.",
    "signal-group": "{judges} agree with each other more than with the rest (their errors correlate by "
    "{correlation/low/high:.2f}): they see more, or they share an error. Labels tell.",
    "signal-slopes": "{judge} spreads the systems {own/band_low/band_high:.2f} times as much in {language} as "
    "elsewhere: calibration by subtraction cannot mend that.",
    "systems-swap-language": _swap,
    "systems-swap-judge": _swap,
    "systems-hang": lambda v: (
        "{winner} leads {rival} by {difference/low/high:points} points, but not surely without "
        + ("the judges of {judge}" if v["maker"] else "{judge}")
        + ": then by {without/without_low/without_high:+points}."
    ),
    "systems-tied": "No two of the {systems} systems can be told apart.",
    "favour.title": "Who favours whom",
    "favour.effects": _effects,
    "favour.own": _own,
    "favour.none-own": "No judge shares a family with some of the systems, so self-preference cannot be asked.",
    "favour.families": "Makers as found from the names; give others with --families",
    "favour.one-judge": "Who favours whom needs a second judge.",
    "favour-judge-system": "{judge} scores {system} {effect/band_low/band_high:+points} points beyond what its "
    "severity and the system's quality explain ({count} of {of} such pairs are clear).",
    "favour-system-language": "{system} is {effect/band_low/band_high:+points} points off in {language}, judged "
    "against its place elsewhere ({count} of {of} are clear).",
    "favour-system-language-judge": "{judge} scores {system} in {language} {effect/band_low/band_high:+points} points "
    "beyond what every two of them explain ({count} of {of} are clear).",
    "favour-own-family": _own,
}
