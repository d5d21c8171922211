"""A judge on loopback that speaks OpenAI's chat and batch API, in a process of its own.

Its scores follow from the mark `[[task part]]` in the judged text, the language tag in the request, and the model, so that
every test knows the truth (`truth`). Faults come at set rates, by a hash of model, prompt and how often it was asked.

    python judge_server.py      prints its port, then serves until its standard input closes
"""

# ruff: noqa: E501
from __future__ import annotations

import asyncio
import hashlib
import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MARK = re.compile(r"\[\[(\S+) (\S+) (\S+)\]\]")
REQUIREMENT = re.compile(r"\(\((\S+)\)\)")


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def truth(model: str, task: str, language: str, part: str) -> int:
    """The score, 1 to 5, of an answer."""
    return 1 + int(5 * uniform("score", model, task, language, part))


def met(model: str, task: str, language: str, requirement: str) -> bool:
    """Whether a requirement is satisfied."""
    return uniform("met", model, task, language, requirement) < 0.6


def answer(model: str, prompt: str) -> str:
    """What a judge that works says."""
    if "<text-" in prompt:  # a translation
        target = re.search(r" into (\w+)\.", prompt)[1]
        return f"({target}) " + re.search(r"<text-\w+>\n(.*)\n</text-", prompt, re.DOTALL)[1]
    marks = MARK.findall(prompt)
    if not marks:  # damaged
        return '{"score": 3, "reason": "no mark"}'
    task, language, part = marks[0]
    if "<answer-a-" in prompt:
        scores = {p: truth(model, task, language, p) for _, _, p in marks}
        (_, _, first), (_, _, second) = marks[:2]
        winner = "tie" if scores[first] == scores[second] else "A" if scores[first] > scores[second] else "B"
        return json.dumps({"winner": winner, "reason": "because"})
    if "<requirement-" in prompt:
        ok = met(model, task, language, REQUIREMENT.findall(prompt)[0])
        return f"I looked.\n<{'' if ok else 'un'}satisfied>"
    return json.dumps({"score": truth(model, task, language, part), "reason": f"because of {task}"})


