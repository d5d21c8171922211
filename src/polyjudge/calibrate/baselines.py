"""The methods of the paper's Table 2, measured on tasks that they have not seen (METHODS 7).

A method is a function of a `cbc.Split`: from what was drawn (`train`) it adjusts the cell means of what was left out
(`left`). `METHODS` names them in the paper's order; `held_out` measures them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.base.errors import UsageError
from polyjudge.base.limits import require
from polyjudge.base.progress import track
from polyjudge.base.text import name
from polyjudge.cbc import Split, double_centre, gain, mean_tau, split
from polyjudge.panel import Panel

Array = NDArray[np.float64]
Labels = tuple[Array, NDArray[np.int64]]
Method = Callable[[Split], Array]
SIZE = 64
"""Resamples of one block. A block has its own random numbers, so that none depends on how the work is cut up."""


@dataclass(frozen=True, eq=False)
class Block(Split):
    """A Split that knows what two of the methods need: single scores (Dawid-Skene) and random numbers (the control).

    labels : (items, k m) 1 where a single score is the highest of the scale, 0 elsewhere, NaN where it is missing
    of_unit : (items,) the unit of each item
    """

    labels: Array = field(default_factory=lambda: np.zeros((0, 0)))
    of_unit: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    seed: tuple[int, int] = (0, 0)


# --- methods that subtract a matrix ---


def judge_only(s: Split) -> Array:
    """Less each judge's mean over languages in the drawn tasks."""
    return s.left - s.train.mean(-2, keepdims=True)


def cbc_weighted(s: Split) -> Array:
    """Like CBC, against a language mean that weights judges by their steadiness over languages (METHODS 2)."""
    return s.left - weighted_centre(s.train, s.tiny)


def cbc_shrunken(s: Split) -> Array:
    """Less the interaction of the drawn tasks without the share of it that is noise (empirical Bayes)."""
    d = double_centre(s.values).reshape(len(s.values), -1)
    size = (s.beta**2).sum((-2, -1))
    spread = s.drawn @ (d * d).sum(1) / s.drawn.sum(1) - size
    return s.left - kept(size, np.maximum(spread, 0.0) / max(len(d) - 1, 1))[:, None, None] * s.beta


def weighted_centre(means: Array, tiny: float) -> Array:
    """Double centring with judges weighted by 1 / Var_l of their means (a variance of 0 counts as 1e-8)."""
    columns = means - means.mean(-2, keepdims=True)
    variance = (columns**2).mean(-2, keepdims=True)
    inverse = 1 / np.where(variance <= tiny**2, 1e-8, variance)
    return columns - (columns * inverse / inverse.sum(-1, keepdims=True)).sum(-1, keepdims=True)


def kept(size: Array, noise: Array) -> Array:
    """Share of an estimate that is kept where `noise` of its squared `size` is noise: 1 - noise / size, at least 0."""
    return np.maximum(0.0, 1 - np.divide(noise, size, out=np.ones_like(size), where=size > 0))


# --- methods that do more ---


def per_language(s: Split) -> Array:
    """Each language to mean 0 and sd 1 over its judges."""
    sd = s.left.std(-1, keepdims=True)
    return (s.left - s.left.mean(-1, keepdims=True)) / np.where(sd <= s.tiny, 1.0, sd)


def z_score(s: Split) -> Array:
    """Each judge to mean 0 and sd 1 over languages, both from the drawn tasks."""
    sd = s.train.std(-2, keepdims=True)
    return judge_only(s) / np.where(sd <= s.tiny, 1.0, sd)


def quantile(s: Split) -> Array:
    """Each judge's values over languages take the panel's mean profile by their rank; ties share its mean."""
    target = np.sort(s.train, axis=-2).mean(-1)
    columns = s.left.swapaxes(-1, -2)
    order, first, last = _runs(columns, s.tiny)
    total = np.concatenate([np.zeros((len(target), 1)), np.cumsum(target, axis=-1)], axis=-1)[:, None]
    total = np.broadcast_to(total, (*columns.shape[:-1], total.shape[-1]))
    run = np.take_along_axis(total, last + 1, -1) - np.take_along_axis(total, first, -1)
    out = np.empty(columns.shape)
    np.put_along_axis(out, order, run / (last + 1 - first), -1)
    return out.swapaxes(-1, -2)


