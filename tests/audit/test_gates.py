"""Pass rates, the order and the length of answers, and criteria that say the same."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.audit import gates as room
from polyjudge.base.errors import UsageError
from polyjudge.panel import Panel


def drawn(n: int = 80, s: int = 1, k: int = 3, m: int = 4, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    return 60 + g.normal(0, 8, (n, s, k, 1)) + g.normal(0, 5, (n, s, k, m)) + g.normal(0, 5, (k, m))


def test_above_and_from() -> None:
    y = np.array([3.0, 4, 4, 5, 5, 5, 1, 2] * 3)[:, None, None, None] * np.ones((1, 1, 2, 2))
    panel = Panel.from_array(y, scale=(1, 5))
    assert room.gates(panel, "4", level=0.95).frame["pass_raw"].tolist() == pytest.approx([3 / 8] * 4)
    made = room.gates(panel, ">=4", level=0.95)
    assert made.frame["pass_raw"].tolist() == pytest.approx([5 / 8] * 4)
    assert re.fullmatch(r"With a pass mark from 4, 6[23]% \[4\d, 8\d] of answers pass.", made.findings[0].text)
    assert room.gates(panel, None, level=0.95).frame.empty
    with pytest.raises(UsageError, match="pass mark 70 is outside the scale: scores are from 1 to 5"):
        room.gates(panel, "70", level=0.95)


def test_the_sentence_of_pass_rates() -> None:
    panel = Panel.from_array(drawn(), scale=(0, 100))
    made = room.gates(panel, "60", level=0.95)
    rate = made.frame.pivot(index="language", columns="judge", values="pass_raw")
    spread = (rate.max() - rate.min()).mean()
    assert made.spread[0] == pytest.approx(spread)
    assert f"differs by {100 * spread:.0f} percentage points on average" in (made.findings[0].text)
    assert "depending on the judge and the language." in made.findings[0].text
    one = Panel.from_array(drawn(k=1, m=1), scale=(0, 100))
    text = room.gates(one, "60", level=0.95).findings[0].text
    assert "differs" not in text
    assert text.endswith("of answers pass.")
    assert room.gates(one, "60", level=0.95).frame["pass_calibrated"].isna().all()


def test_holes_do_not_stop_pass_rates() -> None:
    y = drawn()
    y[np.random.default_rng(0).random(y.shape) < 0.2] = np.nan
    found = room.gates(Panel.from_array(y, scale=(0, 100)), "60", level=0.95).frame
    assert found.notna().all().all()
    assert found.columns.tolist() == room.EMPTY
    for kind in ("raw", "calibrated"):
        assert found[f"pass_{kind}"].between(found[f"{kind}_low"], found[f"{kind}_high"]).all()
        assert (found[f"{kind}_low"] >= 0).all()


@pytest.mark.statistical
def test_intervals_of_pass_rates_cover() -> None:
    hit = total = 0
    for seed in range(60):
        g = np.random.default_rng(seed)
        p = Panel.from_array(g.normal(0, 1, (40, 1, 1, 4)))
        f = room.gates(p, "-1.2816", level=0.95).frame
        hit += int(((f["raw_low"] <= 0.9) & (f["raw_high"] >= 0.9)).sum())
        total += 4
    assert hit / total > 0.91


# --- order of the answers ---


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
    made = room.position(panel, level=0.95)
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
    assert "it picks the same winner in" in made.findings[0].text
    other = room.position(verdicts(-1.5), level=0.95)
    assert other is not None
    row = 100 * (1 - other.frame.set_index("judge").loc["J1", ["first_wins", "high", "low"]].astype(float))
    assert "shown second: it wins {:.0f}% [{:.0f}, {:.0f}] of verdicts".format(*row) in other.findings[0].text


def test_fair_judges_and_one_order() -> None:
    fair = room.position(verdicts(0.0), level=0.95)
    assert fair is not None
    assert not fair.findings
    one = room.position(verdicts(1.5, both=False), level=0.95)
    assert one is not None
    assert one.frame.empty
    assert "one order only" in one.note
    assert room.position(Panel.from_array(drawn()), level=0.95) is None


# --- length ---


def test_length() -> None:
    g = np.random.default_rng(0)
    length = np.log(g.uniform(50, 400, (100, 3, 1))) + np.array([0.8, 0, 0])[:, None]
    y = 50 + 5 / np.log(2) * length[..., None] + g.normal(0, 3, (100, 3, 1, 4)) + np.array([0, 1.5, 0])[:, None, None]
    panel = replace(Panel.from_array(y, scale=(0, 100)), length=length)
    made = room.length(panel, level=0.95)
    assert made is not None
    assert made.frame["slope"].tolist() == pytest.approx([5] * 4, abs=0.6)
    assert ((made.frame["low"] < 5) & (made.frame["high"] > 5)).sum() >= 3
    board = made.board.set_index("system")
    assert board.loc["s1", "rank"] == 1
    assert board.loc["s2", "rank_at_equal_length"] == 1
    assert "At equal length s2 would rank above s1." in made.findings[0].text
    assert room.length(replace(panel, length=np.zeros((100, 3, 1))), level=0.95) is None
    assert room.length(Panel.from_array(y), level=0.95) is None


def test_length_with_holes() -> None:
    g = np.random.default_rng(1)
    length = g.normal(5, 0.7, (120, 3, 2))
    y = 50 + 8 * length[..., None] + g.normal(0, 2, (120, 3, 2, 2)) + g.normal(0, 9, (120, 1, 2, 2))
    y[g.random(y.shape) < 0.2] = np.nan
    made = room.length(replace(Panel.from_array(y), length=length), level=0.95)
    assert made is not None
    assert made.frame["slope"].tolist() == pytest.approx([8 * np.log(2)] * 4, abs=0.3)


# --- criteria ---


def test_criteria_that_say_the_same() -> None:
    y = drawn(s=3)
    g = np.random.default_rng(1)
    panels = {
        "a": Panel.from_array(y),
        "b": Panel.from_array(y + g.normal(0, 0.5, y.shape)),
        "c": Panel.from_array(g.normal(size=y.shape)),
    }
    found = room.alike(panels).set_index(["first", "second"])["r"]
    assert found["a", "b"] > 0.98
    assert abs(found["a", "c"]) < 0.1
    said = room.alike_finding(room.alike(panels), 80)[0].text
    assert said.startswith("The judges give a and b nearly the same score (r = ")
    two = {k: panels[k] for k in ("a", "b")}
    assert "give both criteria nearly" in room.alike_finding(room.alike(two), 80)[0].text
    assert room.alike_finding(room.alike({k: panels[k] for k in ("a", "c")}), 80) == ()
