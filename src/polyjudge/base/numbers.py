"""Numbers as text, the same everywhere: as many digits as the interval supports, and no sign before a zero."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

NONE = "–"
"""Where there is no number."""


def missing(value: Any) -> bool:
    """Whether there is no finite number."""
    return value is None or type(value).__name__ == "NAType" or not math.isfinite(value)


def number(value: Any, digits: int = 2, sign: bool = False) -> str:
    """A number with so many decimals.

    >>> number(-0.001, 2), number(1234.5, 1, sign=True), number(0.001, 1, sign=True), number(None)
    ('0.00', '+1,234.5', '0.0', '–')
    """
    if missing(value):
        return NONE
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:{'+' if sign else ''},.{digits}f}"


def digits_of(size: Any) -> int:
    """Decimals that a half-width of this size supports.

    >>> digits_of(7.1), digits_of(4.5), digits_of(0.9), digits_of(0.07), digits_of(0)
    (0, 1, 1, 2, 2)
    """
    if missing(size) or size <= 1e-9:  # nothing but rounding
        return 2
    return 0 if size > 5 else min(6, max(1, math.ceil(-math.log10(size / 2) - 1e-9)))


def points(value: Any, half: Any = None, sign: bool = False) -> str:
    """A number of points: with the digits that a half-width supports, else three significant ones.

    >>> points(-20.614, 3.4), points(35.96), points(0.00012), points(1.9, 1.9)
    ('-20.6', '36.0', '0.000120', '1.9')
    """
    if missing(value):
        return NONE
    if half is not None and not missing(half) and half > 0:
        return number(value, digits_of(half), sign)
    power = math.floor(math.log10(abs(value))) if value else 0
    return number(value, max(0, 2 - power) if value else 0, sign) if power >= -6 else f"{value:.3g}"


def ci_digits(low: Any, high: Any) -> int:
    """Decimals of an interval: one more where that keeps an end from being shown as 0 though 0 is excluded.

    >>> ci_digits(10.5, 11.0), ci_digits(0.04, 6), ci_digits(0.00001, 0.02545)
    (1, 2, 3)
    """
    d = digits_of((high - low) / 2)
    zero = low * high > 0 and 0.0 in (round(low, d), round(high, d))
    return d + 1 if zero and 0.0 not in (round(low, d + 1), round(high, d + 1)) else d


def ci(value: Any, low: Any, high: Any, unit: str = "", sign: bool = False, digits: int | None = None) -> str:
    """A number with its interval, and its unit if it is given; `digits` where a column has the same for all. An end
    that would be shown as 0 has as many more as it takes to tell on which side of 0 it is.

    >>> ci(10.77, 10.52, 11.02, "points"), ci(-28.3, -32.8, -23.8), ci(1.0, None, None)
    ('10.8 points [10.5, 11.0]', '-28.3 [-32.8, -23.8]', '1.00 (no interval)')
    >>> ci(3, 0.2, 6), ci(3, -0.2, 6)
    ('3.0 [0.2, 6.0]', '3.0 [-0.2, 6.0]')
    >>> ci(1.61, 0.002, 3.22), ci(1.2, -0.03, 2.5, sign=True)
    ('1.6 [0.002, 3.2]', '+1.2 [-0.03, +2.5]')
    """
    unit = f" {unit}" if unit else ""
    if missing(low) or missing(high):
        return f"{points(value, sign=sign)}{unit} (no interval)"
    d = ci_digits(low, high) if digits is None else digits
    hidden = [abs(x) > 1e-6 and round(x, d) == 0 for x in (low, high)]
    ends = [
        number(x, math.ceil(-math.log10(abs(x))) if small else d, sign)
        for x, small in zip((low, high), hidden, strict=True)
    ]
    return f"{number(value, d, sign)}{unit} [{ends[0]}, {ends[1]}]"


def percent(share: Any, digits: int | None = None) -> str:
    """A share from 0 to 1 in percent: whole ones, with a decimal under 10 or over 90 unless it is whole.

    >>> percent(0.613), percent(0.004), percent(1.0), percent(0.9512, 2)
    ('61%', '0.4%', '100%', '95.12%')
    """
    if missing(share):
        return NONE
    if digits is None:
        whole = abs(100 * share - round(100 * share)) < 0.05
        digits = 0 if whole or 0.1 <= abs(share) <= 0.9 else 1
    return number(100 * share, digits) + "%"


def percent_ci(share: Any, low: Any, high: Any) -> str:
    """A share with its interval, in percent.

    >>> percent_ci(0.86, 0.8, 0.91)
    '86% [80, 91]'
    """
    if missing(low) or missing(high):
        return f"{percent(share)} (no interval)"
    d = 0 if high - low >= 0.02 else 1
    return f"{number(100 * share, d)}% [{number(100 * low, d)}, {number(100 * high, d)}]"


class Estimate(NamedTuple):
    """A number with the limits of its interval, NaN where there is none."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return self.low > 0 or self.high < 0

    def times(self, factor: float) -> Estimate:
        """The estimate in another unit; a positive factor."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)

    def complement(self) -> Estimate:
        """The share of all others: the limits change places."""
        return Estimate(1 - self.value, low=1 - self.high, high=1 - self.low)


def format_share(share: Estimate) -> str:
    """A share in percent, with the digits that its interval supports.

    >>> format_share(Estimate(0.8571, 0.8, 0.9)), format_share(Estimate(0.8571, math.nan, math.nan))
    ('86%', '86%')
    """
    if missing(share.low) or missing(share.high):
        return percent(share.value)
    return f"{number(100 * share.value, _share_digits(share))}%"


def format_share_limits(share: Estimate) -> str:
    """The interval of a share in percent.

    >>> format_share_limits(Estimate(0.8571, 0.8, 0.9))
    '[80, 90]'
    """
    if missing(share.low) or missing(share.high):
        return "(no interval)"
    digits = _share_digits(share)
    return f"[{number(100 * share.low, digits)}, {number(100 * share.high, digits)}]"


def _share_digits(share: Estimate) -> int:
    return 0 if share.high - share.low >= 0.02 else 1


def format_estimate(estimate: Estimate) -> str:
    """A number and its interval, if it has one.

    >>> format_estimate(Estimate(0.68, 0.551, 0.81)), format_estimate(Estimate(0.68, math.nan, math.nan))
    ('0.68 [0.55, 0.81]', '0.68')
    """
    if missing(estimate.low) or missing(estimate.high):
        return number(estimate.value)
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def p_value(value: Any) -> str:
    """A p-value in a sentence.

    >>> p_value(0.0312), p_value(7.7e-7), p_value(0.0)
    ('p = 0.031', 'p < 1e-6', 'p < 1e-15')
    """
    if missing(value):
        return "no p-value"
    if value >= 0.001:
        return f"p = {value:.2g}"
    power = math.ceil(math.log10(value) + 1e-9) if value >= 1e-15 else -15
    return "p < 0.001" if power >= -3 else f"p < 1e{power}"


def threshold(text: str | float, scale: tuple[float, float] = (-math.inf, math.inf)) -> tuple[float, str]:
    """A pass mark on a scale: "4" passes above 4, ">=4" from 4 on.

    >>> threshold("4"), threshold(">=4"), threshold("> 70", (0, 100))
    ((4.0, '>'), (4.0, '>='), (70.0, '>'))
    """
    from polyjudge.base.errors import UsageError

    said = str(text).strip()
    how = ">=" if said.startswith(">=") else ">"
    try:
        value = float(said.removeprefix(">=").removeprefix(">"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"A threshold is a number: '4' passes scores above 4, '>=4' from 4 on, not {said[:40]!r}.")
    if not scale[0] <= value <= scale[1]:
        raise UsageError(
            f"The pass mark {value:g} is outside the scale: scores are from {scale[0]:g} to {scale[1]:g}. If the scale "
            "goes further: --range LOW:HIGH."
        )
    return value, how
