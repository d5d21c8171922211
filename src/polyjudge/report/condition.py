"""A report in the words of its panel: what its condition is called, and the unit of score differences."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import pandas as pd

from polyjudge.panel.say import LANGUAGE, POINTS, Say, called, measured
from polyjudge.report.sections import Column, Report
from polyjudge.report.unit import MEANS

SHOWN = frozenset({"title", "caption", "alt", "note", "absent", "why", "unit", "says", "read", "verdict", "uses"})
"""Fields whose plain texts are words of ours. All other texts are codes, or belong to the user."""


def in_words_of(report: Report, noun: str) -> Report:
    """The same report about `noun` in place of language: a rubric, a prompt version, a domain, a month; and in its own
    unit."""
    words = Tongue(noun, report.unit)
    return report if words == PLAIN else replace(words.of(report, ""), unit=report.unit)


@dataclass(frozen=True)
class Tongue:
    """What the condition is called, and the unit of score differences."""

    noun: str = LANGUAGE
    unit: str = POINTS

    def text(self, text: str) -> str:
        """A text of ours."""
        return measured(called(text, self.noun) if self.noun != LANGUAGE else text, self.unit)

    def of(self, value: Any, field: str) -> Any:
        """A part of a report."""
        if isinstance(value, Say):
            return replace(value, noun=self.noun, unit=self.unit)
        if isinstance(value, str):
            return self.text(value) if field in SHOWN else value
        if isinstance(value, tuple):
            return tuple(self.of(v, field) for v in value)
        if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.endswith("report.sections"):
            changed = {f.name: self.of(getattr(value, f.name), f.name) for f in fields(value)}
            if isinstance(value, Column) and self.unit != POINTS and value.name in MEANS:
                changed["title"] += ", %"
            own = {name: x for name, x in (("noun", self.noun), ("unit", self.unit)) if name in changed}
            return replace(value, **changed | own)
        if isinstance(value, pd.DataFrame) and field in ("values", "texts", "marks"):  # of a grid
            return value.rename_axis(index=self._axis(value.index.name), columns=self._axis(value.columns.name))
        if isinstance(value, pd.DataFrame) and field == "frame" and "component" in value:  # called by their axes
            return value.assign(component=[called(str(x), self.noun) for x in value["component"]])
        if isinstance(value, dict) and field == "data":  # of a chart: its arguments
            return {k: self.text(v) if k in SHOWN and isinstance(v, str) else v for k, v in value.items()}
        return value

    def _axis(self, name: Any) -> Any:
        return self.noun if name == LANGUAGE else name

    def picture(self, spec: Any) -> Any:
        """The titles of a picture's axes, legends and hovering texts."""
        if self == PLAIN:
            return spec
        if isinstance(spec, dict):
            shown = ("title", "text", "subtitle")
            return {k: self.text(v) if k in shown and isinstance(v, str) else self.picture(v) for k, v in spec.items()}
        return [self.picture(v) for v in spec] if isinstance(spec, list) else spec


PLAIN = Tongue()
