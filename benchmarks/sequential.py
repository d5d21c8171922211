"""Adaptive collection on planted truth: wrong claims, calls saved and bias, beside a fixed sample and plain peeking.

    python benchmarks/sequential.py [--runs 1000] [--tasks 600] [--only DevAI] [--table]

Each run may buy 1,536 tasks, or those named. "wrong" is the share of runs with any claim that is false. "fixed" spends
as many calls on one sample of all cells, with simultaneous 95% intervals; "peeking" looks at the same counts with plain
95% intervals.
The bias of the estimates at the end is their mean error over runs in standard errors (the standard deviation over runs
of the estimates as bought or as corrected, whichever is smaller), with the luck of the tasks drawn taken off: its root
mean square over the questions, less what chance adds to it, and its largest; beside that the largest that chance alone
stays under in 95% of such benchmarks. Results are kept in results/sequential.json; --table prints them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import binomtest

import polyjudge as pj
from polyjudge.questions.plan.sequential import Sequential, run_rule, simultaneous

TASKS, LANGUAGES, JUDGES = 1536, 3, 4
TOGETHER = 50
"""Runs that share a seed of their resamples."""
ORDERS = 100
"""Orders behind each corrected estimate: few, since their noise cancels over runs."""
RESULTS = Path(__file__).with_name("results") / "sequential.json"
Draw = Callable[[np.random.Generator], np.ndarray]
ORDER = np.linspace(-4, 4, JUDGES)
CLUSTER = 8
INTEGER = np.array([3.0, 3.05, 3.3, 3.8])
PASSES = np.array([0.03, 0.03, 0.06, 0.15])
LEVEL, FAILS = np.array([60.0, 60.0, 57.0, 62.0]), np.array([0.04, 0.0, 0.0, 0.04])


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
    return np.clip(np.round(INTEGER + rng.normal(0, 0.8, _shape(1, 1)) + rng.normal(0, 0.7, _shape())), 1, 5)


def binary(rng: np.random.Generator) -> np.ndarray:
    return 100.0 * (rng.random(_shape()) < PASSES)


def rare(rng: np.random.Generator) -> np.ndarray:
    return 100.0 * (rng.random(_shape()) < 0.02)


def floored(rng: np.random.Generator) -> np.ndarray:
    score = LEVEL + rng.normal(0, 4, _shape()) + rng.normal(0, 6, _shape(1, 1))
    return np.where(rng.random(_shape()) < FAILS, 0.0, score)


def clustered(rng: np.random.Generator) -> np.ndarray:
    shared = rng.normal(0, 6, (TASKS // CLUSTER, LANGUAGES, JUDGES)).repeat(CLUSTER, axis=0)
    return 50 + ORDER / 2 + shared + rng.normal(0, 12, _shape())


_ABOVE = ndtr((INTEGER - np.arange(1.5, 5)[:, None]) / np.hypot(0.8, 0.7))  # chance to be rounded above 1, 2, 3, 4
SCENARIOS: dict[str, tuple[Draw, np.ndarray, float, int]] = {
    "no difference": (null, np.zeros(JUDGES), 3.0, 0),
    "heavy tails (t, 2.5 degrees of freedom)": (heavy, ORDER, 3.0, 0),
    "opposite exponential skew": (skewed, np.zeros(JUDGES), 3.0, 0),
    "integers 1 to 5": (integer, 1 + _ABOVE.sum(axis=0), 0.12, 0),
    "pass or fail": (binary, 100 * PASSES, 3.0, 0),
    "rare passes (2%)": (rare, np.zeros(JUDGES), 3.0, 0),
    "some scores at the floor": (floored, (1 - FAILS) * LEVEL, 3.0, 0),
    "clusters of 8": (clustered, ORDER / 2, 3.0, CLUSTER),
}
"""How scores are drawn, the judges' true means (in every language), what matters, tasks in a cluster."""


def wrong(claims: np.ndarray, truth: np.ndarray, matters: float) -> np.ndarray:
    """Which claims are false."""
    zero = 1e-9
    return (
        ((claims == "above") & (truth <= zero))
        | ((claims == "below") & (truth >= -zero))
        | ((claims == "tied") & (np.abs(truth) > matters + zero))
    )


def claims_of(centre: np.ndarray, half: np.ndarray, matters: float) -> np.ndarray:
    found = np.where(np.abs(centre) > half, np.where(centre > 0, "above", "below"), "open")
    return np.where((found == "open") & (np.abs(centre) + half < matters), "tied", found)


def peek(rule: Sequential, values: np.ndarray) -> np.ndarray:
    """Claims of someone who looks as often and takes plain 95% intervals."""
    claims = np.full(values.shape[1], "open")
    for n in rule.looks:
        part = values[:n]
        half = stdtrit(n - 1, 0.975) * part.std(axis=0, ddof=1) / np.sqrt(n)
        claims = np.where(claims == "open", claims_of(part.mean(axis=0), half, rule.matters), claims)
    return claims


def fixed(rule: Sequential, values: np.ndarray, share: float, codes: np.ndarray | None) -> np.ndarray:
    """Claims from one sample of all cells that costs as much as the adaptive run."""
    n = max(2, round(share * len(values)))
    centre, se, critical = simultaneous(values[:n], None if codes is None else codes[:n], 1 - rule.level, 300, 1)
    return claims_of(centre, critical * se, rule.matters)


