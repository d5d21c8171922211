"""The sparse reading of an interaction: few cells off an additive panel, and which explanation fits.

Double centring spreads one faulty cell over its row and column. Least absolute deviations leave it where it is. Shapes:
n units, k languages, m judges; `...` is any number of leading axes, worked on at once.
See docs/methods.md, section 18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.incomplete import by_cluster
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.resample import in_groups, mean_and_se
from polyjudge.second.panel.arrays import Array

Kind = Literal["none", "cell", "cells", "judge", "language", "diffuse"]
MOST_CELLS = 5
"""More named cells than this are called diffuse."""
STANDS_OUT = 2.0
FOLDS = 5
MOST_GROUPS = 400
"""Cross-validation leaves out tasks, or this many groups of tasks where there are more."""
STEPS = 60
"""Interior-point steps at most; 15 to 25 are usual."""
BATCH = 2_000_000
"""Numbers in one batch of predictions."""
STEADY = 0.5
"""No cell counts more in a least-absolute fit than one with this part of the typical standard error. A judge that
always fails in a language is steady there: weighed by its own error it would outvote the sound cells."""
FAINT = 1e-9
"""Weight of a cell that a fit must not follow. It is not 0, so that a line of such cells is measured from its mean."""
LIKELY = 0.8
"""Where no tasks join the languages a cell is named if it has this part of the likelihood of all cells: the languages
that tell which of two cells is off may have few tasks."""
LARGE = 50
"""Panels with more judges than this, and fewer languages, are fitted with the two exchanged."""


class Additive:
    """Weighted least-squares fit of row and column effects with given weights (..., k, m), for any cells of that shape:
    what the weights decide is made once."""

    def __init__(self, weights: Array) -> None:
        self.turned = weights.shape[-1] > max(LARGE, weights.shape[-2])  # as many equations are solved as columns
        self.weights = weights = np.swapaxes(weights, -1, -2) if self.turned else weights
        self.rows = weights.sum(axis=-1)
        self.shares = weights / self.rows[..., None]
        normal = -np.swapaxes(weights, -1, -2) @ self.shares
        np.einsum("...jj->...j", normal)[...] += weights.sum(axis=-2)
        self.normal = normal[..., 1:, 1:]

    def __call__(self, cells: Array) -> Array:
        if self.turned:
            cells = np.swapaxes(cells, -1, -2)
        weighted = self.weights * cells
        level = weighted.sum(axis=-1) / self.rows
        right = weighted.sum(axis=-2) - (self.weights * level[..., None]).sum(axis=-2)
        column = np.zeros(right.shape)  # the first is 0: one constant of rows and columns is free
        column[..., 1:] = self._solved(right[..., 1:, None])[..., 0]
        row = level - (self.shares * column[..., None, :]).sum(axis=-1)
        out: Array = row[..., None] + column[..., None, :]
        return np.swapaxes(out, -1, -2) if self.turned else out

    def _solved(self, right: Array) -> Array:
        try:
            return np.asarray(np.linalg.solve(self.normal, right), np.float64)
        except np.linalg.LinAlgError:  # weights that all but vanish leave a column to chance: hold it near 0
            size = np.trace(self.normal, axis1=-2, axis2=-1)[..., None, None]
            held = self.normal + 1e-12 * size * np.eye(self.normal.shape[-1])
            return np.asarray(np.linalg.solve(held, right), np.float64)


def least_absolute(cells: Array, weights: Array) -> Array:
    """Residuals of the additive fit with the least sum of weights x |residual|: (..., k, m) -> (..., k, m).

    A primal-dual interior-point method (Frisch-Newton, after Portnoy and Koenker 1997) on all matrices at once. Where
    several fits are equally good it ends in the middle of them.
    """
    shape = np.broadcast_shapes(cells.shape, weights.shape)
    size = np.abs(cells).max(axis=(-2, -1), keepdims=True)
    scale = np.where(size > 0, size, 1.0)
    weight = np.broadcast_to(weights / weights.mean(axis=(-2, -1), keepdims=True), shape).reshape(-1, *shape[-2:])
    y = np.broadcast_to(cells / scale, shape).reshape(-1, *shape[-2:])
    step = max(1, BATCH // (shape[-1] * shape[-2]))
    fitted = np.concatenate([_frisch_newton(y[i : i + step], weight[i : i + step]) for i in range(0, len(y), step)])
    out: Array = ((y - fitted).reshape(shape)) * scale
    out[np.abs(out) < 1e-6 * scale] = 0.0
    return out


def sparse_reading(cells: Array, weights: Array) -> Array:
    """How far each cell is off the additive panel that fits most of them: (..., k, m) -> (..., k, m).

    With two judges or two languages there is no majority to be off from: the deviation is then shared by both.
    """
    return double_centre(cells) if min(cells.shape[-2:]) == 2 else least_absolute(cells, weights)


def _frisch_newton(y: Array, w: Array) -> Array:
    """Fitted values. In the dual every entry has a place x in (0, 1): 0 above the fit, 1 below, between on it.

    `places` are x and 1 - x, `slacks` what belongs to them, each (2, ..., k, m).
    """
    square = w**2
    fit = Additive(square)(y)
    c = -w * y
    r = c + w * fit
    r = np.where(np.abs(r) < 1e-3, np.where(r < 0, -1e-3, 1e-3), r)
    places, slacks = np.full((2, *y.shape), 0.5), np.maximum(np.stack([r, -r]), 0.0) + 1e-3
    axes = (-2, -1)
    entries = y.shape[-1] * y.shape[-2]

    def step(at: Array, move: Array) -> Array:
        """How far both can go and stay above 0, all the way at most: (2, ..., k, m) -> (..., 1, 1)."""
        least: Array = (at / np.minimum(move, -1e-200)).max(axis=(0, *axes), keepdims=True)[0]
        return np.minimum(-0.9995 * least, 1.0)

    going = np.ones((len(y), 1, 1), bool)
    product = slacks * places
    mu = (product[0] + product[1]).sum(axis=axes, keepdims=True)
    for _ in range(STEPS):
        ratio = slacks / places
        q = 1 / (ratio[0] + ratio[1])
        dual = c + w * fit - slacks[0] + slacks[1]
        r = slacks[0] - slacks[1] + dual
        fitting = Additive(q * square)

        def direction(right: Array, q: Array = q, fitting: Additive = fitting) -> tuple[Array, Array]:
            """Change of the fit and of the places: rows of the design are w times (row, column)."""
            change = fitting(-right / w)
            dx = q * (-w * change - right)
            return change, np.stack([dx, -dx])

        move, dx = direction(r)
        dz = -slacks * (1 + dx / places)
        primal, second = step(places, dx), step(slacks, dz)
        product = (slacks + second * dz) * (places + primal * dx)
        after = (product[0] + product[1]).sum(axis=axes, keepdims=True)
        target = mu * (after / mu) ** 3 / (2 * entries)
        extra = dx * dz / places  # second-order terms of both complementarities
        inverse = 1 / places
        xi = target * (inverse[0] - inverse[1])
        move, dx = direction(r - xi + (extra[0] - extra[1]))
        dz = target / places - slacks - slacks * dx / places - extra
        # A matrix that has arrived stays, so that its answer does not depend on the others.
        primal, second = step(places, dx) * going, step(slacks, dz) * going
        places, slacks, fit = places + primal * dx, slacks + second * dz, fit + second * move
        product = slacks * places
        mu = (product[0] + product[1]).sum(axis=axes, keepdims=True)
        going &= mu >= 1e-9 * entries
        if not going.any():
            break
    return fit


def offset_maps(places: NDArray[np.int64], weights: Array) -> Array:
    """Linear maps from cell means to the offsets of named cells from the additive fit of all other cells.

    places : (..., q) flat positions of the cells, language times m plus judge
    weights : (k, m) of the fit

    Returns (..., q, k, m): the offset of cell i is the sum of map i times the means.
    """
    normal, apart = _apart(places, weights)
    return np.asarray(np.linalg.solve(normal, apart), np.float64).reshape(*places.shape, *weights.shape)


def _apart(places: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Weighted residuals of the additive fit to one cell each, in these cells and in all: (..., q) -> (..., q, q) and
    (..., q, k m)."""
    k, m = weights.shape
    unit = (places[..., None] == np.arange(k * m)).astype(np.float64).reshape(*places.shape, k, m)
    apart = (weights * (unit - Additive(np.broadcast_to(weights, unit.shape))(unit))).reshape(*places.shape, k * m)
    return np.take_along_axis(apart, places[..., None, :], axis=-1), apart


