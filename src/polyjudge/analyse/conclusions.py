"""From results to findings: which sentence an audit says, and how severe it is."""

from __future__ import annotations

import pandas as pd

from polyjudge.analyse.findings import Finding, Severity, ranked
from polyjudge.analyse.gates import Gates
from polyjudge.analyse.held_out import Comparison
from polyjudge.analyse.information import Information
from polyjudge.analyse.missingness import Missingness
from polyjudge.analyse.reversal import RankReversals
from polyjudge.analyse.sensitivity import Sensitivity
from polyjudge.analyse.structure import DOMINANT, Structure
from polyjudge.analyse.ties import TiedSets
from polyjudge.analyse.uncertainty import Uncertainty
from polyjudge.analyse.variance import Variance
from polyjudge.core.labels import clean
from polyjudge.core.panel import Panel


def conclude(
    panel: Panel,
    language_effect: pd.DataFrame,
    left_out: dict[str, str],
    *,
    uncertainty: Uncertainty,
    reversals: RankReversals,
    ranks: TiedSets,
    held_out: Comparison,
    variance: Variance | None,
    structure: Structure,
    sensitivity: Sensitivity,
    information: Information | None,
    gates: Gates | None,
    missingness: Missingness | None = None,
) -> list[Finding]:
    """The findings of an audit, most severe first."""
    low, high = panel.observed_range
    if high - low <= panel.tie_gap:
        return [Finding("warning", "constant", f"All scores are {low:g}: there is nothing to compare or to calibrate.")]
    out = [
        *_reversal(reversals),
        *_gain(held_out),
        *_cells(uncertainty),
        # Of very few tasks the lowest and highest scores seen are no ends of a scale.
        *(_ends(sensitivity) if panel.n_tasks >= TOO_FEW_TASKS else []),
        # What drives the interaction is only asked where there is one beyond noise.
        *([*_sensitivity(sensitivity), *_structure(structure)] if uncertainty.clear else []),
        *([] if variance is None else _three_way(variance)),
        *_missing(missingness),
        *_information(information),
        *_gates(gates),
        *_order(panel, ranks),
        *_shift(language_effect),
    ]
    if panel.n_tasks < FEW_TASKS:
        out.append(
            Finding(
                "notice",
                "few-tasks",
                f"With {panel.n_tasks} tasks every interval is wide, and t and bootstrap intervals lean on the shape "
                f"of the scores. Plan for {FEW_TASKS} or more (polyjudge plan --from).",
            )
        )
    out += [Finding("info", f"left-out-{part}", f"Left out: {part}. {why}") for part, why in left_out.items()]
    return ranked(out)


FEW_TASKS = 20
TOO_FEW_TASKS = 10
END_SHARE = 0.5
"""Share of scores at one end of the scale from which a judge is called near it."""


def names(labels: list[str], most: int = 4) -> str:
    """A short list of labels as text."""
    shown = [clean(x, 40) for x in labels[:most]]
    rest = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _reversal(r: RankReversals) -> list[Finding]:
    pairs = len(r.pairs)
    sure = r.pairs[r.pairs["reverses"]].sort_values("p_selected")
    out = []
    if len(sure):
        first = sure.iloc[0]
        p_words = "under 1e-15" if first["p_selected"] < 1e-15 else f"{first['p_selected']:.2g}"
        ahead, behind = ("language_a", "language_b") if first["gap_a"] > 0 else ("language_b", "language_a")
        out.append(
            Finding(
                "serious",
                "reversal",
                f"{len(sure)} of {pairs} judge pairs change places between languages after selection is accounted "
                f"for. The clearest: {clean(first['judge_i'])} is above {clean(first['judge_j'])} in "
                f"{clean(first[ahead])} and below in {clean(first[behind])} (adjusted p {p_words}).",
            )
        )
    if r.count > len(sure):
        left = r.count - len(sure)
        which = f"{left}{' more' if len(sure) else ''} {'pair changes' if left == 1 else 'pairs change'}"
        out.append(
            Finding(
                "notice",
                "reversal-unsure",
                f"{which} places in the means, but not clearly once it is allowed for that the two "
                "languages were picked from the data.",
            )
        )
    if not r.count:
        out.append(Finding("info", "no-reversal", f"No judge pair of {pairs} changes places between languages."))
    p = max(r.p_global, r.p_global_unequal)
    more = "more than" if p <= r.alpha else "not clearly more than"
    out.append(
        Finding(
            "warning" if p <= r.alpha and not len(sure) else "info",
            "reversal-global",
            f"{r.count} reversing pairs are {more} a panel without interaction shows by chance "
            f"(mean {r.null_mean:.1f}, 95% of draws up to {r.null_high:.0f}; p {p:.2g}).",
        )
    )
    return out


