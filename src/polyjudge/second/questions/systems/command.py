"""`polyjudge systems`."""

from __future__ import annotations

from typer import Context

from polyjudge.second.questions import options as o


def systems(
    ctx: Context,
    scores: o.Scores,
    families: o.Families = None,
    items: o.Items = None,
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Show which system wins, and whether the judges agree on it.

    Also where that depends on the judge or the language.

    Example: polyjudge systems scores.csv --system model
    """
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.questions.systems.systems import systems as analysis

    panel = o.load(ctx, scores, inside=True)
    result = o.run(analysis, panel, families=o.parse_families(families), items=items, resamples=resamples, seed=seed)
    tables = {
        "leaderboard": result.leaderboard.systems,
        "swaps": result.leaderboard.swaps,
        "signal": result.signal.cells,
    }
    if result.favour is not None:
        tables["favour"] = result.favour.effects
    tables |= {
        part: getattr(result, part).cells for part in ("position", "length") if getattr(result, part) is not None
    }
    emit(ctx, result, panel, tables=tables)
