"""The paper's analyses beside the calibrator: draws, ablations, information, pairwise model, gates.

And two questions that it leaves open: an unseen language with a few tasks, and families of tasks. METHODS 6, 8 to 11.

Arrays in, arrays or frames out; scores are (n tasks, k languages, m judges), as in `polyjudge.cbc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import digamma, expit, stdtrit

from polyjudge import cbc
from polyjudge.base.errors import PanelError

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

# --- the draws of the authors' code: with their seeds the published numbers come out to the last digit ---


def draws(n: int, replicates: int, rng: np.random.Generator | int) -> Counts:
    """How often each task is drawn, one replicate after the other: (replicates, n)."""
    rng = np.random.default_rng(rng)
    return np.array([np.bincount(rng.choice(n, n, replace=True), minlength=n) for _ in range(replicates)])


def held_out_draws(n: int, k: int, m: int, replicates: int, seed: int) -> tuple[Counts, Counts]:
    """Table 2: its draws; between two of them the same generator shuffles the judges for the random control."""
    rng = np.random.default_rng(seed)
    drawn, orders = [], []
    for _ in range(replicates):
        drawn.append(np.bincount(rng.choice(n, n, replace=True), minlength=n))
        orders.append([rng.permutation(m) for _ in range(k)])
    return np.array(drawn), np.array(orders)


def subset_draws(n: int, size: int, repeats: int, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Table 7: bootstrap draws inside random subsets of the tasks, and the tasks of the subset that they left out."""
    drawn, held = [], []
    for _ in range(repeats):
        subset = rng.choice(n, size, replace=False)
        drawn.append(np.bincount(subset[rng.choice(size, size, replace=True)], minlength=n))
        held.append(np.isin(np.arange(n), subset) & (drawn[-1] == 0))
    return np.array(drawn), np.array(held)


def summary(taus: Array) -> tuple[float, float, float]:
    """Mean, and the ends of the 95% interval of replicates."""
    low, high = np.percentile(taus, [2.5, 97.5])
    return float(taus.mean()), float(low), float(high)


# --- Tables 6 and 7, and slices ---


def ablate_judges(
    scores: Array, sizes: Sequence[int], drawn: Sequence[Counts], tiny: float = 0.0, most: int = 1000
) -> pd.DataFrame:
    """Table 6: CBC on every subset of the judges, of each size on its own draws: judges, subsets, tau, sd over subsets.

    Without ties the mean over all subsets of a size is that of all judges by arithmetic; only sd says something.
    """
    rows = []
    for size, counts in zip(sizes, drawn, strict=True):
        s, m = cbc.split(scores, counts, tiny=tiny), scores.shape[2]
        rng = np.random.default_rng(size)
        every = comb(m, size) <= most
        drawn_ones = (tuple(sorted(rng.choice(m, size, replace=False).tolist())) for _ in range(most))
        subsets = combinations(range(m), size) if every else set(drawn_ones)
        taus = []
        for subset in sorted(subsets):
            train, left = s.train[..., list(subset)], s.left[..., list(subset)]
            taus.append(cbc.mean_tau(left - cbc.double_centre(train), tiny).mean())
        rows.append((size, len(taus), float(np.mean(taus)), float(np.std(taus))))
    return pd.DataFrame(rows, columns=["judges", "subsets", "tau", "sd"])


def ablate_tasks(
    scores: Array, sizes: Sequence[int], drawn: Sequence[tuple[Counts, Counts]], tiny: float = 0.0
) -> pd.DataFrame:
    """Table 7, Figure 4: CBC on subsets of the tasks: tasks, tau, sd, error (mean |beta^ - beta^ of all tasks|), and
    the radius of Prop. 2 with the noise's sigma and with that of all scores."""
    _, k, m = scores.shape
    whole, sigmas = cbc.interaction(scores), (cbc.noise_sigma(scores), cbc.score_sigma(scores))
    rows = []
    for size, (counts, held) in zip(sizes, drawn, strict=True):
        s = cbc.split(scores, counts, held, tiny)
        tau = cbc.held_out(s)["cbc"]
        radii = [cbc.radius(sigma, size, k, m) for sigma in sigmas]
        rows.append((size, tau.mean(), tau.std(), np.abs(s.beta - whole).mean(), *radii))
    return pd.DataFrame(rows, columns=["tasks", "tau", "sd", "error", "radius", "radius_of_all_scores"])


