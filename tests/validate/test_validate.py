"""The validation suite: it passes on a sound analysis, and it fails on a broken one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyjudge.core.errors import UsageError
from polyjudge.validate import SCENARIOS, Scenario, validate
from polyjudge.validate.suite import NAMES, judge
from polyjudge.validate.trial import trial

SMALL = Scenario("small panel", "for this test", tasks=25, languages=3, judges=4, simulate={"replicates": 2})


@pytest.mark.statistical
def test_the_command_keeps_every_limit(cli: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """The real suite with few panels; `polyjudge validate` runs more. Gross faults show: see the planted ones below."""
    out = cli("validate", "--panels", 8, "--workers", 1, "--json", "--page", tmp_path / "page.md")
    data = json.loads(out.stdout)
    assert out.returncode == 0, [row for row in data["table"] if row["verdict"] == "fail"]
    assert data["passed"] is True
    assert data["panels"] == 8
    assert {row["scenario"] for row in data["table"]} == {s.name for s in SCENARIOS}
    assert "| none | 55 | 8 | 6 |" in (tmp_path / "page.md").read_text()


def test_the_result_does_not_depend_on_the_processes() -> None:
    one, two = (validate(panels=12, scenarios=(SMALL,), workers=w) for w in (1, 2))
    assert one.to_dict() == two.to_dict()


def trials(change: Callable[[dict[str, Any]], dict[str, Any]] = lambda t: t) -> list[dict[str, Any]]:
    return [change(trial(SMALL, seed)) for seed in range(30)]


def verdict(found: list[dict[str, Any]], quantity: str) -> str:
    return next(row["verdict"] for row in judge(SMALL, found) if row["quantity"] == quantity)


def test_planted_faults_are_found() -> None:
    """The tester is tested: a biased estimate, a narrow band, a trigger-happy test and a false gain must all fail."""
    sound = trials()
    assert {row["verdict"] for row in judge(SMALL, sound)} == {"pass", "reported"}
    lopsided = np.zeros((3, 4))
    lopsided[0, 0] = 3.0
    assert verdict(trials(lambda t: {**t, "error": t["error"] + lopsided}), "largest bias (standard errors)") == "fail"
    rng = np.random.default_rng(0)
    assert verdict(trials(lambda t: {**t, "band": float(rng.random() < 0.5)}), "band coverage") == "fail"
    assert verdict(trials(lambda t: {**t, "three_way_reject": 1.0}), "three-way test rejects") == "fail"
    assert verdict(trials(lambda t: {**t, "gain": -abs(t["gain"])}), "gain") == "fail"


def test_a_trial_is_reproducible() -> None:
    first, second = trial(SMALL, 3), trial(SMALL, 3)
    np.testing.assert_array_equal(first.pop("error"), second.pop("error"))
    assert first == second


def test_too_few_panels() -> None:
    with pytest.raises(UsageError, match="at least 2"):
        validate(panels=1)


def test_two_panels_are_no_evidence_of_bias() -> None:
    """A t value of two panels is often in the dozens; the same value of many panels is bias."""
    rng = np.random.default_rng(3)
    empty = dict.fromkeys(NAMES)
    for panels, shift, verdict in ((2, 0.0, "pass"), (4, 0.0, "pass"), (100, 1.0, "fail")):
        trials = [{**empty, "error": rng.normal(shift, 1, (8, 6))} for _ in range(panels)]
        row = judge(SCENARIOS[0], trials)[0]
        assert (row["quantity"], row["verdict"]) == ("largest bias (standard errors)", verdict), panels
