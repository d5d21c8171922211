"""Does the win stand: each threat planted, each with its innocent twin, and what is said of it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.amounts import amount
from polyjudge.answers.audit.audit import Audit, audit
from polyjudge.answers.audit.copies import find_copies, judge_covariances, merge_copies, reaction_slopes
from polyjudge.answers.audit.leads import Contest, is_less_left, judge_lead
from polyjudge.answers.audit.own_maker import estimate_own_terms, own_maker
from polyjudge.answers.audit.stands_words import longer_words
from polyjudge.base.errors import UsageError
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.report.terminal import screen
from polyjudge.report.text import markdown
from polyjudge.stats.cells import Values
from polyjudge.stats.within_rows import fit_within_rows

MODELS = ("gpt-5", "claude-4", "gemini-3", "qwen-3")
SMALL = ("gpt-5-mini", "claude-haiku", "gemini-flash", "qwen-small", "llama-4")


def scores(seed: int = 0, tasks: int = 80, systems: int = 4, languages: int = 1, judges: int = 4) -> np.ndarray:
    """Systems that are equal, answers that differ, and judges who see that."""
    g = np.random.default_rng([seed, 7])
    y = 50 + g.normal(0, 10, (tasks, 1, 1, 1)) + g.normal(0, 4, (tasks, systems, 1, 1))
    return np.asarray(y + g.normal(0, 5, (tasks, systems, languages, judges)))


def look(y: np.ndarray, **names: object) -> Audit:
    return audit(Panel.from_array(y, scale=(0, 100), **names))  # type: ignore[arg-type]


def row(result: Audit, threat: str) -> pd.Series:
    return result.stands.set_index("threat").loc[threat]


def winner(result: Audit) -> str:
    return next(f.text for f in result.findings if f.topic == "Winner")


def keys(result: Audit) -> dict[str, str]:
    return {f.key: f.severity for f in result.findings}


def test_a_sound_win_stands_and_says_what_was_tested() -> None:
    y = scores(languages=3)
    y[:, 0] += 8
    result = look(y)
    assert result.stands.columns.tolist() == ["threat", "left", "low", "high", "verdict", "seen", "text"]
    assert result.stands["verdict"].tolist() == ["stands", "stands", "no verdict"]
    assert winner(result).endswith("The lead stands without any one judge or language.")
    assert not [key for key in keys(result) if key.startswith("winner.")]
    single = look(y[:, :, :1, :1])
    assert "stands" not in winner(single)
    assert not len(single.stands)


def test_leads_left_are_plain_means_of_paired_differences() -> None:
    y = scores(languages=2)
    y[:, 0] += 8
    result = look(y)
    left_out = [y[..., [b for b in range(4) if b != out]].mean((0, 2, 3)) for out in range(4)]
    smallest = min(float(means[0] - means[1:].max()) for means in left_out)
    assert row(result, "one judge")["left"] == pytest.approx(smallest)
    by_judge = [y[..., b].mean((0, 2)) for b in range(4)]
    second = int(np.argsort(y.mean((0, 2, 3)))[-2])
    leads = [float(means[0] - means[second]) for means in by_judge]
    assert [row(result, "judges as a sample")[c] for c in ("low", "high")] == pytest.approx([min(leads), max(leads)])


@pytest.mark.parametrize("axis", ["judge", "language"])
def test_one_judge_or_language_that_makes_the_win_is_named(axis: str) -> None:
    y = scores(languages=4)
    if axis == "judge":
        y[:, 0, :, 2] += 20
    else:
        y[:, 0, 2] += 20
    result = look(y)
    who = "J3" if axis == "judge" else "l3"
    assert row(result, f"one {axis}")["verdict"] == "depends"
    assert f"The lead depends on {who}: without it, " in winner(result)
    assert keys(result)[f"winner.one_{axis}"] == "warning"
    other = "language" if axis == "judge" else "judge"
    assert row(result, f"one {other}")["verdict"] == "stands"


def test_judges_of_one_maker_are_left_out_together() -> None:
    y = scores(judges=5)
    y[:, 0, :, :2] += 12
    result = look(y, judges=["gpt-5", "gpt-4.1", "claude-4", "gemini-3", "qwen-3"])
    assert "The lead depends on the two OpenAI judges: without them, " in winner(result)


def test_a_leader_that_one_judge_or_language_alone_scores_cannot_be_compared_without_it() -> None:
    y = scores(languages=3)
    y[:, 0] += 8
    by_one = y.copy()
    by_one[:, 0, :, 1:] = np.nan
    text = winner(look(by_one))
    assert "Without J1, s1 cannot be compared with any other system." in text
    assert ". 1 of 4 judges puts it first" in text  # the others were not asked
    in_one = y.copy()
    in_one[:, 0, 1:] = np.nan
    result = look(in_one)
    assert row(result, "one language")["verdict"] == "cannot be told"
    assert winner(result).endswith("Without l1, s1 cannot be compared with any other system.")
    rival = y.copy()
    rival[:, 2, :, 1:] = np.nan
    assert winner(look(rival)).endswith("Without J1, s1 cannot be compared with s3.")


def test_less_than_half_has_to_be_left() -> None:
    g = np.random.default_rng(0)
    contest = Contest(Panel.from_array(scores(), scale=(0, 100)), 0, (1, 2, 3), 0.95, 6)
    values = np.zeros((80, 4))
    values[:, 0] = 10 + g.normal(0, 1, 80)
    before = contest.lead(Values(values, np.zeros((4, 0))))
    for left, falls in ((0.6, False), (0.4, True)):
        after = contest.lead(Values(left * values, np.zeros((4, 0))))
        assert is_less_left(before, after) == falls
        assert judge_lead(before, after, "depends") == "stands"  # it is still surely ahead


def test_a_lead_that_rare_failures_could_take_says_so() -> None:
    g = np.random.default_rng(0)
    y = 60 + g.normal(0, 10, (40, 1, 1, 1)) + g.normal(0, 2, (40, 3, 1, 4))
    y[:, 0] += 3
    assert "], unless it fails on fewer than 1 in 13 tasks. All four judges put it first" in winner(look(y))
    y[:, 0] += 6  # above (1 - 0.05^(1/40)) x 69
    assert "unless" not in winner(look(y))


# --- own makers ---


def test_a_favour_for_the_own_maker_is_named_and_taken_out() -> None:
    y = scores(systems=5)
    y[:, 0, :, 0] += 20
    result = look(y, judges=MODELS, systems=SMALL)
    assert row(result, "own maker")["verdict"] == "depends"
    assert "The lead depends on own-maker scores: gpt-5 scores its own maker's systems " in winner(result)
    assert keys(result)["winner.own_maker"] == "warning"
    assert "systems.own-maker" not in keys(result)  # said on the Winner line
    mask = np.array([[s == b and s < 4 for b in range(4)] for s in range(5)])
    rest = np.nanmean(np.where(mask[:, None, :], np.nan, y - y.mean(1, keepdims=True)), axis=(0, 2, 3))
    assert row(result, "own maker")["left"] == pytest.approx(rest[0] - np.delete(rest, 0).max(), abs=1.5)


def test_own_maker_scores_are_taken_out_of_a_weighted_board_too() -> None:
    y = scores(systems=4)
    y[:, 0, :, 0] += 25
    panel = Panel.from_array(y, judges=MODELS, systems=SMALL[:4], scale=(0, 100))
    rest = np.where(np.eye(4, dtype=bool)[None, :, None, :], np.nan, panel.scores)
    weights = np.array([2.0, 1.0, 0.0, 1.0]) / 4
    lead = Contest(panel, 0, (1, 2, 3), 0.95, 6, weights).lead_by_known_judges(replace(panel, scores=rest))
    assert lead is not None
    gaps = y[:, 0, 0, :] - y[:, 3, 0, :]  # over SMALL[3], which J4 made: only the second judge compares the two
    assert lead.value[3] == pytest.approx(gaps[:, 1].mean())
    gaps = y[:, 0, 0, :] - y[:, 2, 0, :]
    assert lead.value[2] == pytest.approx((gaps[:, 1].mean() + gaps[:, 3].mean()) / 2)


def test_a_favour_without_a_win_is_said_of_the_judge() -> None:
    y = scores(systems=5)
    y[:, 0, :, 0] += 12
    y[:, 0] -= 3
    result = look(y, judges=MODELS, systems=SMALL)
    finding = next(f for f in result.findings if f.key == "systems.own-maker")
    assert finding.topic == "Judges"
    assert finding.severity == "warning"
    assert finding.text.startswith("gpt-5 scores its own maker's systems ")


def test_tastes_are_no_favour_and_unknown_makers_are_nobodys_own() -> None:
    y = scores(systems=5)
    for judge, system in ((0, 0), (1, 2), (2, 1), (3, 0)):
        y[:, system, :, judge] += 12
    panel = Panel.from_array(y, judges=MODELS, systems=SMALL, scale=(0, 100))
    assert not own_maker(panel, {}, level=0.95).favouring
    same_name = Panel.from_array(y, judges=("A", "B", "C", "D"), systems=("A", "x", "y", "z", "w"), scale=(0, 100))
    assert "No judge and system are known to come from the same maker" in own_maker(same_name, {}, level=0.95).why_not
    given = {"A": "Acme", "B": "Bell"}
    y[:, 0, :, 0] += 15
    named = own_maker(replace(same_name, scores=y), given, level=0.95)
    assert named.makers == ("Acme",)
    assert np.isfinite(named.value).tolist() == [True, False, False, False]


def test_a_table_that_is_too_small_says_how_large_it_would_have_to_be() -> None:
    y = scores(systems=2, judges=2)
    panel = Panel.from_array(y, judges=MODELS[:2], systems=SMALL[:2], scale=(0, 100))
    found = own_maker(panel, {}, level=0.95)
    assert found.df < 2
    assert "it takes 5 judges of these systems, or systems of 5 makers" in found.why_not
    assert not found.favouring
    table = np.random.default_rng(0).normal(size=(2, 5))
    own = [np.array([[s == b for b in range(5)] for s in range(2)]) & (np.arange(5) == b) for b in range(2)]
    assert estimate_own_terms(table, own, 0.95).df == 2  # as the sentence says


def test_each_system_of_unknown_maker_is_a_row_of_its_own() -> None:
    names = ("gpt-5-mini", "claude-haiku", "gemini-flash", "online-w", "online-b")
    found = own_maker(Panel.from_array(scores(systems=5), judges=MODELS, systems=names, scale=(0, 100)), {}, level=0.95)
    assert found.df == 4 * 3 - 3  # (rows - 1) (judges - 1) - judges with an own maker


def test_verdicts_on_systems_of_the_own_maker_are_left_out() -> None:
    g = np.random.default_rng(4)
    names = ("gpt-5-mini", "claude-haiku", "llama-4")
    rows = []
    for task in range(120):
        for judge in ("gpt-5", "claude-4", "gemini-3"):
            one, other = (names[i] for i in g.permutation(3)[:2])
            odds = 1.5 * (("gpt" in one and "gpt" in judge) - ("gpt" in other and "gpt" in judge))
            odds += 0.8 * (("gpt" in one) - ("gpt" in other))
            winner_ = "model_a" if g.random() < 1 / (1 + np.exp(-odds)) else "model_b"
            rows.append((f"t{task}", judge, one, other, winner_))
    frame = pd.DataFrame(rows, columns=["task", "judge", "model_a", "model_b", "winner"])
    maker = frame["judge"].str.split("-").str[0]
    is_own = [m in a or m in b for m, a, b in zip(maker, frame["model_a"], frame["model_b"], strict=True)]
    rest = audit(read_panel(frame[~np.array(is_own)])).systems
    expected = float(rest["mean"].iloc[0] - rest["mean"].iloc[1])
    assert rest["system"].iloc[0] == "gpt-5-mini"
    assert row(audit(read_panel(frame)), "own maker")["left"] == pytest.approx(expected, abs=1e-6)


def test_own_terms_are_ordinary_least_squares() -> None:
    table = np.random.default_rng(1).normal(size=(4, 5))
    own = np.array([[s == b for b in range(5)] for s in range(4)])
    masks = [own & (np.arange(5) == b) for b in range(4)]
    design = [
        [float(s == i) for i in range(4)] + [float(b == i) for i in range(1, 5)] + [float(m[s, b]) for m in masks]
        for s in range(4)
        for b in range(5)
    ]
    expected = np.linalg.lstsq(np.array(design), table.ravel(), rcond=None)[0][8:]
    found = estimate_own_terms(table, masks, 0.95)
    assert found.value == pytest.approx(expected)
    assert found.df == 20 - 12


# --- length ---


def longer(y: np.ndarray, times: float, sd: float = 0.8) -> np.ndarray:
    """Logarithms of lengths, the first system's so many times as long."""
    g = np.random.default_rng(5)
    lengths = g.normal(8, sd, (len(y), y.shape[1], y.shape[2])) * np.log(2)
    lengths[:, 0] += np.log(times)
    return np.asarray(lengths)


