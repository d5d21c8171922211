"""Clusters of tasks are what is resampled: coverage with them and without, and the same answer from cluster means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.anchored import estimate_shift
from polyjudge.second.estimate.crossfit import crossfit
from polyjudge.second.estimate.incomplete import by_cluster, estimate_interaction
from polyjudge.second.estimate.kernels import draw_blocks
from polyjudge.second.estimate.resample import mean_and_se
from polyjudge.second.panel.gold import align_gold
from polyjudge.second.questions.audit import gates, rank_reversals, uncertainty
from polyjudge.second.questions.audit.orders import tied_sets
from polyjudge.second.questions.compare.held_out import resample
from polyjudge.second.questions.drift.drift import drift
from polyjudge.second.simulate import simulate_panel


def without(panel: pj.Panel) -> pj.Panel:
    return replace(panel, clusters=(), cluster=np.arange(len(panel.tasks)))


@pytest.mark.statistical
@pytest.mark.parametrize(("tasks", "clusters"), [(60, 12), (120, 24)])
def test_the_band_holds_with_clusters_and_not_without(tasks: int, clusters: int) -> None:
    held = {"with": [], "without": []}
    for seed in range(100):
        panel, truth = simulate_panel(tasks, 5, 5, seed=seed, clusters=clusters, cluster_share=0.3, interaction=3.0)
        planted = truth.interaction.to_numpy().ravel()
        for name, p in (("with", panel), ("without", without(panel)))[: 1 if seed >= 40 else 2]:
            cells = uncertainty(p, resamples=200, seed=seed).to_frame()
            low, high = cells[["band_low", "band_high"]].to_numpy().T
            held[name].append(((low <= planted) & (planted <= high)).all())
    assert np.mean(held["with"]) >= 0.93 - 2 * np.sqrt(0.07 * 0.93 / 100)
    assert np.mean(held["without"]) < 0.75


def test_whole_clusters_are_drawn_and_left_out() -> None:
    panel, _ = simulate_panel(60, 3, 3, seed=1, clusters=12)
    counts = np.concatenate(list(draw_blocks(60, 70, 7, panel.cluster)))
    for c in range(12):
        members = counts[:, panel.cluster == c]
        assert (members == members[:, :1]).all()
    assert (counts[:, [0]] != counts[:, 1:12]).any()
    for block, _ in resample(panel, 64, 7):
        drawn = block.drawn > 0
        for c in range(12):
            assert (drawn[:, panel.cluster == c].all(axis=1) == drawn[:, panel.cluster == c].any(axis=1)).all()
    fold = crossfit(panel, 7).fold
    assert all(len(set(fold[panel.cluster == c])) == 1 for c in range(12))


def test_cluster_means_as_tasks_give_the_same_answers() -> None:
    panel, _ = simulate_panel(60, 3, 4, seed=2, clusters=12)
    scores, weights = by_cluster(panel.scores, panel.weights, panel.cluster)
    means = pj.Panel.from_array(scores, panel.clusters, panel.languages, panel.judges, weights=weights)
    for call in (
        lambda p: uncertainty(p).to_frame(),
        lambda p: rank_reversals(p).to_frame(),
        lambda p: tied_sets(p).to_frame(),
        lambda p: pj.compare(p, ["cbc", "judge-only norm"], resamples=64).to_frame()[["gain", "gain_low", "gain_high"]],
    ):
        pd.testing.assert_frame_equal(call(panel), call(means))
    estimate = estimate_interaction(panel)
    np.testing.assert_allclose(estimate.se, mean_and_se(estimate.influence, panel.weights, panel.cluster)[1])


def test_labels_and_gates_know_clusters() -> None:
    panel, _ = simulate_panel(60, 3, 4, seed=3, clusters=12, cluster_share=0.6)
    rng = np.random.default_rng(0)
    gold = pd.DataFrame(
        [(t, x, rng.normal(50, 3)) for t in panel.tasks for x in panel.languages], columns=["task", "language", "score"]
    )
    wide, narrow = (estimate_shift(p, align_gold(p, gold)) for p in (panel, without(panel)))
    assert (wide.clusters == 12).all()
    assert (narrow.clusters == 60).all()
    assert (wide.variance > narrow.variance).all()
    widths = []
    for p in (panel, without(panel)):
        frame = pj.anchor(p, gold, resamples=200).table
        widths.append((frame["raw_high"] - frame["raw_low"]).mean())
    assert widths[0] > widths[1]
    assert gates(panel, 50, resamples=200).held_out_low <= gates(without(panel), 50, resamples=200).held_out_high


def test_every_analysis_takes_clusters_with_holes() -> None:
    panel, _ = simulate_panel(60, 3, 4, replicates=2, seed=4, clusters=12, missing=0.05)
    audit = pj.audit(panel, resamples=100, threshold=50)
    assert np.isfinite(audit.uncertainty.to_frame()["band_high"]).all()
    assert drift(pj.ConsensusCalibrator().fit(panel), panel).p_global > 0.5
