"""Where people wait: one table of work, reference, ratio, growth and peak memory.

    python benchmarks/bench.py                  # everything, on an idle machine (10 to 12 minutes)
    python benchmarks/bench.py --only start wmt22
    python benchmarks/bench.py --quick          # smaller sizes, to see that it runs

Seconds are of the processor, of a whole program with all its threads and children, the median of runs in turns with
those of the reference; of collecting and of a cluster, on the clock. A reference is a plain program that imports only
what it uses: DuckDB and one query whose answer stays in the engine. Growth is the slope of log seconds (log megabytes
above those of a tiny panel) on log size from one size to its double, in a warm process. Limits are of ratios and
exponents, never of seconds. A run of everything writes benchmarks/results/bench.csv and the table of docs/large.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Programs run as installed ones do: compiled once."""
ALONE = {**INSTALLED, "OPENBLAS_NUM_THREADS": "1"}
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
PLAIN = "import duckdb, sys; duckdb.execute(sys.argv[1])"
"""The reference: a query in DuckDB, as a program."""
BARE = """
import duckdb, numpy, pandas, scipy.special, sys, typer
def read(path: str): duckdb.sql(f"SELECT * FROM '{path}'").df()
app = typer.Typer(); app.command()(read); app()
"""
"""The least that a program on these libraries takes: load them, read the file, end."""
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

def peak():
    try:  # of this program alone: what getrusage says begins with the peak of the one that started it
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

small, large = json.loads(sys.argv[1])
run(small)
begun = peak()
spent = run(large)
spent = min(spent, run(large)) if spent < 1.5 else spent
print(json.dumps({"cpu": spent, "mb": peak(), "own": peak() - begun}))
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. `limit` is of the ratio, or of the exponent where there is no reference."""

    work: str
    seconds: float
    reference: str = ""
    reference_seconds: float | None = None
    exponent: float | None = None
    memory: float | None = None
    """Exponent of memory."""
    peak_mb: float = 0.0
    limit: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the reference."""
        return None if not self.reference_seconds else self.seconds / self.reference_seconds

    @property
    def kept(self) -> bool:
        """Whether the limit holds, where there is one."""
        values = [self.ratio] if self.reference else [self.exponent, self.memory]
        return self.limit is None or all(v is None or v <= self.limit for v in values)


def clocked(*command: str) -> dict[str, float]:
    """Processor time of a command with all its children, and its largest memory."""
    clock = [sys.executable, "-c", CLOCKED, *command]
    done = subprocess.run(clock, capture_output=True, text=True, check=True, env=INSTALLED)
    found: dict[str, Any] = json.loads(done.stdout)
    if found["code"] not in (0, 1):
        raise SystemExit(f"{' '.join(command)[:200]} ended with {found['code']}: {found['error']}")
    return found


def beside(work: list[str], reference: list[str], repeat: int) -> tuple[float, float, float]:
    """Median processor seconds of work and of its reference, run in turns: whatever else the machine does slows both;
    and the largest memory of the work."""
    found = [(clocked(*work), clocked(*reference)) for _ in range(repeat)]
    ours, plain = (median(pair[i]["cpu"] for pair in found) for i in (0, 1))
    return ours, plain, max(pair[0]["mb"] for pair in found)


def against(work: str, argv: list[str], query: str, limit: float | None, repeat: int = 5) -> Row:
    """A command of polyjudge beside a plain query over the same file."""
    program = [sys.executable, "-m", "polyjudge", *argv]
    ours, plain, mb = beside(program, [sys.executable, "-c", PLAIN, query], repeat)
    said = "COPY" if "COPY" in query else "GROUP BY" if "GROUP BY" in query else "query"
    return Row(work=work, seconds=ours, reference=f"plain {said}", reference_seconds=plain, peak_mb=mb, limit=limit)


def grouped(path: Path, system: str = "") -> str:
    """The plain question behind an audit: the mean of every task in every cell."""
    keys = ", ".join(x for x in ("task", system, "language", "judge") if x)
    return f"CREATE TABLE cells AS SELECT {keys}, sum(score), count(*) FROM '{path}' GROUP BY ALL"


