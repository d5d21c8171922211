"""Properties that hold for every panel: names, order, scale and shift of the scores, readers, threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polyjudge.second as pj
from polyjudge.second.panel.arrays import Array
from polyjudge.second.questions.audit import rank_reversals, uncertainty

QUICK = {"max_examples": 15, "deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}

seeds = st.integers(0, 2**31)


def panel_of(seed: int) -> pj.Panel:
    rng = np.random.default_rng(seed)
    n, k, m = int(rng.integers(12, 40)), int(rng.integers(2, 6)), int(rng.integers(2, 6))
    return pj.simulate_panel(n, k, m, replicates=int(rng.integers(1, 3)), seed=seed)[0]


def cells(panel: pj.Panel, seed: int = 1) -> pd.DataFrame:
    return uncertainty(panel, resamples=100, seed=seed).to_frame().set_index(["language", "judge"])


@given(seed=seeds)
@settings(**QUICK)
def test_order_of_labels_does_not_matter(seed: int) -> None:
    panel = panel_of(seed)
    rng = np.random.default_rng(seed)
    turned = panel.select(languages=rng.permutation(panel.languages), judges=rng.permutation(panel.judges))
    first, second = cells(panel), cells(turned).reindex(cells(panel).index)
    numbers = ["interaction", "se", "low", "high", "band_low", "band_high"]
    np.testing.assert_allclose(first[numbers], second[numbers], rtol=1e-7, atol=1e-9)
    assert rank_reversals(panel, draws=100, resamples=100).count == (
        rank_reversals(turned, draws=100, resamples=100).count
    )


@given(seed=seeds)
@settings(**QUICK)
def test_names_do_not_matter(seed: int) -> None:
    panel = panel_of(seed)
    renamed = pj.Panel.from_array(panel.scores, judges=[f"=x{j}\u202e" for j in range(panel.shape[2])])
    first, second = cells(panel), cells(renamed)
    np.testing.assert_array_equal(first["interaction"], second["interaction"])
    np.testing.assert_array_equal(first["band_low"], second["band_low"])


@given(seeds, st.sampled_from([1e-4, 0.5, 3.0, 1e5]), st.sampled_from([-1000.0, 0.0, 7.0]))
@settings(**QUICK)
def test_scale_and_shift(seed: int, scale: float, shift: float) -> None:
    """Intervals scale with the scores; ranks, reversals and tau do not notice."""
    panel = panel_of(seed)
    moved = pj.Panel.from_array(scale * panel.scores + shift, panel.tasks, panel.languages, panel.judges)
    plain = pj.Panel.from_array(panel.scores, panel.tasks, panel.languages, panel.judges)
    names = ["interaction", "se", "low", "high", "band_low", "band_high"]
    np.testing.assert_allclose(cells(moved)[names], scale * cells(plain)[names], rtol=1e-6, atol=1e-8 * scale)
    first, second = (pj.compare(p, ("raw", "cbc"), resamples=64) for p in (plain, moved))
    np.testing.assert_allclose(first.to_frame()["tau"], second.to_frame()["tau"])
    np.testing.assert_allclose(
        scale**2 * first.to_frame()["gain"], second.to_frame()["gain"], rtol=1e-5, atol=1e-9 * scale**2
    )


@given(seed=seeds)
@settings(**{**QUICK, "max_examples": 4})
def test_every_reader_gives_the_same_panel(seed: int, tmp_path: Path) -> None:
    import polars

    panel = panel_of(seed)
    frame = panel.to_long()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.csv.gz", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True, double_precision=15)
    for source in (tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "a.parquet", frame, polars.from_pandas(frame)):
        assert pj.read_panel(source).fingerprint == panel.fingerprint
    np.testing.assert_allclose(pj.read_panel(tmp_path / "a.jsonl").scores, panel.scores, rtol=1e-12)


@given(seed=seeds)
@settings(**{**QUICK, "max_examples": 6})
def test_save_load_apply_is_transform(seed: int, tmp_path: Path) -> None:
    panel = panel_of(seed)
    calibrator = pj.ConsensusCalibrator().fit(panel)
    calibrator.save(tmp_path / "cal.json")
    frame = panel.to_long().sample(frac=1, random_state=seed % 1000)
    frame["note"] = "kept"
    applied = pj.load_calibrator(tmp_path / "cal.json").apply(frame)
    assert list(applied["note"]) == ["kept"] * len(frame)
    assert list(applied["task"]) == list(frame["task"])
    again = pj.read_panel(applied.drop(columns="score").rename(columns={"calibrated": "score"}).sort_index())
    whole = calibrator.transform(panel)
    expected: Array = whole.scores if whole.replicate_scores is None else whole.replicate_scores
    got = again.scores if again.replicate_scores is None else again.replicate_scores
    np.testing.assert_array_equal(got, expected)


def test_threads_do_not_matter() -> None:
    """The whole audit, as JSON, is the same on one thread and on two: in this process and in another."""
    code = "import json, sys, polyjudge as pj\n"
    code += "json.dump(pj.audit(pj.sample_panel(), resamples=100).to_dict(), sys.stdout)"
    threads = "2" if os.environ["OPENBLAS_NUM_THREADS"] == "1" else "1"
    env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    there = json.loads(done.stdout)
    here = json.loads(json.dumps(pj.audit(pj.sample_panel(), resamples=100).to_dict()))
    assert here["findings"] == there["findings"]
    _same(here, there, "audit")


def _same(first: object, second: object, where: str) -> None:
    """Equal structure, equal text, numbers equal to rounding of a sum (threads may add in another order)."""
    if isinstance(first, dict):
        assert isinstance(second, dict)
        assert first.keys() == second.keys(), where
        for key in first:
            _same(first[key], second[key], f"{where}.{key}")
    elif isinstance(first, list):
        assert isinstance(second, list)
        assert len(first) == len(second), where
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            _same(a, b, f"{where}[{i}]")
    elif isinstance(first, float):
        assert first == pytest.approx(second, rel=1e-9, abs=1e-12), where
    else:
        assert first == second, where
