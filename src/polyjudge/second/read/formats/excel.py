"""Spreadsheets: Excel and OpenDocument, read by calamine (pip install 'polyjudge[excel]'); Excel is written too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.columns import usual_columns
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.duck import EXACT, MOST_ABOVE, check_names
from polyjudge.second.read.formats.names import all_languages
from polyjudge.second.read.limits import in_child

SHEETS = ("sheet", "judge (sheet)")
"""Column with the name of the sheet, where several sheets are read together: one for each language, or each judge."""


def read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """A sheet by name, the only one that is filled, or all sheets of one layout when each is of a language or judge."""
    shown = clean(path, 200)
    if not find_spec("python_calamine"):
        raise UsageError(f"{shown} is a spreadsheet. Reading it needs: pip install 'polyjudge[excel]'.")
    found = in_child("excel", [str(path), *([sheet] if sheet else [])], shown)
    sheets: dict[str, list[list[Any]]] = {name: [] for name in next(found)}
    for name, row in found:
        sheets[name].append(row)
    if sheet is not None:
        if sheet not in sheets:
            raise PanelError(f"{shown} has no sheet {clean(sheet)!r}. Its sheets are {', '.join(map(clean, sheets))}.")
        return _frame(sheets[sheet], f"{shown}, sheet {clean(sheet)}")
    filled = {name: rows for name, rows in sheets.items() if len(rows) > 1}
    if len(filled) == 1:
        return _frame(next(iter(filled.values())), shown)
    if len(filled) > 1:
        frames = {name: _frame(rows, f"{shown}, sheet {name}") for name, rows in filled.items()}
        columns = list(next(iter(frames.values())).columns)
        by_judge = not usual_columns("judge", columns) and bool(usual_columns("language", columns))
        if all(list(f.columns) == columns for f in frames.values()) and (all_languages(frames) or by_judge):
            title = SHEETS[by_judge and not all_languages(frames)]
            return pd.concat([f.assign(**{title: name}) for name, f in frames.items()], ignore_index=True)
    if not filled:
        raise PanelError(f"{shown} has no filled sheet.")
    raise PanelError(
        f"{shown} has {len(filled)} sheets ({', '.join(map(clean, filled))}). Say which one: FILE::SHEET on the "
        "command line, table=... in Python."
    )


def _frame(rows: list[list[Any]], where: str) -> pd.DataFrame:
    """The first row that fills a table is the header, titles above it are none; whole numbers lose the decimal point a
    spreadsheet gives them."""
    widths = [sum(cell not in ("", None) for cell in row) for row in rows]
    start = next((i for i, w in enumerate(widths[:MOST_ABOVE]) if w > 1), 0) if max(widths, default=0) > 1 else 0
    rows = rows[start:]
    if len(rows) < 2:
        raise PanelError(f"{where} has no rows below its header.")
    header = [str(cell).strip() for cell in rows[0]]
    keep = [i for i, title in enumerate(header) if title]
    body = [[_cell(row[i]) if i < len(row) else None for i in keep] for row in rows[1:]]
    names = [header[i] for i in keep]
    check_names(names, where)
    return pd.DataFrame(body, columns=names, dtype=object)


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT["DOUBLE"]:
        return int(value)
    return None if value == "" else value


MOST_ROWS = 1_048_576
"""Rows of a sheet, by the format."""
_BASE = "http://schemas.openxmlformats.org"
_MAIN, _OFFICE = f"{_BASE}/spreadsheetml/2006/main", f"{_BASE}/officeDocument/2006/relationships"


def write_excel(path: Path, columns: list[str], blocks: Iterable[list[tuple[Any, ...]]]) -> None:
    """Rows as a workbook: one sheet, or one for each label of the column `sheet` as `read_excel` made it.

    Text is text, never a formula.
    """
    from xml.sax.saxutils import quoteattr  # it loads all that the web needs

    at = next((columns.index(title) for title in SHEETS if title in columns), None)
    sheets: dict[str, list[tuple[Any, ...]]] = {}
    for row in chain.from_iterable(blocks):
        sheets.setdefault("Scores" if at is None else str(row[at]), []).append(row)
    kept = [i for i in range(len(columns)) if i != at]
    if any(len(rows) >= MOST_ROWS for rows in sheets.values()):
        raise UsageError(f"A sheet holds {MOST_ROWS:,} rows at most. Write .csv or .parquet.")
    places = [f"worksheets/sheet{i + 1}" for i in range(len(sheets))]
    office = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    kinds = "".join(
        f'<Override PartName="/xl/{place}.xml" ContentType="{office}.{kind}+xml"/>'
        for place, kind in [("workbook", "sheet.main"), *((place, "worksheet") for place in places)]
    )
    rels = "application/vnd.openxmlformats-package.relationships+xml"
    names = "".join(f'<sheet name={quoteattr(title)} sheetId="{i}" r:id="r{i}"/>' for i, title in enumerate(sheets, 1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_BASE}/package/2006/content-types"><Default Extension="rels" '
        f'ContentType="{rels}"/><Default Extension="xml" ContentType="application/xml"/>{kinds}</Types>',
        "_rels/.rels": _links([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _links([("worksheet", f"{place}.xml") for place in places]),
    }
    with ZipFile(path, "w", ZIP_DEFLATED) as book:
        for part, text in parts.items():
            book.writestr(_part(part), text)
        for i, rows in enumerate(sheets.values(), 1):
            with book.open(_part(f"xl/worksheets/sheet{i}.xml"), "w", force_zip64=True) as file:
                file.write(f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
                for row in chain([tuple(columns)], rows):
                    cells = "".join(_written(row[c]) for c in kept)
                    file.write(f"<row>{cells}</row>".encode())
                file.write(b"</sheetData></worksheet>")


def _part(name: str) -> ZipInfo:
    """A file of the book, dated 1980 whatever the clock says: the same scores give the same bytes."""
    part = ZipInfo(name)
    part.compress_type = ZIP_DEFLATED
    return part


def _links(parts: list[tuple[str, str]]) -> str:
    each = "".join(f'<Relationship Id="r{i}" Type="{_OFFICE}/{k}" Target="{t}"/>' for i, (k, t) in enumerate(parts, 1))
    return f'<Relationships xmlns="{_BASE}/package/2006/relationships">{each}</Relationships>'


def _written(value: Any) -> str:
    if value is None or value != value:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f"<c><v>{value!r}</v></c>"
    text = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(value))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text, quote=False)}</t></is></c>'
