"""Judges beside people: from the usual file to the first screen, on planted truth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.humans.compare import humans
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.calibrate.labelled import labelled, panel_mean
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.report.terminal import screen
from polyjudge.report.text import to_json


def cases(n: int = 200, labels: int = 100, seed: int = 0) -> tuple[Panel, pd.DataFrame]:
    """One judge, pass or fail, that passes 92% of what people pass and 20% of what they fail; 65% pass."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.65
    judge = np.where(truth, rng.random(n) < 0.92, rng.random(n) < 0.2).astype(float)
    panel = Panel.from_array(judge[:, None, None], judges=["gpt"], source="cases.csv")
    frame = pd.DataFrame({"task": panel.tasks, "label": np.where(truth, "pass", "fail")})
    return panel, frame.head(labels)


def text_of(made: Any, key: str) -> str:
    return " ".join(f.text for f in made.findings if f.key == f"humans.{key}")


def test_the_usual_file_answers_in_six_lines(tmp_path: Path) -> None:
    panel, frame = cases()
    path = tmp_path / "cases.csv"
    judge_says = np.where(panel.scores[:, 0, 0, 0] == 1, "pass", "fail")
    human = frame["label"].reindex(range(200))
    wide = pd.DataFrame({"case_id": panel.tasks, "human_label": human, "judge_label": judge_says})
    wide.to_csv(path, index=False)
    made = humans(str(path))
    wide.assign(response=[f"I think {t}" for t in panel.tasks]).to_csv(path, index=False)
    read = humans(str(path))
    assert f"I think {read.disagreements['task'].iloc[0]}" in screen(read.report())  # the answers themselves
    lines = screen(made.report()).split("\n")
    said = lines[lines.index("") + 1 :]
    said = said[: said.index("")]
    assert said[0].startswith("People   The judge agrees with people on ")
    assert len(said) <= 6
    again = humans(panel, frame)
    assert again.judges["accuracy"].iloc[0] == pytest.approx(made.judges["accuracy"].iloc[0])
    row, yes = made.judges.iloc[0], frame["label"].to_numpy() == "pass"
    judge = panel.scores[:100, 0, 0, 0] == 1
    assert row["accuracy"] == pytest.approx((yes == judge).mean())
    assert row["sensitivity"] == pytest.approx(judge[yes].mean())
    assert row["specificity"] == pytest.approx(1 - judge[~yes].mean())
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]


def test_the_rate_people_would_give_is_corrected() -> None:
    panel, frame = cases(2000, 300)
    row = humans(panel, frame).frame.iloc[0]
    assert row["panel"] == pytest.approx(panel.scores.mean())
    assert row["people"] == pytest.approx(0.65, abs=0.08)
    assert row["people_low"] < row["people"] < row["people_high"]
    assert row["people_high"] - row["people_low"] < row["labels_high"] - row["labels_low"]
    assert row["difference"] == pytest.approx(100 * (row["panel"] - row["people"]) / 100)


def test_false_passes_come_first() -> None:
    panel, frame = cases()
    d = humans(panel, frame).disagreements
    yes = dict(zip(frame["task"], frame["label"], strict=True))
    judge = dict(zip(panel.tasks, panel.scores[:, 0, 0, 0], strict=True))
    wrong = {t for t in frame["task"] if (yes[t] == "pass") != (judge[t] == 1)}
    assert set(d["task"]) == wrong
    kinds = d["kind"].tolist()
    assert kinds == sorted(kinds, key=lambda k: k != "false pass")
    assert all(yes[t] == "fail" for t in d[d["kind"] == "false pass"]["task"])


@pytest.mark.parametrize(
    ("rule", "met"),
    [("kappa>=0.2", True), ("kappa>=0.65", False), ("kappa >= 0.99", False), ("false-pass<=50%", True),
     ("false-pass<=0.2", False), ("accuracy>=0.5", True)],
)  # fmt: skip
def test_a_requirement_is_decided_by_the_interval(rule: str, met: bool) -> None:
    made = humans(*cases(), require=(rule,))
    row = made.requirements.iloc[0]
    assert row["met"] == met
    assert made.incomplete != met
    bound = row["low"] if ">" in rule else row["high"]
    assert (bound >= 0.2 if ">" in rule else bound <= 0.5) or not met
    (finding,) = [f for f in made.findings if f.key == "humans.required"]
    assert finding.severity == ("info" if met else "serious")


