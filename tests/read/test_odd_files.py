"""A hundred odd files and their true panel: what a person sees in the file is what is read."""

# ruff: noqa: E501

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.read import read_panel

TASKS, TONGUES, JUDGES = [f"q{i}" for i in range(1, 13)], ["de", "en"], ["ann", "bob", "cy"]
KEYS = ["task", "language", "judge"]


def score(t: int, k: int, m: int) -> int:
    return (t * 37 + k * 23 + m * 11 + t * k * m * 5) % 21 * 5


def base() -> pd.DataFrame:
    places = product(enumerate(TASKS), enumerate(TONGUES), enumerate(JUDGES))
    rows = [(t, x, j, score(a, b, c)) for (a, t), (b, x), (c, j) in places]
    return pd.DataFrame(rows, columns=[*KEYS, "score"])


def text(content: str, end: str = ".csv", coding: str = "utf-8") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / f"scores{end}"
        path.write_bytes(content.encode(coding))
        return path

    return make


def csv_of(frame: pd.DataFrame, **how: Any) -> str:
    return str(frame.to_csv(index=how.pop("index", False), **how))


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(r) + "\n" for r in rows)


def worded(frame: pd.DataFrame, column: str, change: Callable[[Any], Any]) -> pd.DataFrame:
    return frame.assign(**{column: frame[column].map(change)})


B = base()
W = B.pivot(index=["task", "language"], columns="judge", values="score").reset_index().rename_axis(columns=None)
RECORDS: list[dict[str, Any]] = B.to_dict("records")  # type: ignore[assignment]
GAPS = [3, 20, 31]
WITHOUT = B.drop(index=GAPS)


def with_values(frame: pd.DataFrame, at: list[int], value: Any) -> pd.DataFrame:
    out = frame.astype({"score": object})
    out.loc[at, "score"] = value
    return out


def beside(column: str, value: Any, at: list[int], other: Any = "") -> pd.DataFrame:
    """Rows that say that they failed, with a score of 0."""
    out = B.assign(**{column: other}).astype({column: object})
    out.loc[at, column], out.loc[at, "score"] = value, 0
    return out


def named(**names: str) -> Callable[[Path], Path]:
    return text(csv_of(B.rename(columns=names)))


def more(frame: pd.DataFrame, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)], ignore_index=True)


