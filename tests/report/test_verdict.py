"""The three sentences at the top of a report, and pages of panels that are odd."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.core.sections import SEVERITIES, Report, Step
from polyjudge.report import report_of, terminal
from polyjudge.report.markdown import markdown
from polyjudge.report.words import word


def test_a_panel_that_reverses() -> None:
    audit = pj.audit(pj.sample_panel(), resamples=200)
    report = report_of(audit)
    assert report is not None
    assert report.verdict == audit.advice.verdict
    assert [f.code for f in audit.advice.verdict] == ["verdict.diffuse", "verdict.swap"]
    swap = audit.advice.verdict[1]
    assert [swap.values[n] for n in ("judge_i", "judge_j", "above", "below")] == [
        "Aster",
        "Dahlia",
        "English",
        "Spanish",
    ]
    assert all(f in audit.findings for f in audit.advice.verdict)
    assert [step.command.split()[1] for step in report.next] == ["calibrate", "compare"]


def test_a_panel_without_interaction_is_calm() -> None:
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, interaction=0.0, seed=5)
    audit = pj.audit(panel, resamples=200)
    assert audit.advice.state in ("agree", "open")
    assert max(f.weight for f in audit.advice.verdict) <= SEVERITIES.index("notice")
    about_cells = [f for f in audit.findings if f.matter is not None]
    assert all(f.severity in ("info", "notice") for f in about_cells)


@pytest.mark.parametrize("panel", [pj.sample_panel(), pj.simulate_panel(tasks=30, interaction=0.0, seed=1)[0]])
def test_every_renderer_shows_the_same_first_screen(panel: pj.Panel) -> None:
    audit = pj.audit(panel, resamples=100)
    report = report_of(audit)
    assert report is not None
    page = html_text(audit.to_html())
    screens = [terminal.text(report), repr(audit), markdown(report), html_text(audit._repr_html_()), page]
    for sentence in (*report.read, *report.verdict, *report.uses):
        for screen in screens:
            assert squeeze(word(sentence)) in squeeze(screen)
    for step in report.next:
        assert all(squeeze(step.command) in squeeze(screen) for screen in screens)


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
    page = audit.to_html()
    cells = audit.uncertainty.cells
    table = page.split('id="interaction-table-2"')[1].split("</table>")[0]
    shown = [float(x) for x in re.findall(r'data-v="[^"]*">([^<]*) <small>', table)]
    expected = cells["interaction"].iloc[cells["interaction"].abs().argsort()[::-1]]
    assert shown == pytest.approx(expected.tolist(), abs=1e-3 * cells["interaction"].abs().max())


def test_a_command_to_paste_is_never_broken() -> None:
    command = f"polyjudge explain {'a/very/long/folder/' * 8}scores.csv --cell Spanish,Aster"
    report = Report(command="audit", title="Audit", next=(Step(why="Read its worst answers", command=command),))
    assert command in terminal.text(report)
