"""Hostile names, files that hold them, and what may never come of them: for test_security.py and fuzz/hostile.py."""

from __future__ import annotations

import csv
import gzip
import hashlib
import html.parser
import io
import json
import random
import re
import sqlite3
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import numpy as np
import pandas as pd
from markdown_it import MarkdownIt

from common import workbook
from polyjudge.base.errors import PolyjudgeError
from polyjudge.read import read_panel
from polyjudge.simulate import simulate_panel

PARTS = (
    "\x1b]52;c;b3duZWQ=\x07", "\x1b[31mowned", "\u202eowned\u2066", "\u200bowned\ufeff", "\nowned\n# owned", "-owned",
    "![owned](https://owned.example/i.png)", "[owned](https://owned.example)", "<img src=x onerror=owned()>",
    "</script><script>owned()</script>", '"><svg onload=owned()>', "'; touch owned; '", "$(touch owned)", "a\rowned",
    "=owned()", "+owned", "@owned()", "'); DROP TABLE x; -- owned", '" OR owned --', "{owned}", "{{owned}}", "*.csv",
    "{0.__class__}", "%s%n owned", "[red]owned[/red]", "\\owned\\", "| owned | owned |", "`touch owned`", "a\tb",
    "https://owned.example/", "owned\x85\x9b31m", "__proto__", "constructor", "toString", "owned::owned", "[owned]*",
    "&lt;owned&gt;", "--owned", "~/owned", "owned,owned;owned", "e\u2028owned", "]]>owned<![CDATA[", "<!-- owned -->",
    "e\u0301owned", "x" * 150, "\U0001f469\u200d\U0001f467",
)  # fmt: skip
"""Terminal, direction, Markdown, HTML, shell, formulas, SQL, templates, patterns, options, JavaScript: all `owned`."""
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]|(?m:^(# )?owned$)"
)
"""Characters that move a cursor, write to the clipboard, turn text or cannot be seen; a line that a name began."""


def hostile(rng: random.Random, what: str) -> str:
    """A name of two parts; it begins with one of them, so that formulas are formulas."""
    return " ".join([*rng.sample(PARTS, 2), what]).strip()


def world(folder: Path, rng: random.Random, hostile: Callable[..., str] = hostile) -> dict[str, str]:
    """Scores, labels, items and a plan in a folder, all with hostile names: word -> what stands for it."""
    folder.mkdir(parents=True)
    panel = simulate_panel(tasks=12, systems=2, languages=3, judges=4, cells={(0, 0): -40}, seed=2).panel
    frame = panel.to_frame()
    held = {axis: hostile(rng, axis) for axis in ("task", "system", "language", "judge")}
    for axis, text in held.items():
        frame[axis] = frame[axis].replace({frame[axis].iloc[0]: text})
    out = {k: str(folder / f) for k, f in (("ITEMS", "i.jsonl"), ("LABELS", "l.csv"), ("PLAN", "p.json"))}
    out |= {"S": str(folder / "s.csv"), "COLUMN": hostile(rng, "judge"), "JUDGE": held["judge"]}
    out |= {"CELL": f"{held['language']},{held['judge']}", "TEXT": hostile(rng, "text")}
    frame.rename(columns={"judge": out["COLUMN"]}).to_csv(out["S"], index=False)
    labels = frame.groupby(["task", "system", "language"], sort=False)["score"].mean().round().reset_index()
    labels.rename(columns={"score": "label"}).to_csv(out["LABELS"], index=False)
    rows = labels.drop(columns="score").assign(id=labels["task"], prompt=hostile(rng, "p"), response=hostile(rng, "r"))
    Path(out["ITEMS"]).write_text("".join(json.dumps(r) + "\n" for r in rows.to_dict("records")))
    plan = {
        "name": hostile(rng, "plan"), "languages": list(panel.languages[1:]), "rubric": {"kind": "rating"},
        "items": {"path": "i.jsonl", "system": "system"},
        "judges": [{"name": hostile(rng, "j"), "model": "openai-api/local/x", "base_url": "http://127.0.0.1:9"}],
    }  # fmt: skip
    Path(out["PLAN"]).write_text(json.dumps(plan))
    return out


class Page(html.parser.HTMLParser):
    """What a page would run or load."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.scripts: list[str] = []
        self.policy, self.runs = "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if held.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = held["content"]
        self.runs = tag == "script" and held.get("type", "module") in ("text/javascript", "module")
        self.scripts += [""] if self.runs else []
        for name, value in held.items():
            if name.startswith("on") or (name in ("src", "href", "action", "data") and re.match(r"\w+:|//", value)):
                self.wrong += [f"<{tag} {name}={value[:40]!a}>"] if "owned" in value or name.startswith("on") else []

    def handle_endtag(self, tag: str) -> None:
        self.runs = False

    def handle_data(self, data: str) -> None:
        if self.runs:
            self.scripts[-1] += data


def wrong_in(path: Path) -> list[str]:
    """How a file that we wrote is not harmless."""
    text, wrong = path.read_text("utf-8"), []
    if path.suffix == ".html":
        page = Page(text)
        hashes = [b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in page.scripts]
        wrong = page.wrong + [f"a script that the policy does not know: {h}" for h in hashes if h not in page.policy]
        wrong += [] if "default-src 'none'" in page.policy else ["no policy"]
    elif path.suffix == ".md":
        blocks = MarkdownIt("commonmark").enable("table").parse(text)
        tokens = [t for b in blocks for t in (b, *(b.children or []))]
        wrong = [t.type for t in tokens if "owned" in str(t.attrs) or ("html" in t.type and "owned" in t.content)]
    elif path.suffix == ".csv":
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        wrong = [f"the formula {c[:40]!a}" for c in cells if c[:1] in tuple("=+-@\t\r") and "owned" in c]
    elif path.suffix == ".xml":
        ElementTree.fromstring(text)
    elif path.suffix == ".json":
        json.loads(text)
    if path.suffix != ".csv" and (found := UNSEEN.search(text)):
        wrong.append(f"raw {found[0]!a}")
    return wrong


# --- odd files whose panel is known ---

KEYS = ["task", "system", "language", "judge"]


@dataclass
class Odd:
    """A file with one odd thing. truths : panels that may be read, each with a word that must then be said; none: only
    a refusal is right. sound : it may not be refused. most : tasks beyond which the reader makes hashed units"""

    what: str
    source: str
    options: dict[str, Any]
    truths: list[tuple[pd.DataFrame, str]]
    sound: bool
    most: int

    def wrong(self, found: Mapping[str, Any]) -> str:
        """What is wrong with what was read: `rows` with their weight, and `notes`; or `refused`."""
        if "refused" in found:
            return f"refused though sound ({self.what}): {found['refused']}" if self.sound and self.truths else ""
        if self.what == "ids":  # a task of one language alone keeps its 3.0
            found = {**found, "rows": [(r[0].removesuffix(".0"), *r[1:]) for r in found["rows"]]}
        read, keys = pd.DataFrame(found["rows"], columns=[*KEYS, "score", "weight"]), KEYS[self.most < 9 :]
        for truth, word in self.truths:
            want = truth.assign(**{a: {"judge": "judge"}.get(a, "") for a in KEYS if a not in truth}, weight=1.0)
            want["score"] = want["score"].str.replace("%", "").astype(float)
            one, two = cells(read, keys), cells(want, keys)
            same = one.keys() == two.keys() and all(abs(one[c] - two[c]) < 1e-9 for c in one)
            if same and word in " ".join(found["notes"]):
                return ""
        return f"another panel in silence ({self.what}); it said: {' '.join(found['notes'])}"


def cells(frame: pd.DataFrame, keys: list[str]) -> dict[Any, float]:
    """Weighted means of scores; of all tasks where `task` is no key."""
    by = [frame[k] for k in keys]
    total = (frame["score"] * frame["weight"]).groupby(by).sum()
    return dict(total / frame["weight"].groupby(by).sum())


def found_in(source: str, options: dict[str, Any]) -> dict[str, Any]:
    """What `read_panel` makes of a source, as `Odd.wrong` takes it."""
    try:
        panel = read_panel(source, **options)
    except PolyjudgeError as error:
        return {"refused": str(error)}
    at = np.nonzero(np.isfinite(panel.scores))
    names = [[getattr(panel, f"{a}s")[i] for i in ix] for a, ix in zip(KEYS, at, strict=True)]
    rows = list(zip(*names, panel.scores[at].tolist(), panel.weight[at[0]].tolist(), strict=True))
    return {"rows": rows, "notes": list(panel.notes)}


def plant(rng: random.Random) -> tuple[pd.DataFrame, float, float, float]:
    """Scores as text, and their scale: lowest, highest, step. Axes may be missing, a few scores too."""
    t, s, k, m = rng.randint(6, 12), rng.choice((0, 0, 2, 3)), rng.choice((0, 2, 3)), rng.choice((0, 1, 2, 3, 4))
    low, high, step = rng.choice(
        ((0, 100, 1), (1, 5, 1), (1, 5, 1), (0, 10, 0.5), (0, 1, 1), (0, 1, 0.01), (20, 100, 20))
    )
    axes = {"task": [f"q{i + 1}" for i in range(t)], "system": ["alpha", "alpha2", "gamma"][:s],
            "language": ["de", "en", "sw"][:k], "judge": ["gpt-4o", "claude", "mistral-7b", "qwen"][:m]}  # fmt: skip
    axes = {a: [hostile(rng, a), *v[1:]] if v and rng.random() < 0.12 else v for a, v in axes.items() if v}
    frame = pd.MultiIndex.from_product(list(axes.values()), names=list(axes)).to_frame(index=False)
    frame["score"] = [f"{low + step * rng.randint(0, round((high - low) / step)):g}" for _ in range(len(frame))]
    frame.loc[:3, "score"] = [f"{x:g}" for x in (low, high, low + step, high - step)]
    keep = [i < 4 or rng.random() > 0.05 for i in range(len(frame))]
    return (frame[keep].reset_index(drop=True) if rng.random() < 0.3 else frame), low, high, step


ODDITIES = [
    "plain", "plain", "plain", "hashed", "sentinel", "drop", "zero", "zero", "error", "error", "scale", "scale",
    "summary", "ids", "prefix", "people", "twice", "other", "extra", "words", "percent", "comma", "two", "inf",
    "blank", "text",
]  # fmt: skip


def odd_file(folder: Path, rng: random.Random) -> Odd:  # noqa: C901
    """A planted panel with one odd thing, in a file of some format."""
    frame, low, high, step = plant(rng)
    what, n, has = rng.choice(ODDITIES), len(frame), list(frame)[:-1]
    some = rng.sample(range(4, n), max(1, (n - 4) // 30))
    f, truths, options = frame.copy(), [(frame, "")], {}
    if what in ("sentinel", "drop"):
        mark = rng.choice(("-1", "999", "-99"))
        f.loc[some, "score"] = mark
        options, truths = ({"drop": (mark,)}, [(f.drop(index=some), "")]) if what == "drop" else ({}, [])
    elif what == "zero" and low == 1 and 10 * len(some) < n:
        f.loc[some, "score"] = "0"
        truths = [(f, "If 0 means no score")]
    elif what == "error":
        column, bad, good = rng.choice(
            (("status", "error", "ok"), ("error", "timeout", ""), ("parse_ok", "False", "True"))
        )
        f[column] = [bad if i in some else good for i in range(n)]
        f.loc[some, "score"], truths = "0", [(frame.drop(index=some), "failed")]
    elif what == "scale" and high == 5:
        axis = rng.choice([a for a in has if a in ("judge", "language") and f[a].nunique() > 1] or ["task"])
        if axis != "task":
            times = np.where(f[axis] == f[axis].iloc[0], 1, 20)
            f["score"], truths = (f["score"].astype(int) * times).astype(str), []
    elif what == "summary":
        axis, word = rng.choice(has), rng.choice(("mean", "Average", "total", "ALL", "overall"))
        others = [a for a in has if a != axis]
        more = (f.drop_duplicates(others) if others else f[:1]).assign(**{axis: word})
        f, truths = pd.concat([f, more]), [(frame, "left out")]
    elif what == "ids" and "language" in has:
        same = {q: str(i + 1) for i, q in enumerate(frame["task"].unique())}
        frame["task"] = frame["task"].map(same)
        f["task"] = frame["task"] + np.where(f["language"] == f["language"].iloc[0], ".0", "")
        truths = [(frame, "as one")]
    elif what == "prefix" and "judge" in has:
        f["judge"] = np.where(f["task"].isin(["q2", "q3"]) & (f["judge"] == "claude"), "anthropic/claude", f["judge"])
        truths = [(frame, "as one" if "anthropic/claude" in set(f["judge"]) else "")]
    elif what == "people" and "judge" in has:
        people = rng.choice(("human", "Annotator 1"))
        f = pd.concat([f, f.drop_duplicates([a for a in has if a != "judge"]).assign(judge=people)])
    elif what in ("twice", "other"):
        again = f.iloc[some].copy()
        if what == "other":
            again["score"], truths = np.where(again["score"] == f"{low:g}", f"{high:g}", f"{low:g}"), []
        f = pd.concat([f, again])
    elif what == "extra":
        f = f.assign(difficulty=3, split="test", length=range(n), latency_ms=900, timestamp="2026-03-01T10:00:00Z")
    elif what == "words":
        f.loc[some, "score"] = rng.choice(("", "NA", "null", "n/a", "error", "refused", "-"))
        truths = [(frame.drop(index=some), "")]
    elif what == "percent":
        f["score"], truths = f["score"] + "%", [(frame, "ercent")]
    elif what == "comma" and step % 1:
        f["score"], truths = f["score"].str.replace(".", ","), [(frame, "omma")]
    elif what == "two":
        f, truths = f.assign(rating=f["score"].iloc[::-1].to_numpy()), []
    elif what in ("inf", "text"):
        f.loc[some, "score"], truths = {"inf": "inf", "text": "high"}[what], []
    elif what == "blank" and "judge" in has:
        f.loc[some, "judge"], truths = "", []
    wide = (
        what in ("plain", "sentinel", "words", "percent", "hashed", "extra")
        and "judge" in has
        and f["judge"].nunique() > 1
    )
    sound = what != "comma"
    if wide and rng.random() < 0.4:
        f = f.pivot(index=[a for a in has if a != "judge"], columns="judge", values="score").reset_index().fillna("")
        f = f.assign(difficulty=3, length=range(len(f))) if what == "extra" else f
        sound = not any(set(j) - set("abcdefghijklmnopqrstuvwxyz0123456789-") for j in frame["judge"])
        sound = sound and what == "plain" and high - low > 4  # columns of very few levels may not be told from others
    if rng.random() < 0.5:
        f = f.sample(frac=1, random_state=rng.randrange(999))
    source, certain = write(f, folder, rng, comma=what == "comma")
    return Odd(what, source, options, truths, sound and certain, 5 if what == "hashed" else 100_000)


def write(f: pd.DataFrame, folder: Path, rng: random.Random, comma: bool = False) -> tuple[str, bool]:
    """A frame of text in a file of some format; whether it may not be refused."""
    kind = rng.choice(
        ["csv", "csv", "csv", "csv.gz", "tsv", "jsonl", "json", "json.gz", "parquet", "xlsx", "sqlite", "duckdb"]
    )
    path = folder / f"scores.{kind}"
    with suppress(ValueError, KeyError):
        f = f.assign(score=pd.to_numeric(f["score"].replace("inf", "Infinity!"))) if rng.random() < 0.5 else f
    if kind in ("csv", "tsv", "csv.gz"):
        mark = ";" if comma else "\t" if kind == "tsv" else rng.choice(",,;")
        text = f.to_csv(index=False, sep=mark, quoting=1 if "\r" in f.to_csv() else 0)
        way = rng.choice(("", "", "\r\n", "bom", "utf-16", "bare utf-16", "mixed"))
        way = "" if "owned\n" in text or "a\r" in text else way  # labels with line ends stay as they are
        text = text.replace("\n", "\r\n") if way == "\r\n" else text
        if way == "mixed":
            text = "".join(line.rstrip("\n") + rng.choice(("\n", "\r\n")) for line in text.splitlines(keepends=True))
        data = text.encode({"bom": "utf-8-sig", "utf-16": "utf-16", "bare utf-16": "utf-16-le"}.get(way, "utf-8"))
        path.write_bytes(gzip.compress(data) if kind.endswith("gz") else data)
        return str(path), way in ("", "\r\n", "bom")
    if kind.startswith("json"):
        rows = [{k: v for k, v in r.items() if v != ""} for r in json.loads(f.to_json(orient="records"))]
        text = json.dumps(rows) if kind != "jsonl" else "".join(json.dumps(r) + "\n" for r in rows)
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    elif kind == "xlsx":
        workbook(path, {"a": f})
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as db:
            f.to_sql("scores", db, index=False)
    else:
        with duckdb.connect(str(path) if kind == "duckdb" else ":memory:", config={"threads": 1}) as db:
            db.execute("CREATE TABLE scores AS SELECT * FROM f")
            if kind == "parquet":
                db.execute(f"COPY scores TO '{path}' (FORMAT parquet)")
    return str(path), kind != "xlsx"


# --- damage ---


def harm(path: Path, rng: random.Random) -> None:
    """Cut, flip, fill, double or recode a file."""
    data, what = bytearray(path.read_bytes()), rng.randrange(9)
    at = rng.randrange(len(data) or 1)
    if what == 0:
        data = data[:at]
    elif what in (1, 2):
        for _ in range(rng.randint(1, 20) if data else 0):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif what == 3:
        data[at : at + 16] = rng.randbytes(rng.randint(1, 64))
    elif what == 4:
        data[at:at] = data[at : at + rng.randint(1, 5000)]
    elif what == 5:
        data[at : at + 400] = bytes(400)
    elif what == 6:
        data = bytearray(data.decode("latin-1").encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-7"))))
    elif what == 7:
        old = rng.choice((b"\n", b",", b'"', b"{", b":", b"1", b"e", b"null"))
        data = data.replace(
            old, rng.choice((b"\r", b"\0", b"\x1b", b"", b"null", b"[", b"1e999", b"\xe2\x80\xae", old * 3))
        )
    else:
        data += rng.choice(
            (b"\0" * 50, b"\xff\xfe", b"\x1f\x8b", b"PAR1", b'"', b"{", b"[" * 100_000, b"x" * 3_000_000)
        )
    path.write_bytes(data)


def bombs(folder: Path) -> Iterator[Path]:
    """Small files that grow, nest or never end."""
    head = b"task,language,judge,score\n" + b"".join(
        b"t%d,%s,%s,%d\n" % (t, x, j, t % 5) for t in range(9) for x in (b"en", b"de") for j in (b"a", b"b")
    )
    member = io.BytesIO()
    with zipfile.ZipFile(member, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("header.json", '{"version": 2, "status": "success", "eval": {}}')
        book.writestr("samples/1.json", b" " * 300_000_000)
    texts = {
        "zero.csv.gz": gzip.compress(head + bytes(400_000_000)), "log.eval": member.getvalue(),
        "late.csv.gz": gzip.compress(head * 3000) + gzip.compress(b"\n" * 400_000_000),
        "spaces.json.gz": gzip.compress(b" " * 400_000_000), "list.json.gz": gzip.compress(b"[" + b"1," * 200_000_000),
        "text.jsonl.gz": gzip.compress(b'{"eval": "' + b"x" * 400_000_000), "deep.json": b"[" * 1_000_000,
        "deep2.json": b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "quotes.csv": b'"' * 3_000_000,
        "line.csv": head + b"x" * 30_000_000, "digits.csv": head.replace(b",3\n", b"," + b"9" * 5000 + b"\n"),
        "columns.csv": b",".join(b"c%d" % i for i in range(9000)) + b"\n" + b",".join([b"1"] * 9000),
        "label.csv": head.replace(b"t1,", b"t" * 100_000 + b","), "huge.csv": head.replace(b",3\n", b",1e308\n"),
    }  # fmt: skip
    for name, data in texts.items():
        (folder / name).write_bytes(data)
        yield folder / name
    for i, view in enumerate((
        "SELECT * FROM range(1000000000) t(task), range(100000) u(score)",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT repeat('x', 2000000000) AS task, 'en' AS language, 'j' AS judge, 1 AS score",
    )):  # fmt: skip
        path = folder / f"view{i}.duckdb"
        with duckdb.connect(str(path), config={"threads": 1}) as db:
            db.execute(f"CREATE VIEW v AS {view}")
        yield path
    with closing(sqlite3.connect(folder / "view.sqlite")) as db:
        db.execute("CREATE TABLE s (task, score)")
        db.execute("CREATE VIEW v AS SELECT *, load_extension('/tmp/owned') FROM s")
    yield folder / "view.sqlite"
