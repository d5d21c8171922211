"""Does the panel see what it judges: do judges agree, on the same task, which system did better.

See docs/methods.md, section 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.estimate.covariance import Moments, correlations, off_and_on, one_factor
from polyjudge.estimate.families import families as find_families
from polyjudge.estimate.resample import check_level, check_resamples
from polyjudge.panel.arrays import AT_ONCE, Array, ratio
from polyjudge.panel.budget import require_time
from polyjudge.panel.errors import UsageError
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.report.result import Result
from polyjudge.report.sections import Finding

Verdict = Literal["sees", "blind", "cannot tell"]
PANEL = "(panel)"
"""The judge of the rows that speak of the mean of all judges."""
LEAST = 0.1
"""A judge or a language sees when the interval of its reliability lies above this, and is blind when it lies below."""
SLOPE_MATTERS = 0.15
"""A judge's own slope is a finding when its band lies further than this from 1. On scales with ends a severe judge in a
hard language spreads systems a little less by that alone."""
FEWEST = 8
"""With fewer tasks (clusters) resampling says nothing: the verdict is "cannot tell"."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Signal(Result):
    """Whether judges agree about the systems within a task.

    cells : language, judge, reliability, low, high, verdict, others, others_low, others_high. Of a judge: its mean
        correlation with the others, and the reliability of one judge among those others. Of "(panel)": the reliability
        of the mean of all judges, with the verdict of the language
    languages : language, verdict, and with low and high each: one (reliability of one judge), panel (of their mean),
        across (of one judge, pairs of different families only), leaderboard and within (of one judge, about the
        systems' means, and about what is left within tasks)
    slopes : language, judge, slope (how much a judge spreads the systems in a language, over its mean), low, high
        (pointwise), own (slope over the mean slope of the language: what the other judges do not share; what they share
        may be systems that differ more there), band_low, band_high (of `own`, all cells at once), clear (the band
        excludes 1), material (it lies beyond 1 +- 0.15); only of languages in which the judges, or all but one of
        them, see, and of judges that see in some: empty with fewer than two of those languages, or with fewer than
        three judges
    families : judge, family
    """

    cells: pd.DataFrame
    languages: pd.DataFrame
    slopes: pd.DataFrame
    families: pd.DataFrame
    mean_one: float
    mean_one_low: float
    mean_one_high: float
    mean_panel: float
    mean_panel_low: float
    mean_panel_high: float
    verdict: Verdict
    """Of all languages together."""
    by_task: bool
    """There are no systems, so that the object is the task: do judges agree which task scores higher?"""
    least: float
    level: float
    units: int
    resamples: int
    seed: int

    @property
    def blind(self) -> list[tuple[str, str]]:
        """(language, judge) that do not see, though the other judges do there."""
        rows = self.cells[(self.cells["verdict"] == "blind") & (self.cells["others_low"] > self.least)]
        return list(zip(rows["language"], rows["judge"], strict=True))

    @property
    def blind_languages(self) -> list[str]:
        """Languages in which the judges do not see, and that not by one judge alone."""
        blind = self.languages.loc[self.languages["verdict"] == "blind", "language"]
        return [x for x in blind if x not in {language for language, _ in self.blind}]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know, as data."""
        out = []
        blind = self.blind_languages
        values: dict[str, Any] = {
            "languages": blind, "all": len(blind) == len(self.languages), "by_task": self.by_task, "one": self.mean_one,
            "low": self.mean_one_low, "high": self.mean_one_high, "most": float(self.languages["one_high"].max()),
        }  # fmt: skip
        if blind:
            out.append(Finding("signal-blind", values, "serious"))
        elif (self.languages["verdict"] != "sees").all() and not self.blind:
            out.append(Finding("signal-unclear", values, "notice"))
        if self.blind:
            out.append(Finding("signal-judge-blind", {"cells": self.blind, "by_task": self.by_task}, "warning"))
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
    least: float = LEAST,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 7,
) -> Signal:
    """Ask whether the judges see the systems, by language and by judge.

    Scores are compared after taking off each judge's mean over the systems of a task, so that neither a hard task nor
    a lenient judge counts as agreement. Without systems the tasks themselves are compared. Tasks (clusters) are
    resampled.

    Parameters
    ----------
    families : family of judges by name; found from the names where not given
    least : reliability that parts seeing from blind

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=4, systems=5, sees=0.0, seed=1)
    >>> signal(panel).verdict
    'blind'
    """
    check_level(level)
    check_resamples(resamples)
    if not 0 < least < 1:
        raise UsageError(f"least is a reliability between 0 and 1, not {least}.")
    _, k, m = panel.shape
    require_time(2.5 * resamples * k * m * m, f"Whether every two of {m} judges agree in each of {k} languages")
    moments = Moments.of(panel)
    of = find_families(panel.judges, families)
    kin = np.array([[of[a] == of[b] for b in panel.judges] for a in panel.judges])
    full = _statistics(moments, np.ones((1, moments.units)), kin)
    later = resamples * k * m * m <= AT_ONCE
    blocks = [_statistics(moments, times, kin, later) for times in moments.draws(resamples, seed)]
    drawn = {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}
    if "covariance" in drawn:
        drawn["lambda"] = one_factor(drawn.pop("covariance"))
    limits = {name: _limits(full[name][0], x, moments.units, level) for name, x in drawn.items() if name != "lambda"}
    few = moments.units < FEWEST

    def verdicts(name: str) -> NDArray[Any]:
        low, high = limits[name]
        found = np.where(low > least, "sees", np.where(high < least, "blind", "cannot tell"))
        return np.full(found.shape, "cannot tell", object) if few else found.astype(object)

    by_language = pd.DataFrame({"language": panel.languages, "verdict": verdicts("one")})
    for name in ("one", "panel", "across", "leaderboard", "within"):
        if name in full:
            by_language[name] = full[name][0]
            by_language[f"{name}_low"], by_language[f"{name}_high"] = limits[name]
    means: dict[str, float] = {}
    for name in ("one", "panel"):
        low, high = _limits(full[name].mean(), drawn[name].mean(axis=1), moments.units, level)
        mean = float(full[name].mean())
        means |= {f"mean_{name}": mean, f"mean_{name}_low": float(low), f"mean_{name}_high": float(high)}
    overall: Verdict = (
        "sees" if means["mean_one_low"] > least else "blind" if means["mean_one_high"] < least else "cannot tell"
    )
    return Signal(
        cells=_cells(panel, full, limits, verdicts("judge"), verdicts("one")),
        languages=by_language,
        slopes=_slopes(panel, full, drawn, _seeing(limits, least), level),
        families=pd.DataFrame({"judge": list(of), "family": list(of.values())}),
        **means,
        verdict="cannot tell" if few else overall,
        by_task=panel.system_scores is None,
        least=least,
        level=level,
        units=moments.units,
        resamples=resamples,
        seed=seed,
    )


def _limits(value: Array, draws: Array, units: int, level: float) -> Array:
    """Bootstrap limits (2, ...), widened as Student's t widens normal ones: of few tasks percentiles are too narrow."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    wider = stdtrit(max(units - 1, 1), ends[1]) / ndtri(ends[1]) * np.sqrt(units / max(units - 1, 1))
    out: Array = np.minimum(value + wider * (np.quantile(draws, ends, axis=0, method="weibull") - value), 1.0)
    return out


