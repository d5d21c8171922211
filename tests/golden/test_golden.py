"""Numbers that must stay equal (README.md beside this file): 1e-9 relative, 1e-6 where tasks were resampled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from common import shared_file
from polyjudge import cbc
from polyjudge.answers.audit.gates import gates
from polyjudge.calibrate import baselines
from polyjudge.panel import Panel
from polyjudge.paper import protocols
from polyjudge.stats.variance import components

HERE = Path(__file__).parent
EXACT, DRAWN = 1e-9, 1e-6


def golden(name: str) -> pd.DataFrame:
    return pd.read_csv(HERE / f"{name}.csv")


def same(name: str, frame: Any, tolerance: float = EXACT) -> None:
    """A computed frame with the columns of the file: words equal, numbers within the tolerance."""
    wanted = golden(name)
    assert list(frame.columns) == list(wanted.columns)
    assert len(frame) == len(wanted)
    for column in wanted:
        have, want = frame[column], wanted[column]
        if pd.api.types.is_numeric_dtype(want):
            got = have.to_numpy(float)
            np.testing.assert_allclose(got, want.to_numpy(), rtol=tolerance, atol=tolerance * 1e-2, err_msg=column)
        else:
            assert list(have.where(have.notna(), None)) == list(want.where(want.notna(), None)), column


def array(path: str, axes: tuple[str, ...], rows: Any = None) -> tuple[Any, list[list[Any]]]:
    """The scores of a shared file as an array, axes in order of their names (tasks, and languages that the golden files
    name, in theirs)."""
    frame = pd.read_csv(shared_file(path), dtype={"score": str})
    frame["score"] = [float(text) for text in frame["score"]]  # to the last bit, on every version of pandas
    frame = frame if rows is None else rows(frame)
    names = [sorted(frame[a].unique()) for a in axes]
    index = pd.MultiIndex.from_product(names, names=axes)
    return frame.set_index(list(axes))["score"].reindex(index).to_numpy().reshape([len(x) for x in names]), names


@pytest.fixture(scope="module")
def devai() -> Panel:
    beta = golden("devai_beta")
    languages, judges = list(beta["language"]), list(beta.columns[1:])
    runs, names = array("devai/run_level_scores.csv", ("task", "language", "backbone", "framework"))
    at = [names[1].index(x) for x in languages], [names[2].index(x) for x in judges]
    runs = runs[:, at[0]][:, :, at[1]][..., [names[3].index(x) for x in ("MetaGPT", "GPT-Pilot", "OpenHands")]]
    return Panel.from_array(
        runs.mean(3), tasks=names[0], languages=languages, judges=judges, scale=(0.0, 100.0), replicates=runs[:, None]
    )


@pytest.fixture(scope="module")
def gemba() -> Panel:
    axes = ("segment", "system", "language", "judge")
    scores, names = array("gemba/wmt22_da.csv.gz", axes, lambda f: f[f["segment"] < 150])
    named = dict(zip(("tasks", "systems", "languages", "judges"), [[str(x) for x in n] for n in names], strict=True))
    return Panel.from_array(scores, **named, scale=(0.0, 100.0))


@pytest.fixture(scope="module")
def ties() -> Panel:
    scores = np.random.default_rng(0).integers(0, 5, (30, 4, 5)).astype(float)
    scores[:, :, 1] = scores[:, :, 0]
    return Panel.from_array(scores, scale=(0.0, 4.0))


def scores_of(panel: Panel) -> Any:
    return panel.scores.mean(1)


def tiny(panel: Panel) -> float:
    return 1e-9 * panel.width


def cells(panel: Panel, values: Any) -> pd.DataFrame:
    frame = pd.DataFrame(values, columns=list(panel.judges))
    frame.insert(0, "language", panel.languages)
    return frame


def test_means_and_beta(devai: Panel, ties: Panel) -> None:
    same("devai_mean_score", cells(devai, cbc.cell_means(scores_of(devai))))
    same("devai_beta", cells(devai, cbc.interaction(scores_of(devai))))
    same("devai_beta", cells(devai, cbc.double_centre(devai.values().mean)))
    same("ties_beta", cells(ties, cbc.interaction(scores_of(ties))))


def test_gemba_cells(gemba: Panel) -> None:
    beta = cbc.interaction(scores_of(gemba))
    calibrated = gemba.scores - beta
    frame = pd.DataFrame({"language": np.repeat(gemba.languages, 5), "judge": np.tile(gemba.judges, 2)}).assign(
        pass_raw_above_90=(gemba.scores > 90 + tiny(gemba)).mean((0, 1)).ravel(),
        pass_calibrated_above_90=(calibrated > 90 + tiny(gemba)).mean((0, 1)).ravel(),
        mean_score=cbc.cell_means(scores_of(gemba)).ravel(),
        beta=beta.ravel(),
    )
    same("gemba150_cells", frame)
    same("gemba150_system_mean", pd.DataFrame({"system": gemba.systems, "mean_score": gemba.system_values().mean}))


@pytest.mark.parametrize("name", ["devai", "gemba150", "ties"])
def test_reversals(name: str, request: pytest.FixtureRequest) -> None:
    panel = request.getfixturevalue(name.removesuffix("150"))
    r = cbc.reversals(scores_of(panel), tiny(panel))
    judges, languages = np.array(panel.judges, object), np.array((*panel.languages, None), object)
    if name == "ties":
        languages[:-1] = ["l1", "l2", "l3", "l4"]
    found = r._asdict() | {"judge_i": judges[r.i], "judge_j": judges[r.j]}
    found |= {f"language_{x}": languages[getattr(r, f"language_{x}")] for x in "ab"}
    same(f"{name}_reversals", pd.DataFrame(found)[golden(f"{name}_reversals").columns])


@pytest.mark.parametrize(("name", "of"), [("devai", (55, 8, 6)), ("gemba150", (150, 2, 5)), ("ties", (30, 4, 5))])
def test_held_out_tau(name: str, of: tuple[int, int, int], request: pytest.FixtureRequest) -> None:
    """Every method of Table 2 (but the random control) on the paper's draws of seed 7."""
    panel = request.getfixturevalue(name.removesuffix("150"))
    whole = cbc.split(scores_of(panel), tiny=tiny(panel))
    drawn = cbc.split(scores_of(panel), protocols.held_out_draws(*of, 1000, 7)[0], tiny=tiny(panel))
    wanted = golden(f"{name}_tau_of_paper_draws_seed_7")
    labels, of_unit = baselines.full_scores(panel)
    rows = []
    for method in wanted["method"]:
        taus = []
        for s in (drawn, whole):
            block = baselines.Block(**vars(s), labels=labels, of_unit=of_unit)
            adjusted = baselines.METHODS[method](block)
            taus.append(cbc.mean_tau(adjusted, 1e-9 * baselines.WIDTH.get(method, panel.width)))
        rows.append((method, taus[0].mean(), *np.percentile(taus[0], [2.5, 97.5]), float(taus[1][0])))
    same(f"{name}_tau_of_paper_draws_seed_7", pd.DataFrame(rows, columns=list(wanted.columns)), DRAWN)


