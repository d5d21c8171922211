"""Agreement with human labels: the tie rule, the invariance of the panel mean, and what bad labels do."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyjudge.second as pj
from conftest import shared_file
from polyjudge.second.estimate.crossfit import crossfit
from polyjudge.second.panel.arrays import tie_gap
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.gold import align_gold, proportional, stratified_sample
from polyjudge.second.panel.panel import Grouping
from polyjudge.second.panel.say import word
from polyjudge.second.questions.anchor.choices import decide, sign
from polyjudge.second.read.scores import read_gold
from polyjudge.second.report import report_of
from refusals import lacks, refused


def margins_panel(n: int = 60, k: int = 4, m: int = 5, seed: int = 0, missing: float = 0.0) -> pj.Panel:
    """Whole-number margins with many ties, and an interaction."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.5, 1.5, (n, k, 1)) + rng.normal(0, 1, (n, k, m)) + rng.normal(0, 0.5, (k, m))
    scores = np.rint(scores)
    scores[rng.random(scores.shape) < missing] = np.nan
    return pj.Panel.from_array(scores)


def labels_for(panel: pj.Panel, share: float = 1.0, seed: int = 1, values: tuple[int, ...] = (-1, 1)) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (t, l, int(rng.choice(values)))
        for t in panel.tasks
        for l in panel.languages  # noqa: E741
        if rng.random() < share
    ]
    return pd.DataFrame(rows, columns=["task", "language", "preference"])


@pytest.mark.real_data
def test_the_published_sample_agrees_481_times_before_and_after() -> None:
    rows = pd.read_csv(shared_file("data/mrewardbench/human_anchor_sample.csv"))
    for column in ("raw_margin", "cbc_margin"):
        signs = sign(rows[column].to_numpy(float), tie_gap(1, 10))
        assert ((signs == 1).sum(), len(rows), (signs == 0).sum()) == (481, 700, 64)
    # what the paper counted: without a tolerance rounding decides
    assert int((rows["cbc_margin"] > 0).sum()) == 536


def test_no_public_function_lets_rounding_decide() -> None:
    """The paper's mistake cannot be asked for, and rounding noise on the margins changes nothing."""
    assert not {"tolerance", "tol", "gap", "ties"} & set(inspect.signature(pj.anchor).parameters)
    panel = margins_panel()
    noise = np.random.default_rng(0).normal(0, 1e-16, panel.shape)
    plain, noisy = (
        pj.anchor(p, labels_for(panel), resamples=20).table for p in (panel, panel.with_scores(panel.scores + noise))
    )
    assert (plain["raw_ties"] > 0).any()
    pd.testing.assert_frame_equal(plain, noisy)


@given(st.integers(0, 1000), st.sampled_from([1e-6, 1.0, 1e9]))
@settings(max_examples=12, deadline=None)
def test_the_panel_mean_never_changes(seed: int, scale: float) -> None:
    base = margins_panel(20, 3, 4, seed)
    panel = base.with_scores(base.scores * scale / 3)  # thirds leave rounding behind
    result = pj.anchor(panel, labels_for(panel), resamples=8)
    assert result.invariance.holds
    assert result.invariance.entries == 60
    mean = result.to_frame().set_index("decision").loc["panel mean"]
    assert mean["changed"] == 0
    assert mean["raw"] == mean["calibrated"]
    assert mean["gain_low"] == mean["gain_high"] == 0
    assert mean["identity"]


def test_table_against_a_plain_loop() -> None:
    panel = margins_panel(missing=0.02)
    gold = labels_for(panel, 0.5, values=(-1, 0, 1, 1))
    result = pj.anchor(panel, gold, resamples=20, seed=3)
    fit = crossfit(panel, 3)
    place = {(r.task, r.language): r.preference for r in gold.itertuples()}
    hits = {name: [0.0, 0.0, 0, 0] for name in result.table["decision"]}
    for (task, language), choice in place.items():
        t, l = panel.tasks.index(task), panel.languages.index(language)  # noqa: E741
        others = (fit.fold != fit.fold[t]) & fit.usable
        beta = pj.ConsensusCalibrator().fit(panel.select(tasks=[panel.tasks[i] for i in np.flatnonzero(others)]))
        raw = panel.scores[t, l]
        new = raw - beta.interaction_.to_numpy()[l]
        for after, values in enumerate((raw, new)):
            seen = values[~np.isnan(values)]
            votes = np.sign(np.where(np.abs(seen) < 1e-6, 0, seen))
            decisions = [seen.mean(), votes.sum(), *values]
            for name, value in zip(hits, decisions, strict=True):
                if np.isnan(value):
                    continue
                decision = 0 if abs(value) < 1e-6 else int(np.sign(value))
                if choice != 0:
                    hits[name][after] += decision == choice
                    hits[name][2 + after] += 1
    table = result.table.set_index("decision")
    for name, (raw_hits, new_hits, count, _) in hits.items():
        assert table.loc[name, "raw"] == pytest.approx(raw_hits / count)
        assert table.loc[name, "calibrated"] == pytest.approx(new_hits / count)
        assert table.loc[name, "labels"] == count


