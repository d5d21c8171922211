"""The first screen of an audit: what was read, who wins, can the panel be trusted, what is off, what to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.second.panel.labels import shell, short
from polyjudge.second.panel.numbers import points
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, Words, say
from polyjudge.second.questions.audit.advise import SCORES, Advised
from polyjudge.second.questions.audit.audit import Audit, Inside
from polyjudge.second.questions.audit.details import cell_says, judged, sections
from polyjudge.second.questions.compare.view import in_unit
from polyjudge.second.questions.probe import view as probe
from polyjudge.second.questions.systems import view as systems
from polyjudge.second.questions.systems.signal import DISAGREE
from polyjudge.second.report.build import by_size, chart, fields, frame_of, marked_grid, notes, table, value_says
from polyjudge.second.report.charts.grids import ROOMY
from polyjudge.second.report.charts.lines import BEFORE
from polyjudge.second.report.result import report_of
from polyjudge.second.report.sections import Block, Chart, Folded, Report, Section, Step, Table
from polyjudge.second.report.unit import less, scaled, times

if TYPE_CHECKING:
    from polyjudge.second.questions.audit.by_criterion import Criteria
    from polyjudge.second.questions.audit.variation import Variance
    from polyjudge.second.questions.compare.recovery import Recovery

COUNTED = ("panel.missing", "panel.system-holes")
"""Notes whose numbers stand in the first line already."""
MOST_LANGUAGES = 8
"""Rows of the grid on the first screen: of more languages, those furthest off."""
FIRST, AGREEMENT = " | may be best = first:text", " | agreement/low/high:ratio.2"
CELL = " | judge | in = language:label | off by = excess/_low/_high:+points | gaps change by at most = delta:points"
NARROW = (16, 10, 13, 8)
"""Characters of the names of a criterion, system, judge and language on the first screen: each row is one line."""
ROOM = 20
"""Of a system, where no cells stand beside it."""
ALIKE = "criterion = criterion_a:label | and = criterion_b:label | correlation/low/high:ratio.2 | the same = alike:yes"


def build(result: Inside, panel: Panel | None = None) -> Report:
    """First screen and sections. With a cell that was asked for, the verdict is about that cell."""
    shown = in_percent(result)
    advice, todo, cell = shown.advice, shown.advice.steps, None
    if isinstance(shown, Audit) and shown.cell is not None:
        cell, todo = shown, tuple(x for x in todo if x.why.code != "step.read-worst")
    return Report(
        **_frame(result, shown, panel),
        unit=result.summary.shown.unit,
        verdict=(*advice.verdict, *_passes(shown)) if cell is None else cell_says(cell),
        picture=_picture(shown),
        beside=_beside(shown),
        uses=tuple(advice.uses.values()) if cell is None else (),
        next=steps(todo, result.summary.source or SCORES),
        findings=tuple(shown.findings),
        sections=_sections(shown)
        if cell is not None or result.probes is not None
        else Folded(lambda: _sections(shown)),
    )


def _frame(result: Inside, shown: Inside, panel: Panel | None) -> dict[str, Any]:
    """What every report of an audit has; JSON is of the result, the words are of what is shown."""
    s = shown.summary
    title = say("audit.title", judges=len(s.judges), languages=len(s.languages))
    facts = {"seed": shown.seed, "level": shown.level, "input fingerprint": s.fingerprint}
    own = {"title": title, "facts": facts, "read": _read(shown), "judges": s.judges, "brief": True}
    return frame_of("audit", result, panel) | own


def _sections(a: Inside) -> tuple[Section, ...]:
    if isinstance(a, Audit):
        return *sections(a), *_means(a)
    probed = () if a.probes is None else (probe.section(a.probes),)
    limits = Section(name="limits", title="What this does not show", says=a.caveats)
    return *probed, *(replace(x, folded=True) for x in judged(a)), *_means(a), limits


def in_percent(a: Inside) -> Inside:
    """The audit of pass or fail in percent, for whoever reads it; others as they are. JSON keeps the scores."""
    scale = a.summary.shown
    factor, lowest = scale.factor, scale.low * scale.factor
    if factor == 1.0:
        return a
    shown = replace(
        a,
        systems=None if a.systems is None else systems.in_unit(a.systems, scale),
        probes=None if a.probes is None else probe.in_unit(a.probes, scale),
        means=None if a.means is None else less(scaled(a.means, factor), lowest, ("mean", "low", "high")),
    )
    if not isinstance(shown, Audit):
        return shown
    explained = replace(times(shown.explanation, factor), scale=replace(scale, factor=1.0))
    return replace(
        shown,
        uncertainty=times(shown.uncertainty, factor),
        held_out=in_unit(shown.held_out, scale),
        explanation=replace(explained, worst=less(explained.worst, lowest)),
        certificate=times(shown.certificate, factor),
        sensitivity=times(shown.sensitivity, factor, but=("links", "pile_up")),
        reversals=times(shown.reversals, factor, but=("rank_probabilities", "top")),
        ranks=times(shown.ranks, factor),
        missingness=times(shown.missingness, factor),
        bounded=times(shown.bounded, factor, names=frozenset({"linear"})),
        variance=None if shown.variance is None else _squared(shown.variance, factor),
        language_effect=None if shown.language_effect is None else scaled(shown.language_effect, factor),
        judge_effect=scaled(shown.judge_effect, factor),
        answers=None if shown.answers is None else less(scaled(shown.answers, factor), lowest),
    )


def _squared(v: Variance, factor: float) -> Variance:
    parts = v.components.assign(variance=v.components["variance"] * factor**2)
    return replace(v, components=parts, replicate_sd=None if v.replicate_sd is None else v.replicate_sd * factor)


def _means(a: Inside) -> tuple[Section, ...]:
    """Mean scores, and pass rates where there is a gate."""
    if a.means is None:
        return ()
    head = "language | judge | mean/low/high:points | tasks:count"
    head += "" if a.threshold is None else " | passes = pass_rate/pass_low/pass_high:share"
    rows = table("means", say("inside.means", level=a.level), a.means, head, most=60)
    return (Section(name="means", title="Mean scores", blocks=(rows,)),)


def _passes(a: Inside) -> tuple[Words, ...]:
    """Between which shares scores pass the gate."""
    if a.means is None or a.threshold is None:
        return ()
    ordered = a.means.sort_values("pass_rate")
    ends = {
        f"{end}_{name}": ordered[name].iloc[at]
        for end, at in (("least", 0), ("most", -1))
        for name in ("judge", "language", "pass_rate", "pass_low", "pass_high")
    }
    return (say("inside.passes", mark=a.threshold, cells=len(ordered), **ends),)


def _read(a: Inside) -> tuple[Words, ...]:
    """One line of what was read; what was done to it, where anything was."""
    s = a.summary
    shape = {n: len(getattr(s, n)) for n in ("systems", "languages", "judges", "replicates")}
    counts = fields(s, "tasks", "scores", "missing", "entries", "unanswered", "low", "high")
    named = {} if s.reading is None else {r.role: r.column for r in s.reading.roles if r.how != "column names"}
    columns = {f"{role}_column": named.get(role, "") for role in ("system", "language", "judge")}
    first = say("audit.read", **shape, **counts, **columns)
    scale: list[Words] = []
    if isinstance(a, Audit):
        size = {**fields(a.explanation, "matters", "unit"), "said": a.matters_said}
        scale.append(say("read.scale", **size, **fields(s, "scale")))
    looked = (say("read.looks", looks=s.looks, level=a.level),) if s.looks > 1 else ()
    done = () if s.reading is None else value_says(s.reading)
    rest = tuple(n for n in notes(s.notes) if not (isinstance(n, Say) and n.code in COUNTED))
    return first, *done, *looked, *scale, *rest


def _picture(a: Inside) -> tuple[Block, ...]:
    """What calibrating takes off; where nothing can be compared between languages, who wins, or the means."""
    if isinstance(a, Audit):
        return corrections(a)
    if a.systems is None:
        return tuple(replace(b, most=5) for x in _means(a) for b in x.blocks if isinstance(b, Table))
    return () if a.advice.state == "blind" else (replace(systems.board(a.systems.leaderboard), most=5),)


def corrections(a: Audit) -> tuple[Chart, ...]:
    """What the recommended calibration takes off, cell by cell; nothing where none is recommended."""
    e, method = a.explanation, a.advice.method
    if method is None:
        return ()
    cells = e.cells[["language", "judge", "named"]].copy()
    taken = e.cells["excess"].where(e.cells["named"], 0.0) if method == "sparse" else e.cells["interaction"]
    ends = ("low", "high") if method == "sparse" else ("band_low", "band_high")
    cells["excess"] = taken
    cells["low"], cells["high"] = (e.cells[end].where(taken != 0, 0.0) for end in ends)
    cells["named"] &= method == "sparse"
    cells["small"] = (taken.abs() < (e.matters if method == "cbc" else 1e-12)) & ~cells["named"]
    if cells["small"].all():
        cells["small"] = False
    size = cells[~cells["small"]].assign(size=cells["excess"].abs()).groupby("language")["size"].max()
    kept = size.sort_values(ascending=False, kind="stable").index[:MOST_LANGUAGES]
    shown, more = cells[cells["language"].isin(kept)], len(size) - len(kept)
    share = float(e.named_cells["share"].min()) if cells["named"].any() and len(e.named_cells) else None
    values = {"method": method, **fields(e, "unit", "matters")}
    heading = say("explain.grid", shown=shown["language"].nunique(), more=more, **values)
    note = say("explain.grid-note", share=share, small=bool(shown["small"].any()), **values)
    alt = say("explain.alt", named=bool(cells["named"].any()), **values)
    grid = marked_grid("corrections", heading, shown, note)
    drawn = {"matters": e.matters, "unit": e.unit, "title": "What calibrating takes off", "note": str(heading)}
    drawn["marks"] = str(note).replace("[ ]", "framed:")
    return (chart("corrections", "deviations", heading, alt, grid, cells=cells, **drawn),)


def _beside(audit: Inside) -> tuple[Block, ...]:
    """Who notices damage, with probes; who wins, when the judges agree on that; else how the judges rank."""
    if not isinstance(audit, Audit) or audit.constant:
        return ()
    if audit.probes is not None:
        return (probe.sight(audit.probes),)
    if audit.systems is not None and audit.systems.signal.verdict != DISAGREE:
        return (systems.board(audit.systems.leaderboard),)
    if audit.ranks is None or len(audit.summary.judges) > ROOMY:
        return ()
    ranks = audit.ranks.table
    leaders = ranks[(ranks["scope"] == "language") & (ranks["rank"] == 1)]["judge"].nunique()
    caption = "Ranks of the judges by mean score, from the most lenient."
    alt = say("audit.ranks-chart", leaders=leaders, languages=len(audit.summary.languages))
    return (chart("ranks-beside", "rank_lines", caption, alt, ranks=audit.ranks.table, stage=BEFORE),)


def steps(advised: tuple[Advised, ...], source: str) -> tuple[Step, ...]:
    """Steps with commands to paste; `source` is what was read, with the options of reading."""
    return tuple(
        Step(why=one.why, command=" ".join(source if w == SCORES else shell(w) for w in one.command)) for one in advised
    )


def recovery_section(found: Recovery) -> Section:
    """How close an audit came to a planted truth."""
    cells = by_size(found.cells, "planted")
    words = say(
        "recovery",
        error=found.root_mean_square_error,
        planted=found.root_mean_square_planted,
        largest=found.largest_error,
        cells=len(cells),
        **fields(found, "inside", "level", "in_band"),
    )
    head = "language | judge | planted:+points | estimated:+points | error:+points"
    caption = "What `calibrate` takes off, planted and estimated, largest first, in points"
    return Section(
        name="recovery",
        title="How close the estimate came to the planted truth",
        says=(words,),
        blocks=(table("recovery", caption, cells, head, most=8),),
        folded=False,
    )


# --- several criteria ---


def build_criteria(result: Criteria, panel: Panel | None = None) -> Report:
    """A row for each criterion: who wins, whether judges agree, what is off; which say the same; then each in short."""
    frame = frame_of("audit", result, panel)
    names = list(result.audits)
    each = {name: report_of(one) for name, one in result.audits.items()}
    first = each[names[0]]
    frame["read"] = (say("criteria.read", criteria=len(names), first=names[0]), *(first.read if first else ()))
    crossed = bool(result.table["delta"].notna().any())
    head = "criterion:text" + (FIRST if _tops(result) else "")
    head += AGREEMENT if result.table["agreement"].notna().any() else ""
    brief = head + (" | furthest off = cell:text" if result.table["excess"].notna().any() else "")
    rows = table("criteria", say("criteria.rows", level=result.level, cells=crossed), _brief(result, crossed), brief)
    whole = table("criteria-all", say("criteria.rows", level=result.level, cells=False), result.table, head + CELL)
    same = table("alike", say("criteria.alike", level=result.level), result.same, ALIKE)
    blocks: tuple[Block, ...] = (same,)
    if result.mean is not None:
        blocks = (*blocks, systems.board(result.mean))
    return Report(
        **frame,
        title=say("criteria.title", criteria=len(names), judges=len(panel.judges) if panel is not None else None),
        verdict=tuple(_said(result, each)),
        picture=(rows,),
        next=_criteria_steps(result),
        findings=tuple(result.findings),
        brief=True,
        sections=(
            *((Section(name="criteria", title="Each criterion", blocks=(whole,)),) if crossed else ()),
            Section(name="alike", title="Do the criteria say the same?", says=(say("criteria.how"),), blocks=blocks),
            *(_one(name, one) for name, one in each.items() if one is not None),
        ),
    )


def _tops(result: Criteria) -> dict[str, list[str]]:
    """By criterion the systems that may be best."""
    return {name: a.systems.leaderboard.top_set() for name, a in result.audits.items() if a.systems is not None}


def _brief(result: Criteria, crossed: bool) -> pd.DataFrame:
    """The table of criteria with short names, and the cell that is furthest off in one column."""
    t, tops = result.table, _tops(result)
    widths = NARROW if crossed else (NARROW[0], ROOM, *NARROW[2:])
    columns = (t["criterion"], (x for top in tops.values() for x in top), t["judge"].dropna(), t["language"].dropna())
    criterion, system, judge, language = (short(x, width) for x, width in zip(columns, widths, strict=True))

    def first(name: str) -> str:
        top = [system[x] for x in tops.get(name, [])]
        return all_of if len(all_of := ", ".join(top)) < widths[1] + 10 else f"{top[0]} + {len(top) - 1} more"

    def cell(row: pd.Series) -> str | None:
        if pd.isna(row["excess"]):
            return None
        return f"{judge[row['judge']]}, {language[row['language']]}: {points(row['excess'], sign=True)}"

    return t.assign(
        criterion=t["criterion"].map(criterion), first=t["criterion"].map(first), cell=t.apply(cell, axis=1)
    )


def _said(result: Criteria, each: Mapping[str, Report | None]) -> list[Words]:
    t = result.table
    out: list[Words] = []
    wins: dict[frozenset[str], tuple[list[str], list[str]]] = {}
    for name, top in _tops(result).items():
        wins.setdefault(frozenset(top), (top, []))[1].append(name)
    if wins:
        mean = None if result.mean is None else result.mean.top_set()
        out.append(say("criteria.wins", wins=list(wins.values()), mean=mean))
    alone = [a for a in result.audits.values() if len(a.summary.judges) == 1]
    if alone:
        out.append(alone[0].left_out["languages"])
    else:
        known = t[t["agreement"].notna()]
        values = {}
        if len(known):
            least = known.iloc[int(known["agreement"].astype(float).argmin())]
            values = fields(least, "criterion", "agreement", "low", "high")
        # Two judges, or those of one maker, agree as well; what that is worth the last sentence says.
        alike = {name for name, a in result.audits.items() if a.signal and a.signal.why in ("two judges", "one maker")}
        unsure = [x for x in t.loc[t["verdict"] != "agree", "criterion"] if x not in alike]
        out.append(say("criteria.agreement", unsure=unsure, known=len(known) > 0, **values))
    off = t[t["excess"].notna()]
    if len(off):
        worst = _farthest(off, "excess")
        place = fields(worst, "criterion", "judge", "language", "excess", "excess_low", "excess_high")
        out.append(say("criteria.off", count=len(off), criteria=len(t), **place))
    elif changed := [(name, s) for name, one in each.items() for s in _changes(one)]:
        name, words = max(changed, key=lambda x: result.table.set_index("criterion")["delta"].astype(float)[x[0]])
        out.append(replace(words, values={**words.values, "criterion": name}))
    elif t["delta"].notna().any():
        out.append(say("criteria.calm", **fields(_farthest(t[t["delta"].notna()], "delta"), "criterion", "delta")))
    twins = result.same[result.same["alike"]]
    if len(twins):
        pair = fields(twins.iloc[0], "criterion_a", "criterion_b", "correlation", "low", "high")
        out.append(say("criteria.same", count=len(twins), **pair))
    return [*out, say("verdict.shared")]


def _changes(report: Report | None) -> list[Say]:
    """What a report says of a language that changes all judges, and no single cell."""
    said = () if report is None else report.verdict
    return [s for s in said if isinstance(s, Say) and s.code in ("verdict.diffuse", "verdict.gap")]


def _farthest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The row farthest from 0 in a column."""
    return rows.iloc[int(rows[column].astype(float).abs().argmax())]


def _one(name: str, report: Report) -> Section:
    """One criterion in short: its own verdict and picture."""
    blocks = tuple(b for b in report.picture if not hasattr(b, "draw"))
    return Section(
        name=f"criterion-{name}", title=say("criteria.one", criterion=name), says=report.verdict, blocks=blocks
    )


def _criteria_steps(result: Criteria) -> tuple[Step, ...]:
    """To the labels of the criterion that needs most: people label one at a time. None of a column of criteria, of
    which no option takes one."""
    name, most = max(result.audits.items(), key=lambda x: x[1].labels or 0)
    words = shlex.split(most.summary.source or "SCORES")
    if "--criteria" not in words:
        return ()
    at = words.index("--criteria")
    words[at : at + 2] = ["--score", name]
    enough = ["-n", str(most.labels)] if most.labels else []
    command = " ".join(map(shell, ["polyjudge", "label", "make", *words, "--items", "ITEMS", *enough]))
    return (Step(why=say("step.labels", labels=most.labels), command=command),)


VIEWS: dict[str, Any] = {"Audit": build, "Inside": build, "Criteria": build_criteria}
