"""What would people say of every system in every language? Random effects over languages (METHODS 39).

Judges scored all languages, people labelled some answers in some of them. In each labelled language the judges' error
is measured: their mean of a system less people's. Errors of languages are taken as draws around a common error, so an
unlabelled language has the common error and the spread between languages. Differences between systems and the level
(the mean of all systems) are treated apart: labels tell more of differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.cells import additive_projection, complete, least_squares_systems, sum_by

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

PRIOR_TASKS = 10
"""Weight, in tasks, of the languages' mean variance when a language's own is shrunk to it."""
SMALLEST_SPREAD = 0.02
"""Of the sampling variance, so that languages are never taken to be exactly alike."""
UNKNOWN_SPREAD = 1e6
"""Of the sampling variance, where one language cannot tell how languages differ: then nothing is shrunk."""
FEWEST_LANGUAGES = 3
"""Labelled languages from which on something is said of the others."""
FEWEST_COMPARED = 2
"""Systems that labels of a language must hold for it to compare any."""
FEWEST_LABELS = 2
"""Labels of a system in a language from which on they count."""
FEWEST_UNITS = 6
"""Labelled units of a language from which on its error is measured."""
FEWEST_DIFFERENT = 6
"""Labels that differ from what the judges say, below which more may differ than those that were drawn."""
MOST_GROUPS = 1000
"""Units are added up to so many groups: sums of independent influences have the same covariance."""
MOST_SHARED = 0.8
"""Of the labels' variance that labels of the same tasks may bring into all languages."""


# --- what judges say, and where people say otherwise ---


@dataclass(frozen=True)
class Judged:
    """The judges' means of systems in languages.

    mean : (languages, systems), NaN where judges did not score a system. influence : (groups of units, languages,
    systems), 0 there; its sum of squares is the sampling covariance.
    """

    mean: Array
    influence: Array


@dataclass(frozen=True)
class JudgeErrors:
    """The judges' mean less people's in the labelled languages.

    languages : (k,) their positions. error : (k, systems), NaN where nobody labelled a system.
    covariance : (k, systems, systems) of the errors by sampling, 0 beside NaN.
    shared : variance of differences, and of levels, that labels of the same tasks bring into all languages alike.
    severity : (k,) variance that annotators add to a level; NaN where a single annotator's harshness hides it.
    label_variance : (k,) of one label of a system, what the judges say of it taken out.
    freedom : degrees of freedom of the variances. control_weight : with which the judges' scores enter.
    """

    languages: Index
    error: Array
    covariance: Array
    shared: tuple[float, float]
    severity: Array
    label_variance: Array
    freedom: float
    control_weight: float

    @property
    def level_variance(self) -> Array:
        """(k,) sampling variance of the mean error of the labelled systems."""
        n_known = np.isfinite(self.error).sum(axis=1)
        return np.asarray(self.covariance.sum(axis=(1, 2)) / np.maximum(n_known, 1) ** 2)

    @property
    def tells_others(self) -> bool:
        """Whether languages without labels are taken to differ as these do: at least three must compare systems.

        Labels of other systems in each language do not show how languages differ.
        """
        n_systems = self.error.shape[1]
        joined = joined_systems(np.isfinite(self.error))
        n_joined = np.isfinite(self.error[:, joined]).sum(axis=1)
        if n_systems == 1 or joined.sum() < FEWEST_COMPARED:
            return bool((n_joined > 0).sum() >= FEWEST_LANGUAGES)
        compared = n_joined[n_joined >= FEWEST_COMPARED]
        freedom = int((compared - 1).sum()) - (int(joined.sum()) - 1)
        return len(compared) >= FEWEST_LANGUAGES and freedom >= FEWEST_LANGUAGES - 1

    def without(self, row: int) -> JudgeErrors:
        """The errors of the other languages."""
        kept = np.arange(len(self.languages)) != row
        return replace(
            self,
            freedom=max(self.freedom * (1 - 1 / len(kept)), 1.0),
            languages=self.languages[kept],
            error=self.error[kept],
            covariance=self.covariance[kept],
            severity=self.severity[kept],
            label_variance=self.label_variance[kept],
        )


