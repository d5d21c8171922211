"""Small tables beside the scores: people's labels, and texts of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.base.errors import PanelError
from polyjudge.base.text import count, name, names, shell
from polyjudge.read.columns import usual
from polyjudge.read.scale import PASS
from polyjudge.read.table import KINDS, open_table

if TYPE_CHECKING:
    import pandas as pd


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
    out = frame[list(roles.values())].set_axis(list(roles), axis=1).assign(label=label)
    out = out[np.isfinite(label)].reset_index(drop=True)
    return out.astype({"label": bool}) if worded else out


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
