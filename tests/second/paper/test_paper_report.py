"""`polyjudge paper report`: the paper's tables for any panel, the same numbers as their own functions give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.paper import paper_report, unseen_language
from polyjudge.second.paper.inputs import devai_panel
from polyjudge.second.paper.metadata import metadata
from polyjudge.second.paper.two_arms import two_arms
from polyjudge.second.questions.audit.pass_rates import gates
from refusals import refused

Run = Callable[..., Any]
LANGUAGES = ["en", "de", "sw", "ar", "ja", "tr"]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(24, LANGUAGES, ["Ada", "Bob", "Cleo"], interaction=8, replicates=3, seed=4)[0]


def test_tables_are_those_of_the_functions(panel: pj.Panel) -> None:
    found = paper_report(panel, at=[40.0, 60.0], resamples=100)
    assert not found.notes
    names = set(found.to_frame()["name"])
    assert names == {
        "interaction", "rank_reversal", "fit", "variance", "calibration", "unseen_language", "few_shot", "decisions",
        "ablation_judges", "ablation_tasks", "gates", "information", "pairwise",
    }  # fmt: skip
    compared = pj.compare(panel, "all", resamples=100).table
    pd.testing.assert_series_equal(found["calibration"]["tau"], compared["tau"])
    pd.testing.assert_series_equal(found["calibration"]["gain_high"], compared["gain_high"])
    assert found["calibration"].set_index("method").loc["oracle", "identity"]
    cal = pj.ConsensusCalibrator().fit(panel)
    np.testing.assert_allclose(found["interaction"]["interaction"], cal.interaction_.to_numpy().ravel())
    alone = gates(panel, 60.0, resamples=100, seed=7)
    row = found["gates"].iloc[1]
    assert (row["spread_raw"], row["low"], row["high"]) == (alone.spread_raw, alone.held_out_low, alone.held_out_high)
    assert (row["spread_calibrated"], row["held_out_reduction"]) == (alone.spread_calibrated, alone.held_out_reduction)
    assert (row["decisions_turned"], row["turned_high"]) == (alone.flip_share, alone.flip_high)
    unseen = unseen_language(panel, resamples=100)
    assert found["unseen_language"].iloc[0]["zero_shot"] == unseen.overall["zero_shot"]
    assert found["unseen_language"].iloc[1:]["raw_high"].tolist() == unseen.table["raw_high"].tolist()
    assert set(found.figures) == {"interaction_heatmap", "ranks_before_after", "reversal_strength", "convergence"}


def test_what_a_panel_does_not_allow_is_named(panel: pj.Panel) -> None:
    small = panel.select(languages=["en", "de"], replicates=[panel.replicates[0]])
    found = paper_report(small, resamples=20)
    assert {n.values["part"] for n in found.notes} >= {"information"}
    with refused(PanelError, "two"):
        paper_report(panel.select(languages=["en"]))


def test_command_writes_latex_markdown_and_csv(cli: Run, panel: pj.Panel, tmp_path: Path) -> None:
    hostile = panel.to_long().replace({"judge": {"Ada": "A_d&a <b>"}})
    hostile.to_csv(tmp_path / "scores.csv", index=False)
    asked = ("paper", "report", tmp_path / "scores.csv", "--resamples", 100, "--at", "50", "--figures", "svg")
    done = cli(*asked, "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["command"] == "paper-report"
    assert [r["mark"] for r in out["tables"]["gates"]["rows"]] == [50]
    text = {
        ending: (tmp_path / "out" / "tables" / f"rank_reversal.{ending}").read_text() for ending in ("tex", "md", "csv")
    }
    assert r"A\_d\&a \textless{}b\textgreater{}" in text["tex"]
    assert "<b>" not in text["md"]
    assert "A_d&a <b>" in text["csv"]
    assert {p.name for p in (tmp_path / "out").iterdir() if p.name[0] != "."} == {
        "report.html", "report.json", "summary.md", "tables", "figures",
    }  # fmt: skip
    assert len(list((tmp_path / "out" / "figures").glob("*.svg"))) == 4


def test_reproduce_refuses_other_data_and_names_this_command(cli: Run, panel: pj.Panel, tmp_path: Path) -> None:
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    done = cli("paper", "reproduce", "devai", "--data", tmp_path / "scores.csv")
    assert done.returncode == 2
    assert "polyjudge paper report SCORES" in done.stderr
    with refused(PanelError, "polyjudge paper report SCORES"):
        devai_panel(tmp_path / "scores.csv")


@pytest.mark.statistical
def test_metadata_finds_what_is_planted_and_keeps_its_level() -> None:
    x = np.array([1.0, 1, 0, 0, 1, 0, 0, 1])
    names = [f"l{i}" for i in range(8)]
    planted = 10 * np.outer(x - x.mean(), [1, 0, -1])
    panel, _ = pj.simulate_panel(60, names, 3, interaction=planted, seed=1)
    table = pd.DataFrame({"language": names, "latin": np.where(x > 0, "yes", "no"), "size": [3, 1, 4, 1, 5, 9, 2, 6]})
    found = metadata(panel, table)
    rows = found.variables.set_index("variable")
    assert rows.loc["latin", "explained"] > 0.8
    assert rows.loc["latin", "p_holm"] < 0.1
    assert rows.loc["size", "p"] > rows.loc["latin", "p"]
    slope = found.table[found.table["variable"] == "latin"].iloc[0]
    assert slope["low"] < 5 < slope["high"]  # ten points between the words, which lie two sd apart
    assert found.notes[0].values["languages"] == 8
    rng = np.random.default_rng(2)
    false = 0
    for _ in range(60):
        null, _ = pj.simulate_panel(12, names, 3, interaction=5.0, seed=int(rng.integers(1e9)))
        false += metadata(null, table[["language", "size"]]).variables["p"].iloc[0] <= 0.05
    assert false <= 9
    for wrong, words in (
        (table.drop(columns="language"), "language"),
        (table.iloc[1:], "l0"),
        (table.assign(latin="same"), "latin"),
        (table[["language"]], "column"),
        (table.assign(latin=list("abcdefgh")), "latin"),
    ):
        with refused(PanelError, words):
            metadata(panel, wrong)


def test_two_arms_part_translation_from_the_judge() -> None:
    rng = np.random.default_rng(3)
    own = np.array([[4.0, -4, 0], [-4, 4, 0], [0, 0, 0]])
    other = np.array([[0.0, 0, 0], [0, 6, -6], [0, -6, 6]])
    base = rng.normal(50, 10, (80, 1, 1))
    arms = [
        pj.Panel.from_array(base + truth + rng.normal(0, 4, (80, 3, 3)), judges=["a", "b", "c"])
        for truth in (own + other, own)
    ]
    found = two_arms(*arms)
    cells = found.cells.set_index(["language", "judge"])
    truth = other - other.mean(axis=0) - other.mean(axis=1, keepdims=True) + other.mean()
    for (i, j), value in np.ndenumerate(truth):
        row = found.cells.iloc[i * 3 + j]
        assert row["low"] < value < row["high"]
    assert cells["clear"].sum() >= 4
    sizes = found.sizes.set_index("part")
    assert sizes.loc["difference", "low"] < (truth**2).mean() < sizes.loc["difference", "high"]
    assert sizes.loc["instructions", "low"] < (own**2).mean() < sizes.loc["instructions", "high"]
    with refused(PanelError, "share", 0):
        two_arms(arms[0], pj.simulate_panel(10, ["x", "y"], ["u", "v"])[0])
    report = paper_report(arms[0], control=arms[1], resamples=20)
    assert report["two_arms"].equals(found.sizes)


def test_reproduce_of_a_file_names_the_report(cli: Callable[..., Any]) -> None:
    done = cli("paper", "reproduce", "my scores.csv")
    assert done.returncode == 2
    assert "polyjudge paper report 'my scores.csv'" in done.stderr
