"""Agreement by judge and language on planted truth (METHODS 31b; rows J1 to J5 of scenarios.csv).

score = task (sd 12) + task:language (sd 3) + what a system's answer to the task is worth (sd 8) + noise (sd 5) + 50.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.cell_agreement import CellAgreement, agreement_with_others, cell_agreement
from validation.designs import draw, happened

Array = NDArray[np.float64]
Held = list[tuple[str, bool]]
NOISES = ("normal", "Likert", "pass/fail")
FLOOR_LANGUAGE = 0
MIDDLE_SCORE, LIKERT_STEP = 50.0, 13.0


def simulate_signal(generator: np.random.Generator, design: Mapping[str, Any]) -> Array:
    """What the answers are worth, (tasks, systems, languages, 1)."""
    n_tasks, n_languages, n_systems = design["tasks"], design["languages"], max(design["systems"], 1)
    signal = 12 * generator.normal(size=(n_tasks, 1, 1, 1)) + 3 * generator.normal(size=(n_tasks, 1, n_languages, 1))
    if design["systems"]:
        signal = signal + 8 * generator.normal(size=(n_tasks, n_systems, n_languages, 1))
    return MIDDLE_SCORE + signal


def score(generator: np.random.Generator, signal: Array, design: Mapping[str, Any]) -> Array:
    """Scores of all judges, on the scale of the design; of pass or fail 60% pass."""
    scores = signal + 5 * generator.normal(size=(*signal.shape[:3], design["judges"]))
    if design["noise"] == "Likert":
        return np.clip(np.round(3 + (scores - MIDDLE_SCORE) / LIKERT_STEP), 1, 5)
    if design["noise"] == "pass/fail":
        return (scores > np.quantile(scores, 0.4)).astype(float)
    return scores


def look(scores: Array) -> CellAgreement:
    """Agreement of all cells, tasks as units."""
    cells = cell_agreement(scores, np.arange(len(scores)))
    assert cells is not None
    return cells


def false_names(seed: int) -> Held:
    """J1: a cell is named in a sound panel, or in one whose first language stands at the floor."""
    design = draw(
        seed, tasks=(50, 100, 400), languages=(2, 4, 8, 27), judges=(3, 5, 10), systems=(0, 2, 5),
        noise=(*NOISES, "one language at the floor"),
    )  # fmt: skip
    generator = np.random.default_rng([seed, 31])
    scores = score(generator, simulate_signal(generator, design), design)
    if design["noise"] == "one language at the floor":
        scores[:, :, FLOOR_LANGUAGE] = np.maximum(scores[:, :, FLOOR_LANGUAGE] - 70, 0.0)
    return happened(design, len(look(scores).named) > 0)


def reverse_one_cell(seed: int, tasks: int) -> Held:
    """One judge is reversed in one language: exactly that cell is named, and as reversed."""
    design = draw(
        seed, tasks=(tasks,), languages=(4, 8), judges=(3, 5, 8), systems=(0, 2), noise=NOISES,
    )  # fmt: skip
    generator = np.random.default_rng([seed, 32])
    scores = score(generator, simulate_signal(generator, design), design)
    language = int(generator.integers(design["languages"]))
    judge = int(generator.integers(design["judges"]))
    scores[:, :, language, judge] = scores.min() + scores.max() - scores[:, :, language, judge]
    named = look(scores).named
    is_exact = [(cell.language, cell.judge, cell.is_reversed) for cell in named] == [(language, judge, True)]
    return happened(design, is_exact)


def reversed_of_100(seed: int) -> Held:
    """J2: with 100 tasks."""
    return reverse_one_cell(seed, 100)


def reversed_of_50(seed: int) -> Held:
    """J4: with 50 tasks."""
    return reverse_one_cell(seed, 50)


def split(seed: int) -> Held:
    """J3: three of six judges share another signal in one language; one of the six is blamed alone."""
    design = draw(seed, tasks=(100,), languages=(5,), judges=(6,), systems=(0,), noise=("normal",))
    generator = np.random.default_rng([seed, 33])
    signal = simulate_signal(generator, design)
    scores = score(generator, signal, design)
    language = int(generator.integers(5))
    other_signal = simulate_signal(generator, design)[:, :, language]
    scores[:, :, language, :3] = other_signal + 5 * generator.normal(size=(100, 1, 3))
    return happened(design, len(look(scores).named_in(language)) == 1)


def mixed_scores(generator: np.random.Generator, design: Mapping[str, Any]) -> Array:
    """Scores of J5: as of the other rows, or with a tenth of the noise four times as large, or 90% that pass."""
    signal = simulate_signal(generator, design)
    if design["noise"] in NOISES[:2]:
        return score(generator, signal, design)
    shape = (*signal.shape[:3], design["judges"])
    noise = generator.normal(size=shape)
    if design["noise"] == "a tenth x4":
        return signal + 5 * np.where(generator.random(shape) < 0.1, 4.0, 1.0) * noise
    sd = np.sqrt(signal_variance(design) + 5**2)
    return np.asarray(signal + 5 * noise > MIDDLE_SCORE - 1.2816 * sd, dtype=float)


def signal_variance(design: Mapping[str, Any]) -> float:
    """Variance of what the answers are worth."""
    return 12**2 + 3**2 + (8**2 if design["systems"] else 0)


@cache
def true_r(noise: str, judges: int, systems: int) -> float:
    """r of a cell in a panel of very many tasks."""
    design = {"tasks": 40_000, "languages": 1, "judges": judges, "systems": systems, "noise": noise}
    scores = mixed_scores(np.random.default_rng([35, judges, systems]), design)
    return float(agreement_with_others(scores[:, :, 0], np.arange(len(scores))).r.mean())


def limits_hold(seed: int) -> Held:
    """J5: the limits of all cells hold the true r."""
    design = draw(
        seed, tasks=(60, 100, 200), languages=(2, 4), judges=(3, 5), systems=(0, 2),
        noise=("normal", "Likert", "pass 90%", "a tenth x4"),
    )  # fmt: skip
    cells = look(mixed_scores(np.random.default_rng([seed, 35]), design))
    r = true_r(design["noise"], design["judges"], design["systems"])
    is_outside = (cells.low > r) | (cells.high < r)  # where there are no limits, nothing is said
    return happened(design, not is_outside.any())


CLAIMS: dict[str, Callable[[int], Held]] = {
    "J1": false_names,
    "J2": reversed_of_100,
    "J4": reversed_of_50,
    "J3": split,
    "J5": limits_hold,
}
