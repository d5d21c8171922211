"""A new language or judge for a fitted calibrator, from a handful of tasks (docs/methods.md, section 8).

The cells already fitted stay as they are. The new row is what is left of the new language's scores once the same
tasks' scores in known languages, calibrated, have explained what they can: on complete tasks, the mean over tasks of
S(t, h, b) - mean over l of S~(t, l, b), centred over judges. Then it is shrunk by its share of noise.
"""

from __future__ import annotations

import copy
import hashlib
import math
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.calibrate.shrinkage import Spread
from polyjudge.second.estimate.designs import RANK_TOLERANCE, Elimination, helmert
from polyjudge.second.estimate.incomplete import entry_weights
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import CalibratorError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import Record
from polyjudge.second.panel.say import Say, say

if TYPE_CHECKING:
    from polyjudge.second.calibrate.consensus import ConsensusCalibrator

Kind = Literal["language", "judge"]


class Newcomer(Record):
    """One new language (or judge): its row of the interaction, how far to trust it, and how many more tasks it needs.

    table : language, judge, interaction (shrunk), plain, se, low, high, tasks
    tasks : tasks that inform it: scored in it and in a known language by the same judges
    shrunk : share of the plain row taken off because it looks like noise
    half_width : root mean square over the row of the interval's half width, in score points
    more_tasks : further tasks to score until the plain row is as exact as `goal` says
    left_tasks : tasks that the known cells were fitted on and this one lacks; beyond them tasks are new to all
    """

    kind: Kind
    label: str
    table: pd.DataFrame
    tasks: int
    shrunk: float
    half_width: float
    more_tasks: int
    goal: Say
    level: float
    left_tasks: int

    @property
    def words(self) -> Say:
        """The result and the advice, in one paragraph."""
        whole = math.sqrt(self.tasks / (self.tasks + self.left_tasks)) * self.half_width
        own = {n: getattr(self, n) for n in ("label", "kind", "tasks", "goal", "half_width", "level", "shrunk")}
        clear = int(((self.table["low"] > 0) | (self.table["high"] < 0)).sum())
        tasks = {"more": self.more_tasks, "left": self.left_tasks, "whole": whole}
        return say("extend.newcomer", **own, clear=clear, cells=len(self.table), **tasks)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.words}"


class Extension(Record):
    """What `extend` added, one entry for each new language and judge."""

    newcomers: tuple[Newcomer, ...]
    notes: tuple[Say, ...]

    def to_frame(self) -> pd.DataFrame:
        """language, judge, interaction, plain, se, low, high, tasks: the new cells."""
        return pd.concat([n.table for n in self.newcomers], ignore_index=True)

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(str(n.words) for n in self.newcomers), *map(str, self.notes)])


def extend(
    calibrator: ConsensusCalibrator, panel: Panel, target: float | None = None, level: float = 0.95
) -> tuple[ConsensusCalibrator, Extension]:
    """A calibrator that also knows the panel's new languages and judges, and what was learnt about them.

    `target` is the half width, in score points, that the recommendation of further tasks aims at; without it, the
    recommendation aims at the accuracy of the cells already fitted.
    """
    check_level(level)
    if target is not None and not panel.tie_gap < target < math.inf:
        raise UsageError(f"target must be a positive number of score points, above {panel.tie_gap:g}, not {target:g}.")
    if calibrator.weights != "uniform":
        raise CalibratorError(
            "A calibrator with judges weighted by their variance cannot be extended. Fit it with weights='uniform': it "
            "leaves the judges of every language in the same order."
        )
    level = panel.level_left(level)
    known = calibrator.interaction_
    languages = [x for x in panel.languages if x not in known.index]
    judges = [x for x in panel.judges if x not in known.columns]
    if not languages and not judges:
        raise CalibratorError(
            "These scores have no language and no judge that the calibrator does not know already. To renew its cells "
            "fit it again on all scores (polyjudge calibrate)."
        )
    new = copy.deepcopy(calibrator)
    new.fingerprint_ = hashlib.sha256(f"{calibrator.fingerprint_} {panel.fingerprint}".encode()).hexdigest()
    new.memory_ = None  # of the tasks behind the old cells only; later comparisons go by standard errors
    # A new judge is measured in all languages, the new ones too, so languages come first.
    newcomers = [_add(new, panel, "language", label, target, level) for label in languages]
    newcomers += [_add(new, panel, "judge", label, target, level) for label in judges]
    notes = [say("extend.unchanged")]
    if panel.looks > 1:
        notes.append(say("read.looks", looks=panel.looks, level=level))
    if judges:
        notes.append(say("extend.mean-moves"))
    for n in newcomers:
        other = "judge" if n.kind == "language" else "language"
        cells = new.interaction_.columns if n.kind == "language" else new.interaction_.index
        lacking = [x for x in cells if x not in set(n.table[other]) and x not in (*languages, *judges)]
        if lacking:
            notes.append(say("extend.lacking", label=n.label, others=lacking))
    new.extension_ = Extension(newcomers=tuple(newcomers), notes=tuple(notes))
    return new, new.extension_


