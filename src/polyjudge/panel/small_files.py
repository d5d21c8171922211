"""Small files of the user, read with a limit: pipes and devices may never end, a text may have a billion characters."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

from polyjudge.panel.errors import PanelError
from polyjudge.panel.files import check_name
from polyjudge.panel.labels import clean

MOST = 64 << 20
"""Bytes of a settings, label or result file."""


def check_ordinary(path: str | Path) -> None:
    """Refuse what is not a file with something in it."""
    check_name(path)
    path, shown = Path(path), clean(path, 200)
    try:
        found = path.stat()
    except OSError:
        raise PanelError(f"There is no file {shown}. Check the path.") from None
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


def read_csv(path: str | Path, most: int = MOST) -> pd.DataFrame:
    """A CSV file of at most so many bytes."""
    import pandas as pd

    try:
        return pd.read_csv(io.StringIO(read_text(path, most)))
    except PanelError:
        raise
    except ValueError as error:
        raise PanelError(f"{clean(path, 200)} is not a CSV file: {clean(error, 120)}.") from None


def read_json(path: str | Path, most: int = MOST) -> Any:
    """A JSON file of at most so many bytes."""
    text = read_text(path, most)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PanelError(f"{clean(path, 200)} is not valid JSON: {clean(error, 120)}.") from None
