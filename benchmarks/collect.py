"""Full-size collections against the loopback judge of the tests, with and without faults; rate and resume time.

    python benchmarks/collect.py rate         calls a second with 64 connections, and a plain reference in the same run
    python benchmarks/collect.py pair         200 x 7 x 5 pairs (14,000 calls), calm and with 20% faults
    python benchmarks/collect.py checklist    20 x 8 x 6 checklists of 4 requirements (3,840 calls), likewise
    python benchmarks/collect.py resume       a finished store of 105,000 calls: time to find that nothing is left
Prints one JSON object; the load of the machine is in it, for the rates depend on it.
"""

from __future__ import annotations

import asyncio
import json
import os
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
from polyjudge.estimate.kernels import double_centre

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
    table = pj.uncertainty(panel, resamples=500).to_frame()
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
    with js.running({**planted, "hang": 30}, folder) as server:
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


async def plain(url: str, calls: int, connections: int) -> float:
    """Calls a second of the bare HTTP client, without the model layer, the store or any parsing."""
    import httpx

    body = {"model": "j0", "messages": [{"role": "user", "content": "[[t0000 en chosen]] " + "x" * 800}]}
    gate = asyncio.Semaphore(connections)
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=connections), timeout=60) as client:

        async def one() -> None:
            async with gate:
                (await client.post(f"{url}/chat/completions", json=body)).raise_for_status()

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(calls)))
        return calls / (time.perf_counter() - begun)


def rate(folder: Path, calls: int = 3000, rounds: int = 3) -> dict[str, Any]:
    planted = js.plant("rating", calls // 4 // 3, LANGUAGES[:3], [f"j{i}" for i in range(4)])
    out: dict[str, Any] = {"rounds": []}
    with js.running(planted, folder) as server:
        path = js.write_plan(folder, server.url, "rating", planted, defaults={"concurrency": 16, "timeout": 60})
        plan = load_plan(path)
        warm = {**json.loads(path.read_text()), "items": {"path": "items.jsonl", "limit": 2}}
        (folder / "warm.json").write_text(json.dumps(warm))
        collect(load_plan(folder / "warm.json"), folder / "warm")  # imports
        for i in range(rounds):
            server.reset()
            load, begun, cpu = os.getloadavg()[0], time.perf_counter(), time.process_time()
            collect(plan, folder / f"run{i}")
            spent, cpu = time.perf_counter() - begun, time.process_time() - cpu
            total = server.stats()["total"]
            reference = asyncio.run(plain(server.url, 1000, 64))
            out["rounds"].append(
                {
                    "calls_per_second": round(total / spent, 1),
                    "own_cpu_ms_per_call": round(1000 * cpu / total, 2),
                    "most_connections": server.stats()["most"],
                    "bare_http_per_second": round(reference, 1),
                    "load": round(load, 1),
                }
            )
    return out


def resume(folder: Path, tasks: int = 1500, languages: int = 7, judges: int = 5) -> dict[str, Any]:
    """A finished store, filled from a small real one without asking: 105,000 answers to 21,000 prompts."""
    from polyjudge.collect.runner import ordered_calls, prepare
    from polyjudge.collect.store import Answer, Writer, open_store, write_meta

    planted = js.plant("pair", tasks, LANGUAGES[:languages], [f"j{i}" for i in range(judges)])
    path = js.write_plan(folder, "http://127.0.0.1:9/v1", "pair", planted)
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    for row in rows:  # texts of a usual length
        for field in ("prompt", "chosen", "rejected"):
            row[field] += " word" * 250
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    work = prepare(load_plan(path))
    (folder / "run").mkdir()
    con = open_store(folder / "run", create=True)
    writer = Writer(con)
    for call in ordered_calls(work):
        writer.put(
            Answer(call.key, call.prompt_hash, "prompt " * 200, '{"score": 3, "reason": "because"}', 3.0, "strict",
                   None, 500, 20, 0, 0.5, 1, "m", "stop"),
            lambda problem: None,
        )  # fmt: skip
    writer.close()
    write_meta(con, "filled", True)
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
    what = sys.argv[1] if len(sys.argv) > 1 else "rate"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {
            "rate": lambda: rate(folder),
            "pair": lambda: full("pair", 200, 7, 5, folder),
            "checklist": lambda: full("checklist", 20, 8, 6, folder),
            "resume": lambda: resume(folder),
        }[what]()
    print(json.dumps({"benchmark": f"collect {what}", **result}, indent=1))


if __name__ == "__main__":
    main()
