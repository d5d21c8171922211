"""Formats: one file per eval tool, and the shapes of tables. Recognised by content, or named by the user."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from polyjudge.panel.errors import UsageError
from polyjudge.panel.files import matches
from polyjudge.panel.labels import clean
from polyjudge.read.formats import (
    deepeval,
    fastchat,
    inspect_logs,
    langfuse,
    lm_eval,
    mlflow,
    mt_metrics,
    openai_evals,
    otel,
    phoenix,
    promptfoo,
)
from polyjudge.read.formats.base import Format, Peek
from polyjudge.read.limits import named

TOOLS: tuple[Format, ...] = (
    inspect_logs.FORMAT,
    lm_eval.FORMAT,
    promptfoo.FORMAT,
    deepeval.FORMAT,
    mlflow.FORMAT,
    phoenix.FORMAT,
    langfuse.FORMAT,
    openai_evals.FORMAT,
    fastchat.FORMAT,
    otel.FORMAT,
    mt_metrics.FORMAT,
)
TABLES = {
    "csv": "CSV, tab, semicolon or | separated text, also .gz",
    "parquet": "Parquet: a file, a glob, a folder",
    "json": "JSON lines, a JSON list, or a document with one list of records; nested fields by dotted path",
    "excel": "Excel: .xlsx, .xls, .xlsb, .ods; FILE::SHEET where there are several (pip install 'polyjudge[excel]')",
    "duckdb": "a table of a DuckDB file: FILE::TABLE",
    "sqlite": "a table of an SQLite file: FILE::TABLE",
    "ragas": "ragas results saved as a table; --score METRIC where there are several",
}
"""Tables by what holds them; any of them may be long, wide or pairs."""


def find_tool(paths: list[Path], wanted: str | None = None) -> Format | None:
    """The tool whose files these are: by name when the user named it, else by content; None for a table."""
    if wanted is not None:
        known = {tool.name: tool for tool in TOOLS}
        if wanted not in known and wanted not in TABLES:
            raise UsageError(f"There is no format {clean(wanted)!r}. Formats are {', '.join([*known, *TABLES])}.")
        return known.get(wanted)
    if not paths or not all(named(p, "json", "csv") or p.name.lower().endswith((".eval", ".seg.score")) for p in paths):
        return None
    peek = Peek(paths)
    return next((tool for tool in TOOLS if tool.fits(peek)), None)


def tool_files(source: str | Path) -> list[Path]:
    """The files a tool may have written: the file itself, the matches of a glob, the fitting files of a folder."""
    text = str(source)
    if os.path.isdir(text):
        for pattern in ("*.eval", "*.seg.score", "samples_*.jsonl", "*.jsonl", "*.json"):
            found = matches(os.path.join(glob.escape(text), "**", pattern))
            if found:
                return found if all(path.is_file() for path in found) else []
        return []
    if glob.has_magic(text) and not os.path.exists(text):
        found = matches(text)
        return found if all(path.is_file() for path in found) else []
    return [Path(text)] if os.path.isfile(text) else []