def test_a_longer_leader_cannot_be_told_from_length() -> None:
    y = scores()
    lengths = longer(y, 1.5)
    y += 8 * (lengths / np.log(2) - 8)[..., None]
    result = audit(replace(Panel.from_array(y, scale=(0, 100)), length=lengths, source="scores.csv"))
    verdict = row(result, "length")
    assert verdict["verdict"] == "cannot be told"
    assert abs(verdict["left"]) < 2
    assert "s1's answers are " in winner(result)
    assert "Whether longer is better, scores cannot tell: label answers of these two." in winner(result)
    assert keys(result)["winner.length"] == "notice"
    assert any("label make" in step.command and "--systems s1,s" in step.command for step in result.next)


def test_what_length_explains_has_no_error_at_equal_length() -> None:
    y = scores()
    lengths = longer(y, 1.5)
    g = np.random.default_rng(8)
    y = 50 + g.normal(0, 10, (80, 1, 1, 1)) + g.normal(0, 0.1, y.shape) + 8 * (lengths / np.log(2) - 8)[..., None]
    y = np.broadcast_to(y, (80, 4, 1, 4)) + g.normal(0, 0.1, (80, 4, 1, 4))
    verdict = row(audit(replace(Panel.from_array(y, scale=(0, 100)), length=lengths)), "length")
    assert verdict["left"] == pytest.approx(0, abs=0.2)
    assert verdict["high"] - verdict["low"] < 0.5


