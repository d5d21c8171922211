"""LLMBar results: two answers, judged in both orders, with a key; the winner is named after turning back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyjudge.read.table import records
from polyjudge.read.tools import Rows

TITLE = "LLMBar results"
FITS = ({"input", "output_1", "output_2", "label", "results"},)
SHARES = {"1": 1.0, "2": 0.0}


def newest(paths: Sequence[Path]) -> Sequence[Path]:
    """All files: the judge is in the path, evaluators/JUDGE/PROMPT/result.json."""
    return paths


def rows(path: Path) -> Rows:
    """One row for each order of each judgment, and the key."""
    for number, record in enumerate(records(path)):
        common = {
            "task": number + 1,
            "first": "first answer",
            "second": "second answer",
            "prompt": record["input"],
            "response_1": record["output_1"],
            "response_2": record["output_2"],
        }
        final = record["results"][-1]  # a judge that contradicted itself is asked once more
        for order, place in (("swap = False", 1), ("swap = True", -1)):
            if order in final:
                won = SHARES.get(str((final[order] or {}).get("winner")))
                yield {**common, "judge": _judge_of(path), "won": won, "place": place}
        yield {**common, "judge": "label", "won": SHARES.get(str(record["label"])), "place": 0, "people": True}


def _judge_of(path: Path) -> str:
    parts = path.parts
    if "evaluators" in parts[:-2]:
        return "/".join(parts[parts.index("evaluators") + 1 : -1])
    return path.stem.removeprefix("llmbar_").removesuffix("_result") or "judge"
