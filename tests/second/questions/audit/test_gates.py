"""Gates against plain counting, their resampling against a loop, and the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.incomplete import CellRates
from polyjudge.second.estimate.kernels import double_centre, draw_blocks
from polyjudge.second.estimate.passing import Moved
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit import gates
from polyjudge.second.questions.audit.pass_rates import parse_sweep
from refusals import lacks, refused
from values import weighted


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=30, languages=4, judges=3, seed=6)[0]


def test_pass_rates_and_spread_by_hand(panel: pj.Panel) -> None:
    result = gates(panel, 50, resamples=100)
    calibrated = pj.ConsensusCalibrator().fit_transform(panel).scores
    for name, scores in (("raw", panel.scores), ("calibrated", calibrated)):
        rate = (scores > 50).mean(axis=0)
        np.testing.assert_allclose(result.cells[f"pass_{name}"], rate.ravel())
        by_hand = 100 * np.mean([rate[:, b].max() - rate[:, b].min() for b in range(3)])
        assert getattr(result, f"spread_{name}") == pytest.approx(by_hand)


def test_held_out_is_a_loop_over_the_same_resamples(panel: pj.Panel) -> None:
    result = gates(panel, 48, base="language2", resamples=100, seed=3)
    reductions = []
    for counts in draw_blocks(30, 100, 3):
        for c in counts:
            left = panel.scores[c == 0]
            drawn = np.repeat(panel.scores, c, axis=0)
            shifted = left - double_centre(drawn.mean(axis=0))

            def spread(scores: np.ndarray) -> float:
                rate = (scores > 48).mean(axis=0)
                return 100 * float(np.mean(rate.max(axis=0) - rate.min(axis=0)))

            reductions.append(spread(left) - spread(shifted))
    assert result.held_out_reduction == pytest.approx(np.mean(reductions))
    assert (result.held_out_low, result.held_out_high) == pytest.approx(tuple(np.quantile(reductions, [0.025, 0.975])))


def test_the_contrast_of_a_base_language_has_score_limits(panel: pj.Panel) -> None:
    found = gates(panel, 48, base="language2", resamples=200, seed=3).contrast.iloc[-1]
    rate = (panel.scores > 48).mean(axis=(0, 2))
    assert found["raw"] == pytest.approx(100 * (rate[1] - np.delete(rate, 1).mean()))
    assert found["raw_low"] < found["raw"] < found["raw_high"]
    passing = np.ones((40, 3, 2))
    passing[0, 0, 0] = 0.0  # forty tasks, one failure: no limit of zero width, and none beyond 100
    near = gates(pj.Panel.from_array(passing), 0.5, base="language2", resamples=100).contrast
    assert (near["raw_high"] - near["raw_low"] > 5).all()
    assert near["raw_high"].max() <= 100


@pytest.mark.statistical
def test_the_contrast_holds_its_level_where_nearly_all_pass() -> None:
    held = []
    for seed in range(100):
        rng = np.random.default_rng([seed, 3])
        z = np.sqrt(0.5) * (rng.normal(size=(40, 1, 1)) + rng.normal(size=(40, 4, 3)))
        c = gates(pj.Panel.from_array((z < 1.476).astype(float)), 0.5, base="language1", resamples=100).contrast
        held.append(((c["raw_low"] <= 0) & (c["raw_high"] >= 0))[:3].mean())
    assert np.mean(held) >= 0.93


def test_few_flips_do_not_bound_what_is_rarer(panel: pj.Panel) -> None:
    nothing = pj.Panel.from_array(np.add.outer(np.arange(40.0), np.zeros((3, 3))))
    g = gates(nothing, 20, resamples=100)
    assert g.flips == 0
    assert g.flip_high == pytest.approx(1 - 0.025 ** (1 / 40))


def test_weights_count_as_tasks(panel: pj.Panel) -> None:
    w = np.random.default_rng(0).integers(1, 5, 30)
    units = pj.Panel.from_array(panel.scores, weights=w.astype(float))
    repeated = pj.Panel.from_array(np.repeat(panel.scores, w, axis=0))
    a, b = gates(units, 50, resamples=100), gates(repeated, 50, resamples=100)
    np.testing.assert_allclose(a.cells["pass_raw"], b.cells["pass_raw"])
    assert a.spread_calibrated == pytest.approx(b.spread_calibrated)


def test_a_score_on_the_threshold_fails() -> None:
    scores = np.random.default_rng(0).integers(0, 5, (20, 2, 2)).astype(float)
    result = gates(pj.Panel.from_array(scores), 3, resamples=100)
    np.testing.assert_allclose(result.cells["pass_raw"], (scores == 4).mean(axis=0).ravel())


@pytest.mark.real_data
def test_devai_gate(devai: pj.Panel) -> None:
    result = gates(devai, 25, sweep=parse_sweep("10:70:5"), base="English")
    assert len(result.sweep) == 13
    assert result.spread_raw == pytest.approx(27.88, abs=0.01)
    assert result.spread_calibrated == pytest.approx(16.36, abs=0.01)
    assert result.held_out_low > 0
    contrast = result.contrast.set_index("judge")
    assert contrast.loc["GPT-4o", "raw_low"] > 0
    assert contrast.loc["GPT-4o", "calibrated_low"] < 0 < contrast.loc["GPT-4o", "calibrated_high"]


def test_bad_input(panel: pj.Panel) -> None:
    with refused(UsageError, "1e+06", "no"):
        gates(panel, 1e6)
    with refused(UsageError, "-1e+06", "every"):
        gates(panel, -1e6)
    with refused(UsageError, "nan"):
        gates(panel, float("nan"))
    with refused(UsageError, "Latin", "language4"):
        gates(panel, 50, base="Latin")
    notes = gates(panel, 50, sweep=[40, 5000], resamples=100).notes
    assert [n.code for n in notes] == ["gate.note.outside"]
    for text in ("10:70", "a:b:c", "5:1:1", "1:2:0", "0:1e9:1", "1:nan:1"):
        with refused(UsageError, "sweep", text):
            parse_sweep(text)
    assert parse_sweep("0.1:0.3:0.1") == pytest.approx([0.1, 0.2, 0.3])


def test_command(panel: pj.Panel, tmp_path: Path, cli: Callable) -> None:
    path = tmp_path / "scores.csv"
    panel.to_long().to_csv(path, index=False)
    few = ("--resamples", 100)
    options = ("--at", 50, "--sweep", "45:55:5", "--base", "language1", "-o", tmp_path / "out", *few)
    done = cli("audit", path, *options)
    assert done.returncode == 0, done.stderr
    assert {"audit.json", "gate.csv", "sweep.csv"} <= {p.name for p in (tmp_path / "out").iterdir()}
    data = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert len(data["gates"]["sweep"]) == 3
    assert data["gates"]["spread_raw"] == pytest.approx(gates(panel, 50).spread_raw)
    bad = cli("audit", path, "--at", 5000, *few)
    assert bad.returncode == 2
    assert "Traceback" not in bad.stderr
    assert not lacks(bad.stderr, 5000, "no")
    assert cli("audit", path, "--sweep", "45:55:5", *few).returncode == 2


def test_the_spread_is_shown_beside_what_chance_gives() -> None:
    """Largest less smallest is above 0 for any panel: without a language effect it is what shuffled languages give."""
    ratios = []
    for seed in range(8):
        noise = pj.Panel.from_array(np.random.default_rng(seed).normal(50, 10, (20, 6, 4)))
        g = gates(noise, 50, resamples=100)
        ratios.append(g.spread_raw / g.spread_chance)
    assert 0.85 < np.mean(ratios) < 1.15
    strong = pj.sample_panel()
    g = gates(strong, 50, resamples=100)
    assert g.spread_chance < 0.6 * g.spread_raw
    assert g.spread_chance == gates(strong, 50, resamples=100).spread_chance


def test_rates_of_units_are_called_so() -> None:
    scores = np.random.default_rng(0).normal(50, 10, (20, 3, 3))
    assert not gates(pj.Panel.from_array(scores), 50, resamples=100).notes
    heavy = pj.Panel.from_array(scores, weights=np.full(20, 3.0))
    assert [n.code for n in gates(heavy, 50, resamples=100).notes] == ["gate.note.units"]


def test_at_least_passes_at_the_threshold_and_above_does_not() -> None:
    rng = np.random.default_rng(4)
    panel = pj.Panel.from_array(rng.integers(1, 6, (40, 4, 3)).astype(float))
    above, least = gates(panel, 4, resamples=100), gates(panel, 4, at_least=True, resamples=100)
    frame = above.to_frame()
    assert frame["pass_raw"].to_numpy() == pytest.approx((panel.scores > 4).mean(axis=0).ravel())
    assert least.to_frame()["pass_raw"].to_numpy() == pytest.approx((panel.scores >= 4).mean(axis=0).ravel())
    assert (above.at_least, least.at_least) == (False, True)
    assert gates(panel, 5, at_least=True, resamples=100).to_frame()["pass_raw"].sum() > 0
    with refused(UsageError, 1, "every"):
        gates(panel, 1, at_least=True, resamples=100)
    with refused(UsageError, 5, "no"):
        gates(panel, 5, resamples=100)


def test_flips_are_counted_out_of_all_decisions() -> None:
    panel, _ = pj.simulate_panel(tasks=40, seed=2, missing=0.05)
    g = gates(panel, 50, resamples=100)
    after = pj.ConsensusCalibrator().fit(panel).transform(panel).scores
    there = ~np.isnan(panel.scores)
    assert g.decisions == there.sum()
    assert g.flips == (((panel.scores > 50) != (after > 50)) & there).sum()
    assert g.flip_low < g.flip_share < g.flip_high
    assert g.flip_share == pytest.approx(g.flips / g.decisions)
    nothing = pj.Panel.from_array(np.add.outer(np.arange(40.0), np.zeros((3, 3))))
    assert gates(nothing, 20, resamples=100).flips == 0


@pytest.mark.parametrize("dense", [True, False])
def test_rates_with_holes_are_those_of_comparing_every_score(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems of a task are drawn together; whole tasks are missing in some languages, and scores here and there."""
    module = sys.modules["polyjudge.second.questions.audit.pass_rates"]
    frame = pj.simulate_panel(tasks=90, languages=5, judges=2, systems=6, seed=4)[0].to_long()
    rng = np.random.default_rng(4)
    gone = {(t, x) for t in frame["task"].unique() for x in frame["language"].unique() if rng.random() < 0.2}
    keep = [pair not in gone for pair in zip(frame["task"], frame["language"], strict=True)]
    holed = pj.read_panel(frame[np.array(keep) & (rng.random(len(frame)) > 0.03)].reset_index(drop=True))
    if not dense:
        monkeypatch.setattr(sys.modules["polyjudge.second.estimate.incomplete"], "DENSE_BYTES", 0)

    def compared(fits: list[CellRates], moved: Moved, limits: Array) -> list[Array]:
        return [
            np.array(
                [[CellRates(f.holes, f.times[[r]])(moved.scores > q)[0] for q in each] for r, each in enumerate(limits)]
            )
            for f in fits
        ]

    units = weighted(pj.simulate_panel(tasks=40, languages=3, judges=3, missing=0.1, seed=5)[0])
    fast = [gates(panel, 50, sweep=[40, 60], resamples=100) for panel in (holed, units)]
    monkeypatch.setattr(module, "_by_moves", compared)
    for panel, found in zip((holed, units), fast, strict=True):
        slow = gates(panel, 50, sweep=[40, 60], resamples=100)
        pd.testing.assert_frame_equal(found.sweep, slow.sweep, rtol=1e-9)


def test_a_spread_that_chance_makes_has_0_in_its_interval() -> None:
    """The largest of eight rates less the smallest is never 0; no language differs, or all do."""
    rng = np.random.default_rng(3)
    alike = (rng.random((60, 8, 3)) < 0.6).astype(float)
    none = gates(pj.Panel.from_array(alike), 0.5, resamples=200).sweep.iloc[0]
    assert none["spread_raw"] > 10
    assert none["spread_raw_low"] == 0
    differ = (rng.random((60, 8, 3)) < np.linspace(0.2, 0.9, 8)[:, None]).astype(float)
    some = gates(pj.Panel.from_array(differ), 0.5, resamples=200).sweep.iloc[0]
    assert 45 < some["spread_raw_low"] < 65 < some["spread_raw"] < some["spread_raw_high"]
