"""Verdicts on pairs of systems become a panel that keeps them (METHODS 37).

A source of pairs has a way of its own: its columns are found in `pair_columns.py`, its words are read in
`pair_words.py`. Here verdicts become rows, people are told from judges, and what tells rows of one pair apart is kept
apart. Scores of the panel are the shares that systems won.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, plural, shell
from polyjudge.panel import Panel
from polyjudge.read import columns as col
from polyjudge.read.columns import Asked
from polyjudge.read.pair_columns import PairColumns, VerdictColumn, find_pair_columns
from polyjudge.read.pair_words import Question, is_marked, read_one_hot, read_verdicts
from polyjudge.read.rows import MOST_TASKS, UNITS
from polyjudge.read.scale import failed_sql
from polyjudge.read.table import Table, ident, label_sql, open_frame, open_table, quote
from polyjudge.read.texts import SourceTexts
from polyjudge.read.work import Reading
from polyjudge.verdicts import PEOPLE_NAME, UNNAMED_JUDGE, Verdicts

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
ANSWER_NAMES = ("first answer", "second answer")
"""What systems are called where no column names them."""
ANYBODY = "*"
MANY_VOTERS = 5
"""So many judges called expert_1, expert_2, ... look like people."""
PARTS = (
    "turn",
    "round",
    "criterion",
    "criteria",
    "aspect",
    "dimension",
    "metric",
    "category",
    "subset",
    "part",
    "prompt_name",
)
"""Columns that usually tell verdicts on one pair apart."""
LONG_TEXTS = "prompt|judgment|judgement|completion|conversation|output|response|text"
LETTERS = "(model|system|assistant|response|answer)?(a|b|1|2)|first|second|left|right|a>b|b>a|a>>b|b>>a"
"""Verdicts by place, without spaces and brackets."""
NOTHING_TO_WRITE = (
    "Verdicts on pairs have no scores, so no calibrated ones can be written. Without -o, `polyjudge calibrate` shows "
    "how language changes each judge's picks, and --save keeps that for `polyjudge drift`."
)
CANONICAL = {"first", "second", "won"}
"""Columns that readers of tools make: shares of the win, with place (1, -1, 0) and people (true, false)."""
SWAPPED = frozenset(
    ["true", "yes", "t", "1", "swapped", "swap", "flipped", "reversed", "reverse", "ba", "b_first", "second", "21", "b"]
)
AS_NAMED = frozenset(["false", "no", "f", "0", "original", "normal", "forward", "ab", "a_first", "first", "12", "a"])
"""What a column says of the order: the second system was shown first, or the first was."""


def read_pairs(table: Table, asked: Asked, source: Any, votes: Any = None) -> Reading | None:
    """The panel of a source of pairs, with people's votes of another; None where it holds none."""
    if table.tool and set(table.columns) >= CANONICAL:
        pairs, rows = None, _fetch_canonical(table)
    else:
        pairs = find_pair_columns(table, asked)
        if pairs is None:
            _refuse_pair_options(asked)
            return None
        rows = _fetch_rows(table, pairs, asked)
    rows, failed = _without_failed(table, rows)
    rows = _tell_people(table, rows, asked)
    rows = _keep_asked(table, _one_spelling(table, rows), asked)
    panel = make_pair_panel(rows, table, asked)
    texts = _texts(table, pairs, source, asked)
    is_named = isinstance(source, (str, Path))
    shown = str(source) if is_named else ""
    words = _declare_roles(pairs, asked) if pairs else {}
    panel = replace(panel, source=shown, read=asked.words(), texts=texts, notes=tuple(table.notes), roles=words)
    if votes is not None:
        panel = read_votes(votes, panel)
    roles = _roles_in_words(pairs) if pairs else {"score": "won"}
    used = pairs.used if pairs else set(table.columns)
    levels = np.unique(rows["won"].to_numpy(dtype=float))
    return Reading(panel, roles, tuple(c for c in table.columns if c not in used), levels, failed, table.tool)


def holds_pairs(table: Table, asked: Asked) -> bool:
    """Whether a source holds verdicts on pairs."""
    if table.tool and set(table.columns) >= CANONICAL:
        return True
    return find_pair_columns(table, asked) is not None


def _refuse_pair_options(asked: Asked) -> None:
    """Options about verdicts are for pairs."""
    for option in ("verdict", "favours"):
        if getattr(asked, option):
            raise UsageError(f"--{option} is about verdicts on two systems, and these are scores.")


# --- rows ---


