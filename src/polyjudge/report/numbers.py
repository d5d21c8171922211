"""Numbers as text on any score scale: as many decimals as the largest of them needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Writer = Callable[..., str]
"""(value, sign=False) -> text"""


def writer(values: Any, significant: int = 4) -> Writer:
    """How to write numbers of this size: the largest gets `significant` digits, the others as many decimals.

    >>> writer([20.614, -3.2])(-3.2, sign=True), writer([0.0206])(0.0031), writer([2.06e9])(2.06e9)
    ('-3.20', '0.00310', '2.06e+09')
    """
    array = np.abs(np.asarray(values, dtype=float))
    array = array[np.isfinite(array)]
    power = int(np.floor(np.log10(array.max()))) if array.size and array.max() > 0 else 1
    form = f".{significant}g" if power >= 6 or power < -3 else f".{max(0, significant - 1 - power)}f"

    def write(value: float, sign: bool = False) -> str:
        return f"{value:{'+' if sign else ''}{form}}" if np.isfinite(value) else "–"

    return write