def sample(folder: Path) -> Path:
    path = folder / "scores.csv"
    subprocess.run([sys.executable, "-m", "polyjudge", "demo", "--write", str(path)], check=True, capture_output=True)
    return path


def start(folder: Path, quick: bool) -> Iterator[Row]:
    """What a user waits for first, beside a query over the file; and the least that these libraries allow."""
    path = sample(folder)
    query = f"SELECT count(*) FROM '{path}'"
    bare = [sys.executable, "-c", BARE, str(path)]
    ours, plain, mb = beside(bare, [sys.executable, "-c", PLAIN, query], 5)
    yield Row(work="pandas, SciPy, DuckDB, Typer loaded, the file read", seconds=ours, reference="plain query",
              reference_seconds=plain, peak_mb=mb)  # fmt: skip
    yield against("check, sample of 7,920 scores", ["check", str(path)], query, None)
    yield against("audit, sample of 7,920 scores", ["audit", str(path)], query, None)
    page = folder / "page"
    row = against("audit with page, sample", ["audit", str(path), "-o", str(page), "--overwrite"], query, None)
    size = (page / "report.html").stat().st_size / 2**20
    yield replace(row, work=f"{row.work} ({size:.2f} MB)")
    yield from opened(page / "report.html")


OPENED = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    for _ in range(3):
        page = browser.new_page()
        page.goto("file://" + sys.argv[2])
        page.wait_for_function("document.querySelectorAll('svg').length > 0")
        print(page.evaluate("performance.now()") / 1000)
"""


def opened(page: Path) -> Iterator[Row]:
    """Seconds on the clock from asking for a page to its first chart."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        print("  no browser here: how soon a page opens is not measured")
        return
    done = subprocess.run([sys.executable, "-c", OPENED, path, str(page)], capture_output=True, text=True)
    if done.returncode:
        print(f"  the browser failed: {done.stderr[-300:]}")
        return
    yield Row(work="open the page, to its first chart", seconds=min(map(float, done.stdout.split())),
              reference="the second promised", reference_seconds=1.0, limit=1.0)  # fmt: skip


def one(folder: Path, quick: bool) -> Iterator[Row]:
    """Scores one at a time, as a server gets them, beside a subtraction of what a dictionary holds."""
    import timeit

    import polyjudge as pj

    panel = pj.sample_panel()
    calibrator = pj.ConsensusCalibrator().fit(panel)
    at = {"language": panel.languages[0], "judge": panel.judges[0]}
    known = {(x, j): 0.5 for x in panel.languages for j in panel.judges}
    count = 10_000 if quick else 100_000
    ours = min(timeit.repeat(lambda: calibrator.transform(62.0, **at), number=count, repeat=3, timer=time.process_time))
    plain = min(
        timeit.repeat(
            lambda: 62.0 - known[at["language"], at["judge"]], number=count, repeat=3, timer=time.process_time
        )
    )
    yield Row(work=f"one score at a time, {count:,} ({1e6 * ours / count:.1f} microseconds each)", seconds=ours,
              reference="a dictionary", reference_seconds=plain)  # fmt: skip


def wmt22(folder: Path, quick: bool) -> Iterator[Row]:
    """The released scores of GEMBA."""
    path = SHARED / "gemba" / "wmt22_da.csv.gz"
    if not path.is_file():
        print("  wmt22: no released scores here (POLYJUDGE_SHARED)")
        return
    query = grouped(path, "system").replace("task,", "segment,")
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
    yield against("audit, shape of WMT25, 489,000 scores", ["audit", str(path)], grouped(path, "system"), 20.0, 3)


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
    yield against(f"audit, {millions} M rows", ["audit", str(path)], grouped(path), 2.5, repeat=3)
    cal, out = folder / "cal.json", folder / "out.parquet"
    small = rows_file(folder / "small.parquet", 0.005)
    fit = [sys.executable, "-m", "polyjudge", "calibrate", str(small), "--save", str(cal), "--overwrite"]
    subprocess.run(fit, check=True, capture_output=True)
    copy = f"COPY (SELECT * FROM '{path}') TO '{folder / 'copy.parquet'}' (FORMAT parquet, COMPRESSION zstd)"
    yield against(
        f"apply, {millions} M rows", ["apply", str(cal), str(path), "-o", str(out), "--overwrite"], copy, 2.5, 3
    )


