"""A source becomes a panel: columns are chosen, names factorised in the engine, checks made on whole columns.

Beyond 100,000 tasks the engine makes 10,000 hashed units (METHODS 17): `big.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, plural, shell
from polyjudge.panel import Panel
from polyjudge.read import columns as col
from polyjudge.read import scale
from polyjudge.read.columns import Asked, Roles
from polyjudge.read.table import Table, engine_errors, ident, label_sql, open_table, quote

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
MOST_TASKS = 100_000
"""Beyond so many tasks they are put into hashed units."""
AXES = ("task", "system", "language", "judge", "criterion", "replicate")
KEYS = ("task", "system", "language", "judge", "criterion", "replicate", "cluster", "annotator")
MAXIMA = ("max_score", "max_points", "out_of", "max_rating", "score_max", "scale_max", "max_grade", "max_value")
DOCUMENTS = (
    "doc", "document", "doc_id", "document_id", "passage", "passage_id", "conversation_id", "thread_id", "article",
)  # fmt: skip
DEFAULT = {"judge": "judge"}
"""The name of the only one, where no column names it; else it is empty."""


@dataclass
class Entries:
    """Scores with the codes of their labels, one row each."""

    codes: dict[str, Codes]
    labels: dict[str, list[str]]
    score: Array
    length: Array | None = None
    """Characters of the response, in each row."""

    def __post_init__(self) -> None:
        for axis in ("system", "language", "judge", "criterion"):  # what no column names is one
            if axis not in self.codes:
                self.labels[axis] = [DEFAULT.get(axis, "")]
                self.codes[axis] = np.zeros(len(self.score), dtype=np.int64)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Only these rows."""
        self.codes = {axis: c[rows] for axis, c in self.codes.items()}
        self.score = self.score[rows]
        self.length = None if self.length is None else self.length[rows]

    def shrink(self, axis: str) -> None:
        """Leave out labels that no row has."""
        there = np.bincount(self.codes[axis], minlength=len(self.labels[axis])) > 0
        if not there.all():
            self.codes[axis] = (np.cumsum(there) - 1)[self.codes[axis]]
            self.labels[axis] = [x for x, yes in zip(self.labels[axis], there, strict=True) if yes]


@dataclass
class Reading:
    """How a source was read: what `check` shows."""

    panel: Panel
    roles: dict[str, str]
    """Role -> column, in words."""
    unused: tuple[str, ...]
    levels: Array
    """Distinct scores."""
    failed: int
    """Rows that say that they failed."""
    rows: int
    tool: str = ""


@dataclass
class Work:
    """What is known while a source is read."""

    table: Table
    roles: Roles
    asked: Asked
    notes: list[str] = field(default_factory=list)
    failed: int = 0
    rows: int = 0
    order: Any = None
    raw: str = ""
    typed: str = ""
    types: dict[str, str] = field(default_factory=dict)


def as_panel(source: Any) -> Panel:
    """A panel as it is; anything else is read by `read_panel`."""
    return source if isinstance(source, Panel) else read_panel(source)


def read_panel(
    source: Any,
    *,
    task: str | None = None,
    system: str | None = None,
    language: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    human: str | None = None,
    criterion: str | None = None,
    cluster: str | None = None,
    replicate: str | None = None,
    by: str | None = None,
    languages: tuple[str, ...] | None = None,
    judges: tuple[str, ...] | None = None,
    systems: tuple[str, ...] | None = None,
    criteria: tuple[str, ...] | None = None,
    range: str | None = None,
    drop: tuple[str, ...] | None = None,
    engine: str | None = None,
    labels: Path | None = None,
    items: Path | None = None,
) -> Panel:
    """Read scores into a panel: a file, a frame, a table of a database or warehouse, files of an evaluation tool.

    Long tables have one row a score, wide ones a column of scores for each judge; columns are found by their usual
    names. What is not there is one: one language, one judge; a row without a task is a task.

    source : path, `file.db::table`, `-`, address of a database, data frame, Arrow or Ibis table, or a panel
    task, system, language, judge, score, criterion, cluster : the column that holds it
    replicate : the column of repeated measurements; `row`: rows that repeat are such
    human : the column of human labels, or the judge that stands for people
    by : a column that takes the place of the language, such as a rubric or a domain
    languages, judges, systems, criteria : only these; in a wide table the columns of scores
    range : the lowest and the highest score, such as 0:100
    drop : scores that mean that there is none, such as -1
    engine : spark, to read files or tables by Spark
    labels : a file or frame of human labels
    items : a file or frame with the texts of the tasks

    Examples:
        polyjudge check scores.csv
        polyjudge check scores.csv --judge backbone --range 0:100
    """
    given = {k: v for k, v in locals().items() if k not in ("source", "labels", "items") and v is not None}
    if isinstance(source, Panel):
        return _part(source, given)
    return explain(source, labels=labels, items=items, **given).panel


def _part(panel: Panel, given: Mapping[str, Any]) -> Panel:
    chosen = {axis: _several(given[axis]) for axis in ("systems", "languages", "judges") if axis in given}
    if set(given) - set(chosen):
        raise UsageError(f"{names(sorted(set(given) - set(chosen)))}: a panel is read already, and is not read again.")
    return panel.select(**chosen) if chosen else panel  # type: ignore[arg-type]


def _several(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, (int, float)) else list(given)
    return tuple(x for x in ((f"{p:g}" if isinstance(p, float) else str(p)).strip() for p in parts) if x)


def begin(source: Any, options: Mapping[str, Any]) -> Work:
    """Open a source, and decide what its columns are."""
    lists = ("languages", "judges", "systems", "criteria", "drop")
    try:
        said: dict[str, Any] = {k: _several(v) if k in lists else v for k, v in options.items()}
        asked = Asked(**said | {"range": scale.parse_range(options.get("range"))})
    except TypeError as error:
        raise UsageError(f"read_panel has no such option: {name(error, 80)}.") from None
    table = open_table(source, asked.engine)
    work = Work(table, col.find_roles(list(table.columns), asked, table.where, bool(table.tool)), asked)
    work.notes += [*table.notes, *work.roles.notes]
    settle(work)
    return work


