"""Which system wins where systems were compared in pairs? (METHODS 37)

Shown is the expected share of wins against an average opponent, by Bradley-Terry; where the pairs do not fit one order
of strength, the plain share of wins among these pairs. With two systems and no order to allow for, both are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri, stdtr, stdtrit

from polyjudge.answers.amounts import spelled, tiny_of
from polyjudge.answers.audit.boards import Board
from polyjudge.base.numbers import percent, percent_ci
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Severity
from polyjudge.stats.bradley_terry import (
    Differences,
    Fit,
    Games,
    compare_shares,
    fit_strengths,
    is_plain_enough,
    measure_fit,
    plain_shares,
)

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
MOST_NAMED = 3
"""Pairs that do not fit are named up to so many."""


@dataclass(frozen=True)
class PairBoard(Board):
    """A board of systems that were compared in pairs: `mean` is a share of wins, from 0 to 1.

    won : the share of its own verdicts that each system won; `verdicts`: their number
    is_plain : the shares shown are those, because strengths do not explain who beats whom
    place : (judges,) what being shown first adds to the strength; NaN where the schedule does not tell
    place_error : (judges,) its standard error
    """

    won: Array
    verdicts: Codes
    is_plain: bool
    fit: Fit | None
    place: Array
    place_error: Array

    @property
    def beside(self) -> dict[str, Any]:
        """won, verdicts: as they were observed."""
        order = [system for system in self.order if self.scored[system]]
        return {"won": self.won[order], "verdicts": self.verdicts[order]}


def pair_boards(panel: Panel, *, level: float, weights: Array | None = None) -> dict[str, Board]:
    """Boards of all languages together ("all") and of each, where there are several."""
    boards: dict[str, Board] = {"all": pair_board(panel, level=level, weights=weights)}
    n_languages = len(panel.languages)
    for language in panel.languages if n_languages > 1 else ():
        part = panel.select(languages=[language])
        if part.pairs is not None and len(part.pairs):
            boards[language] = pair_board(part, level=level, weights=weights, n_boards=n_languages)
    return boards


def part_boards(panel: Panel, *, level: float) -> dict[str, Board]:
    """Boards of each turn, or what else tells verdicts on one pair apart; all of them hold together."""
    pairs = panel.pairs
    if pairs is None or len(pairs.parts) < 2:
        return {}
    boards: dict[str, Board] = {}
    for number, part in enumerate(pairs.parts):
        of_part = replace(panel, pairs=pairs.take(pairs.part == number))
        if of_part.pairs is not None and len(of_part.pairs):
            boards[part] = pair_board(of_part, level=level, n_boards=len(pairs.parts))
    return boards


def pair_board(panel: Panel, *, level: float, weights: Array | None = None, n_boards: int = 1) -> PairBoard:
    """One board; all differences of so many boards hold together."""
    assert panel.pairs is not None
    n_systems = len(panel.systems)
    games = panel.pairs.games(n_systems, panel.unit, weights)
    strengths = fit_strengths(games)
    fit = measure_fit(games, strengths) if n_systems > 2 else None
    is_plain = fit is not None and fit.fails
    if fit is not None:
        strengths = strengths.allow_for(fit)
    share, influence = strengths.share, strengths.share_influence
    if is_plain or is_plain_enough(games, strengths):
        share, influence = plain_shares(games)
    n_comparisons = n_boards * n_systems * (n_systems - 1) // 2
    differences = compare_shares(share, influence, strengths.component, level=level, n_comparisons=n_comparisons)
    won, verdicts = panel.pairs.count_pairs(n_systems)
    order = _rank(share, strengths.component, verdicts, tiny_of(panel))
    need, q = _plan_with(influence, differences, level, n_comparisons)
    return PairBoard(
        systems=tuple(panel.systems),
        mean=share,
        gap=differences.gap,
        low=differences.low,
        high=differences.high,
        order=order,
        units=int(games.unit.max()) + 1,
        tiny=tiny_of(panel),
        need=need,
        q=q,
        won=won,
        verdicts=verdicts,
        is_plain=is_plain,
        fit=fit,
        place=strengths.place,
        place_error=np.sqrt((strengths.place_influence**2).sum(axis=0)),
    )


def _rank(share: Array, component: Codes, verdicts: Codes, tiny: float) -> tuple[int, ...]:
    """Systems by their share: first those of the component with most verdicts, which alone can be compared."""
    largest = np.bincount(component, verdicts).argmax()
    level = np.where((component == largest) & np.isfinite(share), share, -1.0)
    return tuple(map(int, np.argsort(-np.round(level / tiny), kind="stable")))


def _plan_with(influence: Array, differences: Differences, level: float, n_comparisons: int) -> tuple[Array, Array]:
    """Standard deviation of a unit's difference, and the quantile of very many units (METHODS 23)."""
    second = influence.T @ influence
    variance = np.maximum(np.diag(second)[:, None] + np.diag(second) - 2 * second, 0.0)
    freedom = np.maximum(2 * differences.effective_tasks / 3, 2.0)
    quantile = stdtrit(freedom, 1 - (1 - level ** (1 / max(n_comparisons, 1))) / 2)
    return np.sqrt(variance * len(influence)), np.asarray(ndtri(stdtr(freedom, quantile)))