@pytest.mark.parametrize("rule", ["kapa>=0.6", "kappa", "kappa>=", "kappa>=.6.", ""])
def test_a_requirement_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match=r"requirement|number"):
        humans(*cases(), require=(rule,))


def scores(k: int = 4, tasks: int = 60, seed: int = 1) -> tuple[Panel, pd.DataFrame]:
    """Three judges, systems and k languages; language errors of the panel; two annotators, the second 8 harsher."""
    rng = np.random.default_rng(seed)
    systems, errors = 3, np.array([0.0, 9.0, -7.0, 3.0, 0.0, 5.0])[:k]
    truth = 50 + rng.normal(0, 10, (tasks, 1, 1)) + np.array([0, 4, 12])[:, None]
    truth = truth + rng.normal(0, 4, (tasks, systems, k))
    judge = truth[..., None] + errors[:, None] + rng.normal(0, 5, (tasks, systems, k, 3))
    panel = Panel.from_array(judge, systems=["x", "y", "z"], languages=[f"l{i}" for i in range(k)], scale=(0, 100))
    rows = []
    for i in range(k):
        for at in rng.permutation(tasks * systems)[:40]:
            t, s = divmod(int(at), systems)
            for who, harsh in (("a", 0), ("b", 8)):
                label = truth[t, s, i] - harsh + rng.normal(0, 4)
                rows.append((panel.tasks[t], panel.systems[s], f"l{i}", f"l{i}-{who}", label))
    return panel, pd.DataFrame(rows, columns=["task", "system", "language", "annotator", "label"])


def test_scores_of_languages_systems_and_annotators() -> None:
    panel, frame = scores()
    made = humans(panel, frame)
    columns = "language system judge panel people difference low high"
    assert list(made.frame.columns[:8]) == columns.split()
    assert len(made.frame) == 5 * 4 * 4  # languages and all, systems and all, judges and the panel
    people = made.frame[(made.frame["system"] == "all") & (made.frame["judge"] == "panel")].set_index("language")
    for language, error in zip(("l1", "l2"), (9, -7), strict=True):
        row = people.loc[language]
        assert row["low"] < error + 4 < row["high"]  # two annotators, 8 apart: people are 4 below the truth
    harsh = made.annotators.set_index("annotator")
    assert harsh.loc["l0-b", "low"] > 0 > harsh.loc["l0-a", "high"]
    assert harsh.loc["l0-b", "harsher"] == pytest.approx(8, abs=3)
    pairs = made.pairs.set_index(["system", "other"])
    assert pairs.loc[("x", "z"), "high"] < 0
    assert pairs.loc[("x", "z"), "low"] < -12 < pairs.loc[("x", "z"), "high"]
    assert "by people, z is first overall, and in all four labelled languages" in text_of(made, "board")
    assert 0.5 < made.alpha[0] < 1
    assert "cannot be told yet" in text_of(made, "removes")  # annotators 8 apart could make such languages
    same = humans(panel, frame[frame["annotator"].str.endswith("a")].assign(annotator=""))
    assert same.removes is not None
    assert same.removes[1] > 0
    assert "squared error between languages" in text_of(same, "removes")


def test_annotators_are_a_sample_too() -> None:
    """With severe annotators the interval of a language is much wider than its answers say."""
    panel, frame = scores()
    one = humans(panel, frame.assign(annotator="")).frame
    two = humans(panel, frame).frame
    rows = [x[(x["language"] == "l0") & (x["system"] == "all") & (x["judge"] == "panel")].iloc[0] for x in (one, two)]
    assert rows[1]["high"] - rows[1]["low"] > 2 * (rows[0]["high"] - rows[0]["low"])


def test_annotators_who_do_not_agree() -> None:
    rng = np.random.default_rng(0)
    panel = Panel.from_array(rng.normal(50, 10, (80, 1, 2)), scale=(0, 100))
    rows = [(t, who, rng.normal(50, 10)) for t in panel.tasks for who in "ab"]
    made = humans(panel, pd.DataFrame(rows, columns=["task", "annotator", "label"]))
    assert "hardly agree" in text_of(made, "annotators")
    assert "hardly agree" not in text_of(humans(*scores()), "annotators")


