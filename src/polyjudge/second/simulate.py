"""Panels with known truth, drawn from the model of docs/methods.md, section 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr

from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import Record

Noise = Literal["gaussian", "heteroskedastic", "heavy"]
Scale = Literal["continuous", "integer", "fractions"]


class PlantedSystems(Record):
    """What was planted about systems, before any rounding: quality, who favours whom, and what each judge sees."""

    quality: pd.Series[float]
    """Mean quality of each system, centred: its place on the leaderboard where every judge sees it."""
    judge_system: pd.DataFrame
    system_language: pd.DataFrame
    sees: pd.DataFrame
    """Language x judge: what a score moves by when the quality of an answer rises by one point. 0 is blind."""

    def to_frame(self) -> pd.DataFrame:
        return self.quality.reset_index()


class Truth(Record):
    """What the scores are on average, on the scale they are written in. All effects are centred.

    On a scale with steps and ends, rounding and cutting change the expected scores: the effects here are those of the
    scores as written, which is what an estimate from them can be right about.
    """

    interaction: pd.DataFrame
    language_effect: pd.Series[float]
    judge_effect: pd.Series[float]
    task_effect: pd.Series[float]
    """Planted task effects, before any rounding."""
    systems: PlantedSystems | None = None

    def to_frame(self) -> pd.DataFrame:
        return self.interaction.reset_index().melt("language", var_name="judge", value_name="interaction")


def simulate_panel(
    tasks: int = 55, languages: int | Sequence[str] = 8, judges: int | Sequence[str] = 6, replicates: int = 1,
    seed: int = 0, *,
    interaction: float | Array = 5.0, language_sd: float = 4.0, judge_sd: float = 8.0, task_sd: float = 12.0,
    task_language_sd: float = 3.0, task_judge_sd: float = 5.0, three_way_sd: float = 0.0,
    noise_sd: float = 8.0, noise: Noise = "gaussian", missing: float = 0.0,
    scale: Scale = "continuous", mean: float = 50.0, low: float = 0.0, high: float = 100.0, steps: int = 5,
    systems: int | Sequence[str] = 0, system_sd: float | Array = 6.0, task_system_sd: float = 8.0,
    judge_system: float | Array = 0.0, system_language: float | Array = 0.0, sees: float | Array = 1.0,
    clusters: int = 0, cluster_share: float = 0.2,
) -> tuple[Panel, Truth]:  # fmt: skip
    """Draw a panel and return it with its truth.

    interaction : standard deviation of the planted cells (then double centred), or (k, m) points to add to the cells as
        they are: what of them is not doubly centred goes into the language and judge effects
    *_sd : standard deviations of the other terms, in score points; `noise_sd` is per replicate
    noise : "gaussian", "heteroskedastic" (sd differs by cell, from a third to twice), "heavy" (t with 3 df, same sd)
    scale : "continuous" leaves the scores as drawn. "integer" maps [low, high] to whole numbers 1..`steps` and rounds;
        "fractions" rounds to `steps` equal parts of [low, high], with pile-up at both ends
    missing : share of (task, language, judge) entries, with systems of their scores, removed at random
    systems : number or names of the systems that are judged; 0 draws a panel without
    system_sd : standard deviation of the systems' mean quality, or (s,) qualities
    task_system_sd : standard deviation of a system's quality from task to task
    judge_system, system_language : who favours whom: standard deviations of doubly centred effects, or (s, m) and
        (s, k) points to add as they are
    sees : how much of the quality of an answer a score shows: one number, or (k, m). 0 is blind
    clusters : number of clusters the tasks are divided into, in turn; 0 for none
    cluster_share : share of every effect of a task, noise included, that the tasks of a cluster have in common

    >>> panel, truth = simulate_panel(tasks=10, languages=2, judges=3, seed=1)
    >>> panel.shape
    (10, 2, 3)
    """
    if tasks < 2 or replicates < 1 or not 0 <= missing < 1:
        raise UsageError("simulate_panel needs tasks >= 2, replicates >= 1 and 0 <= missing < 1.")
    if clusters and not 2 <= clusters <= tasks:
        raise UsageError(f"simulate_panel needs from 2 to {tasks} clusters for {tasks} tasks, not {clusters}.")
    *names, system_names = _names(languages, "language"), _names(judges, "judge"), _names(systems, "system")
    n, k, m, r, s = tasks, len(names[0]), len(names[1]), replicates, len(system_names)
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) % clusters if clusters else None
    shared, centred = partial(_shared, cluster, cluster_share), partial(_centred, rng)
    mu, alpha, g = centred(task_sd, n), centred(judge_sd, m), centred(language_sd, k)
    if clusters:
        mu = shared(lambda: centred(task_sd, n))
    drawn = rng.normal(0, 1, (k, m))
    beta = double_centre(interaction * drawn) if np.ndim(interaction) == 0 else np.asarray(interaction, float)
    gamma = shared(lambda: rng.normal(0, task_language_sd, (n, k, 1)))
    delta = shared(lambda: rng.normal(0, task_judge_sd, (n, 1, m)))
    three = shared(lambda: rng.normal(0, three_way_sd, (n, k, m)))
    spread = noise_sd * (rng.uniform(1 / 3, 2, (k, m, 1)) if noise == "heteroskedastic" else np.ones((k, m, 1)))
    shape = (n, s, k, m, r) if s else (n, k, m, r)
    eps = spread * shared(
        lambda: rng.standard_t(3, shape) / np.sqrt(3) if noise == "heavy" else rng.normal(0, 1, shape)
    )
    cells = mean + alpha + g[:, None] + beta
    scores = (mu[:, None, None] + cells + gamma + delta + three)[..., None]
    planted, middle = None, np.zeros((1, k, m))
    if s:
        varies = shared(lambda: rng.normal(0, task_system_sd, (n, s)))
        planted, seen = _plant(rng, system_names, names, varies, system_sd, judge_system, system_language, sees)
        middle = _means(planted)
        scores = scores[:, None] + seen[..., None]
    scores = scores + eps
    if scale != "continuous":
        still = np.sqrt(task_sd**2 * (1 - 1 / n) + task_language_sd**2 + task_judge_sd**2 + three_way_sd**2)
        still = np.hypot(still, task_system_sd * np.abs(_table(sees, (k, m)))) if s else still
        steps_of = _Steps(steps - 1, 1.0, 1.0) if scale == "integer" else _Steps(steps, low, (high - low) / steps)
        scores = steps_of.rounded(scores, low, high)
        cells = steps_of.expected(cells + middle, still, spread[..., 0], noise, low, high)
    else:
        cells = cells + middle.mean(axis=0)
    if missing:
        scores[rng.random(scores.shape[:-1]) < missing] = np.nan
    panel = _panel(scores if r > 1 else scores[..., 0], names, system_names, cluster)
    return panel, _truth(panel, cells, mu, planted)


def _shared(cluster: NDArray[np.int64] | None, share: float, draw: Callable[[], Array]) -> Array:
    """Draws (n, ...) of which the tasks of a cluster have a share in common."""
    own = draw()
    return own if cluster is None else np.sqrt(share) * draw()[cluster] + np.sqrt(1 - share) * own


def _centred(rng: np.random.Generator, sd: float, size: int) -> Array:
    draw = rng.normal(0, sd, size)
    return draw - draw.mean()


def _names(given: int | Sequence[str], word: str) -> tuple[str, ...]:
    return tuple(f"{word}{i + 1}" for i in range(given)) if isinstance(given, int) else tuple(given)


def _panel(
    scores: Array, names: list[tuple[str, ...]], systems: tuple[str, ...], cluster: NDArray[np.int64] | None
) -> Panel:
    n = len(scores)
    more: dict[str, Any] = {"systems": systems} if systems else {}
    if cluster is not None:
        more |= {"clusters": _names(int(cluster.max()) + 1, "cluster"), "cluster": cluster}
    return Panel.from_array(scores, tuple(f"task{i + 1:0{len(str(n))}d}" for i in range(n)), *names, **more)


def _truth(panel: Panel, cells: Array, mu: Array, planted: PlantedSystems | None) -> Truth:
    """Effects of the (k, m) expected scores."""
    language, judge = cells.mean(axis=1) - cells.mean(), cells.mean(axis=0) - cells.mean()
    return Truth(
        interaction=panel.matrix(double_centre(cells)),
        language_effect=pd.Series(language, index=pd.Index(panel.languages, name="language"), name="language_effect"),
        judge_effect=pd.Series(judge, index=pd.Index(panel.judges, name="judge"), name="judge_effect"),
        task_effect=pd.Series(mu, index=pd.Index(panel.tasks, name="task"), name="task_effect"),
        systems=planted,
    )


@dataclass(frozen=True)
class _Steps:
    """A scale of whole steps from `first` on, each `unit` wide, numbered 0 to `last`."""

    last: int
    first: float
    unit: float

    def rounded(self, scores: Array, low: float, high: float) -> Array:
        return self.first + self.unit * np.clip(np.rint(self.last * (scores - low) / (high - low)), 0, self.last)

    def expected(self, means: Array, still: Array, spread: Array, noise: Noise, low: float, high: float) -> Array:
        """(k, m) expected scores as written, of cells with these means, (c, k, m) for c systems."""
        edges = low + (high - low) * (np.arange(self.last) + 0.5) / self.last
        each = [_expected_step(mean, still, spread, noise, edges) for mean in means]
        return self.first + self.unit * np.mean(each, axis=0)


def _table(value: float | Array, shape: tuple[int, ...]) -> Array:
    """One number for all, or the table given."""
    return np.broadcast_to(np.asarray(value, float), shape).copy()


def _plant(
    rng: np.random.Generator,
    systems: tuple[str, ...],
    names: list[tuple[str, ...]],
    varies: Array,
    system_sd: float | Array,
    judge_system: float | Array,
    system_language: float | Array,
    sees: float | Array,
) -> tuple[PlantedSystems, Array]:
    """What is planted about the systems, and what it adds to the scores, (n, s, k, m)."""
    languages, judges = names
    s, k, m = len(systems), len(languages), len(judges)
    quality = rng.normal(0, system_sd, s) if np.ndim(system_sd) == 0 else np.asarray(system_sd, float)
    quality = quality - quality.mean()

    def table(given: float | Array, size: int) -> Array:
        if np.ndim(given):
            return np.asarray(given, float)
        return double_centre(float(given) * rng.normal(0, 1, (s, size))) if given else np.zeros((s, size))

    favour, place, slope = table(judge_system, m), table(system_language, k), _table(sees, (k, m))
    seen = (quality + varies)[:, :, None, None] * slope + favour[:, None, :] + place[:, :, None]
    at = pd.Index(systems, name="system")
    planted = PlantedSystems(
        quality=pd.Series(quality, index=at, name="quality"),
        judge_system=pd.DataFrame(favour, index=at, columns=pd.Index(judges, name="judge")),
        system_language=pd.DataFrame(place, index=at, columns=pd.Index(languages, name="language")),
        sees=pd.DataFrame(slope, index=pd.Index(languages, name="language"), columns=pd.Index(judges, name="judge")),
    )
    return planted, seen


def _means(planted: PlantedSystems) -> Array:
    """(s, k, m): what a system adds to a cell on average."""
    place, favour = planted.system_language.to_numpy(), planted.judge_system.to_numpy()
    out: Array = (
        planted.quality.to_numpy()[:, None, None] * planted.sees.to_numpy() + favour[:, None, :] + place[:, :, None]
    )
    return out


def _expected_step(cells: Array, still: float | Array, spread: Array, noise: Noise, edges: Array) -> Array:
    """Expected number of `edges` that a score exceeds, (k, m): its mean is a cell, its noise normal or t with 3 df.

    t with 3 df and variance `spread`^2 is a normal with variance spread^2 / chi2(3): averaged over quantiles of chi2.
    """
    parts = 2 * gammaincinv(1.5, (np.arange(500) + 0.5) / 500) if noise == "heavy" else np.ones(1)
    sd = np.sqrt(np.asarray(still)[..., None] ** 2 + spread[..., None] ** 2 / parts)
    return ndtr((cells[..., None, None] - edges[:, None]) / sd[..., None, :]).mean(axis=-1).sum(axis=-1)
