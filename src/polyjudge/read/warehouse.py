"""Tables that another engine holds: Spark, PostgreSQL, and whatever Ibis connects to. They are asked the same SQL.

Questions are written in DuckDB's SQL and translated by sqlglot, which Ibis brings along. Up to 100,000 tasks the chosen
columns are fetched; beyond that only sums leave the engine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.base.text import name, redact
from polyjudge.read.table import KINDS, Table, csv_head, ident, open_frame, quote

SERVERS = (
    "postgres", "postgresql", "bigquery", "clickhouse", "databricks", "mssql", "mysql", "oracle", "snowflake", "trino",
)  # fmt: skip
"""Servers that an address may name, as Ibis calls them."""
STREAMED = ("sqlite", "polars", "datafusion", "duckdb")
"""Engines on this machine, whose rows are read by our own."""
SOURCE = "polyjudge_source"


@contextmanager
def foreign_errors(where: str) -> Iterator[None]:
    """What another engine says, as one sentence, without the password of its address."""
    try:
        yield
    except PolyjudgeError:
        raise
    except ImportError as error:
        raise UsageError(f"{where} needs a package that is not installed: {name(error, 120)}.") from None
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = name(redact(lines[0]) if lines else type(error).__name__, 200)
        raise PanelError(f"{where} could not answer: {said}. If it lost a worker, run this again.") from None


class Connection:
    """What a DuckDB connection does, done by another engine."""

    def __init__(self, table: Any, where: str) -> None:
        self.backend = table._find_backend(use_default=True)
        self.name, self.table, self.where, self.found = str(self.backend.name), table, where, None

    def translated(self, text: str) -> str:
        """A query over the table, in the words of its engine."""
        import ibis
        import sqlglot

        dialect = self.backend.dialect
        tree = sqlglot.parse_one(text, read="duckdb")
        inner = sqlglot.parse_one(str(ibis.to_sql(self.table)), read=dialect)
        for found in list(tree.find_all(sqlglot.exp.Table)):
            if found.name == SOURCE:
                found.replace(sqlglot.exp.Subquery(this=inner.copy(), alias=found.alias or SOURCE))
        return tree.sql(dialect=dialect)

    def execute(self, text: str) -> Connection:
        """Run a query; `fetchall` and `fetchnumpy` give what it found."""
        with foreign_errors(self.where):
            if self.name == "postgres":  # Ibis would make a view, and the session only reads
                import pyarrow as pa

                with self.backend.con.cursor() as cursor:
                    rows = cursor.execute(self.translated(text)).fetchall()
                    titles = [c.name for c in cursor.description]
                columns = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
                self.found = pa.Table.from_arrays([pa.array(list(c)) for c in columns], names=titles)
            else:
                self.found = self.backend.sql(self.translated(text)).to_pyarrow()
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""
        columns = [c.to_pylist() for c in self.found.columns]  # type: ignore[attr-defined]
        return list(zip(*columns, strict=True))

    def fetchnumpy(self) -> dict[str, Any]:
        """All columns as arrays."""
        found: Any = self.found
        return {c: found[c].to_pandas().to_numpy() for c in found.column_names}

    def create(self, into: str, text: str, overwrite: bool) -> None:
        """Make a new table of a query's rows, where the table is."""
        with foreign_errors(self.where):
            if into in self.backend.list_tables() and not overwrite:
                raise UsageError(f"There is a table {name(into)} already. Name a new one, or --overwrite.")
            with suppress(AttributeError):
                self.backend.con.rollback()
                self.backend.con.read_only = False
            self.backend.create_table(into, self.backend.sql(self.translated(text)), overwrite=overwrite)

    def stream(self, text: str, part: Path, options: str) -> None:
        """Write a query's rows to a file, in pieces."""
        import duckdb

        with foreign_errors(self.where), duckdb.connect() as con:
            rows = self.execute(text).found if self.name == "postgres" else None
            rows = self.backend.sql(self.translated(text)).to_pyarrow_batches() if rows is None else rows
            con.register("polyjudge_rows", rows)
            con.execute(f"COPY (SELECT * FROM polyjudge_rows) TO {quote(part)} ({options}, USE_TMP_FILE false)")


