"""`polyjudge judges`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions import options as o
from polyjudge.second.rooms import load


def judges(
    ctx: Context,
    scores: o.Scores,
    prices: Annotated[
        Path | None, Option(metavar="FILE", help="Cost of one score by each judge: CSV or JSON with judge, price.")
    ] = None,
    gold: Annotated[str | None, Option(metavar="FILE", help="Labels: task, language, score (and system).")] = None,
    matters: Annotated[
        float | None,
        Option(metavar="POINTS", min=0, help="Cheapest panel that tells such systems apart; or change to accept."),
    ] = None,
    budget: Annotated[float | None, Option(help="Best panel for this much a task.")] = None,
    target: Annotated[float | None, Option(help="Cheapest panel with this error of a system difference.")] = None,
    max_judges: Annotated[int | None, Option(min=1, help="Try no larger panel.")] = None,
    families: o.Families = None,
    swap: Annotated[
        str | None, Option(metavar="OLD=NEW", help="May judge NEW take the place of judge OLD? Nothing else is asked.")
    ] = None,
    at: Annotated[float | None, Option(help="With --swap: also compare pass rates above this score.")] = None,
    alone: Annotated[
        bool, Option("--alone", help="With --swap: the judge is used by itself, not in the mean of the panel.")
    ] = False,
    guard: Annotated[
        bool, Option("--guard", help="With --swap: allow for failures too rare to have shown on these tasks.")
    ] = False,
    resamples: Annotated[int, Option(min=100, help="Resamples of the tasks.")] = 200,
    seed: o.Seed = 7,
) -> None:
    """Show which judges to keep, or whether one may stand in for another.

    A collection run brings its own prices; elsewhere every judge costs 1 unless --prices says more.

    Example: polyjudge judges scores.csv --prices prices.csv --budget 0.05
    """
    from polyjudge.second.panel.gold import align_gold
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.questions.judges.judges import judges as analysis
    from polyjudge.second.read.scores import read_gold

    if swap is None and (at is not None or alone or guard):
        raise UsageError("--at, --alone and --guard belong to a swap: add --swap OLD=NEW.")
    old, _, new = (swap or "").partition("=")
    if swap is not None and not (old and new):
        raise UsageError(f"--swap takes two judges, OLD=NEW, not {swap!r}.")
    panel = o.load(ctx, scores, inside=True)
    result = o.run(
        analysis,
        panel,
        swap=None if swap is None else (old, new),
        prices=None if swap else load("prices")[0].read_prices(prices, scores),
        gold=None if gold is None else align_gold(panel, read_gold(gold)),
        matters=matters,
        budget=budget,
        target=target,
        max_judges=max_judges,
        families=o.parse_families(families),
        threshold=at,
        alone=alone,
        guard=guard,
        resamples=resamples,
        seed=seed,
    )
    if result.choice is None:
        return emit(ctx, result, panel, tables={"changes": result.to_frame()})
    names = ("subsets", "best", "frontier", "groups")
    emit(ctx, result, panel, tables={name: getattr(result.choice, name) for name in names})
