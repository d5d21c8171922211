"""What a calibrator remembers of the panel it was fitted on, so that later scores can be compared with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from polyjudge.second.panel.arrays import Array, mean_there, row_blocks
from polyjudge.second.panel.fill import fill_systems
from polyjudge.second.panel.panel import Panel

MOST_BY_SYSTEM = 60_000
"""Scores by system are kept up to this many."""
MOST = 20_000
"""Task by task values are kept up to this many (tasks x cells); a larger panel is compared by its standard errors."""


@dataclass(frozen=True, eq=False)
class Memory:
    """Share of scores at the lowest value in each cell with its standard error, and what each task gave to each cell.

    floor, floor_se : (k, m), or None when tasks were hashed into units
    tasks, influence : labels (n,) and (n, k, m) values with mean `interaction`, or empty and None when too many
    cells : (n, k, m) values with the cell means as their mean (the scores of a complete panel); None in older files
    floors : (n, k, m) share of a task's scores at the lowest value; None with holes and in older files
    systems, by_system : labels (s,) and scores (n, s, k, m), holes filled; None when too many
    replicates : how many scores stood behind each; 0 in older files
    """

    floor: Array | None
    floor_se: Array | None
    tasks: tuple[str, ...]
    influence: Array | None
    cells: Array | None = None
    floors: Array | None = None
    systems: tuple[str, ...] = ()
    by_system: Array | None = None
    replicates: int = 0

    @classmethod
    def of(cls, panel: Panel, influence: Array, low: float, cells: Array | None = None) -> Memory:
        """Memory of a panel; `low` is the lowest value of the score scale."""
        if not np.all(panel.weights == 1):
            return cls(None, None, (), None)
        floor, error, each = floor_share(panel, low)
        if influence.size > MOST:
            return cls(floor, error, (), None, systems=panel.systems)
        floors = None if np.isnan(each).any() else each
        count = max(1, len(panel.replicates))
        return cls(floor, error, panel.tasks, influence, cells, floors, panel.systems, _by_system(panel), count)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; nine digits are enough for a comparison."""

        def kept(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return np.vectorize(lambda x: float(f"{x:.9g}"))(value).tolist()
            return list(value) if isinstance(value, tuple) else value

        return {f.name: kept(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: Any, k: int, m: int) -> Memory | None:
        """The memory of `to_dict`, checked. None for files that have none."""
        if data is None:
            return None
        if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
            raise ValueError("the memory of tasks is not as it should be")
        tasks, systems = (tuple(map(str, data.get(key, ()))) for key in ("tasks", "systems"))
        if len(set(tasks)) != len(tasks) or len(set(systems)) != len(systems):
            raise ValueError("a task or a system stands twice in the memory")

        def read(key: str, shape: tuple[int, ...]) -> Array | None:
            if data.get(key) is None:
                return None
            values = np.array(data[key], dtype=np.float64)
            if values.shape != shape or not np.isfinite(values).all():
                raise ValueError(f"{key} of the memory is not a table of finite numbers of shape {shape}")
            return values

        floors = read("floor", (k, m)), read("floor_se", (k, m))
        by_task = (read(key, (len(tasks), k, m)) if tasks else None for key in ("influence", "cells", "floors"))
        influence, cells, each = by_task
        by_system = read("by_system", (len(tasks), len(systems), k, m)) if tasks and systems else None
        count = data.get("replicates", 0)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError("the number of replicates is no count")
        return cls(*floors, tasks, influence, cells, each, systems, by_system, count)


def _by_system(panel: Panel) -> Array | None:
    """The scores by system, or None when they are too many or a task has no score at all somewhere."""
    if panel.system_scores is None or panel.system_scores.size > MOST_BY_SYSTEM:
        return None
    filled = fill_systems(panel.system_scores, panel.weights)
    return None if np.isnan(filled).any() else filled


def floor_share(panel: Panel, low: float) -> tuple[Array, Array, Array]:
    """(k, m) share of scores at `low` in each cell, its standard error over tasks, and the share of each task.

    The error is never below that of one half score more, so that a share of 0 or 1 is not taken as certain.
    """
    values = panel.singles
    parts = (values[part] for part in row_blocks(values, 4))
    each = np.concatenate([mean_there(np.where(np.isnan(x), x, x <= low + panel.tie_gap), -1) for x in parts])
    there = ~np.isnan(each)
    n = np.maximum(there.sum(axis=0), 1)
    share = each.sum(axis=0, where=there) / n
    apart = each - share  # as large as the panel, and so squared in its place
    apart *= apart
    spread = np.sqrt(apart.sum(axis=0, where=there) / np.maximum(n - 1, 1) / n)
    guess = (share * n + 0.5) / (n + 1)
    return share, np.maximum(spread, np.sqrt(guess * (1 - guess) / n)), each
