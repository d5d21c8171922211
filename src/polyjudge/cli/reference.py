"""The command reference of the docs: `python -m polyjudge.cli.reference FILE` writes it from the help texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from polyjudge.cli import _built
from polyjudge.panel.files import atomic_write

WIDTH = 100


def reference() -> str:
    """Every command with its help, as Markdown."""
    out = ["# Commands", "", "Written from the help texts. Every command takes `--help`.", ""]
    for path, command in _every("polyjudge", _built("")):
        context = command.make_context(path, [], resilient_parsing=True, terminal_width=WIDTH)
        out += [f"## {path}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    return "\n".join(out)


def _every(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, own in getattr(command, "commands", {}).items():
        yield from _every(f"{path} {name}", own)


if __name__ == "__main__":
    with atomic_write(sys.argv[1]) as file:
        file.write(reference())
