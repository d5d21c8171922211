"""Panels with known truth, drawn from the model of METHODS section 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import chi2

from polyjudge.core.arrays import Array
from polyjudge.core.errors import UsageError
from polyjudge.core.panel import Panel
from polyjudge.core.results import Result
from polyjudge.estimate.kernels import double_centre

Noise = Literal["gaussian", "heteroskedastic", "heavy"]
Scale = Literal["continuous", "integer", "fractions"]


@dataclass(frozen=True, repr=False, eq=False)
class Truth(Result):
    """What the scores are on average, on the scale they are written in. All effects are centred.

    On a scale with steps and ends, rounding and cutting change the expected scores: the effects here are those of the
    scores as written, which is what an estimate from them can be right about.
    """

    interaction: pd.DataFrame
    language_effect: pd.Series[float]
    judge_effect: pd.Series[float]
    task_effect: pd.Series[float]
    """Planted task effects, before any rounding."""

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
    interaction : standard deviation of the planted cells (then double centred), or (k, m) points to add to the cells as
        they are: what of them is not doubly centred goes into the language and judge effects
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
    beta = double_centre(interaction * drawn) if np.ndim(interaction) == 0 else np.asarray(interaction, float)
    gamma = rng.normal(0, task_language_sd, (n, k, 1))
    delta = rng.normal(0, task_judge_sd, (n, 1, m))
    three = rng.normal(0, three_way_sd, (n, k, m))
    spread = noise_sd * (rng.uniform(1 / 3, 2, (k, m, 1)) if noise == "heteroskedastic" else np.ones((k, m, 1)))
    eps = spread * (
        rng.standard_t(3, (n, k, m, r)) / np.sqrt(3) if noise == "heavy" else rng.normal(0, 1, (n, k, m, r))
    )
    cells = mean + alpha + g[:, None] + beta
    scores = (mu[:, None, None] + cells + gamma + delta + three)[..., None] + eps
    if scale != "continuous":
        last, first, unit = (steps - 1, 1.0, 1.0) if scale == "integer" else (steps, low, (high - low) / steps)
        scores = first + unit * np.clip(np.rint(last * (scores - low) / (high - low)), 0, last)
        still = np.sqrt(task_sd**2 * (1 - 1 / n) + task_language_sd**2 + task_judge_sd**2 + three_way_sd**2)
        edges = low + (high - low) * (np.arange(last) + 0.5) / last
        cells = first + unit * _expected_step(cells, still, spread[..., 0], noise, edges)
    if missing:
        scores[rng.random((n, k, m)) < missing] = np.nan
    task_names = tuple(f"task{i + 1:0{len(str(n))}d}" for i in range(n))
    panel = Panel.from_array(scores if r > 1 else scores[..., 0], task_names, *names)
    language, judge = cells.mean(axis=1) - cells.mean(), cells.mean(axis=0) - cells.mean()
    truth = Truth(
        panel.matrix(double_centre(cells)),
        pd.Series(language, index=pd.Index(names[0], name="language"), name="language_effect"),
        pd.Series(judge, index=pd.Index(names[1], name="judge"), name="judge_effect"),
        pd.Series(mu, index=pd.Index(task_names, name="task"), name="task_effect"),
    )
    return panel, truth


def _expected_step(cells: Array, still: float, spread: Array, noise: Noise, edges: Array) -> Array:
    """Expected number of `edges` that a score exceeds, (k, m): its mean is a cell, its noise normal or t with 3 df.

    t with 3 df and variance `spread`^2 is a normal with variance spread^2 / chi2(3): averaged over quantiles of chi2.
    """
    parts = chi2.ppf((np.arange(500) + 0.5) / 500, 3) if noise == "heavy" else np.ones(1)
    sd = np.sqrt(still**2 + spread[..., None] ** 2 / parts)
    out: Array = ndtr((cells[..., None, None] - edges[:, None]) / sd[..., None, :]).mean(axis=-1).sum(axis=-1)
    return out
