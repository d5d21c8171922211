"""Do the judges agree with each other, on the same task, which system did better.

See docs/methods.md, section 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.estimate.covariance import (
    Moments,
    candidate_groups,
    correlations,
    group_table,
    least_without_group,
    off_and_on,
    one_factor,
    shared_errors,
)
from polyjudge.second.estimate.resample import check_level, check_resamples, percentile_limits
from polyjudge.second.panel.arrays import AT_ONCE, Array, mean_there, ratio
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.labels import families as find_families
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding

Verdict = Literal["agree", "do not agree", "cannot tell"]
AGREE: Verdict = "agree"
DISAGREE: Verdict = "do not agree"
WHY = ("", "width", "few tasks", "constant", "one judge", "two judges", "one maker", "group")
"""What stands against a verdict: nothing, an interval that holds both, too few tasks, scores that (nearly) all are one,
or agreement that rests on two judges, on one maker or on one group alone."""
PANEL = "(panel)"
"""The judge of the rows that speak of the mean of all judges."""
LEAST = 0.1
"""Judges agree when the interval of their reliability lies above this, and do not when it lies below."""
SLOPE_MATTERS = 0.15
"""A judge's own slope is a finding when its band lies further than this from 1. On scales with ends a severe judge in a
hard language spreads systems a little less by that alone."""
FEWEST = 8
"""With fewer tasks (clusters) resampling says nothing: the verdict is "cannot tell"."""
MOST = 100
"""Of more languages the consistency of each with all others is not asked: every two would have to be compared."""
FEWEST_VARYING = 10
"""With fewer tasks on which scores vary at all, agreement is not known."""
APART = ("lambda", "covariance", "pooled")
"""Statistics without limits of their own."""


class Signal(Result):
    """Whether judges agree with each other about the systems within a task. Judges that share an error agree too.

    cells : language, judge, reliability, low, high, verdict, others, others_low, others_high. Of a judge: its mean
        correlation with the judges of other makers, and the reliability of one judge among the others. Of "(panel)":
        the reliability of the mean of all judges, with the verdict of the language
    languages : language, verdict, why (what stands against a verdict: `WHY`), and with low and high each: one
        (reliability of one judge), panel (of their mean), across (of one judge, pairs of different makers only),
        outside (the same without the pairs inside the group of makers that agrees most), consistency (correlation of
        the panel's scores with their mean over the other languages, same tasks), leaderboard and within (of one judge,
        about the systems' means, and about what is left within tasks)
    slopes : language, judge, slope (how much a judge spreads the systems in a language, over its mean), low, high
        (pointwise), own (slope over the mean slope of the language: what the other judges do not share; what they share
        may be systems that differ more there), band_low, band_high (of `own`, all cells at once), clear (the band
        excludes 1), material (it lies beyond 1 +- 0.15); only of languages in which the judges, or all but one of
        them, agree, and of judges that agree in some: empty with fewer than two of those languages, or with fewer than
        three judges
    families : judge, family
    groups : judges (names with " + "), members, correlation (of their errors, beyond what all judges share), low, high,
        family (where all have one maker): judges that agree with each other more than with the rest. They see more, or
        they share an error
    """

    cells: pd.DataFrame
    languages: pd.DataFrame
    slopes: pd.DataFrame
    families: pd.DataFrame
    groups: pd.DataFrame
    mean_one: float
    mean_one_low: float
    mean_one_high: float
    mean_panel: float
    mean_panel_low: float
    mean_panel_high: float
    verdict: Verdict
    """Of all languages together."""
    why: str
    """What stands against a verdict, one of `WHY`."""
    by_task: bool
    """There are no systems, so that the object is the task: do judges agree which task scores higher?"""
    level: float
    units: int
    resamples: int
    seed: int

    @property
    def makers(self) -> list[str]:
        """The makers of the judges, each once."""
        return list(dict.fromkeys(self.families["family"]))

    @property
    def odd(self) -> list[tuple[str, str]]:
        """(language, judge) that do not agree with the others, though these agree with each other there."""
        rows = self.cells[(self.cells["verdict"] == DISAGREE) & (self.cells["others_low"] > LEAST)]
        return list(zip(rows["language"], rows["judge"], strict=True))

    @property
    def odd_languages(self) -> list[str]:
        """Languages in which the judges do not agree, and that not by one judge alone."""
        rows = self.languages.loc[self.languages["verdict"] == DISAGREE, "language"]
        return [x for x in rows if x not in {language for language, _ in self.odd}]

    @property
    def strays(self) -> pd.DataFrame:
        """Rows of languages whose scores surely follow those of the other languages less than half as well as is usual:
        their tasks may be others, or the judges judge something else there."""
        if "consistency" not in self.languages or len(self.languages) < 3:
            return self.languages.iloc[:0]
        rows, usual = self.languages, self.languages["consistency"].median()
        if not self.languages["consistency_low"].median() > LEAST:  # no language follows the others
            return rows.iloc[:0]
        return rows[rows["consistency_high"] < usual / 2].sort_values("consistency")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know, as data."""
        out = []
        odd, no_verdict = self.odd_languages, self.languages["verdict"] != AGREE
        values: dict[str, Any] = {
            "languages": odd, "all": len(odd) == len(self.languages), "by_task": self.by_task, "one": self.mean_one,
            "low": self.mean_one_low, "high": self.mean_one_high, "most": float(self.languages["one_high"].max()),
        }  # fmt: skip
        if odd:
            out.append(Finding("signal-disagree", values, "serious"))
        elif no_verdict.all() and not self.odd:
            why = {"why": self.why, "makers": self.makers, "judges": len(self.families)}
            out.append(Finding("signal-unclear", values | why, "notice"))
        elif len(self.makers) == 1:
            out.append(Finding("signal-one-maker", {"maker": self.makers[0]}, "notice"))
        if self.odd:
            out.append(Finding("signal-judge-odd", {"cells": self.odd, "by_task": self.by_task}, "warning"))
        if len(self.strays):
            stray = self.strays.rename(columns=lambda name: name.removeprefix("consistency_"))
            values = {"languages": stray["language"].tolist(), "usual": float(self.languages["consistency"].median())}
            values |= {n: stray.iloc[0][n] for n in ("consistency", "low", "high")}
            out.append(Finding("signal-strays", values, "warning"))
        for _, row in self.groups.iterrows():
            values = {n: row[n] for n in ("correlation", "low", "high", "family")}
            out.append(Finding("signal-group", {"judges": list(row["members"]), **values}, "notice"))
        varies = self.slopes[self.slopes["material"]] if len(self.slopes) else self.slopes
        if len(varies):
            worst = varies.iloc[int((varies["own"] - 1).abs().to_numpy().argmax())]
            named = {k: worst[k] for k in ("language", "judge", "own", "band_low", "band_high")}
            out.append(Finding("signal-slopes", {"count": len(varies), "of": len(self.slopes), **named}, "notice"))
        return tuple(out)


def signal(
    panel: Panel,
    *,
    families: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 7,
) -> Signal:
    """Ask whether the judges agree with each other about the systems, by language and by judge.

    Scores are compared after taking off each judge's mean over the systems of a task, so that neither a hard task nor
    a lenient judge counts as agreement. Without systems the tasks themselves are compared. Tasks (clusters) are
    resampled. Agreement is decided across makers, and must stand without the group of makers that agrees most.

    families : makers of judges by name; found from the names where not given

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=4, systems=5, sees=0.0, seed=1)
    >>> signal(panel).verdict
    'do not agree'
    """
    check_level(level)
    check_resamples(resamples)
    _, k, m = panel.shape
    require_time(2.5 * resamples * k * m * m, f"Whether every two of {m} judges agree in each of {k} languages")
    of = find_families(panel.judges, families)
    asked = _Asked.of(panel, of)
    full = asked.statistics(np.ones((1, asked.units)))
    later = resamples * k * m * m <= AT_ONCE
    blocks = [asked.statistics(times, later) for times in asked.moments.draws(resamples, seed)]
    drawn = {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}
    if "covariance" in drawn:
        drawn["lambda"] = one_factor(drawn.pop("covariance"))
    limits = {name: _limits(full[name][0], x, asked.units, level) for name, x in drawn.items() if name not in APART}
    named = shared_errors(np.concatenate([full["pooled"], drawn["pooled"]]), asked.groups, level)
    found, why = asked.verdicts(limits, [g for g, *_ in named])
    by_language = pd.DataFrame({"language": panel.languages, "verdict": found, "why": why})
    for name in ("one", "panel", "across", "outside", "consistency", "leaderboard", "within"):
        if name in full:
            by_language[name] = full[name][0]
            by_language[f"{name}_low"], by_language[f"{name}_high"] = limits[name]
    over = {name: mean_there(x, 1) for name, x in full.items() if name not in (*APART, "judge")}
    drawn_over = {name: mean_there(drawn[name], 1) for name in over}
    whole = {name: _limits(over[name][0], drawn_over[name], asked.units, level) for name in over}
    means = {
        f"mean_{name}{end}": float(x)
        for name in ("one", "panel")
        for end, x in zip(("", "_low", "_high"), (over[name][0], *whole[name]), strict=True)
    }
    overall, reason = asked.verdicts({n: x[:, None] for n, x in whole.items()}, [g for g, *_ in named])
    return Signal(
        cells=_cells(panel, full, limits, asked.of_judges(limits["judge"]), found),
        languages=by_language,
        slopes=_slopes(panel, full, drawn, _agreeing(limits), level),
        families=pd.DataFrame({"judge": list(of), "family": list(of.values())}),
        groups=group_table(of, asked.groups, named),
        **means,
        verdict=overall[0],
        why=reason[0],
        by_task=panel.system_scores is None,
        level=level,
        units=asked.units,
        resamples=resamples,
        seed=seed,
    )


def _limits(value: Array, draws: Array, units: int, level: float) -> Array:
    """Limits (2, ...) of reliabilities."""
    return np.minimum(percentile_limits(value, draws, units, level), 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Asked:
    """What is asked of the agreement of judges, decided on all tasks before they are resampled."""

    moments: Moments
    languages: Moments | None
    """Of the languages' panel means, where they share tasks."""
    kin: NDArray[np.bool_]
    """(m, m) which two judges are of one maker"""
    groups: NDArray[np.bool_]
    """(c, m) groups of judges that may agree with each other more than with the rest"""
    outside: NDArray[np.bool_]
    """(k, m, m) pairs that count where the makers that agree most in a language are left to themselves"""
    together: NDArray[np.bool_]
    """(m, m) the same over all languages"""
    informing: NDArray[np.int64]
    """(k,) tasks on which two judges or more do not give one score to all"""

    @property
    def units(self) -> int:
        return self.moments.units

    @classmethod
    def of(cls, panel: Panel, families: Mapping[str, str]) -> _Asked:
        moments = Moments.of(panel)
        kin = np.array([[families[a] == families[b] for b in panel.judges] for a in panel.judges])
        r = correlations(moments.covariance(np.ones((1, moments.units))))[0]
        return cls(
            moments=moments,
            languages=Moments.of_languages(panel) if 1 < len(panel.languages) <= MOST and not panel.apart else None,
            kin=kin,
            groups=candidate_groups(r.mean(axis=0)),
            outside=np.stack([least_without_group(x, kin) for x in r]),
            together=least_without_group(r.mean(axis=0), kin),
            informing=_informing(panel),
        )

    def statistics(self, times: Array, later: bool = False) -> dict[str, Array]:
        """Everything that is reported, for each row of `times`: (r, k) by language, (r, k, m) by judge.

        later : what the factor is found in is given instead of the factor, so that it is found for all resamples
            together

        A reliability is NaN where scores have no spread at all.
        """
        v = self.moments.covariance(times)
        m = v.shape[-1]
        r = correlations(v)
        diagonal = np.diagonal(v, axis1=-2, axis2=-1)
        out = {"pooled": r.mean(axis=1)}
        if m == 1:
            none = np.full(v.shape[:2], np.nan)
            return out | {"one": none, "panel": none, "across": none, "outside": none, "judge": none[..., None]}
        off, on = off_and_on(v)
        out |= {"one": _over(off, on), "panel": _over(m * off, on + (m - 1) * off)}
        others = ~self.kin if not self.kin.all(axis=1).any() else ~np.eye(m, dtype=bool)
        out["judge"] = np.where(diagonal > 0, (r * others).sum(axis=-1) / others.sum(axis=-1), np.nan)
        if not self.kin.all():
            out["across"] = _over(v[..., ~self.kin].mean(axis=-1), on)
            for name, pairs in (("outside", self.outside), ("together", self.together)):
                out[name] = _over((v * pairs).sum(axis=(-2, -1)) / pairs.sum(axis=(-2, -1)), on)
        makers = np.unique(self.kin, axis=0)
        for name, members in (("inside", self.groups), ("maker", makers[makers.sum(axis=1) > 1])):
            both = members[:, :, None] & members[:, None, :] & ~np.eye(m, dtype=bool)
            pairs = np.maximum(both.sum(axis=(1, 2)), 1)
            size = np.maximum(members.sum(axis=1), 1)
            flat = v.reshape(*v.shape[:2], m * m)
            out[name] = _over(flat @ both.reshape(len(both), m * m).T / pairs, diagonal @ members.T / size)
            if name == "inside":
                rest = ~both & ~self.kin
                total = flat @ rest.reshape(len(rest), m * m).T / np.maximum(rest.sum(axis=(1, 2)), 1)
                out["beyond"] = _over(total, np.broadcast_to(on[..., None], total.shape))
        if self.moments.systems is not None:
            between = self.moments.of_means(times)
            out["leaderboard"] = ratio(*off_and_on(between))
            out["within"] = ratio(*off_and_on(v - between))
        if self.languages is not None:
            out["consistency"] = _with_the_others(self.languages.covariance(times)[:, 0])
        if m >= 3 and self.units >= FEWEST:  # with fewer no language is said to agree, and slopes are of those
            out |= {"covariance": v} if later else {"lambda": one_factor(v)}
            rest = v.sum(axis=(-2, -1))[..., None] - 2 * v.sum(axis=-1) + diagonal  # without the judge's row and column
            trace = diagonal.sum(axis=-1, keepdims=True) - diagonal
            out["others"] = ratio((rest - trace) / ((m - 1) * (m - 2)), trace / (m - 1))
        return out

    def verdicts(self, limits: dict[str, Array], named: list[int]) -> tuple[list[Verdict], list[str]]:
        """Of each language, or of all together: the verdict, and what stands against one (`WHY`).

        Agreement must stand across makers, outside the group of makers that agrees most, and outside the named groups.
        There is none where it stands nowhere, not even inside a maker, in a named group, or without one judge.
        """
        m, languages = len(self.kin), limits["one"].shape[1]
        informing = self.informing if languages == len(self.informing) else np.array([self.informing.max()])
        out: tuple[list[Verdict], list[str]] = [], []
        for x in range(languages):
            low = {name: limits[name][0][x] for name in limits if name != "judge"}
            parts = ["across", "outside" if "together" not in low or languages == len(self.outside) else "together"]
            across = all(name in low and low[name] > LEAST for name in parts)
            across &= all(low["beyond"][g] > LEAST for g in named)
            inside = any(low["inside"][g] > LEAST for g in named)
            inside |= any(bool((low[name] > LEAST).any()) for name in ("maker", "others") if name in low)
            agree = bool(low["one"] > LEAST) or inside
            if m == 1:
                found: tuple[Verdict, str] = "cannot tell", "one judge"
            elif informing[x] < FEWEST_VARYING:
                found = "cannot tell", "constant"
            elif self.units < FEWEST:
                found = "cannot tell", "few tasks"
            elif limits["one"][1][x] < LEAST and not inside:
                found = DISAGREE, ""
            elif m == 2 or self.kin.all():
                found = "cannot tell", ("two judges" if m == 2 else "one maker") if agree else "width"
            elif across:
                found = AGREE, ""
            else:
                found = "cannot tell", "group" if agree else "width"
            out[0].append(found[0])
            out[1].append(found[1])
        return out

    def of_judges(self, limits: Array) -> NDArray[Any]:
        """(k, m) whether a judge agrees with the others."""
        low, high = limits
        found = np.where(low > LEAST, AGREE, np.where(high < LEAST, DISAGREE, "cannot tell")).astype(object)
        few = (self.informing < FEWEST_VARYING) | (self.units < FEWEST)
        found[few] = "cannot tell"
        return found


def _over(top: Array, bottom: Array) -> Array:
    return ratio(top, bottom, otherwise=np.nan)


def _with_the_others(c: Array) -> Array:
    """Correlation of each language with the mean of the others, from covariances (r, k, k): (r, k)."""
    own = np.diagonal(c, axis1=-2, axis2=-1)
    to_all = c.sum(axis=-1) - own
    rest = c.sum(axis=(-2, -1))[:, None] - 2 * to_all - own
    return _over(to_all, np.sqrt(np.maximum(own * rest, 0.0)))


def _informing(panel: Panel) -> NDArray[np.int64]:
    """(k,) tasks on which two judges or more do not give all systems one score, or without systems their usual one."""
    if panel.system_scores is None:
        usual = np.nanmedian(panel.scores, axis=0) if not np.isnan(panel.scores).all(axis=0).any() else 0.0
        varies = np.abs(panel.scores - usual) > panel.tie_gap
    else:
        there = ~np.isnan(panel.system_scores)
        low = np.where(there, panel.system_scores, np.inf).min(axis=1)
        varies = np.where(there, panel.system_scores, -np.inf).max(axis=1) - low > panel.tie_gap
    out: NDArray[np.int64] = (varies.sum(axis=-1) >= 2).sum(axis=0)
    return out


def _agreeing(limits: dict[str, Array]) -> NDArray[np.bool_]:
    """(k,): languages in which the judges agree, or would without one of them."""
    out: NDArray[np.bool_] = limits["one"][0] > LEAST
    return out | (limits["others"][0] > LEAST).any(axis=-1) if "others" in limits else out


def _cells(
    panel: Panel, full: dict[str, Array], limits: dict[str, Array], of_judge: NDArray[Any], of_language: list[Verdict]
) -> pd.DataFrame:
    _, k, m = panel.shape
    none = np.full((k, m), np.nan)
    others = [full["others"][0], *limits["others"]] if "others" in full else [none] * 3

    def column(judge: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([judge, whole[:, None]], axis=1)

    return long_table(
        {"language": panel.languages, "judge": (*panel.judges, PANEL)},
        reliability=column(full["judge"][0], full["panel"][0]),
        low=column(limits["judge"][0], limits["panel"][0]),
        high=column(limits["judge"][1], limits["panel"][1]),
        verdict=column(of_judge, np.array(of_language, object)),
        others=column(others[0], none[:, 0]),
        others_low=column(others[1], none[:, 0]),
        others_high=column(others[2], none[:, 0]),
    )


def _slopes(
    panel: Panel, full: dict[str, Array], drawn: dict[str, Array], there: NDArray[np.bool_], level: float
) -> pd.DataFrame:
    """lambda of each cell over the judge's mean, in the languages where judges agree; a band over all cells."""
    names = ["language", "judge", "slope", "low", "high", "own", "band_low", "band_high", "clear", "material"]
    if "lambda" not in full or int(there.sum()) < 2:
        return pd.DataFrame(columns=names)
    ends = [(1 - level) / 2, (1 + level) / 2]
    # A judge that agrees nowhere has no usual spread to hold a language's against.
    some: NDArray[np.bool_] = np.quantile(drawn["lambda"][:, there].mean(axis=1), ends[0], axis=0) > 0
    if int(some.sum()) < 2:
        return pd.DataFrame(columns=names)
    judges = [x for x, s in zip(panel.judges, some, strict=True) if s]
    size, sizes = (x[:, there][..., some] for x in (full["lambda"], drawn["lambda"]))
    usual, usual_draws = (x.mean(axis=1, keepdims=True) for x in (size, sizes))
    slope, draws = size / usual, sizes / usual_draws
    low, high = np.quantile(draws, ends, axis=0)
    shared, shared_draws = (x.mean(axis=2, keepdims=True) for x in (slope, draws))
    band_low, band_high = _ratio_band(size[0], (usual * shared)[0], sizes, usual_draws * shared_draws, level)
    languages = [x for x, s in zip(panel.languages, there, strict=True) if s]
    return long_table(
        {"language": languages, "judge": judges},
        slope=slope[0],
        low=low,
        high=high,
        own=(slope / shared)[0],
        band_low=band_low,
        band_high=band_high,
        clear=(band_low > 1) | (band_high < 1),
        material=(band_low > 1 + SLOPE_MATTERS) | (band_high < 1 - SLOPE_MATTERS),
    )


def _ratio_band(top: Array, bottom: Array, tops: Array, bottoms: Array, level: float) -> tuple[Array, Array]:
    """Limits of top / bottom for all cells at once (Fieller): the ratios x whose top - x bottom is not surely off 0.

    A ratio's own spread depends on where it lies, and a band of its standard error is too wide where it is small.
    Without bounds where `bottom` itself may be 0.
    """
    t, b = tops - tops.mean(axis=0), bottoms - bottoms.mean(axis=0)
    middle = np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)
    away = np.abs(t - middle * b)
    away = (away / np.maximum(np.sqrt((away**2).mean(axis=0)), 1e-300)).reshape(len(away), -1)
    square = float(np.quantile(away.max(axis=1), level, method="higher")) ** 2
    a, mixed, c = (
        x * y - square * (u * v).mean(axis=0)
        for x, y, u, v in ((bottom, bottom, b, b), (top, bottom, t, b), (top, top, t, t))
    )
    sure = a > 0
    root = np.sqrt(np.maximum(mixed**2 - a * c, 0.0))
    low, high = (np.where(sure, (mixed + x) / np.where(sure, a, 1.0), y) for x, y in ((-root, -np.inf), (root, np.inf)))
    return low, high
