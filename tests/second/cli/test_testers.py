"""Faults that testers found, each kept from coming back."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.files import safe_csv
from polyjudge.second.paper.ledger import notes
from polyjudge.second.read.scores import read_gold
from polyjudge.second.read.writers import write_calibrated
from polyjudge.second.report import report_of
from polyjudge.second.report.schema import to_json
from polyjudge.second.report.sections import Table
from refusals import lacks, refused

DOCS = Path(__file__).resolve().parents[2] / "docs"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=8, languages=["en", "de"], judges=["a", "b"], seed=1)[0]


def test_gold_from_a_database(panel: pj.Panel, tmp_path: Path) -> None:
    gold = panel.to_long().groupby(["task", "language"], sort=False)["score"].mean().reset_index()
    with sqlite3.connect(tmp_path / "gold.sqlite") as db:
        gold.to_sql("labels", db, index=False)
    read = read_gold(f"{tmp_path / 'gold.sqlite'}::labels")
    assert read["task"].tolist() == gold["task"].tolist()
    assert read["score"].astype(float).tolist() == pytest.approx(gold["score"].tolist())
    assert pj.anchor(panel, read, resamples=100).labels.sum() == len(gold)


@pytest.mark.parametrize("column", ["VARCHAR", "JSON", "it's", 'a"b'])
def test_any_column_name_passes_through_json_lines(panel: pj.Panel, tmp_path: Path, column: str) -> None:
    frame = panel.to_long().assign(**{column: "kept"})
    frame.to_json(tmp_path / "in.jsonl", orient="records", lines=True)
    write_calibrated(pj.ConsensusCalibrator().fit(panel), tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row[column] for row in rows} == {"kept"}


def test_other_draws_say_that_tolerances_are_wider() -> None:
    assert "tolerance" in " ".join(notes(1))
    assert "tolerance" not in " ".join(notes(None))


def test_the_python_interface_reads_as_a_file() -> None:
    """No directive that only a site fills in."""
    assert ":::" not in (DOCS / "api.md").read_text()


def test_json_shows_what_it_holds() -> None:
    text = to_json({"a": "x\u202ey\u2066z\u200f", "b": "\U0001f468\u200d\U0001f469"})
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200f]", text)
    assert json.loads(text) == {"a": "x\u202ey\u2066z\u200f", "b": "\U0001f468\u200d\U0001f469"}


def test_tables_keep_their_rows_whatever_is_in_them() -> None:
    frame = pd.DataFrame({"a": ["x\ry", "\nz", "p\nq", 'q"', "=1+1", "a,b"], "b": [1.5, float("nan"), 3, 4, 5, 6]})
    rows = list(csv.reader(io.StringIO(safe_csv(frame), newline="")))
    assert [r[0] for r in rows[1:]] == ["x\ry", "'\nz", "p\nq", 'q"', "'=1+1", "a,b"]
    assert rows[2][1] == ""
    assert '"x\ry"' in safe_csv(frame)


def test_extend_does_not_ask_for_tasks_that_are_not_there(panel: pj.Panel) -> None:
    full, _ = pj.simulate_panel(tasks=40, languages=["en", "de", "fr"], judges=["a", "b", "c"], seed=3)
    known = pj.ConsensusCalibrator().fit(full.select(languages=["en", "de"]))
    few = known.extend(full.select(tasks=full.tasks[:6]), target=0.05).extension_.newcomers[0]
    assert few.left_tasks == 34
    assert few.more_tasks > few.left_tasks
    assert few.words.values["left"] == 34
    assert not lacks(str(few.words), 34)
    assert lacks(str(few.words), few.more_tasks)


def test_a_panel_that_lacks_most_scores_is_told_so() -> None:
    import numpy as np

    full, _ = pj.simulate_panel(tasks=6, languages=3, judges=3, seed=2)
    scores = np.full(full.shape, np.nan)
    for i, (language, judge) in enumerate(np.ndindex(3, 3)):  # each cell has one task: none can be left out
        scores[i % 2, language, judge] = full.scores[i % 2, language, judge]
    scores[:2, 0, :] = full.scores[:2, 0, :]
    scores[:2, :, 0] = full.scores[:2, :, 0]
    panel = pj.Panel.from_array(scores, full.tasks, full.languages, full.judges)
    with refused(pj.PanelError, "74%", "missing", "--judges") as error:
        pj.compare(panel, resamples=100)
    assert "resamples" not in error.message  # more of them would not help


def test_one_to_one_is_one() -> None:
    from polyjudge.second.panel.say import say, word

    assert "1 to 1" not in word(say("anchor.more-labels", cells=2, few=1, most=1))
    assert "1 to 3" in word(say("anchor.more-labels", cells=2, few=1, most=3))


def test_counts_are_whole_numbers(panel: pj.Panel) -> None:
    """A count below a number of points keeps its own digits."""
    sections = {s.name: s for s in report_of(pj.audit(panel, resamples=100)).sections}
    (table,) = [b for b in sections["sensitivity"].blocks if isinstance(b, Table) and b.name == "tasks"]
    row = table.frame.set_index("figure").loc["reversing pairs"]
    assert all(re.fullmatch(r"\d+", row[c]) for c in ("all_tasks", "lowest", "highest", "without_it"))


def test_codes_of_the_methods_are_not_shown(panel: pj.Panel) -> None:
    report = pj.audit(panel, resamples=100).to_html()
    assert report is not None
    body = re.sub(r"<script.*?</script>", "", report, flags=re.DOTALL)
    assert not re.search(r"\([IV]\d\)", body)
