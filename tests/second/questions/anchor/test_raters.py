"""Annotators first: alpha, kappa, consistency and severity, against plain computations and planted annotators."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from conftest import shared_file
from polyjudge.second.panel.gold import Gold, Ratings, align_gold
from polyjudge.second.questions.anchor import annotators
from polyjudge.second.questions.anchor.raters import _kappa
from polyjudge.second.report import report_of


def _labels(seed: int, severity: list[float], n: int = 80, k: int = 3, share: float = 0.5, noise: float = 6.0) -> tuple[
    pj.Panel, pd.DataFrame
]:  # fmt: skip
    """Three annotators in each of k languages; those of the first have a planted severity."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(10, 90, (n, k))
    panel = pj.Panel.from_array(truth[..., None] + rng.normal(0, 10, (n, k, 2)), declared_range=(-50, 150))
    rows = []
    for t in range(n):
        for i in range(k):
            who = range(3) if rng.random() < share else [int(rng.integers(3))]
            for a in who:
                value = truth[t, i] + rng.normal(0, noise) + (severity[a] if i == 0 else 0.0)
                rows.append((panel.tasks[t], panel.languages[i], f"{panel.languages[i]}-{a}", value))
    return panel, pd.DataFrame(rows, columns=["task", "language", "annotator", "score"])


def _plain_alpha(units: list[list[float]], distance: object) -> float:
    """Krippendorff's alpha from the coincidences of all values, as defined."""
    units = [u for u in units if len(u) > 1]
    n = sum(map(len, units))
    observed = sum(2 * sum(distance(a, b) for a, b in combinations(u, 2)) / (len(u) - 1) for u in units) / n  # type: ignore[operator]
    every = [x for u in units for x in u]
    expected = 2 * sum(distance(a, b) for a, b in combinations(every, 2)) / (n * (n - 1))  # type: ignore[operator]
    return 1 - observed / expected


def test_alpha_is_krippendorffs_for_numbers_and_for_levels() -> None:
    panel, labels = _labels(0, [0, 0, 0], n=25, k=1)
    found = annotators(panel, align_gold(panel, labels), resamples=50)
    units = labels.groupby("task")["score"].apply(list).tolist()
    assert found.alpha[0] == pytest.approx(_plain_alpha(units, lambda a, b: (a - b) ** 2))
    levels = labels.assign(score=(labels["score"] / 30).round() * 30)
    found = annotators(panel, align_gold(panel, levels), resamples=50)
    units = levels.groupby("task")["score"].apply(list).tolist()
    every = np.array([x for u in units for x in u])  # ordinal: ranks from all labels, singles included

    def ordinal(a: float, b: float) -> float:
        low, high = sorted((a, b))
        between = ((every >= low) & (every <= high)).sum()
        return float(between - ((every == low).sum() + (every == high).sum()) / 2) ** 2 if a != b else 0.0

    assert found.alpha[0] == pytest.approx(_plain_alpha(units, ordinal))
    assert found.alpha[1] < found.alpha[0] < found.alpha[2]


def test_kappa_is_cohens_with_quadratic_weights() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 60)
    b = np.where(rng.random(60) < 0.6, a, rng.integers(0, 3, 60))
    table = np.zeros((3, 3))
    np.add.at(table, (a, b), 1)
    w = (np.arange(3)[:, None] - np.arange(3)) ** 2
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / 60
    value, low, high = _kappa(a.astype(float), b.astype(float))
    assert value == pytest.approx(1 - (w * table).sum() / (w * expected).sum())
    assert low < value < high


@pytest.mark.statistical
def test_a_severe_annotator_is_found_and_others_are_not() -> None:
    hits = wrong = 0
    for seed in range(25):
        panel, labels = _labels(seed, [-20.0, 0.0, 0.0])
        gold = align_gold(panel, labels)
        table = annotators(panel, gold, panel.scores.mean(axis=2), resamples=20).table
        odd = table[table["odd"] != ""]
        hits += "language1-0" in odd.loc[odd["odd"] == "harsh", "annotator"].tolist()
        wrong += (~odd["language"].eq("language1")).sum()
        mine = table.set_index("annotator").loc["language1-0"]
        assert mine["low"] < mine["severity"] < mine["high"]
    assert hits >= 24
    assert wrong <= 2


