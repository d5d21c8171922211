"""How a chart looks on the page: what stands where, in percent of the room there is. In Python: charts.py (Altair).

Each function has its macro in templates/figures.html, which draws what it returns: a change of looks is often in both.
The templates draw them as HTML tables, lanes and lines that fill their container at any width, print as they are, and
are read by screen readers; no script draws. Every function takes a chart (or the board) and returns what its template
in figures.html needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polyjudge.base import numbers
from polyjudge.report.model import Chart, Table
from polyjudge.report.text import cell, cells, heads, numeric, records

Figure = dict[str, Any]
NO_KEYS: Mapping[str, str] = {}
STEPS = 5
"""Shades of a heatmap on each side of nothing."""
MINIS, ROWS = 12, 15
"""Small multiples that are open at once, and rows of each."""


def figure(chart: Chart, keys: Mapping[str, str] = NO_KEYS) -> Figure:
    """What the template of this kind of chart needs. keys: cells and rows that open a drawer -> its number."""
    made = {"intervals": intervals, "bars": intervals, "ranks": ranks, "lines": lines}.get(chart.kind)
    what = made(chart) if made else grid(chart, keys)
    same = {"name": chart.name, "title": chart.title, "alt": chart.alt, "x": chart.x, "y": chart.y}
    return {"kind": "intervals" if chart.kind == "bars" else chart.kind, **same, **what}


# --- the board: systems against the leader ---


def board(table: Table, languages: Chart | None, keys: Mapping[str, str]) -> Figure | None:
    """The board as an interval plot, and small multiples of the languages; none where it compares with no leader."""
    kinds = table.shown
    values = [c for c, k in kinds.items() if k.startswith("+points") and len(k.split()) == 3]
    labels = [c for c, k in kinds.items() if k == "name"]
    ranked = any(k.startswith("rank") for k in kinds.values())
    if len(values) != 1 or not labels or not ranked or not table.size:
        return None
    value, label = values[0], labels[0]
    _, low, high = kinds[value].split()
    rows = records(table.frame)
    axis = _axis([x for r in rows for x in (r[value], r[low], r[high], 0.0)])
    shown = []
    columns = list(kinds)
    for r, texts in zip(rows, cells(table), strict=True):
        key = next((keys[x] for x in (str(r.get("key", "")), f"system|{r[label]}", str(r[label])) if x in keys), "")
        written = dict(zip(columns, texts, strict=True))
        shown.append(
            {
                "name": written[label],
                "rank": next((written[c] for c, k in kinds.items() if k.startswith("rank")), ""),
                "more": [written[c] for c in columns if c not in (label, value) and not kinds[c].startswith("rank")],
                "text": written[value],
                "best": bool(r.get("may_be_best", r.get("best", False))),
                "key": key,
                **_bar(r[value], r[low], r[high], axis),
            }
        )
    titles = dict(zip(columns, heads(table), strict=True))
    more = [titles[c] for c in columns if c not in (label, value) and not kinds[c].startswith("rank")]
    if languages is not None:  # rows in the order of the board
        place = {str(r[label]): i for i, r in enumerate(rows)}
        panel = {x: i for i, x in enumerate(dict.fromkeys(languages.frame["panel"]))}
        at = [
            (panel[p], place.get(str(x), 0))
            for p, x in zip(languages.frame["panel"], languages.frame["label"], strict=True)
        ]
        order = sorted(range(len(at)), key=at.__getitem__)
        languages = replace(languages, frame=languages.frame.iloc[order])
    minis = figure(languages) if languages is not None else None
    return {
        "rows": shown, "ticks": _ticks(axis), "zero": _at(0.0, axis), "heads": more, "label": titles[label],
        "value": titles[value], "minis": minis, "title": table.title, "name": table.name,
    }  # fmt: skip


# --- lanes: a label, a line from low to high, a dot ---


def intervals(chart: Chart) -> Figure:
    """Values with their intervals on one axis, panels as small multiples; bars begin at 0."""
    rows = records(chart.frame)
    kind = str(chart.options.get("format", "+points" if chart.options.get("zero") else "points"))
    bars = chart.kind == "bars"
    panel = "panel" if "panel" in chart.frame.columns else "group" if "group" in chart.frame.columns else ""
    reach = [x for r in rows for x in (r["value"], r.get("low"), r.get("high"))]
    axis = _axis([*reach, 0.0] if bars or chart.options.get("zero") else reach)
    ends = " low high" if "low" in chart.frame.columns else ""
    panels: dict[str, list[Figure]] = {}
    for r in rows:
        bar = _bar(r["value"], r.get("low"), r.get("high"), axis)
        zero = _at(0.0, axis)
        bar |= {"from": min(zero, bar["at"] or zero), "size": abs((bar["at"] or zero) - zero)} if bars else {}
        text = cell(kind + ends, r, "value")
        made = {"name": r["label"], "text": text, "best": bool(r.get("best", r.get("may_be_best", False))), **bar}
        panels.setdefault(str(r[panel]) if panel else "", []).append(made)
    most = ROWS if len(panels) > 1 else len(rows)
    shown = [{"name": k, "rows": part[:most], "left": max(len(part) - most, 0)} for k, part in panels.items()]
    return {
        "whole": len(panels) > 1 or len(rows) > 8, "panels": shown[:MINIS],
        "rest": shown[MINIS:], "ticks": _ticks(axis, 4 if panel else 5, kind), "bars": bars,
        "zero": _at(0.0, axis), "line": str(chart.options.get("zero", "")), "numbers": _by_panel(panels),
    }  # fmt: skip


def _by_panel(panels: Mapping[str, Sequence[Figure]]) -> Figure:
    """The table behind the lanes: a row for each label, a column for each panel."""
    labels = list(dict.fromkeys(row["name"] for rows in panels.values() for row in rows))
    found = {(panel, row["name"]): row["text"] for panel, rows in panels.items() for row in rows}
    body = [[label, *(found.get((panel, label), "") for panel in panels)] for label in labels]
    return {"heads": ["", *(panel or "value" for panel in panels)], "rows": body}


def _bar(value: Any, low: Any, high: Any, axis: tuple[float, float]) -> Figure:
    at = None if numbers.missing(value) else _at(value, axis)
    if numbers.missing(low) or numbers.missing(high):
        return {"at": at, "low": None, "wide": None}
    return {"at": at, "low": _at(low, axis), "wide": round(_at(high, axis) - _at(low, axis), 2)}


# --- grids: heatmap and matrix ---


def grid(chart: Chart, keys: Mapping[str, str] = NO_KEYS) -> Figure:
    """A heatmap (two colours around 0) or a matrix (one colour): every cell with its number, shade and mark."""
    rows = records(chart.frame)
    seen = [abs(r["value"]) for r in rows if not numbers.missing(r["value"])]
    two = chart.kind == "heatmap"
    most = max(seen, default=1.0) or 1.0
    limit = float(chart.options.get("limit") or (most if two or most > 1 else 1.0))  # a correlation: up to 1
    least = float(chart.options.get("least") or 0.0)
    digits = max(0, min(2, 2 - math.floor(math.log10(most)))) if two else 2
    written = next((str(r["text"]) for r in rows if r.get("text")), "")
    if re.fullmatch(r"[+-]?[\d,]+(\.\d+)?", written):  # as many decimals as the texts that are given
        digits = len(written.partition(".")[2])
    group = {str(r["row"]): str(r["group"]) for r in rows if r.get("group") not in (None, "")}
    table: dict[str, dict[str, Figure]] = {}
    for r in rows:
        value, mark = r["value"], str(r.get("mark") or "")
        gone = numbers.missing(value)
        share = 0.0 if gone else min(1.0, max(0.0, abs(value) / limit if two else value / max(limit, 1e-300)))
        weak = gone or (abs(value) < least and not mark)
        shade = 0 if share < 0.04 else min(math.ceil(share * STEPS - 1e-9), 1 if weak else STEPS)
        table.setdefault(str(r["row"]), {})[str(r["column"])] = {
            "text": "" if gone else str(r.get("text") or "") or _signed(value, digits, two),
            "shade": _shade(value, shade, two),
            "mark": mark,
            "weak": weak,
            "key": keys.get(str(r.get("key") or ""), ""),
            "hint": hint(r, chart.name),
        }
    columns = list(dict.fromkeys(str(r["column"]) for r in rows))
    shown = [{"name": name, "cells": [cells_.get(c) for c in columns]} for name, cells_ in table.items()]
    steps = [f"n{i}" for i in range(STEPS, 0, -1)] + [""] + [f"p{i}" for i in range(1, STEPS + 1)]
    marks = {str(r.get("mark") or "") for r in rows}
    return {
        "columns": columns, "rows": shown, "groups": group, "marks": marks, "limit": f"{limit:.3g}",
        "steps": steps if two else [f"m{i}" for i in range(1, STEPS + 1)],
        "opens": any(str(r.get("key") or "") in keys for r in rows),
        "named": chart.options.get("named") or "clearly off, and named above",
    }  # fmt: skip


def _shade(value: float, shade: int, two: bool) -> str:
    """The class of a cell: n below 0, p above, m in a matrix."""
    return f"{('n' if value < 0 else 'p') if two else 'm'}{shade}" if shade else ""


def _signed(value: float, digits: int, sign: bool) -> str:
    """A number with its sign; nothing has none."""
    return numbers.number(value, digits, sign=sign and round(value, digits) != 0)


def hint(row: Mapping[str, Any], what: str) -> str:
    """What a cell says when it is pointed at, and its drawer: "off -12.2 [-12.9, -11.5], beta -5.1"."""
    said = numbers.ci(row["value"], row["low"], row["high"], sign=True) if "low" in row and "high" in row else ""
    beta = f"beta {numbers.points(row['beta'], sign=True)}" if "beta" in row else ""
    return ", ".join(x for x in (f"{what} {said}" if said else "", beta) if x)


# --- lines: ranks by language, and values along an axis ---


def ranks(chart: Chart) -> Figure:
    """Ranks of labels by group, panels side by side (before and after)."""
    frame = chart.frame
    panels = list(dict.fromkeys(frame["panel"])) if "panel" in frame.columns else [""]
    labels, groups = list(dict.fromkeys(frame["label"])), list(dict.fromkeys(frame["group"]))
    most = max(float(frame["rank"].max()), 2.0)
    shown = []
    for panel in panels:
        part = frame[frame["panel"] == panel] if "panel" in frame.columns else frame
        rank = {(r["label"], r["group"]): r["rank"] for r in records(part)}
        drawn = []
        for i, label in enumerate(labels):
            points = [
                (round(100 * (j + 0.5) / len(groups), 2), round(100 * (rank[label, g] - 0.5) / most, 2))
                for j, g in enumerate(groups)
                if not numbers.missing(rank.get((label, g)))
            ]
            if points:
                drawn.append({"name": label, "colour": i % 8, "points": points, "end": points[-1][1]})
        body = [
            [x, *(cell("number", {"r": rank.get((x, g))}, "r").removesuffix(".00") for g in groups)] for x in labels
        ]
        shown.append({"name": panel, "lines": drawn, "numbers": {"heads": ["", *groups], "rows": body}})
    # names below are tilted where they would run into each other
    wide = max(len(str(g)) for g in groups) * 7.5 * len(groups)
    return {
        "panels": shown, "groups": [(round(100 * (j + 0.5) / len(groups), 2), g) for j, g in enumerate(groups)],
        "most": int(most), "tilt": "tilt" if wide > 430 else "tilt-narrow" if wide > 190 else "",
        "side": min(16, max(len(str(x)) for x in labels)),
    }  # fmt: skip


def lines(chart: Chart) -> Figure:
    """Values along an axis, with their bands."""
    frame = chart.frame
    log = bool(chart.options.get("log"))
    kind = str(chart.options.get("format", "points"))
    across = [math.log10(x) if log else float(x) for x in frame["x"]]
    reach = [x for c in ("value", "low", "high") if c in frame.columns for x in frame[c]]
    x_axis, y_axis = (min(across), max(max(across), min(across) + 1e-9)), _axis(reach)
    drawn = []
    for i, label in enumerate(dict.fromkeys(frame["label"])):
        part = [(r, a) for r, a in zip(records(frame), across, strict=True) if r["label"] == label]
        part = sorted(((r, a) for r, a in part if not numbers.missing(r["value"])), key=lambda pair: pair[1])
        points = [(_at(a, x_axis), 100 - _at(r["value"], y_axis)) for r, a in part]
        band = []
        if "low" in frame.columns:
            whole = [(r, a) for r, a in part if not (numbers.missing(r["low"]) or numbers.missing(r["high"]))]
            band = [(_at(a, x_axis), 100 - _at(r["high"], y_axis)) for r, a in whole]
            band += [(_at(a, x_axis), 100 - _at(r["low"], y_axis)) for r, a in reversed(whole)]
        drawn.append({"name": label, "colour": i % 8, "points": points, "band": band})
    if log:
        powers = range(math.ceil(x_axis[0] - 1e-9), math.floor(x_axis[1] + 1e-9) + 1)
        marks = [(_at(float(e), x_axis), f"{10**e:,.4g}" if e < 6 else f"1e{e}") for e in powers]
    else:
        marks = _ticks(x_axis)
    ends = " low high" if "low" in frame.columns else ""
    body = [[r["label"], f"{r['x']:,.6g}", cell(kind + ends, r, "value")] for r in records(frame)]
    head = ["", chart.x or "x", chart.y or "value"]
    return {"lines": drawn, "across": marks, "up": _ticks(y_axis, 4, kind), "numbers": {"heads": head, "rows": body}}


# --- tables ---


def table(given: Table) -> Figure:
    """A table as texts, with the numbers by which its columns are sorted."""
    kinds = given.shown
    rows = []
    for row, texts in zip(records(given.frame.head(given.most)), cells(given, given.most), strict=True):
        by = [row[c] if numeric(k) or k.startswith("rank") else None for c, k in kinds.items()]
        rows.append([(t, "" if numbers.missing(v) else f"{v:.6g}") for t, v in zip(texts, by, strict=True)])
    return {
        "name": given.name, "title": given.title, "note": given.note, "rows": rows,
        "heads": [(h, numeric(k)) for h, k in zip(heads(given), kinds.values(), strict=True)],
        "wide": [k.startswith("text") for k in kinds.values()],
        "rest": max(given.size - given.most, 0), "count": given.size,
    }  # fmt: skip


# --- axes ---


def _axis(values: Iterable[Any]) -> tuple[float, float]:
    """From the smallest to the largest, with a little room."""
    seen = [float(v) for v in values if not numbers.missing(v)]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    room = 0.03 * (high - low) or max(abs(high) * 0.1, 1e-9)
    return low - room, high + room


def _at(value: float, axis: tuple[float, float]) -> float:
    """Where a value stands, in percent of the axis."""
    return round(100 * (float(value) - axis[0]) / (axis[1] - axis[0]), 2)


def _ticks(axis: tuple[float, float], most: int = 5, kind: str = "points") -> list[tuple[float, str]]:
    """Round numbers on an axis, with their places."""
    rough = (axis[1] - axis[0]) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    if (axis[1] - axis[0]) / step < 2:
        step /= 2
    first = math.ceil(axis[0] / step - 1e-9)
    marks = [i * step for i in range(first, math.floor(axis[1] / step + 1e-9) + 1)]
    if kind == "percent":
        return [(_at(x, axis), f"{100 * x:.6g}%") for x in marks]
    return [(_at(x, axis), f"{x + 0.0:,.6g}") for x in marks]
