"""The audit: the results a person needs together, with findings in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.estimate.bands import Uncertainty, uncertainty
from polyjudge.second.estimate.identify import identified_design
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.estimate.label_design import labels_expected
from polyjudge.second.estimate.levels import asks, latent_cells
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.panel.contents import Summary
from polyjudge.second.panel.errors import PanelError, TooWide, UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import Stages, stages
from polyjudge.second.panel.records import plain
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions import audit as own
from polyjudge.second.questions.audit.advise import Advice, Goal, advise, check_goal
from polyjudge.second.questions.audit.conclusions import conclude
from polyjudge.second.questions.audit.explanation import Explanation, distribution, explain
from polyjudge.second.questions.audit.matters import Certificate, certificate, what_matters
from polyjudge.second.questions.audit.orders import RankReversals, TiedSets, order_judges, rank_reversals, tied_sets
from polyjudge.second.questions.audit.pass_rates import Gates, gates, means_inside
from polyjudge.second.questions.audit.robustness import Sensitivity, sensitivity
from polyjudge.second.questions.audit.variation import Variance, language_effect, main_effect, variance
from polyjudge.second.questions.compare.held_out import Comparison, compare
from polyjudge.second.questions.systems.signal import Signal, signal
from polyjudge.second.read.spoken import read_texts
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding, ranked

if TYPE_CHECKING:  # what not every panel asks for is loaded when it is asked for
    from polyjudge.second.estimate.levels import Latent
    from polyjudge.second.questions.audit.latent import Bounded
    from polyjudge.second.questions.audit.missing import Missingness
    from polyjudge.second.questions.position import Position
    from polyjudge.second.questions.probe.reaction import Probe
    from polyjudge.second.questions.systems.systems import Systems

STAGES = 11
"""Analyses of every audit: the length of its progress bar, but for a gate, levels and missing scores."""
CAVEATS = (say("caveat.leniency"), say("caveat.shared-shift"), say("caveat.unseen"), say("caveat.tasks"))


class Inside(Result):
    """What an audit finds inside languages: all that there is where one language, one judge or languages without common
    tasks leave nothing to compare between them. What needs that is None, and `left_out` says why."""

    summary: Summary
    systems: Systems | None = None
    """Whether the judges agree about the systems, who wins and who favours whom; None for a panel without systems, or
    with too many judges to compare."""
    signal: Signal | None = None
    """Whether the judges agree about what they judge; None where too many judges would have to be compared."""
    position: Position | None = None
    """Whether the judges follow the order of showing; None unless the scores are verdicts on pairs in both orders."""
    left_out: dict[str, Say] = field(default_factory=dict)
    """Part -> why it could not be had."""
    means: pd.DataFrame | None = None
    """Inside languages: language, judge, mean, low, high, tasks; with a gate pass_rate, pass_low, pass_high."""
    threshold: float | None = None
    goal: Goal | None = None
    seed: int
    level: float
    calibrator: ConsensusCalibrator | None = None
    language_effect: pd.DataFrame | None = None
    judge_effect: pd.DataFrame | None = None
    uncertainty: Uncertainty | None = None
    explanation: Explanation | None = None
    certificate: Certificate | None = None
    held_out: Comparison | None = None
    sensitivity: Sensitivity | None = None
    distribution: pd.DataFrame | None = None
    reversals: RankReversals | None = None
    ranks: TiedSets | None = None
    variance: Variance | None = None
    gates: Gates | None = None
    """Pass rates; None unless a threshold was given."""
    missingness: Missingness | None = None
    """Where scores are missing and whether that depends on the cell; None for a complete panel."""
    bounded: Bounded | None = None
    """The interaction on a scale without ends; None where the scale does not ask for it."""
    probes: Probe | None = None
    """Whether the judges notice damage, and what that makes of the interaction; None without probes."""
    labels: int | None = None
    """Labels a language that would bring its mean to +-`labels_within` of the scale if people differ from the panel as
    a judge does from the others; None where that cannot be told."""
    labels_within: float | None = None
    answers: pd.DataFrame | None = None
    """`explanation.worst` with the texts that could be had: prompt, response, reason; None where there are none."""

    @property
    def constant(self) -> bool:
        """Whether all scores are equal."""
        return self.summary.constant

    @cached_property
    def concluded(self) -> list[Finding]:
        """What the sections say, most severe first."""
        return conclude(self)

    @cached_property
    def advice(self) -> Advice:
        """Verdict, what follows for each use, and what to do next."""
        return advise(self)

    @cached_property
    def findings(self) -> list[Finding]:
        """The verdict and what the sections say, most severe first."""
        verdict = [f for f in self.advice.verdict if isinstance(f, Finding)]
        return ranked([*verdict, *(f for f in self.concluded if f not in verdict)])

    @property
    def caveats(self) -> tuple[Say, ...]:
        """What no audit of scores can show."""
        found = () if self.labels is None else (say("caveat.labels", labels=self.labels, within=self.labels_within),)
        return (*CAVEATS, *found)

    def to_frame(self) -> pd.DataFrame:
        """The findings."""
        return pd.DataFrame([(f.severity, f.code, f.text) for f in self.findings], columns=["severity", "code", "text"])

    def to_dict(self) -> dict[str, Any]:
        derived = {name: plain(getattr(self, name)) for name in ("findings", "advice", "caveats")}
        stored = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__ if name != "calibrator"}
        return {**derived, **stored, "calibrator": None if self.calibrator is None else self.calibrator.to_dict()}


class Audit(Inside):
    """Everything an audit found. Each section is a result of its own; a section that could not be had is None and
    `left_out` says why: what compares every two of thousands is left out, all else is there."""

    calibrator: ConsensusCalibrator
    language_effect: pd.DataFrame | None
    """The shared shift of each language, with interval: language, effect, se, low, high; by the median over judges:
    median, median_low, median_high; odd (the judge farthest from it), disagrees. Calibration leaves it in. None where
    no tasks join the languages: their tasks may be easier."""
    judge_effect: pd.DataFrame
    """Overall mean of each judge less the grand mean, with interval: judge, effect, se, low, high, rank."""
    uncertainty: Uncertainty
    explanation: Explanation
    """Which cells are off."""
    certificate: Certificate
    """How far a gap between two judges may change between languages."""
    held_out: Comparison
    sensitivity: Sensitivity
    distribution: pd.DataFrame
    """Shares of scores by cell: language, judge, low, high, share."""
    cell: tuple[str, str] | None = None
    """The language and judge that were asked for."""
    matters_said: bool = False
    """Whether the user said what matters."""


def audit(
    panel: Panel,
    *,
    seed: int = 7,
    resamples: int = 1000,
    level: float = 0.95,
    threshold: float | None = None,
    at_least: bool = False,
    sweep: Sequence[float] = (),
    base: str | None = None,
    matters: float | None = None,
    goal: Goal | None = None,
    cell: tuple[str, str] | None = None,
    items: Any = None,
    probes: Panel | None = None,
) -> Audit | Inside:
    """Audit a panel: does language change the judges' ranking, how much, where, and how sure is that?

    seed : of everything random; the same seed gives the same audit
    resamples : task bootstraps behind bands, intervals and rank probabilities
    level : confidence level of every interval; of an adaptive collection, of each interval over all looks together
    threshold : a gate; with one, pass rates are audited as well
    at_least : whether a task passes the gate at the threshold itself
    sweep : more thresholds to measure the spread of pass rates at
    base : language that the gate contrasts with the others
    matters : smallest effect in points that counts; 2% of the scale unless given
    goal : what the panel is used for: "compare-systems", "gate", "rank-judges", "best-judge-per-language" or
        "panel-mean". The advice is then about that alone
    cell : (language, judge) to describe, whether it is off or not
    items : a file or frame with the texts of answers, where the scores' own file has none: task, and language, system,
        judge where texts differ by them; prompt, response, reason
    probes : scores of probes (clean, damaged and placebo versions as systems): they tell severity from blindness and
        competence, and the advice about calibrating follows them

    >>> from polyjudge.second import simulate_panel
    >>> audit(simulate_panel(seed=1)[0]).findings[0].severity
    'serious'
    """
    check_level(level)
    if threshold is None and (base is not None or len(sweep) or check_goal(goal) == "gate"):
        raise UsageError("A gate needs its pass mark: give a threshold too (--at).")
    check_goal(goal)
    if min(panel.shape[1:]) < 2 or (panel.apart and not _comparable(panel)):
        if cell is not None:
            raise UsageError("A cell (--cell) is held against other judges and languages: it takes two of each.")
        sources = {"items": items, "probes": probes, "matters": matters}
        return _inside(panel, goal, (threshold, at_least), sources, level=level, resamples=resamples, seed=seed)
    gate = None if threshold is None else {"threshold": threshold, "at_least": at_least, "sweep": sweep, "base": base}
    asked = {"cell": cell, "goal": goal, "matters_said": matters is not None}
    drawn = {"resamples": resamples, "seed": seed}
    return _crossed(panel, what_matters(panel, matters), level, drawn, gate, asked, items, probes)


def _comparable(panel: Panel) -> bool:
    """Whether the judges of each language share answers."""
    try:
        return identified_design(panel) is not None
    except TooWide:
        return False


def _crossed(
    panel: Panel,
    matters: float,
    level: float,
    drawn: dict[str, Any],
    gate: dict[str, Any] | None,
    asked: dict[str, Any],
    items: Any,
    probes: Panel | None,
) -> Audit:
    """The audit of a panel whose languages and judges can be compared."""
    lacks = not (panel.whole or panel.looks)
    levels = asks(panel) is not None
    common: dict[str, Any] = {"level": level, **drawn}
    with stages(STAGES + (gate is not None) + 2 * levels + lacks) as run:
        part = _Parts(run)
        judged = _judged(part, panel, items, common)
        bands = run("bands", uncertainty, panel, **common)
        order = part("reversals", order_judges, panel, alpha=1 - level, **drawn)
        model: Latent | None = part("levels", latent_cells, panel, drawn["seed"], refused=True) if levels else None
        given = {"matters": matters, "level": level, "seed": drawn["seed"], "bands": bands, "latent": model}
        found = run("explanation", explain, panel, cell=asked["cell"], **given)
        return Audit(
            summary=Summary.of(panel),
            calibrator=ConsensusCalibrator().fit(panel),
            judge_effect=main_effect(panel, "judge", level),
            uncertainty=bands,
            explanation=found,
            certificate=run("certificate", certificate, panel, matters, level=level, bands=bands),
            held_out=run("held-out ranks", compare, panel, ["raw", "cbc"], **drawn),
            sensitivity=run("sensitivity", sensitivity, panel, threshold=(gate or {}).get("threshold"), **common),
            distribution=distribution(panel, found.cells["named"].to_numpy(dtype=bool).reshape(panel.shape[1:])),
            **judged,
            **({} if order is None else _orders(run, panel, alpha=1 - level, order=order, **drawn)),
            **_between(part, panel, matters, gate, common),
            missingness=run("missing scores", own.missingness, panel, draws=199, seed=drawn["seed"]) if lacks else None,
            bounded=None if model is None else run("levels", own.bounded, panel, linear=bands, latent=model, **common),
            probes=_probed(panel, probes, matters, level),
            left_out=part.left_out,
            answers=_texts(panel, found.worst, items),
            **_labels(panel, matters if asked["matters_said"] else None),
            seed=drawn["seed"],
            level=level,
            **asked,
        )


def _judged(part: _Parts, panel: Panel, items: Any, common: dict[str, Any], refused: bool = False) -> dict[str, Any]:
    """Whether the judges agree, and with systems who wins. First of all: where the judges do not agree about what they
    judge, all else is of little use."""
    alone = placed = None
    if panel.systems:
        from polyjudge.second.questions.systems.systems import systems

        found = part("systems", systems, panel, items=items, **common)
        if found is not None:
            return {"systems": found, "signal": found.signal, "position": found.position}
    else:
        alone = part("signal", signal, panel, refused=refused, **common)
    if panel.shown is not None:
        from polyjudge.second.questions.position import position

        placed = position(panel, level=common["level"])
    return {"signal": alone, "position": placed}


def _orders(run: Stages, panel: Panel, **known: Any) -> dict[str, Any]:
    """Who swaps places, and the ranks."""
    return {
        "reversals": run("reversals", rank_reversals, panel, draws=known["resamples"], **known),
        "ranks": run("ranks", tied_sets, panel, **known),
    }


def _between(
    part: _Parts, panel: Panel, matters: float, gate: dict[str, Any] | None, common: dict[str, Any]
) -> dict[str, Any]:
    """What compares languages task by task, or why not: where no tasks join them, with the pass rates inside each."""
    joined = estimate_interaction(panel).design != "answers"
    if not joined:
        unknown = ["shift", "variance", *(["gates"] if gate is not None else [])]
        part.left_out |= dict.fromkeys(unknown, say("left-out.unjoined"))
    elif panel.replicate_scores is None:
        part.left_out["three-way"] = say("left-out.three-way")
    _without_order(panel, part.left_out)
    level = common["level"]
    if joined:
        return {
            "language_effect": language_effect(panel, matters=matters, **common),
            "variance": part("variance", variance, panel, refused=True, level=level),
            "gates": None if gate is None else part("gates", gates, panel, **gate, **common),
        }
    inside = {} if gate is None else {"threshold": gate["threshold"]}
    if gate is not None:
        inside["means"] = means_inside(panel, level, gate["threshold"], gate["at_least"])
    return {"language_effect": None, **inside}


def _texts(panel: Panel, worst: pd.DataFrame, items: Any) -> pd.DataFrame | None:
    """The answers that move cells most, with their texts."""
    if worst.empty:
        return None
    texts = read_texts(panel, worst, items)
    return pd.concat([worst, texts], axis=1) if len(texts.columns) and texts.notna().to_numpy().any() else None


def _inside(
    panel: Panel, goal: Goal | None, gate: tuple[float | None, bool], sources: dict[str, Any], **common: Any
) -> Inside:
    """The audit of a panel in which nothing can be compared between languages."""
    few = [axis for axis in ("judge", "language") if len(getattr(panel, f"{axis}s")) < 2]
    why = "both" if len(few) == 2 else few[0] if few else "apart"
    with stages(1) as run:
        part = _Parts(run)
        part.left_out["languages"] = say("left-out.inside", why=why, judges=panel.judges, languages=panel.languages)
        judged = _judged(part, panel, sources["items"], common, refused=True)
        _without_order(panel, part.left_out)
    level = common["level"]
    return Inside(
        summary=Summary.of(panel),
        **judged,
        left_out=part.left_out,
        means=means_inside(panel, level, *gate),
        threshold=gate[0],
        goal=goal,
        seed=common["seed"],
        level=level,
        probes=_probed(panel, sources["probes"], what_matters(panel, sources["matters"]), level, 1),
        **_labels(panel, sources["matters"]),
    )


def _labels(panel: Panel, matters: float | None) -> dict[str, Any]:
    """How many labels to begin with: for what matters, or as `anchor` for 5% of the scale."""
    low, high = panel.range
    within = 0.05 * (high - low) if matters is None else matters
    return {"labels": labels_expected(panel, within), "labels_within": within / (high - low) if high > low else 0.05}


def _without_order(panel: Panel, left_out: dict[str, Say]) -> None:
    """Of pairs in one order only: what cannot be told, and what would."""
    if panel.order_known is False:
        left_out["position"] = say("position.unknown")


class _Parts:
    """Analyses that a panel may be too wide for: None, and why in `left_out`."""

    def __init__(self, run: Stages) -> None:
        self.run, self.left_out = run, dict[str, Say]()

    def __call__(self, name: str, analysis: Any, panel: Panel, *at: Any, refused: bool = False, **how: Any) -> Any:
        """refused : any other refusal is said too; without it the refusal is an error of the audit"""
        try:
            return self.run(name, analysis, panel, *at, **how)
        except PanelError as error:
            if not refused and not isinstance(error, TooWide):
                raise
            self.left_out[name] = say("left-out.refused", text=str(error))
            return None


def _probed(panel: Panel, probes: Panel | None, matters: float, level: float, least: int = 2) -> Probe | None:
    """The reading of probes for the languages and judges that the panel has."""
    if probes is None:
        return None
    languages = [x for x in panel.languages if x in probes.languages]
    judges = [x for x in panel.judges if x in probes.judges]
    if min(len(languages), len(judges)) < least:
        raise PanelError(
            f"The probes share {len(languages)} languages and {len(judges)} judges with the scores; {least} of each "
            "are needed. Probe the judges of this panel, in its languages."
        )
    from polyjudge.second.questions.probe.reaction import probe

    return probe(probes.select(languages=languages, judges=judges), audit=panel, matters=matters, level=level)