def explain(source: Any, *, labels: Any = None, items: Any = None, **options: Any) -> Reading:
    """Read a source, and say how it was read."""
    work = begin(source, options)
    columns, roles = work.table.columns, work.roles
    used, tool = roles.used(), work.table.tool
    _spool(work)
    if _many(work):
        from polyjudge.read.big import big_panel

        panel, levels = big_panel(work), np.zeros(0)
    else:
        entries, people = _entries(work)
        panel, levels = _panel(work, entries, people), np.unique(entries.score)
    shown = str(source) if isinstance(source, (str, Path)) else ""
    panel = replace(panel, source=shown, read=work.asked.words(), texts=_texts(work), order=_order(work, panel))
    if labels is not None:
        panel = replace(panel, human=labels_of(labels))
    if items is None and isinstance(source, (str, Path)) and (Path(source) / "polyjudge-run.json").is_file():
        beside = Path(source) / "texts.csv"  # a folder of `polyjudge collect`
        items = beside if beside.is_file() else None
    if items is not None:
        panel = replace(panel, texts=_items(items, panel))
    several = {"judges": roles.wide, "human": roles.humans, "error": roles.errors}
    said = roles.of | {role: names(listed, 6) for role, listed in several.items() if listed}
    return Reading(panel, said, tuple(c for c in columns if c not in used), levels, work.failed, work.rows, tool)


# --- which columns ---


def _one_maximum(work: Work) -> None:
    """Refuse scores whose own column says that they are out of several numbers."""
    for column in [c for c in work.roles.unused if col.norm(c) in MAXIMA]:
        found = work.table.rows(
            f"SELECT DISTINCT {work.table.columns[column][0]} AS most FROM {work.table.relation} LIMIT 9"
        )
        most = sorted({f"{x:g}" if isinstance(x, float) else str(x) for (x,) in found if x is not None})
        if len(most) > 1 and work.asked.range is None:
            raise PanelError(
                f"Scores in {work.table.where} are out of {names(most)} ({name(column)}). Bring them to one scale in "
                "the file; if they are on one scale already, give it: --range 0:100."
            )


def _number_of_row(work: Work) -> None:
    """An `id` that numbers the rows of a long table is not the task, where another column may be it."""
    roles, table = work.roles, work.table
    task = roles.of.get("task", "")
    others = [c for c in [*roles.unused, *roles.texts.values()] if c in col.usual("task", [c])]
    if col.norm(task) in ("id", "idx") and not work.asked.task and "judge" in roles.of and others:
        sql = table.columns[task][0]
        rows, there = table.rows(f"SELECT count(*), count(DISTINCT {sql}) FROM {table.relation}")[0]
        if rows == there:
            roles.of["task"] = col.usual("task", others)[0]


def settle(work: Work) -> None:
    """What names alone do not decide: a table with a column of scores for each judge, a judge column of numbers."""
    roles, asked, table = work.roles, work.asked, work.table
    _one_maximum(work)
    _number_of_row(work)
    if "score" in roles.of or "winner" in roles.of:
        return
    listed = {"judge": asked.judges, "criterion": asked.criteria, "system": asked.systems, "language": asked.languages}
    for axis, wanted in listed.items():
        if wanted and all(w in table.columns for w in wanted):
            roles.wide = {c: {axis: c} for c in wanted}
            for role in [r for r, c in roles.of.items() if c in wanted]:
                del roles.of[role]
            roles.humans = [c for c in roles.humans if c not in wanted]
            return
    free = [c for c in roles.unused if c not in roles.texts.values()]
    sample = _sample(table, [*free, *(roles.of[r] for r in ("judge", "system") if r in roles.of)])
    for role in ("judge", "system"):  # human,judge: the judge's scores
        if role in roles.of and not getattr(asked, role) and _numeric(sample[roles.of[role]]):
            free.append(roles.of.pop(role))
    wide = [c for c in free if _numeric(sample[c])]
    named = [c for c in wide if not col.NO_SCORE.search(col.norm(c)) and col.norm(c) not in col.SUMMARY]
    alike = _alike({c: sample[c] for c in named})
    if not alike:
        _no_score(work, named or wide)
    judge = roles.of.get("judge")
    if judge and not asked.judge and "system" not in roles.of and len(alike) > 1 and col.usual("model", [judge]):
        roles.of["system"] = roles.of.pop("judge")  # `model` beside columns of judges
        work.notes = [n for n in work.notes if "is read as the judge" not in n]
    tongues = (
        "language" not in roles.of and len(alike) > 1 and all(map(col.is_language, col.strip_words(alike).values()))
    )
    if "judge" in roles.of and not tongues:
        if len(alike) == 1:
            roles.of["score"] = alike[0]
            return
        flags = ",".join(shell(c) for c in alike)
        raise PanelError(
            f"{table.where} has a judge in each row ({name(roles.of['judge'])}) and several columns of numbers: "
            f"{names(alike, 12)}. Say which one is the score (--score {shell(alike[0])}), or that all are criteria "
            f"(--criteria {flags}) or systems (--systems {flags})."
        )
    roles.wide = col.spread(alike, "judge", "language" not in roles.of)
    left = [c for c in named if c not in roles.wide]
    if left:
        work.notes.append(
            f"{names(left)} {'is' if len(left) == 1 else 'are'} not read as a judge: their scores are of another kind."
        )
    odd = [c for c in wide if c not in named and col.norm(c) not in col.SUMMARY]
    odd = [c for c in odd if c in _alike({x: sample[x] for x in [*alike, c]})]
    if odd:
        work.notes.append(
            f"{names(odd)} {'is' if len(odd) == 1 else 'are'} not read as a judge, by name: say --judges to read it as "
            "one."
        )
    roles.unused = [c for c in roles.unused if c not in roles.wide]


