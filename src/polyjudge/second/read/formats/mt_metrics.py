"""Folders of mt-metrics-eval: `LP/METRIC.seg.score`, a line `SYSTEM<tab>SCORE` for each segment of each system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Say
from polyjudge.second.read.formats.base import Peek, ToolScores, tidy

PAIR = re.compile(r"[a-z]{2,3}(?:_[A-Za-z]+)?-([a-z]{2,3}(?:_[A-Za-z]+)?)")


def fits(peek: Peek) -> bool:
    return all(path.name.endswith(".seg.score") for path in peek.paths)


def finish(frame: pd.DataFrame) -> ToolScores:
    """The language is the target of the pair, unless two pairs have the same."""
    frame = tidy(frame)
    if bool((frame.groupby("language")["pair"].nunique() > 1).any()):
        frame["language"] = frame["pair"]
    return ToolScores(frame=frame, doubts=(Say("read.by_position", {"column": "line"}),))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    pair = path.parent.name
    target = PAIR.fullmatch(pair)
    seen: Counter[str] = Counter()
    metric = path.name.removesuffix(".seg.score")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        system, tab, score = line.rpartition("\t")
        if not tab:
            raise PanelError(f"{clean(path, 200)}, line {number} has no tab between system and score.")
        seen[system] += 1
        value = None if score.strip() in ("None", "") else score.strip()
        yield {
            "task": seen[system],
            "language": target[1] if target else pair,
            "pair": pair,
            "system": system,
            "judge": re.sub(r"-(src|ref[A-Za-z0-9]*|all)$", "", metric),
            "score": value,
        }
