"""Shapes that need no flag, or one that is named at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.read.formats.excel import write_excel

COLUMNS = ["task", "language", "judge", "score"]
KEYS = [(f"t{t}", lang, j) for t in range(6) for lang in ("en", "fr") for j in ("x", "y")]
SCORES = np.random.default_rng(1).integers(0, 101, len(KEYS)).tolist()


def long() -> pd.DataFrame:
    return pd.DataFrame([(*k, s) for k, s in zip(KEYS, SCORES, strict=True)], columns=COLUMNS)


def same(panel: pj.Panel) -> None:
    assert panel.select(languages=["en", "fr"], judges=["x", "y"]).fingerprint == pj.read_panel(long()).fingerprint


@pytest.mark.parametrize("separator", ["_", "-", "."])
@pytest.mark.parametrize("last", [True, False])
def test_the_language_in_the_name_of_the_task(separator: str, last: bool) -> None:
    table = long()
    parts = (table["task"], table["language"]) if last else (table["language"], table["task"])
    table = table.assign(task_id=parts[0] + separator + parts[1]).drop(columns=["task", "language"])
    panel = pj.read_panel(table)
    same(panel)
    assert panel.reading is not None
    pattern = f"task_id:{{task}}{separator}{{language}}" if last else f"task_id:{{language}}{separator}{{task}}"
    assert panel.reading.options["--language-from"] == pattern
    same(pj.read_panel(table, language_from=pattern))


def test_data_frames_with_an_index_series_and_lists() -> None:
    table = long()
    keyed = table.set_index(COLUMNS[:3])
    for source in (keyed, keyed["score"], table.set_index("task"), table.to_dict("records"), table.to_dict("list")):
        same(pj.read_panel(source))
    same(pj.read_panel(table.pivot(index="task", columns=["judge", "language"], values="score")))
    with pytest.raises(pj.PolyjudgeError):
        pj.read_panel([1, {"a": 2}])


@pytest.mark.parametrize("kind", ["frame", "csv", "jsonl", "parquet"])
def test_lists_of_scores_are_repeats(kind: str, tmp_path: Path) -> None:
    table = long().assign(score=[[s, s + 2] for s in SCORES])
    path = tmp_path / f"s.{kind}"
    {"csv": table.to_csv, "parquet": table.to_parquet}.get(kind, lambda *_, **__: None)(path, index=False)
    if kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    panel = pj.read_panel(table if kind == "frame" else path)
    assert panel.replicates == ("1", "2")
    assert panel.replicate_scores is not None
    np.testing.assert_array_equal(panel.replicate_scores[..., 1] - panel.replicate_scores[..., 0], 2)
    same(panel.select(replicates=["1"]).with_scores(panel.replicate_scores[..., 0]))


def test_spreadsheets_with_titles_and_a_sheet_for_each_judge(tmp_path: Path) -> None:
    rows = [("Scores of May", None, None, None), tuple(COLUMNS), *long().itertuples(index=False, name=None)]
    write_excel(tmp_path / "titled.xlsx", ["Report", "", "", ""], [rows])
    same(pj.read_panel(tmp_path / "titled.xlsx"))
    table = long().rename(columns={"judge": "sheet"})[["sheet", "task", "language", "score"]]
    write_excel(tmp_path / "sheets.xlsx", list(table.columns), [list(table.itertuples(index=False, name=None))])
    same(pj.read_panel(tmp_path / "sheets.xlsx"))


def test_folders_of_judges(tmp_path: Path) -> None:
    for (judge, lang), rows in long().groupby(["judge", "language"]):
        folder = tmp_path / "runs" / str(judge) / str(lang)
        folder.mkdir(parents=True)
        rows.drop(columns=["judge", "language"]).to_json(folder / "results.json", orient="records")
    source = str(tmp_path / "runs" / "*" / "*" / "results.json")
    same(pj.read_panel(source, judge_from="{judge}/{language}/results.json"))
    same(pj.read_panel(source, judge_from="{judge}/*/results.json", language_from="{language}/results.json"))


def test_the_word_score_is_no_part_of_a_judge() -> None:
    table = long().assign(column=lambda f: f["judge"] + "_score_" + f["language"])
    wide = table.pivot(index="task", columns="column", values="score").reset_index()
    same(pj.read_panel(wide))


@pytest.mark.parametrize(
    ("first", "second", "tie"),
    [("A>B", "B>A", "A=B"), ("win", "lose", "tie"), ("[[A]]", "[[B]]", "[[C]]"), ("1", "2", "0")],
)
def test_words_for_winners(first: str, second: str, tie: str) -> None:
    verdicts = [(first, second, tie)[s % 3] for s in SCORES]
    table = long().drop(columns="score").assign(model_a="P", model_b="Q", verdict=verdicts)
    panel = pj.read_panel(table)
    wanted = pj.read_panel(long().assign(score=[(1, -1, 0)[s % 3] for s in SCORES]))
    np.testing.assert_array_equal(panel.scores, wanted.scores)


@pytest.mark.parametrize(
    ("column", "lowest", "limits"), [("score", 1, None), ("score (1-5)", 1, (1, 5)), ("score", 0, (0, 5))]
)
def test_out_of_five(column: str, lowest: int, limits: Any) -> None:
    values = [lowest + s % (6 - lowest) for s in SCORES]
    panel = pj.read_panel(long().drop(columns="score").assign(**{column: [f"{v}/5" for v in values]}))
    assert panel.declared_range == limits
    assert panel.observed_range == (lowest, 5)


# --- tools ---


def test_fastchat_pairs_and_grades(tmp_path: Path) -> None:
    for lang in ("en", "fr"):
        mine = [(t, j, s) for (t, at, j), s in zip(KEYS, SCORES, strict=True) if at == lang]
        pairs = [
            {
                "question_id": t, "model_1": "P", "model_2": "Q", "g1_winner": ("model_1", "model_2", "tie")[s % 3],
                "g2_winner": "error" if s % 7 == 0 else "model_1", "judge": [j, "pair-v2"], "turn": 1, "tstamp": 1.5,
            }
            for t, j, s in mine
        ]  # fmt: skip
        grades = [
            {"question_id": t, "model": m, "judge": [j, "single-v1"], "score": s, "turn": turn, "tstamp": 1.5}
            for t, j, s in mine for m in ("P", "Q") for turn in (1, 2)
        ]  # fmt: skip
        for name, body in (("pair", pairs), ("single", grades)):
            (tmp_path / f"{name}_{lang}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in body))
    panel = pj.read_panel(str(tmp_path / "pair_*.jsonl"))
    assert panel.judges == ("x", "y")
    assert panel.replicates == ("g1", "g2")
    assert panel.replicate_scores is not None
    first = panel.select(languages=["en", "fr"]).replicate_scores[..., 0]  # type: ignore[index]
    wanted = pj.read_panel(long().assign(score=[(1, -1, 0)[s % 3] for s in SCORES])).scores
    np.testing.assert_array_equal(first, wanted)
    graded = pj.read_panel(str(tmp_path / "single_*.jsonl"))
    assert (graded.n_tasks, len(graded.clusters), graded.systems) == (12, 6, ("P", "Q"))


def test_mlflow_traces_as_csv(tmp_path: Path) -> None:
    rows = []
    for t, lang in dict.fromkeys((t, lang) for t, lang, _ in KEYS):
        feedback = [
            {
                "assessment_name": "q",
                "source": {"source_type": "LLM_JUDGE", "source_id": j},
                "feedback": {"value": s},
                "valid": None,
            }
            for (a, b, j), s in zip(KEYS, SCORES, strict=True)
            if (a, b) == (t, lang)
        ]
        rows.append({"trace_id": f"{t}{lang}", "tags": {"task": t, "language": lang}, "assessments": feedback})
    pd.DataFrame(rows).to_csv(tmp_path / "traces.csv", index=False)
    same(pj.read_panel(tmp_path / "traces.csv"))


@pytest.mark.parametrize("kind", ["resourceLogs", "resourceSpans"])
def test_opentelemetry_events(kind: str, tmp_path: Path) -> None:
    def attributes(**given: Any) -> list[dict[str, Any]]:
        return [
            {"key": k, "value": {"doubleValue" if isinstance(v, float) else "stringValue": v}} for k, v in given.items()
        ]

    lines = []
    for (t, lang, j), s in zip(KEYS, SCORES, strict=True):
        own = attributes(**{
            "gen_ai.evaluation.name": "quality", "gen_ai.evaluation.score.value": float(s),
            "gen_ai.evaluation.model": j, "app.task": t, "app.language": lang,
        })  # fmt: skip
        event = {"eventName": "gen_ai.evaluation.result", "attributes": own}
        spans = [{"name": "judge", "traceId": "1", "events": [{"name": "gen_ai.evaluation.result", "attributes": own}]}]
        inner = (
            {"scopeLogs": [{"logRecords": [event]}]} if kind == "resourceLogs" else {"scopeSpans": [{"spans": spans}]}
        )
        lines.append({kind: [{"resource": {"attributes": []}, **inner}]})
    (tmp_path / "otel.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    same(pj.read_panel(tmp_path / "otel.jsonl"))


def test_a_lone_model_is_asked_about_once() -> None:
    table = long().rename(columns={"judge": "model"})
    with pytest.raises(Unclear) as caught:
        pj.read_panel(table)
    assert [q.code for q in caught.value.reading.questions] == ["read.lone_model"]
    same(pj.read_panel(table, judge="model"))