ROUGH = worded(B, "task", lambda t: int(t[1:]))
CASES: dict[str, Any] = {
    # how a text file is written
    "plain": text(csv_of(B)),
    "semicolons": text(csv_of(B, sep=";")),
    "tabs": text(csv_of(B, sep="\t"), ".tsv"),
    "tabs in .txt": text(csv_of(B, sep="\t"), ".txt"),
    "pipes": text(csv_of(B, sep="|")),
    "byte order mark": text("\ufeff" + csv_of(B)),
    "UTF-16 with its mark": text(csv_of(B), coding="utf-16"),
    "Latin-1": (text(csv_of(worded(B, "judge", lambda j: j + "é")), coding="latin-1"), "Latin-1", lambda f: worded(f, "judge", lambda j: j + "é")),
    "Windows-1252": (text(csv_of(worded(B, "judge", lambda j: j + "’")), coding="cp1252"), "Windows-1252", lambda f: worded(f, "judge", lambda j: j + "’")),
    "UTF-16 with an emoji": text(csv_of(B.assign(response="\U0001f600")), coding="utf-16"),
    "line ends of two kinds": text(csv_of(B).replace("\n", "\r\n", 5)),
    "columns that differ in case": text(csv_of(B.assign(Notes=1, notes="x"))),
    "Windows line ends": text(csv_of(B, lineterminator="\r\n")),
    "no line end at the end": text(csv_of(B).rstrip("\n")),
    "empty lines at the end": text(csv_of(B) + "\n\n"),
    "an index column": text(csv_of(B, index=True)),
    "a comment above": text("# made by runner 2.1\n" + csv_of(B)),
    "a title above": text("Results of run 7\n\n" + csv_of(B)),
    "Excel's sep= line": text("sep=;\n" + csv_of(B, sep=";")),
    "a header with a hash": text("# " + csv_of(B, sep="\t"), ".tsv"),
    "everything quoted": text(csv_of(B, quoting=1)),
    "spaces around values": text(csv_of(worded(B, "judge", lambda j: f"  {j} "))),
    "spaces around names": text(csv_of(B.rename(columns={"score": " Score ", "judge": " Judge"}))),
    "line breaks inside texts": text(csv_of(B.assign(response='one, "two"\nthree'))),
    "no extension": text(csv_of(B), ""),
    "JSON lines": text(lines(RECORDS), ".jsonl"),
    "JSON lines called .json": text(lines(RECORDS), ".json"),
    "JSON list": text(json.dumps(RECORDS), ".json"),
    "JSON list, indented": text(json.dumps(RECORDS, indent=2), ".json"),
    "JSON document around a list": text(json.dumps({"run": 3, "results": RECORDS}), ".json"),
    "JSON records inside records": text(lines([{"sample": {"id": r["task"], "lang": r["language"]}, "grade": {"judge": r["judge"], "score": r["score"]}} for r in RECORDS]), ".jsonl"),
    "JSON with judgments in each record": text(lines([{"id": t, "lang": x, "judgments": p[["judge", "score"]].to_dict("records")} for (t, x), p in B.groupby(["task", "language"])]), ".jsonl"),
    "JSON with scores by judge": text(lines([{"id": r["task"], "lang": r["language"], "scores": {j: r[j] for j in JUDGES}} for r in W.to_dict("records")]), ".jsonl"),
    "JSON with null scores": (text(lines([{**r, "score": None} if i in GAPS else r for i, r in enumerate(RECORDS)]), ".jsonl"), "", lambda f: f.drop(index=GAPS)),
    "JSON without some scores": (text(lines([{k: v for k, v in r.items() if k != "score" or i not in GAPS} for i, r in enumerate(RECORDS)]), ".jsonl"), "", lambda f: f.drop(index=GAPS)),
    "JSON with scores as text": text(lines([{**r, "score": str(r["score"])} for r in RECORDS]), ".jsonl"),
    "JSON lines called .txt": text(lines(RECORDS), ".txt"),
    "JSON with a record for each judge": text(lines([{"id": r["task"], "lang": r["language"], **{j: {"score": r[j], "why": "so"} for j in JUDGES}} for r in W.to_dict("records")]), ".jsonl"),
    "JSON document with a score and an id of its own": text(json.dumps({"task": "run 3", "score": 3.1, "summary": {"score": 3.1}, "results": RECORDS}), ".json"),
    "JSON that ends without a line end": text(lines(RECORDS).rstrip("\n"), ".jsonl"),
    # names of columns
    "question_id, lang, grader, rating": named(task="question_id", language="lang", judge="grader", score="rating"),
    "Question ID, Locale, Judge Model, Rating (0-100)": named(task="Question ID", language="Locale", judge="Judge Model", score="Rating (0-100)"),
    "item, target_lang, evaluator, grade": named(task="item", language="target_lang", judge="evaluator", score="grade"),
    "segment_id, lp, rater, judge_score": named(task="segment_id", language="lp", judge="rater", score="judge_score"),
    "taskId, languageCode, judgeModel": named(task="taskId", language="languageCode", judge="judgeModel"),
    "model alone is the judge": (named(judge="model"), "judge", None),
    "llm alone is the judge": (named(judge="llm"), "judge", None),
    "wide, model is the system": (text(csv_of(W.assign(model="m"))), "", None),
    "model beside a judge is the system": (text(csv_of(B.assign(model="m1"))), "", None),
    "id of the row beside question_id": text(csv_of(B.assign(id=range(len(B))).rename(columns={"task": "question_id"}))),
    "id of the row beside the question": text(csv_of(B.assign(id=range(len(B))).rename(columns={"task": "question"}))),
    "an unused timestamp": text(csv_of(B.assign(timestamp="2026-03-01T10:00:00Z", cost=0.01, latency_ms=9000))),
    "label beside a score is people's": (text(csv_of(B.assign(label=B["score"] // 50))), "", None),
    "upper case": named(task="TASK", language="LANGUAGE", judge="JUDGE", score="SCORE"),
    # scores as text
    "percent": (text(csv_of(worded(B, "score", lambda s: f"{s}%"))), "ercent", None),
    "percent with a space": (text(csv_of(worded(B, "score", lambda s: f"{s} %"))), "ercent", None),
    "out of 100": (text(csv_of(worded(B, "score", lambda s: f"{s}/100"))), "out of 100", None),
    "out of, in words": (text(csv_of(worded(B, "score", lambda s: f"{s} out of 100"))), "out of 100", None),
    "decimal commas": (text(csv_of(worded(B, "score", lambda s: f"{s},5"), sep=";")), "ommas", lambda f: f.assign(score=f["score"] + 0.5)),
    "decimal points": (text(csv_of(worded(B, "score", lambda s: f"{s}.0"))), "", None),
    "plus signs": (text(csv_of(worded(B, "score", lambda s: f"+{s}"))), "", None),
    "exponents": (text(csv_of(worded(B, "score", lambda s: f"{s / 10}e1"))), "", None),
    "spaces around scores": (text(csv_of(worded(B, "score", lambda s: f" {s} "))), "", None),
    **{
        f"{word!r} for no score": (text(csv_of(with_values(B, GAPS, word))), "", lambda f: f.drop(index=GAPS))
        for word in ("", "NA", "N/A", "nan", "NaN", "null", "None", "-", "?", "missing", "#N/A", "error", "refused", "parse error")
    },
    **{
        f"{yes}/{no}": (text(csv_of(worded(B, "score", lambda s, yes=yes, no=no: yes if s > 50 else no))), "", lambda f: f.assign(score=(f["score"] > 50).astype(float)))
        for yes, no in (("pass", "fail"), ("PASS", "FAIL"), ("Yes", "No"), ("true", "false"), ("True", "False"), ("correct", "incorrect"), ("passed", "failed"), ("1", "0"), ("accept", "reject"))
    },
    "success/failure": (text(csv_of(worded(B, "score", lambda s: "success" if s > 50 else "failure"))), "", lambda f: f.assign(score=(f["score"] > 50).astype(float))),
    "numbers and text in JSON": (text(lines([{**r, "score": "N/A" if i in GAPS else str(r["score"]) if i % 2 else r["score"]} for i, r in enumerate(RECORDS)]), ".jsonl"), "", lambda f: f.drop(index=GAPS)),
    "ids of JSON as numbers and as text": (text(lines([{**r, "task": int(r["task"][1:]) if r["judge"] == "ann" else r["task"][1:]} for r in RECORDS]), ".jsonl"), "", lambda f: worded(f, "task", lambda t: t[1:])),
    "booleans of JSON": (text(lines([{**r, "score": r["score"] > 50} for r in RECORDS]), ".jsonl"), "", lambda f: f.assign(score=(f["score"] > 50).astype(float))),
    "is_correct": (text(csv_of(B.assign(is_correct=B["score"] > 50).drop(columns="score"))), "", lambda f: f.assign(score=(f["score"] > 50).astype(float))),
    # rows that failed
    **{
        f"{column} = {value}": (text(csv_of(beside(column, value, GAPS, other))), "failed", lambda f: f.drop(index=GAPS))
        for column, value, other in (
            ("status", "error", "ok"), ("status", "FAILED", "success"), ("error", "timeout", ""), ("error", "HTTP 500", "None"), ("parse_ok", False, True),
            ("parse_ok", "no", "yes"), ("is_error", True, False), ("judge_status", "rate_limited_error", "done"), ("error_message", "no JSON", ""),
            ("exception", "ValueError()", ""), ("valid", 0, 1), ("timed_out", "true", "false"), ("parse_error", "bad JSON", ""),
            ("http_status", 500, 200), ("state", "failed", "done"), ("status", "incomplete", "done"), ("valid", "Invalid", "Valid"), ("errored", True, False),
            ("is_valid_json", "False", "True"), ("error_code", 429, 0), ("status", 503, 200), ("skipped", "yes", "no"),
        )
    },
    "status = passed is no state of the row": text(csv_of(B.assign(status=np.where(B["score"] > 50, "passed", "failed")))),
    "errors that are counted": text(csv_of(B.assign(errors=B["score"] % 3))),
    "tool calls beside a score": text(lines([{**r, "tool_calls": [{"name": "f"}, {"name": "g"}] if i % 3 else []} for i, r in enumerate(RECORDS)]), ".jsonl"),
    "messages beside judgments": text(lines([{"id": t, "lang": x, "messages": [{"role": "user"}], "judgments": p[["judge", "score"]].to_dict("records")} for (t, x), p in B.groupby(["task", "language"])]), ".jsonl"),
    "tasks with the names of functions": (text(csv_of(B.replace({"task": {"q1": "sum", "q2": "max", "q3": "median", "q4": "sort", "q5": "fib", "q6": "gcd", "q7": "pop", "q8": "min"}}))), "", lambda f: f.replace({"task": {"q1": "sum", "q2": "max", "q3": "median", "q4": "sort", "q5": "fib", "q6": "gcd", "q7": "pop", "q8": "min"}})),
    "status codes as floats": (text(csv_of(beside("status_code", 429.0, GAPS, 200.0))), "failed", lambda f: f.drop(index=GAPS)),
    "why an answer is bad": text(csv_of(B.assign(failure_reason=np.where(B["score"] < 50, "wrong", ""), error_type="grammar"))),
    "label on another scale than columns of judges": text(csv_of(W.assign(label=[0, 1] * 12))),
    "label and another number beside a judge": text(csv_of(B.rename(columns={"score": "label"}).assign(truncated=B["score"]))),
    "numbers that are answers": (text(csv_of(B.assign(gold=range(900, 972), expected="42"))), "", None),
    "error that is 0 throughout": text(csv_of(B.assign(error=0))),
    # spellings
    "ids 3 and 3.0": (text(csv_of(ROUGH.assign(task=[f"{t}.0" if x == "en" else str(t) for t, x in zip(ROUGH["task"], ROUGH["language"], strict=True)]))), "as one", lambda f: worded(f, "task", lambda t: t[1:])),
    "openai/gpt-4o and gpt-4o": (text(csv_of(B.assign(judge=[f"openai/{j}" if j == "ann" and t in ("q1", "q2") else j for j, t in zip(B["judge"], B["task"], strict=True)]))), "as one", None),
    "Ann and ann": (text(csv_of(B.assign(judge=[j.title() if t == "q1" else j for j, t in zip(B["judge"], B["task"], strict=True)]))), "as one", lambda f: worded(f, "judge", lambda j: j)),
    "EN and en": (text(csv_of(B.assign(language=[x.upper() if t == "q1" else x for x, t in zip(B["language"], B["task"], strict=True)]))), "as one", None),
    "English and en": (text(csv_of(B.assign(language=["English" if (x, j) == ("en", "bob") else x for x, j in zip(B["language"], B["judge"], strict=True)]))), "as one", None),
    "ids in capitals of one judge": (text(csv_of(B.assign(task=[t.upper() if j == "bob" else t for t, j in zip(B["task"], B["judge"], strict=True)]))), "as one", None),
    "ids with zeros before them of one judge": (text(csv_of(B.assign(task=[f"{int(t[1:]):03d}" if j == "bob" else t[1:] for t, j in zip(B["task"], B["judge"], strict=True)]))), "as one", lambda f: worded(f, "task", lambda t: t[1:])),
    "two providers of one model that both answer": (text(csv_of(worded(B, "judge", lambda j: {"ann": "a/m", "bob": "b/m"}.get(j, j)))), "", lambda f: worded(f, "judge", lambda j: {"ann": "a/m", "bob": "b/m"}.get(j, j))),
    "languages of labels in two spellings": (text(csv_of(B.assign(language=["English" if (x, j) == ("en", "bob") else x for x, j in zip(B["language"], B["judge"], strict=True)], human=50))), "as one", None),
    # summaries
    "rows of means and spreads": (text(csv_of(more(W, [(w, "de", 50, 50, 50) for w in ("mean", "std", "max", "N")]))), "left out", None),
    **{f"wide, with {word}": text(csv_of(W.assign(**{word: 50}))) for word in ("avg_rating", "median_score", "majority_vote", "weighted avg", "final", "Human rating (0-100)", "mean_human_rating", "expert_1_rating")},
    **{f"wide, {word}": (text(csv_of(W.assign(**{word: 50}))), "a summary", None) for word in ("final_score", "overall")},
    **{f"a row of {word}s": (text(csv_of(more(B, [(word, x, j, 50) for x in TONGUES for j in JUDGES]))), "left out", None) for word in ("mean", "Average", "total", "ALL")},
    "a judge called average": (text(csv_of(more(B, [(t, x, "average", 50) for t in TASKS for x in TONGUES]))), "left out", None),
    "a language called all": (text(csv_of(more(B, [(t, "all", j, 50) for t in TASKS for j in JUDGES]))), "left out", None),
    # wide
    "wide": text(csv_of(W)),
    "wide, one called a judge": (text(csv_of(W.rename(columns={"ann": "ann judge"}))), "", lambda f: f.replace({"ann": "ann judge"})),
    "wide, score_ before": text(csv_of(W.rename(columns={j: f"score_{j}" for j in JUDGES}))),
    "wide, _rating after": text(csv_of(W.rename(columns={j: f"{j}_rating" for j in JUDGES}))),
    "wide, with a mean": text(csv_of(W.assign(mean=W[JUDGES].mean(axis=1)))),
    "wide, with an average score": text(csv_of(W.assign(avg_score=W[JUDGES].mean(axis=1).round(2)).rename(columns={j: f"score_{j}" for j in JUDGES}))),
    "wide, with difficulty, split, length": text(csv_of(W.assign(difficulty=3, split="test", length=range(100, 124)))),
    "wide, with another number": (text(csv_of(W.assign(views=range(9000, 9024)))), "views", None),
    "wide, with flags": (text(csv_of(W.assign(is_long=[0, 1] * 12, has_image=[1, 0] * 12))), "", None),
    "wide, with texts": text(csv_of(W.assign(prompt="What?", response="That.", created="2026-01-01"))),
    "wide, with gaps": (text(csv_of(W.assign(ann=W["ann"].where(W["task"] != "q1")))), "", lambda f: f[(f["task"] != "q1") | (f["judge"] != "ann")]),
    "wide by language": text(csv_of(B.pivot(index=["task", "judge"], columns="language", values="score").reset_index())),
    "wide by language, score_de": text(csv_of(B.pivot(index=["task", "judge"], columns="language", values="score").add_prefix("score_").reset_index())),
    "wide by language, Icelandic and Norwegian": (text(csv_of(B.replace({"de": "is", "en": "no"}).pivot(index=["task", "judge"], columns="language", values="score").reset_index())), "", lambda f: f.replace({"de": "is", "en": "no"})),
    "wide by judge and language": text(csv_of(B.assign(c=B["judge"] + "_" + B["language"]).pivot(index="task", columns="c", values="score").reset_index())),
    "wide, with the agreement": text(csv_of(W.assign(agreement=80, n_judges=3, std=2.5))),
    "wide by judge and criterion": text(csv_of(W.rename(columns={j: f"{j}_fluency" for j in JUDGES}).assign(**{f"{j}_accuracy": W[j] for j in JUDGES}))),
    "wide by judge and run": text(csv_of(W.rename(columns={j: f"{j}_run1" for j in JUDGES}).assign(**{f"{j}_run2": W[j] for j in JUDGES}))),
    "reference answers as text": text(csv_of(B.assign(gold="Paris", ground_truth="Paris, France"))),
    "the provider of each judge": text(csv_of(B.assign(provider=B["judge"].str.upper()))),
    "wide, percent": (text(csv_of(W.assign(**{j: W[j].astype(str) + "%" for j in JUDGES}))), "ercent", None),
    # levels
    "a rare 0 beside 5 to 100": (text(csv_of(B.assign(score=B["score"].clip(lower=5)).pipe(lambda f: f.assign(score=f["score"].where(f.index != 3, 0))))), "", lambda f: f.assign(score=f["score"].clip(lower=5)).pipe(lambda g: g.assign(score=g["score"].where(g.index != 3, 0)))),
    "a judge from 0 to 40 beside 0 to 100": (text(csv_of(B.assign(score=np.where(B["judge"] == "ann", B["score"] // 10 * 4, B["score"])))), "", lambda f: f.assign(score=np.where(f["judge"] == "ann", f["score"] // 10 * 4, f["score"]))),
    "a judge that always says the same": (text(csv_of(B.assign(score=np.where(B["judge"] == "ann", 50, B["score"])))), "", lambda f: f.assign(score=np.where(f["judge"] == "ann", 50, f["score"]))),
    "rows that stand twice": (text(csv_of(more(B, list(B.iloc[:4].itertuples(index=False, name=None))))), "same score", None),
    "repeats with a run": (text(csv_of(pd.concat([B.assign(run=1), B.assign(run=2, score=B["score"] + 1)]))), "", lambda f: f.assign(score=f["score"] + 0.5)),
    "people among the judges": (text(csv_of(more(B, [(t, x, "human", 50) for t in TASKS for x in TONGUES]))), "", None),
    "annotator among the judges": (text(csv_of(more(B, [(t, x, "Annotator 1", 50) for t in TASKS for x in TONGUES]))), "", None),
}  # fmt: skip


assert len(CASES) >= 100


@pytest.mark.parametrize("called", CASES)
def test_odd_files_give_the_true_panel(called: str, tmp_path: Path) -> None:
    made = CASES[called]
    make, note, change = made if isinstance(made, tuple) else (made, "", None)
    panel = read_panel(make(tmp_path))
    want = (change or (lambda f: f))(base()).set_index(KEYS)["score"].astype(float).sort_index()
    got = panel.to_frame().set_index(KEYS)["score"].sort_index()
    pd.testing.assert_series_equal(got, want, check_index_type=False, rtol=1e-12)
    assert note in " ".join(panel.notes)


def test_a_frame_with_columns_on_two_levels() -> None:
    panel = read_panel(B.pivot(index="task", columns=["language", "judge"], values="score"))
    got = panel.to_frame().set_index(KEYS)["score"].sort_index()
    np.testing.assert_allclose(got, B.set_index(KEYS)["score"].sort_index())


def test_a_judge_that_begins_late() -> None:
    late = [None] * 500 + [1, 2, 3, 4, 5] * 20
    people = read_panel(
        pd.DataFrame(
            {
                "id": range(600),
                "gpt": [1, 2, 3, 4, 5] * 120,
                "human": [None] * 500 + [2, 1, 3, 5, 4] * 10 + [1, 2, 4, 3, 5] * 10,
            }
        )
    ).human
    assert people is not None
    assert len(people) == 100
    assert read_panel(pd.DataFrame({"id": range(600), "gpt": [1, 2, 3, 4, 5] * 120, "claude": late})).judges == (
        "claude",
        "gpt",
    )
