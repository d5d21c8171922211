"""`polyjudge collect`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import tell
from polyjudge.second.questions import options as o
from polyjudge.second.questions.emit import show
from polyjudge.second.questions.plan.command import Questions

if TYPE_CHECKING:
    from polyjudge.second.collect.plan import Plan
    from polyjudge.second.collect.summary import Summary
    from polyjudge.second.panel.arrays import Array
    from polyjudge.second.panel.say import Say


FailOn = StrEnum("FailOn", "missing")
"""What makes a run end with exit code 1."""
Until = StrEnum("Until", "settled")
"""When an adaptive run stops."""
RetryMissing = Annotated[
    bool, Option("--retry-missing", help="Ask again, with a reminder of the form, for answers that could not be read.")
]
SkipFailed = Annotated[
    bool, Option("--skip-failed", help="End the run with calls that fail for good (a text too long) as missing.")
]
Export = Annotated[Path | None, Option(metavar="FILE", help="Write the run's scores to a Parquet or CSV file.")]
FailOnMissing = Annotated[
    FailOn | None, Option(help="Exit with 1 when answers are missing, also when all else is well.")
]
SendKey = Annotated[
    list[str] | None, Option(metavar="NAME=HOST", help="A host of the plan that may have a key, by the key's name.")
]


class Adaptive(o.Group):
    """Stop asking what no open question needs."""

    until: Annotated[Until | None, Option(help="Buy only what open questions need, and stop when all are settled.")] = (
        None
    )
    questions: Annotated[Questions | None, Option(help="What is to be settled.")] = None
    matters: o.Matters = None
    at: Annotated[float | None, Option(help="The threshold, for --questions gate.")] = None
    guard: Annotated[bool, Option("--guard", help="Allow for failures too rare to have shown.")] = False
    pilot: Annotated[
        str | None,
        Option(metavar="SCORES", help="With --dry-run --until: earlier scores, or an audit, to simulate the run."),
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """Settings of the rule that the user named."""
        named = {"questions": self.questions and self.questions.value, "matters": self.matters, "threshold": self.at}
        return {name: value for name, value in (named | {"guard": self.guard or None}).items() if value is not None}


OPTIONS = (o.Json, Adaptive)


def collect(
    ctx: Context,
    plan: Annotated[
        Path | None,
        Argument(metavar="PLAN", help="The plan (YAML or JSON). Without it, the run folder is only summed up."),
    ] = None,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="RUN", help="Run folder: begun, or gone on with.")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check the plan; show counts, prompts and estimated cost; ask nobody.")
    ] = False,
    check: Annotated[
        bool, Option("--check", help="One call per judge and language: key, answer, price, time. Nothing is kept.")
    ] = False,
    max_cost: Annotated[float | None, Option(min=0, help="Stop before this many dollars are spent in the run.")] = None,
    retry_missing: RetryMissing = False,
    skip_failed: SkipFailed = False,
    fail_on: FailOnMissing = None,
    send_key: SendKey = None,
    export: Export = None,
) -> None:
    """Run the judges of a plan and keep every answer.

    The same command goes on where it stopped.

    Example: polyjudge collect plan.yaml -o run/ --max-cost 20 && polyjudge audit run/
    """
    from polyjudge.second.collect import load_plan

    if plan is None and output is None:
        raise UsageError("Give a plan, a run folder (-o RUN), or both. Example: polyjudge collect plan.yaml -o run/")
    if export is not None and export.suffix not in (".parquet", ".csv"):
        raise UsageError(f"--export writes .parquet or .csv, not {export.name!r}.")
    adaptive, keys = Adaptive.of(ctx), send_key or []
    if dry_run or check:
        if plan is None:
            raise UsageError("--dry-run and --check need a plan.")
        return _check(ctx, load_plan(plan), keys) if check else _preview(ctx, load_plan(plan), output, adaptive, keys)
    if output is None:
        raise UsageError("Say where the run is kept: -o RUN (or --dry-run to see what the plan would do).")
    if plan is None:
        from polyjudge.second.collect import read_summary

        summary = read_summary(output)
    else:
        read = load_plan(plan)
        options = {"max_cost": max_cost, "send_key": keys, "skip_failed": skip_failed, "retry_missing": retry_missing}
        summary = _ask(read, output, _settings(read, adaptive), **options)
    if export is not None:
        from polyjudge.second.collect.runs import export_run

        export_run(output, export)
    _show(ctx, summary)
    if summary.stopped == "interrupted":
        raise typer.Exit(130)
    if summary.aside or summary.failed or (fail_on is FailOn.missing and (summary.missing or not summary.complete)):
        raise typer.Exit(1)


def _show(ctx: Context, found: Any) -> None:
    from polyjudge.second.report import report_of

    show(report_of(found), o.Json.of(ctx).as_json, full=True)


def _ask(plan: Plan, output: Path, settings: dict[str, Any] | None, **options: Any) -> Summary:
    """Run the plan, until all is settled where there are settings."""
    from polyjudge.second.collect.live import watching

    if settings is not None and options["retry_missing"]:
        raise UsageError("--retry-missing would change what looks have seen: leave it out with --until.")
    with watching(sys.stderr) as watch:
        try:
            if settings is None:
                from polyjudge.second.collect.runner import collect as run

                return run(plan, output, watch=watch, **options)
            from polyjudge.second.collect.adaptive import collect_until
            from polyjudge.second.panel.say import word

            def say_look(look: Say) -> None:
                print(word(look), file=sys.stderr, flush=True)

            return collect_until(plan, output, settings, tell=say_look, watch=watch, **options)
        except KeyboardInterrupt:
            tell(f"stopped. The same command goes on where it stopped ({output}).")
            raise typer.Exit(130) from None


def _settings(plan: Plan, options: Adaptive) -> dict[str, Any] | None:
    """Settings of the rule from the options, else from the plan's `until`; None for an ordinary run."""
    if options.until is None and plan.until is None:
        if options.given:
            raise UsageError("--questions, --matters, --at and --guard go with --until settled.")
        return None
    from polyjudge.second.collect.adaptive import with_defaults

    kept = {} if plan.until is None else plan.until.model_dump(exclude_none=True)
    scale = (0.0, 100.0) if plan.rubric.kind in ("checklist", "compare") else plan.rubric.scale
    return with_defaults({**kept, **options.given}, (float(scale[0]), float(scale[1])))


