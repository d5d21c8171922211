"""What a score is: text as a number, rows that say they failed, and whether all scores are on one scale."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, shell
from polyjudge.read.columns import HUMANS, norm
from polyjudge.read.table import Table, ident, quote, stacked

Array = NDArray[np.float64]
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
           "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "REAL")  # fmt: skip
ABSENT = {
    "na", "n/a", "n.a.", "nan", "<na>", "#n/a", "nat", "null", "none", "nil", "-", "–", "—", "--", ".", "?", "[]", "{}",
    "missing", "unknown", "not available", "not scored", "unscored", "no score", "error", "err", "failed", "failure",
    "invalid", "refused", "refusal", "timeout", "timed out", "parse error", "parse_error", "parsing error", "skipped",
    "abstain", "tbd", "#value!", "#div/0!",
}  # fmt: skip
"""Words in place of a score."""
GOOD = (
    "pass",
    "passed",
    "yes",
    "y",
    "true",
    "t",
    "p",
    "correct",
    "right",
    "accept",
    "accepted",
    "good",
    "success",
    "✓",
    "✅",
)
BAD = (
    "fail",
    "failed",
    "failure",
    "no",
    "n",
    "false",
    "f",
    "incorrect",
    "wrong",
    "reject",
    "rejected",
    "bad",
    "✗",
    "❌",
)
PASS = {**dict.fromkeys(GOOD, 1.0), **dict.fromkeys(BAD, 0.0)}
LOW, HIGH = (-1, -9, -99, -999, -9999, -99999), (99, 999, 9999, 99999, 999999)
"""Numbers that often stand for no score."""
FORMS = {
    "^[+-]?[1-9][0-9]{0,2},[0-9]{3}$": "'thousand'",
    "^[+-]?[0-9]+,[0-9]+$": "'comma'",
    "^[+-]?[0-9]+([.,][0-9]+)?\\s*%$": "'percent'",
    "^[0-9]+([.][0-9]+)?\\s*(/|out of)\\s*[0-9]+([.][0-9]+)?$": "'out of ' || regexp_replace(v, '^.*[^0-9.]', '')",
}
"""How a number may be written that the engine does not read -> SQL of what it is called here."""
PATTERN = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


def number_sql(text: str, portable: bool = False) -> str:
    """SQL of a text as a number, NULL where it is none (our engine alone would read 1_10 as 110)."""
    if portable:
        return f"CASE WHEN regexp_matches({text}, '{PATTERN}') THEN CAST({text} AS DOUBLE) END"
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
    """SQL of each score column (name -> type) of `raw` as a number, NULL where there is none; in the source they may
    be `called` otherwise. What had to be done is noted."""
    foreign = table.ibis is not None
    words = {d.strip().lower() for d in drop if not re.fullmatch(PATTERN, d)}
    dropped = ", ".join(repr(float(d)) for d in drop if re.fullmatch(PATTERN, d))
    texts = [c for c, kind in columns.items() if not is_number(kind) and kind != "BOOLEAN"]
    made = _text_sql(table, raw, texts, words, list(called or texts), notes) if texts else ""
    out = {}
    for column, kind in columns.items():
        sql = f"CAST({ident(column)} AS DOUBLE)"
        if column in texts:
            sql = made.replace("\0", f"trim(CAST({ident(column)} AS VARCHAR))")
        elif kind in ("DOUBLE", "FLOAT"):
            nan = f"CAST({ident(column)} AS VARCHAR) IN ('NaN', 'nan')" if foreign else f"isnan({ident(column)})"
            sql = f"CASE WHEN {nan} THEN NULL ELSE {sql} END"
        out[column] = f"CASE WHEN ({sql}) IN ({dropped}) THEN NULL ELSE {sql} END" if dropped else sql
    return out


def _text_sql(
    table: Table, raw: str, texts: Sequence[str], dropped: set[str], called: list[str], notes: list[str]
) -> str:
    """SQL of a text (\0) as a number. Texts that are none must be words for no score, or all of one kind."""
    portable = table.ibis is not None
    finite, number = (number_sql(text, portable) for text in ("\0", "v"))
    listed = [f"trim(CAST({ident(c)} AS VARCHAR))" for c in texts]
    values = stacked(table, listed, raw)
    if len(called) > len(texts):  # the rows of a wide table, one below the other
        values = f"SELECT {listed[0]} AS v, place FROM {raw}"
    forms = " ".join(f"WHEN regexp_matches(lower(v), {quote(p)}) THEN {f}" for p, f in FORMS.items())
    known = ", ".join(map(quote, sorted({*PASS, *ABSENT, *dropped})))
    form = f"CASE WHEN lower(v) IN ({known}) THEN lower(v) {forms} ELSE 'odd' END"
    odd = f"SELECT v, {form} AS form FROM ({values}) AS texts WHERE v <> '' AND ({number}) IS NULL"
    found = {str(r[0]) for r in table.rows(f"SELECT DISTINCT form FROM ({odd}) AS odd")} - dropped
    verdicts, unclear = found & set(PASS), sorted(found & {"error", "err", "invalid", "refused"})
    verdicts = verdicts if len(verdicts) > 1 else verdicts - ABSENT
    if unclear and len({PASS[v] for v in verdicts}) == 1:  # accepted, refused
        raise PanelError(
            f"In {table.where}, {names(sorted(verdicts))} stands beside {names(unclear)}, which may mean fail, or no "
            f"score. Write pass and fail; or if it is no score: --drop {shell(unclear[0])}."
        )
    found = (found - ABSENT) | verdicts
    if not found:
        return finite
    usual = "0, 1" if verdicts else "0"
    mixed = table.rows(f"SELECT v FROM ({values}) AS texts WHERE ({number}) NOT IN ({usual}) LIMIT 1")
    out_of = min(found).removeprefix("out of ")
    if found == verdicts and not mixed:
        words = sorted(verdicts, key=lambda v: (-PASS[v], v))
        notes.append(f"Words are read as numbers: {', '.join(f'{v} = {PASS[v]:g}' for v in words)}.")
        return f"CASE lower(\0) {' '.join(f'WHEN {quote(v)} THEN {PASS[v]}' for v in words)} ELSE {finite} END"
    if "comma" in found <= {"comma", "thousand"}:
        notes.append("Commas are read as decimal commas: 1,5 is one and a half.")
        return number_sql("replace(\0, ',', '.')", portable)
    if found == {"percent"} and not mixed:
        notes.append("Percent signs are dropped: 85% is 85.")
        return number_sql("replace(rtrim(\0, '% '), ',', '.')", portable)
    if found == {f"out of {out_of}"} and not mixed:
        notes.append(f"Scores out of {out_of} are read as numbers: 3/{out_of} is 3.")
        return number_sql("regexp_replace(\0, '[^0-9.].*$', '')", portable)
    wanted = f"form IN ({', '.join(map(quote, sorted(found - verdicts or found)))})"
    ask = f"SELECT v, count(*) AS n FROM ({odd}) AS odd WHERE {wanted} GROUP BY v ORDER BY n DESC, v LIMIT 1"
    shown, times = table.rows(ask)[0]
    places = table.rows(f"SELECT DISTINCT place FROM ({values}) AS texts WHERE v = {quote(shown)} ORDER BY place")
    where = [called[int(place)] for (place,) in places]
    holds = f"the column {name(where[0])} holds" if len(where) == 1 else f"the columns {names(where)} hold"
    absent = "" if "," in shown else f"; if it means that there is no score: --drop {shell(shown[:40])}"
    role = "human" if HUMANS.fullmatch(norm(where[0])) else "score"
    other = f"name another column: --{role} COLUMN"
    if len(called) > 1:
        rest = ",".join(shell(c) for c in called if c not in where)
        other = f"name the columns of scores: --judges {rest or 'COLUMN,...'}"
    raise PanelError(
        f"In {table.where}, {holds} {name(repr(shown), 40)} ({count(int(times), 'row')}), which is not a number. Make "
        f"them plain numbers on one scale{absent}. Or {other}."
    )


# --- rows that failed ---

FALSE = "'false', '0', 'no', 'n', 'f', '0.0', 'nok', 'invalid'"
NOTHING = f"'', 'none', 'null', 'nan', 'ok', '-', 'n/a', 'na', 'success', '{{}}', '[]', 'no error', {FALSE}"


def failed_sql(column: str, kind: str, values: Sequence[str]) -> str | None:
    """SQL of whether a row says by this column that it failed; None where its values (lower case) say another thing."""
    called, text = norm(column.split(".")[-1]), f"lower(trim(CAST({ident(column)} AS VARCHAR)))"
    if called.endswith(("status", "state", "status_code")):
        if {"pass", "passed"} & set(values):
            return None  # the verdict, not the state of the row
        bad = (
            "^[45][0-9][0-9]([.]0)?$|error|fail|time.?out|timed|exception|cancel|incomplete|invalid|refus|abort|crash|"
            "rate.?limit|denied"
        )
        return f"(regexp_matches({text}, '{bad}') AND NOT regexp_matches({text}, '^(no|0|without)[ _-]*(error|fail)'))"
    if called.endswith(("ok", "parsed", "success", "valid", "valid_json", "valid_score")):
        return f"({text} IN ({FALSE}))"
    sizes = all(re.fullmatch(r"-?\d*(\.\d+)?", v) for v in values)
    if sizes and not called.endswith("code") and not set(values) <= {"", "0", "1", "0.0", "1.0"}:
        return None  # the size of an error
    return f"({text} NOT IN ({NOTHING}))"


# --- one scale ---


def step(levels: Array) -> float:
    """The distance of evenly spaced levels; 0 where they are not evenly spaced."""
    if len(levels) < 2:
        return 0.0
    least = float(np.diff(levels).min())
    steps = (levels - levels[0]) / least
    return least if steps[-1] <= 200 and np.allclose(steps, np.round(steps), atol=1e-4) else 0.0


def check_range(
    levels: Array, times: NDArray[Any], given: tuple[float, float] | None, where: str, notes: list[str]
) -> Array:
    """Refuse numbers that stand for no score; note odd ones of the sorted levels, which have these counts. Returns the
    levels, less a noted one that is far from all others: judges are compared without it."""
    usual = levels
    low, high = given or (-np.inf, np.inf)
    tiny = 1e-9 * (high - low) if given else 0.0
    out = (levels < low - tiny) | (levels > high + tiny)
    if out.any():
        n, listed = int(times[out].sum()), ",".join(f"{v:g}" for v in levels[out][:6])
        raise PanelError(
            f"{count(n, 'score')} in {where} {'is' if n == 1 else 'are'} outside --range {low:g}:{high:g}. If they "
            f"mean that there is no score: --drop {listed}; else give the whole range."
        )
    if given is not None or len(levels) < 2:
        return usual
    for at, others in ((0, levels[1:]), (-1, levels[:-1])):
        value, share, span = float(levels[at]), times[at] / times.sum(), others[-1] - others[0]
        said = (
            f"{count(int(times[at]), 'score')} of {times.sum():,.0f} in {where} {'is' if times[at] == 1 else 'are'} "
            f"{value:g}, the others {others[0]:g} to {others[-1]:g}. If {value:g} means no score: --drop {value:g}"
        )
        ternary = value == -1 and set(others.tolist()) <= {0.0, 0.5, 1.0} and share >= 0.2
        low_one, high_one = value in LOW and others[0] >= 0, value in HIGH and 0 < others[-1] < value / 2
        if (low_one if at == 0 else high_one) and not ternary:
            raise PanelError(f"{said}; if it is a score: --range {levels[0]:g}:{levels[-1]:g}.")
        size, gap = step(others), abs(value - others[at])
        below = value == 0 and others[0] == 1 and others[-1] in (3, 4, 5, 6, 7, 10)
        above = others[0] in (0, 1) and others[-1] in (5, 10, 100)
        beside = size == 1 and (below if at == 0 else above)
        far = size > 0 and gap >= max(2 * size - 1e-9, 0.15 * span)
        far = far and (len(others) <= 21 or times[at] >= 3 * np.median(times))  # else the end of many levels
        wild = share < 0.1 and len(others) > 3 and gap > 2 * span
        if ternary or wild or (share < 0.1 and len(others) >= 3 and (beside or far)):
            notes.append(f"{said}.")
        usual = usual[usual != value] if wild else usual
    return usual


def check_scales(groups: Mapping[str, Array], noun: str, ask: str, notes: list[str]) -> None:
    """Refuse groups (judges, languages) on scales that differ by a factor of four or more, each with its own evenly
    spaced levels. `groups` are their distinct scores, sorted."""
    size = {g: float(np.abs(u).max()) for g, u in groups.items() if len(u) and u.any()}
    small = [g for g in size if size[g] * 4 <= max(size.values())]
    large = np.unique(np.concatenate([groups[g] for g in size if g not in small] or [np.zeros(0)]))
    for group in small:
        levels = groups[group]
        ends = f"{levels[0]:g} to {levels[-1]:g}" if len(levels) > 1 else f"{levels[0]:g}"
        said = f"scores from {ends}, the others from {large[0]:g} to {large[-1]:g}"
        if _own_scale(levels, large):
            raise PanelError(
                f"Not all {noun}s are on one scale: {names(small)} {'has' if len(small) == 1 else 'have'} {said}. "
                f"Bring them to one scale in the file; if it is one scale: --range {ask}."
            )
        if len(levels) > 1:
            notes.append(f"The {noun} {name(group)} has {said}: is that one scale?")


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
    """The lowest and the highest score, as `0:100`, or two numbers."""
    if given is None:
        return None
    try:
        low, high = map(float, given.split(":") if isinstance(given, str) else given)
    except (TypeError, ValueError):
        low = high = 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        raise UsageError(f"A range is the lowest and the highest score, such as 0:100, not {name(str(given), 40)}.")
    return low, high
