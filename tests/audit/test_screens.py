"""The first screen of every kind of panel: right about what was planted, and every number on it is in a frame."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.audit.audit import Audit, audit
from polyjudge.panel import Panel
from polyjudge.report.terminal import screen
from polyjudge.simulate import simulate_panel

SIMULATED = {
    "winner": {"systems": (71.0, 62.0, 61.0, 55.0)},
    "close": {"systems": (66.0, 65.5, 55.0), "tasks": 30},
    "cell": {"cells": {(3, 2): -15.0}},
    "two languages": {"languages": 2, "cells": {(1, 1): -12.0}},
    "many": {"interaction": 6.0},
    "calm": {"tasks": 200},
    "people": {"languages": 1, "judges": 1, "systems": 1, "tasks": 100},
}
KINDS = (*SIMULATED, "scale", "blind", "split")


def planted(kind: str, seed: int = 3) -> Panel:
    """One panel of each kind of first screen."""
    g = np.random.default_rng(seed)
    if kind in SIMULATED:
        panel = simulate_panel(**{"interaction": 0, "seed": seed, **SIMULATED[kind]}).panel  # type: ignore[arg-type]
        if kind == "people":
            label = panel.scores[:, 0, 0, 0] + g.normal(0, 5, 100)
            human = pd.DataFrame({"task": panel.tasks, "label": label})
            panel = replace(panel, human=human.assign(system="delta", language="English", annotator=""))
    elif kind == "scale":
        base = g.normal(0, 12, (60, 1)) + g.normal(0, 2, (60, 5)) + np.array([-9, -4, 0, 5, 9])
        y = 55 + base[:, :, None] * np.array([0.4, 1.1, 1.2, 1.1, 1.2]) + g.normal(0, 3, (60, 5, 5))
        panel = Panel.from_array(y, judges=["sonnet", "B", "C", "D", "E"], scale=(0, 100))
    elif kind == "blind":
        y = 50 + g.normal(0, 10, (60, 1, 4, 5)) + g.normal(0, 8, (60, 3, 4, 5))
        panel = Panel.from_array(y, scale=(0, 100))
    else:
        y = 50 + g.normal(0, 8, (80, 4, 3, 5))
        y[..., :2] += g.normal(0, 10, (80, 4, 3, 1))
        panel = Panel.from_array(y, judges=list("ABCDE"), scale=(0, 100))
    return replace(panel, source="scores.csv")


def said(result: Audit, topic: str) -> str:
    """All that the first screen says under a topic."""
    return " ".join(f.text for f in result.findings if f.topic == topic)


def frames_numbers(result: Audit) -> np.ndarray:
    """Every number of the result's frames, and what stands in the facts."""
    p = result.panel
    found: list[float] = [result.matters, result.matters / 2, result.level * 100, 20.0, *map(float, p.shape), *p.scale]
    frames = (
        result.off,
        result.systems,
        result.stands,
        result.swaps,
        result.reversals,
        result.judges,
        result.pairs,
        result.gates,
    )
    for frame in frames:
        for column in frame.columns:
            if frame[column].dtype.kind in "fi":
                found += [p.factor * x for x in frame[column].tolist()] + frame[column].tolist()
    return np.array([x for x in found if np.isfinite(x)])


@pytest.mark.parametrize("kind", KINDS)
def test_screen_is_short_and_every_number_is_in_a_frame(kind: str) -> None:
    result = audit(planted(kind))
    text = screen(result.report())
    assert len(text.splitlines()) <= 30
    assert max(map(len, text.splitlines())) <= 100
    known = frames_numbers(result)
    topics = [t for t in ("Winner", "Judges", "Off") if kind != "people" or t == "Winner"]
    for topic in topics:
        # What is computed for a sentence alone: tasks that settle, counts, the limit of what is ruled out, reliability.
        sentence = re.sub(r"[Aa]bout [\d,]+ tasks", "", said(result, topic))
        sentence = re.sub(r"\b[A-Z]\w*\d\w*", "", sentence)
        sentence = re.sub(r"[\d.]+ \[[\d., ]+\] for (the panel|their mean)", "", sentence)
        sentence = re.sub(r"fewer than 1 in [\d,]+", "", sentence)
        sentence = re.sub(r"(by|than|of) more than [\d.]+|\d+ of \d+|\d+%|less than [\d.]+", "", sentence)
        for token in re.findall(r"-?\d[\d,]*\.?\d*", sentence):
            value = abs(float(token.replace(",", "")))
            digits = len(token.partition(".")[2])
            near = np.abs(np.abs(known) - value).min()
            assert near <= 0.5001 * 10.0**-digits, f"{topic}: {token} of {sentence!r} is in no frame"


