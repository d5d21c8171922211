"""Opening tables that another engine holds: Spark, PostgreSQL, and whatever Ibis connects to."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from polyjudge.second.panel.adjustment import spark_table
from polyjudge.second.panel.columns import Columns, find_columns
from polyjudge.second.panel.errors import UsageError, foreign_errors
from polyjudge.second.panel.labels import clean
from polyjudge.second.read import duck
from polyjudge.second.read.duck_engine import DuckEngine
from polyjudge.second.read.engine import Engine
from polyjudge.second.read.limits import named

SERVERS = (
    "postgres", "postgresql", "bigquery", "clickhouse", "databricks", "mssql", "mysql", "oracle", "snowflake", "trino",
)  # fmt: skip
"""Servers that an address may name. Other schemes of Ibis open or create local files."""
STREAMED = ("sqlite", "polars", "datafusion")
"""Backends without the types or functions to group strictly: their rows are streamed into our own engine."""


def open_foreign(source: Any, table: str | None, engine: str = "duckdb") -> Any:
    """An Ibis table of an address such as postgres://user@host/database::table, of files with Spark, or of a table that
    is open already."""
    if not isinstance(source, (str, Path)):
        return as_table(source)
    address = str(source)
    if engine == "spark":
        return as_table(spark_frame(address))
    address, _, named = address.rpartition("::") if table is None and "::" in address else (address, "", table or "")
    scheme = address.partition("://")[0].lower()
    if scheme in ("http", "https", "ftp", "s3", "gs", "hf"):
        raise UsageError(f"Scores are not fetched from {scheme} addresses. Download the file and name it.")
    if scheme not in SERVERS:
        raise UsageError(
            f"There is no database of the kind {clean(scheme, 40)!r}. Addresses begin with {SERVERS[0]}:// and the "
            "like; a file is named by its path."
        )
    if not named:
        raise UsageError("Name the table as well: ADDRESS::TABLE on the command line, table=... in Python.")
    ibis = _ibis()
    schema, _, plain = named.rpartition(".")
    with foreign_errors(f"the {scheme} database"):
        backend = ibis.connect(encoded(address))
        if scheme.startswith("postgres"):
            backend.con.rollback()
            # Of every transaction, and each begun by us: a view may switch the session's own setting off.
            backend.con.autocommit, backend.con.read_only = False, True
        return backend.table(plain, database=schema or None)


def encoded(address: str) -> str:
    """An address whose user and password are written as addresses want them. A raw @, /, # or ? in one would make a
    part of it the host, and messages would name it.

    >>> encoded("postgres://me:a@b/c@host/db")
    'postgres://me:a%40b%2Fc@host/db'
    """
    scheme, _, rest = address.partition("://")
    head, mark, query = rest.partition("?")
    if "@" not in head or not re.match(r"\w+=", query or "x="):
        head, mark, query = rest, "", ""
    user, at, host = head.rpartition("@")
    if not at:
        return address
    parts = [
        quote(unquote(part) if re.fullmatch(r"(%[0-9A-Fa-f]{2}|[^%])*", part) else part, safe="")
        for part in user.split(":", 1)
    ]
    return f"{scheme}://{':'.join(parts)}@{host}{mark}{query}"


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:
        raise UsageError("Databases and warehouses need: pip install 'polyjudge[warehouse]'.") from None
    return ibis


def spark_session() -> Any:
    """The running Spark session, or a new one with Spark's own settings."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Spark is not installed. Install it with: pip install 'polyjudge[spark]'") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    with foreign_errors("Spark"):
        builder = SparkSession.builder.appName("polyjudge").config("spark.ui.showConsoleProgress", "false")
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return session


def spark_frame(address: str) -> Any:
    """Files, or a table of Spark's catalogue, as a Spark data frame. CSV columns are text, as in the other engine."""
    session = spark_session()
    reader = session.read.option("recursiveFileLookup", True)  # else a folder called score=7 becomes a column
    plain = address.lower().removesuffix(".gz")
    with foreign_errors(clean(address, 200)):
        if named(address, "csv"):
            options = {"header": True, "quote": '"', "escape": '"', "multiLine": True, "mode": "FAILFAST"}
            separator = "\t" if plain.endswith(".tsv") else ","
            if os.path.isfile(address):
                head = duck.csv_head(Path(address))
                separator = head.delimiter
                if head.above:
                    raise UsageError(
                        f"{clean(address, 200)} has lines above its header, which Spark cannot skip. Remove them, or "
                        "read the file without --engine spark."
                    )
            return reader.options(**options).csv(address, sep=separator, inferSchema=False)
        if named(address, "json"):
            return reader.option("primitivesAsString", True).option("mode", "FAILFAST").json(address)
        if "/" in address or named(address, "parquet"):
            return reader.parquet(address)
        return session.table(address)


def as_table(source: Any) -> Any:
    """A Spark data frame or an Ibis expression as an Ibis table."""
    ibis = _ibis()
    if type(source).__module__.startswith("pyspark"):
        return spark_table(source)
    if not isinstance(source, ibis.Table):
        raise UsageError(f"read_panel takes an Ibis table, not {type(source).__name__}.")
    return source


def with_label(table: Any, role: str, label: str) -> Any:
    """The table with a column that says the same of every row."""
    import ibis

    return table.mutate(**{role: ibis.literal(label)})


def open_engine(table: Any, names: dict[str, Any]) -> tuple[Engine, Columns]:
    """The engine of an Ibis table, with its columns chosen."""
    from polyjudge.second.read.ibis_engine import IbisEngine

    columns = find_columns(table.columns, **names)
    backend = table._find_backend(use_default=True)
    in_memory = type(table.op()).__name__ == "InMemoryTable"
    if backend.name in STREAMED or in_memory:
        wanted = [c for c in vars(columns).values() if c is not None]
        with foreign_errors(f"the {backend.name} table"):
            chosen = table.select(*dict.fromkeys(wanted))
            rows = chosen.to_pyarrow() if in_memory else chosen.to_pyarrow_batches()
        return DuckEngine(duck.open_frame(rows), columns), columns
    return IbisEngine(table, columns, backend.name), columns
