"""Panels of other shapes: one language, one judge, no shared tasks, several criteria. Every command answers, or says in
one line what it lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.errors import UsageError
from polyjudge.questions.audit.audit import Audit, Inside
from polyjudge.questions.audit.by_criterion import Criteria, audit_criteria
from polyjudge.questions.systems.leaderboard import leaderboard
from polyjudge.read.criterion_panels import read_criteria
from polyjudge.report import report_of
from refusals import refused

Cli = Callable[..., CompletedProcess[str]]
SHAPES = {f"{k} x {m}{' with systems' if s else ''}": (k, m, s) for k, m in ((1, 1), (1, 3), (3, 1)) for s in (0, 3)}


def panel_of(k: int, m: int, s: int, seed: int = 1, tasks: int = 24) -> pj.Panel:
    whole = pj.simulate_panel(tasks, max(k, 2), max(m, 2), systems=s, seed=seed)[0]
    return whole.select(languages=whole.languages[:k], judges=whole.judges[:m])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_answers_or_says_what_it_lacks(cli: Cli, tmp_path: Path, shape: str) -> None:
    panel, path, cal = panel_of(*SHAPES[shape]), tmp_path / "s.csv", tmp_path / "cal.json"
    panel.to_long().to_csv(path, index=False)
    gold = panel.to_long().groupby(["task", "language"], sort=False)["score"].mean().reset_index()
    gold.to_csv(tmp_path / "gold.csv", index=False)
    whole = pj.simulate_panel(24, 3, 3, seed=1)[0]
    pj.ConsensusCalibrator().fit(whole).save(cal)
    works = []
    for words in (
        ("check", path), ("audit", path, "--resamples", 100), ("systems", path, "--resamples", 100),
        ("judges", path), ("compare", path, "--resamples", 100), ("calibrate", path, "-o", tmp_path / "out.csv"),
        ("drift", cal, path), ("anchor", path, tmp_path / "gold.csv"), ("plan", "--from", path),
        ("label", "make", path, "-o", tmp_path / "labels"),
    ):  # fmt: skip
        done = cli(*words)
        assert done.returncode in (0, 1, 2), (words[0], done.stderr)
        if done.returncode == 2:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            assert len(said) <= 3, (words[0], done.stderr)
            assert "Traceback" not in done.stderr
        else:
            works.append(words[0])
    assert {"check", "audit"} <= set(works), works
    assert not SHAPES[shape][2] or "systems" in works


@pytest.mark.parametrize("shape", SHAPES)
def test_an_audit_names_the_winner_and_what_is_lacking(shape: str) -> None:
    k, m, s = SHAPES[shape]
    found = pj.audit(panel_of(k, m, s), resamples=100, threshold=50)
    assert isinstance(found, Inside)
    assert not isinstance(found, Audit)
    assert found.left_out["languages"].values["why"] == ("judge" if m == 1 else "language")
    assert (found.systems is not None) == bool(s)
    assert len(found.means) == k * m
    assert (found.means["low"] < found.means["mean"]).all()
    assert found.means["pass_low"].between(0, 1).all()
    assert repr(found)
    assert found._repr_html_()
    assert json.dumps(found.to_dict())


def test_one_language_is_that_language_of_the_whole() -> None:
    whole = pj.simulate_panel(60, ["en", "de"], 4, systems=4, seed=3)[0]
    alone = pj.audit(whole.select(languages=["en"]), resamples=200)
    assert isinstance(alone, Inside)
    assert alone.systems is not None
    inside = leaderboard(whole, resamples=200).systems.query("language == 'en'")
    here = alone.systems.leaderboard.systems.query("language == 'en'")
    np.testing.assert_allclose(inside["mean"], here["mean"])
    assert inside["rank"].tolist() == here["rank"].tolist()


def test_means_and_pass_rates_hold_their_level() -> None:
    held = {"mean": [], "pass": []}
    for seed in range(80):
        rng = np.random.default_rng(seed)
        found = pj.audit(pj.Panel.from_array(rng.normal(60, 10, (40, 1, 2))), threshold=70, resamples=100)
        held["mean"] += found.means[["low", "high"]].apply(lambda r: r["low"] <= 60 <= r["high"], axis=1).tolist()
        held["pass"] += found.means.apply(lambda r: r["pass_low"] <= 0.1587 <= r["pass_high"], axis=1).tolist()
    assert np.mean(held["mean"]) >= 0.90  # 160 intervals at 95%
    assert np.mean(held["pass"]) >= 0.90


def test_languages_without_shared_tasks() -> None:
    rows = pj.simulate_panel(40, ["en", "de"], 3, systems=3, seed=4)[0].to_long()
    rows["task"] = rows["language"] + rows["task"]
    found = pj.audit(rows, resamples=100)
    assert isinstance(found, Inside)
    assert found.left_out["languages"].values["why"] == "apart"


def criteria_table() -> pd.DataFrame:
    """Three criteria; tone repeats clarity; in accuracy one judge is 20 points off in one language."""
    rng = np.random.default_rng(5)
    made = {"languages": ["en", "de", "fr"], "judges": ["A", "B", "C", "D"], "systems": ["s", "t", "u"]}
    base, other = (pj.simulate_panel(60, **made, interaction=0.0, seed=seed)[0] for seed in (6, 7))
    out = []
    for name, panel in (("clarity", base), ("tone", base), ("accuracy", other)):
        frame = panel.to_long()
        frame["score"] += rng.normal(0, 2, len(frame))
        if name == "accuracy":
            frame.loc[(frame["judge"] == "B") & (frame["language"] == "fr"), "score"] -= 20
        out.append(frame.assign(criterion=name))
    return pd.concat(out)


def test_criteria_share_one_screen(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    criteria_table().to_csv(path, index=False)
    done = cli("audit", path, "--resamples", 100, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("clarity", "tone", "accuracy"))
    assert len(done.stdout.splitlines()) <= 40
    saved = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert set(saved["criteria"]) == {"clarity", "tone", "accuracy"}


def test_criteria_that_say_the_same_and_the_one_with_the_trouble_are_named() -> None:
    found = audit_criteria(read_criteria(criteria_table()), resamples=200)
    assert isinstance(found, Criteria)
    row = found.table.set_index("criterion").loc["accuracy"]
    assert (row["judge"], row["language"]) == ("B", "fr")
    assert row["excess_low"] <= -20 <= row["excess_high"]
    same = found.same.set_index(["criterion_a", "criterion_b"])["alike"]
    assert bool(same[("clarity", "tone")])
    assert same.sum() == 1
    assert [one.level for one in found.audits.values()] == pytest.approx([1 - 0.05 / 3] * 3)
    assert found.mean is not None


def test_two_judges_agree_about_criteria_and_what_that_is_worth_is_said_once() -> None:
    """Their verdict is "cannot tell", but not because they do not agree."""
    table = criteria_table()
    found = audit_criteria(read_criteria(table[table["judge"].isin(["A", "B"])]), resamples=200)
    assert (found.table["verdict"] == "cannot tell").all()
    said = [s for s in report_of(found).verdict if s.code in ("criteria.agreement", "verdict.shared")]
    assert [s.code for s in said] == ["criteria.agreement", "verdict.shared"]
    assert said[0].values["unsure"] == []


def test_one_criterion_is_no_comparison() -> None:
    with refused(UsageError, "criteria"):
        audit_criteria({"": panel_of(2, 2, 0)})
