"""What a panel beside human labels says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.core.sections import Block, Chart, Column, Grid, Report, Section, Table, Words, say
from polyjudge.report.build.shared import JUDGE, LANGUAGE, frame_of, notes, pivot, value

if TYPE_CHECKING:
    from polyjudge.analyse.anchors import Anchor
    from polyjudge.analyse.helped import Helped
    from polyjudge.core.panel import Panel

LABELS = Column(name="labels", title="labels", kind="count")


def build(result: Anchor, panel: Panel | None = None) -> Report:
    """Agreement or error before and after, whom calibrating helps or hurts, shared shift, means, the panel's worth."""
    i = result.invariance
    verdict: list[Words] = []
    if result.helped is not None:
        h = result.helped
        verdict.append(say("anchor.helped", helped=h.helped, hurt=h.hurt, unclear=h.unclear, level=h.level))
    verdict.append(say("anchor.invariance", holds=i.holds, changed=i.changed, entries=i.entries, most=i.largest_change))
    frame = frame_of("anchor", result, panel)
    whose = say("anchor.read", labels=int(result.labels.sum()), languages=len(result.labels), judge=result.trusted)
    frame["read"] = (*frame.get("read", ()), whose)
    sections = [
        _decisions(result),
        *([] if result.panel_gain is None else [_gain(result.panel_gain.table)]),
        *([] if result.helped is None else [_helped(result.helped)]),
        *([] if result.nearest is None else [_nearest(result.nearest)]),
        *([] if result.shift is None else [_shift(result.shift.table, result.shift.notes)]),
        *([] if result.probes is None else [_probes(result.probes)]),
        _means(result),
        _worth(result),
    ]
    if result.probes is not None:
        verdict.append(_probes_say(result.probes))
    return Report(
        **frame,
        title="Panel beside human labels",
        verdict=tuple(verdict),
        sections=tuple(sections),
    )


def _decisions(a: Anchor) -> Section:
    agreement = a.measure == "agreement"
    unit = "agreement" if agreement else "mean squared error, points squared"
    kind: Any = {"kind": "share", "digits": 1} if agreement else {"kind": "points"}
    frame = a.table.assign(judge=a.table["decision"])
    columns = [
        Column(name="judge", title="decision" if agreement else "score of", kind="judge"),
        Column(name="raw", title="raw", low="raw_low", high="raw_high", **kind),
        Column(
            name="calibrated",
            title="calibrated",
            low="calibrated_low",
            high="calibrated_high",
            **kind,
        ),
        Column(name="gain", title="gain", sign=True, low="gain_low", high="gain_high", pale="identity", **kind),
        Column(name="changed", title="decisions changed", kind="count"),
        Column(name="identity", title="gain is 0 by arithmetic", kind="yes", words={True: "yes", False: ""}),
    ]
    if agreement:
        columns += [
            Column(name="broken_ties", title="of them from ties", kind="count"),
            Column(name="auc", title="AUC, cannot change", kind="ratio"),
        ]
    ends = frame[["raw_low", "raw_high", "calibrated_low", "calibrated_high", "raw", "calibrated"]].astype(float)
    data = {"frame": frame, "label": "judge", "unit": unit, "zero": None}
    data["domain"] = (float(ends.min().min()), float(ends.max().max()))
    chart = Chart(
        name="agreement-chart",
        draw="intervals",
        data=tuple(
            {**data, "value": name, "title": name.capitalize(), "low": f"{name}_low", "high": f"{name}_high"}
            for name in ("raw", "calibrated")
        ),
        caption=say("anchor.chart", agreement=agreement),
        alt=say("anchor.chart-text", agreement=agreement),
        instead=Table(name="anchor", caption=unit.capitalize(), frame=frame, columns=tuple(columns)),
    )
    says: list[Words] = [say("anchor.ties")] if agreement else []
    if a.invariance.incomplete:
        says.append(say("anchor.incomplete", count=a.invariance.incomplete))
    return Section(
        name="agreement",
        title="Before and after calibrating",
        says=(*says, *notes(a.notes)),
        blocks=(chart,),
        folded=False,
    )


def _gain(frame: pd.DataFrame) -> Section:
    columns = (
        Column(name="fit", title="calibration fitted on"),
        value("with_labels", "measured with labels", "with_labels_low", "with_labels_high", sign=True),
        value("label_free", "known without labels", "label_free_low", "label_free_high", sign=True),
    )
    caption = "Fall of the mean squared error over the whole panel, points squared"
    table = Table(name="panel_gain", caption=caption, frame=frame, columns=columns)
    return Section(name="gain", title="Gain over the whole panel", says=(say("anchor.gain"),), blocks=(table,))


