"""Verdicts: who was preferred to whom, by whom, on which task, shown in which order (METHODS 37).

A panel that was read from pairs keeps them here beside its scores. Names stay in the panel; a verdict holds their
numbers. People's votes on the same tasks are verdicts too, whose judges are the voters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.later import framed
from polyjudge.base.text import count, names
from polyjudge.stats.bradley_terry import Games, fit_strengths, is_plain_enough, measure_fit, plain_shares
from polyjudge.stats.cells import Values

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


PEOPLE_NAME = "people"
"""The judge of a panel of which all verdicts are votes of people."""
UNNAMED_JUDGE = "judge"
"""The judge where no column names one."""
KEY = re.compile(
    r"((gold|ground_?truth|truth|expected|reference|y_true)(_.*)?|label|key|answer_key|correct|correct_answer)"
)
"""What an answer key is called, which is nobody's vote."""


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """Verdicts, one a row: numbers of names, in the order of the panel that they belong to.

    task, first, second, language, judge : (n,) from 0; first and second as the file names them
    won : (n,) 1 where the first won, 0 where the second did, 0.5 a tie; anything between is a preference
    place : (n,) 1 where the first was shown first, -1 where it was shown second, 0 where nobody knows
    part : (n,) number of the part of a task (a turn, a category), where verdicts on one pair differ by one
    parts : names of the parts, () where there are none; `part_noun`: what they are called
    voters : names of the judges of people's votes, () in those of a panel's judges
    people : people's votes on the same tasks, systems and languages
    """

    task: Codes
    first: Codes
    second: Codes
    language: Codes
    judge: Codes
    won: Array
    place: Array
    part: Codes
    parts: tuple[str, ...] = ()
    part_noun: str = ""
    voters: tuple[str, ...] = ()
    people: Verdicts | None = None

    def __len__(self) -> int:
        return len(self.won)

    @property
    def knows_place(self) -> bool:
        """Whether the order in which answers were shown is known of any verdict."""
        return bool((self.place != 0).any())

    @property
    def is_key(self) -> bool:
        """Whether these are no votes of people, but what is right: an answer key."""
        return bool(self.voters) and all(KEY.fullmatch(voter.lower()) for voter in self.voters)

    def take(self, rows: NDArray[Any]) -> Verdicts:
        """Some of the verdicts; people's votes stay."""
        columns = ("task", "first", "second", "language", "judge", "won", "place", "part")
        return replace(self, **{column: getattr(self, column)[rows] for column in columns})

    def select(self, tasks: Codes, systems: Codes, languages: Codes, judges: Codes) -> Verdicts:
        """The verdicts on these, which are numbered anew in this order; of people's votes all voters stay."""
        changes: dict[str, Any] = {
            "task": _renumber(self.task, tasks),
            "first": _renumber(self.first, systems),
            "second": _renumber(self.second, systems),
            "language": _renumber(self.language, languages),
            "judge": self.judge if self.voters else _renumber(self.judge, judges),
        }
        is_kept = np.min(np.stack(list(changes.values())), axis=0) >= 0
        people = None if self.people is None else self.people.select(tasks, systems, languages, judges)
        return replace(self, people=people, **changes).take(is_kept)

    def games(self, n_systems: int, unit: Codes, judge_weight: Array | None = None) -> Games:
        """The verdicts as strengths are fitted to them; `unit` is that of each task of the panel."""
        return Games(
            first=self.first,
            second=self.second,
            won=self.won,
            unit=np.unique(unit[self.task], return_inverse=True)[1],
            n_systems=n_systems,
            weight=None if judge_weight is None else judge_weight[self.judge],
            place=self.place if self.knows_place else None,
            judge=self.judge,
        )

    def shares(self, shape: tuple[int, int, int, int]) -> Array:
        """(tasks, systems, languages, judges): the share of its verdicts on a task that each system won."""
        place = [
            np.ravel_multi_index((self.task, s, self.language, self.judge), shape) for s in (self.first, self.second)
        ]
        size = int(np.prod(shape))
        won = np.bincount(np.concatenate(place), np.concatenate([self.won, 1 - self.won]), size)
        times = np.bincount(np.concatenate(place), minlength=size)
        return np.where(times > 0, won / np.maximum(times, 1), np.nan).reshape(shape)

    def count_pairs(self, n_systems: int) -> tuple[Array, Codes]:
        """The share of its verdicts that each system won, and their number."""
        won = np.bincount(self.first, self.won, n_systems) + np.bincount(self.second, 1 - self.won, n_systems)
        times = np.bincount(self.first, minlength=n_systems) + np.bincount(self.second, minlength=n_systems)
        return np.where(times > 0, won / np.maximum(times, 1), np.nan), times

    def order_frame(self, tasks: Any, systems: Any, languages: Any, judges: Any) -> pd.DataFrame | None:
        """task, language, judge, first, second, won: of verdicts whose order is known, by the place that was shown."""
        rows = self.place != 0
        if not rows.any():
            return None
        part = self.take(rows)
        was_first = part.place > 0
        listed = {
            "task": np.array(tasks, dtype=object)[part.task],
            "language": np.array(languages, dtype=object)[part.language],
            "judge": np.array(judges, dtype=object)[part.judge],
            "first": np.array(systems, dtype=object)[np.where(was_first, part.first, part.second)],
            "second": np.array(systems, dtype=object)[np.where(was_first, part.second, part.first)],
            "won": np.where(was_first, part.won, 1 - part.won),
        }
        return framed(listed)

    def describe(self, n_tasks: int, n_systems: int, languages: str, n_judges: int) -> str:
        """The first line of a screen: how many verdicts, on what, by whom."""
        listed = [f"{self.part_noun} {part}" for part in self.parts if part]
        told_apart = f", {names(listed, 4)} apart" if listed else ""
        text = f"{count(len(self), 'verdict')} on pairs of {count(n_systems, 'system')}, {count(n_tasks, 'task')}"
        text += f"{told_apart}{languages}, {count(n_judges, 'judge')}."
        if self.people is not None:
            if self.people.is_key:
                return f"{text} An answer key of {count(len(self.people), 'pair')}."
            voters = len(np.unique(self.people.judge))
            text += f" {count(len(self.people), 'vote')} by {'people' if voters < 2 else f'{voters:,} people'}."
        return text

    def system_values(self, n_systems: int, unit: Codes) -> Values:
        """One number per unit and system: its mean over units is the expected share of wins (METHODS 17)."""
        games = self.games(n_systems, unit)
        strengths = fit_strengths(games)
        if n_systems > 2:
            strengths = strengths.allow_for(measure_fit(games, strengths))
        share, influence = strengths.share, strengths.share_influence
        if is_plain_enough(games, strengths):
            share, influence = plain_shares(games)
        components = np.unique(strengths.component)
        # Contrasts of systems that no game joins are not estimable: one column of `null` for each component.
        null = (strengths.component[:, None] == components).astype(float)
        scale = np.sqrt(max(len(influence) - 1, 1) / max(len(influence), 1))
        values = np.nan_to_num(share, nan=0.5) + len(influence) * scale * (influence - influence.mean(axis=0))
        return Values(np.asarray(values), null, "pairs")


def _renumber(numbers: Codes, kept: Codes) -> Codes:
    """The place of each number among those that are kept, -1 where it is not."""
    place = np.full(max(int(numbers.max(initial=-1)), int(kept.max(initial=-1))) + 1, -1)
    place[kept] = np.arange(len(kept))
    return place[numbers]
