"""`polyjudge drift`."""

from __future__ import annotations

from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o


def drift(
    ctx: Context,
    calibrator: o.Calibrator,
    scores: o.Scores,
    level: Annotated[float, Option(help="Chance of no alarm when nothing changed.")] = 0.95,
    tolerance: Annotated[float, Option(help="Changes up to this many points do not count.")] = 0.0,
    nights: Annotated[int, Option(help="Keep the level over this many runs: 365 for a nightly job.")] = 1,
    seed: o.Seed = 7,
) -> None:
    """Compare a saved calibrator with new scores: has what it removes changed since? Made for a nightly job.

    Exits with 1 at a warning, or at what --fail-on names.

    Example: polyjudge drift cal.json scores.csv --fail-on serious
    """
    from polyjudge.calibrate import load_consensus
    from polyjudge.questions.drift.drift import drift as analyse
    from polyjudge.questions.emit import emit

    cal = load_consensus(calibrator)
    panel = o.load(ctx, scores)
    result = o.run(analyse, cal, panel, level=level, tolerance=tolerance, seed=seed, nights=nights)
    emit(
        ctx,
        result,
        panel,
        tables={"cells": result.cells, "effects": result.effects, "floor": result.floor},
        fail_on=o.Severity.warning,
    )
