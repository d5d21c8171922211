"""What all charts share: colours, labels that are safe and unique, and the parameters a page can set.

Colours are named. A chart by itself carries the light ones; the page hands in its CSS variables instead, so that one
drawing serves light, dark and print. Judges and languages are data values, never field names.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from polyjudge.second.panel.labels import labels
from polyjudge.second.report.charts.vega import VIEW, Picture, Spec, constant, when

COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9da7b1"),
    "line": ("#d1d9e0", "#3a424c"),
    "paper": ("#ffffff", "#14181d"),
    "accent": ("#b3261e", "#ff8f85"),
    "mark": ("#2f6f9f", "#79b8e8"),
    "c1": ("#0072b2", "#6cb6ff"),
    "c2": ("#d55e00", "#ff9e5e"),
    "c3": ("#781e69", "#ffd21e"),
    "c4": ("#a50000", "#ff0069"),
    "c5": ("#9678ff", "#1effb4"),
    "c6": ("#3c2db4", "#8769f0"),
    "c7": ("#b4695a", "#e13ca5"),
    "low": ("#8a4b08", "#f0a95a"),
    "middle": ("#f6f6f4", "#23292f"),
    "high": ("#3b2f86", "#a99bff"),
    "weak": ("#1f2328", "#e6edf3"),
    "strong": ("#ffffff", "#101317"),
}
"""On white, and on a dark page. Categories and the diverging pair stay apart for colour-blind readers."""
LIGHT, DARK = ({name: pair[i] for name, pair in COLOURS.items()} for i in (0, 1))

CATEGORIES = tuple(f"c{i}" for i in range(1, 8))
SCALED = ("low", "middle", "high")
"""Colours that scales interpolate between: these must be colours, not CSS variables."""
PARAMETERS = ("ink", "accent", "mark", "paper", "weak", "strong", *SCALED)

WIDE = 560
"""Least width of a chart, in pixels, its labels included."""

CHOSEN = "chosen"
"""Parameter with the judge to highlight; empty for none."""
IS_CHOSEN = f"{CHOSEN} == datum.judge"
NONE_OR_CHOSEN = f"{CHOSEN} == '' || {CHOSEN} == datum.judge"

FONT = "'Noto Sans', 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif"


def places(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[str], list[str]]:
    """A row for each row of `cells` with its language and judge as labels; all languages and all judges in order."""
    language, judge = labels(cells["language"].unique()), labels(cells["judge"].unique())
    data = pd.DataFrame({"language": cells["language"].map(language), "judge": cells["judge"].map(judge)})
    return data, list(language.values()), list(judge.values())


def step(least: int, count: int) -> int:
    """Width of each of `count` bands, at least `least`, so that the chart is wide enough."""
    return max(least, -(-(WIDE - 50) // max(count, 1)))


def colour(name: str) -> Spec:
    """A named colour as a value that the page can replace."""
    if name not in PARAMETERS:
        raise KeyError(f"charts have no colour {name!r}")
    return {"expr": name}


def dim(rest: float) -> Spec:
    """Opacity that leaves the chosen judge in full and fades the others."""
    return when(NONE_OR_CHOSEN, constant(1.0), constant(rest))


def either(test: str, yes: str, no: str) -> Spec:
    """One of two named colours."""
    return when(test, constant(colour(yes)), constant(colour(no)))


def configuration(colours: Mapping[str, str]) -> Spec:
    """The Vega-Lite configuration in these colours."""
    text = {"labelColor": colours["ink"], "titleColor": colours["soft"]}
    plain = {**text, "titleFontWeight": "normal"}
    axis = {
        **plain,
        "gridColor": colours["line"],
        "domainColor": colours["line"],
        "tickColor": colours["line"],
        "labelFontSize": 11,
        "titleFontSize": 11,
        "labelLimit": 250,
    }
    return {
        "font": FONT,
        "background": "transparent" if colours["paper"].startswith("var") else colours["paper"],
        "aria": False,
        # The minus of the number format is in few fonts; a hyphen is in all.
        "locale": {"number": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""], "minus": "-"}},
        "view": {"stroke": None},
        "axis": axis,
        "legend": {**plain, "labelLimit": 170, "gradientStrokeColor": colours["line"]},
        "header": {**text, "labelLimit": 220},
        "title": {
            "color": colours["ink"],
            "subtitleColor": colours["soft"],
            "anchor": "start",
            "fontSize": 13,
            "subtitleFontSize": 11,
            "subtitlePadding": 4,
            "offset": 12,
        },
        "text": {"color": colours["ink"]},
        "rule": {"color": colours["soft"]},
        **{name: {"color": colours["mark"]} for name in ("bar", "point", "line")},
        "range": {"category": [colours[c] for c in CATEGORIES]},
    }


def finish(chart: Picture, title: str, subtitle: str | list[str] = "", **more: str) -> Picture:
    """The chart with its title, the shared parameters (and `more` of them) and the light colours."""
    heading = {"text": title, **({"subtitle": subtitle} if subtitle else {})}
    config = configuration(LIGHT)
    config["view"] = {**VIEW, **config["view"]}
    values = {CHOSEN: "", **{name: LIGHT[name] for name in PARAMETERS}, **more}
    return chart.properties(title=heading, config=config, params=[{"name": k, "value": v} for k, v in values.items()])
