"""The sentence about who is first: for which judges and languages, and whether it stands (METHODS 19 and 36)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyjudge.answers.amounts import amount, every, size, spelled
from polyjudge.answers.audit.boards import LEAST, Board, round_up, settle
from polyjudge.answers.audit.stands_words import by_judge_clause, stands_clause
from polyjudge.base.numbers import ci_digits, points
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.blind import blind_spot

if TYPE_CHECKING:
    from polyjudge.answers.audit.systems import Systems


@dataclass(frozen=True)
class _Race:
    """The leader and the system that is nearest: numbers of both, and the lead with its limits."""

    top: int
    second: int
    gap: float
    low: float
    high: float


def winner(panel: Panel, s: Systems, matters: float, people: bool = False) -> Finding:
    """The sentence about who is first; where people's labels are at hand it says that it is by the judges' scores."""
    board, where = s.board, {"system": s.board.systems[s.board.leader]}
    compared = [system for system in board.order[1:] if board.joined[system]]
    if not compared:
        text = f"No two systems are scored on the same {_tasks(panel)}, so they cannot be compared."
        return Finding("warning", "winner.apart", text, "Winner", where)
    top, second = board.leader, compared[0]
    race = _Race(top, second, board.gap[top, second], board.low[top, second], board.high[top, second])
    begin = ""
    if people:
        begin = "By the judge's scores " if len(panel.judges) == 1 else "By the judges' scores "
    tail = _apart_sentence(board)
    if not np.isfinite(race.low):
        text = f"{begin}{_few_sentence(panel, board, race)}{tail}"
        return Finding("notice", "winner.few", text, "Winner", where, head="Too few tasks to tell")
    if race.low > board.tiny:
        text = f"{begin}{_ahead_sentences(panel, s, race)}{tail}"
        return Finding("info", "winner", text, "Winner", where, head=f"{name(board.systems[top])} is first")
    start = f"{begin}it is too" if begin else "Too"
    text = f"{start} close to call{_close_sentences(panel, board, race, matters)}{tail}".rstrip()
    return Finding("notice", "winner.close", text, "Winner", where, head="Too close to call")


def _tasks(panel: Panel) -> str:
    return "clusters" if panel.clustered else "tasks"


def _apart_sentence(board: Board) -> str:
    """Systems that cannot be compared with the leader; "" where all can."""
    apart = [board.systems[system] for system in board.order if not board.joined[system]]
    if not apart:
        return ""
    who = "it" if len(apart) == 1 else "they"
    return f" No task joins {names(apart)} with the others, so {who} cannot be compared."


def _few_sentence(panel: Panel, board: Board, race: _Race) -> str:
    """The order of the first two where there are too few tasks for an interval."""
    first, second = name(board.systems[race.top]), name(board.systems[race.second])
    lead = points(panel.factor * race.gap, panel.factor * panel.matters)
    text = f"{first} is ahead of {second} by {lead} {panel.unit_name} on average"
    if race.gap <= board.tiny:
        text = f"{first} and {second} are level"
    if panel.pairs is not None and not board.need[race.top, race.second] > 0:
        return f"{text}. All {_tasks(panel)} say the same of these two, so there is no spread for an interval."
    if panel.pairs is not None:
        return f"{text}. Too few {_tasks(panel)} decide it for an interval."
    return f"{text}. Too few {_tasks(panel)} compare them for an interval: at least {LEAST} are needed."


def _ahead_sentences(panel: Panel, s: Systems, race: _Race) -> str:
    """A clear lead, whether rare failures could take it, which judges and languages show it, whether it stands."""
    board = s.board
    lead = amount(panel, race.gap, race.low, race.high)
    text = f"{name(board.systems[race.top])} is ahead of {name(board.systems[race.second])} by {lead}"
    failures = _failures_clause(panel, board, race)
    if s.stands is None or not s.stands.is_of_leader(board):  # another lead has a line of its own
        return f"{text}{failures}{held_sentences(panel, s)}"
    by_judge = by_judge_clause(s.stands)
    return f"{text}{by_judge}{failures}{held_sentences(panel, s)} {stands_clause(s.stands)}".rstrip()


def _failures_clause(panel: Panel, board: Board, race: _Race) -> str:
    """What failures of the leader that were not drawn could do, where they could take the lead (METHODS 29)."""
    hidden = blind_spot([board.mean[race.top]], panel.scale[0], board.units)
    if race.gap >= hidden.size:
        return ""
    return f", unless it fails on fewer than 1 in {hidden.one_in} {_tasks(panel)}"


def _close_sentences(panel: Panel, board: Board, race: _Race, matters: float) -> str:
    """The first two, and what would tell them apart."""
    first, second = name(board.systems[race.top]), name(board.systems[race.second])
    n_best = int((board.may_be_best & board.joined).sum())
    among = f" between {spelled(n_best)} systems" if n_best > 2 else ""
    lead = amount(panel, race.gap, race.low, race.high)
    digits = ci_digits(panel.factor * race.low, panel.factor * race.high)
    is_level = race.gap <= board.tiny or round(panel.factor * race.gap, digits) == 0  # as it is shown
    text = f"{first} and {second} are level ({lead})" if is_level else f"{first} is ahead of {second} by {lead}"
    return f"{among}: {text}. {_needed_sentence(panel, board, race, matters, is_level=is_level)}".rstrip()


def _needed_sentence(panel: Panel, board: Board, race: _Race, matters: float, *, is_level: bool) -> str:
    """What is ruled out, or how many tasks would show the lead; a level pair has none, so half of what matters."""
    if max(-race.low, race.high) < matters:
        return _ruled_out_sentence(panel, board, race, matters)
    if is_level and not matters:
        return ""
    difference = matters / 2 if is_level else race.gap
    units = settle(board.need[race.top, race.second], board.q[race.top, race.second], board.units, difference)
    n_tasks = round_up(units * float(panel.weight.sum()) / panel.units)
    if is_level:
        return f"About {n_tasks:,} tasks would settle a difference of {size(panel, difference)}."
    return f"If that is the true lead, about {n_tasks:,} tasks would show it."


def _ruled_out_sentence(panel: Panel, board: Board, race: _Race, matters: float) -> str:
    """That the two do not differ by what matters; and which failures of one could have gone unseen (METHODS 29)."""
    text = f"A difference of {size(panel, matters)} between the two is ruled out"
    hidden = blind_spot(board.mean[[race.top, race.second]], panel.scale[0], board.units)
    if hidden.size < matters:
        return f"{text}."
    return f"{text}, unless one of them fails on fewer than 1 in {hidden.one_in} {_tasks(panel)}."


def held_sentences(panel: Panel, s: Systems) -> str:
    """What follows a clear lead: how many judges put the leader first, and in how many languages it leads. Copies count
    as one judge."""
    dropped = {b for group in (() if s.stands is None else s.stands.copies) for b in group[1:]}
    firsts = {b: first for b, first in enumerate(s.by_judge) if b not in dropped}
    judges = _judges_words(panel, s.board, firsts)
    return f"{judges}{_languages_words(panel, s, has_judges=bool(judges), differs=', but ' in judges)}."


def _judges_words(panel: Panel, board: Board, firsts: dict[int, int | None]) -> str:
    """Which judges put the leader first, and whom the others."""
    top, n_judges = board.leader, len(firsts)
    others = [(panel.judges[b], board.systems[first]) for b, first in firsts.items() if first not in (None, top)]
    agree = sum(first == top for first in firsts.values())
    if len(others) == 2 and others[0][1] == others[1][1]:
        return f", but judges {names([judge for judge, _ in others])} put {name(others[0][1])} first"
    if 0 < len(others) <= 2:
        return ", but " + " and ".join(f"judge {name(judge)} puts {name(system)} first" for judge, system in others)
    if others:
        return f", but {len(others)} of {n_judges} judges put another system first"
    if agree < n_judges:
        return f". {agree} of {n_judges} judges {'puts' if agree == 1 else 'put'} it first"
    return f". {every(n_judges, 'judge')} put it first" if n_judges > 1 else ""


def _languages_words(panel: Panel, s: Systems, *, has_judges: bool, differs: bool) -> str:
    """In how many languages the leader leads."""
    top, n_languages = s.board.leader, len(s.by_language)
    if not n_languages:
        return ""
    elsewhere = [
        (language, s.board.systems[first])
        for language, first in zip(panel.languages, s.by_language, strict=False)
        if first not in (None, top)
    ]
    holds = s.by_language.count(top)
    it = "; " + name(s.board.systems[top]) if differs else ", and it" if has_judges else ". It"
    if s.by_judge and holds == n_languages and s.everywhere:
        return f", in {every(n_languages, panel.noun, lower=True)}"
    if holds == n_languages:
        return f"{it} leads in {every(n_languages, panel.noun, lower=True)}"
    if len(elsewhere) == 1 and holds == n_languages - 1:
        language, system = elsewhere[0]
        return f"{'; in' if has_judges else '. In'} {name(language)}, {name(system)} has the higher mean"
    return f"{it} leads in {holds} of {n_languages} {panel.nouns}"
