"""Consensus-based calibration (CBC): remove the language-judge interaction by double centring.

See docs/methods.md, section 2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from polyjudge.second.calibrate.base import Calibrator, as_panel, read_numbers
from polyjudge.second.calibrate.history import Memory
from polyjudge.second.calibrate.robust import LOCATIONS, Location, odd_cells
from polyjudge.second.calibrate.robust import location as robust_interaction
from polyjudge.second.calibrate.shrinkage import Shrink, shrink, shrinkage
from polyjudge.second.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.adjustment import Adjustment
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say

if TYPE_CHECKING:
    from polyjudge.second.calibrate.extend import Extension

Weights = Literal["uniform", "variance"]


class ConsensusCalibrator(Calibrator):
    """Remove from every score the interaction of its language and judge.

    weights : "uniform" centres on plain means over judges. "variance" weights judges by the inverse variance of their
        cell means over languages; it differs from "uniform" by a constant per language, so no order within a language
        changes.
    shrinkage : "none"; "auto" shrinks the interaction by the amount with the largest expected held-out gain, for few
        tasks and many cells; a number from 0 to 1 takes that share off.
    location : how a cell's values over tasks are summed up: "mean", or "trimmed", "median_of_means", "huber" where a
        few odd tasks must not decide.

    Panels with holes are estimated by least squares within tasks (docs/methods.md, section 14).

    Fitted attributes (labelled pandas objects): `interaction_` (language x judge, in score points), `language_effect_`
    (the shared shift of each language, which CBC leaves in), `judge_effect_` (the order every language is aligned to),
    `grand_mean_`, `counts_` (tasks behind each cell), `se_` (standard error of each cell), `shrunk_` (share taken off).

    >>> from polyjudge.second import Panel
    >>> panel = Panel.from_array([[[1, 2], [3, 8]], [[1, 2], [3, 8]]])
    >>> ConsensusCalibrator().fit(panel).interaction_.loc["language1", "judge1"]
    np.float64(1.0)
    """

    kind = "consensus"
    interaction_: pd.DataFrame
    language_effect_: pd.Series[float]
    judge_effect_: pd.Series[float]
    counts_: pd.DataFrame
    se_: pd.DataFrame | None
    judge_weights_: pd.Series[float]
    shrunk_: float
    extension_: Extension | None = None
    memory_: Memory | None = None
    grand_mean_: float

    def __init__(self, weights: Weights = "uniform", shrinkage: Shrink = "none", location: Location = "mean") -> None:
        if weights not in ("uniform", "variance"):
            raise UsageError(f"weights must be 'uniform' or 'variance', not {weights!r}.")
        share = isinstance(shrinkage, (int, float)) and not isinstance(shrinkage, bool) and 0 <= shrinkage <= 1
        if shrinkage not in ("none", "auto") and not share:
            raise UsageError(f"shrinkage must be 'none', 'auto' or a share from 0 to 1, not {shrinkage!r}.")
        if location not in LOCATIONS:
            raise UsageError(f"location must be one of {', '.join(LOCATIONS)}, not {location!r}.")
        self.weights: Weights = weights
        self.shrinkage: Shrink = shrinkage
        self.location: Location = location

    def _fit(self, panel: Panel) -> None:
        """Estimate the interaction from a panel."""
        estimate = estimate_interaction(panel)
        means, w, error, self.shrunk_ = self._estimates(estimate, panel.weights)
        language, judge = (means.mean(axis=axis) - means.mean() for axis in (1, 0))
        self._keep(panel.matrix(centre(means, w)), language, judge, float(means.mean()), w)
        self.se_ = panel.matrix(error)
        there = ~np.isnan(panel.scores)
        self.counts_ = panel.matrix(np.einsum("t,tlb->lb", panel.weights, there)).round().astype(np.int64)
        self.memory_ = Memory.of(panel, estimate.influence, panel.range[0], estimate.cell_influence)

    def _keep(self, cells: pd.DataFrame, language: Array, judge: Array, grand: float, weights: Array) -> None:
        """The interaction, the effects of languages and judges beside it, and the judges' weights."""
        self.interaction_, self.grand_mean_ = cells, grand
        self.language_effect_ = pd.Series(language, index=cells.index, name="language_effect")
        self.judge_effect_ = pd.Series(judge, index=cells.columns, name="judge_effect")
        self.judge_weights_ = pd.Series(weights, index=cells.columns, name="weight")

    def _estimates(self, estimate: InteractionEstimate, units: Array) -> tuple[Array, Array, Array, float]:
        """Cell means (k, m) whose centring is the interaction, judge weights (m,), error (k, m), share taken off."""
        means, error, off = estimate.cells, estimate.se, 0.0
        if self.location != "mean":
            means = means - estimate.interaction + robust_interaction(estimate, units, self.location)
        if self.shrinkage != "none":
            plain = double_centre(means)
            shrunk, error, off = shrink(estimate, units, self.shrinkage, plain)
            means = means - plain + shrunk
        w = judge_weights(means) if self.weights == "variance" else np.full(means.shape[1], 1 / means.shape[1])
        return means, w, error, off

    @property
    def name(self) -> str:
        """What `compare` calls it: cbc, and how it differs from the plain one."""
        more = ["weighted"] if self.weights == "variance" else []
        if self.shrinkage != "none":
            more.append("shrunken" if self.shrinkage == "auto" else f"shrunken-{self.shrinkage:g}")
        if self.location != "mean":
            more.append(self.location.replace("_", "-"))
        return "-".join(["cbc", *more])

    def resampled(self, panel: Panel, drawn: Array) -> Array:
        """What is subtracted (R, k, m) in R resamples; `drawn` (R, n) counts the tasks drawn of every unit."""
        out = []
        for weights in drawn:
            there = np.flatnonzero(weights > 0)
            part = panel.select(tasks=[panel.tasks[i] for i in there])
            out.append(self.subtracted(replace(part, weights=weights[there])))
        return np.array(out)

    def subtracted(self, panel: Panel) -> Array:
        """What `fit` on this panel would subtract, (k, m), without the rest of its work."""
        means, w, *_ = self._estimates(estimate_interaction(panel), panel.weights)
        return centre(means, w)

    def advice(self, panel: Panel) -> tuple[Say, ...]:
        """Few levels; few tasks for many cells, where shrinking is better; cells that a few tasks carry.

        >>> from polyjudge.second import simulate_panel
        >>> panel, _ = simulate_panel(tasks=12, languages=7, judges=5, interaction=0.0, seed=1)
        >>> [note.code for note in ConsensusCalibrator().fit(panel).advice(panel)]
        ['shrink.yes']
        """
        if type(self) is not ConsensusCalibrator or self.shrinkage != "none":
            return self.cautions(panel)
        better, odd = shrinkage(panel), odd_cells(panel)[:3] if self.location == "mean" else ()
        return (*self.cautions(panel), *((better.advice,) if better.amount else ()), *odd)

    @property
    def correction_(self) -> pd.DataFrame:
        """What is subtracted from the scores of each cell; here the interaction."""
        return self.interaction_

    @property
    def adjustment_(self) -> Adjustment:
        table = self.correction_
        return Adjustment(languages=tuple(table.index), judges=tuple(table.columns), shift=table.to_numpy())

    def extend(self, new_scores: Any, target: float | None = None, **columns: Any) -> Self:
        """A calibrator that also knows a new language or judge, from a handful of tasks (docs/methods.md, section 8).

        new_scores : a few tasks in the new language and in at least one known language, by at least two known judges
            (for a new judge: languages and judges exchanged)
        target : half width in score points that the recommendation of further tasks aims at

        The cells already fitted do not change. What was added, with intervals and how many more tasks to score, is
        in `extension_` of the calibrator returned.

        >>> from polyjudge.second import simulate_panel
        >>> panel, _ = simulate_panel(tasks=30, languages=["en", "de", "sw"], judges=4)
        >>> cal = ConsensusCalibrator().fit(panel.select(languages=["en", "de"]))
        >>> wider = cal.extend(panel.select(tasks=panel.tasks[:6]))
        >>> wider.extension_.newcomers[0].tasks
        6
        """
        from polyjudge.second.calibrate.extend import extend

        self._fitted()
        return extend(self, as_panel(new_scores, columns), target)[0]  # type: ignore[return-value]  # a copy of self

    # --- save and load ---

    def _fields(self) -> dict[str, Any]:
        return {
            "weights": self.weights,
            "interaction": self.interaction_.to_numpy().tolist(),
            "language_effect": self.language_effect_.tolist(),
            "judge_effect": self.judge_effect_.tolist(),
            "grand_mean": self.grand_mean_,
            "counts": self.counts_.to_numpy().tolist(),
            "se": None if self.se_ is None else self.se_.to_numpy().tolist(),
            "judge_weights": self.judge_weights_.tolist(),
            "shrinkage": self.shrinkage,
            "shrunk": self.shrunk_,
            "location": self.location,
            "memory": None if self.memory_ is None else self.memory_.to_dict(),
        }

    @classmethod
    def _read(cls, data: dict[str, Any], languages: pd.Index[str], judges: pd.Index[str]) -> Self:
        k, m = len(languages), len(judges)
        # Fields that files of earlier versions may lack.
        data = {"shrinkage": "none", "location": "mean", "se": None, "judge_weights": [1 / m] * m, "shrunk": 0.0} | data
        out = cls(data["weights"], data["shrinkage"], data["location"])

        def cells(field: str) -> pd.DataFrame:
            return pd.DataFrame(read_numbers(data, field, (k, m)), index=languages, columns=judges)

        sizes = {"language_effect": (k,), "judge_effect": (m,), "judge_weights": (m,), "grand_mean": (), "shrunk": ()}
        language, judge, weights, grand, shrunk = (read_numbers(data, name, size) for name, size in sizes.items())
        out._keep(cells("interaction"), language, judge, float(grand), weights)
        counts = cells("counts")
        out.counts_ = counts.astype(np.int64)
        out.se_ = None if data["se"] is None else cells("se")
        out.shrunk_ = float(shrunk)
        out.memory_ = Memory.from_dict(data.get("memory"), k, m)
        _check_meaning(out, counts.to_numpy())
        return out

    def __repr__(self) -> str:
        if not hasattr(self, "interaction_"):
            return f"ConsensusCalibrator(weights={self.weights!r}), not fitted"
        k, m = self.interaction_.shape
        if min(k, m) < 2:
            return f"ConsensusCalibrator: a baseline for drift, languages {k}, judges {m}. It changes no score."
        shrunk = f", {self.shrunk_:.0%} taken off as noise (lower error on left-out tasks)" if self.shrunk_ else ""
        return (
            f"ConsensusCalibrator(weights={self.weights!r}), fitted on {k} languages x {m} judges, "
            f"largest |interaction| {float(np.abs(self.interaction_.to_numpy()).max()):.4g} points{shrunk}\n"
            f"{self.interaction_.rename(index=clean, columns=clean).round(3).to_string()}"
        )


