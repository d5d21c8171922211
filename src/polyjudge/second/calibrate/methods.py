"""What a method is: a named function of a block of resamples (what it learns from and is measured on) that `compare`
ranks and, where it is a map of scores, a calibrator that can be saved; and the registry of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.calibrate.base import Calibrator, read_numbers
from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.calibrate.shrinkage import best_keep
from polyjudge.second.estimate.deviations import Units, choose_each, sized
from polyjudge.second.estimate.incomplete import estimate_interaction, language_strata
from polyjudge.second.estimate.kernels import double_centre, stream
from polyjudge.second.panel.adjustment import Adjustment
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import CalibratorError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say
from polyjudge.second.rooms import load

Multiplicity = NDArray[np.int64]

Estimate = Callable[[Array], tuple[Array, Array]]
"""Multiplicities (R, n) of the units -> cell means and interaction, each (R, k, m); NaN where they are not identified.

`InteractionEstimate.resample` is one. Another estimator of the interaction is plugged in here.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """What a method sees of R resamples of a panel with n units, k languages and m judges.

    panel : the whole panel, with labels, scores and replicate-level scores
    drawn : (R, n) training weight of every unit: how often it was drawn, times its number of tasks
    held : (R, n) evaluation weight of every unit: its number of tasks where it was not drawn, else 0
    train : (R, k, m) cell means over the drawn units (Tr)
    left_out : (R, k, m) cell means over the left-out units (E)
    interaction : (R, k, m) interaction estimated from the drawn units, beta-hat(Tr)
    left_out_interaction : (R, k, m) interaction of the left-out units, DC(E). Only an oracle may use it
    key : seed, number of the block, and who asks: they make `rng`
    """

    panel: Panel
    drawn: Array
    held: Array
    train: Array
    left_out: Array
    interaction: Array
    left_out_interaction: Array
    key: tuple[int, int, str] = (0, 0, "")

    @cached_property
    def rng(self) -> np.random.Generator:
        """This method's own random stream in this block."""
        return stream(*self.key)

    @property
    def gap(self) -> float:
        """Values of cells closer than this are tied."""
        return self.panel.tie_gap


def make_block(
    panel: Panel, drawn: Multiplicity, held: Multiplicity, estimate: Estimate, key: tuple[int, int] = (0, 0)
) -> tuple[Block, NDArray[np.int64]]:
    """A block from the multiplicities of training and evaluation, both (R, n), and which rows of them it holds."""
    kept = np.flatnonzero(held.any(axis=1))
    # One product for both sides: the scores pass through memory once.
    both = np.empty((2 * len(kept), drawn.shape[1]))
    both[: len(kept)], both[len(kept) :] = drawn[kept], held[kept]
    means, interaction = estimate(both)
    size = len(kept)
    lacking = np.asarray((np.isnan(means) | np.isnan(interaction)).any(axis=(-2, -1)))
    known = ~(lacking[:size] | lacking[size:])
    if not known.all():
        both, means, interaction = (a[np.tile(known, 2)] for a in (both, means, interaction))
        kept = kept[known]
        size = len(kept)
    both *= panel.weights
    block = Block(
        panel=panel,
        drawn=both[:size],
        held=both[size:],
        train=means[:size],
        left_out=means[size:],
        interaction=interaction[:size],
        left_out_interaction=interaction[size:],
        key=(*key, ""),
    )
    return block, kept


