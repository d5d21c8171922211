"""The interaction as a language x judge heatmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from polyjudge.analyse.uncertainty import Uncertainty
from polyjudge.core.labels import labels
from polyjudge.report.charts.theme import IS_CHOSEN, colour, dim, either, finish, step
from polyjudge.report.charts.vega import Picture, bands, layer, of, plot
from polyjudge.report.numbers import Writer, writer

ROOMY = 12
"""With more judges than this the cells carry no numbers, only marks."""


def _hover(
    cells: pd.DataFrame, language: dict[str, str], judge: dict[str, str], level: str, tasks: int | None
) -> tuple[pd.DataFrame, list[Any]]:
    """The rows of the heatmap, and what shows on hovering over a cell."""
    data = pd.DataFrame({"language": cells["language"].map(language), "judge": cells["judge"].map(judge)})
    data["interaction"] = cells["interaction"].to_numpy()
    write, write_short = writer(data["interaction"]), writer(data["interaction"], 3)
    data["shown"] = [write_short(x, True) for x in data["interaction"]]
    data["value"] = [write(x, True) for x in data["interaction"]]
    titles = {"language:N": "language", "judge:N": "judge", "value:N": "interaction"}
    if {"low", "high", "band_low", "band_high", "verdict"} <= set(cells.columns):
        data["interval"] = _interval(cells["low"], cells["high"], write)
        data["band"] = _interval(cells["band_low"], cells["band_high"], write)
        data["verdict"] = cells["verdict"].to_numpy()
        titles |= {"interval:N": f"{level}interval", "band:N": f"{level}band, all cells", "verdict:N": "verdict"}
    if tasks is not None:
        data["tasks"] = tasks
        titles["tasks:Q"] = "tasks"
    return data, [of(field, title=title) for field, title in titles.items()]


def interaction_heatmap(
    result: Uncertainty | pd.DataFrame, title: str = "Interaction of language and judge"
) -> Picture:
    """What is left of each cell after language and judge effects, in score points; symmetric colours around 0.

    A frame needs the columns language, judge and interaction. With low, high, band_low, band_high and verdict the
    cells carry marks and their intervals show on hovering.
    """
    cells = result.cells if isinstance(result, Uncertainty) else result
    level = f"{result.level:.0%} " if isinstance(result, Uncertainty) else ""
    language, judge = labels(cells["language"].unique()), labels(cells["judge"].unique())
    data, tooltip = _hover(cells, language, judge, level, result.tasks if isinstance(result, Uncertainty) else None)
    marked = "verdict" in data.columns
    limit = max(float(data["interaction"].abs().max()), 1e-12)
    roomy = len(judge) <= ROOMY
    x = of("judge:N", sort=list(judge.values()), title="judge", axis=dict(orient="top", labelAngle=-40, labelLimit=150))
    y = of("language:N", sort=list(language.values()), title=None)
    base = plot(data).encode(x=x, y=y, tooltip=tooltip)  # on text and dots too: they lie over the cells
    range_ = [colour("low"), colour("middle"), colour("high")]
    layers = [
        base.mark("rect", stroke=colour("paper"), strokeWidth=1).encode(
            color=of(
                "interaction:Q",
                title="points",
                scale=dict(domain=[-limit, 0, limit], range=range_, interpolate="lab"),
                legend=dict(gradientLength=160, orient="bottom", direction="horizontal", values=ticks(limit)),
            ),
            opacity=dim(0.3),
        )
    ]
    strong = f"abs(datum.interaction) > {0.55 * limit}"
    ink = either(strong, "strong", "weak")
    if roomy:
        layers.append(base.mark("text", fontSize=11).encode(text=of("shown:N"), color=ink, opacity=dim(0.45)))
    if marked:
        layers += [
            base.where(f"datum.verdict == '{verdict}'")
            .mark("point", size=14 if roomy else 22, filled=filled, opacity=1, strokeWidth=1, shape="circle")
            .encode(
                x=of("judge:N", sort=list(judge.values()), bandPosition=0.87 if roomy else 0.5),
                y=of("language:N", sort=list(language.values()), bandPosition=0.2 if roomy else 0.5),
                color=ink,
                opacity=dim(0.3),
            )
            for verdict, filled in (("clear", True), ("pointwise", False))
        ]
    frame = base.where(IS_CHOSEN).mark("rect", filled=False, stroke=colour("accent"), strokeWidth=1.5)
    wide = 48 if data["shown"].str.len().max() <= 5 else 60  # room for the dot beside the number
    width = bands(step(wide if roomy else 22, len(judge)))
    chart = layer(*layers, frame).properties(width=width, height=bands(26 if roomy else 20))
    note = [f"filled dot: clear of the {level}band over all cells", "ring: only the cell's own interval excludes 0"]
    return finish(chart, title, note if marked else "")


def helped_grid(cells: pd.DataFrame, level: float) -> Picture:
    """Whom calibration helps (+), whom it hurts (-), where it cannot be told (?): one mark per cell."""
    language, judge = labels(cells["language"].unique()), labels(cells["judge"].unique())
    data = pd.DataFrame({"language": cells["language"].map(language), "judge": cells["judge"].map(judge)})
    data["verdict"] = cells["verdict"].astype(str)
    data["mark"] = data["verdict"].map({"helped": "+", "hurt": "-"}).fillna("?")
    data["gain"] = cells["gain"].to_numpy(dtype=float)
    data["interval"] = _interval(cells["low"], cells["high"], writer(cells["gain"]))
    data["labels"] = cells["labels"].to_numpy()
    x = of("judge:N", sort=list(judge.values()), title="judge", axis=dict(orient="top", labelAngle=-40, labelLimit=150))
    base = plot(data).encode(
        x=x,
        y=of("language:N", sort=list(language.values()), title=None),
        tooltip=[
            of("language:N"),
            of("judge:N"),
            of("verdict:N"),
            of("gain:Q", title="gain, points squared", format="+.2f"),
            of("interval:N", title=f"{level:.0%} interval"),
            of("labels:Q"),
        ],
    )
    names = ["helped", "cannot tell", "hurt"]
    tint = of(
        "verdict:N",
        scale=dict(domain=names, range=[colour("high"), colour("middle"), colour("low")]),
        legend=dict(orient="bottom", title=None),
    )
    ink = either("datum.mark == '?'", "weak", "strong")
    layers = [
        base.mark("rect", stroke=colour("paper"), strokeWidth=1).encode(color=tint, opacity=dim(0.3)),
        base.mark("text", fontSize=14, fontWeight="bold").encode(text=of("mark:N"), color=ink, opacity=dim(0.45)),
    ]
    roomy = len(judge) <= ROOMY
    width = bands(step(48 if roomy else 22, len(judge)))
    chart = layer(*layers).properties(width=width, height=bands(26 if roomy else 20))
    return finish(chart, "Whom calibrating helps, whom it hurts")


def _interval(low: pd.Series[Any], high: pd.Series[Any], write: Writer) -> list[str]:
    return [f"[{write(a, True)}, {write(b, True)}]" for a, b in zip(low, high, strict=True)]


def ticks(limit: float) -> list[float]:
    """Both ends of a symmetric scale, rounded inwards, and the middle."""
    unit = 10.0 ** np.floor(np.log10(limit))
    end = float(np.floor(limit / unit * 2) / 2 * unit)
    return [-end, 0.0, end]
