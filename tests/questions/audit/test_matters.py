"""Materiality and the certificate of invariance."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.panel.errors import UsageError
from polyjudge.questions.audit.matters import materiality, what_matters
from refusals import refused


def test_two_percent_of_the_scale_matter_unless_said_otherwise() -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).uniform(1, 5, (9, 3, 3)), declared_range=(1, 5))
    assert what_matters(panel) == pytest.approx(0.08)
    assert what_matters(panel, 0.5) == 0.5
    for wrong in (-1.0, float("nan"), float("inf")):
        with refused(UsageError, "matters", wrong):
            what_matters(panel, wrong)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(2.1, 9, "material"), (-9, -2.1, "material"), (-2, 2, "negligible"), (1, 3, "open"), (-9, 9, "open")],
)
def test_materiality(low: float, high: float, found: str) -> None:
    assert materiality(low, high, 2.0) == found


def test_certificate_is_the_largest_limit_of_any_band() -> None:
    u = pj.uncertainty(pj.simulate_panel(tasks=60, interaction=0.0, seed=2)[0])
    c = pj.certificate(u, 1.0)
    cells = u.to_frame()
    assert c.delta == max(cells["band_low"].abs().max(), cells["band_high"].abs().max())
    assert pj.certificate(u, c.delta).status == "certified"
    assert pj.certificate(u, c.delta * 0.999).status != "certified"
    assert pj.certificate(u, 0.0).status == ("refuted" if u.clear else "open")
    assert sum(c.counts.values()) == len(cells)


def test_an_open_certificate_closes_at_about_the_tasks_it_asks_for() -> None:
    small, _ = pj.simulate_panel(tasks=40, interaction=0.0, seed=3)
    c = pj.certificate(pj.uncertainty(small), 3.0)
    assert c.status == "open"
    assert c.tasks_needed is not None
    more, _ = pj.simulate_panel(tasks=c.tasks_needed, interaction=0.0, seed=4)
    assert pj.certificate(pj.uncertainty(more), 3.0).status == "certified"


@pytest.mark.statistical
def test_certificates_hold_at_their_level() -> None:
    """The true interaction lies within delta in at least 95% of panels."""
    held = 0
    for seed in range(120):
        panel, truth = pj.simulate_panel(tasks=40, languages=5, judges=4, interaction=2.0, seed=seed)
        c = pj.certificate(pj.uncertainty(panel, resamples=300, seed=seed), 2.0)
        held += bool(np.abs(truth.interaction.to_numpy()).max() <= c.delta)
    assert held >= 120 * 0.95 - 2 * np.sqrt(120 * 0.05 * 0.95)
