"""Which system wins, and does that hold for every judge and in every language? (METHODS 19)

Systems are compared by paired differences inside (task, language, judge), all pairs at once. A system may be the best
when no other is surely ahead of it. Whether judges favour systems of their own maker is asked here too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri, stdtr

from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.base.later import framed
from polyjudge.base.numbers import ci, ci_digits, points
from polyjudge.base.text import count, families, name, names, plural
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Severity
from polyjudge.stats.cells import Values, complete, least_squares_cells
from polyjudge.stats.interval import interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
LEAST = 6
"""Units that an interval needs."""
RARE = 0.05
RELABELLINGS = 2000
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


# --- words that the rooms of an audit share ---


def spelled(number: int) -> str:
    """A small number as a word.

    >>> spelled(5), spelled(12)
    ('five', '12')
    """
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else f"{number:,}"


def every(number: int, noun: str, lower: bool = False) -> str:
    """All of so many.

    >>> every(2, "judge"), every(5, "judge", lower=True)
    ('Both judges', 'all five judges')
    """
    said = f"Both {plural(noun)}" if number == 2 else f"All {spelled(number)} {plural(noun)}"
    return said[0].lower() + said[1:] if lower else said


def amount(panel: Panel, value: float, low: float, high: float, unit: bool = True, sign: bool = False) -> str:
    """A difference of scores with its interval, in points or percentage points."""
    f = panel.factor
    said = ci(f * value, f * low, f * high, panel.unit_name if unit else "", sign)
    return said.replace("1 points ", "1 point ", 1) if said.startswith("1 points ") else said


def size(panel: Panel, value: float) -> str:
    """A difference of scores without interval: "1 point", "2.5 points"."""
    said = f"{panel.factor * value:.3g}"
    return f"{said} {panel.unit_name[:-1] if said == '1' else panel.unit_name}"


def tiny_of(panel: Panel) -> float:
    """Values this close are tied: 1e-9 of the scale."""
    return 1e-9 * (panel.width if panel.width > 1e-200 else 1.0)


# --- one board ---


@dataclass(frozen=True)
class Board:
    """Systems and all their differences, row less column; NaN where two share nothing that joins them.

    mean : as shown: the leader's mean plus the estimated difference
    order : best first; ties in the order of the panel
    """

    systems: tuple[str, ...]
    mean: Array
    gap: Array
    low: Array
    high: Array
    order: tuple[int, ...]
    units: int
    tiny: float
    need: Array
    """(S, S): standard deviation of a unit's difference, and the q of very many units: what METHODS 23 plans with."""
    q: Array

    @property
    def ahead(self) -> NDArray[np.bool_]:
        """Row is surely ahead of column."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.low > self.tiny)

    @property
    def rank_low(self) -> NDArray[np.int64]:
        """One more than the systems that are surely ahead."""
        return np.asarray(self.ahead.sum(0) + 1)

    @property
    def rank_high(self) -> NDArray[np.int64]:
        """All but the systems that are surely behind."""
        return np.asarray(int(self.scored.sum()) - self.ahead.sum(1))

    @property
    def may_be_best(self) -> NDArray[np.bool_]:
        """Not surely behind any other."""
        return np.asarray(~self.ahead.any(0) & self.scored)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Those that have any score."""
        return np.isfinite(self.mean)

    @property
    def leader(self) -> int:
        """The first."""
        return self.order[0]

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Systems that can be compared with the leader."""
        return np.asarray(np.isfinite(self.gap[self.leader]))


def board(
    values: Values, seen: Array, systems: Sequence[str], *, level: float, tiny: float, two_valued: bool = False,
    low: float = 0.0, width: float = 1.0, languages: int = 1, informing: NDArray[np.int64] | None = None,
) -> Board:  # fmt: skip
    """All pairs of systems at once (and of so many languages).

    seen : each system's mean of what was scored
    informing : units in which each system is compared with any other, where that is not all of them
    """
    v, S = values.v, len(systems)
    i, j = np.triu_indices(S, 1)
    null = values.null
    good = np.abs(null[i] - null[j]).max(1, initial=0.0) < 1e-6
    good &= np.isfinite(v[:, i]).all(0) & np.isfinite(v[:, j]).all(0)
    a, b = i[good], j[good]
    gap, at_low, at_high, need, quantile = (np.full((S, S), np.nan) for _ in range(5))
    np.fill_diagonal(gap, 0.0)
    if len(a):
        x = v[:, a] - v[:, b]
        prior = None
        if two_valued:
            p = np.clip((seen - low) / width, 1 / (2 * len(v)), 1 - 1 / (2 * len(v)))
            prior = (p * (1 - p))[a] + (p * (1 - p))[b]
        units = np.full(S, len(v)) if informing is None else informing
        told = np.minimum(units[a], units[b])  # a system on few tasks: as many degrees of freedom, or no interval
        made = interval(x, level=level, together=languages * len(i), prior=prior, df=told - 1.0)
        made.q[told < LEAST] = np.nan
        estimate = np.where(np.abs(made.estimate) <= tiny, 0.0, made.estimate)
        for first, second, sign in ((a, b, 1.0), (b, a, -1.0)):
            gap[first, second] = sign * estimate
            ends = np.sort(np.stack([sign * made.low, sign * made.high]), axis=0)
            at_low[first, second], at_high[first, second] = ends
            need[first, second] = made.se * np.sqrt(made.units)
            quantile[first, second] = ndtri(stdtr(made.df, made.q))
    whole = max(range(S), key=lambda s: int(np.isfinite(gap[s]).sum()))  # the largest part that is joined
    level_of = np.where(np.isfinite(gap[whole]), -gap[whole], -np.inf)
    order = np.argsort(-np.round(level_of / tiny), kind="stable")
    top = int(order[0])
    mean = np.where(np.isfinite(gap[top]), seen[top] - gap[top], seen)
    return Board(tuple(systems), mean, gap, at_low, at_high, tuple(map(int, order)), len(v), tiny, need, quantile)


def seen_means(scores: Array, weight: Array) -> Array:
    """Each system's mean of what was scored."""
    o = np.isfinite(scores)
    total = np.einsum("nslb,n->s", np.where(o, scores, 0.0), weight)
    number = np.einsum("nslb,n->s", o.astype(float), weight)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1e-300), np.nan))


