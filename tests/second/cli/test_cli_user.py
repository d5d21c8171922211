"""The command line as a user meets it: pipes, files that are not there, options that do not go together."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import polyjudge.second as pj
from polyjudge.second import cli
from polyjudge.second.cli.commands import COMMANDS
from refusals import lacks

Run = Callable[..., tuple[int, str, str]]
Rows = list[list[object]]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `polyjudge ARGS` in this process: exit code, standard output, standard error."""

    def run(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["polyjudge", *map(str, args)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        out = capsys.readouterr()
        return int(str(code)), out.out, out.err

    return run


def write(path: Path, rows: Rows, head: tuple[str, ...] = ("task", "language", "judge", "score")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def some_rows() -> Rows:
    panel, _ = pj.simulate_panel(tasks=12, languages=3, judges=3, interaction=8, seed=3)
    return [list(r) for r in panel.to_long()[["task", "language", "judge", "score"]].itertuples(index=False)]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("scores") / "scores.csv", some_rows())


@pytest.mark.parametrize("more", [["calibrate", "--save", "CAL"], ["compare", "--resamples", "5"]])
def test_a_closed_pipe_is_no_finding(scores: Path, more: list[str]) -> None:
    more = [str(scores) + ".json" if a == "CAL" else a for a in more]
    command = [sys.executable, "-m", "polyjudge", *more, str(scores)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        error = process.stderr.read()
    assert (process.returncode, error) == (2, b"")


def test_output_that_cannot_be_written_is_one_line(scores: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "polyjudge", "calibrate", str(scores), "--save", str(scores) + ".json"],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not lacks(done.stderr, "polyjudge", "No space left on device")


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (
            ["plan", "--judge-count", "3", "--language-count", "3", "--sigma", "2", "--half-width", "1"],
            ("--half-width", "--labels GOLD"),
        ),
        (["plan", "--from", "SCORES", "--labels", "SCORES", "--radius", "1"], ("--labels", "--half-width")),
        (["demo", "--write", "x.csv", "--json"], ("--write", "--json")),
        (["audit", "SCORES", "-o", "SCORES"], ("-o", "scores.csv", "read")),
        (["audit", "SCORES", "--resamples", "100000000"], ("--resamples", 1000000)),
        (["audit", ""], ("file",)),
        (["audit", "https://example.org/scores.csv"], ("https", "download")),
        (["anchor", "SCORES", "--trusted", "judge1", "--threshold", "nan"], ("threshold", "nan")),
        (["anchor", "SCORES", "--trusted", "judge1", "--threshold", "1e9"], ("threshold", "1e+09")),
        (["calibrate", "SCORES", "-o", "c.csv", "--column", ""], ("--column", "name")),
        (["collect", "nothere.yaml", "-o", "run"], ("nothere.yaml", "no file")),
    ],
)
def test_what_does_not_go_together_is_refused(
    here: Run, scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], named: tuple[object, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, error = here(*(str(scores) if a == "SCORES" else a for a in args))
    assert (code, out) == (2, "")
    assert not lacks(error, *named)
    assert not list(tmp_path.iterdir())


def test_a_plan_from_scores_takes_the_options_its_messages_name(here: Run, tmp_path: Path) -> None:
    rows = some_rows()
    path = write(tmp_path / "twice.csv", [*rows, rows[0]])
    code, _, error = here("plan", "--from", path)
    assert code == 2
    assert "--duplicates mean" in error
    code, out, _ = here("plan", "--from", path, "--duplicates", "mean", "--range", "-1000:1000", "--json")
    assert code == 0
    assert json.loads(out)["command"] == "plan"


def test_a_plan_knows_the_scale(here: Run) -> None:
    args = ("plan", "--judge-count", 3, "--language-count", 3, "--sigma", 5, "--radius", 4, "--json")
    bounds = [r["bound"] for r in json.loads(here(*args, "--range", "0:100")[1])["needed"]]
    assert len(bounds) == len(json.loads(here(*args)[1])["needed"]) + 1


def test_nothing_is_saved_when_the_scores_cannot_be_written(here: Run, scores: Path, tmp_path: Path) -> None:
    code, _, error = here("calibrate", scores, "--save", tmp_path / "cal.json", "-o", tmp_path / "out.weird")
    assert code == 2
    assert "out.weird" in error
    assert not list(tmp_path.iterdir())


def test_apply_says_what_is_no_number_and_how_to_map_it(here: Run, scores: Path, tmp_path: Path) -> None:
    assert here("calibrate", scores, "--save", tmp_path / "cal.json")[0] == 0
    rows = some_rows()
    rows[5][3] = "good"
    code, _, error = here("apply", tmp_path / "cal.json", write(tmp_path / "t.csv", rows), "-o", tmp_path / "o.csv")
    assert code == 2
    assert "'good'" in error
    assert "--map 'good=NUMBER'" in error


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_scores_whose_squares_do_not_fit_are_refused(here: Run, tmp_path: Path, factor: float) -> None:
    rows = [[*r[:3], float(str(r[3])) * factor] for r in some_rows()]
    code, _, error = here("audit", write(tmp_path / "far.csv", rows), "--resamples", 100)
    assert code == 2
    assert "scores" in error


def test_hostile_labels_stay_text_when_a_calibrator_is_shown(here: Run, tmp_path: Path) -> None:
    rows = [[r[0], f"\x1b[31m\u202e{r[1]}", f"{r[2]}\n\0", r[3]] for r in some_rows()]
    code, out, _ = here("calibrate", write(tmp_path / "bad.csv", rows), "--save", tmp_path / "cal.json")
    assert code == 0
    assert not set(out) & {"\x1b", "\u202e", "\0"}
    assert r"\x1b[31m" in out


def test_a_spreadsheet_is_named_as_such(here: Run, tmp_path: Path) -> None:
    path = tmp_path / "scores.xlsx"
    path.write_bytes(b"PK\3\4 and more")
    assert "spreadsheet" in here("audit", path)[2]


def test_the_same_thing_has_the_same_name_everywhere(here: Run) -> None:
    helps = {name: here(name, "--help")[1] for name in COMMANDS}
    for name, text in helps.items():
        assert "Example: polyjudge " + name in text, name
        if name in ("paper", "label"):  # commands of their own
            continue
        assert "--json" in text, name
        assert "[[" not in text, name
        if name != "demo" and "--seed" in text:
            assert re.search(r"--seed .*?\[default:\s+7;", text, re.S), name
        if name not in ("calibrate", "apply", "collect", "formats"):
            assert re.search(r"-o, --output DIR +Folder", text), name
        if re.search(r"SCORES", text) and name not in ("apply", "collect"):
            for flag in ("--task", "--language", "--judge", "--score", "--reading"):
                assert flag in text, (name, flag)
            assert ("--duplicates" in text) == (name == "check"), name


def test_scores_are_not_written_over_themselves(here: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", some_rows())
    before = path.read_bytes()
    code, _, error = here("calibrate", path, "-o", path)
    assert code == 2
    assert not lacks(error, "-o", "scores.csv")
    assert path.read_bytes() == before


def test_labels_in_two_spellings_are_named_as_the_cause(here: Run, tmp_path: Path) -> None:
    rows = [[r[0], str(r[1]).upper() if i % 2 else r[1], *r[2:]] for i, r in enumerate(some_rows())]
    code, _, error = here("audit", write(tmp_path / "case.csv", rows), "--resamples", 100)
    assert code == 2
    assert not lacks(error, "language1", "LANGUAGE1")


def test_labels_beyond_the_observed_scores_may_need_the_range(here: Run, tmp_path: Path) -> None:
    rows = [[*r[:3], 50 + (i * 7) % 5] for i, r in enumerate(some_rows())]
    gold = write(tmp_path / "gold.csv", [[f"{r[0]}", r[1], 70] for r in rows[::3]], ("task", "language", "score"))
    path = write(tmp_path / "scores.csv", rows)
    assert "--range 0:100" in here("anchor", path, gold)[2]
    assert here("anchor", path, gold, "--range", "0:100", "--resamples", 20)[0] == 0


def test_the_examples_of_the_help_run_as_pasted(
    here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert here("demo", "--write", "scores.csv")[0] == 0
    for name in ("calibrate", "apply", "drift", "plan"):
        text = re.sub(r"\s+", " ", here(name, "--help")[1].split("\n\nArguments:")[0].split("\n\nOptions:")[0])
        example = re.findall(r"Example: polyjudge (.*?)(?= Example:|$)", text)[0]
        for made in tmp_path.glob("calibrated*"):  # of the example before
            made.unlink()
        code, _, error = here(*example.split())
        assert (code, error) == (0, ""), example
