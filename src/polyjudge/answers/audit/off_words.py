"""What is said of what is off (METHODS 18, 29, 40). Numbers come from `contrasts.py`; nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import amount
from polyjudge.answers.audit.contrasts import Cell, OffContrasts, Split
from polyjudge.base.numbers import number, percent, points
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.interval import Interval

Mask = NDArray[np.bool_]


def place(panel: Panel, language: int) -> str:
    """A language in a sentence."""
    said = name(panel.languages[language])
    return said if panel.noun == "language" else f"{panel.noun} {said}"


def round_up(panel: Panel, value: float) -> str:
    """A limit in points, rounded up to two digits."""
    shown = panel.factor * value
    if shown <= 0:
        return "0"
    power = math.floor(math.log10(shown)) - 1
    rounded = math.ceil(shown / 10.0**power - 1e-9) * 10.0**power
    return number(rounded, max(0, -math.floor(math.log10(rounded)) + 1))


def unsigned_amount(panel: Panel, value: float, low: float, high: float, unit: bool = True) -> str:
    """The size of a difference with its interval."""
    if value < 0:
        value, low, high = -value, -high, -low
    return amount(panel, value, low, high, unit)


def _cell_amount(panel: Panel, tested: Interval, cell: Cell, unit: bool = True) -> str:
    return unsigned_amount(panel, tested.estimate[cell], tested.low[cell], tested.high[cell], unit)


def _higher(value: float) -> str:
    return "higher" if value > 0 else "lower"


def _format_matters(panel: Panel, matters: float) -> str:
    """What matters, without zeros that say nothing: "2", "0.5"."""
    shown = number(panel.factor * matters, 6)
    return shown.rstrip("0").rstrip(".")


# --- one cell, several ---


def cell_sentence(contrasts: OffContrasts, tested: Interval, cells: Sequence[Cell]) -> str:
    """By how much cells are off, the first in full: without a full stop. With two languages (judges) a cell stands for
    its judge (language)."""
    panel, (k, m) = contrasts.panel, contrasts.shape
    first, *more = cells
    parts = [_first_cell(contrasts, tested, first)]
    for cell in more:
        size = f"{_cell_amount(panel, tested, cell, unit=False)} {_higher(tested.estimate[cell])}"
        judge, language = name(panel.judges[cell[1]]), place(panel, cell[0])
        if k == 2:
            parts.append(f"{judge} {size}")
        elif m == 2:
            parts.append(f"in {language}, {size}")
        else:
            parts.append(f"{judge} in {language}, {size}")
    return "; ".join(parts)


def _first_cell(contrasts: OffContrasts, tested: Interval, cell: Cell) -> str:
    panel, (k, m) = contrasts.panel, contrasts.shape
    judge, language = name(panel.judges[cell[1] if m > 2 else 0]), place(panel, cell[0])
    size = f"{_cell_amount(panel, tested, cell)} {_higher(tested.estimate[cell])}"
    other = name(panel.judges[1])
    if k == 2:
        others = "the other judges" if m > 2 else other
        return f"Against {others}, {judge} scores {size} in {language} than in {place(panel, 1 - cell[0])}"
    relative_to = "the other judges" if m > 2 else other
    return f"In {language}, {judge} scores {size}, relative to {relative_to}, than in the other {panel.nouns}"


def largest_first(panel: Panel, tested: Interval, cells: Sequence[Cell]) -> list[Cell]:
    """Cells in the order in which they are said."""
    return sorted(cells, key=lambda cell: (-round(float(abs(tested.estimate[cell])) / panel.width, 9), cell))


def named_text(contrasts: OffContrasts, shown: Interval, rest: Interval, named: Sequence[Cell]) -> str:
    """Which cells are off, what cannot be told, and how far the others may be."""
    panel, (k, m) = contrasts.panel, contrasts.shape
    sentences = [f"{cell_sentence(contrasts, shown, largest_first(panel, shown, named))}."]
    if k == 2:
        sentences.append(f"Which {panel.noun} is at fault cannot be told from two.")
    elif m == 2:
        sentences.append("Which judge is at fault cannot be told from two.")
    limit = contrasts.stated_limit(rest, named)
    if math.isfinite(limit):
        text = f"Apart from this, nothing is off by more than {round_up(panel, limit)} {panel.unit_name}"
        sentences.append(f"{text}; {blind_clause(contrasts)}.")
    return " ".join(sentences)


def blind_clause(contrasts: OffContrasts) -> str:
    """What failures might not have been drawn."""
    unit = "clusters" if contrasts.panel.clustered else "tasks"
    return f"a judge that fails on fewer than 1 in {contrasts.blind.one_in} {unit} may not show here"


# --- nothing is clear ---


def calm_text(contrasts: OffContrasts, first: Interval) -> str:
    """What is ruled out where nothing is clear."""
    panel = contrasts.panel
    limit = contrasts.limit(first, ())
    stated = contrasts.stated_limit(first, ())
    if not math.isfinite(limit):
        why = ": no tasks connect them" if contrasts.present.all() else ""
        return f"No judge can be compared between {panel.nouns}{why}."
    up_to = f"{round_up(panel, stated)} {panel.unit_name}"
    if contrasts.is_coarse(first):
        return f"Nothing clear, but with so few {_thin_units(panel)} a judge may still be off by up to {up_to}."
    limit_text = f"Compared with each other, no judge is off by more than {up_to} in any {panel.noun}"
    return f"{limit_text}; {blind_clause(contrasts)}."


def _thin_units(panel: Panel) -> str:
    """Tasks or clusters, and the languages that have fewer than half as many as others."""
    what = "clusters" if panel.clustered else "tasks"
    seen: Mask = np.asarray(np.isfinite(panel.scores).any((1, 3)))
    n = [len(np.unique(panel.unit[of])) for of in seen.T]
    thin = [f"{place(panel, x)} ({n[x]})" for x in range(len(n)) if 2 * n[x] < max(n)]
    return f"{what} in {names(thin)}" if thin else what


def near_limit_text(contrasts: OffContrasts, first: Interval, cells: Sequence[Cell]) -> str:
    """Cells that are off, but not certainly by more than what matters."""
    panel = contrasts.panel
    limit = f"your limit of {_format_matters(panel, contrasts.matters)}"
    return f"{cell_sentence(contrasts, first, largest_first(panel, first, cells))}: about {limit}."


def calibrated_text(panel: Panel) -> str:
    """Zero by arithmetic is no finding."""
    return (
        "These scores are calibrated: what is off is 0 by construction, whatever the judges do. Audit the scores as "
        "they were before."
    )


# --- splits, many, two by two ---


def two_by_two_text(contrasts: OffContrasts, first: Interval) -> str:
    """The one contrast of two judges in two languages."""
    return f"{_first_cell(contrasts, first, (0, 0))}. Which {contrasts.panel.noun} or judge is at fault cannot be told."


def split_text(panel: Panel, split: Split) -> str:
    """One judge in half of the languages, or one language by half of the judges."""
    size = unsigned_amount(panel, split.size, split.low, split.high)
    more = "higher" if split.is_higher else "lower"
    if split.is_judge:
        where = names([panel.languages[x] for x in split.group])
        return (
            f"{name(panel.judges[split.one])} scores {size} {more}, relative to the other judges, in {where} than in "
            f"the other {panel.nouns}. Which of them are at fault cannot be told."
        )
    who = names([panel.judges[b] for b in split.group])
    verb = "scores" if len(split.group) == 1 else "score"
    return (
        f"In {place(panel, split.one)}, {who} {verb} {size} {more}, relative to the other judges, than in the other "
        f"{panel.nouns}. Which judges are at fault cannot be told."
    )


def many_text(contrasts: OffContrasts, first: Interval, clear: Mask) -> str:
    """How many cells are off, and the largest."""
    panel, (k, m) = contrasts.panel, contrasts.shape
    told = contrasts.distinct & np.isfinite(first.estimate)
    size = np.where(clear, np.round(np.abs(first.estimate) / panel.width, 9), -1.0)
    row, column = (int(x) for x in np.unravel_index(int(np.argmax(size)), size.shape))
    largest = (row, column)
    least = f"{_format_matters(panel, contrasts.matters)} {panel.unit_name}"
    judge = name(panel.judges[column])
    begin, n_of = f"{panel.noun.capitalize()} changes the judges", f"{int(clear.sum())} of {int(told.sum())}"
    by = _cell_amount(panel, first, largest, unit=False)
    if k == 2:
        return (
            f"{begin}: the gaps of {n_of} judges to the others differ by more than {least} between "
            f"{place(panel, 0)} and {place(panel, 1)}. Against the others, {judge} differs most ({by} "
            f"{_higher(first.estimate[largest])} in {place(panel, row)}). Calibrating removes it."
        )
    if m == 2:
        return (
            f"{begin}: in {n_of} {panel.nouns} the gap between {judge} and {name(panel.judges[1])} is off by more "
            f"than {least}, in {place(panel, row)} most ({by}). Calibrating removes it."
        )
    are = "is" if clear.sum() == 1 else "are"
    signed = amount(panel, first.estimate[largest], first.low[largest], first.high[largest], unit=False)
    return (
        f"{begin}: {n_of} {panel.noun}-judge pairs {are} off by more than {least}, {judge} in "
        f"{place(panel, row)} most ({signed}). Calibrating removes it."
    )


# --- beside ---


def untold_findings(contrasts: OffContrasts, first: Interval) -> list[Finding]:
    """What cannot be compared, in one line that names it."""
    panel, (k, m), unknown = contrasts.panel, contrasts.shape, ~np.isfinite(first.estimate)
    empty = ~contrasts.present
    lone = (k == 2) & empty.any(0) | (m == 2) & empty.any(1, keepdims=True)
    apart = unknown & ~empty & ~lone
    found = []
    for cells, key, text in (
        (empty, "off.empty", "No scores"),
        (apart, "off.untold", "No tasks that other judges scored too"),
    ):
        which = [f"{panel.judges[b]} in {place(panel, x)}" for x, b in np.argwhere(cells)]
        if which and not apart.all():
            found.append(Finding("notice", key, f"{text}, so not compared: {names(which)}.", "Off"))
    return found


def ceiling_findings(contrasts: OffContrasts, clear: Mask) -> list[Finding]:
    """Rates near 0 or 100%: a ceiling alone can make an interaction."""
    panel = contrasts.panel
    if not panel.two_valued or not clear.any():
        return []
    rate = float(np.nanmean((contrasts.values.mean - panel.scale[0]) / panel.width))
    if 0.1 <= rate <= 0.9:
        return []
    text = (
        f"{percent(rate)} of the answers pass. So close to {'all' if rate > 0.5 else 'none'}, two judges that are "
        f"equally strict everywhere can still differ by more percentage points in one {panel.noun} than in another."
    )
    return [Finding("info", "off.ceiling", text)]


def named_head(contrasts: OffContrasts, shown: Interval, named: Sequence[Cell]) -> str:
    """A few words for the card of a page: the largest of the cells that are named."""
    panel, (k, m) = contrasts.panel, contrasts.shape
    cell = largest_first(panel, shown, named)[0]
    half_width = panel.factor * float(shown.q[cell] * shown.se[cell])
    value = panel.factor * float(shown.estimate[cell])
    judge, language = name(panel.judges[cell[1]], 30), name(panel.languages[cell[0]], 30)
    if k == 2:
        return f"{judge}'s gap differs by {points(abs(value), half_width)}"
    if m == 2:
        return f"The gap differs in {language}"
    return f"{judge} in {language}: {points(value, half_width, sign=True)}"
