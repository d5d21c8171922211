"""People's votes on pairs anchor the judges' strengths in every language (METHODS 37, 39).

In each language with votes the judges' error is the difference of two sets of strengths: the judges' of all pairs, and
people's of the pairs that were voted on, to which the judges' verdicts on the same pairs are a control. From there on
errors are treated as those of scores (`anchored.py`). What is shown is no strength but an expected share of wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polyjudge.stats.anchored import MOST_GROUPS, MOST_SHARED, Judged, JudgeErrors
from polyjudge.stats.bradley_terry import Games, Strengths, find_components, fit_strengths
from polyjudge.stats.cells import sum_by

Array = NDArray[np.float64]
Index = NDArray[np.int64]
HALF_TIE_OF_VOTES = 0.1
"""Weight of the tie that each pair which met is given: votes are few, and a whole half tie would pull them together."""
FEWEST_VOTES = 10
"""Votes of a language from which on its error is measured."""


@dataclass(frozen=True)
class LanguageVotes:
    """Verdicts of one language: the judges' on all pairs, people's votes, and the judges' on the same pairs.

    `unit` numbers tasks alike in all languages. votes, same : None where nobody voted
    """

    judges: Games
    votes: Games | None = None
    same: Games | None = None


@dataclass(frozen=True)
class _Measured:
    """Strengths of one language by people and by the judges on the same pairs, with influences (units, systems)."""

    people: Strengths
    judges: Strengths
    n_votes: int

    def residual(self, weight: float) -> Array:
        """Influences on people's strengths, the judges' taken out with this weight."""
        n_units = max(len(self.people.influence), len(self.judges.influence))
        people, judges = (_padded(x.influence, n_units) for x in (self.people, self.judges))
        return people - weight * judges


def _padded(influence: Array, n_units: int) -> Array:
    """Influences with as many units, those that are not there with 0."""
    padded = np.zeros((n_units, influence.shape[1]))
    padded[: len(influence)] = influence
    return padded


def judge_strengths(languages: Sequence[LanguageVotes]) -> Judged:
    """The judges' strengths in every language, NaN for systems that verdicts do not join with the others."""
    n_systems = languages[0].judges.n_systems
    mean = np.full((len(languages), n_systems), np.nan)
    influence = np.zeros((MOST_GROUPS, len(languages), n_systems))
    for language, verdicts in enumerate(languages):
        if not len(verdicts.judges.won):
            continue
        strengths = fit_strengths(verdicts.judges, half_tie=HALF_TIE_OF_VOTES)
        systems = _largest(strengths.component)
        theta = strengths.theta[systems]
        mean[language, systems] = theta
        group = np.arange(len(strengths.influence)) % MOST_GROUPS
        influence[:, language, systems] = sum_by(strengths.influence[:, systems], group, MOST_GROUPS)
    return Judged(mean, influence)


def _largest(component: Index) -> Index:
    """The systems of the largest part that verdicts join."""
    return np.flatnonzero(component == np.bincount(component).argmax())


def measure_vote_errors(languages: Sequence[LanguageVotes], judged: Judged) -> JudgeErrors | None:
    """The judges' error of strengths in every language with votes; None where there are too few to measure any."""
    places = [language for language, verdicts in enumerate(languages) if _is_measured(verdicts, judged.mean[language])]
    measured = []
    for language in places:
        votes, same = languages[language].votes, languages[language].same
        assert votes is not None
        assert same is not None
        people, judges = (fit_strengths(games, half_tie=HALF_TIE_OF_VOTES) for games in (votes, same))
        measured.append(_Measured(people, judges, len(np.unique(votes.unit))))
    if not measured:
        return None
    weight = _control_weight(measured)
    error = np.array([
        judged.mean[language] - (x.people.theta + weight * (judged.mean[language] - x.judges.theta))
        for language, x in zip(places, measured, strict=True)
    ])  # fmt: skip
    residuals = [x.residual(weight) for x in measured]
    n_votes = np.array([x.n_votes for x in measured], dtype=float)
    covariance = _covariances(residuals, n_votes)
    contrast_variance = np.array([np.trace(own) - own.mean() for own in covariance]) / (error.shape[1] - 1)
    shared = float(np.clip(_shared(residuals), 0.0, MOST_SHARED * contrast_variance.min()))
    return JudgeErrors(
        languages=np.array(places),
        error=error,
        covariance=covariance,
        shared=(shared, 0.0),
        severity=np.zeros(len(places)),
        label_variance=contrast_variance * n_votes,
        freedom=max(float((n_votes - 1).sum()), 1.0),
        control_weight=weight,
    )


