"""`polyjudge audit`."""

from __future__ import annotations

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
    from polyjudge.cli.output import emit

    panel = o.load(ctx, scores)
    result = run(panel, seed=seed, resamples=resamples, threshold=at, base=base)
    tables = {
        "cells": result.uncertainty.to_frame(),
        "reversals": result.reversals.to_frame(),
        "ranks": result.ranks.to_frame().drop(columns="tied_with"),
    }
    emit(ctx, result, panel, tables=tables)
