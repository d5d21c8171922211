"""Options of reading that every public function takes: those of `read_panel`, less what a function itself calls so."""

from __future__ import annotations

from typing import Any, TypedDict

Several = tuple[str, ...] | None


class Columns(TypedDict, total=False):
    """Which column holds what, and what to read of them."""

    task: str | None
    system: str | None
    language: str | None
    judge: str | None
    score: str | None
    human: str | None
    criterion: str | None
    cluster: str | None
    replicate: str | None
    by: str | None
    languages: Several
    systems: Several
    criteria: Several
    range: str | None
    drop: Several
    engine: str | None
    verdict: str | None
    favours: str | None
    human_judges: Several


class ColumnsAndJudges(Columns, total=False):
    """For functions with labels and items of their own."""

    judges: Several


class ColumnsJudgesItems(ColumnsAndJudges, total=False):
    """For functions with labels of their own."""

    items: Any


class ColumnsLabelsItems(Columns, total=False):
    """For functions with judges of their own."""

    labels: Any
    items: Any


class ReadingOptions(ColumnsJudgesItems, total=False):
    """All of them."""

    labels: Any
