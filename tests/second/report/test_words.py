"""Words, numbers, and the renderers that share them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel import numbers
from polyjudge.second.panel.say import codes, say, word
from polyjudge.second.report import terminal
from polyjudge.second.report.markdown import escape, markdown
from polyjudge.second.report.notebook import notebook
from polyjudge.second.report.page.render import render_report
from polyjudge.second.report.sections import Column, Report, Section, Table, find
from polyjudge.second.report.tables import cells
from polyjudge.second.rooms import QUESTIONS
from values import Cases, without_values

SOURCE = Path(pj.__file__).parent
KEPT = Path(__file__).parents[1] / "questions"
CODE = re.compile(r'(?<![.\w])(?:say|find|Say)\(\s*(?:"(?:info|notice|warning|serious)",\s*)?"([a-z][a-z0-9.-]*)"')


def test_every_code_in_the_source_has_words() -> None:
    used = {code for path in SOURCE.rglob("*.py") for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert len(used) > 150
    assert not used - codes() - {"code", "info", "notice", "warning", "serious"}  # the how-to in report/__init__.py


def phrases(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may put into a sentence."""
    if isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
    elif isinstance(node, ast.Subscript):  # not the name of a value
        yield from phrases(node.value)
    elif isinstance(node, ast.Dict):  # nor what a text is chosen by
        yield from (text for value in node.values for text in phrases(value))
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get":
        yield from (text for value in node.args[1:] for text in phrases(value))
    elif not isinstance(node, ast.Compare | ast.alias) and not _is_docstring(node):
        yield from (text for child in ast.iter_child_nodes(node) for text in phrases(child))


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_sentence_of_a_question_is_said_by_a_result_and_kept_in_each_of_its_wordings(question: str) -> None:
    """A code or a side of a choice that no panel reaches should go."""
    words = import_module(f"polyjudge.second.questions.{question}.words")
    every = [Cases(str(file)).read() for file in KEPT.glob("*/values.txt")]
    said = [line for parts in every for line in parts["sentences"]]
    assert set(words.WORDS) - {line.split("~")[0] for line in said} == set()
    kept = [*said, *(line for parts in every for line in parts["wordings"])]
    text = "\n".join(kept).lower()
    tree = ast.parse(Path(str(words.__file__)).read_text(encoding="utf-8"))
    assert [x for x in phrases(tree) if without_values(x).lower() not in text] == []
    choices = [node for node in ast.walk(tree) if isinstance(node, ast.IfExp)]
    sides = [(a, b) for x in choices for a, b in ((x.body, x.orelse), (x.orelse, x.body)) if _is_empty(b)]
    longest = [without_values(max(phrases(a), key=len, default="")).lower() for a, _ in sides]
    assert not [x for x in longest if len(x) > 1 and not _both(x, kept)]


