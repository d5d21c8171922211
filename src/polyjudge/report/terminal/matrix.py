"""A language x judge table that fits any width."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyjudge.panel import clean

LABEL = 14
"""Widest label of a column."""


def matrix(
    console: Console,
    frame: pd.DataFrame,
    text: Callable[[str, str], str],
    style: Callable[[str, str], str] | None = None,
) -> None:
    """A language x judge table; judges that do not fit the width continue in a further table."""
    first = min(max([len(clean(x, LABEL + 6)) for x in frame.index] + [8]), LABEL + 6)
    columns = [str(c) for c in frame.columns]
    widths = {
        c: max(len(clean(c, LABEL)), max((len(text(str(r), c)) for r in frame.index), default=0)) + 2 for c in columns
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
            table.add_column(clean(c, LABEL), justify="right", no_wrap=True)
        for r in frame.index:
            cells = [Text(text(str(r), c), style=style(str(r), c) if style else "") for c in taken]
            table.add_row(Text(clean(r, LABEL + 6)), *cells)
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
