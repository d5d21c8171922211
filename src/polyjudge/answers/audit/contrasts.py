"""How far each cell is off, tested again as cells are left out (METHODS 18, 40). Numbers, no sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.panel import Panel
from polyjudge.stats.blind import BlindSpot, blind_spot
from polyjudge.stats.cells import Excess, Values, additive_projection, excess
from polyjudge.stats.interval import Interval, group_df, interval, pass_prior, ruled_out

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Cell = tuple[int, int]
MOST_NAMED = 5
COARSE = 0.1
"""Share of the scale from which a difference is large."""
FEW_DIFFERING = 10
"""Where fewer units differ, a t interval says little of those that differ and were not drawn."""


@dataclass(frozen=True)
class Split:
    """One judge (or language) without which nothing is clear, in two groups of languages (or judges).

    is_judge : whether `one` is a judge
    group : positions of the smaller group, of languages where `one` is a judge
    size, low, high : by how much it differs between the groups
    """

    is_judge: bool
    one: int
    group: list[int]
    size: float
    low: float
    high: float
    is_higher: bool


class OffContrasts:
    """The contrasts of one panel: the excess of each cell over the additive fit of the others."""

    def __init__(self, panel: Panel, values: Values, matters: float, level: float) -> None:
        self.panel, self.values, self.matters, self.level = panel, values, matters, level
        self.present = values.present
        k, m = self.shape = self.present.shape
        self.distinct = np.ones((k, m), dtype=bool)  # with two languages (or judges) every contrast is there twice
        self.distinct[1 if k == 2 else k :] = False
        self.distinct[:, 1 if m == 2 else m :] = False
        self._position, self._sign = np.zeros((k, m), dtype=int), np.ones((k, m))
        self._position[self.distinct] = np.arange(self.distinct.sum())
        if k == 2:
            self._position[1], self._sign[1] = self._position[0], -1
        if m == 2:
            self._position[:, 1], self._sign[:, 1] = self._position[:, 0], -self._sign[:, 0]

    def with_values(self, values: Values) -> OffContrasts:
        """The same contrasts of other values."""
        return OffContrasts(self.panel, values, self.matters, self.level)

    @property
    def radius(self) -> float:
        """The radius of the paper's Proposition 2, from the noise; NaN where cells are missing."""
        k, m = self.shape
        is_complete = self.present.all() and self.values.units > 1
        sigma = cbc.noise_sigma(self.values.v) if is_complete else float("nan")
        return float(cbc.radius(sigma, self.values.units, k, m, 1 - self.level))

    # --- tests ---

    def interval(
        self,
        x: Array,
        contrasts: Array | None,
        together: int | None = None,
        grid: tuple[int, int] | None = None,
    ) -> Interval:
        """Of contrasts with these values (units, c). Where cells are missing, or scores are two-valued, the contrasts
        themselves (c, cells) say more of their variances."""
        prior, scale = None, None if contrasts is None else self.values.scale(contrasts)
        if self.panel.two_valued and contrasts is not None:
            rates = (self.values.mean - self.panel.scale[0]) / self.panel.width
            prior = pass_prior(rates, self.values.units, contrasts)
            if scale is not None:  # both speak of the size of the contrast
                prior = prior / np.maximum((contrasts**2).sum(1), 1e-300)
        df = group_df(x, self.values.seen)
        return interval(x, level=self.level, together=together, prior=prior, df=df, scale=scale, grid=grid)

    def excess(self, over: Excess, cells: Mask) -> Interval:
        """The excess of these cells."""
        needed = self.values.spread is not None or self.panel.two_valued
        grid = int(cells.any(1).sum()), int(cells.any(0).sum())
        is_whole_grid = cells.sum() == grid[0] * grid[1]
        contrasts = over.contrasts[cells.ravel()] if needed else None
        return self.interval(self.numbers(over, cells), contrasts, grid=grid if is_whole_grid else None)

    def numbers(self, over: Excess, cells: Mask) -> Array:
        """One number per unit for the excess of each of these cells; NaN where it cannot be told."""
        flat = np.where(self.present, self.values.v, 0.0).reshape(self.values.units, -1)
        at = cells.ravel()
        x = over.of(flat)[:, at]
        x[np.abs(x) <= 1e-12 * np.abs(flat).max(initial=0.0)] = 0.0  # rounding is no difference
        connected = np.abs(over.of(self.values.null.T)).max(0, initial=0.0) < 1e-6
        x[:, ~(over.told.ravel() & connected)[at]] = np.nan
        return x

    def test(self, out: Sequence[Cell]) -> Interval:
        """The excess of every cell, with `out` left out, as arrays (k, m)."""
        tested = self.excess(excess(self.present, out), self.distinct)
        columns = (tested.estimate, tested.se, tested.df, tested.q, tested.q_one)
        estimate, se, df, q, q_one = (x[self._position] for x in columns)
        return Interval(estimate * self._sign, se, df, q, q_one, tested.units)

    def name(self, tested: Interval) -> tuple[tuple[Cell, ...], Interval]:
        """Cells at fault by leaving out the largest, one after the other; none where that does not lead to a rest in
        which nothing is clear. With two languages (judges) a cell stands for its judge (language)."""
        out: list[Cell] = []
        while True:
            candidates = self._candidates(tested, out)
            if not (tested.clear(self.matters) & np.isfinite(candidates)).any():
                return tuple(out), tested
            ranked = np.sort(candidates[np.isfinite(candidates)])
            is_tie = len(ranked) > 1 and ranked[-1] - ranked[-2] <= 1e-9 * abs(ranked[-1])
            if is_tie or len(out) >= self.most_named:
                return (), tested
            largest = np.where(np.isfinite(candidates), candidates, -np.inf)
            row, column = np.unravel_index(int(np.argmax(largest)), largest.shape)
            out.append((int(row), int(column)))
            if self._half_is_out(out):
                return (), tested
            tested = self.test(out)

    @property
    def most_named(self) -> int:
        """Cells that are named at most."""
        k, m = self.shape
        if min(k, m) > 2:
            return max(min(MOST_NAMED, (k - 1) * (m - 1) // 2), 1)
        return max(min(MOST_NAMED, (max(k, m) - 1) // 2), 1)

    def _candidates(self, tested: Interval, out: Sequence[Cell]) -> Array:
        """How clear each cell is, in standard errors; NaN where it may not be named any more."""
        t = (np.abs(tested.estimate) - self.matters) / np.maximum(tested.se, 1e-12 * self.panel.width)
        t = np.where(self.distinct, t, np.nan)
        for cell in out:
            t[cell] = np.nan
        return t

    def _half_is_out(self, out: Sequence[Cell]) -> bool:
        """Whether half of the judges of the last cell's language are left out, or half of its judge's languages."""
        k, m = self.shape
        row, column = out[-1]
        in_row = sum(cell[0] == row for cell in out)
        in_column = sum(cell[1] == column for cell in out)
        half_of_row = m > 2 and 2 * in_row >= self.present[row].sum()
        half_of_column = k > 2 and 2 * in_column >= self.present[:, column].sum()
        return bool(half_of_row or half_of_column)

    # --- splits ---

    def split(self) -> Split | None:
        """The one judge (or language) without which nothing is clear, in two groups; None where there is none."""
        found = self._alone_at_fault()
        if found is None:
            return None
        is_judge, one = found
        present = self.present if is_judge else self.present.T
        at = np.flatnonzero(present[:, one] & (present.sum(1) > 1))
        gaps = self._gaps(at, one, is_judge)
        size = gaps @ np.where(self.present, self.values.mean, 0.0).ravel()
        order = np.argsort(-size, kind="stable")
        cut = min(range(1, len(at)), key=lambda c: _scatter(size[order], c))
        high, low = order[:cut], order[cut:]
        contrast = (gaps[high].mean(0) - gaps[low].mean(0))[None]
        tested = self.interval(self.values.contrast(contrast), contrast, together=self.present.size)
        if not tested.clear(self.matters)[0]:
            return None
        is_higher = len(high) <= len(low)
        group = sorted(high if is_higher else low)
        limits = float(tested.estimate[0]), float(tested.low[0]), float(tested.high[0])
        return Split(is_judge, one, [int(at[i]) for i in group], *limits, is_higher)

    def _alone_at_fault(self) -> tuple[bool, int] | None:
        """Whether it is a judge, and which: the only one without which nothing is clear."""
        k, m = self.shape
        if min(k, m) < 3:
            return None
        found: list[tuple[bool, int]] = []
        for is_judge, size in ((True, m), (False, k)):
            for one in range(size):
                left = self.present.copy()
                left[(slice(None), one) if is_judge else (one, slice(None))] = False
                without = excess(left)
                rest = self.excess(without, without.told)
                if len(rest.q) and not rest.clear(self.matters).any():
                    found.append((is_judge, one))
        return found[0] if len(found) == 1 else None

    def _gaps(self, at: NDArray[np.intp], one: int, is_judge: bool) -> Array:
        """Contrasts (at, cells): the gap of the judge in each language, or of each judge in the language."""
        present = self.present if is_judge else self.present.T
        gaps = np.zeros((len(at), self.present.size))
        for i, x in enumerate(at):
            weights = np.zeros(present.shape)
            weights[x] = -1.0 * present[x] / max(present[x].sum() - 1, 1)
            weights[x, one] = 1.0
            gaps[i] = (weights if is_judge else weights.T).ravel()
        return gaps

    # --- what is ruled out, marks ---

    @property
    def blind(self) -> BlindSpot:
        """What failures of a cell that were not drawn could change."""
        means = np.where(self.present, self.values.mean, np.nan)
        return blind_spot(means, self.panel.scale[0], self.values.units)

    def marks(self, named: Sequence[Cell]) -> Mask:
        """Cells that are named; with two languages a judge is, with two judges a language."""
        marked, (k, m) = np.zeros(self.shape, dtype=bool), self.shape
        for row, column in named:
            marked[slice(None) if k == 2 else row, slice(None) if m == 2 else column] = True
        return marked

    def limit(self, tested: Interval, named: Sequence[Cell]) -> float:
        """The largest |excess| that the drawn units do not rule out. Where few units differ at all, what the exact
        binomial limit of the share that differs allows."""
        limits = np.where(np.isfinite(tested.q), tested.limit, np.nan)
        limits[self.marks(named)] = np.nan
        if not np.isfinite(limits).any():
            return float("nan")
        return max(float(np.nanmax(limits)), self._rare_limit(named, np.isfinite(limits)))

    def _rare_limit(self, named: Sequence[Cell], cells: Mask) -> float:
        """What units that differ could do where few of them were drawn; 0 where many were."""
        over = excess(self.present, named)
        x = self.numbers(over, over.told & cells)
        n_differing = int((np.abs(x) > 1e-9 * self.panel.width).sum(0).max(initial=0))
        if n_differing >= min(FEW_DIFFERING, self.values.units):
            return 0.0
        return self.panel.width * ruled_out(n_differing, self.values.units, self.level, int(self.distinct.sum()))

    def is_coarse(self, tested: Interval) -> bool:
        """Whether so few tasks were drawn that much is not ruled out; also where nothing can be compared. What is large
        and well known is not."""
        limit = self.limit(tested, ())
        half_width = tested.q * tested.se
        uncertain = max(float(np.nanmax(half_width, initial=0.0)), self._rare_limit((), np.isfinite(half_width)))
        return not (limit <= COARSE * self.panel.width or uncertain < limit / 2)

    def stated_limit(self, tested: Interval, named: Sequence[Cell]) -> float:
        """What is stated as ruled out: no cell but the named ones is off by more, even by failures not drawn."""
        return float(np.maximum(self.limit(tested, named), self.blind.size))

    def beta(self) -> Array:
        """What calibrating subtracts (k, m): the residual of the additive fit; NaN in cells never seen."""
        residual = np.full(self.shape, np.nan)
        seen = np.where(self.present, self.values.mean, 0.0)[self.present]
        residual[self.present] = seen - additive_projection(self.present) @ seen
        return residual

    def is_calibrated(self, tested: Interval) -> bool:
        """Whether all contrasts are zero to rounding though units differ: the scores were calibrated by themselves."""
        estimate, se = (np.abs(x[self.distinct & np.isfinite(tested.q)]) for x in (tested.estimate, tested.se))
        return len(se) > 0 and float(se.min()) > 0 and bool((estimate <= 1e-5 * se).all())


def _scatter(sizes: Array, cut: int) -> float:
    """Squares about the means of the first `cut` and of the others."""
    return float(np.var(sizes[:cut]) * cut + np.var(sizes[cut:]) * (len(sizes) - cut))
