"""`paper reproduce`: every claim prints from the released files, on any seed, and turns when they are changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from common import shared_file
from polyjudge import cbc
from polyjudge.base.errors import PanelError, PolyjudgeError
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
    assert counts.to_dict() == {"reproduced": 307, "taken over": 22, "needs data": 10}
    lacking = rows[rows["verdict"] == "needs data"]
    assert set(lacking["key"].str.split(" > ").str[0]) == {"cost", "requirement_types"}
    values = rows.set_index("key")["computed"]
    assert values["held_out > methods > cbc > 0"] == pytest.approx(0.902305, abs=1e-6)
    assert values["decisions > raw > accuracy"] == pytest.approx(0.68475, rel=1e-9)
    assert values["rank_reversal > reversing_pairs"] == 7
    assert values["bound > radius"] == pytest.approx(9.959, abs=1e-3)


@REAL
def test_the_claims_are_the_published_numbers() -> None:
    """Every number of published/*.json has its row."""
    for which in ("devai", "mrewardbench"):
        book = json.loads(shared_file(f"published/{which}.json").read_text())
        wanted = {k: v for k, v in flat(book).items() if isinstance(v, (int, float))}
        rows = claims(which).set_index("key")["printed"]
        assert set(wanted) <= set(rows.index)
        for key, value in wanted.items():
            if rows[key] != "< 0.002":
                assert prints(rows[key], value), key


@REAL
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
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
    assert result.incomplete and result.findings[0].severity == "serious"  # noqa: PT018
    assert turned - {"ablation_judges"} <= set(rows["key"].str.split(" > ").str[0])
    if change is shuffle_tasks:  # means of cells stay as they are
        assert not rows["key"].str.startswith("beta_hat").any()


@REAL
def test_what_is_said(found: Reproduction) -> None:
    """METHODS 16, 10: the panel's mean hardly goes with people's labels, nor the judges with each other."""
    texts = {f.key: f.text for f in found.findings}
    assert "All 228 published numbers" in texts["claims"]
    assert "Over 165 pieces of work the panel's mean has a correlation of 0.03 [-0.19, 0.21]" in texts["people"]
    assert len(found.report().tables[0].frame) == 339
    told = found.claims["kind"].isin(["reproduced", "artefact"]) & (found.claims["verdict"] == "reproduced")
    other = reproduce("mrewardbench", anchor=shared_file("mrewardbench/human_anchor_sample.csv")).claims
    told_there = other["kind"].isin(["reproduced", "artefact"]) & (other["verdict"] == "reproduced")
    page = (Path(__file__).parents[2] / "docs" / "paper.md").read_text()
    assert f"Of {len(told) + len(other)} published values {told.sum() + told_there.sum()} are computed" in page


@REAL
def test_one_printed_digit_changed_is_caught(found: Reproduction) -> None:
    """For every row that is computed: another last digit, or another name, differs."""
    computed = dict(zip(found.claims["key"], found.claims["computed"], strict=True))
    rows = claims("devai")
    is_computed = np.array([computed[key] is not None for key in rows["key"]])
    rows = rows[is_computed & (rows["kind"] != "setting").to_numpy()]
    changed = rows.assign(printed=[another_last_digit(printed) for printed in rows["printed"]])
    verdicts = settle(changed, computed).set_index("key")["verdict"]
    assert len(verdicts) == 307
    assert verdicts[verdicts != "differs"].index.tolist() == []


@REAL
def test_one_digit_of_the_other_panel_changed_is_caught() -> None:
    rows = reproduce("mrewardbench", anchor=shared_file("mrewardbench/human_anchor_sample.csv")).claims
    rows = rows[(rows["verdict"] == "reproduced") & ~rows["key"].str.startswith("judge_aware_btl")]
    assert len(rows) == 89
    for printed, value in zip(rows["printed"], rows["computed"], strict=True):
        assert prints(printed, value)
        assert not prints(another_last_digit(printed), value), printed


def another_last_digit(printed: str) -> str:
    """A printed value with its last digit turned two further, or a name with a letter more."""
    try:
        float(printed)
    except ValueError:
        return f"{printed}x"
    mantissa, e, exponent = printed.partition("e")
    digit = int(mantissa[-1])
    return f"{mantissa[:-1]}{digit + 2 if digit < 8 else digit - 2}{e}{exponent}"


@REAL
def test_the_released_file_is_told_by_its_checksum(files: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_bytes(files["data"].read_bytes() + b"\n")
    assert not devai.is_another_file(files["data"])
    assert [f.key for f in reproduce("devai", data=copy).findings if f.key == "checksum"] == ["checksum"]


def test_words_on_the_anchor_follow_from_the_ties_that_were_counted() -> None:
    row = {"language": "all", "rows": 700, "ties": 64, "turned": 64, "counted": 55, "moved": 0, "changed": 0}
    cases = {
        "is rounding, and retracted": {"raw_published": 481, "cbc_published": 536, "raw": 481, "cbc": 481},
        "does not come from ties": {"raw_published": 481, "cbc_published": 679, "raw": 481, "cbc": 679},
        "comes in part from ties": {"raw_published": 481, "cbc_published": 679, "raw": 481, "cbc": 624},
    }
    for words, numbers in cases.items():
        text = ledger._retracted(pd.DataFrame([row | numbers])).text
        assert words in text
        assert f"{numbers['raw']} and {numbers['cbc']}." in text


# --- verdicts ---


def test_a_number_prints_within_half_a_unit_of_its_last_digit() -> None:
    good = {"0.902": 0.90249, "52": 52, "9.7e-8": 9.74e-8, "-20.61": -20.6058, "< 0.002": "< 0.002"}
    bad = {"0.902": 0.90251, "9.7e-8": 9.76e-8, "English": "Hindi", "none": 0.0, "1.000": float("nan")}
    assert all(prints(x, value) for x, value in good.items())
    assert not any(prints(x, value) for x, value in bad.items())
    assert prints("0.902", 0.91, scatter=0.002)
    assert not prints("0.902", 0.92, scatter=0.002)


def test_settling_claims() -> None:
    table = claims("devai").iloc[:3]
    rows = settle(table, {table["key"][0]: 55, table["key"][1]: "Hindi"})
    assert rows["verdict"].tolist() == ["reproduced", "differs", "needs data"]
    assert ledger._verdicts(rows)[0].text == "1 differs from the published number: language 1 (Section 5.1)."
    # scatter counts with own draws alone
    random = claims("devai")
    random = random[random["key"] == "held_out > methods > cbc > 0"]
    assert settle(random, {"held_out > methods > cbc > 0": 0.905})["verdict"].tolist() == ["differs"]
    assert settle(random, {"held_out > methods > cbc > 0": 0.905}, seed=3)["verdict"].tolist() == ["reproduced"]


def test_every_claim_is_whole() -> None:
    both = pd.concat([claims(x).assign(which=x) for x in ("devai", "mrewardbench")])
    assert both.groupby("which").size().to_dict() == {"devai": 339, "mrewardbench": 177}
    assert not both.duplicated(["which", "key"]).any()
    assert both[["place", "name", "printed", "kind"]].ne("").all(axis=None)
    assert set(both["kind"]) == {"reproduced", "identity", "artefact", "reported", "setting", "label"}


# --- what is refused ---


@pytest.mark.parametrize(
    ("which", "given", "word"),
    [
        ("devai", (), "--data"),
        ("gemba", (), "devai and mrewardbench"),
        ("devai", ("data", "anchor"), "M-RewardBench"),
        ("devai", ("data", "judgments"), "--instances"),
        ("mrewardbench", ("labels",), "DevAI"),
        ("devai", ("data",), "no file"),
    ],
)
def test_wrong_arguments_are_refused(which: Any, given: tuple[str, ...], word: str) -> None:
    with pytest.raises(PolyjudgeError, match=word):
        reproduce(which, **{x: Path("absent.csv") for x in given})
    with pytest.raises(PolyjudgeError, match="seed"):
        reproduce(which if which != "gemba" else "devai", seed=-1)


@REAL
@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda t: t.rename(columns={"backbone": "judge"}), "no column backbone"),
        (lambda t: t.iloc[:-1], "7,919"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "appear twice"),
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
    judged = pd.DataFrame([x for x in rows if types[x[0], x[4]] in devai.TYPES["semantic"]], columns=columns)
    means = judged.groupby(["task", "language", "backbone"])["satisfied"].mean().unstack(["language", "backbone"])
    array = np.array([[means[x, b].to_numpy() for b in devai.JUDGES] for x in devai.LANGUAGES]).transpose(2, 0, 1) * 100
    assert len(array) == 51
    s = cbc.split(array, protocols.draws(51, 200, 9), tiny=1e-7)
    assert taus[2:] == pytest.approx([x.mean() for x in list(cbc.held_out(s).values())[:2]])
    for judge, model in zip(devai.JUDGES, devai.FOLDERS, strict=True):
        place = tmp_path / model / "English" / "MetaGPT" / "gray_box"
        place.mkdir(parents=True)
        stats = [{"requirement_index": 0, "satisfied": judge == "Qwen"}]
        (place / "one.json").write_text(json.dumps({"name": runs.tasks[0], "judge_stats": stats}))
    for content, word in ((json.dumps({"judge_stats": []}), "do not give the released score"), ("{}", "not a run")):
        (place / "one.json").write_text(content)
        with pytest.raises(PanelError, match=word):
            devai.read_judgments(tmp_path, runs)


def test_requirements_read_off_scores() -> None:
    scores = np.array([[100 / 3, 200 / 3, 0], [25, 50, 100], [0, 100, 0]])
    assert devai.requirements_behind(scores) == 3 + 4 + 1
