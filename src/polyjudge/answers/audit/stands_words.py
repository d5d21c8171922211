"""What is said of a win and its threats: the frame, findings, and a sentence for each threat (METHODS 36)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.answers.amounts import amount, size, spelled
from polyjudge.answers.audit.copies import copy_correlation
from polyjudge.answers.audit.leads import Lead
from polyjudge.answers.audit.stands import CAUSES, Stands
from polyjudge.answers.audit.threats import (
    WORST,
    Copies,
    LeftOut,
    LongerAnswers,
    LostScores,
    OwnScores,
    Places,
    Threat,
)
from polyjudge.base.later import framed
from polyjudge.base.numbers import percent, points
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Severity

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["threat", "left", "low", "high", "verdict", "seen", "text"]

SHORT = {
    "position": "because of the order",
    "copies": "with copies as one judge",
    "own maker": "without own-maker scores",
    "length": "because of length",
}


def stands_frame(found: Stands) -> pd.DataFrame:
    """threat, left, low, high, verdict, seen, text."""
    rows: list[tuple[Any, ...]] = []
    for threat in found.threats:
        left = (np.nan, np.nan, np.nan)
        if threat.after is not None and threat.after.rival >= 0:
            left = threat.after.over(threat.after.rival)
        rows.append((threat.name, *left, found.verdict_of(threat), threat.seen, threat_sentence(found, threat)))
    leads = found.known_leads
    if len(leads) > 1:
        ends = float(leads.mean()), float(leads.min()), float(leads.max())
        rows.append(("judges as a sample", *ends, "no verdict", False, by_judge_sentence(found)))
    return framed(rows, columns=COLUMNS)


def stands_findings(found: Stands) -> list[Finding]:
    """One finding for each threat that the win does not stand, the worst first; they are no lines of the screen."""
    if not found.is_certain:
        return []
    systems = found.contest.panel.systems
    findings = []
    for threat in sorted(found.threats, key=lambda threat: (WORST[threat.verdict], CAUSES.index(threat.name))):
        if threat.verdict in ("stands", "does not apply") or (threat.verdict == "no verdict" and not threat.seen):
            continue
        key = f"winner.{threat.name.replace(' ', '_')}"
        rival = threat.than if isinstance(threat, LongerAnswers) else _rival(found, threat)
        where = {"system": systems[found.contest.top], "rival": systems[rival]}
        findings.append(Finding(_severity(threat), key, threat_sentence(found, threat), "", where))
    return findings


def against_findings(found: Stands) -> list[Finding]:
    """The lead over the one system that the user named, and whether it stands."""
    if not found.against:
        return []
    panel, top = found.contest.panel, found.contest.panel.systems[found.contest.top]
    where = {"system": top, "rival": found.against}
    rival = panel.systems.index(found.against)
    value, low, high = found.lead.over(rival)
    pair = f"{name(top)} and {name(found.against)}"
    # Of two systems the line above has said it.
    topic = "Winner" if len(panel.systems) > 2 else ""
    if not np.isfinite(low):
        text = f"Too few tasks compare {pair}."
        return [Finding("notice", "winner.against", text, topic, where)]
    if low > 0:
        lead = f"{name(top)} is ahead of {name(found.against)} by {amount(panel, value, low, high)}"
        text = f"{lead}{by_judge_clause(found)}. {stands_clause(found)}".rstrip()
        return [Finding("info", "winner.against", text, topic, where)]
    if high < 0:
        text = f"{name(top)} is behind {name(found.against)} by {amount(panel, -value, -high, -low)}."
        return [Finding("warning", "winner.against", text, topic, where)]
    text = f"Between {pair} it is too close to call: {amount(panel, value, low, high)}."
    return [Finding("notice", "winner.against", text, topic, where)]


def _rival(found: Stands, threat: Threat) -> int:
    """The system over which the least is left."""
    if threat.after is None or threat.after.rival < 0:
        return found.lead.rival
    return threat.after.rival


def _severity(threat: Threat) -> Severity:
    """What takes the win, and one order only, is a warning; what cannot be told is a notice."""
    if threat.verdict in ("depends", "does not stand"):
        return "warning"
    is_one_order = isinstance(threat, Places) and threat.after is None
    return "warning" if is_one_order else "notice"


def doubt_in_short(found: Stands) -> str | None:
    """Where a lead is not sure: "without sw", "because of length"; None where it stands, and where there is none."""
    worst, panel = found.worst, found.contest.panel
    if worst is None or worst.verdict == "no verdict":
        return None
    if not isinstance(worst, LeftOut):
        return SHORT[worst.name]
    if worst.language >= 0:
        return f"without {name(panel.languages[worst.language])}"
    if worst.maker:
        return f"without {name(worst.maker)}'s judges"
    return f"without {names([panel.judges[judge] for judge in worst.judges])}"


def stands_clause(found: Stands) -> str:
    """The worst threat in a sentence or two; where there is none, what the win stands without; "" where nothing was
    tested."""
    worst = found.worst
    if worst is None:
        return _stands_sentence(found)
    sentence = threat_sentence(found, worst)
    # A number without a verdict takes nothing from what was tested.
    return f"{_stands_sentence(found)} {sentence}".lstrip() if worst.verdict == "no verdict" else sentence


def _stands_sentence(found: Stands) -> str:
    """What the lead was surely still there without; "" where nothing was tested."""
    tested = {threat.name for threat in found.threats if threat.verdict == "stands"}
    without = ["own-maker scores"] if "own maker" in tested else []
    any_one = [
        noun for kind, noun in (("one judge", "judge"), ("one language", found.contest.panel.noun)) if kind in tested
    ]
    if any_one:
        without = [*(["any one " + " or ".join(any_one)]), *without]
    parts = [f"without {' or '.join(without)}"] if without else []
    if "position" in tested:
        parts.append("with both orders counted equally")
    if "copies" in tested:
        parts.append("with copies counted as one judge")
    return f"The lead stands {', and '.join(parts)}." if parts else ""


def threat_sentence(found: Stands, threat: Threat) -> str:
    """What the threat does to the lead."""
    if not found.is_certain and threat.after is not None:
        return left_sentence(found, threat)
    if isinstance(threat, LeftOut):
        return _language_sentence(found, threat) if threat.language >= 0 else _judge_sentence(found, threat)
    if isinstance(threat, OwnScores):
        return _own_sentence(found, threat)
    if isinstance(threat, LongerAnswers):
        return _length_sentence(found, threat)
    if isinstance(threat, Places):
        return _place_sentence(found, threat)
    if isinstance(threat, Copies):
        return _copies_sentence(found, threat)
    assert isinstance(threat, LostScores)
    return _missing_sentence(found, threat)


def left_sentence(found: Stands, threat: Threat) -> str:
    """What is left, where there is no win that could stand or fall."""
    begin = {
        "position": "With both orders counted equally",
        "copies": "With copies counted as one judge",
        "own maker": "Without own-maker scores",
    }[threat.name]
    return f"{begin}, {left_words(found, threat)}."


def left_words(found: Stands, threat: Threat) -> str:
    """What is left of the lead: "0.3 points [-2.0, 2.6] of 5.8 is left", or who leads then."""
    panel, after = found.contest.panel, threat.after
    if after is None or after.rival < 0:
        return "nothing can be compared"
    rival = after.rival
    value, low, high = after.over(rival)
    who = name(panel.systems[rival])
    if value < 0 and np.isfinite(low):
        return f"{who} leads by {amount(panel, -value, -high, -low)}"
    if not np.isfinite(low):
        return f"{size(panel, value)} is left over {who}, on too few tasks for an interval"
    over = "" if rival == found.lead.rival else f" over {who}"
    whole = points(panel.factor * threat.before.value[rival], panel.factor * (high - low) / 2)
    return f"{amount(panel, value, low, high)} of {whole} is left{over}"


def _judge_sentence(found: Stands, threat: LeftOut) -> str:
    panel = found.contest.panel
    who = names([panel.judges[b] for b in threat.judges], 6)
    it = "it" if len(threat.judges) == 1 else "them"
    if threat.judges in found.copies:
        who += f", which count as one judge (r = {copy_correlation(panel, threat.judges):.2f})"
    if threat.maker:
        who = f"the {spelled(len(threat.judges))} {name(threat.maker)} judges"
    if threat.verdict == "depends":
        return f"The lead depends on {who}: without {it}, {left_words(found, threat)}."
    if threat.verdict == "stands":
        return f"The lead stands without any one judge; without {who}, {left_words(found, threat)}."
    return f"Without {who}{_doubt_words(found, threat)}."


def _doubt_words(found: Stands, threat: Threat) -> str:
    """Why a lead cannot be told after a correction: systems that can no longer be compared, or the interval."""
    panel, after = found.contest.panel, threat.after
    top = name(panel.systems[found.contest.top])
    if after is None or after.rival < 0:
        return f", {top} cannot be compared with any other system"
    lost = [panel.systems[rival] for rival in after.rivals if not np.isfinite(after.value[rival])]
    if lost and after.low[after.rival] > after.tiny:
        return f", {top} cannot be compared with {names(lost)}"
    if not np.isfinite(after.low[after.rival]):
        return f", too few tasks compare {top} and {name(panel.systems[after.rival])} for an interval"
    return f" it would be too close to call: {left_words(found, threat)}"


def _language_sentence(found: Stands, threat: LeftOut) -> str:
    panel = found.contest.panel
    where = name(panel.languages[threat.language])
    behind = ""
    if threat.behind_in is not None:
        language, rival, gap = threat.behind_in
        behind = (
            f" In {name(panel.languages[language])}, {name(panel.systems[rival])} is ahead by {amount(panel, *gap)}."
        )
    if threat.verdict == "depends":
        return f"The lead depends on {where}: without it, {left_words(found, threat)}.{behind}"
    if threat.verdict == "stands":
        return f"The lead stands without any one {panel.noun}; without {where}, {left_words(found, threat)}.{behind}"
    return f"Without {where}{_doubt_words(found, threat)}.{behind}"


def favour_words(found: Stands, judge: int) -> str:
    """By how much a judge favours its maker: "gpt-4.1 scores its own maker's systems 5.9 points [4.5, 7.3]"."""
    panel, own = found.contest.panel, found.own
    by = amount(panel, own.value[judge], own.low[judge], own.high[judge])
    return f"{name(panel.judges[judge])} scores its own maker's systems {by}"


def _own_sentence(found: Stands, threat: OwnScores) -> str:
    own, top = found.own, found.contest.panel.systems[found.contest.top]
    if threat.after is None or threat.after.rival < 0:
        if own.own is not None and not own.own[found.contest.top].all():
            return f"Without own-maker scores{_doubt_words(found, threat)}."
        return (
            f"No judge of another maker scores {name(top)}, so a favour for the own maker cannot be told from quality."
        )
    of_top = [b for b in threat.favouring if own.own is not None and own.own[found.contest.top, b]]
    named = (of_top or list(threat.favouring))[:1]
    favour = ""
    if named:
        favour = f"{favour_words(found, named[0])} higher than the other judges predict"
    if threat.verdict == "depends" and named:
        return f"The lead depends on own-maker scores: {favour}; without such scores, {left_words(found, threat)}."
    tail = f" {favour}." if favour else ""
    if threat.verdict == "stands":
        return f"The lead stands without own-maker scores: {left_words(found, threat)}.{tail}"
    return f"Without own-maker scores{_doubt_words(found, threat)}.{tail}"


def longer_words(doublings: float, than: str) -> str:
    """How much longer than those of another system.

    >>> longer_words(0.4854, "terse"), longer_words(1.2, "terse")
    ("40% longer than terse's", "2.3 times as long as terse's")
    """
    times = 2.0**doublings
    return f"{percent(times - 1, 0)} longer than {than}'s" if times < 2 else f"{times:.2g} times as long as {than}'s"


def _length_sentence(found: Stands, threat: LongerAnswers) -> str:
    panel = found.contest.panel
    top, than = name(panel.systems[found.contest.top]), name(panel.systems[threat.than])
    if not threat.seen:
        return f"{top}'s answers are not longer than {than}'s by a tenth or more."
    longer = f"{top}'s answers are {longer_words(threat.longer, than)}"
    if threat.verdict == "does not apply":
        return f"{longer}, but the judges give less for longer answers."
    if threat.after is not None and threat.after.rival >= 0:
        longer += f": at equal length, {_equal_length_words(found, threat.after, threat)}"
    return f"{longer}. Whether longer is better, scores cannot tell: label answers of these two."


def _equal_length_words(found: Stands, after: Lead, threat: LongerAnswers) -> str:
    """The lead at equal length where it is no smaller, else what is left of it."""
    panel, rival = found.contest.panel, after.rival
    value, low, high = after.over(rival)
    if not (np.isfinite(low) and value >= 0.95 * threat.before.value[rival] > 0):
        return left_words(found, threat)
    over = "" if rival == found.lead.rival else f" over {name(panel.systems[rival])}"
    return f"the lead{over} is {amount(panel, value, low, high)}"


def _place_sentence(found: Stands, threat: Places) -> str:
    panel = found.contest.panel
    if threat.after is None:
        if threat.always == 0:
            return "Place and quality cannot be told apart in these pairs: ask again with the order swapped."
        place = "first" if threat.always == 1 else "second"
        top = name(panel.systems[found.contest.top])
        return f"{top} was always shown {place}: judges may be choosing the place. Ask again with the order swapped."
    lean = ""
    if threat.leaning:
        lean = f" {_leaning_sentence(panel, threat.leaning[0])}"
    if threat.verdict == "stands":
        return f"The lead stands with both orders counted equally: {left_words(found, threat)}.{lean}"
    if threat.verdict == "does not stand":
        return f"The lead does not stand with both orders counted equally: {left_words(found, threat)}.{lean}"
    return f"With both orders counted equally it would be too close to call: {left_words(found, threat)}.{lean}"


def _copies_sentence(found: Stands, threat: Copies) -> str:
    panel = found.contest.panel
    who = copies_words(panel, threat.groups)
    if threat.verdict == "stands":
        return f"{who}: it stands, {left_words(found, threat)}."
    return f"{who}: {left_words(found, threat)}."


def _missing_sentence(found: Stands, threat: LostScores) -> str:
    panel = found.contest.panel
    lacks = f"{name(panel.systems[found.contest.top])} lacks {percent(threat.lacks)} of its scores"
    if threat.verdict == "stands":
        return f"{lacks}; were all of them the lowest possible, it would still be ahead."
    is_gone = threat.after is None or threat.after.rival < 0 or threat.after.value[threat.after.rival] <= 0
    if np.isfinite(threat.drop) and is_gone:
        drop = size(panel, float(f"{threat.drop:.2g}"))
        return f"{lacks}: they would have to lie {drop} below its others for the lead to vanish."
    return f"{lacks}; were all of them the lowest possible, {left_words(found, threat)}."


def by_judge_sentence(found: Stands) -> str:
    """The range of the leads by judge."""
    panel = found.contest.panel
    low, high = _lead_range(found)
    rival = name(panel.systems[found.lead.rival])
    return f"By judge, its lead over {rival} is {low} to {high} {panel.unit_name}."


def by_judge_clause(found: Stands) -> str:
    """ " (by judge 0.2 to 8.1)" where some judge alone gives less than half of the lead; else nothing."""
    leads = found.known_leads
    if len(leads) < 2 or leads.min() >= found.lead.value[found.lead.rival] / 2:
        return ""
    low, high = _lead_range(found)
    return f" (by judge {low} to {high})"


def _lead_range(found: Stands) -> tuple[str, str]:
    """The smallest and the largest lead by judge, with the digits of the lead."""
    factor, leads = found.contest.panel.factor, found.known_leads
    value, low, _ = found.lead.over(found.lead.rival)
    half = factor * (value - low)
    return points(factor * leads.min(), half), points(factor * leads.max(), half)


# --- what is said without a win too ---


def favour_findings(found: Stands) -> list[Finding]:
    """Judges that surely favour their own maker, unless the Winner line says it already."""
    worst = found.worst
    if not found.own.favouring or (worst is not None and worst.name == "own maker"):
        return []
    panel, judge = found.contest.panel, found.own.favouring[0]
    others = len(found.own.favouring) - 1
    text = f"{favour_words(found, judge)} higher than the other judges predict."
    if others:
        text += f" {spelled(others).capitalize()} other judge{'s do' if others > 1 else ' does'} so too."
    return [Finding("warning", "systems.own-maker", text, "Judges", {"judge": panel.judges[judge]})]


def copies_findings(found: Stands) -> list[Finding]:
    """Judges that are copies of each other, unless the Winner line says it already."""
    worst = found.worst
    is_said = worst is not None and (worst.name == "copies" or getattr(worst, "judges", ()) in found.copies)
    if not found.copies or is_said:
        return []
    panel = found.contest.panel
    text = f"{copies_words(panel, found.copies)}: they share nearly all of their errors."
    return [Finding("notice", "judges.copies", text, "Judges", {"judge": panel.judges[found.copies[0][0]]})]


def copies_words(panel: Panel, groups: Sequence[Sequence[int]]) -> str:
    """Who counts as one judge."""
    return "; ".join(
        f"{names([panel.judges[b] for b in group], 6)} count as one judge (r = {copy_correlation(panel, group):.2f})"
        for group in groups
    )


def own_maker_sentence(found: Stands) -> str:
    """What all judges together give their own makers' systems, or why that cannot be tested."""
    own = found.own
    if own.why_not:
        return own.why_not
    value, low, high = own.all_judges
    return (
        f"How much higher judges score systems of their own maker ({names(own.makers)}) than the other judges' scores "
        f"of them predict: {amount(found.contest.panel, value, low, high)}."
    )


def place_findings(found: Stands) -> list[Finding]:
    """The judge that surely prefers a place, by all verdicts whose place is known."""
    threats = [threat for threat in found.threats if isinstance(threat, Places) and threat.leaning]
    if not threats or (found.worst is not None and found.worst.name == "position"):
        return []
    panel, leaning = found.contest.panel, threats[0].leaning
    others = len(leaning) - 1
    text = _leaning_sentence(panel, leaning[0])
    if others:
        text += f" The order moves {spelled(others)} other judge{'s' if others > 1 else ''} too."
    return [Finding("warning", "position", text, "Judges", {"judge": panel.judges[leaning[0][0]]})]


def _leaning_sentence(panel: Panel, leaning: tuple[int, float]) -> str:
    """Which place the judge picks between equals, and how often."""
    judge, share = leaning
    place, often = ("first", share) if share > 0.5 else ("second", 1 - share)
    return f"Between equals, {name(panel.judges[judge])} picks the answer shown {place} in {percent(often, 0)}."
