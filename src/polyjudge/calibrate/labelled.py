"""People's labels on the answers of a panel: one number an answer, and every single label (METHODS 22, "One table").

Labels come as a column of the scores (`Panel.human`), as a table of their own, or from a folder of `label make`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, names, plural
from polyjudge.panel import Panel
from polyjudge.read import labels_of, spelled_as
from polyjudge.stats.cells import mean_seen

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Labels on the answers of a panel.

    y : (rows, systems, languages) mean label of each answer, NaN where it has none; pass or fail are 1 and 0
    row, system, language, who : of every single label: the answer, and the number of its annotator
    label : the labels themselves
    annotators : their names; one of them "" where the table names none
    two_valued : labels are pass or fail; same : labels and scores share a scale; scale : lowest and highest label
    lost : labels of answers that the panel does not have; unscored : answers of its table with a label and no score
    strangers : the tasks, systems and languages of lost labels that the panel does not have, in words
    """

    y: Array
    row: Codes
    system: Codes
    language: Codes
    who: Codes
    label: Array
    annotators: tuple[str, ...]
    two_valued: bool
    same: bool
    scale: tuple[float, float]
    lost: int = 0
    unscored: int = 0
    strangers: str = ""

    @property
    def answers(self) -> int:
        """Answers with a label."""
        return int(np.isfinite(self.y).sum())

    def by_answer(self, label: Array) -> Array:
        """Mean of such labels of each answer: of its annotators, each the mean of the looks they took."""
        out = np.full(self.y.shape, np.nan)
        out.ravel()[np.unique(self._answer)] = mean_seen(self.table(label), 1)
        return out

    def table(self, label: Array) -> Array:
        """Such labels by answer and annotator, (labelled answers, annotators)."""
        answer = np.unique(self._answer, return_inverse=True)[1]
        shape = (int(answer.max()) + 1, len(self.annotators))
        n, total = np.zeros(shape), np.zeros(shape)
        np.add.at(n, (answer, self.who), 1)
        np.add.at(total, (answer, self.who), label)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    @property
    def _answer(self) -> Codes:
        return np.asarray(np.ravel_multi_index((self.row, self.system, self.language), self.y.shape))


def labelled(panel: Panel, labels: Any = None) -> Labelled:
    """The labels of a panel (its own column, and a table or file of labels), aligned with its answers."""
    import pandas as pd

    labels = labels.labels if hasattr(labels, "labels") else labels  # what read_labels returned
    given = [labels_of(x) for x in (panel.human, labels) if x is not None and not (hasattr(x, "iloc") and not len(x))]
    given = [_named(spelled_as(x, panel), panel) for x in given if len(x)]
    if not given:
        raise UsageError(
            "There are no human labels. Add a column of them to the scores (human), or name a file of labels with the "
            "columns task, label and, where there are several, system, language, annotator: polyjudge humans "
            "scores.csv labels.csv."
        )
    if panel.hashed:
        raise PanelError(
            "Labels are compared answer by answer: read at most 100,000 tasks, those with labels among them."
        )
    frame = pd.concat([x.astype({"label": float}) for x in given], ignore_index=True)
    own = np.arange(len(frame)) < (len(given[0]) if panel.human is not None else 0)  # of the scores' own table
    values = frame["label"].to_numpy()
    worded = any(x["label"].dtype == bool for x in given) and bool(np.isin(values, (0, 1)).all())
    axes = ("task", "system", "language")
    where = [_codes(frame, a, getattr(panel, a + "s")) for a in axes]
    known = np.asarray(np.minimum.reduce(where) >= 0, dtype=bool)
    if not known.any():
        raise PanelError(
            f"None of the {count(len(frame), 'label')} belongs to an answer of these scores. Their tasks are "
            f"{names(frame['task'].astype(str).unique()[:3])}; those of the scores are {names(panel.tasks[:3])}."
        )
    scored: NDArray[np.bool_] = np.asarray(np.isfinite(panel.scores).any(3))
    found = known & scored[tuple(where)]  # -1 of the unknown is the last one
    if not found.any():
        raise PanelError("No answer with a label has a score.")
    label, two_valued = (values[found], True) if worded else _pass_or_fail(values[found], panel)
    who = frame["annotator"].fillna("").astype(str).to_numpy()[found] if "annotator" in frame else [""] * len(label)
    annotators, codes = np.unique(who, return_inverse=True)
    scale, same = _scale(panel, label, two_valued)
    row, system, language = where[0][found], where[1][found], where[2][found]
    unscored = len(frame.loc[~found & (own | known), [a for a in axes if a in frame]].drop_duplicates())
    lost_mask = ~found & ~own & ~known
    lost, every = int(lost_mask.sum()), tuple(map(str, annotators))
    empty = np.zeros(panel.scores.shape[:3])
    made = Labelled(empty, row, system, language, codes, label, every, two_valued, same, scale, lost, unscored)
    return replace(made, y=made.by_answer(label), strangers=_strangers(frame[lost_mask], panel))


