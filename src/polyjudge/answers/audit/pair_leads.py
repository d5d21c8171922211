"""The lead of one system where systems were compared in pairs, as the board of pairs has it (METHODS 36 and 37)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from polyjudge.answers.audit.leads import Contest, Lead
from polyjudge.panel import Panel
from polyjudge.stats.bradley_terry import (
    MOST_UNITS,
    Games,
    Strengths,
    compare_shares,
    fit_strengths,
    is_plain_enough,
    measure_fit,
    plain_shares,
)

Array = NDArray[np.float64]


def find_pair_lead(
    contest: Contest, panel: Panel, weights: Array | None = None, *, has_places: bool = True
) -> Lead | None:
    """The lead in shares of wins; None where there are no verdicts. Units are those of the whole panel, so that leads
    before and after a correction are pairs.

    has_places : whether the place of an answer is allowed for
    """
    pairs = panel.pairs
    n_systems, top = len(panel.systems), contest.top
    if pairs is None or not len(pairs):
        return None
    # In a game units are numbered anew; here they keep their numbers.
    games = replace(pairs.games(n_systems, panel.unit, weights), unit=panel.unit[pairs.task] % MOST_UNITS)
    games = games if has_places else games.without_place()
    if not games.weights.any():
        return None
    strengths = fit_strengths(games)
    share, influence = strengths.share, strengths.share_influence
    with_misfit = influence
    if contest.is_plain or is_plain_enough(games, strengths):
        share, influence = plain_shares(games)
        with_misfit = influence
    elif n_systems > 2:
        with_misfit = strengths.allow_for(measure_fit(games, strengths)).share_influence
    differences = compare_shares(
        share, with_misfit, strengths.component, level=contest.level, n_comparisons=contest.comparisons
    )
    n_units = min(contest.panel.units, MOST_UNITS)
    moves = np.zeros((n_units, n_systems))
    moves[: len(influence)] = influence
    units = share[top] - share + n_units * (moves[:, [top]] - moves)
    is_rival = np.isin(np.arange(n_systems), contest.rivals)
    value, low, high = (
        np.where(is_rival, row, np.nan) for row in (differences.gap[top], differences.low[top], differences.high[top])
    )
    df = max(float(len(np.unique(games.unit))) - 1.0, 1.0)
    return Lead(top, value, low, high, units, df, 1e-9, contest.rivals)


def _knows_places(strengths: Strengths) -> bool:
    return bool(np.isfinite(strengths.place).any())


def all_games(contest: Contest) -> Games | None:
    """All verdicts, with the order in which answers were shown; None where no order is known."""
    pairs = contest.panel.pairs
    if pairs is None or not pairs.knows_place:
        return None
    return pairs.games(len(contest.panel.systems), contest.panel.unit, contest.weights)


def place_is_estimable(games: Games) -> bool:
    """Whether the schedule tells the place from the strengths, for some judge."""
    return _knows_places(fit_strengths(games))


def find_leaning_judges(games: Games, level: float) -> tuple[tuple[int, float], ...]:
    """Judges that surely prefer a place, and the share of verdicts that the first place wins between equals; the
    strongest first."""
    strengths = fit_strengths(games)
    place, influence = strengths.place, strengths.place_influence
    n_judges = len(place)
    df = max(float(len(np.unique(games.unit))) - 1.0, 1.0)
    half = stdtrit(df, 1 - (1 - level ** (1 / max(n_judges, 1))) / 2) * np.sqrt((influence**2).sum(0))
    leaning = [b for b in range(n_judges) if np.isfinite(place[b]) and abs(place[b]) > half[b]]
    return tuple((b, float(expit(place[b]))) for b in sorted(leaning, key=lambda b: -round(abs(float(place[b])), 9)))


def always_in_one_place(games: Games, top: int) -> int:
    """1 or 2 where the top was shown in that place only; else 0."""
    if games.place is None:
        return 0
    known = games.place != 0
    shown_first = np.where(games.place > 0, games.first, games.second)[known]
    shown_second = np.where(games.place > 0, games.second, games.first)[known]
    is_first, is_second = bool((shown_first == top).any()), bool((shown_second == top).any())
    if is_first == is_second:
        return 0
    return 1 if is_first else 2
