"""Test and retest, as the audit says it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from polyjudge.answers.audit.audit import audit
from polyjudge.panel import Panel
from polyjudge.report.terminal import screen


def panel(sd: tuple[float, ...] = (5, 20, 5), lead: float = 6.0, seed: int = 0) -> Panel:
    g = np.random.default_rng(seed)
    answer = 50 + g.normal(0, 8, (60, 2, 2, 1, 1)) + np.array([lead, 0])[:, None, None, None]
    runs = answer + g.normal(size=(60, 2, 2, len(sd), 2)) * np.array(sd)[:, None]
    made = Panel.from_array(runs.mean(-1), systems=["a", "b"], judges=["A", "B", "C"][: len(sd)], scale=(0, 100))
    return replace(made, replicates=runs, source="scores.csv")


def test_the_noisier_judge_is_on_the_first_screen() -> None:
    result = audit(panel())
    row = result.retest.set_index("judge").loc["B"]
    text = next(f.text for f in result.findings if f.key == "judges.retest")
    assert text.startswith(f"Asked again, B gives answers other scores: repeats differ by {row['sd']:.1f} points [")
    others = result.retest.loc[result.retest["judge"] != "B", "high"].max()
    assert f"those of the other judges by at most {np.ceil(10 * others) / 10:.1f}." in text
    assert text in re.sub(r"\s+", " ", screen(result.report()))
    assert result.retest["named"].tolist() == [False, True, False]
    assert "The same answer, scored again" in [section.title for section in result.report().sections]


def test_beside_judges_that_repeat_themselves() -> None:
    text = next(f.text for f in audit(panel(sd=(0, 20, 0))).findings if f.key == "judges.retest")
    assert text.endswith(
        "(standard deviation), while the other judges repeat themselves exactly. Average several runs of it."
    )


def test_the_share_of_the_lead() -> None:
    result = audit(panel(sd=(5, 5)))
    assert not any(f.key == "judges.retest" for f in result.findings)
    text = next(f.text for f in result.findings if f.key == "retest")
    # Two systems, each the mean of 60 tasks, 2 languages, 2 judges and 2 runs.
    error = 5 * np.sqrt(2 / (60 * 2 * 2 * 2))
    said = re.search(r"moves the lead of a by ([\d.]+) points \[[\d.]+, [\d.]+] \(standard error\): (\d+)%", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(error, abs=0.06)
    lead = result.systems.query("language == 'all'")["mean"].diff().abs().iloc[1]
    assert float(said[2]) == pytest.approx(100 * error / lead, abs=1)
    close = next(f.text for f in audit(panel(sd=(5, 5), lead=0.0)).findings if f.key == "retest")
    assert close.endswith("(standard error).")


def test_judges_that_were_asked_once_are_said() -> None:
    made = panel(sd=(5, 20, 5))
    made.replicates[:, :, :, [0, 2], 1] = np.nan  # type: ignore[index]
    text = next(f.text for f in audit(made).findings if f.key == "retest")
    assert text.startswith("Asked again, B's score of the same answer differs by")
    assert text.endswith("A and C were asked once, so what chance adds to their scores is not in this.")


def test_two_noisier_judges_are_averaged_both() -> None:
    made = panel(sd=(4, 20, 20))
    text = next(f.text for f in audit(made).findings if f.key == "judges.retest")
    assert text.startswith("Asked again, B and C give answers other scores")
    assert text.endswith("Average several runs of them.")


def test_without_repeats_nothing_is_said() -> None:
    result = audit(replace(panel(), replicates=None))
    assert not len(result.retest)
    assert result.retest.columns.tolist() == ["judge", "sd", "low", "high", "named"]
    assert not any("retest" in f.key for f in result.findings)
