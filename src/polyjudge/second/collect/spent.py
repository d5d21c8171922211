"""What one score by each judge costs: from a file, or from what a collection run spent."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path

from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import read_json, read_text
from polyjudge.second.panel.labels import clean

LARGEST = 10_000_000
"""Bytes of a file of prices."""


def read_prices(path: str | Path | None, scores: str | Path = "") -> dict[str, float] | None:
    """Judge -> cost of one score; None when neither a file nor a collection run tells."""
    if path is not None:
        return _file(Path(path))
    return _run(Path(scores)) if scores and Path(str(scores)).is_dir() else None


def _file(path: Path) -> dict[str, float]:
    try:
        if path.suffix.lower() == ".json":
            return {str(name): float(price) for name, price in read_json(path, LARGEST).items()}
        rows = csv.DictReader(io.StringIO(read_text(path, LARGEST), newline=""))
        return {str(row["judge"]): float(row["price"]) for row in rows}
    except PanelError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error):
        raise UsageError(
            f"{clean(path, 200)} holds no prices. It is CSV with the columns judge and price, or JSON such as "
            '{"gpt-4o": 0.002}: what one score by each judge costs.'
        ) from None


def _run(folder: Path) -> dict[str, float] | None:
    """Dollars for each score, from what the run recorded; None when it is no run or has no prices.

    A score may need several answers: both texts of a pair, each line of a checklist.
    """
    from polyjudge.second.collect.cost import usage
    from polyjudge.second.collect.store import FILE, open_store

    if not (folder / FILE).is_file():
        return None
    each = "select distinct task, system, replicate, repeat, language, judge from answers"
    with closing(open_store(folder)) as con:
        used = usage(con)
        scores = dict(con.execute(f"select judge, count(*) from ({each}) group by judge"))
    if any(not entry["answers"] or entry.get("unpriced", 1) for entry in used.values()):
        return None
    return {judge: entry["cost"] / scores[judge] for judge, entry in used.items()}
