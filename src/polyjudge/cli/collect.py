"""`polyjudge collect`."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyjudge.cli import options as o
from polyjudge.cli.output import print_json
from polyjudge.core.errors import UsageError

if TYPE_CHECKING:
    from polyjudge.collect.summary import Summary
    from polyjudge.core.results import Result


OPTIONS = (o.Json,)


class FailOn(enum.StrEnum):
    """What makes a run end with exit code 1."""

    missing = "missing"


RetryMissing = Annotated[
    bool,
    typer.Option("--retry-missing", help="Ask again, with a reminder of the form, for answers that could not be read."),
]
FailOnMissing = Annotated[
    FailOn | None, typer.Option("--fail-on", help="Exit with 1 when answers are missing, also when all else is well.")
]
SendKey = Annotated[
    list[str] | None,
    typer.Option("--send-key", metavar="NAME=HOST", help="A host of the plan that may have a key, by the key's name."),
]


def collect(
    ctx: typer.Context,
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN", help="The plan (YAML or JSON). Without it, the run folder is only summed up."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="RUN", help="Run folder: begun, or gone on with.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the plan; show counts, prompts and estimated cost; ask nobody.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="Stop before this many dollars are spent in the run.")
    ] = None,
    retry_missing: RetryMissing = False,
    fail_on: FailOnMissing = None,
    send_key: SendKey = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the run's scores to a Parquet or CSV file.")
    ] = None,
) -> None:
    """Run the judges of a plan and keep every answer; the same command goes on where it stopped.

    Example: polyjudge collect plan.yaml -o run/ --max-cost 20 && polyjudge audit run/
    """
    from polyjudge.collect import load_plan, read_summary
    from polyjudge.collect.runner import collect as run

    as_json = o.Json.of(ctx).as_json
    if plan is None and output is None:
        raise UsageError("Give a plan, a run folder (-o RUN), or both. Example: polyjudge collect plan.yaml -o run/")
    if export is not None and export.suffix not in (".parquet", ".csv"):
        raise UsageError(f"--export writes .parquet or .csv, not {export.name!r}.")
    if dry_run:
        _preview(plan, output, as_json)
        return
    if output is None:
        raise UsageError("Say where the run is kept: -o RUN (or --dry-run to see what the plan would do).")
    if plan is None:
        summary = read_summary(output)
    else:
        from polyjudge.report.live import watching

        with watching(sys.stderr) as watch:
            try:
                summary = run(
                    load_plan(plan), output, max_cost, watch, retry_missing=retry_missing, send_key=send_key or ()
                )
            except KeyboardInterrupt:
                print(f"polyjudge: stopped. The same command goes on where it stopped ({output}).", file=sys.stderr)
                raise typer.Exit(130) from None
    _finish(summary, output, export, as_json)
    if summary.aside or summary.failed or (fail_on is FailOn.missing and (summary.missing or not summary.complete)):
        raise typer.Exit(1)


def _preview(plan: Path | None, output: Path | None, as_json: bool) -> None:
    from polyjudge.collect import load_plan
    from polyjudge.collect.preview import preview

    if plan is None:
        raise UsageError("--dry-run needs a plan.")
    result = preview(load_plan(plan), output)
    _show(result, as_json)


def _finish(summary: Summary, output: Path, export: Path | None, as_json: bool) -> None:
    if export is not None:
        from polyjudge.sources.runs import export_run

        export_run(output, export)
    _show(summary, as_json)


def _show(result: Result, as_json: bool) -> None:
    from polyjudge.report import report_of, terminal

    report = report_of(result)
    assert report is not None
    if as_json:
        print_json(report.payload())
    else:
        terminal.show(report, full=True)
