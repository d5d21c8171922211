"""Drawing answers and joining what comes back: nothing is dropped without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.humans.compare import humans
from polyjudge.answers.humans.draw import _deal, draw, draw_labels
from polyjudge.answers.humans.returned import read_labels
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.panel import Panel


def panel(tasks: int = 40, languages: tuple[str, ...] = ("de", "ar"), **more: Any) -> Panel:
    rng = np.random.default_rng(0)
    s = rng.integers(1, 6, (tasks, 3, len(languages), 2)).astype(float)
    return Panel.from_array(s, languages=languages, scale=(1, 5), **more)


def items(p: Panel) -> pd.DataFrame:
    rows = [(t, s, x, f"ask {t}", f"{s} says {t} in {x}") for t in p.tasks for s in p.systems for x in p.languages]
    return pd.DataFrame(rows, columns=["task", "system", "language", "prompt", "response"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    p = panel()
    draw_labels(p, n=10, items=items(p), output=tmp_path / "labels", rubric="Is it right?")
    return tmp_path / "labels"


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


def answer(folder: Path, who: str, label: Any = 4, name: str = "", skip: str | None = None) -> Path:
    """What the page of one annotator saves, with the same answer to every item."""
    held = manifest(folder)
    tokens = [t for t, x in held["shown"].items() if x["annotator"] == who]
    answers = [{"item": t, "label": label, "skip": skip, "at": "2026-11-18T10:00:00Z", "seconds": 3} for t in tokens]
    path = folder / (name or f"{who}.json")
    path.write_text(json.dumps({"format": "polyjudge-answers", "labels": held["id"], "name": who, "answers": answers}))
    return path


def test_the_draw_is_random_within_language_and_shares_tasks() -> None:
    p = panel()
    drawn = draw(p, 10, np.zeros((40, 3, 2), bool), 0)
    assert drawn.sum((0, 1)).tolist() == [10, 10]
    assert (drawn[:, :, 0] == drawn[:, :, 1]).all()
    assert drawn.sum((0, 2)).min() >= 6  # systems in turn
    often = sum(draw(p, 10, np.zeros((40, 3, 2), bool), seed)[:, :, 0] for seed in range(600))
    assert often.sum(1).min() > 100  # each task in a quarter of the draws: 150 of 600
    assert often.sum(1).max() < 200
    taken = drawn.copy()
    assert not (draw(p, 10, taken, 0) & taken).any()
    assert draw(p, 500, taken, 0).sum() == 240 - 20  # never more than there are
    for tasks in (13, 14, 15):  # whatever tasks and systems have in common, every answer is reached
        assert draw(panel(tasks), 500, np.zeros((tasks, 3, 2), bool), 0).all()


def test_some_answers_have_two_annotators() -> None:
    p = panel()
    dealt = _deal(p, draw(p, 20, np.zeros((40, 3, 2), bool), 0), 2, 0.3, "x", 0)
    assert set(dealt) == {"de-1", "de-2", "ar-1", "ar-2"}
    one, two = ({x.answer for x in dealt[w]} for w in ("de-1", "de-2"))
    assert len(one & two) == 6
    assert len(one | two) == 20


def test_pages_hold_no_scores_and_no_systems(folder: Path) -> None:
    text = (folder / "de-1.html").read_text()
    assert "says t" in text
    assert "Is it right?" in text
    assert '"system"' not in text
    assert not any(f'"{t}"' in text for t in panel().tasks)
    assert "http" not in text.split("<script")[1]


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    p = panel(languages=("de\u202e",))
    evil = items(p).assign(response="</script><script>alert(1)</script>@@data@@", language="")
    draw_labels(p, n=5, items=evil, output=tmp_path / "labels")
    (page,) = (tmp_path / "labels").glob("*-1.html")
    text = page.read_text()
    assert text.count("</script>") == 2
    assert "\u202e" not in text.split('id="data"')[0]
    assert "\u202e" not in (tmp_path / "labels" / "manifest.json").read_text()


def test_what_comes_back_is_joined(folder: Path) -> None:
    for who, label in (("de-1", 2), ("de-2", 3), ("ar-1", 5)):
        answer(folder, who, label)
    made = read_labels(folder)
    assert len(made.labels) == 7 + 6 + 7
    assert made.missing == 6
    assert made.labels.groupby("annotator")["label"].first().to_dict() == {"ar-1": 5.0, "de-1": 2.0, "de-2": 3.0}
    found = humans(panel(), folder)
    assert found.judges["labelled"].iloc[0] == 17
    assert len(humans(panel(), made).disagreements) == len(found.disagreements)


def test_a_bad_file_is_named_and_the_others_are_read(folder: Path) -> None:
    answer(folder, "de-1")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "broken.json").write_text('{"answers": [')
    (folder / "other.txt").write_text("see you on Monday")
    (folder / "bytes.bin").write_bytes(b"\xff\xfe\x00\xd8")
    (folder / "list.json").write_text("[1, 2]")
    made = read_labels(folder)
    assert len(made.labels) == 7
    bad = made.files[made.files["problem"] != ""]
    assert set(bad["file"]) == {"deep.json", "broken.json", "other.txt", "bytes.bin", "list.json"}
    said = " ".join(f.text for f in made.findings)
    for file in bad["file"]:
        assert file in said


def test_a_file_is_known_by_what_it_holds(folder: Path) -> None:
    answer(folder, "ar-1", name="scan of Tuesday (final)")
    (folder / "back").mkdir()
    answer(folder, "de-2", name="back/answers.json.txt")
    made = read_labels(folder).annotators.set_index("annotator")
    assert made["labelled"].to_dict() == {"ar-1": 7, "ar-2": 0, "de-1": 0, "de-2": 6}


def test_an_altered_manifest_is_an_error_of_the_input(folder: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_text()
    for other in (text.replace('"de-1"', '"de-9"'), "[" * 50_000, "{}", text[:-40], ""):
        path.write_text(other)
        with pytest.raises(UsageError):
            read_labels(folder)
    path.unlink()
    with pytest.raises(UsageError, match="label make"):
        read_labels(folder)


def test_strange_and_impossible_answers_are_said(folder: Path) -> None:
    path = answer(folder, "de-1")
    held = json.loads(path.read_text())
    held["answers"][0]["label"] = 9
    held["answers"][1]["item"] = "not ours"
    path.write_text(json.dumps(held))
    made = read_labels(folder)
    assert len(made.labels) == 5
    (problem,) = made.files["problem"]
    assert "1 answer to items that this folder did not give out" in problem
    assert "1 answer that was not offered (9)" in problem


def test_the_later_answer_counts_and_skips_are_kept(folder: Path) -> None:
    answer(folder, "de-1", 2)
    later = json.loads(answer(folder, "de-1", 4, "later.json").read_text())
    for x in later["answers"]:
        x["at"] = "2026-11-19T10:00:00Z"
    (folder / "later.json").write_text(json.dumps(later))
    answer(folder, "de-2", None, skip="unclear")
    made = read_labels(folder)
    assert set(made.labels["label"]) == {4.0}
    assert made.skipped["why"].tolist() == ["unclear"] * 6
    assert "skipped 6 answers" in " ".join(f.text for f in made.findings)
    assert made.missing == 13


def test_pass_stays_a_word_and_a_slider_goes_on_the_scale(tmp_path: Path) -> None:
    p = panel()
    for ask, given, label in (("pass", "pass", "pass"), ("slider", 25, 2.0)):
        folder = tmp_path / ask
        draw_labels(p, n=6, items=items(p), ask=ask, output=folder)  # type: ignore[arg-type]
        answer(folder, "de-1", given)
        assert set(read_labels(folder).labels["label"]) == {label}
    made = humans(p, tmp_path / "pass", threshold="3")
    assert made.sides_.verdicts


def test_labels_as_a_table(folder: Path, tmp_path: Path) -> None:
    answer(folder, "de-1")
    path = tmp_path / "labels.csv"
    made = read_labels(folder, output=path)
    assert pd.read_csv(path)["label"].tolist() == made.labels["label"].tolist()
    with pytest.raises(UsageError, match="overwrite"):
        read_labels(folder, output=path)
    read_labels(folder, output=path, overwrite=True)
    assert len(humans(panel(), str(path)).sides_.found.label) == 7


def test_more_answers_than_before(folder: Path, tmp_path: Path) -> None:
    for who in ("de-1", "de-2", "ar-1", "ar-2"):
        answer(folder, who)
    first = read_labels(folder).labels
    made = draw_labels(panel(), n=10, items=items(panel()), labels=first, output=tmp_path / "more")
    keys = ["task", "system", "language"]
    assert len(made.items[keys].drop_duplicates().merge(first[keys].drop_duplicates())) == 0


def test_a_folder_that_was_given_out_is_not_replaced(folder: Path) -> None:
    with pytest.raises(UsageError, match="drawn already"):
        draw_labels(panel(), items=items(panel()), output=folder)
    draw_labels(panel(), items=items(panel()), output=folder, overwrite=True)
    answer(folder, "de-1")
    with pytest.raises(UsageError, match="Move it"):  # never what an annotator sent
        draw_labels(panel(), items=items(panel()), output=folder, overwrite=True)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    p = panel()
    with pytest.raises(UsageError, match="--items"):
        draw_labels(p, output=tmp_path / "a")
    with pytest.raises(PanelError, match="hold no text"):
        draw_labels(p, items=items(p).head(3), output=tmp_path / "b")
    with pytest.raises(PanelError, match="task and response"):
        draw_labels(p, items=items(p).drop(columns="response"), output=tmp_path / "c")
    with pytest.raises(UsageError, match="whole numbers"):
        draw_labels(p, items=items(p), n=0, output=tmp_path / "d")
    with pytest.raises(UsageError, match="overlap"):
        draw_labels(p, items=items(p), overlap=2, output=tmp_path / "e")
    assert not list(tmp_path.iterdir())


def test_the_draw_is_the_same_again(tmp_path: Path) -> None:
    p = panel()
    pages = []
    for name in "ab":
        draw_labels(p, n=5, items=items(p), output=tmp_path / name)
        pages.append((tmp_path / name / "de-1.html").read_bytes())
    assert pages[0] == pages[1]


def test_a_set_depends_on_what_is_asked(tmp_path: Path) -> None:
    p = panel()
    ids, tokens = set(), set()
    for i, more in enumerate(
        ({}, {"ask": "slider"}, {"rubric": "Is it kind?"}, {"annotators": 1}, {"seed": 1}, {"rubric": {"de": "Nett?"}})
    ):
        draw_labels(p, n=5, items=items(p), output=tmp_path / str(i), **more)  # type: ignore[arg-type]
        held = manifest(tmp_path / str(i))
        ids.add(held["id"])
        tokens |= set(held["shown"])
    draw_labels(
        Panel.from_array(p.scores, languages=p.languages, scale=(1, 9)), n=5, items=items(p), output=tmp_path / "s"
    )
    ids.add(manifest(tmp_path / "s")["id"])
    assert len(ids) == 7
    assert len(tokens) == sum(len(manifest(tmp_path / str(i))["shown"]) for i in range(6))


def test_a_file_of_another_set_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    draw_labels(panel(), n=10, items=items(panel()), output=tmp_path / "other", rubric="Is it kind?")
    path = answer(tmp_path / "other", "de-1", 5)
    (folder / "de-1.json").write_bytes(path.read_bytes())
    returned = read_labels(folder)
    assert len(returned.labels) == 0
    assert "de-1.json: belongs to another set of labels" in " ".join(f.text for f in returned.findings)


def test_a_page_that_came_back_is_named(folder: Path) -> None:
    (folder / "de-1 (1).html").write_text((folder / "de-1.html").read_text() + " ")
    (folder / "de-2.html").write_text("<html>saved by a browser")
    (folder / "copy.html").write_bytes((folder / "ar-1.html").read_bytes())
    text = " ".join(f.text for f in read_labels(folder).findings)
    assert "de-1 (1).html: is a page, and holds no answers" in text
    assert "de-2.html: is a page" in text
    assert "ar-1.html" not in text


def test_several_folders_are_read_together(folder: Path, tmp_path: Path) -> None:
    for who in ("de-1", "de-2", "ar-1", "ar-2"):
        answer(folder, who)
    more = tmp_path / "more"
    draw_labels(panel(), n=5, items=items(panel()), labels=str(folder), output=more)
    for who in ("de-1", "ar-2"):
        answer(more, who, 2)
    returned = read_labels(f"{folder},{more}")
    assert len(returned.labels) == len(read_labels(folder).labels) + len(read_labels(more).labels)
    assert "taken to be the same people" in " ".join(f.text for f in returned.findings)
    assert read_labels([folder, more]).labels.equals(returned.labels)
    both = humans(panel(), f"{folder},{more}")
    assert both.judges["labelled"].iloc[0] > humans(panel(), folder).judges["labelled"].iloc[0]
    third = draw_labels(panel(), n=5, items=items(panel()), labels=f"{folder},{more}", output=tmp_path / "third")
    keys = ["task", "system", "language"]
    assert len(third.items[keys].drop_duplicates().merge(returned.labels[keys].drop_duplicates())) == 0


def test_a_rubric_for_each_language(tmp_path: Path) -> None:
    p = panel()
    (tmp_path / "ar.txt").write_text("هل هو صحيح؟", encoding="utf-8")
    drawn = draw_labels(
        p, n=5, items=items(p), output=tmp_path / "a", rubric=f"de=Stimmt es, ganz?,ar={tmp_path / 'ar.txt'}"
    )
    assert "Stimmt es, ganz?" in (tmp_path / "a" / "de-1.html").read_text()
    assert "هل هو صحيح؟" in (tmp_path / "a" / "ar-1.html").read_text()
    assert not [f for f in drawn.findings if f.key == "label.rubric"]
    one = draw_labels(p, n=5, items=items(p), output=tmp_path / "b", rubric="Is it right?")
    assert "Annotators of all languages read one and the same rubric" in " ".join(f.text for f in one.findings)
    some = draw_labels(p, n=5, items=items(p), output=tmp_path / "c", rubric={"de": "Gut?"})
    assert "There is no rubric for ar." in " ".join(f.text for f in some.findings)
    with pytest.raises(UsageError, match="no language fr"):
        draw_labels(p, n=5, items=items(p), output=tmp_path / "d", rubric={"fr": "Bon ?"})
    by_name = draw_labels(p, n=5, items=items(p), output=tmp_path / "e", rubric="German=Gut?,Arabic=جيد؟")
    assert "German=" not in (tmp_path / "e" / "de-1.html").read_text()
    assert not [f for f in by_name.findings if f.key == "label.rubric"]
    with pytest.raises(UsageError, match="no language sw"):
        draw_labels(p, n=5, items=items(p), output=tmp_path / "f", rubric="de=Gut?,ar=جيد؟,sw=Nzuri?")
    with pytest.raises(UsageError, match=r"no file rubric.txt"):
        draw_labels(p, n=5, items=items(p), output=tmp_path / "g", rubric="rubric.txt")
