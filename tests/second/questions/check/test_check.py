"""`check` says what each command will answer, and what to paste; a reading is kept and used again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.reading import Unclear, kept_options, save_reading
from polyjudge.second.panel.say import Say
from polyjudge.second.questions.check.check import check_panel
from polyjudge.second.report import report_of
from refusals import refused

COLUMNS = ["task", "language", "judge", "score"]


def frame(tasks: int = 12, judges: str = "xyz") -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        (f"t{t}", lang, j, int(rng.integers(0, 101))) for t in range(tasks) for lang in ("en", "de") for j in judges
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def promptfoo(path: Path, given: Any, tests: int = 6) -> Path:
    """Results as promptfoo writes them; `given` makes the vars of a test and language."""
    rng = np.random.default_rng(2)
    results = []
    for i in range(tests):
        for lang in ("en", "de"):
            parts = [
                {"score": float(rng.random()), "assertion": {"type": "llm-rubric", "provider": f"judge-{j}"}}
                for j in "ab"
            ]
            results.append(
                {
                    "vars": {"language": lang, **given(i, lang)},
                    "testIdx": len(results),
                    "provider": {"id": "system"},
                    "gradingResult": {"componentResults": parts},
                }
            )
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    return path


def broken(kind: str) -> pd.DataFrame:
    table = frame()
    if kind == "apart":
        return table.assign(task=table["task"] + table["language"])
    if kind == "judges take turns":
        one = table.assign(task=table["task"] + table["language"])
        turn = one["task"].map({t: "xyz"[i % 3] for i, t in enumerate(sorted(set(one["task"])))})
        return one[one["judge"] == turn]
    if kind == "one judge":
        return table[table["judge"] == "x"]
    if kind == "one language":
        return table[table["language"] == "en"]
    if kind == "a judge in one language":
        return table[(table["judge"] != "z") | (table["language"] == "en")]
    return table


KINDS = ("whole", "apart", "judges take turns", "one judge", "one language", "a judge in one language")


@pytest.mark.parametrize("kind", KINDS)
def test_check_and_audit_never_differ(kind: str) -> None:
    table = broken(kind)
    able = pj.check(table).answers.set_index("command").loc["audit"]
    if able["able"]:
        audited = pj.audit(table, resamples=100)
        inside = kind in ("judges take turns", "one judge", "one language")
        assert inside == (audited.explanation is None)
        assert ("z" in able["why"]) == (kind == "a judge in one language")
    else:
        with pytest.raises(PanelError) as caught:
            pj.audit(table, resamples=100)
        assert able["why"] == str(caught.value)


def test_the_exit_code_says_whether_anything_can_be_answered(tmp_path: Path, cli: Any) -> None:
    for kind, unable in (("whole", []), ("apart", ["check.apart"])):
        broken(kind).to_csv(tmp_path / "s.csv", index=False)
        done = cli("check", str(tmp_path / "s.csv"), "--json")
        assert done.returncode == 0
        found = [f["code"] for f in json.loads(done.stdout)["findings"]]
        assert found == unable
    frame().rename(columns={"judge": "a", "language": "b"}).to_csv(tmp_path / "s.csv", index=False)
    assert cli("check", str(tmp_path / "s.csv"), "--json").returncode == 2
    whole = frame(judges="xy")
    whole[(whole["language"] == "de") | (whole["judge"] == "x")].to_csv(tmp_path / "s.csv", index=False)
    done = cli("check", str(tmp_path / "s.csv"), "--json")
    assert (done.returncode, json.loads(done.stdout)["readable"]) == (2, True)


def test_what_was_read_is_said_once(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "s.csv", index=False)
    panel = pj.read_panel(tmp_path / "s.csv")
    report = report_of(check_panel(panel), panel)
    assert report is not None
    assert [x.code for x in report.read if isinstance(x, Say)] == ["read.from", "read.values"]


def test_tests_that_differ_only_in_language_are_one_task(tmp_path: Path) -> None:
    path = promptfoo(tmp_path / "r.json", lambda i, lang: {"question": f"q{i}", "text": f"{i} in {lang}"})
    panel = pj.read_panel(path)
    assert panel.shape == (6, 2, 2)
    assert panel.reading is not None
    assert panel.reading.options["--task"] == "vars.question"
    assert "read.task_key" in [d.code for d in panel.reading.doubts]
    two = promptfoo(tmp_path / "t.json", lambda i, lang: {"one": f"q{i}", "two": f"q{(i + (lang == 'en')) % 6}"})
    with pytest.raises(Unclear) as caught:
        pj.read_panel(two)
    (question,) = caught.value.reading.questions
    assert (question.code, question.values["columns"]) == ("read.several", ["vars.one", "vars.two"])
    none = pj.check(promptfoo(tmp_path / "n.json", lambda i, lang: {"text": f"{i} in {lang}"}))
    assert [f.code for f in none.findings][-1] == "check.apart"


def test_every_round_shows_the_full_command(tmp_path: Path, cli: Any) -> None:
    table = frame().rename(columns={"judge": "who", "score": "how_good"})
    table.to_csv(tmp_path / "s.csv", index=False)
    line = f"polyjudge check {tmp_path / 's.csv'}"
    for _ in range(3):
        done = cli(*shlex.split(line)[1:])
        if done.returncode == 0:
            break
        line = next(part for part in done.stdout.splitlines() if part.strip().startswith("polyjudge check"))
    assert "how_good" in line
    assert "who" in line
    assert done.returncode == 0


def test_a_reading_is_kept_and_used(tmp_path: Path, cli: Any) -> None:
    table = frame().rename(columns={"task": "nr", "judge": "who", "score": "how_good"}).assign(extra=1)
    table["how_good"] = table["how_good"].astype(str).replace("50", "half")
    table.loc[0, "how_good"] = "half"
    table.to_csv(tmp_path / "s.csv", index=False)
    flags = ("--task", "nr", "--judge", "who", "--score", "how_good", "--map", "half=50", "--languages", "de,en")
    done = cli("check", str(tmp_path / "s.csv"), *flags, "--save", str(tmp_path / "r.json"))
    assert done.returncode == 0, done.stderr
    said = pj.read_panel(
        tmp_path / "s.csv", task="nr", judge="who", score="how_good", map="half=50", languages=["de", "en"]
    )
    kept = pj.read_panel(tmp_path / "s.csv", reading=tmp_path / "r.json")
    assert kept.fingerprint == said.fingerprint
    assert pj.read_panel(tmp_path / "s.csv", reading=tmp_path / "r.json", languages=["en", "de"]).languages[0] == "en"
    again = cli("audit", str(tmp_path / "s.csv"), "--reading", str(tmp_path / "r.json"), "--json")
    assert again.returncode in (0, 1), again.stderr


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", "[" * 100_000, '{"format": "polyjudge-reading", "options": {"--rm": "x"}}', "\ud800"]
)
def test_a_file_that_is_no_reading_is_refused(body: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(body.encode("utf-8", "surrogatepass"))
    with pytest.raises((PanelError, UsageError)):
        kept_options(tmp_path / "r.json")


def test_a_device_is_no_reading() -> None:
    with refused(PanelError, "zero", "device"):
        kept_options("/dev/zero")


def test_a_saved_reading_reads_the_same(tmp_path: Path) -> None:
    panel = pj.read_panel(frame(), range=(0, 100), duplicates="mean")
    assert panel.reading is not None
    save_reading(panel.reading, tmp_path / "r.json")
    assert pj.read_panel(frame(), reading=tmp_path / "r.json").range == (0, 100)
    assert kept_options(tmp_path / "r.json")["duplicates"] == "mean"


def test_a_judge_on_another_scale_is_brought_to_that_of_the_others(tmp_path: Path) -> None:
    """The line to paste must not take scores of 0 to 10 for scores of 0 to 100."""
    rows = frame(40)
    rows["score"] = np.where(rows["judge"] == "y", 2.7 + rows["score"] * 0.067, rows["score"])
    rows.to_csv(tmp_path / "mixed.csv", index=False)
    found = pj.check(tmp_path / "mixed.csv")
    command = shlex.split(report_of(found).next[0].command)
    assert command[command.index("--range") + 1] == "0:100"
    assert command[command.index("--rescale") + 1] == "y=0:10"


def test_repeated_rows_name_the_columns_that_are_not_used() -> None:
    rows = pd.concat([frame().assign(made_by=name) for name in ("p", "q")])
    with refused(PanelError, "several rows", "made_by"):
        pj.read_panel(rows)
    assert pj.read_panel(rows.rename(columns={"made_by": "Modell"})).systems == ("p", "q")