def _units(panel: Panel) -> NDArray[np.int64] | None:
    """Units in which each system is compared with another; None where that is all of them."""
    if panel.complete:
        return None
    o = np.isfinite(panel.scores)
    compared = (o & (o.sum(1, keepdims=True) > 1)).any((2, 3))
    found = np.zeros((panel.units, compared.shape[1]), dtype=bool)
    np.logical_or.at(found, panel.unit, compared)
    return np.asarray(found.sum(0))


def _values(panel: Panel, weights: Array | None) -> tuple[Values, Array]:
    """One number per unit and system, and means of what was scored; with weights, of each judge on its own."""
    if weights is None:
        return panel.system_values(), seen_means(panel.scores, panel.weight)
    there = np.isfinite(panel.scores).any((0, 1, 2)) & (weights > 0)
    if not there.any():
        raise PanelError("No judge with a weight above 0 has a score in one of the languages.")
    parts = [panel.select(judges=[panel.judges[b]]) for b in np.flatnonzero(there)]
    w = (weights / weights[there].sum())[there]
    values = [p.system_values() for p in parts]
    seen = sum(x * seen_means(p.scores, p.weight) for x, p in zip(w, parts, strict=True))
    v = sum(x * value.v for x, value in zip(w, values, strict=True))
    return Values(np.asarray(v), np.hstack([x.null for x in values]), "weighted"), np.asarray(seen)


def settle(spread: float, q: float, units: int, difference: float) -> float:
    """Units by which a difference of this size would be told from 0 in 80% of studies (METHODS 23)."""
    return float(((q + 0.84) * spread / difference) ** 2 * (units - 1) / chdtri(units - 1, 0.8))


