"""One simulated panel through the public analyses, compared with its truth.

Each check takes a scenario and a seed and gives numbers that can be averaged over panels, by the names of
`promises`; what does not apply is left out. `error` is a (k, m) array.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.methods import find_methods
from polyjudge.estimate.bands import uncertainty
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.pairs import PairOrder
from polyjudge.estimate.powered import ppi_mean
from polyjudge.estimate.shares import share_interval
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import PolyjudgeWarning
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.questions.anchor.distance import language_means
from polyjudge.questions.anchor.humans import language_error
from polyjudge.questions.audit.audit import audit
from polyjudge.questions.audit.explanation import explain
from polyjudge.questions.audit.latent import bounded
from polyjudge.questions.audit.matters import certificate
from polyjudge.questions.audit.missing import missingness
from polyjudge.questions.audit.orders import order_judges, rank_reversals, tied_sets
from polyjudge.questions.audit.variation import language_effect, variance
from polyjudge.questions.compare.held_out import full_gain
from polyjudge.questions.drift.drift import drift
from polyjudge.questions.plan.sequential import replay
from polyjudge.questions.systems.leaderboard import leaderboard
from polyjudge.questions.systems.signal import signal
from polyjudge.simulate import Truth, simulate_panel
from validation.claims import CLAIMS
from validation.nights import nightly
from validation.scenarios import Found, Scenario
from validation.shapes import CHECKS as SHAPES

LEVEL = 0.95
BOOTSTRAPS = 199
"""Enough for 95%: 190 of 200 equally likely places. More resamples make an interval steadier, not truer."""
PERMUTATIONS = 99
NIGHTS = 365


def run_check(scenario: Scenario, seed: int) -> Found:
    """What the analyses said of one panel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyjudgeWarning)
        return CHECKS[scenario.check](scenario, seed)


def draw(scenario: Scenario, seed: int) -> tuple[Panel, Truth, Array]:
    """A panel of the scenario, what was simulated, and the (k, m) scores that its cells have on average."""
    plant = scenario.plant
    more: Found = {"noise_sd": 0.0} if "skewed" in plant else {}
    panel, truth = simulate_panel(
        scenario.tasks, scenario.languages, scenario.judges, seed=seed, **{**scenario.simulate, **more}
    )
    cells = truth.interaction.to_numpy() + truth.judge_effect.to_numpy() + truth.language_effect.to_numpy()[:, None]
    rng = np.random.default_rng([seed, 1])
    scores = panel.scores.copy()
    if "skewed" in plant:
        side = np.where(np.arange(scenario.judges) % 2, 1.0, -1.0)
        scores += plant["skewed"] * side * (rng.exponential(1.0, scores.shape) - 1)
    if "failed" in plant:  # of scores around 50, so that a failed call is far below
        share = np.broadcast_to(plant["failed"], scenario.judges)
        better = plant.get("better", 0.0)  # what judges are better by as long as no call fails
        scores = np.where(rng.random(scores.shape) < share, 0.0, scores + better)
        cells = (50 + cells + better) * (1 - share)
    if "holes" in plant:
        scores = _holes(rng, scores, *plant["holes"])
    if scenario.plant:
        panel = Panel.from_array(scores, panel.tasks, panel.languages, panel.judges)
    return panel, truth, cells


def _holes(
    rng: np.random.Generator, scores: Array, language: int | None, judge: int, share: float, blind: float
) -> Array:
    """Scores without some of one judge, in a language or in all: the lowest `share` of each cell, or with `blind` 1
    as many at random. One in seven of them is there nevertheless."""
    out = scores.copy()
    for at in range(scores.shape[1]) if language is None else (language,):
        column = rng.random(len(scores)) if blind else scores[:, at, judge]
        low = column <= np.quantile(column, share)
        out[low & (rng.random(len(scores)) < 6 / 7), at, judge] = np.nan
    return out


def _within(low: Any, value: Any, high: Any) -> Any:
    return (np.asarray(low) <= value) & (value <= np.asarray(high))


# --- cells: the interaction, the order of the judges, the gain ---


