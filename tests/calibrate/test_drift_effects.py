"""Drift beyond the interaction: judges, languages, discrimination; its level, with unequal replicates, every night."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.calibrate.drift import drift
from polyjudge.simulate import simulate_panel


def again(seed: int, tasks: int = 30, then: int = 1, now: int = 1, noise: float = 8.0) -> tuple[pj.Panel, pj.Panel]:
    """The same tasks scored twice, with as many replicates as said."""
    panel, _ = simulate_panel(tasks, 4, 4, seed=seed, noise_sd=0.01)
    rng = np.random.default_rng(1000 + seed)
    old, new = (
        panel.with_scores(panel.scores + rng.normal(0, noise / np.sqrt(r), panel.scores.shape)) for r in (then, now)
    )
    return old, new


@pytest.mark.parametrize(("then", "now"), [(1, 1), (5, 1)])
def test_nothing_changed_keeps_the_level(then: int, now: int) -> None:
    alarms = []
    for seed in range(150):
        old, new = again(seed, then=then, now=now)
        found = drift(pj.ConsensusCalibrator().fit(old), new, seed=seed)
        alarms.append(any(f.severity in ("warning", "serious") for f in found.findings))
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.parametrize("effect", ["judge-offset", "language-shift", "discrimination"])
def test_each_effect_is_seen_and_named(effect: str) -> None:
    old, new = again(3, tasks=60, noise=3.0)
    scores = new.scores.copy()
    if effect == "judge-offset":
        scores[:, :, 1] += 6
    elif effect == "language-shift":
        scores[:, 2] += 6
    else:
        mean = scores.mean(axis=(1, 2), keepdims=True)
        scores[:, :, [1]] += -0.7 * (mean - mean.mean())
    found = drift(pj.ConsensusCalibrator().fit(old), new.with_scores(scores))
    rows = found.effects[found.effects["changed"]]
    assert f"{effect}-changed" in {f.code for f in found.findings}
    label = new.languages[2] if effect == "language-shift" else new.judges[1]
    worst = rows[rows["effect"] == effect].set_index("label")["change"].abs().idxmax()
    assert worst == label
    plain = drift(pj.ConsensusCalibrator().fit(old), new)
    assert found.cells["changed"].tolist() == plain.cells["changed"].tolist()  # the interaction has not moved


def test_a_year_of_nights_has_few_alarms(tmp_path) -> None:  # type: ignore[no-untyped-def]
    alarms = []
    for year in range(3):
        old, _ = again(year, noise=6.0)
        cal = pj.ConsensusCalibrator().fit(old)
        cal.save(tmp_path / "cal.json")
        cal = pj.load_calibrator(tmp_path / "cal.json")
        base = simulate_panel(30, 4, 4, seed=year, noise_sd=0.01)[0]
        rng = np.random.default_rng(year)
        for night in range(20):
            new = base.with_scores(base.scores + rng.normal(0, 6.0, base.scores.shape))
            found = drift(cal, new, nights=365, seed=night)
            alarms.append(any(f.severity in ("warning", "serious") for f in found.findings))
    assert np.mean(alarms) <= 1 / 60  # 0.05 / 365 a night is expected
    once = drift(cal, base.with_scores(base.scores + np.eye(4) * 25), nights=365)
    assert any(f.severity == "serious" for f in once.findings)
