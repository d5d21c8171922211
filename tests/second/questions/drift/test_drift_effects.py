"""Drift beyond the interaction: judges, languages, discrimination; its level, with unequal replicates, every night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.questions.drift.drift import drift
from polyjudge.second.report import report_of
from polyjudge.second.report.build import pivot
from polyjudge.second.simulate import simulate_panel
from validation.nights import nightly


def again(seed: int, tasks: int = 30, then: int = 1, now: int = 1, noise: float = 8.0) -> tuple[pj.Panel, pj.Panel]:
    """The same tasks scored twice, with as many replicates as said."""
    panel, _ = simulate_panel(tasks, 4, 4, seed=seed, noise_sd=0.01)
    rng = np.random.default_rng(1000 + seed)
    old, new = (
        panel.with_scores(panel.scores + rng.normal(0, noise / np.sqrt(r), panel.scores.shape)) for r in (then, now)
    )
    return old, new


@pytest.mark.statistical
@pytest.mark.parametrize(("then", "now"), [(1, 1), (5, 1)])
def test_nothing_changed_keeps_the_level(then: int, now: int) -> None:
    alarms = []
    for seed in range(60):
        old, new = again(seed, then=then, now=now)
        found = drift(pj.ConsensusCalibrator().fit(old), new, seed=seed)
        alarms.append(any(f.severity in ("warning", "serious") for f in found.findings))
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)


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


def scored(
    rng: np.random.Generator, base: np.ndarray, nights: int, replicates: int, mark: float = 58
) -> tuple[np.ndarray, np.ndarray]:
    """Pass or fail of the same tasks, night after night: mean scores, and shares at the floor."""
    drawn = base[..., None] + rng.normal(0, 6, (nights, *base.shape, replicates)) > mark
    return drawn.mean(axis=-1), 1 - drawn.mean(axis=-1)


@pytest.mark.parametrize("mark", [58.0, 66.0])
@pytest.mark.statistical
def test_years_of_nights_have_few_alarms(mark: float) -> None:
    """40 years of 365 nights at the level of a year: 2 alarms are expected, `make validate` has more of them.

    Where most tasks fail every night, those must not count as evidence that how judges follow each other changed.
    """
    alarms = 0
    for year in range(40):
        rng = np.random.default_rng([year, 3])
        base = 50 + rng.normal(0, 10, (30, 1, 1)) + rng.normal(0, 5, (30, 3, 3))
        then, now = scored(rng, base, 1, 2, mark), scored(rng, base, 365, 2, mark)
        alarms += int(nightly(then[0][0], now[0], then[1][0], now[1]).any())
    assert alarms <= 6


def test_a_night_is_judged_as_drift_judges_it(tmp_path: Path) -> None:
    old, _ = again(1, noise=6.0)
    cal = pj.ConsensusCalibrator().fit(old)
    cal.save(tmp_path / "cal.json")
    cal = pj.load_calibrator(tmp_path / "cal.json")
    rng = np.random.default_rng(4)
    found, batch = [], []
    for size in (0, 3, 6, 7, 8, 9, 12, 30):
        new = old.scores + rng.normal(0, 4.0, old.scores.shape)
        new[:, 1, 2] += size
        result = drift(cal, old.with_scores(new), runs=365)
        found.append(any(f.severity in ("warning", "serious") for f in result.findings))
        none = np.zeros(new.shape)
        batch.append(bool(nightly(old.scores, new, none, none)))
    assert found == batch
    assert found[0] is False
    assert found[-1] is True


def test_a_night_with_systems_is_judged_as_drift_judges_it() -> None:
    """A system that changed is no alarm; a judge that lost its sight of them is, as is a broken cell."""
    old, _ = pj.simulate_panel(60, 3, 4, systems=4, noise_sd=4.0, seed=1)
    before = np.array(old.system_scores)
    cal = pj.ConsensusCalibrator().fit(old)
    rng = np.random.default_rng(4)
    nights, found, aside = [], [], []
    for what in ("nothing", "system", "system in a language", "sight", "cell", "system and cell"):
        new = before + rng.normal(0, 4.0, before.shape)
        if "system" in what:
            new[:, 1, slice(2, 3) if "language" in what else slice(None)] += 15
        if what == "sight":
            new[..., 2] = (mean := new[..., 2].mean(axis=1, keepdims=True)) - 0.7 * (new[..., 2] - mean)
        if "cell" in what:
            new[:, :, 1, 2] += 12
        labels = old.tasks, old.languages, old.judges
        result = drift(cal, pj.Panel.from_array(new, *labels, systems=old.systems), runs=365)
        found.append(any(f.severity in ("warning", "serious") for f in result.findings))
        aside.append(len(result.systems))
        nights.append(new)
    assert found == [False, False, False, True, True, True]
    assert aside == [0, 1, 1, 0, 0, 1]
    now, none = np.stack(nights), np.zeros(before.shape)
    assert nightly(before, now, none, np.zeros(now.shape)).tolist() == found
    assert nightly(before.mean(axis=1), now.mean(axis=2), none[:, 0], np.zeros(now[:, :, 0].shape)).tolist() != found


@pytest.mark.statistical
def test_years_of_nights_with_systems_have_few_alarms() -> None:
    """40 years of 365 nights, pass or fail of four systems: 2 alarms are expected."""
    alarms = 0
    for year in range(40):
        rng = np.random.default_rng([year, 5])
        base = 50 + rng.normal(0, 10, (30, 1, 1, 1)) + rng.normal(0, 5, (30, 4, 1, 1)) + rng.normal(0, 3, (30, 4, 3, 3))
        then, now = scored(rng, base, 1, 1), scored(rng, base, 365, 1)
        alarms += int(nightly(then[0][0], now[0], then[1][0], now[1]).any())
    assert alarms <= 7


def test_too_few_tasks_for_a_year_are_said() -> None:
    old, new = again(2, tasks=12)
    shifted = new.with_scores(new.scores + 50 * np.eye(4))
    codes = {f.code for f in drift(pj.ConsensusCalibrator().fit(old), shifted, runs=365).findings}
    assert "too-few-for-runs" in codes
    assert "interaction-stable" in codes


def test_other_replicates_are_said_in_nightly_use() -> None:
    old, new = again(5)
    twice = pj.Panel.from_array(np.stack([old.scores, new.scores], axis=-1), old.tasks, old.languages, old.judges)
    cal = pj.ConsensusCalibrator().fit(twice)
    for nights, said in ((365, True), (1, False)):
        assert any(f.code == "replicates-differ" for f in drift(cal, new, runs=nights).findings) is said
    assert not any(f.code == "replicates-differ" for f in drift(cal, twice, runs=365).findings)


VARIED = np.array([-15.0, -3.0, -12.0, 0.0, -20.0])


@pytest.mark.parametrize(
    ("planted", "code", "shown"),
    [
        ({"judge": -12.0}, "judge-offset-changed", {("all", 2): -12.0 * 3 / 4}),
        ({"language": -12.0}, "language-shift-changed", {(1, "all"): -12.0 * 4 / 5}),
        ({"judge": VARIED}, "judge-changed", {(i, 2): x for i, x in enumerate(VARIED)}),
        ({"language": VARIED[1:]}, "language-changed", {(1, j): x for j, x in enumerate(VARIED[1:])}),
        ({"cell": -15.0}, "cell-broke", {(1, 2): -15.0}),
    ],
)
def test_the_picture_shows_what_the_words_say(planted: dict[str, Any], code: str, shown: dict[Any, float]) -> None:
    """The change of a whole judge or language stands in its own places, and leaves no trace in others."""
    base, _ = pj.simulate_panel(80, 5, 4, interaction=3.0, seed=1)
    change = np.zeros((5, 4))
    where = {"judge": (slice(None), 2), "language": (1, slice(None)), "cell": (1, 2)}
    for what, size in planted.items():
        change[where[what]] = size
    noise = np.random.default_rng(5).normal(0, 2, base.scores.shape)
    found = pj.drift(pj.ConsensusCalibrator().fit(base), base.with_scores(base.scores + noise + change))
    assert found.findings[0].code == code
    assert {f.code for f in found.findings} <= {code, "interaction-stable", "range-changed"}
    report = report_of(found)
    assert report is not None
    (picture,) = report.picture
    cells = picture.data[0]["cells"]
    drawn = pivot(cells.assign(excess=cells["excess"].where(~cells["small"], 0.0)), "excess").to_numpy()
    expected = np.zeros((5, 4))
    for (i, j), size in shown.items():
        expected[slice(None) if i == "all" else i, slice(None) if j == "all" else j] = size
    assert np.abs(drawn - expected).max() < 1.0
    elsewhere = np.ones((5, 4), bool)
    elsewhere[where[next(iter(planted))]] = False
    assert not drawn[elsewhere].any()


def test_one_language_watches_its_judges_and_one_judge_its_level() -> None:
    """Interaction needs two of each; what is left is watched on the same tasks, quietly while nothing changed."""
    old, new = again(5, tasks=60, noise=3.0)
    language, judge = old.languages[:1], old.judges[:1]
    for code, part in (
        ("judge-offset-changed", {"languages": language}),
        ("level-changed", {"judges": judge}),
        ("level-changed", {"languages": language, "judges": judge}),
    ):
        then, now = old.select(**part), new.select(**part)
        cal = pj.ConsensusCalibrator().fit(then)
        calm = drift(cal, now)
        assert not [f for f in calm.findings if f.weight >= 2], code
        moved = now.scores.copy()
        moved[:, :, 0] -= 5
        found = drift(cal, now.with_scores(moved))
        assert [f.code for f in found.findings if f.weight >= 2] == [code]
        assert "interaction-stable" not in {f.code for f in found.findings}
        assert report_of(found) is not None
        renamed = pj.Panel.from_array(now.scores, [f"x{i}" for i in range(60)], now.languages, now.judges)
        assert "not-paired-alone" in {f.code for f in drift(cal, renamed).findings}
