"""What the authors found later on the same scores, beside what polyjudge computes.

From their repository (docs/RELEASE_AUDIT.md and paper/analysis/aamas_2027/results, commit 63acdc8): the gates agree;
the logit link does not, because it is told differently how far a score of 0 or 100 lies from the others.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import logit

from polyjudge.estimate.kernels import double_centre
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel
from polyjudge.paper.printed import Table
from polyjudge.questions.audit.pass_rates import pass_rates, spread
from polyjudge.questions.audit.robustness import link_functions, spearman

GATES = {10.0: (34.8, 21.5), 25.0: (27.9, 16.4), 50.0: (12.1, 7.6)}
"""Threshold -> spread of pass rates over languages in percentage points, raw and calibrated, as the authors give it."""
LINKS = {"logit, clipped at 1e-4": (0.818, 5.0), "logit, squeezed by half a task": None}
"""Spearman with the linear cells, and sign changes among cells of a point or more."""
CLIP = 1e-4


def follow_up(panel: Panel) -> Table:
    """Gate spreads and the two logit links, the authors' figures beside ours."""
    linear = double_centre(panel.cell_means)
    rows: list[tuple[object, ...]] = []
    for q, theirs in GATES.items():
        for name, value, beta in (("raw", theirs[0], 0.0), ("calibrated", theirs[1], linear)):
            scores = panel.scores - beta
            mine = float(spread(pass_rates(panel, scores > q + panel.tie_gap)[0]))
            rows.append((f"spread of pass rates over {q:.0f} (points), {name}", value, mine))
    clipped = logit(np.clip(panel.scores / 100, CLIP, 1 - CLIP))
    for (name, later), bent in zip(LINKS.items(), (clipped, link_functions(panel)["logit"](panel.scores)), strict=True):
        found = _agreement(linear, double_centre(bent.mean(axis=0)))
        for what, theirs_then, now in zip(("Spearman", "sign changes"), later or (None, None), found, strict=True):
            rows.append((f"{name}: {what}", theirs_then, now))
    frame = pd.DataFrame(rows, columns=["quantity", "authors_later", "computed"])
    return Table(
        "follow_up",
        "What the authors found later on the same scores",
        frame,
        {"authors_later": 3, "computed": 3},
        "Spearman and sign changes (cells of a point or more) compare the interaction on the logit scale with the "
        "linear "
        "one. Scores of 0 and 100 have no logit: the authors cut them off at 0.0001, polyjudge moves them half a task "
        "inwards. Whether the linear conclusion survives hangs on that choice. These are descriptions of this panel, "
        "so "
        "they have no interval; polyjudge audit and polyjudge gate give them with intervals.",
    )


def _agreement(linear: Array, other: Array) -> tuple[float, float]:
    large = np.abs(linear) >= 1
    flips = float((np.sign(linear) != np.sign(other))[large].sum())
    return float(spearman(linear.reshape(1, -1), other.reshape(1, -1))[0]), flips
