"""The same panel and the same calibrated scores from real Spark. A lost machine: benchmarks/cluster.py."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.load import CriteriaCalibrator
from polyjudge.second.panel.adjustment import Adjustment
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError
from polyjudge.second.panel.reading import Unclear
from refusals import refused
from user_files import long

pytestmark = [pytest.mark.spark, pytest.mark.slow]
START = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "cluster.py"))["start"]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session in one process: a cluster's processes would each load and compile Spark anew."""
    session = START("local[1]")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    panel, _ = pj.simulate_panel(tasks=120, languages=["fr", "de", "en"], judges=["B", "A"], replicates=2, seed=3)
    path = tmp_path_factory.mktemp("spark") / "scores.parquet"
    panel.to_long().to_parquet(path)
    return path


@pytest.mark.parametrize("max_units", [1000, 50])
def test_spark_and_duckdb_give_the_same_panel(spark: Any, scores: Path, max_units: int) -> None:
    mine = pj.read_panel(scores, max_units=max_units)
    theirs = pj.read_panel(spark.read.parquet(str(scores)), max_units=max_units)
    assert theirs.languages == ("de", "en", "fr")
    tasks = None if max_units == 50 else mine.tasks
    theirs = theirs.select(tasks, mine.languages, mine.judges, mine.replicates)
    assert theirs.tasks == mine.tasks
    np.testing.assert_array_equal(theirs.weights, mine.weights)
    np.testing.assert_allclose(theirs.scores, mine.scores, rtol=1e-13)
    a, b = (pj.ConsensusCalibrator().fit(p).interaction_ for p in (mine, theirs))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_bad_input_is_the_same_error(spark: Any, scores: Path) -> None:
    frame = pd.read_parquet(scores).head(40)
    text = frame.astype({"score": str})
    text.loc[5, "score"] = "abc"
    with refused(PanelError, "score", "task001", "abc", "--map"):
        pj.read_panel(spark.createDataFrame(text))
    with refused(PanelError, "task001, fr, B, replicate1 (2 rows)", "--duplicates"):
        pj.read_panel(spark.createDataFrame(pd.concat([frame, frame.head(1)])), max_units=50)
    with refused(PanelError, "task001", "Infinity"):
        pj.read_panel(spark.createDataFrame(frame.assign(score=frame["score"].where(frame.index != 3, np.inf))))


def test_numbers_as_labels_are_the_same_everywhere(spark: Any, scores: Path) -> None:
    """Whole numbers have no decimal point, digits that are lost are refused, and so is one that is none."""
    frame = pd.read_parquet(scores).assign(task=lambda f: f["task"].str[4:].astype(float))
    assert sorted(pj.read_panel(spark.createDataFrame(frame)).tasks) == sorted(pj.read_panel(frame).tasks)
    with refused(PanelError, "task", "2^53"):
        pj.read_panel(spark.createDataFrame(frame.assign(task=frame["task"] + 2.0**53)))
    frame.loc[3, "task"] = np.nan
    with refused(PanelError, "task"):
        pj.read_panel(spark.createDataFrame(frame))


def test_tasks_in_two_spellings_are_asked_about_by_hash_too(spark: Any, scores: Path) -> None:
    frame = pd.read_parquet(scores)
    frame.loc[(frame["task"] == "task005") & (frame["language"] == "fr"), "task"] = "task005\u200b"
    for source in (spark.createDataFrame(frame), frame):
        with refused(Unclear, "--alike", "task005"):
            pj.read_panel(source, max_units=50)
        whole = pj.read_panel(source, max_units=50, alike="same")
        assert whole.n_scores == pj.read_panel(scores, max_units=50).n_scores


def test_files_and_folders_through_spark(spark: Any, scores: Path, tmp_path: Path) -> None:
    mine = pj.read_panel(scores)
    assert pj.read_panel(str(scores), engine="spark").n_scores == mine.n_scores
    pd.read_parquet(scores).to_csv(tmp_path / "s.csv", index=False)
    csv = pj.read_panel(str(tmp_path / "s.csv"), engine="spark").select(mine.tasks, mine.languages, mine.judges)
    np.testing.assert_array_equal(csv.scores, mine.scores)


def test_apply_with_spark(spark: Any, scores: Path, tmp_path: Path) -> None:
    from polyjudge.second.read.writers import write_calibrated

    panel = pj.read_panel(scores)
    cal = pj.ConsensusCalibrator().fit(panel)
    done = write_calibrated(cal, scores, tmp_path / "out", engine="spark")
    assert done.rows == panel.n_scores
    again = pj.read_panel(tmp_path / "out", score="calibrated").select(panel.tasks, panel.languages, panel.judges)
    np.testing.assert_array_equal(again.scores, cal.transform(panel).select(replicates=again.replicates).scores)
    frame = spark.read.parquet(str(scores))
    assert cal.apply(frame).columns == [*frame.columns, "calibrated"]
    part = pj.ConsensusCalibrator().fit(panel.select(languages=["en", "fr"]))
    with refused(CalibratorError, "de", "en, fr", "--unseen keep"):
        part.apply(frame)
    kept = part.apply(frame, unseen="keep").where("language = 'de'").toPandas()
    np.testing.assert_array_equal(kept["calibrated"], kept["score"])


