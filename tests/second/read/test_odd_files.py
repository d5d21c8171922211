"""Odd files that users have: each gives its true panel or a question, never a wrong one; `check` and `audit` agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_formats import arguments, documented

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError, PolyjudgeError
from polyjudge.second.panel.reading import Unclear
from refusals import lacks
from user_files import MAKERS

KEYS = ["task", "language", "judge"]
LANGUAGES, JUDGES = ("en", "de", "sw"), ("gpt-4o", "claude")


def base(top: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [(f"t{t}", lang, j, int(rng.integers(0, top + 1))) for t in range(6) for lang in LANGUAGES for j in JUDGES]
    return pd.DataFrame(rows, columns=[*KEYS, "score"])


def wide(table: pd.DataFrame) -> pd.DataFrame:
    return table.pivot(index=["task", "language"], columns="judge", values="score").reset_index()


def at(table: pd.DataFrame, where: str, who: str | None, **changed: Callable[[str], str]) -> pd.DataFrame:
    """The table with labels of a language (by a judge) written in another way."""
    here = (table["language"] == where) & ((table["judge"] == who) | (who is None))
    for column, write in changed.items():
        table = table.assign(**{column: table[column].where(~here, table[column].map(write))})
    return table


B = base()
MEANS = B.groupby(["language", "judge"], as_index=False)["score"].mean().round(2)
BY_TASK = B.groupby(["task", "judge"], as_index=False)["score"].mean()
BY_ANSWER = B.groupby(["task", "language"], as_index=False)["score"].mean()
SAME = {"alike": "same"}

ASKED: dict[str, tuple[pd.DataFrame, str, dict[str, Any]]] = {
    # name: table, the code that is asked (or what the error names), and the answer that gives the true panel
    "a judge that is the average": (
        pd.concat([B, BY_ANSWER.assign(judge="Average")]), "read.summary", {"judges": list(JUDGES)},
    ),
    "a language that is all": (
        pd.concat([B, BY_TASK.assign(language="all")]), "read.summary", {"languages": list(LANGUAGES)},
    ),
    "identifiers in two cases": (at(B, "de", None, task=str.upper), "read.alike", SAME),
    "identifiers with zeros in front": (at(B, "de", None, task=lambda t: t.replace("t", "t00")), "read.alike", SAME),
    "identifiers with spaces behind": (at(B, "de", "claude", task=lambda t: t + " "), "read.alike", SAME),
    "a code and a name of a language": (at(B, "de", "claude", language=lambda _: "German"), "read.alike", SAME),
    "a language with a country": (at(B, "en", "claude", language=lambda _: "en-US"), "read.alike", SAME),
    "a judge with its day": (at(B, "de", "gpt-4o", judge=lambda j: f"{j}-2024-08-06"), "read.alike", SAME),
}  # fmt: skip


def same(panel: pj.Panel, want: pd.DataFrame) -> None:
    got = panel.to_long().dropna(subset="score").groupby(KEYS)["score"].mean().sort_index()
    pd.testing.assert_series_equal(
        got, want.groupby(KEYS)["score"].mean().sort_index().astype(float), check_index_type=False
    )


@pytest.mark.parametrize("name", ASKED)
def test_a_doubtful_file_is_asked_about_and_the_answer_gives_the_true_panel(name: str, tmp_path: Path) -> None:
    table, code, answer = ASKED[name]
    table.to_csv(tmp_path / "s.csv", index=False)
    with pytest.raises(Unclear) as caught:
        pj.read_panel(tmp_path / "s.csv")
    assert [q.code for q in caught.value.reading.questions] == [code]
    same(pj.read_panel(tmp_path / "s.csv", **answer), B)
    if answer is SAME:
        pj.read_panel(tmp_path / "s.csv", alike="different")


@pytest.mark.parametrize("last", [MEANS.assign(task="Mean"), MEANS.assign(task="TOTAL", score=MEANS["score"] * 6)])
@pytest.mark.parametrize("shape", [lambda t: t, wide])
def test_a_line_that_sums_up_is_refused(last: pd.DataFrame, shape: Any, tmp_path: Path) -> None:
    shape(pd.concat([B, last])).to_csv(tmp_path / "s.csv", index=False)
    with pytest.raises(PanelError) as caught:
        pj.read_panel(tmp_path / "s.csv")
    assert not lacks(str(caught.value), last["task"].iloc[0], "s.csv")
    # A task may be called so, if its scores are its own.
    own = pd.concat([B, MEANS.assign(task="Mean", score=np.arange(6) * 9)])
    assert pj.read_panel(own).n_tasks == 7


def test_points_between_semicolons_may_divide_thousands(tmp_path: Path) -> None:
    text = B.assign(score=[f"{1000 + s:,}".replace(",", ".") for s in B["score"]])
    text.to_csv(tmp_path / "s.csv", sep=";", index=False)
    with pytest.raises(PanelError) as caught:
        pj.read_panel(tmp_path / "s.csv")
    assert not lacks(str(caught.value), "--decimal", "1.234")
    same(pj.read_panel(tmp_path / "s.csv", decimal="point"), B.assign(score=1 + B["score"] / 1000))
    text.to_csv(tmp_path / "c.csv", index=False)  # between commas a point is decimal
    same(pj.read_panel(tmp_path / "c.csv"), B.assign(score=1 + B["score"] / 1000))


@pytest.mark.parametrize("name", ["answer_chars", "gpt_latency", "judge tokens"])
def test_a_number_of_something_else_is_no_judge(name: str, tmp_path: Path) -> None:
    table = wide(B)
    table[name] = range(60, 60 + len(table))
    table.to_csv(tmp_path / "s.csv", index=False)
    panel = pj.read_panel(tmp_path / "s.csv")
    same(panel, B)
    assert [d.code for d in panel.reading.doubts] == ["read.no_judges"]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["float32", "decimal", "nan"])
def test_numbers_as_labels(kind: str, tmp_path: Path) -> None:
    """Single precision holds fewer digits, decimals that are whole are whole numbers, and NaN is no label."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    numbers = B["task"].str[1:].astype(float)
    column = {
        "float32": lambda: pa.array((numbers + 2**24).astype(np.float32)),
        "decimal": lambda: pa.array(numbers).cast(pa.decimal128(10, 2)),
        "nan": lambda: pa.array(numbers.where(numbers.index != 5, np.nan).to_numpy(), from_pandas=False),
    }[kind]()
    pq.write_table(
        pa.table({"task": column, **{k: list(B[k]) for k in ("language", "judge", "score")}}), tmp_path / "p"
    )
    (tmp_path / "p").rename(tmp_path / "s.parquet")
    if kind == "decimal":
        assert set(pj.read_panel(tmp_path / "s.parquet").tasks) == set("012345")
        return
    with pytest.raises(PanelError) as caught:
        pj.read_panel(tmp_path / "s.parquet")
    assert not lacks(str(caught.value), *({"float32": ("task", "2^24")}.get(kind, ("task", "row 6"))))


@pytest.mark.parametrize("name", [*ASKED, *MAKERS])
def test_check_and_audit_never_differ(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `check` says of a file is what `audit` does with it: the same question, or an answer."""
    monkeypatch.chdir(tmp_path)
    if name in ASKED:
        ASKED[name][0].to_csv(tmp_path / "s.csv", index=False)
        source, options = "s.csv", {}
    else:
        MAKERS[name](tmp_path)
        source, options = name, arguments(documented()[name])

    def said(answer: Any, **more: Any) -> Any:
        try:
            return answer(source, **options, **more)
        except PolyjudgeError as error:
            return str(error)

    checked, audited = said(pj.check), said(pj.audit, resamples=100)
    if isinstance(checked, str):
        assert audited == checked
        return
    if not checked.readable:
        assert all(str(question) in audited for question in checked.reading.questions)
        return
    able = checked.answers.set_index("command").loc["audit"]
    assert isinstance(audited, str) != able["able"], audited
    assert able["able"] or audited == able["why"]
