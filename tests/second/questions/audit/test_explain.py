"""Explanations of the interaction: planted faults are found where they are, and described."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.questions.audit import explain
from polyjudge.second.questions.audit.explanation import parse_cell, without_cells
from refusals import refused

LANGUAGES = ["English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili"]
JUDGES = list("abcdef")


def one_cell(size: float = -20.0, seed: int = 1, **more: object) -> pj.Panel:
    """An additive panel but for judge b in Spanish."""
    fault = np.zeros((8, 6))
    fault[6, 1] = size
    return pj.simulate_panel(languages=LANGUAGES, judges=JUDGES, interaction=fault, seed=seed, **more)[0]


def test_one_broken_cell_is_one_cell() -> None:
    e = explain(one_cell())
    assert e.kind == "cell"
    assert e.named == [("Spanish", "b")]
    row = e.to_frame().set_index(["language", "judge"]).loc[("Spanish", "b")]
    assert row["low"] < -20 < row["high"]
    assert row["interaction"] == pytest.approx(-20 * 35 / 48, abs=3)
    assert row["matter"] == "material"
    assert e.stability > 0.8
    assert e.clear > 1  # double centring spreads it
    assert e.clear_without == 0
    assert e.largest_without < e.largest / 3


def test_an_additive_panel_needs_no_explanation() -> None:
    panel, _ = pj.simulate_panel(interaction=0.0, seed=2)
    e = explain(panel)
    assert (e.kind, e.named) == ("none", [])
    assert e.culprits.empty
    assert e.worst.empty
    assert e.largest_without == pytest.approx(e.largest)


@pytest.mark.parametrize("kind", ["judge", "language"])
def test_a_line_is_named_whole(kind: str) -> None:
    off = np.zeros((8, 6))
    if kind == "judge":
        off[:, 2] = [15, -15, 12, -12, 15, -9, -15, 15]
    else:
        off[5] = [15, -15, 12, -12, 14, -15]
    panel, _ = pj.simulate_panel(languages=LANGUAGES, judges=JUDGES, interaction=off, seed=3)
    e = explain(panel)
    assert e.kind == kind
    assert {j if kind == "judge" else language for language, j in e.named} == {"c" if kind == "judge" else "Japanese"}
    assert len(e.named) == (8 if kind == "judge" else 6)
    assert e.clear_without == 0


def test_devai_is_diffuse_and_one_cell_stands_out(devai: pj.Panel) -> None:
    e = explain(devai)
    assert e.kind == "diffuse"
    assert e.named == [("Spanish", "GPT-4o")]
    row = e.culprits.iloc[0]
    assert row["excess"] == pytest.approx(-31.01, abs=0.01)
    assert row["low"] <= row["excess"] <= row["high"]
    assert row["interaction"] == pytest.approx(-20.606, abs=1e-3)
    assert row["floor"] == pytest.approx(0.612, abs=1e-3)
    assert row["floor_elsewhere"] < 0.1
    assert row["share"] > 0.9
    assert e.largest_without < e.largest / 2


def test_worst_tasks_are_scores_of_the_panel_on_the_side_of_the_fault() -> None:
    panel = one_cell()
    worst = explain(panel, most=4).worst
    assert len(worst) == 4
    assert (worst["gap"] < 0).all()
    assert worst["gap"].is_monotonic_increasing
    for row in worst.itertuples():
        assert row.score == panel.scores[panel.tasks.index(row.task), 6, 1]
        assert row.expected == pytest.approx(row.score - row.gap)


def test_any_cell_may_be_asked_for() -> None:
    e = explain(one_cell(), cell=("Hindi", "a"))
    assert e.culprits[["language", "judge"]].to_numpy().tolist() == [["Hindi", "a"]]
    assert set(e.worst["language"]) == {"Hindi"}
    assert e.kind == "cell"
    with refused(PanelError, "Klingon", "Swahili"):
        explain(one_cell(), cell=("Klingon", "a"))
    with refused(UsageError, "resamples", 3, 20):
        explain(one_cell(), resamples=3)


def test_holes_do_not_hide_a_broken_cell() -> None:
    e = explain(one_cell(missing=0.1))
    assert e.named == [("Spanish", "b")]
    assert e.culprits["missing"].iloc[0] == pytest.approx(0.1, abs=0.1)
    assert not e.worst["score"].isna().any()


def test_result_is_plain_data_and_repeatable() -> None:
    first, second = explain(one_cell(), seed=5), explain(one_cell(), seed=5)
    assert first.to_dict() == second.to_dict()
    assert list(first.to_frame().columns)[:5] == ["language", "judge", "excess", "low", "high"]
    assert {"interaction", "named"} <= set(first.to_frame().columns)


@pytest.mark.parametrize("kind", ["none", "cell", "cells", "judge", "language", "diffuse"])
@pytest.mark.statistical
def test_planted_faults_are_found(kind: str) -> None:
    """A small run of benchmarks/explain.py: right kind in 90%, planted cells only in 95%, less two standard errors."""
    path = Path(__file__).parents[3] / "benchmarks" / "explain.py"
    spec = importlib.util.spec_from_file_location("planted", path)
    assert spec is not None
    assert spec.loader is not None
    planted = importlib.util.module_from_spec(spec)
    sys.modules["planted"] = planted
    spec.loader.exec_module(planted)
    found = planted.study(kind, 60, seed=1)
    assert found.right >= 60 * 0.9 - 2 * np.sqrt(60 * 0.9 * 0.1)
    assert found.only >= 60 * 0.95 - 2 * np.sqrt(60 * 0.95 * 0.05)


def test_a_judge_that_always_fails_in_a_language_is_that_cell() -> None:
    """Its scores there have no spread at all: weighed by their error alone they would outvote the others."""
    scores = np.random.default_rng(1).normal(50, 8, (40, 5, 5))
    scores[:, 1, 2] = 0.0
    e = explain(pj.Panel.from_array(scores))
    assert (e.kind, e.named) == ("cell", [("language2", "judge3")])
    assert e.culprits["excess"].iloc[0] == pytest.approx(-50, abs=4)


def test_most_cells_of_a_faulty_judge_may_be_sound() -> None:
    """Three languages of eight are off: the judge is named, and measured from its other five."""
    off = np.zeros((8, 6))
    off[[1, 4, 6], 2] = -25
    e = explain(pj.simulate_panel(languages=LANGUAGES, judges=JUDGES, interaction=off, seed=3)[0])
    assert e.kind == "judge"
    assert np.reshape(e.cells["excess"], (8, 6))[:, 2] == pytest.approx(off[:, 2], abs=5)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ["gaussian", "heavy"])
def test_the_size_of_a_broken_cell_is_not_drawn_towards_nothing(noise: Any) -> None:
    fault = np.zeros((4, 4))
    fault[1, 2] = -12
    rows = [
        explain(pj.simulate_panel(40, 4, 4, interaction=fault, noise=noise, seed=i)[0], resamples=20).cells.iloc[6]
        for i in range(50)
    ]
    errors = np.array([r["excess"] + 12 for r in rows])
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(50)
    assert np.mean([r["low"] <= -12 <= r["high"] for r in rows]) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 50)


def test_a_panel_without_its_broken_cell_agrees() -> None:
    panel = one_cell()
    rest = without_cells(panel, [("Spanish", "b")])
    keep = np.ones((8, 6), bool)
    keep[6, 1] = False
    assert np.array_equal(rest.scores[:, keep], panel.scores[:, keep])
    e = explain(rest)
    assert e.kind == "none"
    assert np.abs(least_absolute_of(rest)[6, 1]) < 2
    assert any("Spanish" in str(note) for note in rest.notes)
    with refused(PanelError, "--languages", "--judges"):
        without_cells(panel, [(language, "b") for language in LANGUAGES])


def least_absolute_of(panel: pj.Panel) -> Any:
    return np.reshape(explain(panel).to_frame()["excess"], panel.shape[1:])


def test_cells_are_left_out_of_replicates_and_systems_alike() -> None:
    panel, _ = pj.simulate_panel(12, 5, 4, replicates=3, seed=2)
    rest = without_cells(panel, [("language2", "judge3")])
    assert rest.replicate_scores is not None
    assert rest.replicate_scores.mean(axis=3) == pytest.approx(rest.scores)


def test_places_are_read_even_with_commas_in_names() -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).random((9, 3, 3)), None, ["a,b", "c", "d"], ["x", "y,z", "w"])
    assert parse_cell("a,b,y,z", panel) == ("a,b", "y,z")
    assert parse_cell("c, w", panel) == ("c", "w")
    with refused(UsageError, "c", "LANGUAGE,JUDGE"):
        parse_cell("c", panel)
    with refused(PanelError, "q", "a,b, c, d"):
        parse_cell("q,w", panel)


def test_command(cli: Any, tmp_path: Path) -> None:
    one_cell().to_long().to_csv(tmp_path / "scores.csv", index=False)
    done = cli("audit", tmp_path / "scores.csv", "--resamples", 100)
    assert done.returncode == 0, done.stderr
    assert "[-" in done.stdout  # the culprit is marked
    options = ("--resamples", 100, "--cell", "Hindi,a", "--json", "-o", tmp_path / "out")
    result = json.loads(cli("audit", tmp_path / "scores.csv", *options).stdout)
    assert (result["explanation"]["kind"], result["cell"]) == ("cell", ["Hindi", "a"])
    assert result["explanation"]["culprits"][0]["language"] == "Hindi"
    assert (tmp_path / "out" / "report.html").exists()
    assert cli("audit", tmp_path / "scores.csv", "--cell", "Hindi,ghost").returncode == 2
