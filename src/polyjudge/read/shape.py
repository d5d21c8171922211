"""What names alone do not decide: a look at the values tells which columns are scores, labels, judges."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from polyjudge.base.errors import PanelError
from polyjudge.base.text import name, names, plural, shell
from polyjudge.read import columns as col
from polyjudge.read import scale
from polyjudge.read.table import Table
from polyjudge.read.work import Work

MAXIMA = ("max_score", "max_points", "out_of", "max_rating", "score_max", "scale_max", "max_grade", "max_value")


def _one_maximum(work: Work) -> None:
    """Refuse scores whose own column says that they are out of several numbers."""
    table = work.table
    for column in [c for c in work.roles.unused if col.norm(c) in MAXIMA and work.asked.range is None]:
        found = table.rows(f"SELECT DISTINCT {table.columns[column][0]} FROM {table.relation} LIMIT 9")
        most = sorted({f"{x:g}" if isinstance(x, float) else str(x) for (x,) in found if x is not None})
        if len(most) > 1:
            raise PanelError(
                f"Scores in {table.where} are out of {names(most)} ({name(column)}). Bring them to one scale in the "
                "file; if they are on one scale already, give it: --range 0:100."
            )


def _number_of_row(work: Work) -> None:
    """An `id` that numbers the rows of a long table is not the task, where another column may be it; a `run` that holds
    names is no repeat."""
    roles, table = work.roles, work.table
    task = roles.of.get("task", "")
    others = col.usual("task", [*roles.unused, *roles.texts.values()])
    if col.norm(task) in ("id", "idx") and not work.asked.task and {"judge", "system"} & {*roles.of} and others:
        sql = table.columns[task][0]
        rows, there = table.rows(f"SELECT count(*), count(DISTINCT {sql}) FROM {table.relation}")[0]
        if rows == there:
            roles.of["task"] = others[0]
    repeat = roles.of.get("replicate")
    if repeat and not work.asked.replicate and not table.tool:
        some = table.rows(f"SELECT DISTINCT CAST({table.columns[repeat][0]} AS VARCHAR) FROM {table.relation} LIMIT 50")
        if not all(re.fullmatch(r"([a-z]*[ _-]?\d+(\.0)?)|[0-9a-f-]{8,}", str(x).strip().lower()) for (x,) in some):
            roles.unused.append(roles.of.pop("replicate"))


def may_judge(column: str) -> bool:
    """Whether a column may hold the scores of a judge, by its name."""
    return not col.NO_SCORE.search(col.norm(column)) and not col.SUMMARY.fullmatch(col.norm(column))


def settle(work: Work) -> None:
    """What names alone do not decide: a table with a column of scores for each judge, a judge column of numbers."""
    roles, asked, table = work.roles, work.asked, work.table
    _one_maximum(work)
    _number_of_row(work)
    free = [c for c in roles.unused if c not in roles.texts.values()]
    _only_labels(work, free)
    listed = {"judge": asked.judges, "criterion": asked.criteria, "system": asked.systems, "language": asked.languages}
    for axis, wanted in listed.items():
        if wanted and not asked.score and all(w in table.columns for w in wanted):
            roles.wide = {c: {axis: c} for c in wanted}
            roles.of = {role: c for role, c in roles.of.items() if c not in wanted and role not in ("score", *col.PAIR)}
            roles.humans = [c for c in roles.humans if c not in wanted]
            return
    if "score" in roles.of and not asked.score:
        _one_score(work, free)
    if "score" not in roles.of and "winner" not in roles.of:
        _wide(work, free)


def _wide(work: Work, free: list[str]) -> None:
    """Columns of scores, one for each judge; or the only one."""
    roles, asked, table = work.roles, work.asked, work.table
    more = [*(roles.of[r] for r in ("judge", "system") if r in roles.of), *roles.texts.values()]
    sample, torn = _sample(table, [*free, *more], asked.drop)
    free += [c for c in roles.texts.values() if sample.get(c) and c not in free]  # the answer: 4
    roles.texts = {t: c for t, c in roles.texts.items() if not sample.get(c)}
    for role in ("judge", "system"):  # human,judge: the judge's scores
        if role in roles.of and not getattr(asked, role) and sample.get(roles.of[role]):
            free.append(roles.of.pop(role))
    wide = [c for c in free if sample.get(c)]
    named = list(filter(may_judge, wide))
    if all(map(col.is_language, named)):  # is and no are languages too
        named = [c for c in wide if col.is_language(c) and c != "id"]
    alike = _alike({c: sample[c] for c in named})
    odd = [c for c in torn if c in (*free, roles.of.get("judge")) and may_judge(c)]
    if not alike and odd:
        roles.of = {role: c for role, c in roles.of.items() if c != odd[0]} | {"score": odd[0]}
        return  # what is read of it names the word
    if not alike:
        _no_score(work, named or wide)
    model = sample[max(alike, key=lambda c: len(sample[c]))]
    alike += [c for c in odd if c in free and len(_alike({"": model, c: torn[c]})) == 2]
    judge = roles.of.get("judge")
    if judge and not asked.judge and "system" not in roles.of and len(alike) > 1 and col.usual("model", [judge]):
        roles.of["system"] = roles.of.pop("judge")  # `model` beside columns of judges
        work.notes = [n for n in work.notes if "is read as the judge" not in n]
    cells = col.spread(alike, "judge", "language" not in roles.of)
    if "judge" in roles.of and any("judge" in cell for cell in cells.values()):
        if len(alike) == 1:
            roles.of["score"] = alike[0]
            return
        flags = ",".join(shell(c) for c in alike)
        raise PanelError(
            f"{table.where} has a judge in each row ({name(roles.of['judge'])}) and several columns of numbers: "
            f"{names(alike, 12)}. Say which one is the score (--score {shell(alike[0])}), or that all are criteria "
            f"(--criteria {flags}) or systems (--systems {flags})."
        )
    roles.wide = cells
    for axis in [a for a in next(iter(cells.values())) if a != "judge"]:
        parts = names(list(dict.fromkeys(cell[axis] for cell in cells.values())), 6)
        nouns = "criteria" if axis == "criterion" else plural(axis)
        work.notes.append(f"The {nouns} are in the names of columns: {parts}.")
    odd = [c for c in wide if c not in named and not col.SUMMARY.fullmatch(col.norm(c))]
    for left, why in (
        ([c for c in named if c not in roles.wide], ": their scores are of another kind"),
        ([c for c in odd if len(_alike({"": model, c: sample[c]})) == 2], ", by name: say --judges to read it so"),
    ):
        if left:
            work.notes.append(f"{names(left)} {'is' if len(left) == 1 else 'are'} not read as a judge{why}.")
    roles.unused = [c for c in roles.unused if c not in roles.wide]


def _only_labels(work: Work, free: list[str]) -> None:
    """Columns called as people's labels are, that hold answers: texts, or numbers that are no scores."""
    roles, table = work.roles, work.table
    if not roles.humans:
        return
    labels, torn = _sample(table, roles.humans, work.asked.drop)
    scored = [roles.of[r] for r in ("score", "judge") if r in roles.of]
    known = set().union(*_sample(table, [*scored, *free], work.asked.drop)[0].values())
    known |= {0.0, 1.0} if known <= {0.0, 1.0} else set()
    for c in [c for c in roles.humans if c != work.asked.human]:
        own, answers = labels.get(c), col.ANSWERS.fullmatch(col.norm(c))
        reference = answers and own and (min(own) < min(known, default=0) - 1 or max(own) > 2 * max(known, default=0))
        if reference or not (answers or own or c in torn):
            said = "scores" if reference else "numbers, nor pass and fail"
            more = f" If they are labels: --human {shell(c)}." if reference else ""
            work.notes.append(f"{name(c)} is not read: its values are no {said}.{more}")
        if reference or not (own or c in torn):
            roles.humans.remove(c)
            roles.unused.append(c)


