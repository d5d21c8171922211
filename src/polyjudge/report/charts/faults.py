"""Which places are off: the sparse reading as a heatmap with the culprit framed, and the scores behind it."""

from __future__ import annotations

import pandas as pd

from polyjudge.core.labels import labels
from polyjudge.report.charts.interaction import ROOMY, ticks
from polyjudge.report.charts.theme import IS_CHOSEN, WIDE, colour, dim, either, finish, step
from polyjudge.report.charts.vega import Picture, bands, layer, of, plot
from polyjudge.report.numbers import writer


def deviations(
    cells: pd.DataFrame, matters: float, unit: str = "points", title: str = "Who is off, and where", note: str = ""
) -> Picture:
    """Points of each cell beyond its judge's and its language's own level; named cells are framed.

    cells : language, judge, excess, low, high (in the unit that is printed), named, small (shown as a dot)
    """
    language, judge = labels(cells["language"].unique()), labels(cells["judge"].unique())
    write, short = writer(cells["excess"]), writer(cells["excess"], 2)
    data = pd.DataFrame({"language": cells["language"].map(language), "judge": cells["judge"].map(judge)})
    data["excess"] = cells["excess"].to_numpy()
    data["named"] = cells["named"].to_numpy(dtype=bool)
    data["shown"] = ["." if s else short(x, True) for s, x in zip(cells["small"], cells["excess"], strict=True)]
    data["value"] = [
        f"{write(x, True)} [{write(a, True)}, {write(b, True)}]"
        for x, a, b in zip(cells["excess"], cells["low"], cells["high"], strict=True)
    ]
    calm = bool(cells["small"].all())  # then colours stay pale: a strong one would cry wolf
    limit = max(float(data["excess"].abs().max()), matters, 1e-12) * (3 if calm else 1)
    roomy = len(judge) <= ROOMY
    order = {"sort": list(judge.values())}
    base = plot(data).encode(
        x=of("judge:N", title=None, axis=dict(orient="top", labelAngle=-30 if roomy else -90, labelLimit=150), **order),
        y=of("language:N", sort=list(language.values()), title=None),
        tooltip=[of("language:N"), of("judge:N"), of("value:N", title=unit)],
    )
    tint = of(
        "excess:Q",
        title=unit,
        scale=dict(
            domain=[-limit, 0, limit], range=[colour("low"), colour("middle"), colour("high")], interpolate="lab"
        ),
        legend=None if calm else dict(gradientLength=160, orient="bottom", direction="horizontal", values=ticks(limit)),
    )
    strong = f"abs(datum.excess) > {0.55 * limit}"
    ink = either(strong, "strong", "weak")
    layers = [base.mark("rect", stroke=colour("paper"), strokeWidth=1).encode(color=tint, opacity=dim(0.3))]
    if roomy:
        layers.append(base.mark("text", fontSize=12).encode(text=of("shown:N"), color=ink, opacity=dim(0.45)))
    framed = {"filled": False, "stroke": colour("accent")}
    layers.append(base.where("datum.named").mark("rect", strokeWidth=3, **framed))
    layers.append(base.where(IS_CHOSEN).mark("rect", strokeWidth=1.5, **framed))
    width = bands(step(48 if roomy else 12, len(judge)))
    chart = layer(*layers).properties(width=width, height=bands(28 if roomy else 20))
    framed_words = "framed: the culprit; " if data["named"].any() else ""
    small = f". within {matters:.2g}, or noise" if matters else ". within noise"
    first = note or f"{unit} beyond the judge's and the language's own level"
    return finish(chart, title, [first, framed_words + small])


def score_shares(frame: pd.DataFrame, named: list[tuple[str, str]]) -> Picture:
    """Small pictures of the scores of every language (down) and judge (across); named cells in the accent."""
    language, judge = labels(frame["language"].unique()), labels(frame["judge"].unique())
    data = pd.DataFrame({"language": frame["language"].map(language), "judge": frame["judge"].map(judge)})
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
            tooltip=[
                of("language:N"),
                of("judge:N"),
                of("score:Q"),
                of("share:Q", format=".0%"),
            ],
            row=of(
                "language:N",
                sort=list(language.values()),
                title=None,
                header=dict(labelAngle=0, labelAlign="left", labelLimit=120),
            ),
            column=of("judge:N", sort=list(judge.values()), title=None, header=dict(labelLimit=90)),
        )
        .properties(width=max(60, (WIDE - 100) // len(judge)), height=34)
    )
    return finish(chart, "Scores of every judge in every language", "share of scores from the lowest to the highest")
