"""Files that evaluation tools themselves wrote give the planted panel (tests/read/tools, made by `make tools`)."""

# ruff: noqa: E501, PT017

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from eval_tools import planted
from polyjudge.base.errors import PanelError, PolyjudgeError
from polyjudge.panel import Panel
from polyjudge.read import read_panel

HERE = Path(__file__).parent / "tools"
KEYS = ["task", "system", "language", "judge"]
LOST = ("q2", "base", "de")
"""What the judges of these runs fail to judge."""
JOINED = "read as one task in several languages"


def truth(*lost: tuple[str, str, str], points: float = 10) -> pd.Series[float]:
    kept = [item for item in planted.items() if item not in lost]
    rows = [(*item, judge, planted.score(*item, judge) / points) for item in kept for judge in planted.JUDGES]
    return pd.DataFrame(rows, columns=[*KEYS, "score"]).set_index(KEYS)["score"].sort_index()


def same(panel: Panel, want: pd.Series[float]) -> None:
    got = panel.to_frame().set_index(KEYS)["score"].sort_index()
    pd.testing.assert_series_equal(got, want, check_index_type=False, rtol=1e-12)


@pytest.mark.parametrize(
    ("files", "lost", "note"),
    [
        ("promptfoo/rules.json", (), JOINED),
        ("promptfoo/rules.jsonl", (), JOINED),
        ("promptfoo/graders.json", (LOST, ("q3", "tuned", "sw")), "failed in the run"),
        ("promptfoo/graders.jsonl", (LOST, ("q3", "tuned", "sw")), "failed in the run"),
        ("deepeval/graders_*.json", (), ""),
        ("deepeval/rules_*.json", (), JOINED),
        ("deepeval/failing_*.json", (LOST,), "2 scores failed"),
        ("mlflow/traces.jsonl", (LOST,), "2 scores failed"),
        ("mlflow/traces.csv", (LOST,), "2 scores failed"),
        ("mlflow/frame.json", (LOST,), "2 scores failed"),
    ],
)
def test_what_a_tool_wrote_is_the_planted_panel(files: str, lost: Any, note: str) -> None:
    panel = read_panel(str(HERE / files))
    same(panel, truth(*lost))
    assert note in " ".join(panel.notes)


def test_a_panel_of_graders_keeps_each_vote() -> None:
    """The same graders, asked by one scorer: their votes are those of the scorers of their own."""
    panel, graders = (read_panel(HERE / "inspect" / kind).to_frame() for kind in ("panel", "graders"))
    assert set(panel["language"]) == {"de", "en", "sw"}
    keys = ["task", "system", "judge"]
    english = panel[panel["language"] == "en"].drop(columns="language").sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(
        english[[*keys, "score"]], graders.sort_values(keys, ignore_index=True)[[*keys, "score"]]
    )


def test_metrics_of_helm_and_lm_eval_are_criteria(tmp_path: Path) -> None:
    stats = [("exact_match", 1.0), ("f1_score", 0.5), ("num_prompt_tokens", 790.0)]
    helm = [
        {"instance_id": f"id{i}", "train_trial_index": 0, "stats": [
            {"name": {"name": name, "split": "test"}, "count": 1, "sum": x, "sum_squared": x, "min": x, "max": x,
             "mean": x * (i % 2 or x > 1), "variance": 0.0, "stddev": 0.0} for name, x in stats]}
        for i in range(8)
    ]  # fmt: skip
    panel = read_panel(_json(tmp_path, helm))
    assert (panel.judges, sorted(panel.criteria), len(panel.tasks)) == (("HELM",), ["exact_match", "f1_score"], 8)
    assert panel.criteria["f1_score"].scores.mean() == 0.25
    samples = [
        {"doc_id": i, "target": "3", "filtered_resps": ["3"], "filter": f, "metrics": ["exact_match", "acc"],
         "arguments": {"gen_args_0": {"arg_1": {"do_sample": False, "temperature": 0.0}}}, "exact_match": i % 2, "acc": 1}
        for i in range(8) for f in ("strict", "flexible")
    ]  # fmt: skip
    panel = read_panel(_json(tmp_path, samples))
    assert panel.judges == ("lm-eval",)
    assert len(panel.criteria) == 4
    assert panel.criteria["exact_match (strict)"].scores.mean() == 0.5


def test_records_of_every_eval_ever_name_the_system(tmp_path: Path) -> None:
    records = [
        {"schema_version": "0.3.0", "evaluation_id": f"e/{m}", "model_id": m, "evaluation_name": "b", "sample_id": f"s{i}",
         "interaction_type": "single_turn", "evaluation": {"score": (i + len(m)) % 3 / 2, "is_correct": False}, "error": None}
        for m in ("org/a", "org/bb") for i in range(6)
    ]  # fmt: skip
    panel = read_panel(_json(tmp_path, records))
    assert (panel.systems, panel.judges, panel.shape) == (("org/a", "org/bb"), ("judge",), (6, 2, 1, 1))


