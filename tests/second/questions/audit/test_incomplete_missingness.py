"""The missingness report: rates, tests that hold their level and find what is planted, and the sensitivity range."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import polyjudge.second as pj
from polyjudge.second.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit import missingness
from refusals import refused


def drop(seed: int, rates: np.ndarray, tasks: int = 60) -> pj.Panel:
    panel, _ = pj.simulate_panel(tasks, 4, 3, seed=seed)
    rng = np.random.default_rng(seed)
    # Some tasks fail more often than others, whatever the cell.
    frailty = rng.gamma(2, 0.5, (tasks, 1, 1))
    return pj.Panel.from_array(
        np.where(rng.random(panel.shape) < np.minimum(rates * frailty, 0.9), np.nan, panel.scores)
    )


def test_rates() -> None:
    panel = drop(1, np.full((4, 3), 0.1))
    report = missingness(panel, draws=50)
    gone = np.isnan(panel.scores)
    assert report.missing == gone.sum()
    assert report.rate == pytest.approx(gone.mean())
    np.testing.assert_array_equal(report.cells["missing"].to_numpy().reshape(4, 3), gone.sum(axis=0))
    np.testing.assert_allclose(report.cells["rate"].to_numpy().reshape(4, 3), gone.mean(axis=0))
    assert report.to_dict()["p_cell"] == report.p_cell


@pytest.mark.statistical
def test_level_and_power() -> None:
    even = np.full((4, 3), 0.08)
    margins = np.outer([1, 1, 3, 1], [1, 2, 1]) * 0.04
    planted = even.copy()
    planted[2, 1] = 0.5
    found = {"even": [], "margins": [], "planted": []}  # type: dict[str, list[tuple[float, float]]]
    for seed in range(40):
        for name, rates in (("even", even), ("margins", margins), ("planted", planted)):
            report = missingness(drop(seed, rates), draws=99, seed=seed)
            assert report.p_cell is not None
            assert report.p_interaction is not None
            found[name].append((report.p_cell, report.p_interaction))
    share = {name: (np.array(p) < 0.05).mean(axis=0) for name, p in found.items()}
    assert share["even"].max() <= 0.15
    assert share["margins"][0] > 0.8
    assert share["margins"][1] <= 0.15
    assert share["planted"].min() >= 0.8


def test_a_system_that_was_not_run_in_a_language_is_no_failed_call() -> None:
    panel, _ = pj.simulate_panel(40, 3, 4, systems=3, seed=1)
    scores = np.array(panel.system_scores)
    scores[:, 0, 1] = np.nan  # not run in language2
    scores[5, 2, 0] = np.nan  # one answer that was lost before it was judged
    absent = missingness(pj.Panel.from_array(scores, systems=panel.systems), draws=20)
    told = next(note.values for note in absent.notes if note.code == "missing.unanswered")
    assert (absent.missing, told["unanswered"]) == (0, 41)
    assert told["absent"] == (("system1", "language2"),)
    assert absent.p_cell is None
    scores[:25, 1, 2, 3] = np.nan  # failed calls of one judge in one language
    report = missingness(pj.Panel.from_array(scores, systems=panel.systems), draws=99)
    cells = report.cells.set_index(["language", "judge"])
    assert report.missing == cells.loc[("language3", "judge4"), "missing"] == 25
    assert report.entries == 4 * (3 * 40 * 3 - 41)
    assert cells.loc[("language2", "judge1"), "tasks"] == 80
    assert report.p_cell is not None
    assert report.p_cell <= 0.01
    first, last = report.notes[0], report.notes[-1]
    assert (first.code, first.values["language"], first.values["judge"]) == ("missing.together", "language3", "judge4")
    assert (last.code, last.values["absent"]) == ("missing.unanswered", (("system1", "language2"),))


def test_words_name_the_cell() -> None:
    rates = np.full((4, 3), 0.03)
    rates[2, 1] = 0.5
    report = missingness(drop(3, rates), draws=199)
    (note,) = report.notes
    assert note.code == "missing.together"
    assert (note.values["judge"], note.values["language"]) == ("judge2", "language3")


def test_the_sensitivity_range_is_what_imputing_gives() -> None:
    """Fill the holes of one cell with their fitted value plus a shift and fit the full panel again."""
    panel, _ = pj.simulate_panel(40, 3, 4, seed=2)
    scores = panel.scores.copy()
    scores[:15, 1, 2] = np.nan
    holed = pj.Panel.from_array(scores)
    report = missingness(holed, draws=20, shift=6.0)
    row = report.cells.query("language == 'language2' and judge == 'judge3'").iloc[0]
    estimate = estimate_interaction(holed)
    filled = scores.copy()
    rest = filled - estimate.interaction
    for t in range(15):  # the additive fit of the task's other entries
        use = np.ones((3, 4), bool)
        use[1, 2] = False
        l, b = np.nonzero(use)  # noqa: E741
        x = np.zeros((len(l), 7))
        x[np.arange(len(l)), l] = x[np.arange(len(l)), 3 + b] = 1
        fit = np.linalg.lstsq(x, rest[t][use], rcond=None)[0]
        filled[t, 1, 2] = fit[1] + fit[3 + 2] + estimate.interaction[1, 2]
    np.testing.assert_allclose(
        pj.ConsensusCalibrator().fit(pj.Panel.from_array(filled)).interaction_, estimate.interaction
    )
    filled[:15, 1, 2] += 6
    moved = pj.ConsensusCalibrator().fit(pj.Panel.from_array(filled)).interaction_.to_numpy()[1, 2]
    half = stats.t.ppf(0.975, row["tasks"] - row["missing"] - 1) * estimate.se[1, 2]  # and the interval around it
    assert row["sensitivity_high"] == pytest.approx(moved + half)


def test_noise_sd() -> None:
    panel, _ = pj.simulate_panel(300, 5, 4, seed=1, noise_sd=7, missing=0.2)
    assert estimate_interaction(panel).noise_sd == pytest.approx(7, rel=0.04)
    full, _ = pj.simulate_panel(50, 5, 4, seed=1)
    forced = InteractionEstimate(full, "paired")
    assert forced.noise_sd == pytest.approx(estimate_interaction(full).noise_sd)


def test_complete_unidentified_and_empty_tasks() -> None:
    full, _ = pj.simulate_panel(10, 3, 3)
    report = missingness(full)
    assert report.p_cell is None
    assert [n.code for n in report.notes] == ["missing.none"]
    scores = full.scores.copy()
    scores[:, 2, 1:] = np.nan
    lonely = missingness(pj.Panel.from_array(scores), draws=20)
    assert "interaction" not in lonely.cells
    whole = full.scores.copy()
    whole[0] = np.nan
    assert missingness(pj.Panel.from_array(whole), draws=20).p_cell == 1.0


def test_same_seed_same_answer_and_bad_arguments() -> None:
    panel = drop(5, np.full((4, 3), 0.1))
    assert missingness(panel, draws=50, seed=3).p_cell == missingness(panel, draws=50, seed=3).p_cell
    with refused(UsageError, "draws", 0):
        missingness(panel, draws=0)
    with refused(UsageError, "shift", -1):
        missingness(panel, shift=-1)


@pytest.mark.statistical
@pytest.mark.parametrize("holder", ["judge", "language", "cell"])
def test_holes_of_one_holder_are_tested_and_the_range_covers(holder: str) -> None:
    """Scores below a bound of one judge, language or cell are lost: never without a test, never reassuring."""
    covered, codes = [], set()
    for seed in range(30):
        panel, truth = pj.simulate_panel(60, 4, 4, seed=seed)
        scores = panel.scores.copy()
        part = {"judge": np.s_[:, :, 1], "language": np.s_[:, 2], "cell": np.s_[:, 2, 1]}[holder]
        view = scores[part]
        view[view < np.quantile(view, 0.1)] = np.nan
        found = missingness(pj.Panel.from_array(scores), draws=49)
        assert found.p_interaction is not None
        codes |= {note.code for note in found.notes}
        planted = truth.interaction.to_numpy().ravel()
        covered.append((found.cells["sensitivity_low"] <= planted) & (planted <= found.cells["sensitivity_high"]))
    assert np.mean(covered) >= 0.95
    assert not codes & {"missing.even", "missing.margins"}
