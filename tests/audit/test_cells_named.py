"""A judge that is reversed, blind or in a split in one language, as the audit says it (METHODS 31b)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from common import shared_file
from polyjudge import audit
from polyjudge.answers.audit.audit import Audit
from polyjudge.panel import Panel
from polyjudge.report.terminal import screen

Array = NDArray[np.float64]
LANGUAGES = ["English", "German", "Thai", "Hindi"]


def panel(plant: Callable[[Array], None] | None = None, systems: int = 1, verdicts: bool = False, **more: Any) -> Panel:
    g = np.random.default_rng(1)
    worth = 12 * g.normal(size=(100, 1, 1, 1)) + 6 * g.normal(size=(100, systems, 4, 1))
    scores = np.clip(50 + worth + 5 * g.normal(size=(100, systems, 4, 5)), 0, 100)
    if verdicts:
        scores = (scores > 47).astype(float)
    if plant is not None:
        plant(scores)
    more.setdefault("scale", (0, 1) if verdicts else (0, 100))
    names = [f"s{i}" for i in range(systems)] if systems > 1 else None
    return Panel.from_array(scores, systems=names, languages=LANGUAGES, judges=list("ABCDE"), **more)


def reverse(scores: Array) -> None:
    scores[:, :, 3, 1] = scores.max() - scores[:, :, 3, 1]


def judges_lines(result: Audit) -> list[str]:
    return [f.text for f in result.findings if f.topic == "Judges"]


def test_a_reversed_judge_stands_before_what_is_off() -> None:
    result = audit(panel(reverse))
    finding = next(f for f in result.findings if f.key == "judges.reversed")
    assert finding.severity == "warning"
    assert finding.where == {"language": "Hindi", "judge": "B"}
    assert finding.text.startswith("In Hindi, B runs against the other judges (r = -0.9")
    assert "its scale may be reversed there" in finding.text
    assert finding.head == "B is reversed in Hindi"
    keys = [f.key for f in result.findings]
    assert keys.index("judges.reversed") < min(i for i, key in enumerate(keys) if key.startswith("off"))
    assert "polyjudge audit scores.csv --cell Hindi,B" in [step.command for step in result.next]


def test_verdicts_may_be_swapped() -> None:
    text = next(f.text for f in audit(panel(reverse, verdicts=True)).findings if f.key == "judges.reversed")
    assert "its words for pass and fail may be swapped there" in text


def test_its_scores_count_in_no_mean() -> None:
    def reverse_and_shift(scores: Array) -> None:
        reverse(scores)
        scores[:, :, 3, 1] -= 20

    result = audit(panel(reverse_and_shift, systems=3))
    calm = audit(panel(systems=3))
    row = result.off[(result.off["language"] == "Hindi") & (result.off["judge"] == "B")]
    assert row["off"].isna().all()
    assert result.kind == calm.kind == "calm"
    assert not any(f.key == "off.empty" for f in result.findings)
    lead = [a.part_.systems.board.gap[0, 1] for a in (result, calm) if a.part_.systems]
    assert lead[0] == pytest.approx(lead[1], abs=0.5)
    assert result.judges["mean"].notna().all()  # its own mean is shown all the same


def test_cells_without_scores_are_said_all_the_same() -> None:
    def reverse_and_lose(scores: Array) -> None:
        reverse(scores)
        scores[:, :, 0, 2] = np.nan

    texts = [f.text for f in audit(panel(reverse_and_lose)).findings if f.key == "off.empty"]
    assert len(texts) == 1
    assert "C in English" in texts[0]


def test_a_blind_judge_and_one_that_is_blind_in_two_languages() -> None:
    def blind(*languages: int) -> Callable[[Array], None]:
        def plant(scores: Array) -> None:
            for language in languages:
                scores[:, 0, language, 0] = np.random.default_rng(language).permutation(scores[:, 0, language, 0])

        return plant

    one = next(f for f in audit(panel(blind(2))).findings if f.key == "judges.blind_there")
    assert one.text.startswith("In Thai, A hardly agrees with the other judges (r = ")
    assert "it may not understand Thai" in one.text
    two = [f for f in audit(panel(blind(2, 3))).findings if f.key == "judges.blind_there"]
    assert len(two) == 1
    assert "Thai and Hindi" in two[0].text or "Hindi and Thai" in two[0].text
    assert "Read five of its answers in each" in two[0].text


def test_a_split_blames_nobody_and_leaves_nothing_out() -> None:
    def split(scores: Array) -> None:
        other = np.clip(50 + 14 * np.random.default_rng(5).normal(size=(100, 1)), 0, 100)
        for judge in (0, 1):
            scores[:, :, 2, judge] = np.clip(other + 5 * np.random.default_rng(judge).normal(size=(100, 1)), 0, 100)

    result = audit(panel(split))
    finding = next(f for f in result.findings if f.key == "judges.split_there")
    first, second = finding.text.split(". ", 1)
    assert first == "In Thai the judges split: A and B score unlike the others, though they agree elsewhere"
    assert second == "Scores cannot tell who is right: label 20 answers in Thai."
    assert result.off["off"].notna().all()
    assert not any(f.key in ("judges.reversed", "judges.blind_there") for f in result.findings)


def test_the_frame_and_the_page() -> None:
    result = audit(panel(reverse))
    frame = result.cell_agreement
    assert list(frame.columns) == ["language", "judge", "r", "low", "high", "others", "named"]
    assert len(frame) == 20
    assert frame.loc[frame["named"], ["language", "judge"]].to_numpy().tolist() == [["Hindi", "B"]]
    sound = frame[~frame["named"]]
    assert ((sound["low"] < sound["r"]) & (sound["r"] < sound["high"])).all()
    section = next(s for s in result.report().sections if s.name == "cell-agreement")
    assert [c.kind for c in section.charts] == ["heatmap"]
    assert "would have been named in every cell" in " ".join(section.text)
    answers = next(t for t in section.tables if t.name == "cell_answers_1").frame
    assert len(answers) == 5
    assert (np.sign(answers["score"] - 50) == -np.sign(answers["others"] - 50)).all()
    page = result.to_html()
    assert page is not None
    assert "agrees less than is to be expected" in page


def test_the_cell_shows_where_it_contradicts() -> None:
    result = audit(panel(reverse), cell="Hindi,B")
    board = result.report().board
    assert board is not None
    assert (np.abs(board.frame["score"] - board.frame["others"]) > 30).all()
    assert "runs against the other judges" in screen(result.report())


def test_a_sound_panel_says_nothing_and_shows_what_could_hide() -> None:
    result = audit(panel())
    assert not any(f.key in ("judges.reversed", "judges.blind_there", "judges.split_there") for f in result.findings)
    few = audit(panel().select(rows=np.arange(8)))
    section = next((s for s in few.report().sections if s.name == "cell-agreement"), None)
    assert section is None or "too few answers differ" in " ".join(section.text)


def test_two_judges_have_no_cells_to_name() -> None:
    result = audit(panel().select(judges=["A", "B"]))
    assert len(result.cell_agreement) == 0
    assert not any(s.name == "cell-agreement" for s in result.report().sections)


def test_criteria_are_looked_at_one_by_one() -> None:
    sound, reversed_ = panel(), panel(reverse)
    rows = [p.to_frame().assign(criterion=criterion) for criterion, p in (("tone", sound), ("facts", reversed_))]
    result = audit(pd.concat(rows, ignore_index=True))
    texts = [f.text for f in result.findings if f.key == "judges.reversed"]
    assert [text for text in texts if text.startswith("facts: In Hindi, B runs against")]
    assert not [text for text in texts if text.startswith("tone")]


def test_the_reversed_judge_of_the_toxicity_panel() -> None:
    scores = pd.read_csv(shared_file("toxicity/judge_scores.csv.gz"))
    few = list(dict.fromkeys(scores["judge"]))[:8]
    judges = list(dict.fromkeys([*few, "dolphin3"]))
    few_scores = Panel.from_frame(scores[scores["judge"].isin(judges) & (scores["judge"] != "perspective70")])
    frame = audit(few_scores).cell_agreement
    named = frame[frame["named"]]
    assert named[["language", "judge"]].to_numpy().tolist() == [["HI", "dolphin3"]]
    assert named["high"].item() < 0
