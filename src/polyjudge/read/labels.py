"""Small tables beside the scores: people's labels, and texts of tasks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.base.errors import PanelError
from polyjudge.base.text import count, name, names, shell
from polyjudge.read.columns import key, usual
from polyjudge.read.scale import FAILED, PASS, check_range, is_state
from polyjudge.read.table import KINDS, open_table

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.panel import Panel


def read_table(source: Any) -> pd.DataFrame:
    """A small table as a frame: labels, items."""
    table = open_table(source)
    return table.frame({c: sql for c, (sql, _) in table.columns.items()}, table.relation)


def labels_of(source: Any) -> pd.DataFrame:
    """People's labels as task, label and, where there are such columns, system, language and annotator.

    Labels are numbers, or truth values where they were words (pass and fail); empty ones are left out.
    source : file, `labels.csv::COLUMN` to name the column of labels, or frame
    """
    frame = source if hasattr(source, "iloc") else read_table(source)
    path, _, asked = str(source).partition("::") if isinstance(source, (str, Path)) else ("", "", "")
    columns = [str(c) for c in frame.columns]
    judges = [] if usual("human", columns) else usual("judge", columns)
    found = {
        "task": usual("task", columns), "system": usual("system", columns) + usual("model", columns),
        "language": usual("language", columns), "annotator": usual("annotator", columns) or judges,
    }  # fmt: skip
    roles = {role: hits[0] for role, hits in found.items() if hits}
    free = [c for c in columns if c not in roles.values()]
    likely = ("human", "score", "weak score")  # where none is called label
    hits = [c for c in columns if c == "label"] + [c for kind in likely for c in usual(kind, columns)]
    if asked and not path.lower().endswith(KINDS["database"] + KINDS["excel"]):
        hits = [c for c in columns if c == asked]
    if not hits:
        mend = "Call one of them label."
        if path and free:
            mend = f"Say which one it is, such as {shell(f'{path}::{free[0]}')}."
        raise PanelError(f"The labels have no column {name(asked or 'label')}; they have {names(columns, 12)}. {mend}")
    if "task" not in roles:
        raise PanelError(f"The labels need a column task; they have {names(columns, 12)}.")
    label, worded = _numbers(frame[hits[0]])
    label = _without_failed(frame, label)
    levels, times = np.unique(label[np.isfinite(label)], return_counts=True)
    if len(levels) and not worded:
        check_range(levels, times, None, "the labels", [], "label")
    out = frame[list(roles.values())].set_axis(list(roles), axis=1).assign(label=label)
    out = out[np.isfinite(label)].reset_index(drop=True)
    return out.astype({"label": bool}) if worded else out


def _without_failed(frame: pd.DataFrame, label: Any) -> Any:
    """Labels, missing where a column of states says that their row failed; not where such rows hold different ones."""
    for column in [c for c in frame.columns if is_state(str(c))]:
        states = [str(state).strip().lower() for state in frame[column]]
        failed = np.array([bool(re.search(FAILED, state)) for state in states], dtype=bool) & np.isfinite(label)
        other_labels = label[~failed & np.isfinite(label)]
        if len(np.unique(label[failed])) == 1 and len(np.unique(other_labels)) > 1:
            label = np.where(failed, np.nan, label)
    return label


def spelled_as(frame: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Labels with the spelling of the panel's tasks, systems and languages. Refused where most tasks are unknown."""
    frame = frame.copy()
    for axis, known in (("task", panel.tasks), ("system", panel.systems), ("language", panel.languages)):
        if axis not in frame or panel.hashed:
            continue
        texts = frame[axis].astype(str)
        spellings: dict[str, list[str]] = {}
        for label in known:
            spellings.setdefault(key(axis, label), []).append(label)
        alike = {text: spellings.get(key(axis, text), []) for text in set(texts) - set(known)}
        frame[axis] = texts.replace({text: labels[0] for text, labels in alike.items() if len(labels) == 1})
    unknown = sorted(set(frame["task"].astype(str)) - set(panel.tasks)) if not panel.hashed else []
    if 2 * len(unknown) > frame["task"].nunique():
        raise PanelError(
            f"{len(unknown):,} of {count(frame['task'].nunique(), 'task')} with labels are no tasks of these scores: "
            f"{names(unknown)}; those of the scores are {names(panel.tasks[:3])}. Give the labels of these tasks."
        )
    return frame


def _numbers(column: pd.Series) -> tuple[Any, bool]:
    """Labels as numbers, and whether they were words: pass and fail (yes and no, true and false, ...) are 1 and 0."""
    import pandas as pd

    text = column.astype("string").str.strip().str.lower()
    word = text.map(PASS).astype("Float64")
    x = pd.to_numeric(text, errors="coerce").astype("Float64").fillna(word).to_numpy(dtype=float, na_value=np.nan)
    worded, filled = bool(word.notna().any()), text.notna() & ~text.isin(["", "nan", "none", "null", "n/a"])
    wrong = text[filled & ~(np.isin(x, (0, 1)) if worded else np.isfinite(x))]
    if len(wrong):
        times = count(int((wrong == wrong.iloc[0]).sum()), "row")
        raise PanelError(
            f"The label {name(wrong.iloc[0])!r} (column {name(column.name)}, {times}) is "
            f"{'not' if worded else 'neither a number nor'} pass or fail. Labels are numbers, or pass and fail, yes "
            "and no, true and false; an answer without one stays empty."
        )
    return x, worded
