"""What holds for every command that writes: its outputs are compared with its inputs before the work begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyjudge.core.files import check_apart, check_folder

OUTPUTS = {
    "output": "-o",
    "save": "--save",
    "page": "--page",
    "write": "--write",
    "export": "--export",
    "junit": "--junit",
}
"""Parameters that name a place to write to, whatever the command."""
INPUTS = ("SCORES", "CAL", "GOLD", "FILE", "PLAN")
RUN = "RUN"
"""How a parameter is shown that names a collection run, which is read and written."""


def check_paths(command: str, parameters: Sequence[Any], given: Mapping[str, Any]) -> None:
    """Refuse an output that is an input, and a folder that holds something else than results.

    parameters : click parameters of the command; given : their values by name
    """
    shown = {p.name: p.metavar for p in parameters}
    named = {n: v for n, v in given.items() if isinstance(v, (str, Path)) and str(v)}
    runs = [Path(v) / "*" for n, v in named.items() if shown[n] == RUN]
    outputs = {OUTPUTS[n]: v for n, v in named.items() if n in OUTPUTS and shown[n] != RUN}
    check_apart(outputs, [*runs, *(v for n, v in named.items() if n not in OUTPUTS and shown[n] in INPUTS)])
    if "output" in named and shown["output"] == "DIR":
        check_folder(named["output"], command, bool(given.get("overwrite")))
