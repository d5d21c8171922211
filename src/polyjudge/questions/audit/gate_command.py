"""`polyjudge gate`."""

from __future__ import annotations

from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o


def gate(
    ctx: Context,
    scores: o.Scores,
    at: Annotated[float, Option(help="The threshold.")],
    at_least: Annotated[
        bool, Option("--at-least/--above", help="A task passes at the threshold too (>=), or only above it (>).")
    ] = False,
    sweep: Annotated[str | None, Option(metavar="FIRST:LAST:STEP", help="More thresholds, as 10:70:5.")] = None,
    base: Annotated[str | None, Option(help="Language to contrast with the others.")] = None,
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Show how pass rates at a threshold depend on the language, before and after calibration.

    Example: polyjudge gate scores.csv --at 50 --at-least --base English
    """
    from polyjudge.questions.audit.gates import gates, parse_sweep
    from polyjudge.questions.emit import emit

    thresholds = parse_sweep(sweep) if sweep else []
    panel = o.load(ctx, scores)
    result = o.run(gates, panel, at, sweep=thresholds, base=base, at_least=at_least, resamples=resamples, seed=seed)
    emit(ctx, result, panel, tables={"gate": result.cells, "sweep": result.sweep})
