"""`polyjudge apply`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from typer import Argument, Context, Option

from polyjudge.second.questions import options as o

OPTIONS = (o.Labels, o.Layout, o.Json, o.Overwrite)


Unseen = StrEnum("Unseen", "error keep")
"""What to do with rows of an unknown language or judge."""


def apply(
    ctx: Context,
    calibrator: o.Calibrator,
    scores: Annotated[str, Argument(metavar="SCORES", help="Scores to calibrate; as for audit.")],
    output: Annotated[str, o.CALIBRATED],
    unseen: Annotated[Unseen, Option(help="Rows of a language or judge the calibrator does not know.")] = Unseen.error,
    column: o.NewColumn = "calibrated",
    clip: Annotated[str | None, Option(metavar="LOW:HIGH", help="Cut calibrated scores to this scale.")] = None,
    score_range: Annotated[
        str | None, Option("--range", metavar="LOW:HIGH", help="The scale that --rescale brings judges to.")
    ] = None,
    spreadsheet_safe: o.SpreadsheetSafe = False,
) -> None:
    """Calibrate new scores with a saved calibrator.

    Other columns and the order of rows stay as they are.

    Example: polyjudge apply cal.json scores.csv -o calibrated.csv
    """
    from polyjudge.second.calibrate.load import load_calibrator
    from polyjudge.second.questions.emit import print_json, print_written
    from polyjudge.second.read.writers import write_calibrated

    cal = load_calibrator(calibrator)
    limits = o.parse_range(clip, "--clip")
    written = write_calibrated(
        cal if limits is None else cal.adjustment_.clipped(limits),
        scores,
        output,
        column=column,
        unseen=unseen.value,
        overwrite=o.Overwrite.of(ctx).overwrite,
        spreadsheet_safe=spreadsheet_safe,
        range=o.parse_range(score_range),
        **o.Layout.of(ctx).layout(),
        **vars(o.Labels.of(ctx)),
    )
    notes = () if written.ends is None else cal.strangers(written.judges, written.ends)
    if o.Json.of(ctx).as_json:
        print_json({"written": vars(written), "notes": [str(note) for note in notes]}, "apply")
        return
    print_written(written)
    for note in notes:
        print(note)
