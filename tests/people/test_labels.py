"""Array functions of labels against referees, worked examples and planted truth."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.stats import labels as st


def test_wilson_is_that_of_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    for hits, n, level in ((0, 7, 0.95), (43, 50, 0.95), (50, 50, 0.8)):
        low, high = proportion_confint(hits, n, 1 - level, method="wilson")
        assert st.wilson(hits, n, level) == pytest.approx((hits / n, low, high), abs=1e-12)


def test_kappa_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80).astype(float)
    f = np.where(rng.random(80) < 0.8, y, 1 - y)
    value, low, high = st.kappa(y, f)
    assert value == pytest.approx(cohen_kappa_score(y, f), abs=1e-12)
    chance = sum((y == a).mean() * (f == a).mean() for a in (0, 1))
    assert low == pytest.approx((st.wilson((y == f).sum(), 80)[1] - chance) / (1 - chance))
    assert low < value < high
    assert np.isnan(st.kappa(np.ones(9), y[:9])).all()  # one always says the same: 0 by arithmetic
    assert st.kappa(np.array([0.0, 0, 0, 0, 0, 1]), np.array([0.0, 0, 0, 0, 1, 0]))[1] >= -1


def test_the_powered_mean_is_that_of_ppi_py() -> None:
    """A regression estimate is prediction-powered with the best lambda, but for labelled answers counting in both."""
    from ppi_py import ppi_mean_pointestimate

    rng = np.random.default_rng(1)
    truth = rng.normal(50, 10, 5000)
    f = truth + rng.normal(3, 6, 5000)
    y = np.where(np.arange(5000) < 100, truth, np.nan)
    made = st.powered(y, f, two_valued=False)
    theirs = ppi_mean_pointestimate(truth[:100], f[:100], f[100:])[0]
    assert made.value == pytest.approx(theirs, abs=0.15)  # shrunk a little, with 100 of 5,000
    assert made.low < 50 < made.high
    assert made.high - made.low < 0.75 * (made.alone[2] - made.alone[1])


def test_the_powered_mean_by_hand() -> None:
    y = np.array([1.0, 3.0, np.nan, np.nan])
    f = np.array([2.0, 4.0, 6.0, 8.0])
    made = st.powered(y, f, two_valued=False)
    assert made.value == pytest.approx(2 + 1.0 * (5 - 3))  # slope 1, mean of f 5 against 3
    assert made.slope == pytest.approx(1.0)
    assert np.isnan(made.low)  # two labels have no interval
    rate = st.powered(np.array([1.0, 0.0, np.nan, np.nan]), np.array([1.0, 0.0, 1.0, 1.0]), two_valued=True)
    assert rate.value == pytest.approx(0.5 + 0.25 * (0.75 - 0.5))  # slope 1, one rare label: 1 / (1 + 3)
    assert 0 <= rate.low < rate.value < rate.high <= 1


def test_everything_labelled_is_the_labels_alone() -> None:
    y = np.arange(20.0)
    made = st.powered(y, -y, two_valued=False)
    assert made.value == pytest.approx(y.mean())
    assert made.alone[0] == pytest.approx(y.mean())


def test_answers_of_one_task_are_not_independent() -> None:
    """Every answer twice: the interval is that of the answers once."""
    rng = np.random.default_rng(2)
    f = rng.normal(size=60)
    y = np.where(np.arange(60) < 30, f + rng.normal(size=60), np.nan)
    hit = (rng.random(60) < 0.7).astype(float)
    unit = np.arange(60)
    twice = st.powered(np.tile(y, 2), np.tile(f, 2), np.tile(unit, 2), two_valued=False)
    alone = st.powered(np.tile(y, 2), np.tile(f, 2), two_valued=False)
    assert (twice.high - twice.low) / (alone.high - alone.low) == pytest.approx(2**0.5, rel=0.05)
    assert st.share(np.tile(hit, 2), np.tile(unit, 2)) == pytest.approx(st.share(hit), abs=1e-9)
    assert st.mean(np.tile(f, 2), np.tile(unit, 2)) == pytest.approx(st.mean(f), abs=1e-9)


def test_a_difference_knows_its_correlation() -> None:
    a, b = (0.8, 0.7, 0.88), (0.6, 0.5, 0.7)
    wide, narrow = st.difference(a, b, 0.0), st.difference(a, b, 0.9)
    assert wide[0] == narrow[0] == pytest.approx(0.2)
    assert narrow[2] - narrow[1] < 0.6 * (wide[2] - wide[1])
    # independent shares: Newcombe's method 10, of statsmodels
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(56, 70, 48, 80, method="newcomb")
    made = st.difference(st.wilson(56, 70), st.wilson(48, 80), 0.0)
    assert made[1:] == pytest.approx((low, high), abs=1e-12)


def test_alpha_is_that_of_krippendorffs_example() -> None:
    """Krippendorff (2011), the example with four observers and twelve units, interval data: 0.849."""
    nan = np.nan
    table = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
            [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
        ]
    ).T
    value, low, high = st.alpha(table)
    assert value == pytest.approx(0.849, abs=0.0005)
    assert low < value < high
    assert np.isnan(st.alpha(np.ones((5, 2)))).any()


def test_severity_counts_annotators_not_labels() -> None:
    """Two annotators who differ by 10, many labels each: the variance is that of two numbers, by hand."""
    d = np.array([0.0, 0.0, 10.0, 10.0] * 25)
    who = np.array([0, 0, 1, 1] * 25)
    made = st.severity(d, np.zeros(100, int), who, np.arange(100), 1)
    assert made.estimate[0] == 5
    assert made.df == 1
    assert made.variance[0] == pytest.approx(50 / 2)  # the variance of 0 and 10 is 50, two annotators


def test_weights_find_the_judge_people_follow() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=200)
    x = np.stack([truth + 0.3 * rng.normal(size=200), rng.normal(size=200), rng.normal(size=200)], 1)
    w = st.judge_weights(x, truth, np.arange(200))
    assert w.sum() == pytest.approx(1)
    assert (w >= 0).all()
    assert w[0] > 0.7
    same = st.judge_weights(x[:, [0, 0, 0]], truth, np.arange(200))
    assert same == pytest.approx(np.full(3, 1 / 3), abs=1e-6)
    noise = [np.ptp(st.judge_weights(rng.normal(size=(60, 3)), rng.normal(size=60), np.arange(60))) for _ in range(20)]
    assert np.median(noise) < 0.35


def test_a_negative_judge_has_no_weight() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=150)
    x = np.stack([truth + rng.normal(size=150), -truth + 0.1 * rng.normal(size=150)], 1)
    assert st.judge_weights(x, truth, np.arange(150)) == pytest.approx([1, 0], abs=0.01)


def test_who_decides_alone() -> None:
    far = np.arange(100.0)
    assert st.fewest_to_decide(0.05) == 59
    assert st.decide_alone(far, np.zeros(100, bool), 0.05) == 0.0
    assert st.decide_alone(far, far < 30, 0.05) == 30.0  # the first error of 71 is one too many
    assert st.decide_alone(far, far > 90, 0.05) is None
    assert st.decide_alone(far[:50], np.zeros(50, bool), 0.05) is None
    two = (far == 1) | (far == 3)  # one error of 98 is fewer than 5%, two of 99 need not be
    assert st.decide_alone(far, two, 0.05) == 2.0
    assert st.decide_alone(np.arange(400.0), np.isin(np.arange(400), [1, 3]), 0.05) == 0.0
    outer = np.isin(np.arange(400), [394, 396, 398])  # 3 of the 59 farthest: the first test fails, and none follows
    assert st.decide_alone(np.arange(400.0), outer, 0.05) is None


@pytest.mark.statistical
def test_deciding_alone_keeps_what_it_allows() -> None:
    """The error where the judge decides is 10%, and 5% is allowed: said in at most one in twenty runs."""
    rng = np.random.default_rng(5)
    said = [st.decide_alone(rng.random(200), rng.random(200) < 0.06, 0.05) is not None for _ in range(400)]
    assert np.mean(said) <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_the_alternative_annotator() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(50, 10, 60)
    people = truth[:, None] + rng.normal(0, 5, (60, 4))
    won, near, p = st.alternative_annotator(truth, people)
    assert won == 1.0
    assert near > 0.6
    assert (p < 0.05).all()
    assert st.alternative_annotator(rng.normal(50, 10, 60), people)[0] == 0.0
    assert np.isnan(st.alternative_annotator(truth[:5], people[:5])[0])


def test_signed_ranks_are_those_of_scipy() -> None:
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(7)
    d = rng.choice([-1.0, 0.0, 1.0], 25)
    theirs = wilcoxon(d - 0.15, alternative="less", method="approx", correction=False).pvalue
    assert st._below(d, 0.15) == pytest.approx(theirs, abs=1e-9)


def test_labels_that_are_not_random_are_seen() -> None:
    rng = np.random.default_rng(8)
    f = rng.normal(size=400)
    language, unit = np.repeat([0, 1], 200), np.tile(np.arange(200), 2)
    random = rng.random(400) < 0.2
    assert abs(st.not_random(f, random, language, unit)) < 3
    assert st.not_random(f, f > 0.8, language, unit) > 5
    assert st.not_random(f, f < -0.8, language, unit) < -5
    assert st.not_random(f, f == f.max(), language, unit) == 0  # one label is no sample


def test_correlation_is_fishers() -> None:
    rng = np.random.default_rng(9)
    y = rng.normal(size=50)
    f = y + rng.normal(size=50)
    from scipy.stats import pearsonr

    theirs = pearsonr(y, f)
    interval = theirs.confidence_interval()
    assert st.correlation(y, f) == pytest.approx((theirs.statistic, interval.low, interval.high), abs=1e-9)
    assert np.isnan(st.correlation(np.ones(20), np.arange(20.0))).all()


def test_a_correlation_of_extremes_that_go_together_is_less_certain() -> None:
    g = np.random.default_rng(5)
    held = []
    for _ in range(400):
        size = np.exp(g.normal(0, 0.8, 100))
        y, e = g.normal(size=(2, 100)) * size
        r, low, high = st.correlation(y, y + e)
        held.append(low <= np.sqrt(0.5) <= high)
        assert low < r < high
    assert np.mean(held) >= 0.85  # Fisher's interval alone: about 0.6


def test_no_interval_where_nearly_all_labels_are_alike() -> None:
    """Of 40 answers two are labelled apart: what a rare difference does cannot be told from so few."""
    high, unit = np.arange(80) < 40, np.tile(np.arange(40), 2)
    assert np.isnan(st.gap(50.0 * np.isin(np.arange(80), (3, 9)), high, unit)[1])
    assert np.isnan(st.gap(np.full(80, 1 / 3), high, unit)[1])
    d, low, at_most = st.gap(np.random.default_rng(0).normal(0, 9, 80) + 6 * high, high, unit)
    assert low < d < at_most


def test_equal_weights_count_more_than_what_is_chance() -> None:
    """A judge that is a little better: few labels move little, many move much."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=2000)
    x = truth[:, None] + rng.normal(size=(2000, 4)) * np.array([0.5, 1.5, 1.5, 1.5])
    few, many = (st.judge_weights(x[:n], truth[:n], np.arange(n)) for n in (50, 2000))
    assert 0.25 < few[0] < many[0]
    assert many[0] > 0.6


