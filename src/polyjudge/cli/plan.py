"""`polyjudge plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyjudge.cli import options as o

OPTIONS = (o.Columns, o.Reading, o.Output)


def plan(
    ctx: typer.Context,
    judge_count: Annotated[int | None, typer.Option("--judge-count", help="Number of judges.")] = None,
    language_count: Annotated[int | None, typer.Option("--language-count", help="Number of languages.")] = None,
    sigma: Annotated[float | None, typer.Option("--sigma", help="Standard deviation of the noise of a score.")] = None,
    radius: Annotated[float | None, typer.Option("--radius", help="Half-width wanted for every cell at once.")] = None,
    source: o.ScoresOption = None,
    interaction_sd: Annotated[
        float | None, typer.Option("--interaction-sd", help="Sd of the true cells (default: the radius).")
    ] = None,
    judge_sd: Annotated[
        float | None, typer.Option("--judge-sd", help="Sd of the judges' true means (default: the radius).")
    ] = None,
    separate: Annotated[
        float | None,
        typer.Option("--separate", metavar="POINTS", help="With --from: tell the two best systems apart by this much."),
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="GOLD", help="Plan human labels instead, from this pilot of them.")
    ] = None,
    half_width: Annotated[
        float | None, typer.Option("--half-width", help="With --labels: half-width wanted for each language's mean.")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="With --from: what one score costs, CSV with judge, price."),
    ] = None,
    next_labels: Annotated[
        int, typer.Option("--next-labels", min=1, help="With --labels: labels to share out next.")
    ] = 100,
    seed: o.Seed = 7,
) -> None:
    """Say how many tasks a panel needs, and what to buy more of.

    A collection run brings its own prices.

    Example: polyjudge plan --judge-count 6 --language-count 8 --sigma 22.24 --radius 10.3
    """
    from polyjudge.analyse.planning import plan as run
    from polyjudge.collect.spent import read_prices
    from polyjudge.core.errors import UsageError

    if labels is None and half_width is not None:
        raise UsageError("--half-width is of human labels: add --labels GOLD. For the panel's cells use --radius.")
    if labels is not None and radius is not None:
        raise UsageError("--radius is of the panel's cells; with --labels give --half-width.")
    reading = o.Reading.of(ctx)
    panel = None
    if source is not None:
        panel = o.load(ctx, source)
    elif reading.judges is not None or reading.languages is not None:
        raise UsageError("--judges and --languages choose by name what --from reads; a number: --judge-count 6.")
    if separate is not None:
        from polyjudge.analyse.separate import separate as tell_apart
        from polyjudge.cli.output import emit

        if panel is None or labels is not None:
            raise UsageError("--separate plans from a pilot with systems: add --from SCORES, without --labels.")
        apart = tell_apart(panel, separate, prices=read_prices(prices, source or ""), seed=seed)
        emit(ctx, apart, panel, tables={"plan": apart.table, "variance": apart.variance.components})
        return
    if labels is not None:
        from polyjudge.cli.label_plan import plan_labels

        plan_labels(ctx, panel, labels, half_width, next_labels, seed)
        return
    result = run(
        panel,
        judges=judge_count,
        languages=language_count,
        sigma=sigma,
        radius=radius,
        score_range=o.parse_range(reading.score_range),
        interaction_sd=interaction_sd,
        judge_sd=judge_sd,
        prices=read_prices(prices, source or ""),
        seed=seed,
    )
    from polyjudge.cli.output import emit

    emit(ctx, result, panel, tables={"plan": result.table})
