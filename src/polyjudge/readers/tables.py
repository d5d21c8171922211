"""Tables of scores through Ibis: one grouped pass in the engine that holds the rows, then a Panel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.columns import find_columns
from polyjudge.errors import PanelError
from polyjudge.panel import Panel, nan_mean


def read_panel(
    source: Any,
    *,
    task: str | None = None,
    language: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    replicate: str | None = None,
    group: str | None = None,
) -> Panel:
    """Read scores into a Panel from a file (CSV, Parquet, JSONL), a folder (collection run, logs) or a data frame."""
    import ibis

    more: dict[str, Any] = {}
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        from polyjudge.readers.runs import read_folder

        found = read_folder(source, group)
        source, more = found.frame, {"declared_range": found.declared_range, "notes": found.notes}

    con = ibis.duckdb.connect()
    if isinstance(source, (str, Path)):
        name = str(source)
        if ".parquet" in name:
            table = con.read_parquet(name)
        elif ".json" in name:
            table = con.read_json(name)
        else:
            table = con.read_csv(name)
    else:
        table = ibis.memtable(source)
    c = find_columns(table.columns, task, language, judge, score, replicate, group)
    keys = {"task": c.task, "language": c.language, "judge": c.judge}
    if c.replicate:
        keys["replicate"] = c.replicate
    numbered = table.mutate(row_=ibis.row_number())
    grouped = numbered.group_by(**{k: numbered[v].cast("string") for k, v in keys.items()}).agg(
        score=numbered[c.score].mean(), rows=numbered.count(), first=numbered["row_"].min()
    )
    frame = grouped.order_by("first").to_pandas()
    if (frame["rows"] > 1).any():
        raise PanelError("Some (task, language, judge, replicate) stand twice.")
    codes, labels = {}, {}
    for key in keys:
        code, uniques = pd.factorize(frame[key])
        codes[key], labels[key] = code, tuple(map(str, uniques))
    array = np.full([len(labels[key]) for key in keys], np.nan)
    array[tuple(codes[key] for key in keys)] = frame["score"].to_numpy(float)
    base = (labels["task"], labels["language"], labels["judge"])
    if c.replicate:
        return Panel(nan_mean(array), *base, labels["replicate"], array, **more)
    return Panel(array, *base, **more)
