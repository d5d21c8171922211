"""The later sections of an audit's page: variance, gates, held-out comparison, sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.core.labels import clean, label
from polyjudge.report import charts
from polyjudge.report.numbers import writer
from polyjudge.report.page.model import POINTS, Column, Figure, Section, number, p_value, table

if TYPE_CHECKING:
    from polyjudge.analyse.audit import Audit
    from polyjudge.analyse.gates import Gates
    from polyjudge.analyse.held_out import Comparison
    from polyjudge.analyse.sensitivity import Sensitivity

TITLES = {
    "variance": "What the variance consists of",
    "gates": "Gates: who passes where",
    "held_out": "Held out: does it hold on tasks it has not seen",
    "sensitivity": "Sensitivity",
}


def deeper_sections(audit: Audit) -> list[Section]:
    """One section each, in the order of the page; absent ones with their reason."""
    return [
        _variance(audit),
        _audit_gates(audit),
        held_out_section(audit.held_out) if audit.held_out is not None else _absent(audit, "held_out"),
        _sensitivity(audit.sensitivity) if audit.sensitivity is not None else _absent(audit, "sensitivity"),
    ]


def _absent(audit: Audit, name: str) -> Section:
    why = audit.left_out.get(name, "this audit did not compute it.")
    return Section(name.replace("_", "-"), TITLES[name], absent=clean(why, 500))


def _variance(audit: Audit) -> Section:
    v = audit.variance
    if v is None:
        return _absent(audit, "variance")
    parts = v.components
    known = parts[parts["share"].notna()].sort_values("share", ascending=False)
    largest = known.iloc[0] if len(known) else None
    own = parts.loc[parts["component"] == "language:judge"].iloc[0]
    lead = [
        f"The additive model with the interaction explains R² = {number(v.r2_simplified, 3)} of the single scores; "
        f"with task by language {number(v.r2_full, 3)}. Both describe these scores and have no interval.",
        v.three_way_meaning
        + (f" (F {number(v.three_way_f, 2)}, p {p_value(v.three_way_p)})" if v.three_way_p is not None else ""),
    ]
    information = audit.information
    if information is not None:
        lead.append(
            f"Scores tell {number(information.debiased, 3)} nats about the language, given judge and task (permutation "
            f"interval [{number(information.low, 3)}, {number(information.high, 3)}], p {p_value(information.p)})."
        )
    elif "information" in audit.left_out:
        lead.append("Information about the language: " + clean(audit.left_out["information"], 400))
    columns = {
        "component": Column("component"),
        "share": Column("share and interval", 1, percent=True, low="low", high="high"),
        "variance": Column("variance", POINTS),
    }
    words = f"The interaction of language and judge, which calibrating removes, has {own['share']:.1%} of the variance"
    if largest is not None:
        words += f"; the largest part is {clean(largest['component'])} with {largest['share']:.1%}"
    blocks: list[Any] = [
        Figure(
            "variance-shares",
            (charts.variance_shares(parts),),
            "Shares of the variance of a single score.",
            words + ". Lines are intervals (jackknife over tasks); a part that came out below zero is shown as 0.",
            table(parts, "Variance components", columns, judges=()),
        )
    ]
    structure = audit.structure
    if structure is not None:
        lead.append(structure.advice)
    if structure is not None and structure.scale_use["slope"].notna().any():
        blocks.append(
            Figure(
                "scale-use",
                (
                    charts.intervals(
                        structure.scale_use,
                        "judge",
                        "slope",
                        "How widely each judge uses the scale",
                        "points per point of the panel",
                        zero=1.0,
                    ),
                ),
                "Scale use.",
                "How far a judge's mean moves when the panel's mean of a language moves by one point. 1 is the panel's "
                "own width.",
                table(
                    structure.scale_use,
                    "Scale use",
                    {"judge": Column("judge"), "slope": Column("slope and interval", 2, low="low", high="high")},
                ),
            )
        )
    notes = tuple(clean(n, 400) for n in v.notes if n not in lead)
    return Section(
        "variance", TITLES["variance"], lead=tuple(clean(x, 800) for x in lead) + notes, blocks=tuple(blocks)
    )


def _audit_gates(audit: Audit) -> Section:
    if audit.gates is None and audit.gate_spread is None:
        return Section("gates", TITLES["gates"], absent=audit.left_out.get("gate spread", "it was not computed."))
    return gate_section(audit.gates, audit.gate_spread, audit.level)


def gate_section(g: Gates | None, sweep: pd.DataFrame | None, level: float) -> Section:
    """The spread of pass rates by threshold, and the pass rates at the threshold of a gate."""
    lead: list[str] = []
    blocks: list[Any] = []
    if g is None:
        lead.append("No gate was named; with --at SCORE the pass rates at that score are shown as well.")
    else:
        chance = "" if pd.isna(g.spread_chance) else f" (chance alone, with languages shuffled: {g.spread_chance:.1f})"
        lead.append(
            f"A task passes when its score is above {g.threshold:g}. The pass rate of a judge differs between its best "
            f"and worst language by {g.spread_raw:.1f} percentage points on average{chance}, {g.spread_calibrated:.1f} "
            f"after calibrating. On left-out tasks calibrating takes {g.held_out_reduction:.1f} points off it "
            f"[{g.held_out_low:.1f}, {g.held_out_high:.1f}]."
        )
        lead += [clean(n, 400) for n in g.notes]
    if sweep is not None and len(sweep) > 1:
        blocks.append(
            Figure(
                "gate-spread",
                (charts.gate_sweep(sweep, None if g is None else g.threshold),),
                "Spread of the pass rates over languages, by threshold.",
                "For each judge the largest less the smallest pass rate over languages, averaged over judges. Raw it "
                f"reaches {sweep['spread_raw'].max():.1f} percentage points, calibrated "
                f"{sweep['spread_calibrated'].max():.1f}. Bands are {level:.0%} intervals over resampled tasks.",
                table(sweep, "Spread in percentage points", SPREAD_COLUMNS, judges=()),
            )
        )
    if g is not None:
        blocks.append(
            table(g.cells, f"Pass rates at {g.threshold:g} and their standard errors", PASS_COLUMNS, most=400)
        )
        if g.contrast is not None and len(g.contrast):
            words = f"{label(str(g.base))} less the mean of the other languages, percentage points"
            blocks.append(plain_table(g.contrast, words))
    return Section("gates", TITLES["gates"], lead=tuple(lead), blocks=tuple(blocks))


SPREAD_COLUMNS = {
    "threshold": Column("threshold", POINTS),
    "spread_raw": Column("spread, raw", 1, low="spread_raw_low", high="spread_raw_high"),
    "spread_calibrated": Column("spread, calibrated", 1, low="spread_calibrated_low", high="spread_calibrated_high"),
    "held_out_reduction": Column("reduction, left-out tasks", 1, True, "held_out_low", "held_out_high"),
}
PASS_COLUMNS = {
    "language": Column("language"),
    "judge": Column("judge"),
    "pass_raw": Column("passes, raw", 1, percent=True, se="pass_raw_se"),
    "pass_calibrated": Column("passes, calibrated", 1, percent=True, se="pass_calibrated_se"),
}
LINK_COLUMNS = {
    "link": Column("scale"),
    "spearman": Column("rank correlation with the plain interaction", 3, low="low", high="high"),
    "sign_flips": Column("sign flips", 0),
    "large_cells": Column("of large cells", 0),
    "same_reversals": Column("same reversing pairs", 0),
    "reversing_pairs": Column("of reversing pairs", 0),
    "survives": Column("conclusion survives"),
}
PILE_COLUMNS = {
    "judge": Column("judge"),
    "floor": Column("at the floor", 1, percent=True, low="floor_low", high="floor_high"),
    "floor_worst_language": Column("most in"),
    "ceiling": Column("at the ceiling", 1, percent=True, low="ceiling_low", high="ceiling_high"),
    "ceiling_worst_language": Column("most in"),
}


def held_out_section(c: Comparison, said: bool = False) -> Section:
    """The comparison of methods; what is true by arithmetic is grey. `said`: advice and scope stand elsewhere."""
    against = c.table["method"] == "raw"  # what the gain is measured against has none
    frame = c.table.assign(gain=c.table["gain"].mask(against), gain_positive=c.table["gain_positive"].mask(against))
    frame = frame.assign(pale=[("tau" in identity_columns(text)) for text in frame["identity"]])
    columns = {
        "method": Column("method"),
        "tau": Column("agreement of languages (tau)", 3, low="low", high="high"),
        "full_fit": Column("on the same tasks", 3),
        "gain": Column("gain, points squared", POINTS, True, "gain_low", "gain_high"),
        "gain_positive": Column("resamples with a gain", 1, percent=True),
        "identity": Column("true by arithmetic", show=lambda text: clean(text, 200) if text else ""),
    }
    lead = [] if said else [*([c.advice.text] if c.advice is not None else []), c.scope]
    lead += [clean(n, 400) for n in c.notes]
    best = frame[~frame["pale"]].sort_values("tau", ascending=False).iloc[0] if (~frame["pale"]).any() else None
    words = "What is true by arithmetic is pale."
    if best is not None:
        words = (
            f"The highest agreement on left-out tasks has {clean(best['method'])}: {best['tau']:.3f} "
            f"[{best['low']:.3f}, {best['high']:.3f}]. " + words
        )
    return Section(
        "held-out",
        TITLES["held_out"],
        lead=tuple(lead),
        blocks=(
            Figure(
                "held-out-tau",
                (
                    charts.intervals(
                        frame, "method", "tau", "Agreement of languages on left-out tasks", "mean tau", grey="pale"
                    ),
                ),
                "Rank agreement between languages on left-out tasks.",
                f"{words} {c.resamples} resamplings of tasks; intervals are their percentiles. Agreement is "
                "consistency, not accuracy.",
            ),
            table(
                frame,
                "Methods on left-out tasks; grey italics are true by arithmetic",
                columns,
                judges=(),
                grey=lambda row: identity_columns(row["identity"]),
            ),
        ),
    )


def identity_columns(text: str) -> set[str]:
    """Which columns of a method's row its identity is about."""
    out = {"identity"} if text else set()
    if "full fit" in text:
        out.add("full_fit")
    if "tau is" in text or "same order" in text:
        out |= {"tau", "full_fit"}
    if "gain" in text:
        out |= {"gain", "gain_positive"}
    return out


