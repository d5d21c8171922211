"""Does what judges say of each other tell what people say of them? By panel, language and judge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from evidence.sets import Evidence
from polyjudge.panel.arrays import Array, mean_there

DRAWS = 200
BLIND = 0.1
"""A judge is blind where it surely correlates less than this with the others, as the audit has it."""
STATISTICS = ("agreement", "across makers", "consistency", "one factor", "peer prediction", "spread")
"""What can be had without labels, by language."""


def correlation(x: Array, y: Array, counts: Array) -> Array:
    """Correlation over items (n, s) for each row of multiplicities of tasks (b, n)."""
    both = ~(np.isnan(x) | np.isnan(y))
    a, b = np.where(both, x, 0.0), np.where(both, y, 0.0)
    n, sa, sb, aa, bb, ab = (counts @ v.sum(axis=1) for v in (both.astype(float), a, b, a * a, b * b, a * b))
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = (ab - sa * sb / n) / np.sqrt((aa - sa**2 / n) * (bb - sb**2 / n))
    return np.where(n > 2, out, np.nan)


def draws(tasks: int, seed: int) -> Array:
    """(1 + b, n) multiplicities of tasks: all of them once, then resamples."""
    counts = np.random.default_rng(seed).multinomial(tasks, np.full(tasks, 1 / tasks), DRAWS).astype(float)
    return np.concatenate([np.ones((1, tasks)), counts])


def interval(values: Array) -> tuple[float, float, float]:
    """The value, and the 2.5% and 97.5% quantiles of its resamples."""
    with np.errstate(invalid="ignore"):
        low, high = np.nanquantile(values[1:], [0.025, 0.975]) if np.isfinite(values[1:]).any() else (np.nan, np.nan)
    return float(values[0]), float(low), float(high)


def by_language(e: Evidence, seed: int = 7) -> pd.DataFrame:
    """A row a language: r of the panel mean with people, with its interval; how people agree among themselves; and the
    statistics that need no labels."""
    counts = draws(len(e.tasks), seed)
    rows = []
    for k, language in enumerate(e.languages):
        panel, people = e.panel_mean[:, :, k], e.people[:, :, k]
        if (~(np.isnan(panel) | np.isnan(people))).sum() < 10:
            continue
        value, low, high = interval(correlation(panel, people, counts))
        row = {"set": e.name, "language": language, "people": value, "low": low, "high": high}
        rows.append(row | {"annotators": _annotators(e, k)} | label_free(e, k))
    return pd.DataFrame(rows)


def label_free(e: Evidence, k: int) -> dict[str, float]:
    """The statistics of `STATISTICS` for a language; NaN where a set cannot give one."""
    one = np.ones((1, len(e.tasks)))
    scores = e.array[:, :, k]
    pairs = list(combinations(range(len(e.judges)), 2))
    maker = [e.makers.get(j, j) for j in e.judges]
    r = {(a, b): float(correlation(scores[..., a], scores[..., b], one)[0]) for a, b in pairs}
    others = _others(e, k)
    with_others = [float(correlation(scores[..., j], others, one)[0]) for j in range(len(e.judges))]
    panel = e.panel_mean[:, :, k]
    return {
        "agreement": _mean(list(r.values())),
        "across makers": _mean([x for (a, b), x in r.items() if maker[a] != maker[b]]),
        "consistency": float(correlation(panel, others, one)[0]),
        "one factor": _one_factor(r, with_others),
        "peer prediction": _mean([_peers(scores[..., a], scores[..., b]) for a, b in pairs]),
        "spread": float(np.nanstd(panel)),
    }


def _mean(values: Sequence[float]) -> float:
    there = [x for x in values if np.isfinite(x)]
    return float(np.mean(there)) if there else np.nan


def _others(e: Evidence, k: int) -> Array:
    """(n, s) mean of the panel over the other languages, where languages share tasks."""
    if not e.alike or len(e.languages) < 2:
        return np.full(e.panel_mean.shape[:2], np.nan)
    return mean_there(np.delete(e.panel_mean, k, axis=2), 2)


def _one_factor(r: dict[tuple[int, int], float], others: list[float]) -> float:
    """Mean squared loading of the judges on what they share with each other and with the other languages: of a judge
    a beside a judge b and the other languages o, r_ab r_ao / r_bo."""
    out = []
    for (a, b), x in r.items():
        for one, two in ((a, b), (b, a)):
            if others[two] and abs(others[two]) > 0.05:
                out.append(float(np.clip(x * others[one] / others[two], 0, 1)))
    return _mean(out)


def _peers(a: Array, b: Array) -> float:
    """How much more often two judges agree on an item than on different ones: both above their medians, or below."""
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < 10:
        return np.nan
    x, y = a[both] > np.median(a[both]), b[both] > np.median(b[both])
    return float((x == y).mean() - (x.mean() * y.mean() + (1 - x.mean()) * (1 - y.mean())))


def _annotators(e: Evidence, k: int) -> float:
    """Mean correlation of two annotators of the language."""
    one = np.ones((1, len(e.tasks)))
    raters = e.raters[:, :, k]
    out = [
        float(correlation(raters[..., a], raters[..., b], one)[0]) for a, b in combinations(range(raters.shape[-1]), 2)
    ]
    return _mean(out)


def over_languages(table: pd.DataFrame, names: Sequence[str] = STATISTICS) -> pd.DataFrame:
    """How each statistic goes with r with people over the languages of a set: r, Fisher's interval, languages."""
    rows = []
    for name in names:
        both = table[[name, "people"]].dropna()
        if len(both) < 5 or both[name].std() < 1e-9:
            continue
        r = float(np.corrcoef(both[name], both["people"])[0, 1])
        half = 1.96 / np.sqrt(len(both) - 3)
        low, high = np.tanh(np.arctanh(np.clip(r, -0.999, 0.999)) + np.array([-half, half]))
        rows.append((name, r, float(low), float(high), len(both)))
    return pd.DataFrame(rows, columns=["statistic", "r", "low", "high", "languages"])


