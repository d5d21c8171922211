"""Whole audits as a user runs them, each beside a plain GROUP BY of the same rows in the same run; and their memory.

    python benchmarks/audit.py [--quick] [SCORES]

Small: 55 tasks x 8 languages x 6 judges x 3 replicates (or SCORES) with all details and a gate, at most 5 seconds, and
its page at most 1.5 seconds more.
WMT22: the released scores where they are at hand, else their shape, 2,037 tasks x 14 systems x 2 x 5, with report, at
most 15 seconds. WMT25: a made panel of 384 tasks x 26 systems x 28 x 2, 12.6% of the tasks missing in each language,
with report, at most 30 seconds and 1.5 GB. Limits are of processor time, because machines are shared; wall time is
shown beside it. Memory: an audit of 10 million scores takes at most 4 times their array beside it (`--quick`: 2
million, without a limit, because fixed parts weigh more).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import polyjudge as pj

CLOCKED = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": done, "wall": time.perf_counter() - begun, "cpu": used.ru_utime + used.ru_stime,
                  "mb": used.ru_maxrss / 1024}))
"""
GROUPED = """
import sys
from polyjudge.read.duck import connect
connect().sql(f"SELECT task, language, judge, sum(score), count(*) FROM '{sys.argv[1]}' GROUP BY ALL").fetchall()
"""
MOST_MB = 1500
MOST = 4.0
"""Memory of an audit beside its panel, in panel arrays."""


def clocked(*command: str) -> dict[str, Any]:
    """Wall and processor seconds and peak memory of a command in processes of its own."""
    done = subprocess.run([sys.executable, "-c", CLOCKED, *command], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    if found["code"] != 0:
        raise SystemExit(f"{' '.join(command)} ended with {found['code']}: {done.stderr[-2000:]}")
    return found


def measure(name: str, frame: pd.DataFrame, folder: Path, options: list[str], seconds: float) -> float | None:
    """Audits the frame as a file. Returns the processor time, or None when it missed a limit."""
    path = folder / f"{name}.parquet"
    frame.to_parquet(path)
    polyjudge = [sys.executable, "-m", "polyjudge", "audit", str(path), *options]
    audit, plain = clocked(*polyjudge), clocked(sys.executable, "-c", GROUPED, str(path))
    print(
        f"{name}: {len(frame):,} scores, {audit['wall']:.1f} s, {audit['cpu']:.1f} s of processor time (limit "
        f"{seconds:g}), {audit['mb']:.0f} MB; {audit['cpu'] / plain['cpu']:.1f} times a plain GROUP BY as a program of "
        f"its own ({plain['cpu']:.1f} s)",
        flush=True,
    )
    return float(audit["cpu"]) if audit["cpu"] <= seconds and audit["mb"] <= MOST_MB else None


def wmt22() -> pd.DataFrame:
    """The released scores, or a panel of their shape."""
    path = Path(os.environ.get("POLYJUDGE_SHARED", "../shared")) / "data" / "gemba" / "wmt22_da.csv.gz"
    if path.is_file():
        return pj.read_panel(path).to_long()
    return pj.simulate_panel(tasks=2037, languages=2, judges=5, systems=14, seed=22)[0].to_long()


def wmt25() -> pd.DataFrame:
    """A panel of the shape of WMT25: whole tasks are missing, other ones in each language."""
    frame = pj.simulate_panel(tasks=384, languages=28, judges=2, systems=26, seed=25)[0].to_long()
    rng = np.random.default_rng(25)
    tasks, languages = frame["task"].unique(), frame["language"].unique()
    gone = {(t, x) for x in languages for t in rng.choice(tasks, round(0.126 * len(tasks)), replace=False)}
    keep = [pair not in gone for pair in zip(frame["task"], frame["language"], strict=True)]
    return frame[keep].reset_index(drop=True)


def memory(scores: float) -> float:
    """Peak memory of `pj.audit` beside its panel, in arrays of the panel."""
    pj.audit(pj.simulate_panel(60, 3, 3, seed=1)[0], resamples=100)
    panel = pj.simulate_panel(round(scores / 100), 10, 10, seed=3)[0]
    tracemalloc.start()
    pj.audit(panel)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(
        f"{panel.n_scores:,} scores in memory: the audit takes {peak / panel.scores.nbytes:.1f} times their array of "
        f"{panel.scores.nbytes / 2**20:.0f} MB beside it"
    )
    return peak / panel.scores.nbytes


def main() -> None:
    quick = "--quick" in sys.argv
    given = [a for a in sys.argv[1:] if a != "--quick"]
    small = (
        pj.read_panel(given[0]) if given else pj.simulate_panel(55, 8, 6, 3, 1, scale="fractions", steps=20, mean=25)[0]
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = [measure("small", small.to_long(), folder, ["--full", "--at", "25", "--json"], 5.0)]
        page = measure("page", small.to_long(), folder, ["--full", "--at", "25", "-o", str(folder / "page")], 6.5)
        print(f"writing the page takes {(page or np.nan) - (kept[0] or np.nan):.1f} s of that (limit 1.5 s)")
        kept.append(page if page and kept[0] and page - kept[0] <= 1.5 else None)
        kept.append(measure("wmt22", wmt22(), folder, ["-o", str(folder / "wmt22")], 15.0))
        kept.append(measure("wmt25", wmt25(), folder, ["-o", str(folder / "wmt25")], 30.0))
    took = memory(2e6 if quick else 1e7)
    if None in kept or (took > MOST and not quick):
        raise SystemExit("an audit misses its limit")


if __name__ == "__main__":
    main()
