"""Materiality, and the certificate: how far a gap between two judges may change between languages."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

import polyjudge.second as pj
from polyjudge.second.estimate import tetrads
from polyjudge.second.estimate.tetrads import gap_changes
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit import certificate, uncertainty
from polyjudge.second.questions.audit.matters import materiality, what_matters
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


def test_the_certificate_is_the_largest_limit_of_any_change_of_a_gap() -> None:
    """By hand: every two languages and two judges, |mean| + t standard errors of the change over tasks."""
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=3, interaction=1.0, seed=2)
    limits, lower = [], []
    for (a, b), (i, j) in product(combinations(range(4), 2), combinations(range(3), 2)):
        change = panel.scores[:, a, i] - panel.scores[:, a, j] - panel.scores[:, b, i] + panel.scores[:, b, j]
        size, se = abs(change.mean()), stats.sem(change)
        limits.append(size + stats.t.ppf(0.95, 39) * se)
        lower.append(size - stats.t.ppf(1 - 0.05 / 18, 39) * se)
    c = certificate(panel, 1.0)
    assert c.delta == pytest.approx(max(limits))
    assert c.change["low"] == pytest.approx(max(lower))
    bands = uncertainty(panel)
    assert certificate(panel, c.delta, bands=bands).status == "certified"
    assert certificate(panel, c.delta * 0.999, bands=bands).status == "open"
    assert certificate(panel, 0.0, bands=bands).status == ("material" if bands.clear or max(lower) > 0 else "open")
    assert sum(c.counts.values()) == 12


def test_clusters_are_the_units_of_a_certificate() -> None:
    panel, _ = pj.simulate_panel(tasks=60, languages=3, judges=3, interaction=0.0, seed=4)
    frame = panel.to_long().assign(source=[f"s{int(t.removeprefix('task')) % 6}" for t in panel.to_long()["task"]])
    assert certificate(pj.read_panel(frame, cluster="source"), 1.0).delta != certificate(panel, 1.0).delta


def test_equal_tasks_certify_no_more_than_their_number() -> None:
    """Forty equal pass/fail tasks cannot rule out what happens in 1 of 14 (Clopper and Pearson)."""
    scores = np.zeros((40, 3, 3))
    scores[:20] = 1.0
    c = certificate(pj.Panel.from_array(scores), 0.02)
    assert c.exact
    assert c.delta == pytest.approx(1 - 0.05 ** (1 / 40))
    assert c.status == "open"
    scores[:3, 1, 1] = 0.0
    seen = certificate(pj.Panel.from_array(scores), 0.02)
    assert seen.delta == pytest.approx(stats.beta.ppf(0.95, 4, 37))
    scores[:12, 1, 1] = 0.0
    assert not certificate(pj.Panel.from_array(scores), 0.02).exact


def test_a_cell_off_by_more_than_matters_is_never_certified_in_a_panel_of_two_by_two() -> None:
    fault = np.array([[2.4, 0.0], [0.0, 0.0]])
    for seed in range(20):
        panel, _ = pj.simulate_panel(600, 2, 2, interaction=fault, noise_sd=5, task_judge_sd=0, seed=seed)
        assert gap_changes(panel).widest.high > 2


def test_a_wide_panel_is_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, _ = pj.simulate_panel(40, 4, 5, interaction=2.0, seed=1)
    exact = gap_changes(panel)
    monkeypatch.setattr(tetrads, "MOST_WORK", 0.0)
    bound = gap_changes(panel)
    assert bound.widest.high > exact.widest.high
    assert bound.surest.low < exact.surest.low
    assert bound.widest.change == pytest.approx(abs(exact.widest.change), rel=0.5)


def test_an_open_certificate_closes_at_about_the_tasks_it_asks_for() -> None:
    small, _ = pj.simulate_panel(tasks=40, interaction=0.0, seed=3)
    c = certificate(small, 3.0)
    assert c.status == "open"
    assert c.tasks_needed is not None
    panels = [pj.simulate_panel(tasks=c.tasks_needed, interaction=0.0, seed=s)[0] for s in range(10)]
    assert sum(gap_changes(panel).widest.high <= 3.0 for panel in panels) >= 7


@pytest.mark.statistical
@pytest.mark.parametrize("size", [0.0, 2.0])
def test_certificates_hold_at_their_level(size: float) -> None:
    """The largest true change of a gap is at most delta in at least 95% of panels."""
    held = 0
    for seed in range(120):
        panel, truth = pj.simulate_panel(tasks=40, languages=3, judges=3, interaction=size, seed=seed)
        beta = truth.interaction.to_numpy()
        gaps = beta[:, [0, 0, 1]] - beta[:, [1, 2, 2]]
        held += bool(np.ptp(gaps, axis=0).max() <= gap_changes(panel).widest.high)
    assert held >= 120 * 0.95 - 2 * np.sqrt(120 * 0.05 * 0.95)