def test_auc_is_the_area_under_the_curve_inside_languages() -> None:
    from sklearn.metrics import roc_auc_score

    panel = margins_panel()
    gold = labels_for(panel)
    table = pj.anchor(panel, gold, resamples=20).table.set_index("decision")
    good = pairs = 0.0
    labels = align_gold(panel, gold).values
    for l in range(4):  # noqa: E741
        positive = int((labels[:, l] > 0).sum())
        weight = positive * (60 - positive)
        good += weight * roc_auc_score(labels[:, l] > 0, panel.scores[:, l, 2])
        pairs += weight
    assert table.loc["judge3", "auc"] == pytest.approx(good / pairs)
    assert table.loc["judge3", "auc_low"] < table.loc["judge3", "auc"] < table.loc["judge3", "auc_high"]


def test_majority_and_ties() -> None:
    decisions = decide(np.array([[1.0, 1.0, -5.0], [1e-17, 1.0, -1.0], [np.nan, np.nan, np.nan]]), 1e-9)
    assert decisions.tolist() == [[-1, 1, 1, 1, -1], [0, 0, 0, 1, -1], [9, 9, 9, 9, 9]]


@pytest.mark.statistical
def test_intervals_cover_the_true_agreement() -> None:
    """Agreement of every judge is 0.7 in truth; the items' intervals must hold it about 95% of the time."""
    held = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        choice = rng.choice([-1, 1], (120, 2, 1))
        right = rng.random((120, 2, 15)) < 0.7
        panel = pj.Panel.from_array(np.where(right, choice, -choice) * 1.0)
        gold = pd.DataFrame(
            [
                (t, l, int(choice[i, j, 0]))
                for i, t in enumerate(panel.tasks)
                for j, l in enumerate(panel.languages)  # noqa: E741
            ],
            columns=["task", "language", "preference"],
        )
        judges = pj.anchor(panel, gold, resamples=200, seed=seed).table.iloc[2:]
        held += ((judges["raw_low"] <= 0.7) & (judges["raw_high"] >= 0.7)).tolist()
    assert len(held) == 150
    assert 0.9 <= np.mean(held) <= 0.99


def test_the_same_seed_gives_the_same_answer() -> None:
    panel = margins_panel()
    gold = labels_for(panel, 0.4)
    whole = pj.anchor(panel, gold, resamples=100, seed=5)
    pd.testing.assert_frame_equal(whole.table, pj.anchor(panel, gold, resamples=100, seed=5).table)
    assert not whole.table["calibrated_low"].equals(
        pj.anchor(panel, gold, resamples=100, seed=6).table["calibrated_low"]
    )


def test_unit_weights_count_like_repeated_tasks() -> None:
    panel = margins_panel(10)
    double = pj.Panel(panel.scores, panel.tasks, panel.languages, panel.judges, weights=np.full(10, 2.0))
    one, two = (pj.anchor(p, labels_for(panel), resamples=10).table for p in (panel, double))
    assert (two["labels"] == 2 * one["labels"]).all()
    np.testing.assert_allclose(one["calibrated"], two["calibrated"])


def test_stratified_sample_follows_the_strata() -> None:
    assert proportional(np.array([805, 695]), 100).tolist() == [54, 46]
    assert proportional(np.array([1, 1, 1]), 2).sum() == 2
    assert proportional(np.array([1, 1, 1]), 100).tolist() == [34, 33, 33]
    base = margins_panel(100)
    strata = np.array([0] * 70 + [1] * 30)
    panel = pj.Panel(
        base.scores, base.tasks, base.languages, base.judges, grouping=Grouping("subset", ("easy", "hard"), strata)
    )
    gold = stratified_sample(panel, align_gold(panel, labels_for(panel)), 20, seed=2)
    assert gold.there[strata == 0].sum(axis=0).tolist() == [14] * 4
    assert gold.there[strata == 1].sum(axis=0).tolist() == [6] * 4
    assert pj.anchor(panel, labels_for(panel), sample=20, resamples=10).table["labels"].max() == 80


# --- labels that cannot be used as they are ---


def gold_frame(**change: Any) -> pd.DataFrame:
    frame = labels_for(margins_panel(), seed=4)
    return frame.assign(**change)