def _bias(errors: np.ndarray, known: np.ndarray) -> dict[str, float]:
    """Root mean square and largest bias over the questions, in standard errors, and how large chance makes the largest.

    errors : (runs, questions) in standard errors
    known : (runs, questions, looks) errors of the means of all tasks up to each look, bought or not: they average 0, so
        what they explain of the errors is taken off (control variates)
    """
    bias, parts = [], []
    for error, means in zip(errors.T, known.transpose(1, 0, 2), strict=True):
        design = np.column_stack([np.ones(len(error)), means])
        solve = np.linalg.pinv(design)
        found = solve @ error
        bias.append(found[0])
        parts.append(solve[0] * (error - design @ found))
    part = np.stack(parts, axis=1) * np.sqrt(len(errors) / (len(errors) - known.shape[2] - 1))
    largest = np.abs(np.random.default_rng(5).standard_normal((2000, len(part))) @ part).max(axis=1)
    return {
        "rms": round(float(np.sqrt(max(0.0, np.mean(np.square(bias) - (part**2).sum(axis=0))))), 4),
        "largest": round(float(np.abs(bias).max()), 4),
        "largest_by_chance": round(float(np.quantile(largest, 0.95)), 4),
    }


def measure(draw: Draw, truth: np.ndarray, matters: float, cluster: int, runs: int) -> dict[str, Any]:
    k, m = truth.shape
    names = {"languages": tuple(f"l{i}" for i in range(k)), "judges": tuple(f"j{i}" for i in range(m))}
    codes = np.arange(TASKS) // cluster if cluster else None
    rule = Sequential(**names, tasks=TASKS, matters=matters)
    true = rule.values(truth[None])[0]
    rows: list[tuple[float, ...]] = []
    errors: list[list[np.ndarray]] = [[], []]
    known: list[np.ndarray] = []
    counts = np.array(rule.looks)[:, None]
    begun = time.process_time()
    for r in range(runs):
        s = draw(np.random.default_rng([21, r]))
        replay = run_rule(replace(rule, seed=100 * (r // TOGETHER)), s, codes)
        values = rule.values(s)
        claims = np.array(replay.state.verdict)
        once, peeked = fixed(rule, values, replay.share, codes), peek(rule, values)
        false = [wrong(c, true, matters).any() for c in (claims, once, peeked)]
        rows.append((*false, replay.share, (claims != "open").mean(), (once != "open").mean()))
        known.append((values.cumsum(axis=0)[counts[:, 0] - 1] / counts - true).T)
        errors[0].append(replay.differences()[0] - true)
        errors[1].append(replay.unbiased(runs=ORDERS)[0] - true)
    se = np.min(np.std(errors, axis=1, ddof=1), axis=0)
    bias = {
        name: _bias(np.array(e) / se, np.array(known)) for name, e in zip(("bias_plain", "bias"), errors, strict=True)
    }
    columns = ("wrong", "wrong_fixed", "wrong_peeking", "share", "settled", "settled_fixed")
    return {
        "runs": runs,
        "matters": matters,
        **dict(zip(columns, np.mean(rows, axis=0).round(4).tolist(), strict=True)),
        **bias,
        "cpu_seconds": round(time.process_time() - begun, 1),
    }


def table(out: dict[str, Any]) -> str:
    """The results for docs/adaptive.md."""
    head = "| scores | wrong [95% interval] | bought | settled | peeking: wrong | largest bias (by chance) |"
    lines = [head, "|" + "---|" * 6]
    for name, r in out.items():
        low, high = binomtest(round(r["wrong"] * r["runs"]), r["runs"]).proportion_ci(method="wilson")
        lines.append(
            f"| {name} | {r['wrong']:.1%} [{low:.1%}, {high:.1%}] | {r['share']:.0%} | {r['settled']:.0%} | "
            f"{r['wrong_peeking']:.0%} | {r['bias']['largest']:.2f} ({r['bias']['largest_by_chance']:.2f}) |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--scores", type=Path, default=Path("../shared/data/devai/run_level_scores.csv"))
    parser.add_argument("--only", default="")
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    size = "" if options.tasks == TASKS else f", {options.tasks:,} tasks"
    globals()["TASKS"] = options.tasks
    out: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.table:
        print(table(out))
        return
    jobs: dict[str, tuple[Draw, np.ndarray, float, int]] = {
        name: (draw, np.tile(means, (LANGUAGES, 1)), matters, cluster)
        for name, (draw, means, matters, cluster) in SCENARIOS.items()
    }
    if options.scores.exists():
        scores = pj.read_panel(options.scores, replicate="framework").scores
        for matters in (2.0, 3.0, 5.0):
            draw = lambda rng: scores[rng.integers(len(scores), size=TASKS)]  # noqa: E731
            jobs[f"DevAI, {matters:g} points"] = (draw, scores.mean(axis=0), matters, 0)
    for name, job in jobs.items():
        if options.only in name:
            found = measure(*job, options.runs)
            print(name + size, json.dumps(found), flush=True)
            out = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            out[name + size] = found
            order = sorted(out, key=lambda n: n.endswith("tasks"))
            RESULTS.write_text(json.dumps({n: out[n] for n in order}, indent=1) + "\n")


if __name__ == "__main__":
    main()
