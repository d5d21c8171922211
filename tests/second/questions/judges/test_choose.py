"""Which judges to keep, and whether one may stand in for another."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import polyjudge.second as pj
from conftest import shared_file
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.questions.judges.choose import ALL, _recommended, choose
from polyjudge.second.questions.judges.judges import judges as asked
from polyjudge.second.questions.judges.swap import swap_judges
from polyjudge.second.report import report_of
from refusals import refused


def planted(
    seed: int = 0,
    sees: object = 1.0,
    noise: object = 10.0,
    judges: int = 5,
    copies: bool = False,
    tasks: int = 150,
) -> pj.Panel:
    """150 tasks x 4 systems x 3 languages; `sees` and `noise` may differ by language and judge."""
    rng = np.random.default_rng(seed)
    quality = 10 * rng.normal(size=(tasks, 4, 1, 1))
    error = rng.normal(size=(tasks, 4, 3, judges))
    if copies:
        error[..., 1] = np.sqrt(0.9) * error[..., 0] + np.sqrt(0.1) * error[..., 1]
    scores = 50 + np.asarray(sees) * quality + np.asarray(noise) * error
    return pj.Panel.from_array(scores, systems=[f"s{i}" for i in range(4)])


def brute_force(panel: pj.Panel, size: int) -> dict[str, str]:
    """Section 17's reliability of every subset, by loops."""
    best: dict[str, str] = {}
    scores = panel.system_scores
    assert scores is not None
    centred = scores - scores.mean(axis=1, keepdims=True)
    for at, language in enumerate(panel.languages):
        flat = centred[:, :, at].reshape(-1, len(panel.judges))
        found = {}
        for members in combinations(range(len(panel.judges)), size):
            v = flat[:, members].T @ flat[:, members] / len(flat)
            d = np.trace(v) / size
            o = (v.sum() - np.trace(v)) / (size * (size - 1))
            found[" + ".join(panel.judges[j] for j in members)] = size * o / (d + (size - 1) * o)
        best[language] = max(found, key=found.__getitem__)
    return best


@pytest.mark.parametrize(("gain", "named"), [(0.999, 1), (1.001, 2)])
def test_a_language_is_named_from_the_t_limit_over_all_panels_that_cost_no_more(gain: float, named: int) -> None:
    """Three panels cost no more in each of two languages, two ends each: twelve limits, from eight draws."""
    panel = planted(judges=2).select(languages=["language1", "language2"])
    z = np.array([[1, 0], [0, 1], [1, 1]], bool)
    drawn = np.zeros((2, 3, 8))
    drawn[1, 1] = np.arange(8) / 50
    critical = stats.t.ppf(1 - 0.05 / 12, 7) * np.std(np.arange(8) / 50, ddof=1)
    reliability = np.array([[0.3, 0.3, 0.3], [0.3, 0.3 + gain * critical, 0.3]])
    found = _recommended(panel, z, 0, (reliability, np.ones((3, 3))), drawn, np.ones(3), 0.95)
    assert found["language"].tolist() == [ALL, "language2"][:named]


@pytest.mark.parametrize("judged", ["planted", pytest.param("real", marks=pytest.mark.real_data)])
def test_best_pair_and_triple_equal_brute_force(judged: str) -> None:
    real = judged == "real"
    panel = pj.read_panel(shared_file("data/gemba/wmt22_da.csv.gz"), task="segment") if real else planted(tasks=40)
    best = choose(panel, resamples=100).best
    for size in (2, 3):
        mine = best[(best["size"] == size) & (best["language"] != ALL)].set_index("language")["judges"]
        assert mine.to_dict() == brute_force(panel, size)


def test_reliability_is_that_of_the_panel_mean() -> None:
    panel = planted()
    table = choose(panel).subsets
    row = table[(table["language"] == "language1") & (table["size"] == 5)].iloc[0]
    scores = panel.system_scores
    assert scores is not None
    flat = (scores - scores.mean(axis=1, keepdims=True))[:, :, 0].reshape(-1, 5)
    v = flat.T @ flat / len(flat)
    d, o = np.trace(v) / 5, (v.sum() - np.trace(v)) / 20
    assert row["reliability"] == pytest.approx(5 * o / (d + 4 * o))
    assert row["low"] < row["reliability"] < row["high"]


