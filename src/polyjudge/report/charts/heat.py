"""Whether judges see what they judge, as a language x judge heatmap."""

from __future__ import annotations

import pandas as pd

from polyjudge.report.charts.interaction import ROOMY, frame, heatmap, numbers, rectangles, sized
from polyjudge.report.charts.theme import colour, finish, places
from polyjudge.report.charts.vega import Picture, of


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
