"""Any panel as the paper would report it: its tables and figures, with captions that say what is arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.estimate.bands import uncertainty
from polyjudge.panel.errors import PanelError, UsageError
from polyjudge.panel.panel import Panel
from polyjudge.panel.progress import track
from polyjudge.panel.records import plain
from polyjudge.panel.say import Say, say
from polyjudge.paper import figures
from polyjudge.paper.ablations import JUDGES_IDENTITY, TASK_SIZES, By, ablate
from polyjudge.paper.metadata import metadata
from polyjudge.paper.preferences import pairwise
from polyjudge.paper.printed import Table
from polyjudge.paper.score_information import information
from polyjudge.paper.top_judge import decisions
from polyjudge.paper.two_arms import two_arms
from polyjudge.paper.unseen import unseen_language
from polyjudge.questions.audit.orders import rank_reversals
from polyjudge.questions.audit.pass_rates import gates
from polyjudge.questions.audit.variation import variance
from polyjudge.questions.compare.held_out import GAIN_SCOPE, compare
from polyjudge.report.charts.vega import Picture
from polyjudge.report.result import Result

Figures = dict[str, Callable[[], Picture]]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PaperReport(Result):
    """The paper's tables and figures of a panel. `notes` say what was left out, and why."""

    tables: tuple[Table, ...]
    figures: Figures
    shape: tuple[int, ...]
    notes: tuple[Say, ...]

    def __getitem__(self, name: str) -> pd.DataFrame:
        """The rows of a table."""
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

    Parameters
    ----------
    at : marks of gates; by default the quartiles of the scores
    languages : table of what is known of the languages (`metadata`)
    control : the same tasks with only the instructions translated (`two_arms`)

    >>> from polyjudge import simulate_panel
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
            tables += list(part(asked))
        except (PanelError, UsageError) as error:
            notes.append(say("paper.left-out", part=part.__name__.strip("_").replace("_", " "), why=str(error)))
    return PaperReport(tables=tuple(tables), figures=asked.figures, shape=panel.shape, notes=tuple(notes))


def _interaction(a: _Asked) -> Iterator[Table]:
    found = uncertainty(a.panel, seed=a.seed)
    a.figures["interaction_heatmap"] = lambda: figures.heatmap(found)
    names = ["language", "judge", "interaction", "se", "low", "high", "band_low", "band_high", "verdict"]
    yield Table(
        "interaction", "Interaction of language and judge (points)", found.cells[names], dict.fromkeys(names[2:8], 2),
        "Rows and columns sum to zero by arithmetic. low and high hold for one cell, the band for all cells together.",
    )  # fmt: skip


def _reversals(a: _Asked) -> Iterator[Table]:
    found = rank_reversals(a.panel, seed=a.seed)
    pairs = found.pairs
    a.figures["reversal_strength"] = lambda: figures.reversal_strength(pairs, found.alpha)
    means = a.panel.matrix(a.panel.cell_means)
    title = "Ranks of the judges by language"
    a.figures["ranks_before_after"] = lambda: figures.before_after(means, a.panel.tie_gap, title, "score")
    names = ["judge_i", "judge_j", "delta", "language_a", "language_b", "gap_a", "gap_b", "p_published", "p_selected"]
    frame = pairs[names].assign(holds=pairs["reverses"].map({True: "yes", False: "no"}))
    yield Table(
        "rank_reversal", "Rank reversals (strength in points squared, adjusted p)", frame,
        {"delta": 1, "gap_a": 2, "gap_b": 2, "p_published": "p", "p_selected": "p"},
        f"{found.count} of {len(pairs)} pairs change sign, {found.count_selected} hold. p published ignores that the "
        "languages were picked from the data; p selected allows for it and decides. More reversals than without "
        f"interaction: p {'at most' if found.p_more <= found.p_floor else '='} {found.p_more:.3g}. A high mean is "
        "leniency, not quality.",
    )  # fmt: skip


def _fit(a: _Asked) -> Iterator[Table]:
    found = variance(a.panel)
    rows = [("without task:language", found.r2_simplified), ("with task:language", found.r2_full)]
    yield Table(
        "fit", "Share of the variance that the additive models explain", pd.DataFrame(rows, columns=["model", "r2"]),
        {"r2": 4}, "R2 is of the scores it was fitted on: a description, so it has no interval.",
    )  # fmt: skip
    names = ["component", "variance", "share", "low", "high"]
    yield Table("variance", "Variance of a single score", found.components[names], dict.fromkeys(names[1:], 3))


def _held_out(a: _Asked) -> Iterator[Table]:
    found = compare(a.panel, "all", **a.draws)
    names = ["method", "tau", "low", "high", "full_fit", "gain", "gain_low", "gain_high", "identity"]
    said = [str(say(f"identity.{code}")) if code else "" for code in found.table["identity"]]
    yield Table(
        "calibration", "Rank consistency and gain on left-out tasks", found.table.assign(identity=said)[names],
        dict.fromkeys(names[1:5], 3) | dict.fromkeys(names[5:8], 2),
        f"tau is consistency between languages, not accuracy; what is arithmetic is named. Gain in points squared. "
        f"{GAIN_SCOPE}",
    )  # fmt: skip


