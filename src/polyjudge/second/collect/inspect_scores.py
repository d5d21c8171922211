"""The calibrated score as a score of its own in an Inspect log."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.calibrate.base import Calibrator
from polyjudge.second.calibrate.load import load_calibrator
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.child import OWN
from polyjudge.second.read.formats.inspect_logs import finish, rows


@dataclass(frozen=True)
class ScoredLog:
    """Where the log was written, and how many samples have the new score and how many lack one of their graders."""

    path: Path
    scored: int
    left_out: int


def score_log(
    log: str | Path, calibrator: Calibrator | str | Path, out: str | Path, *, name: str = "calibrated",
    overwrite: bool = False,
) -> ScoredLog:  # fmt: skip
    """Write `log` to `out` with the mean of its graders' calibrated scores as the score `name` of each sample.

    Judges and languages are named as `read_panel` names them; one that the calibrator does not know is an error. A
    sample that lacks the score of a grader gets none: a mean over the others would be of another panel. The calibrated
    score of each grader is in the new score's metadata. No file, `log` neither, is replaced unless `overwrite`.
    """
    if not find_spec("inspect_ai"):
        raise UsageError("Writing Inspect logs needs inspect-ai: pip install 'polyjudge[collect]'.")
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.scorer import Score

    source, target = Path(log), Path(out)
    if target.exists() and not overwrite:
        raise UsageError(f"{clean(target, 200)} exists. Name another file, or say overwrite=True.")
    cal = calibrator if isinstance(calibrator, Calibrator) else load_calibrator(calibrator)
    if not isinstance(cal, Calibrator):
        raise UsageError("This calibrator has several criteria: give the one of the scores, calibrator.parts[NAME].")
    means, parts = _calibrated(source, cal)
    found = read_eval_log(str(source))
    values: dict[str, list[float]] = {}
    for sample in found.samples or []:
        scores = sample.scores or {}
        if name in scores and not (scores[name].metadata or {}).get(OWN):
            raise UsageError(f"{clean(source, 200)} already has a score {clean(name)!r}. Choose another: name=...")
        scores.pop(name, None)
        key = (str(sample.id), str(sample.epoch))
        if key in means:
            scores[name] = Score(value=means[key], metadata={OWN: repr(cal), "judges": parts[key]})
            values.setdefault(key[0], []).append(means[key])
        sample.scores = scores
    _sum_up(found, name, values)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_eval_log(found, str(target))
    return ScoredLog(target, len(means), len(found.samples or []) - len(means))


def _calibrated(log: Path, cal: Calibrator) -> tuple[dict[Any, float], dict[Any, dict[str, float]]]:
    """Mean and single calibrated scores by sample and epoch, of samples with all graders."""
    raw = pd.DataFrame(rows(log))
    if raw.empty:
        raise PanelError(f"{clean(log, 200)} has no scores. Score it first: inspect score {clean(log.name, 80)}.")
    frame = finish(raw.copy()).frame
    if not {"judge", "language"} <= set(frame):
        raise PanelError(f"{clean(log, 200)} does not say who graded, or in which language: see polyjudge check.")
    table = cal.apply(frame[["language", "judge", "score"]])
    table["key"] = list(zip(raw["task"], raw["replicate"], strict=True))
    wide = table.pivot_table(index="key", columns="judge", values="calibrated", sort=False).dropna()
    means = {key: float(mean) for key, mean in wide.mean(axis=1).items()}
    parts = {key: {str(j): float(v) for j, v in row.items()} for key, row in wide.iterrows()}
    return means, parts


def _sum_up(log: Any, name: str, values: dict[str, list[float]]) -> None:
    """The mean over samples and its standard error, epochs averaged first, among the log's results."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    each = np.array([np.mean(v) for v in values.values()])
    log.results = log.results or EvalResults()
    metrics = {"mean": EvalMetric(name="mean", value=float(each.mean()))} if len(each) else {}
    if len(each) > 1:
        metrics["stderr"] = EvalMetric(name="stderr", value=float(each.std(ddof=1) / np.sqrt(len(each))))
    others = [score for score in log.results.scores if score.name != name]
    log.results.scores = [*others, EvalScore(name=name, scorer="polyjudge", metrics=metrics)]
