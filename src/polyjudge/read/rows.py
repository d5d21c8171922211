"""Scores leave the engine with numbers for labels: one row each or, beyond 100,000 tasks, as sums (METHODS 17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base import limits
from polyjudge.base.errors import PanelError
from polyjudge.base.text import count, name
from polyjudge.panel import CELLS, scale_of
from polyjudge.read.long import Long, Sums
from polyjudge.read.table import NO_LABEL, label_sql, quote
from polyjudge.read.work import Work

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
MOST_TASKS = 100_000
"""Beyond so many tasks they are put into hashed units."""
UNITS = 10_000
MOST_LEVELS = 500_000
PATTERN = 1 << 49
"""More than the numbers that tell apart which cells were seen."""
DEFAULT = {"judge": "judge"}
"""The name of the only one, where no column names it; else it is empty."""


def each_score(work: Work) -> Long:
    """One row a score, of no more tasks than a panel has rows."""
    number, labels, codes = _cells(work)
    named = work.table.arrays(
        f"SELECT nr, min(task) AS task, coalesce(min(low), min(task)) AS own FROM {work.tasks} WHERE nr IS NOT NULL "
        "GROUP BY nr ORDER BY nr"
    )
    cluster = np.unique(named["own"].astype(str), return_inverse=True)[1] if "cluster" in work.keys else None
    parts = [f"coalesce({_task(work)}, -1) AS task", f"{number} AS cell", "score"]
    repeats = _texts(work, "replicate")
    parts += [f"{_code(work, 'replicate', repeats)} AS replicate"] if repeats else []
    parts += ["length"] if "length" in work.keys else []
    found = work.table.arrays(f"SELECT {', '.join(parts)} FROM {_joined(work)}")
    score = plain(found["score"], float)
    if np.isinf(score).any():
        raise PanelError(f"Some scores in {work.table.where} are infinite. Make them numbers, or leave them empty.")
    if work.roles.wide and "replicate" in next(iter(work.roles.wide.values())):
        runs = [labels["replicate"] for labels in work.roles.wide.values()]
        of_place = np.unique(runs, return_inverse=True)[1]
        found["replicate"] = of_place[plain(found["cell"], np.int64) % len(runs)]
    rows = np.flatnonzero(~np.isnan(score))
    _name_what_is_blank(work, found, score, {"task": list(map(str, named["task"]))} | labels, codes)
    more = {k: plain(found[k], t)[rows] for k, t in (("replicate", np.int64), ("length", float)) if k in found}
    task = plain(found["task"], np.int64)[rows]
    all_have(work, "task", int((task < 0).sum()))
    labels = {"task": list(map(str, named["task"]))} | labels
    cell = plain(found["cell"], np.int64)[rows]
    return Long(labels, codes, task, cell, score[rows], np.ones(len(rows), dtype=np.int64), unit=cluster, **more)


def _name_what_is_blank(
    work: Work, found: dict[str, Any], score: Array, labels: dict[str, list[str]], codes: dict[str, Codes]
) -> None:
    """Count the scores of tasks that have none at all, and name such tasks, systems, languages and judges."""
    task, cell = plain(found["task"], np.int64), plain(found["cell"], np.int64)
    is_blank = np.isnan(score)
    if not is_blank.any():
        return
    for axis in ("task", *CELLS):
        code = task if axis == "task" else codes[axis][cell]
        known = code >= 0
        n_rows = np.bincount(code[known], minlength=len(labels[axis]))
        n_blank = np.bincount(code[known & is_blank], minlength=len(labels[axis]))
        blank = [i for i in np.flatnonzero((n_blank == n_rows) & (n_rows > 0)) if labels[axis][i]]
        if not blank or len(blank) == (n_rows > 0).sum():
            continue
        work.blank[axis] = [labels[axis][i] for i in blank]
        if axis == "task":
            work.blank_scores = int(n_blank[blank].sum())


def _count_blank(work: Work, coded: str, n_scored: int) -> None:
    """Count the tasks without any score, and their missing scores, where tasks are numbered."""
    if work.table.ibis is not None:
        return
    n_tasks = int(work.table.rows(f"SELECT coalesce(max(nr), -1) + 1 FROM {work.tasks}")[0][0])
    if n_tasks <= n_scored:
        return
    blank = f"SELECT task, count(*) AS n FROM {coded} WHERE task IS NOT NULL GROUP BY task HAVING count(score) = 0"
    named = f"SELECT min(tasks.task), min(n) FROM ({blank}) AS blank JOIN {work.tasks} ON blank.task = nr GROUP BY nr"
    by_task = work.table.rows(f"{named} ORDER BY 1")
    work.blank["task"] = [str(task) for task, _ in by_task]
    work.blank_scores = sum(int(n) for _, n in by_task)


def hashed(work: Work) -> tuple[Long, Callable[[str], Sums]]:
    """One row a unit, pattern of seen cells, and cell; and how often a test of the score holds in each."""
    table = work.table
    number, labels, codes = _cells(work)
    coded = table.keep("coded", f"SELECT {_task(work)} AS task, {number} AS cell, score FROM {_joined(work)}")
    levels = _levels(work, coded)
    score = levels[1] if len(levels[1]) else np.zeros(1)
    if np.isinf(score).any():
        raise PanelError(f"Some scores in {table.where} are infinite. Make them numbers, or leave them empty.")
    seen = np.unique(levels[0])
    draws = np.random.default_rng(0).integers(1, 1 << 40, len(seen)).tolist()
    keys = ", ".join(f"({cell}, {draw})" for cell, draw in zip(seen.tolist(), draws, strict=True)) or "(0, 0)"
    unit, units = digits_sql("patterns.task", table), ""  # another engine keeps the names of tasks
    if table.ibis is None or "cluster" in work.keys:
        unit, own = "u", digits_sql("coalesce(min(low), min(task))", table)
        units = f"JOIN (SELECT nr, {own} AS u FROM {work.tasks} GROUP BY nr) AS units ON patterns.task = units.nr"
    marks = table.keep(
        "marks",
        f"SELECT patterns.task, {unit} % {UNITS} * {PATTERN} + p % {PATTERN} AS mark FROM (SELECT coded.task, "
        f"CAST(sum(draw) AS BIGINT) AS p FROM {coded} JOIN (VALUES {keys}) AS draws(place, draw) ON coded.cell = "
        f"draws.place WHERE score IS NOT NULL GROUP BY coded.task) AS patterns {units}",
    )
    listed = table.arrays(f"SELECT mark, count(*) AS n FROM {marks} GROUP BY mark ORDER BY mark")
    mark = plain(listed["mark"], np.int64)
    _count_blank(work, coded, int(plain(listed["n"], np.int64).sum()))
    limits.require(8.0 * len(mark) * len(seen) * 3, f"{table.where} in hashed units")

    def sums(values: Mapping[str, float]) -> dict[str, Sums]:
        """Sums of values that are there where a score is, from each value and its largest size."""
        factor = [2.0 ** (40 - int(np.ceil(np.log2(max(most, 1e-300))))) for most in values.values()]
        each = [f"CAST(round({v} * {f!r}) AS BIGINT)" for v, f in zip(values, factor, strict=True)]
        listed = ", ".join(f"CAST(sum({x}) AS DOUBLE) AS total{i}" for i, x in enumerate(each))
        found = table.arrays(
            f"SELECT mark, cell, {listed}, count(*) AS n FROM {coded} JOIN {marks} ON coded.task = marks.task "
            "WHERE score IS NOT NULL GROUP BY mark, cell"
        )
        task, cell = np.searchsorted(mark, plain(found["mark"], np.int64)), plain(found["cell"], np.int64)
        n = plain(found["n"], np.int64)
        totals = {v: plain(found[f"total{i}"], float) / factor[i] for i, v in enumerate(values)}
        return {v: (task, cell, total, n) for v, total in totals.items()}

    low, high = scale_of(score, work.asked.range)["scale"]
    lowest = f"<= {low + 1e-9 * max(high - low, 1e-300)!r}"  # an audit asks for it: in the same pass
    first = sums({"score": float(np.abs(score).max()), passing(lowest): 1.0})
    units = mark // PATTERN
    tasks = [f"unit {u}.{i}" for i, u in enumerate(units.tolist())]
    long = Long(
        {"task": tasks} | labels, codes, *first["score"], weight=plain(listed["n"], float), unit=units, levels=levels,
        any_row="replicate" in work.roles.of,
    )  # fmt: skip
    return long, lambda test: (first if test == lowest else sums({passing(test): 1.0}))[passing(test)]


def passing(test: str) -> str:
    """SQL of 1 where the score passes, such as `> 3`."""
    return f"(CASE WHEN score {test} THEN 1.0 ELSE 0.0 END)"


def digits_sql(text: str, table: Any) -> str:
    """SQL of eight hexadecimal digits of the MD5 of a text as a number."""
    part = f"substr(md5({text}), 1, 8)"
    if table.ibis is None:
        return f"CAST('0x' || {part} AS BIGINT)"
    if table.con.name == "pyspark":
        return f"CAST(conv({part}, 16, 10) AS BIGINT)"
    places = (f"strpos('0123456789abcdef', substr(md5({text}), {1 + i}, 1)) - 1" for i in range(8))
    return "(" + " + ".join(f"CAST({p} AS BIGINT) * {16 ** (7 - i)}" for i, p in enumerate(places)) + ")"


def plain(found: Any, kind: Any) -> Any:
    """A column that came from the engine; what is missing is NaN."""
    if kind is float:
        return np.ma.filled(np.ma.asarray(found, dtype=float), np.nan)
    return np.asarray(found, dtype=kind)


# --- numbers for labels ---


def tasks_of(work: Work) -> int:
    """Number the tasks as `work.tasks`: own (as it is written), task (its name), low, high (its clusters), nr."""
    table, kinds = work.table, {r: work.types.get(c, "VARCHAR") for r, c in work.roles.of.items()}
    key = work.keys["task"]
    listed, more = f"{key} AS own", ", CAST(NULL AS VARCHAR) AS low, CAST(NULL AS VARCHAR) AS high"
    own = f"SELECT DISTINCT {listed} FROM {work.raw}"
    if "cluster" in work.keys:
        cluster = label_sql(work.keys["cluster"], kinds["cluster"])
        own = f"SELECT {listed}, min({cluster}) AS low, max({cluster}) AS high FROM {work.raw} GROUP BY {key}"
        more = ", low, high"
    named = f"SELECT own, {label_sql('own', kinds.get('task', 'VARCHAR'))} AS task{more} FROM ({own}) AS written"
    number = "task"  # another engine numbers nothing
    if table.ibis is None:
        number = "CASE WHEN task IS NOT NULL THEN CAST(dense_rank() OVER (ORDER BY task) - 1 AS INTEGER) END"
    work.tasks = table.keep("tasks", f"SELECT *, {number} AS nr FROM ({named}) AS named")
    if table.ibis is not None:  # else its rows were fetched
        return MOST_TASKS + 1
    some = f"SELECT DISTINCT nr FROM {work.tasks} WHERE nr IS NOT NULL LIMIT {MOST_TASKS + 1}"
    return int(table.rows(f"SELECT count(*) FROM ({some}) AS some_tasks")[0][0])


def _joined(work: Work) -> str:
    """Scores beside their tasks: where our own engine has numbered them, else as they are."""
    return f"{work.typed} LEFT JOIN {work.tasks} ON typed.task = tasks.own" if work.table.ibis is None else work.typed


def _task(work: Work) -> str:
    kind = work.types.get(work.roles.of.get("task", ""), "VARCHAR")
    return "tasks.nr" if work.table.ibis is None else label_sql("typed.task", kind)


def _cells(work: Work) -> tuple[str, dict[str, list[str]], dict[str, Codes]]:
    """SQL of the number of a cell; the labels of each axis; and for each cell the number of its label."""
    wide = list(work.roles.wide.values())
    texts = {a: _texts(work, a) for a in CELLS if a in work.roles.of}
    sizes = [len(found) + 1 for found in texts.values()] + [len(wide)] * bool(wide)
    cells = np.prod(np.array(sizes, dtype=float))
    limits.require(16.0 * float(cells), f"The cells of {work.table.where}")
    number = f"CAST(0 AS {'INTEGER' if cells < 2**31 else 'BIGINT'})"
    for axis, found in texts.items():
        number = f"({number}) * {len(found) + 1} + {_code(work, axis, found)}"
    number = f"({number}) * {len(wide)} + place" if wide else number
    places = np.unravel_index(np.arange(int(np.prod(sizes))), sizes) if sizes else ()
    at = dict(zip([*texts, "place"], places, strict=False))
    labels, codes = {}, {}
    for axis in CELLS:
        place = at.get(axis, np.zeros(int(np.prod(sizes)), dtype=np.int64))
        written = [DEFAULT.get(axis, "")]
        if axis in texts:
            written = [*("" if x.strip() in NO_LABEL else x.strip() for x in texts[axis]), ""]  # the last: none
        elif wide and axis in wide[0]:
            written, place = [cell[axis] for cell in wide], at["place"]
        number_of = {x: i for i, x in enumerate(dict.fromkeys(written))}
        labels[axis] = list(number_of)
        codes[axis] = np.array([number_of[x] for x in written], dtype=np.int64)[place]
    return number, labels, codes


def _texts(work: Work, axis: str) -> list[str]:
    """What is written in a column of labels."""
    if axis not in work.keys:
        return []
    found = work.table.rows(f"SELECT DISTINCT {work.keys[axis]} AS text FROM {work.raw}")
    return sorted(str(text) for (text,) in found if text is not None)


def _code(work: Work, axis: str, texts: list[str]) -> str:
    """SQL of the place of a text in a list; after its end where there is none."""
    cases = " ".join(f"WHEN {quote(x)} THEN {i}" for i, x in enumerate(texts))
    coded = f"CASE {axis} {cases} END" if texts else "NULL"
    if len(texts) > 100 and work.table.ibis is None:  # a long list is searched by its hash
        made = f"CREATE OR REPLACE TEMP TYPE {axis}_codes AS ENUM (SELECT unnest(?::VARCHAR[]))"
        work.table.run(made, [texts])
        coded = f"enum_code(CAST({axis} AS {axis}_codes))"
    return f"coalesce(CAST({coded} AS INTEGER), {len(texts)})"


def _levels(work: Work, coded: str) -> tuple[Codes, Array, Codes]:
    """Cell, score and number of the distinct scores; of scores without levels the ends and the mean of each cell."""
    ask = f"count(*) AS n, count(*) - count(task) AS lost FROM {coded} WHERE score IS NOT NULL GROUP BY cell"
    found = work.table.arrays(f"SELECT cell, score, {ask}, score LIMIT {MOST_LEVELS + 1}")
    lost = int(plain(found["lost"], np.int64).sum())
    cell, score, times = (plain(found[k], t) for k, t in (("cell", np.int64), ("score", float), ("n", np.int64)))
    if len(cell) > MOST_LEVELS:
        found = work.table.arrays(f"SELECT cell, min(score) AS a, avg(score) AS b, max(score) AS c, {ask}")
        lost, n = int(plain(found["lost"], np.int64).sum()), plain(found["n"], np.int64)
        cell, times = np.tile(plain(found["cell"], np.int64), 3), np.concatenate([0 * n, n, 0 * n])
        score = np.concatenate([plain(found[k], float) for k in "abc"])
        for end in (float(score.min()), float(score.max())):
            same = f"SELECT count(*) FROM {coded} WHERE score = {end!r}"
            times[np.argmax(score == end)] = at_end = int(work.table.rows(same)[0][0])
            times[len(n) + np.argmax(n)] -= at_end
    all_have(work, "task", lost)
    return cell, score, times


def one_cluster(work: Work) -> None:
    """Refuse a task in two clusters."""
    if "cluster" not in work.keys:
        return
    two = work.table.rows(
        f"SELECT min(task) FROM {work.tasks} WHERE nr IS NOT NULL GROUP BY nr HAVING min(low) <> max(high) "
        "ORDER BY 1 LIMIT 1"
    )
    if two:
        raise PanelError(
            f"The task {name(two[0][0])} is in two clusters ({name(work.roles.of['cluster'])}). A task belongs to one: "
            "mend the column, or name another (--cluster)."
        )


def all_have(work: Work, axis: str, blank: int) -> None:
    """Refuse scores without a label."""
    if blank:
        raise PanelError(
            f"{count(blank, 'score')} in {work.table.where} {'has' if blank == 1 else 'have'} no {axis} (column "
            f"{name(work.roles.of.get(axis, axis))} is empty there). Fill it, or delete those rows."
        )
