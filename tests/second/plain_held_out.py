"""docs/methods.md, section 7 written the plain way: pandas group-by, scipy's kendalltau, one resample at a time.

The reference for equality tests and for the speed ratio in benchmarks/held_out.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, rankdata

import polyjudge.second as pj


def plain_taus(
    panel: pj.Panel, methods: list[str], multiplicities: np.ndarray, orders: np.ndarray | None = None
) -> pd.DataFrame:
    """tau of every resample (rows) and method. `orders` (R, k, m) are the random control's shuffles."""
    gap = 1e-9 * (panel.range[1] - panel.range[0])
    matrices = plain_matrices(panel, methods, multiplicities, orders)
    taus = [pd.Series({name: _mean_tau(e, gap) for name, e in one.items()}, name=r) for r, one in matrices]
    return pd.DataFrame(taus)


def plain_matrices(
    panel: pj.Panel, methods: list[str], multiplicities: np.ndarray, orders: np.ndarray | None = None
) -> Iterator[tuple[int, dict[str, pd.DataFrame]]]:
    """The adjusted cell means of every method in every resample that leaves a task out."""
    rows = panel.to_long()
    long = rows.groupby(["task", "language", "judge"], sort=False)["score"].mean().reset_index()
    names = np.array(panel.tasks)
    items = ["task", "replicate"] if "replicate" in rows else ["task"]
    top = rows.assign(label=(rows["score"] >= panel.range[1]).astype(float))
    labels = top.pivot(index=items, columns=["language", "judge"], values="label")
    by_task = long.set_index("task")
    for r, counts in enumerate(multiplicities):
        if (counts > 0).all():
            continue
        drawn = np.repeat(names, counts)
        train = by_task.loc[drawn].reset_index()
        held = long[~long["task"].isin(drawn)]
        tr, e = (_cells(part, panel) for part in (train, held))
        context = {
            "train": train,
            "drawn": set(drawn),
            "labels": labels,
            "order": None if orders is None else orders[r],
        }
        yield r, {name: PLAIN[name](e, tr, context) for name in methods}


def _cells(part: pd.DataFrame, panel: pj.Panel) -> pd.DataFrame:
    table = part.groupby(["language", "judge"])["score"].mean().unstack()
    return table.loc[list(panel.languages), list(panel.judges)]


def _mean_tau(adjusted: pd.DataFrame, gap: float) -> float:
    rows = [_snap(row, gap) for row in adjusted.to_numpy()]
    taus = [kendalltau(a, b).statistic for a, b in combinations(rows, 2)]
    defined = [t for t in taus if not np.isnan(t)]
    return float(np.mean(defined)) if defined else 0.0


def _snap(values: np.ndarray, gap: float) -> np.ndarray:
    """Order of the values as whole numbers; those closer than `gap` become equal."""
    order = np.argsort(values)
    out = np.empty(len(values))
    out[order] = np.cumsum(np.diff(values[order], prepend=-np.inf) > gap)
    return out