def slice_tau(scores: Array, drawn: Counts, tiny: float = 0.0) -> dict[str, float]:
    """A slice (tasks, or the mean over some requirements of each) calibrated and evaluated on its own: raw, cbc."""
    return {x: float(t.mean()) for x, t in cbc.held_out(cbc.split(scores, drawn, tiny=tiny)).items() if x != "oracle"}


def without_each_judge(scores: Array, tiny: float = 0.0) -> Iterator[tuple[float, int]]:
    """Largest |beta^| and number of reversing pairs without each judge in turn."""
    means = cbc.cell_means(scores)
    for judge in range(scores.shape[2]):
        rest = np.delete(means, judge, axis=1)
        yield float(np.abs(cbc.double_centre(rest)).max()), int(cbc.reversing(rest, tiny))


# --- Section 6: information that language carries about the score, given judge and task ---

MOST = 60_000_000
"""Look-ups over all permutations; of larger panels tasks are drawn."""


def information(runs: Array, rng: np.random.Generator | int = 0, q: int = 2, times: int = 500) -> dict[str, float]:
    """I(score; language | judge, task) in nats from runs (n, k, m, f), less what permuted labels give (Section 6).

    Each (task, judge) is a slice of k f points; distances are compared exactly, as the authors' code does. Slices with
    missing runs are left out.
    """
    rng = np.random.default_rng(rng)
    n, k, m, f = runs.shape
    if f < 2:
        raise PanelError("Information needs several runs of the same task, language and judge (--replicate COLUMN).")
    rows = runs.transpose(0, 2, 1, 3).reshape(n * m, k * f)
    rows = rows[np.isfinite(rows).all(1)]
    most = max(1, MOST // (k * f * f * times))
    rows = rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]
    slices, size = rows.shape
    if not slices:
        raise PanelError("No task and judge has all its runs, so information cannot be told.")
    near = np.empty((slices, size, size))  # of i, j: digamma of the number of points at most as far from i as j is
    for at, v in enumerate(rows):
        far = np.abs(v[:, None] - v)
        near[at] = (far[:, None] <= far[..., None]).sum(2) - 1
    near = digamma(np.maximum(near, 1))
    label = np.repeat(np.arange(k), f)
    mates = np.array([np.flatnonzero((label == label[i]) & (np.arange(size) != i)) for i in range(size)])
    reach = min(q, f - 1)
    constant = digamma(size) - digamma(f) + digamma(reach)

    def value(order: Counts) -> float:
        """order : (slices, size) the point that has each label."""
        other = order[:, mates]
        terms = near[np.arange(slices)[:, None, None], order[..., None], other]
        return float(constant - np.partition(terms, reach - 1, axis=-1)[..., reach - 1].mean())

    observed = value(np.broadcast_to(np.arange(size), (slices, size)))
    slots = rng.permuted(np.broadcast_to(np.arange(size), (times, slices, size)), axis=2)
    null = np.array([value(np.argsort(s, axis=1)) for s in slots])
    low, high = np.percentile(observed - null, [2.5, 97.5])
    return {
        "slices": slices, "slice_size": size, "observed": observed, "null_mean": float(null.mean()),
        "debiased": float(observed - null.mean()), "low": float(low), "high": float(high),
        "p": float((1 + (null >= observed).sum()) / (1 + times)),
    }  # fmt: skip


def global_null(scores: Array, draws: int = 1000, seed: int = 0, tiny: float = 0.0) -> tuple[float, Array]:
    """Table 1 as a whole: p of so many reversing pairs without any interaction, and their numbers in the draws (METHODS
    5). Residuals of task + language + judge change places between the languages of each (task, judge); from 20 million
    numbers on the means come from their normal limit, with the exact moments."""
    n, k, m = scores.shape
    means, rng = scores.mean(0), np.random.default_rng(seed)
    additive = means - cbc.double_centre(means)
    residual = (scores - scores.mean((1, 2), keepdims=True) - additive + means.mean()).transpose(0, 2, 1)
    if scores.size * draws <= 20_000_000:
        noise = np.stack([rng.permuted(residual, axis=2).mean(0).T for _ in range(draws)])
    else:
        z = rng.standard_normal((draws, k, m))
        spread = np.sqrt(residual.var(2, ddof=1).sum(0)) / n
        noise = residual.mean((0, 2)) + spread * (z - z.mean(1, keepdims=True))
    null = cbc.reversing(additive + noise, tiny)
    return float((1 + (null >= cbc.reversing(means, tiny)).sum()) / (1 + draws)), null


# --- Appendix C: judge-aware Bradley-Terry-Luce, the discrimination belonging to the stratum of an item ---


