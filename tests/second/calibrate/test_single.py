"""One calibrator everywhere: one score, one row, many threads; the same on the command line; the mark of a gate."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from timeit import repeat
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.methods import find_methods, marked
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError
from refusals import refused

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(20, ["en", "de", "sw"], ["Ada", "Bob", "Cleo", "Dan"], interaction=6, seed=5)[0]


@pytest.fixture(scope="module")
def cal(panel: pj.Panel) -> pj.ConsensusCalibrator:
    return pj.ConsensusCalibrator().fit(panel)


@pytest.mark.parametrize("name", ["cbc", "z-score", "sparse"])
def test_one_score_and_one_row_are_as_in_the_panel(panel: pj.Panel, name: str) -> None:
    fitted = find_methods(name)[0].fit(panel)
    whole = fitted.transform(panel)
    for t, lang, judge in ((0, 1, 2), (7, 2, 0)):
        at = {"language": panel.languages[lang], "judge": panel.judges[judge]}
        score = float(panel.scores[t, lang, judge])
        assert fitted.transform(score, **at) == fitted.apply(score, **at) == whole.scores[t, lang, judge]
        row = {"id": 3, "lang": at["language"], "judge": at["judge"], "score": score}
        assert fitted.transform(row) == row | {"calibrated": whole.scores[t, lang, judge]} == fitted.apply(row)
        assert fitted.apply({"x": score, **at}, score="x", column="y")["y"] == whole.scores[t, lang, judge]


def test_a_frame_a_path_and_a_panel_say_the_same(panel: pj.Panel, cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    frame = panel.to_long()
    frame.to_csv(tmp_path / "scores.csv", index=False)
    wanted = cal.transform(panel).scores
    for source in (frame, tmp_path / "scores.csv", str(tmp_path / "scores.csv")):
        np.testing.assert_allclose(cal.transform(source).scores, wanted)
        np.testing.assert_allclose(pj.ConsensusCalibrator().fit(source).interaction_, cal.interaction_)
    for source in (panel, tmp_path / "scores.csv"):
        out = cal.apply(source)
        assert isinstance(out, pd.DataFrame)
        first = out.iloc[5]
        assert first["calibrated"] == cal.transform(first["score"], language=first["language"], judge=first["judge"])
    renamed = frame.rename(columns={"judge": "who"})
    assert cal.transform(renamed, judge="who").shape == panel.shape


def test_unknown_labels_and_wrong_scores_are_answered(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    with refused(CalibratorError, "fr", "en"):
        cal.transform(1.0, language="fr", judge="Ada")
    with refused(CalibratorError, "Eve", "Ada"):
        cal.apply({"language": "en", "judge": "Eve", "score": 1})
    assert cal.transform(41, language="fr", judge="Ada", unseen="keep") == 41
    assert np.isnan(cal.transform(None, language="en", judge="Ada"))
    assert np.isnan(cal.apply({"language": "en", "judge": "Ada", "score": None})["calibrated"])
    with refused(UsageError, "language", "judge"):
        cal.transform(1.0)
    with refused(PanelError, "seven"):
        cal.apply({"language": "en", "judge": "Ada", "score": "seven"})
    with refused(PanelError, "infinite"):
        cal.transform(np.inf, language="en", judge="Ada")
    with refused(UsageError, "calibrated"):
        cal.apply({"language": "en", "judge": "Ada", "score": 1, "calibrated": 2})
    with refused(CalibratorError, "fit"):
        pj.ConsensusCalibrator().transform(1.0, language="en", judge="Ada")
    with refused(UsageError, "wat"):
        cal.transform(panel.to_long(), wat="x")


def test_what_was_kept_for_single_scores_follows_a_new_fit(panel: pj.Panel) -> None:
    cal = pj.ConsensusCalibrator().fit(panel)
    at = {"language": "en", "judge": "Ada"}
    before = cal.transform(50, **at)
    assert cal.fit(pj.simulate_panel(20, panel.languages, panel.judges, seed=9)[0]).transform(50, **at) != before
    few = pj.ConsensusCalibrator().fit(panel.select(languages=["en", "de"]))
    assert few.transform(50, **at) != 50
    wider = few.extend(panel.select(tasks=panel.tasks[:6]))
    assert wider.transform(50, language="sw", judge="Ada") == 50 - wider.interaction_.loc["sw", "Ada"]


def test_threads_share_one_calibrator(panel: pj.Panel) -> None:
    rows = panel.to_long().to_dict("records")
    wanted = pj.ConsensusCalibrator().fit(panel).apply(panel.to_long())["calibrated"].tolist()
    for _ in range(5):
        fresh = pj.ConsensusCalibrator().fit(panel)
        with ThreadPoolExecutor(8) as pool:
            assert [r["calibrated"] for r in pool.map(fresh.apply, rows)] == wanted


def test_one_score_takes_microseconds(cal: pj.ConsensusCalibrator) -> None:
    cal.transform(71, language="de", judge="Ada")
    best = min(repeat(lambda: cal.transform(71, language="de", judge="Ada"), number=2000, repeat=5)) / 2000
    assert best < 50e-6


def test_a_saved_calibrator_works_before_anything_else_is_touched(cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    cal.save(tmp_path / "cal.json")
    code = (
        "import pandas as pd, polyjudge as pj, sys\n"
        "cal = pj.load_calibrator(sys.argv[1])\n"
        "rows = [(t, l, b, t + 1.0) for t in range(4) for l in ('en', 'de') for b in ('Ada', 'Bob')]\n"
        "print(cal.transform(pd.DataFrame(rows, columns=['task', 'language', 'judge', 'score'])).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "cal.json"], capture_output=True, text=True)
    assert done.stdout.strip() == "(4, 2, 2)", done.stderr


def test_command_and_python_subtract_the_same(cli: Run, tmp_path: Path) -> None:
    """Few tasks, many cells, nothing but noise: plain CBC on both sides; shrinking is named, and done when asked."""
    noise, _ = pj.simulate_panel(12, 7, 5, interaction=0.0, noise_sd=8, seed=3)
    noise.to_long().to_csv(tmp_path / "scores.csv", index=False)
    done = cli("calibrate", tmp_path / "scores.csv", "--save", tmp_path / "cal.json", "--json")
    assert done.returncode == 0, done.stderr
    mine = pj.ConsensusCalibrator().fit(noise)
    np.testing.assert_allclose(pj.load_calibrator(tmp_path / "cal.json").interaction_, mine.interaction_, atol=1e-12)
    assert "shrink.yes" in [note.code for note in mine.advice(noise)]
    assert any("hrink" in str(note) for note in json.loads(done.stdout)["notes"])
    done = cli("calibrate", tmp_path / "scores.csv", "--shrink", "--save", tmp_path / "cal.json")
    shrunk = pj.load_calibrator(tmp_path / "cal.json")
    assert shrunk.shrunk_ > 0.5
    assert cli("calibrate", tmp_path / "scores.csv", "--shrink", "--method", "cbc", "-o", "x.csv").returncode == 2


def ratings(spread: float, seed: int) -> tuple[pj.Panel, np.ndarray]:
    """Scores 1 to 5 of judges with an interaction of this sd, and whether the work is truly above 3."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3.2, 1, 200)
    beta = rng.normal(0, spread, (4, 4))
    beta -= beta.mean(axis=0) + beta.mean(axis=1, keepdims=True) - beta.mean()
    scores = np.clip(np.rint(quality[:, None, None] + beta + rng.normal(0, 0.4, (200, 4, 4))), 1, 5)
    return pj.Panel.from_array(scores, languages=["a", "b", "c", "d"]), (np.rint(quality) > 3)[:, None, None]


