"""How many labels, in how many languages, does a lead of so many points need? (METHODS 23, 39)

From a pilot with labels in three languages or more: what people may say elsewhere is drawn from the fit, labels of it
are drawn too, and the board is fitted again. So the answer knows that languages differ, and that new ones may tell so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.answers.humans.board import PeopleBoard, people_board
from polyjudge.answers.humans.compare import sides_of
from polyjudge.answers.humans.next_labels import systems_to_label
from polyjudge.answers.humans.returned import join_labels
from polyjudge.base.errors import PanelError
from polyjudge.base.numbers import number, percent
from polyjudge.base.text import count, name
from polyjudge.calibrate.labelled import labelled
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Table
from polyjudge.stats.anchored import FEWEST_LANGUAGES, expected_half_width

if TYPE_CHECKING:
    import pandas as pd

SIZES = (20, 50, 100, 200)
REPEATS = 10
CHANCE = 0.8
ROOM = 1.43
"""By how much a true lead is larger than the half-width, so that it shows with that chance: (1.96 + 0.84) / 1.96."""


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """frame : languages (with labels), labels (more of them in each), total, half_width (of the lead), shown (the lead
    that labels would show in 80% of draws); target : the lead that is asked for, in the same points; reached : the row
    with fewest labels that shows it, None where none does
    """

    frame: pd.DataFrame
    target: float
    reached: int | None
    board: PeopleBoard


def plan_labels(panel: Panel, labels: Any, target: float | None, *, level: float, seed: int) -> LabelPlan:
    """What more labels would show, for several numbers of them and of languages."""
    import pandas as pd

    if not panel.has_systems or len(panel.languages) < 2:
        raise PanelError("Labels are planned for systems in several languages. With one: polyjudge humans says more.")
    found = labelled(panel, join_labels(labels))
    sides = sides_of(panel, found)
    board = people_board(panel, sides, level=level, seed=seed)
    if board is None or not board.tells_others or len(board.order) < 2:
        raise PanelError(
            f"Labels can be planned from a pilot with labels of the same two systems or more in {FEWEST_LANGUAGES} "
            f"{panel.nouns}; these do not tell enough. Label 20 answers in each of {FEWEST_LANGUAGES} {panel.nouns} "
            "first."
        )
    width = found.scale[1] - found.scale[0]
    asked = board.factor * 0.02 * width if target is None else target
    rows = [_row(board, n_languages, n_labels, level) for n_languages in _numbers(board) for n_labels in SIZES]
    frame = pd.DataFrame(rows, columns=["languages", "labels", "total", "half_width"])
    # More labels of the same languages tell no less; the few draws of each number may say otherwise.
    widths = frame.groupby("languages")["half_width"].cummin()
    frame = frame.assign(half_width=widths, shown=ROOM * widths)
    total = np.where(frame["shown"] <= asked, frame["total"], np.inf)
    reached = int(np.argmin(total)) if np.isfinite(total).any() else None
    return LabelPlan(frame, asked, reached, board)


def _numbers(board: PeopleBoard) -> list[int]:
    """Numbers of languages with labels: as now, all, and one between."""
    now, most = len(board.labelled), len(board.panel.languages)
    return sorted({now, (now + most + 1) // 2, most})


def _row(board: PeopleBoard, n_languages: int, n_labels: int, level: float) -> tuple[int, int, int, float]:
    """What so many more labels in each of so many languages lead to."""
    languages = [*board.labelled, *board.unlabelled][:n_languages]
    systems = systems_to_label(board)
    pair = board.order[0], board.order[1]
    widths = expected_half_width(
        board.judged, board.measured, board.people, pair, languages, systems, n_labels / len(systems), level,
        seed=board.seed, n_repeats=REPEATS,
    )  # fmt: skip
    half_width = board.factor * float(np.quantile(widths, CHANCE))
    return n_languages, n_labels, n_languages * n_labels, half_width


def plan_finding(plan: LabelPlan) -> Finding:
    """How many labels in how many languages are enough, or what the most of them would leave open."""
    board, nouns = plan.board, plan.board.panel.nouns
    lead = f"a lead of {number(plan.target, 1)} {board.unit}"
    pair = f"{name(board.panel.systems[board.order[0]])} over {name(board.panel.systems[board.order[1]])}"
    best = int(np.argmin(plan.frame["shown"])) if plan.reached is None else plan.reached
    row = plan.frame.to_dict("records")[best]
    if plan.reached is not None:
        text = (
            f"About {row['labels']} more labels in each of {count(row['languages'], board.panel.noun)} show {lead} by "
            f"people ({pair}), in {percent(CHANCE)} of draws."
        )
        return Finding("info", "plan-labels", text, "Labels")
    text = (
        f"Even {row['labels']} more labels in each of {row['languages']} {nouns} would not show {lead} by people "
        f"({pair}): they show {number(row['shown'], 1)}."
    )
    return Finding("notice", "plan-labels", text, "Labels")


def plan_table(plan: LabelPlan) -> Table:
    """What a number of labels gives."""
    kinds = {"languages": "count", "labels": "count", "total": "count", "half_width": "points", "shown": "points"}
    noun = plan.board.panel.nouns
    titles = {
        "languages": f"{noun} with labels",
        "labels": "more in each",
        "half_width": "lead known to within",
        "shown": "lead that shows",
    }
    title = f"What more labels give, in {percent(CHANCE)} of draws, {plan.board.unit}"
    return Table("labels", title, plan.frame, kinds, titles)
