"""Inspect eval logs: sample -> task, epoch -> replicate, each grader of a sample -> judge."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.panel.errors import PanelError
from polyjudge.panel.labels import clean
from polyjudge.panel.say import say
from polyjudge.read.formats.base import Peek, ToolScores, flat, pick, tidy
from polyjudge.read.limits import SECONDS, in_child

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's letter grades: correct, partial, incorrect, no answer."""

OWN = "polyjudge"
"""In the metadata of a score that was calibrated here: it is no grader's, and is not read as one."""


def fits(peek: Peek) -> bool:
    if all(path.name.endswith(".eval") for path in peek.paths):
        return True
    found = peek.record
    return (
        isinstance(found, dict) and isinstance(found.get("eval"), dict) and {"status", "version"} & set(found) != set()
    )


def several(paths: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The scores of logs, read in a process of its own: a log is read as a whole, and may unpack to anything."""
    if not find_spec("inspect_ai"):
        raise PanelError("Reading Inspect logs needs inspect-ai: pip install 'polyjudge[collect]'.")
    shown = clean(paths[0] if len(paths) == 1 else f"{paths[0].parent} ({len(paths)} logs)", 200)
    for path, row in in_child("inspect", list(map(str, paths)), shown, seconds=SECONDS * 10):
        yield Path(path), row


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The scores of one log.

    The judge is the model a scorer grades with, else the model in the role `grader`, else the scorer where samples have
    several. The evaluated model is what is judged, unless the user says that it judges. The language comes from
    `language` (or `lang`, `locale`) in the sample's metadata, the task's arguments or the eval's metadata.
    """
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path))
    except Exception as error:  # a broken or foreign file, whatever the reader makes of it
        raise PanelError(f"{clean(path, 200)} is not a readable Inspect log: {clean(error, 200)}.") from None
    role = (log.eval.model_roles or {}).get("grader")
    fallback = None if role is None else str(getattr(role, "model", role))
    common = {**(log.eval.metadata or {}), **(log.eval.task_args or {})}
    graders = [_graders(scorer) for scorer in log.eval.scorers or []]
    for sample in log.samples or []:
        about = {**common, **(sample.metadata or {})}
        given = {n: score for n, score in (sample.scores or {}).items() if OWN not in (score.metadata or {})}
        for place, (scorer, score) in enumerate(given.items()):
            known = graders[place] if len(graders) == len(given) else []
            for judge, value, lost in _parts(score.value, known, scorer):
                yield {
                    "task": str(sample.id),
                    "language": pick("language", about),
                    "judge": about.get("judge") or judge or fallback,
                    "replicate": str(sample.epoch),
                    "score": value,
                    "scorer": scorer if len(known) <= 1 or judge is None else "",
                    "evaluated_model": str(log.eval.model),
                    "log": path.name,
                    "status": str(log.status),
                    "lost": lost,
                    **flat(about, "metadata."),
                }


def finish(frame: pd.DataFrame) -> ToolScores:
    """What is settled over all logs: who is a judge, what is a system, what is missing."""
    ended = frame[frame["status"] != "success"].drop_duplicates("log")
    notes = [
        say("inspect.ended", log=log, status=status) for log, status in zip(ended["log"], ended["status"], strict=True)
    ]
    frame = tidy(frame.drop(columns="status"))
    if "language" in frame and frame["language"].isna().any():
        without = frame["language"].isna()
        raise PanelError(
            f"{int(without.sum())} of {len(frame)} scores in the Inspect logs have no language (first in "
            f"{clean(frame.loc[without, 'log'].iloc[0])}). Put it in the samples' metadata (language), "
            "or in the task's arguments (-T language=en)."
        )
    keys = [k for k in ("task", "language", "judge", "replicate", "evaluated_model") if k in frame]
    several = frame["scorer"].nunique() > 1
    if several and ("judge" not in frame or frame["judge"].nunique() == 1):
        frame["judge"] = frame["scorer"]
        notes.append(say("inspect.scorers"))
    elif several and frame.duplicated(keys).any():
        frame["judge"] = frame["judge"] + " / " + frame["scorer"]
        notes.append(say("inspect.several"))
    if "judge" in frame and frame["evaluated_model"].nunique() > 1:
        frame["system"] = frame["evaluated_model"]
    if "judge" not in frame:
        frame = frame.rename(columns={"scorer": "scored_by"})  # one scorer of unknown models: the user says who judged
    lost = int(frame.pop("lost").sum())
    if lost:
        notes.append(say("inspect.short", count=lost))
    missing = int(frame["score"].isna().sum())
    if missing:
        notes.append(say("inspect.unread", count=missing, all=len(frame)))
    return ToolScores(frame=frame, notes=tuple(notes))


def _graders(scorer: Any) -> list[str]:
    """The models a scorer grades with, in order; empty when its options do not name them."""
    options = scorer.options or {}
    if isinstance(options.get("scorers"), list):
        each = [s.get("params") or {} for s in options["scorers"] if isinstance(s, dict)]
        names = ["".join(_models(p.get("model"))[:1]) for p in each]
        titles = [str(s.get("name", "")) for s in options["scorers"] if isinstance(s, dict)]
        return names if all(names) and len(set(names)) == len(names) else [f"{t} {i}" for i, t in enumerate(titles, 1)]
    return _models(options.get("model"))


def _models(option: Any) -> list[str]:
    """The names in a scorer's option `model`: a name, a model that was made before (logged as a dict), or a list."""
    if isinstance(option, list):
        return [name for one in option for name in _models(one)[:1]]
    name = option.get("model") or option.get("name") if isinstance(option, dict) else option
    return [name] if isinstance(name, str) and name else []


def _parts(value: Any, known: list[str], scorer: str) -> Iterator[tuple[str | None, float, bool]]:
    """Judge (None: of the log), number, and whether it was lost: a single value, a list by grader, or a dictionary."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key), number(inner), False
    elif isinstance(value, (list, tuple)):
        if known and len(known) != len(value):
            yield from ((judge, math.nan, i == 0) for i, judge in enumerate(known))  # unscored graders are dropped
            return
        names = known or [f"{scorer} {i}" for i in range(1, len(value) + 1)]
        yield from ((judge, number(inner), False) for judge, inner in zip(names, value, strict=True))
    else:
        yield (known[0] if len(known) == 1 else None), number(value), False


def number(value: Any) -> float:
    """A score's value as a number; NaN when it is none."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        try:
            value = json.loads(value)
        except ValueError:
            return math.nan
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else math.nan


FORMAT = dict(
    name="inspect",
    title="Inspect eval logs",
    files="*.eval or JSON logs: one, a glob, or a folder",
    reads="judge: the model that grades (options, role grader), or each scorer of a sample; task: the sample; "
    "language: metadata of the sample, arguments of the task",
    needs="pip install 'polyjudge[collect]'; language in the samples' metadata or -T language=en",
)
