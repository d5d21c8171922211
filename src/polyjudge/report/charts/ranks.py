"""Ranks of the judges by language, before and after calibrating, and the probability of each rank."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyjudge.panel.labels import labels
from polyjudge.report.charts.theme import colour, dim, either, fade, finish, judge_colour, places, step
from polyjudge.report.charts.vega import Picture, bands, constant, layer, of, plot, stacked, when

BEFORE, AFTER = "before", "after"
STAGE_TITLES = {BEFORE: "Before: raw scores", AFTER: "After calibrating"}
SCOPE = "scope"
"""Parameter with the language whose rank probabilities are shown."""


def rank_frame(table: pd.DataFrame, stage: str) -> pd.DataFrame:
    """language, judge, rank, rank_low, rank_high. After calibrating every language has the overall order."""
    keep = ["language", "judge", "rank", "rank_low", "rank_high"]
    before = table.loc[table["scope"] == "language", keep]
    if stage == BEFORE:
        return before
    overall = table.loc[table["scope"] == "calibrated", keep].drop(columns="language")
    return before[["language", "judge"]].merge(overall, on="judge")


def rank_lines(ranks: pd.DataFrame, stage: str = BEFORE, title: str | None = None) -> Picture:
    """One line per judge over the languages, rank 1 on top.

    A frame needs the columns language, judge and rank; with `stage` only the rows of that stage are drawn, and with
    rank_low and rank_high the ranks that the data cannot rule out show on hovering.
    """
    frame = rank_frame(ranks, stage) if "scope" in ranks else ranks
    if "stage" in frame:
        frame = frame[frame["stage"] == stage]
    data, _, order = places(frame)
    data["rank"] = frame["rank"].to_numpy()
    tooltip = [of("judge:N"), of("language:N"), of("rank:Q")]
    if {"rank_low", "rank_high"} <= set(frame.columns):
        data["possible"] = [f"{a} to {b}" for a, b in zip(frame["rank_low"], frame["rank_high"], strict=True)]
        tooltip.append(of("possible:N", title="ranks not ruled out"))
    languages = _by_similarity(data)
    # Judges with a tied rank share a point, but their names must not lie on each other.
    data["place"] = data.groupby("language")["rank"].rank(method="first")
    m = len(order)
    x = of(
        "language:N",
        sort=languages,
        title=None,
        scale=dict(padding=0.35),
        axis=dict(labelAngle=-40, labelLimit=140, grid=True, gridDash=[2, 3]),
    )
    y = of(
        "rank:Q",
        title="rank by mean score",
        scale=dict(domain=[m + 0.4, 0.6], nice=False, zero=False),
        axis=dict(values=list(range(1, m + 1)), grid=False, format="d", labelOverlap=True),
    )
    base = plot(data).encode(x=x, y=y, color=judge_colour(order))
    width = when("chosen == datum.judge", constant(2.5), constant(1))
    # Languages have no order to draw a curve over: faint straight segments only help the eye to find a judge again.
    lines = base.mark("line", strokeDash=[2, 3], tooltip=None).encode(
        detail=of("judge:N"), strokeWidth=width, opacity=fade(0.08, 0.3 if m <= 12 else 0.15)
    )
    points = base.mark("point", filled=True, size=46 if m <= 12 else 24, opacity=1).encode(
        opacity=dim(0.15), tooltip=tooltip
    )
    names = (
        base.where(dict(field="language", equal=languages[-1]))
        .mark("text", align="left", dx=10, fontSize=11, limit=250, tooltip=None)
        .encode(y=of("place:Q", title="rank by mean score"), text=of("judge:N"), opacity=dim(0.25))
    )
    width = bands(step(34 if len(languages) <= 16 else 24, len(languages)))
    chart = layer(lines, points, names).properties(width=width, height=max(130, m * (30 if m <= 12 else 17)))
    return finish(chart, title or STAGE_TITLES.get(stage, stage))


def _by_similarity(data: pd.DataFrame) -> list[str]:
    """Languages in the order of the leading pattern of their ranks, so that similar ones stand side by side."""
    wide = data.pivot(index="language", columns="judge", values="rank")
    wide = wide.loc[data["language"].drop_duplicates().tolist()]
    centred = np.nan_to_num(wide.to_numpy(dtype=float) - wide.mean(axis=0).to_numpy())
    if not np.abs(centred).max() > 0:
        return [str(x) for x in wide.index]
    leading = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
    leading *= np.sign(leading[np.abs(leading).argmax()])  # the sign of a pattern is arbitrary
    return [str(wide.index[i]) for i in np.argsort(leading, kind="stable")]


def ranks_before_after(ranks: pd.DataFrame, title: str = "Ranks of the judges by language") -> Picture:
    """The two stages side by side, for one figure."""
    parts = [rank_lines(ranks, stage) for stage in (BEFORE, AFTER)]
    return finish(stacked(parts, "hconcat", spacing=24), title)


def rank_probabilities(frame: pd.DataFrame) -> Picture:
    """How probable each rank of each judge is over resampled tasks, for one language or the calibrated order."""
    scopes = labels(frame["language"].unique())
    judge = labels(frame["judge"].unique())
    shown = frame[frame["probability"] >= 0.005]
    data = pd.DataFrame(
        {
            "scope": shown["language"].map(scopes),
            "judge": shown["judge"].map(judge),
            "rank": shown["rank"].astype(int),
            "probability": shown["probability"].round(4),
        }
    )
    calibrated = frame.loc[frame["scope"] == "calibrated", "language"]
    start = scopes[calibrated.iloc[0] if len(calibrated) else frame["language"].iloc[0]]
    # The calibrated order runs down the diagonal.
    weight = (frame["rank"] * frame["probability"]).where(frame["language"].map(scopes) == start)
    order = weight.groupby(frame["judge"]).sum().sort_values(kind="stable").index.map(judge).tolist()
    roomy = len(judge) <= 12
    base = (
        plot(data)
        .where(f"datum.scope == {SCOPE}")
        .encode(
            x=of("rank:O", title="rank", scale=dict(domain=list(range(1, len(judge) + 1))), axis=dict(labelAngle=0)),
            y=of("judge:N", title=None, scale=dict(domain=order)),
            tooltip=[of("judge:N"), of("rank:O"), of("probability:Q", format=".1%"), of("scope:N", title="language")],
        )
    )
    cells = base.mark("rect").encode(
        color=of(
            "probability:Q",
            scale=dict(domain=[0, 1], range=[colour("middle"), colour("high")], interpolate="lab"),
            legend=dict(format=".0%", gradientLength=160, title="probability", orient="bottom", direction="horizontal"),
        ),
        opacity=dim(0.3),
    )
    layers = [cells]
    if roomy:
        ink = either("datum.probability > 0.55", "strong", "weak")
        layers.append(
            base.mark("text", fontSize=10).encode(text=of("probability:Q", format=".0%"), color=ink, opacity=dim(0.45))
        )
    width = bands(step(44 if roomy else 17, len(judge)))
    chart = layer(*layers).properties(width=width, height=bands(26 if roomy else 17))
    note = "share of resampled task sets; under 0.5% left empty"
    return finish(chart, "Probability of each rank", note, **{SCOPE: start})
