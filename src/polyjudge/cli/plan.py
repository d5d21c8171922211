"""`polyjudge plan`."""

from __future__ import annotations

from typing import Annotated

import typer

from polyjudge.cli import options as o


def plan(
    judges: Annotated[int | None, typer.Option("--judges", help="Number of judges.")] = None,
    languages: Annotated[int | None, typer.Option("--languages", help="Number of languages.")] = None,
    sigma: Annotated[float | None, typer.Option("--sigma", help="Standard deviation of the noise of a score.")] = None,
    radius: Annotated[float | None, typer.Option("--radius", help="Half-width wanted for every cell at once.")] = None,
    source: o.ScoresOption = None,
    interaction_sd: Annotated[
        float | None, typer.Option("--interaction-sd", help="Sd of the true cells (default: the radius).")
    ] = None,
    judge_sd: Annotated[
        float | None, typer.Option("--judge-sd", help="Sd of the judges' true means (default: the radius).")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="GOLD", help="Plan human labels instead, from this pilot of them.")
    ] = None,
    half_width: Annotated[
        float | None, typer.Option("--half-width", help="With --labels: half-width wanted for each language's mean.")
    ] = None,
    next_labels: Annotated[
        int, typer.Option("--next-labels", min=1, help="With --labels: labels to share out next.")
    ] = 100,
    task: o.TaskColumn = None,
    language: o.LanguageColumn = None,
    judge: o.JudgeColumn = None,
    score: o.ScoreColumn = None,
    replicate: o.ReplicateColumn = None,
    seed: o.Seed = 7,
    as_json: o.Json = False,
    output: o.Output = None,
) -> None:
    """Say how many tasks a panel needs, and what to buy more of.

    Example: polyjudge plan --judges 6 --languages 8 --sigma 22.24 --radius 10.3
    """
    from polyjudge.analyse.planning import plan as run
    from polyjudge.core.errors import UsageError

    if labels is None and half_width is not None:
        raise UsageError("--half-width is of human labels: add --labels GOLD. For the panel's cells use --radius.")
    if labels is not None and radius is not None:
        raise UsageError("--radius is of the panel's cells; with --labels give --half-width.")
    score_range = o.reading_options().get("range")
    panel = None
    if source is not None:
        panel = o.load(source, task=task, language=language, judge=judge, score=score, replicate=replicate)
    if labels is not None:
        from polyjudge.cli.label_plan import plan_labels

        plan_labels(panel, labels, half_width, next_labels, seed, as_json, output)
        return
    result = run(
        panel,
        judges=judges,
        languages=languages,
        sigma=sigma,
        radius=radius,
        score_range=score_range,
        interaction_sd=interaction_sd,
        judge_sd=judge_sd,
        seed=seed,
    )
    if output is not None:
        from polyjudge.cli.output import result_folder, write_result

        with result_folder(output, "plan") as folder:
            write_result(folder, "plan", result.to_dict(), {"plan": result.table})
    if as_json:
        o.print_json("plan", result.to_dict())
    else:
        from polyjudge.report.terminal.base import make_console
        from polyjudge.report.terminal.plan import show_plan

        show_plan(make_console(), result)
