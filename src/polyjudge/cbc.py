"""The paper in its own order: arrays in, arrays out, NumPy and little else. Read this file first: all else calls it.

Mahmood, Abdaljalil, Kurban: Rank Reversal in Multilingual LLM Judges. Scores S(t, l, b) are an array (n tasks,
k languages, m judges), replicates (the paper's judge frameworks) averaged; of an incomplete panel its pseudo-values
(METHODS 17). Cells are (..., k, m). `tiny` is the tie rule: values this close, 1e-9 of the score range, are tied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtr

from polyjudge.base.errors import PanelError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# --- Section 3: score model, rank reversal, identifiability ---


class Fit(NamedTuple):
    """R2 and sums of squares of Eq. 2 (simplified) and Eq. 1 (full)."""

    r2_simplified: float
    r2_full: float
    sse_simplified: float
    sse_full: float
    sst: float


def fit(runs: Array) -> Fit:
    """Eq. 2 (task + judge + language + judge:language) and Eq. 1 (with task:language) by least squares on complete runs
    (n, k, m, replicates), with a term for each replicate. Complete is orthogonal: the fits are sums of means."""
    y = runs - runs.mean()
    task, cell, replicate = (y.mean(axes, keepdims=True) for axes in ((1, 2, 3), (0, 3), (0, 1, 2)))
    task_language, language = y.mean((2, 3), keepdims=True), y.mean((0, 2, 3), keepdims=True)
    sst = float((y**2).sum())
    simplified = float(((y - task - cell - replicate) ** 2).sum())
    full = float(((y - task_language - cell + language - replicate) ** 2).sum())
    return Fit(1 - simplified / sst, 1 - full / sst, simplified, full, sst)


class Reversals(NamedTuple):
    """Definition 1 for every pair i < j of judges.

    language_a, language_b : witness languages, in the order of the panel; -1 (and gaps NaN) where a pair does not turn
    delta : max(0, - d(l_a) d(l_b)), in points squared
    p_published : Table 1: intersection-union test in the witness languages, Benjamini-Hochberg over all pairs
    p : the same, corrected for choosing the witnesses by the data (METHODS 5)
    """

    i: Ints
    j: Ints
    language_a: Ints
    language_b: Ints
    gap_a: Array
    gap_b: Array
    delta: Array
    p_published: Array
    p: Array


def reversals(scores: Array, tiny: float = 0.0) -> Reversals:
    """Definition 1, Table 1: pairs of judges that change places between two languages, tested over tasks."""
    n, _, m = scores.shape
    i, j = np.triu_indices(m, 1)
    means = scores.mean(0)
    e = (scores - means).transpose(1, 2, 0)
    cov = e @ e.swapaxes(1, 2) / max(n - 1, 1)
    own = np.diagonal(cov, axis1=1, axis2=2)
    total = own[:, i] + own[:, j]
    var = total - 2 * cov[:, i, j]
    d, se = means[:, i] - means[:, j], np.sqrt(np.where(var > 1e-13 * total, var, 0.0) / n)
    above, below = _one_sided(d, se, n, tiny), _one_sided(-d, se, n, tiny)
    seen = np.isfinite(d)
    high, low = (first_max(np.where(seen, x, -np.inf), tiny, 0) for x in (d, -d))
    at, a, b = np.arange(len(i)), np.minimum(high, low), np.maximum(high, low)
    turns = (d[high, at] > tiny) & (d[low, at] < -tiny)
    published = np.where(turns, np.maximum(above[high, at], below[low, at]), 1.0)
    chosen = np.minimum(1.0, seen.sum(0) * np.maximum(above.min(0), below.min(0)))
    return Reversals(
        i, j, np.where(turns, a, -1), np.where(turns, b, -1),
        np.where(turns, d[a, at], np.nan), np.where(turns, d[b, at], np.nan),
        np.where(turns, -d[high, at] * d[low, at], 0.0), benjamini_hochberg(published), benjamini_hochberg(chosen),
    )  # fmt: skip


def _one_sided(mean: Array, se: Array, n: int, tiny: float) -> Array:
    """p of mean > 0 by t with n - 1 degrees of freedom; where no task differs, the sign test's 2^-n stands in."""
    flat = se <= tiny
    p = stdtr(max(n - 1, 1), -mean / np.where(flat, 1.0, se))
    return np.nan_to_num(np.where(flat, np.where(mean > tiny, 0.5**n, 1.0), p), nan=1.0)


