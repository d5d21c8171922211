"""Systems that were compared in pairs (METHODS 37)."""

from __future__ import annotations

import re
import time

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from common import shared_file
from polyjudge.answers.audit.audit import audit
from polyjudge.answers.audit.pair_boards import PairBoard, pair_board, pair_sums
from polyjudge.answers.calibrate import calibrate
from polyjudge.answers.check import check
from polyjudge.answers.drift import drift
from polyjudge.answers.margins import margins
from polyjudge.answers.plan import plan
from polyjudge.answers.probe import probe
from polyjudge.answers.swap import swap
from polyjudge.base.errors import PolyjudgeError
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.stats.bradley_terry import compare_shares, fit_strengths, measure_fit


def arena(
    seed: int, strengths: list[float], n: int = 400, *, pairs: list[tuple[int, int]] | None = None, place: float = 0.0
) -> pd.DataFrame:
    """Verdicts of one judge on random pairs, or on these; S1 is the first system."""
    generator = np.random.default_rng(seed)
    theta = np.array(strengths)
    first = generator.integers(0, len(theta), n)
    second = (first + generator.integers(1, len(theta), n)) % len(theta)
    if pairs is not None:
        chosen = np.array(pairs)[generator.integers(0, len(pairs), n)]
        is_turned = generator.random(n) < 0.5
        first = np.where(is_turned, chosen[:, 1], chosen[:, 0])
        second = np.where(is_turned, chosen[:, 0], chosen[:, 1])
    won = generator.random(n) < expit(theta[first] - theta[second] + place)
    names = np.array([f"S{i + 1}" for i in range(len(theta))])
    return pd.DataFrame({"question_id": [f"q{i}" for i in range(n)], "model_a": names[first],
                         "model_b": names[second], "judge": "g",
                         "winner": np.where(won, "model_a", "model_b")})  # fmt: skip


def board_of(table: pd.DataFrame) -> PairBoard:
    return pair_board(read_panel(table), level=0.95)


@pytest.mark.statistical
def test_shares_of_120_arenas_stay_inside_0_to_1() -> None:
    for seed in range(120):
        generator = np.random.default_rng(seed)
        n_systems = int(generator.integers(3, 20))
        board = board_of(arena(seed, generator.normal(0, 1.5, n_systems).tolist(), int(generator.integers(60, 600))))
        for numbers in (board.mean, board.won):
            known = numbers[np.isfinite(numbers)]
            assert known.min() >= 0
            assert known.max() <= 1
        known_limits = np.isfinite(board.low)
        assert (board.low[known_limits] >= -1).all()
        assert (board.high[known_limits] <= 1).all()
        assert (board.low[known_limits] <= board.gap[known_limits]).all()


def test_the_true_winner_of_a_chain_is_named() -> None:
    """S1 beats S2 narrowly, S2 beats nobody else; weak systems give S3 many wins."""
    chain = [(0, 1), (1, 2), (2, 3), (3, 4)]
    table = arena(3, [1.2, 0.8, 0.0, -1.0, -2.0], 1200, pairs=chain)
    board = board_of(table)
    assert [board.systems[system] for system in board.order[:2]] == ["S1", "S2"]
    assert board.rank_low[board.systems.index("S1")] == 1
    # Plain shares would put them elsewhere: S3 wins as often as S1.
    text = audit(read_panel(table)).findings[0].text
    assert "S1" in text


def test_a_balanced_round_robin_shows_its_shares() -> None:
    table = arena(4, [1.6, 0.4, -0.4, -1.6], 2400, pairs=[(i, j) for i in range(4) for j in range(i)])
    board = board_of(table)
    assert board.mean == pytest.approx(board.won, abs=0.02)
    assert not board.is_plain


def test_a_circle_is_said_and_shows_plain_shares() -> None:
    generator = np.random.default_rng(5)
    chosen = np.array([[0, 1]] * 200 + [[1, 2]] * 100 + [[2, 0]] * 60 + [[0, 3]] * 40)
    is_turned = generator.random(400) < 0.5
    won = (generator.random(400) < np.where(chosen[:, 1] == 3, 0.7, 0.85)) != is_turned
    chosen = np.where(is_turned[:, None], chosen[:, ::-1], chosen)
    names = np.array(["S1", "S2", "S3", "S4"])
    table = pd.DataFrame({"id": range(400), "model_a": names[chosen[:, 0]], "model_b": names[chosen[:, 1]],
                          "winner": np.where(won, "model_a", "model_b")})  # fmt: skip
    made = audit(read_panel(table))
    board = made.part_.systems.board if made.part_.systems else None
    assert isinstance(board, PairBoard)
    assert board.is_plain
    assert board.mean == pytest.approx(board.won)
    text = " ".join(finding.text for finding in made.findings)
    assert "No one order of strength explains who beats whom" in text
    assert "S1 wins" in text or "S2 wins" in text
    assert "share of wins among these pairs" in made.report().board.title  # type: ignore[union-attr]


