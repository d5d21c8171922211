"""One design for each seed: the new rows of scenarios.csv have lists whose product is too large to try as a whole.

A claim draws one entry of every list, tells whether the event happened, and returns it by each entry that was drawn:

    def claim(seed: int) -> list[tuple[str, bool]]:
        design = draw(seed, tasks=(20, 60), noise=("normal", "lognormal"))
        return happened(design, judge(design))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ALL_DESIGNS = "all"
"""The variant that counts every panel of a row; the others count those with one entry, such as "tasks 20"."""


def draw(seed: int, **lists: Sequence[Any]) -> dict[str, Any]:
    """One entry of every list, fixed by the seed; what the panel itself draws uses another generator.

    >>> draw(1, tasks=(20, 60), noise=("normal",)) == draw(1, tasks=(20, 60), noise=("normal",))
    True
    """
    generator = np.random.default_rng([seed, 20_000])
    return {name: entries[int(generator.integers(len(entries)))] for name, entries in lists.items()}


def happened(design: Mapping[str, Any], event: bool) -> list[tuple[str, bool]]:
    """The event, once for the row and once for each entry of the design.

    >>> happened({"tasks": 20}, True)
    [('all', True), ('tasks 20', True)]
    """
    return [(ALL_DESIGNS, bool(event)), *((f"{name} {entry}", bool(event)) for name, entry in design.items())]
