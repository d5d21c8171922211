"""`polyjudge check`."""

from __future__ import annotations

import typer
from typer import Context

from polyjudge.questions import options as o


def check(ctx: Context, scores: o.Scores) -> None:
    """Show how scores are understood before anything is computed: columns, shape, scale, coverage, doubts.

    Exits with 2 when a question has to be answered first.

    Example: polyjudge check scores.csv

    Example: cat scores.csv | polyjudge check -
    """
    from polyjudge.panel.reading import Unclear
    from polyjudge.questions.check.check import check_panel, check_reading
    from polyjudge.questions.emit import emit

    try:
        panel = o.read(ctx, scores)
    except Unclear as unclear:
        emit(ctx, check_reading(unclear.reading))
        raise typer.Exit(2) from None
    result = check_panel(panel)
    emit(ctx, result, panel, tables={"roles": result.to_frame(), "coverage": result.coverage})
