"""Which part of an incomplete panel can be estimated, and in words what cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.estimate.designs import CHUNK_BYTES, RANK_TOLERANCE, Design, basis, distinct, normal_matrices
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, Words, say

Mask = NDArray[np.bool_]
AXES = ("language", "judge")


def identified_design(panel: Panel) -> Design | None:
    """The first of "complete", "paired", "additive", "answers" that identifies the interaction; None if none does."""
    if panel.complete:
        return "complete"
    cells = float(panel.shape[1] * panel.shape[2])
    require_time(
        cells**3 / 64,
        f"Estimating {cells:,.0f} cells together, as missing scores demand,",
        ", or only tasks that have all scores (--incomplete drop)",
    )
    if not _scored(panel).all():
        return None
    patterns = _patterns(panel)
    if paired_rank_is_full(patterns):
        return "paired"
    if len(_task_parts(patterns)) == 1:
        return "additive"
    return None if _unjoined(patterns).any() else "answers"


def _unjoined(patterns: Array) -> Mask:
    """(k, m): cells whose judge shares no chain of answers with most of the judges of the language."""
    out = np.zeros(patterns.shape[1:], bool)
    for language, lacking in enumerate(out):
        lacking[:] = ~_task_parts(patterns[:, [language]])[0][0]
    return out


def _patterns(panel: Panel) -> Array:
    """(g, k, m) what tasks may have scored, as 0 and 1."""
    return distinct((~np.isnan(panel.scores)).astype(np.float64))[0]


def paired_rank_is_full(patterns: Array) -> bool:
    """Whether 2 x 2 comparisons within tasks, chained, reach every cell. `patterns` is (g, k, m) of 0 and 1."""
    g, k, m = patterns.shape
    cells = basis(k, m, "paired")
    fullest = np.argsort(-patterns.sum(axis=(1, 2)), kind="stable")
    total = np.zeros((len(cells), len(cells)))
    step = max(1, CHUNK_BYTES // (8 * cells.size))
    # Adding tasks can only add rank: stop as soon as it is full.
    for i in range(0, g, step):
        total += normal_matrices(patterns[fullest[i : i + step]], "paired", cells).sum(axis=0)
        values = np.linalg.eigvalsh(total)
        if values[0] > RANK_TOLERANCE * values[-1] > 0:
            return True
    return False


def _task_parts(patterns: Array) -> list[Mask]:
    """Sets of cells joined by tasks that scored both, each a (k, m) mask, largest first. An empty cell is in none."""
    from scipy.sparse import csr_matrix  # takes longer to load than most panels take to read

    tasks = csr_matrix(patterns.reshape(len(patterns), -1) > 0)
    return _masks((tasks.T @ tasks) > 0, np.asarray((patterns > 0).any(axis=0)))


def _grid_parts(there: Mask) -> list[Mask]:
    """Sets of cells joined by a common language or judge, each a (k, m) mask, largest first."""
    language, judge = np.indices(there.shape).reshape(2, -1)
    joined = (language[:, None] == language) | (judge[:, None] == judge)
    filled = there.ravel()
    return _masks(joined & filled[:, None] & filled, there)


def _masks(graph: Any, there: Mask) -> list[Mask]:
    """Connected components of a graph of cells as masks, without the cells that have no score."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(csr_matrix(graph), directed=False)
    parts = [(label == i).reshape(there.shape) & there for i in range(count)]
    return sorted((part for part in parts if part.any()), key=lambda part: -int(part.sum()))


def settle_incomplete(panel: Panel, inside: bool = False) -> Panel:
    """The panel that analyses take: holes stay, to be filled by least squares; the languages and judges that cannot be
    estimated are left out. Its notes say so, once.

    inside : the analysis compares inside a language, so one language, one judge or languages with tasks of their own
        are as good
    """
    if inside and (panel.apart or min(panel.shape[1:]) < 2):
        return panel
    panel.require_crossed()
    if panel.complete:
        return panel
    missing, total = int((np.isnan(panel.scores) & panel.own[..., None]).sum()), int(panel.own.sum()) * panel.shape[2]
    part = identified_part(panel)
    if part.complete or not missing:
        return part
    if any(isinstance(note, Say) and note.code == "panel.missing" for note in part.notes):
        return part
    design = identified_design(part)
    return _noted(part, say("panel.missing", missing=missing, entries=total, share=missing / total, design=design))