def _cells(u: Uncertainty) -> list[Finding]:
    cells = u.cells
    if not u.clear:
        return [
            Finding(
                "notice",
                "no-clear-cell",
                f"No cell of the interaction is clear of the {u.level:.0%} simultaneous band: with {u.tasks} tasks "
                "no single cell can be told from noise.",
            )
        ]
    clear = cells[cells["clear"]]
    top = clear.iloc[int(clear["interaction"].abs().argmax())]
    out = [
        Finding(
            "warning",
            "interaction",
            f"{u.clear} of {len(cells)} cells are clear of the {u.level:.0%} simultaneous band. The largest: "
            f"{clean(top['judge'])} in {clean(top['language'])}, {top['interaction']:+.2f} points "
            f"[{top['band_low']:+.2f}, {top['band_high']:+.2f}].",
        )
    ]
    return out


def _gain(c: Comparison) -> list[Finding]:
    """The held-out accuracy gain: the one accuracy claim that needs no labels."""
    if c.advice is None:
        return []
    table = c.table.set_index("method")
    taus = f"Held-out rank agreement of the languages: tau {_tau(table, 'raw')} raw, {_tau(table, 'cbc')} calibrated."
    return [
        Finding("info", "accuracy-gain", f"{c.advice.text} {c.scope}")
        if c.advice.calibrate
        else Finding("info", "do-not-calibrate", f"{c.advice.text} {c.scope}"),
        Finding("info", "rank-agreement", taus + " That is consistency, not accuracy."),
    ]


def _tau(table: pd.DataFrame, method: str) -> str:
    row = table.loc[method]
    return f"{row['tau']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"


def _ends(s: Sensitivity) -> list[Finding]:
    """Judges and cells at the floor or the ceiling."""
    out = []
    for end in ("floor", "ceiling"):
        frame = s.pile_up.sort_values(end, ascending=False)
        near = frame[frame[end] >= END_SHARE]
        if len(near):
            worst = near.iloc[0]
            others = f" {names(near['judge'].tolist()[1:])} too." if len(near) > 1 else ""
            out.append(
                Finding(
                    "warning",
                    f"near-{end}",
                    f"{clean(worst['judge'])} is near the {end}: {worst[end]:.0%} "
                    f"[{worst[f'{end}_low']:.0%}, {worst[f'{end}_high']:.0%}] of its scores lie on it, so its language "
                    f"differences are squeezed.{others}",
                )
            )
        jump = frame[(frame[f"{end}_worst"] >= END_SHARE) & (frame[f"{end}_worst"] - frame[end] >= 0.3)]
        for row in jump.itertuples():
            worst_share, language = getattr(row, f"{end}_worst"), getattr(row, f"{end}_worst_language")
            out.append(
                Finding(
                    "warning",
                    f"cell-at-{end}",
                    f"{clean(row.judge)} puts {worst_share:.0%} of its scores in {clean(language)} on the {end}, "
                    f"against {getattr(row, end):.0%} over all languages: check the prompt and the parsing there.",
                )
            )
    return out


def _missing(m: Missingness | None) -> list[Finding]:
    if m is None:
        return []
    depends = m.p_interaction is not None and m.p_interaction < 0.05
    text = f"{m.missing} of {m.entries} entries ({m.rate:.1%}) have no score; cells are least squares within tasks."
    return [Finding("warning" if depends else "info", "missing-scores", " ".join([text, *m.notes]))]


