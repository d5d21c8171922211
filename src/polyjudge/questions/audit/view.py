"""What an audit says. A section without results says why it is absent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.panel.labels import label, labels
from polyjudge.panel.numbers import number
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.audit import bounded_view, explain_view, gates_view
from polyjudge.questions.audit.audit import Audit
from polyjudge.questions.audit.bounded import Bounded
from polyjudge.questions.audit.bounded_view import bounded_section
from polyjudge.questions.audit.explain import Explanation
from polyjudge.questions.audit.explain_view import cells_section, culprit_blocks, culprit_says, heatmap, steps
from polyjudge.questions.audit.gates import Gates
from polyjudge.questions.audit.gates_view import gate_section
from polyjudge.questions.audit.missingness import Missingness
from polyjudge.questions.audit.ties import ALL
from polyjudge.questions.compare.recovery import Recovery
from polyjudge.questions.compare.view import held_out_section
from polyjudge.questions.probe import view as probe
from polyjudge.questions.systems import view as systems
from polyjudge.report.build import by_size, chart, column, fields, first_lines, frame_of, notes, pivot, table
from polyjudge.report.charts.interaction import ROOMY
from polyjudge.report.charts.ranks import AFTER, BEFORE
from polyjudge.report.charts.reversals import MOST as MOST_PAIRS
from polyjudge.report.sections import Block, Chart, Grid, Report, Section, Table


def build(result: Audit, panel: Panel | None = None) -> Report:
    """First screen: what was read, the verdict, the heatmap, what follows, what to do. Then every section."""
    s = result.summary
    frame = frame_of("audit", result, panel)
    frame["facts"] = {"seed": result.seed, "level": result.level, "input fingerprint": s.fingerprint}
    e = result.explanation
    scale = say("read.scale", scale=s.scale, low=s.low, high=s.high, matters=e.matters * e.factor, unit=e.unit)
    frame["read"] = (*(frame.get("read") or first_lines(s, result.level)), scale, *notes(s.notes))
    advice = result.advice
    constant = advice.state == "constant"
    limits = [] if result.probes is None else [say("probe.scope", tasks=result.probes.tasks)]
    return Report(
        **frame | {"judges": s.judges},
        title=say("audit.title", judges=len(s.judges), languages=len(s.languages)),
        verdict=advice.verdict,
        picture=() if constant else (heatmap(e, result.certificate.status == "refuted"),),
        beside=() if constant else _beside(result),
        uses=tuple(advice.uses.values()),
        next=steps(advice.steps, s.source or "SCORES"),
        findings=tuple(result.findings),
        brief=True,
        sections=(
            _places(result),
            cells_section(e, result.certificate),
            *([] if result.probes is None else [probe.section(result.probes)]),
            *(replace(section, folded=True) for section in _judged(result)),
            _panel(result),
            _ranks(result),
            _interaction(result),
            _reversals(result),
            _probabilities(result),
            _variance(result),
            _gates(result),
            held_out_section(result.held_out),
            _sensitivity(result),
            *([] if result.bounded is None else [bounded_section(result.bounded)]),
            Section(name="limits", title="What this does not show", says=(*result.caveats, *limits)),
            _methods(result),
        ),
    )


def _beside(audit: Audit) -> tuple[Block, ...]:
    """Who notices damage, with probes; who wins, when the judges see that; else how the judges rank."""
    if audit.probes is not None:
        return (probe.sight(audit.probes),)
    if audit.systems is not None and audit.systems.signal.verdict != "do not agree":
        return (systems.board(audit.systems.leaderboard),)
    if audit.ranks is None or len(audit.summary.judges) > ROOMY:
        return ()
    ranks = audit.ranks.table
    leaders = ranks[(ranks["scope"] == "language") & (ranks["rank"] == 1)]["judge"].nunique()
    caption = "Ranks of the judges by mean score, from the most lenient."
    alt = say("audit.ranks-chart", leaders=leaders, languages=len(audit.summary.languages))
    return (chart("ranks-beside", "rank_lines", caption, alt, ranks=audit.ranks.table, stage=BEFORE),)


def _judged(audit: Audit) -> tuple[Section, ...]:
    """Whether the judges see, and with systems who wins and who favours whom."""
    if audit.systems is not None:
        return systems.sections(audit.systems)
    if audit.signal is None:
        return (_absent(audit, "systems" if audit.summary.systems else "signal", "Do the judges see what they judge"),)
    return (systems.signal_section(audit.signal),)


def _places(audit: Audit) -> Section:
    """The culprits: their numbers, worst tasks and scores."""
    e = audit.explanation
    blocks: list[Block] = culprit_blocks(e)
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
    order = "Judge effects: the order that calibrating aligns every language to, in points"
    blocks: list[Block] = [
        Chart(
            name="effects",
            draw="intervals",
            data=(
                _effects(judge, "judge", "Judges: leniency overall"),
                _effects(language, "language", "Languages: shift that all judges share"),
            ),
            caption="Judge and language effects.",
            alt=say("audit.effects-chart", **most),
            instead=table("judges", order, judge, "judge | effect/low/high:+points | rank:rank"),
        ),
        table(
            "languages",
            "Language effects: a shared shift, which stays in the scores, in points",
            language,
            "language | effect/low/high:+points | median judge = median/_low/_high:+points | rank:rank",
        ),
    ]
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
        return _absent(audit, REVERSALS, title, "ranks")
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
    u = audit.uncertainty
    band = ("band_low", "band_high")
    cells = table(
        "cells",
        "Cells by size, in points",
        by_size(u.cells, "interaction"),
        f"language | judge | points and {u.level:.0%} band = interaction/band_low/band_high:+points",
        column("own interval from = low:+points", like=band),
        column("to = high:+points", like=band),
        "verdict",
    )
    says = (say("audit.interaction"), *notes(u.notes))
    title = "Where language and judge interact"
    return Section(name="interaction", title=title, says=says, blocks=(_heatmap(audit), cells))


def _reversals(audit: Audit) -> Section:
    r, title = audit.reversals, "Pairs that swap places"
    if r is None:
        return _absent(audit, REVERSALS, title, "reversals")
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
        return _absent(audit, REVERSALS, title, "probabilities")
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


REVERSALS = "rank reversals"
"""What says why judges were not compared with each other."""


def _absent(audit: Audit, part: str, title: str, name: str | None = None) -> Section:
    why = audit.left_out.get(part, "this audit did not compute it.")
    return Section(name=name or part, title=title, absent=say("note", text=str(why)))


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


def _gates(audit: Audit) -> Section:
    if audit.gates is None and audit.gate_spread is None:
        why = audit.left_out.get("gate spread", "it was not computed.")
        return Section(name="gates", title="Gates: who passes where", absent=say("note", text=str(why)))
    return gate_section(audit.gates, audit.gate_spread, audit.level)


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
        blocks.append(
            chart(
                "leave-judge-out",
                "bars",
                "Leaving one judge out.",
                say("audit.judges-out-chart", all=s.max_interaction),
                table("without", "Without one judge", s.judges, head),
                frame=s.judges,
                label="judge",
                value="max_interaction",
                unit="points",
                title="Largest deviation without a judge",
                reference=s.max_interaction,
            )
        )
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
    caption = "Planted and estimated interaction, largest first, in points"
    return Section(
        name="recovery",
        title="How close the estimate came to the planted truth",
        says=(words,),
        blocks=(table("recovery", caption, cells, head),),
        folded=False,
    )


VIEWS = {Explanation: explain_view.build, Gates: gates_view.build, Bounded: bounded_view.build, Audit: build}