def _sensitivity(s: Sensitivity) -> Section:
    largest = s.max_interaction
    blocks: list[Any] = []
    if len(s.judges):
        blocks.append(
            Figure(
                "leave-judge-out",
                (
                    charts.bars(
                        s.judges,
                        "judge",
                        "max_interaction",
                        "Largest interaction without a judge",
                        "points",
                        reference=s.max_interaction,
                    ),
                ),
                "Leaving one judge out.",
                f"The dashed line is the largest cell of the whole panel ({writer(largest)(largest)} points). A short "
                "bar names the judge that drives it. These are recomputations without one judge and have no interval.",
                table(
                    s.judges,
                    "Without one judge",
                    {
                        "judge": Column("judge left out"),
                        "max_interaction": Column("largest interaction", POINTS),
                        "reversing_pairs": Column("reversing pairs", 0),
                        "pairs": Column("of pairs", 0),
                    },
                ),
            )
        )
    tasks = s.tasks.assign(figure=[str(x).replace("_", " ") for x in s.tasks["figure"]])
    blocks.append(plain_table(tasks, "Without one task: the range of each figure, and the task that moves it most"))
    blocks.append(table(s.links, "On other scales: does the conclusion survive", LINK_COLUMNS, judges=()))
    blocks.append(table(s.pile_up, "Share of scores at the ends of the scale, with intervals", PILE_COLUMNS))
    notes = tuple(clean(n, 400) for n in s.notes)
    return Section("sensitivity", TITLES["sensitivity"], lead=(clean(s.verdict, 800), *notes), blocks=tuple(blocks))


def plain_table(frame: pd.DataFrame, caption: str) -> Any:
    """All columns of a frame, with intervals folded into the value before them."""
    columns: dict[str, Column] = {}
    names = list(frame.columns)
    for name in names:
        if name.endswith(("_low", "_high")) or name in ("low", "high"):
            continue
        title = str(name).replace("_", " ")
        values = frame[name]
        if values.dtype == object or str(values.dtype) in ("str", "string", "bool", "category"):
            columns[name] = Column(title)
            continue
        values = pd.to_numeric(values, errors="coerce").astype(float)
        whole = bool((values.dropna() == values.dropna().round()).all())
        low, high = (f"{name}_low", f"{name}_high") if f"{name}_low" in names else ("", "")
        if not low and "low" in names and names.index("low") == names.index(name) + 1:
            low, high = "low", "high"
        digits = 0 if whole and not low else POINTS
        columns[name] = Column(title, digits, low=low, high=high)
    return table(frame, caption, columns)
