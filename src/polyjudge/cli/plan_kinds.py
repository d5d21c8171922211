"""The `--labels` and `--separate` parts of `polyjudge plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from polyjudge.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyjudge.core.panel import Panel


def plan_labels(
    ctx: typer.Context, panel: Panel | None, gold: str, half_width: float | None, batch: int, seed: int
) -> None:
    """Labels per language for a target half-width, from the pilot labels in the file `gold`."""
    if panel is None:
        raise UsageError("--labels needs the panel's scores: add --from SCORES.")
    if half_width is None:
        raise UsageError("--labels needs a target: --half-width POINTS, for example --half-width 2.")
    from polyjudge.analyse.label_budget import label_budget
    from polyjudge.core.gold import align_gold
    from polyjudge.sources.read import read_gold

    result = label_budget(panel, align_gold(panel, read_gold(gold)), half_width, batch=batch, seed=seed)
    from polyjudge.cli.output import emit

    emit(ctx, result, panel, tables={"label_plan": result.table})


def plan_separate(
    ctx: typer.Context, panel: Panel, points: float, prices: Mapping[str, float] | None, seed: int
) -> None:
    """Tasks, judges and languages that tell the two best systems of a pilot apart by `points`."""
    from polyjudge.analyse.separate import separate
    from polyjudge.cli.output import emit

    apart = separate(panel, points, prices=prices, seed=seed)
    emit(ctx, apart, panel, tables={"plan": apart.table, "variance": apart.variance.components})