def ensemble(s: Split) -> Array:
    """Mean of the within-language percentile ranks of judge-only norm, z-score and quantile norm."""
    total = np.zeros(s.left.shape)
    for values, tiny in ((judge_only(s), s.tiny), (z_score(s), 1e-9), (quantile(s), s.tiny)):
        order, first, last = _runs(values, tiny)
        ranks = np.empty(values.shape)
        np.put_along_axis(ranks, order, (first + last) / 2 + 1, -1)
        total += ranks
    return total / (3 * s.left.shape[-1])


def _runs(values: Array, tiny: float) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Order along the last axis, and first and last place of the run of ties in which each ordered value stands."""
    order = np.argsort(values, axis=-1, kind="stable")
    edge = np.ones((*values.shape[:-1], 1), bool)
    apart = np.abs(np.diff(np.take_along_axis(values, order, -1), axis=-1)) > tiny
    place, m = np.arange(values.shape[-1]), values.shape[-1]
    first = np.maximum.accumulate(np.where(np.concatenate([edge, apart], -1), place, 0), axis=-1)
    ends = np.where(np.concatenate([apart, edge], -1), place, m)
    return order, first, np.flip(np.minimum.accumulate(np.flip(ends, -1), axis=-1), -1)


def combat(s: Split) -> Array:
    """ComBat-EB, pooled: each language's shrunken location and scale of what grand mean and judge leave is removed."""
    n, k, m = s.values.shape
    centred = (s.values - s.values.mean(0)).reshape(n, k * m)
    share = s.drawn / s.drawn.sum(1, keepdims=True)
    variances = np.maximum(share @ centred**2 - (share @ centred) ** 2, 0.0).reshape(-1, k, m)
    fixed = s.train.mean(-2, keepdims=True)  # G + a(b)
    shift = (s.train - fixed).mean(-1)  # c(l)
    rows = s.drawn.sum(1)[:, None] * m  # N(l)
    spread = (variances + (s.train - fixed - shift[..., None]) ** 2).mean(-1)
    pooled = spread.mean(-1, keepdims=True)  # V
    location = shift * _signal(shift.var(-1, keepdims=True), pooled / rows)
    scale = np.sqrt(np.where(pooled > 0, spread / np.where(pooled > 0, pooled, 1.0), 1.0))  # s(l)
    scale = np.maximum(1e-6, 1 + (scale - 1) * _signal(scale.var(-1, keepdims=True), 1 / rows))
    return fixed + (s.left - fixed - location[..., None]) / scale[..., None]


def _signal(signal: Array, noise: Array) -> Array:
    whole = signal + noise
    return np.where(whole > 0, signal / np.where(whole > 0, whole, 1.0), 0.0)


def dawid_skene(s: Split) -> Array:
    """Expected percent of left-out items on which a cell gives the hidden label "full score", by EM."""
    assert isinstance(s, Block)
    there = np.isfinite(s.labels).astype(float)
    labels = np.nan_to_num(s.labels)
    train, held = ((x > 0).astype(float)[:, s.of_unit] for x in (s.drawn, s.held))
    posterior = _em(labels, there, train)
    agree, count = held * posterior, held @ there
    right = agree @ labels + (held - agree) @ (there - labels)
    return np.where(count > 0, 100 * right / np.where(count > 0, count, 1.0), 50.0).reshape(s.left.shape)


def _em(labels: Array, there: Array, train: Array, rounds: int = 25, change: float = 1e-6) -> Array:
    """Posterior of label 1 of every item, for every row of training weights: (R, items)."""
    start = np.clip(labels.sum(1) / np.maximum(there.sum(1), 1), 1e-3, 1 - 1e-3)
    posterior = np.tile(start, (len(train), 1))
    ones, seen = train @ labels, train @ there
    active: NDArray[np.int64] = np.arange(len(train))
    for _ in range(rounds):
        w = train[active]
        expected = w * posterior[active]
        a, b = expected @ labels, expected @ there
        sensitivity = np.clip((a + 1) / (b + 2), 1e-4, 1 - 1e-4)
        specificity = np.clip((seen[active] - b - ones[active] + a + 1) / (seen[active] - b + 2), 1e-4, 1 - 1e-4)
        prior = np.clip(expected.sum(1, keepdims=True) / w.sum(1, keepdims=True), 1e-3, 1 - 1e-3)
        if_zero = np.log((1 - sensitivity) / specificity)
        odds = np.log(prior / (1 - prior)) + (np.log(sensitivity / (1 - specificity)) - if_zero) @ labels.T
        new = 1 / (1 + np.exp(-np.clip(odds + if_zero @ there.T, -700, 700)))
        moved = np.where(w > 0, np.abs(new - posterior[active]), 0.0).max(1)
        posterior[active] = new
        active = active[moved >= change]
        if not len(active):
            break
    return posterior


