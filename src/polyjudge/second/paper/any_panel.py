"""Any panel as the paper would report it: its tables and figures, with captions that say what is arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.estimate.bands import uncertainty
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track
from polyjudge.second.panel.records import plain
from polyjudge.second.panel.say import Say, say
from polyjudge.second.paper import figures, printed
from polyjudge.second.paper.ablations import JUDGES_IDENTITY, TASK_SIZES, By, ablate
from polyjudge.second.paper.metadata import metadata
from polyjudge.second.paper.preferences import pairwise
from polyjudge.second.paper.score_information import information
from polyjudge.second.paper.top_judge import decisions
from polyjudge.second.paper.two_arms import two_arms
from polyjudge.second.paper.unseen import unseen_language
from polyjudge.second.questions.audit.orders import rank_reversals
from polyjudge.second.questions.audit.pass_rates import gates
from polyjudge.second.questions.audit.variation import variance
from polyjudge.second.questions.compare.held_out import GAIN_SCOPE, compare
from polyjudge.second.report.build import fields
from polyjudge.second.report.charts.vega import Picture
from polyjudge.second.report.result import Result

Figures = dict[str, Callable[[], Picture]]


class PaperReport(Result):
    """The paper's tables and figures of a panel. `notes` say what was left out, and why."""

    tables: tuple[printed.Table, ...]
    figures: Figures
    shape: tuple[int, ...]
    notes: tuple[Say, ...]

    def __getitem__(self, name: str) -> pd.DataFrame:
        return next(t.frame for t in self.tables if t.name == name)

    def to_frame(self) -> pd.DataFrame:
        """name, title and rows of every table."""
        rows = [(t.name, t.title, len(t.frame)) for t in self.tables]
        return pd.DataFrame(rows, columns=["name", "title", "rows"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape),
            "tables": {t.name: {"title": t.title, "note": t.note, "rows": plain(t.frame)} for t in self.tables},
            "notes": plain(self.notes),
        }


@dataclass(frozen=True)
class _Asked:
    """What a part of the report is made of."""

    panel: Panel
    at: tuple[float, ...]
    languages: Any
    control: Panel | None
    resamples: int
    seed: int
    figures: Figures

    @property
    def draws(self) -> dict[str, Any]:
        return {"resamples": self.resamples, "seed": self.seed}


def paper_report(
    panel: Panel,
    *,
    at: Sequence[float] = (),
    languages: Any = None,
    control: Panel | None = None,
    resamples: int = 1000,
    seed: int = 7,
) -> PaperReport:
    """Every table and figure of the paper that this panel allows.

    at : marks of gates; by default the quartiles of the scores
    languages : table of what is known of the languages (`metadata`)
    control : the same tasks with only the instructions translated (`two_arms`)

    >>> from polyjudge.second import simulate_panel
    >>> found = paper_report(simulate_panel(tasks=12, languages=3, judges=3, seed=1)[0], resamples=20)
    >>> "rank_reversal" in found.to_frame()["name"].tolist()
    True
    """
    if min(panel.shape[1:]) < 2:
        raise PanelError("The paper's tables compare judges over languages: they need two of each at least.")
    marks = tuple(at) or tuple(np.unique(np.round(np.nanquantile(panel.finest, [0.25, 0.5, 0.75]), 2)))
    asked = _Asked(panel, marks, languages, control, resamples, seed, {})
    tables, notes = [], []
    for part in track(PARTS, len(PARTS), "the paper's tables"):
        try:
            tables += [printed.table("report", name, frame, **values) for name, frame, values in part(asked)]
        except (PanelError, UsageError) as error:
            notes.append(say("paper.left-out", part=part.__name__.strip("_").replace("_", " "), why=str(error)))
    return PaperReport(tables=tuple(tables), figures=asked.figures, shape=panel.shape, notes=tuple(notes))


Part = Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]
"""Tables: their names in data/tables.json, rows, and values of their notes."""


def _interaction(a: _Asked) -> Part:
    found = uncertainty(a.panel, seed=a.seed)
    a.figures["interaction_heatmap"] = lambda: figures.heatmap(found)
    names = ["language", "judge", "interaction", "se", "low", "high", "band_low", "band_high", "verdict"]
    yield "interaction", found.cells[names], {}


