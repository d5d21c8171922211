"""Judges that are code: stored, resumed, limited and checked like any other. And the first calls of a plan."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import sqlite3
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect.askers import make_asker
from polyjudge.second.collect.models import Ask, ChatAsker, Problem
from polyjudge.second.collect.plan import Judge, load_plan
from polyjudge.second.collect.preview import first_calls
from polyjudge.second.collect.runner import collect
from polyjudge.second.collect.store import FILE
from polyjudge.second.panel.errors import CollectError
from refusals import lacks, refused


def code_plan(folder: Path, judges: list[dict[str, Any]], kind: str = "rating", tasks: int = 6, **more: Any) -> Path:
    planted = js.plant(kind, tasks, ["en", "ar"], ["ja"])
    path = js.write_plan(folder, "http://127.0.0.1:9/v1", kind, planted, **more)
    shutil.copyfile(Path(__file__).with_name("my_judges.py"), folder / "my_judges.py")
    raw = json.loads(path.read_text())
    raw["judges"] = judges
    del raw["defaults"]["base_url"]
    path.write_text(json.dumps(raw))
    return path


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / FILE)
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def test_functions_plain_and_async_are_judges(tmp_path: Path) -> None:
    judges: list[dict[str, Any]] = [
        {"model": "python:my_judges:plain"},
        {"model": "python:my_judges:later", "model_args": {"shift": 1}},
        {"model": "python:my_judges:with_item", "name": "item"},
    ]
    path = code_plan(tmp_path, judges)
    assert collect(load_plan(path), tmp_path / "run").complete
    panel = pj.read_panel(tmp_path / "run")
    assert panel.judges == ("plain", "later", "item")
    wide = panel.to_long().set_index(["task", "language", "judge"])["score"]
    assert [wide[f"t000{i}", "ar", "plain"] for i in range(6)] == [1, 2, 3, 4, 5, 1]
    assert [wide[f"t000{i}", "en", "later"] for i in range(6)] == [1, 1, 2, 3, 4, 1]
    assert (wide["t0000", "en", "item"], wide["t0000", "ar", "item"]) == (5, 2)
    used = rows(
        tmp_path / "run", "select distinct input_tokens, output_tokens, estimated from answers where judge = 'item'"
    )
    assert used == [(100, 10, 0)]


def test_a_function_judges_checklists(tmp_path: Path) -> None:
    path = code_plan(tmp_path, [{"model": "python:my_judges:strict"}], "checklist", tasks=3)
    assert collect(load_plan(path), tmp_path / "run").complete
    assert set(pj.read_panel(tmp_path / "run").to_long()["score"]) == {50.0}


def test_a_function_goes_on_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = code_plan(tmp_path, [{"model": "python:my_judges:plain", "concurrency": 2}], tasks=20)
    monkeypatch.setenv("JUDGED", str(tmp_path / "judged"))
    monkeypatch.setenv("SLOWLY", "0.05")
    for _ in range(3):
        process = js.begin(str(path), str(tmp_path / "run"), "k")
        until = time.monotonic() + 20
        while process.is_alive() and time.monotonic() < until:
            if (tmp_path / "run" / FILE).exists() and rows(tmp_path / "run", "select count(*) from answers")[0][0] >= 3:
                break
            time.sleep(0.02)
        process.kill()
        process.join()
    monkeypatch.setenv("SLOWLY", "0")
    assert collect(load_plan(path), tmp_path / "run").complete
    assert rows(tmp_path / "run", "select count(*) from answers") == [(40,)]
    assert len((tmp_path / "judged").read_text().splitlines()) <= 40 + 3 * 2  # what was in flight at each kill


def test_a_function_is_limited_and_set_aside_like_any_other(tmp_path: Path) -> None:
    path = code_plan(tmp_path, [{"model": "python:my_judges:fails", "retries": 1, "give_up_after": 2, "price": None}])
    summary = collect(load_plan(path), tmp_path / "run")
    assert "out of memory" in summary.aside["fails"]
    raw = json.loads(path.read_text())
    raw["judges"] = [{"model": "python:my_judges:with_item", "name": "item"}]
    path.write_text(json.dumps(raw))
    limited = collect(load_plan(path), tmp_path / "limited", max_cost=5 * 120e-6)
    assert limited.stopped == "cost"
    assert (limited.cost or 0) <= 5 * 120e-6
    del raw["defaults"]["price"]
    path.write_text(json.dumps(raw))
    with refused(CollectError, "--max-cost", "item"):
        collect(load_plan(path), tmp_path / "unpriced", max_cost=1)


@pytest.mark.parametrize(
    "model", ["python:os:system", "python:subprocess:run", "python:builtins:eval", "scorer:os:system"]
)
def test_parts_of_python_are_no_judges(tmp_path: Path, model: str) -> None:
    path = code_plan(tmp_path, [{"model": model, "name": "evil"}])
    assert "evil" in collect(load_plan(path), tmp_path / "run").aside


def test_an_inspect_scorer_is_a_judge(tmp_path: Path) -> None:
    path = code_plan(tmp_path, [{"model": "scorer:my_judges:graded", "model_args": {"good": "t0002"}}])
    assert collect(load_plan(path), tmp_path / "run").complete
    wide = pj.read_panel(tmp_path / "run").to_long().set_index(["task", "language"])["score"]
    assert [wide[f"t000{i}", "en"] for i in range(4)] == [1, 1, 5, 1]
    answer = rows(tmp_path / "run", "select answer from answers where task = 't0002' limit 1")[0][0]
    assert json.loads(answer)["reason"] == "Do t0002."


# --- the clients of other providers ---


PROVIDERS = {
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0": "aioboto3", "openai/azure/gpt-4o": "openai",
    "perplexity/sonar": "openai", "sambanova/x": "openai", "inspect/openai/gpt-4o": "openai",
    "inspect/together/x": "openai", "inspect/fireworks/x": "openai", "azureai/gpt-4o": "azure.ai.inference",
    "google/gemini-2.5-flash": "google.genai", "inspect/anthropic/claude-haiku-4-5": "anthropic",
    "inspect/mistral/x": "mistralai", "inspect/groq/x": "groq",
}  # fmt: skip
"""Model -> the package of its client, all of them in the requirements of the tests."""


@pytest.mark.parametrize("model", PROVIDERS)
def test_the_client_of_every_provider_is_made_and_asks(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No keyword of another version: each sends one request, which nobody answers. `make lowest` asks the same of the
    lowest versions. Where a package is absent, that is said, with what to install."""
    for name in ("OPENAI", "PERPLEXITY", "SAMBANOVA", "TOGETHER", "FIREWORKS", "GOOGLE", "ANTHROPIC", "GROQ", "MISTRAL",
                 "AZUREAI", "AZUREAI_OPENAI"):  # fmt: skip
        monkeypatch.setenv(f"{name}_API_KEY", "local-key-0123456789")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local-key-0123456789")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    judge = Judge.model_validate({"model": model, "base_url": "http://127.0.0.1:9", "timeout": 20})

    async def ask() -> None:
        asker = make_asker(judge, None, None, ["127.0.0.1:9"])
        try:
            await asker.ask(Ask("Hello"))
        finally:
            await asker.close()

    with pytest.raises(Problem) as caught:
        asyncio.run(ask())
    if caught.value.fatal and importlib.util.find_spec(PROVIDERS[model].partition(".")[0]) is None:
        assert "pip install" in caught.value.message
        return
    assert caught.value.kind == "connection", caught.value.message
    assert caught.value.unreachable
    assert caught.value.retry


