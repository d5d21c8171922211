"""How strong is each system, from verdicts on two of them? Bradley-Terry with influences per task (METHODS 37).

The model: a system with strength theta_i wins against one with theta_j with probability 1 / (1 + exp(theta_j -
theta_i)); a tie is half a win, and a preference between 0 and 1 counts as it is. Being shown first may add to the
strength, for each judge by an amount of its own (`place`). Each pair of systems that met gets half a tie, so that 40
wins of 40 stay finite.

What is shown is no strength but a share of wins: the share that a system is expected to win against the others, all
of them met equally often, and shown first as often as second. Whether the model fits is asked first (`measure_fit`);
where systems beat each other in a circle it does not, and plain shares of wins (`plain_shares`) take its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit, stdtrit

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
HALF_TIE = 0.5
"""Weight of the tie that each pair which met is given."""
FEWEST_TASKS = 4
"""A difference that fewer effective tasks carry has no interval."""
FIT_TASKS = 5
"""Pairs of systems with fewer tasks are not asked whether they fit."""
SMALL_MISFIT = 0.02
"""Of very many games even this much shows; strengths then still order systems better than an uneven schedule does."""
MOST_UNITS = 5_000
"""More units are folded to so many: sums over several tasks are as good for a variance."""


@dataclass(frozen=True, eq=False)
class Games:
    """Verdicts, one a row, as numbers.

    first, second : (n,) the two systems, from 0
    won : (n,) 1 where the first won, 0 where the second did, 0.5 a tie; anything between is a preference
    unit : (n,) the sampling unit, a task or a cluster of tasks, from 0
    n_systems : there may be some that never met another
    weight : (n,) of each verdict; None: all count alike
    place : (n,) 1 where the first was shown first, -1 where it was shown second, 0 where nobody knows; None: unknown
    judge : (n,) who judged, from 0: each has a place term of its own; None: one judge
    """

    first: Codes
    second: Codes
    won: Array
    unit: Codes
    n_systems: int
    weight: Array | None = None
    place: Array | None = None
    judge: Codes | None = None

    @property
    def weights(self) -> Array:
        """The weight of each verdict."""
        return np.ones(len(self.won)) if self.weight is None else self.weight

    def take(self, rows: Mask | Codes) -> Games:
        """Some of the verdicts; units keep their numbers."""
        return Games(
            first=self.first[rows],
            second=self.second[rows],
            won=self.won[rows],
            unit=self.unit[rows],
            n_systems=self.n_systems,
            weight=None if self.weight is None else self.weight[rows],
            place=None if self.place is None else self.place[rows],
            judge=None if self.judge is None else self.judge[rows],
        )

    def without_place(self) -> Games:
        """The same, as if nobody knew who was shown first."""
        return replace(self, place=None)


@dataclass(frozen=True, eq=False)
class Strengths:
    """Strengths of systems, and how each unit moves them.

    theta : (S,) mean 0 among systems that are connected by games
    influence : (units, S) what each unit adds to theta, enlarged by its leverage; the covariance is their square
    place : (judges,) what being shown first adds; NaN where the schedule does not tell it from strengths
    place_influence : (units, judges)
    component : (S,) systems with the same number are connected by games
    judge_weight : (judges,) share of the verdicts of each; None: nobody knows a place
    """

    theta: Array
    influence: Array
    place: Array
    place_influence: Array
    component: Codes
    judge_weight: Array | None = None

    @property
    def covariance(self) -> Array:
        """(S, S) of theta."""
        return self.influence.T @ self.influence

    @property
    def share(self) -> Array:
        """(S,) the expected share of wins against the average of the systems that it is connected to.

        Where a judge goes by the place, of both orders: its picks by place are nobody's wins.
        """
        if self.judge_weight is None:
            return expected_share(self.theta, self.component)
        lead = self.theta[:, None] - self.theta
        return _average_opponents(_chance_in_both_orders(lead, self._places, self.judge_weight), self.component)

    @property
    def _places(self) -> Array:
        """(judges,) place terms, 0 where the schedule does not tell them."""
        return np.nan_to_num(self.place)

    @property
    def share_influence(self) -> Array:
        """(units, S) what each unit adds to `share`."""
        if self.judge_weight is None:
            return self.influence @ _share_slopes(self.theta, self.component).T
        lead = self.theta[:, None] - self.theta
        by_lead, by_place = _slopes_in_both_orders(lead, self._places, self.judge_weight)
        by_theta = _slopes_of_shares(by_lead, self.component)
        of_place = np.stack([_average_opponents(slope, self.component) for slope in by_place], axis=1)
        moves = np.nan_to_num(self.place_influence) @ np.nan_to_num(of_place).T
        return np.asarray(self.influence @ by_theta.T + moves)

    def allow_for(self, fit: Fit) -> Strengths:
        """The same strengths, less sure of themselves where pairs may not fit: each pair is one more unit."""
        if not fit.is_doubtful:
            return self
        more = np.full((len(fit.influence), self.place_influence.shape[1]), 0.0)
        return replace(
            self,
            influence=np.vstack([self.influence, fit.influence]),
            place_influence=np.vstack([self.place_influence, more]),
        )


@dataclass(frozen=True, eq=False)
class Differences:
    """All differences of shares, row less column, with limits that hold for all together; NaN where there are none.

    effective_tasks : how many units carry each difference
    """

    gap: Array
    low: Array
    high: Array
    effective_tasks: Array


@dataclass(frozen=True, eq=False)
class Fit:
    """Whether strengths explain who beats whom: a chi-square over pairs of systems.

    p : NaN where nothing could be tested (`df` is 0)
    first, second : the pairs that were tested; `z` how far the first wins more often than it should, in errors
    observed, expected : its share of wins in these games, and by the strengths
    n_untested : pairs that met on too few tasks
    misfit : standard deviation of pairs about what strengths expect, as a share of wins, beyond chance
    influence : (pairs, S) what such deviations add to theta: a pair is then a unit of its own
    """

    p: float
    df: float
    first: Codes
    second: Codes
    z: Array
    observed: Array
    expected: Array
    n_untested: int
    misfit: float
    influence: Array

    @property
    def fails(self) -> bool:
        """Whether plain shares have to take the place of strengths: pairs do not fit, and by what matters."""
        return bool(self.p < 0.01 and self.misfit >= SMALL_MISFIT)

    @property
    def is_doubtful(self) -> bool:
        """Whether intervals have to allow for pairs that do not fit."""
        return bool(self.p < 0.1)


@dataclass(frozen=True)
class _Cells:
    """Games that the model cannot tell apart, added up: the same two systems, judge and place.

    design : (cells, S + judges) of +1 and -1. won : mean, weight : sum. row_cell : (n,) the cell of each game.
    """

    design: Array
    won: Array
    weight: Array
    row_cell: Codes


# --- fitting ---


def fit_strengths(games: Games, *, half_tie: float = HALF_TIE) -> Strengths:
    """Strengths by maximum likelihood (Newton), a place term per judge where the schedule tells it.

    >>> games = Games(np.array([0, 0, 0, 0]), np.array([1, 1, 1, 1]), np.array([1.0, 1, 1, 0]), np.arange(4), 2)
    >>> (fit_strengths(games, half_tie=0).share).round(6).tolist()
    [0.75, 0.25]
    """
    n_systems = games.n_systems
    component = find_components(games.first, games.second, n_systems)
    cells = _add_up(games)
    is_estimable = np.ones(cells.design.shape[1], dtype=bool)
    is_estimable[n_systems:] = _find_estimable_places(cells, n_systems)
    design = cells.design[:, is_estimable]
    prior_design = _design_half_ties(games, design.shape[1])
    theta, inverse = _climb(design, cells, prior_design, half_tie, component)
    residual = games.weights * (games.won - expit(design @ theta)[cells.row_cell])
    influence = _add_influences(games, design, cells, residual, inverse, theta)
    n_places = cells.design.shape[1] - n_systems
    places = np.full(n_places, np.nan)
    place_influence = np.full((len(influence), n_places), np.nan)
    places[is_estimable[n_systems:]] = theta[n_systems:]
    place_influence[:, is_estimable[n_systems:]] = influence[:, n_systems:]
    return Strengths(
        theta=_centre(theta[:n_systems], component),
        influence=_centre(influence[:, :n_systems], component),
        place=places,
        place_influence=place_influence,
        component=component,
        judge_weight=_weigh_judges(games, n_places) if np.isfinite(places).any() else None,
    )


def _weigh_judges(games: Games, n_judges: int) -> Array:
    """The share of the verdicts of each judge."""
    judge = np.zeros(len(games.won), dtype=np.int64) if games.judge is None else games.judge
    weight = _sum_by(judge, games.weights, n_judges)
    return np.asarray(weight / max(float(weight.sum()), 1e-300))


def find_components(first: Codes, second: Codes, n_systems: int) -> Codes:
    """The number of the connected component of each system: those that met, directly or through others, share it.

    >>> find_components(np.array([0, 3]), np.array([1, 2]), 5).tolist()
    [0, 0, 2, 2, 4]
    """
    component = np.arange(n_systems)
    for pair in _number_keys(first * n_systems + second)[0]:
        one, other = component[pair // n_systems], component[pair % n_systems]
        component[component == max(one, other)] = min(one, other)
    return component


def _add_up(games: Games) -> _Cells:
    """Games of the same systems, judge and place as one cell each."""
    n_systems = games.n_systems
    n_judges = 0 if games.place is None else 1 + int(0 if games.judge is None else games.judge.max(initial=0))
    key = games.first * n_systems + games.second
    if games.place is not None:
        judge = np.zeros(len(key), dtype=np.int64) if games.judge is None else games.judge
        key = (key * n_judges + judge) * 3 + 1 + games.place.astype(np.int64)
    listed, row_cell = _number_keys(key)
    weight = _sum_by(row_cell, games.weights, len(listed))
    won = _sum_by(row_cell, games.weights * games.won, len(listed)) / np.maximum(weight, 1e-300)
    design = np.zeros((len(listed), n_systems + n_judges))
    each = np.arange(len(listed))
    pair = listed
    if games.place is not None:
        pair = listed // 3 // n_judges
        design[each, n_systems + listed // 3 % n_judges] = listed % 3 - 1
    design[each, pair // n_systems] += 1
    design[each, pair % n_systems] -= 1
    return _Cells(design, won, weight, row_cell)


def _number_keys(key: Codes) -> tuple[Codes, Codes]:
    """The distinct keys in order, and the place of each key among them; by counting, which beats sorting here."""
    if key.max(initial=0) > 2_000_000:
        distinct, place = np.unique(key, return_inverse=True)
        return distinct, place
    is_there = np.zeros(int(key.max(initial=-1)) + 1, dtype=bool)
    is_there[key] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[key]


def _sum_by(group: Codes, values: Array, n_groups: int) -> Array:
    """The sum of the values of each group."""
    return np.bincount(group, weights=values, minlength=n_groups).astype(float, copy=False)


def _find_estimable_places(cells: _Cells, n_systems: int) -> Mask:
    """Which place terms the schedule tells from strengths: no combination of strengths looks the same."""
    information = cells.design.T @ (cells.design * cells.weight[:, None])
    size, direction = np.linalg.eigh(information)
    unseen = direction[n_systems:, size <= 1e-9 * max(size.max(initial=0.0), 1e-300)]
    return np.asarray((np.abs(unseen) < 1e-6).all(axis=1) & (np.abs(cells.design[:, n_systems:]).sum(axis=0) > 0))


def _design_half_ties(games: Games, n_terms: int) -> Array:
    """One row for each pair of systems that met, and one for each place term, which is tied to 0 in the same way."""
    n_systems = games.n_systems
    lower, upper = np.minimum(games.first, games.second), np.maximum(games.first, games.second)
    pair, _ = _number_keys(lower * n_systems + upper)
    design = np.zeros((len(pair) + n_terms - n_systems, n_terms))
    design[np.arange(len(pair)), pair // n_systems] = 1
    design[np.arange(len(pair)), pair % n_systems] = -1
    places = np.arange(n_terms - n_systems)
    design[len(pair) + places, n_systems + places] = 1
    return design


def _climb(design: Array, cells: _Cells, prior_design: Array, half_tie: float, component: Codes) -> tuple[Array, Array]:
    """Newton's steps to the maximum: all terms, and the inverse of the information there."""
    rows = np.concatenate([design, prior_design])
    won = np.concatenate([cells.won, np.full(len(prior_design), 0.5)])
    weight = np.concatenate([cells.weight, np.full(len(prior_design), half_tie)])
    # Strengths have no origin: within each component their sum is held at 0.
    origin = np.zeros((rows.shape[1], rows.shape[1]))
    n_systems = len(component)
    origin[:n_systems, :n_systems] = component[:, None] == component
    theta = np.zeros(rows.shape[1])
    for _ in range(100):
        expected = expit(rows @ theta)
        information = rows.T @ (rows * (weight * expected * (1 - expected))[:, None]) + origin
        step = np.linalg.solve(information, rows.T @ (weight * (won - expected)) - origin @ theta)
        theta = theta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    return theta, np.asarray(np.linalg.inv(information))


