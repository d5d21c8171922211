"""Does the win stand? Every known threat to the leader's lead, put together (METHODS 36).

What each does to the lead is in `threats.py`, the rule in `leads.py`, the sentences in `stands_words.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.boards import Board, Sums
from polyjudge.answers.audit.copies import find_copies
from polyjudge.answers.audit.leads import Contest, Lead
from polyjudge.answers.audit.own_maker import OwnMaker, known_makers, own_maker
from polyjudge.answers.audit.pair_boards import PairBoard
from polyjudge.answers.audit.threats import (
    WORST,
    Threat,
    at_equal_length,
    leads_by_judge,
    with_copies_as_one,
    with_lost_scores,
    with_places_even,
    without_judges,
    without_languages,
    without_own_makers,
)
from polyjudge.panel import Panel

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]
CAUSES = ("position", "copies", "own maker", "length", "one judge", "one language", "missing")
"""Of two threats with the same verdict the cause comes first: a favour for the own maker is also one judge's."""


@dataclass(frozen=True)
class Stands:
    """Threats to the lead of one system over others.

    lead : as the board has it
    copies : groups of judges that are copies of each other
    by_judge : the lead over the nearest rival by each judge alone
    """

    contest: Contest
    lead: Lead
    own: OwnMaker
    copies: tuple[tuple[int, ...], ...]
    threats: tuple[Threat, ...]
    against: str = ""
    """The system over which alone the lead is tested; "" where it is tested over all."""

    @property
    def is_certain(self) -> bool:
        """Whether there is a win that could stand or fall."""
        return self.lead.is_certain

    @property
    def worst(self) -> Threat | None:
        """The threat that is said on the Winner line; None where all that applies stands."""
        serious = [threat for threat in self.threats if threat.verdict not in ("stands", "does not apply")]
        serious = [threat for threat in serious if threat.verdict != "no verdict" or threat.seen]
        if not self.is_certain or not serious:
            return None
        return min(serious, key=lambda threat: (WORST[threat.verdict], CAUSES.index(threat.name)))

    @property
    def known_leads(self) -> Array:
        """The leads by judge that are known."""
        leads = np.array(self.by_judge)
        return np.asarray(leads[np.isfinite(leads)])

    @cached_property
    def by_judge(self) -> list[float]:
        """The lead over the nearest rival by each judge alone; NaN where a judge does not compare the two."""
        return leads_by_judge(self.contest, self.lead.rival) if self.lead.rival >= 0 else []

    def is_of_leader(self, board: Board) -> bool:
        """Whether it is the leader's lead over all other systems that was tested."""
        return self.contest.top == board.leader and (not self.against or len(board.systems) == 2)

    def verdict_of(self, threat: Threat) -> str:
        """The verdict; none where there is no win."""
        return threat.verdict if self.is_certain or threat.verdict == "does not apply" else "no verdict"


def find_threats(
    panel: Panel,
    boards: Mapping[str, Board],
    *,
    level: float,
    given: Mapping[str, str] | None = None,
    weights: Array | None = None,
    against: str | None = None,
    added: Sums | None = None,
) -> Stands:
    """Every threat to the leader's lead; where there is no certain lead, those that are said without one.

    against : the lead over this system alone is tested, that of the leader or of the first other system
    added : the scores added up by language and judge; None for pairs
    """
    contest = _contest(panel, boards["all"], level, weights, against, added)
    own = own_maker(panel, given, level=level)
    copies = tuple(tuple(group) for group in find_copies(panel))
    lead = contest.lead_in(panel, weights) if contest.rivals else None
    if lead is None:
        return Stands(contest, _no_lead(contest), own, copies, (), against or "")
    lead = _as_on_board(lead, boards["all"])
    threats = _said_without_a_win(contest, lead, own, copies)
    if lead.is_certain:
        makers = known_makers(panel.judges, given)
        threats += [
            at_equal_length(contest, lead),
            without_judges(contest, lead, makers, copies),
            without_languages(contest, lead, _behind(contest, boards)),
            None if panel.pairs is not None else with_lost_scores(contest, lead),
        ]
    known = [threat for threat in threats if threat is not None]
    known.sort(key=lambda threat: CAUSES.index(threat.name))
    return Stands(contest, lead, own, copies, tuple(known), against or "")


def _contest(
    panel: Panel, board: Board, level: float, weights: Array | None, against: str | None, added: Sums | None
) -> Contest:
    """Whose lead is tested: the leader's over all, or the best other system's over the one that the user named."""
    top = _top(board, against)
    rivals = [s for s in board.order if s != top and np.isfinite(board.gap[top, s])]
    if against is not None:
        rivals = [s for s in rivals if panel.systems[s] == against]
    n_pairs = max(len(panel.systems) * (len(panel.systems) - 1) // 2, 1)
    is_plain = isinstance(board, PairBoard) and board.is_plain
    return Contest(panel, top, tuple(rivals), level, n_pairs, weights, is_plain, added)


def _said_without_a_win(
    contest: Contest, lead: Lead, own: OwnMaker, copies: Sequence[Sequence[int]]
) -> list[Threat | None]:
    """Threats that are looked for without a certain lead too."""
    return [
        with_places_even(contest),
        with_copies_as_one(contest, lead, copies),
        without_own_makers(contest, lead, own),
    ]


def _top(board: Board, against: str | None) -> int:
    """The leader, or the first system that is not the one it is tested against."""
    if against is None:
        return board.leader
    return next(s for s in board.order if board.systems[s] != against)


def _as_on_board(lead: Lead, board: Board) -> Lead:
    """The lead with the numbers of the board: one number for one thing."""
    rivals = list(lead.rivals)
    value, low, high = (np.full(len(board.systems), np.nan) for _ in range(3))
    for shown, of_board in ((value, board.gap), (low, board.low), (high, board.high)):
        shown[rivals] = of_board[lead.top, rivals]
    return replace(lead, value=value, low=low, high=high)


def _no_lead(contest: Contest) -> Lead:
    n_systems = len(contest.panel.systems)
    nothing = np.full(n_systems, np.nan)
    return Lead(contest.top, nothing, nothing, nothing, np.full((1, n_systems), np.nan), 1.0, 1e-9, ())


def _behind(contest: Contest, boards: Mapping[str, Board]) -> tuple[int, int, tuple[float, float, float]] | None:
    """The language in which the top is surely behind another system, that system, and by how much."""
    farthest: tuple[int, int, tuple[float, float, float]] | None = None
    for place, language in enumerate(contest.panel.languages):
        board = boards.get(language)
        if board is None:
            continue
        for rival in contest.rivals:
            if not board.ahead[rival, contest.top]:
                continue
            gap = (board.gap[rival, contest.top], board.low[rival, contest.top], board.high[rival, contest.top])
            if farthest is None or gap[0] > farthest[2][0] + board.tiny:
                farthest = place, rival, (float(gap[0]), float(gap[1]), float(gap[2]))
    return farthest
