"""A console that honours NO_COLOR and pipes."""

from __future__ import annotations

import io
import sys
from typing import IO

from rich.console import Console

from polyjudge.panel.errors import OutputClosed

PLAIN_WIDTH = 96
"""Width of the output when it does not go to a terminal."""


class PlainFile(io.TextIOBase):
    """A text file that gets lines without the spaces a table is filled up with; a file or a pipe needs none."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._rest = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Rich draws tables in ASCII when this is not a Unicode encoding."""
        return getattr(self._file, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        self._file.write("".join(line.rstrip(" ") + "\n" for line in lines))
        return len(text)

    def flush(self) -> None:
        self._file.flush()


class _Console(Console):
    """A console that leaves a closed pipe to the command line; Rich itself would end with 1, which means a finding."""

    def on_broken_pipe(self) -> None:
        raise OutputClosed


def make_console(file: IO[str] | None = None) -> Console:
    """A console on standard output. Markup and emoji codes are off: text is shown as it is.

    Output that does not go to a terminal is plain: no colours, a fixed width, no trailing spaces. NO_COLOR is honoured.
    Characters that the output's encoding lacks are shown as their codes.
    """
    file = file or sys.stdout
    terminal = file.isatty()
    utf8 = (getattr(file, "encoding", None) or "utf-8").lower().startswith("utf")
    if not utf8 and isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")
    return _Console(
        file=file if terminal else PlainFile(file),  # type: ignore[arg-type]  # it has what a console calls
        width=None if terminal else PLAIN_WIDTH,
        force_jupyter=False,  # in a notebook Rich would show the text at once, and what asked for it would get none
        markup=False,
        emoji=False,
        highlight=False,
        no_color=None if terminal else True,
        force_terminal=None if terminal else False,
        safe_box=True,
    )