def _sample(table: Table, columns: Sequence[str]) -> dict[str, list[Any]]:
    """The first rows of columns."""
    if not columns:
        return {}
    listed, most = ", ".join(table.columns[c][0] for c in columns), 500 if len(columns) < 500 else 100
    rows = table.rows(f"SELECT {listed} FROM {table.relation} LIMIT {most}")
    return {c: [row[i] for row in rows] for i, c in enumerate(columns)}


def _texts_of(values: Sequence[Any]) -> list[str]:
    return [t for t in (str(v).strip() for v in values if v is not None) if t]


def _numeric(values: Sequence[Any]) -> bool:
    """Whether values look like scores: numbers, or words of passing and failing, with some of them there."""
    texts = [t.lower() for t in _texts_of(values) if t.lower() not in scale.ABSENT]
    number = re.compile(r"[+-]?(\d+([.,]\d*)?|\.\d+)(e[+-]?\d+)?\s*%?|\d+(\.\d+)?\s*(/|out of)\s*\d+(\.\d+)?")
    return bool(texts) and all(t in scale.PASS or number.fullmatch(t) for t in texts)


def _levels(values: Sequence[Any]) -> set[float]:
    found = set()
    for text in (t.lower().rstrip("% ").replace(",", ".").split("/")[0].split(" out")[0] for t in _texts_of(values)):
        number = scale.PASS.get(text, scale._number(text))
        if number is not None:
            found.add(number)
    return found


def _alike(sample: Mapping[str, Sequence[Any]]) -> list[str]:
    """The columns whose values look like each other's: the most whose sizes differ by less than four times, and those
    that use some of the same levels."""
    seen = {c: _levels(v) for c, v in sample.items()}
    sizes = sorted(
        (max((abs(x) for x in levels if x not in scale.HIGH + scale.LOW[2:]), default=0.0), c)
        for c, levels in seen.items()
    )
    best: list[str] = []
    top, end = 0.0, 0
    for at, (size, _) in enumerate(sizes):
        end = max(end, at + 1)
        while end < len(sizes) and sizes[end][0] < 4 * size:
            end += 1
        if end - at > len(best):
            best, top = [c for _, c in sizes[at:end]], sizes[end - 1][0]
    chosen = set(best)
    used = set().union(*(seen[c] for c in best)) if best else set()
    chosen |= {c for size, c in sizes if seen[c] <= used and (size == 0 or 10 * size >= top)}
    return [c for c in sample if c in chosen]


def _no_score(work: Work, columns: Sequence[str]) -> None:
    where, humans = work.table.where, work.roles.humans
    if humans:
        raise PanelError(
            f"{where} holds human labels ({names(humans)}) and no scores of a judge. Give the judges' scores, and "
            f"these as labels; or read them as scores: --score {shell(humans[0])}."
        )
    if columns:
        flags = " or ".join(f"--score {shell(c)}" for c in columns[:4])
        raise PanelError(f"{where} has no column that is called a score. Say which one it is: {flags}.")
    raise PanelError(
        f"{where} has no column of scores. Its columns: {names(work.table.columns, 20)}. Name it: --score COLUMN."
    )


# --- copying and typing ---


def _spool(work: Work) -> None:
    """The chosen columns as `work.raw`, and `work.typed` with scores as numbers and labels as text."""
    roles = work.roles
    _fetch(work)
    table = work.table
    chosen = {r: c for r, c in roles.of.items() if r in KEYS or r in ("score", "first", "second", "winner")}
    plain = dict.fromkeys([*chosen.values(), *roles.wide, *roles.errors, *roles.humans])
    parts = [f"{table.columns[c][0]} AS {ident(c)}" for c in plain]
    response = roles.texts.get("response")
    if response:
        parts.append(f"length(CAST({table.columns[response][0]} AS VARCHAR)) AS polyjudge_length")
    work.raw = f"(SELECT {', '.join(parts)} FROM {table.relation}) AS raw"
    if table.spool or "task" not in roles.of:
        table.run(f"CREATE OR REPLACE TEMP TABLE raw AS SELECT * FROM {work.raw}")
        work.raw = "raw"
    work.types = {c: table.columns[c][1] for c in plain}
    typed = {axis: f"CAST({ident(chosen[axis])} AS VARCHAR)" for axis in KEYS if axis in chosen}
    if "task" not in chosen:
        typed["task"] = "'row ' || (rowid + 1)"
    for i, column in enumerate(roles.humans):
        kind = {column: work.types[column]}
        typed[f"human {i}"] = scale.score_sql(table, work.raw, kind, work.asked.drop, [])[column]
    if roles.wide:
        _melt(work, typed)
        return
    made = score_columns(work)
    if not made:
        typed |= {
            part: label_sql(ident(chosen[part]), work.types[chosen[part]]) for part in ("first", "second", "winner")
        }
        failed = _failed(work)
        made = {
            "winner": f"CASE WHEN {typed['winner']} IS NULL{' OR ' + failed if failed else ''} THEN NULL ELSE 1.0 END"
        }
    typed["score"] = next(iter(made.values()))
    if response:
        typed["length"] = "polyjudge_length"
    listed = ", ".join(f"{sql} AS {ident(n)}" for n, sql in typed.items())
    work.typed = f"(SELECT {listed} FROM {work.raw}) AS typed"


def _melt(work: Work, typed: dict[str, str]) -> None:
    """A wide table as a long one: `place` is the place of the score's column."""
    table, roles = work.table, work.roles
    failed = _failed(work)
    kinds = {work.types[c] for c in roles.wide}
    kind = "DOUBLE" if all(scale.is_number(k) for k in kinds) else "VARCHAR"
    listed = [f"CAST({ident(c)} AS {kind})" for c in roles.wide]
    parts = ", ".join(f"{sql} AS {ident(n)}" for n, sql in typed.items()) + f", ({failed or 'false'}) AS failed"
    if table.ibis is None:
        long = (
            f"SELECT {parts}, unnest([{', '.join(listed)}]) AS v, unnest(range({len(listed)})) AS place FROM {work.raw}"
        )
    else:
        long = " UNION ALL ".join(
            f"SELECT {parts}, {v} AS v, {i} AS place FROM {work.raw}" for i, v in enumerate(listed)
        )
    made = scale.score_sql(table, f"({long}) AS melted", {"v": kind}, work.asked.drop, work.notes, list(roles.wide))
    work.typed = (
        f"(SELECT *, CASE WHEN failed THEN NULL ELSE {made['v']} END AS score FROM ({long}) AS melted) AS typed"
    )


