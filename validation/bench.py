"""Speed and memory, each row a ratio to a reference that does not import polyjudge.

    python -m validation.bench [--quick] [--only start,audit,growth] [--page docs/speed.md]

Times are processor seconds of a process with its children, the best of three; memory is its peak. The reference of a
table is a process that loads DuckDB and groups the same file by task, system, language and judge.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CLOCKED = """
import json, os, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.stderr[-300:]]))
"""
PLAIN = "import duckdb, sys; duckdb.connect().execute(sys.argv[1])"
ENV = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # installed packages are compiled
ENV |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
MOST = 1.2
"""Exponent of growth that is accepted."""


@dataclass(frozen=True)
class Row:
    """What was run, its seconds and MB, what it is compared with, and its limit."""

    work: str
    seconds: float
    mb: float
    value: float
    what: str
    limit: float

    @property
    def kept(self) -> bool:
        return self.value <= self.limit


def clocked(*command: str, ends: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Processor seconds and peak MB of a command, the best of three; it must end with one of these codes."""
    found = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", CLOCKED, *command], capture_output=True, text=True, check=True, env=ENV
        )
        code, cpu, mb, said = json.loads(done.stdout)
        if code not in ends:
            raise SystemExit(f"{' '.join(command)[:200]} ended with {code}: {said}")
        found.append((cpu, mb))
    return min(x[0] for x in found), min(x[1] for x in found)


def ours(*words: object) -> tuple[float, float]:
    """A command of polyjudge; 1 says what was found."""
    return clocked(sys.executable, "-m", "polyjudge", *map(str, words), ends=(0, 1))


def grouped(path: Path, *keys: str) -> float:
    """Seconds of the plain question behind an audit: the mean of every task in every cell."""
    by = ", ".join(keys)
    query = f"CREATE TABLE cells AS SELECT {by}, sum(score), count(*) FROM '{path}' GROUP BY ALL"
    return clocked(sys.executable, "-c", PLAIN, query)[0]


def against(work: str, path: Path, keys: tuple[str, ...], limit: float) -> Row:
    """An audit beside a GROUP BY."""
    (seconds, mb), plain = ours("audit", path), grouped(path, *keys)
    return Row(work, seconds, mb, seconds / plain, "times a GROUP BY", limit)


# --- files, made in the engine ---

HASHED = "((hash(t * 1000003 + s * 10007 + l * 101 + j + {salt}) % 1000003) / 1000003.0)"


def made(
    path: Path, tasks: int, systems: int, languages: int, judges: int, where: str = "true", millions: bool = False
) -> Path:
    """Scores of a panel as a run produces them: `where` says which are there."""
    import duckdb

    order = "" if millions else "ORDER BY t, s, l, j"
    noise, gap = HASHED.format(salt=1), HASHED.format(salt=2)
    duckdb.connect().execute(
        f"""COPY (SELECT 'task' || lpad(t::VARCHAR, 8, '0') AS task, 'system ' || s AS system,
        'language ' || l AS language, 'judge ' || j AS judge,
        round(55 + 10 * sin(t * 1.7) - s + 3 * cos(l * j + 1) + 20 * ({noise} - 0.5), 1) AS score
        FROM range({judges}) a(j), range({languages}) b(l), range({systems}) c(s), range({tasks}) d(t)
        WHERE {where.format(gap=gap)} {order}) TO '{path}'"""
    )
    return path


KEYS = ("task", "system", "language", "judge")


def start(folder: Path, quick: bool) -> Iterator[Row]:
    """What a user waits for first, in seconds."""
    scores = folder / "scores.csv"
    ours("demo", "--write", scores, "--overwrite")
    bare = clocked(sys.executable, "-c", "pass")[0]
    imported = clocked(sys.executable, "-c", "import polyjudge")
    yield Row("import polyjudge", imported[0], imported[1], imported[0] - bare, "seconds beyond Python", 0.05)
    for words, limit in ((["--help"], 0.15), (["check", scores], 0.3), (["audit", scores], 0.5)):
        seconds, mb = ours(*words)
        shown = " ".join("scores.csv" if w == scores else str(w) for w in words)
        yield Row(f"polyjudge {shown}", seconds, mb, seconds, "seconds", limit)
    seconds, mb = ours("audit", scores, "-o", folder / "page")
    yield Row("polyjudge audit scores.csv -o page/", seconds, mb, seconds, "seconds", 2.0)


def audit(folder: Path, quick: bool) -> Iterator[Row]:
    """First screens of large files, beside a GROUP BY of the same file."""
    shared = Path(os.environ.get("POLYJUDGE_SHARED", "../shared")) / "data/gemba/wmt22_da.csv.gz"
    if shared.exists():
        yield against("audit, WMT22: 285,180 scores", shared, ("segment", *KEYS[1:]), 3.0)
    holes = made(folder / "wmt25.csv", 384, 30, 31, 6, "{gap} < 0.9 and (s * 7 + l * 3 + j) % 4 = 0")
    yield against("audit, shape of WMT25: about 480,000 scores, most cells empty", holes, KEYS, 6.0)
    sparse = made(folder / "sparse.csv", 70, 44, 16, 35, "(s * 5 + l * 11 + j * 3) % 100 < 18 and {gap} < 0.37")
    yield against("audit, 16 languages x 44 systems x 35 judges, 82% of cells empty", sparse, KEYS, 25.0)
    millions = 2 if quick else 10
    big = made(folder / "big.parquet", round(millions * 1e6 / 48), 1, 8, 6, millions=True)
    yield against(f"audit, {millions} million rows (Parquet)", big, KEYS, 1.5)
    (seconds, mb), plain = ours("calibrate", big, "-o", folder / "out.parquet", "--overwrite"), _copied(big, folder)
    yield Row(f"calibrate, {millions} million rows written", seconds, mb, seconds / plain, "times a COPY", 4.0)


