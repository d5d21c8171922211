"""A hostile judge, language, task, system, column, file, folder and text, in every command and every output.

`fuzz/pass.py` does the same with names made at random.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attempts import LOOK, UNSEEN
from material import JUDGES, fill_sheets, score_probes, write_world

from polyjudge.second.cli.commands import COMMANDS

HOSTILE = (
    "=owned()\x1b]52;c;aGk=\x07\n![i](https://owned.example/i.png) @owned <img src=x onerror=owned()>\u202e\u200b"
    "'; touch owned; $(touch owned) {0.owned} [red]owned"
)
AT_COLUMN = ("--judge", "COLUMN")
REPORTS: dict[str, tuple[str, ...]] = {
    "audit": ("audit", "SCORES", "--resamples", "100", "--at", "50", *AT_COLUMN),
    "audit of systems": ("audit", "SYSTEMS", "--resamples", "100", *AT_COLUMN, "--system", "SYSTEM COLUMN"),
    "audit of a run": ("audit", "RUN", "--resamples", "100"),
    "systems": ("systems", "SYSTEMS", "--resamples", "100", *AT_COLUMN, "--system", "SYSTEM COLUMN"),
    "compare": ("compare", "SCORES", "--resamples", "30", *AT_COLUMN),
    "judges": ("judges", "SCORES", "--prices", "PRICES", "--resamples", "100", *AT_COLUMN),
    "judges swapped": ("judges", "SCORES", "--swap", "SWAP", *AT_COLUMN),
    "anchor": ("anchor", "SCORES", "GOLD", "--resamples", "100", *AT_COLUMN),
    "anchor to a judge": ("anchor", "SCORES", "--trusted", "JUDGE", "--resamples", "100", *AT_COLUMN),
    "anchor to labels": ("anchor", "SCORES", "--labels", "LABELS", "--resamples", "100", *AT_COLUMN),
    "probe": ("probe", "read", "PROBED", "--audit", "PROBED"),
    "drift": ("drift", "CAL", "SCORES", "--fail-on", "never", *AT_COLUMN),
    "drift of audits": ("drift", "AUDIT/audit.json", "AUDIT/audit.json"),
    "plan": ("plan", "--from", "SCORES", "--prices", "PRICES", *AT_COLUMN),
    "plan of labels": ("plan", "--from", "SCORES", "--labels", "GOLD", "--half-width", "5", *AT_COLUMN),
    "replay": ("plan", "--replay", "SCORES", "--first", "8", *AT_COLUMN),
}
"""Commands whose result is a report: terminal, JSON, folder and JUnit."""
OTHERS: dict[str, tuple[str, ...]] = {
    "check": ("check", "SCORES", *AT_COLUMN),
    "check as JSON": ("check", "SCORES", *AT_COLUMN, "--json"),
    "calibrate": ("calibrate", "SCORES", "-o", "NEW.csv", "--save", "NEW.json", *AT_COLUMN),
    "apply": ("apply", "CAL", "SCORES", "-o", "NEW.csv", *AT_COLUMN),
    "label make": ("label", "make", "SCORES", "--items", "ITEMS", "-o", "NEW", "--rubric", HOSTILE, *AT_COLUMN),
    "label read": ("label", "read", "LABELS", "-o", "NEW.csv"),
    "probe make": ("probe", "make", "ITEMS", "-o", "NEW.jsonl", "--tasks", "6"),
    "collect dry": ("collect", "PLAN", "--dry-run"),
    "collect": ("collect", "PLAN", "-o", "NEW"),
    "collect summed up": ("collect", "-o", "RUN", "--json"),
    "collect exported": ("collect", "-o", "RUN", "--export", "NEW.csv"),
    "paper": ("paper", "report", "SCORES", "--resamples", "100", "-o", "NEW", *AT_COLUMN),
    "demo": ("demo", "--write", "NEW.csv"),
}
REFUSED: dict[str, tuple[str, ...]] = {
    "unknown column": ("audit", "SCORES", "--task", HOSTILE),
    "unknown option": ("audit", "SCORES", f"--{HOSTILE}"),
    "unknown judge": ("audit", "SCORES", "--judges", HOSTILE, *AT_COLUMN),
    "unknown command": (HOSTILE,),
    "missing file": ("audit", HOSTILE),
    "bad number": ("audit", "SCORES", "--at", HOSTILE, *AT_COLUMN),
    "unknown method": ("calibrate", "SCORES", "--method", HOSTILE, "--save", "NEW.json", *AT_COLUMN),
    "unknown table": ("audit", f"SCORES::{HOSTILE}"),
    "a folder of others": ("audit", "SCORES", "-o", "FOLDER", *AT_COLUMN),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands above name, in a folder with a hostile name."""
    from polyjudge.second.cli import main

    folder = tmp_path_factory.mktemp("hostile") / HOSTILE.replace("/", "")[:120]
    files = write_world(folder, lambda axis: f"{HOSTILE} {axis}")
    names = {key.upper().split(".")[0]: value for key, value in files.items()}
    judge = f"{HOSTILE} judge"
    names |= {"JUDGE": judge, "SWAP": f"{JUDGES[1]}={judge}", "FOLDER": str(folder)}
    names |= {"SYSTEM COLUMN": f"{HOSTILE} system column"}
    made = {"CAL": "cal.json", "LABELS": "labels", "RUN": "run", "PROBED": "probed.csv", "AUDIT": "audit"}
    names |= {key: str(folder / name) for key, name in made.items()}
    with pytest.MonkeyPatch.context() as patch:
        for line in (
            ("calibrate", "SCORES", "--save", "CAL", *AT_COLUMN),
            ("label", "make", "SCORES", "--items", "ITEMS", "-o", "LABELS", "--per-language", "5", *AT_COLUMN),
            ("collect", "PLAN", "-o", "RUN"),
            ("probe", "make", "ITEMS", "-o", f"{folder}/probes.jsonl", "--tasks", "6"),
            ("audit", "SCORES", "--resamples", "100", "-o", "AUDIT", *AT_COLUMN),
        ):
            patch.setattr("sys.argv", ["polyjudge", *(filled(w, names) for w in line)])
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code, line
    fill_sheets(folder / "labels", random.Random(1))
    score_probes(folder / "probes.jsonl", folder / "probed.csv", judge, random.Random(1))
    return names


