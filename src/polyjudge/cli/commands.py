"""The list of commands, in the order `polyjudge --help` shows them: each is the function of its name in its module."""

from __future__ import annotations

from importlib import import_module

import typer

from polyjudge.cli.options import Columns, Output, Reading, command_class

COMMANDS = (
    "demo",
    "check",
    "audit",
    "systems",
    "explain",
    "calibrate",
    "apply",
    "extend",
    "drift",
    "compare",
    "gate",
    "anchor",
    "probe",
    "choose",
    "swap",
    "plan",
    "collect",
    "prepare",
    "replay",
    "diff",
    "formats",
    "reproduce",
    "validate",
)


def register(app: typer.Typer) -> None:
    """Add every command to the app, with the groups of options its module names in `OPTIONS`, if they are its own."""
    if app.registered_commands:
        return
    for name in COMMANDS:
        module = import_module(f"polyjudge.cli.{name}")
        options = getattr(module, "OPTIONS", (Columns, Reading, Output))
        app.command(name, cls=command_class(options))(getattr(module, name))
