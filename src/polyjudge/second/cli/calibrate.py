"""`polyjudge calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.questions import options as o

if TYPE_CHECKING:
    from polyjudge.second.calibrate.base import Calibrator
    from polyjudge.second.panel.panel import Panel

OPTIONS = (o.Columns, o.Reading, o.Json, o.Overwrite)


def calibrate(
    ctx: Context,
    scores: o.Scores,
    output: Annotated[str | None, o.CALIBRATED] = None,
    save: Annotated[Path | None, Option(metavar="CAL", help="Save the calibrator (JSON).")] = None,
    method: Annotated[
        str | None, Option(metavar="NAME", help="cbc (the default), sparse, or any method of compare --methods all.")
    ] = None,
    shrink: Annotated[
        bool, Option("--shrink", help="Take off what looks like noise: for few tasks and many cells.")
    ] = False,
    labels: Annotated[
        Path | None,
        Option(metavar="FILE", help="Human scores, or the folder of label make: remove what judges share."),
    ] = None,
    mark: Annotated[
        float | None, Option(metavar="LEVEL", help="For a gate: move its mark cell by cell, not the scores.")
    ] = None,
    extend: Annotated[
        Path | None,
        Option(metavar="CAL", help="Add new languages or judges to this calibrator from a handful of tasks."),
    ] = None,
    target: Annotated[
        float | None, Option(help="With --extend: half width, in points, that its advice on further tasks aims at.")
    ] = None,
    criterion: o.Criterion = None,
    criteria: o.Criteria = None,
    column: Annotated[str | None, Option(help="Name of the new column; default calibrated, or margin.")] = None,
    clip: o.Clip = False,
    spreadsheet_safe: o.SpreadsheetSafe = False,
) -> None:
    """Fit a calibrator, and write the scores with calibrated ones.

    Example: polyjudge calibrate scores.csv -o calibrated.csv --save cal.json
    """
    from polyjudge.second.calibrate.methods import marked
    from polyjudge.second.estimate.identify import settle_incomplete
    from polyjudge.second.panel.say import say
    from polyjudge.second.panel.scale import scale_of

    _check({"-o": output, "--save": save, "--target": target, "--extend": extend, "--clip": clip, "--mark": mark})
    panels = o.criteria_panels(ctx, scores, criterion, criteria)
    if len(panels) > 1:
        _check_one({"--labels": labels, "--extend": extend, "--mark": mark, "--clip": clip or None})
        return _each(ctx, scores, panels, (output, save), method, shrink, column or "calibrated", spreadsheet_safe)
    everything = next(iter(panels.values()))
    alone = _alone(everything, output is not None and labels is None and extend is None)
    panel = everything if extend else settle_incomplete(everything, inside=alone or labels is not None)
    scale = scale_of(panel)
    if clip and scale.kind == "open" and panel.declared_range is None:
        raise UsageError("An open scale has no ends to cut scores to. Give them: --range LOW:HIGH.")
    cal, notes = _fitted(panel, method, shrink, labels, extend, target)
    notes += () if extend or mark is not None or (alone and labels is None) else cal.advice(panel)
    outside = 0 if mark is not None else _outside(cal, panel)
    if outside:
        values = {"of": int(panel.counts.sum()), "clipped": clip, "low": scale.low, "high": scale.high}
        notes = (say("calibrate.outside", count=outside, **values), *notes)
    if mark is not None:
        cal, notes = marked(cal, mark), (say("calibrate.mark"), *notes)
    named = column if column is not None else "calibrated" if mark is None else "margin"
    new = cal.adjustment_.clipped(scale.ends) if clip else cal
    written = _write(ctx, scores, output, new, named, panel.shape[1:] != everything.shape[1:], spreadsheet_safe)
    _finish(ctx, panel, cal, (save, "calibrator"), written, notes, {"outside": outside, "clipped": clip})


def _check(given: dict[str, Any]) -> None:
    """Options that do not go together."""
    if given["-o"] is None and given["--save"] is None:
        raise UsageError("Say where the result goes: -o OUT for calibrated scores, --save CAL for the calibrator.")
    if given["--target"] is not None and given["--extend"] is None:
        raise UsageError("--target belongs to --extend.")
    if given["--clip"] and given["--mark"] is not None:
        raise UsageError("--mark leaves the scores as they are: there is nothing to --clip.")


def _check_one(given: dict[str, Any]) -> None:
    asked = next((flag for flag, value in given.items() if value is not None), None)
    if asked is not None:
        raise UsageError(f"{asked} works on one criterion at a time: read one of them.")


def _alone(panel: Panel, by_judges: bool) -> bool:
    """Whether there is one language or one judge; an error where scores are to be calibrated by the other judges."""
    alone = min(panel.shape[1:]) < 2
    if alone and by_judges:
        raise UsageError(
            "Calibrating compares judges between languages: it takes two of each. These scores can be kept as a "
            "baseline for polyjudge drift (--save CAL, without -o), or be calibrated by labels (--labels FILE)."
        )
    return alone


def _each(
    ctx: Context, scores: str, panels: dict[str, Panel], places: tuple[str | None, Path | None], method: str | None,
    shrink: bool, column: str, spreadsheet_safe: bool,
) -> None:  # fmt: skip
    """A calibrator for each criterion, in one file; and each row's score by that of its criterion."""
    from polyjudge.second.calibrate.load import CriteriaCalibrator
    from polyjudge.second.estimate.identify import settle_incomplete

    whole = {name: settle_incomplete(panel) for name, panel in panels.items()}
    first = next(iter(panels.values()))
    said = {} if first.reading is None else first.reading.options
    output, save = places
    if output is not None and "--criterion" not in said and "--criteria" not in said:
        raise UsageError("Metrics of an eval tool are written back one at a time: say which one, --metric NAME.")
    parts = {name: _fitted(panel, method, shrink, None, None, None)[0] for name, panel in whole.items()}
    cal = CriteriaCalibrator(parts, said.get("--criterion", ""))
    part = any(whole[name].shape[1:] != panel.shape[1:] for name, panel in panels.items())
    written = _write(ctx, scores, output, cal, column, part, spreadsheet_safe)
    _finish(ctx, first, cal, (save, f"calibrators of {len(cal.parts)} criteria"), written)


