"""Signal, leaderboard and favour: the known figures of real panels, plain references, and planted truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from conftest import shared_file
from polyjudge.second.estimate.covariance import Moments, one_factor
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import families
from polyjudge.second.panel.say import word
from polyjudge.second.questions.systems import view as systems_view
from polyjudge.second.questions.systems.favour import favour
from polyjudge.second.questions.systems.leaderboard import leaderboard
from polyjudge.second.questions.systems.signal import _ratio_band, signal
from polyjudge.second.report import report_of
from polyjudge.second.report.sections import find
from polyjudge.second.report.tables import cells
from refusals import lacks, refused


@pytest.fixture(scope="module")
def frameworks(devai_path: Path) -> pj.Panel:
    return pj.read_panel(devai_path, system="framework")


@pytest.fixture(scope="module")
def gemba() -> pj.Panel:
    return pj.read_panel(shared_file("data/gemba/wmt22_da.csv.gz"), task="segment")


def codes(result: object) -> set[str]:
    return {f.code for f in result.findings}  # type: ignore[attr-defined]


# --- signal ---


def test_the_judges_of_devai_do_not_see_the_frameworks(frameworks: pj.Panel) -> None:
    found = signal(frameworks)
    assert found.mean_one == pytest.approx(0.0051, abs=0.001)
    assert found.languages["one"].between(-0.04, 0.04).all()
    assert set(found.languages["verdict"]) <= {"do not agree", "cannot tell"}
    assert found.verdict == "do not agree"
    assert "signal-disagree" in codes(found)
    said = next(f for f in found.findings if f.code == "signal-disagree")
    assert "[{low:.2f}, {high:.2f}]".format(**said.values) in word(said)
    assert list(found.to_frame())[:6] == ["language", "judge", "reliability", "low", "high", "verdict"]
    assert set(found.to_frame()["judge"]) == {*frameworks.judges, "(panel)"}


def test_against_human_labels_the_panel_of_devai_is_blind_and_the_agent_judge_is_not(frameworks: pj.Panel) -> None:
    assert frameworks.system_scores is not None
    panel = pd.DataFrame(
        frameworks.system_scores.mean(axis=(2, 3)), index=frameworks.tasks, columns=frameworks.systems
    ).stack()
    labels = {}
    for who in ("human", "agent_judge"):
        rows = pd.read_csv(shared_file(f"data/devai/{who}_labels.csv"))
        labels[who] = 100 * rows.groupby(["task", "framework"])["satisfied"].mean()
    human = labels["human"].reindex(panel.index)
    assert np.corrcoef(panel, human)[0, 1] == pytest.approx(0.033, abs=0.002)
    assert np.corrcoef(labels["agent_judge"].reindex(panel.index), human)[0, 1] == pytest.approx(0.861, abs=0.001)


def test_the_judges_of_gemba_agree_and_are_of_one_maker(gemba: pj.Panel) -> None:
    found = signal(gemba, resamples=200)
    by = found.languages.set_index("language")
    assert by["one"].to_dict() == pytest.approx({"German": 0.558, "Russian": 0.526}, abs=0.002)
    assert by["panel"].to_dict() == pytest.approx({"German": 0.863, "Russian": 0.847}, abs=0.002)
    assert (by["verdict"] == "cannot tell").all()
    assert (found.makers, found.why) == (["OpenAI"], "one maker")
    assert by.loc["German", ["one_low", "one_high"]].to_list() == pytest.approx([0.543, 0.573], abs=0.004)


def plain_reliability(scores: np.ndarray) -> tuple[list[float], list[float]]:
    """docs/methods.md, section 17 word by word, on (n, s, k, m)."""
    one, panel = [], []
    k, m = scores.shape[2:]
    for l in range(k):  # noqa: E741
        d = scores[:, :, l] - scores[:, :, l].mean(axis=1, keepdims=True)
        v = [[np.mean(d[:, :, i] * d[:, :, j]) for j in range(m)] for i in range(m)]
        on = np.mean([v[i][i] for i in range(m)])
        off = np.mean([v[i][j] for i in range(m) for j in range(m) if i != j])
        one.append(off / on)
        panel.append(m * off / (on + (m - 1) * off))
    return one, panel


def test_reliability_by_its_definition() -> None:
    panel, _ = pj.simulate_panel(15, 3, 4, systems=5, seed=2)
    one, mean = plain_reliability(panel.system_scores)  # type: ignore[arg-type]
    found = signal(panel, resamples=100)
    np.testing.assert_allclose(found.languages["one"], one)
    np.testing.assert_allclose(found.languages["panel"], mean)
    assert found.mean_one == pytest.approx(np.mean(one))
    shifted = panel.adjusted(np.arange(12.0).reshape(3, 4))
    np.testing.assert_allclose(signal(shifted, resamples=100).languages["one"], one)


def test_missing_systems_leave_the_reliability_where_it_was() -> None:
    panel, _ = pj.simulate_panel(400, 2, 3, systems=6, seed=5)
    holed, _ = pj.simulate_panel(400, 2, 3, systems=6, seed=5, missing=0.2)
    assert signal(holed, resamples=100).mean_one == pytest.approx(signal(panel, resamples=100).mean_one, abs=0.03)


def test_without_systems_the_tasks_are_the_objects() -> None:
    panel, _ = pj.simulate_panel(80, 2, 3, task_sd=12, task_judge_sd=2, noise_sd=2, seed=1)
    found = signal(panel, resamples=200)
    assert found.by_task
    v = np.cov(panel.scores[:, 0].T)
    expected = (v.sum() - np.trace(v)) / 6 / (np.trace(v) / 3)
    assert found.languages["one"][0] == pytest.approx(expected)
    noise = panel.with_scores(np.random.default_rng(0).normal(50, 5, panel.shape))
    assert signal(noise, resamples=200).mean_one == pytest.approx(0, abs=0.15)


def test_of_scores_that_are_all_one_nothing_can_be_told() -> None:
    scores = np.full((20, 3, 2, 3), 80.0) + np.arange(20)[:, None, None, None]
    found = signal(pj.Panel.from_array(scores, systems="abc"), resamples=100)
    assert np.isnan(found.mean_one)
    assert (found.verdict, found.why) == ("cannot tell", "constant")
    assert set(found.cells["verdict"]) == {"cannot tell"}
    scores[:9, 0, 1] += 1.0  # nine tasks that vary are still nearly none
    nearly = signal(pj.Panel.from_array(scores, systems="abc"), resamples=100)
    assert nearly.languages["why"].tolist() == ["constant", "constant"]


def shared_error(
    m: int, groups: list[list[int]], judges: list[str] | None = None, sees: Any = 0.0, tasks: int = 60
) -> pj.Panel:
    """4 systems, 3 languages; the judges of a group share 70% of their error, `sees` of all is true."""
    rng = np.random.default_rng(1)
    e = rng.normal(0, 1, (tasks, 4, 3, m))
    for g in groups:
        e[..., g] = np.sqrt(0.7) * rng.normal(0, 1, (tasks, 4, 3, 1)) + np.sqrt(0.3) * e[..., g]
    scores = np.sqrt(sees) * rng.normal(0, 1, (tasks, 4, 1, 1)) + np.sqrt(1 - np.asarray(sees)) * e
    names = judges or [f"j{i}" for i in range(m)]
    return pj.Panel.from_array(50 + 5 * scores, judges=names, systems="abcd")


NAMED = ["gpt-4", "gpt-4o", "gpt-5", "claude-3", "gemini-2", "mistral-x"]


@pytest.mark.parametrize(
    ("panel", "verdict", "why", "group"),
    [
        (shared_error(6, [], NAMED), "do not agree", "", ""),
        (shared_error(6, [[0, 1, 2]], NAMED), "cannot tell", "group", "gpt-4 + gpt-4o + gpt-5"),
        (shared_error(4, [[0, 1]], NAMED[1:5]), "cannot tell", "group", "gpt-4o + gpt-5"),
        (shared_error(5, [[0, 1, 2]]), "cannot tell", "group", "j0 + j1 + j2"),
        (shared_error(6, [[0, 1, 2, 3]], tasks=400), "cannot tell", "group", "j0 + j1 + j2 + j3"),
        (shared_error(3, [[0, 1]]), "cannot tell", "group", ""),
        (shared_error(8, [[0, 1]], tasks=120), "cannot tell", "group", "j0 + j1"),
        (shared_error(5, [[0, 1, 2]], sees=0.3), "agree", "", "j0 + j1 + j2"),
        (shared_error(6, [], sees=0.4), "agree", "", ""),
        (shared_error(6, [], sees=np.array([0.8, 0.8, 0.3, 0.3, 0.3, 0.3])), "agree", "", ""),
        (shared_error(3, [], NAMED[:3], sees=0.5), "cannot tell", "one maker", ""),
        (shared_error(2, [], sees=0.5), "cannot tell", "two judges", ""),
        (shared_error(1, [], sees=0.5), "cannot tell", "one judge", ""),
    ],
)  # fmt: skip
def test_agreement_inside_one_group_or_maker_proves_nothing(
    panel: pj.Panel, verdict: str, why: str, group: str
) -> None:
    found = signal(panel, resamples=200)
    assert (found.verdict, found.why) == (verdict, why)
    assert found.groups["judges"].tolist() == [group] * bool(group)
    assert ("signal-group" in codes(found)) == bool(group)


def test_a_language_whose_tasks_are_others_is_noticed() -> None:
    panel = shared_error(4, [], sees=0.4)
    assert "signal-strays" not in codes(signal(panel, resamples=200))
    mixed = np.array(panel.system_scores)
    mixed[:, :, 2] = mixed[np.random.default_rng(0).permutation(60), :, 2]
    found = signal(pj.Panel.from_array(mixed, judges=panel.judges, systems="abcd"), resamples=200)
    said = next(f for f in found.findings if f.code == "signal-strays")
    assert (said.values["languages"], said.severity) == (["language3"], "warning")
    assert said.values["low"] < said.values["consistency"] < said.values["high"] < said.values["usual"]
    assert not lacks(word(said), "language3")


def test_a_judge_against_the_others_does_not_make_them_disagree() -> None:
    scores = np.array(shared_error(3, [], sees=0.6).system_scores)
    scores[..., 2] = 100 - scores[..., 2]
    found = signal(pj.Panel.from_array(scores, systems="abcd"), resamples=200)
    assert found.mean_one_high < 0.1
    assert (found.verdict, found.why) == ("cannot tell", "group")
    assert found.odd == [(language, "judge3") for language in ("language1", "language2", "language3")]


def test_makers_that_are_given_count_as_those_of_names() -> None:
    panel = shared_error(3, [[0, 1]])
    assert signal(panel, resamples=200).why == "group"
    assert signal(panel, families=dict.fromkeys(panel.judges, "one"), resamples=200).why == "one maker"


def test_consistency_is_the_correlation_with_the_other_languages() -> None:
    panel = shared_error(4, [], sees=0.4)
    found = signal(panel, resamples=200).languages
    mean = panel.system_scores.mean(axis=3)  # type: ignore[union-attr]
    mean = mean - mean.mean(axis=1, keepdims=True)
    expected = np.corrcoef(mean[:, :, 0].ravel(), mean[:, :, 1:].mean(axis=2).ravel())[0, 1]
    assert found["consistency"][0] == pytest.approx(expected)
    assert (found["consistency_low"] < found["consistency"]).all()
    assert (found["consistency"] < found["consistency_high"]).all()


def test_clusters_are_resampled_as_a_whole() -> None:
    panel, _ = pj.simulate_panel(200, 2, 3, systems=3, seed=3)
    twice = pj.Panel.from_array(
        np.repeat(panel.system_scores, 2, axis=0), systems=panel.systems,  # type: ignore[arg-type]
        clusters=panel.tasks, cluster=np.repeat(np.arange(200), 2),
    )  # fmt: skip
    a, b = signal(panel, resamples=200).languages, signal(twice, resamples=200).languages
    pd.testing.assert_frame_equal(a, b)


def test_one_factor_recovers_its_loadings() -> None:
    loadings = np.array([[1.0, 2, 3, 0.5], [1, 1, 1, -1]])
    v = loadings[:, :, None] * loadings[:, None, :] + np.eye(4) * 7
    np.testing.assert_allclose(one_factor(v), loadings, atol=1e-6)


def test_a_judge_that_spreads_systems_less_in_a_language_is_named() -> None:
    sees = np.ones((4, 4))
    sees[2, 1] = 0.4
    panel, _ = pj.simulate_panel(150, 4, 4, systems=6, sees=sees, noise_sd=4, seed=1)
    slopes = signal(panel, resamples=300).slopes
    worst = slopes.loc[slopes["own"].idxmin()]
    assert (worst["language"], worst["judge"]) == ("language3", "judge2")
    assert worst["clear"]
    assert worst["slope"] == pytest.approx(0.4 / 0.85, abs=0.08)
    even = signal(pj.simulate_panel(150, 4, 4, systems=6, noise_sd=4, seed=2)[0], resamples=300)
    assert not even.slopes["clear"].any()


def test_a_judge_that_sees_nowhere_hides_no_other_slope() -> None:
    """Its usual spread is 0, against which no language can be held."""
    sees = np.ones((3, 5))
    sees[1, 2] = 0.3
    panel, _ = pj.simulate_panel(200, 3, 5, systems=6, sees=sees, noise_sd=4, seed=1)
    for noise in (0.0, 9.0):
        scores = np.array(panel.system_scores)
        scores[..., 4] = 50 + noise * np.random.default_rng(2).normal(size=scores.shape[:3])
        found = signal(pj.Panel.from_array(scores, systems=panel.systems), resamples=200)
        assert set(found.slopes["judge"]) == set(panel.judges[:4])
        worst = found.slopes.loc[found.slopes["own"].idxmin()]
        assert (worst["language"], worst["judge"]) == ("language2", "judge3")
        assert worst["material"]


@pytest.mark.statistical
def test_the_band_of_slopes_holds_the_planted_ones() -> None:
    """Pass or fail is not planted here: there the ends of the scale bend every slope."""
    sees = np.ones((3, 4))
    sees[1, 2], sees[0, 1] = 0.3, 0.6
    ratio = sees / sees.mean(axis=0)
    own = (ratio / ratio.mean(axis=1, keepdims=True)).ravel()
    held = []
    for seed in range(100):
        panel, _ = pj.simulate_panel(60, 3, 4, systems=3, sees=sees, interaction=0.0, seed=seed)
        slopes = signal(panel, resamples=200, seed=seed).slopes
        held.append(bool(((slopes["band_low"] <= own) & (own <= slopes["band_high"])).all()))
    assert np.mean(held) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / len(held))


def test_the_band_of_a_ratio_is_that_of_fieller() -> None:
    """Against a search over all ratios; without bounds where the lower one may be 0."""
    rng = np.random.default_rng(0)
    tops, bottoms = rng.normal(0.3, 0.1, (400, 1, 1)), rng.normal(1, 0.2, (400, 1, 1))
    top, bottom = tops.mean(axis=0), bottoms.mean(axis=0)
    low, high = (float(x[0, 0]) for x in _ratio_band(top, bottom, tops, bottoms, 0.95))
    t, b = tops - top, bottoms - bottom
    at = float(top[0, 0] / bottom[0, 0])
    c = np.quantile(np.abs(t - at * b) / (t - at * b).std(), 0.95, method="higher")
    tried = np.linspace(-2, 3, 50_001)
    spread = np.sqrt(np.var(t) - 2 * tried * np.mean(t * b) + tried**2 * np.var(b))
    inside = tried[np.abs(top[0, 0] - tried * bottom[0, 0]) <= c * spread]
    assert (low, high) == pytest.approx((inside.min(), inside.max()), abs=2e-4)
    wide = _ratio_band(top, bottom - 1, tops, bottoms - 1, 0.95)
    assert np.isneginf(wide[0]).all()
    assert np.isposinf(wide[1]).all()


def test_slopes_are_a_method_that_stretches_what_was_squeezed() -> None:
    sees = np.ones((3, 4))
    sees[1, 2] = 0.4
    panel, _ = pj.simulate_panel(200, 3, 4, systems=6, sees=sees, noise_sd=3, seed=1)
    assert {"raw", "slopes"} == set(pj.compare(panel, ["raw", "slopes"], resamples=50).table["method"])
    from polyjudge.second.calibrate.methods import find_methods

    out = find_methods("slopes")[0].fit(panel).transform(panel)
    assert out.system_scores is not None
    assert panel.system_scores is not None
    np.testing.assert_allclose(out.cell_means, panel.cell_means)
    before, after = (signal(p, resamples=100).slopes["own"] - 1 for p in (panel, out))
    assert after.abs().max() < 0.1 < before.abs().max()
    assert "slopes" not in {m.name for m in find_methods("all")}
    scores = np.array(panel.system_scores)
    scores[..., 0] = 50 + np.random.default_rng(1).normal(0, 9, scores.shape[:3])  # stretching does not mend blindness
    blind = pj.Panel.from_array(scores, systems=panel.systems)
    moved = np.abs(find_methods("slopes")[0].fit(blind).transform(blind).system_scores - scores).max(axis=(0, 1))  # type: ignore[operator]
    assert moved[:, 0].max() < 1e-9
    assert moved[1, 2] > 5


def test_a_blind_judge_in_one_language_is_named() -> None:
    sees = np.ones((3, 4))
    sees[1, 2] = 0.0
    panel, _ = pj.simulate_panel(300, 3, 4, systems=4, sees=sees, seed=1)
    found = signal(panel, resamples=300)
    assert found.odd == [("language2", "judge3")]
    assert "signal-judge-odd" in codes(found)
    assert "signal-disagree" not in codes(found)


def test_a_blind_judge_is_named_though_it_pulls_its_language_down() -> None:
    """With pass or fail scores the blind judge leaves its language below 0.1: the other three still see there."""
    sees = np.ones((3, 4))
    sees[1, 2] = 0.0
    panel, _ = pj.simulate_panel(300, 3, 4, systems=8, sees=sees, scale="integer", steps=2, interaction=0.0, seed=10012)
    found = signal(panel, resamples=200)
    assert found.languages["verdict"][1] != "agree"
    assert found.odd == [("language2", "judge3")]
    assert found.odd_languages == []
    assert codes(found) & {"signal-disagree", "signal-unclear", "signal-judge-odd"} == {"signal-judge-odd"}
    scores = np.delete(panel.system_scores, 2, axis=3)  # type: ignore[arg-type]
    without = signal(pj.Panel.from_array(scores, systems=panel.systems), resamples=100).languages["one"]
    cells = found.cells.set_index(["language", "judge"])
    np.testing.assert_allclose(cells["others"].xs("judge3", level="judge"), without)


def test_the_same_seed_gives_the_same_answer_and_few_tasks_none() -> None:
    panel, _ = pj.simulate_panel(7, 2, 3, systems=3)
    first, second = signal(panel, resamples=100), signal(panel, resamples=100)
    pd.testing.assert_frame_equal(first.cells, second.cells)
    assert set(first.cells["verdict"]) == {"cannot tell"}


def test_agreement_about_the_leaderboard_and_within_tasks_are_kept_apart() -> None:
    options = {"systems": 5, "noise_sd": 5, "seed": 4}
    means, _ = pj.simulate_panel(200, 2, 3, system_sd=9.0, task_system_sd=0.0, **options)
    within, _ = pj.simulate_panel(200, 2, 3, system_sd=0.0, task_system_sd=9.0, **options)
    a, b = (signal(p, resamples=100).languages for p in (means, within))
    assert a["leaderboard"].min() > 0.9
    assert a["within"].abs().max() < 0.1
    assert b["within"].min() > 0.6


# --- leaderboard ---


def test_no_framework_of_devai_is_surely_above_another(frameworks: pj.Panel) -> None:
    found = leaderboard(frameworks)
    assert (found.systems["rank_low"] == 1).all()
    assert (found.systems["rank_high"] == 3).all()
    assert not found.swaps["clear"].any()
    assert not found.settled


def test_leaderboard_of_gemba(gemba: pj.Panel) -> None:
    found = leaderboard(gemba, resamples=200)
    whole = found.to_frame()[found.to_frame()["language"] == "(all)"].set_index("system")
    assert whole["mean"].round(2).to_dict() | {"refA": 97.27, "Online-W": 86.51, "QUARTZ_TuneReranking": 82.25} == (
        whole["mean"].round(2).to_dict()
    )
    assert list(whole["rank"]) == sorted(whole["rank"])
    assert found.top_set() == ["refA"]
    columns = ["language", "system", "mean", "low", "high", "rank", "rank_low", "rank_high", "top_set"]
    assert list(found.to_frame())[:9] == columns


def test_calibration_cannot_change_the_leaderboard_of_a_complete_panel() -> None:
    panel, _ = pj.simulate_panel(30, 3, 4, systems=4, seed=1)
    calibrated = pj.ConsensusCalibrator().fit_transform(panel)
    a, b = (leaderboard(p, resamples=100).systems for p in (panel, calibrated))
    pd.testing.assert_frame_equal(a, b, check_exact=False, atol=1e-9)


def test_one_judges_taste_ranks_nothing() -> None:
    """All judges but one find the systems equal: with tasks resampled alone that one would decide the order."""
    taste = np.zeros((3, 5))
    taste[0, 2] = 10
    panel, _ = pj.simulate_panel(200, 2, 5, systems=3, system_sd=[0.0, 0, 0], judge_system=taste, seed=3)
    assert not leaderboard(panel, resamples=200).settled


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_a_lead_that_hangs_on_a_judge_is_said_and_by_how_much(order: list[int]) -> None:
    """The first two are equal but for the taste of one judge; the third is behind by all."""
    taste = np.zeros((3, 4))
    taste[0, 2] = 12
    panel, _ = pj.simulate_panel(
        200, 2, 4, systems=["a", "b", "c"], system_sd=[0.0, 0, -20], judge_system=taste, seed=3
    )
    panel = panel.select(systems=[panel.systems[i] for i in order])
    found = leaderboard(panel, resamples=200)
    assert found.hang is not None
    v = found.hang.values
    assert (v["winner"], v["rival"], v["judge"]) == ("a", "b", "judge3")
    a, b = (panel.system_scores[:, panel.systems.index(x)] for x in "ab")  # type: ignore[index]
    assert v["difference"] == pytest.approx((a - b).mean())
    assert 0 < v["low"] < v["difference"] < v["high"]
    assert v["without"] == pytest.approx((a - b)[..., [0, 1, 3]].mean())
    assert v["without_low"] < 0 < v["without_high"]
    assert v["without_low"] < v["without"] < v["without_high"]
    rows = found.differences[found.differences["language"] == "(all)"]
    assert (rows["sure"] == (rows["hangs_on"] == "")).all()
    assert word(found.hang) in [word(x) for x in report_of(pj.systems(panel, resamples=200), panel).verdict]  # type: ignore[union-attr]


def test_a_lead_by_all_judges_hangs_on_none() -> None:
    panel, _ = pj.simulate_panel(200, 2, 4, systems=3, system_sd=[9.0, 0, -9], seed=3)
    found = pj.systems(panel, resamples=200)
    assert found.leaderboard.hang is None
    best = report_of(found, panel).verdict[1]  # type: ignore[union-attr]
    assert (best.code, best.values["top"], best.values["settled"]) == ("systems.top", ["system1"], True)
    alone = pj.systems(pj.Panel.from_array(panel.system_scores[..., :2], systems=panel.systems), resamples=100)  # type: ignore[index]
    assert alone.leaderboard.hang is None


def test_two_systems_that_change_places_between_languages() -> None:
    place = np.zeros((3, 2))
    place[0] = [6, -6]
    panel, _ = pj.simulate_panel(200, 2, 4, systems=3, system_sd=[0.0, 0, -20], system_language=place, seed=3)
    swaps = leaderboard(panel, resamples=300).swaps
    row = swaps[swaps["clear"]].iloc[0]
    assert (row["system_i"], row["system_j"], row["higher_in"], row["lower_in"]) == (
        "system1", "system2", "language1", "language2",
    )  # fmt: skip
    assert len(swaps[swaps["clear"]]) == 1
    names = {"kind": "judge", "system_i": "a", "system_j": "b", "higher_in": "x", "lower_in": "y"}
    said = find("notice", "systems-swap-judge", **names, gap_higher=1.0, gap_lower=-2.66, p=0.01)
    assert not lacks(word(said), "a", "b", "x", "y", "1.00", "2.66")
    assert "-2.66" not in word(said)


def test_a_system_that_is_missing_in_a_language_has_no_row_there_and_keeps_its_place() -> None:
    panel, _ = pj.simulate_panel(60, 3, 3, systems=3, system_sd=[20.0, 0, -20], seed=2)
    scores = np.array(panel.system_scores)
    scores[:, 0, 1] = np.nan
    found = leaderboard(pj.Panel.from_array(scores, systems=panel.systems), resamples=100)
    assert len(found.systems) == 4 * 3 - 1
    assert found.missing == 60 * 3
    whole = found.systems[found.systems["language"] == "(all)"].set_index("system")["mean"]
    assert panel.system_scores is not None
    np.testing.assert_allclose(whole[list(panel.systems)], panel.system_scores.mean(axis=(0, 2, 3)), atol=1.0)


def test_tasks_that_lack_a_language_are_ranked_without_a_warning() -> None:
    panel, _ = pj.simulate_panel(40, 2, 3, systems=3, seed=2)
    scores = np.array(panel.system_scores)
    scores[:5, :, 0] = np.nan
    found = leaderboard(pj.Panel.from_array(scores, systems=panel.systems), resamples=100)
    assert found.systems.set_index(["language", "system"])["tasks"].unstack().min(axis=1).to_dict() == {
        "(all)": 40, "language1": 35, "language2": 40,
    }  # fmt: skip


def test_panels_without_systems_are_told_how_to_name_them() -> None:
    panel, _ = pj.simulate_panel(10, 2, 3)
    for call in (leaderboard, favour):
        with refused(PanelError, "--system"):
            call(panel)


# --- favour ---


def test_who_favours_whom_in_gemba(gemba: pj.Panel) -> None:
    found = favour(gemba, resamples=100)
    worst = found.largest("judge:system")
    assert (worst["system"], worst["judge"]) == ("refA", "GPT4")
    assert worst["effect"] == pytest.approx(-3.806, abs=0.0005)
    rows = found.to_frame().query("kind == 'system:language' and language == 'Russian'").set_index("system")["effect"]
    assert rows.abs().idxmax() == "QUARTZ_TuneReranking"
    assert rows["QUARTZ_TuneReranking"] == pytest.approx(-2.641, abs=0.0005)


def test_effects_are_centred_and_bands_hold_the_planted_ones() -> None:
    likes = np.zeros((4, 4))
    likes[1, 2] = 10
    panel, _ = pj.simulate_panel(100, 3, 4, systems=4, judge_system=likes, seed=6)
    frame = favour(panel, resamples=300).to_frame()
    own = frame[frame["kind"] == "judge:system"]
    assert own.groupby("judge")["effect"].sum().abs().max() < 1e-9
    assert own.groupby("system")["effect"].sum().abs().max() < 1e-9
    expected = likes - likes.mean(0) - likes.mean(1)[:, None] + likes.mean()
    inside = (own["band_low"] <= expected.ravel()) & (expected.ravel() <= own["band_high"])
    assert inside.all()
    assert not frame[frame["kind"] != "judge:system"]["clear"].any()


def test_self_preference_is_found_and_not_where_there_is_none() -> None:
    judges = ["GPT-4o", "Claude 3", "Gemini", "Qwen", "Grok"]
    systems = ["gpt-4o-mini", "claude-haiku", "Llama-3", "Mistral", "Phi"]
    likes = np.zeros((5, 5))
    likes[0, 0] = likes[1, 1] = 6
    panel, _ = pj.simulate_panel(100, 2, judges, systems=systems, judge_system=likes, seed=1)
    found = favour(panel, resamples=100)
    own = found.self_preference
    assert own is not None
    assert own.own == 2
    assert own.low > 0
    assert own.p < 0.05
    few = panel.select(judges=judges[:3], systems=systems[:3])
    rare = favour(few, resamples=100).self_preference  # 18 ways to name them: nothing is rarer than one of 18
    assert rare is not None
    assert rare.low > 0.0
    assert not rare.clear
    assert "favour-own-family" in codes(found)
    plain, _ = pj.simulate_panel(100, 2, judges, systems=systems, seed=1)
    calm = favour(plain, resamples=100).self_preference
    assert calm is not None
    assert calm.low < 0 < calm.high
    two = favour(panel.select(judges=judges[:2]), resamples=100).self_preference
    assert two is not None
    assert not two.separable
    given = favour(panel, families={"Llama-3": "Google"}, resamples=100)
    assert given.self_preference is not None
    assert given.self_preference.own == 3


def test_tastes_that_know_no_family_are_no_self_preference() -> None:
    names = ["gpt-4", "claude-3", "gemini-2", "qwen-2"]
    taken = 0
    for seed in range(12):
        panel, _ = pj.simulate_panel(60, 2, names, systems=[f"{x}-chat" for x in names], judge_system=4.0, seed=seed)
        own = favour(panel, resamples=100).self_preference
        assert own is not None
        taken += own.clear
    assert taken <= 2


def test_the_taste_of_one_maker_ranks_nothing() -> None:
    likes = np.zeros((3, 5))
    likes[0, :2] = 14
    judges = ["gpt-4", "gpt-4o", "claude-3", "gemini-2", "qwen-2"]
    panel, _ = pj.simulate_panel(100, 2, judges, systems="abc", system_sd=0.0, judge_system=likes, seed=2)
    found = leaderboard(panel, resamples=200)
    assert found.top_set() == ["a", "b", "c"]
    assert set(found.differences["hangs_on"]) == {"", "OpenAI"}
    apart = leaderboard(panel, families={j: j for j in judges}, resamples=200)
    assert apart.top_set() == ["a"]


def test_languages_that_share_no_tasks_are_ranked_inside_each() -> None:
    """The same numbers as each language alone; over all it is the mean of the languages' means."""
    panel, _ = pj.simulate_panel(40, 2, 4, systems="abc", seed=3)
    scores = np.full((80, 3, 2, 4), np.nan)
    scores[:40, :, 0], scores[40:, :, 1] = panel.system_scores[:, :, 0], panel.system_scores[:, :, 1]  # type: ignore[index]
    apart = pj.Panel.from_array(scores, systems="abc")
    assert apart.apart
    found = pj.systems(apart, resamples=200)
    board = found.leaderboard.systems.set_index(["language", "system"])
    for x in range(2):
        alone = leaderboard(panel.select(languages=[panel.languages[x]]), resamples=200).systems
        alone = alone[alone["language"] != "(all)"].set_index("system")
        for column in ("mean", "low", "high", "rank_low", "rank_high"):
            here = board.loc[apart.languages[x]][column]
            assert here.to_dict() == pytest.approx(alone[column].to_dict())
    means = board.loc[list(apart.languages)]["mean"].groupby("system").mean()
    assert board.loc["(all)"]["mean"].to_dict() == pytest.approx(means.to_dict())
    assert set(found.favour.effects["kind"]) == {"judge:system"}  # type: ignore[union-attr]
    scores[40:, 2] = np.nan  # a system that a language lacks has no place over all
    lacking = leaderboard(pj.Panel.from_array(scores, systems="abc"), resamples=200).systems
    assert sorted(lacking[lacking["language"] == "(all)"]["system"]) == ["a", "b"]
    assert "consistency" not in found.signal.languages
    report_of(found, apart)


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_a_language_is_ranked_by_its_own_scores_alone(gemba: pj.Panel, holes: float) -> None:
    """One language of a panel has the leaderboard that it has with the others beside it, to the last digit."""
    rng = np.random.default_rng(5)
    scores = np.where(rng.random(gemba.system_scores.shape) < holes, np.nan, gemba.system_scores)  # type: ignore[union-attr]
    scores[:40, :, 0, :] = np.nan if holes else scores[:40, :, 0, :]  # tasks that German lacks
    names = {"languages": gemba.languages, "judges": gemba.judges, "systems": gemba.systems}
    panel = pj.Panel.from_array(scores, **names, declared_range=(0, 100))
    found = leaderboard(panel, resamples=200)
    for x, language in enumerate(panel.languages):
        names["languages"] = (language,)
        one = pj.Panel.from_array(scores[:, :, x : x + 1], **names, declared_range=(0, 100))
        if not holes:
            np.testing.assert_array_equal(one.scores, panel.select(languages=[language]).scores)
        alone = leaderboard(one, resamples=200)
        for table in ("systems", "differences"):
            inside, here, whole = (
                getattr(board, table).query("language == @scope").drop(columns="language").reset_index(drop=True)
                for board, scope in ((found, language), (alone, language), (alone, "(all)"))
            )
            pd.testing.assert_frame_equal(inside, here, rtol=0, atol=1e-9)
            if not holes:
                pd.testing.assert_frame_equal(inside, whole, rtol=0, atol=1e-9)


