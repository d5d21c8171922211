"""How far judges are from people by language, and what calibrating, and few labels, do about it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evidence.sets import Evidence
from polyjudge.calibrate.anchored import AnchoredCalibrator
from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.sparse import SparseCalibrator
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.powered import ppi_mean
from polyjudge.panel.arrays import Array, mean_there

COUNTS = (10, 20, 50, 100, 200)
"""Labels a language."""
MARK = 50.0


def _flat(values: Array) -> Array:
    """(n, s, k, ...) -> (items, k, ...)."""
    return values.reshape(-1, *values.shape[2:])


def language_error(e: Evidence) -> Array:
    """(k,): panel mean less people on the labelled items, about its mean over the languages."""
    out = mean_there(_flat(e.panel_mean - e.people), 0)
    return np.asarray(out - out.mean())


def loose_error(e: Evidence) -> Array:
    """(k,): the same from all that was scored, labelled or not."""
    out = mean_there(_flat(e.panel_mean), 0) - mean_there(_flat(e.people), 0)
    return np.asarray(out - out.mean())


def judge_error(e: Evidence) -> Array:
    """(k, m): each judge less people, about its mean over the languages."""
    out = mean_there(_flat(e.array - e.people[..., None]), 0)
    return np.asarray(out - out.mean(axis=0))


def severity(e: Evidence) -> tuple[float, float]:
    """Sd of the annotators of a language about their mean, and how much of the language error that can make."""
    means = mean_there(_flat(e.raters), 0)  # (k, r)
    count = (~np.isnan(means)).sum(axis=1)
    spread = np.array(
        [np.nanvar(row[~np.isnan(row)], ddof=1) if n > 1 else np.nan for row, n in zip(means, count, strict=True)]
    )
    if not np.isfinite(spread).any():
        return np.nan, np.nan
    sd = float(np.sqrt(np.nanmean(spread)))
    return sd, sd / float(np.sqrt(np.median(count[count > 1])))


def sizes(e: Evidence, seed: int = 7) -> dict[str, float | str]:
    """The language error of the panel mean with its interval (tasks resampled), what annotators' severity can make of
    it, the share that all judges have in common, and what CBC and the sparse reading remove of single judges'."""
    error = language_error(e)
    rng = np.random.default_rng(seed)
    each = np.nan_to_num(e.panel_mean - e.people, nan=0.0).sum(axis=1)
    there = (~np.isnan(e.panel_mean - e.people)).sum(axis=1)
    drawn = []
    for _ in range(200):
        at = rng.integers(0, len(each), len(each))
        total = there[at].sum(axis=0)
        if (total > 0).all():
            drawn.append(np.std(each[at].sum(axis=0) / total))
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn else (np.nan, np.nan)
    sd, part = severity(e)
    out: dict[str, float | str] = {
        "set": e.name, "sd": float(error.std()), "low": low, "high": high, "all scores": float(loose_error(e).std()),
        "annotators": sd, "of it": part,
    }  # fmt: skip
    if len(e.judges) > 1 and e.alike:
        single = judge_error(e)
        whole = float((single**2).mean())
        shared = single.mean(axis=1)
        m = len(e.judges)
        common = (m * (shared**2).mean() - whole) / ((m - 1) * whole)  # mean product of two judges' errors
        out |= {"shared": float(common), "cbc removes": 1 - float((shared**2).mean()) / whole}
        for name, cal in (("sparse", SparseCalibrator()), ("shrunken", ConsensusCalibrator(shrinkage="auto"))):
            out[f"{name} removes"] = 1 - float(((single - _moved(e, cal)) ** 2).mean()) / whole
    return out


def _moved(e: Evidence, cal: ConsensusCalibrator) -> Array:
    """(k, m) what a calibrator without labels subtracts, about its mean over the languages (levels are not asked)."""
    cal.fit(e.panel())
    off = cal.correction_.loc[e.languages, e.judges].to_numpy()
    return np.asarray(off - off.mean(axis=0))


