"""A leaderboard with people: from files to the first screen, on planted truth."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.answers.calibrate import apply, calibrate
from polyjudge.answers.humans.board import COLUMNS, people_board, settle_winner
from polyjudge.answers.humans.compare import Humans, humans, sides_of
from polyjudge.answers.humans.draw import draw_labels
from polyjudge.answers.humans.next_labels import fewest_labelled, next_labels
from polyjudge.answers.plan_labels import plan_labels
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.calibrate.labelled import labelled
from polyjudge.calibrate.saved import load_calibrator
from polyjudge.panel import Panel
from polyjudge.report.terminal import screen
from polyjudge.report.text import to_json

LANGUAGES = ("Hindi", "Swahili", "German", "Korean", "Thai", "Greek")
SYSTEMS = ("alpha", "bravo", "charlie", "delta")
QUALITY = np.array([60.0, 66.0, 54.0, 70.0])


def planted(
    n_labelled: int = 3, labels: int = 60, seed: int = 1, tasks: int = 120, k: int = 6, annotator: str = ""
) -> tuple[Panel, pd.DataFrame, np.ndarray]:
    """Three judges that favour bravo by 9 points and are 4 too high; single answers labelled in some languages."""
    rng = np.random.default_rng(seed)
    truth = QUALITY[:, None] + rng.normal(0, 1, (4, k))
    answers = truth + rng.normal(0, 8, (tasks, 1, 1)) + rng.normal(0, 4, (tasks, 4, k))
    error = np.array([0, 9, 0, 0])[:, None] + rng.normal(0, 1, (4, k)) + 4
    judged = (answers + error)[..., None] + rng.normal(0, 4, (tasks, 4, k, 3))
    panel = Panel.from_array(
        judged, systems=SYSTEMS, languages=LANGUAGES[:k], judges=["A", "B", "C"], scale=(0, 100), source="scores.csv"
    )
    rows = []
    for language in range(n_labelled):
        for at in rng.permutation(tasks * 4)[:labels]:
            task, system = divmod(int(at), 4)
            label = answers[task, system, language] + rng.normal(0, 3)
            rows.append((panel.tasks[task], SYSTEMS[system], LANGUAGES[language], annotator, label))
    return panel, pd.DataFrame(rows, columns=["task", "system", "language", "annotator", "label"]), truth


def said(made: Humans, key: str) -> str:
    return " ".join(f.text for f in made.findings if f.key == f"humans.{key}")


def test_people_put_first_whom_judges_do_not() -> None:
    panel, frame, truth = planted()
    assert pj.audit(panel).systems["system"].iloc[0] == "bravo"
    made = humans(panel, frame)
    board = made.board
    assert list(board.columns) == list(COLUMNS)
    overall = board[board["language"] == "all"].set_index("system")
    assert overall.index[0] == "delta"
    inside = (overall["low"] <= truth.mean(axis=1)[[3, 1, 0, 2]]) & (
        truth.mean(axis=1)[[3, 1, 0, 2]] <= overall["high"]
    )
    assert inside.all()
    assert set(board["basis"]) == {"labels in 3 of 6 languages", "labels", "carried over from 3 languages"}
    text = said(made, "board")
    assert text.startswith("From labels in Hindi, Swahili and German, and judges in three more languages: by people, ")
    assert "delta" in text
    assert "The judges alone put bravo first." in text or "delta or bravo" in text
    assert re.search(
        r"Korean, Thai and Greek are taken to differ from Hindi, Swahili and German as these differ from each other "
        r"\(\d\.\d points, sd\): label 20 answers there to know\.", said(made, "carried"),
    )  # fmt: skip
    assert said(made, "predicted") == "Each labelled language predicted from the others: 3 of 3 held."


def test_the_board_comes_first_on_the_screen_and_everywhere(tmp_path: Path) -> None:
    panel, frame, _ = planted()
    made = humans(panel, frame)
    lines = screen(made.report()).split("\n")
    first = next(line for line in lines if line.startswith("People"))
    assert first.startswith("People   From labels in Hindi, Swahili and German")
    assert any(line.startswith("Board") for line in lines)
    assert re.search(r"polyjudge label make scores\.csv .*-n 20", "\n".join(lines))
    report = made.report()
    assert report.sections[0].name == "board"
    assert {chart.kind for chart in report.sections[0].charts} == {"heatmap", "intervals"}
    page = made.to_html()
    assert page is not None
    assert "Hindi (labels)" in page
    data = json.loads(to_json(made.report()))
    assert "board" in json.dumps(data)
    assert made.to_dict()["board"][0]["language"] == "all"


def test_the_audit_says_it_too() -> None:
    panel, frame, _ = planted()
    report = pj.audit(panel, labels=frame).report()
    texts = [f.text for f in report.findings if f.topic == "People"]
    assert texts[0].startswith("From labels in Hindi, Swahili and German")
    assert any(section.name == "board" for section in report.sections)


@pytest.mark.parametrize(("labelled", "words"), [(1, "Labels are in one language (Hindi)."), (2, "in two languages.")])
def test_few_labelled_languages_say_nothing_of_the_others(labelled: int, words: str) -> None:
    panel, frame, _ = planted(labelled)
    made = humans(panel, frame)
    assert words in said(made, "few-languages")
    assert "nothing of the others" in said(made, "few-languages")
    others = made.board[made.board["language"].isin(LANGUAGES[labelled:])]
    assert others["people"].isna().all()
    assert (others["basis"] == "no labels").all()
    assert (others["rank_low"] == 1).all()
    assert (others["rank_high"] == 4).all()
    assert said(made, "carried") == said(made, "predicted") == ""
    there = made.board[made.board["language"] == "Hindi"]
    assert there["low"].notna().all()


def test_a_file_of_one_language_has_the_board_without_these_words() -> None:
    panel, frame, truth = planted(1, 120, k=1)
    made = humans(panel, frame)
    assert len(made.board) == 4
    assert (made.board["basis"] == "labels").all()
    assert made.board["system"].iloc[0] == "delta"
    assert made.board_ is None
    assert said(made, "few-languages") == said(made, "carried") == said(made, "board") == ""
    row = made.board.set_index("system").loc["delta"]
    assert row["low"] < truth[3, 0] < row["high"]
    assert any(line.startswith("Board") for line in screen(made.report()).split("\n"))
    cells = humans(*planted(2)[:2]).frame
    assert len(cells)


def test_where_people_labelled_everywhere_nothing_is_carried_over() -> None:
    panel, frame, _ = planted(6)
    made = humans(panel, frame)
    assert said(made, "carried") == ""
    assert "delta is first overall" in said(made, "board")
    assert " of 6 held" in said(made, "predicted")


def test_languages_that_are_not_of_one_kind_are_named_as_such() -> None:
    panel, frame, _ = planted(6, 120)
    scores = panel.scores.copy()
    for language, system in enumerate((0, 1, 2, 3, 0, 1)):
        scores[:, system, language] += 40 * (-1) ** language  # taste that changes from language to language
    wild = Panel.from_array(scores, systems=SYSTEMS, languages=LANGUAGES, judges=panel.judges, scale=(-100, 200))
    made = humans(wild, frame)
    held, of = (int(x) for x in re.findall(r"(\d) of (\d) held", said(made, "predicted"))[0])
    assert of == 6
    few = "do not rely" in said(made, "predicted")
    assert few == (held <= 3)


def test_systems_without_labels_or_scores_are_left_out_there() -> None:
    panel, frame, _ = planted(4)
    panel.scores[:, 2, 1] = np.nan  # charlie is not scored in Swahili
    some = frame[(frame["system"] != "alpha") & ~((frame["system"] == "charlie") & (frame["language"] == "Swahili"))]
    made = humans(panel, some)
    board = made.board.set_index(["language", "system"])
    assert ("Swahili", "charlie") not in board.index
    assert np.isnan(board.loc[("Hindi", "alpha"), "people"])
    assert tuple(board.loc[("Hindi", "alpha"), ["rank_low", "rank_high"]]) == (1, 4)
    assert board.loc[("Swahili", "delta"), "rank_high"] >= 2  # alpha may be ahead of it
    assert "No labels compare alpha with the other systems" in said(made, "unlabelled-systems")


def test_nobody_is_first_of_all_where_systems_have_no_labels() -> None:
    panel, frame, _ = planted(3)
    some = frame[frame["system"].isin(["charlie", "delta"])]
    made = humans(panel, some)
    first = said(made, "board")
    assert "delta is first overall among the two systems that labels compare" in first
    assert "alpha and bravo with the other systems" in said(made, "unlabelled-systems")
    assert "any of them may be first" in said(made, "unlabelled-systems")
    made_next = next_labels(made.board_)
    assert made_next is not None
    assert set(made_next.systems) == set(SYSTEMS)  # those without labels may be first
    assert "systems without labels may be first too" in " ".join(screen(made.report()).split())


def test_labels_of_other_systems_in_each_language_say_nothing_of_the_others() -> None:
    panel, frame, _ = planted(3)
    pairs = {"Hindi": ["alpha", "delta"], "Swahili": ["bravo", "charlie"], "German": ["bravo", "charlie"]}
    some = frame[[system in pairs[language] for system, language in zip(frame.system, frame.language, strict=True)]]
    made = humans(panel, some)
    assert "in too few languages to tell the others" in said(made, "few-languages")
    assert not made.board["basis"].str.startswith("carried").any()
    assert not (made.board["high"] - made.board["low"] > 60).any()
    with pytest.raises(PanelError, match="nothing can be carried over"):
        calibrate(panel, labels=some, unlabelled="carry")
    with pytest.raises(PanelError, match="do not tell enough"):
        plan_labels(panel, some, None, level=0.95, seed=0)


def test_labels_that_are_all_alike_make_no_board() -> None:
    panel, frame, _ = planted(3)
    made = humans(panel, frame.assign(label=3))
    assert not len(made.board)
    assert "The labels are all the same on 180 labelled answers" in said(made, "agreement")


def test_the_judges_alone_are_shown_as_people_are() -> None:
    panel, frame, _ = planted(3)
    made = humans(panel, frame.assign(label=np.where(frame["label"] > 80, "pass", "fail")))
    shares = [
        line.split()[-1] for line in screen(made.report()).splitlines() if re.match(r"\s+[-\d]+ +\w+ +\d+% \[", line)
    ]
    assert len(shares) == 4
    assert all(share.endswith("%") and 0 <= float(share[:-1]) <= 100 for share in shares)


def test_labels_on_another_scale() -> None:
    panel, frame, _ = planted(4)
    stars = frame.assign(label=(frame["label"] / 20).round().clip(1, 5))
    made = humans(panel, stars)
    overall = made.board[made.board["language"] == "all"]
    assert overall["people"].between(1, 5).all()
    small = humans(panel, frame.assign(label=frame["label"] / 1000))
    assert "(0.0 points" not in said(small, "carried")
    assert overall["system"].iloc[0] == "delta"
    same = humans(panel, frame).board
    assert list(same[same["language"] == "all"]["system"]) == list(overall["system"])


def test_pass_and_fail_are_shares() -> None:
    panel, frame, _ = planted(4, 100)
    verdicts = Panel.from_array(
        (panel.scores > 62).astype(float), systems=SYSTEMS, languages=LANGUAGES, judges=panel.judges, scale=(0, 1)
    )
    made = humans(verdicts, frame.assign(label=np.where(frame["label"] > 62, "pass", "fail")))
    overall = made.board[made.board["language"] == "all"]
    assert overall[["people", "low", "high"]].to_numpy().min() >= 0
    assert overall[["people", "low", "high"]].to_numpy().max() <= 1
    assert "percentage points" in said(made, "carried")


def test_one_annotator_hides_the_level_and_not_the_differences() -> None:
    panel, frame, _ = planted(3)
    one_each = frame.assign(annotator="by " + frame["language"])
    made = humans(panel, one_each)
    hindi = made.board[made.board["language"] == "Hindi"]
    assert hindi["people"].notna().all()
    assert hindi["low"].isna().all()
    assert (hindi["rank_high"] < 4).any()
    assert "have one annotator each" in said(made, "board-annotators")
    everywhere = humans(panel, frame.assign(annotator="Kim"))  # harsh or not, the same in all languages
    assert everywhere.board["low"].notna().any()
    assert said(everywhere, "board-annotators") == ""


def test_several_annotators_widen_levels() -> None:
    panel, frame, _ = planted(3, 80)
    rng = np.random.default_rng(0)
    who = rng.integers(2, size=len(frame))
    harsh = frame.assign(annotator=[f"{x}-{w}" for x, w in zip(frame["language"], who, strict=True)])
    harsh["label"] -= 12 * who
    widths = [
        (board["high"] - board["low"])[board["language"] == "Hindi"].mean()
        for board in (humans(panel, x).board for x in (harsh.assign(annotator=""), harsh))
    ]
    assert widths[1] > 1.5 * widths[0]


# --- which labels next ---


def test_languages_with_fewest_labels() -> None:
    assert fewest_labelled([0, 30]) == [0]
    assert fewest_labelled([14, 30, 40]) == [0]
    assert fewest_labelled([30, 30, 30]) == [0, 1, 2]


def draw(tmp_path: Path, panel: Panel, frame: Any, **options: Any) -> pd.DataFrame:
    texts = pd.DataFrame([(t, s, f"{s} on {t}") for t in panel.tasks for s in SYSTEMS],
                         columns=["task", "system", "response"])  # fmt: skip
    return draw_labels(panel, items=texts, labels=frame, output=tmp_path, **options).items


def test_the_next_labels_are_of_leaders_in_languages_without_any(tmp_path: Path) -> None:
    panel, frame, _ = planted(4, 100)
    made = humans(panel, frame)
    overall = made.board[made.board["language"] == "all"]
    best = set(overall.loc[overall["rank_low"] == 1, "system"]) | set(overall["system"].iloc[:2])
    items = draw(tmp_path / "a", panel, frame)
    assert set(items["language"]) == {"Thai", "Greek"}
    assert set(items["system"]) == best
    assert (items.drop_duplicates(["task", "system", "language"]).groupby("language").size() == 20).all()
    assert set(draw(tmp_path / "b", panel, frame, random=True)["language"]) == set(LANGUAGES)
    assert set(draw(tmp_path / "c", panel, frame, systems=("alpha",))["system"]) == {"alpha"}
    assert set(draw(tmp_path / "d", panel, None, systems=("alpha", "delta"))["system"]) == {"alpha", "delta"}
    both = items.merge(frame, on=["task", "system", "language"])
    assert len(both) == 0
    with pytest.raises(UsageError, match="no system zeta"):
        draw(tmp_path / "e", panel, frame, systems=("zeta",))


def test_what_labels_brought_is_held_against_what_was_expected(tmp_path: Path) -> None:
    panel, frame, _ = planted(3, 60)
    draw(tmp_path / "more", panel, frame)
    manifest = json.loads((tmp_path / "more" / "manifest.json").read_text(encoding="utf-8"))
    expected = manifest["expected"]
    assert expected["then"] < expected["now"]
    rng = np.random.default_rng(5)
    place = {name: i for i, name in enumerate(SYSTEMS)}
    items = pd.DataFrame(manifest["shown"].values())
    level = panel.scores.mean(axis=3)
    rows = [
        (t, s, x, "", level[panel.tasks.index(t), place[s], LANGUAGES.index(x)] - 4 - 9 * (s == "bravo")
         + rng.normal(0, 3))
        for t, s, x in zip(items["task"], items["system"], items["language"], strict=True)
    ]  # fmt: skip
    new = pd.DataFrame(rows, columns=list(frame.columns))

    class Folder:
        labels = pd.concat([frame, new])
        folder = str(tmp_path / "more")
        findings = ()

    made = humans(panel, Folder())
    text = said(made, "brought")
    got = float(re.search(r"to ±([\d.]+); about", text)[1])  # type: ignore[index]
    assert got < expected["now"]
    assert 0.4 < got / expected["then"] < 2.5
    Folder.labels = new
    assert "Name all of them" in said(humans(panel, Folder()), "brought")


def test_earlier_labels_and_those_of_a_draw_are_joined(tmp_path: Path) -> None:
    panel, frame, _ = planted(4, 40)
    earlier = frame[frame["language"].isin(LANGUAGES[:2])]
    later = frame[~frame["language"].isin(LANGUAGES[:2])]
    earlier.to_csv(tmp_path / "earlier.csv", index=False)
    later.to_csv(tmp_path / "later.csv", index=False)
    both = f"{tmp_path / 'earlier.csv'},{tmp_path / 'later.csv'}"
    made = humans(panel, both)
    pd.testing.assert_frame_equal(made.board, humans(panel, frame).board)
    (step,) = [step for step in made.report().next if "label make" in step.command]
    assert f"--labels {both} -n 20" in step.command
    items = [
        {"task": task, "system": system, "language": language, "prompt": "Ask.", "response": "Say."}
        for task in panel.tasks for system in SYSTEMS for language in LANGUAGES
    ]  # fmt: skip
    drawn = draw_labels(
        panel, items=pd.DataFrame(items), labels=str(tmp_path / "earlier.csv"), output=tmp_path / "more"
    )
    assert f"earlier.csv,{tmp_path / 'more'}" in " ".join(step.command for step in drawn.report().next)
    later.assign(label="pass").to_csv(tmp_path / "later.csv", index=False)
    with pytest.raises(UsageError, match="not labels of one kind"):
        humans(panel, both)


def test_how_many_labels_a_lead_needs() -> None:
    panel, frame, _ = planted(3, 60)
    made = pj.plan(panel, labels=frame, separate=4)
    assert made.labels is not None
    each = made.labels.set_index(["languages", "labels"])["half_width"]
    assert each[6, 200] < each[3, 20]
    assert each[6, 50] < each[3, 50]  # languages without labels are what is not known
    (text,) = [f.text for f in made.findings if f.key == "plan-labels"]
    number, languages = map(int, re.findall(r"About (\d+) more labels in each of (\d+) languages", text)[0])
    row = made.labels.set_index(["languages", "labels"]).loc[(languages, number)]
    assert row["shown"] <= 4
    assert (made.labels.loc[made.labels["total"] < row["total"], "shown"] > 4).all()
    assert "Even 200 more labels" in pj.plan(panel, labels=frame, separate=0.2).findings[-1].text
    with pytest.raises(PanelError, match="in 3 languages"):
        pj.plan(panel, labels=planted(2)[1])
    assert "shown" in screen(made.report()) or "lead" in " ".join(screen(made.report()).split())


# --- calibrate by labels ---


def test_calibrate_and_humans_give_one_number(tmp_path: Path) -> None:
    panel, frame, _ = planted(4, 80)
    board = humans(panel, frame).board
    made = calibrate(panel, labels=frame, output=tmp_path / "corrected.csv")
    by_language = board[board["language"] != "all"].groupby("language")["people"].mean()
    shown = made.cells.set_index("language")["people"]
    assert shown[list(LANGUAGES[:4])].to_numpy() == pytest.approx(by_language[list(LANGUAGES[:4])], abs=0.15)
    written = pd.read_csv(tmp_path / "corrected.csv")
    means = written.groupby("language")["corrected"].mean()
    assert means[list(LANGUAGES[:4])].to_numpy() == pytest.approx(shown[list(LANGUAGES[:4])], abs=1e-6)


def test_labels_of_some_systems_move_no_language_by_what_these_systems_are_like(tmp_path: Path) -> None:
    panel, frame, truth = planted(3, 100)
    best = frame[frame["system"].isin(["bravo", "delta"])]
    made = calibrate(panel, labels=best, unlabelled="carry", output=tmp_path / "corrected.csv")
    written = pd.read_csv(tmp_path / "corrected.csv").groupby(["language", "system"])["corrected"].mean()
    for language in range(3):
        labelled_ones = written[LANGUAGES[language]][["bravo", "delta"]].mean()
        assert labelled_ones == pytest.approx(truth[[1, 3], language].mean(), abs=3)
        assert written[LANGUAGES[language]].mean() == pytest.approx(truth[:, language].mean(), abs=5)
    (text,) = [f.text for f in made.findings if f.key == "unlabelled"]
    assert "People's mean of bravo and delta, which labels compare, there: Korean " in text


def test_carried_limits_stay_on_the_scale_and_what_is_empty_is_said(tmp_path: Path) -> None:
    panel, frame, _ = planted(3, 60)
    unlike = frame["language"].map({"Hindi": -25, "Swahili": 0, "German": 25})
    frame = frame.assign(label=(frame["label"] + unlike).clip(0, 100))
    calibrate(panel, labels=frame, unlabelled="carry", output=tmp_path / "carried.csv", save=tmp_path / "carried.json")
    rows = pd.read_csv(tmp_path / "carried.csv")
    assert rows[["low", "high"]].stack().between(0, 100).all()
    calibrate(panel, labels=frame, save=tmp_path / "empty.json")
    for kind, words in (("carried", "carried over from the others"), ("empty", "their answers are left empty")):
        applied = apply(panel, tmp_path / f"{kind}.json", output=tmp_path / f"again_{kind}.csv")
        (text,) = [f.text for f in applied.findings if f.key == "unlabelled"]
        assert text.startswith("Korean, Thai and Greek had no labels when this was saved: ")
        assert words in text
    with pytest.raises(UsageError, match="--unlabelled carry is about calibrating by labels"):
        calibrate(panel, unlabelled="carry")


def test_languages_without_labels_are_left_empty_unless_carried(tmp_path: Path) -> None:
    panel, frame, truth = planted(4, 80)
    made = calibrate(panel, labels=frame, output=tmp_path / "empty.csv", save=tmp_path / "cal.json")
    written = pd.read_csv(tmp_path / "empty.csv").set_index("language")["corrected"]
    assert written[["Thai", "Greek"]].isna().all()
    assert written[list(LANGUAGES[:4])].notna().all()
    (text,) = [f.text for f in made.findings if f.key == "unlabelled"]
    assert text.startswith("Thai and Greek have no labels and are left empty. --unlabelled carry writes ")
    again = load_calibrator(tmp_path / "cal.json").transform(panel)
    assert np.isnan(again[:, :, 4:]).all()
    carried = calibrate(panel, labels=frame, unlabelled="carry", output=tmp_path / "carried.csv")
    (text,) = [f.text for f in carried.findings if f.key == "unlabelled"]
    assert "carried over from Hindi, Swahili, German and Korean" in text
    rows = pd.read_csv(tmp_path / "carried.csv")
    thai = rows[rows["language"] == "Thai"]
    assert ((thai["low"] < thai["corrected"]) & (thai["corrected"] < thai["high"])).all()
    level = carried.cells.set_index("language").loc["Thai"]
    assert level["low"] < truth[:, 4].mean() < level["high"]
    assert level["high"] - level["low"] > (rows["high"] - rows["low"])[rows["language"] == "Hindi"].mean()
    with pytest.raises(PanelError, match="nothing can be carried over"):
        calibrate(panel, labels=planted(2)[1], unlabelled="carry")


# --- does the win stand? ---


def test_people_settle_the_winner() -> None:
    panel, frame, _ = planted(6, 100)
    made = humans(panel, frame)
    settled = settle_winner(made, "delta", "bravo")
    assert settled is not None
    assert settled.agrees is True
    assert re.match(r"By \d+ labels in six languages people put delta (first|ahead of bravo) too, by ", settled.text)
    equal = frame[frame["system"].isin(["bravo", "delta"])].groupby(["language", "system"]).head(15)
    of_equal = settle_winner(humans(panel, equal), "delta", "bravo")
    assert of_equal is not None
    assert of_equal.text.startswith("By 30 labels in each language people put delta ahead of bravo too, by ")
    assert settled.low <= settled.difference <= settled.high
    against = settle_winner(made, "bravo", "delta")
    assert against is not None
    assert against.agrees is False
    assert against.text.startswith("People do not: by ")
    few = settle_winner(humans(*planted(3, 24)[:2]), "delta", "bravo")
    assert few is None or few.agrees is not False
    one = settle_winner(humans(*planted(1, 160, k=1)[:2]), "delta", "charlie")
    assert one is not None
    assert one.agrees is True


def test_the_winner_line_begins_with_people() -> None:
    panel, frame, _ = planted(6, 100)
    (line,) = [f for f in pj.audit(panel, labels=frame).findings if f.topic == "Winner" and f.key.startswith("winner")]
    assert line.text.startswith("People do not: by ")  # the judges put bravo first
    assert "By the judges' scores bravo is ahead of delta" in line.text
    assert line.severity == "warning"
    fair = Panel.from_array(
        panel.scores - np.array([0, 9, 0, 0])[:, None, None], systems=SYSTEMS, languages=LANGUAGES, judges=panel.judges,
        scale=(0, 100),
    )  # fmt: skip
    (line,) = [f for f in pj.audit(fair, labels=frame).findings if f.topic == "Winner" and f.key.startswith("winner")]
    assert re.match(r"By \d+ labels in six languages people put delta (first|ahead of bravo) too, by ", line.text)
    alone = [f for f in pj.audit(panel).findings if f.topic == "Winner" and f.key.startswith("winner")]
    assert "eople" not in alone[0].text


def test_large_boards_take_less_than_three_seconds() -> None:
    rng = np.random.default_rng(0)
    tasks, systems, k = 500, 20, 12
    truth = rng.normal(60, 4, (systems, 1)) + rng.normal(0, 2, (systems, k))
    answers = truth + rng.normal(0, 8, (tasks, 1, 1)) + rng.normal(0, 5, (tasks, systems, k))
    panel = Panel.from_array(answers[..., None] + rng.normal(0, 5, (*answers.shape, 1)), scale=(0, 100))
    rows = [
        (panel.tasks[t], panel.systems[s], panel.languages[x], answers[t, s, x])
        for x in range(6) for t in rng.permutation(tasks)[:30] for s in range(systems)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["task", "system", "language", "label"])
    sides = sides_of(panel, labelled(panel, frame))
    begun = time.process_time()
    board = people_board(panel, sides)
    assert board is not None
    assert time.process_time() - begun < 3
