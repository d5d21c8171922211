"""The commands, in the order and the groups that `polyjudge --help` shows: those of the questions, and a few more."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.options import Columns, Light, Output, Reading, command_class
from polyjudge.second.rooms import QUESTIONS

GROUPS = ("start", "decide", "fix", "watch", "collect", "paper")
"""Headings of the help, in their order."""
FOUND: dict[str, tuple[str, str]] = {
    "demo": ("start", "polyjudge.second.cli.demo"),
    **{name: (question.group, f"polyjudge.second.questions.{name}.command") for name, question in QUESTIONS.items()},
    "calibrate": ("fix", "polyjudge.second.cli.calibrate"),
    "apply": ("fix", "polyjudge.second.cli.apply"),
    "collect": ("collect", "polyjudge.second.collect.command"),
    "paper": ("paper", "polyjudge.second.paper.command"),
}
"""Command -> its group and its module, which has a function, or a Typer app with commands of its own, of that name."""
COMMANDS = {name: place for group in GROUPS for name, place in FOUND.items() if place[0] == group}
RENAMED = {
    "explain": "audit SCORES --cell LANGUAGE,JUDGE",
    "gate": "audit SCORES --at SCORE",
    "extend": "calibrate SCORES --extend CAL",
    "choose": "judges SCORES",
    "swap": "judges SCORES --swap OLD=NEW",
    "diff": "drift OLD.json NEW.json",
    "replay": "plan --replay SCORES",
    "formats": "check --formats",
    "reproduce": "paper reproduce",
    "prepare": "paper prepare",
    "validate": "make validate, in a checkout",
}
"""Commands of before -> what to write now."""


class Commands(Light, TyperGroup):
    """The commands in groups, each with a line of its own."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for group in (*GROUPS, "commands"):  # the last one: of a command that has commands of its own
            lines = [
                (name, (command.help or "").strip().split("\n")[0])
                for name, command in self.commands.items()
                if COMMANDS.get(name, ("commands",))[0] == group
            ]
            if lines:
                with formatter.section(group.capitalize()):
                    formatter.write_dl(lines)


def check_known(name: str) -> None:
    """An error that says what to write in place of a command of before."""
    if name in RENAMED and name not in COMMANDS:
        now = RENAMED[name]
        line = now if now.startswith("make") else f"polyjudge {now}"
        raise UsageError(f"`polyjudge {name}` is now: {line}")


def register(app: typer.Typer, names: Iterable[str] = tuple(COMMANDS)) -> None:
    """Add commands to the app, with the groups of options their modules name in `OPTIONS`, if they are their own."""
    if app.registered_commands or app.registered_groups:
        return
    for name in names:
        module = import_module(COMMANDS[name][1])
        command = getattr(module, name, None)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, cls=Commands)
        elif command is not None:
            options = getattr(module, "OPTIONS", (Columns, Reading, Output))
            app.command(name, cls=command_class(options))(command)
