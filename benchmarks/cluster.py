"""A real Spark cluster: a master and two executors, each a process of its own.

python benchmarks/cluster.py                  it loses a machine while it reads, and the panel must be that of DuckDB
python benchmarks/cluster.py --millions 1 4   it audits a table of the shape of a billion rows, in miniature: how
                                              the seconds grow with the rows, and what a hundred machines would need
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import polyjudge as pj

UNITS = 50
MACHINES = 100
BILLION = 1e9


def start(master: str) -> Any:
    """A session that begins soon: short runs are mostly compilation, of Java and of queries."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(master)
        .appName("polyjudge")
        .config("spark.driver.memory", "700m")
        .config("spark.executor.memory", "512m")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def executors(session: Any) -> list[int]:
    """The processes that do the cluster's work, without those that they are just about to start."""
    wanted = ("CoarseGrainedExecutorBackend", session.sparkContext.applicationId)
    found = {}
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = file.read_bytes().decode(errors="replace").split("\0")
            if Path(command[0]).name == "java" and all(any(word in x for x in command) for word in wanted):
                found[int(file.parent.name)] = int((file.parent / "stat").read_text().rpartition(")")[2].split()[1])
    return sorted(process for process, parent in found.items() if parent not in found)


def read_with_loss(session: Any, source: Path, mark: Path) -> pj.Panel:
    """The panel through Spark, slowly: an executor is killed once the first score was read."""
    from pyspark.sql.functions import udf

    begun = str(mark)

    @udf("double")
    def slowly(x: float) -> float:
        open(begun, "a").close()
        time.sleep(0.003)
        return x

    killed = []

    def kill() -> None:
        end = time.monotonic() + 100
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.02)
        killed.extend(executors(session)[-1:])  # on a busy machine the first may have been given up: the last one works
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    frame = session.read.parquet(str(source)).repartition(8)
    panel = pj.read_panel(frame.withColumn("score", slowly("score")), max_units=UNITS)
    killer.join(120)
    assert killed, "no executor was killed"
    return panel


def miniature(millions: list[float]) -> None:
    """Prints one JSON object. Tasks x 8 languages x 6 judges, hashed into 10,000 units: the same sums leave the engine
    whatever the rows, and the audit of them costs the same."""
    from bench import rows_file

    session = start("local-cluster[2,1,512]")
    spent, audited, sums = [], 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for i, size in enumerate((0.05, *millions)):  # the first one compiles
            source = rows_file(Path(folder) / f"{i}.parquet", size)
            begun = time.perf_counter()
            panel = pj.read_panel(session.read.parquet(str(source)).repartition(8), max_units=10_000 if i else UNITS)
            spent.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            pj.audit(panel, resamples=200)
            audited, sums = time.perf_counter() - begun, panel.scores.size
    session.stop()
    (_, *seconds), (few, many) = spent, (1e6 * m for m in millions)
    exponent = math.log(seconds[1] / seconds[0]) / math.log(many / few)
    each = 2 * (seconds[1] - seconds[0]) / (many - few)
    whole = BILLION * each / MACHINES + audited
    said = (
        f"A million rows more take {1e6 * each:.1f} s of one core; a billion rows on {MACHINES} machines of one core "
        f"each would take about {BILLION * each / MACHINES:.0f} s if they share the rows evenly, and the audit of the "
        f"sums {audited:.0f} s on one"
    )
    print(json.dumps({"rows": round(many), "seconds": seconds[1], "exponent": exponent, "sums": sums,
                      "hundred_machines": whole, "said": said}))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs=2)
    given = parser.parse_args()
    if given.millions:
        return miniature(given.millions)
    session = start("local-cluster[2,1,512]")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "scores.parquet"
        panel, _ = pj.simulate_panel(tasks=300, languages=["fr", "de"], judges=["B", "A"], seed=3)
        panel.to_long().to_parquet(source)
        mine = pj.read_panel(source, max_units=UNITS)
        theirs = read_with_loss(session, source, Path(folder) / "begun").select(None, mine.languages, mine.judges)
        same = theirs.tasks == mine.tasks and np.array_equal(theirs.weights, mine.weights)
        if not same or not np.allclose(theirs.scores, mine.scores, rtol=1e-13, atol=0):
            sys.exit("The panel through Spark is not that of DuckDB.")
    print("One of two machines was lost at work, and the panel is that of DuckDB.")
    session.stop()


if __name__ == "__main__":
    main()
