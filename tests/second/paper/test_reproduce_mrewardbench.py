"""The M-RewardBench part: the human-anchor artefact end to end, the published matrices, and a panel of the layout."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_reproduce_sources import panel_file  # noqa: F401  # a fixture

from conftest import shared_file
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.paper import inputs as sources
from polyjudge.second.paper import published
from polyjudge.second.paper.mrewardbench import HumanAnchor, draw_sample, human_anchor, missing_behind, reproduce_mrewardbench
from polyjudge.second.paper.view import build
from polyjudge.second.report import terminal

LANGUAGES = published.load("mrewardbench")["panel"]["languages"]


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return sources.anchor_sample(shared_file("data/mrewardbench/human_anchor_sample.csv"))


@pytest.fixture(scope="module")
def anchor(sample: pd.DataFrame) -> HumanAnchor:
    return human_anchor(sample, LANGUAGES)


def test_the_gain_is_rounding(sample: pd.DataFrame, anchor: HumanAnchor) -> None:
    total = anchor.by_language.set_index("language").loc["all"]
    assert (total["raw_published"], total["calibrated_published"]) == (481, 536)
    assert (total["raw"], total["calibrated"]) == (481, 481)
    assert (total["changed"], total["rounding"], total["counted"]) == (0, 64, 55)
    # The authors' own flags are what the bare sign gives.
    assert (sample["raw_correct"].sum(), sample["cbc_correct"].sum()) == (481, 536)
    # Only rows that lack a judge's score move at all, and none of them changes its decision.
    moved = (sample["raw_margin"] - sample["cbc_margin"]).abs() > 1e-12
    assert moved.sum() == total["shifted"] == 3


def test_by_language(anchor: HumanAnchor) -> None:
    table = anchor.by_language.set_index("language")
    for row in published.load("mrewardbench")["human_anchor"]["by_language"]:
        mine = table.loc[row["language"]]
        assert mine["raw_published"] / 100 == row["raw_agreement"]
        assert mine["calibrated_published"] / 100 == row["cbc_agreement"]
        assert mine["raw"] == mine["calibrated"]


def test_a_true_change_is_seen(sample: pd.DataFrame) -> None:
    """With one margin truly moved over zero, the check says so: it does not only ever answer 'nothing changed'."""
    moved = sample.copy()
    row = moved.index[moved["raw_margin"] < -1][0]
    moved.loc[row, "cbc_margin"] = 0.5
    total = human_anchor(moved, LANGUAGES).by_language.set_index("language").loc["all"]
    assert (total["changed"], total["calibrated"]) == (1, 482)


def test_intervals(anchor: HumanAnchor, sample: pd.DataFrame) -> None:
    rate, low, high = anchor.intervals["raw"]
    assert rate == 481 / 700
    # Stratified sampling: the variance is that inside language and subset.
    within = sample.assign(p=sample["raw_margin"] > 1e-9).groupby(["language", "subset"])["p"].agg(["mean", "size"])
    sd = np.sqrt((within["mean"] * (1 - within["mean"]) * within["size"]).sum()) / 700
    assert (high - low) / (2 * 1.96 * sd) == pytest.approx(1, abs=0.08)
    assert anchor.intervals["gain"] == (0, 0, 0)
    assert human_anchor(sample, LANGUAGES).intervals == anchor.intervals


def test_the_sample_can_be_drawn_from_the_panel(sample: pd.DataFrame, panel_file: Path) -> None:  # noqa: F811
    """The published seed picks the very items of the authors' sample; their margins come from the panel."""
    panel = sources.mrewardbench_panel(panel_file)
    drawn = draw_sample(panel)
    assert drawn["item"].tolist() == [f"{s}::{i}" for s, i in zip(sample["subset"], sample["item"], strict=True)]
    assert drawn["language"].tolist() == sample["language"].tolist()
    row = drawn.iloc[333]
    mine = panel.scores[panel.tasks.index(row["item"]), panel.languages.index(row["language"])]
    assert row["raw_margin"] == pytest.approx(np.nanmean(mine))
    total = human_anchor(drawn, LANGUAGES).by_language.set_index("language").loc["all"]
    # Only items that lack a judge's score can change: there the mean is over the others.
    assert abs(total["raw"] - total["calibrated"]) <= total["changed"] <= total["shifted"] <= 35
    assert total["rounding"] > 0
    rows = reproduce_mrewardbench(panel, seed=3).ledger.rows.set_index("key")
    assert rows.loc["human_anchor > strata > alpacaeval-hard", "verdict"] == "reproduced"
    assert rows.loc["human_anchor > strata > alpacaeval-hard", "basis"] == "sample drawn from the panel"


