"""The texts behind scores: what was asked, what was answered, and why the judge scored it so.

They are read when they are wanted, for a few answers at a time: a panel holds numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from polyjudge.panel.columns import usual_columns
from polyjudge.panel.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.panel.labels import clean
from polyjudge.panel.panel import Panel
from polyjudge.read.duck import name
from polyjudge.read.opener import STDIN, Opened, open_table
from polyjudge.rooms import load

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
LONGEST = 20_000
"""Characters of a text that are read."""


def read_texts(panel: Panel, wanted: pd.DataFrame, items: Any = None) -> pd.DataFrame:
    """Texts of some answers, a row for each row of `wanted` (task, language, judge, and system where there are any).

    items : a file or frame that has them, with a column of tasks, and of languages, systems and judges where texts
        differ by them; without it the source of the panel is looked into, where it is a collection run or a
        table with a row for each score

    Columns: prompt, response, reason, those that were found, None where a row has none.
    """
    if items is not None:
        opened = open_table(items)
        roles = {key: usual_columns(key, opened.source.columns, ()) for key in KEYS}
        columns = {key: found[0] for key, found in roles.items() if found and key in wanted}
        if "task" not in columns:
            raise UsageError(f"{clean(opened.shown, 200)} has no column of tasks, so its texts fit no score.")
        if not (texts := _text_columns(opened.source.columns, columns.values())):
            raise UsageError(
                f"{clean(opened.shown, 200)} has no column of texts: call one response (or answer, output), reason or "
                "prompt."
            )
        return _joined(opened, columns, texts, wanted)
    if panel.reading is not None and panel.reading.format == RUN:
        return _of_run(panel.reading.source, wanted)
    columns = _roles(panel, wanted)
    if not columns or panel.reading is None:
        return pd.DataFrame(index=wanted.index)
    try:
        opened = open_table(panel.reading.source, format=None)
    except PanelError:  # what was read once need not be there any more
        return pd.DataFrame(index=wanted.index)
    texts = _text_columns(opened.source.columns, columns.values())
    if not texts or not set(columns.values()) <= set(opened.source.columns):
        return pd.DataFrame(index=wanted.index)
    return _joined(opened, columns, texts, wanted)


def _of_run(folder: str, wanted: pd.DataFrame) -> pd.DataFrame:
    """The texts that a collection run has stored; none where it is gone."""
    try:
        kind = next((kind for kind in load("formats") if kind.holds_run(folder)), None)
        texts = pd.DataFrame(index=wanted.index) if kind is None else kind.read_texts(folder, wanted, LONGEST)
    except PolyjudgeError:
        return pd.DataFrame(index=wanted.index)
    return pd.DataFrame(texts)


def _roles(panel: Panel, wanted: pd.DataFrame) -> dict[str, str]:
    """The columns of task, system, language and judge, where the source is a table with a row for each score."""
    reading = panel.reading
    if reading is None or reading.format == "data frame" or reading.source in ("", STDIN) or reading.shape != "long":
        return {}
    keys = [key for key in KEYS if key in wanted]
    found = {r.role: r.column for r in reading.roles if r.how in ("named", "usual name", "content", "format")}
    return {key: found[key] for key in keys} if set(keys) <= set(found) else {}


def _text_columns(there: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Text -> its column, by the usual names."""
    known = {column.strip().lower(): column for column in there if column not in set(taken)}
    hits = {text: [known[n] for n in names if n in known] for text, names in TEXTS.items()}
    return {text: columns[0] for text, columns in hits.items() if columns}


def _joined(opened: Opened, columns: Mapping[str, str], texts: Mapping[str, str], wanted: pd.DataFrame) -> pd.DataFrame:
    """The first text of each kind that the source has for each row."""
    source = opened.source
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
