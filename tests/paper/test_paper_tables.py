"""`paper report`: the paper's tables for one's own panel, and both commands from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from common import Run
from polyjudge import cbc
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.panel import Panel
from polyjudge.paper.tables import TITLES, PaperReport, report
from polyjudge.report import page, terminal


def made(n: int = 24, k: int = 5, m: int = 4, replicates: int = 2) -> Any:
    rng = np.random.default_rng(0)
    task, cell = rng.normal(size=(n, 1, 1, 1)), cbc.double_centre(rng.normal(size=(k, m)))
    runs = task + np.arange(m)[:, None] + 2 * cell[..., None] + rng.normal(size=(n, k, m, replicates))
    return np.clip(50 + 8 * runs, 0, 100).round(1)


@pytest.fixture(scope="module")
def panel() -> Panel:
    runs = made()
    return Panel.from_array(runs.mean(3), scale=(0.0, 100.0), replicates=runs[:, None])


@pytest.fixture(scope="module")
def found(panel: Panel) -> PaperReport:
    return report(panel, replicates=200)


def test_every_table_is_there(found: PaperReport) -> None:
    """But those that need what the user has to name: families of tasks, people's labels."""
    assert set(found.frames) == set(TITLES) - {"families", "anchor"}
    assert [text.rpartition(": ")[2] for text in found.left_out] == ["--family COLUMN.", "--threshold '>=4'."]
    assert {t.name for t in found.report().tables} == set(found.frames)
    assert found.charts == ("interaction", "ranks", "convergence")


def test_tables_are_what_cbc_says(found: PaperReport, panel: Panel) -> None:
    scores = panel.scores[:, 0]
    np.testing.assert_allclose(found.frames["interaction"]["beta"], cbc.interaction(scores).ravel())
    assert found.frames["reversals"]["delta"].sum() == pytest.approx(cbc.reversals(scores).delta.sum())
    assert panel.replicates is not None
    assert found.frames["fit"]["r2"].tolist() == pytest.approx(list(cbc.fit(panel.replicates[:, 0])[:2]))
    table = found.frames["calibration"].set_index("method")
    assert table.loc["cbc", "full_fit"] == pytest.approx(1)
    assert table.loc["oracle", "tau"] == pytest.approx(1)
    assert table.loc["raw", "tau"] < table.loc["cbc", "tau"]
    chosen = found.frames["decisions"].set_index("method")
    assert chosen.loc["raw", "accuracy"] < chosen.loc["cbc", "accuracy"] <= 1
    right = cbc.decisions(cbc.split(scores, cbc.draw(24, 200, 0), tiny=1e-7))["raw"].right.mean(1)
    ends = tuple(np.percentile(right, [2.5, 97.5]))
    assert tuple(chosen.loc["raw", ["accuracy_low", "accuracy_high"]]) == pytest.approx(ends)
    assert found.radius == pytest.approx(cbc.radius(cbc.noise_sigma(scores), 24, 5, 4))


def test_sentences_and_pages(found: PaperReport) -> None:
    texts = {f.key: f.text for f in found.findings}
    assert "of 6 pairs of judges reverse between two languages" in texts["reversals"]
    assert "That is consistency, not accuracy." in texts["consistency"]
    assert "Table 2" in terminal.screen(found.report(), full=True)
    assert "Figure 4" in page.page(found.report())


def test_what_a_panel_does_not_allow_is_left_out() -> None:
    scores = made(replicates=1)[..., 0]
    holes = scores.copy()
    holes[::5, 2, 1] = np.nan
    left = report(Panel.from_array(holes, scale=(0.0, 100.0)), replicates=100).left_out
    assert [x.split(":")[0] for x in left] == ["Section 6", "Beyond the paper", "Table 5"]
    small = report(Panel.from_array(scores[:, :2, :2], scale=(0.0, 100.0)), replicates=100)
    assert {"unseen", "ablation_judges", "without", "information", "few_shot"}.isdisjoint(small.frames)
    assert len(small.left_out) == 7
    with pytest.raises(PanelError, match="two of each"):
        report(Panel.from_array(scores[:, :1]))
    apart = scores[:, :2, :2].copy()
    apart[::2, 0, 0] = apart[1::2, 0, 1] = np.nan
    apart[:, 1, 0] = np.nan
    with pytest.raises(PanelError, match="Too few judges and languages can be compared"):
        report(Panel.from_array(apart))