def _fetch_canonical(table: Table) -> pd.DataFrame:
    """The rows of a tool's reader."""
    import pandas as pd

    listed = {column: f"CAST({sql} AS VARCHAR)" for column, (sql, _) in table.columns.items()}
    parts = ", ".join(f'{sql} AS "{column}"' for column, sql in listed.items())
    found = table.arrays(f"SELECT {parts} FROM {table.relation}")
    frame = pd.DataFrame({column: _plain(values) for column, values in found.items()})
    frame["won"] = pd.to_numeric(frame["won"], errors="coerce")
    frame["place"] = pd.to_numeric(frame["place"]).fillna(0) if "place" in frame else 0.0
    frame["people"] = frame["people"].str.lower().eq("true") if "people" in frame else False
    for axis, default in (("language", ""), ("judge", UNNAMED_JUDGE), ("task", "")):
        frame[axis] = frame[axis].fillna(default) if axis in frame else default
    if "turn" in frame:
        frame["part:turn"] = frame["turn"].fillna("")
    return frame


def _plain(values: Any) -> Any:
    """A column that came from the engine: what is missing is None."""
    if np.ma.isMaskedArray(values):
        plain = np.ma.getdata(values).astype(object)
        plain[np.ma.getmaskarray(values)] = None
        return plain
    return values


def _fetch_rows(table: Table, pairs: PairColumns, asked: Asked) -> pd.DataFrame:
    """One row a verdict: task, language, judge, first, second, won, place, people; and what may tell rows apart."""
    import pandas as pd

    wide = _fetch_strings(table, pairs)
    common = _common_columns(table, wide, pairs)
    parts: list[pd.DataFrame] = []
    if pairs.one_hot:
        won = read_one_hot([wide[column] for column in pairs.one_hot], table.where)
        parts.append(common.assign(won=won, place=_find_place(wide, pairs, common)))
    if pairs.first_wins:
        ties = is_marked(wide[pairs.ties]) if pairs.ties else np.zeros(len(wide), dtype=bool)
        parts.append(common.assign(won=np.where(ties, 0.5, 1.0), place=_find_place(wide, pairs, common)))
    if pairs.ratings:
        one, other = (pd.to_numeric(wide[column], errors="coerce") for column in pairs.ratings)
        won = np.asarray(0.5 + np.sign(one - other) / 2, dtype=float)
        parts.append(common.assign(won=won, place=_find_place(wide, pairs, common)))
    for verdict in pairs.verdicts:
        parts.append(_read_column(table, wide, common, pairs, verdict, asked))
    return pd.concat(parts, ignore_index=True)


def _fetch_strings(table: Table, pairs: PairColumns) -> pd.DataFrame:
    """All columns that may be needed, as they are written; of texts none."""
    import pandas as pd

    texts = {*pairs.texts.values(), *pairs.answers, *pairs.errors}
    needed = {pairs.first, pairs.second, pairs.ties, pairs.order, *pairs.one_hot, *pairs.ratings}
    needed |= {*pairs.roles.values()}
    needed |= {verdict.column for verdict in pairs.verdicts}
    free = {column for column in table.columns if column not in texts and not _is_long_text(column)}
    wanted = [column for column in table.columns if column in needed | free]
    parts = []
    for column in wanted:
        sql, kind = table.columns[column]
        parts.append(f'{label_sql(sql, kind)} AS "{column.replace(chr(34), chr(34) * 2)}"')
    found = table.arrays(f"SELECT {', '.join(parts)} FROM {table.relation}")
    frame = pd.DataFrame(dict(zip(wanted, map(_plain, found.values()), strict=True)))
    failed = np.zeros(len(frame), dtype=bool)
    for column in pairs.errors:
        sql, kind = table.columns[column]
        values = [
            str(x) for (x,) in table.rows(f"SELECT DISTINCT lower(trim(CAST({sql} AS VARCHAR))) FROM {table.relation}")
        ]
        test = failed_sql(column, kind, values)
        if test:
            raw = f"(SELECT {sql} AS {ident(column)} FROM {table.relation}) AS raw"
            rows = table.arrays(f"SELECT coalesce({test}, false) AS failed FROM {raw}")
            failed |= np.asarray(_plain(rows["failed"]), dtype=bool)
    return frame.assign(**{"polyjudge failed": failed})


def _is_long_text(column: str) -> bool:
    return bool(
        re.search(r"(^|_)(prompt|judgment|judgement|completion|conversation|output|response|text)s?$", col.norm(column))
    )


