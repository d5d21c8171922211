"""`polyjudge calibrate`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from polyjudge.questions import options as o

if TYPE_CHECKING:
    from polyjudge.calibrate import Calibrator
    from polyjudge.panel.panel import Panel


Weights = StrEnum("Weights", "uniform variance")
"""How the panel mean weighs its judges."""


Location = StrEnum("Location", "mean trimmed median_of_means huber")
"""How a cell's values over tasks are summed up."""


OPTIONS = (o.Columns, o.Reading, o.Json, o.Overwrite)


def calibrate(
    ctx: Context,
    scores: o.Scores,
    output: Annotated[str | None, o.CALIBRATED] = None,
    save: Annotated[Path | None, Option(metavar="CAL", help="Save the calibrator (JSON).")] = None,
    method: Annotated[str, Option(metavar="NAME", help="A method of compare: cbc, cbc-shrunken, z-score, ...")] = "cbc",
    weights: Annotated[Weights, Option(help="Weights of the judges.")] = Weights.uniform,
    shrinkage: Annotated[str, Option(help="auto (what left-out tasks say), none, or a share from 0 to 1.")] = "auto",
    location: Annotated[Location, Option(help="Mean over tasks, or a robust one.")] = Location.mean,
    column: o.NewColumn = "calibrated",
    clip: o.Clip = False,
    spreadsheet_safe: o.SpreadsheetSafe = False,
) -> None:
    """Fit the calibrator on scores, and write the scores with their calibrated values.

    Example: polyjudge calibrate scores.csv -o calibrated.csv --save cal.json
    """
    from polyjudge.estimate.identify import settle_incomplete
    from polyjudge.panel.errors import UsageError
    from polyjudge.panel.scale import scale_of
    from polyjudge.read.writers import write_calibrated

    if output is None and save is None:
        raise UsageError("Say where the result goes: -o OUT for calibrated scores, --save CAL for the calibrator.")
    everything = o.read(ctx, scores)
    panel = settle_incomplete(everything)
    scale = scale_of(panel)
    if clip and scale.kind == "open" and panel.declared_range is None:
        raise UsageError("An open scale has no ends to cut scores to. Give them: --range LOW:HIGH.")
    cal = _fitted(panel, method, weights, shrinkage, location)
    written = None
    if output is not None:
        reading = o.Reading.of(ctx)
        part = reading.languages is not None or reading.judges is not None
        part = part or panel.shape[1:] != everything.shape[1:]
        written = write_calibrated(
            cal.adjustment_.clipped(scale.ends) if clip else cal,
            scores,
            output,
            column=column,
            unseen="keep" if part else "error",
            overwrite=o.Overwrite.of(ctx).overwrite,
            spreadsheet_safe=spreadsheet_safe,
            **reading.layout(),
            **vars(o.Columns.of(ctx)),
        )
    if save is not None:
        cal.save(save)
    _show(ctx, panel, cal, written, save, clip)


def _show(ctx: Context, panel: Panel, cal: Any, written: Any, save: Path | None, clip: bool) -> None:
    """Say what was fitted, how many scores leave the scale, and where everything went."""
    from polyjudge.panel.say import say, word
    from polyjudge.panel.scale import scale_of
    from polyjudge.questions.emit import print_json, print_written

    outside = _outside(cal, panel)
    if o.Json.of(ctx).as_json:
        more = {"written": vars(written) if written else None, "outside": outside, "clipped": clip}
        print_json({"calibrator": cal.to_dict(), **more}, "calibrate")
        return
    print(panel)
    print(cal)
    if outside:
        low, high = scale_of(panel).ends
        of = int(panel.counts.sum())
        print(word(say("calibrate.outside", count=outside, of=of, clipped=clip, low=low, high=high)))
    if save is not None:
        print(f"Saved the calibrator to {save}")
    if written is not None:
        print_written(written)


def _fitted(panel: Panel, method: str, weights: Weights, shrinkage: str, location: Location) -> Calibrator:
    """The calibrator that the options ask for, fitted."""
    from polyjudge.calibrate import ConsensusCalibrator
    from polyjudge.calibrate.methods import find_methods
    from polyjudge.panel.errors import UsageError

    amount: str | float = shrinkage
    if shrinkage not in ("none", "auto"):
        try:
            amount = float(shrinkage)
        except ValueError:
            raise UsageError(f"--shrinkage takes none, auto or a number from 0 to 1, not {shrinkage!r}.") from None
    if method == "cbc":
        return ConsensusCalibrator(weights.value, amount, location.value).fit(panel)  # type: ignore[arg-type]
    if (weights, amount, location) != (Weights.uniform, "auto", Location.mean):
        raise UsageError("--weights, --shrinkage and --location are options of --method cbc.")
    return find_methods(method)[0].fit(panel)


def _outside(cal: Calibrator, panel: Panel) -> int:
    """Calibrated scores beyond the score scale, by the finest scores the panel holds. An open scale has no ends."""
    import numpy as np

    from polyjudge.panel.scale import scale_of

    scale = scale_of(panel)
    if scale.kind == "open" and panel.declared_range is None:
        return 0
    values = cal.transform(panel).finest
    return int(np.count_nonzero((values < scale.low - panel.tie_gap) | (values > scale.high + panel.tie_gap)))
