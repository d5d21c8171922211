"""Unpack zip, bz2, xz and zst files into a folder that is removed when the program ends."""

from __future__ import annotations

import atexit
import bz2
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, TooLarge, UsageError
from polyjudge.base.text import name, names

UNOPENED = (".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".lz4", ".br", ".snappy", ".sz", ".z", ".pkl", ".pickle", ".npy",
            ".npz", ".h5", ".hdf5", ".avro", ".orc", ".rds", ".rdata", ".dta", ".sav", ".sas7bdat")  # fmt: skip
"""Ends of names of files that are not opened."""
CHUNK = 1 << 20


def _open_zstandard(path: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            f"{name(path, 200)} is packed by Zstandard. Reading it needs: pip install 'polyjudge[logs]'."
        ) from None
    file: IO[bytes] = zstandard.open(path, "rb")
    return file


OPENERS: dict[str, Callable[[Path], Any]] = {
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".lzma": lzma.open,
    ".zst": _open_zstandard,
    ".zstd": _open_zstandard,
}
PACKED = (*OPENERS, ".zip")


def unpack(paths: list[Path], ends: tuple[str, ...]) -> list[Path]:
    """The same files, unpacked. Of a zip file those whose names have one of these ends."""
    plain: list[Path] = []
    for path in paths:
        low = path.name.lower()
        if low.endswith(UNOPENED):
            raise PanelError(f"{name(path, 200)} is of a kind that is not read. Save the scores as CSV or Parquet.")
        if low.endswith(PACKED):
            try:
                plain += _unpacked(path, ends)
            except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError) as error:
                raise PanelError(f"{name(path, 200)} cannot be unpacked: {name(error, 100)}.") from None
        else:
            plain.append(path)
    return plain


def _unpacked(path: Path, ends: tuple[str, ...]) -> list[Path]:
    folder = Path(tempfile.mkdtemp(prefix="polyjudge-unpacked-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for end, opener in OPENERS.items():
        if path.name.lower().endswith(end):
            target = folder / path.name[: -len(end)]
            with opener(path) as source:
                _copy(source, target, path)
            return [target]
    with zipfile.ZipFile(path) as book:
        inside = [m for m in book.infolist() if not m.is_dir() and not _is_hidden(m.filename)]
        wanted = [m for m in inside if m.filename.lower().endswith(ends)]
        if not wanted:
            listed = names([m.filename for m in inside], 6)
            raise PanelError(f"{name(path, 200)} holds no file of scores (it holds {listed}). Save the scores as CSV.")
        targets = []
        for i, member in enumerate(sorted(wanted, key=lambda m: m.filename)):
            target = folder / f"{i}" / Path(member.filename).name
            target.parent.mkdir()
            with book.open(member) as source:
                _copy(source, target, path)
            targets.append(target)
    return targets


def _is_hidden(member: str) -> bool:
    parts = Path(member).parts
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _copy(source: IO[bytes], target: Path, path: Path) -> None:
    """Copy as much as there may be: a small file may unpack into one that fills the disk."""
    most, size = 4 * limits.budget(), 0
    with target.open("wb") as out:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise TooLarge(
                    f"{name(path, 200)} unpacks into more than {limits.shown(most)}. Allow more "
                    f"({limits.VARIABLE}=16GB), or give a part of it."
                )
            out.write(chunk)
