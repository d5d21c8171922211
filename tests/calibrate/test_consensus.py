"""ConsensusCalibrator: identities of METHODS 3, what it gives back, what it refuses, and its one file format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.calibrate import apply, calibrate
from polyjudge.base.errors import CalibratorError, PanelError, UsageError
from polyjudge.calibrate.baselines import unbiased_gain
from polyjudge.calibrate.consensus import ConsensusCalibrator, interaction_parts
from polyjudge.calibrate.saved import load_calibrator, load_consensus
from polyjudge.cbc import double_centre, interaction
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.stats.cells import Values

LANGUAGES, JUDGES = ("de", "en", "ja"), ("a", "b", "c", "d")


def scores(seed: int = 0, n: int = 30, k: int = 3, m: int = 4, beta: float = 4.0) -> np.ndarray:
    g = np.random.default_rng(seed)
    y = 50 + g.normal(0, 10, (n, 1, 1)) + g.normal(0, 3, (n, k, 1)) + g.normal(0, 4, (n, 1, m))
    y = y + g.normal(0, 5, (n, k, m))
    return y + double_centre(g.normal(0, beta, (k, m)))


def panel(y: np.ndarray, **more: Any) -> Panel:
    more = {"scale": (0.0, 100.0), "languages": LANGUAGES, "judges": JUDGES, **more}
    return Panel.from_array(y, **more)


# --- identities ---


@pytest.mark.parametrize("seed", range(3))
def test_identities(seed: int) -> None:
    y = scores(seed)
    cal = ConsensusCalibrator().fit(panel(y))
    beta = cal.beta_.to_numpy()
    made = cal.transform(panel(y)).scores[:, 0]
    n, k, _ = y.shape
    np.testing.assert_allclose(beta, interaction(y), atol=1e-12)  # tests/cbc holds I1 to I3
    assert (np.argsort(made.mean(0)[0]) == np.argsort(y.mean((0, 1)))).all()
    np.testing.assert_allclose(y - made, np.broadcast_to(beta, y.shape), atol=1e-12)  # I4
    np.testing.assert_allclose(double_centre(y).mean(0), beta, atol=1e-12)  # I5
    weighted = ConsensusCalibrator("cbc-weighted").fit(panel(y)).beta_.to_numpy()  # I6
    np.testing.assert_allclose(np.ptp(weighted - beta, axis=1), 0, atol=1e-12)
    apart = y.mean(0) - y.mean((0, 2))[:, None]  # I7: the same for any truth that does not depend on the judge
    in_sample = (beta * (2 * apart - beta)).mean()
    for truth in (y.mean(-1), -y.mean(-1), np.zeros((n, k))):
        fall = ((y - truth[..., None]) ** 2 - (made - truth[..., None]) ** 2).mean()
        assert fall == pytest.approx(in_sample)
    assert in_sample == pytest.approx((beta**2).mean())


def test_published_interaction(devai: Panel, published: dict[str, Any]) -> None:
    cal = ConsensusCalibrator().fit(devai)
    for language, row in published["beta_hat"].items():
        for judge, value in row.items():
            assert cal.beta_.loc[language, judge] == pytest.approx(value, abs=1e-12)
    assert cal.gain_ == pytest.approx((29.1816543265, 24.9126460213, 33.4506626317))


@pytest.mark.statistical
def test_gain_has_no_bias_and_covers() -> None:
    g = np.random.default_rng(0)
    beta = double_centre(g.normal(0, 2, (4, 5)))
    covered, errors = 0, []
    for _ in range(300):
        y = beta + g.normal(0, 5, (20, 4, 5))
        d = double_centre(y)
        fit = d.mean(0)
        truth = float((fit * (2 * beta - fit)).mean())  # of the very fit that was made
        found = unbiased_gain(d)
        covered += found.low <= truth <= found.high
        errors.append(found.estimate - truth)
    assert covered / 300 > 0.9
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(300)


def test_shrinking_keeps_signal_and_removes_noise() -> None:
    noise = np.random.default_rng(0).normal(0, 5, (40, 10, 3, 4))
    assert np.mean([ConsensusCalibrator(shrink=True).fit(panel(y)).kept_ for y in noise]) < 0.4
    strong = ConsensusCalibrator(shrink=True).fit(panel(noise[0] + 30 * double_centre(np.eye(3, 4))))
    assert 0.95 < strong.kept_ < 1
    plain = ConsensusCalibrator().fit(panel(noise[0])).beta_
    shrunken = ConsensusCalibrator(shrink=True).fit(panel(noise[0]))
    pd.testing.assert_frame_equal(shrunken.beta_, plain * shrunken.kept_)


# --- what it takes and gives ---


def test_scores_in_the_shape_in_which_they_are_given() -> None:
    y = scores()
    cal = ConsensusCalibrator().fit(panel(y))
    off = cal.beta_.loc["en", "b"]
    assert cal.transform(70, language="en", judge="b") == pytest.approx(70 - off)
    assert isinstance(cal.transform(70, language="en", judge="b"), float)
    assert cal.transform(70.0, language="en", judge="b") == cal.transform(70, language="en", judge="b")
    np.testing.assert_allclose(cal.transform([70, np.nan], language="en", judge="b"), [70 - off, np.nan])
    two = cal.transform([70, 70], language=["en", "ja"], judge=["b", "b"])
    np.testing.assert_allclose(two, [70 - off, 70 - cal.beta_.loc["ja", "b"]])
    frame = panel(y).to_frame()
    made = cal.transform(frame)
    assert list(made.columns) == [*frame.columns, "calibrated"]
    np.testing.assert_allclose(np.sort(made["calibrated"]), np.sort(cal.transform(panel(y)).scores.ravel()), atol=1e-12)
    table = cal.table()
    assert list(table.columns) == ["language", "judge", "subtract"]
    assert len(table) == 12


def test_clipping_is_asked_for() -> None:
    y = scores(beta=20)
    cal = ConsensusCalibrator(clip=True).fit(panel(y, scale=(40.0, 60.0)))
    made = cal.transform(panel(y)).scores
    assert made.min() == 40
    assert made.max() == 60
    assert ConsensusCalibrator().fit(panel(y)).transform(panel(y)).scores.max() > 60


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.transform(7, language="sw", judge="a"), CalibratorError, "never seen sw"),
        (lambda c: c.transform(7, language="de", judge="z"), CalibratorError, "never seen z"),
        (lambda c: c.transform(7), UsageError, "needs its language"),
        (lambda c: c.transform("seven", language="de", judge="a"), PanelError, "'seven'"),
        (lambda c: c.transform(np.inf, language="de", judge="a"), PanelError, "infinite"),
        (lambda c: c.transform(7, language="de", judge="a", unseen="what"), UsageError, "unseen"),
        (lambda c: c.transform(pd.DataFrame({"score": [1]})), UsageError, "language and judge"),
        (lambda c: ConsensusCalibrator().transform(7, language="de", judge="a"), CalibratorError, "not fitted"),
        (lambda c: ConsensusCalibrator("cbd").fit(panel(scores())), UsageError, "cbd"),
        (lambda c: c.set_params(strength=1), UsageError, "strength"),
        (lambda c: c.extend(panel(scores())), CalibratorError, "does not know"),
    ],
)
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(ConsensusCalibrator().fit(panel(scores())))


def test_unknown_scores_may_stay() -> None:
    cal = ConsensusCalibrator().fit(panel(scores()))
    assert cal.transform(7, language="sw", judge="a", unseen="keep") == 7
    other = panel(scores(), judges=("a", "b", "c", "new"))
    made = cal.transform(other, unseen="keep")
    np.testing.assert_array_equal(made.scores[..., 3], other.scores[..., 3])


def test_scikit_learn_clones_it() -> None:
    sklearn = pytest.importorskip("sklearn.base")
    cal = ConsensusCalibrator("cbc-weighted", shrink=True).fit(panel(scores()))
    copy = sklearn.clone(cal)
    assert copy.get_params() == cal.get_params() == {"method": "cbc-weighted", "shrink": True, "clip": False}
    assert not hasattr(copy, "beta_")
    assert copy.set_params(method="cbc").method == "cbc"


# --- holes, and too little ---


def test_holes_are_fitted_by_least_squares() -> None:
    y = scores(n=60)
    whole = ConsensusCalibrator().fit(panel(y)).beta_
    holes = np.where(np.random.default_rng(1).random(y.shape) < 0.2, np.nan, y)
    found = ConsensusCalibrator().fit(panel(holes)).beta_
    assert np.abs(found - whole).to_numpy().max() < 2
    # a level of a task that is missing in some cells must not reach them
    holes[:30, 0, 0] = np.nan
    lifted = holes + np.where(np.arange(60) < 30, 1000.0, 0.0)[:, None, None]
    moved = ConsensusCalibrator().fit(panel(lifted)).beta_ - ConsensusCalibrator().fit(panel(holes)).beta_
    assert np.abs(moved).to_numpy().max() < 1e-6


def test_golden_holes(devai: Panel) -> None:
    t, x, b = np.indices(devai.scores[:, 0].shape)
    golden = pd.read_csv(
        Path(__file__).parents[1] / "golden" / "devai_with_holes_beta_of_random_terms.csv", index_col=0
    )
    # places are counted in the order in which the golden file lists languages and judges
    y = devai.select(languages=list(golden.index), judges=list(golden.columns)).scores[:, 0]
    holes = np.where((7 * t + 5 * x + 3 * b + t * x * b) % 10 == 0, np.nan, y)
    found = ConsensusCalibrator().fit(panel(holes, languages=tuple(golden.index), judges=tuple(golden.columns))).beta_
    np.testing.assert_allclose(found.to_numpy(), golden.to_numpy(), atol=1e-8)


def test_a_cell_that_was_never_scored_is_left_out_and_the_others_stay() -> None:
    y = scores()
    y[:, 0, 0] = np.nan
    cal = ConsensusCalibrator().fit(panel(y))
    assert np.isnan(cal.beta_.iloc[0, 0])
    assert np.isfinite(cal.beta_.to_numpy()).sum() == 11
    np.testing.assert_allclose(cal.beta_.sum(axis=0), 0, atol=1e-9)
    with pytest.raises(CalibratorError, match="knows nothing of a in de"):
        cal.transform(7, language="de", judge="a")
    with pytest.raises(PanelError, match="weighted"):
        ConsensusCalibrator("cbc-weighted").fit(panel(y))


def test_a_judge_of_one_language_tells_nothing_of_itself() -> None:
    y = scores()
    y[:, 1:, 3] = np.nan
    cal = ConsensusCalibrator().fit(panel(y))
    assert cal.beta_["d"].isna().all()
    plain = ConsensusCalibrator().fit(panel(y[:, :, :3], judges=JUDGES[:3]))
    np.testing.assert_allclose(cal.beta_[["a", "b", "c"]], plain.beta_, atol=1e-9)


def test_parts_that_nothing_joins() -> None:
    v = np.random.default_rng(0).normal(size=(9, 2, 4))
    null = np.zeros((8, 1))
    null[[0, 1, 6, 7], 0] = 0.5
    null[[2, 3, 4, 5], 0] = -0.5
    assert not interaction_parts(Values(v, null))[1].any()


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 4), (2, 3, 4), (30, 1, 4), (30, 3, 1)])
def test_one_score_one_task_one_language(shape: tuple[int, int, int], tmp_path: Path) -> None:
    y = scores(n=30)[: shape[0], : shape[1], : shape[2]]
    p = panel(y, languages=LANGUAGES[: shape[1]], judges=JUDGES[: shape[2]])
    if min(shape[1:]) < 2:
        with pytest.raises(PanelError, match="needs two of each"):
            calibrate(p, save=tmp_path / "cal.json")
        assert not (tmp_path / "cal.json").exists()
        return
    found = calibrate(p, save=tmp_path / "cal.json")
    assert found.findings
    assert found.report().sections
    assert load_consensus(tmp_path / "cal.json").languages == p.languages


# --- a new language, a new judge ---


@pytest.mark.parametrize("axis", ["language", "judge"])
def test_a_newcomer_from_a_few_tasks(axis: str) -> None:
    y = scores(n=200, beta=8)
    whole = ConsensusCalibrator().fit(panel(y)).beta_
    known = panel(y).select(**({"languages": ["de", "en"]} if axis == "language" else {"judges": ["a", "b", "c"]}))
    cal = ConsensusCalibrator().fit(known)
    wider = cal.extend(panel(y[:25]))
    old = cal.beta_
    pd.testing.assert_frame_equal(wider.beta_.loc[old.index, old.columns], old)
    new = wider.beta_.loc["ja"] if axis == "language" else wider.beta_["d"]
    # against the known ones: gaps of the newcomer as all languages and judges would have them
    truth = y[:, 2] - (y[:, :2] - old.to_numpy()).mean(1) if axis == "language" else None
    if truth is not None:
        expected = truth.mean(0) - truth.mean()
        assert np.abs(new - expected).max() < 4
        assert np.corrcoef(new, whole.loc["ja"])[0, 1] > 0.8
    assert abs(new.sum()) < 1e-9
    assert wider.transform(50, language="ja", judge="d", unseen="keep") is not None


def test_a_newcomer_needs_company() -> None:
    y = scores()
    cal = ConsensusCalibrator().fit(panel(y).select(languages=["de", "en"]))
    with pytest.raises(CalibratorError, match="cannot be added"):
        cal.extend(panel(y).select(languages=["ja"]))
    with pytest.raises(CalibratorError, match="1 task"):
        cal.extend(panel(y[:1]))


# --- saved ---


def test_saved_and_loaded(tmp_path: Path) -> None:
    y = scores()
    y[3, 1, 2] = np.nan
    cal = ConsensusCalibrator(shrink=True, clip=True).fit(panel(y))
    cal.save(tmp_path / "cal.json")
    again = load_calibrator(tmp_path / "cal.json")
    assert again.get_params() == cal.get_params()
    pd.testing.assert_frame_equal(again.beta_, cal.beta_)
    pd.testing.assert_frame_equal(again.se_, cal.se_)
    assert (again.gain_, again.scale_, again.units_, again.kept_) == (cal.gain_, cal.scale_, cal.units_, cal.kept_)
    np.testing.assert_allclose(again.fit_.scores, cal.fit_.scores)
    assert again.fit_.tasks == cal.fit_.tasks
    assert again.transform(70, language="en", judge="b") == cal.transform(70, language="en", judge="b")


def test_a_large_fit_keeps_means_of_groups() -> None:
    y = scores(n=2000)
    cal = ConsensusCalibrator().fit(panel(y))
    assert cal.fit_ is not None
    assert cal.fit_.scores.size <= 20_000
    np.testing.assert_allclose(cal.fit_.scores.mean((0, 1)), y.mean(0), atol=1e-9)


def edited(change: Any) -> Any:
    def make(path: Path) -> None:
        data = json.loads(path.read_text())
        change(data)
        from polyjudge.calibrate.saved import _checksum

        data["checksum"] = _checksum(data)
        path.write_text(json.dumps(data))

    return make


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda p: p.write_text(p.read_text()[:200]), "not JSON"),
        (lambda p: p.write_text("task,score\n1,2\n"), "polyjudge calibrate SCORES"),
        (lambda p: p.write_bytes(b"\xff\x00\xfe"), "not a calibrator"),
        (lambda p: p.write_text("[" * 100_000), "not JSON"),
        (lambda p: p.write_text("[]"), "'format'"),
        (lambda p: p.write_text(p.read_text().replace('"version": 2', '"version": 1')), "of format 1"),
        (lambda p: p.write_text(p.read_text().replace('"units": 30', '"units": 31')), "checksum"),
        (lambda p: p.unlink(), "does not exist"),
        (edited(lambda d: d.pop("beta")), "'beta' is missing"),
        (edited(lambda d: d["beta"][0].append(1)), "damaged"),
        (edited(lambda d: d.update(beta="much")), "damaged"),
        (edited(lambda d: d["se"][0].__setitem__(0, -1)), "negative"),
        (edited(lambda d: d["beta"][0].__setitem__(0, 1e200)), "beyond any score"),
        (edited(lambda d: d.update(languages=["de", "de", "ja"])), "different names"),
        (edited(lambda d: d.update(judges=[1, 2, 3, 4])), "different names"),
        (edited(lambda d: d.update(method="magic")), "magic"),
        (edited(lambda d: d.update(clip="yes")), "clip"),
        (edited(lambda d: d.update(clip=0)), "clip"),
        (edited(lambda d: d.update(tasks="few")), "damaged"),
        (edited(lambda d: d.update(units=True)), "damaged"),
        (edited(lambda d: d.update(scale=[1, 0])), "damaged"),
        (edited(lambda d: d.update(kind="sparse")), "unknown kind"),
        (edited(lambda d: d["fit"].update(unit=[0])), "units of the fit"),
        (edited(lambda d: d["fit"].update(unit=[-1] * 30)), "units of the fit"),
        (edited(lambda d: d["fit"].update(scores=[])), "shape"),
        (edited(lambda d: d.update(fit=[1])), "damaged"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_in_one_sentence(damage: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    ConsensusCalibrator().fit(panel(scores())).save(path)
    damage(path)
    with pytest.raises(CalibratorError, match=words) as error:
        load_calibrator(path)
    assert len(str(error.value)) < 400 + len(str(path))


# --- the commands ---


def test_calibrate_and_apply_files(tmp_path: Path) -> None:
    path, out, cal = tmp_path / "scores.csv", tmp_path / "calibrated.csv", tmp_path / "cal.json"
    frame = panel(scores()).to_frame().assign(note="kept, as it is")
    frame.to_csv(path, index=False)
    found = calibrate(path, output=out, save=cal)
    made = pd.read_csv(out)
    assert list(made.columns) == [*frame.columns, "calibrated"]
    # An audit of the new column is 0 by arithmetic: what comes next can fail.
    assert found.report().next[0].command == f"polyjudge compare {path}"
    wide = frame.pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    calibrate(wide, output=tmp_path / "wide.csv")
    judges = ",".join(f"calibrated_{judge}" for judge in sorted(frame["judge"].unique()))
    again = read_panel(tmp_path / "wide.csv", judges=judges)
    np.testing.assert_allclose(again.scores, read_panel(out, score="calibrated").scores)
    expected = found.calibrator_.transform(frame)["calibrated"]
    np.testing.assert_allclose(made["calibrated"], expected, atol=1e-9)
    again = apply(path, cal, output=tmp_path / "again.csv")
    assert (again.rows, again.unchanged) == (len(frame), 0)
    assert (tmp_path / "again.csv").read_text() == out.read_text()
    with pytest.raises(UsageError, match="exists"):
        calibrate(path, output=out)
    with pytest.raises(UsageError, match="input"):
        calibrate(path, output=path, overwrite=True)
    strange = frame.assign(judge="new")
    strange.to_csv(path, index=False)
    with pytest.raises(CalibratorError, match="new"):
        apply(path, cal, output=tmp_path / "third.csv")
    assert apply(path, cal, output=tmp_path / "third.csv", unseen="keep").unchanged == len(frame)


def test_calibrate_extends_a_saved_one(tmp_path: Path) -> None:
    y = scores(n=40)
    calibrate(panel(y).select(languages=["de", "en"]), save=tmp_path / "cal.json")
    panel(y[:10]).to_frame().to_csv(tmp_path / "few.csv", index=False)
    found = calibrate(tmp_path / "few.csv", extend=tmp_path / "cal.json", save=tmp_path / "wider.json")
    assert load_consensus(tmp_path / "wider.json").languages == ("de", "en", "ja")
    assert len(found.cells) == 12


def test_words_of_the_gain() -> None:
    strong = calibrate(panel(scores(beta=8)))
    assert "closer to the panel's" in strong.findings[0].text
    assert strong.findings[0].severity == "info"
    noise = calibrate(panel(scores(seed=2, n=8, beta=0)))
    assert noise.findings[0].severity == "warning"
    assert "--shrink" in noise.findings[0].text
    closer, low, high = strong.closer
    assert low < closer < high


def test_one_criterion_at_a_time(tmp_path: Path) -> None:
    path, out, cal = tmp_path / "scores.csv", tmp_path / "calibrated.csv", tmp_path / "cal.json"
    one = panel(scores()).to_frame()
    pd.concat([one.assign(criterion="clear"), one.assign(criterion="true", score=100 - one["score"])]).to_csv(
        path, index=False
    )
    with pytest.raises(PanelError, match="--criteria clear"):
        calibrate(path, output=out)
    calibrate(path, output=out, save=cal, criteria=("clear",))
    apply(path, cal, output=tmp_path / "again.csv")
    for made in (pd.read_csv(out), pd.read_csv(tmp_path / "again.csv")):
        others = made["criterion"] == "true"
        np.testing.assert_array_equal(made["calibrated"][others], made["score"][others])
        assert (made["calibrated"] != made["score"])[~others].all()