def _add_influences(games: Games, design: Array, cells: _Cells, residual: Array, inverse: Array, theta: Array) -> Array:
    """(units, terms): what each unit adds to all terms, divided by the root of one less its leverage."""
    unit = games.unit % MOST_UNITS
    n_units = int(unit.max(initial=-1)) + 1
    n_terms = design.shape[1]
    score = _sum_by(unit * n_terms + games.first, residual, n_units * n_terms)
    score -= _sum_by(unit * n_terms + games.second, residual, n_units * n_terms)
    for place in range(games.n_systems, n_terms):
        signed = design[cells.row_cell, place] * residual
        score.reshape(n_units, n_terms)[:, place] += _sum_by(unit, signed, n_units)
    expected = expit(design @ theta)
    cell_leverage = ((design @ inverse) * design).sum(axis=1) * expected * (1 - expected)
    leverage = _sum_by(unit, games.weights * cell_leverage[cells.row_cell], n_units)
    # A unit that alone decides a strength would have an infinite influence.
    enlarged = 1 / np.sqrt(1 - np.minimum(leverage, 0.9))
    return np.asarray((score.reshape(n_units, n_terms) @ inverse) * enlarged[:, None])


def _centre(values: Array, component: Codes) -> Array:
    """Values of systems (last axis) less the mean of their component."""
    same = (component[:, None] == component).astype(float)
    return np.asarray(values - values @ (same / same.sum(axis=1)))


