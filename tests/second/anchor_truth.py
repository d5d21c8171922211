"""Simulated panels with labels and known truth, for the tests and the benchmark of what labels say."""

from __future__ import annotations

import numpy as np

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.gold import Gold
from polyjudge.second.questions.anchor.distance import language_means
from polyjudge.second.questions.anchor.helped import whom_it_helps


def lone_judge(
    seed: int, labels: int, tasks: int = 250, k: int = 5, m: int = 5, error: float = 10.0
) -> tuple[pj.Panel, Gold, np.ndarray]:
    """In the first language all judges but the first share an error: panel, labels and the cells' true gain."""
    rng = np.random.default_rng([seed, 1])
    panel, truth = pj.simulate_panel(tasks, k, m, seed=seed, interaction=np.zeros((k, m)), language_sd=0)
    wrong = np.zeros((k, m))
    wrong[0, 1:] = -error
    human = 50 + truth.task_effect.to_numpy()[:, None] + rng.normal(0, 6, (tasks, k))
    for language in range(k):
        human[rng.permutation(tasks)[labels:], language] = np.nan
    panel = pj.Panel.from_array(panel.scores + wrong)
    beta, shift = double_centre(wrong), wrong.mean(axis=1) - wrong.mean()
    return panel, Gold("score", human, panel.languages), beta * (beta + 2 * shift[:, None])


def verdict_rates(labels: int, panels: int) -> dict[str, float]:
    """What is called what over simulated panels."""
    out = {"hurt called helped": 0, "helped called hurt": 0, "hurt": 0, "helped": 0, "named": 0, "open": 0.0}
    for seed in range(panels):
        panel, gold, gain = lone_judge(seed, labels)
        verdict = whom_it_helps(panel, gold, resamples=2).cells["verdict"].to_numpy().reshape(gain.shape)
        out["hurt called helped"] += int(((gain < 0) & (verdict == "helped")).sum())
        out["helped called hurt"] += int(((gain > 0) & (verdict == "hurt")).sum())
        out["hurt"] += int((gain < 0).sum())
        out["helped"] += int((gain > 0).sum())
        out["named"] += int(verdict[0, 0] == "hurt")
        out["open"] += float((verdict == "cannot tell").mean()) / panels
    return out


def ppi_coverage(panels: int, labels: int, tasks: int, languages: int = 20) -> float:
    """Share of intervals that hold the true mean of a language, where the panel is off by 5 points.

    Languages of a panel have nothing in common here: each is a panel of its own.
    """
    held = []
    for seed in range(-(-panels // languages)):
        rng = np.random.default_rng([seed, 11])
        truth = rng.normal(60, 12, (tasks, languages))
        panel = pj.Panel.from_array(truth[..., None] + 5 + rng.normal(0, 10, (tasks, languages, 3)))
        human = truth + rng.normal(0, 3, (tasks, languages))
        human[labels:] = np.nan  # tasks are in no order, so the first ones are a random part
        table = language_means(panel, Gold("score", human, panel.languages)).table
        held += ((table["low"] <= 60) & (table["high"] >= 60)).tolist()
    return float(np.mean(held))