def verdicts(n: int, prevalence: float, true_kappa: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    differ = prevalence * (1 - prevalence) * (1 - true_kappa)
    both = prevalence**2 + true_kappa * prevalence * (1 - prevalence)
    kinds = np.random.default_rng(seed).choice(4, n, p=[both, differ, differ, 1 - both - 2 * differ])
    return (kinds < 2).astype(float), (kinds % 2 == 0).astype(float)


@pytest.mark.statistical
@pytest.mark.parametrize(("prevalence", "true_kappa"), [(0.5, 0.6), (0.95, 0.4)])
def test_kappa_covers_and_is_narrow_where_failures_are_rare(prevalence: float, true_kappa: float) -> None:
    limits = [st.kappa(*verdicts(400, prevalence, true_kappa, seed)) for seed in range(200)]
    held = np.mean([low <= true_kappa <= high for _, low, high in limits])
    assert 0.9 < held < 0.99  # Wilson's limits of the accuracy held always, at twice the width
    assert np.mean([high - low for _, low, high in limits]) < 0.4


def test_the_error_of_kappa_is_that_of_the_delta_method() -> None:
    """By hand, from the formula of Fleiss, Cohen and Everitt (1969) on the table plus a half."""
    y, f = verdicts(300, 0.7, 0.5, 1)
    table = np.array([[((y == a) & (f == b)).sum() + 0.5 for b in (0, 1)] for a in (0, 1)])
    p, n = table / table.sum(), table.sum()
    r, c = p.sum(1), p.sum(0)
    chance = r @ c
    value = (np.trace(p) - chance) / (1 - chance)
    same = sum(p[i, i] * (1 - (r[i] + c[i]) * (1 - value)) ** 2 for i in (0, 1))
    differ = (1 - value) ** 2 * sum(p[i, 1 - i] * (c[i] + r[1 - i]) ** 2 for i in (0, 1))
    error = np.sqrt((same + differ - (value - chance * (1 - value)) ** 2) / n) / (1 - chance)
    _, low, high = st.kappa(y, f)
    half = 1.959964 * error / (1 - value**2)
    assert low == pytest.approx(np.tanh(np.arctanh(value) - half), abs=1e-6)
    assert high == pytest.approx(np.tanh(np.arctanh(value) + half), abs=1e-6)
    clustered = st.kappa(np.repeat(y, 3), np.repeat(f, 3), np.repeat(np.arange(300), 3))
    assert clustered[2] - clustered[1] == pytest.approx(high - low, rel=0.02)


def test_these_answers_are_known_better_than_answers_like_them() -> None:
    rng = np.random.default_rng(6)
    judge = rng.normal(50, 10, 300)
    people = judge + rng.normal(0, 3, 300)
    y = np.where(np.arange(300) < 100, people, np.nan)
    like = st.powered(y, judge, two_valued=False)
    low, high = st.of_these(y, judge, like, two_valued=False)
    assert low < people.mean() < high
    assert high - low < 0.6 * (like.high - like.low)
    slope = like.slope
    residual = (people - slope * judge)[:100]
    by_hand = np.sqrt((1 - 100 / 300) * ((residual - residual.mean()) ** 2).sum() / 98 / 100)
    assert (high - low) / 2 == pytest.approx(1.98447 * by_hand, rel=1e-3)
    everything = st.powered(people, judge, two_valued=False)
    assert st.of_these(people, judge, everything, two_valued=False) == (everything.value, everything.value)


def test_these_answers_agree_with_ppi_py_on_answers_like_them() -> None:
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(7)
    judge = rng.normal(50, 10, 2000)
    people = judge + 4 + rng.normal(0, 5, 2000)
    y = np.where(np.arange(2000) < 300, people, np.nan)
    ours = st.powered(y, judge, two_valued=False)
    low, high = ppi.ppi_mean_ci(people[:300], judge[:300], judge[300:], alpha=0.05)
    assert ours.value == pytest.approx(float(np.squeeze(low + high)) / 2, abs=0.2)
    assert ours.high - ours.low == pytest.approx(float(np.squeeze(high - low)), rel=0.1)
    these = st.of_these(y, judge, ours, two_valued=False)
    assert these[1] - these[0] < ours.high - ours.low


def test_alpha_is_krippendorffs_by_hand() -> None:
    """One less observed over expected disagreement, squared differences of all pairs of labels of an answer."""
    table = np.array([[1.0, 2, np.nan], [3, 3, 4], [5, np.nan, 4], [2, 2, 2], [1, 1, 3], [4, 5, 5], [3, 3, 3]])
    values, weights = [], []
    observed = 0.0
    for row in table:
        labels = row[np.isfinite(row)]
        observed += sum((a - b) ** 2 for a in labels for b in labels) / (len(labels) - 1)
        values += list(labels)
        weights.append(len(labels))
    n = len(values)
    expected = sum((a - b) ** 2 for a in values for b in values) / (n - 1)
    assert st.alpha(table)[0] == pytest.approx(1 - observed / expected)


@pytest.mark.parametrize("n_unlabelled", [1, 2, 3, 5, 9])
def test_few_unlabelled_answers_are_no_sign(n_unlabelled: int) -> None:
    score = np.r_[np.full(120 - n_unlabelled, 50.0) + np.random.default_rng(0).normal(size=120 - n_unlabelled),
                  np.full(n_unlabelled, 99.0)]  # fmt: skip
    labelled = np.arange(120) < 120 - n_unlabelled
    assert st.not_random(score, labelled, np.zeros(120, np.int64), np.arange(120)) == 0
    many = np.arange(120) < 60
    score[60:] += 5
    assert abs(st.not_random(score, many, np.zeros(120, np.int64), np.arange(120))) > 3
