"""Rows Y1 to Y4 and C1 of scenarios.csv: who wins, and calm panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from polyjudge.answers.audit.audit import audit
from polyjudge.answers.audit.boards import Board
from polyjudge.answers.audit.systems import systems
from polyjudge.panel import Array, Panel

NOISES = ("normal", "exponential", "pass/fail")


def noise(g: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Array:
    """Of sd 5."""
    if kind == "exponential":
        return np.asarray(g.exponential(5.0, shape) - 5.0)
    return np.asarray(g.normal(0, 5.0, shape))


def scores(
    g: np.random.Generator, n: int, s: int, k: int, m: int, kind: str, steps: float = 0.0, answers: float = 0.0
) -> Array:
    """Task (sd 12) + task:language (sd 3) + noise + 50, and systems in steps; pass or fail: 90%, correlation 0.4.

    answers : sd of what makes one answer better than another in all languages, for judges to agree on
    """
    if kind == "pass/fail":
        latent = np.sqrt(0.4) * g.normal(size=(n, 1 if not answers else s, 1, 1)) + np.sqrt(0.6) * g.normal(
            size=(n, s, k, m)
        )
        return np.asarray(latent < NormalDist().inv_cdf(0.9), dtype=float)
    y = 50 + g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, k, 1)) + noise(g, kind, (n, s, k, m))
    y = y - steps * np.arange(s)[:, None, None]
    if answers:
        y = y + g.normal(0, answers, (n, s, 1, 1))
    return np.asarray(np.clip(np.round((y - 10) / 20) + 1, 1, 5) if kind == "Likert" else y)


def found(y: Array, scale: tuple[float, float] = (0.0, 100.0)) -> Board:
    """Who is ahead, by an array."""
    panel = Panel.from_array(y, scale=(0.0, 1.0) if len(np.unique(y[np.isfinite(y)])) <= 2 else scale)
    return systems(panel, matters=panel.matters, level=0.95).board


def equal(seed: int) -> list[tuple[str, bool]]:
    """Y1."""
    out = []
    for n, s in ((10, 3), (20, 4), (40, 6), (60, 12)):
        for k, m in ((1, 1), (4, 5)):
            for kind in NOISES:
                g = np.random.default_rng(seed)
                board = found(scores(g, n, s, k, m, kind))
                out.append((f"{n} tasks, {s} systems, {k} x {m}, {kind}", bool(board.ahead.any())))
    return out


def _in_range(board: Board) -> bool:
    rank = np.arange(len(board.systems)) + 1
    return bool(((board.rank_low <= rank) & (rank <= board.rank_high)).all())


def ranges(seed: int) -> list[tuple[str, bool]]:
    """Y2."""
    out = []
    for kind in ("normal", "exponential"):
        board = found(scores(np.random.default_rng(seed), 40, 6, 3, 4, kind, steps=2.0))
        out.append((kind, _in_range(board)))
    return out


def thin(seed: int) -> list[tuple[str, bool]]:
    """Y3."""
    y = scores(np.random.default_rng(seed), 80, 6, 4, 5, "normal", steps=2.4)
    y[0, :, :, 1:] = np.nan
    board = found(y)
    return [("one task with one judge", bool(board.leader == 0 and board.ahead[0, 1:].all()))]


def holes(seed: int) -> list[tuple[str, bool]]:
    """Y4."""
    g = np.random.default_rng(seed)
    y = scores(g, 60, 6, 3, 4, "normal", steps=2.4)
    board = found(np.where(g.random(y.shape) < 0.2, np.nan, y))
    return [("20% holes", _in_range(board))]


def calm(seed: int) -> list[tuple[str, bool]]:
    """C1. Answers differ (sd 6): judges who had nothing to agree on would rightly be said not to agree."""
    out = []
    for k, m in ((4, 4), (8, 6)):
        for kind in ("normal", "exponential", "Likert", "pass/fail"):
            y = scores(np.random.default_rng(seed), 60, 4, k, m, kind, answers=6.0)
            scale = {"Likert": (1.0, 5.0), "pass/fail": (0.0, 1.0)}.get(kind, (0.0, 100.0))
            panel = replace(Panel.from_array(y, scale=scale), source="scores.csv")
            loud = [f for f in audit(panel).findings if f.severity in ("warning", "serious")]
            out.append((f"{k} x {m}, {kind}", bool(loud)))
    return out


CLAIMS: dict[str, Callable[[int], list[tuple[str, bool]]]] = {
    "Y1": equal,
    "Y2": ranges,
    "Y3": thin,
    "Y4": holes,
    "C1": calm,
}
