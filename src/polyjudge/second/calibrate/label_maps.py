"""Maps from judges' scores to human labels: a shift, a slope, or a rising curve, one for all languages.

Left-out labels choose, and the simpler map has the benefit of the doubt. Scores of few levels get a curve whose values
are the humans' means of each level; languages then move it on the logit scale, so that it stays within the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from polyjudge.second.estimate.few_labels import shrink, steady_variance, stratified_means
from polyjudge.second.panel.arrays import Array, mean_there, ratio
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.scale import scale_of

Kind = Literal["shift", "slope", "isotonic", "ordinal"]
FOLDS = 5
STEPS = 20
"""Even steps of the scale between which a curve is straight, where scores have no levels of their own."""
PRIOR = 0.5
"""Labels' worth of trust in the straight line at every step of a curve."""
ROUNDS = 4
"""Turns of fitting the curve and the languages about it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelMap:
    """What is done to the scores of each judge before languages are shifted: times `slope` (m,), or along `curve`
    (m, Q) over `span`."""

    kind: Kind
    slope: Array
    curve: Array | None = None
    span: tuple[float, float] = (0.0, 1.0)

    def panel(self, panel: Panel) -> Panel:
        """The panel with mapped scores."""
        cells = panel.shape[1:]
        if self.curve is not None:
            return panel.bent(np.broadcast_to(self.curve, (cells[0], *self.curve.shape)), self.span)
        if self.kind == "shift":
            return panel
        return panel.adjusted(np.zeros(cells), np.broadcast_to(1 / self.slope, cells))

    def values(self, scores: Array) -> Array:
        """Mapped scores (n, k, m)."""
        if self.curve is None:
            return scores * self.slope
        grid = np.linspace(*self.span, self.curve.shape[1])
        return np.stack([np.interp(scores[..., j], grid, c) for j, c in enumerate(self.curve)], axis=-1)

    def cells(self, correction: Array, panel: Panel) -> Array:
        """(k, m, Q) the curves less the correction (k, m) of each cell; of few levels on the logit scale."""
        assert self.curve is not None
        if self.kind == "ordinal":
            return bend(self.curve, correction, shares(panel.scores, self.span, self.curve.shape[1]), self.span)
        return self.curve - correction[..., None]


def kinds_for(panel: Panel) -> tuple[Kind, ...]:
    """The maps that may fit a panel's scale, the simplest first."""
    if not np.all(panel.weights == 1):  # means of several tasks cannot be bent
        return "shift", "slope"
    return ("shift", "ordinal") if scale_of(panel).kind in ("binary", "likert") else ("shift", "slope", "isotonic")


def fit_map(kind: Kind, panel: Panel, labels: Array, there: NDArray[np.bool_]) -> LabelMap:
    """The map of this kind from the labels (n, k) that are `there`."""
    ones = np.ones(panel.shape[2])
    if kind == "shift":
        return LabelMap(kind=kind, slope=ones)
    slope = _slopes(panel.scores, labels, there)
    if kind == "slope":
        return LabelMap(kind=kind, slope=slope)
    scale = scale_of(panel)
    steps = int(scale.width) if scale.kind == "likert" else 1 if scale.kind == "binary" else STEPS
    language = np.nonzero(there)[1]
    curves = [
        _curve(panel.scores[..., j][there], labels[there], language, slope[j], scale.ends, steps)
        for j in range(len(slope))
    ]
    return LabelMap(kind=kind, slope=ones, curve=np.stack(curves), span=scale.ends)


def choose_map(panel: Panel, gold: Gold, stratum: NDArray[np.int64], kind: str = "auto") -> LabelMap:
    """The map of a kind; with "auto" the simplest that is within one standard error of the best on left-out labels.

    Labels are left out fold by fold, all of a cluster together.
    """
    there = gold.there & ~np.isnan(panel.scores).any(axis=2) & (stratum >= 0)
    kinds: tuple[Kind, ...] = kinds_for(panel) if kind == "auto" else (kind,)  # type: ignore[assignment]
    if len(kinds) == 1:
        return fit_map(kinds[0], panel, gold.values, there)
    if there.sum() < 2 * FOLDS:
        return fit_map("shift", panel, gold.values, there)
    loss = np.zeros((len(kinds), len(panel.tasks)))
    fold = panel.cluster % FOLDS
    for f in range(FOLDS):
        rest, out = there & (fold != f)[:, None], there & (fold == f)[:, None]
        if out.any() and rest.sum() >= FOLDS:
            for i, name in enumerate(kinds):
                loss[i] += _left_out(fit_map(name, panel, gold.values, rest), panel, gold.values, stratum, rest, out)
    used = np.bincount(panel.cluster, there.sum(axis=1)) > 0
    total = np.stack([np.bincount(panel.cluster, x)[used] for x in loss])
    worse = total - total[total.mean(axis=1).argmin()]
    se = worse.std(axis=1, ddof=1) / np.sqrt(worse.shape[1]) if worse.shape[1] > 1 else np.full(len(kinds), np.inf)
    chosen = int(np.flatnonzero(worse.mean(axis=1) <= se)[0])
    return fit_map(kinds[chosen], panel, gold.values, there)