def test_the_error_is_the_standard_error_of_a_system_difference() -> None:
    panel = planted(sees=0.0, tasks=2000)
    table = choose(panel).subsets
    row = table[(table["language"] == "language1") & (table["size"] == 5)].iloc[0]
    assert row["error"] == pytest.approx(np.sqrt(2 * 100 / 5 / 2000), rel=0.05)


def test_the_error_over_languages_counts_what_tasks_share() -> None:
    """The same task is hard in every language, so two languages are not two tasks."""
    panel = planted(tasks=400)
    scores = panel.system_scores
    assert scores is not None
    table = choose(panel, resamples=100).subsets
    row = table[(table["language"] == ALL) & (table["size"] == 5)].iloc[0]
    mean = scores.mean(axis=(2, 3))
    each = [(mean[:, i] - mean[:, j]).var() for i, j in combinations(range(4), 2)]
    assert row["error"] == pytest.approx(np.sqrt(np.mean(each) / 400), rel=0.02)


def test_a_judge_that_hardly_sees_does_not_win_by_hardly_moving() -> None:
    sees, noise = np.array([1.0, 1.0, 1.0, 1.0, 0.0]), np.array([10.0, 10.0, 10.0, 10.0, 1.0])
    result = choose(planted(sees=sees, noise=noise), matters=3.0)
    assert "judge5" not in " ".join(result.frontier["judges"].head(3))
    assert "judge5" not in result.recommended["judges"].iloc[0]
    assert (result.frontier["error_low"] < result.frontier["error"]).all()


def test_near_copies_are_named_as_either_and_not_demoted() -> None:
    result = choose(planted(copies=True), max_judges=2, budget=2.0 * 4 * 3)
    assert result.groups["judges"].tolist() == ["judge1 + judge2"]
    assert result.kept == ("judge1", "judge2")
    assert result.rests_on == "judge1 + judge2"
    said = [f.code for f in report_of(asked(planted(copies=True), max_judges=2, budget=24.0)).findings]
    assert said == ["choose-one-group", "choose-group"]
    assert choose(planted()).groups.empty


def test_a_blind_judge_is_left_out() -> None:
    sees = np.ones(5)
    sees[4] = 0.0
    result = choose(planted(sees=sees))
    assert result.recommended["judges"].iloc[0] == "judge1 + judge2 + judge3 + judge4"


def test_a_language_that_needs_another_panel_is_said() -> None:
    sees = np.ones((3, 5))
    sees[0, :2] = 0.0
    noise = np.array([4.0, 4.0, 20.0, 20.0, 20.0])
    result = choose(planted(sees=sees, noise=noise), budget=2.0 * 4 * 3)
    recommended = result.recommended.set_index("language")["judges"]
    assert recommended[ALL] == "judge1 + judge2"
    assert "judge1" not in recommended["language1"]
    assert "language2" not in recommended.index


def test_prices_budget_target_and_matters() -> None:
    panel = planted()
    prices = {j: 1.0 for j in panel.judges} | {"judge1": 50.0}
    result = choose(panel, prices=prices, budget=4 * 4.0 * 3)
    assert result.recommended["judges"].iloc[0] == "judge2 + judge3 + judge4 + judge5"
    assert result.full_cost == 54 * 4 * 3
    frontier = result.frontier
    assert frontier["cost"].is_monotonic_increasing
    assert (frontier["error"].diff().dropna() < 0).all()
    assert choose(panel, matters=50.0).recommended["judges"].iloc[0].count("+") == 0
    assert choose(panel, target=1e-6).rule == "none is enough"
    with refused(UsageError, "matters", "budget", "target"):
        choose(panel, matters=1.0, budget=3.0)
    with refused(UsageError, "price", "judge2", "judge5"):
        choose(panel, prices={"judge1": 1.0})
    with refused(UsageError, 0.1, 12):
        choose(panel, budget=0.1)


