"""Sensitivity: left-out judges and tasks by hand, links, pile-up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.questions.audit import rank_reversals, sensitivity, uncertainty
from polyjudge.second.questions.audit.robustness import link_functions, pile_up, spearman


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=25, languages=4, judges=4, seed=8)[0]


def test_left_out_judges_are_smaller_panels(panel: pj.Panel) -> None:
    result = sensitivity(panel, resamples=100)
    for row in result.judges.itertuples():
        rest = panel.select(judges=[j for j in panel.judges if j != row.judge])
        assert row.max_interaction == pytest.approx(np.abs(double_centre(rest.cell_means)).max())
        assert row.reversing_pairs == rank_reversals(rest, draws=19, resamples=100).count
        assert row.pairs == 3


def test_left_out_tasks_are_smaller_panels(panel: pj.Panel) -> None:
    result = sensitivity(panel, resamples=100).tasks.set_index("figure")
    largest = {
        t: np.abs(double_centre(panel.select(tasks=[x for x in panel.tasks if x != t]).cell_means)).max()
        for t in panel.tasks
    }
    row = result.loc["max_interaction"]
    assert (row["lowest"], row["highest"]) == pytest.approx((min(largest.values()), max(largest.values())))
    assert row["without_it"] == pytest.approx(largest[row["task"]])


def test_links_increase_and_spearman_is_scipys(panel: pj.Panel) -> None:
    values = np.sort(panel.scores.ravel())
    for name, link in link_functions(panel).items():
        out = link(values)
        assert np.isfinite(out).all(), name
        assert (np.diff(out) >= 0).all(), name
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, (6, 20)).astype(float), rng.normal(size=(6, 20))
    np.testing.assert_allclose(spearman(a, b), [spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)])


def test_a_conclusion_made_by_the_scale_does_not_survive() -> None:
    """Additive on the logit scale, with judges near the floor: the linear interaction is the scale's."""
    rng = np.random.default_rng(0)
    latent = np.array([-3.0, -1.5, 0, 1.5, 3.0]) + np.array([-2.0, -1, 1, 2])[:, None] + rng.normal(0, 0.3, (200, 1, 1))
    noise = rng.normal(0, 0.1, (200, 4, 5))
    scores = 100 / (1 + np.exp(-(latent + noise)))
    panel = pj.Panel.from_array(scores, declared_range=(0.0, 100.0))
    result = sensitivity(panel, resamples=100)
    assert uncertainty(panel).clear > 10
    assert not result.survives
    assert "logit" in result.verdict.values["links"]
    codes = {f.code for f in pj.audit(panel, resamples=100).findings}
    assert "depends-on-scale" in codes


@pytest.mark.real_data
def test_devai_survives_links_and_leans_on_one_judge(devai: pj.Panel) -> None:
    result = sensitivity(devai)
    assert result.survives
    assert (result.links["same_reversals"] == 7).all()
    judges = result.judges.set_index("judge")["max_interaction"]
    assert judges["GPT-4o"] == pytest.approx(8.013, abs=0.001)
    ends = result.pile_up.set_index("judge")
    assert ends.loc["Qwen", "floor"] == pytest.approx(0.8606, abs=1e-4)


def test_pile_up_counts_single_scores() -> None:
    rows = np.full((10, 2, 2, 2), 5.0)
    rows[:3, :, 0] = 0.0
    rows[:, 1, 1, 0] = 10.0
    frame = pile_up(pj.Panel.from_array(rows)).set_index("judge")
    assert frame.loc["judge1", "floor"] == pytest.approx(0.3)
    assert frame.loc["judge2", "ceiling"] == pytest.approx(0.25)
    assert frame.loc["judge2", "ceiling_worst_language"] == "language2"
    assert frame.loc["judge2", "floor"] == 0


def test_two_judges_leave_none_out() -> None:
    result = sensitivity(pj.simulate_panel(10, 3, 2, seed=0)[0], resamples=100)
    assert len(result.judges) == 0
    assert "sensitivity.two-judges" in [n.code for n in result.notes]