def test_annotators_who_agree_moderately() -> None:
    rng = np.random.default_rng(3)
    panel = Panel.from_array(rng.normal(50, 10, (150, 1, 2)), scale=(0, 100))
    truth = rng.normal(50, 10, 150)
    rows = [(t, who, truth[i] + rng.normal(0, 13.5)) for i, t in enumerate(panel.tasks) for who in "ab"]
    labels = pd.DataFrame(rows, columns=["task", "annotator", "label"])
    made = humans(panel, labels)
    assert made.alpha[1] < 0.3 < made.alpha[2]
    assert "agree moderately (alpha = 0." in text_of(made, "annotators")
    few = humans(panel, labels.head(24))
    assert "Too few answers have labels by two annotators" in text_of(few, "annotators")


def test_weights_from_fifty_labels_on() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(50, 10, 400)
    judge = np.stack([truth + rng.normal(0, 3, 400), rng.normal(50, 10, 400), rng.normal(50, 10, 400)], 1)
    panel = Panel.from_array(judge[:, None, None], judges=["good", "noise1", "noise2"], scale=(0, 100))
    frame = pd.DataFrame({"task": panel.tasks, "label": truth})
    made = humans(panel, frame.head(60)).weights.set_index("judge")["weight"]
    assert made.sum() == pytest.approx(1)
    assert made["good"] > 0.7
    assert len(humans(panel, frame.head(49)).weights) == 0


def test_where_all_judges_agree() -> None:
    rng = np.random.default_rng(3)
    hard = rng.random(400) < 0.4
    truth = rng.random(400) < 0.5
    right = np.where(hard[:, None], rng.random((400, 3)) < 0.6, rng.random((400, 3)) < 0.99)
    judge = np.where(right, truth[:, None], ~truth[:, None]).astype(float)
    panel = Panel.from_array(judge[:, None, None], judges=list("ABC"))
    made = humans(panel, pd.DataFrame({"task": panel.tasks, "label": truth.astype(int)}).head(200))
    parts = made.alone.set_index("part")
    assert parts.loc["all judges agree", "low"] > parts.loc["judges differ", "high"]
    assert "When all 3 judges agree" in text_of(made, "unanimous")
    shuffled = humans(panel, pd.DataFrame({"task": panel.tasks, "label": rng.permutation(truth.astype(int))}).head(200))
    assert text_of(shuffled, "unanimous") == ""
    # two of three votes are equally far from the majority's mark, whichever way they go
    votes = np.repeat([[1, 1, 1], [0, 0, 0], [1, 1, 0], [1, 0, 0]], 100, axis=0).astype(float)
    told = pd.DataFrame({"task": [f"t{i + 1}" for i in range(400)], "label": np.repeat([1, 0, 0, 0], 100)})
    made = humans(Panel.from_array(votes[:, None, None], judges=list("ABC")), told, allow=0.05)
    assert "alone where all judges agree; 50% of cases go to people" in text_of(made, "alone")


def test_the_judge_decides_where_it_is_sure() -> None:
    rng = np.random.default_rng(4)
    score = rng.uniform(0, 100, 600)
    people = rng.random(600) < 1 / (1 + np.exp(-(score - 50) / 6))
    panel = Panel.from_array(score[:, None, None], scale=(0, 100))
    frame = pd.DataFrame({"task": panel.tasks, "label": np.where(people, "pass", "fail")}).head(300)
    made = humans(panel, frame, threshold=">=50", allow=0.05)
    row = made.alone.set_index("part").loc["beyond the cuts"]
    beyond = (score <= row["fails_below"] + 1e-6) | (score >= row["passes_above"] - 1e-6)
    assert row["share"] == pytest.approx(beyond.mean())
    assert ((score >= 50) != people)[beyond].mean() < 0.05
    assert "may decide alone up to" in text_of(made, "alone")
    few = humans(panel, frame.head(40), threshold=">=50", allow=0.05)
    assert "at least 59 labelled cases; there are 40" in text_of(few, "alone")


def test_labels_on_another_scale_are_correlated_and_no_more() -> None:
    panel, frame = scores()
    made = humans(panel, frame.assign(label=(frame["label"] / 20).round()))
    assert made.judges["difference"].isna().all()
    assert made.judges["r"].iloc[0] > 0.5
    assert 1 < made.frame["people"].iloc[0] < 5
    with pytest.raises(PanelError, match="pass mark"):
        humans(panel, frame.assign(label=(frame["label"] / 20).round()), threshold="50")


