"""The values of checks: see `values`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.reading import Reading
from polyjudge.panel.say import Say, say, word
from polyjudge.questions.check.check import Formats, check_panel
from polyjudge.questions.check.view import _command
from refusals import lacks
from values import Cases, Said, holed, simulated

CASES = Cases(__file__)


@CASES
def check_systems() -> Any:
    return pj.check(simulated(20, 3, 3, 2, systems=3, missing=0.1, seed=30))


@CASES
def check_frame() -> Any:
    frame = simulated(12, 2, 3, seed=31).to_long().rename(columns={"judge": "model_name", "language": "lang"})
    return pj.check(frame)


@CASES
def check_one_judge() -> Any:
    whole = simulated(12, 2, 2, seed=32)
    return pj.check(whole.select(judges=whole.judges[:1]))


@CASES
def check_formats() -> Any:
    return Formats.known()


@CASES
def check_unclear() -> Any:
    frame = simulated(12, 2, 3, seed=68).to_long().rename(columns={"judge": "a", "language": "b"})
    return pj.check(frame)


@CASES
def check_tables() -> Any:
    found = pj.check(simulated(20, 2, 2, missing=0.3, seed=81))
    return {"coverage": found.coverage, "answers": found.answers, "roles": found.roles()}


@CASES
def check_two_judges_in_one_language() -> Any:
    whole = simulated(12, 2, 2, seed=82)
    return pj.check(whole.select(languages=whole.languages[:1]))


@CASES
def check_unidentified() -> Any:
    return pj.check(holed(simulated(12, 2, 2, seed=83), (slice(None), 0, 0)))


@CASES
def check_languages_apart() -> Any:
    rows = simulated(12, 2, 2, seed=83).to_long()
    return pj.check(rows.assign(task=rows["task"] + rows["language"]))


@CASES
def check_summary() -> Any:
    frame = simulated(12, 2, 2, seed=84).to_long()
    mean = frame.groupby(["task", "language"], as_index=False)["score"].mean()
    return pj.check(pd.concat([frame, mean.assign(judge="average")]))


@CASES
def check_one_of_each() -> Any:
    whole = simulated(12, 2, 2, seed=82)
    one = whole.select(languages=whole.languages[:1], judges=whole.judges[:1])
    part = holed(simulated(12, 3, 2, seed=87), (slice(None), 2, 0))
    scales = (pj.Panel.from_array(np.random.default_rng(1).integers(0, n, (9, 2, 2))) for n in (2, 5))
    return Said((pj.check(one), pj.check(part), *map(pj.check, scales)))


@CASES
def check_asks() -> Any:
    """What to answer, and the next command with it."""
    plain = simulated(8, 2, 2, seed=86).to_long()
    shown = plain.assign(model_a="A", model_b="B", winner=np.where(plain["score"] > 50, "A", "B")).drop(columns="score")
    turned = shown.assign(model_a="B", model_b="C")
    torn = plain.replace({"judge": {"judge2": "Rémy"}})
    torn.loc[torn.index[torn["judge"] == "Rémy"][:4], "judge"] = "re\u0301my"
    scales = plain.assign(score=plain["score"].where(plain["judge"] == "judge1", plain["score"] / 100))
    frames = {
        "winner": pd.concat([shown, turned]), "swapped": shown.assign(swapped=np.arange(len(shown)) % 2 == 0),
        "alike": torn, "scales": scales, "lone": plain.rename(columns={"judge": "model"}).query("model == 'judge1'"),
    }  # fmt: skip
    found = {name: pj.check(frame) for name, frame in frames.items()}
    return {name: [f.code for f in x.findings] + [_command(x)] for name, x in found.items()}


@CASES
def check_sentences() -> Any:
    return [
        *(say("check.able", commands=["audit"], doubts=doubts) for doubts in (0, 1, 2)),
        *(say("check.unclear", questions=count) for count in (1, 2)),
        *(say("check.scale", scale=scale, low=1, high=7) for scale in ("binary", "likert", "percent", "open")),
        say("check.unable", commands=["audit"], few=[], why="of 7 holes"),
        say("check.without", labels=["language3"]),
    ]


def test_what_is_too_few_is_named() -> None:
    told = word(say("check.unable", commands=["audit", "drift"], few=["judge", "language"], why=""))
    assert not lacks(told, "audit", "drift", "judge", "language")


def test_doubts_come_after_what_cannot_be_answered() -> None:
    panel = simulated(12, 2, 2, seed=85)
    reading = Reading(source="x", format="long", doubts=(Say("read.unused", {"columns": ["x"]}),))
    found = check_panel(replace(panel.select(judges=panel.judges[:1]), reading=reading))
    assert [f.code for f in found.findings] == ["check.unable", "read.unused"]


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []


def test_check_is_quick_to_start(tmp_path: Path) -> None:
    """It needs no data frame, whose package takes longer to load than all else."""
    (tmp_path / "s.csv").write_text("task,language,judge,score\n" + "".join(f"{t},en,j,{t}\n" for t in range(9)))
    code = "import sys\nfrom polyjudge.cli import main\ntry: main()\nfinally: sys.exit('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "check", tmp_path / "s.csv"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
