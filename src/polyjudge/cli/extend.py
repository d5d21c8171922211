"""`polyjudge extend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o

OPTIONS = (o.Columns, o.Reading, o.Json)


def extend(
    ctx: Context,
    calibrator: o.Calibrator,
    scores: o.Scores,
    output: Annotated[Path, Option("-o", "--output", metavar="NEW.json", help="File for the wider calibrator.")],
    target: Annotated[
        float | None, Option(help="Half width, in score points, that the advice on further tasks aims at.")
    ] = None,
) -> None:
    """Add a new language or judge to a calibrator from a handful of tasks. Fitted cells stay as they are.

    SCORES holds a few tasks in the new language and in at least one known language, by known judges (for a new judge:
    the other way round).

    Example: polyjudge extend cal.json pilot.csv -o wider.json
    """
    from polyjudge.calibrate import load_consensus
    from polyjudge.calibrate.extend import extend as widen
    from polyjudge.panel.labels import clean
    from polyjudge.questions.emit import print_json

    known = load_consensus(calibrator)
    panel = o.read(ctx, scores)
    wider, extension = widen(known, panel, target)
    wider.save(output)
    if o.Json.of(ctx).as_json:
        print_json({"calibrator": str(output), **extension.to_dict()}, "extend")
        return
    print(extension)
    print(f"Written to {clean(output, 200)}.")
