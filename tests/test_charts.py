"""Charts: results in, chart out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.report import charts
from polyjudge.report.charts.theme import DARK, LIGHT
from polyjudge.report.labels import labels


@pytest.fixture(scope="module")
def audit() -> pj.Audit:
    return pj.audit(pj.sample_panel(), replicates=200)


def rows(chart: Any) -> pd.DataFrame:
    """The largest data set of a chart."""
    sets = chart.to_dict()["datasets"].values()
    return pd.DataFrame(max(sets, key=len))


def test_heatmap_has_a_symmetric_scale_and_every_cell(audit: pj.Audit) -> None:
    chart = charts.interaction_heatmap(audit.uncertainty)
    data = rows(chart)
    assert len(data) == 48
    domain = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert domain[0] == -domain[2]
    assert domain[1] == 0
    assert domain[2] == pytest.approx(np.abs(audit.uncertainty.cells["interaction"]).max())
    first = audit.uncertainty.cells.iloc[0]
    assert data.loc[0, "interval"] == f"[{first['low']:+.2f}, {first['high']:+.2f}]"
    assert (data["tasks"] == 55).all()


def test_heatmap_takes_a_bare_frame() -> None:
    frame = pd.DataFrame({"language": ["a", "b"] * 2, "judge": ["x", "x", "y", "y"], "interaction": [1, -1, -1, 1.0]})
    chart = charts.interaction_heatmap(frame)
    assert set(rows(chart)["judge"]) == {"x", "y"}
    assert "verdict" not in rows(chart)


def test_ranks_before_are_raw_and_after_are_one_order(audit: pj.Audit) -> None:
    before, after = rows(charts.rank_lines(audit.ranks, "before")), rows(charts.rank_lines(audit.ranks, "after"))
    raw = audit.ranks.table[audit.ranks.table["scope"] == "language"]
    assert before["rank"].tolist() == raw["rank"].tolist()
    assert before.groupby("judge")["rank"].nunique().max() > 1
    assert after.groupby("judge")["rank"].nunique().max() == 1


def test_rank_probabilities_leave_out_only_what_is_tiny(audit: pj.Audit) -> None:
    data = rows(charts.rank_probabilities(audit.reversals))
    total = data.groupby(["scope", "judge"])["probability"].sum()
    assert len(total) == 9 * 6
    assert total.between(0.97, 1.001).all()


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
    audit = pj.audit(panel, replicates=100)
    for chart in (
        charts.interaction_heatmap(audit.uncertainty),
        charts.ranks_before_after(audit.ranks),
        charts.rank_probabilities(audit.reversals),
    ):
        spec = chart.to_dict()
        sets = spec.pop("datasets")
        assert "a.b" in json.dumps(sets)
        assert '"field": "a.b"' not in json.dumps(spec)
        assert "[0]" in json.dumps(sets)
