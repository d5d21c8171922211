"""`polyjudge drift`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option

from polyjudge.second.questions import options as o


def drift(
    ctx: Context,
    old: Annotated[
        Path, Argument(metavar="CAL|OLD", help="A calibrator that calibrate --save wrote; or an audit.json of before.")
    ],
    new: Annotated[str, Argument(metavar="SCORES|NEW", help="New scores; or the audit.json of now (or its folder).")],
    level: Annotated[float, Option(help="Chance of no alarm when nothing changed.")] = 0.95,
    tolerance: Annotated[float, Option(help="Changes up to this many points do not count.")] = 0.0,
    runs: Annotated[int, Option(help="Keep the level over this many runs: 365 for a nightly job.")] = 1,
    seed: o.Seed = 7,
) -> None:
    """Say what changed since a calibrator or an audit was made.

    Against a calibrator it exits with 1 at a warning, or at what --fail-on names; audits only at what --fail-on names.

    Example: polyjudge drift cal.json scores.csv --runs 365 --fail-on serious
    Example: polyjudge drift before/audit.json after/audit.json --fail-on warning
    """
    from polyjudge.second.calibrate.load import load_consensus
    from polyjudge.second.panel.errors import UsageError
    from polyjudge.second.questions.drift.difference import difference, is_report
    from polyjudge.second.questions.drift.drift import drift as analyse
    from polyjudge.second.questions.emit import emit

    if is_report(old):
        if tolerance or runs != 1:
            raise UsageError("--tolerance and --runs are for new scores against a calibrator: leave them out.")
        found = difference(_audit(old), _audit(Path(new)), level=level)
        emit(ctx, found, tables={name: getattr(found, name) for name in ("cells", "judges", "languages")})
        return
    cal = load_consensus(old)
    panel = o.load(ctx, new, inside=True)
    result = o.run(analyse, cal, panel, level=level, tolerance=tolerance, seed=seed, runs=runs)
    tables = {name: getattr(result, name) for name in ("cells", "effects", "floor")}
    emit(ctx, result, panel, tables=tables, fail_on=o.Severity.warning)


def _audit(path: Path) -> dict[str, Any]:
    from polyjudge.second.panel.errors import UsageError
    from polyjudge.second.panel.labels import clean
    from polyjudge.second.report.schema import read_report

    path = path / "audit.json" if path.is_dir() else path
    if not path.exists():
        raise UsageError(f"There is no file {clean(path, 200)}. `polyjudge audit SCORES -o DIR` writes it.")
    found = read_report(path)
    if found["command"] not in ("audit", "demo"):
        raise UsageError(f"{clean(path, 200)} is no audit. Name the audit.json that `audit -o DIR` wrote.")
    return found
