"""What a panel beside human labels says."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.anchor.anchors import Anchor
from polyjudge.questions.anchor.helped import Helped
from polyjudge.report.build import chart, column, fields, frame_of, notes, pivot, table
from polyjudge.report.sections import Block, Chart, Grid, Report, Section


def build(result: Anchor, panel: Panel | None = None) -> Report:
    """Agreement or error before and after, whom calibrating helps or hurts, shared shift, means, the panel's worth."""
    i, verdict = result.invariance, []
    if result.helped is not None:
        verdict.append(_helped_say(result.helped))
    verdict.append(say("anchor.invariance", most=i.largest_change, **fields(i, "holds", "changed", "entries")))
    if result.probes is not None:
        verdict.append(_probes_say(result.probes))
    frame = frame_of("anchor", result, panel)
    whose = say("anchor.read", labels=int(result.labels.sum()), languages=len(result.labels), judge=result.trusted)
    frame["read"] = (*frame.get("read", ()), whose)
    sections = (
        _decisions(result),
        *([] if result.panel_gain is None else [_gain(result.panel_gain.table)]),
        *([] if result.helped is None else [_helped(result.helped)]),
        *([] if result.nearest is None else [_nearest(result.nearest)]),
        *([] if result.shift is None else [_shift(result.shift.table, result.shift.notes)]),
        *([] if result.probes is None else [_probes(result.probes)]),
        _means(result),
        _worth(result),
    )
    return Report(**frame, title="Panel beside human labels", verdict=tuple(verdict), sections=sections)


def _decisions(a: Anchor) -> Section:
    agreement = a.measure == "agreement"
    unit = "agreement" if agreement else "mean squared error, points squared"
    kind = "share.1" if agreement else "points"
    frame = a.table.assign(judge=a.table["decision"])
    columns = [
        column(f"{'decision' if agreement else 'score of'} = judge"),
        column(f"raw/_low/_high:{kind}"),
        column(f"calibrated/_low/_high:{kind}"),
        column(f"gain/_low/_high:+{kind}", pale="identity"),
        column("decisions changed = changed:count"),
        column("gain is 0 by arithmetic = identity:yes", words={True: "yes", False: ""}),
    ]
    more = ["of them from ties = broken_ties:count | AUC, cannot change = auc:ratio"] if agreement else []
    ends = frame[["raw_low", "raw_high", "calibrated_low", "calibrated_high", "raw", "calibrated"]].astype(float)
    data = {"frame": frame, "label": "judge", "unit": unit, "zero": None}
    data["domain"] = (float(ends.min().min()), float(ends.max().max()))
    both = Chart(
        name="agreement-chart",
        draw="intervals",
        data=tuple(
            {**data, "value": name, "title": name.capitalize(), "low": f"{name}_low", "high": f"{name}_high"}
            for name in ("raw", "calibrated")
        ),
        caption=say("anchor.chart", agreement=agreement),
        alt=say("anchor.chart-text", agreement=agreement),
        instead=table("anchor", unit.capitalize(), frame, *columns, *more),
    )
    says: list[Words] = [say("anchor.ties")] if agreement else []
    if a.invariance.incomplete:
        says.append(say("anchor.incomplete", count=a.invariance.incomplete))
    title = "Before and after calibrating"
    return Section(name="agreement", title=title, says=(*says, *notes(a.notes)), blocks=(both,), folded=False)


def _gain(frame: pd.DataFrame) -> Section:
    gains = table(
        "panel_gain",
        "Fall of the mean squared error over the whole panel, points squared",
        frame,
        "calibration fitted on = fit | measured with labels = with_labels/_low/_high:+points "
        "| known without labels = label_free/_low/_high:+points",
    )
    return Section(name="gain", title="Gain over the whole panel", says=(say("anchor.gain"),), blocks=(gains,))


