"""Drift: has the interaction that a saved calibrator removes changed since it was fitted?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.calibrate.history import floor_share
from polyjudge.second.estimate.deviations import Kind, Units, choose, least_absolute, named_cells, offset_maps
from polyjudge.second.estimate.flips import TAIL, Tested, adjusted_p, share_p, sign_flips
from polyjudge.second.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.resample import check_level, mean_and_se
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError
from polyjudge.second.panel.labels import some
from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.drift.drift_systems import (
    LEAST_PAIRED,
    ROUNDING,
    SHARE_SYSTEMS,
    Judged,
    common_tasks,
    judged,
    narrowed,
    paired_systems,
)
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding, Severity, find, ranked

Both = tuple[Array, Array] | None
"""Values before and after."""
DRAWS = 20_000
DRAWN = 1000
"""Of more tasks than this, not their values are drawn but cells with the same covariance."""
BROKE = {"cell": "cell-broke", "cells": "cells-broke", "judge": "judge-changed", "language": "language-changed"}
"""Finding of each kind of change that lies in a few places."""
UNLIKE = 0.5
"""Part of the level that is spent where there are more replicates then than now, or fewer: of skewed scores a task's
difference is then not quite as likely as its negative."""
SHARE_FLOOR, SHARE_EFFECTS = 0.2, 0.3
"""Parts of the error level that the floor shares and the effects of judges and languages get; the interaction has the
rest, so that all together keep to it. Where tasks cannot be paired the effects take no part."""
OF_JUDGES = frozenset({*BROKE.values(), "interaction-changed", "floor-changed"}) | {
    f"{x}-changed" for x in ("judge-offset", "language-shift", "discrimination", "agreement", "level")
}
"""Findings that say that judges changed."""


class Drift(Result):
    """Change of every cell since the calibrator was fitted.

    cells : language, judge, before, after, change, se, low, high (pointwise), band_low, band_high (simultaneous),
        p (adjusted for looking at all cells), changed (the band excludes changes up to `tolerance`)
    floor : language, judge, before, after, change, low, high, p (adjusted), changed: share of scores at the lowest
    p_global : probability of a change as large as the largest one (studentised) when nothing changed
    paired_tasks : tasks that both share and that were compared one by one; 0 when they were compared as two samples
    """

    cells: pd.DataFrame
    floor: pd.DataFrame
    p_global: float
    level: float
    tolerance: float
    paired_tasks: int
    tasks_before: int
    tasks_after: int
    new_languages: tuple[str, ...]
    gone_languages: tuple[str, ...]
    new_judges: tuple[str, ...]
    gone_judges: tuple[str, ...]
    range_before: tuple[float, float]
    range_after: tuple[float, float]
    findings: tuple[Finding, ...]
    seed: int
    kind: Kind
    """What explains the change: see `polyjudge.explain`."""
    broken: pd.DataFrame
    """The cells that explain it: language, judge, change, low, high."""
    effects: pd.DataFrame
    """What the interaction does not show, of paired tasks: effect ("judge-offset", "language-shift", "discrimination":
    how much a judge's score rises with the other judges', over tasks, "agreement": the same over the systems of a task;
    these two need three judges), label, before, after,
    change, low, high, p (adjusted), changed. Empty for calibrators saved before, and for other tasks."""
    runs: int
    """The error level is kept over this many comparisons with the same calibrator."""
    new_systems: tuple[str, ...]
    gone_systems: tuple[str, ...]
    systems: pd.DataFrame
    """Systems that themselves changed: system, language ("(all)": everywhere), change (against the other systems), low,
    high, p (adjusted). The judges are compared without them."""
    compared_systems: tuple[str, ...]
    """Systems on which the judges are compared; empty where there are none."""


def drift(
    cal: ConsensusCalibrator,
    panel: Panel,
    *,
    level: float = 0.95,
    tolerance: float = 0.0,
    seed: int = 7,
    runs: int = 1,
) -> Drift:
    """Compare a calibrator with new scores.

    Tasks that the calibrator remembers and the new scores hold again are compared one by one: what is particular to a
    task cancels, and the global test flips the sign of whole tasks, so that its error level is exact. Otherwise the two
    estimates are compared as independent samples, which is far less sensitive.

    level : chance of no alarm at all (interaction, judges, languages or floor share) when nothing changed
    tolerance : changes up to this many points do not count
    runs : how many such comparisons `level` is kept over: 365 for a nightly job that may alarm falsely in 5% of years
    """
    if runs < 1:
        raise UsageError(f"runs must be at least 1, not {runs}.")
    alarms = round(1 - check_level(level), 12) / runs * (UNLIKE if _replicates(cal, panel) else 1.0)
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"tolerance must be zero or more, not {tolerance}.")
    languages, judges, labels = _shared(cal, panel)
    whole = cal.range_
    systems = judged(cal, panel.select(languages=languages, judges=judges), alarms, seed)
    cal, panel = narrowed(cal, panel, systems)
    if systems.compared:
        alarms *= 1 - SHARE_SYSTEMS
    known = cal.interaction_
    part = np.ix_(known.index.get_indexer(pd.Index(languages)), known.columns.get_indexer(pd.Index(judges)))
    common = panel.select(languages=languages, judges=judges)
    estimate = estimate_interaction(common)
    differences, watched = _paired(cal, common, estimate, part)
    alpha = (1 - SHARE_FLOOR - (0.0 if watched is None else SHARE_EFFECTS)) * alarms
    paired = 0 if differences is None else len(differences[0])
    rounding = ROUNDING * (cal.range_[1] - cal.range_[0])
    if differences is not None:
        before, after, tested = sign_flips(*differences, rounding, alpha, seed)
        n_before = paired
    else:
        before, after, tested, n_before = _two_samples(cal, part, estimate, common.shape[0], alpha, seed)
    cells = _table(common, before, after, tested, max(tolerance, rounding))
    floor = _floor(cal, common, part, SHARE_FLOOR * alarms, bool(paired))
    kind: Kind = "none"
    broken = cells.iloc[:0][["language", "judge", "change"]].assign(low=[], high=[])
    if cells["changed"].any():
        each = _each(after - before, estimate, tested.se) if differences is None else differences[1] - differences[0]
        moved = None if watched is None else watched[1] - watched[0]
        kind, broken = _explained(common, np.where(np.abs(each) > rounding, each, 0.0), moved, alarms, seed)
        broken = broken[broken["change"].abs() > rounding].reset_index(drop=True)
    effects = pd.DataFrame(columns=list(EFFECT_COLUMNS))
    if watched is not None:
        now = watched[1] if kind == "diffuse" else _without(common, watched[1], broken)
        both = paired_systems(cal, common, systems.compared) if len(systems.compared) > 1 else None
        effects = _effects(common, watched[0], now, both, max(tolerance, rounding), SHARE_EFFECTS * alarms, seed)
    least = tested.p_global if min(common.shape[1:]) > 1 or effects.empty else float(effects["p"].min())
    findings = _findings(cells, (kind, broken, effects), floor, least, labels, cal.range_, panel, paired)
    for effect, rows in effects[effects["changed"].astype(bool)].groupby("effect", sort=False):
        findings.append(find("warning", f"{effect}-changed", count=len(rows), **_worst(rows.drop(columns=SAID))))
    findings = _with_systems(systems, [*findings, *_of_runs(cal, common, tested, paired, runs)])
    return Drift(
        cells=cells, floor=floor, p_global=tested.p_global, level=level, tolerance=tolerance,
        paired_tasks=paired, tasks_before=n_before, tasks_after=common.n_tasks, **labels,
        range_before=whole, range_after=panel.range, findings=tuple(findings), seed=seed,
        kind=kind, broken=broken, effects=effects, runs=runs,
        new_systems=systems.new, gone_systems=systems.gone, systems=systems.changed,
        compared_systems=systems.compared,
    )  # fmt: skip


def _each(change: Array, estimate: InteractionEstimate, se: Array) -> Array:
    """As if each task had been compared: their mean is the change, their spread its standard error."""
    stretch = se / np.where(estimate.se > 0, estimate.se, 1.0)
    return change + (estimate.influence - estimate.interaction) * stretch


def _without(panel: Panel, now: Array, broken: pd.DataFrame) -> Array:
    """Cell values without what the broken cells changed: its trace in judge and language is no change of those."""
    out = now.copy()
    for _, row in broken.iterrows():
        out[:, panel.languages.index(row["language"]), panel.judges.index(row["judge"])] -= row["change"]
    return out


def _with_systems(systems: Judged, findings: list[Finding]) -> list[Finding]:
    """All findings. Where other systems were judged it may be they that changed: no alarm about the judges."""
    if any(f.code in OF_JUDGES for f in findings):
        findings = [f for f in findings if f.code != "interaction-stable"]
    if systems.unlike:
        findings = [replace(f, severity="notice") if f.code in OF_JUDGES and f.weight > 1 else f for f in findings]
    return ranked([*systems.findings, *findings])


def _of_runs(cal: ConsensusCalibrator, panel: Panel, tested: Tested, paired: int, runs: int) -> list[Finding]:
    """Where the level of a year cannot be had, or is not sure."""
    out = []
    if np.isinf(tested.band).all():
        out.append(find("notice", "too-few-for-runs", tasks=paired or panel.n_tasks, runs=runs))
    differ = _replicates(cal, panel)
    if runs > 1 and paired and differ:
        out.append(find("notice", "replicates-differ", then=differ[0], now=differ[1]))
    return out


def _replicates(cal: ConsensusCalibrator, panel: Panel) -> tuple[int, int] | None:
    """Replicates at the fit and now where they are not as many."""
    then, now = 0 if cal.memory_ is None else cal.memory_.replicates, max(1, len(panel.replicates))
    return (then, now) if then and then != now else None


def _shared(cal: ConsensusCalibrator, panel: Panel) -> tuple[list[str], list[str], dict[str, tuple[str, ...]]]:
    """Languages and judges that calibrator and scores have both, and those that came or went."""
    common, labels = [], {}
    for name, then, now in (
        ("languages", cal.interaction_.index.tolist(), panel.languages),
        ("judges", cal.interaction_.columns.tolist(), panel.judges),
    ):
        common.append([x for x in then if x in now])
        labels[f"new_{name}"] = tuple(x for x in now if x not in then)
        labels[f"gone_{name}"] = tuple(x for x in then if x not in now)
        if not common[-1]:
            raise PanelError(f"The scores share no {name} with the calibrator, which has {some(then, 5)}.")
    return common[0], common[1], labels


def _explained(panel: Panel, each: Array, moved: Array | None, alarms: float, seed: int) -> tuple[Kind, pd.DataFrame]:
    """Which cells explain the change of every task (n, k, m), and by how much each of them changed, furthest first.

    A judge changed against the other judges, a language against the other languages: by `moved`, the change with what
    judges and languages share, where it is known, else over its own mean.
    """
    units = Units.of(each, each, panel.weights if len(each) == len(panel.weights) else np.ones(len(each)))
    reading = choose(units, max(1 - alarms, 0.5), seed)
    places = np.flatnonzero(named_cells(reading, least_absolute(each.mean(axis=0), units.lad)))
    if reading.kind in ("judge", "language"):
        axis = 2 if reading.kind == "judge" else 1
        size = each.shape[axis]
        own = units.values if moved is None else moved - moved.mean(axis=axis, keepdims=True)
        values = own.reshape(len(own), -1)[:, places] * (size / (size - 1))
    else:
        values = np.tensordot(units.values, offset_maps(places, units.lad**2), ((1, 2), (1, 2)))
    change, se = mean_and_se(values, units.share)
    half = stdtrit(len(units.values) - 1, 1 - alarms / (2 * max(len(places), 1))) * se
    language, judge = np.divmod(places, panel.shape[2])
    frame = pd.DataFrame(
        {
            "language": [panel.languages[i] for i in language],
            "judge": [panel.judges[i] for i in judge],
            **{"change": change, "low": change - half, "high": change + half},
        }
    )
    return reading.kind, frame.sort_values("change", key=np.abs, ascending=False, kind="stable", ignore_index=True)


def _paired(cal: ConsensusCalibrator, panel: Panel, estimate: InteractionEstimate, part: Any) -> tuple[Both, Both]:
    """(n, k, m) values of the common tasks before and after: what they add to the interaction, and to the cells.

    None when too few tasks are remembered; of the cells also for calibrators that do not remember them.
    """
    memory = cal.memory_
    if memory is None or memory.influence is None or not np.all(panel.weights == 1):
        return None, None
    there, here = common_tasks(memory, panel)
    if len(here) < LEAST_PAIRED:
        return None, None
    rows, columns = (at.ravel() for at in part)
    then = memory.influence[there][:, rows][:, :, columns]
    values = double_centre(then), double_centre(estimate.influence[here])
    if memory.cells is None:
        return values, None
    return values, (memory.cells[there][:, rows][:, :, columns], estimate.cell_influence[here])


SAID = ["effect", "changed"]
EFFECT_COLUMNS = ("effect", "label", "before", "after", "change", "low", "high", "p", "changed")


def watched_values(then: Array, now: Array) -> list[Array]:
    """(..., n, m + k [+ m]) values per task then and now: judge offsets, language shifts, and how each judge goes with
    the others; of a single judge its level.

    Products of different judges have no noise of their own in them, so that more replicates make no difference; they
    are scaled by the mean product of the others `then`. Both runs are held against one centre: with a centre of its own
    each task that stayed at the floor would show the same change, and many equal tasks are no evidence.
    """
    m = now.shape[-1]
    old = then.mean(axis=-2) - then.mean(axis=(-3, -2))
    scale = _scale_of_others(old.T @ old / len(old)) if m > 2 else None
    both = np.broadcast_to(then, now.shape), now
    centre = (then.mean(axis=(-3, -2)) + now.mean(axis=(-3, -2)))[..., None, :] / 2
    out = []
    for cells in both:
        grand, judge = cells.mean(axis=(-2, -1))[..., None], cells.mean(axis=-2)
        parts = [judge - grand, cells.mean(axis=-1) - grand]
        if m == 1:  # no other judge to hold it against: its level on the same tasks
            parts.append(grand)
        if scale is not None:
            own = judge - centre
            parts.append(own * (own.sum(axis=-1, keepdims=True) - own) / (m - 1) / scale)
        out.append(np.concatenate(parts, axis=-1))
    return out


def agreement_values(now: Array, then: Array) -> Array:
    """(..., n, m): how each judge goes with the others about a task's systems, scaled by the others' products then."""
    own, old = ((x - x.mean(axis=-3, keepdims=True)).mean(axis=-2) for x in (now, then))  # (..., n, s, m)
    others = (own.sum(axis=-1, keepdims=True) - own) / (own.shape[-1] - 1)
    scale = _scale_of_others(np.einsum("tsj,tsi->ji", old, old) / len(old))
    return (own * others).sum(axis=-2) / scale


def _scale_of_others(products: Array) -> Array:
    """(m,): mean product of every two of the other judges; without bound where they share no spread."""
    m = len(products)
    both = products.sum() - np.trace(products) - 2 * (products.sum(axis=1) - np.diag(products))
    shared = both / ((m - 1) * (m - 2))
    return np.where(shared > 1e-3 * np.trace(products) / m, shared, np.inf)


def _effects(
    panel: Panel, then: Array, now: Array, systems: Both, tolerance: float, alpha: float, seed: int
) -> pd.DataFrame:
    """Changes of judge offsets, language shifts, discrimination and agreement, all tested together by sign flips."""
    k, m = len(panel.languages), len(panel.judges)
    gap = ROUNDING * max(float(np.ptp(then)), np.finfo(float).tiny)
    values = watched_values(then, now)
    names = ["judge-offset"] * m + ["language-shift"] * k
    names += ["level"] if m == 1 else ["discrimination"] * m if m > 2 else []
    if systems is not None and m > 2 and len(systems[0]) == len(then):
        values = [
            np.concatenate([x, agreement_values(y, systems[0])], axis=1) for x, y in zip(values, systems, strict=True)
        ]
        names += ["agreement"] * m
    before, after, tested = sign_flips(values[0], values[1], gap, alpha, seed)
    change, band = after - before, tested.band
    enough = np.where(np.isin(names, ("discrimination", "agreement")), ROUNDING, tolerance)
    labels = [*panel.judges, *panel.languages, *panel.judges, *panel.judges][: len(names)]
    columns = (labels, before, after, change, change - band, change + band)
    return pd.DataFrame(
        dict(zip(EFFECT_COLUMNS, (names, *columns, tested.p_cell, np.abs(change) - band > enough), strict=True))
    )


def _two_samples(
    cal: ConsensusCalibrator, part: Any, estimate: InteractionEstimate, n_after: int, alpha: float, seed: int
) -> tuple[Array, Array, Tested, int]:
    """Other tasks, as independent samples: the interaction then and now, the largest |t| against draws with the cells'
    correlation in the new scores, and the tasks then."""
    if cal.se_ is None:
        raise CalibratorError("This calibrator was saved without standard errors. Fit and save it again.")
    before, n_before = double_centre(cal.interaction_.to_numpy()[part]), int(cal.counts_.to_numpy()[part].min())
    change, se_before = estimate.interaction - before, cal.se_.to_numpy()[part]
    se = np.sqrt(se_before**2 + estimate.se**2)
    ratio = float(np.median(se_before**2 / np.maximum(se**2, np.finfo(float).tiny)))
    df = 1 / (ratio**2 / max(n_before - 1, 1) + (1 - ratio) ** 2 / max(n_after - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.where(se > 0, np.abs(change) / se, np.where(change != 0, np.inf, 0.0))
    centred = (estimate.influence - estimate.interaction).reshape(len(estimate.influence), -1)
    scale = np.sqrt((centred**2).sum(axis=0))
    centred = centred / np.where(scale > 0, scale, 1.0)
    if len(centred) > max(DRAWN, change.size):  # a small matrix with the same cross product
        values, vectors = np.linalg.eigh(centred.T @ centred)
        centred = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    rng = np.random.default_rng([seed, 1])
    null = np.empty(DRAWS)
    for start in range(0, DRAWS, 1000):
        size = min(1000, DRAWS - start)
        z = rng.standard_normal((size, len(centred))) @ centred
        null[start : start + size] = np.abs(z / np.sqrt(rng.chisquare(df, size) / df)[:, None]).max(axis=1)
    p_cell = (1 + (null[:, None] >= observed.ravel()).sum(axis=0)) / (1 + DRAWS)
    if alpha * DRAWS >= TAIL:
        critical = float(np.quantile(null, 1 - alpha, method="higher"))
    else:
        critical = float(stdtrit(df, 1 - alpha / (2 * change.size)))
    tested = Tested(se, df, critical, p_cell.reshape(se.shape), float(p_cell.min()))
    return before, estimate.interaction, tested, n_before


def _table(panel: Panel, before: Array, after: Array, tested: Tested, tolerance: float) -> pd.DataFrame:
    change = after - before
    half = stdtrit(tested.df, 0.975) * tested.se
    band = tested.band
    return panel.long(
        before=before,
        after=after,
        change=change,
        se=tested.se,
        low=change - half,
        high=change + half,
        band_low=change - band,
        band_high=change + band,
        p=tested.p_cell,
        changed=np.abs(change) - band > tolerance,
    )


def _floor(cal: ConsensusCalibrator, panel: Panel, part: Any, alpha: float, paired: bool) -> pd.DataFrame:
    """Shares of scores at the lowest value of the scale, adjusted for the number of cells: task by task, or exactly as
    two samples of tasks (Fisher)."""
    memory = cal.memory_
    if memory is None or memory.floor is None or memory.floor_se is None or not np.all(panel.weights == 1):
        return pd.DataFrame(columns=["language", "judge", *EFFECT_COLUMNS[2:]])
    before, error = memory.floor[part], memory.floor_se[part]
    after, error_after, each = floor_share(panel, cal.range_[0])
    se = np.sqrt(error**2 + error_after**2)
    change = after - before
    if memory.floors is not None and paired and not np.isnan(each).any():
        then, now = common_tasks(memory, panel)
        d = each[now] - memory.floors[then][(slice(None), *part)]
        p = adjusted_p(d.reshape(len(d), -1)).reshape(change.shape)
    else:
        counts = cal.counts_.to_numpy()[part], (~np.isnan(each)).sum(axis=0)
        p = np.minimum(share_p(before, after, *counts) * change.size, 1.0)
    low, high = change - 1.96 * se, change + 1.96 * se
    return panel.long(before=before, after=after, change=change, low=low, high=high, p=p, changed=p <= alpha)


def _findings(
    cells: pd.DataFrame,
    explained: tuple[Kind, pd.DataFrame, pd.DataFrame],
    floor: pd.DataFrame,
    p_global: float,
    labels: dict[str, tuple[str, ...]],
    range_before: tuple[float, float],
    panel: Panel,
    paired: int,
) -> list[Finding]:
    out: list[Finding] = []
    moved = cells[cells["changed"]]
    kind, broken, effects = explained
    # Of two samples there are no effects: nobody knows whether the other judges and languages moved.
    alone = not (effects.empty or effects["changed"].any())
    if kind in BROKE and len(broken):
        # A few faults are mended where they are. Fitting again would spread them over healthy cells.
        code = BROKE[kind]
        values = {name: broken.iloc[0][name] for name in ("language", "judge", "change", "low", "high")}
        named = list(zip(broken["language"], broken["judge"], strict=True))
        out.append(find("serious", code, named=named, cells=len(cells), p=p_global, alone=alone, **values))
    elif len(moved):
        worst = _worst(moved)
        values = {name: worst[name] for name in ("language", "judge", "change")}
        values |= {"low": worst["band_low"], "high": worst["band_high"], "p": p_global}
        out.append(find("serious", "interaction-changed", count=len(moved), cells=len(cells), **values))
    else:
        out.append(find("info", "interaction-stable", p=p_global))
    for key, names in labels.items():
        if names:
            severity: Severity = "warning" if key.startswith("new") else "notice"
            out.append(find(severity, key.replace("_", "-"), names=list(names)))
    low, high = panel.observed_range
    width = range_before[1] - range_before[0]
    beyond = max(range_before[0] - low, high - range_before[1])
    if beyond > 1e-6 * width:
        # The range seen at the fit is passed without a change of scale, the more so with fewer replicates than then.
        before = {"low_before": range_before[0], "high_before": range_before[1]}
        out.append(find("warning" if beyond > 0.5 * width else "info", "range-changed", low=low, high=high, **before))
    elif high - low < 0.5 * width:
        out.append(find("notice", "range-narrowed", low=low, high=high))
    sunk = floor[floor["changed"].astype(bool)] if len(floor) else floor
    if len(sunk):
        out.append(find("warning", "floor-changed", count=len(sunk), **_worst(sunk)))
    if not paired:
        alone = 1 in (cells["language"].nunique(), cells["judge"].nunique())
        out.append(find("notice", "not-paired-alone") if alone else find("info", "not-paired"))
    return ranked(out)


def _worst(cells: pd.DataFrame) -> dict[str, Any]:
    records: list[dict[str, Any]] = cells.to_dict("records")  # type: ignore[assignment]
    return max(records, key=lambda r: abs(r["change"]))
