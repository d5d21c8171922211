"""A report whose condition is no language: every sentence, title and caption uses the condition's own name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import pandas as pd

from polyjudge.panel.say import LANGUAGE, Say, called

T = TypeVar("T")
SHOWN = frozenset({"title", "caption", "alt", "note", "absent", "why", "unit", "says", "read", "verdict", "uses"})
"""Fields whose plain texts are words of ours. All other texts are codes, or belong to the user."""


def in_words_of(report: T, noun: str) -> T:
    """The same report about `noun` in place of language: a rubric, a prompt version, a domain, a month."""
    return report if noun == LANGUAGE else _renamed(report, noun, "")


def _renamed(value: Any, noun: str, field: str) -> Any:
    if isinstance(value, Say):
        return replace(value, noun=noun)
    if isinstance(value, str):
        return called(value, noun) if field in SHOWN else value
    if isinstance(value, tuple):
        return tuple(_renamed(v, noun, field) for v in value)
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.endswith("report.sections"):
        changed = {f.name: _renamed(getattr(value, f.name), noun, f.name) for f in fields(value)}
        return replace(value, **changed | ({"noun": noun} if "noun" in changed else {}))
    if isinstance(value, pd.DataFrame) and field in ("values", "texts", "marks"):  # of a grid
        return value.rename_axis(index=_axis(value.index.name, noun), columns=_axis(value.columns.name, noun))
    if isinstance(value, dict) and field == "data":  # of a chart: its arguments
        return {k: called(v, noun) if k in SHOWN and isinstance(v, str) else v for k, v in value.items()}
    return value


def _axis(name: Any, noun: str) -> Any:
    return noun if name == LANGUAGE else name


def pictures_in_words_of(spec: Any, noun: str) -> Any:
    """The titles of a picture's axes, legends and hovering texts."""
    if noun == LANGUAGE:
        return spec
    if isinstance(spec, dict):
        return {
            k: called(v, noun)
            if k in ("title", "text", "subtitle") and isinstance(v, str)
            else pictures_in_words_of(v, noun)
            for k, v in spec.items()
        }
    return [pictures_in_words_of(v, noun) for v in spec] if isinstance(spec, list) else spec
