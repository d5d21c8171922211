"""Intervals, ranks and curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.labels import clean, labels
from polyjudge.second.report.charts.theme import (
    CATEGORIES,
    IS_CHOSEN,
    NONE_OR_CHOSEN,
    WIDE,
    colour,
    dim,
    either,
    finish,
    places,
    step,
)
from polyjudge.second.report.charts.vega import Picture, bands, broken_line, constant, layer, of, plot, when


def intervals(
    frame: pd.DataFrame,
    label: str,
    value: str,
    title: str,
    unit: str,
    *,
    low: str = "low",
    high: str = "high",
    zero: float | None = 0.0,
    subtitle: str = "",
    grey: str | None = None,
    domain: tuple[float, float] | None = None,
) -> Picture:
    """A dot and its interval for every row of `frame`, in the order of the frame.

    label, value, low, high : columns of the name, the value and its interval
    unit : what the axis measures
    zero : where to draw a line, or None
    grey : column of bool; its rows are drawn pale (identities)
    domain : ends of the axis, to give several charts the same one
    """
    name = labels(frame[label].astype(str))
    data = pd.DataFrame({"judge": frame[label].astype(str).map(name)})
    data["value"], data["low"], data["high"] = (frame[c].to_numpy(dtype=float) for c in (value, low, high))
    data["interval"] = [f"[{a:.4g}, {b:.4g}]" for a, b in zip(data["low"], data["high"], strict=True)]
    data["pale"] = frame[grey].astype(bool).to_numpy() if grey else False
    base = plot(data).encode(
        y=of("judge:N", sort=list(name.values()), title=None, axis=dict(grid=True, gridDash=[2, 3]))
    )
    full: Any = {"expr": f"{NONE_OR_CHOSEN} ? 1 : 0.25"} if label == "judge" else 1.0
    opacity = when("datum.pale", constant(0.35), constant(full))
    tint = either(IS_CHOSEN, "accent", "mark")
    scale = dict(zero=zero == 0.0, **({} if domain is None else {"domain": list(domain), "nice": True}))
    layers = [
        base.mark("rule", strokeWidth=2).encode(
            x=of("low:Q", title=unit, scale=scale, axis=dict(tickCount=6)),
            x2=of("high"),
            color=tint,
            opacity=opacity,
        ),
        base.mark("point", filled=True, size=55, opacity=1).encode(
            x=of("value:Q", scale=scale),
            color=tint,
            opacity=opacity,
            tooltip=[of("judge:N", title=label), of("value:Q", title=unit, format=".4g"), of("interval:N")],
        ),
    ]
    if zero is not None:
        layers.insert(0, broken_line("x", zero))
    chart = layer(*layers).properties(width=WIDE - 36, height=bands(20 if len(name) <= 16 else 16))
    return finish(chart, title, subtitle)


def rank_intervals(frame: pd.DataFrame, size: int) -> Picture:
    """Ranks of systems with the ranks that cannot be ruled out, a small picture for each language.

    frame : language, system, rank, rank_low, rank_high
    size : number of systems
    """
    language, system = labels(frame["language"].unique()), labels(frame["system"].unique())
    data = pd.DataFrame({"language": frame["language"].map(language), "system": frame["system"].map(system)})
    data["rank"], data["low"], data["high"] = (
        frame[c].to_numpy(dtype=float) for c in ("rank", "rank_low", "rank_high")
    )
    data["possible"] = [f"{a:g} to {b:g}" for a, b in zip(data["low"], data["high"], strict=True)]
    axis = dict(tickCount=min(size, 6), tickMinStep=1, format="d", grid=True)
    scale = dict(domain=[0.7, size + 0.3], nice=False, zero=False)
    base = plot(data).encode(y=of("system:N", sort=list(system.values()), title=None))
    tooltip = [of(f"{n}:N") for n in ("system", "language", "rank")]
    layers = [
        base.mark("rule", strokeWidth=2, tooltip=None).encode(
            x=of("low:Q", title="rank", scale=scale, axis=axis),
            x2=of("high"),
            color=constant(colour("mark")),
        ),
        base.mark("point", filled=True, size=45, opacity=1).encode(
            x=of("rank:Q", scale=scale),
            color=constant(colour("mark")),
            tooltip=[*tooltip, of("possible:N", title="ranks not ruled out")],
        ),
    ]
    columns = min(3, len(language))
    picture = layer(*layers).properties(
        width=max(90, (WIDE - 130) // columns - 14), height=bands(18 if size <= 16 else 14)
    )
    by = of("language:N", sort=list(language.values()), title=None)
    chart = picture.facet(by, columns=columns, spacing=14, resolve={"axis": {"y": "shared"}})
    return finish(chart, "Ranks that cannot be ruled out")


BEFORE, AFTER = "before", "after"
STAGE_TITLES = {BEFORE: "Before: raw scores", AFTER: "After calibrating"}
SCOPE = "scope"
"""Parameter with the language whose rank probabilities are shown."""


def rank_frame(table: pd.DataFrame, stage: str) -> pd.DataFrame:
    """language, judge, rank, rank_low, rank_high. After calibrating every language has the overall order."""
    keep = ["language", "judge", "rank", "rank_low", "rank_high"]
    before = table.loc[table["scope"] == "language", keep]
    if stage == BEFORE:
        return before
    overall = table.loc[table["scope"] == "calibrated", keep].drop(columns="language")
    return before[["language", "judge"]].merge(overall, on="judge")


def rank_lines(ranks: pd.DataFrame, stage: str = BEFORE, title: str | None = None) -> Picture:
    """One line per judge over the languages, rank 1 on top.

    A frame needs the columns language, judge and rank; with `stage` only the rows of that stage are drawn, and with
    rank_low and rank_high the ranks that the data cannot rule out show on hovering.
    """
    frame = rank_frame(ranks, stage) if "scope" in ranks else ranks
    if "stage" in frame:
        frame = frame[frame["stage"] == stage]
    data, _, order = places(frame)
    data["rank"] = frame["rank"].to_numpy()
    tooltip = [of("judge:N"), of("language:N"), of("rank:Q")]
    if {"rank_low", "rank_high"} <= set(frame.columns):
        data["possible"] = [f"{a} to {b}" for a, b in zip(frame["rank_low"], frame["rank_high"], strict=True)]
        tooltip.append(of("possible:N", title="ranks not ruled out"))
    languages = _by_similarity(data)
    # Judges with a tied rank share a point, but their names must not lie on each other.
    data["place"] = data.groupby("language")["rank"].rank(method="first")
    m = len(order)
    x = of(
        "language:N",
        sort=languages,
        title=None,
        scale=dict(padding=0.35),
        axis=dict(labelAngle=-40, labelLimit=140, grid=True, gridDash=[2, 3]),
    )
    y = of(
        "rank:Q",
        title="rank by mean score",
        scale=dict(domain=[m + 0.4, 0.6], nice=False, zero=False),
        axis=dict(values=list(range(1, m + 1)), grid=False, format="d", labelOverlap=True),
    )
    # A colour for each judge while there are enough.
    tint = either(IS_CHOSEN, "accent", "ink")
    tint = tint if m > len(CATEGORIES) else of("judge:N", scale=dict(domain=order), legend=None)
    base = plot(data).encode(x=x, y=y, color=tint)
    width = when(IS_CHOSEN, constant(2.5), constant(1))
    # Languages have no order to draw a curve over: faint straight segments only help the eye to find a judge again.
    faint = {"expr": f"chosen == '' ? {0.3 if m <= 12 else 0.15} : {IS_CHOSEN} ? 1 : 0.08"}
    lines = base.mark("line", strokeDash=[2, 3], tooltip=None).encode(
        detail=of("judge:N"), strokeWidth=width, opacity=constant(faint)
    )
    points = base.mark("point", filled=True, size=46 if m <= 12 else 24, opacity=1).encode(
        opacity=dim(0.15), tooltip=tooltip
    )
    names = (
        base.where(dict(field="language", equal=languages[-1]))
        .mark("text", align="left", dx=10, fontSize=11, limit=250, tooltip=None)
        .encode(y=of("place:Q", title="rank by mean score"), text=of("judge:N"), opacity=dim(0.25))
    )
    width = bands(step(34 if len(languages) <= 16 else 24, len(languages)))
    chart = layer(lines, points, names).properties(width=width, height=max(130, m * (30 if m <= 12 else 17)))
    return finish(chart, title or STAGE_TITLES.get(stage, stage))


def _by_similarity(data: pd.DataFrame) -> list[str]:
    """Languages in the order of the leading pattern of their ranks, so that similar ones stand side by side."""
    wide = data.pivot(index="language", columns="judge", values="rank")
    wide = wide.loc[data["language"].drop_duplicates().tolist()]
    centred = np.nan_to_num(wide.to_numpy(dtype=float) - wide.mean(axis=0).to_numpy())
    if not np.abs(centred).max() > 0:
        return [str(x) for x in wide.index]
    leading = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
    leading *= np.sign(leading[np.abs(leading).argmax()])  # the sign of a pattern is arbitrary
    return [str(wide.index[i]) for i in np.argsort(leading, kind="stable")]


def rank_probabilities(frame: pd.DataFrame) -> Picture:
    """How probable each rank of each judge is over resampled tasks, for one language or the calibrated order."""
    scopes = labels(frame["language"].unique())
    judge = labels(frame["judge"].unique())
    shown = frame[frame["probability"] >= 0.005]
    data = pd.DataFrame(
        {
            "scope": shown["language"].map(scopes),
            "judge": shown["judge"].map(judge),
            "rank": shown["rank"].astype(int),
            "probability": shown["probability"].round(4),
        }
    )
    calibrated = frame.loc[frame["scope"] == "calibrated", "language"]
    start = scopes[calibrated.iloc[0] if len(calibrated) else frame["language"].iloc[0]]
    # The calibrated order runs down the diagonal.
    weight = (frame["rank"] * frame["probability"]).where(frame["language"].map(scopes) == start)
    order = weight.groupby(frame["judge"]).sum().sort_values(kind="stable").index.map(judge).tolist()
    roomy = len(judge) <= 12
    base = (
        plot(data)
        .where(f"datum.scope == {SCOPE}")
        .encode(
            x=of("rank:O", title="rank", scale=dict(domain=list(range(1, len(judge) + 1))), axis=dict(labelAngle=0)),
            y=of("judge:N", title=None, scale=dict(domain=order)),
            tooltip=[of("judge:N"), of("rank:O"), of("probability:Q", format=".1%"), of("scope:N", title="language")],
        )
    )
    cells = base.mark("rect").encode(
        color=of(
            "probability:Q",
            scale=dict(domain=[0, 1], range=[colour("middle"), colour("high")], interpolate="lab"),
            legend=dict(format=".0%", gradientLength=160, title="probability", orient="bottom", direction="horizontal"),
        ),
        opacity=dim(0.3),
    )
    layers = [cells]
    if roomy:
        ink = either("datum.probability > 0.55", "strong", "weak")
        layers.append(
            base.mark("text", fontSize=10).encode(text=of("probability:Q", format=".0%"), color=ink, opacity=dim(0.45))
        )
    width = bands(step(44 if roomy else 17, len(judge)))
    chart = layer(*layers).properties(width=width, height=bands(26 if roomy else 17))
    note = "share of resampled task sets; under 0.5% left empty"
    return finish(chart, "Probability of each rank", note, **{SCOPE: start})


def variance_shares(components: pd.DataFrame) -> Picture:
    """Share of each variance component (component, share, low, high)."""
    data = components[["component", "share"]].copy()
    data["low"], data["high"] = components["low"].clip(0, 1), components["high"].clip(0, 1)
    data["interval"] = [f"[{a:.1%}, {b:.1%}]" for a, b in zip(data["low"], data["high"], strict=True)]
    data = data.fillna({"low": 0, "high": 0})
    tooltip = [of("component:N"), of("share:Q", format=".1%"), of("interval:N")]
    order = components["component"].tolist()
    base = plot(data).encode(y=of("component:N", sort=order, title=None))
    axis = of("share:Q", title="share of the variance of one score", axis=dict(format="%"))
    special = when("datum.component == 'language:judge'", constant(colour("accent")), constant(colour("mark")))
    layers = [
        base.mark("bar", opacity=0.8).encode(x=axis, color=special, tooltip=tooltip),
        base.mark("rule", strokeWidth=1.5, tooltip=None).encode(x=of("low:Q"), x2=of("high")),
        base.mark("text", align="left", dx=6, tooltip=None).encode(x=of("high:Q"), text=of("share:Q", format=".1%")),
    ]
    chart = layer(*layers).properties(width=WIDE - 140, height=bands(24))
    return finish(chart, "What the variance of a score consists of", "the interaction that calibration removes in red")


def gate_sweep(sweep: pd.DataFrame, threshold: float) -> Picture:
    """Spread of pass rates over languages against the threshold, raw and calibrated, with bands."""
    names = ["raw", "calibrated"]
    ends = {"spread": "", "low": "_low", "high": "_high"}
    parts = [
        sweep[["threshold"]].assign(scores=name, **{at: sweep[f"spread_{name}{end}"] for at, end in ends.items()})
        for name in names
    ]
    data = pd.concat(parts, ignore_index=True)
    data["interval"] = [f"[{a:.1f}, {b:.1f}]" for a, b in zip(data["low"], data["high"], strict=True)]
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
    chart = layer(*layers, broken_line("x", threshold)).properties(width=WIDE - 40, height=220)
    return finish(chart, "Gate spread by threshold")


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
