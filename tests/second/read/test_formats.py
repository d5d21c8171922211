"""Every shape and every tool's files give the panel that is in them, with at most one flag, and say how."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from fixtures import make_tools
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.read.formats import readers
from polyjudge.second.read.formats.values import ABSENT, NO, YES
from refusals import lacks, refused
from user_files import KEYS, MAKERS, long

ROOT = Path(__file__).parents[2]
TOOL_FILES = ROOT / "tests" / "fixtures" / "tools"
FLAGS = {"--map": "map", "--swapped": "swapped", "--language-from": "language_from", "--judge-from": "judge_from"}


def documented() -> dict[str, list[str]]:
    """The commands of the table in docs/read.md: file -> flags."""
    out = {}
    for command in re.findall(r"^\|.*`polyjudge check ([^`]+)` *\|", (ROOT / "docs/read.md").read_text(), re.MULTILINE):
        name, *flags = shlex.split(command)
        out[name] = flags
    return out


def arguments(flags: list[str]) -> dict[str, Any]:
    pairs = zip(flags[::2], flags[1::2], strict=True)
    out: dict[str, Any] = {FLAGS.get(flag, flag.removeprefix("--")): value for flag, value in pairs}
    return out | ({"judges": out["judges"].split(",")} if "judges" in out else {})


def means(panel: pj.Panel) -> pd.DataFrame:
    frame = panel.to_long()
    return frame.groupby(KEYS)["score"].mean().sort_index()


def same(panel: pj.Panel, expected: pd.DataFrame) -> None:
    want = expected.groupby(KEYS)["score"].mean().sort_index().astype(float)
    pd.testing.assert_series_equal(means(panel), want, check_index_type=False, rtol=1e-12)


# --- the files of a new user ---


def test_every_shape_is_documented_with_at_most_one_flag() -> None:
    known = documented()
    assert set(MAKERS) <= set(known)
    assert len(MAKERS) >= 20
    assert all(len(flags) <= 2 for name, flags in known.items() if name in MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_users_file(name: str, tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = MAKERS[name](tmp_path)
    flags = documented()[name]
    panel = pj.read_panel(name, **arguments(flags))
    same(panel, expected)
    assert panel.reading is not None
    assert {r.role for r in panel.reading.roles} >= {"task", "language", "judge", "score"}
    told = panel.reading.to_dict()
    if flags or name == "long.csv":  # without flags the command reads as the function does
        done = cli("check", name, *flags, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reading"] == told
    # The command it gives reads the same panel again with nothing left to guess.
    _, _, source, *all_flags = shlex.split(told["command"])
    assert pj.read_panel(source, **arguments(all_flags)).fingerprint == panel.fingerprint


def test_standard_input(tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("european.csv", "nested.jsonl", "scores.parquet"):
        expected = MAKERS[name](tmp_path)
        command = ["check", "-", "--json", *documented()[name]]
        with (tmp_path / name).open("rb") as file:
            if name == "european.csv":  # a stream from outside
                out = subprocess.run(
                    [sys.executable, "-m", "polyjudge", *command], stdin=file, capture_output=True, check=True
                ).stdout
            else:
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
                out = cli(*command).stdout
        told = json.loads(out)
        assert (told["tasks"], told["scores"]) == (5, len(expected))
        assert told["reading"]["source"] == "-"


# --- what is read as what ---


def read(tmp_path: Path, text: str, name: str = "s.csv", **options: Any) -> pj.Panel:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return pj.read_panel(path, **options)


def table(values: list[str], head: str = "task,language,judge,score", sep: str = ",") -> str:
    keys = [(t, lang, j) for t in "ab" for lang in ("en", "de") for j in "xy"]
    lines = [sep.join([*k, v]) for k, v in zip(keys, values, strict=True)]
    return "\n".join([head.replace(",", sep), *lines]) + "\n"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (["1"] * 7 + ["good"], ("line 9", "good", "--map 'good=NUMBER'")),
        (["pass"] * 7 + ["3.5"], ("line 2", "pass", "--map 'pass=NUMBER'")),
        (["50%"] * 7 + ["50"], ("percent", 1)),
        (["A"] * 4 + ["B"] * 4, (8, "line 2", "A", "--map 'A=NUMBER,B=NUMBER'")),
    ],
)
def test_a_doubtful_value_is_asked_for(tmp_path: Path, values: list[str], named: tuple[object, ...]) -> None:
    with refused(PanelError, "s.csv", *named):
        read(tmp_path, table(values))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (["8/10"] * 7 + ["4/5"], (5, 10)),
        (["8/10"] * 7 + ["8"], (7, "(/10)", 1)),
        (["12/10"] * 8, ("0:10", "line 2", 12, "--range")),
    ],
)
def test_what_scores_are_out_of_must_agree(tmp_path: Path, values: list[str], named: tuple[object, ...]) -> None:
    with refused(PanelError, "s.csv", *named):
        read(tmp_path, table(values))


def test_numbers_inside_text_are_not_asked_for_one_by_one(tmp_path: Path) -> None:
    rows = [f"{t},{lang},{j},{i}.5 pts" for i, t in enumerate(range(9)) for lang in ("en", "de") for j in "xy"]
    text = "task,language,judge,score\n" + "\n".join(f"{row}{k}" for k, row in enumerate(rows))
    with refused(PanelError, "s.csv", "score", 36, "line 2", "0.5 pts0", "--score"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("s.txt", b"task language  judge  score\na en x 1\n", ("task language judge score", "commas")),
        ("s.zip", b"PK\x03\x04 and more", ("zip",)),
        ("s.json", b'{"en": {"x": [1, 2]}, "de": {"x": [1, 2]}}', ("en, de, ...", '"task": ...')),
        ("s.csv", b"task,en,en\n,x,y\na,1,2\n", ("en", "two", "en_gpt")),
        ("s.csv", b"task,language,judge,score\na,en,x\n", ("line 2", 3, 4)),
        (
            "s.csv",
            b"# note\n# more\ntask,language,judge,score\na,en,x,1\na,de,x,bad\n",
            ("line 5", "bad", "--map 'bad=NUMBER'"),
        ),
    ],
)
def test_files_that_cannot_be_read_say_what_to_do(
    tmp_path: Path, name: str, content: bytes, named: tuple[object, ...]
) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(PanelError, name, *named):
        pj.read_panel(tmp_path / name)


def test_lines_above_the_header_are_said(tmp_path: Path) -> None:
    MAKERS["commented.csv"](tmp_path)
    (note,) = pj.read_panel(tmp_path / "commented.csv").notes
    assert not lacks(str(note), 3, "# made by runner 2.1")
    # A comment inside is a row like any other, and so is a first line that has the table's own width.
    with refused(PanelError, "s.csv", "line 10", 1, 4):
        read(tmp_path, table(["1"] * 8) + "# end\n")


def test_a_number_for_no_score_is_asked_about(tmp_path: Path) -> None:
    MAKERS["no_score_number.csv"](tmp_path)
    panel = pj.read_panel(tmp_path / "no_score_number.csv")
    assert panel.reading is not None
    assert [(d.code, d.values["value"], d.values["count"]) for d in panel.reading.doubts] == [("read.stand_in", -1, 2)]
    assert "--map -1=" in str(panel.notes[-1])
    for values in (["-1", "0", "1", "0"] * 2, ["-3", "-1", "4", "0"] * 2, ["70", "80", "99", "95"] * 2):
        quiet = read(tmp_path, table(values)).reading
        assert quiet is not None
        assert not quiet.doubts
    far = read(tmp_path, table(["1", "2", "999", "4"] * 2)).reading
    assert far is not None
    assert [d.values["value"] for d in far.doubts] == [999]


def test_summaries_and_labels_are_no_judges_unless_asked(tmp_path: Path) -> None:
    MAKERS["score_columns.csv"](tmp_path)
    panel = pj.read_panel(tmp_path / "score_columns.csv")
    assert "mean" not in panel.judges
    assert panel.notes[0].values["columns"] == ["score_mean"]  # type: ignore[union-attr]
    assert "mean" in pj.read_panel(tmp_path / "score_columns.csv", wide="score_{judge}").judges


def test_one_pattern_may_name_language_and_judge(tmp_path: Path) -> None:
    expected = MAKERS["by_both/*.csv"](tmp_path)
    for flag in ("language_from", "judge_from"):
        same(pj.read_panel(f"{tmp_path}/by_both/*.csv", **{flag: "{judge}_{language}.csv"}), expected)
    with refused(UsageError, "--judge-from", "{language}.csv", "{judge}"):
        pj.read_panel(f"{tmp_path}/by_both/*.csv", judge_from="{language}.csv")


def test_commas_that_may_divide_thousands_are_asked_for(tmp_path: Path) -> None:
    text = table(["1,234", "2,345"] * 4, sep=";")
    with refused(PanelError, "s.csv", "--decimal comma"):
        read(tmp_path, text)
    assert read(tmp_path, text, decimal="comma").range == (1.234, 2.345)
    assert read(tmp_path, table(["1,234", "0,5"] * 4, sep=";")).range == (0.5, 1.234)
    with refused(PanelError, "s.csv", 4, "comma"):
        read(tmp_path, table(["1,5", "2.5"] * 4, sep=";"))


def test_a_map_names_values_and_what_is_missing(tmp_path: Path) -> None:
    panel = read(tmp_path, table(["good", "Bad", "skip", "good"] * 2), map={"good": 1, "bad": 0, "skip": None})
    assert panel.declared_range == (0, 1)
    assert int(np.isnan(panel.scores).sum()) == 2
    assert panel.reading is not None
    assert panel.reading.values["missing_words"] == {"skip": 2}
    with refused(UsageError, "--map", "good", "best"):
        read(tmp_path, table(["good"] * 8), map="good=best")


def test_words_for_yes_no_and_nothing_do_not_overlap() -> None:
    assert len(YES) + len(NO) + len(ABSENT) == len(YES | NO | ABSENT)


def test_all_missing_roles_are_named_at_once_with_candidates(tmp_path: Path) -> None:
    text = "what,who,tongue,number\n" + "".join(
        f"{t},{j},{lang},{i * 7 % 5}\n"
        for i, (t, j, lang) in enumerate((t, j, g) for t in "abc" for j in "xy" for g in "pq")
    )
    with pytest.raises(Unclear) as caught:
        read(tmp_path, text)
    asked = {q.values["role"]: q.values for q in caught.value.reading.questions}
    assert set(asked) == {"task", "language", "judge", "score"}
    assert "who" in asked["judge"]["candidates"]
    assert not lacks(str(caught.value), "s.csv", "--task what", "--language", "--judge who", "--score number")


def test_a_lone_model_is_asked_about(tmp_path: Path, cli: Any) -> None:
    MAKERS["lone_model.csv"](tmp_path)
    with pytest.raises(Unclear) as caught:
        pj.read_panel(tmp_path / "lone_model.csv")
    assert [q.code for q in caught.value.reading.questions] == ["read.lone_model"]
    done = cli("check", tmp_path / "lone_model.csv", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["findings"][0]["code"] == "read.lone_model"


def test_a_column_of_far_larger_numbers_is_no_judge_without_asking(tmp_path: Path) -> None:
    wide = long().pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    wide.assign(size=range(90_000, 90_000 + len(wide))).to_csv(tmp_path / "s.csv", index=False)
    with refused(Unclear, "s.csv", "size", "--wide", "{judge}"):
        pj.read_panel(tmp_path / "s.csv")


def test_numbers_are_not_taken_for_judges_where_the_language_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(Unclear):
        read(tmp_path, "id,a,b\n1,2,3\n2,3,4\n")


def test_several_possible_languages_are_asked_for(tmp_path: Path) -> None:
    text = table(["1"] * 8, "task,source,judge,score").replace("source", "from").splitlines()
    more = [text[0] + ",to", *(line + (",fr" if i % 2 else ",it") for i, line in enumerate(text[1:]))]
    with refused(Unclear, "s.csv", "--language from", "--language to"):
        read(tmp_path, "\n".join(more))


def test_swapped_rows_are_asked_about(tmp_path: Path) -> None:
    expected = MAKERS["swapped.csv"](tmp_path)
    with refused(Unclear, "swapped.csv", "--swapped flip", "--swapped keep"):
        pj.read_panel(tmp_path / "swapped.csv")
    kept = pj.read_panel(tmp_path / "swapped.csv", swapped="keep")
    assert np.nanmean(np.abs(kept.scores)) == 0  # the two orders cancel where they are read as already turned
    same(pj.read_panel(tmp_path / "swapped.csv", swapped="flip"), expected)


def test_winners_among_more_than_two_systems_are_margins_of_each(tmp_path: Path) -> None:
    rows = [
        (t, lang, j, a, b, a)  # the first letter always wins
        for t in ("t1", "t2")
        for lang in ("en", "de")
        for j in ("x", "y")
        for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
    ]
    frame = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"])
    panel = pj.read_panel(frame, winner="winner:name")
    assert panel.systems == ("a", "b", "c")
    assert panel.system_scores is not None
    np.testing.assert_array_equal(panel.system_scores[0, :, 0, 0], [1, 0, -1])


def test_errors_of_a_wide_file_name_its_lines(tmp_path: Path) -> None:
    text = "task,language,a,b\n1,en,1,2\n1,de,3,4\n2,en,1,2\n2,de,3,inf\n"
    with refused(PanelError, "s.csv", "line 5", "inf"):
        read(tmp_path, text)


def test_hostile_names_in_patterns_and_maps(tmp_path: Path) -> None:
    evil = "x'); DROP TABLE spooled; --"
    frame = long().assign(judge=long()["judge"].replace("claude", evil))
    wide = frame.pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    wide.to_csv(tmp_path / "s.csv", index=False)
    same(pj.read_panel(tmp_path / "s.csv"), frame)
    words = table([evil.replace(",", ""), "fine"] * 4)
    panel = read(tmp_path, words, map={evil.replace(",", ""): 1, "fine": 0})
    assert panel.range == (0, 1)


def test_frames_are_recognised_like_files() -> None:
    wide = long().pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    same(pj.read_panel(wide), long())
    nested = pd.DataFrame(
        {"task": long()["task"], "meta": [{"lang": x} for x in long()["language"]], **long()[["judge", "score"]]}
    )
    same(pj.read_panel(nested, language="meta.lang"), long())


# --- eval tools ---

TOOL_SOURCES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "promptfoo": ("promptfoo.json", "promptfoo", {}),
    "deepeval": ("deepeval.json", "deepeval", {}),
    "mlflow": ("mlflow.jsonl", "mlflow", {}),
    "phoenix": ("phoenix.json", "phoenix", {}),
    "langfuse": ("langfuse.json", "langfuse", {}),
    "openai_evals": ("openai_evals.jsonl", "openai-evals", {}),
    "evals": ("evals", "openai-evals", {}),
    "lm_eval": ("lm_eval", "lm-eval", {"judge": "model"}),
    "ragas": ("ragas/*.csv", "ragas", {"judge_from": "{judge}.csv"}),
    "mt_metrics": ("mt_metrics", "mt-metrics-eval", {}),
}


def expected_cells() -> pd.DataFrame:
    return pd.DataFrame(make_tools.cells(), columns=[*KEYS, "score"])


@pytest.mark.parametrize("tool", TOOL_SOURCES)
def test_a_tools_files_give_the_same_panel(tool: str, tmp_path: Path) -> None:
    name, format, flags = TOOL_SOURCES[tool]
    panel = pj.read_panel(str(TOOL_FILES / name), **flags)
    assert panel.reading is not None
    assert panel.reading.format == format
    want = expected_cells()
    if tool in ("lm_eval", "mt_metrics"):  # these count their samples instead of naming them
        start = 0 if tool == "lm_eval" else 1
        want["task"] = want["task"].map({t: str(i + start) for i, t in enumerate(make_tools.TASKS)})
    if tool == "mt_metrics":
        assert panel.systems == ("sysA", "sysB")
        want["score"] += 0.125  # the second system is 0.25 better
        scores = panel.select(sorted(panel.tasks), list(make_tools.LANGUAGES), list(make_tools.JUDGES)).scores
        np.testing.assert_allclose(scores.ravel(), want.sort_values("task", kind="stable")["score"], atol=1e-12)
        return
    same(panel, want)


@pytest.mark.parametrize("tool", make_tools.MAKERS)
def test_the_packages_still_write_these_files(tool: str, tmp_path: Path) -> None:
    """Where a tool's package is installed, the fixture is made again and read again."""
    package, make = make_tools.MAKERS[tool]
    try:
        there = not package or importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        there = False
    if not there or tool == "promptfoo":
        assert (TOOL_FILES / TOOL_SOURCES[tool][0].split("/")[0]).exists()
        return
    make(tmp_path)
    name, _, flags = TOOL_SOURCES[tool]
    again = pj.read_panel(str(tmp_path / name), **flags)
    assert again.fingerprint == pj.read_panel(str(TOOL_FILES / name), **flags).fingerprint


