"""`polyjudge validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Context, Option

from polyjudge.questions import options as o

OPTIONS = (o.Output,)


def validate(
    ctx: Context,
    full: Annotated[
        bool, Option("--full", help="2,000 panels per scenario instead of 40: about 20 minutes on two cores.")
    ] = False,
    panels: Annotated[int | None, Option(min=2, help="Another number of panels per scenario.")] = None,
    only: Annotated[
        list[str] | None, Option(metavar="NAME", help="Only this scenario, or all of a check; repeat it.")
    ] = None,
    seed: o.Seed = 7,
    workers: Annotated[int | None, Option(min=1, help="Processes; one per core by default.")] = None,
    page: Annotated[Path | None, Option(metavar="FILE", help="Also write the table as a Markdown page.")] = None,
) -> None:
    """Test polyjudge on simulated panels whose truth is known: bias, coverage, false alarms, power, gain.

    Exits with 1 when a figure breaks its promise by more than chance allows.

    Example: polyjudge validate

    Example: polyjudge validate --full --page docs/validation.md

    Example: polyjudge validate --panels 500 --only nights
    """
    from polyjudge.panel.errors import UsageError
    from polyjudge.panel.files import atomic_write
    from polyjudge.questions.emit import emit
    from polyjudge.report.console import progress_bar
    from validation import SCENARIOS
    from validation import validate as run
    from validation.page import markdown

    if full and panels is not None:
        raise UsageError("--full and --panels both say how many panels: leave out --full or --panels.")
    names = {s.name for s in SCENARIOS} | {s.check for s in SCENARIOS}
    for name in only or ():
        if name not in names:
            checks = ", ".join(dict.fromkeys(s.check for s in SCENARIOS))
            raise UsageError(f"There is no scenario {name!r}. Checks are {checks}; scenarios: docs/validation.md.")
    wanted = [s for s in SCENARIOS if not only or s.name in only or s.check in only]
    with progress_bar("validating") as progress:
        result = run(full=full, panels=panels, seed=seed, workers=workers, scenarios=wanted, progress=progress)
    if page is not None:
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        with atomic_write(page) as file:
            file.write(markdown(result, before))
    emit(ctx, result, tables={"validate": result.table})
    if not result.passed:
        raise typer.Exit(1)
