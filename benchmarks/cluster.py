"""A real Spark cluster loses a machine while it reads: the panel must be that of DuckDB. Exit code 1 if it is not.

    python benchmarks/cluster.py

A master and two executors, each a process of its own; one that works is killed once the work has begun.
"""

from __future__ import annotations

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


def main() -> None:
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
