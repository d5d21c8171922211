"""What an explanation says: which places are off, how far, and the tasks that show it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from polyjudge.core.sections import Block, Chart, Column, Grid, Report, Section, Step, Table, Words, say
from polyjudge.report.build.shared import JUDGE, LANGUAGE, frame_of, pivot
from polyjudge.report.numbers import writer

if TYPE_CHECKING:
    from polyjudge.analyse.advise import Advised
    from polyjudge.analyse.explain import Explanation
    from polyjudge.analyse.matters import Certificate
    from polyjudge.core.panel import Panel


def build(result: Explanation, panel: Panel | None = None) -> Report:
    """The explanation, the place asked for or found, its worst tasks, and every place."""
    rest = culprit_says(result)
    places = Section(
        name="culprits",
        title="The place" if len(result.culprits) == 1 else "The places",
        says=rest,
        blocks=tuple(culprit_blocks(result)),
        folded=not rest,
    )
    verdict = [_kind(result), say("explain.stability", stability=result.stability, resamples=result.resamples)]
    return Report(
        **frame_of("explain", result, panel),
        title=say("explain.title"),
        verdict=(*verdict, say("explain.majority")),
        picture=(heatmap(result),),
        sections=(*([places] if places.says or places.blocks else []), cells_section(result)),
    )


def culprit_says(e: Explanation) -> tuple[Words, ...]:
    """The numbers of the places, two sentences each."""
    out: list[Words] = [] if e.culprits.empty else [_kind(e)]
    for _, row in e.culprits.head(3).iterrows():
        out.append(say("explain.cell", unit=e.unit, **_values(row, e.factor)))
        known = not pd.isna(row["floor"]) and e.scale.kind != "binary"
        out.append(say("explain.shares" if known else "explain.shares-missing", **_values(row)))
    return tuple(out)


def _values(row: pd.Series[Any], factor: float = 1.0) -> dict[str, Any]:
    scaled = ("excess", "low", "high", "interaction")
    return {str(name): value * factor if name in scaled else value for name, value in row.items()}


def _kind(e: Explanation) -> Words:
    named = e.named
    first = {} if not named else {"language": named[0][0], "judge": named[0][1]}
    return say(f"explain.kind.{e.kind}", named=named, **first)


def culprit_blocks(e: Explanation) -> list[Block]:
    """The worst tasks of the places, and how their scores lie."""
    out: list[Block] = []
    if len(e.worst):
        columns = (
            Column(name="task", title="task", kind="label"),
            LANGUAGE,
            JUDGE,
            Column(name="score", title="score", kind="points"),
            Column(name="expected", title="expected", kind="points", like=("score",)),
            Column(name="gap", title="gap", kind="points", sign=True, like=("score",)),
        )
        out.append(Table(name="worst", caption=say("explain.worst"), frame=e.worst, columns=columns, most=60))
    return out


def heatmap(e: Explanation, accused: bool = True) -> Chart:
    """The sparse reading with the culprit marked, unless nobody is `accused`; in text a grid."""
    cells = _shown(e, accused)
    return Chart(
        name="deviations",
        draw="deviations",
        data=({"cells": cells, "matters": e.matters * e.factor, "unit": e.unit},),
        caption="Who is off, and where.",
        alt=say("explain.alt", named=bool(cells["named"].any())),
        instead=grid(e, accused),
    )


def _shown(e: Explanation, accused: bool) -> pd.DataFrame:
    """Cells in the unit that is printed; `small` are those that do not matter, or are not clear of noise."""
    out = e.cells.copy()
    for name in ("excess", "low", "high"):
        out[name] = out[name] * e.factor
    out["named"] &= accused
    noise = (out["low"] <= 0) & (out["high"] >= 0)
    if e.kind != "diffuse" and not e.clear_without:  # nothing else is clear of noise, all cells at once
        noise |= ~e.cells["named"]
    out["small"] = ((out["excess"].abs() < e.matters * e.factor) | noise) & ~out["named"]
    return out


def grid(e: Explanation, accused: bool = True) -> Grid:
    """The same as text: [ ] the culprit, a dot for what is too small to matter or not clear of noise."""
    cells = _shown(e, accused)
    matters = e.matters * e.factor
    small = cells["small"]
    write = writer(cells["excess"], 2)
    cells["text"] = ["." if s else write(x, True) for s, x in zip(small, cells["excess"], strict=True)]
    cells["mark"] = np.where(cells["named"], "culprit", np.where(small, "small", ""))
    return Grid(
        name="deviations",
        caption=say("explain.grid", unit=e.unit),
        values=pivot(cells, "excess"),
        texts=pivot(cells, "text"),
        marks=pivot(cells, "mark"),
        sign=True,
        note=say("explain.grid-note", matters=matters, unit=e.unit, named=bool(cells["named"].any())),
    )


def cells_section(e: Explanation, certificate: Certificate | None = None) -> Section:
    """Every place by both readings."""
    frame = e.cells.reindex(e.cells["excess"].abs().sort_values(ascending=False, kind="stable").index)
    columns = (
        LANGUAGE,
        JUDGE,
        Column(name="excess", title="sparse reading", kind="points", sign=True, low="low", high="high"),
        Column(name="interaction", title="double centring", kind="points", sign=True, low="band_low", high="band_high"),
        Column(name="matter", title="does it matter"),
        Column(name="named", title="named", kind="yes"),
    )
    says: list[Words] = []
    if e.cells["named"].any():
        says.append(
            say(
                "explain.without",
                largest=e.largest * e.factor,
                without=e.largest_without * e.factor,
                unit=e.unit,
                clear=e.clear,
                clear_without=e.clear_without,
                cells=len(e.cells),
            )
        )
    if certificate is not None:
        c = certificate
        values = {"delta": c.delta * e.factor, "matters": c.matters * e.factor, "unit": e.unit, "level": c.level}
        values["cells"] = len(c.cells)
        says.append(say("explain.certificate", status=c.status, needed=c.tasks_needed, **values, **c.counts))
    table = Table(name="explained", caption=say("explain.cells", level=e.level), frame=frame, columns=columns, most=200)
    return Section(name="places", title="Every place", says=tuple(says), blocks=(table,))


def steps(advised: tuple[Advised, ...], source: str) -> tuple[Step, ...]:
    """Steps with commands to paste; `source` is what was read, with the options of reading."""
    out = []
    for one in advised:
        words = [source if w == "SCORES" else shlex.quote(w) for w in one.command]
        out.append(Step(why=one.why, command=" ".join(words)))
    return tuple(out)
