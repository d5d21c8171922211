"""Probes: words and sentences of any script stay whole, damage has its share, placebos keep every word."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polyjudge.collect.damage import (
    DAMAGE,
    PLACEBO,
    SHARES,
    TOLERANCE,
    damaged,
    length,
    make_probes,
    placebo,
    sentences,
    units,
)
from polyjudge.collect.items import Item

SPACED = ("English", "German", "Spanish", "Russian", "Hindi", "Arabic", "Korean", "Swahili", "Turkish")
TEXTS = json.loads((Path(__file__).parent / "probe_texts.json").read_text("utf-8"))


def bare(word: str) -> str:
    """A word without the marks around it."""
    return "".join(c for c in word if c.isalnum() or unicodedata.category(c)[0] == "M")


@given(st.text(max_size=200))
@example(".\r0")
def test_parts_are_the_text(text: str) -> None:
    assert "".join(units(text)) == text
    assert "".join(sentences(text)) == text


@pytest.mark.parametrize("language", TEXTS)
def test_sentences_and_words_in_every_language(language: str) -> None:
    for text in TEXTS[language]:
        assert 3 <= len(sentences(text)) <= 5 or language == "Thai"  # two taken for one do no harm
        for word in units(text):
            assert unicodedata.category(word[0])[0] != "M"  # nothing begins inside a letter


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_has_its_share_and_whole_words(language: str, kind: str) -> None:
    text = " ".join(TEXTS[language])
    foreign = TEXTS["English" if language != "English" else "German"][0] * 4
    other = foreign if kind == "language" else TEXTS[language][1] * 3
    words = {bare(w) for x in (text, other) for w in x.split()}
    off = []
    for share in SHARES:
        new, edited = damaged(text, kind, share, other, np.random.default_rng(3))
        assert damaged(text, kind, share, other, np.random.default_rng(3)) == (new, edited)
        assert new != text or kind in ("other", "shuffle")  # such a version is left out
        off.append(abs(edited - share))
        if kind in ("drop", "truncate"):
            assert length(new) == pytest.approx((1 - edited) * length(text), abs=2)
        if kind == "duplicate":
            assert length(new) >= (1 + edited) * length(text) - 2
        if language in SPACED:
            assert {bare(w) for w in new.split()} <= words
    assert sorted(off)[1] <= TOLERANCE


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("kind", PLACEBO)
def test_placebos_keep_every_word(language: str, kind: str) -> None:
    for text in TEXTS[language]:
        new = placebo(text, kind)
        assert new.replace("’", "'").split() == text.replace("’", "'").split() or language in (
            "Chinese",
            "Japanese",
            "Thai",
            "Burmese",
            "Khmer",
        )
        assert "".join(new.replace("’", "'").split()) == "".join(text.replace("’", "'").split())
    assert placebo("```\ncode  x\n```", "lines") == "```\ncode  x\n```"


def test_versions_of_items() -> None:
    items = [
        Item(f"t{i}", "", {
            x: {"prompt": "p", "response": " ".join([*TEXTS[name][i % 2 :], *TEXTS[name][: i % 2], str(i)])}
            for x, name in (("en", "English"), ("th", "Thai"))
        })
        for i in range(12)
    ]  # fmt: skip
    made = make_probes(items, 12)
    assert made == make_probes(items, 12)
    versions = Counter(x.version for x in made)
    assert versions["clean"] == versions["padding"] == versions["plea-own"] == 12
    assert sum(n for v, n in versions.items() if v.startswith("placebo")) >= 6
    assert {v.split("-")[2] for v in versions if v.startswith("damage")} == set(DAMAGE)
    for item in made:
        assert set(item.fields) == {"en", "th"}
        assert item.system == ""
        if item.version == "plea-own":
            assert item.fields["th"]["response"] != item.fields["en"]["response"]
