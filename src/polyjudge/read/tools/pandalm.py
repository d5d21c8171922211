"""PandaLM: people's choices in its test set, and results of its judges; 1 and 2 are the answers, 0 is a tie."""

from __future__ import annotations

from typing import Any

from polyjudge.read.tools import Record, Rows

TITLE = "PandaLM results"
FITS = ({"idx", "cmp_key", "annotator1"}, {"idx", "pandalm_result"}, {"idx", "gpt_result"})
SHARES = {"1": 1.0, "2": 0.0, "0": 0.5, "tie": 0.5}


def rows(record: Record) -> Rows:
    """One row for each annotator, or for the judge."""
    common: dict[str, Any] = {"task": record["idx"], "place": 1}
    if "cmp_key" not in record:
        column = next(key for key in record if str(key).endswith("_result"))
        won = SHARES.get(str(record[column]).strip().lower())
        judge = column.removesuffix("_result")
        yield {**common, "first": "first answer", "second": "second answer", "judge": judge, "won": won,
               "reason": record.get(f"{judge}_reason")}  # fmt: skip
        return
    first, _, second = str(record["cmp_key"]).partition("_")
    texts = {"prompt": record.get("instruction"), "response_1": record.get("response1"),
             "response_2": record.get("response2")}  # fmt: skip
    for annotator in [key for key in record if str(key).startswith("annotator")]:
        won = SHARES.get(str(record[annotator]).strip().lower())
        yield {**common, **texts, "first": first, "second": second, "judge": annotator, "won": won, "people": True}
