"""What an audit says. A section without results says why it is absent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from polyjudge.analyse.ties import ALL
from polyjudge.core.labels import label, labels
from polyjudge.core.sections import Block, Chart, Column, Grid, Report, Section, Table, Words, say
from polyjudge.report.build.bounded import bounded_section
from polyjudge.report.build.compare import held_out_section
from polyjudge.report.build.explain import cells_section, culprit_blocks, culprit_says, heatmap, steps
from polyjudge.report.build.gate import gate_section
from polyjudge.report.build.probe import section as probe_section
from polyjudge.report.build.probe import sight as probe_sight
from polyjudge.report.build.reading import read_says
from polyjudge.report.build.shared import JUDGE, LANGUAGE, frame_of, looked, notes, pivot, value
from polyjudge.report.build.systems import board, signal_section
from polyjudge.report.build.systems import sections as systems_sections
from polyjudge.report.charts.interaction import ROOMY
from polyjudge.report.charts.ranks import AFTER, BEFORE
from polyjudge.report.charts.reversals import MOST as MOST_PAIRS
from polyjudge.report.numbers import number

if TYPE_CHECKING:
    from polyjudge.analyse.audit import Audit
    from polyjudge.analyse.missingness import Missingness
    from polyjudge.analyse.recovery import Recovery
    from polyjudge.core.panel import Panel


def build(result: Audit, panel: Panel | None = None) -> Report:
    """First screen: what was read, the verdict, the heatmap, what follows, what to do. Then every section."""
    s = result.summary
    frame = frame_of("audit", result, panel)
    frame["facts"] = {"seed": result.seed, "level": result.level, "input fingerprint": s.fingerprint}
    e = result.explanation
    scale = say("read.scale", scale=s.scale, low=s.low, high=s.high, matters=e.matters * e.factor, unit=e.unit)
    read = frame.get("read") or (*read_says(s), *looked(s.looks, result.level))
    frame["read"] = (*read, scale, *notes(s.notes))
    advice = result.advice
    return Report(
        **frame | {"judges": s.judges},
        title=say("audit.title", judges=len(s.judges), languages=len(s.languages)),
        verdict=advice.verdict,
        picture=_picture(result),
        beside=_beside(result),
        uses=tuple(advice.uses.values()),
        next=steps(advice.steps, s.source or "SCORES"),
        findings=tuple(result.findings),
        brief=True,
        sections=(
            _places(result),
            cells_section(result.explanation, result.certificate),
            *([] if result.probes is None else [probe_section(result.probes)]),
            *(replace(section, folded=True) for section in _judged(result)),
            _panel(result),
            _ranks(result),
            _interaction(result),
            _reversals(result),
            _probabilities(result),
            _variance(result),
            _structure(result),
            _gates(result),
            held_out_section(result.held_out),
            _sensitivity(result),
            *([] if result.bounded is None else [bounded_section(result.bounded)]),
            Section(name="limits", title="What this does not show", says=_limits(result)),
            _methods(result),
        ),
    )


def _limits(audit: Audit) -> tuple[Words, ...]:
    return audit.caveats if audit.probes is None else (*audit.caveats, say("probe.scope", tasks=audit.probes.tasks))


def _picture(audit: Audit) -> tuple[Block, ...]:
    """The heatmap; nothing where all scores are equal."""
    return (
        () if audit.advice.state == "constant" else (heatmap(audit.explanation, audit.certificate.status == "refuted"),)
    )


def _beside(audit: Audit) -> tuple[Block, ...]:
    """Who notices damage, with probes; who wins, when the judges see that; else how the judges rank."""
    if audit.advice.state == "constant":
        return ()
    if audit.probes is not None:
        return (probe_sight(audit.probes),)
    if audit.systems is not None and audit.systems.signal.verdict != "blind":
        return (board(audit.systems.leaderboard),)
    if audit.ranks is None or len(audit.summary.judges) > ROOMY:
        return ()
    table = audit.ranks.table
    leaders = table[(table["scope"] == "language") & (table["rank"] == 1)]["judge"].nunique()
    return (
        Chart(
            name="ranks-beside",
            draw="rank_lines",
            data=({"ranks": audit.ranks, "stage": BEFORE},),
            caption="Ranks of the judges by mean score, from the most lenient.",
            alt=say("audit.ranks-chart", leaders=leaders, languages=len(audit.summary.languages)),
        ),
    )


def _judged(audit: Audit) -> tuple[Section, ...]:
    """Whether the judges see, and with systems who wins and who favours whom."""
    if audit.systems is not None:
        return systems_sections(audit.systems)
    if audit.signal is None:
        return (_absent(audit, "systems" if audit.summary.systems else "signal", "Do the judges see what they judge"),)
    return (signal_section(audit.signal),)


def _places(audit: Audit) -> Section:
    """The culprits: their numbers, worst tasks and scores."""
    e = audit.explanation
    blocks: list[Block] = culprit_blocks(e)
    if len(audit.distribution):
        blocks.append(
            Chart(
                name="score-shares",
                draw="score_shares",
                data=({"frame": audit.distribution, "named": e.named},),
                caption="Scores of every judge in every language.",
                alt=say("explain.shares-chart", named=e.named),
            )
        )
    return Section(name="culprits", title="What is off, and how it looks", says=culprit_says(e), blocks=tuple(blocks))


def _heatmap(audit: Audit) -> Chart:
    u = audit.uncertainty
    cells = u.cells
    top = cells.iloc[int(cells["interaction"].abs().argmax())]
    values = {name: top[name] for name in ("judge", "language", "interaction", "low", "high")}
    return Chart(
        name="heatmap",
        draw="interaction_heatmap",
        data=({"result": u},),
        caption="Interaction of language and judge.",
        alt=say("audit.heatmap", tasks=u.tasks, clear=u.clear, cells=len(cells), method=u.band_method, **values),
        instead=Grid(
            name="heatmap",
            caption="Points a judge gives in a language beyond its own level and the language's",
            values=pivot(cells, "interaction"),
            kind="points",
            sign=True,
            marks=pivot(cells, "verdict").replace("unclear", ""),
            note=say("audit.heatmap-note", level=u.level),
        ),
    )


def _panel(audit: Audit) -> Section:
    s, judge, language = audit.summary, audit.judge_effect.sort_values("rank", kind="stable"), audit.language_effect
    effect = (value("effect", "effect", "low", "high", sign=True), Column(name="rank", title="rank", kind="rank"))
    first = judge.iloc[0]
    says: list[Words] = [
        say("audit.names", what=word, names=_some(names))
        for word, names in (
            ("Systems", s.systems),
            ("Languages", s.languages),
            ("Judges", s.judges),
            ("Replicates", s.replicates),
        )
        if names
    ]
    blocks: list[Block] = [
        Chart(
            name="effects",
            draw="intervals",
            data=(
                _effects(judge, "judge", "Judges: leniency overall"),
                _effects(language, "language", "Languages: shift that all judges share"),
            ),
            caption="Judge and language effects.",
            alt=say(
                "audit.effects-chart",
                judge=first["judge"],
                judge_effect=first["effect"],
                judge_low=first["low"],
                judge_high=first["high"],
            ),
            instead=Table(
                name="judges", caption="Judge effects: the order that calibrating aligns every language to, in points",
                frame=judge, columns=(JUDGE, *effect),
            ),
        ),
        Table(
            name="languages", caption="Language effects: a shared shift, which stays in the scores, in points",
            frame=language,
            columns=(
                LANGUAGE, effect[0], value("median", "median judge", "median_low", "median_high", sign=True), effect[1],
            ),
        ),
    ]  # fmt: skip
    if audit.missingness is not None:
        more, table = _lacking(audit.missingness)
        says += more
        blocks.append(table)
    return Section(name="panel", title="The panel and its coverage", says=tuple(says), blocks=tuple(blocks))


def _lacking(m: Missingness) -> tuple[list[Words], Table]:
    """What is said of missing scores, and the cells that lack some."""
    says: list[Words] = [say("missing.rate", missing=m.missing, entries=m.entries, rate=m.rate)]
    tests = {"p": m.p_cell, "p_together": m.p_interaction, "p_floor": 1 / (1 + m.draws)}
    says += [say("missing.tests", **tests)] if m.p_cell is not None else []
    says += notes(m.notes)
    lacking = m.cells[m.cells["missing"] > 0].sort_values("rate", ascending=False, kind="stable")
    columns = [
        LANGUAGE,
        JUDGE,
        Column(name="missing", title="missing", kind="count"),
        Column(name="tasks", title="of tasks", kind="count"),
        Column(name="rate", title="rate", kind="share"),
    ]
    if "sensitivity_low" in lacking:
        title = "interaction, and its range if missing scores lie off"
        columns.append(value("interaction", title, "sensitivity_low", "sensitivity_high", sign=True))
    return says, Table(name="missing", caption="Cells that lack scores", frame=lacking, columns=tuple(columns))


def _effects(frame: pd.DataFrame, what: str, title: str) -> dict[str, Any]:
    return {"frame": frame, "label": what, "value": "effect", "title": title, "unit": "points from the grand mean"}


def _ranks(audit: Audit) -> Section:
    title = "Ranks by language, before and after"
    if audit.ranks is None:
        return _absent(audit, REVERSALS, title, "ranks")
    table = audit.ranks.table
    before = table[table["scope"] == "language"]
    tops = before[before["rank"] == before.groupby("language")["rank"].transform("min")]
    texts = table.assign(
        text=[
            f"{r:g}" + (f" [{int(a)}-{int(b)}]" if a != b else "")
            for r, a, b in zip(table["rank"], table["rank_low"], table["rank_high"], strict=True)
        ],
        mark=np.where(table["top_set"], "top", ""),
    )

    def wide(name: str) -> pd.DataFrame:
        frame = texts.pivot(index="language", columns="judge", values=name)
        return frame.loc[[*audit.summary.languages, ALL], list(audit.summary.judges)]

    columns = (
        LANGUAGE,
        JUDGE,
        Column(name="rank", title="rank", kind="rank"),
        Column(name="rank_low", title="best not ruled out", kind="rank"),
        Column(name="rank_high", title="worst", kind="rank"),
        Column(name="top_set", title="may be top", kind="yes"),
        Column(name="tied_with", title="cannot be told apart from", kind="label"),
    )
    return Section(
        name="ranks",
        title=title,
        says=(say("audit.ranks-arithmetic"),),
        blocks=(
            Chart(
                name="rank-lines",
                draw="rank_lines",
                data=({"ranks": audit.ranks, "stage": BEFORE}, {"ranks": audit.ranks, "stage": AFTER}),
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
            ),
            Table(
                name="tied",
                caption="Ranks and the judges that cannot be told apart",
                frame=table,
                columns=columns,
                most=200,
            ),
        ),
    )


def _interaction(audit: Audit) -> Section:
    u = audit.uncertainty
    cells = u.cells.reindex(u.cells["interaction"].abs().sort_values(ascending=False, kind="stable").index)
    columns = (
        LANGUAGE,
        JUDGE,
        value("interaction", f"points and {u.level:.0%} band", "band_low", "band_high", sign=True),
        Column(name="low", title="own interval from", kind="points", sign=True, like=("band_low", "band_high")),
        Column(name="high", title="to", kind="points", sign=True, like=("band_low", "band_high")),
        Column(name="verdict", title="verdict"),
    )
    return Section(
        name="interaction",
        title="Where language and judge interact",
        says=(say("audit.interaction"), *notes(u.notes)),
        blocks=(
            _heatmap(audit),
            Table(name="cells", caption="Cells by size, in points", frame=cells, columns=columns, most=200),
        ),
    )


def _reversals(audit: Audit) -> Section:
    r, title = audit.reversals, "Pairs that swap places"
    if r is None:
        return _absent(audit, REVERSALS, title, "reversals")
    pairs = r.pairs.sort_values(["p_selected", "delta"], ascending=[True, False], kind="stable")
    turned = pairs[pairs["delta"] > 0]
    words = say(
        "audit.reversals",
        count=r.count,
        pairs=len(r.pairs),
        sure=r.count_selected,
        chance=r.null_mean,
        most=r.null_high,
        p=r.p_global,
        p_unequal=r.p_global_unequal,
        p_floor=r.p_floor,
        method=r.global_method,
    )
    if turned.empty:
        return Section(name="reversals", title=title, says=(words,))
    columns = (
        Column(name="judge_i", title="first", kind="judge"),
        Column(name="judge_j", title="second", kind="judge"),
        Column(name="language_a", title="in", kind="label"),
        Column(name="gap_a", title="gap and its se", kind="points", sign=True, se="gap_a_se"),
        Column(name="language_b", title="but in", kind="label"),
        Column(name="gap_b", title="gap and its se", kind="points", sign=True, se="gap_b_se"),
        Column(name="p_selected", title="p, languages picked from the data", kind="p"),
        Column(name="p_published", title="p, ignoring that", kind="p"),
        Column(name="reverses", title="swaps", kind="yes", words={True: "yes", False: "unsure"}),
    )
    shown = Table(name="pairs", caption="Pairs; p adjusted over all pairs", frame=turned, columns=columns)
    chart = Chart(
        name="gaps",
        draw="pair_gaps",
        data=({"reversals": r, "ranks": audit.ranks},),
        caption="Gaps of the swapping pairs by language.",
        alt=say("audit.gaps-chart", drawn=MOST_PAIRS, turned=len(turned)),
    )
    return Section(name="reversals", title=title, says=(words,), blocks=(chart, shown))


def _probabilities(audit: Audit) -> Section:
    r, title = audit.reversals, "How sure the ranks are"
    if r is None:
        return _absent(audit, REVERSALS, title, "probabilities")
    frame = r.rank_probabilities
    scopes = labels(frame["language"].unique())
    calibrated = frame.loc[frame["scope"] == "calibrated", "language"]
    chart = Chart(
        name="rank-probabilities",
        draw="rank_probabilities",
        data=({"result": r},),
        caption="Probability of each rank over resampled tasks.",
        alt=say("audit.probabilities-chart"),
        scopes=tuple(scopes.values()),
        scope=scopes[calibrated.iloc[0]] if len(calibrated) else next(iter(scopes.values())),
    )
    top = Table(
        name="top",
        caption="Top judge and the share of resampled task sets that agree",
        frame=r.top,
        columns=(
            LANGUAGE,
            Column(name="judge", title="top judge", kind="judge"),
            Column(name="probability", title="probability", kind="share"),
        ),
    )
    return Section(name="probabilities", title=title, blocks=(chart, top))


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
    chart = Chart(
        name="variance-shares",
        draw="variance_shares",
        data=({"components": parts},),
        caption="Shares of the variance of a single score.",
        alt=say("audit.variance-chart", own=own["share"], largest=largest["component"], share=largest["share"]),
        instead=Table(
            name="variance",
            caption="Variance components",
            frame=parts,
            columns=(
                Column(name="component", title="component"),
                Column(name="share", title="share and interval", kind="share", low="low", high="high"),
                value("variance", "variance"),
            ),
        ),
    )
    return Section(name="variance", title=title, says=(*says, *notes(v.notes)), blocks=(chart,))


def _structure(audit: Audit) -> Section:
    s, i = audit.structure, audit.information
    lead = s.patterns.iloc[0]
    says: list[Words] = [
        say(
            "audit.pattern",
            **{name: lead[name] for name in ("share", "low", "high")},
            judges=_loadings(s.judges, "judge"),
            languages=_loadings(s.languages, "language"),
        ),
        s.advice,
    ]
    if s.tukey_slope is not None:
        slope = {"slope": s.tukey_slope, "low": s.tukey_low, "high": s.tukey_high, "p": s.tukey_p}
        says.append(say("audit.scale-use", share=s.tukey_share, **slope))
    if i is not None:
        values = {n: getattr(i, n) for n in ("low", "high", "task_low", "task_high", "observed", "permutations", "p")}
        says += [
            say("audit.information", nats=i.debiased, null=i.null_mean, p_floor=1 / (1 + i.permutations), **values),
            *notes(i.notes),
        ]
    blocks: tuple[Block, ...] = ()
    if s.scale_use["slope"].notna().any():
        data = {
            "frame": s.scale_use,
            "label": "judge",
            "value": "slope",
            "title": "How widely each judge uses the scale",
        }
        blocks = (
            Chart(
                name="scale-use",
                draw="intervals",
                data=({**data, "unit": "points per point of the panel", "zero": 1.0},),
                caption="Scale use.",
                alt=say("audit.scale-use-chart"),
                instead=Table(
                    name="scale-use",
                    caption="Scale use",
                    frame=s.scale_use,
                    columns=(
                        JUDGE,
                        Column(name="slope", title="slope", kind="ratio", digits=2, low="low", high="high"),
                    ),
                ),
            ),
        )
    return Section(name="pattern", title="Pattern of the interaction", says=(*says, *notes(s.notes)), blocks=blocks)


def _loadings(frame: pd.DataFrame, name: str) -> str:
    pairs = zip(frame[name].head(3), frame["loading"].head(3), strict=True)
    return ", ".join(f"{label(who)} {loading:+.2f}" for who, loading in pairs)


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
        says.append(
            say(
                "audit.judges-out",
                low=size.min(),
                high=size.max(),
                all=s.max_interaction,
                least=int(swaps.min()),
                most=int(swaps.max()),
                swaps=s.reversing_pairs,
            )
        )
        data = {"frame": s.judges, "label": "judge", "value": "max_interaction", "unit": "points"}
        columns = (
            Column(name="judge", title="judge left out", kind="judge"),
            value("max_interaction", "largest deviation"),
            Column(name="reversing_pairs", title="swapping pairs", kind="count"),
            Column(name="pairs", title="of pairs", kind="count"),
        )
        blocks.append(
            Chart(
                name="leave-judge-out",
                draw="bars",
                data=({**data, "title": "Largest deviation without a judge", "reference": s.max_interaction},),
                caption="Leaving one judge out.",
                alt=say("audit.judges-out-chart", all=s.max_interaction),
                instead=Table(name="without", caption="Without one judge", frame=s.judges, columns=columns),
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
    by_task = [Column(name=n, title=n.replace("_", " ")) for n in tasks.columns]
    links = (
        Column(name="link", title="scale"),
        Column(name="spearman", title="rank correlation with plain cells", kind="ratio", low="low", high="high"),
        Column(name="sign_flips", title="sign flips", kind="count"),
        Column(name="large_cells", title="of large cells", kind="count"),
        Column(name="same_reversals", title="same swapping pairs", kind="count"),
        Column(name="survives", title="conclusion survives", kind="yes"),
    )
    ends = (
        JUDGE,
        Column(name="floor", title="at the floor", kind="share", low="floor_low", high="floor_high"),
        Column(name="floor_worst_language", title="most in", kind="label"),
        Column(name="ceiling", title="at the ceiling", kind="share", low="ceiling_low", high="ceiling_high"),
        Column(name="ceiling_worst_language", title="most in", kind="label"),
    )
    captions = {
        "tasks": "Without one task: the range of each figure, and the task that moves it most",
        "links": "On other scales: does the conclusion survive",
        "ends": "Share of scores at the ends of the scale",
    }
    return [
        Table(name="tasks", caption=captions["tasks"], frame=tasks, columns=tuple(by_task)),
        Table(name="links", caption=captions["links"], frame=s.links, columns=links),
        Table(name="ends", caption=captions["ends"], frame=s.pile_up, columns=ends),
    ]


def _methods(audit: Audit) -> Section:
    u = audit.uncertainty
    bounds = Table(
        name="bounds",
        caption="Half-widths of the bounds on all cells at once, in points",
        frame=u.bounds,
        columns=(Column(name="bound", title="bound"), value("sigma", "sigma"), value("radius", "half-width")),
    )
    intervals = say("methods.intervals", method=u.band_method, level=u.level, critical=u.critical, alpha=1 - u.level)
    return Section(name="methods", title="Methods", says=(say("methods.interaction"), intervals), blocks=(bounds,))


def _some(names: tuple[str, ...], most: int = 12) -> str:
    shown = ", ".join(label(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def recovery_section(found: Recovery) -> Section:
    """How close an audit came to a planted truth."""
    cells = found.cells.reindex(found.cells["planted"].abs().sort_values(ascending=False).index)
    words = say(
        "recovery",
        error=found.root_mean_square_error,
        planted=found.root_mean_square_planted,
        largest=found.largest_error,
        inside=found.inside,
        cells=len(cells),
        level=found.level,
        in_band=found.in_band,
    )
    columns = (LANGUAGE, JUDGE, *(value(n, n, sign=True) for n in ("planted", "estimated", "error")))
    caption = "Planted and estimated interaction, largest first, in points"
    return Section(
        name="recovery",
        title="How close the estimate came to the planted truth",
        says=(words,),
        blocks=(Table(name="recovery", caption=caption, frame=cells, columns=columns),),
        folded=False,
    )