def _add(
    calibrator: ConsensusCalibrator, panel: Panel, kind: Kind, label: str, target: float | None, level: float
) -> Newcomer:
    """Estimate one new row (kind "language") or column ("judge"), and put it into the calibrator."""
    flip = kind == "judge"
    cells = calibrator.interaction_.T if flip else calibrator.interaction_
    mine, others = (panel.judges, panel.languages) if flip else (panel.languages, panel.judges)
    peers = [x for x in mine if x in cells.index]  # known languages scored beside the new one
    across = [x for x in others if x in cells.columns]  # known judges
    _require(kind, label, peers, across)
    rows = [mine.index(x) for x in (*peers, label)]
    columns = [others.index(x) for x in across]
    scores, weights = panel.scores, entry_weights(panel)
    if flip:
        scores, weights = scores.transpose(0, 2, 1), weights.transpose(0, 2, 1)
    scores, weights = scores[:, rows][:, :, columns], weights[:, rows][:, :, columns]
    fitted = cells.loc[peers, across].to_numpy(dtype=np.float64)
    calibrated = np.where(weights > 0, scores, 0.0)
    calibrated[:, :-1] -= np.where(weights[:, :-1] > 0, fitted, 0.0)
    spread, used = _row(calibrated, weights, panel.weights, kind, label, across)
    size = float(spread.centre @ spread.centre)
    off = min(1.0, float(np.trace(spread.covariance)) / size) if size > 0 else 0.0
    kept = spread.kept(off)
    row, plain = spread.cells(kept @ spread.centre), spread.cells(spread.centre)
    variance = spread.cell_error(kept) ** 2
    own = (spread.vectors * (spread.covariance @ spread.vectors)).sum(axis=0)
    if calibrator.se_ is not None and set(peers) != set(cells.index):
        # Part of the known languages stand for all: their own errors come in.
        errors = (calibrator.se_.T if flip else calibrator.se_).loc[peers, across].to_numpy(dtype=np.float64)
        extra = (errors**2).sum(axis=0) / len(peers) ** 2
        variance, own = variance + extra, own + extra
    n = int(used.sum())
    radius = float(stdtrit(n - 1, (1 + level) / 2)) * np.sqrt(variance)
    counts = (weights[:, -1] > 0).T @ panel.weights
    names = {"language": across if flip else label, "judge": label if flip else across}
    size_of = {"interaction": row, "plain": plain, "se": np.sqrt(variance)}
    bounds = {"low": row - radius, "high": row + radius}
    table = pd.DataFrame({**names, **size_of, **bounds, "tasks": counts.round().astype(np.int64)})
    more, goal = _more_tasks(calibrator, n, math.sqrt(float(own.mean())), target, level)
    _write(calibrator, kind, label, table, _effect(calibrator, calibrated, weights, panel.weights, kind, peers))
    half = math.sqrt(float((radius**2).mean()))
    left = max(round(float(np.median(calibrator.counts_.to_numpy()))) - n, 0)
    return Newcomer(
        kind=kind, label=label, table=table, tasks=n, shrunk=off, half_width=half, more_tasks=more, goal=goal,
        level=level, left_tasks=left,
    )  # fmt: skip


def _require(kind: Kind, label: str, peers: list[str], across: list[str]) -> None:
    other = "judge" if kind == "language" else "language"
    if not peers or len(across) < 2:
        lacking = (
            f"no known {kind} is scored on the same tasks"
            if not peers
            else f"fewer than two {other}s that the calibrator knows are in these scores"
        )
        raise CalibratorError(
            f"The {kind} {clean(label)!r} cannot be added: {lacking}. Give scores of a few tasks in it together with "
            f"at least one known {kind}, by at least two known {other}s."
        )