def test_length_never_stands_whatever_the_slope_inside_systems() -> None:
    y = scores(seed=2)
    y[:, 0] += 8  # the leader is longer, and inside systems length changes nothing
    result = audit(replace(Panel.from_array(y, scale=(0, 100)), length=longer(y, 1.5)))
    assert row(result, "length")["verdict"] == "cannot be told"
    shorter = audit(replace(Panel.from_array(y, scale=(0, 100)), length=longer(y, 0.7)))
    assert row(shorter, "length")["verdict"] == "does not apply"
    assert "longer" not in winner(shorter)
    assert row(shorter, "length")["text"].startswith("s1's answers are not longer than s")
    y = y + 6 * (np.arange(4) == 0)[:, None, None] - 8 * (longer(y, 1.5) / np.log(2) - 8)[..., None]
    disliked = audit(replace(Panel.from_array(y, scale=(0, 100)), length=longer(y, 1.5)))
    assert row(disliked, "length")["text"].endswith("but the judges give less for longer answers.")


def test_lengths_that_hardly_differ_have_no_slope() -> None:
    y = scores()
    y[:, 0] += 8
    result = audit(replace(Panel.from_array(y, scale=(0, 100)), length=longer(y, 1.2, sd=0.05)))
    assert np.isnan(row(result, "length")["left"])
    assert "at equal length" not in winner(result)
    assert "s1's answers are 2" in winner(result)


