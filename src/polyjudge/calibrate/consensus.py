"""Consensus-based calibration (CBC): remove the language-judge interaction by double centring (METHODS section 2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from polyjudge._version import __version__
from polyjudge.calibrate.robust import LOCATIONS, Location
from polyjudge.calibrate.robust import location as robust_interaction
from polyjudge.calibrate.shrinkage import Shrink, check_amount, shrink
from polyjudge.core.arrays import Array
from polyjudge.core.errors import CalibratorError, UsageError
from polyjudge.core.files import atomic_write
from polyjudge.core.labels import clean
from polyjudge.core.panel import Panel
from polyjudge.estimate.incomplete import estimate_interaction
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.memory import Memory

if TYPE_CHECKING:
    from polyjudge.calibrate.extend import Extension

FORMAT = "polyjudge-calibrator"
VERSION = 1
Weights = Literal["uniform", "variance"]
Unseen = Literal["error", "keep"]


class ConsensusCalibrator:
    """Remove from every score the interaction of its language and judge.

    Parameters
    ----------
    weights : "uniform" centres on plain means over judges. "variance" weights judges by the inverse variance of their
        cell means over languages; it differs from "uniform" by a constant per language, so no order within a language
        changes.
    shrinkage : "none"; "auto" shrinks the interaction by the amount with the largest expected held-out gain, for few
        tasks and many cells; a number from 0 to 1 takes that share off.
    location : how a cell's values over tasks are summed up: "mean", or "trimmed", "median_of_means", "huber" where a
        few odd tasks must not decide.

    Panels with holes are estimated by least squares within tasks (METHODS section 14).

    Fitted attributes (labelled pandas objects): `interaction_` (language x judge, in score points), `language_effect_`
    (the shared shift of each language, which CBC leaves in), `judge_effect_` (the order every language is aligned to),
    `grand_mean_`, `counts_` (tasks behind each cell), `se_` (standard error of each cell), `shrunk_` (share taken off).

    >>> from polyjudge import Panel
    >>> panel = Panel.from_array([[[1, 2], [3, 8]], [[1, 2], [3, 8]]])
    >>> ConsensusCalibrator().fit(panel).interaction_.loc["language1", "judge1"]
    np.float64(1.0)
    """

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
    fingerprint_: str
    range_: tuple[float, float]

    def __init__(self, weights: Weights = "uniform", shrinkage: Shrink = "none", location: Location = "mean") -> None:
        if weights not in ("uniform", "variance"):
            raise UsageError(f"weights must be 'uniform' or 'variance', not {weights!r}.")
        check_amount(shrinkage)
        if location not in LOCATIONS:
            raise UsageError(f"location must be one of {', '.join(LOCATIONS)}, not {location!r}.")
        self.weights: Weights = weights
        self.shrinkage: Shrink = shrinkage
        self.location: Location = location

    def fit(self, panel: Panel) -> Self:
        """Estimate the interaction from a panel."""
        estimate = estimate_interaction(panel)
        means, error, self.shrunk_ = estimate.cells, estimate.se, 0.0
        if self.location != "mean":
            means = means - estimate.interaction + robust_interaction(estimate, panel.weights, self.location)
        if self.shrinkage != "none":
            plain = double_centre(means)
            shrunk, error, self.shrunk_ = shrink(estimate, panel.weights, self.shrinkage, plain)
            means = means - plain + shrunk
        w = judge_weights(means) if self.weights == "variance" else np.full(means.shape[1], 1 / means.shape[1])
        self.interaction_ = panel.matrix(centre(means, w))
        self.se_ = panel.matrix(error)
        self.judge_weights_ = pd.Series(w, index=self.interaction_.columns, name="weight")
        self.language_effect_ = pd.Series(
            means.mean(axis=1) - means.mean(), index=self.interaction_.index, name="language_effect"
        )
        self.judge_effect_ = pd.Series(
            means.mean(axis=0) - means.mean(), index=self.interaction_.columns, name="judge_effect"
        )
        self.grand_mean_ = float(means.mean())
        there = ~np.isnan(panel.scores)
        self.counts_ = panel.matrix(np.einsum("t,tlb->lb", panel.weights, there)).round().astype(np.int64)
        self.fingerprint_ = panel.fingerprint
        self.range_ = panel.range
        self.memory_ = Memory.of(panel, estimate.influence, self.range_[0])
        return self

    @property
    def correction_(self) -> pd.DataFrame:
        """What is subtracted from the scores of each cell; here the interaction."""
        return self.interaction_

    def transform(self, panel: Panel, clip: bool = False) -> Panel:
        """Calibrated scores as a panel. `clip` cuts them to the score range, which breaks identity I1."""
        self._require_fitted()
        for word, mine, other in (
            ("language", self.interaction_.index, panel.languages),
            ("judge", self.interaction_.columns, panel.judges),
        ):
            unseen = [x for x in other if x not in mine]
            if unseen:
                raise self.unseen_error(word, unseen)
        shift = self.correction_.loc[list(panel.languages), list(panel.judges)].to_numpy()
        return panel.minus(shift, panel.range if clip else None)

    def fit_transform(self, panel: Panel) -> Panel:
        """`fit` and `transform` of the same panel."""
        return self.fit(panel).transform(panel)

    def shift_for(
        self, languages: pd.Series[Any], judges: pd.Series[Any], unseen: Unseen = "error"
    ) -> tuple[Array, int]:
        """What to subtract from each row, and how many rows have an unseen language or judge (shift 0 with "keep")."""
        self._require_fitted()
        row = self.interaction_.index.get_indexer(pd.Index(languages.astype(str)))
        column = self.interaction_.columns.get_indexer(pd.Index(judges.astype(str)))
        strange = (row < 0) | (column < 0)
        if strange.any() and unseen == "error":
            for word, code, labels in (("language", row, languages), ("judge", column, judges)):
                if (code < 0).any():
                    raise self.unseen_error(word, labels[code < 0].astype(str).unique().tolist())
        shift = self.correction_.to_numpy()[np.where(strange, 0, row), np.where(strange, 0, column)]
        return np.where(strange, 0.0, shift), int(strange.sum())

    def extend(self, new_scores: Panel | Any, target: float | None = None) -> Self:
        """A calibrator that also knows a new language or judge, from a handful of tasks (METHODS section 8).

        new_scores : a Panel, or what `read_panel` takes: a few tasks in the new language and in at least one known
            language, by at least two known judges (for a new judge: languages and judges exchanged)
        target : half width in score points that the recommendation of further tasks aims at

        The cells already fitted do not change. What was added, with intervals and how many more tasks to score, is
        in `extension_` of the calibrator returned.

        >>> from polyjudge import simulate_panel
        >>> panel, _ = simulate_panel(tasks=30, languages=["en", "de", "sw"], judges=4)
        >>> cal = ConsensusCalibrator().fit(panel.select(languages=["en", "de"]))
        >>> wider = cal.extend(panel.select(tasks=panel.tasks[:6]))
        >>> wider.extension_.newcomers[0].tasks
        6
        """
        from polyjudge.calibrate.extend import extend

        self._require_fitted()
        if not isinstance(new_scores, Panel):
            from polyjudge.sources import read_panel

            new_scores = read_panel(new_scores)
        return extend(self, new_scores, target)[0]  # type: ignore[return-value]  # a copy of self

    def apply(self, table: Any, **options: Any) -> Any:
        """A table of scores with the calibrated score as a new column; see `polyjudge.calibrate.apply.apply_table`.

        Takes pandas, polars, pyarrow, Ibis and Spark tables and gives back the same kind, other columns and the order
        of rows unchanged. Options: column="calibrated", unseen="error" or "keep", and names of columns.
        """
        from polyjudge.calibrate.apply import apply_table

        self._require_fitted()
        return apply_table(self, table, **options)

    # --- save and load ---

    def to_dict(self) -> dict[str, Any]:
        """All that `load_calibrator` needs, as plain JSON values."""
        self._require_fitted()
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": "consensus",
            "polyjudge": __version__,
            "weights": self.weights,
            "languages": list(self.interaction_.index),
            "judges": list(self.interaction_.columns),
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
            "range": list(self.range_),
            "fingerprint": self.fingerprint_,
            "memory": None if self.memory_ is None else self.memory_.to_dict(),
        }

    def save(self, path: str | Path) -> None:
        """Write the calibrator as JSON. The file is complete or not there."""
        with atomic_write(path) as file:
            json.dump(self.to_dict(), file, ensure_ascii=False, indent=1, allow_nan=False)
            file.write("\n")

    @classmethod
    def from_dict(cls, data: Any, where: str = "this calibrator") -> Self:
        """The calibrator of `to_dict`. Every field is checked."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise CalibratorError(f"{where} is not a polyjudge calibrator: its 'format' is not {FORMAT!r}.")
        if data.get("version") != VERSION:
            raise CalibratorError(
                f"{where} has calibrator version {clean(data.get('version'))}; this polyjudge ({__version__}) "
                f"reads version {VERSION}. Fit it again, or use the polyjudge that wrote it."
            )
        try:
            languages, judges = (_labels(data[key]) for key in ("languages", "judges"))
            k, m = len(languages), len(judges)
            index, columns = pd.Index(languages, name="language"), pd.Index(judges, name="judge")
            out = cls(data["weights"], data.get("shrinkage", "none"), data.get("location", "mean"))
            out.interaction_ = pd.DataFrame(_numbers(data["interaction"], (k, m)), index=index, columns=columns)
            out.language_effect_ = pd.Series(
                _numbers(data["language_effect"], (k,)), index=index, name="language_effect"
            )
            out.judge_effect_ = pd.Series(_numbers(data["judge_effect"], (m,)), index=columns, name="judge_effect")
            counts = _numbers(data["counts"], (k, m)).astype(np.int64)
            out.counts_ = pd.DataFrame(counts, index=index, columns=columns)
            # Fields that files of earlier versions may lack.
            se = data.get("se")
            out.se_ = None if se is None else pd.DataFrame(_numbers(se, (k, m)), index=index, columns=columns)
            w = _numbers(data.get("judge_weights", [1 / m] * m), (m,))
            out.judge_weights_ = pd.Series(w, index=columns, name="weight")
            out.shrunk_ = float(_numbers(data.get("shrunk", 0.0), ()))
            out.grand_mean_ = float(_numbers(data["grand_mean"], ()))
            low, high = _numbers(data["range"], (2,)).tolist()
            out.range_ = (low, high)
            out.fingerprint_ = str(data["fingerprint"])
            out.memory_ = Memory.from_dict(data.get("memory"), k, m)
        except (KeyError, TypeError, ValueError, OverflowError, UsageError) as error:
            what = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise CalibratorError(f"{where} is damaged: {clean(what, 200)}.") from None
        return out

    def _require_fitted(self) -> None:
        if not hasattr(self, "interaction_"):
            raise CalibratorError("This calibrator is not fitted yet: call fit(panel) first.")

    def unseen_error(self, word: str, unseen: list[str]) -> CalibratorError:
        """What to raise for a language or judge that the calibrator was not fitted on."""
        known = self.interaction_.index if word == "language" else self.interaction_.columns
        return CalibratorError(
            f"The calibrator has never seen the {word} {', '.join(repr(clean(u)) for u in unseen[:5])}"
            + (f" and {len(unseen) - 5} more" if len(unseen) > 5 else "")
            + f"; it knows {', '.join(clean(x) for x in known[:12])}. Fit it on scores that include it, "
            "or leave such rows unchanged with unseen='keep' (--unseen keep)."
        )

    def __repr__(self) -> str:
        if not hasattr(self, "interaction_"):
            return f"ConsensusCalibrator(weights={self.weights!r}), not fitted"
        k, m = self.interaction_.shape
        shrunk = f", {self.shrunk_:.0%} taken off as noise (lower error on left-out tasks)" if self.shrunk_ else ""
        return (
            f"ConsensusCalibrator(weights={self.weights!r}), fitted on {k} languages x {m} judges, "
            f"largest |interaction| {float(np.abs(self.interaction_.to_numpy()).max()):.4g} points{shrunk}\n"
            f"{self.interaction_.rename(index=clean, columns=clean).round(3).to_string()}"
        )


