"""One sheet of a spreadsheet, read by calamine in a child process that may take only so much memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names

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
    for row in book.get_sheet_by_name(title).iter_rows() if sys.argv[3] in ("", title) else ():
        if any(c != "" for c in row):
            print(json.dumps([title, row], default=str))
"""


def read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """The sheet that is named, or the only one with rows. The first row with two cells is the header."""
    import pandas as pd

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
    _refuse_formulas(path, shown)
    titles, *lines = map(json.loads, done.stdout.decode("utf-8").splitlines())
    if sheet is not None and sheet not in titles:
        raise PanelError(f"{shown} has no sheet {name(sheet)}. Its sheets are {names(titles, 12)}.")
    rows = {title: [[None if c == "" else c for c in row] for of, row in lines if of == title] for title in titles}
    filled = [t for t in titles if len(rows[t]) > 1]
    if not filled:
        raise PanelError(f"{shown} has no sheet with rows below a header.")
    if len(filled) > 1:
        raise PanelError(f"{shown} has {len(filled)} sheets ({names(filled, 12)}). Say which one: {shown}::SHEET.")
    found = rows[filled[0]]
    first = next((i for i, row in enumerate(found[:-1]) if sum(c is not None for c in row) > 1), 0)
    frame = pd.DataFrame(found[first + 1 :], columns=found[first], dtype=object)
    return frame.loc[:, [c is not None for c in found[first]]].rename(columns=lambda c: str(c).strip())


FORMULA = re.compile(rb"<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")
"""A cell with a formula and without its value."""


def _refuse_formulas(path: Path, shown: str) -> None:
    """Refuse formulas that were never worked out: their cells would be read as empty."""
    if not zipfile.is_zipfile(path):
        return
    n_formulas = 0
    with zipfile.ZipFile(path) as book, suppress(RuntimeError, zipfile.BadZipFile):
        for member in book.infolist():
            if member.filename.startswith("xl/worksheets/") and member.filename.endswith(".xml"):
                limits.require(member.file_size * 2, shown)
                n_formulas += len(FORMULA.findall(book.read(member)))
    if n_formulas:
        raise PanelError(
            f"{shown} has {count(n_formulas, 'formula', 'formulas')} without a value, so those scores are not there. "
            "Open and save it in a spreadsheet program, or save the sheet as CSV."
        )
