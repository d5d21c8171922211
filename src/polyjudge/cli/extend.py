"""`polyjudge extend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyjudge.cli import options as o


def extend(
    calibrator: o.Calibrator,
    scores: o.Scores,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="NEW.json", help="File for the wider calibrator.")],
    task: o.TaskColumn = None,
    language: o.LanguageColumn = None,
    judge: o.JudgeColumn = None,
    score: o.ScoreColumn = None,
    replicate: o.ReplicateColumn = None,
    target: Annotated[
        float | None,
        typer.Option(help="Half width, in score points, that the advice on further tasks aims at."),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Add a new language or judge to a calibrator from a handful of tasks. Fitted cells stay as they are.

    SCORES holds a few tasks in the new language and in at least one known language, by known judges (for a new judge:
    the other way round).

    Example: polyjudge extend cal.json pilot.csv -o wider.json
    """
    from polyjudge.calibrate import load_consensus
    from polyjudge.calibrate.extend import extend as widen

    known = load_consensus(calibrator)
    panel = o.read(scores, task=task, language=language, judge=judge, score=score, replicate=replicate)
    wider, extension = widen(known, panel, target)
    wider.save(output)
    if as_json:
        o.print_json("extend", {"calibrator": str(output), **extension.to_dict()})
    else:
        from polyjudge.report.terminal.base import make_console
        from polyjudge.report.terminal.extend import show_extension

        show_extension(make_console(), extension, str(output))