def judge_means(scores: Array, unit: Index, weight: Array) -> Judged:
    """Means of scores (tasks, systems, languages), NaN where missing, compared inside tasks where there are holes."""
    _, n_systems, n_languages = scores.shape
    n_units = int(unit.max()) + 1
    n_groups = min(n_units, MOST_GROUPS)
    mean = np.full((n_languages, n_systems), np.nan)
    influence = np.zeros((n_groups, n_languages, n_systems))
    for language in range(n_languages):
        is_scored = np.isfinite(scores[:, :, language])
        rows, scored = np.any(is_scored, axis=1), np.any(is_scored, axis=0)
        if not scored.any():
            continue
        seen = scores[:, :, language][np.ix_(rows, scored)]
        units, own_unit = np.unique(unit[rows], return_inverse=True)
        if np.isfinite(seen).all():
            values = complete(seen, own_unit, weight[rows])
        else:
            values = least_squares_systems(seen[:, :, None, None], own_unit, weight[rows])
        is_joined = _largest_part(values.null)
        systems = np.flatnonzero(scored)[is_joined]
        means = values.mean[is_joined]
        mean[language, systems] = means
        each = (values.v[:, is_joined] - means) / len(units)
        influence[:, language, systems] = sum_by(each, units % n_groups, n_groups)
    return Judged(mean, influence)


def _largest_part(null: Array) -> Mask:
    """Which systems belong to the largest part that tasks join: equal rows of the null space are one part."""
    distance = np.abs(null[:, None] - null[None]).max(axis=2, initial=0.0)
    joined = distance < 1e-6
    return np.asarray(joined[int(joined.sum(axis=1).argmax())])


@dataclass(frozen=True)
class _Labels:
    """Labels of one language: sums by unit and system of people's labels and of the judges' scores, both centred.

    judged, people : (units, systems). number : (units, systems) of labels. mean_judged, mean_people : (systems,) NaN
    where fewer than FEWEST_LABELS are. unit : (units,) their numbers.
    """

    judged: Array
    people: Array
    number: Array
    mean_judged: Array
    mean_people: Array
    unit: Index

    @property
    def counts(self) -> Array:
        """Labels of each system, 1 where there are none."""
        return np.maximum(self.number.sum(axis=0), 1.0)


def _labels_of(scores: Array, labels: Array, unit: Index) -> _Labels:
    """Labels of one language from scores and labels (tasks, systems)."""
    is_labelled = np.isfinite(labels) & np.isfinite(scores)
    is_labelled &= is_labelled.sum(axis=0) >= FEWEST_LABELS
    rows = is_labelled.any(axis=1)
    is_labelled, own_unit = is_labelled[rows], unit[rows]
    number = is_labelled.sum(axis=0)
    units, place = np.unique(own_unit, return_inverse=True)

    def centred_sums(values: Array) -> tuple[Array, Array]:
        seen = np.where(is_labelled, values[rows], 0.0)
        mean = np.where(number > 0, seen.sum(axis=0) / np.maximum(number, 1), np.nan)
        centred = np.where(is_labelled, seen - mean, 0.0)
        return mean, sum_by(centred, place, len(units))

    mean_judged, judged = centred_sums(scores)
    mean_people, people = centred_sums(labels)
    return _Labels(
        judged=judged,
        people=people,
        number=sum_by(is_labelled.astype(float), place, len(units)),
        mean_judged=mean_judged,
        mean_people=mean_people,
        unit=units,
    )


def _differences(influence: Array) -> Array:
    """Influence on differences between systems: what all systems have in common taken out; of one system all of it."""
    if influence.shape[-1] == 1:
        return influence
    return np.asarray(influence - influence.mean(axis=-1, keepdims=True))


def _control_weight(by_language: Sequence[_Labels]) -> float:
    """The weight of the judges' scores that makes people's differences most precise, from 0 to 1."""
    products, squares = 0.0, 0.0
    for labels in by_language:
        judged = _differences(labels.judged / labels.counts)
        people = _differences(labels.people / labels.counts)
        products += float((judged * people).sum())
        squares += float((judged**2).sum())
    return float(np.clip(products / max(squares, 1e-300), 0.0, 1.0))


