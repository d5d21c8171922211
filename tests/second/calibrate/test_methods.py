"""Every method against the plain reference on the same draws, and the special ones against other implementations."""

from __future__ import annotations

import json
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from plain_held_out import PLAIN, plain_matrices, plain_taus
from polyjudge.second.calibrate.methods import REGISTRY, Method, find_methods, full_fit, method
from polyjudge.second.estimate.kernels import draw_blocks, stream
from polyjudge.second.panel.errors import CalibratorError, UsageError
from polyjudge.second.paper.methods import ORDER
from polyjudge.second.paper.methods.dawid_skene import em
from polyjudge.second.questions.compare.held_out import apply, resample
from polyjudge.second.read.writers import write_calibrated
from refusals import refused


def shuffles(panel: pj.Panel, resamples: int, seed: int) -> np.ndarray:
    """The random control's judge orders of the first block, for resamples that leave a task out."""
    _, k, m = panel.shape
    order = np.broadcast_to(np.arange(m), (resamples, k, m))
    return stream(seed, 0, "random control").permuted(order, axis=-1)


def agree(panel: pj.Panel, resamples: int, seed: int = 11) -> None:
    draws = np.concatenate(list(draw_blocks(len(panel.tasks), resamples, seed)))
    kept = (draws == 0).any(axis=1)
    orders = np.zeros((resamples, *panel.shape[1:]), dtype=int)
    orders[kept] = shuffles(panel, int(kept.sum()), seed)
    plain = plain_taus(panel, list(ORDER), draws, orders)
    fast = pj.compare(panel, ORDER, resamples=resamples, seed=seed).resample_tau
    pd.testing.assert_frame_equal(
        fast, plain[fast.columns], check_names=False, rtol=0, atol=1e-6, check_index_type=False
    )


def test_the_table_has_the_twelve_methods_in_order() -> None:
    assert tuple(PLAIN) == ORDER
    assert [m.name for m in find_methods(None)] == ["raw", "cbc", "shrunken", "sparse"]
    assert set(ORDER) <= {m.name for m in find_methods("all")}


def test_every_method_equals_the_plain_reference_on_devai(devai_like: pj.Panel) -> None:
    agree(devai_like, 6)


@pytest.mark.parametrize("seed", range(2))
def test_every_method_equals_the_plain_reference_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, m = rng.integers([6, 2, 2], [12, 5, 6])
    scores = rng.integers(0, 4, (n, k, m, 2)).astype(float)
    agree(pj.Panel.from_array(scores if seed % 2 else scores[..., 0]), 6)


def test_whole_scores_as_coarse_as_pass_and_fail() -> None:
    scores = np.random.default_rng(8).integers(0, 2, (9, 3, 4)).astype(float)
    agree(pj.Panel.from_array(scores), 6)


def test_every_methods_values_equal_the_plain_reference(devai_like: pj.Panel) -> None:
    draws = np.concatenate(list(draw_blocks(55, 2, seed=5)))
    names = [n for n in ORDER if n != "random control"]
    block, _ = next(iter(resample(devai_like, 2, seed=5)))
    for r, plain in plain_matrices(devai_like, names, draws):
        for name in names:
            fast = apply(REGISTRY[name], block)[0][r]
            np.testing.assert_allclose(fast, plain[name].to_numpy(), atol=1e-7, err_msg=name)


def test_quantile_norm_by_its_definition() -> None:
    # Two judges, three languages; the second judge ties two languages.
    cells = np.array([[[1.0, 5.0], [2.0, 5.0], [6.0, 9.0]]])
    panel = pj.Panel.from_array(np.repeat(cells, 2, axis=0))
    target = [(1 + 5) / 2, (2 + 5) / 2, (6 + 9) / 2]
    tied = (target[0] + target[1]) / 2
    expected = np.array([[target[0], tied], [target[1], tied], [target[2], target[2]]])
    np.testing.assert_allclose(REGISTRY["quantile norm"](full_fit(panel))[0], expected)