def identified_part(panel: Panel) -> Panel:
    """The panel without the languages and judges whose interaction cannot be estimated, and notes that say why.

    A panel that is identified comes back as it is. One that falls into several parts that could each be estimated
    raises a PanelError that names them: which to keep is the user's choice.

    >>> import polyjudge.second as pj
    >>> panel, _ = pj.simulate_panel(tasks=9, languages=["en", "de", "sw"], judges=3)
    >>> scores = panel.scores.copy()
    >>> scores[:, 2, 1:] = float("nan")
    >>> part = identified_part(pj.Panel.from_array(scores, languages=panel.languages))
    >>> part.languages, *map(str, part.notes)
    (('en', 'de'), 'sw was scored by one judge only (judge1), so no interaction can be separated there; left out')
    """
    reasons: list[Say] = []
    part: Panel = panel
    while identified_design(part) is None:
        there = _scored(part)
        for parts in (_grid_parts(there), _task_parts(_patterns(part))):
            rivals = [x for x in parts if _holds_interaction(x)]
            if len(rivals) > 1 or (not rivals and there.all() and _unjoined(_patterns(part)).any(axis=1).all()):
                raise PanelError(_parts_message(part, rivals or parts, reasons))
        axis, index, reason = _weakest(part, there)
        reasons.append(reason)
        keep = [x for i, x in enumerate((part.languages, part.judges)[axis]) if i != index]
        if len(keep) < 2:
            raise PanelError(
                f"No interaction can be estimated from these scores. {_sentence(reasons)} Fewer than two "
                f"{AXES[axis]}s remain. Score more judges in more languages on the same tasks."
            )
        part = part.select(**{f"{AXES[axis]}s": keep})
        part = part.select(tasks=_where(part.tasks, part.counts.sum(axis=(1, 2)) > 0))
    return _noted(part, *reasons)


def explain(panel: Panel) -> str:
    """What keeps a panel from being estimated, in words, and what to do."""
    try:
        part = identified_part(panel)
    except PanelError as error:
        return str(error)
    lacking: Sequence[Words] = _lacking(panel, _scored(panel)) or part.notes[len(panel.notes) :]
    return (
        f"The interaction cannot be estimated for the whole panel. {_sentence(lacking)} Score more there, or go on "
        f"without it: polyjudge.second.estimate.identify.identified_part(panel) keeps {len(part.languages)} of "
        f"{len(panel.languages)} languages and {len(part.judges)} of {len(panel.judges)} judges (on the command "
        "line --incomplete estimate does so)."
    )


def _parts_message(panel: Panel, parts: list[Mask], reasons: list[Say]) -> str:
    """The refusal of a panel that falls into parts which could each be estimated."""
    joins = "no task joins" if _scored(panel).all() else "no language, judge or task joins"
    words = [f"({i + 1}) {_part_words(panel, part)}" for i, part in enumerate(parts[:6])]
    languages, judges = _members(panel, parts[0])
    alone = (
        f"or work on one part alone (--languages and --judges, or panel.select), for example languages="
        f"{languages[:8]!r}, judges={judges[:8]!r}."
    )
    if len(languages) == len(panel.languages) and len(judges) == len(panel.judges):
        alone = "and check that every language and judge is written in one way (case, spaces)."
    return (
        (f"{_sentence(reasons)} " if reasons else "")
        + f"The interaction cannot be estimated: the scores fall into {len(parts)} parts that {joins}, so it cannot be "
        "told what differs between them. The parts are "
        + "; ".join(words)
        + (f"; and {len(parts) - 6} more" if len(parts) > 6 else "")
        + f". Score some tasks in all of them, {alone}"
    )


