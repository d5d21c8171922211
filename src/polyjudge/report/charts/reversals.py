"""Pairs of judges that change places between languages."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.labels import labels
from polyjudge.report.charts.theme import WIDE, colour, either, finish
from polyjudge.report.charts.vega import Picture, bands, broken_line, constant, layer, of, plot, when

MOST = 24
"""Pairs in the chart; the table has more."""


def pair_gaps(pairs: pd.DataFrame, ranks: pd.DataFrame, most: int = MOST) -> Picture:
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
