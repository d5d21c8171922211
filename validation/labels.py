"""Labels of people on planted truth: corrector, annotators, kappa, these answers (METHODS 38; rows L3 to L8).

truth = task (sd 12) + task:language (sd 3); scores and labels are truth + noise (sd 5) + 50, scores + language error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.answers.humans.compare import humans
from polyjudge.answers.humans.words import UNLIKE_RANDOM
from polyjudge.calibrate.by_labels import LabelCalibrator
from polyjudge.panel import Panel
from polyjudge.stats.labels import kappa, not_random
from validation.designs import ALL_DESIGNS, draw, happened

Array = NDArray[np.float64]
Held = list[tuple[str, bool]]
Sizes = list[tuple[str, float]]
N_TASKS = 300
MIDDLE_SCORE, LIKERT_STEP = 50.0, 13.0
FAILS = {"0/1": 0.4, "rare labels": 0.05}
"""Share of the truth that fails."""
SCALES = {"normal": (0.0, 100.0), "Likert": (1.0, 5.0), "0/1": (0.0, 1.0), "rare labels": (0.0, 1.0)}


# --- panels with labels ---


def simulate_truth(generator: np.random.Generator, n_tasks: int, n_languages: int) -> Array:
    """What answers are worth, (tasks, languages)."""
    return 12 * generator.normal(size=(n_tasks, 1)) + 3 * generator.normal(size=(n_tasks, n_languages))


def on_scale(values: Array, noise: str) -> Array:
    """Values around 0 as they are scored on the scale of the design."""
    if noise == "Likert":
        return np.clip(np.round(3 + values / LIKERT_STEP), 1, 5)
    if noise in FAILS:
        return (values > np.sqrt(12**2 + 3**2 + 5**2) * {"0/1": -0.253, "rare labels": -1.645}[noise]).astype(float)
    return np.clip(MIDDLE_SCORE + values, 0, 100)


def simulate_corrector(seed: int, design: Mapping[str, Any]) -> tuple[Panel, Array, pd.DataFrame]:
    """A panel with language errors, what people say of every answer (tasks, languages), and labels of some."""
    generator = np.random.default_rng([seed, 34])
    n_languages = design["languages"]
    truth = simulate_truth(generator, N_TASKS, n_languages)
    error = generator.normal(0, design["error sd"], n_languages)
    error -= error.mean()
    judges = truth[..., None] + error[:, None] + 5 * generator.normal(size=(N_TASKS, n_languages, 2))
    people = on_scale(truth + 5 * generator.normal(size=truth.shape), design["noise"])
    panel = Panel.from_array(
        on_scale(judges, design["noise"])[:, None],
        languages=[f"l{i}" for i in range(n_languages)], scale=SCALES[design["noise"]],
    )  # fmt: skip
    rows = [
        (panel.tasks[task], f"l{i}", people[task, i])
        for i in range(n_languages)
        for task in generator.permutation(N_TASKS)[: design["labels"]]
    ]
    return panel, people, pd.DataFrame(rows, columns=["task", "language", "label"])


def measure_correction(seed: int, design: Mapping[str, Any]) -> tuple[LabelCalibrator, float, float, float]:
    """The calibrator; language error before and after it on answers without labels; variance of people's labels."""
    panel, people, labels = simulate_corrector(seed, design)
    calibrator = LabelCalibrator(seed=seed).fit(panel, labels)
    is_labelled = np.zeros(people.shape, dtype=bool)
    is_labelled[pd.Index(panel.tasks).get_indexer(pd.Index(labels["task"])), labels["language"].str[1:].astype(int)] = (
        True
    )
    errors = []
    for scores in (panel.scores.mean(3)[:, 0], calibrator.transform(panel)[:, 0]):
        difference = np.where(is_labelled, 0.0, scores - people)
        errors.append(float((difference.sum(0) / (~is_labelled).sum(0)).var()))
    return calibrator, errors[0], errors[1], float(people.var())


def harm(seed: int) -> Sizes:
    """L3: language error after correcting less before, in variances of a label over the number of labels."""
    design = draw(
        seed, labels=(10, 20, 50), languages=(2, 3, 7, 27), noise=tuple(SCALES), **{"error sd": (0, 2, 6)},
    )  # fmt: skip
    _, before, after, label_variance = measure_correction(seed, design)
    size = (after - before) / (label_variance / design["labels"])
    return [(ALL_DESIGNS, size), *((f"{name} {entry}", size) for name, entry in design.items())]


def stated_fall(seed: int) -> Held:
    """L4: where a fall is stated, its interval holds what was removed on the answers without labels."""
    design = draw(
        seed, labels=(20, 50, 100), languages=(2, 3, 7, 27), noise=tuple(SCALES), **{"error sd": (2, 6)},
    )  # fmt: skip
    calibrator, before, after, _ = measure_correction(seed, design)
    if calibrator.removes_ is None:
        return []
    _, low, high = calibrator.removes_
    return happened(design, low <= 1 - after / before <= high + 5e-4)


# --- annotators ---


