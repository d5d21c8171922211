"""Pass rates, raw and calibrated."""

from __future__ import annotations

import re

import numpy as np
import pytest

from polyjudge.answers.audit import gates as room
from polyjudge.answers.audit.audit import audit
from polyjudge.base.errors import UsageError
from polyjudge.calibrate.passes import estimate_rates
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
    text = made.findings[0].text
    assert text.startswith("With a pass mark from 4, 6")
    assert (
        "of answers pass. No judge's pass rate certainly differs between two languages; a difference of up to" in text
    )
    assert room.gates(panel, None, level=0.95).frame.empty
    with pytest.raises(UsageError, match="pass mark 70 is outside the scale: scores are from 1 to 5"):
        room.gates(panel, "70", level=0.95)


def test_the_sentence_of_pass_rates() -> None:
    y = drawn()
    y[:, :, 2, 1] += 12
    panel = Panel.from_array(y, scale=(0, 100))
    made = room.gates(panel, "60", level=0.95)
    rate = made.frame.pivot(index="language", columns="judge", values="pass_raw")
    assert made.spread[0] == pytest.approx((rate.max() - rate.min()).mean())
    text = made.findings[0].text
    assert "depending on the judge and the language." in text
    gap = rate.max() - rate.min()
    judge = str(gap.idxmax())
    low, high = str(rate[judge].idxmin()), str(rate[judge].idxmax())
    said = re.search(
        rf"{judge} passes ([\d.]+) percentage points \[([\d.]+), ([\d.]+)] more in {high} than in {low}", text
    )
    assert said is not None
    assert float(said[1]) == pytest.approx(100 * gap.max(), abs=0.6)
    column = estimate_rates(panel.passes(60, ">"))
    first, second = (np.array([4 * panel.languages.index(x) + panel.judges.index(judge)]) for x in (high, low))
    # The largest of 12 gaps, three of each judge: its limits hold for all.
    ends = column.raw.difference(first, second, 0.95, 12)
    assert (float(said[2]), float(said[3])) == pytest.approx((100 * ends[1][0], 100 * ends[2][0]), abs=0.6)
    calibrated = made.frame.pivot(index="language", columns="judge", values="pass_calibrated")[judge]
    after = re.search(r"\((-?[\d.]+) \[-?[\d.]+, [\d.]+] after calibrating\)\.$", text)
    assert after is not None
    assert float(after[1]) == pytest.approx(100 * (calibrated[high] - calibrated[low]), abs=0.6)
    one = Panel.from_array(drawn(k=1, m=1), scale=(0, 100))
    text = room.gates(one, "60", level=0.95).findings[0].text
    assert "differs" not in text
    assert text.endswith("of answers pass.")
    assert room.gates(one, "60", level=0.95).frame["pass_calibrated"].isna().all()


def test_the_lowest_and_the_highest_rate_are_wider_than_single_ones() -> None:
    panel = Panel.from_array(drawn(), scale=(0, 100))
    made = room.gates(panel, "60", level=0.95)
    text = made.findings[0].text
    lowest = made.frame.sort_values("pass_raw").iloc[0]
    said = re.search(r"(\d+)% \[(\d+), (\d+)] to ", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(100 * lowest["pass_raw"], abs=0.6)
    assert float(said[2]) < 100 * lowest["raw_low"] - 1
    assert float(said[3]) > 100 * lowest["raw_high"] + 1


def test_calibrated_rates_are_those_of_the_indicator() -> None:
    """Gated scores would lose every 4 from which the calibrator takes 0.02."""
    y = np.random.default_rng(0).integers(1, 6, (300, 1, 6, 5)).astype(float)
    panel = Panel.from_array(y, scale=(1, 5))
    made = room.gates(panel, ">=4", level=0.95)
    assert made.spread[1] < made.spread[0] < 0.12
    raw = (y >= 4).mean((0, 1))
    centred = raw - raw.mean(0) - raw.mean(1, keepdims=True) + raw.mean()
    assert made.frame["pass_calibrated"].to_numpy() == pytest.approx((raw - centred).ravel(), abs=1e-12)
    tipped = made.findings[1]
    assert tipped.key == "gates.tipped"
    beta = y.mean((0, 1)) - y.mean((0, 1, 2)) - y.mean((0, 1, 3))[:, None] + y.mean()
    moved = np.abs((y - beta >= 4).mean((0, 1)) - (raw - centred)).max()
    assert f"by {100 * moved:.0f} percentage points, because many scores stand on the mark" in tipped.text
    assert tipped.text.endswith("or the column passes that calibrating with a threshold writes.")
    smooth = room.gates(Panel.from_array(drawn(), scale=(0, 100)), "60", level=0.95)
    assert len(smooth.findings) == 1


def test_holes_do_not_stop_pass_rates() -> None:
    y = drawn()
    y[np.random.default_rng(0).random(y.shape) < 0.2] = np.nan
    found = room.gates(Panel.from_array(y, scale=(0, 100)), "60", level=0.95).frame
    assert found.notna().all().all()
    assert found.columns.tolist() == room.COLUMNS
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


def test_the_table_says_of_how_many_cells_its_intervals_hold() -> None:
    g = np.random.default_rng(4)
    scores = g.normal(50, 12, (30, 1, 1, 1)) + g.normal(0, 8, (30, 1, 2, 2))
    result = audit(Panel.from_array(scores, scale=(-100, 200)), threshold="50")
    table = next(section for section in result.report().sections if section.name == "gates").tables[0]
    assert table.note.startswith("Intervals of one cell;")
