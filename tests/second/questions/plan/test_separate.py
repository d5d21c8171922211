"""How many tasks tell systems apart: variance components, the leaderboard's own criterion, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.questions.plan.separate import separate, system_variance
from polyjudge.second.questions.systems.leaderboard import leaderboard
from polyjudge.second.report import report_of


def test_variance_components_with_systems_are_the_planted_ones() -> None:
    panel, _ = pj.simulate_panel(
        400, 4, 5, 2, systems=6, interaction=0.0, task_system_sd=8, noise_sd=6, task_judge_sd=5, seed=1
    )
    found = system_variance(panel)
    assert found.of("task:system") == pytest.approx(64, rel=0.1)
    assert found.of("noise") == pytest.approx(36, rel=0.05)
    assert found.of("task:judge") == pytest.approx(25, rel=0.15)
    assert abs(found.components.set_index("component").loc["task:system:language:judge", "variance"]) < 2
    assert found.components["share"].sum() == pytest.approx(1)


@pytest.mark.statistical
@pytest.mark.parametrize("prices", [None, {"judge1": 2.0, "judge2": 3.0, "judge3": 1.0}])
def test_a_plan_counts_every_replicate(prices: dict[str, float] | None) -> None:
    """Tasks are those that suffice with as many replicates as the pilot has: they all are to be paid."""
    panel, _ = pj.simulate_panel(40, 2, 3, replicates=3, systems=3, seed=1)
    plan = separate(panel, 2.0, prices=prices)
    each = prices or dict.fromkeys(panel.judges, 1.0)
    assert plan.cost == plan.needed * sum(each.values()) * 2 * 3 * 3
    assert plan.kept_cost == plan.kept_tasks * sum(each[j] for j in plan.kept) * 2 * 3 * 3


@pytest.mark.parametrize("quality", [[1.5, -1.5], [3.0, 0.0, 0.0, 0.0]])
@pytest.mark.statistical
def test_as_many_tasks_as_planned_do_tell_systems_apart(quality: list[float]) -> None:
    """With the planned number of tasks four of five leaderboards tell the two best apart, as asked for."""
    options = {"systems": len(quality), "system_sd": quality, "task_system_sd": 8, "noise_sd": 6}
    pilot, _ = pj.simulate_panel(200, 2, 3, seed=1, **options)
    planned = separate(pilot, 3.0)
    found = 0
    for seed in range(60):
        panel, _ = pj.simulate_panel(planned.needed, 2, 3, seed=seed + 10, **options)
        found += leaderboard(panel, resamples=100).top_set() == ["system1"]
    assert 0.68 <= found / 60 <= 0.98
    rows = planned.table.set_index(["judges", "languages"])["tasks"]
    assert rows[3, 2] == planned.needed
    assert rows[2, 2] > rows[3, 2] > rows[6, 2]


def test_judges_whose_tastes_differ_more_than_the_systems_have_no_number_of_tasks() -> None:
    panel, _ = pj.simulate_panel(60, 2, 3, systems=4, judge_system=20.0, seed=1)
    found = separate(panel, 1.0)
    assert (found.needed, found.cost) == (None, None)
    said = [s.code for s in report_of(found, panel).verdict]
    assert said[0] == "separate.needed"
    assert report_of(found, panel).verdict[0].values["needed"] is None


def test_a_maker_with_most_judges_asks_for_more_tasks() -> None:
    panel, _ = pj.simulate_panel(60, 2, 4, systems=3, noise_sd=12, seed=1)
    alone = separate(panel, 3.0).needed
    made = separate(panel, 3.0, families=dict.fromkeys(panel.judges[:3], "one")).needed
    assert alone is not None
    assert made is not None
    assert made > alone


def test_the_cheapest_panel_for_a_difference_of_systems() -> None:
    sees, noise = np.array([1.0, 1.0, 1.0, 1.0, 0.0]), np.array([4.0, 10.0, 10.0, 10.0, 1.0])
    rng = np.random.default_rng(0)
    scores = 50 + sees * 10 * rng.normal(size=(150, 4, 1, 1)) + noise * rng.normal(size=(150, 4, 3, 5))
    panel = pj.Panel.from_array(scores, systems="abcd")
    found = separate(panel, 2.0, prices={"judge1": 0.02, **dict.fromkeys(panel.judges[1:], 0.01)})
    assert "judge5" not in found.kept
    assert found.kept_cost < found.cost
    assert len(found.kept) >= 2  # the taste of one judge ranks nothing
    choice = next(s for s in report_of(found).verdict if s.code == "separate.choice")  # type: ignore[union-attr]
    assert (choice.values["cost"], choice.values["full"]) == (found.kept_cost, found.cost)
    assert choice.values["priced"]


def test_the_judge_on_whom_the_pilots_lead_hangs_is_named() -> None:
    taste = np.zeros((3, 4))
    taste[0, 2] = 12
    options = {"systems": "abc", "system_sd": [0.0, 0, -20], "seed": 3}
    assert separate(pj.simulate_panel(200, 2, 4, judge_system=taste, **options)[0], 2.0).hangs_on == "judge3"
    assert separate(pj.simulate_panel(200, 2, 4, **options)[0], 2.0).hangs_on == ""


def test_one_judge_or_language_says_nothing_of_a_second() -> None:
    panel, _ = pj.simulate_panel(40, 2, 2, systems=3, seed=1)
    one = separate(panel.select(languages=panel.languages[:1], judges=panel.judges[:1]), 5.0)
    assert one.table[["judges", "languages"]].to_numpy().tolist() == [[1, 1]]
    assert report_of(one) is not None