# --- who puts whom first ---


@dataclass(frozen=True, eq=False)
class PairSums:
    """Verdicts added up, to ask again who leads by some judges or in some languages; the counterpart of `Sums`."""

    games: Games
    language: Codes
    judge: Codes
    tiny: float

    def first(self, languages: Sequence[int] | None = None, judges: Sequence[int] | None = None) -> int | None:
        """The system with the highest share by these; None where two are tied or not all are connected."""
        rows = np.ones(len(self.language), dtype=bool)
        if languages is not None:
            rows &= np.isin(self.language, list(languages))
        if judges is not None:
            rows &= np.isin(self.judge, list(judges))
        games = self.games.take(rows)
        systems = np.unique(np.concatenate([games.first, games.second]))
        if len(systems) < 2:
            return None
        strengths = fit_strengths(games)
        if len(np.unique(strengths.component[systems])) > 1:
            return None
        share = strengths.share
        if len(systems) == 2 and not np.isfinite(strengths.place).any():
            share = plain_shares(games)[0]
        best, second = systems[np.argsort(-share[systems], kind="stable")[:2]]
        return int(best) if share[best] - share[second] > self.tiny else None


def pair_sums(panel: Panel, weights: Array | None = None) -> PairSums:
    """The verdicts on the same two systems by the same judge, in the same language and order, as one row each."""
    pairs = panel.pairs
    assert pairs is not None
    n_systems = len(panel.systems)
    # A judge who counts for nothing is asked all the same whom it puts first.
    judge_weight = None if weights is None else np.maximum(weights * len(panel.judges), 1e-9)
    games = pairs.games(n_systems, panel.unit, judge_weight)
    sizes = (n_systems, n_systems, len(panel.languages), len(panel.judges), 3)
    place = pairs.place.astype(np.int64) + 1
    key = np.ravel_multi_index((pairs.first, pairs.second, pairs.language, pairs.judge, place), sizes)
    listed, row = np.unique(key, return_inverse=True)
    first, second, language, judge, shown = np.unravel_index(listed, sizes)
    weight = np.bincount(row, games.weights).astype(float)
    added = Games(
        first=first,
        second=second,
        won=np.bincount(row, games.weights * games.won) / weight,
        unit=np.arange(len(listed)),
        n_systems=n_systems,
        weight=weight,
        place=shown.astype(float) - 1 if pairs.knows_place else None,
        judge=judge,
    )
    return PairSums(added, language, judge, tiny_of(panel))


# --- sentences ---


def pair_findings(panel: Panel, board: Board) -> list[Finding]:
    """What the pairs allow: whether strengths fit, and what the order of the answers hides."""
    if not isinstance(board, PairBoard):
        return []
    return [*_fit_finding(panel, board), *_one_order_finding(panel, board), *_place_finding(panel, board)]


def _fit_finding(panel: Panel, board: PairBoard) -> list[Finding]:
    """Pairs that do not fit one order of strength; or that nobody can tell."""
    fit = board.fit
    if fit is None:
        return []
    if not fit.fails:
        if np.isfinite(fit.p):
            return []
        text = (
            "Too few tasks a pair to test whether one order of strength explains who beats whom: shares of wins assume "
            "that it does."
        )
        return [Finding("notice", "pairs.fit-unknown", text)]
    worst = np.argsort(-np.round(np.abs(fit.z), 9), kind="stable")[:MOST_NAMED]
    shown = []
    for pair in worst:
        one, other = panel.systems[fit.first[pair]], panel.systems[fit.second[pair]]
        share, expected = fit.observed[pair], fit.expected[pair]
        shown.append(f"{name(one)} wins {percent(share, 0)} against {name(other)} (expected: {percent(expected, 0)})")
    text = (
        f"No one order of strength explains who beats whom: {'; '.join(shown)}. So shares are plain shares of wins "
        "among these pairs, and another schedule could give another order."
    )
    return [Finding("warning", "pairs.no-fit", text, "Winner")]


