"""Systems and clusters in a panel: where they come from, how they are averaged, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.columns import doubts, find_columns
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.fill import average_systems
from refusals import refused


@pytest.fixture(scope="module")
def full() -> pj.Panel:
    """20 tasks in 7 clusters x 4 systems x 3 languages x 3 judges x 2 replicates."""
    return pj.simulate_panel(20, 3, 3, 2, seed=3, systems=4, clusters=7)[0]


def test_arrays_of_a_panel_with_systems(full: pj.Panel) -> None:
    assert full.system_replicates is not None
    assert full.system_scores is not None
    assert full.replicate_scores is not None
    assert full.system_scores.shape == (20, 4, 3, 3)
    np.testing.assert_allclose(full.system_scores, full.system_replicates.mean(axis=-1))
    np.testing.assert_allclose(full.scores, full.system_scores.mean(axis=1))
    np.testing.assert_allclose(full.replicate_scores, full.system_replicates.mean(axis=1))
    assert full.n_scores == 20 * 4 * 3 * 3 * 2
    assert len(full.clusters) == 7
    assert full.cluster.shape == (20,)


def test_shares_at_the_ends_are_of_single_scores() -> None:
    """Means over systems hide scores at the floor."""
    scores = np.random.default_rng(1).uniform(20, 80, (30, 4, 2, 3))
    scores[:, 0, :, 1] = 0.0
    scores[0] = 100.0
    panel = pj.Panel.from_array(scores, systems="abcd")
    assert panel.singles.shape == (30, 2, 3, 4)
    from polyjudge.second.questions.audit.robustness import pile_up

    found = pile_up(panel).set_index("judge")["floor"]
    assert found["judge2"] == pytest.approx(0.25, abs=0.02)
    assert found["judge1"] == 0


def test_without_clusters_every_task_is_its_own() -> None:
    panel, _ = pj.simulate_panel(5, 2, 2)
    assert not panel.clustered
    np.testing.assert_array_equal(panel.cluster, np.arange(5))


def test_fingerprint_without_systems_is_the_one_it_always_was() -> None:
    plain, _ = pj.simulate_panel(6, 2, 3, seed=1)
    assert plain.fingerprint == "55cae6e2d19e0118074da63dad992ba397b5bca69e6d9cd8c23819e00d09b1a7"
    clustered = pj.Panel.from_array(plain.scores, plain.tasks, plain.languages, plain.judges, clusters=("a", "b"),
                                    cluster=np.arange(6) % 2)  # fmt: skip
    assert clustered.fingerprint != plain.fingerprint


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "duckdb table"])
def test_long_form_reads_back(full: pj.Panel, kind: str, tmp_path: Path) -> None:
    frame = full.to_long()
    assert list(frame) == ["task", "system", "language", "judge", "replicate", "cluster", "score"]
    source: object = frame
    if kind == "csv":
        source = tmp_path / "s.csv"
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        source = tmp_path / "s.parquet"
        frame.to_parquet(source)
    elif kind == "duckdb table":
        import ibis

        con = ibis.duckdb.connect()
        con.con.register("frame", frame)
        con.con.execute("CREATE TABLE s AS SELECT * FROM frame")
        source = con.table("s")
    back = pj.read_panel(source)
    assert back.fingerprint == full.fingerprint
    assert back.systems == full.systems
    np.testing.assert_array_equal(back.cluster, full.cluster)


def test_order_of_rows_does_not_matter(full: pj.Panel) -> None:
    frame = full.to_long().sample(frac=1, random_state=1)
    back = pj.read_panel(frame)
    again = back.select(full.tasks, full.languages, full.judges, full.replicates, full.systems)
    np.testing.assert_allclose(again.scores, full.scores, atol=1e-12)


def test_selecting_systems(full: pj.Panel) -> None:
    part = full.select(systems=full.systems[:2], tasks=full.tasks[3:9])
    assert full.system_scores is not None
    np.testing.assert_allclose(part.scores, full.system_scores[3:9, :2].mean(axis=1))
    assert part.n_scores == 6 * 2 * 9 * 2
    assert set(part.clusters) == {full.clusters[c] for c in full.cluster[3:9]}
    one = full.select(systems=[full.systems[2]])
    assert one.systems == ()
    np.testing.assert_allclose(one.scores, full.system_scores[:, 2])
    with refused(PanelError, "nobody", "system4"):
        full.select(systems=["nobody"])


def test_units_of_task_and_system(full: pj.Panel) -> None:
    units = full.by_system()
    assert units.shape == (80, 3, 3)
    assert units.clusters == full.clusters
    assert len(np.unique(units.cluster)) == 7
    np.testing.assert_allclose(units.cell_means, full.cell_means)
    unclustered = pj.simulate_panel(5, 2, 2, systems=3)[0].by_system()
    assert unclustered.clusters == pj.simulate_panel(5, 2, 2)[0].tasks
    np.testing.assert_array_equal(unclustered.cluster, np.repeat(np.arange(5), 3))


def test_calibrated_panel_keeps_systems_replicates_and_clusters(full: pj.Panel) -> None:
    cal = pj.ConsensusCalibrator().fit(full)
    out = cal.transform(full)
    assert out.systems == full.systems
    assert out.clusters == full.clusters
    assert out.system_replicates is not None
    assert full.system_replicates is not None
    shift = cal.interaction_.to_numpy()
    np.testing.assert_allclose(out.system_replicates, full.system_replicates - shift[..., None])
    np.testing.assert_allclose(double_centre(out.cell_means), 0, atol=1e-10)


# --- missing systems ---


def favouring(rng: np.random.Generator) -> np.ndarray:
    """(60, 5, 4, 4): large differences between systems, a judge that favours one, a language that suits another."""
    scores = rng.normal(0, 1, (60, 5, 4, 4)) + np.array([30.0, 10, 0, -10, -30])[:, None, None]
    scores += rng.normal(0, 5, (60, 5, 1, 1))
    scores[:, 0, :, 1] += 20
    scores[:, 1, 2, :] -= 15
    return scores


@pytest.mark.parametrize("hole", ["a system absent in a language", "at random", "one judge skips weak systems"])
def test_missing_systems_make_no_interaction(hole: str) -> None:
    rng = np.random.default_rng(5)
    whole = favouring(rng)
    scores = whole.copy()
    if hole == "at random":
        scores[rng.random(scores.shape) < 0.2] = np.nan
    elif hole == "a system absent in a language":
        scores[:, 0, 3] = np.nan
    else:
        scores[rng.random(60) < 0.7, 4, 2, 2] = np.nan
    truth = double_centre(whole.mean(axis=(0, 1)))
    panel = pj.Panel.from_array(scores, systems="abcde")
    assert panel.complete
    assert not panel.systems_complete
    plain = double_centre(np.nanmean(scores, axis=1).mean(axis=0))
    assert np.abs(double_centre(panel.cell_means) - truth).max() < 0.4
    assert np.abs(plain - truth).max() > 3 * np.abs(double_centre(panel.cell_means) - truth).max()


def test_filling_is_the_least_squares_fit() -> None:
    """Additive truth without noise comes back exactly, and entries without any system stay missing."""
    rng = np.random.default_rng(2)
    cells, systems = rng.normal(0, 9, (12, 1, 3, 4)), rng.normal(0, 9, (12, 4, 1, 1))
    truth = cells + systems + rng.normal(0, 3, (1, 4, 3, 4))
    scores = np.where(rng.random(truth.shape) < 0.25, np.nan, truth)
    scores[0, :, 1, 1] = np.nan
    out = average_systems(scores, np.ones(12))
    assert np.isnan(out[0, 1, 1])
    there = ~np.isnan(out)
    np.testing.assert_allclose(out[there], truth.mean(axis=1)[there], atol=1e-5)


def test_missing_systems_are_said() -> None:
    frame = pj.simulate_panel(6, 2, 2, systems=3)[0].to_long()
    panel = pj.read_panel(frame[~((frame["system"] == "system2") & (frame["language"] == "language1"))])
    assert {"count": 12, "all": 72} in [n.values for n in panel.notes]


# --- which column ---


@pytest.mark.parametrize("name", ["system", "candidate", "framework", "agent", "variant", "prompt_version", "model"])
def test_usual_names_of_the_system(name: str) -> None:
    assert find_columns(["task", "language", "judge", "score", name]).system == name


def test_a_lone_model_is_asked_about_and_beside_a_judge_it_is_the_system() -> None:
    with refused(PanelError, "model", "--judge model"):
        find_columns(["task", "language", "model", "score"])
    assert find_columns(["task", "language", "model", "score"], judge="model").system is None
    found = find_columns(["task", "language", "evaluator", "model", "score"])
    assert (found.judge, found.system) == ("evaluator", "model")


def test_two_possible_systems_are_an_error_and_an_empty_name_says_none() -> None:
    names = ["task", "language", "judge", "score", "agent", "variant"]
    with refused(PanelError, "agent", "variant", "--system agent"):
        find_columns(names)
    assert find_columns(names, system="").system is None
    assert find_columns(names, system="agent").system == "agent"


@pytest.mark.parametrize("name", ["document", "source", "template", "cluster"])
def test_clusters_are_not_guessed(name: str) -> None:
    found = find_columns(["task", "language", "judge", "score", name])
    assert found.cluster == (name if name == "cluster" else None)


def test_doubtful_columns() -> None:
    names = ["task", "language", "judge", "score", "framework", "epoch", "run"]
    assert doubts(names, find_columns(names)) == {"framework": "system", "epoch": "replicate", "run": ""}
    sure = {"system": "framework", "replicate": "run"}
    assert doubts(names, find_columns(names, **sure), sure.values()) == {}


def test_a_lone_framework_is_the_system_and_that_is_said(devai_like_path: Path) -> None:
    panel = pj.read_panel(devai_like_path)
    assert len(panel.systems) == 3
    assert panel.replicates == ()
    assert ("read.taken", {"column": "framework", "role": "system"}) in [(n.code, n.values) for n in panel.notes]
    as_published = pj.read_panel(devai_like_path, replicate="framework")
    assert as_published.systems == ()
    assert len(as_published.replicates) == 3
    np.testing.assert_allclose(as_published.scores, panel.scores)


def test_a_system_that_is_not_crossed_is_left_aside_and_said() -> None:
    frame = pj.simulate_panel(6, 2, 2)[0].to_long()
    panel = pj.read_panel(frame.assign(model=frame["task"]))
    assert panel.systems == ()
    assert "panel.no-system" in [n.code for n in panel.notes]
    assert any(n.values.get("systems") == 1 for n in pj.read_panel(frame.assign(system="x")).notes)


# --- clusters ---


def test_a_task_in_two_clusters_is_an_error() -> None:
    frame = pj.simulate_panel(6, 2, 2)[0].to_long()
    frame["source"] = ["one" if i % 2 else "two" for i in range(len(frame))]
    with refused(PanelError, "task1", "source", "--cluster"):
        pj.read_panel(frame, cluster="source")


def test_a_task_without_a_cluster_is_its_own() -> None:
    frame = pj.simulate_panel(4, 2, 2)[0].to_long()
    frame["cluster"] = [None if t in ("task3", "task4") else "a" for t in frame["task"]]
    np.testing.assert_array_equal(pj.read_panel(frame).cluster, [0, 0, 1, 2])


def test_one_cluster_is_an_error() -> None:
    frame = pj.simulate_panel(4, 2, 2)[0].to_long().assign(cluster="a")
    with refused(PanelError, "cluster", "a"):
        pj.read_panel(frame)


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_cluster_is_hashed_as_a_whole(engine: str, grouped: bool, tmp_path: Path) -> None:
    panel, _ = pj.simulate_panel(200, 2, 2, systems=2, clusters=50, seed=1)
    frame = panel.to_long()
    frame["kind"] = pd.factorize(frame["task"])[0] % 2
    source: object = frame
    if engine == "ibis":
        import ibis

        frame.to_parquet(tmp_path / "s.parquet")
        source = ibis.duckdb.connect().read_parquet(tmp_path / "s.parquet")
    units = pj.read_panel(source, max_units=40, group="kind" if grouped else None)
    assert units.n_tasks == 200
    assert units.systems == panel.systems
    np.testing.assert_allclose(units.cell_means, panel.cell_means)
    import hashlib

    place = {c: int(hashlib.md5(c.encode()).hexdigest()[:8], 16) % (20 if grouped else 40) for c in panel.clusters}
    assert len(units.clusters) == len(set(place.values()))
    sizes = pd.Series([place[panel.clusters[c]] for c in panel.cluster]).value_counts().sort_index().to_numpy()
    np.testing.assert_array_equal(np.bincount(units.cluster, units.weights), sizes)


def test_simulated_clusters_share_what_was_asked() -> None:
    panel, _ = pj.simulate_panel(3000, 2, 2, clusters=300, cluster_share=0.3, seed=2)
    values = double_centre(panel.scores)[:, 0, 0]
    by = pd.Series(values).groupby(panel.cluster)
    between, within = by.mean().var(), by.var().mean()
    share = (between - within / 10) / (between - within / 10 + within)
    assert share == pytest.approx(0.3, abs=0.06)


def test_simulated_systems_are_seen_as_planted() -> None:
    sees = np.array([[1.0, 0.5], [0.0, 1.0]])
    panel, truth = pj.simulate_panel(2000, 2, 2, systems=3, sees=sees, noise_sd=1.0, seed=4)
    assert truth.systems is not None
    assert panel.system_scores is not None
    means = panel.system_scores.mean(axis=0)
    expected = truth.systems.quality.to_numpy()[:, None, None] * sees
    np.testing.assert_allclose(means - means.mean(axis=0), expected, atol=0.6)
