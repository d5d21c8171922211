"""Files of human labels, read by the engine that reads scores, so that task and language names agree."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from polyjudge.core.columns import USUAL
from polyjudge.sources.duck import engine_errors, name, open_file, spool


def read_gold(path: str | Path) -> pd.DataFrame:
    """Read labels from a CSV, Parquet or JSON lines file, or from FILE::TABLE of a DuckDB or SQLite file.

    Tasks and languages become text, exactly as written. The columns wanted are task, language, and preference
    (+1, -1, 0) or score; `pj.anchor` checks them.
    """
    source = open_file(str(path))
    as_text = (*USUAL["task"], *USUAL["language"], *USUAL["system"])
    columns = ", ".join(
        f"CAST({name(c)} AS VARCHAR) AS {name(c)}" if c.strip().lower() in as_text else name(c) for c in source.columns
    )
    with engine_errors(source.where):
        if source.spool:
            spool(source, source.columns)
        frame: pd.DataFrame = source.con.sql(f"SELECT {columns} FROM {source.relation}").df()
    return frame
