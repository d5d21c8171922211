"""`paper reproduce`: every claim prints from the released files, on any seed, and turns when they are changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import shared_file
from polyjudge import cbc
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.paper import devai, ledger, protocols
from polyjudge.paper.ledger import Reproduction, claims, flat, prints, reproduce, settle

REAL = pytest.mark.real_data


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    names = {"data": "run_level_scores.csv", "instances": "instances.jsonl", "labels": "human_labels.csv"}
    return {x: shared_file(f"devai/{file}") for x, file in names.items()}


@pytest.fixture(scope="module")
def found(files: dict[str, Path]) -> Reproduction:
    return reproduce("devai", **files)


@REAL
def test_every_devai_claim_prints(found: Reproduction) -> None:
    rows = found.claims
    assert len(rows) == 339
    assert not found.incomplete
    counts = rows.groupby("verdict").size()
    assert counts.to_dict() == {"prints": 307, "taken over": 22, "needs data": 10}
    lacking = rows[rows["verdict"] == "needs data"]
    assert set(lacking["key"].str.split(" > ").str[0]) == {"cost", "requirement_types"}
    values = rows.set_index("key")["computed"]
    assert values["held_out > methods > cbc > 0"] == pytest.approx(0.902305, abs=1e-6)
    assert values["decisions > raw > accuracy"] == 0.68475
    assert values["rank_reversal > reversing_pairs"] == 7
    assert values["bound > radius"] == pytest.approx(9.959, abs=1e-3)


@REAL
def test_the_claims_are_the_published_numbers() -> None:
    """Every number of published/*.json has its row, printed as it stands there to its own digits."""
    for which in ("devai", "mrewardbench"):
        book = json.loads(shared_file(f"published/{which}.json").read_text())
        wanted = {k: v for k, v in flat(book).items() if isinstance(v, (int, float))}
        rows = claims(which).set_index("key")["printed"]
        assert set(wanted) <= set(rows.index)
        for key, value in wanted.items():
            if rows[key] != "< 0.002":
                assert prints(rows[key], value), key


@REAL
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_claims_hold_on_any_seed(files: dict[str, Path], seed: int) -> None:
    rows = reproduce("devai", data=files["data"], instances=files["instances"], seed=seed).claims
    assert rows[rows["verdict"] == "differs"]["key"].tolist() == []
    own = rows.set_index("key")["computed"]["held_out > methods > cbc > 0"]
    assert own != pytest.approx(0.902305, abs=1e-6)


def exchange_judges(table: pd.DataFrame) -> pd.DataFrame:
    return table.replace({"backbone": {"GPT-4o": "Qwen", "Qwen": "GPT-4o"}})


def move_a_cell(table: pd.DataFrame) -> pd.DataFrame:
    here = (table["backbone"] == "Sonnet") & (table["language"] == "Hindi")
    return table.assign(score=table["score"].where(~here, (table["score"] + 3).clip(upper=100)))


def shuffle_tasks(table: pd.DataFrame) -> pd.DataFrame:
    here = ((table["backbone"] == "Gemini") & (table["language"] == "Arabic")).to_numpy()
    score = table["score"].to_numpy(copy=True)
    score[here] = np.random.default_rng(0).permutation(score[here])
    return table.assign(score=score)


@REAL
@pytest.mark.parametrize(
    ("change", "turned"),
    [
        (exchange_judges, {"beta_hat", "rank_reversal", "held_out", "ablation_judges"}),
        (move_a_cell, {"beta_hat", "held_out", "fit"}),
        (shuffle_tasks, {"held_out", "fit", "ablation_tasks"}),
    ],
)
def test_a_changed_file_turns_the_claims(
    files: dict[str, Path], tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame], turned: set[str]
) -> None:
    path = tmp_path / "changed.csv"
    change(pd.read_csv(files["data"])).to_csv(path, index=False)
    result = reproduce("devai", data=path)
    rows = result.claims[result.claims["verdict"] == "differs"]
    assert result.incomplete
    assert result.findings[0].severity == "serious"
    assert turned - {"ablation_judges"} <= set(rows["key"].str.split(" > ").str[0])
    if change is shuffle_tasks:  # means of cells stay as they are
        assert not rows["key"].str.startswith("beta_hat").any()


@REAL
def test_people_and_judges_on_devai(found: Reproduction) -> None:
    """METHODS 16, 10: the panel's mean hardly goes with people's labels, nor the judges with each other."""
    text = next(f.text for f in found.findings if f.key == "people")
    assert "165 pieces of work" in text
    assert "0.03 [-0.19, 0.21]" in text


@REAL
def test_the_report_shows_every_claim(found: Reproduction) -> None:
    report = found.report()
    assert len(report.tables[0].frame) == 339
    assert "2 of them are not what they are taken for" in found.findings[0].text
    assert found.to_dict()["claims"][0]["printed"] == "55"


# --- verdicts ---


def test_a_number_prints_within_half_a_unit_of_its_last_digit() -> None:
    for printed, value, verdict in (
        ("0.902", 0.90249, True),
        ("0.902", 0.90251, False),
        ("52", 52, True),
        ("9.7e-8", 9.74e-8, True),
        ("9.7e-8", 9.76e-8, False),
        ("-20.61", -20.6058, True),
        ("< 0.002", "< 0.002", True),
        ("English", "Hindi", False),
        ("none", 0.0, False),
        ("1.000", float("nan"), False),
    ):
        assert prints(printed, value) is verdict, (printed, value)
    assert prints("0.902", 0.91, scatter=0.002)
    assert not prints("0.902", 0.92, scatter=0.002)


def test_settling_claims() -> None:
    table = claims("devai").iloc[:3]
    rows = settle(table, {table["key"][0]: 55, table["key"][1]: "Hindi"})
    assert rows["verdict"].tolist() == ["prints", "differs", "needs data"]
    # scatter counts with own draws alone
    random = claims("devai")
    random = random[random["key"] == "held_out > methods > cbc > 0"]
    assert settle(random, {"held_out > methods > cbc > 0": 0.905})["verdict"].tolist() == ["differs"]
    assert settle(random, {"held_out > methods > cbc > 0": 0.905}, seed=3)["verdict"].tolist() == ["prints"]


def test_every_claim_is_whole() -> None:
    both = pd.concat([claims(x).assign(which=x) for x in ("devai", "mrewardbench")])
    assert both.groupby("which").size().to_dict() == {"devai": 339, "mrewardbench": 177}
    assert not both.duplicated(["which", "key"]).any()
    assert both[["place", "name", "printed", "kind"]].ne("").all(axis=None)
    assert set(both["kind"]) == {"reproduced", "identity", "artefact", "reported", "setting", "label"}


# --- what is refused ---


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--data"):
        reproduce("devai")
    with pytest.raises(UsageError, match="devai and mrewardbench"):
        reproduce("gemba")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="M-RewardBench"):
        reproduce("devai", data=tmp_path / "x", anchor=tmp_path / "y")
    with pytest.raises(UsageError, match="--instances"):
        reproduce("devai", data=tmp_path / "x", judgments=tmp_path / "y")
    with pytest.raises(UsageError, match="DevAI"):
        reproduce("mrewardbench", labels=tmp_path / "x")
    with pytest.raises(UsageError, match="seed"):
        reproduce("mrewardbench", seed=-1)
    with pytest.raises(PanelError, match="no file"):
        reproduce("devai", data=tmp_path / "absent.csv")


@REAL
@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda t: t.rename(columns={"backbone": "judge"}), "no column backbone"),
        (lambda t: t.iloc[:-1], "7,919"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "stand twice"),
        (lambda t: t.assign(score=t["score"].where(t.index != 5, 1e9)), "outside 0 to 100"),
        (lambda t: t.assign(language=t["language"].replace("Hindi", "Urdu")), "Urdu"),
    ],
)
def test_another_file_is_refused(files: dict[str, Path], tmp_path: Path, spoil: Any, word: str) -> None:
    path = tmp_path / "x.csv"
    spoil(pd.read_csv(files["data"])).to_csv(path, index=False)
    with pytest.raises(PanelError, match=word):
        reproduce("devai", data=path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"\x00" * 100, b'a,b\n"1,2\n'])
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    for which in ("devai", "mrewardbench"):
        with pytest.raises(PanelError, match=r"x\.csv"):
            reproduce(which, data=path)  # type: ignore[arg-type]


# --- requirements ---


@REAL
def test_types_of_requirements(files: dict[str, Path]) -> None:
    types = devai.read_types(files["instances"])
    assert len(types) == 365
    counts = devai._counts(types)
    assert counts["operational"] == {"requirements": 82, "tasks": 54, "data_loading": 62, "training": 20}
    assert counts["semantic"]["requirements"] == 114


@REAL
def test_verdicts_on_requirements_give_the_ablation(files: dict[str, Path], tmp_path: Path) -> None:
    """Made-up verdicts in the authors' folders: they must give the released scores, and then the taus of each slice."""
    runs = devai.read_runs(files["data"])
    types = devai.read_types(files["instances"])
    rng = np.random.default_rng(0)
    rows = [
        (task, language, judge, framework, r, int(rng.random() < 0.3 + 0.4 * (judge == "Gemini")))
        for task, r in types
        for language in devai.LANGUAGES
        for judge in devai.JUDGES
        for framework in devai.FRAMEWORKS
    ]
    columns = ["task", "language", "backbone", "framework", "requirement_id", "satisfied"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "verdicts.csv", index=False)
    found = reproduce("devai", **{**files, "judgments": tmp_path / "verdicts.csv"}).claims.set_index("key")
    taus = [found["computed"][f"requirement_types > {g} > {x}"] for g in devai.TYPES for x in ("raw", "cbc")]
    semantic = [types[t, r] in devai.TYPES["semantic"] for t, r in types]
    judged = pd.DataFrame(rows, columns=columns)
    judged = judged[
        [types[t, r] in devai.TYPES["semantic"] for t, r in zip(judged["task"], judged["requirement_id"], strict=True)]
    ]
    means = judged.groupby(["task", "language", "backbone"])["satisfied"].mean().unstack(["language", "backbone"])
    array = np.array([[means[x, b].to_numpy() for b in devai.JUDGES] for x in devai.LANGUAGES]).transpose(2, 0, 1) * 100
    assert len(array) == 51 < sum(semantic)
    s = cbc.split(array, protocols.draws(51, 200, 9), tiny=1e-7)
    assert taus[2:] == pytest.approx([x.mean() for x in list(cbc.held_out(s).values())[:2]])
    folder = tmp_path / "folder"
    for judge, model in zip(devai.JUDGES, devai.FOLDERS, strict=True):
        place = folder / model / "English" / "MetaGPT" / "gray_box"
        place.mkdir(parents=True)
        stats = [{"requirement_index": 0, "satisfied": judge == "Qwen"}]
        (place / "one.json").write_text(json.dumps({"name": runs.tasks[0], "judge_stats": stats}))
    with pytest.raises(PanelError, match="do not give the released score"):
        devai.read_judgments(folder, runs)
    (place / "one.json").write_text("{}")
    with pytest.raises(PanelError, match="not a run"):
        devai.read_judgments(folder, runs)


def test_requirements_read_off_scores() -> None:
    scores = np.array([[100 / 3, 200 / 3, 0], [25, 50, 100], [0, 100, 0]])
    assert devai.requirements_behind(scores) == 3 + 4 + 1


def test_the_ledger_names_what_differs() -> None:
    table = claims("devai").iloc[:3]
    findings = ledger._verdicts(settle(table, {"panel > tasks": 54}))
    assert findings[0].text == "1 do not print as published: tasks (Section 5.1)."
