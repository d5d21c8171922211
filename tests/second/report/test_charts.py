"""Charts: results in, chart out."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.labels import labels
from polyjudge.second.questions.audit.audit import Audit
from polyjudge.second.report import charts, report_of
from polyjudge.second.report.build import pivot
from polyjudge.second.report.charts.theme import CATEGORIES, DARK, LIGHT


@pytest.fixture(scope="module")
def audit() -> Audit:
    return pj.audit(pj.sample_panel(), resamples=100)


def rows(chart: Any) -> pd.DataFrame:
    """The largest data set of a chart."""
    sets = chart.to_dict()["datasets"].values()
    return pd.DataFrame(max(sets, key=len))


def test_heatmap_has_a_symmetric_scale_and_every_cell(audit: Audit) -> None:
    chart = charts.grids.interaction_heatmap(audit.uncertainty.cells, 0.95)
    data = rows(chart)
    assert len(data) == 48
    domain = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert domain[0] == -domain[2]
    assert domain[1] == 0
    assert domain[2] == pytest.approx(np.abs(audit.uncertainty.cells["interaction"]).max())
    first = audit.uncertainty.cells.iloc[0]
    assert data.loc[0, "interval"] == f"[{first['low']:+.2f}, {first['high']:+.2f}]"


def test_heatmap_takes_a_bare_frame() -> None:
    frame = pd.DataFrame({"language": ["a", "b"] * 2, "judge": ["x", "x", "y", "y"], "interaction": [1, -1, -1, 1.0]})
    chart = charts.grids.interaction_heatmap(frame)
    assert set(rows(chart)["judge"]) == {"x", "y"}
    assert "verdict" not in rows(chart)


def test_ranks_before_are_raw_and_after_are_one_order(audit: Audit) -> None:
    before, after = (
        rows(charts.lines.rank_lines(audit.ranks.table, "before")),
        rows(charts.lines.rank_lines(audit.ranks.table, "after")),
    )
    raw = audit.ranks.table[audit.ranks.table["scope"] == "language"]
    assert before["rank"].tolist() == raw["rank"].tolist()
    assert before.groupby("judge")["rank"].nunique().max() > 1
    assert after.groupby("judge")["rank"].nunique().max() == 1


def test_rank_probabilities_leave_out_only_what_is_tiny(audit: Audit) -> None:
    data = rows(charts.lines.rank_probabilities(audit.reversals.rank_probabilities))
    total = data.groupby(["scope", "judge"])["probability"].sum()
    assert len(total) == 9 * 6
    assert total.between(0.97, 1.001).all()


def test_every_chart_is_as_the_schema_of_vega_lite_says(audit: Audit) -> None:
    report = report_of(audit, pj.sample_panel())
    assert report is not None
    drawn = [picture for block in report.charts for picture in charts.draw(block)]
    assert len(drawn) > 10
    few = pd.DataFrame({"shots": [1, 2], "tau": [0.1, 0.2], "low": [0.0, 0.1], "high": [0.2, 0.3]})
    costs = pd.DataFrame({"judges": ["a", "b"], "cost": [1, 2], "error": [3.0, 2.0], "reliability": [0.1, 0.2]})
    helped = audit.uncertainty.cells.assign(verdict="helped", gain=1.0, labels=3)
    more = [
        charts.lines.curves(few, "shots", "tau", "low", "Title", x_title="x", y_title="y", at=0.1),
        charts.lines.frontier(costs, costs.assign(error_low=1.0, error_high=4.0), "b"),
        charts.grids.helped_grid(helped, 0.95),
    ]
    import altair
    import jsonschema

    schema = jsonschema.Draft7Validator(altair.load_schema())  # Altair asks it in steps, ten times as slow
    for picture in (*drawn, *more):
        spec = picture.to_dict()
        schema.validate(spec | {"datasets": {name: rows[:2] for name, rows in spec["datasets"].items()}})
    for picture in more:  # those of an audit are drawn with its figures, in `test_hostile_text`
        assert "svg" in picture.svg[:100]
    broken = drawn[0].properties(width="wide")
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(broken.to_dict())


def test_a_table_of_cells_has_the_order_of_appearance_whatever_is_missing() -> None:
    names = [("en", "b"), ("de", "b"), ("de", "a"), ("en", "a")]
    cells = pd.DataFrame(names, columns=["language", "judge"]).assign(points=[1.0, 2.0, 3.0, 4.0], mark=list("wxyz"))
    for frame, column, expected in (
        (cells, "points", [[1.0, 4.0], [2.0, 3.0]]),
        (cells, "mark", [["w", "z"], ["x", "y"]]),
        (cells[:3], "points", [[1.0, np.nan], [2.0, 3.0]]),
    ):
        wide = pivot(frame, column)
        assert [list(wide.index), list(wide.columns)] == [["en", "de"], ["b", "a"]]
        assert (wide.index.name, wide.columns.name) == ("language", "judge")
        assert pd.DataFrame(expected).equals(wide.reset_index(drop=True).set_axis(range(2), axis=1))


def test_labels_are_cleaned_and_stay_apart() -> None:
    names = ["x" * 80 + "1", "x" * 80 + "2", "a\u202eb", "", "</script>"]
    shown = labels(names)
    assert len(set(shown.values())) == len(names)
    assert shown["</script>"] == "</script>"
    assert shown["a\u202eb"].startswith("a\\u202eb #")
    assert all(len(s) < 50 for s in shown.values())


def test_both_themes_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()


def test_names_are_values_and_never_fields() -> None:
    panel, _ = pj.simulate_panel(tasks=12, languages=2, judges=2, seed=1)
    panel = pj.Panel.from_array(panel.scores, languages=["l.1[0]", "datum"], judges=["a.b", 'it\'s ["x"]'])
    audit = pj.audit(panel, resamples=100)
    for chart in (
        charts.grids.interaction_heatmap(audit.uncertainty.cells, 0.95),
        charts.lines.rank_probabilities(audit.reversals.rank_probabilities),
    ):
        spec = chart.to_dict()
        sets = spec.pop("datasets")
        assert "a.b" in json.dumps(sets)
        assert '"field": "a.b"' not in json.dumps(spec)
        assert "[0]" in json.dumps(sets)


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISIONS = {
    "usual": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> Any:
    v = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def lab(rgb: Any) -> Any:
    x = TO_XYZ @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stay_apart_for_colour_blind_readers(theme: dict[str, str], vision: str) -> None:
    seen = {name: lab(np.array(VISIONS[vision]) @ linear(theme[name])) for name in (*CATEGORIES, "low", "high")}
    for a, b in [*combinations(CATEGORIES, 2), ("low", "high")]:
        assert np.linalg.norm(seen[a] - seen[b]) > 20, (a, b)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_have_contrast_with_the_paper(theme: dict[str, str]) -> None:
    def luminance(name: str) -> float:
        return float(TO_XYZ[1] @ linear(theme[name]))

    for name, least in [("ink", 7), ("soft", 4.5), ("mark", 4.5), ("accent", 4.5), *((c, 3) for c in CATEGORIES)]:
        light, dark = sorted((luminance(name), luminance("paper")), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least, name


@pytest.mark.parametrize(("largest", "calm"), [(1.2, True), (9.0, False)])
def test_a_heatmap_without_findings_is_pale(largest: float, calm: bool) -> None:
    """A strong colour in a panel where nothing matters would cry wolf."""
    names = [("en", "a"), ("en", "b"), ("de", "a"), ("de", "b")]
    cells = pd.DataFrame(names, columns=["language", "judge"]).assign(excess=[largest, 0.0, 0.0, -largest])
    cells = cells.assign(low=cells["excess"] - 1, high=cells["excess"] + 1, named=False)
    cells["small"] = cells["excess"].abs() < 2
    drawn = charts.grids.deviations(cells, 2.0).spec
    assert drawn["width"]["step"] * cells["judge"].nunique() <= 300  # fits on a telephone as it is
    tint = drawn["layer"][0]["encoding"]["color"]
    assert (tint["legend"] is None) == calm
    assert tint["scale"]["domain"][2] == (6.0 if calm else largest)


def test_every_chart_shows_itself_in_a_notebook(audit: Audit) -> None:
    """A notebook asks for the whole specification, and Altair then checks it: slowly, what the schema above says of
    all. One chart of every four."""
    for name in audit.charts[::4]:
        assert audit.plot(name).to_dict()["$schema"]


def test_a_label_that_is_cut_inside_an_emoji_is_drawn() -> None:
    """The engine that draws cuts by halves of characters, and does not understand the half."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    scores = pj.simulate_panel(tasks=8, languages=3, judges=3, seed=1)[0].scores
    panel = pj.Panel.from_array(scores, judges=[family * 3, family * 2 + "b", "c"])
    report = report_of(pj.audit(panel, resamples=100), panel)
    assert report is not None
    for block in report.charts:
        assert all(picture.svg.startswith("<svg") for picture in charts.draw(block)), block.name
