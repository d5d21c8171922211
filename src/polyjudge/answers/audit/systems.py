"""Which system wins, and does that hold for every judge and in every language? (METHODS 19)

Boards of all languages and of each (`boards.py`), who puts whom first, pairs that reverse between languages, and what
judges do for their own maker (`own_maker.py`); the sentence about the winner is in `winner.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import amount, spelled, tiny_of
from polyjudge.answers.audit.boards import Board, Sums, board, board_values, columns_of, compared_units, sums
from polyjudge.answers.audit.own_maker import OwnMaker, own_maker
from polyjudge.answers.audit.pair_boards import PairSums, pair_boards, pair_findings, pair_sums
from polyjudge.answers.audit.winner import winner
from polyjudge.base.later import framed
from polyjudge.base.text import families, name, names
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
    without: tuple[tuple[str, int], ...]
    """Judges and makers without whom another system leads."""
    own: OwnMaker
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
    panel: Panel, *, matters: float, level: float, seed: int = 0, families_: Mapping[str, str] | None = None,
    weights: Array | None = None, people: bool = False,
) -> Systems:  # fmt: skip
    """Everything an audit says about systems, of a panel with at least two. weights: of the judges, if not equal;
    people: whether their labels are at hand."""
    k, m = len(panel.languages), len(panel.judges)
    added: Sums | PairSums
    if panel.pairs is None:
        boards, added = _boards(panel, level, weights), sums(panel, weights)
    else:
        boards, added = pair_boards(panel, level=level, weights=weights), pair_sums(panel, weights)
    whole = boards["all"]
    by_judge = tuple(added.first(judges=[b]) for b in range(m)) if m > 1 else ()
    top = whole.leader
    has = np.asarray(np.isfinite(panel.scores[:, top]).any((0, 2)))
    by_language = tuple(added.first(languages=[x]) if has[x] else None for x in range(k)) if k > 1 else ()
    everywhere = all(added.first([x], [b]) == top for x in range(k) for b in range(m))
    swapped = swaps(boards, panel.languages)
    without = _without(panel, added, top, families_)
    own = own_maker(panel, families_, level=level, seed=seed)
    made = Systems(boards, swapped, by_judge, by_language, everywhere, without, own, ())
    return replace(made, findings=tuple(findings(panel, made, matters, people)))


def _boards(panel: Panel, level: float, weights: Array | None) -> dict[str, Board]:
    """Boards of all languages together and of each, from scores."""
    k = len(panel.languages)
    more: dict[str, Any] = {"level": level, "tiny": tiny_of(panel), "two_valued": panel.two_valued}
    more |= {"low": panel.scale[0], "width": panel.width}
    whole = board(*board_values(panel, weights), panel.systems, informing=compared_units(panel), **more)
    boards = {"all": whole}
    for at, language in enumerate(panel.languages if k > 1 else ()):
        rows = np.asarray(np.isfinite(panel.scores[:, :, at]).any((1, 2)))
        if rows.any():
            p = panel.select(languages=[language], rows=rows)
            more |= {"languages": k, "informing": compared_units(p)}
            boards[language] = board(*board_values(p, weights), panel.systems, **more)
    return boards


def _without(
    panel: Panel, added: Sums | PairSums, top: int, given: Mapping[str, str] | None
) -> tuple[tuple[str, int], ...]:
    """Who else leads when a judge, or all judges of a maker, are left out."""
    m = len(panel.judges)
    makers = families(panel.judges, given)
    groups = [(x, [b]) for b, x in enumerate(panel.judges)] if m > 2 else []
    for maker in dict.fromkeys(makers.values()):
        members = [b for b, x in enumerate(panel.judges) if makers[x] == maker]
        if 1 < len(members) < m:
            groups.append((f"the {spelled(len(members))} {maker} judges", members))
    out = []
    for who, gone in groups:
        first = added.first(judges=[b for b in range(m) if b not in gone])
        if first is not None and first != top:
            out.append((who, first))
    return tuple(out)


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
    """Winner, swaps between languages, self-preference."""
    out = [winner(panel, s, matters, people), *pair_findings(panel, s.board)]
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
    if s.own.clear:
        said = amount(panel, s.own.difference, s.own.low, s.own.high)
        text = (
            f"Judges score systems of their own maker ({names(s.own.makers)}) {said} higher than the other judges' "
            "scores of them predict."
        )
        out.append(Finding("warning", "systems.own-maker", text, "Judges"))
    return out
