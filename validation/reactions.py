"""Row P8 of scenarios.csv: what all judges lose who notice damage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyjudge.answers.probe import probe
from polyjudge.panel import Panel
from validation.designs import draw, happened

Rows = list[tuple[str, bool]]
SCALE = (-1000.0, 1000.0)


def usual_reaction(seed: int) -> Rows:
    """P8. All notice damage: the interval of the mean loss for a step."""
    design = draw(seed, tasks=(12, 40), languages=(1, 4), judges=(3, 5), noise=("normal", "exponential"))
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    loss = g.uniform(8, 12, (k, m))
    # A task loses more or less of it in all languages and by all judges.
    step = loss * (1 + 0.3 * g.normal(size=(n, 1, 1)))
    drawn = g.normal(size=(n, 3, k, m)) if design["noise"] == "normal" else g.exponential(size=(n, 3, k, m)) - 1
    scores = 50 + g.normal(0, 12, (n, 1, 1, 1)) - np.arange(3)[:, None, None] * step[:, None] + 3 * drawn
    panel = Panel.from_array(scores, systems=("clean", "damage-1", "damage-2"), scale=SCALE)
    _, low, high = probe(panel).reaction.loss
    return happened(design, low <= loss.mean() <= high)


CLAIMS: dict[str, Callable[[int], Rows]] = {"P8": usual_reaction}