@pytest.mark.statistical
def test_held_out_figures_do_not_flatter() -> None:
    """Five equal judges: the truth of every pair is 2/3. 40 panels; the chosen pair's own figure is too high."""
    held, inside = [], []
    for seed in range(40):
        best = choose(planted(seed), max_judges=2, resamples=20, seed=seed).best
        row = best[(best["language"] == ALL) & (best["size"] == 2)].iloc[0]
        held.append(row["held_out"] - 2 / 3)
        inside.append(row["in_sample"] - 2 / 3)
    se = np.std(held, ddof=1) / np.sqrt(len(held))
    assert abs(np.mean(held)) < 3 * se
    assert np.mean(inside) > 3 * np.std(inside, ddof=1) / np.sqrt(len(inside))


def test_labels_add_squared_error_and_agreement() -> None:
    panel, gold = labelled([2.0, 15.0, 15.0])
    table = choose(panel, gold=gold).subsets.query("language == '(all)'").set_index("judges")
    assert table["squared_error"].idxmin() == "judge1"
    assert table.loc["judge1", "squared_error"] == pytest.approx(4.0, rel=0.3)
    assert table.loc["judge1", "agreement"] > table.loc["judge2", "agreement"]


def test_weights_by_reliability_are_shown_only_when_they_beat_equal_ones() -> None:
    assert choose(planted()).weighting.empty
    uneven = choose(planted(noise=np.array([6.0, 6.0, 6.0, 8.5]), judges=4, tasks=600), budget=1e3, resamples=100)
    assert set(uneven.weighting["kind"]) == {"reliability"}
    weight = uneven.weighting.set_index("judge")["weight"]
    assert weight["judge1"] > 1.5 * weight["judge4"]
    assert (uneven.weighting["low"] > 0).all()


def labelled(noise: list[float], seed: int = 3) -> tuple[pj.Panel, Gold]:
    """200 tasks in two languages, labels without error; judges err by `noise`."""
    rng = np.random.default_rng(seed)
    truth = 10 * rng.normal(size=(200, 1, 1))
    panel = pj.Panel.from_array(50 + truth + np.array(noise) * rng.normal(size=(200, 2, len(noise))))
    return panel, Gold("score", np.tile(50 + truth[:, 0], (1, 2)), panel.languages)


def test_weights_by_labels_are_shown_only_when_they_beat_equal_ones() -> None:
    panel, gold = labelled([5.0, 8.0])
    found = choose(panel, gold=gold, target=1e-6).weighting
    assert list(found["kind"]) == ["labels", "labels"]
    assert found["weight"].to_numpy() == pytest.approx([64 / 89, 25 / 89], abs=0.05)
    assert found["gain"].iloc[0] == pytest.approx(np.sqrt(89 / 4) - np.sqrt(25 * 64 / 89), abs=0.2)
    assert choose(*labelled([6.0, 6.0])[:1], gold=labelled([6.0, 6.0])[1], target=1e-6).weighting.empty


def test_more_than_twelve_judges_are_searched_greedily() -> None:
    result = choose(planted(judges=14, tasks=60), resamples=100)
    assert not result.exhaustive
    assert int(result.subsets["size"].max()) == 14


def test_without_systems_the_tasks_are_what_is_judged() -> None:
    rng = np.random.default_rng(1)
    scores = 50 + 10 * rng.normal(size=(300, 1, 1)) + 10 * rng.normal(size=(300, 2, 4))
    result = choose(pj.Panel.from_array(scores))
    assert not result.systems
    row = result.subsets.query("language == '(all)' and size == 4").iloc[0]
    assert row["reliability"] == pytest.approx(0.8, abs=0.05)


# --- swap ---


def shifted(gap: float, seed: int = 0, tasks: int = 200) -> pj.Panel:
    """Judge b is judge a but for `gap` points more on system s0, and noise."""
    rng = np.random.default_rng(seed)
    scores = 50 + 10 * rng.normal(size=(tasks, 2, 2, 1)) + 4 * rng.normal(size=(tasks, 2, 2, 3))
    scores[:, 0, :, 1] += gap
    return pj.Panel.from_array(scores, judges=["a", "b", "c"], systems=["s0", "s1"])


