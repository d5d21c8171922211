"""Shares of variance, gate spread by threshold, agreement by number of scored tasks, cost against error."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.labels import clean
from polyjudge.report.charts.theme import WIDE, colour, finish
from polyjudge.report.charts.vega import Picture, bands, broken_line, constant, layer, of, plot, when

SPREADS = (("raw", "spread_raw"), ("calibrated", "spread_calibrated"))


def variance_shares(components: pd.DataFrame) -> Picture:
    """Share of each variance component (component, share, low, high)."""
    data = components[["component", "share"]].copy()
    has_interval = {"low", "high"} <= set(components.columns)
    tooltip = [of("component:N"), of("share:Q", format=".1%")]
    if has_interval:
        data["low"], data["high"] = components["low"].clip(0, 1), components["high"].clip(0, 1)
        data["interval"] = [f"[{a:.1%}, {b:.1%}]" for a, b in zip(data["low"], data["high"], strict=True)]
        tooltip.append(of("interval:N"))
    data = data.fillna({"low": 0, "high": 0})
    order = components["component"].tolist()
    base = plot(data).encode(y=of("component:N", sort=order, title=None))
    axis = of("share:Q", title="share of the variance of one score", axis=dict(format="%"))
    special = when("datum.component == 'language:judge'", constant(colour("accent")), constant(colour("mark")))
    layers = [base.mark("bar", opacity=0.8).encode(x=axis, color=special, tooltip=tooltip)]
    if has_interval:
        layers.append(base.mark("rule", strokeWidth=1.5, tooltip=None).encode(x=of("low:Q"), x2=of("high")))
    layers.append(
        base.mark("text", align="left", dx=6, tooltip=None).encode(
            x=of("high:Q" if has_interval else "share:Q"), text=of("share:Q", format=".1%")
        )
    )
    chart = layer(*layers).properties(width=WIDE - 140, height=bands(24))
    return finish(chart, "What the variance of a score consists of", "the interaction that calibration removes in red")


def gate_sweep(sweep: pd.DataFrame, threshold: float | None = None) -> Picture:
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
    legend = dict(title=None, orient="top")
    tint = of("scores:N", scale=dict(domain=names), legend=legend)
    base = plot(data).encode(x=of("threshold:Q", title="threshold", scale=dict(zero=False)), color=tint)
    axis = of("spread:Q", title="spread over languages, percentage points")
    layers = [
        base.mark("area", opacity=0.18, tooltip=None).encode(y=of("low:Q"), y2=of("high")),
        base.mark("line", strokeWidth=2, tooltip=None).encode(
            y=axis, strokeDash=of("scores:N", scale=dict(domain=names), legend=legend)
        ),
        base.mark("point", filled=True, size=40, opacity=1).encode(
            y=axis,
            tooltip=[of("scores:N"), of("threshold:Q"), of("spread:Q", format=".1f"), of("interval:N")],
        ),
    ]
    if threshold is not None:
        layers.append(broken_line("x", threshold))
    chart = layer(*layers).properties(width=WIDE - 40, height=220)
    return finish(chart, "Gate spread by threshold")


def few_shot_curve(curve: pd.DataFrame, what: str, full: float | None = None) -> Picture:
    """Agreement of a newcomer with the others against the number of its tasks that were scored."""
    data = curve[["shots", "tau", "low", "high"]].copy()
    data["interval"] = [f"[{a:.3f}, {b:.3f}]" for a, b in zip(data["low"], data["high"], strict=True)]
    base = plot(data).encode(x=of("shots:Q", title=f"scored tasks of the new {what}"))
    axis = of("tau:Q", title="mean tau with the others", scale=dict(zero=False))
    layers = [
        base.mark("area", opacity=0.18, tooltip=None).encode(
            y=of("low:Q"), y2=of("high"), color=constant(colour("mark"))
        ),
        base.mark("line", tooltip=None).encode(y=axis),
        base.mark("point", filled=True, size=50, opacity=1).encode(
            y=axis, tooltip=[of("shots:Q"), of("tau:Q", format=".3f"), of("interval:N")]
        ),
    ]
    if full is not None:
        layers.append(broken_line("y", full))
    chart = layer(*layers).properties(width=WIDE - 40, height=200)
    return finish(chart, f"Agreement of a new {what} with the others")


def curves(
    frame: pd.DataFrame, x: str, y: str, by: str, title: str, *, x_title: str, y_title: str, at: float | None = None
) -> Picture:
    """A line for each `by` over a logarithmic x, with a line across at the value `at` that is aimed at."""
    data = pd.DataFrame({"x": frame[x].astype(float), "y": frame[y].astype(float), "which": frame[by].astype(str)})
    data = data[(data["x"] > 0) & data["y"].notna()]
    order = data["which"].drop_duplicates().tolist()
    base = plot(data).encode(
        x=of("x:Q", title=x_title, scale=dict(type="log", nice=False), axis=dict(tickCount=6, format="~s")),
        y=of("y:Q", title=y_title, scale=dict(zero=True)),
        color=of("which:N", sort=order, legend=dict(title=None, orient="top", columns=3)),
    )
    tooltip = [of("which:N", title=by), of("x:Q", title=x_title), of("y:Q", title=y_title, format=".3~g")]
    layers = [
        base.mark("line", strokeWidth=2, tooltip=None),
        base.mark("point", filled=True, size=40, opacity=1).encode(tooltip=tooltip),
    ]
    if at is not None:
        layers.append(broken_line("y", float(at)))
    return finish(layer(*layers).properties(width=WIDE - 40, height=240), title)


def frontier(subsets: pd.DataFrame, frontier: pd.DataFrame, kept: str) -> Picture:
    """Every panel as a point, the frontier as steps, the recommended panel marked.

    subsets, frontier : judges, cost, error, reliability; the frontier also error_low, error_high
    """

    def data(frame: pd.DataFrame) -> pd.DataFrame:
        out = frame[["cost", "error", "reliability"]].copy()
        out["panel"] = [clean(name, 60) for name in frame["judges"]]
        out["kept"] = (frame["judges"] == kept).to_numpy()
        return out

    x = of("cost:Q", title="cost a task", scale=dict(zero=True))
    y = of("error:Q", title="standard error of a system difference, points", scale=dict(zero=False))
    tooltip = [of("panel:N"), of("cost:Q"), of("error:Q"), of("reliability:Q")]
    # Thousands of panels would make a page heavy: the cheapest in error at each cost and size tell the same.
    near = subsets[subsets["error"] <= 2 * frontier["error"].max()]
    some = near.sort_values("error").groupby("cost", sort=True).head(5)
    dots = plot(data(some)).mark("point", size=22, filled=True, color=colour("mark"), opacity=0.6)
    steps = plot(data(frontier)).mark("line", interpolate="step-after", color=colour("accent"), point=True)
    best = plot(data(subsets[subsets["judges"] == kept])).mark("point", size=160, color=colour("high"), strokeWidth=2.5)
    ends = frontier[["cost", "error_low", "error_high"]]
    bars = (
        plot(ends)
        .mark("rule", color=colour("accent"), opacity=0.5)
        .encode(x=x, y=of("error_low:Q"), y2=of("error_high"))
    )
    chart = layer(bars, *(layer.encode(x=x, y=y, tooltip=tooltip) for layer in (dots, steps, best)))
    return finish(chart.properties(width=560, height=320), "Cost against error", "ring: recommended")
