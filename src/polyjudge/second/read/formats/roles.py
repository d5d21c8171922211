"""Which column plays which role: named by the user, by its usual name, by what it holds; asked for where in doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

from polyjudge.second.panel.columns import GENERIC, USUAL, usual_columns
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.reading import ROLES, How
from polyjudge.second.panel.say import Say
from polyjudge.second.read.formats.names import (
    all_languages,
    compile_pattern,
    guess_spread,
    in_two_parts,
    part_of,
    task_and_language,
)
from polyjudge.second.read.formats.table import Place, Table, file_place

OTHER = re.compile(
    r"(n_|num_|count|tokens?|cost|price|latency|time|timestamp|date|duration|seconds|length|len|seed|temperature|top_p|"
    r"index|rank|weight|version|page|year|created|updated|words|chars)",
    re.IGNORECASE,
)
"""Names of numbers that are no scores."""
ONLY = "unnamed"
"""The language of a table that names none."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user said about a table."""

    names: Mapping[str, str | None] = field(default_factory=dict)
    """Role -> column or dotted path; "" says that there is none."""
    language_from: str | None = None
    judge_from: str | None = None
    wide: str | None = None
    """Pattern of the names of score columns."""
    map: Any = None
    decimal: Any = None
    swapped: str | None = None
    """For winners: "flip" or "keep" the rows marked as swapped."""
    format: str | None = None
    metric: str | None = None
    """The one to read of several."""
    table: str | None = None
    languages: Sequence[str] | None = None
    judges: Sequence[str] | None = None
    """Those that are read. The only one of its kind is that of all rows, where no column says it."""
    require_task: bool = True
    """Whether rows must say their task: a calibrated score needs its language and judge alone."""

    @classmethod
    def of(cls, said: Mapping[str, Any], **more: Any) -> Asked:
        """What arguments of `read_panel` say; others are passed over."""
        names = {role: said.get(role) for role in (*ROLES, "winner")}
        names["language"] = said.get("by") or names["language"]
        return cls(names=names, **{f.name: said[f.name] for f in fields(cls) if f.name in said}, **more)


@dataclass
class Roles:
    """What was found: role -> place and how, and the questions that are left."""

    found: dict[str, tuple[Place, How]] = field(default_factory=dict)
    several: dict[str, list[str]] = field(default_factory=dict)
    """Roles that several columns could play."""
    doubts: list[Say] = field(default_factory=list)
    patterns: dict[str, str] = field(default_factory=dict)
    """Role -> pattern of the name in which it stands."""

    def taken(self) -> set[str]:
        """Columns and paths that have a role."""
        return {place.text for place, _ in self.found.values()}


def find_roles(table: Table, asked: Asked) -> Roles:
    """The roles by what the user said, then by usual names, nested names, contents and file names."""
    roles = Roles()
    absent = set()
    for role, text in asked.names.items():
        if text == "":
            absent.add(role)
        elif text is not None and role in ROLES:
            roles.found[role] = (table.place(text, role), "named")
    for role, pattern in (("language", asked.language_from), ("judge", asked.judge_from)):
        if pattern is not None:
            if role in roles.found:
                raise UsageError(f"--{role} and --{role}-from both say where the {role} stands. Give one of them.")
            roles.found[role] = (from_pattern(table, role, pattern), "pattern" if "{" in pattern else "named")
            roles.patterns[role] = pattern
    for role, other in product(("language", "judge", "task"), ("judge", "language")):
        if f"{{{role}}}" in roles.patterns.get(other, "") and role not in roles.found:
            roles.patterns[role] = roles.patterns[other]
            roles.found[role] = (from_pattern(table, role, roles.patterns[other]), "pattern")
    nested = {n for n in table.names if any(isinstance(v, (dict, list)) for v in table.values(n)[:20])}
    flat = [n for n in table.names if n not in nested or table.holds_lists(n)]
    for role in USUAL:
        if role not in roles.found and role not in absent:
            _by_usual_name(table, roles, role, flat)
    if "language" not in roles.found and "language" not in roles.several:
        _find_language(table, roles)
    if "language" not in roles.found and "task" in roles.found and asked.names.get("task") is None:
        _find_language_in_task(table, roles)
    places: dict[Place, str] = {}
    for role, (place, _) in roles.found.items():
        if place in places:
            raise PanelError(f"Column {place.text!r} cannot be both {places[place]} and {role}.")
        places[place] = role
    return roles


def _by_usual_name(table: Table, roles: Roles, role: str, flat: list[str]) -> None:
    """The column of a usual name, else the nested field of one; several are noted."""
    hits = usual_columns(role, flat, roles.taken())
    how: How = "usual name"
    if not hits:
        ends = {leaf: leaf.rsplit(".", 1)[1].strip().lower() for leaf in table.leaves if leaf not in roles.taken()}
        hits = [leaf for leaf, end in ends.items() if end in USUAL[role] and end not in GENERIC]
        how = "nested"
    if len(hits) == 1:
        roles.found[role] = (table.place(hits[0]), how)
    elif hits:
        roles.several[role] = hits


