"""Scores written back: the same rows and one more column, never over an input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.base.errors import CalibratorError, PolyjudgeError, UsageError
from polyjudge.read import write_scores
from read.test_odd_files import B, W, csv_of

AMOUNT = {(x, j): i + 0.5 for i, (x, j) in enumerate((x, j) for x in ("de", "en") for j in ("ann", "bob", "cy"))}
SUBTRACT = pd.DataFrame([(*k, v) for k, v in AMOUNT.items()], columns=["language", "judge", "subtract"])


def want(frame: pd.DataFrame) -> Any:
    return frame["score"] - [AMOUNT[x, j] for x, j in zip(frame["language"], frame["judge"], strict=True)]


@pytest.mark.parametrize("end", [".csv", ".parquet", ".jsonl", ".duckdb::made"])
@pytest.mark.parametrize("source", ["frame", ".csv", ".parquet", ".jsonl"])
def test_every_format(source: str, end: str, tmp_path: Path) -> None:
    frame = B.assign(note='one, "two"\nthree')
    given: Any = frame if source == "frame" else tmp_path / f"in{source}"
    if source == ".csv":
        frame.to_csv(given, index=False)
    elif source == ".parquet":
        frame.to_parquet(given)
    elif source == ".jsonl":
        frame.to_json(given, orient="records", lines=True)
    out = f"{tmp_path / 'out'}{end}"
    assert write_scores(given, out, SUBTRACT) == (72, 0)
    if "::" in end:
        import duckdb

        with duckdb.connect(out.split("::")[0]) as con:
            made = con.execute("SELECT * FROM made").df()
        with pytest.raises(UsageError, match="already"):
            write_scores(given, out, SUBTRACT)
    else:
        made = pd.read_parquet(out) if end == ".parquet" else pd.read_csv(out) if end == ".csv" else None
        made = pd.read_json(out, lines=True) if made is None else made
    assert list(made.columns) == [*frame.columns, "calibrated"]
    assert made["task"].tolist() == frame["task"].tolist()
    assert made["note"].tolist() == frame["note"].tolist()
    np.testing.assert_allclose(made["calibrated"].astype(float), want(frame))


def test_wide_clipped_missing_and_spelled_otherwise(tmp_path: Path) -> None:
    write_scores(W, tmp_path / "w.csv", SUBTRACT, limits=(0.0, 90.0))
    made = pd.read_csv(tmp_path / "w.csv")
    assert list(made.columns) == [*W.columns, "calibrated_ann", "calibrated_bob", "calibrated_cy"]
    expected = np.clip(W["bob"] - [AMOUNT[x, "bob"] for x in W["language"]], 0, 90)
    np.testing.assert_allclose(made["calibrated_bob"], expected)
    frame = B.astype({"score": object})
    frame.loc[3, "score"] = "N/A"
    frame["judge"] = frame["judge"].replace({"ann": "openai/ann"})
    path = tmp_path / "s.csv"
    path.write_text(csv_of(frame.assign(status=["error"] + ["ok"] * 71)))
    assert write_scores(path, tmp_path / "o.csv", SUBTRACT) == (72, 0)
    made = pd.read_csv(tmp_path / "o.csv")
    assert made["calibrated"].isna().sum() == 2
    assert made["judge"].tolist() == frame["judge"].tolist()


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(csv_of(B))
    (tmp_path / "old.csv").write_text("mine")
    for source, output, kind, words in (
        (path, path, UsageError, "replace the input"),
        (path, tmp_path / "x.xlsx", UsageError, "not a kind of file that can be written"),
        (path, tmp_path / "old.csv", UsageError, "exists already"),
        (B.assign(calibrated=1), tmp_path / "x.csv", UsageError, "calibrated already"),
        (B.replace("de", "fr"), tmp_path / "x.csv", CalibratorError, "does not know fr with ann"),
    ):
        with pytest.raises(kind, match=words):
            write_scores(source, output, SUBTRACT)
    assert write_scores(B.replace("de", "fr"), tmp_path / "x.csv", SUBTRACT, unseen="keep") == (72, 36)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.csv", "s.csv", "x.csv"]
    with pytest.raises(PolyjudgeError):
        write_scores(path, tmp_path / "y.csv", SUBTRACT, judge="nope")
    assert not (tmp_path / "y.csv").exists()


def test_of_several_criteria_one_is_calibrated(tmp_path: Path) -> None:
    both = B.rename(columns={"score": "fluency"}).assign(accuracy=B["score"])
    assert write_scores(both, tmp_path / "o.csv", SUBTRACT, of_criterion="fluency") == (72, 0)
    made = pd.read_csv(tmp_path / "o.csv")
    assert list(made.columns) == [*both.columns, "calibrated"]
    np.testing.assert_allclose(made["calibrated"], want(B))
    with pytest.raises(CalibratorError, match="criterion tone"):
        write_scores(both, tmp_path / "p.csv", SUBTRACT, of_criterion="tone")
