"""What changed over other tasks: the gap of each judge to the others, two samples (METHODS 21, 34).

The judge whose gap changed most is left out and the others are compared anew. Where a column sorts the tasks of both
runs, gaps are compared inside its values; without one, a judge whose gap changed may only be suited less by the new
tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.answers.drift_same import POWER
from polyjudge.answers.drift_strata import Strata
from polyjudge.answers.drift_words import (
    Changes,
    Limits,
    changed_findings,
    coarse_finding,
    everything_else_finding,
    gap_finding,
    places,
    quiet_finding,
    with_both_causes,
)
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.blind import BlindSpot, blind_spot
from polyjudge.stats.cells import Values
from polyjudge.stats.interval import group_df, interval, pass_prior

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TwoRuns:
    """Two runs over other tasks.

    values : of both; error : chance of a false alarm; strata : what sorts the units of both, or None
    """

    old: Panel
    new: Panel
    values: tuple[Values, Values]
    error: float
    strata: Strata | None

    @property
    def n_cells(self) -> int:
        """Cells of a run."""
        return len(self.new.languages) * len(self.new.judges)

    @property
    def blind(self) -> BlindSpot:
        """What failures could change that no unit of either run shows."""
        highest = np.stack([np.where(v.present, v.mean, np.nan) for v in self.values])
        return blind_spot(highest, self.new.scale[0], min(self.old.units, self.new.units))


@dataclass(frozen=True)
class GapChanges:
    """Gaps of each judge to the others that are not left out, then and now (cells,)."""

    before: Array
    after: Array
    change: Array
    se: Array
    q: Array

    @property
    def low(self) -> Array:
        """Lower limits."""
        return self.change - self.q * self.se

    @property
    def high(self) -> Array:
        """Upper limits."""
        return self.change + self.q * self.se

    @property
    def clear_mask(self) -> Mask:
        """Gaps that certainly changed."""
        return np.isfinite(self.q) & (np.abs(self.change) > np.nan_to_num(self.q * self.se))

    @property
    def sizes(self) -> Array:
        """Changes with their limits (3, cells)."""
        return np.stack([self.change, self.low, self.high])


@dataclass(frozen=True)
class NamedGaps:
    """Which judges changed in which languages.

    first : all gaps; rest : gaps to the judges that did not change
    changed : cells at fault; split : languages in which half of the judges or more changed
    """

    first: GapChanges
    rest: GapChanges
    changed: list[int]
    split: list[int]


def find_changed_gaps(runs: TwoRuns) -> NamedGaps:
    """Leave out the largest change, one after the other, until nothing is clear any more."""
    m, width = len(runs.new.judges), runs.new.width
    changed: list[int] = []
    split: list[int] = []
    first = rest = compare_gaps(runs, changed)
    while True:
        t = np.where(rest.clear_mask, np.abs(rest.change) / np.maximum(rest.se, 1e-12 * width), 0.0)
        t[[i for i in range(len(t)) if i in changed or i // m in split]] = 0.0
        largest = int(t.argmax())
        if t[largest] <= 0:
            return NamedGaps(first, rest, changed, split)
        language = largest // m
        in_language = [i for i in changed if i // m == language]
        is_tie = (t >= t[largest] * (1 - 1e-9)).sum() > 1
        if 2 * (len(in_language) + 1) >= m or is_tie:
            split.append(language)  # which of half of the judges or more changed cannot be told
            changed = [i for i in changed if i not in in_language]
        else:
            changed.append(largest)
        rest = compare_gaps(runs, changed)


def compare_gaps(runs: TwoRuns, out: list[int], mean_of: NDArray[np.intp] | None = None) -> GapChanges:
    """Change of every gap to the judges that are not left out; or of the mean over some cells."""
    m = len(runs.new.judges)
    contrasts = _gap_contrasts(runs.n_cells, m, out)
    if mean_of is not None:
        contrasts = contrasts[mean_of].mean(0, keepdims=True)
    samples = [values.contrast(contrasts) for values in runs.values]
    if runs.strata is None:
        gaps, df = _compare_two_samples(runs, samples, contrasts, has_grid=mean_of is None)
    else:
        gaps, df = _compare_inside_strata(runs.strata, samples)
    together = len(runs.new.languages) if m == 2 else runs.n_cells
    quantile = stdtrit(df, 1 - (1 - (1 - runs.error) ** (1 / together)) / 2)
    return replace(gaps, q=np.where(np.isfinite(gaps.se), quantile, np.nan))


def _gap_contrasts(n_cells: int, m: int, out: list[int]) -> Array:
    """Each judge less the mean of the other judges of its language that are not left out (cells, cells)."""
    contrasts = np.eye(n_cells)
    for i in range(n_cells):
        rest = [j for j in range(i // m * m, i // m * m + m) if j != i and j not in out]
        contrasts[i, rest] = -1 / max(len(rest), 1)
    return contrasts


def _compare_two_samples(
    runs: TwoRuns, samples: list[Array], contrasts: Array, has_grid: bool
) -> tuple[GapChanges, Array]:
    """Two samples, each with its own moderated variance; Welch's degrees of freedom."""
    grid = (len(runs.new.languages), len(runs.new.judges)) if has_grid else None
    tested = []
    for panel, values, x in zip((runs.old, runs.new), runs.values, samples, strict=True):
        rates = (np.where(values.present, values.mean, np.nan) - panel.scale[0]) / panel.width
        prior = pass_prior(rates, panel.units, contrasts) if panel.two_valued else None
        tested.append(interval(x, prior=prior, df=group_df(x, values.seen), grid=grid))
    old, new = tested
    variance = old.se**2 + new.se**2
    with np.errstate(invalid="ignore", divide="ignore"):
        df = variance**2 / (old.se**4 / old.df + new.se**4 / new.df)
    df = np.where(variance > 0, df, 1e9)
    change = new.estimate - old.estimate
    return GapChanges(old.estimate, new.estimate, change, np.sqrt(variance), np.full(len(change), np.nan)), df


