"""Intervals that stand beside the answers: slopes, shifts of languages, probes (rows S4, S5, O17 and P7)."""

from __future__ import annotations

import numpy as np

from polyjudge.answers.audit.off import off
from polyjudge.answers.audit.scale_use import _share_of, compare_scale_use
from polyjudge.answers.probe import probe
from polyjudge.panel import Panel
from polyjudge.stats.slopes import slopes
from validation.designs import ALL_DESIGNS, draw, happened
from validation.noise import SCALE, Array, Found, base_scores

Shares = list[tuple[str, float]]
TASK_VARIANCE, NOISE_VARIANCE = 12.0**2 + 3.0**2, 5.0**2
"""Of what judges react to, and of what they add."""


def cover_of_slopes(seed: int) -> Shares:
    """S4: share of judges whose interval holds the true multiple of the mean slope."""
    design = draw(seed, tasks=(20, 60), languages=(3, 8), judges=(4, 6), noise=("normal",))
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    reacts = g.uniform(0.5, 1.5, m)
    level = base_scores(g, n, k, m) - 50
    scores = 50 + level * reacts + g.normal(0, 5, (n, k, m))
    tested = slopes(scores[:, None], np.arange(n), np.ones(n)).interval
    truth = _true_slopes(reacts)
    covers = (tested.low_one <= truth) & (truth <= tested.high_one)
    return _by_design(design, float(covers.mean()))


def _true_slopes(reacts: Array) -> Array:
    """Slope of each judge on the mean of the others, as a multiple of the mean slope."""
    m = len(reacts)
    others = (reacts.sum() - reacts) / (m - 1)
    slope = reacts * others * TASK_VARIANCE / (others**2 * TASK_VARIANCE + NOISE_VARIANCE / (m - 1))
    return np.asarray(slope / slope.mean())


def cover_of_explained_share(seed: int) -> Found:
    """S5: the interval of the share of beta that slopes explain holds the true one."""
    design = draw(seed, tasks=(40, 120), languages=(5, 8), judges=(5, 6), cells=(0.0, 1.5))
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    reacts, cells = (
        g.uniform(0.5, 1.5, m),
        g.normal(0, design["cells"], (k, m)) if design["cells"] else np.zeros((k, m)),
    )
    language = g.normal(0, 6, k)
    level = base_scores(g, n, k, m) - 50 + language[:, None]
    panel = Panel.from_array(50 + level * reacts + cells + g.normal(0, 5, (n, k, m)), scale=SCALE)
    use = compare_scale_use(panel, panel.values(), 0.95)
    truth = 50 + language[:, None] * reacts + cells
    true_share = float(_share_of(truth[None], _true_slopes(reacts)[None])[0])
    return happened(design, use.explained_low <= true_share <= use.explained_high)


def cover_of_shifts(seed: int) -> Shares:
    """O17: share of languages whose interval holds the true shift of all judges."""
    design = draw(seed, tasks=(20, 60), languages=(3, 8), judges=(4, 6), noise=("normal",))
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    level = g.normal(0, 5, k)
    scores = base_scores(g, n, k, m) + level[:, None] + g.normal(0, 5, (n, k, m))
    shift = off(Panel.from_array(scores, scale=SCALE)).shift
    assert shift is not None
    truth = (level - level.mean()) * k / (k - 1)
    covers = (shift["low"] <= truth) & (truth <= shift["high"])
    return _by_design(design, float(covers.mean()))


def cover_of_probes(seed: int) -> Found:
    """P7: what a step of damage costs lies in the intervals of all judges and languages at once."""
    design = draw(seed, tasks=(12, 40), languages=(1, 4), judges=(3, 5), noise=("normal", "exponential"))
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    loss = g.uniform(2, 10, (k, m))
    level = 50 + g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, k, 1))
    drawn = g.normal(size=(n, 3, k, m)) if design["noise"] == "normal" else g.exponential(size=(n, 3, k, m)) - 1
    scores = level - np.arange(3)[:, None, None] * loss + 5 * drawn
    versions = ("clean", "damage-1", "damage-2")
    cells = probe(Panel.from_array(scores, systems=versions, scale=SCALE)).cells
    covers = (cells["loss_low"] <= loss.ravel()) & (loss.ravel() <= cells["loss_high"])
    return happened(design, bool(covers.all()))


def _by_design(design: dict[str, object], share: float) -> Shares:
    """A share, once for the row and once for each entry of the design."""
    return [(ALL_DESIGNS, share), *((f"{name} {entry}", share) for name, entry in design.items())]


CLAIMS = {"S4": cover_of_slopes, "S5": cover_of_explained_share, "O17": cover_of_shifts, "P7": cover_of_probes}
