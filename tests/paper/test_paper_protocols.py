"""Ablations, information, the pairwise model, gates, computed in other ways."""

from __future__ import annotations

from typing import Any

import evalica
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma

from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.paper import protocols


def scores(n: int = 30, k: int = 4, m: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return 50 + rng.normal(size=(n, 1, 1)) + 3 * rng.normal(size=(1, k, m)) + 5 * rng.normal(size=(n, k, m))


def test_all_judges_are_the_plain_protocol() -> None:
    y = scores()
    drawn = protocols.draws(30, 40, 1)
    found = protocols.ablate_judges(y, [2, 5], [drawn, drawn], 1e-7)
    whole = cbc.held_out(cbc.split(y, drawn, tiny=1e-7))["cbc"]
    assert found["subsets"].tolist() == [10, 1]
    # without ties, the mean over all pairs of judges is that of all judges: arithmetic, as the docs say
    assert found["tau"].tolist() == pytest.approx([whole.mean()] * 2)
    assert found["sd"][1] == 0
    assert protocols.ablate_judges(y, [2], [drawn], 1e-7, most=4)["subsets"].tolist() == [4]


def test_task_subsets_stay_inside() -> None:
    drawn, held = protocols.subset_draws(30, 10, 50, np.random.default_rng(0))
    assert (drawn.sum(1) == 10).all()
    assert not (held & (drawn > 0)).any()
    assert ((held | (drawn > 0)).sum(1) == 10).all()
    found = protocols.ablate_tasks(scores(), [10, 30], [(drawn, held), (protocols.draws(30, 50, 0), None)], 1e-7)
    assert found["error"][0] > found["error"][1]
    assert found["radius"][0] == pytest.approx(np.sqrt(3) * found["radius"][1])


def plain_information(values: Any, labels: Any, q: int) -> float:
    """The estimator of METHODS 6 for one slice, with loops."""
    size, out = len(values), []
    for i in range(size):
        far = sorted(abs(values[j] - values[i]) for j in range(size) if j != i and labels[j] == labels[i])
        reach = min(q, len(far))
        near = sum(abs(values[j] - values[i]) <= far[reach - 1] for j in range(size) if j != i)
        out.append((digamma(len(far) + 1), digamma(reach), digamma(max(1, near))))
    own, reach_, near_ = np.mean(out, axis=0)
    return float(digamma(size) - own + reach_ - near_)


@pytest.mark.parametrize(("f", "q"), [(3, 2), (4, 2), (2, 2)])
def test_information_by_loops(f: int, q: int) -> None:
    runs = np.random.default_rng(f).integers(0, 6, (5, 3, 2, f)).astype(float)
    found = protocols.information(runs, 0, q, times=40)
    labels = np.repeat(np.arange(3), f)
    each = [plain_information(runs[t, :, b].ravel(), labels, q) for t in range(5) for b in range(2)]
    assert found["observed"] == pytest.approx(np.mean(each))
    assert (found["slices"], found["slice_size"]) == (10, 3 * f)


def test_information_tells_language_from_none() -> None:
    rng = np.random.default_rng(0)
    none = rng.normal(size=(30, 4, 2, 3))
    assert protocols.information(none, 1, times=99)["p"] > 0.05
    some = none + 2 * rng.normal(size=(30, 4, 2, 1))
    found = protocols.information(some, 1, times=99)
    assert found["p"] == pytest.approx(0.01, rel=1e-9)
    assert found["low"] > 0.1
    with pytest.raises(PanelError, match="--replicate"):
        protocols.information(none[..., :1])
    holes = none.copy()
    holes[0, 0, 0, 0] = np.nan
    assert protocols.information(holes, times=19)["slices"] == 59


def test_so_many_reversals_are_likely_without_an_interaction_and_unlikely_with_one() -> None:
    rng = np.random.default_rng(0)
    additive = rng.normal(size=(40, 1, 1)) + 0.3 * np.arange(5) + rng.normal(size=(40, 4, 5))
    p, null = protocols.global_null(additive, 200)
    assert p > 0.05
    assert len(null) == 200
    crossed = additive + 2 * cbc.double_centre(rng.normal(size=(4, 5)))
    assert protocols.global_null(crossed, 200)[0] <= 1 / 201 + 1e-12
    limit = protocols.global_null(additive, 30_000, 2)[1]  # 24 million numbers: drawn from the normal limit
    assert limit.mean() == pytest.approx(protocols.global_null(additive, 3000, 1)[1].mean(), abs=0.1)


def test_one_stratum_is_bradley_terry() -> None:
    """Referee: evalica, whose strengths are exp(th); ties count half to each."""
    rng = np.random.default_rng(0)
    y = (rng.normal(size=(60, 1, 4)) + np.array([0, 0.3, 0.6, 1.2])).round(1)
    mine = protocols.btl(*protocols.wins(y, np.ones((1, 60))))[0, 0]
    i, j = np.triu_indices(4, 1)
    d = (y[:, 0, i] - y[:, 0, j]).ravel()
    assert (d == 0).any()
    won = [evalica.Winner.X if x > 0 else evalica.Winner.Y if x < 0 else evalica.Winner.Draw for x in d]
    theirs = np.log(evalica.bradley_terry([*i] * 60, [*j] * 60, won, tolerance=1e-12, limit=10_000).scores.sort_index())
    np.testing.assert_allclose(mine, theirs - theirs.mean(), atol=1e-6)


def test_strata_against_a_general_optimiser() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=(80, 2, 3)) + np.array([0, 0.5, 1.0])
    strata = np.repeat([0, 1], 40)
    y[strata == 0] *= -1  # strata that contradict each other: more than one peak
    won, total = protocols.wins(y, np.ones((1, 80)), strata)
    mine = protocols.btl(won, total)[0]
    i, j = np.triu_indices(3, 1)
    for language in range(2):

        def loss(x: Any, w: Any = won[0, language], t: Any = total[0, language]) -> float:
            th, a = np.append(x[:2], -x[:2].sum()), np.array([x[2], -x[2]])
            eta = np.exp(a)[:, None] * (th[i] - th[j])
            return float(-(w * eta - t * np.logaddexp(0, eta)).sum())

        ends = [(-20, 20), (-20, 20), (-4, 4)]
        best = min(minimize(loss, x0, bounds=ends).fun for x0 in rng.normal(size=(8, 3)))
        own = min(loss(np.array([*mine[language][:2], a])) for a in np.linspace(-4, 4, 8001))
        assert own == pytest.approx(best, abs=0.1)  # the other peak is 3 lower