def filled(word: str, names: dict[str, str]) -> str:
    head, slash, rest = word.partition("/") if word != HOSTILE else (word, "", "")
    head, table, other = head.partition("::") if word != HOSTILE else (head, "", "")
    return f"{names.get(head, head)}{table}{other}{slash}{rest}"


def check_text(text: str, where: str) -> None:
    assert not UNSEEN.search(text), (where, UNSEEN.search(text), text[:400])


def check_files(folder: Path, raw: str = "") -> set[str]:
    """Every file of a folder, by what it is; `raw`: an ending of files that hold the user's own cells."""
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix in LOOK and p.suffix != raw]
    for file in files:
        text = file.read_text("utf-8")
        if "NEW" not in str(file):  # annotators see texts as they are, in their own direction
            check_text(text, file.name)
        assert [*LOOK[file.suffix](text)] == [], file.name
    return {p.suffix for p in files}


def test_every_command_is_here() -> None:
    assert {line[0] for line in (*REPORTS.values(), *OTHERS.values())} == set(COMMANDS)


@pytest.mark.parametrize("name", REPORTS)
def test_no_output_holds_a_hostile_name_raw(
    name: str, place: dict[str, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    command = [filled(word, place) for word in REPORTS[name]]
    done = cli(*command, "--full", "-o", tmp_path / "out", "--junit", tmp_path / "out.xml")
    assert done.returncode in (0, 1), done.stderr
    check_text(done.stdout, "terminal")
    check_text(done.stderr, "messages")
    assert "owned" in done.stdout
    if name == "audit":  # the others print what they write to a file, by the same function
        check_text(cli(*command, "--json").stdout, "json")
    assert check_files(tmp_path) >= {".html", ".md", ".json", ".txt", ".xml"}


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_command_holds_a_hostile_name_raw(
    name: str, place: dict[str, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    new = {w: str(tmp_path / w) for w in OTHERS[name] if w.startswith("NEW")}
    done = cli(*(filled(word, place | new) for word in OTHERS[name]))
    assert done.returncode == 0, done.stderr
    check_text(done.stdout, "terminal")
    check_text(done.stderr, "messages")
    check_files(tmp_path, raw=".csv" if name in ("calibrate", "apply") else "")


@pytest.mark.parametrize("name", REFUSED)
def test_no_message_holds_a_hostile_name_raw(name: str, place: dict[str, str], cli: Callable[..., Any]) -> None:
    done = cli(*(filled(word, place) for word in REFUSED[name]))
    assert done.returncode == 2, done.stdout
    check_text(done.stdout, "terminal")
    check_text(done.stderr, "messages")


@pytest.mark.parametrize("name", ["audit", "check", "label make", "collect"])
def test_a_pasted_command_is_the_command(
    name: str, place: dict[str, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    """Every command that is advised, given to a shell, has the words that were meant, and runs nothing else."""
    new = {"NEW": str(Path(place["FOLDER"]) / f"new {name}")}
    done = cli(*(filled(word, place | new) for word in (REPORTS | OTHERS)[name]))
    lines = [
        m[0] for m in re.finditer(r"polyjudge (audit|label|anchor|calibrate|probe) .*$", done.stdout, re.MULTILINE)
    ]
    assert lines
    meant = {*place.values(), *new.values()}
    for line in lines:
        shell = ["bash", "-c", "polyjudge() { printf '%s\\0' \"$@\"; }\n" + line]
        words = subprocess.run(shell, capture_output=True, cwd=tmp_path, check=True).stdout.decode()
        assert meant & set(words.split("\0")), line
        assert list(tmp_path.iterdir()) == []
