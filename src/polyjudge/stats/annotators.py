"""Means of languages by labels of several annotators: harshness cancels where they label in several languages.

METHODS 38. d is what each single label is more than the map says. Cells (language, annotator) have the mean
L(language) + A(annotator) + I(language, annotator) + noise. A is harshness; it cancels between languages as far as
annotators label in both. I is harshness that depends on the language; it never cancels. The spreads of A and I are
integrated over a grid (restricted likelihood times a half-Cauchy prior), so that few annotators give wide intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.labels import severity

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

SPREADS = np.r_[0.0, np.geomspace(0.05, 3.0, 14)]
"""Spreads of annotators that are tried, in standard deviations of single labels."""
PRIOR_WIDTH = 0.3
"""Of the half-Cauchy prior of these spreads, in the same unit."""
MOST_CELLS = 300
"""Cells beyond this (crowds) are tried with every third spread: their number tells the spread well."""
TOO_MANY_CELLS = 800
"""Cells from which on annotators are taken by moments inside languages: so many cost minutes and change nothing."""
MORE_LABELS = 30
"""Labels of each language whose effect on the intervals is told."""


@dataclass(frozen=True)
class LanguageMeans:
    """mean, (k,), and covariance, (k, k), of L, annotators drawn from many.

    annotator_covariance : the part of it that annotators make
    is_confounded : each language has one annotator, who labels in no other: harshness and language look the same
    is_crossed : somebody labels in several languages
    narrower_by_labels, narrower_by_annotator : share by which 30 more labels of each language by the same people, or
        one more annotator, would narrow the intervals of differences between languages
    """

    mean: Array
    covariance: Array
    annotator_covariance: Array
    is_confounded: bool
    is_crossed: bool
    narrower_by_labels: float
    narrower_by_annotator: float


@dataclass(frozen=True)
class _Cells:
    """Mean, language, annotator and number of labels of each cell, and the covariance of means by single labels."""

    mean: Array
    language: Codes
    annotator: Codes
    n: Array
    noise: Array


def language_means(
    d: Array, answer: Codes, language: Codes, annotator: Codes, noise_factor: float = 1.0
) -> LanguageMeans:
    """Means of languages (0, 1, ..., all of which have labels) with what annotators add to their errors.

    answer : number of the answer of each label; two annotators of one answer share its part of the noise
    noise_factor : by which the variance of single labels is larger than that of d, as the map was fitted to them
    """
    if len(np.unique(language * (int(annotator.max()) + 1) + annotator)) > TOO_MANY_CELLS:
        return _means_by_moments(d, answer, language, annotator, noise_factor)
    cells = _read_cells(d, answer, language, annotator, noise_factor)
    design = (cells.language[:, None] == np.arange(int(language.max()) + 1)).astype(float)
    label_sd = float(np.sqrt(max(float((np.diag(cells.noise) * cells.n).mean()), 1e-12)))
    spreads = SPREADS if len(cells.n) <= MOST_CELLS else SPREADS[::3]
    weight, means, covariances = _fit_grid(cells, design, label_sd, spreads)
    mean = weight @ means
    covariance = np.tensordot(weight, covariances, 1) + (means - mean).T @ ((means - mean) * weight[:, None])
    by_labels = np.linalg.inv(design.T @ np.linalg.solve(cells.noise, design))
    n_annotators = np.bincount(cells.language)
    is_crossed = bool((np.bincount(cells.annotator) > 1).any())
    harshness2, language_harshness2 = (
        label_sd**2 * float(weight @ squares.ravel()) for squares in np.meshgrid(spreads**2, spreads**2, indexing="ij")
    )
    annotators2 = language_harshness2 if is_crossed else language_harshness2 + harshness2
    gains = _tell_gains(label_sd**2, annotators2, float(cells.n.sum()) / len(n_annotators), float(n_annotators.mean()))
    return LanguageMeans(
        mean=mean,
        covariance=covariance,
        annotator_covariance=covariance - by_labels,
        is_confounded=bool((n_annotators <= 1).all()) and not is_crossed and len(n_annotators) > 1,
        is_crossed=is_crossed,
        narrower_by_labels=gains[0],
        narrower_by_annotator=gains[1],
    )


def _means_by_moments(d: Array, answer: Codes, language: Codes, annotator: Codes, noise_factor: float) -> LanguageMeans:
    """Means of languages by very many annotators: each language alone, harshness as it shows between annotators."""
    k = int(language.max()) + 1
    people = severity(d, language, annotator, answer, k)
    n = np.bincount(language)
    mean = np.bincount(language, d) / n
    variance_by_labels = noise_factor * np.bincount(language, (d - mean[language]) ** 2) / np.maximum(n - 1, 1) / n
    variance = np.maximum(np.where(np.isfinite(people.variance), people.variance, 0.0), variance_by_labels)
    return LanguageMeans(
        mean=mean,
        covariance=np.diag(variance),
        annotator_covariance=np.diag(variance - variance_by_labels),
        is_confounded=False,
        is_crossed=False,
        narrower_by_labels=0.0,
        narrower_by_annotator=0.0,
    )


def _read_cells(d: Array, answer: Codes, language: Codes, annotator: Codes, noise_factor: float) -> _Cells:
    n_annotators = int(annotator.max()) + 1
    pairs, cell = np.unique(language * n_annotators + annotator, return_inverse=True)
    n = np.bincount(cell).astype(float)
    mean = np.bincount(cell, d) / n
    answers = np.unique(answer * (int(language.max()) + 1) + language, return_inverse=True)[1]
    noise = noise_factor * _label_noise(d - mean[cell], cell, answers, n)
    return _Cells(mean, pairs // n_annotators, pairs % n_annotators, n, noise)


def _label_noise(residual: Array, cell: Codes, answer: Codes, n: Array) -> Array:
    """Covariance of the cells' means by single labels; annotators of one answer share the answer's own part."""
    n_cells = len(n)
    single = max(float((residual**2).sum()) / max(len(residual) - n_cells, 1), 1e-12)
    times, total = np.zeros((int(answer.max()) + 1, n_cells)), np.zeros((int(answer.max()) + 1, n_cells))
    np.add.at(times, (answer, cell), 1.0)
    np.add.at(total, (answer, cell), residual)
    n_together, products = times.T @ times, total.T @ total
    np.fill_diagonal(n_together, 0.0)
    np.fill_diagonal(products, 0.0)
    shared = 0.0
    if n_together.any():
        shared = min(max(float(products.sum()) / max(float(n_together.sum()) - 1, 1.0), 0.0), 0.99 * single)
    return np.asarray(np.diag(single / n) + shared * n_together / np.outer(n, n))


def _fit_grid(cells: _Cells, design: Array, label_sd: float, spreads: Array) -> tuple[Array, Array, Array]:
    """Weight, means and covariance of the languages at every two spreads of A and I, by generalised least squares."""
    same_annotator = (cells.annotator[:, None] == cells.annotator[None, :]).astype(float)
    same_cell = np.eye(len(cells.n))
    prior = np.gradient(spreads) / (1 + (spreads / PRIOR_WIDTH) ** 2)
    log_weights, means, covariances = [], [], []
    for i, harshness in enumerate(spreads):
        # All spreads of I at once: stacks of matrices, (spreads, cells, cells)
        between = harshness**2 * same_annotator + (spreads**2)[:, None, None] * same_cell
        precision = np.linalg.inv(cells.noise + label_sd**2 * between)
        information = design.T @ precision @ design
        covariance = np.linalg.inv(information)
        mean = (covariance @ (design.T @ precision @ cells.mean)[..., None])[..., 0]
        rest = cells.mean - mean @ design.T
        misfit = ((precision @ rest[..., None])[..., 0] * rest).sum(1)
        log_determinants = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(information)[1]
        log_weights.append(0.5 * (log_determinants - misfit) + np.log(prior[i] * prior))
        means.append(mean)
        covariances.append(covariance)
    log_weight = np.concatenate(log_weights)
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum(), np.concatenate(means), np.concatenate(covariances)


def _tell_gains(label2: float, annotators2: float, n_labels: float, n_annotators: float) -> tuple[float, float]:
    """By what share 30 more labels, or one more annotator, would narrow an interval."""
    now = label2 / n_labels + annotators2 / n_annotators
    more_labels = label2 / (n_labels + MORE_LABELS) + annotators2 / n_annotators
    more_annotators = label2 / n_labels + annotators2 / (n_annotators + 1)
    return 1 - float(np.sqrt(more_labels / now)), 1 - float(np.sqrt(more_annotators / now))
