"""The validation suite: it passes on a sound analysis, and it fails on a broken one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.second.panel.errors import UsageError
from refusals import refused
from validation.__main__ import main
from validation.checks import run_check
from validation.mutants import MUTANTS, noticed
from validation.page import CLAIMS, DATA, TESTED, mutant_table
from validation.promises import AT_MOST, COVERS, PROMISES, chances, detectable, rate_limits
from validation.scenarios import SCENARIOS, Scenario
from validation.suite import BIAS, BOUNDS, PANELS, POOLED, judge, pooled, validate

pytestmark = pytest.mark.slow

SMALL = Scenario("small panel", "for this test", tasks=25, languages=3, judges=4, simulate={"replicates": 2})
QUICK = tuple(s for s in SCENARIOS if s.check not in ("calm", "nights", "vetoed", "separate"))
CHANCE = chances(100)


@pytest.mark.statistical
def test_every_scenario_runs_and_keeps_its_promises() -> None:
    """Two panels each; `make validate` runs the rest."""
    result = validate(2, scenarios=QUICK, workers=1)
    missed = result.table[result.table["verdict"] == "fail"]
    assert result.passed, missed.to_string()
    assert set(result.table["scenario"]) == {s.name for s in QUICK} | {POOLED}
    assert set(result.table["quantity"]) - {BIAS, "bias of the gain (standard errors)"} == set(PROMISES) - {
        "drift alarms in a year of nights", "called calm, and it is not", "planned tasks tell the systems apart",
    }  # fmt: skip


def test_the_result_does_not_depend_on_the_processes() -> None:
    labels = [s for s in SCENARIOS if s.check == "labels"]
    one, two = (validate(8, scenarios=labels, workers=w) for w in (1, 2))
    assert one.table.equals(two.table)


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


def test_the_page_has_every_scenario_on_enough_panels_and_its_limits_are_counted() -> None:
    """At least 300 panels each, and no more limits than the chance of the whole run is shared by."""
    page = pd.read_csv(Path(__file__).parents[2] / "docs" / DATA)
    own = page[page["scenario"] != POOLED]
    assert set(own["scenario"]) == {s.name for s in SCENARIOS}
    assert own.groupby("scenario")["panels"].max().min() >= PANELS
    assert page[["low", "high"]].notna().sum().sum() <= BOUNDS


def test_too_few_panels() -> None:
    with refused(UsageError, "panels", 2):
        validate(1)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"as it was\n{TESTED}\n\nkept\n")
    assert main(["--panels", "20", "--only", "labels", "--workers", "1", "--page", str(page)]) == 0
    assert "20 panels" in capsys.readouterr().out
    text = page.read_text()
    assert "PPI interval, coverage" in text
    assert "kept" in text
    assert "as it was" not in text
    data = pd.read_csv(tmp_path / DATA)
    assert set(data["scenario"]) == {s.name for s in SCENARIOS if s.check == "labels"} | {POOLED}
    assert data["tasks"].dropna().eq(200).all()
    assert main(["--only", "nothing of the kind"]) == 2
    assert "nothing of the kind" in capsys.readouterr().err
    assert main(["--panels", "20", "--only", "shares", "--workers", "1", "--page", str(page)]) == 0
    again = pd.read_csv(tmp_path / DATA)  # what was not run again is kept, and each row stands once
    assert set(again["scenario"]) == set(data["scenario"]) | {s.name for s in SCENARIOS if s.check == "shares"}
    assert not again.duplicated(["scenario", "quantity"]).any()
    assert "PPI interval, coverage" in page.read_text()
    assert main(["--full", "--panels", "3"]) == 2


@pytest.mark.parametrize(
    ("name", "panels"), [("band 10% too narrow", PANELS), ("gain x 10", 100), ("nights not paid for", 25)]
)
@pytest.mark.statistical
def test_spoilt_analyses_are_noticed(name: str, panels: int) -> None:
    """With no more than the default number of panels; `make validate ARGS=--mutants` asks the rest."""
    mutant = next(m for m in MUTANTS if m.name == name)
    row = noticed(mutant, panels)
    assert row["verdict"] == "fail", row
    assert "1 of 1 are noticed" in mutant_table([(mutant, row)])
    assert "| NO |" in mutant_table([(mutant, {**row, "verdict": "pass"})])


def test_claims_of_first_screens_name_what_is_asked() -> None:
    assert {x for quantities in CLAIMS.values() for x in quantities} <= set(PROMISES)


def test_mutants_name_what_is_there() -> None:
    for m in MUTANTS:
        assert m.scenario in {s.name for s in SCENARIOS}, m.name
        assert m.quantity in {*PROMISES, BIAS, "bias of the gain (standard errors)"}, m.name
        module, name = m.where.split(":")
        assert hasattr(import_module(module), name), m.name


def test_what_is_a_little_wrong_everywhere_shows_over_all_scenarios() -> None:
    """Each of twenty scenarios passes with a coverage of 0.90; together they do not."""
    scenarios = [Scenario(f"s{i}", "for this test", check="labels") for i in range(20)]
    rng = np.random.default_rng(5)
    for rate, expected in ((0.90, "fail"), (0.95, "pass")):
        found = [[{"band coverage": rng.random() < rate} for _ in range(100)] for _ in scenarios]
        rows = [row for s, trials in zip(scenarios, found, strict=True) for row in judge(s, trials, CHANCE)]
        assert {row["verdict"] for row in rows} == {"pass"}
        assert [row["verdict"] for row in pooled(rows, CHANCE)] == [expected]


def test_what_no_method_keeps_is_told_apart() -> None:
    known = Scenario("hard", "for this test", check="labels", known={"PPI interval, coverage": "says so"})
    found = [{"PPI interval, coverage": i % 2 == 0} for i in range(60)]
    assert judge(known, found, CHANCE)[0]["verdict"] == "known"
    result = validate(4, scenarios=[s for s in SCENARIOS if s.check == "labels"], workers=1)
    assert result.passed


def test_two_panels_are_no_evidence_of_bias() -> None:
    """A t value of two panels is often in the dozens; the same value of many panels is bias."""
    rng = np.random.default_rng(3)
    for panels, shift, expected in ((2, 0.0, "pass"), (4, 0.0, "pass"), (100, 1.0, "fail")):
        found = [{"error": rng.normal(shift, 1, (8, 6))} for _ in range(panels)]
        row = judge(SCENARIOS[0], found, CHANCE)[0]
        assert (row["quantity"], row["verdict"]) == (BIAS, expected), panels