def _helped(h: Helped) -> Section:
    cells = h.cells
    worst = cells[cells["verdict"] == "hurt"].sort_values("gain").head(5)
    says: list[Words] = [
        say("anchor.hurt", judge=r["judge"], language=r["language"], loss=-r["gain"], low=-r["high"], high=-r["low"])
        for _, r in worst.iterrows()
    ]
    still = cells[cells["open_because"] == "labels"]
    if len(still):
        few, most = int(still["more_labels"].min()), int(still["more_labels"].max())
        says.append(say("anchor.more-labels", cells=len(still), few=few, most=most))
    marks = cells.assign(mark=cells["verdict"].map({"helped": "+", "hurt": "-"}).fillna("?"))
    columns = (
        LANGUAGE,
        JUDGE,
        LABELS,
        value("interaction", "interaction", sign=True),
        value("gain", "gain, points squared", "low", "high", sign=True),
        Column(name="verdict", title="verdict"),
        Column(name="open_because", title="open for want of"),
        Column(name="more_labels", title="more labels needed", kind="count"),
    )
    chart = Chart(
        name="helped-grid",
        draw="helped_grid",
        data=({"cells": cells, "level": h.level},),
        caption="Whom calibrating helps (+) and hurts (-).",
        alt=say("anchor.helped", helped=h.helped, hurt=h.hurt, unclear=h.unclear, level=h.level),
        instead=Grid(
            name="helped",
            caption="Helped (+), hurt (-), cannot tell (?)",
            values=pivot(cells, "gain"),
            texts=pivot(marks, "mark"),
        ),
    )
    table = Table(name="helped", caption="Cells", frame=cells, columns=columns, most=200)
    title = "Whom calibrating helps, whom it hurts"
    return Section(name="helped", title=title, says=(*says, *notes(h.notes)), blocks=(chart, table))


def _probes_say(frame: pd.DataFrame) -> Words:
    count = {name: int((frame["answer"] == name).sum()) for name in ("agrees", "contradicts", "open")}
    wrong = frame[frame["answer"] == "contradicts"]
    return say("anchor.probes", places=list(zip(wrong["language"], wrong["judge"], strict=True)), **count)


def _probes(frame: pd.DataFrame) -> Section:
    columns = (
        LANGUAGE,
        JUDGE,
        Column(name="sight", title="probes: sight"),
        Column(name="verdict", title="probes: deviation"),
        LABELS,
        Column(name="correlation", title="follows labels", kind="ratio", digits=2, low="low", high="high"),
        Column(name="calibrating", title="labels: calibrating"),
        Column(name="answer", title="labels and probes"),
    )
    table = Table(name="probes", caption=say("anchor.probes-table"), frame=frame, columns=columns, most=400)
    return Section(name="probes", title="Probes beside labels", says=(_probes_say(frame),), blocks=(table,))


def _nearest(frame: pd.DataFrame) -> Section:
    columns = (
        LANGUAGE,
        LABELS,
        Column(name="raw", title="raw", kind="judge"),
        Column(name="raw_sure", title="in resamples", kind="share", digits=0),
        Column(name="calibrated", title="calibrated", kind="judge"),
        Column(name="calibrated_sure", title="in resamples", kind="share", digits=0),
    )
    caption = "The judge with the smallest squared error, and the share of resamples that agree"
    table = Table(name="nearest", caption=caption, frame=frame, columns=columns)
    return Section(name="nearest", title="The judge nearest to the humans", blocks=(table,))


def _shift(frame: pd.DataFrame, said: tuple[Words, ...]) -> Section:
    known = frame[frame["low"].notna()]
    blocks: list[Block] = []
    if len(known):
        data = {"frame": known, "label": "language", "value": "shift", "title": "Panel mean minus human"}
        blocks.append(
            Chart(
                name="shift-chart",
                draw="intervals",
                data=({**data, "unit": "points"},),
                caption="Shared shift of each language.",
                alt=say("anchor.shift"),
            )
        )
    columns = (
        LANGUAGE,
        LABELS,
        value("shift", "shift, points", "low", "high", sign=True),
        value("centred", "less the mean shift", "centred_low", "centred_high", sign=True),
    )
    blocks.append(Table(name="shift", caption="Panel mean minus human, in points", frame=frame, columns=columns))
    return Section(name="shift", title="Shared shift against the humans", says=notes(said), blocks=tuple(blocks))


def _means(a: Anchor) -> Section:
    columns = (
        LANGUAGE,
        LABELS,
        value("estimate", "labels and panel", "low", "high"),
        value("labels_only", "labels only", "labels_low", "labels_high"),
        value("panel_only", "panel only", "panel_low", "panel_high"),
    )
    table = Table(
        name="language_means", caption=say("note", text=a.means.quantity), frame=a.means.table, columns=columns
    )
    says = (say("anchor.means"), *notes(a.means.notes))
    return Section(name="means", title="Language means", says=says, blocks=(table,))


def _worth(a: Anchor) -> Section:
    frame = a.worth.table
    chosen = frame[(frame["without"] == "") | (frame["language"] == "all")]
    chosen = chosen.assign(without=chosen["without"].mask(chosen["without"] == ""))
    columns = (
        LANGUAGE,
        Column(name="without", title="without", kind="judge"),
        Column(name="judges", title="judges", kind="count"),
        Column(name="alpha", title="Krippendorff's alpha", kind="ratio", digits=2, low="alpha_low", high="alpha_high"),
        Column(
            name="correlation",
            title="correlation of errors",
            kind="ratio",
            digits=2,
            low="correlation_low",
            high="correlation_high",
        ),
        Column(
            name="effective",
            title="effective judges",
            kind="ratio",
            digits=1,
            low="effective_low",
            high="effective_high",
        ),
    )
    caption = "Agreement between judges, and how many independent ones they amount to"
    table = Table(name="panel_worth", caption=caption, frame=chosen, columns=columns)
    title = "How many judges the panel is worth"
    return Section(name="worth", title=title, says=notes(a.worth.notes), blocks=(table,))
