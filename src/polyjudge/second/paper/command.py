"""`polyjudge paper`: reproduce its numbers, prepare its collections, report any panel as it would."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean, shell, tell
from polyjudge.second.questions import options as o

paper = typer.Typer(
    help="The paper's numbers again; its tables for your panel.\n\n"
    "Example: polyjudge paper report scores.csv -o tables",
    no_args_is_help=True,
    rich_markup_mode=None,
)
FIGURES = Option(help="Formats of the figures written to -o: svg, png, pdf, or none.")
OVERWRITE = (o.Json, o.Overwrite)


class Benchmark(StrEnum):
    """The two benchmarks of the paper."""

    devai = "devai"
    mrewardbench = "mrewardbench"


@paper.command(cls=o.command_class(OVERWRITE))
def reproduce(
    ctx: Context,
    benchmark: Annotated[str, Argument(metavar="devai|mrewardbench", help="devai or mrewardbench.")],
    data: Annotated[Path | None, Option(metavar="FILE", help="The released scores. Fetched when not given.")] = None,
    anchor: Annotated[Path | None, Option(metavar="FILE", help="The human-anchor sample (mrewardbench).")] = None,
    labels: Annotated[
        Path | None, Option(metavar="FILE", help="Human labels (devai). Fetched with the scores.")
    ] = None,
    instances: Annotated[Path | None, Option(metavar="FILE", help="The tasks with their requirements (devai).")] = None,
    judgments: Annotated[
        Path | None,
        Option(metavar="PATH", help="Verdicts on single requirements (devai): the authors' folder, or one CSV file."),
    ] = None,
    replication: Annotated[
        Path | None, Option(metavar="FILE", help="The authors' repeat calls (devai): replication_scores.csv.")
    ] = None,
    full: Annotated[bool, Option("--full", help="Show every table and every row.")] = False,
    output: o.Folder = None,
    figures: Annotated[str, FIGURES] = "svg,png,pdf",
    offline: Annotated[
        bool, Option("--offline", help="Fetch nothing. mrewardbench then uses the published matrices.")
    ] = False,
    seed: Annotated[
        int | None, Option(min=0, help="Own random draws. By default the published seeds are used.")
    ] = None,
) -> None:
    """Compute the published numbers of the paper again and say which hold. Exit 1 if one differs.

    Example: polyjudge paper reproduce devai -o paper
    """
    from polyjudge.second.paper.run import reproduce as run

    if benchmark not in list(Benchmark):
        raise UsageError(
            f"reproduce computes the paper's own numbers: devai or mrewardbench, not {clean(benchmark)!r}. The same "
            f"tables for your own scores: polyjudge paper report {shell(benchmark)}"
        )
    formats = _formats(figures)
    more = {"labels": labels, "instances": instances, "judgments": judgments, "replication": replication}
    result = run(Benchmark(benchmark).value, data, anchor, **more, offline=offline, seed=seed)
    _emit(ctx, result, "reproduce", output, formats, full)
    if result.ledger.counts["differs"]:
        raise typer.Exit(1)


@paper.command(cls=o.command_class((o.Columns, o.Reading, *OVERWRITE)))
def report(
    ctx: Context,
    scores: o.Scores,
    at: Annotated[
        list[float] | None, Option(metavar="MARK", help="Mark of a gate, again for more; default: quartiles.")
    ] = None,
    metadata: Annotated[
        Path | None, Option(metavar="FILE", help="CSV of the languages: `language`, and columns to regress on.")
    ] = None,
    control: Annotated[
        str | None, Option(metavar="SCORES", help="The same tasks with only the instructions translated.")
    ] = None,
    full: Annotated[bool, Option("--full", help="Show every table and every row.")] = False,
    output: o.Folder = None,
    figures: Annotated[str, FIGURES] = "svg,png,pdf",
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Write the paper's tables and figures for your panel, as LaTeX, Markdown and CSV.

    Example: polyjudge paper report scores.csv -o tables
    """
    from polyjudge.second.paper.any_panel import paper_report

    formats = _formats(figures)
    panel = o.load(ctx, scores)
    other = None if control is None else o.load(ctx, control)
    result = paper_report(panel, at=at or (), languages=metadata, control=other, resamples=resamples, seed=seed)
    _emit(ctx, result, "report", output, formats, full)


