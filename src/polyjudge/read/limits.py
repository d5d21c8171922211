"""Limits on text files, so that a crafted one is refused at once instead of filling memory or time."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from polyjudge.panel.errors import PanelError
from polyjudge.panel.labels import clean

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


def check_text(path: Path) -> None:
    """Refuse a packed file that expands beyond all measure, and a CSV file whose first or last line is no row."""
    if path.name.lower().endswith(".gz"):
        _check_expansion(path)
        return
    with path.open("rb") as file:
        check_header(file.read(HEADER_BYTES + 1), path)
        file.seek(max(path.stat().st_size - 2 * LINE_BYTES, 0))
        _check_last_line(file.read(), path)


def check_header(start: bytes, path: Path) -> None:
    """`start` is the first part of the text, longer than the limit where the text is."""
    if len(start) > HEADER_BYTES and b"\n" not in start and b"\r" not in start:
        raise PanelError(
            f"The first line of {clean(str(path), 200)} is longer than {HEADER_BYTES // 1024} KiB, so it is no header "
            "of a score table. Check that the file has line ends and one row per score."
        )


def _check_last_line(end: bytes | bytearray, path: Path) -> None:
    """`end` is the last part of the text, longer than the limit where the text is."""
    line = end.rstrip(b"\r\n")
    if len(line) - 1 - max(line.rfind(b"\n"), line.rfind(b"\r")) > LINE_BYTES:
        raise PanelError(f"The last line of {clean(str(path), 200)} {LONG_LINE}")


def _check_expansion(path: Path) -> None:
    shown = clean(str(path), 200)
    start, end = b"", bytearray()
    try:
        with path.open("rb") as file:
            for text in unpacked(file, shown):
                start = start if len(start) > HEADER_BYTES else start + text[: HEADER_BYTES + 1]
                end += text
                if len(end) > 4 * LINE_BYTES:
                    del end[: -2 * LINE_BYTES]
    except zlib.error as error:
        raise PanelError(f"{shown} cannot be read: it is not a whole gzip file ({error}).") from None
    if not path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json")):
        check_header(start, path)
        _check_last_line(end, path)


def unpacked(file: BinaryIO, shown: str) -> Iterator[bytes]:
    """The content of a gzip stream in blocks, as long as it grows like a table."""
    unpack = zlib.decompressobj(wbits=31)
    packed = grown = 0
    while block := file.read(1 << 14):
        packed += len(block)
        while block:
            text = unpack.decompress(block, 1 << 22)
            grown += len(text)
            if grown > EXPANSION * WINDOW:
                raise too_large(shown)
            yield text
            if unpack.eof:
                block = unpack.unused_data.lstrip(b"\0")
                unpack = zlib.decompressobj(wbits=31)
            else:
                block = unpack.unconsumed_tail
        if packed >= WINDOW:
            packed = grown = 0


def too_large(shown: str) -> PanelError:
    """The error of a packed file that grows beyond all measure."""
    return PanelError(
        f"{shown} grows more than {EXPANSION} times when it is unpacked, which no score table does. If it is one all "
        "the same, unpack it first."
    )


def check_archive(path: Path) -> None:
    """Refuse a zip archive (an Inspect log) whose parts are larger than they say, or that grows beyond all measure."""
    shown = clean(str(path), 200)
    most = EXPANSION * max(path.stat().st_size, 1 << 16)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > most:
                raise too_large(shown)
            for part in archive.infolist():
                if part.compress_type == zipfile.ZIP_DEFLATED:
                    most -= _unpacked_size(archive, part, most)
                if most < 0:
                    raise too_large(shown)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
        raise PanelError(f"{shown} is not a whole log: {clean(error, 120)}.") from None


def _unpacked_size(archive: zipfile.ZipFile, part: zipfile.ZipInfo, most: int) -> int:
    """Bytes that a part really unpacks to, counted along the stream: the size it declares may be a lie."""
    head = archive.open(part)
    head.close()  # checks the part's own header
    raw = archive.fp
    assert raw is not None
    raw.seek(part.header_offset + 26)
    name, extra = (int.from_bytes(raw.read(2), "little") for _ in range(2))
    raw.seek(part.header_offset + 30 + name + extra)
    unpack, left, size = zlib.decompressobj(-15), part.compress_size, 0
    while left > 0 and size <= most and not unpack.eof:
        block = raw.read(min(left, 1 << 16))
        if not block:
            break
        left -= len(block)
        while block and size <= most:
            size += len(unpack.decompress(block, 1 << 22))
            block = unpack.unconsumed_tail
    return size
