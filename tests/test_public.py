"""The public functions: every kind of scores, the same column arguments, our own errors; every name documented."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pytest

import polyjudge as pj
from polyjudge.core.errors import UsageError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=12, languages=3, judges=3, seed=3)[0]


@pytest.mark.parametrize("kind", ["panel", "frame", "path", "ibis"])
def test_every_kind_of_scores_with_the_same_column_arguments(panel: pj.Panel, kind: str, tmp_path: Path) -> None:
    frame = panel.to_frame().rename(columns={"judge": "who"})
    frame.to_csv(tmp_path / "s.csv", index=False)
    source: Any = {"panel": panel, "frame": frame, "path": tmp_path / "s.csv", "ibis": ibis.memtable(frame)}[kind]
    columns = {} if kind == "panel" else {"judge": "who"}
    expected = pj.uncertainty(panel, resamples=100).to_frame()
    found = pj.uncertainty(source, resamples=100, **columns).to_frame().set_index(["language", "judge"])
    wanted = expected.set_index(["language", "judge"]).loc[found.index]
    np.testing.assert_allclose(found["interaction"], wanted["interaction"], atol=1e-9)
    cal = pj.ConsensusCalibrator().fit(panel)
    assert pj.drift(cal, source, **columns).p_global == pytest.approx(pj.drift(cal, panel).p_global)
    assert pj.drift(cal=cal, panel=source, **columns).p_global == pytest.approx(pj.drift(cal, panel).p_global)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p: pj.audit(),
        lambda p: pj.audit(3),
        lambda p: pj.audit(p, judge="who"),
        lambda p: pj.audit(p, nonsense=1),
        lambda p: pj.audit(p.to_frame(), nonsense=1),
        lambda p: pj.uncertainty(p, resamples=100).plot("nothing"),
        lambda p: pj.check(p, nonsense=1),
        lambda p: pj.difference({}, {}),
    ],
)
def test_wrong_use_is_an_error_of_ours(panel: pj.Panel, wrong: Any) -> None:
    with pytest.raises(UsageError):
        wrong(panel)


def test_charts_by_name(panel: pj.Panel) -> None:
    audit = pj.audit(panel, resamples=100)
    assert "heatmap" in audit.charts
    for name in audit.charts:
        assert "$schema" in audit.plot(name).to_dict(validate=False), name
    assert audit.plot().to_dict(validate=False)["data"] == audit.plot(audit.charts[0]).to_dict(validate=False)["data"]


def test_check_answers_with_questions(panel: pj.Panel) -> None:
    found = pj.check(panel.to_frame().rename(columns={"judge": "model"}))
    assert not found.readable
    assert [f.code for f in found.findings] == ["read.lone_model"]
    assert pj.check(panel).entries == panel.scores.size


def test_every_public_name_is_in_the_interface_page() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(?:pj\.)?(\w+)[`(]", page))
    assert {n for n in pj.__all__ if not n.startswith("__")} <= listed


def test_the_interface_page_is_up_to_date(tmp_path: Path) -> None:
    """`make docs` writes it."""
    import subprocess
    import sys

    subprocess.run([sys.executable, str(ROOT / "docs/make_api.py"), str(tmp_path / "api.md")], check=True)
    assert (tmp_path / "api.md").read_text("utf-8") == (ROOT / "docs/api.md").read_text("utf-8")


def test_the_store_of_an_adaptive_run_gets_the_level_that_its_looks_left(panel: pj.Panel) -> None:
    judged = pj.simulate_panel(tasks=20, systems=3, languages=2, judges=3, seed=3)[0]
    bought, compared = replace(panel, looks=5), replace(judged, looks=5)
    few: dict[str, Any] = {"resamples": 100}
    for result in (
        pj.audit(bought, permutations=0, **few),
        pj.uncertainty(bought, **few),
        pj.gates(bought, 50.0, **few),
        pj.explain(bought, **few),
        pj.systems(compared, **few),
        pj.swap(bought, *panel.judges[:2]),
        pj.drift(pj.ConsensusCalibrator().fit(panel), bought),
    ):
        assert result.level == pytest.approx(0.99), type(result)
    assert pj.uncertainty(bought, level=0.9, **few).level == pytest.approx(0.98)
    assert pj.rank_reversals(bought, **few).alpha == pytest.approx(0.01)
    assert pj.plan(bought, draws=100).level == 0.95
    assert pj.uncertainty(panel, **few).level == 0.95
