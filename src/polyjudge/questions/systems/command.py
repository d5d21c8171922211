"""`polyjudge systems`."""

from __future__ import annotations

from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o


def systems(
    ctx: Context,
    scores: o.Scores,
    families: Annotated[
        str | None, Option(metavar="NAME=FAMILY,...", help="Makers of judges and systems, where names do not tell.")
    ] = None,
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Show which system wins, where that depends on judge or language, and whether the judges agree.

    Example: polyjudge systems scores.csv --system model
    """
    from polyjudge.panel.errors import UsageError
    from polyjudge.questions.emit import emit
    from polyjudge.questions.systems.systems import systems as analyse

    given = {}
    for part in families.split(",") if families else []:
        name, equals, family = part.partition("=")
        if not equals or not name.strip() or not family.strip():
            raise UsageError(f"--families takes NAME=FAMILY pairs with commas between them, not {part!r}.")
        given[name.strip()] = family.strip()
    panel = o.load(ctx, scores, inside=True)
    result = o.run(analyse, panel, families=given, resamples=resamples, seed=seed)
    tables = {
        "leaderboard": result.leaderboard.systems,
        "swaps": result.leaderboard.swaps,
        "signal": result.signal.cells,
    }
    if result.favour is not None:
        tables["favour"] = result.favour.effects
    emit(ctx, result, panel, tables=tables)
