"""Crafted files: refused with a clear error, quickly, in bounded memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import polyjudge as pj
from polyjudge.sources import limits
from polyjudge.sources.limits import check_text
from refusals import refused

HEADER = b"task,language,judge,score\n"
GOOD = HEADER + b"".join(f"t{i},{x},{j},{i}\n".encode() for i in range(5) for x in ("en", "sw") for j in "AB")


def read_in_a_small_process(path: Path) -> str:
    """Its message: read in a process that may use 1.5 GB of memory more than it starts with, and must end."""
    code = f"""
import resource
import polyjudge as pj, polyjudge.sources, duckdb, pandas
try:
    print(pj.read_panel({str(path)!r}))
except pj.PolyjudgeError as error:
    print("refused:", error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    *message, last = done.stdout.splitlines()
    assert int(last) < 1_500_000, f"{last} kB"
    return "\n".join(message)


def packed(path: Path, *parts: tuple[bytes, int]) -> Path:
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for block, times in parts:
            for _ in range(times):
                file.write(pack.compress(block))
        file.write(pack.flush())
    return path


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("one line of 300 MB", lambda p: p.write_bytes(HEADER + b"t,en,A," + b"x" * 300_000_000)),
        ("no line end", lambda p: p.write_bytes(b"x" * 100_000_000)),
        ("a million columns", lambda p: p.write_bytes(b",".join(b"c%d" % i for i in range(1_000_000)) + b"\n1\n")),
    ],
)
def test_crafted_csv(name: str, make: object, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    make(path)  # type: ignore[operator]
    message = read_in_a_small_process(path)
    assert message.startswith("refused:"), name


def test_deep_json(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_bytes(b'{"task":' + b"[" * 500_000 + b"]" * 500_000 + b"}\n")
    message = read_in_a_small_process(path)
    assert message.startswith("refused:")


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW", 1 << 16)
    bomb = packed(tmp_path / "bomb.csv.gz", (HEADER, 1), (b"t,en,A,1\n" * 111_111, 20))
    with refused(pj.PanelError, "bomb.csv.gz", 200):
        pj.read_panel(bomb)
    with refused(pj.PanelError, "line.csv.gz", "64 KiB"):
        check_text(packed(tmp_path / "line.csv.gz", (b"x" * 100_000, 1)))


def test_a_long_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(GOOD + b"t9,en,A," + b"x" * 5_000_000 + b"\nt9,sw,A,3\n")
    with refused(pj.PanelError, "scores.csv", "line 22", 2000000):
        pj.read_panel(path)


def test_packed_tables_that_are_tables_pass(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv.gz"
    path.write_bytes(gzip.compress(GOOD[:100]) + gzip.compress(GOOD[100:]))
    check_text(path)
    path.write_bytes(gzip.compress(GOOD))
    assert pj.read_panel(path).shape == (5, 2, 2)
    path.write_bytes(b"not gzip at all")
    with refused(pj.PanelError, "scores.csv.gz", "gzip"):
        pj.read_panel(path)
