"""Which system wins, by language and over all, with ranks that the data cannot rule out.

See docs/methods.md, section 17.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.estimate.incomplete import by_cluster
from polyjudge.estimate.kernels import double_centre, pair_index, ranks
from polyjudge.estimate.pairs import PairOrder, order_pairs
from polyjudge.estimate.resample import check_level, check_resamples, holm, in_groups, mean_and_se, noise_gap
from polyjudge.panel.arrays import Array, mean_there
from polyjudge.panel.errors import PanelError
from polyjudge.panel.fill import fill_systems
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.report.result import Result
from polyjudge.report.sections import Finding

MANY, GROUPS = 200, 500
ALL = "(all)"
"""The language of the rows over all languages."""
OPPOSITE = {"low": "high", "high": "low", "without_low": "without_high", "without_high": "without_low"}
"""Limits of a difference, and what each is of the difference the other way round."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Leaderboard(Result):
    """Systems in order, by language and over all.

    systems : language ("(all)" over all), system, mean, low, high (pointwise), rank, rank_low, rank_high (all systems
        of a language at once, and without any one judge), top_set (may be best), tasks (scored in it)
    differences : every two systems: language, system_i, system_j, difference, low, high, se, sure (simultaneous over
        the pairs; sure also without any one judge), hangs_on (the judge without whom a difference is no longer sure
        that is so by all of them; "" for none), without, without_low, without_high (the difference without that judge)
    swaps : pairs that change places: kind (language or judge), system_i, system_j, higher_in, lower_in, gap_higher,
        gap_lower, p (of change in both directions, choice of the two allowed for, Holm over the pairs), clear
    """

    systems: pd.DataFrame
    differences: pd.DataFrame
    swaps: pd.DataFrame
    contaminated: int
    """Pairs of which a few tasks carry nearly all the spread: with few tasks no interval of theirs can be trusted."""
    calibrated_change: float
    """Largest change of a mean by consensus calibration, in points."""
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
        loose = leads[(beaten == self.systems["system"].nunique() - 1) & (leads["judge"] != "")]
        if not len(loose):
            return None
        values = {str(k): v for k, v in loose.iloc[int(loose["without_low"].argmin())].items()}
        return Finding("systems-hang", values, "notice")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know, as data."""
        out = [] if self.hang is None else [self.hang]
        clear = self.swaps[self.swaps["clear"]]
        for kind in ("language", "judge"):
            rows = clear[clear["kind"] == kind]
            if len(rows):
                first = {str(k): v for k, v in rows.iloc[0].items()}
                severity = "warning" if kind == "language" else "notice"
                out.append(Finding(f"systems-swap-{kind}", {"count": len(rows), **first}, severity))  # type: ignore[arg-type]
        if not self.settled:
            out.append(Finding("systems-tied", {"systems": int(self.systems["system"].nunique())}, "notice"))
        identity = {"change": self.calibrated_change, "missing": self.missing}
        out.append(Finding("systems-calibration", identity, "info", arithmetic=True))
        return tuple(out)


def leaderboard(panel: Panel, *, level: float = 0.95, resamples: int = 1000, seed: int = 7) -> Leaderboard:
    """The systems of a panel in order: means over tasks and judges, by language and over all languages.

    Tasks (clusters) are resampled. Ranks are those that max-t comparisons of every two systems cannot rule out, so that
    the ranks of all systems of a language hold at once. One system is surely above another only if that also stands
    without any one of the judges: the taste of a single judge ranks nothing.

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=3, systems=["a", "b"], system_sd=[-9.0, 9.0], seed=1)
    >>> leaderboard(panel).top_set()
    ['b']
    """
    check_level(level)
    check_resamples(resamples)
    scores = require_systems(panel, "A leaderboard")
    filled = fill_systems(scores, panel.weights)
    by_language, by_judge = _per_task(filled, 3), _per_task(filled, 2)
    whole = by_language.mean(axis=1, keepdims=True)
    options: dict[str, Any] = {"alpha": 1 - level, "resamples": resamples, "seed": seed, "gap": noise_gap(panel)}

    def order(values: Array) -> PairOrder:
        units = by_cluster(values, panel.weights, panel.cluster)
        # With many comparisons groups of tasks are resampled: as valid, and the time stays bounded.
        many = values.shape[1] * values.shape[2] ** 2 > MANY
        return order_pairs(*in_groups(*units, most=GROUPS if many else 2000), **options)

    scopes = [order(whole), order(by_language)]
    without = _without_each(panel, filled, scopes)
    rated = [_rated(panel, x, level) for x in (whole, by_language)]
    names = [ALL, *panel.languages]
    absent: NDArray[np.bool_] = np.asarray(np.isnan(scores).all(axis=(0, 3))).T  # (k, s): no score in the language
    out = _scope_tables(panel, names, scopes, rated, absent, without)
    judges = order(by_judge) if len(panel.judges) > 1 else None
    swaps = pd.concat(
        [
            _swaps(panel.systems, panel.languages, scopes[1], "language", 1 - level, absent),
            _swaps(panel.systems, panel.judges, judges, "judge", 1 - level, None),
        ],
        ignore_index=True,
    )
    return Leaderboard(
        systems=out[0],
        differences=out[1],
        swaps=swaps.sort_values("p", kind="stable", ignore_index=True),
        contaminated=int(scopes[0].contaminated.sum()),
        calibrated_change=_calibrated_change(panel, filled),
        missing=int(np.isnan(scores).sum()),
        level=level,
        units=len(np.unique(panel.cluster)),
        resamples=resamples,
        seed=seed,
    )


def require_systems(panel: Panel, what: str) -> Array:
    """The scores by system, or an error that says how to name the column."""
    if panel.system_scores is None:
        raise PanelError(
            f"{what} needs systems: two or more things that are judged on the same tasks (a column with one name "
            "in all rows does not count). Name their column: system=... in Python, --system NAME on the command line."
        )
    return panel.system_scores


def _per_task(filled: Array, over: int) -> Array:
    """(n, scopes, s): mean over judges (axis 3) or languages (axis 2) of what is there."""
    values = mean_there(filled, over)
    if np.isnan(values).any():  # a whole task lacks the scope: the task's level and the scope's mean difference
        task = mean_there(values, (1, 2), keepdims=True)
        away = mean_there(values - task, 0, keepdims=True)
        values = np.where(np.isnan(values), task + np.nan_to_num(away), values)
    return values.swapaxes(1, 2)


def _rated(panel: Panel, values: Array, level: float) -> tuple[Array, Array, Array]:
    """Means (x, s) with pointwise limits."""
    mean, se = mean_and_se(values, panel.weights, panel.cluster)
    half = stdtrit(panel.cluster.max(), (1 + level) / 2) * se
    return mean, mean - half, mean + half


def _without_each(panel: Panel, filled: Array, scopes: list[PairOrder]) -> tuple[Array, Array]:
    """Differences of every two systems without each judge, (m, 1 + k, pairs), (all) first, and their half-widths."""
    i, j = pair_index(filled.shape[1])
    critical = np.concatenate([x.critical for x in scopes])
    mean, se = np.zeros((2, filled.shape[3], len(critical), len(i)))
    for judge in range(filled.shape[3]):
        kept = _per_task(np.delete(filled, judge, axis=3), 3)
        for x, values in enumerate((kept.mean(axis=1), *kept.swapaxes(0, 1))):
            mean[judge, x], se[judge, x] = mean_and_se(values[:, i] - values[:, j], panel.weights, panel.cluster)
    return mean, critical[:, None] * se


def _hangs(
    judges: tuple[str, ...], sure: NDArray[np.bool_], difference: Array, without: tuple[Array, Array]
) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
    """Which differences (1 + k, pairs) stay sure without any one judge, and of the others the judge they hang on."""
    mean, half = without
    lead = np.sign(difference) * mean - half
    worst = lead.argmin(axis=0)[None]
    holds = sure & (np.take_along_axis(lead, worst, axis=0)[0] > 0)
    mean, half = (np.where(sure & ~holds, np.take_along_axis(x, worst, axis=0)[0], np.nan) for x in (mean, half))
    name = np.where(sure & ~holds, np.array(judges, object)[worst[0]], "")
    return holds, {"hangs_on": name, "without": mean, "without_low": mean - half, "without_high": mean + half}


def _scope_tables(
    panel: Panel,
    names: list[str],
    scopes: list[PairOrder],
    rated: list[tuple[Array, Array, Array]],
    absent: NDArray[np.bool_],
    without: tuple[Array, Array],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of systems and of pairs, (all) first. A system without a score in a language has no row there."""
    mean, low, high = (np.concatenate(x) for x in zip(*rated, strict=True))
    above = np.concatenate([x.above for x in scopes])
    i, j = pair_index(len(panel.systems))
    difference, se = (np.concatenate(x) for x in zip(*((x.mean, x.se) for x in scopes), strict=True))
    half = np.concatenate([x.critical for x in scopes])[:, None] * se
    holds, hangs = _hangs(panel.judges, above[:, i, j] | above[:, j, i], difference, without)
    above[:, i, j] &= holds
    above[:, j, i] &= holds
    gone = np.concatenate([np.zeros((1, absent.shape[1]), bool), absent])
    above = above & ~gone[:, :, None] & ~gone[:, None, :]
    place = np.where(gone, np.nan, ranks(np.where(gone, -np.inf, mean), panel.tie_gap))
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
    order: PairOrder | None,
    kind: str,
    alpha: float,
    absent: NDArray[np.bool_] | None,
) -> pd.DataFrame:
    """Pairs that stand one way in one scope and the other way in another."""
    names = ["kind", "system_i", "system_j", "higher_in", "lower_in", "gap_higher", "gap_lower", "p", "clear"]
    if order is None or len(scopes) < 2:
        return pd.DataFrame(columns=names).astype({"p": float, "clear": bool})
    i, j = pair_index(len(systems))
    mean = order.mean.copy()
    if absent is not None:
        mean[absent[:, i] | absent[:, j]] = 0.0
    p = holm(np.maximum(order.p_above, order.p_below))
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


def _calibrated_change(panel: Panel, filled: Array) -> float:
    """What taking the interaction off every score changes in the systems' means: nothing, for its rows sum to zero."""
    if np.isnan(filled).any():
        cells = mean_there(filled, (0, 1))
        shift = np.where(np.isnan(filled), np.nan, double_centre(cells))
        moved = float(np.nanmax(np.abs(mean_there(mean_there(shift, 3), 0))))
        return moved if moved > panel.tie_gap else 0.0
    shift = double_centre(np.average(filled, axis=0, weights=panel.weights).mean(axis=0))
    change = float(np.abs(shift.mean(axis=1)).max())
    return change if change > panel.tie_gap else 0.0
