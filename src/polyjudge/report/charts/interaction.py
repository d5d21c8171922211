"""The interaction as a language x judge heatmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from polyjudge.panel.numbers import Writer, writer
from polyjudge.report.charts.theme import IS_CHOSEN, colour, dim, either, finish, places, step
from polyjudge.report.charts.vega import Picture, Spec, bands, layer, of, plot

ROOMY = 12
"""With more judges than this the cells carry no numbers, only marks."""


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


def interaction_heatmap(
    cells: pd.DataFrame,
    level: float | None = None,
    tasks: int | None = None,
    title: str = "Interaction of language and judge",
) -> Picture:
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
    note = [f"filled dot: clear of the {level}band over all cells", "ring: only the cell's own interval excludes 0"]
    chart = sized([*layers, frame(base)], judges, wide)
    return finish(chart, title, note if marked else "")


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