def _one_score(work: Work, free: list[str]) -> None:
    """A column that is called a score, beside others with such values, may be a label or a summary of theirs."""
    roles, score = work.roles, work.roles.of["score"]
    label, judge = col.norm(score) == "label", roles.of.get("judge")
    if judge and not label:
        return
    texts = list(roles.texts.values()) if label else []  # label, prediction
    sample = _sample(work.table, [score, *([judge] if judge else [*free, *texts])], work.asked.drop)[0]
    own = sample.pop(score, None) or set()
    numbers = {c: levels for c, levels in sample.items() if levels and may_judge(c)}
    others = [c for c in numbers if own and len(_alike({"": own, c: numbers[c]})) == 2]
    several = _alike(numbers) if not others else []  # on another scale
    others = several if label and len(several) > 1 else others
    summary = col.SUMMARY.fullmatch(col.norm(score))
    if others and label and not roles.humans:
        roles.humans = [roles.of.pop("score")]
        roles.texts = {t: c for t, c in roles.texts.items() if c not in others}
        free += [c for c in texts if c in others]
    elif judge or not [*others, *several[1:]]:
        return
    elif len(others) < 2:
        flags = ",".join(map(shell, [score, *others] if others else several))
        said = f"{name(score)} is read as the score, and not {names(others or several)}. If there are several scores: "
        work.notes.append(f"{said}--judges {flags} or --criteria {flags}.")
    elif summary:
        roles.unused.append(roles.of.pop("score"))
        work.notes.append(
            f"{name(score)} is not read: a summary of the others. If it is the score: --score {shell(score)}."
        )
    else:
        flags = ",".join(shell(c) for c in others)
        raise PanelError(
            f"In {work.table.where} {name(score)} is called a score, and {names(others, 12)} may be scores too. Say "
            f"which one is: --score {shell(score)}; or that the others are of judges (--judges {flags}) or of criteria "
            f"(--criteria {flags})."
        )


