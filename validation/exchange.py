"""Mistakes of swap, the tasks that settle it, and drift over tasks of another mix (rows W1, W2 and M1).

scores = task (sd 12) + system + task:language (sd 3) + noise (sd 5) + what is planted + 50. A seed draws one design.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from polyjudge.answers.drift import drift
from polyjudge.answers.swap import Swap, swap
from polyjudge.panel import Panel
from validation.designs import draw, happened

Array = NDArray[np.float64]
Found = list[tuple[str, bool]]
N_SYSTEMS, N_LANGUAGES, N_JUDGES = 2, 3, 4
ACCEPTED = 2.0
"""Points that are accepted; a true change just above is 1.1 times as large."""
IN_TASK = 0.8
"""Correlation of two verdicts on one task before they are cut."""


def continuous(g: np.random.Generator, n: int) -> Array:
    """Scores (tasks, systems, languages, judges)."""
    level = 50 + g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, N_LANGUAGES, 1))
    system = np.array([5.0, 0.0])[:, None, None] + g.normal(0, 5, (n, N_SYSTEMS, 1, 1))
    return level + system + g.normal(0, 5, (n, N_SYSTEMS, N_LANGUAGES, N_JUDGES))


def verdicts(g: np.random.Generator, n: int, rates: Array) -> Array:
    """Pass or fail with these rates (systems, languages, judges)."""
    shared = np.sqrt(IN_TASK) * g.normal(size=(n, 1, 1, 1))
    own = np.sqrt(1 - IN_TASK) * g.normal(size=(n, *rates.shape))
    return (shared + own < ndtri(rates)).astype(float)


def _ask(scores: Array, is_verdict: bool) -> Swap:
    panel = Panel.from_array(scores, scale=(0, 1) if is_verdict else (0, 100), two_valued=is_verdict)
    return swap(panel, judges="J1=J2", matters=ACCEPTED, alone=True)


def false_yes(seed: int) -> Found:
    """W1: the change is just above what is accepted, and the answer is Yes."""
    planted = ("pass/fail .95 to .90", "pass/fail .98 to .955", "zeros 5% in one system", "normal")
    design = draw(seed, tasks=(20, 40, 160), planted=planted)
    g = np.random.default_rng(seed)
    return happened(design, _ask(*_changed_scores(g, **design)).answer == "accepted")


def _changed_scores(g: np.random.Generator, tasks: int, planted: str) -> tuple[Array, bool]:
    """Scores in which the second judge's change is just above what is accepted, and whether they are verdicts."""
    if planted.startswith("pass/fail"):
        before, after = (0.95, 0.90) if planted.endswith(".90") else (0.98, 0.955)
        rates = np.full((N_SYSTEMS, N_LANGUAGES, N_JUDGES), before)
        rates[0, :, 1] = after
        return verdicts(g, tasks, rates), True
    scores = continuous(g, tasks)
    if planted == "normal":
        scores[:, 0, :, 1] += 1.1 * ACCEPTED
    else:
        fails = g.random((tasks, N_LANGUAGES)) < 0.05
        scores[:, 0, :, 1] = np.where(fails, 0.0, scores[:, 0, :, 1])
    return np.clip(scores, 0, 100), False


def settles(seed: int) -> Found:
    """W2: nothing changes, a pilot cannot tell, and at the number of tasks that it states the answer is Yes."""
    design = draw(seed, tasks=(10, 20), noise=("pass/fail", "normal", "zeros"))
    g = np.random.default_rng(seed)
    pilot = _ask(*_equal_scores(g, design["tasks"], design["noise"]))
    if pilot.answer != "open":
        return []
    if pilot.tasks_to_settle is None:
        return happened(design, False)
    study = _ask(*_equal_scores(g, pilot.tasks_to_settle, design["noise"]))
    return happened(design, study.answer == "accepted")


def _equal_scores(g: np.random.Generator, tasks: int, noise: str) -> tuple[Array, bool]:
    """Scores of judges that score alike on average, and whether they are verdicts."""
    if noise == "pass/fail":
        return verdicts(g, tasks, np.full((N_SYSTEMS, N_LANGUAGES, N_JUDGES), 0.95)), True
    scores = continuous(g, tasks)
    if noise == "zeros":
        scores = np.where(g.random(scores.shape) < 0.02, 0.0, scores)
    return np.clip(scores, 0, 100), False


def mix_of_tasks(seed: int) -> Found:
    """M1: judges are unchanged, the mix of domains is another, and a judge is named."""
    design = draw(seed, tasks=(60, 200), mix=("30 to 60%",))
    g = np.random.default_rng(seed)
    old, new = (_sorted_run(g, design["tasks"], share, run) for run, share in enumerate((0.3, 0.6)))
    found = drift(old, new, range="-100:200")
    return happened(design, bool(found.cells["changed"].any()))


def _sorted_run(g: np.random.Generator, n: int, share: float, run: int) -> pd.DataFrame:
    """Scores of three languages and four judges; the first judge scores one domain 15 points lower."""
    is_law = g.random(n) < share
    level = 50 + g.normal(0, 12, (n, 1, 1)) + g.normal(0, 3, (n, 3, 1)) + g.normal(0, 4, (n, 1, 4))
    scores = level + g.normal(0, 5, (n, 3, 4))
    scores[is_law, :, 0] -= 15
    task, language, judge = (index.ravel() for index in np.indices(scores.shape))
    columns = {"task": [f"run{run}-{t}" for t in task], "language": language, "judge": judge, "score": scores.ravel()}
    columns["domain"] = np.where(is_law, "law", "news")[task]
    return (
        pd.DataFrame(columns)
        .assign(language=lambda x: "l" + x["language"].astype(str))
        .assign(judge=lambda x: "J" + x["judge"].astype(str))
    )


CLAIMS: dict[str, Any] = {"W1": false_yes, "W2": settles, "M1": mix_of_tasks}