def _copied(path: Path, folder: Path) -> float:
    return clocked(
        sys.executable, "-c", PLAIN, f"COPY (SELECT *, score + 1 FROM '{path}') TO '{folder / 'copy.parquet'}'"
    )[0]


def wide(folder: Path, quick: bool) -> Iterator[Row]:
    """A wide CSV of many judge columns."""
    judges = 500 if quick else 5000
    rows = [",".join(["task", *(f"judge {j}" for j in range(judges))])]
    rows += [",".join([f"t{t}", *(str((t * 31 + j * 17) % 101) for j in range(judges))]) for t in range(30)]
    path = folder / "wide.csv"
    path.write_text("\n".join(rows))
    seconds, mb = ours("check", path)
    yield Row(f"check, wide CSV of {judges:,} judges", seconds, mb, mb / 1024, "GB", 1.0)


GROWN: dict[str, Callable[[int], tuple[int, int, int, int]]] = {
    "tasks": lambda x: (500 * x, 2, 4, 4),
    "systems": lambda x: (60, 5 * x, 4, 4),
    "languages": lambda x: (60, 2, 5 * x, 4),
    "judges": lambda x: (60, 2, 4, 5 * x),
}


def growth(folder: Path, quick: bool) -> Iterator[Row]:
    """How time and memory of an audit grow along each axis, beyond what the smallest takes."""
    sizes = (4, 8) if quick else (4, 8, 16)
    empty = ours("audit", made(folder / "least.csv", 12, 2, 2, 2))
    for axis, size in GROWN.items():
        spent = [ours("audit", made(folder / f"{axis}{x}.csv", *size(x))) for x in sizes]
        for i, what in enumerate(("time", "memory")):
            low, high = (max(s[i] - empty[i], 0.02 * empty[i]) for s in (spent[0], spent[-1]))
            exponent = math.log(high / low) / math.log(sizes[-1] / sizes[0])
            yield Row(f"audit, {what} by {axis}", spent[-1][0], spent[-1][1], exponent, "exponent", MOST)


LOOP = """
import numpy as np, sys
from scipy.stats import kendalltau
g = np.random.default_rng(0); S = g.normal(size=(55, 8, 6)); out = []
for r in range(int(sys.argv[1])):
    d = g.integers(55, size=55); left = np.setdiff1d(np.arange(55), d); T, E = S[d].mean(0), S[left].mean(0)
    E = E - (T - T.mean(0) - T.mean(1, keepdims=True) + T.mean())
    out.append(np.mean([kendalltau(E[i], E[j])[0] for i in range(8) for j in range(i)]))
"""


def protocol(folder: Path, quick: bool) -> Iterator[Row]:
    """The paper's protocol for all its methods, beside a plain loop of one method."""
    path = made(folder / "devai.csv", 55, 1, 8, 6)
    seconds, mb = ours("compare", path)
    plain = 1000 / 50 * (clocked(sys.executable, "-c", LOOP, "60")[0] - clocked(sys.executable, "-c", LOOP, "10")[0])
    yield Row("compare, 12 methods, 1,000 replicates", seconds, mb, seconds / plain, "times a loop of one method", 1.0)


SPARK = """
import sys, time
from pyspark.sql import SparkSession
import polyjudge as pj
session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
begun = time.time()
str(pj.audit(session.read.parquet(sys.argv[1])))
sys.exit(f"{time.time() - begun}")
"""


def spark(folder: Path, quick: bool) -> Iterator[Row]:
    """Tables that one machine has outgrown: seconds that pass, of two local workers."""
    if shutil.which("java") is None:
        return
    path = made(folder / "spark.parquet", 12_000 if quick else 120_000, 1, 6, 6, millions=True)
    done = subprocess.run([sys.executable, "-c", SPARK, path], capture_output=True, text=True, check=False, env=ENV)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = float(done.stderr.strip().split("\n")[-1])
    cpu = used.ru_utime + used.ru_stime
    yield Row("audit, 4 million rows, two local workers of Spark", cpu, used.ru_maxrss / 1024, seconds, "seconds", 40.0)


PARTS = {f.__name__: f for f in (start, audit, wide, growth, protocol, spark)}


def main() -> None:
    """Print the table, write the page, exit 1 where a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m validation.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for part in given.only.split(","):
            for row in PARTS[part](Path(folder), given.quick):
                rows.append(row)
                print(
                    f"{row.work:66} {row.seconds:8.2f} s {row.mb:6.0f} MB  {row.value:6.2f} {row.what}, "
                    f"at most {row.limit:g}{'' if row.kept else '  MISSED'}",
                    flush=True,
                )
    if given.page:
        lines = []
        for r in rows:
            value = f"{r.value:.2f} {r.what}" + ("" if r.kept else " (missed)")
            lines.append(f"| {r.work} | {r.seconds:.2f} | {r.mb:.0f} | {value} | {r.limit:g} |")
        head = ["| work | processor s | peak MB | measured | at most |", "|---|---|---|---|---|"]
        text = given.page.read_text(encoding="utf-8")
        before, after = text.split("<!-- bench: begin -->")[0], text.split("<!-- bench: end -->")[1]
        table = "\n".join(["<!-- bench: begin -->", *head, *lines, "<!-- bench: end -->"])
        given.page.write_text(before + table + after, encoding="utf-8")
    sys.exit(0 if all(r.kept for r in rows) else 1)


if __name__ == "__main__":
    main()
