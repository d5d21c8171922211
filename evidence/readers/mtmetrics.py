"""Translations scored by metrics and judges beside MQM of people, in mt-metrics-eval's layout.

wmt22: the GEMBA judges (also `gemba/wmt22_da.csv.gz`) with MQM; wmt23: the metrics of the shared task with MQM.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from evidence.readers.base import Absent, Source, first
from evidence.sets import Evidence

LAYOUT = "human-scores/SRC-TGT.mqm.seg.score and metric-scores/SRC-TGT/NAME-REF.seg.score"
GEMBA = Source(
    "WMT22 with GEMBA", "github.com/MicrosoftTranslator/GEMBA and google-research/mt-metrics-eval",
    "CC BY-SA 4.0, Apache-2.0", "3dd2c49", f"wmt22/{LAYOUT}",
)  # fmt: skip
WMT23 = Source(
    "WMT23 metrics", "github.com/google-research/mt-metrics-eval", "Apache-2.0", "10fe5f9", f"wmt23/{LAYOUT}"
)
WORST = 25.0
"""MQM counts errors: 0 is perfect, and a segment loses at most this much."""
NAMES = {"German": "en-de", "Russian": "en-ru"}


def read_gemba(folder: Path) -> list[Evidence]:
    """The GEMBA judges of prompt DA with reference, on English into German and Russian."""
    people = first(folder, "wmt22/human-scores")
    try:
        scores = pd.read_csv(first(folder, "gemba/wmt22_da.csv.gz")).rename(columns={"segment": "task"})
        scores["language"] = scores["language"].map(NAMES)
    except Absent:
        scores = _metrics(first(folder, "wmt22/metric-scores"), "GEMBA-*-DA-ref*.seg.score", list(NAMES.values()))
        scores["judge"] = scores["judge"].str.removeprefix("GEMBA-").str.removesuffix("-DA")
    return [_evidence("WMT22 GEMBA", scores, people, list(NAMES.values()), maker="OpenAI")]


def read_wmt23(folder: Path) -> list[Evidence]:
    """All metrics that scored segments, per language pair with MQM. Pairs share no tasks."""
    people = first(folder, "wmt23/human-scores")
    pairs = sorted(p.name.split(".mqm.")[0] for p in people.glob("*.mqm.seg.score"))
    scores = _metrics(first(folder, "wmt23/metric-scores"), "*.seg.score", pairs)
    return [_evidence(f"WMT23 {x}", scores[scores["language"] == x], people, [x], maker="") for x in pairs]


def _metrics(folder: Path, pattern: str, pairs: list[str]) -> pd.DataFrame:
    """Every metric's segments, each on a scale from its own lowest to its own highest."""
    frames = []
    for pair in pairs:
        for path in sorted((folder / pair).glob(pattern)):
            judge = path.name.removesuffix(".seg.score").rpartition("-")[0]
            frames.append(_segments(path).assign(judge=judge, language=pair))
    if not frames:
        raise Absent(f"no metric in {folder.name} fits {pattern}")
    out = pd.concat(frames, ignore_index=True)
    low, high = (out.groupby("judge")["score"].transform(x) for x in ("min", "max"))
    return out.assign(score=(out["score"] - low) / (high - low).where(high > low, 1.0) * 100)


def _segments(path: Path) -> pd.DataFrame:
    """Lines of a system and a score, segments in their order for each system; None is missing."""
    frame = pd.read_csv(path, sep=r"\s+", header=None, names=["system", "score"], na_values=["None"], dtype={0: str})
    return frame.assign(task=frame.groupby("system").cumcount())


def _evidence(name: str, scores: pd.DataFrame, people: Path, pairs: list[str], maker: str) -> Evidence:
    labels = []
    for pair in pairs:
        path = people / f"{pair}.mqm.seg.score"
        if not path.exists():
            raise Absent(f"{path.name} is not there")
        mqm = _segments(path).dropna(subset="score")
        points = 100 * (1 - np.clip(-mqm["score"], 0, WORST) / WORST)
        labels.append(mqm[["task", "system"]].assign(language=pair, annotator="MQM", label=points))
    people_said = pd.concat(labels, ignore_index=True)
    makers = dict.fromkeys(scores["judge"].unique(), maker) if maker else {}
    columns = ["task", "system", "language", "judge", "score"]
    return Evidence(name, scores[columns].dropna(), people_said, makers, alike=len(pairs) > 1)


READERS = ((GEMBA, read_gemba), (WMT23, read_wmt23))
