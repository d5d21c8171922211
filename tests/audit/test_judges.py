"""Agreement in words, tables of judges, and who changes places between languages."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from common import ROOT, shared_file
from polyjudge.answers.audit import judges as room
from polyjudge.answers.audit.systems import systems
from polyjudge.panel import Panel
from polyjudge.stats.agreement import agreement


def words(y: np.ndarray, **more: object) -> list[str]:
    panel = Panel.from_array(y, scale=(0, 100), **more)
    a = agreement(panel.scores, panel.unit, panel.weight, width=panel.width)
    board = systems(panel, matters=2, level=0.95).board if panel.has_systems else None
    return [f.text for f in room.findings(panel, a, board, {})]


def drawn(n: int = 60, s: int = 3, k: int = 3, m: int = 4, signal: float = 6.0, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    return 50 + g.normal(0, signal, (n, s, k, 1)) + g.normal(0, 5, (n, s, k, m))


def test_they_agree() -> None:
    said = words(drawn())
    assert len(said) == 1
    assert said[0].startswith("They agree on which system is better (r = 0.")
    assert "for the panel" in said[0]
    assert said[0].endswith("Whether they are right only people can tell.")


def test_two_judges_and_one_maker() -> None:
    said = words(drawn(m=2), judges=["gpt-4o", "gpt-5"])
    assert "between the two" in said[0]
    assert "both are OpenAI models, and an error they share cannot show here" in said[0]
    assert room.one_maker(["A", "A"], {}) == ""
    assert room.one_maker(["A", "B"], {"A": "X", "B": "X"}) == "X"


def test_without_systems_they_agree_on_answers() -> None:
    assert "on which answers score high" in words(drawn(s=1))[0]
    assert words(drawn(s=1, signal=0))[0].startswith("They hardly agree on which answers score high (r = ")


def test_blind_and_hardly() -> None:
    assert "a ranking by this panel would be noise" in words(drawn(signal=0))[0]
    y = drawn(n=400, signal=0.2)
    y[:, 1] += 1.5
    y[:, 0] += 0.2
    said = words(y, systems=["Boss", "OpenHands", "c"])[0]
    assert said.startswith("They hardly agree on single answers (r = ")
    assert "OpenHands' lead of 1." in said
    assert said.endswith("shows only in the mean over tasks.")


def test_too_few_tasks_to_tell() -> None:
    assert "Too few tasks to tell whether they agree" in words(drawn(n=7, signal=2.5, k=1, m=3))[0]


def test_weak_agreement_and_answers_that_are_alike() -> None:
    said = words(drawn(n=60, signal=2.3, k=1, m=2, seed=2))[0]
    assert re.match(r"They agree weakly on which system is better \(r = 0\.[12]\d \[0\.0", said)
    assert re.search(r"; the reliability of the panel's mean is between 0\.\d\d and 0\.\d\d\)\.$", said)
    y = np.full((60, 3, 1, 3), 100.0)
    y[:2, 0, 0] = y[2, 1, 0, 0] = y[3, 2, 0, 1] = y[4, 2, 0, 2] = 0
    assert words(y)[0].startswith("Too few answers differ to tell whether they agree on which system is better (r = ")


def test_odd_and_constant() -> None:
    y = drawn(n=200, m=5, signal=10)
    y[..., 4] = 50 + 0.35 * (y[..., 4] - 50) + np.random.default_rng(5).normal(0, 5, y.shape[:3])
    less = next(x for x in words(y) if x.startswith("J5 agrees less with the others (r = 0."))
    assert re.search(r"; the others with each other 0\.\d\d \[0\.\d\d, 0\.\d\d]\)\.$", less)
    z = y.copy()
    z[..., 4] = np.random.default_rng(6).normal(50, 9, y.shape[:3])
    assert any("J5 agrees with nobody" in x for x in words(z))
    y[..., 2] = 70
    said = words(y)
    assert said[0] == "J3 gives every answer the same score."
    assert any("They agree" in x for x in said)
    y[..., :4] = 70
    assert "Agreement needs two judges whose scores vary." in words(y)
    y = drawn()
    y[:, 1:] = y[:, :1]  # the judges vary, and tell no systems apart
    assert words(y)[0].startswith("No two judges both tell the systems apart on answers that both score")


def test_a_judge_outside_the_groups_agrees_less_or_with_nobody() -> None:
    """ "With nobody" only where the judge's own upper limit says so."""
    y = drawn(n=300, m=4, signal=9)
    g = np.random.default_rng(1)
    y[..., 3] = 50 + 0.15 * (y[..., 3] - 50) + g.normal(0, 9, y.shape[:3])
    assert re.search(r"J1, J2 and J3 agree .* J4 agrees less with the others \(r at most 0\.[12]\d\)\.", words(y)[0])
    y[..., 3] = g.normal(50, 9, y.shape[:3])
    assert "J4 agrees with nobody." in words(y)[0]


