"""The page of evidence: made by its script, its words true on a small run, its numbers those of the released scores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from common import shared_file
from validation import evidence as ev

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "evidence.md"


def parts(text: str) -> dict[str, str]:
    """Text of each section, by its title."""
    return {x.split("\n")[0]: x for x in text.split("\n## ")}


def test_the_page_is_what_the_template_says_and_short() -> None:
    page, template = PAGE.read_text(encoding="utf-8"), ev.TEMPLATE.read_text(encoding="utf-8")
    said = re.split(r"\{[^}]+\}", template)
    assert re.fullmatch(r"[^{}]*?".join(map(re.escape, said)), page), "made by hand, or before the template changed"
    assert not re.search(r"\bnan\b", page)
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", page)
    assert len(pictures) == 3
    assert all((DOCS / x).read_text(encoding="utf-8").startswith("<svg") for x in pictures)


def test_language_errors_and_scales_by_hand() -> None:
    scores = np.array([[[[1.0, 5.0]], [[2.0, 2.0]]], [[[3.0, 7.0]], [[2.0, 2.0]]]]).transpose(0, 2, 1, 3)
    people = np.array([[[1.0, 2.0]], [[1.0, 2.0]]])
    # language 1: judges are 1 and 5 above people; language 2: 0 and 0
    np.testing.assert_allclose(ev.errors(scores, people), [[0.5, 2.5], [-0.5, -2.5]])
    f = np.random.default_rng(0).normal(50, 9, (40, 1, 2))
    mqm = -np.exp((60 - f) / 10)
    for spread, sd in (("panel", f.std()), ("judge", 15.0), ("ranks", 15.0)):
        made = ev.laid(mqm, f, spread)
        assert made.std() == pytest.approx(sd)
        assert made.mean() == pytest.approx(f.mean())


def test_drawn_labels_and_what_an_interval_holds() -> None:
    there = np.ones((30, 2, 3), dtype=bool)
    there[0] = False
    some = ev.drawn(there, 7, np.random.default_rng(1))
    assert some.sum((0, 1)).tolist() == [7, 7, 7]
    assert not some[0].any()
    found = pd.DataFrame({"x": ["a", "b", "c"], "low": [0.0, 2.0, np.nan], "high": [1.0, 3.0, 3.0]})
    true = pd.DataFrame({"x": ["a", "b", "c"], "value": [1.0, 1.0, 1.0]})
    assert ev._within(found, true, ["x"], "low", "high", "value") == [True, False]


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    for name in ("rtplx", "pariksha", "wmt23"):
        shared_file(f"data/{name}/judge_scores.csv.gz")
    shared_file("data/devai/human_labels.csv")
    return ev.measure(4)


@pytest.mark.real_data
def test_the_words_hold_on_a_small_run(small: dict[str, Any]) -> None:
    _, ok = ev.numbers(small, 4)
    assert len(ok) > 8
    assert not [name for name, true in ok.items() if not true]


@pytest.mark.real_data
def test_numbers_without_draws_are_those_of_the_page(small: dict[str, Any]) -> None:
    values, _ = ev.numbers(small, 4)
    page, template = (parts(x.read_text(encoding="utf-8")) for x in (PAGE, ev.TEMPLATE))
    for title in template:
        if title[0] in "16":
            assert template[title].format(**values) == page[title]
    second = next(" ".join(page[x].split()) for x in page if x.startswith("2."))
    for one in (values[x] for x in ("cv", "ci", "cw", "cj")):
        assert f"{one['removed']:.0%} [{one['low']:.0%}, {one['high']:.0%}]" in second


@pytest.mark.real_data
def test_agreement_is_that_of_an_audit(small: dict[str, Any]) -> None:
    panel, _ = ev.sets()["RTP-LX IdentityAttack"]
    said = pj.audit(panel).pairs
    r = small["agree"].set_index(["set", "language"]).loc[("RTP-LX IdentityAttack", "all"), "judges"]
    assert said["value"].dropna().iloc[0] == pytest.approx(r, abs=0.002)


def test_wins_of_real_boards_and_what_people_say() -> None:
    shared_file("hanna/judge_scores.csv.gz")
    panel, labels = ev.hanna()
    assert panel.shape == (96, 11, 4, 5)
    assert np.nanmin(panel.scores) >= 1
    assert labels.mean((0, 2))[panel.systems.index("Human")] == pytest.approx(3.76, abs=0.01)
    found = ev.wins(ev.sets()).set_index("board")
    assert found.loc["HANNA", ["leader", "people_first"]].tolist() == ["Human", "Human"]
    assert "Human's answers are 25% longer than GPT-2's" in found.loc["HANNA", "says"]
    assert "The lead depends on zh-en" in found.loc["WMT23", "says"]
    assert (found["people_low"] <= found["people_lead"]).all()
    assert len(ev.win_rows(found.reset_index()).splitlines()) == 7