def test_a_lead_that_is_as_large_at_equal_length_is_said_as_that() -> None:
    y = scores(seed=2)
    y[:, 0] += 8
    result = audit(replace(Panel.from_array(y, scale=(0, 100)), length=longer(y, 1.5)))
    text = winner(result)
    assert "'s: at equal length, the lead is " in text
    assert "is left" not in text


def test_longer_in_words() -> None:
    assert longer_words(np.log2(1.4), "b") == "40% longer than b's"
    assert longer_words(np.log2(2.3), "b") == "2.3 times as long as b's"


# --- places ---


def verdicts(share_first: float, bias: float, better: float, seed: int = 0, tasks: int = 150) -> Panel:
    """X and Y before two judges who pick the first with so much more log odds."""
    g = np.random.default_rng(seed)
    rows = []
    for task in range(tasks):
        x_first = g.random() < share_first
        for judge in ("A", "B"):
            odds = bias + (better if x_first else -better)
            first = g.random() < 1 / (1 + np.exp(-odds))
            pair = ("X", "Y") if x_first else ("Y", "X")
            rows.append((f"t{task}", judge, *pair, "model_a" if first else "model_b"))
    return read_panel(pd.DataFrame(rows, columns=["task", "judge", "model_a", "model_b", "winner"]))


