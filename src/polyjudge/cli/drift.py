"""`polyjudge drift`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from polyjudge.cli import options as o


class FailOn(StrEnum):
    """Least severity of a finding that makes the command exit 1."""

    never = "never"
    notice = "notice"
    warning = "warning"
    serious = "serious"


def drift(
    calibrator: o.Calibrator,
    scores: o.Scores,
    task: o.TaskColumn = None,
    language: o.LanguageColumn = None,
    judge: o.JudgeColumn = None,
    score: o.ScoreColumn = None,
    replicate: o.ReplicateColumn = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit 1 at a finding this severe.")] = FailOn.warning,
    level: Annotated[float, typer.Option("--level", help="Chance of an alarm when nothing changed.")] = 0.05,
    tolerance: Annotated[float, typer.Option("--tolerance", help="Changes up to this many points do not count.")] = 0.0,
    seed: o.Seed = 7,
    as_json: o.Json = False,
    output: o.Output = None,
) -> None:
    """Compare a saved calibrator with new scores: has what it removes changed since? Made for a nightly job.

    Example: polyjudge drift cal.json scores.csv --fail-on serious
    """
    from polyjudge.analyse.findings import SEVERITIES
    from polyjudge.calibrate import load_calibrator
    from polyjudge.calibrate.drift import drift as run

    cal = load_calibrator(calibrator)
    panel = o.load(scores, task=task, language=language, judge=judge, score=score, replicate=replicate)
    result = run(cal, panel, level=level, tolerance=tolerance, seed=seed)
    if output is not None:
        from polyjudge.cli.output import result_folder, write_result

        with result_folder(output, "drift") as folder:
            write_result(folder, "drift", result.to_dict(), {"cells": result.cells, "floor": result.floor})
    if as_json:
        o.print_json("drift", result.to_dict())
    else:
        from polyjudge.report.terminal.base import make_console
        from polyjudge.report.terminal.drift import show_drift

        show_drift(make_console(), result)
    if fail_on is not FailOn.never:
        limit = SEVERITIES.index(fail_on.value)
        if any(f.weight >= limit for f in result.findings):
            raise typer.Exit(1)
