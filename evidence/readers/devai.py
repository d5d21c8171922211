"""DevAI: six judges in eight languages on 55 tasks and three frameworks, and verdicts of people on the same runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evidence.readers.base import Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "DevAI",
    "github.com/metauto-ai/agent-as-a-judge and KurbanIntelligenceLab/multilingual-judge-calibration",
    "MIT",
    "43c2fa7, 4436df2",
    "devai/run_level_scores.csv, devai/human_labels.csv",
)
MAKERS = {"GPT": "OpenAI", "Claude": "Anthropic", "Sonnet": "Anthropic", "Gemini": "Google", "Llama": "Meta",
          "Qwen": "Alibaba", "DeepSeek": "DeepSeek"}  # fmt: skip


def read(folder: Path) -> list[Evidence]:
    """People judged the runs, not the language of the judging prompt: their verdict is the same in every language."""
    scores = pd.read_csv(first(folder, "devai/run_level_scores.csv")).rename(
        columns={"backbone": "judge", "framework": "system"}
    )
    verdicts = pd.read_csv(first(folder, "devai/human_labels.csv")).rename(columns={"framework": "system"})
    share = verdicts.groupby(["task", "system"])["satisfied"].mean().mul(100).rename("label").reset_index()
    languages = pd.DataFrame({"language": scores["language"].unique()})
    labels = share.merge(languages, how="cross").assign(annotator="people")
    makers = {j: m for j in scores["judge"].unique() for x, m in MAKERS.items() if x.lower() in j.lower()}
    return [Evidence("DevAI", scores[["task", "system", "language", "judge", "score"]], labels, makers, apart=False)]


READERS = ((SOURCE, read),)
