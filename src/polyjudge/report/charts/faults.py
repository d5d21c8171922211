"""Which places are off: the sparse reading as a heatmap with the culprit framed, and the scores behind it."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.numbers import writer
from polyjudge.report.charts.interaction import ROOMY, diverging, heatmap, numbers, rectangles, sized
from polyjudge.report.charts.theme import IS_CHOSEN, WIDE, colour, dim, either, finish, places
from polyjudge.report.charts.vega import Picture, of, plot


def deviations(
    cells: pd.DataFrame, matters: float, unit: str = "points", title: str = "Who is off, and where", note: str = ""
) -> Picture:
    """Points of each cell beyond its judge's and its language's own level; named cells are framed.

    cells : language, judge, excess, low, high (in the unit that is printed), named, small (shown as a dot)
    """
    data, languages, judges = places(cells)
    write, short = writer(cells["excess"]), writer(cells["excess"], 2)
    data["excess"] = cells["excess"].to_numpy()
    data["named"] = cells["named"].to_numpy(dtype=bool)
    data["shown"] = ["." if s else short(x, True) for s, x in zip(cells["small"], cells["excess"], strict=True)]
    data["value"] = [
        f"{write(x, True)} [{write(a, True)}, {write(b, True)}]"
        for x, a, b in zip(cells["excess"], cells["low"], cells["high"], strict=True)
    ]
    calm = bool(cells["small"].all())  # then colours stay pale: a strong one would cry wolf
    limit = max(float(data["excess"].abs().max()), matters, 1e-12) * (3 if calm else 1)
    roomy = len(judges) <= ROOMY
    tooltip = [of("language:N"), of("judge:N"), of("value:N", title=unit)]
    axis = dict(orient="top", labelAngle=-30 if roomy else -90, labelLimit=150)
    base = heatmap(data, languages, judges, tooltip, title=None, axis=axis, sort=judges)
    tint = diverging("excess:Q", limit, unit)
    if calm:
        tint["legend"] = None
    text = [numbers(base, f"abs(datum.excess) > {0.55 * limit}", fontSize=12)] if roomy else []
    frames = [
        base.where(test).mark("rect", strokeWidth=width, filled=False, stroke=colour("accent"))
        for test, width in (("datum.named", 3), (IS_CHOSEN, 1.5))
    ]
    chart = sized([rectangles(base, tint), *text, *frames], judges, narrow=12, high=28)
    framed_words = "framed: named; " if data["named"].any() else ""
    small = (f". within {matters:.2g}" if matters else ". within noise") if bool(cells["small"].any()) else ""
    first = note or f"{unit} beyond the judge's and the language's own level"
    return finish(chart, title, [first, framed_words + small])


def score_shares(frame: pd.DataFrame, named: list[tuple[str, str]]) -> Picture:
    """Small pictures of the scores of every language (down) and judge (across); named cells in the accent."""
    data, languages, judges = places(frame)
    data["score"] = (frame["low"] + frame["high"]).to_numpy() / 2
    data["share"] = frame["share"].to_numpy()
    culprits = set(named)
    data["named"] = [cell in culprits for cell in zip(frame["language"], frame["judge"], strict=True)]
    steps = frame["low"].nunique()
    tint = either("datum.named", "accent", "mark")
    chart = (
        plot(data)
        .mark("bar", size=max(2, 56 // steps))
        .encode(
            x=of("score:Q", title=None, axis=dict(labels=False, ticks=False, grid=False)),
            y=of("share:Q", title=None, axis=dict(labels=False, ticks=False, grid=False)),
            color=tint,
            opacity=dim(0.3),
            tooltip=[of("language:N"), of("judge:N"), of("score:Q"), of("share:Q", format=".0%")],
            row=of(
                "language:N",
                sort=languages,
                title=None,
                header=dict(labelAngle=0, labelAlign="left", labelLimit=120),
            ),
            column=of("judge:N", sort=judges, title=None, header=dict(labelLimit=90)),
        )
        .properties(width=max(60, (WIDE - 100) // len(judges)), height=34)
    )
    return finish(chart, "Scores of every judge in every language", "share of scores from the lowest to the highest")
