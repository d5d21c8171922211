"""Files of pairs give the true panel, or a refusal that offers the right reading (METHODS 37)."""

from __future__ import annotations

import json
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from common import shared_file
from polyjudge.answers.calibrate import apply, calibrate
from polyjudge.base.errors import PolyjudgeError
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.verdicts import Verdicts

SHARE = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5}


def sample(name: str) -> Path:
    return shared_file(f"formats/samples/{name}")


def records(name: str) -> list[dict[str, Any]]:
    text = sample(name).read_text()
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]


def pairs_of(panel: Panel) -> Verdicts:
    assert panel.pairs is not None
    return panel.pairs


def rows_of(panel: Panel, pairs: Verdicts | None = None) -> list[tuple[str, str, str, float, float]]:
    """task, first, second, share of the first, place; sorted."""
    pairs = pairs or pairs_of(panel)
    return sorted(
        (panel.tasks[t], panel.systems[a], panel.systems[b], round(w, 12), p)
        for t, a, b, w, p in zip(pairs.task, pairs.first, pairs.second, pairs.won, pairs.place, strict=True)
    )


def frame(n: int = 60, **columns: Any) -> pd.DataFrame:
    """x against y on n tasks; x wins two of three."""
    base = {"question_id": [f"q{i}" for i in range(n)], "model_a": "x", "model_b": "y"}
    return pd.DataFrame(base | columns)


WON = np.array([1.0, 1.0, 0.0] * 20)


def words(first: str, second: str) -> list[str]:
    return [first if won else second for won in WON]


# --- files as tools write them ---


@pytest.mark.parametrize("kind", ["gpt4_turbo_fn", "weighted"])
def test_alpaca_eval_is_the_tools_own_win_rate(kind: str) -> None:
    name = f"made_up_alpaca_eval_{kind}_annotations.json"
    panel = read_panel(sample(name))
    preferences = np.array([record["preference"] for record in records(name)], dtype=float)
    preferences[preferences == 0] = 1.5
    won, verdicts = pairs_of(panel).count_pairs(2)
    tested = panel.systems.index(records(name)[0]["generator_2"])
    assert won[tested] == pytest.approx(preferences.mean() - 1, abs=1e-12)
    assert verdicts.tolist() == [len(preferences)] * 2
    assert not pairs_of(panel).knows_place
    assert panel.judges == (records(name)[0]["annotator"],)


def test_fastchat_pairs_are_one_judge_in_two_orders() -> None:
    name = "fastchat_gpt-4_pair.jsonl"
    panel = read_panel(sample(name))
    share = {"model_1": 1.0, "model_2": 0.0, "tie": 0.5}
    listed = records(name)
    turns = {record["turn"] for record in listed}
    expected = sorted(
        (
            str(record["question_id"]) + (f" (turn {record['turn']})" if len(turns) > 1 else ""),
            record["model_1"],
            record["model_2"],
            share[record[f"{game}_winner"]],
            place,
        )
        for record in listed
        for game, place in (("g1", 1.0), ("g2", -1.0))
        if record[f"{game}_winner"] in share
    )
    assert rows_of(panel) == expected
    assert panel.judges == ("gpt-4",)


def test_fastchat_scores_have_one_judge_and_no_minus_one(tmp_path: Path) -> None:
    panel = read_panel(sample("fastchat_gpt-4_single.jsonl"))
    assert panel.judges == ("gpt-4",)
    assert set(panel.criteria) == {"turn 1", "turn 2"}
    with pytest.raises(PolyjudgeError, match="has 2 scores for one task 81, system mistral-orpo"):
        read_panel(sample("fastchat_gpt-4_single_minus1.jsonl"))
    once = tmp_path / "gpt-4_single.jsonl"
    once.write_text("\n".join(sample("fastchat_gpt-4_single_minus1.jsonl").read_text().splitlines()[:12]))
    panel = read_panel(once)
    assert np.nanmin(panel.scores) >= 1
    assert any("1 score failed in the run" in note for note in panel.notes)


