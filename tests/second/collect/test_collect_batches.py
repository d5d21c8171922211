"""Batches against a real server with the batch endpoints: durable, few, never paid twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan
from refusals import lacks

BATCH = {"batch": True, "batch_poll": 0.05, "timeout": 60}


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / "store.sqlite")
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def models(path: Path, prefix: str) -> None:
    raw = json.loads(path.read_text())
    raw["judges"] = [{**j, "model": f"{prefix}/{j['name']}"} for j in raw["judges"]]
    if prefix == "anthropic":
        raw["defaults"]["base_url"] = raw["defaults"]["base_url"].removesuffix("/v1")
    path.write_text(json.dumps(raw))


@pytest.mark.parametrize("prefix", ["openai-api/local", "anthropic"])
def test_a_batch_gives_the_same_panel_at_half_the_price(tmp_path: Path, prefix: str) -> None:
    planted = js.plant("pair", 12, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "batch_delay": 0.2}) as server:
        path = js.write_plan(tmp_path, server.url, "pair", planted)
        single = collect(load_plan(path), tmp_path / "single")
        server.reset()
        path = js.write_plan(tmp_path, server.url, "pair", planted, defaults=BATCH)
        models(path, prefix)
        batched = collect(load_plan(path), tmp_path / "batched")
        seen = server.stats()
    assert batched.complete
    assert (seen["batches"], seen["batched"], seen["total"]) == (2, 96, 96)  # one for each judge
    assert pj.read_panel(tmp_path / "batched").fingerprint == pj.read_panel(tmp_path / "single").fingerprint
    assert batched.cost == pytest.approx((single.cost or 0) / 2)


def test_unreadable_and_failed_lines_go_into_a_next_batch(tmp_path: Path) -> None:
    planted = js.plant("rating", 20, ["en", "ar"], ["ja"])
    with js.running({**planted, "faults": {"500": 0.1, "prose": 0.2}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=BATCH, rubric={"reask": 6})
        summary = collect(load_plan(path), tmp_path / "run")
        seen = server.stats()
    assert summary.complete
    assert summary.missing == 0
    assert 2 <= seen["batches"] <= 6
    kinds = dict(rows(tmp_path / "run", "select kind, count(*) from errors group by kind"))
    assert set(kinds) == {"batch", "unreadable"}
    assert seen["batched"] == 40 + sum(kinds.values())
    assert rows(tmp_path / "run", "select count(*) from answers where reminded")[0][0] > 0


def test_a_killed_batch_is_fetched_and_not_sent_again(tmp_path: Path) -> None:
    planted = js.plant("rating", 15, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "batch_delay": 1.0}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=BATCH)
        process = js.begin(str(path), str(tmp_path / "run"), "a-key-for-loopback")
        while server.stats()["batches"] < 2 and process.is_alive():
            time.sleep(0.02)
        while len(rows(tmp_path / "run", "select 1 from batches where state = 'sent'")) < 2:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert rows(tmp_path / "run", "select count(*) from answers") == [(0,)]
        summary = collect(load_plan(path), tmp_path / "run")
        seen = server.stats()
    assert summary.complete
    assert (seen["batches"], seen["batched"]) == (2, 60)
    assert rows(tmp_path / "run", "select count(*), count(distinct checksum) from answers") == [(60, 60)]
    assert rows(tmp_path / "run", "select distinct state from batches") == [("done",)]


@pytest.mark.parametrize("prefix", ["openai-api/local", "anthropic"])
def test_a_batch_whose_receipt_was_lost_is_found_again(tmp_path: Path, prefix: str) -> None:
    planted = js.plant("rating", 10, ["en", "ar"], ["ja"])
    with js.running({**planted, "drop_created": True}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=BATCH)
        models(path, prefix)
        assert collect(load_plan(path), tmp_path / "run").complete
        assert server.stats()["batched"] == 20


def test_a_run_that_died_while_sending_adopts_the_batch(tmp_path: Path) -> None:
    planted = js.plant("rating", 10, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=BATCH)
        assert collect(load_plan(path), tmp_path / "run").complete
        con = sqlite3.connect(tmp_path / "run" / "store.sqlite")
        con.execute("update batches set state = 'sending', remote = null, ended = null")
        con.execute("delete from answers")
        con.commit()
        con.close()
        assert collect(load_plan(path), tmp_path / "run").complete
        assert server.stats()["batched"] == 20  # nothing was sent twice
        raw = json.loads(path.read_text())
        con = sqlite3.connect(tmp_path / "run" / "store.sqlite")
        con.execute("update batches set state = 'sent'")
        con.execute("delete from answers")
        con.commit()
        con.close()
        raw["defaults"]["batch"] = False
        path.write_text(json.dumps(raw))
        summary = collect(load_plan(path), tmp_path / "run")
        assert list(summary.aside) == ["ja"]
        assert summary.batches == 1
        assert server.stats()["total"] == 20


def test_batches_keep_within_the_budget(tmp_path: Path) -> None:
    planted = js.plant("rating", 30, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        defaults = {**BATCH, "settings": {"max_tokens": 40}}
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=defaults)
        full = collect(load_plan(path), tmp_path / "full").cost or 0
        part = collect(load_plan(path), tmp_path / "part", max_cost=full / 2)
        assert part.stopped == "cost"
        assert 0 < (part.cost or 0) <= full / 2
        assert not part.complete


def test_providers_without_batches_are_refused_with_a_reason(tmp_path: Path) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=BATCH)
        raw = json.loads(path.read_text())
        raw["judges"] = [{"name": "ja", "model": "vllm/ja"}, {"name": "jb", "model": "mockllm/jb", "base_url": None}]
        path.write_text(json.dumps(raw))
        summary = collect(load_plan(path), tmp_path / "run", send_key=["MOCKLLM_API_KEY=127.0.0.1"])
        assert server.stats()["total"] == 0
    assert not lacks(summary.aside["ja"], "vllm", "batches")
    assert "jb" in summary.aside


@pytest.mark.parametrize("prefix", ["openai-api/local", "anthropic"])
@pytest.mark.parametrize("trouble", [{"create_500": True}, {"drop_created": True}])
def test_a_batch_that_was_made_all_the_same_is_not_paid_twice(
    tmp_path: Path, prefix: str, trouble: dict[str, Any]
) -> None:
    planted = js.plant("rating", 10, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, **trouble, "no_metadata": True}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"batch": True, "batch_poll": 0.05})
        models(path, prefix)
        assert collect(load_plan(path), tmp_path / "run").complete
        assert server.stats()["batched"] == 40


def test_a_batch_that_vanished_is_asked_anew_and_said(tmp_path: Path) -> None:
    planted = js.plant("rating", 4, ["en", "ar"], ["ja"])
    with js.running({**planted, "gone": ["batch-0"]}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"batch": True, "batch_poll": 0.05})
        summary = collect(load_plan(path), tmp_path / "run")
        assert summary.complete
        assert server.stats()["batched"] == 16
    kinds = rows(tmp_path / "run", "select distinct kind, estimated from errors")
    assert kinds == [("batch", 1)]
    assert rows(tmp_path / "run", "select note from batches where id = 1")[0][0].startswith("gone")


@pytest.mark.parametrize("output", [20, 30_000])
def test_few_batches_and_no_more_than_the_limit(tmp_path: Path, output: int) -> None:
    planted = js.plant("rating", 20, ["en", "ar"], ["ja"])
    with js.running({**planted, "output": output}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"batch": True, "batch_poll": 0.02})
        each = (330 + 2 * output) / 2e6
        collect(load_plan(path), tmp_path / "run", max_cost=25 * each)
        stats = server.stats()
        assert stats["batches"] <= 5
        tokens_in, tokens_out = stats["billed"]
        assert (tokens_in + 2 * tokens_out) / 2e6 <= 25 * each * 1.1