@dataclass(frozen=True, eq=False)
class Units:
    """What tasks say about the interaction: (g, k, m) values of at most `MOST_GROUPS` groups, and how to weigh cells.

    share : (g,) weight of each group, sum 1
    lad : (k, m) weights of absolute deviations, 1 / standard error of the cell means
    loss : (k, m) weights of squared errors, 1 / squared standard error of the interaction
    strata : (g,) which groups have the same languages, where no tasks join these; else None. A part of the groups then
        counts each stratum as the whole does, and noise is known as badly as the fewest groups behind it tell
    noise : (k, m) variance of the cell means beside their language's, where there are strata
    """

    values: Array
    share: Array
    lad: Array
    loss: Array
    strata: NDArray[np.int64] | None = None
    noise: Array | None = None

    @classmethod
    def of(
        cls,
        interactions: Array,
        cells: Array,
        weights: Array,
        cluster: NDArray[np.int64] | None = None,
        most: int = MOST_GROUPS,
        strata: NDArray[np.int64] | None = None,
    ) -> Units:
        """From the interactions and the cell values of every unit, each (n, k, m), and the weights of units (n,).

        Units of one cluster (n,) become one group; what is resampled and left out are groups. `strata` are those of
        `language_strata` for the same clusters.
        """
        if cluster is not None:
            cells, _ = by_cluster(cells, weights, cluster)
            interactions, weights = by_cluster(interactions, weights, cluster)
        if strata is not None:
            return cls._of_strata(interactions, cells, weights, strata, most)
        values, share = in_groups(interactions, weights, most)
        return cls(
            values,
            share / share.sum(),
            1 / _positive(mean_and_se(cells, weights)[1], STEADY),
            1 / _positive(mean_and_se(values, share)[1]) ** 2,
        )

    @classmethod
    def _of_strata(cls, values: Array, cells: Array, weights: Array, strata: NDArray[np.int64], most: int) -> Units:
        """Each stratum is grouped by itself, so that one of few units keeps them."""
        each = np.unique(strata)
        most = most if len(values) <= most else max(2, most // len(each))
        parts = [in_groups(values[strata == x], weights[strata == x], most) for x in each]
        grouped, share = (np.concatenate(x) for x in zip(*parts, strict=True))
        noise = _pooled(cells - cells.mean(axis=2, keepdims=True), weights)
        return cls(
            grouped,
            share / share.sum(),
            _outvoted(1 / np.sqrt(noise)),
            1 / _positive(mean_and_se(grouped, share)[1]) ** 2,
            np.repeat(each, [len(x) for _, x in parts]),
            noise,
        )

    def shares(self, kept: NDArray[np.bool_]) -> Array:
        """Weights of the groups in each part of them, (r, g): each stratum has that of the whole, if it is there."""
        out: Array = kept * self.share
        if self.strata is not None:
            member = (self.strata == np.unique(self.strata)[:, None]).astype(np.float64)
            there = out @ member.T
            out *= np.divide(member @ self.share, there, out=np.zeros_like(there), where=there > 0) @ member
        return out


def _pooled(apart: Array, weights: Array) -> Array:
    """(k, m) variance of cell means as a product of language and judge, from (n, k, m) values that are apart from their
    language's mean where a unit has scores. Of few tasks one cell alone knows too little of its own noise."""
    variance = _positive(mean_and_se(apart, weights)[1]) ** 2
    moved = np.abs(apart - np.average(apart, axis=0, weights=weights)).max(axis=2)
    units = np.maximum((moved > 1e-9 * moved.max()).sum(axis=0) - 1, 1)[:, None]  # of other languages none moves
    language = variance.mean(axis=1, keepdims=True)
    judge = (units * variance / language).sum(axis=0) / units.sum()
    return np.asarray(language * judge / judge.mean())


def _outvoted(weights: Array) -> Array:
    """Weights (k, m) of which no language has more than all others together: else a least-absolute fit would follow
    that one, and find its faults in the others."""
    rows = weights.mean(axis=1, keepdims=True)
    return weights * np.minimum(1.0, 0.9 * (rows.sum() - rows) / rows)


def _positive(se: Array, least: float = 0.05) -> Array:
    """Standard errors without zeros, of at least this part of the typical one: a smaller one would decide alone."""
    typical = float(np.median(se[se > 0])) if (se > 0).any() else 1.0
    return np.maximum(se, least * typical)


@dataclass(frozen=True, eq=False)
class Reading:
    """Which explanation fits. `named` (k, m) marks its cells: those off, or the whole judge or language."""

    kind: Kind
    named: NDArray[np.bool_]


def named_cells(reading: Reading, excess: Array) -> NDArray[np.bool_]:
    """The cells to name, given the least-absolute reading (k, m) in points.

    In a diffuse panel one cell may still stand out: twice as far off as any other. Then it is named.
    """
    if reading.kind == "diffuse" and min(excess.shape) > 2:
        largest = np.sort(np.abs(excess), axis=None)
        if largest[-1] >= STANDS_OUT * largest[-2]:
            return np.asarray(np.abs(excess) == largest[-1])
    return reading.named


def sized(units: Units, means: Array, readings: Sequence[Reading]) -> tuple[Array, NDArray[np.bool_]]:
    """How far cells are off, in points, and which to name, by the reading of each: (r, k, m) -> (r, k, m) each."""
    lad = sparse_reading(means, units.lad)
    named = np.stack([named_cells(r, x) for r, x in zip(readings, lad, strict=True)])
    fits = [refit(units, x, r) for r, x in zip(readings, means, strict=True)]
    return np.stack([x if fit is None else fit for x, fit in zip(lad, fits, strict=True)]), named


def refit(units: Units, values: Array, reading: Reading) -> Array | None:
    """How far each cell is off the additive panel that fits all cells but the named ones and itself: (..., k, m).

    Least absolute deviations find the cells that are off, but are drawn towards them: a median with one value far below
    is a lower one of the others. Least squares without those cells are not, and are linear, so that what is read of the
    tasks has the mean that is read of their mean. In a diffuse panel there are no sound cells to fit: None.
    """
    if min(values.shape[-2:]) == 2:
        return double_centre(values)
    if reading.kind == "diffuse":
        return None
    weights = np.where(_unsound(units, reading), FAINT, 1.0)
    left = values - Additive(np.broadcast_to(weights, values.shape))(values)
    return left / np.where(weights < 1, 1.0, 1 - _leverage(weights))


def _leverage(weights: Array) -> Array:
    """By how much the additive fit of a cell follows the cell itself: (..., k, m)."""
    rows = weights.sum(axis=-1, keepdims=True)
    shares = weights / rows
    m = weights.shape[-1]
    normal = weights.sum(axis=-2)[..., None] * np.eye(m) - np.swapaxes(weights, -1, -2) @ shares
    inverse = np.zeros(normal.shape)  # the first column effect is 0
    inverse[..., 1:, 1:] = np.linalg.inv(normal[..., 1:, 1:])
    crossed = shares @ inverse
    own = np.einsum("...jj->...j", inverse)[..., None, :]
    return np.asarray(weights * (1 / rows + own - 2 * crossed + (crossed * shares).sum(axis=-1, keepdims=True)))


def _unsound(units: Units, reading: Reading) -> NDArray[np.bool_]:
    """The cells that the fit must not follow: those named, but of a judge or language most may be sound.

    A line is off by what its cells differ from each other. Where more than half of them agree within noise these are
    sound, and it is off in the others; else it is off everywhere, from its own mean.
    """
    if reading.kind not in ("judge", "language"):
        return reading.named
    size = int(reading.named.sum())
    whole = np.where(reading.named, units.values, 0.0) * _line_scale(units.values, reading.kind)
    mean, se = mean_and_se(whole[:, reading.named], units.share)
    critical = stdtrit(len(units.values) - 1, 1 - 0.05 / (size * (size - 1)))
    near = np.abs(mean[:, None] - mean) <= critical * np.hypot(se[:, None], se)
    agree = near[near.sum(axis=1).argmax()]
    out = reading.named.copy()
    if 2 * agree.sum() > size:
        out[reading.named] = ~agree
    return out


def choose(units: Units, level: float = 0.95, seed: int = 7) -> Reading:
    """The explanation that fits all tasks."""
    return choose_each(units, np.ones((1, len(units.values)), bool), level, seed)[0]


def half_masks(g: int, draws: int, seed: int = 7, strata: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Random halves of g groups of tasks, or of those of each stratum: (draws, g).

    Halves, not bootstraps: a bootstrap adds its own noise to that of the panel, so that in a panel without any fault it
    would find one most of the time (stability selection; Meinshausen and Buehlmann 2010).
    """
    rng = np.random.default_rng([seed, 11])
    kept = np.zeros((draws, g), bool)
    parts = [np.arange(g)] if strata is None else [np.flatnonzero(strata == x) for x in np.unique(strata)]
    for row in kept:
        for of in parts:
            row[of[rng.permutation(len(of))[: max(2, -(-len(of) // 2))]]] = True
    return kept


def _folds(units: Units, seed: int) -> NDArray[np.int64]:
    """(g,) which groups are left out together: some of every stratum."""
    order = np.random.default_rng([seed, 12]).permutation(len(units.values))
    if units.strata is not None:
        order[np.lexsort([order, units.strata])] = np.arange(len(order))
    return np.asarray(order % FOLDS)


def choose_each(units: Units, kept: NDArray[np.bool_], level: float = 0.95, seed: int = 7) -> list[Reading]:
    """The explanation that fits each part of the groups of tasks: masks (r, g) -> r readings."""
    g, k, m = units.values.shape
    most = sum(kind in ("cell", "cells") for kind, _ in dimensions(k, m))
    fold = _folds(units, seed)
    tail = (1 - level) / (2 * k * m)
    size = max(1, BATCH // (FOLDS * (MOST_CELLS + 4) * k * m))
    out = [Reading("none", np.zeros((k, m), bool))] * len(kept)
    # Where no cell is clear of noise there is nothing to explain, and nothing to cross-validate.
    open_ = np.flatnonzero(_clear(units, units.values, kept, tail))
    for start in range(0, len(open_), size):
        at = open_[start : start + size]
        shares = units.shares(kept[at])
        means = (shares @ units.values.reshape(g, -1) / shares.sum(axis=1, keepdims=True)).reshape(-1, k, m)
        order = cell_order(units, means, most)
        found = _settle(units, kept[at], means, order, _best(units, kept[at], fold), tail)
        for i, reading, cells in zip(at, found, means, strict=True):
            out[i] = reading if _likely(units, cells, reading) else Reading("diffuse", np.zeros((k, m), bool))
    return out


def _likely(units: Units, means: Array, reading: Reading) -> bool:
    """Whether each named cell, and no other, is off: it has most of the likelihood of all cells beside the other named
    ones. Asked where languages rest on different tasks, else they tell as much as each other."""
    if units.noise is None or reading.kind not in ("cell", "cells"):
        return True
    for place in np.flatnonzero(reading.named):
        off = reading.named.copy()
        off.flat[place] = False
        far = _standing_off(means, np.where(off, FAINT, 1.0) / units.noise)
        far[off] = 0.0
        if 1 / np.exp((far**2 - far.flat[place] ** 2) / 2).sum() < LIKELY:
            return False
    return True


def _standing_off(means: Array, weights: Array) -> Array:
    """How many standard errors each cell is off the additive fit of all others: (..., k, m). 0: they do not tell."""
    free = 1 - _leverage(weights)
    known = free > 1e-6
    left = weights * (means - Additive(np.broadcast_to(weights, means.shape))(means))
    return np.abs(np.where(known, left / np.sqrt(weights * np.where(known, free, 1.0)), 0.0))


def _clear(units: Units, values: Array, kept: NDArray[np.bool_], tail: float) -> NDArray[np.bool_]:
    """Whether the mean of any cell is clear of noise, all cells at once (`tail` is Bonferroni's), in each part of the
    groups: masks (r, g) -> (r,). As `mean_and_se`, for many parts together."""
    flat = values.reshape(len(values), -1)
    if units.strata is not None:
        return np.array([_clear_of_strata(units, units.strata, flat, part, tail) for part in kept], bool)
    share, critical = units.share, stdtrit(np.maximum(kept.sum(axis=1) - 1, 1), 1 - tail)
    count = kept.sum(axis=1)
    out = np.zeros(len(kept), bool)
    for n in np.unique(count[count > 2]):  # of fewer one spread tells nothing of faults
        parts = np.flatnonzero(count == n)
        step = max(1, BATCH // (n * flat.shape[1]))
        for at in (parts[i : i + step] for i in range(0, len(parts), step)):
            groups = np.nonzero(kept[at])[1].reshape(-1, n)
            cells, weight = flat[groups], share[groups]
            own = weight / weight.sum(axis=1, keepdims=True)
            even = np.ptp(weight, axis=1, keepdims=True) == 0
            noise = own**2 * np.where(even, n / (n - 1), 1 / np.maximum(1 - own, 1e-9))
            mean = own[:, None] @ cells
            se = np.sqrt(noise[:, None] @ (cells - mean) ** 2)
            out[at] = (np.abs(mean) > critical[at, None, None] * np.maximum(se, 1e-300)).any(axis=(1, 2))
    return out


def _clear_of_strata(
    units: Units, strata: NDArray[np.int64], flat: Array, kept: NDArray[np.bool_], tail: float
) -> bool:
    """The same of one part (g,). Variances add over strata, and degrees of freedom are Satterthwaite's: a stratum of
    few groups that makes much of the error leaves few. (Values are as spread as their whole stratum needs.)"""
    own = units.shares(kept[None])[0]
    own /= own.sum()
    variance, square = np.zeros(flat.shape[1]), np.zeros(flat.shape[1])
    for stratum in np.unique(strata):
        of = strata == stratum
        n, whole = int((of & kept).sum()), int(of.sum())
        if n < 2:
            return False  # nothing tells the noise of this stratum
        at = np.flatnonzero(of & kept)
        apart = flat[at] - own[at] @ flat[at] / own[at].sum()
        part = n / (n - 1) * (whole - 1) / whole * (own[at] ** 2 @ apart**2)
        variance += part
        square += part**2 / (n - 1)
    freedom = np.maximum(variance**2 / np.maximum(square, 1e-300), 1.0)
    error = np.sqrt(np.maximum(len(flat) / (len(flat) - 1) * variance, 1e-300))
    return bool((np.abs(own @ flat) > stdtrit(freedom, 1 - tail) * error).any())


def dimensions(k: int, m: int) -> list[tuple[Kind, int]]:
    """The candidate explanations and how many numbers each fits, fewest first.

    With two judges a faulty cell cannot be told from the other judge's cell in that language, so whole languages are
    the smallest candidate; with two languages whole judges are.
    """
    most = min(MOST_CELLS, ((k - 1) * (m - 1) - 1) // 2) if min(k, m) > 2 else 0
    cells: list[tuple[Kind, int]] = [("cell" if q == 1 else "cells", q) for q in range(1, most + 1)]
    lines: list[tuple[Kind, int]] = []
    if k > 2:
        lines.append(("language", m - 1))
    if m > 2:
        lines.append(("judge", k - 1))
    lines.append(("diffuse", (k - 1) * (m - 1)))
    return [("none", 0), *sorted([*cells, *lines], key=lambda c: c[1])]


def _best(units: Units, kept: NDArray[np.bool_], fold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index into `dimensions` of the choice for each mask of groups (r, g), by the one-standard-error rule."""
    g, k, m = units.values.shape
    flat = units.values.reshape(g, -1)
    folds = np.unique(fold)
    # Training means of every mask without each fold: (r, f, k, m). Where a mask lies in one fold all of it trains.
    train = kept[:, None, :] & (fold != folds[:, None])
    train = np.where(train.any(axis=2, keepdims=True), train, kept[:, None, :])
    shares = units.shares(train.reshape(-1, g)).reshape(train.shape)
    means = (shares.reshape(-1, g) @ flat / shares.sum(axis=2).reshape(-1, 1)).reshape(*train.shape[:2], k, m)
    predicted = _predictions(units, means)  # (r, f, c, k, m)
    r, f, c = predicted.shape[:3]
    weighted = (predicted * units.loss).reshape(r * f * c, -1)
    square = (weighted * predicted.reshape(r * f * c, -1)).sum(axis=1).reshape(r, f, c)
    cross = (weighted @ flat.T).reshape(r, f, c, g)
    at = np.searchsorted(folds, fold)
    # Squared error of each left-out group less that of predicting no interaction: (r, c, g).
    loss = square[:, at].transpose(0, 2, 1) - 2 * cross[:, at, :, np.arange(g)].transpose(1, 2, 0)
    loss *= _left_out_shares(units, kept, fold)[:, None]
    total = loss.sum(axis=2)
    best = total.argmin(axis=1)
    apart = loss - loss[np.arange(r), best][:, None]
    count = kept.sum(axis=1)[:, None]
    mean = apart.sum(axis=2) / count
    error = np.sqrt(np.maximum((apart**2).sum(axis=2) - count * mean**2, 0.0) * count / (count - 1))
    return (apart.sum(axis=2) <= error + 1e-12).argmax(axis=1)


def _left_out_shares(units: Units, kept: NDArray[np.bool_], fold: NDArray[np.int64]) -> Array:
    """(r, g) weight of each group when it is left out: a fold counts each stratum as the whole does."""
    if units.strata is None:
        return kept * units.share
    out = np.zeros(kept.shape)
    for one in np.unique(fold):
        part = kept & (fold == one)
        own = units.shares(part)
        total = own.sum(axis=1, keepdims=True)
        out += own * (part @ units.share)[:, None] / np.where(total > 0, total, 1.0)
    return out


def _predictions(units: Units, means: Array) -> Array:
    """The interaction that each candidate predicts from training means: (..., k, m) -> (..., c, k, m)."""
    k, m = means.shape[-2:]
    lead = means.shape[:-2]
    offered = dimensions(k, m)
    most = sum(kind in ("cell", "cells") for kind, _ in offered)
    order = cell_order(units, means, most)
    normal, apart = _apart(order, units.lad**2)
    right = (apart @ means.reshape(*lead, k * m, 1))[..., 0]
    out = []
    for kind, size in offered:
        if kind in ("cell", "cells"):
            moved = np.zeros((*lead, k * m))
            offsets = np.linalg.solve(normal[..., :size, :size], right[..., :size, None])[..., 0]
            np.put_along_axis(moved, order[..., :size], offsets, axis=-1)
            out.append(double_centre(moved.reshape(means.shape)))
        elif kind in ("language", "judge"):
            line = best_line(units, means, kind)
            held = np.arange(k if kind == "language" else m) == line[..., None]
            held = held[..., :, None] if kind == "language" else held[..., None, :]
            out.append(double_centre(np.where(held, means, 0.0) * _line_scale(means, kind)))
        else:
            out.append(means if kind == "diffuse" else np.zeros((*lead, k, m)))
    return np.stack(out, axis=-3)


def cell_order(units: Units, means: Array, most: int) -> NDArray[np.int64]:
    """Flat positions of the cells furthest off the least-absolute fit in standard errors: (..., k, m) -> (..., q)."""
    k, m = means.shape[-2:]
    if most == 0:
        return np.zeros((*means.shape[:-2], 0), np.int64)
    if units.noise is not None:
        return _one_by_one(means, 1 / units.noise, most)
    off = np.abs(least_absolute(means, units.lad)) * np.sqrt(units.loss)
    return np.argsort(-off.reshape(*means.shape[:-2], k * m), axis=-1, kind="stable")[..., :most]


def _one_by_one(means: Array, precision: Array, most: int) -> NDArray[np.int64]:
    """The cell furthest off all others, then that furthest off without it, and so on: (..., k, m) -> (..., q).

    Of languages known from few and from many tasks least squares see a fault in either; least absolute deviations
    follow the language of many.
    """
    out = np.zeros((*means.shape[:-2], most), np.int64)
    weights = np.broadcast_to(precision, means.shape).copy()
    flat = weights.reshape(*means.shape[:-2], -1)
    for place in range(most):
        far = _standing_off(means, weights).reshape(flat.shape)
        np.put_along_axis(far, out[..., :place], -1.0, axis=-1)
        out[..., place] = far.argmax(axis=-1)
        at = out[..., place, None]
        np.put_along_axis(flat, at, FAINT * np.take_along_axis(flat, at, axis=-1), axis=-1)
    return out


def _line_scale(means: Array, kind: Kind) -> float:
    """A line's offset from the other lines is this many times its interaction, which is taken from the mean of all."""
    size = int(means.shape[-2 if kind == "language" else -1])
    return size / (size - 1)


def best_line(units: Units, means: Array, kind: Kind) -> NDArray[np.int64]:
    """The language or judge whose own offsets explain most of the interaction: (..., k, m) -> (...)."""
    axis = -2 if kind == "language" else -1
    other = -1 if kind == "language" else -2
    size = means.shape[axis]
    weighted = units.loss * means
    # Left after line i is taken out: elsewhere the line's share comes back, so the squared error has two parts.
    own = (weighted * means).sum(axis=other)
    scaled = np.moveaxis(means, axis, -1) / (size - 1)  # (..., other, size)
    w = np.moveaxis(np.broadcast_to(units.loss, means.shape), axis, -1)
    wx = np.moveaxis(weighted, axis, -1)
    total_w, total_wx = w.sum(axis=-1, keepdims=True), wx.sum(axis=-1, keepdims=True)
    # Sum over the other lines j of w_j (2 x_j p + p^2) with p = x_i / (size - 1): what adding the share back costs.
    cost = (2 * scaled * (total_wx - wx) + scaled**2 * (total_w - w)).sum(axis=-2)
    return (own - cost).argmax(axis=-1)


def _settle(
    units: Units,
    kept: NDArray[np.bool_],
    means: Array,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
    tail: float,
) -> list[Reading]:
    """For each part of the groups the explanation with its cells: the one chosen, or a smaller one that leaves nothing
    clear of noise. So one more cell is named only where the interaction that is left without it is clear, all cells at
    once. Something is clear in all parts given here. Parts that ask for the same candidate are looked at together."""
    k, m = means.shape[1:]
    out = [Reading("none", np.zeros((k, m), bool))] * len(kept)
    clear = np.ones(len(kept), bool)
    for place, (kind, size) in enumerate(dimensions(k, m)[1:], 1):
        asked = np.flatnonzero(clear & (chosen >= place))
        lines = kind in ("language", "judge")
        cells = size if kind in ("cell", "cells") else 0
        places = best_line(units, means[asked], kind)[:, None] if lines else order[asked, :cells]
        for one, of in _alike(places):
            reading, rest = _explained(units, kind, one[0] if lines else one)
            clear[asked[of]] = _clear(units, rest, kept[asked[of]], tail)
            for i in asked[of]:
                out[i] = reading
    return out


def _alike(places: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Different rows, each with the mask of where it stands."""
    for one in {row.tobytes(): row for row in places}.values():
        yield one, (places == one).all(axis=1)


def _explained(units: Units, kind: Kind, places: NDArray[np.int64]) -> tuple[Reading, Array]:
    """A candidate's reading, and the interaction (g, k, m) it leaves: 0 where it names cells, which it explains.

    (Of a named cell only the trace of unequal weights would be left, too small for a spread.)
    """
    values, named = units.values, np.zeros(units.values.shape[1:], bool)
    if kind in ("none", "diffuse"):
        return Reading(kind, named), values if kind == "none" else np.zeros_like(values)
    if kind in ("cell", "cells"):
        named.flat[places] = True
        offsets = np.tensordot(values, offset_maps(places, units.lad**2), ((1, 2), (1, 2)))
        moved = np.zeros((len(values), named.size))
        moved[:, places] = offsets
        reading, rest = _lines(named), values - double_centre(moved.reshape(values.shape))
    else:
        named[(places, slice(None)) if kind == "language" else (slice(None), places)] = True
        reading = Reading(kind, named)
        rest = values - double_centre(np.where(named, values, 0.0) * _line_scale(values, kind))
    return reading, np.where(reading.named, 0.0, rest)


def _lines(named: NDArray[np.bool_]) -> Reading:
    """Three or more cells of one judge are that judge; of one language, that language."""
    count = int(named.sum())
    rows, columns = named.any(axis=1), named.any(axis=0)
    if count >= 3 and columns.sum() == 1:
        return Reading("judge", np.broadcast_to(columns, named.shape).copy())
    if count >= 3 and rows.sum() == 1:
        return Reading("language", np.broadcast_to(named.any(axis=1, keepdims=True), named.shape).copy())
    return Reading("cell" if count == 1 else "cells", named)
