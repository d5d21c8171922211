"""The one budget of every reader: what a file may grow to, how long it may take, how much memory it may fill."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from polyjudge.second.panel.budget import budget, require
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean

SUFFIXES = {
    "csv": (".csv", ".tsv", ".txt"),
    "json": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "excel": (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods"),
    "database": (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"),
}
"""Kinds of files by what their names end in, .gz left out."""


def named(path: Path | str, *kinds: str) -> bool:
    """Whether a file's name is one of these kinds, packed or not."""
    plain = str(path).lower().removesuffix(".gz")
    return any(plain.endswith(SUFFIXES[kind]) for kind in kinds)


HEADER_BYTES = 1 << 16
"""Longest first line of a CSV file."""
LINE_BYTES = 2_000_000
"""Longest last line of a CSV file. The engine refuses any longer line, but drops one at the end that its buffer (32 MB)
does not hold. Twice as much is looked at: empty lines may follow."""
LONG_LINE = f"is longer than {LINE_BYTES} bytes. A row of a score table is not: check its quotes and line ends."
EXPANSION = 200
"""A packed file that grows by more than this anywhere is not a table: score tables shrink about 5 to 50 times."""
WINDOW = 1 << 20
"""The growth is judged over every so many packed bytes, so that a bomb behind honest rows is seen too."""
LARGEST_SCORE = 1e30
"""Larger scores are refused: their fourth powers are added up."""
LONGEST_LABEL = 1000
"""Characters of the name of a task, language or judge. Longer ones are texts in the wrong column."""
SECONDS = 60.0
"""What others' programs (views, readers of spreadsheets) may take."""
PER_VALUE, PER_BYTE = 300, 4
"""Bytes that a value of JSON, and a byte of its text, take once it is read: measured with the smallest values."""
CHILD_LEAST = 1 << 30
"""A reader in a process of its own gets at least this much: its libraries alone take a good part."""


def weigh(path: Path) -> tuple[int, int]:
    """One pass over a text file: its bytes, unpacked, and the values of JSON it could hold. Refuses a packed one that
    expands beyond all measure, and CSV whose first or last line is no row."""
    stat = path.stat()
    return _weighed(str(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _weighed(name: str, size: int, changed: int) -> tuple[int, int]:
    path, shown = Path(name), clean(name, 200)
    is_json = named(path, "json")
    start, end, total, values = b"", bytearray(), 0, 0
    try:
        with path.open("rb") as file:
            if path.name.lower().endswith(".gz"):
                blocks = unpacked(file, shown)
            elif is_json:
                blocks = iter(lambda: file.read(1 << 22), b"")
            else:  # its ends are enough: a table may have many GB
                start = file.read(HEADER_BYTES + 1)
                file.seek(max(size - 2 * LINE_BYTES, 0))
                blocks = iter([file.read()])
            for text in blocks:
                total += len(text)
                if is_json:
                    values += sum(map(text.count, (b",", b"{", b"[")))
                else:
                    start = start if len(start) > HEADER_BYTES else start + text[: HEADER_BYTES + 1]
                    end += text
                    if len(end) > 4 * LINE_BYTES:
                        del end[: -2 * LINE_BYTES]
    except (zlib.error, OSError, EOFError) as error:
        raise PanelError(f"{shown} cannot be read, or is no whole gzip file: {clean(error, 80)}.") from None
    if not is_json:
        _check_lines(start, end, shown)
    return total, values


def _check_lines(start: bytes, end: bytearray, shown: str) -> None:
    """`start` and `end` are the ends of the text, longer than the limits where the text is."""
    if len(start) > HEADER_BYTES and b"\n" not in start and b"\r" not in start:
        raise PanelError(
            f"The first line of {shown} is longer than {HEADER_BYTES // 1024} KiB, so it is no header of a score "
            "table. Check that the file has line ends and one row per score."
        )
    line = end.rstrip(b"\r\n")
    if len(line) - 1 - max(line.rfind(b"\n"), line.rfind(b"\r")) > LINE_BYTES:
        raise PanelError(f"The last line of {shown} {LONG_LINE}")


def require_json(path: Path) -> None:
    """An error when JSON that is read as a whole would take more memory than the budget."""
    size, values = weigh(path)
    require(size * PER_BYTE + values * PER_VALUE, f"Reading {clean(path, 200)}")


def unpacked(file: BinaryIO, shown: str) -> Iterator[bytes]:
    """The content of a gzip stream in blocks, as long as it grows like a table."""
    start = grown = 0
    with gzip.GzipFile(fileobj=file) as stream:
        while text := stream.read1(1 << 22):
            grown += len(text)
            if grown > EXPANSION * WINDOW:
                raise PanelError(
                    f"{shown} grows more than {EXPANSION} times when it is unpacked, which no score table does. If it "
                    "is one all the same, unpack it first."
                )
            yield text
            if file.tell() - start >= WINDOW:
                start, grown = file.tell(), 0


@contextmanager
def memory_limit() -> Iterator[None]:
    """Let this process take no more than the budget on top of what it has: an engine does not count every text."""
    status = Path("/proc/self/status")
    if not status.exists():  # only Linux tells, and keeps to the limit
        yield
        return
    import resource

    held = int(status.read_text(encoding="ascii", errors="replace").split("VmData:")[1].split()[0]) << 10
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    least = min(x for x in (held + budget(), soft, hard) if x != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (least, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def in_child(kind: str, given: list[str], shown: str, seconds: float = SECONDS) -> Iterator[Any]:
    """What a reader of others finds, read in a process that ends when it takes too much memory or time."""
    most = max(budget(), CHILD_LEAST)
    command = [sys.executable, str(Path(__file__).with_name("child.py")), str(most), kind, *given]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    late = threading.Timer(seconds, child.kill)
    late.daemon = True
    late.start()
    assert child.stdout is not None
    left, ended = most // PER_BYTE, False
    try:
        for line in child.stdout:
            left -= len(line) + line.count(b",") * PER_VALUE // PER_BYTE
            if left < 0:
                break
            value = json.loads(line)
            if isinstance(value, dict):
                raise PanelError(f"{shown} cannot be read: {clean(value['error'], 200)}.")
            yield value
        ended = left >= 0
    finally:
        timely = late.is_alive()
        late.cancel()
        if not ended:
            child.kill()
        child.stdout.close()
        child.wait()
    if not timely:
        raise PanelError(f"{shown} was not read within {seconds:g} seconds. Save its scores as CSV.")
    if left < 0 or child.returncode:
        raise PanelError(
            f"{shown} needs more memory than may be used ({most >> 20} MB). Save its scores as CSV, or allow more "
            "(POLYJUDGE_MEMORY=8GB)."
        )
