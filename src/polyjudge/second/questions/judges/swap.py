"""May one judge stand in for another? Non-inferiority of a swap (docs/methods.md, section 22)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.estimate.kernels import pair_index
from polyjudge.second.estimate.resample import check_level, mean_of_known
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean, some
from polyjudge.second.panel.panel import Panel
from polyjudge.second.report.result import Result

Answer = Literal["accepted", "refused", "open"]


class Swap(Result):
    """What changes in the panel mean when one judge takes the place of another.

    changes : kind ("system difference", "pass rate", "language"), language, first, second, change, low, high, inside
    """

    out: str
    into: str
    answer: Answer
    changes: pd.DataFrame
    matters: float
    level: float
    tasks: int
    needed: int | None
    """Tasks that would settle an open answer, as the means stand; None when more tasks cannot."""
    share: float
    """Weight of the judge in the panel mean."""
    blind_spot: float
    """Share of tasks on which a judge may fail without any failure among these tasks, one-sided at the level."""
    blind_points: float
    """What such failures could move a change by."""
    guard: bool
    """Whether the limits of the changes allow for them."""


def swap_judges(
    panel: Panel,
    out: str,
    into: str,
    *,
    matters: float | None = None,
    threshold: float | None = None,
    alone: bool = False,
    guard: bool = False,
    level: float = 0.95,
) -> Swap:
    """Whether judge `into` may replace judge `out`.

    Accepted when every change lies within +-matters: each interval is a two-sided one at 2 level - 1 (two one-sided
    tests), so that a swap whose largest change is just `matters` is accepted with probability 1 - level at most.
    Refused when some change surely lies beyond, allowing for all of them at once. What fails rarely may not have failed
    on these tasks: that blind spot is given, and `guard` adds it to every interval.

    matters : in points (percentage points for pass rates); 2% of the scale by default
    threshold : also compare pass rates of a gate at this score
    alone : the judge is used by itself; else the change is that of the mean over all judges but one of the two
    guard : allow for failures that have not shown

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, judges=3, seed=1)
    >>> swap_judges(panel, panel.judges[0], panel.judges[1], matters=50.0).answer
    'accepted'
    """
    check_level(level)
    for judge in (out, into):
        if judge not in panel.judges:
            raise PanelError(f"No judge {clean(judge)!r} in this panel; it has {some(panel.judges, 5)}.")
    if out == into:
        raise UsageError("A judge cannot be swapped for itself: name two judges.")
    low, high = panel.range
    limit = 0.02 * (high - low) if matters is None else matters
    if not (np.isfinite(limit) and limit > 0):
        raise UsageError(f"matters is the largest change you would accept, above 0; not {limit}.")
    share = 1.0 if alone else 1 / (len(panel.judges) - 1)
    labels, values = _values(panel, out, into, share, threshold)
    if labels.empty:
        raise PanelError("Without systems, and with one language, a swap changes no comparison. Add --at SCORE.")
    if np.isnan(values).all(axis=0).any():
        raise PanelError("For some system and language the two judges have no task in common, so nothing is known.")
    mean, se, _, units = mean_of_known(values, panel)
    spot = 1 - (1 - level) ** (1 / units)
    unseen = spot * share * np.where(labels["kind"] == "pass rate", 100.0, high - low)
    more = unseen if guard else 0.0
    inner = stdtrit(units - 1, level) * se + more
    outer = stdtrit(units - 1, 1 - (1 - level) / (2 * len(mean))) * se + more
    inside = np.abs(mean) + inner < limit
    beyond = np.abs(mean) - outer > limit
    answer: Answer = "accepted" if inside.all() else "refused" if beyond.any() else "open"
    needed = None
    if answer == "open" and float(np.abs(mean).max()) < limit:
        factor = float(np.max(inner / np.maximum(limit - np.abs(mean), 1e-12))) ** 2
        needed = int(np.ceil(factor * len(panel.tasks)))
    return Swap(
        out=out,
        into=into,
        answer=answer,
        changes=labels.assign(change=mean, low=mean - inner, high=mean + inner, inside=inside),
        matters=limit,
        level=level,
        tasks=len(panel.tasks),
        needed=needed,
        share=share,
        blind_spot=float(spot.max()),
        blind_points=float(unseen.max()),
        guard=guard,
    )


def _values(panel: Panel, out: str, into: str, share: float, threshold: float | None) -> tuple[pd.DataFrame, Array]:
    """Labels of every change, and its value in each task: (n, changes)."""
    a, b = panel.judges.index(out), panel.judges.index(into)
    names: list[tuple[str, str, str, str]] = []
    parts = [np.zeros((len(panel.tasks), 0))]
    if len(panel.languages) > 1 and not panel.apart:  # a language against the others, on the same tasks
        difference = share * (panel.scores[..., b] - panel.scores[..., a])  # (n, k)
        names += [("language", x, "", "") for x in panel.languages]
        parts.append(difference - difference.mean(axis=1, keepdims=True))
    scores = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
    systems = panel.systems or ("",)
    moved = share * (scores[..., b] - scores[..., a])  # (n, s, k)
    i, j = pair_index(len(systems))
    parts.append((moved[:, i] - moved[:, j]).transpose(0, 2, 1).reshape(len(moved), -1))
    pairs = [(systems[p], systems[q]) for p, q in zip(i, j, strict=True)]
    names += [("system difference", x, *pair) for x in panel.languages for pair in pairs]
    if threshold is not None:
        before = np.where(np.isnan(scores[..., a]), np.nan, 100.0 * (scores[..., a] > threshold))
        after = np.where(np.isnan(scores[..., b]), np.nan, 100.0 * (scores[..., b] > threshold))
        parts.append((share * (after - before)).transpose(0, 2, 1).reshape(len(scores), -1))
        names += [("pass rate", x, s, "") for x in panel.languages for s in systems]
    frame, values = pd.DataFrame(names, columns=["kind", "language", "first", "second"]), np.concatenate(parts, axis=1)
    # A system that a language lacks is nobody's to change there.
    absent = {(x, s) for at, x in enumerate(panel.languages) for of, s in enumerate(systems)
              if np.isnan(scores[:, of, at][:, [a, b]]).all()}  # fmt: skip
    there = [not {(x, i), (x, j)} & absent for _, x, i, j in names]
    return frame[there].reset_index(drop=True), values[:, there]