def _left_out(
    chosen: LabelMap, panel: Panel, labels: Array, stratum: NDArray[np.int64], rest: NDArray[np.bool_],
    out: NDArray[np.bool_],
) -> Array:  # fmt: skip
    """(n,) squared error on left-out labels, with languages' shifts from the other labels."""
    mapped = chosen.values(panel.scores)
    d = mapped - labels[..., None]
    found = stratified_means(np.where(rest[..., None], d, np.nan), stratum, panel.weights, fewest=1)
    level = np.stack([shrink(found.mean[:, j], steady_variance(found, j)).estimate for j in range(d.shape[2])], axis=1)
    if chosen.kind == "ordinal":
        grid, curves = np.linspace(*chosen.span, chosen.curve.shape[1]), chosen.cells(level, panel)  # type: ignore[union-attr]
        for i, j in np.ndindex(level.shape):
            mapped[:, i, j] = np.interp(panel.scores[:, i, j], grid, curves[i, j])
        d = mapped - labels[..., None]
    else:
        d = d - level
    return (np.where(out[..., None], d, 0.0) ** 2).mean(axis=2).sum(axis=1)


def _slopes(scores: Array, labels: Array, there: NDArray[np.bool_]) -> Array:
    """(m,) least squares within languages, kept between a twentieth and three."""
    x = np.where(there[..., None], scores, np.nan)
    y = np.where(there, labels, np.nan)
    x = np.where(there[..., None], x - mean_there(x, 0), 0.0)
    y = np.where(there, y - mean_there(y, 0), 0.0)
    square = (x**2).sum(axis=(0, 1))
    found = ratio((x * y[..., None]).sum(axis=(0, 1)), square, 1.0)
    return np.where(found > 0.05, np.minimum(found, 3.0), 1.0)


def _curve(
    x: Array, y: Array, language: NDArray[np.int64], slope: float, ends: tuple[float, float], steps: int
) -> Array:
    """(Q,) a curve that nowhere falls, through the labels y of the scores x, languages about it taken off."""
    grid = np.linspace(*ends, steps + 1)
    step = np.clip(np.rint((x - ends[0]) / (grid[1] - grid[0])).astype(np.int64), 0, steps)
    weight = np.bincount(step, minlength=steps + 1).astype(float)
    place = np.where(weight > 0, np.bincount(step, x, steps + 1) / np.maximum(weight, 1), grid)
    line = np.clip(y.mean() + slope * (place - x.mean()), *ends)
    count = np.maximum(np.bincount(language), 1)
    own = np.zeros(len(count))
    curve: Array = line
    for _ in range(ROUNDS):
        means = (np.bincount(step, y - own[language], steps + 1) + PRIOR * line) / (weight + PRIOR)
        curve = np.interp(grid, place, isotonic_regression(means, weights=weight + PRIOR).x)
        rest = np.bincount(language, y - np.interp(x, grid, curve), len(count)) / count
        own = rest - count @ rest / count.sum()
    return curve


def shares(scores: Array, span: tuple[float, float], count: int) -> Array:
    """(k, m, Q) share of a cell's scores at each level."""
    level = np.rint((scores - span[0]) / (span[1] - span[0]) * (count - 1))
    found = np.stack([(level == q).sum(axis=0) for q in range(count)], axis=-1).astype(float)
    return found / np.maximum(found.sum(axis=-1, keepdims=True), 1.0)


def bend(curve: Array, correction: Array, share: Array, span: tuple[float, float]) -> Array:
    """(k, m, Q) curves (m, Q) moved on the logit scale, so that the mean of each cell falls by its correction (k, m).

    A correction that would leave the scale goes as near as the scale allows.
    """
    width = span[1] - span[0]
    start = logit(np.clip((curve - span[0]) / width, 1e-3, 1 - 1e-3))
    target = (share * expit(start)).sum(axis=-1) - correction / width
    low, high = np.full(target.shape, -12.0), np.full(target.shape, 12.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = (share * expit(start + middle[..., None])).sum(axis=-1) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return span[0] + width * expit(start + ((low + high) / 2)[..., None])