def test_winner() -> None:
    result = audit(planted("winner"))
    row = result.systems[result.systems["language"] == "all"].iloc[1]
    text = said(result, "Winner")
    assert text.startswith("delta is ahead of ")
    assert "All five judges put it first, in all six languages." in text
    assert -row["behind_leader"] == pytest.approx(9, abs=4)
    assert row["high"] < 0
    numbers = re.search(r"by ([\d.]+) points \[([\d.]+), ([\d.]+)\]", text)
    assert numbers
    assert [float(x) for x in numbers.groups()] == pytest.approx(
        [-row["behind_leader"], -row["high"], -row["low"]], abs=0.51
    )


def test_too_close_says_how_many_tasks_would_settle() -> None:
    result = audit(planted("close"))
    text = said(result, "Winner")
    assert text.startswith("Too close to call: ")
    assert "charlie" not in text
    found = re.search(r"If that is the true lead, about ([\d,]+) tasks would show it\.", text)
    assert found
    assert 100 < int(found[1].replace(",", "")) < 20_000
    board = result.systems[result.systems["language"] == "all"].set_index("system")
    assert board["may_be_best"].tolist() == [True, True, False]
    assert any(step.command.startswith("polyjudge plan") for step in result.next)
    y = result.panel.scores[:, [0, 0, 2]]
    assert not any("plan" in step.command for step in audit(replace(planted("close"), scores=y)).next)


@pytest.mark.parametrize(
    ("kind", "topic", "words", "absent", "command"),
    [
        ("cell", "Off", ["Japanese", "Cobalt", "lower"], ["German"], "audit scores.csv --cell Japanese,Cobalt"),
        ("two languages", "Off", ["Borealis", "in English than in German", "cannot be told"], [], ""),
        ("many", "Off", ["Calibrating removes it"], [], "calibrate"),
        ("scale", "Off", ["sonnet reacts less", "(slope 0."], ["off by"], ""),
        ("calm", "Off", ["no judge is off by more than", "fails on fewer than 1 in"], [], ""),
        ("blind", "Judges", ["They do not agree on which", "a ranking by this panel would be noise"], [], "label make"),
        ("split", "Judges", ["A and B agree with each other", "C, D and E agree with nobody"], [], ""),
        ("split", "Judges", ["cannot tell who is right"], [], ""),
    ],
)
def test_what_was_planted_is_said(kind: str, topic: str, words: list[str], absent: list[str], command: str) -> None:
    result = audit(planted(kind))
    text = said(result, topic)
    assert all(x in text for x in words), text
    assert not any(x in text for x in absent), text
    steps = [step.command for step in result.next]
    assert not command or any(f"polyjudge {command}" in x for x in steps), steps
    assert any("--cell" in x for x in steps) == (kind == "cell")
    kinds = {"cell": "named", "two languages": "judge gaps", "many": "many", "scale": "scale", "people": "none"}
    assert result.kind == kinds.get(kind, "calm")
    assert result.off["named"].any() == (kind in ("cell", "two languages"))


def test_calm_blind_and_labelled_panels_get_no_needless_advice() -> None:
    calm, blind, people = (audit(planted(x)) for x in ("calm", "blind", "people"))
    assert not [f for f in calm.findings if f.severity in ("warning", "serious")]
    assert not any("calibrate" in step.command for step in calm.next)
    assert blind.report().board is None
    assert "ahead" not in said(blind, "Winner").replace("is ahead of", "")
    assert len(blind.next) == 1
    assert said(people, "People")
    assert not any("label make" in step.command for step in people.next)
    panel = planted("winner")
    rows = [(t, s, x, 70 - 9.0 * i + j % 5) for i, s in enumerate(panel.systems[::-1]) for x in panel.languages
            for j, t in enumerate(panel.tasks[:12])]  # fmt: skip
    some = pd.DataFrame(rows, columns=["task", "system", "language", "label"])
    held = audit(panel, labels=some)  # the judges' winner is theirs; what only people can tell, they do
    assert said(held, "Winner").startswith("People do not: by 24 labels in each language alpha leads by ")
    assert ". By the judges' scores " in said(held, "Winner")
    assert "only people" not in said(held, "Judges")
    assert held.report().facts[1].startswith(f"{len(some):,} labels on ")
    few = audit(panel, labels=some[some["task"].isin(panel.tasks[:1])])
    assert any(" -n 20" in step.command and "label make" in step.command for step in few.next)


@pytest.mark.parametrize("kind", KINDS)
def test_python_gets_python(kind: str) -> None:
    result = audit(planted(kind))
    assert not re.search(r"^(Next)? +polyjudge (audit|plan|calibrate|label)", repr(result), re.M)