def judges_helped(e: Evidence) -> pd.DataFrame:
    """Of each judge, the share of its squared language error that CBC removes: some are taken away from people."""
    if len(e.judges) < 2 or not e.alike:
        return pd.DataFrame()
    single, off = judge_error(e), _moved(e, ConsensusCalibrator())
    gain = 1 - ((single - off) ** 2).mean(axis=0) / (single**2).mean(axis=0)
    return pd.DataFrame({"set": e.name, "judge": e.judges, "removed": gain})


def named_cells(e: Evidence) -> dict[str, float | str] | None:
    """Cells that the sparse reading names: in how many does mending them bring the judge nearer to people?"""
    if len(e.judges) < 3 or not e.alike:
        return None
    single = mean_there(_flat(e.array - e.people[..., None]), 0)
    single = double_centre(single) + language_error(e)[:, None]  # what is of the cell, and what all share
    cal = SparseCalibrator().fit(e.panel())
    off = cal.correction_.loc[e.languages, e.judges].to_numpy()
    named = off != 0
    nearer = np.abs(single - off) < np.abs(single)
    return {"set": e.name, "named": int(named.sum()), "nearer to people": int((named & nearer).sum())}


def labels_remove(e: Evidence, reps: int = 100, seed: int = 7) -> pd.DataFrame:
    """Share of the squared language error of the panel mean that so many labels a language remove, on the other items:
    as they are, shrunk to their mean by each language's own variance, and by one variance of all languages."""
    difference = _flat(e.panel_mean - e.people)
    columns = [column[~np.isnan(column)] for column in difference.T]
    rng = np.random.default_rng(seed)
    rows = []
    for count in COUNTS:
        if min(map(len, columns)) < 2 * count:
            continue
        gains = []
        for _ in range(reps):
            found, spread, rest = np.array([_split(rng, column, count) for column in columns]).T
            base = np.var(rest)
            gains.append(
                [
                    1 - np.var(rest - x) / base
                    for x in (found, shrunk(found, spread), shrunk(found, np.full_like(spread, spread.mean())))
                ]
            )
        middle, error = np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1)
        rows.append((e.name, count, *middle, middle[2] - 1.96 * error[2], middle[2] + 1.96 * error[2]))
    return pd.DataFrame(rows, columns=["set", "labels", "plain", "own variance", "shared variance", "low", "high"])


def anchored_removes(e: Evidence, reps: int = 6, seed: int = 7) -> pd.DataFrame:
    """The same by the calibrator itself, of sets whose languages share tasks: other labelled tasks in each language."""
    if not e.alike or len(e.systems) > 1:
        return pd.DataFrame()
    panel, people, known = e.panel(), e.people[:, 0], ~np.isnan(e.panel_mean[:, 0] - e.people[:, 0])
    difference, rng, rows = e.panel_mean[:, 0] - people, np.random.default_rng(seed), []
    for count in (10, 50, 200):
        gains = []
        for _ in range(reps if known.sum(axis=0).min() >= 2 * count else 0):
            some, rest = [], []
            for k, language in enumerate(e.languages):
                order = rng.permutation(np.flatnonzero(known[:, k]))
                some += [(e.tasks[i], language, people[i, k]) for i in order[:count]]
                rest.append(difference[order[count:], k].mean())
            labels = pd.DataFrame(some, columns=["task", "language", "score"])
            shift = AnchoredCalibrator(map="shift").fit(panel, labels).shift_[e.languages].to_numpy()
            gains.append(1 - np.var(np.array(rest) - shift) / np.var(rest))
        if gains:
            half = 1.96 * float(np.std(gains, ddof=1)) / np.sqrt(reps)
            rows.append((e.name, count, float(np.mean(gains)), np.mean(gains) - half, np.mean(gains) + half))
    return pd.DataFrame(rows, columns=["set", "labels", "anchored removes", "low", "high"])


def _split(rng: np.random.Generator, column: Array, count: int) -> tuple[float, float, float]:
    """Mean and squared error of some, mean of the rest."""
    order = rng.permutation(len(column))
    some = column[order[:count]]
    return float(some.mean()), float(some.var(ddof=1)) / count, float(column[order[count:]].mean())


