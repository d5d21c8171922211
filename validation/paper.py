"""Rows P2 to P6 of scenarios.csv: what `paper report` prints, on planted truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyjudge import cbc
from polyjudge.calibrate.baselines import unbiased_gain
from polyjudge.panel import Array
from polyjudge.paper import protocols
from validation.designs import draw, happened


def additive_panel(rng: np.random.Generator, n: int, k: int, m: int, noise: str) -> Array:
    """Task (sd 12), language (sd 4), judge (sd 6), task:language (sd 3) and noise of sd 5; no interaction."""
    shape = (n, k, m)
    errors = rng.exponential(5.0, shape) - 5.0 if noise == "exponential" else rng.normal(0, 5.0, shape)
    levels = rng.normal(0, 12, (n, 1, 1)) + rng.normal(0, 4, (1, k, 1)) + rng.normal(0, 6, (1, 1, m))
    return np.asarray(levels + rng.normal(0, 3, (n, k, 1)) + errors)


def planted_interaction(rng: np.random.Generator, k: int, m: int, sd: float) -> Array:
    """An interaction whose rows and columns sum to zero."""
    return cbc.double_centre(rng.normal(0, sd, (k, m)))


def confirmed_reversals(seed: int) -> list[tuple[str, bool]]:
    """P2: a pair of judges that does not reverse is confirmed to."""
    design: dict[str, Any] = draw(
        seed, tasks=(20, 60), languages=(3, 8), judges=(3, 6), noise=("normal", "exponential")
    )
    rng = np.random.default_rng(seed)
    scores = additive_panel(rng, design["tasks"], design["languages"], design["judges"], design["noise"])
    return happened(design, bool((cbc.reversals(scores, 1e-7).p <= 0.05).any()))


def covered_gain(seed: int) -> list[tuple[str, bool]]:
    """P3: the interval of the gain without labels holds what the fitted beta^ truly gains (I7)."""
    design: dict[str, Any] = draw(
        seed, tasks=(20, 60), languages=(3, 8), judges=(3, 6), sd=(2.0, 5.0), noise=("normal", "exponential")
    )
    rng = np.random.default_rng(seed)
    k, m = design["languages"], design["judges"]
    beta = planted_interaction(rng, k, m, design["sd"])
    scores = additive_panel(rng, design["tasks"], k, m, design["noise"]) + beta
    gain = unbiased_gain(cbc.double_centre(scores), 1e-7)
    fitted = cbc.interaction(scores)
    true_gain = float((2 * fitted * beta - fitted**2).mean())
    return happened(design, bool(gain.low <= true_gain <= gain.high))


def family_level(seed: int) -> list[tuple[str, bool]]:
    """P4: families of tasks with one interaction are told to differ."""
    effect, design, _ = _families(seed, correlation=1.0)
    return happened(design, effect.p <= 0.05)


def family_correlation(seed: int) -> list[tuple[str, bool]]:
    """P5: the interval of the correlation between families holds the true one."""
    correlation = (1.0, 0.7, 0.0)[seed % 3]
    effect, design, truth = _families(seed, correlation)
    design = design | {"correlation": correlation}
    return happened(design, bool(effect.low[0] <= truth <= effect.high[0]))


def _families(seed: int, correlation: float) -> tuple[protocols.FamilyEffect, dict[str, Any], float]:
    design = draw(seed, smaller=(15, 30), larger=(30, 60), languages=(4, 8), judges=(4, 6), sd=(4.0, 8.0))
    rng = np.random.default_rng(seed)
    k, m = design["languages"], design["judges"]
    first = planted_interaction(rng, k, m, design["sd"])
    other = planted_interaction(rng, k, m, design["sd"])
    other -= first * (other * first).sum() / (first**2).sum()
    other *= np.sqrt((first**2).sum() / (other**2).sum())
    second = correlation * first + np.sqrt(1 - correlation**2) * other
    scores = np.concatenate(
        [
            additive_panel(rng, design["smaller"], k, m, "normal") + first,
            additive_panel(rng, design["larger"], k, m, "normal") + second,
        ]
    )
    family = np.repeat([0, 1], [design["smaller"], design["larger"]])
    return protocols.compare_families(scores, family, draws=200, seed=seed), design, correlation


def few_shot_harms(seed: int) -> list[tuple[str, bool]]:
    """P6: twelve shared tasks make an unseen language surely worse than none."""
    design: dict[str, Any] = draw(seed, tasks=(30, 60), languages=(4, 8), judges=(4, 6), sd=(0.0, 5.0))
    rng = np.random.default_rng(seed)
    k, m = design["languages"], design["judges"]
    scores = additive_panel(rng, design["tasks"], k, m, "normal") + planted_interaction(rng, k, m, design["sd"])
    s = cbc.split(scores, cbc.draw(len(scores), 200, seed), tiny=1e-7)
    s = cbc.split(scores, s.drawn[(s.drawn > 0).sum(1) >= 12], tiny=1e-7)
    changes = protocols.few_shot(s, 0, 12) - protocols.few_shot(s, 0, 0)
    return happened(design, bool(np.percentile(changes, 97.5) < 0))


CLAIMS = {
    "P2": confirmed_reversals,
    "P3": covered_gain,
    "P4": family_level,
    "P5": family_correlation,
    "P6": few_shot_harms,
}