def test_unseen_languages(devai: Panel) -> None:
    wanted = golden("devai_leave_one_language_out_of_paper_draws_seed_207")
    rng = np.random.default_rng(207)
    rows = []
    for at, language in enumerate(devai.languages):
        s = cbc.split(scores_of(devai), protocols.draws(55, 1000, rng), tiny=tiny(devai))
        rows.append((language, *(x.mean() for x in cbc.leave_one_language_out(s, at))))
    rows.insert(0, ("overall", *np.mean([row[1:] for row in rows], axis=0)))
    same("devai_leave_one_language_out_of_paper_draws_seed_207", pd.DataFrame(rows, columns=wanted.columns), DRAWN)


def test_decisions(devai: Panel) -> None:
    found = cbc.decisions(cbc.split(scores_of(devai), protocols.draws(55, 1000, 307), tiny=tiny(devai)))
    rows = [(x, d.right.mean(), d.regret.mean(), *protocols.summary(d.regret.mean(1))[1:]) for x, d in found.items()]
    name = "devai_decisions_of_paper_draws_seed_307"
    same(name, pd.DataFrame(rows, columns=golden(name).columns), DRAWN)


def test_fit_and_radius(devai: Panel) -> None:
    assert devai.replicates is not None
    scores, runs = scores_of(devai), devai.replicates[:, 0]
    fit, sigmas = cbc.fit(runs), (cbc.score_sigma(scores), cbc.noise_sigma(scores))
    largest = np.abs(cbc.interaction(scores)).max()
    sd = runs.std(3, ddof=1).mean()
    radii = [cbc.radius(s, 55, 8, 6) for s in sigmas]
    have = {
        "r2_simplified_eq_2": fit.r2_simplified,
        "r2_full_eq_1": fit.r2_full,
        "sse_simplified": fit.sse_simplified,
        "sse_full": fit.sse_full,
        "sst": fit.sst,
        "replicate_sd": sd,
        "replicate_sd_over_largest_beta": sd / largest,
        "sigma_of_all_scores": sigmas[0],
        "sigma_of_noise": sigmas[1],
        "radius_sigma_of_all_scores": radii[0],
        "radius_sigma_of_noise": radii[1],
        "tasks_for_half_of_largest_beta": cbc.tasks_for(largest / 2, sigmas[0], 8, 6),
    }
    wanted = golden("devai_fit").iloc[0]
    for name, value in have.items():
        assert value == pytest.approx(wanted[name], rel=EXACT), name


