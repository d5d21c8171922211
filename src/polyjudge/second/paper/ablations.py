"""How the held-out agreement depends on the number of judges, the number of tasks, and the slice of tasks
(docs/methods.md, section 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.calibrate.methods import Block, Multiplicity, make_block
from polyjudge.second.estimate.bands import gaussian_radius, noise_sigma, score_sigma
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.estimate.kernels import BLOCK, double_centre, mean_tau, stream
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.compare.held_out import GAIN_SCOPE, compare, gain_of, percentiles, resample
from polyjudge.second.report.result import Result

By = Literal["judges", "tasks", "groups"]
MOST_SUBSETS = 1000
"""Judge subsets of one size beyond this number are sampled."""
TASK_SIZES = (10, 20, 30, 40)

JUDGES_IDENTITY = say("ablation.judges-identity")


class Ablation(Result):
    """Held-out agreement (tau of CBC, and of the raw means) and accuracy gain by what was varied.

    `table` begins with judges (and subsets), tasks or group. tau, low and high are the mean and the 95% percentiles
    over all resamples; raw and gain likewise. By judges, sd is over subsets of the subsets' means; by tasks, over
    repeats. By tasks, error is the mean |interaction - interaction of all tasks|, beside the Gaussian bound of that
    size with the noise's sigma (bound) and with the sd of all scores, as published (bound_all_scores).
    """

    by: By
    table: pd.DataFrame
    resamples: int
    seed: int
    identity: Say | None = None
    """What of the table is true by arithmetic; None when nothing is"""
    scope: Say = GAIN_SCOPE
    notes: tuple[Say, ...] = ()


def ablate(
    panel: Panel, by: By = "judges", sizes: Iterable[int] | None = None, resamples: int | None = None, seed: int = 7
) -> Ablation:
    """Vary the judges, the tasks or the slice, and measure each on left-out tasks.

    by : "judges" takes every subset of each size, "tasks" random subsets of each size, "groups" each group of the panel
    sizes : numbers of judges (default 2 to all) or of tasks (default 10, 20, 30, 40 and all)
    resamples : resamplings of each; default 100, for groups 1,000

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=30, languages=3, judges=4)
    >>> ablate(panel, "judges", resamples=20).table["subsets"].tolist()
    [6, 4, 1]
    """
    if by == "judges":
        return ablate_judges(panel, sizes, resamples or 100, seed)
    if by == "tasks":
        return ablate_tasks(panel, sizes, resamples or 100, seed)
    if by == "groups":
        if sizes is not None:
            raise UsageError("sizes go with by='judges' or by='tasks', not with groups.")
        return ablate_groups(panel, resamples or 1000, seed)
    raise UsageError(f"by must be 'judges', 'tasks' or 'groups', not {clean(by)!r}.")


def ablate_judges(
    panel: Panel,
    sizes: Iterable[int] | None = None,
    resamples: int = 100,
    seed: int = 7,
    *,
    draws: Multiplicity | None = None,
) -> Ablation:
    """Every subset of the judges (a sample of 1,000 where there are more), all on the same resamplings of tasks."""
    m = len(panel.judges)
    wanted = _check_sizes(sizes, range(2, m + 1), 2, m, "judges")
    blocks = [block for block, _ in resample(panel, resamples, seed, draws=draws, label="resampling tasks")]
    train, left_out = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("train", "left_out"))
    rows, notes = [], []
    for size in wanted:
        subsets = _subsets(m, size, seed)
        if len(subsets) < comb(m, size):
            notes.append(say("ablation.drawn", drawn=len(subsets), all=comb(m, size), size=size))
        values = [
            _measure(panel, train[:, :, subset], left_out[:, :, subset])
            for subset in track(subsets, len(subsets), f"subsets of {size} judges")
        ]
        raw, tau, gain = np.moveaxis(np.array(values), 1, 0)  # each (subsets, R)
        rows.append({"judges": size, "subsets": len(subsets), "sd": tau.mean(axis=1).std(), **_summary(raw, tau, gain)})
    return Ablation(
        by="judges", table=_ordered(rows), resamples=len(train), seed=seed, identity=JUDGES_IDENTITY, notes=tuple(notes)
    )


def ablate_tasks(
    panel: Panel,
    sizes: Iterable[int] | None = None,
    resamples: int = 100,
    seed: int = 7,
    *,
    draws: Mapping[int, tuple[NDArray[np.bool_], Multiplicity]] | None = None,
) -> Ablation:
    """Random subsets of the tasks, without replacement, each with one bootstrap inside it.

    `draws` gives for each size the subsets (resamples, n) and the multiplicities inside them.
    """
    n, k, m = panel.shape
    wanted = _check_sizes(sizes, [s for s in (*TASK_SIZES, n) if s <= n], 2, n, "tasks")
    fit = estimate_interaction(panel)
    noise, all_scores = noise_sigma(panel, fit.influence), score_sigma(panel)
    mean_weight = float(panel.weights.mean())
    rows, notes = [], []
    for size in track(wanted, len(wanted), "subsets of tasks"):
        inside, drawn = draws[size] if draws is not None else _task_subsets(n, size, resamples, seed)
        parts = [
            make_block(panel, d, (i & (d == 0)).astype(np.int64), fit.resample)[0]
            for i, d in ((inside[s : s + BLOCK], drawn[s : s + BLOCK]) for s in range(0, len(drawn), BLOCK))
        ]
        raw, tau, gain, error = np.concatenate(
            [_measure_block(b, fit.interaction) for b in parts if len(b.train)], axis=1
        )
        if len(tau) < len(drawn):
            notes.append(say("ablation.skipped", skipped=len(drawn) - len(tau), drawn=len(drawn), size=size))
        low, high = percentiles(error)
        radius = [gaussian_radius(s, size * mean_weight, k, m, 0.95) for s in (noise, all_scores)]
        errors = {"error": error.mean(), "error_low": low, "error_high": high}
        bounds = dict(zip(("bound", "bound_all_scores"), radius, strict=True))
        rows.append({"tasks": size, "sd": tau.std(), **_summary(raw, tau, gain), **errors, **bounds})
    notes.append(say("ablation.bounds"))
    return Ablation(by="tasks", table=_ordered(rows), resamples=resamples, seed=seed, notes=tuple(notes))


def ablate_groups(panel: Panel, resamples: int = 1000, seed: int = 7) -> Ablation:
    """Each group of the panel calibrated and evaluated on its own."""
    if panel.grouping is None:
        raise PanelError("This panel has no groups. Name the column that holds them: group=... or --group.")
    rows, notes = [], []
    for label in panel.grouping.labels:
        try:
            part = panel.slice(label)
            result = compare(part, ["raw", "cbc"], resamples, seed)
        except (PanelError, UsageError) as error:
            notes.append(say("ablation.group-fails", group=label, why=str(error)))
            continue
        taus = result.resample_tau
        summary = _summary(taus["raw"].to_numpy(), taus["cbc"].to_numpy(), result.resample_gain["cbc"].to_numpy())
        rows.append({"group": label, "tasks": part.n_tasks, "sd": taus["cbc"].std(ddof=0), **summary})
        notes += [say("ablation.group-note", group=label, note=str(note)) for note in result.notes]
    if not rows:
        raise PanelError("No group can be evaluated on its own. " + " ".join(map(str, notes)))
    return Ablation(by="groups", table=_ordered(rows), resamples=resamples, seed=seed, notes=tuple(notes))


def _measure(panel: Panel, train: Array, left_out: Array) -> tuple[Array, Array, Array]:
    """tau of raw and of CBC, and the gain, of every resample."""
    removed, own = double_centre(train), double_centre(left_out)
    gain: Array = (removed * (2 * own - removed)).mean(axis=(-2, -1))
    return mean_tau(left_out, panel.tie_gap), mean_tau(left_out - removed, panel.tie_gap), gain


def _measure_block(block: Block, whole: Array) -> Array:
    """raw tau, CBC tau, gain, and mean |interaction - whole|, (4, R)."""
    taus = [mean_tau(block.left_out - removed, block.gap) for removed in (0.0, block.interaction)]
    error = np.abs(block.interaction - whole).mean(axis=(-2, -1))
    return np.stack([*taus, gain_of(block.interaction, block), error])


def _summary(raw: Array, tau: Array, gain: Array) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, values in (("raw", raw), ("tau", tau), ("gain", gain)):
        low, high = percentiles(values)
        prefix = "" if name == "tau" else f"{name}_"
        out |= {name: float(values.mean()), f"{prefix}low": low, f"{prefix}high": high}
    return out


def _ordered(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """What was varied first, then tau, sd and interval, raw, gain, and what else there is."""
    frame = pd.DataFrame(rows)
    front = [c for c in ("judges", "subsets", "group", "tasks", "tau", "sd", "low", "high") if c in frame]
    return frame[[*front, *[c for c in frame if c not in front]]]


def _subsets(m: int, size: int, seed: int) -> list[list[int]]:
    """All subsets, or `MOST_SUBSETS` different random ones."""
    if comb(m, size) <= MOST_SUBSETS:
        return [list(s) for s in combinations(range(m), size)]
    rng = stream(seed, size, "judge subsets")
    found: dict[tuple[int, ...], None] = {}
    while len(found) < MOST_SUBSETS:
        keys = rng.random((MOST_SUBSETS, m))
        found |= {tuple(sorted(row)): None for row in np.argsort(keys, axis=1)[:, :size].tolist()}
    return [list(s) for s in islice(found, MOST_SUBSETS)]


def _task_subsets(n: int, size: int, resamples: int, seed: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    rng = stream(seed, size, "task subsets")
    order = np.argsort(rng.random((resamples, n)), axis=1)[:, :size]
    inside = np.zeros((resamples, n), bool)
    np.put_along_axis(inside, order, True, axis=1)
    picked = np.take_along_axis(order, rng.integers(size, size=(resamples, size)), axis=1)
    picked += np.arange(resamples)[:, None] * n
    return inside, np.bincount(picked.ravel(), minlength=resamples * n).reshape(resamples, n)


def _check_sizes(sizes: Iterable[int] | None, usual: Iterable[int], least: int, most: int, what: str) -> list[int]:
    wanted = sorted({int(s) for s in (usual if sizes is None else sizes)})
    if not wanted or wanted[0] < least or wanted[-1] > most:
        raise UsageError(f"Sizes must be from {least} to {most} {what}; they are {wanted}.")
    return wanted
