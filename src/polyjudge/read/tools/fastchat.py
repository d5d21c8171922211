"""FastChat's judgments (MT-bench): single scores from 1 to 10, and pairs that were judged in both orders."""

from __future__ import annotations

from typing import Any

from polyjudge.read.tools import Record, Rows

TITLE = "FastChat judgments"
FITS = ({"question_id", "model", "judge", "judgment", "score"}, {"question_id", "model_1", "model_2", "g1_winner"})
SHARES = {"model_1": 1.0, "model_2": 0.0, "tie": 0.5}
NO_SCORE = -1


def rows(record: Record) -> Rows:
    """One row for a score; one for each order of a pair, whose winner is named after turning back."""
    common = {"task": record["question_id"], "judge": judge_of(record.get("judge"))}
    if "model_1" not in record:
        turn = record.get("turn")
        yield {
            **common,
            "system": record["model"],
            "metric": None if turn is None else f"turn {turn}",
            "score": record.get("score"),
            "failed": record.get("score") == NO_SCORE,
            "reason": record.get("judgment"),
        }
        return
    for game, place in (("g1", 1), ("g2", -1)):
        if f"{game}_winner" in record:
            yield {
                **common,
                "first": record["model_1"],
                "second": record["model_2"],
                "won": SHARES.get(str(record[f"{game}_winner"])),
                "place": place,
                "turn": record.get("turn"),
                "reason": record.get(f"{game}_judgment"),
            }


def judge_of(judge: Any) -> Any:
    """The model that judged: a judge is written as the model and the name of its prompt."""
    return judge[0] if isinstance(judge, list) and judge else judge
