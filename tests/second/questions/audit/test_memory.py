"""A small file must not take all memory or hours: work goes in blocks, and only what compares every two of thousands is
left out, with the reason. `benchmarks/wide.py` measures the widest panels."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate import kernels, pairs
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.estimate.passing import Passing
from polyjudge.second.panel import budget as memory
from polyjudge.second.panel.budget import allowed, budget, require, require_time
from polyjudge.second.panel.errors import TooWide
from polyjudge.second.questions.judges.choose import choose
from polyjudge.second.questions.systems.signal import signal
from polyjudge.second.report import report_of
from refusals import refused

MB = 1 << 20


@contextmanager
def at_most(size: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= size, f"{peak / MB:.0f} MB"


def noise(*shape: int, seed: int = 0) -> pj.Panel:
    return pj.Panel.from_array(np.random.default_rng(seed).uniform(0, 100, shape))


LINEAR = (
    "uncertainty",
    "held_out",
    "variance",
    "sensitivity",
    "explanation",
    "certificate",
)


@pytest.mark.parametrize(
    ("shape", "left"),
    [((2, 2, 300), {"reversals", "signal"}), ((2, 300, 2), set()), ((2, 30, 30), {"signal"})],
)
def test_a_wide_panel_is_audited_in_blocks(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], left: set[str]
) -> None:
    monkeypatch.setattr(memory, "MOST_COMPARED", 5_000_000)
    with at_most(80 * MB):
        found = pj.audit(noise(*shape), resamples=200)
    assert all(getattr(found, name) is not None for name in LINEAR)
    assert set(found.left_out) - {"three-way"} == left
    assert (found.reversals is None) == (found.ranks is None) == ("reversals" in left)
    assert left <= {f.values["part"] for f in found.findings if f.code == "left-out"}
    page = found.to_html() or ""
    assert len(page) < 8 * MB
    assert len(str(found)) < 20_000
    for part in left:
        assert "--judges" in str(found.left_out[part])


def test_the_gain_is_measured_where_orders_are_too_many_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_COMPARED", 1_000_000)
    c = pj.compare(noise(4, 2, 120), ["raw", "cbc"], resamples=200)
    assert np.isfinite(c.table["gain_held_out"]).all()
    assert c.table["tau"].isna().all()
    assert c.differences.empty
    (wide,) = (note for note in c.notes if note.code == "held-out.wide")
    assert (wide.values["languages"], wide.values["judges"]) == (2, 120)
    assert wide in report_of(c).verdict  # type: ignore[union-attr]


def test_blocks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=(12, 3, 7))
    whole = pairs.order_pairs(values, np.ones(12), resamples=200)
    monkeypatch.setattr(pairs, "COLUMNS", 12)
    parts = pairs.order_pairs(values, np.ones(12), resamples=200)
    for name in ("mean", "se", "statistic", "p_above", "p_below", "carried", "critical"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-12)
    assert np.array_equal(parts.above, whole.above)


def test_pairs_take_memory_of_a_block() -> None:
    values = np.random.default_rng(1).normal(size=(4, 40, 40))  # 31,200 pairs: 250 MB of t values
    with at_most(220 * MB):
        pairs.order_pairs(values, np.ones(4), resamples=1000)


def test_pairs_in_parts_are_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CHUNK", 10)
    for size in (2, 3, 9):
        i, j = (np.concatenate(x) for x in zip(*kernels.pair_chunks(size, 3), strict=True))
        assert np.array_equal(np.array([i, j]), np.array(np.triu_indices(size, 1)))


def test_few_units_pass_as_many_do() -> None:
    rng = np.random.default_rng(3)
    scores, weights = rng.integers(0, 9, (20, 5)).astype(float), rng.integers(1, 4, 20).astype(float)
    column = np.arange(20)
    times, limits = rng.integers(0, 3, (2, 6, 20)).astype(float), rng.uniform(0, 9, (6, 4, 5))
    few = Passing(scores, column, weights)
    more = np.vstack([scores, np.full((60, 5), -1.0)])
    many = Passing(more, np.r_[column, np.zeros(60, int)], np.r_[weights, np.zeros(60)])
    assert few.few
    assert not many.few
    np.testing.assert_allclose(few(limits, times), many(limits, times))


def test_missing_scores_of_a_wide_panel_are_refused_with_what_to_do() -> None:
    scores = noise(2, 60, 60).scores.copy()
    scores[0, 0, 0] = np.nan
    with at_most(200 * MB), refused(TooWide, "3,600", "--incomplete drop"):
        pj.audit(pj.Panel.from_array(scores))


def test_missing_scores_in_hundreds_of_cells_are_not_solved_again_in_every_resample() -> None:
    scores = noise(4, 22, 22).scores.copy()
    scores[0, 0, 0] = np.nan
    estimate = estimate_interaction(pj.Panel.from_array(scores))
    assert not estimate._fit.dense
    cells, interaction = estimate.resample(np.ones((1, 4)))
    np.testing.assert_allclose(interaction[0], estimate.interaction, atol=1e-6)
    assert np.isfinite(cells).all()


@pytest.mark.parametrize("shape", [(2, 2, 1500), (2, 5, 600)])
def test_judges_in_thousands_are_not_compared_by_other_commands_either(shape: tuple[int, int, int]) -> None:
    panel = noise(*shape)
    for work in (lambda: choose(panel), lambda: signal(panel), lambda: pj.compare(panel, "judge-aware btl")):
        with at_most(100 * MB), refused(TooWide, shape[2], "--judges"):
            work()


def test_the_budget_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYJUDGE_MEMORY", "1GB")
    require(1 << 29, "This")
    with refused(TooWide, "2.0 GB", "1.0 GB", "POLYJUDGE_MEMORY=16GB"):
        require(2 << 30, "This")
    require_time(memory.MOST_COMPARED, "This")
    with refused(TooWide, "3e+08", "--judges"):
        require_time(memory.MOST_COMPARED + 1, "This")


def test_a_control_group_sets_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYJUDGE_MEMORY", raising=False)
    machine = allowed()
    group = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_GROUPS", (str(group), str(tmp_path / "absent")))
    assert budget() == max(memory.LEAST, allowed() // 2)
    group.write_text(f"{1 << 30}\n")
    assert allowed() == 1 << 30
    assert budget() == 1 << 29
    group.write_text("max\n")
    assert allowed() >= machine
    group.write_text(f"{1 << 20}\n")
    assert budget() == memory.LEAST


def test_a_system_that_does_not_say_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sysconf")  # as on Windows
    monkeypatch.setattr(memory, "_GROUPS", ())
    assert allowed() == 4 << 30


def test_a_fit_takes_few_copies_of_a_panel() -> None:
    panel = noise(60_000, 10, 10)
    with at_most(3.5 * panel.scores.nbytes):
        pj.ConsensusCalibrator().fit(panel)
