"""What would people say of every system in every language, by votes on pairs? (METHODS 37, 39)

The judges' strengths in every language are anchored in people's votes, as scores are in labels (`board.py`); what is
shown is the share of wins that people would give each system against the average other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.humans.board import COLUMNS, OVERALL, PeopleBoard, board_frame
from polyjudge.panel import Panel
from polyjudge.report.model import Section, Table
from polyjudge.stats.anchored import average_languages, draw_people, limit_differences, predict_left_out
from polyjudge.stats.anchored_votes import LanguageVotes, judge_strengths, measure_vote_errors, shares_of_strengths
from polyjudge.stats.bradley_terry import Games
from polyjudge.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


def vote_board(panel: Panel, *, level: float = 0.95, seed: int = 0) -> PeopleBoard | None:
    """The board of a panel of pairs of several languages with people's votes; None where votes are too few."""
    if panel.pairs is None or panel.pairs.people is None or len(panel.languages) < 2:
        return None
    languages = [_language_votes(panel, language) for language in range(len(panel.languages))]
    judged = judge_strengths(languages)
    measured = measure_vote_errors(languages, judged)
    if measured is None:
        return None
    people = draw_people(judged, measured, seed=seed)
    shares = shares_of_strengths(people.differences)
    draws = np.concatenate([shares, average_languages(shares)[:, None]], axis=1)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    by_judges = shares_of_strengths(judged.mean[None])
    is_told = np.any(np.isfinite(shares).all(axis=0), axis=1)
    overall = average_languages(np.where(is_told[:, None], by_judges, np.nan))
    known = [int(language) for language in measured.languages]
    others = [language for language in range(len(panel.languages)) if language not in known]
    return PeopleBoard(
        panel=panel,
        people=people,
        measured=measured,
        judged=judged,
        means=np.median(draws, axis=0),
        low=low,
        high=high,
        judges=np.concatenate([by_judges[0], overall]),
        limits=limit_differences(draws, [known, others, [len(panel.languages)]], level),
        labels=_count_votes(panel.pairs.people, panel),
        predicted=tuple(predict_left_out(measured, level, seed=seed)),
        one_annotator=(),
        factor=1.0,
        unit="in log odds",
        seed=seed,
        what="votes",
    )


def _language_votes(panel: Panel, language: int) -> LanguageVotes:
    """Verdicts and votes of one language; units are numbered alike in all languages."""
    verdicts = panel.pairs
    assert verdicts is not None
    assert verdicts.people is not None
    judges = verdicts.take(verdicts.language == language)
    votes = verdicts.people.take(verdicts.people.language == language)
    if not len(votes):
        return LanguageVotes(_games(judges, panel))
    is_same = np.isin(_keys(judges, panel), _keys(votes, panel))
    has_judge = np.isin(_keys(votes, panel), _keys(judges, panel))
    return LanguageVotes(
        judges=_games(judges, panel),
        votes=_games(votes.take(has_judge), panel).without_place(),
        same=_games(judges.take(is_same), panel),
    )


def _games(verdicts: Verdicts, panel: Panel) -> Games:
    """Verdicts as games whose units are those of the panel."""
    return Games(
        first=verdicts.first,
        second=verdicts.second,
        won=verdicts.won,
        unit=panel.unit[verdicts.task],
        n_systems=len(panel.systems),
        place=verdicts.place if verdicts.knows_place else None,
        judge=verdicts.judge,
    )


def _keys(verdicts: Verdicts, panel: Panel) -> Codes:
    """The number of each pair of answers: task, part and two systems in either order."""
    n_systems = len(panel.systems)
    lower, upper = np.minimum(verdicts.first, verdicts.second), np.maximum(verdicts.first, verdicts.second)
    n_parts = max(len(verdicts.parts), 1)
    task = verdicts.task * n_parts + verdicts.part
    return np.asarray((task * n_systems + lower) * n_systems + upper)


def _count_votes(people: Verdicts, panel: Panel) -> Codes:
    """Votes on each system in each language: (systems, languages)."""
    counts = np.zeros((len(panel.systems), len(panel.languages)), dtype=np.int64)
    for system in (people.first, people.second):
        np.add.at(counts, (system, people.language), 1)
    return counts


def empty_frame() -> pd.DataFrame:
    """The board of a panel that has none."""
    import pandas as pd

    return pd.DataFrame(columns=list(COLUMNS))


def first_table(board: PeopleBoard | None, otherwise: Table) -> Table:
    """The table of the first screen: people's board overall, where there is one."""
    if board is None:
        return otherwise
    frame = board_frame(board)
    place = {system: i for i, system in enumerate(board.panel.systems)}
    rows = frame[frame["language"] == OVERALL]
    rows = rows.assign(judges=[float(board.judges[-1, place[system]]) for system in rows["system"]])
    kinds = {"rank_low": "rank rank_high", "system": "name", "people": "percent low high", "judges": "percent"}
    titles = {"rank_low": "rank", "people": "wins by people", "judges": "by the judges alone"}
    return Table("people", "Board (share of wins by people, by the judges alone)", rows, kinds, titles)


def board_sections(frame: pd.DataFrame, noun: str) -> tuple[Section, ...]:
    """Every language, as a part of the page."""
    if not len(frame):
        return ()
    kinds = {"language": "name", "rank_low": "rank rank_high", "system": "name", "people": "percent low high"}
    kinds |= {"labels": "count", "basis": "name"}
    titles = {"language": noun, "rank_low": "rank", "people": "wins by people", "labels": "votes"}
    table = Table("board", "Share of wins that people would give", frame, kinds, titles)
    return (Section("board", "What would people say of every system?", (), (table,)),)
