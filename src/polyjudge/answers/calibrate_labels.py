"""What calibrating by labels gives each language: its level by people, or what is carried over (METHODS 38, 39)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.answers.humans.levels import Levels, people_levels
from polyjudge.answers.humans.returned import join_labels
from polyjudge.base.errors import PanelError
from polyjudge.base.numbers import ci
from polyjudge.base.text import name, names
from polyjudge.calibrate.by_labels import CARRY, LabelCalibrator
from polyjudge.calibrate.labelled import labelled
from polyjudge.panel import Panel
from polyjudge.report.model import Finding

if TYPE_CHECKING:
    import pandas as pd


def fit_by_labels(panel: Panel, labels: Any, level: float, unlabelled: str) -> tuple[LabelCalibrator, Levels | None]:
    """The corrector, its languages moved to the levels of people's board where there is one."""
    given = labelled(panel, join_labels(labels))
    made = LabelCalibrator(level=level, unlabelled=unlabelled).fit(panel, given)
    levels = people_levels(panel, given, level=level) if len(panel.languages) > 1 else None
    if levels is None or not levels.tells_others:
        if unlabelled == CARRY and (made.n_ == 0).any():
            raise PanelError(
                f"From these labels nothing can be carried over to other {panel.nouns}: label answers, and not all "
                f"alike, of the same systems in three {panel.nouns} or more."
            )
        return made, None
    moved = np.ones(len(panel.languages), dtype=bool) if panel.has_systems else made.n_ == 0
    return made.move_to(panel, np.where(moved, levels.mean, np.nan), levels.is_compared), levels


def people_cells(made: LabelCalibrator, levels: Levels | None) -> pd.DataFrame:
    """What is subtracted in each language, and what people would give on average."""
    table = made.table()
    if levels is None:
        return table.assign(people=np.nan, low=np.nan, high=np.nan)
    is_shown = (made.n_ > 0) | (made.unlabelled == CARRY)
    values = {"people": levels.mean, "low": levels.low, "high": levels.high}
    table = table.assign(**{column: np.where(is_shown, value, np.nan) for column, value in values.items()})
    return table.assign(subtract=np.where(is_shown, table["subtract"], np.nan))


def unlabelled_findings(panel: Panel, made: LabelCalibrator, levels: Levels | None) -> list[Finding]:
    """The languages without labels, by name: left empty, or what is carried over to them."""
    without = [language for language, n in zip(panel.languages, made.n_, strict=True) if n == 0]
    if not without:
        return []
    who, have = names(without), "has" if len(without) == 1 else "have"
    text = f"{who} {have} no labels and {'is' if len(without) == 1 else 'are'} left empty."
    if levels is None:
        return [Finding("notice", "unlabelled", text, "Empty")]
    labelled_ones = names([language for language, n in zip(panel.languages, made.n_, strict=True) if n > 0])
    if made.unlabelled != CARRY:
        text += f" --unlabelled carry writes the correction carried over from {labelled_ones}, with its interval."
        return [Finding("notice", "unlabelled", text, "Empty")]
    means = [
        f"{name(language)} {ci(mean, low, high)}"
        for language, mean, low, high, n in zip(
            panel.languages, levels.mean, levels.low, levels.high, made.n_, strict=True
        )
        if n == 0
    ]
    text = (
        f"{who} {have} no labels: the correction is carried over from {labelled_ones}, taken to be of one kind with "
        f"them. People's mean{_of_systems(panel, levels)} there: {', '.join(means[:4])}"
        f"{' and others' if len(means) > 4 else ''}."
    )
    return [Finding("notice", "unlabelled", text, "Carried")]


def _of_systems(panel: Panel, levels: Levels) -> str:
    """The systems whose answers the means are of, where labels leave others out."""
    is_compared = np.any(levels.is_compared, axis=0)
    if is_compared.all():
        return ""
    systems = [system for system, compared in zip(panel.systems, is_compared, strict=True) if compared]
    return f" of {names(systems)}, which labels compare,"


def corrected_with_limits(panel: Panel, made: LabelCalibrator, levels: Levels | None) -> pd.DataFrame:
    """The corrected answers; where a correction is carried over, with the limits of their language's mean."""
    corrected = made.corrected(panel)
    if levels is None or made.unlabelled != CARRY:
        return corrected
    place = {language: i for i, language in enumerate(panel.languages)}
    at = corrected["language"].map(place).to_numpy(dtype=int)
    below, above = (levels.mean - levels.low)[at], (levels.high - levels.mean)[at]
    ends = made.scale_ if made.clip else (-np.inf, np.inf)
    low, high = corrected["corrected"] - below, corrected["corrected"] + above
    return corrected.assign(low=low.clip(*ends), high=high.clip(*ends))
