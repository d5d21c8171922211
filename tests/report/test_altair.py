"""Altair charts: every kind shows its names and numbers, with its title, description and axes."""

import json
import re

import pytest
from report_samples import HOSTILE, JUDGES, LANGUAGES, SYSTEMS, Answer, charts

from polyjudge.base.errors import UsageError
from polyjudge.report import charts as charts_module
from polyjudge.report.charts import draw

pytest.importorskip("altair", reason="needs the extra plot")

CHARTS = charts(LANGUAGES, JUDGES, SYSTEMS)


@pytest.mark.parametrize(
    ("kind", "words", "fields"),
    [
        ("intervals", {*LANGUAGES, *SYSTEMS, "points behind the leader"}, {"value", "low", "high", "panel"}),
        ("bars", {*JUDGES, "% that pass"}, {"value"}),
        ("heatmap", {*LANGUAGES, *JUDGES, "-12.2", "points"}, {"value", "beta"}),
        ("matrix", set(JUDGES), {"value"}),
        ("ranks", {*LANGUAGES, *JUDGES, "Before", "After calibrating", "rank", "language"}, {"rank", "panel"}),
        ("lines", {*JUDGES[:2], "tasks", "points"}, {"x", "value", "low", "high"}),
    ],
)
def test_each_kind_shows_its_names_numbers_and_titles(kind, words, fields):
    convert = pytest.importorskip("vl_convert")
    for dark in (True, False):
        spec = draw(CHARTS[kind], dark).to_dict()
        assert (spec["title"], spec["description"]) == (CHARTS[kind].title, CHARTS[kind].alt)
        assert spec["config"]["axis"]["labelFontSize"] >= 12
    assert fields <= set(re.findall(r'"field": "(\w+)"', json.dumps(spec)))
    spec |= {"width": 700} if spec.get("width") == "container" else {}
    assert words <= set(re.findall(r"<text[^>]*>([^<]+)</text>", convert.vegalite_to_svg(spec)))


def test_the_first_rank_is_at_the_top():
    assert '"reverse": true' in json.dumps(draw(CHARTS["ranks"]).to_dict())


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


def test_without_altair_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(charts_module, "find_spec", lambda module: None)
    with pytest.raises(UsageError, match=r"polyjudge\[plot\]"):
        draw(CHARTS["bars"])
