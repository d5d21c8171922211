"""`polyjudge demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Context, Option

from polyjudge.second.questions import options as o

OPTIONS = (o.Output,)


def demo(
    ctx: Context,
    write: Annotated[Path | None, Option(metavar="FILE", help="Only write the sample scores as CSV.")] = None,
    seed: o.Seed = 7,
) -> None:
    """Audit the embedded sample, and hold the answer against its truth.

    Example: polyjudge demo

    Example: polyjudge demo -o report

    Example: polyjudge demo --write scores.csv && polyjudge audit scores.csv
    """
    from polyjudge.second.samples import sample_csv, sample_panel, sample_truth

    if write is not None:
        from polyjudge.second.panel.errors import UsageError
        from polyjudge.second.panel.files import atomic_path
        from polyjudge.second.panel.labels import clean

        if o.Output.of(ctx) not in (o.Output(), o.Output(overwrite=True)):
            raise UsageError("--write only writes the sample scores: leave out --json, -o and --figures, or --write.")

        with atomic_path(write) as part:
            part.write_bytes(sample_csv())
        typer.echo(f"wrote the sample scores to {clean(write, 400)}", err=True)
        return

    from dataclasses import replace

    from polyjudge.second.questions.audit.audit import Audit, audit
    from polyjudge.second.questions.audit.view import build, recovery_section
    from polyjudge.second.questions.compare.recovery import recovery
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.report.schema import envelope

    result = audit(sample_panel(), seed=seed)
    assert isinstance(result, Audit)
    assert result.uncertainty is not None
    found = recovery(result.uncertainty, sample_truth())
    report = build(result)
    report = replace(
        report,
        command="demo",
        sections=(*report.sections, recovery_section(found)),
        payload=lambda: envelope("demo", {**result.to_dict(), "recovery": found.to_dict()}),
    )
    emit(ctx, report)
