"""Crafted files: refused with a clear error, quickly, in bounded memory."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import polyjudge.second as pj
from polyjudge.second.read import duck, limits
from polyjudge.second.read.formats.excel import write_excel
from polyjudge.second.read.limits import weigh
from refusals import refused

HEADER = b"task,language,judge,score\n"
GOOD = HEADER + b"".join(f"t{i},{x},{j},{i}\n".encode() for i in range(5) for x in ("en", "sw") for j in "AB")


def read_in_a_small_process(paths: Iterable[Path]) -> list[str]:
    """Their messages: read in a process that may use 580 MB of memory, and must end."""
    code = f"""
import polyjudge.second as pj
for path in {list(map(str, paths))!r}:
    try:
        print(pj.read_panel(path))
    except pj.PolyjudgeError as error:
        print("refused:", error)
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    *messages, last = done.stdout.splitlines()
    assert int(last) < 580_000, f"{last} kB"
    return messages


def packed(path: Path, *parts: tuple[bytes, int]) -> Path:
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for block, times in parts:
            for _ in range(times):
                file.write(pack.compress(block))
        file.write(pack.flush())
    return path


def test_crafted_files(tmp_path: Path) -> None:
    files = {
        "one line.csv": lambda: HEADER + b"t,en,A," + b"x" * 100_000_000 + b"\nt,en,B,1\n",
        "no line end.csv": lambda: b"x" * 100_000_000,
        "columns.csv": lambda: b",".join(b"c%d" % i for i in range(100_000)) + b"\n1\n",
        "deep.jsonl": lambda: b'{"task":' + b"[" * 500_000 + b"]" * 500_000 + b"}\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content())
    messages = read_in_a_small_process(tmp_path / name for name in files)
    assert len(messages) == len(files)
    assert all(message.startswith("refused:") for message in messages), messages
    for name in files:
        (tmp_path / name).unlink()


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\n"])
def test_a_long_last_line_is_not_dropped(tmp_path: Path, end: bytes) -> None:
    """The engine leaves out a last line that its buffer does not hold, and says nothing."""
    line = b"t9,en,A," + b"0123456789abcdef" * (1 << 17)
    (tmp_path / "long.csv").write_bytes(GOOD + line + end)
    with gzip.open(tmp_path / "long.csv.gz", "wb", compresslevel=0) as file:
        file.write(GOOD * 10_000 + line + end)
    for name in ("long.csv", "long.csv.gz"):
        with refused(pj.PanelError, name, limits.LINE_BYTES):
            weigh(tmp_path / name)
    (tmp_path / "long.csv").write_bytes(GOOD * 10_000 + b"t9,en,A,1")
    weigh(tmp_path / "long.csv")


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW", 1 << 16)
    bomb = packed(tmp_path / "bomb.csv.gz", (HEADER, 1), (b"t,en,A,1\n" * 111_111, 20))
    with refused(pj.PanelError, "bomb.csv.gz", 200):
        pj.read_panel(bomb)
    with refused(pj.PanelError, "line.csv.gz", "64 KiB"):
        weigh(packed(tmp_path / "line.csv.gz", (b"x" * 100_000, 1)))


def test_a_long_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(GOOD + b"t9,en,A," + b"x" * 5_000_000 + b"\nt9,sw,A,3\n")
    with refused(pj.PanelError, "scores.csv", "line 22", 2000000):
        pj.read_panel(path)


def test_packed_tables_that_are_tables_pass(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv.gz"
    path.write_bytes(gzip.compress(GOOD[:100]) + gzip.compress(GOOD[100:]))
    weigh(path)
    path.write_bytes(gzip.compress(GOOD))
    assert pj.read_panel(path).shape == (5, 2, 2)
    path.write_bytes(b"not gzip at all")
    with refused(pj.PanelError, "scores.csv.gz", "gzip"):
        pj.read_panel(path)


# --- one budget ---


def peak(path: Path, memory: str = "1GB", **options: Any) -> tuple[str, int, float]:
    """What reading says, the most memory (MB) that it and its children took, and the seconds."""
    code = f"""
import polyjudge.second as pj
import resource
try:
    print(pj.read_panel({str(path)!r}, **{options!r}))
except pj.PolyjudgeError as error:
    print("refused:", type(error).__name__, error)
print(max(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""
    start = time.monotonic()
    env = {**os.environ, "POLYJUDGE_MEMORY": memory}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False, env=env
    )
    assert done.returncode == 0, done.stderr[-500:]
    *said, last = done.stdout.splitlines()
    return "\n".join(said), int(last) // 1024, time.monotonic() - start


def far_cell(path: Path) -> Path:
    """A workbook of 2 kB with a cell in its last corner."""
    write_excel(path, ["task", "language"], [[("a", "en")]])
    parts = {}
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(
        b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, body in parts.items():
            book.writestr(name, body)
    return path


def many_cells(path: Path) -> Path:
    """A workbook of less than 1 MB that holds 4 million cells."""
    write_excel(path, ["task", "language"], [[("a", "en")]])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, body in parts.items():
            more = (b"<row>" + b"<c><v>1</v></c>" * 600 + b"</row>") * 6_500 if "sheet1" in name else b""
            book.writestr(name, body.replace(b"</sheetData>", more + b"</sheetData>"))
    return path


def many_objects(path: Path) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"data": [' + b"{}," * 15_000_000 + b"{}]}")
    return path


def sqlite_view(path: Path) -> Path:
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) "
            "SELECT i AS task, 'en' AS language, hex(zeroblob(400000)) AS judge, 1 AS score FROM n"
        )
    return path


def duckdb_text(path: Path) -> Path:
    """A view with one value of 2 GB, which the engine does not count."""
    with duckdb.connect(str(path)) as db:
        db.execute(
            "CREATE VIEW v AS SELECT repeat('x', 2000000000) AS task, 'en' AS language, 'j' AS judge, 1 AS score"
        )
    return path


def duckdb_macros(path: Path) -> Path:
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE MACRO m0(x) AS x + 1")
        for i in range(1, 18):
            db.execute(f"CREATE MACRO m{i}(x) AS m{i - 1}(x) + m{i - 1}(x)")
        db.execute("CREATE VIEW v AS SELECT 1 AS task, 'en' AS language, 'a' AS judge, 2 AS score")
        db.execute("CREATE OR REPLACE VIEW v AS SELECT m2(1) AS task, 'en' AS language, 'a' AS judge, 2 AS score")
        for i in range(18, 40):
            db.execute(f"CREATE OR REPLACE MACRO m{i}(x) AS m{i - 1}(x) + m{i - 1}(x)")
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE OR REPLACE MACRO m2(x) AS m39(x)")
    return path


BOMBS: dict[str, Callable[[Path], Path]] = {
    "far.xlsx": far_cell,
    "many.xlsx": many_cells,
    "many.json.gz": many_objects,
    "view.sqlite": sqlite_view,
    "view.duckdb": duckdb_text,
}


SLOW = ("many.xlsx", "view.sqlite")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in BOMBS])
def test_bombs_stay_within_the_budget(name: str, tmp_path: Path) -> None:
    path = BOMBS[name](tmp_path / name)
    assert path.stat().st_size < 3 << 20
    said, megabytes, seconds = peak(path)
    assert said.startswith("refused: "), said[:200]
    assert megabytes < 1024 + 500, f"{megabytes} MB"
    assert seconds < 80


def test_macros_of_a_database_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "SECONDS", 1.0)
    path = duckdb_macros(tmp_path / "m.duckdb")
    start = time.monotonic()
    with refused(pj.PanelError, "m.duckdb"):
        pj.read_panel(path)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("name", ["s.csv", "s.json", "s.xlsx", "s.eval", "s.parquet", "s.sqlite"])
def test_a_pipe_or_device_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    (tmp_path / f"zero{Path(name).suffix}").symlink_to("/dev/zero")
    for source in (tmp_path / name, str(tmp_path / f"*{Path(name).suffix}"), tmp_path / f"zero{Path(name).suffix}"):
        with refused(pj.PanelError, "device"):
            pj.read_panel(source)
    with pytest.raises(pj.PolyjudgeError):
        pj.read_panel(tmp_path)


# --- what tools never write ---


def record(**more: Any) -> dict[str, Any]:
    about = {"task": "t1", "language": "en", "judge": "j"}
    return {"traceId": "x", "name": "q", "dataType": "NUMERIC", "value": 1, "metadata": about, **more}


STRANGE: dict[str, tuple[str, bytes]] = {
    "assessments that are no JSON": ("m.jsonl", b'{"info": {"trace_id": "a", "assessments": "no json"}}\n'),
    "assessments that are no objects": ("m.jsonl", b'{"info": {"trace_id": "a", "assessments": [1]}}\n'),
    "a list as a metric": ("l.json", json.dumps({"data": [record(name=["a"]), record(name={"b": 1})]}).encode()),
    "half a pair": ("s.jsonl", b'{"task": "\\ud800", "language": "en", "judge": "j", "score": 1}\n'),
    "half a pair in a tool's file": ("l.json", json.dumps({"data": [record(name="\ud800")]}).encode()),
    "half a pair in a list of records": ("s.jsonl", b'{"id": 1, "judgments": [{"judge": "\\ud800", "score": 0}]}\n'),
    "half a pair as a name": ("s.json", b'[{"task": "t", "language": "en", "\\udc00": "j", "score": 1}]'),
    "ragged Phoenix": (
        "p.csv",
        b"span_id,annotation_name,annotator_kind,result.score,metadata\na,b,LLM,1,{}\na,b,c,d,e,f,g\n",
    ),
    "deep Phoenix": (
        "p.csv",
        b"span_id,annotation_name,annotator_kind,result.score,metadata\na,b,LLM,1," + b"[" * 50_000 + b"\n",
    ),
    "bytes in mt-metrics": ("en-de/COMET.seg.score", b"sys\xff\t1\n"),
    "lines of lists": ("x.jsonl", b"[1]\n[2]\n"),
    "a document of numbers": ("x.json", b"[1, 2, 3]"),
    "results that are no list": (
        "r.json",
        b'{"results": {"version": 3, "results": [{"vars": 3, "gradingResult": []}]}}',
    ),
    "cases that are numbers": ("d.json", b'{"testCases": [1, 2]}'),
    "an empty archive": ("a.eval", b"PK\x05\x06" + b"\0" * 18),
}


@pytest.mark.parametrize("case", STRANGE)
def test_strange_files_are_one_paragraph(case: str, tmp_path: Path) -> None:
    name, body = STRANGE[case]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(body)
    with pytest.raises(pj.PolyjudgeError) as caught:
        pj.read_panel(path)
    assert not re.search("[\ud800-\udfff]", str(caught.value))