def random_control(s: Split) -> Array:
    """Each language's values shuffled over its judges."""
    return np.random.default_rng([*getattr(s, "seed", (0, 0)), 1]).permuted(s.left, axis=-1)


METHODS: dict[str, Method] = {
    "raw": lambda s: s.left,
    "per-language norm": per_language,
    "judge-only norm": judge_only,
    "z-score": z_score,
    "quantile norm": quantile,
    "ensemble": ensemble,
    "combat-eb": combat,
    "dawid-skene": dawid_skene,
    "random control": random_control,
    "cbc": lambda s: s.left - s.beta,
    "cbc-weighted": cbc_weighted,
    "cbc-shrunken": cbc_shrunken,
    "oracle": lambda s: s.left - double_centre(s.left),
}
SUBTRACT = frozenset({"raw", "judge-only norm", "cbc", "cbc-weighted", "cbc-shrunken", "oracle"})
"""Methods that only subtract a matrix: their gain can be measured without labels (I7)."""
WIDTH = {"per-language norm": 1.0, "z-score": 1.0, "ensemble": 1.0, "dawid-skene": 100.0}
"""Width of the scale of a method's values, for the tie rule; else that of the scores."""
COMPLETE = frozenset({"combat-eb", "dawid-skene"})
"""Methods that need every single score."""
IDENTITY = {
    "per-language norm": "same order as raw: arithmetic",
    "cbc": "full fit is 1 by arithmetic",
    "cbc-weighted": "same order and gain as cbc, full fit is 1: arithmetic",
    "cbc-shrunken": "",
    "oracle": "uses the left-out tasks: tau 1 and a gain are arithmetic",
}
"""What of a method's row is true by arithmetic (METHODS 16)."""


def method_names(wanted: Sequence[str] | None) -> list[str]:
    """The methods asked for, in the order given; all of them where none is named."""
    found = []
    for text in wanted or METHODS:
        key = text.strip().lower().replace("_", "-").replace(" ", "-")
        known = {x.replace(" ", "-"): x for x in METHODS}
        if key not in known:
            close = get_close_matches(key, known, 1)
            hint = f" Did you mean {known[close[0]]!r}?" if close else ""
            raise UsageError(f"There is no method {name(text)!r}. There are: {', '.join(METHODS)}.{hint}")
        found.append(known[key])
    return list(dict.fromkeys(found))


# --- measuring them ---


class HeldOut(NamedTuple):
    """tau, gain : method -> (replicates,) of each resample that left something out; gain of `SUBTRACT` alone
    full_fit : method -> tau where all tasks are drawn and all are left out
    skipped : resamples that drew every unit"""

    tau: dict[str, Array]
    gain: dict[str, Array]
    full_fit: dict[str, float]
    skipped: int


def held_out(panel: Panel, methods: Sequence[str], replicates: int = 1000, seed: int = 0) -> HeldOut:
    """The paper's primary protocol: draw units with replacement, learn from them, measure on those not drawn."""
    values = panel.values().v
    n, k, m = values.shape
    pairs = k * m * (m - 1) // 2 + k * k
    require(4.0 * min(SIZE * pairs, 8e6 + pairs) + 16.0 * SIZE * n, f"The order of {m} judges in {k} languages")
    own = full_scores(panel) if "dawid-skene" in methods else (np.zeros((0, 0)), np.zeros(0, dtype=np.int64))

    def block(drawn: Any, number: int) -> Block:
        s = split(values, drawn, tiny=1e-9 * panel.width)
        return Block(**vars(s), labels=own[0], of_unit=own[1], seed=(seed, number))

    def tau(method: str, adjusted: Array) -> Array:
        return np.asarray(mean_tau(adjusted, 1e-9 * WIDTH.get(method, panel.width)))

    taus: dict[str, list[Array]] = {x: [] for x in methods}
    gains: dict[str, list[Array]] = {x: [] for x in methods if x in SUBTRACT}
    count, left = -(-replicates // SIZE), 0
    for index in track(range(count), count, "comparing methods"):
        s = block(draw(n, min(SIZE, replicates - index * SIZE), seed, index), index)
        left += len(s.left)
        for x in methods if len(s.left) else ():
            adjusted = METHODS[x](s)
            taus[x].append(tau(x, adjusted))
            if x in SUBTRACT:
                gains[x].append(gain(s, s.left - adjusted))
    if not left:
        raise UsageError("Every resample drew all tasks, so nothing was left out to measure on. Score more tasks.")
    whole = block(None, replicates)
    full = {x: float(tau(x, METHODS[x](whole))[0]) for x in methods}
    of_taus, of_gains = ({x: np.concatenate(parts) for x, parts in found.items()} for found in (taus, gains))
    return HeldOut(of_taus, of_gains, full, replicates - left)


def draw(units: int, size: int, seed: int, block: int) -> NDArray[np.int64]:
    """How often each unit is drawn, with replacement, in the resamples of one block: (size, units)."""
    drawn = np.random.default_rng([seed, block]).integers(units, size=(size, units))
    drawn += units * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)