def btl(folder: Path, quick: bool) -> Iterator[Row]:
    """Bradley-Terry on grouped counts beside evalica's on the same rows."""
    from benchmarks.btl import ratio

    ours, theirs = ratio(100 if quick else 1000)
    yield Row(work="Bradley-Terry, 1,000 resamples x 7 languages, by fit", seconds=ours, reference="SciPy's BFGS",
              reference_seconds=theirs, limit=0.2)  # fmt: skip


AXES = ("tasks", "systems", "languages", "judges")
BASE = {"tasks": 150, "systems": 4, "languages": 4, "judges": 4}
RESAMPLES = ["--resamples", "200"]
COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "check": lambda path: ["check", path],
    "audit": lambda path: ["audit", path, *RESAMPLES],
    "systems": lambda path: ["systems", path, *RESAMPLES],
    "compare": lambda path: ["compare", path, *RESAMPLES],
    "judges": lambda path: ["judges", path],
    "anchor": lambda path: ["anchor", path, "--trusted", "judge1", *RESAMPLES],
    "plan": lambda path: ["plan", "--from", path],
    "calibrate": lambda path: ["calibrate", path, "--save", path + ".json", "--overwrite"],
    "apply": lambda path: ["apply", path + ".json", path, "-o", path + ".out.parquet", "--overwrite"],
    "drift": lambda path: ["drift", path + ".json", path],
}
"""In this order: calibrators are made before they are used. `label` and `probe` read texts, and `collect` has rows of
its own."""
MOST = 1.2
SEEN_MB = 20
"""Memory is compared where the smaller size needs at least so much more than a tiny panel."""


def slope(a: float, b: float, factor: float) -> float:
    """Exponent of the growth from a to b when the size grows by a factor."""
    return math.log(max(b, 1e-3) / max(a, 1e-3)) / math.log(factor)


