"""What would people give the answers of each language, on average? The levels of people's board (METHODS 39).

`calibrate --labels` moves its languages to them where labels are in three languages or more, so that it and `humans`
give one number; and languages without labels have the correction that is carried over, with its interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.humans.board import fit_people
from polyjudge.answers.humans.compare import sides_of
from polyjudge.calibrate.labelled import Labelled
from polyjudge.panel import Panel

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Levels:
    """mean, low, high : (languages,) what people would give on average, on the scale of the labels; NaN where nothing
    is said, or the level has no interval. is_labelled : (languages,)

    is_compared : (languages, systems) whose answers these are means of: of others people said nothing
    tells_others : whether languages without labels have a level
    """

    mean: Array
    low: Array
    high: Array
    is_labelled: NDArray[np.bool_]
    is_compared: NDArray[np.bool_]
    tells_others: bool


def people_levels(panel: Panel, found: Labelled, *, level: float = 0.95, seed: int = 0) -> Levels | None:
    """The levels of all languages; None where labels are too few to measure any."""
    sides = sides_of(panel, found)
    fitted = fit_people(panel, sides, seed)
    if fitted is None:
        return None
    n_answers = np.isfinite(fitted.scores).sum(axis=0).T  # (languages, systems)
    means = fitted.people.means
    weight: Any = np.where(np.isfinite(means).all(axis=0), n_answers, 0)
    total = weight.sum(axis=1)
    by_language = np.where(weight > 0, means * weight, 0.0).sum(axis=2) / np.maximum(total, 1)
    by_language[:, total == 0] = np.nan
    low, high = np.quantile(by_language, [(1 - level) / 2, (1 + level) / 2], axis=0)
    low[~fitted.people.has_level] = high[~fitted.people.has_level] = np.nan
    ends = found.scale if found.two_valued or found.same else (-np.inf, np.inf)
    is_labelled = np.isin(np.arange(len(panel.languages)), fitted.measured.languages)
    mean = np.median(by_language, axis=0)
    return Levels(
        mean=np.clip(mean, *ends),
        low=np.clip(low, *ends),
        high=np.clip(high, *ends),
        is_labelled=is_labelled,
        is_compared=weight > 0,
        tells_others=fitted.measured.tells_others,
    )
