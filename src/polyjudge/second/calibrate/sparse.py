"""Sparse calibration: only the cells that explain the interaction move, all other scores stay.

See docs/methods.md, section 18.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self, get_args

import numpy as np
import pandas as pd

from polyjudge.second.calibrate.base import read_numbers
from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.estimate.deviations import Kind, Units, choose, sized
from polyjudge.second.estimate.incomplete import estimate_interaction, language_strata
from polyjudge.second.estimate.levels import deciding_units
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel


class SparseCalibrator(ConsensusCalibrator):
    """Remove what is off in the named cells, and nothing else.

    Which cells are named follows from the explanation that fits (`polyjudge.explain`): none, one or a few cells, the
    cells of one judge or of one language. In a diffuse panel only a cell that stands out is named; use
    `ConsensusCalibrator` there.

    level : confidence of naming a cell
    seed : of the folds behind the choice

    Fitted attributes beyond those of `ConsensusCalibrator`: `kind_`, `excess_` (the sparse reading, language x judge,
    in points) and `named_` (bool).

    >>> from polyjudge.second import simulate_panel
    >>> fault = np.zeros((8, 6)); fault[6, 1] = -20
    >>> cal = SparseCalibrator().fit(simulate_panel(interaction=fault, seed=1)[0])
    >>> int((cal.correction_ != 0).to_numpy().sum())
    1
    """

    kind = "sparse"
    kind_: Kind
    excess_: pd.DataFrame
    named_: pd.DataFrame

    def __init__(self, *, level: float = 0.95, seed: int = 7) -> None:
        super().__init__()
        self.level = check_level(level)
        self.seed = seed

    def _fit(self, panel: Panel) -> None:
        """Choose the explanation, and read how far its cells are off."""
        super()._fit(panel)
        estimate = estimate_interaction(panel)
        strata = language_strata(panel, panel.cluster)
        units = Units.of(estimate.influence, estimate.cell_influence, panel.weights, panel.cluster, strata=strata)
        reading = choose(deciding_units(panel, units, self.seed)[0], self.level, self.seed)
        (excess,), (named,) = sized(units, estimate.interaction[None], [reading])
        self.kind_, self.excess_ = reading.kind, panel.matrix(excess)
        self.named_ = panel.matrix(named.astype(np.float64)).astype(bool)

    @property
    def name(self) -> str:
        return "sparse" if (self.level, self.seed) == (0.95, 7) else f"sparse-{self.level:g}-{self.seed}"

    def subtracted(self, panel: Panel) -> Array:
        return copy(self).fit(panel).correction_.to_numpy()

    @property
    def correction_(self) -> pd.DataFrame:
        """What is subtracted: the excess of named cells, 0 elsewhere (also for languages and judges added later)."""
        moved = self.excess_.where(self.named_, 0.0)
        return moved.reindex(index=self.interaction_.index, columns=self.interaction_.columns, fill_value=0.0)

    def _fields(self) -> dict[str, Any]:
        return super()._fields() | {
            "explanation": self.kind_,
            "level": self.level,
            "seed": self.seed,
            "excess": self.excess_.reindex_like(self.interaction_).fillna(0.0).to_numpy().tolist(),
            "named": (self.correction_ != 0).to_numpy().tolist(),
        }

    @classmethod
    def _read(cls, data: dict[str, Any], languages: pd.Index[str], judges: pd.Index[str]) -> Self:
        out = cls(level=float(data["level"]), seed=int(data["seed"]))
        vars(out).update(vars(ConsensusCalibrator._read(data, languages, judges)))
        if data["explanation"] not in get_args(Kind):
            raise ValueError("the explanation is unknown")
        out.kind_ = data["explanation"]
        excess, named = read_numbers(data, "excess", out.interaction_.shape), np.array(data["named"])
        if named.shape != excess.shape or named.dtype != bool:
            raise ValueError("named must be true or false for each cell")
        out.excess_ = pd.DataFrame(excess, index=languages, columns=judges)
        out.named_ = pd.DataFrame(named, index=languages, columns=judges)
        return out

    def __repr__(self) -> str:
        if not hasattr(self, "interaction_"):
            return f"SparseCalibrator(level={self.level}), not fitted"
        k, m = self.interaction_.shape
        head = f"SparseCalibrator(level={self.level}), fitted on {k} languages x {m} judges: {self.kind_}"
        lines = [
            f"  {clean(language)} by {clean(judge)}: {x:+.4g} points"
            for language, row in self.correction_.iterrows()
            for judge, x in row.items()
            if x != 0
        ]
        return "\n".join([head, *(lines or ["  no cell moves"])])
