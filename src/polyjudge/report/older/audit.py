"""The audit as terminal text."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyjudge.analyse.audit import Audit
from polyjudge.analyse.ties import ALL
from polyjudge.core.labels import clean
from polyjudge.report.older.base import heading, interval, number, p_value, rows, say, show
from polyjudge.report.older.matrix import matrix
from polyjudge.report.verdict import verdict

SEVERITY_STYLE = {"serious": "bold red", "warning": "yellow", "notice": "cyan", "info": "dim"}
MARKS = {"clear": "* ", "pointwise": ". ", "unclear": ""}
"""Before the number, so that digits stay in line."""


def show_audit(console: Console, audit: Audit) -> None:
    """Print everything an audit found, most important first."""
    _summary(console, audit)
    heading(console, "Verdict")
    for sentence in verdict(audit):
        say(console, sentence)
    _findings(console, audit)
    _ranks(console, audit)
    _interaction(console, audit)
    _reversals(console, audit)
    _effects(console, audit)
    _held_out(console, audit)
    _variance(console, audit)
    _structure(console, audit)
    _sensitivity(console, audit)
    _gates(console, audit)
    heading(console, "What this does not show")
    for caveat in audit.caveats:
        say(console, caveat)


def _summary(console: Console, audit: Audit) -> None:
    s = audit.summary
    shape = f"{s.tasks} tasks x {len(s.languages)} languages x {len(s.judges)} judges"
    if len(s.replicates) > 1:
        shape += f" x {len(s.replicates)} replicates"
    heading(console, f"Audit of {shape}")
    units = "" if s.units == s.tasks else f" in {s.units} units"
    scale = "declared" if s.range_declared else "observed"
    say(console, f"{s.scores} scores{units} in [{s.low:g}, {s.high:g}] ({scale}); seed {audit.seed}")
    for note in s.notes:
        say(console, f"note: {clean(note, 400)}")


def _findings(console: Console, audit: Audit) -> None:
    heading(console, "Findings")
    grid = Table.grid(padding=(0, 2))
    for f in audit.findings:
        grid.add_row(Text(f.severity, style=SEVERITY_STYLE[f.severity]), Text(f.text))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def _ranks(console: Console, audit: Audit) -> None:
    heading(console, "Ranks of the judges, by mean score")
    table = audit.ranks.table
    entry: dict[tuple[str, str], str] = {}
    top: set[tuple[str, str]] = set()
    for row in rows(table):
        low, high = int(row.rank_low), int(row.rank_high)
        where = (str(row.language), str(row.judge))
        entry[where] = f"{row.rank:g}" + (f" [{low}-{high}]" if low != high else "")
        if row.top_set:
            top.add(where)
    frame = table.pivot(index="language", columns="judge", values="rank")
    frame = frame.loc[[*audit.summary.languages, ALL], list(audit.summary.judges)]
    matrix(console, frame, lambda r, c: entry[r, c], lambda r, c: "bold green" if (r, c) in top else "")
    say(
        console,
        f"Raw ranks by language; the last row is the rank in every language after calibration. [low-high]: ranks that "
        f"{audit.level:.0%} confidence cannot rule out (paired differences over tasks, all pairs of a row at once); "
        "judges whose ranges meet may be tied.",
        "dim",
    )


def _interaction(console: Console, audit: Audit) -> None:
    heading(console, "Interaction: points a judge gives in a language beyond its own and the language's mean")
    u = audit.uncertainty
    frame = audit.calibrator.interaction_
    value = {(str(c.language), str(c.judge)): float(c.interaction) for c in rows(u.cells)}
    verdict = {(str(c.language), str(c.judge)): str(c.verdict) for c in rows(u.cells)}
    largest = max(float(np.abs(frame.to_numpy()).max()), 1e-300)
    digits = 2 if largest < 1000 else 0

    def text(row: str, column: str) -> str:
        return MARKS[verdict[row, column]] + number(value[row, column], digits, True)

    def style(row: str, column: str) -> str:
        mark = verdict[row, column]
        colour = "red" if value[row, column] > 0 else "blue"
        return {"unclear": "dim", "pointwise": colour, "clear": f"bold {colour}"}[mark]

    matrix(console, frame, text, style)
    say(
        console,
        f"* clear of the {u.level:.0%} band over all cells at once ({u.band_method}, {u.tasks} tasks): {u.clear} of "
        f"{len(u.cells)}.  . only its own interval excludes 0.",
        "dim",
    )
    say(
        console,
        f"Gaussian bound +-{u.radius:.2f} with sigma {u.sigma:.2f} ({u.sigma_kind}); "
        + "; ".join(
            f"{b.bound} +-{number(float(b.radius))}" for b in rows(u.bounds) if not str(b.bound).startswith("Gau")
        ),
        "dim",
    )
    heading(console, "Strongest cells")
    strongest = u.cells.reindex(u.cells["interaction"].abs().sort_values(ascending=False, kind="stable").index).head(8)
    shown = pd.DataFrame(
        {
            "language": strongest["language"],
            "judge": strongest["judge"],
            "points": [number(x, 2, True) for x in strongest["interaction"]],
            f"{u.level:.0%} band": [
                interval(a, b, 2, True) for a, b in zip(strongest["band_low"], strongest["band_high"], strict=True)
            ],
            "own interval": [interval(a, b, 2, True) for a, b in zip(strongest["low"], strongest["high"], strict=True)],
            "verdict": strongest["verdict"],
        }
    )
    show(console, shown)


def _reversals(console: Console, audit: Audit) -> None:
    r = audit.reversals
    heading(
        console,
        f"Rank reversals: {r.count} of {len(r.pairs)} pairs, {r.count_selected} clear with selection accounted for",
    )
    turned = r.pairs[r.pairs["delta"] > 0].sort_values("p_selected", kind="stable")
    if len(turned):
        shown = pd.DataFrame(
            {
                "pair": [
                    f"{clean(a, 24)} - {clean(b, 24)}"
                    for a, b in zip(turned["judge_i"], turned["judge_j"], strict=True)
                ],
                "gap in one language": [
                    f"{g:+.2f} {clean(x, 20)}" for g, x in zip(turned["gap_a"], turned["language_a"], strict=True)
                ],
                "and in another": [
                    f"{g:+.2f} {clean(x, 20)}" for g, x in zip(turned["gap_b"], turned["language_b"], strict=True)
                ],
                "p published": [p_value(p) for p in turned["p_published"]],
                "p selected": [p_value(p) for p in turned["p_selected"]],
                "reverses": ["yes" if x else "unsure" for x in turned["reverses"]],
            }
        )
        show(console, shown, most=20)
        say(
            console,
            "p published ignores that the two languages were picked from the data; p selected allows for it. Both are "
            "adjusted over all pairs.",
            "dim",
        )
    say(
        console,
        f"A panel without interaction shows {r.null_mean:.1f} reversing pairs on average, 95% of them at most "
        f"{r.null_high:.0f}: p {p_value(r.p_global)} ({r.global_method}).",
    )
    top = r.top[r.top["scope"] == "language"]
    say(
        console,
        "Top judge (bootstrap probability): "
        + "; ".join(f"{clean(t.language, 20)} {clean(t.judge, 24)} {t.probability:.0%}" for t in rows(top.head(12))),
    )


def _effects(console: Console, audit: Audit) -> None:
    def table(frame: pd.DataFrame, word: str) -> pd.DataFrame:
        frame = frame.sort_values("effect", ascending=False, kind="stable")
        return pd.DataFrame(
            {
                word: frame[word],
                "points": [number(x, 2, True) for x in frame["effect"]],
                f"{audit.level:.0%} interval": [
                    interval(a, b, 2, True) for a, b in zip(frame["low"], frame["high"], strict=True)
                ],
            }
        )

    heading(console, "Shared language shift, which stays in the scores")
    show(console, table(audit.language_effect, "language"), most=20)
    heading(console, "The order calibration aligns every language to")
    show(console, table(audit.judge_effect, "judge"), most=20)
    say(console, "It is the order of the judges' overall means: an order of leniency, not of quality.")


def _held_out(console: Console, audit: Audit) -> None:
    heading(console, "Held out: what calibration gains on tasks it has not seen")
    c = audit.held_out
    shown = pd.DataFrame(
        {
            "method": c.table["method"],
            "rank agreement (tau)": [f"{t.tau:.3f} {interval(t.low, t.high, 3)}" for t in rows(c.table)],
            "fall of squared error": [
                f"{number(t.gain, 3, True)} {interval(t.gain_low, t.gain_high, 3, True)}" if t.method != "raw" else "–"
                for t in rows(c.table)
            ],
            "resamples above 0": [f"{t.gain_positive:.1%}" if t.method != "raw" else "–" for t in rows(c.table)],
        }
    )
    show(console, shown)
    if c.advice is not None:
        say(console, c.advice.text)
    say(console, c.scope, "dim")


def _variance(console: Console, audit: Audit) -> None:
    v = audit.variance
    if v is None:
        return
    heading(console, "Where the variance of a score lies")
    shown = pd.DataFrame(
        {
            "component": v.components["component"],
            "share": [f"{x:.1%}" for x in v.components["share"]],
            f"{v.level:.0%} interval": [f"[{r.low:.1%}, {r.high:.1%}]" for r in rows(v.components)],
        }
    )
    show(console, shown)
    say(
        console,
        f"R2 {number(v.r2_simplified, 4)} with task, judge, language, replicate and judge:language; "
        f"{number(v.r2_full, 4)} with task:language as well.",
    )
    if v.three_way_f is not None and v.three_way_df is not None:
        a, b = v.three_way_df
        say(
            console,
            f"Three-way term against replicate noise: F({a}, {b}) = {v.three_way_f:.2f}, p {p_value(v.three_way_p)}.",
        )
    say(console, v.three_way_meaning)
    if v.replicate_sd is not None:
        ratio = "" if v.replicate_ratio is None else f", {v.replicate_ratio:.2f} of the largest |interaction|"
        say(console, f"Replicate noise: sd {v.replicate_sd:.2f} points{ratio}.")


def _structure(console: Console, audit: Audit) -> None:
    heading(console, "Pattern of the interaction")
    s = audit.structure
    lead = s.patterns.iloc[0]
    say(
        console,
        f"Leading pattern: {lead['share']:.0%} [{lead['low']:.0%}, {lead['high']:.0%}] of the squared interaction; "
        "judges "
        + ", ".join(f"{clean(j.judge, 20)} {j.loading:+.2f}" for j in rows(s.judges.head(3)))
        + "; languages "
        + ", ".join(f"{clean(x.language, 20)} {x.loading:+.2f}" for x in rows(s.languages.head(3)))
        + ".",
    )
    if s.tukey_slope is not None:
        say(
            console,
            f"Wider or narrower use of the scale explains {s.tukey_share:.0%} of it (slope {s.tukey_slope:+.3f} "
            f"[{number(s.tukey_low, 3, True)}, {number(s.tukey_high, 3, True)}], p {p_value(s.tukey_p)}).",
        )
    say(console, s.advice)
    i = audit.information
    if i is not None:
        say(
            console,
            f"Information of language about the score, given judge and task: {i.debiased:.3f} nats, "
            f"{interval(i.low, i.high, 3)} over permutations, {interval(i.task_low, i.task_high, 3)} over tasks "
            f"(observed {i.observed:.3f} less {i.null_mean:.3f} of {i.permutations} permutations; p {p_value(i.p)}).",
        )
        for note in i.notes:
            say(console, note, "dim")


def _sensitivity(console: Console, audit: Audit) -> None:
    heading(console, "Does it hang on one judge, one task or the scale?")
    s = audit.sensitivity
    if len(s.judges):
        low, high = s.judges["max_interaction"].min(), s.judges["max_interaction"].max()
        least, most = s.judges["reversing_pairs"].min(), s.judges["reversing_pairs"].max()
        say(
            console,
            f"One judge left out: largest |interaction| {low:.2f} to {high:.2f} (all: {s.max_interaction:.2f}), "
            f"reversing pairs {least} to {most} (all: {s.reversing_pairs}).",
        )
    for t in rows(s.tasks):
        word, digits = ("largest |interaction|", 2) if t.figure == "max_interaction" else ("reversing pairs", 0)
        low, high = number(float(t.lowest), digits), number(float(t.highest), digits)
        say(console, f"One task left out: {word} {low} to {high}.")
    shown = pd.DataFrame(
        {
            "link": s.links["link"],
            "rank correlation of cells": [f"{r.spearman:.3f} {interval(r.low, r.high, 3)}" for r in rows(s.links)],
            "sign flips": [f"{r.sign_flips} of {r.large_cells}" for r in rows(s.links)],
            "reversals kept": [f"{r.same_reversals} of {s.reversing_pairs}" for r in rows(s.links)],
            "survives": ["yes" if x else "no" for x in s.links["survives"]],
        }
    )
    show(console, shown)
    say(console, s.verdict)
    ends = pd.DataFrame(
        {
            "judge": s.pile_up["judge"],
            "at the floor": [f"{r.floor:.0%} [{r.floor_low:.0%}, {r.floor_high:.0%}]" for r in rows(s.pile_up)],
            "at the ceiling": [f"{r.ceiling:.0%} [{r.ceiling_low:.0%}, {r.ceiling_high:.0%}]" for r in rows(s.pile_up)],
        }
    )
    show(console, ends, most=20)


def _gates(console: Console, audit: Audit) -> None:
    if audit.gates is not None:
        from polyjudge.report.older.gate import show_gates

        show_gates(console, audit.gates)
