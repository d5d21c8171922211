"""Tables of one language or one judge that have no column for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.reading import Unclear


def rows(**more: Any) -> pd.DataFrame:
    """Twelve tasks of two systems by two judges, in no language."""
    rng = np.random.default_rng(5)
    cells = [(f"q{t}", s, j) for t in range(12) for s in ("x", "y") for j in ("gpt-4", "mistral")]
    return pd.DataFrame(cells, columns=["task", "system", "judge"]).assign(score=rng.normal(60, 9, len(cells)), **more)


def codes(found: pytest.ExceptionInfo[Unclear]) -> list[tuple[str, Any]]:
    return [(q.code, q.values["role"]) for q in found.value.reading.questions]


@pytest.mark.parametrize("as_file", [True, False])
def test_a_table_without_languages_is_one_language(tmp_path: Path, as_file: bool) -> None:
    table = rows(cost=0.25, run_by="ci", question=[f"What is {t}?" for t in np.repeat(np.arange(12), 4)])
    table.to_csv(tmp_path / "s.csv", index=False)
    panel = pj.read_panel(tmp_path / "s.csv" if as_file else table)
    assert (panel.languages, panel.judges, panel.systems) == (("unnamed",), ("gpt-4", "mistral"), ("x", "y"))
    named = pj.read_panel(rows().assign(language="unnamed"))
    np.testing.assert_array_equal(panel.scores, named.scores)
    assert pj.read_panel(table, languages=["de"]).languages == ("de",)


@pytest.mark.parametrize(
    "more", [{"domain": ["law", "news"] * 24}, {"sprachen": ["de", "fr"] * 24}, {"l": [f"L{i % 3}" for i in range(48)]}]
)
def test_a_column_that_judges_could_be_compared_by_is_asked_about(more: dict[str, Any]) -> None:
    """Two languages without the name of one would be read as one in silence."""
    table = rows().drop(columns="system").assign(**more)
    if "sprachen" in more:  # languages are known by what they are
        assert pj.read_panel(table, duplicates="mean").languages == ("de", "fr")
        return
    with pytest.raises(Unclear) as found:
        pj.read_panel(table)
    assert codes(found) == [("read.missing", "language")]
    assert found.value.reading.questions[0].values["by"] == list(more)
    assert pj.read_panel(table, languages=["en"], duplicates="mean").languages == ("en",)


def test_tasks_named_in_two_parts_are_asked_about() -> None:
    """The second part may be the language, under a name that is none."""
    table = rows(task=[f"q{t // 2}_{'uv'[t % 2]}" for t in np.repeat(np.arange(12), 4)])
    with pytest.raises(Unclear) as found:
        pj.read_panel(table)
    assert codes(found) == [("read.missing", "language")]
    assert pj.read_panel(table, language_from="task:{task}_{language}").languages == ("u", "v")


def test_one_judge_is_named(tmp_path: Path, cli: Any) -> None:
    """Who judged is never made up."""
    table = rows().query("judge == 'gpt-4'").drop(columns="judge")
    with pytest.raises(Unclear) as found:
        pj.read_panel(table)
    assert codes(found) == [("read.missing", "judge")]
    table.to_csv(tmp_path / "s.csv", index=False)
    panel = pj.read_panel(tmp_path / "s.csv", judges=["gpt-4o"])
    assert (panel.judges, panel.languages, panel.shape[0]) == (("gpt-4o",), ("unnamed",), 12)
    done = cli("check", tmp_path / "s.csv", "--judges", "gpt-4o", "--save", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    again = pj.read_panel(tmp_path / "s.csv", reading=tmp_path / "r.json")
    np.testing.assert_array_equal(again.scores, panel.scores)


def test_judges_in_the_names_of_columns_of_one_language() -> None:
    wide = rows().pivot(index=["task", "system"], columns="judge", values="score").reset_index()
    with pytest.raises(Unclear):
        pj.read_panel(wide)
    assert pj.read_panel(wide, languages=["en"]).judges == ("gpt-4", "mistral")


def test_several_files_or_names_are_no_single_language(tmp_path: Path) -> None:
    for name in ("one", "two"):
        rows(task=[f"{name}{t}" for t in np.repeat(np.arange(12), 4)]).to_csv(tmp_path / f"{name}.csv", index=False)
    for source, options in ((tmp_path / "*.csv", {}), (tmp_path / "one.csv", {"languages": ["en", "de"]})):
        with pytest.raises(Unclear) as found:
            pj.read_panel(source, **options)
        assert codes(found) == [("read.missing", "language")]


def test_labels_calibrate_a_judge_that_no_column_names(tmp_path: Path, cli: Any) -> None:
    """The name given to one judge holds for reading, fitting and applying."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame([(f"q{t}", la) for t in range(40) for la in ("en", "de")], columns=["task", "language"])
    truth = rng.normal(60, 8, len(table))
    table["score"] = (truth + rng.normal(0, 2, len(table)) - 12 * (table["language"] == "de")).round(2)
    table.to_csv(tmp_path / "s.csv", index=False)
    table.assign(label=truth.round(2)).drop(columns="score").to_csv(tmp_path / "labels.csv", index=False)
    done = cli(
        "calibrate", tmp_path / "s.csv", "--judges", "gpt-4o", "--labels", tmp_path / "labels.csv", "--range", "0:120",
        "-o", tmp_path / "out.csv", "--save", tmp_path / "cal.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    apply = ("apply", tmp_path / "cal.json", tmp_path / "s.csv", "--judges", "gpt-4o", "-o")
    assert cli(*apply, tmp_path / "again.csv").returncode == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    table.assign(judge="gpt-4o").to_csv(tmp_path / "s.csv", index=False)
    assert cli(*apply, tmp_path / "third.csv").returncode == 2  # a name where a column says it too
    out = pd.read_csv(tmp_path / "out.csv")
    gap = out.groupby("language")["calibrated"].mean().diff().iloc[-1]
    assert abs(gap - np.diff(pd.Series(truth).groupby(table["language"]).mean().to_numpy())[0]) < 4


def test_tables_of_other_engines(tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis")
    table = ibis.memtable(rows())
    assert pj.read_panel(table, languages=["en"]).languages == ("en",)