def test_one_percentage_point_is_no_plural() -> None:
    assert amount(verdicts(0.5, 0.0, 0.0), 0.01, -0.12, 0.14) == "1 percentage point [-12, 14]"


def test_one_order_cannot_be_told_from_quality() -> None:
    result = audit(verdicts(1.0, 1.5, 0.0))
    assert row(result, "position")["verdict"] == "cannot be told"
    assert "X was always shown first: judges may be choosing the place." in winner(result)
    assert keys(result)["winner.position"] == "warning"


def test_a_place_that_makes_the_win_is_taken_out() -> None:
    result = audit(verdicts(0.75, 1.3, 0.0))  # the board allows for the place
    assert winner(result).startswith("Too close to call")
    assert abs(row(result, "position")["left"]) < 0.2
    chart = next(chart for chart in result.report().charts if chart.name == "stands")
    before, after = chart.frame["value"]
    assert abs(before - after) > 15  # percentage points of wins
    assert keys(result)["pairs.place"] == "warning"
    assert sum("shown first" in f.text for f in result.findings) == 1  # said once
    better = audit(verdicts(0.5, 1.0, 2.0, seed=1))
    assert row(better, "position")["verdict"] == "stands"
    assert "with both orders counted equally" in winner(better)
    assert "pairs.place" in keys(better)  # that the judges lean is said all the same


# --- copies ---


def copied(seed: int = 0) -> np.ndarray:
    y = scores(seed, judges=5)
    y[..., 1:3] = y[..., :1] + np.random.default_rng(seed).normal(0, 1.0, (*y.shape[:3], 2))
    return y


def test_copies_are_found_named_and_left_out() -> None:
    y = copied()
    y[:, 0, :, :3] += 8
    result = look(y)
    assert find_copies(result.panel) == [[0, 1, 2]]
    text = winner(result)
    assert "The lead depends on J1, J2 and J3, which count as one judge (r = 0.9" in text
    assert "): without them, " in text
    y[:, 0, :, :3] -= 8
    assert any(f.key == "judges.copies" and "count as one judge (r = 0.9" in f.text for f in look(y).findings)
    assert not find_copies(Panel.from_array(scores(judges=5), scale=(0, 100)))


def test_groups_of_copies_among_many_judges_are_found_at_once() -> None:
    y = scores(tasks=30, systems=2, languages=2, judges=400)
    y[..., 1:3] = y[..., :1] + 0.01 * y[..., 1:3]
    y[..., 398] = y[..., 399] + 0.01 * y[..., 398]
    start = time.process_time()
    assert find_copies(Panel.from_array(y, scale=(0, 100))) == [[0, 1, 2], [398, 399]]
    assert time.process_time() - start < 10


