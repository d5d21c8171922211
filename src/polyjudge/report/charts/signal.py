"""Whether judges see what they judge, as a language x judge heatmap."""

from __future__ import annotations

import pandas as pd

from polyjudge.core.labels import labels
from polyjudge.report.charts.interaction import ROOMY
from polyjudge.report.charts.theme import IS_CHOSEN, colour, dim, either, finish, step
from polyjudge.report.charts.vega import Picture, bands, layer, of, plot


def signal_heatmap(
    cells: pd.DataFrame, least: float, title: str = "Agreement about the systems of a task", note: str = ""
) -> Picture:
    """Reliability of each judge in each language, 0 pale to 1 strong; blind cells are framed.

    cells : language, judge, reliability, low, high, verdict
    """
    unit = "share" if note else "reliability"
    return _shares(cells, title, unit, ".2f", note or f"framed: blind, surely below {least:g}")


def pass_rates(cells: pd.DataFrame, title: str) -> Picture:
    """Share of tasks that pass, by language and judge.

    cells : language, judge, pass, se
    """
    share, half = cells["pass"], 1.96 * cells["se"].fillna(0.0)
    shown = cells.assign(reliability=share, low=(share - half).clip(0, 1), high=(share + half).clip(0, 1), verdict="")
    return _shares(shown, title, "passing", ".0%", "share of scores that pass")


def _shares(cells: pd.DataFrame, title: str, unit: str, form: str, note: str) -> Picture:
    language, judge = labels(cells["language"].unique()), labels(cells["judge"].unique())
    data = pd.DataFrame({"language": cells["language"].map(language), "judge": cells["judge"].map(judge)})
    data["reliability"] = cells["reliability"].clip(0, 1).to_numpy()
    data["shown"] = [f"{x:{form}}".replace("-0.00", "0.00") for x in cells["reliability"]]
    data["interval"] = [f"[{a:{form}}, {b:{form}}]" for a, b in zip(cells["low"], cells["high"], strict=True)]
    data["verdict"] = cells["verdict"].to_numpy()
    tooltip = [of(f"{n}:N") for n in ("language", "judge", "shown", "interval", "verdict")]
    base = plot(data).encode(
        x=of(
            "judge:N",
            sort=list(judge.values()),
            title="judge",
            axis=dict(orient="top", labelAngle=-40, labelLimit=150),
        ),
        y=of("language:N", sort=list(language.values()), title=None),
        tooltip=tooltip,
    )
    cell = base.mark("rect", stroke=colour("paper"), strokeWidth=1).encode(
        color=of(
            "reliability:Q",
            title=unit,
            scale=dict(domain=[0, 1], range=[colour("middle"), colour("high")]),
            legend=dict(gradientLength=160, orient="bottom", direction="horizontal"),
        ),
        opacity=dim(0.3),
    )
    ink = either("datum.reliability > 0.6", "strong", "weak")
    text = base.mark("text", fontSize=11).encode(text=of("shown:N"), color=ink, opacity=dim(0.45))
    blind = base.where("datum.verdict == 'blind'").mark("rect", filled=False, stroke=colour("low"), strokeWidth=2)
    chosen = base.where(IS_CHOSEN).mark("rect", filled=False, stroke=colour("accent"), strokeWidth=1.5)
    roomy = len(judge) <= ROOMY
    layers = [cell, *([text] if roomy else []), blind, chosen]
    width = bands(step(48 if roomy else 22, len(judge)))
    return finish(layer(*layers).properties(width=width, height=bands(26 if roomy else 20)), title, note)