def _common_columns(table: Table, wide: pd.DataFrame, pairs: PairColumns) -> pd.DataFrame:
    """What all verdicts of a row share."""
    import pandas as pd

    n = len(wide)
    frame = pd.DataFrame({"task": [f"row {i + 1}" for i in range(n)]})
    for axis, default in (("task", None), ("language", ""), ("judge", UNNAMED_JUDGE), ("cluster", None)):
        column = pairs.roles.get(axis)
        if column is not None:
            _refuse_empty(table, wide[column], axis, column)
            frame[axis] = wide[column].to_numpy()
        elif default is not None:
            frame[axis] = default
    for side, column, unnamed in (("first", pairs.first, ANSWER_NAMES[0]), ("second", pairs.second, ANSWER_NAMES[1])):
        if column:
            _refuse_empty(table, wide[column], side, column)
        frame[side] = wide[column].to_numpy() if column else unnamed
    for column in wide.columns:
        if column not in pairs.used and column != "polyjudge failed":
            frame[f"part:{column}"] = wide[column].to_numpy()
    if pairs.roles.get("replicate") in wide:
        frame["replicate"] = wide[pairs.roles["replicate"]].to_numpy()
    return frame.assign(people=False, failed=wide["polyjudge failed"].to_numpy())


def _refuse_empty(table: Table, values: pd.Series, axis: str, column: str) -> None:
    if values.isna().any():
        raise PanelError(
            f"Some verdicts in {table.where} have nothing in {name(column)}. Fill it, or delete those rows."
        )


def _read_column(
    table: Table, wide: pd.DataFrame, common: pd.DataFrame, pairs: PairColumns, verdict: VerdictColumn, asked: Asked
) -> pd.DataFrame:
    """The verdicts of one column."""
    question = Question(
        where=table.where,
        column=verdict.column,
        favours=asked.favours or "",
        meanings=None if verdict.is_people else pairs.meanings,
        has_names=bool(pairs.first),
        drop=frozenset(word.strip().lower() for word in asked.drop),
    )
    written = wide[verdict.column]
    if pairs.ties and not verdict.is_people:
        written = written.mask(is_marked(wide[pairs.ties]), "tie")
    won = read_verdicts(written, common["first"], common["second"], question)
    rows = common.assign(won=won, people=verdict.is_people)
    if verdict.is_people:
        return rows.assign(judge=verdict.column, place=0.0)
    if verdict.judge:
        rows = rows.assign(judge=verdict.judge)
    if verdict.game:
        return rows.assign(place=1.0 if verdict.game == 1 else -1.0)
    # A verdict of two orders in one has no place.
    is_joint = written.fillna("").str.contains("inconsistent", case=False).any()
    place = np.zeros(len(rows)) if is_joint else _find_place(wide, pairs, rows)
    is_swapped = _read_swaps(wide, pairs.order) if pairs.order else None
    rows = rows.assign(place=place)
    if is_swapped is not None and (place > 0).all():
        return _keep_first_order(table, rows, written, is_swapped, pairs.order)
    return _turn_back(table, rows, written, pairs)


# --- the order in which answers were shown ---


def _find_place(wide: pd.DataFrame, pairs: PairColumns, rows: pd.DataFrame) -> Array:
    """1 where the first of the row was shown first, -1 where second."""
    unsaid = np.ones(len(wide)) if pairs.knows_places else np.zeros(len(wide))
    if not pairs.order:
        return unsaid
    is_swapped = _read_swaps(wide, pairs.order)
    if is_swapped is not None:
        return np.ones(len(wide)) if _names_are_exchanged(rows, is_swapped) else np.where(is_swapped, -1.0, 1.0)
    written = wide[pairs.order].fillna("").str.strip()
    if written.isin(set(rows["first"]) | set(rows["second"])).all():
        return np.where((written == rows["first"]).to_numpy(), 1.0, -1.0)
    return unsaid


def _read_swaps(wide: pd.DataFrame, order: str) -> NDArray[np.bool_] | None:
    """Which rows were asked in the other order; None where the column of the order says something else."""
    low = wide[order].fillna("").str.strip().str.lower().str.replace(r"[\s\-]", "_", regex=True)
    plain = low.str.replace(r"[.]0+$", "", regex=True)
    if set(plain) == {"1", "2"}:
        return np.asarray(plain == "2")
    if plain.nunique() == 2 and plain.isin(SWAPPED | AS_NAMED).all():
        return np.asarray(plain.isin(SWAPPED))
    return None


