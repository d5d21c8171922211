"""The three sentences at the top of a report, and pages of panels that are odd."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.say import Say, word
from polyjudge.second.report import report_of, tables, terminal
from polyjudge.second.report.in_python import in_python
from polyjudge.second.report.markdown import markdown
from polyjudge.second.report.sections import SEVERITIES, Finding, Report, Step, Table, find


def test_a_panel_that_reverses() -> None:
    audit = pj.audit(pj.sample_panel(), resamples=100)
    report = report_of(audit)
    assert report is not None
    assert report.verdict == audit.advice.verdict
    assert [s.code for s in audit.advice.verdict][-3:] == ["verdict.shared", "verdict.diffuse", "verdict.swap"]
    swap = audit.advice.verdict[-1]
    assert [swap.values[n] for n in ("judge_i", "judge_j", "above", "below")] == [
        "Aster",
        "Dahlia",
        "English",
        "Spanish",
    ]
    assert all(f in audit.findings for f in audit.advice.verdict if isinstance(f, Finding))
    assert [step.command.split()[1] for step in report.next] == ["calibrate", "label"]


def test_a_panel_without_interaction_is_calm() -> None:
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, interaction=0.0, seed=5)
    audit = pj.audit(panel, resamples=200)
    assert audit.advice.state in ("calm", "open")
    assert max(f.weight for f in audit.advice.verdict if isinstance(f, Finding)) <= SEVERITIES.index("notice")
    about_cells = [f for f in audit.findings if f.matter is not None]
    assert all(f.severity in ("info", "notice") for f in about_cells)


def first_screens() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Nothing wrong, one broken place, blind judges and yes or no; each with goals that it answers differently."""
    fault = np.zeros((5, 4))
    fault[3, 1] = -20
    broken = pj.simulate_panel(55, 5, 4, interaction=fault, seed=1)[0].scores
    rng = np.random.default_rng(3)
    return {
        "null": (pj.simulate_panel(200, 5, 4, interaction=0.0, seed=1)[0].scores, {"goal": "compare-systems"}),
        "cell": (broken, {}),
        "cell, gate": (broken, {"goal": "gate", "threshold": 50.0, "at_least": True}),
        "blind": (rng.normal(60, 9, (150, 5, 4)), {"goal": "best-judge-per-language"}),
        "blind, gate": (rng.normal(60, 9, (150, 5, 4)), {"goal": "gate", "threshold": 60.0}),
        "binary": ((broken > 50).astype(float), {"goal": "panel-mean"}),
        "ranks": (pj.simulate_panel(55, 5, 4, interaction=12.0, seed=2)[0].scores, {"goal": "rank-judges"}),
    }


@pytest.mark.parametrize("name", first_screens())
def test_every_renderer_shows_the_same_first_screen(name: str, tmp_path: Path) -> None:
    """Of scores in a file: the command has the panel at hand, `print(audit)` and the notebook have the audit alone."""
    scores, options = first_screens()[name]
    pj.Panel.from_array(scores).to_long().rename(columns={"judge": "grader"}).to_csv(tmp_path / "s.csv", index=False)
    panel = pj.read_panel(tmp_path / "s.csv")
    audit = pj.audit(panel, resamples=100, **options)
    report = report_of(audit, panel)
    assert report is not None
    assert "(grader)" in word(report.read[0])
    page, shown = html_text(audit.to_html()), repr(audit)
    every = [terminal.text(report), shown, markdown(report), html_text(audit._repr_html_()), page]
    screens = [squeeze(screen) for screen in every]
    for sentence in (*report.read, *report.verdict, *report.uses):
        for screen in screens:
            assert squeeze(word(sentence)) in screen
    for step in report.next:
        in_shell, here = (squeeze(c) for c in (step.command, in_python(step.command) or step.command))
        assert [(here if i in (1, 3) else in_shell) in screen for i, screen in enumerate(screens)] == [True] * 5
    assert "--full" not in shown
    assert ".to_html('audit.html')" in shown


@pytest.mark.parametrize(
    ("name", "code", "values", "command"),
    [
        ("null", "use.compare.none", {}, "label make"),
        ("cell, gate", "use.gate.culprit", {"mark": 50, "at_least": True}, "audit SCORES --cell"),
        ("blind", "use.best", {}, "label make"),
        ("blind, gate", "use.gate.blind", {"mark": 60, "at_least": False}, "probe make"),
    ],
)
def test_the_goal_decides_what_is_said_and_done(name: str, code: str, values: dict[str, Any], command: str) -> None:
    scores, options = first_screens()[name]
    audit = pj.audit(pj.Panel.from_array(scores), resamples=100, **options)
    report = report_of(audit)
    assert report is not None
    use = report.uses[0]
    assert isinstance(use, Say)
    assert use.code == code
    assert values.items() <= use.values.items()
    assert any(f"polyjudge {command}" in step.command for step in report.next)
    if audit.advice.state == "blind":
        assert not [step for step in report.next if " plan " in step.command]  # more tasks do not make judges see