def _unseen_language(a: _Asked) -> Iterator[Table]:
    found = unseen_language(a.panel, **a.draws)
    frame = pd.concat([pd.DataFrame([{"language": "(all)", **found.overall}]), found.table], ignore_index=True)
    names = ["language", *(f"{x}{end}" for x in ("raw", "zero_shot") for end in ("", "_low", "_high"))]
    yield Table(
        "unseen_language", "Agreement of a left-out language with the others", frame[names],
        dict.fromkeys(names[1:], 3), "Mean imputation equals zero-shot by arithmetic.",
    )  # fmt: skip
    digits = dict.fromkeys(found.curve.columns, 3)
    yield Table("few_shot", "The same with some of its tasks scored", found.curve, digits)


def _decisions(a: _Asked) -> Iterator[Table]:
    found = decisions(a.panel, **a.draws)
    digits = {c: 3 if c.startswith("accuracy") else 2 for c in found.table.columns[1:]}
    yield Table("decisions", "Choice of the top judge on left-out tasks", found.table, digits, str(found.target))


def _ablations(a: _Asked) -> Iterator[Table]:
    n, _, m = a.panel.shape
    sizes = [size for size in TASK_SIZES if size < n]
    kinds: list[tuple[By, str, list[int] | None]] = [("tasks", "Number of tasks", [*sizes, n])]
    if m > 2:
        kinds.insert(0, ("judges", "Number of judges", None))
    if a.panel.grouping is not None:
        kinds.append(("groups", "Groups of tasks or rows, each on its own", None))
    for by, title, wanted in kinds:
        table = ablate(a.panel, by, wanted, min(a.resamples, 100), a.seed).table
        if by == "tasks":
            a.figures["convergence"] = partial(figures.convergence, table)
        note = str(JUDGES_IDENTITY) if by == "judges" else ""
        digits = {c: 2 if c.startswith(("gain", "error", "bound")) else 3 for c in table.columns[1:]}
        yield Table(f"ablation_{by}", title, table, digits, note)


def _gates(a: _Asked) -> Iterator[Table]:
    rows = []
    for mark in a.at:
        g = gates(a.panel, mark, **a.draws)
        ends = (g.held_out_reduction, g.held_out_low, g.held_out_high)
        rows.append(
            (mark, g.spread_raw, g.spread_chance, g.spread_calibrated, *ends, g.flip_share, g.flip_low, g.flip_high)
        )
    names = ["mark", "spread_raw", "spread_by_chance", "spread_calibrated", "held_out_reduction", "low", "high"]
    names += ["decisions_turned", "turned_low", "turned_high"]
    yield Table(
        "gates", "Spread of pass rates over languages (percentage points)", pd.DataFrame(rows, columns=names),
        dict.fromkeys(names[1:7], 1) | dict.fromkeys(names[7:], 3),
        "A score above the mark passes. Spreads on all tasks are descriptions; the reduction is of left-out tasks. "
        "More alike is not more often right.",
    )  # fmt: skip


def _information(a: _Asked) -> Iterator[Table]:
    found = information(a.panel, permutations=min(a.resamples, 500), seed=a.seed)
    names = ["debiased", "low", "high", "task_low", "task_high", "p"]
    row = pd.DataFrame([[getattr(found, n) for n in names]], columns=names)
    yield Table(
        "information", "Information of a score about its language (nats)", row,
        dict.fromkeys(names[:5], 3) | {"p": "p"},
        f"p is at least 1 in {found.permutations + 1}, by the number of permutations.",
    )  # fmt: skip


def _preferences(a: _Asked) -> Iterator[Table]:
    found = pairwise(a.panel, **a.draws)
    yield Table(
        "pairwise", "Bradley-Terry strength of every judge", found.table, dict.fromkeys(["strength", "low", "high"], 2),
        "Who scores higher on the same task, not who is right.",
    )  # fmt: skip


def _metadata(a: _Asked) -> Iterator[Table]:
    if a.languages is None:
        return
    found = metadata(a.panel, a.languages, a.seed)
    note = " ".join(map(str, found.notes))
    digits: dict[str, int | str] = {"explained": 3, "smallest": 3, "p": "p", "p_holm": "p"}
    yield Table("metadata", "What of the interaction goes with the languages' metadata", found.variables, digits, note)
    slopes = dict.fromkeys(["slope", "low", "high"], 2)
    yield Table("metadata_slopes", "Points per standard deviation of the variable", found.table, slopes)


def _control(a: _Asked) -> Iterator[Table]:
    if a.control is None:
        return
    found = two_arms(a.panel, a.control)
    note = f"{found.tasks} tasks in both arms. The difference belongs to the translation of the items."
    sizes = dict.fromkeys(["mean_square", "low", "high"], 2)
    yield Table("two_arms", "Mean square of the interaction, points squared", found.sizes, sizes, note)
    yield Table("two_arms_cells", "Everything translated against instructions only", found.cells,
                dict.fromkeys(found.cells.columns[2:7], 2))  # fmt: skip


PARTS = (
    _interaction, _reversals, _fit, _held_out, _unseen_language, _decisions, _ablations, _gates, _information,
    _preferences, _metadata, _control,
)  # fmt: skip
