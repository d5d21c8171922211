"""Numbers as text, the same everywhere: no minus before a zero, as many digits as scale or interval supports."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Writer = Callable[..., str]
"""(value, sign=False) -> text"""
NONE = "–"
"""Where there is no number."""


def absent(value: Any) -> bool:
    """Whether there is nothing: None, or the NA of pandas."""
    return value is None or type(value).__name__ == "NAType"


def missing(value: Any) -> bool:
    """Whether there is no finite number."""
    return absent(value) or not math.isfinite(value)


def number(value: Any, digits: int = 2, sign: bool = False) -> str:
    """A number with so many decimals.

    >>> number(-0.001, 2), number(1234.5, 1, sign=True), number(None)
    ('0.00', '+1,234.5', '–')
    """
    if missing(value):
        return NONE
    value = 0.0 if round(value, digits) == 0 else value
    return f"{value:{'+' if sign else ''},.{digits}f}"


def writer(values: Any, significant: int = 4) -> Writer:
    """How to write numbers of this size: the largest gets `significant` digits, the others as many decimals.

    >>> writer([20.614, -3.2])(-3.2, sign=True), writer([0.0206])(0.0031), writer([2.06e9])(2.06e9)
    ('-3.20', '0.00310', '2.06e+09')
    """
    array = np.abs(np.asarray(values, dtype=float))
    array = array[np.isfinite(array)]
    power = int(np.floor(np.log10(array.max()))) if array.size and array.max() > 0 else 1
    digits = max(0, significant - 1 - power)

    def write(value: float, sign: bool = False) -> str:
        if missing(value) or -3 <= power < 6:
            return number(value, digits, sign)
        return f"{value:{'+' if sign else ''}.{significant}g}"

    return write


def points(value: Any, low: Any = None, high: Any = None, sign: bool = False) -> str:
    """A number of points with the digits that its interval supports, or three significant ones without it.

    >>> points(-20.614, -24.02, -17.2, True), points(35.96), points(0.00012)
    ('-20.6 [-24.0, -17.2]', '36.0', '0.000120')
    """
    if missing(value):
        return NONE
    ends = not missing(low) and not missing(high)
    half = abs(high - low) / 2 if ends else 0.0
    write: Writer
    if half > 0:
        power = math.floor(math.log10(half))
        write = partial(number, digits=max(0, 1 - power)) if power >= -4 else writer([half], 2)
    else:
        write = writer([value], 3)
    return write(value, sign=sign) + (f" [{write(low, sign=sign)}, {write(high, sign=sign)}]" if ends else "")


def percent(share: Any, digits: int | None = None, sign: bool = False) -> str:
    """A share from 0 to 1 in percent: whole ones, with a decimal under 10 or over 90 unless it is whole.

    >>> percent(0.613), percent(0.004), percent(1.0), percent(0.9512, 2)
    ('61%', '0.4%', '100%', '95.12%')
    """
    if missing(share):
        return NONE
    if digits is None:
        whole = abs(100 * share - round(100 * share)) < 0.05
        digits = 0 if whole or 0.1 <= abs(share) <= 0.9 else 1
    return number(100 * share, digits, sign) + "%"


def p_value(value: Any, floor: float = 0.0) -> str:
    """A p-value to two significant digits; never a bare zero, nor the least that so many draws can give.

    >>> p_value(0.0312), p_value(1 / 501, 1 / 501)
    ('0.031', '<0.002')
    """
    if missing(value):
        return NONE
    if floor and value <= floor * (1 + 1e-9):
        return f"<{floor:.2g}"
    return "<1e-15" if value < 1e-15 else f"{value:.2g}"


def p_words(value: Any, floor: float = 0.0) -> str:
    """A p-value in a sentence. One at the floor of its draws (none reached what was seen) is below it.

    >>> p_words(0.0312), p_words(7.7e-7), p_words(0.0), p_words(1 / 501, 1 / 501)
    ('p = 0.031', 'p < 1e-6', 'p < 1e-15', 'p below 0.002')
    """
    if missing(value):
        return "no p-value"
    if floor and value <= floor * (1 + 1e-9):
        return f"p below {floor:.2g}"
    if value < 1e-15:
        return "p < 1e-15"
    if value >= 0.001:
        return f"p = {value:.2g}"
    power = math.ceil(math.log10(value) + 1e-9)
    return "p < 0.001" if power >= -3 else f"p < 1e{power}"


def rank(value: Any) -> str:
    """A rank: 3, or 2.5 where two share it."""
    return NONE if missing(value) else f"{value:g}"


def money(value: Any) -> str:
    """Dollars."""
    return NONE if missing(value) else f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.2g}"
