"""What SECURITY.md promises, where no other test holds it; and that every test which it names is there."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shlex
import shutil
import sqlite3
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import commands
import hostile
import numpy as np
import pandas as pd
import pytest

import harmless
from common import Run, workbook
from polyjudge.answers.humans.draw import draw_labels
from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.base.text import shell
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.simulate import sample_frame, sample_panel

ROOT = Path(__file__).resolve().parents[1]
CSV = "task,language,judge,score\n" + "".join(
    f"q{t},{x},{j},{(t * 7 + i * 3) % 5 + 1}\n"
    for t in range(12)
    for x in ("de", "en")
    for i, j in enumerate(("ann", "bob"))
)


@pytest.fixture
def bench(tmp_path: Path) -> commands.Bench:
    """Runs commands in processes with a budget of 1 GB; `findings` says what they broke."""
    made = commands.Bench()
    made.folder = tmp_path / "here"
    made.folder.mkdir()
    return made


def said(bench: commands.Bench, *words: object, codes: tuple[int, ...] = (2,), **how: Any) -> str:
    """What a command says as a program of its own, which broke no promise."""
    _, out, err, _ = bench.run([str(w) for w in words], codes=codes, real=True, **how)
    assert not bench.findings, bench.findings
    return str(out + err)


# --- the page itself ---


def test_every_test_that_the_page_names_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"test_\w+", text)) - {"test_security"}
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(named) > 25
    assert named <= there, sorted(named - there)


# --- reading ---


@pytest.mark.parametrize("seed", range(8))
def test_no_panel_is_wrong_in_silence(seed: int, tmp_path: Path) -> None:
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = harmless.odd_file(folder, random.Random(f"{seed} {number}"))
        found = found_of(made)
        assert not made.wrong(found), (seed, number, made.source, made.wrong(found))


def found_of(made: harmless.Odd) -> dict[str, Any]:
    with mock.patch("polyjudge.read.rows.MOST_TASKS", made.most), mock.patch("polyjudge.read.rows.UNITS", 3):
        return harmless.found_in(made.source, made.options)


@pytest.mark.parametrize("mutant", [m for m in hostile.MUTANTS if m[1] is hostile.odd], ids=lambda m: m[0])
def test_planted_faults_of_the_reader_are_found(mutant: Any, tmp_path: Path) -> None:
    assert len(hostile.MUTANTS) >= 10
    with ExitStack() as stack:
        stack.enter_context(mock.patch(mutant[2], mutant[3]))
        for number in range(200):
            folder = tmp_path / str(number)
            folder.mkdir()
            made = harmless.odd_file(folder, random.Random(f"mutants {number}"))
            wrong = made.wrong(found_of(made))
            shutil.rmtree(folder)
            if wrong:
                assert "another panel" in wrong
                return
    raise AssertionError(f"{mutant[0]}: no odd file shows it")


def test_bytes_of_utf_16_without_a_mark_are_named(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(CSV.encode("utf-16-le"))
    with pytest.raises(PanelError, match="UTF-16 without its mark"):
        read_panel(tmp_path / "s.csv")


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    frame = pd.DataFrame([r.split(",") for r in CSV.splitlines()[1:]], columns=["task", "language", "judge", "score"])
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as db:
        frame.to_sql("scores", db, index=False)
    frame.to_parquet(tmp_path / "s.parquet")
    workbook(tmp_path / "s.xlsx", {"a": frame})
    for number in range(60):
        rng = random.Random(number)
        source = tmp_path / ("s.sqlite", "s.parquet", "s.xlsx")[number % 9 % 3 if number % 9 else 0]
        path = tmp_path / f"damaged{source.suffix}"
        shutil.copy(source, path)
        harmless.harm(path, rng)
        with suppress(PolyjudgeError):
            read_panel(path)


@pytest.mark.parametrize("end", ["json.gz", "jsonl.gz", "csv.gz"])
def test_a_cut_gzip_is_one_sentence(end: str, tmp_path: Path) -> None:
    import gzip

    rows = [dict(zip(("task", "judge", "score"), (f"q{i}", j, i % 5), strict=True)) for i in range(400) for j in "ab"]
    texts = {"json.gz": json.dumps(rows), "jsonl.gz": "".join(json.dumps(r) + "\n" for r in rows), "csv.gz": CSV * 90}
    whole = gzip.compress(texts[end].encode())
    path = tmp_path / f"s.{end}"
    for size in (len(whole) // 2, len(whole) - 6, 30, 5):
        path.write_bytes(whole[:size])
        with pytest.raises(PolyjudgeError):
            read_panel(path)
    path.write_bytes(whole[:200] + b"\xff\xff\xff" + whole[203:])
    with pytest.raises(PolyjudgeError):
        read_panel(path)


@pytest.mark.slow
def test_bombs_stay_inside_the_budget(bench: commands.Bench) -> None:
    for path in harmless.bombs(bench.folder):
        if path.suffix in (".gz", ".eval", ".json", ".csv") or path.stem == "view2":
            said(bench, "check", path, codes=(0, 2))
        path.unlink()


def test_an_endless_view_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    from polyjudge.read import table

    monkeypatch.setattr(table, "SECONDS", 0.5)
    with duckdb.connect(str(tmp_path / "v.duckdb")) as db:
        db.execute("CREATE VIEW v AS SELECT sum(a * b) AS score FROM range(10000000) x(a), range(1000000) y(b)")
    began = time.monotonic()
    with pytest.raises(PanelError, match="did not end"):
        read_panel(tmp_path / "v.duckdb")
    assert time.monotonic() - began < 20


def test_a_sqlite_view_calls_nothing_that_its_author_chose(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as db:
        db.execute("CREATE TABLE s (task, judge, score)")
        db.execute("INSERT INTO s VALUES ('q', 'a', 1)")
        db.execute(f"CREATE VIEW v AS SELECT *, load_extension('{tmp_path}/owned') FROM s")
        db.commit()
    with pytest.raises(PanelError):
        read_panel(f"{tmp_path}/s.sqlite::v")


def test_a_wide_table_of_many_judges_keeps_to_the_budget(bench: commands.Bench) -> None:
    rng = np.random.default_rng(0)
    path = bench.folder / "wide.csv"
    frame = pd.DataFrame(rng.integers(1, 6, (100, 5000)), columns=[f"judge {i}" for i in range(5000)])
    frame.insert(0, "task", [f"q{i}" for i in range(100)])
    frame.to_csv(path, index=False)
    assert "5,000 judges" in said(bench, "check", path, codes=(0, 1))
    assert bench.slowest < 20


def test_what_exists_is_no_pattern_and_what_does_not_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "s[1]*.csv").write_text(CSV)
    (tmp_path / "s1.csv").write_text(CSV.replace("ann", "eve"))
    assert read_panel(tmp_path / "s[1]*.csv").judges == ("ann", "bob")
    before = set(os.listdir(tmp_path))
    for address in (
        "no.duckdb",
        "no.sqlite::scores",
        "duckdb://no.duckdb/s",
        f"sqlite:///{tmp_path}/no.db",
        "no.csv::x",
    ):
        with pytest.raises(PolyjudgeError):
            read_panel(address if "://" in address else f"{tmp_path}/{address}")
    assert set(os.listdir(tmp_path)) == before


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero"):
        with pytest.raises(PanelError, match="not an ordinary file"):
            read_panel(path)


def test_passwords_are_left_out() -> None:
    with pytest.raises(PolyjudgeError) as caught:
        read_panel("postgres://me:hunter2@127.0.0.1:1/db")
    assert "hunter2" not in str(caught.value)


# --- small panels and odd values ---


@pytest.mark.parametrize("matters", ["1e-320", "1e308", "inf", "nan"])
def test_odd_sizes_of_what_matters(cli: Run, tmp_path: Path, matters: str) -> None:
    (tmp_path / "s.csv").write_text(CSV)
    for words in (["audit", "s.csv"], ["drift", "s.csv", "s.csv"], ["swap", "s.csv", "--judges", "ann=bob"]):
        files = [str(tmp_path / w) if w.endswith(".csv") else w for w in words]
        done = cli(*files, "--matters", matters)
        assert done.returncode in (0, 1, 2), done.stderr
        assert "Traceback" not in done.stderr


def test_scores_that_are_almost_infinite_are_refused() -> None:
    with pytest.raises(PanelError, match="infinite"):
        Panel.from_array(np.array([[[1e308, 1.0], [2.0, 3.0]]]))


def test_the_papers_tables_of_a_sparse_panel(cli: Run, tmp_path: Path) -> None:
    frame = sample_frame()
    frame.sample(frac=0.15, random_state=1).to_csv(tmp_path / "s.csv", index=False)
    done = cli("paper", "report", tmp_path / "s.csv", "--replicates", "100")
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr


# --- writing ---


def test_a_command_that_fails_leaves_nothing(bench: commands.Bench) -> None:
    (bench.folder / "s.csv").write_text(CSV)
    (bench.folder / "mine.txt").write_text("mine")
    before = commands.stamp(bench.folder)
    for words in (
        ("calibrate", "s.csv", "-o", "mine.txt"), ("calibrate", "s.csv", "--save", "s.csv"),
        ("audit", "s.csv", "-o", "."),
        ("audit", "s.csv", "--junit", "mine.txt/x"), ("demo", "--write", "mine.txt"), ("demo", "--write", "/proc/x"),
        ("apply", "s.csv", "s.csv", "-o", "new.csv"), ("audit", "s.csv", "-o", "mine.txt"),
    ):  # fmt: skip
        said(bench, *words)
        assert commands.stamp(bench.folder) == before, words


def test_a_full_disk_leaves_nothing(bench: commands.Bench) -> None:
    (bench.folder / "s.csv").write_text(CSV)
    for words in (("audit", "s.csv", "-o", "out"), ("demo", "--write", "x.csv")):
        assert "Cannot write" in said(bench, *words, most=3000)
        assert os.listdir(bench.folder) == ["s.csv"]


def test_memory_is_what_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.base import limits

    monkeypatch.setenv("POLYJUDGE_MEMORY", "512MB")
    assert limits.budget() == 512 << 20
    with pytest.raises(PanelError, match="POLYJUDGE_MEMORY"):
        limits.require(1e12, "this panel")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limits.held():
        assert resource.getrlimit(resource.RLIMIT_DATA) != before
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    monkeypatch.setenv("POLYJUDGE_MEMORY", "much")
    with pytest.raises(UsageError, match="POLYJUDGE_MEMORY"):
        limits.budget()


# --- names ---


def test_no_output_holds_a_hostile_name_raw(bench: commands.Bench) -> None:
    hostile.names(bench, random.Random("names of the test"))
    assert not bench.findings, bench.findings[:3]


def test_a_title_turns_no_text_round(tmp_path: Path) -> None:
    turned = "\u202eowned\u2066"
    panel = Panel.from_array(np.random.default_rng(0).integers(1, 6, (12, 2, 2)), languages=[turned, "en"])
    rows = [(t, x, "p", "r") for t in panel.tasks for x in panel.languages]
    items = pd.DataFrame(rows, columns=["task", "language", "prompt", "response"])
    draw_labels(panel, n=3, items=items, output=tmp_path / "labels", rubric=turned)
    for path in (tmp_path / "labels").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "\u202e" not in path.name
        assert "\u202e" not in "".join(re.findall(r"<title>.*?</title>", text, re.DOTALL))
        assert path.suffix != ".json" or "\u202e" not in text


@pytest.mark.parametrize("word", harmless.PARTS)
def test_a_pasted_command_is_the_command(word: str) -> None:
    line = f"printf '%s' {shell(word)}"
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode() == word
    assert "\x1b" in word or not word.isprintable() or shlex.split(line)[2] == word


def test_labels_are_overwritten_only_when_asked(cli: Run, tmp_path: Path) -> None:
    panel = sample_panel()
    rows = [(t, s, x, "p", "r") for t in panel.tasks for s in panel.systems for x in panel.languages]
    items = pd.DataFrame(rows, columns=["task", "system", "language", "prompt", "response"])
    draw_labels(panel, n=3, items=items, output=tmp_path / "labels")
    commands.fill(tmp_path / "labels")
    (tmp_path / "mine.csv").write_text("mine")
    words = ("label", "read", tmp_path / "labels", "-o", tmp_path / "mine.csv")
    assert "--overwrite" in cli(*words).stderr
    assert (tmp_path / "mine.csv").read_text() == "mine"
    assert cli(*words, "--overwrite").returncode in (0, 1)
    assert (tmp_path / "mine.csv").read_text().startswith("task,")


# --- the GitHub Action ---


def steps() -> dict[str, str]:
    import yaml

    made = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return {s["name"]: s["run"] for s in made["runs"]["steps"] if "run" in s}


def act(tmp_path: Path, **given: str) -> tuple[int, list[str], str]:
    """The Action's main step with a program in the place of ours that notes its words and fails as on bad input."""
    program = tmp_path / "polyjudge" / "bin" / "polyjudge"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" > {tmp_path}/words\necho "no such file" >&2\nexit 2\n')
    program.chmod(0o755)
    names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path), **{n: str(tmp_path / n) for n in names}}
    env |= {"SCORES": "-s;touch owned.csv", "OPTIONS": "", "FAIL_ON": "serious", "OUTPUT": "out"}
    env |= {"COMMAND": "audit", "BESIDE": "", **given}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", steps()["Audit"]], env=env, capture_output=True, text=True, cwd=tmp_path
    )
    words = (tmp_path / "words").read_text().split("\0") if (tmp_path / "words").exists() else []
    return done.returncode, words, done.stdout


