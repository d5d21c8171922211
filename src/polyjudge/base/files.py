"""The one way to write files and folders: a reader finds the old content or the new, never a part of either.

Nothing is replaced that polyjudge did not write, unless the user says so: a folder of ours carries a marker, a file of
ours begins with our name.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import name

MARKER = ".polyjudge.json"
"""Lies in every folder of ours."""
OURS = re.compile(
    rb'\A\s*(\{.{0,400}?"(polyjudge|format)":\s*"(polyjudge-|\d)|<\?xml[^>]*>\s*<testsuites name="polyjudge)'
)
"""How a file begins that polyjudge wrote."""
MOST = 256 << 20
"""Bytes of a file that is read whole."""
_unfinished: set[Path] = set()
"""What lies beside its place until it is whole."""


# --- writing ---


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed onto it when the block ends well, removed when it does not."""
    path = Path(path)
    _check_file(path)
    target = path.resolve() if path.is_symlink() else path
    with _write_errors(path):
        start = f".{path.name[:40]}."
        _remove_parts_of_the_dead(target.parent, start)
        handle, part_name = tempfile.mkstemp(prefix=f"{start}{os.getpid()}.", suffix=".part", dir=target.parent)
        os.close(handle)
        part = Path(part_name)
    _unfinished.add(part)
    try:
        with _write_errors(path):
            yield part
            os.chmod(part, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
        _unfinished.discard(part)


def _remove_parts_of_the_dead(folder: Path, start: str) -> None:
    """Remove what a killed run left half-written at this place."""
    for part in folder.glob(f"{glob.escape(start)}*.part"):
        process = part.name.removeprefix(start).partition(".")[0]
        if process.isdigit() and not _is_alive(int(process)):
            with suppress(OSError):
                part.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user, or a system that does not say
    return True


def write_text(path: str | Path, text: str) -> None:
    """A text file (UTF-8), whole or not at all."""
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


@contextmanager
def new_folder(path: str | Path, maker: str, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder beside `path`, put in its place as a whole when the block ends well.

    The place is new, an empty folder, or a folder of ours by its marker; any other needs `overwrite` and holds nothing
    that polyjudge did not write.
    """
    path = Path(path)
    check_folder(path, maker, overwrite)
    with _write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):  # of a run that was killed
            if (left / MARKER).exists() and left not in _unfinished:
                shutil.rmtree(left, ignore_errors=True)
        part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    _unfinished.add(part)
    try:
        with _write_errors(path):
            _mark(part, maker)
            yield part
            _mark(part, maker)
            os.chmod(part, 0o777 & ~_umask())
            old = part.with_suffix(".old")
            if path.exists():
                os.rename(path, old)
            try:
                os.rename(part, path)
            except OSError:
                if old.exists():
                    os.rename(old, path)
                raise
            shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        _unfinished.discard(part)


def _mark(folder: Path, maker: str) -> None:
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.name != MARKER)
    write_text(folder / MARKER, json.dumps({"format": "polyjudge-folder", "maker": maker, "files": files}) + "\n")


def check_folder(path: Path, maker: str, overwrite: bool = False) -> None:
    """An error unless a folder of results may be written there."""
    if not path.name or path.name in (".", ".."):
        raise UsageError(f"{name(path)} cannot be a folder of results. Name a new one, such as audit/.")
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{name(path, 200)} is not a folder, and is not replaced. Name another folder.")
    if not path.exists() or not any(path.iterdir()):
        return
    held = _marker(path)
    if held is None:
        raise UsageError(
            f"{name(path, 200)} exists and was not written by polyjudge, so it is not replaced. Name a new folder."
        )
    made_by, files = held
    if made_by != maker and not overwrite:
        raise UsageError(
            f"{name(path, 200)} holds the output of `polyjudge {made_by}`. Name a new folder, or --overwrite."
        )
    for found in path.rglob("*"):
        if found.is_file() and found.name != MARKER and str(found.relative_to(path)) not in files:
            raise UsageError(
                f"{name(path, 200)} also holds {name(found.name)}, which polyjudge did not write. Move it."
            )


def _marker(folder: Path) -> tuple[str, set[str]] | None:
    try:
        held = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return (name(held["maker"]), set(held["files"])) if held["format"] == "polyjudge-folder" else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def check_new(path: str | Path, overwrite: bool = False) -> None:
    """An error unless a file is new, or one that polyjudge wrote, or may be overwritten."""
    path = Path(path)
    _check_file(path)
    if overwrite or not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        if OURS.match(file.read(500)):
            return
    raise UsageError(f"{name(path, 200)} exists already. Name a new file, or say --overwrite.")


def _check_file(path: Path) -> None:
    """An error unless `path` is new or an ordinary file: devices, pipes and folders are never replaced."""
    if not path.name:
        raise UsageError(f"{name(path)} cannot be the name of a file.")
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise UsageError(f"{name(path, 200)} is {what}, not a file, and is not replaced. Name a file.")


def check_apart(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path]) -> None:
    """An error where an output is an input or another output, or a folder of output holds an input."""
    given = {str(p): Path(p).resolve() for p in inputs if "://" not in str(p)}
    made: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        place = Path(path).resolve()
        for text, source in given.items():
            if place == source or place in source.parents or _same(place, source):
                raise UsageError(f"{option} {name(path, 200)} would replace the input {name(text, 200)}. Name another.")
        if place in made:
            raise UsageError(f"{made[place]} and {option} name the same path, {name(path, 200)}.")
        made[place] = option


def _same(one: Path, two: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, two)
    return False


def _umask() -> int:
    os.umask(now := os.umask(0))
    return now


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise UsageError(f"Cannot write {name(path, 200)}: {error.strerror or error}.") from error


def remove_unfinished() -> None:
    """Remove what is half-written, of a program that cannot unwind."""
    for part in list(_unfinished):
        with suppress(OSError):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink()


# --- reading small files ---


def read_text(path: str | Path, most: int = MOST) -> str:
    """A text file (UTF-8, or UTF-16 with its mark)."""
    path = Path(path)
    try:
        if not path.is_file():
            what = (
                "is a folder" if path.is_dir() else "does not exist" if not path.exists() else "is not an ordinary file"
            )
            raise PanelError(f"{name(path, 200)} {what}. Name a file.")
        if path.stat().st_size > most:
            raise PanelError(f"{name(path, 200)} is larger than {most >> 20} MB, too large to be read whole.")
        data = path.read_bytes()
    except OSError as error:
        raise PanelError(f"Cannot read {name(path, 200)}: {error.strerror or error}.") from None
    coding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(coding)
    except UnicodeDecodeError:
        raise PanelError(f"{name(path, 200)} is not text in UTF-8. Save it as UTF-8.") from None


def read_json(path: str | Path, most: int = MOST) -> Any:
    """A JSON file."""
    try:
        return json.loads(read_text(path, most))
    except (ValueError, RecursionError) as error:
        if isinstance(error, PanelError):
            raise
        raise PanelError(f"{name(path, 200)} is not JSON: {name(error, 120)}.") from None