def test_dawid_skene_agrees_with_crowdkit() -> None:
    from crowdkit.aggregation import DawidSkene

    rng = np.random.default_rng(2)
    truth = rng.random(150) < 0.45
    right = rng.uniform(0.65, 0.95, 8)
    labels = np.where(rng.random((150, 8)) < right, truth[:, None], ~truth[:, None]).astype(float)
    ours = em(labels, np.ones_like(labels), np.ones((1, 150)))[0]
    t, w = np.indices(labels.shape)
    votes = pd.DataFrame({"task": t.ravel(), "worker": w.ravel(), "label": labels.ravel().astype(int)})
    theirs = DawidSkene(n_iter=100).fit_predict_proba(votes).sort_index()[1].to_numpy()
    # Ours adds one to each count, so posteriors differ a little where the votes are split.
    assert ((ours > 0.5) == (theirs > 0.5)).all()
    assert np.abs(ours - theirs).mean() < 0.01
    assert ((ours > 0.5) == truth).mean() > 0.95


def test_dawid_skene_stack_equals_one_by_one() -> None:
    rng = np.random.default_rng(4)
    labels = (rng.random((40, 6)) < 0.5).astype(float)
    train = (rng.random((5, 40)) < 0.7).astype(float)
    there = np.ones_like(labels)
    stack = em(labels, there, train)
    for r in range(5):
        np.testing.assert_allclose(stack[r], em(labels, there, train[[r]])[0], atol=1e-9)


def test_weighted_cbc_is_the_calibrators(devai_like: pj.Panel) -> None:
    expected = pj.ConsensusCalibrator(weights="variance").fit(devai_like).interaction_.to_numpy()
    np.testing.assert_allclose(REGISTRY["cbc-weighted"](full_fit(devai_like))[0], expected, atol=1e-9)


def test_a_constant_judge_has_no_scale() -> None:
    panel, _ = pj.simulate_panel(tasks=15, languages=3, judges=4, seed=1)
    scores = panel.scores.copy()
    scores[..., 2] = 100 / 3
    table = pj.compare(pj.Panel.from_array(scores), resamples=64).to_frame()
    assert np.isfinite(table[["tau", "low", "high", "full_fit"]]).all().all()
    # The constant judge's z-score is its distance from its own mean, 0 in every language.
    block = full_fit(pj.Panel.from_array(scores))
    np.testing.assert_allclose(apply(REGISTRY["z-score"], block)[0][0][:, 2], 0, atol=1e-9)


def test_names_are_found_as_people_write_them() -> None:
    names = [m.name for m in find_methods(["Per-Language-Norm", "quantile_norm", "CBC", "cbc"])]
    assert names == ["per-language norm", "quantile norm", "cbc"]
    with refused(UsageError, "zscore", "z-score") as error:
        find_methods("zscore")
    assert error.message.count("z-score") == 2  # in the list, and as what was meant
    with refused(UsageError, "methods='all'"):
        find_methods([])


def test_ones_own_method_can_be_defined_again_but_not_polyjudges() -> None:
    with refused(UsageError, "cbc"):
        method("cbc")(lambda block: block.left_out)
    try:
        method("mine")(lambda block: block.left_out)
        again = method("mine")(lambda block: block.left_out * 2)
        assert find_methods("mine") == [again]
    finally:
        REGISTRY.pop("mine", None)


def test_a_methods_answer_is_checked() -> None:
    panel, _ = pj.simulate_panel(tasks=8, languages=2, judges=3)
    wrong = Method(name="flat", adjust=lambda block: block.left_out[..., 0])
    with refused(UsageError, "flat", "(5, 2)", "(5, 2, 3)"):
        pj.compare(panel, wrong, resamples=5)
    broken = Method(name="broken", adjust=lambda block: block.left_out * np.nan)
    with refused(UsageError, "broken", "finite"):
        pj.compare(panel, broken, resamples=5)


def test_dawid_skene_says_when_it_means_little() -> None:
    panel, _ = pj.simulate_panel(tasks=10, languages=2, judges=3)  # one score alone is the largest
    assert "held-out.one-sided" in [n.code for n in pj.compare(panel, ["dawid-skene"], resamples=20).notes]
    halves = pj.Panel.from_array(np.random.default_rng(8).integers(0, 2, (9, 3, 4)))
    assert "held-out.one-sided" not in [n.code for n in pj.compare(halves, ["dawid-skene"], resamples=20).notes]


ONLY_COMPARED = {
    "per-language norm", "quantile norm", "ensemble", "dawid-skene", "random control", "oracle", "judge-aware btl",
}  # fmt: skip
ONE_OF_EACH = {"judge-only norm", "slopes", "cbc", "sparse"}
"""Calibrators that subtract, that divide too, and those with files of their own: tables know no more of a method."""


