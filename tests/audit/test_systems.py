"""Who wins: known answers, words that agree with the board, and what judges do for their own maker."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from common import shared_file
from polyjudge.answers.audit.boards import Board, settle
from polyjudge.answers.audit.systems import Systems, systems
from polyjudge.panel import Panel


def look(y: np.ndarray | Panel, **more: object) -> Systems:
    panel = y if isinstance(y, Panel) else Panel.from_array(y, scale=(0, 100))
    return systems(panel, matters=panel.matters, level=0.95, **more)  # type: ignore[arg-type]


def drawn(n: int, steps: list[float], k: int = 3, m: int = 4, seed: int = 0, noise: float = 5.0) -> np.ndarray:
    g = np.random.default_rng(seed)
    y = 50 + g.normal(0, 10, (n, 1, 1, 1)) + g.normal(0, noise, (n, len(steps), k, m))
    return y + np.array(steps)[:, None, None]


def test_two_systems_are_a_paired_t_test() -> None:
    y = drawn(25, [0, 1])
    found = stats.ttest_rel(*(y[:, s].mean((1, 2)) for s in (1, 0))).confidence_interval()
    board = look(y).board
    assert board.gap[1, 0] == pytest.approx(y[:, 1].mean() - y[:, 0].mean())
    assert [board.low[1, 0], board.high[1, 0]] == pytest.approx([found.low, found.high])
    assert board.mean == pytest.approx(y.mean((0, 2, 3)))


def test_the_frame_has_the_columns_others_rely_on() -> None:
    frame = look(drawn(30, [0, 4, 8])).frame
    assert frame.columns.tolist() == (
        ["language", "system", "mean", "behind_leader", "low", "high", "rank_low", "rank_high", "may_be_best"]
    )
    assert frame["language"].drop_duplicates().tolist() == ["all", "l1", "l2", "l3"]
    first = frame.iloc[0]
    assert first["system"] == "s3"
    assert first["behind_leader"] == 0
    assert np.isnan(first["low"])
    assert frame["behind_leader"].max() == 0
    assert (frame["mean"] - frame.groupby("language")["mean"].transform("max")).tolist() == pytest.approx(
        frame["behind_leader"].tolist()
    )


def test_means_do_not_contradict_the_differences() -> None:
    y = drawn(60, [0, 4, 8])
    y[:30, 2, :, 1:] = np.nan  # the best system, where its tasks are hard
    y[:30] -= 15
    frame = look(y).frame.query("language == 'all'")
    lead = frame["mean"].iloc[0]
    assert (frame["mean"] - lead).tolist() == pytest.approx(frame["behind_leader"].tolist())
    assert lead == pytest.approx(np.nanmean(y[:, 2]))


def test_rank_ranges_count_who_is_surely_ahead() -> None:
    found = look(drawn(60, [20, 10, 10, 0])).frame.query("language == 'all'").set_index("system")
    ranges = found.sort_index()[["rank_low", "rank_high"]].to_numpy().tolist()
    assert ranges == [[1, 1], [2, 3], [2, 3], [4, 4]]
    assert found["may_be_best"].tolist() == [True, False, False, False]


def test_one_thin_task_leaves_the_ranking_of_the_others() -> None:
    y = drawn(80, [12.0 - 2.4 * s for s in range(6)], k=4, m=5)
    whole = look(y[1:]).board
    y[0, :, :, 1:] = np.nan
    thin = look(y).board
    assert thin.order == whole.order
    assert thin.rank_low.tolist() == whole.rank_low.tolist()
    assert thin.ahead[0, 1]
    assert "wins" not in look(y).findings[0].text
    y[0] = np.nan
    y[0, 2, 1, 3] = 60.0  # one score alone: nothing to compare it with
    assert look(y).board.gap == pytest.approx(whole.gap)


@pytest.mark.parametrize("seed", range(8))
def test_words_agree_with_the_board(seed: int) -> None:
    """'tied' never stands beside a lead, and nobody is said to be behind where ranges overlap."""
    made = look(drawn(20, [0, 1.5, 3], seed=seed))
    text, b = made.findings[0].text, made.board
    first, second = b.order[:2]
    assert text.startswith("Too close to call") != bool(b.ahead[first, second])
    assert "tied" not in text
    assert "behind" not in text
    assert bool(b.ahead[first, second]) == (int(b.may_be_best.sum()) == 1)
    if b.may_be_best.sum() > 2:
        assert "between three systems" in text


def test_ties_are_level_and_what_is_within_what_matters_is_ruled_out() -> None:
    y = drawn(30, [0, 0, -9])
    y[:, 1] = y[:, 0] + 1e-12  # the last bit is no lead
    text = look(y).findings[0].text
    assert text.startswith("Too close to call: s1 and s2 are level (0")
    assert (
        "A difference of 2 points between the two is ruled out, unless one of them fails on fewer than 1 in 10 tasks."
        in text
    )
    y = (np.random.default_rng(0).random((200, 2, 1, 1)) < 0.5).astype(float)
    y[:, 1] = np.roll(y[:, 0], 1)
    y[0, 1] = 1 - y[0, 1]  # half a percentage point, with an interval of 20
    found = systems(Panel.from_array(y, two_valued=True), matters=0.02, level=0.95, people=True).findings[0].text
    assert "are level (0 percentage points [" in found
    assert found.startswith("By the judge's scores it is too close to call: s")
    text = look(drawn(2000, [0.05, 0, -9])).findings[0].text
    assert "A difference of 2 points between the two is ruled out." in text
    assert "would settle" not in text


def test_a_judge_who_disagrees_is_said() -> None:
    y = drawn(80, [5, 0], m=5)
    y[:, 1, :, 2] += 12
    text = look(y).findings[0].text
    assert ", but judge J3 puts s2 first" in text
    assert "All five" not in text
    assert "every" not in text.lower()
    y[:, 1, :, 3:] += 30
    assert look(y).findings[0].text.startswith("s2 is ahead of s1")
    y = drawn(60, [5, 0], m=4)
    y[:, 1, :, 0] = y[:, 0, :, 0]  # a judge who sees a tie puts nobody first
    made = look(y)
    assert made.by_judge == (None, 0, 0, 0)
    assert ". 3 of 4 judges put it first, and it leads in all three languages." in made.findings[0].text


def test_languages_swap_places() -> None:
    y = drawn(80, [6, 0, -20])
    y[:, 1, 2] += 12
    made = look(y)
    row = made.swaps.iloc[0]
    assert len(made.swaps) == 1
    assert {row["first"], row["second"]} == {"s1", "s2"}
    assert row["language_b"] == "l3"
    assert row["gap_a"] > 0 > row["gap_b"]
    assert row["low_a"] > 0 > row["high_b"]
    found = next(f for f in made.findings if f.key == "systems.swap")
    assert found.severity == "warning"
    assert found.topic == "Winner"
    assert "l3" in found.text
    y[:, 1, 2] -= 12
    y[:, 2, 1] -= 9
    y[:, 0] += 40  # who wins is not concerned
    y[:, 2, 0] += 24
    quiet = next(f for f in look(y).findings if f.key == "systems.swap")
    assert quiet.topic == ""
    assert quiet.severity == "notice"


def test_the_winner_hangs_on_one_judge() -> None:
    y = drawn(80, [0, 1], m=4, noise=1.0)
    y[:, 0, :, 0] += 12
    text = look(y).findings[0].text
    assert "The lead depends on J1: without it, s2 leads by " in text
    assert " (by judge -" in text


def test_systems_that_share_nothing_are_not_compared() -> None:
    y = drawn(40, [5, 0, 3])
    y[:20, 2], y[20:, :2] = np.nan, np.nan
    made = look(y)
    assert np.isnan(made.board.gap[0, 2])
    assert made.board.order[0] == 0
    assert "No task joins s3 with the others, so it cannot be compared." in made.findings[0].text
    frame = made.frame.query("language == 'all'").set_index("system")
    assert frame.loc["s1", "rank_high"] == 2
    assert frame.loc["s3", ["rank_low", "rank_high"]].tolist() == [1, 3]


def test_few_tasks_have_no_interval_and_no_winner() -> None:
    made = look(drawn(5, [9, 0]))
    assert made.findings[0].text.endswith("Too few tasks compare them for an interval: at least 6 are needed.")
    assert not made.board.ahead.any()


def test_a_system_on_few_tasks_is_not_surely_anywhere() -> None:
    y = drawn(60, [0, 0, 30], k=2, m=2)
    y[5:, 2] = np.nan
    made = look(y)
    assert made.board.order[0] == 2
    assert np.isnan(made.board.low[2, 0])
    assert np.isfinite(made.board.low[0, 1])
    assert "Too few tasks compare them" in made.findings[0].text
    ranks = made.frame.query("language == 'all'").set_index("system").loc["s3", ["rank_low", "rank_high"]]
    assert ranks.tolist() == [1, 3]
    y[5:12, 2] = 80
    wide = look(y).board
    half = (wide.high - wide.low) / wide.need
    assert half[2, 0] > 1.1 * half[0, 1]  # as many degrees of freedom as tasks that compare them


def test_nothing_matters_too_little_to_be_settled() -> None:
    panel = Panel.from_array(drawn(20, [0, 0.1]), scale=(0, 100))
    text = systems(panel, matters=0.0, level=0.95).findings[0].text
    assert "settle" not in text


def test_nothing_hangs_on_order_or_the_last_bit() -> None:
    y = drawn(30, [0, 0.4, 0.8, 3], seed=4)
    one = look(y)
    g = np.random.default_rng(1)
    two = look(y[g.permutation(30)][:, :, :, ::-1] * (1 + 1e-15))
    assert one.board.order == two.board.order
    assert one.findings[0].text == two.findings[0].text
    assert one.board.low == pytest.approx(two.board.low, nan_ok=True)


def test_weights_of_judges() -> None:
    y = drawn(60, [0, 0], m=2)
    y[:, 0, :, 0] += 10
    y[:, 1, :, 1] += 10
    even, first, second = (look(y, weights=np.array(w)).board for w in ([0.5, 0.5], [1.0, 0.0], [0.1, 0.9]))
    assert first.order[0] == 0
    assert second.order[0] == 1
    assert first.gap[0, 1] == pytest.approx(y[:, 0, :, 0].mean() - y[:, 1, :, 0].mean())
    assert even.gap == pytest.approx(look(y).board.gap)
    assert look(y, weights=np.array([1.0, 0.0])).by_judge == (0, 1)
    y[0, 0, 0, 0] = np.nan
    assert look(y, weights=np.array([0.1, 0.9])).board.order[0] == 1


def test_numbers_are_those_of_a_spreadsheet() -> None:
    frame = pd.read_csv(shared_file("devai/run_level_scores.csv"))
    frame = frame.rename(columns={"backbone": "judge", "framework": "system"})
    found = look(Panel.from_frame(frame, scale=(0, 100))).frame.query("language == 'all'").set_index("system")
    cells = frame.groupby("system")["score"].mean()
    assert found["mean"].sort_index().tolist() == pytest.approx(cells.sort_index().tolist())
    assert found["behind_leader"].min() == pytest.approx(cells.min() - cells.max())


# --- plans ---


@pytest.mark.statistical
def test_so_many_tasks_do_settle_it() -> None:
    """The number of a pilot, and then a study of that size: it tells a difference of half of what matters in 80%."""
    reached = 0
    for seed in range(60):
        pilot: Board = look(drawn(30, [0, 0], k=1, m=3, seed=seed)).board
        n = int(np.ceil(settle(pilot.need[0, 1], pilot.q[0, 1], pilot.units, 1.0)))
        study = look(drawn(min(n, 4000), [1.0, 0], k=1, m=3, seed=1000 + seed)).board
        reached += bool(study.ahead[0, 1])
    assert reached >= 0.70 * 60


def test_a_system_that_was_never_scored_in_a_language_is_not_on_its_board() -> None:
    g = np.random.default_rng(0)
    y = g.normal(60, 4, (60, 5, 2, 3)) + np.array([0, 3, 6, 9, 12])[:, None, None]
    y[:30, :, 1], y[30:, :, 0] = np.nan, np.nan  # the languages share no tasks
    y[:, 3:, 0], y[:, 0, 1] = np.nan, np.nan
    found = systems(Panel.from_array(y, scale=(0, 100)), matters=2.0, level=0.95)
    boards = found.frame.groupby("language")["system"].apply(set)
    assert boards["l1"] == {"s1", "s2", "s3"}
    assert boards["l2"] == {"s2", "s3", "s4", "s5"}
    assert found.frame["rank_high"].max() == 5
    assert found.frame[found.frame["language"] == "l1"]["rank_high"].max() <= 3
    assert "leads in 1 of 2 languages" in next(f.text for f in found.findings if f.topic == "Winner")