def test_systems_that_nothing_joins_are_said() -> None:
    table = pd.concat([arena(6, [0.5, 0.0], 200), arena(7, [0.5, 0.0], 100).replace({"S1": "T1", "S2": "T2"})])
    table["question_id"] = [f"q{i}" for i in range(300)]
    made = audit(read_panel(table))
    assert "No task joins T1 and T2 with the others" in made.findings[0].text


def test_the_win_rate_of_alpaca_eval_is_shown() -> None:
    source = shared_file("formats/samples/made_up_alpaca_eval_weighted_annotations.json")
    preferences = pd.read_json(source)["preference"].replace(0, 1.5)
    systems = audit(read_panel(source)).systems
    shown = systems[systems["system"] == "my-model"].iloc[0]
    assert shown["mean"] == pytest.approx(preferences.mean() - 1, abs=1e-9)
    assert shown["won"] == pytest.approx(preferences.mean() - 1, abs=1e-9)
    assert shown["verdicts"] == len(preferences)


def test_one_order_only_is_said() -> None:
    table = arena(8, [0.8, 0.0], 200)
    table["model_a"], table["model_b"] = "S1", "S2"
    text = " ".join(finding.text for finding in audit(read_panel(table)).findings)
    assert re.search("S[12] always stands (first|second) in its pairs", text)
    assert "Ask again with the order swapped" in text


def test_a_place_that_only_other_pairs_tell_is_said() -> None:
    table = arena(15, [0.6, 0.0, -0.6], 900)
    is_turned = table["model_a"] > table["model_b"]
    turned = table.assign(model_a=table["model_b"], model_b=table["model_a"],
                          winner=table["winner"].map({"model_a": "model_b", "model_b": "model_a"}))  # fmt: skip
    text = " ".join(finding.text for finding in audit(table.where(~is_turned, turned)).findings)
    assert "what the place does is told by comparing pairs" in text
    assert "told by comparing pairs" not in " ".join(finding.text for finding in audit(table).findings)


def test_a_judge_that_leans_to_a_place_is_named_and_allowed_for() -> None:
    table = arena(9, [0.6, 0.0, -0.6], 2000, place=0.6)
    made = audit(read_panel(table))
    text = " ".join(finding.text for finding in made.findings)
    assert "g prefers the one shown first in 6" in text
    assert board_of(table).mean == pytest.approx(board_of(arena(9, [0.6, 0.0, -0.6], 2000)).mean, abs=0.05)


def test_turns_have_boards_of_their_own() -> None:
    made = audit(read_panel(shared_file("formats/samples/made_up_pairs_turns.jsonl")))
    section = next(section for section in made.report().sections if section.name == "systems")
    table = next(table for table in section.tables if table.name == "systems-parts")
    frame = table.frame.set_index(["language", "system"])["mean"]
    assert frame[("1", "s")] == 1
    assert frame[("2", "s")] == 0


def test_who_puts_whom_first_is_the_fit_to_a_part() -> None:
    one, other = arena(10, [1.0, 0.0, -1.0], 300), arena(11, [-1.0, 0.0, 1.0], 200).assign(judge="h")
    panel = read_panel(pd.concat([one, other]))
    sums = pair_sums(panel)
    assert panel.judges == ("g", "h")
    assert [sums.first(judges=[judge]) for judge in (0, 1)] == [0, 2]
    assert sums.first() == 0
    assert pair_board(panel.select(judges=["h"]), level=0.95).leader == 2


def two_languages(faulty: float) -> Panel:
    """x against y by three judges in three languages; one judge picks x more often in one."""
    generator = np.random.default_rng(12)
    rows = []
    for task in range(200):
        own = generator.normal(0.2, 0.8)
        for language in ("de", "fr", "th"):
            for judge in ("g", "h", "i"):
                lead = own + faulty * ((language, judge) == ("th", "g"))
                won = generator.random() < expit(lead)
                rows.append((f"q{task}", language, judge, "x", "y", "x" if won else "y"))
    columns = ["question_id", "language", "judge", "model_a", "model_b", "winner"]
    return read_panel(pd.DataFrame(rows, columns=columns))


def test_off_is_how_often_a_judge_picks_a_system() -> None:
    panel = two_languages(2.0)
    made = audit(panel)
    text = " ".join(finding.text for finding in made.findings)
    assert "In th, g scores" in text
    assert "Off is how often x is picked." in text
    calm = audit(two_languages(0.0))
    assert not calm.off["named"].any()
    off = made.off.set_index(["language", "judge"])["off"]
    x = panel.scores[:, panel.systems.index("x")].mean(0)
    assert margins(panel).scores[:, 0].mean(0) == pytest.approx(x)
    others = x[:, 1:].mean(1)
    gap = x[:, 0] - others
    assert off[("th", "g")] == pytest.approx(gap[2] - gap[:2].mean())