def test_the_action_takes_no_input_for_code(tmp_path: Path) -> None:
    code, words, _ = act(tmp_path, OPTIONS="--judge 'a b' --score $(touch${IFS}owned) *")
    assert code == 0
    assert words[:6] == ["audit", "--judge", "a b", "--score", "$(touch${IFS}owned)", "*"]
    assert words[-3:] == ["--", "-s;touch owned.csv", ""]
    assert not (tmp_path / "owned").exists()
    assert not any("${{" in run for run in steps().values())


@pytest.mark.parametrize(
    ("given", "positions"),
    [
        ({"COMMAND": "drift", "BESIDE": "old.csv"}, ["old.csv", "-s;touch owned.csv"]),
        ({"COMMAND": "humans", "BESIDE": "labels.csv"}, ["-s;touch owned.csv", "labels.csv"]),
        ({"COMMAND": "humans"}, ["-s;touch owned.csv"]),
        ({"COMMAND": "swap", "OPTIONS": "--judges a=b"}, ["-s;touch owned.csv"]),
    ],
)
def test_the_action_runs_other_commands(tmp_path: Path, given: dict[str, str], positions: list[str]) -> None:
    _, words, _ = act(tmp_path, **given)
    assert words[0] == given["COMMAND"]
    assert words[words.index("--") + 1 : -1] == positions