def test_judgebench_turns_the_second_verdict_back() -> None:
    name = "made_up_judgebench_output.jsonl"
    panel = read_panel(sample(name))
    share = {"A>B": 1.0, "B>A": 0.0, "A=B": 0.5}
    expected = []
    for record in records(name):
        one, two = (judgment["decision"] for judgment in record["judgments"])
        expected += [(record["pair_id"], "first answer", "second answer", share[one], 1.0)] if one else []
        expected += [(record["pair_id"], "first answer", "second answer", 1 - share[two], -1.0)] if two else []
    assert rows_of(panel) == sorted(expected)
    people = pairs_of(panel).people
    assert people is not None
    keys = {record["pair_id"]: share[record["label"]] for record in records(name)}
    assert {row[0]: row[3] for row in rows_of(panel, people)} == keys


@pytest.mark.parametrize("kind", ["Vanilla", "Rating", "Swap"])
def test_llmbar_has_a_key_and_two_orders_that_are_turned_back(kind: str) -> None:
    name = f"llmbar_GPT-4_{kind}_result.json"
    panel = read_panel(sample(name))
    share = {"1": 1.0, "2": 0.0}
    expected = [
        (str(number + 1), "first answer", "second answer", share[record["results"][-1][order]["winner"]], place)
        for number, record in enumerate(records(name))
        for order, place in (("swap = False", 1.0), ("swap = True", -1.0))
        if record["results"][-1][order]["winner"] in share
    ]
    assert rows_of(panel) == sorted(expected)
    people = pairs_of(panel).people
    assert people is not None
    assert people.won.mean() == pytest.approx(np.mean([record["label"] == 1 for record in records(name)]))


def test_arena_hard_games_have_the_baseline_first_and_then_second() -> None:
    name = "made_up_arena_hard_model_judgment.jsonl"
    panel = read_panel(sample(name))
    share = {"A>>B": 1.0, "A>B": 1.0, "A=B": 0.5, "B>A": 0.0, "B>>A": 0.0}
    expected = []
    for record in records(name):
        for game, is_model_first in zip(record["games"] or [], (False, True), strict=False):
            if game and game["score"] in share:
                won = share[game["score"]] if is_model_first else 1 - share[game["score"]]
                place = 1.0 if is_model_first else -1.0
                expected.append((record["uid"], record["model"], record["baseline"], won, place))
    assert rows_of(panel) == sorted(expected)


def test_judgearena_verdicts_are_those_of_the_judgments() -> None:
    """Preferences beside rows with exchanged names, by what the judge wrote in that row."""
    panel = read_panel(sample("made_up_judgearena_results"))
    expected = []
    for path in sorted(sample("made_up_judgearena_results").rglob("*-annotations.csv")):
        for row in pd.read_csv(path, dtype=str).to_dict("records"):
            one, two = (float(re.search(rf"score_{side}: (\d+)", str(row["judge_completion"]))[1]) for side in "AB")  # type: ignore[index]
            share = math.exp(0.3 * one) / (math.exp(0.3 * one) + math.exp(0.3 * two))
            task = str(row.get("question_id") or row.get("instruction_index"))
            task += f" (turn {row['turn']})" if "turn" in row else ""
            expected.append((task, row["model_A"], row["model_B"], share, 1.0))
    found = rows_of(panel)
    assert [row[:3] for row in found] == [row[:3] for row in sorted(expected)]
    # Within a task and an order there is one verdict.
    assert [row[3] for row in found] == pytest.approx([row[3] for row in sorted(expected)], abs=1e-9)


def test_judgearena_without_its_results_is_read_from_the_judgments(tmp_path: Path) -> None:
    source = next(sample("made_up_judgearena_results").rglob("alpaca-eval*-annotations.csv"))
    alone = tmp_path / source.name
    alone.write_bytes(source.read_bytes())
    whole = read_panel(source.parent)
    assert [row[3] for row in rows_of(read_panel(alone))] == pytest.approx([row[3] for row in rows_of(whole)], abs=1e-9)