def cells(scenario: Scenario, seed: int) -> Found:
    """Bias, intervals, band, certificate, ranks, swaps, gain; the three-way test where asked."""
    panel, _, means = draw(scenario, seed)
    planted = double_centre(means)
    out = _band(panel, planted, seed) | _gaps(panel, means, scenario.ask)
    order = order_judges(panel, alpha=1 - LEVEL, resamples=BOOTSTRAPS, seed=seed)
    out |= _ranks(panel, means, seed, order)
    if scenario.ask.get("reversals", True):
        out |= _swaps(panel, means, seed, order)
    if panel.complete:
        gain = full_gain(find_methods(["cbc"])[0], panel, LEVEL)
        beta = planted + out["error"]
        assert gain is not None
        true = float((2 * beta * planted - beta**2).mean())
        out |= {"gain interval, coverage": _within(gain.low, true, gain.high), "gain_error": gain.estimate - true}
        out["gain, size of the interval"] = gain.high - gain.low
    if scenario.replicates > 1:
        p = variance(panel).three_way_p
        out |= {"three-way test rejects": None if p is None else p <= 1 - LEVEL}
    return out


def _band(panel: Panel, planted: Array, seed: int) -> Found:
    sure = uncertainty(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    frame, shape = sure.to_frame(), planted.shape
    beta, low, high, band_low, band_high = (
        frame[name].to_numpy(float).reshape(shape) for name in ("interaction", "low", "high", "band_low", "band_high")
    )
    clear = frame["clear"].to_numpy(bool).reshape(shape)
    there = np.abs(planted) > 1e-12
    out: Found = {
        "error": beta - planted,
        "interval coverage": _within(low, planted, high).mean(),
        "band coverage": _within(band_low, planted, band_high).all(),
    }
    if not there.all():
        out["any cell called off, none is"] = (clear & ~there).any()
    if there.any():
        out["planted cells found"] = clear[there].mean()
    if panel.complete and panel.declared_range is None and not panel.clustered:
        free = sure.bounds["radius"].to_numpy()[-1]  # distribution-free
        out["distribution-free bound, coverage"] = np.abs(beta - planted).max() <= free
    return out


def _gaps(panel: Panel, means: Array, ask: Found) -> Found:
    """The certificate: no gap between two judges changes by more than delta from one language to another."""
    gap = means[:, :, None] - means[:, None, :]
    true = float(np.abs(gap[:, None] - gap[None]).max())
    limit = ask.get("matters", 2.0)
    held = certificate(panel, limit, level=LEVEL)
    out: Found = {"certified bound holds": true <= held.delta + 1e-9}
    if true <= limit + 1e-9:
        out["certificate refused, nothing matters"] = held.status == "material"
    if true >= limit - 1e-9:
        out["certified at what is there"] = held.status == "certified"
    return out


def _ranks(panel: Panel, means: Array, seed: int, order: PairOrder | None = None) -> Found:
    found = tied_sets(panel, resamples=BOOTSTRAPS, seed=seed, order=order)
    out: Found = {}
    lowest, highest = (found.table[x].to_numpy(int) for x in ("rank_low", "rank_high"))
    for name, true, rows in (  # languages stand first, then the order over all
        ("rank sets, coverage", means, slice(0, means.size)),
        ("order over all, coverage", means.mean(axis=0, keepdims=True), slice(means.size, None)),
    ):
        low, high = lowest[rows].reshape(true.shape), highest[rows].reshape(true.shape)
        best = 1 + (true[:, None, :] > true[:, :, None] + 1e-9).sum(axis=2)
        worst = true.shape[1] - (true[:, None, :] < true[:, :, None] - 1e-9).sum(axis=2)
        # every rank that ties leave open must be in the set
        out[name] = ((low <= best) & (worst <= high)).all(axis=1).mean()
    out["pairs called contaminated"] = len(found.contaminated) > 0
    return out


def _swaps(panel: Panel, means: Array, seed: int, order: PairOrder) -> Found:
    none = np.abs(double_centre(means)).max() < 1e-9
    draws = PERMUTATIONS if none else 19  # the global test is only asked where there is nothing to find
    found = rank_reversals(panel, alpha=1 - LEVEL, draws=draws, resamples=BOOTSTRAPS, seed=seed, order=order)
    i, j = np.triu_indices(means.shape[1], 1)
    gap = means[:, i] - means[:, j]
    truly = (gap.max(axis=0) > 1e-9) & (gap.min(axis=0) < -1e-9)
    said = found.pairs["reverses"].to_numpy(bool)
    published = found.pairs["p_published"].to_numpy(float) <= 1 - LEVEL
    out: Found = {
        "false swaps": (said & ~truly).sum() / max(said.sum(), 1),
        "false swaps, as published": (published & ~truly).sum() / max(published.sum(), 1),
    }
    if truly.any():
        out["true swaps found"] = (said & truly).sum() / truly.sum()
    if none:
        out["global swap test rejects"] = found.p_global <= 1 - LEVEL
        out["global swap test rejects, noise unequal"] = found.p_global_unequal <= 1 - LEVEL
    return out


def band(scenario: Scenario, seed: int) -> Found:
    """The band alone, quickly enough for hundreds of panels."""
    panel, _, means = draw(scenario, seed)
    found = uncertainty(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed).cells
    planted = double_centre(means).ravel()
    return {
        "band at its level, coverage": _within(found["band_low"], planted, found["band_high"]).all(),
        "any cell called off, none is": found["clear"].any(),
    }


def levels(scenario: Scenario, seed: int) -> Found:
    """Scores with few levels, drawn in logits: is the interaction there what the model of levels says?"""
    rng = np.random.default_rng(seed)
    n, k, m, ask = scenario.tasks, scenario.languages, scenario.judges, scenario.ask
    planted = double_centre(rng.normal(0, 1, (k, m))) * ask["logits"]
    latent = rng.normal(0, 1.5, (n, 1, 1)) + planted + np.linspace(-1, 1, m) + np.linspace(-1, 1, k)[:, None]
    noisy = latent + ask.get("mean", 0.0) + rng.logistic(0, 1, (n, k, m))
    panel = Panel.from_array((noisy[..., None] > np.asarray(ask["cuts"])).sum(axis=-1).astype(float))
    found = bounded(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    low, high = (found.cells[x].to_numpy(float).reshape(k, m) for x in ("band_low", "band_high"))
    out: Found = {"band in logits, coverage": _within(low, planted, high).all()}
    if not ask["logits"]:
        out["any cell called off in logits, none is"] = bool(found.cells["clear"].any())
    return out


# --- holes ---


def holes(scenario: Scenario, seed: int) -> Found:
    """Missing scores: the band where they are missing at random; tests and sensitivity range where they are not."""
    panel, _, means = draw(scenario, seed)
    planted = double_centre(means)
    found = missingness(panel, draws=PERMUTATIONS, seed=seed)
    low, high = (
        found.cells[name].to_numpy(float).reshape(planted.shape) for name in ("sensitivity_low", "sensitivity_high")
    )
    said = {note.code for note in found.notes}
    if scenario.ask.get("hidden"):
        first = scenario.plant["holes"][:2] if scenario.plant["holes"][0] is not None else (slice(None), 0)
        out = {"sensitivity range, coverage": _within(low, planted, high)[first].mean()}
        return {**out, "holes not at random are said": bool(said & {"missing.together", "missing.one-holder"})}
    out = {"sensitivity range, coverage": _within(low, planted, high).mean()}
    if "missing" in scenario.simulate:
        out["holes at random called dependent"] = found.p_interaction is not None and found.p_interaction < 1 - LEVEL
    return {**_band(panel, planted, seed), **_ranks(panel, means, seed), **out}


# --- labels ---


def labels(scenario: Scenario, seed: int) -> Found:
    """A pass rate from few labels and the scores of a panel that passes too easily."""
    rng = np.random.default_rng(seed)
    rate, count = scenario.ask["rate"], scenario.ask["labels"]
    passed = rng.random(scenario.tasks) < rate
    guess = np.clip(0.25 + 0.5 * passed + rng.normal(0, 0.25, scenario.tasks), 0, 1)
    found = ppi_mean(passed[:count], guess[:count], guess[count:], ends=(0.0, 1.0), level=LEVEL)
    return {"PPI interval, coverage": found.low <= rate <= found.high, "PPI interval, width": found.high - found.low}


def anchors(scenario: Scenario, seed: int) -> Found:
    """Mean scores by language and the panel's shift from labels; are labels of the hardest tasks noticed?"""
    rng = np.random.default_rng(seed)
    n, k, m, ask = scenario.tasks, scenario.languages, scenario.judges, scenario.ask
    size = ask.get("clusters", n)
    code = np.arange(n) % size
    shared = rng.normal(0, 1, (size, k))[code] if size < n else np.zeros((n, k))
    part = 0.3 if size < n else 0.0
    human = 60 + 12 * (np.sqrt(part) * shared + np.sqrt(1 - part) * rng.normal(0, 1, (n, k)))
    scores = human[..., None] + 5 + rng.normal(0, 8, (n, k, m))
    more: Found = {} if size == n else {"clusters": tuple(f"c{i}" for i in range(size)), "cluster": code}
    panel = Panel.from_array(scores, **more)
    known = np.zeros(n, bool)
    order = np.argsort(human.mean(axis=1)) if ask.get("hardest") else rng.permutation(n)
    pool = order[: n // 2] if ask.get("hardest") else order
    known[rng.permutation(pool)[: ask["labels"]]] = True
    gold = Gold("score", np.where(known[:, None], human, np.nan), panel.languages)
    means = language_means(panel, gold, level=LEVEL)
    if ask.get("hardest"):
        return {"labels of the hardest tasks noticed": (means.balance["p"] <= 1 - LEVEL).any()}
    shift = language_error(panel, gold, seed=seed).of_panel
    return {
        "PPI mean, coverage": _within(means.table["low"], 60.0, means.table["high"]).mean(),
        "shared shift, coverage": _within(shift["low"], 5.0, shift["high"]).mean(),
        "labels at random called unlike": (means.balance["p"] <= 1 - LEVEL).any(),
    }


def shares(scenario: Scenario, seed: int) -> Found:
    """How often decisions are right, from labels in several languages of each task, which agree more than by chance."""
    rng = np.random.default_rng(seed)
    n, k, rate = scenario.tasks, scenario.languages, scenario.ask["rate"]
    luck = np.where(rng.random((n, k)) < 0.4, rng.random((n, 1)), rng.random((n, k)))
    right = (luck < rate).mean(axis=1)
    draws = rng.multinomial(n, np.full(n, 1 / n), BOOTSTRAPS) @ right / n
    low, high = share_interval(draws, right.mean(), np.array(n), LEVEL)
    return {"share of right decisions, coverage": _within(low, rate, high)}


def shift(scenario: Scenario, seed: int) -> Found:
    """What a language adds to the scores of most judges, beside a broken cell."""
    panel, truth, _ = draw(scenario, seed)
    panel = panel.with_scores(panel.scores + _faults(scenario))
    found = language_effect(panel, LEVEL, 2.0, BOOTSTRAPS, seed)
    true = truth.language_effect.to_numpy()
    covered = _within(found["median_low"], true - true.mean(), found["median_high"])
    return {"shift by the median judge, coverage": covered.mean()}


# --- drift ---


def _tasks(rng: np.random.Generator, scenario: Scenario) -> Array:
    """(n, k, m) what the scores of tasks are on average."""
    n, k, m = scenario.tasks, scenario.languages, scenario.judges
    parts = [(12, (n, 1, 1)), (5, (n, 1, m)), (3, (n, k, 1)), (3, (n, k, m)), (8, (m,)), (4, (k, 1)), (4, (k, m))]
    out = np.full((n, k, m), 50.0)
    for sd, shape in parts:
        out = out + rng.normal(0, sd, shape)
    return out


def _scored(rng: np.random.Generator, base: Array, replicates: int, ask: Found, runs: int = 1) -> Array:
    """(runs, n, k, m, replicates) scores of the same tasks."""
    shape = (runs, *base.shape, replicates)
    kind = ask.get("noise")
    if kind == "heavy":
        noise = rng.standard_t(3, shape) / np.sqrt(3)
    else:
        noise = rng.exponential(1.0, shape) - 1 if kind == "skewed" else rng.normal(0, 1, shape)
    scores: Array = base[..., None] + 6 * noise
    if ask.get("scale") == "binary":
        return (scores > 45).astype(float)
    return np.clip(np.rint((scores - 25) / 20) * 20, 0, 100) if ask.get("scale") == "floored" else scores


def drifts(scenario: Scenario, seed: int) -> Found:
    """One run against a saved calibrator."""
    rng = np.random.default_rng(seed)
    base, ask = _tasks(rng, scenario), scenario.ask
    cal = ConsensusCalibrator().fit(Panel.from_array(_scored(rng, base, ask.get("then", 2), ask)[0]))
    names: list[str] | None = None
    if not ask.get("same", True):
        cells = base.mean(axis=0)
        base = _tasks(rng, scenario)
        base += cells - base.mean(axis=0)
        names = [f"other{i}" for i in range(scenario.tasks)]
    new = _scored(rng, base, 1 if "then" in ask else 2, ask)[0]
    new[:, 1, 2] -= ask.get("broken", 0.0)
    found = drift(cal, Panel.from_array(new, names), level=LEVEL, seed=seed)
    alarm = any(f.severity in ("warning", "serious") for f in found.findings)
    if "broken" not in ask:
        return {"drift alarms, nothing changed": alarm}
    right = found.kind == "cell" and len(found.broken) == 1
    right = right and (found.broken["language"][0], found.broken["judge"][0]) == ("language2", "judge3")
    return {"drift found": alarm, "the changed cell is named": right}


def nights(scenario: Scenario, seed: int) -> Found:
    """A year of nights: does any of them alarm?"""
    rng = np.random.default_rng(seed)
    base, ask = _tasks(rng, scenario), scenario.ask
    then = _scored(rng, base, ask.get("then", 2), ask)[0]
    now = _scored(rng, base, 1 if "then" in ask else 2, ask, NIGHTS)
    low = then.min()
    at_floor = [(x <= low + 1e-9).mean(axis=-1) for x in (then, now)]
    found = nightly(then.mean(axis=-1), now.mean(axis=-1), *at_floor, level=LEVEL, runs=NIGHTS, unlike="then" in ask)
    return {"drift alarms in a year of nights": found.any()}


# --- systems ---

QUALITY = (-6.0, -2.0, 2.0, 6.0)


def _reliability(sees: float, quality: float) -> float:
    """Reliability of one judge: variance of what judges share of the systems within a task, over that with noise.

    Qualities differ between systems (`QUALITY`) and from task to task (sd 8); the noise of a score has sd 8 as well.
    """
    within = 8.0**2 * (1 - 1 / len(QUALITY))
    shared = sees**2 * (quality**2 * float(np.mean(np.square(QUALITY))) + within)
    return shared / (shared + within)


def judged(scenario: Scenario, seed: int) -> Found:
    """Do the judges see the systems, and which is best?"""
    ask = scenario.ask
    sees, quality = float(ask["sees"]), float(ask.get("quality", 1.0))
    planted: Found = {"interaction": 0.0, "systems": 4, "system_sd": quality * np.array(QUALITY), "sees": sees}
    planted |= scenario.simulate
    panel, _ = simulate_panel(scenario.tasks, scenario.languages, scenario.judges, seed=seed, **planted)
    seen = signal(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    board = leaderboard(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    true = _reliability(sees, quality)
    out: Found = {
        "signal interval, coverage": _within(seen.languages["one_low"], true, seen.languages["one_high"]).mean(),
        "signal verdict wrong": seen.verdict == ("agree" if sees == 0 else "do not agree"),
        "signal verdict right": seen.verdict == ("do not agree" if sees == 0 else "agree"),
        "systems swap, none does": (board.swaps["clear"] & (board.swaps["kind"] == "language")).any(),
    }
    if "missing" in scenario.simulate and sees:
        del out["signal interval, coverage"]  # of the systems that are there, which is another question
    rows = board.systems
    tied = quality == 0 or sees == 0
    best, worst = (pd.Series((1, 2, 3, 4), index=[f"system{4 - i}" for i in range(4)]) for _ in range(2))
    if tied:
        best[:], worst[:] = 1, 4
    held = (rows["rank_low"] <= rows["system"].map(best)) & (rows["system"].map(worst) <= rows["rank_high"])
    whole = rows["language"] == "(all)"
    out["leaderboard ranks, coverage"] = held[whole].all()
    out["leaderboard ranks by language, coverage"] = held[~whole].groupby(rows["language"]).all().mean()
    return out


# --- decisions ---


def looks(scenario: Scenario, seed: int) -> Found:
    """Sequential looks at judges that tie: is any order claimed, or any truth contradicted?"""
    panel, _, _ = draw(scenario, seed)
    found = replay(panel, matters=1.0, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    verdict = found.to_frame()["verdict"].to_numpy()
    return {"a look claims what is not so": np.isin(verdict, ("above", "below")).any()}


def _faults(scenario: Scenario) -> Array:
    """(k, m) points by which cells are off: one cell, two, or one judge or language up and down in turns."""
    out = np.zeros((scenario.languages, scenario.judges))
    where, off = scenario.ask.get("where", "cell"), scenario.ask["off"]
    if where == "judge":
        out[:, 2] = off * np.where(np.arange(scenario.languages) % 2, 1, -1)
    elif where == "language":
        out[1] = off * np.where(np.arange(scenario.judges) % 2, 1, -1)
    else:
        out[1, 2] = -off
        out[3, 0] = off if where == "cells" else 0.0
    return out


def broken(scenario: Scenario, seed: int) -> Found:
    """Cells are off: are they named, and nothing else, and by how much are they off?"""
    panel, _, _ = draw(scenario, seed)
    points = _faults(scenario)
    scores = panel.scores + points
    if "scale" in scenario.simulate:  # of 1, 2, ..., half of it on average: some of the cell's scores fall to 1
        half = (scenario.simulate.get("steps", 5) - 1) / 2
        scores = np.where(np.random.default_rng([seed, 3]).random(panel.shape) < -points / half, 1.0, panel.scores)
    panel = panel.with_scores(scores)
    bands = uncertainty(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    found = explain(panel, level=LEVEL, resamples=20, seed=seed, bands=bands)
    named, sizes = found.cells["named"].to_numpy(bool), points.ravel()
    there, where = sizes != 0, scenario.ask.get("where", "cell")
    covered = _within(found.cells["low"], sizes, found.cells["high"])[there].mean()
    # Half a line up and half of it down is also one half off by twice as much: its sizes are asked if it is a line.
    line = where in ("judge", "language")
    return {
        "the broken cell is named": found.kind == where and bool((named == there).all()),
        "a sound cell is named": bool((named & ~there).any()),
        "how far it is off, coverage": None if line and found.kind != where else covered,
    }


def calm(scenario: Scenario, seed: int) -> Found:
    """A whole audit of a panel with nothing wrong: does it warn?"""
    panel, _, _ = draw(scenario, seed)
    found = audit(panel, resamples=BOOTSTRAPS, level=LEVEL, seed=seed)
    return {"audits without a warning": not any(f.severity in ("warning", "serious") for f in found.findings)}


def vetoed(scenario: Scenario, seed: int) -> Found:
    """A whole audit of a panel in which a gap changes by more than matters: is it called calm?"""
    panel, _, _ = draw(scenario, seed)
    found = audit(panel, resamples=BOOTSTRAPS, level=LEVEL, seed=seed, matters=2.0)
    return {"called calm, and it is not": found.advice.state == "calm"}


CHECKS: dict[str, Callable[[Scenario, int], Found]] = {
    "cells": cells,
    "band": band,
    "levels": levels,
    "holes": holes,
    "labels": labels,
    "anchors": anchors,
    "shares": shares,
    "shift": shift,
    "drift": drifts,
    "nights": nights,
    "systems": judged,
    "looks": looks,
    "broken": broken,
    "calm": calm,
    "vetoed": vetoed,
    **CLAIMS,
    **SHAPES,
}