def test_gates(devai: Panel) -> None:
    marks = list(golden("devai_gates_sweep")["threshold"])
    found = protocols.sweep(scores_of(devai), marks, tiny=tiny(devai))
    raw = found[["threshold", "pass_raw", "spread_raw"]]
    same("devai_gates_sweep", raw.set_axis(["threshold", "pass_raw_percent", "spread_raw_points"], axis=1))


def test_information(devai: Panel) -> None:
    assert devai.replicates is not None
    by_name = np.argsort(np.array(devai.judges)), np.argsort(np.array(devai.tasks))
    found = protocols.information(devai.replicates[by_name[1], 0][:, :, by_name[0]], 407)
    wanted = golden("devai_information_of_paper_draws_seed_407").iloc[0].to_numpy(float)
    assert list(found.values()) == pytest.approx(wanted, rel=DRAWN)


def test_ablations(devai: Panel) -> None:
    scores, sizes = scores_of(devai), [2, 3, 4, 5, 6]
    found = protocols.ablate_judges(scores, sizes, [protocols.draws(55, 100, 7 + s) for s in sizes], tiny(devai))
    same("devai_ablation_judges_of_paper_draws", found, DRAWN)
    rng, counts = np.random.default_rng(107), [10, 20, 30, 40, 55]
    drawn = [protocols.subset_draws(55, n, 100, rng) for n in counts]
    tasks = protocols.ablate_tasks(scores, counts, drawn, tiny(devai))
    name = "devai_ablation_tasks_of_paper_draws"
    same(name, tasks.set_axis(golden(name).columns, axis=1), DRAWN)
    left = [(j, *x) for j, x in zip(devai.judges, protocols.without_each_judge(scores, tiny(devai)), strict=True)]
    same("devai_without_one_judge", pd.DataFrame(left, columns=golden("devai_without_one_judge").columns))


def test_bradley_terry_luce(devai: Panel) -> None:
    won = protocols.wins(scores_of(devai), np.ones((1, 55)), tiny=tiny(devai))
    same("devai_bradley_terry_luce", cells(devai, protocols.btl(*won)[0]))