def _find_language(table: Table, roles: Roles) -> None:
    """A column that holds nothing but languages, or a part of the files' names that does."""
    free = [n for n in [*table.names, *table.leaves] if n not in roles.taken()]
    holding = [n for n in free if len(d := table.distinct(n)) > 1 and all_languages(d)]
    if len(holding) == 1:
        roles.found["language"] = (table.place(holding[0]), "content")
    elif holding:
        roles.several["language"] = holding
    else:
        names = [path.name for path in table.source.files]
        around = part_of(names) or part_of([path.parent.name for path in table.source.files])
        if around is not None:
            front, back = (re.escape(part) for part in around)
            inside, shown = ("", "") if part_of(names) else ("/[^/]*", "/*")
            roles.found["language"] = (file_place(f"(?:^|/){front}([^/]+?){back}{inside}$"), "file name")
            roles.patterns["language"] = f"{around[0]}{{language}}{around[1]}{shown}"
        elif "judge" not in roles.found and (grid := guess_spread(names, need_language=True, need_judge=True)):
            rule = compile_pattern(grid.pattern)
            if all((m := rule.fullmatch(n)) and m.groupdict() == grid.labels[n] for n in names):
                for role in ("language", "judge"):
                    roles.found[role] = (from_pattern(table, role, grid.pattern), "file name")
                    roles.patterns[role] = grid.pattern


def _find_language_in_task(table: Table, roles: Roles) -> None:
    """task12_fr: the language is a part of the task's name."""
    column = roles.found["task"][0].text
    pattern = task_and_language(table.distinct(column))
    if pattern is not None:
        for role in ("language", "task"):
            roles.patterns[role] = f"{column}:{pattern}"
            roles.found[role] = (from_pattern(table, role, roles.patterns[role]), "pattern")
        roles.doubts.append(Say("read.language_in_name", {"column": column, "pattern": pattern}))


def from_pattern(table: Table, role: str, text: str) -> Place:
    """`--language-from`: a path, a pattern on the file's name, or COLUMN:PATTERN on a column."""
    if "{" not in text:
        return table.place(text, f"{role}-from")
    column = re.match(r"([^:{}]+):(.*\{.*)", text, re.DOTALL)
    pattern = column[2] if column else text
    regex = compile_pattern(pattern, ("language", "judge", "task"), path=column is None).pattern
    if f"?P<{role}>" not in regex:
        raise UsageError(f"--{role}-from {clean(text)} does not say where the {role} stands: write {{{role}}} there.")
    regex = re.sub(r"\?P<\w+>", "?:", regex.replace(f"?P<{role}>", ""))
    if column:
        place = table.place(column[1], f"{role}-from")
        return Place(place.column, place.path, f"^{regex}$")
    if not table.source.files:
        raise UsageError(
            f"--{role}-from {clean(text)} speaks of file names, and these scores are in no file. Name a column first: "
            f"COLUMN:{clean(pattern)}."
        )
    place = file_place(f"(?:^|/){regex}$")
    name = str(table.source.files[0])
    if not re.search(place.regex, name):
        raise UsageError(f"{clean(name, 200)} does not fit the pattern {clean(pattern)!r} of --{role}-from.")
    return place


def candidates(table: Table, roles: Roles, role: str, most: int = 4) -> list[str]:
    """Columns that could play a missing role, by what they hold."""
    out = []
    free = [n for n in [*table.names, *table.leaves] if n not in roles.taken()]
    for n in free:
        values = table.values(n)
        if not values or any(isinstance(v, (dict, list)) for v in values) or table.is_row_number(n):
            continue
        texts = table.distinct(n)
        numbers = table.score_like(n)
        fits = {
            "score": numbers and not OTHER.match(n),
            "language": all_languages(texts),
            "judge": 1 < len(texts) <= 50 and not (numbers or all_languages(texts)) and _of_many(table, roles, n),
            "task": len(texts) > 1 and (len(texts) > 20 or len(texts) >= len(values) / 20) and "." not in texts[0][:8],
        }
        if fits.get(role):
            out.append(n)
    return sorted(out, key=lambda n: -len(table.distinct(n)) if role == "task" else 0)[:most]


def only_one(table: Table, roles: Roles, asked: Asked, role: str) -> Place | None:
    """The one language or judge of all rows where no column says it: as the user says, or, for the language, where no
    other column could be what judges are compared by."""
    said = {"language": asked.languages, "judge": asked.judges}.get(role)
    if said is not None:
        return Place("", label=str(said[0])) if len(said) == 1 else None
    if role != "language" or asked.names.get(role) is not None or len(table.source.files) > 1 or table.leaves:
        return None
    if "task" not in roles.found or conditions(table, roles):
        return None
    tasks = roles.found["task"][0]
    if tasks.plain and in_two_parts(table.distinct(tasks.text)):
        return None
    return Place("", label=ONLY)


def conditions(table: Table, roles: Roles, most: int = 50) -> list[str]:
    """Free columns that judges could be compared by: a few words that go with several tasks each."""
    free = [n for n in table.names if n not in roles.taken() and 1 < len(table.distinct(n)) <= most]
    free = [n for n in free if not (OTHER.match(n) or table.score_like(n) or table.is_row_number(n))]
    return [n for n in free if "task" in roles.found and _of_many(table, roles, n)]


def _of_many(table: Table, roles: Roles, column: str) -> bool:
    """Whether what a column holds goes with several tasks, as judges do; the text of a question goes with one."""
    task = roles.found["task"][0].column if "task" in roles.found else ""
    if not {task, column} <= table.columns.keys():
        return True
    tasks: dict[str, set[str]] = {}
    for label, one in zip(table.columns[column], table.columns[task], strict=True):
        tasks.setdefault(str(label), set()).add(str(one))
    return max(map(len, tasks.values())) > 1 or len(set(map(str, table.columns[task]))) == 1
