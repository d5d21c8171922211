"""Does each judge notice damage in each language, and what does that say of the interaction? (docs/methods.md, 20)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.estimate.bands import uncertainty
from polyjudge.estimate.resample import check_level, mean_of_known
from polyjudge.panel.arrays import Array, mean_there
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel
from polyjudge.questions.probe.versions import VERSION
from polyjudge.report.result import Result
from polyjudge.report.sections import Finding

SEES, BLIND = 0.1, 0.4
"""A judge sees where its reaction is surely (one-sided) above this share of the usual one, and is blind where it is
surely below that share."""
USUAL = 75
"""The usual reaction is this percentile over all cells: blind ones, if not most, do not lower it."""
VERDICTS = ("severity", "blind", "competence", "cannot tell")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Probe(Result):
    """How judges react to damage.

    cells : language, judge, reaction (fall of the score for each step of severity) with low and high, false_reaction
        (change under placebo) with low and high, false (bool: it surely moves under placebo), sensitivity (chance that
        the clean version scores above a damaged one, ties half) with low and high, sight ("sees", "blind", "cannot
        tell"), interaction, large (bool: it matters), verdict (of large ones: "severity", "blind", "competence",
        "cannot tell")
    judges : judge, false_reaction over all languages with low and high, false (bool: it, or one of its cells, surely
        moves under placebo)
    """

    cells: pd.DataFrame
    judges: pd.DataFrame
    usual: float
    """The usual reaction, in points for each step."""
    usual_low: float
    tasks: int
    severities: tuple[int, ...]
    placebos: int
    level: float
    matters: float
    own_interaction: bool
    """Whether the interaction is that of the clean versions, not of an audit."""
    findings: tuple[Finding, ...]


def versions(systems: tuple[str, ...]) -> tuple[int, NDArray[np.int64], list[int]]:
    """Position of the clean version, severity of every version (0 clean, -1 placebo, -2 neither), and placebos."""
    found = [VERSION.fullmatch(s) for s in systems]
    strange = [s for s, m in zip(systems, found, strict=True) if m is None]
    clean = [i for i, m in enumerate(found) if m is not None and m["clean"]]
    others = [0 if m is None or m["clean"] else int(m["severity"] or (-1 if m["placebo"] else -2)) for m in found]
    severity = np.array(others, dtype=np.int64)
    if strange or len(clean) != 1 or not (severity > 0).any():
        wrong = f" {strange[0]!r} is none of them." if strange else ""
        raise PanelError(
            "Probes are read from a panel whose systems are versions: one 'clean', some 'damage-1', 'damage-2', ... "
            f"and placebos 'placebo-...'.{wrong} Make them with `polyjudge probe make`, or name the column: --system."
        )
    return clean[0], severity, np.flatnonzero(severity == -1).tolist()


def probe(panel: Panel, *, audit: Panel | None = None, matters: float | None = None, level: float = 0.95) -> Probe:
    """Read probes: a panel whose systems are clean, damaged and placebo versions of the same tasks.

    Parameters
    ----------
    audit : the panel whose interaction is judged; without it that of the clean versions
    matters : the smallest interaction of interest, in points; 2% of the scale by default
    """
    check_level(level)
    if panel.system_scores is None:
        raise PanelError("Probes are versions of the same tasks: name their column (system=... or --system).")
    clean, severity, placebos = versions(panel.systems)
    low, high = panel.range
    limit = 0.02 * (high - low) if matters is None else matters
    scores = panel.system_scores
    rise = _slope(scores, np.maximum(severity, 0), severity >= 0)
    reaction, reaction_se, df, _ = _over_tasks(-rise, panel)
    steps = severity > 0
    wins = np.sign(np.where(np.abs(d := scores[:, [clean]] - scores[:, steps]) <= panel.tie_gap, 0.0, d)) / 2 + 0.5
    sensitivity, sense_se, _, _ = _over_tasks(mean_there(wins, 1), panel)
    shift = (
        mean_there(scores[:, placebos], 1) - scores[:, clean] if placebos else np.full(scores[:, clean].shape, np.nan)
    )
    wrong, wrong_se, _, skew = _over_tasks(shift, panel)
    t = float(stdtrit(df, (1 + level) / 2))
    half = (1 + level) / 2  # cells and judges share the chance of a false alarm
    moved = _moved(wrong, wrong_se, skew, df, half) & (np.abs(wrong) > limit / 2)
    judges = _judges(panel, shift, np.atleast_1d(moved.any(axis=0)), limit, level)
    usual, usual_low = _usual(reaction, reaction_se, t)
    sight = _sight(reaction, float(stdtrit(df, level)) * reaction_se, usual, usual_low)
    beta, large, own = _interaction(audit, panel, clean, limit, level)
    cells = panel.long(
        **_interval("reaction", reaction, t * reaction_se),
        **_interval("false_reaction", wrong, t * wrong_se),
        false=moved,
        **_interval("sensitivity", sensitivity, t * sense_se, (0.0, 1.0), len(panel.tasks)),
        sight=sight,
        interaction=beta,
        large=large,
        verdict=np.where(large, _verdict(sight), ""),
    )
    return Probe(
        cells=cells,
        judges=judges,
        usual=usual,
        usual_low=usual_low,
        tasks=len(panel.tasks),
        severities=tuple(sorted(set(severity[steps].tolist()))),
        placebos=len(placebos),
        level=level,
        matters=limit,
        own_interaction=own,
        findings=_findings(cells, judges, usual_low),
    )


def _slope(scores: Array, severity: NDArray[np.int64], used: NDArray[np.bool_]) -> Array:
    """Least-squares slope over severity in each task, from versions with a score: (n, s, k, m) -> (n, k, m)."""
    part, x = scores[:, used], severity[used].astype(float)[:, None, None]
    there = ~np.isnan(part)
    count = there.sum(axis=1)
    value = np.where(there, part, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (there * x).sum(axis=1) / count
        apart = np.where(there, x - centre[:, None], 0.0)
        out: Array = (apart * value).sum(axis=1) / (apart**2).sum(axis=1)
    return np.where((apart**2).sum(axis=1) > 0, out, np.nan)


def _moved(value: Array, se: Array, skew: Array, df: int, level: float) -> NDArray[np.bool_]:
    """Cells that surely differ from 0, all of them together; also after Johnson's correction for skewness."""
    critical = stdtrit(df, 1 - (1 - level) / (2 * value.size))
    with np.errstate(invalid="ignore", divide="ignore"):
        t = value / se
        corrected = t + skew / (6 * np.sqrt(df + 1)) * (1 + 2 * t**2)
        out: NDArray[np.bool_] = (np.abs(t) > critical) & (np.abs(corrected) > critical)
    return out


