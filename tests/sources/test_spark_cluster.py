"""The same panel from a real Spark cluster: a standalone master and two workers, one of them killed while it works."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import polyjudge as pj

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOB = """
import json, sys, time
import numpy as np
import polyjudge as pj
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

master, scores, mark, out = sys.argv[1:]
session = (
    SparkSession.builder.master(master)
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "700m").config("spark.executor.memory", "512m")
    .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
    .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.network.timeout", "60s").config("spark.executor.heartbeatInterval", "5s")
    .getOrCreate()
)

@udf("double")
def slowly(x):
    open(mark, "a").close()  # the job has begun on a worker
    time.sleep(0.003)
    return x

frame = session.read.parquet(scores).repartition(8)
panel = pj.read_panel(frame.withColumn("score", slowly("score")), max_units=50)
np.save(out, panel.scores)
json.dump([panel.tasks, panel.languages, panel.judges, panel.weights.tolist()], open(out + ".json", "w"))
session.stop()
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def until(done: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master, and its two workers as processes."""
    import pyspark

    port, page = free_port(), free_port()
    begin = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # short runs are mostly compilation
    }
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "600m"]
    address = f"spark://127.0.0.1:{port}"
    commands = [[*master, "--webui-port", str(page)]]
    commands += [[*worker, "--webui-port", "0", "--work-dir", str(tmp_path / f"w{i}"), address] for i in range(2)]
    running = []
    try:
        for command in commands:
            with open(tmp_path / f"log{len(running)}.txt", "wb") as log:
                process = subprocess.Popen([*begin, *command], stdout=log, stderr=log, env=environment)
            running.append(process)

        def alive() -> bool:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                    return int(json.load(answer)["aliveworkers"]) == 2
            except (OSError, ValueError, KeyError):  # while it starts, the page answers before it can count
                return False

        until(alive, 90, "The cluster does not start.")
        yield address, running[1:]
    finally:
        for process in running:
            process.kill()
            process.wait(30)


@pytest.mark.timeout(300)
def test_a_cluster_that_loses_a_worker_gives_the_panel_of_duckdb(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, workers = cluster
    scores, mark, out = tmp_path / "scores.parquet", tmp_path / "begun", tmp_path / "found.npy"
    panel, _ = pj.simulate_panel(tasks=300, languages=["fr", "de"], judges=["B", "A"], seed=3)
    panel.to_long().to_parquet(scores)
    arguments = [sys.executable, "-c", JOB, address, str(scores), str(mark), str(out)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment) as job:
        until(lambda: mark.exists() or job.poll() is not None, 120, "The job does not start.")
        assert job.poll() is None, job.stderr and job.stderr.read()[-2000:]
        workers[0].kill()  # takes its executor with it
        _, error = job.communicate(timeout=200)
    assert job.returncode == 0, error[-2000:]
    mine = pj.read_panel(scores, max_units=50)
    tasks, languages, judges, weights = json.loads(Path(f"{out}.json").read_text())
    assert tuple(tasks) == mine.tasks
    np.testing.assert_array_equal(weights, mine.weights)
    found = np.load(out)[:, [languages.index(x) for x in mine.languages]][:, :, [judges.index(x) for x in mine.judges]]
    np.testing.assert_allclose(found, mine.scores, rtol=1e-13)
