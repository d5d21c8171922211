"""Speed and memory of the held-out engine, against a plain reference in the same process.

    python benchmarks/held_out.py [SCORES] [--quick]

Prints Markdown tables. SCORES defaults to a simulated panel of DevAI's shape (55 tasks, 8 languages, 6 judges, 3
resamples). The plain reference is tests/plain_held_out.py: pandas group-by and scipy's kendalltau, one resample at a
time; it is timed on a few resamples and scaled.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import polyjudge as pj
from polyjudge.estimate.kernels import draw_block
from polyjudge.paper.methods import ORDER

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from plain_held_out import plain_taus


def best_of(what: Callable[[], object], times: int) -> tuple[float, float]:
    """Shortest of some runs, in seconds of the clock and of the processor: other work only ever adds to them."""
    out = []
    for _ in range(times):
        clock, cpu = time.perf_counter(), time.process_time()
        what()
        out.append((time.perf_counter() - clock, time.process_time() - cpu))
    return min(o[0] for o in out), min(o[1] for o in out)


def small(panel: pj.Panel, plain_resamples: int) -> None:
    n, k, m = panel.shape
    pair = ["raw", "cbc"]
    draws = draw_block(n, plain_resamples, 7, 0)
    pj.compare(panel, pair, resamples=64)  # imports and caches
    fast = best_of(lambda: pj.compare(panel, pair, resamples=1000), 20)
    slow = [t / plain_resamples * 1000 for t in best_of(lambda: plain_taus(panel, pair, draws), 2)]
    print(f"\n{n} tasks x {k} languages x {m} judges, 1,000 resamples\n")
    print("| what | seconds | of the processor | ratio of these |\n|---|---:|---:|---:|")
    print(f"| plain reference, raw + CBC ({plain_resamples} resamples, scaled) | {slow[0]:.1f} | {slow[1]:.1f} | 1 |")
    print(f"| compare, raw + CBC | {fast[0]:.3f} | {fast[1]:.3f} | {slow[1] / fast[1]:,.0f} |")
    calls: dict[str, Callable[[], object]] = {"compare, all methods": lambda: pj.compare(panel, ORDER)}
    calls |= {f"compare, {name}": lambda name=name: pj.compare(panel, name) for name in ORDER}
    calls |= {c.__name__: lambda c=c: c(panel) for c in (pj.unseen_language, pj.unseen_judge, pj.decisions)}
    for what, call in calls.items():
        clock, cpu = best_of(call, 3)
        print(f"| {what} | {clock:.3f} | {cpu:.3f} | |")


def large(tasks: int) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak memory in GB of raw + CBC on tasks x 20 x 20 with 1,000 resamples."""
    panel = pj.Panel.from_array(np.random.default_rng(0).normal(50, 10, (tasks, 20, 20)))
    pj.compare(panel, ["raw", "cbc"], resamples=64)
    clock, cpu = best_of(lambda: pj.compare(panel, ["raw", "cbc"], resamples=1000), 3)
    return clock, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def growth(sizes: list[int]) -> None:
    print("\nraw + CBC, 20 languages x 20 judges, 1,000 resamples; each size in a process of its own\n")
    print("| tasks | seconds | of the processor | microseconds of it per task | peak memory, GB |")
    print("|---:|---:|---:|---:|---:|")
    results = []
    for n in sizes:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            clock, cpu, memory = pool.apply(large, (n,))
        results.append(cpu)
        print(f"| {n:,} | {clock:.2f} | {cpu:.2f} | {cpu / n * 1e6:.0f} | {memory:.2f} |", flush=True)
    power = np.polyfit(np.log(sizes), np.log(results), 1)[0]
    print(f"\nProcessor time grows as tasks to the power {power:.2f}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", nargs="?")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    options = parser.parse_args()
    threads = os.environ.get("OMP_NUM_THREADS", "default")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores, threads {threads}")
    panel = pj.read_panel(options.scores) if options.scores else pj.simulate_panel(replicates=3, scale="fractions")[0]
    small(panel, 4 if options.quick else 20)
    growth([500, 1000, 2000] if options.quick else [2500, 5000, 10_000, 20_000, 40_000])


if __name__ == "__main__":
    main()