@pytest.mark.parametrize(
    "given", [{"OPTIONS": "--judge 'a b"}, {"COMMAND": "drift"}, {"COMMAND": "rm"}], ids=["quote", "drift", "command"]
)
def test_the_action_refuses_what_it_cannot_run(tmp_path: Path, given: dict[str, str]) -> None:
    code, words, out = act(tmp_path, **given)
    assert code == 2
    assert not words
    assert "::error::" in out
    assert "## polyjudge" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "code=2\n"


def test_the_action_sums_up_bad_input_too(tmp_path: Path) -> None:
    code, _, _ = act(tmp_path)
    assert code == 0  # the step named Result ends with the code
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "code=2\n"
    assert "    no such file" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()


@pytest.mark.parametrize(("last", "fails"), [("", False), ("77", False), ("", True)], ids=["new", "edit", "fork"])
def test_the_action_edits_its_comment_and_fails_softly(tmp_path: Path, last: str, fails: bool) -> None:
    """With a program in the place of gh that notes its words; a fork's token may not comment."""
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    ending = "exit 1" if fails else f"case \"$*\" in *--jq*) echo '{last}';; esac"
    gh.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n{ending}\n')
    gh.chmod(0o755)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "summary.md").write_text("fine\n")
    env = {**os.environ, "PATH": f"{gh.parent}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path), "OUTPUT": "out"}
    env |= {"NUMBER": "5", "REPOSITORY": "a/b", "COMMAND": "audit", "GH_TOKEN": "t"}
    words = ["bash", "-eo", "pipefail", "-c", steps()["Comment"]]
    done = subprocess.run(words, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    calls = (tmp_path / "calls").read_text()
    assert ("::warning::" in done.stdout) is fails
    assert ("pr comment 5" in calls) is (not last and not fails)
    assert ("PATCH repos/a/b/issues/comments/77" in calls) is bool(last)
    assert (tmp_path / "polyjudge-comment.md").read_text() == "<!-- polyjudge audit -->\nfine\n"
