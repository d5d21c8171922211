"""`polyjudge swap`."""

from __future__ import annotations

from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o


def swap(
    ctx: Context,
    scores: o.Scores,
    out: Annotated[str, Option("--from", metavar="JUDGE", help="The judge that would go.")],
    into: Annotated[str, Option("--to", metavar="JUDGE", help="The judge that would take its place.")],
    matters: o.Matters = None,
    at: Annotated[float | None, Option(help="Also compare pass rates above this score.")] = None,
    alone: Annotated[
        bool, Option("--alone", help="The judge is used by itself, not in the mean of the panel.")
    ] = False,
) -> None:
    """Say whether one judge may stand in for another: accepted, refused, or open with the tasks needed.

    Exit code 1 when it is not accepted and --fail-on says so.

    Example: polyjudge swap scores.csv --from gpt-4o --to gpt-4o-mini --matters 2
    """
    from polyjudge.questions.emit import emit
    from polyjudge.questions.judges.swap import swap as analyse

    panel = o.load(ctx, scores)
    result = o.run(analyse, panel, out, into, matters=matters, threshold=at, alone=alone)
    emit(ctx, result, panel, tables={"changes": result.changes})
