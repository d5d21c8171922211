"""Which system wins, by language and over all, with ranks that the data cannot rule out.

See docs/methods.md, section 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.covariance import require_systems
from polyjudge.second.estimate.incomplete import by_cluster
from polyjudge.second.estimate.influence import cluster_codes
from polyjudge.second.estimate.kernels import pair_index, ranks
from polyjudge.second.estimate.pairs import PairOrder, order_pairs
from polyjudge.second.estimate.resample import (
    check_level,
    check_resamples,
    holm,
    in_groups,
    mean_and_se,
    noise_gap,
    selected_p,
)
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.fill import fill_systems
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.labels import families as find_families
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding

MANY, GROUPS = 200, 500
OPPOSITE = {"low": "high", "high": "low", "without_low": "without_high", "without_high": "without_low"}
"""Limits of a difference, and what each is of the difference the other way round."""


class Leaderboard(Result):
    """Systems in order, by language and over all.

    systems : language ("(all)" over all), system, mean, low, high (pointwise), rank, rank_low, rank_high (all systems
        of a language at once, and without any one judge or maker), top_set (may be best), tasks (scored in it)
    differences : every two systems: language, system_i, system_j, difference, low, high, se, sure (simultaneous over
        the pairs; sure also without any one judge or maker), hangs_on (the judge or maker without whom a difference is
        no longer sure that is so by all of them; "" for none), without, without_low, without_high (the difference
        then)
    swaps : pairs that change places: kind (language or judge), system_i, system_j, higher_in, lower_in, gap_higher,
        gap_lower, p (of change in both directions, choice of the two allowed for, Holm over the pairs), clear
    """

    systems: pd.DataFrame
    differences: pd.DataFrame
    swaps: pd.DataFrame
    judges: tuple[str, ...]
    makers: tuple[str, ...]
    """Makers of the judges, each once."""
    contaminated: int
    """Pairs of which a few tasks carry nearly all the spread: with few tasks no interval of theirs can be trusted."""
    missing: int
    """Scores of systems that are missing; means allow for who is missing."""
    level: float
    units: int
    resamples: int
    seed: int

    def top_set(self, language: str = ALL) -> list[str]:
        """Systems that may be best in a language, or over all."""
        rows = self.systems[(self.systems["language"] == language) & self.systems["top_set"]]
        return rows.sort_values("rank", kind="stable")["system"].tolist()

    @property
    def settled(self) -> bool:
        """Whether any two systems can be told apart over all languages."""
        whole = self.differences[self.differences["language"] == ALL]
        return bool(whole["sure"].any())

    @property
    def hang(self) -> Finding | None:
        """The winner by all judges who is none without one of them, and the system that then may be first."""
        d = self.differences[self.differences["language"] == ALL]
        up, sign = d["difference"] > 0, np.sign(d["difference"])
        leads = pd.DataFrame(
            {
                "winner": d["system_i"].where(up, d["system_j"]),
                "rival": d["system_j"].where(up, d["system_i"]),
                "judge": d["hangs_on"],
                **{x: sign * d[x] for x in ("difference", "without")},
                **{x: d[x].where(up, -d[y]) for x, y in OPPOSITE.items()},
            }
        )[d["sure"] | (d["hangs_on"] != "")]
        beaten = leads["winner"].map(leads["winner"].value_counts())
        loose = leads[(beaten == (self.systems["language"] == ALL).sum() - 1) & (leads["judge"] != "")]
        if not len(loose):
            return None
        values = {str(k): v for k, v in loose.iloc[int(loose["without_low"].argmin())].items()}
        values["maker"] = values["judge"] in self.makers and values["judge"] not in self.judges
        return Finding("systems-hang", values, "notice")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know, as data."""
        out = [hang] if (hang := self.hang) is not None else []
        clear = self.swaps[self.swaps["clear"]]
        for kind in ("language", "judge"):
            rows = clear[clear["kind"] == kind]
            if len(rows):
                first = {str(k): v for k, v in rows.iloc[0].items()}
                severity = "warning" if kind == "language" else "notice"
                out.append(Finding(f"systems-swap-{kind}", {"count": len(rows), **first}, severity))  # type: ignore[arg-type]
        if not self.settled:
            out.append(Finding("systems-tied", {"systems": int(self.systems["system"].nunique())}, "notice"))
        return tuple(out)


