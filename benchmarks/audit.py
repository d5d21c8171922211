"""Time of one whole audit, with 500 permutations of the information estimate and a gate.

    python benchmarks/audit.py [SCORES]

Without a file: a simulated panel of 55 tasks x 8 languages x 6 judges x 3 replicates. Limit: 5 seconds on two cores,
from the start of the command to its end; processor time is shown beside it, because machines are shared. A larger
panel (5,000 tasks x 12 languages x 20 judges) is audited for comparison, without a limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polyjudge as pj

LIMIT = 5.0


def command(path: str) -> tuple[float, float]:
    """Wall and processor seconds of `polyjudge audit` in a process of its own."""
    wall, before = time.perf_counter(), os.times()
    arguments = [sys.executable, "-m", "polyjudge", "audit", path, "--at", "25", "--json"]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - wall, used


def call(panel: pj.Panel) -> tuple[float, float]:
    wall, used = time.perf_counter(), time.process_time()
    pj.audit(panel, threshold=25)
    return time.perf_counter() - wall, time.process_time() - used


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 1:
            path = sys.argv[1]
        else:
            path = str(Path(folder) / "scores.csv")
            panel, _ = pj.simulate_panel(55, 8, 6, 3, 1, scale="fractions", steps=20, mean=25)
            panel.to_long().to_csv(path, index=False)
        runs = [command(path) for _ in range(3)]
        wall, used = min(runs)
        print(f"polyjudge audit: {wall:.2f} s, {used:.2f} s of processor time (best of 3; limit {LIMIT:g} s)")
        panel = pj.read_panel(path)
    inside = min(call(panel) for _ in range(3))
    print(f"pj.audit alone: {inside[0]:.2f} s, {inside[1]:.2f} s of processor time")
    large, _ = pj.simulate_panel(5000, 12, 20, seed=1)
    print("5,000 x 12 x 20: {:.2f} s, {:.2f} s of processor time".format(*call(large)))
    if min(used for _, used in runs) > LIMIT:
        raise SystemExit("the audit misses its limit")


if __name__ == "__main__":
    main()
