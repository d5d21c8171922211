"""The one way to write files and folders.

A reader finds the old content or the new, never a part of either. Nothing is removed or replaced that polyjudge did not
write: a folder of ours carries a list of its files. Also here: text that is safe in files.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean, some, tell, visible

if TYPE_CHECKING:
    import pandas as pd

MARKER = ".polyjudge.json"
"""The list of our files in a folder of ours. A folder without it is not ours."""
FORMAT, VERSION = "polyjudge-folder", 1
OURS = re.compile(
    rb'\A\s*(\{.{0,400}?"(polyjudge|format)":\s*"(polyjudge-|\d)|'
    rb'<\?xml[^>]*>\s*<testsuites[^>]*>\s*<testsuite name="polyjudge )',
    re.DOTALL,
)
"""How a file that polyjudge wrote begins: JSON with our name, or findings as JUnit XML."""
SAMPLE = b"task,language,judge,replicate,score\ntask01,English,Aster,"
"""How the embedded sample begins."""


# --- single files ---


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed onto it when the block ends well, removed when it does not."""
    path = Path(path)
    check_file(path)
    with _write_errors(path):
        part = _beside(path, tempfile.mkstemp)
    try:
        with _write_errors(path):
            yield part
            os.umask(umask := os.umask(0))
            os.chmod(part, 0o666 & ~umask)
            _keep_mode(path, part)
            _fsync(part)
            os.replace(part, path)
        _settle(path)
    finally:
        part.unlink(missing_ok=True)
        _unfinished.discard(part)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[TextIO]:
    """A text file (UTF-8) that replaces `path` when the block ends well."""
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def _keep_mode(old: Path, new: Path) -> None:
    """What takes the place of a file or a folder is open to the same people."""
    if new.is_symlink() or (old.is_symlink() and not old.exists()):
        return
    with suppress(FileNotFoundError, NotADirectoryError):
        os.chmod(new, stat.S_IMODE(old.stat().st_mode))


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Text files (UTF-8) in a folder, by name. Returns their paths."""
    for name, text in texts.items():
        with atomic_write(folder / name) as file:
            file.write(text)
    return [folder / name for name in texts]


def check_file(path: Path) -> None:
    """An error unless `path` is new or an ordinary file: devices, pipes and folders are never replaced."""
    check_name(path)
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise UsageError(f"{_shown(path)} is {what}, not a file, and is not replaced. Name a file.")


_unfinished: set[Path] = set()
"""What lies beside its place until it is whole."""


def remove_unfinished() -> None:
    """Remove what is half-written, of a program that cannot unwind. An old folder that was set aside stays."""
    for part in list(_unfinished):
        with suppress(OSError):
            if part.is_dir() and not (part / "old").exists():
                shutil.rmtree(part, ignore_errors=True)
            elif part.is_file():
                part.unlink()


def check_new(option: str, path: str | Path, overwrite: bool) -> None:
    """An error unless a file is new, or one that polyjudge wrote, or may be overwritten: the rule of every option."""
    path = Path(path)
    check_file(path)
    if overwrite or not os.path.lexists(path):
        return
    with suppress(OSError), path.open("rb") as file:
        head = file.read(4096)
        if not head or OURS.match(head) or head.startswith(SAMPLE):
            return
    raise UsageError(
        f"{option} {_shown(path)} is there already, and nothing in it says that polyjudge wrote it. Name a new file, "
        "or replace it with --overwrite."
    )


def _beside(path: Path, make: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = make(prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent)
    if not isinstance(made, str):
        os.close(made[0])
        made = made[1]
    _unfinished.add(Path(made))
    return Path(made)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Errors of the system before anything has taken its place."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"Cannot write {_shown(path)}: {why}. Nothing was changed; choose another place.") from None


def _settle(path: Path) -> None:
    """Have the system confirm the rename. The new content is in place already, so the message says so."""
    try:
        _fsync(path.parent)
    except OSError as error:
        raise UsageError(
            f"{_shown(path)} was written, but the disk did not confirm it: {error.strerror}. Check the disk."
        ) from None


def _fsync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # Windows opens no folder for this
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _shown(path: Path) -> str:
    return clean(str(path), 200)


# --- folders ---


@contextmanager
def new_folder(path: str | Path, maker: str, *, overwrite: bool = False) -> Iterator[Path]:
    """A new folder that takes the place of `path` as a whole when the block ends well.

    `path` must be new, empty, or a folder that the same `maker` wrote. With `overwrite` it may also be of another maker
    of ours, and files of others in it are kept.
    """
    path = Path(os.path.realpath(path))
    check_folder(path, maker, overwrite)
    with _folder_beside(path) as part:
        yield part
        files = {p.relative_to(part).as_posix(): _fingerprint(p) for p in sorted(part.rglob("*")) if not p.is_dir()}
        marker = {"format": FORMAT, "version": VERSION, "maker": maker, "files": files}
        (part / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="utf-8")
        for stranger in check_folder(path, maker, overwrite):
            _link(path, part, stranger)
        for file in [part, *part.rglob("*")]:
            _keep_mode(path / file.relative_to(part), file)
            if file.is_file() and not file.is_symlink():
                _fsync(file)


@contextmanager
def first_folder(path: Path) -> Iterator[Path]:
    """A folder that takes a place where there is none yet, or an empty one, when the block ends well."""
    path = Path(os.path.realpath(path))
    with _folder_beside(path) as part:
        yield part
        if path.exists():
            os.rmdir(path)


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    """A folder beside `path` that takes its place when the block ends well, whatever is there."""
    with _write_errors(path):
        whole = _beside(path, tempfile.mkdtemp)
    part, old = whole / "new", whole / "old"
    try:
        with _write_errors(path):
            os.mkdir(part)
            yield part
            old = _swap(part, path, old)
        _settle(path)
    finally:
        _clear(whole, old, path)
        _unfinished.discard(whole)


def check_folder(path: str | Path, maker: str, overwrite: bool = False) -> list[Path]:
    """An error that names what is there, unless `new_folder` may write here. Returns what is there of others."""
    check_name(path)
    path = Path(os.path.realpath(path))
    _restore(path)
    if not path.exists():
        return []
    if not path.is_dir():
        raise UsageError(f"-o {_shown(path)} is a file. Name a folder: it is made when it is not there.")
    if path == Path(os.path.realpath(os.curdir)) or os.path.ismount(path):
        raise UsageError(f"{_shown(path)} cannot be replaced while it is in use. Name a new folder inside it.")
    with _write_errors(path):
        if not os.listdir(path):
            return []
        about = read_marker(path)
        if about is None:
            raise UsageError(
                f"{_shown(path)} is not a folder that polyjudge wrote: it holds {some(sorted(os.listdir(path)), 5)}. "
                "Nothing was changed. Choose a new folder."
            )
        strange = strangers(path, about)
    if overwrite:
        return strange
    if strange:
        raise UsageError(
            f"{_shown(path)} holds what polyjudge did not write, or what was changed since: "
            f"{some(strange, 5)}. Choose another folder; or --overwrite, which replaces only our own files."
        )
    if about["maker"] != maker:
        raise UsageError(
            f"{_shown(path)} holds the result of another command ({clean(about['maker'])}). Choose another folder, or "
            "replace it with --overwrite."
        )
    return []


def read_marker(folder: Path) -> dict[str, Any] | None:
    """What the marker of a folder says, or None when the folder is not ours."""
    try:
        mode = (folder / MARKER).lstat().st_mode
        about = json.loads((folder / MARKER).read_text(encoding="utf-8")) if stat.S_ISREG(mode) else None
    except (OSError, ValueError, RecursionError):
        return None
    fields = {"format": str, "version": int, "maker": str, "files": dict}
    if not isinstance(about, dict) or any(not isinstance(about.get(n), kind) for n, kind in fields.items()):
        return None
    return about if about["format"] == FORMAT and about["version"] == VERSION else None


def strangers(folder: Path, about: Mapping[str, Any]) -> list[Path]:
    """What lies in a folder of ours and is not on its list as it is now: files, links, empty folders."""
    out = []
    for base, folders, names in os.walk(folder):
        here = Path(base)
        if here != folder and not folders and not names:
            out.append(here.relative_to(folder))
        for name in [*names, *(n for n in folders if (here / n).is_symlink())]:
            place = (here / name).relative_to(folder)
            if place == Path(MARKER):
                continue
            known = about["files"].get(place.as_posix())
            if known is None or known != _fingerprint(here / name):
                out.append(place)
    return sorted(out)


def _fingerprint(path: Path) -> str | None:
    """Size and hash of a file; None for what is no ordinary file."""
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        return f"{file.tell()}:{found}"


def _link(old: Path, new: Path, place: Path) -> None:
    """Another name in the new folder for a file of someone else: it has both names until the old folder goes."""
    target = new / place
    if os.path.lexists(target):
        raise UsageError(
            f"{_shown(old / place)} is not as polyjudge wrote it, and would be replaced. Move it, or choose another "
            "folder. Nothing was changed."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    if (old / place).is_dir() and not (old / place).is_symlink():
        target.mkdir()
    else:
        os.link(old / place, target, follow_symlinks=False)


def _swap(part: Path, path: Path, old: Path) -> Path:
    """`part` becomes `path`. Returns where that lies which was there: `old`, or `part` where both were exchanged."""
    if not path.exists():
        os.rename(part, path)
        return old
    if _exchange(part, path):
        return part
    os.rename(path, old)
    try:
        os.rename(part, path)
    except BaseException:
        os.rename(old, path)
        raise
    return old


def _exchange(one: Path, two: Path) -> bool:
    """Two folders change places in one step; False where the system or the disk cannot (Windows, some networks)."""
    import ctypes

    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE; RENAME_SWAP of macOS is 2 too
    names = os.fsencode(one), os.fsencode(two)
    system: Any = ctypes.CDLL(None) if os.name == "posix" else None
    if hasattr(system, "renameat2"):
        return bool(system.renameat2(here, names[0], here, names[1], swap) == 0)
    return hasattr(system, "renamex_np") and bool(system.renamex_np(*names, swap) == 0)


def _clear(whole: Path, old: Path, path: Path) -> None:
    """Remove what lies beside: an unfinished new folder, or the old one once the new one is in its place.

    What others put into the old folder at the last moment moves over; what cannot is left, and said.
    """
    if old.is_dir() and not os.path.lexists(path):
        return  # it is all there is: the next command puts it back
    for place in strangers(old, read_marker(old) or {"files": {}}) if old.is_dir() else ():
        if not os.path.lexists(path / place):
            with suppress(OSError):
                (path / place).parent.mkdir(parents=True, exist_ok=True)
                os.rename(old / place, path / place)
        if os.path.lexists(old / place) and not _same(old / place, path / place):
            tell(f"{_shown(old)} keeps files that were there before: move them back.")
            return
    shutil.rmtree(whole, ignore_errors=True)


def _same(one: Path, two: Path) -> bool:
    if one.is_dir() and not one.is_symlink():
        return two.is_dir()
    return os.path.lexists(two) and os.path.samestat(one.lstat(), two.lstat())


def _restore(path: Path) -> None:
    """Put back the old folder of a run that was killed between two renames, where folders cannot be exchanged."""
    if os.path.lexists(path):
        return
    for old in glob.glob(os.path.join(glob.escape(str(path.parent)), f".{glob.escape(path.name[:80])}.*.part", "old")):
        if read_marker(Path(old)) is not None:
            with _write_errors(path):
                os.rename(old, path)
            shutil.rmtree(Path(old).parent, ignore_errors=True)
            return


# --- outputs against inputs ---


def check_apart(outputs: Mapping[str, str | Path], inputs: Iterable[str | Path]) -> None:
    """An error when an output is an input, holds one, or is another output: by any name, link or pattern.

    `outputs` are paths by the option that names them; `inputs` are files, folders, patterns, or FILE::TABLE.
    """
    files = [path for source in inputs for path in source_files(source)]
    seen: dict[str, str] = {}
    for option, output in outputs.items():
        real = os.path.realpath(output)
        if real in seen:
            raise UsageError(f"{seen[real]} and {option} both name {_shown(Path(output))}. Choose two places.")
        seen[real] = option
        for file in files:
            if is_same_file(file, output):
                raise UsageError(
                    f"{option} {_shown(Path(output))} would be written over what is read ({_shown(file)}). "
                    "Choose another place."
                )
            if Path(real) in Path(os.path.realpath(file)).parents:
                raise UsageError(
                    f"{option} {_shown(Path(output))} is the folder of what is read ({_shown(file)}). Choose another."
                )


WALK_SECONDS = 10.0
"""A pattern is given up after this time: one such as /**/*.csv would walk the whole disk."""


def matches(pattern: str, seconds: float = WALK_SECONDS) -> list[Path]:
    """Files that a pattern (*, ?, [...], ** for any folders) matches, sorted. Hidden ones only when named.

    Like `glob`, but it ends: folders are entered once, links to folders are not followed below **, time is bounded.
    """
    end, path = time.monotonic() + seconds, Path(pattern)
    places = [Path(path.anchor)]

    def listed(folder: Path, deep: bool = False) -> Iterator[Path]:
        """What lies in a folder; with `deep` itself and all folders below it."""
        for base, folders, files in os.walk(folder):
            if time.monotonic() > end:
                raise UsageError(
                    f"The pattern {clean(pattern, 200)} covers too many folders: given up after {seconds:g} seconds. "
                    "Begin it with the folder that holds the scores."
                )
            if deep:
                yield Path(base)
                folders[:] = [name for name in folders if name[0] != "."]
            else:
                yield from (Path(base) / name for name in (*folders, *files))
                return

    for part in path.parts[bool(path.anchor) :]:
        if part == "**":
            places = [below for place in places for below in listed(place, deep=True)]
        elif glob.has_magic(part):
            inside = (inner for place in places for inner in listed(place))
            places = [p for p in inside if fnmatch.fnmatch(p.name, part) and (p.name[0] != "." or part[0] == ".")]
        else:
            places = [place / part for place in places if os.path.lexists(place / part)]
    return sorted({place for place in places if not place.is_dir()})


def literal(path: str | Path) -> str:
    """A path as a pattern that matches it alone, for an engine that takes every name as a pattern."""
    return glob.escape(os.path.abspath(path))


def check_name(path: str | Path) -> None:
    """An error when a name cannot be passed on or printed: NUL, or bytes that are not UTF-8."""
    text = str(path)
    if "\0" in text or text.encode(errors="ignore").decode() != text:
        raise UsageError(f"The name {clean(text, 200)!r} holds bytes that are not text (UTF-8). Rename it.")


def source_files(source: str | Path) -> list[Path]:
    """The paths behind a source: itself, the matches of a pattern, the file of FILE::TABLE or of an address."""
    text = file_of(str(source)) or str(source)
    if "\0" in text:
        return []
    if not os.path.lexists(text):
        text = text.rsplit("::", 1)[0]
    if os.path.lexists(text) or not glob.has_magic(text):
        return [Path(text)] if text else []
    return matches(text)


def file_of(address: str) -> str | None:
    """FILE::TABLE behind a duckdb:// or sqlite:// address: files are read by our own engine, whatever names them."""
    scheme, found, rest = address.partition("://")
    if not found or scheme.lower() not in ("duckdb", "sqlite"):
        return None
    path, mark, table = rest.rpartition("::") if "::" in rest else (rest, "", "")
    return path.partition("?")[0] + mark + table


