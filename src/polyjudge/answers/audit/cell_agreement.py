"""Does a judge run against the others in one language, or hardly agree with them there? (METHODS 31b)

The answer names such cells before what is off is said: the scores of a reversed judge have an ordinary mean and no
meaning. Where two or more judges stand out in one language, the judges split there and nobody is blamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.later import framed
from polyjudge.base.numbers import number
from polyjudge.base.text import count, name, names
from polyjudge.panel import Panel, with_texts
from polyjudge.report.model import Chart, Finding, Section, Table
from polyjudge.stats.cell_agreement import CellAgreement, NamedCell

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
COLUMNS = ("language", "judge", "r", "low", "high", "others", "named")
N_TO_READ = 5
"""Answers of a named cell that are shown: a reversed judge shows in the first."""


# --- what follows for the other answers ---


def cells_to_leave_out(panel: Panel, cells: CellAgreement | None) -> list[tuple[str, str]]:
    """Language and judge of the cells that do not count in means: those named alone in their language."""
    if cells is None:
        return []
    alone = [cell for cell in cells.named if not _is_split(cells, cell.language)]
    return [(panel.languages[cell.language], panel.judges[cell.judge]) for cell in alone]


def without_cells(panel: Panel, cells: CellAgreement | None) -> Panel:
    """The panel without the scores of those cells; the panel itself where there are none."""
    to_leave_out = cells_to_leave_out(panel, cells)
    if not to_leave_out:
        return panel
    scores = panel.scores.copy()
    for language, judge in to_leave_out:
        scores[:, :, panel.languages.index(language), panel.judges.index(judge)] = np.nan
    return replace(panel, scores=scores)


def _is_split(cells: CellAgreement, language: int) -> bool:
    """Whether several judges stand out in a language, so that they may be the ones who are right."""
    return len(cells.named_in(language)) > 1


def answers_to_read(panel: Panel, language: str, judge: str, most: int = N_TO_READ) -> pd.DataFrame:
    """The answers on which a judge and the others contradict each other most.

    task, system, language, judge, score, others (their mean), and texts where they are at hand. Most means the lowest
    product of both deviations, from the task's mean where systems are compared, else from the language's.
    """
    language_index, judge_index = panel.languages.index(language), panel.judges.index(judge)
    scores = panel.scores[:, :, language_index]
    own = scores[..., judge_index]
    others = _mean_seen(np.delete(scores, judge_index, axis=2), axis=2)
    axes = (1,) if panel.has_systems else (0, 1)
    is_answer = np.isfinite(own) & np.isfinite(others)
    products = _deviations(own, is_answer, axes) * _deviations(others, is_answer, axes)
    order = np.argsort(np.where(is_answer, products, np.inf).round(9).ravel(), kind="stable")
    order = order[: min(most, int(is_answer.sum()))]
    rows, systems = np.unravel_index(order, own.shape)
    frame = framed({"task": [panel.tasks[row] for row in rows]})
    if panel.has_systems:
        frame["system"] = [panel.systems[system] for system in systems]
    frame = frame.assign(language=language, judge=judge, score=own[rows, systems], others=others[rows, systems])
    return with_texts(panel, frame)


def _mean_seen(scores: Array, axis: int | tuple[int, ...]) -> Array:
    """The mean of the scores that there are, NaN where there are none."""
    seen = np.isfinite(scores)
    total, n_seen = np.where(seen, scores, 0.0).sum(axis), seen.sum(axis)
    return np.where(n_seen > 0, total / np.maximum(n_seen, 1), np.nan)


def _deviations(scores: Array, is_answer: NDArray[np.bool_], axes: tuple[int, ...]) -> Array:
    """Scores less their mean over some axes; 0 where there is no answer."""
    seen = np.where(is_answer, scores, 0.0)
    mean = seen.sum(axes, keepdims=True) / np.maximum(is_answer.sum(axes, keepdims=True), 1)
    return np.where(is_answer, seen - mean, 0.0)


# --- the frame ---


def frame(panel: Panel, cells: CellAgreement | None) -> pd.DataFrame:
    """A row for each language and judge: r with the mean of the others, and r that is to be expected (`others`).

    The limits hold for all cells together; NaN where too few answers differ. `others` is the smaller of what the judge
    does in other languages and of what the other judges do among themselves. named : certainly falls short of it
    """
    if cells is None:
        return framed(columns=COLUMNS)
    n_languages, n_judges = cells.r.shape
    numbers = np.stack([cells.r, cells.low, cells.high, cells.expected], axis=2)
    for cell in cells.named:  # as they were when they were named, without the cells that are surer
        numbers[cell.language, cell.judge] = cell.r, cell.low, cell.high, cell.expected
    columns = (
        np.repeat(np.array(panel.languages, dtype=object), n_judges),
        np.tile(np.array(panel.judges, dtype=object), n_languages),
        *numbers.reshape(-1, 4).T,
        _named_mask(cells).ravel(),
    )
    return framed(dict(zip(COLUMNS, columns, strict=True)))


# --- sentences ---


def findings(panel: Panel, cells: CellAgreement | None, has_people: bool = False) -> list[Finding]:
    """A finding for each judge that is reversed or blind somewhere, and for each language in which the judges split.

    has_people : whether there are labels
    """
    if cells is None:
        return []
    alone = [cell for cell in cells.named if not _is_split(cells, cell.language)]
    split_languages = dict.fromkeys(cell.language for cell in cells.named if _is_split(cells, cell.language))
    of_judges = dict.fromkeys((cell.judge, cell.is_reversed) for cell in alone)
    return [
        *(
            _judge_finding(panel, [cell for cell in alone if (cell.judge, cell.is_reversed) == key])
            for key in of_judges
        ),
        *(_split_finding(panel, cells.named_in(language), has_people) for language in split_languages),
    ]


def findings_of_off(panel: Panel, cells: CellAgreement | None, sentences: Sequence[Finding]) -> list[Finding]:
    """What is off, without the line that there are no scores of the cells that were left out."""
    has_empty_cells = bool((~np.isfinite(panel.scores).any((0, 1))).any())
    if has_empty_cells or not cells_to_leave_out(panel, cells):
        return list(sentences)
    return [finding for finding in sentences if finding.key != "off.empty"]


def _judge_finding(panel: Panel, named: list[NamedCell]) -> Finding:
    """One judge that is reversed, or blind, in some languages; the surest first."""
    judge, languages = panel.judges[named[0].judge], [panel.languages[cell.language] for cell in named]
    sentence, key, does = _blind_sentence(panel, named), "judges.blind_there", "hardly agrees"
    if named[0].is_reversed:
        sentence, key, does = _reversed_sentence(panel, named), "judges.reversed", "is reversed"
    text = f"{sentence} {_advice_sentence(len(named))}"
    head = f"{name(judge, 30)} {does} in {names(languages, 2)}"
    return Finding("warning", key, text, "Judges", {"language": languages[0], "judge": judge}, head)


def _reversed_sentence(panel: Panel, named: list[NamedCell]) -> str:
    """A judge runs against the others in some languages, and what may be the cause."""
    cause = "its scale may be reversed there"
    if panel.two_valued:
        cause = "its words for pass and fail may be swapped there"
    judge = name(panel.judges[named[0].judge])
    return f"In {_format_languages(panel, named)}, {judge} runs against the other judges ({_format_r(named)}): {cause}."


def _blind_sentence(panel: Panel, named: list[NamedCell]) -> str:
    """A judge hardly agrees with the others in some languages, though it does elsewhere."""
    judge = name(panel.judges[named[0].judge])
    cause = f"it may not understand {_format_languages(panel, named)}, or its replies may be misread there"
    if panel.noun != "language":
        cause = "its replies may be misread there"
    return (
        f"In {_format_languages(panel, named)}, {judge} hardly agrees with the other judges ({_format_r(named)}): "
        f"{cause}."
    )


def _advice_sentence(n_cells: int) -> str:
    """What the user should do, and what this audit did."""
    if n_cells == 1:
        return "Read five of its answers there; until then its scores there count in no mean."
    return "Read five of its answers in each; until then its scores there count in no mean."


def _split_finding(panel: Panel, named: list[NamedCell], has_people: bool) -> Finding:
    """Several judges stand out in one language; the others may be the ones who are wrong."""
    language = name(panel.languages[named[0].language])
    judges = names([panel.judges[cell.judge] for cell in sorted(named, key=lambda cell: cell.judge)], 6)
    who_is_right = f"Scores cannot tell who is right: label 20 answers in {language}."
    if has_people:
        who_is_right = f"Scores cannot tell who is right; labels in {language} can."
    text = (
        f"In {language} the judges split: {judges} score unlike the others, though they agree elsewhere. {who_is_right}"
    )
    where = {"language": panel.languages[named[0].language]}
    return Finding("warning", "judges.split_there", text, "Judges", where, f"The judges split in {language}")


def _format_languages(panel: Panel, named: list[NamedCell]) -> str:
    return names([panel.languages[cell.language] for cell in named])


def _format_r(named: list[NamedCell]) -> str:
    """r with its interval, and what was to be expected, of one cell; of several the range of each."""
    r, expected = [cell.r for cell in named], [cell.expected for cell in named]
    if len(named) == 1:
        limits = f"[{number(named[0].low)}, {number(named[0].high)}]"
        return f"r = {number(r[0])} {limits}, where about {number(expected[0])} was to be expected"
    return (
        f"r = {number(min(r))} to {number(max(r))}, where about {number(min(expected))} to {number(max(expected))} was "
        "to be expected"
    )


# --- the page ---


def section(panel: Panel, cells: CellAgreement | None, texts: tuple[str, ...]) -> list[Section]:
    """The grid of all cells, and the answers of named ones. texts : what was found"""
    if cells is None or not np.isfinite(cells.r).any():
        return []
    explanation = (
        f"Correlation of each judge with the mean of the other judges in each {panel.noun}. It says whether they agree "
        "there, not who is right.",
        _blind_spot_sentence(panel, cells),
    )
    shown = frame(panel, cells)
    title = f"Agreement by judge and {panel.noun}"
    tables = (_cells_table(panel, shown, title), *_answers_tables(panel, cells))
    return [Section("cell-agreement", title, (*texts, *explanation), tables, (_chart(panel, shown, title),))]


def _blind_spot_sentence(panel: Panel, cells: CellAgreement) -> str:
    """In how many cells a reversed judge would have been named."""
    would_show = cells.would_show | _named_mask(cells)
    n_cells, n_shown = would_show.size, int(would_show.sum())
    if n_shown == n_cells:
        return f"A judge that is reversed in one {panel.noun} would have been named in every cell."
    hidden = [f"{panel.judges[judge]} in {panel.languages[language]}" for language, judge in np.argwhere(~would_show)]
    return (
        f"A judge that is reversed in one {panel.noun} would have been named in {n_shown} of {count(n_cells, 'cell')}. "
        f"In the rest too few answers differ, or the judges agree too little to tell: {names(hidden)}."
    )


def _named_mask(cells: CellAgreement) -> NDArray[np.bool_]:
    """(languages, judges): the named cells."""
    mask = np.zeros(cells.r.shape, dtype=bool)
    for cell in cells.named:
        mask[cell.language, cell.judge] = True
    return mask


def _cells_table(panel: Panel, shown: pd.DataFrame, title: str) -> Table:
    columns = {"language": "name", "judge": "name", "r": "number low high", "others": "number", "named": "yes"}
    titles = {"language": panel.noun, "r": "agrees with the others (r)", "others": "to be expected"}
    note = "The intervals hold all at once. No r where fewer than eight tasks make the variance."
    return Table("cell_agreement", title, shown, columns, titles, note)


def _answers_tables(panel: Panel, cells: CellAgreement) -> list[Table]:
    """Five answers of each cell that is named alone, those on which it contradicts the others most."""
    if panel.hashed:
        return []  # rows are means of many tasks
    kinds: Mapping[str, str] = {
        "task": "name", "system": "name", "score": "points", "others": "points",
        "prompt": "text", "response": "text", "reason": "text",
    }  # fmt: skip
    tables = []
    for number_of_table, (language, judge) in enumerate(cells_to_leave_out(panel, cells), start=1):
        shown = answers_to_read(panel, language, judge)
        columns = {column: kind for column, kind in kinds.items() if column in shown}
        title = f"Answers to read: {name(judge)} in {name(language)}"
        titles = {"others": "other judges"}
        tables.append(Table(f"cell_answers_{number_of_table}", title, shown, columns, titles))
    return tables


def _chart(panel: Panel, shown: pd.DataFrame, title: str) -> Chart:
    """The grid in two colours around r = 0; a square opens its answers."""
    value = shown["r"].to_numpy(float)
    data = {
        "row": shown["language"], "column": shown["judge"], "value": value,
        "text": [number(r) if np.isfinite(r) else "" for r in value],
        "mark": np.where(shown["named"].astype(bool), "named", ""),
        "low": shown["low"], "high": shown["high"],
        "key": shown["language"].astype(str) + "|" + shown["judge"].astype(str),
    }  # fmt: skip
    lowest = shown.sort_values("r", kind="stable").iloc[0]
    alt = f"r is lowest for {name(lowest['judge'])} in {name(lowest['language'])}: {number(lowest['r'])}."
    options = {"limit": 1.0, "named": "agrees less than is to be expected"}
    return Chart("cell-agreement", "heatmap", title, framed(data), alt, options=options)
