"""What a drift check says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyjudge.core.sections import Block, Chart, Column, Grid, Report, Section, Table, say
from polyjudge.estimate.kernels import double_centre
from polyjudge.report.build.shared import frame_of, pivot
from polyjudge.report.numbers import writer
from polyjudge.report.words import word

if TYPE_CHECKING:
    from polyjudge.calibrate.drift import Drift
    from polyjudge.core.panel import Panel


def build(result: Drift, panel: Panel | None = None) -> Report:
    """Findings first; then the change of every cell, clearest first, and the shares at the floor."""
    from polyjudge.calibrate.drift import DRAWS

    how = (
        say("drift.paired", paired=result.paired_tasks, alarm=1 - result.level)
        if result.paired_tasks
        else say("drift.samples", before=result.tasks_before, after=result.tasks_after, alarm=1 - result.level)
    )
    frame = frame_of("drift", result, panel)
    frame["read"] = (*frame.get("read", ()), how)
    picture = _picture(result)
    cells = result.cells
    clear = cells["change"].abs() / cells["se"].where(cells["se"] > 0, 1.0)
    cells = cells.loc[clear.sort_values(ascending=False, kind="stable").index]
    change = Table(
        name="cells",
        caption=say("drift.cells"),
        frame=cells,
        columns=(
            Column(name="language", title="language", kind="label"),
            Column(name="judge", title="judge", kind="judge"),
            Column(name="before", title="before", kind="points", sign=True),
            Column(name="after", title="now", kind="points", sign=True),
            Column(
                name="change",
                title="change",
                kind="points",
                sign=True,
                low="band_low",
                high="band_high",
                like=("before",),
            ),
            Column(name="p", title="p", kind="p", floor=0.0 if result.paired_tasks else 1 / (1 + DRAWS)),
            Column(name="changed", title="changed", kind="yes"),
        ),
    )
    return Report(
        **frame,
        title=say("drift.title"),
        verdict=tuple(result.findings[:1]),
        picture=(picture,),
        findings=tuple(result.findings),
        sections=(
            Section(
                name="cells",
                title="Change of the interaction",
                says=(say("drift.global", p=result.p_global),),
                blocks=(change,),
            ),
            *_effects(result),
            Section(name="floor", title="Scores at the floor", blocks=(_floor(result),)),
        ),
    )


ALIKE = {"judge-offset-changed": "judge", "language-shift-changed": "language"}
"""Changes that no interaction shows -> the axis of their label."""


def _picture(result: Drift) -> Chart:
    """The change of every cell as a heatmap, those that broke framed; in text a grid."""
    cells = result.cells[["language", "judge", "change"]].rename(columns={"change": "excess"})
    cells["low"], cells["high"] = result.cells["band_low"], result.cells["band_high"]
    places = list(zip(cells["language"], cells["judge"], strict=True))
    broken = result.broken.set_index(["language", "judge"]) if len(result.broken) else result.broken
    broke = set(broken.index) if len(broken) else set()
    cells["named"] = [place in broke for place in places]
    cells["small"] = ~(result.cells["changed"] | cells["named"])
    if broke and result.kind != "diffuse":
        # What broke is shown with its own change; its traces in other cells are no changes of theirs.
        own = np.array([float(broken.loc[place, "change"]) if place in broke else 0.0 for place in places])
        wide = pivot(cells.assign(own=own), "own")
        trace = dict(
            zip([(a, b) for a in wide.index for b in wide.columns], double_centre(wide.to_numpy()).ravel(), strict=True)
        )
        shift = own - np.array([trace[place] for place in places])
        for name in ("excess", "low", "high"):
            cells[name] += shift
        cells["small"] = ~cells["named"]
    for found in result.findings:
        if found.code in ALIKE:  # a judge in every language alike, or a language by all judges
            alike = (cells[ALIKE[found.code]] == found.values["label"]) & ~cells["named"]
            for name, value in (("excess", "change"), ("low", "low"), ("high", "high")):
                cells.loc[alike, name] = found.values[value]
            cells["named"] |= alike
            cells["small"] &= ~alike
    write = writer(cells["excess"], 2)
    text = ["." if small else write(x, True) for small, x in zip(cells["small"], cells["excess"], strict=True)]
    marks = np.where(cells["named"], "culprit", np.where(cells["small"], "small", ""))
    data = {"cells": cells, "matters": result.tolerance, "title": "What changed, and where"}
    return Chart(
        name="changes",
        draw="deviations",
        data=({**data, "note": "points more or less than at the fit"},),
        caption=say("drift.picture"),
        alt=say("drift.picture-chart", changed=int((~cells["small"]).sum()), cells=len(cells)),
        instead=Grid(
            name="changes",
            caption=say("drift.picture"),
            values=pivot(cells, "excess"),
            texts=pivot(cells.assign(text=text), "text"),
            marks=pivot(cells.assign(mark=marks), "mark"),
            sign=True,
            note=say("drift.picture-note", broke=bool(cells["named"].any())),
        ),
    )


def _effects(result: Drift) -> tuple[Section, ...]:
    """What judges, languages and systems changed as a whole."""
    blocks: list[Block] = []
    for effect, rows in result.effects.groupby("effect", sort=False):
        blocks.append(
            Chart(
                name=f"effect-{effect}",
                draw="intervals",
                data=(
                    {
                        "frame": rows, "label": "label", "value": "change", "title": word(say(f"drift.{effect}")),
                        "unit": "points" if effect in ("judge-offset", "language-shift") else "change of the slope",
                    },
                ),
                caption=say(f"drift.{effect}"),
                alt=say("drift.effect-chart", changed=int(rows["changed"].sum()), of=len(rows)),
                instead=Table(name=f"{effect}", caption=say(f"drift.{effect}"), frame=rows, columns=EFFECTS),
            )
        )  # fmt: skip
    if len(result.systems):
        columns = (
            Column(name="system", title="system", kind="label"),
            Column(name="language", title="language", kind="label"),
            Column(name="change", title="change", kind="points", sign=True, low="low", high="high"),
            Column(name="p", title="p", kind="p"),
        )
        blocks.append(Table(name="systems", caption=say("drift.systems"), frame=result.systems, columns=columns))
    if not blocks:
        return ()
    return (Section(name="effects", title="Judges, languages and systems as a whole", blocks=tuple(blocks)),)


EFFECTS = (
    Column(name="label", title="of", kind="label"),
    Column(name="before", title="before", kind="number", digits=2),
    Column(name="after", title="now", kind="number", digits=2),
    Column(name="change", title="change", kind="points", sign=True, low="low", high="high"),
    Column(name="p", title="p", kind="p"),
    Column(name="changed", title="changed", kind="yes"),
)


def _floor(result: Drift) -> Table:
    """Shares of scores at the lowest value, most changed first."""
    return Table(
        name="floor",
        caption=say("drift.floor"),
        frame=result.floor.sort_values("p", kind="stable") if len(result.floor) else result.floor,
        columns=(
            Column(name="language", title="language", kind="label"),
            Column(name="judge", title="judge", kind="judge"),
            Column(name="before", title="before", kind="share"),
            Column(name="after", title="now", kind="share"),
            Column(name="change", title="change", kind="share", sign=True, low="low", high="high"),
            Column(name="p", title="p", kind="p"),
            Column(name="changed", title="changed", kind="yes"),
        ),
    )