def _interaction(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.sub(cells.mean(axis=0), axis=1).sub(cells.mean(axis=1), axis=0) + cells.to_numpy().mean()


def _sd(table: pd.DataFrame, axis: int) -> pd.Series:
    sd = table.std(axis=axis, ddof=0)
    return sd.where(sd > 1e-9, 1.0)


def per_language(e: pd.DataFrame, tr: pd.DataFrame, _: dict) -> pd.DataFrame:
    return e.sub(e.mean(axis=1), axis=0).div(_sd(e, 1), axis=0)


def judge_only(e: pd.DataFrame, tr: pd.DataFrame, _: dict) -> pd.DataFrame:
    return e - tr.mean(axis=0)


def z_score(e: pd.DataFrame, tr: pd.DataFrame, _: dict) -> pd.DataFrame:
    return (e - tr.mean(axis=0)) / _sd(tr, 0)


def quantile(e: pd.DataFrame, tr: pd.DataFrame, _: dict) -> pd.DataFrame:
    target = np.mean([np.sort(tr[b]) for b in tr.columns], axis=0)
    out = e.copy()
    for judge in e.columns:
        column = e[judge].round(9)
        low, high = rankdata(column, "min").astype(int), rankdata(column, "max").astype(int)
        out[judge] = [target[a - 1 : z].mean() for a, z in zip(low, high, strict=True)]
    return out


def ensemble(e: pd.DataFrame, tr: pd.DataFrame, context: dict) -> pd.DataFrame:
    parts = [f(e, tr, context).round(9).rank(axis=1, pct=True) for f in (judge_only, z_score, quantile)]
    return sum(parts) / 3


def combat(e: pd.DataFrame, tr: pd.DataFrame, context: dict) -> pd.DataFrame:
    rows = context["train"].copy()
    grand = rows["score"].mean()
    effect = rows.groupby("judge")["score"].mean() - grand
    rows["r"] = rows["score"] - grand - rows["judge"].map(effect)
    c = rows.groupby("language")["r"].mean()
    number = rows.groupby("language")["r"].size()
    rows["left"] = rows["r"] - rows["language"].map(c)
    v = rows["left"].var(ddof=0)
    t2 = c.var(ddof=0)
    c_star = c * t2 / (t2 + v / number)
    s = rows.groupby("language")["left"].std(ddof=0) / np.sqrt(v)
    u = s.var(ddof=0)
    s_star = (1 + (s - 1) * u / (u + 1 / number)).clip(lower=1e-6)
    base = grand + effect[e.columns]
    return (e - base).sub(c_star[e.index], axis=0).div(s_star[e.index], axis=0) + base


def dawid_skene(e: pd.DataFrame, tr: pd.DataFrame, context: dict) -> pd.DataFrame:
    table = context["labels"]
    drawn = table.index.get_level_values("task").isin(context["drawn"])
    train = table.to_numpy()[drawn]
    posterior = train.mean(axis=1).clip(1e-3, 1 - 1e-3)
    for _ in range(25):
        prior = np.clip(posterior.mean(), 1e-3, 1 - 1e-3)  # as in the published analysis
        sensitivity = ((posterior @ train + 1) / (posterior.sum() + 2)).clip(1e-4, 1 - 1e-4)
        negative = 1 - posterior
        specificity = ((negative @ (1 - train) + 1) / (negative.sum() + 2)).clip(1e-4, 1 - 1e-4)
        before, posterior = posterior, _posterior(train, prior, sensitivity, specificity)
        if np.abs(posterior - before).max() < 1e-6:
            break
    held = table.to_numpy()[~drawn]
    p = _posterior(held, prior, sensitivity, specificity)[:, None]
    value = pd.Series(100 * (held * p + (1 - held) * (1 - p)).mean(axis=0), table.columns)
    return value.unstack().loc[e.index, e.columns]


def _posterior(labels: np.ndarray, prior: float, sensitivity: np.ndarray, specificity: np.ndarray) -> np.ndarray:
    one = np.log(prior) + (labels * np.log(sensitivity) + (1 - labels) * np.log(1 - sensitivity)).sum(axis=1)
    zero = np.log(1 - prior) + ((1 - labels) * np.log(specificity) + labels * np.log(1 - specificity)).sum(axis=1)
    return 1 / (1 + np.exp(zero - one))


def random_control(e: pd.DataFrame, tr: pd.DataFrame, context: dict) -> pd.DataFrame:
    shuffled = np.take_along_axis(e.to_numpy(), context["order"], axis=1)
    return pd.DataFrame(shuffled, index=e.index, columns=e.columns)


def cbc_weighted(e: pd.DataFrame, tr: pd.DataFrame, _: dict) -> pd.DataFrame:
    variance = tr.var(axis=0, ddof=0)
    weight = 1 / variance.where(variance > 1e-18, 1e-8)
    weight = weight / weight.sum()
    means = tr.mean(axis=0)
    return e - (tr.sub(means, axis=1).sub(tr @ weight, axis=0) + means @ weight)


PLAIN: dict[str, Callable[[pd.DataFrame, pd.DataFrame, dict], pd.DataFrame]] = {
    "raw": lambda e, tr, _: e,
    "per-language norm": per_language,
    "judge-only norm": judge_only,
    "z-score": z_score,
    "quantile norm": quantile,
    "ensemble": ensemble,
    "combat-eb": combat,
    "dawid-skene": dawid_skene,
    "random control": random_control,
    "cbc": lambda e, tr, _: e - _interaction(tr),
    "cbc-weighted": cbc_weighted,
    "oracle": lambda e, tr, _: e - _interaction(e),
}
