"""Spreadsheets: Excel and OpenDocument, read by calamine (pip install 'polyjudge[excel]')."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.core.errors import PanelError, UsageError
from polyjudge.core.labels import clean
from polyjudge.sources.formats.languages import all_languages

SUFFIXES = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
SHEET = "sheet"
"""Column with the name of the sheet, where several sheets are read together."""


def read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """A sheet by name, the only one that is filled, or all sheets when each is named after a language."""
    shown = clean(path, 200)
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise UsageError(f"{shown} is a spreadsheet. Reading it needs: pip install 'polyjudge[excel]'.") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except (CalamineError, OSError, ValueError) as error:
        raise PanelError(f"{shown} cannot be read as a spreadsheet: {clean(error, 120)}.") from None
    if sheet is not None:
        if sheet not in sheets:
            raise PanelError(f"{shown} has no sheet {clean(sheet)!r}. Its sheets are {', '.join(map(clean, sheets))}.")
        return _frame(sheets[sheet], f"{shown}, sheet {clean(sheet)}")
    filled = {name: rows for name, rows in sheets.items() if len(rows) > 1}
    if len(filled) == 1:
        return _frame(next(iter(filled.values())), shown)
    if len(filled) > 1 and all_languages(filled):
        frames = [_frame(rows, f"{shown}, sheet {name}").assign(**{SHEET: name}) for name, rows in filled.items()]
        if len({tuple(f.columns) for f in frames}) == 1:
            return pd.concat(frames, ignore_index=True)
    if not filled:
        raise PanelError(f"{shown} has no filled sheet.")
    raise PanelError(
        f"{shown} has {len(filled)} sheets ({', '.join(map(clean, filled))}). Say which one: FILE::SHEET on the "
        "command line, table=... in Python."
    )


def _frame(rows: list[list[Any]], where: str) -> pd.DataFrame:
    """The first filled row is the header; whole numbers lose the decimal point a spreadsheet gives them."""
    rows = [row for row in rows if any(cell not in ("", None) for cell in row)]
    if len(rows) < 2:
        raise PanelError(f"{where} has no rows below its header.")
    header = [str(cell).strip() for cell in rows[0]]
    keep = [i for i, title in enumerate(header) if title]
    body = [[_cell(row[i]) if i < len(row) else None for i in keep] for row in rows[1:]]
    names = [header[i] for i in keep]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise PanelError(f"{where} has two columns named {clean(sorted(twice)[0])!r}. Rename one of them.")
    return pd.DataFrame(body, columns=names, dtype=object)


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if value == "" else value
