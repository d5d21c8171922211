"""Readings that once gave wrong numbers without a word: each is read right now, or asked about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.questions.audit.explanation import without_cells
from polyjudge.second.read.formats.excel import write_excel
from refusals import refused

COLUMNS = ["task", "language", "judge", "score"]


def frame(tasks: int = 12, judges: tuple[str, ...] = ("ja", "jb", "jc"), top: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        (f"t{t}", lang, j, int(rng.integers(0, top + 1))) for t in range(tasks) for lang in ("en", "de") for j in judges
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def asked(code: str, source: Any, **options: Any) -> dict[str, Any]:
    """The values of the one question that is asked."""
    with pytest.raises(Unclear) as caught:
        pj.read_panel(source, **options)
    (question,) = caught.value.reading.questions
    assert question.code == code
    return dict(question.values)


# --- 1. folders that look like columns ---


@pytest.mark.parametrize("folder", ["score=7", "judge=x", "polyjudge_file=1"])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "json", "parquet"])
def test_no_folder_supplies_a_column(folder: str, kind: str, tmp_path: Path) -> None:
    place = tmp_path / folder
    place.mkdir()
    table = frame()
    if kind.startswith("csv"):
        table.to_csv(place / f"s.{kind}", index=False)
    elif kind == "parquet":
        table.to_parquet(place / "s.parquet", index=False)
    else:
        table.to_json(place / f"s.{kind}", orient="records", lines=kind == "jsonl")
    expected = pj.read_panel(table)
    for source in (place / f"s.{kind}", str(tmp_path / "*" / f"*.{kind}")):
        assert pj.read_panel(source).fingerprint == expected.fingerprint


def test_calibrated_scores_are_not_those_of_a_folder(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "score=7").mkdir()
    frame().to_csv(tmp_path / "score=7" / "s.csv", index=False)
    done = cli("calibrate", str(tmp_path / "score=7" / "s.csv"), "-o", str(tmp_path / "out.csv"))
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "out.csv")["score"].tolist() == frame()["score"].tolist()


# --- 2. and 9. winners ---


def pairs(winner: Any) -> pd.DataFrame:
    """A beats B, C beats both, by position."""
    better = {"A": 1, "B": 0, "C": 2}
    rows = []
    for t in range(4):
        for lang in ("en", "de"):
            for j in ("x", "y"):
                for a, b in (("A", "B"), ("C", "A"), ("B", "C")):
                    rows.append((t, lang, j, a, b, winner(a, b, better[a] > better[b])))
    return pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"])


def test_winners_that_are_names_and_positions_are_asked_about() -> None:
    by_position, by_name = (
        pairs(lambda a, b, first: "A" if first else "B"),
        pairs(lambda a, b, first: a if first else b),
    )
    for table in (by_position, by_name):
        assert set(asked("read.winner", table)["words"]) <= {"A", "B", "C"}
    expected = {"A": 0.0, "B": -1.0, "C": 1.0}
    for table, means in ((by_position, "position"), (by_name, "name")):
        panel = pj.read_panel(table, winner=f"winner:{means}")
        assert panel.system_scores is not None
        got = dict(zip(panel.systems, panel.system_scores.mean(axis=(0, 2, 3)), strict=True))
        assert got == expected
        assert panel.reading is not None
        assert panel.reading.options["--winner"] == f"winner:{means}"


def test_winners_whose_name_is_their_position_are_clear() -> None:
    table = pairs(lambda a, b, first: "A" if first else "B")
    same = table[(table["model_a"] == "A") & (table["model_b"] == "B")]
    assert set(pj.read_panel(same).scores.ravel()) == {1.0}


@pytest.mark.parametrize("turned", [False, True])
def test_both_orders_of_showing_are_kept(turned: bool) -> None:
    """`model_a`, `model_b` and `swapped` with both orders: X always wins; the columns are turned too, or not."""
    rows = []
    for t in range(3):
        for lang in ("en", "de"):
            for j in ("x", "y"):
                for swapped in (False, True):
                    a, b = ("Y", "X") if swapped and turned else ("X", "Y")
                    shown_first = "Y" if swapped else "X"
                    winner = ("A" if a == "X" else "B") if turned else ("A" if shown_first == "X" else "B")
                    rows.append((t, lang, j, a, b, swapped, winner))
    table = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "swapped", "winner"])
    assert asked("read.swapped", table)["column"] == "swapped"
    panel = pj.read_panel(table, swapped="keep" if turned else "flip")
    assert set(panel.replicates) == {"X first", "Y first"}
    assert set(panel.scores.ravel()) == {1.0}


def test_a_winner_by_name_is_never_turned() -> None:
    rows = [(t, lang, j, "X", "Y", t % 2, "X") for t in range(4) for lang in ("en", "de") for j in ("x", "y")]
    table = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "swapped", "winner"])
    for how in (None, "flip", "keep"):
        assert set(pj.read_panel(table, swapped=how).scores[~np.isnan(pj.read_panel(table).scores)].ravel()) == {1.0}


# --- 3. Inspect ---


def graded(folder: Path, systems: tuple[str, ...], scorers: list[Any], name: str = "judging") -> None:
    """Logs that Inspect itself writes: real runs with mock models."""
    pytest.importorskip("inspect_ai")
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import MemoryDataset, Sample

    tasks = []
    for lang in ("en", "de"):
        samples = [Sample(id=f"t{i}", input="?", target="!", metadata={"language": lang}) for i in range(3)]
        tasks.append(Task(dataset=MemoryDataset(samples), scorer=scorers, name=name))
    models = [mock(system, "an answer") for system in systems]
    logs = run(tasks, model=models, log_dir=str(folder), display="none")
    assert [log.status for log in logs] == ["success"] * len(tasks) * len(systems)


def mock(name: str, says: str) -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(*_: Any) -> Any:
        out = ModelOutput.from_content(f"mockllm/{name}", says)
        out.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return out

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


@pytest.mark.usefixtures("read_here")
def test_inspect_graders_that_are_models_are_the_judges(tmp_path: Path) -> None:
    """`model_graded_qa(model=get_model(...))` is logged as a dict."""
    pytest.importorskip("inspect_ai")
    from inspect_ai.scorer import model_graded_qa

    scorers = [model_graded_qa(model=mock("g1", "GRADE: C")), model_graded_qa(model=mock("g2", "GRADE: I"))]
    graded(tmp_path, ("s1", "s2"), scorers)
    panel = pj.read_panel(tmp_path)
    assert set(panel.judges) == {"mockllm/g1", "mockllm/g2"}
    assert set(panel.systems) == {"mockllm/s1", "mockllm/s2"}
    first = panel.select(judges=["mockllm/g1"])
    assert set(first.scores.ravel()) == {1.0}


@pytest.mark.slow
@pytest.mark.usefixtures("read_here")
def test_inspect_scorers_are_judges_and_evaluated_models_are_systems(tmp_path: Path) -> None:
    """Two systems and two custom scorers are two judges, not four."""
    pytest.importorskip("inspect_ai")
    from inspect_ai.scorer import Score, mean, scorer

    def made(name: str, value: float) -> Any:
        @scorer(metrics=[mean()], name=name)
        def build() -> Any:
            async def score(state: Any, target: Any) -> Any:
                return Score(value=value)

            return score

        return build()

    graded(tmp_path / "two", ("s1", "s2"), [made("strict", 0.2), made("mild", 0.8)])
    panel = pj.read_panel(tmp_path / "two")
    assert set(panel.judges) == {"strict", "mild"}
    assert set(panel.systems) == {"mockllm/s1", "mockllm/s2"}
    graded(tmp_path / "one", ("s1", "s2"), [made("strict", 0.2)])
    assert asked("read.lone_model", tmp_path / "one")["column"] == "evaluated_model"
    assert set(pj.read_panel(tmp_path / "one", judge="evaluated_model").judges) == {"mockllm/s1", "mockllm/s2"}


# --- 4. cells that are left out ---


def test_a_dropped_cell_is_missing_by_design() -> None:
    panel = pj.read_panel(frame(20, top=4))
    part = without_cells(panel, [("de", "jb")])
    assert part.n_scores == panel.n_scores - 20
    assert part.lost.sum() == 0
    assert part.range == panel.range
    assert pj.check(part).scale == pj.check(panel).scale == "likert"


# --- 5. scales ---


@pytest.mark.parametrize(("factor", "ends"), [(0.01, "0:1"), (2.0, None), (0.1, "0:10")])
def test_a_judge_on_another_scale_is_asked_about(factor: float, ends: str | None) -> None:
    table = frame(30)
    table["score"] = table["score"].astype(float)
    table.loc[table["judge"] == "jb", "score"] *= factor
    values = asked("read.scales", table)
    assert list(values["judges"]) == ["jb"]
    assert values["range"] == "0:100"
    ends = ends or f"0:{200}"
    if factor < 1:
        assert values["rescale"] == {"jb": ends}
    low, high = map(float, ends.split(":"))
    panel = pj.read_panel(table, range=(0, 100), rescale={"jb": (low, high)})
    plain = pj.read_panel(frame(30), range=(0, 100))
    np.testing.assert_allclose(panel.scores, plain.scores)
    assert pj.read_panel(table, range=(0, 200)).range == (0, 200)


def test_a_harsh_judge_is_on_the_same_scale() -> None:
    rng = np.random.default_rng(3)
    scores = np.clip(rng.normal([[70], [50]], 20, (200, 1, 2, 1)) + rng.normal(0, 9, (200, 2, 2, 3)), 0, 100)
    scores[..., 1] = np.clip(scores[..., 1] - 25, 0, 100)
    panel = pj.Panel.from_array(scores, systems=("a", "b"))
    assert pj.read_panel(panel.to_long()).n_scores == 2400


def test_rescaled_scores_are_written_back(tmp_path: Path, cli: Any) -> None:
    table = frame(30)
    table["score"] = table["score"] / np.where(table["judge"] == "jb", 100, 1)
    table.to_csv(tmp_path / "mixed.csv", index=False)
    frame(30).to_csv(tmp_path / "plain.csv", index=False)
    for name, more in (("mixed", ("--rescale", "jb=0:1")), ("plain", ())):
        out = str(tmp_path / f"{name}-out.csv")
        done = cli("calibrate", str(tmp_path / f"{name}.csv"), "--range", "0:100", *more, "-o", out)
        assert done.returncode == 0, done.stderr
    got, want = (pd.read_csv(tmp_path / f"{name}-out.csv")["calibrated"] for name in ("mixed", "plain"))
    np.testing.assert_allclose(got, want)
    # The same by a calibrator that was kept, whose scale is the panel's.
    done = cli("calibrate", str(tmp_path / "plain.csv"), "--range", "0:100", "--save", str(tmp_path / "cal.json"))
    assert done.returncode == 0, done.stderr
    scales = ("--range", "0:100", "--rescale", "jb=0:1")
    applied = str(tmp_path / "applied.csv")
    done = cli("apply", str(tmp_path / "cal.json"), str(tmp_path / "mixed.csv"), *scales, "-o", applied)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(pd.read_csv(applied)["calibrated"], want)


# --- 6. pages of an export, lines that are no objects ---


def langfuse(page: int, total: int) -> dict[str, Any]:
    data = [
        {
            "id": f"{page}{t}{lang}{j}", "traceId": t, "name": "q", "dataType": "NUMERIC", "value": 0.5,
            "metadata": {"task": f"{t}-{page}", "language": lang, "judge": j},
        }
        for t in ("t1", "t2") for lang in ("en", "de") for j in ("x", "y")
    ]  # fmt: skip
    return {"data": data, "meta": {"page": page, "limit": 8, "totalItems": 8 * total, "totalPages": total}}


def test_one_page_is_not_the_whole(tmp_path: Path) -> None:
    (tmp_path / "p1.json").write_text(json.dumps(langfuse(1, 2)))
    with refused(PanelError, "p1.json", "1 of 2 pages"):
        pj.read_panel(tmp_path / "p1.json")
    (tmp_path / "p2.json").write_text(json.dumps(langfuse(2, 2)))
    assert pj.read_panel(str(tmp_path / "p*.json")).n_tasks == 4
    both = tmp_path / "pages.jsonl"
    both.write_text(json.dumps(langfuse(1, 2)) + "\n" + json.dumps(langfuse(2, 2)) + "\n")
    assert pj.read_panel(both).n_tasks == 4
    both.write_text(json.dumps(langfuse(1, 3)) + "\n" + json.dumps(langfuse(2, 3)) + "\n")
    with refused(PanelError, "pages.jsonl", "2 of 3 pages"):
        pj.read_panel(both)


@pytest.mark.parametrize("mark", [{"has_more": True}, {"next_cursor": "abc"}])
@pytest.mark.parametrize("kind", ["openai", "phoenix", "plain"])
def test_a_page_that_is_not_the_last_is_refused(mark: dict[str, Any], kind: str, tmp_path: Path) -> None:
    record: dict[str, Any] = {
        "openai": {"object": "eval.run.output_item", "datasource_item": {"task": "t", "language": "en"}, "results": []},
        "phoenix": {"annotator_kind": "LLM", "name": "q", "result": {"score": 1}, "metadata": {"task": "t"}},
        "plain": dict(zip(COLUMNS, ("t", "en", "j", 1), strict=True)),
    }[kind]
    (tmp_path / "e.json").write_text(json.dumps({"object": "list", "data": [record], **mark}))
    with refused(PanelError, "e.json", "page"):
        pj.read_panel(tmp_path / "e.json")


def test_lines_that_are_no_objects_are_not_dropped(tmp_path: Path) -> None:
    trace = {"info": {"trace_id": "a", "assessments": []}}
    (tmp_path / "m.jsonl").write_text(json.dumps(trace) + "\n[1, 2]\n")
    with refused(PanelError, "m.jsonl", "line 2"):
        pj.read_panel(tmp_path / "m.jsonl")


# --- 7. identifiers ---


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "csv"])
def test_whole_numbers_are_the_same_labels_from_every_file(kind: str, tmp_path: Path) -> None:
    table = frame().assign(task=lambda f: f["task"].str[1:].astype(float))
    if kind == "xlsx":
        write_excel(tmp_path / "s.xlsx", COLUMNS, [list(table.itertuples(index=False, name=None))])
    elif kind == "parquet":
        table.to_parquet(tmp_path / "s.parquet", index=False)
    else:
        table.astype({"task": int}).to_csv(tmp_path / "s.csv", index=False)
    for source in (tmp_path / f"s.{kind}", table):
        assert pj.read_panel(source).tasks == tuple(map(str, range(12)))


def test_identifiers_whose_digits_are_lost_are_refused(tmp_path: Path) -> None:
    table = frame().assign(task=lambda f: 2**53 + f["task"].str[1:].astype(int))
    assert pj.read_panel(table).n_tasks == 12
    as_float = table.astype({"task": float})
    assert as_float["task"].nunique() < 12
    as_float.to_parquet(tmp_path / "s.parquet", index=False)
    for source in (as_float, tmp_path / "s.parquet"):
        with refused(PanelError, "task", "2^53"):
            pj.read_panel(source)


@pytest.mark.parametrize("text", ["1_10", "1_0.5", "2_2e1"])
def test_underscores_are_no_part_of_a_number(text: str, tmp_path: Path) -> None:
    table = frame().astype({"score": str})
    table.loc[3, "score"] = text
    table.to_csv(tmp_path / "s.csv", index=False)
    for source in (table, tmp_path / "s.csv"):
        with refused(PanelError, text):
            pj.read_panel(source)


# --- 8. labels in two spellings ---


@pytest.mark.parametrize("other", ["Re\u0301my", "Ré\u200bmy", "rémy", "Rémy "])
@pytest.mark.parametrize("axis", ["judge", "language", "system"])
def test_spellings_of_one_label_are_asked_about(axis: str, other: str) -> None:
    table = frame(6, ("Rémy", "jb")) if axis == "judge" else frame(6)
    if axis == "language":
        table["language"] = table["language"].replace({"de": "Rémy"})
    if axis == "system":
        table = pd.concat([table.assign(system=s) for s in ("Rémy", "b")])
    table = table.reset_index(drop=True)
    at = (table[axis] == "Rémy") & table["task"].isin(["t1", "t2"])
    torn = table.copy()
    torn.loc[at, axis] = other
    assert asked("read.alike", torn)["axis"] == axis
    assert pj.read_panel(torn, alike="same").fingerprint == pj.read_panel(table).fingerprint
    assert other in getattr(pj.read_panel(torn, alike="different"), f"{axis}s")


def test_tasks_that_look_the_same_are_asked_about() -> None:
    table = frame(4).assign(task=lambda f: "é" + f["task"])
    torn = table.copy()
    torn.loc[torn["language"] == "de", "task"] = "e\u0301" + torn["task"].str[1:]
    assert asked("read.alike", torn)["axis"] == "task"
    assert pj.read_panel(torn, alike="same").fingerprint == pj.read_panel(table).fingerprint
    torn = table.assign(task=table["task"].where(table["language"] == "en", table["task"].str.upper()))
    assert asked("read.alike", torn)["axis"] == "task"
    assert pj.read_panel(torn, alike="different").n_tasks == 8
    both = pd.concat([table, table.assign(task=table["task"].str.upper())])  # identifiers may differ in case
    assert pj.read_panel(both).n_tasks == 8
