"""`polyjudge replay`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from typer import Context, Option

from polyjudge.questions import options as o


class Questions(StrEnum):
    """What an adaptive collection wants to know."""

    judges = "judges"
    systems = "systems"
    cells = "cells"
    gate = "gate"


Until = StrEnum("Until", "settled")
"""When to stop."""


def replay(
    ctx: Context,
    scores: o.Scores,
    until: Annotated[Until, Option(help="Stop when every question is settled.")] = Until.settled,
    questions: Annotated[Questions, Option(help="What is to be settled.")] = Questions.judges,
    matters: o.Matters = None,
    at: Annotated[float | None, Option(help="The threshold of the gate.")] = None,
    at_least: Annotated[bool, Option("--at-least/--above", help="Pass at the threshold too, or above it.")] = False,
    first: Annotated[int, Option(min=2, help="Tasks before the first look.")] = 24,
    seed: o.Seed = 7,
) -> None:
    """Show what adaptive collection would have cost on scores that are already there.

    Example: polyjudge replay scores.csv --until settled --matters 3
    """
    from polyjudge.questions.emit import emit
    from polyjudge.questions.plan.sequential import replay as run

    panel = o.load(ctx, scores)
    result = run(
        panel, questions=questions.value, matters=matters, threshold=at, at_least=at_least, first=first, seed=seed
    )
    emit(ctx, result, panel, tables={"looks": result.looks, "questions": result.to_frame()})
