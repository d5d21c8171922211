"""What an explanation says: which places are off, how far, and the tasks that show it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.panel.labels import shell
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.audit.advise import Advised
from polyjudge.questions.audit.explain import Explanation
from polyjudge.questions.audit.matters import Certificate
from polyjudge.report.build import by_size, chart, column, fields, frame_of, marked_grid, table
from polyjudge.report.sections import Block, Chart, Report, Section, Step


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
    """The worst tasks of the places."""
    if not len(e.worst):
        return []
    expected, gap = column("expected:points", like=("score",)), column("gap:+points", like=("score",))
    head = "task:label | language | judge | score:points"
    return [table("worst", say("explain.worst"), e.worst, head, expected, gap, most=60)]


def heatmap(e: Explanation, accused: bool = True) -> Chart:
    """The sparse reading with the culprit marked, unless nobody is `accused`."""
    cells, matters = _shown(e, accused), e.matters * e.factor
    named = bool(cells["named"].any())
    caption, alt = "Who is off, and where.", say("explain.alt", named=named)
    note = say("explain.grid-note", matters=matters, unit=e.unit, named=named)
    instead = marked_grid("deviations", say("explain.grid", unit=e.unit), cells, note)
    return chart("deviations", "deviations", caption, alt, instead, cells=cells, matters=matters, unit=e.unit)


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


def cells_section(e: Explanation, certificate: Certificate | None = None) -> Section:
    """Every place by both readings."""
    head = (
        "language | judge | sparse reading = excess/low/high:+points "
        "| double centring = interaction/band_low/band_high:+points | does it matter = matter | named:yes"
    )
    places = table("explained", say("explain.cells", level=e.level), by_size(e.cells, "excess"), head)
    says: list[Words] = []
    if e.cells["named"].any():
        sizes = {"largest": e.largest * e.factor, "without": e.largest_without * e.factor, "cells": len(e.cells)}
        says.append(say("explain.without", **sizes, **fields(e, "unit", "clear", "clear_without")))
    if certificate is not None:
        c = certificate
        values = {"delta": c.delta * e.factor, "matters": c.matters * e.factor, "unit": e.unit, "level": c.level}
        values["cells"] = len(c.cells)
        says.append(say("explain.certificate", status=c.status, needed=c.tasks_needed, **values, **c.counts))
    return Section(name="places", title="Every place", says=tuple(says), blocks=(places,))


def steps(advised: tuple[Advised, ...], source: str) -> tuple[Step, ...]:
    """Steps with commands to paste; `source` is what was read, with the options of reading."""
    return tuple(
        Step(why=one.why, command=" ".join(source if w == "SCORES" else shell(w) for w in one.command))
        for one in advised
    )
