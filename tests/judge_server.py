"""A judge on loopback that speaks the OpenAI chat API, in a process of its own.

Its scores follow a planted additive model: the judged text carries a mark `[[task language part]]`, and the score is a
sum of task, language, judge and interaction terms, rounded at random (by a hash) to the scale, so that its expectation
is the planted one. The answer depends on the prompt and the model alone. Faults come at set rates, by a hash of prompt,
model and the number of times it was asked.

    python judge_server.py CONFIG.json      prints its port, then serves until its standard input closes
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, ClassVar

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
    planted: Planted
    asked: ClassVar[Counter[str]] = Counter()
    requests: ClassVar[Counter[str]] = Counter()
    state: ClassVar[dict[str, int]] = {"flying": 0, "most": 0, "answered": 0}

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
                "total": sum(self.asked.values()),
                "distinct": len(self.asked),
                "most": self.state["most"],
                "answered": self.state["answered"],
            }
            return self.send(200, json.dumps(counts))
        if path == "/reset":
            self.asked.clear()
            self.requests.clear()
            self.state.update(most=0, answered=0)
            return self.send(200, "{}")
        if path == "/faults":
            self.config["faults"] = json.loads(body)
            return self.send(200, "{}")
        key = re.search(r"authorization: *bearer (\S+)", head, re.IGNORECASE)
        wanted = self.config.get("key")
        if wanted and (key is None or key[1] != wanted):
            return self.send(401, json.dumps({"error": {"message": f"Bad key {key and key[1]}", "code": "bad_key"}}))
        if not body:
            return self.send(404, '{"error": {"message": "not here"}}')
        request = json.loads(body)
        self.state["flying"] += 1
        self.state["most"] = max(self.state["most"], self.state["flying"])
        asyncio.get_running_loop().create_task(self.reply(request))

    async def reply(self, request: dict[str, Any]) -> None:
        try:
            await self.reply_(request)
        finally:
            self.state["flying"] -= 1

    async def reply_(self, request: dict[str, Any]) -> None:
        model = request["model"]
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
        if fault and fault.isdigit():
            return self.send(int(fault), json.dumps({"error": {"message": f"fault {fault}"}}))
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
        text = {"empty": "", "prose": "A fine piece of work that I enjoyed."}.get(fault or "")
        if text is None:
            text = self.planted.answer(model, prompt)
        self.state["answered"] += 1
        answer = {
            "id": "x", "object": "chat.completion", "created": 0, "model": f"{model}-2026",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 20, "total_tokens": 99},
        }  # fmt: skip
        body = json.dumps(answer)
        if fault == "slow":
            return await self.trickle(body)
        self.send(200, body)

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


async def serve(config: dict[str, Any]) -> None:
    Server.config, Server.planted = config, Planted(config)
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
    mean = {"rating": 3.0, "pair": 1.0, "checklist": 50.0}[kind]
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
                if kind == "pair":
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
    from polyjudge.cli import main

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


def run_plan(path: str, folder: str) -> None:
    """Collect, in a process that may be killed."""
    from polyjudge.collect import collect, load_plan

    collect(load_plan(path), folder)


class Running:
    """The server as a test sees it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self._base = f"http://127.0.0.1:{port}"

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._base}/stats", timeout=10) as reply:
            return json.load(reply)

    def reset(self) -> None:
        urllib.request.urlopen(f"{self._base}/reset", timeout=10).close()

    def set_faults(self, faults: dict[str, float]) -> None:
        urllib.request.urlopen(f"{self._base}/faults", data=json.dumps(faults).encode(), timeout=10).close()


@contextmanager
def running(config: dict[str, Any], folder: Path):
    """Start the server in a process of its own."""
    path = folder / "judge_server.json"
    path.write_text(json.dumps({"retry_after": "0.05", **config}))
    process = subprocess.Popen(
        [sys.executable, __file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Running(int(process.stdout.readline()))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    try:
        asyncio.run(serve(json.loads(Path(sys.argv[1]).read_text())))
    except KeyboardInterrupt:
        sys.exit(0)
