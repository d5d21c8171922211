"""Systems in an audit: gates count their decisions, and a panel that does not agree silences advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.questions.audit import gates


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
