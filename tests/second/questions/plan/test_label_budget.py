"""Label budgets: the closed form against the variance it inverts, against simulation, and the edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

import polyjudge.second as pj
from polyjudge.second.estimate.few_labels import powered_means, t_interval
from polyjudge.second.estimate.label_budget import labels_needed, powered_variance
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import Gold, align_gold
from polyjudge.second.questions.anchor.distance import ppi_mean
from polyjudge.second.questions.anchor.humans import language_error
from polyjudge.second.questions.label.draw import draw_items
from polyjudge.second.questions.label.making import labels_next
from polyjudge.second.questions.plan.planning import label_budget
from polyjudge.second.report import report_of
from refusals import refused


def pilot(labels: tuple[int, ...], tasks: int = 400, seed: int = 0) -> tuple[pj.Panel, Gold]:
    rng = np.random.default_rng(seed)
    k = len(labels)
    truth = rng.normal(60, 12, (tasks, k))
    panel = pj.Panel.from_array(truth[..., None] + rng.normal(0, 12, (tasks, k, 4)))
    human = np.where(np.arange(tasks)[:, None] < np.array(labels), truth + rng.normal(0, 3, (tasks, k)), np.nan)
    return panel, Gold("score", human, panel.languages)


@pytest.mark.parametrize("r", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("tasks", [200, 5000])
def test_needed_labels_are_the_fewest_that_reach_the_half_width(r: float, tasks: int) -> None:
    needed = float(labels_needed(np.array(10.0), np.array(r), np.array(tasks), 1.5))

    def half_width(labels: float) -> float:
        variance = powered_variance(np.array(10.0), np.array(r), np.array(tasks), np.array(labels))
        return float(stdtrit(labels - 1, 0.975) * variance**0.5)

    assert half_width(needed) <= 1.5 + 1e-6
    if needed > 2:
        assert half_width(needed - 1) > 1.5


@pytest.mark.statistical
def test_the_variance_formula_is_what_ppi_delivers() -> None:
    """With the number of labels it asks for, the simulated interval has about the width that was wanted."""
    widths = []
    for seed in range(60):
        panel, gold = pilot((400, 400), seed=seed)
        y, f = gold.values[:, 0], panel.scores[:, 0].mean(axis=1)
        needed = int(labels_needed(y.std(), np.corrcoef(y, f)[0, 1], np.array(400), 2.0))
        mean = ppi_mean(y[:needed], f[:needed], f[needed:])
        widths.append((mean.high - mean.low) / 2)
    assert np.mean(widths) == pytest.approx(2.0, rel=0.05)


def test_budget_against_a_full_labelling() -> None:
    panel, gold = pilot((60, 60, 60))
    table = label_budget(panel, gold, 2.0).table
    assert (table["with_panel"] < table["labels_only"]).all()
    for i, row in table.iterrows():
        y, f = gold.values[:60, i], panel.scores[:60, i].mean(axis=1)
        assert row["sd"] == pytest.approx(y.std(ddof=1))
        assert row["correlation"] == pytest.approx(np.corrcoef(y, f)[0, 1])
        assert row["labels_only_low"] <= row["labels_only_likely"] < row["labels_only"]
        assert row["with_panel_low"] <= row["with_panel_likely"] < row["with_panel"]


def test_languages_with_few_labels_borrow() -> None:
    panel, gold = pilot((80, 2, 0))
    result = label_budget(panel, gold, 2.0)
    assert result.table["pooled"].tolist() == [False, True, True]
    assert np.isfinite(result.table["labels_only"]).all()
    assert np.isnan(result.table["half_width"].iloc[2])
    assert any(n.values.get("languages") == ["language2", "language3"] for n in result.notes)
    json.dumps(result.to_dict(), allow_nan=False)


def test_too_few_tasks_say_so() -> None:
    panel, gold = pilot((40, 40), tasks=50)
    result = label_budget(panel, gold, 1.0)
    assert result.table["with_panel"].isna().all()
    assert [s.code for s in report_of(result).verdict] == ["plan.labels-short"]


def test_preferences_have_a_budget_too() -> None:
    rng = np.random.default_rng(1)
    margin = rng.normal(0.3, 1, (300, 2))
    panel = pj.Panel.from_array(margin[..., None] + rng.normal(0, 0.5, (300, 2, 3)))
    human = np.where(np.arange(300)[:, None] < 60, np.sign(margin + rng.normal(0, 0.3, (300, 2))), np.nan)
    result = label_budget(panel, Gold("preference", human, panel.languages), 0.15)
    assert (result.table["with_panel"] < result.table["labels_only"]).all()
    assert "preference" in result.quantity


def test_bad_input() -> None:
    panel, gold = pilot((40, 40), tasks=50)
    with refused(UsageError, "half-width"):
        label_budget(panel, gold, 0.0)
    with refused(pj.PanelError, 5, 3):
        label_budget(*pilot((2, 1)), 1.0)
    flat = Gold("score", np.where(gold.there, 50.0, np.nan), panel.languages)
    with refused(pj.PanelError, "equal"):
        label_budget(panel, flat, 1.0)


def test_command(tmp_path: Path, cli: Any) -> None:
    panel, gold = pilot((60, 60))
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    t, l = np.nonzero(gold.there)  # noqa: E741
    frame = pd.DataFrame(
        {"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[l], "score": gold.values[t, l]}
    )
    frame.to_csv(tmp_path / "gold.csv", index=False)
    common = ("plan", "--labels", tmp_path / "gold.csv")
    out = cli(*common, "--from", tmp_path / "scores.csv", "--half-width", 2, "-o", tmp_path / "out")
    assert out.returncode == 0, out.stderr
    plan = json.loads((tmp_path / "out" / "label_plan.json").read_text())
    assert plan["half_width"] == 2
    assert all(language in out.stdout for language in panel.languages)
    bad = cli(*common, "--half-width", 2)
    assert bad.returncode == 2
    assert "--from" in bad.stderr


def test_an_end_that_is_out_of_reach_is_not_infinite() -> None:
    panel, _ = pj.simulate_panel(30, 2, 3, seed=1)
    rows = [(t, lang, float(i % 7) * 10) for i, t in enumerate(panel.tasks) for lang in panel.languages]
    gold = align_gold(panel, pd.DataFrame(rows, columns=["task", "language", "score"]))
    table = label_budget(panel, gold, half_width=0.1).to_frame()
    assert table["with_panel"].isna().all()
    assert not np.isinf(table.select_dtypes("number").to_numpy(float)).any()


def ends_panel(seed: int) -> tuple[pj.Panel, Any]:
    """Labels vary where the panel is undecided: what a design of strata is worth most for."""
    rng = np.random.default_rng(seed)
    level = rng.choice([5.0, 50.0, 95.0], (900, 3), p=[0.6, 0.2, 0.2])
    truth = np.clip(level + rng.normal(0, 1, level.shape) * np.where(level == 50, 35, 4), 0, 100)
    return pj.Panel.from_array(level[..., None] + rng.normal(0, 3, (900, 3, 2)), declared_range=(-20, 120)), truth


def test_the_design_of_label_make_needs_fewer_labels_and_keeps_its_word() -> None:
    """Planned from a random pilot, then drawn from strata by Neyman's rule: the half-width is met."""
    widths, random, design = [], [], []
    for seed in range(8):
        panel, truth = ends_panel(seed)
        known = np.zeros(truth.shape, bool)
        known[:60] = True
        gold = Gold("score", np.where(known, truth, np.nan), panel.languages)
        table = label_budget(panel, gold, 4.0).table
        random.append(table["with_panel"].mean())
        design.append(table["by_design"].mean())
        assert (table["by_design_likely"] <= table["by_design"]).all()
        drawn = draw_items(panel, list(panel.tasks), [], int(table["by_design"].max()), seed, gold)
        found = powered_means(np.where(drawn.chosen, truth, np.nan), panel.scores, drawn.stratum, panel.weights)
        low, high = t_interval(found.mean[:, 0], np.sqrt(found.variance[:, 0]), found.df[:, 0])
        widths += ((high - low) / 2).tolist()
    assert np.mean(design) < 0.6 * np.mean(random)
    assert np.mean(np.array(widths) <= 4.0) >= 0.8


def test_plan_anchor_and_more_name_the_same_number() -> None:
    panel, truth = ends_panel(3)
    gold = Gold("score", np.where(np.arange(900)[:, None] < 30, truth, np.nan), panel.languages)
    needed = label_budget(panel, gold, 2.0).table["by_design_likely"] - 30
    asked = labels_next(panel, gold, 2.0)
    assert asked == np.ceil(np.quantile(needed, 0.9)) > 10
    found = language_error(panel, gold, matters=2.0)
    assert found.next_labels == asked


def test_the_first_line_is_the_answer() -> None:
    panel, gold = pilot((15, 15))
    (said,) = report_of(label_budget(panel, gold, 2.0)).verdict
    assert said.code == "plan.labels-answer"
    assert 0 < said.values["more"] == said.values["total"] - 30 < said.values["alone"]
    (short,) = report_of(label_budget(panel, gold, 0.1)).verdict
    assert short.values["languages"] == list(panel.languages)
