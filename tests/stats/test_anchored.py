"""The judges' error as draws over languages: on planted truth, with any holes."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.stats.anchored import (
    JudgeErrors,
    average_languages,
    draw_people,
    draw_spread,
    joined_systems,
    judge_means,
    limit_differences,
    measure_errors,
    predict_left_out,
)

LANGUAGES, SYSTEMS, TASKS = 6, 4, 150


def planted(
    seed: int = 0, labelled: int = 3, labels: int = 40, alike: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True means (languages, systems), judges' scores and people's labels (tasks, systems, languages)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 3, (1, SYSTEMS)) + rng.normal(0, 1, (LANGUAGES, SYSTEMS))
    answers = truth.T + rng.normal(0, 6, (TASKS, 1, 1)) + rng.normal(0, 4, (TASKS, SYSTEMS, LANGUAGES))
    error = rng.normal(0, 2, (SYSTEMS, 1)) + (0 if alike else rng.normal(0, 1.5, (SYSTEMS, LANGUAGES))) + 5
    judged = answers + error + rng.normal(0, 3, answers.shape)
    people = np.full(answers.shape, np.nan)
    for language in range(labelled):
        drawn = rng.permutation(TASKS)[:labels]
        people[drawn, :, language] = answers[drawn, :, language] + rng.normal(0, 2, (labels, SYSTEMS))
    return truth, judged, people


def fit(judged: np.ndarray, people: np.ndarray, unit: np.ndarray | None = None) -> tuple:
    unit = np.arange(TASKS) if unit is None else unit
    means = judge_means(judged, unit, np.ones(TASKS))
    return means, measure_errors(judged, people, unit, means)


def holds(truth: np.ndarray, judged: np.ndarray, people: np.ndarray, languages: list[int]) -> bool:
    means, measured = fit(judged, people)
    limits = limit_differences(draw_people(means, measured).differences, [languages])
    true = truth[languages, :, None] - truth[languages, None]
    inside = np.abs(limits.middle[languages] - true) <= limits.half_width[languages] + 1e-9
    return bool(inside[:, ~np.eye(SYSTEMS, dtype=bool)].all())


@pytest.mark.parametrize("languages", [[0, 1, 2], [3, 4, 5]])
def test_differences_hold_together_where_people_labelled_and_where_they_did_not(languages: list[int]) -> None:
    panels = [planted(seed) for seed in range(30)]
    assert sum(holds(*panel, languages) for panel in panels) >= 25
    judges_alone = [np.nanmean(judged, axis=0).T for _, judged, _ in panels]
    wrong = [np.abs(alone - truth).max() for alone, (truth, _, _) in zip(judges_alone, panels, strict=True)]
    assert min(wrong) > 4  # what the judges say is not what people say


def test_levels_are_corrected_too() -> None:
    truth, judged, people = planted(1)
    means, measured = fit(judged, people)
    draws = draw_people(means, measured).means
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert ((low <= truth) & (truth <= high)).mean() > 0.85
    assert np.abs(np.median(draws, axis=0) - truth).mean() < 0.6 * np.abs(means.mean - truth).mean()


def test_answers_labelled_one_by_one_count_as_much_as_they_tell() -> None:
    """Labels of single answers: what whole tasks tell of differences they tell too, less sharply."""
    _, judged, people = planted(2)
    means, whole = fit(judged, people)
    rng = np.random.default_rng(0)
    single = np.where(rng.random(people.shape) < 0.25, people, np.nan)
    _, some = fit(judged, single)
    ratio = np.trace(some.covariance[0]) / np.trace(whole.covariance[0])
    assert 2 < ratio < 8
    assert np.abs(some.error - whole.error).max() < 4
    width = [np.nanmean(limit_differences(draw_people(means, x).differences, [[0, 1, 2]]).half_width[:3])
             for x in (whole, some)]  # fmt: skip
    assert width[0] < width[1]


@pytest.mark.parametrize("labelled", [1, 2])
def test_one_or_two_languages_say_nothing_of_the_others(labelled: int) -> None:
    _, judged, people = planted(3, labelled)
    means, measured = fit(judged, people)
    draws = draw_people(means, measured)
    assert np.isfinite(draws.differences[:, :labelled]).all()
    assert np.isnan(draws.differences[:, labelled:]).all()
    assert np.isnan(draws.level[:, labelled:]).all()
    assert predict_left_out(measured) == []


def test_of_one_language_nothing_is_shrunk() -> None:
    _, judged, people = planted(4, 1)
    means, measured = fit(judged, people)
    draws = draw_people(means, measured).differences[:, 0]
    estimate = means.mean[0] - measured.error[0]
    got = np.median(draws, axis=0)
    assert got - got.mean() == pytest.approx(estimate - estimate.mean(), abs=0.15)


def test_a_system_that_a_language_lacks_is_left_out_there() -> None:
    _, judged, people = planted(5)
    judged[:, 2, 0] = people[:, 2, 0] = np.nan  # in a labelled language
    judged[:, 1, 4] = np.nan
    people[:, 3, 1] = np.nan  # scored there, and not labelled
    means, measured = fit(judged, people)
    draws = draw_people(means, measured)
    limits = limit_differences(draws.differences, [[0, 1, 2], [3, 4, 5]])
    assert np.isnan(limits.middle[0, 2]).all()
    assert np.isnan(limits.middle[4, 1]).all()
    assert np.isfinite(limits.middle[1, 3, :3]).all()  # carried over from the other languages
    assert limits.half_width[1, 3, 0] > 1.5 * limits.half_width[1, 1, 0]
    overall = average_languages(draws.differences)
    assert np.isfinite(overall).all()
    assert len(predict_left_out(measured)) == 3


def test_a_system_without_labels_is_not_known() -> None:
    _, judged, people = planted(6)
    people[:, 3] = np.nan
    means, measured = fit(judged, people)
    limits = limit_differences(draw_people(means, measured).differences, [[0, 1, 2], [3, 4, 5]])
    assert not limits.known[:, 3].any()
    assert limits.known[:, :3].all()
    assert (limits.rank_high[:, :3] <= 3).all()


def test_systems_are_compared_through_others() -> None:
    cells = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    assert joined_systems(cells).tolist() == [True, True, True, False]
    _, judged, people = planted(7)
    people[:, 2:, 0] = people[:, 0, 1] = people[:, 3, 1:] = np.nan
    means, measured = fit(judged, people)
    draws = draw_people(means, measured).differences
    assert np.isfinite(draws[:, 5, :3]).all()
    assert np.isnan(draws[:, 5, 3]).all()
    # two languages of two systems each compare three systems once: nothing tells how languages differ
    people[:, 0, 2] = np.nan
    means, measured = fit(judged, people)
    assert np.isnan(draw_people(means, measured).differences[:, 5]).all()


def test_labels_of_the_same_tasks_do_not_average_out() -> None:
    """An error of the labels that all languages share is in their mean, however many languages there are."""
    rng = np.random.default_rng(8)
    _, judged, _ = planted(8, alike=True)
    people = np.full(judged.shape, np.nan)
    drawn = rng.permutation(TASKS)[:30]
    people[drawn] = judged[drawn] + rng.normal(0, 5, (30, SYSTEMS, 1))
    _, together = fit(judged, people)
    people[drawn] = judged[drawn] + rng.normal(0, 5, (30, SYSTEMS, LANGUAGES))
    _, apart = fit(judged, people)
    assert together.shared[0] > 0.5 * together.covariance[0, 0, 0]
    assert apart.shared[0] < 0.3 * apart.covariance[0, 0, 0]


def test_clusters_count_as_one() -> None:
    rng = np.random.default_rng(9)
    _, judged, people = planted(9, labelled=1, labels=TASKS)
    unit = np.arange(TASKS) // 5
    people[:, :, 0] += rng.normal(0, 8, (TASKS // 5, SYSTEMS)).repeat(5, axis=0)
    _, by_task = fit(judged, people)
    _, by_cluster = fit(judged, people, unit)
    assert by_cluster.covariance[0, 0, 0] > 3 * by_task.covariance[0, 0, 0]


def test_the_spread_between_languages_is_drawn_from_its_chi_square() -> None:
    rng = np.random.default_rng(10)
    error = rng.normal(0, 2, (40, 5))
    covariance = np.tile(0.01 * np.eye(5), (40, 1, 1))
    measured = JudgeErrors(
        np.arange(40), error, covariance, (0.0, 0.0), np.zeros(40), np.ones(40), freedom=1000.0, control_weight=1.0
    )
    spread = np.sqrt(draw_spread(measured, np.ones(4000), rng))
    assert np.median(spread) == pytest.approx(2, abs=0.25)
    assert 0.05 < spread.std() < 0.2


def test_languages_that_are_alike_predict_each_other() -> None:
    _, judged, people = planted(11, labelled=6)
    _, measured = fit(judged, people)
    assert sum(predict_left_out(measured)) >= 5
    judged[:, 0, 5] += 60  # the judges favour one system in one language
    _, measured = fit(judged, people)
    assert not predict_left_out(measured)[5]


def test_the_same_seed_gives_the_same_answer() -> None:
    _, judged, people = planted(12)
    means, measured = fit(judged, people)
    one, again, other = (draw_people(means, measured, seed=seed).differences for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_too_few_labels_measure_nothing() -> None:
    _, judged, people = planted(13, labelled=1, labels=5)
    assert fit(judged, people)[1] is None


def test_labels_that_are_all_alike_are_not_exact() -> None:
    """Twenty passes where judges say pass: the next label may be another."""
    judged = np.ones((TASKS, SYSTEMS, LANGUAGES))
    judged[::9] = 0.0
    people = np.full(judged.shape, np.nan)
    people[1:9, :, :3] = 1.0
    means, measured = fit(judged, people)
    limits = limit_differences(draw_people(means, measured).differences, [[0, 1, 2]])
    assert (limits.half_width[0, 0, 1:] > 0.02).all()


def test_systems_that_are_the_same_are_level() -> None:
    _, judged, people = planted(14)
    judged[:, 1], people[:, 1] = judged[:, 0], people[:, 0]
    means, measured = fit(judged, people)
    limits = limit_differences(draw_people(means, measured).differences, [[0, 1, 2]])
    assert not limits.ahead[:3, 0, 1].any()
    assert not limits.ahead[:3, 1, 0].any()