class Server(asyncio.Protocol):
    """One connection. HTTP/1.1 with keep-alive, just enough of it."""

    config: dict[str, Any] = {}  # noqa: RUF012
    asked: Counter[str] = Counter()  # noqa: RUF012
    answered: Counter[str] = Counter()  # noqa: RUF012
    models: Counter[str] = Counter()  # noqa: RUF012
    schemas: Counter[str] = Counter()  # noqa: RUF012
    files: dict[str, bytes] = {}  # noqa: RUF012
    batches: dict[str, dict[str, Any]] = {}  # noqa: RUF012
    running: set[Any] = set()  # noqa: RUF012

    def connection_made(self, transport: Any) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].decode("latin-1")
            found = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
            size = int(found[1]) if found else 0
            if len(self.buffer) < end + 4 + size:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + size], self.buffer[end + 4 + size :]
            task = asyncio.get_running_loop().create_task(self.handle(head, body))
            self.running.add(task)
            task.add_done_callback(self.running.discard)

    async def handle(self, head: str, body: bytes) -> None:
        path = head.split(" ", 2)[1].split("?")[0]
        if path == "/begin":
            for counts in (self.asked, self.answered, self.models, self.schemas, self.files, self.batches):
                counts.clear()
            Server.config = json.loads(body)
            return self.send(200, {})
        if path == "/config":
            self.config.update(json.loads(body))
            return self.send(200, {})
        if path == "/stats":
            counts = {"asked": self.asked, "answered": self.answered, "models": self.models, "schemas": self.schemas}
            return self.send(200, {**counts, "batches": len(self.batches)})
        if "/files" in path or "/batches" in path:
            return self.batch(head.split(" ", 1)[0], path, body)
        request = json.loads(body)
        if "messages" not in request:  # the openai provider tries out a new model with a question of its own
            return self.send(400, {"error": {"message": "nothing to judge"}})
        status, reply = await self.reply(request)
        if status:
            self.send(status, reply)

    async def reply(self, request: dict[str, Any]) -> tuple[int, Any]:
        model, prompt = request["model"], request["messages"][-1]["content"]
        prompt = prompt if isinstance(prompt, str) else "".join(part.get("text", "") for part in prompt)
        key = f"{model} {hashlib.sha256(prompt.encode()).hexdigest()[:16]}"
        self.asked[key] += 1
        self.models[model] += 1
        if "response_format" in request:
            self.schemas[model] += 1
            if model in self.config.get("refuses_schema", []):
                return 400, {"error": {"message": "response_format is not supported", "code": "x"}}
        if delay := self.config.get("delay", 0.0):
            await asyncio.sleep(delay)
        dead = self.config.get("dead", {}).get(model)
        always = [to for words, to in self.config.get("always", []) if re.search(words, prompt, re.DOTALL)]
        fault = str(dead) if dead else always[0] if always else self.fault(key)
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault.isdigit():
            said = self.config.get("says_in_error", f"{model} has fault {fault}")
            return int(fault), {"error": {"message": said, "code": "x"}}
        if fault == "cut":
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{")
            self.transport.abort()
            return 0, None
        if fault == "malformed":
            return 200, '{"choices": [{"message": '
        self.answered[key] += 1
        text = {"empty": "", "prose": "A fine piece of work."}.get(fault, self.config.get("says"))
        text = answer(model, prompt) if text is None else text
        usage = {
            "prompt_tokens": sum(len(str(m["content"])) for m in request["messages"]) // 4,
            "completion_tokens": 20,
        }
        stop = "length" if fault == "long" else self.config.get("finish", "stop")
        return 200, {
            "id": "x", "object": "chat.completion", "created": 0, "model": model,
            "choices": [{"index": 0, "finish_reason": stop, "message": {"role": "assistant", "content": text}}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }  # fmt: skip

    def fault(self, key: str) -> str:
        point = uniform("fault", key, self.asked[key])
        for name, rate in self.config.get("faults", {}).items():
            if point < rate:
                return str(name)
            point -= rate
        return ""

    def batch(self, method: str, path: str, body: bytes) -> None:
        parts = path.strip("/").split("/")[1:]  # without v1
        if parts == ["files"]:
            name = f"file-{len(self.files)}"
            start = body.index(b'{"custom_id"')
            self.files[name] = body[start : body.rindex(b"\r\n--")]
            return self.send(
                200, {"id": name, "object": "file", "bytes": 1, "created_at": 0, "filename": "x", "purpose": "batch"}
            )
        if parts[0] == "files":
            return self.send(200, self.files[parts[1]].decode())
        if method == "POST" and parts == ["batches"]:
            found = {"id": f"batch-{len(self.batches)}", "input_file_id": json.loads(body)["input_file_id"]}
            self.batches[found["id"]] = found
        else:
            found = self.batches[parts[1]]
        if "output_file_id" not in found and method == "GET":
            lines = []
            for line in map(json.loads, self.files[found["input_file_id"]].splitlines()):
                model, prompt = line["body"]["model"], line["body"]["messages"][-1]["content"]
                self.answered[f"{model} {prompt}"] += 1
                choice = {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": answer(model, prompt)},
                }
                reply = {"id": "x", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
                lines.append(
                    {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": reply}, "error": None}
                )
            found["output_file_id"] = f"out-{found['id']}"
            self.files[found["output_file_id"]] = "\n".join(map(json.dumps, lines)).encode()
        status = "completed" if "output_file_id" in found else "validating"
        self.send(200, {
            **found, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h", "created_at": 0,
            "status": status, "request_counts": {"total": 1, "completed": 1, "failed": 0},
        })  # fmt: skip

    def send(self, status: int, value: Any) -> None:
        data = (value if isinstance(value, str) else json.dumps(value)).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        if not self.transport.is_closing():
            self.transport.write(head.encode() + data)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


class Running:
    """The server as a test sees it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.base = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.url = f"{self.base}/v1"

    def post(self, path: str, **value: Any) -> None:
        urllib.request.urlopen(f"{self.base}/{path}", data=json.dumps(value).encode(), timeout=10).close()

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.base}/stats", timeout=10) as reply:
            return json.load(reply)

    @property
    def answered(self) -> int:
        return sum(self.stats()["answered"].values())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


@contextmanager
def running() -> Iterator[Running]:
    server = Running()
    try:
        yield server
    finally:
        server.end()


if __name__ == "__main__":
    asyncio.run(serve())
