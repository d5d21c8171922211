"""What a verdict on two answers says: a place, the name of a system, a number; one-hot columns (METHODS 37).

Every way of writing becomes one number: the share of the win that the first system of the row gets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, shell
from polyjudge.read.scale import ABSENT, PATTERN

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
FIRST, SECOND, TIE = 1.0, 0.0, 0.5
PLACES = {
    **dict.fromkeys(("a", "1", "first", "left", "a>b", "a>>b", "win", "won", "ab", "1>2"), FIRST),
    **dict.fromkeys(("b", "2", "second", "right", "b>a", "b>>a", "a<b", "a<<b", "loss", "lost", "ba", "2>1"), SECOND),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "same", "both", "neither", "c", "a=b", "a==b", "b=a", "1=2"), TIE),
    **dict.fromkeys(("bothbad", "tie(bothbad)", "bothgood", "bothequal", "tie(inconsistent)", "inconsistent"), TIE),
    **dict.fromkeys(("thesame", "aboutthesame", "aboutequal", "similar", "nopreference", "nodifference", "="), TIE),
}
"""What judges and arenas write for the place of the winner, without spaces and brackets, and without `model_`."""
NOTHING = {*ABSENT, "", "garbage", "unparsed", "unparsable", "undecided", "skip", "abstained", "no answer"}
"""Words in place of a verdict."""
SUBJECTS = "model|system|assistant|response|answer|candidate|output|option|generator|completion|winner"
DEGREES = "much|far|slightly|clearly|significantly|strongly|marginally|somewhat|alittle|abit"
"""What stands before `better`."""
MEANINGS = {"first": FIRST, "second": SECOND, "tie": TIE, "none": np.nan}
"""What the user may say that a value means: --verdict 'result:0=tie,1=first,2=second'."""


@dataclass(frozen=True)
class Question:
    """What is known when a verdict is read.

    where : the source; column : of the verdict; favours : "first" or "second", if the user said what a high number is
    meanings : value -> share of the win, as the user said; has_names : columns name the two systems
    drop : values that mean that there is no verdict
    """

    where: str
    column: str
    favours: str = ""
    meanings: Mapping[str, float] | None = None
    has_names: bool = True
    drop: frozenset[str] = frozenset()


def parse_meanings(said: str, where: str) -> tuple[str, dict[str, float] | None]:
    """A column of verdicts as the user named it, and what its values mean.

    >>> parse_meanings("result:0=tie,1=first,2=second", "a.csv")
    ('result', {'0': 0.5, '1': 1.0, '2': 0.0})
    """
    column, colon, listed = said.partition(":")
    if not colon or "=" not in listed:
        return said, None
    meanings: dict[str, float] = {}
    for pair in listed.split(","):
        value, _, meaning = (part.strip().lower() for part in pair.partition("="))
        if meaning not in MEANINGS:
            raise UsageError(
                f"A value of a verdict means first, second, tie or none, not {name(meaning)!r}: --verdict "
                f"{shell(f'{column}:0=tie,1=first,2=second')}."
            )
        meanings[value] = MEANINGS[meaning]
    return column, meanings


def read_verdicts(written: pd.Series, first: pd.Series, second: pd.Series, question: Question) -> Array:
    """The share of the win of the first system of each row; NaN where there is no verdict."""
    text = written.fillna("").astype(str).str.strip()
    low = text.str.lower()
    is_nothing = low.isin(NOTHING | question.drop).to_numpy()
    if question.meanings is not None:
        return _read_meanings(low, is_nothing, question)
    numbers = _as_numbers(low[~is_nothing])
    if numbers is not None and not set(np.unique(numbers)) <= {1.0, 2.0}:
        won = np.full(len(text), np.nan)
        won[~is_nothing] = _read_numbers(numbers, question)
        return won
    return _read_words(text, first, second, is_nothing, question)


def _read_meanings(low: pd.Series, is_nothing: NDArray[np.bool_], question: Question) -> Array:
    """Values as the user explained them."""
    assert question.meanings is not None
    plain = low.str.replace(r"[.]0+$", "", regex=True)
    won = plain.map(dict(question.meanings)).to_numpy(dtype=float)
    is_unknown = ~plain.isin(list(question.meanings)).to_numpy() & ~is_nothing
    if is_unknown.any():
        raise UsageError(
            f"In {question.where}, {name(question.column)} also holds {name(low[is_unknown].iloc[0])!r}, of which "
            "--verdict says nothing."
        )
    return np.asarray(won)


def _as_numbers(low: pd.Series) -> Array | None:
    """The values as numbers, if all of them are."""
    distinct = low.unique()
    if not len(distinct) or not all(re.fullmatch(PATTERN, value) for value in distinct):
        return None
    return np.asarray(low.map({value: float(value) for value in distinct}).to_numpy(dtype=float))


def _read_numbers(numbers: Array, question: Question) -> Array:
    """Numbers other than the places 1 and 2: 1 to 2, 0 to 1, 0 beside 1 and 2, or margins."""
    levels = np.unique(numbers)
    low, high = float(levels[0]), float(levels[-1])
    if low >= 0 and high > 2:
        raise _ask_meanings_error(question, levels)
    if question.favours:
        return _read_favoured(numbers, question.favours)
    if set(levels) <= {0.0, 1.0, 2.0} and high == 2:
        if not question.has_names:
            return np.select([numbers == 1, numbers == 2], [FIRST, SECOND], TIE)
        raise _ask_meanings_error(question, levels)
    above = levels[levels > 0]
    if 1 < high <= 2 and low >= 0 and above[0] >= 1:
        return np.where(numbers == 0, TIE, 2 - numbers)
    raise _ask_favours_error(question, low, high)


def _read_favoured(numbers: Array, favours: str) -> Array:
    """Numbers of which the user said whom a high one favours: from 0 to 1, with a sign, or 1 to 2."""
    low, high = float(numbers.min()), float(numbers.max())
    if low >= 0 and high <= 1:
        share = numbers
    elif low >= 1 and high <= 2:
        share = numbers - 1
    else:
        share = 0.5 + np.sign(numbers) / 2
    return np.asarray(share if favours == "first" else 1 - share)


def _ask_meanings_error(question: Question, levels: Array) -> PanelError:
    column = question.column
    listed = [f"{level:g}" for level in levels[:12]]
    sides = ["second", "tie", "first"]
    meanings = [sides[1 - int(np.sign(place - (len(listed) - 1) / 2))] for place in range(len(listed))]
    if listed == ["0", "1", "2"]:
        meanings = ["tie", "first", "second"]
    example = shell(f"{column}:{','.join(f'{x}={y}' for x, y in zip(listed, meanings, strict=True))}")
    return PanelError(
        f"In {question.where}, {name(column)} holds {names(listed)}. Say which mean first, second or tie, such as "
        f"--verdict {example}."
    )


def _ask_favours_error(question: Question, low: float, high: float) -> PanelError:
    return PanelError(
        f"In {question.where}, the verdict {name(question.column)} is a number from {low:g} to {high:g}. Say whom a "
        "high one favours: --favours first (the first system of the row) or --favours second."
    )


def _read_words(
    text: pd.Series, first: pd.Series, second: pd.Series, is_nothing: NDArray[np.bool_], question: Question
) -> Array:
    """Places, names of systems, ties."""
    distinct = text.drop_duplicates()
    place_of = dict(zip(distinct, strip_word(distinct).map(PLACES), strict=True))
    by_name = np.asarray(np.select([(text == first), (text == second)], [FIRST, SECOND], np.nan), dtype=float)
    by_place = np.asarray(text.map(place_of), dtype=float)
    by_name = np.where(np.isnan(by_name) & np.isnan(by_place), _names_in_another_case(text, first, second), by_name)
    _refuse_names_that_are_places(text, first, second, by_name, by_place, question)
    won = np.where(np.isfinite(by_name), by_name, by_place)
    is_odd = np.isnan(won) & ~is_nothing
    if is_odd.any():
        raise _odd_word_error(text[is_odd], question)
    return np.asarray(np.where(is_nothing & np.isnan(by_name), np.nan, won))


def _names_in_another_case(text: pd.Series, first: pd.Series, second: pd.Series) -> Array:
    """The winner by its name, spelled with other capitals or blanks around it; NaN where both systems would fit."""
    low, one, other = (names_of.str.strip().str.lower() for names_of in (text, first, second))
    return np.asarray(
        np.select([(one != other) & (low == one), (one != other) & (low == other)], [FIRST, SECOND], np.nan)
    )


def strip_word(text: pd.Series) -> pd.Series:
    """Words as `PLACES` has them: `[[Model_A]]` is a."""
    plain = text.str.lower().str.replace(r"[\s_\[\]\-]", "", regex=True).str.replace(r"[.]0+$", "", regex=True)
    plain = plain.str.replace(rf"(?<=.)(is|was)?({DEGREES})?(better|wins|won|preferred)$", "", regex=True)
    plain = plain.str.replace("^bothare", "both", regex=True)
    return plain.str.replace(rf"^({SUBJECTS})+(?=([ab12]|tie|bothbad)$)", "", regex=True)


def are_verdicts(values: Sequence[str], systems: set[str]) -> bool:
    """Whether all of these values can be verdicts by words: places, names of systems, ties."""
    import pandas as pd

    known = [value for value in values if value.strip().lower() not in NOTHING]
    if not known:
        return False
    codes = strip_word(pd.Series(known, dtype=object).astype(str))
    is_known = codes.isin(list(PLACES)) | pd.Series(known).isin(list(systems))
    return bool(is_known.all())


def are_picks(values: Sequence[str], systems: set[str]) -> bool:
    """Whether values are verdicts in words of which some are for the first and some for the second answer.

    >>> are_picks(["A", "B", "tie"], set()), are_picks(["A", "tie"], set()), are_picks(["1", "2"], set())
    (True, False, False)
    """
    import pandas as pd

    codes = strip_word(pd.Series(list(values), dtype=object).astype(str))
    sides = {PLACES[code] for code in codes if code in PLACES and not code.isdigit()}
    return {FIRST, SECOND} <= sides and are_verdicts(values, systems)


def are_places(values: Sequence[str]) -> bool:
    """Whether values are letters of two answers, and perhaps ties: A, B, [[A]], response_b, A>B.

    >>> are_places(["A", "B", "tie"]), are_places(["1", "2"]), are_places(["pass", "fail"])
    (True, False, False)
    """
    import pandas as pd

    known = [value for value in values if value.strip().lower() not in NOTHING]
    codes = set(strip_word(pd.Series(known, dtype=object).astype(str))) if known else set()
    return bool(codes & {"a", "b", "a>b", "b>a", "a>>b", "b>>a"}) and codes <= set(PLACES) - {"1", "2", "win", "loss"}


def _refuse_names_that_are_places(
    text: pd.Series, first: pd.Series, second: pd.Series, by_name: Array, by_place: Array, question: Question
) -> None:
    """A system called A, or 1, where A may be the place."""
    is_unclear = np.isfinite(by_name) & np.isfinite(by_place) & (by_name != by_place)
    used = set(first.unique()) | set(second.unique())
    is_astray = np.isfinite(by_place) & (by_place != TIE) & np.isnan(by_name) & text.isin(list(used)).to_numpy()
    if question.has_names and (is_unclear | is_astray).any():
        word = text[is_unclear | is_astray].iloc[0]
        raise PanelError(
            f"In {question.where}, the winner {name(word)} is the name of a system and also a place. Write model_a, "
            "model_b or tie for the winner, or give the systems other names."
        )


def _odd_word_error(odd: pd.Series, question: Question) -> PanelError:
    word = odd.iloc[0]
    times = count(int((odd == word).sum()), "row")
    decimals = r"\d+,\d+"
    if re.fullmatch(decimals, str(word)):
        return PanelError(f"In {question.where}, {name(question.column)} holds {word}: write decimals with a point.")
    flag = shell(f"{question.column}:{word}=tie")
    if str(word).lower() in ("true", "false", "yes", "no"):
        yes, no = ("true", "false") if str(word).lower() in ("true", "false") else ("yes", "no")
        flag = shell(f"{question.column}:{yes}=first,{no}=second")
    return PanelError(
        f"In {question.where}, the winner {name(word)} ({times}) is neither of the two systems, nor model_a, model_b "
        f"or tie. Write one of these; or say what every value means, such as --verdict {flag}."
    )


def read_one_hot(parts: Sequence[pd.Series], where: str) -> Array:
    """One column for each outcome, of which one is 1: the first wins, the second does, and kinds of ties."""
    marks = np.stack([_as_marks(part) for part in parts], axis=1)
    total = marks.sum(axis=1)
    if (total > 1).any():
        raise PanelError(f"In {where}, some rows have two winners: of {len(parts)} columns only one can be 1.")
    won = marks[:, 0] + TIE * marks[:, 2:].sum(axis=1)
    return np.asarray(np.where(total == 1, won, TIE if len(parts) == 2 else np.nan))


def _as_marks(column: pd.Series) -> Array:
    """1 where a column says yes."""
    low = column.fillna("").astype(str).str.strip().str.lower()
    return low.isin(["1", "1.0", "true", "yes", "t"]).to_numpy().astype(float)


def is_marked(column: pd.Series) -> Mask:
    """Where a column says yes."""
    return np.asarray(_as_marks(column) > 0)