def test_pandalm_results_are_no_grades() -> None:
    panel = read_panel(sample("pandalm_7b-testset-v1.json"))
    share = {1: 1.0, 2: 0.0, 0: 0.5}
    expected = [share[record["pandalm_result"]] for record in records("pandalm_7b-testset-v1.json")]
    assert pairs_of(panel).won.mean() == pytest.approx(np.mean(expected))
    people = read_panel(sample("pandalm_testset-v1.json"))
    assert people.judges == ("people",)
    assert len(pairs_of(people)) == 180
    both = read_panel(sample("pandalm_7b-testset-v1.json"), labels=sample("pandalm_testset-v1.json"))
    votes = pairs_of(both).people
    assert votes is not None
    listed = records("pandalm_testset-v1.json")
    agreed = np.mean([share[record[f"annotator{k}"]] for record in listed for k in (1, 2, 3)])
    assert votes.won.mean() == pytest.approx(agreed)


def test_a_pick_beside_peoples() -> None:
    panel = read_panel(sample("debias_example_judge_data.json"))
    listed = records("debias_example_judge_data.json")
    pick = {"A": 1.0, "B": 0.0}
    assert sorted(pairs_of(panel).won) == sorted(pick[r["judge_pick"]] for r in listed if r["judge_pick"])
    people = pairs_of(panel).people
    assert people is not None
    assert sorted(people.won) == sorted(SHARE[r["human_winner"]] for r in listed)


def test_votes_of_arenas() -> None:
    arena = pd.read_csv(sample("made_up_lmarena_55k.csv"))
    share = arena["winner_model_a"] + arena["winner_tie"] / 2
    won, _ = pairs_of(read_panel(sample("made_up_lmarena_55k.csv"))).count_pairs(2)
    assert won[0] == pytest.approx(share.mean())
    comparia = pd.read_csv(sample("made_up_comparia_votes.csv"))
    share = np.where(comparia["both_equal"], 0.5, comparia["chosen_model_name"] == comparia["model_a_name"])
    panel = read_panel(sample("made_up_comparia_votes.csv"))
    won, _ = pairs_of(panel).count_pairs(2)
    assert won[panel.systems.index("gemma-3")] == pytest.approx(share.mean())


def test_turns_are_counted_by_themselves() -> None:
    panel = read_panel(sample("made_up_pairs_turns.jsonl"))
    pairs = pairs_of(panel)
    assert pairs.parts == ("1", "2")
    assert pairs.won[pairs.part == 0].mean() == 1
    assert pairs.won[pairs.part == 1].mean() == 0
    assert panel.units == 60
    assert any("turn" in note for note in panel.notes)


def test_voters_are_offered_as_people() -> None:
    with pytest.raises(PolyjudgeError, match=re.escape("--human-judges 'author_*,expert_*'")):
        read_panel(sample("mtbench_human_votes.jsonl"))
    panel = read_panel(sample("mtbench_human_votes.jsonl"), human_judges=("expert_*", "author_*"))
    assert panel.judges == ("people",)
    assert len(pairs_of(panel)) == len(records("mtbench_human_votes.jsonl"))
    judge = read_panel(sample("mtbench_gpt4_pair_votes.jsonl"), labels=sample("mtbench_human_votes.jsonl"))
    votes = pairs_of(judge).people
    assert votes is not None
    assert len(votes) == len(records("mtbench_human_votes.jsonl"))


# --- what verdicts say ---


@pytest.mark.parametrize(
    "written",
    [
        words("model_a", "model_b"), words("A", "B"), words("[[A]]", "[[B]]"), words("x", "y"), words("1", "2"),
        words("A>B", "B>A"), words("A>>B", "B>A"), words("first", "second"), words("Model A", "Model B"),
        [2 - won for won in WON], words("response_1", "response_2"),
    ],
)  # fmt: skip
def test_verdicts_by_words_and_places(written: list[Any]) -> None:
    panel = read_panel(frame(winner=written))
    assert pairs_of(panel).won.tolist() == WON.tolist()


@pytest.mark.parametrize("word", ["tie", "Tie (bothbad)", "both_bad", "tie (inconsistent)", "A=B", "C", "[[Tie]]"])
def test_ties(word: str) -> None:
    panel = read_panel(frame(winner=["model_a", word, "model_b"] * 20))
    assert pairs_of(panel).won.tolist() == [1.0, 0.5, 0.0] * 20


@pytest.mark.parametrize("word", ["error", "garbage", "None", "", "invalid"])
def test_words_for_no_verdict_are_missing(word: str) -> None:
    panel = read_panel(frame(winner=["model_a", word, "model_b"] * 20))
    assert len(pairs_of(panel)) == 40
    assert any("no winner are missing" in note for note in panel.notes)


