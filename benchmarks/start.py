"""How long a user waits before anything happens, as ratios of what is measured beside it.

    python benchmarks/start.py

`polyjudge --help` against importing numpy, both as fresh processes (limit: 3 times); the estimate of a preference-sized
panel with 35 holes (limit: one second); what `polyjudge audit` loads, DuckDB included, before it works (one second of
processor time, the best of five).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np

import polyjudge as pj
from polyjudge.estimate.incomplete import estimate_interaction


def seconds(*args: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *args], check=True, capture_output=True)
    return time.perf_counter() - start


AUDIT = """
import resource
from polyjudge.cli import main
from polyjudge.questions.audit.audit import audit
from polyjudge.questions.emit import emit
from polyjudge.read import read_panel
from polyjudge.read.duck import connect
connect().sql("SELECT 1").fetchall()
spent = resource.getrusage(resource.RUSAGE_SELF)
print(spent.ru_utime + spent.ru_stime)
"""


def used(code: str) -> float:
    """What a program prints, in a process of its own."""
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main() -> None:
    pairs = [(seconds("-m", "polyjudge", "--help"), seconds("-c", "import numpy")) for _ in range(7)]
    ratio = statistics.median(h / n for h, n in pairs)
    print(f"--help takes {ratio:.2f} times as long as importing numpy (limit 3)")
    own = min(used(AUDIT) for _ in range(5))
    print(f"what polyjudge audit loads before it works: {own:.2f} s of processor time (limit 1 s)")
    scores = pj.simulate_panel(1500, 7, 5, seed=0)[0].scores.copy()
    scores.reshape(-1)[np.random.default_rng(0).choice(scores.size, 35, replace=False)] = np.nan
    holed = pj.Panel.from_array(scores)
    start = time.perf_counter()
    estimate_interaction(holed).se  # noqa: B018
    took = time.perf_counter() - start
    print(f"1,500 x 7 x 5 with 35 holes: {took:.2f} s (limit 1 s)")
    sys.exit(int(ratio > 3 or took > 1 or own > 1))


if __name__ == "__main__":
    main()
