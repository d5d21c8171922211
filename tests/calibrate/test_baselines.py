"""Baselines of the paper's Table 2 against plain loops over METHODS 7, and the published numbers."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from polyjudge.base.errors import UsageError
from polyjudge.calibrate.baselines import (
    COMPLETE,
    METHODS,
    SIZE,
    SUBTRACT,
    Block,
    draw,
    full_scores,
    held_out,
    method_names,
    part_of,
    unbiased_gain,
)
from polyjudge.cbc import double_centre, split
from polyjudge.panel import Panel

Array = Any


def panel(seed: int = 0, n: int = 14, k: int = 3, m: int = 4, levels: bool = True) -> Panel:
    g = np.random.default_rng(seed)
    y = 60 + g.normal(0, 15, (n, 1, 1)) + g.normal(0, 6, (k, m)) + g.normal(0, 9, (n, k, m))
    y = np.clip(np.round(y / 20) * 20 if levels else y, 0, 100)  # with ties
    runs = np.clip(y[:, None, :, :, None] + 20 * g.integers(-1, 2, (n, 1, k, m, 2)), 0, 100)
    return Panel.from_array(runs.mean(-1), replicates=runs, scale=(0, 100))


# --- METHODS 7 as it is written, one resample at a time ---


def plain(method: str, p: Panel, w: Array) -> Array:
    s, held = p.scores[:, 0], w == 0
    n, k, m = s.shape
    train = np.array([[np.average(s[:, x, b], weights=w) for b in range(m)] for x in range(k)])
    left = s[held].mean(0)
    offset = train.mean(0)
    sd = train.std(0)
    sd[sd <= 1e-7] = 1
    if method == "raw":
        return left
    if method == "per-language norm":
        return np.array([(r - r.mean()) / (r.std() if r.std() > 1e-7 else 1) for r in left])
    if method == "judge-only norm":
        return left - offset
    if method == "z-score":
        return (left - offset) / sd
    if method == "quantile norm":
        target = np.sort(train, axis=0).mean(1)
        out = np.empty((k, m))
        for b in range(m):
            places = rankdata(np.round(left[:, b], 9), method="min").astype(int) - 1
            ends = rankdata(np.round(left[:, b], 9), method="max").astype(int)
            out[:, b] = [target[i:j].mean() for i, j in zip(places, ends, strict=True)]
        return out
    if method == "ensemble":
        parts = [plain(x, p, w) for x in ("judge-only norm", "z-score", "quantile norm")]
        return np.mean([[rankdata(np.round(r, 8)) / m for r in part] for part in parts], axis=0)
    if method == "combat-eb":
        rows = np.repeat(np.arange(n), w.astype(int))
        drawn = s[rows]
        grand, judge = drawn.mean(), drawn.mean((0, 1)) - drawn.mean()
        r = drawn - grand - judge
        c = r.mean((0, 2))
        size = len(rows) * m
        rest = r - c[:, None]
        v, t2 = rest.var(), c.var()
        c_star = c * t2 / (t2 + v / size)
        scale = np.array([rest[:, x].std() for x in range(k)]) / np.sqrt(v)
        u = scale.var()
        s_star = np.maximum(1e-6, 1 + (scale - 1) * u / (u + 1 / size))
        return grand + judge + (left - grand - judge - c_star[:, None]) / s_star[:, None]
    if method == "dawid-skene":
        return plain_dawid_skene(p, w)
    beta = train - train.mean(0) - train.mean(1)[:, None] + train.mean()
    if method == "cbc":
        return left - beta
    if method == "cbc-weighted":
        weight = 1 / train.var(0)
        weight /= weight.sum()
        return left - (train - offset - (train @ weight)[:, None] + offset @ weight)
    if method == "cbc-shrunken":
        d = np.array([double_centre(x) for x in s])
        size = (beta**2).sum()
        spread = sum(w[t] * ((d[t] - beta) ** 2).sum() for t in range(n)) / w.sum()
        return left - max(0.0, 1 - spread / (n - 1) / size) * beta
    assert method == "oracle"
    return left - double_centre(left)


def plain_dawid_skene(p: Panel, w: Array) -> Array:
    n, _, k, m, r = p.replicates.shape
    items = [(t, f) for t in range(n) for f in range(r)]
    label = np.array([[p.replicates[t, 0, x, b, f] >= 100 for x in range(k) for b in range(m)] for t, f in items]) * 1.0
    train = np.array([w[t] > 0 for t, _ in items])
    post = np.clip(label.mean(1), 1e-3, 1 - 1e-3)
    for _ in range(25):
        p1, p0 = post[train], 1 - post[train]
        prior = np.clip(p1.mean(), 1e-3, 1 - 1e-3)
        sens = np.clip([(p1 @ label[train, c] + 1) / (p1.sum() + 2) for c in range(k * m)], 1e-4, 1 - 1e-4)
        spec = np.clip([(p0 @ (1 - label[train, c]) + 1) / (p0.sum() + 2) for c in range(k * m)], 1e-4, 1 - 1e-4)
        log1 = np.log(prior) + label @ np.log(sens) + (1 - label) @ np.log(1 - sens)
        log0 = np.log(1 - prior) + label @ np.log(1 - spec) + (1 - label) @ np.log(spec)
        new = 1 / (1 + np.exp(log0 - log1))
        moved = np.abs(new - post)[train].max()
        post = new
        if moved < 1e-6:
            break
    held = ~train
    values = [np.where(label[held, c] == 1, post[held], 1 - post[held]).mean() for c in range(k * m)]
    return 100 * np.reshape(values, (k, m))


@pytest.mark.parametrize("method", [x for x in METHODS if x != "random control"])
@pytest.mark.parametrize("levels", [True, False])
def test_against_a_plain_loop(method: str, levels: bool) -> None:
    p = panel(levels=levels)
    drawn = draw(14, 20, 3, 0)
    labels, of_unit = full_scores(p)
    s = split(p.scores[:, 0], drawn, tiny=1e-7)
    found = METHODS[method](Block(**vars(s), labels=labels, of_unit=of_unit))
    assert len(found) == 20
    for r, w in enumerate(drawn):
        np.testing.assert_allclose(found[r], plain(method, p, w), atol=1e-6, err_msg=f"resample {r}")


def test_tau_against_scipy() -> None:
    p = panel()
    found = held_out(p, ["raw", "cbc"], 30, 5)
    for r, w in enumerate(draw(14, 30, 5, 0)):
        for method in ("raw", "cbc"):
            cells = np.round(plain(method, p, w), 9)
            taus = [kendalltau(cells[i], cells[j]).statistic for i, j in combinations(range(3), 2)]
            assert found.tau[method][r] == pytest.approx(np.nanmean(taus))


def test_random_control_only_shuffles() -> None:
    s = split(panel().scores[:, 0], draw(14, 5, 0, 0))
    np.testing.assert_allclose(np.sort(METHODS["random control"](s)), np.sort(s.left))


def test_gain_of_a_judge_drawn_at_random() -> None:
    p = panel(n=30, levels=False)
    found = held_out(p, ["cbc", "judge-only norm", "raw", "oracle"], 10, 0)
    assert set(found.gain) <= SUBTRACT
    for r, w in enumerate(draw(30, 10, 0, 0)):
        for method in ("cbc", "judge-only norm"):
            left, truth = p.scores[w == 0, 0], np.random.default_rng(r).normal(size=((w == 0).sum(), 3, 1))
            removed = left.mean(0) - plain(method, p, w)
            removed -= removed.mean(1, keepdims=True)
            fall = ((left - truth) ** 2 - (left - removed - truth) ** 2).mean()
            assert found.gain[method][r] == pytest.approx(fall)
    np.testing.assert_array_equal(found.gain["raw"], 0)


def test_draws_do_not_depend_on_how_many_are_asked_for() -> None:
    few, many = held_out(panel(), ["raw"], 10, 1), held_out(panel(), ["raw"], SIZE + 10, 1)
    np.testing.assert_array_equal(few.tau["raw"], many.tau["raw"][:10])
    assert (draw(14, 10, 1, 0).sum(1) == 14).all()


def test_jackknife_against_a_loop() -> None:
    d = double_centre(np.random.default_rng(0).normal(1, 4, (12, 3, 4)))
    for keep in (1.0, 0.6):

        def gain(x: Array, keep: float = keep) -> float:
            noise = x.var(0, ddof=1).sum() / len(x)
            size = (x.mean(0) ** 2).sum()
            return float((2 * keep * (size - noise) - keep**2 * size) / 12)

        parts = np.array([gain(np.delete(d, i, 0)) for i in range(12)])
        v = np.cov(d.reshape(12, -1).T) / 12
        more = 6 * keep**2 * max((v**2).sum() - np.trace(v) ** 2 / 11, 0) / 12**2
        se = np.sqrt(11 / 12 * ((parts - parts.mean()) ** 2).sum() + more)
        found = unbiased_gain(d, keep=keep)
        assert found.estimate == pytest.approx(gain(d))
        assert found.high - found.low == pytest.approx(2 * 2.2009851600916384 * se)
    assert np.isnan(unbiased_gain(d[:2]).low)


def test_published_tau(devai: Panel, published: dict[str, Any]) -> None:
    found = held_out(devai, list(METHODS), 1000, 7)
    for method, (tau, *_, full) in published["held_out"]["methods"].items():
        # the authors drew other tasks: within three Monte Carlo errors
        error = found.tau[method].std() / np.sqrt(1000)
        assert found.tau[method].mean() == pytest.approx(tau, abs=4.3 * error + 1e-9), method
        if method != "random control":
            assert found.full_fit[method] == pytest.approx(full, abs=1e-6), method
    # what this engine has always given for this seed
    assert found.tau["raw"].mean() == pytest.approx(0.6502612)
    assert found.tau["cbc"].mean() == pytest.approx(0.9025571428571429)
    assert found.tau["dawid-skene"].mean() == pytest.approx(0.4392258906841746, abs=1e-6)
    assert found.gain["cbc"].mean() == pytest.approx(28.533603056427097)
    part, keep = part_of("judge-only norm", devai.values().v)
    assert unbiased_gain(part, keep=keep) == pytest.approx((173.495261762, 134.412357226, 212.578166297))


def test_a_thousand_resamples_are_fast(devai: Panel) -> None:
    begun = time.process_time()
    held_out(devai, [x for x in METHODS if x not in COMPLETE], 1000, 0)
    assert time.process_time() - begun < 1.5


def test_names() -> None:
    assert method_names(["CBC", "judge_only-norm", "cbc"]) == ["cbc", "judge-only norm"]
    assert method_names(None) == list(METHODS)
    with pytest.raises(UsageError, match="Did you mean 'z-score'"):
        method_names(["zscore"])


def test_nothing_left_out() -> None:
    with pytest.raises(UsageError, match="Score more tasks"):
        held_out(panel(n=1), ["raw", "cbc"], 20)
