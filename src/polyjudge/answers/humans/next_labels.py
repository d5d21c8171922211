"""Which answers should people label next? (METHODS 39)

The answer: as many in each of the languages with fewest labels, and only of systems that may be best. A cleverer choice
of languages and numbers gains 3 to 7% over that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PolyjudgeError, UsageError
from polyjudge.base.files import read_json
from polyjudge.base.numbers import digits_of, number
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.anchored import expected_half_width

if TYPE_CHECKING:
    from polyjudge.answers.humans.board import PeopleBoard
    from polyjudge.answers.humans.compare import Humans
    from polyjudge.calibrate.labelled import Labelled

EXPECTED = "expected"
"""The part of a manifest of `label make` that says what its labels were expected to bring."""
FEWEST_SYSTEMS = 2
HARDLY = 0.95
"""Of the half-width of the lead, above which it is not said to be narrowed."""
ENOUGH = 20
"""Labels of a language above which it is not asked for once more where the winner is certain."""


@dataclass(frozen=True)
class NextLabels:
    """systems, languages : names of those whose answers are to be labelled; n : answers in each language

    now, then : half-width of the leader's lead over its rival, and what it is expected to be; NaN where that is not
        known: from one or two languages nothing is said of the others
    pair : leader and rival
    """

    systems: tuple[str, ...]
    languages: tuple[str, ...]
    n: int
    now: float
    then: float
    pair: tuple[str, str]


def fewest_labelled(labels: Sequence[int]) -> list[int]:
    """The languages with fewest labels: those without any, else those with less than half of what another has.

    >>> fewest_labelled([20, 0, 0]), fewest_labelled([20, 50, 60]), fewest_labelled([20, 30])
    ([1, 2], [0], [0, 1])
    """
    n_labels = np.asarray(labels)
    few = n_labels == 0 if (n_labels == 0).any() else n_labels < n_labels.max() / 2
    if not few.any():
        return list(range(len(n_labels)))
    return [int(language) for language in np.flatnonzero(few)]


def systems_to_label(board: PeopleBoard) -> list[int]:
    """Systems that may be first overall, at least the leader and its rival; also those that labels do not compare."""
    order = board.order
    if len(order) < FEWEST_SYSTEMS:
        return list(range(len(board.panel.systems)))
    compared = board.may_be_best if len(board.may_be_best) >= FEWEST_SYSTEMS else order[:FEWEST_SYSTEMS]
    return [*compared, *board.uncompared]


def next_labels(board: PeopleBoard, n: int = 20) -> NextLabels | None:
    """What to label next, and what it is expected to bring; None where the winner is certain and languages have labels
    enough."""
    panel = board.panel
    n_labels = board.labels.sum(axis=0)
    languages = fewest_labelled(n_labels)
    is_certain = len(board.may_be_best) == 1 and not board.uncompared
    if is_certain and n_labels.min() >= ENOUGH:
        return None
    systems = systems_to_label(board)
    now = then = float("nan")
    pair = (board.order[0], board.order[1]) if len(board.order) > 1 else None
    if pair is not None and len(set(board.labelled) | set(languages)) == len(panel.languages) and board.tells_others:
        now = board.lead_half_width
        widths = expected_half_width(
            board.judged, board.measured, board.people, pair, languages, systems, n / len(systems), seed=board.seed
        )
        then = float(np.median(widths))
    return NextLabels(
        systems=tuple(panel.systems[system] for system in systems),
        languages=tuple(panel.languages[language] for language in languages),
        n=n,
        now=board.factor * now,
        then=board.factor * then,
        pair=("", "") if pair is None else (panel.systems[pair[0]], panel.systems[pair[1]]),
    )


def what_it_brings(board: PeopleBoard, chosen: NextLabels) -> str:
    """Beside the command: "delta and bravo in Korean: the lead is known to ±5.1, then to about ±3.0"."""
    where = names(chosen.languages)
    if len(chosen.languages) == len(board.panel.languages):
        where = f"all {board.panel.nouns}"
    what = f"{names(chosen.systems)} in {where}"
    if board.uncompared:
        return f"{what}: systems without labels may be first too"
    if chosen.then < HARDLY * chosen.now:
        digits = digits_of(chosen.then)
        now, then = number(chosen.now, digits), number(chosen.then, digits)
        return f"{what}: the lead is known to ±{now}, then to about ±{then}"
    if chosen.then < chosen.now:
        return f"{what}: these would hardly narrow the lead; -n says how many"
    n_left = 3 - len(board.labelled)
    if n_left > 0:
        return f"{what}: with labels in three {board.panel.nouns} the others can be told too"
    return what


def expected_entry(chosen: NextLabels | None, n_labels: int, n_drawn: int) -> dict[str, Any]:
    """What the manifest of a draw keeps, so that the labels can be held against it when they are back."""
    if chosen is None or not chosen.then < chosen.now:
        return {}
    entry = {"pair": list(chosen.pair), "now": chosen.now, "then": chosen.then, "labels": n_labels + n_drawn}
    return {EXPECTED: entry}


def brought_findings(h: Humans) -> list[Finding]:
    """What labels of a folder brought, beside what was expected when they were drawn."""
    folder = getattr(h.options_["given"], "folder", None)
    entry = _entry(folder)
    if h.board_ is None or entry is None:
        return []
    leader, rival = entry["pair"]
    systems = h.panel_.systems
    n_labels = int(h.board_.labels.sum())
    if leader not in systems or rival not in systems:
        return []
    if n_labels < 0.9 * entry["labels"]:
        text = (
            f"These are {n_labels:,} labels; with the earlier ones {entry['labels']:,} were expected. Name all of them "
            f"to see what the new ones brought: --labels earlier.csv,{folder}."
        )
        return [Finding("notice", "humans.brought", text, "People")]
    half_width = h.board_.limits.half_width[-1, systems.index(leader), systems.index(rival)] * h.board_.factor
    text = (
        f"The new labels narrowed {name(leader)}'s lead over {name(rival)} from ±{number(entry['now'], 1)} to "
        f"±{number(half_width, 1)}; about ±{number(entry['then'], 1)} was expected."
    )
    return [Finding("info", "humans.brought", text, "People")]


def _entry(folder: str | None) -> dict[str, Any] | None:
    """What a draw expected, from the manifest of its folder; None where it says nothing."""
    from polyjudge.answers.humans.sheet import MANIFEST

    # Of several draws the last was to bring what is looked at.
    path = Path(folder.split(",")[-1]) / MANIFEST if folder else None
    if path is None or not path.is_file():
        return None
    try:
        manifest = read_json(path)
    except PolyjudgeError:
        return None
    entry = manifest.get(EXPECTED) if isinstance(manifest, dict) else None
    if not isinstance(entry, dict) or not {"pair", "now", "then", "labels"} <= set(entry):
        return None
    return entry if len(entry["pair"]) == 2 else None


# --- for the draw ---


def where_of_use(panel: Panel, found: Labelled, n: int, seed: int) -> NextLabels | None:
    """Where the next labels are of most use; None where labels do not tell, as of a panel of one language."""
    from polyjudge.answers.humans.board import people_board
    from polyjudge.answers.humans.compare import sides_of

    board = people_board(panel, sides_of(panel, found), seed=seed)
    return None if board is None else next_labels(board, n)


def allowed_answers(panel: Panel, systems: Sequence[str] | None, chosen: NextLabels | None) -> NDArray[np.bool_]:
    """Which answers (1, systems, languages) may be drawn."""
    for system in systems or ():
        if system not in panel.systems:
            known = names(panel.systems, 8)
            raise UsageError(f"There is no system {name(system)} in these scores. It has: {known}.")
    allowed = np.ones((1, len(panel.systems), len(panel.languages)), dtype=bool)
    wanted = systems or (() if chosen is None else chosen.systems)
    if wanted:
        allowed &= np.isin(panel.systems, list(wanted))[None, :, None]
    if chosen is not None:
        allowed &= np.isin(panel.languages, list(chosen.languages))[None, None]
    return allowed


def drawn_findings(
    panel: Panel, drawn: NDArray[np.bool_], allowed: NDArray[np.bool_], n: int, kind: str
) -> list[Finding]:
    """How many answers were drawn, of which systems, in which languages; and where there were fewer."""
    is_asked = np.any(allowed, axis=(0, 1))
    languages = [language for language, asked in zip(panel.languages, is_asked, strict=True) if asked]
    each = drawn.sum((0, 1))[is_asked]
    amount = f"{each.min()}" if each.min() == each.max() else f"{each.min()} to {each.max()}"
    where = f" per {panel.noun}" if len(panel.languages) > 1 else ""
    if len(languages) < len(panel.languages):
        where = f" in {names(languages)}" if len(each) == 1 else f" each in {names(languages)}"
    systems = [x for x, asked in zip(panel.systems, np.any(allowed, axis=(0, 2)), strict=True) if asked]
    whose = f" of {names(systems)}" if len(systems) < len(panel.systems) else ""
    text = f"{amount} answers{whose}{where}, drawn at random. Annotators give {kind}."
    found = [Finding("info", "label.drawn", text, "Drawn")]
    few = [language or "the scores" for language, drawn_there in zip(languages, each, strict=True) if drawn_there < n]
    if few:
        text = f"There are fewer than {n} answers left in {names(few)}."
        found.append(Finding("notice", "label.few", text, "Drawn"))
    return found
