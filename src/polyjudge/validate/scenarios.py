"""The scenarios of the validation suite: panels with planted truth that the analyses must get right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Scenario:
    """One kind of panel. `simulate` holds the arguments of `simulate_panel` beyond the shape."""

    name: str
    about: str
    tasks: int = 55
    languages: int = 8
    judges: int = 6
    simulate: dict[str, Any] = field(default_factory=dict)
    tight: bool = False
    """Coverage of the band must also not exceed 97.5%: no hidden slack."""

    @property
    def interaction(self) -> bool:
        """Whether a language-judge interaction is planted."""
        return bool(np.any(self.simulate.get("interaction", 5.0)))

    @property
    def three_way(self) -> bool:
        return bool(self.simulate.get("three_way_sd", 0.0))

    @property
    def replicates(self) -> int:
        return int(self.simulate.get("replicates", 1))


PLAIN: dict[str, Any] = {"task_language_sd": 0.0, "task_judge_sd": 0.0}
NONE: dict[str, Any] = {"interaction": 0.0}

APART = np.zeros((8, 6))
APART[0] = (10, 6, 2, -2, -6, -10)
"""Judges that differ in the first language only: none leads anywhere else, so no pair truly changes places."""

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("none", "no interaction, Gaussian noise", simulate={**PLAIN, **NONE, "replicates": 2}, tight=True),
    Scenario(
        "none, equal judges", "no interaction, judges equally severe", simulate={**PLAIN, **NONE, "judge_sd": 0.0}
    ),
    Scenario(
        "one language apart",
        "judges differ in one language and tie in all others: no pair changes places",
        simulate={**PLAIN, "judge_sd": 0.0, "interaction": APART},
        tight=True,
    ),
    Scenario("small", "interaction of sd 1.5", simulate={**PLAIN, "interaction": 1.5}, tight=True),
    Scenario("large", "interaction of sd 5", simulate={**PLAIN, "interaction": 5.0, "replicates": 2}, tight=True),
    Scenario("heteroskedastic", "noise sd differs by cell", simulate={"noise": "heteroskedastic"}, tight=True),
    Scenario("heavy tails", "noise t with 3 df", simulate={"noise": "heavy"}),
    Scenario("integer 1 to 5", "whole-number ratings", simulate={"scale": "integer", "interaction": 8.0}),
    Scenario(
        "integer, none",
        "whole-number ratings, no interaction planted",
        simulate={**NONE, "scale": "integer", "judge_sd": 3.0, "language_sd": 2.0},
    ),
    Scenario(
        "floored fractions",
        "percent of five checks passed, a third of them at the floor",
        simulate={"scale": "fractions", "mean": 20.0, "noise_sd": 20.0, "judge_sd": 4.0},
    ),
    Scenario(
        "within-task dependence",
        "strong task-language and task-judge effects",
        simulate={"task_language_sd": 10.0, "task_judge_sd": 12.0},
        tight=True,
    ),
    Scenario("three-way", "task-language-judge effects", simulate={"three_way_sd": 8.0, "replicates": 2}, tight=True),
    Scenario("10 tasks", "few tasks", tasks=10),
    Scenario("30 tasks, heavy tails", "few tasks, t with 3 df", tasks=30, simulate={"noise": "heavy"}),
    Scenario("200 tasks", "many tasks", tasks=200, tight=True),
    Scenario("1,000 tasks", "very many tasks", tasks=1000, simulate={"interaction": 1.0}, tight=True),
    Scenario("2 judges, 2 languages", "the smallest panel", languages=2, judges=2),
    Scenario("20 judges, 20 languages", "a large panel", tasks=60, languages=20, judges=20),
    Scenario(
        "12 clusters of 5",
        "tasks of one source share a fifth of every effect and of the noise",
        tasks=60,
        simulate={"clusters": 12, "cluster_share": 0.2},
    ),
    Scenario(
        "20 clusters of 10",
        "larger clusters, as many effects shared",
        tasks=200,
        simulate={"clusters": 20, "cluster_share": 0.2},
    ),
    Scenario("10% missing", "entries missing at random", simulate={"missing": 0.1}),
    Scenario("30% missing", "a third of the entries missing at random", simulate={"missing": 0.3}),
)
