"""The DevAI panel against the benchmark's human labels: does it see the work, who agrees, whom does calibration help.

See docs/methods.md, sections 13 and 17. The released panel's workspaces are believed, not proven, to be those the
humans labelled.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from polyjudge.second.estimate.kernels import draw_blocks
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.paper.inputs import table_of
from polyjudge.second.questions.anchor.anchors import anchor
from polyjudge.second.questions.systems.signal import Signal, signal
from polyjudge.second.report.result import Result

CAVEAT = (
    "The labels are the benchmark's own, of the work of the same three frameworks on the same tasks. That the judges "
    "saw the same files as the labellers is believed, not proven."
)
COLUMNS = ["task", "framework", "requirement_id", "satisfied"]


class LabelCheck(Result):
    """The panel beside human task scores (share of requirements satisfied, 0 to 100) of every task and framework.

    cells : language ("(all)" for the mean over languages), judge ("(panel)" for the mean of all), r (correlation
        with the humans over tasks and frameworks), low, high (tasks resampled); and of the calibration: gain (points
        squared), gain_low, gain_high, verdict (helped, hurt, cannot tell)
    """

    cells: pd.DataFrame
    signal: Signal
    helped: int
    hurt: int
    unclear: int
    labels: int
    answers: int
    resamples: int
    seed: int

    @property
    def panel(self) -> dict[str, float]:
        """r, low and high of the mean of all judges and languages."""
        row = self.cells[(self.cells["language"] == "(all)") & (self.cells["judge"] == "(panel)")]
        return {str(k): float(v) for k, v in row.iloc[0][["r", "low", "high"]].items()}


def read_labels(path: str | Path, panel: Panel) -> pd.DataFrame:
    """Human verdicts: task, framework, requirement_id, satisfied 0 or 1. Every task and framework must have some."""
    table, where = table_of(path, COLUMNS, "human_labels.csv")
    if not table["satisfied"].isin([0, 1]).all() or table.duplicated(COLUMNS[:3]).any():
        raise PanelError(f"{where}: `satisfied` must be 0 or 1, once for each task, framework and requirement.")
    have = set(zip(table["task"], table["framework"], strict=True))
    lacking = [(t, f) for t in panel.tasks for f in panel.replicates if (t, f) not in have]
    if lacking:
        raise PanelError(
            f"{where} has no label for {len(lacking)} of the panel's tasks and frameworks, the first "
            f"{clean(lacking[0][0])} by {clean(lacking[0][1])}. It may be cut, or of another benchmark."
        )
    return table


def check_labels(panel: Panel, labels: pd.DataFrame, *, resamples: int = 1000, seed: int = 7) -> LabelCheck:
    """Set the DevAI panel (of `sources.devai_panel`) beside human verdicts (of `read_labels`)."""
    assert panel.replicate_scores is not None
    human = labels.groupby(["task", "framework"])["satisfied"].mean().mul(100).unstack()
    truth = human.loc[list(panel.tasks), list(panel.replicates)].to_numpy()
    array = panel.replicate_scores.transpose(0, 3, 1, 2)  # frameworks are what is judged: systems, not repeats
    judged = Panel.from_array(
        array, panel.tasks, panel.languages, panel.judges, systems=panel.replicates, declared_range=(0.0, 100.0)
    )
    gold = pd.DataFrame(
        [(t, f, lang, truth[i, j]) for i, t in enumerate(panel.tasks) for j, f in enumerate(panel.replicates)
         for lang in panel.languages],
        columns=["task", "system", "language", "score"],
    )  # fmt: skip
    found = anchor(judged, gold, resamples=resamples, seed=seed).helped
    assert found is not None
    gains = found.cells[["language", "judge", "gain", "band_low", "band_high", "verdict"]]
    gains = gains.rename(columns={"band_low": "gain_low", "band_high": "gain_high"})
    return LabelCheck(
        cells=_correlations(judged, array, truth, resamples, seed).merge(gains, how="left", on=["language", "judge"]),
        signal=signal(judged, resamples=resamples, seed=seed),
        helped=found.helped,
        hurt=found.hurt,
        unclear=found.unclear,
        labels=len(labels),
        answers=truth.size,
        resamples=resamples,
        seed=seed,
    )


def _correlations(panel: Panel, array: Array, truth: Array, resamples: int, seed: int) -> pd.DataFrame:
    """Pearson correlation with the humans, of every cell and of the means, with intervals over tasks."""
    n = len(panel.tasks)
    groups = {("(all)", "(panel)"): array.mean(axis=(2, 3))}
    groups |= {("(all)", b): array[..., j].mean(axis=2) for j, b in enumerate(panel.judges)}
    groups |= {(lang, "(panel)"): array[:, :, i].mean(axis=2) for i, lang in enumerate(panel.languages)}
    groups |= {
        (lang, b): array[:, :, i, j] for i, lang in enumerate(panel.languages) for j, b in enumerate(panel.judges)
    }
    x = np.stack([*groups.values()])  # (g, n, s)
    y = truth[None]
    moments = np.stack([np.broadcast_to(m, x.shape).sum(axis=2) for m in (x, y, x * x, y * y, x * y)])  # (5, g, n)
    size = truth.shape[1]

    def r(times: Array) -> Array:
        a, b, aa, bb, ab = (moments @ times.T) / (size * times.sum(axis=1))
        spread = np.sqrt(np.maximum((aa - a * a) * (bb - b * b), 0.0))
        # A cell that gives every task the same score has no correlation.
        return np.divide(ab - a * b, spread, out=np.full_like(ab, np.nan), where=spread > 1e-6)

    drawn = np.concatenate([r(times.astype(float)) for times in draw_blocks(n, resamples, seed)], axis=1)
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=1)
    frame = pd.DataFrame(list(groups), columns=["language", "judge"])
    return frame.assign(r=r(np.ones((1, n)))[:, 0], low=low, high=high)
