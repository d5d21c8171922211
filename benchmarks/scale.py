"""Cost of reading, auditing and applying at size, against the plain engine in the same run.

    python benchmarks/scale.py                  # 1 to 48 million rows, table and plot in benchmarks/results/
    python benchmarks/scale.py --rows 1 3       # sizes in millions of rows
    python benchmarks/scale.py --spark          # Spark and DuckDB on 5 million rows

Every measurement runs in a process of its own, so that the peak memory is its own. Times are the best of `--repeat`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LANGUAGES = ["English", "German", "French", "Arabic", "Chinese", "Hindi", "Spanish", "Swahili"]
CELLS = 48


def make(path: Path, tasks: int) -> None:
    """Scores of `tasks` x 8 x 6, written judge by judge and language by language as a run produces them."""
    import duckdb

    con = duckdb.connect()
    con.execute("SET memory_limit = '2GB'")
    con.execute(
        f"""COPY (SELECT 'task' || lpad(t::VARCHAR, 8, '0') AS task, ({LANGUAGES!r})[l + 1] AS language,
        'judge-' || chr((65 + j)::INT) AS judge,
        round(50 + 10 * sin(t * 1.7) + 5 * cos(l * j + 1)
        + 20 * ((hash(t * 48 + l * 6 + j) % 1000003) / 1000003.0 - 0.5), 1) AS score
        FROM range(6) a(j), range(8) b(l), range({tasks}) d(t)) TO '{path}' (FORMAT parquet)"""
    )


def plain(query: str) -> None:
    """A query in DuckDB with the limits that polyjudge sets itself."""
    from polyjudge.read.duck import connect

    connect().sql(query).to_arrow_table()


def bare_group_by(path: str) -> None:
    plain(
        f"SELECT hash(task) % 100000 AS unit, language, judge, sum(score), sum(score * score), count(*) "
        f"FROM '{path}' GROUP BY ALL"
    )


def bare_duplicates(path: str) -> None:
    plain(f"SELECT task, language, judge, count(*) FROM '{path}' GROUP BY ALL HAVING count(*) > 1")


def read(path: str) -> None:
    import polyjudge as pj

    panel = pj.read_panel(path)
    assert panel.complete


def read_and_audit(path: str) -> dict[str, float]:
    """The band, the reversals, and held-out raw and CBC with 1,000 resamples, after reading."""
    import polyjudge as pj

    panel = pj.read_panel(path)
    times = {}
    for name, step in {
        "uncertainty": lambda: pj.uncertainty(panel, resamples=1000),
        "rank_reversals": lambda: pj.rank_reversals(panel),
        "compare": lambda: pj.compare(panel, methods=["raw", "cbc"], resamples=1000),
    }.items():
        start = time.perf_counter()
        step()
        times[name] = time.perf_counter() - start
    return times


def copy(path: str) -> None:
    from polyjudge.read.duck import connect

    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        connect().execute(f"COPY (SELECT * FROM '{path}') TO '{folder}/out.parquet' (FORMAT parquet, COMPRESSION zstd)")


def apply(path: str, into: str = "out.parquet") -> None:
    import numpy as np

    import polyjudge as pj
    from polyjudge.read.writers import write_calibrated

    rng = np.random.default_rng(0)
    labels = LANGUAGES, [f"judge-{c}" for c in "ABCDEF"]
    cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(rng.normal(50, 9, (20, 8, 6)), None, *labels))
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        write_calibrated(cal, path, Path(folder) / into)


def apply_folder(path: str) -> None:
    apply(path, "out")


JOBS: dict[str, Any] = {
    f.__name__: f for f in (bare_group_by, bare_duplicates, read, copy, apply, apply_folder, read_and_audit)
}


def measure(job: str, path: Path, repeat: int) -> dict[str, Any]:
    """Best wall time, its processor time and the largest peak memory, each run in a new process."""
    best: dict[str, Any] = {}
    for _ in range(repeat):
        done = subprocess.run(
            [sys.executable, __file__, "--job", job, "--path", str(path)], capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{job} failed: {done.stderr[-2000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        peak = max(found["peak_mb"], best.get("peak_mb", 0))
        best = found if not best or found["seconds"] < best["seconds"] else best
        best["peak_mb"] = peak
    return best


def run_job(job: str, path: str) -> None:
    import duckdb  # noqa: F401
    import pandas  # noqa: F401

    start, cpu = time.perf_counter(), time.process_time()
    more = JOBS[job](path)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - start,
                "cpu": time.process_time() - cpu,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
                **(more or {}),
            }
        )
    )


def scale(rows: list[float], repeat: int, folder: Path, jobs: list[str]) -> None:
    import pandas as pd

    records = []
    for millions in rows:
        path = folder / f"scores-{millions:g}.parquet"
        make(path, round(millions * 1e6 / CELLS))
        for job in jobs:
            record = {"rows_millions": millions, "job": job, **measure(job, path, repeat)}
            records.append(record)
            print({k: round(v, 2) if isinstance(v, float) else v for k, v in record.items()}, flush=True)
        path.unlink()
    frame = pd.DataFrame(records)
    RESULTS.mkdir(exist_ok=True)
    frame.round(3).to_csv(RESULTS / "scale.csv", index=False)
    plot(frame)
    wide = frame.pivot(index="rows_millions", columns="job", values="seconds")
    for name, over, under in (
        ("read / bare GROUP BY", "read", "bare_group_by"),
        ("read / bare duplicate query", "read", "bare_duplicates"),
        ("apply / plain copy", "apply", "copy"),
        ("apply to a folder / plain copy", "apply_folder", "copy"),
    ):
        if over in wide and under in wide:
            print(name, (wide[over] / wide[under]).round(2).to_dict())


def plot(frame: Any) -> None:
    """Seconds against rows, both logarithmic: a line of slope one is linear growth."""
    import altair as alt

    chart = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X("rows_millions:Q", scale=alt.Scale(type="log"), title="million rows"),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
            color=alt.Color("job:N", title=None),
        )
        .properties(width=460, height=320, title="Cost against size, two cores")
    )
    chart.save(str(RESULTS / "scale.svg"))


def spark(folder: Path) -> None:
    """Interactions from Spark and DuckDB on 5 million rows, as tasks and as units."""
    import numpy as np
    from pyspark.sql import SparkSession

    import polyjudge as pj

    path = folder / "scores.parquet"
    make(path, 5_000_000 // CELLS)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    for max_units in (1_000, 10_000):
        start = time.perf_counter()
        a = pj.read_panel(path, max_units=max_units)
        middle = time.perf_counter()
        b = pj.read_panel(session.read.parquet(str(path)), max_units=max_units)
        end = time.perf_counter()
        b = b.select(languages=a.languages, judges=a.judges)
        one, two = (pj.ConsensusCalibrator().fit(p).interaction_.to_numpy() for p in (a, b))
        record = {
            "max_units": max_units,
            "rows": a.n_scores,
            "largest_difference": float(np.abs(one - two).max()),
            "largest_unit_difference": float(np.abs(a.scores - b.scores).max()),
            "same_weights": bool(np.array_equal(a.weights, b.weights)),
            "duckdb_seconds": round(middle - start, 2),
            "spark_seconds": round(end - middle, 2),
        }
        print(record, flush=True)
    session.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1, 3, 12, 48], help="millions of rows")
    parser.add_argument("--jobs", nargs="+", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--folder", default=None, help="where the big files go for the time being")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        run_job(given.job, given.path)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        if given.spark:
            spark(Path(folder))
        else:
            scale(given.rows, given.repeat, Path(folder), given.jobs)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