def test_promptfoos_table_of_joined_graders_is_refused() -> None:
    with pytest.raises(PanelError, match=r"results\.json"):
        read_panel(HERE / "promptfoo" / "graders.csv")


def test_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = truth(points=1).rename(index=lambda s: f"mockllm/{s}", level="system")
    same(read_panel(HERE / "inspect" / "rules"), want)
    graders = read_panel(HERE / "inspect" / "graders")
    assert graders.judges == ("mockllm/mild", "mockllm/strict")
    assert set(graders.scores.ravel()) == {0.0, 1.0}
    one = next((HERE / "inspect" / "rules").glob("*-de_*"))
    assert read_panel(one).shape == (4, 1, 1, 2)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(PolyjudgeError, match="Zstandard"):
        read_panel(one)
    broken = tmp_path / "x.eval"
    broken.write_bytes(one.read_bytes()[:3000])
    with pytest.raises(PanelError):
        read_panel(broken)


def test_of_an_eval_set_the_newest_log_of_each_task_is_read(tmp_path: Path) -> None:
    """A crash leaves an earlier attempt behind; old logs are JSON in one file."""

    def log(created: str, value: int, model: str = "m") -> dict[str, Any]:
        samples = [
            {"id": f"q{i}", "epoch": 1, "metadata": {"language": x}, "scores": {j: {"value": value + i} for j in "ab"}}
            for i in range(3)
            for x in ("de", "en")
        ]
        scorers = [{"name": "a"}, {"name": "b"}]
        about = {"task": "t", "task_id": "1", "model": model, "created": created, "scorers": scorers}
        return {"version": 2, "status": "success", "eval": about, "samples": samples[: 2 if value else None]}

    for i, content in enumerate((log("2026-01-02", 0), log("2026-01-01", 9))):
        (tmp_path / f"{i}.json").write_text(json.dumps(content))
    panel = read_panel(tmp_path)
    assert panel.shape == (3, 1, 2, 2)
    assert panel.scores.max() == 2


def test_langfuse(tmp_path: Path) -> None:
    path = HERE / "langfuse" / "scores.json"
    same(read_panel(path), truth())
    whole = json.loads(path.read_text())
    mild = [one for one in whole["data"] if one["name"] == "mild"]
    whole["data"] += [{**one, "source": "ANNOTATION", "name": "review"} for one in mild]
    (tmp_path / "s.json").write_text(json.dumps(whole))
    panel = read_panel(tmp_path / "s.json")
    assert panel.judges == ("mild", "strict")
    assert panel.human is not None
    assert len(panel.human) == 24
    for page in ({"has_more": True}, {"meta": {"page": 1, "totalPages": 2}}, {"meta": {"cursor": "x"}}):
        (tmp_path / "s.json").write_text(json.dumps({**whole, **page}))
        with pytest.raises(PanelError, match="not all of them"):
            read_panel(tmp_path / "s.json")
        (tmp_path / "t.json").write_text(json.dumps({**whole, "data": [], "meta": {"page": 2, "totalPages": 2}}))
        assert read_panel(sorted(tmp_path.glob("[st].json"))).judges == ("mild", "strict")


def test_mlflow_people_are_labels(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (HERE / "mlflow" / "traces.jsonl").read_text().splitlines()]
    for row in rows:
        source = {"source_type": "HUMAN", "source_id": "kim"}
        feedback = {"assessment_name": "quality", "feedback": {"value": 0.5}, "source": source}
        row["info"]["assessments"].append(feedback)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    panel = read_panel(tmp_path / "t.jsonl")
    assert panel.judges == ("mild", "strict")
    assert panel.human is not None
    assert set(panel.human["label"]) == {0.5}


def events() -> list[dict[str, Any]]:
    def attribute(key: str, value: Any) -> dict[str, Any]:
        kind = "stringValue" if isinstance(value, str) else "doubleValue"
        return {"key": key, "value": {kind: value}}

    return [
        {
            "eventName": "gen_ai.evaluation.result",
            "attributes": [
                attribute("gen_ai.evaluation.name", judge),
                attribute("gen_ai.evaluation.score.value", score / 10),
                *(attribute(f"app.{k}", v) for k, v in zip(("task", "system", "language"), (t, s, x), strict=True)),
            ],
        }
        for t, s, x, judge, score in truth(points=1).reset_index().itertuples(index=False)
    ]