def test_numbers_of_which_nobody_said_whom_they_favour_are_asked_about() -> None:
    soft = np.linspace(0, 1, 60)
    with pytest.raises(PolyjudgeError, match="--favours first"):
        read_panel(frame(preference=soft))
    assert pairs_of(read_panel(frame(preference=soft), favours="first")).won == pytest.approx(soft)
    assert pairs_of(read_panel(frame(preference=soft), favours="second")).won == pytest.approx(1 - soft)
    with pytest.raises(PolyjudgeError) as caught:
        read_panel(frame(result=[0, 1, 2] * 20))
    assert "--verdict result:0=tie,1=first,2=second" in str(caught.value)
    assert "--drop" not in str(caught.value)
    said = read_panel(frame(result=[0, 1, 2] * 20), verdict="result:0=tie,1=first,2=second")
    assert pairs_of(said).won.tolist() == [0.5, 1.0, 0.0] * 20
    margins = read_panel(frame(pref=[-3, 0, 2] * 20), favours="first")
    assert pairs_of(margins).won.tolist() == [0.0, 0.5, 1.0] * 20


def test_preferences_from_one_to_two_mean_the_first_by_one() -> None:
    panel = read_panel(frame(preference=[1.0, 1.25, 1.5, 2.0, 0.0, 1.9] * 10))
    assert pairs_of(panel).won.tolist() == pytest.approx([1.0, 0.75, 0.5, 0.0, 0.5, 0.1] * 10)


def test_a_scale_of_preferences_is_asked_about() -> None:
    """From 1 to 5 a sign would make everything a win."""
    table = frame(preference=[1, 3, 5] * 20)
    for favours in (None, "first"):
        with pytest.raises(PolyjudgeError, match="--verdict preference:1=first,3=tie,5=second"):
            read_panel(table, favours=favours)
    said = read_panel(table, verdict="preference:1=first,3=tie,5=second")
    assert pairs_of(said).won.tolist() == [1.0, 0.5, 0.0] * 20


def test_two_columns_of_scores_are_a_verdict() -> None:
    panel = read_panel(frame(score_a=[1, 3, 2] * 20, score_b=[2, 2, 2] * 20))
    assert pairs_of(panel).won.tolist() == [0.0, 1.0, 0.5] * 20
    assert any("the system with the higher one wins" in note for note in panel.notes)


@pytest.mark.parametrize("written", [words("A", "B"), words("1", "2")])
def test_winners_without_any_system_are_no_scores(written: list[str]) -> None:
    panel = read_panel(pd.DataFrame({"question_id": range(60), "judge": "g", "winner": written}))
    assert panel.systems == ("first answer", "second answer")
    assert pairs_of(panel).won.tolist() == WON.tolist()


def test_choices_beside_a_score_are_no_pairs() -> None:
    panel = read_panel(pd.DataFrame({"id": range(60), "choice": ["A", "B", "C"] * 20, "score": [0, 1, 1] * 20}))
    assert panel.pairs is None


def test_a_named_column_is_the_verdict() -> None:
    columns = {"winner": words("model_a", "model_b"), "pick_of_mine": words("model_b", "model_a")}
    assert pairs_of(read_panel(frame(**columns), verdict="pick_of_mine")).won.tolist() == (1 - WON).tolist()
    with pytest.raises(PolyjudgeError, match="no column zzz"):
        read_panel(frame(**columns), verdict="zzz")


def test_columns_of_several_judges() -> None:
    panel = read_panel(frame(gpt4_winner=words("A", "B"), claude_winner=words("B", "A")))
    assert panel.judges == ("claude", "gpt4")
    pairs = pairs_of(panel)
    assert pairs.won[pairs.judge == 1].tolist() == WON.tolist()


def test_answers_without_names_are_first_and_second() -> None:
    plain = pd.DataFrame({
        "id": range(60), "question": "q", "output_1": "a", "output_2": "b", "preference": [1, 2, 0] * 20,
        "label": [1, 2, 1] * 20,
    })  # fmt: skip
    panel = read_panel(plain)
    assert panel.systems == ("first answer", "second answer")
    assert pairs_of(panel).won.tolist() == [1.0, 0.0, 0.5] * 20
    people = pairs_of(panel).people
    assert people is not None
    assert people.won.tolist() == [1.0, 0.0, 1.0] * 20


