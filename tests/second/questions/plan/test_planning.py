"""Planning: inverted radii, expected numbers against simulation, the decision study, the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.bands import free_radius, gaussian_radius
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.say import Say
from polyjudge.second.questions.audit import rank_reversals, uncertainty, variance
from polyjudge.second.questions.plan.planning import band_radius, decision_study
from polyjudge.second.report import report_of
from refusals import lacks, refused


def test_published_number_of_tasks() -> None:
    plan = pj.plan(judges=6, languages=8, sigma=22.24, radius=20.61 / 2)
    assert plan.needed.set_index("bound").loc["Gaussian", "tasks"] == 52


def test_needed_is_the_smallest() -> None:
    plan = pj.plan(judges=4, languages=5, sigma=9.0, radius=3.0, score_range=(0, 100)).needed.set_index("bound")
    sd = 9 * np.sqrt(0.8 * 0.75)
    for name, radius in (
        ("Gaussian", lambda n: gaussian_radius(9.0, n, 5, 4, 0.95)),
        ("simultaneous band, widest cell", lambda n: band_radius(sd, n, 5, 4, 0.95)),
        ("distribution-free", lambda n: free_radius(100, n, 5, 4, 0.95)),
    ):
        n = int(plan.loc[name, "tasks"])
        assert radius(n) <= 3.0 < radius(n - 1)


@pytest.mark.statistical
def test_expected_cells_agree_with_simulated_panels() -> None:
    """A plan without data, against audits of panels drawn from what it assumes."""
    plan = pj.plan(judges=4, languages=4, sigma=8, radius=4, interaction_sd=4, judge_sd=4, tasks=[40], draws=2000)
    row = plan.table.iloc[0]
    cells, found = [], []
    for s in range(60):
        panel, _ = pj.simulate_panel(40, 4, 4, seed=s, interaction=4.0, judge_sd=4.0, noise_sd=8.0, task_judge_sd=0.0)
        cells.append(uncertainty(panel, resamples=200).clear)
        found.append(rank_reversals(panel, draws=19, resamples=100).count_selected)
    assert np.mean(cells) == pytest.approx(row["expected_cells"], abs=4 * np.std(cells) / np.sqrt(60))
    assert np.mean(found) == pytest.approx(row["expected_reversals"], abs=4 * np.std(found) / np.sqrt(60))


def test_more_tasks_find_more() -> None:
    table = pj.plan(pj.simulate_panel(seed=3)[0], tasks=[10, 40, 160]).table
    assert table["expected_cells"].is_monotonic_increasing
    assert table["expected_reversals"].is_monotonic_increasing
    assert table["band_radius"].is_monotonic_decreasing


@pytest.mark.real_data
def test_plan_from_devai(devai: pj.Panel) -> None:
    plan = pj.plan(devai)
    assert plan.sigma == pytest.approx(7.679, abs=0.001)
    assert plan.radius == pytest.approx(20.6058 / 2, abs=0.001)
    here = plan.table.set_index("tasks").loc[55]
    assert here["expected_cells"] == pytest.approx(25, abs=1.5)
    assert here["true_reversals"] == 7


def test_decision_study_by_hand() -> None:
    panel, _ = pj.simulate_panel(40, 4, 5, 2, 3, three_way_sd=4)
    frame, advice = decision_study(panel)
    v = variance(panel).components.set_index("component")["variance"]
    double = frame[(frame["facet"] == "tasks") & (frame["factor"] == 2)].set_index("order")["reliability"]
    error = v["task:judge"] / 80 + v["language:judge"] / 4 + (v["task:language:judge"] + v["noise"] / 2) / 320
    assert double["judges_overall"] == pytest.approx(v["judge"] / (v["judge"] + error))
    overall = frame[frame["order"] == "judges_overall"]
    for facet in ("tasks", "languages", "replicates"):
        part = overall[overall["facet"] == facet].sort_values("size")
        assert part["reliability"].is_monotonic_increasing
    judges = overall[overall["facet"] == "judges"]["reliability"]
    assert np.ptp(judges) < 1e-12
    assert advice.values["facet"] == "languages"


@pytest.mark.statistical
def test_reliability_predicts_the_agreement_of_two_panels() -> None:
    """Squared reliability index: two independent panels of the same judges correlate by about the reliability."""
    correlations, reliabilities = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        judge = rng.normal(0, 6, 12)
        halves = []
        for _ in range(2):
            beta = rng.normal(0, 5, (4, 12))
            noise = rng.normal(0, 8, (15, 4, 12)) + rng.normal(0, 6, (15, 1, 12))
            halves.append(pj.Panel.from_array(50 + judge + beta + noise))
        correlations.append(np.corrcoef(*(h.cell_means.mean(axis=0) for h in halves))[0, 1])
        frame, _ = decision_study(halves[0])
        now = frame[(frame["facet"] == "tasks") & (frame["factor"] == 1) & (frame["order"] == "judges_overall")]
        reliabilities.append(now["reliability"].iloc[0])
    assert np.mean(reliabilities) == pytest.approx(np.mean(correlations), abs=0.05)


def test_bad_input() -> None:
    with refused(UsageError, "sigma, radius", "--from"):
        pj.plan(judges=3, languages=3)
    with refused(UsageError, "judges", "languages"):
        pj.plan(judges=1, languages=3, sigma=1, radius=1)
    with refused(UsageError, "sigma", -1):
        pj.plan(judges=3, languages=3, sigma=-1, radius=1)
    with refused(UsageError, "radius", "inf"):
        pj.plan(judges=3, languages=3, sigma=1, radius=float("inf"))
    with refused(UsageError, "noise"):
        pj.plan(pj.Panel.from_array(np.full((5, 2, 2), 1.0)))
    with refused(UsageError, "range"):
        pj.plan(judges=3, languages=3, sigma=1, radius=1, score_range=(5, 5))
    tiny = pj.plan(judges=3, languages=3, sigma=1e6, radius=1e-3, tasks=[10])
    assert tiny.needed["tasks"].isna().all()
    json.dumps(tiny.to_dict(), allow_nan=False)


def test_command(tmp_path: Path, cli: Callable) -> None:
    done = cli("plan", "--judge-count", 6, "--language-count", 8, "--sigma", 22.24, "--radius", 10.3)
    assert done.returncode == 0, done.stderr
    assert "52" in done.stdout
    panel, _ = pj.simulate_panel(20, 3, 3, 2, 1)
    path = tmp_path / "scores.csv"
    panel.to_long().to_csv(path, index=False)
    data = json.loads(cli("plan", "--from", path, "--json", "-o", tmp_path / "out").stdout)
    assert data["decision"]
    assert (tmp_path / "out" / "plan.csv").exists()
    bad = cli("plan", "--judge-count", 6)
    assert bad.returncode == 2
    assert not lacks(bad.stderr, "languages, sigma, radius")


def test_the_advice_gives_an_interval_with_every_reliability() -> None:
    advice = pj.plan(pj.sample_panel(), draws=50).advice
    assert advice is not None
    assert str(advice).count("[") == 2


def test_the_first_line_is_the_answer() -> None:
    """How many tasks, then at what cost, then what they show; a pilot that is large enough is told so."""
    panel = pj.sample_panel()
    pilot = pj.plan(panel, radius=1.0, draws=50, tasks=[10])
    assert pilot.enough is not None
    assert pilot.enough > panel.n_tasks
    first, cost, *_ = report_of(pilot).verdict
    assert first.code == "plan.answer"
    assert first.values["more"] == pilot.enough - panel.n_tasks
    assert str(first).startswith(f"Score {pilot.enough - panel.n_tasks} more tasks")
    assert cost.values["scores"] == first.values["more"] * pilot.scores_per_task
    assert cost.values["cost"] is None
    priced = pj.plan(panel, radius=1.0, draws=50, tasks=[10], prices=dict.fromkeys(panel.judges, 0.5))
    assert report_of(priced).verdict[1].values["cost"] == pytest.approx(cost.values["scores"] / 2)
    enough = report_of(pj.plan(panel, radius=50.0, draws=50)).verdict
    assert enough[0].values["more"] == 0
    assert "plan.cost" not in [v.code for v in enough]
    none = report_of(pj.plan(judges=3, languages=3, sigma=1e6, radius=1e-3, tasks=[10], draws=50)).verdict
    assert [v.code for v in none] == ["plan.answer"]
    assert none[0].values["enough"] is None
    with refused(UsageError, "prices", "--from"):
        pj.plan(judges=3, languages=3, sigma=1, radius=1, prices={"a": 1.0})


def test_a_plan_and_an_audit_ask_for_the_same_tasks() -> None:
    """An audit that sends to `plan --radius` names a number of tasks; the plan must not say that all is well with
    fewer."""
    panel, _ = pj.simulate_panel(60, 3, 4, systems=3, interaction=0.0, noise_sd=9.0, seed=1)
    found = pj.audit(panel)
    (step,) = (s for s in found.advice.steps if s.why.code == "step.plan")
    plan = pj.plan(panel, radius=float(step.command[-1]), draws=50)
    assert plan.ruled_out == step.why.values["needed"] == found.certificate.tasks_needed
    assert plan.enough is not None
    assert plan.ruled_out > plan.enough
    (said,) = (s for s in report_of(plan).verdict if s.code == "plan.ruled-out")
    assert said.values["tasks"] == plan.ruled_out
    assert pj.plan(panel, radius=30.0, draws=50).ruled_out is None
    assert pj.plan(judges=4, languages=3, sigma=1, radius=1, draws=50).ruled_out is None


def test_a_task_of_languages_that_share_none_costs_one_language() -> None:
    panel, _ = pj.simulate_panel(60, 3, 4, systems=2, seed=1)
    scores = panel.system_scores
    assert scores is not None
    there = (np.arange(60) % 3)[:, None] == np.arange(3)
    apart = pj.Panel.from_array(np.where(there[:, None, :, None], scores, np.nan), systems=panel.systems)
    prices = dict.fromkeys(panel.judges, 0.5)
    whole, own = (pj.plan(p, radius=5.0, draws=50, prices=prices) for p in (panel, apart))
    assert (whole.scores_per_task, own.scores_per_task) == (24, 8)
    assert (whole.price_per_task, own.price_per_task) == (12.0, 4.0)


def test_what_to_buy_has_the_name_of_the_condition() -> None:
    advice = pj.plan(pj.sample_panel(), draws=50).advice
    assert advice is not None
    shown = str(Say(advice.code, {**advice.values, "facet": "languages"}, noun="rubric"))
    assert "buy rubrics first" in shown
    assert "languages" not in shown
