"""`polyjudge diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option

from polyjudge.questions import options as o

OPTIONS = (o.Output,)


def diff(
    ctx: Context,
    old: Annotated[Path, Argument(metavar="OLD", help="audit.json of before, or the folder of -o.")],
    new: Annotated[Path, Argument(metavar="NEW", help="audit.json of now, or the folder of -o.")],
    level: Annotated[float, Option(help="Confidence of all intervals of a table together.")] = 0.95,
) -> None:
    """Compare two audits: what changed beyond noise. Exits with 1 where a change is as severe as --fail-on.

    Example: polyjudge diff before/audit.json after/audit.json --fail-on warning
    """
    from polyjudge.questions.drift.difference import difference
    from polyjudge.questions.emit import emit

    result = difference(_audit(old), _audit(new), level=level)
    tables = {"cells": result.cells, "judges": result.judges, "languages": result.languages}
    emit(ctx, result, tables=tables)


def _audit(path: Path) -> dict[str, Any]:
    from polyjudge.panel.errors import UsageError
    from polyjudge.panel.labels import clean
    from polyjudge.report.schema import read_report

    path = path / "audit.json" if path.is_dir() else path
    if not path.exists():
        raise UsageError(f"There is no file {clean(path, 200)}. `polyjudge audit SCORES -o DIR` writes it.")
    found = read_report(path)
    if found["command"] not in ("audit", "demo"):
        raise UsageError(f"{clean(path, 200)} is no audit. Name the audit.json that `audit -o DIR` wrote.")
    return found