def test_unknown_tasks_and_languages_are_counted_and_named() -> None:
    panel = margins_panel()
    gold = labels_for(panel)
    gold.loc[[0, 1], "task"] = "nobody"
    gold.loc[[5], "language"] = "Klingon"
    result = pj.anchor(panel, gold, resamples=10)
    assert any(n.values.get("role") == "task" and "nobody" in n.values["names"] for n in result.notes)
    assert any(n.values.get("role") == "language" and n.values["names"] == ["Klingon"] for n in result.notes)
    assert align_gold(panel, gold).unknown == 3
    assert result.labels.sum() == 237


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"task": "other"}, ("task1", "other", 60)),
        ({"language": "xx"}, ("language4", "xx")),
        ({"preference": 0}, ("preference", 0)),
        ({"preference": 2}, ("task1", "language1", "2", "240")),
        ({"preference": "left"}, ("task1", "language1", "left", 240)),
        ({"preference": np.inf}, ("preference", "infinite")),
        ({"preference": np.nan}, ("preference", "empty")),
        ({"score": 1.0}, ("preference", "score", "--kind")),
    ],
)
def test_bad_labels_are_refused(change: dict[str, Any], named: tuple[object, ...]) -> None:
    with refused(PanelError, *named):
        pj.anchor(margins_panel(), gold_frame(**change))


def test_missing_columns_empty_tables_and_absent_files_are_refused() -> None:
    panel = margins_panel()
    with refused(PanelError, "language", "task, preference"):
        pj.anchor(panel, gold_frame().drop(columns="language"))
    with refused(PanelError, "preference", "score"):
        pj.anchor(panel, gold_frame().drop(columns="preference"))
    with refused(PanelError, "rows"):
        pj.anchor(panel, gold_frame().head(0))
    with refused(PanelError, "gold.csv"):
        pj.anchor(panel, "gold.csv")
    with refused(UsageError, "gold", "trusted"):
        pj.anchor(panel)
    with refused(UsageError, "threshold"):
        pj.anchor(panel, gold_frame(), threshold=1)


def test_contradictions_are_an_error_unless_told() -> None:
    panel = margins_panel()
    gold = labels_for(panel)
    first = gold.iloc[0]
    twice = pd.concat([gold, gold.head(1).assign(preference=-first["preference"]), gold.iloc[[3]]])
    with refused(PanelError, "task1", "language1", "1, -1", "--contradictions"):
        pj.anchor(panel, twice)
    dropped = align_gold(panel, twice, contradictions="drop")
    assert np.isnan(dropped.values[0, 0])
    assert "gold.repeated" in [n.code for n in dropped.notes]
    assert align_gold(panel, twice, contradictions="mean").values[0, 0] == 0
    with refused(UsageError, "contradictions", "maybe"):
        align_gold(panel, twice, contradictions="maybe")  # type: ignore[arg-type]


def test_one_label_and_a_language_without_labels_have_no_interval() -> None:
    panel = margins_panel()
    gold = labels_for(panel)
    gold = pd.concat([gold[gold["language"] == "language1"].head(1), gold[gold["language"] == "language2"]])
    result = pj.anchor(panel, gold, resamples=20)
    assert any(n.values.get("languages") == ["language3", "language4"] for n in result.notes)
    rows = result.by_language.set_index(["language", "decision"])
    one = rows.loc[("language1", "judge1")]
    assert one["labels"] == 1
    assert np.isnan(one["raw_low"])
    assert np.isnan(one["gain_high"])
    assert np.isnan(rows.loc[("language3", "panel mean"), "raw"])
    assert np.isfinite(rows.loc[("language2", "judge1"), "raw_low"])


def test_labels_of_one_side_say_so_and_leave_auc_empty() -> None:
    result = pj.anchor(margins_panel(), gold_frame(preference=1), resamples=20)
    assert result.table["auc"].isna().all()
    assert "gold.one-side" in [n.code for n in result.notes]
    json.dumps(result.to_dict(), allow_nan=False)


def test_all_agreeing_gets_the_exact_interval() -> None:
    panel = pj.Panel.from_array(np.ones((6, 2, 2)) + np.arange(6)[:, None, None])
    gold = pd.DataFrame([(t, "language1", 1) for t in panel.tasks], columns=["task", "language", "preference"])
    row = pj.anchor(panel, gold, resamples=20).table.iloc[0]
    assert (row["raw_low"], row["raw_high"]) == pytest.approx((0.025 ** (1 / 6), 1.0))


def test_incomplete_panels_say_where_the_mean_can_move() -> None:
    panel = margins_panel(missing=0.03)
    result = pj.anchor(panel, labels_for(panel), resamples=10)
    assert result.invariance.holds
    assert result.invariance.incomplete > 0
    assert not result.table["identity"].any()
    assert "anchor.missing" in [n.code for n in result.notes]


