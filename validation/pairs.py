"""Systems from pairs: boards, places, circles (rows K1 to K4).

A pair of answers differs by strengths, by a draw of its own (sd 1) that all judges see, and by what the design says.
The truth is the share of wins against the average opponent, shown first as often as second; where a board says that it
shows plain shares of wins among its own pairs, the truth is that of its own schedule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polyjudge.answers.audit.pair_boards import PairBoard, pair_board
from polyjudge.panel import Panel
from polyjudge.verdicts import Verdicts
from validation.designs import draw, happened

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Design = dict[str, Any]
SCHEDULES = ("balanced", "arena", "star", "chain", "ties", "soft")
TIES = 0.2
SOFTNESS = 0.5


class Arena(NamedTuple):
    """A panel of pairs, what it truly is, and how often each pair of systems met."""

    panel: Panel
    chance: Array
    """(S, S) of the row to win against the column; a tie is half a win."""
    met: Array


def schedule_pairs(g: np.random.Generator, n: int, n_systems: int, schedule: str) -> tuple[Codes, Codes]:
    """The two systems of each of n pairs."""
    first, second = np.nonzero(~np.eye(n_systems, dtype=bool))
    weight = np.ones(len(first))
    if schedule == "arena":
        popularity = g.dirichlet(np.full(n_systems, 2.0)) + 0.05
        weight = popularity[first] * popularity[second]
    if schedule == "star":
        weight = (np.minimum(first, second) == 0).astype(float)
    if schedule == "chain":
        weight = (np.abs(first - second) == 1).astype(float)
    chosen = g.choice(len(first), n, p=weight / weight.sum())
    return first[chosen], second[chosen]


def play(g: np.random.Generator, design: Design, lead: Array, first: Codes, second: Codes, place: float = 0.0) -> Arena:
    """Verdicts of all judges; the first of a pair is shown first; `lead` (S, S) is on the scale of logits."""
    n, m, k = len(first), design["judges"], design["languages"]
    own = g.normal(0, 1, n)
    task, judge = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    logit = (lead[first, second] + own + place)[task]
    won = (g.random(n * m) < expit(logit)).astype(float)
    schedule = design.get("schedule", "")
    if schedule == "ties":
        won[g.random(n * m) < TIES] = 0.5
    if schedule == "soft":
        won = expit(logit + g.normal(0, SOFTNESS, n * m))
    verdicts = Verdicts(
        task=task, first=first[task], second=second[task], language=(np.arange(n) % k)[task], judge=judge, won=won,
        place=np.ones(n * m), part=np.zeros(n * m, dtype=np.int64),
    )  # fmt: skip
    n_systems = len(lead)
    panel = Panel(
        scores=verdicts.shares((n, n_systems, k, m)),
        tasks=tuple(f"q{x}" for x in range(n)),
        systems=tuple(f"S{x}" for x in range(n_systems)),
        languages=tuple(f"l{x}" for x in range(k)),
        judges=tuple(f"J{x}" for x in range(m)),
        scale=(0.0, 1.0),
        pairs=verdicts,
        in_percent=True,
    )
    met = np.zeros((n_systems, n_systems))
    np.add.at(met, (first, second), 1)
    both_orders = (_true_chance(lead + place, schedule) + _true_chance(lead - place, schedule)) / 2
    return Arena(panel, both_orders, met + met.T)


def _true_chance(lead: Array, schedule: str) -> Array:
    """The mean of the outcomes over what is drawn for each pair, by Gauss and Hermite."""
    points, weights = np.polynomial.hermite_e.hermegauss(41)
    spread = np.hypot(1.0, SOFTNESS) if schedule == "soft" else 1.0
    chance = (expit(lead[..., None] + spread * points) * weights).sum(-1) / weights.sum()
    return np.asarray(TIES / 2 + (1 - TIES) * chance if schedule == "ties" else chance)


def true_shares(arena: Arena, board: PairBoard) -> Array:
    """The share of wins that the board is about."""
    opponents = arena.met if board.is_plain else 1.0 - np.eye(len(arena.chance))
    with np.errstate(invalid="ignore"):
        return np.asarray((arena.chance * opponents).sum(1) / opponents.sum(1))


def differences(arena: Arena, board: PairBoard) -> tuple[Array, Array, Array, Array]:
    """Estimate, limits and truth of all differences that have limits."""
    truth = true_shares(arena, board)
    i, j = np.triu_indices(len(truth), 1)
    known = np.isfinite(board.low[i, j])
    i, j = i[known], j[known]
    return board.gap[i, j], board.low[i, j], board.high[i, j], truth[i] - truth[j]


def arena(seed: int) -> tuple[Design, Arena]:
    """Strengths with sd 1, which languages and judges share."""
    design = draw(seed, pairs=(60, 200, 1000), languages=(1, 4), judges=(1, 3), systems=(3, 6, 12), schedule=SCHEDULES)
    g = np.random.default_rng(seed)
    strength = g.normal(0, 1, design["systems"])
    first, second = schedule_pairs(g, design["pairs"], design["systems"], design["schedule"])
    return design, play(g, design, strength[:, None] - strength, first, second)


def cover_of_pairs(seed: int) -> list[tuple[str, bool]]:
    """K1: all differences of the board hold at once."""
    design, played = arena(seed)
    _, low, high, truth = differences(played, pair_board(played.panel, level=0.95))
    return happened(design, bool(((low <= truth) & (truth <= high)).all()))


def false_share_of_pairs(seed: int) -> list[tuple[str, float]]:
    """K2: of the differences that are sure, the share with the wrong sign."""
    design, played = arena(seed)
    gap, low, high, truth = differences(played, pair_board(played.panel, level=0.95))
    is_sure = (low > 0) | (high < 0)
    share = float((np.sign(gap) != np.sign(truth))[is_sure].mean()) if is_sure.any() else 0.0
    return [(variant, share) for variant, _ in happened(design, False)]


def cover_with_place(seed: int) -> list[tuple[str, bool]]:
    """K3: the better of two systems is mostly shown second, and being shown first helps."""
    design = draw(seed, pairs=(200, 1000), systems=(2, 4)) | {"languages": 1, "judges": 3}
    g = np.random.default_rng(seed)
    strength = np.sort(g.normal(0, 1, design["systems"]))
    first, second = schedule_pairs(g, design["pairs"], design["systems"], "balanced")
    is_turned = (strength[first] > strength[second]) & (g.random(len(first)) < 0.6)
    first, second = np.where(is_turned, second, first), np.where(is_turned, first, second)
    played = play(g, design, strength[:, None] - strength, first, second, place=0.5)
    _, low, high, truth = differences(played, pair_board(played.panel, level=0.95))
    return happened(design, bool(((low <= truth) & (truth <= high)).all()))


def false_order_in_a_circle(seed: int) -> list[tuple[str, bool]]:
    """K4: three systems beat each other in a circle, pairs are uneven: a sure wrong order without the note of fit."""
    design = {"pairs": 400, "languages": 1, "judges": 1}
    g = np.random.default_rng(seed)
    strength = g.normal(0, 0.3, 4)
    lead = strength[:, None] - strength
    for winner, loser in ((0, 1), (1, 2), (2, 0)):
        lead[winner, loser] += 1.0
        lead[loser, winner] -= 1.0
    first, second = schedule_pairs(g, design["pairs"], 4, "arena")
    played = play(g, design, lead, first, second)
    board = pair_board(played.panel, level=0.95)
    gap, low, high, truth = differences(played, board)
    is_wrong = ((low > 0) | (high < 0)) & (np.sign(gap) != np.sign(truth))
    return happened(design, bool(is_wrong.any() and not board.is_plain))


CLAIMS = {
    "K1": cover_of_pairs,
    "K2": false_share_of_pairs,
    "K3": cover_with_place,
    "K4": false_order_in_a_circle,
}
