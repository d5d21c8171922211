"""What is said of changes since an earlier run (METHODS 21, 29, 34). Numbers come from the rooms beside this one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.numbers import ci
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.blind import BlindSpot

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Limits = tuple[float, float, float]
"""A change, and the lower and upper end of its interval."""
COARSE = 0.1
"""Share of the scale: where no smaller change would have been detected, the answer is not complete."""
MOST_LISTED = 4


@dataclass(frozen=True)
class Changes:
    """Changes of cells (languages, judges), for sentences.

    sizes : (3, languages, judges) change, lower and upper limit
    certain_mask : (languages, judges) cells that certainly changed
    mean : the same three numbers of the mean over some cells (positions in languages x judges)
    matters : smallest change that matters
    compared_with : "than before", and what else it is relative to
    """

    sizes: Array
    certain_mask: Mask
    mean: Callable[[Index], Limits]
    matters: float
    compared_with: str


# --- parts of sentences ---


def answers_of(p: Panel, language: str) -> str:
    """What a judge scores in a language."""
    if not language:
        return "answers"
    return f"{name(language)} answers" if p.noun == "language" else f"answers of {p.noun} {name(language)}"


def judge_name(p: Panel, judge: int) -> str:
    """Its name, where it has one."""
    return "The judge" if p.judges == ("judge",) else name(p.judges[judge])


def format_change(p: Panel, change: float, low: float, high: float, *, unit: bool = True) -> str:
    """A change without its sign, and which way it went."""
    sign = -p.factor if change < 0 else p.factor
    nearer, farther = sorted((sign * low, sign * high))
    size = ci(sign * change, nearer, farther, p.unit_name if unit else "")
    return f"{size} {'lower' if change < 0 else 'higher'}"


def format_limit(p: Panel, size: float) -> str:
    """A limit, rounded up to two digits, with its unit."""
    size = abs(size) * p.factor
    digits = max(0, 1 - math.floor(math.log10(size))) if size > 0 else 0
    return f"{math.ceil(size * 10**digits - 1e-9) / 10**digits:,.{min(digits, 6)}f} {p.unit_name}"


def _every(number: int, nouns: str) -> str:
    return f"both {nouns}" if number == 2 else f"all {number} {nouns}"


def _severity(change: Array, matters: float) -> Literal["warning", "notice"]:
    return "warning" if np.abs(change).max() >= matters else "notice"


def _all_one_way(change: Array) -> bool:
    return bool(abs(np.sign(change).sum()) == change.size)


# --- what changed ---


def changed_findings(p: Panel, changes: Changes) -> list[Finding]:
    """What changed, in few sentences: everything, a judge in all languages, a language by all judges, single cells."""
    certain = changes.certain_mask
    if certain.all() and _all_one_way(changes.sizes[0]) and len(p.judges) > 1:
        return [_everything_finding(p, changes)]
    findings = []
    rest = certain.copy()
    for judge in range(len(p.judges)):
        if len(p.languages) > 1 and rest[:, judge].all() and _all_one_way(changes.sizes[0][:, judge]):
            findings.append(_judge_finding(p, changes, judge))
            rest[:, judge] = False
    for language in range(len(p.languages)):
        if len(p.judges) > 1 and rest[language].all() and _all_one_way(changes.sizes[0][language]):
            findings.append(_language_finding(p, changes, language))
            rest[language] = False
    return [*findings, *(_cells_finding(p, changes, judge, rest[:, judge]) for judge in _largest_first(changes, rest))]


def _cell_numbers(p: Panel) -> Index:
    """Positions (languages, judges) of cells."""
    k, m = len(p.languages), len(p.judges)
    return np.arange(k * m).reshape(k, m)


def _everything_finding(p: Panel, changes: Changes) -> Finding:
    place = f" in {_every(len(p.languages), p.nouns)}" if len(p.languages) > 1 else ""
    size = format_change(p, *changes.mean(_cell_numbers(p).ravel()))
    judges = _every(len(p.judges), "judges").capitalize()
    text = f"{judges} score answers{place} {size} {changes.compared_with}, on average."
    return Finding(_severity(changes.sizes[0], changes.matters), "changed-all", text, "Changed")


def _judge_finding(p: Panel, changes: Changes, judge: int) -> Finding:
    size = format_change(p, *changes.mean(_cell_numbers(p)[:, judge]))
    languages = _every(len(p.languages), p.nouns)
    text = f"{judge_name(p, judge)} scores {size} {changes.compared_with}, on average over {languages}."
    severity = _severity(changes.sizes[0][:, judge], changes.matters)
    return Finding(severity, "changed-judge", text, "Changed", {"judge": p.judges[judge]})


def _language_finding(p: Panel, changes: Changes, language: int) -> Finding:
    size = format_change(p, *changes.mean(_cell_numbers(p)[language]))
    judges = _every(len(p.judges), "judges")
    text = (
        f"{answers_of(p, p.languages[language])} get scores {size} {changes.compared_with}, on average over {judges}."
    )
    severity = _severity(changes.sizes[0][language], changes.matters)
    where = {"language": p.languages[language]}
    return Finding(severity, "changed-language", text[0].upper() + text[1:], "Changed", where)


def _largest_first(changes: Changes, cells: Mask) -> list[int]:
    """Judges with some of these cells, the one whose largest change is largest first."""
    size = np.abs(changes.sizes[0])
    judges = [int(b) for b in np.flatnonzero(cells.any(0))]
    return sorted(judges, key=lambda b: -round(float(size[cells[:, b], b].max()), 9))


def _cells_finding(p: Panel, changes: Changes, judge: int, languages: Mask) -> Finding:
    """Changes of one judge in some languages: those of the way of the largest first."""
    change = changes.sizes[0][:, judge]
    by_size = sorted((int(x) for x in np.flatnonzero(languages)), key=lambda x: -round(abs(float(change[x])), 9))
    first_way = change[by_size[0]] > 0
    rows = [x for x in by_size if (change[x] > 0) == first_way] + [x for x in by_size if (change[x] > 0) != first_way]
    size = format_change(p, *changes.sizes[:, rows[0], judge])
    answers = answers_of(p, p.languages[rows[0]])
    parts = [f"{judge_name(p, judge)} scores {answers} {size} {changes.compared_with}"]
    for before, language in pairwise(rows):
        parts.append(_further_language(p, changes, judge, before, language, is_last=language == rows[-1]))
    where = {"judge": p.judges[judge]}
    if len(rows) == 1:
        where["language"] = p.languages[rows[0]]
    return Finding(_severity(change[rows], changes.matters), "changed", ", ".join(parts) + ".", "Changed", where)


def _further_language(p: Panel, changes: Changes, judge: int, before: int, language: int, is_last: bool) -> str:
    change = changes.sizes[0][:, judge]
    word = "and " if is_last else ""
    if (change[language] > 0) != (change[before] > 0):
        word = "but "
    what = f"{name(p.languages[language])} ones"
    if p.noun != "language":
        what = f"those of {p.noun} {name(p.languages[language])}"
    return f"{word}{what} {format_change(p, *changes.sizes[:, language, judge], unit=False)}"


def with_both_causes(finding: Finding, is_lower: bool | None) -> Finding:
    """A change over other tasks that no column sorts: the judge changed, or the new tasks suit it otherwise."""
    how = {True: "less", False: "better", None: "otherwise"}[is_lower]
    text = f"{finding.text[:-1]}, or the new tasks suit it {how}: no column tells them apart."
    return Finding(finding.severity, finding.key, text, finding.topic, finding.where, finding.head)


def _list_changes(p: Panel, labels: list[str], sizes: Array) -> str:
    """Changes (3, labels) that were measured, a few of them; the first label begins the sentence."""
    shown = zip(labels[:MOST_LISTED], sizes.T, strict=False)
    parts = [f"{label} {format_change(p, *size, unit=i == 0)}" for i, (label, size) in enumerate(shown)]
    parts[0] += " than before"
    if len(labels) > MOST_LISTED:
        parts.append(f"{len(labels) - MOST_LISTED:,} more changed")
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def gap_finding(p: Panel, at: list[int], sizes: Array, matters: float) -> Finding:
    """Changes in one language that cannot be attributed to one judge, the largest first. sizes : (3, cells)"""
    m, language = len(p.judges), p.languages[at[0] // len(p.judges)]
    to = name(p.judges[1 - at[0] % m]) if m == 2 else "the other judges"
    where = f" on {answers_of(p, language)}" if language else ""
    who = [f"{name(p.judges[i % m])}'s" for i in at]
    text = _list_changes(p, [f"{who[0]} gap to {to}{where} is", *who[1:]], sizes[:, at])
    text += "; which judge changed cannot be told."
    return Finding(_severity(sizes[0, at], matters), "changed-gap", text, "Changed", {"language": language})


def systems_finding(p: Panel, who: str, measured: list[int], own: Array, relative: Array, matters: float) -> Finding:
    """Changes of systems as measured; where none is certain, the largest against the others.

    measured : systems whose own change is certain; own, relative : (3, systems), relative NaN where it is not asked
    """
    sizes = own if measured else relative
    at = measured or [int(i) for i in np.flatnonzero(np.isfinite(relative[0]))]
    at = sorted(at, key=lambda i: (-round(abs(float(sizes[0, i])), 9), -sizes[0, i]))
    at = at if measured else at[:1]
    labels = [f"{who} {name(p.systems[at[0]])}", *(name(p.systems[i]) for i in at[1:])]
    text = _list_changes(p, labels, sizes[:, at])
    if not measured:
        is_pair = len(p.systems) == 2
        to, one = (name(p.systems[1 - at[0]]), "one") if is_pair else ("the median system", "system")
        text += f", relative to {to}; which {one} changed cannot be told"
    return Finding(_severity(sizes[0, at], matters), "changed-system", f"{text}.", "Systems")


# --- what did not change ---


def blind_clause(p: Panel, blind: BlindSpot) -> str:
    """What failures might not have been drawn."""
    units = "clusters" if p.clustered else "tasks"
    return f"a failure on fewer than 1 in {blind.one_in:,} {units} may not show here"


def everything_else_finding(p: Panel, limit: float, blind: BlindSpot, where: str = "") -> Finding:
    """What is not reported lies within a limit, beside changes that are."""
    text = f"Everything else{where} is within {format_limit(p, limit)} of before; {blind_clause(p, blind)}."
    return Finding("info", "rest", text, "Changed")


def quiet_finding(p: Panel, limit: float, blind: BlindSpot, what: str = "", is_apart: bool = False) -> Finding:
    """No cell has certainly changed, and all lie within a limit. what : of a judge, as "'s mean over systems"."""
    where = f" in any {p.noun}" if len(p.languages) > 1 else ""
    size = f"{format_limit(p, limit)}{where}; {blind_clause(p, blind)}."
    if is_apart:
        return Finding("info", "quiet", f"Any other change{what} is below {size}", "Changed")
    if len(p.judges) > 1:
        return Finding("info", "quiet", f"No judge{what} has changed by more than {size}", "Changed")
    return Finding("info", "quiet", f"The judge{what} has not changed by more than {size}", "Changed")


def coarse_finding(p: Panel, detectable: float, matters: float) -> Finding | None:
    """A warning where only a large change would have been detected; None where that is small."""
    if not detectable > max(matters, COARSE * p.width):
        return None
    text = f"Too few tasks: a change of less than {format_limit(p, detectable)} may have gone unseen. Score more tasks."
    return Finding("warning", "coarse", text, "Limit")


def places(p: Panel, languages: list[int]) -> str:
    """Languages in a sentence."""
    return names(p.languages[x] for x in languages)
