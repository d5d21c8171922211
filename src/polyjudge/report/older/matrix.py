"""A language x judge table that fits any width."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyjudge.core.labels import short

LABEL = 14
"""Widest label of a column."""


def matrix(
    console: Console,
    frame: pd.DataFrame,
    text: Callable[[str, str], str],
    style: Callable[[str, str], str] | None = None,
) -> None:
    """A language x judge table; judges that do not fit the width continue in a further table."""
    columns = [str(c) for c in frame.columns]
    heads, names = short(columns, LABEL), short(map(str, frame.index), LABEL + 6)
    first = max([cell_len(x) for x in names.values()] + [8])
    widths = {
        c: max(cell_len(heads[c]), max((cell_len(text(str(r), c)) for r in frame.index), default=0)) + 2
        for c in columns
    }
    while columns:
        room = console.width - first - 4
        taken: list[str] = []
        while columns and (not taken or room >= widths[columns[0]]):
            room -= widths[columns[0]]
            taken.append(columns.pop(0))
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(str(frame.index.name or ""), no_wrap=True)
        for c in taken:
            table.add_column(heads[c], justify="right", no_wrap=True)
        for r in frame.index:
            cells = [Text(text(str(r), c), style=style(str(r), c) if style else "") for c in taken]
            table.add_row(Text(names[str(r)]), *cells)
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
