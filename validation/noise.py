"""Panels whose noise is not of one kind, failures that may not be drawn, holes and several cells (rows O10 to O16).

scores = task (sd 12) + task:language (sd 3) + noise (sd 5) + what is planted + 50. A seed draws one design.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.off import off
from polyjudge.panel import Panel
from polyjudge.stats.cells import excess
from validation.designs import ALL_DESIGNS, draw, happened

Array = NDArray[np.float64]
Found = list[tuple[str, bool]]
Design = dict[str, Any]
NOISY_CELL = (1, 2)
"""Language and judge in which something is planted."""
SCALE = (-1000.0, 1000.0)
"""Where nothing hangs on the ends of the scale."""


def base_scores(g: np.random.Generator, n: int, k: int, m: int) -> Array:
    """What tasks and languages make of scores (n, k, m)."""
    return 50 + g.normal(0, 12, (n, 1, 1)) + g.normal(0, 3, (n, k, 1)) + np.zeros((n, k, m))


def noise_sizes(k: int, m: int, noise: str) -> Array:
    """Standard deviation of the noise of each cell (k, m)."""
    sizes = np.full((k, m), 5.0)
    if noise == "one cell x4":
        sizes[NOISY_CELL] *= 4
    if noise == "one judge x3":
        sizes[:, NOISY_CELL[1]] *= 3
    if noise == "one language x3":
        sizes[NOISY_CELL[0]] *= 3
    return sizes


def noisy_panel(seed: int, design: Design, planted: float = 0.0) -> Panel:
    """A panel with normal noise whose size differs as the design says; `planted` is added in one cell."""
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    scores = base_scores(g, n, k, m) + g.normal(size=(n, k, m)) * noise_sizes(k, m, design["noise"])
    scores[:, NOISY_CELL[0], NOISY_CELL[1]] += planted
    return Panel.from_array(scores, scale=SCALE)


def any_cell_clear(panel: Panel) -> bool:
    """Whether any cell is clear at matters 0."""
    return bool(off(panel, matters=0).frame["clear"].any())


def alarms_of_noisy_panels(seed: int) -> Found:
    """O10: nothing is planted, and nothing is clear."""
    noise = ("normal", "one cell x4", "one judge x3", "one language x3")
    design = draw(seed, tasks=(10, 20, 60), languages=(2, 4, 8, 30), judges=(4, 6, 12), noise=noise)
    return happened(design, any_cell_clear(noisy_panel(seed, design)))


def cover_of_noisy_cell(seed: int) -> Found:
    """O11: the interval of the noisy cell holds zero."""
    noise = ("normal", "one cell x4")
    design = draw(seed, tasks=(10, 20, 60), languages=(4, 8, 30), judges=(4, 6, 12), noise=noise)
    cell = _row_of_cell(noisy_panel(seed, design))
    return happened(design, bool(cell["low"] <= 0 <= cell["high"]))


def _row_of_cell(panel: Panel) -> Any:
    frame = off(panel, matters=0).frame
    language, judge = NOISY_CELL
    is_cell = (frame["language"] == panel.languages[language]) & (frame["judge"] == panel.judges[judge])
    return frame[is_cell].iloc[0]


def heavy_panel(seed: int, design: Design) -> Panel:
    """Log-normal noise, or a judge, or all, whose scores are 0 in 5% of all calls: no language differs."""
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    scores = base_scores(g, n, k, m)
    if design["noise"] == "lognormal":
        drawn = np.exp(g.normal(size=(n, k, m)))
        return Panel.from_array(scores + 5 * (drawn - np.exp(0.5)) / drawn.std(), scale=SCALE)
    scores = scores + g.normal(0, 5, (n, k, m))
    fails = g.random((n, k, m)) < 0.05
    if design["noise"] == "a judge fails in 5%":
        fails[:, :, np.arange(m) != NOISY_CELL[1]] = False
    return Panel.from_array(np.where(fails, 0.0, scores), scale=SCALE)


def alarms_of_heavy_tails(seed: int) -> Found:
    """O12: nothing is planted, and nothing is clear."""
    noise = ("lognormal", "a judge fails in 5%", "all fail in 5%")
    design = draw(seed, tasks=(20, 60), languages=(8, 30), judges=(6, 12), noise=noise)
    return happened(design, any_cell_clear(heavy_panel(seed, design)))


def power_kept(seed: int) -> Found:
    """O14: one cell is off by 4.5 standard errors of its off, and it is clear."""
    design = draw(seed, tasks=(10, 20), languages=(4, 8, 30), judges=(4, 6, 12), noise=("normal",))
    k, m = design["languages"], design["judges"]
    standard_error = 5 * np.sqrt(k * m / ((k - 1) * (m - 1)) / design["tasks"])
    cell = _row_of_cell(noisy_panel(seed, design, planted=4.5 * float(standard_error)))
    return happened(design, bool(cell["clear"]))


def cover_with_holes(seed: int) -> list[tuple[str, float]]:
    """O15: share of cells whose interval holds the true off; scores are missing at random."""
    design = draw(
        seed,
        tasks=(15, 30),
        languages=(4, 8),
        judges=(4, 6),
        noise=("normal", "task:judge sd 4"),
        holes=(0.3, 0.5),
    )
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    cells = g.normal(0, 4, (k, m))
    scores = base_scores(g, n, k, m) + cells + g.normal(0, 5, (n, k, m))
    if design["noise"] == "task:judge sd 4":
        scores += g.normal(0, 4, (n, 1, m))
    scores[g.random(scores.shape) < design["holes"]] = np.nan
    panel = Panel.from_array(scores, scale=SCALE)
    frame = off(panel, matters=0).frame
    true_off = excess(panel.values().present).contrasts @ cells.ravel()
    covers = (frame["low"].to_numpy() <= true_off) & (true_off <= frame["high"].to_numpy())
    share = float(covers[frame["off"].notna().to_numpy()].mean())
    return [(ALL_DESIGNS, share), *((f"{name} {entry}", share) for name, entry in design.items())]


def blind_spot_of_calm_panels(seed: int) -> Found:
    """O13: a panel is called calm, and the true off of the failing cell is above what is stated as ruled out."""
    noise = ("normal", *(f"{rate}% zeros in one cell" for rate in (1, 2, 4, 8, 15)))
    design = draw(seed, tasks=(10, 30, 60, 120), languages=(4, 10), judges=(4, 8), noise=noise)
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    scores = base_scores(g, n, k, m) + 20 + g.normal(0, 5, (n, k, m))
    rate = 0.0
    if design["noise"] != "normal":
        rate = int(design["noise"].split("%")[0]) / 100
    language, judge = NOISY_CELL
    scores[g.random(n) < rate, language, judge] = 0.0
    found = off(Panel.from_array(np.clip(scores, 0, 100), scale=(0.0, 100.0)))
    return happened(design, found.kind == "calm" and rate * 70 > found.limit)


def cover_of_several_named(seed: int) -> Found:
    """O16: two or three cells are off; the excess of each that is named covers the true one."""
    design = draw(seed, tasks=(60,), languages=(4, 5, 8), judges=(4, 5, 6), noise=("normal",), cells=(2, 3))
    g = np.random.default_rng(seed)
    n, k, m = design["tasks"], design["languages"], design["judges"]
    truth = np.zeros((k, m))
    truth[g.permutation(k)[: design["cells"]], g.permutation(m)[: design["cells"]]] = -12
    scores = base_scores(g, n, k, m) + truth + g.normal(0, 5, (n, k, m))
    frame = off(Panel.from_array(scores, scale=(0.0, 100.0))).frame
    named = frame["named"].to_numpy(dtype=bool)
    out = [divmod(int(cell), m) for cell in np.flatnonzero(named)]
    true_excess = excess(np.ones((k, m), dtype=bool), out).of(truth.reshape(1, -1))[0]
    covers = (frame["excess_low"] <= true_excess) & (true_excess <= frame["excess_high"])
    return happened(design, bool(covers[named].all()))


CLAIMS = {
    "O10": alarms_of_noisy_panels,
    "O11": cover_of_noisy_cell,
    "O12": alarms_of_heavy_tails,
    "O13": blind_spot_of_calm_panels,
    "O14": power_kept,
    "O15": cover_with_holes,
    "O16": cover_of_several_named,
}