def _statistics(moments: Moments, times: Array, kin: NDArray[np.bool_], later: bool = False) -> dict[str, Array]:
    """Everything that is reported, for each row of `times`: (r, k) by language, (r, k, m) by judge.

    later : what the factor is found in is given instead of the factor, so that it is found for all resamples together

    A reliability is 0 where scores have no spread at all: judges who cannot tell anything apart see nothing.
    """
    v = moments.covariance(times)
    m = v.shape[-1]
    off, on = off_and_on(v)
    out = {"one": ratio(off, on), "panel": ratio(m * off, on + (m - 1) * off)}
    r = correlations(v)
    out["judge"] = (r.sum(axis=-1) - np.diagonal(r, axis1=-2, axis2=-1)) / (m - 1)
    own = kin & ~np.eye(m, dtype=bool)
    if own.any() and not kin.all():
        out["across"] = ratio(v[..., ~kin].mean(axis=-1), on)
    if moments.systems is not None:
        between = moments.of_means(times)
        out["leaderboard"] = ratio(*off_and_on(between))
        out["within"] = ratio(*off_and_on(v - between))
    if m >= 3 and moments.units >= FEWEST:  # with fewer no language is said to be seen, and slopes are of those
        out |= {"covariance": v} if later else {"lambda": one_factor(v)}
        diagonal = np.diagonal(v, axis1=-2, axis2=-1)
        rest = v.sum(axis=(-2, -1))[..., None] - 2 * v.sum(axis=-1) + diagonal  # without the judge's row and column
        trace = diagonal.sum(axis=-1, keepdims=True) - diagonal
        out["others"] = ratio((rest - trace) / ((m - 1) * (m - 2)), trace / (m - 1))
    return out


def _seeing(limits: dict[str, Array], least: float) -> NDArray[np.bool_]:
    """(k,): languages in which the judges see, or would without one of them."""
    out: NDArray[np.bool_] = limits["one"][0] > least
    return out | (limits["others"][0] > least).any(axis=-1) if "others" in limits else out


def _cells(
    panel: Panel, full: dict[str, Array], limits: dict[str, Array], of_judge: NDArray[Any], of_language: NDArray[Any]
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
        verdict=column(of_judge, of_language),
        others=column(others[0], none[:, 0]),
        others_low=column(others[1], none[:, 0]),
        others_high=column(others[2], none[:, 0]),
    )


def _slopes(
    panel: Panel, full: dict[str, Array], drawn: dict[str, Array], sees: NDArray[np.bool_], level: float
) -> pd.DataFrame:
    """lambda of each cell over the judge's mean, in the languages that are seen; a band over all cells."""
    names = ["language", "judge", "slope", "low", "high", "own", "band_low", "band_high", "clear", "material"]
    if "lambda" not in full or int(sees.sum()) < 2:
        return pd.DataFrame(columns=names)
    ends = [(1 - level) / 2, (1 + level) / 2]
    # A judge that sees nowhere has no usual spread to hold a language's against.
    some: NDArray[np.bool_] = np.quantile(drawn["lambda"][:, sees].mean(axis=1), ends[0], axis=0) > 0
    if int(some.sum()) < 2:
        return pd.DataFrame(columns=names)
    judges = [x for x, s in zip(panel.judges, some, strict=True) if s]
    size, sizes = (x[:, sees][..., some] for x in (full["lambda"], drawn["lambda"]))
    usual, usual_draws = (x.mean(axis=1, keepdims=True) for x in (size, sizes))
    slope, draws = size / usual, sizes / usual_draws
    low, high = np.quantile(draws, ends, axis=0)
    shared, shared_draws = (x.mean(axis=2, keepdims=True) for x in (slope, draws))
    band_low, band_high = _ratio_band(size[0], (usual * shared)[0], sizes, usual_draws * shared_draws, level)
    languages = [x for x, s in zip(panel.languages, sees, strict=True) if s]
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