def test_repeats_of_one_judge_are_said() -> None:
    once = frame(winner=words("A", "B"), judge="g")
    panel = read_panel(pd.concat([once, once]))
    assert len(pairs_of(panel)) == 120
    assert panel.units == 60
    assert any("60 verdicts are another one of the same judge" in note for note in panel.notes)
    assert not any("another one of the same judge" in note for note in read_panel(once).notes)


def test_a_leaderboard_is_no_verdict(tmp_path: Path) -> None:
    board = pd.DataFrame({"name": ["a", "b"], "length_controlled_winrate": [50, 40], "win_rate": [51, 43], "link": ""})
    board.to_csv(tmp_path / "board.csv", index=False)
    with pytest.raises(PolyjudgeError, match="is a leaderboard"):
        read_panel(tmp_path / "board.csv")


# --- orders ---


def asked_twice(seed: int, lean: float = 0.6) -> pd.DataFrame:
    """x and y in both orders, by a judge that leans to the first place; `picks_x`: the truth of each row."""
    generator = np.random.default_rng(seed)
    n = 200
    one = pd.DataFrame({"question_id": [f"q{i}" for i in range(n)], "own": generator.normal(1.0, 1.5, n)})
    rows = []
    for is_swapped in (False, True):
        shown = one.assign(swapped=is_swapped)
        sign = -1 if is_swapped else 1
        rows.append(shown.assign(picks_x=generator.random(n) < expit(one["own"] + sign * lean)))
    return pd.concat(rows, ignore_index=True)


def truth_of(table: pd.DataFrame) -> tuple[float, float]:
    """Share of x where it was shown first, and second."""
    return tuple(table.groupby("swapped")["picks_x"].mean())  # type: ignore[return-value]


def shares_by_place(panel: Panel) -> tuple[float, float]:
    """Share of x where it was shown first, and second."""
    pairs = pairs_of(panel)
    x = panel.systems.index("x")
    won = np.where(pairs.first == x, pairs.won, 1 - pairs.won)
    was_first = np.where(pairs.first == x, pairs.place, -pairs.place) > 0
    return float(won[was_first].mean()), float(won[~was_first].mean())


@pytest.mark.parametrize("written", ["names", "model words", "letters turned back", "letters as shown", "exchanged"])
def test_every_way_of_writing_two_orders_is_read_by_truth(written: str) -> None:
    table = asked_twice(1)
    picks, swapped = table["picks_x"], table["swapped"]
    first = pd.Series(np.where(swapped & (written == "exchanged"), "y", "x"))
    second = pd.Series(np.where(first == "x", "y", "x"))
    picks_first = picks == (first == "x")
    if written == "names":
        winner = np.where(picks, "x", "y")
    elif written == "model words":
        winner = np.where(picks_first, "model_a", "model_b")
    elif written == "letters as shown":
        winner = np.where(picks != swapped, "A", "B")
    else:
        winner = np.where(picks_first, "A", "B")
    source = pd.DataFrame({"question_id": table["question_id"], "model_a": first, "model_b": second,
                           "swapped": swapped, "winner": winner})  # fmt: skip
    panel = read_panel(source)
    assert shares_by_place(panel) == pytest.approx(truth_of(table))
    assert panel.judges == ("judge",)
    assert any("as the place that was shown" in note for note in panel.notes) == (written == "letters as shown")


def test_two_games_are_two_orders_of_one_judge() -> None:
    table = asked_twice(2)
    once, again = (table[table["swapped"] == side].set_index("question_id")["picks_x"] for side in (False, True))
    source = pd.DataFrame({
        "question_id": once.index, "model_1": "x", "model_2": "y", "judge": "g",
        "g1_winner": np.where(once, "model_1", "model_2"), "g2_winner": np.where(again, "model_1", "model_2"),
        "final_winner": "tie",
    })  # fmt: skip
    panel = read_panel(source)
    assert panel.judges == ("g",)
    assert shares_by_place(panel) == pytest.approx(truth_of(table))


# --- the panel ---


