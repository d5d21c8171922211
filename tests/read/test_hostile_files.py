"""Crafted files: refused with a clear error, quickly, in bounded memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest

import polyjudge as pj
from polyjudge.read import limits
from polyjudge.read.limits import check_text
from refusals import refused

HEADER = b"task,language,judge,score\n"
GOOD = HEADER + b"".join(f"t{i},{x},{j},{i}\n".encode() for i in range(5) for x in ("en", "sw") for j in "AB")


def read_in_a_small_process(paths: Iterable[Path]) -> list[str]:
    """Their messages: read in a process that may use 580 MB of memory, and must end."""
    code = f"""
import polyjudge as pj
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
            check_text(tmp_path / name)
    (tmp_path / "long.csv").write_bytes(GOOD * 10_000 + b"t9,en,A,1")
    check_text(tmp_path / "long.csv")


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
