"""Grouping scores in DuckDB.

Labels become codes inside the engine (enumerations for languages, judges and replicates; a table from a task's hash to
its unit), so the one heavy GROUP BY works on integers and only integers and sums come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.second.panel.adjustment import quote
from polyjudge.second.panel.columns import Columns
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read import duck
from polyjudge.second.read.duck import Source, engine_errors, name
from polyjudge.second.read.engine import ODD, Cells, Codes, Duplicates, Entries, Found, Labels, Units, cells_of, coded

if TYPE_CHECKING:
    from polyjudge.second.panel.shown import Shown


class DuckEngine:
    """A `Source` with its columns chosen."""

    def __init__(self, source: Source, columns: Columns) -> None:
        self.source, self.con, self.where = source, source.con, source.where
        self.ordered = source.row is not None
        self.grouped, self.clustered = columns.group is not None, columns.cluster is not None
        self.inner = [axis for axis in ("system", "replicate") if getattr(columns, axis) is not None]
        self._stamps, self._rows = source.stamps(), "typed"
        with engine_errors(self.where):
            duck.spool(source, list(dict.fromkeys(c for c in vars(columns).values() if c)))
            self._type(columns)

    def _type(self, c: Columns) -> None:
        """The view `typed`: labels as text (an empty one is missing), the score as a number, text that is none."""

        types = duck.column_types(self.source)

        def label(column: str) -> str:
            return f"nullif({duck.label_sql(column, types[column])}, '')"

        score, kind = name(c.score), types[c.score]
        if kind.startswith(("VARCHAR", "ENUM")):
            raw = f"nullif(trim(CAST({score} AS VARCHAR)), '')"
            number = duck.number_sql(f"trim(CAST({score} AS VARCHAR))")
            text = f"({raw} IS NOT NULL AND ({number}) IS NULL)"
        elif duck.is_number(kind) or kind == "BOOLEAN":
            raw, number, text = f"CAST({score} AS VARCHAR)", f"CAST({score} AS DOUBLE)", "false"
        elif kind in ('"NULL"', "NULL"):
            raw, number, text = "NULL", "CAST(NULL AS DOUBLE)", "false"
        else:
            raise PanelError(
                f"The score column {c.score!r} holds {clean(kind.lower().partition('_')[0])}, not numbers."
            )
        task = label(c.task) if c.task else "''"
        columns = {"task": task, "language": label(c.language), "judge": label(c.judge)}
        columns |= {axis: label(getattr(c, axis)) for axis in self.inner}
        if c.cluster:
            columns["cluster"] = f"coalesce({label(c.cluster)}, {label(c.task)})"
        if c.group:
            columns["stratum"] = f"coalesce({label(c.group)}, '(none)')"
        columns |= {"score": number, "raw": raw, "is_text": text}
        if self.ordered:
            columns[duck.ROW] = str(self.source.row)
        if self.source.shown:
            columns |= {column: column for column in duck.SHOWN}
        picked = ", ".join(f"{sql} AS {alias}" for alias, sql in columns.items())
        self.con.execute(f"CREATE OR REPLACE TEMP VIEW typed AS SELECT {picked} FROM {self.source.relation}")

    def keep(self, axis: str, wanted: list[str]) -> None:
        among = ", ".join(map(quote, wanted))
        self._view(f"typed_{axis}", f"SELECT * FROM {self._rows} WHERE {axis} IN ({among})")

    def relabel(self, axis: str, names: Mapping[str, str]) -> None:
        """Other spellings of a label become that label."""
        self.con.execute(
            f"CREATE TEMP TABLE names_{axis} AS SELECT unnest(?::VARCHAR[]) AS other, unnest(?::VARCHAR[]) AS one",
            [list(names), list(names.values())],
        )
        self._view(
            f"relabelled_{axis}",
            f"SELECT * EXCLUDE (other, one) REPLACE (coalesce(one, {axis}) AS {axis}) FROM {self._rows} "
            f"LEFT JOIN names_{axis} ON {axis} = other",
        )

    def _view(self, view: str, sql: str) -> None:
        """From now on these are the rows."""
        self.con.execute(f"CREATE TEMP VIEW {view} AS {sql}")
        self._rows = view

    def _rows_of(self, sql: str) -> list[tuple[Any, ...]]:
        with engine_errors(self.where):
            return list(self.con.execute(sql).fetchall())

    def _arrays(self, sql: str) -> dict[str, Any]:
        with engine_errors(self.where):
            arrays: dict[str, Any] = self.con.execute(sql).fetchnumpy()
        return arrays

    # --- the questions of Engine ---

    def cells(self) -> Cells:
        keys = ", ".join(["language", "judge", *self.inner])
        first = f", min({duck.ROW}) AS first" if self.ordered else ""
        counts = (
            "count(*) AS rows, count(score) AS scored, count_if(is_text) AS text, count(*) - count(task) AS unlabelled"
        )
        sums = "sum(score) AS total, min(score) AS low, max(score) AS high"
        with engine_errors(self.where):
            found = self.con.execute(f"SELECT {keys}, {counts}, {sums}{first} FROM {self._rows} GROUP BY {keys}")
            names, rows = [column[0] for column in found.description], found.fetchall()
        return cells_of({n: [row[i] for row in rows] for i, n in enumerate(names)})

    def groups(self) -> tuple[list[str], bool]:
        order = f"min({duck.ROW})" if self.ordered else "stratum"
        labels = self._rows_of(f"SELECT stratum FROM {self._rows} GROUP BY stratum ORDER BY {order}")
        ((split,),) = self._rows_of(
            f"SELECT count(*) FROM (SELECT task FROM {self._rows} GROUP BY task HAVING min(stratum) <> max(stratum))"
        )
        return [label for (label,) in labels], split == 0

    def split_cluster(self) -> str | None:
        found = self._rows_of(
            f"SELECT task FROM {self._rows} GROUP BY task HAVING min(cluster) <> max(cluster) ORDER BY task LIMIT 1"
        )
        return str(found[0][0]) if found else None

    def count_tasks(self) -> int:
        return int(self._rows_of(f"SELECT count(DISTINCT task) FROM {self._rows}")[0][0])

    def odd_tasks(self, most: int, among: Sequence[str] = ()) -> list[str]:
        asked = "CREATE OR REPLACE TEMP TABLE asked_tasks AS SELECT unnest(?::VARCHAR[]) AS label"
        self.con.execute(asked, [list(among)])
        test = "task IN (SELECT label FROM asked_tasks)" if among else f"regexp_matches(task, '{ODD}')"
        return [task for (task,) in self._rows_of(f"SELECT DISTINCT task FROM {self._rows} WHERE {test} LIMIT {most}")]

    def tasks(self, labels: Labels) -> Units:
        self._enumerate(labels)
        order = f"min({duck.ROW})" if self.ordered else "task"
        group = ", enum_code(min(stratum)::group_codes)::BIGINT AS g" if labels.by_task else ""
        cluster = ", min(cluster) AS cluster" if self.clustered else ""
        with engine_errors(self.where):
            self.con.execute(
                f"CREATE OR REPLACE TEMP TABLE task_units AS SELECT task, hash(task) AS h, "
                f"(row_number() OVER (ORDER BY {order}) - 1)::INTEGER AS u{group}{cluster} FROM {self._rows} "
                "GROUP BY task"
            )
        table = self._arrays("SELECT * FROM task_units ORDER BY u")
        self._clash = len(np.unique(table["h"])) < len(table["h"])
        codes = table["g"].astype(np.int64) if group else None
        names = tuple(table["task"].tolist())
        clusters, places = coded(table["cluster"].tolist()) if self.clustered else ((), None)
        self._units = Units(len(names), False, names, group=codes, clusters=clusters, cluster=places)
        return self._units

    def hashed_units(self, size: int, labels: Labels) -> Units:
        self._enumerate(labels)
        group = ", min(stratum) AS stratum" if labels.by_task else ""
        group += ", min(cluster) AS cluster" if self.clustered else ""
        each = labels.units_per_group(size)
        place = f"('0x' || substr(md5({'cluster' if self.clustered else 'task'}), 1, 8))::BIGINT % {each}"
        if labels.by_task:
            place += f" + {each} * enum_code(stratum::group_codes)"
        with engine_errors(self.where):
            self.con.execute(
                f"CREATE OR REPLACE TEMP TABLE task_units AS SELECT task, hash(task) AS h, ({place})::INTEGER AS u "
                f"FROM (SELECT task{group} FROM {self._rows} GROUP BY task)"
            )
        ((clash,),) = self._rows_of("SELECT count(*) > count(DISTINCT h) FROM task_units")
        self._clash = bool(clash)
        found = self._arrays("SELECT u, count(*) AS w, bit_xor(h) AS mark FROM task_units GROUP BY u ORDER BY u")
        places, mark = found["u"].astype(np.int64), found["mark"].view(np.int64)
        self._units = Units.by_hash(places, found["w"].astype(float), mark, each, labels, self.clustered)
        return self._units

    def _enumerate(self, labels: Labels) -> None:
        for axis in labels.used():
            names = list(getattr(labels, axis))
            self.con.execute(f"CREATE OR REPLACE TEMP TYPE {axis}_codes AS ENUM (SELECT unnest(?::VARCHAR[]))", [names])

    def _match(self) -> str:
        """Join on the hash alone unless two tasks share one."""
        return "hash(s.task) = t.h" + (" AND s.task = t.task" if self._clash else "")

    def entries(self, units: Units, labels: Labels, duplicates: Duplicates) -> Entries:
        axes = labels.entry_axes()
        column = {"group": "stratum"}
        keys = ", ".join(f"{column.get(a, a)}::{a}_codes AS {a[:2]}" for a in axes)
        mark = units.hashed and duplicates == "error"
        if duplicates == "first":
            value = f"arg_min(score, {duck.ROW}) FILTER (score IS NOT NULL)"
        else:
            value = "sum(score)" if duplicates == "error" or not units.hashed else "avg(score)"
        marked = ", bit_xor(t.h) FILTER (score IS NOT NULL) AS mark" if mark else ""
        grouped = (
            f"SELECT t.u, {keys}, {value} AS total, count(score) AS n{marked} FROM {self._rows} s "
            f"JOIN task_units t ON {self._match()} "
        )
        short = ", ".join(a[:2] for a in axes)
        if units.hashed and duplicates != "error":
            # A task's rows are averaged first: a unit is a mean over tasks, not over rows.
            inner = f"{grouped} GROUP BY t.u, t.h, {short} HAVING n > 0"
            grouped = f"SELECT u, {short}, sum(total) AS total, count(*) AS n FROM ({inner}) GROUP BY u, {short}"
        else:
            grouped += f"GROUP BY t.u, {short} HAVING n > 0"  # a filter of rows would read every score twice
        codes = ", ".join(f"enum_code({a[:2]})::BIGINT AS {a}" for a in axes)
        out = self._arrays(f"SELECT u::BIGINT AS unit, {codes}, total, n{', mark' if mark else ''} FROM ({grouped})")
        total, rows = out["total"].astype(float), out["n"].astype(np.int64)
        if duplicates == "first" and not units.hashed:
            rows = np.ones_like(rows)
        found: dict[str, Codes] = {a: out[a] for a in axes} | {"unit": self._unit(out["unit"])}
        return Entries(found, total, rows, out["mark"].view(np.int64) if mark else None)

    def _unit(self, places: Codes) -> Codes:
        return self._units.at(places, self.where) if self._units.hashed else places

    def shown(self) -> Shown | None:
        if not self.source.shown:
            return None
        from polyjudge.second.panel.shown import Shown

        first, second, sign = duck.SHOWN
        rows = self._arrays(
            f"SELECT t.u::BIGINT AS unit, enum_code(language::language_codes)::BIGINT AS language, "
            f"enum_code(judge::judge_codes)::BIGINT AS judge, {first} AS a, {second} AS b, "
            f"avg(score * {sign}) AS margin, count(*) AS rows FROM {self._rows} s JOIN task_units t ON {self._match()} "
            f"WHERE score IS NOT NULL AND {sign} IS NOT NULL AND {first} <> {second} GROUP BY ALL ORDER BY ALL"
        )
        systems, codes = coded([*rows["a"].tolist(), *rows["b"].tolist()])
        half = len(codes) // 2
        return Shown(
            systems,
            unit=self._unit(rows["unit"]),
            **{axis: rows[axis].astype(np.int64) for axis in ("language", "judge", "rows")},
            first=codes[:half],
            second=codes[half:],
            margin=rows["margin"].astype(float),
        )

    def drop_incomplete(self, labels: Labels) -> int:
        keys, full = ", ".join(["language", "judge", *self.inner]), labels.entries_per_task()
        with engine_errors(self.where):
            self.con.execute(
                f"CREATE OR REPLACE TEMP TABLE partial AS SELECT task FROM (SELECT task, {keys}, count(score) AS c "
                f"FROM {self._rows} GROUP BY task, {keys}) GROUP BY task HAVING count_if(c > 0) < {full}"
            )
            dropped = int(self.con.execute("SELECT count(*) FROM partial").fetchall()[0][0])
            self._view("whole", f"SELECT * FROM {self._rows} WHERE task NOT IN (SELECT task FROM partial)")
        return dropped

    def find(self, what: str, limits: tuple[float, float] | None = None, most: int = 5) -> list[Found]:
        low, high = limits or (0.0, 0.0)
        condition = {
            "text": "is_text",
            "not finite": "NOT isfinite(score)",
            "unlabelled": " OR ".join(f"{a} IS NULL" for a in ("task", "language", "judge", *self.inner)),
            "outside": f"score < {low!r} OR score > {high!r}",
        }[what]
        order = f"ORDER BY {duck.ROW}" if self.ordered else ""
        row = duck.ROW if self.ordered else "NULL"
        rows = self._rows_of(
            f"SELECT {row}, raw, task, language, judge FROM {self._rows} WHERE {condition} {order} LIMIT {most}"
        )
        return [self._found(*row) for row in rows]

    def _found(self, at: Any, raw: Any, *labels: Any) -> Found:
        if at is None:
            return Found.at(raw, *labels)
        file, place = divmod(int(at) // self.source.rows_per_line, 1 << 40)
        if self.source.first_line is not None:
            return Found(f"line {place + self.source.first_line}", clean(raw, 40))
        several = len(self.source.files) > 1 and self.source.kind == "parquet"
        of = f" of {clean(self.source.files[file].name, 80)}" if several else ""
        return Found(f"row {place + 1}{of}", clean(raw, 40))

    def find_duplicates(self, most: int = 5) -> list[tuple[Any, ...]]:
        keys = ", ".join(["task", "language", "judge", *self.inner])
        keys += ", stratum" if self.grouped else ""
        order = f", min({duck.ROW})" if self.ordered else ""
        return self._rows_of(
            f"SELECT {keys}, count(*) AS n FROM {self._rows} WHERE score IS NOT NULL GROUP BY {keys} "
            f"HAVING count(*) > 1 ORDER BY n DESC{order}, {keys} LIMIT {most}"
        )

    def finish(self) -> None:
        changed = self.source.stamps() != self._stamps
        self.con.close()
        if changed:
            raise PanelError(
                f"{self.where} changed while it was read. Wait until it is complete, or copy it, and read it again."
            )