def _sensitivity(s: Sensitivity) -> list[Finding]:
    out = []
    if len(s.judges) and s.max_interaction > 0:
        driver = s.judges.iloc[int(s.judges["max_interaction"].argmin())]
        if driver["max_interaction"] < 0.5 * s.max_interaction:
            out.append(
                Finding(
                    "warning",
                    "one-judge-drives",
                    f"{clean(driver['judge'])} drives the largest cell: without it the largest interaction falls from "
                    f"{s.max_interaction:.2f} to {driver['max_interaction']:.2f} points, and "
                    f"{driver['reversing_pairs']} of {driver['pairs']} pairs change places (with it "
                    f"{s.reversing_pairs}). These are recomputations without one judge and have no interval.",
                )
            )
    if not s.survives:
        out.append(Finding("warning", "depends-on-scale", s.verdict))
    return out


def _three_way(v: Variance) -> list[Finding]:
    if v.three_way_p is None:
        return []
    if v.three_way_p > 1 - v.level:
        return [Finding("info", "three-way", v.three_way_meaning)]
    three, two = v.share("task:language:judge"), v.share("language:judge")
    severity: Severity = "warning" if three > two else "notice"
    return [
        Finding(
            severity,
            "three-way-large" if three > two else "three-way",
            f"{v.three_way_meaning} The three-way term has {three:.1%} of the variance, the interaction that "
            f"calibration removes {two:.1%}.",
        )
    ]


def _structure(s: Structure) -> list[Finding]:
    scaled = s.tukey_p is not None and s.tukey_share is not None and s.tukey_share >= 0.25 and s.tukey_p <= 1 - s.level
    if len(s.patterns) > 1 and (scaled or s.patterns["share"].iloc[0] >= DOMINANT):
        return [Finding("notice", "scale-use" if scaled else "one-pattern", s.advice)]
    return []


def _information(i: Information | None) -> list[Finding]:
    if i is None:
        return []
    some = "carries" if i.p <= 1 - i.level else "does not measurably carry"
    return [
        Finding(
            "info",
            "information",
            f"Language {some} information about the score of a task by a judge: {i.debiased:.3f} nats "
            f"[{i.task_low:.3f}, {i.task_high:.3f}] over what permuted labels give (p {i.p:.2g}).",
        )
    ]


def _gates(g: Gates | None) -> list[Finding]:
    if g is None:
        return []
    sure = g.held_out_low > 0
    chance = "" if pd.isna(g.spread_chance) else f" ({g.spread_chance:.1f} by chance, with languages shuffled)"
    return [
        Finding(
            "info" if sure else "notice",
            "gate-spread",
            f"At the threshold {g.threshold:g} pass rates differ over languages by {g.spread_raw:.1f} percentage "
            f"points raw{chance} and {g.spread_calibrated:.1f} calibrated; on left-out tasks calibration takes off "
            f"{g.held_out_reduction:.1f} [{g.held_out_low:.1f}, {g.held_out_high:.1f}]"
            + ("." if sure else ", which is not clearly above 0."),
        )
    ]


def _shift(effect: pd.DataFrame) -> list[Finding]:
    clear = effect[(effect["low"] > 0) | (effect["high"] < 0)]
    if not len(clear):
        return [Finding("info", "shared-shift", "No shared language shift is clear of 0.")]
    row = clear.iloc[int(clear["effect"].abs().argmax())]
    return [
        Finding(
            "notice",
            "shared-shift",
            f"All judges together shift {len(clear)} of {len(effect)} languages, most {clean(row['language'])}: "
            f"{row['effect']:+.2f} points [{row['low']:+.2f}, {row['high']:+.2f}] (each by its own interval). "
            "Calibration leaves this in; whether it is an error needs labels.",
        )
    ]


def _order(panel: Panel, ranks: TiedSets) -> list[Finding]:
    top = ranks.top_set()
    table = ranks.table[ranks.table["scope"] == "language"]
    open_tops = int((table.groupby("language")["top_set"].sum() > 1).sum())
    text = (
        f"{clean(top[0])} is the most lenient judge overall."
        if len(top) == 1
        else f"The most lenient judge overall is not settled: {names(top)} cannot be told apart."
    )
    if open_tops:
        text += f" In {open_tops} of {len(panel.languages)} languages the top judge is not settled."
    return [Finding("info" if len(top) == 1 else "notice", "order", text)]