def test_labels_of_other_answers_are_said() -> None:
    panel, frame = cases()
    more = pd.concat([frame, pd.DataFrame({"task": ["elsewhere"] * 3, "label": "pass"})])
    lost = text_of(humans(panel, more), "lost")
    assert "3 labels belong to no answer" in lost
    assert lost.endswith("(unknown: task elsewhere).")
    with pytest.raises(PanelError, match="are no tasks of these scores: elsewhere"):
        humans(panel, more.tail(3))
    own = replace(panel, human=pd.DataFrame({"task": [*panel.tasks[:40], "not scored"], "label": 1.0}))
    assert text_of(humans(own), "unscored") == "1 case has a label and no verdict of the judge."
    none = replace(panel, human=own.human.head(0))  # an empty column is no labels
    assert none.human is None
    assert any("is empty" in note for note in none.notes)


def test_labels_that_are_not_like_the_rest_are_said() -> None:
    panel, frame = scores()
    mean = panel_mean(panel)
    best = {(panel.tasks[t], panel.systems[s], panel.languages[i]) for t, s, i in np.argwhere(mean > 62)}
    rows = [(*x, 60.0 + i % 7) for i, x in enumerate(sorted(best))]
    made = humans(panel, pd.DataFrame(rows, columns=["task", "system", "language", "label"]))
    assert "scores the labelled answers higher" in text_of(made, "not-random")
    assert text_of(humans(panel, frame), "not-random") == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": "maybe"}, "neither a number nor pass or fail"),
        ({"task": None}, "column task"),
        ({"language": None}, "no column language"),
    ],
)
def test_what_labels_lack_is_named(change: dict[str, Any], words: str) -> None:
    panel, frame = scores()
    key, value = next(iter(change.items()))
    frame = frame.drop(columns=key) if value is None else frame.assign(**{key: value})
    with pytest.raises((UsageError, PanelError), match=words):
        humans(panel, frame)


def test_labels_are_read_in_one_way(tmp_path: Path) -> None:
    """Beside the scores or given to an answer: odd labels are refused, and a column of another name can be named."""
    panel, frame = scores()
    frame = frame.assign(label=np.where(np.arange(len(frame)) % 7 == 0, "unsure", (frame["label"] > 50).astype(str)))
    path, table = tmp_path / "labels.csv", tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    panel.to_frame().to_csv(table, index=False)
    words = rf"'unsure' .column label, {(frame['label'] == 'unsure').sum()} rows. is not"
    for ask in (lambda: humans(panel, path), lambda: read_panel(table, labels=path)):
        with pytest.raises(PanelError, match=words):
            ask()
    frame.replace({"unsure": None}).rename(columns={"label": "tone"}).assign(wit=1).to_csv(path, index=False)
    with pytest.raises(PanelError, match=rf"tone and wit. Say which one it is, such as {path}::tone"):
        humans(panel, path)
    with pytest.raises(PanelError, match="no column tome"):
        humans(panel, f"{path}::tome")
    both = read_panel(table, labels=f"{path}::tone")
    assert len(both.human) == (frame["label"] != "unsure").sum()
    assert humans(panel, f"{path}::tone", threshold="50").judges.equals(humans(both, threshold="50").judges)


def test_no_labels_at_all() -> None:
    with pytest.raises(UsageError, match="no human labels"):
        humans(scores()[0])


def test_two_annotators_and_a_tie() -> None:
    """Annotators who split evenly are left out of agreement, and count half in the rate."""
    panel = Panel.from_array(np.array([1.0, 1, 0, 1, 0, 1, 0, 1])[:, None, None])
    rows = [(t, who, int(not (t == "t1" and who == "b"))) for t in panel.tasks for who in "ab"]
    made = humans(panel, pd.DataFrame(rows, columns=["task", "annotator", "label"]))
    assert made.judges["labelled"].iloc[0] == 7
    assert made.frame["people"].iloc[0] == pytest.approx(15 / 16)
    assert "of the 7 cases on which annotators do not split evenly" in text_of(made, "agreement")


