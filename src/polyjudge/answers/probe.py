"""Do the judges notice damage, and are they moved by what must not matter? (METHODS 24)

Probes are versions of the same answers whose order is known: clean; damaged a little or much; placebos, which change
form alone; a plea for full marks; the same at greater length. No human labels are needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.later import framed
from polyjudge.base.numbers import ci, percent, percent_ci
from polyjudge.base.options import ReadingOptions
from polyjudge.base.text import count, name, names, shell
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table
from polyjudge.stats.cells import mean_seen, unit_means
from polyjudge.stats.interval import FEWEST, Interval, interval, ruled_out

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
VERSION = re.compile(r"clean|damage-([1-9])(-.*)?|placebo(-.*)?|plea(-.*)?|padding(-.*)?", re.IGNORECASE)
PROBES = "probes.csv"
BLIND = 0.4
"""A judge is blind where it surely loses less than this share of the usual loss for a step of damage."""
AT_END = 0.25
"""From this share of clean answers at an end of the scale on there is no room to react: a small loss says nothing."""
MOVES = {
    "placebo": "{judge} changes its scores by {size} when only the form of an answer changes, such as line breaks.",
    "plea": "A plea for full marks changes {judge}'s scores by {size}. Remove such sentences before it scores.",
    "plea-english": "A plea for full marks in English changes {judge}'s scores by {size}. Remove such sentences first.",
    "padding": "The same content at greater length changes {judge}'s scores by {size}.",
}


@dataclass(frozen=True)
class Reaction:
    """Of the judges and languages that notice damage, on average: share of comparisons in which the clean version
    scores above a damaged one, and loss for a step in scores; each with limits of one. NaN where none notices."""

    share: tuple[float, float, float]
    loss: tuple[float, float, float]


@dataclass(frozen=True, repr=False)
class Probe(Result):
    """How judges react. Frames:

    cells : language, judge, sensitivity (share of comparisons in which the clean version scores above a damaged one,
        ties half) with low and high; loss (points for each step of damage) with loss_low and loss_high; at_end (share
        of clean answers at an end of the scale); sees ("yes", "no", "cannot tell"). Intervals: all cells together
    moves : kind ("placebo", "plea", "plea-english", "padding"), language ("all" and each), judge, change, low, high,
        moved (surely, over all languages, and by as much as matters)
    """

    cells: pd.DataFrame
    moves: pd.DataFrame
    usual: float
    """Points that the judges who notice lose for a step of damage."""
    reaction: Reaction
    matters: float
    level: float
    findings: tuple[Finding, ...]
    panel_: Panel

    def report(self) -> Report:
        """The report."""
        p, f = self.panel_, self.panel_.factor
        shown = self.cells.assign(**{x: f * self.cells[x] for x in ("loss", "loss_low", "loss_high")})
        table = Table(
            "cells",
            "How each judge reacts to damage",
            shown,
            {"language": "name", "judge": "name", "sensitivity": "percent low high",
             "loss": "+points loss_low loss_high", "at_end": "percent", "sees": "text"},
            {"language": p.noun, "sensitivity": "clean above damaged", "loss": f"{p.unit_name} lost per step",
             "at_end": "clean at an end of the scale", "sees": "notices"},
        )  # fmt: skip
        mark = np.where(shown["sees"] == "no", "named", "")
        heat = Chart(
            "loss", "heatmap", f"Loss for each step of damage, {p.unit_name}",
            shown.rename(columns={"language": "row", "judge": "column", "loss": "value"}).assign(mark=mark),
            "Points lost for each step of damage by language and judge.", x="judge", y=p.noun,
        )  # fmt: skip
        sections = [Section("damage", "Damage", tables=(table,), charts=(heat,))]
        if len(self.moves):
            own = self.moves.assign(**{x: f * self.moves[x] for x in ("change", "low", "high")})
            head = {"kind": "text", "language": "name", "judge": "name", "change": "+points low high", "moved": "yes"}
            moves = Table("moves", "What should not change a score", own, head, {"language": p.noun})
            sections.append(Section("moves", "What should not change a score", tables=(moves,)))
        blind = self.cells[self.cells["sees"] == "no"]
        cells = [f"{x},{j}".lstrip(",") for x, j in zip(blind["language"], blind["judge"], strict=True)]
        flags = " ".join(f"--without {shell(x)}" for x in cells)
        source = Path(p.source)
        audited = shell(source.parent) if source.name == PROBES else "scores.csv"
        after = (Step(f"polyjudge audit {audited} {flags}", "audit without what is blind"),) if flags else ()
        about = {"level": self.level, "matters": self.matters}
        title, parts = "Do the judges notice damage?", tuple(sections)
        return Report(
            "probe", title, (_facts(p), *p.read_facts[1:], *p.notes), self.findings, None, after, parts, about=about
        )


def probe(
    panel: Panel | Any, *, matters: float | None = None, level: float = 0.95, **columns: Unpack[ReadingOptions]
) -> Probe:
    """Do the judges notice damaged answers, and are they moved by what must not matter?

    The systems of the scores are versions of the same answers: clean, damage-1, damage-2, ...; where made also
    placebo-..., plea-... and padding. A plan of `polyjudge collect` with `probes: true` makes and scores them.

    panel : scores of the versions, or the folder of a run with probes
    matters : smallest change that matters, in points (pass or fail: percentage points); 2% of the scale unless said
    level : confidence level of the intervals

    Examples:
        polyjudge probe run/
    """
    from polyjudge.read import read_panel

    source, options = probes_of_run(panel, columns)
    panel = read_panel(source, **options)
    if panel.pairs is not None:
        raise UsageError(
            "probe asks how scores fall when answers are damaged, and verdicts on pairs hold no scores. Have the "
            "judges rate the answers one by one."
        )
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    least = panel.least(matters)
    clean, steps, others = _versions(panel)
    if panel.units < FEWEST:
        raise PanelError(f"{panel.units} tasks are too few to see how judges react: {FEWEST} are needed.")
    cells, reaction = _damage(panel, clean, steps, level)
    moves = _moves(panel, clean, others, least, level)
    said = (*_seen(panel, cells, reaction), *_moved(panel, moves))
    return Probe(cells, moves, reaction.loss[0], reaction, least, level, said, panel)


def _facts(panel: Panel) -> str:
    """What was read. Not every version is made of every task and language: what no judge scored is not missing."""
    is_scored = np.isfinite(panel.scores)
    n_scores, n_asked = int(is_scored.sum()), int(is_scored.any(-1).sum()) * len(panel.judges)
    missing = f"{n_asked - n_scores:,} of {n_asked:,} missing" if n_asked > n_scores else "none missing"
    who = [count(round(panel.weight.sum()), "task"), count(len(panel.judges), "judge")]
    who[1:1] = [count(len(panel.languages), panel.noun)] if len(panel.languages) > 1 else []
    low, high = panel.scale
    scores = f"{count(n_scores, 'score')} from {low:g} to {high:g} for {len(panel.systems)} versions of answers"
    return f"{' x '.join(who)}: {scores}, {missing}."


def probes_of_run(source: Any, columns: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Where the scores of probes stand, and how they are read, if the source is the folder of a run."""
    if not isinstance(source, str | Path) or not (Path(source) / "polyjudge-run.json").is_file():
        return source, dict(columns)
    probes = Path(source) / PROBES
    if not probes.is_file():
        text = f"The run {name(source, 200)} has no probes: add `probes: true` to its plan"
        raise PanelError(f"{text}, and collect into it once more.")
    return probes, {"system": "version", **columns}


