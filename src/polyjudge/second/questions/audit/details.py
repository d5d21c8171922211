"""The sections of an audit, below its first screen. A section without results says why it is absent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.labels import clean, label, labels
from polyjudge.second.panel.numbers import number
from polyjudge.second.panel.say import Words, say
from polyjudge.second.questions.audit.orders import ALL
from polyjudge.second.questions.compare.view import held_out_section
from polyjudge.second.questions.probe import view as probe
from polyjudge.second.questions.systems import view as systems
from polyjudge.second.report.build import by_size, chart, column, fields, notes, pivot, table
from polyjudge.second.report.charts.grids import MOST_PAIRS
from polyjudge.second.report.charts.lines import AFTER, BEFORE
from polyjudge.second.report.sections import Block, Chart, Grid, Section, Table

if TYPE_CHECKING:
    from polyjudge.second.questions.audit.audit import Audit, Inside
    from polyjudge.second.questions.audit.explanation import Explanation
    from polyjudge.second.questions.audit.latent import Bounded
    from polyjudge.second.questions.audit.missing import Missingness
    from polyjudge.second.questions.audit.pass_rates import Gates

SPREAD = (
    "threshold:number | passing, % = pass_raw:percent | gap, raw = spread_raw/_low/_high:percent "
    "| calibrated = spread_calibrated/_low/_high:percent "
    "| taken off, left-out tasks = held_out_reduction/held_out_low/held_out_high:+percent"
)
MOST_ANSWERS = 10
LONGEST = 300
"""Characters of a text that are shown; all of it is in worst.csv."""
PASSES = "passes, raw = pass_raw±_se:share | passes, calibrated = pass_calibrated±_se:share"
AGREES = {"same": "yes", "lost": "only in points", "new": "only in logits", "turned": "opposite"}


def sections(a: Audit) -> tuple[Section, ...]:
    """Every section, in the order of use."""
    limits = [] if a.probes is None else [say("probe.scope", tasks=a.probes.tasks)]
    return (
        *([answers_section(a)] if len(a.explanation.worst) else []),
        _places(a),
        cells_section(a),
        _interaction(a),
        *([] if a.probes is None else [probe.section(a.probes)]),
        *(replace(section, folded=True) for section in judged(a)),
        _panel(a),
        _ranks(a),
        _reversals(a),
        _probabilities(a),
        _variance(a),
        *([] if a.gates is None else [gate_section(a.gates)]),
        held_out_section(a.held_out),
        _sensitivity(a),
        *([] if a.bounded is None else [bounded_section(a.bounded)]),
        Section(name="limits", title="What this does not show", says=(*a.caveats, *limits)),
        _methods(a),
    )


def culprit_says(e: Explanation) -> tuple[Words, ...]:
    """The numbers of the places, two sentences each."""
    out: list[Words] = [] if e.culprits.empty else [_kind(e)]
    for _, row in e.culprits.head(3).iterrows():
        values = {str(name): value for name, value in row.items()}
        out.append(say("explain.cell", unit=e.unit, **values))
        known = not pd.isna(row["floor"]) and e.scale.kind != "binary"
        out.append(say("explain.shares" if known else "explain.shares-missing", **values))
    return tuple(out)


def cell_says(a: Audit) -> tuple[Words, ...]:
    """What is said of the cell that was asked for."""
    e = a.explanation
    return (*culprit_says(e)[1:], _kind(e), say("explain.stability", **fields(e, "stability", "resamples")))


def _kind(e: Explanation) -> Words:
    named = e.named
    first = {} if not named else {"language": named[0][0], "judge": named[0][1]}
    return say(f"explain.kind.{e.kind}", named=named, **first)


def answers_section(a: Audit) -> Section:
    """The answers that move a cell most, with their texts where there are any: cut, and nothing in them runs."""
    says: list[Words] = []
    for number_, (_, row) in enumerate([] if a.answers is None else a.answers.head(MOST_ANSWERS).iterrows(), 1):
        place = {"task": row["task"], "system": row.get("system"), "number": number_}
        says.append(say("answer.scores", **place, **fields(row, "language", "judge", "score", "others")))
        for text in ("prompt", "response", "reason"):
            if isinstance(row.get(text), str) and row[text].strip():
                says.append(say(f"answer.{text}", text=clean(row[text], LONGEST), judge=row["judge"]))
    worst = a.explanation.worst
    head = "task:label | " + ("system | " if "system" in worst else "") + "language | judge | score:points"
    more = [column(name, like=("score",)) for name in ("others:points", "expected:points", "gap:+points")]
    rows = table("worst", say("explain.worst"), worst, head, *more, most=60)
    title = "The answers that move it most"
    return Section(name="answers", title=title, says=tuple(says), blocks=(rows,), folded=a.cell is None)


def cells_section(a: Audit) -> Section:
    """Every place by both readings."""
    e, c = a.explanation, a.certificate
    head = (
        "language | judge | sparse reading = excess/low/high:+points "
        "| double centring = interaction/band_low/band_high:+points | does it matter = matter | named:yes"
    )
    places = table("explained", say("explain.cells", level=e.level), by_size(e.cells, "excess"), head)
    says: list[Words] = []
    if e.cells["named"].any():
        sizes = {"largest": e.largest, "without": e.largest_without, "cells": len(e.cells)}
        says.append(say("explain.without", **sizes, **fields(e, "unit", "clear", "clear_without")))
    values = {"delta": c.delta, "matters": c.matters, "unit": e.unit, "level": c.level, "cells": len(c.cells)}
    says.append(say("explain.certificate", **values, needed=c.tasks_needed, exact=c.exact, **c.change, **c.counts))
    return Section(name="places", title="Every place", says=tuple(says), blocks=(places,))


def judged(audit: Inside) -> tuple[Section, ...]:
    """Whether the judges agree, and with systems who wins and who favours whom."""
    if audit.systems is not None:
        return systems.sections(audit.systems)
    if audit.signal is None:
        part = "systems" if audit.summary.systems else "signal"
        return (_absent(audit, part, "Do the judges agree about what they judge"),)
    placed = () if audit.position is None else (audit.position.section(),)
    return systems.signal_section(audit.signal), *placed


def _places(audit: Audit) -> Section:
    """The culprits: their numbers, worst tasks and scores."""
    e = audit.explanation
    blocks: list[Block] = []
    if len(audit.distribution):
        caption, alt = "Scores of every judge in every language.", say("explain.shares-chart", named=e.named)
        blocks.append(chart("score-shares", "score_shares", caption, alt, frame=audit.distribution, named=e.named))
    return Section(name="culprits", title="What is off, and how it looks", says=culprit_says(e), blocks=tuple(blocks))


def _heatmap(audit: Audit) -> Chart:
    u = audit.uncertainty
    cells = u.cells
    top = cells.iloc[int(cells["interaction"].abs().argmax())]
    values = fields(top, "judge", "language", "interaction", "low", "high")
    grid = Grid(
        name="heatmap",
        caption="Points a judge gives in a language beyond its own level and the language's",
        values=pivot(cells, "interaction"),
        kind="points",
        sign=True,
        marks=pivot(cells, "verdict").replace("unclear", ""),
        note=say("audit.heatmap-note", level=u.level),
    )
    caption = "Interaction of language and judge."
    alt = say("audit.heatmap", tasks=u.tasks, clear=u.clear, cells=len(cells), method=u.band_method, **values)
    return chart("heatmap", "interaction_heatmap", caption, alt, grid, cells=u.cells, level=u.level, tasks=u.tasks)


def _panel(audit: Audit) -> Section:
    s, judge, language = audit.summary, audit.judge_effect.sort_values("rank", kind="stable"), audit.language_effect
    first = judge.iloc[0]
    named = (("Systems", s.systems), ("Languages", s.languages), ("Judges", s.judges), ("Replicates", s.replicates))
    says: list[Words] = [say("audit.names", what=what, names=_some(names)) for what, names in named if names]
    most = {"judge": first["judge"], **{f"judge_{name}": first[name] for name in ("effect", "low", "high")}}
    shifts = () if language is None else (_effects(language, "language", "Languages: shift that all judges share"),)
    order = "Judge effects: the order that calibrating aligns every language to, in points"
    blocks: list[Block] = [
        Chart(
            name="effects",
            draw="intervals",
            data=(_effects(judge, "judge", "Judges: leniency overall"), *shifts),
            caption="Judge and language effects.",
            alt=say("audit.effects-chart", **most),
            instead=table("judges", order, judge, "judge | effect/low/high:+points | rank:rank"),
        ),
    ]
    if language is not None:
        caption = "Language effects: a shared shift, which stays in the scores, in points"
        head = "language | effect/low/high:+points | median judge = median/_low/_high:+points | rank:rank"
        blocks.append(table("languages", caption, language, head))
    if audit.missingness is not None:
        more, cells = _lacking(audit.missingness)
        says += more
        blocks.append(cells)
    return Section(name="panel", title="The panel and its coverage", says=tuple(says), blocks=tuple(blocks))


def _lacking(m: Missingness) -> tuple[list[Words], Table]:
    """What is said of missing scores, and the cells that lack some."""
    says: list[Words] = [say("missing.rate", missing=m.missing, entries=m.entries, rate=m.rate)]
    tests = {"p": m.p_cell, "p_together": m.p_interaction, "p_floor": 1 / (1 + m.draws)}
    says += [say("missing.tests", **tests)] if m.p_cell is not None else []
    says += notes(m.notes)
    lacking = m.cells[m.cells["missing"] > 0].sort_values("rate", ascending=False, kind="stable")
    head = "language | judge | missing:count | of tasks = tasks:count | rate:share"
    if "sensitivity_low" in lacking:
        ends = "interaction/sensitivity_low/sensitivity_high:+points"
        head += f" | interaction, and its range if missing scores lie off = {ends}"
    return says, table("missing", "Cells that lack scores", lacking, head)


def _effects(frame: pd.DataFrame, what: str, title: str) -> dict[str, Any]:
    return {"frame": frame, "label": what, "value": "effect", "title": title, "unit": "points from the grand mean"}


def _ranks(audit: Audit) -> Section:
    title = "Ranks by language, before and after"
    if audit.ranks is None:
        return _absent(audit, "reversals", title, "ranks")
    ranks = audit.ranks.table
    before = ranks[ranks["scope"] == "language"]
    tops = before[before["rank"] == before.groupby("language")["rank"].transform("min")]
    texts = ranks.assign(
        text=[
            f"{r:g}" + (f" [{int(a)}-{int(b)}]" if a != b else "")
            for r, a, b in zip(ranks["rank"], ranks["rank_low"], ranks["rank_high"], strict=True)
        ],
        mark=np.where(ranks["top_set"], "top", ""),
    )

    def wide(name: str) -> pd.DataFrame:
        frame = texts.pivot(index="language", columns="judge", values=name)
        return frame.loc[[*audit.summary.languages, ALL], list(audit.summary.judges)]

    lines = Chart(
        name="rank-lines",
        draw="rank_lines",
        data=({"ranks": audit.ranks.table, "stage": BEFORE}, {"ranks": audit.ranks.table, "stage": AFTER}),
        caption="Ranks by mean score.",
        alt=say("audit.ranks-chart", leaders=tops["judge"].nunique(), languages=before["language"].nunique()),
        instead=Grid(
            name="ranks",
            caption="Ranks by mean score",
            values=wide("rank"),
            kind="rank",
            texts=wide("text"),
            marks=wide("mark"),
            note=say("audit.ranks-note", level=audit.level),
        ),
    )
    head = (
        "language | judge | rank:rank | best not ruled out = rank_low:rank | worst = rank_high:rank "
        "| may be top = top_set:yes | cannot be told apart from = tied_with:label"
    )
    tied = table("tied", "Ranks and the judges that cannot be told apart", ranks, head)
    return Section(name="ranks", title=title, says=(say("audit.ranks-arithmetic"),), blocks=(lines, tied))


def _interaction(audit: Audit) -> Section:
    says = (say("audit.interaction"), *notes(audit.uncertainty.notes))
    title = "Where language and judge interact"
    return Section(name="interaction", title=title, says=says, blocks=(_heatmap(audit),))


def _reversals(audit: Audit) -> Section:
    r, title = audit.reversals, "Pairs that swap places"
    if r is None or audit.ranks is None:
        return _absent(audit, "reversals", title, "reversals")
    pairs = r.pairs.sort_values(["p_selected", "delta"], ascending=[True, False], kind="stable")
    turned = pairs[pairs["delta"] > 0]
    words = say(
        "audit.reversals",
        pairs=len(r.pairs),
        sure=r.count_selected,
        chance=r.null_mean,
        most=r.null_high,
        p=r.p_global,
        p_unequal=r.p_global_unequal,
        method=r.global_method,
        **fields(r, "count", "p_floor"),
    )
    if turned.empty:
        return Section(name="reversals", title=title, says=(words,))
    shown = table(
        "pairs",
        "Pairs; p adjusted over all pairs",
        turned,
        "first = judge_i:judge | second = judge_j:judge | in = language_a:label | gap and its se = gap_a±_se:+points "
        "| but in = language_b:label | gap and its se = gap_b±_se:+points "
        "| p, languages picked from the data = p_selected:p | p, ignoring that = p_published:p",
        column("swaps = reverses:yes", words={True: "yes", False: "unsure"}),
    )
    caption = "Gaps of the swapping pairs by language."
    alt = say("audit.gaps-chart", drawn=MOST_PAIRS, turned=len(turned))
    gaps = chart("gaps", "pair_gaps", caption, alt, pairs=r.pairs, ranks=audit.ranks.table)
    return Section(name="reversals", title=title, says=(words,), blocks=(gaps, shown))


def _probabilities(audit: Audit) -> Section:
    r, title = audit.reversals, "How sure the ranks are"
    if r is None:
        return _absent(audit, "reversals", title, "probabilities")
    frame = r.rank_probabilities
    scopes = labels(frame["language"].unique())
    calibrated = frame.loc[frame["scope"] == "calibrated", "language"]
    ranks = Chart(
        name="rank-probabilities",
        draw="rank_probabilities",
        data=({"frame": frame},),
        caption="Probability of each rank over resampled tasks.",
        alt=say("audit.probabilities-chart"),
        scopes=tuple(scopes.values()),
        scope=scopes[calibrated.iloc[0]] if len(calibrated) else next(iter(scopes.values())),
    )
    caption = "Top judge and the share of resampled task sets that agree"
    top = table("top", caption, r.top, "language | top judge = judge | probability:share")
    return Section(name="probabilities", title=title, blocks=(ranks, top))


def _absent(audit: Inside, part: str, title: str, name: str | None = None) -> Section:
    return Section(name=name or part, title=title, absent=audit.left_out[part])


def _variance(audit: Audit) -> Section:
    v, title = audit.variance, "What the variance consists of"
    if v is None:
        return _absent(audit, "variance", title)
    parts = v.components
    known = parts[parts["share"].notna()].sort_values("share", ascending=False)
    says: list[Words] = [say("audit.fit", simplified=v.r2_simplified, full=v.r2_full), v.three_way_meaning]
    if v.three_way_f is not None and v.three_way_df is not None:
        a, b = v.three_way_df
        values = {"f": v.three_way_f, "p": v.three_way_p, "p_equal": v.three_way_p_equal}
        says.append(say("audit.three-way-test", df1=a, df2=b, **values))
    if v.replicate_sd is not None:
        says.append(say("audit.replicate-noise", sd=v.replicate_sd, ratio=v.replicate_ratio))
    own, largest = parts.loc[parts["component"] == "language:judge"].iloc[0], (known if len(known) else parts).iloc[0]
    alt = say("audit.variance-chart", own=own["share"], largest=largest["component"], share=largest["share"])
    head = "component | share and interval = share/low/high:share | variance:points"
    instead = table("variance", "Variance components", parts, head)
    caption = "Shares of the variance of a single score."
    shares = chart("variance-shares", "variance_shares", caption, alt, instead, components=parts)
    return Section(name="variance", title=title, says=(*says, *notes(v.notes)), blocks=(shares,))


def _sensitivity(audit: Audit) -> Section:
    s = audit.sensitivity
    says: list[Words] = [s.verdict]
    blocks: list[Block] = []
    if len(s.judges):
        size, swaps = s.judges["max_interaction"], s.judges["reversing_pairs"]
        ends = {"low": size.min(), "high": size.max(), "least": int(swaps.min()), "most": int(swaps.max())}
        says.append(say("audit.judges-out", all=s.max_interaction, swaps=s.reversing_pairs, **ends))
        head = (
            "judge left out = judge | largest deviation = max_interaction:points "
            "| swapping pairs = reversing_pairs:count | of pairs = pairs:count"
        )
        blocks.append(table("without", "Without one judge", s.judges, head))
    blocks += _sensitivity_tables(audit)
    return Section(name="sensitivity", title="Sensitivity", says=(*says, *notes(s.notes)), blocks=tuple(blocks))


def _sensitivity_tables(audit: Audit) -> list[Block]:
    s = audit.sensitivity
    whole = [name == "reversing_pairs" for name in s.tasks["figure"]]  # a count stands below a number of points
    tasks = s.tasks.assign(
        figure=[str(x).replace("_", " ") for x in s.tasks["figure"]],
        **{
            c: [number(x, 0 if count else 2) for x, count in zip(s.tasks[c], whole, strict=True)]
            for c in ("all_tasks", "lowest", "highest", "without_it")
        },
    )
    return [
        table(
            "tasks",
            "Without one task: the range of each figure, and the task that moves it most",
            tasks,
            *(str(name) for name in tasks.columns),
        ),
        table(
            "links",
            "On other scales: does the conclusion survive",
            s.links,
            "scale = link | rank correlation with plain cells = spearman/low/high:ratio | sign_flips:count "
            "| of large cells = large_cells:count | same swapping pairs = same_reversals:count "
            "| conclusion survives = survives:yes",
        ),
        table(
            "ends",
            "Share of scores at the ends of the scale",
            s.pile_up,
            "judge | at the floor = floor/_low/_high:share | most in = floor_worst_language:label "
            "| at the ceiling = ceiling/_low/_high:share | most in = ceiling_worst_language:label",
        ),
    ]


def _methods(audit: Audit) -> Section:
    u = audit.uncertainty
    caption = "Half-widths of the bounds on all cells at once, in points"
    bounds = table("bounds", caption, u.bounds, "bound | sigma:points | half-width = radius:points")
    intervals = say("methods.intervals", method=u.band_method, level=u.level, critical=u.critical, alpha=1 - u.level)
    return Section(name="methods", title="Methods", says=(say("methods.interaction"), intervals), blocks=(bounds,))


def _some(names: tuple[str, ...], most: int = 12) -> str:
    shown = ", ".join(label(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _rates(g: Gates) -> Chart:
    caption = say("gate.rates", stage="calibrated", **fields(g, "threshold", "at_least"))
    short = {"pass_calibrated": "pass", "pass_calibrated_se": "se"}
    cells = g.cells.rename(columns=short)[["language", "judge", "pass", "se"]]
    values: dict[str, Any] = {}
    for end, at in (("low", cells["pass"].argmin()), ("high", cells["pass"].argmax())):
        cell = cells.iloc[int(at)]
        values |= {end: cell["pass"], f"{end}_judge": cell["judge"], f"{end}_language": cell["language"]}
    grid = Grid(name="rates-calibrated", caption=caption, values=100 * pivot(cells, "pass"), kind="percent", digits=0)
    title, alt = "Who passes where, calibrated scores", say("gate.rates-chart", **values)
    return chart("rates-calibrated", "pass_rates", caption, alt, grid, cells=cells, title=title)


def gate_section(g: Gates) -> Section:
    """The gap at the threshold and at more of them, and who passes where."""
    blocks: list[Block] = []
    sweep = g.sweep
    if len(sweep) > 1:
        most = {"raw": sweep["spread_raw"].max(), "calibrated": sweep["spread_calibrated"].max()}
        blocks.append(
            chart(
                "gate-spread",
                "gate_sweep",
                "Gap of the pass rates between languages, by threshold.",
                say("gate.sweep-chart", level=g.level, **most),
                table("sweep", "Gap in percentage points", sweep, SPREAD),
                sweep=sweep,
                threshold=g.threshold,
            )
        )
    at = g.sweep[g.sweep["threshold"] == g.threshold].iloc[0]
    gate = fields(g, "threshold", "at_least")
    caption = say("gate.rates", stage="with standard errors", **gate)
    blocks.append(_rates(g))
    blocks.append(table("gate", caption, g.cells, f"language | judge | {PASSES}"))
    if len(g.systems):
        head = f"system | language | {PASSES} | decisions turned = flips:count | of = decisions:count"
        blocks.append(table("gate-systems", say("gate.systems", **gate), g.systems, head))
    if g.contrast is not None and len(g.contrast):
        head = "judge | raw/_low/_high:+percent | calibrated/_low/_high:+percent"
        blocks.append(table("contrast", say("gate.contrast", base=g.base), g.contrast, head))
    before = {"raw_low": at["spread_raw_low"], "raw_high": at["spread_raw_high"]}
    ends = {"low": at["spread_calibrated_low"], "high": at["spread_calibrated_high"]}
    left_out = {"raw": g.held_out_raw, "calibrated": g.held_out_calibrated, **fields(g, "resamples", "level")}
    says = (
        say("gate.spread", threshold=g.threshold, raw=g.spread_raw, chance=g.spread_chance, **before),
        say("gate.gain", reduction=g.held_out_reduction, low=g.held_out_low, high=g.held_out_high),
        say("gate.flips", share=g.flip_share, low=g.flip_low, high=g.flip_high, **fields(g, "flips", "decisions")),
        say("gate.same-tasks", calibrated=g.spread_calibrated, **ends),
        say("gate.held-out", **left_out),
        say("gate.scope"),
        *notes(g.notes),
    )
    return Section(name="gates", title="Gates: who passes where", says=says, blocks=tuple(blocks))


def bounded_section(result: Bounded) -> Section:
    """The section of an audit."""
    band = f"logits and {result.level:.0%} band = latent/band_low/band_high:+points.2"
    cells = table(
        "latent",
        "Cells by size, in logits",
        by_size(result.cells, "latent"),
        f"language | judge | {band} | points = linear:+points | clear in logits = clear:yes "
        "| in points = linear_clear:yes",
        column("agree = agrees", words=AGREES),
    )
    head = "level:count | scores from = low:number | to = high:number | share of scores = share:share"
    levels = table("levels", "Levels of the scores", result.levels, head)
    says: list[Words] = [
        say("bounded.why", reason=result.reason, levels=len(result.levels), binned=result.binned),
        result.verdict,
        say("bounded.method", unit_sd=result.unit_sd),
        *notes(result.notes),
    ]
    blocks = (levels, cells) if result.binned else (cells,)
    return Section(name="bounded", title=say("bounded.title"), says=tuple(says), blocks=blocks)
