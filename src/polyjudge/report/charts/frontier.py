"""Cost against error of every panel, with the frontier."""

from __future__ import annotations

import pandas as pd

from polyjudge.core.labels import clean
from polyjudge.report.charts.theme import colour, finish
from polyjudge.report.charts.vega import Picture, layer, of, plot


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
