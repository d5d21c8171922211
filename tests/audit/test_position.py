"""The order in which answers are shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from polyjudge.answers.audit.position import position
from polyjudge.base.numbers import percent_ci
from polyjudge.panel import Panel


def verdicts(lean: float, both: bool = True, seed: int = 0, n: int = 80) -> Panel:
    g = np.random.default_rng(seed)
    rows = []
    quality = {"a": 1.0, "b": 0.0}
    for t in range(n):
        for judge, more in (("J1", lean), ("J2", 0.0)):
            for first, second in (("a", "b"), ("b", "a"))[: 2 if both else 1]:
                p = 1 / (1 + np.exp(-(quality[first] - quality[second] + more)))
                rows.append((f"t{t + 1}", "", judge, first, second, float(g.random() < p)))
    order = pd.DataFrame(rows, columns=["task", "language", "judge", "first", "second", "won"])
    return replace(Panel.from_array(g.normal(size=(n, 2, 1, 2)), systems=["a", "b"]), order=order)


def test_a_judge_that_prefers_the_first_place() -> None:
    panel = verdicts(1.5)
    made = position(panel, level=0.95)
    assert made is not None
    row = made.frame.set_index("judge").loc["J1"]
    truth = np.mean([1 / (1 + np.exp(-(q + 1.5))) for q in (1, -1)])
    assert row["low"] < truth < row["high"]
    assert row["low"] > 0.5
    assert row["pairs"] == 80
    order = panel.order
    assert order is not None
    mine = order[order["judge"] == "J1"]
    assert row["first_wins"] == pytest.approx(mine["won"].mean())
    both = mine.pivot(index="task", columns="first", values="won")
    assert row["consistency"] == pytest.approx((both["a"] + both["b"] == 1).mean())
    assert len(made.findings) == 1
    assert made.findings[0].text.startswith("J1 prefers the answer shown first: it wins ")
    same = percent_ci(row["consistency"], row["consistency_low"], row["consistency_high"])
    assert f"it picks the same winner in {same} of pairs." in made.findings[0].text
    other = position(verdicts(-1.5), level=0.95)
    assert other is not None
    row = 100 * (1 - other.frame.set_index("judge").loc["J1", ["first_wins", "high", "low"]].astype(float))
    assert "shown second: it wins {:.0f}% [{:.0f}, {:.0f}] of verdicts".format(*row) in other.findings[0].text


def test_a_judge_that_always_takes_the_first_place_may_not_always_do() -> None:
    panel = verdicts(40.0, n=20)
    made = position(panel, level=0.95)
    assert made is not None
    row = made.frame.set_index("judge").loc["J1"]
    assert (row["first_wins"], row["consistency"]) == (1, 0)
    # Twenty tasks, two judges together: Wilson with at least one and at most two verdicts a task.
    least, most = (proportion_confint(n, n, 1 - 0.95**0.5, method="wilson")[0] for n in (12, 40))
    assert least < row["low"] < most
    assert 0.1 < row["consistency_high"] < 0.25


@pytest.mark.statistical
def test_limits_cover() -> None:
    truth = np.mean([1 / (1 + np.exp(-(q + 1.5))) for q in (1, -1)])
    held = 0
    for seed in range(150):
        made = position(verdicts(1.5, seed=seed, n=25), level=0.95)
        assert made is not None
        row = made.frame.set_index("judge").loc["J1"]
        held += row["low"] < truth < row["high"]
    assert held / 150 > 0.92


def test_fair_judges_and_one_order() -> None:
    fair = position(verdicts(0.0), level=0.95)
    assert fair is not None
    assert not fair.findings
    one = position(verdicts(1.5, both=False), level=0.95)
    assert one is not None
    assert one.frame.empty
    assert "one order only" in one.note
    assert position(Panel.from_array(np.arange(24.0).reshape(4, 2, 3)), level=0.95) is None