def test_a_named_format_overrides_and_an_unknown_one_lists_them(tmp_path: Path) -> None:
    with refused(UsageError, "nothing", "promptfoo"):
        pj.read_panel(TOOL_FILES / "deepeval.json", format="nothing")
    with refused(PanelError, "promptfoo", "results", "--format"):
        pj.read_panel(TOOL_FILES / "deepeval.json", format="promptfoo")


def test_several_metrics_are_asked_for(tmp_path: Path) -> None:
    run = json.loads((TOOL_FILES / "deepeval.json").read_text())
    for case in run["testCases"]:
        case["metricsData"] += [{**m, "name": "Fluency", "score": 1 - m["score"]} for m in case["metricsData"]]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run))
    with refused(Unclear, "run.json", "--metric 'Fluency'", "--metric 'Quality [GEval]'"):
        pj.read_panel(path)
    same(pj.read_panel(path, metric="Quality [GEval]"), expected_cells())


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ("{}", PanelError, "x.json"),
        ("[]", Unclear, "x.json"),
        ('{"results": {"version": 3, "results": [null]}}', PanelError, "--format"),
        ('{"testCases": [3]}', PanelError, "--format"),
        ("{", PanelError, "x.json"),
    ],
)
def test_broken_tool_files_are_one_paragraph(tmp_path: Path, text: str, kind: type[PanelError], named: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with refused(kind, named) as error:
        pj.read_panel(path)
    assert "\n\n" not in error.message


def test_formats_lists_every_tool(cli: Any) -> None:
    done = cli("check", "--formats", "--json")
    listed = json.loads(done.stdout)
    assert {t["name"] for t in listed["tools"]} == set(readers())
    assert all(t["needs"] and t["reads"] for t in listed["tools"])
    assert cli("check", "--formats").returncode == 0


# --- Inspect ---


def write_eval(path: Path, language: str, values: dict[str, Any], scorers: list[Any]) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.scorer import Score

    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="judging", dataset=EvalDataset(), model="mockllm/model",
        config=EvalConfig(), scorers=scorers,
    )  # fmt: skip
    samples = [
        EvalSample(
            id=t, epoch=1, input="x", target="y", metadata={"language": language},
            scores={name: Score(value=value(i)) for name, value in values.items()},
        )
        for i, t in enumerate(make_tools.TASKS)
    ]  # fmt: skip
    write_eval_log(EvalLog(eval=spec, samples=samples, status="success"), str(path))


