"""`polyjudge reproduce`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Context, Option

from polyjudge.questions import options as o


class Benchmark(StrEnum):
    """The two benchmarks of the paper."""

    devai = "devai"
    mrewardbench = "mrewardbench"


OPTIONS = (o.Json, o.Overwrite)


def reproduce(
    ctx: Context,
    benchmark: Annotated[Benchmark, Argument(help="devai or mrewardbench.")],
    data: Annotated[Path | None, Option(metavar="FILE", help="The released scores. Fetched when not given.")] = None,
    anchor: Annotated[Path | None, Option(metavar="FILE", help="The human-anchor sample (mrewardbench).")] = None,
    labels: Annotated[
        Path | None, Option(metavar="FILE", help="Human labels (devai). Fetched with the scores.")
    ] = None,
    instances: Annotated[Path | None, Option(metavar="FILE", help="The tasks with their requirements (devai).")] = None,
    judgments: Annotated[Path | None, Option(metavar="FILE", help="Verdicts on single requirements (devai).")] = None,
    full: Annotated[bool, Option("--full", help="Show every table and every row.")] = False,
    output: o.Folder = None,
    figures: Annotated[
        str, Option(help="Formats of the figures written to -o: svg, png, pdf, or none.")
    ] = "svg,png,pdf",
    offline: Annotated[
        bool, Option("--offline", help="Fetch nothing. mrewardbench then uses the published matrices.")
    ] = False,
    seed: Annotated[
        int | None, Option(min=0, help="Own random draws. By default the published seeds are used.")
    ] = None,
) -> None:
    """Compute the published numbers of the paper again and say which hold. Exit 1 if one differs.

    Example: polyjudge reproduce devai -o paper
    """
    from polyjudge.panel.files import new_folder
    from polyjudge.paper.run import check_formats, write
    from polyjudge.paper.run import reproduce as run
    from polyjudge.paper.view import build
    from polyjudge.questions.emit import show

    formats = check_formats([] if figures == "none" else [f.strip() for f in figures.split(",") if f.strip()])
    more = {"labels": labels, "instances": instances, "judgments": judgments}
    result = run(benchmark.value, data, anchor, **more, offline=offline, seed=seed)
    written = []
    if output is not None:
        with new_folder(output, "reproduce", overwrite=o.Overwrite.of(ctx).overwrite) as folder:
            written = write(result, folder, formats)
    report = build(result)
    show(report, o.Json.of(ctx).as_json, full)
    if output is not None:
        print(f"polyjudge: wrote {len(written)} files to {output}", file=sys.stderr)
    if result.ledger.counts["differs"]:
        raise typer.Exit(1)
