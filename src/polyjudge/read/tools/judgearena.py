"""JudgeArena: a folder of a run, with a table of judgments and, in another file, what was read of them.

Preferences are the chance that model B wins, in the frame of the rows that were asked first: rows with the names
exchanged keep the verdict of the first order.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyjudge.base.errors import PanelError
from polyjudge.base.text import name
from polyjudge.read.table import start
from polyjudge.read.tools import Rows

TITLE = "JudgeArena runs"
FITS = (
    {"model_A", "model_B", "judge_completion", "judge"},
    {"model_A", "model_B", "g1_verdict", "g1_winner"},
    {"completion_A", "completion_B", "judge_completion"},
    {"bootstrap_ratings", "summary"},
)
ENDS = "-annotations.csv"
SHARES = {"model_A": 1.0, "model_B": 0.0, "tie": 0.5}
TEMPERATURE = 0.3
"""By which the tool turns two scores into a preference."""


def newest(paths: Sequence[Path]) -> list[Path]:
    """The tables of judgments; what was read of them lies beside each."""
    return [path for path in paths if path.name.endswith(ENDS)] or list(paths)


def is_run(paths: Sequence[Path]) -> bool:
    """Whether these are the files of a run's folder."""
    return any(path.name.endswith(ENDS) for path in paths) and any(path.name.startswith("results-") for path in paths)


def rows(path: Path) -> Rows:
    """One row for each order of each judgment."""
    if path.suffix == ".json":
        raise PanelError(f"{name(path, 200)} holds ratings, and no verdicts: give the folder of the run.")
    table = list(csv.DictReader(io.StringIO(start(path, -1).decode("utf-8-sig"))))
    if table and "model_A" not in table[0]:
        raise PanelError(f"{name(path, 200)} does not say which models wrote the answers, so nothing can be ranked.")
    beside = path.with_name(f"results-{path.name.removesuffix(ENDS)}.json")
    results = json.loads(start(beside, -1)) if beside.is_file() else {}
    preferences = results.get("preferences") or []
    language = re.search(r"m-arena-hard-v[\d.]+-([a-z]{2})(?![a-z])", str(results.get("task") or path.name))
    for number, row in enumerate(table):
        common = {
            "task": row.get("question_id") or row.get("instruction_index"),
            "language": language[1] if language else None,
            "first": row["model_A"],
            "second": row["model_B"],
            "judge": row["judge"],
            "turn": row.get("turn"),
            "prompt": row.get("instruction"),
            "response_1": row.get("completion_A"),
            "response_2": row.get("completion_B"),
        }
        if "g1_winner" in row:
            for game, place in (("g1", 1), ("g2", -1)):
                if row.get(f"{game}_winner"):
                    yield {**common, "won": SHARES.get(row[f"{game}_winner"]), "place": place}
        else:
            won = _share_of_first(row, number, len(table), preferences, results)
            yield {**common, "won": won, "place": 1, "reason": row.get("judge_completion")}


def _share_of_first(
    row: dict[str, str], number: int, n_rows: int, preferences: list[Any], results: Any
) -> float | None:
    """How far the model that the row names first is preferred."""
    if "preference" in row:
        chance = _as_number(row["preference"])
        is_exchanged = row.get("swapped", "").lower() == "true"
    elif len(preferences) == n_rows:
        chance = preferences[number]
        is_exchanged = results.get("swap_mode") == "both" and number >= n_rows // 2
    else:
        scores = [re.search(rf"score_{side}\W+(\d+(?:[.]\d+)?)", row["judge_completion"]) for side in "AB"]
        if None in scores:
            return None
        first, second = (math.exp(TEMPERATURE * float(score[1])) for score in scores if score)
        return first / (first + second)
    if chance is None:
        return None
    return float(chance) if is_exchanged else 1 - float(chance)


def _as_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value