def _check_meaning(cal: ConsensusCalibrator, counts: Array) -> None:
    """Numbers that no fit gives: a file may be whole and still be nonsense."""
    rows = cal.interaction_.to_numpy()
    weights = cal.judge_weights_.to_numpy()
    if (counts < 0).any() or (counts != np.floor(counts)).any() or (counts > 1e15).any():
        raise ValueError("counts are not numbers of scores")
    if (weights < 0).any() or abs(weights.sum() - 1) > 1e-6 or not 0 <= cal.shrunk_ <= 1:
        raise ValueError("weights of judges are not shares, or the shrinkage is not one")
    if cal.se_ is not None and (cal.se_.to_numpy() < 0).any():
        raise ValueError("a standard error is negative")
    if np.abs(rows @ weights).max() > 1e-6 * max(1.0, float(np.abs(rows).max())):
        raise ValueError("the interaction is not centred over judges")


def judge_weights(means: Array) -> Array:
    """w(b) proportional to 1 / Var_l[M(l, b)], summing to 1; a variance of 0 counts as 1e-8."""
    variance = means.var(axis=0)
    inverse = 1 / np.where(variance == 0, 1e-8, variance)
    return inverse / inverse.sum()


def centre(means: Array, weights: Array) -> Array:
    """Double centring with judge weights: M(l,b) - M(.,b) - sum_b w M(l,b) + sum_b w M(.,b)."""
    columns = means - means.mean(axis=0)
    return columns - (columns @ weights)[:, None]