def _lacking(panel: Panel, there: Mask) -> list[Say]:
    """Languages and judges with too few partners, and cells without any score, each in words."""
    alone = [reason for _, _, reason in _lonely(panel, there)]
    empty = np.argwhere(~there & (there.sum(axis=1, keepdims=True) > 1) & (there.sum(axis=0) > 1))
    return alone + [say("identify.empty", judge=panel.judges[b], language=panel.languages[a]) for a, b in empty]


def _lonely(panel: Panel, there: Mask, out: bool = False) -> Iterator[tuple[int, int, Say]]:
    """Languages (axis 0) and judges (axis 1) with fewer than two partners: axis, index, and the same in words."""
    names = panel.languages, panel.judges
    for axis, partners in enumerate((there, there.T)):
        for i in np.flatnonzero(partners.sum(axis=1) < 2):
            about = {"label": names[axis][i], "partners": _where(names[1 - axis], partners[i]), "kind": AXES[axis]}
            yield axis, int(i), say("identify.lonely", **about, out=out)


def _weakest(panel: Panel, there: Mask) -> tuple[int, int, Say]:
    """The language (axis 0) or judge (axis 1) to leave out next, its index, and why."""
    for found in _lonely(panel, there, out=True):
        return found
    bad = ~there
    if there.all():
        patterns = _patterns(panel)
        alone = _unjoined(patterns)
        bad = alone & ~_task_parts(patterns)[0]
        bad = bad if bad.any() else alone
    axis, i = _costs_least(panel, bad)
    names = panel.languages, panel.judges
    if there.all():
        return axis, i, say("identify.apart", label=names[axis][i])
    empty = _where(names[1 - axis], ~np.moveaxis(there, axis, 0)[i])
    return axis, i, say("identify.hole", label=names[axis][i], others=empty, kind=AXES[axis])


def _costs_least(panel: Panel, bad: Mask) -> tuple[int, int]:
    """The language or judge with most bad cells; of equals, the one with fewest scores."""
    scores = np.asarray((panel.counts > 0).sum(axis=0))
    costs = [zip(bad.sum(axis=1 - axis), scores.sum(axis=1 - axis), strict=True) for axis in (0, 1)]
    options = [(-int(lost), int(had), axis, i) for axis in (0, 1) for i, (lost, had) in enumerate(costs[axis])]
    return min(options)[2:]


def _scored(panel: Panel) -> Mask:
    """(k, m): cells with any score."""
    return np.asarray((~np.isnan(panel.scores)).any(axis=0))


def _holds_interaction(part: Mask) -> bool:
    """Whether a set of cells contains two languages with two judges in common."""
    common = part.astype(np.int64) @ part.T.astype(np.int64)
    return bool((np.triu(common, 1) >= 2).any())


def _where(names: Sequence[str], has: Mask) -> list[str]:
    return [name for name, there in zip(names, has, strict=True) if there]


def _members(panel: Panel, part: Mask) -> tuple[list[str], list[str]]:
    """Languages and judges of a set of cells, as they are shown."""
    axes = (panel.languages, 1), (panel.judges, 0)
    languages, judges = ([clean(x) for x in _where(names, np.asarray(part.any(axis=over)))] for names, over in axes)
    return languages, judges


def _part_words(panel: Panel, part: Mask) -> str:
    languages, judges = _members(panel, part)
    whom = "all judges" if len(judges) == len(panel.judges) else _join(judges)
    where = "all languages" if len(languages) == len(panel.languages) else _join(languages)
    if where == "all languages" and whom == "all judges" and not part.all():
        cells = [f"{clean(panel.languages[a])} by {clean(panel.judges[b])}" for a, b in np.argwhere(part)]
        return f"{len(cells)} cells such as {_join(cells[:3])}"
    return f"{where} scored by {whom}"


def _join(names: list[str]) -> str:
    if len(names) > 6:
        return ", ".join(names[:6]) + f" and {len(names) - 6} more"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _sentence(reasons: Sequence[Words]) -> str:
    more = [f"and {len(reasons) - 8} more"] if len(reasons) > 8 else []
    return "; ".join([*map(str, reasons[:8]), *more]) + "."


def _noted(panel: Panel, *notes: Say) -> Panel:
    return replace(panel, notes=(*panel.notes, *notes)) if notes else panel