def shrunk(found: Array, spread: Array) -> Array:
    """Shifts drawn to their mean: w = tau2 / (tau2 + s2), tau2 by moments."""
    tau2 = max(float(found.var(ddof=1) - spread.mean()), 0.0)
    weight = tau2 / np.maximum(tau2 + spread, 1e-12)
    return np.asarray(found.mean() + weight * (found - found.mean()))


def pass_rates(e: Evidence, labels: int = 50, reps: int = 50, seed: int = 7) -> pd.DataFrame:
    """Mean distance by language between the pass rate at the mark and people's, in percentage points: of single judges
    raw and after CBC, of the panel mean raw and shifted by so many labels a language (on the other items)."""
    scores, people = _flat(e.array), _flat(e.people)
    passes = _rate(people)
    rows = []
    if len(e.judges) > 1 and e.alike:
        off = ConsensusCalibrator().fit(e.panel()).interaction_.loc[e.languages, e.judges].to_numpy()
        for name, values in (("single judge", scores), ("single judge, CBC", scores - off)):
            far = np.abs(np.stack([_rate(values[..., j]) for j in range(len(e.judges))], axis=1) - passes[:, None])
            rows.append((e.name, name, 100 * float(far.mean())))
    panel = _flat(e.panel_mean)
    rows.append(
        (e.name, "panel mean", 100 * float(np.abs(_rate(np.where(np.isnan(people), np.nan, panel)) - passes).mean()))
    )
    rng = np.random.default_rng(seed)
    shifted: list[float] = []
    for _ in range(reps):
        distance = []
        for k in range(len(e.languages)):
            here = np.flatnonzero(~np.isnan(panel[:, k]) & ~np.isnan(people[:, k]))
            if len(here) < 2 * labels:
                break
            order = rng.permutation(here)
            some, rest = order[:labels], order[labels:]
            shift = float((panel[some, k] - people[some, k]).mean())
            distance.append(abs(float((panel[rest, k] - shift >= MARK).mean() - (people[rest, k] >= MARK).mean())))
        if len(distance) == len(e.languages):
            shifted.append(float(np.mean(distance)))
    if shifted:
        rows.append((e.name, f"panel mean, {labels} labels", 100 * float(np.mean(shifted))))
    return pd.DataFrame(rows, columns=["set", "scores", "points off"])


def _rate(values: Array) -> Array:
    """(k,) share of what is there at or above the mark."""
    out = mean_there(np.where(np.isnan(values), np.nan, values >= MARK), 0)
    return np.asarray(out)


def ppi_covers(e: Evidence, reps: int = 10, seed: int = 7) -> pd.DataFrame:
    """How often the interval of a language's mean label from few labels and all scores holds the mean of all labels,
    and how wide it is beside that of the labels alone."""
    rng = np.random.default_rng(seed)
    panel, people = _flat(e.panel_mean), _flat(e.people)
    rows = []
    for count in (10, 20, 50):
        held, wide = [], []
        for k in range(len(e.languages)):
            here = np.flatnonzero(~np.isnan(panel[:, k]) & ~np.isnan(people[:, k]))
            if len(here) < 4 * count:
                continue
            true = people[here, k].mean()
            for _ in range(reps):
                order = rng.permutation(here)
                some, rest = order[:count], order[count:]
                found = ppi_mean(people[some, k], panel[some, k], panel[rest, k], ends=(0.0, 100.0))
                held.append(found.low <= true <= found.high)
                alone = people[some, k].std(ddof=1) / np.sqrt(count)
                wide.append((found.high - found.low) / max(2 * 2.0 * alone, 1e-9) if alone > 0 else np.nan)
        if held:
            rows.append((e.name, count, float(np.mean(held)), len(held), float(np.nanmedian(wide))))
    return pd.DataFrame(rows, columns=["set", "labels", "covers", "intervals", "width"])