def _is_measured(verdicts: LanguageVotes, judged: Array) -> bool:
    """Whether votes join all systems that judges compare, and are not too few."""
    votes, same = verdicts.votes, verdicts.same
    if votes is None or same is None or len(votes.won) < FEWEST_VOTES:
        return False
    systems = np.flatnonzero(np.isfinite(judged))
    joined = (find_components(games.first, games.second, games.n_systems)[systems] for games in (votes, same))
    return len(systems) > 1 and all(len(np.unique(component)) == 1 for component in joined)


def _control_weight(measured: Sequence[_Measured]) -> float:
    """The weight of the judges' strengths on the same pairs that makes people's most precise, from 0 to 1."""
    products, squares = 0.0, 0.0
    for strengths in measured:
        judges = strengths.judges.influence
        people = _padded(strengths.people.influence, len(judges))[: len(judges)]
        products += float((judges * people).sum())
        squares += float((judges**2).sum())
    return float(np.clip(products / max(squares, 1e-300), 0.0, 1.0))


def _covariances(residuals: Sequence[Array], n_votes: Array) -> Array:
    """Each language's own covariance, for schedules differ, steadied by that of all languages together."""
    n_systems = residuals[0].shape[1]
    of_one_vote = np.array([n * (x.T @ x) for x, n in zip(residuals, n_votes, strict=True)])
    pooled = np.tensordot(n_votes, of_one_vote, axes=1) / n_votes.sum()
    variance = float(np.trace(pooled)) / n_systems
    apart = (float(pooled.sum()) - variance * n_systems) / (n_systems * (n_systems - 1))
    alike = np.full((n_systems, n_systems), apart) + (variance - apart) * np.eye(n_systems)
    total = float(n_votes.sum())
    pooled = (total * pooled + (n_systems + 2) * alike) / (total + n_systems + 2)
    prior = 2 * n_systems
    steadied = (n_votes[:, None, None] * of_one_vote + prior * pooled) / (n_votes[:, None, None] + prior)
    return np.asarray(steadied / n_votes[:, None, None])


def _shared(residuals: Sequence[Array]) -> float:
    """What votes on the same tasks bring into all languages, as a variance of differences."""
    n_systems = residuals[0].shape[1]
    products = []
    for first, one in enumerate(residuals):
        for other in residuals[:first]:
            n_units = min(len(one), len(other))
            products.append(float((one[:n_units] * other[:n_units]).sum()) / max(n_systems - 1, 1))
    return float(np.mean(products)) if products else 0.0


def shares_of_strengths(strengths: Array) -> Array:
    """Expected shares of wins (draws, languages, systems) against the average of the other systems there.

    >>> shares_of_strengths(np.array([[[0.0, 0.0, np.nan]]])).tolist()
    [[[0.5, 0.5, nan]]]
    """
    shares = np.full(strengths.shape, np.nan)
    for language in range(strengths.shape[1]):
        systems = np.flatnonzero(np.isfinite(strengths[:, language]).all(axis=0))
        if len(systems) < 2:
            continue
        theta = strengths[:, language, systems]
        chance = expit(theta[:, :, None] - theta[:, None, :])
        shares[:, language, systems] = (chance.sum(axis=2) - 0.5) / (len(systems) - 1)
    return shares
