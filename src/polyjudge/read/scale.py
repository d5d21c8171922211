"""What a score is: text as a number, rows that say they failed, and whether all scores are on one scale."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, shell
from polyjudge.read.table import Table, ident, quote

Array = NDArray[np.float64]
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
           "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "REAL")  # fmt: skip
ABSENT = {
    "na", "n/a", "nan", "null", "none", "nil", "-", "–", "—", "--", "---", ".", "?", "missing", "unknown",
    "not scored", "unscored", "no score", "error", "err", "failed", "failure", "invalid", "refused", "refusal",
    "timeout", "timed out", "parse error", "parse_error", "parsing error", "#n/a", "#value!", "#div/0!", "tbd",
    "n.a.", "<na>", "not available", "skipped", "skip", "abstain", "nat", "[]", "{}",
}  # fmt: skip
"""Words in place of a score."""
_GOOD = {
    "pass", "passed", "yes", "y", "true", "t", "correct", "right", "accept", "accepted", "good", "ok", "success",
    "✓",
}  # fmt: skip
_BAD = {
    "fail", "failed", "no", "n", "false", "f", "incorrect", "wrong", "reject", "rejected", "bad", "✗",
}  # fmt: skip
PASS = {**dict.fromkeys(_GOOD, 1.0), **dict.fromkeys(_BAD, 0.0)}
LOW, HIGH = (-1, -9, -99, -999, -9999, -99999), (99, 999, 9999, 99999, 999999)
"""Numbers that often stand for no score."""


_PATTERN = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


def number_sql(text: str, portable: bool = False) -> str:
    """SQL of a text as a number, NULL where it is none. The engine alone would read 1_10 as 110.

    portable : for other engines than ours
    """
    if portable:
        return f"CASE WHEN regexp_matches({text}, '{_PATTERN}') THEN CAST({text} AS DOUBLE) END"
    number = f"TRY_CAST({text} AS DOUBLE)"
    return f"CASE WHEN isfinite({number}) AND NOT contains({text}, '_') THEN {number} END"


def is_number(kind: str) -> bool:
    """Whether a type of the engine holds single numbers."""
    return kind.startswith(NUMBERS) and "[" not in kind


def score_sql(
    table: Table,
    raw: str,
    columns: Mapping[str, str],
    drop: Sequence[str],
    notes: list[str],
    called: Sequence[str] = (),
) -> dict[str, str]:
    """SQL of each score column as a number, NULL where there is none; what had to be done is noted.

    columns : name -> type; `raw` is the table that holds them
    called : what the columns are called where they are written
    """
    foreign = table.ibis is not None
    dropped = [float(d) for d in drop if _number(d) is not None]
    words = {d.strip().lower() for d in drop if _number(d) is None}
    texts = [c for c, kind in columns.items() if not is_number(kind) and kind != "BOOLEAN"]
    bad = [c for c, kind in columns.items() if kind.startswith(("TIMESTAMP", "DATE", "TIME", "INTERVAL"))]
    if bad:
        raise PanelError(
            f"The column {name(bad[0])} holds dates, not scores. Name the column of scores: --score COLUMN."
        )
    listed = ", ".join(f"trim(CAST({ident(c)} AS VARCHAR))" for c in texts)
    odd: dict[str, int] = {}
    if texts:
        values = f"SELECT unnest([{listed}]) AS v FROM {raw}" if len(texts) > 1 else f"SELECT {listed} AS v FROM {raw}"
        if foreign:
            values = " UNION ALL ".join(f"SELECT trim(CAST({ident(c)} AS VARCHAR)) AS v FROM {raw}" for c in texts)
        test = number_sql("v", foreign)
        found = table.rows(
            f"SELECT v, count(*) AS n FROM ({values}) AS texts WHERE v <> '' AND ({test}) IS NULL "
            "GROUP BY v ORDER BY n DESC, v LIMIT 1000"
        )
        odd = {str(v): int(n) for v, n in found}
    made = _words(odd, words | ABSENT, foreign, shown=table.where, columns=list(called or columns), notes=notes)
    out = {}
    for column, kind in columns.items():
        text = f"trim(CAST({ident(column)} AS VARCHAR))"
        if column in texts:
            sql = made.replace("\0", text)
        else:
            sql = f"CAST({ident(column)} AS DOUBLE)"
            if kind in ("DOUBLE", "FLOAT"):
                nan = f"CAST({ident(column)} AS VARCHAR) IN ('NaN', 'nan')" if foreign else f"isnan({ident(column)})"
                sql = f"CASE WHEN {nan} THEN NULL ELSE {sql} END"
        if dropped:
            sql = f"CASE WHEN ({sql}) IN ({', '.join(map(repr, dropped))}) THEN NULL ELSE {sql} END"
        out[column] = sql
    for column in texts if len(odd) >= 1000 and not dropped else ():  # more words than were looked at
        text, absent = f"trim(CAST({ident(column)} AS VARCHAR))", ", ".join(map(quote, sorted(words | ABSENT)))
        none = f"{text} <> '' AND ({out[column]}) IS NULL AND lower({text}) NOT IN ({absent})"
        left = table.rows(f"SELECT {text} FROM {raw} WHERE {none} LIMIT 1")
        if left:
            raise PanelError(
                f"The column {name(column)} of {table.where} holds {name(left[0][0], 40)}, which is not a number."
            )
    return out


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _words(
    odd: Mapping[str, int], absent: set[str], portable: bool, shown: str, columns: list[str], notes: list[str]
) -> str:
    """SQL of a text (\0) as a number, where these values are none by themselves."""
    finite = number_sql("\0", portable)
    where = f"the column {name(columns[0])}" if len(columns) == 1 else "the score columns"
    low = {v.lower(): v for v in odd}
    infinite = [v for v in low if re.fullmatch(r"[+-]?inf(inity)?", v)]
    if infinite:
        raise PanelError(f"In {shown}, {where} holds {name(low[infinite[0]])}. Make it a number, or leave it empty.")
    verdicts = [v for v in low if v in PASS]
    said = [v for v in verdicts if v not in absent or len(verdicts) > 1]
    rest = [v for v in low if v not in absent and v not in PASS]
    if not rest and not said:
        return finite
    if not rest:
        cases = " ".join(f"WHEN {quote(v)} THEN {PASS[v]}" for v in sorted(said))
        shown_words = ", ".join(f"{low[v]} = {PASS[v]:g}" for v in sorted(said, key=lambda v: (-PASS[v], v)))
        notes.append(f"Words are read as numbers: {name(shown_words, 120)}.")
        return f"CASE lower(\0) {cases} ELSE {finite} END"
    if not said and all(re.fullmatch(r"[+-]?\d+([.,]\d+)?\s*%", v) for v in rest):
        notes.append("Percent signs are dropped: 85% is 85.")
        return number_sql("replace(rtrim(\0, '% '), ',', '.')", portable)
    out_of = [re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:/|out of)\s*(\d+(?:\.\d+)?)", v) for v in rest]
    if not said and all(out_of):
        most = {m[2] for m in out_of if m}
        if len(most) > 1:
            raise PanelError(f"In {shown}, {where} holds scores out of {names(sorted(most))}. Bring them to one scale.")
        notes.append(f"Scores out of {(top := most.pop())} are read as numbers: 3/{top} is 3.")
        return f"coalesce({finite}, TRY_CAST(regexp_extract(\0, '^[0-9.]+') AS DOUBLE))"
    if not said and all(re.fullmatch(r"[+-]?\d+,\d+", v) for v in rest):
        if all(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", v) for v in rest):
            raise PanelError(
                f"In {shown}, {where} holds {name(low[rest[0]])}: one thousand and more, or a decimal comma? Write "
                "numbers with a decimal point and without commas."
            )
        notes.append("Commas are read as decimal commas: 1,5 is one and a half.")
        return number_sql("replace(\0, ',', '.')", portable)
    first = rest[0]
    raise PanelError(
        f"In {shown}, {where} holds {name(repr(low[first]), 40)} ({count(odd[low[first]], 'row')}), which is not a "
        f"number. Make it a number; if it means that there is no score: --drop {shell(low[first][:40])}. Or name "
        "another column: --score COLUMN."
    )


# --- rows that failed ---

_TRUE, _FALSE = ("'true', '1', 'yes', 'y', 't', '1.0'", "'false', '0', 'no', 'n', 'f', '0.0'")
_NOTHING = (
    f"'', 'none', 'null', 'nan', 'ok', '-', 'n/a', 'na', 'success', '{{}}', '[]', 'no error', 'no errors', {_FALSE}"
)


def failed_sql(column: str, kind: str, values: Sequence[str]) -> str | None:
    """SQL of whether a row says by this column that it failed; None where the column says something else.

    values : some that it holds, in lower case
    """
    from polyjudge.read.columns import norm

    called, text = norm(column.split(".")[-1]), f"lower(trim(CAST({ident(column)} AS VARCHAR)))"
    if called.endswith("status"):
        if {"pass", "passed"} & set(values):
            return None  # the verdict, not the state of the row
        bad = "error|fail|time.?out|timed|exception|cancel|invalid|refus|abort|crash|rate.?limit|denied|incomplete"
        return f"(regexp_matches({text}, '{bad}') AND NOT regexp_matches({text}, '^(no|0|without)[ _-]*(error|fail)'))"
    if called in ("parse_ok", "parsed", "parse_success", "is_parsed", "valid", "is_valid", "ok"):
        return f"({text} IN ({_FALSE}))"
    if called in ("is_error", "has_error", "failed", "is_failed", "timed_out"):
        return f"({text} IN ({_TRUE}))"
    if is_number(kind) and not set(values) <= {"0", "1", "0.0", "1.0"}:
        return None  # the size of an error
    return f"({text} NOT IN ({_NOTHING}))"


# --- one scale ---


def step(levels: Array) -> float:
    """The distance of evenly spaced levels; 0 where they are not evenly spaced.

    >>> step(np.array([1.0, 2.0, 4.0])), step(np.array([0.0, 14.3, 20.0]))
    (1.0, 0.0)
    """
    if len(levels) < 2:
        return 0.0
    least = float(np.diff(levels).min())
    steps = (levels - levels[0]) / least
    return least if steps[-1] <= 200 and np.allclose(steps, np.round(steps), atol=1e-4) else 0.0


def check_range(
    levels: Array, times: NDArray[Any], given: tuple[float, float] | None, where: str, notes: list[str]
) -> None:
    """Refuse numbers that stand for no score; note levels that are odd. `levels` are sorted, `times` their counts."""
    total = float(times.sum())
    if given is not None:
        low, high = given
        tiny = 1e-9 * (high - low)
        out = (levels < low - tiny) | (levels > high + tiny)
        if out.any():
            first = levels[out][0]
            raise PanelError(
                f"{count(int(times[out].sum()), 'score')} in {where} {'is' if times[out].sum() == 1 else 'are'} "
                f"outside --range {low:g}:{high:g} (such as {first:g}). If they mean that there is no score: --drop "
                + ",".join(f"{v:g}" for v in levels[out][:6])
                + "; else give the whole range."
            )
        return
    if len(levels) < 2:
        return
    for at, rest in ((0, slice(1, None)), (-1, slice(None, -1))):
        value, others = float(levels[at]), levels[rest]
        share, near = float(times[at]) / total, float(others[0] if at == 0 else others[-1])
        if _stands_for_none(value, others, share, at):
            raise PanelError(
                f"{count(int(times[at]), 'score')} in {where} {'is' if times[at] == 1 else 'are'} {value:g}, and the "
                f"others go from {others[0]:g} to {others[-1]:g}. If {value:g} means that there is no score: --drop "
                f"{value:g}; if it is a score: --range {levels[0]:g}:{levels[-1]:g}."
            )
        if value == -1 and at == 0 and others[0] == 0:
            notes.append("The scores are from -1 to 1. If -1 means that there is no score: --drop -1.")
            continue
        size, gap = step(others), abs(value - near)
        span = float(others[-1] - others[0])
        beside = value == 0 and near == 1 and others[-1] in (3, 4, 5, 6, 7, 10)
        usual = size == 1 and (beside if at == 0 else others[0] in (0, 1) and others[-1] in (5, 10, 100))
        if share < 0.1 and len(others) >= 3 and (usual or (size and gap >= 2 * size - 1e-9 and gap >= 0.15 * span)):
            notes.append(
                f"{count(int(times[at]), 'score')} of {total:,.0f} {'is' if times[at] == 1 else 'are'} {value:g}, the "
                f"others {others[0]:g} to {others[-1]:g}. If {value:g} means no score: --drop {value:g}."
            )


def _stands_for_none(value: float, others: Array, share: float, at: int) -> bool:
    if at == 0:
        if value not in LOW or others[0] < 0:
            return False
        ternary = value == -1 and set(others.tolist()) <= {0.0, 0.5, 1.0}
        return not (ternary and share >= 0.2)
    return value in HIGH and 0 < others[-1] < value / 2


def check_scales(groups: Mapping[str, Array], noun: str, ask: str, notes: list[str]) -> None:
    """Refuse groups (judges, languages) on scales that differ by a factor of four or more, each with its own evenly
    spaced levels. `groups` are their distinct scores, sorted."""
    sized = {g: float(np.abs(u).max()) for g, u in groups.items() if len(u) and u.any()}
    if len(sized) < 2:
        return
    most = max(sized.values())
    big = [g for g, size in sized.items() if size > most / 4]
    large = np.unique(np.concatenate([groups[g] for g in big]))
    for group, size in sized.items():
        if size * 4 > most:
            continue
        levels = groups[group]
        ends = f"{levels[0]:g} to {levels[-1]:g}" if len(levels) > 1 else f"{levels[0]:g}"
        others = f"{large[0]:g} to {large[-1]:g}"
        if _own_scale(levels, large):
            many = [g for g in sized if sized[g] * 4 <= most]
            raise PanelError(
                f"Not all {noun}s are on one scale: {names(many)} {'has' if len(many) == 1 else 'have'} scores from "
                f"{ends}, the others from {others}. Bring them to one scale in the file; if it is one scale: "
                f"--range {ask}."
            )
        if len(levels) > 1:
            notes.append(
                f"The {noun} {name(group)} has scores from {ends}, the others from {others}: is that one scale?"
            )


def _own_scale(small: Array, large: Array) -> bool:
    whole = np.allclose(small, np.round(small))
    if whole and small[0] >= 0 and (len(small) < 2 or step(small) >= 1) and small[-1] in (1, 2, 3, 4, 5, 6, 7, 10):
        if len(small) > 1 and np.diff(small).min() > 1 and np.isin(small, large).all():
            return False  # 0 and 10 among tens
        return bool(len(small) > 1 or small[0] > 0)
    fractions = small[0] >= 0 and small[-1] <= 1 and not whole
    if fractions and np.mean(large == np.round(large)) > 0.5:
        return True
    even = step(small) > 0 and step(large) > 0
    return bool(even and np.mean(np.isin(np.round(small, 9), np.round(large, 9))) < 0.5)


def parse_range(given: Any) -> tuple[float, float] | None:
    """The lowest and the highest score, as `0:100`, or two numbers.

    >>> parse_range("0:100"), parse_range("1-5"), parse_range(None)
    ((0.0, 100.0), (1.0, 5.0), None)
    """
    if given is None:
        return None
    parts: Sequence[Any] = given
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(-?[\d.]+)\s*[:,\-–]\s*(-?[\d.]+)\s*", given)
        parts = found.groups() if found else ()
    try:
        low, high = (float(p) for p in parts)
    except (TypeError, ValueError):
        low = high = 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        raise UsageError(f"A range is the lowest and the highest score, such as 0:100, not {name(str(given), 40)}.")
    return low, high
