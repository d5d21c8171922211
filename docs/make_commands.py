"""Write docs/commands.md: every command with its help, from the help texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyjudge.cli import _built

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
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("commands.md")
    target.write_text(reference(), encoding="utf-8")
