"""What a score is: text as a number, rows that say they failed, and whether all scores are on one scale."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
EVIDENT = (3, 4, 5, 6, 7, 10, 100)
"""Highest scores of usual scales from 0 or 1."""
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
    has_points = "comma" in found and table.rows(f"SELECT v FROM ({values}) AS texts WHERE v LIKE '%.%' LIMIT 1")
    if "comma" in found <= {"comma", "thousand"} and not has_points:
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
    n_texts = int(table.rows(f"SELECT count(*) FROM ({values}) AS texts WHERE v <> ''")[0][0])
    may_be_dropped = "," not in shown and not is_verdict(shown) and int(times) < 0.3 * n_texts
    absent = f"; if it means that there is no score: --drop {shell(shown[:40])}" if may_be_dropped else ""
    role = "human" if HUMANS.fullmatch(norm(where[0])) else "score"
    other = f"name another column: --{role} COLUMN"
    if len(called) > 1:
        rest = ",".join(shell(c) for c in called if c not in where)
        other = f"name the columns of scores: --judges {rest or 'COLUMN,...'}"
    raise PanelError(
        f"In {table.where}, {holds} {name(repr(shown), 40)} ({count(int(times), 'row')}), which is not a number. Make "
        f"them plain numbers on one scale{absent}. Or {other}."
    )


def is_verdict(text: str) -> bool:
    """Whether a word says who won.

    >>> is_verdict("A>B"), is_verdict("Tie"), is_verdict("model_1"), is_verdict("unsure")
    (True, True, True, False)
    """
    return bool(VERDICT.fullmatch(re.sub(r"[\s_\[\]().-]", "", text.lower())))


VERDICT = re.compile(
    r"[ab12]?[<>=]+[ab12]?|ties?|tied|draw|equal|both|neither|bothbad|win|won|wins|loss|lost|loses?|first|second|left|"
    r"right|(model|system|assistant|response|answer)?[ab12]"
)
"""Words that say who won, without spaces and brackets."""


# --- rows that failed ---

FALSE = "'false', '0', 'no', 'n', 'f', '0.0', 'nok', 'invalid'"
NOTHING = f"'', 'none', 'null', 'nan', 'ok', '-', 'n/a', 'na', 'success', '{{}}', '[]', 'no error', {FALSE}"
FAILED = "^[45][0-9][0-9]([.]0)?$|error|fail|time.?out|timed|exception|incomplete|invalid|refus|abort|crash"
FINE = re.compile(
    r"[123]\d\d(\.0)?|ok|okay|success|successful|succeeded|done|complete|completed|finished|scored|valid|parsed|"
    r"pass|passed|fine|true|1|1\.0|yes|(no|0|without)[ _-]*(error|fail).*|"
)
"""What a column of the state of a row holds where all went well."""


def failed_sql(column: str, kind: str, values: Sequence[str]) -> str | None:
    """SQL of whether a row may say by this column that it failed; None where its values (lower case) cannot."""
    called, text = norm(column.split(".")[-1]), f"lower(trim(CAST({ident(column)} AS VARCHAR)))"
    if is_state(column):
        is_fine = f"regexp_matches({text}, '^(no|0|without)[ _-]*(error|fail)')"
        return f"(regexp_matches({text}, '{FAILED}') AND NOT {is_fine})"
    if called.endswith(("ok", "parsed", "success", "valid", "valid_json", "valid_score")):
        return f"({text} IN ({FALSE}))"
    sizes = all(re.fullmatch(r"-?\d*(\.\d+)?", v) for v in values)
    if sizes and not called.endswith("code") and not set(values) <= {"", "0", "1", "0.0", "1.0"}:
        return None  # the size of an error
    return f"({text} NOT IN ({NOTHING}))"


def is_state(column: str) -> bool:
    """Whether a column is called after the state of its row."""
    return norm(column.split(".")[-1]).endswith(("status", "state", "status_code"))


def unknown_states(values: Mapping[str, int]) -> dict[str, int]:
    """Of the states of rows (lower case, with their counts) those that say neither that all went well nor that it
    failed."""
    return {v: n for v, n in values.items() if not FINE.fullmatch(v) and not re.search(FAILED, v)}


# --- one scale ---


def step(levels: Array) -> float:
    """The distance of evenly spaced levels; 0 where they are not evenly spaced."""
    if len(levels) < 2:
        return 0.0
    least = float(np.diff(levels).min())
    steps = (levels - levels[0]) / least
    return least if steps[-1] <= 200 and np.allclose(steps, np.round(steps), atol=1e-4) else 0.0


def check_range(
    levels: Array,
    times: NDArray[Any],
    given: tuple[float, float] | None,
    where: str,
    notes: list[str],
    noun: str = "score",
) -> Array:
    """Refuse numbers that stand for no score; note those that may. Judges are compared by the levels that are returned:
    without one that is far from all others.

    levels, times : the distinct scores, sorted, and how often each stands there
    """
    if given is not None:
        _refuse_outside(levels, times, given, where)
        return levels
    if len(levels) < 2:
        return levels
    usual = levels
    for place, others in ((0, levels[1:]), (-1, levels[:-1])):
        end = _End(float(levels[place]), int(times[place]), int(times.sum()), others, place == 0, noun)
        nearest_times = int(times[1] if place == 0 else times[-2])
        if end.is_no_score(nearest_times):
            whole = f"{levels[0]:g}:{levels[-1]:g}"
            raise PanelError(f"{end.sentence(where)}; if it is a {noun}: {end.flag_to_keep(whole)}.")
        is_far = end.gap > 2 * end.span and len(others) > 3
        if is_far or end.is_doubtful(int(np.median(times)), nearest_times):
            notes.append(f"{end.sentence(where)}.")
        if is_far and end.share < 0.1:
            usual = usual[usual != end.value]
    return usual


def _refuse_outside(levels: Array, times: NDArray[Any], given: tuple[float, float], where: str) -> None:
    """Refuse scores outside the scale that the user declared."""
    low, high = given
    tiny = 1e-9 * (high - low)
    outside_mask = (levels < low - tiny) | (levels > high + tiny)
    if outside_mask.any():
        n = int(times[outside_mask].sum())
        listed = ",".join(f"{value:g}" for value in levels[outside_mask][:6])
        verb = "is" if n == 1 else "are"
        raise PanelError(
            f"{count(n, 'score')} in {where} {verb} outside --range {low:g}:{high:g}. If they "
            f"mean that there is no score: --drop {listed}; else give the whole range."
        )


@dataclass(frozen=True)
class _End:
    """The lowest or the highest score, beside all others."""

    value: float
    times: int
    n_scores: int
    others: Array
    is_low: bool
    noun: str = "score"

    @property
    def share(self) -> float:
        """Its share of all scores."""
        return self.times / self.n_scores

    @property
    def span(self) -> float:
        """From the lowest to the highest of the others."""
        return float(self.others[-1] - self.others[0])

    @property
    def gap(self) -> float:
        """The distance to the nearest other score."""
        return abs(self.value - float(self.others[0 if self.is_low else -1]))

    def sentence(self, where: str) -> str:
        """How often it stands there, what the others are, and how to leave it out."""
        verb = "is" if self.times == 1 else "are"
        return (
            f"{count(self.times, self.noun)} of {self.n_scores:,.0f} in {where} {verb} {self.value:g}, the others "
            f"{self.others[0]:g} to {self.others[-1]:g}. If {self.value:g} means no {self.noun}: {self._flag_to_drop()}"
        )

    def _flag_to_drop(self) -> str:
        return f"--drop {self.value:g}" if self.noun == "score" else "leave those cells empty"

    def flag_to_keep(self, whole: str) -> str:
        """How to say that it is one; a file of labels has no options."""
        return f"--range {whole}" if self.noun == "score" else "write labels on a scale from 0 or 1"

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self.others[0]), float(self.others[-1])

    def is_no_score(self, nearest_times: int) -> bool:
        """Whether it surely needs a word from the user: a usual code, or a level outside an evident scale."""
        lowest, highest = self._ends
        is_beside_pass_or_fail = self.others.tolist() == [0.0, 1.0]
        if self.is_low:
            is_usual_code = self.value in LOW and lowest >= 0
            is_below_zero = self.value < 0 and self._is_beyond_scale()
            return is_usual_code or is_beside_pass_or_fail or is_below_zero or self._is_heap_of_zeros(nearest_times)
        is_usual_code = self.value in HIGH and 0 < highest < self.value / 2
        # 0, 1 and 2 may be a scale of three steps.
        is_third_code = is_beside_pass_or_fail and self.value > 2
        return is_usual_code or is_third_code or self._is_beyond_scale()

    def _is_heap_of_zeros(self, nearest_times: int) -> bool:
        """Whether 0 stands below 1 to 5 (6, 7) too often: a scale from 0 has fewer scores at its lower end."""
        surely_more = 1.5 * nearest_times + 2 * nearest_times**0.5
        is_scale_from_one = self._is_below_scale() and self._ends[1] in (5, 6, 7)
        return is_scale_from_one and self.times > surely_more and self.share > 0.02

    def _is_beyond_scale(self) -> bool:
        """Whether it is far outside a usual scale of which every level is used."""
        lowest, highest = self._ends
        is_whole_scale = lowest in (0, 1) and highest in (3, 4, 5, 10, 100) and step(self.others) == 1
        n_levels = highest - lowest + 1
        is_filled = len(self.others) == n_levels or (highest == 100 and len(self.others) > 50)
        is_far = self.gap >= max(2, 0.15 * self.span)
        return is_whole_scale and is_filled and is_far and self.n_scores >= 30

    def _is_below_scale(self) -> bool:
        """Whether it is 0, and the others are whole numbers from 1 to the end of a usual scale."""
        lowest, highest = self._ends
        return self.value == 0 and lowest == 1 and highest in EVIDENT and step(self.others) == 1

    def is_doubtful(self, usual_times: int, nearest_times: int) -> bool:
        """Whether it is apart from all others: by its distance, or as a 0 below a scale that begins at 1."""
        lowest, highest = self._ends
        if self.is_low and self._is_below_scale():
            # 0 to 3, 4 and 10 are usual scales: there only a rare 0, or a heap of them, is odd.
            is_usual_scale = highest in (3, 4, 10)
            return not is_usual_scale or self.share < 0.1 or self.times > 2 * nearest_times
        is_beside_scale = lowest in (0, 1) and highest in (5, 10, 100) and step(self.others) == 1
        if not self.is_low and is_beside_scale and self.gap < 2:
            return self.share < 0.1
        if self.others.tolist() == [0.0, 1.0] and self.value == 2:
            return self.share < 1 / 3
        return self._is_apart(usual_times)

    def _is_apart(self, usual_times: int) -> bool:
        """Whether it is two steps or more away from the others. Of many levels the last ones are rare, and stand
        apart by chance."""
        size = step(self.others)
        is_far = size > 0 and self.gap >= max(2 * size - 1e-9, 0.15 * self.span)
        return is_far and len(self.others) > 2 and (len(self.others) <= 21 or self.times >= 3 * usual_times)


def check_scales(groups: Mapping[str, Array], noun: str, ask: str, notes: list[str]) -> None:
    """Refuse groups (judges, languages) on scales that differ by a factor of four or more, each with its own evenly
    spaced levels. `groups` are their distinct scores, sorted."""
    _note_half_scales(groups, noun, notes)
    size = {g: float(np.abs(u).max()) for g, u in groups.items() if len(u) and u.any()}
    small = [g for g in size if size[g] * 4 <= max(size.values())]
    large = np.unique(np.concatenate([np.zeros(0), *(groups[g] for g in size.keys() - set(small))]))
    for group in small:
        levels = groups[group]
        ends = f"{levels[0]:g} to {levels[-1]:g}" if len(levels) > 1 else f"{levels[0]:g}"
        beside = f"scores from {ends}, the others from {large[0]:g} to {large[-1]:g}"
        if is_own_scale(levels, large):
            verb = "has" if len(small) == 1 else "have"
            rest = [g for g in groups if g not in small]
            raise PanelError(
                f"Not all {noun}s are on one scale: {names(small)} {verb} {beside}. Bring them to one scale in the "
                f"file; if it is one scale: --range {ask}.{_offer_judges(noun, rest, small)}"
            )
        if len(levels) > 1:
            notes.append(f"The {noun} {name(group)} has {beside}: is that one scale?")


def _note_half_scales(groups: Mapping[str, Array], noun: str, notes: list[str]) -> None:
    """Name groups that use the whole of 1 to 5, where others go to 7 or 10."""
    highest = max((float(levels[-1]) for levels in groups.values() if len(levels)), default=0.0)
    halves = [group for group, levels in groups.items() if levels.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]]
    if halves and highest in (7, 10):
        verb = "has" if len(halves) == 1 else "have"
        notes.append(
            f"The {noun} {names(halves)} {verb} scores from 1 to 5, others to {highest:g}. If these are two scales, "
            "bring them to one in the file."
        )


def _offer_judges(noun: str, large: Sequence[str], small: Sequence[str]) -> str:
    """Judges on one scale may be read without the others."""
    if noun != "judge" or len(large) + len(small) < 3:
        return ""
    flags = " or ".join(f"--judges {','.join(map(shell, part[:6]))}" for part in (large, small))
    return f" Or read those on one scale: {flags}."


def is_own_scale(small: Array, large: Array) -> bool:
    """Whether the smaller levels are a scale of their own, and no low part of the larger ones."""
    is_whole = np.allclose(small, np.round(small))
    if is_whole and _is_usual_scale(small):
        are_ends_of_large = len(small) > 1 and np.diff(small).min() > 1 and np.isin(small, large).all()
        if are_ends_of_large:
            return False  # 0 and 10 among tens
        return bool(len(small) > 1 or small[0] > 0)
    are_fractions = small[0] >= 0 and small[-1] <= 1 and not is_whole
    if are_fractions and np.mean(large == np.round(large)) > 0.5:
        return True
    are_even = step(small) > 0 and step(large) > 0
    return bool(are_even and np.mean(np.isin(np.round(small, 9), np.round(large, 9))) < 0.5)


def _is_usual_scale(levels: Array) -> bool:
    """Whether whole numbers end as a usual scale from 0 or 1 does."""
    return bool(levels[0] >= 0 and (len(levels) < 2 or step(levels) >= 1) and levels[-1] in (1, 2, 3, 4, 5, 6, 7, 10))


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
