"""What becomes of a result: terminal or JSON, a folder with everything, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import typer
from typer import Context

from polyjudge.second.panel.files import atomic_write, new_folder, safe_csv
from polyjudge.second.panel.labels import clean, shell, tell
from polyjudge.second.questions.options import Output, Severity

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.second.panel.panel import Panel
    from polyjudge.second.report.result import Result
    from polyjudge.second.report.sections import Report


CELLS = "cells"
"""Table of every language and judge with its interval."""


def emit(
    ctx: Context,
    result: Result | Report,
    panel: Panel | None = None,
    *,
    tables: Mapping[str, pd.DataFrame] | None = None,
    fail_on: Severity = Severity.never,
) -> None:
    """Show a result as the user asked (`Output`), write its files, and exit 1 for findings at or over --fail-on.

    result : or a report of it that is made already
    tables : name of a CSV file in -o DIR -> its rows
    fail_on : where the user does not say
    """
    from polyjudge.second.report.result import Result, report_of

    report = report_of(result, panel) if isinstance(result, Result) else result
    assert report is not None, type(result)
    options = Output.of(ctx)
    report = replace(report, payload=cache(report.payload))  # page and JSON both hold it
    scores = ctx.params.get("scores")
    if isinstance(scores, str):  # commands to paste have what was read in place of SCORES
        lines = [[shell(scores) if w == "SCORES" else w for w in step.command.split(" ")] for step in report.next]
        steps = zip(report.next, lines, strict=True)
        report = replace(report, next=tuple(replace(step, command=" ".join(words)) for step, words in steps))
    written = write(report, str(ctx.info_name), tables or {}, options) if options.output is not None else ""
    show(report, options.as_json, options.full)
    if written:
        sys.stdout.flush()
        tell(written)
    if options.junit is not None:
        from polyjudge.second.report.junit import junit

        with atomic_write(options.junit) as file:
            file.write(junit(report, (options.fail_on or fail_on).value))
    limit = list(Severity).index(options.fail_on or fail_on) - 1
    if limit >= 0 and any(f.weight >= limit for f in report.findings):
        raise typer.Exit(1)


def show(report: Report | None, as_json: bool, full: bool, details: str = "details") -> None:
    """Print a report as JSON or text; `details` is the code of the words that say where the rest is."""
    from polyjudge.second.report import terminal

    assert report is not None
    if as_json:
        print_json(report.payload())
    else:
        terminal.show(report, full=full, details=details)


def write(report: Report, command: str, tables: Mapping[str, pd.DataFrame], options: Output) -> str:
    """report.html with its figures, summary.md, NAME.json, NAME.txt and the tables as CSV, cells as Parquet too; and
    what was written, in words."""
    from polyjudge.second.read.duck import write_parquet
    from polyjudge.second.report import terminal
    from polyjudge.second.report.markdown import markdown
    from polyjudge.second.report.page.render import command_line, render_report
    from polyjudge.second.report.schema import to_json

    texts = {
        "report.html": render_report(report, command_line()),
        "summary.md": markdown(report),
        f"{report.command}.json": to_json(report.payload(), indent=1) + "\n",
        f"{report.command}.txt": terminal.text(report, full=True) + "\n",
    }
    # The folder is made as a whole, so that it never holds a mix of two runs.
    figures: list[Any] = []
    with new_folder(str(options.output), command, overwrite=options.overwrite) as folder:
        for name, text in texts.items():
            with atomic_write(folder / name) as file:
                file.write(text)
        for name, frame in tables.items():
            with atomic_write(folder / f"{name}.csv") as file:
                file.write(safe_csv(frame, to_be_seen=True))
            if name == CELLS:
                write_parquet(frame, folder / f"{name}.parquet")
        if options.formats:
            from polyjudge.second.report.export import save_figures

            figures = save_figures(report, folder / "figures", options.formats)
    page, *others = [*texts, *(f"{name}.csv" for name in tables), *([f"{CELLS}.parquet"] if CELLS in tables else [])]
    more = f" and {len(figures)} figures" if figures else ""
    return f"wrote {str(options.output).rstrip('/')}/{page}, and beside it {', '.join(others)}{more}"


def print_written(written: Any) -> None:
    """Say what was written, and what was left as it is."""
    print(f"Wrote {written.rows} rows to {clean(written.path, 400)}")
    if written.missing:
        print(f"  {written.missing} rows have no score and no calibrated score")
    if written.unseen:
        print(
            f"  {written.unseen} rows have a language or judge the calibrator does not know: their score is unchanged"
        )


def print_json(result: dict[str, Any], command: str = "") -> None:
    """Print a result as JSON, in the frame of a command when one is given."""
    from polyjudge.second.report.schema import envelope, to_json

    text = to_json(envelope(command, result) if command else result, indent=1) + "\n"
    if (sys.stdout.encoding or "utf-8").lower().startswith("utf"):
        sys.stdout.write(text)
    else:
        sys.stdout.buffer.write(text.encode())  # JSON is UTF-8 whatever the terminal is
