"""What is off: which judge scores higher or lower in some language than its gap to the other judges elsewhere says.

off(l, b) = judge b's gap to the mean of the other judges in language l, less the same gap in the other languages,
averaged (METHODS 18). It is the one number that screens, pages and tables print; beta^, which calibrating subtracts,
stands beside it. Then what can be said of it: one or few cells, a split, many, judges that use the scale differently,
a parser that fails, or how much is ruled out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from polyjudge import cbc
from polyjudge.answers.amounts import amount
from polyjudge.base.errors import UsageError
from polyjudge.base.later import Later, framed
from polyjudge.base.numbers import number, percent, points
from polyjudge.base.text import count, name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.cells import Excess, Values, additive_projection, excess
from polyjudge.stats.interval import FEWEST, Interval, group_df, interval, pass_prior, ruled_out
from polyjudge.stats.resample import bootstrap, groups_of
from polyjudge.stats.slopes import slopes

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Cell = tuple[int, int]
Kind = Literal[
    "calm", "named", "judge gaps", "language gaps", "two by two", "split", "many", "scale", "too few", "none"
]
MOST_NAMED = 5
SLOPE, SEES, SHARE = 0.1, 0.3, 0.5
"""Of scale use: how far a slope must surely be from the others', every judge's r with the rest, what slopes explain."""
FLOOR = 0.2
"""How much more often than elsewhere a judge must surely give the lowest score, or none."""
COLUMNS = (
    "language", "judge", "off", "low", "high", "all_low", "all_high", "clear", "named",
    "excess", "excess_low", "excess_high", "beta", "radius",
)  # fmt: skip


@dataclass(frozen=True)
class Off:
    """frame : language, judge, off, low, high (of one), all_low, all_high (of all together), clear, named, excess over
        the additive fit of the cells that are not named, with its interval, beta, radius (METHODS 4, noise sigma)
    kind : what is said of it; sentences : the findings
    named, failing : language and judge of the cells that are named, and of those whose parser may fail
    limit : what is ruled out: no |off| (of the cells that are not named) is larger
    slopes : judge, slope (1: reacts to differences between answers as the judges do on average), low, high, r
    floor : language, judge, rate of the lowest score or none, elsewhere
    shift : language, shift (median over judges of their shift against the other languages), low, high
    """

    kind: Kind
    frame: Later[pd.DataFrame] = Later()
    sentences: tuple[Finding, ...] = ()
    limit: float = math.nan
    slopes: Later[pd.DataFrame | None] = Later(None)
    floor: Later[pd.DataFrame | None] = Later(None)
    shift: Later[pd.DataFrame | None] = Later(None)
    named: tuple[tuple[str, str], ...] = ()
    failing: tuple[tuple[str, str], ...] = ()
    values: Values | None = None
    matters: float = 0.0


def off(panel: Panel, *, matters: float | None = None, level: float = 0.95) -> Off:
    """What is off in a panel, with simultaneous intervals, and what can be said of it.

    matters : differences up to this do not matter; 2% of the scale unless given
    level : of the intervals
    """
    least = panel.matters if matters is None else float(matters)
    if not (math.isfinite(least) and least >= 0):
        raise UsageError("matters is a number of points, 0 or more.")
    k, m = panel.shape[2:]
    note = clusters(panel)
    more = () if note is None else (note,)
    if k < 2 or m < 2:
        text = f"From one judge's scores an effect of {panel.noun} on it cannot be seen: add a second judge, or labels."
        alone = (Finding("info", "off.none", text, "Off"),) if k > 1 else ()
        return Off("none", _empty, (*alone, *more), matters=least)
    values = panel.values()
    work = _Work(panel, values, least, level)
    first = work.test(())
    use = cache(partial(_scale_use, panel, values, level))
    own: dict[str, Any] = {"slopes": lambda: use().frame, "shift": partial(_shift, panel, values, level)}
    own |= {"values": values, "matters": least}
    if values.units < FEWEST:
        what = "cluster" if panel.clustered else "task"
        text = f"{count(values.units, what)} cannot tell whether a judge is off: at least {FEWEST} are needed."
        said = (Finding("notice", "off.few", text, "Off", head="Too few tasks"), *more)
        return Off("too few", partial(work.frame, first, first, ()), said, **own)
    named: tuple[Cell, ...] = ()
    rest = first
    clear = first.clear(least) & work.distinct
    sloped = bool(first.clear().any()) and use().explains
    if not clear.any():
        kind: Kind = "calm"
        text = _calm(work, first)
    elif sloped:
        kind, text = "scale", _scale_words(panel, use())
    elif k == 2 and m == 2:
        kind, text = "two by two", _two_words(work, first)
    else:
        named, rest = work.name(first)
        if named:
            kind = "named" if min(k, m) > 2 else "judge gaps" if k == 2 else "language gaps"
            text = _named_words(work, first, rest, named)
        elif split := work.split():
            kind, text = "split", split
        else:
            kind, text = "many", _many_words(work, first, clear)
        rest = rest if named else first
    limit = work.limit(rest, named)
    severe = bool((np.abs(first.estimate) - first.q * first.se)[clear].max(initial=0.0) > 0.1 * panel.width)
    blind = kind == "calm" and not limit <= 0.1 * panel.width  # also where nothing can be compared
    severity = ("notice" if blind else "info") if kind == "calm" else "serious" if severe else "warning"
    where = {}
    if kind == "named":
        where = {"language": panel.languages[named[0][0]], "judge": panel.judges[named[0][1]]}
    head = _head(work, kind, first, named, blind)
    found = [Finding(severity, f"off.{kind.replace(' ', '_')}", text, "Off", where, head)]  # type: ignore[arg-type]
    if kind == "calm" and sloped:
        found.append(Finding("info", "off.scale", _scale_words(panel, use()), "Off"))
    floor, failing, said_floor = _floor(panel, level)
    found += said_floor
    found += _ceiling(work, clear)
    found += _untold(work, first)
    frame, marked = partial(work.frame, first, rest, named), tuple(_cells(panel, np.argwhere(work.marks(named))))
    return Off(kind, frame, (*found, *more), limit, floor=floor, named=marked, failing=failing, **own)


def _cells(panel: Panel, cells: Any) -> list[tuple[str, str]]:
    """Language and judge of cells."""
    return [(panel.languages[x], panel.judges[b]) for x, b in cells]


# --- contrasts ---


class _Work:
    """The contrasts of one panel, tested again and again as cells are left out."""

    def __init__(self, panel: Panel, values: Values, matters: float, level: float) -> None:
        self.panel, self.values, self.matters, self.level = panel, values, matters, level
        self.present = values.present
        k, m = self.shape = self.present.shape
        self.distinct = np.ones((k, m), dtype=bool)  # with two languages (or judges) every contrast is there twice
        self.distinct[1 if k == 2 else k :] = False
        self.distinct[:, 1 if m == 2 else m :] = False
        self.pick, self.sign = np.zeros((k, m), dtype=int), np.ones((k, m))
        self.pick[self.distinct] = np.arange(self.distinct.sum())
        if k == 2:
            self.pick[1], self.sign[1] = self.pick[0], -1
        if m == 2:
            self.pick[:, 1], self.sign[:, 1] = self.pick[:, 0], -self.sign[:, 0]
        whole = values.v if self.present.all() and values.units > 1 else None
        sigma = math.nan if whole is None else cbc.noise_sigma(whole)
        self.radius = cbc.radius(sigma, values.units, k, m, 1 - level)

    def interval(
        self,
        x: Array,
        contrasts: Array | None,
        together: int | None = None,
        grid: tuple[int, int] | None = None,
    ) -> Interval:
        """Of contrasts with these values (units, c). Where cells are missing, or scores are two-valued, the contrasts
        themselves (c, cells) say more of their variances."""
        prior, scale = None, None if contrasts is None else self.values.scale(contrasts)
        if self.panel.two_valued and contrasts is not None:
            rates = (self.values.mean - self.panel.scale[0]) / self.panel.width
            prior = pass_prior(rates, self.values.units, contrasts)
            if scale is not None:  # both speak of the size of the contrast
                prior = prior / np.maximum((contrasts**2).sum(1), 1e-300)
        df = group_df(x, self.values.seen)
        return interval(x, level=self.level, together=together, prior=prior, df=df, scale=scale, grid=grid)

    def excess(self, found: Excess, cells: Mask) -> Interval:
        """The excess of these cells."""
        needed = self.values.spread is not None or self.panel.two_valued
        grid = int(cells.any(1).sum()), int(cells.any(0).sum())
        is_whole_grid = cells.sum() == grid[0] * grid[1]
        contrasts = found.contrasts[cells.ravel()] if needed else None
        return self.interval(self.numbers(found, cells), contrasts, grid=grid if is_whole_grid else None)

    def numbers(self, found: Excess, cells: Mask) -> Array:
        """One number per unit for the excess of each of these cells; NaN where it cannot be told."""
        flat = np.where(self.present, self.values.v, 0.0).reshape(self.values.units, -1)
        at = cells.ravel()
        x = found.of(flat)[:, at]
        x[np.abs(x) <= 1e-12 * np.abs(flat).max(initial=0.0)] = 0.0  # rounding is no difference
        joined = np.abs(found.of(self.values.null.T)).max(0, initial=0.0) < 1e-6
        x[:, ~(found.told.ravel() & joined)[at]] = np.nan
        return x

    def test(self, out: Sequence[Cell]) -> Interval:
        """The excess of every cell, with `out` left out, as arrays (k, m)."""
        part = self.excess(excess(self.present, out), self.distinct)
        e, se, df, q, one = (x[self.pick] for x in (part.estimate, part.se, part.df, part.q, part.q_one))
        return Interval(e * self.sign, se, df, q, one, part.units)

    def name(self, tested: Interval) -> tuple[tuple[Cell, ...], Interval]:
        """Cells at fault by leaving out the largest, one after the other; none where that does not lead to a rest in
        which nothing is clear. With two languages (judges) a cell stands for its judge (language)."""
        k, m = self.shape
        most = min(MOST_NAMED, (k - 1) * (m - 1) // 2) if min(k, m) > 2 else min(MOST_NAMED, (max(k, m) - 1) // 2)
        out: list[Cell] = []
        while True:
            t = (np.abs(tested.estimate) - self.matters) / np.maximum(tested.se, 1e-12 * self.panel.width)
            open_ = self.distinct & np.isfinite(t)
            for cell in out:
                open_[cell] = False
            if not (tested.clear(self.matters) & open_).any():
                return tuple(out), tested
            ranked = np.sort(t[open_])
            tie = len(ranked) > 1 and ranked[-1] - ranked[-2] <= 1e-9 * abs(ranked[-1])
            if tie or len(out) >= max(most, 1):
                return (), tested
            at = np.unravel_index(int(np.argmax(np.where(open_, t, -np.inf))), t.shape)
            out.append((int(at[0]), int(at[1])))
            row, column = out[-1]
            in_row, in_column = sum(x[0] == row for x in out), sum(x[1] == column for x in out)
            if (m > 2 and 2 * in_row >= self.present[row].sum()) or (
                k > 2 and 2 * in_column >= self.present[:, column].sum()
            ):
                return (), tested
            tested = self.test(out)

    def split(self) -> str:
        """The one judge (or language) without which nothing is clear, in two groups of languages (or judges)."""
        panel, (k, m) = self.panel, self.shape
        found = []
        for axis, size, other in ((1, m, k), (0, k, m)):
            for one in range(size) if size > 2 and other > 2 else ():
                left = self.present.copy()
                left[(slice(None), one) if axis == 1 else (one, slice(None))] = False
                without = excess(left)
                rest = self.excess(without, without.told)
                if len(rest.q) and not rest.clear(self.matters).any():
                    found.append((axis, one))
                if len(found) > 1:
                    return ""
        if not found:
            return ""
        axis, one = found[0]
        present = self.present if axis == 1 else self.present.T
        at = np.flatnonzero(present[:, one] & (present.sum(1) > 1))
        gap = np.zeros((len(at), k * m))  # of the judge in each language, or of each judge in the language
        for i, x in enumerate(at):
            weights = np.zeros(present.shape)
            weights[x] = -1.0 * present[x] / max(present[x].sum() - 1, 1)
            weights[x, one] = 1.0
            gap[i] = (weights if axis == 1 else weights.T).ravel()
        size = gap @ np.where(self.present, self.values.mean, 0.0).ravel()
        order = np.argsort(-size, kind="stable")
        cut = min(
            range(1, len(at)),
            key=lambda c: float(np.var(size[order[:c]]) * c + np.var(size[order[c:]]) * (len(at) - c)),
        )
        high, low = order[:cut], order[cut:]
        contrast = (gap[high].mean(0) - gap[low].mean(0))[None]
        tested = self.interval(self.values.contrast(contrast), contrast, together=k * m)
        if not tested.clear(self.matters)[0]:
            return ""
        which, more = (high, "higher") if len(high) <= len(low) else (low, "lower")
        amount = self.points(tested.estimate[0], tested.low[0], tested.high[0])
        if axis == 1:
            where = names([panel.languages[at[i]] for i in sorted(which)])
            return (
                f"{name(panel.judges[one])} scores {amount} {more}, relative to the other judges, in {where} than in "
                f"the other {panel.nouns}. Which of them are at fault cannot be told."
            )
        who = names([panel.judges[at[i]] for i in sorted(which)])
        verb = "scores" if len(which) == 1 else "score"
        return (
            f"In {_place(panel, one)}, {who} {verb} {amount} {more}, relative to the other judges, than in the other "
            f"{panel.nouns}. Which judges are at fault cannot be told."
        )

    # --- numbers and words ---

    def points(self, value: float, low: float, high: float, unit: bool = True) -> str:
        """The size of a difference with its interval."""
        return amount(self.panel, *((value, low, high) if value >= 0 else (-value, -high, -low)), unit)

    def up(self, value: float) -> str:
        """A limit in points, rounded up to two digits."""
        shown = self.panel.factor * value
        if shown <= 0:
            return "0"
        power = math.floor(math.log10(shown)) - 1
        rounded = math.ceil(shown / 10.0**power - 1e-9) * 10.0**power
        return number(rounded, max(0, -math.floor(math.log10(rounded)) + 1))

    def marks(self, named: Sequence[Cell]) -> Mask:
        """Cells that are named; with two languages a judge is, with two judges a language."""
        found, (k, m) = np.zeros(self.shape, dtype=bool), self.shape
        for row, column in named:
            found[slice(None) if k == 2 else row, slice(None) if m == 2 else column] = True
        return found

    def limit(self, tested: Interval, named: Sequence[Cell]) -> float:
        """The largest |excess| that is not ruled out. Where few units differ at all, what the exact binomial limit of
        the share that differs allows."""
        kept = np.where(np.isfinite(tested.q), np.abs(tested.estimate) + tested.q * tested.se, np.nan)
        kept[self.marks(named)] = np.nan
        if not np.isfinite(kept).any():
            return math.nan
        largest = float(np.nanmax(kept))
        found = excess(self.present, named)
        x = self.numbers(found, found.told & np.isfinite(kept))
        hits = int((np.abs(x) > 1e-9 * self.panel.width).sum(0).max(initial=0))
        if hits >= 10 or hits >= self.values.units:
            return largest
        return max(largest, self.panel.width * ruled_out(hits, self.values.units, self.level, int(self.distinct.sum())))

    def frame(self, first: Interval, rest: Interval, named: Sequence[Cell]) -> pd.DataFrame:
        """One row for each language and judge."""
        panel, (k, m) = self.panel, self.shape
        residual = np.full((k, m), np.nan)
        flat = np.where(self.present, self.values.mean, 0.0)[self.present]
        residual[self.present] = flat - additive_projection(self.present) @ flat
        both = [(name_, judge) for name_ in panel.languages for judge in panel.judges]
        columns: dict[str, Any] = {
            "language": [x for x, _ in both],
            "judge": [x for _, x in both],
            "off": first.estimate,
            "low": first.low_one,
            "high": first.high_one,
            "all_low": first.low,
            "all_high": first.high,
            "clear": first.clear(self.matters),
            "named": self.marks(named),
            "excess": rest.estimate,
            "excess_low": rest.low,
            "excess_high": rest.high,
            "beta": np.where(np.isfinite(first.estimate), residual, np.nan),
            "radius": np.full((k, m), self.radius),
        }
        return framed({c: x if isinstance(x, list) else x.ravel() for c, x in columns.items()})


def _empty() -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({c: pd.Series(dtype=bool if c in ("clear", "named") else object) for c in COLUMNS})


def _place(panel: Panel, language: int) -> str:
    said = name(panel.languages[language])
    return said if panel.noun == "language" else f"{panel.noun} {said}"


# --- sentences ---


def _head(work: _Work, kind: Kind, first: Interval, named: Sequence[Cell], blind: bool) -> str:
    """A few words for the card of a page."""
    panel = work.panel
    if kind in ("named", "judge gaps", "language gaps"):
        cell = max(named, key=lambda c: (round(float(abs(first.estimate[c])) / panel.width, 9), (-c[0], -c[1])))
        half = float(first.q[cell] * first.se[cell])
        value = panel.factor * float(first.estimate[cell])
        who, place = name(panel.judges[cell[1]], 30), name(panel.languages[cell[0]], 30)
        if kind == "named":
            return f"{who} in {place}: {points(value, panel.factor * half, sign=True)}"
        size = points(abs(value), panel.factor * half)
        return f"{who}'s gap differs by {size}" if kind == "judge gaps" else f"The gap differs in {place}"
    said = {
        "calm": "Too few tasks to tell" if blind else "Nothing is off",
        "two by two": "The gap between the judges differs",
        "split": "One group differs from the rest",
        "many": f"{panel.noun.capitalize()} changes the judges",
        "scale": "Judges use the scale differently",
    }
    return said.get(kind, "")


def _calm(work: _Work, first: Interval) -> str:
    panel, limit = work.panel, work.limit(first, ())
    unit = panel.unit_name
    if not math.isfinite(limit):
        why = ": no tasks connect them" if work.present.all() else ""
        return f"No judge can be compared between {panel.nouns}{why}."
    if limit > 0.1 * panel.width:
        what = "clusters" if panel.clustered else "tasks"
        seen: Mask = np.asarray(np.isfinite(panel.scores).any((1, 3)))
        n = [len(np.unique(panel.unit[of])) for of in seen.T]
        if thin := [f"{_place(panel, x)} ({n[x]})" for x in range(len(n)) if 2 * n[x] < max(n)]:
            what += f" in {names(thin)}"
        return f"Nothing clear, but with so few {what} a judge may still be off by up to {work.up(limit)} {unit}."
    return f"No judge is off by more than {work.up(limit)} {unit} in any {panel.noun}."


def _two_words(work: _Work, first: Interval) -> str:
    panel = work.panel
    amount = work.points(first.estimate[0, 0], first.low[0, 0], first.high[0, 0])
    return (
        f"{name(panel.judges[0])}'s gap to {name(panel.judges[1])} differs by {amount} between {_place(panel, 0)} and "
        f"{_place(panel, 1)}. Which {panel.noun} or judge is at fault cannot be told."
    )


def _named_words(work: _Work, first: Interval, rest: Interval, named: Sequence[Cell]) -> str:
    panel, (k, m) = work.panel, work.shape
    if k == 2:
        how, end = "", f"between {_place(panel, 0)} and {_place(panel, 1)}"
    elif m == 2:
        how, end = f", relative to {name(panel.judges[1])}", f"than in the other {panel.nouns}"
    else:
        how, end = ", relative to the other judges", f"than in the other {panel.nouns}"
    parts = []
    for i, cell in enumerate(sorted(named, key=lambda c: (-round(float(abs(first.estimate[c])) / panel.width, 9), c))):
        amount = work.points(first.estimate[cell], first.low[cell], first.high[cell], i == 0)
        more = "higher" if first.estimate[cell] > 0 else "lower"
        judge, place = name(panel.judges[cell[1] if m > 2 else 0]), _place(panel, cell[0])
        if k == 2:
            parts.append(
                f"{judge}'s gap to the other judges differs by {amount} {end}" if i == 0 else f"{judge}'s by {amount}"
            )
        elif i == 0:
            parts.append(f"In {place}, {judge} scores {amount} {more}{how}, {end}")
        else:
            parts.append(f"in {place}, {amount} {more}" if m == 2 else f"{judge} in {place}, {amount} {more}")
    said = ["; ".join(parts) + "."]
    if k == 2:
        said.append(f"Which {panel.noun} is at fault cannot be told from two.")
    if m == 2:
        said.append("Which judge is at fault cannot be told from two.")
    limit = work.limit(rest, named)
    if math.isfinite(limit):
        said.append(f"With those scores left out, nothing is off by more than {work.up(limit)} {panel.unit_name}.")
    return " ".join(said)


def _many_words(work: _Work, first: Interval, clear: Mask) -> str:
    panel, (k, m) = work.panel, work.shape
    told = work.distinct & np.isfinite(first.estimate)
    size = np.where(clear, np.round(np.abs(first.estimate) / panel.width, 9), -1.0)
    row, column = (int(x) for x in np.unravel_index(int(np.argmax(size)), size.shape))
    e, low, high = (float(x[row, column]) for x in (first.estimate, first.low, first.high))
    least = number(panel.factor * work.matters, 6).rstrip("0").rstrip(".")
    unit, judge = panel.unit_name, name(panel.judges[column])
    begin, number_of = f"{panel.noun.capitalize()} changes the judges", f"{int(clear.sum())} of {int(told.sum())}"
    by = work.points(e, low, high, unit=False)
    if k == 2:
        return (
            f"{begin}: the gaps of {number_of} judges to the others differ by more than {least} {unit} between "
            f"{_place(panel, 0)} and {_place(panel, 1)}, {judge}'s most ({by}). Calibrating removes it."
        )
    if m == 2:
        return (
            f"{begin}: in {number_of} {panel.nouns} the gap between {judge} and {name(panel.judges[1])} is off by more "
            f"than {least} {unit}, in {_place(panel, row)} most ({by}). Calibrating removes it."
        )
    are = "is" if clear.sum() == 1 else "are"
    return (
        f"{begin}: {number_of} {panel.noun}-judge pairs {are} off by more than {least} {unit}, {judge} in "
        f"{_place(panel, row)} most ({amount(panel, e, low, high, unit=False)}). Calibrating removes it."
    )


def _untold(work: _Work, first: Interval) -> list[Finding]:
    """What cannot be compared, in one line that names it."""
    panel, (k, m), gone = work.panel, work.shape, ~np.isfinite(first.estimate)
    empty = ~work.present
    rest = gone & ~empty & ~((k == 2) & empty.any(0)) & ~((m == 2) & empty.any(1, keepdims=True))
    found = []
    for cells, key, text in (
        (empty, "off.empty", "No scores"),
        (rest, "off.untold", "No tasks that other judges scored too"),
    ):
        said = [f"{panel.judges[b]} in {_place(panel, x)}" for x, b in np.argwhere(cells)]
        if said and not rest.all():
            found.append(Finding("notice", key, f"{text}, so not compared: {names(said)}.", "Off"))
    return found


def _ceiling(work: _Work, clear: Mask) -> list[Finding]:
    """Rates near 0 or 100%: a ceiling alone can make an interaction."""
    panel = work.panel
    if not panel.two_valued or not clear.any():
        return []
    rate = float(np.nanmean((work.values.mean - panel.scale[0]) / panel.width))
    if 0.1 <= rate <= 0.9:
        return []
    text = (
        f"{percent(rate)} of the answers pass. So close to {'all' if rate > 0.5 else 'none'}, two judges that are "
        f"equally strict everywhere can still differ by more percentage points in one {panel.noun} than in another."
    )
    return [Finding("info", "off.ceiling", text)]


# --- judges that use the scale differently ---


@dataclass(frozen=True)
class _Scale:
    """Slopes of the judges, the share of beta^ that they explain, and which surely differ where that may be said."""

    judges: tuple[str, ...]
    slope: Array
    r: Array
    tested: Interval
    share: float
    differ: Mask

    @property
    def explains(self) -> bool:
        """Whether slopes are what differs."""
        return bool(self.differ.any() and self.share > SHARE)

    @property
    def frame(self) -> pd.DataFrame:
        """judge, slope, low, high, r."""
        low, high = self.tested.low_one, self.tested.high_one
        return framed({"judge": self.judges, "slope": self.slope, "low": low, "high": high, "r": self.r})


def _scale_use(panel: Panel, values: Values, level: float) -> _Scale:
    slope, r, tested = slopes(panel.scores, panel.unit, panel.weight, level)
    if panel.two_valued or not values.present.all() or values.units < FEWEST or not (r >= SEES).all():
        return _Scale(panel.judges, slope, r, tested, 0.0, np.zeros(len(slope), dtype=bool))
    cells = values.mean
    beta = cbc.double_centre(cells)
    predicted = np.outer(cells.mean(1) - cells.mean(), slope - 1)
    whole = float((beta**2).sum())
    share = 1 - float(((beta - predicted) ** 2).sum()) / whole if whole > 0 else 0.0
    return _Scale(panel.judges, slope, r, tested, share, np.abs(slope - 1) - tested.q * tested.se > SLOPE)


def _scale_words(panel: Panel, use: _Scale) -> str:
    slope, differ = use.slope, use.differ
    said: list[str] = []
    for which, more in ((differ & (slope < 1), "less"), (differ & (slope > 1), "more")):
        at = [int(b) for b in np.argsort(np.round(np.where(slope < 1, slope, -slope), 9), kind="stable") if which[b]]
        if at:
            verb = "reacts" if len(at) == 1 else "react"
            sizes = names([number(slope[b], 1) for b in at])
            what = " than the others to differences between answers" if not said else ""
            said.append(f"{names([panel.judges[b] for b in at])} {verb} {more}{what} (slope {sizes})")
    return f"{'; '.join(said)}. That, not {panel.noun}, explains {percent(use.share, 0)} of what differs."


# --- lowest scores, shared shifts, clusters that were not declared ---


def _floor(
    panel: Panel, level: float
) -> tuple[Callable[[], pd.DataFrame] | None, tuple[tuple[str, str], ...], list[Finding]]:
    """Cells in which a judge gives the lowest score, or none, more often than elsewhere: a parser that fails."""
    if panel.two_valued:
        return None, (), []
    low = panel.scale[0]
    part = panel.passes(low, "floor")
    values = part.values()
    rates = values.mean
    if not np.isfinite(rates).all() or rates.max() < FLOOR:
        return None, (), []
    work = _Work(part, values, FLOOR, level)
    tested = work.test(())
    k = len(panel.languages)
    hit = tested.clear(FLOOR) & (tested.estimate > 0) & np.isfinite(panel.scores).any((0, 1))
    elsewhere = (rates.sum(0) - rates) / (k - 1)
    order = [(int(x), int(b)) for x, b in zip(*np.nonzero(hit & (rates > elsewhere)), strict=True)]
    order.sort(key=lambda c: (-round(float(tested.estimate[c]), 9), c))
    missing = not panel.complete
    found = []
    for x, b in order[:3]:
        what = f"{low:g} or no score" if missing else f"{low:g}"
        text = (
            f"{name(panel.judges[b])} gives {what} to {percent(rates[x, b], 0)} of the {_answers(panel, x)} "
            f"({percent(elsewhere[x, b], 0)} elsewhere): check its prompt and parser."
        )
        where = {"language": panel.languages[x], "judge": panel.judges[b]}
        found.append(Finding("serious", "off.floor", text, "Off", where))
    cells = _cells(panel, order)

    def frame() -> pd.DataFrame:
        made = framed(cells, columns=["language", "judge"])
        return made.assign(rate=[float(rates[c]) for c in order], elsewhere=[float(elsewhere[c]) for c in order])

    return frame, tuple(cells), found


def _answers(panel: Panel, language: int) -> str:
    if panel.noun == "language":
        return f"{name(panel.languages[language])} answers"
    return f"answers in {_place(panel, language)}"


def _shift(panel: Panel, values: Values, level: float, draws: int = 400, seed: int = 0) -> pd.DataFrame | None:
    """How much harder or easier a language is for all: median over judges of their shift against the other languages.
    None where languages share no tasks: other tasks may be harder."""
    if values.seen is not None or not values.present.all() or values.units < FEWEST:
        return None
    k, m = values.present.shape
    group = groups_of(values.units, seed)
    flat = values.v.reshape(values.units, -1)
    size = np.bincount(group)
    sums = np.stack([np.bincount(group, flat[:, i]) for i in range(k * m)], axis=1)
    w = bootstrap(len(size), draws, seed)
    means = np.concatenate([values.mean.reshape(1, k, m), ((w @ sums) / (w @ size)[:, None]).reshape(-1, k, m)])
    shift = np.median((means - means.mean(1, keepdims=True)) * (k / (k - 1)), axis=2)
    low, high = np.quantile(shift[1:], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return framed({"language": panel.languages, "shift": shift[0], "low": low, "high": high})


def clusters(panel: Panel) -> Finding | None:
    """A note where tasks that are named alike (doc0-q0, doc0-q1) are scored alike and no cluster was declared: such
    tasks are no independent ones, and intervals are then too narrow."""
    if panel.clustered or panel.units != len(panel.tasks) or panel.units < 12 or np.ptp(panel.weight) > 0:
        return None
    stems = [re.split(r"[-_/.:# ]+(?=[^-_/.:# ]+$)", t)[0] for t in panel.tasks]
    found, group, sizes = np.unique(stems, return_inverse=True, return_counts=True)
    n, g = len(stems), len(found)
    if not 2 <= g <= n / 2 or all(s == t for s, t in zip(stems, panel.tasks, strict=True)):
        return None
    x = panel.scores.reshape(n, -1)
    x = x[:, np.unique(np.linspace(0, x.shape[1] - 1, 300).astype(int))]
    there = np.isfinite(x)
    x = np.where(there, x - np.nanmean(np.where(there.any(0), x, 0.0), axis=0), 0.0)
    x = np.where(there, x - x.sum(1, keepdims=True) / np.maximum(there.sum(1, keepdims=True), 1), 0.0)
    sums = np.zeros((g, x.shape[1]))
    np.add.at(sums, group, x)
    inner = x - (sums / sizes[:, None])[group]
    within, between = float((inner**2).sum()), float((sums**2 / sizes[:, None]).sum())
    if within <= 1e-12 * max(between, 1e-300):
        return None
    ratio = (between / (g - 1)) / (within / (n - g))
    wide = within**2 / float(((inner.T @ inner) ** 2).sum())  # as many independent columns as these are worth
    usual = (n - float((sizes**2).sum()) / n) / (g - 1)
    alike = (ratio - 1) / (ratio - 1 + usual)
    if ratio < fdtri(wide * (g - 1), wide * (n - g), 0.999) or alike * (n / g - 1) < 0.3:
        return None
    text = (
        f"Tasks whose names begin alike ({names(found, 3)}) are scored alike, so intervals may be too narrow. If they "
        "belong together, as questions on one document do, name a column that says so: --cluster COLUMN."
    )
    return Finding("notice", "clusters", text, "Off")