def by_judge(e: Evidence, seed: int = 7) -> pd.DataFrame:
    """A row a language and judge, of sets with three judges or more: r with the others and with people, and what the
    first would have one say of the judge."""
    if len(e.judges) < 3:
        return pd.DataFrame()
    counts = draws(len(e.tasks), seed)
    rows = []
    for k, language in enumerate(e.languages):
        for j, judge in enumerate(e.judges):
            own, rest = e.array[:, :, k, j], mean_there(np.delete(e.array[:, :, k], j, axis=2), 2)
            value, low, high = interval(correlation(own, rest, counts))
            people, worst, best = interval(correlation(own, e.people[:, :, k], counts))
            said = "agrees" if low > BLIND else "does not" if high < BLIND else "cannot tell"
            rows.append((e.name, language, judge, value, low, high, said, people, worst, best))
    names = ["set", "language", "judge", "others", "low", "high", "said", "people", "people_low", "people_high"]
    return pd.DataFrame(rows, columns=names)


def best_judge(e: Evidence, labels: int = 50, seed: int = 7) -> pd.DataFrame:
    """Of sets with three judges or more, a row a language: r with people of people's best judge, of the one that agrees
    most with the others, of one drawn at random, and of the best by so many labels (mean over draws)."""
    if len(e.judges) < 3:
        return pd.DataFrame()
    rng = np.random.default_rng(seed)
    table = by_judge(e, seed)
    rows = []
    for k, language in enumerate(e.languages):
        part = table[table["language"] == language]
        people = part["people"].to_numpy()
        labelled = np.argwhere(~np.isnan(e.people[:, :, k]))
        chosen = []
        for _ in range(50):
            some = labelled[rng.choice(len(labelled), min(labels, len(labelled) // 2), replace=False)]
            at = e.people[some[:, 0], some[:, 1], k]
            r = [np.corrcoef(e.array[some[:, 0], some[:, 1], k, j], at)[0, 1] for j in range(len(e.judges))]
            chosen.append(people[int(np.nanargmax(np.nan_to_num(r, nan=-1)))])
        pick = int(np.nanargmax(part["others"].to_numpy()))
        rows.append((e.name, language, people.max(), people[pick], people.mean(), float(np.mean(chosen)),
                     bool(pick == people.argmax())))  # fmt: skip
    return pd.DataFrame(rows, columns=["set", "language", "best", "agreement picks", "chance", "labels pick", "right"])