def _judges(panel: Panel, shift: Array, cells: NDArray[np.bool_], limit: float, level: float) -> pd.DataFrame:
    """What placebos do to each judge over all languages: a liking for form, such as length, shows sooner there."""
    value, se, df, skew = _over_tasks(mean_there(shift, 1)[:, None], panel)
    over = _moved(value, se, skew, df, (1 + level) / 2) & (np.abs(value) > limit / 2)
    half = float(stdtrit(df, (1 + level) / 2)) * se
    return pd.DataFrame(
        {
            "judge": np.array(panel.judges, object),
            **_interval("false_reaction", value, half),
            "false": over.ravel() | cells,
        }
    )


def _over_tasks(values: Array, panel: Panel) -> tuple[Array, Array, int, Array]:
    """Weighted mean over tasks that have a value, its standard error over clusters, degrees of freedom, skewness."""
    mean, se, part = mean_of_known(values, panel)
    g = len(part)
    with np.errstate(invalid="ignore", divide="ignore"):
        third = (part**3).sum(axis=0) / (part**2).sum(axis=0) ** 1.5
        skew = np.nan_to_num(np.sqrt(max(g - 1, 1)) * g / max(g - 2, 1) * third)
    return mean, se, max(g - 1, 1), skew


def _interval(
    name: str, value: Array, half: Array, limits: tuple[float, float] | None = None, tasks: int = 0
) -> dict[str, Array]:
    """Columns NAME, NAME_low and NAME_high. A share that no task moves has no spread: one task more could move it."""
    if limits is not None:
        half = np.maximum(half, 1 / (tasks + 2) * (half == 0))
    ends = [value - half, value + half]
    if limits is not None:
        ends = [np.clip(end, *limits) for end in ends]
    return {name: value.ravel(), f"{name}_low": ends[0].ravel(), f"{name}_high": ends[1].ravel()}