def measure_errors(
    scores: Array, labels: Array, unit: Index, judged: Judged, severity: Array | None = None
) -> JudgeErrors | None:
    """The judges' error in every language with labels; None where there are too few labels to measure any.

    scores, labels : (tasks, systems, languages) on one scale, NaN where missing
    severity : (languages,) variance that annotators add to a level, NaN where it cannot be told
    """
    n_languages = scores.shape[2]
    every = [_labels_of(scores[:, :, language], labels[:, :, language], unit) for language in range(n_languages)]
    mean_people = np.array([labels_there.mean_people for labels_there in every])
    is_measured = np.any(np.isfinite(mean_people + judged.mean), axis=1)
    languages = [row for row in range(n_languages) if is_measured[row] and len(every[row].unit) >= FEWEST_UNITS]
    if not languages:
        return None
    by_language = [every[language] for language in languages]
    weight = _control_weight(by_language)
    error = np.array([
        (1 - weight) * judged.mean[language] - (labels.mean_people - weight * labels.mean_judged)
        for language, labels in zip(languages, by_language, strict=True)
    ])  # fmt: skip
    residuals = [labels.people - weight * labels.judged for labels in by_language]
    variances = _label_variances(by_language, residuals) + _unseen_variance(scores, labels, residuals)
    variances, covariance, freedom = _covariances(by_language, residuals, variances)
    is_known = np.isfinite(error)
    covariance = np.where(is_known[:, :, None] & is_known[:, None, :], covariance, 0.0)
    shared = _shared(by_language, residuals, covariance, is_known)
    extra = np.zeros(n_languages) if severity is None else severity
    return JudgeErrors(
        languages=np.array(languages),
        error=error,
        covariance=covariance,
        shared=shared,
        severity=extra[languages],
        label_variance=variances,
        freedom=freedom,
        control_weight=weight,
    )


def _growth(labels: _Labels) -> float:
    """By what squares of centred residuals are multiplied: a mean of each system was taken out."""
    n_looks, n_systems = float((labels.number > 0).sum()), float((labels.number > 0).any(axis=0).sum())
    return n_looks / max(n_looks - n_systems, 1.0)


def _label_variances(by_language: Sequence[_Labels], residuals: Sequence[Array]) -> Array:
    """(k,) variance of a label in each language."""
    return np.array([
        _growth(labels) * float((residual**2).sum()) / float((labels.number**2).sum())
        for labels, residual in zip(by_language, residuals, strict=True)
    ])  # fmt: skip


def _unseen_variance(scores: Array, labels: Array, residuals: Sequence[Array]) -> float:
    """What one differing label more would add to the variance, where so few differ that chance may have missed some."""
    residual = np.concatenate([x.ravel() for x in residuals])
    squares, fourths = float((residual**2).sum()), float((residual**4).sum())
    if fourths > 0 and squares**2 / fourths >= FEWEST_DIFFERENT:
        return 0.0
    ends = np.concatenate([scores[np.isfinite(scores)], labels[np.isfinite(labels)]])
    jump = max(float(np.ptp(ends)), 1e-6 * float(np.abs(ends).max()), 1e-12)
    return jump**2 / float(np.isfinite(labels).sum())


def _covariances(
    by_language: Sequence[_Labels], residuals: Sequence[Array], variances: Array
) -> tuple[Array, Array, float]:
    """Shrunk variances of a label, the sampling covariance (k, systems, systems) of the means of residuals, and its
    degrees of freedom.

    Each language has its own variance of a label, shrunk to their mean; the correlation of labels of one task is that
    of all languages.
    """
    products, pairs = 0.0, 0.0
    for labels, residual in zip(by_language, residuals, strict=True):
        by_task, counts = residual.sum(axis=1), labels.number.sum(axis=1)
        products += _growth(labels) * float((by_task**2).sum() - (residual**2).sum())
        pairs += float((counts**2).sum() - (labels.number**2).sum())
    n_tasks = np.array([float((x.number > 0).sum() / (x.number > 0).any(axis=0).sum()) for x in by_language])
    mean_variance = float(variances.mean())
    shrunk = (variances * (n_tasks - 1) + mean_variance * PRIOR_TASKS) / (n_tasks - 1 + PRIOR_TASKS)
    n_systems = by_language[0].number.shape[1]
    correlation = products / (pairs * mean_variance) if pairs > 0 else 0.0
    correlation = float(np.clip(correlation, -0.5 / max(n_systems - 1, 1), 0.99))
    alike = np.full((n_systems, n_systems), correlation) + (1 - correlation) * np.eye(n_systems)
    together = np.array([x.number.T @ x.number / np.outer(x.counts, x.counts) for x in by_language])
    return shrunk, shrunk[:, None, None] * alike * together, max(float((n_tasks - 1).sum()), 1.0)