def _versions(panel: Panel) -> tuple[int, dict[int, int], dict[str, list[int]]]:
    """The clean version, damaged ones with their step, and the positions of each kind that must not move a score."""
    found = {i: m for i, x in enumerate(panel.systems) if (m := VERSION.fullmatch(x))}
    clean = [i for i, m in found.items() if m[0].lower() == "clean"]
    steps = {i: int(m[1]) for i, m in found.items() if m[1]}
    if len(clean) != 1 or not steps:
        raise PanelError(
            f"The systems of these scores are not versions of an answer: {names(panel.systems)}. They are called "
            "clean, damage-1, damage-2, ..., placebo-..., plea-... and padding; name their column: --system."
        )
    others: dict[str, list[int]] = {}
    for i, m in found.items():
        text = m[0].lower()
        kind = "plea-english" if text == "plea-english" else text.split("-")[0]
        if kind in MOVES:
            others.setdefault(kind, []).append(i)
    return clean[0], steps, others


def _damage(panel: Panel, clean: int, steps: dict[int, int], level: float) -> tuple[pd.DataFrame, Reaction]:
    """Reaction of every judge in every language, and the usual one of those that notice."""
    n_cells = len(panel.languages) * len(panel.judges)
    n_tasks = len(panel.scores)
    wins = _wins(panel, clean, steps).reshape(n_tasks, n_cells)
    loss = -_slope(panel.scores[:, [clean, *steps]], np.array([0.0, *steps.values()])).reshape(n_tasks, n_cells)
    share, fall = _interval(wins, panel, level), _interval(loss, panel, level)
    low, high = _share_limits(share.estimate, share.low, share.high, panel.units, level, n_cells)
    at_end = _share_at_end(panel, clean)
    sees = np.where((low > 0.5) & (fall.low > 0), "yes", "cannot tell").astype(object)
    reaction = _usual_reaction(panel, wins, loss, sees == "yes", level)
    is_blind = (fall.high < BLIND * fall.estimate[sees == "yes"].mean()) if (sees == "yes").any() else sees == "blind"
    sees[is_blind & (at_end < AT_END) & (sees != "yes")] = "no"
    cells = [(language, judge) for language in panel.languages for judge in panel.judges]
    frame = framed(cells, columns=["language", "judge"]).assign(
        sensitivity=share.estimate, low=low, high=high, loss=fall.estimate, loss_low=fall.low, loss_high=fall.high,
        at_end=at_end, sees=sees,
    )  # fmt: skip
    return frame, reaction


