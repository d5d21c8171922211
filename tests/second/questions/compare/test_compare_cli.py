"""`polyjudge compare`: on the terminal and as JSON, files, exit codes, errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second import cli
from polyjudge.second.panel.say import say
from polyjudge.second.questions.compare.held_out import GAIN_SCOPE
from polyjudge.second.report import report_of, terminal

Run = Callable[..., Any]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `polyjudge ARGS` in this process: exit code, standard output, standard error."""

    def run(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["polyjudge", *map(str, args)])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    panel, _ = pj.simulate_panel(tasks=30, languages=3, judges=4, interaction=10, seed=1)
    long = panel.to_long()
    long["kind"] = [("easy", "hard")[int(t[-2:]) % 2] for t in long["task"]]
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    long.to_csv(path, index=False)
    return path


def printed(result: Any) -> str:
    report = report_of(result)
    assert report is not None
    return terminal.text(report, full=True)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_terminal_shows_intervals_identities_scope_and_advice() -> None:
    panel, _ = pj.simulate_panel(tasks=30, languages=3, judges=4, interaction=10, seed=1)
    result = pj.compare(panel, resamples=100)
    text = flat(printed(result))
    for row in result.to_frame().itertuples():
        assert f"{row.method} {row.tau:.3f} [{row.low:.3f}, {row.high:.3f}]" in text
    for identity in set(result.to_frame()["identity"]) - {""}:
        assert " ".join(str(say(f"identity.{identity}")).split()[:3]) in text
    assert str(GAIN_SCOPE) in text
    assert str(result.advice.text) in text


def test_json_of_the_main_protocol(cli: Run, scores: Path, tmp_path: Path) -> None:
    done = cli(
        "compare", scores, "--methods", "raw,cbc,per-language-norm", "--resamples", 100, "--json", "-o", tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("polyjudge: wrote ") for line in done.stderr.splitlines())  # and no progress bar
    out = json.loads(done.stdout)
    assert [r["method"] for r in out["table"]] == ["raw", "cbc", "per-language norm"]
    assert out["scope"] == str(GAIN_SCOPE)
    assert out["table"][1]["identity"]
    assert out["advice"]["verdict"] == "advised"
    assert out["table"][2]["gain"] is None
    assert (out["seed"], out["resamples"]) == (7, 100)
    assert json.loads((tmp_path / "compare.json").read_text()) == out
    assert pd.read_csv(tmp_path / "compare.csv")["method"].tolist() == ["raw", "cbc", "per-language norm"]
    assert {p.name for p in tmp_path.iterdir()} >= {"compare.json", "compare.csv", "differences.csv"}


def test_bad_usage_is_a_sentence_and_exit_2(here: Run, scores: Path) -> None:
    for arguments, words in (
        (["--methods", "magic"], "There is no method 'magic'"),
        (["--methods", ""], "There is no method ''"),
    ):
        code, _, err = here("compare", scores, *arguments)
        assert code == 2
        assert words in err
        assert "Traceback" not in err


def test_fail_on_not_advised(here: Run, scores: Path, tmp_path: Path) -> None:
    panel, _ = pj.simulate_panel(tasks=30, languages=3, judges=4, interaction=0, seed=1)
    noise = tmp_path / "noise.csv"
    panel.to_long().to_csv(noise, index=False)
    common = ("--methods", "cbc", "--resamples", 100, "--fail-on", "not-advised")
    assert here("compare", scores, *common)[0] == 0
    code, out, _ = here("compare", noise, *common, "--json")
    assert code == 1
    assert json.loads(out)["advice"]["verdict"] == "not advised"


def test_labels_bring_the_anchored_calibrator(here: Run, scores: Path, tmp_path: Path) -> None:
    panel = pj.read_panel(scores)
    gold = panel.to_long().groupby(["task", "language"], as_index=False)["score"].mean()
    gold.to_csv(tmp_path / "gold.csv", index=False)
    code, out, err = here("compare", scores, "--labels", tmp_path / "gold.csv", "--resamples", 20, "--json")
    assert code == 0, err
    names = [r["method"] for r in json.loads(out)["table"]]
    assert names == ["raw", "cbc", "shrunken", "sparse", "cbc-anchored-centred"]
