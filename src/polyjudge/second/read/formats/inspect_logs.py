"""Inspect eval logs: sample -> task, epoch -> replicate, each grader of a sample -> judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import say
from polyjudge.second.read.child import inspect_rows
from polyjudge.second.read.formats.base import Peek, ToolScores, flat, pick, tidy
from polyjudge.second.read.limits import SECONDS, in_child


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
        yield Path(path), _settled(row)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The scores of one log, read in this process."""
    try:
        yield from map(_settled, inspect_rows(str(path)))
    except ValueError as error:
        raise PanelError(f"{clean(path, 200)} cannot be read: {clean(error, 200)}.") from None


def _settled(row: dict[str, Any]) -> dict[str, Any]:
    """The language comes from `language` (or `lang`, `locale`) in what is said about a sample."""
    about = row.pop("about")
    row["judge"] = about.get("judge") or row["judge"]
    return {**row, "language": pick("language", about), **flat(about, "metadata.")}


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