def test_a_panel_of_pairs_can_be_pickled_and_cut() -> None:
    source = pd.concat([frame(winner=words("A", "B"), judge=j, lang=k) for j in ("g", "h") for k in ("de", "fr")])
    panel = read_panel(source)
    again = pickle.loads(pickle.dumps(panel))  # noqa: S301 (our own)
    assert rows_of(again) == rows_of(panel)
    part = panel.select(judges=["h"], languages=["fr"], rows=np.arange(10))
    assert len(pairs_of(part)) == 10
    np.testing.assert_allclose(part.scores, panel.scores[:10, :, 1:, 1:])
    assert np.isfinite(panel.system_values().v).all()


def test_very_many_votes_are_folded() -> None:
    generator = np.random.default_rng(3)
    n = 120_000
    source = pd.DataFrame({"id": np.arange(n), "model_a": generator.choice(["x", "y"], n), "model_b": "z",
                           "winner": generator.choice(["model_a", "model_b"], n)})  # fmt: skip
    panel = read_panel(source)
    assert len(pairs_of(panel)) == n
    assert round(panel.weight.sum()) == n


def test_columns_called_as_their_judges_are_read_beside_people() -> None:
    """Three judges and an annotator, without a word for `winner`: no judge is left out."""
    other = words("B", "A")
    table = frame(**{"gpt-5": words("A", "B"), "claude": other, "gemma": words("A", "B"), "annotator1": other})
    panel = read_panel(table)
    assert panel.judges == ("claude", "gemma", "gpt-5")
    pairs = pairs_of(panel)
    assert pairs.people is not None
    assert pairs.people.voters == ("annotator1",)
    of_claude = pairs.judge == panel.judges.index("claude")
    assert pairs.won[of_claude].sum() == 60 - WON.sum()
    assert pairs.won[~of_claude].sum() == 2 * WON.sum()


def test_a_judge_keeps_its_name_from_the_name_of_its_column() -> None:
    panel = read_panel(frame(**{"gpt-5_winner": words("A", "B"), "Qwen 3_winner": words("B", "A")}))
    assert set(panel.judges) == {"gpt-5", "Qwen 3"}


def test_one_hot_columns_know_more_than_one_tie() -> None:
    ties = np.arange(60) % 4
    table = frame(
        winner_model_a=(WON == 1) & (ties > 1), winner_model_b=(WON == 0) & (ties > 1),
        winner_tie=ties == 0, winner_tie_both_bad=ties == 1,
    )  # fmt: skip
    panel = read_panel(table)
    assert len(pairs_of(panel)) == 60
    assert (pairs_of(panel).won == 0.5).sum() == 30
    assert not panel.notes


def swapped_frame(is_place_judge: bool) -> pd.DataFrame:
    """Both orders with exchanged names; verdicts of the first order, or of a judge that takes the first place."""
    there = frame(swapped=False, winner=words("model_a", "model_b"))
    back = there.assign(model_a="y", model_b="x", swapped=True)
    if is_place_judge:
        back["winner"] = there["winner"] = np.where(np.arange(60) % 10 == 0, "model_b", "model_a")
    return pd.concat([there, back], ignore_index=True)


def test_exchanged_names_with_verdicts_of_the_first_order_are_told_by_contradictions() -> None:
    panel = read_panel(swapped_frame(is_place_judge=False))
    pairs = pairs_of(panel)
    won_by_x = np.where(pairs.first == panel.systems.index("x"), pairs.won, 1 - pairs.won)
    assert won_by_x.mean() == pytest.approx(2 / 3)
    assert "as that of the first order: so the judge picks the same system in 100% of pairs" in " ".join(panel.notes)


def test_a_judge_that_goes_by_the_place_is_not_taken_for_exchanged_names() -> None:
    panel = read_panel(swapped_frame(is_place_judge=True))
    assert not panel.notes
    pairs = pairs_of(panel)
    assert pairs.won.mean() == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("first", "second", "tie"),
    [("A is much better", "B is better", "About the same"), ("Response A wins", "Response B wins", "Both are bad")],
)
def test_verdicts_may_be_short_sentences(first: str, second: str, tie: str) -> None:
    won = [[first, second, tie][i % 3] for i in range(60)]
    assert pairs_of(read_panel(frame(preference=won))).won.tolist().count(1.0) == 20


