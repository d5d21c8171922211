"""Pass rates, raw and calibrated."""

from __future__ import annotations

import re

import numpy as np
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
