"""Options that several commands share, and the two things every command does: read scores, print a result."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from polyjudge.panel import Panel

SCHEMA = 1
"""Version of the JSON that `--json` prints. It rises when a field changes its meaning or goes."""

Scores = Annotated[
    str, typer.Argument(metavar="SCORES", help="Scores: CSV, Parquet or JSONL file, or a collection run.")
]
TaskColumn = Annotated[str | None, typer.Option("--task", help="Column of the task.", rich_help_panel="Columns")]
LanguageColumn = Annotated[str | None, typer.Option("--language", help="Column of the language.")]
JudgeColumn = Annotated[str | None, typer.Option("--judge", help="Column of the judge.")]
ScoreColumn = Annotated[str | None, typer.Option("--score", help="Column of the score.")]
ReplicateColumn = Annotated[str | None, typer.Option("--replicate", help="Column of the replicate.")]
GroupColumn = Annotated[str | None, typer.Option("--group", help="Column of task strata or requirement types.")]
Json = Annotated[bool, typer.Option("--json", help="Print all results as JSON to standard output.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for what is written.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of everything random. The same seed gives the same answer.")
]


def load(scores: str, **columns: str | None) -> Panel:
    """Read the panel a command works on."""
    from polyjudge.readers import read_panel

    return read_panel(scores, **columns)


def print_json(command: str, result: dict[str, Any]) -> None:
    """Print a result with the schema version, the command and the program's version."""
    from polyjudge import __version__

    payload = {"schema": SCHEMA, "command": command, "polyjudge": __version__, **result}
    json.dump(payload, sys.stdout, ensure_ascii=False, indent=1, allow_nan=False)
    sys.stdout.write("\n")
