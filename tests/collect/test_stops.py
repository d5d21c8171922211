"""Runs that are stopped: by kill -9, SIGTERM, Ctrl-C, a full disk. Nothing that was kept is bought again or lost."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from collect_plans import write_plan
from judge_server import Running, truth

from polyjudge.base.errors import CollectError
from polyjudge.base.signals import Terminated
from polyjudge.collect.journal import Journal
from polyjudge.collect.plan import load_plan
from polyjudge.collect.run import collect
from polyjudge.collect.task import ready

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["inspect_ai", "polyjudge.collect.task", "polyjudge.collect.sitting", "openai"])


def _collect(plan: str, folder: str, environment: dict[str, str], said: str, limit: int, slow: bool) -> None:
    """A run in a process of its own, which may be killed; what it says goes into a file."""
    os.environ.update(environment)
    file = open(said, "w")  # noqa: SIM115
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
    if slow:
        _slow_writes()
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        collect(Path(plan), output=Path(folder))
    except KeyboardInterrupt:
        sys.exit(130)
    except Terminated:
        sys.exit(143)
    except CollectError as error:
        print("ERROR", error, flush=True)
        sys.exit(2)


def begin(plan: Path, limit: int = 0, slow: bool = False) -> Any:
    """The run, begun; its output is in `said`."""
    environment = {k: os.environ[k] for k in ("LOCAL_API_KEY", "XDG_DATA_HOME", "INSPECT_LOG_LEVEL")}
    said = plan.parent / "said"
    process = CONTEXT.Process(
        target=_collect, args=(str(plan), str(plan.parent / "run"), environment, str(said), limit, slow)
    )
    process.start()
    return process


def wait(server: Running, process: Any, answers: int) -> None:
    while process.is_alive() and server.answered < answers:
        time.sleep(0.01)


def check(plan: Path, count: int) -> None:
    frame = pd.read_csv(plan.parent / "run" / "scores.csv")
    assert len(frame) == count
    assert list(frame["score"]) == [truth(r.judge, r.task, r.language, "all") for r in frame.itertuples()]


def _slow_writes() -> None:
    """Lines of answers are written a few bytes at a time, so that a kill falls into the middle of one."""
    write = os.write

    def slow(file: int, data: bytes) -> int:
        time.sleep(0.002)
        return write(file, bytes(data[:40]))

    os.write = slow


@pytest.mark.parametrize("writes", ["fast", "slow"])
def test_twenty_kills_buy_nothing_again_that_was_kept(tmp_path: Path, server: Running, writes: str) -> None:
    server.post("config", delay=0.02)
    concurrency = 4
    plan = write_plan(tmp_path, server.url, tasks=60, settings={"max_connections": concurrency})
    keys = {call.id: hashlib.sha256(prompt.encode()).hexdigest()[:16] for call, prompt in ready(load_plan(plan))[0]}
    kept: list[tuple[set[str], dict[str, int]]] = []
    for kill in range(20):
        process = begin(plan, slow=writes == "slow")
        wait(server, process, server.answered + 3 + kill % 7)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        answers = Journal(tmp_path / "run" / "answers.jsonl").answers
        kept.append(({f"{j} {keys[i]}" for j in answers for i in answers[j]}, server.stats()["asked"]))
    server.post("config", delay=0.0)
    assert not collect(plan, output=tmp_path / "run").incomplete
    check(plan, 240)
    asked = server.stats()["asked"]
    for known, before in kept:
        assert {key: asked[key] for key in known} == {key: before[key] for key in known}
    assert sum(asked.values()) - 240 <= 20 * 2 * concurrency  # what was in flight


def test_half_a_line_is_no_answer_and_spoils_none(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=5)
    assert not collect(plan, output=tmp_path / "run").incomplete
    path = tmp_path / "run" / "answers.jsonl"
    for cut in (1, 30, 90):
        path.write_bytes(path.read_bytes()[:-cut])
        before = server.answered
        assert not collect(plan, output=tmp_path / "run").incomplete
        assert server.answered == before + 1
    check(plan, 20)


TEN = [1, 8, 9, 15, 16, 30, 45, 60, 75, 95]


@pytest.mark.parametrize("moments", [[1, 16], pytest.param(TEN, marks=pytest.mark.slow)], ids=["two", "ten"])
def test_kill_nine_at_any_moment(tmp_path: Path, server: Running, moments: list[int]) -> None:
    server.post("config", delay=0.02)
    concurrency = 4
    plan = write_plan(tmp_path, server.url, tasks=25, settings={"max_connections": concurrency})
    for answers in moments:
        process = begin(plan)
        wait(server, process, answers)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    process = begin(plan)
    process.join(120)
    assert process.exitcode == 0, (tmp_path / "said").read_text()
    check(plan, 100)
    stats = server.stats()
    again = sum(n - 1 for n in stats["asked"].values())
    assert len(stats["asked"]) == 100
    # bought again is at most what was in flight, or finished but not yet kept, when a process was killed
    assert again <= len(moments) * 2 * (concurrency + 2)


def test_two_processes_on_one_folder(tmp_path: Path, server: Running) -> None:
    server.post("config", delay=0.05)
    plan = write_plan(tmp_path, server.url, tasks=20, settings={"max_connections": 4})
    process = begin(plan)
    wait(server, process, 4)
    with pytest.raises(CollectError, match="Another process is collecting into"):
        collect(plan, output=tmp_path / "run")
    process.join(60)
    assert process.exitcode == 0
    assert server.answered == 80
    check(plan, 80)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_run_in_order(tmp_path: Path, server: Running, number: int, code: int) -> None:
    server.post("config", delay=0.05)
    plan = write_plan(tmp_path, server.url, tasks=40, settings={"max_connections": 4})
    process = begin(plan)
    wait(server, process, 12)
    os.kill(process.pid, number)
    process.join(60)
    said = (tmp_path / "said").read_text()
    assert process.exitcode == code, said
    assert "Traceback" not in said
    assert "polyjudge: stopped with" in said
    kept = pd.read_csv(tmp_path / "run" / "scores.csv")
    count = int(kept["score"].notna().sum())
    assert 4 <= count < 160
    assert set(kept["missing"].dropna()) <= {"not asked"} or "failed" in set(kept["missing"].dropna().str[:6])
    before = server.answered
    server.post("config", delay=0.0)
    assert not collect(plan, output=tmp_path / "run").incomplete
    assert server.answered - before <= 160 - count
    check(plan, 160)


def test_a_full_disk_says_so(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=60)
    process = begin(plan, limit=60_000)
    process.join(120)
    said = (tmp_path / "said").read_text()
    assert process.exitcode == 2, said
    assert "ERROR The disk is full, a quota is reached" in said
    assert "Make room: the same command continues" in said
    assert "Traceback" not in said
    assert "damaged" not in said
    found = collect(plan, output=tmp_path / "run")
    assert not found.incomplete
    check(plan, 240)
