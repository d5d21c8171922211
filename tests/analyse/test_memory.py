"""A small file must not take all memory: what is quadratic in thousands is refused at once, with what would do."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.core.errors import PanelError


@pytest.mark.parametrize("shape", [(2, 2, 5000), (2, 300, 300), (2, 5000, 2)])
def test_thousands_of_judges_or_languages_end_at_once(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]
) -> None:
    monkeypatch.setenv("POLYJUDGE_MEMORY", "4GB")
    panel = pj.Panel.from_array(np.random.default_rng(0).uniform(0, 100, shape))
    tracemalloc.start()
    try:
        with pytest.raises(PanelError, match="--memory"):
            pj.audit(panel)
        assert tracemalloc.get_traced_memory()[1] < 1 << 30
    finally:
        tracemalloc.stop()


def test_the_budget_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.core.memory import require

    monkeypatch.setenv("POLYJUDGE_MEMORY", "1GB")
    require(1 << 29, "This")
    with pytest.raises(PanelError, match=r"2\.0 GB"):
        require(2 << 30, "This")