def wins(scores: Array, weights: Array, strata: Counts | None = None, tiny: float = 0.0) -> tuple[Array, Array]:
    """Every item compares every two judges: wins of the first (ties a half) and comparisons, (R, k, strata, pairs), by
    weights (R, n) of the items. A pair with a missing score is left out."""
    i, j = np.triu_indices(scores.shape[2], 1)
    group = np.zeros(len(scores), int) if strata is None else strata
    d = scores[..., i] - scores[..., j]
    won, seen = 0.5 * (d >= -tiny) + 0.5 * (d > tiny), np.isfinite(d).astype(float)
    parts = [group == s for s in range(group.max() + 1)]
    both = [np.stack([np.einsum("rn,nkp->rkp", weights[:, at], x[at]) for at in parts], 2) for x in (won, seen)]
    return both[0], both[1]


def btl(won: Array, total: Array) -> Array:
    """Appendix C: strengths th (..., m) of P(i beats j | stratum s) = logistic(exp(a_s) (th_i - th_j)), both summing to
    0, by maximum likelihood (Fisher scoring, all fits at once). The rows are Table 4's adjusted matrix.

    Where strata contradict each other there are several peaks: each stratum leads one start, and the highest is kept.
    """
    s, p = won.shape[-2:]
    m = round((1 + (1 + 8 * p) ** 0.5) / 2)
    w, t = won.reshape(-1, s, p), total.reshape(-1, s, p)
    best, value = _climb(w, t, np.zeros((len(w), m)), np.zeros((len(w), s)))
    for leader in range(s) if s > 1 else ():
        own, _ = _climb(w[:, [leader]], t[:, [leader]], np.zeros((len(w), m)), np.zeros((len(w), 1)))
        lean = np.full((len(w), s), -1 / (s - 1))
        lean[:, leader] = 1
        other, got = _climb(w, t, own * np.exp(-1), lean)
        better = got > value + 1e-9 * np.abs(value)
        best[better], value[better] = other[better], got[better]
    return best.reshape(*won.shape[:-2], m)


def _climb(w: Array, t: Array, th: Array, a: Array, free: bool = True) -> tuple[Array, Array]:
    """Fisher scoring with both sums at 0 (of th alone unless `free`), halved where it does not gain: th, likelihood."""
    m, s = th.shape[1], a.shape[1]
    i, j = np.triu_indices(m, 1)
    pairs = np.eye(m)[i] - np.eye(m)[j]
    free_th, free_a = (
        np.linalg.qr(np.eye(m) - 1 / m)[0][:, : m - 1],
        np.linalg.qr(np.eye(s) - 1 / s)[0][:, : (s - 1) * free],
    )

    def likelihood(th: Array, a: Array, at: Any) -> Array:
        eta = np.exp(a)[..., None] * (th @ pairs.T)[:, None]
        return np.asarray((w[at] * eta - t[at] * np.logaddexp(0, eta)).sum((1, 2)))

    th, a = th.copy(), a.copy()
    value, moving = likelihood(th, a, slice(None)), np.arange(len(th))
    for _ in range(100):
        scale, eta = np.exp(a[moving])[..., None], np.exp(a[moving])[..., None] * (th[moving] @ pairs.T)[:, None]
        chance = expit(eta)
        jacobian = np.concatenate([scale[..., None] * (pairs @ free_th), eta[..., None] * free_a[:, None]], -1)
        jacobian = jacobian.reshape(len(moving), s * len(i), -1)
        slope = np.einsum("qef,qe->qf", jacobian, (w[moving] - t[moving] * chance).reshape(len(moving), -1))
        curve = jacobian.swapaxes(1, 2) @ (jacobian * (t[moving] * chance * (1 - chance)).reshape(len(moving), -1, 1))
        diagonal = np.arange(curve.shape[1])
        curve[:, diagonal, diagonal] += 1e-12 * curve[:, diagonal, diagonal].max(1, keepdims=True) + 1e-300
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        step_th, step_a = step[:, : m - 1] @ free_th.T, step[:, m - 1 :] @ free_a.T
        longest = np.maximum(np.abs(step_th).max(1), np.abs(step_a).max(1))
        size, settled = np.minimum(1.0, 1 / np.maximum(longest, 1e-300)), np.zeros(len(moving), bool)
        for _ in range(30):
            todo = np.flatnonzero(~settled)
            at = moving[todo]
            new_th = np.clip(th[at] + size[todo, None] * step_th[todo], -20, 20)
            new_a = np.clip(a[at] + size[todo, None] * step_a[todo], -4, 4)
            got = likelihood(new_th, new_a, at)
            good = got >= value[at] - 1e-12 * np.abs(value[at])
            th[at[good]], a[at[good]], value[at[good]] = new_th[good], new_a[good], got[good]
            settled[todo[good]] = True
            size[todo[~good]] /= 2
            if settled.all():
                break
        ends = np.abs(th[moving]).max(1) < 20  # a judge that wins everything has no finite strength
        inside = ends & ((np.abs(a[moving]).max(1) < 4) | (not free))
        moving = moving[settled & (size * longest > 1e-11) & inside]
        if not len(moving):
            break
    at_end = np.flatnonzero(np.abs(a).max(1) >= 4)
    if free and len(at_end):  # a stratum that contradicts the others has no finite discrimination
        th[at_end], value[at_end] = _climb(w[at_end], t[at_end], th[at_end], a[at_end], False)
    return th, value