@paper.command(cls=o.command_class((o.Overwrite,)))
def prepare(
    ctx: Context,
    benchmark: Annotated[Benchmark, Argument(metavar="devai|mrewardbench", help="devai or mrewardbench.")],
    output: Annotated[
        Path, Option("-o", "--output", metavar="DIR", help="Folder for the plan, the items and the prompts.")
    ],
    workspaces: Annotated[
        Path | None, Option(metavar="DIR", help="The work to judge: DIR/FRAMEWORK/TASK (devai).")
    ] = None,
    instances: Annotated[Path | None, Option(metavar="FILE", help="The tasks (devai). Fetched when not given.")] = None,
    prompts: Annotated[
        Path | None, Option(metavar="DIR", help="Prompt templates to use instead of ours: DIR/LANGUAGE/*.txt (devai).")
    ] = None,
    shared: Annotated[
        bool, Option("--shared", help="Keep the items in English, translate only the instructions (devai).")
    ] = False,
    languages: Annotated[
        str | None, Option(metavar="A,B", help="Languages; all eight of the paper when not given.")
    ] = None,
    model: Annotated[
        str | None, Option("--translate", metavar="MODEL", help="Model that translates, as openai/gpt-4o.")
    ] = None,
    base_url: Annotated[str | None, Option(help="Address of the translating model.")] = None,
    translations: Annotated[
        Path | None, Option(metavar="DIR", help="Where translations are kept, to be edited.")
    ] = None,
    budget: Annotated[int, Option(min=1000, help="Characters of a workspace a judge sees.")] = 40_000,
    verdicts: Annotated[
        Path | None, Option(metavar="RUN", help="Take the verdicts out of a finished run instead.")
    ] = None,
) -> None:
    """Make plan and items to repeat a collection of the paper; then run polyjudge collect.

    Example: polyjudge paper prepare devai --workspaces workspaces --translate openai/gpt-4o -o devai
    """
    from polyjudge.second.panel.files import new_folder
    from polyjudge.second.paper import collection
    from polyjudge.second.paper.run import devai_instances

    with new_folder(output, "prepare", overwrite=o.Overwrite.of(ctx).overwrite) as folder:
        if benchmark is Benchmark.mrewardbench:
            written = collection.write_mrewardbench(folder)
        elif verdicts is not None:
            written = collection.write_verdicts(folder, collection.run_verdicts(verdicts), devai_instances(instances))
        elif workspaces is None:
            raise UsageError("--workspaces DIR says where the work to judge is: DIR/FRAMEWORK/TASK.")
        else:
            tasks, named = devai_instances(instances), collection.chosen_languages(languages)
            place = translations or Path("translations")
            said = {} if shared else collection.translations(tasks, named, place, model, base_url)
            for language, rows in said.items():
                if texts := [i for i, t in rows.items() if t.doubtful]:
                    tell(f"read {len(texts)} doubtful texts in {place}/{language}.jsonl: {', '.join(texts[:3])}")
            written = collection.write_devai(folder, tasks, workspaces, said, budget, named if shared else None)
            written += [] if prompts is None else collection.use_prompts(folder, prompts, named)
    tell(f"wrote {', '.join(p.name for p in written)} to {output}")


def _formats(text: str) -> tuple[str, ...]:
    from polyjudge.second.report.export import parse_formats

    return () if text == "none" else parse_formats(text)


def _emit(ctx: Context, result: Any, name: str, output: Path | None, formats: tuple[str, ...], full: bool) -> None:
    from polyjudge.second.panel.files import new_folder
    from polyjudge.second.paper.run import write
    from polyjudge.second.questions.emit import show
    from polyjudge.second.report import report_of

    found = report_of(result)
    assert found is not None
    written = []
    if output is not None:
        with new_folder(output, name, overwrite=o.Overwrite.of(ctx).overwrite) as folder:
            written = write(result, folder, formats)
    show(found, o.Json.of(ctx).as_json, full)
    if output is not None:
        tell(f"wrote {len(written)} files to {output}")
