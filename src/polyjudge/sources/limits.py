"""Limits on text files, so that a crafted one is refused at once instead of filling memory or time."""

from __future__ import annotations

import zlib
from pathlib import Path

from polyjudge.core.errors import PanelError
from polyjudge.core.labels import clean

HEADER_BYTES = 1 << 16
"""Longest first line of a CSV file."""
EXPANSION = 200
"""A packed file that grows by more than this is not a table: score tables shrink about 5 to 50 times."""
PROBE = 1 << 26
"""So much of a packed file is unpacked to see how it grows."""


def check_text(path: Path) -> None:
    """Refuse a packed file that expands beyond all measure, and a CSV header that is no header."""
    if path.name.lower().endswith(".gz"):
        _check_expansion(path)
    else:
        with path.open("rb") as file:
            check_header(file.read(HEADER_BYTES + 1), path)


def check_header(start: bytes, path: Path) -> None:
    """`start` is the first part of the text, longer than the limit where the text is."""
    if len(start) > HEADER_BYTES and b"\n" not in start and b"\r" not in start:
        raise PanelError(
            f"The first line of {clean(str(path), 200)} is longer than {HEADER_BYTES // 1024} KiB, so it is no header "
            "of a score table. Check that the file has line ends and one row per score."
        )


def _check_expansion(path: Path) -> None:
    unpack = zlib.decompressobj(wbits=31)
    packed = unpacked = 0
    start = b""
    try:
        with path.open("rb") as file:
            while unpacked < PROBE and (block := file.read(1 << 14)):
                packed += len(block)
                while block and unpacked < PROBE:
                    text = unpack.decompress(block, 1 << 22)
                    start = start if len(start) > HEADER_BYTES else start + text[: HEADER_BYTES + 1]
                    unpacked += len(text)
                    if unpack.eof:
                        block = unpack.unused_data.lstrip(b"\0")
                        unpack = zlib.decompressobj(wbits=31)
                    else:
                        block = unpack.unconsumed_tail
    except zlib.error as error:
        raise PanelError(f"{clean(str(path), 200)} cannot be read: it is not a whole gzip file ({error}).") from None
    if unpacked > EXPANSION * max(packed, 1 << 16):
        raise PanelError(
            f"{clean(str(path), 200)} grows more than {EXPANSION} times when it is unpacked, which no score table "
            "does. If it is one all the same, unpack it first."
        )
    if not path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json")):
        check_header(start, path)
