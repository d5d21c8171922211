"""The two-arm control: instructions translated only, against everything translated.

Where all of a prompt is translated, the interaction mixes how a judge behaves in a language with how well the task was
translated. A second collection with the same items in every language (`items: shared: true`) keeps the items fixed;
what the two arms differ by belongs to the translation of the items.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.calibrate.shrinkage import unbiased_gain
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.report.result import Result


class TwoArms(Result):
    """`cells`: language, judge, everything, instructions, difference, low, high (all cells together), clear.

    `sizes`: part (everything, instructions, difference), mean_square (of the interaction, points squared, without
    bias), low, high (jackknife over tasks).
    """

    cells: pd.DataFrame
    sizes: pd.DataFrame
    tasks: int


def two_arms(everything: Panel, instructions: Panel, level: float = 0.95) -> TwoArms:
    """Compare the interaction of two collections over the tasks, languages and judges they share.

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=30, languages=3, judges=3, seed=1)
    >>> bool(two_arms(panel, panel).cells["difference"].abs().max() < 1e-9)
    True
    """
    names = {
        axis: [x for x in getattr(everything, axis) if x in set(getattr(instructions, axis))]
        for axis in ("tasks", "languages", "judges")
    }
    tasks, languages, judges = map(len, names.values())
    if tasks < 3 or languages < 2 or judges < 2:
        raise PanelError(
            f"The two arms share {tasks} tasks, {languages} languages and {judges} judges; they need "
            "three, two and two that are called the same in both."
        )
    arms = [panel.select(**names) for panel in (everything, instructions)]
    for arm in arms:
        arm.require_complete("the two-arm control")
    full, only = (double_centre(arm.scores) for arm in arms)
    n, k, m = full.shape
    difference = (full - only).mean(axis=0)
    # Bonferroni over the free cells: no bootstrap is needed for a handful of them.
    radius = stdtrit(n - 1, 1 - (1 - level) / 2 / (k * m)) * (full - only).std(axis=0, ddof=1) / np.sqrt(n)
    means = {"everything": full.mean(axis=0), "instructions": only.mean(axis=0), "difference": difference}
    frame = arms[0].long(**means, low=difference - radius, high=difference + radius)
    rows = []
    for name, values in (("everything", full), ("instructions", only), ("difference", full - only)):
        gain = unbiased_gain(values, arms[0].weights, level=level)
        rows.append((name, gain.estimate, gain.low, gain.high))
    sizes = pd.DataFrame(rows, columns=["part", "mean_square", "low", "high"])
    return TwoArms(cells=frame.assign(clear=(frame["low"] > 0) | (frame["high"] < 0)), sizes=sizes, tasks=n)