def test_hostile_names_are_harmless() -> None:
    panel, frame = cases(60, 40)
    evil = "\x1b]52;c\u202e<script>"
    tasks = [f"{evil}{t}" for t in panel.tasks]
    panel = Panel.from_array(panel.scores, tasks=tasks, judges=[evil])
    made = humans(panel, frame.assign(task=tasks[:40]))
    for text in (screen(made.report(), full=True), *(f.text for f in made.findings)):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_the_answer_as_json_and_page() -> None:
    made = humans(*scores(), threshold="50", allow=0.1, require=("kappa>=0.1",))
    held = json.loads(to_json(made))
    assert {"frame", "judges", "pairs", "disagreements", "annotators", "weights", "alone"} <= set(held)
    assert not any(key.endswith("_") for key in held)
    assert "<html" in (made.to_html() or "")


def test_nothing_hangs_on_the_order_of_labels() -> None:
    panel, frame = scores()
    one, two = humans(panel, frame), humans(panel, frame.sample(frac=1, random_state=1))
    numbers = [c for c in one.frame.columns if one.frame[c].dtype.kind == "f" and "low" not in c and "high" not in c]
    assert one.frame[numbers].to_numpy() == pytest.approx(two.frame[numbers].to_numpy(), nan_ok=True)
    assert [f.key for f in one.findings] == [f.key for f in two.findings]


def test_missing_scores_do_not_flatter() -> None:
    """A strict judge that missed the half of a language's answers: the panel's mean is not the higher for it."""
    rng = np.random.default_rng(5)
    truth = rng.normal(50, 10, (200, 1, 1))
    s = np.stack([truth + 10, truth - 10], axis=3)
    s[100:, :, :, 1] = np.nan
    panel = Panel.from_array(s, scale=(0, 100))
    mean, gap = panel_mean(panel), truth[100:].mean() - truth[:100].mean()
    assert mean[100:].mean() - mean[:100].mean() == pytest.approx(gap, abs=3)
    assert labelled(panel, pd.DataFrame({"task": panel.tasks, "label": truth[:, 0, 0]})).answers == 200


def test_languages_count_by_their_answers_not_by_their_labels() -> None:
    """Two languages, 10 and 50, of the same size; nine of ten labels are of the first: people give 30, not 14."""
    rng = np.random.default_rng(6)
    truth = np.array([10.0, 50.0]) + rng.normal(0, 3, (200, 1, 2))
    panel = Panel.from_array(rng.normal(50, 5, (200, 1, 2, 1)), languages=["a", "b"], scale=(0, 100))
    rows = [(panel.tasks[t], "a", truth[t, 0, 0]) for t in range(90)] + [
        (panel.tasks[t], "b", truth[t, 0, 1]) for t in range(10)
    ]
    row = humans(panel, pd.DataFrame(rows, columns=["task", "language", "label"])).frame.iloc[0]
    assert row["language"] == "all"
    assert row["people_low"] < 30 < row["people_high"]
    assert row["people_high"] - row["people_low"] < 5
    assert row["labels"] == pytest.approx(30, abs=2)


def test_systems_are_compared_where_both_were_scored() -> None:
    """x and y are level in the language they share; x alone is in an easy one, and is not the better for it."""
    rng = np.random.default_rng(7)
    truth = 50 + rng.normal(0, 5, (100, 2, 2)) + np.array([0, 30.0])
    s = truth[..., None] + rng.normal(0, 3, (100, 2, 2, 1))
    s[:, 1, 1] = np.nan
    panel = Panel.from_array(s, systems=["x", "y"], languages=["hard", "easy"], scale=(0, 120))
    at = rng.permutation(np.argwhere(np.isfinite(s[..., 0])))[:120]
    rows = [(panel.tasks[t], panel.systems[j], panel.languages[i], truth[t, j, i]) for t, j, i in at]
    made = humans(panel, pd.DataFrame(rows, columns=["task", "system", "language", "label"]))
    (pair,) = made.pairs.to_dict("records")
    assert pair["low"] < 0 < pair["high"]
    assert abs(pair["panel"]) < 3
    assert "is first overall; labels do not tell which yet" in text_of(made, "board")


def test_labels_of_a_column_and_of_a_file_count_together() -> None:
    panel, frame = cases(200, 100)
    from dataclasses import replace

    half = replace(panel, human=frame.head(50).assign(label=lambda d: (d["label"] == "pass").astype(float)))
    both = humans(half, frame.tail(50))
    assert both.judges["accuracy"].iloc[0] == pytest.approx(humans(panel, frame).judges["accuracy"].iloc[0])
    assert both.judges["labelled"].iloc[0] == 100


