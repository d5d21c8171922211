"""The sentence about who is first, and for which judges and languages that holds (METHODS 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyjudge.answers.amounts import amount, every, size, spelled
from polyjudge.answers.audit.boards import LEAST, round_up, settle
from polyjudge.base.numbers import ci_digits, points
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding

if TYPE_CHECKING:
    from polyjudge.answers.audit.systems import Systems


def winner(panel: Panel, s: Systems, matters: float, people: bool = False) -> Finding:
    """The sentence about who is first; where people's labels are at hand it says that it is by the judges' scores."""
    b, by = s.board, "By the judge's scores " if len(panel.judges) == 1 else "By the judges' scores "
    by = by if people else ""
    top, tasks = b.leader, "clusters" if panel.clustered else "tasks"
    w, where = name(b.systems[top]), {"system": b.systems[top]}
    apart = [b.systems[x] for x in b.order if not b.joined[x]]
    rest = [x for x in b.order[1:] if b.joined[x]]
    who = "it" if len(apart) == 1 else "they"
    tail = f" No task joins {names(apart)} with the others, so {who} cannot be compared." if apart else ""
    if not rest:
        text = f"No two systems are scored on the same {tasks}, so they cannot be compared."
        return Finding("warning", "winner.apart", text, "Winner", where)
    x = rest[0]
    second = name(b.systems[x])
    gap, low, high = b.gap[top, x], b.low[top, x], b.high[top, x]
    level = gap <= b.tiny
    if not np.isfinite(low):
        lead = points(panel.factor * gap, panel.factor * panel.matters)
        lead = f"is ahead of {second} by {lead} {panel.unit_name} on average"
        said = f"{w} and {second} are level" if level else f"{w} {lead}"
        text = f"{by}{said}. Too few {tasks} compare them for an interval: at least {LEAST} are needed.{tail}"
        return Finding("notice", "winner.few", text, "Winner", where, head="Too few tasks to tell")
    size_ = amount(panel, gap, low, high)
    if low > b.tiny:
        text = f"{by}{w} is ahead of {second} by {size_}{_held(panel, s)}{tail}"
        return Finding("info", "winner", text, "Winner", where, head=f"{w} is first")
    best = int((b.may_be_best & b.joined).sum())
    among = f" between {spelled(best)} systems" if best > 2 else ""
    level |= round(panel.factor * gap, ci_digits(panel.factor * low, panel.factor * high)) == 0  # as it is shown
    said = f"{w} and {second} are level ({size_})" if level else f"{w} is ahead of {second} by {size_}"
    if max(-low, high) < matters:
        after = f"A difference of {size(panel, matters)} between the two is ruled out."
    elif not matters:
        after = ""
    else:
        half = matters / 2
        number = settle(b.need[top, x], b.q[top, x], b.units, half) * float(panel.weight.sum()) / panel.units
        after = f"About {round_up(number):,} tasks would settle a difference of {size(panel, half)}."
    start = f"{by}it is too" if by else "Too"
    text = f"{start} close to call{among}: {said}. {after}{tail}".rstrip()
    return Finding("notice", "winner.close", text, "Winner", where, head="Too close to call")


def _held(panel: Panel, s: Systems) -> str:
    """What follows a clear winner: the judges, the languages, and who decides."""
    top, j, k = s.board.leader, len(s.by_judge), len(s.by_language)
    called = [name(x) for x in s.board.systems]
    other = [(x, f) for x, f in zip(panel.judges, s.by_judge, strict=False) if f not in (None, top)]
    elsewhere = [(x, f) for x, f in zip(panel.languages, s.by_language, strict=False) if f not in (None, top)]
    agree, holds = s.by_judge.count(top), s.by_language.count(top)
    if 0 < len(other) <= 2:
        said = ", but " + " and ".join(f"judge {name(x)} puts {called[f or 0]} first" for x, f in other)
    elif other:
        said = f", but {len(other)} of {j} judges put another system first"
    elif agree < j:
        said = f". {agree} of {j} judges {'puts' if agree == 1 else 'put'} it first"
    else:
        said = f". {every(j, 'judge')} put it first" if j else ""
    it = ". It" if not said else f"; {called[top]}" if other else ", and it"
    if k and j and holds == k and s.everywhere:
        said += f", in {every(k, panel.noun, lower=True)}"
    elif k and holds == k:
        said += f"{it} leads in {every(k, panel.noun, lower=True)}"
    elif k and len(elsewhere) == 1 and holds == k - 1:
        x, f = elsewhere[0]
        said += f"{'; in' if said else '. In'} {name(x)}, {called[f or 0]} has the higher mean"
    elif k:
        said += f"{it} leads in {holds} of {k} {panel.nouns}"
    tail = [f" Without {name(who) if who in panel.judges else who}, {called[f]} leads." for who, f in s.without[:1]]
    return f"{said}.{''.join(tail)}"