def leaderboard(
    panel: Panel,
    *,
    families: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 7,
) -> Leaderboard:
    """The systems of a panel in order: means over tasks and judges, by language and over all languages.

    Tasks (clusters) are resampled. Ranks are those that max-t comparisons of every two systems cannot rule out, so that
    the ranks of all systems of a language hold at once, as these judges would rank on other tasks. One system is surely
    above another only if that also stands without any one of the judges, and without any one maker: the taste of a
    single judge or maker ranks nothing.

    families : makers of judges by name; found from the names where not given

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=3, systems=["a", "b"], system_sd=[-9.0, 9.0], seed=1)
    >>> leaderboard(panel).top_set()
    ['b']
    """
    check_level(level)
    check_resamples(resamples)
    scores = require_systems(panel, "A leaderboard")
    options: dict[str, Any] = {"alpha": 1 - level, "resamples": resamples, "seed": seed, "gap": noise_gap(panel)}

    def order(part: _Part) -> PairOrder:
        units = by_cluster(part.values, part.weights, part.cluster)
        # With many comparisons groups of tasks are resampled: as valid, and the time stays bounded.
        many = part.values.shape[1] * part.values.shape[2] ** 2 > MANY
        return order_pairs(*in_groups(*units, most=GROUPS if many else 2000), **options)

    filled = _Filled.of(panel, scores)
    parts = _parts(panel, filled)
    scopes = [order(part) for part in parts]
    without = _without(panel, filled, parts, np.concatenate([x.critical for x in scopes]), families)
    rated = [_rated(part, level) for part in parts]
    absent: NDArray[np.bool_] = np.asarray(np.isnan(scores).all(axis=(0, 3))).T  # (k, s): no score in the language
    out = _scope_tables(panel, scopes, rated, absent, without)
    k, m = scores.shape[2:]
    between = scopes[1:]
    if k > 1 and not panel.apart:  # the same tasks in all languages: compared together
        between = [order(_Part(_per_task(filled.whole, 3), panel.weights, panel.cluster))]
    judges = [order(_by_judge(panel, filled.whole))] if m > 1 else []
    swaps = pd.concat(
        [
            _swaps(panel.systems, panel.languages, between, "language", 1 - level, absent),
            _swaps(panel.systems, panel.judges, judges, "judge", 1 - level, None),
        ],
        ignore_index=True,
    )
    return Leaderboard(
        systems=out[0],
        differences=out[1],
        swaps=swaps.sort_values("p", kind="stable", ignore_index=True),
        judges=panel.judges,
        makers=tuple(dict.fromkeys(find_families(panel.judges, families).values())),
        contaminated=int(scopes[0].contaminated.sum()),
        missing=int(panel.lost.sum() if panel.apart else np.isnan(scores).sum()),
        level=level,
        units=len(np.unique(panel.cluster)),
        resamples=resamples,
        seed=seed,
    )


class _Filled(NamedTuple):
    """Scores with their holes filled: by those of all languages, and of each language by its own alone, so that what is
    said of a language does not depend on the others."""

    whole: Array
    """(n, s, k, m)"""
    own: list[tuple[NDArray[np.int64], Array]]
    """Of each language its tasks, (t,), and their scores, (t, s, m)."""

    @staticmethod
    def of(panel: Panel, scores: Array) -> _Filled:
        own = []
        for x in range(scores.shape[2]):
            rows = np.flatnonzero(~np.isnan(scores[:, :, x]).all(axis=(1, 2)))
            own.append((rows, fill_systems(scores[rows, :, x : x + 1], panel.weights[rows])[:, :, 0]))
        return _Filled(fill_systems(scores, panel.weights), own)

    def by(self, kept: NDArray[np.bool_]) -> _Filled:
        """Of some judges (m,) only."""
        return _Filled(self.whole[..., kept], [(rows, values[..., kept]) for rows, values in self.own])


class _Part(NamedTuple):
    """Values (n, scopes, systems) of tasks, with their weights and clusters."""

    values: Array
    weights: Array
    cluster: NDArray[np.int64]


def _parts(panel: Panel, filled: _Filled) -> list[_Part]:
    """What is compared: over all languages, then in each by its own tasks."""
    w, cluster = panel.weights, panel.cluster
    if panel.apart:
        values, language = own_language(filled.whole)
        mean = mean_there(values, 2)[:, None]
        there = ~np.isnan(mean).any(axis=(1, 2))
        parts = [_Part(*by_stratum(mean[there], w[there], language[there]), cluster_codes(cluster[there]))]
    else:
        parts = [_Part(_per_task(filled.whole, 3).mean(axis=1, keepdims=True), w, cluster)]
    for rows, values in filled.own:
        mean = mean_there(values, 2)[:, None]
        there = ~np.isnan(mean).any(axis=(1, 2))  # without a judge a task may have nobody
        parts.append(_Part(mean[there], w[rows[there]], cluster_codes(cluster[rows[there]])))
    return parts