def test_other_answers_about_pairs() -> None:
    panel = two_languages(2.0)
    assert "share of verdicts in which x is picked" in " ".join(calibrate(panel).report().facts)
    assert "same as before" in drift(panel, panel).findings[0].text
    assert swap(panel, judges="h=i").findings
    assert plan(panel).findings
    with pytest.raises(PolyjudgeError, match="probe asks how scores fall"):
        probe(panel)


def test_values_of_the_engine_are_those_of_the_board() -> None:
    """Whether a win stands is asked of these."""
    panel = read_panel(arena(13, [0.9, 0.3, -0.4, -0.8], 800))
    values, board = panel.system_values(), pair_board(panel, level=0.95)
    assert values.mean == pytest.approx(board.mean)
    contrast = values.v[:, 0] - values.v[:, 1]
    games = panel.pairs.games(4, panel.unit) if panel.pairs else None
    assert games is not None
    strengths = fit_strengths(games)
    strengths = strengths.allow_for(measure_fit(games, strengths))
    influence = strengths.share_influence[:, 0] - strengths.share_influence[:, 1]
    assert contrast.std(ddof=1) / np.sqrt(len(contrast)) == pytest.approx(
        np.sqrt((influence**2).sum() - len(influence) * influence.mean() ** 2), rel=0.01
    )


@pytest.mark.slow
def test_many_pairs_are_ranked_about_as_fast_as_they_are_counted() -> None:
    """200,000 pairs of 50 systems; the limit is loose, because other programs run here too."""
    generator = np.random.default_rng(14)
    n, n_systems = 200_000, 50
    theta = generator.normal(0, 1, n_systems)
    first = generator.integers(0, n_systems, n)
    second = (first + generator.integers(1, n_systems, n)) % n_systems
    won = (generator.random(n) < expit(theta[first] - theta[second])).astype(float)
    names = np.array([f"model-{i}" for i in range(n_systems)], dtype=object)
    table = pd.DataFrame({"model_a": names[first], "model_b": names[second], "won": won})
    from polyjudge.stats.bradley_terry import Games

    games = Games(first, second, won, np.arange(n), n_systems)

    def group() -> None:
        table.groupby(["model_a", "model_b"])["won"].agg(["mean", "count"])

    def rank() -> None:
        strengths = fit_strengths(games)
        compare_shares(strengths.share, strengths.share_influence, strengths.component)

    def best(run: object) -> float:
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            run()  # type: ignore[operator]
            times.append(time.perf_counter() - begun)
        return min(times)

    rank()
    assert best(rank) < 15 * best(group)  # 2 to 4 times on a machine of its own; here other tests run beside it


def test_two_systems_in_both_orders_have_the_share_that_was_observed() -> None:
    """A judge that goes by the place picks the first answer in most verdicts: nobody wins more than was seen."""
    panel = read_panel(shared_file("formats/samples/made_up_judgebench_output.jsonl"))
    board = pair_board(panel, level=0.95)
    assert board.mean == pytest.approx(board.won, abs=1e-12)
    assert np.nanmax(board.low[board.leader]) > 0


def test_a_judges_place_is_said_once_with_its_interval() -> None:
    found = audit(read_panel(shared_file("formats/samples/debias_example_judge_data.json")))
    said = [finding.text for finding in found.findings if finding.topic == "Judges" and "shown first" in finding.text]
    assert len(said) == 1
    assert "74% [" in said[0]


def test_equal_verdicts_and_votes_of_people_are_called_what_they_are() -> None:
    level = audit(read_panel(shared_file("formats/samples/made_up_pairs_turns.jsonl")))
    assert "All clusters say the same of these two, so there is no spread for an interval." in level.findings[0].text
    voted = audit(read_panel(shared_file("formats/samples/pandalm_testset-v1.json")))
    assert any(finding.text.startswith("All verdicts are people's") for finding in voted.findings)
    arena = audit(read_panel(shared_file("formats/samples/made_up_lmarena_55k.csv")))
    assert any(finding.text.startswith("No column names a judge.") for finding in arena.findings)


def test_a_system_that_is_in_no_pair_of_a_task_lacks_nothing() -> None:
    """A schedule of pairs leaves most systems out of each task: that is no missing score."""
    generator = np.random.default_rng(3)
    rows = []
    for task in range(300):
        one, other = generator.choice(["a", "rare"] if task % 20 == 0 else ["a", "b", "c"], 2, replace=False)
        language = "de" if task % 9 == 0 else "en"
        for judge in ("j1", "j2") if language == "en" else ("j1",):
            rows.append((task, language, one, other, judge, generator.choice(["model_a", "model_b"])))
    panel = read_panel(pd.DataFrame(rows, columns=["task", "language", "model_a", "model_b", "judge", "winner"]))
    assert not [finding for finding in audit(panel).findings if finding.key == "missing"]
    coverage = check(panel).coverage.set_index(["language", "judge"])
    assert coverage.loc[("de", "j1")].tolist() == [34, 0]
    assert coverage.loc[("de", "j2")].tolist() == [0, 34]
    assert coverage.loc[("en", "j2")].tolist() == [266, 0]
