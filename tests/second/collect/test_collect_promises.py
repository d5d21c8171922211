"""What collecting promises about money, folders and failures, against a server that bills by its own meter."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import judge_server as js
from polyjudge.second.collect.desk import Desk, Limits, Status
from polyjudge.second.collect.plan import Judge, load_plan
from polyjudge.second.collect.preview import preview
from polyjudge.second.collect.runner import client_session, collect
from polyjudge.second.collect.spent import read_prices
from polyjudge.second.collect.store import FILE, LOCK
from polyjudge.second.panel.errors import CollectError, PanelError
from refusals import lacks, refused

INPUT, OUTPUT = 1e-6, 2e-6
"""Dollars a token of the plans that `write_plan` writes."""


def billed(server: js.Running) -> float:
    tokens_in, tokens_out = server.stats()["billed"]
    return float(tokens_in * INPUT + tokens_out * OUTPUT)


ROWS: dict[str, dict[str, Any]] = {
    "reasoning, truthful": {"output": 30_000},
    "max_tokens ignored": {"output": 6_000, "settings": {"max_tokens": 50}},
    "reasoning beside the output": {"output": 8_000, "usage": {"completion_tokens": 20}},
    "reasoning in its own field": {
        "output": 8_000,
        "usage": {
            "completion_tokens": 20,
            "total_tokens": None,
            "completion_tokens_details": {"reasoning_tokens": 8_000},
        },
    },
    "zeros": {"output": 900, "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}},
    "floats": {"output": 4_000, "usage": {"completion_tokens": 4000.0, "prompt_tokens": 300.0}},
    "texts": {"output": 4_000, "usage": {"completion_tokens": "4000", "prompt_tokens": "300", "total_tokens": "4300"}},
    "none": {"output": 900, "usage": {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}},
    "timeouts": {"output": 1_500, "faults": {"hang": 1.0}, "hang": 5, "timeout": 0.05, "retries": 3},
    "a system message": {"output": 20, "settings": {"system_message": "You are a judge. " * 400}},
}


@pytest.mark.parametrize("row", ROWS)
def test_the_bill_is_at_most_the_limit_and_one_round(tmp_path: Path, row: str) -> None:
    config = dict(ROWS[row])
    settings = config.pop("settings", {})
    more = {k: config.pop(k) for k in ("timeout", "retries") if k in config}
    planted = js.plant("rating", 40, ["en", "ar"], ["ja", "jb"])
    concurrency = 8
    with js.running({**planted, **config, "delay": 0.002}) as server:
        defaults = {"concurrency": concurrency, "settings": settings, **more}
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=defaults)
        system = len(settings.get("system_message", "")) // 4
        each = (330 + system) * INPUT + config["output"] * OUTPUT
        limit = 24 * each
        summary = collect(load_plan(path), tmp_path / "run", max_cost=limit)
        assert billed(server) <= limit + 2 * concurrency * each
        assert summary.stopped == "cost" or summary.aside
        assert summary.cost is not None
        assert summary.cost >= 0.8 * billed(server)
        assert summary.limit == limit


def test_an_unknown_price_starts_slowly() -> None:
    judge = Judge.model_validate({"model": "openai/x", "settings": {}})
    desk = Desk(judge, Status(judge="x", total=9), [Limits(judge)], 100.0, None)
    assert desk.worst_output == 2000
    desk.learn(300, 400, 30_000)
    assert desk.worst_output == 45_000
    bounded = Judge.model_validate({"model": "openai/x", "settings": {"max_tokens": 50}})
    desk = Desk(bounded, Status(judge="x", total=9), [Limits(bounded)], 100.0, None)
    assert desk.worst_output == 50
    desk.learn(300, 400, 40)
    assert desk.worst_output == 50
    desk.learn(300, 400, 70)
    assert desk.worst_output == 105  # the service does not keep to it


def run_command(*args: object, cwd: Path) -> subprocess.Popen[str]:
    code = "import sys; from polyjudge.second.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_ctrl_c_waits_for_what_is_in_flight_and_a_second_one_quits(tmp_path: Path) -> None:
    planted = js.plant("rating", 200, ["en", "ar"], ["ja"])
    with js.running({**planted, "delay": 1.0}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 8})
        process = run_command("collect", path, "-o", "run", cwd=tmp_path)
        server.wait(lambda: process.poll() is None, total=8)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
        assert process.returncode == 130, errors
        assert out.count("Run:") == 1
        con = sqlite3.connect(tmp_path / "run" / FILE)
        assert con.execute("select count(*) from answers").fetchone()[0] == server.stats()["total"] == 8
        con.close()
        server.set(delay=30.0)
        process = run_command("collect", path, "-o", "run", "--max-cost", 10, cwd=tmp_path)
        server.wait(lambda: process.poll() is None, total=16)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 130
        con = sqlite3.connect(tmp_path / "run" / FILE)
        broken = con.execute(
            "select count(*), sum(cost), min(estimated) from errors where kind = 'broken off'"
        ).fetchone()
        con.close()
        assert broken[0] == 8
        assert broken[1] > 0
        assert broken[2] == 1
        server.set(delay=0.0)
        collect(load_plan(path), tmp_path / "run", max_cost=10)
        con = sqlite3.connect(tmp_path / "run" / FILE)
        assert con.execute("select count(*) from errors where kind = 'killed'").fetchone() == (0,)
        con.close()


# --- failures ---


def test_one_item_that_is_too_long_sets_no_judge_aside(tmp_path: Path) -> None:
    planted = js.plant("checklist", 4, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "too_long": ["t0001"]}) as server:
        path = js.write_plan(tmp_path, server.url, "checklist", planted, requirements=12, lead=None)
        summary = collect(load_plan(path), tmp_path / "run")
        assert summary.aside == {}
        assert summary.failed == {"ja": 24, "jb": 24}
        assert summary.judges["remaining"].tolist() == [24, 24]
        done = js.command("collect", path, "-o", tmp_path / "run", "--skip-failed", "--json")
        found = json.loads(done.stdout)
        assert found["complete"]
        assert [row["missing"] for row in found["judges"]] == [24, 24]
        asked = server.stats()["total"]
        assert collect(load_plan(path), tmp_path / "run").complete
        assert server.stats()["total"] == asked


def test_many_texts_that_are_too_long_set_no_judge_aside(tmp_path: Path) -> None:
    planted = js.plant("rating", 14, ["en", "ar"], ["ja"])
    with js.running({**planted, "too_long": [f"t{i:04d}" for i in range(1, 13)]}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        summary = collect(load_plan(path), tmp_path / "run")
    assert summary.aside == {}
    assert (summary.judges["answered"].item(), summary.failed) == (4, {"ja": 24})


def test_a_server_that_is_not_there_is_said_within_seconds(tmp_path: Path) -> None:
    planted = js.plant("rating", 30, ["en", "ar"], ["ja"])
    path = js.write_plan(tmp_path, "http://127.0.0.1:9/v1", "rating", planted, defaults={"backoff": 1})
    started = time.monotonic()
    seen: list[str] = []
    summary = collect(load_plan(path), tmp_path / "run", watch=lambda judges: seen.extend(j.last or "" for j in judges))
    assert time.monotonic() - started < 8
    assert "127.0.0.1:9" in summary.aside["ja"]
    assert any("127.0.0.1:9" in text for text in seen)


def test_a_setting_that_a_service_does_not_know_is_left_out_and_said_once(tmp_path: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "untempered": ["jb"]}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        summary = collect(load_plan(path), tmp_path / "run")
        assert summary.complete
        assert summary.omitted == {"jb": ["temperature"]}
        bodies = server.stats()["bodies"]
        assert len([b for b in bodies if b["model"] == "jb" and "temperature" in b]) == 1
        assert all("temperature" in b for b in bodies if b["model"] == "ja")


def test_a_judge_without_answers_may_change_its_settings(tmp_path: Path) -> None:
    planted = js.plant("rating", 3, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "dead": {"jb": 401}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        assert set(collect(load_plan(path), tmp_path / "run").aside) == {"jb"}
        server.set(dead={})
        raw = json.loads(path.read_text())
        raw["judges"][1]["settings"] = {"temperature": 1}
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), tmp_path / "run").complete
        raw["judges"][1]["settings"] = {"temperature": 0.5}
        path.write_text(json.dumps(raw))
        with refused(CollectError, "jb", "settings"):
            collect(load_plan(path), tmp_path / "run")


STOPS = ("content_filter", "error", "abort", "MAX_TOKENS", "cancelled", "SAFETY", "OTHER", "unknown", "tool_calls", "x")


@pytest.mark.parametrize("stop", STOPS)
def test_an_answer_that_did_not_end_well_is_no_score(tmp_path: Path, stop: str) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    with js.running({**planted, "stop": stop, "says": '{"score": 1}'}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric={"reask": 0})
        summary = collect(load_plan(path), tmp_path / "run")
    assert summary.missing == 4
    assert summary.refused == (4 if stop in ("content_filter", "SAFETY") else 0)


@pytest.mark.parametrize(
    "says", ["I'm sorry, but I can't help with that.", "Lo siento, no puedo.", "申し訳ありませんが"]
)
def test_refusals_are_told_from_unreadable_answers(tmp_path: Path, says: str) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    with js.running({**planted, "says": says}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric={"reask": 1})
        done = js.command("collect", path, "-o", tmp_path / "run")
        assert "are answered" not in done.stdout
        found = json.loads(js.command("collect", "-o", tmp_path / "run", "--json").stdout)
    assert [(row["missing"], row["refused"]) for row in found["judges"]] == [(4, 4)]


# --- folders and files ---


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path / "plan", server.url, "rating", planted)
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "lock").write_text("a lock of mine")
        (mine / LOCK).write_text("and another")
        with refused(CollectError, "mine", "lock", "-o"):
            collect(load_plan(path), mine)
        assert {p.name: p.read_text() for p in mine.iterdir()} == {"lock": "a lock of mine", LOCK: "and another"}
        assert server.stats()["total"] == 0
        (mine / "lock").unlink()
        with refused(CollectError, LOCK):
            collect(load_plan(path), mine)
        (mine / LOCK).write_text("1234567")  # a process that is gone
        assert collect(load_plan(path), mine).complete


@pytest.mark.parametrize(
    "sql",
    [
        "create trigger t after insert on answers begin update answers set score = 5; end",
        "create trigger t after update on items begin update answers set score = 5; end",
        "create view v as select 1",
        "create table extra (x)",
        "create index other on answers (score)",
        "alter table answers add column more text",
    ],
)
def test_a_store_with_anything_else_in_it_is_refused(tmp_path: Path, sql: str) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        collect(load_plan(path), tmp_path / "run")
        con = sqlite3.connect(tmp_path / "run" / FILE)
        con.execute(sql)
        con.commit()
        con.close()
        for read in (lambda: collect(load_plan(path), tmp_path / "run"), lambda: js_panel(tmp_path / "run")):
            with refused(CollectError, FILE):
                read()


def js_panel(folder: Path) -> Any:
    import polyjudge as pj

    return pj.read_panel(folder)


@pytest.mark.parametrize("what", ["plan", "prices"])
@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_a_pipe_or_a_device_is_no_plan_and_no_price_file(tmp_path: Path, what: str, kind: str) -> None:
    odd = tmp_path / "odd"
    if kind == "fifo":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero")
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    path = js.write_plan(tmp_path / "p", "http://127.0.0.1:9/v1", "rating", planted, prices=str(odd))
    with refused(PanelError, "pipe"):
        preview(load_plan(odd if what == "plan" else path))


# --- before a run ---


def test_a_dry_run_refuses_judges_that_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    planted = js.plant("rating", 2, ["en", "tr"], ["ja"])
    path = js.write_plan(tmp_path, "http://127.0.0.1:9/v1", "rating", planted)
    assert js.command("collect", path, "--dry-run").returncode == 0
    raw = json.loads(path.read_text())
    del raw["defaults"]["base_url"]
    raw["rubric"]["criteria"] = "- The answer is right."
    raw["judges"] = [
        {"model": "nonesuch/model", "name": "unknown"},
        {"model": "openai/gpt-4o", "name": "keyless"},
        {"model": "openai-api/nowhere/x", "name": "nowhere"},
        {"model": "python:no_such_module_here:judge", "name": "code"},
    ]
    path.write_text(json.dumps(raw))
    done = js.command("collect", path, "--dry-run")
    assert done.returncode == 2
    assert not lacks(done.stdout, "unknown", "OPENAI_API_KEY", "NOWHERE_BASE_URL", "no_such_module_here")
    found = preview(load_plan(path))
    assert set(found.unusable) == {"unknown", "keyless", "nowhere", "code"}
    assert found.one_rubric == ["tr"]


def test_a_response_that_was_not_asked_for_is_no_answer(tmp_path: Path) -> None:
    """A server that sends one reply too many on a connection, after a while: a score of 1 that belongs to nobody."""
    planted = js.plant("rating", 4, ["en", "ar"], ["ja"])
    stray = threading.Thread(
        target=_stray_server, args=(server := socket.create_server(("127.0.0.1", 0)),), daemon=True
    )
    stray.start()
    path = js.write_plan(
        tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}/v1", "rating", planted,
        defaults={"concurrency": 1, "requests_per_minute": 120},  # time for it to arrive, also on a busy machine
    )  # fmt: skip
    assert collect(load_plan(path), tmp_path / "run").complete
    con = sqlite3.connect(tmp_path / "run" / FILE)
    assert con.execute("select distinct score from answers").fetchall() == [(5.0,)]
    con.close()
    server.close()


def test_of_many_idle_connections_none_with_a_stray_response_is_used() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_stray_server, args=(server,), daemon=True).start()
    url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"

    async def ask() -> list[Any]:
        async with client_session() as session:

            async def one() -> Any:
                async with session.post(url, data=b"{}") as response:
                    return json.loads((await response.json())["choices"][0]["message"]["content"])["score"]

            first = await asyncio.gather(*(one() for _ in range(4)))
            await asyncio.sleep(0.5)
            return [*first, *await asyncio.gather(*(one() for _ in range(6)))]

    assert asyncio.run(ask()) == [5] * 10
    server.close()


def test_a_proxy_of_the_environment_is_used_and_nothing_of_netrc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge server stands in for a proxy: it sees requests for a host that does not exist."""
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    (tmp_path / "netrc").write_text("machine judge.invalid login me password my-own-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with js.running({**planted, "key": "sk-planted-0123456789abcdef"}) as server:
        monkeypatch.setenv("LOCAL_API_KEY", "sk-planted-0123456789abcdef")
        monkeypatch.setenv("LOCAL_BASE_URL", "http://judge.invalid/v1")
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "elsewhere.invalid")
        path = js.write_plan(tmp_path, "http://judge.invalid/v1", "rating", planted)
        assert collect(load_plan(path), tmp_path / "run").complete
        monkeypatch.setenv("no_proxy", "judge.invalid")
        assert not collect(load_plan(path), tmp_path / "other").complete