def _names_are_exchanged(rows: pd.DataFrame, is_swapped: NDArray[np.bool_]) -> bool:
    """Whether swapped rows name the two systems in the other order, so that their columns are the places."""
    seen = rows.assign(swapped=is_swapped).groupby(["task", "first", "second"], sort=False)["swapped"]
    return bool(seen.nunique().max() == 1 and is_swapped.any() and not is_swapped.all() and _both_orders(rows))


def _both_orders(rows: pd.DataFrame) -> bool:
    """Whether some pair of a task is named in both orders."""
    forward = set(zip(rows["task"], rows["first"], rows["second"], strict=True))
    return any((task, second, first) in forward for task, first, second in forward)


def _turn_back(table: Table, rows: pd.DataFrame, written: pd.Series, pairs: PairColumns) -> pd.DataFrame:
    """Verdicts by place in swapped rows: whether they were turned back is told by how often the judge agrees with
    itself."""
    is_swapped = (rows["place"] < 0).to_numpy()
    if not is_swapped.any():
        return rows
    words = written.fillna("").str.lower().str.replace(r"[\s_\[\]]", "", regex=True)
    is_letter = words.str.fullmatch(LETTERS)
    if not is_letter[is_swapped].any() or not pairs.first:
        return rows
    keys = ["task", "language", "judge", "first", "second"]
    per = (
        rows.assign(swapped=is_swapped)
        .groupby([*keys, "swapped"], sort=False)["won"]
        .mean()
        .unstack("swapped")
        .dropna()
    )
    picks = per[(per[False] != 0.5) & (per[True] != 0.5)]
    if len(picks) < 5:
        return rows
    same = float(((picks[False] > 0.5) == (picks[True] > 0.5)).mean())
    if same >= 0.5:
        return rows
    table.notes.append(
        f"In swapped rows ({name(pairs.order)}) the verdict is read as the place that was shown: so the judge picks "
        f"the same system in {100 * (1 - same):.0f}% of pairs, else in {100 * same:.0f}%."
    )
    return rows.assign(won=np.where(is_swapped, 1 - rows["won"], rows["won"]))


def _keep_first_order(
    table: Table, rows: pd.DataFrame, written: pd.Series, is_swapped: NDArray[np.bool_], order: str
) -> pd.DataFrame:
    """Where swapped rows exchange the names: their verdicts may still be those of the first order.

    A judge that goes by the place contradicts itself too, but always in favour of one place. Contradictions in favour
    of either place, in more than half of the pairs, are the work of whoever wrote the file.
    """
    words = written.fillna("").str.lower().str.replace(r"[\s_\[\]]", "", regex=True)
    if not words.str.fullmatch(LETTERS).any():
        return rows
    low = rows["first"].where(rows["first"] < rows["second"], rows["second"])
    won_by_place = rows.assign(low=low, swapped=is_swapped).groupby(
        ["task", "language", "judge", "low", "swapped"], sort=False
    )["won"]
    per = won_by_place.mean().unstack("swapped").dropna()
    picks = per[(per[False] != 0.5) & (per[True] != 0.5)]
    contradicts = (picks[False] > 0.5) == (picks[True] > 0.5)
    for_first = int((picks.loc[contradicts, False] > 0.5).sum())
    fewer = min(for_first, int(contradicts.sum()) - for_first)
    if len(picks) < 10 or contradicts.mean() <= 0.5 or fewer < 0.2 * contradicts.sum():
        return rows
    table.notes.append(
        f"Swapped rows ({name(order)}) exchange the names, and their verdict is read as that of the first order: "
        f"so the judge picks the same system in {100 * contradicts.mean():.0f}% of pairs, else in "
        f"{100 - 100 * contradicts.mean():.0f}%."
    )
    return rows.assign(won=np.where(is_swapped, 1 - rows["won"], rows["won"]))


# --- judges and people ---


