"""Panels with known truth, drawn from the model of METHODS section 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from polyjudge.errors import UsageError
from polyjudge.kernels import Array, double_centre
from polyjudge.panel import Panel
from polyjudge.results import Result

Noise = Literal["gaussian", "heteroskedastic", "heavy"]
Scale = Literal["continuous", "integer", "fractions"]


@dataclass(frozen=True, repr=False, eq=False)
class Truth(Result):
    """What was planted. Arrays are (k, m), (k,), (m,) and (n,); all effects are centred."""

    interaction: pd.DataFrame
    language_effect: pd.Series[float]
    judge_effect: pd.Series[float]
    task_effect: pd.Series[float]
    exact: bool
    """Whether the panel's scores have exactly these expectations. Rounding and cutting to a scale change them."""

    def to_frame(self) -> pd.DataFrame:
        return self.interaction.reset_index().melt("language", var_name="judge", value_name="interaction")


def simulate_panel(
    tasks: int = 55,
    languages: int | Sequence[str] = 8,
    judges: int | Sequence[str] = 6,
    replicates: int = 1,
    seed: int = 0,
    *,
    interaction: float | Array = 5.0,
    language_sd: float = 4.0,
    judge_sd: float = 8.0,
    task_sd: float = 12.0,
    task_language_sd: float = 3.0,
    task_judge_sd: float = 5.0,
    three_way_sd: float = 0.0,
    noise_sd: float = 8.0,
    noise: Noise = "gaussian",
    scale: Scale = "continuous",
    mean: float = 50.0,
    low: float = 0.0,
    high: float = 100.0,
    steps: int = 5,
    missing: float = 0.0,
) -> tuple[Panel, Truth]:
    """Draw a panel and return it with its truth.

    Parameters
    ----------
    interaction : standard deviation of the planted cells (then double centred), or the (k, m) cells themselves
    *_sd : standard deviations of the other terms, in score points; `noise_sd` is per replicate
    noise : "gaussian", "heteroskedastic" (sd differs by cell, from a third to twice), "heavy" (t with 3 df, same sd)
    scale : "continuous" leaves the scores as drawn. "integer" maps [low, high] to whole numbers 1..`steps` and rounds;
        "fractions" rounds to `steps` equal parts of [low, high], with pile-up at both ends
    missing : share of (task, language, judge) entries removed at random

    >>> panel, truth = simulate_panel(tasks=10, languages=2, judges=3, seed=1)
    >>> panel.shape
    (10, 2, 3)
    """
    if tasks < 2 or replicates < 1 or not 0 <= missing < 1:
        raise UsageError("simulate_panel needs tasks >= 2, replicates >= 1 and 0 <= missing < 1.")
    names = [
        tuple(f"{word}{i + 1}" for i in range(given)) if isinstance(given, int) else tuple(given)
        for given, word in ((languages, "language"), (judges, "judge"))
    ]
    n, k, m, r = tasks, len(names[0]), len(names[1]), replicates
    rng = np.random.default_rng(seed)

    def centred(sd: float, size: int) -> Array:
        draw = rng.normal(0, sd, size)
        out: Array = draw - draw.mean()
        return out

    mu, alpha, g = centred(task_sd, n), centred(judge_sd, m), centred(language_sd, k)
    drawn = rng.normal(0, 1, (k, m))
    beta = double_centre(interaction * drawn if np.ndim(interaction) == 0 else np.asarray(interaction, float))
    gamma = rng.normal(0, task_language_sd, (n, k, 1))
    delta = rng.normal(0, task_judge_sd, (n, 1, m))
    three = rng.normal(0, three_way_sd, (n, k, m))
    spread = noise_sd * (rng.uniform(1 / 3, 2, (k, m, 1)) if noise == "heteroskedastic" else np.ones((k, m, 1)))
    eps = spread * (
        rng.standard_t(3, (n, k, m, r)) / np.sqrt(3) if noise == "heavy" else rng.normal(0, 1, (n, k, m, r))
    )
    cells = mean + alpha + g[:, None] + beta
    scores = (mu[:, None, None] + cells + gamma + delta + three)[..., None] + eps
    if scale == "integer":
        scores = np.clip(np.rint(1 + (steps - 1) * (scores - low) / (high - low)), 1, steps)
    elif scale == "fractions":
        scores = low + (high - low) / steps * np.clip(np.rint(steps * (scores - low) / (high - low)), 0, steps)
    if missing:
        scores[rng.random((n, k, m)) < missing] = np.nan
    task_names = tuple(f"task{i + 1:0{len(str(n))}d}" for i in range(n))
    panel = Panel.from_array(scores if r > 1 else scores[..., 0], task_names, *names)
    unit = (steps - 1) / (high - low) if scale == "integer" else 1.0
    truth = Truth(
        panel.matrix(beta * unit),
        pd.Series(g * unit, index=pd.Index(names[0], name="language"), name="language_effect"),
        pd.Series(alpha * unit, index=pd.Index(names[1], name="judge"), name="judge_effect"),
        pd.Series(mu * unit, index=pd.Index(task_names, name="task"), name="task_effect"),
        scale == "continuous",
    )
    return panel, truth
