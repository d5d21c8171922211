"""The first screen: short, in its order, with one number for one thing, and calibrating takes off what it shows."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.say import Say, Words, word
from polyjudge.second.questions.audit.view import in_percent
from polyjudge.second.report import report_of, terminal
from polyjudge.second.report.charts.grids import deviations
from polyjudge.second.report.sections import Chart, Folded, Grid, Report, Table
from polyjudge.second.report.tables import rows

PAGE = Path(__file__).parents[3] / "docs" / "make_screens.py"
SPEC = importlib.util.spec_from_file_location("make_screens", PAGE)
assert SPEC is not None
assert SPEC.loader is not None
SCREENS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SCREENS)
PANELS: dict[str, Callable[[], pj.Panel] | None] = SCREENS.PANELS
NAMES = [title for title, make in PANELS.items() if make is not None]


@cache
def audited(title: str) -> tuple[Any, Report]:
    make = PANELS[title]
    assert make is not None
    audit = pj.audit(make(), resamples=200)
    report = report_of(audit)
    assert report is not None
    return audit, report


def grid_of(report: Report) -> Grid | None:
    grids = [b.instead for b in report.picture if isinstance(b, Chart)]
    return grids[0] if grids and isinstance(grids[0], Grid) else None


@pytest.mark.parametrize("title", NAMES)
def test_at_most_thirty_lines_and_no_word_of_sight(title: str) -> None:
    _, report = audited(title)
    text = terminal.text(report, width=SCREENS.WIDTH)
    assert len(text.splitlines()) <= 30, text
    assert max(map(len, text.splitlines())) <= SCREENS.WIDTH
    assert not re.search(r"\b(sees?|seen|should be|refuted|languages agree)\b", text.lower())
    assert sum("share" in word(s) and "would not show" in word(s) for s in report.verdict) <= 1


@pytest.mark.parametrize("title", NAMES)
def test_who_wins_and_whether_to_trust_it_stand_first(title: str) -> None:
    audit, report = audited(title)
    codes = [s.code for s in report.verdict if isinstance(s, Say)]
    if audit.systems is not None and audit.advice.state != "blind":
        assert codes[0] == "systems.top"
    assert any(code.startswith("signal") for code in codes[:2])
    assert report.next
    assert report.next[-1 if audit.advice.state != "calm" else 0].command.startswith("polyjudge label")


@pytest.mark.parametrize("title", NAMES)
def test_the_grid_is_what_the_advised_calibration_takes_off(title: str) -> None:
    audit, report = audited(title)
    grid = grid_of(report)
    commands = [step.command for step in report.next if " calibrate " in step.command and "--save" not in step.command]
    if grid is None:
        assert audit.advice.method is None
        assert not commands
        return
    make = PANELS[title]
    assert make is not None
    sparse = audit.advice.method == "sparse"
    calibrator = (pj.SparseCalibrator() if sparse else pj.ConsensusCalibrator()).fit(make())
    taken = calibrator.correction_ * audit.explanation.factor
    shown = grid.values
    np.testing.assert_allclose(shown.to_numpy(), taken.loc[shown.index, shown.columns].to_numpy(), atol=1e-9)
    rest = taken.drop(index=shown.index)
    assert rest.abs().to_numpy().max(initial=0.0) <= (1e-9 if sparse else shown.abs().to_numpy().max())
    if audit.advice.state != "blind":
        assert commands
        assert all(("--method sparse" in command) == sparse for command in commands)


@pytest.mark.parametrize("title", NAMES)
def test_one_number_for_one_thing(title: str) -> None:
    """Every number of a sentence is one of its values; what several sentences speak of has one value."""
    audit, report = audited(title)
    things: dict[Any, set[float]] = {}
    for sentence in (*report.read, *report.verdict, *report.uses, *(step.why for step in report.next)):
        assert isinstance(sentence, Say)
        values = sentence.values
        numbers = list(flat(values))
        for token in re.findall(NUMBER, without_names(word(sentence), values)):
            number, decimals = float(token.replace(",", "")), len(token.partition(".")[2])
            if sentence.code in CONSTANTS and token in CONSTANTS[sentence.code]:
                continue
            close = 0.5001 * 10.0**-decimals
            known = any(abs(abs(x) - abs(number)) <= close or abs(abs(100 * x) - abs(number)) <= close for x in numbers)
            assert known or "p <" in word(sentence), (token, word(sentence))
        for name in ("delta", "matters", "tasks", "cells"):
            if isinstance(values.get(name), (int, float)):
                things.setdefault(name, set()).add(round(float(values[name]), 9))
        if {"excess", "judge", "language"} <= set(values) and not sentence.code.startswith("use.mean"):
            things.setdefault((values["language"], values["judge"]), set()).add(round(float(values["excess"]), 9))
    grid = grid_of(report)
    if grid is not None:
        for place in [p for p in things if isinstance(p, tuple)]:
            things[place].add(round(float(grid.values.at[place[0], place[1]]), 9))
    assert all(len(found) == 1 for found in things.values()), things
    every = numbers_of(terminal.text(report, width=SCREENS.WIDTH), audit)
    assert every <= sources(report, audit)


def numbers_of(text: str, audit: Any) -> set[str]:
    """The numbers of a text, without those in names of systems, languages and judges."""
    s = audit.summary
    return set(re.findall(NUMBER, without_names(text, [*s.systems, *s.languages, *s.judges])))


def sources(report: Report, audit: Any) -> set[str]:
    """The numbers of the sentences, of the grid or leaderboard, and of the commands."""
    said = [*report.read, *report.verdict, *report.uses, *(step.why for step in report.next)]
    texts = [word(x) for x in said] + [step.command for step in report.next]
    for block in report.picture:
        shown = block.instead if isinstance(block, Chart) else block
        assert shown is not None
        texts += [word(shown.caption), *([word(shown.note)] if isinstance(shown, Grid) else [])]
        texts += [text for row in rows(shown)[1] for text in row]
        texts += [f"{len(shown.frame) - shown.most} more"] if isinstance(shown, Table) else []
    steps = {str(i + 1) for i in range(len(report.next))}
    return steps.union(*(numbers_of(text, audit) for text in texts))


NUMBER = r"(?<![\w.#-])[+-]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w-])"
CONSTANTS = {key: {"50"} for key in ("verdict.shared", "step.labels", "signal-unclear", "signal.cannot-tell")}
"""Numbers that are words."""


def flat(values: Any) -> Iterable[float]:
    if isinstance(values, Mapping):
        values = values.values()
    for value in values if isinstance(values, (list, tuple)) or not hasattr(values, "__float__") else [values]:
        if isinstance(value, (Mapping, list, tuple)):
            yield from flat(value)
            if isinstance(value, (list, tuple)):
                yield float(len(value))
        elif isinstance(value, (int, float, np.integer, np.floating)):
            yield float(value)


def without_names(text: str, values: Any) -> str:
    """The sentence without what the user named."""
    names = [v for v in pd.Series(list(strings(values)), dtype=object) if v]
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return text


def strings(values: Any) -> Iterable[str]:
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        yield from strings(list(values.values()))
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from strings(value)


def test_pass_or_fail_is_read_in_percent_everywhere_and_json_keeps_the_scores() -> None:
    audit, report = audited("Pass or fail")
    tables = {b.name: b.frame for s in report.sections for b in s.blocks if isinstance(b, Table)}
    tables |= {
        b.instead.name: b.instead.frame
        for s in report.sections
        for b in s.blocks
        if isinstance(b, Chart) and isinstance(b.instead, Table)
    }
    own = audit.uncertainty.cells["interaction"].abs().max()
    assert own < 1
    assert tables["explained"]["interaction"].abs().max() == pytest.approx(100 * own)
    assert tables["explained"]["band_low"].min() == pytest.approx(100 * audit.explanation.cells["band_low"].min())
    assert tables["judges"]["effect"].max() == pytest.approx(100 * audit.judge_effect["effect"].max())
    assert tables["links"]["spearman"].max() <= 1
    board = audit.systems.leaderboard.systems
    assert tables["leaderboard-languages"]["mean"].tolist() == pytest.approx((100 * board["mean"]).tolist())
    assert tables["leaderboard-languages"]["rank_high"].tolist() == board["rank_high"].tolist()
    assert [b.frame["low"].max() > 50 for b in report.beside if b.name == "leaderboard"] == [True]
    gain = tables["compare"].set_index("method")["gain"]["cbc"]
    assert gain == pytest.approx(100**2 * audit.held_out.table.set_index("method")["gain"]["cbc"])
    assert tables["compare"]["tau"].tolist() == pytest.approx(audit.held_out.table["tau"].tolist(), nan_ok=True)
    advice, said = audit.held_out.advice.text, next(s for s in report.sections if s.name == "held-out").says[0]
    assert said.values["gain"] == pytest.approx(100**2 * advice.values["gain"])
    assert said.unit == audit.explanation.unit == report.unit
    assert [s.name for s in report.sections].index("interaction") <= 4
    assert audit.to_dict()["uncertainty"]["cells"][0]["interaction"] == audit.uncertainty.cells["interaction"].iloc[0]
    plain = audited("One cell is off")[0]
    assert in_percent(plain) is plain


def test_two_values_other_than_0_and_1_are_a_percentage_of_the_higher() -> None:
    rng = np.random.default_rng(3)
    index = pd.MultiIndex.from_product(
        [range(40), ["a", "b"], ["en", "fr"], ["ja", "jb", "jc"]], names=["task", "system", "language", "judge"]
    )
    rows = pd.DataFrame({"score": rng.integers(0, 2, len(index))}, index=index).reset_index()
    as_is, other = (
        in_percent(pj.audit(pj.read_panel(x), resamples=100, cell=("fr", "jb")))
        for x in (rows, rows.assign(score=2 * rows["score"] + 1))
    )
    for name in ("mean", "low", "high"):
        there = [x.systems.leaderboard.systems[name].to_numpy() for x in (as_is, other)]
        assert there[0] == pytest.approx(there[1])
    assert as_is.explanation.worst["score"].tolist() == pytest.approx(other.explanation.worst["score"].tolist())


ALONE = re.compile(r"(?<![Pp]ercentage )\b[Pp]oints\b")


@pytest.mark.parametrize("question", ["audit", "systems", "compare", "one language"])
def test_no_command_about_pass_or_fail_speaks_in_scores(question: str) -> None:
    make = PANELS["Pass or fail"]
    assert make is not None
    panel = make()
    if question == "one language":
        result: Any = pj.audit(panel.select(languages=["Hindi"]), resamples=100, threshold=0.5)
        assert result.means["mean"].max() < 1  # JSON keeps the scores
    else:
        result = getattr(pj, question)(panel, resamples=100)
    report = report_of(result)
    assert report is not None
    said: list[Words] = [*report.verdict, *report.uses, *report.findings]
    tables = []
    for block in (*report.picture, *report.beside, *(b for s in report.sections for b in s.blocks)):
        shown = block.instead if isinstance(block, Chart) else block
        said += [block.caption, *([block.alt] if isinstance(block, Chart) else []), *([shown.caption] if shown else [])]
        tables += [shown] if isinstance(shown, Table) else []
    said += [x for s in report.sections for x in (s.title, *s.says)] + [c.title for t in tables for c in t.columns]
    assert not [word(x) for x in said if ALONE.search(word(x))]
    assert len(said) > 20
    for one in (t for t in tables if any(c.name == "mean" for c in t.columns)):
        assert one.frame["mean"].min() > 30
        assert [c.title for c in one.columns if c.name == "mean"] == ["mean, %"]


def test_a_cell_that_few_resamples_name_is_never_corrected() -> None:
    audit, _ = audited("One cell is off")
    e = audit.explanation
    doubtful = replace(audit, explanation=replace(e, named_cells=e.named_cells.assign(share=0.06)))
    advice, report = doubtful.advice, report_of(doubtful)
    assert report is not None
    assert (advice.state, advice.method) == ("culprit", None)
    assert not report.picture
    assert not [s for s in advice.steps if "calibrate" in s.command]
    assert [f.values["sure"] for f in advice.verdict if f.code == "verdict.cell"] == [False]
    assert not any(use.values["sure"] for use in advice.uses.values())
    assert "6.0%" in str(advice.verdict[-1]) or "6%" in str(advice.verdict[-1])
    many = replace(doubtful, explanation=replace(doubtful.explanation, kind="diffuse"))
    assert (many.advice.state, many.advice.method) == ("diffuse", "cbc")


@pytest.mark.parametrize("judges", [5, 10, 12])
def test_the_first_grid_fits_on_a_telephone(judges: int) -> None:
    """Beside names of languages of 70 pixels in a window of 400."""
    named = ([f"language {i}" for i in range(4)], [f"judge {i}" for i in range(judges)])
    cells = pd.DataFrame(list(product(*named)), columns=["language", "judge"])
    cells = cells.assign(excess=-12.0, low=-13.0, high=-11.0, named=False, small=False)
    picture = deviations(cells, 2.0).to_dict()
    assert picture["width"]["step"] >= 20
    assert picture["width"]["step"] * judges <= 300


def test_a_first_screen_makes_no_section_that_it_does_not_show() -> None:
    report = report_of(pj.audit(pj.sample_panel(), resamples=100))
    assert report is not None
    assert isinstance(report.sections, Folded)
    assert terminal.text(report)
    assert "_made" not in vars(report.sections)
    assert all(section.folded for section in report.sections)


def test_missing_scores_of_one_place_are_on_the_first_screen() -> None:
    """A judge that leaves out its low scores in one language: nobody must read past it, nor average as if whole."""
    panel, _ = pj.simulate_panel(60, 3, 4, systems=3, interaction=0.0, seed=8)
    scores = panel.system_scores
    assert scores is not None
    low = scores[:, :, 2, 3] < np.quantile(scores[:, :, 2, 3], 0.35)
    there = scores.copy()
    there[:, :, 2, 3][low] = np.nan
    found = pj.audit(pj.Panel.from_array(there, systems=panel.systems), resamples=200)
    (said,) = (s for s in found.advice.verdict if s.code == "verdict.missing")
    assert said.values == {
        "judge": "judge4", "language": "language3", "worst": low.mean(), "overall": pytest.approx(low.mean() / 12)
    }  # fmt: skip
    assert found.advice.uses["panel-mean"].code == "use.mean.missing"
    even = np.where(np.random.default_rng(1).random(scores.shape) < 0.03, np.nan, scores)
    calm = pj.audit(pj.Panel.from_array(even, systems=panel.systems), resamples=200)
    assert "verdict.missing" not in [s.code for s in calm.advice.verdict]
    assert pj.audit(panel, resamples=200).advice.uses["panel-mean"].code == "use.mean.nothing"


@pytest.mark.parametrize(("ahead", "sure"), [(0.6, True), (0.0, False)])
def test_verdicts_on_two_systems_say_who_wins(ahead: float, sure: bool) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for task in range(60):
        level = ahead + rng.normal(0, 0.7)
        for judge in ("p", "q", "r"):
            for a, b in (("x", "y"), ("y", "x")):
                gap = (level + rng.normal(0, 0.5)) * (1 if a == "x" else -1)
                rows.append((f"t{task}", "en", judge, a, b, "A" if gap > 0 else "B"))
    table = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"])
    again = table.assign(language="de")
    found = pj.audit(pd.concat([table, again]), resamples=200)
    for_x = np.where((table["winner"] == "A") == (table["model_a"] == "x"), 1, -1)
    first, second = found.advice.verdict[:2]
    assert first.code == "verdict.won"
    assert first.values["sure"] is sure
    assert first.values["lead"] == pytest.approx(100 * abs(for_x.mean()))
    assert second.values["pairs"]