def _without_failed(table: Table, rows: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Only rows with a verdict on two systems; how many said that they failed."""
    failed = int(rows["failed"].sum()) if "failed" in rows else 0
    is_failed = rows["failed"].to_numpy(dtype=bool) if "failed" in rows else np.zeros(len(rows), dtype=bool)
    is_empty = rows["won"].isna().to_numpy()
    lost = int((is_empty | is_failed).sum())
    if lost:
        verb = "is" if lost == 1 else "are"
        table.notes.append(f"{count(lost, 'verdict')} with no winner {verb} missing.")
    rows = rows[~is_empty & ~is_failed & (rows["first"] != rows["second"]).to_numpy()].reset_index(drop=True)
    if rows.empty:
        raise PanelError(f"{table.where} holds no verdict on two systems.")
    return rows, failed


def _tell_people(table: Table, rows: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Which judges are people: as the user says, or called so; many voters with few votes each are asked about."""
    judges = [str(judge) for judge in rows.loc[~rows["people"], "judge"].unique()]
    is_people = rows["people"] | rows["judge"].isin(_judges_who_are_people(table, rows, judges, asked))
    if not is_people.all():
        return rows.assign(people=is_people)
    if asked.human_judges == (ANYBODY,):  # votes for another panel keep their voters
        return rows.assign(people=False)
    table.notes.append("All verdicts are votes of people: systems are ranked by them.")
    return rows.assign(people=False, judge=PEOPLE_NAME)


def _judges_who_are_people(table: Table, rows: pd.DataFrame, judges: Sequence[str], asked: Asked) -> list[str]:
    """The judges whose verdicts are votes."""
    patterns = [pattern for pattern in asked.human_judges or () if pattern != "none"]
    chosen = [judge for judge in judges if any(fnmatchcase(judge, pattern) for pattern in patterns)]
    if patterns and judges and not chosen:
        raise UsageError(f"No judge is called {names(patterns)} (--human-judges). The judges: {names(judges, 12)}.")
    if asked.human in judges:
        return [*chosen, asked.human]
    if patterns or asked.human:
        return chosen
    _ask_about_voters(table, rows, judges, asked)
    return [judge for judge in judges if re.fullmatch(r"(?i)humans?|people", judge)]


def _ask_about_voters(table: Table, rows: pd.DataFrame, judges: Sequence[str], asked: Asked) -> None:
    """Many judges with numbered names and few verdicts each may be people."""
    if asked.human_judges or asked.judges:
        return
    patterns: dict[str, list[str]] = {}
    for judge in judges:
        patterns.setdefault(re.sub(r"\d+$", "*", judge), []).append(judge)
    numbered = {
        pattern: group for pattern, group in patterns.items() if pattern.endswith("*") and len(group) >= MANY_VOTERS
    }
    voters = [judge for group in numbered.values() for judge in group]
    if len(voters) < MANY_VOTERS:
        return
    times = rows[rows["judge"].isin(voters)].groupby("judge").size()
    if times.median() > 0.5 * len(rows) / max(len(judges) - len(voters), 1):
        return
    others = [judge for judge in judges if judge not in voters]
    mend = f"if they are people: --human-judges {shell(','.join(numbered))}"
    other = f"--judges {shell(','.join(others))}" if others else "--human-judges none"
    raise PanelError(
        f"{table.where} has {len(voters)} judges with few verdicts each ({names(voters, 3)}): {mend}; to read it "
        f"otherwise: {other}."
    )


def _one_spelling(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Two spellings of a system, judge or language are one, where no pair has both."""
    changes: dict[str, dict[str, str]] = {}
    for axis, listed in (("system", ("first", "second")), ("judge", ("judge",)), ("language", ("language",))):
        times = rows[listed[0]].value_counts().add(rows[listed[-1]].value_counts(), fill_value=0)
        same = col.spellings(axis, list(map(str, times.index)), times.astype(int).tolist())
        if not same:
            continue
        met = set(zip(rows["first"], rows["second"], strict=True)) if axis == "system" else set()
        same = {x: kept for x, kept in same.items() if (x, kept) not in met and (kept, x) not in met}
        if not same:
            continue
        other, kept = next(iter(same.items()))
        more = f", and {len(same) - 1:,} more alike" if len(same) > 1 else ""
        table.notes.append(f"The {axis}s {name(other)} and {name(kept)} are read as one{more}.")
        changes |= {column: same for column in listed}
    return rows.replace(changes) if changes else rows


def _keep_asked(table: Table, rows: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Only the systems, judges and languages that were asked for."""
    for axis, wanted in (("language", asked.languages), ("judge", asked.judges), ("system", asked.systems)):
        if not wanted:
            continue
        listed = ("first", "second") if axis == "system" else (axis,)
        have = sorted({str(x) for column in listed for x in rows.loc[~rows["people"], column].unique()})
        odd = [x for x in wanted if x not in have]
        if odd:
            raise UsageError(f"There is no {axis} {name(odd[0])} in {table.where}. It has: {names(have, 12)}.")
        is_kept = np.logical_and.reduce([rows[column].isin(wanted) for column in listed])
        rows = rows[is_kept | (rows["people"].to_numpy() if axis == "judge" else False)].reset_index(drop=True)
        if rows.empty or rows["people"].all():
            raise PanelError(f"No verdict in {table.where} is left.")
    return rows


# --- what tells verdicts on one pair apart ---


def _find_part(rows: pd.DataFrame) -> str:
    """The column that tells verdicts of one judge on one pair in one order apart; "" where there are no such."""
    keys = rows[["task", "language", "judge"]].copy()
    is_turned = (rows["first"] > rows["second"]).to_numpy()
    keys["a"] = rows["first"].where(~is_turned, rows["second"])
    keys["b"] = rows["second"].where(~is_turned, rows["first"])
    keys["shown"] = rows["place"].to_numpy() * np.where(is_turned, -1, 1)
    is_double = keys.duplicated(keep=False)
    if not is_double.any():
        return ""
    doubles = keys[is_double]
    candidates = [column for column in rows.columns if column.startswith("part:")]
    candidates.sort(key=lambda column: _part_rank(column))
    most = max(200.0, len(rows) ** 0.5)
    for column in candidates:
        values = rows.loc[is_double, column]
        usual = _part_rank(column) < len(PARTS)
        if values.isna().any() or not 1 < values.nunique() <= most:
            continue
        again = doubles.assign(part=values).duplicated().sum()
        if again == 0 or (usual and again < 0.5 * len(doubles)):
            return column
    return ""


def _note_repeats(table: Table, rows: pd.DataFrame, column: str) -> None:
    """Say how many verdicts are another one of the same judge on the same answers in the same order."""
    keys = ["task", "language", "judge", "first", "second", "place", "people", *([column] if column else [])]
    repeated = int(rows.loc[rows["judge"] != PEOPLE_NAME, keys].duplicated().sum())
    if repeated:
        verb = "is" if repeated == 1 else "are"
        table.notes.append(
            f"{count(repeated, 'verdict')} {verb} another one of the same judge on the same answers: each counts."
        )


def _part_rank(column: str) -> int:
    called = col.norm(column.removeprefix("part:"))
    return PARTS.index(called) if called in PARTS else len(PARTS)


# --- the panel ---


@dataclass(frozen=True)
class _Axes:
    """Names of a panel, and where each verdict belongs."""

    tasks: tuple[str, ...]
    task: Codes
    unit: Codes
    weight: Array
    parts: tuple[str, ...]
    part: Codes
    part_noun: str
    is_clustered: bool


def make_pair_panel(rows: pd.DataFrame, table: Table, asked: Asked) -> Panel:
    """The panel of rows of verdicts, of judges and of people."""
    axes = _make_axes(rows, table)
    judged = ~rows["people"].to_numpy(dtype=bool)
    systems = _sorted_labels([*rows["first"].unique(), *rows["second"].unique()])
    languages = _sorted_labels(rows["language"].unique())
    judges = _sorted_labels(rows.loc[judged, "judge"].unique())
    whole = _number_rows(rows, axes, systems, languages)
    verdicts = _by(whole, rows, judged, judges)
    if not judged.all():
        voters = _sorted_labels(rows.loc[~judged, "judge"].unique())
        verdicts = replace(verdicts, people=replace(_by(whole, rows, ~judged, voters), voters=voters))
    shape = (len(axes.tasks), len(systems), len(languages), len(judges))
    limits.require(24.0 * float(np.prod(np.array(shape, dtype=float))), table.where)
    noun = col.norm(asked.by).replace("_", " ") if asked.by else "language"
    return Panel(
        scores=verdicts.shares(shape),
        tasks=axes.tasks,
        systems=systems,
        languages=languages,
        judges=judges,
        scale=(0.0, 1.0),
        unit=axes.unit,
        weight=axes.weight,
        noun=noun,
        order=verdicts.order_frame(axes.tasks, systems, languages, judges),
        pairs=verdicts,
        in_percent=True,
        clustered=axes.is_clustered,
    )


def _sorted_labels(labels: Any) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(map(str, labels)), key=col.natural))


