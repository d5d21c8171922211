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

SYSTEMS = ("delta", "alpha", "bravo", "charlie")


def planted(kind: str, seed: int = 3) -> Panel:
    """One panel of each kind of first screen."""
    g = np.random.default_rng(seed)
    if kind == "winner":
        panel = simulate_panel(systems=(71.0, 62.0, 61.0, 55.0), interaction=0, seed=seed).panel
    elif kind == "close":
        panel = simulate_panel(systems=(66.0, 65.5, 55.0), tasks=30, interaction=0, seed=seed).panel
    elif kind == "cell":
        panel = simulate_panel(cells={(3, 2): -15.0}, interaction=0, seed=seed).panel
    elif kind == "two languages":
        panel = simulate_panel(languages=2, cells={(1, 1): -12.0}, interaction=0, seed=seed).panel
    elif kind == "many":
        panel = simulate_panel(interaction=6.0, seed=seed).panel
    elif kind == "scale":
        n, k, m = 60, 5, 5
        base = g.normal(0, 12, (n, 1)) + g.normal(0, 2, (n, k)) + np.array([-9, -4, 0, 5, 9])
        y = 55 + base[:, :, None] * np.array([0.4, 1.1, 1.2, 1.1, 1.2]) + g.normal(0, 3, (n, k, m))
        panel = Panel.from_array(y, judges=["sonnet", "B", "C", "D", "E"], scale=(0, 100))
    elif kind == "calm":
        panel = simulate_panel(interaction=0, tasks=200, seed=seed).panel
    elif kind == "blind":
        y = 50 + g.normal(0, 10, (60, 1, 4, 5)) + g.normal(0, 8, (60, 3, 4, 5))
        panel = Panel.from_array(y, scale=(0, 100))
    elif kind == "split":
        y = 50 + g.normal(0, 8, (80, 4, 3, 5))
        y[..., :2] += g.normal(0, 10, (80, 4, 3, 1))
        panel = Panel.from_array(y, judges=list("ABCDE"), scale=(0, 100))
    elif kind == "people":
        panel = simulate_panel(languages=1, judges=1, systems=1, tasks=100, interaction=0, seed=seed).panel
        label = panel.scores[:, 0, 0, 0] + g.normal(0, 5, 100)
        human = pd.DataFrame({"task": panel.tasks, "label": label}).assign(
            system="delta", language="English", annotator=""
        )
        panel = replace(panel, human=human)
    else:
        raise ValueError(kind)
    return replace(panel, source="scores.csv")


KINDS = ("winner", "close", "cell", "two languages", "many", "scale", "calm", "blind", "split", "people")


def said(result: Audit, topic: str) -> str:
    """All that the first screen says under a topic."""
    return " ".join(f.text for f in result.findings if f.topic == topic)


def frames_numbers(result: Audit) -> np.ndarray:
    """Every number of the result's frames, and what stands in the facts."""
    p = result.panel
    found: list[float] = [result.matters, result.matters / 2, result.level * 100, 20.0, *map(float, p.shape), *p.scale]
    frames = (result.off, result.systems, result.swaps, result.reversals, result.judges, result.pairs, result.gates)
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
    topics = [t for t in ("Winner", "Judges", "Off") if not (kind == "people" and t == "Off")]
    for topic in topics:
        # What is computed for a sentence alone: tasks that settle, counts, the limit of what is ruled out, reliability.
        sentence = re.sub(r"About [\d,]+ tasks", "", said(result, topic))
        sentence = re.sub(r"\b[A-Z]\w*\d\w*", "", sentence)
        sentence = re.sub(r"[\d.]+ for (the panel|their mean)", "", sentence)
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
    found = re.search(r"About ([\d,]+) tasks would settle a difference of 1 point\.", text)
    assert found
    assert 100 < int(found[1].replace(",", "")) < 20_000
    board = result.systems[result.systems["language"] == "all"].set_index("system")
    assert board["may_be_best"].tolist() == [True, True, False]
    assert any(step.command.startswith("polyjudge plan") for step in result.next)


def test_one_cell() -> None:
    result = audit(planted("cell"))
    assert result.kind == "named"
    named = result.off[result.off["named"].astype(bool)]
    assert named[["language", "judge"]].to_numpy().tolist() == [["Japanese", "Cobalt"]]
    row = named.iloc[0]
    assert row["all_low"] < -15 < row["all_high"]
    text = said(result, "Off")
    assert "Japanese" in text
    assert "Cobalt" in text
    assert "lower" in text
    assert "German" not in text
    assert result.next[0].command == "polyjudge audit scores.csv --cell Japanese,Cobalt"


def test_two_languages_name_no_language() -> None:
    result = audit(planted("two languages"))
    text = said(result, "Off")
    assert "Borealis" in text
    assert "between English and German" in text
    assert "cannot be told" in text
    assert not any("--cell" in step.command for step in result.next)


def test_many() -> None:
    result = audit(planted("many"))
    assert result.kind == "many"
    assert "Calibrating removes it" in said(result, "Off")
    assert any(step.command.startswith("polyjudge calibrate") for step in result.next)


def test_scale() -> None:
    result = audit(planted("scale"))
    text = said(result, "Off")
    assert result.kind == "scale"
    assert "sonnet" in text
    assert not result.off["named"].any()
    slopes = result.judges.set_index(["language", "judge"])["slope"]
    assert slopes["all", "sonnet"] == pytest.approx(0.4, abs=0.1)
    assert f"{slopes['all', 'sonnet']:.1f}" in text


def test_calm() -> None:
    result = audit(planted("calm"))
    assert result.kind == "calm"
    assert not [f for f in result.findings if f.severity in ("warning", "serious")]
    assert not any("calibrate" in step.command or "--cell" in step.command for step in result.next)


def test_blind() -> None:
    result = audit(planted("blind"))
    assert "They do not agree on which system is better" in said(result, "Judges")
    assert "a ranking by this panel would be noise" in said(result, "Judges")
    assert result.report().board is None
    assert "ahead" not in said(result, "Winner").replace("is ahead of", "")
    assert "label make" in result.next[0].command
    assert len(result.next) == 1


def test_split() -> None:
    result = audit(planted("split"))
    text = said(result, "Judges")
    assert "A and B agree with each other" in text
    assert "C, D and E agree with nobody" in text
    assert "cannot tell who is right" in text
    inside = result.pairs.set_index(["row", "column"])["value"]["A", "B"]
    assert f"(r = {inside:.2f})" in text


def test_people() -> None:
    result = audit(planted("people"))
    assert said(result, "People")
    assert not any("label make" in step.command for step in result.next)
    assert said(result, "Judges") == "There is one judge. Whether it is right only people can tell."


@pytest.mark.parametrize("kind", KINDS)
def test_python_gets_python(kind: str) -> None:
    result = audit(planted(kind))
    assert not re.search(r"^(Next)? +polyjudge (audit|plan|calibrate|label)", repr(result), re.M)
