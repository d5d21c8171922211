"""What a gate says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.core.sections import Block, Chart, Column, Grid, Report, Say, Section, Table, say
from polyjudge.report.build.shared import frame_of, notes, pivot

if TYPE_CHECKING:
    from polyjudge.analyse.gates import Gates
    from polyjudge.core.panel import Panel

SPREAD = (
    Column(name="threshold", title="threshold", kind="number"),
    Column(name="pass_raw", title="passing, %", kind="percent"),
    Column(name="spread_raw", title="gap, raw", kind="percent", low="spread_raw_low", high="spread_raw_high"),
    Column(
        name="spread_calibrated",
        title="calibrated",
        kind="percent",
        low="spread_calibrated_low",
        high="spread_calibrated_high",
    ),
    Column(
        name="held_out_reduction",
        title="taken off, left-out tasks",
        kind="percent",
        sign=True,
        low="held_out_low",
        high="held_out_high",
    ),
)
PASS = (
    Column(name="language", title="language", kind="label"),
    Column(name="judge", title="judge", kind="judge"),
    Column(name="pass_raw", title="passes, raw", kind="share", se="pass_raw_se"),
    Column(name="pass_calibrated", title="passes, calibrated", kind="share", se="pass_calibrated_se"),
)
SYSTEMS = (
    Column(name="system", title="system", kind="label"),
    PASS[0],
    *PASS[2:],
    Column(name="flips", title="decisions turned", kind="count"),
    Column(name="decisions", title="of", kind="count"),
)
CONTRAST = (
    Column(name="judge", title="judge", kind="judge"),
    Column(name="raw", title="raw", kind="percent", sign=True, low="raw_low", high="raw_high"),
    Column(
        name="calibrated", title="calibrated", kind="percent", sign=True, low="calibrated_low", high="calibrated_high"
    ),
)


def build(result: Gates, panel: Panel | None = None) -> Report:
    """The gap between languages and what calibrating takes off it; pass rates; the sweep; the base language."""
    verdict, section = sayings(result), gate_section(result, result.sweep, result.level, said=True)
    return Report(
        **frame_of("gate", result, panel),
        title=say("gate.title", threshold=result.threshold, at_least=result.at_least),
        verdict=verdict,
        picture=(_rates(result, "pass_raw", "raw"),),
        beside=(_rates(result, "pass_calibrated", "calibrated"),),
        sections=(section,),
    )


def sayings(g: Gates) -> tuple[Say, ...]:
    """The gap between languages, and what calibrating takes off it."""
    at = g.sweep[g.sweep["threshold"] == g.threshold].iloc[0]
    return (
        say(
            "gate.spread",
            threshold=g.threshold,
            raw=g.spread_raw,
            raw_low=at["spread_raw_low"],
            raw_high=at["spread_raw_high"],
            chance=g.spread_chance,
        ),
        say("gate.gain", reduction=g.held_out_reduction, low=g.held_out_low, high=g.held_out_high),
        say(
            "gate.flips",
            flips=g.flips,
            decisions=g.decisions,
            share=g.flip_share,
            low=g.flip_low,
            high=g.flip_high,
        ),
    )


def _rates(g: Gates, column: str, stage: str) -> Chart:
    caption = say("gate.rates", threshold=g.threshold, at_least=g.at_least, stage=stage)
    cells = g.cells.rename(columns={column: "pass", f"{column}_se": "se"})[["language", "judge", "pass", "se"]]
    lowest, highest = (cells.iloc[int(at)] for at in (cells["pass"].argmin(), cells["pass"].argmax()))
    return Chart(
        name=f"rates-{stage}",
        draw="pass_rates",
        data=({"cells": cells, "title": f"Who passes where, {stage} scores"},),
        caption=caption,
        alt=say(
            "gate.rates-chart", low=lowest["pass"], low_judge=lowest["judge"], low_language=lowest["language"],
            high=highest["pass"], high_judge=highest["judge"], high_language=highest["language"],
        ),
        instead=Grid(
            name=f"rates-{stage}", caption=caption, values=100 * pivot(g.cells, column), kind="percent", digits=0
        ),
    )  # fmt: skip


def gate_section(g: Gates | None, sweep: pd.DataFrame | None, level: float, said: bool = False) -> Section:
    """The gap by threshold, and the pass rates at the threshold of a gate. `said`: its verdict stands elsewhere."""
    blocks: list[Block] = []
    if sweep is not None and len(sweep) > 1:
        blocks.append(
            Chart(
                name="gate-spread",
                draw="gate_sweep",
                data=({"sweep": sweep, "threshold": None if g is None else g.threshold},),
                caption="Gap of the pass rates between languages, by threshold.",
                alt=say(
                    "gate.sweep-chart",
                    raw=sweep["spread_raw"].max(),
                    calibrated=sweep["spread_calibrated"].max(),
                    level=level,
                ),
                instead=Table(name="sweep", caption="Gap in percentage points", frame=sweep, columns=SPREAD),
            )
        )
    if g is None:
        return Section(name="gates", title="Gates: who passes where", says=(say("gate.unnamed"),), blocks=tuple(blocks))
    at = g.sweep[g.sweep["threshold"] == g.threshold].iloc[0]
    blocks.append(_rates(g, "pass_calibrated", "calibrated"))
    blocks.append(
        Table(
            name="gate",
            caption=say("gate.rates", threshold=g.threshold, at_least=g.at_least, stage="with standard errors"),
            frame=g.cells,
            columns=PASS,
            most=200,
        )
    )
    if len(g.systems):
        caption = say("gate.systems", threshold=g.threshold, at_least=g.at_least)
        blocks.append(Table(name="gate-systems", caption=caption, frame=g.systems, columns=SYSTEMS, most=200))
    if g.contrast is not None and len(g.contrast):
        caption = say("gate.contrast", base=g.base)
        blocks.append(Table(name="contrast", caption=caption, frame=g.contrast, columns=CONTRAST))
    says = (
        *(() if said else sayings(g)),
        say(
            "gate.same-tasks",
            calibrated=g.spread_calibrated,
            low=at["spread_calibrated_low"],
            high=at["spread_calibrated_high"],
        ),
        say(
            "gate.held-out",
            raw=g.held_out_raw,
            calibrated=g.held_out_calibrated,
            resamples=g.resamples,
            level=g.level,
        ),
        say("gate.scope"),
        *notes(g.notes),
    )
    return Section(name="gates", title="Gates: who passes where", says=says, blocks=tuple(blocks))
