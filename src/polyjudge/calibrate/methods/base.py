"""What a method of `compare` is: a named function of one block of resamples, and the registry of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from polyjudge.core.arrays import Array
from polyjudge.core.errors import UsageError
from polyjudge.core.labels import clean
from polyjudge.core.panel import Panel
from polyjudge.estimate.kernels import stream


@dataclass(frozen=True, eq=False)
class Block:
    """What a method sees of R resamples of a panel with n units, k languages and m judges.

    Parameters
    ----------
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


Adjust = Callable[[Block], Array]


@dataclass(frozen=True, eq=False)
class Method:
    """A function of a block, with what `compare` must know about it.

    Parameters
    ----------
    name : how users and tables call it
    adjust : Block -> (R, k, m). The adjusted cell values of the left-out units, or, when `subtracts`, the matrix A that
        is subtracted from them
    subtracts : the method only subtracts a matrix A(l, b) from the scores; then its accuracy gain can be measured
    identity : what about its line is true by arithmetic, in plain words; empty when nothing is
    scale : width of the adjusted values' scale, for the tie rule; None when they are on the scale of the scores
    complete : the method needs every task scored in every cell
    caution : says of a panel why the method's line means little there; empty text when it means what it should
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
    caution: Callable[[Panel], str] | None = None
    part: Callable[[Array], Array] | None = None
    keep: Callable[[Array, Array], float] | None = None

    def __call__(self, block: Block) -> Array:
        return self.adjust(block)


REGISTRY: dict[str, Method] = {}
"""The registered methods by name, in the order tables show them."""


def method(
    name: str,
    *,
    subtracts: bool = False,
    identity: str = "",
    scale: float | None = None,
    complete: bool = False,
    caution: Callable[[Panel], str] | None = None,
    part: Callable[[Array], Array] | None = None,
    keep: Callable[[Array, Array], float] | None = None,
) -> Callable[[Adjust], Method]:
    """Decorator that registers a function of a block as a method of `compare`. Arguments are those of `Method`.

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
        REGISTRY[name] = Method(name, adjust, subtracts, identity, scale, complete, caution, part, keep)
        return REGISTRY[name]

    return wrap


def find_methods(wanted: str | Method | Iterable[str | Method] | None) -> list[Method]:
    """The methods asked for, each once, in the order given; all registered ones for None or "all"."""
    if wanted is None or wanted == "all":
        return list(REGISTRY.values())
    listed = [wanted] if isinstance(wanted, (str, Method)) else list(wanted)
    out: dict[str, Method] = {}
    for item in listed:
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
