"""The texts behind scores: what was asked, what was answered, and why the judge scored it so.

They are read when they are wanted, for a few answers at a time: a panel holds numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.columns import first_of, usual_columns
from polyjudge.second.panel.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.read.duck import name, spool
from polyjudge.second.read.opener import STDIN, Opened, open_table
from polyjudge.second.rooms import load

TEXTS = {
    "prompt": ("prompt", "question", "input", "instruction", "query", "source"),
    "response": ("response", "answer", "output", "completion", "generation", "prediction", "hypothesis", "text"),
    "reason": (
        "reason", "explanation", "rationale", "reasoning", "justification", "feedback", "critique", "comment",
        "judge_reason", "judge_output",
    ),
}  # fmt: skip
"""What a text is -> names of columns, in the order of preference."""
KEYS = ("task", "system", "language", "judge")
RUN = "collection run"
MOST_ANSWERS = 20_000
"""Answers of a run whose texts are looked at for their length."""
LONGEST = 20_000
"""Characters of a text that are read."""


def read_texts(panel: Panel, wanted: pd.DataFrame, items: Any = None) -> pd.DataFrame:
    """Texts of some answers, a row for each row of `wanted` (task, language, judge, and system where there are any).

    items : a file or frame that has them, with a column of tasks, and of languages, systems and judges where texts
        differ by them; without it the source of the panel is looked into, where it is a collection run or a
        table with a row for each score

    Columns: prompt, response, reason, those that were found, None where a row has none.
    """
    if items is None and panel.reading is not None and panel.reading.format == RUN:
        return _of_run(panel.reading.source, wanted)
    opened, columns = _with_texts(panel, [key for key in KEYS if key in wanted], items)
    if opened is None:
        return pd.DataFrame(index=wanted.index)
    if items is not None and "task" not in columns:
        raise UsageError(f"{clean(opened.shown, 200)} has no column of tasks, so its texts fit no score.")
    texts = _text_columns(opened.source.columns, columns.values())
    if items is not None and not texts:
        raise UsageError(
            f"{clean(opened.shown, 200)} has no column of texts: call one response (or answer, output), reason or "
            "prompt."
        )
    return _joined(opened, columns, texts, wanted) if texts else pd.DataFrame(index=wanted.index)


def read_lengths(panel: Panel, items: Any = None) -> Array | None:
    """Characters of every answer, (tasks, systems, languages), NaN where there is no text; None where the texts of a
    panel's answers are not at hand. `items` as in `read_texts`."""
    if not panel.systems or panel.n_tasks != len(panel.tasks):
        return None
    keys = {"task": panel.tasks, "system": panel.systems, "language": panel.languages}
    if items is None and panel.reading is not None and panel.reading.format == RUN:
        return _run_lengths(panel, keys)
    opened, columns = _with_texts(panel, list(keys), items)
    text = None if opened is None else _text_columns(opened.source.columns, columns.values()).get("response")
    if opened is None or text is None or not {"task", "system"} <= set(columns):
        return None
    spool(opened.source, [*columns.values(), text])
    sql = ", ".join(f"CAST({name(column)} AS VARCHAR)" for column in columns.values())
    size = f"avg(length(CAST({name(text)} AS VARCHAR)))"
    rows = opened.source.con.execute(f"SELECT {sql}, {size} FROM {opened.source.relation} GROUP BY {sql}").fetchall()
    return _placed(pd.DataFrame(rows, columns=[*columns, "characters"]), keys)


def _with_texts(panel: Panel, keys: list[str], items: Any) -> tuple[Opened | None, dict[str, str]]:
    """Where texts may stand, opened: what the user gave, else the panel's own table; and its columns of the keys."""
    if items is not None:
        opened = open_table(items)
        found = {key: usual_columns(key, opened.source.columns, ()) for key in keys}
        return opened, {key: names[0] for key, names in found.items() if names}
    columns = _roles(panel, keys)
    if not columns or panel.reading is None:
        return None, {}
    try:
        opened = open_table(panel.reading.source)
    except PanelError:  # what was read once need not be there any more
        return None, {}
    return (opened, columns) if set(columns.values()) <= set(opened.source.columns) else (None, {})