def full_scores(panel: Panel) -> Labels:
    """1 where a single score is the highest of the scale, 0 elsewhere, NaN where it is missing: (items, cells); and the
    unit of each item (row, system, replicate)."""
    y = panel.scores[..., None] if panel.replicates is None else panel.replicates
    n, s, k, m, r = y.shape
    items = y.transpose(0, 1, 4, 2, 3).reshape(n * s * r, k * m)
    top = (items >= panel.scale[1] - 1e-9 * panel.width).astype(float)
    return np.where(np.isfinite(items), top, np.nan), np.repeat(panel.unit, s * r)


# --- the gain of the fit itself, without bias ---


class Gain(NamedTuple):
    """Fall of the mean squared distance of a judge drawn at random to any truth, in points squared (I7)."""

    estimate: float
    low: float
    high: float


def part_of(method: str, values: Array) -> tuple[Array, float]:
    """What each unit adds to the matrix that a method subtracts, and the share of it that is kept."""
    if method == "raw":
        return np.zeros_like(values), 1.0
    if method == "judge-only norm":
        mean = values.mean(1)
        return mean - mean.mean(1, keepdims=True), 1.0
    d = double_centre(values)
    return d, float(shrinkage(d)) if method == "cbc-shrunken" else 1.0


def shrinkage(d: Array) -> float:
    """Share of the mean of d (U, ...) that is kept: 1 - trace of its covariance / its squared size."""
    centre = d.mean(0)
    noise = ((d - centre) ** 2).sum() / max(len(d) - 1, 1) / len(d)
    return float(kept(np.array((centre**2).sum()), np.array(noise)))


def unbiased_gain(d: Array, tiny: float = 0.0, keep: float = 1.0, level: float = 0.95) -> Gain:
    """Gain of subtracting `keep` times the mean over units of d, which is centred over judges; jackknife interval.

    For x = mean of d with covariance V the estimate is (2 keep (x'x - tr V) - keep^2 x'x) / cells. The jackknife sees
    the error of the mean once; the gain of the fit made from it falls by it once more, hence 6 tr V^2.
    """
    n, cells = len(d), int(np.prod(d.shape[1:]))
    if n < 3:
        return Gain(np.nan, np.nan, np.nan)
    flat = np.where(np.abs(d).max(initial=0.0) > tiny, d, 0.0).reshape(n, -1)
    centre = flat.mean(0)
    e = flat - centre
    own = (e * e).sum(1)
    square = own.sum()

    def gain(size: Array, noise: Array) -> Array:
        return (2 * keep * (size - noise) - keep**2 * size) / cells

    estimate = float(gain(centre @ centre, square / (n - 1) / n))
    sizes = ((centre - e / (n - 1)) ** 2).sum(1)
    parts = gain(sizes, (square - own * n / (n - 1)) / ((n - 1) * (n - 2)))
    jackknife = (n - 1) / n * float(((parts - parts.mean()) ** 2).sum())
    gram = (e.T @ e if flat.shape[1] < n else e @ e.T) / (n * (n - 1))  # both have the same traces
    trace = max(float((gram**2).sum()) - float(np.trace(gram)) ** 2 / (n - 1), 0.0)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * float(np.sqrt(jackknife + 6 * keep**2 * trace / cells**2))
    return Gain(estimate, estimate - half, estimate + half)