def _pilot(source: str | None, plan: Plan, settings: dict[str, Any] | None) -> Array | None:
    from polyjudge.second.collect.adaptive import audited_scores
    from polyjudge.second.read import read_panel

    if source is None:
        return None
    if settings is None:
        raise UsageError("--pilot goes with --until settled.")
    audit = Path(source) / "audit.json" if Path(source).is_dir() else Path(source)
    if audit.suffix == ".json" and (found := audited_scores(audit, plan)) is not None:
        return found
    panel = read_panel(source, languages=[x.name for x in plan.languages], judges=[x.name for x in plan.judges])
    return panel.scores if panel.system_scores is None else panel.system_scores


def _preview(ctx: Context, plan: Plan, output: Path | None, adaptive: Adaptive, send_key: list[str]) -> None:
    from polyjudge.second.collect.preview import preview

    settings = _settings(plan, adaptive)
    found = preview(plan, output, settings, _pilot(adaptive.pilot, plan, settings), send_key)
    _show(ctx, found)
    if found.unusable:
        raise typer.Exit(2)


def _check(ctx: Context, plan: Plan, send_key: list[str]) -> None:
    from polyjudge.second.collect.preview import first_calls

    found = first_calls(plan, send_key)
    _show(ctx, found)
    if len(found.problems):
        raise typer.Exit(1)
