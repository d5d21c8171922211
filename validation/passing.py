"""Rows G1 and G2 of scenarios.csv: pass rates, raw and calibrated."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from polyjudge.answers.audit.gates import gates
from polyjudge.panel import Array, Panel
from validation.designs import draw, happened

Rows = list[tuple[str, bool]]
LIKERT_SHARES = (0.1, 0.3, 0.7, 0.9)
"""Shares of latent scores below the marks between 1, 2, 3, 4 and 5."""
PANELS_OF_A_DESIGN = 30


def passing_panel(generator: np.random.Generator, design: dict[str, Any]) -> tuple[Panel, str, float]:
    """A panel in which every cell has the same pass rate, its pass mark and the rate."""
    n, k, m, s, rate = (design[x] for x in ("tasks", "languages", "judges", "systems", "rate"))
    latent = np.sqrt(0.4) * generator.normal(size=(n, 1, 1, 1)) + np.sqrt(0.2) * generator.normal(size=(n, s, 1, 1))
    latent = latent + np.sqrt(0.4) * generator.normal(size=(n, s, k, m))
    mark = NormalDist().inv_cdf(1 - rate)
    if design["scores"] == "pass/fail":
        return Panel.from_array((latent > mark).astype(float), scale=(0.0, 1.0)), "0.5", rate
    if design["scores"] == "continuous":
        return Panel.from_array(50 + 10 * latent, scale=(-1000.0, 1000.0)), f"{50 + 10 * mark!r}", rate
    # The four marks lie about the pass mark, which is the third.
    marks = [NormalDist().inv_cdf(x) for x in LIKERT_SHARES]
    shift = mark - marks[2]
    y = 1.0 + sum((latent > x + shift).astype(float) for x in marks)
    return Panel.from_array(y, scale=(1.0, 5.0)), ">=4", rate


def limits(seed: int) -> Rows:
    """G1. Of raw and of calibrated rates: nothing is planted, so both are the same."""
    design = draw(
        seed,
        tasks=(10, 20, 60, 200),
        languages=(1, 4),
        judges=(1, 4),
        systems=(1, 4),
        rate=(0.5, 0.8, 0.95, 0.98),
        scores=("pass/fail", "continuous", "Likert"),
        kind=("raw", "calibrated"),
    )
    panel, mark, rate = passing_panel(np.random.default_rng(seed), design)
    kind = design["kind"] if min(design["languages"], design["judges"]) > 1 else "raw"
    cell = gates(panel, mark, level=0.95).frame.iloc[-1]
    return happened(design | {"kind": kind}, bool(cell[f"{kind}_low"] - 1e-9 <= rate <= cell[f"{kind}_high"] + 1e-9))


def coarse(latent: Array, kind: str) -> tuple[Array, tuple[float, float], float]:
    """Scores of a latent quality (sd 1 within cells) as this kind gives them, their scale and a pass mark."""
    if kind == "0/1":
        return (latent > 0).astype(float), (0.0, 1.0), 1.0
    if kind == "Likert":
        return np.clip(np.round(3.5 + latent), 1, 5), (1.0, 5.0), 4.0
    if kind == "tens":
        return np.clip(np.round(5 + 2 * latent), 0, 10) * 10, (0.0, 100.0), 50.0
    return 50 + 20 * latent, (-1000.0, 1000.0), 50.0


def calibrated_rates(seed: int) -> Rows:
    """G2. What calibrating leaves in pass rates: rmse over panels of one design, beside that of raw rates."""
    design = draw(seed, scores=("Likert", "0/1", "tens", "continuous"), planted=(0.0, 0.3, 1.0))
    squares = np.zeros(2)
    for number in range(PANELS_OF_A_DESIGN):
        generator = np.random.default_rng([seed, number])
        # The truth is the rate of each language without what judges add there: the mean over very many judges.
        quality = generator.normal(0, 0.7, (100, 1, 1)) + generator.normal(0, 0.3, (1, 6, 1))
        off = design["planted"] * generator.normal(size=(6, 5))
        off = off - off.mean(0) - off.mean(1, keepdims=True) + off.mean()
        noise = generator.normal(0, 0.7, (100, 6, 5))
        y, scale, mark = coarse(quality + off + noise, design["scores"])
        many, _, _ = coarse(quality + generator.normal(0, 0.7, (4000, 6, 1)).reshape(40, 100, 6, 1), design["scores"])
        truth = (many >= mark).mean((0, 1))
        frame = gates(Panel.from_array(y, scale=scale), f">={mark}", level=0.95).frame
        for kind, column in enumerate(("pass_raw", "pass_calibrated")):
            squares[kind] += ((frame[column].to_numpy().reshape(6, 5) - truth) ** 2).mean()
    return happened(design, bool(squares[1] > squares[0]))


def certain_gap(seed: int) -> Rows:
    """G3. All cells pass alike, and a judge is said to pass more in one language than in another."""
    design = draw(
        seed,
        tasks=(20, 60, 200),
        languages=(4, 6),
        judges=(3, 5),
        systems=(1, 4),
        rate=(0.5, 0.8, 0.95, 0.98),
        scores=("pass/fail",),
    )
    panel, mark, _ = passing_panel(np.random.default_rng(seed), design)
    text = gates(panel, mark, level=0.95).findings[0].text
    return happened(design, " more in " in text)


CLAIMS: dict[str, Callable[[int], Rows]] = {"G1": limits, "G2": calibrated_rates, "G3": certain_gap}
