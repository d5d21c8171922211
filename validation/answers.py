"""Claims about drift and plans: rows D1 to D6 and P1 of scenarios.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from polyjudge.answers.audit.boards import board, seen_means
from polyjudge.answers.audit.off import off
from polyjudge.answers.drift import Drift, drift
from polyjudge.answers.plan import plan
from polyjudge.panel import Panel

Array = NDArray[np.float64]
Rows = list[tuple[str, bool]]
LANGUAGES, JUDGES = ("de", "en", "ja"), ("gpt5", "b", "c", "d")
RETEST = 3.0
"""Sd of what a run adds by itself: the same answers scored again differ by it in both runs."""


def _base(g: np.random.Generator, tasks: int, kind: str = "normal") -> Array:
    """task (sd 12) + task:language (sd 3) + noise (sd 5) + 50."""
    y = 50 + g.normal(0, 12, (tasks, 1, 1)) + g.normal(0, 3, (tasks, 3, 1)) + np.zeros((tasks, 3, 4))
    return y + _noise(g, y.shape, 5.0, kind)


def _noise(g: np.random.Generator, shape: tuple[int, ...], sd: float, kind: str) -> Array:
    return sd * (g.exponential(1, shape) - 1) if kind == "exponential" else g.normal(0, sd, shape)


def _run(g: np.random.Generator, y: Array, kind: str = "normal") -> Array:
    """Scores of one run of the same answers."""
    return y + _noise(g, y.shape, RETEST, kind)


def _panel(y: Array, kind: str = "normal", first: int = 0) -> Panel:
    if kind == "pass/fail 90%":
        y = (y > 50 - 1.2816 * np.sqrt(12**2 + 3**2 + 5**2)).astype(float)
    more: dict[str, Any] = {"scale": (0.0, 1.0), "two_valued": True} if kind == "pass/fail 90%" else {"scale": (0, 100)}
    tasks = [f"t{first + i}" for i in range(len(y))]
    return Panel.from_array(y, tasks=tasks, languages=LANGUAGES, judges=JUDGES, **more)


def _changed(found: Drift) -> bool:
    return bool(found.cells["changed"].any())


def quiet(seed: int) -> Rows:
    """D1: nothing changed; each run draws all noise anew, or adds its own to noise that both share."""
    rows = []
    for tasks in (10, 20, 60):
        for kind in ("normal", "exponential", "pass/fail 90%"):
            g = np.random.default_rng([seed, tasks])
            y = _base(g, tasks, kind)
            mean = y.mean(2, keepdims=True)
            for name, runs in (
                ("fresh", [mean + _noise(g, y.shape, 5.0, kind) for _ in range(2)]),
                ("retest", [_run(g, y, kind) for _ in range(2)]),
            ):
                old, new = (_panel(x, kind) for x in runs)
                rows.append((f"{tasks} {kind} {name}", _changed(drift(old, new))))
    return rows


def _planted(seed: int) -> Drift:
    """gpt5 +5 in de and +3 in en; retest noise."""
    g = np.random.default_rng(seed)
    y = _base(g, 50)
    old, new = _run(g, y), _run(g, y)
    new[:, 0, 0] += 5
    new[:, 1, 0] += 3
    return drift(_panel(old), _panel(new))


def innocent(seed: int) -> Rows:
    """D2: Japanese did not change."""
    cells = _planted(seed).cells
    return [("ja", bool(cells.loc[cells["language"] == "ja", "changed"].any()))]


def both(seed: int) -> Rows:
    """D3: both changes are named."""
    cells = _planted(seed).cells
    own = cells[(cells["judge"] == "gpt5") & cells["language"].isin(["de", "en"])]
    return [("de and en", bool(own["changed"].all()))]


def year(seed: int) -> Rows:
    """D4: a nightly comparison with one old run, nothing changed."""
    rows = []
    for tasks in (10, 60):
        g = np.random.default_rng([seed, tasks])
        y = _base(g, tasks)
        old = _panel(_run(g, y))
        said = any(_changed(drift(old, _panel(_run(g, y)), runs=365)) for _ in range(365))
        rows.append((f"{tasks} tasks", said))
    return rows


def never_quiet(seed: int) -> Rows:
    """D5: ten tasks, one cell 40 points lower."""
    g = np.random.default_rng(seed)
    y = _base(g, 10)
    old, new = _run(g, y), _run(g, y)
    new[:, 1, 2] -= 40
    return [("exit 0", not drift(_panel(old), _panel(new), runs=365).incomplete)]


def other_tasks(seed: int) -> Rows:
    """D6: other tasks, one judge 6 points higher in one language."""
    g = np.random.default_rng(seed)
    old, new = _base(g, 60), _base(g, 60)
    new[:, 1, 0] += 6
    cells = drift(_panel(old), _panel(new, first=100)).cells
    right = (cells["language"] == "en") & (cells["judge"] == "gpt5")
    return [("another", bool(cells.loc[~right, "changed"].any()))]


def planned(seed: int) -> Rows:
    """P1: a study as large as a pilot of 30 tasks says reaches the radius, and tells two systems apart."""
    rows = []
    for kind in ("normal", "exponential", "pass/fail"):
        g = np.random.default_rng(seed)
        target = 0.12 if kind == "pass/fail" else 4.0
        pilot = _study(g, 30, kind, 0.0)
        tasks = int(plan(pilot, radius=target * pilot.factor).needed["tasks"].iloc[0])
        found = off(_study(g, tasks, kind, 0.0)).frame
        rows.append((f"radius {kind}", bool((found["all_high"] - found["all_low"]).max() / 2 <= target)))
        target = 0.08 if kind == "pass/fail" else 2.0
        tasks = int(plan(pilot, separate=target * pilot.factor).needed["tasks"].iloc[0])
        p = _study(g, tasks, kind, target)
        seen = seen_means(p.scores, p.weight)
        made = board(
            values=p.system_values(),
            seen=seen,
            systems=p.systems,
            level=0.95,
            tiny=1e-9,
            two_valued=p.two_valued,
            low=p.scale[0],
            width=p.width,
        )
        rows.append((f"separate {kind}", bool(made.ahead[0, 1])))
    return rows


def _study(g: np.random.Generator, tasks: int, kind: str, apart: float) -> Panel:
    """Four systems, the first `apart` ahead of the second, in 4 languages by 4 judges."""
    shape = (tasks, 4, 4, 4)
    noise = _noise(g, shape, 5.0, kind)
    y = g.normal(0, 12, (tasks, 1, 1, 1)) + g.normal(0, 3, (tasks, 1, 4, 1)) + g.normal(0, 5, (tasks, 4, 1, 1)) + noise
    if kind == "pass/fail":  # the rate is 70%; the first passes `apart` more often
        y = y / np.sqrt(12**2 + 3**2 + 5**2 + 5**2)
        lines = -np.array([ndtri(0.7 + apart), 0.5244, 0.5244, 0.5244])
        made = (y > lines[:, None, None]).astype(float)
        return Panel.from_array(made, scale=(0, 1), two_valued=True)
    return Panel.from_array(50 + y + apart * np.array([1.0, 0, 0, 0])[:, None, None], scale=(0, 100))


CLAIMS = {
    "D1": quiet,
    "D2": innocent,
    "D3": both,
    "D4": year,
    "D5": never_quiet,
    "D6": other_tasks,
    "P1": planned,
}