@pytest.mark.parametrize(("spread", "gains"), [(0.0, False), (0.8, True)])
def test_moved_marks_do_not_decide_ties_by_a_hair(spread: float, gains: bool) -> None:
    wrong = []
    for seed in range(8):
        panel, truth = ratings(spread, seed)
        cal = pj.ConsensusCalibrator().fit(panel)
        by_score = cal.transform(panel).scores > 3 + 1e-9
        by_mark = panel.scores > cal.marks(3).to_numpy()
        wrong.append([np.mean(x != truth) for x in (panel.scores > 3, by_score, by_mark)])
    raw, scores, marks = np.mean(wrong, axis=0)
    assert scores > marks
    assert (marks < raw - 0.02) if gains else marks == pytest.approx(raw, abs=0.001)


def test_few_levels_are_said_and_the_mark_moves(cli: Run, tmp_path: Path) -> None:
    panel, _ = ratings(0.8, 1)
    cal = pj.ConsensusCalibrator().fit(panel)
    assert cal.levels_ == (1, 2, 3, 4, 5)
    assert "calibrate.few-levels" in [n.code for n in cal.advice(panel)]
    gate = marked(cal, 3)
    gate.save(tmp_path / "gate.json")
    again = pj.load_calibrator(tmp_path / "gate.json")
    for score in (3, 4):
        at = {"language": "a", "judge": panel.judges[1]}
        assert (again.transform(score, **at) > 0) == (score > cal.marks(3).loc["a", panel.judges[1]])
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    done = cli("calibrate", tmp_path / "scores.csv", "--mark", "3", "-o", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    out = pd.read_csv(tmp_path / "out.csv")
    marks = cal.marks(3)
    wanted = [s - marks.loc[lang, b] for s, lang, b in zip(out["score"], out["language"], out["judge"], strict=True)]
    np.testing.assert_allclose(out["margin"], wanted)
    assert cli("calibrate", tmp_path / "scores.csv", "--mark", "3", "--clip", "-o", "x.csv").returncode == 2
    fine = pj.ConsensusCalibrator().fit(pj.simulate_panel(12, 3, 3, seed=1)[0])
    np.testing.assert_allclose(fine.marks(50), 50 + fine.interaction_)


def test_another_panel_is_told(panel: pj.Panel, cal: pj.ConsensusCalibrator) -> None:
    assert cal.cautions(panel) == ()
    part = panel.select(judges=["Ada", "Bob"])
    assert [n.code for n in cal.cautions(part)] == ["calibrate.part-of-panel"]
    assert cal.cautions(part)[0].values["judges"] == ["Cleo", "Dan"]
    far = pj.Panel.from_array(panel.scores * 10, panel.tasks, panel.languages, panel.judges)
    assert [n.code for n in cal.cautions(far)] == ["calibrate.other-scale"]
    low, high = cal.range_
    small = (panel.scores - panel.scores.min()) / 100 + low
    near = pj.Panel.from_array(small, panel.tasks, panel.languages, panel.judges)
    assert [n.code for n in cal.cautions(near)] == ["calibrate.other-scale"]
    assert cal.strangers(panel.judges, (low - (high - low) / 5, high)) == ()  # new tasks go a little further
    with pytest.warns(UserWarning, match="Cleo"):
        cal.transform(part)


def test_apply_says_that_the_panel_is_another(
    cli: Run, panel: pj.Panel, cal: pj.ConsensusCalibrator, tmp_path: Path
) -> None:
    cal.save(tmp_path / "cal.json")
    for name, some in (("own", panel), ("part", panel.select(judges=["Ada", "Bob"]))):
        some.to_long().to_csv(tmp_path / f"{name}.csv", index=False)
        done = cli(
            "apply", tmp_path / "cal.json", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.out.csv", "--json"
        )
        assert done.returncode == 0, done.stderr
        notes = json.loads(done.stdout)["notes"]
        assert bool(notes) == (name == "part")
    assert "Cleo" in notes[0]


def test_compare_says_when_shrinking_is_better() -> None:
    few, _ = pj.simulate_panel(12, 7, 5, interaction=0.0, noise_sd=8, seed=3)
    many, _ = pj.simulate_panel(200, 3, 3, interaction=10, seed=3)
    said = [[n.code for n in pj.compare(x, ["raw", "cbc"], resamples=20).notes] for x in (few, many)]
    assert ["shrink.yes" in codes for codes in said] == [True, False]
