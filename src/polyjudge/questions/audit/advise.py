"""What to do: from the explanation, what matters and what the panel is used for, to a verdict and steps, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pandas as pd

from polyjudge.panel.errors import UsageError
from polyjudge.panel.labels import clean
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.panel.scale import scale_of
from polyjudge.questions.audit.explain import Explanation
from polyjudge.questions.audit.gates import Gates
from polyjudge.questions.audit.matters import Certificate
from polyjudge.questions.probe.reaction import VERDICTS, Probe
from polyjudge.questions.systems.signal import Signal
from polyjudge.report.result import Result
from polyjudge.report.sections import Finding, Severity, find

Goal = Literal["compare-systems", "gate", "rank-judges", "best-judge-per-language", "panel-mean"]
GOALS: tuple[Goal, ...] = get_args(Goal)
State = Literal["blind", "agree", "open", "culprit", "diffuse", "constant"]
FEW_TASKS = 30
"""Fewer tasks than this are said to be few."""
PILED = 0.2
"""A culprit's share at an end of the scale, or missing, is said when it is this much above its judge's elsewhere."""
SCORES = "SCORES"
"""Stands in commands for what was read."""


@dataclass(frozen=True, kw_only=True)
class Advised:
    """A step: why, and the words of the command, in which `SCORES` stands for what was read."""

    why: Say
    command: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Advice(Result):
    """What the panel is good for, and what to do.

    state : "blind" (the judges do not see what they judge), "agree", "open" (cannot tell yet), "culprit", "diffuse", or
        "constant" (all scores are equal)
    verdict : at most three findings
    uses : goal -> what follows for it; all that apply, or the one asked for
    steps : what to do next, most useful first
    """

    state: State
    goal: Goal | None
    verdict: tuple[Finding, ...]
    uses: dict[str, Say]
    steps: tuple[Advised, ...]

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame(
            {"goal": list(self.uses), "code": [s.code for s in self.uses.values()]}, columns=["goal", "code"]
        )


def check_goal(goal: str | None) -> Goal | None:
    """The goal, or an error that lists them."""
    if goal is not None and goal not in GOALS:
        raise UsageError(f"There is no goal {clean(goal)!r}. The goals are {', '.join(GOALS)}.")
    return goal


def advise(
    panel: Panel,
    explanation: Explanation,
    certificate: Certificate,
    *,
    signal: Signal | None = None,
    gates: Gates | None = None,
    swap: Finding | None = None,
    ranks: Finding | None = None,
    goal: Goal | None = None,
    probes: Probe | None = None,
) -> Advice:
    """Verdict, consequences and steps. Every part is a code with values; the words are the report's.

    `swap` is the finding that two judges swap places between languages, `ranks` that the lead of a system hangs on a
    judge or that two systems change places between languages, if there is one. `probes` tell which deviations are
    severity, blindness or competence; what to calibrate follows them.

    >>> import polyjudge as pj
    >>> panel, _ = pj.simulate_panel(tasks=400, interaction=0.0, seed=1)
    >>> advise(panel, pj.explain(panel), pj.certificate(pj.uncertainty(panel), 4.0)).state
    'agree'
    """
    goal = check_goal(goal)
    low, high = panel.observed_range
    if high - low <= panel.tie_gap:
        return Advice(state="constant", goal=goal, uses={}, steps=(), verdict=(find("warning", "constant", score=low),))
    blind = signal is not None and signal.verdict == "do not agree"
    found = _found(panel, explanation, certificate)
    state: State = "blind" if blind else _state(explanation, certificate)
    verdict = [*_unseen(panel, signal), *found]
    if swap is not None and swap.matter == "material" and _state(explanation, certificate) == "diffuse":
        scale = scale_of(panel)
        gaps = {n: swap.values[n] * scale.factor for n in ("gap_above", "gap_below")}
        verdict.append(Finding("verdict.swap", {**swap.values, **gaps, "unit": scale.unit}, "serious", "material"))
    uses = _uses(panel, explanation, certificate, state, signal, gates, ranks)
    if probes is not None:
        verdict.insert(1, _probe_verdict(probes))
        uses["rank-judges"] = say("use.rank.probed", state=_rank(panel, explanation, certificate), **_counts(probes))
        uses["best-judge-per-language"] = say("use.best.probed", **_counts(probes))
        if _counts(probes)["competence"]:
            uses["panel-mean"] = say("use.mean.probed", **_counts(probes))
    if goal is not None:
        uses = {goal: uses[goal]}
    elif not panel.systems:
        uses.pop("compare-systems")
    if goal is None and gates is None:
        uses.pop("gate")
    return Advice(
        state=state,
        goal=goal,
        verdict=tuple(verdict[:3]),
        uses=uses,
        steps=_probe_steps(probes, explanation.named, _steps(panel, explanation, certificate, state, goal, gates)),
    )


def _counts(p: Probe) -> dict[str, Any]:
    """How many deviations that matter have which reading, and the places that are blind or competent."""
    large = p.cells[p.cells["large"]]
    out: dict[str, Any] = {v.replace(" ", "_"): int((large["verdict"] == v).sum()) for v in VERDICTS}
    places = {
        name: p.cells[p.cells[column] == name] for name, column in (("blind", "sight"), ("competence", "verdict"))
    }
    out |= {f"{name}_places": list(zip(x["language"], x["judge"], strict=True)) for name, x in places.items()}
    return {**out, "of": len(large), "reacts": bool(p.usual_low > 0)}


def _probe_verdict(p: Probe) -> Finding:
    values = _counts(p)
    grave = not values["reacts"] or values["blind_places"] or values["competence"]
    return Finding("verdict.probes", {**values, "tasks": p.tasks}, "serious" if grave else "info")


def _probe_steps(p: Probe | None, named: Sequence[tuple[str, str]], steps: tuple[Advised, ...]) -> tuple[Advised, ...]:
    """Blind places are left out first; nothing is calibrated that probes call competence."""
    if p is None:
        return steps
    values = _counts(p)
    gone = {"step.probe"}
    if not values["reacts"] or values["competence"]:
        gone |= {"step.calibrate", "step.compare", "step.correct-alone", "step.without"}
    if set(named) <= set(values["blind_places"]):
        gone |= {"step.without", "step.correct-alone"}
    kept = tuple(s for s in steps if s.why.code not in gone)
    if values["reacts"] and values["blind_places"]:
        drops = [word for place in values["blind_places"] for word in ("--drop", ",".join(map(str, place)))]
        kept = (_step("step.without-blind", "audit", SCORES, *drops), *kept)
    return kept


def _state(e: Explanation, c: Certificate) -> State:
    """Whatever is certified agrees, however clear it is: what does not matter is no fault."""
    if c.status == "certified":
        return "agree"
    if c.status == "open":
        return "open"
    return "culprit" if e.named else "diffuse"


def _unseen(panel: Panel, s: Signal | None) -> list[Finding]:
    """What the judges do not see: everywhere, in some languages, or one judge alone. First, for it decides most."""
    if s is None:
        return []
    if s.verdict == "do not agree":
        return [_blind(panel, s)]
    return [f for f in s.findings if f.code in ("signal-disagree", "signal-judge-odd")][:1]


def _blind(panel: Panel, s: Signal) -> Finding:
    most = float(s.languages["one_high"].max())
    return find(
        "serious", "verdict.blind", one=float(s.mean_one), low=float(s.mean_one_low), high=float(s.mean_one_high),
        most=most, by_task=bool(s.by_task), systems=len(panel.systems), languages=len(panel.languages),
    )  # fmt: skip


def _found(panel: Panel, e: Explanation, c: Certificate) -> list[Finding]:
    """What is wrong with the languages and judges, in at most two findings."""
    scale = scale_of(panel)
    common: dict[str, Any] = {"delta": c.delta * scale.factor, "matters": c.matters * scale.factor, "level": c.level}
    common |= {"cells": len(c.cells), "tasks": c.tasks, "unit": scale.unit}
    if c.status == "certified":
        return [Finding("verdict.agree", {**common, "clear": e.clear}, "info", "negligible")]
    if c.status == "open":
        values = {**common, "needed": c.tasks_needed, "kind": e.kind, "clear": e.clear}
        values |= {"few": c.tasks < FEW_TASKS}
        return [Finding("verdict.open", values, "notice", "open")]
    out = []
    severity: Severity = "serious"
    if e.named:
        out.append(
            Finding(f"verdict.{'cell' if e.kind == 'diffuse' else e.kind}", _culprit(panel, e), severity, "material")
        )
    if e.kind in ("diffuse", "none"):
        judges = c.cells.loc[c.cells["matter"] == "material", "judge"].drop_duplicates().tolist()
        # With a culprit its traces in other cells are no faults of theirs.
        count = e.material_without if e.named else c.counts["material"]
        values = {**common, "count": count, "judges": judges, "panel": len(panel.judges), "also": bool(e.named)}
        if count:
            out.append(Finding("verdict.diffuse", values, "warning" if e.named else severity, "material"))
    if len(panel.judges) == 2:
        out.append(find("notice", "verdict.two-judges", judges=list(panel.judges)))
    elif e.kind in ("cell", "cells", "judge", "language"):
        rest = {"largest": e.largest * scale.factor, "without": e.largest_without * scale.factor, "unit": scale.unit}
        out.append(find("info", "verdict.rest", clear=e.clear_without, kind=e.kind, **rest))
    return out


def _culprit(panel: Panel, e: Explanation) -> dict[str, Any]:
    """The furthest named cell with its numbers, and all that are named."""
    scale = scale_of(panel)
    first = e.culprits.iloc[0]
    out: dict[str, Any] = {name: first[name] for name in ("language", "judge")}
    out |= {name: float(first[name]) * scale.factor for name in ("excess", "low", "high")}
    out |= {"named": e.named, "unit": scale.unit, "stability": e.stability}
    rows: list[dict[str, Any]] = e.cells[e.cells["named"]].to_dict("records")  # type: ignore[assignment]
    for side, row in (("lowest", min(rows, key=_excess)), ("highest", max(rows, key=_excess))):
        out[side] = {"language": row["language"], "judge": row["judge"], "excess": row["excess"] * scale.factor}
    out["piled"] = None
    for name, end in (("missing", None), ("floor", scale.low), ("ceiling", scale.high)):
        share, elsewhere = float(first[name]), float(first[f"{name}_elsewhere"])
        # Two values are always at an end of their scale.
        if share - elsewhere >= PILED and not (scale.kind == "binary" and end is not None):
            out["piled"] = {"what": name, "end": end, "share": share, "elsewhere": elsewhere}
            break
    return out


def _excess(row: dict[str, Any]) -> float:
    return float(row["excess"])


def _uses(
    panel: Panel,
    e: Explanation,
    c: Certificate,
    state: State,
    signal: Signal | None,
    gates: Gates | None,
    ranks: Finding | None,
) -> dict[str, Say]:
    """What follows for each use of the panel."""
    fault = "blind" if state == "blind" else _state(e, c)
    return {
        "compare-systems": _compare(panel, state, signal, ranks),
        "gate": _gate(fault, signal, gates),
        "rank-judges": say(
            f"use.rank.{_rank(panel, e, c)}",
            tasks=panel.n_tasks,
            matters=c.matters * e.factor,
            unit=e.unit,
            blind=state == "blind",
        ),
        "best-judge-per-language": say("use.best", blind=state == "blind"),
        "panel-mean": _mean(panel, e, c, signal if state == "blind" else None),
    }


def _rank(panel: Panel, e: Explanation, c: Certificate) -> str:
    """The state, but that few tasks do not pay for a calibration."""
    state = _state(e, c)
    return "few" if state == "diffuse" and panel.n_tasks < FEW_TASKS else state


def _compare(panel: Panel, state: State, signal: Signal | None, ranks: Finding | None) -> Say:
    if state == "blind":
        return say("use.compare.blind", systems=len(panel.systems))
    if not panel.systems:
        return say("use.compare.none")
    whole = panel.complete and panel.systems_complete
    doubt = signal is not None and signal.verdict == "cannot tell"
    named = ("winner", "rival", "judge", "system_i", "system_j", "higher_in", "lower_in")
    values = {} if ranks is None else {x: v for x, v in ranks.values.items() if x in named}
    return say(
        "use.compare.mean" if whole else "use.compare.missing", doubt=doubt, systems=len(panel.systems), **values
    )


def _gate(fault: str, signal: Signal | None, gates: Gates | None) -> Say:
    if gates is None:
        return say("use.gate.none")
    values: dict[str, Any] = {"flips": gates.flips, "decisions": gates.decisions, "share": gates.flip_share}
    values |= {"low": gates.flip_low, "high": gates.flip_high, "narrows": bool(gates.held_out_low > 0)}
    values |= {"mark": gates.threshold, "at_least": gates.at_least, "by_task": signal is None or bool(signal.by_task)}
    return say(f"use.gate.{fault}", **values)


def _mean(panel: Panel, e: Explanation, c: Certificate, blind: Signal | None) -> Say:
    """The consensus calibration leaves the panel mean as it is; a broken cell does not. The mean of `blind` judges is
    blind."""
    if _state(e, c) == "culprit" and e.kind not in ("judge", "language"):
        scale, first = scale_of(panel), e.culprits.iloc[0]
        pull = {n: float(first[n]) * scale.factor / len(panel.judges) for n in ("excess", "low", "high")}
        return say("use.mean.culprit", language=first["language"], judge=first["judge"], unit=scale.unit, **pull)
    if blind is not None:
        return say("use.mean.blind", by_task=bool(blind.by_task))
    return Finding("use.mean.nothing", {}, "info", None, arithmetic=True)


def _steps(
    panel: Panel, e: Explanation, c: Certificate, state: State, goal: Goal | None, gates: Gates | None
) -> tuple[Advised, ...]:
    """Commands in the order in which they help."""
    fault = _state(e, c)
    out: list[Advised] = []
    if fault == "culprit":
        language, judge = str(e.culprits.iloc[0]["language"]), str(e.culprits.iloc[0]["judge"])
        out.append(_step("step.read-worst", "explain", SCORES, "--cell", f"{language},{judge}"))
        if e.kind == "judge":
            out.append(_step("step.without", "audit", SCORES, "--judges", _others(panel.judges, judge)))
        elif e.kind == "language":
            out.append(_step("step.without", "audit", SCORES, "--languages", _others(panel.languages, language)))
        else:
            drops = [word for cell in e.named for word in ("--drop", ",".join(cell))]
            out.append(_step("step.without", "audit", SCORES, *drops))
        out.append(_step("step.correct-alone", "calibrate", SCORES, "--method", "sparse", "-o", "corrected.csv"))
    if state == "blind":
        out.append(_step("step.probe", "probe", "make", "ITEMS", "-o", "probes.jsonl"))
    few = panel.n_tasks < FEW_TASKS
    if fault == "diffuse" and few:
        out.append(_step("step.plan", "plan", "--from", SCORES, "--radius", f"{c.matters:.3g}", needed=None))
    elif fault == "diffuse" and state != "blind" and goal not in ("panel-mean", "best-judge-per-language"):
        out.append(_step("step.calibrate", "calibrate", SCORES, "-o", "calibrated.csv"))
        out.append(_step("step.compare", "compare", SCORES))
    if fault == "open" and state != "blind":  # more tasks do not make judges see
        out.append(_step("step.plan", "plan", "--from", SCORES, "--radius", f"{c.matters:.3g}", needed=c.tasks_needed))
    if state == "agree":
        out.append(_step("step.baseline", "calibrate", SCORES, "--save", "baseline.json"))
    return (*out, *_for_goal(panel, state, goal, gates))


def _for_goal(panel: Panel, state: State, goal: Goal | None, gates: Gates | None) -> tuple[Advised, ...]:
    """The command that answers what the user wants the panel for."""
    if goal == "compare-systems" and panel.systems and state != "blind":
        return (_step("step.systems", "systems", SCORES),)
    if goal == "gate" and gates is not None and state != "blind":
        side = ("--at-least",) if gates.at_least else ()
        return (_step("step.gate", "gate", SCORES, "--at", f"{gates.threshold:g}", *side),)
    if goal == "best-judge-per-language":
        return (_step("step.labels", "anchor", SCORES, "LABELS"),)
    return ()


def _step(code: str, *command: str, **values: Any) -> Advised:
    return Advised(why=say(code, **values), command=("polyjudge", *command))


def _others(labels: tuple[str, ...], one: str) -> str:
    return ",".join(x for x in labels if x != one)
