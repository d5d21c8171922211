"""`polyjudge compare`: every protocol on the terminal and as JSON, files, exit codes, errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import polyjudge as pj
from polyjudge import cli
from polyjudge.panel.say import say
from polyjudge.questions.compare.held_out import GAIN_SCOPE
from polyjudge.report import report_of, terminal

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


def test_every_other_protocol_prints_what_it_must_say() -> None:
    panel, _ = pj.simulate_panel(tasks=30, languages=3, judges=4, interaction=10, seed=1)
    unseen = pj.unseen_language(panel, (0, 3), resamples=64)
    assert str(unseen.identity) in flat(printed(unseen))
    judge = flat(printed(pj.unseen_judge(panel, (0, 3), resamples=64)))
    assert "consistency" in judge
    decisions = pj.decisions(panel, resamples=64)
    assert str(decisions.target) in flat(printed(decisions))
    assert " right" not in flat(printed(decisions)).replace(str(decisions.target), "")  # the target is the model's own
    for by in ("judges", "tasks"):
        ablation = pj.ablate(panel, by, resamples=20)  # type: ignore[arg-type]
        text = flat(printed(ablation))
        row = ablation.table.iloc[0]
        assert f"{row['raw']:.3f} [{row['raw_low']:.3f}, {row['raw_high']:.3f}]" in text
        assert str(GAIN_SCOPE) in text
        assert ablation.identity is None or str(ablation.identity) in text


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
    assert (out["protocol"], out["seed"], out["resamples"]) == ("held-out", 7, 100)
    assert json.loads((tmp_path / "compare.json").read_text()) == out
    assert pd.read_csv(tmp_path / "compare.csv")["method"].tolist() == ["raw", "cbc", "per-language norm"]
    assert {p.name for p in tmp_path.iterdir()} >= {
        "compare.json",
        "compare.csv",
        "differences.csv",
        "language_pairs.csv",
    }


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["--protocol", "unseen-language", "--shots", "0,4"], "language"),
        (["--protocol", "decisions"], "method"),
        (["--protocol", "groups", "--group", "kind"], "group"),
    ],
)
def test_json_of_other_protocols(here: Run, scores: Path, arguments: list[str], first: str) -> None:
    code, out, err = here("compare", scores, *arguments, "--resamples", 64, "--json")
    assert code == 0, err
    assert first in json.loads(out)["table"][0]


def test_bad_usage_is_a_sentence_and_exit_2(here: Run, scores: Path) -> None:
    for arguments, words in (
        (["--methods", "magic"], "There is no method 'magic'"),
        (["--protocol", "unseen-language", "--shots", "few"], "--shots takes whole numbers"),
        (["--protocol", "groups"], "no groups"),
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
    assert here("compare", noise, *common, "--protocol", "decisions")[0] == 2


def test_labels_cannot_misbehave() -> None:
    panel, _ = pj.simulate_panel(tasks=12, languages=["\x1b[31mred", "=1+1", "ok"], judges=["[bold]", "b", "c"], seed=1)
    for result in (pj.decisions(panel, resamples=64), pj.unseen_language(panel, (0,), resamples=64)):
        text = printed(result)
        assert "\x1b[31mred" not in text
        assert "\\x1b[31mred" in text
    assert "[bold]" in printed(pj.unseen_judge(panel, (0,), resamples=64))