@pytest.mark.statistical
def test_noisy_languages_give_no_false_alarm_and_quiet_ones_show_who_is_harsh() -> None:
    """Three annotators in each of nine languages, a third of them very noisy, a third quiet. With one noise for all,
    20% of panels had somebody named without cause, and 15 points in a quiet language were never named."""
    n, k, a, noise = 50, 9, 3, np.tile([8.0, 20.0, 40.0], 3)
    t, i, who = (x.ravel() for x in np.indices((n, k, a)))
    names = tuple(map(str, range(k * a)))
    alarms = hits = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        truth = rng.normal(0, 15, (n, k))
        panel = pj.Panel.from_array(truth[..., None] + rng.normal(0, 10, (n, k, 2)), declared_range=(-100, 100))
        values = truth[..., None] + noise[:, None] * rng.normal(size=(n, k, a))
        values[:, 0, 0] -= 15.0
        asked = ((rng.random((n, k)) < 0.5)[..., None] | (np.arange(a) == rng.integers(a, size=(n, k, 1)))).ravel()
        one = Ratings(
            task=t[asked], language=i[asked], annotator=(i * a + who)[asked], value=values.ravel()[asked],
            again=np.zeros(asked.sum(), bool), names=names,
        )  # fmt: skip
        mean = np.nanmean(np.where(asked.reshape(n, k, a), values, np.nan), axis=2)
        gold = Gold("score", mean, panel.languages, ratings=one)
        found = annotators(panel, gold, truth * 0, resamples=1)
        assert found is not None
        odd = found.table[found.table["odd"].isin(["harsh", "mild"])]
        hits += "0" in odd["annotator"].tolist()
        alarms += odd["language"].ne("language1").any()
    assert alarms <= 3
    assert hits >= 12


@pytest.mark.statistical
def test_many_annotators_with_few_shared_items_are_not_called_noisy_by_chance() -> None:
    """Thirty who follow each other loosely on few shared items: a limit for each alone named somebody in 30% of panels.
    One who answers at random is still found where items are many."""

    def noisy(seed: int, n: int, loose: float, at_random: bool) -> list[str]:
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(n, 10, 1)) + loose * rng.normal(size=(n, 10, 3))
        values[:, 0, 0] = rng.normal(size=n) if at_random else values[:, 0, 0]
        t, i, a = (x.ravel() for x in np.indices(values.shape))
        panel = pj.Panel.from_array(rng.normal(50, 10, (n, 10, 2)))
        ratings = Ratings(task=t, language=i, annotator=3 * i + a, value=values.ravel(), again=t < 0,
                          names=tuple(map(str, range(30))))  # fmt: skip
        found = annotators(panel, Gold("score", values.mean(axis=2), panel.languages, ratings=ratings), resamples=1)
        assert found is not None
        return found.table.loc[found.table["odd"] == "noisy", "annotator"].tolist()

    assert sum(bool(noisy(seed, 8, 1.5, False)) for seed in range(20)) <= 2
    assert all(noisy(seed, 120, 0.5, True) == ["0"] for seed in range(4))


@pytest.mark.statistical
def test_severity_is_the_planted_one_with_an_interval_that_covers() -> None:
    held, spreads = [], []
    for seed in range(60):
        panel, labels = _labels(100 + seed, [6.0, -3.0, -3.0], share=0.4)
        found = annotators(panel, align_gold(panel, labels), panel.scores.mean(axis=2), resamples=20)
        mine = found.table[found.table["language"] == "language1"].sort_values("annotator")
        held.append(((mine["low"] <= [6, -3, -3]) & (mine["high"] >= [6, -3, -3])).mean())
        spreads.append(found.spread[0] ** 2)
    assert np.mean(held) >= 0.92
    assert np.mean(spreads) == pytest.approx((36 + 9 + 9) / 2 / 3, rel=0.25), "pooled over three languages"


def test_own_consistency_is_counted_on_second_looks() -> None:
    panel, labels = _labels(3, [0, 0, 0], n=30)
    labels["score"] = (labels["score"] > 50) * 100.0
    mine = labels[labels["annotator"] == "language1-0"].head(8)
    again = mine.assign(score=np.where(np.arange(8) < 6, mine["score"], 100 - mine["score"]))
    found = annotators(panel, align_gold(panel, pd.concat([labels, again])), resamples=20).table.set_index("annotator")
    row = found.loc["language1-0"]
    assert (row["looks"], row["same"]) == (8, 0.75)
    assert 0.3 < row["same_low"] < 0.75 < row["same_high"] < 1
    assert found.loc["language2-0", "looks"] == 0


def test_labels_of_nobody_in_particular_have_no_annotators() -> None:
    panel, labels = _labels(4, [0, 0, 0])
    one = labels.groupby(["task", "language"], as_index=False)["score"].mean()
    assert annotators(panel, align_gold(panel, one)) is None
    result = pj.anchor(panel, one, resamples=20)
    assert result.raters is None
    assert result.humans is not None


@pytest.fixture(scope="module")
def pariksha() -> tuple[pj.Panel, pd.DataFrame]:
    scores = pd.read_csv(Path(shared_file("data/pariksha/judge_scores.csv.gz"))).query("criterion == 'task'")
    labels = pd.read_csv(Path(shared_file("data/pariksha/human_labels.csv.gz")))
    labels = labels[["task", "system", "language", "annotator", "task_quality"]]
    panel = pj.read_panel(scores.drop(columns=["type", "criterion"]), range=(0, 2))
    return panel, labels.rename(columns={"task_quality": "score"})


