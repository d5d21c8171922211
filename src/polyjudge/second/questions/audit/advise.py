"""What to do: from what an audit found and what the panel is used for, to a verdict and steps, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Say, Words, say
from polyjudge.second.questions.audit.matters import FEW_TASKS
from polyjudge.second.questions.systems.signal import DISAGREE
from polyjudge.second.questions.systems.view import agreed, sayings
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding, Severity, find

if TYPE_CHECKING:
    from polyjudge.second.questions.audit.audit import Audit, Inside
    from polyjudge.second.questions.position import Position

Goal = Literal["compare-systems", "gate", "rank-judges", "best-judge-per-language", "panel-mean"]
GOALS: tuple[Goal, ...] = get_args(Goal)
State = Literal["blind", "calm", "open", "culprit", "diffuse", "ends", "constant"]
Method = Literal["cbc", "sparse"]
PILED = 0.2
"""A culprit's share at an end of the scale, or missing, is said when it is this much above its judge's elsewhere."""
WORTH = 10
"""More than so many times the tasks are no plan: then what can be ruled out is said, and no number of tasks."""
SCORES = "SCORES"
"""Stands in commands for what was read."""


@dataclass(frozen=True, kw_only=True)
class Advised:
    """A step: why, and the words of the command, in which `SCORES` stands for what was read."""

    why: Say
    command: tuple[str, ...] = ()


class Advice(Result):
    """What the panel is good for, and what to do.

    state : "blind" (the judges do not agree about what they judge), "calm" (no gap changes by what matters), "open"
        (cannot tell yet), "culprit" (few cells are off), "diffuse" (many are), "ends" (only the ends of the scale make
        it look so), or "constant" (all scores are equal)
    method : the calibration that the state calls for; None where none is advised
    verdict : who wins, whether the judges agree, what no panel can tell, what is off
    uses : goal -> what follows for it; all that apply, or the one asked for
    steps : what to do next, most useful first
    """

    state: State
    method: Method | None
    goal: Goal | None
    verdict: tuple[Words, ...]
    uses: dict[str, Say]
    steps: tuple[Advised, ...]


def check_goal(goal: str | None) -> Goal | None:
    """The goal, or an error that lists them."""
    if goal is not None and goal not in GOALS:
        raise UsageError(f"There is no goal {clean(goal)!r}. The goals are {', '.join(GOALS)}.")
    return goal


def advise(a: Inside) -> Advice:
    """Verdict, consequences and steps. Every part is a code with values; the words stand beside.

    >>> import polyjudge.second as pj
    >>> panel, _ = pj.simulate_panel(tasks=400, interaction=0.0, seed=1)
    >>> pj.audit(panel, matters=4.0).advice.state
    'calm'
    """
    if a.constant:
        said = find("warning", "constant", score=a.summary.low)
        return Advice(state="constant", method=None, goal=a.goal, uses={}, steps=(), verdict=(said,))
    blind = a.signal is not None and a.signal.verdict == DISAGREE
    return _inside(a, blind) if a.explanation is None else _crossed(cast("Audit", a), blind)


def _crossed(a: Audit, blind: bool) -> Advice:
    fault = fault_of(a)
    state: State = "blind" if blind else fault
    method: Method | None = (
        "cbc" if fault == "diffuse" else "sparse" if fault == "culprit" and a.explanation.sure else None
    )
    verdict: list[Words] = [*_agreement(a), *_shared(a), *_found(a, fault), *_unjoined(a), *_lacking(a), *_placed(a)]
    uses = _uses(a, state, fault)
    steps = _steps(a, state, fault)
    if a.probes is not None:
        values = a.probes.counted
        grave = not values["reacts"] or values["blind_places"] or values["competence"]
        said = {**values, "tasks": a.probes.tasks}
        verdict.append(Finding("verdict.probes", said, "serious" if grave else "info"))
        uses["rank-judges"] = say("use.one.probed", state=fault, **values)
        uses["best-judge-per-language"] = say("use.best.probed", **values)
        if values["competence"]:
            uses["panel-mean"] = say("use.mean.probed", **values)
        steps = _probe_steps(values, a.explanation.named, steps)
    if a.goal is not None:
        uses = {a.goal: uses[a.goal]}
    else:
        absent = {"compare-systems": not a.summary.systems or blind, "gate": a.gates is None}
        absent["best-judge-per-language"] = a.probes is None  # the step to labels says it
        absent["panel-mean"] = uses["panel-mean"].code == "use.mean.nothing" and fault == "diffuse" and a.probes is None
        uses = {goal: use for goal, use in uses.items() if not absent.get(goal)}
    return Advice(state=state, method=method, goal=a.goal, verdict=tuple(verdict), uses=uses, steps=steps)


def _inside(a: Inside, blind: bool) -> Advice:
    """The same where nothing can be compared between languages."""
    axes = {"judges": len(a.summary.judges), "languages": len(a.summary.languages)}
    compare = say("use.compare.group") if _split(a) else say("use.compare.inside", **axes)
    uses = {"compare-systems": compare} if a.summary.systems and not blind else {}
    if a.goal is not None:
        uses = {a.goal: uses.get(a.goal, say("use.best" if a.goal.startswith("best") else "use.inside"))}
    steps = [_step("step.systems", "systems", SCORES)] if a.summary.systems and not blind else []
    steps.append(_label_step(a))
    inside = find("info", "verdict.inside", **a.left_out["languages"].values)
    verdict: tuple[Words, ...] = (*_agreement(a), *_shared(a), inside, *_placed(a))
    if a.probes is not None:
        from polyjudge.second.questions.probe.view import sayings as noticed

        verdict = (*verdict, noticed(a.probes)[0])
    return Advice(
        state="blind" if blind else "open", method=None, goal=a.goal, verdict=verdict, uses=uses, steps=tuple(steps)
    )


def fault_of(a: Audit) -> State:
    """What is wrong with languages and judges. What does not matter is no fault, however clear it is.

    A cell that matters by either reading, or two judges that surely swap places, veto calm.
    """
    e, c = a.explanation, a.certificate
    # Of the sparse reading only named cells count: the intervals of the others hold one at a time.
    material = c.status == "material" or bool((e.cells["named"] & (e.cells["matter"] == "material")).any())
    if e.latent and e.kind == "none" and c.status != "certified":
        return "ends" if material else "open"
    if material:
        # Of many cells that are off a few stand out only if resamples agree about them.
        return "culprit" if e.named and (e.sure or e.kind != "diffuse") else "diffuse"
    turned = a.reversals is not None and a.reversals.count_selected > 0
    return "calm" if c.status == "certified" and not turned else "open"


def _agreement(a: Inside) -> list[Words]:
    """Who wins and how surely; whether the judges agree with each other. First, for it decides most."""
    if a.systems is not None:
        said = [s for s in sayings(a.systems) if s.code not in ("systems.no-swap", "systems.shared-error")]
        first: list[Words] = [s for s in said if s.code == "systems.top"]  # who wins
        return [*first, *(s for s in said if s not in first)]
    if a.signal is None:
        return []
    lost: list[Words] = [f for f in a.signal.findings if f.code in ("signal-disagree", "signal-judge-odd")]
    if a.position is None:
        return lost[:1] or [agreed(a.signal)]
    one = agreed(a.signal)  # of verdicts on two systems: the margin of a task says who won it
    return [_won(a.position), *(lost[:1] or [say(one.code, **{**one.values, "pairs": True})])]


def _won(position: Position) -> Say:
    """Which of the systems wins most verdicts, with both orders in balance."""
    first, second = (row for _, row in position.systems.sort_values("balanced", ascending=False).head(2).iterrows())
    share = {name: float(first[f"balanced{name}"]) * 100 for name in ("", "_low", "_high")}
    names = {"first": first["system"], "second": second["system"], "sure": not second["top_set"]}
    return say("verdict.won", lead=share[""], low=share["_low"], high=share["_high"], **names)


def _shared(a: Inside) -> list[Finding]:
    """What no panel can tell: an error that all judges share. Of one maker, or two judges, it is said already."""
    if a.signal is not None and a.signal.why in ("one maker", "two judges", "one judge"):
        return []
    return [find("info", "verdict.shared")]


def _unjoined(a: Audit) -> list[Finding]:
    """Without common tasks a language cannot be told from its tasks."""
    return [find("info", "verdict.unjoined")] if "shift" in a.left_out else []


def _lacking(a: Inside) -> list[Say]:
    """Scores that are missing in one place more than in others, in short: the finding stands among the findings."""
    if a.missingness is None or not any(f.code == "missing-scores" and f.weight > 1 for f in a.concluded):
        return []
    worst = next(n.values for n in a.missingness.notes if n.code in ("missing.together", "missing.one-holder"))
    said = {name: worst[name] for name in ("judge", "language", "worst", "overall")}
    return [say("verdict.missing", **said)]


def _placed(a: Inside) -> list[Finding]:
    """A judge that follows the place of an answer."""
    return [f for f in a.concluded if f.code == "position" and f.severity == "warning"]


def _found(a: Audit, fault: State) -> list[Finding]:
    """What is off with the languages and judges."""
    e, c = a.explanation, a.certificate
    common: dict[str, Any] = {"delta": c.delta * e.factor, "matters": c.matters * e.factor, "level": c.level}
    common |= {"cells": len(c.cells), "tasks": c.tasks, "unit": e.unit, "clear": e.clear}
    out: list[Finding] = []
    if fault == "calm":
        out.append(Finding("verdict.calm", common, "info", "negligible"))
    elif fault == "open":
        within = c.status == "certified"
        out.append(Finding("verdict.calm" if within else "verdict.open", common, "notice", "open"))
    elif fault == "ends":
        out.append(Finding("verdict.ends", common, "notice", "open"))
    elif fault == "culprit":
        kind = "cell" if e.kind in ("diffuse", "none") else e.kind
        out.append(Finding(f"verdict.{kind}", _culprit(e), "serious", "material"))
    if fault == "diffuse" or (fault == "culprit" and e.kind == "diffuse"):
        judges = c.cells.loc[c.cells["matter"] == "material", "judge"].drop_duplicates().tolist()
        # With a culprit its traces in other cells are no faults of theirs.
        also = fault == "culprit"
        count = e.material_without if also else c.counts["material"]
        values = {**common, "count": count, "judges": judges, "panel": len(a.summary.judges), "also": also}
        if not count and not also:
            out.append(Finding("verdict.gap", {**common, **_gap(a)}, "serious", "material"))
        elif count:
            out.append(Finding("verdict.diffuse", values, "warning" if also else "serious", "material"))
    if len(a.summary.judges) == 2 and fault in ("culprit", "diffuse"):
        out.append(find("notice", "verdict.two-judges", judges=list(a.summary.judges)))
    swap = next((f for f in a.concluded if f.code == "reversal"), None)
    if swap is not None and fault in ("diffuse", "open") and (swap.matter == "material" or fault == "open"):
        gaps = {n: swap.values[n] * e.factor for n in ("gap_above", "gap_below")}
        severity: Severity = "serious" if fault == "diffuse" else "notice"
        out.append(Finding("verdict.swap", {**swap.values, **gaps, "unit": e.unit}, severity, swap.matter))
    return out


def _gap(a: Audit) -> dict[str, Any]:
    """The gap that surely changes most: who is how much further above whom, and where."""
    v, factor = a.certificate.change, a.explanation.factor
    turned = v["change"] < 0
    out = {"above": v["language_b" if turned else "language_a"], "below": v["language_a" if turned else "language_b"]}
    size = {"change": abs(v["change"]) * factor, "low": v["low"] * factor, "high": v["high"] * factor}
    return {"judge_i": v["judge_i"], "judge_j": v["judge_j"], **out, **size}


def _culprit(e: Any) -> dict[str, Any]:
    """The furthest named cell with its numbers, and all that are named."""
    first = e.named_cells.iloc[0]
    out: dict[str, Any] = {name: first[name] for name in ("language", "judge")}
    out |= {name: float(first[name]) * e.factor for name in ("excess", "low", "high")}
    out |= {"named": e.named, "unit": e.unit, "share": float(e.named_cells["share"].min()), "sure": e.sure}
    out["piled"] = None
    for name, end in (("missing", None), ("floor", e.scale.low), ("ceiling", e.scale.high)):
        share, elsewhere = float(first[name]), float(first[f"{name}_elsewhere"])
        # Two values are always at an end of their scale.
        if share - elsewhere >= PILED and not (e.scale.kind == "binary" and end is not None):
            out["piled"] = {"what": name, "end": end, "share": share, "elsewhere": elsewhere}
            break
    return out


def _uses(a: Audit, state: State, fault: State) -> dict[str, Say]:
    """What follows for each use of the panel."""
    e, c = a.explanation, a.certificate
    few = fault == "diffuse" and a.summary.tasks < FEW_TASKS
    said: dict[str, Any] = {"tasks": a.summary.tasks, "delta": c.delta * e.factor, "unit": e.unit, "sure": e.sure}
    said["matters"] = c.matters * e.factor
    if fault == "diffuse" and a.held_out.advice is not None:
        gain = a.held_out.advice
        said |= {"advised": gain.calibrate, **{n: gain.text.values.get(n) for n in CLOSER}, "factor": e.factor}
    return {
        "compare-systems": _compare(a, state),
        "gate": _gate(a, state, fault),
        "rank-judges": say(f"use.one.{'few' if few else fault}", blind=state == "blind", **said),
        "best-judge-per-language": say("use.best"),
        "panel-mean": _mean(a, state, fault),
    }


CLOSER = ("closer", "closer_low", "closer_high")


def _compare(a: Audit, state: State) -> Say:
    if state == "blind":
        return say("use.compare.blind", systems=len(a.summary.systems))
    if not a.summary.systems:
        return say("use.compare.none")
    if _split(a):
        return say("use.compare.group")
    return say("use.compare.mean" if a.summary.whole else "use.compare.missing")


def _split(a: Inside) -> bool:
    """Some judges agree about the systems, the others do not."""
    return a.signal is not None and not a.signal.by_task and a.signal.why == "group"


def _gate(a: Audit, state: State, fault: State) -> Say:
    g = a.gates
    if g is None:  # without a pass mark it is not shown
        return a.left_out.get("gates", say("use.inside"))
    values: dict[str, Any] = {"flips": g.flips, "decisions": g.decisions, "share": g.flip_share, "low": g.flip_low}
    values |= {"high": g.flip_high, "narrows": bool(g.held_out_low > 0), "mark": g.threshold, "at_least": g.at_least}
    values |= {"levels": a.explanation.scale.kind in ("binary", "likert"), "sure": a.explanation.sure}
    return say(f"use.gate.{'blind' if state == 'blind' else fault}", **values)


def _mean(a: Audit, state: State, fault: State) -> Say:
    """The consensus calibration leaves the panel mean as it is; a broken cell does not."""
    e = a.explanation
    if fault == "culprit" and e.kind not in ("judge", "language"):
        first = e.named_cells.iloc[0]
        pull = {n: float(first[n]) * e.factor / len(a.summary.judges) for n in ("excess", "low", "high")}
        place = {"language": first["language"], "judge": first["judge"], "sure": e.sure}
        return say("use.mean.culprit", unit=e.unit, **place, **pull)
    if state == "blind":
        return say("use.mean.blind", by_task=a.signal is None or bool(a.signal.by_task))
    if not a.summary.whole:
        return say("use.mean.missing")
    return Finding("use.mean.nothing", {}, "info", None, arithmetic=True)


def _steps(a: Audit, state: State, fault: State) -> tuple[Advised, ...]:
    """Commands in the order in which they help."""
    c, few = a.certificate, a.summary.tasks < FEW_TASKS
    out: list[Advised] = []
    if fault == "culprit":
        out += _culprit_steps(a)[: 1 if state == "blind" else None]
    if state == "blind":
        out.append(_step("step.probe", "probe", "make", "ITEMS", "-o", "probes.jsonl"))
    elif fault == "diffuse" and not few and a.goal not in ("panel-mean", "best-judge-per-language"):
        out.append(_step("step.calibrate", "calibrate", SCORES, "-o", "calibrated.csv"))
    if (fault == "diffuse" and few) or (fault in ("open", "ends") and state != "blind"):
        needed = c.tasks_needed
        if needed is None or needed <= WORTH * c.tasks:  # more tasks do not make judges agree, nor do thousands
            # A command takes points of the scores, whatever these results are shown in.
            radius = ("--radius", f"{c.matters * a.explanation.factor / a.summary.shown.factor:.3g}")
            out.append(_step("step.plan", "plan", "--from", SCORES, *radius, needed=needed))
    if a.goal == "compare-systems" and a.summary.systems and state != "blind":
        out.append(_step("step.systems", "systems", SCORES))
    out.append(_label_step(a))
    if fault == "calm" and state != "blind":
        out.append(_step("step.baseline", "calibrate", SCORES, "--save", "baseline.json"))
    return tuple(out)


def _culprit_steps(a: Audit) -> list[Advised]:
    """Look at the worst answers; leave the cells out; or correct them alone, if resamples agree about them."""
    e = a.explanation
    language, judge = e.named[0]
    out = [_step("step.read-worst", "audit", SCORES, "--cell", f"{language},{judge}")]
    if e.kind == "judge":
        out.append(_step("step.without", "audit", SCORES, "--judges", _others(a.summary.judges, judge)))
    elif e.kind == "language":
        out.append(_step("step.without", "audit", SCORES, "--languages", _others(a.summary.languages, language)))
    else:
        drops = [word for cell in e.named for word in ("--drop", ",".join(cell))]
        out.append(_step("step.without", "audit", SCORES, *drops))
    alone = _step("step.correct-alone", "calibrate", SCORES, "--method", "sparse", "-o", "corrected.csv")
    return [*out, alone] if e.sure else out


def _step(code: str, *command: str, **values: Any) -> Advised:
    return Advised(why=say(code, **values), command=("polyjudge", *command))


def _label_step(a: Inside) -> Advised:
    """To the labels: as many as would settle it, should people differ as the judges do."""
    enough = () if a.labels is None else ("-n", str(a.labels))
    command = ("label", "make", SCORES, "--items", "ITEMS", *enough)
    return _step("step.labels", *command, labels=a.labels)


def _others(labels: tuple[str, ...], one: str) -> str:
    return ",".join(x for x in labels if x != one)


def _probe_steps(
    values: dict[str, Any], named: Sequence[tuple[str, str]], steps: tuple[Advised, ...]
) -> tuple[Advised, ...]:
    """Blind places are left out first; nothing is calibrated that probes call competence."""
    gone = {"step.probe"}
    if not values["reacts"] or values["competence"]:
        gone |= {"step.calibrate", "step.correct-alone", "step.without"}
    if set(named) <= set(values["blind_places"]):
        gone |= {"step.without", "step.correct-alone"}
    kept = tuple(s for s in steps if s.why.code not in gone)
    if values["reacts"] and values["blind_places"]:
        drops = [word for place in values["blind_places"] for word in ("--drop", ",".join(map(str, place)))]
        kept = (_step("step.without-blind", "audit", SCORES, *drops), *kept)
    return kept