def _by_judge(panel: Panel, filled: Array) -> _Part:
    """The systems by each judge, over all languages."""
    if not panel.apart:
        return _Part(_per_task(filled, 2), panel.weights, panel.cluster)
    values, language = own_language(filled)
    level = mean_there(values, (1, 2), keepdims=True)
    values = np.where(np.isnan(values), level, values).swapaxes(1, 2)
    return _Part(*by_stratum(values, panel.weights, language), panel.cluster)


def own_language(filled: Array) -> tuple[Array, NDArray[np.int64]]:
    """Of tasks (n, s, k, m) that each have one language: their scores in it, (n, s, m), and which it is, (n,)."""
    language: NDArray[np.int64] = (~np.isnan(filled)).any(axis=(1, 3)).argmax(axis=1)
    return filled[np.arange(len(filled)), :, language], language


def by_stratum(values: Array, weights: Array, stratum: NDArray[np.int64]) -> tuple[Array, Array]:
    """Values and weights whose mean is the mean of the strata's means, and whose spread is that within strata."""
    if not len(values):
        return values, weights
    stratum = cluster_codes(stratum)  # a language may have lost all its tasks
    total = np.bincount(stratum, weights)
    share = weights / total[stratum] * len(weights) / len(total)
    means = np.stack(
        [np.average(values[stratum == x], axis=0, weights=weights[stratum == x]) for x in range(len(total))]
    )
    out: Array = values - means[stratum] + means.mean(axis=0)
    return out, share


def _per_task(filled: Array, over: int) -> Array:
    """(n, scopes, s): mean over judges (axis 3) or languages (axis 2) of what is there."""
    values = mean_there(filled, over)
    if np.isnan(values).any():  # a whole task lacks the scope: the task's level and the scope's mean difference
        task = mean_there(values, (1, 2), keepdims=True)
        away = mean_there(values - task, 0, keepdims=True)
        values = np.where(np.isnan(values), task + np.nan_to_num(away), values)
    return values.swapaxes(1, 2)


def _rated(part: _Part, level: float) -> tuple[Array, Array, Array]:
    """Means (x, s) with pointwise limits."""
    mean, se = mean_and_se(part.values, part.weights, part.cluster)
    half = stdtrit(part.cluster.max(), (1 + level) / 2) * se
    return mean, mean - half, mean + half


def _left_out(judges: tuple[str, ...], families: Mapping[str, str] | None) -> dict[str, NDArray[np.bool_]]:
    """Who is left out in turn, by name: every judge, every maker with several judges; and who is kept then, (m,)."""
    of = find_families(judges, families)
    alone = {j: np.array([x != j for x in judges]) for j in judges} if len(judges) > 1 else {}
    makers = {maker: np.array([of[x] != maker for x in judges]) for maker in dict.fromkeys(of.values())}
    return alone | {maker: kept for maker, kept in makers.items() if 0 < kept.sum() < len(judges) - 1}


def _without(
    panel: Panel, filled: _Filled, parts: list[_Part], critical: Array, families: Mapping[str, str] | None
) -> tuple[list[str], Array, Array]:
    """Whom to leave out, differences of every two systems without them, (x, 1 + k, pairs), (all) first, and their
    half-widths; of a language that nobody else judged, those by all."""
    i, j = pair_index(len(panel.systems))
    left_out = _left_out(panel.judges, families)
    mean, se = np.zeros((2, len(left_out), len(critical), len(i)))
    for x, kept in enumerate(left_out.values()):
        left = [p if len(p.values) else by_all for p, by_all in zip(_parts(panel, filled.by(kept)), parts, strict=True)]
        found = [mean_and_se(p.values[..., i] - p.values[..., j], p.weights, p.cluster) for p in left]
        mean[x], se[x] = (np.concatenate(part) for part in zip(*found, strict=True))
    return list(left_out), mean, _wide(critical, se)


def _wide(critical: Array, se: Array) -> Array:
    """Half-widths (..., scopes, pairs); without limits where there are too few tasks for a critical value (scopes,)."""
    limited = np.isfinite(critical)[:, None]
    return np.where(limited, np.nan_to_num(critical, posinf=0.0)[:, None] * se, np.inf)