# --- shares of wins ---


def expected_share(theta: Array, component: Codes | None = None) -> Array:
    """The share of wins against the average of the other systems; theta (..., S). NaN where a system has no other.

    >>> expected_share(np.array([1.0, 0.0, -1.0])).round(3).tolist()
    [0.806, 0.5, 0.194]
    """
    return _average_opponents(expit(theta[..., :, None] - theta[..., None, :]), component)


def _average_opponents(chance: Array, component: Codes | None) -> Array:
    """The mean over opponents (last axis) that a system is connected to; NaN where it has none."""
    opponents = _opponents(chance.shape[-1], component)
    with np.errstate(invalid="ignore"):
        return np.asarray((chance * opponents).sum(axis=-1) / opponents.sum(axis=-1))


def _opponents(n_systems: int, component: Codes | None) -> Array:
    """(S, S) 1 where two systems are connected."""
    same = np.ones((n_systems, n_systems)) if component is None else (component[:, None] == component).astype(float)
    np.fill_diagonal(same, 0.0)
    return np.asarray(same)


def _share_slopes(theta: Array, component: Codes) -> Array:
    """(S, S) how the share of the row changes with the strength of the column."""
    chance = expit(theta[:, None] - theta)
    return _slopes_of_shares(chance * (1 - chance), component)