def _fetch(work: Work) -> None:
    """Of another engine: its chosen columns, where they are no more than a panel holds."""
    table, roles = work.table, work.roles
    if table.ibis is None:
        return
    from polyjudge.read.warehouse import fetched

    if "task" not in roles.of:
        raise PanelError(f"Rows of {table.where} have no order, so they cannot be the tasks: --task COLUMN.")
    task = table.columns[roles.of["task"]][0]
    few = f"SELECT DISTINCT {task} AS task FROM {table.relation} LIMIT {MOST_TASKS + 1}"
    if int(table.rows(f"SELECT count(*) FROM ({few}) AS few")[0][0]) <= MOST_TASKS:
        work.table = fetched(table, [c for c in roles.used() if c in table.columns and c not in roles.texts.values()])
        roles.texts.pop("response", None)


def score_columns(work: Work) -> dict[str, str]:
    """SQL of each score column as a number; NULL where there is none, or the row says that it failed."""
    wanted = [work.roles.of["score"]] if "score" in work.roles.of else list(work.roles.wide)
    if not wanted:
        return {}
    failed = _failed(work)
    made = scale.score_sql(work.table, work.raw, {c: work.types[c] for c in wanted}, work.asked.drop, work.notes)
    return {c: f"CASE WHEN {failed} THEN NULL ELSE {sql} END" if failed else sql for c, sql in made.items()}


def _failed(work: Work) -> str:
    """SQL of whether a row says that it failed; empty where none does."""
    table, roles, tests = work.table, work.roles, []
    for column in roles.errors:
        text = f"lower(trim(CAST({ident(column)} AS VARCHAR)))"
        seen = [str(r[0]) for r in table.rows(f"SELECT DISTINCT {text} FROM {work.raw} LIMIT 500")]
        test = scale.failed_sql(column, work.types[column], seen)
        tests += [f"coalesce({test}, false)"] if test else []
    if not tests:
        return ""
    failed = f"({' OR '.join(tests)})"
    lost, total = table.rows(f"SELECT sum(CASE WHEN {failed} THEN 1 ELSE 0 END), count(*) FROM {work.raw}")[0]
    work.failed = int(lost or 0)
    if work.failed == total:
        raise PanelError(f"Every row of {table.where} says that it failed ({names(roles.errors)}): there is no score.")
    if not work.failed:
        return ""
    said = "One row says that it" if work.failed == 1 else f"{work.failed:,} rows say that they"
    them = "it" if work.failed == 1 else "them"
    work.notes.append(f"{said} failed ({names(roles.errors)}): no score is read from {them}.")
    return failed


def clean(text: str, kind: str = "VARCHAR") -> str:
    """A label without spaces around it; a whole number without its decimal point."""
    text = text.strip()
    if kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        with suppress(ValueError):
            value = float(text)
            if not np.isfinite(value):
                return ""
            return str(int(value)) if value.is_integer() and abs(value) < 9e15 else text
    return text


def _many(work: Work) -> bool:
    """Whether there are more tasks than a panel has rows."""
    some = f"SELECT DISTINCT task FROM {work.typed} LIMIT {MOST_TASKS + 1}"
    rows = work.table.rows(f"SELECT count(*) FROM {work.raw}")[0][0]
    return int(rows) > MOST_TASKS and int(work.table.rows(f"SELECT count(*) FROM ({some}) AS few")[0][0]) > MOST_TASKS


def _factor(work: Work, axis: str) -> tuple[list[str], Codes]:
    """The labels of a column in their order, and for each code of the engine the place of its label."""
    table = work.table
    found = [str(r[0]) for r in table.rows(f"SELECT DISTINCT {axis} FROM {work.typed} WHERE {axis} IS NOT NULL")]
    table.run(f"DROP TYPE IF EXISTS {axis}_codes")
    with engine_errors(table.where):
        table.con.execute(f"CREATE TEMP TYPE {axis}_codes AS ENUM (SELECT unnest(?::VARCHAR[]))", [found or [""]])
    kind = work.types.get(work.roles.of.get(axis, ""), "VARCHAR")
    cleaned = [clean(x, kind) for x in found]
    labels = sorted({x for x in cleaned if x}, key=col.natural if len(found) < 20_000 else lambda x: (len(x), x))
    place = {x: i for i, x in enumerate(labels)}
    return labels, np.array([place.get(x, -1) for x in cleaned] + [-1], dtype=np.int64)


