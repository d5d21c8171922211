"""How scores go with the length of answers, as a description: longer may be better. See docs/methods.md, section 25."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from polyjudge.second.estimate.influence import at_equal_length, cluster_codes, judges_first, slopes, spread, two_boards
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding


class Length(Result):
    """Scores and the length of answers.

    cells : language and judge ("(all)": over all of them), slope (points for an answer twice as long as another one of
        the same task), low, high (pointwise), p (Holm over the judges), clear, tasks
    systems : system, length (geometric mean, characters), mean, low, high, rank; equal, equal_low, equal_high,
        equal_rank (at equal length within each task, if the slopes held); top_set (may be best at equal length)
    """

    cells: pd.DataFrame
    systems: pd.DataFrame
    known: float
    """Share of the answers whose length is known."""
    level: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Judges whose scores go with length, as a remark: it is no error by itself."""
        whole = self.cells[self.cells["language"] == ALL]
        sure = whole[whole["clear"]]
        if not len(sure):
            return ()
        first = sure.iloc[int(sure["slope"].abs().argmax())]
        plain, equal = (self.systems["system"].iloc[int(self.systems[c].argmax())] for c in ("mean", "equal"))
        values: dict[str, Any] = {n: first[n] for n in ("judge", "slope", "low", "high", "p")}
        values |= {"count": len(sure), "judges": int((whole["judge"] != ALL).sum()), "winner": plain, "equal": equal}
        return (Finding("length", values, "notice" if plain != equal else "info"),)


def length(panel: Panel, characters: Array | None, *, level: float = 0.95) -> Length | None:
    """The slope of scores on log length within tasks, by language and judge, and the leaderboard at equal length.

    characters : (n, s, k) length of every answer, NaN where it is not known; None for none
    """
    check_level(level)
    if characters is None or panel.system_scores is None:
        return None
    logs = np.log2(np.maximum(characters, 1.0))
    cluster = cluster_codes(panel.cluster)
    found = slopes(panel.system_scores, logs, panel.weights, cluster)
    if np.isnan(found.slope).any() or int(found.clusters.min()) < 3:
        return None
    _, k, m = panel.shape
    axes = {"language": (*panel.languages, ALL), "judge": (*panel.judges, ALL)}
    value, added = (_with_all(x, k, m) for x in (found.slope[None], found.added))
    count = _with_all(found.clusters[None].astype(float), k, m)[0].astype(int)
    se = spread(added, count)
    half = stdtrit(np.maximum(count - 1, 1), (1 + level) / 2) * se
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(se > 0, 2 * stdtr(np.maximum(count - 1, 1), -np.abs(value[0]) / se), 1.0)
    ends = {"low": value[0] - half, "high": value[0] + half}
    cells = judges_first(long_table(axes, slope=value[0], **ends, p=p, tasks=count), level)
    boards = at_equal_length(panel.system_scores, found, panel.weights, cluster)
    systems = two_boards(panel.systems, "equal", *boards, level)
    typical = dict(zip(panel.systems, 2 ** np.nanmean(logs, axis=(0, 2)), strict=True))
    systems.insert(1, "length", systems["system"].map(typical))
    answers = ~np.isnan(panel.system_scores).all(axis=3)
    known = float((~np.isnan(characters) & answers).sum() / max(int(answers.sum()), 1))
    return Length(cells=cells, systems=systems, known=known, level=level)


def _with_all(values: Array, k: int, m: int) -> Array:
    """(g, k, m) -> (g, k + 1, m + 1): with the means over languages and over judges."""
    wide = np.concatenate([values, values.mean(axis=1, keepdims=True)], axis=1)
    out: Array = np.concatenate([wide, wide.mean(axis=2, keepdims=True)], axis=2)
    return out
