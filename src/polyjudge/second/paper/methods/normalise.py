"""Normalisations of cell values by language or by judge, and the control that shuffles them. None targets the
interaction; they show what changing scales does to the judges' order."""

from __future__ import annotations

import numpy as np

from polyjudge.second.calibrate.methods import Block, Map, method
from polyjudge.second.estimate.kernels import ranks, tie_runs
from polyjudge.second.panel.arrays import TIE_TOLERANCE, Array


@method("per-language norm", identity="as-raw", scale=1.0)
def per_language(block: Block) -> Array:
    """Each language to mean 0 and sd 1 over its judges."""
    cells = block.left_out
    sd = cells.std(axis=-1, keepdims=True)
    return (cells - cells.mean(axis=-1, keepdims=True)) / np.where(sd <= block.gap, 1.0, sd)


def _offsets(scores: Array) -> Array:
    """What each task says of the judges' offsets: (n, k, m) -> (n, 1, m)."""
    mean: Array = scores.mean(axis=1, keepdims=True)
    return mean - mean.mean(axis=2, keepdims=True)


@method("judge-only norm", subtracts=True, part=_offsets)
def judge_only(block: Block) -> Array:
    """Each judge's mean over languages in the drawn tasks."""
    return np.broadcast_to(block.train.mean(axis=-2, keepdims=True), block.train.shape)


@method("z-score", scale=1.0)
def z_score(block: Block) -> Map:
    """Each judge to mean 0 and sd 1 over languages, both from the drawn tasks."""
    sd = block.train.std(axis=-2, keepdims=True)
    mean, sd = block.train.mean(axis=-2, keepdims=True), np.where(sd <= block.gap, 1.0, sd)
    shape = block.train.shape
    return Map(shift=np.broadcast_to(mean, shape), scale=np.broadcast_to(sd, shape))


@method("quantile norm")
def quantile(block: Block) -> Array:
    """Each judge's values over languages take the panel's mean profile by their rank; ties share its mean.

    The profile is the mean over judges of the sorted columns of the drawn tasks.
    """
    target = np.sort(block.train, axis=-2).mean(axis=-1)  # (R, k)
    columns = np.swapaxes(block.left_out, -1, -2)  # (R, m, k)
    order = np.argsort(columns, axis=-1, kind="stable")
    first, last = tie_runs(np.take_along_axis(columns, order, axis=-1), block.gap)
    total = np.concatenate([np.zeros((len(target), 1)), np.cumsum(target, axis=-1)], axis=-1)[:, None, :]
    total = np.broadcast_to(total, (*columns.shape[:-1], total.shape[-1]))
    run = np.take_along_axis(total, last + 1, axis=-1) - np.take_along_axis(total, first, axis=-1)
    out = np.empty(columns.shape)
    np.put_along_axis(out, order, run / (last + 1 - first), axis=-1)
    return np.swapaxes(out, -1, -2)


@method("ensemble", scale=1.0)
def ensemble(block: Block) -> Array:
    """Mean of the within-language percentile ranks of judge-only norm, z-score and quantile norm."""
    parts = zip(ensemble_parts(block), (block.gap, TIE_TOLERANCE, block.gap), strict=True)
    # Rank 1 is the smallest of the sign-changed values: percentiles rise with the value.
    return sum(ranks(-values, gap) for values, gap in parts) / (3 * block.left_out.shape[-1])


def ensemble_parts(block: Block) -> tuple[Array, Array, Array]:
    means, by, profile = judge_only(block), z_score(block), quantile(block)
    assert not isinstance(means, Map)
    assert isinstance(by, Map)
    assert not isinstance(profile, Map)
    return block.left_out - means, (block.left_out - by.shift) / by.scale, profile


@method("random control", compares_only="it shuffles the judges")
def random_control(block: Block) -> Array:
    """Each language's values shuffled over its judges."""
    return block.rng.permuted(block.left_out, axis=-1)


@method("combat-eb", complete=True)
def combat(block: Block) -> Map:
    """Remove each language's shrunken location and scale of the residuals after grand mean and judge effect.

    Every sum over training rows follows from the cells' means and variances, so no row is touched per resample.
    """
    train = block.train
    total = block.drawn.sum(axis=1)[:, None]  # (R, 1) tasks drawn
    grand = train.mean(axis=(-2, -1), keepdims=True)
    fixed = grand + (train.mean(axis=-2, keepdims=True) - grand)  # G + a(b)
    shift = (train - fixed).mean(axis=-1)  # c(l), (R, k)
    rows = total * train.shape[-1]  # N(l)
    # Sum of squares of r - c(l) in a cell: its own variance plus the square of its mean, the interaction.
    square = _cell_variances(block) + (train - fixed - shift[..., None]) ** 2
    spread = square.mean(axis=-1)  # variance of r - c(l) in each language, (R, k)
    pooled = spread.mean(axis=-1, keepdims=True)  # V
    between = shift.var(axis=-1, keepdims=True)  # T2
    location = shift * _shrink(between, pooled / rows)
    scale = np.sqrt(np.where(pooled > 0, spread / np.where(pooled > 0, pooled, 1.0), 1.0))  # s(l)
    scale = np.maximum(1e-6, 1 + (scale - 1) * _shrink(scale.var(axis=-1, keepdims=True), 1 / rows))
    scale = np.broadcast_to(scale[..., None], train.shape)
    return Map(shift=location[..., None] + fixed * (1 - scale), scale=scale)


def _cell_variances(block: Block) -> Array:
    """Population variance of the training scores in every cell, (R, k, m)."""
    # Scores are centred on the cell means of the whole panel first, so that squares do not cancel.
    n, k, m = block.panel.shape
    centred = (block.panel.scores - block.panel.cell_means).reshape(n, k * m)
    share = block.drawn / block.drawn.sum(axis=1, keepdims=True)
    out: Array = np.maximum(share @ centred**2 - (share @ centred) ** 2, 0.0)
    return out.reshape(-1, k, m)


def _shrink(signal: Array, noise: Array) -> Array:
    """signal / (signal + noise), 0 where both are 0."""
    whole = signal + noise
    return np.where(whole > 0, signal / np.where(whole > 0, whole, 1.0), 0.0)
