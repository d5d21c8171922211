"""What holds for every command that writes: outputs are compared with inputs first, and --overwrite is given to all."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from polyjudge.cli.options import Output
from polyjudge.core.files import check_apart, check_folder

OUTPUTS = {"output": "-o", "save": "--save", "page": "--page", "write": "--write", "export": "--export"}
"""Parameters that name a place to write to, whatever the command."""
INPUTS = ("SCORES", "CAL", "GOLD", "FILE", "PLAN")
RUN = "RUN"
"""How a parameter is shown that names a collection run, which is read and written."""

_overwrite: ContextVar[bool] = ContextVar("overwrite", default=False)


def overwrite() -> bool:
    """Whether the user gave --overwrite."""
    return _overwrite.get()


def with_writing(name: str, command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with --overwrite added when it may write a folder, and its outputs checked before it begins."""
    signature = inspect.signature(command, eval_str=True)
    shown = {p.name: _metavar(p.annotation) for p in signature.parameters.values()}
    if not any(n in OUTPUTS for n in shown):
        return command
    folder = shown.get("output") in ("DIR", "OUT")

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        token = _overwrite.set(given.pop("overwrite", False))
        try:
            named = {n: v for n, v in given.items() if isinstance(v, (str, Path)) and str(v)}
            runs = [Path(v) / "*" for n, v in named.items() if shown.get(n) == RUN]
            outputs = {OUTPUTS[n]: v for n, v in named.items() if n in OUTPUTS and shown[n] != RUN}
            check_apart(outputs, [*runs, *(v for n, v in named.items() if n not in OUTPUTS and shown.get(n) in INPUTS)])
            if "output" in named and signature.parameters["output"].annotation == Output:
                check_folder(named["output"], name, overwrite())
            return command(**given)
        finally:
            _overwrite.reset(token)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values()]
    if folder:
        option = typer.Option("--overwrite", help="Replace polyjudge's own files in a folder that holds others too.")
        parameters.append(
            inspect.Parameter(
                "overwrite", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option]
            )
        )
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _metavar(annotation: Any) -> str | None:
    return next((m.metavar for m in getattr(annotation, "__metadata__", ()) if hasattr(m, "metavar")), None)
