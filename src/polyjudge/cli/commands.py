"""The list of commands, in the order `polyjudge --help` shows them: each is the function of its name in its module."""

from __future__ import annotations

from importlib import import_module

import typer

from polyjudge.cli.options import with_reading

COMMANDS = (
    "demo",
    "audit",
    "calibrate",
    "apply",
    "extend",
    "drift",
    "compare",
    "gate",
    "anchor",
    "plan",
    "collect",
    "reproduce",
    "validate",
)


def register(app: typer.Typer) -> None:
    """Add every command to the app. A module may bring a `register(app)` of its own (for sub-commands)."""
    for name in COMMANDS:
        module = import_module(f"polyjudge.cli.{name}")
        if hasattr(module, "register"):
            module.register(app)
        else:
            app.command(name)(getattr(module, name))
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = with_reading(command.callback)
