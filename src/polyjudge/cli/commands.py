"""The list of commands, in the order `polyjudge --help` shows them: each is the function of its name in its module."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

import typer

from polyjudge.questions.options import Columns, Output, Reading, command_class

COMMANDS = {
    "demo": "polyjudge.cli.demo",
    "check": "polyjudge.questions.check.command",
    "audit": "polyjudge.questions.audit.command",
    "systems": "polyjudge.questions.systems.command",
    "explain": "polyjudge.questions.audit.explain_command",
    "calibrate": "polyjudge.cli.calibrate",
    "apply": "polyjudge.cli.apply",
    "extend": "polyjudge.cli.extend",
    "drift": "polyjudge.questions.drift.command",
    "compare": "polyjudge.questions.compare.command",
    "gate": "polyjudge.questions.audit.gate_command",
    "anchor": "polyjudge.questions.anchor.command",
    "probe": "polyjudge.questions.probe.command",
    "choose": "polyjudge.questions.judges.command",
    "swap": "polyjudge.questions.judges.swap_command",
    "plan": "polyjudge.questions.plan.command",
    "collect": "polyjudge.collect.command",
    "prepare": "polyjudge.paper.prepare_command",
    "replay": "polyjudge.questions.plan.replay_command",
    "diff": "polyjudge.questions.drift.diff_command",
    "formats": "polyjudge.questions.check.formats_command",
    "reproduce": "polyjudge.paper.command",
}


def register(app: typer.Typer, names: Iterable[str] = tuple(COMMANDS)) -> None:
    """Add commands to the app, with the groups of options their modules name in `OPTIONS`, if they are their own."""
    if app.registered_commands:
        return
    for name in names:
        module = import_module(COMMANDS[name])
        options = getattr(module, "OPTIONS", (Columns, Reading, Output))
        app.command(name, cls=command_class(options))(getattr(module, name))
