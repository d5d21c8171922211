"""The list of commands, in the order `polyjudge --help` shows them: each is the function of its name in its module."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

from polyjudge.cli.options import with_reading
from polyjudge.cli.writing import with_writing
from polyjudge.core.errors import OutputClosed

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
    if app.registered_commands:
        return
    for name in COMMANDS:
        module = import_module(f"polyjudge.cli.{name}")
        if hasattr(module, "register"):
            module.register(app)
        else:
            app.command(name)(getattr(module, name))
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _until_closed(with_writing(command.name or "", with_reading(command.callback)))


def _until_closed(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, ended by `OutputClosed` when nobody reads its output any more.

    Left to itself the closed pipe would end it with 1, which says that there is a finding.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        try:
            try:
                return command(*args, **options)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            raise OutputClosed from None

    return run
