"""Where people wait: one table of work, reference, ratio, growth and peak memory.

    python benchmarks/bench.py                  # everything, on an idle machine (about half an hour)
    python benchmarks/bench.py --only start wmt22
    python benchmarks/bench.py --quick          # smaller sizes, to see that it runs

Seconds are of the processor, of a whole program with all its threads, the least of three runs. A reference is a plain
program that imports only what it uses: DuckDB and one query. Growth is the slope of log seconds on log size between the
two largest sizes, in one warm process, where fixed costs no longer count. Limits are of ratios and exponents, never of
seconds. Results: benchmarks/results/bench.csv.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
SHARED = Path(os.environ.get("POLYJUDGE_SHARED", Path(__file__).parents[2] / "shared")) / "data"
CLOCKED = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": done.returncode, "wall": time.perf_counter() - begun, "cpu": used.ru_utime + used.ru_stime,
                  "mb": used.ru_maxrss / 1024, "error": done.stderr[-1500:].decode(errors="replace")}))
"""
PLAIN = "import duckdb, sys; duckdb.sql(sys.argv[1]).fetchall()"
"""The reference: a query in DuckDB, as a program."""
WARM = """
import json, resource, sys, time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from polyjudge.cli import main

def run(argv):
    sys.argv = ["polyjudge", *argv]
    begun = time.process_time()
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
            main()
    except SystemExit as end:
        if end.code not in (0, 1, None):
            raise SystemExit(said.getvalue()[-1500:])
    return time.process_time() - begun

small, large = json.loads(sys.argv[1])
run(small)
spent = min(run(large) for _ in range(2))
print(json.dumps({"cpu": spent, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. `limit` is of the ratio, or of the exponent where there is no reference."""

    work: str
    seconds: float
    reference: str = ""
    reference_seconds: float | None = None
    exponent: float | None = None
    peak_mb: float = 0.0
    limit: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the reference."""
        return None if not self.reference_seconds else self.seconds / self.reference_seconds

    @property
    def kept(self) -> bool:
        """Whether the limit holds, where there is one."""
        value = self.ratio if self.reference else self.exponent
        return self.limit is None or value is None or value <= self.limit


def clocked(*command: str, repeat: int = 3) -> dict[str, float]:
    """The least processor time of a command over some runs, and its largest memory."""
    found: list[dict[str, Any]] = []
    for _ in range(repeat):
        done = subprocess.run([sys.executable, "-c", CLOCKED, *command], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
        if found[-1]["code"] not in (0, 1):
            raise SystemExit(f"{' '.join(command)[:200]} ended with {found[-1]['code']}: {found[-1]['error']}")
    return {"cpu": min(f["cpu"] for f in found), "mb": max(f["mb"] for f in found)}


def against(work: str, argv: list[str], query: str, limit: float | None, repeat: int = 3) -> Row:
    """A command of polyjudge beside a plain query over the same file."""
    ours = clocked(sys.executable, "-m", "polyjudge", *argv, repeat=repeat)
    plain = clocked(sys.executable, "-c", PLAIN, query, repeat=repeat)
    said = "GROUP BY" if "GROUP BY" in query else "COPY" if "COPY" in query else "query"
    return Row(
        work=work,
        seconds=ours["cpu"],
        reference=f"plain {said}",
        reference_seconds=plain["cpu"],
        peak_mb=ours["mb"],
        limit=limit,
    )


def grouped(path: Path, system: str = "") -> str:
    """The plain question behind an audit: the mean of every task in every cell."""
    keys = ", ".join(x for x in ("task", system, "language", "judge") if x)
    return f"SELECT {keys}, sum(score), count(*) FROM '{path}' GROUP BY ALL"


def sample(folder: Path) -> Path:
    path = folder / "scores.csv"
    subprocess.run([sys.executable, "-m", "polyjudge", "demo", "--write", str(path)], check=True, capture_output=True)
    return path


def start(folder: Path, quick: bool) -> Iterator[Row]:
    """What a user waits for first."""
    path = sample(folder)
    query = f"SELECT count(*) FROM '{path}'"
    yield against("check, sample of 7,920 scores", ["check", str(path)], query, None)
    yield against("audit, sample of 7,920 scores", ["audit", str(path)], query, None)
    yield against(
        "audit with page, sample", ["audit", str(path), "-o", str(folder / "page"), "--overwrite"], query, None
    )
    size = (folder / "page" / "report.html").stat().st_size / 2**20
    print(f"  the page has {size:.2f} MB")


def wmt22(folder: Path, quick: bool) -> Iterator[Row]:
    """The released scores of GEMBA."""
    path = SHARED / "gemba" / "wmt22_da.csv.gz"
    if not path.is_file():
        print("  wmt22: no released scores here (POLYJUDGE_SHARED)")
        return
    query = f"SELECT segment, system, language, judge, sum(score), count(*) FROM '{path}' GROUP BY ALL"
    yield against("audit, WMT22, 285,180 scores", ["audit", str(path)], query, 6.0)


def wmt25(folder: Path, quick: bool) -> Iterator[Row]:
    """A panel of the shape of WMT25: 384 tasks x 26 systems x 28 languages x 2 judges, 12.6% of the tasks missing."""
    import numpy as np

    import polyjudge as pj

    frame = pj.simulate_panel(tasks=384, languages=28, judges=2, systems=26, seed=25)[0].to_long()
    rng = np.random.default_rng(25)
    tasks, languages = frame["task"].unique(), frame["language"].unique()
    gone = {(t, x) for x in languages for t in rng.choice(tasks, round(0.126 * len(tasks)), replace=False)}
    keep = [pair not in gone for pair in zip(frame["task"], frame["language"], strict=True)]
    path = folder / "wmt25.csv"
    frame[keep].to_csv(path, index=False)
    yield against("audit, shape of WMT25, 489,000 scores", ["audit", str(path)], grouped(path, "system"), 20.0)


def rows_file(path: Path, millions: float) -> Path:
    """Scores of tasks x 8 languages x 6 judges as a run produces them, made in the engine."""
    import duckdb

    con = duckdb.connect()
    con.execute("SET memory_limit = '2GB'")
    con.execute(
        f"""COPY (SELECT 'task' || lpad(t::VARCHAR, 8, '0') AS task, 'language ' || l AS language,
        'judge ' || j AS judge, round(50 + 10 * sin(t * 1.7) + 5 * cos(l * j + 1)
        + 20 * ((hash(t * 48 + l * 6 + j) % 1000003) / 1000003.0 - 0.5), 1) AS score
        FROM range(6) a(j), range(8) b(l), range({round(millions * 1e6 / 48)}) d(t)) TO '{path}' (FORMAT parquet)"""
    )
    return path


def large(folder: Path, quick: bool) -> Iterator[Row]:
    """Ten million rows, read and audited, and written back calibrated."""
    millions = 2 if quick else 10
    path = rows_file(folder / "large.parquet", millions)
    yield against(f"audit, {millions} M rows", ["audit", str(path)], grouped(path), 2.5, repeat=2)
    cal, out = folder / "cal.json", folder / "out.parquet"
    small = rows_file(folder / "small.parquet", 0.005)
    fit = [sys.executable, "-m", "polyjudge", "calibrate", str(small), "--save", str(cal), "--overwrite"]
    subprocess.run(fit, check=True, capture_output=True)
    copy = f"COPY (SELECT * FROM '{path}') TO '{folder / 'copy.parquet'}' (FORMAT parquet, COMPRESSION zstd)"
    yield against(
        f"apply, {millions} M rows", ["apply", str(cal), str(path), "-o", str(out), "--overwrite"], copy, 2.5, 2
    )


def btl(folder: Path, quick: bool) -> Iterator[Row]:
    """Bradley-Terry on grouped counts beside evalica's on the same rows."""
    from benchmarks.btl import ratio

    ours, theirs = ratio(100 if quick else 1000)
    yield Row(work="Bradley-Terry, 1,000 resamples x 7 languages, by fit", seconds=ours, reference="SciPy's BFGS",
              reference_seconds=theirs, limit=0.2)  # fmt: skip


