"""Formats: one file per eval tool, and the shapes of tables. Recognised by content, or named by the user."""

from __future__ import annotations

import glob
import os
import tomllib
from importlib import import_module
from pathlib import Path

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import matches
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.formats.base import PEEK, Format, Peek
from polyjudge.second.read.limits import named

SIGNS: dict[str, tuple[str, ...]] = {
    "inspect_logs": (".eval", '"eval"'),
    "lm_eval": ('"filtered_resps"',),
    "promptfoo": ('"results"', '"gradingResult"', "Grader Reason"),
    "deepeval": ('"testCases"', '"test_cases"'),
    "mlflow": ("assessments",),
    "phoenix": ("annotator_kind",),
    "langfuse": ('"dataType"',),
    "openai_evals": ('"completion_fns"', "eval.run.output_item"),
    "fastchat": ('"tstamp"',),
    "otel": ("gen_ai.evaluation.result",),
    "mt_metrics": (".seg.score",),
}
"""Module of each tool's reader -> what its files are called or hold: only a reader whose sign is there is loaded, and
looks closer."""
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


def reader(module: str) -> Format:
    about = tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))[module]
    found = import_module(f"{__name__}.{module}")
    own = {part: getattr(found, part) for part in ("fits", "rows", "several", "finish") if hasattr(found, part)}
    return Format(**about, **own)


def readers() -> dict[str, Format]:
    """All readers by the names of their formats."""
    return {tool.name: tool for tool in map(reader, SIGNS)}


def find_tool(paths: list[Path], wanted: str | None = None) -> Format | None:
    """The tool whose files these are: by name when the user named it, else by content; None for a table."""
    if wanted is not None:
        known = readers()
        if wanted not in known and wanted not in TABLES:
            raise UsageError(f"There is no format {clean(wanted)!r}. Formats are {', '.join([*known, *TABLES])}.")
        return known.get(wanted)
    if not paths or not all(named(p, "json", "csv") or p.name.lower().endswith((".eval", ".seg.score")) for p in paths):
        return None
    peek = Peek(paths)
    text = peek.path.name + "\n" + peek.head
    cut = len(peek.head) >= PEEK and named(peek.path, "json")  # what tells a tool may stand further down
    maybe = (reader(module) for module, signs in SIGNS.items() if cut or any(sign in text for sign in signs))
    return next((tool for tool in maybe if tool.fits(peek)), None)


def tool_files(source: str | Path) -> list[Path]:
    """The files a tool may have written: the file itself, the matches of a glob, the fitting files of a folder."""
    text = str(source)
    if os.path.isfile(text):
        return [Path(text)]
    patterns = [text] if glob.has_magic(text) and not os.path.exists(text) else []
    if os.path.isdir(text):
        names = ("*.eval", "*.seg.score", "samples_*.jsonl", "*.jsonl", "*.json")
        patterns = [os.path.join(glob.escape(text), "**", name) for name in names]
    found = next(filter(None, map(matches, patterns)), [])
    return found if all(path.is_file() for path in found) else []
