"""`polyjudge explain`."""

from __future__ import annotations

from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o


def explain(
    ctx: Context,
    scores: o.Scores,
    cell: Annotated[str | None, Option(metavar="LANGUAGE,JUDGE", help="Describe this place, faulty or not.")] = None,
    matters: o.Matters = None,
    resamples: Annotated[int, Option(min=20, max=10_000, help="Halves of the tasks tried.")] = 100,
    seed: o.Seed = 7,
) -> None:
    """Say what explains the differences between languages: nothing, a few faulty places, a judge, a language, or all.

    Example: polyjudge explain scores.csv --cell Hindi,judge-a
    """
    from polyjudge.questions.audit.explain import explain as analyse
    from polyjudge.questions.audit.explain import parse_cell
    from polyjudge.questions.emit import emit

    panel = o.load(ctx, scores)
    place = None if cell is None else parse_cell(cell, panel)
    result = o.run(analyse, panel, cell=place, matters=matters, resamples=resamples, seed=seed)
    emit(ctx, result, panel, tables={"cells": result.cells, "worst": result.worst})