AXES = ("tasks", "systems", "languages", "judges")
BASE = {"tasks": 150, "systems": 4, "languages": 4, "judges": 4}
COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "check": lambda path: ["check", path],
    "audit": lambda path: ["audit", path, "--resamples", "200"],
    "systems": lambda path: ["systems", path, "--resamples", "200"],
    "compare": lambda path: ["compare", path, "--resamples", "200"],
    "judges": lambda path: ["judges", path],
    "calibrate": lambda path: ["calibrate", path, "--save", path + ".json", "--overwrite"],
}
MOST = 1.2


def growth(folder: Path, quick: bool) -> Iterator[Row]:
    """How the time of commands grows with each axis: made 4 and 8 times as long (judges and languages 2 and 4)."""
    import polyjudge as pj

    def written(**size: int) -> str:
        path = folder / f"{'-'.join(f'{k}{v}' for k, v in size.items())}.parquet"
        if not path.exists():
            pj.simulate_panel(**size, seed=3)[0].to_long().to_parquet(path)
        return str(path)

    tiny = written(tasks=20, systems=2, languages=2, judges=3)
    for name, command in COMMANDS.items():
        for axis in AXES:
            factors = (2, 4) if axis in ("languages", "judges") or quick else (8, 16)
            spent = []
            for factor in factors:
                argv = json.dumps([command(tiny), command(written(**{**BASE, axis: BASE[axis] * factor}))])
                done = subprocess.run([sys.executable, "-c", WARM, argv], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{name} by {axis}: {done.stderr[-1500:]}")
                spent.append(json.loads(done.stdout.splitlines()[-1]))
            slope = math.log(spent[1]["cpu"] / spent[0]["cpu"]) / math.log(factors[1] / factors[0])
            yield Row(
                work=f"{name} by {axis}", seconds=spent[1]["cpu"], exponent=slope, peak_mb=spent[1]["mb"], limit=MOST
            )


def absent(folder: Path, quick: bool) -> Iterator[Row]:
    """Reading where most systems are absent from most tasks."""
    import numpy as np

    import polyjudge as pj

    seconds = {}
    for tasks in (400, 800) if quick else (1000, 4000):
        frame = pj.simulate_panel(tasks=tasks, systems=24, languages=6, judges=3, seed=5)[0].to_long()
        shown = np.random.default_rng(5).random((tasks, 24)) < 0.35
        codes = frame["task"].factorize()[0], frame["system"].factorize()[0]
        path = folder / f"absent-{tasks}.parquet"
        frame[shown[codes]].to_parquet(path)
        argv = json.dumps([["check", str(path)], ["check", str(path)]])
        done = subprocess.run([sys.executable, "-c", WARM, argv], capture_output=True, text=True, check=True)
        seconds[tasks] = json.loads(done.stdout.splitlines()[-1]) | {"rows": int(shown[codes].sum())}
    (_, a), (_, b) = seconds.items()
    slope = math.log(b["cpu"] / a["cpu"]) / math.log(b["rows"] / a["rows"])
    yield Row(work=f"read, {b['rows']:,} rows, two of three systems absent", seconds=b["cpu"], exponent=slope,
              peak_mb=b["mb"], limit=MOST)  # fmt: skip


PARTS: dict[str, Callable[[Path, bool], Iterator[Row]]] = {
    f.__name__: f for f in (start, wmt22, wmt25, large, btl, growth, absent)
}


def show(rows: list[Row]) -> str:
    """The table as text."""
    lines = [f"{'work':<58}{'seconds':>9}  {'reference':<15}{'ratio':>7}{'exponent':>10}{'peak MB':>9}  limit"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
        exponent = "" if row.exponent is None else f"{row.exponent:.2f}"
        limit = "" if row.limit is None else f"{row.limit:g}" + ("" if row.kept else "  MISSED")
        lines.append(
            f"{row.work:<58}{row.seconds:>9.2f}  {row.reference:<15}{ratio:>7}{exponent:>10}"
            f"{row.peak_mb:>9.0f}  {limit}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    rows: list[Row] = []
    for part in given.only:
        with tempfile.TemporaryDirectory() as folder:
            for row in PARTS[part](Path(folder), given.quick):
                rows.append(row)
                print(show([row]).splitlines()[1], flush=True)
    print("\n" + show(rows))
    if not given.quick:
        import pandas as pd

        RESULTS.mkdir(exist_ok=True)
        pd.DataFrame([asdict(row) | {"ratio": row.ratio, "kept": row.kept} for row in rows]).round(3).to_csv(
            RESULTS / "bench.csv", index=False
        )
    missed = [row.work for row in rows if not row.kept]
    if missed:
        raise SystemExit(f"over their limit: {', '.join(missed)}")


if __name__ == "__main__":
    main()