def test_whole_numbers_as_floats_still_match() -> None:
    base = margins_panel(5)
    panel = pj.Panel(base.scores, tuple("12345"), base.languages, base.judges)
    gold = pd.DataFrame({"item": [1.0, 2.0, np.nan], "lang": ["language1"] * 3, "preference": [1, -1, 1]})
    assert align_gold(panel, gold).there.sum() == 2


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_files_keep_names_as_they_are_written(kind: str, tmp_path: Path) -> None:
    base = margins_panel(3)
    panel = pj.Panel(base.scores, ("001", "002", "07.50"), base.languages, base.judges)
    gold = pd.DataFrame({"task": ["001", "07.50"], "language": ["language1", "language2"], "preference": [1, -1]})
    path = tmp_path / f"gold.{kind}"
    if kind == "parquet":
        gold.to_parquet(path)
    elif kind == "jsonl":
        gold.to_json(path, orient="records", lines=True)
    else:
        gold.to_csv(path, index=False)
    labels = align_gold(panel, read_gold(path))
    assert labels.there.sum() == 2
    assert (labels.values[0, 0], labels.values[2, 1]) == (1, -1)
    assert "gold.one-side" not in [n.code for n in labels.notes]


def test_files_that_are_no_labels(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("")
    with refused(PanelError, "none.csv", "empty"):
        read_gold(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("task,language,preference\ncaf\xe9,fr,1\n".encode("latin-1"))
    with refused(PanelError, "latin.csv", 2, "UTF-8"):
        read_gold(tmp_path / "latin.csv")
    with refused(PanelError, "absent.csv"):
        read_gold(tmp_path / "absent.csv")


# --- command line ---


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    panel = margins_panel()
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    labels_for(panel, 0.5).to_csv(tmp_path / "gold.csv", index=False)
    return tmp_path / "scores.csv", tmp_path / "gold.csv"


def test_command_prints_the_invariance(files: tuple[Path, Path], cli: Any) -> None:
    out = cli("anchor", *files, "--resamples", 50)
    assert out.returncode == 0, out.stderr
    held = pj.anchor(pj.read_panel(files[0]), files[1], resamples=50)
    said = next(s for s in report_of(held).verdict if s.code == "anchor.invariance")  # type: ignore[union-attr]
    assert (said.values["holds"], said.values["changed"]) == (True, 0)
    assert word(said) in " ".join(out.stdout.split())


def test_command_json_and_errors(files: tuple[Path, Path], cli: Any, tmp_path: Path) -> None:
    out = cli("anchor", *files, "--resamples", 50, "--json")
    payload = json.loads(out.stdout)
    assert payload["command"] == "anchor"
    assert {"decision", "raw", "calibrated", "changed", "raw_low", "calibrated_high"} <= set(payload["table"][0])
    bad = cli("anchor", files[0], tmp_path / "none.csv")
    assert bad.returncode == 2
    assert not lacks(bad.stderr, "none.csv")
    assert "Traceback" not in bad.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ((), ("GOLD", "--trusted")),
        (("g.csv", "--trusted", "judge1"), ("GOLD", "--trusted")),
        (("g.csv", "--kind", "colour"), ("--kind", "colour", "preference")),
        (("g.csv", "--label-scale", "1-5"), ("--label-scale", "1-5", "0:100")),
    ],
)
def test_usage_is_checked_before_anything_is_read(options: tuple[str, ...], named: tuple[str, ...], cli: Any) -> None:
    done = cli("anchor", "scores.csv", *options)
    assert done.returncode == 2
    assert not lacks(done.stderr, *named)


def test_no_interval_of_agreement_has_width_zero() -> None:
    """Wilson's for shares near 1, and a gain of 0 has the width that so few tasks leave open."""
    panel, _ = pj.simulate_panel(12, 2, 3, seed=4, mean=0.0, task_sd=20, interaction=0.01, noise_sd=1, low=-60, high=60)
    truth = np.sign(panel.scores.mean(axis=2))
    rows = [(t, x, truth[i, j]) for i, t in enumerate(panel.tasks) for j, x in enumerate(panel.languages)]
    gold = pd.DataFrame(rows, columns=["task", "language", "preference"])
    table = pj.anchor(panel, gold, resamples=100).table.set_index("decision")
    assert (table["raw_high"] - table["raw_low"] > 0.1).all()
    assert table.loc["panel mean", "gain_low"] == table.loc["panel mean", "gain_high"] == 0
    judges = table.loc[list(panel.judges)]
    assert (judges["gain_low"] < judges["gain_high"]).all()
    assert not (table["auc_low"] == table["auc_high"]).any()
    from polyjudge.second.estimate.shares import share_interval

    rng = np.random.default_rng(0)
    inside = []
    for _ in range(400):  # 12 tasks at 0.9: percentiles of a bootstrap hold it in 71% of samples
        hits = rng.random(12) < 0.9
        draws = rng.choice(hits, (200, 12)).mean(axis=1)
        low, high = share_interval(draws, np.array(hits.mean()), np.array(12))
        inside.append(low <= 0.9 <= high)
    assert np.mean(inside) >= 0.93