def _wins(panel: Panel, clean: int, steps: dict[int, int]) -> Array:
    """Share of damaged versions above which the clean one scores in each task, ties half."""
    gap = panel.scores[:, [clean]] - panel.scores[:, list(steps)]
    gap = np.where(np.abs(gap) <= 1e-9 * panel.width, 0.0, gap)
    return mean_seen(np.where(np.isfinite(gap), 0.5 + 0.5 * np.sign(gap), np.nan), 1)


def _share_limits(
    share: Array, low: Array, high: Array, n_units: int, level: float, n_comparisons: int
) -> tuple[Array, Array]:
    """Limits within 0 and 1; where all tasks say the same, the exact ones of tasks that were not drawn."""
    exact = ruled_out(0, n_units, level, n_comparisons)
    low = np.where(share >= 1, np.minimum(low, 1 - exact), low)
    high = np.where(share <= 0, np.maximum(high, exact), high)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def _share_at_end(panel: Panel, clean: int) -> Array:
    """Share of clean answers at an end of the scale in each cell."""
    scores, tiny = panel.scores[:, clean], 1e-9 * panel.width
    is_at_end = (scores <= panel.scale[0] + tiny) | (scores >= panel.scale[1] - tiny)
    return mean_seen(np.where(np.isfinite(scores), is_at_end.astype(float), np.nan), 0).ravel()


def _usual_reaction(panel: Panel, wins: Array, loss: Array, notices: NDArray[np.bool_], level: float) -> Reaction:
    """The mean reaction of the cells that notice damage, over tasks."""
    if not notices.any():
        return Reaction((np.nan, np.nan, np.nan), (np.nan, np.nan, np.nan))
    share, share_low, share_high = _mean_over_cells(panel, wins[:, notices], level)
    low, high = _share_limits(
        np.array([share]), np.array([share_low]), np.array([share_high]), panel.units, level, n_comparisons=1
    )
    return Reaction((share, float(low[0]), float(high[0])), _mean_over_cells(panel, loss[:, notices], level))


def _mean_over_cells(panel: Panel, values: Array, level: float) -> tuple[float, float, float]:
    """The mean of cells (rows, cells), each counting alike, with limits over tasks."""
    of_units, seen = unit_means(values, panel.unit)
    made = interval(of_units.mean(1, keepdims=True), level=level, df=np.array([max(seen.min() - 1.0, 1.0)]))
    return float(made.estimate[0]), float(made.low_one[0]), float(made.high_one[0])


def _moves(panel: Panel, clean: int, others: dict[str, list[int]], matters: float, level: float) -> pd.DataFrame:
    """Change of the score under what must not matter, over all languages and in each; all judges and kinds together."""
    import pandas as pd

    n, _, k, m = panel.scores.shape
    frames = []
    for kind, at in others.items():
        change = mean_seen(panel.scores[:, at] - panel.scores[:, [clean]], 1)  # (n, k, m)
        share = 1 - (1 - level) / len(others)
        whole = _interval(mean_seen(change, 1), panel, share)
        each = _interval(change.reshape(n, k * m), panel, share)
        moved = whole.clear(0.0) & (np.abs(whole.estimate) >= matters) & np.isfinite(whole.q)
        rows = [("all", b) for b in panel.judges] + [(a, b) for a in panel.languages for b in panel.judges]
        frame = pd.DataFrame(rows, columns=["language", "judge"]).assign(
            change=np.concatenate([whole.estimate, each.estimate]),
            low=np.concatenate([whole.low, each.low]),
            high=np.concatenate([whole.high, each.high]),
            moved=np.concatenate([moved, np.zeros(k * m, bool)]),
        )
        frames.append(frame.assign(kind=kind))
    columns = ["kind", "language", "judge", "change", "low", "high", "moved"]
    return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)