def test_published_intervals_come_out_exactly(anchor: HumanAnchor) -> None:
    spec = published.load("mrewardbench")["human_anchor"]["overall"]
    for name, key in (("raw", "raw_published"), ("cbc", "calibrated_published"), ("gain", "gain_published")):
        _, low, high = anchor.intervals[key]
        assert (low, high) == pytest.approx((spec[f"{name}_ci_low"], spec[f"{name}_ci_high"]), abs=1e-12)


def test_gaps_read_off_the_published_means() -> None:
    book = published.load("mrewardbench")
    means = pd.DataFrame(book["raw_mean_margin"]).T
    assert missing_behind(means, 1500) == book["panel"]["missing_margins"] == 35
    assert missing_behind(pd.DataFrame([[1.5, 1 / 3]]), 1500) == 0
    assert missing_behind(pd.DataFrame([[1.5, 700 / 1499]]), 1500) == 1


def test_without_the_panel(sample: pd.DataFrame) -> None:
    result = reproduce_mrewardbench(None, sample)
    counts = result.ledger.counts
    assert counts["differs"] == 0
    rows = result.ledger.rows.set_index("key")
    beta = rows[rows.index.str.startswith("beta_hat")]
    assert len(beta) == 35
    assert set(beta["verdict"]) == {"reproduced"}
    assert set(beta["basis"]) == {"published matrix"}
    assert rows.loc["full_fit > raw", "verdict"] == "reproduced"
    assert rows.loc["full_fit > judge_aware_btl", "verdict"] == "reproduced"
    assert rows.loc["full_fit > cbc", "verdict"] == "identity"
    assert (rows[rows.index.str.startswith("calibrated_order")]["verdict"] == "reproduced").all()
    assert (rows[rows.index.str.startswith("raw_mean_margin")]["verdict"] == "needs data").all()
    assert rows.loc["held_out > cbc > 0", "verdict"] == "needs data"
    assert rows.loc["human_anchor > overall > raw_agreement", "verdict"] == "reproduced"
    for name in ("cbc_agreement", "gain", "gain_ci_low", "cbc_ci_high"):
        assert rows.loc[f"human_anchor > overall > {name}", "verdict"] == "artefact"
        assert rows.loc[f"human_anchor > overall > {name}", "corrected"]
    assert any("481 and 481 of 700" in c.correct for c in result.corrections)
    assert any("I7" in c.why for c in result.corrections)


def test_terminal_shows_the_artefact(sample: pd.DataFrame) -> None:
    text = terminal.text(build(reproduce_mrewardbench(None, sample)))
    assert re.search(r"all +700 +481 +536 +481 +481 +64 +64 +55", text)
    assert "Identity I1" in text
    assert max(map(len, text.splitlines())) <= 96


def test_without_anything() -> None:
    rows = reproduce_mrewardbench().ledger.rows
    anchor = rows[rows["key"].str.startswith("human_anchor")]
    assert set(anchor["verdict"]) == {"needs data"}
    assert anchor["reading"].str.contains("--anchor").all()
    assert rows.loc[rows["verdict"] == "needs data", "reading"].ne("").all()


def test_a_published_matrix_that_does_not_agree_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    book = published.load("mrewardbench")
    book["beta_hat"]["eng_Latn"]["deepseek/deepseek-v3.2"] += 1e-6
    monkeypatch.setattr(published, "load", lambda _: book)
    assert reproduce_mrewardbench().ledger.differs["key"].tolist() == ["beta_hat > eng_Latn > deepseek/deepseek-v3.2"]


def test_label_free_gain_in_sample() -> None:
    """I7 on any truth that no judge changes: the fall of the squared error is the mean squared interaction."""
    means = pd.DataFrame(published.load("mrewardbench")["raw_mean_margin"]).T.to_numpy()
    beta = double_centre(means)
    truth = np.random.default_rng(0).normal(size=(7, 1))
    fall = ((means - truth) ** 2).mean() - ((means - beta - truth) ** 2).mean()
    assert fall == pytest.approx((beta**2).mean(), abs=1e-12)
    text = f"{(beta**2).mean():.4f}"
    assert any(text in c.correct for c in reproduce_mrewardbench().corrections)