def test_wins_count_ties_half_and_leave_gaps_out() -> None:
    y = np.array([[[1.0, 1.0, 0.0]], [[2.0, np.nan, 3.0]]])
    won, total = protocols.wins(y, np.array([[1.0, 2.0]]))
    assert won[0, 0, 0].tolist() == [0.5, 1.0, 1.0]
    assert total[0, 0, 0].tolist() == [1.0, 3.0, 1.0]
    # a judge that wins everything stops at a bound
    assert np.isfinite(protocols.btl(*protocols.wins(np.tile([[[3.0, 2.0, 1.0]]], (9, 1, 1)), np.ones((1, 9))))).all()


def test_sweep_by_loops() -> None:
    y = scores().round()
    drawn = protocols.draws(30, 30, 0)
    row = protocols.sweep(y, [45.0, 50.0], drawn, 1e-7).iloc[1]

    def less_interaction(rates: Any, learned: Any) -> Any:
        fitted = learned - learned.mean(0) - learned.mean(1)[:, None] + learned.mean()
        return np.clip(rates - fitted, 0, 1)

    def spread(rates: Any) -> float:
        return float(np.mean([100 * (max(rates[:, judge]) - min(rates[:, judge])) for judge in range(5)]))

    raw = (y > 50).mean(0)
    calibrated = less_interaction(raw, raw)
    assert (row["pass_raw"], row["pass_calibrated"]) == pytest.approx((100 * raw.mean(), 100 * calibrated.mean()))
    assert (row["spread_raw"], row["spread_calibrated"]) == pytest.approx((spread(raw), spread(calibrated)))
    falls = []
    for counts in drawn:
        learned, left = (y[np.repeat(np.arange(30), counts)] > 50).mean(0), (y[counts == 0] > 50).mean(0)
        falls.append(spread(left) - spread(less_interaction(left, learned)))
    assert row["held_out_fall"] == pytest.approx(np.mean(falls))
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.percentile(falls, [2.5, 97.5])))


@pytest.mark.parametrize("planted", [0.0, 1.0])
def test_gates_of_whole_numbers_do_not_drift_apart(planted: float) -> None:
    """Scores 1 to 5 that gated after calibrating spread by 30 points: every 4 that loses 0.02 would fail."""
    rng = np.random.default_rng(4)
    latent = 3.6 + rng.normal(0, 0.8, (300, 1, 1)) + rng.normal(0, 0.3, (300, 6, 1)) + rng.normal(0, 0.5, (300, 6, 5))
    latent[:, 2, 1] -= planted
    row = protocols.sweep(np.rint(latent).clip(1, 5), [4 - 1e-8], protocols.draws(300, 50, 0), 1e-9).iloc[0]
    assert row["spread_calibrated"] <= row["spread_raw"]
    assert row["held_out_fall"] > -4
    assert row["pass_calibrated"] == pytest.approx(row["pass_raw"], abs=0.1)


