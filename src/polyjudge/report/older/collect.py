"""`polyjudge collect` on the terminal: the live view, the preview of a plan, the summary of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from polyjudge.core.labels import clean
from polyjudge.report.older.base import heading, make_console, number, p_value, say, show

if TYPE_CHECKING:
    from polyjudge.collect.preview import Preview
    from polyjudge.collect.runner import Status
    from polyjudge.collect.summary import Summary


@contextmanager
def watching(file: IO[str]) -> Iterator[Callable[[list[Status]], None] | None]:
    """A live table of the judges on a terminal; nothing elsewhere."""
    if not file.isatty():
        yield None
        return
    with Live(console=make_console(file), auto_refresh=False, transient=True) as live:
        yield lambda judges: live.update(live_table(judges), refresh=True)


def live_table(judges: list[Status]) -> Table:
    """One row for each judge: done, failed, rate, tokens, cost so far, time left."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(("judge", "done", "failed", "retries", "a second", "tokens", "cost", "left")):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for j in judges:
        spent = max(time.monotonic() - j.started, 1e-9)
        rate = j.done / spent
        left = (j.total - j.done - j.failed) / rate if rate else None
        row = (
            clean(j.judge, 30),
            f"{j.done}/{j.total}",
            str(j.failed),
            str(j.retries),
            number(rate, 1),
            amount(j.input_tokens + j.output_tokens),
            money(j.cost),
            "set aside" if j.aside else duration(left),
        )
        table.add_row(*(Text(cell, style="red" if j.aside else "") for cell in row))
    return table


def show_preview(result: Preview, console: Console | None = None) -> None:
    """Counts, the estimate per judge, and one prompt in every language."""
    console = console or make_console()
    heading(console, f"Plan: {clean(result.name)}")
    say(
        console,
        f"{result.tasks} tasks ({result.items} items) x {len(result.languages)} languages x {len(result.judges)} "
        f"judges: {result.calls:,} calls"
        + (f", {result.answered:,} of them already answered." if result.answered else "."),
    )
    if result.dropped:
        say(console, f"{len(result.dropped)} items do not align across languages and are left out.", "yellow")
    heading(console, f"Estimate (prices of {clean(result.estimate.price_date)})")
    _money_table(console, result.estimate.judges)
    say(
        console,
        "Tokens are guessed from the scripts of the prompts; expect them to be off by up to a third. No interval is "
        "given because the tokenizers are not known.",
        "dim",
    )
    for language, task, part, prompt in result.prompts.itertuples(index=False):
        heading(console, f"Prompt in {clean(language)} ({clean(task)}{', ' + clean(part) if part else ''})")
        for line in prompt.splitlines():
            say(console, clean(line, 100_000))


def show_summary(result: Summary, console: Console | None = None) -> None:
    """What the run holds and has cost, and what a person should look at."""
    console = console or make_console()
    heading(console, f"Run: {clean(result.name)} in {clean(result.folder, 200)}")
    _money_table(console, result.judges)
    if result.complete:
        say(
            console,
            f"All {int(result.judges['calls'].sum()):,} calls are answered. Next: polyjudge audit {result.folder}",
        )
    else:
        left = int(result.judges["remaining"].sum())
        why = " The cost limit was reached." if result.stopped == "cost" else ""
        say(console, f"{left:,} calls are still to be asked.{why} The same command goes on with them.", "yellow")
    for judge, reason in result.aside.items():
        say(console, f"Set aside: {clean(judge)}: {clean(reason, 400)}", "red")
    for judge, count in result.failed.items():
        if judge not in result.aside:
            say(console, f"{count} calls to {clean(judge)} failed after all retries.", "red")
    if result.dropped:
        say(console, f"{len(result.dropped)} items were left out: they do not align across languages.", "yellow")
    _unreadable(console, result)


def _unreadable(console: Console, result: Summary) -> None:
    cells = result.cells[(result.cells["missing"] > 0) | (result.cells["asked_again"] > 0)]
    if cells.empty:
        return
    heading(console, "Answers that could not be read, by cell (worst first)")
    worst = cells.sort_values(["missing_share", "asked_again"], ascending=False, kind="stable")
    show(console, worst.assign(missing_share=[f"{s:.1%}" for s in worst["missing_share"]]), most=12)
    for p, what in ((result.missing_p, "Missing answers"), (result.asked_again_p, "Answers asked again")):
        if p is None:
            continue
        if p < 0.01:
            say(
                console,
                f"{what} are not spread evenly over the cells (p {p_value(p)}): some languages or judges lose more "
                "than others, which can bias a comparison. Look at the stored answers of the worst cells.",
                "red",
            )
        else:
            say(console, f"{what} are spread over the cells as chance would (p {p_value(p)}).")


def _money_table(console: Console, judges: pd.DataFrame) -> None:
    frame = judges.copy()
    total = {c: frame[c].sum() for c in frame.columns if c not in ("judge", "model")}
    total["cost"] = frame["cost"].sum() if frame["cost"].notna().all() else float("nan")
    frame = pd.concat([frame, pd.DataFrame([{"judge": "total", "model": "", **total}])], ignore_index=True)
    for column in ("input_tokens", "output_tokens"):
        frame[column] = [amount(v) for v in frame[column]]
    frame["cost"] = [money(v) for v in frame["cost"]]
    show(console, frame.drop(columns="model").rename(columns={"input_tokens": "tokens in", "output_tokens": "out"}))


def amount(value: float) -> str:
    """A number of tokens: 52.1M, 9.8k, 120."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def money(value: float | None) -> str:
    """Dollars; a dash without a price."""
    return "–" if value is None or value != value else f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def duration(seconds: float | None) -> str:
    """A time left: 2 h 05 min, 3 min, 40 s."""
    if seconds is None:
        return "–"
    if seconds >= 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
