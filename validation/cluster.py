"""A real Spark cluster of two workers loses one while it reads; the panel must be that of DuckDB.

python -m validation.cluster
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

SETTINGS = {
    "spark.driver.memory": "700m",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def session_of(master: str) -> Any:
    """A session that begins soon: short runs are mostly compilation."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("polyjudge")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
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

    @udf("double")  # type: ignore[untyped-decorator]
    def slowly(x: float) -> float:
        open(begun, "a").close()
        time.sleep(0.003)
        return x

    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 100
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.02)
        killed.extend(executors(session)[-1:])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    frame = session.read.parquet(str(source)).repartition(8)
    panel = pj.read_panel(frame.withColumn("score", slowly("score")))
    killer.join(120)
    assert killed, "no executor was killed"
    return panel


def main() -> None:
    """Exit 1 unless the panel survives."""
    session = session_of("local-cluster[2,1,512]")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "scores.parquet"
        pj.simulate_panel(tasks=150, systems=1, languages=2, judges=2, seed=3).panel.to_frame().to_parquet(source)
        mine = pj.read_panel(source)
        theirs = read_with_loss(session, source, Path(folder) / "begun")
        theirs = theirs.select(languages=mine.languages, judges=mine.judges)
        order = [theirs.tasks.index(t) for t in mine.tasks]
        if not np.allclose(theirs.scores[order], mine.scores, rtol=1e-13, atol=0):
            sys.exit("The panel through Spark is not that of DuckDB.")
    print("One of two workers was lost at work, and the panel is that of DuckDB.")
    session.stop()


if __name__ == "__main__":
    main()
