"""Numbers and differences of scores as the answers say them: "all five", "3.1 points [1.2, 5.0]"."""

from __future__ import annotations

from polyjudge.base.numbers import ci
from polyjudge.base.text import plural
from polyjudge.panel import Panel

NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def spelled(number: int) -> str:
    """A small number as a word.

    >>> spelled(5), spelled(12)
    ('five', '12')
    """
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else f"{number:,}"


def every(number: int, noun: str, lower: bool = False) -> str:
    """All of so many.

    >>> every(2, "judge"), every(5, "judge", lower=True)
    ('Both judges', 'all five judges')
    """
    said = f"Both {plural(noun)}" if number == 2 else f"All {spelled(number)} {plural(noun)}"
    return said[0].lower() + said[1:] if lower else said


def amount(panel: Panel, value: float, low: float, high: float, unit: bool = True, sign: bool = False) -> str:
    """A difference of scores with its interval, in points or percentage points."""
    f = panel.factor
    said = ci(f * value, f * low, f * high, panel.unit_name if unit else "", sign)
    many = f"1 {panel.unit_name} "
    return f"1 {panel.unit_name[:-1]} {said.removeprefix(many)}" if said.startswith(many) else said


def size(panel: Panel, value: float) -> str:
    """A difference of scores without interval: "1 point", "2.5 points"."""
    said = f"{panel.factor * value:.3g}"
    return f"{said} {panel.unit_name[:-1] if said == '1' else panel.unit_name}"


def tiny_of(panel: Panel) -> float:
    """Values this close are tied: 1e-9 of the scale."""
    return 1e-9 * (panel.width if panel.width > 1e-200 else 1.0)