def _fitted(
    panel: Panel, method: str | None, shrink: bool, labels: Path | None, extend: Path | None, target: float | None
) -> tuple[Calibrator, tuple[Any, ...]]:
    """The calibrator that the options ask for, fitted, and what there is to say about an extension."""
    from polyjudge.second.calibrate.anchored import AnchoredCalibrator
    from polyjudge.second.calibrate.consensus import ConsensusCalibrator
    from polyjudge.second.calibrate.extend import extend as widen
    from polyjudge.second.calibrate.load import load_consensus
    from polyjudge.second.calibrate.methods import find_methods

    given = {"--method": method, "--shrink": shrink, "--labels": labels, "--extend": extend}
    several = [name for name, value in given.items() if value]
    if len(several) > 1:
        raise UsageError(f"{several[0]} and {several[1]} ask for different calibrators: give one of them.")
    if extend is not None:
        wider, extension = widen(load_consensus(extend), panel, target)
        return wider, (extension,)
    if labels is not None:
        return AnchoredCalibrator().fit(panel, labels), ()
    if method is not None:
        return find_methods(method)[0].fit(panel), ()
    return ConsensusCalibrator(shrinkage="auto" if shrink else "none").fit(panel), ()


def _write(
    ctx: Context, scores: str, output: str | None, cal: Any, column: str, part: bool, spreadsheet_safe: bool
) -> Any:
    """The scores with the new column, unless only the calibrator is wanted."""
    from polyjudge.second.read.writers import write_calibrated

    if output is None:
        return None
    reading = o.Reading.of(ctx)
    part = part or reading.languages is not None or reading.judges is not None
    return write_calibrated(
        cal,
        scores,
        output,
        column=column,
        unseen="keep" if part else "error",
        overwrite=o.Overwrite.of(ctx).overwrite,
        spreadsheet_safe=spreadsheet_safe,
        range=o.parse_range(reading.score_range),
        **reading.layout(),
        **vars(o.Columns.of(ctx)),
    )


def _finish(
    ctx: Context, panel: Panel, cal: Any, saved: tuple[Path | None, str], written: Any, notes: tuple[Any, ...] = (),
    facts: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Save the calibrator, and say what was fitted, what to know about it, and where everything went."""
    from polyjudge.second.panel.records import plain
    from polyjudge.second.questions.emit import print_json, print_written

    save, what = saved
    if save is not None:
        cal.save(save)
    if o.Json.of(ctx).as_json:
        more = {} if facts is None else {"notes": plain(list(notes)), **facts}
        print_json({"calibrator": cal.to_dict(), "written": vars(written) if written else None, **more}, "calibrate")
        return
    for line in (panel, cal, *notes):
        print(line)
    if save is not None:
        print(f"Saved the {what} to {clean(save, 400)}")
    if written is not None:
        print_written(written)


def _outside(cal: Calibrator, panel: Panel) -> int:
    """Calibrated scores beyond the score scale, by the finest scores the panel holds. An open scale has no ends."""
    import numpy as np

    from polyjudge.second.panel.scale import scale_of

    scale = scale_of(panel)
    if scale.kind == "open" and panel.declared_range is None:
        return 0
    values = cal.transform(panel).finest
    return int(np.count_nonzero((values < scale.low - panel.tie_gap) | (values > scale.high + panel.tie_gap)))