def test_on_pariksha_the_first_screen_says_that_it_may_be_the_annotators(
    pariksha: tuple[pj.Panel, pd.DataFrame],
) -> None:
    """One judge, languages with tasks of their own; annotators of a language differ as much as languages do."""
    result = pj.anchor(*pariksha, resamples=50)
    assert result.raters is not None
    assert result.humans is not None
    assert 50 * result.raters.spread[0] == pytest.approx(11.2, abs=1.2)
    assert 50 * result.humans.between == pytest.approx(7.4, abs=1.0)
    assert result.humans.by_annotators
    report = str(result)
    assert report.index("annotators agree") < report.index("Against them")
    from polyjudge.second.report import report_of

    said = report_of(result)
    assert said is not None
    codes = [getattr(s, "code", "") for s in said.verdict]
    assert codes.index("raters.explained") < codes.index("humans.error")
    assert not any("calibrate" in step.command for step in said.next), "nobody is sent to correct by it"
    assert "--link" in said.next[0].command
    assert result.humans.table["weight"].mean() < 0.5, "shrinkage knows their variance"
    assert len(result.humans.board) == 30  # type: ignore[arg-type]
    panel, labels = pariksha
    said_first = pj.AnchoredCalibrator().fit(panel, labels).cautions(panel)[0]
    assert said_first.code == "calibrate.annotators"
    assert said_first.values["share"] >= 0.25


def test_on_rtplx_the_labels_remove_what_no_panel_sees() -> None:
    scores = pd.read_csv(Path(shared_file("data/rtplx/judge_scores.csv.gz"))).query("category == 'IdentityAttack'")
    labels = pd.read_csv(Path(shared_file("data/rtplx/human_labels.csv.gz"))).query("category == 'IdentityAttack'")
    some = labels[labels["task"].isin(sorted(labels["task"].unique())[::19])]
    panel = pj.read_panel(scores.drop(columns="category"), range=(0, 100))
    result = pj.anchor(panel, some.drop(columns="category").rename(columns={"label": "score"}), resamples=50)
    humans = result.humans
    assert humans is not None
    assert humans.between == pytest.approx(12.1, abs=2.5)
    assert not humans.by_annotators
    assert humans.fall.removed[0] > 0.8
    assert humans.free is not None
    assert humans.free[0] < 0.2
    assert humans.judges.set_index(["language", "judge"]).loc[("(all)", "GPT-4"), "best"]


def linked_labels(seed: int, link: bool) -> tuple[pj.Panel, pd.DataFrame, Any, Any]:
    """Six languages with three annotators each, who differ in severity; people who read the first language and another
    one; the panel's true error by language, and what the annotators of each make of it."""
    rng = np.random.default_rng(seed)
    n, k = 120, 6
    truth = rng.normal(60, 10, (n, k))
    error = rng.normal(0, 4, k)
    panel = pj.Panel.from_array((truth + error)[..., None] + rng.normal(0, 4, (n, k, 3)), declared_range=(-50, 170))
    severity = rng.normal(0, 8, (k, 3))
    rows = []

    def asked(i: int, tasks: Any, who: str, harsh: float) -> None:
        for t in tasks:
            rows.append((panel.tasks[t], panel.languages[i], who, truth[t, i] + harsh + rng.normal(0, 3)))

    for i in range(k):
        for a in range(3):
            asked(i, range(60) if a == 0 else range(30), f"{i}-{a}", severity[i, a])
        if link and i:
            harsh = rng.normal(0, 8)
            asked(0, range(15), f"link-{i}", harsh)
            asked(i, range(15), f"link-{i}", harsh)
    frame = pd.DataFrame(rows, columns=["task", "language", "annotator", "score"])
    return panel, frame, error - error.mean(), severity


@pytest.mark.statistical
def test_people_who_read_two_languages_tell_severity_from_language() -> None:
    squares: dict[bool, list[float]] = {True: [], False: []}
    inside = []
    for seed in range(12):
        for link in squares:
            panel, frame, error, _ = linked_labels(seed, link)
            result = pj.anchor(panel, frame, contradictions="mean", resamples=10)
            assert result.humans is not None
            assert result.raters is not None
            table = result.humans.table[result.humans.table["judge"] == "panel mean"]
            found = table["shift"].to_numpy()
            squares[link].append(float(((found - found.mean() - error) ** 2).mean()))
            assert result.raters.by_language["linked"].all() == link
            verdict = [getattr(s, "code", "") for s in report_of(result).verdict]  # type: ignore[union-attr]
            assert ("raters.linked" in verdict) == link
            if link:
                off = (table["error"] - table["error"].mean() - error).abs()
                inside.append((off <= (table["error_high"] - table["error_low"]) / 2).mean())
    assert np.mean(squares[True]) < 0.3 * np.mean(squares[False])
    assert np.mean(inside) > 0.9


def test_calibrating_by_linked_labels_takes_severity_off() -> None:
    left = {}
    for link in (True, False):
        panel, frame, error, _ = linked_labels(3, link)
        cal = pj.AnchoredCalibrator(map="shift", pool=False).fit(panel, frame)
        left[link] = float(((cal.shift_ - cal.shift_.mean() - error) ** 2).mean())
    assert left[True] < 0.5 * left[False]