def _row(
    scores: Array, weights: Array, units: Array, kind: Kind, label: str, across: list[str]
) -> tuple[Spread, Array]:
    """The last row of calibrated scores against the others, by least squares within tasks; and the tasks it uses."""
    m = scores.shape[2]
    contrasts = helmert(m)
    vectors = np.zeros((m - 1, *scores.shape[1:]))
    vectors[:, -1] = contrasts
    task = Elimination(weights, "paired")
    normal = np.einsum("tplb,qlb->tpq", task.residual(vectors[None]), vectors)
    used: Array = np.trace(normal, axis1=1, axis2=2) > 1e-9 * max(float(weights.max()), 1.0)
    if used.sum() < 2:
        raise CalibratorError(
            f"The {kind} {clean(label)!r} cannot be added: {int(used.sum())} tasks compare it with a known {kind}, and "
            "at least two are needed to see how far they agree. Score more tasks in both."
        )
    total = normal.sum(axis=0)
    values, directions = np.linalg.eigh(total)
    if values[0] <= RANK_TOLERANCE * values[-1]:
        other = "judges" if kind == "language" else "languages"
        lost = np.abs(contrasts.T @ directions[:, values <= RANK_TOLERANCE * values[-1]]).max(axis=1) > 1e-6
        names = ", ".join(clean(x) for x, bad in zip(across, lost, strict=True) if bad)
        raise CalibratorError(
            f"The {kind} {clean(label)!r} cannot be added: its scores do not compare the {other} {names} with each "
            f"other on tasks that a known {kind} has too. Score some tasks with all of them."
        )
    right = np.einsum("tlb,plb->tp", task.residual(scores[:, None])[:, 0], vectors)
    centre = np.linalg.solve(total, right.sum(axis=0))
    moments = right - normal @ centre
    share = units[used] / units[used].sum()
    deviations = np.linalg.solve(total, moments[used].T).T / share[:, None]
    scaled = deviations * share[:, None]
    n = int(used.sum())
    covariance = n / (n - 1) * scaled.T @ scaled
    return Spread(centre, covariance, np.eye(m - 1), deviations, share, contrasts), used


def _effect(
    calibrator: ConsensusCalibrator, scores: Array, weights: Array, units: Array, kind: Kind, peers: list[str]
) -> float:
    """Language (or judge) effect of the newcomer: its mean distance from the peers, whose own effects are known."""
    effects = calibrator.language_effect_ if kind == "language" else calibrator.judge_effect_
    there = weights > 0
    level = scores[:, :-1] - effects.loc[peers].to_numpy(dtype=np.float64)[:, None]
    count = there[:, :-1].sum(axis=1)
    peer = np.where(there[:, :-1], level, 0.0).sum(axis=1) / np.maximum(count, 1)
    both = there[:, -1] & (count > 0)
    weight = both * units[:, None]
    return float((weight * (scores[:, -1] - peer)).sum() / weight.sum())


def _more_tasks(
    calibrator: ConsensusCalibrator, n: int, error: float, target: float | None, level: float
) -> tuple[int, Say]:
    """How many more tasks bring the root mean square standard error of the plain row down to the goal, and the goal."""
    if target is not None:
        goal = say("extend.goal.target", target=target)
        aim = target / float(stdtrit(max(n - 1, 30), (1 + level) / 2))
    elif calibrator.se_ is not None:
        goal = say("extend.goal.as-well")
        aim = math.sqrt(float((calibrator.se_.to_numpy(dtype=np.float64) ** 2).mean()))
    else:
        goal = say("extend.goal.as-many")
        return max(0, round(float(np.median(calibrator.counts_.to_numpy()))) - n), goal
    return (max(0, math.ceil(n * (error / aim) ** 2 - 1e-9) - n) if aim > 0 else 0), goal


def _write(calibrator: ConsensusCalibrator, kind: Kind, label: str, table: pd.DataFrame, effect: float) -> None:
    """Append the newcomer. Known labels that its scores lack keep a cell of 0: nothing is taken off there."""
    axis = "judge" if kind == "language" else "language"
    column = table.set_index(axis)

    def grown(cells: pd.DataFrame, name: str, empty: float) -> pd.DataFrame:
        out = cells.copy() if kind == "judge" else cells.T.copy()
        out[label] = column[name].reindex(out.index, fill_value=empty)
        return out if kind == "judge" else out.T

    spread = float(np.sqrt((table["interaction"] ** 2).mean()))
    calibrator.interaction_ = grown(calibrator.interaction_, "interaction", 0.0)
    calibrator.counts_ = grown(calibrator.counts_, "tasks", 0).astype(np.int64)
    if calibrator.se_ is not None:
        calibrator.se_ = grown(calibrator.se_, "se", spread)
    if kind == "language":
        calibrator.language_effect_[label] = effect
    else:
        calibrator.judge_effect_[label] = effect
        calibrator.judge_weights_[label] = 0.0