def test_a_swap_is_accepted_refused_or_open() -> None:
    assert swap_judges(shifted(0.0), "a", "b", matters=3.0, alone=True).answer == "accepted"
    assert swap_judges(shifted(8.0), "a", "b", matters=3.0, alone=True).answer == "refused"
    result = swap_judges(shifted(2.5), "a", "b", matters=3.0, alone=True)
    assert result.answer == "open"
    assert result.needed is not None
    assert result.needed > result.tasks


def test_in_the_panel_mean_a_swap_counts_by_its_share() -> None:
    alone = swap_judges(shifted(8.0), "a", "b", matters=3.0, alone=True).changes["change"]
    shared = swap_judges(shifted(8.0), "a", "b", matters=3.0).changes["change"]
    assert shared.to_numpy() == pytest.approx(alone.to_numpy() / 2)


def test_pass_rates_are_compared_at_a_threshold() -> None:
    kinds = swap_judges(shifted(0.0), "a", "b", matters=3.0, threshold=50.0).changes["kind"]
    assert set(kinds) == {"language", "system difference", "pass rate"}


@pytest.mark.slow
@pytest.mark.statistical
def test_swap_keeps_its_level_at_the_border() -> None:
    """The true change is just `matters`: accepted in at most 5% of 400 panels, within Monte-Carlo error."""
    accepted = sum(
        swap_judges(shifted(3.0, seed=s, tasks=100), "a", "b", matters=3.0, alone=True).answer == "accepted"
        for s in range(400)
    )
    assert accepted / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_bad_swaps_are_refused() -> None:
    with refused(PanelError, "z", "a, b, c"):
        swap_judges(shifted(0.0), "a", "z")
    with refused(UsageError, "itself"):
        swap_judges(shifted(0.0), "a", "a")
    with refused(UsageError, "matters", -1.0):
        swap_judges(shifted(0.0), "a", "b", matters=-1.0)


def test_a_guard_refuses_what_rare_failures_could_undo() -> None:
    """The new judge fails on 3 of 100 calls for one system: 1.8 points, where 1.5 are accepted."""

    def accepted(guard: bool) -> int:
        found = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            scores = 70 + rng.normal(0, 8, (30, 3, 1, 1)) + rng.normal(0, 1, (30, 3, 2, 3))
            scores[:, 0, 0, 1] -= 60 * (rng.random(30) < 0.03)
            panel = pj.Panel.from_array(np.clip(scores, 0, 100), systems="abc", declared_range=(0, 100))
            result = swap_judges(panel, "judge1", "judge2", matters=1.5, alone=True, guard=guard)
            assert result.blind_points == pytest.approx(100 * (1 - 0.05 ** (1 / 30)))
            found += result.answer == "accepted"
        return found

    assert accepted(guard=False) > 2
    assert accepted(guard=True) == 0


def test_languages_without_common_tasks_are_judged_inside_each() -> None:
    panel = planted(tasks=60).select(languages=["language1", "language2"])
    scores = np.full((120, 4, 2, 5), np.nan)
    scores[:60, :, 0], scores[60:, :, 1] = panel.system_scores[:, :, 0], panel.system_scores[:, :, 1]  # type: ignore[index]
    apart = pj.Panel.from_array(scores, systems=panel.systems)
    found = pj.judges(apart).choice
    assert found is not None
    for at, language in enumerate(apart.languages):
        alone = choose(panel.select(languages=[panel.languages[at]])).subsets
        mine = found.subsets[found.subsets["language"] == language]
        theirs = alone[alone["language"] != ALL]
        np.testing.assert_allclose(mine["reliability"], theirs["reliability"])
        np.testing.assert_allclose(mine["error"], theirs["error"], rtol=0.1)  # slopes are the languages' own
    whole = found.subsets[(found.subsets["language"] == ALL) & (found.subsets["size"] == 5)]["error"].iloc[0]
    each = found.subsets[(found.subsets["language"] != ALL) & (found.subsets["size"] == 5)]["error"]
    assert whole == pytest.approx(np.sqrt((each**2).sum()) / 2, rel=0.1)
    assert pj.judges(apart, swap=("judge1", "judge2")).swap.changes["kind"].unique().tolist() == ["system difference"]  # type: ignore[union-attr]
