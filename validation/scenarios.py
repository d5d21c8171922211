"""The scenarios of the validation: panels with planted truth that the analyses must get right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Found = dict[str, Any]
"""What the analyses said of one panel, by quantity."""


@dataclass(frozen=True)
class Scenario:
    """One kind of panel and what is asked about it.

    check : the function of `checks` that asks
    simulate : arguments of `simulate_panel` beyond the shape
    plant : what is done to the scores besides (`checks.draw`)
    ask : which of the check's questions are asked, and with which settings
    share : times the panels of a run that it gets: more where a small fault must show
    known : quantities that no method keeps here, and what polyjudge says instead
    """

    name: str
    about: str
    check: str = "cells"
    tasks: int = 55
    languages: int = 5
    judges: int = 4
    simulate: dict[str, Any] = field(default_factory=dict)
    plant: dict[str, Any] = field(default_factory=dict)
    ask: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0
    known: dict[str, str] = field(default_factory=dict)

    @property
    def replicates(self) -> int:
        return int(self.simulate.get("replicates", 1))


PLAIN: dict[str, Any] = {"task_language_sd": 0.0, "task_judge_sd": 0.0}
NONE: dict[str, Any] = {"interaction": 0.0}
DEVAI: dict[str, Any] = {"languages": 8, "judges": 6}
QUIET: dict[str, Any] = {"language_sd": 2.0, "judge_sd": 3.0}
LEVEL_ALIKE: dict[str, Any] = {"language_sd": 0.0, "judge_sd": 0.0}
BINARY: dict[str, Any] = {"scale": "integer", "steps": 2}

APART = np.zeros((5, 4))
APART[0] = (9, 3, -3, -9)
"""Judges that differ in the first language only: none leads anywhere else, so no pair truly changes places."""
EDGE = 2.0 * np.outer((1, -1, 1, -1), (1, -1, 1, -1))
"""Gaps that change by 8 between any two languages, or not at all."""

NOISE = np.array([1.5, 1.0, 0.7])
"""Times the noise of each language."""

SWAP = np.zeros((4, 4))
SWAP[:, 0], SWAP[0, 0] = 1.6, -1.6
"""The first judge stands 1.6 above the others, and in the first language 1.6 below."""

CELLS: tuple[Scenario, ...] = (
    Scenario("band at its level", "no interaction, Gaussian noise: only the band, on many panels", "band", **DEVAI,
             simulate={**PLAIN, **NONE}, share=3.0),
    Scenario("none", "no interaction, Gaussian noise", **DEVAI, simulate={**PLAIN, **NONE, "replicates": 2}),
    Scenario("none, equal judges", "no interaction, judges equally severe", simulate={**NONE, "judge_sd": 0.0}),
    Scenario(
        "one language apart",
        "judges differ in one language and tie in all others: no pair changes places",
        simulate={**PLAIN, "judge_sd": 0.0, "interaction": APART},
        share=2.0,
    ),
    Scenario("small", "interaction of sd 1.5", simulate={**PLAIN, "interaction": 1.5}),
    Scenario("large", "interaction of sd 5", **DEVAI, simulate={"replicates": 2}),
    Scenario("heteroskedastic", "noise sd differs by cell", simulate={"noise": "heteroskedastic"}),
    Scenario("heavy tails", "noise t with 3 df", simulate={"noise": "heavy"}),
    Scenario("1 to 5", "whole-number ratings", simulate={"scale": "integer", "interaction": 8.0}),
    Scenario("1 to 5, none", "the same without interaction", simulate={**NONE, **QUIET, "scale": "integer"}),
    Scenario("binary", "pass or fail", simulate={**BINARY, "interaction": 8.0}),
    Scenario(
        "floored fractions",
        "percent of five checks passed, a third of them at the floor",
        simulate={"scale": "fractions", "mean": 20.0, "noise_sd": 20.0, "judge_sd": 4.0},
    ),
    Scenario(
        "within-task dependence",
        "strong task-language and task-judge effects",
        simulate={"task_language_sd": 10.0, "task_judge_sd": 12.0},
    ),
    Scenario("three-way", "task-language-judge effects", simulate={"three_way_sd": 8.0, "replicates": 2}),
    Scenario("8 tasks", "very few tasks", tasks=8),
    Scenario("10 tasks", "few tasks", tasks=10, **DEVAI),
    Scenario("30 tasks, heavy tails", "few tasks, t with 3 df", tasks=30, simulate={"noise": "heavy"}),
    Scenario("200 tasks", "many tasks", tasks=200, simulate={"interaction": 2.0}),
    Scenario("2 judges, 2 languages", "the smallest panel", languages=2, judges=2),
    Scenario(
        "12 judges, 12 languages", "a large panel", tasks=60, languages=12, judges=12,
        ask={"reversals": False},
    ),
    Scenario(
        "12 clusters of 5", "tasks of one source share a fifth of every effect and of the noise", tasks=60,
        simulate={"clusters": 12},
    ),
    Scenario("12 clusters of 5, none", "the same without interaction", tasks=60, simulate={**NONE, "clusters": 12}),
    Scenario("20 clusters of 10", "larger clusters, as many effects shared", tasks=200, simulate={"clusters": 20}),
    Scenario("skewed ties, 8 tasks", "judges tie; their noise is skewed to opposite sides", tasks=8,
             simulate={**NONE, "judge_sd": 0.0}, plant={"skewed": 8.0}),
    Scenario("skewed ties, 20 tasks", "the same, more tasks", tasks=20,
             simulate={**NONE, "judge_sd": 0.0}, plant={"skewed": 8.0}),
    Scenario("skewed ties", "the same at 55 tasks", simulate={**NONE, "judge_sd": 0.0}, plant={"skewed": 8.0}),
    Scenario("failed calls", "4% of the scores are 0 where the call failed", plant={"failed": 0.04}),
    *(
        Scenario(f"one judge fails, {tasks} tasks", "4% of its calls; until one is seen it looks better, not worse",
                 tasks=tasks, simulate={**NONE, **PLAIN, "judge_sd": 0.0, "noise_sd": 2.0},
                 plant={"failed": (0.04, 0.0, 0.0, 0.0), "better": (1.0, 0.0, 0.0, 0.0)})
        for tasks in (20, 55)
    ),
    Scenario("certificate", "2 languages, 2 judges: is the certified bound a bound?", languages=2, judges=2,
             simulate={"interaction": np.array([[2.0, -2.0], [-2.0, 2.0]])}),
    Scenario("certificate, a cell of 2.4", "one cell of a 2 x 2 panel is off by 2.4, 2 matters", tasks=600, languages=2,
             judges=2, simulate={**PLAIN, "interaction": np.array([[2.4, 0.0], [0.0, 0.0]]), "noise_sd": 4.0},
             ask={"reversals": False}),
    Scenario("certificate at the edge", "every gap changes by exactly what matters, or not at all", tasks=100,
             languages=4, simulate={**PLAIN, "interaction": EDGE}, ask={"matters": 8.0, "reversals": False}),
    Scenario("unequal clusters", "12 clusters, the largest ten times the smallest", "unequal", tasks=100),
)  # fmt: skip

LEVELS: tuple[Scenario, ...] = (
    Scenario("ordinal, 5 levels", "drawn in logits, interaction of sd 0.5", "levels", 55, 4, 4,
             ask={"logits": 0.5, "cuts": (-2, -0.7, 0.7, 2)}),
    Scenario("ordinal, at the ceiling", "half of the scores are the highest, no interaction", "levels", 55, 4, 4,
             ask={"logits": 0.0, "cuts": (-3, -2, -1, 0)}),
    Scenario("binary, in logits", "pass or fail, mostly pass, no interaction in logits", "levels", 100, 4, 4,
             ask={"logits": 0.0, "cuts": (-1,)}),
)  # fmt: skip

HOLES: tuple[Scenario, ...] = (
    Scenario("10% missing", "at random", "holes", simulate={"missing": 0.1}),
    Scenario("30% missing", "at random", "holes", simulate={"missing": 0.3}),
    Scenario("clusters, 10% missing", "at random, 20 clusters of 5", "holes", tasks=100,
             simulate={"missing": 0.1, "clusters": 20}),
    Scenario("one judge has holes", "at random, all in one judge", "holes", plant={"holes": (None, 0, 0.3, 1.0)}),
    Scenario("a cell hides its low scores", "the lowest 30% of one cell are mostly missing", "holes", tasks=200,
             plant={"holes": (0, 0, 0.3, 0.0)}, ask={"hidden": True}),
    Scenario("a judge hides its low scores", "the lowest 30% of one judge are mostly missing", "holes",
             plant={"holes": (None, 0, 0.3, 0.0)}, ask={"hidden": True}),
)  # fmt: skip

LABELS: tuple[Scenario, ...] = (
    *(
        Scenario(
            f"{labels} labels, {rate:.0%} pass", "pass rate from few labels and a panel that is off", "labels",
            tasks=200, ask={"labels": labels, "rate": rate},
        )
        for labels, rate in ((5, 0.9), (10, 0.5), (10, 0.9), (10, 0.98), (20, 0.9), (50, 0.1))
    ),
    Scenario("10 labels, scores", "mean score, the panel 5 points off", "anchors", 100, 6, 3, ask={"labels": 10}),
    Scenario("40 labels, clusters", "labels and scores in clusters of 5", "anchors", 200, 2, 3,
             ask={"labels": 40, "clusters": 40}),
    *(
        Scenario(f"decisions {rate:.0%} right, {tasks} tasks", "labels of 4 languages a task", "shares", tasks, 4,
                 ask={"rate": rate})
        for rate, tasks in ((0.7, 20), (0.9, 20), (0.98, 20), (0.9, 55))
    ),
    Scenario("language shift", "nothing is broken", "shift", simulate=NONE, ask={"off": 0.0}),
    Scenario("language shift, broken cell", "one judge 20 points low in one language", "shift", simulate=NONE,
             ask={"off": 20.0}),
    Scenario("labels of the hardest tasks", "20 labels on the lower half of the tasks", "anchors", 100, 2, 3,
             ask={"labels": 20, "hardest": True}),
)  # fmt: skip

DRIFT: tuple[Scenario, ...] = (
    Scenario("drift, nothing", "the same tasks scored again", "drift", 40, 4, 4),
    Scenario("drift, unequal replicates", "five replicates then, one now", "drift", 40, 4, 4, ask={"then": 5}),
    Scenario("drift, unequal and skewed", "the same with skewed noise", "drift", 40, 4, 4,
             ask={"then": 5, "noise": "skewed"}),
    Scenario("drift, binary", "pass or fail, half a tenth at the floor", "drift", 40, 4, 4, ask={"scale": "binary"}),
    Scenario("drift, other tasks", "other tasks than at the fit", "drift", 40, 4, 4, ask={"same": False}),
    Scenario("drift, one cell", "one cell falls by 8 points", "drift", 40, 4, 4, ask={"broken": 8.0}),
    *(
        Scenario(f"a year of nights, {name}", about, "nights", 40, 4, 4, ask=ask)
        for name, about, ask in (
            ("Gaussian", "nothing changes", {}),
            ("heavy tails", "noise t with 3 df", {"noise": "heavy"}),
            ("binary", "pass or fail", {"scale": "binary"}),
            ("floored", "percent of five checks, many at the floor", {"scale": "floored"}),
            ("unequal replicates", "five replicates then, one now", {"then": 5}),
            ("unequal and skewed", "five replicates then, one now, skewed noise", {"then": 5, "noise": "skewed"}),
        )
    ),
)  # fmt: skip

SYSTEMS: tuple[Scenario, ...] = (
    Scenario("systems", "four systems, all judges see them", "systems", 40, 3, 4, ask={"sees": 1.0}),
    Scenario("systems, tied", "four systems of the same quality on average", "systems", 40, 3, 4,
             ask={"sees": 1.0, "quality": 0.0}),
    Scenario("systems, blind", "scores do not show the systems", "systems", 60, 3, 4, ask={"sees": 0.0}),
    Scenario("systems, clusters", "four systems, tasks in 15 clusters of 4", "systems", 60, 3, 4,
             simulate={"clusters": 15}, ask={"sees": 1.0}),
    Scenario("systems, 10% missing", "at random", "systems", 40, 3, 4, simulate={"missing": 0.1}, ask={"sees": 1.0}),
)  # fmt: skip

DECISIONS: tuple[Scenario, ...] = (
    Scenario("sequential looks", "judges tie in pairs: looks at 24, 48, 96 and 192 tasks", "looks", 192, 3, 4,
             simulate={**NONE, "judge_sd": 0.0}),
    Scenario("sequential looks, skewed", "the same with opposite skew", "looks", 192, 3, 4,
             simulate={**NONE, "judge_sd": 0.0}, plant={"skewed": 8.0}),
    *(
        Scenario(name, about, "broken", *shape, simulate={**NONE, **more}, plant=plant, ask=ask)
        for name, about, shape, more, plant, ask in (
            ("one broken cell", "one cell 12 points off, nothing else", (55, 4, 4), {}, {}, {"off": 12.0}),
            ("one broken cell, 15 tasks", "one cell 25 points off", (15, 4, 4), {}, {}, {"off": 25.0}),
            ("one broken cell, faint", "one cell 9 points off, 1.5 times its band", (55, 4, 4), {}, {}, {"off": 9.0}),
            ("one broken cell, skewed", "noise skewed to opposite sides", (30, 4, 4), {}, {"skewed": 8.0},
             {"off": 16.0}),
            ("one broken cell, 1 to 5", "two in five of its ratings fall to 1", (100, 4, 4),
             {**LEVEL_ALIKE, "scale": "integer"}, {}, {"off": 0.8}),
            ("one broken cell, binary", "nine in ten of its passes fail", (100, 4, 4), {**LEVEL_ALIKE, **BINARY}, {},
             {"off": 0.45}),
            ("two broken cells", "one low, one high", (55, 6, 5), {}, {}, {"off": 12.0, "where": "cells"}),
            ("a broken judge", "up and down by language", (30, 8, 5), {}, {}, {"off": 16.0, "where": "judge"}),
            ("a broken language", "judges up and down", (30, 5, 8), {}, {}, {"off": 16.0, "where": "language"}),
        )
    ),
)  # fmt: skip

CLAIMS: tuple[Scenario, ...] = (
    Scenario("blind, a maker of two agrees", "five blind judges, two of one maker share an error", "makers", 60, 2, 5,
             ask={"shared": 2, "family": True}),
    Scenario("blind, a maker of three agrees", "five blind judges, three of one maker share an error", "makers",
             60, 2, 5, ask={"shared": 3, "family": True}),
    Scenario("blind, a group of three agrees", "five blind judges of five makers, three share an error", "makers",
             60, 2, 5, ask={"shared": 3}),
    Scenario("no groups", "five judges on their own that follow quality", "makers", 60, 2, 5, ask={"sees": 1.0}),
    Scenario("all scores are 5", "40 tasks, ratings 1 to 5", "constant", 40, 2, 4),
    Scenario("nearly all scores are 5", "one in a hundred is 4", "constant", 40, 2, 4, ask={"other": 0.01}),
    Scenario("tastes without families", "judges with tastes of sd 2, none for their family", "own_family", 200,
             2, 5, ask={"taste": 2.0}, share=2.0),
    Scenario("no tastes", "no judge favours any system", "own_family", 60, 2, 5, share=2.0),
    Scenario("own families favoured", "every judge gives its family 6 points", "own_family", 60, 2, 5,
             ask={"own": 6.0}),
    *(
        Scenario(f"two judges of a maker like a system by {by}", "the systems are equal", "one_maker", n, 2, 6,
                 ask={"likes": by})
        for by, n in ((5, 60), (12, 200))
    ),
    *(
        Scenario(f"plan to separate {s} systems", "the best is 5 points above the next; pilot of 30 tasks", "separate",
                 30, 2, 4, ask={"systems": s})
        for s in (2, 3, 4, 8)
    ),
    Scenario("plan of tasks", "pilot of 30 tasks, all cells within 3 points", "plan", 30, 4, 4),
    *(
        Scenario(f"strengths, {n} tasks", "four judges, Bradley-Terry", "strengths", n, 2, 4) for n in (15, 40)
    ),
    *(
        Scenario(f"which judges to keep, {n} tasks", "four that follow quality equally well", "kept", n, 2, 4)
        for n in (30, 100)
    ),
    Scenario("swap at the edge", "one language moves by just what matters", "swap", 100, 3, ask={
             "fails": 0.0, "off": 3.0, "matters": 2.0}),
    *(
        Scenario(f"swap, {share:.0%} of calls fail, {n} tasks", "in one language, each costs 60 points; guarded",
                 "swap", n, 3, ask={"fails": share, "matters": 60 * share * 0.6, "guard": True, "where": 1}, share=3.0)
        for share, n in ((0.01, 30), (0.03, 30), (0.05, 100))
    ),
    *(
        Scenario(f"looks, {share:.0%} of calls fail", "one judge is better until a call fails; guarded", "failing", 192,
                 2, ask={"fails": share, "by": 60.0, "better": 60 * share * 0.5})
        for share in (0.01, 0.05)
    ),
    Scenario("1 to 5 at the ceiling", "additive in logits, half of the scores are 5", "ceiling", 100, 4, 4,
             ask={"mean": 2.0, "cuts": (-2, -0.7, 0.7, 2)}),
    Scenario("pass or fail at the ceiling", "additive in logits, nine in ten pass", "ceiling", 100, 4, 4,
             ask={"mean": 3.0, "cuts": (0,)}),
    Scenario("gate, 93% pass", "no language differs", "gates", 100, 4, 3, ask={"rate": 0.93}),
    *(
        Scenario(f"gate, languages {apart:.0%} apart", "70% pass", "gates", 60, 4, 3, ask={"rate": 0.7, "apart": apart})
        for apart in (0.12, 0.4)
    ),
    *(
        Scenario(f"{n} lognormal labels", "and a panel that follows them", "skewed_labels", 400, ask={"labels": n})
        for n in (5, 10, 30)
    ),
    Scenario("label budget", "pilot of 15 labels a language, half-width 3", "budget", 400, ask={"pilot": 15}),
    Scenario("anchored, 10 labels", "shifts of sd 6 over eight languages", "anchored", 200, 8, ask={
             "labels": 10, "tau": 6.0}),
    Scenario("anchored, shifts within noise", "shifts of sd 2 over fifteen languages", "anchored", 200, 15, ask={
             "labels": 10, "tau": 2.0}),
    Scenario("anchored, 50 labels", "shifts of sd 6 over eight languages", "anchored", 200, 8, ask={
             "labels": 50, "tau": 6.0}),
    Scenario("probes, one judge of four sees", "three are blind in all of six languages", "probes", 30, 6, 4,
             ask={"blind": 3}),
    Scenario("probes, noisy judges", "one of four sees", "probes", 30, 6, 4, ask={"blind": 3, "noise": 16.0},
             share=2.0),
    Scenario("probes, all see", "and one is lenient, at the ceiling", "probes", 30, 4, 4, ask={"lenient": 70.0}),
)  # fmt: skip

CALM: tuple[Scenario, ...] = tuple(
    Scenario(f"calm, {name}", about, "calm", *shape, simulate={**NONE, **more})
    for name, about, shape, more in (
        ("20 tasks", "3 languages, 3 judges", (20, 3, 3), {}),
        ("55 tasks", "4 languages, 4 judges", (55, 4, 4), {}),
        ("200 tasks, replicates", "two replicates", (200, 4, 4), {"replicates": 2}),
        ("8 by 6", "the size of DevAI", (55, 8, 6), {}),
        ("1 to 5", "whole-number ratings", (55, 4, 4), {**QUIET, "scale": "integer"}),
        ("binary", "pass or fail", (100, 4, 4), {**QUIET, **BINARY}),
        ("missing", "10% missing at random", (55, 4, 4), {"missing": 0.1}),
        ("clusters", "12 clusters of 5", (60, 4, 4), {"clusters": 12}),
        ("systems", "four systems that differ", (60, 3, 4), {"systems": 4}),
        ("systems, missing", "10% missing at random", (60, 3, 4), {"systems": 4, "missing": 0.1}),
    )
)

NOT_CALM: tuple[Scenario, ...] = (
    Scenario("not calm, a cell of 2.4", "2 x 2 panel, 2 matters", "vetoed", 600, 2, 2,
             simulate={**PLAIN, "interaction": np.array([[2.4, 0.0], [0.0, 0.0]]), "noise_sd": 4.0}),
    Scenario("not calm, judges swap", "by 3.2 points in one of four languages, 2 matters", "vetoed", 600, 4, 4,
             simulate={**PLAIN, "judge_sd": 0.0, "interaction": SWAP, "noise_sd": 4.0}),
)  # fmt: skip

SHAPES: tuple[Scenario, ...] = (
    Scenario("one language", "four judges, four systems", "alone", 60, 1, 4),
    Scenario("one judge", "three languages, four systems", "alone", 60, 3, 1),
    Scenario("one language, one judge", "four systems", "alone", 60, 1, 1),
    Scenario("pairs in both orders", "a judge of four follows the slot in 35%", "placed", 60, 2, 4, ask={"slot": 0.35}),
    Scenario("pairs in both orders, calm", "no judge prefers a place", "placed", 60, 2, 4, ask={"slot": 0.0}),
    Scenario("pairs, order by chance", "one order a task; a judge follows the slot in 35%", "placed", 120, 2, 4,
             ask={"slot": 0.35, "orders": "one"}),
    Scenario("lengths", "one judge of three pays for length; equal systems", "lengths", 40, 2, 3, ask={"quality": 0.0}),
    Scenario("lengths, better systems", "which write less", "lengths", 40, 2, 3, ask={"quality": 1.0}),
    Scenario("lengths, 15 tasks", "better systems write less", "lengths", 15, 2, 3, ask={"quality": 1.0}),
    *(
        Scenario(f"no tasks in common, {name}", about, "unjoined", tasks, 3, 4, ask=ask)
        for name, about, tasks, ask in (
            ("calm", "8, 20 and 60 tasks a language", 88, {"sizes": (8, 20, 60)}),
            ("calm, systems", "three systems", 88, {"sizes": (8, 20, 60), "systems": True}),
            ("calm, missing", "10% missing at random", 88, {"sizes": (8, 20, 60), "holes": 0.1}),
            ("calm, unequal noise", "the fewest tasks have most", 88, {"sizes": (8, 20, 60), "noise": NOISE}),
            ("calm, some shared", "two of three languages share 10 tasks", 100, {"sizes": (20, 20, 60), "shared": 10}),
            ("a cell", "9 points off in the language of 20 tasks", 88, {"sizes": (20, 8, 60), "off": 9.0}),
            ("a cell, systems", "9 points off, three systems", 88, {"sizes": (20, 8, 60), "off": 9.0, "systems": True}),
            ("a cell of most tasks", "9 points off in that of 60 tasks", 88, {"sizes": (60, 8, 20), "off": 9.0}),
        )
    ),
    Scenario("three criteria", "nothing is off", "criteria", 60, 3, 4, ask={"fault": 0.0}),
    Scenario("three criteria, a fault", "15 points in one cell of one of them", "criteria", 60, 3, 4,
             ask={"fault": 15.0}),
)  # fmt: skip

SCENARIOS: tuple[Scenario, ...] = (
    *CELLS,
    *LEVELS,
    *HOLES,
    *LABELS,
    *DRIFT,
    *SYSTEMS,
    *DECISIONS,
    *CLAIMS,
    *CALM,
    *NOT_CALM,
    *SHAPES,
)
