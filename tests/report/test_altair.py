"""Altair charts: every kind is a valid chart, with its title, description and axes."""

import json

import pytest
from report_samples import HOSTILE, JUDGES, LANGUAGES, SYSTEMS, Answer, charts

from polyjudge.base.errors import UsageError
from polyjudge.report.charts import draw

CHARTS = charts(LANGUAGES, JUDGES, SYSTEMS)


@pytest.mark.parametrize("kind", CHARTS)
@pytest.mark.parametrize("dark", [False, True])
def test_each_kind_is_a_valid_chart(kind, dark):
    spec = draw(CHARTS[kind], dark).to_dict()
    assert spec["title"] == CHARTS[kind].title
    assert spec["description"] == CHARTS[kind].alt
    assert spec["config"]["axis"]["labelFontSize"] >= 12
    if CHARTS[kind].x and kind not in ("ranks",):
        assert CHARTS[kind].x in json.dumps(spec)


def test_each_kind_can_be_drawn():
    convert = pytest.importorskip("vl_convert")
    for chart in CHARTS.values():
        spec = draw(chart).to_dict()
        spec |= {"width": 500} if spec.get("width") == "container" else {}
        assert "<svg" in convert.vegalite_to_svg(spec)


def test_names_are_made_harmless():
    made = json.dumps(draw(charts(HOSTILE[:5], HOSTILE[4:8], HOSTILE)["heatmap"]).to_dict(), ensure_ascii=False)
    assert "\x1b" not in made
    assert "\u202e" not in made


def test_plot_by_name():
    result = Answer.__new__(Answer)
    assert result.charts == ("board-languages", "off", "ranks", "agreement", "curve", "passes")
    assert result.plot("ranks").to_dict()["title"] == "Ranks of the judges"
    assert result.plot().to_dict()["title"] == "Systems by language"
    with pytest.raises(UsageError, match="Its charts: board-languages"):
        result.plot("pie")