def annotators_of(generator: np.random.Generator, kind: str, language: int, n_labels: int) -> list[tuple[int, str]]:
    """Position of the answer and the name of the annotator of every label of a language."""
    if kind.startswith("crossed"):
        names = [f"a{i}" for i in range(int(kind[-1]))]  # the same people label in every language
    elif kind == "one per language":
        names = [f"{language}-a"]
    else:
        names = [f"{language}-{i}" for i in range(2)]
    if kind.startswith("crossed"):
        return [(answer, name) for answer in range(n_labels // len(names)) for name in names]
    return [(answer, names[answer % len(names)]) for answer in range(n_labels)]


def annotator_intervals(seed: int) -> Held:
    """L5: the interval of a language's need less that of all, where annotators are harsh or mild."""
    design = draw(
        seed, severity=(4, 6), annotators=("crossed 2", "crossed 3", "nested 2", "one per language"),
    )  # fmt: skip
    generator = np.random.default_rng([seed, 35])
    n_languages, n_labels = 5, 30
    truth = simulate_truth(generator, N_TASKS, n_languages)
    scores = on_scale(truth + generator.normal(0, 6, n_languages) + 5 * generator.normal(size=truth.shape), "normal")
    people = MIDDLE_SCORE + truth + 5 * generator.normal(size=truth.shape)
    panel = Panel.from_array(scores[:, None, :, None], languages=[f"l{i}" for i in range(n_languages)], scale=(0, 100))
    harshness: dict[str, float] = {}
    rows = []
    for language in range(n_languages):
        tasks = generator.permutation(N_TASKS)
        for answer, name in annotators_of(generator, design["annotators"], language, n_labels):
            severity = harshness.setdefault(name, generator.normal(0, design["severity"]))
            label = people[tasks[answer], language] - severity + 5 * generator.normal()
            rows.append((panel.tasks[tasks[answer]], f"l{language}", name, label))
    labels = pd.DataFrame(rows, columns=["task", "language", "annotator", "label"])
    calibrator = LabelCalibrator(seed=seed).fit(panel, labels)
    assert calibrator.people_ is not None
    true_needs = (people - scores).mean(0)
    centring = np.eye(n_languages) - 1 / n_languages
    half = 1.96 * np.sqrt(np.diag(centring @ calibrator.people_.covariance @ centring))
    holds = np.abs(centring @ (calibrator.need_ - true_needs)) <= half
    return [event for language in range(n_languages) for event in happened(design, bool(holds[language]))]


# --- kappa, these answers, random draws ---


def kappa_interval(seed: int) -> Held:
    """L6: kappa of a judge that passes as often as people do."""
    design = draw(seed, cases=(100, 400), prevalence=(0.5, 0.8, 0.95), kappa=(0.3, 0.6, 0.8))
    generator = np.random.default_rng([seed, 36])
    p, true = design["prevalence"], design["kappa"]
    differ = p * (1 - p) * (1 - true)
    kinds = generator.choice(
        4, design["cases"], p=[p * p + true * p * (1 - p), differ, differ, 1 - p * p - true * p * (1 - p) - 2 * differ]
    )
    people, judge = (kinds < 2).astype(float), (kinds % 2 == 0).astype(float)
    _, low, high = kappa(people, judge)
    return [] if np.isnan(low) else happened(design, low <= true <= high)


def these_answers(seed: int) -> Held:
    """L7: the mean that people would give exactly these answers."""
    design = draw(seed, labels=("100 of 300", "50 of 1000"), noise=("pass/fail", "Likert", "normal"))
    generator = np.random.default_rng([seed, 37])
    n_labels, n_answers = (int(word) for word in design["labels"].split(" of "))
    noise = "0/1" if design["noise"] == "pass/fail" else design["noise"]
    truth = 12 * generator.normal(size=(n_answers, 1))
    judge, people = (on_scale(truth + 5 * generator.normal(size=truth.shape), noise) for _ in range(2))
    panel = Panel.from_array(judge[:, None, :, None], scale=SCALES[noise])
    drawn = generator.permutation(n_answers)[:n_labels]
    labels = pd.DataFrame({"task": np.array(panel.tasks)[drawn], "label": people[drawn, 0]})
    row = humans(panel, labels, seed=seed).frame.iloc[0]
    return happened(design, bool(row["these_low"] <= people.mean() <= row["these_high"]))


def random_draws(seed: int) -> Held:
    """L8: labels drawn at random are called unlike a random draw."""
    design = draw(seed, unlabelled=(1, 2, 3, 5, 10, 60), noise=("pass/fail", "normal"))
    generator = np.random.default_rng([seed, 38])
    scores = on_scale(12 * generator.normal(size=120), "0/1" if design["noise"] == "pass/fail" else "normal")
    is_labelled = np.ones(120, dtype=bool)
    is_labelled[generator.permutation(120)[: design["unlabelled"]]] = False
    z = not_random(scores, is_labelled, np.zeros(120, dtype=np.int64), np.arange(120))
    return happened(design, abs(z) > UNLIKE_RANDOM)


CLAIMS: dict[str, Callable[[int], Held] | Callable[[int], Sizes]] = {
    "L3": harm,
    "L4": stated_fall,
    "L5": annotator_intervals,
    "L6": kappa_interval,
    "L7": these_answers,
    "L8": random_draws,
}