def _stray_server(server: socket.socket) -> None:
    def reply(score: int) -> bytes:
        message = {"role": "assistant", "content": json.dumps({"score": score, "reason": "x"})}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}}).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def serve(connection: socket.socket) -> None:
        data = b""
        with suppress(OSError):
            while chunk := connection.recv(65536):
                data += chunk
                head, found, rest = data.partition(b"\r\n\r\n")
                size = re.search(rb"content-length: *(\d+)", head.lower())
                if not found or size is None or len(rest) < int(size[1]):
                    continue
                data = rest[int(size[1]) :]
                connection.sendall(reply(5))
                time.sleep(0.02)
                connection.sendall(reply(1))

    with suppress(OSError):
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


def test_calls_in_flight_at_a_kill_are_counted(tmp_path: Path) -> None:
    planted = js.plant("rating", 60, ["en", "ar"], ["ja"])
    with js.running({**planted, "delay": 0.2}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 8})
        for k in range(3):
            process = run_command("collect", path, "-o", "run", "--max-cost", 1, cwd=tmp_path)
            server.wait(lambda process=process: process.poll() is None, total=30 * (k + 1))
            process.kill()
            process.communicate()
        server.set(delay=0.0)
        summary = collect(load_plan(path), tmp_path / "run", max_cost=1)
        assert summary.complete
        assert summary.cost is not None
        assert billed(server) <= summary.cost <= 2 * billed(server)
        before = summary.cost
        assert collect(load_plan(path), tmp_path / "run", max_cost=1).cost == before


def test_a_pipe_is_no_file_of_prices_and_no_template(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "prices.csv")
    with refused(PanelError, "prices.csv"):
        read_prices(tmp_path / "prices.csv")
    (tmp_path / "prompts" / "en").mkdir(parents=True)
    os.mkfifo(tmp_path / "prompts" / "en" / "rating.txt")
    planted = js.plant("rating", 2, ["en"], ["ja"])
    path = js.write_plan(
        tmp_path / "p", "http://127.0.0.1:9/v1", "rating", planted, rubric={"templates": str(tmp_path / "prompts")}
    )
    with refused(PanelError, "rating.txt"):
        preview(load_plan(path))


def test_a_judge_whose_price_of_a_call_is_unknown_has_one_in_flight(tmp_path: Path) -> None:
    planted = js.plant("rating", 20, ["en", "ar"], ["ja"])
    with js.running({**planted, "output": 30_000, "delay": 0.05}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 16})
        summary = collect(load_plan(path), tmp_path / "run", max_cost=0.07)  # a call costs 0.06, and looks like 0.004
        assert server.stats()["total"] == 1
        assert summary.stopped == "cost"
