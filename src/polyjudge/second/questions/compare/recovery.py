"""How close an estimate came to a planted truth: for the demo and for every panel that was simulated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyjudge.second.estimate.bands import Uncertainty
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.report.result import Result


class Recovery(Result):
    """Estimated against planted interaction. `cells`: language, judge, planted, estimated, error, inside, in_band."""

    cells: pd.DataFrame
    largest_error: float
    root_mean_square_error: float
    root_mean_square_planted: float
    inside: int
    """Cells whose own interval holds the planted value; about `level` of them should."""
    in_band: bool
    """Whether the simultaneous band holds every planted value at once."""
    level: float


def recovery(estimate: Uncertainty, planted: pd.DataFrame) -> Recovery:
    """Compare an estimated interaction with the planted one (a language x judge table with the same labels).

    >>> from polyjudge.second.estimate.bands import uncertainty
    >>> from polyjudge.second.simulate import simulate_panel
    >>> panel, truth = simulate_panel(seed=1)
    >>> bool(recovery(uncertainty(panel), truth.interaction).largest_error < 5)
    True
    """
    frame = estimate.to_frame()
    long = planted.rename(index=str, columns=str).rename_axis("language").reset_index()
    long = long.melt("language", var_name="judge", value_name="planted")
    truth = frame[["language", "judge"]].merge(long, how="left", on=["language", "judge"])["planted"].to_numpy(float)
    if np.isnan(truth).any():
        raise UsageError("The planted truth lacks cells of this panel: their labels differ.")
    cells = pd.DataFrame(
        {
            "language": frame["language"],
            "judge": frame["judge"],
            "planted": truth,
            "estimated": frame["interaction"],
            "error": frame["interaction"] - truth,
            "inside": (frame["low"] <= truth) & (truth <= frame["high"]),
            "in_band": (frame["band_low"] <= truth) & (truth <= frame["band_high"]),
        }
    )
    error = cells["error"].to_numpy(float)
    return Recovery(
        cells=cells,
        largest_error=float(np.abs(error).max()),
        root_mean_square_error=float(np.sqrt(np.mean(error**2))),
        root_mean_square_planted=float(np.sqrt(np.mean(truth**2))),
        inside=int(cells["inside"].sum()),
        in_band=bool(cells["in_band"].all()),
        level=estimate.level,
    )
