"""Does each judge notice damage in each language, and what does that say of the interaction? (docs/methods.md, 20)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.bands import uncertainty
from polyjudge.second.estimate.resample import check_level, mean_of_known
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.probe.versions import VERSION
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding

SEES, BLIND = 0.1, 0.4
"""A judge sees where its reaction is surely above this share of the usual one, and is blind where it is surely below
that share: surely for all cells together."""
AT_END = 0.25
"""From this share of clean responses at an end of the scale on a small reaction says nothing: there is no room."""
ACCUSED = 0.01
"""Chance that some judge of a panel is said to follow form, or to be swayed, that is not."""
VERDICTS = ("severity", "blind", "competence", "cannot tell")


class Probe(Result):
    """How judges react to damage, and to what must not matter.

    cells : language, judge, reaction (fall of the score for each step of severity) with low and high, false_reaction
        (change under placebo) with low and high, false (bool: it surely moves under placebo), sensitivity (chance that
        the clean version scores above a damaged one, ties half) with low and high, at_end (share of clean versions at
        an end of the scale), sight ("sees", "blind", "cannot tell"), interaction (NaN with one language or judge),
        large (bool: it matters), verdict (of large ones: "severity", "blind", "competence", "cannot tell")
    judges : judge, false_reaction over all languages with low and high, false (bool: it, or one of its cells, surely
        moves under placebo)
    susceptibility : kind ("plea-own", "plea-english", "padding"), language ("(all)": over all), judge, rise (of the
        score over the clean version) with low and high, rises (bool: surely, all rows together)
    """

    cells: pd.DataFrame
    judges: pd.DataFrame
    susceptibility: pd.DataFrame
    usual: float
    """The usual reaction, in points for each step: the mean of the cells that surely react."""
    usual_low: float
    tasks: int
    severities: tuple[int, ...]
    placebos: int
    level: float
    matters: float
    own_interaction: bool
    """Whether the interaction is that of the clean versions, not of an audit."""
    findings: tuple[Finding, ...]

    @property
    def counted(self) -> dict[str, Any]:
        """How many deviations that matter have which reading, the places that are blind or competent, and whether
        judges notice damage at all."""
        large = self.cells[self.cells["large"]]
        out: dict[str, Any] = {v.replace(" ", "_"): int((large["verdict"] == v).sum()) for v in VERDICTS}
        for name, column in (("blind", "sight"), ("competence", "verdict")):
            rows = self.cells[self.cells[column] == name]
            out[f"{name}_places"] = list(zip(rows["language"], rows["judge"], strict=True))
        return {**out, "of": len(large), "reacts": bool(self.usual_low > 0)}


def versions(systems: tuple[str, ...]) -> tuple[int, NDArray[np.int64], list[int], dict[int, str]]:
    """Position of the clean version, severity of every version (0 clean, -1 not damaged), positions of placebos, and
    positions and kinds of what must not help."""
    found = [VERSION.fullmatch(s) for s in systems]
    strange = [s for s, m in zip(systems, found, strict=True) if m is None]
    clean = [i for i, m in enumerate(found) if m is not None and m["clean"]]
    severity = np.array([0 if m is None or m["clean"] else int(m["severity"] or -1) for m in found], dtype=np.int64)
    if strange or len(clean) != 1 or not (severity > 0).any():
        wrong = f" {strange[0]!r} is none of them." if strange else ""
        raise PanelError(
            "Probes are read from a panel whose systems are versions: one 'clean', some 'damage-1', 'damage-2', ..., "
            f"placebos 'placebo-...', and 'plea-...' and 'padding'.{wrong} Make them with `polyjudge probe make`, or "
            "name the column: --system."
        )
    placebos = [i for i, m in enumerate(found) if m is not None and m["placebo"]]
    helps = {i: systems[i].lower() for i, m in enumerate(found) if m is not None and (m["plea"] or m["padding"])}
    return clean[0], severity, placebos, helps


def probe(panel: Panel, *, audit: Panel | None = None, matters: float | None = None, level: float = 0.95) -> Probe:
    """Read probes: a panel whose systems are clean, damaged and other versions of the same tasks.

    audit : the panel whose interaction is judged; without it that of the clean versions
    matters : the smallest interaction of interest, in points; 2% of the scale by default
    """
    check_level(level)
    if panel.system_scores is None:
        raise PanelError("Probes are versions of the same tasks: name their column (system=... or --system).")
    clean, severity, placebos, helps = versions(panel.systems)
    low, high = panel.range
    limit = 0.02 * (high - low) if matters is None else matters
    scores = panel.system_scores
    fall = -_slope(scores, np.maximum(severity, 0), severity >= 0)
    reaction, reaction_se, df, _ = _over_tasks(fall, panel)
    if not np.isfinite(reaction).any():
        raise PanelError("No task has both a clean and a damaged version with a score, so no reaction is known.")
    steps = severity > 0
    wins = np.sign(np.where(np.abs(d := scores[:, [clean]] - scores[:, steps]) <= panel.tie_gap, 0.0, d)) / 2 + 0.5
    sensitivity, sense_se, _, _ = _over_tasks(mean_there(wins, 1), panel)
    shift = mean_there(scores[:, placebos], 1) - scores[:, clean]
    wrong, wrong_se, _, skew = _over_tasks(shift, panel)
    t = float(stdtrit(df, (1 + level) / 2))
    moved = _moved(wrong, wrong_se, skew, df, 1 - ACCUSED / 2) & (np.abs(wrong) > limit / 2)
    half = float(stdtrit(df, 1 - together(1 - level, reaction.size))) * reaction_se
    # The usual reaction is that of the cells that surely react, or of all if none does.
    sure = reaction - half > 0
    reacting = fall[:, sure if sure.any() else np.isfinite(fall).any(axis=0)]
    mean, se, _, _ = _over_tasks(mean_there(reacting, 1)[:, None], panel)
    usual, usual_low = float(mean[0]), float(mean[0] - t * se[0])
    at_end = mean_there(_at_end(scores[:, clean], panel), 0)
    sight = _sight(reaction, half, usual, usual_low, at_end >= AT_END)
    beta, large, own = _interaction(audit, panel, clean, limit, level)
    cells = panel.long(
        **_interval("reaction", reaction, t * reaction_se),
        **_interval("false_reaction", wrong, t * wrong_se),
        false=moved,
        **_interval("sensitivity", sensitivity, t * sense_se, (0.0, 1.0), len(panel.tasks)),
        at_end=at_end,
        sight=sight,
        interaction=beta,
        large=large,
        verdict=np.where(large, _verdict(sight), ""),
    )
    judges = _judges(panel, shift, np.atleast_1d(moved.any(axis=0)), limit, level)
    helped = _susceptibility(panel, clean, helps, limit, level)
    return Probe(
        cells=cells,
        judges=judges,
        susceptibility=helped,
        usual=usual,
        usual_low=usual_low,
        tasks=len(panel.tasks),
        severities=tuple(sorted(set(severity[steps].tolist()))),
        placebos=len(placebos),
        level=level,
        matters=limit,
        own_interaction=own,
        findings=_findings(cells, judges, helped, usual_low),
    )


def _slope(scores: Array, severity: NDArray[np.int64], used: NDArray[np.bool_]) -> Array:
    """Least-squares slope over severity in each task, from versions with a score: (n, s, k, m) -> (n, k, m)."""
    part, x = scores[:, used], severity[used].astype(float)[:, None, None]
    there = ~np.isnan(part)
    count = there.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (there * x).sum(axis=1) / count
        apart = np.where(there, x - centre[:, None], 0.0)
        out: Array = (apart * np.nan_to_num(part)).sum(axis=1) / (apart**2).sum(axis=1)
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
    over = _moved(value, se, skew, df, 1 - ACCUSED / 2) & (np.abs(value) > limit / 2)
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
    mean, se, part, _ = mean_of_known(values, panel)
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


def _at_end(scores: Array, panel: Panel) -> Array:
    """1 where a score is the lowest or highest of the scale, NaN where there is none."""
    low, high = panel.range
    return np.where(np.isnan(scores), np.nan, (scores <= low + panel.tie_gap) | (scores >= high - panel.tie_gap))


def _sight(
    reaction: Array, half: Array, usual: float, usual_low: float, at_end: NDArray[np.bool_]
) -> NDArray[np.object_]:
    out = np.full(reaction.shape, "cannot tell", dtype=object)
    if usual_low > 0:
        out[reaction - half > SEES * usual] = "sees"
        out[(reaction + half < BLIND * usual) & ~at_end] = "blind"
    return out


def _susceptibility(panel: Panel, clean: int, helps: dict[int, str], limit: float, level: float) -> pd.DataFrame:
    """Rise of the score under what must not help, for each judge over all languages and in each."""
    names = ("kind", "language", "judge", "rise", "rise_low", "rise_high", "rises")
    scores = panel.system_scores
    if not helps or scores is None:
        return pd.DataFrame(columns=list(names))
    rises = [scores[:, at] - scores[:, clean] for at in helps]
    values = np.stack([np.concatenate([mean_there(r, 1)[:, None], r], axis=1) for r in rises], axis=1)
    value, se, df, skew = _over_tasks(values, panel)  # (kinds, 1 + languages, judges)
    sure = _moved(value, se, skew, df, 1 - ACCUSED) & (value > limit / 2)
    places = [(kind, x, j) for kind in helps.values() for x in (ALL, *panel.languages) for j in panel.judges]
    out = pd.DataFrame(places, columns=list(names[:3])).assign(
        **_interval("rise", value, float(stdtrit(df, (1 + level) / 2)) * se), rises=sure.ravel()
    )
    return out.dropna(subset="rise").reset_index(drop=True)


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


def together(alpha: float, cells: int) -> float:
    """The error that each cell may have so that all have it together: of many blind ones some would seem to react."""
    return alpha / cells


def _interaction(
    audit: Panel | None, panel: Panel, clean: int, limit: float, level: float
) -> tuple[Array, NDArray[np.bool_], bool]:
    """Interaction of every cell, and whether it matters: its band leaves 0 out and it is at least `limit`."""
    source = panel.select(systems=[panel.systems[clean]]) if audit is None else audit
    k, m = len(panel.languages), len(panel.judges)
    there = {*source.languages, *source.judges}
    lacking = [x for x in (*panel.languages, *panel.judges) if x not in there]
    if lacking:
        raise PanelError(f"The audited panel has no {lacking[0]!r}. Probe the languages and judges that it has.")
    if k < 2 or m < 2:
        return np.full((k, m), np.nan), np.zeros((k, m), bool), audit is None
    part = source.select(languages=panel.languages, judges=panel.judges)
    found = uncertainty(part, level=level).cells
    beta = found["interaction"].to_numpy().reshape(k, m)
    clear = found["clear"].to_numpy(dtype=bool).reshape(k, m)
    return beta, clear & (np.abs(beta) >= limit), audit is None


def _findings(cells: pd.DataFrame, judges: pd.DataFrame, helped: pd.DataFrame, usual_low: float) -> tuple[Finding, ...]:
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
    for (kind, judge), rows in helped.groupby(["kind", "judge"], sort=False):
        if rows["rises"].any():
            whole = rows.iloc[0]  # over all languages
            ends = {"value": whole["rise"], "low": whole["rise_low"], "high": whole["rise_high"]}
            there = rows.loc[rows["rises"] & (rows["language"] != ALL), "language"].tolist()
            code = "probe-padding" if str(kind).startswith("padding") else "probe-plea"
            values = {"judge": str(judge), "kind": kind, "languages": there, **ends}
            out.append(Finding(code, values, "warning"))
    return tuple(out)