def test_inspect_logs_with_several_graders_in_a_sample(tmp_path: Path) -> None:
    from inspect_ai.log._log import EvalScorer

    for k, lang in enumerate(make_tools.LANGUAGES):
        names = ["model_graded_qa", "model_graded_qa1", "model_graded_qa2"]
        scorers = [EvalScorer(name="model_graded_qa", options={"model": j}) for j in make_tools.JUDGES]
        values = {n: (lambda i, m=m, k=k: make_tools.score(i, k, m)) for m, n in enumerate(names)}
        write_eval(tmp_path / f"{lang}.eval", lang, values, scorers)
    same(pj.read_panel(tmp_path), expected_cells())  # a folder; a glob below


@pytest.mark.usefixtures("read_here")
def test_inspect_lists_of_the_collect_reducer(tmp_path: Path) -> None:
    from inspect_ai.log._log import EvalScorer

    parts = [{"type": "scorer", "name": "model_graded_qa", "params": {"model": j}} for j in make_tools.JUDGES]
    for k, lang in enumerate(make_tools.LANGUAGES):
        scorer = EvalScorer(name="multi_scorer", options={"scorers": parts, "reducer": "collect"})

        def value(i: int, k: int = k) -> Any:
            found = [make_tools.score(i, k, m) for m in range(3)]
            return found[:2] if (i, k) == (3, 1) else found  # a grader that gave no score is dropped from the list

        write_eval(tmp_path / f"log{k}.eval", lang, {"multi_scorer": value}, [scorer])
    panel = pj.read_panel(str(tmp_path / "*.eval"))
    lacking = (expected_cells()["task"] == "t4") & (expected_cells()["language"] == "de")
    same(panel, expected_cells()[~lacking])
    assert "inspect.short" in [n.code for n in panel.notes]