def _make_axes(rows: pd.DataFrame, table: Table) -> _Axes:
    """Tasks, told apart by what tells verdicts on one pair apart; the task is then the unit."""
    import pandas as pd

    column = _find_part(rows)
    _note_repeats(table, rows, column)
    part_noun = col.norm(column.removeprefix("part:")).replace("_", " ")
    own, task_names = pd.factorize(rows["task"].astype(str))
    parts: tuple[str, ...] = ()
    part = np.zeros(len(rows), dtype=np.int64)
    labels = np.array([str(label) for label in task_names], dtype=object)[own]
    if column:
        parts = _sorted_labels(rows[column].fillna("").unique())
        part = pd.Index(parts).get_indexer(pd.Index(rows[column].fillna("")))
        own_part = [f" ({part_noun} {x})" if x else "" for x in parts]
        labels = np.array([f"{task}{own_part[p]}" for task, p in zip(labels, part, strict=True)], dtype=object)
        shown = names([f"{x}: {int((part == p).sum()):,}" for p, x in enumerate(parts) if x], 6)
        told = name(column.removeprefix("part:"))
        table.notes.append(f"{told} tells verdicts on one pair apart: each is counted by itself ({shown}).")
    code, distinct = pd.factorize(labels)
    cluster = rows["cluster"].to_numpy() if "cluster" in rows else own if column else None
    if len(distinct) > MOST_TASKS:
        return _fold_axes(code, len(distinct), cluster, parts, part, part_noun)
    listed = [str(label) for label in distinct]
    order = _order_of(listed)
    task = np.argsort(order)[code]
    tasks = tuple(listed[i] for i in order)
    unit = np.arange(len(tasks))
    if cluster is not None:
        unit[task] = pd.factorize(cluster)[0]
    is_clustered = cluster is not None and len(np.unique(unit)) < len(tasks)
    weight = np.ones(len(tasks))
    return _Axes(tasks, task, unit, weight, parts, part, part_noun, is_clustered)


