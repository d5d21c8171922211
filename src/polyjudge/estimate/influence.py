"""Intervals from what each cluster of tasks adds to the error of an estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.estimate.resample import holm
from polyjudge.panel.arrays import Array
from polyjudge.panel.labels import ALL


def spread(added: Array, clusters: NDArray[np.int64] | int, least: Array | float = 0.0) -> Array:
    """Standard errors from what clusters add. `least`: half the range of a value; two clusters that were not drawn, at
    both ends of it, count too, so that values without any spread are not taken as certain."""
    g = np.maximum(clusters, 1)
    return np.sqrt(g / np.maximum(g - 1, 1) * (added**2).sum(axis=0) + 2 * (least / (g + 2)) ** 2)


def cluster_codes(cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters numbered without a gap."""
    return np.unique(cluster, return_inverse=True)[1].ravel()


def two_boards(systems: tuple[str, ...], name: str, plain: Any, other: Any, level: float) -> pd.DataFrame:
    """Means of systems as they are and in another light (`name`), each given with what clusters add, (s,) and (g, s):
    system, mean, low, high, rank; {name}, {name}_low, {name}_high, {name}_rank; top_set, those that may be best in that
    light (Bonferroni over every two)."""
    out: dict[str, Any] = {"system": systems}
    for title, prefix, (mean, added) in (("mean", "", plain), (name, f"{name}_", other)):
        g = len(added)
        half = stdtrit(g - 1, (1 + level) / 2) * spread(added, g)
        out |= {title: mean, f"{prefix}low": mean - half, f"{prefix}high": mean + half}
        out[f"{prefix}rank"] = pd.Series(-mean).rank(method="min").astype(int).to_numpy()
    mean, added = other
    best, g = int(np.argmax(mean)), len(added)
    pairs = len(systems) * (len(systems) - 1) / 2  # the best is picked by the data: every two may be those compared
    wide = stdtrit(g - 1, 1 - (1 - level) / 2 / max(pairs, 1)) * spread(added[:, [best]] - added, g)
    out["top_set"] = mean[best] - mean <= wide
    return pd.DataFrame(out).sort_values(f"{name}_rank", kind="stable", ignore_index=True)


def judges_first(frame: pd.DataFrame, level: float, cells: bool = False) -> pd.DataFrame:
    """A table of languages and judges with "(all)" of each: judges over all languages first, then cells; what is over
    all of one language or one judge is said once. Column p becomes Holm's over the judges, with `cells` over their
    cells too; and `clear` says where it is small."""
    if frame["judge"].nunique() == 2:
        frame = frame[frame["judge"] != ALL]
    if frame["language"].nunique() == 2:
        frame = frame[frame["language"] == ALL]
    tested = ((frame["judge"] != ALL) & (cells | (frame["language"] == ALL))).to_numpy()
    p = np.where(tested, frame["p"].to_numpy(float), np.nan)
    p[tested] = holm(p[tested])
    frame = frame.assign(p=p, clear=np.nan_to_num(p, nan=1.0) <= 1 - level)
    order = np.lexsort([frame["language"] != ALL, frame["judge"] == ALL])
    return frame.iloc[order].reset_index(drop=True)
