"""Do judges favour systems of their own maker? (METHODS 19)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.answers.amounts import tiny_of
from polyjudge.base.text import count, families, names
from polyjudge.panel import Panel
from polyjudge.stats.cells import complete, least_squares_cells
from polyjudge.stats.interval import interval

Array = NDArray[np.float64]
RARE = 0.05
RELABELLINGS = 2000


@dataclass(frozen=True)
class OwnMaker:
    """Judges' scores of systems of their own maker, less those of others, judge and system effects taken out.

    why_not : why it cannot be tested; then there are no numbers
    """

    difference: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    makers: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def clear(self) -> bool:
        """Surely above 0, and rare among relabelled makers."""
        return bool(self.low > 0 and self.p <= RARE)


def own_maker(panel: Panel, given: Mapping[str, str] | None, *, level: float, seed: int) -> OwnMaker:
    """Self-preference: judge x system, doubly centred, own family less others (METHODS 19)."""
    judges, systems = families(panel.judges, given), families(panel.systems, given)
    by, of = [judges[x] for x in panel.judges], [systems[x] for x in panel.systems]
    shared = sorted(set(by) & set(of))
    if not shared:
        why = "No judge and system are known to come from the same maker, so self-preference cannot be tested."
        return OwnMaker(why_not=why)
    if len(panel.judges) < 2:
        return OwnMaker(makers=tuple(shared), why_not="Self-preference cannot be tested with one judge.")
    makers = sorted(set(by) | set(of))
    kin = np.array([[x == y for y in by] for x in of])
    if len(makers) <= 3 or kin.all():
        known = names(shared)
        return OwnMaker(
            makers=tuple(shared),
            why_not=f"Self-preference ({known}) cannot be tested with {count(len(makers), 'maker')}: "
            "it takes four among judges and systems.",
        )
    if panel.complete:
        values = complete(panel.scores.mean(2), panel.unit, panel.weight)
    else:
        values = least_squares_cells(panel.scores.transpose(0, 2, 1, 3), panel.unit, panel.weight)
    if len(makers) <= 6:
        turned = np.array(list(permutations(range(len(makers)))))
    else:
        rng = np.random.default_rng(seed)
        turned = np.array([np.arange(len(makers))] + [rng.permutation(len(makers)) for _ in range(RELABELLINGS)])
    s_code, b_code = (np.array([makers.index(x) for x in y]) for y in (of, by))
    own = turned[:, b_code][:, None, :] == s_code[None, :, None]
    own = own[own.any((1, 2)) & ~own.all((1, 2))]
    number = own.sum((1, 2), keepdims=True)
    contrasts = cbc.double_centre(own / number - ~own / (kin.size - number)).reshape(len(own), -1)
    if not values.estimable(contrasts).all():
        return OwnMaker(makers=tuple(shared), why_not="Too few systems are scored by several judges to test "
                        "self-preference.")  # fmt: skip
    size = contrasts @ values.mean.ravel()
    found = interval(values.contrast(contrasts[:1]), level=level)  # the first is makers as they are
    p = float((size >= size[0] - tiny_of(panel)).mean())
    return OwnMaker(float(size[0]), float(found.low[0]), float(found.high[0]), p, tuple(shared))
