"""A calibrator for each criterion in one file, applied by the criterion of each row, alike in every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.load import CriteriaCalibrator
from polyjudge.second.panel.errors import CalibratorError, UsageError
from polyjudge.second.read.criterion_panels import read_criteria
from polyjudge.second.read.writers import write_calibrated
from refusals import refused


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Two criteria of the same answers with interactions of their own, one language fewer in the second."""
    clarity, _ = pj.simulate_panel(20, ["en", "de", "sw"], ["A", "B", "C"], seed=1)
    depth, _ = pj.simulate_panel(20, ["en", "de"], ["A", "B", "C"], seed=2)
    parts = [panel.to_long().assign(criterion=name) for name, panel in (("clarity", clarity), ("depth", depth))]
    return pd.concat(parts).sample(frac=1, random_state=3).reset_index(drop=True)


@pytest.fixture(scope="module")
def cal(rows: pd.DataFrame) -> CriteriaCalibrator:
    panels = read_criteria(rows, criterion="criterion")
    return CriteriaCalibrator({c: pj.ConsensusCalibrator().fit(p) for c, p in panels.items()}, "criterion")


def expected(rows: pd.DataFrame, cal: CriteriaCalibrator) -> np.ndarray:
    by_hand = [
        r.score - cal.parts[r.criterion].interaction_.loc[r.language, r.judge]  # type: ignore[attr-defined]
        for r in rows.itertuples()
    ]
    return np.array(by_hand)


def test_every_engine_takes_the_criterion_of_the_row(
    rows: pd.DataFrame, cal: CriteriaCalibrator, tmp_path: Path
) -> None:
    import ibis
    import polars as pl
    import pyarrow as pa

    want = expected(rows, cal)
    assert np.allclose(cal.apply(rows)["calibrated"], want)
    assert list(cal.apply(rows).columns) == [*rows.columns, "calibrated"]
    assert np.allclose(cal.apply(pl.from_pandas(rows))["calibrated"], want)
    assert np.allclose(cal.apply(pa.Table.from_pandas(rows))["calibrated"].to_numpy(), want)
    table = cal.apply(ibis.memtable(rows)).to_pandas()
    key = ["criterion", "task", "language", "judge"]
    assert np.allclose(table.set_index(key).loc[rows.set_index(key).index, "calibrated"], want)
    for name in ("scores.csv", "scores.parquet", "scores.jsonl"):
        path = tmp_path / name
        writers = {"csv": rows.to_csv, "parquet": rows.to_parquet}
        kind = path.suffix[1:]
        if kind == "jsonl":
            rows.to_json(path, orient="records", lines=True)
        else:
            writers[kind](path, index=False)
        done = write_calibrated(cal, path, tmp_path / "out.parquet")
        assert (done.rows, done.missing, done.unseen) == (len(rows), 0, 0)
        assert np.allclose(pd.read_parquet(tmp_path / "out.parquet")["calibrated"], want)
    one = rows.iloc[0]
    asked = {"criterion": one["criterion"], "language": one["language"], "judge": one["judge"]}
    assert cal.transform(one["score"], **asked) == pytest.approx(want[0])
    assert cal.transform(one.to_dict())["calibrated"] == pytest.approx(want[0])


