"""Blind spots: what failures could change that none of the drawn units shows (METHODS 29).

An interval is made of the scores that were drawn. A judge or system that fails on few tasks may have failed on none of
these, and then no interval knows of it. This is how many tasks may fail unseen, and how far that would move a mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class BlindSpot:
    """What failures that were not drawn could change.

    share : largest share of units that may fail without one of them being drawn
    size : how far that moves a mean, in the unit of the scores
    """

    share: float
    size: float

    @property
    def one_in(self) -> int:
        """The N of "a failure on fewer than 1 in N tasks may not show here".

        >>> [blind_spot([70.0], low=0, units=units).one_in for units in (20, 30)]
        [7, 10]
        """
        return max(1, int(1 / self.share + 1e-9))


def unseen_share(units: int, level: float = 0.95) -> float:
    """The largest share of units that may fail without one of so many being drawn: (1 - share)^units is 1 - level.

    >>> round(unseen_share(30), 3)
    0.095
    """
    return float(1 - (1 - level) ** (1 / max(units, 1)))


def blind_spot(means: ArrayLike, low: float, units: int, level: float = 0.95, weight: float = 1.0) -> BlindSpot:
    """How far the mean that is farthest from the score of a failure may be moved by failures that were not drawn.

    means : means that may contain such failures, NaN where there is none
    low : the score of a failure, the lower end of the scale
    units : number of tasks, or of clusters where tasks belong to clusters
    weight : share of the failing judge in what is stated; 1 / (m - 1) where one of m judges is replaced

    A lead may vanish by rare failures of the leader where it is below the blind spot of the leader's mean.

    >>> lead = 2.0
    >>> hidden = blind_spot([70.0], low=0, units=40)
    >>> lead < hidden.size, f"unless it fails on fewer than 1 in {hidden.one_in} tasks"
    (True, 'unless it fails on fewer than 1 in 13 tasks')
    """
    known = np.asarray(means, dtype=float)
    known = known[np.isfinite(known)]
    room = max(float(known.max(initial=low)) - low, 0.0)
    share = unseen_share(units, level)
    return BlindSpot(share=share, size=share * room * weight)