def _entries(work: Work) -> tuple[Entries, Any]:
    """All scores with their codes, and the rows of human labels."""
    table, roles = work.table, work.roles
    axes = [a for a in KEYS if (a in roles.of or a == "task") and a != "annotator"]
    wide = list(roles.wide)
    if "winner" in roles.of:
        return _pair_entries(work, [a for a in axes if a != "system"]), None
    factors = {a: _factor(work, a) for a in axes}
    labels = {a: f[0] for a, f in factors.items()}
    parts = [f"enum_code(CAST({a} AS {a}_codes)) AS {a}" for a in axes]
    parts += ["length"] if "response" in roles.texts and not wide else []
    parts += ["place"] if wide else []
    found = table.arrays(f"SELECT {', '.join([*parts, 'score'])} FROM {work.typed}")
    work.rows = len(found["task"]) // max(len(wide), 1)
    score: Array = np.ma.filled(np.ma.asarray(found["score"], dtype=float), np.nan)
    where = np.flatnonzero(~np.isnan(score))
    if np.isinf(score).any():
        raise PanelError(f"Some scores in {table.where} are infinite. Make them numbers, or leave them empty.")
    codes = {}
    for axis in axes:
        place = factors[axis][1]
        codes[axis] = place[np.ma.filled(np.ma.asarray(found[axis], dtype=np.int64), len(place) - 1)[where]]
        blank = int((codes[axis] < 0).sum())
        if blank and axis != "cluster":
            raise PanelError(
                f"{count(blank, 'score')} in {table.where} {'has' if blank == 1 else 'have'} no {axis} (column "
                f"{name(roles.of.get(axis, axis))} is empty there). Fill it, or delete those rows."
            )
    entries = Entries(codes, labels, score[where])
    if "length" in found:
        entries.length = np.ma.filled(np.ma.asarray(found["length"], dtype=float), np.nan)[where]
    if wide:
        for axis in {a for cell in roles.wide.values() for a in cell}:
            labels[axis] = sorted({cell[axis] for cell in roles.wide.values()}, key=col.natural)
            at = {x: i for i, x in enumerate(labels[axis])}
            place = np.array([at[roles.wide[c][axis]] for c in wide])
            entries.codes[axis] = place[np.asarray(found["place"], dtype=np.int64)[where]]
    return entries, _people(work) if roles.humans else None


def _pair_entries(work: Work, axes: list[str]) -> Entries:
    """Verdicts on pairs as scores of systems."""
    import pandas as pd

    from polyjudge.read.pairs import pair_rows, shares

    frame, systems = pair_rows(work, axes)
    work.order = frame
    made = shares(frame, axes)
    labels, codes = {"system": systems}, {}
    for axis in [*axes, "system"]:
        labels[axis] = systems if axis == "system" else sorted(set(frame[axis]), key=col.natural)
        codes[axis] = pd.Index(labels[axis]).get_indexer(pd.Index(made[axis])).astype(np.int64)
    return Entries(codes, labels, made["score"].to_numpy(dtype=float))


def _order(work: Work, panel: Panel) -> pd.DataFrame | None:
    """Who was shown first in each verdict, of the tasks, languages and judges of the panel."""
    if work.order is None:
        return None
    absent = {a: DEFAULT.get(a, "") for a in ("language", "judge") if a not in work.order}
    frame: pd.DataFrame = work.order.assign(**absent)
    for axis in ("task", "language", "judge"):
        frame = frame[frame[axis].isin(getattr(panel, plural(axis)))]
    return frame[["task", "language", "judge", "first", "second", "won"]].reset_index(drop=True)


def _people(work: Work) -> pd.DataFrame:
    """Human labels of a table: one row a label."""
    import pandas as pd

    keys = [a for a in ("task", "system", "language", "annotator") if a in work.roles.of or a == "task"]
    parts = []
    for i, column in enumerate(work.roles.humans):
        label = ident(f"human {i}")
        sql = f"SELECT DISTINCT {', '.join(keys)}, {label} FROM {work.typed} WHERE {label} IS NOT NULL ORDER BY ALL"
        part = pd.DataFrame(work.table.rows(sql), columns=[*keys, "label"])
        for key in keys:
            kind = work.types.get(work.roles.of.get(key, ""), "VARCHAR")
            part[key] = part[key].fillna("").map(lambda x, kind=kind: clean(str(x), kind))
        if "annotator" not in keys:
            part["annotator"] = column if len(work.roles.humans) > 1 else ""
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


# --- one panel ---


def _panel(work: Work, entries: Entries, people: Any) -> Panel:
    asked, table, notes = work.asked, work.table, work.notes
    if not len(entries.score):
        raise PanelError(f"{table.where} holds no score. Name the column of scores: --score COLUMN.")
    _one_spelling(work, entries)
    _without_summaries(work, entries)
    people = _people_among_judges(work, entries, people)
    _only(work, entries)
    if not len(entries.score):
        raise PanelError(f"No score in {table.where} is left.")
    for axis in AXES[:5]:
        entries.shrink(axis)
    _check_levels(work, entries)
    shape = tuple(len(entries.labels[a]) for a in AXES[:5])
    limits.require(
        8.0 * float(np.prod(np.array(shape, dtype=float))) * 3,
        f"{table.where} ({' x '.join(f'{x:,}' for x in shape[:4])})",
    )
    flat = np.ravel_multi_index(tuple(entries.codes[a] for a in AXES[:5]), shape)
    y, repeats = _average(work, entries, flat, shape)
    _check_tasks(work, entries)
    (low, high), two = _ends(entries.score, asked, pairs=work.order is not None)
    unit = _clusters(work, entries)
    made: dict[str, Any] = {
        "tasks": tuple(entries.labels["task"]), "systems": tuple(entries.labels["system"]),
        "languages": tuple(entries.labels["language"]), "judges": tuple(entries.labels["judge"]),
        "noun": col.norm(asked.by).replace("_", " ") if asked.by else "language", "human": people,
        **({"unit": unit, "clustered": True} if unit is not None else {}), "length": _lengths(entries),
    }  # fmt: skip
    criteria = entries.labels["criterion"]
    if len(criteria) == 1:
        return Panel(
            scores=y[..., 0], scale=(low, high), two_valued=two, replicates=repeats, notes=tuple(notes),
            criterion=criteria[0], **made,
        )  # fmt: skip
    return _several_criteria(work, entries, y, criteria, made)


def _ends(score: Array, asked: Asked, pairs: bool = False) -> tuple[tuple[float, float], bool]:
    """The lowest and highest score, declared or evident; whether scores are pass or fail."""
    low, high = float(score.min()), float(score.max())
    two = bool(np.isin(score, (0.0, 100.0) if (low, high) == (0.0, 100.0) else (0.0, 1.0)).all())
    if asked.range:
        return asked.range, two and (low, high) == asked.range
    return ((0.0, 1.0) if pairs else evident(low, high)), two


