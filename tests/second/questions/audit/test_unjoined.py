"""Audits of languages that share no tasks (domains, dates, projects) but whose judges score the same answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.questions.audit.audit import Audit
from polyjudge.second.questions.audit.explanation import without_cells
from polyjudge.second.report import report_of, terminal


def domains(off: float = -9.0, holes: float = 0.0) -> pd.DataFrame:
    """40 tasks in each of three domains, three systems, three judges; the last judge is off in law."""
    names = {"languages": ["law", "news", "medicine"], "judges": ["a", "b", "c"]}
    panel, _ = pj.simulate_panel(120, **names, systems=3, interaction=0.0, noise_sd=6.0, seed=2)
    rows = panel.to_long()
    number = rows["task"].str.extract(r"(\d+)")[0].astype(int)
    rows = rows[rows["language"] == np.array(["law", "news", "medicine"])[number % 3]]
    rows["score"] += np.where((rows["language"] == "law") & (rows["judge"] == "c"), off, 0.0)
    rows = rows[np.random.default_rng(1).random(len(rows)) >= holes]
    return rows.rename(columns={"language": "domain"})


@pytest.fixture(scope="module")
def found() -> Audit:
    audited = pj.audit(domains(), by="domain", threshold=50, resamples=200)
    assert isinstance(audited, Audit)
    return audited


def test_the_cell_is_named_and_what_needs_common_tasks_is_left_out(found: Audit) -> None:
    assert found.explanation.named == [("law", "c")]
    assert found.advice.method == "sparse"
    codes = [s.code for s in found.advice.verdict]
    assert codes.count("verdict.unjoined") == 1
    assert {part: why.code for part, why in found.left_out.items()} == dict.fromkeys(
        ("shift", "variance", "gates"), "left-out.unjoined"
    )
    assert (found.language_effect, found.variance, found.gates, found.missingness) == (None, None, None, None)
    assert found.means is not None
    assert {"pass_rate", "pass_low"} <= set(found.means)
    assert found.ranks is not None
    assert not len(found.ranks.contaminated)  # the tasks of other domains do not count as tasks without spread
    assert found.reversals is not None
    assert found.reversals.global_method == "resampled tasks"
    report = report_of(found)
    assert report is not None
    assert "nan" not in terminal.text(report, full=True)
    assert not found.held_out.skipped


def test_nothing_is_missing_of_a_task_of_another_domain(found: Audit) -> None:
    s = found.summary
    assert (s.missing, s.entries, s.unanswered, s.whole) == (0, 1080, 0, True)
    assert not [n for n in found.uncertainty.notes if n.code == "uncertainty.missing"]
    holed = pj.audit(domains(holes=0.1), by="domain", resamples=100)
    assert 80 < holed.summary.missing < 140
    assert holed.missingness is not None
    assert holed.missingness.missing == holed.summary.missing
    assert holed.explanation is not None
    assert holed.explanation.named == [("law", "c")]


def test_without_the_cell_nothing_is_off() -> None:
    panel = pj.read_panel(domains(), by="domain")
    left = without_cells(panel, [("law", "c")])
    assert not np.isnan(left.scores[panel.own]).any()
    audited = pj.audit(left, resamples=100)
    assert audited.explanation is not None
    assert audited.explanation.named == []
    # it stands at what the other judges of the answer say, as far above them as elsewhere
    means = np.nanmean(left.scores, axis=0)
    gap = means[:, 2] - means[:, :2].mean(axis=1)
    law = left.languages.index("law")
    assert gap[law] == pytest.approx(np.delete(gap, law).mean(), abs=1e-9)


def test_every_command_answers(tmp_path: Path, cli: Callable) -> None:
    path = tmp_path / "d.csv"
    domains().to_csv(path, index=False)
    by = ("--by", "domain")
    checked = cli("check", path, *by, "--json")
    assert "check.apart" in checked.stdout
    assert "check.unable" not in checked.stdout
    saved, out = tmp_path / "cal.json", tmp_path / "out.csv"
    done = cli("calibrate", path, *by, "--save", saved, "-o", out)
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(out)
    taken = (rows["score"] - rows["calibrated"]).groupby([rows["domain"], rows["judge"]]).mean().unstack()
    cal = pj.load_calibrator(saved)
    np.testing.assert_allclose(cal.interaction_.loc[taken.index, taken.columns], taken, atol=1e-9)
    assert taken.loc["law", "c"] == pytest.approx(-9 * 4 / 9, abs=1.2)
    for command in (("compare", path), ("drift", saved, path), ("audit", path, "-o", tmp_path / "page")):
        done = cli(*command, *by, "--resamples", 100) if command[0] != "drift" else cli(*command, *by)
        assert done.returncode in (0, 1), done.stderr
