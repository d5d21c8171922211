"""Judges that are code, as a user would write them beside a plan."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState

MARK = re.compile(r"\[\[t(\d+) (\w+) ")


def note() -> None:
    """One line for each call, for tests that count them."""
    if "JUDGED" in os.environ:
        with Path(os.environ["JUDGED"]).open("a") as file:
            file.write("x\n")


def plain(prompt: str) -> float:
    note()
    time.sleep(float(os.environ.get("SLOWLY", "0")))
    found = MARK.search(prompt)
    assert found is not None
    return 1 + int(found[1]) % 5


async def later(prompt: str, shift: int = 0) -> str:
    note()
    await asyncio.sleep(0)
    return f"Score: {max(1, plain(prompt) - shift):g}/5"


def with_item(prompt: str, item: dict[str, str]) -> dict[str, Any]:
    score = 5 if item["language"] == "en" and item["response"] in prompt else 2
    return {"score": score, "input_tokens": 100, "output_tokens": 10}


def strict(prompt: str, item: dict[str, str]) -> bool:
    return int(item["part"][1:]) % 2 == 0


def fails(prompt: str) -> float:
    raise RuntimeError("out of memory")


@scorer(metrics=[accuracy()])
def graded(good: str = "t0001") -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="C" if good in state.output.completion else "I", explanation=state.input_text)

    return score