def round_up(tasks: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, math.floor(math.log10(max(tasks, 1.0))) - 1)
    return int(math.ceil(tasks / unit - 1e-9) * unit)


def columns_of(boards: Mapping[str, Board]) -> dict[str, Any]:
    """language ("all" and each), system, mean, behind_leader, low, high, rank_low, rank_high, may_be_best."""
    parts = []
    for language, b in boards.items():
        o, top = [x for x in b.order if b.scored[x]], b.leader
        low, high = (np.where(np.arange(len(x)) == top, np.nan, x[:, top])[o] for x in (b.low, b.high))
        part = {"language": [language] * len(o), "system": [b.systems[x] for x in o], "mean": b.mean[o]}
        part |= {"behind_leader": b.gap[o, top], "low": low, "high": high}
        part |= {"rank_low": b.rank_low[o], "rank_high": b.rank_high[o], "may_be_best": b.may_be_best[o]}
        parts.append(part)
    columns = ["language", "system", "mean", "behind_leader", "low", "high", "rank_low", "rank_high", "may_be_best"]
    return {x: np.concatenate([part[x] for part in parts]) if parts else [] for x in columns}


# --- who puts whom first: estimates only, from sums that can be added up ---


@dataclass(frozen=True)
class Sums:
    """Least squares of systems inside (task, language, judge): normal parts (k, m, S, S) and right sides (k, m, S)."""

    a: Array
    r: Array
    tiny: float

    def first(self, languages: Sequence[int] | None = None, judges: Sequence[int] | None = None) -> int | None:
        """The system with the highest estimate by these; None where two are tied or not all are joined."""
        a, r = self.a, self.r
        if languages is not None:
            a, r = a[list(languages)], r[list(languages)]
        if judges is not None:
            a, r = a[:, list(judges)], r[:, list(judges)]
        normal = a.sum((0, 1))
        there = np.flatnonzero(np.diag(normal) > 0)
        if len(there) < 2:
            return None
        w, q = np.linalg.eigh(normal[np.ix_(there, there)])
        if (w > 1e-9 * max(w[-1], 1e-300)).sum() < len(w) - 1:
            return None
        c = (q[:, 1:] / w[1:]) @ (q[:, 1:].T @ r.sum((0, 1))[there])
        best, second = np.argsort(-c, kind="stable")[:2]
        return int(there[best]) if c[best] - c[second] > self.tiny else None


def sums(panel: Panel, weights: Array | None = None) -> Sums:
    """One pass over the scores."""
    _, S, k, m = panel.shape
    # A judge who counts for nothing is asked all the same whom it puts first.
    by = np.ones(m) if weights is None else np.maximum(weights * m, 1e-9)
    a, r = np.zeros((k, m, S, S)), np.zeros((k, m, S))
    for language in range(k):
        for judge in range(m):
            y = panel.scores[:, :, language, judge]
            o = np.isfinite(y).astype(float)
            number = np.maximum(o.sum(1, keepdims=True), 1.0)
            y = np.where(o > 0, y, 0.0)
            ow = o * panel.weight[:, None] * by[judge]
            a[language, judge] = np.diag(ow.sum(0)) - (ow / number).T @ o
            r[language, judge] = (ow * (y - (o * y).sum(1, keepdims=True) / number)).sum(0)
    return Sums(a, r, tiny_of(panel))


# --- self-preference ---


@dataclass(frozen=True)
class OwnMaker:
    """Judges' scores of systems of their own maker, less those of others, judge and system effects taken out.

    why_not : why it cannot be tested; then there are no numbers
    """

    difference: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    makers: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def clear(self) -> bool:
        """Surely above 0, and rare among relabelled makers."""
        return bool(self.low > 0 and self.p <= RARE)