def test_a_language_that_one_judge_alone_scored_hangs_on_nobody() -> None:
    panel, _ = pj.simulate_panel(60, 2, 3, systems="abc", system_sd=np.array([-9.0, 0.0, 9.0]), seed=1)
    scores = np.array(panel.system_scores)
    scores[:, :, 1, 1:] = np.nan
    found = leaderboard(pj.Panel.from_array(scores, systems="abc"), resamples=200).differences
    assert found["sure"].all()
    assert set(found["hangs_on"]) == {""}


def test_one_judge_and_one_language() -> None:
    panel, _ = pj.simulate_panel(60, 2, 3, systems="abc", system_sd=np.array([-9.0, 0.0, 9.0]), seed=1)
    one = pj.systems(panel.select(judges=panel.judges[:1]), resamples=200)
    assert one.leaderboard.top_set() == ["c"]
    assert (one.favour, one.signal.why) == (None, "one judge")
    alone = pj.systems(panel.select(languages=panel.languages[:1]), resamples=200)
    assert alone.signal.verdict == "agree"
    assert alone.leaderboard.top_set() == ["c"]
    for result in (one, alone):
        json.dumps(report_of(result).payload(), allow_nan=False)


def test_families_by_names() -> None:
    found = families(["GPT-4o", "o3-mini", "claude-3-opus", "Qwen2.5-72B", "MetaGPT", "gemini-gpt"])
    assert list(found.values()) == ["OpenAI", "OpenAI", "Anthropic", "Alibaba", "MetaGPT", "gemini-gpt"]


def test_moments_of_many_units_are_grouped_without_loss() -> None:
    panel, _ = pj.simulate_panel(6001, 2, 2, systems=2, seed=1)
    moments = Moments.of(panel)
    assert moments.units == 5000
    one, _ = plain_reliability(panel.system_scores)  # type: ignore[arg-type]
    v = moments.covariance(np.ones((1, 5000)))[0]
    assert v[0, 0, 1] / np.trace(v[0]) * 2 == pytest.approx(one[0])


def test_scores_that_are_all_equal_have_no_interval_of_no_width() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"task": f"t{t}", "system": s, "language": x, "judge": j, "score": 2.0 if s == "a" else rng.random()}
        for t in range(20) for s in "abc" for x in ("en", "fr") for j in ("ja", "jb")
    ]  # fmt: skip
    found = pj.systems(pj.read_panel(pd.DataFrame(rows), range=(0, 2)), resamples=100)
    board = {row[0].text: row[1] for row in cells(systems_view.board(found.leaderboard))}
    assert board["a"].interval == "(all equal)"
    assert all(board[name].interval.startswith("[") for name in "bc")
