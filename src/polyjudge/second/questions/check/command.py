"""`polyjudge check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Context, Option

from polyjudge.second.questions import options as o


def check(
    ctx: Context,
    scores: Annotated[str | None, Argument(metavar="SCORES", help="Scores, as every command takes them.")] = None,
    save: Annotated[Path | None, Option(metavar="FILE", help="Keep how they are read, for --reading FILE.")] = None,
    formats: Annotated[bool, Option("--formats", help="List the formats that are read, and what each needs.")] = False,
) -> None:
    """Show how scores are understood, and what can be answered.

    Exits with 2 when a question has to be answered first, or nothing can be.

    Example: polyjudge check scores.csv

    Example: cat scores.csv | polyjudge check -
    """
    from polyjudge.second.panel.errors import UsageError
    from polyjudge.second.panel.reading import Unclear, save_reading
    from polyjudge.second.questions.check.check import Formats, check_panel, check_reading
    from polyjudge.second.questions.emit import emit

    if formats:
        emit(ctx, Formats.known())
        return
    if scores is None:
        raise UsageError("Name the scores: polyjudge check SCORES. To list formats: polyjudge check --formats.")
    try:
        panel = o.read(ctx, scores)
    except Unclear as unclear:
        emit(ctx, check_reading(unclear.reading))
        raise typer.Exit(2) from None
    result = check_panel(panel)
    if save is not None:
        save_reading(result.reading, save)
    tables = {}
    if o.Output.of(ctx).output is not None:
        tables = {"roles": result.to_frame(), "coverage": result.coverage, "answers": result.answers}
    emit(ctx, result, panel, tables=tables)
    if not result.commands:
        raise typer.Exit(2)
