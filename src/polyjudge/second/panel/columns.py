"""Which column of a table holds what: found by its usual names, or named by the user."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean, some

ANNOTATOR = ("annotator", "annotator_id", "rater", "rater_id", "labeller", "labeler", "worker", "worker_id")
"""Usual names of the column that says who gave a label."""
USUAL = {
    "task": (
        "task", "item", "item_id", "sample_id", "id", "task_id", "prompt_id", "question_id", "query_id", "segment",
        "segment_id", "seg_id", "example_id", "doc_id", "instance_id", "problem_id", "trace_id", "aufgabe", "tarea",
    ),
    "language": (
        "language", "lang", "locale", "language_code", "lang_code", "target_language", "target_lang", "tgt_lang",
        "sprache", "langue", "idioma",
    ),
    "judge": (
        "judge", "evaluator", "evaluator_model", "backbone", "grader", "grader_model", "judge_model", "judge_name",
        "judge_id", "evaluator_name", "evaluator_id", "grader_name", "annotator", "annotator_id",
        "rater", "rater_id", "reviewer", "scorer", "critic", "richter", "bewerter", "juge", "juez",
    ),
    "score": (
        "score", "rating", "value", "margin", "passed", "label", "grade", "points", "judgment", "judgement", "correct",
        "is_correct", "punktzahl", "bewertung", "punkte",
    ),
    "system": (
        "system", "candidate", "model", "framework", "agent", "variant", "prompt_version", "modell", "modelo",
        "sistema",
    ),
    "replicate": ("repeat", "epoch", "replicate"),
    "cluster": ("cluster",),
}  # fmt: skip
GENERIC = frozenset({"id", "value", "label", "model", "trace_id"})
"""Names that count only where no other usual name is there."""
REQUIRED = ("task", "language", "judge", "score")


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns by role. The optional roles are None when the table has none."""

    task: str
    language: str
    judge: str
    score: str
    replicate: str | None = None
    group: str | None = None
    system: str | None = None
    cluster: str | None = None


DOUBTS = {"framework": "system", "agent": "system", "variant": "system", "model": "system", "epoch": "replicate"}
"""Names that could mean a system (what is judged) or a replicate (a repeat), with the reading taken by itself."""
UNREAD = ("run", "trial", "seed", "attempt")
"""Names that could mean either, and are not read unless they are named."""


def doubts(names: Iterable[str], columns: Columns, given: Iterable[str | None] = ()) -> dict[str, str]:
    """The columns whose role a person should confirm, and the role: taken as a system or a replicate, or left aside
    (""), only by their name.

    names : all columns of the table; given : those the user named, which are beyond doubt

    >>> table = ["backbone", "language", "task", "score", "framework"]
    >>> doubts(table, find_columns(table))
    {'framework': 'system'}
    """
    taken = {c: role for role, c in vars(columns).items() if c}
    sure, out = set(given), {}
    for name in map(str, names):
        usual, role = spelled(name), taken.get(name, "")
        doubtful = role == DOUBTS[usual] if usual in DOUBTS else not role and usual in UNREAD
        if doubtful and name not in sure:
            out[name] = role
    return out


def find_columns(names: Iterable[str], *, require_task: bool = True, **named: str | None) -> Columns:
    """The columns of a table by role. A column given by name must exist; the others go by their usual names.

    named : role -> column, of those that the user named. An empty name for `system`, `replicate` or `cluster` says that
        the table has none. `model` is the judge when no other column is, else the system

    >>> find_columns(["backbone", "language", "task", "score", "framework"]).judge
    'backbone'
    """
    names = [str(n) for n in names]
    given = {role: named.get(role) for role in (*USUAL, "group")}
    taken = {n for n in given.values() if n}
    found: dict[str, str | None] = {}
    several: dict[str, list[str]] = {}
    for role, wanted in given.items():
        if wanted is not None:
            if wanted not in names and not (wanted == "" and role in ("system", "replicate", "cluster")):
                raise PanelError(f"There is no column {wanted!r} (given for {role}). The columns are {listed(names)}.")
            found[role] = wanted or None
            continue
        hits = usual_columns(role, names, taken | {n for n in found.values() if n})
        if len(hits) > 1:
            several[role] = hits
        found[role] = hits[0] if len(hits) == 1 else None
    required = REQUIRED if require_task else REQUIRED[1:]
    needed = [r for r in required if found[r] is None and r not in several]
    if needed or several:
        raise PanelError(_ask(names, needed, several, found))
    for a, b in combinations([r for r in found if found[r] is not None], 2):
        if found[a] == found[b]:
            raise PanelError(f"Column {found[a]!r} cannot be both {a} and {b}.")
    return Columns(**{r: (found[r] or "") if r in REQUIRED else found[r] for r in found})  # type: ignore[arg-type]


def first_of(names: Iterable[str], there: Iterable[Any]) -> Any:
    """The first of some usual names among the columns of a table, as it is written there; None where there is none."""
    low = {str(column).strip().lower(): column for column in there}
    return next((low[name] for name in names if name in low), None)


def usual_columns(role: str, names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The columns that could play a role by their usual names: the role's own name, else special names, else general.

    >>> usual_columns("task", ["id", "prompt_id", "score"])
    ['prompt_id']
    """
    taken = set(taken)
    hits = [n for n in map(str, names) if spelled(n) in USUAL.get(role, ()) and n not in taken]
    exact = [n for n in hits if spelled(n) == role]
    if len(exact) == 1:
        return exact
    return [n for n in hits if spelled(n) not in GENERIC] or hits


def spelled(name: str) -> str:
    """A column's name as usual names are spelled: small letters, underscores, nothing in brackets at the end.

    >>> [spelled(n) for n in ("Question ID", "judgeModel", "Rating (1-5)")]
    ['question_id', 'judge_model', 'rating']
    """
    plain = re.sub(r"^#\s*|\s*[\(\[][^\(\[]*[\)\]]\s*$", "", name.strip()) or name.strip()
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain)
    return re.sub(r"[\s\-]+", "_", parted).lower()


def _ask(names: list[str], needed: list[str], several: dict[str, list[str]], found: dict[str, str | None]) -> str:
    """Everything that has to be said before the table can be read, in one paragraph."""
    maybe = dict(several)
    if "judge" in needed and (model := found.get("system")) is not None:
        maybe["judge"] = [model]  # what judges, or what is judged
    lacking = [*needed, *several]
    hints = "".join(f" The {role} could be {listed(hits)}." for role, hits in maybe.items())
    flags = " ".join(f"--{role} {clean(maybe.get(role, ['NAME'])[0])}" for role in lacking)
    wide = " Where scores stand in several columns: --wide PATTERN (wide=...)." if "score" in needed else ""
    return (
        f"No column for {' and '.join(lacking)} was found among {listed(names)}.{hints} Name what is meant: "
        f"{', '.join(f'{role}=...' for role in lacking)} in Python, {flags} on the command line.{wide}"
    )


def listed(names: Iterable[str]) -> str:
    """Names for an error message."""
    return some(names, 30, repr) or "no columns at all"
