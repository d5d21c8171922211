"""Languages and judges the calibrator has not seen: with no scored task, and with a few.

See docs/methods.md, section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from polyjudge.second.calibrate.methods import Block, Multiplicity
from polyjudge.second.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.second.estimate.kernels import cross_tau, double_centre, mean_of_pairs, mean_tau, stream
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Panel, _positions
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.compare.held_out import resample
from polyjudge.second.report.result import Result

SHOTS = (0, 3, 5, 10, 20)

ENOUGH = 0.95
"""`enough` is the smallest number of tasks that reaches this share of the gain of all tasks over none."""

IDENTITY = say("unseen.identity")


class Unseen(Result):
    """Agreement of a left-out language (or judge) with the others on left-out tasks.

    `table` has one row per left-out language: language, raw, zero_shot and the 95% interval of each over resamples.
    For judges the first column is judge, and tau compares the judges' orders of the languages.
    """

    what: str
    """"language" or "judge": what is left out"""
    table: pd.DataFrame
    overall: dict[str, float]
    """Means over all of them, with intervals"""
    curve: pd.DataFrame
    """shots (scored tasks of the newcomer), tau, low, high, share (of the gain of all tasks over none); for judges also
    consistency"""
    enough: int | None
    """Smallest number of tasks tried that reaches 95% of the gain of all drawn tasks over none; None without a gain"""
    full: float
    """tau with every drawn task scored in the new language"""
    resamples: int
    skipped: int
    seed: int
    identity: Say
    notes: tuple[Say, ...]


def unseen_language(
    panel: Panel,
    shots: Iterable[int] = SHOTS,
    resamples: int = 1000,
    seed: int = 7,
    *,
    languages: Iterable[str] | None = None,
    draws: Multiplicity | None = None,
) -> Unseen:
    """How well a new language's judge order agrees with the calibrated others, after `shots` tasks scored in it.

    Every language in turn is the new one (or those named). 0 shots is zero-shot: the new language is left as it is.
    `draws` (resamples, n), how often each resample draws each task, takes the place of resamples and seed.

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=30, languages=3, judges=4)
    >>> unseen_language(panel, resamples=64).table.columns[:2].tolist()
    ['language', 'raw']
    """
    return _unseen(panel, "language", shots, resamples, seed, languages, draws)


def unseen_judge(
    panel: Panel,
    shots: Iterable[int] = SHOTS,
    resamples: int = 1000,
    seed: int = 7,
    *,
    judges: Iterable[str] | None = None,
    draws: Multiplicity | None = None,
) -> Unseen:
    """The same for a new judge: languages and judges change roles.

    tau then compares how the new judge and each other judge order the languages. `consistency` in the curve is what
    most users look for: the mean tau over language pairs of the order of all judges, the new one among them.
    """
    return _unseen(exchange(panel), "judge", shots, resamples, seed, judges, draws)


def exchange(panel: Panel) -> Panel:
    return Panel(
        panel.scores.transpose(0, 2, 1),
        panel.tasks,
        panel.judges,
        panel.languages,
        counts=panel.counts.transpose(0, 2, 1),
        weights=panel.weights,
        declared_range=panel.declared_range,
        observed_range=panel.observed_range,
        clusters=panel.clusters,
        cluster=panel.cluster,
    )


def _unseen(
    panel: Panel,
    what: Literal["language", "judge"],
    shots: Iterable[int],
    resamples: int,
    seed: int,
    names: Iterable[str] | None,
    draws: Multiplicity | None,
) -> Unseen:
    asked = _check_shots(shots)
    wanted = [q for q in asked if q <= len(panel.tasks)]
    tried = sorted({*wanted, *_ladder(len(panel.tasks))}) if max(wanted) else wanted
    newcomers = _positions(names, panel.languages, what).tolist()
    fit = estimate_interaction(panel)
    contributions = _contributions(panel, fit)
    squares = contributions**2
    raw, curve = [], []
    for block, _ in resample(panel, resamples, seed, fit.resample, draws, f"leaving one {what} out"):
        rng = stream(*block.key[:2], "shots")
        raw.append(_agreement(block, newcomers, np.zeros((1, *block.train.shape)), False, what)[0])
        rows = np.stack(list(_few_shot_rows(block, contributions, squares, [*tried, None], rng)))
        curve.append(_agreement(block, newcomers, rows, True, what))
    # Axes: number of shots (the last: all drawn tasks), measure (tau, for judges also consistency), resample, newcomer
    before, after = np.concatenate(raw, axis=1), np.concatenate(curve, axis=2)
    tau, zero = after[:, 0], after[tried.index(0), 0]
    labels = [panel.languages[i] for i in newcomers]
    means = tau.mean(axis=(1, 2))
    gain = means[-1] - zero.mean()
    share = (means - zero.mean()) / gain if gain > 0 else np.full(len(means), np.nan)
    shown = []
    for q in wanted:
        i = tried.index(q)
        row = {"shots": q, **_mean_and_interval("tau", tau[i]), "share": share[i]}
        shown.append(row | (_mean_and_interval("consistency", after[i, 1]) if what == "judge" else {}))
    enough = next((q for q, s in zip(tried, share, strict=False) if q > 0 and s >= ENOUGH), None)
    reached = [] if enough is None else [say("unseen.enough", enough=enough, full=float(means[-1]))]
    total = resamples if draws is None else len(draws)
    skipped = total - before.shape[1]
    return Unseen(
        what=what,
        table=pd.DataFrame({what: labels, **_columns("raw", before[0]), **_columns("zero_shot", zero)}),
        overall={**_mean_and_interval("raw", before[0]), **_mean_and_interval("zero_shot", zero)},
        curve=pd.DataFrame(shown).rename(columns={"tau_low": "low", "tau_high": "high"}),
        enough=enough,
        full=float(means[-1]),
        resamples=total,
        skipped=skipped,
        seed=seed,
        identity=IDENTITY,
        notes=(*reached, *_notes(len(panel.tasks), what, asked, total, skipped, float(gain))),
    )


def _notes(n: int, what: str, asked: list[int], total: int, skipped: int, gain: float) -> Iterator[Say]:
    if what == "judge":
        yield say("unseen.judge")
    if skipped:
        yield say("unseen.skipped", skipped=skipped, resamples=total)
    if gain <= 0:
        yield say("unseen.no-gain", what=what)
    beyond = [q for q in asked if q > n]
    if beyond:
        yield say("unseen.beyond", shots=[str(x) for x in beyond], tasks=n)
    different = n * (1 - (1 - 1 / n) ** n)
    if max(q for q in asked if q <= n) > different:
        yield say("unseen.use-all", tasks=round(float(different)))


def _agreement(block: Block, newcomers: list[int], new_rows: Array, calibrated: bool, what: str) -> Array:
    """Mean tau of each newcomer with the others, (Q, 1, R, newcomers); for judges also the consistency, (Q, 2, R, ..).

    `new_rows` (Q, R, k, m) are Q candidates of what is subtracted from the new language. `calibrated` others lose
    their own interaction, fitted without the new one.
    """
    k = block.left_out.shape[-2]
    out = np.empty((len(new_rows), 2 if what == "judge" else 1, len(block.left_out), len(newcomers)))
    for i, h in enumerate(newcomers):
        others = np.delete(np.arange(k), h)
        rows = block.left_out[:, h] - new_rows[:, :, h]  # (Q, R, m)
        rest = block.left_out[:, others]
        if calibrated:
            rest = rest - double_centre(block.train[:, others])
        # All candidates against the others at once: the others' order is worked out only once.
        out[:, 0, :, i] = mean_of_pairs(cross_tau(np.swapaxes(rows, 0, 1), rest, block.gap)).T
        if what == "judge":
            for q, row in enumerate(rows):
                panel = np.concatenate([row[:, None], rest], axis=1)
                out[q, 1, :, i] = mean_tau(np.swapaxes(panel, -1, -2), block.gap)
    return out


def _contributions(panel: Panel, fit: InteractionEstimate) -> Array:
    """d_t(b) of every language: its score minus the mean of the other languages, centred over judges, (n, k m).

    That is k / (k - 1) times the task's double centring, or its influence where scores are missing.
    """
    n, k, m = panel.shape
    return fit.influence.reshape(n, k * m) * (k / (k - 1))


def _few_shot_rows(
    block: Block, contributions: Array, squares: Array, shots: list[int | None], rng: np.random.Generator
) -> Iterator[Array]:
    """Row estimates (R, k, m) from the first q of the drawn tasks in a random order; None takes all of them."""
    size, k, m = block.left_out.shape
    keys = np.where(block.drawn > 0, rng.random(block.drawn.shape), np.inf)
    place = np.empty(keys.shape, dtype=np.int64)
    np.put_along_axis(place, np.argsort(keys, axis=1), np.arange(keys.shape[1])[None, :], axis=1)
    for q in shots:
        if q == 0:
            yield np.zeros((size, k, m))
            continue
        used = (block.drawn > 0) if q is None else (block.drawn > 0) & (place < q)
        mean, variance = _mean_and_variance(used * block.panel.weights, contributions, squares)
        signal = (mean**2).reshape(size, k, m).sum(axis=-1, keepdims=True)
        noise = variance.reshape(size, k, m).sum(axis=-1, keepdims=True)
        keep = np.maximum(0.0, 1 - noise / np.where(signal > 0, signal, np.inf))
        yield keep * mean.reshape(size, k, m)


def _mean_and_variance(weights: Array, values: Array, squares: Array) -> tuple[Array, Array]:
    """Weighted mean of the rows of `values` for each row of weights, and the variance of that mean (0 for one row).

    `squares` are the squares of `values`, made once for all calls.
    """
    total = weights.sum(axis=1, keepdims=True)
    weights_squared = weights**2
    count = (weights > 0).sum(axis=1, keepdims=True)
    sums = weights @ values
    mean = sums / total
    cross = sums if np.array_equal(weights, weights_squared) else weights_squared @ values
    spread = weights_squared.sum(axis=1, keepdims=True)
    scatter = weights_squared @ squares - 2 * mean * cross + mean**2 * spread
    correction = np.where(count > 1, count / np.maximum(count - 1, 1), 0.0)
    return mean, np.maximum(scatter, 0.0) / total**2 * correction


def _mean_and_interval(name: str, values: Array) -> dict[str, float]:
    """Mean over newcomers with its interval over resamples: (R, newcomers) -> three numbers."""
    return {key: float(value[0]) for key, value in _columns(name, values.mean(axis=1, keepdims=True)).items()}


def _columns(name: str, values: Array) -> dict[str, Any]:
    """Mean and interval over resamples: (R, k) -> three columns of k."""
    low, high = np.percentile(values, [2.5, 97.5], axis=0)
    return {name: values.mean(axis=0), f"{name}_low": low, f"{name}_high": high}


def _check_shots(shots: Iterable[int]) -> list[int]:
    wanted = sorted({0, *shots})
    if wanted[0] < 0 or any(int(q) != q for q in wanted):
        raise UsageError(f"shots must be whole numbers of tasks, 0 or more; they are {wanted}.")
    if 1 in wanted:
        raise UsageError(
            "One task says nothing about its own noise, so the estimate cannot be shrunk: use 0, or 2 or more."
        )
    return [int(q) for q in wanted]


def _ladder(tasks: int) -> list[int]:
    """Numbers of tasks to try for `enough`: every one to 12, then in steps of about a fifth."""
    out = [*range(2, min(13, tasks + 1))]
    while out and out[-1] * 6 // 5 <= tasks and len(out) < 60:
        out.append(max(out[-1] + 1, out[-1] * 6 // 5))
    return [q for q in out if q <= tasks]
