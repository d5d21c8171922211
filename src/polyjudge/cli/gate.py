"""`polyjudge gate`."""

from __future__ import annotations

from typing import Annotated

import typer

from polyjudge.cli import options as o


def gate(
    scores: o.Scores,
    at: Annotated[float, typer.Option("--at", help="The threshold: a task passes when its score is above it.")],
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="FIRST:LAST:STEP", help="More thresholds, as 10:70:5.")
    ] = None,
    base: Annotated[str | None, typer.Option("--base", help="Language to contrast with the others.")] = None,
    task: o.TaskColumn = None,
    language: o.LanguageColumn = None,
    judge: o.JudgeColumn = None,
    score: o.ScoreColumn = None,
    replicate: o.ReplicateColumn = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=100, max=o.MOST_RESAMPLES, help="Task bootstraps.")
    ] = 1000,
    seed: o.Seed = 7,
    as_json: o.Json = False,
    output: o.Output = None,
    figures: o.Figures = None,
) -> None:
    """Show how pass rates at a threshold depend on the language, before and after calibration.

    Example: polyjudge gate scores.csv --at 50 --sweep 30:70:10 --base English
    """
    from polyjudge.analyse.gates import gates, parse_sweep
    from polyjudge.cli.output import figure_formats

    formats = figure_formats(figures, output)
    thresholds = parse_sweep(sweep) if sweep else []
    panel = o.load(scores, task=task, language=language, judge=judge, score=score, replicate=replicate)
    result = gates(panel, at, sweep=thresholds, base=base, resamples=resamples, seed=seed)
    if output is not None:
        from polyjudge.cli.output import result_folder, write_page, write_result
        from polyjudge.report.page.others import gate_page

        with result_folder(output, "gate") as folder:
            write_result(folder, "gate", result.to_dict(), {"gate": result.cells, "sweep": result.sweep})
            write_page(folder, "gate", result.to_dict(), lambda c, p: gate_page(result, panel, c, p), formats)
    if as_json:
        o.print_json("gate", result.to_dict())
    else:
        from polyjudge.report.terminal.base import make_console
        from polyjudge.report.terminal.gate import show_gates

        show_gates(make_console(), result)
