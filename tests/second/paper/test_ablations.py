"""Fewer judges, fewer tasks, slices: published values, the arithmetic in them, and what a slice is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Grouping
from polyjudge.second.paper import ablate
from polyjudge.second.paper.ablations import ablate_judges, ablate_tasks
from polyjudge.second.paper.draws import plain_draws, subset_draws
from refusals import refused


def test_devai_judges(devai: pj.Panel, published: dict[str, Any]) -> None:
    want = published["ablation_judges"]
    table = ablate(devai, "judges").to_frame()
    np.testing.assert_allclose(table["tau"], want["tau"], atol=0.01)
    np.testing.assert_allclose(table["sd"], want["sd"], atol=0.02)
    assert table["subsets"].tolist() == [15, 20, 15, 6, 1]
    for i, size in enumerate(want["m"]):  # the published draws give the published values
        row = ablate_judges(devai, [size], draws=plain_draws(55, 100, 7 + size)).to_frame().iloc[0]
        assert [row.tau, row.sd] == pytest.approx([want["tau"][i], want["sd"][i]], abs=1e-6)


def test_mean_tau_over_judge_subsets_is_arithmetic(devai_like: pj.Panel) -> None:
    result = ablate(devai_like, "judges", resamples=64)
    table = result.to_frame()
    np.testing.assert_allclose(table["tau"], table["tau"].iloc[-1], atol=1e-4)
    # The gain too: it grows with the share 1 - 1/judges that a judge keeps of its own deviation.
    share = 1 - 1 / table["judges"]
    np.testing.assert_allclose(table["gain"] / share, table["gain"].iloc[-1] / share.iloc[-1], rtol=1e-9)
    assert result.identity.code == "ablation.judges-identity"
    assert str(result.identity)[:40] in " ".join(repr(result).split())


def test_devai_tasks(devai: pj.Panel, published: dict[str, Any]) -> None:
    want = published["ablation_tasks"]
    table = ablate(devai, "tasks").to_frame()
    np.testing.assert_allclose(table["tau"], want["tau"], atol=0.02)
    np.testing.assert_allclose(table["error"], want["mean_abs_beta_error"], atol=0.1)
    assert table["bound_all_scores"].iloc[-1] == pytest.approx(9.96, abs=0.01)
    assert (table["error_high"] < table["bound"]).all()
    rng = np.random.default_rng(107)
    draws = {size: subset_draws(55, size, 100, rng) for size in want["n"]}
    exact = ablate_tasks(devai, draws=draws).to_frame()
    np.testing.assert_allclose(
        exact[["tau", "sd", "error"]].T, [want["tau"], want["sd"], want["mean_abs_beta_error"]], atol=1e-6
    )


def test_many_judges_are_sampled() -> None:
    panel, _ = pj.simulate_panel(tasks=6, languages=2, judges=14, seed=1)
    result = ablate(panel, "judges", sizes=[7], resamples=5)
    assert result.to_frame()["subsets"].tolist() == [1000]
    assert (result.notes[0].values["drawn"], result.notes[0].values["all"]) == (1000, 3432)


def test_groups_of_tasks_and_of_rows() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4, seed=1)
    halves = np.arange(20) % 2
    by_task = pj.Panel.from_array(panel.scores, grouping=Grouping("kind", ("even", "odd"), halves))
    table = ablate(by_task, "groups", resamples=100).to_frame().set_index("group")
    compared = pj.compare(by_task.slice("odd"), ["raw", "cbc"], resamples=100)
    part = compared.to_frame().set_index("method")
    assert table.loc["odd", ["raw", "tau", "gain"]].tolist() == pytest.approx(
        [part.loc["raw", "tau"], part.loc["cbc", "tau"], compared.resample_gain["cbc"].mean()]
    )
    assert table["tasks"].tolist() == [10, 10]
    scores = np.stack([panel.scores + 1, panel.scores - 1])
    scores[1, :5] = np.nan
    counts = np.isfinite(scores).astype(np.int64)
    by_row = pj.Panel.from_array(panel.scores, grouping=Grouping("type", ("a", "b"), None, scores, counts))
    assert ablate(by_row, "groups", resamples=64).to_frame()["tasks"].tolist() == [20, 15]


def test_a_group_too_small_is_named_not_hidden() -> None:
    panel, _ = pj.simulate_panel(tasks=9, languages=3, judges=4, seed=1)
    codes = np.array([0] * 8 + [1])
    grouped = pj.Panel.from_array(panel.scores, grouping=Grouping("kind", ("many", "one"), codes))
    result = ablate(grouped, "groups", resamples=64)
    assert result.to_frame()["group"].tolist() == ["many"]
    assert any(n.code == "ablation.group-fails" and n.values["group"] == "one" for n in result.notes)


def test_bad_arguments() -> None:
    panel, _ = pj.simulate_panel(tasks=9, languages=3, judges=4, seed=1)
    with refused(UsageError, "by", "frameworks", "groups"):
        ablate(panel, "frameworks")  # type: ignore[arg-type]
    with refused(UsageError, 1, 5, 2, 4):
        ablate(panel, "judges", sizes=[1, 5])
    with refused(UsageError, "sizes", "groups"):
        ablate(panel, "groups", sizes=[2])
    with refused(pj.PanelError, "--group"):
        ablate(panel, "groups")


def test_small_and_holed_panels() -> None:
    tiny = pj.Panel.from_array(np.random.default_rng(1).normal(size=(3, 2, 2)))
    result = ablate(tiny, "tasks", sizes=[2, 3])
    assert "ablation.skipped" in [n.code for n in result.notes]
    holed, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, seed=3, missing=0.1)
    for by in ("judges", "tasks"):
        assert np.isfinite(ablate(holed, by).to_frame()[["tau", "gain"]].to_numpy()).all()  # type: ignore[arg-type]
