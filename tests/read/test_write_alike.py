"""Names that are spelled alike in the scores and in what is subtracted: one match is taken, two are not guessed at."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from polyjudge.base.errors import CalibratorError
from polyjudge.read.write import write_scores

SCORES = pd.DataFrame({"task": ["t1", "t2"], "language": ["DE", "DE"], "judge": ["gpt", "gpt"], "score": [10.0, 20.0]})


def subtract(*cells: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(cells, columns=["language", "judge", "subtract"])


def written(tmp_path: Path, table: pd.DataFrame, **options: str) -> list[float]:
    write_scores(SCORES, tmp_path / "out.csv", table, **options)
    return list(pd.read_csv(tmp_path / "out.csv")["calibrated"])


def test_one_name_that_is_alike_is_taken(tmp_path: Path) -> None:
    assert written(tmp_path, subtract(("de", "GPT", 3.0), ("fr", "GPT", 8.0))) == [7.0, 17.0]


def test_of_two_alike_names_none_is_guessed(tmp_path: Path) -> None:
    both = subtract(("de", "GPT", 3.0), ("De", "GPT", 8.0))
    with pytest.raises(CalibratorError, match=r"does not know DE with gpt\. Add them .*--extend"):
        written(tmp_path, both)
    assert written(tmp_path, both, unseen="keep") == [10.0, 20.0]


def test_the_same_name_comes_before_one_that_is_alike(tmp_path: Path) -> None:
    assert written(tmp_path, subtract(("de", "gpt", 3.0), ("DE", "gpt", 8.0))) == [2.0, 12.0]