def full_fit(panel: Panel, seed: int = 0, estimate: Estimate | None = None) -> Block:
    """The block with one resample that trains and evaluates on all units."""
    all_units = np.ones((1, len(panel.tasks)), dtype=np.int64)
    return make_block(panel, all_units, all_units, estimate or estimate_interaction(panel).resample, (seed, 0))[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Map:
    """(score - shift) / scale of each cell, both (R, k, m)."""

    shift: Array
    scale: Array


Adjust = Callable[[Block], Array | Map]


IDENTITIES: dict[str, tuple[str, ...]] = {
    "full-fit": ("full_fit",),
    "as-cbc": ("tau", "full_fit", "gain", "gain_positive"),
    "oracle": ("tau", "full_fit", "gain", "gain_positive"),
    "as-raw": ("tau", "full_fit"),
}
"""What is true of a method by arithmetic -> the columns of `compare` that say it (docs/methods.md: I3, I6, I7)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Method:
    """A function of a block, with what `compare` must know about it.

    name : how users and tables call it
    adjust : Block -> (R, k, m). When `subtracts`, the matrix A that is subtracted from the scores; else a `Map` of the
        scores, or the adjusted cell values of the left-out units themselves
    subtracts : the method only subtracts a matrix A(l, b) from the scores; then its accuracy gain can be measured
    identity : what about its line is true by arithmetic: a key of `IDENTITIES`; empty when nothing is
    scale : width of the adjusted values' scale, for the tie rule; None when they are on the scale of the scores
    complete : the method needs every task scored in every cell
    caution : says of a panel why the method's line means little there; None when it means what it should
    calibrator : makes the calibrator that is the same method, when there is one with more to tell
    compares_only : why the method cannot be saved and applied to other scores, where its function does not show it
    by_name : every resample is fitted one by one, so that the method is compared only when it is named
    part : what each task adds to the matrix subtracted, centred over judges: complete scores (n, k, m) -> (n, ...).
        With it the gain of the full fit is estimated without bias (`unbiased_gain`); without it, only on left-out tasks
    keep : the share of that matrix which is subtracted, from (n, ...) values and unit weights; None for all of it
    """

    name: str
    adjust: Adjust
    subtracts: bool = False
    identity: str = ""
    scale: float | None = None
    complete: bool = False
    caution: Callable[[Panel], Say | None] | None = None
    calibrator: Callable[[], Calibrator] | None = None
    compares_only: str = ""
    by_name: bool = False
    part: Callable[[Array], Array] | None = None
    keep: Callable[[Array, Array], float] | None = None

    def __call__(self, block: Block) -> Array | Map:
        return self.adjust(block)

    def fit(self, panel: Panel) -> Calibrator:
        """The calibrator of this method, fitted on all of a panel.

        >>> from polyjudge.second import simulate_panel
        >>> panel, _ = simulate_panel(tasks=20, languages=3, judges=4)
        >>> find_methods("z-score")[0].fit(panel).transform(panel).shape
        (20, 3, 4)
        """
        return (self.calibrator() if self.calibrator else MethodCalibrator(self)).fit(panel)


class MethodCalibrator(Calibrator):
    """Any method of `compare` that maps scores by (score - shift) / scale of their cell."""

    kind = "method"
    _map: Adjustment

    def __init__(self, method: Method | str) -> None:
        self.method = method.name if isinstance(method, Method) else method
        self._method = method if isinstance(method, Method) else None

    def _fit(self, panel: Panel) -> None:
        method = self._method or find_methods(self.method)[0]
        if method.complete:
            panel.require_complete(f"the method {method.name}")
        out = None if method.compares_only else method(full_fit(panel))
        if out is None or not (isinstance(out, Map) or method.subtracts):
            why = method.compares_only or "it works on the cell means it is given, not on single scores"
            raise CalibratorError(
                f"The method {clean(method.name)} cannot be applied to other scores: {why}. It can only be compared "
                "(polyjudge compare)."
            )
        shift, scale = (out.shift[0], out.scale[0]) if isinstance(out, Map) else (np.asarray(out)[0], None)
        self._map = Adjustment(languages=panel.languages, judges=panel.judges, shift=np.array(shift), scale=scale)

    @property
    def adjustment_(self) -> Adjustment:
        return self._map

    def _fields(self) -> dict[str, Any]:
        scale = self._map.scale
        shift = self._map.shift.tolist()
        return {"method": self.method, "shift": shift, "scale": None if scale is None else scale.tolist()}

    @classmethod
    def _read(cls, data: dict[str, Any], languages: pd.Index[str], judges: pd.Index[str]) -> Self:
        cells = len(languages), len(judges)
        out = cls(str(data["method"]))
        scale = None if data["scale"] is None else read_numbers(data, "scale", cells)
        if scale is not None and not ((scale > 1e-12) & (scale < 1e12)).all():
            raise ValueError("scale must be positive, and neither tiny nor huge")
        shift = read_numbers(data, "shift", cells)
        out._map = Adjustment(languages=tuple(languages), judges=tuple(judges), shift=shift, scale=scale)
        return out

    def __repr__(self) -> str:
        if not hasattr(self, "fingerprint_"):
            return f"MethodCalibrator({clean(self.method)!r}), not fitted"
        a = self._map
        return (
            f"MethodCalibrator({clean(self.method)!r}), fitted on {len(a.languages)} languages x {len(a.judges)} judges"
        )


def marked(calibrator: Calibrator, mark: float) -> MethodCalibrator:
    """What moves the mark of a gate instead of the scores: a score less the mark of its cell, above 0 where it passes.

    >>> from polyjudge.second import Panel
    >>> panel = Panel.from_array([[[1, 2], [3, 5]], [[1, 2], [3, 4]]])
    >>> gate = marked(ConsensusCalibrator().fit(panel), 3)
    >>> gate.transform(4, language="language1", judge="judge1") > 0
    True
    """
    table = calibrator.marks(mark)
    out = MethodCalibrator(f"mark {mark:g}")
    out._map = Adjustment(languages=tuple(table.index), judges=tuple(table.columns), shift=table.to_numpy())
    out.range_, out.fingerprint_, out.levels_ = calibrator.range_, calibrator.fingerprint_, calibrator.levels_
    return out


REGISTRY: dict[str, Method] = {}
"""The registered methods by name, in the order tables show them."""


def method(name: str, **about: Any) -> Callable[[Adjust], Method]:
    """Decorator that registers a function of a block as a method of `compare`. `about`: the fields of `Method`.

    >>> @method("halved", subtracts=True)
    ... def halved(block):
    ...     return block.interaction / 2
    >>> REGISTRY.pop("halved").name
    'halved'
    """

    def wrap(adjust: Adjust) -> Method:
        # A user may run a notebook cell again; polyjudge's own methods stay what they are.
        if name in REGISTRY and REGISTRY[name].adjust.__module__.startswith("polyjudge."):
            raise UsageError(f"polyjudge has a method {clean(name)!r} already. Give yours another name.")
        REGISTRY[name] = Method(name=name, adjust=adjust, **about)
        return REGISTRY[name]

    return wrap


def method_of(calibrator: ConsensusCalibrator) -> Method:
    """A calibrator as a method of `compare`."""
    return Method(
        name=calibrator.name,
        adjust=lambda block: calibrator.resampled(block.panel, block.drawn),
        subtracts=True,
        calibrator=lambda: calibrator,
        by_name=True,
    )


def find_methods(
    wanted: str | Method | Calibrator | Iterable[str | Method | Calibrator] | None,
) -> list[Method]:
    """The methods asked for, each once, in the order given; None for those of this room and the user's own."""
    if wanted is None:
        room = {m.name: m.adjust.__module__ for m in REGISTRY.values() if not m.by_name}
        return [REGISTRY[n] for n, own in room.items() if own == __name__ or not own.startswith("polyjudge.")]
    listed = [wanted] if isinstance(wanted, (str, Method, Calibrator)) else list(wanted)
    if not all(isinstance(item, Method) or (isinstance(item, str) and item in REGISTRY) for item in listed):
        load("methods")
    if wanted == "all":
        return [m for m in REGISTRY.values() if not m.by_name]
    out: dict[str, Method] = {}
    for item in listed:
        if isinstance(item, ConsensusCalibrator):
            item = REGISTRY.get(item.name) or method_of(item)
        elif isinstance(item, Calibrator):
            item = item.method if isinstance(item, MethodCalibrator) else str(item)
        if isinstance(item, Method):
            out[item.name] = item
            continue
        key = str(item).strip().lower().replace("_", "-")
        found = REGISTRY.get(item) or next((m for n, m in REGISTRY.items() if n.lower().replace(" ", "-") == key), None)
        found = found or REGISTRY.get(key.replace("-", " "))
        if found is None:
            close = get_close_matches(key, REGISTRY, 1)
            raise UsageError(
                f"There is no method {clean(item)!r}. The methods are {', '.join(REGISTRY)}."
                + (f" Did you mean {close[0]!r}?" if close else "")
            )
        out[found.name] = found
    if not out:
        raise UsageError("Name at least one method to compare, or methods='all'.")
    return list(out.values())


@method("raw", subtracts=True, part=np.zeros_like)
def raw(block: Block) -> Array:
    """Nothing is subtracted."""
    return np.zeros_like(block.left_out)


@method("cbc", subtracts=True, identity="full-fit", calibrator=ConsensusCalibrator, part=double_centre)
def cbc(block: Block) -> Array:
    """The interaction estimated from the drawn tasks."""
    return block.interaction


@method("shrunken", subtracts=True, part=double_centre, keep=best_keep)
def shrunken(block: Block) -> Array:
    """The interaction of the drawn tasks less the share of it that is noise (empirical Bayes)."""
    d = estimate_interaction(block.panel).influence.reshape(len(block.panel.tasks), -1)
    total = block.drawn.sum(axis=1)
    size = (block.interaction**2).sum(axis=(-2, -1))
    square = np.maximum(block.drawn @ (d * d).sum(axis=1) / total - size, 0.0)
    noise = square / max(len(d) - 1, 1)
    kept = np.maximum(0.0, 1 - np.divide(noise, size, out=np.ones_like(size), where=size > 0))
    return kept[:, None, None] * block.interaction


MOST_UNITS = 2000
"""The explanation is chosen from at most this many units; the sizes come from all of them."""


@method("sparse", subtracts=True, calibrator=lambda: import_module("polyjudge.second.calibrate.sparse").SparseCalibrator())
def sparse(block: Block) -> Array:
    """The excess of the cells that the drawn tasks name. The choice counts a task once, however often it was drawn."""
    panel = block.panel
    estimate = estimate_interaction(panel)
    part: NDArray[np.int64] = np.arange(len(panel.tasks))
    if len(part) > MOST_UNITS:
        part = np.sort(np.random.default_rng(len(part)).permutation(len(part))[:MOST_UNITS])
    strata = language_strata(panel)
    own = None if strata is None else strata[part]
    values, cells = estimate.influence[part], estimate.cell_influence[part]
    units = Units.of(values, cells, panel.weights[part], most=len(part), strata=own)
    excess, named = sized(units, block.interaction, choose_each(units, block.drawn[:, part] > 0))
    return np.where(named, excess, 0.0)
