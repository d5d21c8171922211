"""A panel with nothing wrong is left in peace: the tests of an audit share its error level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import polyjudge.second as pj
from polyjudge.second.questions.audit.conclusions import _checks, _missing, _three_way
from polyjudge.second.questions.audit.missing import missingness
from polyjudge.second.questions.audit.variation import variance


def test_a_healthy_panel_passes_the_strictest_gate(cli: Callable[..., object], tmp_path: Path) -> None:
    panel, _ = pj.simulate_panel(40, 3, 4, systems=3, interaction=0.0, missing=0.05, seed=8)
    panel.to_frame().to_csv(tmp_path / "healthy.csv", index=False)
    done = cli("audit", tmp_path / "healthy.csv", "--resamples", 200, "--fail-on", "warning")
    assert done.returncode == 0, done.stdout  # type: ignore[attr-defined]


def test_checks_of_an_audit_share_its_level() -> None:
    panel, _ = pj.simulate_panel(30, 3, 3, interaction=0.0, replicates=2, missing=0.1, seed=2)
    holes, parts = missingness(panel, draws=99), variance(pj.simulate_panel(30, 3, 3, replicates=2, seed=1)[0])
    audit = pj.audit(pj.simulate_panel(12, 2, 2, seed=1)[0], resamples=100)
    assert _checks(audit) == 1
    assert _checks(replace(audit, variance=parts, missingness=holes)) == 3
    for p, severity in ((0.01, "warning"), (0.03, "info")):
        assert _missing(replace(holes, p_interaction=p, notes=()), 0.05 / 3)[0].severity == severity
    for p, severity in ((0.01, "warning"), (0.03, "notice")):
        found = _three_way(replace(parts, three_way_p=p), 0.05 / 3)[0]
        if found.code == "three-way-large":
            assert found.severity == severity


@pytest.mark.statistical
@pytest.mark.parametrize("more", [{}, {"missing": 0.1}, {"scale": "integer", "judge_sd": 3.0, "language_sd": 2.0}])
def test_nothing_wrong_warns_of_nothing(more: dict[str, object]) -> None:
    """`polyjudge validate --only calm` counts over hundreds of panels; here few, so that a constant alarm is seen."""
    warned = 0
    for seed in range(4):
        panel, _ = pj.simulate_panel(30, 3, 3, interaction=0.0, seed=seed + 40, **more)  # type: ignore[arg-type]
        found = pj.audit(panel, resamples=100).findings
        warned += any(f.severity in ("warning", "serious") for f in found)
    assert warned <= 1
