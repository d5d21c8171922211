"""The audit as a whole: sections, findings, text, JSON, files, exit codes, awkward panels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.say import say, word
from polyjudge.second.questions.audit.audit import Audit
from polyjudge.second.report import report_of, terminal
from polyjudge.second.report.schema import SCHEMA
from polyjudge.second.report.sections import SEVERITIES, Finding, ranked


def shown(audit: Audit) -> str:
    report = report_of(audit)
    assert report is not None
    return terminal.text(report, full=True)


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=40, languages=4, judges=5, replicates=2, seed=1)[0]


@pytest.fixture(scope="module")
def audit(panel: pj.Panel) -> Audit:
    return pj.audit(panel, threshold=50, base="language1")


def test_audit_holds_its_sections_and_is_plain_json(audit: Audit) -> None:
    data = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    sections = {"summary", "calibrator", "language_effect", "judge_effect", "uncertainty", "reversals", "ranks"}
    sections |= {"held_out", "variance", "sensitivity", "gates", "caveats", "findings"}
    assert sections <= set(data)
    assert len(data["uncertainty"]["cells"]) == 20
    assert data["gates"]["threshold"] == 50
    assert data["held_out"]["advice"]["text"]


def test_findings_are_ranked_and_known(audit: Audit) -> None:
    weights = [f.weight for f in audit.findings]
    assert weights == sorted(weights, reverse=True)
    assert {f.severity for f in audit.findings} <= set(SEVERITIES)
    codes = [f.code for f in audit.findings]
    assert len(codes) == len(set(codes)) or codes.count("cell-at-floor") > 1
    assert {"reversal", "interaction", "accuracy-gain", "gate-spread", "order"} <= set(codes)
    assert ranked([Finding("a"), Finding("b", severity="serious")])[0].code == "b"


def test_audit_is_deterministic(panel: pj.Panel) -> None:
    small = panel.select(tasks=panel.tasks[:20])
    one, two = (pj.audit(small, seed=5, resamples=100).to_dict() for _ in range(2))
    assert one == two
    other = pj.audit(small, seed=6, resamples=100).to_dict()
    assert one["uncertainty"]["critical"] != other["uncertainty"]["critical"]


def test_text_says_what_must_be_said(audit: Audit) -> None:
    text = " ".join(shown(audit).split())
    for said in (*audit.caveats, audit.held_out.scope, *audit.findings):
        assert str(said) in text, said.code
    for language in audit.summary.languages:
        assert language in text
    assert max(map(len, shown(audit).splitlines())) <= 96
    assert "\x1b" not in shown(audit)


def test_wide_panels_stay_narrow() -> None:
    wide, _ = pj.simulate_panel(
        tasks=12, languages=3, judges=[f"a rather long judge name {i}" for i in range(25)], seed=1
    )
    text = shown(pj.audit(wide, resamples=100))
    assert max(map(len, text.splitlines())) <= 96


def test_no_interaction_advises_against_calibrating() -> None:
    against = 0
    for seed in range(5):
        flat, _ = pj.simulate_panel(tasks=30, languages=4, judges=4, interaction=0.0, seed=seed)
        codes = {f.code: f.severity for f in pj.audit(flat, resamples=200).findings}
        against += codes.get("do-not-calibrate") == "info"
        assert "reversal" not in codes or codes["reversal"] != "serious"
    assert against == 5


def test_planted_troubles_are_found() -> None:
    rng = np.random.default_rng(0)
    scores = 50 + rng.normal(0, 10, (40, 1, 1)) + rng.normal(0, 4, (40, 4, 4)) + np.array([0.0, 6, 12, 18])
    scores[:, 2, 1] -= 30  # one judge collapses in one language
    scores[:, :, 0] = np.where(rng.random((40, 4)) < 0.8, 0.0, scores[:, :, 0])  # one judge sits on the floor
    panel = pj.Panel.from_array(np.clip(scores, 0, 100), judges=["floored", "odd", "c", "d"], declared_range=(0, 100))
    found = {f.code: f.values for f in pj.audit(panel, resamples=200).findings}
    assert found["near-floor"]["judge"] == "floored"
    assert (found["interaction"]["judge"], found["interaction"]["language"]) == ("odd", "language3")


def test_three_way_is_found() -> None:
    panel, _ = pj.simulate_panel(30, 4, 4, 3, 1, three_way_sd=12, interaction=2.0, noise_sd=4)
    findings = {f.code: f for f in pj.audit(panel, resamples=100).findings}
    assert findings["three-way-large"].severity == "warning"


def test_no_replicates_says_what_is_left_out() -> None:
    panel, _ = pj.simulate_panel(20, 3, 3, seed=1)
    audit = pj.audit(panel, resamples=100)
    assert set(audit.left_out) == {"three-way"}
    assert word(say("three-way.no-replicates")) in " ".join(shown(audit).split())


AWKWARD = {
    "constant": np.full((12, 3, 3), 5.0),
    "two tasks": np.random.default_rng(0).normal(50, 10, (2, 3, 4)),
    "two of everything": np.random.default_rng(1).normal(50, 10, (2, 2, 2, 2)),
    "ties everywhere": np.random.default_rng(2).integers(0, 2, (30, 4, 5)).astype(float),
    "equal tasks": np.broadcast_to(np.random.default_rng(3).normal(size=(3, 4)), (12, 3, 4)).copy(),
    "huge": np.random.default_rng(4).normal(1e9, 1e8, (20, 3, 3)),
    "tiny": np.random.default_rng(5).normal(0, 1e-7, (20, 3, 3)),
    "one replicate": np.random.default_rng(6).normal(50, 10, (20, 3, 4, 1)),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_panels_give_an_audit(name: str) -> None:
    audit = pj.audit(pj.Panel.from_array(AWKWARD[name]), resamples=100)
    json.dumps(audit.to_dict(), allow_nan=False)
    text = shown(audit)
    assert "nan" not in text.replace("nance", "")
    codes = {f.code for f in audit.findings}
    if name == "constant":
        assert codes == {"constant"}
    if name.startswith("two"):
        assert {"do-not-calibrate", "few-tasks"} <= codes


def test_weights_of_units_reach_every_section() -> None:
    """Units that are whole tasks repeated: point estimates equal those of the repeated panel."""
    panel, _ = pj.simulate_panel(20, 3, 4, seed=2)
    w = np.random.default_rng(0).integers(1, 5, 20)
    units = pj.audit(pj.Panel.from_array(panel.scores, weights=w.astype(float)), resamples=100, threshold=50)
    rows = pj.audit(pj.Panel.from_array(np.repeat(panel.scores, w, axis=0)), resamples=100, threshold=50)
    assert units.summary.tasks == rows.summary.tasks == w.sum()
    for a, b in (
        (units.uncertainty.cells["interaction"], rows.uncertainty.cells["interaction"]),
        (units.language_effect["effect"], rows.language_effect["effect"]),
        (units.judge_effect["effect"], rows.judge_effect["effect"]),
        (units.ranks.table["mean"], rows.ranks.table["mean"]),
        (units.reversals.pairs["delta"], rows.reversals.pairs["delta"]),
        (units.sensitivity.links["spearman"], rows.sensitivity.links["spearman"]),
        (units.sensitivity.pile_up["floor"], rows.sensitivity.pile_up["floor"]),
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert units.variance.r2_simplified == pytest.approx(rows.variance.r2_simplified)
    assert units.gates.spread_calibrated == pytest.approx(rows.gates.spread_calibrated)


@pytest.mark.real_data
def test_devai_audit(devai: pj.Panel) -> None:
    audit = pj.audit(devai)
    codes = {f.code: f.severity for f in audit.findings}
    assert codes["reversal"] == "serious"
    assert {"one-judge-drives", "near-floor", "cell-at-floor", "accuracy-gain", "three-way"} <= set(codes)
    gain = audit.held_out.table.set_index("method").loc["cbc"]
    assert gain["gain_low"] > 0
    assert gain["gain_full_fit"] == pytest.approx(30.745, abs=0.001)


def test_hostile_labels_do_no_harm(tmp_path: Path, cli: Callable) -> None:
    panel, _ = pj.simulate_panel(12, ["=1+1", "\x1b[31mred"], ["[bold]x", "a\nb\u202e"], seed=1)
    audit = pj.audit(panel, resamples=100)
    text = shown(audit)
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    panel.to_long().to_parquet(tmp_path / "scores.parquet")
    assert cli("audit", tmp_path / "scores.parquet", "--resamples", 100, "-o", tmp_path / "out").returncode == 0
    cells = (tmp_path / "out" / "cells.csv").read_text()
    assert "\n=1+1" not in cells
    assert "'=1+1" in cells


def test_command(panel: pj.Panel, tmp_path: Path, cli: Callable) -> None:
    path = tmp_path / "scores.csv"
    panel.select(tasks=panel.tasks[:20]).to_long().to_csv(path, index=False)
    done = cli("audit", path, "--resamples", 100, "--fail-on", "serious", "-o", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    full = cli("audit", path, "--resamples", 100, "--full")
    assert len(full.stdout) > 3 * len(done.stdout)
    files = {"audit.json", "audit.txt", "cells.csv", "ranks.csv", "reversals.csv"}
    assert files <= {p.name for p in (tmp_path / "out").iterdir()}
    data = json.loads(cli("audit", path, "--resamples", 100, "--json").stdout)
    assert (data["schema"], data["command"]) == (SCHEMA, "audit")
    assert data["findings"][0]["severity"] == "serious"
    assert full.returncode == 0
    for arguments in (("--base", "language1"), ("--at", "1e9"), ("--judge", "nobody")):
        bad = cli("audit", path, "--resamples", 100, *arguments)
        assert bad.returncode == 2
        assert bad.stderr.startswith("polyjudge: ")
    assert cli("audit", path, "--fail-on", "loud").returncode == 2


def test_equal_judges_share_their_rank() -> None:
    scores = np.random.default_rng(0).normal(50, 10, (20, 3, 4))
    scores[:, :, 2] = scores[:, :, 1] + np.tile([1e-12, -1e-12], 10)[:, None]  # differ by rounding only
    effect = pj.audit(pj.Panel.from_array(scores), resamples=100).judge_effect.set_index("judge")["rank"]
    assert effect["judge2"] == effect["judge3"]


def test_the_advice_follows_the_interval_with_six_tasks_too() -> None:
    """The interval of the gain holds from a handful of tasks; two have none."""
    clear, _ = pj.simulate_panel(6, 4, 4, interaction=30.0, noise_sd=1.0, task_judge_sd=0.1, seed=1)
    found = pj.audit(clear, resamples=100)
    assert found.held_out.advice is not None
    assert found.held_out.advice.calibrate
    two = pj.audit(clear.select(tasks=clear.tasks[:2]), resamples=100)
    assert two.held_out.advice is not None
    assert two.held_out.advice.text.code == "gain.too-few"


def test_what_is_not_shown_is_not_claimed() -> None:
    """No clear cell is no proof of mere noise, and a count that is not extreme is not "about" the chance one."""
    panel, truth = pj.simulate_panel(25, 12, 12, interaction=2.1, seed=1)
    planted, estimate = truth.interaction.to_numpy(), pj.ConsensusCalibrator().fit(panel).interaction_.to_numpy()
    assert (2 * planted * estimate - estimate**2).mean() > 0.5  # calibrating does lower the error here
    found = pj.audit(panel, resamples=100)
    values = {f.code: f.values for f in found.findings}
    assert found.uncertainty.clear == 0
    assert "no-clear-cell" in values
    assert values["do-not-calibrate"]["why"] == "gain.open"
    quiet, _ = pj.simulate_panel(20, 3, 3, interaction=0.0, seed=3)
    count = {f.code: f.values for f in pj.audit(quiet, resamples=100).findings}["reversal-global"]
    assert (count["more"], count["count"]) == (False, 0)
