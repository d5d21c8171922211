"""The command reference of the docs: `python -m polyjudge.cli.reference FILE` writes it from the help texts."""

from __future__ import annotations

import sys

import typer

from polyjudge.cli import app, commands
from polyjudge.core.files import atomic_write

WIDTH = 100


def reference() -> str:
    """Every command with its help, as Markdown."""
    commands.register(app)
    root = typer.main.get_command(app)
    out = ["# Commands", "", "Written from the help texts. Every command takes `--help`.", ""]
    out += _entries(root, "polyjudge")
    return "\n".join(out)


def _entries(command: object, path: str) -> list[str]:
    """A command and its sub-commands, deepest last."""
    context = command.make_context(path, [], resilient_parsing=True, terminal_width=WIDTH)  # type: ignore[attr-defined]
    out = [f"## {path}", "", "```text", command.get_help(context).rstrip(), "```", ""]  # type: ignore[attr-defined]
    for name, child in getattr(command, "commands", {}).items():
        out += _entries(child, f"{path} {name}")
    return out


if __name__ == "__main__":
    with atomic_write(sys.argv[1]) as file:
        file.write(reference())
