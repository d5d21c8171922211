"""What a run folder holds: calls, answers and money per judge, and what a person should look at before using it."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.collect.cost import Prices, usage
from polyjudge.second.collect.plan import Price
from polyjudge.second.collect.store import ADAPTIVE, FILE, KEY, damaged, open_store, read_meta
from polyjudge.second.report.result import Result

DRAWS = 4000
ALARM = 0.01
"""Missing answers are called uneven when chance alone is less likely than this (shared out over the tests)."""


class Progress(Result):
    """Where an adaptive run stands. `answers`: language, first, second, part (questions that were asked together, from
    1, and share a level), verdict, settled_at (look), estimate, low and high at that look, and at the end `final`: from
    all scores bought, less what stopping adds. `look` of `looks` is that of the part under way, or of the last.
    `finished`: the rule has nothing left to buy. `blind_spot`: failures too rare to have shown (on so many tasks, worth
    so many points, whether the intervals allow for them)."""

    answers: pd.DataFrame
    look: int
    looks: int
    finished: bool
    blind_spot: dict[str, Any] | None = None
    level: float = 0.95
    """Of the claims of each part together."""

    @property
    def begun(self) -> bool:
        return bool((self.answers["settled_at"] > 0).any() or self.answers["estimate"].notna().any())

    @property
    def open(self) -> pd.DataFrame:
        return self.answers[self.answers["verdict"] == "open"]


class Summary(Result):
    """The state of a run.

    `judges`: judge, model, calls, answered (calls of the current plan), missing (answers without a score), refused (of
    these: the judge refused), errors (attempts that failed or were asked again), remaining, input_tokens,
    output_tokens, estimated (attempts charged by an estimate), cost. `cells`: language, judge, answers, missing,
    refused, lenient, asked_again, reminded and the share missing. `missing_tests`: factor (cells, group, task, length
    of the prompt, digits in it), p (how likely missing answers follow it as much by chance), alarm. `missing_p` and
    `asked_again_p` are those of the cells. An adaptive run (`adaptive`) is complete, and nothing remains, when its rule
    has nothing left to buy.
    `orphans`: answers of judges, languages, items or repeats that the plan no longer has. `models`: names
    that the services report, where one judge has several. `reasons`: why calls have no answer. `omitted`: what was
    left out because a service does not know it.
    `limit` (dollars) was kept to within one round of calls in flight, here at most `round`.
    """

    folder: str
    name: str
    complete: bool
    judges: pd.DataFrame
    cells: pd.DataFrame
    missing_p: float | None
    asked_again_p: float | None
    missing_tests: pd.DataFrame
    orphans: pd.DataFrame
    models: pd.DataFrame
    reasons: pd.DataFrame
    batches: int
    cost_of_removed: float
    price_date: str
    dropped: list[list[str]]
    adaptive: Progress | None = None
    probes: bool = False
    """Whether probe versions were scored beside the items."""
    omitted: dict[str, list[str]] = field(default_factory=dict)
    stopped: str | None = None
    aside: dict[str, str] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    limit: float | None = None
    round: float | None = None

    @property
    def cost(self) -> float | None:
        """Dollars spent by the judges whose price is known, removed ones too; None when none is."""
        total = self.judges["cost"].dropna()
        return float(total.sum()) + self.cost_of_removed if len(total) or self.cost_of_removed else None

    @property
    def missing(self) -> int:
        return int(self.judges["missing"].sum())

    @property
    def refused(self) -> int:
        return int(self.judges["refused"].sum())


def read_summary(folder: str | Path) -> Summary:
    with closing(open_store(Path(folder))) as con, damaged(Path(folder) / FILE):
        return summarise(con, Path(folder), {})


def summarise(con: sqlite3.Connection, folder: Path, ended: dict[str, Any]) -> Summary:
    """Count what the store holds. `ended`: how the sitting that just ended went."""
    plan, priced = read_meta(con, "plan"), read_meta(con, "prices")
    known = {str(k): None if v is None else Price(**v) for k, v in priced["by_judge"].items()}
    prices = Prices(str(priced["date"]), known)
    used, repeats = usage(con, prices), plan["repeats"]
    names, languages = ([part["name"] for part in plan[axis]] for axis in ("judges", "languages"))
    cells = _cells(con, names, languages, repeats)
    judges = _judges(plan, used, prices, cells, read_meta(con, "calls"))
    adaptive = read_progress(con)
    if adaptive is not None and adaptive.finished:
        judges["remaining"] = 0
    tests = _missing_tests(con, cells) if cells["missing"].sum() else _tests([])
    cell_p = tests.loc[tests["factor"] == "cells", "p"]
    under_way = "select count(*) from batches where state in ('sending', 'sent')"
    return Summary(
        folder=str(folder),
        name=str(plan["name"]),
        complete=bool((judges["remaining"] == 0).all()),
        judges=judges,
        cells=cells,
        missing_p=float(cell_p.iloc[0]) if len(cell_p) else None,
        asked_again_p=uneven(cells["asked_again"].to_numpy(), cells["answers"].to_numpy()),
        missing_tests=tests,
        orphans=_orphans(con, names, languages, repeats),
        models=_models(con, names),
        reasons=_reasons(con),
        batches=con.execute(under_way).fetchone()[0],
        cost_of_removed=float(sum(u["cost"] for name, u in used.items() if name not in names)),
        price_date=prices.date,
        dropped=read_meta(con, "dropped") or [],
        adaptive=adaptive,
        probes=bool(plan.get("probes")),
        omitted=read_meta(con, "omitted") or {},
        **ended,
    )


def read_progress(con: sqlite3.Connection) -> Progress | None:
    """Where an adaptive run stands; None for an ordinary one."""
    kept = read_meta(con, ADAPTIVE)
    if kept is None:
        return None
    tables, looks = [], len(kept["looks"])
    for number, part in enumerate(kept["parts"], 1):
        frame = pd.DataFrame(part["questions"], columns=["language", "first", "second"]).assign(part=number)
        for name in ("verdict", "settled_at", "estimate", "low", "high"):
            frame[name] = part["state"][name]
        frame["final"] = part.get("final") or [None] * len(frame)
        tables.append(frame.astype(dict.fromkeys(["estimate", "low", "high", "final"], float)))
    under_way = [
        int(part["state"]["look"])
        for part, table in zip(kept["parts"], tables, strict=True)
        if part["state"]["look"] < looks and (table["verdict"] == "open").any()
    ]
    spots = [spot for part in kept["parts"] if (spot := part.get("blind_spot"))]
    return Progress(
        answers=pd.concat(tables, ignore_index=True),
        look=under_way[0] if under_way else max(int(part["state"]["look"]) for part in kept["parts"]),
        looks=looks,
        finished=not under_way,
        blind_spot=min(spots, key=lambda spot: spot["tasks"], default=None),
        level=float(kept["settings"].get("level", 0.95)),
    )


def _judges(
    plan: dict[str, Any], used: dict[str, dict[str, float]], prices: Prices, cells: pd.DataFrame, calls: int
) -> pd.DataFrame:
    counts = cells.groupby("judge")[["answers", "missing", "refused"]].sum()
    rows = []
    for judge in plan["judges"]:
        name = judge["name"]
        u, (answered, missing, refused) = used.get(name, {}), counts.loc[name]
        errors, tokens_in, tokens_out, estimated = (
            int(u.get(k, 0)) for k in ("errors", "input", "output", "estimated")
        )
        cost = u.get("cost", 0.0) if prices.by_judge.get(name) is not None else None
        row = name, judge["model"], calls, answered, missing, refused, errors, max(0, calls - answered)
        rows.append((*row, tokens_in, tokens_out, estimated, cost))
    columns = ["judge", "model", "calls", "answered", "missing", "refused", "errors", "remaining"]
    columns += ["input_tokens", "output_tokens", "estimated", "cost"]
    return pd.DataFrame(rows, columns=columns).astype({"cost": float})


def _cells(con: sqlite3.Connection, judges: list[str], languages: list[str], repeats: int) -> pd.DataFrame:
    every = pd.MultiIndex.from_product([languages, judges], names=["language", "judge"])
    counts = pd.read_sql_query(
        "select language, judge, count(*) as answers, sum(score is null) as missing, "
        "sum(score is null and how = 'refused') as refused, sum(how = 'lenient') as lenient, "
        "sum(reminded) as reminded from answers a join items i using (task, system, replicate) "
        "where i.place >= 0 and a.repeat < ? "
        "group by language, judge", con, params=[repeats],
    )  # fmt: skip
    again = pd.read_sql_query(
        f"select language, judge, count(*) as asked_again from (select distinct {KEY} from errors "
        "where kind = 'unreadable') group by language, judge", con,
    )  # fmt: skip
    both = [
        found.set_index(["language", "judge"]).reindex(every, fill_value=0).astype(int) for found in (counts, again)
    ]
    columns = ["language", "judge", "answers", "missing", "refused", "lenient", "asked_again", "reminded"]
    frame = pd.concat(both, axis=1).reset_index()[columns]
    frame["missing_share"] = frame["missing"] / frame["answers"].where(frame["answers"] > 0)
    return frame


def _orphans(con: sqlite3.Connection, judges: list[str], languages: list[str], repeats: int) -> pd.DataFrame:
    """Answers that the current plan does not ask for, by judge, language and why."""
    out: dict[tuple[str, str, str], int] = {}
    for judge, language, gone, late, count in con.execute(
        "select judge, language, i.place is null or i.place < 0, repeat >= ?, count(*) from answers a "
        "left join items i using (task, system, replicate) group by 1, 2, 3, 4", [repeats],
    ):  # fmt: skip
        why = (
            "judge" if judge not in judges else "language" if language not in languages else
            "item" if gone else "repeat" if late else ""
        )  # fmt: skip
        if why:
            out[(judge, language, why)] = out.get((judge, language, why), 0) + count
    return pd.DataFrame([(*k, n) for k, n in out.items()], columns=["judge", "language", "no_longer", "answers"])


def _models(con: sqlite3.Connection, judges: list[str]) -> pd.DataFrame:
    """Names that the services report, of the judges that have several."""
    query = "select judge, model, count(*) as answers from answers where model <> '' group by judge, model"
    found = pd.read_sql_query(query, con)
    return found[found["judge"].duplicated(keep=False) & found["judge"].isin(judges)].reset_index(drop=True)


def _reasons(con: sqlite3.Connection) -> pd.DataFrame:
    """Why calls have no answer: the last error of each, counted."""
    each = "e.task || '\n' || e.language || '\n' || e.part || e.repeat"
    return pd.read_sql_query(
        f"select e.judge, e.kind, max(e.error) as error, count(distinct {each}) as calls "
        f"from errors e left join answers a using ({KEY}) where a.task is null and e.kind <> 'killed' "
        "group by e.judge, e.kind order by 4 desc limit 20", con,
    )  # fmt: skip


def _tests(found: list[tuple[str, float | None]]) -> pd.DataFrame:
    known = [(factor, p) for factor, p in found if p is not None]
    frame = pd.DataFrame(known, columns=["factor", "p"])
    frame["alarm"] = frame["p"] < ALARM / max(1, len(known))
    return frame


def _missing_tests(con: sqlite3.Connection, cells: pd.DataFrame) -> pd.DataFrame:
    """Whether missing answers follow the cell, the group, the task, the length of the prompt or the digits in it."""
    no_digits = str.maketrans("", "", "0123456789")
    con.create_function("size", 1, len)  # SQLite's own length ends at a NUL
    con.create_function("digits", 1, lambda text: len(text) - len(text.translate(no_digits)))
    rows = pd.read_sql_query(
        "select a.language, a.judge, a.task, i.grp, size(coalesce(p.text, '')) as length, "
        "digits(coalesce(p.text, '')) as digits, a.score is null as missing from answers a "
        "join items i using (task, system, replicate) left join prompts p on p.hash = a.prompt where i.place >= 0",
        con,
    )
    lost, cell = rows["missing"].to_numpy(), rows.groupby(["language", "judge"], sort=False).ngroup().to_numpy()
    group, buckets = pd.factorize(rows["grp"])[0], pd.factorize(rows["task"])[0] % 2000
    return _tests(
        [
            ("cells", uneven(cells["missing"].to_numpy(), cells["answers"].to_numpy())),
            ("group", uneven(np.bincount(group, lost), np.bincount(group)) if group.any() else None),
            ("task", uneven(np.bincount(buckets, lost), np.bincount(buckets), 1000)),
            ("length", follows(lost, rows["length"].to_numpy(), cell)),
            ("digits", follows(lost, rows["digits"].to_numpy(), cell)),
        ]
    )


def follows(hits: np.ndarray[Any, Any], values: np.ndarray[Any, Any], cells: np.ndarray[Any, Any]) -> float | None:
    """Probability that hits lie on large or small values at least this much by chance, inside cells (van Elteren's
    stratified rank test, normal with the variance for ties). None when it cannot be told."""
    from scipy.stats import norm, rankdata

    score = variance = 0.0
    for cell in np.unique(cells):
        here = cells == cell
        n, m = int(here.sum()), int(hits[here].sum())
        if not 0 < m < n:
            continue
        ranks = rankdata(values[here])
        spread = float(((ranks - ranks.mean()) ** 2).sum())
        score += (float(ranks[hits[here] > 0].sum()) - m * (n + 1) / 2) / (n + 1)
        variance += m * (n - m) / (n * (n - 1)) * spread / (n + 1) ** 2
    if variance <= 0 or hits.sum() < 4:
        return None
    return float(2 * norm.sf(abs(score) / math.sqrt(variance)))


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
