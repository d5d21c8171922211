"""Shares of variance, gate spread by threshold, and agreement by number of scored tasks."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from polyjudge.report.charts.theme import WIDE, colour, finish, plot

SPREADS = (("raw", "spread_raw"), ("calibrated", "spread_calibrated"))


def variance_shares(components: pd.DataFrame) -> Any:
    """Share of each variance component (component, share, low, high)."""
    data = components[["component", "share"]].copy()
    has_interval = {"low", "high"} <= set(components.columns)
    tooltip = [alt.Tooltip("component:N"), alt.Tooltip("share:Q", format=".1%")]
    if has_interval:
        data["low"], data["high"] = components["low"].clip(0, 1), components["high"].clip(0, 1)
        data["interval"] = [f"[{a:.1%}, {b:.1%}]" for a, b in zip(data["low"], data["high"], strict=True)]
        tooltip.append(alt.Tooltip("interval:N"))
    data = data.fillna({"low": 0, "high": 0})
    order = components["component"].tolist()
    base = plot(data).encode(y=alt.Y("component:N", sort=order, title=None))
    axis = alt.X("share:Q", title="share of the variance of one score", axis=alt.Axis(format="%"))
    special = alt.condition(
        "datum.component == 'language:judge'", alt.value(colour("accent")), alt.value(colour("mark"))
    )
    layers = [base.mark_bar(opacity=0.8).encode(x=axis, color=special, tooltip=tooltip)]
    if has_interval:
        layers.append(base.mark_rule(strokeWidth=1.5, tooltip=None).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")))
    layers.append(
        base.mark_text(align="left", dx=6, tooltip=None).encode(
            x=alt.X("high:Q" if has_interval else "share:Q"), text=alt.Text("share:Q", format=".1%")
        )
    )
    chart = alt.layer(*layers).properties(width=WIDE - 140, height=alt.Step(24))
    return finish(chart, "What the variance of a score consists of", "the interaction that calibration removes in red")


def gate_sweep(sweep: pd.DataFrame, threshold: float | None = None) -> Any:
    """Spread of pass rates over languages against the threshold, raw and calibrated, with bands where known."""
    parts = []
    for name, column in SPREADS:
        part = pd.DataFrame({"threshold": sweep["threshold"], "spread": sweep[column], "scores": name})
        known = f"{column}_low" in sweep
        part["low"] = sweep[f"{column}_low"] if known else sweep[column]
        part["high"] = sweep[f"{column}_high"] if known else sweep[column]
        parts.append(part)
    data = pd.concat(parts, ignore_index=True)
    data["interval"] = [f"[{a:.1f}, {b:.1f}]" for a, b in zip(data["low"], data["high"], strict=True)]
    names = [name for name, _ in SPREADS]
    legend = alt.Legend(title=None, orient="top")
    tint = alt.Color("scores:N", scale=alt.Scale(domain=names), legend=legend)
    base = plot(data).encode(x=alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False)), color=tint)
    axis = alt.Y("spread:Q", title="spread over languages, percentage points")
    layers = [
        base.mark_area(opacity=0.18, tooltip=None).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2, tooltip=None).encode(
            y=axis, strokeDash=alt.StrokeDash("scores:N", scale=alt.Scale(domain=names), legend=legend)
        ),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            y=axis,
            tooltip=[
                alt.Tooltip("scores:N"),
                alt.Tooltip("threshold:Q"),
                alt.Tooltip("spread:Q", format=".1f"),
                alt.Tooltip("interval:N"),
            ],
        ),
    ]
    if threshold is not None:
        at = pd.DataFrame({"at": [threshold]})
        layers.append(plot(at).mark_rule(strokeDash=[4, 3], tooltip=None).encode(x=alt.X("at:Q")))
    chart = alt.layer(*layers).properties(width=WIDE - 40, height=220)
    return finish(chart, "Gate spread by threshold")


def few_shot_curve(curve: pd.DataFrame, what: str, full: float | None = None) -> Any:
    """Agreement of a newcomer with the others against the number of its tasks that were scored."""
    data = curve[["shots", "tau", "low", "high"]].copy()
    data["interval"] = [f"[{a:.3f}, {b:.3f}]" for a, b in zip(data["low"], data["high"], strict=True)]
    base = plot(data).encode(x=alt.X("shots:Q", title=f"scored tasks of the new {what}"))
    axis = alt.Y("tau:Q", title="mean tau with the others", scale=alt.Scale(zero=False))
    layers = [
        base.mark_area(opacity=0.18, tooltip=None).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=alt.ColorValue(colour("mark"))
        ),
        base.mark_line(tooltip=None).encode(y=axis),
        base.mark_point(filled=True, size=50, opacity=1).encode(
            y=axis, tooltip=[alt.Tooltip("shots:Q"), alt.Tooltip("tau:Q", format=".3f"), alt.Tooltip("interval:N")]
        ),
    ]
    if full is not None:
        at = pd.DataFrame({"at": [full]})
        layers.append(plot(at).mark_rule(strokeDash=[4, 3], tooltip=None).encode(y=alt.Y("at:Q")))
    chart = alt.layer(*layers).properties(width=WIDE - 40, height=200)
    return finish(chart, f"Agreement of a new {what} with the others")


def curves(
    frame: pd.DataFrame, x: str, y: str, by: str, title: str, *, x_title: str, y_title: str, at: float | None = None
) -> Any:
    """A line for each `by` over a logarithmic x, with a line across at the value `at` that is aimed at."""
    data = pd.DataFrame({"x": frame[x].astype(float), "y": frame[y].astype(float), "which": frame[by].astype(str)})
    data = data[(data["x"] > 0) & data["y"].notna()]
    order = data["which"].drop_duplicates().tolist()
    base = plot(data).encode(
        x=alt.X("x:Q", title=x_title, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(tickCount=6, format="~s")),
        y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=True)),
        color=alt.Color("which:N", sort=order, legend=alt.Legend(title=None, orient="top", columns=3)),
    )
    tooltip = [
        alt.Tooltip("which:N", title=by),
        alt.Tooltip("x:Q", title=x_title),
        alt.Tooltip("y:Q", title=y_title, format=".3~g"),
    ]
    layers = [
        base.mark_line(strokeWidth=2, tooltip=None),
        base.mark_point(filled=True, size=40, opacity=1).encode(tooltip=tooltip),
    ]
    if at is not None:
        line = pd.DataFrame({"at": [float(at)]})
        layers.append(plot(line).mark_rule(strokeDash=[4, 3], tooltip=None).encode(y=alt.Y("at:Q")))
    return finish(alt.layer(*layers).properties(width=WIDE - 40, height=240), title)
