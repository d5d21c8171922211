"""Rows V1 to V4 of scenarios.csv: people's board on planted truth (METHODS 39)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from polyjudge.answers.humans.board import PeopleBoard, people_board
from polyjudge.answers.humans.compare import sides_of
from polyjudge.calibrate.labelled import labelled
from polyjudge.panel import Panel
from polyjudge.stats.anchored import Differences, draw_people, limit_differences
from polyjudge.stats.anchored_votes import LanguageVotes, judge_strengths, measure_vote_errors, shares_of_strengths
from polyjudge.stats.bradley_terry import Games, fit_strengths
from validation.designs import draw, happened

Held = list[tuple[str, bool]]
TASKS, JUDGES = 200, 5
TASK_SD, LANGUAGE_SD, ANSWER_SD, JUDGE_SD, LABEL_SD = 12.0, 3.0, 5.0, 5.0, 3.0
LIKERT_CUTS = (30.0, 43.0, 57.0, 70.0)
"""Where a score from 1 to 5 changes."""
DESIGN: dict[str, tuple[Any, ...]] = {
    "labels": (30, 60, 100),
    "systems": (3, 5, 10),
    "noise": ("normal", "Likert", "pass/fail"),
    "judges favour": ("nobody", "a system"),
    "languages": ("alike", "unlike"),
    "labelled": ("tasks", "answers"),
}


@dataclass(frozen=True)
class Planted:
    """What people would give (systems, languages + overall), and the board that was made of some labels."""

    truth: np.ndarray[Any, Any]
    board: PeopleBoard


def plant(seed: int, design: dict[str, Any], n_languages: int, labels_in: str) -> Planted:
    """A board whose truth is known."""
    rng = np.random.default_rng([seed, 39])
    n_systems = int(design["systems"])
    n_labelled = {"2": 2, "3": 3, "half": max(n_languages // 2, 2)}[labels_in]
    n_labelled = min(n_labelled, n_languages)
    quality = rng.normal(0, 3, (n_systems, 1)) + rng.normal(0, 1.5, (n_systems, n_languages))
    spread = 0.3 if design["languages"] == "alike" else 2.0
    error = rng.normal(0, 1.5, (n_systems, 1)) + rng.normal(0, spread, (n_systems, n_languages))
    error = error + rng.normal(0, 3, n_languages)
    if design["judges favour"] == "a system":
        error[0] += 6
    task = rng.normal(0, TASK_SD, (TASKS, 1, 1)) + rng.normal(0, LANGUAGE_SD, (TASKS, 1, n_languages))
    answer = 50 + quality + task + rng.normal(0, ANSWER_SD, (TASKS, n_systems, n_languages))
    judged = answer[..., None] + error[..., None] + rng.normal(0, JUDGE_SD, (*answer.shape, JUDGES))
    people = answer + rng.normal(0, LABEL_SD, answer.shape)
    noise = str(design["noise"])
    panel = Panel.from_array(
        _as_scores(judged, noise),
        systems=[f"s{i}" for i in range(n_systems)],
        languages=[f"l{i}" for i in range(n_languages)],
        scale={"normal": (0.0, 100.0), "Likert": (1.0, 5.0), "pass/fail": (0.0, 1.0)}[noise],
    )
    is_labelled = _drawn(rng, answer.shape, n_labelled, int(design["labels"]), str(design["labelled"]))
    frame = _table(panel, _as_scores(people, noise), is_labelled)
    board = people_board(panel, sides_of(panel, labelled(panel, frame)), seed=seed)
    assert board is not None
    truth = _true_means(50 + quality, noise)
    in_mean = truth if board.tells_others else truth[:, board.labelled]
    return Planted(np.hstack([truth, in_mean.mean(axis=1, keepdims=True)]), board)


def _as_scores(values: Any, noise: str) -> Any:
    """Values as they are, from 1 to 5, or pass and fail."""
    if noise == "normal":
        return values
    if noise == "Likert":
        return 1.0 + sum((values > cut).astype(float) for cut in LIKERT_CUTS)
    return (values > 50).astype(float)


def _true_means(value: Any, noise: str) -> Any:
    """The mean label of very many answers whose mean value is this."""
    sd = float(np.sqrt(TASK_SD**2 + LANGUAGE_SD**2 + ANSWER_SD**2 + LABEL_SD**2))
    if noise == "normal":
        return value
    if noise == "Likert":
        return 1.0 + sum(ndtr((value - cut) / sd) for cut in LIKERT_CUTS)
    return ndtr((value - 50) / sd)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], n_labelled: int, labels: int, what: str) -> Any:
    """Which answers people label: so many tasks with all their systems, or so many single answers."""
    is_labelled = np.zeros(shape, dtype=bool)
    for language in range(n_labelled):
        if what == "tasks":
            is_labelled[rng.permutation(TASKS)[:labels], :, language] = True
        else:
            chosen = rng.permutation(shape[0] * shape[1])[:labels]
            is_labelled[chosen // shape[1], chosen % shape[1], language] = True
    return is_labelled


def _table(panel: Panel, people: Any, is_labelled: Any) -> pd.DataFrame:
    task, system, language = np.nonzero(is_labelled)
    names = [np.array(x, dtype=object) for x in (panel.tasks, panel.systems, panel.languages)]
    return pd.DataFrame({
        "task": names[0][task], "system": names[1][system], "language": names[2][language],
        "label": people[task, system, language],
    })  # fmt: skip


def _all_hold(planted: Planted, languages: list[int]) -> bool:
    """Whether all differences between systems in these languages lie inside their limits."""
    limits, truth = planted.board.limits, planted.truth
    for language in languages:
        true = truth[:, None, language] - truth[None, :, language]
        beyond = np.abs(limits.middle[language] - true) > limits.half_width[language] + 1e-9
        if bool((beyond & ~np.eye(len(truth), dtype=bool)).any()):
            return False
    return True


def labelled_boards(seed: int) -> Held:
    """V1: all differences of the boards of labelled languages at once."""
    design = draw(seed, n_languages=(2, 4, 6, 12), labels_in=("2", "3", "half"), **DESIGN)
    planted = plant(seed, design, design["n_languages"], design["labels_in"])
    return happened(design, _all_hold(planted, planted.board.labelled))


def unlabelled_boards(seed: int) -> Held:
    """V2: all differences of the boards of languages without labels at once."""
    design = draw(seed, n_languages=(6, 12), labels_in=("3", "half"), **DESIGN)
    planted = plant(seed, design, design["n_languages"], design["labels_in"])
    return happened(design, _all_hold(planted, planted.board.unlabelled))


def sure_and_wrong(seed: int) -> Held:
    """V3: some system is said to be ahead, in a language or overall, that people put behind."""
    design = draw(seed, n_languages=(2, 4, 6, 12), labels_in=("2", "3", "half"), **DESIGN)
    planted = plant(seed, design, design["n_languages"], design["labels_in"])
    truth = planted.truth.T
    is_behind = truth[:, :, None] < truth[:, None, :] - 1e-9
    return happened(design, bool((planted.board.limits.ahead & is_behind).any()))


CLAIMS: dict[str, Callable[[int], Held]] = {"V1": labelled_boards, "V2": unlabelled_boards, "V3": sure_and_wrong}


# --- votes on pairs ---


@dataclass(frozen=True)
class PlantedVotes:
    """True shares of wins (languages, systems), limits of their differences, and the languages with votes."""

    shares: np.ndarray[Any, Any]
    limits: Differences
    labelled: list[int]


VOTES: dict[str, tuple[Any, ...]] = {
    "votes": (100, 200), "n_languages": (4, 6), "systems": (4, 6), "labels_in": ("2", "3", "half"),
}  # fmt: skip
PAIRS, TIES_OF_PEOPLE, TIES_OF_JUDGES, SLOPE = 600, 0.2, 0.1, 1.5


def plant_votes(seed: int, design: dict[str, Any]) -> PlantedVotes:
    """Judges of slope 1.5 with shifts of their own compare pairs in all languages, people vote on some in some."""
    rng = np.random.default_rng([seed, 37])
    n_systems, n_languages = int(design["systems"]), int(design["n_languages"])
    n_labelled = {"2": 2, "3": 3, "half": n_languages // 2}[str(design["labels_in"])]
    people = rng.normal(0, 0.6, n_systems) + rng.normal(0, 0.2, (n_languages, n_systems))
    judges = SLOPE * people + 0.3 * rng.normal(size=n_systems) + 0.2 * rng.normal(size=people.shape)
    languages = []
    for language in range(n_languages):
        n_votes = int(design["votes"]) if language < n_labelled else 0
        languages.append(_play(rng, people[language], judges[language], n_votes))
    judged = judge_strengths(languages)
    measured = measure_vote_errors(languages, judged)
    assert measured is not None
    labelled_there = [int(language) for language in measured.languages]
    draws = shares_of_strengths(draw_people(judged, measured, seed=seed).differences)
    truth = np.array([_true_shares(strength) for strength in people])
    return PlantedVotes(truth, limit_differences(draws, [labelled_there]), labelled_there)


def _play(rng: np.random.Generator, people: Any, judges: Any, n_votes: int) -> LanguageVotes:
    """One language: the mean verdict of four judges on each pair of answers, and people's votes on some."""
    n_systems = len(people)
    first, second = np.nonzero(~np.eye(n_systems, dtype=bool))
    chosen = rng.integers(len(first), size=PAIRS)
    one, other = first[chosen], second[chosen]
    answers = rng.normal(size=PAIRS)

    def verdicts(strength: Any, ties: float) -> Any:
        won = (rng.random(PAIRS) < expit(strength[one] - strength[other] + answers)).astype(float)
        return np.where(rng.random(PAIRS) < ties, 0.5, won)

    votes = verdicts(people, TIES_OF_PEOPLE)
    judged = np.mean([verdicts(judges, TIES_OF_JUDGES) for _ in range(4)], axis=0)
    games = Games(one, other, judged, np.arange(PAIRS), n_systems)
    if not n_votes:
        return LanguageVotes(games)
    voted = rng.permutation(PAIRS)[:n_votes]
    return LanguageVotes(games, Games(one, other, votes, np.arange(PAIRS), n_systems).take(voted), games.take(voted))