@pytest.mark.parametrize("name", ["devai", "gemba150"])
def test_gain(name: str, request: pytest.FixtureRequest) -> None:
    """What each subtracting method gains without labels (I7): unbiased with its jackknife interval, and in sample."""
    panel = request.getfixturevalue(name.removesuffix("150"))
    whole = cbc.split(scores_of(panel), tiny=tiny(panel))
    rows = []
    for method in golden(f"{name}_gain")["method"]:
        d, keep = baselines.part_of(method, whole.values)
        removed = whole.left - baselines.METHODS[method](whole)
        rows.append((method, *baselines.unbiased_gain(d, whole.tiny, keep), float(cbc.gain(whole, removed)[0])))
    found = pd.DataFrame(rows, columns=list(golden(f"{name}_gain").columns))
    same(f"{name}_gain", found)


# --- the same through the rooms that users call ---


@pytest.mark.parametrize("name", ["devai", "gemba150"])
def test_variance_components(name: str, request: pytest.FixtureRequest) -> None:
    panel = request.getfixturevalue(name.removesuffix("150"))
    runs = None if panel.replicates is None else panel.replicates[:, 0]
    found = components(scores_of(panel), runs)
    assert found is not None
    wanted = golden(f"{name}_variance").set_index("component")
    wanted.index = wanted.index.str.removesuffix(" + noise")  # without replicates the two are one
    have = {"share": found.shares, "variance": {x: max(v, 0.0) for x, v in found.variance.items()}}
    for column, values in have.items():
        assert values == pytest.approx(wanted[column].to_dict(), rel=EXACT, abs=1e-12)


def test_gates_of_an_audit(devai: Panel, gemba: Panel) -> None:
    """Raw rates, and calibrated ones: rates less their own double centring, kept between 0 and 1."""
    found = gates(devai, "70", level=0.95).frame
    same("devai_gate_70_pass_raw", cells(devai, found["pass_raw"].to_numpy().reshape(8, 6)))
    wanted = golden("gemba150_cells")["pass_raw_above_90"].to_numpy(float)
    for panel, raw, mark in ((devai, found["pass_raw"].to_numpy(), "70"), (gemba, wanted, "90")):
        frame = gates(panel, mark, level=0.95).frame
        np.testing.assert_allclose(frame["pass_raw"], raw, rtol=EXACT)
        grid = raw.reshape(len(panel.languages), len(panel.judges))
        centred = grid - grid.mean(0) - grid.mean(1, keepdims=True) + grid.mean()
        np.testing.assert_allclose(frame["pass_calibrated"], np.clip(grid - centred, 0, 1).ravel(), atol=EXACT)


@pytest.fixture
def devai_with_holes(devai: Panel) -> Panel:
    scores = scores_of(devai)
    task, language, judge = np.indices(scores.shape)
    hole = (7 * task + 5 * language + 3 * judge + task * language * judge) % 10 == 0
    return Panel.from_array(np.where(hole, np.nan, scores), scale=(0.0, 100.0))


def test_beta_of_incomplete_panels(devai: Panel, devai_with_holes: Panel) -> None:
    beta = cbc.double_centre(devai_with_holes.values().mean)
    same("devai_with_holes_beta_of_random_terms", cells(devai, beta))


def test_beta_where_scores_are_missing_more_in_some_cells(
    devai: Panel, devai_with_holes: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyjudge.stats.cells.depends_on_cell", lambda *_: True)
    same("devai_with_holes_beta", cells(devai, cbc.double_centre(devai_with_holes.values().mean)))


def test_beta_of_languages_that_share_no_tasks() -> None:
    frame = pd.read_csv(shared_file("wmt23/judge_scores.csv.gz"))
    first = frame.drop_duplicates("task").groupby("language").head(100)["task"]
    frame = frame[frame["task"].isin(set(first))]
    panel = Panel.from_frame(frame)
    wanted = golden("wmt23_beta")
    panel = panel.select(languages=list(wanted["language"]), judges=list(wanted.columns[1:]))
    same("wmt23_beta", cells(panel, cbc.double_centre(panel.values().mean)))
