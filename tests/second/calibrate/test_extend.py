"""Adding a language or a judge: by its definition, on planted truth, on the released scores, and as a command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from scipy import stats

import polyjudge.second as pj
from polyjudge.second.calibrate.extend import extend
from polyjudge.second.panel.errors import CalibratorError, UsageError
from refusals import lacks, refused

Run = Callable[..., CompletedProcess[str]]


def by_definition(scores: np.ndarray) -> tuple[np.ndarray, float]:
    """docs/methods.md, section 8: shrunk row and share kept of (q, languages, judges) whose last language is new."""
    d = scores[:, -1] - scores[:, :-1].mean(axis=1)
    d = d - d.mean(axis=1, keepdims=True)
    row = d.mean(axis=0)
    factor = max(0.0, 1 - (d.var(axis=0, ddof=1) / len(d)).sum() / (row**2).sum())
    return row * factor, factor


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(60, ["en", "de", "hi", "sw"], ["Ada", "Bob", "Cleo", "Dan", "Eve"], seed=3)[0]


@pytest.fixture(scope="module")
def cal(panel: pj.Panel) -> pj.ConsensusCalibrator:
    return pj.ConsensusCalibrator().fit(panel.select(languages=["en", "de", "hi"]))


def test_a_new_language_by_the_definition(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    few = panel.select(tasks=panel.tasks[:6])
    wider = cal.extend(few)
    expected, factor = by_definition(few.scores)
    np.testing.assert_allclose(wider.interaction_.loc["sw"], expected, atol=1e-10)
    assert wider.extension_ is not None
    newcomer = wider.extension_.newcomers[0]
    assert newcomer.shrunk == pytest.approx(1 - factor)
    assert newcomer.tasks == 6
    assert newcomer.more_tasks > 0
    t, table = stats.t.ppf(0.975, 5), newcomer.table
    np.testing.assert_allclose((table["high"] - table["low"]) / 2, t * table["se"])
    assert abs(wider.interaction_.loc["sw"].sum()) < 1e-9
    effect = (few.scores[:, 3] - few.scores[:, :3].mean(axis=1) + cal.language_effect_.mean()).mean()
    assert wider.language_effect_["sw"] == pytest.approx(effect)


def test_fitted_cells_do_not_move(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    before = cal.to_dict()
    wider = cal.extend(panel.select(tasks=panel.tasks[:5]))
    np.testing.assert_array_equal(wider.interaction_.loc[["en", "de", "hi"]], cal.interaction_)
    assert cal.to_dict() == before
    assert wider.fingerprint_ != cal.fingerprint_


def test_a_new_judge_is_the_same_with_roles_exchanged(panel: pj.Panel) -> None:
    known = pj.ConsensusCalibrator().fit(panel.select(judges=["Ada", "Bob", "Cleo", "Dan"]))
    few = panel.select(tasks=panel.tasks[10:18])
    wider = known.extend(few)
    expected, _ = by_definition(few.scores.transpose(0, 2, 1))
    np.testing.assert_allclose(wider.interaction_["Eve"], expected, atol=1e-10)
    assert "extend.mean-moves" in [n.code for n in wider.extension_.notes]  # type: ignore[union-attr]
    assert wider.judge_weights_.sum() == pytest.approx(1)


def test_part_of_the_known_languages_is_enough(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    """With English alone beside it, the row is measured against English calibrated, not against English as it is."""
    few = panel.select(tasks=panel.tasks[:40], languages=["en", "sw"])
    row = cal.extend(few).extension_.newcomers[0].table["plain"].to_numpy()  # type: ignore[union-attr]
    d = few.scores[:, 1] - (few.scores[:, 0] - cal.interaction_.loc["en"].to_numpy())
    np.testing.assert_allclose(row, d.mean(axis=0) - d.mean(), atol=1e-10)


def test_languages_and_judges_at_once_and_holes(panel: pj.Panel) -> None:
    known = pj.ConsensusCalibrator().fit(panel.select(languages=["en", "de"], judges=["Ada", "Bob", "Cleo"]))
    scores = panel.scores[:15].copy()
    scores[np.random.default_rng(0).random(scores.shape) < 0.1] = np.nan
    holed = pj.Panel.from_array(scores, panel.tasks[:15], panel.languages, panel.judges)
    wider = known.extend(holed)
    assert set(wider.interaction_.index) == set(panel.languages)
    assert set(wider.interaction_.columns) == set(panel.judges)
    assert np.isfinite(wider.interaction_.to_numpy()).all()
    np.testing.assert_array_equal(wider.interaction_.loc[["en", "de"], ["Ada", "Bob", "Cleo"]], known.interaction_)


@pytest.mark.statistical
def test_holes_are_least_squares_not_available_means() -> None:
    """A judge that misses the hard tasks in the new language: available means would blame the judge."""
    errors = []
    for seed in range(40):
        panel, truth = pj.simulate_panel(40, 4, 4, seed=seed, interaction=4)
        known = pj.ConsensusCalibrator().fit(panel.select(languages=panel.languages[:3]))
        scores = panel.scores[:30].copy()
        hard = truth.task_effect.to_numpy()[:30] < 0
        scores[hard, 3, 1] = np.nan
        holed = pj.Panel.from_array(scores, panel.tasks[:30], panel.languages, panel.judges)
        plain = known.extend(holed).extension_.newcomers[0].table["plain"].to_numpy()  # type: ignore[union-attr]
        true = truth.interaction.to_numpy()
        errors.append(plain - (true[3] - true[:3].mean(axis=0)))
    mean, se = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(40)
    assert np.abs(mean / se).max() < 4


@pytest.mark.statistical
def test_intervals_cover() -> None:
    hits: dict[int, list[bool]] = {4: [], 12: []}
    for seed in range(80):
        panel, truth = pj.simulate_panel(60, 5, 6, seed=seed, interaction=4)
        known = pj.ConsensusCalibrator().fit(panel.select(languages=panel.languages[:4]))
        true = truth.interaction.to_numpy()
        row = true[4] - true[:4].mean(axis=0)
        for tasks, held in hits.items():
            wider = known.extend(panel.select(tasks=panel.tasks[:tasks]))
            low, high = wider.extension_.to_frame()[["low", "high"]].to_numpy().T  # type: ignore[union-attr]
            held += ((low <= row) & (row <= high)).tolist()
    for held in hits.values():
        assert 0.93 <= np.mean(held) <= 0.985


@pytest.mark.statistical
def test_the_recommendation_is_about_right() -> None:
    """Scoring as many more as said brings the standard error to that of the fitted cells."""
    reached = []
    for seed in range(20):
        panel, _ = pj.simulate_panel(400, 5, 6, seed=seed)
        known = pj.ConsensusCalibrator().fit(panel.select(tasks=panel.tasks[:60], languages=panel.languages[:4]))
        first = known.extend(panel.select(tasks=panel.tasks[:15])).extension_.newcomers[0]  # type: ignore[union-attr]
        n = 15 + first.more_tasks
        again = known.extend(panel.select(tasks=panel.tasks[:n])).extension_.newcomers[0]  # type: ignore[union-attr]
        reached.append(again.more_tasks / n)
    assert np.mean(reached) < 0.2
    target = known.extend(panel.select(tasks=panel.tasks[:10]), target=1.0).extension_  # type: ignore[union-attr]
    assert target.newcomers[0].goal.values == {"target": 1.0}  # type: ignore[union-attr]


def test_devai_a_few_tasks_beat_none(devai: pj.Panel) -> None:
    """Each language in turn is new: agreement of its judge order with the others on tasks not used for anything."""
    from polyjudge.second.estimate.kernels import kendall_tau

    tau: dict[int, list[float]] = {0: [], 5: [], 10: []}
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(devai.tasks)
        train, test = devai.select(tasks=order[:35]), devai.select(tasks=order[35:])
        for h in devai.languages:
            others = [x for x in devai.languages if x != h]
            known = pj.ConsensusCalibrator().fit(train.select(languages=others))
            for q in tau:
                cells = test.select(languages=[h, *others]).cell_means
                shift = np.zeros(cells.shape)
                shift[1:] = known.interaction_
                if q:
                    wider, _ = extend(known, train.select(tasks=order[:q]))
                    shift = wider.interaction_.loc[[h, *others]].to_numpy()
                tau[q].append(float(np.nanmean(kendall_tau(cells - shift, devai.tie_gap)[0, 1:])))
    zero, five, ten = (float(np.mean(tau[q])) for q in tau)
    assert five > zero + 0.06
    assert ten > five
    assert ten == pytest.approx(0.88, abs=0.04)


def test_variance_weighted_calibrators_are_not_extended(panel: pj.Panel) -> None:
    cal = pj.ConsensusCalibrator("variance").fit(panel.select(languages=panel.languages[:2]))
    with refused(CalibratorError, "weights='uniform'"):
        cal.extend(panel)


def test_saved_and_loaded(tmp_path: Path, panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    wider = cal.extend(pj.read_panel(panel.select(tasks=panel.tasks[:5]).to_long()))
    wider.save(tmp_path / "wider.json")
    again = pj.load_calibrator(tmp_path / "wider.json")
    np.testing.assert_array_equal(again.interaction_, wider.interaction_)
    np.testing.assert_array_equal(again.se_, wider.se_)
    assert again.transform(panel).shape == panel.shape
    # A file from before standard errors were kept still extends.
    old = {
        k: v for k, v in cal.to_dict().items() if k not in ("se", "judge_weights", "shrinkage", "shrunk", "location")
    }
    revived = pj.ConsensusCalibrator.from_dict(old).extend(panel.select(tasks=panel.tasks[:5]))
    np.testing.assert_allclose(revived.interaction_, wider.interaction_)
    assert revived.extension_.newcomers[0].goal.code == "extend.goal.as-many"  # type: ignore[union-attr]


def test_refusals(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    def refuse(new: pj.Panel, *named: object, **more: Any) -> None:
        with refused(UsageError if more else CalibratorError, *named):
            cal.extend(new, **more)

    refuse(panel.select(languages=["en", "de"]), "polyjudge calibrate")
    other = pj.Panel.from_array(panel.scores[:5, 2:], languages=["xx", "yy"], judges=panel.judges)
    refuse(other, "xx", "no known")
    strangers = pj.Panel.from_array(panel.scores[:5], languages=panel.languages, judges=list("vwxyz"))
    refuse(strangers, "sw", "fewer")
    apart = panel.scores[:6].copy()
    apart[:3, 3] = apart[3:, :3] = np.nan
    refuse(pj.Panel.from_array(apart, None, panel.languages, panel.judges), "sw", 0)
    split = panel.scores[:6].copy()
    split[:3, :, :2] = np.nan
    split[3:, :, 2:] = np.nan
    refuse(pj.Panel.from_array(split, None, panel.languages, panel.judges), "sw", "Ada, Bob, Cleo, Dan, Eve")
    refuse(panel, "target", -1, target=-1.0)
    with refused(CalibratorError, "fit(panel)"):
        pj.ConsensusCalibrator().extend(panel)


def test_a_judge_without_the_new_language_is_said(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    wider = cal.extend(panel.select(tasks=panel.tasks[:6], judges=["Ada", "Bob", "Cleo"]))
    assert wider.interaction_.loc["sw", "Eve"] == 0
    assert wider.counts_.loc["sw", "Eve"] == 0
    assert any(n.values.get("others") == ["Dan", "Eve"] for n in wider.extension_.notes)  # type: ignore[union-attr]


def test_command(tmp_path: Path, panel: pj.Panel, cal: pj.ConsensusCalibrator, cli: Run) -> None:
    cal.save(tmp_path / "cal.json")
    panel.select(tasks=panel.tasks[:6]).to_long().to_csv(tmp_path / "few.csv", index=False)
    done = cli("calibrate", tmp_path / "few.csv", "--extend", tmp_path / "cal.json", "--save", tmp_path / "new.json")
    assert done.returncode == 0, done.stderr
    assert not lacks(done.stdout, "sw")
    np.testing.assert_allclose(
        pj.load_calibrator(tmp_path / "new.json").interaction_,
        cal.extend(panel.select(tasks=panel.tasks[:6])).interaction_,
    )
    done = cli(
        "calibrate", tmp_path / "few.csv", "--extend", tmp_path / "cal.json", "--save", tmp_path / "new.json", "--json"
    )
    data = json.loads(done.stdout)
    added = data["notes"][0]["newcomers"][0]
    assert data["command"] == "calibrate"
    assert (added["label"], added["kind"]) == ("sw", "language")
    assert added["left_tasks"] == len(panel.tasks) - 6
    panel.select(languages=["en", "de"]).to_long().to_csv(tmp_path / "old.csv", index=False)
    done = cli("calibrate", tmp_path / "old.csv", "--extend", tmp_path / "cal.json", "--save", tmp_path / "none.json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "none.json").exists()
