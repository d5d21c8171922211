"""Language x judge heatmaps, and what they show of one place or one pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.labels import labels
from polyjudge.second.panel.numbers import Writer, writer
from polyjudge.second.report.charts.theme import IS_CHOSEN, WIDE, colour, dim, either, finish, places, step
from polyjudge.second.report.charts.vega import Picture, Spec, bands, broken_line, constant, layer, of, plot, when

ROOMY = 12
"""With more judges than this the cells carry no numbers, only marks."""
MANY = 8
"""From so many judges on the cells of the first grid are small, that it fits on a telephone."""


def heatmap(data: pd.DataFrame, languages: list[str], judges: list[str], tooltip: list[Spec], **look: Any) -> Picture:
    """An empty language x judge picture of the rows of `places`; `look` replaces that of the judges' axis."""
    usual = dict(sort=judges, title="judge", axis=dict(orient="top", labelAngle=-40, labelLimit=150))
    x = of("judge:N", **(look or usual))
    return plot(data).encode(x=x, y=of("language:N", sort=languages, title=None), tooltip=tooltip)


def rectangles(base: Picture, tint: Spec) -> Picture:
    """The cells of a heatmap."""
    return base.mark("rect", stroke=colour("paper"), strokeWidth=1).encode(color=tint, opacity=dim(0.3))


def numbers(
    base: Picture, test: str, yes: str = "strong", no: str = "weak", text: str = "shown", **font: Any
) -> Picture:
    """What stands in the cells, in a colour that can be read on theirs."""
    ink = either(test, yes, no)
    return base.mark("text", **font).encode(text=of(f"{text}:N"), color=ink, opacity=dim(0.45))


def frame(base: Picture, test: str = IS_CHOSEN, tint: str = "accent", width: float = 1.5) -> Picture:
    """A frame around some cells: those of the chosen judge."""
    return base.where(test).mark("rect", filled=False, stroke=colour(tint), strokeWidth=width)


def diverging(name: str, limit: float, unit: str) -> Spec:
    """A channel in the two colours on either side of 0."""
    return of(
        name,
        title=unit,
        scale=dict(
            domain=[-limit, 0, limit], range=[colour("low"), colour("middle"), colour("high")], interpolate="lab"
        ),
        legend=dict(gradientLength=160, orient="bottom", direction="horizontal", values=ticks(limit)),
    )


def sized(layers: list[Picture], judges: list[str], wide: int = 48, narrow: int = 22, high: int = 26) -> Picture:
    """Layers over each other, with room for numbers where there are few judges."""
    roomy = len(judges) <= ROOMY
    width, height = bands(step(wide if roomy else narrow, len(judges))), bands(high if roomy else 20)
    return layer(*layers).properties(width=width, height=height)


def interaction_heatmap(cells: pd.DataFrame, level: float | None = None, tasks: int | None = None) -> Picture:
    """What is left of each cell after language and judge effects, in score points; symmetric colours around 0.

    A frame needs the columns language, judge and interaction. With low, high, band_low, band_high and verdict the
    cells carry marks and their intervals show on hovering.
    """
    data, languages, judges = places(cells)
    data["interaction"] = cells["interaction"].to_numpy()
    write, write_short = writer(data["interaction"]), writer(data["interaction"], 3)
    data["shown"] = [write_short(x, True) for x in data["interaction"]]
    data["value"] = [write(x, True) for x in data["interaction"]]
    titles = {"language:N": "language", "judge:N": "judge", "value:N": "interaction"}
    marked = {"low", "high", "band_low", "band_high", "verdict"} <= set(cells.columns)
    of_level = "" if level is None else f"{level:.0%} "
    if marked:
        data["interval"] = _interval(cells["low"], cells["high"], write)
        data["band"] = _interval(cells["band_low"], cells["band_high"], write)
        data["verdict"] = cells["verdict"].to_numpy()
        titles |= {"interval:N": f"{of_level}interval", "band:N": f"{of_level}band, all cells", "verdict:N": "verdict"}
    if tasks is not None:
        data["tasks"] = tasks
        titles["tasks:Q"] = "tasks"
    limit = max(float(data["interaction"].abs().max()), 1e-12)
    roomy = len(judges) <= ROOMY
    # The tooltip is on text and dots too: they lie over the cells.
    base = heatmap(data, languages, judges, [of(name, title=title) for name, title in titles.items()])
    layers = [rectangles(base, diverging("interaction:Q", limit, "points"))]
    strong = f"abs(datum.interaction) > {0.55 * limit}"
    if roomy:
        layers.append(numbers(base, strong, fontSize=11))
    if marked:
        layers += [
            base.where(f"datum.verdict == '{verdict}'")
            .mark("point", size=14 if roomy else 22, filled=filled, opacity=1, strokeWidth=1, shape="circle")
            .encode(
                x=of("judge:N", sort=judges, bandPosition=0.87 if roomy else 0.5),
                y=of("language:N", sort=languages, bandPosition=0.2 if roomy else 0.5),
                color=either(strong, "strong", "weak"),
                opacity=dim(0.3),
            )
            for verdict, filled in (("clear", True), ("pointwise", False))
        ]
    wide = 48 if data["shown"].str.len().max() <= 5 else 60  # room for the dot beside the number
    note = [f"filled dot: clear of the {of_level}band over all cells", "ring: only the cell's own interval excludes 0"]
    chart = sized([*layers, frame(base)], judges, wide)
    return finish(chart, "Interaction of language and judge", note if marked else "")


