"""Do people agree more with calibrated scores: the panel's mean and each judge against people's verdicts (METHODS 12).

A score above the mark passes. One within the tie rule of it is a tie: it agrees with nobody, or passes where the mark
says so (">=4"). The mean over judges of an answer that all judges scored cannot change (I1). A judge's own ties do get
decided by calibrating, mostly by chance alone: they are counted, and the gain is also given without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError
from polyjudge.base.numbers import ci, percent
from polyjudge.base.text import name
from polyjudge.calibrate.labelled import labelled
from polyjudge.panel import Panel
from polyjudge.stats.interval import interval

Array = NDArray[np.float64]
PANEL_MEAN = "mean of the judges"
COLUMNS = (
    "who", "answers", "agree_raw", "agree_calibrated", "gain", "gain_low", "gain_high", "ties", "ties_decided",
    "gain_without_ties",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Decisions:
    """Answers with people's verdicts.

    raw, calibrated : (answers,) 1 passes, -1 fails, 0 a tie with the mark
    was_tie, is_tie : (answers,) whether the score stands on the mark, raw and calibrated
    people : (answers,) 1 or -1
    unit : (answers,) the sampling unit of each
    """

    raw: Array
    calibrated: Array
    was_tie: NDArray[np.bool_]
    is_tie: NDArray[np.bool_]
    people: Array
    unit: NDArray[np.int64]


def compare_with_people(panel: Panel, beta: Array, pass_mark: tuple[float, str] | None, tiny: float) -> pd.DataFrame:
    """A row for the mean of the judges and one for each judge, `COLUMNS`.

    beta : (languages, judges), NaN unknown
    pass_mark : the mark and how it passes, ">" or ">="
    """
    mark, how = _pass_mark(panel, pass_mark)
    passes_on_mark = how == ">="
    verdicts = people_by_answer(panel, mark - 2 * tiny * passes_on_mark)
    calibrated = panel.scores - beta
    usable = np.isfinite(calibrated)
    rows = []
    for judge, judge_name in enumerate(panel.judges):
        of_judge = panel.scores[..., judge] - mark, calibrated[..., judge] - mark
        is_scored = usable[..., judge]
        decisions = _decide(panel, of_judge, is_scored, verdicts, tiny, passes_on_mark)
        rows.append((judge_name, *_agreement_row(decisions, together=len(panel.judges))))
    is_complete = usable.all(-1)
    means = panel.scores.mean(-1) - mark, calibrated.mean(-1) - mark
    of_mean = _decide(panel, means, is_complete, verdicts, tiny, passes_on_mark)
    rows.insert(0, (PANEL_MEAN, *_agreement_row(of_mean, together=1)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _pass_mark(panel: Panel, pass_mark: tuple[float, str] | None) -> tuple[float, str]:
    if pass_mark is not None:
        return pass_mark
    if panel.scale[0] < 0:  # margins: the sign decides
        return 0.0, ">"
    raise PanelError("it needs a pass mark: --threshold '>=4'.")


def people_by_answer(panel: Panel, mark: float) -> Array:
    """People's verdict on each answer, (rows, systems, languages): 1, -1; NaN where there is none or they are split."""
    if panel.human is None:
        raise PanelError("it needs people's labels: a column human, or --labels FILE.")
    people = labelled(panel)
    are_verdicts = bool(np.isin(people.label, (0.0, 1.0)).all())
    share = people.by_answer(people.label if are_verdicts else (people.label > mark).astype(float))
    return np.where(share == 0.5, np.nan, np.sign(share - 0.5))


def _decide(
    panel: Panel, margins: tuple[Array, Array], is_scored: Any, verdicts: Array, tiny: float, passes_on_mark: bool
) -> Decisions:
    """Decisions on the answers that are scored and labelled; margins are scores less the mark, raw and calibrated."""
    is_used = is_scored & np.isfinite(verdicts)
    was_tie, is_tie = (np.abs(margin[is_used]) <= tiny for margin in margins)
    raw, calibrated = (
        np.where(on_mark, float(passes_on_mark), np.sign(margin[is_used]))
        for on_mark, margin in zip((was_tie, is_tie), margins, strict=True)
    )
    unit = np.broadcast_to(panel.unit[:, None, None], is_used.shape)[is_used]
    return Decisions(raw, calibrated, was_tie, is_tie, verdicts[is_used], unit)


def _agreement_row(decisions: Decisions, together: int) -> tuple[Any, ...]:
    """Answers, agreement before and after, the gain with its interval, ties, ties decided, the gain without these."""
    agree_raw = decisions.raw == decisions.people
    agree_calibrated = decisions.calibrated == decisions.people
    gained = agree_calibrated.astype(float) - agree_raw.astype(float)
    was_tie = decisions.was_tie
    is_decided = was_tie & ~decisions.is_tie
    if not len(gained):
        return (0, *[np.nan] * 5, 0, 0, np.nan)
    low, high = _gain_interval(gained, decisions.unit, together)
    without_ties = float(gained[~was_tie].mean()) if (~was_tie).any() else np.nan
    ends = (float(gained.mean()), low, high)
    ties = (int(was_tie.sum()), int(is_decided.sum()))
    return (len(gained), float(agree_raw.mean()), float(agree_calibrated.mean()), *ends, *ties, without_ties)


def _gain_interval(gained: Array, unit: NDArray[np.int64], together: int) -> tuple[float, float]:
    """95% interval of a mean over answers, units as a ratio estimator; of so many means together."""
    sizes = np.bincount(unit)
    sums = np.bincount(unit, weights=gained)
    is_used = sizes > 0
    mean = gained.mean()
    per_unit = mean + (sums[is_used] - mean * sizes[is_used]) / sizes[is_used].mean()
    limits = interval(per_unit[:, None], together=together)
    return float(limits.low[0]), float(limits.high[0])


def anchor_sentences(table: pd.DataFrame) -> str:
    """What calibrating does to the agreement with people: the panel's mean first, then the judges."""
    panel_row, judges = table.iloc[0], table.iloc[1:]
    sentences = (_panel_sentence(panel_row), _judges_sentence(judges), _ties_sentence(judges))
    return " ".join(sentence for sentence in sentences if sentence)


def _panel_sentence(row: Any) -> str:
    agreement = (
        f"The mean of the judges agrees with people on {percent(row['agree_raw'])} of {row['answers']:,} answers"
    )
    if row["gain"] == 0:
        return f"{agreement}, calibrated or not."
    return f"{agreement}; calibrating changes that by {_gain_text(row)}."


def _judges_sentence(judges: pd.DataFrame) -> str:
    if not judges["gain"].notna().any():
        return ""
    largest = judges.iloc[int(judges["gain"].abs().fillna(-1.0).to_numpy().argmax())]
    return f"Of single judges it changes {name(largest['who'])} most, by {_gain_text(largest)}."


def _gain_text(row: Any) -> str:
    return ci(100 * row["gain"], 100 * row["gain_low"], 100 * row["gain_high"], "percentage points", sign=True)


def _ties_sentence(judges: pd.DataFrame) -> str:
    decided, ties = int(judges["ties_decided"].sum()), int(judges["ties"].sum())
    if not decided:
        return ""
    return f"Calibrating decided {decided:,} of {ties:,} scores at the pass mark by chance: read the gain without ties."
