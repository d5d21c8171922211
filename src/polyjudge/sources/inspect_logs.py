"""Inspect eval logs as scores: sample -> task, epoch -> replicate, grader -> judge and then model -> system."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.core.errors import PanelError
from polyjudge.core.labels import clean
from polyjudge.sources.runs import FolderScores

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's letter grades: correct, partial, incorrect, no answer."""


def read_logs(path: str | Path) -> FolderScores:
    """The scores in a folder of Inspect logs (or one log).

    The judge is the model in the role `grader` when the eval has one, else the scorer's own when scorers differ inside
    a log, else the evaluated model. The language comes from `language` (or `lang`, `locale`) in the sample's metadata,
    the task's arguments or the eval's metadata. Where graders are the judges and several models were evaluated, those
    are the systems. The frame also has log, evaluated_model and scorer.
    """
    try:
        from inspect_ai.log import list_eval_logs, read_eval_log
    except ImportError:
        raise PanelError("Reading Inspect logs needs inspect-ai: pip install 'polyjudge[collect]'.") from None
    path = Path(path)
    names = [str(path)] if path.is_file() else [info.name for info in list_eval_logs(str(path.resolve()))]
    if not names:
        raise PanelError(f"There are no Inspect logs in {clean(path, 200)}.")
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for name in sorted(names):
        try:
            log = read_eval_log(name)
        except Exception as error:  # a broken or foreign file, whatever the reader makes of it
            raise PanelError(f"{clean(name, 200)} is not a readable Inspect log: {clean(error, 200)}.") from None
        if log.status != "success":
            notes.append(f"{clean(Path(name).name)} ended with status {log.status}; its finished samples are read")
        rows += _rows(log, Path(name).name)
    if not rows:
        raise PanelError(f"The Inspect logs in {clean(path, 200)} hold no scored sample.")
    frame = pd.DataFrame(rows)
    without = frame["language"].isna()
    if without.any():
        raise PanelError(
            f"{int(without.sum())} of {len(frame)} scores in the Inspect logs have no language (first in "
            f"{clean(frame.loc[without, 'log'].iloc[0])}). Put it in the samples' metadata (language), "
            "or in the task's arguments (-T language=en)."
        )
    scorers = frame["scorer"].unique()
    if len(scorers) > 1 and frame["judge"].nunique() == 1:
        frame["judge"] = frame["scorer"]
        notes.append("each scorer is taken as a judge, for all graders are the same model")
    elif len(scorers) > 1:
        twice = frame.duplicated(["task", "language", "judge", "replicate", "evaluated_model"]).any()
        if twice:
            raise PanelError(
                f"The logs have several scorers ({', '.join(clean(s) for s in scorers)}) for the same judge. Read "
                "one log folder per scorer, or name each grader with the model role grader."
            )
    missing = int(frame["score"].isna().sum())
    if missing:
        notes.append(f"{missing} of {len(frame)} scores are missing: their value is not a number or grade")
    if frame["evaluated_model"].nunique() > 1 and frame.groupby("judge")["evaluated_model"].nunique().max() > 1:
        frame["system"] = frame["evaluated_model"]
    if frame["replicate"].nunique() == 1:
        frame = frame.drop(columns="replicate")
    return FolderScores(frame, None, tuple(notes))


def _rows(log: Any, name: str) -> list[dict[str, Any]]:
    roles = log.eval.model_roles or {}
    grader = roles.get("grader")
    judge = str(getattr(grader, "model", grader)) if grader is not None else str(log.eval.model)
    common = {**(log.eval.metadata or {}), **(log.eval.task_args or {})}
    rows = []
    for sample in log.samples or []:
        about = {**common, **(sample.metadata or {})}
        language = next((about[k] for k in ("language", "lang", "locale") if about.get(k) is not None), None)
        for scorer, score in (sample.scores or {}).items():
            rows.append(
                {
                    "task": str(sample.id),
                    "language": None if language is None else str(language),
                    "judge": str(about.get("judge", judge)),
                    "replicate": str(sample.epoch),
                    "score": _value(score.value),
                    "scorer": scorer,
                    "evaluated_model": str(log.eval.model),
                    "log": name,
                }
            )
    return rows


def _value(value: Any) -> float:
    """A score's value as a number; NaN when it is none."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        try:
            value = json.loads(value)
        except ValueError:
            return math.nan
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else math.nan
