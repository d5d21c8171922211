"""How far several criteria say the same thing of the answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from polyjudge.second.estimate.kernels import draw_blocks, pair_index
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.panel import Panel


def alike(panels: Mapping[str, Panel], level: float = 0.95, resamples: int = 1000, seed: int = 7) -> pd.DataFrame:
    """Correlation of what two criteria say of the systems of a task: criterion_a, criterion_b, correlation, low, high.

    Only products of different judges count, so that what one judge adds to both criteria of an answer (its noise, its
    mood, a halo of its own) does not: with o_ab the mean product of the centred scores of criterion a by one judge and
    b by another, the correlation is o_ab / sqrt(o_aa o_bb), free of the judges' own errors (disattenuated). It is NaN
    where judges do not agree about a criterion at all. With one judge its own products stand in. Without systems
    tasks are compared in their place. Intervals: percentiles over resampled tasks.
    """
    first = next(iter(panels.values()))
    axes = {
        axis: [x for x in getattr(first, axis) if all(x in getattr(p, axis) for p in panels.values())]
        for axis in ("tasks", "languages", "judges")
    }
    parts = [p.select(**axes) for p in panels.values()]
    values = np.stack([_centred(p) for p in parts])  # (q, n, s, k, m)
    summed = values.sum(axis=-1)
    products = np.einsum("atsk,btsk->tab", summed, summed)
    if values.shape[-1] > 1:
        products -= np.einsum("atskm,btskm->tab", values, values)
    whole = _correlations(products.sum(axis=0)[None])[0]
    drawn = [
        _correlations(np.einsum("rt,tab->rab", block, products))
        for block in draw_blocks(len(axes["tasks"]), resamples, seed, parts[0].cluster)
    ]
    tails = ((1 - level) / 2, (1 + level) / 2)
    with np.errstate(all="ignore"):
        low, high = np.nanquantile(np.concatenate(drawn), tails, axis=0)
    i, j = pair_index(len(panels))
    names, limits = np.array(list(panels), object), {"correlation": whole[i, j], "low": low[i, j], "high": high[i, j]}
    return pd.DataFrame({"criterion_a": names[i], "criterion_b": names[j], **limits})


def _centred(panel: Panel) -> Array:
    """(n, s, k, m): scores less their mean over the systems of a task, or over tasks where none are; 0 if missing."""
    if panel.system_scores is not None:
        scores, axis = panel.system_scores, 1
    else:
        scores, axis = panel.scores[:, None], 0
    return np.nan_to_num(scores - mean_there(scores, axis, keepdims=True))


def _correlations(products: Array) -> Array:
    own = np.diagonal(products, axis1=1, axis2=2)
    scale = np.sqrt(np.where(own > 0, own, np.nan))
    return np.clip(products / (scale[:, :, None] * scale[:, None, :]), -1.0, 1.0)
