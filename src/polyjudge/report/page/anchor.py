"""The page of a panel beside human labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyjudge.core.labels import clean, label
from polyjudge.report import charts
from polyjudge.report.charts.theme import unchecked
from polyjudge.report.page.model import Column, Figure, Page, Section, table
from polyjudge.report.page.others import make_page

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.analyse.anchors import Anchor
    from polyjudge.analyse.helped import Helped
    from polyjudge.core.panel import Panel


def anchor_page(result: Anchor, panel: Panel, command: str, payload: dict[str, Any]) -> Page:
    """Agreement or error before and after, whom calibrating helps or hurts, shared shift, means, the panel's worth."""
    with unchecked():
        sections = [_decisions(result)]
        if result.panel_gain is not None:
            sections.append(_gain(result.panel_gain.table))
        if result.helped is not None:
            sections.append(_helped(result.helped))
        if result.nearest is not None:
            sections.append(_nearest(result.nearest))
        if result.shift is not None:
            sections.append(_shift(result.shift.table, result.shift.notes))
        sections += [_means(result), _worth(result)]
        return make_page(
            "Panel beside human labels",
            result,
            panel,
            command,
            payload,
            tuple(sections),
            _verdict(result),
            panel.judges,
        )


def _verdict(a: Anchor) -> tuple[str, ...]:
    i = a.invariance
    check = "Checked" if i.holds else "This does NOT hold, please report it"
    out = [
        f"{int(a.labels.sum()):,} human labels in {len(a.labels)} languages; measured is the {clean(a.measure)}.",
        f"Calibrating cannot change the decision of the panel mean. {check}: {i.changed} of {i.entries} decisions "
        f"changed, the largest move is {i.largest_change:.1g} points.",
    ]
    if a.helped is not None:
        h = a.helped
        out.append(
            f"Calibrating helps {h.helped} cells and hurts {h.hurt}; for {h.unclear} it cannot be told. All verdicts "
            f"hold at once with {h.level:.0%} confidence."
        )
    return (*out, *(clean(n, 400) for n in a.notes))


def _decisions(a: Anchor) -> Section:
    agreement = a.measure == "agreement"
    unit = "agreement" if agreement else "mean squared error, points squared"
    frame = a.table.assign(judge=a.table["decision"])
    digits = 1 if agreement else 2
    columns = {
        "judge": Column("decision" if agreement else "score of"),
        "raw": Column("raw", digits, percent=agreement, low="raw_low", high="raw_high"),
        "calibrated": Column("calibrated", digits, percent=agreement, low="calibrated_low", high="calibrated_high"),
        "gain": Column("gain", digits, True, "gain_low", "gain_high", percent=agreement),
        "changed": Column("decisions changed", 0),
        "identity": Column("true by arithmetic"),
    }
    if agreement:
        columns |= {"broken_ties": Column("of them from ties", 0), "auc": Column("AUC, cannot change", 3)}
    ends = frame[["raw_low", "raw_high", "calibrated_low", "calibrated_high", "raw", "calibrated"]].astype(float)
    domain = (float(ends.min().min()), float(ends.max().max()))
    figure = Figure(
        "agreement-chart",
        tuple(
            charts.intervals(
                frame,
                "judge",
                name,
                name.capitalize(),
                unit,
                low=f"{name}_low",
                high=f"{name}_high",
                zero=None,
                domain=domain,
            )
            for name in ("raw", "calibrated")
        ),
        f"{'Agreement with' if agreement else 'Squared error against'} the labels, before and after calibrating.",
        "Intervals are over tasks; calibration was fitted on other tasks. "
        + (
            "Ties count as no agreement. A judge's agreement can move only because calibrating moves its threshold."
            if agreement
            else "A gain is a fall of the error."
        ),
    )
    shown = table(frame, unit.capitalize(), columns, grey=lambda row: {"gain"} if row["identity"] else set())
    return Section("agreement", "Before and after calibrating", blocks=(figure, shown))


def _gain(frame: pd.DataFrame) -> Section:
    columns = {
        "fit": Column("calibration fitted on"),
        "with_labels": Column("measured with labels", 2, True, "with_labels_low", "with_labels_high"),
        "label_free": Column("known without labels", 2, True, "label_free_low", "label_free_high"),
    }
    lead = (
        "Both columns estimate the same gain and are equal when every task is labelled. On the same tasks it is "
        "arithmetic and has no interval.",
    )
    words = "Fall of the mean squared error over the whole panel, points squared"
    return Section("gain", "Gain over the whole panel", lead=lead, blocks=(table(frame, words, columns, judges=()),))