def warm(small: list[str], large: list[str]) -> dict[str, float]:
    """A command on a large panel in a process that has run it on a tiny one."""
    done = subprocess.run(
        [sys.executable, "-c", WARM, json.dumps([small, large])], capture_output=True, text=True, env=ALONE
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(large)[:200]}: {done.stderr[-1500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def growth(folder: Path, quick: bool) -> Iterator[Row]:
    """How time and memory of commands grow with each axis, made several times as long."""
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
            if name in ("calibrate", "drift") and axis == "tasks":
                factors = (factors[0] // 2, *factors)  # only panels of less than 1,250 tasks are kept task by task
            found = [warm(command(tiny), command(written(**{**BASE, axis: BASE[axis] * f}))) for f in factors]
            doubled = list(pairwise(found))
            seen = [slope(a["own"], b["own"], 2) for a, b in doubled if a["own"] >= SEEN_MB]
            yield Row(
                work=f"{name} by {axis}",
                seconds=found[-1]["cpu"],
                exponent=max(slope(a["cpu"], b["cpu"], 2) for a, b in doubled),
                memory=max(seen, default=None),
                peak_mb=found[-1]["mb"],
                limit=MOST,
            )


def absent(folder: Path, quick: bool) -> Iterator[Row]:
    """Reading where most systems are absent from most tasks."""
    import numpy as np

    import polyjudge as pj

    found = []
    for tasks in (400, 800) if quick else (1000, 4000):
        frame = pj.simulate_panel(tasks=tasks, systems=24, languages=6, judges=3, seed=5)[0].to_long()
        shown = np.random.default_rng(5).random((tasks, 24)) < 0.35
        codes = frame["task"].factorize()[0], frame["system"].factorize()[0]
        path = folder / f"absent-{tasks}.parquet"
        frame[shown[codes]].to_parquet(path)
        tiny = found[0][2] if found else path
        found.append((int(shown[codes].sum()), warm(["check", str(tiny)], ["check", str(path)]), path))
    (rows, a, _), (more, b, _) = found
    yield Row(work=f"read, {more:,} rows, two of three systems absent", seconds=b["cpu"],
              exponent=slope(a["cpu"], b["cpu"], more / rows), peak_mb=b["mb"], limit=MOST)  # fmt: skip


def collection(folder: Path, quick: bool) -> Iterator[Row]:
    """The first call of a large plan, and throughput beside bare clients."""
    from benchmarks import collect

    yield from (Row(**row) for row in collect.rows(folder, quick))


def distributed(folder: Path, quick: bool) -> Iterator[Row]:
    """A table of a billion rows' shape on a Spark cluster in miniature."""
    script = Path(__file__).with_name("cluster.py")
    sizes = ["0.2", "0.4"] if quick else ["1", "4"]
    done = subprocess.run([sys.executable, str(script), "--millions", *sizes], capture_output=True, text=True)
    if done.returncode:
        print(f"  no cluster here: {done.stderr[-300:]}")
        return
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"  {found['said']}")
    yield Row(work=f"audit on Spark, {found['rows']:,} rows, {found['sums']:,} sums leave it", seconds=found["seconds"],
              exponent=found["exponent"], limit=MOST)  # fmt: skip


PARTS: dict[str, Callable[[Path, bool], Iterator[Row]]] = {
    f.__name__: f for f in (start, one, wmt22, wmt25, large, absent, btl, collection, distributed, growth)
}


HEAD = ("work", "seconds", "reference", "ratio", "exponent", "memory", "peak MB", "limit")


def line(row: Row) -> tuple[str, ...]:
    """A row as texts."""
    digits = 2 if row.seconds < 10 else 1

    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    limit = number(row.limit, "g") + ("" if row.kept else " MISSED")
    shown = number(row.ratio, ".1f"), number(row.exponent, ".2f"), number(row.memory, ".2f")
    return row.work, f"{row.seconds:.{digits}f}", row.reference, *shown, f"{row.peak_mb:.0f}" * (row.peak_mb > 0), limit


def show(rows: list[Row]) -> str:
    """The table as text."""
    widths = (66, 8, 24, 7, 9, 7, 8, 10)
    return "\n".join(
        "".join(
            f"{x:<{w}}" if i in (0, 2) else f"{x:>{w}}  " for i, (x, w) in enumerate(zip(cells, widths, strict=True))
        )
        for cells in (HEAD, *map(line, rows))
    )


def markdown(rows: list[Row]) -> str:
    """The table of the page: of the growth of a command, the axis along which it grows most."""
    kept = [row for row in rows if " by " not in row.work]
    for name in COMMANDS:
        grown = [row for row in rows if row.work.startswith(f"{name} by ")]
        if grown:
            most = max(grown, key=lambda row: max(row.exponent or 0.0, row.memory or 0.0))
            kept.append(replace(most, work=f"{most.work}, of four axes"))
    lines = [HEAD, ("---",) * len(HEAD), *map(line, kept)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write(rows: list[Row]) -> None:
    """The results, and the table between the marks of the page."""
    import pandas as pd

    RESULTS.mkdir(exist_ok=True)
    table = pd.DataFrame([asdict(row) | {"ratio": row.ratio, "kept": row.kept} for row in rows])
    table.round(3).to_csv(RESULTS / "bench.csv", index=False)
    page = Path(__file__).parents[1] / "docs" / "large.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition("<!-- bench: begin -->\n")
    after = rest.partition("<!-- bench: end -->")
    page.write_text(f"{before}{begin}{markdown(rows)}\n{after[1]}{after[2]}", encoding="utf-8")


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
    if not given.quick and given.only == list(PARTS):
        write(rows)
    missed = [row.work for row in rows if not row.kept]
    if missed:
        raise SystemExit(f"over their limit: {', '.join(missed)}")


if __name__ == "__main__":
    main()
