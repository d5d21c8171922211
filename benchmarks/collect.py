"""Full-size collections against the loopback judge of the tests, with and without faults; rate and resume time.

    python benchmarks/collect.py rates        64 connections, a server that takes 0 to 0.3 s; bare clients beside it
    python benchmarks/collect.py start        100,000 items x 8 languages x 3 judges: time to the first answers, memory
    python benchmarks/collect.py rows         what benchmarks/bench.py prints of it, with a start of 500,000 calls
    python benchmarks/collect.py pair         200 x 7 x 5 pairs (14,000 calls), calm and with 20% faults
    python benchmarks/collect.py checklist    20 x 8 x 6 checklists of 4 requirements (3,840 calls), likewise
    python benchmarks/collect.py resume       a finished store of 105,000 calls: time to find that nothing is left
Prints one JSON object; the load of the machine is in it, for the rates depend on it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
os.environ["LOCAL_API_KEY"] = "a-key-for-loopback"

import numpy as np

import judge_server as js
import polyjudge as pj
from polyjudge.collect import collect, load_plan
from polyjudge.collect.calls import prepare
from polyjudge.collect.prompts import render
from polyjudge.collect.store import Answer, Usage, Writer, create_store, item_statement
from polyjudge.estimate.kernels import double_centre
from polyjudge.questions.audit import uncertainty

LANGUAGES = ["en", "ar", "tr", "zh", "hi", "ja", "es", "sw"]
FAULTS = {
    "429": 0.03,
    "500": 0.03,
    "hang": 0.01,
    "cut": 0.03,
    "empty": 0.02,
    "malformed": 0.03,
    "prose": 0.02,
    "slow": 0.03,
}


def recovery(panel: pj.Panel, planted: dict[str, Any]) -> dict[str, float]:
    """How the estimated interaction compares with the planted one."""
    beta = double_centre(np.array([[planted["cells"][x][j] for j in panel.judges] for x in panel.languages]))
    table = uncertainty(panel, resamples=500).to_frame()
    estimate, se = (table[c].to_numpy().reshape(beta.shape) for c in ("interaction", "se"))
    inside = (table["band_low"].to_numpy() <= beta.ravel()) & (beta.ravel() <= table["band_high"].to_numpy())
    return {
        "correlation": float(np.corrcoef(estimate.ravel(), beta.ravel())[0, 1]),
        "rms_error": float(np.sqrt(np.mean((estimate - beta) ** 2))),
        "rms_planted": float(np.sqrt(np.mean(beta**2))),
        "largest_z": float(np.abs((estimate - beta) / se).max()),
        "share_in_band": float(inside.mean()),
    }


def full(kind: str, tasks: int, languages: int, judges: int, folder: Path) -> dict[str, Any]:
    planted = js.plant(kind, tasks, LANGUAGES[:languages], [f"j{i}" for i in range(judges)])
    out: dict[str, Any] = {"load_before": os.getloadavg()[0]}
    with js.running({**planted, "hang": 30}) as server:
        defaults = {"concurrency": -(-64 // judges), "timeout": 20, "retries": 12}
        path = js.write_plan(folder, server.url, kind, planted, defaults=defaults, rubric={"reask": 8})
        prints = []
        for name, faults in (("calm", {}), ("faults", FAULTS)):
            server.reset()
            server.set_faults(faults)
            begun = time.perf_counter()
            summary = collect(load_plan(path), folder / name)
            spent = time.perf_counter() - begun
            panel = pj.read_panel(folder / name)
            prints.append(panel.fingerprint)
            seen = server.stats()
            out[name] = {
                "calls": int(summary.judges["calls"].sum()),
                "complete": summary.complete,
                "missing": int(summary.judges["missing"].sum()),
                "errors_recorded": int(summary.judges["errors"].sum()),
                "requests": seen["total"],
                "by_kind": seen["requests"],
                "seconds": round(spent, 1),
                "requests_per_second": round(seen["total"] / spent, 1),
                **recovery(panel, planted),
            }
        out["same_panel"] = prints[0] == prints[1]
    out["load_after"] = os.getloadavg()[0]
    return out


async def bare(url: str, prompts: list[str], connections: int) -> None:
    """The same calls by a bare aiohttp client: no store, no reading, no order, no retries."""
    import aiohttp

    gate, head = asyncio.Semaphore(connections), {"Authorization": "Bearer none"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=head, timeout=aiohttp.ClientTimeout()) as session:

        async def one(prompt: str) -> None:
            body = {"model": "j0", "messages": [{"role": "user", "content": prompt}], "temperature": 0}
            async with gate, session.post(f"{url}/chat/completions", json=body) as response:
                (await response.json())["choices"][0]["message"]["content"]

        await asyncio.gather(*(one(prompt) for prompt in prompts))


async def openai_client(url: str, prompts: list[str], connections: int) -> None:
    """The same calls by a bare asynchronous client of OpenAI."""
    import openai

    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    gate = asyncio.Semaphore(connections)

    async def one(prompt: str) -> None:
        async with gate:
            await client.chat.completions.create(
                model="j0", messages=[{"role": "user", "content": prompt}], temperature=0
            )

    await asyncio.gather(*(one(prompt) for prompt in prompts))
    await client.close()


def rate(folder: Path, calls: int = 1920, rounds: int = 3, delay: float = 0.3) -> dict[str, dict[str, float]]:
    """64 connections and a server that takes so long: the least wall and CPU seconds of 1,000 calls over some rounds,
    by `ours` (a collection), `aiohttp` and `openai` (bare clients), which take turns."""
    folder.mkdir(parents=True, exist_ok=True)
    planted = js.plant("rating", calls // 12, LANGUAGES[:3], [f"j{i}" for i in range(4)])
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "aiohttp": [], "openai": []}
    with js.running({**planted, "delay": delay}) as server:
        path = js.write_plan(folder, server.url, "rating", planted, defaults={"concurrency": 16, "timeout": 60})
        plan = load_plan(path)
        work = prepare(plan)
        keys = [(place, key) for place in range(len(work.aligned)) for key in work.calls_of(place, "j0")]
        texts = [render(plan, work.templates[k.language], work.aligned.item(p), k.language, k.part) for p, k in keys]
        warm = {**json.loads(path.read_text()), "items": {"path": "items.jsonl", "limit": 2}}
        (folder / "warm.json").write_text(json.dumps(warm))
        collect(load_plan(folder / "warm.json"), folder / "warm")  # imports
        asyncio.run(openai_client(server.url, texts[:8], 8))
        for i in range(rounds):
            for name, run in (
                ("ours", lambda i=i: collect(plan, folder / f"run{i}")),
                ("aiohttp", lambda: asyncio.run(bare(server.url, texts * 4, 64))),
                ("openai", lambda: asyncio.run(openai_client(server.url, texts * 4, 64))),
            ):
                server.reset()
                begun, cpu = time.perf_counter(), time.process_time()
                run()
                spent, cpu = time.perf_counter() - begun, time.process_time() - cpu
                total = server.stats()["total"] / 1000
                found[name].append((spent / total, cpu / total))
    return {name: dict(zip(("wall", "cpu"), map(min, zip(*each, strict=True)), strict=True))
            for name, each in found.items()}  # fmt: skip


def rates(folder: Path, rounds: int = 3) -> dict[str, Any]:
    """`rate` at three latencies."""
    out = {f"{delay:g} s": rate(folder / f"{delay:g}", rounds=rounds, delay=delay) for delay in (0.0, 0.05, 0.3)}
    return {**out, "load": round(os.getloadavg()[0], 1)}


def rows(folder: Path, quick: bool = False) -> list[dict[str, Any]]:
    """Lines for the table of benchmarks/bench.py: work, seconds, reference, reference_seconds, limit (of their ratio).
    Seconds are on the clock: what people wait for is the slower of the processor and the service."""
    size = 5_000 if quick else 500_000
    begun = [start(folder / f"start{i}", items=size // 20, languages=5, judges=4) for i in range(1 if quick else 3)]
    first = {
        "work": f"collect: first answer of a plan of {size:,} calls",
        "seconds": min(b["first_answers_seconds"] for b in begun),
        "reference": "the two seconds promised", "reference_seconds": 2.0, "limit": 1.0,
        "peak_mb": max(b["peak_megabytes"] for b in begun),
    }  # fmt: skip
    out = [first]
    for delay, found in rates(folder, 1 if quick else 3).items():
        if delay == "load":
            continue
        for name, words, limit in (("openai", "a bare OpenAI client", 1.0), ("aiohttp", "bare aiohttp", None)):
            work = f"collect: 1,000 calls, a service that takes {delay}"
            out.append({"work": work, "seconds": found["ours"]["wall"], "reference": words,
                        "reference_seconds": found[name]["wall"], "limit": limit})  # fmt: skip
    return out


START = """
import json, os, re, sys, time
begun = time.perf_counter()
from polyjudge.collect import collect, load_plan
asked = []
def watch(judges):
    done = sum(j.done for j in judges)
    if done and not asked:
        asked.extend([time.perf_counter() - begun, time.process_time()])
    if done >= 300:
        status = open("/proc/self/status").read()  # the peak of this program alone; getrusage keeps its parent's
        peak = int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1000
        print(json.dumps({"first_answers_seconds": round(asked[0], 2), "cpu_seconds": round(asked[1], 2),
                          "peak_megabytes": round(peak)}), flush=True)
        os._exit(0)
