"""The held-out engine: the gain, the published values, determinism, and defined behaviour at the edges."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.methods import REGISTRY, Block, Method, method
from polyjudge.second.estimate.kernels import double_centre, draw_blocks
from polyjudge.second.panel import budget as memory
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.paper.draws import held_out_draws
from polyjudge.second.paper.methods import ORDER
from polyjudge.second.questions.compare.held_out import GAIN_SCOPE, _too_wide, advise, compare, resample
from refusals import refused


def direct_falls(panel: pj.Panel, matrix: Any, seed: int, resamples: int) -> dict[int, float]:
    """Fall of the weighted mean squared error of left-out scores to a random truth, when `matrix` is subtracted."""
    rng = np.random.default_rng(99)
    draws = np.concatenate(list(draw_blocks(len(panel.tasks), resamples, seed)))
    out = {}
    for r, w in enumerate(draws):
        held = w == 0
        if not held.any():
            continue
        left, weights = panel.scores[held], panel.weights[held]
        train = np.average(panel.scores, axis=0, weights=w * panel.weights)
        removed = matrix(train)
        truth = rng.normal(40, 30, (*left.shape[:2], 1)) * rng.choice([1, 1e3])

        def error(s: np.ndarray, truth: np.ndarray = truth, weights: np.ndarray = weights) -> float:
            return float(np.average(((s - truth) ** 2).mean(axis=(1, 2)), weights=weights))

        out[r] = error(left) - error(left - removed)
    return out


@pytest.mark.parametrize("weighted", [False, True])
def test_gain_is_the_fall_of_squared_error_for_any_truth(weighted: bool) -> None:
    panel, _ = pj.simulate_panel(tasks=12, languages=4, judges=5, seed=3)
    if weighted:
        panel = pj.Panel.from_array(panel.scores, weights=np.arange(1.0, 13.0))
    gains = compare(panel, ["cbc", "judge-only norm"], resamples=40, seed=7).resample_gain
    falls = direct_falls(panel, double_centre, 7, 40)
    assert len(gains) == len(falls) == 40
    for r, fall in falls.items():
        assert gains["cbc"][r] == pytest.approx(fall, abs=1e-6)  # truths up to 1e5: squares lose nine digits
    offsets = direct_falls(panel, judge_offsets, 7, 40)
    for r, fall in offsets.items():
        assert gains["judge-only norm"][r] == pytest.approx(fall, abs=1e-6)


def judge_offsets(cells: np.ndarray) -> np.ndarray:
    means = cells.mean(axis=0)
    return np.broadcast_to(means - means.mean(), cells.shape)


def test_in_sample_gain_is_the_mean_square_of_the_interaction(devai_like: pj.Panel) -> None:
    table = compare(devai_like, ["cbc", "oracle"], resamples=64).to_frame().set_index("method")
    beta = pj.ConsensusCalibrator().fit(devai_like).interaction_.to_numpy()
    assert table.loc["cbc", "gain_full_fit"] == pytest.approx((beta**2).mean(), rel=1e-12)
    assert table.loc["cbc", "gain_full_fit"] == pytest.approx(30.745139, abs=1e-6)


@pytest.mark.real_data
def test_gains_by_consumer_on_devai(devai: pj.Panel) -> None:
    result = compare(devai, ["raw", "judge-only norm", "cbc", "shrunken"], resamples=64)
    table = result.to_frame().set_index("method")
    assert table.loc["judge-only norm", "gain_full_fit"] == pytest.approx(176.04, abs=0.005)
    beta = double_centre(devai.scores)
    unbiased = (beta.mean(axis=0) ** 2 - 2 * beta.var(axis=0, ddof=1) / len(beta)).mean()
    assert table.loc["cbc", "gain"] == pytest.approx(unbiased, rel=1e-9)
    assert table.loc["shrunken", "gain"] >= table.loc["cbc", "gain"]
    said = result.advice.text.values
    assert [said[x] for x in ("gain", "low", "high")] == table.loc["cbc", ["gain", "gain_low", "gain_high"]].tolist()
    cells = devai.cell_means
    before = ((cells - cells.mean(axis=1, keepdims=True)) ** 2).mean()
    assert (np.sqrt(before) - said["closer_low"]) ** 2 == pytest.approx(before - said["low"])
    assert 0 < said["closer_low"] < said["closer"] < said["closer_high"]


# --- DevAI as published ---


def test_devai_with_a_seed_of_our_own(devai: pj.Panel, published: dict[str, Any]) -> None:
    result = compare(devai, ORDER)
    table = result.to_frame().set_index("method")
    for name, (tau, low, high, full) in published["held_out"]["methods"].items():
        row = table.loc[name]
        near = {"dawid-skene": 0.03, "random control": 0.01}.get(name, 0.005)
        assert row.tau == pytest.approx(tau, abs=near), name
        if name != "random control":
            assert row.full_fit == pytest.approx(full, abs=1e-4), name
        # The upper ends of cbc and of judge-only norm are the 2.5% tail of 1,000 draws of a coarse or long-tailed
        # distribution, where 1,000 draws do not settle the second digit; with the published draws they are exact.
        loose = {"dawid-skene": 0.1, "cbc": 0.034, "cbc-weighted": 0.034, "judge-only norm": 0.03}.get(name, 0.02)
        assert row.low == pytest.approx(low, abs=0.1 if name == "dawid-skene" else 0.02), name
        assert row.high == pytest.approx(high, abs=loose), name
    assert table.loc["cbc", "gain_positive"] == 1.0
    better = result.differences.set_index(["method_a", "method_b"]).loc[("combat-eb", "cbc")]
    assert better.favour_b == 1.0
    assert result.advice is not None
    assert result.advice.calibrate


def test_devai_with_the_published_draws(devai: pj.Panel, published: dict[str, Any]) -> None:
    draws, orders = held_out_draws(*devai.shape)
    place = iter(np.array_split(orders, range(64, 1000, 64)))

    def shuffle(block: Block) -> np.ndarray:
        order = next(place, np.arange(6)[None, None].repeat(8, 1))  # the full fit has no published order
        return np.take_along_axis(block.left_out, order, axis=-1)

    names = [n for n in ORDER if n != "random control"]
    result = compare(devai, [*names, Method(name="random control", adjust=shuffle)], draws=draws)
    table = result.to_frame().set_index("method")
    for name, (tau, low, high, full) in published["held_out"]["methods"].items():
        row = table.loc[name]
        # The published code had no tie tolerance; Dawid-Skene values and mean ranks have many near ties.
        near = {"dawid-skene": 0.008, "ensemble": 0.005}.get(name, 2e-5)
        assert [row.tau, row.low, row.high] == pytest.approx([tau, low, high], abs=near), name
        if name != "random control":
            assert row.full_fit == pytest.approx(full, abs=1e-6), name


# --- advice ---


@pytest.mark.statistical
def test_without_interaction_calibrating_costs_the_estimation_variance() -> None:
    gains, costs, advised = [], [], 0
    for seed in range(20):
        panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, interaction=0.0, seed=seed)
        result = compare(panel, ["raw", "cbc"], resamples=200)
        advised += result.advice.calibrate
        gains.append(result.to_frame().set_index("method").loc["cbc", ["gain_held_out", "gain"]])
        spread = double_centre(panel.scores).var(axis=0, ddof=1).mean()
        # n draws with replacement are worth n / (2 - 1/n) tasks: the variance of their mean is nearly twice var / n.
        costs.append(spread / 40 * (2 - 1 / 40))
    held_out, full = np.mean(gains, axis=0)
    assert held_out == pytest.approx(-np.mean(costs), rel=0.25)
    assert full == pytest.approx(-np.mean(costs) / 2, rel=0.35)  # all 40 tasks
    assert advised <= 1


def test_advice_follows_the_interval() -> None:
    clear, _ = pj.simulate_panel(tasks=60, languages=4, judges=4, interaction=20.0, seed=1)
    noise, _ = pj.simulate_panel(tasks=60, languages=4, judges=4, interaction=0.0, seed=1)
    assert compare(clear, ["cbc"], resamples=100).advice.verdict == "advised"
    advice = compare(noise, ["cbc"], resamples=100).advice
    assert advice.verdict == "not advised"
    assert advice.text.code in ("gain.open", "gain.loss")
    assert compare(clear, ["raw", "z-score"], resamples=64).advice is None


def test_the_audit_advises_against_calibrating_noise() -> None:
    noise, _ = pj.simulate_panel(tasks=40, languages=3, judges=4, interaction=0.0, seed=1)
    finding = next(f for f in pj.audit(noise, resamples=100).findings if f.code == "do-not-calibrate")
    assert finding.values["why"] in ("gain.open", "gain.loss")


@pytest.mark.parametrize(
    ("low", "high", "verdict", "code"),
    [
        (0.1, 2, "advised", "gain.advised"),
        (-0.1, 2, "not advised", "gain.open"),
        (-2, -0.5, "not advised", "gain.loss"),
    ],
)
def test_the_three_kinds_of_advice(low: float, high: float, verdict: str, code: str) -> None:
    table = pd.DataFrame({"method": ["cbc"], "gain": [(low + high) / 2], "gain_low": [low], "gain_high": [high]})
    advice = advise(table)
    assert advice is not None
    assert advice.verdict == verdict
    assert advice.text.code == code


# --- identities, shown as such ---


def test_identities_hold_and_are_marked() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=4, judges=5, seed=2)
    result = compare(panel, "all", resamples=64)
    table, taus = result.to_frame().set_index("method"), result.resample_tau
    assert table.loc[["cbc", "cbc-weighted", "oracle"], "full_fit"].tolist() == pytest.approx([1.0] * 3)
    np.testing.assert_allclose(taus["oracle"], 1.0)
    np.testing.assert_allclose(taus["cbc-weighted"], taus["cbc"])
    np.testing.assert_allclose(taus["per-language norm"], taus["raw"])
    np.testing.assert_allclose(result.resample_gain["cbc-weighted"], result.resample_gain["cbc"], atol=1e-9)
    marked = {"cbc", "cbc-weighted", "oracle", "per-language norm"}
    assert {name for name in table.index if table.loc[name, "identity"]} == marked
    as_json = result.to_dict()
    assert {r["method"] for r in as_json["table"] if r["identity"]} == marked
    assert as_json["scope"] == str(GAIN_SCOPE)
    assert str(result.advice.text)[:40] in " ".join(repr(result).split())
    json.dumps(as_json, allow_nan=False)


# --- the same answer however the work is done ---


def test_a_methods_numbers_do_not_depend_on_its_company() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4, seed=2)
    alone = compare(panel, ["random control"], resamples=100).resample_tau["random control"]
    together = compare(panel, "all", resamples=100).resample_tau["random control"]
    pd.testing.assert_series_equal(alone, together)


def test_more_resamples_begin_with_the_same_ones() -> None:
    panel, _ = pj.simulate_panel(tasks=9, languages=3, judges=4, seed=2)
    few, many = (compare(panel, resamples=r).resample_tau for r in (70, 200))
    pd.testing.assert_frame_equal(few, many.loc[few.index], atol=1e-12)
    assert not compare(panel, seed=8, resamples=70).resample_tau.equals(few)


def test_any_number_of_threads(cli: Any, run_cli: Any, tmp_path: Any) -> None:
    """Here with as many as the tests have, and in a process with another number of them."""
    panel, _ = pj.simulate_panel(tasks=100, languages=6, judges=6, seed=2)
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    threads = "1" if os.environ["OPENBLAS_NUM_THREADS"] != "1" else "2"
    env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    command = ("compare", tmp_path / "scores.csv", "--resamples", 130, "--json")
    here, there = cli(*command), run_cli(*command, env=env)
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert here.stdout == there.stdout


def test_equal_unit_weights_change_nothing_and_unequal_ones_repeat_tasks() -> None:
    panel, _ = pj.simulate_panel(tasks=10, languages=3, judges=4, replicates=2, seed=6)
    scaled = pj.Panel.from_array(panel.replicate_scores, weights=np.full(10, 3.0))
    pd.testing.assert_frame_equal(
        compare(panel, ["cbc", "z-score", "dawid-skene"], resamples=64).resample_tau,
        compare(scaled, ["cbc", "z-score", "dawid-skene"], resamples=64).resample_tau,
    )
    weights = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 1])
    heavy = pj.Panel.from_array(panel.scores, weights=weights)
    spread = pj.Panel.from_array(np.repeat(panel.scores, weights.astype(int), axis=0))
    draws = np.concatenate(list(draw_blocks(10, 30, 1)))
    one = compare(heavy, ["raw", "cbc", "combat-eb", "z-score"], draws=draws)
    other = compare(spread, ["raw", "cbc", "combat-eb", "z-score"], draws=np.repeat(draws, weights.astype(int), axis=1))
    pd.testing.assert_frame_equal(one.resample_tau, other.resample_tau)
    pd.testing.assert_frame_equal(one.resample_gain, other.resample_gain)


# --- edges ---


def test_resamples_without_a_left_out_task_are_skipped_and_counted() -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).normal(size=(2, 2, 2)))
    result = compare(panel, resamples=200)
    assert 60 < result.skipped < 140
    assert len(result.resample_tau) == 200 - result.skipped
    assert "held-out.skipped" in [note.code for note in result.notes]
    assert "held-out.two-judges" in [note.code for note in result.notes]
    assert np.isfinite(result.to_frame()[["tau", "low", "high", "full_fit"]].to_numpy()).all()


def test_no_resample_at_all_is_an_error() -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).normal(size=(2, 2, 2)))
    with refused(UsageError, "resamples", 5):
        compare(panel, draws=np.ones((5, 2), dtype=int))


def test_full_ties() -> None:
    panel = pj.Panel.from_array(np.full((6, 3, 4), 7.0))
    result = compare(panel, resamples=64)
    table = result.to_frame().set_index("method")
    assert (table["tau"] == 0).all()
    assert (table["gain"].dropna() == 0).all()
    assert "held-out.all-tie" in [note.code for note in result.notes]
    assert result.advice.verdict == "not advised"


def test_holes_are_estimated_and_methods_that_cannot_are_named() -> None:
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, seed=3, missing=0.1)
    whole, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, seed=3)
    result = compare(panel, "all", resamples=128)
    table = result.to_frame().set_index("method")
    assert "combat-eb" not in table.index
    assert any("combat-eb" in note.values.get("methods", ()) for note in result.notes)
    reference = compare(whole, ["cbc"], resamples=128).to_frame()
    assert table.loc["cbc", "tau"] == pytest.approx(reference["tau"][0], abs=0.1)
    assert table.loc["cbc", "gain"] == pytest.approx(reference["gain"][0], rel=0.15)
    with refused(pj.PanelError, "combat-eb", "language3 x judge1", 78, 640):
        compare(panel, ["combat-eb"], resamples=64)


@pytest.mark.parametrize(
    ("draws", "named"),
    [
        (np.ones((3, 4), dtype=int), ("shape", 6)),
        (np.ones((3, 6)), ("whole", 6)),
        (np.zeros((3, 6), dtype=int), ("every resample",)),
        (np.array([[-1, 1, 1, 1, 1, 1]]), ("negative",)),
    ],
)
def test_draws_of_the_users_own_are_checked(draws: np.ndarray, named: tuple[object, ...]) -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).normal(size=(6, 2, 3)))
    with refused(UsageError, "draws", *named):
        compare(panel, ["raw"], draws=draws)


def test_numbers_out_of_range() -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).normal(size=(6, 2, 3)))
    with refused(UsageError, "resamples", 0):
        compare(panel, resamples=0)
    with refused(UsageError, "seed", -1):
        compare(panel, seed=-1)


def test_another_estimator_can_be_plugged_in() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4, seed=2)

    def nothing(multiplicity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = np.einsum("rt,tlb->rlb", multiplicity, panel.scores) / multiplicity.sum(axis=1)[:, None, None]
        return means, np.zeros_like(means)

    taus = compare(panel, ["raw", "cbc"], resamples=64, estimate=nothing).resample_tau
    pd.testing.assert_series_equal(taus["raw"], taus["cbc"], check_names=False)


def test_blocks_hold_what_they_say() -> None:
    panel, _ = pj.simulate_panel(tasks=8, languages=3, judges=4, seed=2)
    for block, number in resample(panel, 70, seed=3):
        assert len(number) == len(block.drawn) == len(block.train)
        assert ((block.drawn > 0) ^ (block.held > 0)).all()
        expected = np.average(panel.scores, axis=0, weights=block.held[0])
        np.testing.assert_allclose(block.left_out[0], expected)


def test_a_method_of_your_own() -> None:
    @method("half", subtracts=True)
    def half(block: Block) -> np.ndarray:
        return block.interaction / 2

    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4)
    try:
        table = compare(panel, ["raw", "half"], resamples=50).to_frame()
        assert table["method"].tolist() == ["raw", "half"]
        assert table["gain"].notna().all()
    finally:
        del REGISTRY["half"]
    assert compare(panel, half, resamples=50).to_frame()["method"].tolist() == ["half"]


def test_orders_of_judges_are_compared_up_to_a_bound_of_time_and_one_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred resamples of 3 languages with 6 pairs of judges each, and every language against every other."""
    panel, compared, numbers = pj.simulate_panel(12, 3, 4, seed=1)[0], 100 * 3 * (6 + 3), 4 * 100 * 3 * 3
    monkeypatch.setattr(memory, "MOST_COMPARED", compared / 4)
    monkeypatch.setattr(memory, "budget", lambda: 4 * numbers)
    assert _too_wide(panel, 100) is None
    monkeypatch.setattr(memory, "budget", lambda: 4 * numbers - 1)
    told = _too_wide(panel, 100)
    assert told is not None
    assert told.values == {"languages": 3, "judges": 4, "compared": compared}
    assert compare(panel, ["raw", "cbc"], resamples=100).differences.empty
    monkeypatch.setattr(memory, "budget", lambda: 4 * numbers)
    monkeypatch.setattr(memory, "MOST_COMPARED", compared / 4 - 1)
    assert _too_wide(panel, 100) is not None