def _is_empty(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("", ".")


def _both(part: str, kept: list[str]) -> bool:
    """Whether a sentence that can have a part is kept with it and without."""
    codes = {line.split("~")[0] for line in kept if part in line.lower()}
    return any(part not in line.lower() for line in kept if line.split("~")[0] in codes)


def test_a_finding_says_the_same_everywhere() -> None:
    values = {"judge": "a|b", "languages": ["<i>"], "value": -0.0001, "low": -3.21, "high": 3.2}
    finding = find("warning", "probe-false-reaction", **values)
    table = Table(
        name="t",
        caption="Rows",
        frame=pd.DataFrame({"judge": ["a|b"], "x": [-0.0001], "low": [-1.0], "high": [1.0]}),
        columns=(
            Column(name="judge", title="judge", kind="judge"),
            Column(name="x", title="x", kind="points", digits=2, low="low", high="high"),
        ),
    )
    section = Section(name="s", title="S", blocks=(table,), folded=False)
    report = Report(command="x", title="T", findings=(finding,), sections=(section,))
    words = word(finding)
    assert words == finding.text
    assert "-0.0 " not in words
    flat = " ".join(terminal.text(report).split())
    assert words in flat
    assert escape(words) in markdown(report)
    for html in (notebook(report), render_report(report, "x")):
        assert "&lt;i&gt;" in html
        assert "<i>" not in html.split("<script", 1)[0]
    for text in (flat, markdown(report), notebook(report)):
        assert "-0.00" not in text
        assert "0.00" in text


@pytest.mark.parametrize(
    "hostile",
    [
        "[x](javascript:alert(1))",
        "<script>alert(1)</script>",
        "@everyone",
        "#1",
        "https://x.y",
        "a|b",
        "*b*",
        "`c`",
        "![i](u)",
    ],
)
def test_markdown_shows_user_text_as_it_is(hostile: str) -> None:
    mistune = pytest.importorskip("markdown")
    html = mistune.markdown(escape(hostile))
    assert not re.search(r"<(?!/?p>)[a-z]", html)
    assert "@" not in escape(hostile)
    assert "://" not in escape(hostile)


def test_numbers_have_the_digits_that_their_interval_supports() -> None:
    assert numbers.points(-20.614, -24.02, -17.2, True) == "-20.6 [-24.0, -17.2]"
    assert numbers.points(1234.5, 1200, 1269) == "1,234 [1,200, 1,269]"
    assert numbers.points(float("nan")) == "–"
    assert numbers.number(-1e-9, 2) == "0.00"
    assert numbers.rank(3.0) == "3"
    assert numbers.rank(2.5) == "2.5"
    assert numbers.money(54.93) == "$54.93"
    assert numbers.p_value(0.0) == "<1e-15"
    write = numbers.writer(np.array([20.6, -0.001]))
    assert write(-0.001, True) == "+0.00"


def test_columns_share_digits_and_mark_arithmetic() -> None:
    frame = pd.DataFrame({"x": [20.614, 3.2], "same": [True, False], "yes": [True, False], "n": [12345, 1]})
    columns = (
        Column(name="x", title="x", kind="points", pale="same"),
        Column(name="yes", title="swaps", kind="yes", words={True: "yes", False: "unsure"}),
        Column(name="n", title="n", kind="count"),
    )
    rows = cells(Table(name="t", caption="", frame=frame, columns=columns))
    assert [[c.text for c in row] for row in rows] == [["20.61", "yes", "12,345"], ["3.20", "unsure", "1"]]
    assert [row[0].pale for row in rows] == [True, False]


def test_a_sentence_without_words_is_an_error() -> None:
    with pytest.raises(KeyError):
        word(say("no.such.code"))


def test_a_p_value_at_the_floor_of_its_draws_is_below_it() -> None:
    panel, _ = pj.simulate_panel(30, 4, 4, interaction=12.0, judge_sd=3.0, noise_sd=3.0, seed=1)
    audit = pj.audit(panel, resamples=100)
    assert audit.reversals.p_global == audit.reversals.p_floor == 1 / 101
    least = numbers.p_words(1 / 101, 1 / 101)
    assert least != numbers.p_words(1 / 101, 0.0)
    assert least in next(f.text for f in audit.findings if f.code == "reversal-global")
    said = word(say("missing.tests", p=0.005, p_together=0.4, p_floor=1 / 200))
    assert said.count(numbers.p_words(0.005, 1 / 200)) == 1
    column = Column(name="p", title="p", kind="p", floor=1 / 501)
    table = Table(name="t", caption="", frame=pd.DataFrame({"p": [1 / 501, 0.03]}), columns=(column,))
    assert [cell.text for (cell,) in cells(table)] == ["<0.002", "0.03"]


def test_agreement_that_falls_is_not_said_to_rise() -> None:
    taus = {"raw_low": 0.4, "raw_high": 0.8, "cbc_low": 0.4, "cbc_high": 0.8}
    up, down = (word(find("info", "rank-agreement", raw=r, cbc=0.6, **taus)).split() for r in (0.5, 0.7))
    assert ("raises" in up, "raises" in down) == (True, False)
