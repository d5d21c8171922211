"""The model of levels: against planted truth, and what an audit says of it."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.ordinal import _evaluate
from polyjudge.second.panel.arrays import Array
from polyjudge.second.questions.audit import uncertainty
from polyjudge.second.questions.audit.latent import asks, bounded
from polyjudge.second.report import report_of
from refusals import refused

CUTS = {2: [0.0], 4: [-1.0, 0.2, 1.3], 5: [-1.5, -0.5, 0.5, 1.5]}


def draw(
    seed: int, n: int, k: int, m: int, levels: int, interaction: float = 0.0, floor: float = 0.0
) -> tuple[pj.Panel, Array]:
    """A panel of levels 1 to `levels` from the model itself, and its planted interaction in logits."""
    rng = np.random.default_rng(seed)
    beta = interaction * double_centre(rng.normal(0, 1, (k, m)))
    latent = beta + np.linspace(-1.5, 1.5, m) + np.linspace(-1, 1, k)[:, None] - floor
    latent = latent + rng.normal(0, 1, (n, 1, 1)) + rng.logistic(size=(n, k, m))
    return pj.Panel.from_array(1.0 + (latent[..., None] > CUTS[levels]).sum(axis=-1)), beta


def counts(panel: pj.Panel) -> Array:
    scores = panel.scores.reshape(len(panel.tasks), -1)
    return (scores[..., None] == np.unique(scores)).astype(float)


def test_gradient_and_hessian_are_those_of_the_likelihood() -> None:
    panel, _ = draw(1, 12, 2, 3, 4)
    rng = np.random.default_rng(0)
    at = np.array([*CUTS[4], *rng.normal(0, 0.5, 6), 0.8])
    _, gradient, hessian, scores, modes = _evaluate(counts(panel), at, np.zeros(12), 41)
    np.testing.assert_allclose(scores.sum(axis=0), gradient)
    for i in range(len(at)):
        step = 1e-5 * np.eye(len(at))[i]
        up, down = (_evaluate(counts(panel), at + s, modes, 41) for s in (step, -step))
        assert (up[0] - down[0]) / 2e-5 == pytest.approx(gradient[i], abs=1e-5)
        np.testing.assert_allclose((up[1] - down[1]) / 2e-5, hessian[i], atol=1e-5)


@pytest.mark.statistical
def test_intervals_hold_planted_cells() -> None:
    own, band = [], []
    for seed in range(40):
        panel, beta = draw(seed, 30, 3, 3, 2 if seed % 2 else 5, 0.6)
        cells = bounded(panel, resamples=200).cells
        own.append(((cells["low"] <= beta.ravel()) & (beta.ravel() <= cells["high"])).mean())
        band.append(((cells["band_low"] <= beta.ravel()) & (beta.ravel() <= cells["band_high"])).all())
    assert 0.92 <= np.mean(own) <= 0.985  # of 360 correlated cells, standard error about 1.5%
    assert np.mean(band) >= 0.88


def test_an_interaction_that_the_floor_makes_does_not_survive() -> None:
    """Latent scores are additive; in points the floor makes a clear interaction of them."""
    panel, _ = draw(0, 600, 3, 3, 5, floor=2.0)
    found = bounded(panel)
    assert found.reason == "few-levels"
    assert found.cells["linear_clear"].sum() >= 4
    assert found.cells["latent"].abs().max() < 0.5
    assert not found.survives
    assert (found.cells["agrees"] == "lost").any()
    assert found.verdict.code == "bounded.fails"
    audit = pj.audit(panel, resamples=100)
    assert audit.explanation.latent  # it is decided without the ends, and nothing is off
    assert audit.explanation.kind == "none"
    assert "bounded-fails" not in [f.code for f in audit.findings]
    assert audit.advice.state == "ends"
    assert audit.to_dict()["bounded"]["survives"] is False
    report = report_of(audit)
    assert report is not None
    assert "bounded" in [section.name for section in report.sections]


def test_one_that_is_there_survives_and_steps_do_not_matter() -> None:
    """The model sees the order of levels alone: any increasing rewriting of the scores gives the same."""
    panel, beta = draw(5, 200, 3, 4, 5, 0.8)
    found = bounded(panel, resamples=200)
    assert found.survives
    assert np.corrcoef(found.cells["latent"], beta.ravel())[0, 1] > 0.95
    bent = panel.with_scores(np.exp(panel.scores))
    np.testing.assert_allclose(bounded(bent, resamples=200).cells["latent"], found.cells["latent"])
    assert found.verdict.code == "bounded.survives"


def test_a_cell_with_all_scores_at_one_end_has_a_wide_interval() -> None:
    panel, _ = draw(2, 30, 3, 3, 2)
    scores = panel.scores.copy()
    scores[:, 0, 0] = 1.0
    found = bounded(pj.Panel.from_array(scores))
    assert found.cells["separated"].tolist() == [True] + [False] * 8
    assert np.isfinite(found.cells["latent"]).all()
    assert found.cells["se"][0] > 1.2 * found.cells["se"][1:].max()
    assert (found.notes[0].code, found.notes[0].values["count"]) == ("bounded.separated", 1)


def test_scores_are_cut_by_the_stated_rule() -> None:
    rng = np.random.default_rng(1)
    scores = np.clip(rng.normal(20, 30, (40, 3, 3)), 0, None)
    found = bounded(pj.Panel.from_array(scores))
    assert found.reason == "ends"
    assert found.binned
    assert len(found.levels) == 6
    first = found.levels.iloc[0]
    assert first["low"] == first["high"] == 0
    assert found.levels["share"][1:].max() - found.levels["share"][1:].min() < 0.01
    assert asks(pj.Panel.from_array(rng.normal(0, 1, (40, 3, 3)))) is None


def test_holes_clusters_systems_and_errors() -> None:
    panel, _ = draw(4, 24, 3, 3, 5)
    scores = panel.scores.copy()
    scores[:3, 1, 1] = np.nan
    assert np.isfinite(bounded(pj.Panel.from_array(scores)).cells["se"]).all()
    # The same answers twice in clusters of two bring no news: standard errors stay as they were.
    twice = np.concatenate([panel.scores, panel.scores])
    pairs = np.tile(np.arange(24), 2)
    clustered = pj.Panel.from_array(twice, clusters=[f"c{i}" for i in range(24)], cluster=pairs)
    np.testing.assert_allclose(bounded(clustered).cells["se"], bounded(panel).cells["se"], rtol=1e-5)
    two = pj.Panel.from_array(np.stack([panel.scores, panel.scores[::-1]], axis=1), systems=["a", "b"])
    assert len(bounded(two).cells) == 9
    scores[:, 1, 1] = np.nan
    with refused(pj.PanelError, "judge2", "language2"):
        bounded(pj.Panel.from_array(scores), linear=uncertainty(panel))
    with refused(pj.PanelError, "equal"):
        bounded(pj.Panel.from_array(np.ones((5, 2, 2))))