def benjamini_hochberg(p: ArrayLike) -> Array:
    """Table 1: adjusted p-values that control the false discovery rate."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(-values, kind="stable")
    scaled = values[order] * len(values) / np.arange(len(values), 0, -1)
    out = np.empty(len(values))
    out[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return out


def reversing(cells: Array, tiny: float = 0.0) -> Array:
    """Number of pairs that change places between languages (Definition 1) of cells (..., k, m): (...)."""
    total = np.zeros(cells.shape[:-2])
    for first in range(cells.shape[-1] - 1):
        d = cells[..., first, None] - cells[..., first + 1 :]
        total += ((d.max(-2) > tiny) & (d.min(-2) < -tiny)).sum(-1)
    return total


# --- Section 4: consensus-based calibration ---


def cell_means(scores: Array, counts: Any = None) -> Array:
    """Step 1: mean of each cell over the tasks that have it. With counts (R, n) of the tasks: (R, k, m)."""
    n, k, m = scores.shape
    w = np.ones((1, n)) if counts is None else np.asarray(counts, dtype=float)
    seen = np.isfinite(scores).reshape(n, k * m)
    with np.errstate(invalid="ignore"):
        of = w.sum(1, keepdims=True) if seen.all() else w @ seen.astype(float)
        means: Array = w @ np.where(seen, scores.reshape(n, k * m), 0.0) / of
    return means.reshape((k, m) if counts is None else (-1, k, m))


def double_centre(m: Array) -> Array:
    """Eq. 3, Prop. 1: less the means of each language and of each judge, plus the grand mean.

    >>> double_centre(np.array([[1.0, 2.0], [3.0, 8.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    rows = m - m.mean(axis=-1, keepdims=True)
    out: Array = rows - rows.mean(axis=-2, keepdims=True)
    return out


def interaction(scores: Array) -> Array:
    """Step 2, Eq. 3: beta^. Unbiased whatever mu(t), alpha(b) and gamma(t, l) are (Prop. 4), and any delta(t, b).

    Scores with holes are refused: means of other tasks in each cell would make an interaction out of nothing.

    >>> rng = np.random.default_rng(0)
    >>> beta = double_centre(rng.normal(size=(3, 4)))
    >>> mu_alpha_gamma = rng.normal(size=(9, 1, 1)) + rng.normal(size=(1, 1, 4)) + rng.normal(size=(9, 3, 1))
    >>> bool(np.allclose(interaction(mu_alpha_gamma + beta), beta))
    True
    """
    n_missing = int(np.isnan(scores).sum())
    if n_missing:
        raise PanelError(
            f"{n_missing:,} of {scores.size:,} scores are missing, and Eq. 3 takes complete panels. Least squares for "
            "panels with holes: ConsensusCalibrator().fit(Panel.from_array(scores))."
        )
    return double_centre(cell_means(scores))


def calibrate(scores: Array, beta: Array | None = None) -> Array:
    """Step 3: scores less beta^, their own or a given one."""
    return scores - (interaction(scores) if beta is None else beta)


def off_factor(k: int, m: int) -> float:
    """off = off_factor * beta^: by how much a cell is off, were it the only one (METHODS 18)."""
    return k * m / ((k - 1) * (m - 1))


def variance_constant(k: int, m: int) -> float:
    """Prop. 2: (1 - 1/m)(1 - 1/k), by which Var[beta^] = sigma^2 / n times this.

    >>> weights = double_centre(np.eye(12).reshape(12, 3, 4))  # with which each noise enters each cell
    >>> bool(np.allclose((weights**2).sum(0), variance_constant(3, 4)))
    True
    """
    return (1 - 1 / m) * (1 - 1 / k)


def radius(sigma: float, n: float, k: int, m: int, epsilon: float = 0.05) -> float:
    """Prop. 2, Eq. 5: with probability 1 - epsilon no cell of beta^ is further than this from beta, noise being normal
    with sd sigma. It is Eq. 4, 2 exp(-x^2 / (2 Var[beta^])) for the tail of one cell, times m k and solved for x. As n
    grows it goes to 0 (consistency; Prop. 3 says so of any noise).

    >>> round(radius(22.244073, 55, 8, 6), 2)
    9.96
    """
    return float(sigma * np.sqrt(2 * variance_constant(k, m) * np.log(2 * m * k / epsilon) / n))


def tasks_for(target: float, sigma: float, k: int, m: int, epsilon: float = 0.05) -> int:
    """Prop. 2 turned round: the fewest tasks with a radius of at most `target`."""
    return int(np.ceil(radius(sigma, 1, k, m, epsilon) ** 2 / target**2))


def score_sigma(scores: Array) -> float:
    """The sigma that the paper puts into Prop. 2: sd of all scores, which is valid and conservative."""
    return float(np.nanstd(scores))


def noise_sigma(scores: Array) -> float:
    """Sd of the noise: what double centring leaves of each task around beta^ (METHODS 4)."""
    n, k, m = scores.shape
    d = double_centre(scores)
    return float(np.sqrt(((d - d.mean(0)) ** 2).sum() / ((n - 1) * (k - 1) * (m - 1))))


# --- Section 5: rank consistency, held out ---


def first_max(values: Array, tiny: float = 0.0, axis: int = -1) -> Ints:
    """Where the largest value is; the first of those that tie for it, so that it does not hang on the last bit."""
    return np.asarray(np.argmax(values >= values.max(axis, keepdims=True) - tiny, axis))


def signs(orders: Array, tiny: float = 0.0) -> NDArray[np.float32]:
    """Which judge of each pair is ahead, of orders of judges (..., m): 1, -1, or 0 where they tie."""
    i, j = np.triu_indices(orders.shape[-1], 1)
    d = orders[..., i] - orders[..., j]
    return (d > tiny).astype(np.float32) - (d < -tiny).astype(np.float32)


def tau(a: NDArray[np.float32], b: NDArray[np.float32]) -> Array:
    """Kendall's tau-b of signs (..., p, pairs) with (..., q, pairs): (..., p, q); NaN where one of them ties all.

    >>> tau(*signs(np.array([[[1.0, 2, 3]], [[1, 3, 3 + 1e-12]]]), 1e-9)).round(4).tolist()
    [[0.8165]]
    """
    x, y = (np.abs(s).sum(-1, dtype=float) for s in (a, b))
    of = np.sqrt(x[..., :, None] * y[..., None, :])
    return np.where(of > 0, (a @ b.swapaxes(-1, -2)) / np.where(of > 0, of, 1.0), np.nan)


def _mean(values: Array) -> Array:
    """Over the last axis, of what is defined; 0 where nothing is."""
    seen = np.isfinite(values)
    return np.asarray(np.where(seen, values, 0.0).sum(-1) / np.maximum(seen.sum(-1), 1))


def mean_tau(matrix: Array, tiny: float = 0.0) -> Array:
    """Mean tau over the pairs of languages of cells (..., k, m), undefined ones left out; 0 where none is defined."""
    k, m = matrix.shape[-2:]
    i, j = np.triu_indices(k, 1)
    flat = matrix.reshape(-1, k, m)
    step, out = max(1, 8_000_000 // (k * m * m + k * k)), np.zeros(len(flat))
    for start in range(0, len(flat), step):
        one = signs(flat[start : start + step], tiny)
        out[start : start + step] = _mean(tau(one, one)[:, i, j])
    return out.reshape(matrix.shape[:-2])


@dataclass(frozen=True, eq=False)
class Split:
    """R bootstrap replicates: tasks drawn to learn from, and the others to evaluate on.

    values : (n, k, m) scores
    drawn, held : (R, n) how often each task was drawn, and 1 where it is left out
    train, left : (R, k, m) cell means of the drawn and of the left-out tasks (Tr and E of METHODS 7)
    """

    values: Array
    drawn: Array
    held: Array
    train: Array
    left: Array
    tiny: float = 0.0

    @property
    def beta(self) -> Array:
        """(R, k, m) beta^ of the drawn tasks."""
        return double_centre(self.train)


def draw(n: int, replicates: int = 1000, seed: int = 0) -> Ints:
    """How often each of n tasks is drawn with replacement: (replicates, n)."""
    at = np.random.default_rng(seed).integers(n, size=(replicates, n)) + n * np.arange(replicates)[:, None]
    return np.bincount(at.ravel(), minlength=replicates * n).reshape(replicates, n)


def split(scores: Array, drawn: Any = None, held: Any = None, tiny: float = 0.0) -> Split:
    """The Split of these draws; replicates that leave no task out, or a cell without one, are skipped.

    drawn : (R, n); None is the full fit (the last column of Table 2): learns from all tasks, evaluates on the same
    held : (R, n) tasks left out, where that is not all that were not drawn
    """
    w = np.ones((1, len(scores))) if drawn is None else np.asarray(drawn, dtype=float)
    v = (w if drawn is None else (w == 0).astype(float)) if held is None else np.asarray(held, dtype=float)
    train, left = cell_means(scores, w), cell_means(scores, v)
    known = v.any(1) & (np.isfinite(train) & np.isfinite(left)).all((1, 2))
    return Split(scores, w[known], v[known], train[known], left[known], tiny)


def held_out(s: Split) -> dict[str, Array]:
    """Table 2: mean tau over pairs of languages on the left-out tasks, (R,), raw, by CBC, and by the oracle (1 by
    arithmetic: METHODS 3, I3). Its baselines are in calibrate/baselines.py.

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(40, 3, 4)) + 2 * double_centre(rng.normal(size=(3, 4))) + np.arange(4)
    >>> {name: round(float(taus.mean()), 2) for name, taus in held_out(split(scores, draw(40, 100))).items()}
    {'raw': 0.11, 'cbc': 0.98, 'oracle': 1.0}
    """
    adjusted = {"raw": s.left, "cbc": s.left - s.beta, "oracle": s.left - double_centre(s.left)}
    return {name: mean_tau(cells, s.tiny) for name, cells in adjusted.items()}


def gain(s: Split, removed: Array) -> Array:
    """Held-out fall of the squared distance between a judge drawn at random and any truth, from subtracting `removed`
    (METHODS 3, I7): (R,)."""
    a = removed - removed.mean(-1, keepdims=True)
    a = np.where(np.abs(a) <= s.tiny, 0.0, a)
    b = s.left - s.left.mean(-1, keepdims=True)
    return np.asarray((a * (2 * b - a)).mean((-2, -1)))


def leave_one_language_out(s: Split, language: int) -> tuple[Array, Array]:
    """Mean tau of an unseen language with each of the others, raw and zero-shot: (R,) each. beta^ comes from the
    others; the unseen one is left as it is, and mean imputation would be the same, for that mean is 0."""
    others = np.delete(np.arange(s.left.shape[1]), language)
    own, rest = signs(s.left[:, [language]], s.tiny), s.left[:, others]
    after = rest - double_centre(s.train[:, others])
    raw, zero = (_mean(tau(own, signs(x, s.tiny))[:, 0]) for x in (rest, after))
    return raw, zero


class Decisions(NamedTuple):
    """Table 3, for each replicate and language: whether the oracle's judge was chosen, and the points lost: (R, k)."""

    right: NDArray[np.bool_]
    regret: Array
    chosen: Ints


def decisions(s: Split) -> dict[str, Decisions]:
    """Table 3: the judge on top of the drawn tasks, raw and by CBC, against the oracle's on the left-out ones."""
    target, out = s.left - double_centre(s.left), {}
    for name, cells in (("raw", s.train), ("cbc", s.train - s.beta)):
        chosen = first_max(cells, s.tiny)
        regret = target.max(-1) - np.take_along_axis(target, chosen[..., None], -1)[..., 0]
        regret = np.where(regret <= s.tiny, 0.0, regret)
        out[name] = Decisions(regret == 0, regret, chosen)
    return out


def binomial_interval(hits: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """Table 3: exact interval of a share (Clopper and Pearson)."""
    a = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, of - hits + 1, a))
    return low, 1.0 if hits == of else float(betaincinv(hits + 1, of - hits, 1 - a))
