"""The command reference of the docs: `python -m polyjudge.cli.reference FILE` writes it from the help texts."""

from __future__ import annotations

import sys
from typing import Any

import typer

from polyjudge.cli import app, commands
from polyjudge.panel.files import atomic_write

WIDTH = 100


def reference() -> str:
    """Every command with its help, as Markdown."""
    commands.register(app)
    root: Any = typer.main.get_command(app)
    every = {"polyjudge": root, **{f"polyjudge {name}": command for name, command in root.commands.items()}}
    out = ["# Commands", "", "Written from the help texts. Every command takes `--help`.", ""]
    for path, command in every.items():
        context = command.make_context(path, [], resilient_parsing=True, terminal_width=WIDTH)
        out += [f"## {path}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    return "\n".join(out)


if __name__ == "__main__":
    with atomic_write(sys.argv[1]) as file:
        file.write(reference())