def _hangs(
    sure: NDArray[np.bool_], difference: Array, without: tuple[list[str], Array, Array]
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Which differences (1 + k, pairs) stay sure whoever is left out, and of the others on whom they hang."""
    names, mean, half = without
    if not names:
        none = dict.fromkeys(("without", "without_low", "without_high"), np.full(sure.shape, np.nan))
        return sure, {"hangs_on": np.full(sure.shape, "", object), **none}
    lead = np.sign(difference) * mean - half
    worst = lead.argmin(axis=0)[None]
    holds = sure & (np.take_along_axis(lead, worst, axis=0)[0] > 0)
    mean, half = (np.where(sure & ~holds, np.take_along_axis(x, worst, axis=0)[0], np.nan) for x in (mean, half))
    name = np.where(sure & ~holds, np.array(names, object)[worst[0]], "")
    return holds, {"hangs_on": name, "without": mean, "without_low": mean - half, "without_high": mean + half}


def _scope_tables(
    panel: Panel,
    scopes: list[PairOrder],
    rated: list[tuple[Array, Array, Array]],
    absent: NDArray[np.bool_],
    without: tuple[list[str], Array, Array],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of systems and of pairs, (all) first. A system without a score in a language has no row there."""
    names = [ALL, *panel.languages]
    mean, low, high = (np.concatenate(x) for x in zip(*rated, strict=True))
    above = np.concatenate([x.above for x in scopes])
    i, j = pair_index(len(panel.systems))
    difference, se = (np.concatenate(x) for x in zip(*((x.mean, x.se) for x in scopes), strict=True))
    half = _wide(np.concatenate([x.critical for x in scopes]), se)
    holds, hangs = _hangs(above[:, i, j] | above[:, j, i], difference, without)
    above[:, i, j] &= holds
    above[:, j, i] &= holds
    # What a system would get in a language that lacks it is told by its tasks elsewhere, where there are such.
    gone = np.concatenate([absent.any(axis=0, keepdims=True) & panel.apart, absent])
    above = above & ~gone[:, :, None] & ~gone[:, None, :]
    place = np.where(gone, np.nan, ranks(np.where(gone, -1e300, mean), panel.tie_gap))
    best, worst = 1 + above.sum(axis=1), (~gone).sum(axis=1)[:, None] - above.sum(axis=2)
    there = np.asarray((~np.isnan(require_systems(panel, "A leaderboard"))).any(axis=3))  # (n, s, k)
    tasks = np.vstack([panel.weights @ there.any(axis=2), np.einsum("t,tsl->ls", panel.weights, there)])
    systems = long_table(
        {"language": names, "system": panel.systems},
        mean=mean,
        low=low,
        high=high,
        rank=place,
        rank_low=best,
        rank_high=worst,
        top_set=best == 1,
        tasks=np.round(tasks).astype(int),
    )[~gone.ravel()]
    order = systems.assign(at=systems["language"].map({x: i for i, x in enumerate(names)}))
    systems = order.sort_values(["at", "rank"], kind="stable").drop(columns="at").reset_index(drop=True)
    system = np.array(panel.systems, object)
    pairs = long_table(
        {"language": names, "system_i": system[i]},
        system_j=np.broadcast_to(system[j], difference.shape),
        difference=difference,
        low=difference - half,
        high=difference + half,
        se=se,
        sure=above[:, i, j] | above[:, j, i],
        **hangs,
    )[~(gone[:, i] | gone[:, j]).ravel()]
    return systems, pairs.reset_index(drop=True)


def _swaps(
    systems: tuple[str, ...],
    scopes: tuple[str, ...],
    orders: list[PairOrder],
    kind: str,
    alpha: float,
    absent: NDArray[np.bool_] | None,
) -> pd.DataFrame:
    """Pairs that stand one way in one scope and the other way in another."""
    names = ["kind", "system_i", "system_j", "higher_in", "lower_in", "gap_higher", "gap_lower", "p", "clear"]
    if not orders or len(scopes) < 2:
        return pd.DataFrame(columns=names).astype({"p": float, "clear": bool})
    i, j = pair_index(len(systems))
    mean = np.concatenate([x.mean for x in orders])
    if absent is not None:
        mean[absent[:, i] | absent[:, j]] = 0.0
    above, below = (np.stack([getattr(x, side) for x in orders]) for side in ("p_above", "p_below"))
    p = holm(selected_p(above, below))
    up, down = mean.argmax(axis=0), mean.argmin(axis=0)
    pair = np.arange(len(i))
    turns = np.flatnonzero((mean[up, pair] > 0) & (mean[down, pair] < 0))
    label, place = np.array(systems, object), np.array(scopes, object)
    return pd.DataFrame(
        {
            "kind": kind,
            "system_i": label[i[turns]],
            "system_j": label[j[turns]],
            "higher_in": place[up[turns]],
            "lower_in": place[down[turns]],
            "gap_higher": mean[up[turns], turns],
            "gap_lower": mean[down[turns], turns],
            "p": p[turns],
            "clear": p[turns] <= alpha,
        }
    )[names]
