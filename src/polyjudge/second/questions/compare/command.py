"""`polyjudge compare`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer import Context, Option

from polyjudge.second.questions import options as o

FailOn = StrEnum("FailOn", {"not_advised": "not-advised"})
"""Findings that make the command exit 1."""


def compare(
    ctx: Context,
    scores: o.Scores,
    methods: Annotated[
        str | None, Option(help="Methods, separated by commas, or all; default raw, cbc, shrunken, sparse.")
    ] = None,
    labels: Annotated[
        Path | None, Option(metavar="FILE", help="Human scores: anchored calibration is compared too.")
    ] = None,
    resamples: Annotated[
        int, Option("--resamples", min=1, max=o.MOST_RESAMPLES, help="Resamples of the tasks.")
    ] = 1000,
    fail_on: Annotated[FailOn | None, Option(help="Exit 1 when calibrating is not advised.")] = None,
    seed: o.Seed = 7,
) -> None:
    """Compare calibration with other methods on tasks they have not seen.

    Example: polyjudge compare scores.csv --methods raw,cbc,combat-eb --seed 7
    """
    from polyjudge.second.questions.compare.held_out import compare as run
    from polyjudge.second.questions.emit import emit

    panel = o.load(ctx, scores)
    wanted = methods if methods in (None, "all") else methods.split(",")
    result = run(panel, wanted, resamples, seed, gold=labels)
    emit(ctx, result, panel, tables={"compare": result.to_frame(), "differences": result.differences})
    if fail_on and result.advice is not None and not result.advice.calibrate:
        raise typer.Exit(1)
