"""`polyjudge audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyjudge.cli import options as o

OPTIONS = (o.Columns, o.Reading, o.Output)


def audit(
    ctx: typer.Context,
    scores: o.Scores,
    at: Annotated[float | None, typer.Option("--at", help="Audit the pass rates of a gate at this score too.")] = None,
    base: Annotated[str | None, typer.Option("--base", help="Language the gate contrasts with the others.")] = None,
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Show whether language changes the judges' ranking, how much, where, and how sure that is.

    Example: polyjudge audit scores.csv --at 50 --fail-on serious
    """
    from polyjudge.analyse import audit as run
    from polyjudge.cli.output import emit_older
    from polyjudge.core.files import atomic_write
    from polyjudge.report.older.audit import show_audit
    from polyjudge.report.older.base import make_console
    from polyjudge.report.page import audit_page

    panel = o.load(ctx, scores)
    result = run(panel, seed=seed, resamples=resamples, threshold=at, base=base)
    tables = {
        "cells": result.uncertainty.to_frame(),
        "reversals": result.reversals.to_frame(),
        "ranks": result.ranks.to_frame().drop(columns="tied_with"),
    }
    options = o.Output.of(ctx)

    def text(folder: Path) -> None:
        with atomic_write(folder / "audit.txt") as file:
            show_audit(make_console(file), result)

    emit_older(
        ctx, "audit", result.to_dict(), tables,
        lambda command, payload: audit_page(result, command, payload), lambda: show_audit(make_console(), result), text,
    )  # fmt: skip
    limit = list(o.Severity).index(options.fail_on or o.Severity.never) - 1
    if limit >= 0 and any(f.weight >= limit for f in result.findings):
        raise typer.Exit(1)