def helped_grid(cells: pd.DataFrame, level: float) -> Picture:
    """Whom calibration helps (+), whom it hurts (-), where it cannot be told (?): one mark per cell."""
    data, languages, judges = places(cells)
    data["verdict"] = cells["verdict"].astype(str)
    data["mark"] = data["verdict"].map({"helped": "+", "hurt": "-"}).fillna("?")
    data["gain"] = cells["gain"].to_numpy(dtype=float)
    data["interval"] = _interval(cells["low"], cells["high"], writer(cells["gain"]))
    data["labels"] = cells["labels"].to_numpy()
    tooltip = [
        *(of(f"{name}:N") for name in ("language", "judge", "verdict")),
        of("gain:Q", title="gain, points squared", format="+.2f"),
        of("interval:N", title=f"{level:.0%} interval"),
        of("labels:Q"),
    ]
    base = heatmap(data, languages, judges, tooltip)
    tints = {"helped": colour("high"), "cannot tell": colour("middle"), "hurt": colour("low")}
    scale = dict(domain=list(tints), range=list(tints.values()))
    tint = of("verdict:N", scale=scale, legend=dict(orient="bottom", title=None))
    marks = numbers(base, "datum.mark == '?'", "weak", "strong", "mark", fontSize=14, fontWeight="bold")
    return finish(sized([rectangles(base, tint), marks], judges), "Whom calibrating helps, whom it hurts")


def _interval(low: pd.Series[Any], high: pd.Series[Any], write: Writer) -> list[str]:
    return [f"[{write(a, True)}, {write(b, True)}]" for a, b in zip(low, high, strict=True)]


def ticks(limit: float) -> list[float]:
    """Both ends of a symmetric scale, rounded inwards, and the middle."""
    unit = 10.0 ** np.floor(np.log10(limit))
    end = float(np.floor(limit / unit * 2) / 2 * unit)
    return [-end, 0.0, end]


def signal_heatmap(
    cells: pd.DataFrame, least: float, title: str = "Agreement about the systems of a task", note: str = ""
) -> Picture:
    """Reliability of each judge in each language, 0 pale to 1 strong; cells surely below `least` are framed.

    cells : language, judge, reliability, low, high, verdict
    """
    unit = "share" if note else "reliability"
    return _shares(cells, title, unit, ".2f", note or f"framed: surely below {least:g}")


def pass_rates(cells: pd.DataFrame, title: str) -> Picture:
    """Share of tasks that pass, by language and judge.

    cells : language, judge, pass, se
    """
    share, half = cells["pass"], 1.96 * cells["se"].fillna(0.0)
    shown = cells.assign(reliability=share, low=(share - half).clip(0, 1), high=(share + half).clip(0, 1), verdict="")
    return _shares(shown, title, "passing", ".0%", "share of scores that pass")


def _shares(cells: pd.DataFrame, title: str, unit: str, form: str, note: str) -> Picture:
    data, languages, judges = places(cells)
    data["reliability"] = cells["reliability"].clip(0, 1).to_numpy()
    data["shown"] = [f"{x:{form}}".replace("-0.00", "0.00") for x in cells["reliability"]]
    data["interval"] = [f"[{a:{form}}, {b:{form}}]" for a, b in zip(cells["low"], cells["high"], strict=True)]
    data["verdict"] = cells["verdict"].to_numpy()
    tooltip = [of(f"{n}:N") for n in ("language", "judge", "shown", "interval", "verdict")]
    base = heatmap(data, languages, judges, tooltip)
    tint = of(
        "reliability:Q",
        title=unit,
        scale=dict(domain=[0, 1], range=[colour("middle"), colour("high")]),
        legend=dict(gradientLength=160, orient="bottom", direction="horizontal"),
    )
    text = [numbers(base, "datum.reliability > 0.6", fontSize=11)] if len(judges) <= ROOMY else []
    blind = frame(base, "datum.verdict == 'blind' || datum.verdict == 'do not agree'", "low", 2)
    return finish(sized([rectangles(base, tint), *text, blind, frame(base)], judges), title, note)