def test_judges_put_first_are_counted_once_for_copies() -> None:
    y = copied()
    y[:, 0] += 10
    text = winner(look(y))
    assert "All three judges put it first" in text
    assert "with copies counted as one judge" in text


def test_merged_copies_are_their_mean() -> None:
    y = copied()
    y[0, 0, 0, 0] = np.nan
    merged = merge_copies(Panel.from_array(y, scale=(0, 100)), [[0, 1, 2]])
    assert merged.judges == ("J1", "J4", "J5")
    assert merged.scores[..., 0] == pytest.approx(np.nanmean(y[..., :3], axis=3))


def test_covariances_of_judges_are_those_of_pandas() -> None:
    y = scores(judges=3)
    y[np.random.default_rng(0).random(y.shape) < 0.1] = np.nan
    y = np.where(np.isfinite(y).sum(1, keepdims=True) > 1, y, np.nan)  # a single score has nothing beside it
    with np.errstate(invalid="ignore"):
        inside = y - np.nansum(y, axis=1, keepdims=True) / np.isfinite(y).sum(1, keepdims=True)
    inside = inside - np.nanmean(inside, axis=(0, 2), keepdims=True)
    expected = pd.DataFrame(inside.transpose(0, 2, 1, 3).reshape(-1, 3)).cov().to_numpy()
    assert judge_covariances(Panel.from_array(y, scale=(0, 100))) == pytest.approx(expected)


def test_a_judge_that_reacts_more_has_the_larger_slope() -> None:
    y = scores(tasks=400, judges=4)
    y[..., 0] = 50 + 2 * (y[..., 0] - 50)
    slopes = reaction_slopes(Panel.from_array(y, scale=(0, 100)))
    assert slopes[0] / slopes[1:].mean() == pytest.approx(2, abs=0.2)


def test_copies_count_as_one_in_agreement_and_the_others_are_not_odd() -> None:
    y = copied()
    result = look(y)
    panel_r = result.judges.set_index(["language", "judge"]).loc[("all", "panel"), "r"]
    merged = merge_copies(result.panel, [[0, 1, 2]])
    alone = audit(merged).judges.set_index(["language", "judge"]).loc[("all", "panel"), "r"]
    assert panel_r == pytest.approx(alone, abs=0.05)
    assert not any(f.key in ("judges.odd", "judges.alone") for f in result.findings)


# --- missing scores ---


def test_lost_scores_have_a_tipping_point_and_no_verdict() -> None:
    y = scores(languages=2)
    y[:, 0] += 6
    lost = np.random.default_rng(1).random(80) < 0.2
    y[lost, 0] = np.nan
    result = look(y)
    assert row(result, "missing")["verdict"] == "no verdict"
    text = winner(result)
    assert "they would have to lie " in text
    drop = float(text.split("have to lie ")[1].split(" point")[0])
    usual = np.nanmean(y[:, 0], axis=0)
    for below, holds in ((0.9, True), (1.1, False)):
        filled = y.copy()
        filled[lost, 0] = usual - below * drop
        means = filled.mean((0, 2, 3))
        assert bool(means[0] > means[1:].max()) == holds
    everyone = y.copy()
    everyone[np.random.default_rng(2).random(y.shape) < 0.5] = np.nan  # a schedule, of which the leader lacks no more
    everyone[:, 0] = np.where(np.random.default_rng(3).random(y[:, 0].shape) < 0.1, np.nan, y[:, 0])
    assert "lacks" not in winner(look(everyone))
    few = scores(languages=2)
    few[:, 0] += 10
    few[0, 0] = np.nan
    assert row(look(few), "missing")["verdict"] == "stands"