def langsmith(with_list: bool) -> list[dict[str, Any]]:
    """Runs as the client gives them, with statistics of feedback or with the records themselves."""
    out = []
    for item in planted.items():
        task, system, language = item
        scores = {j: planted.score(*item, j) / 10 for j in planted.JUDGES}
        run: dict[str, Any] = {
            "id": "-".join(item), "name": "answer", "run_type": "chain", "session_id": "s", "error": None,
            "inputs": {"question": "?"}, "outputs": {"output": "!"}, "reference_example_id": task,
            "extra": {"metadata": {"language": language, "ls_model_name": system}},
        }  # fmt: skip
        if with_list:
            run["feedback"] = [{"key": j, "score": v, "feedback_source": {"type": "model"}} for j, v in scores.items()]
            run["feedback"].append({"key": "review", "score": 1, "feedback_source": {"type": "app"}})
        else:
            run["feedback_stats"] = {j: {"n": 1, "avg": v, "errors": 0} for j, v in scores.items()}
        out.append(run)
    return out


def braintrust() -> list[dict[str, Any]]:
    return [
        {
            "id": "-".join(item), "experiment_id": "e", "root_span_id": "r", "span_attributes": {"type": "eval"},
            "input": "?", "output": "!", "dataset_record_id": item[0], "metadata": {"language": item[2], "model": item[1]},
            "scores": {j: planted.score(*item, j) / 10 for j in planted.JUDGES}, "error": None,
        }
        for item in planted.items()
    ]  # fmt: skip


def test_open_telemetry_langsmith_and_braintrust(tmp_path: Path) -> None:
    """By their documented formats."""
    path = tmp_path / "s.jsonl"
    log = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": events()}]}]}
    for records in ([log], langsmith(False), langsmith(True), braintrust()):
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        panel = read_panel(path)
        same(panel, truth())
    assert read_panel(_json(tmp_path, {"events": braintrust()})).shape == (4, 2, 3, 2)
    people = read_panel(_json(tmp_path, langsmith(True))).human
    assert people is not None
    assert len(people) == 24
    inside = [{**e, "span_parents": ["r"], "dataset_record_id": None, "input": {"output": "!"}} for e in braintrust()]
    same(read_panel(_json(tmp_path, braintrust() + inside)), truth())


def test_what_failed_in_a_tool_is_missing_and_counted(tmp_path: Path) -> None:
    """A score of 0 beside an error, in each tool's own words; 46 or 47 of 48 scores are left."""
    event, runs, stats, lost = events(), langsmith(True), langsmith(False), braintrust()
    event[3]["attributes"] = [a for a in event[3]["attributes"] if "score" not in a["key"]] + [
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0}},
        {"key": "error.type", "value": {"stringValue": "timeout"}},
    ]
    runs[3]["feedback"][0] |= {"score": 0, "extra": {"error": True}}
    stats[3]["feedback_stats"]["mild"] = {"n": 1, "avg": 0, "errors": 1}
    lost[3] |= {"scores": {"strict": None, "mild": 0}, "error": "timeout"}
    scored = [{**e, "scores": {**e["scores"], "mild": 0}} if i == 3 else e for i, e in enumerate(braintrust())]
    scored[3]["metadata"]["scorer_errors"] = {"mild": "no JSON"}
    otel = [{"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": event}]}]}]
    for records, left in ((otel, 47), (runs, 47), (stats, 47), (lost, 46), (scored, 47)):
        panel = read_panel(_json(tmp_path, records))
        assert any("failed in the run" in n for n in panel.notes)
        assert len(panel.to_frame()) == left
    samples = [
        {"id": f"q{i}", "scores": {"s": {"value": {"tone": 0, "depth": 1}, "metadata": {"parse_ok": i > 0}}}}
        for i in range(4)
    ]
    about = {"task": "t", "model": "m", "model_roles": {"grader": {"model": "g"}}, "scorers": [{"name": "s"}]}
    panel = read_panel(_json(tmp_path, {"version": 2, "eval": about, "samples": samples}))
    assert (panel.judges, list(panel.criteria), len(panel.tasks)) == (("g",), ["depth", "tone"], 3)
    assert any("parse_ok" in n for n in panel.notes)


def _json(folder: Path, content: Any) -> Path:
    path = folder / "whole.json"
    path.write_text(json.dumps(content))
    return path


def test_a_tools_file_that_is_damaged_is_one_sentence(tmp_path: Path) -> None:
    for name in ("promptfoo/rules.json", "deepeval/graders_base.json", "langfuse/scores.json", "mlflow/traces.jsonl"):
        path = tmp_path / Path(name).name
        shutil.copy(HERE / name, path)
        text = path.read_text()
        halves = (text[:-30], text.replace("{", "[", 40))
        for bad in (*halves, text.replace('"score"', '"sc"'), text.replace(":", ": null, ", 9)):
            path.write_text(bad)
            try:
                read_panel(path)
            except PolyjudgeError as error:
                assert "\n" not in str(error)
