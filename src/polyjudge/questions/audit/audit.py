"""The audit: the results a person needs together, with findings in plain words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.calibrate import ConsensusCalibrator
from polyjudge.estimate.bands import Uncertainty, uncertainty
from polyjudge.estimate.resample import check_level
from polyjudge.panel.contents import Summary
from polyjudge.panel.errors import PanelError, TooWide, UsageError
from polyjudge.panel.panel import Panel
from polyjudge.panel.progress import Stages, stages
from polyjudge.panel.records import plain
from polyjudge.panel.say import Say, say
from polyjudge.panel.scale import scale_of
from polyjudge.questions.audit.advise import Advice, Goal, advise, check_goal
from polyjudge.questions.audit.bounded import Bounded, asks, bounded
from polyjudge.questions.audit.conclusions import conclude, weigh
from polyjudge.questions.audit.distribution import distribution
from polyjudge.questions.audit.explain import Explanation, explain
from polyjudge.questions.audit.gates import Gates, gates
from polyjudge.questions.audit.main_effects import judge_effect, language_effect
from polyjudge.questions.audit.matters import Certificate, certificate, what_matters
from polyjudge.questions.audit.missingness import Missingness, missingness
from polyjudge.questions.audit.reversal import RankReversals, rank_reversals
from polyjudge.questions.audit.sensitivity import Sensitivity, sensitivity
from polyjudge.questions.audit.ties import TiedSets, order_judges, tied_sets
from polyjudge.questions.audit.variance import Variance, variance
from polyjudge.questions.compare.held_out import Comparison, compare
from polyjudge.questions.probe.reaction import Probe, probe
from polyjudge.questions.systems.signal import Signal, signal
from polyjudge.questions.systems.systems import Systems, systems
from polyjudge.report.result import Result
from polyjudge.report.sections import Finding, ranked

STAGES = 12
"""Analyses of every audit: the length of its progress bar, but for a gate and missing scores."""
CAVEATS = (say("caveat.leniency"), say("caveat.shared-shift"), say("caveat.unseen"), say("caveat.tasks"))


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Audit(Result):
    """Everything an audit found. Each section is a result of its own; a section that could not be had is None and
    `left_out` says why: what compares every two of thousands is left out, all else is there."""

    summary: Summary
    calibrator: ConsensusCalibrator
    language_effect: pd.DataFrame
    """The shared shift of each language, with interval: language, effect, se, low, high; by the median over judges:
    median, median_low, median_high; odd (the judge farthest from it), disagrees. Calibration leaves it in."""
    judge_effect: pd.DataFrame
    """Overall mean of each judge less the grand mean, with interval: judge, effect, se, low, high, rank."""
    uncertainty: Uncertainty
    reversals: RankReversals | None
    ranks: TiedSets | None
    held_out: Comparison
    variance: Variance | None
    sensitivity: Sensitivity
    gates: Gates | None
    gate_spread: pd.DataFrame | None
    """Spread of pass rates over languages at thresholds across the scale: the `sweep` of `gates`."""
    caveats: tuple[Say, ...]
    seed: int
    level: float
    explanation: Explanation
    """Which places are off."""
    certificate: Certificate
    """How far any judge can be off in any language."""
    signal: Signal | None
    """Whether the judges see what they judge; None where too many judges would have to be compared."""
    advice: Advice
    """Verdict, what follows for each use, and what to do next."""
    distribution: pd.DataFrame
    """Shares of scores by place: language, judge, low, high, share."""
    missingness: Missingness | None = None
    """Where scores are missing and whether that depends on the cell; None for a complete panel."""
    bounded: Bounded | None = None
    """The interaction on a scale without ends; None where the scale does not ask for it."""
    systems: Systems | None = None
    """Whether the judges see the systems, who wins and who favours whom; None for a panel without systems, or with too
    many judges to compare."""
    probes: Probe | None = None
    """Whether the judges notice damage, and what that makes of the interaction; None without probes."""
    left_out: dict[str, Say | str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def to_frame(self) -> pd.DataFrame:
        """The findings."""
        return pd.DataFrame([(f.severity, f.code, f.text) for f in self.findings], columns=["severity", "code", "text"])

    def to_dict(self) -> dict[str, Any]:
        out = {
            name: plain(getattr(self, name))
            for name in self.__dataclass_fields__
            if name not in ("calibrator", "findings")
        }
        out["calibrator"] = self.calibrator.to_dict()
        return {"findings": plain(self.findings), **out}


def audit(
    panel: Panel,
    *,
    seed: int = 7,
    resamples: int = 1000,
    level: float = 0.95,
    threshold: float | None = None,
    at_least: bool = False,
    base: str | None = None,
    matters: float | None = None,
    goal: Goal | None = None,
    probes: Panel | None = None,
) -> Audit:
    """Audit a panel: does language change the judges' ranking, how much, where, and how sure is that?

    Parameters
    ----------
    seed : of everything random; the same seed gives the same audit
    resamples : task bootstraps behind bands, intervals and rank probabilities
    level : confidence level of every interval; of an adaptive collection, of each interval over all looks together
    threshold : a gate; with one, pass rates are audited as well
    at_least : whether a task passes the gate at the threshold itself
    base : language that the gate contrasts with the others
    matters : smallest effect in points that counts; 2% of the scale unless given
    goal : what the panel is used for: "compare-systems", "gate", "rank-judges", "best-judge-per-language" or
        "panel-mean". The advice is then about that alone
    probes : scores of probes (clean, damaged and placebo versions as systems): they tell severity from blindness and
        competence, and the advice about calibrating follows them

    >>> from polyjudge import simulate_panel
    >>> audit(simulate_panel(seed=1)[0]).findings[0].severity
    'serious'
    """
    check_level(level)
    if base is not None and threshold is None:
        raise UsageError("A base language needs a gate: give a threshold too (--at).")
    if check_goal(goal) == "gate" and threshold is None:
        raise UsageError("The goal gate needs its pass mark: give a threshold too (--at).")
    matters = what_matters(panel, matters)
    calibrator = ConsensusCalibrator().fit(panel)
    with stages(STAGES + (threshold is not None) + _lacks(panel)) as run:
        sections, left_out, gate_spread = _sections(panel, run, seed, resamples, level, (threshold, at_least, base))
        bands = sections["uncertainty"]
        explanation = run("explanation", explain, panel, matters=matters, level=level, seed=seed, bands=bands)
        judged: Systems | None = sections["systems"]
        seen = None if judged is None else judged.signal
        if not panel.systems:
            seen = _part(left_out, run, "signal", signal, panel, level=level, resamples=resamples, seed=seed)
    shifts = language_effect(panel, level, matters, resamples, seed)
    held = certificate(bands, matters)
    concluded = weigh(conclude(panel, shifts, left_out, **sections), held, scale_of(panel))
    swap = next((f for f in concluded if f.code == "reversal"), None)
    probed = _probed(panel, probes, matters, level)
    said = {"swap": swap, "ranks": _ranks(concluded)}
    advice = advise(panel, explanation, held, signal=seen, gates=sections["gates"], goal=goal, probes=probed, **said)
    concluded += () if probed is None else probed.findings
    return Audit(
        explanation=explanation,
        certificate=held,
        signal=seen,
        advice=advice,
        distribution=distribution(panel, explanation.cells["named"].to_numpy(dtype=bool).reshape(panel.shape[1:])),
        summary=Summary.of(panel),
        calibrator=calibrator,
        language_effect=shifts,
        judge_effect=judge_effect(panel, level),
        caveats=CAVEATS,
        seed=seed,
        level=level,
        left_out=left_out,
        findings=ranked([*advice.verdict, *(f for f in concluded if f not in advice.verdict)]),
        gate_spread=gate_spread,
        probes=probed,
        **sections,
    )


def _ranks(found: list[Finding]) -> Finding | None:
    """What a person who compares systems must know: a lead that hangs on a judge, else a change of places."""
    moves = [f for f in found if f.code == "systems-swap-language" and f.severity == "warning"]
    return next((f for f in found if f.code == "systems-hang"), moves[0] if moves else None)


def _probed(panel: Panel, probes: Panel | None, matters: float, level: float) -> Probe | None:
    """The reading of probes for the languages and judges that the panel has."""
    if probes is None:
        return None
    languages = [x for x in panel.languages if x in probes.languages]
    judges = [x for x in panel.judges if x in probes.judges]
    if min(len(languages), len(judges)) < 2:
        raise PanelError(
            f"The probes share {len(languages)} languages and {len(judges)} judges with the scores; two of each are "
            "needed. Probe the judges of this panel, in its languages."
        )
    return probe(probes.select(languages=languages, judges=judges), audit=panel, matters=matters, level=level)


def _sections(
    panel: Panel,
    run: Stages,
    seed: int,
    resamples: int,
    level: float,
    gate: tuple[float | None, bool, str | None],
) -> tuple[dict[str, Any], dict[str, Say | str], pd.DataFrame | None]:
    """The results that stand by themselves, why some could not be had, and the spread of gates over the scale."""
    threshold, at_least, base = gate
    common: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    drawn: dict[str, Any] = {"alpha": 1 - level, "resamples": resamples, "seed": seed}
    absent = ("systems", "reversals", "ranks", "variance", "gates", "missingness", "bounded")
    out: dict[str, Any] = dict.fromkeys(absent)
    left_out: dict[str, Say | str] = {}
    # First of all: where the judges do not see what they judge, all else is of little use.
    if panel.systems:
        out["systems"] = _part(left_out, run, "systems", systems, panel, **common)
    out["uncertainty"] = run("uncertainty", uncertainty, panel, **common)
    order = _part(left_out, run, "rank reversals", order_judges, panel, **drawn)
    if order is not None:
        out["reversals"] = run("rank reversals", rank_reversals, panel, draws=resamples, order=order, **drawn)
        out["ranks"] = run("ranks", tied_sets, panel, order=order, **drawn)
    out["held_out"] = run("held-out ranks", compare, panel, ["raw", "cbc"], resamples=resamples, seed=seed)
    out["sensitivity"] = run("sensitivity", sensitivity, panel, threshold=threshold, **common)
    if asks(panel) is not None:
        linear = out["uncertainty"]
        out["bounded"] = _part(left_out, run, "levels", bounded, panel, linear=linear, refused="bounded", **common)
    if _lacks(panel):
        out["missingness"] = run("missing scores", missingness, panel, draws=199, seed=seed)
    if panel.replicate_scores is None:
        left_out["three-way test"] = say("left-out.three-way")
    out["variance"] = _part(left_out, run, "variance", variance, panel, refused="variance", level=level)
    if threshold is not None:
        out["gates"] = _part(left_out, run, "gate", gates, panel, threshold, at_least=at_least, base=base, **common)
    low, high = panel.range
    if high - low > panel.tie_gap:
        across = low + (high - low) * np.arange(1, 10) / 10
        spread = _part(left_out, run, "gate spread", gates, panel, across[4], sweep=across, **common)
        return out, left_out, None if spread is None else spread.sweep
    left_out["gate spread"] = say("left-out.gate-spread")
    return out, left_out, None


def _lacks(panel: Panel) -> bool:
    """Whether scores are missing that were asked for."""
    return not ((panel.complete and panel.systems_complete) or panel.by_design)


def _part(
    left_out: dict[str, Say | str],
    run: Stages,
    name: str,
    analysis: Any,
    panel: Panel,
    *at: Any,
    refused: str | None = None,
    **how: Any,
) -> Any:
    """An analysis of the panel; None, and why, where the panel is too wide for it.

    refused : the part under which any other refusal is said too; without it the refusal is an error of the audit
    """
    try:
        return run(name, analysis, panel, *at, **how)
    except PanelError as error:
        if refused is None and not isinstance(error, TooWide):
            raise
        left_out[refused or name] = str(error)
        return None
