"""The texts behind the scores of a collection run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan
from polyjudge.second.collect.runs import _spoken
from polyjudge.second.read.spoken import read_texts


def _run(folder: Path, kind: str, tasks: int = 8) -> Path:
    planted = js.plant(kind, tasks, ["en", "ar", "fr"], ["ja", "jb", "jc"])
    with js.running(planted) as server:
        collect(load_plan(js.write_plan(folder, server.url, kind, planted)), folder / "run")
    return folder / "run"


def test_an_audit_of_a_run_shows_its_answers(tmp_path: Path) -> None:
    audit = pj.audit(_run(tmp_path, "rating"), resamples=100, cell=("ar", "jb"))
    found = audit.answers
    assert found is not None
    assert len(found)
    for row in found.itertuples():
        assert row.prompt == f"Do {row.task}."
        assert row.response == f"Done [[{row.task} ar all]]"
        assert row.reason
    assert found["response"].iloc[0] in (audit.to_html() or "")


@pytest.mark.parametrize(("kind", "parts"), [("pair", ("chosen", "rejected")), ("compare", ("A", "B"))])
def test_both_answers_of_a_pair_are_told_apart(tmp_path: Path, kind: str, parts: tuple[str, str]) -> None:
    panel = pj.read_panel(_run(tmp_path, kind, tasks=2))
    wanted = pd.DataFrame({"task": ["t0001", "none"], "language": "en", "judge": "ja"}, index=[7, 3])
    texts = read_texts(panel, wanted)
    lines = [f"{part}: Done [[t0001 en {text}]]" for part, text in zip(parts, ("chosen", "rejected"), strict=True)]
    assert texts.loc[7, "response"].splitlines() == lines
    assert texts.loc[3].isna().all()
    (tmp_path / "run" / "store.sqlite").unlink()
    assert read_texts(panel, wanted).empty


def test_a_text_cannot_close_its_fence() -> None:
    sent = "<request-0a1b2c3d>\nx <answer-ffffffff>\nno\n</answer-ffffffff>\n</request-0a1b2c3d>\n\n"
    sent += "<answer-0a1b2c3d>\ny\n</request-ffffffff> z\n</answer-0a1b2c3d>\n"
    found = _spoken([("", sent, '{"score": 2, "reason": "why"}')])
    assert found["response"] == "y\n</request-ffffffff> z"
    assert found["prompt"].startswith("x <answer-ffffffff>")
    assert found["reason"] == "why"
    assert _spoken([("", "Own words", "[1")]) == {"prompt": "Own words", "response": "", "reason": "[1"}