def _usual(reaction: Array, se: Array, t: float) -> tuple[float, float]:
    """The usual reaction, and how low it may be: the mean of the cells that react at least so, with their errors."""
    known = np.isfinite(reaction)
    if not known.any():
        raise PanelError("No task has both a clean and a damaged version with a score, so no reaction is known.")
    at = np.percentile(reaction[known], USUAL)
    top = known & (reaction >= at)
    error = float(np.sqrt((se[top] ** 2).mean()))
    return float(at), float(at - t * error)


def _sight(reaction: Array, half: Array, usual: float, usual_low: float) -> NDArray[np.object_]:
    out = np.full(reaction.shape, "cannot tell", dtype=object)
    if usual_low <= 0:  # nobody surely reacts: then nobody sees, if the intervals are short enough to say so
        out[reaction + half < 0.25 * max(usual, 0.0) + 1e-12] = "blind"
        return out
    out[reaction - half > SEES * usual] = "sees"
    out[reaction + half < BLIND * usual] = "blind"
    return out


def _verdict(sight: NDArray[np.object_]) -> NDArray[np.object_]:
    """What explains a large interaction of each cell, from its own sight and that of the others in its language."""
    out = np.full(sight.shape, "cannot tell", dtype=object)
    blind, sees = sight == "blind", sight == "sees"
    m = sight.shape[1]
    others_blind = blind.sum(axis=1, keepdims=True) - blind
    others_see = sees.sum(axis=1, keepdims=True) - sees
    out[blind] = "blind"
    out[sees & (others_see >= (m - 1) / 2)] = "severity"
    out[sees & (others_blind > (m - 1) / 2)] = "competence"
    return out


def _interaction(
    audit: Panel | None, panel: Panel, clean: int, limit: float, level: float
) -> tuple[Array, NDArray[np.bool_], bool]:
    """Interaction of every cell, and whether it matters: its band leaves 0 out and it is at least `limit`."""
    source = panel.select(systems=[panel.systems[clean]]) if audit is None else audit
    k, m = len(panel.languages), len(panel.judges)
    lacking = [*(set(panel.languages) - set(source.languages)), *(set(panel.judges) - set(source.judges))]
    if lacking:
        raise PanelError(f"The audited panel has no {lacking[0]!r}. Probe the languages and judges that it has.")
    part = source.select(languages=panel.languages, judges=panel.judges)
    found = uncertainty(part, level=level).cells
    beta = found["interaction"].to_numpy().reshape(k, m)
    clear = found["clear"].to_numpy(dtype=bool).reshape(k, m)
    return beta, clear & (np.abs(beta) >= limit), audit is None


def _findings(cells: pd.DataFrame, judges: pd.DataFrame, usual_low: float) -> tuple[Finding, ...]:
    def where(rows: pd.DataFrame) -> list[tuple[str, str]]:
        return [(str(r.language), str(r.judge)) for r in rows.itertuples()]

    out = []
    if usual_low <= 0:
        out.append(Finding("probe-no-reaction", {}, "serious"))
    for code, severity, rows in (
        ("probe-blind", "serious", cells[cells["sight"] == "blind"]),
        ("probe-competence", "warning", cells[cells["verdict"] == "competence"]),
        ("probe-severity", "info", cells[cells["verdict"] == "severity"]),
    ):
        if len(rows):
            out.append(Finding(code, {"cells": where(rows), "of": len(cells)}, severity))  # type: ignore[arg-type]
    for r in judges[judges["false"]].itertuples():
        ends = {"value": r.false_reaction, "low": r.false_reaction_low, "high": r.false_reaction_high}
        there = cells[cells["false"] & (cells["judge"] == r.judge)]["language"].tolist()
        out.append(Finding("probe-false-reaction", {"judge": str(r.judge), "languages": there, **ends}, "warning"))
    return tuple(out)
