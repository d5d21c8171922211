"""M-RewardBench: five judges score the chosen and the rejected answer of the same items in seven languages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evidence.readers.base import Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "M-RewardBench", "github.com/KurbanIntelligenceLab/multilingual-judge-calibration", "as upstream", "4436df2",
    "analysis_1500_item/pilot_complete_panel.csv",
)  # fmt: skip
PAIR = {"chosen_score": 100.0, "rejected_score": 0.0}
"""What people preferred, and what they did not."""
MAKERS = {"gpt": "OpenAI", "claude": "Anthropic", "gemini": "Google", "deepseek": "DeepSeek"}


def read(folder: Path) -> list[Evidence]:
    """Two systems an item: the answer that people chose and the one they rejected."""
    frame = pd.read_csv(first(folder, "analysis_1500_item/pilot_complete_panel.csv", "pilot_complete_panel.csv"))
    frame = frame.rename(columns={"item_id": "task", "evaluator_model": "judge"})
    long = frame.melt(["task", "language", "judge"], list(PAIR), "system", "score").dropna()
    low, high = long["score"].min(), long["score"].max()
    long["score"] = (long["score"] - low) / (high - low) * 100
    labels = long[["task", "language", "system"]].drop_duplicates()
    labels = labels.assign(label=labels["system"].map(PAIR), annotator="people")
    makers = {j: m for j in long["judge"].unique() for x, m in MAKERS.items() if x in j.lower()}
    return [Evidence("M-RewardBench", long, labels, makers, apart=False)]


READERS = ((SOURCE, read),)