def test_a_judge_that_runs_against_the_others() -> None:
    y = drawn()
    y[..., 3] = 100 - y[..., 3]
    assert words(y)[1].startswith("J4 runs against the others (r = -0.")
    assert "nobody" not in words(y)[0]
    assert words(y[..., 2:])[0].startswith("They run against each other on which system is better (r = -0.")


def test_noise_judges_are_not_said_to_agree() -> None:
    wrong = 0
    for seed in range(10):
        y = drawn(m=5, signal=0, seed=seed)
        y[..., :2] += np.random.default_rng(seed + 100).normal(0, 8, (60, 3, 3, 1))
        text = " ".join(words(y))
        wrong += any(f"J{i}" in text.split("agree with each other")[0] for i in (3, 4, 5)) and "each other" in text
        assert "ranking by this panel" not in text
    assert wrong == 0


def test_reversals_are_those_of_the_paper() -> None:
    d = pd.read_csv(shared_file("devai/run_level_scores.csv")).rename(columns={"backbone": "judge"})
    panel = Panel.from_frame(d, scale=(0, 100))
    found = room.reversals(panel, panel.values())
    old = pd.read_csv(ROOT / "tests" / "golden" / "devai_reversals.csv")
    old = old[old["delta"] > 0]
    both = found.merge(old, on=["judge_i", "judge_j"], suffixes=("", "_old"))
    assert len(both) == len(found) == len(old)
    for column in ("delta", "p_published"):
        assert both[column].tolist() == pytest.approx(both[f"{column}_old"].tolist(), rel=1e-9)
    assert found.columns.tolist() == room.REVERSALS
    assert (found["p"] >= found["p_published"] - 1e-12).all()
    assert (found["gap_a"] * found["gap_b"] < 0).all()
    said = room.reversal_finding(panel, panel.values(), 0.95)[0].text
    assert f"{int((found['p'] <= 0.05).sum())} of 15 pairs of judges reverse between languages" in said


def test_who_gives_more_is_told_in_the_right_language() -> None:
    y = drawn(s=1, k=2, m=2, signal=5)
    y[:, :, 0, 0] += 9
    y[:, :, 1, 1] += 9
    panel = Panel.from_array(y, languages=["en", "de"], judges=["A", "B"])
    text = room.reversal_finding(panel, panel.values(), 0.95)[0].text
    assert "A gives more than B in en, and less in de" in text or "B gives more than A in de, and less in en" in text


def test_ranks_before_and_after() -> None:
    y = drawn(s=1, k=3, m=4)
    y += np.random.default_rng(2).normal(0, 8, (3, 4))
    panel = Panel.from_array(y)
    frame = room.ranks(panel, panel.values())
    before = frame[frame["panel"] == "Before"].pivot(index="group", columns="label", values="rank")
    mean = pd.DataFrame(y.mean((0, 1)), index=panel.languages, columns=panel.judges)
    assert before.to_numpy().tolist() == mean.rank(axis=1, ascending=False).astype(int).to_numpy().tolist()
    after = frame[frame["panel"] != "Before"].groupby("label")["rank"].nunique()
    assert (after == 1).all()


def test_frame_of_judges() -> None:
    panel = Panel.from_array(drawn(), scale=(0, 100))
    a = agreement(panel.scores, panel.unit, panel.weight)
    slopes = pd.DataFrame({"judge": ["J2"], "slope": [0.4], "low": [0.3], "high": [0.5]})
    frame = room.frame(panel, panel.values(), a, slopes, [("l2", "J3")]).set_index(["language", "judge"])
    assert frame.loc[("all", "panel"), "r"] == a.r
    assert frame.loc[("all", "J1"), "r"] == a.own[0]
    assert frame.loc[("l2", "J3"), "named"]
    assert frame["named"].sum() == 1
    assert frame.loc[("l1", "J4"), "mean"] == pytest.approx(panel.scores[:, :, 0, 3].mean())
    assert frame.loc[("all", "J2"), "slope_low"] == pytest.approx(0.3, rel=1e-9)
    assert np.isnan(frame.loc[("all", "J1"), "slope"])


def test_missing_scores_that_hang_on_the_cell() -> None:
    y = drawn(n=80, s=1)
    g = np.random.default_rng(0)
    even = np.where(g.random(y.shape) < 0.1, np.nan, y)
    assert room.lacking(Panel.from_array(y)) == []
    assert room.lacking(Panel.from_array(even)) == []
    even[g.random(80) < 0.3, :, 1, 2] = np.nan
    text = room.lacking(Panel.from_array(even))[0].text
    rate = np.isnan(even).mean((0, 1))
    assert f"J3 in l2 lacks {100 * rate[1, 2]:.0f}% of its scores" in text
