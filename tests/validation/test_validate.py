"""The validation suite: it passes on a sound analysis, and it fails on a broken one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polyjudge.panel.errors import UsageError
from refusals import lacks, refused
from validation import SCENARIOS, Scenario, validate
from validation.checks import run_check
from validation.page import TESTED
from validation.promises import AT_MOST, COVERS, PROMISES, chances, detectable, rate_limits
from validation.suite import BIAS, judge

pytestmark = pytest.mark.slow

SMALL = Scenario("small panel", "for this test", tasks=25, languages=3, judges=4, simulate={"replicates": 2})
QUICK = tuple(s for s in SCENARIOS if s.check not in ("calm", "nights"))
CHANCE = chances(100)


@pytest.mark.statistical
def test_every_scenario_runs_and_keeps_its_promises() -> None:
    """Two panels each; `polyjudge validate` runs the rest."""
    result = validate(panels=2, scenarios=QUICK, workers=1)
    missed = result.table[result.table["verdict"] == "fail"]
    assert result.passed, missed.to_string()
    assert set(result.table["scenario"]) == {s.name for s in QUICK}
    assert set(result.table["quantity"]) - {BIAS, "bias of the gain (standard errors)"} == set(PROMISES) - {
        "audits without a warning", "drift alarms in a year of nights",
    }  # fmt: skip


def test_the_result_does_not_depend_on_the_processes() -> None:
    labels = [s for s in SCENARIOS if s.check == "labels"]
    one, two = (validate(panels=8, scenarios=labels, workers=w) for w in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_limits_follow_from_the_number_of_panels() -> None:
    for panels in (40, 2000):
        low, _ = rate_limits(COVERS, panels, CHANCE)
        _, high = rate_limits(AT_MOST, panels, CHANCE)
        draws = np.random.default_rng(1).binomial(panels, [[0.93], [0.05]], (2, 200_000)) / panels
        assert (draws[0] < low).mean() <= CHANCE * 1.5
        assert (draws[1] > high).mean() <= CHANCE * 1.5
        covers, alarms = detectable(panels, CHANCE)
        caught = np.random.default_rng(2).binomial(panels, [[covers], [alarms]], (2, 20_000)) / panels
        assert (caught[0] < low).mean() == pytest.approx(0.8, abs=0.05)
        assert (caught[1] > high).mean() == pytest.approx(0.8, abs=0.05)
    assert covers > 0.9
    assert alarms < 0.08


def verdict(found: list[dict[str, Any]], quantity: str) -> str:
    return next(row["verdict"] for row in judge(SMALL, found, CHANCE) if row["quantity"] == quantity)


def test_planted_faults_are_found() -> None:
    """A biased estimate, a narrow band, a trigger-happy test and a false gain must all fail."""
    sound = [run_check(SMALL, seed) for seed in range(40)]
    assert {row["verdict"] for row in judge(SMALL, sound, CHANCE)} <= {"pass", "reported"}
    lopsided = np.zeros((3, 4))
    lopsided[0, 0] = 3.0
    assert verdict([{**t, "error": t["error"] + lopsided} for t in sound], BIAS) == "fail"
    rng = np.random.default_rng(0)
    assert verdict([{**t, "band coverage": rng.random() < 0.5} for t in sound], "band coverage") == "fail"
    assert verdict([{**t, "three-way test rejects": True} for t in sound], "three-way test rejects") == "fail"
    shifted = [{**t, "gain_error": t["gain_error"] + 9} for t in sound]
    assert verdict(shifted, "bias of the gain (standard errors)") == "fail"


def test_a_trial_is_reproducible() -> None:
    first, second = run_check(SMALL, 3), run_check(SMALL, 3)
    np.testing.assert_array_equal(first.pop("error"), second.pop("error"))
    assert first == second


def test_too_few_panels() -> None:
    with refused(UsageError, "panels", 2):
        validate(panels=1)


def test_command(cli: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Any) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"old\n{TESTED}\n\nkept\n\n## Scenarios\ngone\n")
    out = cli("validate", "--panels", 20, "--only", "labels", "--workers", 1, "--json", "--page", page)
    assert out.returncode == 0, out.stderr
    data = json.loads(out.stdout)
    assert data["panels"] == 20
    assert data["passed"] is True
    text = page.read_text()
    assert "| 10 labels, 90% pass | 200 |" in text
    assert "kept" in text
    assert "gone" not in text
    wrong = cli("validate", "--only", "nothing of the kind")
    assert wrong.returncode == 2
    assert not lacks(wrong.stderr, "nothing of the kind")


def test_what_no_method_keeps_is_told_apart() -> None:
    known = Scenario("hard", "for this test", check="labels", known={"PPI interval, coverage": "says so"})
    found = [{"PPI interval, coverage": i % 2 == 0} for i in range(60)]
    assert judge(known, found, CHANCE)[0]["verdict"] == "known"
    result = validate(panels=4, scenarios=[s for s in SCENARIOS if s.check == "labels"], workers=1)
    assert result.passed


def test_two_panels_are_no_evidence_of_bias() -> None:
    """A t value of two panels is often in the dozens; the same value of many panels is bias."""
    rng = np.random.default_rng(3)
    for panels, shift, expected in ((2, 0.0, "pass"), (4, 0.0, "pass"), (100, 1.0, "fail")):
        found = [{"error": rng.normal(shift, 1, (8, 6))} for _ in range(panels)]
        row = judge(SCENARIOS[0], found, CHANCE)[0]
        assert (row["quantity"], row["verdict"]) == (BIAS, expected), panels
