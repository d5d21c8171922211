"""What every measured quantity must keep to, and when a measured rate is worse than chance allows.

A promise is a bound on the true rate. The limit that a measured rate must not pass follows from the number of panels
alone: it is passed by chance, when the promise just holds, with probability `CHANCE` over all limits of a run together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc, ndtri, stdtrit

from validation.scenarios import Scenario

CHANCE = 0.01
"""Share of runs in which a sound polyjudge fails anywhere."""
POWER = 0.8
"""A departure counts as detectable when it is found in this share of runs."""


@dataclass(frozen=True)
class Promise:
    """True rates lie between `low` and `high`."""

    low: float = -np.inf
    high: float = np.inf


COVERS = Promise(low=0.93)
"""A 95% interval, wherever real panels live."""
AT_MOST = Promise(high=0.05)
"""A 5% test."""
MOSTLY = Promise(low=0.8)
"""What is planted this large must be found."""

PROMISES: dict[str, Promise] = {
    "interval coverage": Promise(0.93, 0.975),
    "band coverage": COVERS,
    "band at its level, coverage": Promise(low=0.945),
    "certified bound holds": Promise(low=0.95),
    "certificate refused, nothing matters": AT_MOST,
    "certified at what is there": AT_MOST,
    "any cell called off, none is": AT_MOST,
    "planted cells found": Promise(),
    "distribution-free bound, coverage": Promise(low=0.95),
    "rank sets, coverage": COVERS,
    "order over all, coverage": COVERS,
    "pairs called contaminated": Promise(),
    "false swaps": AT_MOST,
    "false swaps, as published": Promise(),
    "true swaps found": Promise(),
    "global swap test rejects": AT_MOST,
    "global swap test rejects, noise unequal": AT_MOST,
    "gain interval, coverage": COVERS,
    "gain, size of the interval": Promise(),
    "three-way test rejects": AT_MOST,
    "band in logits, coverage": COVERS,
    "any cell called off in logits, none is": AT_MOST,
    "sensitivity range, coverage": COVERS,
    "holes not at random are said": Promise(low=0.93),
    "holes at random called dependent": AT_MOST,
    "PPI interval, coverage": COVERS,
    "PPI interval, width": Promise(),
    "PPI mean, coverage": COVERS,
    "shared shift, coverage": COVERS,
    "share of right decisions, coverage": COVERS,
    "shift by the median judge, coverage": COVERS,
    "labels at random called unlike": AT_MOST,
    "labels of the hardest tasks noticed": MOSTLY,
    "drift alarms, nothing changed": AT_MOST,
    "drift found": MOSTLY,
    "the changed cell is named": MOSTLY,
    "drift alarms in a year of nights": AT_MOST,
    "signal interval, coverage": COVERS,
    "signal verdict wrong": AT_MOST,
    "signal verdict right": MOSTLY,
    "systems swap, none does": AT_MOST,
    "leaderboard ranks, coverage": COVERS,
    "leaderboard ranks by language, coverage": COVERS,
    "a look claims what is not so": AT_MOST,
    "the broken cell is named": MOSTLY,
    "a sound cell is named": AT_MOST,
    "how far it is off, coverage": COVERS,
    "a shared error is called agreement": AT_MOST,
    "judges on their own called a group": AT_MOST,
    "the group is named": MOSTLY,
    "a verdict from constant scores": AT_MOST,
    "own-family interval, coverage": COVERS,
    "own family is favoured, none is": AT_MOST,
    "own family is favoured, said": MOSTLY,
    "ranked by the taste of one maker": AT_MOST,
    "planned tasks tell the systems apart": Promise(low=0.8),
    "a swap that matters is accepted": AT_MOST,
    "a guarded look claims what is not so": AT_MOST,
    "explained though nothing is off": AT_MOST,
    "interval coverage, unequal clusters": COVERS,
    "gate contrast, coverage": COVERS,
    "gate spread, coverage": COVERS,
    "gate spread, width": Promise(),
    "PPI interval of skewed labels, coverage": COVERS,
    "planned labels meet the target": Promise(low=0.8),
    "anchored shift, coverage": COVERS,
    "stated fall of the language error, coverage": COVERS,
    "stated language error, coverage": COVERS,
    "error of shrunk shifts over unshrunk": Promise(high=1.0),
    "a blind cell is said to see": AT_MOST,
    "a seeing cell is called blind": AT_MOST,
    "blind cells found": MOSTLY,
    "a plea is said to help, none does": AT_MOST,
    "reaction, coverage": COVERS,
    "consistency across languages, coverage": COVERS,
    "a judge and a system called off, none is": AT_MOST,
    "a system and a language called off, none is": AT_MOST,
    "reliability of kept judges, coverage": COVERS,
    "reliability held out, coverage": COVERS,
    "Bradley-Terry strength, coverage": COVERS,
    "planned tasks keep the radius": COVERS,
    "planned tasks bring the band down to it": Promise(),
    "audits without a warning": Promise(low=0.95),
    "called calm, and it is not": AT_MOST,
    "alone, audits without a warning": Promise(low=0.95),
    "alone, a change is said and there is none": AT_MOST,
    "alone, a change of 6 points is found": MOSTLY,
    "preference for a place, coverage": COVERS,
    "a place is said to be preferred, none is": AT_MOST,
    "a judge that follows the slot is found": MOSTLY,
    "slope on length, coverage": COVERS,
    "scores are said to go with length, they do not": AT_MOST,
    "scores that go with length are found": MOSTLY,
    "equal systems at equal length, kept as best": COVERS,
    "a cell of a criterion is named, none is off": AT_MOST,
    "the criterion with the fault is named": MOSTLY,
}
"""By quantity; those without a bound are reported only."""


def promise(scenario: Scenario, quantity: str) -> Promise:
    """What a scenario must keep to."""
    if quantity == "three-way test rejects" and scenario.simulate.get("three_way_sd"):
        return MOSTLY
    if quantity == "any cell called off, none is" and scenario.plant:
        return Promise(high=0.07)  # beside a planted fault the band is at its own level
    return PROMISES[quantity]


def chances(bounds: int) -> float:
    """Probability with which one of so many limits may be passed by chance."""
    return CHANCE / max(bounds, 1)


def rate_limits(promised: Promise, panels: int, chance: float) -> tuple[float, float]:
    """The lowest and the highest measured rate that do not contradict a promise (exact binomial)."""
    counts = np.arange(panels + 1)
    low, high = -np.inf, np.inf
    if np.isfinite(promised.low):
        low = float(counts[bdtr(counts, panels, promised.low) > chance][0]) / panels
    if np.isfinite(promised.high):
        over = np.where(counts > 0, bdtrc(np.maximum(counts - 1, 0), panels, promised.high), 1.0)
        high = float(counts[over > chance][-1]) / panels
    return low, high


def mean_limits(promised: Promise, error: float, panels: int, chance: float) -> tuple[float, float]:
    """The same for means of several values a panel, from their standard error (Student's t)."""
    slack = -float(stdtrit(max(panels - 1, 1), chance)) * error
    return promised.low - slack, promised.high + slack


def largest_t(cells: int, panels: int, chance: float) -> float:
    """What the largest of the t values of so many unbiased cells passes by chance, as a normal value."""
    return -float(ndtri(chance / (2 * cells))) if panels > 1 else np.inf


def detectable(panels: int, chance: float) -> tuple[float, float]:
    """The coverage of a 95% interval and the alarms of a 5% test that so many panels tell from what is promised."""
    rates = np.linspace(0.0005, 0.9995, 2000)
    low, _ = rate_limits(COVERS, panels, chance)
    _, high = rate_limits(AT_MOST, panels, chance)
    short = rates[bdtr(np.ceil(low * panels - 1e-9) - 1, panels, rates) >= POWER]
    often = rates[bdtrc(np.floor(high * panels + 1e-9), panels, rates) >= POWER]
    return float(short.max(initial=0.0)), float(often.min(initial=1.0))