def _order_of(labels: list[str]) -> Codes:
    """The natural order of labels; of very many by length, which is quick."""
    if len(labels) < 20_000:
        return np.array(sorted(range(len(labels)), key=lambda i: col.natural(labels[i])), dtype=np.int64)
    return np.array(sorted(range(len(labels)), key=lambda i: (len(labels[i]), labels[i])), dtype=np.int64)


def _fold_axes(code: Codes, n_tasks: int, cluster: Any, parts: tuple[str, ...], part: Codes, part_noun: str) -> _Axes:
    """Very many tasks as units of several tasks each; tasks of one cluster are in one unit."""
    import pandas as pd

    group = code if cluster is None else pd.factorize(cluster)[0]
    unit = group % UNITS
    unit_of_task = np.zeros(n_tasks, dtype=np.int64)
    unit_of_task[code] = unit
    listed, task = np.unique(unit, return_inverse=True)
    weight = np.bincount(np.searchsorted(listed, unit_of_task), minlength=len(listed)).astype(float)
    names_of = tuple(f"unit {i}" for i in listed)
    return _Axes(names_of, task, np.arange(len(listed)), weight, parts, part, part_noun, cluster is not None)


def _number_rows(
    rows: pd.DataFrame, axes: _Axes, systems: Sequence[str], languages: Sequence[str]
) -> Mapping[str, Any]:
    import pandas as pd

    return {
        "task": axes.task,
        "first": pd.Index(systems).get_indexer(pd.Index(rows["first"].astype(str))),
        "second": pd.Index(systems).get_indexer(pd.Index(rows["second"].astype(str))),
        "language": pd.Index(languages).get_indexer(pd.Index(rows["language"].astype(str))),
        "won": rows["won"].to_numpy(dtype=float),
        "place": rows["place"].to_numpy(dtype=float),
        "part": axes.part,
        "parts": axes.parts,
        "part_noun": axes.part_noun,
    }


def _by(whole: Mapping[str, Any], rows: pd.DataFrame, chosen: NDArray[np.bool_], judges: Sequence[str]) -> Verdicts:
    """The verdicts of these judges."""
    import pandas as pd

    judge = pd.Index(judges).get_indexer(pd.Index(rows["judge"].astype(str)))
    return Verdicts(judge=judge, **whole).take(np.flatnonzero(chosen))


def _roles_in_words(pairs: PairColumns) -> dict[str, str]:
    """Role -> column, as `check` shows it."""
    judged = [verdict.column for verdict in pairs.verdicts if not verdict.is_people] or list(
        filter(None, (*pairs.one_hot, *pairs.ratings))
    )
    people = [verdict.column for verdict in pairs.verdicts if verdict.is_people]
    said = dict(pairs.roles)
    if pairs.first:
        said["system"] = f"{pairs.first}, {pairs.second}"
    said["score"] = pairs.first if pairs.first_wins else names(judged, 6)
    if people:
        said["human"] = names(people, 6)
    return said