def load_calibrator(path: str | Path) -> ConsensusCalibrator:
    """Read a calibrator that `save` wrote. The file is data only: nothing in it is executed."""
    path = Path(path)
    where = clean(str(path), 200)
    try:
        data = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise CalibratorError(f"Cannot read the calibrator {where}: {error.strerror}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise CalibratorError(f"{where} is not a polyjudge calibrator: it is not JSON ({clean(error, 120)}).") from None
    if isinstance(data, dict) and data.get("kind") == "anchored":
        from polyjudge.calibrate.anchored import AnchoredCalibrator

        return AnchoredCalibrator.from_dict(data, where)
    if isinstance(data, dict) and data.get("kind") == "sparse":
        from polyjudge.calibrate.sparse import SparseCalibrator

        return SparseCalibrator.from_dict(data, where)
    return ConsensusCalibrator.from_dict(data, where)


def judge_weights(means: Array) -> Array:
    """w(b) proportional to 1 / Var_l[M(l, b)], summing to 1; a variance of 0 counts as 1e-8."""
    variance = means.var(axis=0)
    inverse = 1 / np.where(variance == 0, 1e-8, variance)
    out: Array = inverse / inverse.sum()
    return out


def centre(means: Array, weights: Array) -> Array:
    """Double centring with judge weights: M(l,b) - M(.,b) - sum_b w M(l,b) + sum_b w M(.,b)."""
    columns = means - means.mean(axis=0)
    out: Array = columns - (columns @ weights)[:, None]
    return out


def _labels(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise ValueError("labels must be a list of strings")
    if len(set(value)) != len(value) or len(value) < 2:
        raise ValueError("labels must be at least two and differ from each other")
    return value


def _numbers(value: Any, shape: tuple[int, ...]) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"a table of shape {shape} is expected, found {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a number is not finite")
    return array
