"""Which system wins, and does that hold for every judge and in every language? (METHODS 19 and 36)

Boards of all languages and of each (`boards.py`), who puts whom first, pairs that reverse between languages, and
whether the win stands (`stands.py`); the sentence about the winner is in `winner.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import amount, tiny_of
from polyjudge.answers.audit.boards import Board, Sums, board, board_values, columns_of, compared_units, sums
from polyjudge.answers.audit.pair_boards import pair_boards, pair_findings, pair_sums
from polyjudge.answers.audit.stands import Stands, find_threats
from polyjudge.answers.audit.stands_words import (
    against_findings,
    copies_findings,
    favour_findings,
    place_findings,
    stands_findings,
)
from polyjudge.answers.audit.winner import winner
from polyjudge.base.later import framed
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Severity

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


class Swap(NamedTuple):
    """first is surely ahead of second in language_a, and behind in language_b."""

    first: str
    second: str
    language_a: str
    gap_a: float
    low_a: float
    high_a: float
    language_b: str
    gap_b: float
    low_b: float
    high_b: float


@dataclass(frozen=True)
class Systems:
    """boards : "all" and each language"""

    boards: Mapping[str, Board]
    swapped: tuple[Swap, ...]
    by_judge: tuple[int | None, ...]
    by_language: tuple[int | None, ...]
    everywhere: bool
    """Every judge puts the leader first in every language."""
    stands: Stands | None
    """Threats to the lead; None where they were not asked for."""
    findings: tuple[Finding, ...]

    @property
    def board(self) -> Board:
        """Of all languages and judges."""
        return self.boards["all"]

    @property
    def frame(self) -> pd.DataFrame:
        """All boards, as `columns_of` has them."""
        return framed(columns_of(self.boards))

    @property
    def swaps(self) -> pd.DataFrame:
        """Pairs of systems that reverse between languages, as `Swap` has them."""
        return framed(self.swapped, Swap._fields)


def systems(
    panel: Panel,
    *,
    matters: float,
    level: float,
    families_: Mapping[str, str] | None = None,
    weights: Array | None = None,
    people: bool = False,
    against: str | None = None,
) -> Systems:
    """Everything an audit says about systems, of a panel with at least two.

    weights : of the judges, if not equal
    people : whether their labels are at hand
    against : the lead over this system is tested, not that over all
    """
    added: Sums | None
    if panel.pairs is None:
        boards, added = make_boards(panel, level=level, weights=weights), sums(panel, weights)
        first_by = added.first
    else:
        boards, added = pair_boards(panel, level=level, weights=weights), None
        first_by = pair_sums(panel, weights).first
    n_languages, n_judges = len(panel.languages), len(panel.judges)
    top = boards["all"].leader
    has_scores = np.asarray(np.isfinite(panel.scores[:, top]).any((0, 2)))
    is_judged_by = np.asarray(np.isfinite(panel.scores[:, top]).any((0, 1)))
    by_judge: tuple[int | None, ...] = ()
    if n_judges > 1:
        by_judge = tuple(first_by(judges=[b]) if is_judged_by[b] else None for b in range(n_judges))
    by_language: tuple[int | None, ...] = ()
    if n_languages > 1:
        by_language = tuple(first_by(languages=[x]) if has_scores[x] else None for x in range(n_languages))
    cells = ((x, b) for x in range(n_languages) for b in range(n_judges))
    stands = find_threats(panel, boards, level=level, given=families_, weights=weights, against=against, added=added)
    result = Systems(
        boards=boards,
        swapped=swaps(boards, panel.languages),
        by_judge=by_judge,
        by_language=by_language,
        everywhere=all(first_by([x], [b]) == top for x, b in cells),
        stands=stands,
        findings=(),
    )
    return replace(result, findings=tuple(findings(panel, result, matters, people)))


def make_boards(panel: Panel, *, level: float, weights: Array | None = None) -> dict[str, Board]:
    """The board of all languages, and of each where there are several."""
    n_languages = len(panel.languages)
    common: dict[str, Any] = {"level": level, "tiny": tiny_of(panel), "two_valued": panel.two_valued}
    common |= {"low": panel.scale[0], "width": panel.width}
    boards = {"all": board(*board_values(panel, weights), panel.systems, informing=compared_units(panel), **common)}
    for place, language in enumerate(panel.languages if n_languages > 1 else ()):
        rows = np.asarray(np.isfinite(panel.scores[:, :, place]).any((1, 2)))
        if not rows.any():
            continue
        part = panel.select(languages=[language], rows=rows)
        boards[language] = board(
            *board_values(part, weights),
            panel.systems,
            informing=compared_units(part),
            languages=n_languages,
            **common,
        )
    return boards


def swaps(boards: Mapping[str, Board], languages: Sequence[str]) -> tuple[Swap, ...]:
    """Pairs that are surely one way round in a language and the other way in another, the largest first."""
    rows: list[Swap] = []
    per_name = [x for x in languages if x in boards]
    per = [boards[x] for x in per_name]
    if per:
        gap, low, high = (np.stack([getattr(b, key) for b in per]) for key in ("gap", "low", "high"))
        tiny = per[0].tiny
        with np.errstate(invalid="ignore"):
            up, down = np.where(low > tiny, gap, -np.inf), np.where(high < -tiny, gap, np.inf)
        most, least = up.max(0), down.min(0)
        for i, j in np.argwhere(np.triu(np.isfinite(most) & np.isfinite(least), 1)):
            at = [int(up[:, i, j].argmax()), int(down[:, i, j].argmin())]
            ends: Any = [x for y in at for x in (per_name[y], gap[y, i, j], low[y, i, j], high[y, i, j])]
            rows.append(Swap(per[0].systems[i], per[0].systems[j], *ends))
        rows.sort(key=lambda x: -round(min(x.gap_a, -x.gap_b) / tiny))
    return tuple(rows)


# --- sentences ---


def findings(panel: Panel, s: Systems, matters: float, people: bool = False) -> list[Finding]:
    """Winner, swaps between languages, what the win does not stand, judges that favour their maker, copies."""
    out = [winner(panel, s, matters, people)]
    out += _pair_findings_beside(panel, s)
    if s.swapped:
        best = [b for b, may in zip(s.board.systems, s.board.may_be_best, strict=True) if may]
        top = [x for x in s.swapped if x.first in best or x.second in best]
        x = (top or s.swapped)[0]  # what concerns the winner is on the first screen
        one = (
            f"In {name(x.language_a)}, {name(x.first)} is ahead of {name(x.second)} by "
            f"{amount(panel, x.gap_a, x.low_a, x.high_a)}; in {name(x.language_b)}, it is behind by "
            f"{amount(panel, -x.gap_b, -x.high_b, -x.low_b)}."
        )
        if len(s.swapped) > 1:
            total = len(panel.systems) * (len(panel.systems) - 1) // 2
            one = f"{len(s.swapped)} of {total} pairs of systems reverse between {panel.nouns}. {one}"
        where = {"system": x.first, "language": x.language_b}
        kind: tuple[Severity, str] = ("warning", "Winner") if top else ("notice", "")
        out.append(Finding(kind[0], "systems.swap", one, kind[1], where))
    if s.stands is not None:
        out += [
            *against_findings(s.stands),
            *stands_findings(s.stands),
            *favour_findings(s.stands),
            *copies_findings(s.stands),
            *([] if any(f.key == "pairs.place" and f.topic for f in out) else place_findings(s.stands)),
        ]
    return out


def _pair_findings_beside(panel: Panel, s: Systems) -> list[Finding]:
    """What the pairs allow; that one order only was asked is said once, as a threat to the win."""
    is_said = s.stands is not None and any(f.key == "winner.position" for f in stands_findings(s.stands))
    return [f for f in pair_findings(panel, s.board) if not (is_said and f.key == "pairs.one-order")]