def _declare_roles(pairs: PairColumns, asked: Asked) -> dict[str, str]:
    """What was taken for what, where neither the user nor a plain name says it."""
    words: dict[str, str] = {}
    judged = [verdict.column for verdict in pairs.verdicts if not verdict.is_people]
    people = [verdict.column for verdict in pairs.verdicts if verdict.is_people]
    if not asked.verdict and judged and judged != ["winner"]:
        words["verdict"] = names(judged, 4)
    if pairs.first and pairs.first not in ("model_a", "model_1"):
        words["systems"] = names([pairs.first, pairs.second])
    if people and not asked.human:
        words["people"] = names(people, 4)
    return words


def _texts(table: Table, pairs: PairColumns | None, source: Any, asked: Asked) -> SourceTexts | None:
    """Prompts, both answers and reasons of a pair, fetched by reading the source again."""
    pairs = pairs or _canonical_columns(table)
    if pairs.roles.get("task") not in table.columns or not (pairs.texts or pairs.answers):
        return None
    known = {axis: pairs.roles.get(axis, "") for axis in ("task", "language", "judge")}
    columns = {axis: label_sql(*table.columns[x]) for axis, x in known.items() if x in table.columns}
    columns |= {text: _as_text(table, column) for text, column in pairs.texts.items()}
    if len(pairs.answers) == 2:
        columns["response"] = _both_answers(table, pairs)
    is_file = isinstance(source, (str, Path)) and str(source) != "-"
    return SourceTexts(table, columns, str(source) if is_file else "", asked.engine)


def _canonical_columns(table: Table) -> PairColumns:
    """Texts that a tool's reader leaves beside the verdicts."""
    answers = tuple(column for column in ("response_1", "response_2") if column in table.columns)
    texts: dict[str, str] = {text: text for text in ("prompt", "reason") if text in table.columns}
    return PairColumns("first", "second", answers, (), roles={"task": "task", "judge": "judge"}, texts=texts)


def _both_answers(table: Table, pairs: PairColumns) -> str:
    """SQL of both answers of a row, each with its system."""
    sides = []
    for column, answer, unnamed in zip((pairs.first, pairs.second), pairs.answers, ANSWER_NAMES, strict=True):
        system = _as_text(table, column) if column else quote(unnamed)
        sides.append(f"{system} || ': ' || {_as_text(table, answer)}")
    return " || ' / ' || ".join(sides)


def _as_text(table: Table, column: str) -> str:
    return f"CAST({table.columns[column][0]} AS VARCHAR)"


def read_votes(source: Any, panel: Panel) -> Panel:
    """The panel with people's votes from another source of pairs: its judges and its people are the voters."""
    assert panel.pairs is not None
    table = source if isinstance(source, Table) else _open(source)
    asked = Asked(human_judges=(ANYBODY,))
    reading = read_pairs(table, asked, source)
    if reading is None or reading.panel.pairs is None:
        raise PanelError(f"{table.where} holds no votes on pairs of systems.")
    votes = reading.panel
    pairs = votes.pairs
    assert pairs is not None
    moved = {
        axis: _places_in(getattr(votes, plural(axis)), getattr(panel, plural(axis)))
        for axis in ("task", "system", "language")
    }
    numbers: dict[str, Any] = {
        "task": moved["task"][pairs.task],
        "first": moved["system"][pairs.first],
        "second": moved["system"][pairs.second],
        "language": moved["language"][pairs.language],
    }
    if set(panel.systems) == set(ANSWER_NAMES) != set(votes.systems):
        # Nobody named the systems there: the first answer is the first of the two.
        numbers |= {"first": np.zeros(len(pairs), dtype=np.int64), "second": np.ones(len(pairs), dtype=np.int64)}
    is_known = np.min(np.stack(list(numbers.values())), axis=0) >= 0
    if not is_known.any():
        raise PanelError(
            f"No vote in {table.where} is on a task and two systems of the panel: its tasks are "
            f"{names(votes.tasks, 3)}, its systems {names(votes.systems, 4)}."
        )
    people = replace(pairs, voters=votes.judges, **numbers).take(np.flatnonzero(is_known))
    return replace(panel, pairs=replace(panel.pairs, people=people))


def _open(source: Any) -> Table:
    return open_frame(source) if hasattr(source, "iloc") else open_table(source)


def _places_in(labels: Sequence[str], known: Sequence[str]) -> Codes:
    import pandas as pd

    if len(known) == 1 and len(labels) == 1:
        return np.zeros(1, dtype=np.int64)
    return pd.Index(known).get_indexer(pd.Index(labels))
