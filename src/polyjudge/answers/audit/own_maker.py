"""Does a judge favour systems of its own maker? (METHODS 35)

What each judge gives a maker's systems is a table of maker x judge. By least squares it is maker + judge + one term per
judge for its own maker; what is left are judges' tastes for makers, and they make the error. So a judge that merely
likes a style, its own or another's, is not named, unless that taste is larger than tastes are here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.answers.audit.copies import reaction_slopes
from polyjudge.base.text import MAKERS, families, names
from polyjudge.panel import Panel
from polyjudge.stats.within_rows import fit_within_rows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
MIN_DF = 2
"""Degrees of freedom of the table below which there is no interval."""


@dataclass(frozen=True)
class OwnMaker:
    """What each judge gives its own maker's systems above what the other judges' scores of them predict, in points.

    value, low, high : (judges,); NaN where a judge has no own maker or there is no interval. Limits hold all at once
    own : (systems, judges) whether both are known to come from the same maker
    df : degrees of freedom of the table; -1 where nothing was estimated
    why_not : why it cannot be tested; then there are no numbers
    """

    value: Array = field(default_factory=lambda: np.zeros(0))
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))
    own: Mask | None = None
    makers: tuple[str, ...] = ()
    df: int = -1
    all_judges: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    """The same as one number for all judges, with its limits."""
    why_not: str = ""

    @property
    def favouring(self) -> tuple[int, ...]:
        """Judges that surely favour their own maker, the largest excess first."""
        certain = [b for b in range(len(self.low)) if self.low[b] > 0]
        return tuple(sorted(certain, key=lambda b: -self.value[b]))


def known_makers(labels: tuple[str, ...], given: Mapping[str, str] | None) -> list[str]:
    """The maker of each name; "" where neither the name nor the user tells it: unknown makers are nobody's own."""
    found = families(labels, given)
    return ["" if found[x] == x and x not in MAKERS and x not in (given or {}) else found[x] for x in labels]


def own_maker(panel: Panel, given: Mapping[str, str] | None, *, level: float) -> OwnMaker:
    """Test every judge whose maker has systems on the board."""
    of_judges, of_systems = known_makers(panel.judges, given), known_makers(panel.systems, given)
    own = np.array([[bool(maker) and maker == judge for judge in of_judges] for maker in of_systems])
    shared = tuple(sorted({maker for maker in of_systems if maker and maker in of_judges}))
    if not shared:
        why_not = "No judge and system are known to come from the same maker, so self-preference cannot be tested."
        return OwnMaker(own=own, why_not=why_not)
    if len(panel.judges) < 2:
        return OwnMaker(own=own, makers=shared, why_not="Self-preference cannot be tested with one judge.")
    # A system of unknown maker is a row of its own.
    rows = [maker or f"\0{system}" for maker, system in zip(of_systems, panel.systems, strict=True)]
    labels = list(dict.fromkeys(rows))
    is_own = np.array([[row == judge for judge in of_judges] for row in labels])
    slopes = reaction_slopes(panel)
    table = _maker_table(panel, np.array([labels.index(row) for row in rows]), len(labels), slopes)
    return replace(_estimate_favours(table, is_own, slopes, level, shared), own=own, makers=shared)


def _estimate_favours(table: Array, is_own: Mask, slopes: Array, level: float, shared: tuple[str, ...]) -> OwnMaker:
    """The own term of each judge, in its own points, and of all judges together."""
    n_makers, n_judges = table.shape
    tested = [b for b in range(n_judges) if is_own[:, b].any()]
    alone = [is_own & (np.arange(n_judges) == b) for b in tested]
    each = estimate_own_terms(table, alone, level)
    by_judge = np.full((3, n_judges), np.nan)
    by_judge[:, tested] = np.stack([each.value, each.low, each.high]) * slopes[tested]
    together = estimate_own_terms(table, [is_own], level)
    return OwnMaker(
        value=by_judge[0],
        low=by_judge[1],
        high=by_judge[2],
        df=each.df,
        all_judges=(float(together.value[0]), float(together.low[0]), float(together.high[0])),
        why_not="" if each.df >= MIN_DF else _too_small(n_makers, n_judges, len(tested), shared),
    )