# --- METHODS 9: gates at many thresholds ---


def sweep(scores: Array, marks: Sequence[float], drawn: Counts | None = None, tiny: float = 0.0) -> pd.DataFrame:
    """Gates: threshold, share that passes and its spread over languages (mean over judges of largest less smallest, in
    percentage points), raw and calibrated; with draws also the held-out fall of the spread, low and high.

    What is calibrated is the rate, never a score that stands on the mark (METHODS 32).
    """
    rows = []
    for mark in marks:
        passes = (scores > mark + tiny).astype(float)
        rates = passes.mean(0), _calibrated_rates(passes.mean(0), cbc.interaction(passes))
        row = [mark, *(100 * rate.mean() for rate in rates), *(_spread(rate).mean() for rate in rates)]
        if drawn is not None:
            s = cbc.split(passes, drawn)
            falls = (_spread(s.left) - _spread(_calibrated_rates(s.left, s.beta))).mean(-1)
            row += [falls.mean(), *np.percentile(falls, [2.5, 97.5])]
        rows.append(row)
    held = ["held_out_fall", "low", "high"] if drawn is not None else []
    names = ["threshold", "pass_raw", "pass_calibrated", "spread_raw", "spread_calibrated", *held]
    return pd.DataFrame(rows, columns=names)


def _calibrated_rates(rates: Array, beta: Array) -> Array:
    return np.clip(rates - beta, 0.0, 1.0)


def _spread(rates: Array) -> Array:
    """Largest less smallest pass rate of each judge over languages, in percentage points."""
    return np.asarray(100 * np.ptp(rates, axis=-2))


# --- METHODS 8: a language of which only a few tasks are scored ---


def few_shot(s: cbc.Split, language: int, shared_tasks: int, seed: int = 0) -> Array:
    """Mean tau of a language with each of the others on the left-out tasks, (replicates,), where its row of beta^ comes
    from `shared_tasks` of the drawn tasks and the other rows from all of them. 0 shared tasks: its row is 0.

    Replicates that drew fewer distinct tasks are left out.
    """
    others = np.delete(np.arange(s.left.shape[1]), language)
    calibrated_others = s.left[:, others] - cbc.double_centre(s.train[:, others])
    row, is_usable = _few_shot_row(s, language, shared_tasks, seed)
    own = cbc.signs(s.left[:, [language]] - row[:, None], s.tiny)
    taus = cbc.tau(own, cbc.signs(calibrated_others, s.tiny))[:, 0]
    has_tau = np.isfinite(taus)
    mean_tau = np.where(has_tau, taus, 0.0).sum(1) / np.maximum(has_tau.sum(1), 1)
    return np.asarray(mean_tau[is_usable])


def _few_shot_row(s: cbc.Split, language: int, shared_tasks: int, seed: int) -> tuple[Array, NDArray[np.bool_]]:
    """The language's row of beta^ in each replicate, (replicates, judges), shrunk by the share of it that is noise; and
    which replicates have that many distinct tasks."""
    n_judges = s.values.shape[2]
    is_drawn = s.drawn > 0
    is_usable = is_drawn.sum(1) >= shared_tasks
    if shared_tasks == 0:
        return np.zeros((len(is_drawn), n_judges)), is_usable
    gap = s.values[:, language] - np.delete(s.values, language, axis=1).mean(1)
    gap = gap - gap.mean(1, keepdims=True)
    order = np.random.default_rng(seed).random(is_drawn.shape)
    order[~is_drawn] = np.inf
    is_shared = order <= np.partition(order, shared_tasks - 1, axis=1)[:, [shared_tasks - 1]]
    weight = is_shared / is_shared.sum(1, keepdims=True)
    mean = weight @ gap
    variance_of_mean = np.maximum(weight @ gap**2 - mean**2, 0.0) / max(shared_tasks - 1, 1)
    size = (mean**2).sum(1)
    noise_share = variance_of_mean.sum(1) / np.maximum(size, 1e-300)
    if shared_tasks == 1:  # one task tells nothing of its own noise
        noise_share = np.zeros(len(mean))
    return mean * np.maximum(0.0, 1.0 - noise_share)[:, None], is_usable


