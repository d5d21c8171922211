"""From results to findings: what an audit says, and how severe it is. Data only; the words are the report's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pandas as pd

from polyjudge.second.estimate.bands import Uncertainty
from polyjudge.second.panel.scale import Scale
from polyjudge.second.questions.audit.matters import FEW_TASKS, Certificate
from polyjudge.second.questions.audit.orders import RankReversals, TiedSets
from polyjudge.second.questions.audit.robustness import Sensitivity
from polyjudge.second.questions.audit.variation import Variance
from polyjudge.second.questions.compare.held_out import Comparison
from polyjudge.second.questions.systems.signal import DISAGREE
from polyjudge.second.report.sections import SEVERITIES, Finding, Matter, Severity, find, ranked

if TYPE_CHECKING:
    from polyjudge.second.questions.audit.audit import Audit, Inside
    from polyjudge.second.questions.audit.missing import Missingness
    from polyjudge.second.questions.audit.pass_rates import Gates
    from polyjudge.second.questions.position import Position
    from polyjudge.second.questions.systems.systems import Systems


TOO_FEW_TASKS = 10
ADVICE = ("accuracy-gain", "do-not-calibrate")
"""Findings that advise for or against calibrating."""
END_SHARE = 0.5
"""Share of scores at one end of the scale from which a judge is called near it."""


def conclude(a: Inside) -> list[Finding]:
    """The findings of an audit, most severe first."""
    if a.constant:
        return [find("warning", "constant", score=a.summary.low)]
    alpha = (1 - a.level) / _checks(a)
    out = _of_systems(a.systems or a.position, alpha)
    if a.explanation is not None:
        out += _crossed(cast("Audit", a), alpha)
    out += [find("info", "left-out", part=part, why=why) for part, why in a.left_out.items()]
    if a.explanation is not None and a.certificate is not None:
        out = weigh(out, a.certificate, a.explanation.scale)
    return ranked([*out, *(() if a.probes is None else a.probes.findings)])


def _crossed(a: Audit, alpha: float) -> list[Finding]:
    """What is found of languages and judges."""
    s, c = a.summary, a.uncertainty
    # Advice about calibrating yields to a panel whose judges do not agree about what they judge.
    blind = a.signal is not None and a.signal.verdict == DISAGREE
    few = [find("notice", "few-tasks", tasks=s.tasks, enough=FEW_TASKS)] if s.tasks < FEW_TASKS else []
    return [
        *([] if a.reversals is None else _reversal(a.reversals, alpha)),
        *(f for f in _gain(a.held_out) if not blind or f.code not in ADVICE),
        *_cells(c),
        # Of very few tasks the lowest and highest scores seen are no ends of a scale.
        *(_ends(a.sensitivity) if s.tasks >= TOO_FEW_TASKS else []),
        *_bounded(a),
        # What drives the interaction is only asked where there is one beyond noise.
        *(_sensitivity(a.sensitivity) if c.clear else []),
        *([] if a.variance is None else _three_way(a.variance, alpha)),
        *_missing(a.missingness, alpha),
        *_gates(a.gates),
        *([] if a.ranks is None else [*_order(a.ranks), *_contaminated(a.ranks)]),
        *([] if a.language_effect is None else _shift(a.language_effect)),
        *few,
    ]


def _bounded(a: Audit) -> list[Finding]:
    """The linear conclusion is made by the ends of the scale. Not said where the explanation allows for them."""
    b = a.bounded
    if b is None or b.survives or a.explanation.latent:
        return []
    return [find("warning", "bounded-fails", **b.verdict.values)]


def _checks(a: Inside) -> int:
    """Tests of this audit that can warn of something where nothing is: they share its error level.

    The cells (with the judges' swaps, which weigh as much as the cells); task-specific effects; holes; the position of
    answers; swaps of systems and favour for the own family.
    """
    three_way = a.variance is not None and a.variance.three_way_p is not None
    one_each = (three_way, a.missingness is not None, a.position is not None)
    return 1 + sum(map(int, one_each)) + (0 if a.systems is None else 2)


def _of_systems(s: Systems | Position | None, alpha: float) -> list[Finding]:
    """What is said of systems; a warning must stand at the level that all checks of an audit leave it."""
    tested = ("systems-swap-language", "favour-own-family", "position")
    return [
        replace(f, severity="notice") if f.severity == "warning" and f.code in tested and f.values["p"] > alpha else f
        for f in (() if s is None else s.findings)
    ]


def _reversal(r: RankReversals, alpha: float) -> list[Finding]:
    pairs = len(r.pairs)
    sure = r.pairs[r.pairs["reverses"]].sort_values(["p_selected", "delta"], ascending=[True, False])
    out = []
    if len(sure):
        first = sure.iloc[0]
        ahead, behind = ("a", "b") if first["gap_a"] > 0 else ("b", "a")
        values = {name: first[name] for name in ("judge_i", "judge_j")}
        values |= {"above": first[f"language_{ahead}"], "gap_above": first[f"gap_{ahead}"]}
        values |= {"below": first[f"language_{behind}"], "gap_below": -first[f"gap_{behind}"], "p": first["p_selected"]}
        out.append(find("serious", "reversal", count=len(sure), pairs=pairs, **values))
    if r.count > len(sure):
        out.append(find("notice", "reversal-unsure", count=r.count - len(sure), sure=len(sure)))
    if not r.count:
        out.append(find("info", "no-reversal", pairs=pairs))
    severity: Severity = "warning" if r.p_more <= alpha and not len(sure) else "info"
    values = {
        "chance": r.null_mean,
        "most": r.null_high,
        "p": r.p_more,
        "p_floor": r.p_floor,
        "more": bool(r.p_more <= r.alpha),
    }
    out.append(find(severity, "reversal-global", count=r.count, **values))
    return out


def _cells(u: Uncertainty) -> list[Finding]:
    if not u.clear:
        return [find("notice", "no-clear-cell", level=u.level, tasks=u.tasks)]
    clear = u.cells[u.cells["clear"]]
    top = clear.iloc[int(clear["interaction"].abs().argmax())]
    values = {name: top[name] for name in ("judge", "language", "interaction", "band_low", "band_high")}
    return [find("warning", "interaction", clear=u.clear, cells=len(u.cells), level=u.level, **values)]


def _gain(c: Comparison) -> list[Finding]:
    """The held-out accuracy gain: the one accuracy claim that needs no labels."""
    if c.advice is None:
        return []
    code = "accuracy-gain" if c.advice.calibrate else "do-not-calibrate"
    gain = find("info", code, why=c.advice.text.code, **c.advice.text.values)
    rows = {method: c.table[c.table["method"] == method].iloc[0] for method in ("raw", "cbc")}
    ends = (("tau", ""), ("low", "_low"), ("high", "_high"))
    taus = {f"{method}{end}": float(row[name]) for method, row in rows.items() for name, end in ends}
    measured = rows["raw"]["tau"] == rows["raw"]["tau"]  # not of panels with too many pairs
    return [gain, *([find("info", "rank-agreement", **taus)] if measured else [])]


def _ends(s: Sensitivity) -> list[Finding]:
    """Judges and cells at the floor or the ceiling."""
    out = []
    for end in ("floor", "ceiling"):
        frame = s.pile_up.sort_values(end, ascending=False)
        near = frame[frame[end] >= END_SHARE]
        if len(near):
            worst = near.iloc[0]
            values = {"share": worst[end], "low": worst[f"{end}_low"], "high": worst[f"{end}_high"]}
            others = near["judge"].tolist()[1:]
            out.append(find("warning", f"near-{end}", judge=worst["judge"], others=others, **values))
        jump = frame[(frame[f"{end}_worst"] >= END_SHARE) & (frame[f"{end}_worst"] - frame[end] >= 0.3)]
        for _, row in jump.iterrows():
            values = {"language": row[f"{end}_worst_language"], "share": row[f"{end}_worst"], "overall": row[end]}
            out.append(find("warning", f"cell-at-{end}", judge=row["judge"], **values))
    return out


def _missing(m: Missingness | None, alpha: float) -> list[Finding]:
    if m is None:
        return []
    one = any(note.code == "missing.one-holder" for note in m.notes) and m.p_cell is not None and m.p_cell <= alpha
    depends = one or (m.p_interaction is not None and m.p_interaction <= alpha)
    values = {"missing": m.missing, "entries": m.entries, "rate": m.rate, "notes": [str(note) for note in m.notes]}
    return [find("warning" if depends else "info", "missing-scores", **values)]


def _sensitivity(s: Sensitivity) -> list[Finding]:
    out = []
    if len(s.judges) and s.max_interaction > 0:
        driver = s.judges.iloc[int(s.judges["max_interaction"].argmin())]
        if driver["max_interaction"] < 0.5 * s.max_interaction:
            values = {"with_it": s.max_interaction, "without": driver["max_interaction"], "pairs": int(driver["pairs"])}
            values |= {"swaps": int(driver["reversing_pairs"]), "swaps_with_it": s.reversing_pairs}
            out.append(find("warning", "one-judge-drives", judge=driver["judge"], **values))
    if not s.survives:
        out.append(find("warning", "depends-on-scale", **s.verdict.values))
    return out


def _three_way(v: Variance, alpha: float) -> list[Finding]:
    if v.three_way_p is None:
        return []
    three, two = float(v.share("task:language:judge")), float(v.share("language:judge"))
    values = {"p": v.three_way_p, "three": three, "two": two, "clear": bool(v.three_way_p <= 1 - v.level)}
    if not values["clear"]:
        return [find("info", "three-way", **values)]
    large: Severity = "warning" if v.three_way_p <= alpha else "notice"
    return [find(large, "three-way-large", **values) if three > two else find("notice", "three-way", **values)]


def _gates(g: Gates | None) -> list[Finding]:
    if g is None:
        return []
    sure = bool(g.held_out_low > 0)
    values = {"threshold": g.threshold, "raw": g.spread_raw, "calibrated": g.spread_calibrated}
    values |= {"chance": None if pd.isna(g.spread_chance) else g.spread_chance, "reduction": g.held_out_reduction}
    values |= {"low": g.held_out_low, "high": g.held_out_high}
    return [find("info" if sure else "notice", "gate-spread", sure=sure, **values)]


def _shift(effect: pd.DataFrame) -> list[Finding]:
    """Shifts that mean and median over the judges show alike, and languages in which one judge makes the mean."""
    up = (effect["low"] > 0) & (effect["median_low"] > 0)
    down = (effect["high"] < 0) & (effect["median_high"] < 0)
    clear, odd = effect[(up | down) & ~effect["disagrees"]], effect[effect["disagrees"]]
    out = []
    if len(odd):
        odd = odd.loc[(odd["effect"] - odd["median"]).abs().sort_values(ascending=False, kind="stable").index]
        row = odd.iloc[0]
        values = {name: row[name] for name in ("language", "effect", "low", "high", "median", "odd")}
        out.append(find("notice", "shift-of-one-judge", count=len(odd), others=odd["language"].tolist()[1:], **values))
    if not len(clear):
        return [*out, find("info", "shared-shift", count=0, languages=len(effect))]
    row = clear.iloc[int(clear["effect"].abs().argmax())]
    values = {name: row[name] for name in ("language", "effect", "low", "high", "median")}
    return [*out, find("notice", "shared-shift", count=len(clear), languages=len(effect), **values)]


def _order(ranks: TiedSets) -> list[Finding]:
    top = ranks.top_set()
    table = ranks.table[ranks.table["scope"] == "language"]
    tops = table.groupby("language", sort=False)["top_set"].sum()
    tied = tops[tops > 1].index.tolist()
    return [find("info" if len(top) == 1 else "notice", "order", top=top, tied=tied)]


def _contaminated(ranks: TiedSets) -> list[Finding]:
    """Pairs of which a few tasks carry the spread: with few tasks no interval of theirs can be trusted."""
    pairs = ranks.contaminated.sort_values("carried", ascending=False, kind="stable")
    if pairs.empty:
        return []
    judges = pd.concat([pairs["judge_i"], pairs["judge_j"]]).value_counts(sort=True)
    values = {name: pairs.iloc[0][name] for name in ("judge_i", "judge_j", "carried")}
    # A judge that is in two or more of the pairs, and in all of them, is the one to look at.
    one = judges.index[0] if len(pairs) > 1 and int(judges.iloc[0]) == len(pairs) else None
    return [find("notice", "contaminated", count=len(pairs), judge=one, **values)]


OF_CELLS = frozenset(
    {"reversal", "reversal-global", "reversal-unsure", "interaction", "no-clear-cell", "one-judge-drives"}
    | {"depends-on-scale", "bounded-fails"}
)
"""Findings about how far cells are off: they weigh as much as the cells matter."""
OF_ENDS = frozenset({"near-floor", "near-ceiling", "cell-at-floor", "cell-at-ceiling"})


def weigh(findings: list[Finding], certificate: Certificate, scale: Scale) -> list[Finding]:
    """Severity by what matters, not by p: what is certified is a remark, what is open at most a notice.

    A swap of places matters when both gaps do. Two values always lie at the ends of their scale: no finding.
    """
    out = []
    matter: Matter = {"certified": "negligible", "material": "material", "open": "open"}[certificate.status]  # type: ignore[assignment]
    most: Severity = {"negligible": "info", "open": "notice", "material": "serious"}[matter]  # type: ignore[assignment]
    for f in findings:
        if f.code in OF_ENDS and scale.kind == "binary":
            continue
        if f.code in OF_CELLS:
            f = replace(f, matter=matter, severity=min(f.severity, most, key=SEVERITIES.index))
            if f.code == "reversal" and min(f.values["gap_above"], f.values["gap_below"]) < certificate.matters:
                f = replace(f, matter="negligible", severity="info")
        out.append(f)
    return ranked(out)
