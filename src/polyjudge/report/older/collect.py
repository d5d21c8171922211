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
    """A live table of the judges on a terminal; a line every 30 seconds elsewhere."""
    if not file.isatty():
        yield progress_lines(file)
        return
    with Live(console=make_console(file), auto_refresh=False, transient=True) as live:
        yield lambda judges: live.update(live_table(judges), refresh=True)


def progress_lines(file: IO[str], every: float = 30.0) -> Callable[[list[Status]], None]:
    """Prints how far all judges are together, now and then."""
    last = time.monotonic()

    def watch(judges: list[Status]) -> None:
        nonlocal last
        if time.monotonic() - last < every:
            return
        last = time.monotonic()
        done, total = sum(j.done for j in judges), sum(j.total for j in judges)
        known = [j.cost for j in judges if j.cost is not None]
        parts = [f"{done:,} of {total:,} calls answered"]
        parts += [f"{count} {word}" for word, count in (
            ("failed", sum(j.failed for j in judges)), ("asked again", sum(j.retries for j in judges)),
            ("unreadable", sum(j.missing for j in judges)),
        ) if count]  # fmt: skip
        parts += [money(sum(known))] if known else []
        parts += [f"{clean(j.judge)}: {clean(j.note, 100)}" for j in judges if j.note]
        print("polyjudge: " + ", ".join(parts), file=file, flush=True)

    return watch


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
    judges = result.estimate.judges
    if judges["cost"].notna().all():
        low, high = judges["cost_low"].sum(), judges["cost_high"].sum()
        say(
            console, f"The cost lies between {money(low)} and {money(high)}: tokens are estimated from the text.", "dim"
        )
    if judges["batch"].any():
        say(console, "Judges in batch mode are priced as batches (half, unless the price says otherwise).", "dim")
    if result.examples:
        say(console, f"The plan's parser read all of its {result.examples} example answers as it should.")
    if result.unreviewed:
        shown = ", ".join(clean(name) for name in result.unreviewed)
        say(console, f"Prompts written by a machine, not yet reviewed by a speaker: {shown}.", "yellow")
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
            f"All {int(result.judges['calls'].sum()):,} calls are answered. Next: polyjudge audit "
            f"{clean(result.folder, 400)}",
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
    _notes(console, result)
    _unreadable(console, result)


def _notes(console: Console, result: Summary) -> None:
    if not result.complete:
        for judge, kind, error, calls in result.reasons.itertuples(index=False):
            say(console, f"{clean(judge)}: {calls} calls without an answer: {clean(kind)}: {clean(error, 200)}")
    if result.batches:
        say(console, f"{result.batches} batches are under way; the same command fetches them.")
    if len(result.orphans):
        count = int(result.orphans["answers"].sum())
        say(
            console,
            f"{count:,} answers belong to judges, languages, items or repeats that the plan no longer has.",
            "yellow",
        )
    for judge in dict.fromkeys(result.models["judge"]):
        names = ", ".join(clean(m) for m in result.models.loc[result.models["judge"] == judge, "model"])
        say(console, f"{clean(judge)} changed during the run: the service reports {names}.", "red")
    estimated = int(result.judges["estimated"].sum())
    if estimated:
        say(console, f"{estimated:,} attempts came without a count of tokens; their cost is an estimate.", "yellow")
    if len(result.position):
        heading(console, "Preference for the answer shown first (points over 50)")
        show(console, result.position)


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
    for factor, p, alarm in result.missing_tests.itertuples(index=False):
        if alarm and factor != "cells":
            say(
                console,
                f"Missing answers follow the {factor} (p {p_value(p)}): what is left is not a fair sample.",
                "red",
            )
    if result.missing:
        say(console, "Ask for them again in another way: the same command with --retry-missing")


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
