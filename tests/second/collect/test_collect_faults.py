"""Collection when things go wrong: faults of the server, kills, limits, failing judges, secrets."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan
from polyjudge.second.collect.secrets import known_secrets, redact
from polyjudge.second.panel.errors import CollectError
from refusals import lacks, refused

KEY = "sk-planted-0123456789abcdef"
LANGUAGES = ["en", "ar", "zh"]
JUDGES = ["ja", "jb", "jc"]
KEYS = "task, replicate, language, judge, part"
SAME = f"{KEYS}, prompt, answer, score, how, detail, output_tokens, model, stop"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / "store.sqlite")
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def content(run: Path) -> list[list[Any]]:
    """What two equal runs have in common: all but times and the number of attempts."""
    return [
        rows(run, f"select {SAME} from answers order by {KEYS}"),
        rows(run, "select * from prompts order by hash"),
        rows(run, "select * from items order by place, replicate"),
        rows(run, "select key, value from meta where key in ('judges', 'rubric', 'calls') order by key"),
    ]


@pytest.mark.slow
def test_with_a_fifth_of_faults_the_same_panel_results(tmp_path: Path) -> None:
    planted = js.plant("pair", 15, LANGUAGES, JUDGES)
    faults = {"429": 0.03, "500": 0.04, "hang": 0.01, "cut": 0.025, "empty": 0.02, "malformed": 0.03, "prose": 0.02,
              "slow": 0.025}  # fmt: skip
    assert sum(faults.values()) == pytest.approx(0.2)
    with js.running({**planted, "hang": 3}) as server:
        path = js.write_plan(
            tmp_path, server.url, "pair", planted, defaults={"timeout": 1.5, "retries": 20}, rubric={"reask": 20}
        )
        collect(load_plan(path), tmp_path / "calm")
        calm = server.stats()
        server.reset()
        server.set_faults(faults)
        summary = collect(load_plan(path), tmp_path / "rough")
        rough = server.stats()
    assert calm["total"] == calm["distinct"] == 270
    assert summary.complete
    assert summary.judges["missing"].sum() == 0
    assert content(tmp_path / "rough") == content(tmp_path / "calm")
    assert pj.read_panel(tmp_path / "rough").fingerprint == pj.read_panel(tmp_path / "calm").fingerprint
    # Every request is the answer or is recorded as a failed attempt: nothing is retried behind our back.
    seen = rough["requests"]
    recorded = dict(rows(tmp_path / "rough", "select kind, count(*) from errors group by kind"))
    assert rough["total"] == 270 + sum(recorded.values())
    assert recorded.pop("unreadable", 0) == seen["empty"] + seen["prose"]
    assert recorded.pop("rate limit", 0) == seen["429"]
    assert recorded.pop("http 500", 0) == seen["500"]
    assert recorded.pop("unreadable reply", 0) == seen["malformed"]
    assert recorded.pop("connection", 0) == seen["cut"]
    assert recorded.pop("timeout", 0) >= seen["hang"] > 0  # a busy machine may be late by itself
    assert not recorded


# --- kills ---


@pytest.mark.slow
def test_killed_ten_times_the_store_equals_an_undisturbed_one(tmp_path: Path) -> None:
    planted = js.plant("pair", 20, LANGUAGES, JUDGES)
    moments = random.Random(11)
    connections = 12
    with js.running({**planted, "delay": 0.01}) as server:
        path = js.write_plan(tmp_path, server.url, "pair", planted, defaults={"concurrency": connections // 3})
        collect(load_plan(path), tmp_path / "calm")
        server.reset()
        kills = 0
        while kills < 10:
            goal = server.stats()["total"] + moments.randint(1, 25)
            process = js.begin(str(path), str(tmp_path / "killed"), KEY)
            server.wait(process.is_alive, total=goal)
            time.sleep(moments.uniform(0, 0.05))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            process.join()
            if process.exitcode == 0:
                break
        assert kills == 10
        answered = rows(tmp_path / "killed", "select count(*) from answers")[0][0]
        assert 0 < answered < 360
        collect(load_plan(path), tmp_path / "killed")
        after = server.stats()
    assert content(tmp_path / "killed") == content(tmp_path / "calm")
    assert rows(tmp_path / "killed", "pragma integrity_check") == [("ok",)]
    assert after["distinct"] == 360
    assert after["total"] - 360 <= kills * connections


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_answered(tmp_path: Path) -> None:
    planted = js.plant("rating", 20, LANGUAGES, JUDGES)
    with js.running({**planted, "delay": 0.1}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 2})
        command = [sys.executable, "-m", "polyjudge", "collect", str(path), "-o", str(tmp_path / "run")]
        heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # tests in the background ignore interrupts
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, preexec_fn=heed, **pipes)
        server.wait(lambda: process.poll() is None, answered=30)
        second = js.command(*command[3:])
        assert second.returncode == 2
        assert not lacks(second.stderr, "run", process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
        kept = rows(tmp_path / "run", "select count(*) from answers")[0][0]
        assert 30 <= kept < 180
        raw = json.loads(path.read_text())
        raw["defaults"]["concurrency"] = 40
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), tmp_path / "run").complete
        assert server.stats()["total"] <= 180 + 6


# --- limits ---


def test_a_failing_judge_is_set_aside_and_the_others_finish(tmp_path: Path) -> None:
    planted = js.plant("rating", 12, LANGUAGES, JUDGES)
    with js.running({**planted, "dead": {"jb": 500}}) as server:
        defaults = {"retries": 2, "give_up_after": 3, "concurrency": 2}
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=defaults, lead=2)
        done = js.command("collect", path, "-o", tmp_path / "run")
        assert done.returncode == 1, done.stderr
        assert not lacks(done.stdout, "jb", 3, 36)
        assert rows(tmp_path / "run", "select judge, count(*) from answers group by judge") == [("ja", 36), ("jc", 36)]
        assert server.stats()["requests"]["500"] <= 3 * 4  # and one call more that was under way
    panel = pj.read_panel(tmp_path / "run")
    assert panel.judges == ("ja", "jc")
    assert any(n.values.get("judges") == ["jb"] for n in panel.notes)
    attempts = rows(tmp_path / "run", "select max(attempt), min(kind), max(kind) from errors")
    assert attempts == [(3, "http 500", "http 500")]


def test_a_missing_key_or_provider_sets_aside_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = js.plant("rating", 3, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "key": KEY}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        raw = json.loads(path.read_text())
        raw["judges"][0]["model"] = "openai-api/elsewhere/ja"
        raw["judges"].append({"name": "jx", "model": "nonesuch/model"})
        path.write_text(json.dumps(raw))
        named = [f"{name}={server.url.split('/')[2]}" for name in ("LOCAL_API_KEY", "ELSEWHERE_API_KEY")]
        summary = collect(load_plan(path), tmp_path / "run", send_key=named)
        assert set(summary.aside) == {"ja", "jx"}
        assert "401" in summary.aside["ja"]
        assert summary.judges.set_index("judge")["answered"].to_dict() == {"ja": 0, "jb": 6, "jx": 0}
        monkeypatch.setenv("ELSEWHERE_API_KEY", "wrong-key-000000")
        summary = collect(load_plan(path), tmp_path / "run", send_key=named)
        assert "401" in summary.aside["ja"]
        assert "wrong-key" not in summary.aside["ja"]


@pytest.mark.parametrize("model", ["openai-api/local/ja", "openai/ja", "vllm/ja", "inspect/openai-api/local/ja"])
def test_no_layer_below_asks_again(tmp_path: Path, model: str) -> None:
    planted = js.plant("rating", 1, ["en", "ar"], ["ja"])
    with js.running({**planted, "faults": {"500": 1.0}}) as server:
        path = js.write_plan(
            tmp_path, server.url, "rating", planted, defaults={"retries": 1, "concurrency": 1, "timeout": 30}
        )
        raw = json.loads(path.read_text())
        raw["judges"] = [{"name": "ja", "model": model}]
        path.write_text(json.dumps(raw))
        summary = collect(load_plan(path), tmp_path / "run", send_key=[f"LOCAL_API_KEY={server.url.split('/')[2]}"])
        asked = server.stats()["total"]
    assert summary.failed == {"ja": 2}
    assert summary.judges["errors"].tolist() == [4]
    assert asked == 4


def test_retry_after_is_honoured_once(tmp_path: Path) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "faults": {"429": 0.5}, "retry_after": "0.15"}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        assert collect(load_plan(path), tmp_path / "run").complete
        refused = server.stats()["requests"]["429"]
    assert rows(tmp_path / "run", "select count(*) from errors") == [(refused,)]
    waits = rows(
        tmp_path / "run",
        "select a.at - a.latency - e.at from answers a join errors e using (task, replicate, language, judge, part) "
        "where e.attempt = a.attempt - 1",
    )
    assert len(waits) >= 2
    assert min(wait for (wait,) in waits) > 0.135
    with js.running({**planted, "faults": {"429": 0.5}, "retry_after": "99"}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"max_wait": 10})
        summary = collect(load_plan(path), tmp_path / "far")
    assert not lacks(next(iter(summary.aside.values())), "99 s")


@pytest.mark.parametrize("said", [7, 10**40, 2**63, -5, 1e300, "many", True])
def test_an_absurd_count_of_tokens_is_estimated(tmp_path: Path, said: object) -> None:
    planted = js.plant("rating", 1, ["en"], ["ja"])
    with js.running({**planted, "usage": {"prompt_tokens": said}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        assert collect(load_plan(path), tmp_path / "run").complete
    ((kept,),) = rows(tmp_path / "run", "select input_tokens from answers")
    assert kept == 7 if said == 7 else 50 < kept < 1000


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_rates_per_minute_are_kept(tmp_path: Path, limit: str) -> None:
    planted = js.plant("rating", 8, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        tokens = 300.0  # about; counted below
        rate = 1200 if limit == "requests_per_minute" else 1200 * tokens
        raw = json.loads(path.read_text())
        raw["judges"][0][limit] = rate
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), tmp_path / "run").complete
    times = [t for (t,) in rows(tmp_path / "run", "select at - latency from answers where judge = 'ja' order by 1")]
    used = rows(tmp_path / "run", "select sum(input_tokens + output_tokens) from answers where judge = 'ja'")[0][0]
    expected = 15 * 60 / 1200 if limit == "requests_per_minute" else used * 15 / 16 / rate * 60
    assert times[-1] - times[0] >= 0.9 * expected


def test_concurrency_is_kept_and_a_fast_judge_waits_for_a_slow_one(tmp_path: Path) -> None:
    planted = js.plant("rating", 30, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "delay": 0.01}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, lead=4, defaults={"concurrency": 3})
        raw = json.loads(path.read_text())
        raw["judges"][0]["requests_per_minute"] = 3000
        path.write_text(json.dumps(raw))
        collect(load_plan(path), tmp_path / "run")
        assert server.stats()["most"] <= 6
    # In the order of being stored: no item of one judge is far ahead of the other's first unfinished one.
    place = {"ja": 0, "jb": 0}
    count = {"ja": [0] * 30, "jb": [0] * 30}
    for judge, task in rows(tmp_path / "run", "select judge, task from answers order by at"):
        item = int(task[1:])
        assert item <= min(place.values()) + 4 + 1 + 3  # and what was under way
        count[judge][item] += 1
        while place[judge] < 30 and count[judge][place[judge]] == 2:
            place[judge] += 1


def test_a_full_disk_is_an_error_not_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.second.collect import store

    planted = js.plant("rating", 10, ["en", "ar"], ["ja", "jb"])
    write = store.Writer._write
    count = 0

    def failing(self: Any, record: Any) -> None:
        nonlocal count
        count += 1
        if count > 15:
            raise sqlite3.OperationalError("database or disk is full")
        write(self, record)

    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        monkeypatch.setattr(store.Writer, "_write", failing)
        with refused(CollectError, "disk is full"):
            collect(load_plan(path), tmp_path / "run")
        monkeypatch.undo()
        os.environ["LOCAL_API_KEY"] = KEY
        assert collect(load_plan(path), tmp_path / "run").complete
    assert rows(tmp_path / "run", "select count(*) from answers") == [(40,)]


def test_answers_that_arrive_together_are_all_kept_whatever_a_statement_may_hold(tmp_path: Path) -> None:
    from polyjudge.second.collect.store import Answer, Key, Usage, Writer, check_answers, create_store

    con = create_store(tmp_path)
    con.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 60)  # two answers at a time
    writer = Writer(con)
    answers = [
        Answer(Key(f"t{i}", "", "", 0, "en", "j", ""), f"h{i % 3}", "p", "a", float(i), "strict", None, Usage(), 0.1, 1,
               "m", "stop")
        for i in range(7)
    ]  # fmt: skip
    writer.put([*answers, answers[0]])
    writer.close()
    check_answers(con)
    con.close()
    assert rows(tmp_path, "select score from answers order by task") == [(float(i),) for i in range(7)]
    assert rows(tmp_path, "select count(*) from prompts") == [(3,)]


# --- secrets ---


def test_a_key_is_nowhere_but_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = js.plant("rating", 4, ["en", "ar"], ["ja", "jb"])
    wrong = "sk-wrong-fedcba9876543210"
    home = tmp_path / "home"
    home.mkdir()
    for name, value in {"HOME": home, "XDG_DATA_HOME": home / "data", "LOCAL_API_KEY": wrong}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    # The server sends a wrong key back in its error, as some services do.
    with js.running({**planted, "key": KEY, "delay": 0.05}) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        command = ["collect", str(path), "-o", str(tmp_path / "run")]
        known_secrets.cache_clear()
        done = js.command(*command)
        assert done.returncode == 1, done.stderr
        assert wrong not in done.stdout + done.stderr
        assert not lacks(done.stdout, "401", "[key]")
        monkeypatch.setenv("LOCAL_API_KEY", KEY)
        process = subprocess.Popen(
            [sys.executable, "-m", "polyjudge", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        server.wait(lambda: process.poll() is None, answered=2)
        arguments = Path(f"/proc/{process.pid}/cmdline")
        if arguments.exists():
            assert KEY.encode() not in arguments.read_bytes()
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert KEY not in out + errors
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.name == "store.sqlite" for file in files)
    for file in files:
        data = file.read_bytes()
        assert KEY.encode() not in data, file
        assert wrong.encode() not in data, file


def test_redaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "very-secret-value")
    known_secrets.cache_clear()
    assert redact("x very-secret-value y") == "x [key] y"
    assert redact("nothing here") == "nothing here"
