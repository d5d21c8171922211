"""FastChat judgments (MT-bench): pairs, whose two games are the two orders of showing, and single grades."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.read.formats.base import Peek, ToolScores, records, tidy


def fits(peek: Peek) -> bool:
    found = peek.entry
    return isinstance(found.get("judge"), list) and {"question_id", "tstamp"} <= found.keys()


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """One row for each game of a pair, in the order of showing (FastChat turns the winner of the second game back, here
    it is turned again), or for each grade."""
    for one in records(path):
        common = {"task": one["question_id"], "turn": one.get("turn", 1), "judge": one["judge"][0]}
        if "model_1" not in one:
            score = one.get("score")
            yield {**common, "system": one.get("model"), "score": None if score == -1 else score}
            continue
        for game in ("g1", "g2"):
            if f"{game}_winner" in one:
                winner = one[f"{game}_winner"]
                names = ("model_1", "model_2") if game == "g1" else ("model_2", "model_1")
                winner = {"error": None, names[0]: "model_1", names[1]: "model_2"}.get(winner, winner)
                shown = {"model_1": one[names[0]], "model_2": one[names[1]]}
                yield {**common, **shown, "winner": winner, "replicate": game}


def finish(frame: pd.DataFrame) -> ToolScores:
    """Turns of a question are tasks of one cluster."""
    if frame["turn"].nunique() > 1:
        frame["cluster"] = frame["task"].astype(str)
        frame["task"] = frame["cluster"] + " turn " + frame["turn"].astype(str)
    return ToolScores(frame=tidy(frame.drop(columns="turn")))