def _slopes_of_shares(by_lead: Array, component: Codes) -> Array:
    """(S, S) how the share of the row changes with the strength of the column; `by_lead`: how chances do with leads."""
    opponents = _opponents(len(by_lead), component)
    slopes = -by_lead * opponents / np.maximum(opponents.sum(axis=1, keepdims=True), 1)
    np.fill_diagonal(slopes, -slopes.sum(axis=1))
    return np.asarray(slopes)


def _chance_in_both_orders(lead: Array, places: Array, judge_weight: Array) -> Array:
    """(S, S) of the row to win against the column, shown first as often as second, by the average judge.

    >>> _chance_in_both_orders(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([9.0]), np.array([1.0])).round(2).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    both = [(expit(lead + place) + expit(lead - place)) / 2 for place in places]
    return np.asarray(np.tensordot(judge_weight, both, axes=1))


def _slopes_in_both_orders(lead: Array, places: Array, judge_weight: Array) -> tuple[Array, list[Array]]:
    """How these chances change with the lead (S, S), and with the place term of each judge."""
    by_lead = np.zeros_like(lead)
    by_place = []
    for place, weight in zip(places, judge_weight, strict=True):
        first, second = (expit(lead + shift) * (1 - expit(lead + shift)) for shift in (place, -place))
        by_lead += weight * (first + second) / 2
        by_place.append(weight * (first - second) / 2)
    return by_lead, by_place


def is_plain_enough(games: Games, strengths: Strengths) -> bool:
    """Whether two systems' plain shares need no strengths: no place is to be allowed for, or both orders were asked
    equally often by each judge."""
    if games.n_systems != 2:
        return False
    if games.place is None or not np.isfinite(strengths.place).any():
        return True
    judge = np.zeros(len(games.won), dtype=np.int64) if games.judge is None else games.judge
    shown_first = games.weights * games.place * np.where(games.first == 0, 1.0, -1.0)
    surplus = _sum_by(judge, shown_first, len(strengths.place))
    return bool((games.place != 0).all() and (np.abs(surplus) < 1e-9).all())


def plain_shares(games: Games) -> tuple[Array, Array]:
    """The share of its own games that each system won, and what each unit adds to it: (S,), (units, S)."""
    unit = games.unit % MOST_UNITS
    n_units, n_systems = int(unit.max(initial=-1)) + 1, games.n_systems
    place = np.concatenate([unit * n_systems + games.first, unit * n_systems + games.second])
    won = np.concatenate([games.weights * games.won, games.weights * (1 - games.won)])
    weight = np.concatenate([games.weights, games.weights])
    wins = _sum_by(place, won, n_units * n_systems).reshape(n_units, n_systems)
    played = _sum_by(place, weight, n_units * n_systems).reshape(n_units, n_systems)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = wins.sum(axis=0) / played.sum(axis=0)
        influence = (wins - played * share) / played.sum(axis=0)
    return share, np.asarray(np.nan_to_num(influence) * np.sqrt(n_units / max(n_units - 1, 1)))


def compare_shares(
    share: Array, influence: Array, component: Codes, *, level: float = 0.95, n_comparisons: int | None = None
) -> Differences:
    """All differences of shares with limits that hold together (Sidak), on the scale of atanh, which they cannot leave.

    component : systems that are not connected have no difference
    n_comparisons : how many differences hold together, where that is not all of these
    """
    n_systems = len(share)
    together = n_comparisons or n_systems * (n_systems - 1) // 2
    gap = np.where(component[:, None] == component, share[:, None] - share, np.nan)
    variance, effective_tasks = _measure_differences(influence)
    freedom = np.maximum(2 * effective_tasks / 3, 2.0)
    quantile = stdtrit(freedom, 1 - (1 - level ** (1 / max(together, 1))) / 2)
    quantile[effective_tasks < FEWEST_TASKS] = np.nan
    bounded = np.clip(gap, -1 + 1e-9, 1 - 1e-9)
    half_width = quantile * np.sqrt(variance) / (1 - bounded**2)
    low, high = np.tanh(np.arctanh(bounded) - half_width), np.tanh(np.arctanh(bounded) + half_width)
    for limits in (low, high):
        np.fill_diagonal(limits, np.nan)
    return Differences(gap=gap, low=low, high=high, effective_tasks=effective_tasks)


def _measure_differences(influence: Array) -> tuple[Array, Array]:
    """Variance (S, S) of all differences, and how many units carry each: (sum x^2)^2 / sum x^4, x = psi_i - psi_j.

    Powers of differences are expanded, because all differences of many units would not fit into memory.
    """
    squared = influence * influence
    second = influence.T @ influence
    variance = np.diag(second)[:, None] + np.diag(second) - 2 * second
    third_by_first = (squared * influence).T @ influence
    fourth = np.diag(third_by_first)[:, None] + np.diag(third_by_first) - 4 * (third_by_first + third_by_first.T)
    fourth += 6 * squared.T @ squared
    variance = np.maximum(variance, 0.0)
    fewest = variance**2 / max(len(influence), 1)  # by Cauchy and Schwarz, against rounding
    effective_tasks = np.divide(variance**2, np.maximum(fourth, fewest), out=np.zeros_like(fourth), where=fourth > 0)
    return variance, effective_tasks


# --- does it fit? ---


def measure_fit(games: Games, strengths: Strengths) -> Fit:
    """A chi-square over pairs of systems that met on enough tasks: the sum of residuals against its own spread.

    Each pair has (sum of residuals)^2 / spread; together they have as many degrees of freedom as there are pairs, less
    what fitting took from them.
    """
    cells = _add_up(games)
    expected = expit(cells.design @ np.nan_to_num(np.concatenate([strengths.theta, strengths.place])))
    pairs = _collect_pairs(games, cells, expected)
    is_tested = (pairs.n_units >= FIT_TASKS) & (pairs.spread > 0)
    information, response = _respond_to_pairs(cells, pairs, expected)
    left = np.maximum(1 - response.own[is_tested], 0.0)
    df = float(left.sum())
    size = pairs.residual[is_tested] / np.sqrt(pairs.spread[is_tested])
    is_testable = df > 0.5
    observed = pairs.won / pairs.weight
    deviation = 0.0
    if is_testable:
        # By moments: a deviation of d in a pair's logit moves its residual by information * d.
        sensitivity = (information[is_tested] ** 2 / pairs.spread[is_tested] * left).sum()
        deviation = float(np.sqrt(max(float((size**2).sum()) - df, 0.0) / max(float(sensitivity), 1e-300)))
    slope = float(information.sum() / pairs.weight.sum())
    return Fit(
        p=float(chdtrc(df, (size**2).sum())) if is_testable else float("nan"),
        df=df if is_testable else 0.0,
        first=pairs.lower[is_tested],
        second=pairs.upper[is_tested],
        z=size / np.sqrt(np.maximum(left, 0.05)),
        observed=observed[is_tested],
        expected=(observed - pairs.residual / pairs.weight)[is_tested],
        n_untested=int((~is_tested).sum()),
        misfit=deviation * slope,
        influence=deviation * _centre(response.strengths[:, : games.n_systems], strengths.component),
    )


@dataclass(frozen=True)
class _Pairs:
    """Each two systems that met, the lower number first: what the lower won, and how much more than the fit expects.

    cell : (cells,) the pair of each cell; sign : 1 where the cell's first is the lower, else -1
    """

    lower: Codes
    upper: Codes
    cell: Codes
    sign: Array
    weight: Array
    won: Array
    residual: Array
    spread: Array
    n_units: Codes


def _collect_pairs(games: Games, cells: _Cells, expected: Array) -> _Pairs:
    n_systems = games.n_systems
    first = cells.design[:, :n_systems].argmax(axis=1)
    second = cells.design[:, :n_systems].argmin(axis=1)
    sign = np.where(first < second, 1.0, -1.0)
    listed, cell_pair = _number_keys(np.minimum(first, second) * n_systems + np.maximum(first, second))
    n_pairs = len(listed)
    n_units = int(games.unit.max(initial=-1)) + 1
    game_pair = cell_pair[cells.row_cell]
    units, unit_of_game = np.unique(game_pair * n_units + games.unit, return_inverse=True)
    pair_of_unit = units // n_units
    residual = games.weights * sign[cells.row_cell] * (games.won - expected[cells.row_cell])
    by_unit = _sum_by(unit_of_game, residual, len(units))
    binomial = _sum_by(game_pair, games.weights**2 * (expected * (1 - expected))[cells.row_cell], n_pairs)
    return _Pairs(
        lower=listed // n_systems,
        upper=listed % n_systems,
        cell=cell_pair,
        sign=sign,
        weight=_sum_by(cell_pair, cells.weight, n_pairs),
        won=_sum_by(cell_pair, cells.weight * np.where(sign > 0, cells.won, 1 - cells.won), n_pairs),
        residual=_sum_by(pair_of_unit, by_unit, n_pairs),
        spread=_moderate_spread(_sum_by(pair_of_unit, by_unit**2, n_pairs), binomial),
        n_units=np.bincount(pair_of_unit, minlength=n_pairs),
    )


def _moderate_spread(own: Array, binomial: Array) -> Array:
    """The variance of each pair's sum of residuals: the mean of its own and of what all pairs together make of it.

    A weak system that happens never to win has hardly any spread of its own, and would seem not to fit.
    """
    return (own + binomial * own.sum() / max(float(binomial.sum()), 1e-300)) / 2


class _Response(NamedTuple):
    """own : (pairs,) how much of each pair's one degree of freedom the fit has used; strengths : (pairs, terms) how all
    terms move when a pair's logit does."""

    own: Array
    strengths: Array


def _respond_to_pairs(cells: _Cells, pairs: _Pairs, expected: Array) -> tuple[Array, _Response]:
    """The information of each pair, and how the fit responds to it."""
    n_pairs = len(pairs.lower)
    by_cell = cells.weight * expected * (1 - expected)
    weighted = cells.design * by_cell[:, None]
    inverse = np.linalg.pinv(cells.design.T @ weighted, rcond=1e-10, hermitian=True)
    total = np.zeros((n_pairs, cells.design.shape[1]))
    np.add.at(total, pairs.cell, weighted * pairs.sign[:, None])
    information = np.maximum(_sum_by(pairs.cell, by_cell, n_pairs), 1e-300)
    response = total @ inverse
    return information, _Response((response * total).sum(axis=1) / information, np.asarray(response))