@pytest.mark.parametrize("name", REGISTRY)
def test_what_is_compared_is_what_is_saved(name: str, tmp_path: Path) -> None:
    panel = pj.sample_panel()
    method = REGISTRY[name]
    if name in ONLY_COMPARED:
        with refused(CalibratorError, name, "polyjudge compare"):
            method.fit(panel)
        return
    method.fit(panel).save(tmp_path / "cal.json")
    cal = pj.load_calibrator(tmp_path / "cal.json")
    block = full_fit(panel)
    np.testing.assert_allclose(cal.transform(panel).cell_means, apply(method, block)[0][0], atol=1e-9)
    frame = panel.to_long()
    long = cal.transform(panel).to_long()["score"]
    np.testing.assert_allclose(cal.apply(frame)["calibrated"], long, atol=1e-9)
    if name not in ONE_OF_EACH:
        return
    held = ibis.memtable(frame)
    np.testing.assert_allclose(cal.apply(held).execute()["calibrated"], long, atol=1e-9)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    write_calibrated(cal, tmp_path / "scores.csv", tmp_path / "out.parquet")
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "out.parquet")["calibrated"], long, atol=1e-9)


def test_a_variant_is_fitted_on_the_drawn_tasks() -> None:
    """Each resample of a calibrator is `fit` on a panel that repeats the drawn tasks."""
    panel = pj.sample_panel()
    drawn = draw_blocks(len(panel.tasks), 3, 5)
    counts = next(iter(drawn))
    for cal in (pj.ConsensusCalibrator(location="huber"), pj.ConsensusCalibrator("variance"), pj.ConsensusCalibrator()):
        found = cal.resampled(panel, counts.astype(float))
        for r in range(3):
            repeated = np.repeat(panel.scores, counts[r], axis=0)
            plain = pj.Panel.from_array(repeated, None, panel.languages, panel.judges)
            np.testing.assert_allclose(
                found[r], type(cal)(cal.weights, cal.shrinkage, cal.location).fit(plain).interaction_, atol=1e-6
            )


def test_calibrators_are_compared_like_methods() -> None:
    panel = pj.sample_panel()
    plain = pj.ConsensusCalibrator()
    anchored = pj.AnchoredCalibrator(shift="all").fit(panel, trusted=panel.judges[0])
    table = pj.compare(panel, ["cbc", anchored, "cbc-shrunken"], resamples=64).table.set_index("method")
    assert list(table.index) == ["cbc", "cbc-anchored-all", "cbc-shrunken"]
    # a shift of a whole language changes neither the order inside a language nor the centred part
    np.testing.assert_allclose(
        table.loc["cbc-anchored-all", ["tau", "gain_held_out"]].astype(float),
        table.loc["cbc", ["tau", "gain_held_out"]].astype(float),
    )
    again = pj.compare(panel, plain, resamples=64).table.iloc[0]
    assert again["gain"] == pytest.approx(table.loc["cbc", "gain"])
    with refused(CalibratorError, "anchored"):
        pj.compare(panel, pj.AnchoredCalibrator(shift="all"), resamples=5)


@pytest.mark.parametrize("field", ["shift", "scale", "languages", "method", "range"])
def test_a_damaged_method_calibrator_is_refused(field: str, tmp_path: Path) -> None:
    data = REGISTRY["z-score"].fit(pj.sample_panel()).to_dict()
    for broken in ("missing", [], [[float("nan")]], -1):
        bad = {k: v for k, v in data.items() if k != field} | ({} if broken == "missing" else {field: broken})
        if field == "method" and broken != "missing":
            continue
        (tmp_path / "bad.json").write_text(json.dumps(bad))
        with refused(CalibratorError, "bad.json", field):
            pj.load_calibrator(tmp_path / "bad.json")


def test_completion_takes_noise_off_and_keeps_a_pattern() -> None:
    noise, _ = pj.simulate_panel(30, 6, 5, interaction=0.0, seed=2)
    removed = find_methods("completion")[0](full_fit(noise))
    assert np.abs(removed).max() < 0.5 * np.abs(REGISTRY["cbc"](full_fit(noise))).max()
    pattern = np.outer([3, 2, 1, -1, -2, -3], [4, 1, 0, -1, -4]).astype(float)
    panel, _ = pj.simulate_panel(60, 6, 5, interaction=pattern, seed=2)
    result = pj.compare(panel, ["cbc", "completion"], resamples=50).to_frame().set_index("method")
    assert result.loc["completion", "gain_held_out"] > result.loc["cbc", "gain_held_out"] > 0