def test_a_service_that_wants_another_name_for_max_tokens_is_bounded_all_the_same() -> None:
    base = {"model": "openai-api/here/m", "base_url": "http://127.0.0.1:9", "settings": {"max_tokens": 50}}
    asker = make_asker(Judge.model_validate(base), None, None, [])
    assert isinstance(asker, ChatAsker)
    assert asker.body(Ask("x"))["max_tokens"] == 50
    assert asker.leave_out("max_tokens")
    body = asker.body(Ask("x"))
    assert (body["max_completion_tokens"], "max_tokens" in body) == (50, False)


# --- the first calls ---


PLANTED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # name -> server, judge, the problem that is named
    "wrong key": ({"dead": {"ja": 401}}, {}, "key"),
    "no such model": ({"dead": {"ja": 404}}, {}, "model"),
    "nobody there": ({}, {"base_url": "http://127.0.0.1:9/v1"}, "address"),
    "moved": ({"dead": {"ja": 302}}, {}, "address"),
    "no money": ({"dead": {"ja": 402}}, {}, "money"),
    "too fast": ({"dead": {"ja": 429}}, {}, "rate"),
    "refuses": ({"says": "I'm sorry, I can't do that."}, {}, "refused"),
    "prose": ({"says": "A fine piece of work."}, {}, "unreadable"),
    "cut": ({"stop": "length"}, {}, "cut"),
    "another scale": ({"says": '{"score": 87}'}, {}, "off the scale"),
    "no answer in time": ({"faults": {"hang": 1.0}}, {"timeout": 0.2}, "timeout"),
    "no json": ({"faults": {"malformed": 1.0}}, {}, "no chat api"),
    "too long": ({"too_long": ["t0000"]}, {}, "too long"),
    "unknown provider": ({}, {"model": "nonesuch/x", "base_url": None}, "setup"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_first_calls_name_what_is_wrong(tmp_path: Path, name: str) -> None:
    config, judge, problem = PLANTED[name]
    planted = js.plant("rating", 2, ["en", "ar"], ["ja", "jb"])
    if "says" in config or "stop" in config or "faults" in config or "too_long" in config:
        planted["cells"] = {k: {"ja": v["ja"]} for k, v in planted["cells"].items()}
    with js.running({**planted, **config}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        raw = json.loads(path.read_text())
        raw["judges"][0] |= judge
        path.write_text(json.dumps(raw))
        found = first_calls(load_plan(path))
        assert server.stats()["total"] <= 4  # one call per judge and language, no retries
    assert set(found.calls.loc[found.calls["judge"] == "ja", "problem"]) == {problem}
    assert set(found.calls.loc[found.calls["judge"] == "jb", "problem"]) <= {""}


def test_first_calls_that_are_well(tmp_path: Path) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "untempered": ["jb"], "reports": {"ja": "llama-7b"}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        done = js.command("collect", path, "--check")
        assert done.returncode == 0, done.stderr
        assert not lacks(done.stdout, "ja", "jb", "temperature", "llama-7b")
        found = json.loads(js.command("collect", path, "--check", "--json").stdout)
        assert [row["score"] for row in found["calls"]] == [js.Planted(planted).rating(j, "t0000", x, "all")
                                                             for j in ("ja", "jb") for x in ("en", "ar")]  # fmt: skip
        assert all(row["cost"] > 0 and row["seconds"] > 0 for row in found["calls"])
        assert {(n["judge"], n["note"]) for n in found["notes"]} == {("jb", "without"), ("ja", "other model")}
        server.set(dead={"ja": 401})
        assert js.command("collect", path, "--check").returncode == 1
        assert not (tmp_path / "run").exists()
    assert not lacks(js.command("collect", path, "--dry-run").stdout, "--check")


CLIENTS = {
    "litellm": """
async def ask(prompt):
    import litellm
    reply = await litellm.acompletion(
        model="openai/ja", api_base="URL", api_key="x", messages=[{"role": "user", "content": prompt}]
    )
    return reply.choices[0].message.content
""",
    "dspy": """
def ask(prompt):
    import dspy
    return dspy.LM("openai/ja", api_base="URL", api_key="x", cache=False)(prompt)[0]
""",
    "langchain_openai": """
def ask(prompt):
    from langchain_openai import ChatOpenAI
    return ChatOpenAI(model="ja", base_url="URL", api_key="x").invoke(prompt).content
""",
}


PLAIN = """
import json, urllib.request
def ask(prompt):
    body = json.dumps({"model": "ja", "messages": [{"role": "user", "content": prompt}]}).encode()
    head = {"Content-Type": "application/json", "Authorization": "Bearer x"}
    with urllib.request.urlopen(urllib.request.Request("URL/chat/completions", body, head)) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]
"""
"""A client of nobody's, where none of the libraries is installed."""


@pytest.mark.parametrize("library", [name for name in CLIENTS if find_spec(name)] or ["plain"])
def test_clients_of_other_libraries_are_judges_in_three_lines(tmp_path: Path, library: str) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        path = code_plan(tmp_path, [{"model": f"python:with_{library}:ask", "name": "ja"}], tasks=2)
        (tmp_path / f"with_{library}.py").write_text(CLIENTS.get(library, PLAIN).replace("URL", server.url))
        assert collect(load_plan(path), tmp_path / "run").complete
        wide = pj.read_panel(tmp_path / "run").to_long().set_index(["task", "language"])["score"]
        assert wide["t0001", "ar"] == js.Planted(planted).rating("ja", "t0001", "ar", "all")
