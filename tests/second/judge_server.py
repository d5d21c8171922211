"""A judge on loopback that speaks the OpenAI chat API, in a process of its own.

Its scores follow a planted additive model: the judged text carries a mark `[[task language part]]`, and the score is a
sum of task, language, judge and interaction terms, rounded at random (by a hash) to the scale, so that its expectation
is the planted one. The answer depends on the prompt and the model alone. Faults come at set rates, by a hash of prompt,
model and the number of times it was asked.

With "seeing" in its configuration the judges of `seeing_judges.py` answer instead.

    python judge_server.py      prints its port, then serves until its standard input closes

It is configured over HTTP (/begin), so that tests one after the other share a process.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import io
import json
import math
import multiprocessing
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from email.utils import formatdate
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parent))
from seeing_judges import Seeing

MARK = re.compile(r"\[\[(\S+) (\S+) (\S+)\]\]")
REQUIREMENT = re.compile(r"\(\((\S+)\)\)")
FAULTS = ("429", "500", "hang", "cut", "empty", "malformed", "prose", "slow")


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class Planted:
    """Scores with known expectation."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config

    def rating(self, model: str, task: str, language: str, part: str) -> int:
        """1..5, expectation 3 plus or minus half the margin for a pair."""
        c = self.config
        value = c["mean"] + c["task"].get(task, 0.0) + c["cells"][language][model]
        mean = {"chosen": 3 + value / 2, "rejected": 3 - value / 2}.get(part, value)
        low = int(mean // 1)
        return min(5, max(1, low + (uniform("round", model, task, language, part) < mean - low)))

    def verdict(self, model: str, task: str, language: str, part: str) -> bool:
        """Satisfied with the planted probability (cells in percent)."""
        c = self.config
        chance = (c["mean"] + c["task"].get(task, 0.0) + c["cells"][language][model]) / 100
        return uniform("verdict", model, task, language, part) < chance

    def answer(self, model: str, prompt: str) -> str:
        mark = MARK.search(prompt)
        assert mark is not None
        if "<answer-a-" in prompt:
            first = MARK.findall(prompt)[0][2]
            better = "chosen" if self.rating(model, mark[1], mark[2], "all") >= 3 else "rejected"
            share = self.config.get("lean", 0.0)  # of verdicts that follow the slot, by all judges or by each
            share = share.get(model, 0.0) if isinstance(share, dict) else share
            lean = uniform("position", model, mark[1], mark[2]) < share
            return json.dumps({"winner": "A" if lean or first == better else "B", "reason": "because"})
        if '"scores"' in prompt:
            names = re.findall(r'"(\w+)": <', prompt.split('"scores": {')[1])
            rated = {name: self.rating(model, *mark.groups()[:2], name) for name in names}
            return json.dumps({"scores": rated, "reason": "because"})
        if "<requirements-" in prompt:
            ids = [i for i in REQUIREMENT.findall(prompt)]
            tags = ["<satisfied>" if self.verdict(model, *mark.groups()[:2], i) else "<unsatisfied>" for i in ids]
            return "\n".join(f"{i}: {tag}" for i, tag in enumerate(tags, 1))
        if "<requirement-" in prompt:
            found = REQUIREMENT.search(prompt)
            assert found is not None
            return "Seen.\n" + ("<satisfied>" if self.verdict(model, mark[1], mark[2], found[1]) else "<unsatisfied>")
        return json.dumps({"score": self.rating(model, *mark.groups()), "reason": "because"})


class Server(asyncio.Protocol):
    """One connection. HTTP/1.1 with keep-alive, just enough of it."""

    config: dict[str, Any]
    planted: Planted | Seeing
    asked: ClassVar[Counter[str]] = Counter()
    requests: ClassVar[Counter[str]] = Counter()
    state: ClassVar[dict[str, int]] = {"flying": 0, "most": 0, "answered": 0}
    bodies: ClassVar[list[dict[str, Any]]] = []
    tasks: ClassVar[set[asyncio.Task[None]]] = set()

    def connection_made(self, transport: Any) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].decode("latin-1")
            length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
            size = int(length[1]) if length else 0
            if len(self.buffer) < end + 4 + size:
                return
            body = self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            self.handle(head, body)

    def handle(self, head: str, body: bytes) -> None:
        path = head.split(" ", 2)[1]
        if path == "/stats":
            counts = {
                "requests": dict(self.requests),
                **self.counts(),
                "distinct": len(self.asked),
                "most": self.state["most"],
                "billed": [self.state.get("billed_in", 0), self.state.get("billed_out", 0)],
                "keys": self.state.get("keys", 0),
                "batches": len(Batches.all),
                "batched": sum(len(b["lines"]) for b in Batches.all.values()),
                "bodies": self.bodies[-50:],
            }
            return self.send(200, json.dumps(counts))
        if path.startswith("/wait/"):
            _, _, what, goal = path.split("/")
            asyncio.get_running_loop().create_task(self.wait(what, int(goal)))
            return None
        if path == "/begin":
            for task in self.tasks:
                task.cancel()
            self.reset()
            Batches.files.clear()
            Server.config = config = json.loads(body)
            Server.planted = Seeing(config) if "seeing" in config else Planted(config)
            return self.send(200, "{}")
        if path == "/reset":
            self.reset()
            return self.send(200, "{}")
        if path == "/faults":
            self.config["faults"] = json.loads(body)
            return self.send(200, "{}")
        if path == "/config":
            self.config.update(json.loads(body))
            return self.send(200, "{}")
        key = re.search(r"(?:authorization: *bearer|x-api-key:) *(\S+)", head, re.IGNORECASE)
        self.state["keys"] = self.state.get("keys", 0) + (key is not None)
        wanted = self.config.get("key")
        if wanted and (key is None or key[1] != wanted):
            return self.send(401, json.dumps({"error": {"message": f"Bad key {key and key[1]}", "code": "bad_key"}}))
        if "/files" in path or "/batches" in path:
            return Batches.handle(self, head, path, body)
        if not body:
            return self.send(404, '{"error": {"message": "not here"}}')
        request = json.loads(body)
        self.state["flying"] += 1
        self.state["most"] = max(self.state["most"], self.state["flying"])
        task = asyncio.get_running_loop().create_task(self.reply(request))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def reset(self) -> None:
        """Forget what was asked."""
        self.asked.clear()
        self.requests.clear()
        self.state.update(most=0, answered=0, keys=0, billed_in=0, billed_out=0)
        self.bodies.clear()
        Batches.all.clear()

    async def wait(self, what: str, goal: int, most: float = 0.5) -> None:
        """Reply when so much happened, or after a while: true or false."""
        until = time.monotonic() + most
        while not (there := self.counts()[what] >= goal) and time.monotonic() < until:
            await asyncio.sleep(0.002)
        self.send(200, json.dumps(there))

    def counts(self) -> dict[str, int]:
        return {"total": self.asked.total(), "answered": self.state["answered"]}

    async def reply(self, request: dict[str, Any]) -> None:
        try:
            await self.reply_(request)
        finally:
            self.state["flying"] -= 1

    async def reply_(self, request: dict[str, Any]) -> None:
        model = request["model"]
        self.bodies.append({k: v for k, v in request.items() if k != "messages"} | {"n": len(str(request))})
        del self.bodies[:-200]
        asked = request.get("messages") or request["input"]  # chat, or OpenAI's responses
        prompt = asked if isinstance(asked, str) else asked[-1]["content"]
        if not isinstance(prompt, str):
            prompt = "".join(part.get("text", "") for part in prompt)
        if MARK.search(prompt) is None:  # the openai provider tries out a new model with a question of its own
            return self.send(400, '{"error": {"message": "nothing to judge"}}')
        name = f"{model} {hashlib.sha256(prompt.encode()).hexdigest()[:16]}"
        self.asked[name] += 1
        times = self.asked[name]
        fault = self.fault(model, name, times)
        self.requests[fault or "ok"] += 1
        delay = self.config.get("delay", 0.0)
        if delay:
            await asyncio.sleep(delay)
        if fault == "429":
            return self.send(
                429, '{"error": {"message": "slow down"}}', f"Retry-After: {self.config['retry_after']}\r\n"
            )
        if (said := self.objection(request, prompt)) is not None:
            return self.send(400, json.dumps({"error": {"message": said}}))
        self.size = len(prompt) // 4
        if isinstance(asked, list):
            self.size += sum(len(str(message["content"])) for message in asked[:-1]) // 4
        self.bill(self.size)
        if self.odd(fault):
            return None
        if fault and fault.isdigit():
            return self.send(int(fault), json.dumps({"error": {"message": f"The model {model} has fault {fault}"}}))
        if fault == "hang":
            await asyncio.sleep(self.config.get("hang", 3600))
            return self.transport.abort()
        if fault == "cut":
            self.transport.write(
                b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"id"'
            )
            return self.transport.abort()
        if fault == "malformed":
            return self.send(200, '{"choices": [{"message": ')
        text = {"empty": "", "prose": "A fine piece of work that I enjoyed."}.get(fault or "", self.config.get("says"))
        if text is None:
            text = self.planted.answer(model, prompt)
        if fault == "long":
            text = text[: text.index(":") + 3]
        self.state["answered"] += 1
        content = [{"type": "text", "text": text}] if fault == "list" else text
        stop = "length" if fault == "long" else self.config.get("stop", "stop")
        body = json.dumps(self.whole(model, prompt, content, stop, fault, bool(request.get("logprobs"))))
        if fault == "slow":
            return await self.trickle(body)
        self.send(200, body)

    def objection(self, request: dict[str, Any], prompt: str) -> str | None:
        """What the service does not accept."""
        model = request["model"]
        if "temperature" in request and model in self.config.get("untempered", ()):
            return "Unsupported value: 'temperature' does not support 0 with this model. Only the default is supported."
        if any(f"[[{task} " in prompt for task in self.config.get("too_long", ())):
            return "This model's maximum context length is 8192 tokens."
        if "response_format" in request and model in self.config.get("unstructured", ()):
            return "response_format json_schema is not supported"
        return None

    def bill(self, tokens_in: int) -> None:
        """What a call truly costs, whatever the reply says, also when nobody waits for it any more."""
        self.state["billed_in"] = self.state.get("billed_in", 0) + tokens_in
        self.state["billed_out"] = self.state.get("billed_out", 0) + self.config.get("output", 20)

    def odd(self, fault: str | None) -> bool:
        """Replies that are no chat completion."""
        if fault == "date":  # the server's clock is an hour behind
            now = time.time() - 3600
            stamps = f"Retry-After: {formatdate(now + 1, usegmt=True)}\r\nDate: {formatdate(now, usegmt=True)}\r\n"
            self.send(429, '{"error": {"message": "slow down"}}', stamps)
        elif fault == "redirect":
            self.send(302, "{}", f"Location: {self.config['elsewhere']}\r\n")
        elif fault == "error200":
            self.send(200, '{"error": {"message": "upstream is down", "code": 502}}')
        elif fault == "surrogate":
            self.send(500, '{"error": {"message": "half \\ud800 a character"}}')
        else:
            return False
        return True

    def whole(
        self, model: str, prompt: str, content: Any, stop: str, fault: str | None, logprobs: bool
    ) -> dict[str, Any]:
        """A chat completion."""
        name = self.config.get("reports", {}).get(model, f"{model}-2026")
        choice = {"index": 0, "finish_reason": stop, "message": {"role": "assistant", "content": content}}
        if logprobs and isinstance(content, str):
            choice["logprobs"] = {"content": spread(content)}
        answer = {
            "id": "x", "object": "chat.completion", "created": 0, "model": name, "choices": [choice],
        }  # fmt: skip
        spent = [getattr(self, "size", len(prompt) // 4), self.config.get("output", 20)]
        answer["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), spent, strict=True))
        answer["usage"] |= {"total_tokens": sum(spent)} | self.config.get("usage", {})
        if fault == "nousage":
            answer["usage"] = None
        if self.config.get("echo"):  # a service that sends a key back in a field of its own
            answer["model"] = f"{name} {self.config['echo']}"
        return answer

    def fault(self, model: str, name: str, times: int) -> str | None:
        dead = self.config.get("dead", {})
        if model in dead:
            return str(dead[model])
        draw = uniform("fault", self.config.get("seed", 0), name, times)
        for kind, rate in self.config.get("faults", {}).items():
            if draw < rate:
                return str(kind)
            draw -= rate
        return None

    async def trickle(self, body: str) -> None:
        data = body.encode()
        self.transport.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        )
        step = max(1, len(data) // 8)
        for at in range(0, len(data), step):
            if self.transport.is_closing():
                return
            self.transport.write(data[at : at + step])
            await asyncio.sleep(self.config.get("trickle", 0.02))

    def send(self, status: int, body: str, headers: str = "") -> None:
        if self.transport.is_closing():
            return
        data = body.encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(data)}\r\n\r\n"
        self.transport.write(head.encode() + data)


def spread(text: str) -> list[dict[str, Any]]:
    """Log-probabilities of an answer's tokens: the score has 0.7, the one below it 0.2, the one above it 0.1."""
    out = []
    for token in re.findall(r"\d+|\D+", text):
        top = [{"token": token, "logprob": 0.0}]
        if token.isdigit():
            value = int(token)
            near = [(value, 0.7), (max(1, value - 1), 0.2), (min(5, value + 1), 0.1)]
            top = [{"token": str(v), "logprob": math.log(p)} for v, p in near]
        out.append({"token": token, "logprob": top[0]["logprob"], "top_logprobs": top})
    return out


class Batches:
    """The batch endpoints of OpenAI (/files, /batches) and Anthropic (/messages/batches). They live with the server."""

    all: ClassVar[dict[str, dict[str, Any]]] = {}
    files: ClassVar[dict[str, bytes]] = {}

    @classmethod
    def handle(cls, http: Server, head: str, path: str, body: bytes) -> None:
        method, path = head.split(" ", 1)[0], path.split("?")[0]
        parts = path.strip("/").split("/")[1:]  # without /v1
        if parts == ["files"]:
            name = f"file-{len(cls.files)}"
            start = body.index(b'{"custom_id"')
            cls.files[name] = body[start : body.rindex(b"\r\n--")]
            return http.send(200, json.dumps({"id": name}))
        if parts[0] == "files":
            return http.send(200, cls.files[parts[1]].decode())
        anthropic = parts[0] == "messages"
        parts = parts[1:] if anthropic else parts
        if method == "POST":
            return cls.create(http, json.loads(body), anthropic)
        if len(parts) == 1:
            return http.send(200, json.dumps({"data": [cls.show(b) for b in cls.all.values()], "has_more": False}))
        if parts[1] in http.config.get("gone", ()):
            return http.send(404, '{"error": {"message": "No batch found"}}')
        batch = cls.all[parts[1]]
        if parts[-1] == "results":
            return http.send(200, "\n".join(json.dumps(cls.anthropic(http, line)) for line in batch["lines"]))
        if cls.ended(batch) and not anthropic and "output" not in batch:
            lines = [cls.openai(http, line) for line in batch["lines"]]
            batch["output"] = f"out-{parts[1]}"
            cls.files[batch["output"]] = "\n".join(json.dumps(line) for line in lines).encode()
        http.send(200, json.dumps(cls.show(batch)))

    @classmethod
    def create(cls, http: Server, request: dict[str, Any], anthropic: bool) -> None:
        if anthropic:
            lines = [{"custom_id": r["custom_id"], "body": r["params"]} for r in request["requests"]]
        else:
            lines = [json.loads(line) for line in cls.files[request["input_file_id"]].splitlines() if line.strip()]
        batch = {
            "id": f"batch-{len(cls.all)}", "lines": lines, "anthropic": anthropic, "file": request.get("input_file_id"),
            "metadata": None if http.config.get("no_metadata") else request.get("metadata"),
            "until": time.time() + http.config.get("batch_delay", 0.0),
        }  # fmt: skip
        cls.all[batch["id"]] = batch
        for line in lines:
            http.bill(len(str(line)) // 4)
        if http.config.get("create_500"):  # it was made, and the reply says that it failed
            http.config["create_500"] = False
            return http.send(500, '{"error": {"message": "upstream"}}')
        if http.config.get("drop_created"):  # it was made, and the reply is lost
            http.config["drop_created"] = False
            http.transport.abort()
            return
        http.send(200, json.dumps(cls.show(batch)))

    @classmethod
    def ended(cls, batch: dict[str, Any]) -> bool:
        return time.time() >= batch["until"]

    @classmethod
    def show(cls, batch: dict[str, Any]) -> dict[str, Any]:
        done = cls.ended(batch)
        if batch["anthropic"]:
            counts = {"succeeded" if done else "processing": len(batch["lines"])}
            return {
                "id": batch["id"],
                "processing_status": "ended" if done else "in_progress",
                "request_counts": counts,
            }
        return {
            "id": batch["id"], "status": "completed" if done else "in_progress", "metadata": batch["metadata"],
            "output_file_id": batch.get("output"), "input_file_id": batch["file"],
        }  # fmt: skip

    @classmethod
    def openai(cls, http: Server, line: dict[str, Any]) -> dict[str, Any]:
        model, prompt = line["body"]["model"], line["body"]["messages"][-1]["content"]
        name = f"{model} {hashlib.sha256(prompt.encode()).hexdigest()[:16]}"
        http.asked[name] += 1
        fault = http.fault(model, name, http.asked[name])
        if fault == "500":
            return {
                "custom_id": line["custom_id"],
                "response": {"status_code": 500, "body": {"error": {"message": "no"}}},
            }
        text = "Nice." if fault == "prose" else http.planted.answer(model, prompt)
        body = http.whole(model, prompt, text, "stop", fault, False)
        return {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}

    @classmethod
    def anthropic(cls, http: Server, line: dict[str, Any]) -> dict[str, Any]:
        model, prompt = line["body"]["model"], line["body"]["messages"][-1]["content"]
        http.asked[f"{model} {hashlib.sha256(prompt.encode()).hexdigest()[:16]}"] += 1
        message = {
            "model": model, "stop_reason": "end_turn", "usage": {"input_tokens": len(prompt) // 4, "output_tokens": 20},
            "content": [{"type": "text", "text": http.planted.answer(model, prompt)}],
        }  # fmt: skip
        return {"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": message}}


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def plant(kind: str, tasks: int, languages: list[str], judges: list[str], seed: int = 0) -> dict[str, Any]:
    """A planted model: task effects, and cells whose interaction is `cells` doubly centred."""
    import numpy as np

    rng = np.random.default_rng(seed)
    unit = 1.0 if kind != "checklist" else 20.0
    cells = unit * (rng.normal(0, 0.3, (len(languages), len(judges))) + rng.normal(0, 0.2, len(judges)))
    low, high = (-0.8, 0.8) if kind != "checklist" else (-15.0, 15.0)
    mean = {"rating": 3.0, "compare": 3.0, "pair": 1.0, "checklist": 50.0}[kind]
    return {
        "mean": mean,
        "task": {f"t{i:04d}": float(e) for i, e in enumerate(rng.uniform(low, high, tasks))},
        "cells": {
            lang: {j: float(np.clip(c, -1.5 * unit, 1.5 * unit)) for j, c in zip(judges, row, strict=True)}
            for lang, row in zip(languages, cells, strict=True)
        },
    }


def write_plan(
    folder: Path, url: str, kind: str, planted: dict[str, Any], requirements: int = 4, calls: str = "each", **more: Any
) -> Path:
    """Items that carry the server's marks, and a plan that asks the server about them."""
    languages = list(planted["cells"])
    judges = list(next(iter(planted["cells"].values())))
    frameworks = more.pop("frameworks", [])
    rubric = more.pop("rubric", {})
    rows = []
    for language in languages:
        for task in planted["task"]:
            for framework in frameworks or [""]:
                name = f"{task}{framework}"
                row = {"id": task, "language": language, "prompt": f"Do {task}.", "group": f"g{int(task[1:]) % 2}"}
                if kind in ("pair", "compare"):
                    row |= {part: f"Done [[{name} {language} {part}]]" for part in ("chosen", "rejected")}
                else:
                    row["response"] = f"Done [[{name} {language} all]]"
                if kind == "checklist":
                    row["requirements"] = [
                        {"id": f"r{i}", "type": ["data", "model"][i % 2], "text": f"It does (({framework}r{i}))."}
                        for i in range(requirements)
                    ]
                if framework:
                    row["framework"] = framework
                rows.append(row)
    if frameworks:
        planted["task"] |= {f"{t}{f}": e for t, e in planted["task"].items() for f in frameworks}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rubric = {"kind": kind, **({"calls": calls} if kind == "checklist" else {}), **rubric}
    plan = {
        "name": f"{kind} test",
        "languages": languages,
        "items": {"path": "items.jsonl", **({"replicate": "framework"} if frameworks else {})},
        "rubric": rubric,
        "defaults": {"base_url": url, "backoff": 0.01, "price": {"input": 1, "output": 2}, "concurrency": 16},
        "judges": [{"name": j, "model": f"openai-api/local/{j}"} for j in judges],
    }
    plan["defaults"] |= more.pop("defaults", {})
    path = folder / "plan.json"
    path.write_text(json.dumps({**plan, **more}))
    return path


def command(*args: object) -> subprocess.CompletedProcess[str]:
    """`polyjudge ARGS` in this process: inspect-ai is imported once for all tests, which is most of a short run."""
    from polyjudge.second.cli import main

    out, errors, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["polyjudge", *map(str, args)]
    code: object = 0
    try:
        with redirect_stdout(out), redirect_stderr(errors):
            main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.argv = before
    return subprocess.CompletedProcess(args, int(str(code or 0)), out.getvalue(), errors.getvalue())


def run_plan(path: str, folder: str, key: str, until: dict[str, Any] | None = None) -> None:
    """Collect, in a process that may be killed; with `until` as far as open questions need."""
    from polyjudge.second.collect.adaptive import collect_until
    from polyjudge.second.collect.plan import load_plan
    from polyjudge.second.collect.runner import collect

    os.environ["LOCAL_API_KEY"] = key
    if until is None:
        collect(load_plan(path), folder)
    else:
        collect_until(load_plan(path), Path(folder), until)


def begin(*args: Any) -> Any:
    """`run_plan` in a process that begins with everything imported: a kill falls into the work, not the imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["aiohttp", "judge_server", "polyjudge.second.collect.adaptive", "polyjudge.second.collect.runner", "polyjudge.second.collect.runs"]
    )
    process = context.Process(target=run_plan, args=args)
    process.start()
    return process


class Running:
    """The server as a test sees it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self._base = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.url = f"{self._base}/v1"

    def _post(self, path: str, value: dict[str, Any]) -> None:
        urllib.request.urlopen(f"{self._base}{path}", data=json.dumps(value).encode(), timeout=10).close()

    def begin(self, config: dict[str, Any]) -> None:
        """A new server, as far as a test can see."""
        self._post("/begin", {"retry_after": "0.05", **config})

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._base}/stats", timeout=10) as reply:
            return json.load(reply)

    def wait(self, going: Callable[[], bool], **counts: int) -> None:
        """Wait until so many requests came (total), or were answered (answered), as long as `going`."""
        ((what, goal),) = counts.items()
        while going():
            with urllib.request.urlopen(f"{self._base}/wait/{what}/{goal}", timeout=10) as reply:
                if json.load(reply):
                    return

    def reset(self) -> None:
        self._post("/reset", {})

    def set(self, **config: Any) -> None:
        self._post("/config", config)

    def set_faults(self, faults: dict[str, float]) -> None:
        self._post("/faults", faults)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_idle: list[Running] = []
"""Servers that no test uses; those of one process end with it."""


@atexit.register
def _end_all() -> None:
    for server in _idle:
        server.end()


@contextmanager
def running(config: dict[str, Any]) -> Iterator[Running]:
    """A server in a process of its own, which a test before may have started."""
    server = _idle.pop() if _idle else Running()
    server.begin(config)
    try:
        yield server
    finally:
        _idle.append(server)


if __name__ == "__main__":
    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        sys.exit(0)
