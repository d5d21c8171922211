"""What cannot be read is refused in one sentence that says what mends it; with that the true panel is read."""

# ruff: noqa: E501, SIM905

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from common import shared_file
from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.read import read_panel
from read.test_odd_files import GAPS, JUDGES, TASKS, B, W, csv_of, more, with_values

C = B.assign(score=B["score"] // 20)  # 0 to 5
TEN = B.assign(score=B["score"] // 25 + 1)  # 1 to 5
TWO_SCALES = B.assign(score=np.where(B["judge"] == "ann", B["score"] // 25 + 1, B["score"]))
TWO_TONGUES = TEN.assign(score=np.where(TEN["language"] == "de", TEN["score"] * 20, TEN["score"]))
CRITERIA = "fluency accuracy tone style depth wit safety".split()
SEVEN = B.drop(columns="score").assign(**{c: B["score"] for c in CRITERIA})
PAIRS = pd.DataFrame(
    [(t, a, b, j, w) for t in TASKS for j in JUDGES for a, b, w in (("x", "y", "model_a"), ("y", "x", "tie"))],
    columns=["question_id", "model_a", "model_b", "judge", "winner"],
)
HUMAN = pd.DataFrame({"case_id": range(60), "human": ["pass", "fail", "pass"] * 20, "judge": ["pass", "fail"] * 30})
HUMAN.loc[:8:2, "judge"] = "maybe"
WORDS = W.assign(bob=[x if i > 3 else "unsure" for i, x in enumerate(W["bob"])])
CASES: dict[str, Any] = {
    # what -> (frame or text, words of the sentence, options that mend it or None)
    "score and rating": (B.assign(rating=1), ["score", "rating", "--score"], {"score": "score"}),
    "a score beside columns like it": (W.drop(columns="language").drop_duplicates("task").rename(columns={"ann": "result"}), ["result is called a score", "bob and cy", "--judges bob,cy"], {"judges": "bob,cy"}),
    "accepted beside refused": (B.assign(score=["accepted", "refused"] * 36), ["accepted stands beside refused", "--drop refused"], {"drop": "refused"}),
    "score in two units": (B.assign(**{"Score (%)": B["score"]}), ["score and Score (%)", "--score"], {"score": "score"}),
    "answers as systems": (B[B["judge"] == "ann"].iloc[::2].drop(columns=["judge", "language"]).assign(candidate=[f"Because {i}." for i in range(12)]), ["no two tasks have the same candidate", "response"], {"system": "candidate"}),
    "a run that holds models": (B.rename(columns={"judge": "run"}).replace({"run": {"ann": "gpt-4o"}}), ["run tells them apart"], {"judge": "run"}),
    "a run that holds names": (B.rename(columns={"judge": "run"}), ["run tells them apart", "--judge run", "--system run"], {"judge": "run"}),
    "labels of which one is -1": (W.assign(human=[-1, *[0, 1, 2] * 8][:24]), ["column human", "--drop -1"], {"drop": "-1"}),
    "JSON of one record": (json.dumps({"q1": {"a": 4, "b": 3}, "q2": {"a": 5, "b": 2}}).encode(), ["list of records"], None),
    "two weak names": (B.rename(columns={"score": "value"}).assign(result=B["score"]), ["value", "result", "--score"], {"score": "value"}),
    "-1 on 0 to 1": (with_values(B.assign(score=(B["score"] > 50) * 1), GAPS, -1), ["-1", "--drop -1"], {"drop": "-1"}),
    "-1 beside 0 and 1, often": (B.assign(score=np.round(B["score"] / 50) - 1), ["15 scores of 72", "--range -1:1"], {"range": "-1:1"}),
    "9 beside 0 and 1": (B.assign(score=np.where(B["score"] > 80, 9, B["score"] % 2)), ["9", "--drop 9"], {"drop": "9"}),
    "a heap of 0 on 1 to 5": (TEN.assign(score=np.where(np.arange(72) % 2 == 1, 0, B["score"] // 21 + 1)), ["36 scores of 72", "--drop 0"], {"drop": "0"}),
    "9 on 1 to 5": (with_values(TEN, GAPS, 9), ["3 scores", "--drop 9"], {"drop": "9"}),
    "-1 on 1 to 5": (with_values(TEN, GAPS, -1), ["3 scores", "-1", "--drop -1"], {"drop": ("-1",)}),
    "999": (with_values(B, GAPS, 999), ["999", "--drop 999"], {"drop": "999"}),
    "-99": (with_values(TEN, [3], -99), ["1 score ", "-99"], {"drop": "-99"}),
    "outside what was declared": (with_values(B, GAPS, 250), ["250", "--range 0:100"], {"range": "0:100", "drop": "250"}),
    "a word": (with_values(B, GAPS, "abc"), ["'abc'", "3 rows", "--drop abc"], {"drop": "abc"}),
    "grades": (with_values(B, list(range(0, 72, 2)), "B"), ["'B'", "number"], None),
    "a judge on another scale": (TWO_SCALES, ["ann has scores from 1 to 5", "the others", "--range"], {"range": "0:100"}),
    "a language on another scale": (TWO_TONGUES, ["en has scores from 1 to 5", "20 to", "--range"], {"range": "1:100"}),
    "a column of maxima": (TWO_TONGUES.assign(max_score=np.where(TEN["language"] == "de", 100, 5)), ["100 and 5", "max_score"], {"range": "1:100"}),
    "a judge from 0 to 1": (B.assign(score=np.where(B["judge"] == "bob", B["score"] / 100, B["score"])), ["bob", "one scale"], None),
    "pass or fail beside 0 to 100": (B.assign(score=np.where(B["judge"] == "cy", B["score"] > 50, B["score"])), ["cy", "0 to 1"], None),
    "scores out of several": (B.assign(score=[f"3/{5 + i % 2}" for i in range(72)]), ["one scale", "3/"], None),
    "thousands or decimal commas": (B.assign(score="1,500"), ["1,500", "not a number"], None),
    "percent beside fractions": (B.assign(score=[f"{s}%" if s > 50 else s / 100 for s in B["score"]]), ["%'", "not a number"], None),
    "out of ten beside plain numbers": (B.assign(score=[f"{s // 10}/10" if s > 50 else s for s in B["score"]]), ["/10'", "one scale"], None),
    "words beside numbers": (B.assign(score=["good" if s == 50 else s for s in B["score"]]), ["'good'", "--drop good"], {"drop": "good"}),
    "cases of which the judge says maybe": (HUMAN, ["column judge", "'maybe' (5 rows)", "--drop maybe"], {"drop": "maybe"}),
    "cases of which the judge says nope": (HUMAN.replace({"judge": {"fail": "nope", "maybe": "nope"}}), ["column judge", "'nope'"], {"drop": "nope"}),
    "columns of judges, one with words": (WORDS, ["column bob holds 'unsure' (4 rows)", "--drop unsure", "--judges ann,cy"], {"drop": "unsure"}),
    "columns of judges, two with words": (WORDS.assign(ann=WORDS["bob"]), ["columns ann and bob hold 'unsure' (8 rows)", "--judges cy"], {"judges": ("cy",)}),
    "no header": (csv_of(B, header=False), ["no header", "q1, de, ann and 0"], None),
    "infinite": (with_values(B, [3], "inf"), ["inf"], None),
    "repeats for another reason": (pd.concat([B.assign(prompt_version="a"), B.assign(prompt_version="b", score=B["score"] + 1)]), ["2 scores", "prompt_version", "--replicate"], {"replicate": "prompt_version"}),
    "repeats for no reason": (pd.concat([B, B.assign(score=B["score"] + 1)]), ["2 scores", "tells them apart"], {"replicate": "row"}),
    "the team of each judge": (B.assign(team=B["judge"].str.upper()), ["each judge has scores of one team only", "--system team"], {"system": "team"}),
    "a task in two clusters": (B.assign(cluster=np.arange(72) % 5), ["two clusters", "cluster"], None),
    "no task is shared": (B.assign(task=[f"r{i}" for i in range(72)]), ["no task has scores of two judges", "--task"], None),
    "no task at all": (B.drop(columns="task"), ["no task has scores of two judges", "--task"], None),
    "a score without a judge": (B.assign(judge=B["judge"].where(B.index != 3)), ["1 score", "no judge"], None),
    "a score without a language": (B.assign(language=B["language"].where(B.index > 3)), ["4 scores", "no language"], None),
    "every row failed": (B.assign(status="error"), ["Every row", "status"], None),
    "no score": (B.drop(columns="score"), ["no column of scores"], None),
    "only labels": (B.rename(columns={"score": "human_label"}).drop(columns="judge").drop_duplicates(["task", "language"]), ["human labels", "--score human_label"], {"score": "human_label"}),
    "seven criteria": (SEVEN, ["fluency, accuracy, tone, style, depth, wit and safety", "--criteria"], {"criteria": "fluency,accuracy,tone,style,depth,wit,safety"}),
    "nothing but empty scores": (B.assign(score=""), ["holds no score"], None),
    "dates as scores": (B.assign(score=pd.Timestamp("2026-01-01")), ["2026-01-01", "not a number"], None),
    "infinite numbers": (B.assign(score=B["score"].astype(float).where(B.index != 3, np.inf)), ["infinite"], None),
    "a winner that is a name and a place": (PAIRS.replace({"x": "B", "y": "A"}).assign(winner="A"), ["winner A", "place"], None),
    "winners 0 and 1": (PAIRS.assign(winner=[0, 1] * 36), ["number from 0 to 1", "--favours first", "--favours second"], {"favours": "first"}),
    "a winner that is nobody": (PAIRS.assign(winner="zed"), ["winner zed", "neither"], None),
    "a pair without one": (PAIRS.assign(model_b=None), ["nothing in model_b"], None),
    "no rows": (B.head(0), ["no rows"], None),
    "a list": ([1, 2, 3], ["not from list"], None),
    "two columns of one name": (pd.concat([B, B[["score"]]], axis=1), ["two columns called score"], None),
    "CSV with a long line": ("task,judge,score\nq,a,1\nq,b,2,3\n", ["line 3", "4 fields", "header 3"], None),
    "CSV with an open quote": ('task,judge,score\nq,a,1\n"q,b,2\n', ["quot"], None),
    "UTF-16 without its mark": (csv_of(B).encode("utf-16-le"), ["UTF-16"], None),
    "an empty file": (b"", ["is empty"], None),
    "zeros": (b"\0" * 500, ["UTF-16"], None),
    "JSON that breaks off": (json.dumps(B.to_dict("records"))[:-9].encode(), [""], None),
    "JSON that is nested deep": (b"[" * 100_000, [""], None),
    "a column that is not there": (B, ["no column nope", "--judge"], {"judge": "judge"}),
    "a judge that is not there": (B, ["no judge zed", "ann, bob and cy"], {"judges": "ann,bob"}),
    "a range the wrong way": (B, ["0:100"], {"range": "0:100"}),
    "by and language": (B, ["--by", "--language"], {"by": "language"}),
}  # fmt: skip
ASKED: dict[str, dict[str, Any]] = {
    "outside what was declared": {"range": "0:100"},
    "a column that is not there": {"judge": "nope"},
    "a judge that is not there": {"judges": ("zed",)},
    "a range the wrong way": {"range": "5:1"},
    "by and language": {"by": "language", "language": "language"},
}


@pytest.mark.parametrize("called", CASES)
def test_refused_with_what_mends_it(called: str, tmp_path: Path) -> None:
    source, words, mend = CASES[called]
    if isinstance(source, (str, bytes)):
        path = tmp_path / ("s.json" if called.startswith("JSON") else "s.csv")
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        source = path
    with pytest.raises(PolyjudgeError) as caught:
        read_panel(source, **ASKED.get(called, {}))
    said = str(caught.value)
    assert all(w in said for w in words), said
    assert "\n" not in said
    assert len(said) < 500
    if mend is not None:
        panel = read_panel(source, **mend)
        assert np.isfinite(panel.scores).sum() > 0


def test_a_sound_panel_is_never_refused() -> None:
    """Low and noisy judges, rare zeros, negative scores, continuous ones."""
    rng = np.random.default_rng(1)
    for change in (
        lambda s: s * np.where(B["judge"] == "ann", 0.2, 1.0) + rng.normal(0, 0.01, 72),
        lambda s: -s / 4.0,
        lambda s: s / 100.0,
        lambda s: np.where(B["judge"] == "ann", 0, s),
        lambda s: np.where(B["language"] == "de", 0, s),
        lambda s: np.where(B["judge"] == "ann", np.minimum(s, 20), s),
        lambda s: rng.lognormal(0, 1, 72),
    ):
        assert read_panel(B.assign(score=change(B["score"]))).shape == (12, 1, 2, 3)


def test_odd_levels_are_noted_with_the_flag() -> None:
    low = TEN.assign(score=TEN["score"].where(TEN.index != 3, 0))
    panel = read_panel(low)
    assert any("--drop 0" in n and "1 score of 72" in n for n in panel.notes), panel.notes
    assert np.isnan(read_panel(low, drop=("0",)).scores).sum() == 1
    assert "--drop 0" in str(read_panel(C).notes)
    assert not read_panel(C.assign(score=C["score"] * 2)).notes
    harsh = B.assign(score=np.where(B["judge"] == "ann", np.sqrt(B["score"] * 1.7), B["score"]))
    assert any("ann" in n for n in read_panel(harsh).notes)


def test_devai_with_rows_missing_is_read() -> None:
    frame = pd.read_csv(shared_file("devai/run_level_scores.csv"))
    part = frame.drop(frame.sample(frac=0.05, random_state=3).index)
    panel = read_panel(part)
    assert panel.shape == (55, 3, 8, 6)
    assert panel.systems == ("GPT-Pilot", "MetaGPT", "OpenHands")
    again = read_panel(frame, replicate="framework")
    assert again.shape == (55, 1, 8, 6)
    want = frame.groupby(["task", "language", "backbone"])["score"].mean()
    got = again.to_frame().set_index(["task", "language", "judge"])["score"]
    pd.testing.assert_series_equal(got.sort_index(), want.sort_index(), check_names=False, rtol=1e-12)
    assert again.replicates is not None
    assert again.replicates.shape[-1] == 3


def test_files_and_places(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "none.csv", "does not exist"),
        (tmp_path, "no file of scores"),
        ("https://example.org/s.csv", "not fetched"),
        ("ftp://example.org/s.csv", "not fetched"),
        ("nodb://x/y::z", "not fetched"),
    ):
        with pytest.raises(PolyjudgeError, match=words):
            read_panel(path)
    (tmp_path / "x").mkdir()
    for part, x in B.groupby("judge"):
        x.to_csv(tmp_path / "x" / f"{part}.csv", index=False)
    for source in (tmp_path / "x", str(tmp_path / "x" / "*.csv"), sorted((tmp_path / "x").iterdir())):
        assert read_panel(source).shape == (12, 1, 2, 3)
    (tmp_path / "score=7").mkdir()
    B.drop(columns="score").assign(value=B["score"]).to_csv(tmp_path / "score=7" / "s[1].csv", index=False)
    assert read_panel(tmp_path / "score=7" / "s[1].csv").scale == (0.0, 100.0)
    bomb = tmp_path / "b.csv.gz"
    bomb.write_bytes(gzip.compress(csv_of(B).encode())[:-20])
    with pytest.raises(PanelError):
        read_panel(bomb)


def test_what_reading_leaves_on_the_panel() -> None:
    panel = read_panel(B.assign(prompt="What?", response="So.", doc="d"), judge="judge", range="0:100", cluster="doc")
    assert panel.read == ("--judge", "judge", "--cluster", "doc", "--range", "0:100")
    assert panel.clustered
    assert panel.texts is not None
    frame = panel.texts(["q1"])
    assert set(frame.columns) == {"task", "language", "judge", "score", "prompt", "response"}
    assert len(frame) == 6
    assert read_panel(panel) is panel
    assert read_panel(panel, judges=("ann",)).judges == ("ann",)
    with pytest.raises(UsageError):
        read_panel(panel, judge="x")
    assert read_panel(B.rename(columns={"language": "rubric"}), by="rubric").noun == "rubric"


def test_human_labels_are_no_judges() -> None:
    frame = more(B, [(t, x, "human", 50 + i) for i, t in enumerate(TASKS) for x in ("de", "en")])
    panel = read_panel(frame)
    assert panel.judges == ("ann", "bob", "cy")
    assert panel.human is not None
    assert len(panel.human) == 24
    assert set(panel.human.columns) >= {"task", "language", "annotator", "label"}
    for column in ("human", "human_label", "annotator_2", "people"):
        own = read_panel(W.assign(**{column: W["ann"]}))
        assert own.judges == ("ann", "bob", "cy")
        assert own.human is not None
        assert len(own.human) == 24
    for column in ("gold", "expert", "expert_rating", "label", "ground_truth", "expected"):
        own = read_panel(W.assign(**{column: W["ann"]}))
        assert own.judges == ("ann", "bob", "cy")
        assert own.human is None
        assert f"Column {column} could be people's: --human {column}." in own.notes
        assert read_panel(W.assign(**{column: W["ann"]}), human=column).human is not None
    case = pd.DataFrame({"case_id": range(20), "human_label": ["pass", "fail"] * 10, "judge_label": ["pass", "pass", "fail", "fail"] * 5})  # fmt: skip
    for names in (
        {},
        {"human_label": "human", "judge_label": "judge"},
        {"human_label": "gold", "judge_label": "score"},
    ):
        own = read_panel(case.rename(columns=names), human=names.get("human_label"))
        assert own.judges == ("judge",)
        assert own.two_valued
        assert own.human is not None
        assert own.human["label"].tolist().count(1.0) == 10
    several = read_panel(W.assign(human_1=50, human_2=60, human_mean=55, annotators=2)).human
    assert several is not None
    assert sorted(several["annotator"].unique()) == ["human_1", "human_2"]
    beside = read_panel(B.assign(label=B["score"]))
    assert beside.human is None


def test_pairs_are_shares_of_wins() -> None:
    panel = read_panel(PAIRS)
    assert panel.systems == ("x", "y")
    assert panel.languages == ("",)
    np.testing.assert_allclose(panel.scores[:, 0], 0.75)
    np.testing.assert_allclose(panel.scores[:, 1], 0.25)
    assert panel.order is not None
    assert list(panel.order.columns) == ["task", "language", "judge", "first", "second", "won"]
    assert len(panel.order) == 72
    assert set(panel.order["won"]) == {1.0, 0.5}
    by_name = PAIRS.assign(winner=np.where(PAIRS["winner"] == "tie", "tie", PAIRS["model_a"]))
    np.testing.assert_allclose(read_panel(by_name).scores, panel.scores)
    three = pd.concat([PAIRS, PAIRS.assign(model_b="z", winner="B").drop_duplicates()])
    assert read_panel(three).systems == ("x", "y", "z")
    lost = read_panel(PAIRS.assign(winner=PAIRS["winner"].where(PAIRS.index != 0)))
    assert any("no winner" in n for n in lost.notes)


def test_criteria() -> None:
    panel = read_panel(SEVEN, criteria=("fluency", "tone"))
    assert list(panel.criteria) == ["fluency", "tone"]
    np.testing.assert_allclose(panel.scores, panel.criteria["tone"].scores)
    usual = read_panel(SEVEN.drop(columns=["wit"]))
    assert list(usual.criteria) == ["accuracy", "depth", "fluency", "safety", "style", "tone"]
    assert usual.judges == panel.judges
    long = pd.concat([B.assign(criterion="a"), TEN.assign(criterion="b")])
    panel = read_panel(long)
    assert panel.criteria["b"].scale == (1.0, 5.0)
    assert panel.scale == (0.0, 1.0)
    assert read_panel(long, criteria=("b",)).scale == (1.0, 5.0)


def test_notes_on_documents_and_languages() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"doc{d}-q{q}", f"d{d}", x, j, round(50 + 20 * level + rng.normal(0, 3), 1))
        for d, level in enumerate(rng.normal(size=10))
        for q in range(4)
        for x in ("de", "en")
        for j in ("a", "b")
    ]
    frame = pd.DataFrame(rows, columns=["task", "document", "language", "judge", "score"])
    assert any("--cluster document" in n for n in read_panel(frame).notes)
    assert any("begin alike" in n for n in read_panel(frame.drop(columns="document")).notes)
    mixed = frame.assign(score=rng.permutation(frame["score"])).drop(columns="document")
    assert not read_panel(mixed).notes
    assert read_panel(frame, cluster="document").units == 10
    apart = frame.assign(task=frame["task"] + frame["language"]).drop(columns="document")
    assert any("No task is in two languages" in n for n in read_panel(apart).notes)


def test_items_bring_the_texts_of_tasks() -> None:
    items = pd.DataFrame({"id": TASKS, "question": [f"What is {t}?" for t in TASKS]})
    for frame in (B, B.assign(response="That.")):
        panel = read_panel(frame, items=items)
        assert panel.texts is not None
        assert set(panel.texts(["q2"])["prompt"]) == {"What is q2?"}
    with pytest.raises(PanelError, match="No item is a task"):
        read_panel(B, items=items.assign(id=items["id"] + "x"))
    labels = pd.DataFrame({"task": TASKS, "language": "de", "annotator": "kim", "label": range(12)})
    human = read_panel(B, labels=labels).human
    assert human is not None
    assert human["label"].tolist() == list(range(12))


def test_lengths_of_responses() -> None:
    panel = read_panel(B.assign(response=["x" * (i % 5 + 1) for i in range(72)]))
    assert panel.length is not None
    assert panel.length.shape == (12, 1, 2)
    np.testing.assert_allclose(panel.length[0, 0, 0], np.log([1, 2, 3]).mean())
