"""What a pass works on: hostile names, panels with them, a file of every format, and ways to damage files."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import polyjudge as pj

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "read")]

PARTS = (
    "\x1b]52;c;b3duZWQ=\x07", "\x1b[2J\x1b[31mowned", "\u202eowned\u2066", "\u200bowned\ufeff", "\nowned\n# owned",
    "![owned](https://owned.example/i.png)", "[owned](https://owned.example)", "@owned", "#owned", "<!-- owned -->",
    "<img src=x onerror=owned()>", "</script><script>owned()</script>", '"><svg onload=owned()>', "</title>owned",
    "'; touch owned; '", "$(touch owned)", "`touch owned`", '"; touch owned; "', "\\'; touch owned #", "| touch owned",
    "=owned()", "+owned", "-owned", "@owned()", "'); DROP TABLE scores; -- owned", '" OR owned=owned --', "a\rowned",
    "{owned}", "{0.__class__}owned", "{{owned}}", "%s%n owned", "[red]owned[/red]", "\\owned\\", "| owned | owned |",
    "```\nowned\n```", "https://owned.example/", "www.owned.example", "javascript:owned()", "owned\x85\x9b31m",
    "__proto__ owned", "constructor", "\U0001f469\u200d\U0001f469\u200d\U0001f467 owned", "owned::owned", "a\tb owned",
    "*.csv owned", "[owned]*", "é\u0301owned", "&lt;owned&gt; &#64;", "--owned", "-h", "~/owned", "owned,owned;owned",
    "e\u2028owned\u2029", "]]>owned<![CDATA[", "$\\frac{owned}{1}$", "<owned@owned.example>", "x" * 120 + "owned",
)  # fmt: skip
"""Terminal, direction, Markdown, HTML, shell, formulas, SQL, templates, patterns, options. All of them `owned`."""
LANGUAGES, JUDGES, SYSTEMS = (
    ("English", "Deutsch", "Kiswahili"),
    ("Aster", "Borealis", "Cobalt", "Dahlia"),
    ("s1", "s2"),
)
JUDGE = """import zlib


def score(prompt):
    return 1 + zlib.crc32(prompt.encode("utf-8", "replace")) % 5
"""
"""A judge that is code: it asks nobody."""


def hostile(rng: random.Random, what: str) -> str:
    """A name of two or three parts. It begins with one of them, so that formulas are formulas."""
    return " ".join([*rng.sample(PARTS, rng.randint(2, 3)), what])


def hostile_file(rng: random.Random, ending: str) -> str:
    name = hostile(rng, "f").replace("/", "_").replace("\0", "")
    return name.encode()[:150].decode("utf-8", "ignore") + ending


def frames(names: Callable[[str], str], seed: int = 2) -> dict[str, pd.DataFrame]:
    """Scores, scores with systems, labels and prices. `names` gives the first label of every axis its name."""
    out = {}
    for key, systems in (("scores", 0), ("systems", list(SYSTEMS))):
        panel, _ = pj.simulate_panel(
            tasks=14, languages=list(LANGUAGES), judges=list(JUDGES), systems=systems, seed=seed
        )
        frame = panel.to_long().drop(columns="replicate", errors="ignore").round({"score": 1})
        off = (frame["judge"] == JUDGES[0]) & (frame["language"] == LANGUAGES[0])
        frame.loc[off, "score"] = (frame.loc[off, "score"] - 45).clip(0, 100)  # it is named in every sentence
        for axis in ("judge", "language", "system", "task"):
            if axis in frame:
                first = frame[axis].iloc[0]
                frame[axis] = frame[axis].replace({first: names(axis)})
        out[key] = frame
    scores = out["scores"]
    gold = scores.groupby(["task", "language"], sort=False)["score"].mean().reset_index()
    out["gold"] = gold.assign(score=(gold["score"] + 5).round(1))
    out["prices"] = pd.DataFrame({"judge": scores["judge"].unique(), "price": np.arange(1, 5) / 100})
    return out


def write_world(folder: Path, names: Callable[[str], str]) -> dict[str, str]:
    """Files for every command, by what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    column = names("column")
    out = {}
    for key, frame in frames(names).items():
        out[key] = str(folder / f"{key}.csv")
        named = frame.rename(columns={"judge": column, "system": names("system column")}) if key in (
            "scores", "systems") else frame  # fmt: skip
        named.to_csv(out[key], index=False)
    languages = frames(names)["scores"]["language"].unique().tolist()
    tasks = frames(names)["scores"]["task"].unique().tolist()
    text = "In 2019 the river rose by 12 metres, and 40 people left the town before the bridge was closed."
    rows = [
        {"id": t, "task": t, "language": x, "prompt": f"{names('prompt')} {t}?", "response": f"{text} {names('text')}"}
        for x in languages
        for t in tasks
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "pass_judge.py").write_text(JUDGE)
    plan = {
        "name": names("plan"), "items": {"path": "items.jsonl"},
        "languages": [{"name": x, "template": "en"} for x in languages[:2]],
        "rubric": {"kind": "rating", "criteria": names("criterion")},
        "judges": [{"name": names("judge"), "model": "python:pass_judge:score"},
                   {"name": "other", "model": "python:pass_judge:score"}],
    }  # fmt: skip
    (folder / "plan.json").write_text(json.dumps(plan))
    return out | {k: str(folder / k) for k in ("items.jsonl", "plan.json")} | {"column": column}