collect(load_plan(sys.argv[1]), sys.argv[2], watch=watch)
"""


def start(folder: Path, items: int = 100_000, languages: int = 8, judges: int = 3) -> dict[str, Any]:
    """100,000 items x 8 languages x 3 judges: time from the start of the program to the first answers, and memory."""
    planted = js.plant("rating", 1, LANGUAGES[:languages], [f"j{i}" for i in range(judges)])
    planted["task"] = dict.fromkeys((f"t{i:06d}" for i in range(items)), 0.0)
    folder.mkdir(parents=True, exist_ok=True)
    small = {**planted, "task": {"t000000": 0.0}}
    with js.running(small) as server:
        path = js.write_plan(folder, server.url, "rating", planted)
        words = "some words of an answer as long as answers are " * 10
        with (folder / "items.jsonl").open("w") as file:
            for language in LANGUAGES[:languages]:
                for i in range(items):
                    task = f"t{i:06d}"
                    row = {"id": task, "language": language, "prompt": f"Do {task}. {words[:200]}",
                           "response": f"Done [[{task} {language} all]] {words}"}  # fmt: skip
                    file.write(json.dumps(row) + "\n")
        load = os.getloadavg()[0]
        done = subprocess.run(
            [sys.executable, "-c", START, str(path), str(folder / "run")], capture_output=True, text=True, check=True
        )
    size = (folder / "items.jsonl").stat().st_size / 1e6
    return {"calls": items * languages * judges, "items_megabytes": round(size), "load": round(load, 1),
            **json.loads(done.stdout)}  # fmt: skip


def resume(folder: Path, tasks: int = 1500, languages: int = 7, judges: int = 5) -> dict[str, Any]:
    """A finished store, filled without asking: 105,000 answers to 21,000 prompts."""
    planted = js.plant("pair", tasks, LANGUAGES[:languages], [f"j{i}" for i in range(judges)])
    path = js.write_plan(folder, "http://127.0.0.1:9/v1", "pair", planted)
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    for row in rows:  # texts of a usual length
        for field in ("prompt", "chosen", "rejected"):
            row[field] += " word" * 250
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    work = prepare(load_plan(path))
    (folder / "run").mkdir()
    con = create_store(folder / "run")
    writer = Writer(con)
    aligned = work.aligned
    for place, name in enumerate(aligned.names):
        writer.put([item_statement(name, place, aligned.groups[place], "", (), aligned.digest(place))])
        for judge in work.plan.judges:
            for key in work.calls_of(place, judge.name):
                answer = Answer(key, f"{place}{key.language}{key.part}", "prompt " * 200, '{"score": 3}', 3.0, "strict",
                                None, Usage(500, 20, 0, False, 0.001), 0.5, 1, "m", "stop")  # fmt: skip
                writer.put([answer])
    writer.close()
    con.close()
    begun = time.perf_counter()
    summary = collect(load_plan(path), folder / "run")  # nobody listens on that port: any request would fail
    spent = time.perf_counter() - begun
    begun = time.perf_counter()
    panel = pj.read_panel(folder / "run")
    return {
        "answers": int(summary.judges["answered"].sum()),
        "complete": summary.complete,
        "resume_seconds": round(spent, 2),
        "read_panel_seconds": round(time.perf_counter() - begun, 2),
        "panel": list(panel.shape),
        "store_megabytes": round((folder / "run" / "store.sqlite").stat().st_size / 1e6),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else "rates"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {
            "rates": lambda: rates(folder),
            "rows": lambda: {"rows": rows(folder, "--quick" in sys.argv)},
            "start": lambda: start(folder),
            "pair": lambda: full("pair", 200, 7, 5, folder),
            "checklist": lambda: full("checklist", 20, 8, 6, folder),
            "resume": lambda: resume(folder),
        }[what]()
    print(json.dumps({"benchmark": f"collect {what}", **result}, indent=1))


if __name__ == "__main__":
    main()
