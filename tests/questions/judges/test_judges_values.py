"""The values of the choice and swap of judges: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.panel.say import say
from polyjudge.questions.judges.choose import _optimal
from values import Cases, Said, human_scores, simulated

CASES = Cases(__file__)
FAMILIES = ["gpt-4o", "gpt-4.1", "claude-opus", "gemini-pro"]


def weighted_systems(panel: pj.Panel) -> pj.Panel:
    assert panel.system_scores is not None
    weights = 1.0 + np.arange(len(panel.tasks)) % 3
    return pj.Panel.from_array(panel.system_scores, systems=panel.systems, weights=weights)


@CASES
def judges_prices() -> Any:
    panel = simulated(40, 3, systems=4, judges=FAMILIES, sees=np.array([1.0, 1.0, 0.5, 0.1]) * np.ones((3, 1)), seed=14)
    prices = dict(zip(FAMILIES, (3.0, 1.0, 2.0, 0.5), strict=True))
    return pj.judges(panel, prices=prices, budget=20.0, resamples=60)


@CASES
def judges_labels() -> Any:
    panel = simulated(40, 2, 4, clusters=10, seed=15)
    return pj.judges(panel, gold=human_scores(panel, annotators=1), target=0.5, max_judges=3, resamples=60)


@CASES
def judges_swap() -> Any:
    panel = simulated(40, 3, 4, systems=3, seed=16)
    return pj.judges(panel, swap=("judge1", "judge3"), matters=6.0, threshold=50.0)


@CASES
def judges_swap_guarded() -> Any:
    panel = simulated(40, 3, 4, clusters=10, missing=0.05, seed=17)
    return pj.judges(panel, swap=("judge2", "judge4"), guard=True, alone=True, level=0.9)


@CASES
def judges_copies() -> Any:
    rng = np.random.default_rng(56)
    error = rng.normal(size=(80, 3, 2, 5))
    error[..., 1] = 0.95 * error[..., 0] + 0.3 * error[..., 1]
    scores = 50 + 10 * rng.normal(size=(80, 3, 1, 1)) + 9 * error
    return pj.judges(pj.Panel.from_array(scores, systems=["x", "y", "z"]), resamples=60)


@CASES
def judges_enough() -> Any:
    panel = simulated(40, 2, 4, systems=3, noise_sd=3, seed=57)
    return pj.judges(weighted_systems(panel), matters=12.0, resamples=60)


@CASES
def judges_alike() -> Any:
    rng = np.random.default_rng(58)
    scores = 50 + rng.normal(0, 10, (200, 3, 1, 1)) + rng.normal(0, 1, (200, 3, 2, 3)) + np.array([0.0, 0.2, 30.0])
    panel = pj.Panel.from_array(scores, systems=["x", "y", "z"])
    return pj.judges(panel, swap=("judge1", "judge2"), matters=3.0)


def noisy(noise: Any, tasks: int, seed: int) -> pj.Panel:
    """Judges who see the same, with noise of their own by language."""
    rng, sd = np.random.default_rng(seed), np.asarray(noise)
    scores = 50 + 10 * rng.normal(size=(tasks, 3, 1, 1)) + sd * rng.normal(size=(tasks, 3, *sd.shape))
    return pj.Panel.from_array(scores, systems=["x", "y", "z"])


@CASES
def judges_weights() -> Any:
    return pj.judges(noisy([[4, 10, 10]] * 2, 200, 59), budget=100.0, resamples=60)


@CASES
def judges_by_language() -> Any:
    return pj.judges(noisy([[3, 20, 20, 8], [20, 5, 20, 8], [20, 20, 5, 8]], 80, 60), budget=27.0, resamples=60)


@CASES
def judges_few_labels() -> Any:
    panel = simulated(40, 2, 3, seed=61)
    return pj.judges(panel, gold=human_scores(panel, labels=20, annotators=1), resamples=60)


@CASES
def judges_two_clusters() -> Any:
    return pj.judges(simulated(24, 2, 3, clusters=2, systems=2, seed=62), swap=("judge1", "judge2"))


@CASES
def judges_many() -> Any:
    return Said((pj.judges(simulated(12, 1, 13, systems=2, seed=1), resamples=20),))


@CASES
def judges_swap_refused() -> Any:
    planted = np.zeros((2, 3))
    planted[0, 1] = 40.0
    panel = simulated(20, 2, 3, interaction=planted, noise_sd=2.0, seed=63)
    return Said((pj.judges(panel, swap=("judge1", "judge2"), matters=2.0),))


@CASES
def judges_noisy_language() -> Any:
    """The error that matters is that over all languages, not that of the last."""
    panel = noisy([[3, 3, 3], [20, 20, 20]], 40, 5)
    return Said((pj.judges(panel, matters=7.5, resamples=40),))


def test_judges_who_share_nothing_weigh_alike() -> None:
    with np.errstate(invalid="ignore"):
        assert _optimal(np.zeros((3, 3))).tolist() == [1 / 3] * 3


@CASES
def judges_sentences() -> Any:
    keep = {"judges": ["judge1"], "all": 3, "cost": 4.0, "full": 9.0, "held_out": 0.5, "low": 0.4, "high": 0.6}
    moved = {"into": "judge1", "out": "judge2", "first": "system1", "second": "system2", "language": "language1"}
    moved |= {"change": 3.0, "low": 2.0, "high": 4.0, "matters": 2.5, "needed": 90}
    blind = {"blind_spot": 0.1, "blind_points": 2.0}
    rules = [(rule, priced) for rule in ("budget", "matters", "target", "noise") for priced in (True, False)]
    kinds = ("system difference", "pass rate", "language")
    every = ["judge1", "judge2", "judge3"]
    return [
        *(say("choose.keep", rule=rule, priced=priced, **keep) for rule, priced in rules),
        *(say("choose.keep", rule=x, priced=True, **keep | {"judges": every}) for x in ("noise", "none is enough")),
        say("choose.keep", rule="noise", priced=True, **keep | {"judges": every[:2], "all": 2}),
        *(say("choose.language", language="language1", judges="judge1", more=n) for n in (0, 1, 2)),
        *(say(f"swap.{x}", kind=kind, **moved) for x in ("refused", "open", "accepted") for kind in kinds),
        say("swap.open", kind="pass rate", **moved | {"needed": None, "first": ""}),
        *(say("swap.blind-spot", guard=guard, share=share, **blind) for guard in (True, False) for share in (0.5, 1.0)),
        *(say("choose.scope", systems=x, level=0.9) for x in (True, False)),
    ]


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
