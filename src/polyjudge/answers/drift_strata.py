"""Does a column sort the tasks of two runs, such as their domain or difficulty? (METHODS 34)"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import UsageError
from polyjudge.base.text import name, names
from polyjudge.panel import Panel

Codes = NDArray[np.int64]
MOST_STRATA = 12
"""Values from which a column does not sort tasks any more."""
FEWEST = 2
"""Units of each run that a stratum needs."""
MOST_LOST = 0.1
"""Share of the units that may be in no stratum of both runs."""


@dataclass(frozen=True)
class Strata:
    """A column, the stratum of each unit of both runs (-1: none), and the strata that both have."""

    column: str
    old: Codes
    new: Codes
    shared: tuple[int, ...]


def find_strata(
    sources: tuple[Any, Any], runs: tuple[Panel, Panel], asked: str | None, task: str | None
) -> Strata | None:
    """What sorts the tasks of both runs: the column that was asked for, or the only one that does by its values."""
    tables = [_open(source) for source in sources]
    if any(table is None for table in tables) or any(panel.hashed for panel in runs):
        if asked is not None:
            raise UsageError(f"Give both runs as tables of scores with a column {name(asked)!r}.")
        return None
    columns = [asked] if asked is not None else _candidates(tables, runs)
    sorted_by = {column: _sort_units(column, tables, runs, task) for column in columns}
    usable = [strata for strata in sorted_by.values() if strata is not None]
    if asked is not None and not usable:
        raise UsageError(
            f"The column {name(asked)!r} does not sort the tasks of both runs: it needs one value for each task, at "
            f"most {MOST_STRATA} in all, and most tasks in values that both runs have."
        )
    return usable[0] if len(usable) == 1 else None


def _open(source: Any) -> Any:
    """A table of a source; None where scores are given in another form."""
    from polyjudge.read.table import open_table

    is_table = hasattr(source, "columns") or (isinstance(source, (str, Path)) and not str(source).endswith(".json"))
    return open_table(source) if is_table and not isinstance(source, Panel) else None


def _candidates(tables: list[Any], runs: tuple[Panel, Panel]) -> list[str]:
    """Columns of both tables that do not hold judges, languages or systems."""
    taken = [{*panel.judges, *panel.languages, *panel.systems, *panel.tasks} for panel in runs]
    candidates = []
    for column in tables[0].columns:
        if column not in tables[1].columns:
            continue
        values = [_distinct(table, column) for table in tables]
        few = all(2 <= len(found) <= MOST_STRATA for found in values)
        if few and not any(found & labels for found, labels in zip(values, taken, strict=True)):
            candidates.append(column)
    return candidates


def _distinct(table: Any, column: str) -> set[str]:
    """Values of a column, one more than may be at most."""
    expression = table.columns[column][0]
    sql = f"SELECT DISTINCT CAST({expression} AS VARCHAR) FROM {table.relation} WHERE {expression} IS NOT NULL"
    return {row[0] for row in table.rows(f"{sql} LIMIT {MOST_STRATA + 1}")}


def _sort_units(column: str, tables: list[Any], runs: tuple[Panel, Panel], task: str | None) -> Strata | None:
    """The stratum of each unit; None where tasks have several values, or most are in no stratum of both runs."""
    values = [_value_of_unit(column, table, panel, task) for table, panel in zip(tables, runs, strict=True)]
    old, new = values
    if old is None or new is None:
        return None
    labels = sorted({*old, *new} - {""})
    if len(labels) > MOST_STRATA:
        return None
    codes = [np.array([labels.index(value) if value else -1 for value in found]) for found in (old, new)]
    counts = [np.bincount(code[code >= 0], minlength=len(labels)) for code in codes]
    shared = tuple(int(i) for i in np.flatnonzero((counts[0] >= FEWEST) & (counts[1] >= FEWEST)))
    lost = [1 - np.isin(code, shared).mean() for code in codes]
    if len(shared) < 2 or max(lost) > MOST_LOST:
        return None
    return Strata(column, codes[0], codes[1], shared)


def _value_of_unit(column: str, table: Any, panel: Panel, task: str | None) -> list[str] | None:
    """The value of each unit; "" where it is not known; None where a unit has several values."""
    from polyjudge.read.columns import usual

    if column not in table.columns:
        raise UsageError(f"There is no column {name(column)!r}. The table has: {names(table.columns, 12)}.")
    task_column = task if task in table.columns else next(iter(usual("task", table.columns)), None)
    if task_column is None:
        return None
    key, value = (f"CAST({table.columns[c][0]} AS VARCHAR)" for c in (task_column, column))
    rows = table.rows(f"SELECT {key}, min({value}), max({value}) FROM {table.relation} GROUP BY 1")
    value_of = {str(label).strip(): low for label, low, high in rows if low == high and low is not None}
    found = [""] * panel.units
    for label, unit in zip(panel.tasks, panel.unit, strict=True):
        here = value_of.get(str(label), "")
        if found[unit] not in ("", here):
            return None
        found[unit] = here
    return found
