"""The values of an audit: see `values`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.estimate import levels
from polyjudge.estimate.bands import uncertainty
from polyjudge.panel import budget
from polyjudge.panel.say import say
from polyjudge.questions.audit import missing, pass_rates, robustness
from polyjudge.questions.audit.advise import GOALS
from polyjudge.questions.audit.by_criterion import audit_criteria
from polyjudge.questions.audit.latent import bounded
from polyjudge.questions.audit.missing import missingness
from polyjudge.questions.audit.robustness import sensitivity
from polyjudge.questions.audit.view import _said as first_said
from polyjudge.questions.audit.view import recovery_section
from polyjudge.questions.compare.recovery import recovery
from polyjudge.report import report_of
from values import Cases, Said, binary, bound, holed, one_cell_off, probes, simulated, weighted

CASES = Cases(__file__)


@CASES
def audit_systems() -> Any:
    panel = simulated(30, 3, 3, 2, systems=3, seed=4, system_sd=4.0)
    more = {"threshold": 50, "sweep": [40, 60], "base": "language2", "cell": ("language1", "judge2")}
    return pj.audit(panel, resamples=100, **more)


@CASES
def audit_holes() -> Any:
    panel = simulated(36, 3, 4, clusters=12, missing=0.12, seed=5)
    return pj.audit(panel, resamples=100, threshold=52, at_least=True, base="language1", level=0.9, goal="gate")


@CASES
def audit_weights() -> Any:
    return pj.audit(weighted(simulated(30, 3, 3, seed=8)), resamples=100, threshold=50, matters=3.0)


@CASES
def audit_weights_with_holes() -> Any:
    panel = weighted(simulated(36, 3, 3, missing=0.1, seed=9))
    return pj.audit(panel, resamples=100, threshold=50, sweep=[45], base="language2")


@CASES
def audit_culprit() -> Any:
    return pj.audit(one_cell_off(-30.0), resamples=100, goal="rank-judges")


@CASES
def audit_levels() -> Any:
    return pj.audit(one_cell_off(-30.0, scale="integer", mean=75.0), resamples=100)


@CASES
def audit_calm() -> Any:
    return pj.audit(
        simulated(60, 3, 3, interaction=0.0, noise_sd=4, judge_sd=12, seed=6), resamples=100, matters=8.0, threshold=50
    )


@CASES
def audit_probes() -> Any:
    asked, audited = probes(3, 4)
    return pj.audit(audited, resamples=100, probes=asked)


@CASES
def audit_one_language() -> Any:
    whole = simulated(24, 2, 3, systems=3, seed=1)
    return pj.audit(whole.select(languages=whole.languages[:1]), resamples=100, threshold=50)


@CASES
def audit_by_criteria() -> Any:
    good, off = simulated(30, 3, 3, systems=3, interaction=0.0, seed=6), simulated(30, 3, 3, systems=3, seed=7)
    return audit_criteria({"clarity": good, "tone": good, "accuracy": off}, resamples=100)


@CASES
def audit_binary() -> Any:
    return pj.audit(binary(3, 3), resamples=100, threshold=0.5)


@CASES
def audit_binary_systems() -> Any:
    return pj.audit(binary(3, 3, systems=3), resamples=100, goal="compare-systems")


@CASES
def audit_spread_over_all() -> Any:
    return pj.audit(simulated(40, 4, 5, interaction=9.0, seed=41), resamples=100, threshold=50, sweep=[1000])


@CASES
def audit_texts() -> Any:
    panel = one_cell_off(-30.0, systems=2)
    items = panel.to_long().drop_duplicates(["task", "system", "language"])
    texts = {"prompt": "Why " + items["task"], "response": "Because " + items["language"], "reason": "so"}
    return pj.audit(panel, resamples=100, items=items[["task", "system", "language"]].assign(**texts))


@CASES
def audit_two_judges() -> Any:
    return pj.audit(simulated(12, 3, 2, seed=42), resamples=100, goal="best-judge-per-language")


@CASES
def audit_blind() -> Any:
    panel = simulated(30, 3, 4, systems=3, sees=0.0, task_system_sd=0.0, seed=43)
    return pj.audit(panel, resamples=100, threshold=50, goal="panel-mean")


@CASES
def audit_constant() -> Any:
    return pj.audit(pj.Panel.from_array(np.full((12, 3, 3), 4.0)), resamples=100)


@CASES
def audit_one_judge_holds_the_holes() -> Any:
    whole = simulated(30, 3, 3, seed=44)
    lost = np.random.default_rng(1).random((30, 3)) < np.array([0.1, 0.2, 0.5])
    return pj.audit(holed(whole, (np.nonzero(lost)[0], np.nonzero(lost)[1], 1)), resamples=100)


@CASES
def audit_language_off() -> Any:
    planted = np.zeros((5, 5))
    planted[2] = np.array([-20.0, 20.0, -15.0, 15.0, 0.0])
    return pj.audit(simulated(40, 5, 5, interaction=planted, noise_sd=5, seed=45), resamples=100)


@CASES
def audit_few_failures() -> Any:
    panel = simulated(40, 3, 3, interaction=0.0, noise_sd=2.0, task_judge_sd=1.0, seed=46)
    scores = panel.scores.copy()
    scores[:2, :, 1] = 0.0
    scores[:, :, 2] = np.minimum(scores[:, :, 2] + 25, 90.0)
    return pj.audit(pj.Panel.from_array(scores, declared_range=(0, 90)), resamples=100)


@CASES
def audit_replicates_with_holes() -> Any:
    rows = simulated(24, 3, 3, 3, three_way_sd=9.0, noise_sd=3.0, seed=47).to_long()
    return pj.audit(pj.read_panel(rows.iloc[np.arange(len(rows)) % 11 > 0]), resamples=100)


@CASES
def audit_languages_apart() -> Any:
    rows = simulated(40, 2, 3, systems=3, seed=48).to_long()
    keep = (rows["task"].str[-1].astype(int) < 5) == (rows["language"] == "language1")
    return pj.audit(pj.read_panel(rows[keep]), resamples=100, threshold=50)


@CASES
def says_languages_apart_that_judges_share_not() -> Any:
    rows = simulated(40, 2, 3, systems=3, seed=48).to_long()
    keep = (rows["task"].str[-1].astype(int) < 5) == (rows["language"] == "language1")
    keep &= (rows["judge"] != "judge3") | (rows["language"] == "language1")
    keep &= (rows["task"] != rows["task"].iloc[0]) | (rows["system"] != "system2")  # an answer that nobody scored
    return Said((pj.audit(pj.read_panel(rows[keep]), resamples=100),))


@CASES
def audit_one_judge() -> Any:
    whole = simulated(24, 3, 2, seed=49)
    return pj.audit(whole.select(judges=whole.judges[:1]), resamples=100, threshold=50, goal="gate")


@CASES
def audit_position() -> Any:
    rng, rows = np.random.default_rng(3), []
    for t, language, judge in np.ndindex(60, 2, 3):
        for a, b in (("x", "y"), ("y", "x"))[: 1 + (t % 3 > 0)]:
            won = rng.random() < (0.7 if a == "x" else 0.3) + 0.3 * (judge == 1)
            rows.append((f"t{t}", f"l{language}", f"J{judge}", a, b, "model_a" if won else "model_b"))
    frame = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"])
    return pj.audit(pj.read_panel(frame), resamples=100)


def audited(panel: pj.Panel, **options: Any) -> Said:
    """What an audit says, and what follows for every use."""
    found = pj.audit(panel, resamples=options.pop("resamples", 100), **options)
    goals = [goal for goal in GOALS if goal != "gate" or "threshold" in options]
    return Said((found, *(replace(found, goal=goal).advice.uses for goal in goals)))


def cell(k: int, m: int, points: float, *others: tuple[int, int, float]) -> np.ndarray:
    planted = np.zeros((k, m))
    planted[0, 0] = points
    for language, judge, more in others:
        planted[language, judge] = more
    return planted


def probed(k: int, m: int, seed: int, sees: Any = 1.0, shift: Any = 0.0) -> Said:
    """Of judges who see so much of damage and are so severe."""
    rng = np.random.default_rng(seed)
    step = np.array([0.0, 1, 2, 0])[:, None, None] * (np.ones((k, m)) * sees)
    scores = 60 + rng.normal(0, 8, (20, 1, 1, 1)) - 9 * step + shift + rng.normal(0, 3, (20, 4, k, m))
    known = {"declared_range": (0.0, 100.0)}
    asked = pj.Panel.from_array(scores, systems=("clean", "damage-1", "damage-2", "placebo-1"), **known)
    tasks = 60 + shift + rng.normal(0, 8, (20, 1, 1)) + rng.normal(0, 4, (20, k, m))
    found, *uses = audited(pj.Panel.from_array(tasks, **known), probes=asked)
    return Said((found.advice.verdict, *uses))


@CASES
def says_ends() -> Any:
    off = {"interaction": cell(2, 3, 30.0), "noise_sd": 0.5, "judge_sd": 0.0, "three_way_sd": 12.0, "missing": 0.2}
    scale = {"scale": "fractions", "mean": 5.0, "task_sd": 3.0, "language_sd": 12.0, "steps": 5}
    return audited(holed(simulated(20, 2, 3, seed=401, **off, **scale), (slice(10), 0, 0)), threshold=10.0)


@CASES
def says_levels() -> Any:
    more = {"scale": "integer", "steps": 3, "judge_sd": 4.0, "noise_sd": 6.0, "task_sd": 3.0, "language_sd": 15.0}
    return audited(simulated(30, 3, 3, seed=404, **more))


@CASES
def says_gone() -> Any:
    off = {"interaction": cell(3, 3, 60.0), "noise_sd": 15.0, "judge_sd": 20.0, "task_judge_sd": 0.0, "mean": 95.0}
    return audited(holed(simulated(6, 3, 3, 2, seed=78, **off), (slice(3), 0, 0)))


@CASES
def says_open() -> Any:
    steps = {"scale": "fractions", "mean": 80.0, "steps": 2, "task_sd": 3.0, "judge_sd": 0.0, "noise_sd": 0.5}
    panel = simulated(16, 3, 2, seed=522, interaction=0.0, three_way_sd=5.0, missing=0.05, **steps)
    return audited(panel, threshold=75.0)


@CASES
def says_culprit_among_many() -> Any:
    more = {"judge_sd": 20.0, "task_sd": 3.0, "three_way_sd": 5.0}
    return audited(simulated(20, 3, 3, seed=926, interaction=cell(3, 3, 60.0, (2, 2, 20.0)), **more))


@CASES
def says_blind() -> Any:
    return audited(simulated(30, 3, 4, systems=3, sees=0.0, task_system_sd=0.0, seed=43), threshold=50.0)


@CASES
def says_blind_to_tasks() -> Any:
    return audited(simulated(30, 2, 3, task_sd=0.0, seed=43))


@CASES
def says_few() -> Any:
    return audited(simulated(8, 2, 2, seed=120, interaction=cell(2, 2, -60.0), noise_sd=5.0))


@CASES
def says_holes_of_systems() -> Any:
    return audited(simulated(12, 2, 3, systems=3, missing=0.1, seed=530))


@CASES
def says_group() -> Any:
    more = {"noise_sd": 15.0, "judge_sd": 0.0, "three_way_sd": 12.0, "mean": 5.0, "language_sd": 0.0, "missing": 0.05}
    return audited(simulated(20, 3, 4, systems=3, seed=815, interaction=cell(3, 4, 30.0), **more))


@CASES
def says_additive_cell() -> Any:
    one = ("language1", "judge1")
    spread = audited(simulated(30, 4, 4, interaction=9.0, noise_sd=4, seed=41), cell=one)
    return Said((*audited(simulated(30, 2, 3, interaction=0.0, noise_sd=2, seed=6), cell=one), *spread))


@CASES
def says_task_effects() -> Any:
    return audited(simulated(12, 2, 3, 3, three_way_sd=3.0, interaction=15.0, noise_sd=1.0, seed=1))


@CASES
def says_equal_replicates() -> Any:
    even = pj.Panel.from_array(np.tile(np.array([40.0, 60.0]), (8, 2, 2, 1)))
    return Said((*audited(simulated(8, 2, 2, 2, noise_sd=0.0, seed=2)), *audited(even)))


@CASES
def says_one_of_each() -> Any:
    whole = simulated(12, 2, 2, systems=2, seed=1)
    one = whole.select(languages=whole.languages[:1], judges=whole.judges[:1])
    return audited(one, threshold=50.0)


@CASES
def says_at_both_ends() -> Any:
    scores = np.random.default_rng(1).uniform(20, 80, (12, 3, 4))
    scores[:8, 0, 0] = scores[:8, :, 1] = 0.0
    scores[:8, 1, 2] = scores[:8, :, 3] = 100.0
    return audited(pj.Panel.from_array(scores))


@CASES
def says_failed_call() -> Any:
    scores = simulated(30, 2, 2, interaction=cell(2, 2, -40.0), noise_sd=2.0, seed=7).scores.copy()
    scores[0, :, 0] = 2000.0
    panel = pj.Panel.from_array(scores)
    items = pd.DataFrame({"task": panel.tasks, "response": "so"})
    return audited(panel, items=items, cell=("language1", "judge1"))


@CASES
def says_many_swaps() -> Any:
    return audited(simulated(12, 2, 9, interaction=30.0, judge_sd=2.0, noise_sd=4.0, seed=3))


@CASES
def says_many_languages() -> Any:
    return audited(simulated(30, 10, 3, interaction=20.0, noise_sd=4.0, seed=4))


@CASES
def says_wide() -> Any:
    with bound(budget, MOST_COMPARED=1):
        return audited(binary(2, 3, systems=2, tasks=12))


@CASES
def says_wide_without_systems() -> Any:
    panel = simulated(12, 2, 3, seed=5)
    with bound(budget, MOST_COMPARED=100):
        made = audited(panel)
    with bound(robustness, MOST_RANKED=0), bound(pass_rates, MOST_COMPARED=0):
        return Said((*made, *audited(panel, resamples=120, threshold=50.0)))


@CASES
def says_part_of_the_answers() -> Any:
    with bound(levels, MOST_TERMS=0, FEWEST=10):
        found = bounded(binary(2, 2, tasks=24))
    with bound(missing, WORK=0):
        return Said((found, missingness(simulated(80, 2, 2, missing=0.3, seed=6))))


@CASES
def says_nothing_missing() -> Any:
    scores = np.array(simulated(6, 2, 2, systems=2, seed=1).system_scores)
    scores[0, 0, 0] = np.nan
    return Said((missingness(simulated(6, 2, 2, seed=1)), missingness(pj.Panel.from_array(scores, systems="xy"))))


@CASES
def says_one_order() -> Any:
    rows = [(f"t{t}", f"l{x}", f"J{j}", "x", "y", "xy"[(t + j) % 2]) for t, x, j in np.ndindex(12, 2, 2)]
    return audited(
        pj.read_panel(pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"]))
    )


@CASES
def says_probes() -> Any:
    one = cell(2, 3, 1.0)
    return Said((
        *probed(2, 3, 1, sees=one),
        *probed(2, 3, 2, sees=0.0),
        *probed(2, 2, 3, shift=cell(2, 2, -20.0)),
        *probed(2, 3, 4),
        *probed(2, 3, 5, sees=1.0 - cell(2, 3, 0.0, (0, 1, 1.0), (0, 2, 1.0)), shift=cell(2, 3, -25.0)),
        *probed(2, 3, 6, sees=0.1, shift=cell(2, 3, -12.0)),
    ))  # fmt: skip


@CASES
def says_criteria() -> Any:
    good = simulated(12, 2, 3, systems=2, interaction=0.0, system_sd=np.array([9.0, -9.0]), seed=6)
    off = simulated(12, 2, 3, systems=2, interaction=cell(2, 3, -40.0), noise_sd=2.0, seed=7)
    blind = simulated(12, 2, 3, systems=2, sees=0.0, task_system_sd=0.0, seed=8)
    best = [simulated(12, 2, 2, systems=4, system_sd=np.roll([40.0, 0, 0, 0], n), seed=9) for n in range(4)]
    every = ({"a": good, "b": good, "c": good}, {"a": off, "b": off, "c": blind}, dict(zip("abcd", best, strict=True)))
    narrow = pj.Panel.from_array(np.array(off.system_scores) / 100, systems=off.systems)
    with bound(budget, MOST_COMPARED=1000):
        wide = audit_criteria({"a": good, "b": good}, resamples=100)
    found = [audit_criteria(x, resamples=100) for x in (*every, {"a": narrow, "b": good})]
    return Said(first_said(x, {name: report_of(one) for name, one in x.audits.items()}) for x in (*found, wide))


@CASES
def says_recovery() -> Any:
    panel, truth = pj.simulate_panel(12, 2, 3, seed=55)
    bands = uncertainty(panel, resamples=100)
    wrong = truth.interaction + np.array([[30.0, -30.0, 0.0], [-30.0, 30.0, 0.0]])
    return Said(recovery_section(recovery(bands, planted)) for planted in (truth.interaction, wrong))


@CASES
def audit_more_resamples() -> Any:
    return sensitivity(simulated(24, 3, 3, seed=86), resamples=150)


@CASES
def audit_one_answer_in_a_language() -> Any:
    scores = np.array(simulated(12, 2, 3, systems=2, missing=0.1, seed=87).system_scores)
    scores[1:, :, 1] = np.nan
    scores[0, 1, 1] = np.nan
    return missingness(pj.Panel.from_array(scores, systems=["x", "y"]))


@CASES
def audit_sentences() -> Any:
    near = {"closer": 1.5, "closer_low": 1.0, "closer_high": 2.0, "factor": 2.0, "unit": "points", "matters": 2.0}
    gate = {"mark": 50, "at_least": True, "flips": 5, "decisions": 90, "share": 0.06, "low": 0.04, "high": 0.08}
    wide = {"cells": 9, "matters": 2.0, "unit": "points", "change": 9.0, "low": 8.0, "high": 10.0}
    wide |= {"above": "language1", "below": "language2"}
    off = {"judge": "judge1", "language": "language2", "latent": 1.0, "band_low": 0.5, "band_high": 1.5}
    ends = off | {"linear": 4, "lost": 2, "turned": 1, "agrees": "same"}
    lack = {"judge": "judge1", "language": "language2", "worst": 0.4, "overall": 0.1, "p": 0.02, "p_floor": 0.001}
    swap = {"chance": 1.2, "most": 3.0, "p": 0.02, "p_floor": 0.001, "more": True}
    spread = {"raw": 9.0, "raw_low": 7.0, "raw_high": 11.0}
    reasons = ("two-levels", "few-levels", "ends", None)
    return [
        *(say("use.one.diffuse", **near | {"advised": x, "closer": y}) for x in (True, False) for y in (1.5, None)),
        say("use.one.diffuse", advised=True, **near | {"matters": 4.1}),
        *(say("use.gate.diffuse", levels=x, narrows=y, **gate) for x in (True, False) for y in (True, False)),
        say("use.gate.diffuse", levels=False, narrows=True, **gate | {"at_least": False}),
        *(say("bounded.survives", **ends | {"linear": x, "lost": y}) for x in (0, 4) for y in (0, 1, 2)),
        *(
            say("bounded.fails", **ends | {x: y})
            for x, y in (("linear", 0), ("turned", 0), ("turned", 2), ("agrees", ""))
        ),
        *(say("bounded.why", reason=x, binned=y, levels=5) for x in reasons for y in (True, False)),
        *(say(f"missing.{x}", **lack) for x in ("together", "margins", "one-holder", "even")),
        *(say("reversal-global", count=x, **swap | {"more": y}) for x in (0, 1, 12) for y in (True, False)),
        *(say("reversal-unsure", count=x, sure=y) for x in range(1, 12) for y in (0, 2)),
        *(say("gate.spread", chance=x, **spread) for x in (3.0, float("nan"))),
        *(say("gate.gain", reduction=x, low=x - 1, high=x + 1) for x in (-3.0, 0.5, 3.0)),
        *(say("order", top=["judge1", "judge2"][:x], tied=y) for x in (1, 2) for y in ([], ["language3"])),
        *(say("verdict.open", clear=x, tasks=30, delta=4.0, unit="points") for x in (0, 2)),
        say("verdict.diffuse", criterion="clarity", also=False, judges=["judge1"], panel=3, count=2, **wide),
        say("verdict.gap", criterion="clarity", **wide | {"judge_i": "judge1", "judge_j": "judge2"}),
        *(say("verdict.won", first="A", second="B", lead=20.0, low=x, high=30.0, sure=x > 0) for x in (-2.0, 10.0)),
        say("explain.kind.judge", judge="judge1"),
        say("explain.kind.language", language="language2"),
        say("explain.kind.cell", judge="judge1", language="language2"),
    ]


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