def test_the_reason_of_the_judge_stands_beside_a_disagreement(tmp_path: Path) -> None:
    panel, frame = cases(40, 40)
    table = pd.DataFrame(
        {"case_id": panel.tasks, "human_label": frame["label"], "judge_label": panel.scores[:, 0, 0, 0]}
    )
    table = table.assign(question="Q of " + table["case_id"], judge_reason="because of " + table["case_id"])
    table.to_csv(tmp_path / "cases.csv", index=False)
    d = humans(str(tmp_path / "cases.csv")).disagreements
    assert len(d)
    assert (d["reason"] == "because of " + d["task"]).all()
    assert (d["prompt"] == "Q of " + d["task"]).all()


def test_what_other_rooms_take() -> None:
    """The frames that DESIGN promises, in their order."""
    made = humans(*scores())
    assert made.weights.columns.tolist() == ["judge", "weight"]
    for measure in ("accuracy", "kappa", "sensitivity", "specificity", "r"):
        assert {measure, f"{measure}_low", f"{measure}_high"} <= set(made.judges.columns)


def test_what_calibrating_without_labels_does_to_single_judges() -> None:
    """Language errors of the panel and of each judge are planted: the share of the latter is said, and covered."""
    rng = np.random.default_rng(8)
    beta = np.array([[6.0, -6, 0], [-6, 6, 0], [0, 4, -4], [0, -4, 4]])
    shared = np.array([4.0, -4, 2, -2])
    truth = 50 + rng.normal(0, 8, (300, 1, 4))
    s = truth[..., None] + shared[:, None] + beta + rng.normal(0, 3, (300, 1, 4, 3))
    panel = Panel.from_array(s, languages=list("abcd"), scale=(0, 100))
    rows = [(panel.tasks[t], "abcd"[i], truth[t, 0, i]) for t in range(100) for i in range(4)]
    said = text_of(humans(panel, pd.DataFrame(rows, columns=["task", "language", "label"])), "consensus")
    share = (beta**2).sum() / (3 * (shared**2).sum() + (beta**2).sum())
    found = re.search(r"takes off (\d+)% \[(\d+), (\d+)\]", said)
    assert found is not None
    assert int(found[2]) <= 100 * share <= int(found[3])
    assert "3 of 3 judges come nearer" in said


def test_judges_beside_a_human_column_are_no_annotators() -> None:
    """The long table of the scores, given as labels: its judges did not label."""
    panel, frame = cases(60, 40)
    table = pd.concat([frame.rename(columns={"label": "human"}).assign(judge=j, score=1) for j in ("a", "b")])
    made = humans(panel, table)
    assert len(made.annotators) == 1
    assert np.isnan(made.alpha[0])
    raters = humans(panel, pd.concat([frame.assign(rater=r) for r in ("a", "b")]))
    assert len(raters.annotators) == 2


