"""How a chart looks in Python, `result.plot()`: drawn with Altair, one function for each kind. On the page: figures.py.

Colours can be told apart by colour-blind readers, axes carry their units, and a chart is as wide as its container.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from polyjudge.base.errors import UsageError
from polyjudge.base.text import name
from polyjudge.report.model import Chart

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

COLOURS = ("#1f5aa6", "#b35806", "#17714a", "#7d3f98", "#b3245a", "#00797f", "#7a5c00", "#56606e")
DARK_COLOURS = ("#7db1f0", "#f0994a", "#5cc894", "#cb9be0", "#f58bb0", "#5bc5cb", "#d9b64a", "#a5aebb")
NUMBERS = {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""], "minus": "-"}
LOCALE = {"number": NUMBERS}
"""A hyphen for the minus, which few fonts have."""
NAMES = ("label", "panel", "group", "row", "column")
"""Columns that hold names of users."""


def draw(chart: Chart, dark: bool = False) -> alt.Chart:
    """The chart as an Altair chart, on a light or a dark ground."""
    if find_spec("altair") is None:
        raise UsageError("Drawing a chart in Python needs Altair: pip install 'polyjudge[plot]'. Pages draw their own.")
    kinds = {
        "intervals": _intervals,
        "bars": _bars,
        "heatmap": _heatmap,
        "matrix": _matrix,
        "ranks": _ranks,
        "lines": _lines,
    }
    frame = chart.frame.drop(columns="key", errors="ignore")
    for column in NAMES:
        if column in frame.columns:
            frame[column] = [name(x) for x in frame[column]]
    made = kinds[chart.kind](chart, frame, _theme(dark))
    return _finish(made, chart, dark)


def _theme(dark: bool) -> dict[str, Any]:
    if dark:
        return {"ink": "#e7eaee", "soft": "#a5aebb", "line": "#323945", "paper": "#1a1f27", "colours": DARK_COLOURS,
                "around": ["#f5b26b", "#262d37", "#c6bcec"], "one": ["#232f3e", "#a5cbf5"]}  # fmt: skip
    return {"ink": "#1d232c", "soft": "#56606e", "line": "#dfe3e9", "paper": "#ffffff", "colours": COLOURS,
            "around": ["#a94f05", "#f7f7f5", "#523083"], "one": ["#f1f5fa", "#1f5aa6"]}  # fmt: skip


def _finish(made: Any, chart: Chart, dark: bool) -> Any:
    """Title, description for those who do not see it, and fonts that can be read."""
    look = _theme(dark)
    words = {"labelColor": look["ink"], "titleColor": look["soft"], "labelFontSize": 13, "titleFontSize": 13}
    return (
        made.properties(title=chart.title, description=chart.alt)
        .configure(locale=LOCALE, background=look["paper"], font="system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif")
        .configure_axis(**words, titleFontWeight="normal", labelLimit=220, gridColor=look["line"],
                        domainColor=look["line"], tickColor=look["line"])
        .configure_legend(**words, titleFontWeight="normal", labelLimit=220)
        .configure_header(**words, labelFontWeight="bold", labelLimit=240)
        .configure_title(color=look["ink"], fontSize=16, anchor="start", offset=12)
        .configure_view(stroke=None)
        .configure_range(category=list(look["colours"]))
    )  # fmt: skip


def _order(frame: pd.DataFrame, column: str) -> list[str]:
    return list(dict.fromkeys(frame[column]))


def _intervals(chart: Chart, frame: pd.DataFrame, look: dict[str, Any]) -> Any:
    import altair as alt

    y = alt.Y("label:N", sort=_order(frame, "label"), title=chart.y or None, axis=alt.Axis(ticks=False, domain=False))
    zero = bool(chart.options.get("zero"))
    x = alt.X("value:Q", title=chart.x or "value", scale=alt.Scale(zero=zero, nice=True))
    base = alt.Chart().encode(y=y)
    colour: Any = alt.value(look["colours"][0])
    if "best" in frame.columns:
        frame["best"] = frame["best"].astype(bool)
        colour = alt.condition("datum.best", alt.value(look["colours"][0]), alt.value(look["soft"]))
    tips = [alt.Tooltip(c) for c in ("label", "value", "low", "high") if c in frame.columns]
    marks = [base.mark_point(filled=True, size=90, opacity=1).encode(x=x, color=colour, tooltip=tips)]
    if {"low", "high"} <= set(frame.columns):
        ends = {"x": alt.X("low:Q", title=chart.x or "value"), "x2": "high:Q", "color": colour}
        marks.insert(0, base.mark_rule(strokeWidth=3, opacity=0.7).encode(**ends))
    if zero:
        marks.insert(0, alt.Chart().mark_rule(strokeDash=[3, 3], color=look["soft"]).encode(x=alt.datum(0)))
    layers = alt.layer(*marks, data=frame).properties(height={"step": 26})
    if "panel" in frame.columns and frame["panel"].nunique() > 1:
        return layers.properties(width=220).facet(
            alt.Facet("panel:N", sort=_order(frame, "panel"), title=None), columns=3
        )
    return layers.properties(width="container")


def _bars(chart: Chart, frame: pd.DataFrame, look: dict[str, Any]) -> Any:
    import altair as alt

    y = alt.Y("label:N", sort=_order(frame, "label"), title=chart.y or None)
    bars = alt.Chart().mark_bar(color=look["colours"][0], opacity=0.85).encode(y=y, x=alt.X("value:Q", title=chart.x))
    marks = [bars.encode(color="group:N", yOffset="group:N") if "group" in frame.columns else bars]
    if {"low", "high"} <= set(frame.columns):
        marks.append(alt.Chart().mark_rule(color=look["ink"]).encode(y=y, x=alt.X("low:Q", title=chart.x), x2="high:Q"))
    return alt.layer(*marks, data=frame).properties(width="container", height={"step": 28})


def _heatmap(chart: Chart, frame: pd.DataFrame, look: dict[str, Any]) -> Any:
    import altair as alt

    limit = float(chart.options.get("limit") or frame["value"].abs().max() or 1.0)
    scale = alt.Scale(domain=[-limit, 0, limit], range=look["around"], clamp=True, interpolate="rgb")
    return _grid(chart, frame, look, scale, "+.1f" if limit < 100 else "+.0f", f"abs(datum.value) > {0.55 * limit!r}")


def _matrix(chart: Chart, frame: pd.DataFrame, look: dict[str, Any]) -> Any:
    import altair as alt

    limit = max(1.0, float(frame["value"].max()))
    scale = alt.Scale(domain=[0, limit], range=look["one"], clamp=True, interpolate="rgb")
    return _grid(chart, frame, look, scale, ".2f", f"datum.value > {0.55 * limit!r}")


def _grid(chart: Chart, frame: pd.DataFrame, look: dict[str, Any], scale: Any, form: str, strong: str) -> Any:
    """Squares with their numbers; strong ones have their numbers in the colour of the ground."""
    import altair as alt

    axis = alt.Axis(labelAngle=0, orient="top", domain=False, ticks=False, title=None)
    x = alt.X("column:N", sort=_order(frame, "column"), axis=axis, scale=alt.Scale(paddingInner=0.05))
    y = alt.Y("row:N", sort=_order(frame, "row"), title=None, axis=alt.Axis(domain=False, ticks=False),
              scale=alt.Scale(paddingInner=0.08))  # fmt: skip
    base = alt.Chart().encode(x=x, y=y)
    colour = alt.Color("value:Q", scale=scale, title=chart.x or "value", legend=alt.Legend(orient="bottom"))
    tips = [alt.Tooltip(c) for c in ("row", "column", "value", "low", "high", "beta") if c in frame.columns]
    marks = [base.mark_rect(cornerRadius=5).encode(color=colour, tooltip=tips)]
    if "mark" in frame.columns and (frame["mark"] != "").any():
        framed = base.transform_filter("datum.mark != ''").mark_rect(cornerRadius=5, filled=False, strokeWidth=2)
        marks.append(framed.encode(stroke=alt.value(look["ink"])))
    said = base.transform_filter("isValid(datum.value)").mark_text(fontSize=13)
    marks.append(
        said.encode(
            text=alt.Text("value:Q", format=form),
            color=alt.condition(strong, alt.value(look["paper"]), alt.value(look["ink"])),
        )
    )
    return alt.layer(*marks, data=frame).properties(width="container", height={"step": 40})


def _ranks(chart: Chart, frame: pd.DataFrame, look: dict[str, Any]) -> Any:
    import altair as alt

    groups = _order(frame, "group")
    x = alt.X("group:N", sort=groups, title=chart.x or None, axis=alt.Axis(labelAngle=-40, grid=False))
    y = alt.Y("rank:Q", scale=alt.Scale(reverse=True, zero=False, nice=False), title=chart.y or "rank",
              axis=alt.Axis(tickMinStep=1, format="d", grid=False))  # fmt: skip
    base = alt.Chart().encode(x=x, y=y, color=alt.Color("label:N", sort=_order(frame, "label"), title=None))
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(tooltip=["label", "group", "rank"])
    marks = [base.mark_line(strokeWidth=2.5), dots]
    layers = alt.layer(*marks, data=frame).properties(height=34 * int(frame["rank"].max()))
    if "panel" in frame.columns and frame["panel"].nunique() > 1:
        facet = alt.Facet("panel:N", sort=_order(frame, "panel"), title=None)
        return layers.properties(width=max(240, 44 * len(groups))).facet(facet, columns=2)
    return layers.properties(width="container")


def _lines(chart: Chart, frame: pd.DataFrame, look: dict[str, Any]) -> Any:
    import altair as alt

    kind = "log" if chart.options.get("log") else "linear"
    x = alt.X("x:Q", title=chart.x, scale=alt.Scale(type=kind, nice=False))
    colour = alt.Color("label:N", sort=_order(frame, "label"), title=None)
    base = alt.Chart().encode(x=x, color=colour)
    marks = [
        base.mark_line(strokeWidth=2.5, point=True).encode(
            y=alt.Y("value:Q", title=chart.y), tooltip=["label", "x", "value"]
        )
    ]
    if {"low", "high"} <= set(frame.columns):
        marks.insert(0, base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q", title=chart.y), y2="high:Q"))
    return alt.layer(*marks, data=frame).properties(width="container", height=300)
