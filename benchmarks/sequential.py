"""Adaptive collection on planted truth: wrong claims, calls saved and bias, beside a fixed sample and plain peeking.

    python benchmarks/sequential.py [--runs 1000] [--scores ../shared/data/devai/run_level_scores.csv]

Each run buys up to 1,536 tasks. "wrong" is the share of runs with any settled claim that is false. "fixed" spends the
same calls on one sample of all cells; "peeking" looks at the same counts with plain 95% intervals.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

import polyjudge as pj
from polyjudge.analyse.sequential import Replay, Sequential, run_rule, simultaneous

TASKS, LANGUAGES, JUDGES = 1536, 3, 4
Draw = Callable[[np.random.Generator], np.ndarray]
ORDER = np.linspace(-4, 4, JUDGES)
CLUSTER = 8


def _shape(*last: int) -> tuple[int, ...]:
    return (TASKS, *(last or (LANGUAGES, JUDGES)))


def null(rng: np.random.Generator) -> np.ndarray:
    return 50 + rng.normal(0, 12, _shape()) + rng.normal(0, 15, _shape(1, 1))


def heavy(rng: np.random.Generator) -> np.ndarray:
    return 50 + ORDER + 8 * rng.standard_t(2.5, _shape()) + rng.normal(0, 6, _shape(1, 1))


def skewed(rng: np.random.Generator) -> np.ndarray:
    sign = np.where(np.arange(JUDGES) % 2, 1, -1)
    return 50 + sign * (rng.exponential(10, _shape()) - 10)


def integer(rng: np.random.Generator) -> np.ndarray:
    level = np.array([3.0, 3.05, 3.3, 3.8])
    return np.clip(np.round(level + rng.normal(0, 0.8, _shape(1, 1)) + rng.normal(0, 0.7, _shape())), 1, 5)


def binary(rng: np.random.Generator) -> np.ndarray:
    return 100.0 * (rng.random(_shape()) < np.array([0.03, 0.03, 0.06, 0.15]))


def rare(rng: np.random.Generator) -> np.ndarray:
    return 100.0 * (rng.random(_shape()) < 0.02)


def floored(rng: np.random.Generator) -> np.ndarray:
    score = np.array([60.0, 60.0, 57.0, 62.0]) + rng.normal(0, 4, _shape()) + rng.normal(0, 6, _shape(1, 1))
    return np.where(rng.random(_shape()) < np.array([0.04, 0.0, 0.0, 0.04]), 0.0, score)


def clustered(rng: np.random.Generator) -> np.ndarray:
    shared = rng.normal(0, 6, (TASKS // CLUSTER, LANGUAGES, JUDGES)).repeat(CLUSTER, axis=0)
    return 50 + ORDER / 2 + shared + rng.normal(0, 12, _shape())


SCENARIOS: dict[str, tuple[Draw, float, float]] = {
    "null": (null, 3.0, 0.0),
    "heavy-tailed": (heavy, 3.0, 0.0),
    "skewed": (skewed, 3.0, 0.0),
    "integer 1-5": (integer, 0.12, 0.0),
    "binary": (binary, 3.0, 0.0),
    "rare passes": (rare, 3.0, 0.0),
    "floored": (floored, 3.0, 0.0),
    "clustered": (clustered, 3.0, CLUSTER),
}


def truth_of(draw: Draw) -> np.ndarray:
    """Cell means of the scenario, from 1,500,000 tasks; equal cells are made equal by averaging the languages."""
    rng = np.random.default_rng(12345)
    means = np.mean([draw(rng).mean(axis=0) for _ in range(1000)], axis=0)
    return np.tile(means.mean(axis=0), (LANGUAGES, 1))


def wrong(claims: np.ndarray, truth: np.ndarray, matters: float, blur: float) -> np.ndarray:
    """Which claims are false. Truths within `blur` of a border are not counted either way."""
    return (
        ((claims == "above") & (truth <= blur) & (np.abs(truth) > blur))
        | ((claims == "above") & (np.abs(truth) <= blur))
        | ((claims == "below") & (truth >= -blur))
        | ((claims == "tied") & (np.abs(truth) > matters + blur))
    )


def peek(rule: Sequential, values: np.ndarray) -> np.ndarray:
    """Claims of someone who looks as often and takes plain 95% intervals."""
    claims = np.full(values.shape[1], "open", dtype=object)
    for n in rule.looks:
        part = values[:n]
        centre, half = part.mean(axis=0), stdtrit(n - 1, 0.975) * part.std(axis=0, ddof=1) / np.sqrt(n)
        found = np.where(np.abs(centre) > half, np.where(centre > 0, "above", "below"), "open")
        found = np.where((found == "open") & (np.abs(centre) + half < rule.matters), "tied", found)
        claims = np.where(claims == "open", found, claims)
    return claims


def fixed(rule: Sequential, values: np.ndarray, share: float) -> np.ndarray:
    """Claims from one sample of all cells that costs as much as the adaptive run."""
    part = values[: max(2, round(share * len(values)))]
    centre, se, critical = simultaneous(part, None, 1 - rule.level, rule.resamples, rule.seed)
    found = np.where(np.abs(centre) > critical * se, np.where(centre > 0, "above", "below"), "open")
    return np.where((found == "open") & (np.abs(centre) + critical * se < rule.matters), "tied", found)


def measure(draw: Draw, truth: np.ndarray, matters: float, cluster: int, runs: int, blur: float) -> dict[str, Any]:
    k, m = truth.shape
    names = {"languages": tuple(f"l{i}" for i in range(k)), "judges": tuple(f"j{i}" for i in range(m))}
    codes = np.arange(TASKS) // cluster if cluster else None
    rows, errors = [], []
    begun = time.perf_counter()
    for r in range(runs):
        rule = Sequential(**names, tasks=TASKS, matters=matters, seed=r)
        scores = draw(np.random.default_rng([21, r]))
        values, true = rule.values(scores), rule.values(truth[None])[0]
        replay: Replay = run_rule(rule, scores, codes)
        claims = replay.to_frame()["verdict"].to_numpy()
        once = fixed(rule, values, replay.share)
        rows.append(
            (
                wrong(claims, true, matters, blur).any(),
                replay.share,
                (claims != "open").mean(),
                (once != "open").mean(),
                wrong(peek(rule, values), true, matters, blur).any(),
            )
        )
        final, _ = replay.differences()
        errors.append((final - true, replay.unbiased(runs=400)[0] - true))
    bias = np.abs(np.mean(errors, axis=0)) / np.std(errors, axis=0)
    plain, mended = bias
    names_ = ("wrong", "share", "settled", "settled_fixed", "wrong_peeking")
    return {
        **dict(zip(names_, np.mean(rows, axis=0).round(4).tolist(), strict=True)),
        "bias_in_se": {"mean": round(float(mended.mean()), 4), "largest": round(float(mended.max()), 4)},
        "bias_in_se_plain": {"mean": round(float(plain.mean()), 4), "largest": round(float(plain.max()), 4)},
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--scores", type=Path, default=Path("../shared/data/devai/run_level_scores.csv"))
    parser.add_argument("--only", default="")
    parser.add_argument("--matters", type=float, nargs="*", default=(2.0, 3.0, 5.0))
    options = parser.parse_args()
    wanted = [w for w in options.only.split(",") if w]
    out: dict[str, Any] = {}
    for name, (draw, matters, cluster) in SCENARIOS.items():
        if not wanted or name in wanted:
            out[name] = measure(draw, truth_of(draw), matters, int(cluster), options.runs, 0.02 * matters)
            print(name, json.dumps(out[name]), flush=True)
    if options.scores.exists() and (not wanted or "devai" in wanted):
        scores = pj.read_panel(options.scores, replicate="framework").scores
        for matters in options.matters:
            name = f"DevAI, {matters:g} points"
            out[name] = measure(
                lambda rng: scores[rng.integers(len(scores), size=TASKS)],
                scores.mean(axis=0),
                matters,
                0,
                options.runs,
                0.0,
            )
            print(name, json.dumps(out[name]), flush=True)
    if not wanted:
        Path(__file__).with_name("results").joinpath("sequential.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
