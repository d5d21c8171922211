"""What the panel's language means lack beside people, shrunk to each other, and how much error that removes.

METHODS 38. The need of a language is what must be added to the panel's mean there so that it is people's. All is flat:
one entry a labelled answer (score f, label y, language), with k languages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Limits = tuple[float, float, float]

MAP_ROUNDS = 3
"""How often map and residual means of languages are fitted to each other: more changes nothing."""
SHRUNK_BY = 5.0
"""A language's mean residual counts by n / (n + 5) while the map is fitted: few labels move it little."""
FEW_DIFFERENT = 6
"""Labels that differ from the rest below which one more, not drawn, is counted."""
N_BINS, BIN_PRIOR = 5, 10.0
SPREAD_PRIOR = 20.0
"""Width of the half-Cauchy prior of the spread of needs, in variances of their errors."""
N_DRAWS = 4000
MIN_LANGUAGES_FOR_MAP = 5
"""Languages from which on what the map moves may count for all: labels must tell whether it does."""


class LabelNoise(NamedTuple):
    """Error variance of each language's mean residual, its degrees of freedom, and how many labels differ from the
    commonest (or residuals from 0)."""

    variance: Array
    df: float
    n_different: float


class Needs(NamedTuple):
    """Draws of the true needs, (draws, k), and their posterior mean, (k,)."""

    draws: Array
    mean: Array


# --- the map ---


def fit_map(score: Array, label: Array, language: Codes, k: int) -> tuple[Array, Array]:
    """The rising map from scores to labels inside languages: its knots and values, to be joined by straight lines.

    Labels less their language's mean residual are fitted, so that the map is that of single answers and no difference
    between languages bends it.
    """
    from scipy.optimize import isotonic_regression

    n = np.bincount(language, minlength=k)
    knots, knot_index, n_at_knot = np.unique(score, return_inverse=True, return_counts=True)
    level, values = np.zeros(k), np.zeros(len(knots))
    for _ in range(MAP_ROUNDS):
        mean_at_knot = np.bincount(knot_index, label - level[language]) / n_at_knot
        values = np.asarray(isotonic_regression(mean_at_knot, weights=n_at_knot).x, dtype=float)
        level = np.bincount(language, label - values[knot_index], k) / (n + SHRUNK_BY)
        level -= level[n > 0].mean()
    return knots, values


# --- the error of a language's mean ---


def estimate_noise(residual: Array, mapped: Array, label: Array, language: Codes, k: int, width: float) -> LabelNoise:
    """Error of each language's mean residual, residuals being labels less the map.

    Languages share one curve of variance by level of the map: where all labels of a language are alike, its own
    variance is a fluke, and shrinking by it would favour such languages. Levels of the map count as fitted. Where
    nearly no label differs, one more that does is added to all. Degrees of freedom are 2/3 of the number of residuals
    that carry the variance, (sum r^2)^2 / sum r^4.

    width : how far a label may differ, where none does
    """
    n_labels = len(residual)
    n = np.bincount(language, minlength=k)
    mean = np.bincount(language, residual, k) / np.maximum(n, 1)
    centred = residual - mean[language]
    n_carrying = max(float((centred**2).sum()) ** 2 / max(float((centred**4).sum()), 1e-300), 1e-9)
    n_different, jump = _count_different(label, width)
    n_different = min(n_different, n_carrying)
    squares = centred**2 * (n / np.maximum(n - 1, 1))[language]
    squares = squares * fitted_factor(mapped)
    if n_different < FEW_DIFFERENT:
        squares = squares + jump**2 / n_labels
    curve = _variance_by_level(squares, mapped)
    variance = np.bincount(language, curve, k) / np.maximum(n, 1)
    df = max(2 * min(n_carrying, n_labels) / 3, 1.0)
    return LabelNoise(np.maximum(variance, 1e-12) / np.maximum(n, 1), df, n_different)


def fitted_factor(mapped: Array) -> float:
    """By how much the levels of the map, fitted to the labels, make the variance of their residuals too small."""
    return float(len(mapped) / max(len(mapped) - len(np.unique(mapped)), len(mapped) / 2))


def _count_different(label: Array, width: float) -> tuple[float, float]:
    """How many labels differ from the commonest, and by how much on average; by `width` if none does."""
    values, times = np.unique(label, return_counts=True)
    distance = np.abs(label - values[times.argmax()])
    n_different = int((distance > 0).sum())
    return n_different, float(distance.sum()) / n_different if n_different else width


