"""What a run folder holds: calls, answers and money per judge, and answers that could not be read per cell."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.collect.cost import Prices, usage
from polyjudge.collect.store import open_store, read_meta
from polyjudge.core.results import Result

DRAWS = 4000
ALARM = 0.01
"""Missing answers are called uneven over the cells when chance alone is less likely than this."""


@dataclass(frozen=True, repr=False, eq=False)
class Summary(Result):
    """The state of a run.

    `judges`: judge, model, calls, answered, missing (answers that could not be read), errors (attempts that failed or
    were asked again), remaining, input_tokens, output_tokens, cost. `cells`: language, judge, answers, missing,
    lenient, asked_again and the share missing. `missing_p`: how likely missing answers spread as
    unevenly over the cells are by chance (None when none is missing); `asked_again_p`: the same for those asked again.
    """

    folder: str
    name: str
    complete: bool
    stopped: str | None
    aside: dict[str, str]
    failed: dict[str, int]
    judges: pd.DataFrame
    cells: pd.DataFrame
    missing_p: float | None
    asked_again_p: float | None
    price_date: str
    dropped: list[list[str]]

    def to_frame(self) -> pd.DataFrame:
        return self.judges

    @property
    def cost(self) -> float | None:
        """Dollars spent by the judges whose price is known; None when none is."""
        total = self.judges["cost"].dropna()
        return float(total.sum()) if len(total) else None


def read_summary(folder: str | Path) -> Summary:
    """The summary of a run folder."""
    con = open_store(Path(folder))
    try:
        return summarise(con, Path(folder), {})
    finally:
        con.close()


def summarise(con: sqlite3.Connection, folder: Path, ended: dict[str, Any]) -> Summary:
    """Count what the store holds. `ended`: how the sitting that just ended went."""
    plan = read_meta(con, "plan")
    stored = read_meta(con, "prices")
    prices = Prices(stored["date"], {k: None if v is None else (v[0], v[1]) for k, v in stored["by_judge"].items()})
    used = usage(con)
    names = [judge["name"] for judge in plan["judges"]]
    calls = read_meta(con, "calls") // len(names)
    rows = []
    for judge in plan["judges"]:
        u = used.get(judge["name"], {})
        tokens = int(u.get("input", 0)), int(u.get("output", 0))
        answered = int(u.get("answers", 0))
        rows.append(
            {
                "judge": judge["name"],
                "model": judge["model"],
                "calls": calls,
                "answered": answered,
                "missing": int(u.get("missing", 0)),
                "errors": int(u.get("errors", 0)),
                "remaining": max(0, calls - answered),
                "input_tokens": tokens[0],
                "output_tokens": tokens[1],
                "cost": prices.cost(judge["name"], *tokens),
            }
        )
    judges = pd.DataFrame(rows)
    judges["cost"] = judges["cost"].astype(float)
    cells = _cells(con, names, [language["name"] for language in plan["languages"]])
    return Summary(
        str(folder),
        plan["name"],
        bool((judges["remaining"] == 0).all()),
        ended.get("stopped"),
        ended.get("aside", {}),
        ended.get("failed", {}),
        judges,
        cells,
        uneven(cells["missing"].to_numpy(), cells["answers"].to_numpy()),
        uneven(cells["asked_again"].to_numpy(), cells["answers"].to_numpy()),
        prices.date,
        read_meta(con, "dropped") or [],
    )


def _cells(con: sqlite3.Connection, judges: list[str], languages: list[str]) -> pd.DataFrame:
    counts = {
        (language, judge): (answers, missing, lenient)
        for language, judge, answers, missing, lenient in con.execute(
            "select language, judge, count(*), sum(score is null), sum(how = 'lenient') from answers "
            "group by language, judge"
        )
    }
    again = {
        (language, judge): count
        for language, judge, count in con.execute(
            "select language, judge, count(*) from (select distinct task, replicate, language, judge, part from errors "
            "where kind = 'unreadable') group by language, judge"
        )
    }
    rows = [
        (language, judge, *counts.get((language, judge), (0, 0, 0)), again.get((language, judge), 0))
        for language in languages
        for judge in judges
    ]
    frame = pd.DataFrame(rows, columns=["language", "judge", "answers", "missing", "lenient", "asked_again"])
    frame["missing_share"] = frame["missing"] / frame["answers"].where(frame["answers"] > 0)
    return frame


def uneven(hits: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any], draws: int = DRAWS) -> float | None:
    """Probability that `hits` fall on groups of `sizes` at least this unevenly (chi-square statistic) by chance.

    Exact in kind: the hits are dealt again over all answers, `draws` times. None without any hit.
    """
    hits, sizes = np.minimum(hits, sizes), sizes.astype(np.int64)
    total, there = int(hits.sum()), sizes > 0
    if total == 0 or there.sum() < 2 or total == sizes.sum():
        return None
    expected = total * sizes[there] / sizes.sum()
    dealt = np.random.default_rng(0).multivariate_hypergeometric(sizes[there], total, size=draws, method="marginals")
    null = ((dealt - expected) ** 2 / expected).sum(axis=1)
    observed = ((hits[there] - expected) ** 2 / expected).sum()
    return float((1 + (null >= observed - 1e-9).sum()) / (1 + draws))
