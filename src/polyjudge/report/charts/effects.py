"""Values with their intervals, one row each: effects of judges and languages, methods, slopes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.panel.labels import labels
from polyjudge.report.charts.theme import IS_CHOSEN, NONE_OR_CHOSEN, WIDE, colour, dim, either, finish
from polyjudge.report.charts.vega import Picture, bands, broken_line, constant, expression, layer, of, plot, when


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

    Parameters
    ----------
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
    full: Any = expression(f"{NONE_OR_CHOSEN} ? 1 : 0.25") if label == "judge" else 1.0
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


def bars(
    frame: pd.DataFrame, label: str, value: str, title: str, unit: str, *, reference: float | None = None
) -> Picture:
    """A bar for every row, with a line at `reference`."""
    name = labels(frame[label].astype(str))
    data = pd.DataFrame({"judge": frame[label].astype(str).map(name), "value": frame[value].to_numpy(dtype=float)})
    tint = either(IS_CHOSEN, "accent", "mark")
    layers = [
        plot(data)
        .mark("bar")
        .encode(
            y=of("judge:N", sort=list(name.values()), title=None),
            x=of("value:Q", title=unit),
            color=tint,
            opacity=dim(0.35) if label == "judge" else constant(1.0),
            tooltip=[of("judge:N", title=label), of("value:Q", title=unit, format=".4g")],
        )
    ]
    if reference is not None:
        layers.append(broken_line("x", reference, strokeWidth=1.5))
    chart = layer(*layers).properties(width=WIDE - 36, height=bands(20 if len(name) <= 16 else 16))
    return finish(chart, title)