def own_maker(panel: Panel, given: Mapping[str, str] | None, *, level: float, seed: int) -> OwnMaker:
    """Self-preference: judge x system, doubly centred, own family less others (METHODS 19)."""
    judges, systems = families(panel.judges, given), families(panel.systems, given)
    by, of = [judges[x] for x in panel.judges], [systems[x] for x in panel.systems]
    shared = sorted(set(by) & set(of))
    if not shared:
        why = "No judge and system are known to come from the same maker, so self-preference cannot be tested."
        return OwnMaker(why_not=why)
    if len(panel.judges) < 2:
        return OwnMaker(makers=tuple(shared), why_not="Self-preference cannot be tested with one judge.")
    makers = sorted(set(by) | set(of))
    kin = np.array([[x == y for y in by] for x in of])
    if len(makers) <= 3 or kin.all():
        known = names(shared)
        return OwnMaker(
            makers=tuple(shared),
            why_not=f"Self-preference ({known}) cannot be tested with {count(len(makers), 'maker')}: "
            "it takes four among judges and systems.",
        )
    if panel.complete:
        values = complete(panel.scores.mean(2), panel.unit, panel.weight)
    else:
        values = least_squares_cells(panel.scores.transpose(0, 2, 1, 3), panel.unit, panel.weight)
    if len(makers) <= 6:
        turned = np.array(list(permutations(range(len(makers)))))
    else:
        rng = np.random.default_rng(seed)
        turned = np.array([np.arange(len(makers))] + [rng.permutation(len(makers)) for _ in range(RELABELLINGS)])
    s_code, b_code = (np.array([makers.index(x) for x in y]) for y in (of, by))
    own = turned[:, b_code][:, None, :] == s_code[None, :, None]
    own = own[own.any((1, 2)) & ~own.all((1, 2))]
    number = own.sum((1, 2), keepdims=True)
    contrasts = cbc.double_centre(own / number - ~own / (kin.size - number)).reshape(len(own), -1)
    if not values.estimable(contrasts).all():
        return OwnMaker(makers=tuple(shared), why_not="Too few systems are scored by several judges to test "
                        "self-preference.")  # fmt: skip
    size = contrasts @ values.mean.ravel()
    found = interval(values.contrast(contrasts[:1]), level=level)  # the first is makers as they are
    p = float((size >= size[0] - tiny_of(panel)).mean())
    return OwnMaker(float(size[0]), float(found.low[0]), float(found.high[0]), p, tuple(shared))


# --- all of it ---


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
    tiny = tiny_of(panel)
    k, m = len(panel.languages), len(panel.judges)
    more: dict[str, Any] = {"level": level, "tiny": tiny, "two_valued": panel.two_valued}
    more |= {"low": panel.scale[0], "width": panel.width}
    whole = board(*_values(panel, weights), panel.systems, informing=_units(panel), **more)
    boards = {"all": whole}
    for at, language in enumerate(panel.languages if k > 1 else ()):
        rows = np.asarray(np.isfinite(panel.scores[:, :, at]).any((1, 2)))
        if rows.any():
            p = panel.select(languages=[language], rows=rows)
            more |= {"languages": k, "informing": _units(p)}
            boards[language] = board(*_values(p, weights), panel.systems, **more)
    added = sums(panel, weights)
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


def _without(panel: Panel, added: Sums, top: int, given: Mapping[str, str] | None) -> tuple[tuple[str, int], ...]:
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
    out = [winner(panel, s, matters, people)]
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


