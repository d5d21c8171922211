"""Readers of public sets, one module a layout. Each has `READERS`: where a set comes from, and how it is read."""

from __future__ import annotations

from pathlib import Path

from evidence.readers import basse, devai, judgebench, menlo, mrewardbench, mtmetrics, pariksha, rtplx
from evidence.readers.base import Absent, Source
from evidence.sets import Evidence

READERS = tuple(
    reader
    for module in (rtplx, pariksha, devai, mrewardbench, mtmetrics, basse, judgebench, menlo)
    for reader in module.READERS
)
SOURCES: tuple[Source, ...] = tuple(source for source, _ in READERS)


def read_all(folder: Path) -> tuple[list[Evidence], list[tuple[Source, str]]]:
    """The sets that are there, and what is not, with the reason."""
    if not folder.is_dir():
        raise Absent(f"There is no folder {folder}.")
    found: list[Evidence] = []
    absent: list[tuple[Source, str]] = []
    for source, read in READERS:
        try:
            found += read(folder)
        except Absent as why:
            absent.append((source, str(why)))
    return found, absent
