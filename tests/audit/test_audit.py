"""The audit as a whole: options, criteria, answers behind a cell, panels of other shapes, and what it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.audit.audit import audit, holm
from polyjudge.answers.audit.pages import answers, behind
from polyjudge.base.errors import UsageError
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.report.page import page
from polyjudge.report.terminal import screen
from polyjudge.report.text import to_json
from polyjudge.simulate import sample_frame, sample_panel, simulate_panel


@pytest.fixture(scope="module")
def sample() -> Panel:
    return sample_panel()


def test_frames_have_the_columns_others_rely_on(sample: Panel) -> None:
    result = audit(sample, threshold="70")
    wanted = {
        "off": "language judge off low high all_low all_high clear named excess excess_low excess_high beta radius "
        "read",
        "systems": "language system mean behind_leader low high rank_low rank_high may_be_best",
        "reversals": "judge_i judge_j language_a gap_a language_b gap_b delta p_published p",
        "judges": "language judge r low high mean slope slope_low slope_high named",
        "gates": "language judge pass_raw raw_low raw_high pass_calibrated calibrated_low calibrated_high",
    }
    for name, columns in wanted.items():
        assert getattr(result, name).columns.tolist() == columns.split()
        assert len(getattr(result, name))
    plain = json.loads(to_json(result))
    assert plain["kind"] == "named"
    assert plain["blind"] == pytest.approx(result.blind)
    assert not any(key.endswith("_") for key in plain)


def test_off_is_one_number_everywhere(sample: Panel) -> None:
    result = audit(sample)
    row = result.off[result.off["named"].astype(bool)].iloc[0]
    shown = f"{abs(row['off']):.1f} points"
    report = result.report()
    chart = next(c for c in report.charts if c.kind == "heatmap")
    square = chart.frame[chart.frame["mark"] == "named"].iloc[0]
    assert square["value"] == row["off"]
    assert square["text"] == f"{row['off']:+.1f}"
    assert shown in screen(report)
    assert f"{row['off']:.1f}".removeprefix("-") in page(report)
    assert shown in screen(audit(sample, cell="Spanish,Aster").report())
    table = next(t for t in report.tables if t.name == "off")
    assert table.frame["off"].tolist() == result.off["off"].tolist()


# --- arguments ---


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"level": 1.5}, "The level of an interval"),
        ({"matters": -1.0}, "What matters is a number of points"),
        ({"matters": np.nan}, "What matters is a number of points"),
        ({"matters": np.inf}, "What matters is a number of points"),
        ({"threshold": "high"}, "A threshold is a number"),
        ({"cell": "Klingon,Aster"}, "A cell is LANGUAGE,JUDGE, not 'Klingon,Aster'. Languages: English"),
        ({"families": ("Aster",)}, "Families are NAME=MAKER pairs"),
        ({"without": ("Spanish,Nobody",)}, "Judges: Aster"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(sample: Panel, given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(").replace(".", r"\.")):
        audit(sample, **given)  # type: ignore[arg-type]


def test_weights_come_from_a_file(sample: Panel, tmp_path: Path) -> None:
    even = audit(sample)
    rows = "judge,weight\n" + "".join(f"{x},{w}\n" for x, w in zip(sample.judges, (1, 0, 0, 0, 0), strict=True))
    (tmp_path / "w.csv").write_text(rows)
    one = audit(sample, weights=tmp_path / "w.csv").systems
    alone = audit(sample.select(judges=["Aster"])).systems
    pick = "language == 'all'"
    assert one.query(pick)["mean"].tolist() == pytest.approx(alone.query(pick)["mean"].tolist())
    (tmp_path / "w.json").write_text(json.dumps(dict.fromkeys(sample.judges, 2.0)))
    same = audit(sample, weights=tmp_path / "w.json").systems
    assert same["behind_leader"].tolist() == pytest.approx(even.systems["behind_leader"].tolist())
    for text, said in (("judge,weight\nAster,1\n", "has no weight for"), (rows.replace(",1", ",x"), "is not a number")):
        (tmp_path / "w.csv").write_text(text)
        with pytest.raises(UsageError, match=said):
            audit(sample, weights=tmp_path / "w.csv")


def test_a_cell_can_be_left_out(sample: Panel) -> None:
    both = [audit(sample, without=x) for x in (("Spanish,Aster",), ("Spanish", "Aster"))]
    for result in both:
        assert result.kind == "calm"
        assert "Left out: Aster in Spanish." in result.report().facts
    assert audit(sample).kind == "named"


# --- the answers behind a cell ---


def test_the_answers_that_move_a_cell_most(sample: Panel) -> None:
    found = answers(sample, "Spanish", "Aster")
    at, b = sample.languages.index("Spanish"), sample.judges.index("Aster")
    others = np.delete(sample.scores[:, :, at], b, axis=2).mean(2)
    gap = sample.scores[:, :, at, b] - others
    assert (found["score"] - found["others"]).tolist() == pytest.approx(np.sort(gap.ravel())[:10].tolist())
    assert {"prompt", "response", "reason"} <= set(found.columns)
    first = found.iloc[0]
    row = sample.to_frame().query("task == @first.task and system == @first.system and language == 'Spanish'")
    assert row.set_index("judge")["score"]["Aster"] == first["score"]
    report = audit(sample, cell="Spanish,Aster").report()
    assert report.board is not None
    assert report.board.frame["task"].tolist() == found["task"].tolist()
    assert set(report.drawers) == {"Spanish|Aster"}


def test_a_cell_that_is_too_high_shows_high_answers() -> None:
    panel = simulate_panel(cells={(1, 1): 15.0}, interaction=0, seed=1).panel
    found = answers(panel, "German", "Borealis")
    assert (found["score"] > found["others"]).all()
    assert "higher" in audit(panel, cell="German,Borealis").report().findings[0].text


def test_drawers_are_made_when_they_are_opened(sample: Panel) -> None:
    asked: list[int] = []

    def texts(tasks: object) -> pd.DataFrame:
        asked.append(1)
        assert sample.texts is not None
        return sample.texts(tasks)  # type: ignore[arg-type]

    report = audit(replace(sample, texts=texts)).report()
    screen(report, full=True)
    assert not asked
    assert "Spanish|Aster" in report.drawers
    assert "system|delta" in report.drawers
    assert len(report.drawers["Spanish|Aster"]) == 10
    assert asked
    heat = next(c for c in report.charts if c.kind == "heatmap")
    assert set(report.spreads) == set(heat.frame["key"]) | {f"system|{s}" for s in sample.systems}


def test_answers_of_a_system(sample: Panel) -> None:
    found = behind(sample, "charlie")
    assert (found["score"] < found["others"]).all()
    first = found.iloc[0]
    mean = sample.scores[sample.tasks.index(first["task"]), sample.systems.index("charlie"), :, :]
    assert first["score"] == pytest.approx(mean[sample.languages.index(first["language"])].mean())


# --- several criteria ---


def criteria() -> Panel:
    a = simulate_panel(interaction=0, seed=1).panel
    b = simulate_panel(interaction=0, seed=1, cells={(2, 1): -14.0}, systems=(60, 66, 65, 58)).panel
    noise = 50 + np.random.default_rng(0).normal(0, 8, a.scores.shape)
    parts = {"helpful": a, "clear": b, "style": replace(a, scores=noise)}
    return replace(
        a,
        scores=sum(p.scores for p in parts.values()) / 3,
        criteria={k: replace(p, criterion=k) for k, p in parts.items()},
        source="scores.csv",
    )


def test_criteria_have_a_row_each_and_every_sentence_names_its_criterion() -> None:
    result = audit(criteria())
    assert result.criteria["criterion"].tolist() == ["helpful", "clear", "style"]
    row = result.criteria.set_index("criterion")
    assert row.loc["helpful", "first"] == "delta"
    assert row.loc["clear", "off"].startswith("Borealis in Hindi, -1")
    assert row.loc["helpful", "off"] == "nothing"
    for finding in result.findings:
        if finding.topic and "criterion" in finding.where:
            assert finding.text.startswith(f"{finding.where['criterion']}: "), finding.text
    assert "is of the mean of the 3 criteria (helpful, clear and style)" in result.report().facts[-1]
    assert any(f.text.startswith("clear: In Hindi, Borealis scores") and f.topic == "Off" for f in result.findings)
    assert any(f.text.startswith("style: They do not agree") for f in result.findings)
    text = screen(result.report())
    assert len(text.splitlines()) <= 36
    assert "helpful" in text


def test_holm_shares_the_level() -> None:
    asked: list[float] = []

    def run(item: str, level: float) -> tuple[str, float]:
        asked.append(round(level, 6))
        return item, level

    found = {"a": 0.98, "b": 0.976}  # found up to such a level; c never
    made = holm(["a", "b", "c"], run, lambda x: x[1] <= found.get(x[0], 0), 0.95)
    assert asked == pytest.approx([0.983333] * 3)  # nothing is found at a third of the error: no more is tried
    asked.clear()
    found["a"] = 0.99
    made = holm(["a", "b", "c"], run, lambda x: x[1] <= found.get(x[0], 0), 0.95)
    assert {k: x[1] for k, x in made.items()} == pytest.approx({"a": 0.983333, "b": 0.975, "c": 0.95}, abs=1e-6)
    assert len(asked) == 6


# --- other shapes ---


@pytest.mark.parametrize(("k", "m", "s"), [(1, 1, 1), (1, 3, 3), (3, 1, 2), (2, 2, 1), (3, 3, 1), (1, 1, 4)])
@pytest.mark.parametrize("kind", ["points", "pass"])
def test_panels_of_other_shapes(k: int, m: int, s: int, kind: str) -> None:
    g = np.random.default_rng(k + 10 * m + s)
    y = 50 + g.normal(0, 10, (30, 1, 1, 1)) + g.normal(0, 6, (30, s, k, m))
    y = (y > 45).astype(float) if kind == "pass" else y
    panel = replace(Panel.from_array(y), source="scores.csv")
    result = audit(panel, threshold="0.5" if kind == "pass" else "50")
    text = screen(result.report(), full=True)
    page(result.report())
    assert "nan" not in text
    assert "percentage points" in text or kind == "points" or (s == 1 and min(k, m) == 1)
    if min(k, m) == 1:
        assert result.kind == "none"
        assert result.off.empty
    if s == 1:
        assert result.systems.empty
    if k == 1:
        assert "With one language" in text
    if m == 1:
        assert "There is one judge" in text


def test_one_wild_score_is_named_with_its_count_and_the_flag() -> None:
    frame = sample_frame()
    frame.loc[0, "score"] = 1000
    notes = [x for x in read_panel(frame).notes if "scale" in x or "--drop" in x]
    assert len(notes) == 1
    assert notes[0].startswith("1 score of 7,200 in the table is 1000, the others ")
    assert notes[0].endswith("If 1000 means no score: --drop 1000.")


def test_constant_scores() -> None:
    result = audit(Panel.from_array(np.full((20, 2, 3, 3), 4.0)))
    assert [f.text for f in result.findings] == ["Every score is 4: there is nothing to compare."]
    screen(result.report(), full=True)


def test_names_of_users_are_harmless() -> None:
    panel = simulate_panel(systems=(70, 60), cells={(1, 1): -20.0}, seed=1).panel
    evil = replace(
        panel, systems=("<script>alert(1)</script>", "a\x1b[31mb"), judges=("x\n", "\u202eevil", *panel.judges[2:]),
        languages=("=1+1", "la'ng", *panel.languages[2:]), source="a b;rm.csv",
    )  # fmt: skip
    result = audit(evil)
    text = screen(result.report(), full=True)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert" not in page(result.report())
    assert "'a b;rm.csv'" in result.next[0].command


def test_the_noun_of_the_panel() -> None:
    panel = replace(simulate_panel(cells={(2, 1): -15.0}, interaction=0, seed=1).panel, noun="rubric")
    text = screen(audit(panel).report(), full=True)
    assert "rubrics" in text
    assert "language" not in text.lower().replace("all six languages", "")


def test_pass_or_fail_is_in_percentage_points() -> None:
    g = np.random.default_rng(0)
    mark = np.full((3, 4), 0.84)  # 80% pass, 20% in one cell
    mark[1, 2] = -0.84
    latent = 0.8 * g.normal(size=(300, 2, 1, 1)) + 0.6 * g.normal(size=(300, 2, 3, 4))
    y = (latent < mark).astype(float)
    result = audit(Panel.from_array(y))
    row = result.off.set_index(["language", "judge"]).loc[("l2", "J3")]
    assert row["off"] == pytest.approx(-0.6, abs=0.1)
    report = result.report()
    text = screen(report, full=True)
    assert f"{-100 * row['off']:.0f} percentage points" in text
    assert report.board is not None
    shown = 100 * result.systems.query("language == 'all'")["behind_leader"]
    assert report.board.frame["behind_leader"].tolist() == pytest.approx(shown.tolist())
    assert report.board.frame["mean"].max() < 1
    assert "In l2, J3 scores" in text


def test_a_panel_of_hashed_rows_shows_no_single_answers() -> None:
    panel = simulate_panel(cells={(1, 1): -15.0}, seed=1).panel
    large = replace(panel, weight=np.full(len(panel.tasks), 20.0))
    result = audit(large)
    assert not len(result.report().drawers)
    assert "too large to show single answers" in audit(large, cell="German,Borealis").report().findings[-1].text


def test_planted_truth_of_the_sample_is_held() -> None:
    from polyjudge.simulate import sample as planted

    truth = planted()
    result = audit(truth.panel)
    off = truth.off.ravel()
    inside = (result.off["all_low"] <= off) & (off <= result.off["all_high"])
    assert inside.mean() > 0.9
    board = result.systems.query("language == 'all'").set_index("system")
    for i, system in enumerate(truth.panel.systems[1:], start=1):
        row = board.loc[system]
        assert row["low"] < truth.systems[i] - truth.systems[0] < row["high"]