def test_a_curve_is_followed_in_spark(spark: Any) -> None:
    curve = np.sort(np.random.default_rng(3).uniform(0, 100, (2, 2, 5)), axis=-1)
    adjustment = Adjustment(
        languages=("en", "de"), judges=("a", "b"), shift=np.zeros((2, 2)), curve=curve, span=(0.0, 100.0)
    )
    rows = pd.DataFrame(
        [(x, b, s) for x in ("en", "de") for b in ("a", "b") for s in (-5.0, 0.0, 33.0, 75.0, 100.0, 130.0)],
        columns=["language", "judge", "score"],
    )
    rows.loc[len(rows)] = ["en", "new", 7.0]
    out = adjustment.table(spark.createDataFrame(rows), unseen="keep").toPandas()
    key = ["language", "judge", "score"]
    np.testing.assert_allclose(
        out.sort_values(key)["calibrated"], adjustment.table(rows, unseen="keep").sort_values(key)["calibrated"]
    )
    empty = spark.createDataFrame([("en", "a", None)], "language string, judge string, score double")
    assert adjustment.table(empty).toPandas()["calibrated"].isna().all()


def test_a_lost_worker_is_one_paragraph(spark: Any, scores: Path) -> None:
    """A task that dies on the worker every time: Spark gives up, and we say so without a traceback."""
    from pyspark.sql.functions import udf

    @udf("double")
    def die(x: float) -> float:
        os._exit(1)

    frame = spark.read.parquet(str(scores))
    with refused(PanelError, "pyspark", "worker") as error:
        pj.read_panel(frame.withColumn("score", die("score")))
    assert "\n" not in error.message
    assert "Traceback" not in error.message


def test_the_options_of_reading_work_on_spark_tables(spark: Any, tmp_path: Path) -> None:
    """As on DuckDB's and PostgreSQL's: what Spark cannot group as it stands is copied into our own engine, and said."""
    frame = long()
    words = frame.assign(score=frame["score"].map(lambda s: "good" if s > 50 else "bad"))
    wide = frame.pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    named = frame.assign(subset="mmlu/" + frame["language"] + "/all").drop(columns="language")
    commas = frame.assign(score=frame["score"].map(lambda s: f"{s / 10:.1f}".replace(".", ",")))
    for table, options in (
        (words, {"map": "good=1,bad=0"}),
        (wide, {"wide": "{judge}"}),
        (named, {"language_from": "subset:mmlu/{language}/all"}),
        (commas, {"decimal": "comma"}),
        (frame.replace({"score": {frame["score"].min(): -1}}), {"map": {"-1": None}}),
    ):
        mine = pj.read_panel(table, **options)
        theirs = pj.read_panel(spark.createDataFrame(table), **options)
        theirs = theirs.select(mine.tasks, mine.languages, mine.judges)
        np.testing.assert_array_equal(theirs.scores, mine.scores)
        assert theirs.notes[0].code == "panel.copied"
    with refused(PanelError, "score", 45, "bad", "--map WORD=NUMBER"):
        pj.read_panel(spark.createDataFrame(words))
    with refused(PanelError, "judge", "score", "--wide PATTERN"):
        pj.read_panel(spark.createDataFrame(wide))
    with refused(UsageError, "--format", "--engine spark"):
        pj.read_panel(spark.createDataFrame(frame), format="inspect")
    frame.to_csv(tmp_path / "s.csv", sep=";", index=False)
    assert pj.read_panel(str(tmp_path / "s.csv"), engine="spark").n_scores == len(frame)
    (tmp_path / "c.csv").write_text("# made by hand\n" + frame.to_csv(index=False))
    with refused(UsageError, "c.csv", "header", "--engine spark"):
        pj.read_panel(str(tmp_path / "c.csv"), engine="spark")


def test_a_calibrator_for_each_criterion_takes_that_of_the_row(spark: Any, scores: Path) -> None:
    """A column of criteria, and a score column for each; a row of another criterion is refused, or stays."""
    long_rows = pd.read_parquet(scores).query("replicate == 'replicate1'").drop(columns="replicate")
    rng = np.random.default_rng(4)
    tone = long_rows.assign(score=long_rows["score"] + 9 * rng.normal(size=len(long_rows)), criterion="tone")
    rows = pd.concat([long_rows.assign(criterion="depth"), tone], ignore_index=True)
    panels = {c: pj.read_panel(part.drop(columns="criterion")) for c, part in rows.groupby("criterion")}
    cal = CriteriaCalibrator({c: pj.ConsensusCalibrator().fit(p) for c, p in panels.items()}, "criterion")
    key = ["criterion", "task", "language", "judge"]
    done = cal.apply(spark.createDataFrame(rows)).toPandas().set_index(key)["calibrated"]
    want = cal.apply(rows).set_index(key)["calibrated"]
    assert np.ptp(want - rows.set_index(key)["score"]) > 1
    np.testing.assert_allclose(done.loc[want.index], want, rtol=1e-12)
    strange = spark.createDataFrame(rows.assign(criterion="brevity"))
    with refused(CalibratorError, "brevity"):
        cal.apply(strange)
    kept = cal.apply(strange, unseen="keep").toPandas().set_index(key)
    np.testing.assert_allclose(kept["calibrated"], kept["score"])
    wide = rows.pivot(index=key[1:], columns="criterion", values="score").reset_index().rename_axis(columns=None)
    named = CriteriaCalibrator(cal.parts)
    beside = named.apply(spark.createDataFrame(wide)).toPandas().set_index(key[1:])
    here = named.apply(wide).set_index(key[1:])
    for column in set(here) - set(wide):
        np.testing.assert_allclose(beside.loc[here.index, column], here[column], rtol=1e-12)
