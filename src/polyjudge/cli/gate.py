"""`polyjudge gate`."""

from __future__ import annotations

from typing import Annotated

import typer

from polyjudge.cli import options as o

OPTIONS = (o.Columns, o.Reading, o.Output)


def gate(
    ctx: typer.Context,
    scores: o.Scores,
    at: Annotated[float, typer.Option("--at", help="The threshold: a task passes when its score is above it.")],
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="FIRST:LAST:STEP", help="More thresholds, as 10:70:5.")
    ] = None,
    base: Annotated[str | None, typer.Option("--base", help="Language to contrast with the others.")] = None,
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Show how pass rates at a threshold depend on the language, before and after calibration.

    Example: polyjudge gate scores.csv --at 50 --sweep 30:70:10 --base English
    """
    from polyjudge.analyse.gates import gates, parse_sweep
    from polyjudge.cli.output import emit

    thresholds = parse_sweep(sweep) if sweep else []
    panel = o.load(ctx, scores)
    result = gates(panel, at, sweep=thresholds, base=base, resamples=resamples, seed=seed)
    emit(ctx, result, panel, tables={"gate": result.cells, "sweep": result.sweep})