def test_what_all_systems_lack_alike_is_not_said_of_the_leader() -> None:
    y = scores(languages=2)
    y[:, 0] += 8
    y[np.random.default_rng(1).random(y.shape) < 0.3] = np.nan
    y[0, 0] = np.nan  # a little more than the others
    assert "lacks" not in winner(look(y))
    y[:16, 0] = np.nan
    assert "s1 lacks 4" in winner(look(y))


def test_lost_scores_that_cannot_take_the_lead_have_no_point_off_the_scale() -> None:
    y = scores(languages=2)
    y[:, 0] += 5
    y[:8, 0, 0] = np.nan
    result = look(y)
    assert row(result, "missing")["left"] > 0
    assert "s1 lacks 5% of its scores; were all of them the lowest possible, " in winner(result)


def test_fail_on_sees_the_threats(tmp_path: Path) -> None:
    y = scores()
    y[:, 0, :, 2] += 20
    panel = Panel.from_array(y, scale=(0, 100))
    panel.to_frame().to_csv(tmp_path / "falls.csv", index=False)
    y[:, 0] += 12
    Panel.from_array(y, scale=(0, 100)).to_frame().to_csv(tmp_path / "stands.csv", index=False)
    for name, code in (("falls", 1), ("stands", 0)):
        command = [sys.executable, "-m", "polyjudge", "audit", str(tmp_path / f"{name}.csv"), "--fail-on", "warning"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


# --- against a baseline ---


def test_against_a_baseline() -> None:
    y = scores()
    y[:, 0] += 8
    y[:, 1] += 4
    y[:, 1, :, 0] += 50
    everyone = look(y)
    assert everyone.systems["system"].iloc[0] == "s2"
    assert row(everyone, "one judge")["verdict"] != "stands"
    result = audit(Panel.from_array(y, scale=(0, 100)), against="s4")
    assert row(result, "one judge")["verdict"] == "stands"
    said = [f.text for f in result.findings if f.topic == "Winner"]
    assert "The lead" not in said[0]
    assert said[1].startswith("s2 is ahead of s4 by ")
    assert said[1].endswith("The lead stands without any one judge.")
    behind = audit(Panel.from_array(y, scale=(0, 100)), against="s2")
    assert any(f.text.startswith("s1 is behind s2 by ") for f in behind.findings)
    leads = [np.delete(y[:, 1] - y[:, 3], out, axis=2).mean() for out in range(4)]
    assert row(result, "one judge")["left"] == pytest.approx(min(leads))
    pair = audit(Panel.from_array(y, scale=(0, 100)).select(systems=["s1", "s4"]), against="s4")
    assert set(pair.stands["verdict"]) <= {"stands", "no verdict"}
    with pytest.raises(UsageError, match="There is no system 's9'"):
        audit(Panel.from_array(y, scale=(0, 100)), against="s9")
    with pytest.raises(UsageError, match="There are no systems to compare"):
        audit(Panel.from_array(y[:, :1], scale=(0, 100)), against="s1")


def test_a_baseline_that_is_ahead_fails_a_gate() -> None:
    y = scores()
    y[:, 1] += 6
    result = audit(Panel.from_array(y, scale=(0, 100)), against="s2")
    behind = next(f for f in result.findings if f.key == "winner.against")
    assert (behind.severity, behind.topic) == ("warning", "Winner")
    titles = [section.title for section in result.report().sections]
    assert f"What the difference between {behind.where['system']} and s2 rests on" in titles


def test_of_two_systems_a_lead_is_said_once() -> None:
    y = scores(systems=2)
    y[:, 0] += 6
    for baseline, clause in (("s2", "The lead stands without any one judge."), ("s1", "All four judges put it first.")):
        result = audit(Panel.from_array(y, scale=(0, 100)), against=baseline)
        said = [f.text for f in result.findings if f.topic == "Winner"]
        assert len(said) == 1
        assert said[0].startswith("s1 is ahead of s2 by ")
        assert said[0].endswith(clause)
        assert "winner.against" in keys(result)


# --- several criteria ---


def test_each_criterion_says_without_what_its_win_is_not_sure() -> None:
    tables = []
    for seed, criterion in enumerate(("sound", "one judge", "level")):
        y = scores(seed)
        y[:, 0, :, :] += 8 if criterion == "sound" else 0
        y[:, 1, :, 2] += 30 if criterion == "one judge" else 0
        tables.append(Panel.from_array(y, scale=(0, 100)).to_frame().assign(criterion=criterion))
    result = audit(read_panel(pd.concat(tables)))
    doubts = result.criteria.set_index("criterion")["doubt"]
    assert doubts["one judge"] == "without J3"
    assert doubts.drop("one judge").isna().all()
    falls = [f for f in result.findings if f.key == "winner.one_judge" and f.where["criterion"] == "one judge"]
    assert falls[0].severity == "warning"
    summary = markdown(result.report())
    assert "| not sure |" in summary
    assert summary.count("The lead depends on J3") <= 1


def test_the_summary_has_the_whole_table() -> None:
    y = scores(languages=2)
    y[:, 0, :, 0] += 30
    result = look(y)
    summary = markdown(result.report())
    folded = summary[summary.index("**Does s1's lead stand?**") :]
    for threat in result.stands["threat"]:
        assert f"| {threat} | " in folded
    clause = row(result, "one judge")["text"]
    assert clause.startswith("The lead depends on J1")
    assert summary.count(clause[:25]) == 2  # on the Winner line and in the table


# --- what holds of all ---


def test_weights_and_clusters_go_through_the_same_values() -> None:
    y = scores(judges=4)
    y[:, 0, :, 2] += 24
    clusters = np.repeat(np.arange(20), 4)
    panel = Panel.from_array(y, scale=(0, 100), unit=clusters, clustered=True)
    clustered = row(audit(panel), "one judge")
    assert clustered["verdict"] == "depends"
    assert clustered["left"] == pytest.approx(row(look(y), "one judge")["left"])
    assert clustered["high"] - clustered["low"] != pytest.approx(
        row(look(y), "one judge")["high"] - row(look(y), "one judge")["low"]
    )


def test_a_fit_within_rows_is_least_squares_with_row_dummies() -> None:
    g = np.random.default_rng(3)
    y, x = g.normal(size=(12, 3)), g.normal(size=(12, 3))
    y[0, 1] = x[4, 2] = np.nan
    use = np.isfinite(y) & np.isfinite(x)
    rows, columns = np.nonzero(use)
    design = np.column_stack([np.eye(12)[rows], np.eye(3)[columns], x[use]])
    expected = np.linalg.lstsq(design, y[use], rcond=None)[0]
    found = fit_within_rows(y, np.arange(12), 12, np.ones(12), [x])
    assert found.mean[3] == pytest.approx(expected[-1])
    assert found.mean[0] - found.mean[1] == pytest.approx(expected[12] - expected[13])


def test_the_table_is_on_the_page_and_survives_pickling() -> None:
    y = scores(languages=2)
    y[:, 0] += 8
    result = look(y)
    assert "stands" in {table.name for table in result.report().tables}
    chart = next(chart for chart in result.report().charts if chart.name == "stands")
    assert set(chart.frame["panel"]) == {"the lead", "what is left"}
    assert "Does s1's lead stand?" in screen(result.report(), full=True)
    again = pickle.loads(pickle.dumps(result.part_.systems))  # noqa: S301
    assert [threat.verdict for threat in again.stands.threats] == ["stands", "stands"]


def test_the_same_words_in_any_order_of_tasks_and_judges() -> None:
    y = scores(languages=2)
    y[:, 0, :, 2] += 20
    g = np.random.default_rng(0)
    names = ("a", "b", "c", "d")
    order = [3, 1, 0, 2]
    turned = (y * (1 + 1e-15))[g.permutation(len(y))][..., order]
    other = look(turned, judges=[names[b] for b in order])
    assert winner(look(y, judges=names)).split(" The lead ")[1] == winner(other).split(" The lead ")[1]