def _true_shares(strength: Any) -> Any:
    """Expected shares of wins by the strengths that very many votes would show."""
    first, second = np.nonzero(~np.eye(len(strength), dtype=bool))
    answers = np.random.default_rng(0).normal(size=4000)
    chance = np.array([expit(gap + answers).mean() for gap in strength[first] - strength[second]])
    won = TIES_OF_PEOPLE / 2 + (1 - TIES_OF_PEOPLE) * chance
    games = Games(first, second, won, np.arange(len(first)), len(strength))
    return fit_strengths(games, half_tie=1e-9).share


def _votes_hold(seed: int) -> tuple[dict[str, Any], list[bool]]:
    """The design, and whether all differences of each labelled board lie inside their limits."""
    design = draw(seed, **VOTES)
    planted = plant_votes(seed, design)
    held = []
    for language in planted.labelled:
        true = planted.shares[language][:, None] - planted.shares[language]
        gap = np.abs(planted.limits.middle[language] - true)
        held.append(not bool((gap > planted.limits.half_width[language] + 1e-9).any()))
    return design, held


def boards_of_votes(seed: int) -> Held:
    """V4.1: all differences of each labelled board."""
    design, held = _votes_hold(seed)
    return [row for board in held for row in happened(design, board)]


def all_boards_of_votes(seed: int) -> Held:
    """V4.2: all differences of all labelled boards at once."""
    design, held = _votes_hold(seed)
    return happened(design, all(held))


CLAIMS |= {"V4.1": boards_of_votes, "V4.2": all_boards_of_votes}