def test_binary_scores_never_speak_of_points_on_the_first_screen() -> None:
    scores, _ = first_screens()["binary"]
    audit = pj.audit(pj.Panel.from_array(scores), resamples=100)
    units = {f.values["unit"] for f in audit.advice.verdict if isinstance(f, Say) and "unit" in f.values}
    assert units == {"percentage points"}
    text = repr(audit)
    assert not re.findall(r"(?<!ercentage) points", " ".join(text.split()))


def html_text(page: str) -> str:
    return html.unescape(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", "", page, flags=re.DOTALL))


def squeeze(text: str) -> str:
    """Letters and digits alone: wrapping and escapes differ."""
    return re.sub(r"&#?\w+;|[^\w]", "", html.unescape(text))


RNG = np.random.default_rng(0)
ODD = {
    "constant": np.full((6, 3, 3), 5.0),
    "ties": RNG.integers(0, 2, (12, 3, 4)).astype(float),
    "two of all": RNG.normal(size=(2, 2, 2)),
    "a constant judge": np.concatenate([RNG.normal(size=(15, 3, 2)), np.zeros((15, 3, 1))], axis=2),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_panels_have_a_page(name: str) -> None:
    page = pj.audit(pj.Panel.from_array(ODD[name]), resamples=100).to_html()
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None)\b", text)


@pytest.mark.parametrize("scale", [1e-6, 0.01, 1.0, 1e9])
def test_numbers_keep_their_digits_on_any_scale(scale: float) -> None:
    panel = pj.Panel.from_array(pj.simulate_panel(tasks=20, languages=3, judges=3, seed=2)[0].scores * scale)
    audit = pj.audit(panel, resamples=100)
    report = report_of(audit)
    assert report is not None
    table = next(s for s in report.sections if s.name == "places").blocks[0]
    assert isinstance(table, Table)
    at = [column.name for column in table.columns].index("interaction")
    shown = {(row[0].text, row[1].text): float(row[at].text) for row in tables.cells(table)}
    expected = audit.uncertainty.cells.set_index(["language", "judge"])["interaction"]
    assert shown == pytest.approx(expected.to_dict(), abs=1e-3 * expected.abs().max())


def test_a_command_to_paste_is_never_broken() -> None:
    command = f"polyjudge explain {'a/very/long/folder/' * 8}scores.csv --cell Spanish,Aster"
    report = Report(command="audit", title="Audit", next=(Step(why="Read its worst answers", command=command),))
    assert command in terminal.text(report)


def test_no_label_is_cut_on_a_wide_panel() -> None:
    """Judges that do not fit the width continue in a further table, in full."""
    panel, _ = pj.simulate_panel(tasks=12, languages=12, judges=25, interaction=6.0, seed=1)
    text = terminal.text(report_of(pj.audit(panel, resamples=100)), full=True)  # type: ignore[arg-type]
    assert all(re.search(rf"\b{label}\b", text) for label in (*panel.languages, *panel.judges))
    assert "…" not in text


def test_advice_in_python_is_python() -> None:
    """What a notebook or `print` advises runs there; a shell gets commands."""
    audit = pj.audit(pj.sample_panel(), resamples=100)
    assert "pj." in str(audit)
    assert "pj." in (audit._repr_html_() or "")
    report = report_of(audit)
    assert report is not None
    assert "pj." not in terminal.text(report)


def test_a_panel_shows_itself_in_a_notebook_without_running_names() -> None:
    scores = pj.simulate_panel(tasks=4, languages=2, judges=2, seed=1)[0].scores
    html = pj.Panel.from_array(scores, judges=["<b>x", "y:z"])._repr_html_()
    assert "&lt;b&gt;x, y:z" in html
    assert "<b>" not in html


def test_one_remark_is_said_and_several_are_announced() -> None:
    def text(count: int) -> str:
        remarks = tuple(find("info", "note", text=f"remark {i}") for i in range(count))
        return terminal.text(Report(command="audit", title="t", findings=remarks))

    assert "remark 0" in text(1)
    assert "remark 0" not in text(2)
    assert "2 more remarks" in text(2)
