"""A year of drift checks at once: `drift` without its tables, for hundreds of runs on the same tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.estimate.flips import adjusted_p
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.resample import check_level
from polyjudge.panel.arrays import Array
from polyjudge.questions.drift.drift import (
    SHARE_EFFECTS,
    SHARE_FLOOR,
    UNLIKE,
    Both,
    agreement_values,
    watched_values,
)
from polyjudge.questions.drift.drift_systems import ROUNDING, SHARE_SYSTEMS, contrasts, set_aside


def nightly(
    then: Array, now: Array, floor_then: Array, floor_now: Array, *, level: float = 0.95, runs: int = 365,
    unlike: bool = False,
) -> NDArray[np.bool_]:  # fmt: skip
    """Which of many runs on the same tasks would alarm: `drift` without its tables, for whole years at once.

    then, now : (n, k, m) and (..., n, k, m) scores, with systems (n, s, k, m) and (..., n, s, k, m)
    floor_then, floor_now : the shares of them at the lowest value
    unlike : each is the mean of other numbers of replicates then and now
    """
    alarms = (1 - check_level(level)) / runs * (UNLIKE if unlike else 1.0)
    if then.ndim == 3:
        return _alarmed(then, now, (floor_then, floor_now), None, alarms)
    share = (1 - SHARE_SYSTEMS) * alarms

    def judges(then: Array, now: Array, floors: tuple[Array, Array]) -> NDArray[np.bool_]:
        both = (then, now) if then.shape[1] > 1 else None
        low, lower = (x.mean(axis=-3) for x in floors)
        return _alarmed(then.mean(axis=-3), now.mean(axis=-3), (low, lower), both, share)

    out = judges(then, now, (floor_then, floor_now))
    moved = (adjusted_p(contrasts(now - then)) <= SHARE_SYSTEMS * alarms).any(axis=-1)
    for run in map(tuple, np.argwhere(moved)):
        left = set_aside(now[run] - then, alarms, seed=7)[0]
        out[run] = judges(then[:, left], now[run][:, left], (floor_then[:, left], floor_now[run][:, left]))
    return out


def _alarmed(then: Array, now: Array, floors: tuple[Array, Array], systems: Both, alarms: float) -> NDArray[np.bool_]:
    """Which runs (..., n, k, m) alarm at the level `alarms`; `systems`: the same scores by system, then and now."""
    before, after = watched_values(then, now)
    watched = after - before
    if systems is not None and then.shape[-1] > 2:
        sight = agreement_values(systems[1], systems[0]) - agreement_values(systems[0], systems[0])
        watched = np.concatenate([watched, sight], axis=-1)
    out = np.zeros(now.shape[:-3], bool)
    for share, d in (
        (1 - SHARE_FLOOR - SHARE_EFFECTS, double_centre(now) - double_centre(then)),
        (SHARE_EFFECTS, watched),
        (SHARE_FLOOR, floors[1] - floors[0]),
    ):
        d = d.reshape(*now.shape[:-2], -1)
        d = np.where(np.abs(d) > ROUNDING * max(float(np.ptp(then)), np.finfo(float).tiny), d, 0.0)
        out |= (adjusted_p(d) <= share * alarms).any(axis=-1)
    return out