def _variance_by_level(squares: Array, mapped: Array) -> Array:
    """Mean square of the residuals at the level of each, in five bins that are shrunk to the mean of all."""
    cuts = np.unique(np.quantile(mapped, np.arange(1, N_BINS) / N_BINS))
    bin_index = np.searchsorted(cuts, mapped, side="right")
    size = np.bincount(bin_index, minlength=N_BINS)
    total = np.bincount(bin_index, squares, minlength=N_BINS)
    curve = (total + BIN_PRIOR * squares.mean()) / (size + BIN_PRIOR)
    return np.asarray(curve[bin_index])


# --- needs, shrunk to each other ---


def shrink_needs(
    need: Array, map_moves: Array, covariance: Array, df: float, label_error: float, seed: int = 0
) -> Needs:
    """The true needs of languages by those that were seen: posterior mean and draws.

    need ~ N(mu + c h, tau^2 I + e^2 V): mu is the common need, h what the map alone moves in each language, V the
    covariance of the errors, e^2 its unknown size on df degrees of freedom. A grid of tau, e and c in {0, 1} is weighed
    by likelihood (mu integrated out) times a half-Cauchy prior of tau. So few labels move two languages little, and
    many fully.

    label_error : standard error of a language's need by single labels, the unit of that prior
    """
    k = len(need)
    generator = np.random.default_rng(seed)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    eigenvalues = np.maximum(eigenvalues, 1e-9 * eigenvalues.max())
    ones = vectors.sum(0)  # of a vector of ones in the basis of the eigenvectors
    spreads = np.sqrt(eigenvalues.mean()) * np.r_[0.02, np.geomspace(0.15, 40, 28)]
    sizes = df / chdtri(df, np.array([0.1, 0.3, 0.5, 0.7, 0.9]))
    shares = np.array([0.0, 1.0]) if k >= MIN_LANGUAGES_FOR_MAP else np.zeros(1)
    grid = np.meshgrid(shares, sizes, spreads**2, indexing="ij")
    share, size, tau2 = (axis.reshape(-1, 1) for axis in grid)  # (points, 1)
    error2 = size * eigenvalues  # (points, k)
    seen = (need - share * map_moves) @ vectors
    precision = 1 / (error2 + tau2)
    total = (ones**2 * precision).sum(1, keepdims=True)
    centre = (ones * seen * precision).sum(1, keepdims=True) / total
    misfit = ((seen - centre * ones) ** 2 * precision).sum(1)
    log_likelihood = 0.5 * (np.log(precision).sum(1) - np.log(total[:, 0]) - misfit)
    prior = np.gradient(spreads) / (1 + (spreads / label_error) ** 2 / SPREAD_PRIOR)
    weight = np.exp(log_likelihood - log_likelihood.max()) * np.tile(prior, len(share) // len(spreads))
    weight /= weight.sum()
    own = tau2 * precision * (seen - centre * ones)
    mean = weight @ (centre + share * map_moves + own @ vectors.T)
    point = np.repeat(np.arange(len(weight)), generator.multinomial(N_DRAWS, weight))
    drawn_centre = centre[point] + generator.normal(size=(N_DRAWS, 1)) / np.sqrt(total[point])
    drawn_own = tau2[point] * precision[point] * (seen[point] - drawn_centre * ones)
    # Noise is drawn by language and turned into the basis, whose signs and order differ between processors.
    drawn_noise = generator.normal(size=(N_DRAWS, k)) @ vectors
    drawn_own += np.sqrt(tau2 * error2 * precision)[point] * drawn_noise
    draws = drawn_centre + share[point] * map_moves + drawn_own @ vectors.T
    return Needs(draws, mean)


def removed_share(true_needs: Array, moved: Array, level: float) -> Limits:
    """Share of the squared error between languages that moving so removes: median and interval over draws."""
    before = np.maximum(true_needs.var(1), 1e-300)
    after = (true_needs - moved).var(1)
    low, middle, high = np.quantile(1 - after / before, [(1 - level) / 2, 0.5, (1 + level) / 2])
    return float(middle), float(low), float(high)


def offset_to_mean(mapped: Array, target: float, scale: tuple[float, float] | None) -> float:
    """What is added to the mapped scores of a language so that their mean, cut to the scale, is the target."""
    if scale is None:
        return target - float(mapped.mean())
    low, high = scale
    below, above = low - high, high - low
    for _ in range(50):
        middle = (below + above) / 2
        if float(np.clip(mapped + middle, low, high).mean()) < target:
            below = middle
        else:
            above = middle
    return (below + above) / 2
