"""Which column of a table holds what: found by its usual names, or named by the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polyjudge.core.errors import PanelError
from polyjudge.core.labels import clean

USUAL = {
    "task": ("task", "item", "item_id", "sample_id", "id", "task_id"),
    "language": ("language", "lang", "locale"),
    "judge": ("judge", "model", "evaluator", "evaluator_model", "backbone"),
    "score": ("score", "rating", "value", "margin"),
    "replicate": ("framework", "repeat", "epoch", "replicate"),
}
REQUIRED = ("task", "language", "judge", "score")


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns by role. `replicate` and `group` are None when the table has none."""

    task: str
    language: str
    judge: str
    score: str
    replicate: str | None = None
    group: str | None = None


def find_columns(
    names: Iterable[str],
    task: str | None = None,
    language: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    replicate: str | None = None,
    group: str | None = None,
    require_score: bool = True,
    require_task: bool = True,
) -> Columns:
    """The columns of a table by role. A column given by name must exist; the others go by their usual names.

    >>> find_columns(["backbone", "language", "task", "score", "framework"]).judge
    'backbone'
    """
    names = [str(n) for n in names]
    given = {"task": task, "language": language, "judge": judge, "score": score, "replicate": replicate}
    taken = {n for n in (*given.values(), group) if n is not None}
    found: dict[str, str | None] = {}
    for role, wanted in {**given, "group": group}.items():
        if wanted is not None:
            if wanted not in names:
                raise PanelError(f"There is no column {wanted!r} (given for {role}). The columns are {_list(names)}.")
            found[role] = wanted
            continue
        usual = USUAL.get(role, ())
        hits = [n for n in names if n.strip().lower() in usual and n not in taken]
        exact = [n for n in hits if n.strip().lower() == role]
        if len(hits) > 1 and len(exact) != 1:
            raise PanelError(
                f"Several columns could be the {role}: {_list(hits)}. Say which one: {role}=... in Python, "
                f"--{role} NAME on the command line."
            )
        found[role] = next(iter(exact or hits), None)
    optional = {"score": not require_score, "task": not require_task}
    needed = [r for r in REQUIRED if found[r] is None and not optional.get(r, False)]
    if needed:
        raise PanelError(
            f"No column for {' and '.join(needed)} was found among {_list(names)}. Usual names are "
            + "; ".join(f"{r}: {', '.join(USUAL[r])}" for r in needed)
            + f". Name it: {needed[0]}=... in Python, --{needed[0]} NAME on the command line."
        )
    roles = [r for r in found if found[r] is not None]
    for i, a in enumerate(roles):
        for b in roles[i + 1 :]:
            if found[a] == found[b]:
                raise PanelError(f"Column {found[a]!r} cannot be both {a} and {b}.")
    return Columns(**{r: (found[r] or "") if r in REQUIRED else found[r] for r in found})  # type: ignore[arg-type]


def _list(names: Iterable[str], most: int = 30) -> str:
    names = list(names)
    shown = ", ".join(repr(clean(n)) for n in names[:most])
    return shown + (f", ... ({len(names)} in all)" if len(names) > most else "") if names else "no columns at all"