def test_saved_and_read_again(cal: CriteriaCalibrator, rows: pd.DataFrame, tmp_path: Path) -> None:
    cal.save(tmp_path / "cal.json")
    again = pj.load_calibrator(tmp_path / "cal.json")
    assert again.to_dict() == cal.to_dict()
    assert np.allclose(again.apply(rows)["calibrated"], expected(rows, cal))
    text = (tmp_path / "cal.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"clarity"', '"charity"', 1))
    with refused(CalibratorError, "bad.json", "checksum"):
        pj.load_calibrator(tmp_path / "bad.json")
    broken = json.loads(text)
    del broken["parts"], broken["checksum"]
    (tmp_path / "bad.json").write_text(json.dumps(broken))
    with refused(CalibratorError, "bad.json", "parts"):
        pj.load_calibrator(tmp_path / "bad.json")


def test_an_unknown_criterion_is_an_error_or_kept(cal: CriteriaCalibrator, rows: pd.DataFrame, tmp_path: Path) -> None:
    import ibis
    import polars as pl

    more = pd.concat([rows, rows.head(5).assign(criterion="tone")], ignore_index=True)
    more.to_csv(tmp_path / "more.csv", index=False)
    tries: list[Any] = [
        lambda **how: cal.apply(more, **how),
        lambda **how: cal.apply(pl.from_pandas(more), **how),
        lambda **how: cal.apply(ibis.memtable(more), **how),
        lambda **how: write_calibrated(cal, tmp_path / "more.csv", tmp_path / "out.csv", **how),
        lambda **how: cal.transform(3.0, criterion="tone", language="en", judge="A", **how),
    ]
    for one in tries:
        with refused(CalibratorError, "tone", "clarity, depth"):
            one()
    kept = cal.apply(more, unseen="keep").tail(5)
    assert (kept["calibrated"] == kept["score"]).all()
    done = tries[3](unseen="keep")
    assert (done.rows, done.unseen) == (len(more), 5)
    written = pd.read_csv(tmp_path / "out.csv").tail(5)
    assert np.allclose(written["calibrated"], written["score"])
    with refused(UsageError, "'criterion'"):
        cal.apply(rows.drop(columns="criterion"))
    with refused(CalibratorError, "sw"):
        cal.transform(3.0, criterion="depth", language="sw", judge="A")


def test_judges_must_be_the_same(rows: pd.DataFrame) -> None:
    part = rows[(rows["criterion"] == "clarity") | (rows["judge"] != "C")]
    panels = read_criteria(part, criterion="criterion")
    with refused(UsageError, "clarity", "depth", "C"):
        CriteriaCalibrator({c: pj.ConsensusCalibrator().fit(p) for c, p in panels.items()})


def test_a_curve_is_refused_where_rows_name_their_criterion(rows: pd.DataFrame, cal: CriteriaCalibrator) -> None:
    panel = read_criteria(rows, criterion="criterion")["clarity"]
    labels = panel.to_long().groupby(["task", "language"])["score"].mean().reset_index()
    bent = pj.AnchoredCalibrator(map="isotonic").fit(panel, labels)
    assert bent.adjustment_.curve is not None
    with refused(UsageError, "clarity", "curve"):
        CriteriaCalibrator({**cal.parts, "clarity": bent}, "criterion")


def test_the_commands(
    rows: pd.DataFrame, cal: CriteriaCalibrator, cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows.to_csv(tmp_path / "long.csv", index=False)
    done = cli("calibrate", "long.csv", "--criterion", "criterion", "--save", "cal.json", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    assert np.allclose(pd.read_csv(tmp_path / "out.csv")["calibrated"], expected(rows, cal))
    done = cli("apply", "cal.json", "long.csv", "-o", "again.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "out.csv").read_text()
    # A score column for each criterion.
    both = rows[rows["language"] != "sw"]
    wide = both.pivot(index=["task", "language", "judge"], columns="criterion", values="score").reset_index()
    wide.to_csv(tmp_path / "wide.csv", index=False)
    done = cli("calibrate", "wide.csv", "--criteria", "clarity,depth", "--save", "w.json", "-o", "w.csv")
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(tmp_path / "w.csv")
    saved = pj.load_calibrator(tmp_path / "w.json")
    assert isinstance(saved, CriteriaCalibrator)
    for name in ("clarity", "depth"):
        panel = pj.read_panel(tmp_path / "wide.csv", score=name)
        want = pj.ConsensusCalibrator().fit(panel).apply(wide, score=name)["calibrated"]
        assert np.allclose(found[f"{name}_calibrated"], want)
        assert np.allclose(saved.apply(wide)[f"{name}_calibrated"], want)
    done = cli("drift", "cal.json", "long.csv")
    assert done.returncode == 2
    assert "2 criteria" in done.stderr
    done = cli("calibrate", "long.csv", "--criterion", "criterion", "--mark", "50", "--save", "c2.json")
    assert done.returncode == 2
    assert "one criterion at a time" in done.stderr
