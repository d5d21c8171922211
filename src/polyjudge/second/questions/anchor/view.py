"""What a panel beside human labels says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import POINTS, Say, Words, say
from polyjudge.second.panel.scale import Scale
from polyjudge.second.questions.anchor.anchors import Anchor
from polyjudge.second.questions.anchor.helped import Helped
from polyjudge.second.questions.anchor.humans import LanguageError
from polyjudge.second.questions.anchor.raters import Annotators
from polyjudge.second.report.build import chart, column, fields, frame_of, notes, pivot, table
from polyjudge.second.report.sections import Block, Chart, Grid, Report, Section, Step, Table
from polyjudge.second.report.unit import less, scaled, shown_scale, times

ENDS = ("", "_low", "_high")
SHIFTS = frozenset({"shift", "low", "high", "matters", "between", "difference"})
SHIFTS |= {name + end for name in ("error", "severity") for end in ENDS} | {"against", "interaction"}
MEANS = frozenset({"estimate", "low", "high", "labels_only", "labels_low", "labels_high", "panel", "humans"})
MEANS |= {"panel_only", "panel_low", "panel_high", "labelled", "others"}
SQUARES = frozenset({name + end for name in ("raw", "calibrated", "gain", "with_labels", "label_free") for end in ENDS})


def in_unit(a: Anchor, scale: Scale) -> Anchor:
    """Labels of pass or fail in percent, for whoever reads them; others as they are. JSON keeps the scores."""
    factor = scale.factor
    if factor == 1.0 or a.kind != "score":
        return a
    h, r, means = a.humans, a.raters, times(a.means, factor, names=SHIFTS | MEANS)
    if h is not None:
        fall = replace(h.fall, before=_times(h.fall.before, factor), after=_times(h.fall.after, factor))
        board = None if h.board is None else less(scaled(h.board, factor, MEANS), scale.low * factor, tuple(MEANS))
        h = replace(times(h, factor, ("judges", "board"), SHIFTS), fall=fall, board=board)
    if r is not None:
        r = replace(times(r, factor, ("pairs",), SHIFTS), spread=_times(r.spread, factor))
    helped, squares = times(a.helped, factor, names=SHIFTS - {"low", "high"}), SQUARES | {"low", "high"}
    return replace(
        a,
        humans=h,
        raters=r,
        means=replace(means, table=less(means.table, scale.low * factor, tuple(MEANS))),
        table=scaled(a.table, factor**2, SQUARES) if a.measure == "squared error" else a.table,
        panel_gain=times(a.panel_gain, factor**2, names=SQUARES),
        helped=times(helped, factor**2, names=squares),
    )


def _times(values: tuple[float, float, float], factor: float) -> tuple[float, float, float]:
    return values[0] * factor, values[1] * factor, values[2] * factor


def build(result: Anchor, panel: Panel | None = None) -> Report:
    """Annotators first; how far the panel is off and what removes it; who wins; which judge; what to label next."""
    scale, frame = shown_scale(result, panel), frame_of("anchor", result, panel)
    result, unit = in_unit(result, scale), scale.unit if result.kind == "score" else POINTS
    verdict = [*_raters_say(result), *_humans_say(result)]
    if result.humans is None and result.helped is not None:
        verdict.append(_helped_say(result.helped))
    if result.humans is None:
        verdict.append(_invariance(result))
    if result.probes is not None:
        verdict.append(_probes_say(result.probes))
    whose = say("anchor.read", labels=int(result.labels.sum()), languages=len(result.labels), judge=result.trusted)
    other = [n for n in result.notes if isinstance(n, Say) and n.code == "gold.other-scores"]
    frame["read"] = (*frame.get("read", ()), whose, *other)
    sections = (
        *([] if result.raters is None else [_raters(result.raters)]),
        *([] if result.humans is None else [_humans(result.humans)]),
        *([] if result.passing is None else [_passing(result.passing)]),
        _decisions(result),
        *([] if result.panel_gain is None else [_gain(result.panel_gain.table)]),
        *([] if result.helped is None else [_helped(result.helped)]),
        *([] if result.probes is None else [_probes(result.probes)]),
        _means(result),
        _worth(result),
    )
    picture = () if result.humans is None else (_panel_table(result.humans, result.means.table),)
    return Report(
        **frame, unit=unit, title="Panel beside human labels", verdict=tuple(verdict), picture=picture,
        next=_steps(result), sections=sections,
    )  # fmt: skip


def _invariance(result: Anchor) -> Words:
    i = result.invariance
    return say("anchor.invariance", most=i.largest_change, **fields(i, "holds", "changed", "entries"))


def _triple(names: str, values: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(names.split(), values, strict=True))


def _raters_say(result: Anchor) -> list[Words]:
    r, h = result.raters, result.humans
    if r is None:
        return []
    out: list[Words] = [say("raters.verdict", verdict=r.verdict, **_triple("alpha low high", r.alpha))]
    odd = r.table[r.table["odd"] != ""]
    odd = odd.loc[odd["against"].abs().sort_values(ascending=False).index]
    if len(odd):
        out.append(say("raters.odd", who=list(zip(odd["annotator"], odd["odd"], odd["against"], strict=True))))
    known = r.by_language[r.by_language["linked"]]
    if len(known):
        far = known.iloc[int(known["severity"].abs().argmax())]
        values = {"language": far["language"], "by": far["severity"], "low": far["severity_low"]}
        values |= {"high": far["severity_high"], "annotators": r.linked, "languages": len(known)}
        out.append(say("raters.linked", of=len(r.by_language), **values))
    if h is not None and (h.by_annotators or h.explained[0] >= 0.2):
        values = _triple("spread spread_low spread_high", r.spread) | _triple("share low high", h.explained)
        out.append(say("raters.explained", most=h.by_annotators, linked=bool(r.linked), **values))
    return out


def _humans_say(result: Anchor) -> list[Words]:
    h = result.humans
    if h is None:
        return []
    panel = h.of_panel
    clear = panel[(panel["error_low"] > 0) | (panel["error_high"] < 0)]
    ends = []
    for part in (clear[clear["error"] > 0], clear[clear["error"] < 0]):
        far = part.sort_values("error", key=abs)
        ends.append((far["language"].iloc[-1], far["error"].iloc[-1]) if len(far) else (None, 0.0))
    every, known = None, panel[panel["error"].notna()].sort_values("error", key=abs)
    if len(clear) and len(known) > 1 and (len(clear) == len(known) or np.ptp(known["error"]) < 0.01 * h.matters):
        least, most = known["error"].iloc[0], known["error"].iloc[-1]
        every = (least, most, known["language"].iloc[-1]) if abs(np.sign(known["error"]).sum()) == len(known) else None
    out: list[Words] = [say("humans.error", above=ends[0], below=ends[1], every=every)]
    if np.isfinite(h.fall.removed[0]):
        fall = _triple("removed low high", h.fall.removed) | {"before": h.fall.before[0], "after": h.fall.after[0]}
        free = {"free": None} if h.free is None else _triple("free free_low free_high", h.free)
        out.append(say("humans.fall", **fall, **free))
    if h.board is not None and len(h.board):
        tied = h.board.loc[h.board["tied"], "system"].tolist()
        own = h.board.sort_values("rank_panel", kind="stable")["system"].iloc[0]
        out.append(say("humans.board", first=h.board["system"].iloc[0], tied=tied, panel=own, same=own in tied))
    if h.judges["judge"].nunique() > 1:
        best = h.judges[h.judges["best"]].set_index("language")
        whole = best.loc["(all)", "judge"] if "(all)" in best.index else None
        other = best[(best["judge"] != whole) & (best["sure"] >= 0.9)]["judge"]
        sure = best.loc["(all)", "sure"] if whole is not None else 0.0
        out.append(say("humans.judges", best=whole, sure=sure, other=list(other.items())))
    left = int((~panel["settled"].astype(bool)).sum())
    if left and h.next_labels:
        out.append(say("humans.open", open=left, languages=len(panel), more=h.next_labels, matters=h.matters))
    elif left:
        out.append(say("humans.raters-limit", open=left, languages=len(panel)))
    else:
        out.append(say("humans.settled", matters=h.matters))
    return out


def _steps(result: Anchor) -> tuple[Step, ...]:
    h, r = result.humans, result.raters
    if h is None or result.trusted is not None:
        return ()
    steps = []
    if h.next_labels or h.by_annotators:
        more = "polyjudge label make SCORES -o LABELS --more"
        more += " --link" if h.by_annotators else ""
        more += f" --per-language {h.next_labels}" if h.next_labels else ""
        steps.append(Step(why=say("humans.link" if h.by_annotators else "humans.more"), command=more))
    trusted = (r is None or r.verdict != "poor") and not h.by_annotators
    if trusted and h.fall.removed[1] > 0:
        command = "polyjudge calibrate SCORES --labels LABELS --save calibrator.json"
        steps.append(Step(why=say("humans.save"), command=command))
    return tuple(steps)


def _raters(r: Annotators) -> Section:
    head = (
        "annotator | language | labels:count | severity, points = severity/low/high:+points | seen twice = looks:count "
        "| same answer = same/_low/_high:share.0 | follows the others = correlation:ratio.2 | odd"
    )
    head_alpha = "language | alpha/_low/_high:ratio.2"
    if r.by_language["linked"].any():
        head_alpha += " | its annotators' severity, points = severity/_low/_high:+points"
    languages = table("alpha", "Krippendorff's alpha by language", r.by_language, head_alpha)
    pairs = "language | first | second | items:count | kappa/low/high:ratio.2"
    blocks = (
        table("annotators", "Annotators", r.table, head),
        table("pairs", "Weighted kappa of every two", r.pairs, pairs),
        languages,
    )
    apart = () if r.linked * 2 >= len(r.by_language) else (say("raters.apart"),)
    says = (*apart, *notes(r.notes))
    return Section(name="annotators", title="The annotators among themselves", says=says, blocks=blocks)


def _panel_table(h: LanguageError, means: pd.DataFrame) -> Table:
    frame = h.of_panel.merge(means[["language", "panel_only", "estimate"]], on="language")
    frame = frame.sort_values("error", key=abs, ascending=False, kind="stable")  # a screen shows the first rows
    head = "language | labels:count | panel minus human = error/_low/_high:+points"
    head += " | panel's mean = panel_only:points | as humans = estimate:points"
    return table("language_error_panel", "How far the panel is from the humans, points", frame, head, most=30)


def _humans(h: LanguageError) -> Section:
    best = (
        "language | judge | labels:count | follows labels = correlation/low/high:ratio.2 | without their noise = "
        "disattenuated:ratio.2 | best:yes | sure:share.0"
    )
    errors = "language | judge | labels:count | by its own labels = shift/low/high:+points "
    errors += "| error/_low/_high:+points | own labels' weight = weight:share.0"
    blocks: list[Block] = [
        table("language_error", "Judges and their mean against the humans", h.table, errors, most=400),
        table("judges_by_language", "Which judge follows the humans", h.judges, best, most=400),
    ]
    if h.board is not None and len(h.board):
        head = "system | labels:count | rank:rank | as humans = humans/low/high:points"
        head += " | panel:points | by panel = rank_panel:rank"
        blocks.append(table("leaderboard_by_humans", "Systems as humans would rank them", h.board, head))
    says = (say("humans.shrunk"), say("anchor.distance"), *notes(h.notes))
    return Section(name="humans", title="The panel against the humans", says=says, blocks=tuple(blocks))


def _passing(frame: pd.DataFrame) -> Section:
    head = (
        "language | decision | labels:count | own:share.1 | as humans (labels) = powered/_low/_high:share.1 | "
        "as humans (Rogan-Gladen) = rogan_gladen/low/high:share.1 | sensitivity:share.0 | specificity:share.0 "
        "| balanced accuracy = balanced:share.0 | mcc:ratio.2"
    )
    block = table("passing", "Pass rates", frame, head, most=400)
    return Section(name="passing", title="Pass rates as humans would give them", blocks=(block,))


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
    says: list[Words] = [_invariance(a), *([say("anchor.ties")] if agreement else [])]
    if a.invariance.incomplete:
        says.append(say("anchor.incomplete", count=a.invariance.incomplete))
    title = "Before and after calibrating"
    return Section(
        name="agreement", title=title, says=(*says, *notes(a.notes)), blocks=(both,), folded=a.humans is not None
    )


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


VIEWS = {"Anchor": build}
