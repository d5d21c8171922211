"""The live view of a collection run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from polyjudge.panel.labels import clean

if TYPE_CHECKING:
    from polyjudge.collect.desk import Status


@contextmanager
def watching(file: IO[str]) -> Iterator[Callable[[list[Status]], None] | None]:
    """A live table of the judges on a terminal; a line every 30 seconds elsewhere."""
    if not file.isatty():
        yield progress_lines(file)
        return
    with Live(
        console=Console(file=file, highlight=False, markup=False, emoji=False), auto_refresh=False, transient=True
    ) as live:
        yield lambda judges: live.update(live_table(judges), refresh=True)


def progress_lines(file: IO[str], every: float = 30.0) -> Callable[[list[Status]], None]:
    """Prints how far all judges are together, now and then."""
    last = time.monotonic()

    def watch(judges: list[Status]) -> None:
        nonlocal last
        if time.monotonic() - last < every:
            return
        from polyjudge.panel.numbers import money  # pandas; the first call does not wait for it

        last = time.monotonic()
        done, total = sum(j.done for j in judges), sum(j.total for j in judges)
        known = [j.cost for j in judges if j.cost is not None]
        parts = [f"{done:,} of {total:,} calls answered"]
        for name, words in (("failed", "failed"), ("retries", "asked again"), ("missing", "unreadable")):
            if count := sum(getattr(j, name) for j in judges):
                parts.append(f"{count} {words}")
        parts += [money(sum(known))] if known else []
        parts += [f"{clean(j.judge)}: {clean(said, 100)}" for j in judges if (said := j.note or j.last)]
        print("polyjudge: " + ", ".join(parts), file=file, flush=True)

    return watch


def live_table(judges: list[Status]) -> Group:
    """One row for each judge (done, failed, rate, tokens, cost so far, time left), and the last error of each."""
    from polyjudge.panel.numbers import money, number

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("judge", "done", "failed", "retries", "a second", "tokens", "cost", "left"):
        table.add_column(name, justify="left" if name == "judge" else "right", no_wrap=True)
    for j in judges:
        rate = j.done / max(time.monotonic() - j.started, 1e-9)
        left = (j.total - j.done - j.failed) / rate if rate else None
        counts = (f"{j.done}/{j.total}", str(j.failed), str(j.retries), number(rate, 1))
        spent_on = (amount(j.input_tokens + j.output_tokens), money(j.cost))
        row = (clean(j.judge, 30), *counts, *spent_on, "set aside" if j.aside else duration(left))
        table.add_row(*(Text(cell, style="red" if j.aside else "") for cell in row))
    said = [Text(f"{clean(j.judge, 30)}: {clean(j.note or j.last, 200)}") for j in judges if j.note or j.last]
    return Group(table, *said)


def amount(value: float) -> str:
    """A number of tokens: 52.1M, 9.8k, 120."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def duration(seconds: float | None) -> str:
    """A time left: 2 h 05 min, 3 min, 40 s."""
    if seconds is None:
        return "–"
    if seconds >= 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
