"""JudgeBench outputs: two answers of one model, judged in both orders, with a key that says which is right.

The second verdict is of the places as they were shown then, so that it is turned back here.
"""

from __future__ import annotations

from polyjudge.read.pair_words import PLACES
from polyjudge.read.tools import Record, Rows

TITLE = "JudgeBench outputs"
FITS = ({"pair_id", "response_A", "response_B", "judgments", "label"},)


def rows(record: Record) -> Rows:
    """One row for each of the two orders, and the key."""
    common = {
        "task": record["pair_id"],
        "first": "first answer",
        "second": "second answer",
        "prompt": record.get("question"),
        "response_1": record.get("response_A"),
        "response_2": record.get("response_B"),
    }
    for number, judgment in enumerate(record.get("judgments") or []):
        said = (judgment or {}).get("judgment") or {}
        share = PLACES.get(str((judgment or {}).get("decision")).lower())
        is_turned = number % 2 == 1
        yield {
            **common,
            "judge": said.get("judge_model") or record.get("judge_name"),
            "won": 1 - share if is_turned and share is not None else share,
            "place": -1 if is_turned else 1,
            "reason": said.get("response"),
        }
    yield {**common, "judge": "label", "won": PLACES.get(str(record["label"]).lower()), "place": 0, "people": True}
