"""Writes a folder of ours with one fault planted: for each line of standard input, in a process of its own."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polyjudge.second.panel import files
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import new_folder

OLD = {"report.html": "old report", "figures/one.svg": "old figure", "figures/gone.svg": "only old"}
NEW = {"report.html": "new report, longer", "figures/one.svg": "new figure", "table.csv": "only new"}


def write(path: Path, content: dict[str, str], **options: Any) -> None:
    with new_folder(path, "audit", **options) as folder:
        for name, text in content.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)


CALLS = ("mkdir", "rename", "replace", "link", "fsync", "chmod", "unlink", "rmdir", "open")


def fail(kind: str) -> None:
    if kind == "error":
        raise OSError(errno.EIO, "Input/output error")
    os.kill(os.getpid(), signal.SIGINT if kind == "interrupt" else signal.SIGKILL)


def arm(kind: str, at: int, exchange: bool) -> list[int]:
    """Count the calls of the system; the one with number `at` fails. `exchange`: folders can be, on this disk."""
    count = [0]

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            count[0] += 1
            if count[0] == at:
                fail(kind)
            return real(*args, **options)

        return call

    for name in CALLS:
        setattr(os, name, wrap(getattr(os, name)))
    Path.write_text = wrap(Path.write_text)  # type: ignore[method-assign]
    files._exchange = wrap(files._exchange if exchange else lambda *places: False)
    return count


def run_faulty(target: Path, kind: str, at: int, overwrite: bool, exchange: bool = True) -> tuple[int, str, int]:
    """Write the new folder in a process of its own, with one fault. Its exit code, its message, its number of calls."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code, said, count = 3, "", [0]
        try:
            count = arm(kind, at, exchange)
            write(target, NEW, overwrite=overwrite)
            code = 0
        except UsageError as error:
            code, said = 2, str(error)
        except KeyboardInterrupt:
            code = 130
        finally:
            os.write(writer, f"{count[0]} {said}".encode())
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        steps, _, said = file.read().partition(" ")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said, int(steps or 0)


if __name__ == "__main__":
    for line in sys.stdin:
        where, *fault = json.loads(line)
        print(json.dumps(run_faulty(Path(where), *fault)), flush=True)
