"""`polyjudge validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyjudge.cli import options as o

Full = Annotated[
    bool, typer.Option("--full", help="500 panels per scenario instead of 60: about a quarter of an hour.")
]
Panels = Annotated[int | None, typer.Option("--panels", min=2, help="Another number of panels per scenario.")]
Page = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write the table as a Markdown page.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Processes; one per core by default.")]


OPTIONS = (o.Output,)


def validate(
    ctx: typer.Context,
    full: Full = False,
    panels: Panels = None,
    seed: o.Seed = 7,
    workers: Workers = None,
    page: Page = None,
) -> None:
    """Test polyjudge on simulated panels whose truth is known: bias, coverage, false alarms, power, gain.

    Exits with 1 when a figure misses its limit by more than chance allows.

    Example: polyjudge validate

    Example: polyjudge validate --full --page docs/validation.md
    """
    from polyjudge.cli.output import emit
    from polyjudge.core.errors import UsageError
    from polyjudge.core.files import atomic_write
    from polyjudge.report.console import progress_bar
    from polyjudge.validate import validate as run
    from polyjudge.validate.page import markdown

    if full and panels is not None:
        raise UsageError("--full and --panels both say how many panels: leave out --full or --panels.")
    with progress_bar("validating") as progress:
        result = run(full=full, panels=panels, seed=seed, workers=workers, progress=progress)
    if page is not None:
        with atomic_write(page) as file:
            file.write(markdown(result))
    emit(ctx, result, tables={"validate": result.table})
    if not result.passed:
        raise typer.Exit(1)