@pytest.mark.parametrize(
    ("one", "other", "verdict", "place"),
    [("left", "right", ("left", "right"), 1.0), ("sys_a", "sys_b", ("A", "B"), 1.0),
     ("model", "baseline", ("win", "loss"), 0.0)],
)  # fmt: skip
def test_more_names_of_the_two_systems(one: str, other: str, verdict: tuple[str, str], place: float) -> None:
    table = frame(outcome=words(*verdict)).rename(columns={"model_a": one, "model_b": other})
    pairs = pairs_of(read_panel(table))
    assert pairs.won.tolist() == WON.tolist()
    assert set(pairs.place) == {place}


def test_a_winner_and_a_loser_are_verdicts_of_unknown_place() -> None:
    table = pd.DataFrame({"uid": range(60), "winner_model": words("x", "y"), "loser_model": words("y", "x")})
    panel = read_panel(table)
    pairs = pairs_of(panel)
    assert panel.tasks[-1] == "59"
    assert np.where(pairs.first == 0, pairs.won, 1 - pairs.won).mean() == pytest.approx(2 / 3)
    assert set(pairs.place) == {0.0}


def test_truth_values_are_asked_about_with_the_right_reading() -> None:
    table = frame(a_wins=words("True", "False"))
    with pytest.raises(PolyjudgeError, match="--verdict a_wins:true=first,false=second"):
        read_panel(table, verdict="a_wins")
    assert pairs_of(read_panel(table, verdict="a_wins:true=first,false=second")).won.tolist() == WON.tolist()


def test_a_table_of_alpacaeval_annotations_holds_numbers(tmp_path: Path) -> None:
    path = tmp_path / "annotations.csv"
    columns = {"instruction": [f"i{i}" for i in range(60)], "generator_1": "x", "generator_2": "y", "annotator": "g"}
    pd.DataFrame(columns | {"preference": np.where(WON == 1, 1.1, 1.8)}).to_csv(path, index=False)
    pairs = pairs_of(read_panel(path))
    assert sorted(set(pairs.won.round(9))) == [0.2, 0.9]


def test_calibrated_verdicts_are_not_written_and_that_is_said(tmp_path: Path) -> None:
    """`calibrate` shows and saves; what would write scores says why there are none."""
    parts = [frame(judge=j, language=x, winner=words("A", "B")) for j in ("g", "c") for x in ("en", "fr")]
    path, kept = tmp_path / "pairs.csv", tmp_path / "kept.json"
    pd.concat(parts, ignore_index=True).to_csv(path, index=False)
    with pytest.raises(PolyjudgeError, match="have no scores, so no calibrated ones can be written"):
        calibrate(path, output=tmp_path / "out.csv")
    shown = calibrate(path, save=kept)
    assert [step.command.split()[1] for step in shown.report().next] == ["compare", "drift"]
    with pytest.raises(PolyjudgeError, match="have no scores, so no calibrated ones can be written"):
        apply(path, kept, output=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_numbered_verdicts_are_no_judges() -> None:
    """Two orders of judges that a column names: which is which has to be said."""
    table = frame(judge=["g", "c"] * 30, verdict_1=words("A", "B"), verdict_2=words("B", "A"))
    with pytest.raises(PolyjudgeError, match="no column `winner`"):
        read_panel(table)
    with pytest.raises(PolyjudgeError, match="no column `winner`"):
        read_panel(table.drop(columns="judge"))


def test_the_name_of_the_winner_may_be_spelled_in_another_case() -> None:
    table = frame(winner=words("X", "Y"))
    assert pairs_of(read_panel(table)).won.tolist() == WON.tolist()
    # A is a place first: systems called a and b stand in both orders here.
    letters = frame(winner=words("A", "B")).assign(model_a=["a", "b"] * 30, model_b=["b", "a"] * 30)
    assert pairs_of(read_panel(letters)).won.tolist() == WON.tolist()


def test_decimal_commas_are_named() -> None:
    with pytest.raises(PolyjudgeError, match=r"holds 0,\d: write decimals with a point"):
        read_panel(frame(preference=words("0,9", "0,2")), favours="first")
