"""Files of human labels, read by the engine that reads scores, so that task and language names agree."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from polyjudge.columns import USUAL
from polyjudge.errors import PanelError
from polyjudge.panel import clean


def read_gold(path: str | Path) -> pd.DataFrame:
    """Read labels from a CSV, Parquet or JSONL file. Tasks and languages become text, the rest stays as it is.

    The columns wanted are task, language, and preference (+1, -1, 0) or score; `pj.anchor` checks them.
    """
    import ibis

    path = Path(path)
    where = clean(str(path), 200)
    if not path.is_file():
        raise PanelError(f"There is no file {where} with labels.")
    con = ibis.duckdb.connect()
    kinds = {".parquet": con.read_parquet, ".json": con.read_json, ".jsonl": con.read_json}
    read = next((kinds[s] for s in path.suffixes if s in kinds), con.read_csv)
    try:
        table = read(str(path))
        text = {
            c: table[c].cast("string")
            for c in table.columns
            if c.strip().lower() in (*USUAL["task"], *USUAL["language"])
        }
        frame: pd.DataFrame = table.mutate(**text).to_pandas()
    except Exception as error:
        raise PanelError(f"The labels in {where} cannot be read: {clean(error, 200)}") from None
    return frame
