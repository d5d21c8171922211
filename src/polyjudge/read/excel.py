"""One sheet of a spreadsheet, read by calamine in a child process that may take only so much memory."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import name, names

if TYPE_CHECKING:
    import pandas as pd

SECONDS = 120
CHILD = """
import json, sys
try:
    import resource
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
except ImportError:
    pass
from python_calamine import CalamineWorkbook
book = CalamineWorkbook.from_path(sys.argv[2])
print(json.dumps(book.sheet_names))
for title in book.sheet_names:
    if sys.argv[3] in ("", title):
        for row in book.get_sheet_by_name(title).iter_rows():
            cells = [c if isinstance(c, (str, int, float, bool)) else str(c) for c in row]
            while cells and cells[-1] == "":
                cells.pop()
            if cells:
                print(json.dumps([title, cells]))
"""


def read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """The sheet that is named, or the only one with rows."""
    shown = name(path, 200)
    if not find_spec("python_calamine"):
        raise UsageError(f"{shown} is a spreadsheet. Reading it needs: pip install 'polyjudge[excel]'.")
    command = [sys.executable, "-c", CHILD, str(limits.budget()), str(path), sheet or ""]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise PanelError(f"{shown} was not read within {SECONDS} seconds. Save the sheet as CSV.") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        if done.returncode < 0 or "Memory" in said:
            raise PanelError(f"{shown} needs more memory than {limits.shown(limits.budget())}. Save the sheet as CSV.")
        raise PanelError(f"{shown} cannot be read as a spreadsheet: {name(said, 120)}.")
    lines = done.stdout.decode("utf-8").split("\n")
    titles: list[str] = json.loads(lines[0])
    if sheet is not None and sheet not in titles:
        raise PanelError(f"{shown} has no sheet {name(sheet)}. Its sheets are {names(titles, 12)}.")
    rows: dict[str, list[list[Any]]] = {}
    for line in filter(None, lines[1:]):
        title, cells = json.loads(line)
        rows.setdefault(title, []).append(cells)
    filled = [t for t, r in rows.items() if len(r) > 1]
    if not filled:
        raise PanelError(f"{shown} has no sheet with rows below a header.")
    if len(filled) > 1:
        raise PanelError(f"{shown} has {len(filled)} sheets ({names(filled, 12)}). Say which one: {shown}::SHEET.")
    return _frame(rows[filled[0]], shown)


def _frame(rows: list[list[Any]], shown: str) -> pd.DataFrame:
    """The first row with more than one cell is the header; lines of a title above it are skipped."""
    import pandas as pd

    first = next((i for i, r in enumerate(rows[:20]) if sum(c != "" for c in r) > 1), 0)
    header = [str(c).strip() for c in rows[first]]
    keep = [i for i, title in enumerate(header) if title]
    body = [[r[i] if i < len(r) and r[i] != "" else None for i in keep] for r in rows[first + 1 :]]
    if not body:
        raise PanelError(f"{shown} has no rows below its header.")
    return pd.DataFrame(body, columns=[header[i] for i in keep], dtype=object)