def _strangers(frame: pd.DataFrame, panel: Panel) -> str:
    """The tasks, systems and languages of labels that the panel does not have."""
    parts = []
    for axis in ("task", "system", "language"):
        labels = frame[axis].dropna().astype(str).unique() if axis in frame else ()
        unknown = [label for label in labels if label not in getattr(panel, f"{axis}s")]
        if unknown:
            parts.append(f"{axis if len(unknown) == 1 else plural(axis)} {names(unknown)}")
    return "; ".join(parts)


def _named(frame: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Labels without the columns that the panel does not have; an error where it has more than they say."""
    for role, known in (("system", panel.systems), ("language", panel.languages)):
        if role not in frame and len(known) > 1:
            noun = panel.noun if role == "language" else role
            raise PanelError(
                f"The scores have {count(len(known), noun)}, and the labels have no column {role}; they have "
                f"{names(frame.columns, 8)}. If a label holds for every {noun}, repeat it for each."
            )
        if known == ("",):  # the scores are of one, whatever the labels call it
            frame = frame.drop(columns=role, errors="ignore")
    return frame


def _codes(frame: pd.DataFrame, column: str, known: Sequence[str]) -> Codes:
    """The place of each value among the known names, -1 where it is none of them."""
    if column not in frame:
        return np.zeros(len(frame), dtype=np.int64)
    import pandas as pd

    at = pd.Index(list(known)).get_indexer(pd.Index(frame[column].astype(str)))
    return np.asarray(at, dtype=np.int64)


def _pass_or_fail(label: Array, panel: Panel) -> tuple[Array, bool]:
    """Labels of two values as 1 and 0, where they are pass or fail."""
    seen = np.unique(label)
    are_margins = panel.scale[0] < 0  # there a label of 1 alone is no grade
    if np.isin(seen, (0.0, 1.0)).all() and (
        panel.two_valued or 0.0 in seen or panel.scale == (0.0, 1.0) or are_margins
    ):
        return label, len(seen) > 1 or panel.two_valued or are_margins
    if panel.two_valued and np.isin(seen, panel.scale).all():
        return (label - panel.scale[0]) / panel.width, True
    return label, False


def _scale(panel: Panel, label: Array, two_valued: bool) -> tuple[tuple[float, float], bool]:
    """The scale of the labels, and whether it is that of the scores: a scale that ends in whole numbers, labels inside
    it and not four times narrower than the scores."""
    if two_valued:
        return (0.0, 1.0), panel.two_valued
    low, high = float(label.min()), float(label.max())
    inside = low >= panel.scale[0] - 0.02 * panel.width and high <= panel.scale[1] + 0.02 * panel.width
    seen = panel.scores[np.isfinite(panel.scores)]
    inside &= all(float(x).is_integer() for x in panel.scale)
    alike = 4 * (high - low) >= min(panel.width, 4 * float(seen.std()))
    return (panel.scale, True) if inside and alike else ((low, high), False)


def panel_mean(panel: Panel, weights: Array | None = None) -> Array:
    """What the panel says of each answer (rows, systems, languages): the mean of its judges, NaN where none scored.

    Where scores are missing each judge is first brought to the mean of the judges in its language, so that an answer
    that a strict judge missed is not the better for it. weights : of the judges, if not equal
    """
    s = panel.scores
    if not panel.complete and panel.shape[3] > 1 and not panel.two_valued:
        cell = mean_seen(s, (0, 1))
        s = s - (cell - mean_seen(cell, 1)[:, None])
    if weights is None:
        return np.asarray(s.mean(3) if panel.complete else mean_seen(s, 3))
    return np.asarray(mean_seen(np.moveaxis(s, 3, 0), 0, weights))


def answers(of: Panel, **values: Array) -> pd.DataFrame:
    """task, system, language, and values (rows, systems, languages): one row an answer, where they are known."""
    import pandas as pd

    at = np.nonzero(np.isfinite(next(iter(values.values()))))
    axes = {"task": of.tasks, "system": of.systems, "language": of.languages}
    frame = pd.DataFrame({a: np.array(x, dtype=object)[i] for (a, x), i in zip(axes.items(), at, strict=True)})
    return frame.assign(**{x: v[at] for x, v in values.items()})
