"""The figures of the paper, at the width of a column: drawn with the report's charts where they fit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyjudge.second.estimate.bands import Uncertainty
from polyjudge.second.estimate.kernels import double_centre, ranks
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.labels import labels
from polyjudge.second.panel.panel import Panel
from polyjudge.second.report.charts.grids import interaction_heatmap
from polyjudge.second.report.charts.lines import rank_lines
from polyjudge.second.report.charts.theme import LIGHT, finish
from polyjudge.second.report.charts.vega import Picture, bands, layer, of, plot, stacked


def heatmap(result: Uncertainty) -> Picture:
    """Figure 1: the interaction, with marks for what the band can tell from zero."""
    chart = interaction_heatmap(result.cells, result.level, result.tasks)
    # Vega's own number format writes 20 as 2e+1 in a legend.
    tint = chart.spec["layer"][0]["encoding"]["color"]
    tint["legend"]["labelExpr"] = "(datum.value > 0 ? '+' : datum.value < 0 ? '-' : '') + abs(datum.value)"
    tint["title"] = ["score", "points"]
    return _axis_titles(chart, y="language").properties(width=bands(40))


def before_after(means: pd.DataFrame, gap: float, title: str, measure: str, note: str = "") -> Picture:
    """Figures 2 and 3: ranks by language from a language x judge table of means, raw above and after CBC below."""
    cells = means.to_numpy()
    stages = {"before": cells, "after": cells - double_centre(cells)}
    rows = pd.concat([_rank_rows(means, values, gap, stage) for stage, values in stages.items()], ignore_index=True)
    titles = {"before": "Raw", "after": "After CBC (alike by arithmetic)"}
    parts = [
        _axis_titles(rank_lines(rows, stage, titles[stage]), "language", f"rank by mean {measure}") for stage in stages
    ]
    return finish(stacked(parts, "vconcat", spacing=12), title, note)


def ranks_of(panel: Panel) -> Picture:
    means = panel.matrix(panel.cell_means)
    return before_after(means, panel.tie_gap, "Ranks of the judges by language", "score")


def reversal_strength(pairs: pd.DataFrame, alpha: float = 0.05) -> Picture:
    """How strongly each pair of judges reverses, and which reversals hold when selection is allowed for."""
    shown = labels(dict.fromkeys([*pairs["judge_i"], *pairs["judge_j"]]))
    data = pd.DataFrame(
        {
            "pair": [f"{shown[a]} / {shown[b]}" for a, b in zip(pairs["judge_i"], pairs["judge_j"], strict=True)],
            "delta": pairs["delta"],
            "verdict": np.select(
                [pairs["delta"] <= 0, pairs["p_selected"] <= alpha, pairs["p_published"] <= alpha],
                ["no reversal", "holds after selection", "only as published"],
                "not significant",
            ),
        }
    ).sort_values("delta", ascending=False, kind="stable")
    data["shown"] = [f"{d:.0f}" if d else "none" for d in data["delta"]]
    colours = {
        "holds after selection": LIGHT["c1"],
        "only as published": LIGHT["c5"],
        "not significant": LIGHT["soft"],
    }
    used = [v for v in colours if v in set(data["verdict"])]
    base = plot(data).encode(
        y=of("pair:N", sort=data["pair"].tolist(), title=None, axis=dict(labelLimit=200)),
        x=of("delta:Q", title="reversal strength (points squared)", axis=dict(tickCount=5)),
    )
    bars = (
        base.where("datum.delta > 0")
        .mark("bar")
        .encode(
            color=of(
                "verdict:N",
                title=None,
                scale=dict(domain=used, range=[colours[v] for v in used]),
                legend=dict(orient="bottom", columns=2),
            )
        )
    )
    values = base.mark("text", align="left", dx=4, fontSize=10).encode(text=of("shown:N"))
    chart = layer(bars, values).properties(width=220, height=bands(17))
    return finish(chart, "Reversal strength of every pair of judges")


def convergence(table: pd.DataFrame) -> Picture:
    """Figure 4: error of the estimate by number of tasks, against the bound as published and with the noise's sigma.

    Columns: tasks, error, bound_all_scores, bound; and published_error where there is one, drawn as rings.
    """
    rings = "published_error" in table
    look = {
        "bound_all_scores": ("bound as published: sigma of all scores", LIGHT["c2"], [6, 4]),
        "bound": ("bound with the sigma of the noise", LIGHT["c4"], [2, 2]),
        "error": ("mean |error|" + ("; rings: published" if rings else ""), LIGHT["c1"], [1, 0]),
    }
    look = {name: style for name, style in look.items() if table[name].notna().all()}
    sizes = [int(n) for n in table["tasks"]]
    values = table[[*look]].to_numpy(float)
    ends = [
        float(10 ** (np.floor(np.log10(values.min()) * 2) / 2)),
        float(10 ** (np.ceil(np.log10(values.max()) * 2) / 2)),
    ]
    right = sizes[-1] * 60 / 55
    x = of("tasks:Q", title="number of tasks", scale=dict(domain=[sizes[0] / 2, right]), axis=dict(values=sizes))
    ticks = [a * 10.0**e for e in range(-4, 6) for a in (1, 2, 5) if ends[0] <= a * 10.0**e <= ends[1]]
    scale = dict(type="log", domain=ends, nice=False)
    y = of("value:Q", title="score points (log scale)", scale=scale, axis=dict(values=ticks, format="~g"))
    layers = []
    for name, (title, ink, dash) in look.items():
        rows = pd.DataFrame({"tasks": table["tasks"], "value": table[name]})
        line = plot(rows).mark("line", color=ink, strokeDash=dash, strokeWidth=2, point=dict(color=ink))
        # The names stand over the right part of their lines, high enough for the left end of the text.
        height = np.interp(sizes[-1] / 3, rows["tasks"], rows["value"])
        middle = plot(pd.DataFrame({"tasks": [right], "value": [height], "name": [title]}))
        label = middle.mark("text", align="right", dy=-5, color=ink, fontSize=10).encode(x=x, y=y, text=of("name:N"))
        layers += [line.encode(x=x, y=y), label]
    if rings:
        points = plot(pd.DataFrame({"tasks": table["tasks"], "value": table["published_error"]}))
        layers.append(points.mark("point", color=LIGHT["ink"], size=90, strokeWidth=1.2, filled=False).encode(x=x, y=y))
    chart = layer(*layers).properties(width=290, height=210)
    note = ["The bounds cover all cells at once with 95% confidence;", "the error is a mean over cells."]
    return finish(chart, "Error of the interaction by number of tasks", note)


def _axis_titles(chart: Picture, x: str | None = None, y: str | None = None) -> Picture:
    """Name the axes in every layer; layers share an axis, and it shows all their titles."""
    for view in chart.spec["layer"]:
        for channel, title in (("x", x), ("y", y)):
            if title is not None and channel in view["encoding"]:
                view["encoding"][channel]["title"] = title
    return chart


def _rank_rows(means: pd.DataFrame, cells: Array, gap: float, stage: str) -> pd.DataFrame:
    place = pd.DataFrame(ranks(cells, gap), index=means.index, columns=means.columns)
    long = place.rename_axis(index="language", columns="judge").reset_index().melt("language", value_name="rank")
    return long.assign(stage=stage)
