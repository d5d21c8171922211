"""Rows R1 to R5 of scenarios.csv: how far judges agree, and how they answer when asked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from polyjudge.answers.audit import judges as judge_sentences
from polyjudge.panel import Array, Panel
from polyjudge.stats.agreement import Agreement, agreement
from polyjudge.stats.repeats import estimate_repeats
from validation.designs import draw, happened

Rows = list[tuple[str, bool]]
SHARED_BY_TASK = 0.3
"""Part of the latent variance of a score that all answers to one task share."""
SD_OF_CUT_T3 = 1.5682
"""Standard deviation of Student's t with 3 degrees of freedom, cut at 8."""
TAILS = {
    "pass 90%": (0.10,),
    "pass 95%": (0.05,),
    "pass 99%": (0.01,),
    "Likert 4-5": (0.01, 0.03, 0.08, 0.45),
}
"""Shares of scores below each mark of a latent normal score."""


# --- judges of a known correlation ---


def both_below(mark: float, other_mark: float, rho: float) -> float:
    """Share of pairs of standard normal scores correlated by rho of which each lies below its mark."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    rhos = rho * (nodes + 1) / 2
    square = mark**2 - 2 * rhos * mark * other_mark + other_mark**2
    density = np.exp(-square / (2 * (1 - rhos**2))) / (2 * np.pi * np.sqrt(1 - rhos**2))
    apart = NormalDist().cdf(mark) * NormalDist().cdf(other_mark)
    return apart + float(rho / 2 * (weights @ density))


def covariance(marks: Sequence[float], rho: float) -> float:
    """Covariance of two scores that count the marks below latent normal scores correlated by rho."""
    cdf = NormalDist().cdf
    return sum(both_below(a, b, rho) - cdf(a) * cdf(b) for a in marks for b in marks)


def marks_of(kind: str) -> tuple[float, ...]:
    """Marks of a latent score; none where it is the score itself."""
    return tuple(NormalDist().inv_cdf(share) for share in TAILS.get(kind, ()))


def correlation_within_tasks(kind: str, shared_by_answer: float) -> float:
    """Correlation of two judges over the answers of a task, where they share so much of the latent variance."""
    marks = marks_of(kind)
    together = min(SHARED_BY_TASK + shared_by_answer, 1 - 1e-9)
    if not marks:
        return shared_by_answer / (1 - SHARED_BY_TASK)
    of_task = covariance(marks, SHARED_BY_TASK)
    return (covariance(marks, together) - of_task) / (covariance(marks, 1 - 1e-9) - of_task)


@cache
def shared_by_answer(kind: str, r: float) -> float:
    """How much of the latent variance judges share in an answer where their correlation is r."""
    return float(brentq(lambda x: correlation_within_tasks(kind, x) - r, 1e-9, 1 - SHARED_BY_TASK - 1e-7))


def of_two_judges(reliability: float, n_judges: int) -> float:
    """Correlation of two judges of a panel whose mean has this reliability (Spearman and Brown)."""
    return reliability / (n_judges - (n_judges - 1) * reliability)


def scores(generator: np.random.Generator, design: dict[str, Any], n_systems: int) -> tuple[Array, float]:
    """A panel (tasks, systems, languages, judges) of a design, and the width of its scale."""
    n_tasks, k, m, kind = (design[x] for x in ("tasks", "languages", "judges", "noise"))
    r = of_two_judges(design["reliability"], m)
    answer_part = shared_by_answer(kind, r)
    task = generator.normal(size=(n_tasks, 1, 1, 1))
    answer = generator.normal(size=(n_tasks, n_systems, 1, 1))
    own = generator.normal(size=(n_tasks, n_systems, k, m))
    latent = np.sqrt(SHARED_BY_TASK) * task + np.sqrt(answer_part) * answer
    latent = latent + np.sqrt(1 - SHARED_BY_TASK - answer_part) * own
    marks = marks_of(kind)
    if not marks:
        return 50 + 10 * latent, 100.0
    return 1.0 + sum((latent > mark).astype(float) for mark in marks), float(len(marks))


def agreement_of(y: Array, width: float) -> Agreement:
    """How far the judges of an array agree."""
    return agreement(y, np.arange(len(y)), np.ones(len(y)), width=width)


def says(y: Array, width: float, words: str) -> bool:
    """Whether a sentence of the judges has these words."""
    low = float(y.min())
    panel = Panel.from_array(y, scale=(low, low + width))
    found = judge_sentences.findings(panel, agreement_of(y, width), None, {})
    return any(words in finding.text for finding in found)


def covers(found: Agreement, r: float) -> bool:
    """Whether r lies within its limits; what is not stated is not wrong."""
    return not found.r_low > r + 1e-9 and not found.r_high < r - 1e-9


# --- rows ---


def limits(seed: int) -> Rows:
    """R1."""
    design = draw(
        seed,
        tasks=(20, 50, 100),
        languages=(1, 4),
        judges=(3, 5),
        noise=("pass 90%", "pass 95%", "pass 99%", "Likert 4-5", "normal"),
        reliability=(0.45, 0.8),
    )
    y, width = scores(np.random.default_rng(seed), design, n_systems=3)
    return happened(design, covers(agreement_of(y, width), of_two_judges(design["reliability"], design["judges"])))


def false_verdicts(seed: int) -> Rows:
    """R2."""
    design = draw(
        seed,
        tasks=(8, 12, 20, 50),
        languages=(1, 4),
        judges=(3,),
        noise=("pass 95%", "pass 99%"),
        reliability=(0.45,),
    )
    y, width = scores(np.random.default_rng(seed), design, n_systems=3)
    return happened(design, agreement_of(y, width).verdict == "hardly")


def nobody(seed: int) -> Rows:
    """R3. Four judges of noise sd 5, one of sd 20, whose correlation with the others is 0.2."""
    generator = np.random.default_rng(seed)
    noise = generator.normal(0, 5, (60, 3, 5, 5)) * np.array([1, 1, 1, 1, 4.0])
    task = generator.normal(0, 12, (60, 1, 1, 1)) + generator.normal(0, 3, (60, 1, 5, 1))
    answer = generator.normal(0, np.sqrt(31.1), (60, 3, 5, 1))
    return [("60 x 3 x 5 x 5", says(50 + task + answer + noise, 100.0, "with nobody"))]


def near_one_panel(seed: int) -> tuple[dict[str, Any], Agreement, float]:
    """Judges that give the same verdict, but for the last, which differs on some tasks; the true mean correlation."""
    design = draw(seed, tasks=(20, 50, 300, 1000), judges=(2, 3), rate=(0.5, 0.8), differ=(1, 3, 10))
    generator = np.random.default_rng(seed)
    n_tasks, m, rate = design["tasks"], design["judges"], design["rate"]
    flipped = design["differ"] / n_tasks
    verdict = generator.random((n_tasks, 1)) < rate
    y = np.repeat(verdict, m, axis=1)
    y[:, -1] ^= generator.random(n_tasks) < flipped
    other_rate = rate * (1 - flipped) + (1 - rate) * flipped
    r_of_last = (1 - 2 * flipped) * np.sqrt(rate * (1 - rate) / (other_rate * (1 - other_rate)))
    n_pairs = m * (m - 1) / 2
    return design, agreement_of(y[:, None, None].astype(float), 1.0), (n_pairs - (m - 1) * (1 - r_of_last)) / n_pairs


def near_one(seed: int) -> Rows:
    """R4, its limits."""
    design, found, r = near_one_panel(seed)
    return happened(design, covers(found, r))


def near_one_said(seed: int) -> Rows:
    """R4, what is said: from 50 tasks on, where judges differ on 1 or 3."""
    design, found, _ = near_one_panel(seed)
    if design["tasks"] < 50 or design["differ"] > 3:
        return []
    return happened(design, found.verdict == "agree")


def noisier_judges(seed: int) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """Two runs of each answer; the runs of the first judge differ four times as much as those of the others."""
    design = draw(seed, tasks=(30, 60), languages=(1, 3), judges=(3, 5))
    generator = np.random.default_rng(seed)
    n_tasks, k, m = design["tasks"], design["languages"], design["judges"]
    answer = generator.normal(0, 12, (n_tasks, 1, 1, 1, 1)) + generator.normal(0, 6, (n_tasks, 3, 1, 1, 1))
    run = generator.normal(0, 5, (n_tasks, 3, k, m, 2)) * np.where(np.arange(m) == 0, 4.0, 1.0)[:, None]
    repeats = estimate_repeats(50 + answer + run, np.arange(n_tasks), width=100.0)
    return design, repeats.named


def noisier(seed: int) -> Rows:
    """R5, the noisy judge is named."""
    design, named = noisier_judges(seed)
    return happened(design, bool(named[0]))


def falsely_noisier(seed: int) -> Rows:
    """R5, another judge is named."""
    design, named = noisier_judges(seed)
    return happened(design, bool(named[1:].any()))


def spread_of_repeats(seed: int) -> Rows:
    """R6. All judges' limits at once."""
    design = draw(
        seed, tasks=(30, 60), languages=(1, 3), judges=(3, 5), runs=(2, 4), noise=("normal", "t3", "pass/fail")
    )
    generator = np.random.default_rng(seed)
    shape = (design["tasks"], 3, design["languages"], design["judges"], design["runs"])
    # Each kind with its true standard deviation; t3 is cut at 8 of its scale.
    if design["noise"] == "normal":
        run, true_sd = generator.normal(0, 5, shape), 5.0
    elif design["noise"] == "t3":
        run, true_sd = np.clip(generator.standard_t(3, shape), -8, 8), SD_OF_CUT_T3
    else:
        run, true_sd = (generator.random(shape) < 0.1).astype(float), 0.3
    width = 1.0 if design["noise"] == "pass/fail" else 100.0
    found = estimate_repeats(run, np.arange(design["tasks"]), width=width)
    return happened(design, bool(((found.low <= true_sd) & (true_sd <= found.high)).all()))


CLAIMS: dict[str, Callable[[int], Rows]] = {
    "R1": limits,
    "R2": false_verdicts,
    "R3": nobody,
    "R4.1": near_one,
    "R4.2": near_one_said,
    "R5.1": noisier,
    "R5.2": falsely_noisier,
    "R6": spread_of_repeats,
}
