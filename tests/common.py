"""What tests share beside fixtures: where the released scores are, what the machine must have, spreadsheets."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from components import PACKAGES, find

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("POLYJUDGE_SHARED") or ROOT.parent / "shared")
NO_SHARED = "needs the released scores"
Run = Callable[..., subprocess.CompletedProcess[str]]


def shared_file(name: str) -> Path:
    """A file of the released data (POLYJUDGE_SHARED, or ../shared). Tests that need it skip where it is absent."""
    for path in (SHARED / name, SHARED / "data" / name):
        if path.exists():
            return path
    pytest.skip(f"{NO_SHARED}: {SHARED / name} is not there")


def need(component: str) -> str:
    """Where a component of the machine is. Tests that need it skip where it is absent, and name its package."""
    path = find(component)
    if path is None:
        pytest.skip(f"needs {component}: make system installs it (Debian: {PACKAGES[component]})")
    return path


def workbook(path: Path, sheets: Mapping[str, Any]) -> None:
    """The least spreadsheet that holds these frames: strings as text, what is missing as nothing."""
    schemas = "http://schemas.openxmlformats.org"
    main, office = f"{schemas}/spreadsheetml/2006/main", f"{schemas}/officeDocument/2006/relationships"

    def cell(value: Any) -> str:
        if isinstance(value, str):
            text = escape(value, {"\r": "&#13;"})
            return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
        return f"<c><v>{value}</v></c>" if value == value else "<c/>"

    def links(kind: str, targets: list[str]) -> str:
        one = (f'<Relationship Id="r{i}" Type="{office}/{kind}" Target="{x}"/>' for i, x in enumerate(targets))
        return f'<Relationships xmlns="{schemas}/package/2006/relationships">{"".join(one)}</Relationships>'

    names = [f"worksheets/sheet{i}.xml" for i in range(len(sheets))]
    listed = "".join(f'<sheet name="{x}" sheetId="{i + 1}" r:id="r{i}"/>' for i, x in enumerate(sheets))
    with ZipFile(path, "w", ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{schemas}/package/2006/content-types"/>')
        book.writestr("_rels/.rels", links("officeDocument", ["xl/workbook.xml"]))
        book.writestr("xl/_rels/workbook.xml.rels", links("worksheet", names))
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
        )
        for name, frame in zip(names, sheets.values(), strict=True):
            rows = (f"<row>{''.join(map(cell, row))}</row>" for row in (frame.columns, *frame.itertuples(index=False)))
            book.writestr(f"xl/{name}", f'<worksheet xmlns="{main}"><sheetData>{"".join(rows)}</sheetData></worksheet>')
