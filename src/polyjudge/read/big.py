"""More than 100,000 tasks: the engine puts them into 10,000 hashed units, and only sums leave it (METHODS 17).

A row of the panel is a unit with a pattern of seen cells; its scores are means over its tasks, its weight their number.
Sums are of whole numbers, so that they do not depend on threads, chunks or the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names
from polyjudge.panel import Panel
from polyjudge.read import columns as col
from polyjudge.read import scale
from polyjudge.read.table import quote

Array = NDArray[np.float64]
UNITS = 10_000
AXES = ("system", "language", "judge")


def digits_sql(text: str, start: int, backend: str) -> str:
    """SQL of eight hexadecimal digits of the MD5 of a text as a number."""
    part = f"substr(md5({text}), {start}, 8)"
    if backend == "duckdb":
        return f"CAST('0x' || {part} AS BIGINT)"
    if backend == "pyspark":
        return f"CAST(conv({part}, 16, 10) AS BIGINT)"
    places = (f"strpos('0123456789abcdef', substr(md5({text}), {start + i}, 1)) - 1" for i in range(8))
    return "(" + " + ".join(f"CAST({p} AS BIGINT) * {16 ** (7 - i)}" for i, p in enumerate(places)) + ")"


def big_panel(work: Any) -> Panel:
    """The panel of a table with more tasks than rows of a panel."""
    table, roles = work.table, work.roles
    for role, what in (("winner", "verdicts on pairs"), ("criterion", "several criteria")):
        if role in roles.of or (role == "criterion" and any(role in c for c in roles.wide.values())):
            raise PanelError(f"{table.where} has too many tasks to read {what}. Read a part of it.")
    rows = _rows(work)
    stats = table.rows(
        f"SELECT {', '.join(AXES)}, count(*), count(score), min(score), max(score), sum(CASE WHEN task IS NULL AND "
        f"score IS NOT NULL THEN 1 ELSE 0 END) FROM {rows} GROUP BY {', '.join(AXES)}"
    )
    work.rows = sum(int(r[3]) for r in stats)
    lost = sum(int(r[7] or 0) for r in stats)
    if lost:
        raise PanelError(f"{count(lost, 'score')} in {table.where} {'has' if lost == 1 else 'have'} no task. Fill it.")
    labels, place = _labels(work, [r for r in stats if int(r[4])])
    _check(work, rows, stats, place)
    shape = tuple(len(labels[a]) for a in AXES)
    return _panel(
        work, labels, shape, rows, place, scores=[float(x) for r in stats if r[5] is not None for x in r[5:7]]
    )


def _rows(work: Any) -> str:
    """Every score with its task, cluster, system, language and judge as clean text."""
    roles = work.roles
    parts = {}
    for axis in ("task", "cluster", *AXES):
        kind = work.types.get(roles.of.get(axis, ""), "VARCHAR")
        if kind.startswith(("DOUBLE", "FLOAT", "DECIMAL")):  # a number that became text
            parts[axis] = f"regexp_replace(trim({axis}), '\\.0+$', '')"
        elif axis in roles.of:
            parts[axis] = f"nullif(trim({axis}), '')"
    parts.setdefault("task", "task")
    parts.setdefault("cluster", parts["task"])
    wide = list(roles.wide.values())
    for axis in AXES:
        if wide and axis in wide[0]:
            cases = " ".join(f"WHEN {i} THEN {quote(cell[axis])}" for i, cell in enumerate(wide))
            parts[axis] = f"CASE place {cases} END"
        parts.setdefault(axis, quote("judge" if axis == "judge" else ""))
    listed = ", ".join(f"{parts[a]} AS {a}" for a in ("task", "cluster", *AXES))
    return f"(SELECT {listed}, score FROM {work.typed}) AS long_rows"


def _labels(work: Any, stats: Sequence[tuple[Any, ...]]) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    """The labels of each axis, and the place of each spelling; what is left out has none."""
    labels: dict[str, list[str]] = {}
    place: dict[str, dict[str, int]] = {}
    for i, axis in enumerate(AXES):
        found = sorted({str(r[i]) for r in stats if r[i] is not None}, key=col.natural)
        if any(r[i] is None for r in stats):
            raise PanelError(
                f"Some scores in {work.table.where} have no {axis}. Fill the column, or delete those rows."
            )
        same = col.spellings(axis, found)
        if same:
            one, two = next(iter(same.items()))
            raise PanelError(
                f"{work.table.where} has the {axis}s {name(one)} and {name(two)}. Write one name, or tell them apart."
            )
        gone = set(col.summaries(found)) if len(found) > 2 else set()
        if axis == "judge" and not all(map(col.is_human, found)):
            gone |= {x for x in found if col.is_human(x)}
        wanted = getattr(work.asked, f"{axis}s")
        odd = [w for w in wanted if w not in found and w not in work.roles.wide]
        if odd:
            raise UsageError(f"There is no {axis} {name(odd[0])} in {work.table.where}. It has: {names(found, 12)}.")
        wanted = [w for w in wanted if w in found]
        labels[axis] = [x for x in found if (x in wanted if wanted else x not in gone)]
        left = [x for x in found if x in gone and not wanted]
        if left:
            work.notes.append(f"{names(left)} {'is' if len(left) == 1 else 'are'} left out: no {axis} of the panel.")
        place[axis] = {x: j for j, x in enumerate(labels[axis])}
    return labels, place


def _check(work: Any, rows: str, stats: Sequence[tuple[Any, ...]], place: dict[str, dict[str, int]]) -> None:
    """What `panels` checks on all scores, on the distinct ones of each language and judge."""
    listed = "language, judge, score"
    found = work.table.rows(
        f"SELECT {listed}, count(*) FROM {rows} WHERE score IS NOT NULL GROUP BY {listed} LIMIT 500001"
    )
    if len(found) > 500_000:  # scores without levels: the ends of each cell
        found = [(r[1], r[2], x, 1) for r in stats for x in (r[5], r[6]) if x is not None]
        found += [
            (r[1], r[2], (0.5 + 0.01 * i) * (r[5] + r[6]), 1) for r in stats if r[5] is not None for i in (1, 3, 7)
        ]
    found = [r for r in found if str(r[0]) in place["language"] and str(r[1]) in place["judge"]]
    if not found:
        raise PanelError(f"No score in {work.table.where} is left.")
    x, times = (np.array([float(r[i]) for r in found]) for i in (2, 3))
    levels, at = np.unique(x, return_inverse=True)
    where = work.table.where
    scale.check_range(levels, np.bincount(at, times), work.asked.range, where, work.notes)
    if work.asked.range is None:
        for i, axis in ((1, "judge"), (0, "language")):
            own = np.array([str(r[i]) for r in found])
            groups = {g: np.unique(x[own == g]) for g in place[axis] if times[own == g].sum() > 2}
            noun = (work.asked.by or axis) if axis == "language" else axis
            scale.check_scales(groups, noun, f"{levels[0]:g}:{levels[-1]:g}", work.notes)


def _units(
    work: Any, rows: str, labels: dict[str, list[str]], place: dict[str, dict[str, int]], values: dict[str, float]
) -> tuple[Array, NDArray[np.int64], Array]:
    """Means (values, rows, cells), unit and weight of each row.

    values : SQL of a number that is there where a score is -> its largest size
    """
    table = work.table
    backend = "duckdb" if table.ibis is None else table.con.name
    cells = int(np.prod([len(labels[a]) for a in AXES]))
    code = "0"
    for axis in AXES:
        cases = " ".join(f"WHEN {quote(x)} THEN {i}" for x, i in place[axis].items())
        code = f"({code}) * {len(labels[axis])} + (CASE {axis} {cases} END)"
    factor = [2.0 ** (40 - int(np.ceil(np.log2(max(most or 1.0, 1e-300))))) for most in values.values()]
    each = [f"CAST(round({v} * {f!r}) AS BIGINT)" for v, f in zip(values, factor, strict=True)]
    listed = ", ".join(f"{x} AS x{i}" for i, x in enumerate(each))
    coded = f"(SELECT task, cluster, {code} AS cell, {listed} FROM {rows} WHERE score IS NOT NULL) AS coded"
    unit = f"{digits_sql('cluster', 1, backend)} % {UNITS}"
    tasks = table.keep(
        "tasks",
        f"SELECT task, {unit} AS u, {digits_sql('task', 9, backend)} AS h FROM (SELECT task, min(cluster) AS cluster "
        f"FROM {coded} WHERE cell IS NOT NULL GROUP BY task) AS t",
    )
    whole = table.arrays(f"SELECT u, count(*) AS w, CAST(sum(h) AS DOUBLE) AS mark FROM {tasks} GROUP BY u ORDER BY u")
    units, weight, mark = (np.asarray(whole[c], dtype=float) for c in ("u", "w", "mark"))
    totals = ", ".join(f"CAST(sum(x{i}) AS DOUBLE) AS total{i}" for i in range(len(values)))
    joined = (
        f"(SELECT tasks.u, tasks.h, coded.* FROM {coded} JOIN {tasks} ON coded.task = "
        "tasks.task WHERE coded.cell IS NOT NULL) AS joined"
    )
    found = table.arrays(
        f"SELECT u, cell, {totals}, count(*) AS n, CAST(sum(h) AS DOUBLE) AS mark FROM {joined} GROUP BY u, cell"
    )
    at = np.searchsorted(units, np.asarray(found["u"], dtype=float))
    cell, n = np.asarray(found["cell"], dtype=np.int64), np.asarray(found["n"], dtype=float)
    same = (n == weight[at]) & (np.asarray(found["mark"], dtype=float) == mark[at])
    whole_units = np.bincount(at, same, minlength=len(units)) == len(np.unique(cell))
    limits.require(8.0 * len(units) * cells * 3, f"{table.where} in hashed units")
    y = np.full((len(values), len(units), cells), np.nan)
    for i, f in enumerate(factor):
        y[i, at, cell] = np.asarray(found[f"total{i}"], dtype=float) / f / n
    if whole_units.all():
        return y, units.astype(np.int64), weight
    holes = units[~whole_units].astype(np.int64).tolist()
    part = (
        f"(SELECT * FROM {joined} WHERE u IN ({', '.join(map(str, holes))})) AS joined" if len(holes) < 2000 else joined
    )
    z, place_of, more = _patterns(work, part, factor, cells)
    y = np.concatenate([y[:, whole_units], z], axis=1)
    at_unit = np.concatenate([units[whole_units].astype(np.int64), place_of])
    weight = np.concatenate([weight[whole_units], more])
    order = np.lexsort(
        (*np.isfinite(y[0]).T[::-1], at_unit)
    )  # a unit's patterns by what they have seen: no engine's order
    return y[:, order], at_unit[order], weight[order]


def _patterns(work: Any, joined: str, factor: list[float], cells: int) -> tuple[Array, NDArray[np.int64], Array]:
    """The same where cells are missing: tasks of a unit that were seen in the same cells are one row."""
    table = work.table
    sums = ", ".join(f"sum(x{i}) AS total{i}" for i in range(len(factor)))
    each = table.keep(
        "each_cell",
        f"SELECT u, task, cell, {sums}, count(*) AS n FROM {joined} GROUP BY u, task, cell",
    )
    again = table.rows(f"SELECT max(n) FROM {each}")[0][0]
    if int(again) > 1 and "replicate" not in work.roles.of and work.asked.replicate not in ("row", "rows"):
        raise PanelError(
            f"{table.where} has {int(again)} scores for one task, language and judge. If they are repeated "
            "measurements: --replicate row; else name the columns that tell them apart."
        )
    draws = np.random.default_rng(0).integers(1, 1 << 40, (cells, 2)).tolist()
    keys = ", ".join(f"({i}, {a}, {b})" for i, (a, b) in enumerate(draws))
    marks = table.keep(
        "marks",
        f"SELECT task, CAST(sum(a) AS DOUBLE) AS p, CAST(sum(b) AS DOUBLE) AS q FROM {each} JOIN (VALUES {keys}) AS "
        "draws(code, a, b) ON each_cell.cell = draws.code GROUP BY task",
    )
    means = ", ".join(
        f"CAST(sum(CAST(round(total{i} * 1.0 / n) AS BIGINT)) AS DOUBLE) AS total{i}" for i in range(len(factor))
    )
    found = table.arrays(
        f"SELECT u, p, q, cell, {means}, count(*) AS n "
        f"FROM (SELECT each_cell.*, marks.p, marks.q FROM {each} "
        f"JOIN {marks} ON each_cell.task = marks.task) AS marked GROUP BY u, p, q, cell"
    )
    key = np.stack([np.asarray(found[c], dtype=float) for c in ("u", "p", "q")], axis=1)
    unique, at = np.unique(key, axis=0, return_inverse=True)
    limits.require(8.0 * len(unique) * cells * 3, f"{table.where} in hashed units")
    y, weight = np.full((len(factor), len(unique), cells), np.nan), np.zeros(len(unique))
    n = np.asarray(found["n"], dtype=float)
    for i, f in enumerate(factor):
        total = np.asarray(found[f"total{i}"], dtype=float)
        y[i, at.ravel(), np.asarray(found["cell"], dtype=np.int64)] = total / f / n
    weight[at.ravel()] = n
    return y, unique[:, 0].astype(np.int64), weight


def _panel(
    work: Any,
    labels: dict[str, list[str]],
    shape: tuple[int, ...],
    rows: str,
    place: dict[str, dict[str, int]],
    scores: list[float],
) -> Panel:
    low, high = work.asked.range or (min(scores), max(scores))
    tiny = 1e-9 * max(high - low, 1e-300)

    def passes(test: str) -> str:
        return f"(CASE WHEN score IS NULL THEN NULL WHEN score {test} THEN 1.0 ELSE 0.0 END)"

    lowest = passes(f"<= {low + tiny!r}")  # an audit asks for it: in the same pass
    values = {"score": max(map(abs, scores)), lowest: 1.0}
    (y, bottom), unit, weight = _units(work, rows, labels, place, values)
    two = (low, high) in ((0.0, 1.0), (0.0, 100.0)) and not work.table.rows(
        f"SELECT score FROM {rows} WHERE score <> {low!r} AND score <> {high!r} LIMIT 1"
    )
    noun = col.norm(work.asked.by).replace("_", " ") if work.asked.by else "language"
    panel = Panel(
        scores=y.reshape(-1, *shape), tasks=tuple(f"unit {u}.{i}" for i, u in enumerate(unit)),
        systems=tuple(labels["system"]),
        languages=tuple(labels["language"]), judges=tuple(labels["judge"]), scale=(low, high), two_valued=two,
        unit=unit, weight=weight, notes=tuple(work.notes), noun=noun,
        clustered="cluster" in work.roles.of,
    )  # fmt: skip

    def indicator(threshold: float, how: str) -> Panel:
        test = {">": f"> {threshold + tiny!r}", ">=": f">= {threshold - tiny!r}"}.get(how, f"<= {threshold + tiny!r}")
        value = passes(test)
        z = bottom if value == lowest else _units(work, rows, labels, place, {value: 1.0})[0][0]
        z = z.reshape(-1, *shape)
        if how == "floor":
            z = np.where(np.isnan(z) & np.isfinite(z).any((1, 3), keepdims=True), 1.0, z)
        return replace(panel, scores=z, scale=(0.0, 1.0), two_valued=True, indicator=None)

    return replace(panel, indicator=indicator)
