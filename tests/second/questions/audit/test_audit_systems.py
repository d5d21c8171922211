"""Systems in an audit: gates count their decisions, and a panel that does not agree silences advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.questions.audit import gates
from polyjudge.second.report import report_of


@pytest.fixture(scope="module")
def frameworks(devai_path: Path) -> pj.Panel:
    return pj.read_panel(devai_path, system="framework")


def codes(result: object) -> set[str]:
    return {f.code for f in result.findings}  # type: ignore[attr-defined]


def test_gates_count_the_decisions_of_every_system() -> None:
    panel, _ = pj.simulate_panel(30, 2, 3, systems=4, seed=1)
    assert panel.system_scores is not None
    found = gates(panel, 50, resamples=100)
    assert found.decisions == 30 * 4 * 2 * 3
    expected = (panel.system_scores > 50).mean(axis=(0, 1))
    np.testing.assert_allclose(found.cells["pass_raw"], expected.ravel())
    means = (panel.scores > 50).mean(axis=0)
    assert np.abs(means - expected).max() > 0.01


def test_gates_say_which_system_passes_where() -> None:
    panel, _ = pj.simulate_panel(30, 2, 3, systems=4, system_sd=[9.0, 3, -3, -9], seed=1)
    scores = np.array(panel.system_scores)
    rows = gates(panel, 50, resamples=100).systems
    passed = (scores > 50).mean(axis=3)
    np.testing.assert_allclose(rows["pass_raw"], passed.mean(axis=0).ravel())
    np.testing.assert_allclose(rows["pass_raw_se"], (passed.std(axis=0, ddof=1) / np.sqrt(30)).ravel())
    assert rows["decisions"].tolist() == [30 * 3] * 8
    assert rows["flips"].sum() == gates(panel, 50, resamples=100).flips > 0
    scores[:, 3, 1] = np.nan  # a system that was not there in a language has no rate there
    found = gates(pj.Panel.from_array(scores, systems=panel.systems), 50, resamples=100).systems
    assert found[["system", "language"]].apply(tuple, axis=1).tolist()[-2:] == [
        ("system3", "language2"), ("system4", "language1"),
    ]  # fmt: skip
    assert gates(pj.simulate_panel(30, 2, 3, seed=1)[0], 50, resamples=100).systems.empty


def test_a_blind_panel_is_the_audits_most_serious_finding_and_silences_advice(frameworks: pj.Panel) -> None:
    found = pj.audit(frameworks, resamples=100)
    assert found.findings[0].code == "signal-disagree"
    assert found.findings[0].severity == "serious"
    blind = next(f for f in found.findings if f.code == "signal-disagree")
    assert set(blind.values["languages"]) == set(frameworks.languages)
    assert not {"accuracy-gain", "do-not-calibrate"} & codes(found)
    assert found.summary.systems == frameworks.systems


def test_an_audit_without_systems_says_nothing_about_them(devai_like: pj.Panel) -> None:
    found = pj.audit(devai_like, resamples=100)
    assert found.systems is None
    assert not any(code.startswith(("signal", "systems", "favour")) for code in codes(found))


def test_systems_that_swap_places_are_told_in_percent_where_scores_are_pass_or_fail() -> None:
    rng = np.random.default_rng(0)
    quality = np.tile(np.array([1.2, 0.6, -0.6])[:, None, None], (1, 3, 1))
    quality[1, 0], quality[2, 0] = -1.2, 1.0
    passed = quality + 0.6 * rng.normal(size=(80, 3, 1, 1)) + 0.5 * rng.normal(size=(80, 3, 3, 4)) > 0
    panel = pj.Panel.from_array(passed.astype(float), systems=["a", "b", "c"])
    report = report_of(pj.audit(panel, resamples=100))
    assert report is not None
    (swap,) = (s for s in report.verdict if getattr(s, "code", "") == "systems-swap-language")
    means = passed.mean(axis=(0, 3))
    assert swap.values["gap_higher"] == pytest.approx(100 * (means[1] - means[2]).max())  # type: ignore[union-attr]
