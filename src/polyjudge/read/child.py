"""Run as a process of its own, with a limit of memory: readers of others that allocate what a file says.

    python child.py LIMIT excel FILE [SHEET]      python child.py LIMIT inspect FILE ...

Writes one JSON value in each line. It is started by its path, so that a spreadsheet needs no import of the package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any


def _limit(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CORE):
        most = 0 if kind == resource.RLIMIT_CORE else size
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _excel(path: str, sheet: str = "") -> Iterator[Any]:
    """The names of the sheets, then [sheet, row] of those with something in them, without empty ends and rows."""
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(path)
    yield book.sheet_names
    for name in book.sheet_names:
        if sheet in ("", name):
            for row in book.get_sheet_by_name(name).iter_rows():
                cells = [c if isinstance(c, (str, int, float, bool)) else str(c) for c in row]
                while cells and cells[-1] == "":
                    cells.pop()
                if cells:
                    yield [name, cells]


def _inspect(*paths: str) -> Iterator[Any]:
    from pathlib import Path

    from polyjudge.read.formats.inspect_logs import rows

    for path in paths:
        for row in rows(Path(path)):
            yield [path, row]


def main() -> None:
    """Write what is read; of an error one line {"error": its text}."""
    limit, kind, *given = sys.argv[1:]
    _limit(int(limit))
    try:
        for value in _excel(*given) if kind == "excel" else _inspect(*given):
            sys.stdout.write(json.dumps(value) + "\n")
    except MemoryError:
        sys.exit(9)
    except Exception as error:  # whatever the reader makes of a broken file
        sys.stdout.write(json.dumps({"error": f"{type(error).__name__}: {error}"[:400]}) + "\n")


if __name__ == "__main__":
    sys.path.pop(0)  # the modules beside this one are no modules of their own
    main()
