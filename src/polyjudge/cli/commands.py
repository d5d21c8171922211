"""The list of commands, in the order `polyjudge --help` shows them."""

from __future__ import annotations

import typer

from polyjudge.cli import audit


def register(app: typer.Typer) -> None:
    """Add every command to the app."""
    app.command("audit")(audit.audit)