def fill_sheets(labels: Path, rng: random.Random) -> None:
    """What annotators send back: the sheets of `label make`, filled in."""
    (labels / "back").mkdir()
    for sheet in (labels / "sheets").glob("*.csv"):
        frame = pd.read_csv(sheet, dtype=str, keep_default_na=False)
        frame["label"] = [str(rng.randint(0, 100)) for _ in range(len(frame))]
        frame.to_csv(labels / "back" / sheet.name, index=False)


def score_probes(made: Path, to: Path, judge: str, rng: random.Random) -> None:
    rows = [json.loads(line) for line in made.read_text("utf-8").split("\n") if line]
    out = [
        {"task": r["id"], "language": r["language"], "judge": j, "system": r["version"],
         "score": round(70 - 10 * r["severity"] * (j != "blind") + rng.gauss(0, 3), 2)}
        for r in rows for j in (judge, "blind", "sees")
    ]  # fmt: skip
    pd.DataFrame(out).to_csv(to, index=False)


READS = """
audit WHAT
anchor SCORES WHAT
judges SCORES --prices WHAT
collect WHAT --dry-run
apply WHAT SCORES -o OUT
drift WHAT SCORES
drift PLAIN/audit/audit.json WHAT
check SCORES --reading WHAT
calibrate SCORES --labels WHAT --save OUT
calibrate SCORES --extend WHAT --save OUT
label read WHAT
probe make WHAT -o OUT
label make SCORES --items WHAT -o OUT
plan --from SCORES --prices WHAT
anchor SCORES --trusted Borealis --probed WHAT
paper report SCORES --metadata WHAT
paper report SCORES --control WHAT
collect PLAIN/plan.json --dry-run --until settled --questions judges --pilot WHAT
plan --from SCORES --labels WHAT --half-width 5
probe read WHAT
"""
"""Commands that read WHAT: nothing that never ends may be waited for."""


def filled(words: list[str], places: Mapping[str, object]) -> list[str]:
    """Words of a command with the paths of what they name."""
    return [re.sub(r"^[A-Z]+", lambda m: str(places.get(m[0], m[0])), word) for word in words]


# --- a file of every format ---


def write_formats(folder: Path) -> dict[str, list[str]]:
    """Files of every format: name -> the words of a command that read them."""
    import user_files

    out: dict[str, list[str]] = {}
    for name, make in user_files.MAKERS.items():
        place = folder / name.split("/")[0].split("::")[0].replace(".", "_")
        place.mkdir(parents=True)
        make(place)
        out[f"table {name}"] = [str(place / name)]
    tools = folder / "tools"
    shutil.copytree(ROOT / "tests" / "fixtures" / "tools", tools)
    for name in ("promptfoo.json", "deepeval.json", "mlflow.jsonl", "phoenix.json", "langfuse.json", "evals",
                 "openai_evals.jsonl", "mt_metrics"):  # fmt: skip
        out[f"tool {name}"] = [str(tools / name)]
    out["tool lm_eval"] = [str(tools / "lm_eval"), "--judge", "model"]
    out["tool ragas"] = [str(tools / "ragas" / "*.csv"), "--judge-from", "{judge}.csv"]
    frame = user_files.long()
    frame.to_parquet(folder / "folder.parquet", index=False)
    import sqlite3

    with sqlite3.connect(folder / "scores.sqlite") as db:
        frame.to_sql("scores", db, index=False)
    out["table sqlite"] = [f"{folder / 'scores.sqlite'}::scores"]
    (folder / "scores.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    out["table csv.gz"] = [str(folder / "scores.csv.gz")]
    _logs(folder / "log.eval", folder / "log.json")
    out["tool eval"], out["tool eval json"] = [str(folder / "log.eval")], [str(folder / "log.json")]
    _others(folder, out)
    return out


def _logs(archive: Path, text: Path) -> None:
    about = {"created": "2026-01-01T00:00:00+00:00", "task": "t", "dataset": {}, "model": "m", "config": {},
             "eval_id": "e", "run_id": "r", "task_id": "t", "metadata": {"language": "en"}}  # fmt: skip
    samples = [
        {"id": t, "epoch": 1, "input": "x", "target": "y", "scores": {"s": {"value": t + j}},
         "metadata": {"language": x, "judge": f"j{j}"}}
        for t in range(3) for x in ("en", "de") for j in range(2)
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": about}
    text.write_text(json.dumps({**log, "samples": samples}))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps(log))
        for place, sample in enumerate(samples):
            file.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))