def is_same_file(one: str | Path, two: str | Path) -> bool:
    """The same file or folder, also by another name."""
    try:
        return os.path.samefile(one, two)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(two)


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet may run a cell that begins with one of these."""


def spreadsheet_safe(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front; anything else stays as it is."""
    return "'" + value if isinstance(value, str) and value.startswith(FORMULA) else value


def safe_csv(frame: pd.DataFrame, to_be_seen: bool = False) -> str:
    """A table as CSV that spreadsheets open safely and every reader reads alike: a bare CR is quoted too.

    to_be_seen : part of a report, so that what cannot be seen in names is shown as its code
    """

    def cell(value: Any) -> str:
        text = "" if value is None or value != value else str(spreadsheet_safe(value))
        text = visible(text) if to_be_seen else text
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text

    rows: list[Iterable[Any]] = [frame.columns, *frame.itertuples(index=False, name=None)]
    return "".join(",".join(map(cell, row)) + "\n" for row in rows)


# --- small files of the user: pipes and devices may never end, a text may have a billion characters ---

MOST = 64 << 20
"""Bytes of a settings, label or result file."""


def check_ordinary(path: str | Path) -> None:
    """Refuse what is not a file with something in it."""
    check_name(path)
    path, shown = Path(path), clean(path, 200)
    try:
        found = path.stat()
    except OSError:
        word = str(path).isalpha() and str(path).isupper()  # ITEMS, SCORES: as commands to paste and --help have them
        what = f"{shown} stands for a file of yours: put its name there" if word else "Check the path"
        raise PanelError(f"There is no file {shown}. {what}.") from None
    if path.is_dir():
        raise PanelError(f"{shown} is a folder. Name the files in it, such as {shown}/*.parquet.")
    if not path.is_file():
        raise PanelError(f"{shown} is a device or a pipe, not a file. Save it to a file first.")
    if found.st_size == 0:
        raise PanelError(f"{shown} is empty.")


def read_text(path: str | Path, most: int = MOST) -> str:
    """A text file (UTF-8) of at most so many bytes."""
    check_ordinary(path)
    shown = clean(path, 200)
    try:
        with Path(path).open("rb") as file:
            body = file.read(most + 1)
        if len(body) > most:
            raise PanelError(f"{shown} has more than {most >> 20} MiB, which no such file has. Check the path.")
        return body.decode("utf-8-sig")
    except OSError as error:
        raise PanelError(f"{shown} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise PanelError(f"{shown} is not UTF-8 text. Save it as UTF-8 and retry.") from None


def read_csv(path: str | Path) -> pd.DataFrame:
    """A CSV file of at most `MOST` bytes."""
    import pandas as pd

    text = read_text(path)
    try:
        return pd.read_csv(io.StringIO(text))
    except ValueError as error:
        raise PanelError(f"{clean(path, 200)} is not a CSV file: {clean(error, 120)}.") from None


def read_json(path: str | Path, most: int = MOST) -> Any:
    """A JSON file of at most so many bytes."""
    text = read_text(path, most)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PanelError(f"{clean(path, 200)} is not valid JSON: {clean(error, 120)}.") from None
