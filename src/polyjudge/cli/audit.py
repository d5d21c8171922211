"""`polyjudge audit`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from polyjudge.cli import options as o

if TYPE_CHECKING:
    from pathlib import Path

    from polyjudge.analyse import Audit


class Severity(StrEnum):
    """Severities of findings, from least to most."""

    info = "info"
    notice = "notice"
    warning = "warning"
    serious = "serious"


def audit(
    scores: o.Scores,
    task: o.TaskColumn = None,
    language: o.LanguageColumn = None,
    judge: o.JudgeColumn = None,
    score: o.ScoreColumn = None,
    replicate: o.ReplicateColumn = None,
    group: o.GroupColumn = None,
    at: Annotated[float | None, typer.Option("--at", help="Audit the pass rates of a gate at this score too.")] = None,
    base: Annotated[str | None, typer.Option("--base", help="Language the gate contrasts with the others.")] = None,
    fail_on: Annotated[
        Severity | None, typer.Option("--fail-on", help="Exit 1 when a finding is at least this severe.")
    ] = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=100, max=o.MOST_RESAMPLES, help="Task bootstraps.")
    ] = 1000,
    seed: o.Seed = 7,
    as_json: o.Json = False,
    output: o.Output = None,
    figures: o.Figures = None,
) -> None:
    """Show whether language changes the judges' ranking, how much, where, and how sure that is.

    Example: polyjudge audit scores.csv --at 50 --fail-on serious
    """
    from polyjudge.analyse import audit as run
    from polyjudge.cli.output import figure_formats, result_folder

    formats = figure_formats(figures, output)
    panel = o.load(scores, task=task, language=language, judge=judge, score=score, replicate=replicate, group=group)
    result = run(panel, seed=seed, resamples=resamples, threshold=at, base=base)
    if output is not None:
        with result_folder(output, "audit") as folder:
            write(result, folder, formats)
    if as_json:
        o.print_json("audit", result.to_dict())
    else:
        from polyjudge.report.terminal.audit import show_audit
        from polyjudge.report.terminal.base import make_console

        show_audit(make_console(), result)
    if fail_on is not None:
        limit = list(Severity).index(fail_on)
        if any(f.weight >= limit for f in result.findings):
            raise typer.Exit(1)


def write(result: Audit, folder: Path, formats: tuple[str, ...] = ()) -> None:
    """The audit as files: report.html with its figures, audit.json, audit.txt, and cells, reversals, ranks as CSV."""
    from polyjudge.cli.output import write_page, write_result
    from polyjudge.core.files import atomic_write
    from polyjudge.report.page import audit_page
    from polyjudge.report.terminal.audit import show_audit
    from polyjudge.report.terminal.base import make_console

    tables = {
        "cells": result.uncertainty.to_frame(),
        "reversals": result.reversals.to_frame(),
        "ranks": result.ranks.to_frame().drop(columns="tied_with"),
    }
    write_result(folder, "audit", result.to_dict(), tables)
    with atomic_write(folder / "audit.txt") as file:
        show_audit(make_console(file), result)
    write_page(
        folder, "audit", result.to_dict(), lambda command, payload: audit_page(result, command, payload), formats
    )