def _one_order_finding(panel: Panel, board: PairBoard) -> list[Finding]:
    """Systems that were always shown in one place, where other pairs do not tell what the place does."""
    pairs = panel.pairs
    assert pairs is not None
    if not pairs.knows_place:
        return []
    if np.isfinite(board.place).any():
        return _indirect_place_finding(panel)
    leader = board.leader
    shown_first = np.where(pairs.place > 0, pairs.first, pairs.second)
    of_leader = ((pairs.first == leader) | (pairs.second == leader)) & (pairs.place != 0)
    share_first = float((shown_first[of_leader] == leader).mean()) if of_leader.any() else 0.5
    subject = "Each two systems always stand in the same order"
    if share_first in (0.0, 1.0):
        where = "first" if share_first == 1.0 else "second"
        subject = f"{name(panel.systems[leader])} always stands {where} in its pairs"
    text = (
        f"{subject}: if answers were shown in that order, judges may be choosing the place. Ask again with the order "
        "swapped."
    )
    return [Finding("warning", "pairs.one-order", text, "Winner")]


def _indirect_place_finding(panel: Panel) -> list[Finding]:
    """Each two systems stand in one order only, so that the place is told by other pairs alone."""
    pairs = panel.pairs
    assert pairs is not None
    known = pairs.take(pairs.place != 0)
    lower, upper = np.minimum(known.first, known.second), np.maximum(known.first, known.second)
    pair = lower * len(panel.systems) + upper
    lower_first = (known.place > 0) == (known.first == lower)
    if len(np.unique(pair * 2 + lower_first)) > len(np.unique(pair)):
        return []
    text = (
        "Each two systems always stand in the same order, so what the place does is told by comparing pairs: systems "
        "that beat each other in a circle would look the same. Ask again with the order swapped."
    )
    return [Finding("notice", "pairs.indirect-place", text, "Winner")]


def _place_finding(panel: Panel, board: PairBoard) -> list[Finding]:
    """Judges who surely prefer one place, among equal answers; shares allow for it."""
    known = np.flatnonzero(np.isfinite(board.place) & (board.place_error > 0))
    if not len(known) or board.is_plain:
        return []
    quantile = -ndtri(0.025 / len(known))
    low, high = (expit(board.place + sign * quantile * board.place_error) for sign in (-1, 1))
    sure = [judge for judge in known if low[judge] > 0.5 or high[judge] < 0.5]
    if not sure:
        return []
    judge = max(sure, key=lambda number: round(abs(float(board.place[number])), 9))
    share, ends = float(expit(board.place[judge])), (float(low[judge]), float(high[judge]))
    where = "first"
    if share < 0.5:
        where, share, ends = "second", 1 - share, (1 - ends[1], 1 - ends[0])
    more = (
        f" {spelled(len(sure) - 1).capitalize()} other judge{'s prefer' if len(sure) > 2 else ' prefers'} a place too."
    )
    more = more if len(sure) > 1 else ""
    text = (
        f"Of equal answers, {name(panel.judges[judge])} prefers the one shown {where} in {percent_ci(share, *ends)} of "
        f"pairs; shares of wins allow for it.{more}"
    )
    severity: Severity = "warning" if share >= 0.55 else "notice"
    # Where pairs were asked in both orders, that is told by them alone (`position.py`).
    topic = "" if _asked_twice(panel) else "Judges"
    return [Finding(severity if topic else "info", "pairs.place", text, topic, {"judge": panel.judges[judge]})]


def _asked_twice(panel: Panel) -> bool:
    """Whether a judge saw a pair of answers in both orders."""
    pairs = panel.pairs
    assert pairs is not None
    lower, upper = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    sizes = (len(panel.tasks), len(panel.languages), len(panel.judges), len(panel.systems), len(panel.systems))
    key = np.ravel_multi_index((pairs.task, pairs.language, pairs.judge, lower, upper), sizes)
    lower_first = (pairs.place > 0) == (pairs.first == lower)
    return len(np.unique(key * 2 + lower_first)) > len(np.unique(key))


def describe_shares(board: Board) -> str:
    """What the numbers of a board of pairs are called."""
    if isinstance(board, PairBoard) and board.is_plain:
        return "share of wins among these pairs"
    return "expected share of wins" if len(board.systems) > 2 else "share of wins"