def _placed(frame: pd.DataFrame, keys: Mapping[str, tuple[str, ...]]) -> Array | None:
    """Lengths in the panel's order; a key that the texts do not differ by is the same throughout."""
    used = [key for key in keys if key in frame]
    index = pd.MultiIndex.from_product([keys[key] for key in used])
    found = frame.dropna(subset=used).groupby(used)["characters"].mean()
    values = found.reindex(index).to_numpy(float).reshape([len(keys[key]) for key in used])
    if "language" not in used:
        values = np.repeat(values[..., None], len(keys["language"]), axis=2)
    return None if np.isnan(values).all() else values


def _run_lengths(panel: Panel, keys: Mapping[str, tuple[str, ...]]) -> Array | None:
    """The same of a collection run, where it is not too large to look at every text."""
    assert panel.reading is not None
    wanted = pd.MultiIndex.from_product(list(keys.values()), names=list(keys)).to_frame(index=False)
    if len(wanted) > MOST_ANSWERS:
        return None
    texts = _of_run(panel.reading.source, wanted.assign(judge=panel.judges[0]))
    if "response" not in texts:
        return None
    return _placed(wanted.assign(characters=texts["response"].str.len()), keys)


def _of_run(folder: str, wanted: pd.DataFrame) -> pd.DataFrame:
    """The texts that a collection run has stored; none where it is gone."""
    try:
        kind = next((kind for kind in load("formats") if kind.holds_run(folder)), None)
        texts = pd.DataFrame(index=wanted.index) if kind is None else kind.read_texts(folder, wanted, LONGEST)
    except PolyjudgeError:
        return pd.DataFrame(index=wanted.index)
    return pd.DataFrame(texts)


def _roles(panel: Panel, keys: list[str]) -> dict[str, str]:
    """The columns of task, system, language and judge, where the source is a table with a row for each score."""
    reading = panel.reading
    if reading is None or reading.format == "data frame" or reading.source in ("", STDIN) or reading.shape != "long":
        return {}
    found = {r.role: r.column for r in reading.roles if r.how in ("named", "usual name", "content", "format")}
    return {key: found[key] for key in keys} if set(keys) <= set(found) else {}


def _text_columns(there: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Text -> its column, by the usual names."""
    free = [column for column in there if column not in set(taken)]
    return {text: column for text, names in TEXTS.items() if (column := first_of(names, free)) is not None}


def _joined(opened: Opened, columns: Mapping[str, str], texts: Mapping[str, str], wanted: pd.DataFrame) -> pd.DataFrame:
    """The first text of each kind that the source has for each row."""
    source = opened.source
    spool(source, [*columns.values(), *texts.values()])
    keys = [f"CAST({name(column)} AS VARCHAR)" for column in columns.values()]
    cut = ", ".join(f"left(first(CAST({name(c)} AS VARCHAR)), {LONGEST})" for c in texts.values())
    marks = ", ".join("?" for _ in wanted["task"].unique())
    query = (
        f"SELECT {', '.join(keys)}, {cut} FROM {source.relation} "
        f"WHERE {keys[list(columns).index('task')]} IN ({marks}) GROUP BY {', '.join(keys)}"
    )
    rows = source.con.execute(query, [str(t) for t in wanted["task"].unique()]).fetchall()
    found = {tuple(row[: len(keys)]): row[len(keys) :] for row in rows}
    at = [tuple(str(x) for x in row) for row in wanted[list(columns)].itertuples(index=False)]
    none = (None,) * len(texts)
    return pd.DataFrame([found.get(key, none) for key in at], columns=list(texts), index=wanted.index)