def deviations(
    cells: pd.DataFrame,
    matters: float,
    unit: str = "points",
    title: str = "Who is off, and where",
    note: str = "",
    marks: str = "",
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
    axis = dict(orient="top", labelAngle=-30 if len(judges) < MANY else -90, labelLimit=150)
    base = heatmap(data, languages, judges, tooltip, title=None, axis=axis, sort=judges)
    tint = diverging("excess:Q", limit, unit)
    if calm:
        tint["legend"] = None
    size = 12 if len(judges) < MANY else 10
    text = [numbers(base, f"abs(datum.excess) > {0.55 * limit}", fontSize=size)] if roomy else []
    frames = [frame(base, "datum.named", width=3), frame(base)]
    chart = sized([rectangles(base, tint), *text, *frames], judges, narrow=12, high=28)
    if roomy:  # the first picture of a page fits on a telephone
        need = round(0.62 * size * data["shown"].str.len().max()) + 6
        chart = chart.properties(width=bands(max(need, min(64, 290 // len(judges)))))
    if not marks:
        marks = "framed: named; " if data["named"].any() else ""
        marks += (f". within {matters:.2g}" if matters else ". within noise") if bool(cells["small"].any()) else ""
    first = note or f"{unit} beyond the judge's and the language's own level"
    return finish(chart, title, [first, marks])


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


MOST_PAIRS = 24
"""Pairs in the chart; the table has more."""


def pair_gaps(pairs: pd.DataFrame, ranks: pd.DataFrame, most: int = MOST_PAIRS) -> Picture:
    """Gap between the two judges of each reversing pair in every language; the two sides of 0 are the reversal."""
    pairs = pairs[pairs["delta"] > 0]
    pairs = pairs.sort_values(["p_selected", "delta"], ascending=[True, False], kind="stable").head(most)
    table = ranks[ranks["scope"] == "language"]
    means = table.pivot(index="language", columns="judge", values="mean").loc[table["language"].unique()]
    judge, language = labels([*pairs["judge_i"], *pairs["judge_j"]]), labels(means.index)
    rows = [
        {
            "judge": judge[row["judge_i"]],
            "other": judge[row["judge_j"]],
            "language": language[name],
            "gap": gap,
            "witness": name in (row["language_a"], row["language_b"]),
            "verdict": "reverses" if row["reverses"] else "not sure",
        }
        for _, row in pairs.iterrows()
        for name, gap in (means[row["judge_i"]] - means[row["judge_j"]]).items()
    ]
    data = pd.DataFrame(rows, columns=["judge", "other", "language", "gap", "witness", "verdict"])
    data["pair"] = data["judge"] + " - " + data["other"]
    opacity = when("chosen == '' || chosen == datum.judge || chosen == datum.other", constant(1.0), constant(0.12))
    tint = either("datum.gap > 0", "high", "low")
    room = min(118, 18 + 7 * max(map(len, language.values()), default=0))  # for the names of the languages
    base = plot(data).encode(
        y=of("pair:N", sort=list(data["pair"].unique()), title=None, axis=dict(labelLimit=280, grid=True)),
        x=of(
            "gap:Q",
            title="gap of the mean scores, first less second, in points",
            scale=dict(padding=room),
            axis=dict(tickCount=7),
        ),
        color=tint,
        opacity=opacity,
    )
    tooltip = [
        of("judge:N", title="first"),
        of("other:N", title="second"),
        of("language:N"),
        of("gap:Q", format="+.4~g"),
        of("verdict:N", title="after selection"),
    ]
    ticks = base.mark("tick", thickness=2, size=14).encode(tooltip=tooltip)
    witnesses = base.where("datum.witness")
    points = witnesses.mark("point", filled=True, size=70, opacity=1).encode(tooltip=tooltip)
    right = witnesses.where("datum.gap > 0").mark("text", align="left", dx=8, limit=104, tooltip=None)
    left = witnesses.where("datum.gap <= 0").mark("text", align="right", dx=-8, limit=104, tooltip=None)
    names = [mark.encode(text=of("language:N"), color=constant(colour("ink"))) for mark in (right, left)]
    chart = layer(broken_line("x", 0.0), ticks, points, *names).properties(
        width=WIDE - 250 + 2 * room, height=bands(24)
    )
    return finish(
        chart, "Reversing pairs", "a stroke for each language, a dot for the two languages that show the reversal best"
    )