def _sample(table: Table, columns: Sequence[str], drop: Sequence[str]) -> tuple[dict[str, set[float]], ...]:
    """The distinct scores in the first rows of columns, empty where a value is none; and those of columns that hold
    words besides."""
    if not columns:
        return {}, {}
    most, empty, found = 500 if len(columns) < 500 else 100, list(columns), {c: _scores((), drop) for c in columns}
    where = ""
    while empty:  # a column may begin with many empty rows
        listed = ", ".join(table.columns[c][0] for c in empty)
        rows = table.rows(f"SELECT {listed} FROM {table.relation}{where} LIMIT {most}")
        seen = {
            c: [v for v in values if v not in (None, "")]
            for c, values in zip(empty, zip(*rows, strict=True), strict=False)
        }
        found |= {c: _scores(values, drop) for c, values in seen.items() if values}
        empty = [c for c in empty if not seen.get(c)] if len(rows) == most else []
        where = " WHERE " + " OR ".join(
            f"nullif(CAST({table.columns[c][0]} AS VARCHAR), '') IS NOT NULL" for c in empty
        )
    return {c: levels for c, (levels, odd) in found.items() if not odd}, {
        c: x for c, (x, odd) in found.items() if x and odd
    }


NUMBER = re.compile(r"([+-]?(?:\d+(?:[.,]\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:%|(?:/|out of)\s*\d+(?:\.\d+)?)?")


def _scores(values: Sequence[Any], drop: Sequence[str]) -> tuple[set[float], bool]:
    """The numbers that values are, of words of passing and failing too, and whether some are none. No numbers where
    most are words of many kinds, or where a letter may stand for anything."""
    times = Counter(str(v).strip().lower() for v in values if v is not None)
    found = dict(scale.PASS)
    for text in times.keys() - found.keys():
        if number := NUMBER.fullmatch(text):
            found[text] = float(number[1].replace(",", "."))
    there = times.keys() - {"", *scale.ABSENT, *(d.strip().lower() for d in drop)}
    good, odd = there & found.keys(), there - found.keys()
    mostly = len(odd) > 2 and sum(times[x] for x in odd) > sum(times[x] for x in good)
    letters = len({found[x] for x in good}) == 1 and all(len(x) == 1 and x.isalpha() for x in good)
    return (set() if odd and (mostly or letters) else {found[x] for x in good}), bool(odd)


def _alike(seen: Mapping[str, set[float]]) -> list[str]:
    """The columns whose values look like each other's: the most whose sizes differ by less than four times, and those
    that use some of the same levels."""
    odd = {*scale.HIGH, *scale.LOW[2:]}
    sizes = sorted((max(map(abs, levels - odd), default=0.0), c) for c, levels in seen.items())
    windows = (sizes[i : max(bisect_left(sizes, (4 * size,)), i + 1)] for i, (size, _) in enumerate(sizes))
    best = max(windows, key=len, default=[(0.0, "")])
    used = set().union(*(seen.get(c, ()) for _, c in best))
    chosen = {
        c for size, c in sizes if (size, c) in best or (seen[c] <= used and (size == 0 or 10 * size >= best[-1][0]))
    }
    return [c for c in seen if c in chosen]


def _no_score(work: Work, columns: Sequence[str]) -> None:
    said = f"has no column of scores. Its columns: {names(work.table.columns, 20)}. Name it: --score COLUMN."
    if columns:
        flags = " or ".join(f"--score {shell(c)}" for c in columns[:4])
        said = f"has no column that is called a score. Say which one it is: {flags}."
    if work.roles.humans:
        said = (
            f"holds human labels ({names(work.roles.humans)}) and no scores of a judge. Give the judges' scores, and "
            f"these as labels; or read them as scores: --score {shell(work.roles.humans[0])}."
        )
    raise PanelError(f"{work.table.where} {said}")
