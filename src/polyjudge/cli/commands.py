"""The list of commands, in the order `polyjudge --help` shows them: each is the function of its name in its module."""

from __future__ import annotations

from collections.abc import Iterable
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


def register(app: typer.Typer, names: Iterable[str] = COMMANDS) -> None:
    """Add commands to the app, with the groups of options their modules name in `OPTIONS`, if they are their own."""
    if app.registered_commands:
        return
    for name in names:
        module = import_module(f"polyjudge.cli.{name}")
        options = getattr(module, "OPTIONS", (Columns, Reading, Output))
        app.command(name, cls=command_class(options))(getattr(module, name))
