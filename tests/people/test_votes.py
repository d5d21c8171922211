"""Judges of pairs beside people's votes (METHODS 37)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common import shared_file
from polyjudge.answers.audit.audit import audit
from polyjudge.answers.humans.compare import humans
from polyjudge.answers.humans.votes import Votes
from polyjudge.base.errors import PolyjudgeError
from polyjudge.read import read_panel
from polyjudge.stats.labels import kappa


@pytest.fixture(scope="module")
def mtbench() -> Votes:
    """GPT-4 beside 58 experts and 7 authors."""
    source = shared_file("data/mtbench/votes.csv.gz")
    found = humans(read_panel(source, human_judges=("expert_*", "author_*")))
    assert isinstance(found, Votes)
    return found


def row_of(found: Votes, voters: str, part: str) -> pd.Series:
    frame = found.agreement
    return frame[(frame["voters"] == voters) & (frame["part"] == part)].iloc[0]


def test_mtbench_agreement_is_the_published_one(mtbench: Votes) -> None:
    """Experts, first turn: 66% of 1,343 votes with ties, 85% of 859 without; people among themselves 63% and 81%."""
    row = row_of(mtbench, "expert", "1")
    assert (row["votes"], row["decided"]) == (1343, 859)
    assert round(row["agreement"], 3) == 0.660
    assert round(row["decided_agreement"], 3) == 0.846
    assert round(row["people"], 2) == 0.63
    assert round(row["people_decided"], 2) == 0.81
    assert row["low"] < row["agreement"] < row["high"]


def test_what_is_said_is_what_the_frames_hold(mtbench: Votes) -> None:
    text = " ".join(finding.text for finding in mtbench.findings)
    assert "gpt4_pair picks as people do in 66% [63, 69] of 3,355 votes, in 86% [83, 88] of the 2,129" in text
    assert "Two people pick alike in 66% [62, 69] of cases" in text
    assert "pairs of answers are decided differently, worst first" in text
    worst = mtbench.disagreements.iloc[0]
    assert worst["picks"] != worst["people_pick"]
    assert worst["votes"] == mtbench.disagreements["votes"].max()
    assert mtbench.systems["system"].iloc[0] == "gpt-4"


def votes_of(n: int = 200, seed: int = 0, right: float = 0.8) -> pd.DataFrame:
    """Two voters and a judge; the judge picks as the first voter does with a known chance."""
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < 0.6
    second = np.where(generator.random(n) < 0.9, truth, ~truth)
    judge = np.where(generator.random(n) < right, truth, ~truth)
    return pd.DataFrame({
        "question_id": [f"q{i}" for i in range(n)], "model_a": "x", "model_b": "y", "prompt": "what?",
        "response_a": "this", "response_b": "that", "winner": np.where(judge, "model_a", "model_b"),
        "annotator1": np.where(truth, "model_a", "model_b"), "annotator2": np.where(second, "model_a", "model_b"),
    })  # fmt: skip


def test_columns_of_people_are_votes_and_not_judges() -> None:
    table = votes_of()
    found = humans(table)
    assert isinstance(found, Votes)
    assert found.panel_.judges == ("judge",)
    same = np.concatenate([(table["winner"] == table[column]) for column in ("annotator1", "annotator2")])
    assert row_of(found, "all", "all")["agreement"] == pytest.approx(same.mean())
    alike = (table["annotator1"] == table["annotator2"]).mean()
    assert row_of(found, "all", "all")["people"] == pytest.approx(alike)
    assert {"prompt", "response"} <= set(found.disagreements.columns)


def test_a_split_judge_is_a_tie() -> None:
    """Two orders that disagree are no pick."""
    rows = [(f"q{i}", "x", "y", f"{'model_a' if i % 2 else 'model_b'}", s) for i in range(40) for s in (False, True)]
    table = pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "winner", "swapped"])
    table.loc[table["swapped"], "winner"] = "model_a"
    table["human_vote"] = "model_a"
    found = humans(table)
    assert isinstance(found, Votes)
    row = row_of(found, "all", "all")
    assert row["agreement"] == pytest.approx(0.5)
    assert row["decided_agreement"] == 1


def test_requirements_hang_on_the_limit() -> None:
    found = humans(votes_of(), require=("agreement>=0.5", "decided>=0.95"))
    assert found.incomplete
    assert found.requirements["met"].tolist() == [True, False]
    with pytest.raises(PolyjudgeError, match="agreement, decided, kappa"):
        humans(votes_of(), require=("sensitivity>=0.5",))


def test_votes_in_a_file_of_their_own(tmp_path: Path) -> None:
    table = votes_of()
    people = table.melt(["question_id", "model_a", "model_b"], ["annotator1", "annotator2"], "judge", "vote")
    people.to_csv(tmp_path / "votes.csv", index=False)
    judged = table.drop(columns=["annotator1", "annotator2"])
    found = humans(judged, tmp_path / "votes.csv")
    whole = humans(table)
    assert isinstance(found, Votes)
    assert isinstance(whole, Votes)
    assert row_of(found, "all", "all")["agreement"] == row_of(whole, "all", "all")["agreement"]
    with pytest.raises(PolyjudgeError, match="no votes of people"):
        humans(judged)


def test_votes_on_other_pairs_than_the_judges_are_said() -> None:
    table = pd.DataFrame({"question_id": [f"q{i}" for i in range(60)], "model_a": "x", "model_b": "y",
                          "winner": ["A", "B", "A"] * 20, "judge": ["human", "g", "g"] * 20})  # fmt: skip
    with pytest.raises(PolyjudgeError, match="No vote of people is on a pair"):
        humans(table)
    assert any("No vote of people" in finding.text for finding in audit(table).findings)


def test_an_audit_says_what_people_say() -> None:
    text = " ".join(finding.text for finding in audit(votes_of()).findings)
    assert "as people do in" in text


def votes_in_languages(voted: tuple[str, ...], seed: int = 3) -> pd.DataFrame:
    """Pairs of four systems in six languages; the judge favours bravo, people put delta first."""
    generator = np.random.default_rng(seed)
    people = np.array([0.0, 0.4, -0.6, 1.2])
    judge = 1.5 * people + np.array([0.0, 2.5, 0.0, 0.0])
    rows = []
    for language in ("de", "es", "hi", "ja", "ko", "sw"):
        for task in range(300):
            first, second = generator.permutation(4)[:2]
            answers = generator.normal()

            def picks(strength: np.ndarray, a: int = first, b: int = second, own: float = answers) -> str:
                chance = 1 / (1 + np.exp(strength[b] - strength[a] - own))
                return "model_a" if generator.random() < chance else "model_b"

            vote = picks(people) if language in voted and task < 200 else None
            rows.append((f"{language}{task}", language, SYSTEMS[first], SYSTEMS[second], picks(judge), vote))
    return pd.DataFrame(rows, columns=["question_id", "language", "model_a", "model_b", "winner", "human_vote"])


SYSTEMS = ("alpha", "bravo", "charlie", "delta")


def test_votes_anchor_every_language() -> None:
    found = humans(votes_in_languages(("de", "es", "hi", "ja")))
    assert isinstance(found, Votes)
    board = found.board
    overall = board[board["language"] == "all"]
    assert overall["system"].iloc[0] == "delta"
    assert overall["people"].between(0, 1).all()
    assert overall["people"].mean() == pytest.approx(0.5, abs=0.02)
    assert set(board[board["language"].isin(["ko", "sw"])]["basis"]) == {"carried over from 4 languages"}
    text = found.findings[0].text
    assert text.startswith("From votes in de, es, hi and ja, and judges in two more languages: by people, delta ")
    assert any("ko and sw are taken to differ from de, es, hi and ja" in f.text for f in found.findings)
    assert audit(votes_in_languages(())).systems["system"].iloc[0] == "bravo"  # what the judges say


def test_votes_in_two_languages_say_nothing_of_the_others() -> None:
    found = humans(votes_in_languages(("de", "es")))
    assert isinstance(found, Votes)
    others = found.board[found.board["language"].isin(["hi", "ja", "ko", "sw"])]
    assert others["people"].isna().all()
    assert any("Votes are in two languages." in f.text for f in found.findings)


def test_kappa_is_of_three_outcomes_and_its_interval_holds_it(mtbench: Votes) -> None:
    """A tie is an outcome: kappa 0.48 of 3,355 votes, where that of the votes without ties is 0.71."""
    from sklearn.metrics import cohen_kappa_score

    generator = np.random.default_rng(4)
    for n in (20, 60, 400):
        people = generator.choice([0.0, 0.5, 1.0], n, p=[0.4, 0.2, 0.4])
        judge = np.where(generator.random(n) < 0.7, people, generator.choice([0.0, 0.5, 1.0], n))
        value, low, high = kappa(people, judge, np.arange(n) // 2)
        expected = cohen_kappa_score((2 * people).astype(int), (2 * judge).astype(int))
        assert value == pytest.approx(expected, abs=1e-12)
        assert low < value < high
    frame = mtbench.agreement.dropna(subset=["kappa"])
    assert ((frame["kappa_low"] <= frame["kappa"]) & (frame["kappa"] <= frame["kappa_high"])).all()
    assert row_of(mtbench, "all", "all")["kappa"] < 0.6


def test_an_answer_key_is_nobodys_vote() -> None:
    path = shared_file("formats/samples/made_up_judgebench_output.jsonl")
    panel = read_panel(path)
    assert panel.facts.endswith("An answer key of 30 pairs.")
    found = humans(panel)
    assert isinstance(found, Votes)
    text = " ".join(finding.text for finding in found.findings)
    assert "o1-mini picks as the answer key says in 33% [19, 51] of 30 pairs" in text
    assert "o1-mini picks first answer and the key says second answer" in text
    assert "people" not in text


def test_pairs_in_another_order_are_named_whole() -> None:
    """Shares of people and of judges stand in full beside the two systems."""
    generator = np.random.default_rng(0)
    n = 60
    base = {"task": range(n), "model_a": "a-system-of-a-long-name", "model_b": "another-one-of-a-long-name"}
    people = np.where(generator.random(n) < 0.8, "A", "B")
    judge = np.where(generator.random(n) < 0.2, "A", "B")
    found = humans(read_panel(pd.DataFrame(base | {"gpt_winner": judge, "human_winner": people})))
    (said,) = [finding.text for finding in found.findings if finding.key == "votes.order"]
    assert re.search(r"\(people \d+%, judges \d+%\)\.$", said)
