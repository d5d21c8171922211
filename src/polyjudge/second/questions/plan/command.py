"""`polyjudge plan`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions import options as o
from polyjudge.second.rooms import load

if TYPE_CHECKING:
    from polyjudge.second.panel.panel import Panel

Questions = StrEnum("Questions", "judges systems cells gate")
"""What an adaptive collection wants to know."""
Prices = Annotated[
    Path | None, Option(metavar="FILE", help="With --from: what one score costs, CSV with judge, price.")
]


class Rule(o.Group):
    """Adaptive collection over scores that are already there."""

    replay: Annotated[
        str | None, Option(metavar="SCORES", help="What adaptive collection would have bought of these scores.")
    ] = None
    questions: Annotated[Questions, Option(help="With --replay: what is to be settled.")] = Questions.judges
    matters: o.Matters = None
    at: Annotated[float | None, Option(help="With --replay: the threshold of the gate.")] = None
    at_least: Annotated[bool, Option("--at-least/--above", help="Pass at the threshold too, or above it.")] = False
    first: Annotated[int, Option(min=2, help="With --replay: tasks before the first look, at least.")] = 24
    guard: Annotated[bool, Option("--guard", help="With --replay: allow for failures too rare to have shown.")] = False


OPTIONS = (Rule, o.Columns, o.Reading, o.Output)


def plan(
    ctx: Context,
    judge_count: Annotated[int | None, Option(help="Number of judges.")] = None,
    language_count: Annotated[int | None, Option(help="Number of languages.")] = None,
    sigma: Annotated[float | None, Option(help="Standard deviation of the noise of a score.")] = None,
    radius: Annotated[float | None, Option(help="Half-width wanted for every cell at once.")] = None,
    source: o.ScoresOption = None,
    interaction_sd: Annotated[float | None, Option(help="Sd of the true cells (default: the radius).")] = None,
    judge_sd: Annotated[float | None, Option(help="Sd of the judges' true means (default: the radius).")] = None,
    separate: Annotated[
        float | None, Option(metavar="POINTS", help="With --from: tell the two best systems apart by this much.")
    ] = None,
    labels: Annotated[
        str | None, Option(metavar="GOLD", help="Plan human labels instead, from this pilot of them.")
    ] = None,
    half_width: Annotated[
        float | None, Option(help="With --labels: half-width wanted for each language's mean.")
    ] = None,
    families: o.Families = None,
    prices: Prices = None,
    seed: o.Seed = 7,
) -> None:
    """Say how many tasks a panel needs, and what to buy more of.

    A collection run brings its own prices.

    Example: polyjudge plan --judge-count 6 --language-count 8 --sigma 22.24 --radius 10.3
    """
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.questions.plan.planning import plan as run
    from polyjudge.second.questions.plan.separate import separate as tell_apart

    if Rule.of(ctx).replay is not None:
        return _replay(ctx, Rule.of(ctx), seed)
    panel = _pilot(ctx, source)
    if labels is not None or half_width is not None:
        if labels is None or half_width is None or panel is None or radius is not None or separate is not None:
            raise UsageError(
                "Human labels are planned with --labels GOLD --half-width POINTS --from SCORES, all three of them; "
                "--radius and --separate plan the panel's own scores."
            )
        return _labels(ctx, panel, labels, half_width)
    if panel is not None and min(panel.shape[1:]) < 2 and separate is None:
        separate = _of_systems(panel, radius)
    costs = load("prices")[0].read_prices(prices, source or "")
    if separate is not None:
        if panel is None:
            raise UsageError("--separate plans from a pilot with systems: add --from SCORES.")
        apart = tell_apart(panel, separate, prices=costs, families=o.parse_families(families), seed=seed)
        return emit(ctx, apart, panel, tables={"plan": apart.table, "variance": apart.variance.components})
    result = run(
        panel,
        judges=judge_count,
        languages=language_count,
        sigma=sigma,
        radius=radius,
        score_range=o.parse_range(o.Reading.of(ctx).score_range),
        interaction_sd=interaction_sd,
        judge_sd=judge_sd,
        prices=costs,
        seed=seed,
    )
    emit(ctx, result, panel, tables={"plan": result.table})


def _replay(ctx: Context, rule: Rule, seed: int) -> None:
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.questions.plan.sequential import replay

    panel = o.load(ctx, str(rule.replay), inside=True)
    settings: dict[str, Any] = {n: getattr(rule, n) for n in ("matters", "at_least", "first", "guard")}
    settings |= {"questions": rule.questions.value, "threshold": rule.at}
    result = replay(panel, seed=seed, **settings)
    emit(ctx, result, panel, tables={"looks": result.looks, "questions": result.to_frame()})


def _pilot(ctx: Context, source: str | None) -> Panel | None:
    if source is not None:
        return o.load(ctx, source, inside=True)
    reading = o.Reading.of(ctx)
    if reading.judges is not None or reading.languages is not None:
        raise UsageError("--judges and --languages choose by name what --from reads; a number: --judge-count 6.")
    return None


def _of_systems(panel: Panel, radius: float | None) -> float:
    """What one language or one judge can plan for: systems that differ by 2% of the scale."""
    if not panel.systems or radius is not None:
        raise UsageError(
            "How many tasks tell what language does to judges takes two languages and two judges. Labels can be "
            "planned (--labels FILE --half-width POINTS), and with a column of systems those (--separate POINTS)."
        )
    return 0.02 * (panel.range[1] - panel.range[0])


def _labels(ctx: Context, panel: Panel, gold: str, half_width: float) -> None:
    """Labels per language for a target half-width, from the pilot labels in the file `gold`."""
    from polyjudge.second.panel.gold import align_gold, by_answer
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.questions.plan.planning import label_budget
    from polyjudge.second.read.scores import read_gold

    panel, table = by_answer(panel, read_gold(gold))
    result = label_budget(panel, align_gold(panel, table), half_width)
    emit(ctx, result, panel, tables={"label_plan": result.table})
