"""The public functions: every kind of scores, the same column arguments, our own errors; every name documented."""

from __future__ import annotations

import inspect
import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from refusals import refused

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=12, languages=3, judges=3, seed=3)[0]


FUNCTIONS = [n for n in pj.__all__ if callable(f := getattr(pj, n)) and not isinstance(f, type)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_fails_with_an_error_that_is_not_ours(panel: pj.Panel, name: str) -> None:
    """Whatever stands in place of the scores, and whatever is misspelt."""
    function = getattr(pj, name)
    if name != "plan":  # which may do without scores
        with pytest.raises(pj.PolyjudgeError):
            function(None, *[None] * 3)
    for wrong in ([1, 2], object(), "no such file.csv", pd.DataFrame({"a": [1]})):
        if name != "check":  # which answers with questions
            with pytest.raises(pj.PolyjudgeError):
                function(wrong)
    with pytest.raises(pj.PolyjudgeError):
        function(panel.to_frame(), nonsense=1)
    if "panel" in own_options(name):
        with pytest.raises(pj.PolyjudgeError):
            function(panel.to_frame(), judge="nobody")


def own_options(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(inspect.unwrap(getattr(pj, name))).parameters)


WRONG = {"level": "high", "resamples": 1.5, "seed": None, "matters": "x", "threshold": "y"}


@pytest.mark.parametrize(
    ("name", "option"), [(n, o) for n in FUNCTIONS for o in WRONG if {"panel", o} <= set(own_options(n))]
)
def test_options_of_the_wrong_kind_are_named(panel: pj.Panel, name: str, option: str) -> None:
    own, wrong = own_options(name), WRONG[option]
    needed = {"cal": pj.ConsensusCalibrator().fit(panel)} if "cal" in own else {}
    needed |= {n: panel.judges[0] for n in ("out", "into") if n in own}
    with refused(UsageError, f"polyjudge.{name}", option, wrong):
        getattr(pj, name)(panel=panel, **needed | {option: wrong})


def gold(panel: pj.Panel) -> pd.DataFrame:
    return panel.to_frame().groupby(["task", "language"], sort=False)["score"].mean().reset_index()


def test_calibrators_take_what_functions_take(panel: pj.Panel, tmp_path: Path) -> None:
    frame = panel.to_frame().rename(columns={"judge": "who"})
    frame.to_csv(tmp_path / "s.csv", index=False)
    fitted = pj.ConsensusCalibrator().fit(panel)
    for source in (frame, polars.from_pandas(frame), tmp_path / "s.csv", ibis.memtable(frame)):
        again = pj.ConsensusCalibrator().fit(source, judge="who")
        found = again.interaction_.loc[list(panel.languages), list(panel.judges)]
        np.testing.assert_allclose(found, fitted.interaction_, atol=1e-9)
        assert fitted.transform(source, judge="who").shape == panel.shape
    for wrong in (lambda: pj.SparseCalibrator().fit(None), lambda: fitted.transform([1]), lambda: fitted.save(None)):
        with pytest.raises(pj.PolyjudgeError):
            wrong()


def test_labels_are_a_table_or_a_path(panel: pj.Panel, tmp_path: Path) -> None:
    table = gold(panel)
    table.to_csv(tmp_path / "g.csv", index=False)
    expected = pj.anchor(panel, table, resamples=100).to_dict()
    for labels in (polars.from_pandas(table), tmp_path / "g.csv"):
        assert pj.anchor(panel, labels, resamples=100).to_dict() == expected
    with refused(UsageError, "labels", 3):
        pj.anchor(panel, 3)


@pytest.mark.parametrize("kind", ["panel", "frame", "polars", "path", "ibis"])
def test_every_kind_of_scores_with_the_same_column_arguments(panel: pj.Panel, kind: str, tmp_path: Path) -> None:
    frame = panel.to_frame().rename(columns={"judge": "who"})
    frame.to_csv(tmp_path / "s.csv", index=False)
    source: Any = {"panel": panel, "frame": frame, "path": tmp_path / "s.csv", "ibis": ibis.memtable(frame)} | {
        "polars": polars.from_pandas(frame)
    }
    source = source[kind]
    columns = {} if kind == "panel" else {"judge": "who"}
    few = {"resamples": 100}
    found = pj.audit(source, **few, **columns).uncertainty.cells.set_index(["language", "judge"])
    wanted = pj.audit(panel, **few).uncertainty.cells.set_index(["language", "judge"]).loc[found.index]
    np.testing.assert_allclose(found["interaction"], wanted["interaction"], atol=1e-9)
    cal = pj.ConsensusCalibrator().fit(panel)
    assert pj.drift(cal, source, **columns).p_global == pytest.approx(pj.drift(cal, panel).p_global)
    assert pj.drift(cal=cal, panel=source, **columns).p_global == pytest.approx(pj.drift(cal, panel).p_global)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda p: pj.audit(), ("polyjudge.audit", "panel")),
        (lambda p: pj.audit(3), ("int",)),
        (lambda p: pj.audit(p, judge="who"), ("polyjudge.audit", "judge")),
        (lambda p: pj.audit(p, nonsense=1), ("polyjudge.audit", "nonsense")),
        (lambda p: pj.audit(p.to_frame(), nonsense=1), ("polyjudge.audit", "nonsense")),
        (lambda p: pj.audit(p, resamples=100).plot("nothing"), ("Audit", "nothing")),
        (lambda p: pj.check(p, nonsense=1), ("polyjudge.check", "nonsense")),
        (lambda p: pj.drift(3, p), ("polyjudge.drift", "cal", "int")),
        (lambda p: pj.read_panel(p.to_frame(), languages="en"), ("languages", "en")),
        (lambda p: pj.read_panel(p.to_frame(), map=3), ("polyjudge.read_panel", "map", 3)),
    ],
)
def test_wrong_use_is_an_error_of_ours(panel: pj.Panel, wrong: Any, named: tuple[object, ...]) -> None:
    with refused(UsageError, *named):
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


def test_the_interface_page_is_up_to_date() -> None:
    """`make docs` writes it."""
    page = runpy.run_path(str(ROOT / "docs/make_api.py"))["page"]
    assert page() == (ROOT / "docs/api.md").read_text("utf-8")


def test_the_store_of_an_adaptive_run_gets_the_level_that_its_looks_left(panel: pj.Panel) -> None:
    judged = pj.simulate_panel(tasks=20, systems=3, languages=2, judges=3, seed=3)[0]
    bought, compared = replace(panel, looks=5), replace(judged, looks=5)
    few: dict[str, Any] = {"resamples": 100}
    for result in (
        pj.audit(bought, **few),
        pj.systems(compared, **few),
        pj.judges(bought, swap=panel.judges[:2]),
        pj.drift(pj.ConsensusCalibrator().fit(panel), bought),
    ):
        assert result.level == pytest.approx(0.99), type(result)
    assert pj.audit(bought, level=0.9, **few).level == pytest.approx(0.98)
    assert pj.plan(bought, draws=100).level == 0.95
    assert pj.audit(panel, **few).level == 0.95