def _reversals(a: _Asked) -> Part:
    found = rank_reversals(a.panel, seed=a.seed)
    pairs = found.pairs
    a.figures["reversal_strength"] = lambda: figures.reversal_strength(pairs, found.alpha)
    a.figures["ranks_before_after"] = lambda: figures.ranks_of(a.panel)
    names = ["judge_i", "judge_j", "delta", "language_a", "language_b", "gap_a", "gap_b", "p_published", "p_selected"]
    frame = pairs[names].assign(holds=pairs["reverses"].map({True: "yes", False: "no"}))
    sign = "at most" if found.p_more <= found.p_floor else "="
    yield "rank_reversal", frame, {"found": found, "pairs": len(pairs), "sign": sign}


def _fit(a: _Asked) -> Part:
    found = variance(a.panel)
    rows = [("without task:language", found.r2_simplified), ("with task:language", found.r2_full)]
    yield "fit", pd.DataFrame(rows, columns=["model", "r2"]), {}
    yield "variance", found.components[["component", "variance", "share", "low", "high"]], {}


def _held_out(a: _Asked) -> Part:
    found = compare(a.panel, "all", **a.draws)
    names = ["method", "tau", "low", "high", "full_fit", "gain", "gain_low", "gain_high", "identity"]
    said = [str(say(f"identity.{code}")) if code else "" for code in found.table["identity"]]
    yield "calibration", found.table.assign(identity=said)[names], {"scope": GAIN_SCOPE}


def _unseen_language(a: _Asked) -> Part:
    found = unseen_language(a.panel, **a.draws)
    frame = pd.concat([pd.DataFrame([{"language": "(all)", **found.overall}]), found.table], ignore_index=True)
    names = ["language", *(f"{x}{end}" for x in ("raw", "zero_shot") for end in ("", "_low", "_high"))]
    yield "unseen_language", frame[names], {}
    yield "few_shot", found.curve, {}


def _decisions(a: _Asked) -> Part:
    found = decisions(a.panel, **a.draws)
    yield "decisions", found.table, {"target": found.target}


def _ablations(a: _Asked) -> Part:
    n, _, m = a.panel.shape
    kinds: list[tuple[By, list[int] | None]] = [("tasks", [*(size for size in TASK_SIZES if size < n), n])]
    if m > 2:
        kinds.insert(0, ("judges", None))
    if a.panel.grouping is not None:
        kinds.append(("groups", None))
    for by, sizes in kinds:
        table = ablate(a.panel, by, sizes, min(a.resamples, 100), a.seed).table
        if by == "tasks":
            a.figures["convergence"] = partial(figures.convergence, table)
        yield f"ablation_{by}", table, {"identity": JUDGES_IDENTITY}


def _gates(a: _Asked) -> Part:
    names = {
        "spread_raw": "spread_raw", "spread_by_chance": "spread_chance", "spread_calibrated": "spread_calibrated",
        "held_out_reduction": "held_out_reduction", "low": "held_out_low", "high": "held_out_high",
        "decisions_turned": "flip_share", "turned_low": "flip_low", "turned_high": "flip_high",
    }  # fmt: skip
    rows = [(mark, gates(a.panel, mark, **a.draws)) for mark in a.at]
    columns = {name: [getattr(found, field) for _, found in rows] for name, field in names.items()}
    yield "gates", pd.DataFrame({"mark": [mark for mark, _ in rows], **columns}), {}


def _information(a: _Asked) -> Part:
    found = information(a.panel, permutations=min(a.resamples, 500), seed=a.seed)
    names = ["debiased", "low", "high", "task_low", "task_high", "p"]
    yield "information", pd.DataFrame([fields(found, *names)]), {"least": found.permutations + 1}


def _preferences(a: _Asked) -> Part:
    yield "pairwise", pairwise(a.panel, **a.draws).table, {}


def _metadata(a: _Asked) -> Part:
    if a.languages is not None:
        found = metadata(a.panel, a.languages, a.seed)
        yield "metadata", found.variables, {"notes": " ".join(map(str, found.notes))}
        yield "metadata_slopes", found.table, {}


def _control(a: _Asked) -> Part:
    if a.control is not None:
        found = two_arms(a.panel, a.control)
        yield "two_arms", found.sizes, {"tasks": found.tasks}
        yield "two_arms_cells", found.cells, {}


PARTS = (
    _interaction, _reversals, _fit, _held_out, _unseen_language, _decisions, _ablations, _gates, _information,
    _preferences, _metadata, _control,
)  # fmt: skip