def _helped_say(h: Helped) -> Words:
    return say("anchor.helped", **fields(h, "helped", "hurt", "unclear", "level"))


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
    head = (
        "language | judge | labels:count | interaction:+points | gain, points squared = gain/low/high:+points "
        "| verdict | open for want of = open_because | more labels needed = more_labels:count"
    )
    caption = "Helped (+), hurt (-), cannot tell (?)"
    grid = Grid(name="helped", caption=caption, values=pivot(cells, "gain"), texts=pivot(marks, "mark"))
    whom, said = "Whom calibrating helps (+) and hurts (-).", _helped_say(h)
    blocks = (
        chart("helped-grid", "helped_grid", whom, said, grid, cells=cells, level=h.level),
        table("helped", "Cells", cells, head),
    )
    title = "Whom calibrating helps, whom it hurts"
    return Section(name="helped", title=title, says=(*says, *notes(h.notes)), blocks=blocks)


def _probes_say(frame: pd.DataFrame) -> Words:
    count = {name: int((frame["answer"] == name).sum()) for name in ("agrees", "contradicts", "open")}
    wrong = frame[frame["answer"] == "contradicts"]
    return say("anchor.probes", places=list(zip(wrong["language"], wrong["judge"], strict=True)), **count)


def _probes(frame: pd.DataFrame) -> Section:
    head = (
        "language | judge | probes: sight = sight | probes: deviation = verdict | labels:count | follows labels = "
        "correlation/low/high:ratio.2 | labels: calibrating = calibrating | labels and probes = answer"
    )
    beside = table("probes", say("anchor.probes-table"), frame, head, most=400)
    return Section(name="probes", title="Probes beside labels", says=(_probes_say(frame),), blocks=(beside,))


def _nearest(frame: pd.DataFrame) -> Section:
    nearest = table(
        "nearest",
        "The judge with the smallest squared error, and the share of resamples that agree",
        frame,
        "language | labels:count | raw:judge | in resamples = raw_sure:share.0 | calibrated:judge "
        "| in resamples = calibrated_sure:share.0",
    )
    return Section(name="nearest", title="The judge nearest to the humans", blocks=(nearest,))


def _shift(frame: pd.DataFrame, said: tuple[Words, ...]) -> Section:
    known = frame[frame["low"].notna()]
    blocks: list[Block] = []
    if len(known):
        blocks.append(
            chart(
                "shift-chart",
                "intervals",
                "Shared shift of each language.",
                say("anchor.shift"),
                frame=known,
                label="language",
                value="shift",
                title="Panel mean minus human",
                unit="points",
            )
        )
    head = (
        "language | labels:count | shift, points = shift/low/high:+points "
        "| less the mean shift = centred/_low/_high:+points"
    )
    blocks.append(table("shift", "Panel mean minus human, in points", frame, head))
    return Section(name="shift", title="Shared shift against the humans", says=notes(said), blocks=tuple(blocks))


def _means(a: Anchor) -> Section:
    means = table(
        "language_means",
        say("note", text=a.means.quantity),
        a.means.table,
        "language | labels:count | labels and panel = estimate/low/high:points | labels only = "
        "labels_only/labels_low/labels_high:points | panel only = panel_only/panel_low/panel_high:points",
    )
    says = (say("anchor.means"), *notes(a.means.notes))
    return Section(name="means", title="Language means", says=says, blocks=(means,))


def _worth(a: Anchor) -> Section:
    frame = a.worth.table
    chosen = frame[(frame["without"] == "") | (frame["language"] == "all")]
    chosen = chosen.assign(without=chosen["without"].mask(chosen["without"] == ""))
    worth = table(
        "panel_worth",
        "Agreement between judges, and how many independent ones they amount to",
        chosen,
        "language | without:judge | judges:count | Krippendorff's alpha = alpha/_low/_high:ratio.2 "
        "| correlation of errors = correlation/_low/_high:ratio.2 | effective judges = effective/_low/_high:ratio.1",
    )
    title = "How many judges the panel is worth"
    return Section(name="worth", title=title, says=notes(a.worth.notes), blocks=(worth,))


VIEWS = {Anchor: build}
