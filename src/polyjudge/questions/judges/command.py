"""`polyjudge choose`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o
from polyjudge.rooms import load


def choose(
    ctx: Context,
    scores: o.Scores,
    prices: Annotated[
        Path | None, Option(metavar="FILE", help="Cost of one score by each judge: CSV or JSON with judge, price.")
    ] = None,
    gold: Annotated[str | None, Option(metavar="FILE", help="Labels: task, language, score (and system).")] = None,
    matters: Annotated[
        float | None, Option(metavar="POINTS", min=0, help="Cheapest panel that tells such systems apart.")
    ] = None,
    budget: Annotated[float | None, Option(help="Best panel for this much a task.")] = None,
    target: Annotated[float | None, Option(help="Cheapest panel with this error of a system difference.")] = None,
    max_judges: Annotated[int | None, Option(min=1, help="Try no larger panel.")] = None,
    resamples: Annotated[int, Option(min=100, help="Resamples of the tasks.")] = 200,
    seed: o.Seed = 7,
) -> None:
    """Show which judges to keep: reliability, error and cost of every subset, by language.

    A collection run brings its own prices; elsewhere every judge costs 1 unless --prices says more.

    Example: polyjudge choose scores.csv --prices prices.csv --budget 0.05
    """
    from polyjudge.panel.gold import align_gold
    from polyjudge.questions.emit import emit
    from polyjudge.questions.judges.choose import choose as analyse
    from polyjudge.read.scores import read_gold

    panel = o.load(ctx, scores)
    labels = None if gold is None else align_gold(panel, read_gold(gold))
    result = o.run(
        analyse,
        panel,
        prices=load("prices")[0].read_prices(prices, scores),
        gold=labels,
        matters=matters,
        budget=budget,
        target=target,
        max_judges=max_judges,
        resamples=resamples,
        seed=seed,
    )
    tables = {"subsets": result.subsets, "best": result.best, "frontier": result.frontier, "copies": result.copies}
    emit(ctx, result, panel, tables=tables)
