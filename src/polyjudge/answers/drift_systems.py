"""Did a system change by itself, and not the judges? (METHODS 21)

Whether a system certainly changed otherwise than the median one is asked by all judges together and by each. What is
said then is what was measured, where that is certainly a change; else, and where both of two changed, the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.drift_same import ROUNDING, PairedScores, SystemChanges
from polyjudge.answers.drift_words import judge_name, systems_finding
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.cells import mean_seen, unit_means
from polyjudge.stats.interval import Interval, interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
RELATIVE_VARIANCE = 3.0
"""Variance of a change relative to the median system, beside that of the median system itself."""


@dataclass(frozen=True)
class _Tests:
    """Changes of systems by all judges together (systems,), and by each (systems x judges,)."""

    together: Interval
    each: Interval


@dataclass(frozen=True)
class _SystemUnits:
    """Mean changes (units, systems, judges) of each unit, and the degrees of freedom of each (systems, judges)."""

    by_unit: Array
    df: Array

    @classmethod
    def of(cls, paired: PairedScores) -> _SystemUnits:
        """Averaged over languages; scores of a task and language are a row."""
        difference = paired.difference if not paired.is_weighted else paired.difference[:, :1]
        n, s, k, m = difference.shape
        rows = difference.transpose(0, 2, 1, 3).reshape(n * k, s * m)
        by_unit, n_units = unit_means(rows, np.repeat(paired.unit, k))
        return cls(by_unit.reshape(-1, s, m), np.maximum(n_units - 1.0, 1.0).reshape(s, m))

    @property
    def known_df(self) -> Array:
        """Degrees of freedom of each system by the judges that can be compared (systems,)."""
        is_known = np.isfinite(self.by_unit).all(0)
        return np.asarray(np.where(is_known, self.df, self.df.max()).min(1))

    def test(self, changes: Array, error: float, scale: Array) -> _Tests:
        """Changes (units, systems, judges), by all judges and by each."""
        _, s, m = changes.shape
        together = interval(mean_seen(changes, (2,)), level=1 - error, together=s, df=self.known_df, scale=scale)
        each = interval(
            changes.reshape(-1, s * m), level=1 - error, together=s * m, df=self.df.ravel(), scale=np.repeat(scale, m)
        )
        return _Tests(together, each)

    def is_by_all_judges(self, changes: Array, error: float) -> bool:
        """Whether all judges moved together: none certainly differs from their mean by half the change."""
        changes = changes[:, np.isfinite(changes).all(0)]
        df = np.full(changes.shape[1], self.df.min())
        apart = interval(changes - changes.mean(1, keepdims=True), level=1 - error, df=df)
        is_one_way = bool((np.sign(changes.mean(0)) == np.sign(changes.mean())).all())
        return is_one_way and not apart.clear(abs(float(changes.mean())) / 2).any()


def compare_systems(paired: PairedScores, panel: Panel, matters: float, error: float) -> SystemChanges:
    """Find systems whose scores changed by all judges alike, and unlike the other systems."""
    n_systems = len(panel.systems)
    if n_systems < 2 or paired.is_weighted:
        return no_systems(panel)
    tiny = ROUNDING * panel.width
    units = _SystemUnits.of(paired)
    own = units.test(units.by_unit, error, np.ones(n_systems))
    middle = _median_systems(own.together)
    relative_changes = _relative_to(units.by_unit, middle)
    is_middle = np.isin(range(n_systems), middle)
    relative = units.test(relative_changes, error / 2, np.where(is_middle, 1.0, RELATIVE_VARIANCE))
    different = [
        int(i)
        for i in np.flatnonzero(relative.together.clear(tiny))
        if units.is_by_all_judges(relative_changes[:, i], error)
    ]
    is_pair_of_changes = n_systems == 2 and bool(own.together.clear(tiny).all())
    certain = own.together.clear(tiny)
    changed = [i for i in different if certain[i] and not is_pair_of_changes]
    findings = []
    if different:
        who = _all_judges(panel)
        relative_sizes = _only(_sizes(relative.together), different)
        findings.append(systems_finding(panel, who, changed, _sizes(own.together), relative_sizes, matters))
    findings += _single_judge_findings(panel, own.each, relative.each, different, matters)
    frame = _systems_frame(panel, own.together, changed or different)
    is_all = len(changed) == n_systems
    return SystemChanges(frame, findings, [i for i in range(n_systems) if is_all or i not in changed])


def no_systems(panel: Panel) -> SystemChanges:
    """Where systems are not compared."""
    import pandas as pd

    frame = pd.DataFrame(columns=["system", "change", "low", "high", "changed"])
    return SystemChanges(frame, [], list(range(len(panel.systems))))


def _median_systems(own: Interval) -> NDArray[np.intp]:
    """The system with the median change, or the two beside it."""
    n_known = max(int(np.isfinite(own.estimate).sum()), 1)
    return np.asarray(np.argsort(own.estimate)[(n_known - 1) // 2 : n_known // 2 + 1])


def _relative_to(by_unit: Array, middle: NDArray[np.intp]) -> Array:
    """Changes less those of the median systems, of the other one where there are two; NaN for the median itself."""
    median = np.asarray(mean_seen(by_unit[:, middle], (1,)))[:, None]
    is_pair = by_unit.shape[1] == 2
    relative = by_unit - (by_unit[:, ::-1] if is_pair else median)
    if len(middle) == 1:
        relative[:, middle] = np.nan
    return relative


def _single_judge_findings(
    panel: Panel, own: Interval, relative: Interval, different: list[int], matters: float
) -> list[Finding]:
    """Systems that one judge scores otherwise than before, where not all judges do."""
    tiny, m = ROUNDING * panel.width, len(panel.judges)
    findings = []
    for judge in range(m):
        clear = np.flatnonzero(relative.clear(tiny)[judge::m])
        at = [int(i) for i in clear if i not in different]
        if not at:
            continue
        measured = [i for i in at if own.clear(tiny)[judge::m][i]]
        sizes, relative_sizes = _sizes(own)[:, judge::m], _only(_sizes(relative)[:, judge::m], at)
        who = f"{judge_name(panel, judge)} scores"
        findings.append(systems_finding(panel, who, measured, sizes, relative_sizes, matters))
    return findings


def _all_judges(panel: Panel) -> str:
    """The judges as the subject of a sentence."""
    if len(panel.judges) == 1:
        return f"{judge_name(panel, 0)} scores"
    return "Both judges score" if len(panel.judges) == 2 else "All judges score"


def _sizes(tested: Interval) -> Array:
    """Changes with their limits (3, number)."""
    return np.stack([tested.estimate, tested.low, tested.high])


def _only(sizes: Array, at: list[int]) -> Array:
    """Sizes (3, systems) of some systems; NaN elsewhere."""
    kept = np.full(sizes.shape, np.nan)
    kept[:, at] = sizes[:, at]
    return kept


def _systems_frame(panel: Panel, own: Interval, changed: list[int]) -> pd.DataFrame:
    import pandas as pd

    limits = {"change": own.estimate, "low": own.low, "high": own.high}
    frame = pd.DataFrame({"system": panel.systems, **limits})
    return frame.assign(changed=np.isin(range(len(panel.systems)), changed))