# --- METHODS 10: does beta^ carry over between families of tasks, or is there a three-way effect ---


class FamilyEffect(NamedTuple):
    """p : of a difference between the families' beta^, by exchanging tasks between families
    r : (families,) correlation of a family's beta^ with that of all other tasks, freed from noise; NaN where noise is
        all there is
    low, high : 95% interval of r by the jackknife over tasks; like r it may lie above 1
    """

    p: float
    r: Array
    low: Array
    high: Array


def compare_families(scores: Array, family: Counts, draws: int = 1000, seed: int = 0) -> FamilyEffect:
    """Whether the interaction of language and judge differs between families of tasks; `family` numbers them by task.

    Large effects of tasks cancel in each task's double centring, so that tasks may change places between families.
    """
    rng = np.random.default_rng(seed)
    per_task = cbc.double_centre(scores).reshape(len(scores), -1)
    n_families = int(family.max()) + 1
    observed = _spread_between(per_task, family, n_families)
    exchanged = np.array([_spread_between(per_task, rng.permutation(family), n_families) for _ in range(draws)])
    p = (1 + int((exchanged >= observed * (1 - 1e-9)).sum())) / (1 + draws)
    rows = [_correlation_interval(per_task[family == f], per_task[family != f]) for f in range(n_families)]
    r, low, high = np.array(rows).T
    return FamilyEffect(p, r, low, high)


def _spread_between(per_task: Array, family: Counts, n_families: int) -> float:
    """Sum of squares between the families' means."""
    is_member = (family == np.arange(n_families)[:, None]).astype(float)
    sizes = is_member.sum(1)
    centred = is_member @ per_task / sizes[:, None] - per_task.mean(0)
    return float((sizes * (centred**2).sum(1)).sum())


class MeanOverTasks(NamedTuple):
    """mean : (..., cells); noise : (...) the variance of the mean, summed over cells"""

    mean: Array
    noise: Array


def _mean_over_tasks(sample: Array) -> MeanOverTasks:
    return MeanOverTasks(sample.mean(0), np.asarray(sample.var(0, ddof=1).sum() / len(sample)))


def _means_without_one(sample: Array) -> MeanOverTasks:
    """The mean over all tasks but one, for each task that is left out."""
    rest = len(sample) - 1
    mean = (sample.sum(0) - sample) / rest
    size = (sample**2).sum(1)
    squares_about_mean = size.sum() - size - rest * (mean**2).sum(1)
    return MeanOverTasks(mean, np.maximum(squares_about_mean, 0.0) / max(rest - 1, 1) / rest)


def _true_correlation(here: MeanOverTasks, elsewhere: MeanOverTasks) -> Array:
    """Correlation of two means over tasks, less what the noise of both takes from it; NaN where noise is all."""
    signals = [(sample.mean**2).sum(-1) - sample.noise for sample in (here, elsewhere)]
    is_known = (signals[0] > 0) & (signals[1] > 0)
    size = np.sqrt(np.where(is_known, signals[0] * signals[1], 1.0))
    return np.where(is_known, (here.mean * elsewhere.mean).sum(-1) / size, np.nan)


def _correlation_interval(here: Array, elsewhere: Array) -> tuple[float, float, float]:
    """The correlation of two samples of tasks, and its interval: each task of each sample left out once."""
    both = _mean_over_tasks(here), _mean_over_tasks(elsewhere)
    r = float(_true_correlation(*both))
    without_one = (
        _true_correlation(_means_without_one(here), both[1]),
        _true_correlation(both[0], _means_without_one(elsewhere)),
    )
    variance = sum((len(values) - 1) * float(values.var()) for values in without_one)  # NaN where one is
    half_width = float(stdtrit(min(len(here), len(elsewhere)) - 1, 0.975)) * np.sqrt(variance)
    return r, r - half_width, r + half_width
