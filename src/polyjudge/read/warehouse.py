"""Tables of Spark, PostgreSQL and what Ibis connects to: asked the same SQL, translated by sqlglot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.base.text import name, redact
from polyjudge.read.table import KINDS, Table, csv_head, ident, open_frame

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
        said = name(redact(str(error).strip().split("\n")[0]) or type(error).__name__, 200)
        raise PanelError(f"{where} could not answer: {said}. If it lost a worker, run this again.") from None


class Connection:
    """What a DuckDB connection does, done by another engine."""

    def __init__(self, table: Any, where: str) -> None:
        self.backend, self.table, self.where = table._find_backend(use_default=True), table, where
        self.name = str(self.backend.name)
        self.found: Any = None

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
        import pyarrow as pa

        with foreign_errors(self.where):
            if self.name == "postgres":  # Ibis would make a view, and the session only reads
                with self.backend.con.cursor() as cursor:
                    rows = cursor.execute(self.translated(text)).fetchall()
                    titles = [c.name for c in cursor.description]
                columns = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
                self.found = pa.Table.from_arrays([pa.array(list(c)) for c in columns], names=titles)
            elif self.name == "pyspark":  # Ibis would pass every row as an object
                self.found = self.backend._session.sql(self.translated(text)).toArrow()
            else:
                self.found = self.backend.sql(self.translated(text)).to_pyarrow()
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""
        return list(zip(*(c.to_pylist() for c in self.found.columns), strict=True))

    def fetchnumpy(self) -> dict[str, Any]:
        """All columns as arrays."""
        return {c: self.found[c].to_pandas().to_numpy() for c in self.found.column_names}

    def create(self, into: str, text: str, overwrite: bool) -> None:
        """Make a new table of a query's rows, where the table is."""
        with foreign_errors(self.where):
            if into in self.backend.list_tables() and not overwrite:
                raise UsageError(f"There is a table {name(into)} already. Name a new one, or --overwrite.")
            with suppress(AttributeError):
                self.backend.con.rollback()
                self.backend.con.read_only = False
            self.backend.create_table(into, self.backend.sql(self.translated(text)), overwrite=overwrite)


def open_foreign(source: Any, engine: str | None = None) -> Table:
    """An address such as postgres://user@host/database::table, a Spark frame, an Ibis table."""
    try:
        import ibis
    except ImportError:
        raise UsageError("Databases and warehouses need: pip install 'polyjudge[warehouse]'.") from None
    where = name(redact(source), 200) if isinstance(source, str) else "the table"
    with foreign_errors("The engine"):
        table = source
        if isinstance(source, str):
            table = spark_files(source) if engine == "spark" else _served(ibis, source)
        if type(table).__module__.startswith("pyspark"):
            view = f"polyjudge_{id(table):x}"
            table.createOrReplaceTempView(view)
            table = ibis.pyspark.connect(table.sparkSession).table(view)
        backend = table._find_backend(use_default=True).name
        if backend in ("sqlite", "polars", "datafusion", "duckdb"):  # on this machine: our own reads the rows
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


def _served(ibis: Any, text: str) -> Any:
    """A table of a PostgreSQL server, in a session that only reads."""
    address, _, table = text.rpartition("::") if "::" in text else (text, "", "")
    scheme = address.partition("://")[0].lower()
    if scheme not in ("postgres", "postgresql"):
        raise UsageError(
            f"Scores are not fetched from {name(scheme, 40)} addresses. Name a file by its path, or a table of a "
            "database: postgres://HOST/DATABASE::TABLE."
        )
    if not table:
        raise UsageError("Name the table as well: ADDRESS::TABLE.")
    schema, _, plain = table.rpartition(".")
    backend = ibis.connect(address)
    backend.con.rollback()
    backend.con.autocommit, backend.con.read_only = False, True
    return backend.table(plain, database=schema or None)


def spark_files(address: str) -> Any:
    """Files, or a table of Spark's catalogue, as a Spark frame. CSV columns are text, as in our own engine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Spark is not installed: pip install 'polyjudge[spark]'.") from None
    settings = {
        "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR",
    }  # fmt: skip
    made = SparkSession.builder.appName("polyjudge").config(map=settings)
    session = SparkSession.getActiveSession() or made.getOrCreate()
    reader = session.read.options(recursiveFileLookup=True, mode="FAILFAST")  # else a folder score=7 becomes a column
    plain = address.lower().removesuffix(".gz")
    if plain.endswith(KINDS["csv"]):
        separator = csv_head(Path(address))[1] if os.path.isfile(address) else ","
        return reader.options(header=True, quote='"', escape='"', multiLine=True, sep=separator).csv(address)
    if plain.endswith(KINDS["json"]):
        return reader.option("primitivesAsString", True).json(address)
    return reader.parquet(address) if "/" in address or plain.endswith(KINDS["parquet"]) else session.table(address)
