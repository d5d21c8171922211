"""The live view of a collection run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from polyjudge.second.panel.labels import clean

if TYPE_CHECKING:
    from polyjudge.second.collect.desk import Status


class _Rate(ProgressColumn):
    """Calls that a judge answers a second, of late."""

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else f"{rate:.1f}/s")


@contextmanager
def watching(file: IO[str]) -> Iterator[Callable[[list[Status]], None]]:
    """On a terminal a line for each judge, kept up to date; elsewhere a line about all of them every 30 seconds."""
    if not file.isatty():
        yield progress_lines(file)
        return
    name = TextColumn("{task.description}", markup=False)
    said = TextColumn("{task.fields[said]}", markup=False, table_column=Column())  # wraps: money stands last
    console = Console(file=file, highlight=False, markup=False, emoji=False)
    with Progress(
        name, MofNCompleteColumn(), _Rate(), TimeRemainingColumn(), said,
        console=console, auto_refresh=False, transient=True,
    ) as view:  # fmt: skip
        lines: dict[str, TaskID] = {}

        def watch(judges: list[Status]) -> None:
            for j in judges:
                if j.judge not in lines:
                    lines[j.judge] = view.add_task(clean(j.judge, 30), total=j.total, said="")
                facts = [*(["set aside"] if j.aside else []), *_facts([j])]
                view.update(lines[j.judge], completed=j.done, said=", ".join(facts))
            view.refresh()

        yield watch


def progress_lines(file: IO[str], every: float = 30.0) -> Callable[[list[Status]], None]:
    """Prints how far all judges are together, now and then."""
    last = time.monotonic()

    def watch(judges: list[Status]) -> None:
        nonlocal last
        if time.monotonic() - last < every:
            return
        last = time.monotonic()
        done, total = sum(j.done for j in judges), sum(j.total for j in judges)
        print(
            "polyjudge: " + ", ".join([f"{done:,} of {total:,} calls answered", *_facts(judges)]), file=file, flush=True
        )

    return watch


def _facts(judges: list[Status]) -> list[str]:
    """What there is to say of some judges beside the calls answered: what went wrong, tokens and money."""
    from polyjudge.second.panel.numbers import money  # pandas; the first call does not wait for it

    counts = {"failed": "failed", "retries": "asked again", "missing": "unreadable"}
    sums = {words: sum(getattr(j, name) for j in judges) for name, words in counts.items()}
    sums["tokens"] = sum(j.input_tokens + j.output_tokens for j in judges)
    known = [j.cost for j in judges if j.cost is not None]
    said = [(j.judge, j.note or j.last) for j in judges]
    return [
        *(f"{count:,} {words}" for words, count in sums.items() if count),
        *([money(sum(known))] if known else []),
        *(f"{clean(judge)}: {clean(text, 100)}" for judge, text in said if text),
    ]