def _others(folder: Path, out: dict[str, list[str]]) -> None:
    """Formats of the telemetry standard and of FastChat, which have no package to make them."""
    events, games = [], []
    for t in range(3):
        for x in ("en", "de"):
            for j in range(2):
                told = {"task": f"t{t}", "language": x, "judge": f"j{j}", "gen_ai.evaluation.name": "q"}
                held = [{"key": k, "value": {"stringValue": v}} for k, v in told.items()]
                held.append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": t + j + 0.5}})
                event = {"eventName": "gen_ai.evaluation.result", "attributes": held}
                events.append({"resourceLogs": [{"scopeLogs": [{"logRecords": [event]}]}]})
                games.append({"question_id": t, "model": "m", "judge": [f"gpt-{j}", "single-v1"], "score": 3 + t + j,
                              "user_prompt": "p", "judgment": "j", "turn": 1, "tstamp": 1.0})  # fmt: skip
    (folder / "otel.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    out["tool otel"] = [str(folder / "otel.jsonl")]
    for x in ("en", "de"):
        place = folder / "fastchat"
        place.mkdir(exist_ok=True)
        (place / f"gpt-4_single_{x}.jsonl").write_text("".join(json.dumps(g) + "\n" for g in games))
    out["tool fastchat"] = [str(folder / "fastchat" / "*.jsonl"), "--language-from", "gpt-4_single_{language}.jsonl"]


# --- damage ---

STRANGE: tuple[Any, ...] = (
    None, True, -1, 10**400, 1e308, 1e-320, "NaN", float("nan"), float("inf"), "", "x" * 1500, [], {}, [[]], [None],
    {"a": {"b": []}}, "\ud800", "=owned()", "\u202eowned", "a/../..", "\0", 0, -0.0, "1e999", [1, 2, 3], {"": ""},
    "2026-13-45T99:99", "\x1b[2J", 2**63, "1,5", " ", "{owned}",
)  # fmt: skip


def of_json(rng: random.Random, real: Any) -> Any:
    """A copy of JSON-like data with one to four places changed, at any depth."""
    out = copy.deepcopy(real)
    for _ in range(rng.randint(1, 4)):
        place = out
        for _ in range(rng.randint(0, 6)):
            inside = [k for k in _keys(place) if isinstance(place[k], (dict, list)) and place[k]]
            if not inside:
                break
            place = place[rng.choice(inside)]
        keys = _keys(place)
        if not keys:
            continue
        key, what = rng.choice(keys), rng.randrange(6)
        if what < 3:
            place[key] = copy.deepcopy(rng.choice(STRANGE))
        elif what == 3:
            del place[key]
        elif what == 4 and isinstance(place, dict):
            place[str(rng.choice(STRANGE))] = place.pop(key)
        else:
            for _ in range(rng.choice((1, 30, 900))):
                place[key] = [place[key]]
    return out


def _keys(place: Any) -> list[Any]:
    return list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []


def of_json_text(rng: random.Random, text: str) -> bytes:
    """JSON or JSON lines with values changed."""
    try:
        out = json.dumps(of_json(rng, json.loads(text)))
    except ValueError:
        lines = text.splitlines()
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(lines))
            try:
                lines[at] = json.dumps(of_json(rng, json.loads(lines[at])))
            except (ValueError, RecursionError):
                lines[at] = lines[at][: len(lines[at]) // 2]
        out = "\n".join(lines)
    return out.encode("utf-8", "surrogatepass")


def of_bytes(rng: random.Random, real: bytes) -> bytes:
    """A copy that is cut, overwritten, doubled, filled or written in another encoding."""
    out, what = bytearray(real), rng.randrange(9)
    at = rng.randrange(len(out)) if out else 0
    if what == 0:
        return bytes(out[:at])
    if what == 1:
        for _ in range(rng.randint(1, 20)):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif what == 2:
        out[at : at + 16] = rng.randbytes(rng.randint(1, 64))
    elif what == 3:
        out[at:at] = out[at : at + rng.randint(1, 5000)]
    elif what == 4:
        out[at : at + 400] = bytes(400)
    elif what == 5:
        return real.decode("latin-1").encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7"]))
    elif what == 6:
        out += rng.choice([b"\0" * 50, b"\xff\xfe", b"\x1f\x8b", b"PAR1", b"\n\n\n", b'"', b"{", b"x" * 3_000_000])
    elif what == 7:
        return rng.randbytes(rng.choice((0, 1, 3, 100, 5000)))
    else:
        mark = rng.choice([b"\n", b",", b'"', b"{", b"1"])
        return real.replace(mark, rng.choice([b"\r", b"\0", b"\x1b", b"", b"\xe2\x80\xae", mark * 3]))
    return bytes(out)
