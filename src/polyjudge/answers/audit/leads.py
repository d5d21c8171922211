"""The lead of one system over others, before and after a correction, and the one rule that judges it (METHODS 36).

Every lead is a contrast of the values of METHODS 17: one number per unit. So the leads before and after a correction
are a pair over units, and how much of the lead is left has an interval of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.answers.amounts import tiny_of
from polyjudge.answers.audit.boards import LEAST, Sums, board_values, compared_units
from polyjudge.panel import Panel
from polyjudge.stats.cells import Values, complete
from polyjudge.stats.interval import interval

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Verdict = Literal["stands", "depends", "does not stand", "cannot be told", "no verdict", "does not apply"]
GONE = 0.10
"""Chance, shared by all that are left out in turn, of calling a lead less than half though half of it is left."""
SHARE = 0.5
"""A lead falls where surely less than this share of it is left."""
LARGE = 500_000
"""Places for scores from which only suspects are left out in turn."""
SUSPECTS = 3
LeftOut = tuple[tuple[int, ...], tuple[int, ...]]
"""Judges and languages that are left out."""


@dataclass(frozen=True)
class Lead:
    """The lead of `top` over each system (NaN over itself and where they cannot be compared), with limits that hold
    for all pairs of systems at once.

    units : (units, systems) one number per unit, whose mean is the lead
    df : degrees of freedom of a plain t over units
    """

    top: int
    value: Array
    low: Array
    high: Array
    units: Array
    df: float
    tiny: float
    rivals: tuple[int, ...]

    @property
    def rival(self) -> int:
        """The system that is nearest; -1 where none can be compared."""
        if not np.isfinite(self.value).any():
            return -1
        return int(np.where(np.isfinite(self.value), np.round(self.value / self.tiny), np.inf).argmin())

    @property
    def is_certain(self) -> bool:
        """Whether the top is surely ahead of every rival; it is not where one can no longer be compared."""
        return bool(self.rivals) and bool((self.low[list(self.rivals)] > self.tiny).all())

    def over(self, rival: int) -> tuple[float, float, float]:
        """The lead over one system and its limits."""
        return float(self.value[rival]), float(self.low[rival]), float(self.high[rival])


@dataclass(frozen=True, eq=False)
class Contest:
    """Whose lead is tested: that of `top` over `rivals`, on which panel, with which weights of judges, at which level.

    comparisons : number of pairs whose intervals hold together
    is_plain : whether the board of pairs has plain shares of wins
    sums : the scores added up by language and judge, for estimates without limits; None for pairs
    """

    panel: Panel
    top: int
    rivals: tuple[int, ...]
    level: float
    comparisons: int
    weights: Array | None = None
    is_plain: bool = False
    sums: Sums | None = None

    def lead(self, values: Values, compared: NDArray[np.int64] | None = None) -> Lead:
        """The lead by these values of systems.

        compared : units in which each system is compared with another, where that is not all of them
        """
        panel, n_systems = self.panel, len(self.panel.systems)
        tiny = tiny_of(panel)
        rivals = np.array(self.rivals, dtype=int)
        x = values.v[:, [self.top]] - values.v[:, :n_systems]
        n_compared = np.full(n_systems, len(x)) if compared is None else compared
        n_shared = np.minimum(n_compared[self.top], n_compared[rivals])
        lost = np.abs(values.null[self.top] - values.null[rivals]).max(1, initial=0.0) > 1e-6
        columns = x[:, rivals]
        columns = np.where(lost, np.nan, columns)
        prior = self._prior(values.v[:, :n_systems].mean(0), rivals) if panel.two_valued else None
        made = interval(
            columns, level=self.level, together=self.comparisons, prior=prior, df=np.maximum(n_shared - 1.0, 1.0)
        )
        quantile = np.where(n_shared < LEAST, np.nan, made.q)
        value, low, high = (np.full(n_systems, np.nan) for _ in range(3))
        value[rivals] = np.where(np.abs(made.estimate) <= tiny, 0.0, made.estimate)
        low[rivals], high[rivals] = value[rivals] - quantile * made.se, value[rivals] + quantile * made.se
        return Lead(self.top, value, low, high, x, max(float(n_compared[self.top]) - 1.0, 1.0), tiny, self.rivals)

    def _prior(self, rates: Array, rivals: NDArray[np.int64]) -> Array:
        """Variance of differences of pass rates, up to a factor."""
        floor = 1 / (2 * self.panel.units)
        p = np.clip((rates - self.panel.scale[0]) / self.panel.width, floor, 1 - floor)
        p = np.where(np.isfinite(p), p, 0.5)
        return np.asarray((p * (1 - p))[self.top] + (p * (1 - p))[rivals])

    def lead_in(self, panel: Panel, weights: Array | None = None) -> Lead | None:
        """The lead in another panel of the same systems; None where it compares nothing."""
        if panel.pairs is not None:
            from polyjudge.answers.audit.pair_leads import find_pair_lead

            return find_pair_lead(self, panel, weights)
        if not np.isfinite(panel.scores[:, self.top]).any():
            return None
        compared = compared_units(panel)
        if compared is not None and not compared.any():
            return None
        if weights is None:
            return self.lead(panel.system_values(), compared)
        return self.lead(board_values(panel, weights)[0], compared)

    def lead_by_known_judges(self, panel: Panel) -> Lead | None:
        """The weighted lead where judges lack systems: over each rival by the judges that compare the two."""
        weights = np.ones(len(panel.judges)) if self.weights is None else self.weights
        total, weight = np.zeros((panel.units, len(panel.systems))), np.zeros(len(panel.systems))
        for judge in np.flatnonzero(weights > 0):
            values = panel.select(judges=[panel.judges[judge]]).system_values()
            gaps = values.v - values.v[:, [self.top]]
            is_lost = np.abs(values.null - values.null[self.top]).max(1, initial=0.0) > 1e-6
            is_known = np.isfinite(gaps).all(0) & ~is_lost
            total[:, is_known] += weights[judge] * gaps[:, is_known]
            weight += weights[judge] * is_known
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = np.where(weight > 0, total / weight, np.nan)
        if not np.isfinite(gaps[:, list(self.rivals)]).any():
            return None
        return self.lead(Values(gaps, np.zeros((gaps.shape[1], 0)), "weighted"), compared_units(panel))

    def find_suspects(self, left_out: Sequence[LeftOut]) -> list[LeftOut]:
        """Those of a large panel whose absence may take most of the lead, by estimates: the smallest leads that are
        left, also in units of their error. The others are left with more, and surer; a fit of each would take long."""
        if self.sums is None or self.panel.scores.size < LARGE or len(left_out) <= 2 * SUSPECTS:
            return list(left_out)
        n_languages, n_judges = self.panel.shape[2:]
        leads = []
        for judges, languages in left_out:
            stay_judges = [b for b in range(n_judges) if b not in judges]
            stay_languages = [x for x in range(n_languages) if x not in languages]
            leads.append(self.sums.lead(self.top, self.rivals, stay_languages, stay_judges))
        suspects = {i for kind in (0, 1) for i in sorted(range(len(leads)), key=lambda i: leads[i][kind])[:SUSPECTS]}
        return [left_out[i] for i in sorted(suspects)]

    def lead_without(self, judges: Sequence[int] = (), languages: Sequence[int] = ()) -> Lead | None:
        """The lead without these judges or languages. A system that has scores in no other language is no rival."""
        if languages:
            elsewhere = np.asarray(np.isfinite(np.delete(self.panel.scores, languages, axis=2)).any((0, 2, 3)))
            rivals = tuple(rival for rival in self.rivals if elsewhere[rival])
            return replace(self, rivals=rivals)._lead_of_part(judges, languages) if rivals else None
        return self._lead_of_part(judges, languages)

    def _lead_of_part(self, judges: Sequence[int], languages: Sequence[int]) -> Lead | None:
        panel = self.panel
        stay_judges = [b for b in range(len(panel.judges)) if b not in judges]
        stay_languages = [x for x in range(len(panel.languages)) if x not in languages]
        if panel.complete and self.weights is None and panel.pairs is None:
            if judges:
                return self.lead(_mean_of_columns(self._by_judge, stay_judges))
            return self.lead(_mean_of_columns(self._by_language, stay_languages))
        part = panel.select(
            judges=[panel.judges[b] for b in stay_judges], languages=[panel.languages[x] for x in stay_languages]
        )
        if self.weights is None:
            return self.lead_in(part)
        weights = self.weights[stay_judges]
        return self.lead_in(part, weights) if (weights > 0).any() else None

    def lead_by(self, judge: int) -> Lead | None:
        """The lead by one judge alone."""
        others = [b for b in range(len(self.panel.judges)) if b != judge]
        return self.lead_without(judges=others) if others else None

    @cached_property
    def _by_judge(self) -> Array:
        """(units, systems, judges) of a complete panel."""
        return complete(self.panel.scores.mean(2), self.panel.unit, self.panel.weight).v

    @cached_property
    def _by_language(self) -> Array:
        """(units, systems, languages) of a complete panel."""
        return complete(self.panel.scores.mean(3), self.panel.unit, self.panel.weight).v


def _mean_of_columns(values: Array, columns: Sequence[int]) -> Values:
    """Values of systems of some judges or languages of a complete panel."""
    return Values(values.take(columns, axis=2).mean(2), np.zeros((values.shape[1], 0)))


def is_less_left(before: Lead, after: Lead, n_tried: int = 1) -> bool:
    """Whether surely less than half of the lead is left over the system that is nearest after the correction.

    n_tried : what is left out in turn shares one error level
    """
    rival = after.rival
    if rival < 0 or not np.isfinite(after.low[rival]):
        return False
    lost = SHARE * before.units[:, rival] - after.units[:, rival]
    n_units = len(lost)
    quantile = float(stdtrit(min(before.df, after.df), 1 - GONE / n_tried))
    return bool(lost.mean() - quantile * lost.std(ddof=1) / np.sqrt(n_units) > 0)


def judge_lead(before: Lead, after: Lead | None, falls: Verdict, *, is_seen: bool = True, n_tried: int = 1) -> Verdict:
    """The one rule. A lead stands where the top is still surely ahead of all; it falls where the threat is seen and
    surely less than half of the lead is left; else it cannot be told."""
    if after is None or after.rival < 0:
        return "cannot be told"
    if after.is_certain:
        return "stands"
    if is_seen and is_less_left(before, after, n_tried):
        return falls
    return "cannot be told"