def _shared(
    by_language: Sequence[_Labels], residuals: Sequence[Array], covariance: Array, is_known: Mask
) -> tuple[float, float]:
    """What labels of the same tasks bring into all languages: variance of differences and of levels."""
    n_systems = is_known.shape[1]
    influence = [residual / labels.counts for labels, residual in zip(by_language, residuals, strict=True)]
    differences, levels = [], []
    for first, labels in enumerate(by_language):
        for second in range(first):
            _, here, there = np.intersect1d(labels.unit, by_language[second].unit, return_indices=True)
            one, other = influence[first][here], influence[second][there]
            differences.append(float((_differences(one) * _differences(other)).sum()) / max(n_systems - 1, 1))
            levels.append(float((one.mean(axis=1) * other.mean(axis=1)).sum()))
    if not differences:
        return 0.0, 0.0
    n_known = is_known.sum(axis=1)
    level_variance = covariance.sum(axis=(1, 2)) / n_known**2
    own_variance = np.einsum("kss->ks", covariance).sum(axis=1) / n_known - level_variance
    return (
        float(np.clip(np.mean(differences), 0.0, MOST_SHARED * own_variance.min())),
        float(np.clip(np.mean(levels), 0.0, MOST_SHARED * level_variance.min())),
    )


# --- draws of what people would say ---


@dataclass(frozen=True)
class People:
    """Draws of what people would say.

    differences : (draws, languages, systems) of which only differences between systems mean something; NaN where
        nothing is said. level : (draws, languages) to be added for means. has_level : (languages,) whether the level
        has an interval. spread : (draws,) sd between languages of the error of one system. level_spread : (draws,)
    """

    differences: Array
    level: Array
    has_level: Mask
    spread: Array
    level_spread: Array

    @property
    def means(self) -> Array:
        """Draws of means (draws, languages, systems)."""
        return np.asarray(self.differences + self.level[:, :, None])


def joined_systems(is_known: Mask) -> Mask:
    """The systems that labels compare with each other, in one language or through others: the largest such group."""
    known = is_known.astype(float)
    reach = np.eye(is_known.shape[1]) + known.T @ known > 0
    for _ in range(is_known.shape[1]):
        reach = (reach.astype(float) @ reach) > 0
    reach &= np.any(is_known, axis=0)[:, None]
    return np.asarray(reach[int(reach.sum(axis=1).argmax())])


def draw_people(judged: Judged, measured: JudgeErrors, n_draws: int = 2000, seed: int = 0) -> People:
    """Draws of what people would say of every system in every language."""
    rng = np.random.default_rng(seed)
    errors, spread = draw_errors(measured, len(judged.mean), n_draws, rng)
    level_errors, has_level, level_spread = draw_levels(measured, errors, n_draws, rng)
    n_groups, *shape = judged.influence.shape
    influence = judged.influence.reshape(n_groups, -1)
    if n_groups > influence.shape[1]:
        influence = np.asarray(np.linalg.qr(influence, mode="r"))
    sampled = rng.normal(size=(n_draws, len(influence))) @ influence
    differences = judged.mean - errors + measured.control_weight * sampled.reshape(n_draws, *shape)
    return People(differences, -level_errors, has_level, spread, level_spread)


def _draw_variance(squares: Array, freedom: int, sampling: Array, rng: np.random.Generator) -> Array:
    """Draws of a variance between languages: squares are (variance + sampling variance) times a chi-square."""
    if freedom < 1:
        return UNKNOWN_SPREAD * sampling
    drawn = squares / rng.chisquare(freedom, len(sampling)) - sampling
    return np.asarray(np.clip(drawn, SMALLEST_SPREAD * sampling, UNKNOWN_SPREAD * (sampling + 1e-300)))


def draw_spread(measured: JudgeErrors, sampling_scale: Array, rng: np.random.Generator) -> Array:
    """Draws (draws,) of the variance between languages of the error of one system, its language's level taken out."""
    is_known = np.isfinite(measured.error)
    residual_maker = np.eye(int(is_known.sum())) - additive_projection(is_known)
    freedom = round(float(np.trace(residual_maker)))
    language = np.nonzero(is_known)[0]
    sampling = np.zeros_like(residual_maker)
    for row in range(len(is_known)):
        cells = np.flatnonzero(language == row)
        sampling[np.ix_(cells, cells)] = measured.covariance[row][np.ix_(is_known[row], is_known[row])]
    if freedom < 1:
        n_contrasts = max(int((is_known.sum(axis=1) - 1).sum()), 1)
        mean = max(float(np.trace(sampling)) / n_contrasts, 1e-300)
        return UNKNOWN_SPREAD * mean * sampling_scale
    mean = float((residual_maker * sampling).sum()) / freedom
    error = measured.error[is_known]
    squares = float(error @ residual_maker @ error)
    return _draw_variance(np.full(len(sampling_scale), squares), freedom, mean * sampling_scale, rng)