def _helped(h: Helped) -> Section:
    columns = {
        "language": Column("language"),
        "judge": Column("judge"),
        "labels": Column("labels", 0),
        "interaction": Column("interaction", 2, True),
        "gain": Column("gain, points squared", 2, True, "low", "high"),
        "verdict": Column("verdict"),
        "open_because": Column("open for want of"),
        "more_labels": Column("more labels needed", 0),
    }
    hurt = h.cells[h.cells["verdict"] == "hurt"].sort_values("gain").head(5)
    lead = [
        f"{label(r['judge'])} in {label(r['language'])} was nearer to the humans than the panel: calibrating adds "
        f"{-r['gain']:.1f} points squared [{-r['high']:.1f}, {-r['low']:.1f}]."
        for _, r in hurt.iterrows()
    ]
    figure = Figure(
        "helped-grid",
        (charts.helped_grid(h.cells, h.level),),
        "Whom calibrating helps (+) and hurts (-).",
        f"{h.helped} cells helped, {h.hurt} hurt, {h.unclear} cannot be told (?), all at once with {h.level:.0%} "
        "confidence.",
        table(h.cells, "Cells", columns, most=400),
    )
    notes = (clean(n, 400) for n in h.notes)
    return Section("helped", "Whom calibrating helps, whom it hurts", lead=(*lead, *notes), blocks=(figure,))


def _nearest(frame: pd.DataFrame) -> Section:
    renamed = frame.rename(columns={"raw": "judge_raw", "calibrated": "judge_calibrated"})
    columns = {
        "language": Column("language"),
        "labels": Column("labels", 0),
        "judge_raw": Column("raw"),
        "raw_sure": Column("in resamples", 0, percent=True),
        "judge_calibrated": Column("calibrated"),
        "calibrated_sure": Column("in resamples", 0, percent=True),
    }
    words = "The judge with the smallest squared error, and the share of resamples that agree"
    return Section("nearest", "The judge nearest to the humans", blocks=(table(renamed, words, columns, judges=()),))


def _shift(frame: pd.DataFrame, notes: tuple[str, ...]) -> Section:
    columns = {
        "language": Column("language"),
        "labels": Column("labels", 0),
        "shift": Column("shift, points", 2, True, "low", "high"),
        "centred": Column("less the mean shift", 2, True, "centred_low", "centred_high"),
    }
    known = frame[frame["low"].notna()]
    blocks: list[Any] = []
    if len(known):
        blocks.append(
            Figure(
                "shift-chart",
                (charts.intervals(known, "language", "shift", "Panel mean minus human", "points"),),
                "Shared shift of each language.",
                "What all judges together give more (or less) than the humans. Calibrating leaves it in.",
            )
        )
    blocks.append(table(frame, "Panel mean minus human, in points", columns, judges=()))
    lead = tuple(clean(n, 400) for n in notes)
    return Section("shift", "Shared shift against the humans", lead=lead, blocks=tuple(blocks))


def _means(a: Anchor) -> Section:
    columns = {
        "language": Column("language"),
        "labels": Column("labels", 0),
        "estimate": Column("labels and panel", 2, low="low", high="high"),
        "labels_only": Column("labels only", 2, low="labels_low", high="labels_high"),
        "panel_only": Column("panel only", 2, low="panel_low", high="panel_high"),
    }
    lead = (
        "The panel-only interval knows nothing of a shared shift. Labelled tasks must be a random part of all tasks.",
        *(clean(n, 400) for n in a.means.notes),
    )
    shown = table(a.means.table, clean(a.means.quantity, 200), columns, judges=())
    return Section("means", "Language means", lead=lead, blocks=(shown,))


def _worth(a: Anchor) -> Section:
    columns = {
        "language": Column("language"),
        "judge": Column("without"),
        "judges": Column("judges", 0),
        "alpha": Column("Krippendorff's alpha", 2, low="alpha_low", high="alpha_high"),
        "correlation": Column("correlation of errors", 2, low="correlation_low", high="correlation_high"),
        "effective": Column("effective judges", 1, low="effective_low", high="effective_high"),
    }
    frame = a.worth.table
    chosen = frame[(frame["without"] == "") | (frame["language"] == "all")]
    chosen = chosen.assign(judge=chosen["without"].mask(chosen["without"] == ""))
    lead = tuple(clean(n, 400) for n in a.worth.notes)
    shown = table(chosen, "Agreement between judges, and how many independent ones they amount to", columns)
    return Section("worth", "How many judges the panel is worth", lead=lead, blocks=(shown,))
