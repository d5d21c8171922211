"""Whether judges see what they judge, as a language x judge heatmap."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from polyjudge.core.labels import labels
from polyjudge.report.charts.interaction import ROOMY
from polyjudge.report.charts.theme import IS_CHOSEN, colour, dim, either, finish, plot, step


def signal_heatmap(
    cells: pd.DataFrame, least: float, title: str = "Agreement about the systems of a task", note: str = ""
) -> Any:
    """Reliability of each judge in each language, 0 pale to 1 strong; blind cells are framed.

    cells : language, judge, reliability, low, high, verdict
    """
    unit = "share" if note else "reliability"
    return _shares(cells, title, unit, ".2f", note or f"framed: blind, surely below {least:g}")


def pass_rates(cells: pd.DataFrame, title: str) -> Any:
    """Share of tasks that pass, by language and judge.

    cells : language, judge, pass, se
    """
    share, half = cells["pass"], 1.96 * cells["se"].fillna(0.0)
    shown = cells.assign(reliability=share, low=(share - half).clip(0, 1), high=(share + half).clip(0, 1), verdict="")
    return _shares(shown, title, "passing", ".0%", "share of scores that pass")


def _shares(cells: pd.DataFrame, title: str, unit: str, form: str, note: str) -> Any:
    language, judge = labels(cells["language"].unique()), labels(cells["judge"].unique())
    data = pd.DataFrame({"language": cells["language"].map(language), "judge": cells["judge"].map(judge)})
    data["reliability"] = cells["reliability"].clip(0, 1).to_numpy()
    data["shown"] = [f"{x:{form}}".replace("-0.00", "0.00") for x in cells["reliability"]]
    data["interval"] = [f"[{a:{form}}, {b:{form}}]" for a, b in zip(cells["low"], cells["high"], strict=True)]
    data["verdict"] = cells["verdict"].to_numpy()
    tooltip = [alt.Tooltip(f"{n}:N") for n in ("language", "judge", "shown", "interval", "verdict")]
    base = plot(data).encode(
        x=alt.X(
            "judge:N",
            sort=list(judge.values()),
            title="judge",
            axis=alt.Axis(orient="top", labelAngle=-40, labelLimit=150),
        ),
        y=alt.Y("language:N", sort=list(language.values()), title=None),
        tooltip=tooltip,
    )
    cell = base.mark_rect(stroke=colour("paper"), strokeWidth=1).encode(
        color=alt.Color(
            "reliability:Q",
            title=unit,
            scale=alt.Scale(domain=[0, 1], range=[colour("middle"), colour("high")]),
            legend=alt.Legend(gradientLength=160, orient="bottom", direction="horizontal"),
        ),
        opacity=dim(0.3),
    )
    ink = either("datum.reliability > 0.6", "strong", "weak")
    text = base.mark_text(fontSize=11).encode(text=alt.Text("shown:N"), color=ink, opacity=dim(0.45))
    blind = base.transform_filter("datum.verdict == 'blind'").mark_rect(
        filled=False, stroke=colour("low"), strokeWidth=2
    )
    chosen = base.transform_filter(IS_CHOSEN).mark_rect(filled=False, stroke=colour("accent"), strokeWidth=1.5)
    roomy = len(judge) <= ROOMY
    layers = [cell, *([text] if roomy else []), blind, chosen]
    width = alt.Step(step(48 if roomy else 22, len(judge)))
    return finish(alt.layer(*layers).properties(width=width, height=alt.Step(26 if roomy else 20)), title, note)