def evident(low: float, high: float) -> tuple[float, float]:
    """The usual scale that scores from `low` to `high` lie on, or just these ends.

    >>> evident(13.0, 100.0), evident(0.2, 0.9), evident(2.0, 5.0), evident(0.0, 40.0), evident(-3.0, 2.0)
    ((0.0, 100.0), (0.0, 1.0), (1.0, 5.0), (0.0, 40.0), (-3.0, 2.0))
    """
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if low >= 0 and 80 <= high <= 100:
        return 0.0, 100.0
    return (min(low, 1.0), high) if low >= 0 and high in (5, 7, 10) else (low, high)


def _lengths(entries: Entries) -> Array | None:
    """Logarithm of the length of each answer, (tasks, systems, languages)."""
    if entries.length is None:
        return None
    axes = ("task", "system", "language")
    shape = tuple(len(entries.labels[a]) for a in axes)
    rows = entries.length > 0
    if not rows.any():
        return None
    flat = np.ravel_multi_index(tuple(entries.codes[a][rows] for a in axes), shape)
    size = int(np.prod(shape))
    times, total = np.bincount(flat, minlength=size), np.bincount(flat, np.log(entries.length[rows]), minlength=size)
    return np.where(times > 0, total / np.maximum(times, 1), np.nan).reshape(shape)


def _several_criteria(work: Work, entries: Entries, y: Array, criteria: list[str], made: dict[str, Any]) -> Panel:
    parts, ends = {}, {}
    for i, criterion in enumerate(criteria):
        seen = entries.score[entries.codes["criterion"] == i]
        ends[criterion], two = _ends(seen, work.asked)
        parts[criterion] = Panel(scores=y[..., i], scale=ends[criterion], two_valued=two, criterion=criterion, **made)
    lows, highs = np.array(list(ends.values())).T
    same = (highs.max() <= 2 * highs.min() and len(set(lows)) <= 2) or work.asked.range is not None
    z = y if same else (y - lows) / np.maximum(highs - lows, 1e-300)
    if not same:
        work.notes.append("Criteria are on different scales: their mean is of scores brought to 0 to 1.")
    used = np.isfinite(y).any((0, 1))  # a judge may lack a criterion in a language
    there = np.where(used, np.isfinite(y), True).all(-1) & used.any(-1)
    total = np.where(used & np.isfinite(z), z, 0.0).sum(-1) / np.maximum(used.sum(-1), 1)
    scores = np.where(there, total, np.nan)
    ends_all = (float(lows.min()), float(highs.max())) if same else (0.0, 1.0)
    return Panel(scores=scores, scale=ends_all, criteria=parts, notes=tuple(work.notes), **made)


def _one_spelling(work: Work, entries: Entries) -> None:
    """Two spellings of one label are one where no answer has both."""
    for axis in ("judge", "system", "language", "task"):
        labels = entries.labels[axis]
        times = np.bincount(entries.codes[axis], minlength=len(labels)).tolist()
        found = col.spellings(axis, labels, times)
        others = [a for a in AXES if a in entries.codes and a != axis]
        for other, kept in found.items():
            one, two = labels.index(other), labels.index(kept)
            here, there = (entries.codes[axis] == i for i in (one, two))
            keys = [np.stack([entries.codes[a][rows] for a in others], axis=1) for rows in (here, there)]
            both = set(map(tuple, keys[0])) & set(map(tuple, keys[1]))
            if not both:
                entries.codes[axis] = np.where(here, two, entries.codes[axis])
        merged = {o: k for o, k in found.items() if not (entries.codes[axis] == labels.index(o)).any()}
        if merged:
            o, k = next(iter(merged.items()))
            more = f", and {len(merged) - 1:,} more alike" if len(merged) > 1 else ""
            work.notes.append(f"The {axis}s {name(o)} and {name(k)} are read as one{more}: no answer has both.")


def _without_summaries(work: Work, entries: Entries) -> None:
    for axis in ("task", "system", "language", "judge"):
        found = col.summaries(entries.labels[axis])
        wanted = getattr(work.asked, f"{axis}s", ()) if axis != "task" else ()
        found = [x for x in found if x not in wanted]
        if not found:
            continue
        rows = np.isin(entries.codes[axis], [entries.labels[axis].index(x) for x in found])
        if rows.any() and not rows.all():
            entries.keep(~rows)
            work.notes.append(
                f"{count(int(rows.sum()), 'score')} of {names(found)} {'is' if rows.sum() == 1 else 'are'} left out: "
                f"a summary of the other {axis}s."
            )


def _people_among_judges(work: Work, entries: Entries, people: Any) -> Any:
    """Judges that are called as people are: what they say are labels."""
    judges = entries.labels["judge"]
    said = work.asked.human
    chosen = [j for j in judges if j == said] if said else [j for j in judges if col.is_human(j)]
    if said and not chosen and said not in work.table.columns:
        raise UsageError(f"There is no column and no judge {name(said)} (--human). The judges: {names(judges, 12)}.")
    if not chosen or len(chosen) == len(judges):
        return people
    import pandas as pd

    rows = np.isin(entries.codes["judge"], [judges.index(j) for j in chosen])
    frame = pd.DataFrame(
        {a: np.array(entries.labels[a], dtype=object)[entries.codes[a][rows]] for a in ("task", "system", "language")}
        | {"annotator": np.array(judges, dtype=object)[entries.codes["judge"][rows]], "label": entries.score[rows]}
    )
    entries.keep(~rows)
    entries.shrink("judge")
    return frame if people is None else pd.concat([people, frame], ignore_index=True)


def _only(work: Work, entries: Entries) -> None:
    """Keep the labels that were asked for."""
    asked = work.asked
    listed = {"language": asked.languages, "judge": asked.judges, "system": asked.systems, "criterion": asked.criteria}
    for axis, said in listed.items():
        have = entries.labels[axis]
        wanted = [w for w in said if w in have or w not in work.roles.wide]
        if not wanted:
            continue
        odd = [w for w in wanted if w not in have]
        if odd:
            noun = asked.by or axis if axis == "language" else axis
            raise UsageError(f"There is no {noun} {name(odd[0])} in {work.table.where}. It has: {names(have, 12)}.")
        entries.keep(np.isin(entries.codes[axis], [have.index(w) for w in wanted]))