def _maker_table(panel: Panel, row_of: NDArray[np.int64], n_rows: int, slopes: Array) -> Array:
    """Mean over a maker's systems of what each judge gives them, (makers, judges), judges brought to one slope; NaN for
    systems that a judge did not score, and for a judge whose systems are not all connected."""
    n, n_systems, k, n_judges = panel.scores.shape
    unit, weight = np.repeat(panel.unit, k), np.repeat(panel.weight, k)
    table = np.full((n_rows, n_judges), np.nan)
    for judge in range(n_judges):
        scores = panel.scores[..., judge].transpose(0, 2, 1).reshape(n * k, n_systems)
        seen = np.isfinite(scores).any(0)
        values = fit_within_rows(scores, unit, panel.units, weight)
        is_connected = values.null.shape[1] == (~seen).sum() + 1
        if not is_connected:
            continue
        total = np.bincount(row_of[seen], values.mean[seen], minlength=n_rows)
        n_seen = np.bincount(row_of[seen], minlength=n_rows)
        table[:, judge] = np.where(n_seen > 0, total / np.maximum(n_seen, 1), np.nan) / slopes[judge]
    return table


@dataclass(frozen=True)
class OwnTerms:
    """Estimates of own terms with limits that hold for all of them at once; NaN where they are not estimable."""

    value: Array
    low: Array
    high: Array
    df: int


def estimate_own_terms(table: Array, own: Sequence[Mask], level: float) -> OwnTerms:
    """Own terms of a table (makers, judges), NaN where empty: least squares of maker + judge + a dummy for each mask
    (makers, judges) of cells that are somebody's own, with the error from the residuals of that fit."""
    n_makers, n_judges = table.shape
    maker, judge = np.nonzero(np.isfinite(table))
    own_columns = np.stack([mask[maker, judge].astype(float) for mask in own], axis=1)
    design = np.hstack([np.eye(n_makers)[maker], np.eye(n_judges)[judge], own_columns])
    eigenvalues, vectors = np.linalg.eigh(design.T @ design)
    live = eigenvalues > 1e-9 * max(eigenvalues[-1], 1e-300)
    inverse = (vectors[:, live] / eigenvalues[live]) @ vectors[:, live].T
    coefficients = inverse @ design.T @ table[maker, judge]
    residual = table[maker, judge] - design @ coefficients
    df = len(maker) - int(live.sum())
    is_lost = np.abs(vectors[n_makers + n_judges :, ~live]).max(1, initial=0.0) > 1e-6
    value = np.where(is_lost, np.nan, coefficients[n_makers + n_judges :])
    if df < MIN_DF:
        nothing = np.full(len(own), np.nan)
        return OwnTerms(value, nothing, nothing, df)
    error = np.sqrt(residual @ residual / df * np.diag(inverse)[n_makers + n_judges :])
    half = float(stdtrit(df, 1 - (1 - level ** (1 / len(own))) / 2)) * error
    return OwnTerms(value, value - half, value + half, df)


def _too_small(n_makers: int, n_judges: int, n_tested: int, shared: tuple[str, ...]) -> str:
    """How many judges or makers it would take: (makers - 1)(judges - 1) less the own terms is at least two."""
    needed = n_tested + MIN_DF
    judges = 1 + math.ceil(needed / max(n_makers - 1, 1))
    makers = 1 + math.ceil(needed / (n_judges - 1))
    return (
        f"Too few judges and makers to tell self-preference ({names(shared)}) from a judge's taste: it takes "
        f"{judges} judges of these systems, or systems of {makers} makers before these judges."
    )
