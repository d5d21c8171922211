"""What a gate says."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.questions.audit.gates import Gates
from polyjudge.report.build import chart, fields, frame_of, notes, pivot, table
from polyjudge.report.sections import Block, Chart, Grid, Report, Section

SPREAD = (
    "threshold:number | passing, % = pass_raw:percent | gap, raw = spread_raw/_low/_high:percent "
    "| calibrated = spread_calibrated/_low/_high:percent "
    "| taken off, left-out tasks = held_out_reduction/held_out_low/held_out_high:+percent"
)
PASSES = "passes, raw = pass_raw±_se:share | passes, calibrated = pass_calibrated±_se:share"
TITLE = "Gates: who passes where"


def build(result: Gates, panel: Panel | None = None) -> Report:
    """The gap between languages and what calibrating takes off it; pass rates; the sweep; the base language."""
    return Report(
        **frame_of("gate", result, panel),
        title=say("gate.title", **fields(result, "threshold", "at_least")),
        verdict=sayings(result),
        picture=(_rates(result, "pass_raw", "raw"),),
        beside=(_rates(result, "pass_calibrated", "calibrated"),),
        sections=(gate_section(result, result.sweep, result.level, said=True),),
    )


def sayings(g: Gates) -> tuple[Say, ...]:
    """The gap between languages, and what calibrating takes off it."""
    at = g.sweep[g.sweep["threshold"] == g.threshold].iloc[0]
    ends = {"raw_low": at["spread_raw_low"], "raw_high": at["spread_raw_high"]}
    return (
        say("gate.spread", threshold=g.threshold, raw=g.spread_raw, chance=g.spread_chance, **ends),
        say("gate.gain", reduction=g.held_out_reduction, low=g.held_out_low, high=g.held_out_high),
        say("gate.flips", share=g.flip_share, low=g.flip_low, high=g.flip_high, **fields(g, "flips", "decisions")),
    )


def _rates(g: Gates, column: str, stage: str) -> Chart:
    caption = say("gate.rates", stage=stage, **fields(g, "threshold", "at_least"))
    cells = g.cells.rename(columns={column: "pass", f"{column}_se": "se"})[["language", "judge", "pass", "se"]]
    values: dict[str, Any] = {}
    for end, at in (("low", cells["pass"].argmin()), ("high", cells["pass"].argmax())):
        cell = cells.iloc[int(at)]
        values |= {end: cell["pass"], f"{end}_judge": cell["judge"], f"{end}_language": cell["language"]}
    name, wide = f"rates-{stage}", 100 * pivot(g.cells, column)
    return chart(
        name,
        "pass_rates",
        caption,
        say("gate.rates-chart", **values),
        Grid(name=name, caption=caption, values=wide, kind="percent", digits=0),
        cells=cells,
        title=f"Who passes where, {stage} scores",
    )


def gate_section(g: Gates | None, sweep: pd.DataFrame | None, level: float, said: bool = False) -> Section:
    """The gap by threshold, and the pass rates at the threshold of a gate. `said`: its verdict stands elsewhere."""
    blocks: list[Block] = []
    if sweep is not None and len(sweep) > 1:
        most = {"raw": sweep["spread_raw"].max(), "calibrated": sweep["spread_calibrated"].max()}
        blocks.append(
            chart(
                "gate-spread",
                "gate_sweep",
                "Gap of the pass rates between languages, by threshold.",
                say("gate.sweep-chart", level=level, **most),
                table("sweep", "Gap in percentage points", sweep, SPREAD),
                sweep=sweep,
                threshold=None if g is None else g.threshold,
            )
        )
    if g is None:
        return Section(name="gates", title=TITLE, says=(say("gate.unnamed"),), blocks=tuple(blocks))
    at = g.sweep[g.sweep["threshold"] == g.threshold].iloc[0]
    gate = fields(g, "threshold", "at_least")
    caption = say("gate.rates", stage="with standard errors", **gate)
    blocks.append(_rates(g, "pass_calibrated", "calibrated"))
    blocks.append(table("gate", caption, g.cells, f"language | judge | {PASSES}"))
    if len(g.systems):
        head = f"system | language | {PASSES} | decisions turned = flips:count | of = decisions:count"
        blocks.append(table("gate-systems", say("gate.systems", **gate), g.systems, head))
    if g.contrast is not None and len(g.contrast):
        head = "judge | raw/_low/_high:+percent | calibrated/_low/_high:+percent"
        blocks.append(table("contrast", say("gate.contrast", base=g.base), g.contrast, head))
    ends = {"low": at["spread_calibrated_low"], "high": at["spread_calibrated_high"]}
    left_out = {"raw": g.held_out_raw, "calibrated": g.held_out_calibrated, **fields(g, "resamples", "level")}
    says = (
        *(() if said else sayings(g)),
        say("gate.same-tasks", calibrated=g.spread_calibrated, **ends),
        say("gate.held-out", **left_out),
        say("gate.scope"),
        *notes(g.notes),
    )
    return Section(name="gates", title=TITLE, says=says, blocks=tuple(blocks))