def _check_levels(work: Work, entries: Entries) -> None:
    for i, criterion in enumerate(entries.labels["criterion"]):
        rows = slice(None) if len(entries.labels["criterion"]) == 1 else entries.codes["criterion"] == i
        x = entries.score[rows]
        if not len(x):
            continue
        where = f"{work.table.where} ({name(criterion)})" if criterion else work.table.where
        levels, times = np.unique(x, return_counts=True)
        scale.check_range(levels, times, work.asked.range, where, work.notes)
        if work.asked.range is not None:
            continue
        ask = f"{levels[0]:g}:{levels[-1]:g}"
        for axis in ("judge", "language"):
            codes = entries.codes[axis][rows]
            order = np.argsort(codes, kind="stable")
            cuts = np.split(x[order], np.cumsum(np.bincount(codes, minlength=len(entries.labels[axis])))[:-1])
            groups = {g: np.unique(c) for g, c in zip(entries.labels[axis], cuts, strict=True) if len(c) > 2}
            noun = (work.asked.by or axis) if axis == "language" else axis
            scale.check_scales(groups, noun, ask, work.notes)


def _average(work: Work, entries: Entries, flat: Codes, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
    """The scores as an array: the mean of replicates, refused where rows repeat for another reason."""
    size = int(np.prod(shape))
    times = np.bincount(flat, minlength=size)
    y = np.full(size, np.nan)
    if times.max() <= 1:
        y[flat] = entries.score
        return y.reshape(shape), None
    order = np.lexsort((entries.score, flat))  # the order of rows does not matter
    sums = np.add.reduceat(entries.score[order], np.flatnonzero(np.diff(flat[order], prepend=-1)))
    y[np.flatnonzero(times)] = sums / times[times > 0]
    any_row = work.asked.replicate in ("row", "rows")
    if "replicate" in entries.codes:
        r = len(entries.labels["replicate"])
        inner = flat * r + entries.codes["replicate"]
        if len(np.unique(inner)) == len(inner) or any_row:
            if size * r > 5_000_000 or shape[-1] > 1:
                return y.reshape(shape), None
            z = np.full(size * r, np.nan)
            z[inner] = entries.score
            return y.reshape(shape), z.reshape(*shape[:-1], r)
    if not any_row:
        first = np.full(size, np.nan)
        first[flat] = entries.score
        if (first[flat] != entries.score).any():
            _refuse_repeats(work, entries, times, shape)
        again = int((times[times > 1] - 1).sum())
        said = "row repeats another" if again == 1 else "rows repeat others"
        work.notes.append(f"{again:,} {said} with the same score: such scores count once.")
        y[flat] = entries.score
    return y.reshape(shape), None


def _refuse_repeats(work: Work, entries: Entries, times: Codes, shape: tuple[int, ...]) -> None:
    table, roles = work.table, work.roles
    at = np.unravel_index(int(np.argmax(times)), shape)
    words = [f"{a} {name(entries.labels[a][i])}" for a, i in zip(AXES, at, strict=False) if entries.labels[a][i]]
    keys = [table.columns[roles.of[a]][0] for a in KEYS[:6] if a in roles.of]
    mend = "If they are repeated measurements: --replicate row; else name the columns that tell them apart."
    for column in roles.unused[:60]:
        sql, flag = table.columns[column][0], shell(column)
        rows, there = table.rows(f"SELECT count(*), count(DISTINCT {sql}) FROM {table.relation}")[0]
        again = f"SELECT 1 FROM {table.relation} GROUP BY {', '.join([*keys, sql])} HAVING count(*) > 1 LIMIT 1"
        if 1 < there <= max(200, rows**0.5) and not table.rows(again):
            mend = (
                f"The column {name(column)} tells them apart: is it what is compared (--system {flag}), a criterion "
                f"(--criterion {flag}), or a repeat (--replicate {flag})?"
            )
            break
    raise PanelError(f"{table.where} has {int(times.max())} scores for one {', '.join(words)}. {mend}")


def _check_tasks(work: Work, entries: Entries) -> None:
    """Tasks that nothing joins are no tasks; languages without a common task, and tasks of one document, are noted."""
    n, k, m = (len(entries.labels[a]) for a in ("task", "language", "judge"))
    task = entries.codes["task"]
    judges, tongues = (
        np.bincount(np.unique(task * size + entries.codes[axis]) // size, minlength=n).max()
        for axis, size in (("judge", m), ("language", k))
    )
    column = work.roles.of.get("task")
    if m > 1 and n > 2 and judges == 1:
        said = f"the column {name(column)}" if column else "there is no column of tasks, and a row"
        raise PanelError(
            f"In {work.table.where} no task has scores of two judges: {said} is not the task that they share. Name the "
            "column of tasks: --task COLUMN."
        )
    if k > 1 and n > k and tongues == 1 and not work.asked.task:
        noun = work.asked.by or "language"
        work.notes.append(f"No task is in two {plural(noun)}. If a column joins them, name it: --task COLUMN.")
    if column and "cluster" not in work.roles.of and n > 19:
        _documents(work, entries, column)


def _documents(work: Work, entries: Entries, column: str) -> None:
    """A note where tasks belong to documents: by a column, or by the beginning of their names."""
    for other in [c for c in work.roles.unused if col.norm(c) in DOCUMENTS]:
        task, document = work.table.columns[column][0], work.table.columns[other][0]
        pairs = f"SELECT DISTINCT {task} AS task, {document} AS document FROM {work.table.relation}"
        times, there = work.table.rows(f"SELECT count(*), count(DISTINCT document) FROM ({pairs}) AS pairs")[0]
        if times == len(entries.labels["task"]) and 1 < there <= times / 2:
            work.notes.append(f"Tasks belong to {name(other)}: to count these as the sample, --cluster {shell(other)}.")
            return
    fronts = [re.sub(r"[-_:/.]+[^-_:/.]*$", "", x) for x in entries.labels["task"]]
    groups, at = np.unique(fronts, return_inverse=True)
    n, g = len(fronts), len(groups)
    if not 5 <= g <= n / 2:
        return
    rows = entries.codes["task"]
    cell = np.ravel_multi_index(
        tuple(entries.codes[a] for a in ("system", "language", "judge")),
        tuple(len(entries.labels[a]) for a in ("system", "language", "judge")),
    )
    level = np.bincount(cell, entries.score) / np.maximum(np.bincount(cell), 1)
    means = np.bincount(rows, entries.score - level[cell], minlength=n) / np.maximum(np.bincount(rows, minlength=n), 1)
    own = np.bincount(at, means) / np.bincount(at)
    within, between = float(((means - own[at]) ** 2).sum()), float((own[at] ** 2).sum() - n * means.mean() ** 2)
    if between / (g - 1) > 3 * max(within, 1e-12) / (n - g):
        work.notes.append(
            "Tasks whose names begin alike are scored alike, as parts of one document are. If so, name its column: "
            "--cluster COLUMN."
        )


def _clusters(work: Work, entries: Entries) -> Codes | None:
    if "cluster" not in entries.codes:
        return None
    cluster = np.full(len(entries.labels["task"]), -1, dtype=np.int64)
    cluster[entries.codes["task"]] = entries.codes["cluster"]
    wrong = cluster[entries.codes["task"]] != entries.codes["cluster"]
    if wrong.any():
        at = int(np.argmax(wrong))
        raise PanelError(
            f"The task {name(entries.labels['task'][entries.codes['task'][at]])} is in two clusters "
            f"({name(work.roles.of['cluster'])}). A task belongs to one: mend the column, or name another (--cluster)."
        )
    return cluster


# --- texts and labels ---


def _texts(work: Work) -> Callable[[Sequence[str]], pd.DataFrame] | None:
    """Fetch prompts, responses and reasons of tasks, by reading the source again."""
    roles, table = work.roles, work.table
    texts = {t: c for t, c in roles.texts.items() if c in table.columns}  # of a warehouse they are not fetched
    if not texts or "task" not in roles.of:
        return None
    parts = {a: label_sql(*table.columns[roles.of[a]]) for a in KEYS[:4] if a in roles.of}
    more = {role: column for role, column in roles.of.items() if role == "score"} | texts
    parts |= {t: f"CAST({table.columns[c][0]} AS VARCHAR)" for t, c in more.items()}
    listed = ", ".join(f"{sql} AS {ident(t)}" for t, sql in parts.items())

    def fetch(tasks: Sequence[str]) -> pd.DataFrame:
        import pandas as pd

        wanted = ", ".join(map(quote, tasks)) or "NULL"
        rows = table.rows(f"SELECT * FROM (SELECT {listed} FROM {table.relation}) WHERE task IN ({wanted})")
        frame = pd.DataFrame(rows, columns=list(parts))
        if "score" in frame:
            frame["score"] = pd.to_numeric(frame["score"], errors="coerce")
        return frame

    return fetch


def _items(items: Any, panel: Panel) -> Callable[[Sequence[str]], pd.DataFrame]:
    """Texts of tasks from a table of their own, beside those of the scores."""
    frame = read_table(items)
    roles = col.find_roles(list(frame.columns), Asked(), "The file of items")
    if "task" not in roles.of:
        raise PanelError(f"The file of items has no column of tasks ({names(frame.columns, 12)}). Call it task.")
    keys = [a for a in ("task", "system", "language") if a in roles.of]
    part = frame[[roles.of[a] for a in keys]].astype(str)
    part.columns = keys
    for text, column in roles.texts.items():
        part[text] = frame[column]
    if not set(part["task"]) & set(panel.tasks):
        raise PanelError(f"No item is a task of the scores: the items are {names(part['task'].unique(), 3)}.")
    plain = panel.texts

    def fetch(tasks: Sequence[str]) -> pd.DataFrame:
        mine = part[part["task"].isin(list(tasks))]
        if plain is None:
            return mine.reset_index(drop=True)
        found = plain(tasks)
        own = [c for c in mine.columns if c not in found.columns or c in keys]
        return found.merge(mine[own], on=[k for k in keys if k in found.columns], how="left")

    return fetch


def labels_of(labels: Any) -> pd.DataFrame:
    """Human labels of a file or frame: task, system, language, annotator, label."""
    import pandas as pd

    frame = read_table(labels)
    roles = col.find_roles(list(frame.columns), Asked(), "the file of labels")
    hits = [*roles.humans, *([roles.of["score"]] if "score" in roles.of else [])]
    if not hits:
        raise PanelError(
            f"The file of labels has no column of labels ({names(frame.columns, 12)}). Call one of them `label`."
        )
    who = roles.of.get("annotator") or roles.of.get("judge")
    out = pd.DataFrame({"task": frame[roles.of["task"]].astype(str) if "task" in roles.of else frame.index.astype(str)})
    for axis in ("system", "language"):
        out[axis] = frame[roles.of[axis]].astype(str) if axis in roles.of else ""
    out["annotator"] = frame[who].astype(str) if who else ""
    text = frame[hits[0]].astype(str).str.strip().str.lower()
    out["label"] = pd.to_numeric(text.replace({k: str(v) for k, v in scale.PASS.items()}), errors="coerce")
    return out.dropna(subset=["label"]).reset_index(drop=True)


def read_table(source: Any) -> pd.DataFrame:
    """A small table as a frame: labels, items."""
    import pandas as pd

    table = open_table(source)
    rows = table.rows(f"SELECT {', '.join(s for s, _ in table.columns.values())} FROM {table.relation}")
    return pd.DataFrame(rows, columns=list(table.columns))