def winner(panel: Panel, s: Systems, matters: float, people: bool = False) -> Finding:
    """The sentence about who is first; where people's labels are at hand it says that it is by the judges' scores."""
    b, by = s.board, "By the judge's scores " if len(panel.judges) == 1 else "By the judges' scores "
    by = by if people else ""
    top, tasks = b.leader, "clusters" if panel.clustered else "tasks"
    w, where = name(b.systems[top]), {"system": b.systems[top]}
    apart = [b.systems[x] for x in b.order if not b.joined[x]]
    rest = [x for x in b.order[1:] if b.joined[x]]
    who = "it" if len(apart) == 1 else "they"
    tail = f" No task joins {names(apart)} with the others, so {who} cannot be compared." if apart else ""
    if not rest:
        text = f"No two systems are scored on the same {tasks}, so they cannot be compared."
        return Finding("warning", "winner.apart", text, "Winner", where)
    x = rest[0]
    second = name(b.systems[x])
    gap, low, high = b.gap[top, x], b.low[top, x], b.high[top, x]
    level = gap <= b.tiny
    if not np.isfinite(low):
        lead = points(panel.factor * gap, panel.factor * panel.matters)
        lead = f"is ahead of {second} by {lead} {panel.unit_name} on average"
        said = f"{w} and {second} are level" if level else f"{w} {lead}"
        text = f"{by}{said}. Too few {tasks} compare them for an interval: at least {LEAST} are needed.{tail}"
        return Finding("notice", "winner.few", text, "Winner", where, head="Too few tasks to tell")
    size_ = amount(panel, gap, low, high)
    if low > b.tiny:
        text = f"{by}{w} is ahead of {second} by {size_}{_held(panel, s)}{tail}"
        return Finding("info", "winner", text, "Winner", where, head=f"{w} is first")
    best = int((b.may_be_best & b.joined).sum())
    among = f" between {spelled(best)} systems" if best > 2 else ""
    level |= round(panel.factor * gap, ci_digits(panel.factor * low, panel.factor * high)) == 0  # as it is shown
    said = f"{w} and {second} are level ({size_})" if level else f"{w} is ahead of {second} by {size_}"
    if max(-low, high) < matters:
        after = f"A difference of {size(panel, matters)} between the two is ruled out."
    elif not matters:
        after = ""
    else:
        half = matters / 2
        number = settle(b.need[top, x], b.q[top, x], b.units, half) * float(panel.weight.sum()) / panel.units
        after = f"About {round_up(number):,} tasks would settle a difference of {size(panel, half)}."
    start = f"{by}it is too" if by else "Too"
    text = f"{start} close to call{among}: {said}. {after}{tail}".rstrip()
    return Finding("notice", "winner.close", text, "Winner", where, head="Too close to call")


def _held(panel: Panel, s: Systems) -> str:
    """What follows a clear winner: the judges, the languages, and who decides."""
    top, j, k = s.board.leader, len(s.by_judge), len(s.by_language)
    called = [name(x) for x in s.board.systems]
    other = [(x, f) for x, f in zip(panel.judges, s.by_judge, strict=False) if f not in (None, top)]
    elsewhere = [(x, f) for x, f in zip(panel.languages, s.by_language, strict=False) if f not in (None, top)]
    agree, holds = s.by_judge.count(top), s.by_language.count(top)
    if 0 < len(other) <= 2:
        said = ", but " + " and ".join(f"judge {name(x)} puts {called[f or 0]} first" for x, f in other)
    elif other:
        said = f", but {len(other)} of {j} judges put another system first"
    elif agree < j:
        said = f". {agree} of {j} judges {'puts' if agree == 1 else 'put'} it first"
    else:
        said = f". {every(j, 'judge')} put it first" if j else ""
    it = ". It" if not said else f"; {called[top]}" if other else ", and it"
    if k and j and holds == k and s.everywhere:
        said += f", in {every(k, panel.noun, lower=True)}"
    elif k and holds == k:
        said += f"{it} leads in {every(k, panel.noun, lower=True)}"
    elif k and len(elsewhere) == 1 and holds == k - 1:
        x, f = elsewhere[0]
        said += f"{'; in' if said else '. In'} {name(x)}, {called[f or 0]} has the higher mean"
    elif k:
        said += f"{it} leads in {holds} of {k} {panel.nouns}"
    tail = [f" Without {name(who) if who in panel.judges else who}, {called[f]} leads." for who, f in s.without[:1]]
    return f"{said}.{''.join(tail)}"