def _interval(values: Array, panel: Panel, level: float) -> Interval:
    v, seen = unit_means(values, panel.unit)
    return interval(v, level=level, df=np.maximum(seen - 1.0, 1.0))


def _slope(y: Array, x: Array) -> Array:
    """Least-squares slope over x (versions) in each task: (n, versions, k, m) -> (n, k, m)."""
    there = np.isfinite(y)
    wide = np.where(there, x[:, None, None], np.nan)
    apart = wide - mean_seen(wide, 1)[:, None]
    size = np.where(there, apart, 0.0) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(there, apart * np.where(there, y, 0.0), 0.0).sum(1) / np.where(
            size.sum(1) > 0, size.sum(1), np.nan
        )


def _seen(panel: Panel, cells: pd.DataFrame, reaction: Reaction) -> list[Finding]:
    """Who notices damage, and who does not."""
    if not np.isfinite(reaction.loss[0]):
        text = "No judge clearly notices damage. Do not use these scores before you know why."
        return [Finding("serious", "no-reaction", text, "Damage")]
    sees, blind = (cells[cells["sees"] == x] for x in ("yes", "no"))
    of = len(cells)
    where = "everywhere" if len(sees) == of else f"in {len(sees)} of {of} pairs of {panel.noun} and judge"
    if len(panel.languages) == 1 and len(sees) < of:
        where = f"in the case of {len(sees)} of {of} judges"
    loss = panel.factor * reaction.loss[0], panel.factor * reaction.loss[1], panel.factor * reaction.loss[2]
    text = (
        f"Damage is noticed {where}: there the clean answer scores higher than a damaged one in "
        f"{percent_ci(*reaction.share)} of comparisons, and each step costs {ci(*loss, panel.unit_name)}."
    )
    said = [Finding("info", "noticed", text, "Damage")]
    row: Any
    for row in blind.itertuples():
        place = f" in {name(row.language)}" if row.language else ""
        f = panel.factor
        size = ci(f * row.loss, f * row.loss_low, f * row.loss_high, panel.unit_name)
        text = f"{name(row.judge)} does not notice damage{place}: a step costs {size}. Leave its scores out there."
        said.append(Finding("serious", "blind", text, "Blind", {"language": row.language, "judge": row.judge}))
    for language, rows in cells.groupby("language", sort=False):
        alone = rows[rows["sees"] == "yes"]
        if len(alone) == 1 and (rows["sees"] == "no").sum() > len(rows) / 2:
            judge = name(alone["judge"].iloc[0])
            text = f"Only {judge} notices damage in {name(language)}: do not calibrate it towards the others."
            said.append(Finding("warning", "competent", text, "Blind", {"language": str(language)}))
    full = cells[cells["at_end"] >= AT_END]
    rest = full[full["sees"] == "cannot tell"]
    if len(rest):
        pairs = names([f"{name(b)} in {name(a)}" for a, b in zip(rest["language"], rest["judge"], strict=True)])
        top = percent(float(rest["at_end"].max()))
        text = f"Up to {top} of clean answers have the lowest or highest score, so nothing can be told of {pairs}."
        said.append(Finding("notice", "at-end", text, "Damage"))
    return said


def _moved(panel: Panel, moves: pd.DataFrame) -> list[Finding]:
    """Judges that are moved by what must not matter."""
    said = []
    row: Any
    for row in moves[moves["moved"].astype(bool)].itertuples():
        f = panel.factor
        size = ci(f * row.change, f * row.low, f * row.high, panel.unit_name, sign=True)
        text = MOVES[str(row.kind)].format(judge=name(row.judge), size=size)
        said.append(Finding("warning", f"moved-{row.kind}", text, "Form", {"judge": row.judge}))
    if len(moves) and not said:
        kinds = names(dict.fromkeys({"placebo": "form", "padding": "length"}.get(x, "a plea") for x in moves["kind"]))
        said.append(Finding("info", "unmoved", f"No judge is clearly moved by {kinds}.", "Form"))
    return said
