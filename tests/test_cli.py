"""The command line as users meet it: help, exit codes, outputs, interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from common import Run
from polyjudge.cli import COMMANDS, documented
from polyjudge.cli import _function as function_of

SHOWN = 16
"""Options that a help screen shows at most, --help among them."""
SCORES_OF_ONE_TASK = "task,language,judge,score\n" + "".join(
    f"t1,{x},{j},{s}\n" for x, j, s in (("en", "A", 5), ("en", "B", 6), ("de", "A", 7), ("de", "B", 4))
)


@pytest.fixture
def scores(cli: Run, tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    assert cli("demo", "--write", path).returncode == 0
    return path


@pytest.mark.parametrize("key", COMMANDS)
def test_help_has_examples_and_few_options(cli: Run, key: str) -> None:
    out = cli(*key.split(), "--help").stdout
    options = set(re.findall(r"^ *(?:-\w, )?(--[a-z-]+)", out, re.M))
    assert "Examples:" in out
    assert f"polyjudge {key}" in out
    if key != "check":  # it shows how a file is read
        assert len(options) <= SHOWN, sorted(options)
    text, about, _ = documented(function_of(key))
    assert text.splitlines()[0].endswith((".", "?"))
    assert all(about.values())


def test_the_help_of_all_lists_every_command(cli: Run) -> None:
    out = cli("--help").stdout
    for key in {key.split()[0] for key in COMMANDS}:
        assert re.search(rf"^  {key}  ", out, re.M), key
    assert len({key.split()[0] for key in COMMANDS}) == 14
    assert cli().stdout.startswith("Usage")


def test_version(cli: Run) -> None:
    assert re.fullmatch(r"polyjudge \d+\.\d+\.\d+\n", cli("--version").stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gate"], "No such command 'gate'. There are: demo, check, audit, "),
        (["audit"], "SCORES"),
        (["audit", "no-such-file.csv"], "no-such-file.csv"),
        (["audit", "scores.csv", "--no-such-option"], "--no-such-option"),
        (["swap", "scores.csv", "--judges", "a=b", "--guard"], "No such option: --guard. Failures too rare to have"),
        (["audit", "scores.csv", "--level", "2"], "level"),
        (["audit", "scores.csv", "--level", "nan"], "level"),
        (["audit", "scores.csv", "--matters", "-1"], "matters"),
        (["audit", "scores.csv", "--seed", "-1"], "--seed"),
        (["audit", "scores.csv", "--threshold", "many"], "threshold"),
        (["audit", "scores.csv", "--threshold", "170"], "outside the scale: scores are from 0 to 100"),
        (["audit", "scores.csv", "--cell", "Spanish"], "cell"),
        (["audit", "scores.csv", "--cell", "Klingon,Aster"], "Klingon"),
        (["audit", "scores.csv", "--fail-on", "never-ever"], "--fail-on"),
        (["audit", "scores.csv", "--judge", "nobody"], "nobody"),
        (["audit", "scores.csv", "-o", "scores.csv"], "scores.csv"),
        (["audit", "scores.csv", "--junit", "scores.csv"], "scores.csv"),
        (["calibrate", "scores.csv", "-o", "scores.csv"], "scores.csv"),
        (["apply", "scores.csv", "scores.csv"], ""),
        (["compare", "scores.csv", "--level", "0"], "level"),
        (["drift", "scores.csv", "gone.csv"], "gone.csv"),
        (["swap", "scores.csv", "--judges", "Aster"], "judges"),
        (["swap", "scores.csv", "--judges", "Aster=Nobody"], "Nobody"),
        (["humans", "scores.csv"], "human"),
        (["label", "make", "scores.csv", "-n", "0", "-o", "x"], ""),
        (["label", "read", "nowhere"], "nowhere"),
        (["collect", "no-plan.yaml", "-o", "run"], "no-plan.yaml"),
        (["paper", "reproduce", "devai", "--data", "gone.csv"], "gone.csv"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(
    cli: Run, scores: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(scores.parent)
    before = scores.read_bytes()
    done = cli(*words)
    assert done.returncode == 2, done.stderr + done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert scores.read_bytes() == before
    assert os.listdir(scores.parent) == ["scores.csv"]


@pytest.mark.parametrize(
    "words", [["audit"], ["calibrate", "-o", "x.csv"], ["compare"], ["drift"], ["plan"], ["check"]]
)
@pytest.mark.parametrize("rows", [5, 2], ids=["one task", "one score"])
def test_one_task_or_one_score_is_no_fault_of_ours(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], rows: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("".join(SCORES_OF_ONE_TASK.splitlines(keepends=True)[:rows]))
    files = ["s.csv", "s.csv"] if words[0] == "drift" else ["s.csv"]
    done = cli(words[0], *files, *words[1:], "--range", "0:10")
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr


def test_json_is_versioned_and_the_same_twice(cli: Run, scores: Path) -> None:
    one, two = (cli("audit", scores, "--json").stdout for _ in range(2))
    assert one == two
    read = json.loads(one)
    assert read["schema"]
    assert read["polyjudge"]
    assert read["command"] == "audit"
    assert {"findings", "off", "systems", "judges"} <= set(read)


def test_a_folder_of_results(cli: Run, scores: Path) -> None:
    out = scores.parent / "out"
    done = cli("audit", scores, "-o", out)
    assert done.returncode == 0, done.stderr
    assert {"report.html", "summary.md", "audit.json", "audit.txt"} <= set(os.listdir(out))
    off = pd.read_csv(out / "off.csv")
    assert len(off) == 30
    assert cli("audit", scores, "-o", out).returncode == 0  # ours: replaced
    assert cli("drift", scores, scores, "-o", out).returncode == 2
    (out / "mine.txt").write_text("x")
    assert "mine.txt" in cli("audit", scores, "-o", out).stderr


def test_fail_on_and_junit(cli: Run, scores: Path) -> None:
    xml = scores.parent / "j.xml"
    assert cli("audit", scores, "--fail-on", "serious", "--junit", xml).returncode == 1
    assert "<failure" in xml.read_text()
    assert cli("audit", scores, "--fail-on", "never").returncode == 0


def test_the_first_minute_of_a_user(cli: Run, scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scores.parent)
    assert cli("check", "scores.csv").returncode == 0
    assert cli("audit", "scores.csv").returncode == 0
    done = cli("calibrate", "scores.csv", "-o", "calibrated.csv", "--save", "cal.json")
    assert done.returncode == 0, done.stderr
    done = cli("apply", "scores.csv", "cal.json", "-o", "again.csv")
    assert done.returncode == 0, done.stderr
    one, two = pd.read_csv("calibrated.csv"), pd.read_csv("again.csv")
    pd.testing.assert_frame_equal(one, two)
    panels = one.groupby(["task", "system", "language"])[["score", "calibrated"]].mean()
    assert (panels["score"] - panels["calibrated"]).abs().max() < 1e-9  # I1


def test_a_closed_pipe_is_quiet(scores: Path) -> None:
    line = f"{sys.executable} -m polyjudge audit {scores} --full | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 2)
    assert done.stderr == ""


def test_a_full_disk_is_named(run_cli: Run, scores: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        done = run_cli("audit", scores, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_at_any_moment_leaves_nothing_half_written(scores: Path, number: signal.Signals) -> None:
    out = scores.parent / "out"
    before = set(os.listdir(scores.parent))
    for wait in (0.3, 0.5, 0.8):  # before that it is Python that starts, not we
        started = subprocess.Popen(
            [sys.executable, "-m", "polyjudge", "audit", scores, "-o", out],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        time.sleep(wait)
        started.send_signal(number)
        _, said = started.communicate(timeout=30)
        assert started.returncode in (0, 128 + number, -number), said
        if number != signal.SIGKILL:
            assert b"Traceback" not in said
        if out.exists():
            assert (out / "report.html").read_text().rstrip().endswith("</html>")
            assert (out / "audit.json").read_text().rstrip().endswith("}")
        if number != signal.SIGKILL:
            assert {x for x in os.listdir(scores.parent) if x.endswith((".part", ".old"))} == set()
    assert before <= set(os.listdir(scores.parent))
