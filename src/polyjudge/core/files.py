"""Writing files so that a reader finds the old content or the new, never a part; and text that is safe in them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from polyjudge.core.errors import UsageError


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed onto it when the block ends well, removed when it does not."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise UsageError(f"Cannot write to {path.parent}: {error.strerror}. Choose another place with -o.") from None
    os.close(handle)
    part = Path(name)
    try:
        yield part
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}. Nothing was changed.") from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[TextIO]:
    """A text file (UTF-8) that replaces `path` when the block ends well."""
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def spreadsheet_safe(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front; anything else stays as it is."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
