"""`polyjudge demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyjudge.cli import options as o

Write = Annotated[Path | None, typer.Option("--write", metavar="FILE", help="Only write the sample scores as CSV.")]


def demo(
    write: Write = None,
    seed: o.Seed = 7,
    as_json: o.Json = False,
    output: o.Output = None,
    figures: o.Figures = None,
) -> None:
    """Audit the embedded sample panel and compare the estimate with the truth planted in it.

    Example: polyjudge demo

    Example: polyjudge demo -o report

    Example: polyjudge demo --write scores.csv && polyjudge audit scores.csv
    """
    from polyjudge.samples import sample_csv, sample_panel, sample_truth

    if write is not None:
        from polyjudge.core.errors import UsageError
        from polyjudge.core.files import atomic_path

        if as_json or output is not None or figures is not None:
            raise UsageError("--write only writes the sample scores: leave out --json, -o and --figures, or --write.")

        with atomic_path(write) as part:
            part.write_bytes(sample_csv())
        typer.echo(f"wrote the sample scores to {write}", err=True)
        return

    from polyjudge.analyse import audit
    from polyjudge.analyse.recovery import recovery
    from polyjudge.cli.output import figure_formats, result_folder, write_page

    formats = figure_formats(figures, output)
    result = audit(sample_panel(), seed=seed)
    found = recovery(result.uncertainty, sample_truth())
    everything = {**result.to_dict(), "recovery": found.to_dict()}
    if output is not None:
        from polyjudge.report.page import audit_page
        from polyjudge.report.page.others import recovery_section

        extra = [recovery_section(found)]
        with result_folder(output, "demo") as folder:
            write_page(folder, "demo", everything, lambda c, p: audit_page(result, c, p, extra), formats)
    if as_json:
        o.print_json("demo", everything)
        return

    from polyjudge.report.terminal.audit import show_audit
    from polyjudge.report.terminal.base import make_console
    from polyjudge.report.terminal.demo import show_recovery

    console = make_console()
    show_audit(console, result)
    show_recovery(console, found)
