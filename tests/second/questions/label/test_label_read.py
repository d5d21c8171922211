"""`label make` and `label read`: what is written, and what is made of whatever comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.few_labels import stratified_means
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import CUTS, align_gold, strata
from polyjudge.second.read.formats.excel import read_excel, write_excel
from polyjudge.second.read.label_folder import read_label_folder
from polyjudge.second.report import report_of
from refusals import refused

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    rng = np.random.default_rng(0)
    scores = rng.integers(1, 6, (80, 2, 3)).astype(float)
    return pj.Panel.from_array(scores, languages=["German", "Thai"], declared_range=(1, 5))


@pytest.fixture
def folder(panel: pj.Panel, tmp_path: Path) -> Path:
    pj.label.make(panel, output=tmp_path / "labels", per_language=20)
    return tmp_path / "labels"


def _manifest(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return data


def _tokens(folder: Path, annotator: str) -> list[str]:
    return [token for token, look in _manifest(folder)["shown"].items() if look["annotator"] == annotator]


def _answer(folder: Path, annotator: str, name: str, label: Any = 4, **more: Any) -> list[str]:
    tokens = _tokens(folder, annotator)
    rows = [{"item": token, "label": label, **more} for token in tokens]
    (folder / name).write_text(json.dumps({"format": "polyjudge-answers", "answers": rows}), encoding="utf-8")
    return tokens


def test_who_gets_what(folder: Path, panel: pj.Panel) -> None:
    manifest = _manifest(folder)
    looks = pd.DataFrame(manifest["shown"].values())
    items = pd.DataFrame(manifest["items"]).T
    assert items.groupby("language").size().tolist() == [20, 20]
    first = looks[~looks["again"]].merge(items, left_on="item", right_index=True)
    german = first[first["language"] == "German"]
    assert sorted(german["annotator"].unique()) == ["German-1", "German-2"]
    assert (german.groupby("item").size() == 2).sum() == 6, "three in ten are shared"
    again = looks[looks["again"]].merge(items, left_on="item", right_index=True)
    assert (again.groupby("annotator").size() >= 1).all()
    assert set(again["annotator"]) == set(looks["annotator"]) or len(german) < 32
    for language, part in manifest["design"].items():
        assert sum(part["sizes"]) == 80
        drawn = items[items["language"] == language]
        for _, item in drawn.iterrows():
            chance = part["drawn"][item["stratum"]] / part["sizes"][item["stratum"]]
            assert item["probability"] == pytest.approx(chance)


def test_whatever_comes_back_is_joined(folder: Path) -> None:
    one = _answer(folder, "German-1", "renamed by mail (2).json")
    # an edited sheet: other delimiter, other order, words for numbers, some rows gone, a comment column
    sheet = pd.read_csv(folder / "sheets" / "German-2.csv", dtype=str).iloc[::-1]
    half = len(sheet) // 2
    sheet["label"] = ["5 "] * half + [None] * (len(sheet) - half)
    (folder / "sheets" / "German-2.csv").unlink()
    sheet.assign(remark="x").to_csv(folder / "sheets" / "copy.csv", sep=";", index=False, encoding="utf-8-sig")
    found = pj.label.read(folder)
    table = found.annotators.set_index("annotator")
    assert table.loc["German-1", ["labelled", "missing"]].tolist() == [len(one), 0]
    assert table.loc["German-2", ["labelled", "missing"]].tolist() == [half, len(sheet) - half]
    assert table.loc["Thai-1", "missing"] == table.loc["Thai-1", "asked"]
    assert sorted(found.labels["score"].unique()) == [4, 5]
    assert found.odd == ()
    assert found.missing == table["missing"].sum()
    rows = report_of(found).sections[0].blocks[0].frame  # who has left out most stands first
    assert rows["missing"].is_monotonic_decreasing


def test_the_later_answer_counts_and_a_copy_changes_nothing(folder: Path) -> None:
    tokens = _answer(folder, "Thai-1", "a.json", 2, at="2026-01-01T10:00:00Z")
    _answer(folder, "Thai-1", "b.json", 3, at="2026-01-02T10:00:00Z")
    (folder / "copy of b.json").write_bytes((folder / "b.json").read_bytes())
    found = pj.label.read(folder)
    assert found.labels["score"].tolist() == [3.0] * len(tokens)
    assert found.replaced == len(tokens)


def test_an_answer_is_never_replaced_by_a_blank(folder: Path) -> None:
    tokens = _answer(folder, "Thai-1", "a.json", 2, at="2026-01-01T10:00:00Z")
    rows = [{"item": token, "label": None, "skip": "other", "at": "2026-02-01T10:00:00Z"} for token in tokens]
    (folder / "z.json").write_text(json.dumps({"answers": rows}), encoding="utf-8")
    assert len(pj.label.read(folder).labels) == len(tokens)


def test_files_of_another_manifest_and_wrong_answers_are_told(folder: Path, panel: pj.Panel, tmp_path: Path) -> None:
    pj.label.make(panel, output=tmp_path / "older", per_language=10, seed=99)
    _answer(tmp_path / "older", "German-1", "old.json")
    (folder / "old.json").write_bytes((tmp_path / "older" / "old.json").read_bytes())
    _answer(folder, "German-1", "wrong.json", "17")
    (folder / "torn.json").write_text('{"answers": [', encoding="utf-8")
    found = pj.label.read(folder)
    assert len(found.labels) == 0
    assert len(found.odd) == 3
    for words in (("old.json", "another"), ("17",), ("torn.json",)):
        assert any(all(word in text for word in words) for text in found.odd), (words, found.odd)
    with refused(pj.PanelError, "label read", "No answer"):
        pj.anchor(panel, folder)


def test_exports_of_label_studio_and_argilla_are_read(folder: Path) -> None:
    tasks = json.loads((folder / "label-studio" / "German-1.json").read_text(encoding="utf-8"))
    for task in tasks:
        result = [{"from_name": "label", "type": "choices", "value": {"choices": ["3"]}}]
        task["annotations"] = [{"was_cancelled": False, "result": result, "completed_by": 1}]
    (folder / "ls.json").write_text(json.dumps(tasks), encoding="utf-8")
    records = json.loads((folder / "argilla" / "Thai-1.json").read_text(encoding="utf-8"))
    out = [{"id": r["id"], "fields": {}, "responses": {"label": [{"value": 5, "user_id": "u"}]}} for r in records]
    (folder / "argilla.json").write_text(json.dumps(out), encoding="utf-8")
    found = pj.label.read(folder)
    assert found.labels.groupby("annotator")["score"].unique().map(list).to_dict() == {
        "German-1": [3.0],
        "Thai-1": [5.0],
    }
    assert found.annotators.set_index("annotator").loc["German-1", "missing"] == 0
    assert "<Choice value=" in (folder / "label-studio" / "German-1.xml").read_text(encoding="utf-8")


def test_excel_sheets_are_read(folder: Path) -> None:
    pytest.importorskip("python_calamine")
    path = folder / "sheets" / "Thai-2.xlsx"
    sheet = read_excel(path, None)
    rows = [tuple(1 if c == "label" else x for c, x in row.items()) for row in sheet.to_dict("records")]
    write_excel(path, list(sheet.columns), [rows])
    found = pj.label.read(folder)
    assert found.odd == ()
    assert found.labels["score"].tolist() == [1.0] * len(sheet)


def test_words_of_the_page_are_answers_in_sheets(tmp_path: Path) -> None:
    scores = np.random.default_rng(1).integers(0, 2, (40, 2, 3)).astype(float)
    panel = pj.Panel.from_array(scores, languages=["German", "Thai"])
    pj.label.make(panel, output=tmp_path / "l", per_language=10, annotators=1)
    _answer(tmp_path / "l", "German-1", "back.json", "nicht bestanden")
    _answer(tmp_path / "l", "Thai-1", "back2.json", "ผ่าน")
    found = pj.label.read(tmp_path / "l").labels
    assert found.groupby("language")["score"].unique().map(list).to_dict() == {"German": [0.0], "Thai": [1.0]}


def test_more_adds_a_round_and_old_answers_stay_good(folder: Path, panel: pj.Panel) -> None:
    for annotator in ("German-1", "German-2", "Thai-1", "Thai-2"):
        _answer(folder, annotator, f"{annotator}.json")
    before = pj.label.read(folder)
    made = pj.label.make(panel, output=folder, more=True, per_language=10)
    assert made.round == 2
    assert made.items == 20
    after = pj.label.read(folder)
    assert len(after.labels) == len(before.labels)
    assert after.missing == made.files["items"].sum()
    manifest = _manifest(folder)
    assert len(manifest["items"]) == 60
    for item in manifest["items"].values():
        part = manifest["design"][item["language"]]
        assert item["probability"] == pytest.approx(part["drawn"][item["stratum"]] / part["sizes"][item["stratum"]])
    assert pj.label.make(panel, output=folder, more=True).items >= 20, "as many as the labels ask for"


def test_labels_drawn_by_other_scores_count_by_the_chance_they_were_drawn_with(tmp_path: Path) -> None:
    """Later the panel has other judges: who would be in which stratum now says nothing of how items were drawn."""
    rng = np.random.default_rng(1)
    truth = np.clip(rng.normal(60, 25, (300, 2)), 0, 100)
    first, later = (
        pj.Panel.from_array(np.clip(truth[..., None] + rng.normal(0, sd, (300, 2, 2)), 0, 100)) for sd in (5, 40)
    )
    pj.label.make(first, output=tmp_path / "l", per_language=40, annotators=1, ask="slider")
    shown, items = (_manifest(tmp_path / "l")[part] for part in ("shown", "items"))
    place = {task: t for t, task in enumerate(first.tasks)}
    rows = []
    for token, look in shown.items():
        item = items[look["item"]]
        value = round(truth[place[item["task"]], first.languages.index(item["language"])])
        rows.append({"item": token, "label": value})
    answers = {"format": "polyjudge-answers", "answers": rows}
    (tmp_path / "l" / "back.json").write_text(json.dumps(answers), encoding="utf-8")
    labels = pj.label.read(tmp_path / "l").labels
    same, other = (align_gold(panel, labels) for panel in (first, later))
    assert [n.code for n in other.notes if n.code == "gold.other-scores"] == ["gold.other-scores"]
    assert not same.notes
    means = [stratified_means(g.values[..., None], g.stratum, np.ones(300)).mean[:, 0] for g in (same, other)]
    assert means[1] == pytest.approx(means[0], abs=0.2)
    naive = stratified_means(same.values[..., None], strata(later, labels.attrs[CUTS]), np.ones(300)).mean[:, 0]
    assert np.abs(naive - means[0]).max() > 1
    cal = pj.AnchoredCalibrator().fit(later, labels)
    assert cal.cautions(later)[0].code == "gold.other-scores"
    report = report_of(pj.anchor(later, labels, resamples=2), later)
    assert "gold.other-scores" in [getattr(x, "code", "") for x in report.read]
    for panel, told in ((first, False), (later, True)):
        made = pj.label.make(panel, output=tmp_path / "l", per_language=4, more=True)
        assert any(n.code == "label.other-scores" for n in made.notes) == told


def test_link_pages_have_items_of_two_languages(panel: pj.Panel, tmp_path: Path) -> None:
    made = pj.label.make(panel, output=tmp_path / "l", per_language=20, link=True)
    assert "link-German-Thai" in made.files["annotator"].tolist()
    _answer(tmp_path / "l", "link-German-Thai", "x.json")
    pj.label.make(panel, output=tmp_path / "three", per_language=10, annotators=3, link=True)
    again = pj.label.make(panel, output=tmp_path / "three", per_language=10, more=True)
    assert again.files.groupby("language").size().tolist() == [3, 3], "the same people go on"
    labels = pj.label.read(tmp_path / "l").labels
    assert labels.groupby("language").size().to_dict() == {"German": 10, "Thai": 10}


def test_a_slider_is_carried_to_the_panels_scale(tmp_path: Path) -> None:
    panel = pj.Panel.from_array(np.random.default_rng(2).uniform(-1, 3, (30, 2, 2)), declared_range=(-1, 3))
    pj.label.make(panel, output=tmp_path / "l", per_language=5, annotators=1)
    _answer(tmp_path / "l", "language1-1", "x.json", 75)
    assert pj.label.read(tmp_path / "l").labels["score"].tolist() == [2.0] * 5


@pytest.mark.statistical
def test_labels_of_a_design_count_by_what_they_stand_for(tmp_path: Path) -> None:
    """Labels are 0 or 100, drawn more often where the panel is undecided: plain means of them would be far off."""
    rng = np.random.default_rng(6)
    level = rng.beta(0.3, 1.2, (400, 3)) * 100
    panel = pj.Panel.from_array(
        np.clip(level[..., None] + rng.normal(0, 4, (400, 3, 2)), 0, 100), declared_range=(0, 100)
    )
    truth = np.where(rng.random((400, 3)) * 100 < level, 100.0, 0.0)
    found = []
    for seed in range(12):
        folder = tmp_path / str(seed)
        pj.label.make(panel, output=folder, per_language=60, annotators=1, repeats=0.0, ask="pass", seed=seed)
        manifest = _manifest(folder)
        rows = []
        for token, look in manifest["shown"].items():
            item = manifest["items"][look["item"]]
            place = panel.tasks.index(item["task"]), panel.languages.index(item["language"])
            rows.append({"item": token, "label": truth[place]})
        (folder / "back.json").write_text(json.dumps({"answers": rows}), encoding="utf-8")
        result = pj.anchor(panel, folder, resamples=20)
        assert result.humans is not None
        plain = pj.label.read(folder).labels.groupby("language")["score"].mean()
        own = panel.scores.mean(axis=(0, 2))
        found.append(
            [
                result.means.table["estimate"] - truth.mean(axis=0),
                result.humans.of_panel["shift"] - (own - truth.mean(axis=0)),
                plain.to_numpy() - truth.mean(axis=0),
            ]
        )
    means, shifts, plain = np.array(found).mean(axis=(0, 2))
    assert abs(plain) > 5
    assert abs(means) < 1.5
    assert abs(shifts) < 1.5


def test_what_is_refused(folder: Path, panel: pj.Panel, tmp_path: Path) -> None:
    with refused(UsageError, "--more", "not empty"):
        pj.label.make(panel, output=folder)
    with refused(UsageError, "label make"):
        pj.label.read(tmp_path / "nowhere")
    with refused(UsageError, "levels", "9"):
        pj.label.make(panel, output=tmp_path / "x", levels=12)
    with refused(UsageError, "pass, levels, slider or pairs", "stars"):
        pj.label.make(panel, output=tmp_path / "x", ask="stars")
    with refused(pj.PanelError, "prompt", "response"):
        pj.label.make(panel, pd.DataFrame({"task": ["a"]}), tmp_path / "x")
    with refused(pj.PanelError, "no text"):
        pj.label.make(panel, pd.DataFrame({"task": ["a"], "prompt": "p", "response": "r"}), tmp_path / "x")
    assert not (tmp_path / "x").exists()
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    with refused(pj.PanelError, "manifest"):
        read_label_folder(folder)


def test_the_commands(folder: Path, panel: pj.Panel, tmp_path: Path, cli: Any) -> None:
    scores = tmp_path / "scores.csv"
    panel.to_frame().to_csv(scores, index=False)
    made = cli("label", "make", scores, "--range", "1:5", "-o", tmp_path / "c", "--per-language", 10, "--json")
    assert json.loads(made.stdout)["items"] == 20
    assert "--full" not in cli("label", "make", scores, "--range", "1:5", "-o", tmp_path / "d", "-n", 10).stdout
    for annotator in ("German-1", "German-2", "Thai-1", "Thai-2"):
        _answer(tmp_path / "c", annotator, f"{annotator}.json", 3)
    back = json.loads(cli("label", "read", tmp_path / "c", "-o", tmp_path / "labels.csv", "--json").stdout)
    assert sum(row["missing"] for row in back["annotators"]) == 0
    assert len(pd.read_csv(tmp_path / "labels.csv")) == sum(row["labelled"] for row in back["annotators"])
    said = json.loads(
        cli("anchor", scores, "--range", "1:5", "--labels", tmp_path / "c", "--resamples", 20, "--json").stdout
    )
    assert said["humans"]["next_labels"] >= 0
