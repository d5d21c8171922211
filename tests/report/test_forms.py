"""Cells of tables, JSON, Markdown, JUnit and CSV: what other programs read."""

import datetime
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from report_samples import HOSTILE, Answer, hostile, report

from polyjudge.report import text
from polyjudge.report.model import Finding, Table, spread


@pytest.mark.parametrize(
    ("kind", "row", "shown"),
    [
        ("+points low high", {"x": -1.1, "low": -3.0, "high": 0.8}, "-1.1 [-3.0, +0.8]"),
        ("+points low high", {"x": 0.0, "low": np.nan, "high": np.nan}, ""),
        ("+points low high", {"x": 2.0, "low": np.nan, "high": np.nan}, "+2.00"),
        ("percent low high", {"x": 0.86, "low": 0.8, "high": 0.91}, "86% [80, 91]"),
        ("number low high", {"x": 0.54, "low": 0.5, "high": 0.58}, "0.54 [0.50, 0.58]"),
        ("percent", {"x": 0.613}, "61%"),
        ("count", {"x": 12345.0}, "12,345"),
        ("p", {"x": 1e-9}, "< 1e-8"),
        ("yes", {"x": np.True_}, "yes"),
        ("yes", {"x": None}, ""),
        ("rank high", {"x": 2, "high": 6}, "2-6"),
        ("rank high", {"x": 3, "high": 3}, "3"),
        ("name", {"x": None}, ""),
        ("name", {"x": "a\x1bb"}, "a\\x1bb"),
        ("points", {"x": None}, "–"),
        ("points", {"x": pd.NA}, "–"),
    ],
)
def test_cell(kind, row, shown):
    assert text.cell(kind, row, "x") == shown


def test_a_column_of_points_has_one_number_of_decimals():
    table = Table("t", "T", pd.DataFrame({"x": [97.31, 8.42, 0.5]}), {"x": "points", "gone": "points"})
    assert text.cells(table) == [["97.3"], ["8.4"], ["0.5"]]
    assert text.heads(table) == ["x"]


def test_plain_holds_only_what_json_holds():
    frame = pd.DataFrame({"a": [1, 2], "b": [np.nan, np.inf], "c": pd.array([None, True], dtype="boolean")})
    value = {
        "frame": frame, "array": np.array([[1.0, np.nan]]), "scalar": np.float64(2), "count": np.int64(3),
        ("a", "b"): (np.bool_(True), Path("x")), "day": datetime.date(2026, 3, 3), "none": None, "set": {"b", "a"},
    }  # fmt: skip
    made = text.plain(value)
    assert json.loads(json.dumps(made, allow_nan=False)) == {
        "frame": [{"a": 1, "b": None, "c": None}, {"a": 2, "b": None, "c": True}],
        "array": [[1.0, None]], "scalar": 2.0, "count": 3, "a, b": [True, "x"], "day": "2026-03-03", "none": None,
        "set": ["a", "b"],
    }  # fmt: skip


def test_json_of_a_result():
    result = Answer(pd.DataFrame({"x": [1.5]}), float("nan"), (), panel_=object())
    made = json.loads(text.to_json(result))
    assert list(made)[:3] == ["polyjudge", "schema", "command"]
    assert made["schema"] == 3
    assert made["table"] == [{"x": 1.5}]
    assert made["number"] is None
    assert "panel_" not in made
    assert made["findings"][2]["where"] == {"language": "Thai", "judge": "mistral-large"}
    assert made["next"][0]["command"].startswith("polyjudge audit")
    assert result.to_dict() == {"table": [{"x": 1.5}], "number": None, "findings": []}


def test_json_of_a_report_has_all_tables_keeps_names_and_hides_nothing():
    made = json.loads(text.to_json(report()))
    assert set(made["tables"]) == {"systems", "off", "disagreements"}
    assert len(made["tables"]["disagreements"]) == 40
    assert made["tables"]["systems"][0]["low"] is None
    written = text.to_json(hostile())
    assert "\u202e" not in written
    assert "\x1b" not in written
    assert json.loads(written)["tables"]["systems"][4]["system"] == HOSTILE[4]


def test_markdown_says_the_first_screen():
    made = text.markdown(report())
    assert made.startswith("## Audit of scores.csv\n")
    assert "**Winner:** Too close to call" in made
    assert "| rank | system | mean | difference from the leader |" in made
    assert "| 1-2 | charlie | 62.9 | -1.1 \\[-3.0, +0.8\\] |" in made
    assert "and 2 more" in made
    assert "- `polyjudge calibrate scores.csv -o calibrated.csv`: if you use one judge at a time" in made
    assert "- Longer responses get higher scores." in made


def test_markdown_is_inert():
    made = text.markdown(hostile())
    assert "<script" not in made
    assert "<img" not in made
    assert not re.search(r"(?<!\\)\]\(", made)
    assert "@all" not in made
    assert "http://" not in made
    assert "\n# heading" not in made
    assert all(c == "\n" or c.isprintable() for c in made)
    rows = [line for line in made.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}


def test_csv_holds_no_formula_and_every_number():
    frame = pd.DataFrame({"=name": [*HOSTILE], "x": np.linspace(-1, 1, len(HOSTILE)) / 3})
    back = pd.read_csv(io.StringIO(text.csv(frame)), keep_default_na=False)
    assert list(back) == ["'=name", "x"]
    assert back["'=name"][2] == "'" + HOSTILE[2]
    assert not back["'=name"].str.match(r"[=+@\t\r]").any()
    assert back["'=name"][0] == HOSTILE[0]
    assert np.abs(back["x"] - frame["x"]).max() < 1e-15


def test_junit():
    suite = ET.fromstring(text.junit(report(), "warning"))
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    assert suite.find(".//failure").get("message").startswith("In Thai")
    assert ET.fromstring(text.junit(report(), "never")).get("failures") == "0"
    odd = Finding("serious", "\x00k", "a\x00b\ud800<c>", "Off")
    suite = ET.fromstring(text.junit(replace(report(), findings=(odd,)), "info"))
    assert suite.find(".//failure").get("message") == "a\\x00b\\ud800<c>"
    assert ET.fromstring(text.junit(replace(report(), findings=()), "info")).get("tests") == "1"
    milder = replace(odd, severity="notice", where={"language": "th"})
    names = [
        ET.fromstring(text.junit(replace(report(), findings=(x,)), "info")).find(".//testcase").get("name")
        for x in (odd, milder)
    ]
    assert names == ["\\x00k", "\\x00k, th"]  # the severity changes from run to run, the name does not


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("label make a.csv --items x.csv", "pj.draw_labels('a.csv', items='x.csv')"),
        ("label read a -o l.csv", "pj.read_labels('a', output='l.csv')"),
        *((x, f"polyjudge {x}") for x in ("humans a.csv -o people", "paper --check", "audit 'unclosed")),
    ],
)
def test_in_python_falls_back_to_the_command(command, python):
    assert text.in_python(f"polyjudge {command}") == python


def test_spread_on_levels_and_in_bins():
    levels = spread({"a": [1, 1, 2, np.nan], "b": [5.0]}, 1, 5)
    assert levels[levels["label"] == "a"]["share"].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    bins = spread({"a": np.linspace(0, 100, 400), "b": []}, 0, 100)
    assert bins.groupby("label", sort=False)["share"].sum().tolist() == pytest.approx([1, 0])
    assert len(bins) == 40
