"""Drift with systems: what the systems changed by themselves is set aside before the judges are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.calibrate.history import Memory, floor_share
from polyjudge.second.estimate.flips import reach, sign_flips
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.fill import fill_systems
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.panel import Panel
from polyjudge.second.report.sections import Finding, find

COLUMNS = ("system", "language", "change", "low", "high", "p")
LEAST_PAIRED = 10
"""Fewer common tasks than this are compared as if they were different ones."""
ROUNDING = 1e-7
"""Differences up to this share of the score range are the rounding of the saved file."""
SHARE_SYSTEMS = 0.1
"""Part of the error level that the systems get, before the others, where they can be compared task by task."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The systems of the fit and of the new scores.

    changed : system, language, change, low, high, p: systems that score otherwise than at the fit, beyond what all
        systems do, by more than one judge
    compared : systems on which the judges are compared; empty where panels have none, or they could not be told apart
    """

    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    changed: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COLUMNS)))
    compared: tuple[str, ...] = ()
    unlike: bool = False
    """The systems differ, and the calibrator does not remember enough to compare the same ones."""

    @property
    def findings(self) -> list[Finding]:
        """What came, went or changed among the systems: no fault of a judge."""
        out = []
        if self.unlike:
            out.append(find("notice", "systems-unlike", new=list(self.new), gone=list(self.gone)))
        elif self.new or self.gone:
            came, went = list(self.new), list(self.gone)
            out.append(find("notice", "systems-differ", new=came, gone=went, compared=len(self.compared)))
        if len(self.changed):
            first = {str(name): value for name, value in self.changed.iloc[0].items()}
            names = list(dict.fromkeys(self.changed["system"]))
            out.append(find("notice", "system-changed", systems=names, compared=len(self.compared), **first))
        return out


def judged(cal: ConsensusCalibrator, panel: Panel, alarms: float, seed: int) -> Judged:
    """Compare the systems of a calibrator with those of a panel (of the languages and judges that both have).

    A change of a judge moves all systems alike, so a system is held against the mean of the others, in every language
    and over all. A judge that no longer agrees moves good and bad systems apart by itself: what one judge shows alone
    is no change of a system.
    """
    memory = cal.memory_
    if memory is None or not memory.systems or panel.system_scores is None:
        # A calibrator of earlier versions, or fitted without systems, says nothing about them.
        return Judged()
    new = tuple(x for x in panel.systems if x not in memory.systems)
    gone = tuple(x for x in memory.systems if x not in panel.systems)
    common = [x for x in memory.systems if x in panel.systems]
    pairs = None if not common else paired_systems(cal, panel, common)
    change = None if pairs is None else pairs[1] - pairs[0]
    if change is None or len(change) < LEAST_PAIRED:
        return Judged(new, gone, unlike=bool(new or gone))
    left, moved = set_aside(change, alarms, seed)
    rows = [{"system": common[i], "language": [ALL, *panel.languages][x], **row} for i, x, row in moved]
    return Judged(new, gone, pd.DataFrame(rows, columns=list(COLUMNS)), tuple(common[i] for i in left))


def set_aside(change: Array, alarms: float, seed: int) -> tuple[list[int], list[tuple[int, int, dict[str, float]]]]:
    """Of changes (n, s, k, m): systems that did not change by themselves, and those that did, one after the other, with
    the language (0: all of them) and the numbers of each."""
    left, moved = list(range(change.shape[1])), []
    while len(left) > 1:
        found = _moved(change[:, left], alarms, seed)
        if found is None:
            break
        moved.append((left.pop(found[0]), *found[1:]))
    return left, moved


def narrowed(cal: ConsensusCalibrator, panel: Panel, found: Judged) -> tuple[ConsensusCalibrator, Panel]:
    """Calibrator and scores of the compared systems alone; as they are where that is all of them."""
    memory = cal.memory_
    if memory is None or not found.compared or not (found.new or found.gone or len(found.changed)):
        return cal, panel
    assert memory.by_system is not None
    axes = memory.tasks, tuple(cal.interaction_.index), tuple(cal.interaction_.columns)
    whole = Panel.from_array(memory.by_system, *axes, systems=memory.systems)
    out = ConsensusCalibrator().fit(whole.select(systems=found.compared))
    out.range_ = cal.range_
    assert out.memory_ is not None
    # The remembered scores are means over replicates, whose share at the floor is not that of single scores.
    single = panel.replicate_scores is None and memory.floor is not None
    if memory.floor is not None:
        single = single and bool(np.allclose(floor_share(whole, cal.range_[0])[0], memory.floor, atol=1e-6))
    floor, error, each = None, None, None
    if single:
        floor, error, each = floor_share(whole.select(systems=found.compared), cal.range_[0])
    out.memory_ = replace(out.memory_, floor=floor, floor_se=error, floors=each)
    return out, panel.select(systems=found.compared)


def common_tasks(memory: Memory, panel: Panel) -> tuple[list[int], list[int]]:
    """Where the tasks that both hold stand in the memory and in the panel."""
    place = {task: i for i, task in enumerate(memory.tasks)}
    here = [i for i, task in enumerate(panel.tasks) if task in place]
    return [place[panel.tasks[i]] for i in here], here


def paired_systems(cal: ConsensusCalibrator, panel: Panel, common: Sequence[str]) -> tuple[Array, Array] | None:
    """(n, s, k, m) scores then and now of common tasks and systems; None where they are not remembered."""
    memory = cal.memory_
    if memory is None or memory.by_system is None or panel.system_scores is None or not np.all(panel.weights == 1):
        return None
    there, here = common_tasks(memory, panel)
    if not here:
        return None
    axes = (
        there,
        [memory.systems.index(x) for x in common],
        cal.interaction_.index.get_indexer(pd.Index(panel.languages)).tolist(),
        cal.interaction_.columns.get_indexer(pd.Index(panel.judges)).tolist(),
    )
    now = fill_systems(panel.system_scores, panel.weights)[np.ix_(here, [panel.systems.index(x) for x in common])]
    whole = ~np.isnan(now).any(axis=(1, 2, 3))
    return memory.by_system[np.ix_(*axes)][whole], now[whole]


def _moved(change: Array, alarms: float, seed: int) -> tuple[int, int, dict[str, float]] | None:
    """The system that surely moved against the others, and of those the one that moved most; None if none did."""
    if change.shape[3] == 1:  # whether the system changed or its only judge cannot be told
        return None
    values = contrasts(change)
    gap = ROUNDING * max(float(np.abs(values).max()), np.finfo(float).tiny)
    _, mean, tested = sign_flips(np.zeros_like(values), values, gap, SHARE_SYSTEMS * alarms, seed)
    sure: NDArray[np.bool_] = np.abs(mean) > tested.band
    for judge in range(change.shape[3]):
        rest = contrasts(np.delete(change, judge, axis=3))
        error = rest.std(axis=0, ddof=1) / np.sqrt(len(rest))
        sure &= np.sign(mean) * rest.mean(axis=0) > reach(tested.critical, error)
    if not sure.any():
        return None
    own = np.abs(change.mean(axis=(0, 3)))  # (s, k): of two systems that part, the one that moved
    own = np.concatenate([np.abs(change.mean(axis=(0, 2, 3)))[:, None], own], axis=1)
    own[:, 0] = np.where(sure.reshape(own.shape)[:, 1:].any(axis=1), 0.0, own[:, 0])  # where it moved, if that is known
    system, language = np.unravel_index(int(np.where(sure.reshape(own.shape), own, -1.0).argmax()), own.shape)
    here = sure.reshape(own.shape)[system]
    if here[0] and 2 * here[1:].sum() > len(here) - 1:
        language = np.intp(0)  # what moved in most languages is said of all
    at = int(system) * own.shape[1] + int(language)
    half = tested.band[at]
    row = {"change": mean[at], "low": mean[at] - half, "high": mean[at] + half, "p": tested.p_cell[at]}
    return int(system), int(language), row


def contrasts(change: Array) -> Array:
    """(..., n, s (1 + k)): each system's change over all languages and in each, against the mean of the others."""
    by = change.mean(axis=-1)
    by = np.concatenate([by.mean(axis=-1, keepdims=True), by], axis=-1)
    s = by.shape[-2]
    out: Array = (by - by.mean(axis=-2, keepdims=True)) * (s / (s - 1))
    return out.reshape(*out.shape[:-2], -1)
