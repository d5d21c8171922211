"""Picking the top judge of each language on drawn tasks, checked on left-out ones (docs/methods.md, section 9)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.calibrate.methods import Multiplicity
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.compare.held_out import percentiles, resample
from polyjudge.second.report.result import Result

TARGET = say("decisions.target")


class Decisions(Result):
    """How often, and how far, the top judge on drawn tasks misses the additive model's top judge on left-out tasks.

    `table`: method, accuracy and regret (points between the target's value and the chosen judge's), each with its
    percentile interval over resamples of tasks. An interval over all decisions would shrink with the number of
    resamples and say nothing about tasks.
    """

    table: pd.DataFrame
    languages: pd.DataFrame
    """method, language, accuracy, regret, chosen (the judge chosen most often), chosen_share"""
    decisions: int
    resamples: int
    skipped: int
    seed: int
    target: Say


def decisions(panel: Panel, resamples: int = 1000, seed: int = 7, *, draws: Multiplicity | None = None) -> Decisions:
    """Choose each language's top judge by raw and by calibrated means of the drawn tasks; look at the left-out ones.

    `draws` (resamples, n), how often each resample draws each task, takes the place of resamples and seed.

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=30, languages=3, judges=4)
    >>> decisions(panel, resamples=64).table["method"].tolist()
    ['raw', 'cbc']
    """
    picks: dict[str, list[NDArray[np.int64]]] = {"raw": [], "cbc": []}
    regrets: dict[str, list[Array]] = {"raw": [], "cbc": []}
    for block, _ in resample(panel, resamples, seed, draws=draws, label="deciding"):
        target = block.left_out - block.left_out_interaction
        for name, cells in (("raw", block.train), ("cbc", block.train - block.interaction)):
            # Of judges that tie for the top the first is chosen; the answer then depends on no rounding.
            pick = np.argmax(cells >= cells.max(axis=-1, keepdims=True) - block.gap, axis=-1)
            regret = target.max(axis=-1) - np.take_along_axis(target, pick[..., None], axis=-1)[..., 0]
            picks[name].append(pick)
            regrets[name].append(np.where(regret <= block.gap, 0.0, regret))
    resamples = resamples if draws is None else len(draws)
    rows, languages = [], []
    for name in picks:
        pick, regret = np.concatenate(picks[name]), np.concatenate(regrets[name])  # (R, k)
        right = regret == 0
        ends = [percentiles(values.mean(axis=1)) for values in (right, regret)]
        rows.append((name, right.mean(), *ends[0], regret.mean(), *ends[1]))
        counts = np.stack([np.bincount(column, minlength=len(panel.judges)) for column in pick.T])
        each = {
            "method": name,
            "language": panel.languages,
            "accuracy": right.mean(axis=0),
            "regret": regret.mean(axis=0),
        }
        chosen = [panel.judges[i] for i in counts.argmax(axis=1)]
        languages.append(pd.DataFrame({**each, "chosen": chosen, "chosen_share": counts.max(axis=1) / len(pick)}))
    columns = ["method", "accuracy", "accuracy_low", "accuracy_high", "regret", "regret_low", "regret_high"]
    return Decisions(
        table=pd.DataFrame(rows, columns=columns),
        languages=pd.concat(languages, ignore_index=True),
        decisions=right.size,
        resamples=resamples,
        skipped=resamples - len(pick),
        seed=seed,
        target=TARGET,
    )
