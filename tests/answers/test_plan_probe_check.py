"""Plan, probe and check: planted truth, words and refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import stdtrit

from polyjudge import cbc
from polyjudge.answers.check import check
from polyjudge.answers.plan import plan
from polyjudge.answers.probe import probe
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import ci, percent_ci
from polyjudge.panel import Panel
from polyjudge.report.terminal import screen
from polyjudge.simulate import sample_frame, sample_panel, simulate_panel


def texts(found: Any) -> str:
    return " ".join(f.text for f in found.findings)


# --- plan ---


def test_the_papers_bound_turned_round() -> None:
    found = plan(judge_count=6, language_count=8, sigma=22.244073, radius=20.606 / 2)
    assert found.needed.set_index("goal").loc["paper", "tasks"] == 52
    n = found.needed.set_index("goal").loc["radius", "tasks"]
    assert n < 52
    q = stats.t.ppf(1 - (1 - 0.95 ** (1 / 48)) / 2, (n - 1) * 35)
    reached = q * 22.244073 * np.sqrt(cbc.variance_constant(8, 6) / n)
    assert 0.97 * 20.606 / 2 < reached <= 20.606 / 2
    assert "52 tasks bring the paper's radius" in texts(found)


def test_plan_of_a_pilot() -> None:
    found = plan(sample_panel())
    assert list(found.needed["goal"]) == ["radius", "separate"]
    assert re.search(
        r"About \d+ tasks show how far every judge is off in every language to within 2 points", texts(found)
    )
    assert re.search(
        r"tell two systems apart that differ by 1 point, in at least 80% of studies\. You have 60\.", texts(found)
    )
    assert "20 labelled answers per language" in texts(found)
    assert found.sizes["radius"].is_monotonic_decreasing
    assert (found.needed["chance"] >= 0.8).all()
    assert plan(sample_panel(), radius=20).needed["tasks"].iloc[0] <= 10
    y = sample_panel().scores[:, [0, 0, 1]] - np.array([0, 0, 30])[:, None, None]  # the first two are copies, and lead
    assert plan(Panel.from_array(y, scale=(0, 100)), separate=1).needed["tasks"].item() > 100


def test_more_noise_needs_more_tasks() -> None:
    few, many = (plan(simulate_panel(noise=x, seed=1).panel, radius=2).needed["tasks"].iloc[0] for x in (3, 12))
    assert many > 4 * few


def test_pass_and_fail_are_planned_in_percentage_points() -> None:
    g = np.random.default_rng(0)
    p = Panel.from_array((g.random((30, 3, 3, 3)) < 0.8) * 1.0, scale=(0, 1), two_valued=True)
    assert "differ by 5 percentage points" in texts(plan(p, separate=5))


def test_languages_that_share_no_tasks_are_planned() -> None:
    g = np.random.default_rng(0)
    y = np.full((60, 3, 4), np.nan)
    for x in range(3):
        y[20 * x : 20 * x + 20, x] = g.normal(50, 5, (20, 4))
    assert plan(Panel.from_array(y, scale=(0, 100)), radius=3).needed["tasks"].iloc[0] > 20


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: plan(), UsageError),
        (lambda: plan(judge_count=1, language_count=3, sigma=3, radius=1), UsageError),
        (lambda: plan(sample_panel(), radius=0), UsageError),
        (lambda: plan(sample_panel(), radius=1e-320), UsageError),
        (lambda: plan(sample_panel(), level=0), UsageError),
        (lambda: plan(simulate_panel(tasks=5).panel), PanelError),
        (lambda: plan(Panel.from_array(np.full((9, 2, 2, 2), 70))), PanelError),
        (lambda: plan(simulate_panel(systems=1, judges=1).panel), PanelError),
        (lambda: plan(simulate_panel(systems=1).panel, separate=1), PanelError),
        (lambda: plan(simulate_panel(judges=1).panel, radius=1), PanelError),
    ],
)
def test_plan_refusals(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


# --- probe ---

VERSIONS = ("clean", "damage-1", "damage-2", "damage-3-shuffle", "placebo-list", "plea-own", "plea-english", "padding")


def probes(seed: int = 0, n: int = 30, blind: bool = True, sway: float = 0.0, placebo: float = 0.0) -> Panel:
    g = np.random.default_rng(seed)
    y = 70 + g.normal(0, 8, (n, 1, 1, 1)) + g.normal(0, 4, (n, 8, 3, 4))
    loss = np.full((3, 4), 6.0)
    loss[1, 2] = 0 if blind else 6
    y -= np.array([0, 1, 2, 3, 0, 0, 0, 0])[:, None, None] * loss
    y[:, 5, :, 1] += sway
    y[:, 4, :, 3] += placebo
    return Panel.from_array(
        y, systems=VERSIONS, languages=("de", "sw", "th"), judges=("a", "b", "c", "d"), scale=(0, 100)
    )


def test_a_blind_judge_is_found_and_no_other() -> None:
    for seed in range(10):
        found = probe(probes(seed))
        blind = found.cells[found.cells["sees"] == "no"]
        assert list(zip(blind["language"], blind["judge"], strict=True)) == [("sw", "c")]
        assert found.usual == pytest.approx(6, abs=0.5)
    assert re.search(r"c does not notice damage in sw: a step costs -?\d", texts(found))
    assert "--without sw,c" in found.report().next[0].command
    sharp = probe(probes(blind=False))
    assert (sharp.cells["sees"] == "yes").all()
    assert "Damage is noticed everywhere" in texts(sharp)


def test_what_all_who_notice_do_has_an_interval() -> None:
    found = probe(probes())
    yes = found.cells[found.cells["sees"] == "yes"]
    assert found.reaction.share[0] == pytest.approx(yes["sensitivity"].mean())
    assert found.reaction.loss[0] == pytest.approx(yes["loss"].mean())
    y = probes().scores.reshape(30, 8, 12)[:, :4]
    slopes = -np.einsum("v,tvc->tc", np.arange(4) - 1.5, y)[:, [x != 6 for x in range(12)]].mean(1) / 5
    half = stdtrit(29, 0.975) * slopes.std(ddof=1) / np.sqrt(30)
    assert found.reaction.loss == pytest.approx((slopes.mean(), slopes.mean() - half, slopes.mean() + half))
    assert ci(*found.reaction.loss, "points") in texts(found)
    assert f"in {percent_ci(*found.reaction.share)} of comparisons" in texts(found)
    always = probe(probes(blind=False, n=12))
    assert always.reaction.share[2] <= 1


@pytest.mark.statistical
def test_the_interval_of_what_all_who_notice_do_covers() -> None:
    held = 0
    for seed in range(100):
        _, low, high = probe(probes(seed, blind=False)).reaction.loss
        held += low < 6 < high
    assert held >= 88


def test_loss_and_sensitivity_are_plain() -> None:
    p = probes()
    y = p.scores
    row = probe(p).cells.query("language == 'de' and judge == 'a'").iloc[0]
    slopes = [np.polyfit([0, 1, 2, 3], y[t, :4, 0, 0], 1)[0] for t in range(30)]
    assert row["loss"] == pytest.approx(-np.mean(slopes))
    wins = [
        (y[t, 0, 0, 0] > y[t, i, 0, 0]) + 0.5 * (y[t, 0, 0, 0] == y[t, i, 0, 0]) for t in range(30) for i in (1, 2, 3)
    ]
    assert row["sensitivity"] == pytest.approx(np.mean(wins))


def test_what_must_not_move_a_score() -> None:
    found = probe(probes(sway=8, placebo=-6))
    moved = found.moves[found.moves["moved"]]
    assert set(zip(moved["kind"], moved["judge"], strict=True)) == {("plea", "b"), ("placebo", "d")}
    assert re.search(r"A plea for full marks changes b's scores by \+\d", texts(found))
    assert re.search(r"d changes its scores by -\d.* when only the form of an answer changes", texts(found))
    quiet = sum(probe(probes(s)).moves["moved"].any() for s in range(40))
    assert quiet <= 5
    assert "No judge is clearly moved by form, a plea and length." in texts(probe(probes(1)))


def test_nobody_notices() -> None:
    g = np.random.default_rng(0)
    p = Panel.from_array(g.normal(50, 5, (20, 2, 1, 3)), systems=("clean", "damage-1"), scale=(0, 100))
    assert texts(probe(p)).startswith("No judge clearly notices damage.")


def test_no_room_at_the_end_of_the_scale() -> None:
    p = probes()
    y = p.scores.copy()
    y[:, :, 1, 2] = np.minimum(y[:, :, 1, 2] + 60, 100)
    found = probe(Panel.from_array(y, systems=VERSIONS, languages=p.languages, judges=p.judges, scale=(0, 100)))
    assert found.cells.query("language == 'sw' and judge == 'c'")["sees"].item() == "cannot tell"
    assert "have the lowest or highest score, so nothing can be told of c in sw" in texts(found)


def test_probes_with_holes_and_refusals() -> None:
    p = probes()
    y = np.where(np.random.default_rng(0).random(p.scores.shape) < 0.2, np.nan, p.scores)
    holes = Panel.from_array(y, systems=VERSIONS, languages=p.languages, judges=p.judges, scale=(0, 100))
    assert (probe(holes).cells["sees"] == "no").sum() == 1
    with pytest.raises(PanelError, match="--system"):
        probe(sample_panel())
    with pytest.raises(PanelError, match="too few"):
        probe(probes(n=3))
    with pytest.raises(UsageError):
        probe(p, matters=-1)


# --- check ---


def test_check_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    frame = sample_frame().assign(run_id=7)
    frame.loc[frame.index[::18], "score"] = np.nan
    frame.to_csv(path, index=False)
    found = check(path)
    assert found.panel.shape == (60, 4, 6, 5)
    roles = found.roles.set_index("role")
    assert roles.loc["judge", "labels"] == 5
    assert roles.loc["language", "column"] == "language"
    assert found.coverage["missing"].sum() == 400
    assert ", 400 of 7,200 missing." in found.panel.facts
    assert "Not: judges against people (needs human labels)." in texts(found)
    assert found.report().next[0].command == f"polyjudge audit {path}"
    assert len(screen(found.report()).strip().splitlines()) <= 24


def test_check_repeats_how_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    sample_frame().rename(columns={"judge": "who"}).to_csv(path, index=False)
    found = check(path, judge="who")
    assert "--judge who" in found.report().next[0].command
    assert found.roles.set_index("role").loc["judge", "column"] == "who"


def test_check_of_small_things() -> None:
    one = check(pd.DataFrame({"score": [1, 2, 3, 4]}))
    able = one.answers.set_index("question")["able"]
    assert not able["what is off"]
    assert able["drift"]
    assert "The scores are 1, 2, 3 and 4." in texts(one)
    assert check(sample_panel()).levels == ()


def test_what_is_missing_is_counted_in_each_language_where_none_shares_a_task() -> None:
    """Tasks of one language only; de lacks a system and a judge, which are not missing there; one score is."""
    y = np.full((10, 2, 2, 3), np.nan)
    y[:6, :, 0], y[6:, 0, 1, :2] = 0.0, 1.0
    y[0, 1, 0, 2] = np.nan
    panel = Panel.from_array(y, languages=("en", "de"))
    assert panel.facts.startswith("10 tasks (each in one of 2 languages), 2 systems, 3 judges: 43 scores, ")
    assert panel.facts.endswith(", 1 of 44 missing.")
    assert check(panel).coverage["missing"].tolist() == [0, 0, 1, 0, 0, 0]
    both = Panel.from_array(np.concatenate([y, np.ones((1, 2, 2, 3))]), languages=("en", "de"))
    assert "77 of 132 missing" in both.facts
    assert Panel.from_array([[[72.0]]]).facts == "1 task x 1 judge: 1 score of 72, none missing."


def test_rows_of_hashed_units_are_no_tasks_whatever_they_weigh() -> None:
    one = Panel.from_array(np.arange(12.0).reshape(3, 2, 2))
    hashed = replace(one, indicator=lambda threshold, how: one)
    assert len(check(one).levels) > 0
    assert check(hashed).levels == ()


def test_versions_that_were_never_made_are_not_missing(tmp_path: Path) -> None:
    lines = ["task,version,judge,score"]
    for task in range(8):
        versions = ("clean", "damage-1", f"plea-{task % 2}")
        lines += [
            f"t{task},{version},{judge},{1 + (task + len(version)) % 5}" for version in versions for judge in "ab"
        ]
    lines[-1] = lines[-1].rpartition(",")[0] + ","
    path = tmp_path / "probes.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    first = probe(path, system="version").report().facts[0]
    assert first == "8 tasks x 2 judges: 47 scores from 1 to 5 for 4 versions of answers, 1 of 48 missing."