def by_language(rates: dict[str, tuple[float, float]], n: int = 200, judges: int = 1, seed: int = 0) -> Any:
    """Verdicts of judges who pass so much of what people fail, and fail so much of what they pass, by language."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, len(rates))) < 0.5
    wrong = np.stack([np.where(truth[:, i], fails, passes) for i, (passes, fails) in enumerate(rates.values())], 1)
    judged = np.where(rng.random((n, len(rates), judges)) < wrong[..., None], ~truth[..., None], truth[..., None])
    panel = Panel.from_array(judged[:, None].astype(float), languages=list(rates), scale=(0, 1))
    rows = [(task, x, int(truth[t, i])) for t, task in enumerate(panel.tasks) for i, x in enumerate(rates)]
    return panel, pd.DataFrame(rows, columns=["task", "language", "label"])


def test_errors_by_language_have_a_direction_and_the_worst_is_first() -> None:
    made = humans(*by_language({"English": (0.1, 0.1), "Thai": (0.6, 0.1), "German": (0.1, 0.35)}))
    frame = made.by_language
    assert frame["language"].tolist() == ["Thai", "German", "English"]
    assert frame["worse"].tolist() == ["false pass", "false fail", ""]
    assert frame.loc[0, "false_pass"] == pytest.approx(0.6, abs=0.12)
    assert frame.loc[0, "false_pass_low"] < 0.6 < frame.loc[0, "false_pass_high"]
    text = text_of(made, "languages")
    assert text.startswith("In Thai the judge passes 6")
    assert "of what people fail [" in text
    assert "elsewhere); in German it fails 3" in text
    alike = humans(*by_language({"English": (0.1, 0.1), "Thai": (0.1, 0.1)}))
    assert text_of(alike, "languages") == ""
    assert (alike.by_language["worse"] == "").all()


def test_where_all_judges_agree_by_language() -> None:
    made = humans(*by_language({"English": (0.02, 0.02), "Arabic": (0.38, 0.38)}, judges=3))
    text = text_of(made, "unanimous")
    assert "in Arabic, 100% in English; elsewhere" in text or "in Arabic, 99% in English; elsewhere" in text
    rows = made.alone[made.alone["part"] == "all judges agree"]
    assert rows["language"].tolist() == ["", "English", "Arabic"]


def test_deciding_alone_holds_in_every_language_that_is_named() -> None:
    rng = np.random.default_rng(4)
    score = rng.uniform(0, 100, (600, 2))
    chance = 1 / (1 + np.exp(-(score - 50) / np.array([2, 9])))
    people = rng.random((600, 2)) < chance
    panel = Panel.from_array(score[:, None, :, None], languages=["en", "th"], scale=(0, 100))
    rows = [
        (t, x, "pass" if people[i, j] else "fail")
        for i, t in enumerate(panel.tasks)
        for j, x in enumerate(["en", "th"])
    ]
    frame = pd.DataFrame(rows, columns=["task", "language", "label"])
    made = humans(panel, frame, threshold="50", allow=0.1)
    rows_of = made.alone[made.alone["part"] == "beyond the cuts"].set_index("language")
    assert rows_of.loc["en", "decides"] == "the judge"
    cut = rows_of.loc["", "passes_above"]
    beyond = np.abs(score[:, 1] - 50) >= cut - 50
    n_wrong = int(((score[:, 1] > 50) != people[:, 1])[beyond].sum())
    assert rows_of.loc["th", "decides"] == ("the judge" if n_wrong < 0.08 * beyond.sum() else "people")
    assert rows_of.loc["", "labelled"] == rows_of[rows_of["decides"] == "the judge"]["labelled"].iloc[1:].sum()
    assert " in en (" in text_of(made, "alone") or "worst in th" in text_of(made, "alone")
    few = humans(panel, frame.iloc[:50], threshold="50", allow=0.1)
    assert "no language alone shows it" in text_of(few, "alone")


def test_these_answers_and_answers_like_them() -> None:
    panel, frame = scores()
    made = humans(panel, frame.assign(annotator=""))
    row = made.frame.iloc[0]
    assert row["people_low"] < row["these_low"] < row["people"] < row["these_high"] < row["people_high"]
    assert text_of(made, "rate").startswith("On these answers people would give ")
    assert "(answers like them: [" in text_of(made, "rate")
    verdict = humans(*by_language({"English": (0.1, 0.1)}), threshold=None)
    assert text_of(verdict, "rate").startswith("People pass ")


def test_crossed_annotators_in_words() -> None:
    panel, frame = scores()
    frame = frame.assign(annotator=frame["annotator"].str[-1])
    text = text_of(humans(panel, frame), "harsher")
    assert text.startswith("b is harsher than a in l")
    assert text.count("points") == 1
    assert text.endswith(".")


def test_labels_as_an_option(tmp_path: Path) -> None:
    panel, frame = cases()
    panel.to_frame().to_csv(tmp_path / "scores.csv", index=False)
    frame.to_csv(tmp_path / "labels.csv", index=False)
    places = [str(tmp_path / x) for x in ("scores.csv", "labels.csv")]
    run = [sys.executable, "-m", "polyjudge", "humans", places[0]]
    option, argument, both, none = (
        subprocess.run([*run, *words], capture_output=True, text=True, check=False)
        for words in (["--labels", places[1]], [places[1]], [places[1], "--labels", places[1]], [])
    )
    assert option.returncode == argument.returncode == 0
    assert option.stdout == argument.stdout
    assert both.returncode == none.returncode == 2
    assert "given twice" in both.stderr