@dataclass(frozen=True)
class _Precision:
    """Precision of one language's differences for each draw of the spread, its level taken out.

    systems : those with labels. matrix : (draws, systems, systems). root : (systems, systems) of the covariance.
    """

    systems: Index
    matrix: Array
    root: Array


def _precision(measured: JudgeErrors, row: int, spread: Array, sampling_scale: Array) -> _Precision:
    """The inverse of (covariance x sampling_scale + spread), with every constant taken out."""
    systems = np.flatnonzero(np.isfinite(measured.error[row]))
    covariance = measured.covariance[row][np.ix_(systems, systems)] - measured.shared[0] * np.eye(len(systems))
    value, vector = np.linalg.eigh(covariance)
    value = np.maximum(value, 1e-9 * max(float(np.abs(value).max(initial=0.0)), 1e-300))
    inverse = 1 / (value * sampling_scale[:, None] + spread[:, None])  # (draws, systems)
    matrix = (vector * inverse[:, None, :]) @ vector.T
    column = matrix.sum(axis=2)
    matrix = matrix - column[:, :, None] * column[:, None, :] / column.sum(axis=1)[:, None, None]
    return _Precision(systems, matrix, vector * np.sqrt(value))


def draw_errors(measured: JudgeErrors, n_languages: int, n_draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the judges' error (draws, languages, systems), each with mean 0 over the systems that labels join; and
    of its sd between languages. NaN for systems that nobody labelled, and where one or two languages tell nothing."""
    n_labelled, n_systems = measured.error.shape
    joined = np.flatnonzero(joined_systems(np.isfinite(measured.error)))
    measured = replace(measured, error=np.where(np.isin(np.arange(n_systems), joined), measured.error, np.nan))
    errors = np.full((n_draws, n_languages, n_systems), np.nan)
    if len(joined) < 2:
        errors[:, :, joined] = 0.0
        return errors, np.zeros(n_draws)
    sampling_scale = measured.freedom / rng.chisquare(measured.freedom, n_draws)
    spread = draw_spread(measured, sampling_scale, rng)
    precisions = [_precision(measured, row, spread, sampling_scale) for row in range(n_labelled)]
    common = _draw_common(measured, precisions, joined, n_draws, rng)

    says_all = measured.tells_others
    scale = np.sqrt(spread)[:, None]
    # Few languages may not show how far one can lie off: tails of t, not of the normal.
    heavy_noise = rng.standard_t(2 * n_labelled, (n_draws, n_languages, n_systems))
    if says_all:
        errors[:, :, joined] = common[:, None, joined] + scale[:, :, None] * heavy_noise[:, :, joined]
    for row, precision in enumerate(precisions):
        language, systems = measured.languages[row], precision.systems
        if len(systems) < 2 and not says_all:
            continue
        # A draw from the prior, moved by what the labels say beyond it.
        own = scale * heavy_noise[:, language]
        own[:, systems] = scale * rng.normal(size=(n_draws, len(systems)))
        sampled = rng.normal(size=(n_draws, len(systems))) @ precision.root.T * np.sqrt(sampling_scale)[:, None]
        rest = measured.error[row, systems] - common[:, systems] - own[:, systems] - sampled
        own[:, systems] += spread[:, None] * np.einsum("dst,dt->ds", precision.matrix, rest)
        told = joined if says_all else systems
        errors[:, language, told] = common[:, told] + own[:, told]
    shared_noise = np.sqrt(measured.shared[0]) * rng.normal(size=(n_draws, n_systems))
    errors += shared_noise[:, None]
    is_told = np.isfinite(errors)
    n_told = np.maximum(is_told.sum(axis=2, keepdims=True), 1)
    return errors - np.where(is_told, errors, 0.0).sum(axis=2, keepdims=True) / n_told, np.sqrt(spread)


def _draw_common(
    measured: JudgeErrors, precisions: Sequence[_Precision], joined: Index, n_draws: int, rng: np.random.Generator
) -> Array:
    """Draws of the error that all languages have in common: (draws, systems), of which only differences count."""
    n_systems = measured.error.shape[1]
    total = np.zeros((n_draws, n_systems, n_systems))
    weighted = np.zeros((n_draws, n_systems))
    for row, precision in enumerate(precisions):
        systems = precision.systems
        total[:, systems[:, None], systems] += precision.matrix
        weighted[:, systems] += precision.matrix @ measured.error[row, systems]
    total, weighted = total[:, joined[:, None], joined], weighted[:, joined]
    size = np.einsum("dss->d", total) / len(joined)
    total += size[:, None, None] / len(joined)  # constants are known to nothing: any value makes it invertible
    covariance = np.linalg.inv(total)
    noise = rng.normal(size=weighted.shape)
    estimate = np.einsum("dst,dt->ds", covariance, weighted)
    drawn = estimate + np.einsum("dst,dt->ds", np.linalg.cholesky(covariance), noise)
    common = np.full((n_draws, n_systems), np.nan)
    common[:, joined] = drawn - drawn.mean(axis=1, keepdims=True)
    return common


def draw_levels(
    measured: JudgeErrors, errors: Array, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Mask, Array]:
    """Draws of the judges' error of the level, (draws, languages); for which languages they make an interval; and draws
    of its sd between languages.

    From one or two languages each has its own, the others none. Where one annotator's harshness hides the level, what
    was measured is given all the same, for a value without an interval.
    """
    n_languages = errors.shape[1]
    own, variance = _own_levels(measured, errors)
    is_told = np.isfinite(own).all(axis=0)
    rows = np.flatnonzero(np.isfinite(measured.severity) & is_told)
    levels = np.full((n_draws, n_languages), np.nan)
    has_level = np.zeros(n_languages, dtype=bool)
    if is_told.sum() >= FEWEST_LANGUAGES:
        levels[:] = own[:, is_told].mean(axis=1, keepdims=True)
    levels[:, measured.languages] = own
    if len(rows) == 0:
        return levels, has_level, np.full(n_draws, np.nan)
    sampling_scale = measured.freedom / rng.chisquare(measured.freedom, n_draws)
    sampling = variance[rows] * sampling_scale[:, None] + measured.severity[rows]  # (draws, rows)
    tells_spread = len(rows) >= FEWEST_LANGUAGES
    spread, common = _common_level(own[:, rows], sampling, len(rows) - 1 if tells_spread else 0, rng)
    if tells_spread:
        heavy_noise = rng.standard_t(2 * len(rows), (n_draws, n_languages))
        unlabelled = np.setdiff1d(np.arange(n_languages), measured.languages)
        levels[:, unlabelled] = common[:, None] + np.sqrt(spread)[:, None] * heavy_noise[:, unlabelled]
        has_level[unlabelled] = True
    share = spread[:, None] / (spread[:, None] + sampling)
    drawn = common[:, None] + share * (own[:, rows] - common[:, None])
    levels[:, measured.languages[rows]] = drawn + np.sqrt(share * sampling) * rng.normal(size=share.shape)
    has_level[measured.languages[rows]] = True
    levels += np.sqrt(measured.shared[1]) * rng.normal(size=(n_draws, 1))
    return levels, has_level, np.sqrt(spread)


def _own_levels(measured: JudgeErrors, errors: Array) -> tuple[Array, Array]:
    """Of each labelled language draws of its own error of the level (draws, k), and its sampling variance (k,)."""
    own = np.full((len(errors), len(measured.languages)), np.nan)
    for row, language in enumerate(measured.languages):
        rest = measured.error[row] - errors[:, language]
        is_told = np.isfinite(rest).all(axis=0)
        if is_told.any():
            own[:, row] = rest[:, is_told].mean(axis=1)
    return own, np.maximum(measured.level_variance - measured.shared[1], 1e-300)


def _common_level(own: Array, sampling: Array, freedom: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the variance of levels between languages, and of the level that they have in common."""
    middle = np.median(own, axis=0)
    squares = np.full(len(own), float(((middle - middle.mean()) ** 2).sum()))
    spread = _draw_variance(squares, freedom, sampling.mean(axis=1), rng)
    precision = 1 / (sampling + spread[:, None])
    total = precision.sum(axis=1)
    return spread, (precision * own).sum(axis=1) / total + rng.normal(size=len(own)) / np.sqrt(total)


# --- limits ---


@dataclass(frozen=True)
class Differences:
    """All differences between systems (row less column) in languages: middle and half-width, (languages, S, S)."""

    middle: Array
    half_width: Array

    @property
    def ahead(self) -> Mask:
        """Whether the row is certainly ahead of the column."""
        tiny = 1e-9 * float(np.nanmax(np.abs(self.middle), initial=0.0))
        with np.errstate(invalid="ignore"):
            return np.asarray(self.middle - self.half_width > tiny)

    @property
    def known(self) -> Mask:
        """(languages, systems): which systems have a difference to another."""
        return np.asarray(np.isfinite(self.middle).sum(axis=2) > 0)

    @property
    def rank_low(self) -> Index:
        """(languages, systems): one more than the systems certainly ahead."""
        return np.asarray(self.ahead.sum(axis=1) + 1)

    @property
    def rank_high(self) -> Index:
        """(languages, systems): all that are compared, but those certainly behind."""
        return np.asarray(self.known.sum(axis=1)[:, None] - self.ahead.sum(axis=2))


def limit_differences(draws: Array, families: Sequence[Sequence[int]], level: float = 0.95) -> Differences:
    """Limits of all differences between systems that hold together in each family of languages.

    draws : (draws, languages, systems), NaN where nothing is said
    """
    _, n_languages, n_systems = draws.shape
    middle = np.full((n_languages, n_systems, n_systems), np.nan)
    half_width = middle.copy()
    for family in families:
        largest_ratio = np.zeros(len(draws))
        for language in family:
            systems = np.flatnonzero(np.isfinite(draws[:, language]).all(axis=0))
            first, second = (systems[i] for i in np.triu_indices(len(systems), 1))
            if not len(first):
                continue
            differences = draws[:, language, first] - draws[:, language, second]
            centre = np.median(differences, axis=0)
            deviation = np.abs(differences - centre)
            width = np.quantile(deviation, level, axis=0)
            ratio = deviation / np.maximum(width, 1e-300)
            largest_ratio = np.maximum(largest_ratio, ratio.max(axis=1))
            middle[language, first, second], middle[language, second, first] = centre, -centre
            half_width[language, first, second] = half_width[language, second, first] = width
        half_width[list(family)] *= np.quantile(largest_ratio, level)
    return Differences(middle, half_width)


def average_languages(draws: Array) -> Array:
    """Draws of the mean over languages (draws, systems); a system that languages lack is compared inside the others."""
    is_known: Mask = np.asarray(np.isfinite(draws).all(axis=0))
    some_language, some_system = np.any(is_known, axis=1), np.any(is_known, axis=0)
    known = is_known[some_language][:, some_system]
    overall = np.full((len(draws), draws.shape[2]), np.nan)
    if not known.size:
        return overall
    cells = draws[:, is_known]
    language, system = np.nonzero(known)
    n_languages, n_systems = known.shape
    design = np.zeros((len(language), n_languages + n_systems))
    design[np.arange(len(language)), language] = 1
    design[np.arange(len(language)), n_languages + system] = 1
    fit = np.linalg.pinv(design)
    # The mean over languages of the additive fit: for complete cells the plain mean.
    take = np.zeros((n_systems, n_languages + n_systems))
    take[:, :n_languages] = 1 / n_languages
    take[np.arange(n_systems), n_languages + np.arange(n_systems)] = 1
    overall[:, some_system] = cells @ (take @ fit).T
    return overall


# --- each labelled language predicted from the others ---


def predict_left_out(measured: JudgeErrors, level: float = 0.95, n_draws: int = 400, seed: int = 0) -> list[bool]:
    """For each labelled language, whether the others predict its measured differences (all together); of one system
    its level. Empty below three labelled languages."""
    held: list[bool] = []
    n_labelled = len(measured.languages)
    if n_labelled < FEWEST_LANGUAGES:
        return held
    for row in range(n_labelled):
        rng = np.random.default_rng([seed, row])
        others = measured.without(row)
        held_row = _predict_one(measured, others, row, level, n_draws, rng)
        if held_row is not None:
            held.append(held_row)
    return held


def _predict_one(
    measured: JudgeErrors, others: JudgeErrors, row: int, level: float, n_draws: int, rng: np.random.Generator
) -> bool | None:
    """Whether what was measured in one language lies inside what the others predict of it, sampling included."""
    systems = np.flatnonzero(np.isfinite(measured.error[row]))
    covariance = measured.covariance[row][np.ix_(systems, systems)]
    sampled = rng.multivariate_normal(np.zeros(len(systems)), covariance, n_draws, method="eigh")
    if measured.error.shape[1] == 1:
        drawn = _predict_level(others, n_draws, rng) + sampled
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return bool(low <= measured.error[row, 0] <= high)
    predicted = _predict_errors(others, n_draws, rng)[:, systems] + sampled
    told = np.isfinite(predicted).all(axis=0)
    if told.sum() < 2:
        return None
    limits = limit_differences(predicted[:, None, told], [[0]], level)
    error = measured.error[row, systems[told]]
    beyond = np.abs(error[:, None] - error - limits.middle[0]) > limits.half_width[0]
    return not bool(beyond.any())


def _predict_errors(others: JudgeErrors, n_draws: int, rng: np.random.Generator) -> Array:
    """Draws of the error (draws, systems) in a language without labels."""
    n_labelled, n_systems = others.error.shape
    joined = np.flatnonzero(joined_systems(np.isfinite(others.error)))
    predicted = np.full((n_draws, n_systems), np.nan)
    if len(joined) < 2:
        return predicted
    sampling_scale = others.freedom / rng.chisquare(others.freedom, n_draws)
    spread = draw_spread(others, sampling_scale, rng)
    precisions = [_precision(others, row, spread, sampling_scale) for row in range(n_labelled)]
    common = _draw_common(others, precisions, joined, n_draws, rng)
    heavy_noise = rng.standard_t(2 * n_labelled, common.shape)
    return np.asarray(common + np.sqrt(spread)[:, None] * heavy_noise)


def _predict_level(others: JudgeErrors, n_draws: int, rng: np.random.Generator) -> Array:
    """Draws (draws, 1) of the error of the level in a language without labels."""
    own = np.tile(others.error[:, 0], (n_draws, 1))
    sampling = np.tile(others.covariance[:, 0, 0] + np.nan_to_num(others.severity), (n_draws, 1))
    spread, common = _common_level(own, sampling, own.shape[1] - 1, rng)
    return np.asarray(common + np.sqrt(spread) * rng.standard_t(2 * own.shape[1], n_draws))[:, None]


# --- what more labels would bring ---


def with_more_labels(
    measured: JudgeErrors, errors: Array, languages: Sequence[int], systems: Sequence[int], labels: float,
    rng: np.random.Generator,
) -> JudgeErrors:  # fmt: skip
    """The errors as so many more labels of each of these systems in each of these languages might measure them.

    errors : (languages, systems) one draw of the judges' errors, which the new labels measure
    """
    variance = float(measured.label_variance.mean())
    every = sorted({*map(int, measured.languages), *languages})
    n_systems = measured.error.shape[1]
    error, covariance = np.full((len(every), n_systems), np.nan), np.zeros((len(every), n_systems, n_systems))
    severity, label_variance = np.zeros(len(every)), np.full(len(every), variance)
    for row, language in enumerate(every):
        precision, weighted = np.zeros((n_systems, n_systems)), np.zeros(n_systems)
        if language in measured.languages:
            old = int(np.flatnonzero(measured.languages == language)[0])
            known = np.flatnonzero(np.isfinite(measured.error[old]))
            inverse = np.linalg.pinv(measured.covariance[old][np.ix_(known, known)])
            precision[np.ix_(known, known)] = inverse
            weighted[known] = inverse @ measured.error[old, known]
            severity[row], label_variance[row] = measured.severity[old], measured.label_variance[old]
        if language in languages:
            new = np.array([system for system in systems if np.isfinite(errors[language, system])], dtype=int)
            noise = rng.normal(size=len(new)) * np.sqrt(variance / labels)
            precision[new, new] += labels / variance
            weighted[new] += labels / variance * (errors[language, new] + noise)
        known = np.flatnonzero(np.diag(precision) > 0)
        inverse = np.linalg.inv(precision[np.ix_(known, known)])
        covariance[row][np.ix_(known, known)] = inverse
        error[row, known] = inverse @ weighted[known]
    n_new = len(languages) * max(labels - 1, 0.0)
    return replace(
        measured,
        languages=np.array(every),
        error=error,
        covariance=covariance,
        severity=severity,
        label_variance=label_variance,
        freedom=measured.freedom + n_new,
    )


def expected_half_width(
    judged: Judged, measured: JudgeErrors, people: People, pair: tuple[int, int], languages: Sequence[int],
    systems: Sequence[int], labels: float, level: float = 0.95, seed: int = 0, n_repeats: int = 12,
) -> Array:  # fmt: skip
    """Half-widths (n_repeats,) of the difference of two systems overall that more labels may lead to."""
    rng = np.random.default_rng([seed, 7])
    chosen = rng.integers(len(people.differences), size=n_repeats)
    widths = []
    for repeat, draw in enumerate(chosen):
        errors = judged.mean - people.differences[draw]
        more = with_more_labels(measured, errors, languages, systems, labels, rng)
        drawn = draw_people(judged, more, n_draws=400, seed=seed + repeat)
        limits = limit_differences(average_languages(drawn.differences)[:, None], [[0]], level)
        widths.append(float(limits.half_width[0][pair]))
    return np.array(widths)
