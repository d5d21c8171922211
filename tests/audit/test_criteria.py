"""Criteria that say the same."""

from __future__ import annotations

import numpy as np

from polyjudge.answers.audit.criteria import alike, alike_finding
from polyjudge.panel import Panel


def drawn(n: int = 80, s: int = 1, k: int = 3, m: int = 4, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    return 60 + g.normal(0, 8, (n, s, k, 1)) + g.normal(0, 5, (n, s, k, m)) + g.normal(0, 5, (k, m))


def test_criteria_that_say_the_same() -> None:
    y = drawn(s=3)
    g = np.random.default_rng(1)
    panels = {
        "a": Panel.from_array(y),
        "b": Panel.from_array(y + g.normal(0, 0.5, y.shape)),
        "c": Panel.from_array(g.normal(size=y.shape)),
    }
    found = alike(panels).set_index(["first", "second"])["r"]
    assert found["a", "b"] > 0.98
    assert abs(found["a", "c"]) < 0.1
    said = alike_finding(alike(panels), 80)[0].text
    assert said.startswith("The judges give a and b nearly the same score (r = ")
    two = {k: panels[k] for k in ("a", "b")}
    assert "give both criteria nearly" in alike_finding(alike(two), 80)[0].text
    assert alike_finding(alike({k: panels[k] for k in ("a", "c")}), 80) == ()