def _compare_inside_strata(strata: Strata, samples: list[Array]) -> tuple[GapChanges, Array]:
    """The change inside each stratum, weighed by n1 n2 / (n1 + n2); variances of each sample and stratum, and Welch's
    degrees of freedom, since a stratum of two or three tasks tells little of its variance."""
    old, new = samples
    n_contrasts = old.shape[1]
    before, after, variance = np.zeros(n_contrasts), np.zeros(n_contrasts), np.zeros(n_contrasts)
    total, uncertainty = 0.0, np.zeros(n_contrasts)
    for stratum in strata.shared:
        x, y = old[strata.old == stratum], new[strata.new == stratum]
        weight = len(x) * len(y) / (len(x) + len(y))
        before += weight * x.mean(0)
        after += weight * y.mean(0)
        total += weight
        for sample in (x, y):
            part = weight**2 * sample.var(0, ddof=1) / len(sample)
            variance += part
            uncertainty += part**2 / (len(sample) - 1)
    before, after = before / total, after / total
    df = np.divide(variance**2, uncertainty, out=np.full(n_contrasts, 1e9), where=uncertainty > 0)
    unknown = np.full(n_contrasts, np.nan)
    return GapChanges(before, after, after - before, np.sqrt(variance) / total, unknown), df


# --- sentences ---


@dataclass(frozen=True)
class OtherTasks:
    """What is said of other tasks, and how much is ruled out."""

    named: NamedGaps
    changed_mask: Mask
    findings: list[Finding]
    limit: float
    detectable: float


def describe_other_tasks(runs: TwoRuns, matters: float) -> OtherTasks:
    """Which gaps changed, and how far the others may have."""
    panel, m = runs.new, len(runs.new.judges)
    named = find_changed_gaps(runs)
    certain = np.zeros(runs.n_cells, dtype=bool)
    certain[named.changed] = True
    findings = _changed_gap_findings(runs, named, certain, matters)
    for language in named.split:
        at = _changed_in_language(named.first, language, m)
        certain[at] = True
        findings.append(gap_finding(panel, at, named.first.sizes, matters))
    known = np.isfinite(named.first.q)
    has_interval = np.isfinite(named.rest.q)
    unreported = [i for i in range(runs.n_cells) if has_interval[i] and not certain[i] and i // m not in named.split]
    limit, detectable = 0.0, np.nan
    if known.any():
        detectable = float((named.first.se * (named.first.q + POWER))[known].max())
    else:
        text = "These judges share no tasks, so what has changed cannot be told."
        findings.append(Finding("warning", "too-few", text, "Changed"))
    if unreported:
        size = np.abs(named.rest.change) + named.rest.q * named.rest.se
        limit = max(float(size[unreported].max()), runs.blind.size)
        findings.append(_rest_finding(runs, unreported, limit, bool(certain.any()), bool(named.split)))
    coarse = coarse_finding(panel, detectable, matters)
    return OtherTasks(named, certain, [*findings, coarse] if coarse else findings, limit, detectable)


def _changed_gap_findings(runs: TwoRuns, named: NamedGaps, certain: Mask, matters: float) -> list[Finding]:
    """Judges that changed; without a column that sorts tasks, both causes are named."""
    panel = runs.new
    k, m = len(panel.languages), len(panel.judges)

    def mean(cells: NDArray[np.intp]) -> Limits:
        one = compare_gaps(runs, named.changed, cells)
        return float(one.change[0]), float(one.low[0]), float(one.high[0])

    compared_with = "than before, relative to the other judges"
    if runs.strata is not None:
        compared_with += f" and at equal {name(runs.strata.column)}"
    sizes = named.rest.sizes.reshape(3, k, m)
    changes = Changes(sizes, certain.reshape(k, m), mean, matters, compared_with)
    findings = changed_findings(panel, changes)
    if runs.strata is not None:
        return findings
    return [with_both_causes(finding, _is_lower(panel, finding, changes)) for finding in findings]


def _is_lower(panel: Panel, finding: Finding, changes: Changes) -> bool | None:
    """Whether the changes of a finding are all downwards; None where they go both ways."""
    mask = changes.certain_mask.copy()
    if "judge" in finding.where:
        mask &= np.array([judge == finding.where["judge"] for judge in panel.judges])
    if "language" in finding.where:
        mask &= np.array([language == finding.where["language"] for language in panel.languages])[:, None]
    signs = set(np.sign(changes.sizes[0][mask]).tolist())
    return (signs == {-1.0}) if len(signs) == 1 else None


def _changed_in_language(first: GapChanges, language: int, m: int) -> list[int]:
    """Cells of a language whose gaps certainly changed, the largest first; one of two."""
    size = np.where(first.clear_mask, np.abs(first.change), -1.0)[language * m :][:m]
    n_shown = max(int((size > 0).sum()), 1) if m > 2 else 1
    return [language * m + int(i) for i in np.argsort(-size, kind="stable")[:n_shown]]


def _rest_finding(runs: TwoRuns, unreported: list[int], limit: float, any_changed: bool, any_split: bool) -> Finding:
    """How far the gaps that are not reported may have changed."""
    panel = runs.new
    where = ""
    if any_split:
        languages = sorted({i // len(panel.judges) for i in unreported})
        where = f" in {places(panel, languages)}"
    if any_changed:
        return everything_else_finding(panel, limit, runs.blind, where)
    return quiet_finding(panel, limit, runs.blind, "'s gap to the other judges")