def test_an_empty_cell_is_named_and_the_others_are_estimated() -> None:
    scores = made(replicates=1)[..., 0]
    empty = scores.copy()
    empty[:, 2, 1] = np.nan
    found = report(Panel.from_array(empty, scale=(0.0, 100.0)), replicates=100)
    assert found.left_out[0] == "beta^ of J2 in l3 cannot be known. Tables of the whole grid leave out l3."
    assert found.left_out[0] in terminal.screen(found.report()).replace("\n         ", " ")
    cells = found.frames["interaction"].set_index(["language", "judge"])
    assert cells.index[cells["beta"].isna()].tolist() == [("l3", "J2")]
    # least squares on the cells that are there: the additive fit of languages and judges leaves the interaction
    means = empty.mean(0)
    seen = np.isfinite(means)
    design = np.zeros((int(seen.sum()), 9))
    for row, (language, judge) in enumerate(np.argwhere(seen)):
        design[row, language] = design[row, 5 + judge] = 1
    fitted = design @ np.linalg.lstsq(design, means[seen], rcond=None)[0]
    np.testing.assert_allclose(cells["beta"].dropna(), means[seen] - fitted, atol=1e-9)
    without = report(Panel.from_array(np.delete(scores, 2, axis=1), scale=(0.0, 100.0)), replicates=100)
    pd.testing.assert_frame_equal(found.frames["calibration"], without.frames["calibration"])


def test_few_shared_tasks_of_nearly_all_replicates() -> None:
    """Of 55 tasks a few draws have fewer than 30: they are left out, not the row."""
    table = report(Panel.from_array(made(n=55, replicates=1)[..., 0]), replicates=1000).frames["few_shot"]
    assert ((cbc.draw(55, 1000, 0) > 0).sum(1) < 30).any()
    assert table["shared_tasks"].tolist() == [0, 2, 5, 12, 30]


def test_families_of_tasks(tmp_path: Path) -> None:
    scores = made(n=40, replicates=1)[..., 0]
    frame = Panel.from_array(scores, scale=(0.0, 100.0)).to_frame()
    number = frame["task"].str[1:].astype(int)
    frame["domain"] = np.where(number <= 15, "code", np.where(number <= 38, "law", "rare"))
    table = report(frame, family="domain", replicates=100).frames["families"]
    assert table["family"].tolist() == ["code", "law"]
    assert table["tasks"].tolist() == [15, 23]
    assert (table["low"] < table["r"]).all() and (table["r"] < table["high"]).all()  # noqa: PT018
    frame.to_csv(tmp_path / "scores.csv", index=False)
    again = report(tmp_path / "scores.csv", family="domain", replicates=100).frames["families"]
    pd.testing.assert_frame_equal(table, again)
    frame["gaps"] = frame["domain"].where(frame["domain"] != "rare")
    pd.testing.assert_frame_equal(report(frame, family="gaps", replicates=100).frames["families"], table)
    with pytest.raises(UsageError, match="no column 'topic'"):
        report(frame, family="topic")
    with pytest.raises(UsageError, match="two families"):
        report(frame, family="judge")
    with pytest.raises(UsageError, match="give the file or the frame"):
        report(Panel.from_array(scores), family="domain")


def test_wrong_arguments(panel: Panel) -> None:
    with pytest.raises(UsageError, match="100 to 100,000"):
        report(panel, replicates=10)
    with pytest.raises(UsageError, match="threshold"):
        report(panel, threshold=("high",), replicates=100)
    with pytest.raises(UsageError, match="outside the scale"):
        report(panel, threshold=("101",), replicates=100)


def test_thresholds(panel: Panel) -> None:
    exact = float(panel.scores.flat[7])
    found = report(panel, threshold=(f"{exact}", f">={exact}"), replicates=100).frames["gates"]
    n = panel.scores.size
    passed = (panel.scores > exact, panel.scores >= exact)
    assert found["threshold"].tolist() == [exact, exact]
    assert found["pass_raw"].tolist() == pytest.approx([100 * x.sum() / n for x in passed])


def test_the_commands(cli: Run, tmp_path: Path) -> None:
    plain = cli("paper", "reproduce", "mrewardbench")
    assert plain.returncode == 0, plain.stderr
    assert "are reproduced" in plain.stdout
    languages = ("eng_Latn", "arb_Arab", "tur_Latn", "zho_Hans", "hin_Deva", "jpn_Jpan", "spa_Latn")
    rows = [(i, "alpacaeval-easy", x, 1.0, 1.0) for x in languages for i in range(100)]
    columns = ["item", "subset", "language", "raw_margin", "cbc_margin"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "sample.csv", index=False)
    changed = cli("paper", "reproduce", "mrewardbench", "--anchor", tmp_path / "sample.csv", "--json")
    assert changed.returncode == 1, changed.stderr
    assert '"differs"' in changed.stdout
    refused = cli("paper", "reproduce", "devai")
    assert refused.returncode == 2
    assert "curl -L -o run_level_scores.csv https://" in refused.stderr
    assert "645,737 bytes" in refused.stderr
    Panel.from_array(made(replicates=1)[..., 0]).to_frame().to_csv(tmp_path / "scores.csv", index=False)
    own = cli("paper", "report", tmp_path / "scores.csv", "--json", "--replicates", "100")
    assert own.returncode == 0, own.stderr
    assert "frames" in json.loads(own.stdout)