# --- beyond the paper: loops instead of matrices ---


def tau_by_pairs(a: Any, b: Any, tiny: float) -> float:
    """Kendall's tau-b, pair by pair."""
    signs = [
        [int(d > tiny) - int(d < -tiny) for i in range(len(x)) for d in x[i] - np.asarray(x[i + 1 :])] for x in (a, b)
    ]
    size = np.prod([sum(v != 0 for v in x) for x in signs]) ** 0.5
    return float(sum(u * v for u, v in zip(*signs, strict=True)) / size) if size else float("nan")


@pytest.mark.parametrize("shared", [0, 1, 4])
def test_few_shot_by_loops(shared: int) -> None:
    y, seed, language = scores(), 3, 1
    n, k, m = y.shape
    s = cbc.split(y, protocols.draws(n, 6, 5), tiny=1e-7)
    order = np.random.default_rng(seed).random(s.drawn.shape)
    expected = []
    for r, drawn in enumerate(s.drawn):
        others = [x for x in range(k) if x != language]
        train = np.array([np.average(y[:, x], axis=0, weights=drawn) for x in others])
        beta = train - train.mean(0) - train.mean(1, keepdims=True) + train.mean()
        left = y[drawn == 0].mean(0)
        row = np.zeros(m)
        if shared:
            tasks = sorted((t for t in range(n) if drawn[t] > 0), key=lambda t: order[r, t])[:shared]
            gaps = np.array([y[t, language] - y[t, others].mean(0) for t in tasks])
            gaps = gaps - gaps.mean(1, keepdims=True)
            row = gaps.mean(0)
            if shared > 1:
                noise = gaps.var(0, ddof=1).sum() / shared
                row = row * max(0.0, 1 - noise / (row**2).sum())
        taus = [tau_by_pairs(left[language] - row, left[x] - beta[i], 1e-7) for i, x in enumerate(others)]
        expected.append(np.nanmean(taus))
    assert protocols.few_shot(s, language, shared, seed) == pytest.approx(np.array(expected), abs=1e-12)


def test_zero_shared_tasks_are_the_papers_zero_shot() -> None:
    y = scores()
    s = cbc.split(y, protocols.draws(len(y), 20, 1), tiny=1e-7)
    zero_shot = cbc.leave_one_language_out(s, 2)[1]
    np.testing.assert_allclose(protocols.few_shot(s, 2, 0), zero_shot, atol=1e-6)


def test_families_by_loops() -> None:
    y, rng = scores(), np.random.default_rng(0)
    family = rng.integers(2, size=len(y))
    effect = protocols.compare_families(y, family, draws=200, seed=4)
    parts = [np.array([cbc.double_centre(y[t]) for t in np.flatnonzero(family == f)]) for f in (0, 1)]

    def correlation(a: Any, b: Any) -> float:
        total, noise = 0.0, [0.0, 0.0]
        squares = [0.0, 0.0]
        for cell in np.ndindex(*a.shape[1:]):
            x, z = (part[(slice(None), *cell)] for part in (a, b))
            total += x.mean() * z.mean()
            for i, part in enumerate((x, z)):
                squares[i] += part.mean() ** 2
                noise[i] += part.var(ddof=1) / len(part)
        return float(total / np.sqrt((squares[0] - noise[0]) * (squares[1] - noise[1])))

    assert effect.r[0] == pytest.approx(correlation(*parts))
    assert effect.r[1] == pytest.approx(correlation(*parts[::-1]))

    def between(groups: Any) -> float:
        whole = np.array([cbc.double_centre(t) for t in y]).mean(0)
        betas = [np.array([cbc.double_centre(y[t]) for t in np.flatnonzero(groups == f)]).mean(0) for f in (0, 1)]
        return sum((groups == f).sum() * ((betas[f] - whole) ** 2).sum() for f in (0, 1))

    again = np.random.default_rng(4)
    exchanged = [between(again.permutation(family)) for _ in range(200)]
    assert effect.p == pytest.approx((1 + sum(x >= between(family) * (1 - 1e-9) for x in exchanged)) / 201)


def test_a_family_of_its_own_is_found() -> None:
    rng = np.random.default_rng(2)
    planted = [5 * cbc.double_centre(rng.normal(size=(4, 4))) for _ in range(2)]
    family = np.repeat([0, 1], 30)
    y = rng.normal(size=(60, 4, 4)) * 5 + np.array([planted[f] for f in family])
    effect = protocols.compare_families(y, family, draws=200)
    truth = (planted[0] * planted[1]).sum() / np.sqrt((planted[0] ** 2).sum() * (planted[1] ** 2).sum())
    assert effect.p < 0.01
    assert effect.low[0] < truth < effect.high[0]
