"""What builders share."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, get_args

import numpy as np

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.contents import Summary
from polyjudge.second.panel.labels import shell
from polyjudge.second.panel.numbers import writer
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.reading import Reading
from polyjudge.second.panel.say import Say, Words, say
from polyjudge.second.report.result import Result
from polyjudge.second.report.schema import envelope
from polyjudge.second.report.sections import Chart, Column, Grid, Kind, Table


def read_says(panel: Panel | Summary) -> tuple[Words, ...]:
    """The first lines: what was read, from where, and how to correct it."""
    s = Summary.of(panel) if isinstance(panel, Panel) else panel
    axes = ("systems", "languages", "judges", "replicates")
    facts = {"tasks": s.tasks, **{axis: len(getattr(s, axis)) for axis in axes}}
    values = ("scores", "missing", "entries", "low", "high", "unanswered")
    scores = say("read.values", **{name: getattr(s, name) for name in values})  # not `fields`, which loads pandas
    reading = s.reading
    if reading is None:
        return say("read.from", **facts), scores
    named = {r.role: r.column for r in reading.roles if r.how != "column names"}
    piped = reading.source == "-"
    where = "standard input" if piped else reading.source if reading.format != "data frame" else ""
    first = say("read.from", **facts, source=where, **{r: named.get(r, "") for r in ("system", "language", "judge")})
    change = (say("read.else", source=shell(where)),) if where and not piped else ()
    return first, scores, *value_says(reading), *change


def value_says(reading: Reading) -> tuple[Words, ...]:
    """What was done to shape and values, where anything was."""
    v = reading.values
    wide = [r.column for r in reading.roles if r.how == "column names"]
    numbers = {word: number for word, number in (v.get("map") or {}).items() if number is not None}
    said = (
        (wide, say("read.wide", pattern=wide[0] if wide else "")),
        (numbers, say("read.map", map=numbers)),
        (v.get("percent"), say("read.percent")),
        (v.get("out_of"), say("read.out_of", most=v.get("out_of"))),
        (v.get("decimal_comma"), say("read.comma")),
        (v.get("missing_words"), say("read.absent", words=v.get("missing_words"))),
        (v.get("kind") == "margins", say("read.margins", **{k: x for k, x in v.items() if k != "kind"})),
    )
    return tuple(words for holds, words in said if holds)


AHEAD = ("check", "plan", "label_plan", "replay")
"""Commands without an interval from the scores read: how often their collection looked has no part in them."""


def frame_of(command: str, result: Result, panel: Panel | None) -> dict[str, Any]:
    """The fields of a report that follow from its result and panel: what was read, facts, payload, judges."""
    facts = {name: getattr(result, name) for name in ("seed", "resamples", "level") if hasattr(result, name)}
    out: dict[str, Any] = {
        "command": command,
        "facts": facts,
        "payload": lambda: envelope(command, result.to_dict()),
    }
    if panel is not None:
        read = None if panel.reading is None else panel.reading.to_dict()
        out["payload"] = lambda: envelope(command, {"read": read, **result.to_dict()})
        out["read"] = read_says(panel)
        if panel.looks > 1 and command not in AHEAD:  # what the looks of an adaptive collection left of the level
            out["read"] += (say("read.looks", looks=panel.looks, level=facts.get("level")),)
        out["facts"] = facts | {"input fingerprint": panel.fingerprint}
        out["judges"] = panel.judges
    return out


KINDS: dict[str, Any] = {"language": "label", "judge": "judge", "system": "label", "p": "p"}
"""Kinds of columns that are called the same in every table."""


def column(text: str, **more: Any) -> Column:
    """A column, noted as in the words of a report: `title = name/low/high:kind`, with `±se` for a standard error.

    The title is the name unless it is given. `_low`, `_high` and `_se` go on with the name of the column. `+points`
    shows the sign, `ratio.2` two decimals.

    >>> column("now = after/_low/_high:+points") == Column(
    ...     name="after", title="now", kind="points", sign=True, low="after_low", high="after_high"
    ... )
    True
    """
    title, _, rest = text.rpartition(" = ")
    names, _, how = rest.partition(":")
    name, *others = re.split("[/±]", names)
    others = [name + other if other.startswith("_") else other for other in others]
    ends = dict(zip(("low", "high") if "/" in names else ("se",), others, strict=False))
    kind, _, digits = how.removeprefix("+").partition(".")
    known: Any = kind or KINDS.get(name, "text")
    if known not in get_args(Kind):
        raise ValueError(f"There is no kind {known!r} of columns: {text!r}.")
    more = {"sign": how.startswith("+"), "digits": int(digits) if digits else None, **ends, **more}
    return Column(name=name, title=title or name.replace("_", " "), kind=known, **more)


def table(name: str, caption: Words, frame: Any, *columns: str | Column, most: int = 200) -> Table:
    """A table whose head is noted as in `column`, with " | " between the columns."""
    parts = [[c] if isinstance(c, Column) else [column(text) for text in c.split(" | ")] for c in columns]
    return Table(name=name, caption=caption, frame=frame, columns=tuple(chain(*parts)), most=most)


def chart(name: str, draw: str, caption: Words, alt: Words, instead: Table | Grid | None = None, **data: Any) -> Chart:
    """A chart of one picture: `data` are the arguments of the function that draws it."""
    return Chart(name=name, draw=draw, data=(data,), caption=caption, alt=alt, instead=instead)


def by_size(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows, those farthest from 0 in a column first."""
    return frame.loc[frame[column].abs().sort_values(ascending=False, kind="stable").index]


def fields(of: Any, *names: str) -> dict[str, Any]:
    """Values of a result, or of a row of a frame, by their names: for a sentence."""
    return {name: of[name] if isinstance(of, pd.Series) else getattr(of, name) for name in names}


def pivot(cells: pd.DataFrame, values: str) -> pd.DataFrame:
    """A language x judge table of a column of `cells`, both in their order of appearance."""
    rows, columns = (pd.Index(cells[axis].unique(), name=axis) for axis in ("language", "judge"))
    shape = len(rows), len(columns)
    product = [np.repeat(rows, shape[1]), np.tile(columns, shape[0])]
    if np.array_equal(cells[["language", "judge"]].to_numpy().T, product):  # every cell once, in order
        return pd.DataFrame(cells[values].to_numpy().reshape(shape), rows, columns)
    wide = cells.pivot(index="language", columns="judge", values=values)
    return wide.loc[cells["language"].drop_duplicates().tolist(), cells["judge"].drop_duplicates().tolist()]


def marked_grid(name: str, caption: Words, cells: pd.DataFrame, note: Words) -> Grid:
    """Cells (language, judge, excess, named, small) as text: [ ] those named, a dot for those called small."""
    named, small = cells["named"], cells["small"]
    write = writer(cells["excess"], 2)
    texts = ["." if s else write(x, True) for s, x in zip(small, cells["excess"], strict=True)]
    marks = np.where(named, "culprit", np.where(small, "small", ""))
    return Grid(
        name=name,
        caption=caption,
        values=pivot(cells, "excess"),
        texts=pivot(cells.assign(text=texts), "text"),
        marks=pivot(cells.assign(mark=marks), "mark"),
        sign=True,
        note=note,
    )


def notes(*of: tuple[Words, ...]) -> tuple[Words, ...]:
    """Notes of results, each once; a text that came with the data is shown in full."""
    every = [n if isinstance(n, Say) else say("note", text=n) for part in of for n in part]
    return tuple(n for i, n in enumerate(every) if n not in every[:i])