def open_foreign(source: Any, engine: str | None = None) -> Table:
    """An address such as postgres://user@host/database::table, a Spark frame, an Ibis table."""
    try:
        import ibis
    except ImportError:
        raise UsageError("Databases and warehouses need: pip install 'polyjudge[warehouse]'.") from None
    where = "the table"
    with foreign_errors("The engine"):
        if isinstance(source, (str, Path)):
            where = name(redact(str(source)), 200)
            table = spark_files(str(source)) if engine == "spark" else _served(ibis, str(source))
        else:
            table = source
        if type(table).__module__.startswith("pyspark"):
            view = f"polyjudge_{abs(id(table)):x}"
            table.createOrReplaceTempView(view)
            table = ibis.pyspark.connect(table.sparkSession).table(view)
        if not isinstance(table, ibis.Table):
            raise UsageError(f"An Ibis table is read, not {type(table).__name__}.")
        backend = table._find_backend(use_default=True).name
        if backend in STREAMED or type(table.op()).__name__ == "InMemoryTable":
            return open_frame(table.to_pyarrow(), where)
        con = Connection(table, f"The {backend} table")
    found = Table(con, SOURCE, {}, where, ibis=table)
    for column, kind in table.schema().items():
        plain = (
            "DOUBLE" if kind.is_floating() else "BIGINT" if kind.is_integer() else "BOOLEAN" if kind.is_boolean()
            else "DECIMAL" if kind.is_decimal() else "TIMESTAMP" if kind.is_temporal() else "VARCHAR"
        )  # fmt: skip
        if not kind.is_nested():
            found.columns[column] = (ident(column), plain)
    return found


def fetched(table: Table, columns: list[str]) -> Table:
    """The chosen columns in our own engine."""
    listed = ", ".join(f"{table.columns[c][0]} AS {ident(c)}" for c in dict.fromkeys(columns))
    rows = table.con.execute(f"SELECT {listed} FROM {table.relation}").found
    if not len(rows):
        raise PanelError(f"{table.where} has no rows.")
    return open_frame(rows, table.where)


def _served(ibis: Any, text: str) -> Any:
    address, _, table = text.rpartition("::") if "::" in text else (text, "", "")
    scheme = address.partition("://")[0].lower()
    if scheme in ("http", "https", "ftp", "s3", "gs", "hf"):
        raise UsageError(f"Scores are not fetched from {scheme} addresses. Download the file and name it.")
    if scheme not in SERVERS:
        raise UsageError(f"There is no database of the kind {name(scheme, 40)}. A file is named by its path.")
    if not table:
        raise UsageError("Name the table as well: ADDRESS::TABLE.")
    schema, _, plain = table.rpartition(".")
    backend = ibis.connect(address)
    if scheme.startswith("postgres"):
        backend.con.rollback()
        backend.con.autocommit, backend.con.read_only = False, True
    return backend.table(plain, database=schema or None)


def spark_files(address: str) -> Any:
    """Files, or a table of Spark's catalogue, as a Spark frame. CSV columns are text, as in our own engine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Spark is not installed: pip install 'polyjudge[spark]'.") from None
    session = SparkSession.getActiveSession()
    if session is None:
        builder = SparkSession.builder.appName("polyjudge").config("spark.ui.showConsoleProgress", "false")
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    reader = session.read.option("recursiveFileLookup", True)  # else a folder called score=7 becomes a column
    plain = address.lower().removesuffix(".gz")
    if plain.endswith(KINDS["csv"]):
        head = csv_head(Path(address)) if os.path.isfile(address) else None
        if head is not None and head.skip:
            raise UsageError(f"{name(address, 200)} has lines above its header, which Spark cannot skip. Remove them.")
        separator = head.delimiter if head is not None else "\t" if plain.endswith(".tsv") else ","
        options = {"header": True, "quote": '"', "escape": '"', "multiLine": True, "mode": "FAILFAST"}
        return reader.options(**options).csv(address, sep=separator, inferSchema=False)
    if plain.endswith((".json", ".jsonl", ".ndjson")):
        return reader.option("primitivesAsString", True).option("mode", "FAILFAST").json(address)
    if "/" in address or plain.endswith(KINDS["parquet"]):
        return reader.parquet(address)
    return session.table(address)
