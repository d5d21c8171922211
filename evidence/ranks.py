"""Do rank sets hold people's ranks, and do the claims of an adaptive collection hold for people?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from evidence.sets import Evidence
from polyjudge.panel.arrays import Array, mean_there
from polyjudge.panel.errors import PolyjudgeError
from polyjudge.questions.plan.sequential import replay
from polyjudge.questions.systems.leaderboard import leaderboard


def rank_sets(e: Evidence) -> pd.DataFrame:
    """A row a language of a set with three systems or more: systems; of the audit's rank sets and of those that allow
    for the sampling of tasks alone, how many hold people's rank, whether all do, and the share of ranks that they leave
    open; tau between the two orders."""
    rows = []
    for k, language in enumerate(e.languages):
        panel = e.panel(language)
        people = pd.Series(mean_there(e.people[:, :, k], 0), index=e.systems).reindex(list(panel.systems)).dropna()
        if len(people) < 3:
            continue
        try:
            board = leaderboard(panel.select(systems=list(people.index)), resamples=300).systems
        except PolyjudgeError:
            continue
        board = board[board["language"] == (language if language in set(board["language"]) else "(all)")]
        rank = people.rank(ascending=False)
        said = board.set_index("system")
        tau = float(said["mean"].corr(people[said.index], method="kendall"))
        row = {"set": e.name, "language": language, "systems": len(rank), "tau": tau}
        plain = _by_tasks(e.panel_mean[:, [e.systems.index(s) for s in said.index], k])
        for name, low, high in (
            ("audit", said["rank_low"].to_numpy(), said["rank_high"].to_numpy()),
            ("tasks", *plain),
        ):
            mine = rank[said.index].to_numpy()
            held = (low <= mine) & (mine <= high)
            row |= {f"{name} holds": held.mean(), f"{name} all": bool(held.all())}
            row[f"{name} open"] = float((high - low + 1).mean() / len(mine))
        rows.append(row)
    return pd.DataFrame(rows)


def _by_tasks(scores: Array, seed: int = 7) -> tuple[Array, Array]:
    """Lowest and highest rank of each system (n, s) by all pairs at once, tasks resampled (largest studentised gap)."""
    n, s = scores.shape
    i, j = np.triu_indices(s, 1)
    gap = scores[:, i] - scores[:, j]
    there = ~np.isnan(gap)
    mean, count = mean_there(gap, 0), there.sum(axis=0)
    part = np.where(there, gap - mean, 0.0)
    se = np.sqrt((part**2).sum(axis=0)) / np.maximum(count, 1)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), 300)
    total = weights @ part / np.maximum(weights @ there.astype(float), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = np.nanmax(np.abs(total) / np.where(se > 0, se, np.nan), axis=1)
        t = np.where(se > 0, mean / se, 0.0)
    critical = float(np.nanquantile(largest, 0.95))
    above, below = np.zeros(s), np.zeros(s)
    np.add.at(above, j, t > critical)
    np.add.at(above, i, t < -critical)
    np.add.at(below, i, t > critical)
    np.add.at(below, j, t < -critical)
    return 1 + above, s - below


def adaptive(e: Evidence) -> dict[str, float | str] | None:
    """Orders of two systems that an adaptive collection would have settled: how many, and how many people share."""
    if len(e.systems) < 2 or len(e.judges) < 2 or not e.alike:
        return None
    found = replay(e.panel(), questions="systems", resamples=300)
    table = found.to_frame()
    settled = table[table["verdict"].isin(["above", "below"])]
    people = pd.DataFrame(mean_there(e.people, 0), index=e.systems, columns=e.languages)
    right = 0
    for _, row in settled.iterrows():
        first, second = (str(row[name]) for name in ("first", "second"))
        gap = people.loc[first, row["language"]] - people.loc[second, row["language"]]
        right += int((gap > 0) == (row["verdict"] == "above"))
    return {"set": e.name, "share bought": found.share, "settled": len(settled), "people agree": right}


def swaps(e: Evidence) -> dict[str, float | str] | None:
    """Pairs of judges: does how far apart they are without labels tell how far apart they are from people? r over the
    pairs between the largest change of a system's mean in a language, and the change of r with people."""
    if len(e.judges) < 4 or len(e.systems) < 2:
        return None
    means = mean_there(e.array, 0)  # (s, k, m)
    means = means - means.mean(axis=0)
    flat, people = e.array.reshape(-1, len(e.judges)), e.people.ravel()
    there = ~np.isnan(people) & ~np.isnan(flat).any(axis=1)
    r = [np.corrcoef(flat[there, j], people[there])[0, 1] for j in range(len(e.judges))]
    pairs = [(a, b) for a in range(len(e.judges)) for b in range(a)]
    apart = [float(np.nanmax(np.abs(means[..., a] - means[..., b]))) for a, b in pairs]
    from_people = [abs(r[a] - r[b]) for a, b in pairs]
    return {"set": e.name, "pairs": len(pairs), "r": float(np.corrcoef(apart, from_people)[0, 1])}
