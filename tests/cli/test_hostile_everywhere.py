"""A hostile name of a judge, a language, a system, a column and a file, in every command and every output."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import polyjudge as pj

HOSTILE = "\x1b]52;c;aGk=\x07\n![i](https://e.example/i.png) @all <img src=x>\u202e\u200b'; touch owned"
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that move the cursor, write to the clipboard, turn the direction of text, or cannot be seen."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "SCORES"),
    "audit": ("audit", "SCORES", "--resamples", "100", "--at", "50"),
    "systems": ("systems", "SYSTEMS", "--resamples", "100"),
    "compare": ("compare", "SCORES", "--resamples", "30"),
    "drift": ("drift", "CAL", "SCORES", "--fail-on", "never"),
    "anchor": ("anchor", "SCORES", "--trusted", "JUDGE", "--resamples", "100"),
    "plan": ("plan", "--from", "SCORES"),
}
PLAIN: dict[str, tuple[str, ...]] = {
    "calibrate": ("calibrate", "SCORES", "-o", "OUT.csv", "--save", "OUT.json"),
    "apply": ("apply", "CAL", "SCORES", "-o", "OUT2.csv"),
    "unknown column": ("audit", "SCORES", "--task", HOSTILE),
    "unknown option": ("audit", "SCORES", f"--{HOSTILE}"),
    "unknown judge": ("audit", "SCORES", "--judges", HOSTILE),
    "unknown command": (HOSTILE,),
    "missing file": ("audit", HOSTILE),
    "bad number": ("audit", "SCORES", "--at", HOSTILE),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("hostile") / HOSTILE.replace("/", "")
    folder.mkdir()
    out: dict[str, str] = {}
    for name, systems in (("SCORES", 0), ("SYSTEMS", 3)):
        panel, _ = pj.simulate_panel(tasks=14, languages=3, judges=4, systems=systems, seed=2)
        frame = panel.to_long().drop(columns="replicate", errors="ignore")
        for axis in ("judge", "language", "system"):
            if axis in frame:
                first = frame[axis].iloc[0]
                frame[axis] = frame[axis].replace({first: f"{axis} {HOSTILE}"})
        cell = (frame["judge"] == f"judge {HOSTILE}") & (frame["language"] == f"language {HOSTILE}")
        frame.loc[cell, "score"] = (frame.loc[cell, "score"] - 45).clip(0, 100)  # it is named in every sentence
        out[name] = str(folder / f"{name}.csv")
        frame.rename(columns={"judge": f"judge {HOSTILE}"}).to_csv(out[name], index=False)
    pj.ConsensusCalibrator().fit(pj.read_panel(out["SCORES"], judge=f"judge {HOSTILE}")).save(folder / "cal.json")
    return out | {"CAL": str(folder / "cal.json"), "JUDGE": f"judge {HOSTILE}", "FOLDER": str(folder)}


def filled(command: tuple[str, ...], place: dict[str, str]) -> list[str]:
    words = [place.get(w, str(Path(place["FOLDER"]) / w) if w.startswith("OUT") else w) for w in command]
    return [*words, "--judge", f"judge {HOSTILE}"] if command[0] != HOSTILE else words


def check_text(text: str, where: str) -> None:
    assert not UNSEEN.search(text), (where, UNSEEN.search(text))
    assert "\n![i]" not in text, where


class Tags(HTMLParser):
    """The sources of images."""

    def __init__(self) -> None:
        super().__init__()
        self.images: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attrs).get("src") or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_output_holds_a_hostile_name_raw(
    name: str, place: dict[str, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    command = filled(COMMANDS[name], place)
    done = cli(*command, "--full", "-o", tmp_path / "out", "--junit", tmp_path / "j.xml")
    assert done.returncode in (0, 1), done.stderr
    check_text(done.stdout, "terminal")
    check_text(done.stderr, "messages")
    assert "\\x1b]52" in done.stdout
    shown = cli(*command, "--json")
    check_text(shown.stdout, "json")
    ElementTree.parse(tmp_path / "j.xml")
    check_text((tmp_path / "j.xml").read_text("utf-8"), "junit")
    written = {p.name: p for p in (tmp_path / "out").iterdir() if p.suffix not in (".parquet",) and p.is_file()}
    for file in written.values():
        check_text(file.read_text("utf-8"), file.name)
    summary = written["summary.md"].read_text("utf-8")
    code = re.sub(r"(`+)[^\n]*?\1", "", summary)
    assert "![i](" not in code
    assert "@all" not in code
    assert "<img" not in code.replace("\\<img", "")
    page = Tags()
    page.feed(written["report.html"].read_text("utf-8"))
    assert [s for s in page.images if not s.startswith("data:image/svg+xml,")] == []


@pytest.mark.parametrize("name", PLAIN)
def test_no_message_holds_a_hostile_name_raw(name: str, place: dict[str, str], cli: Callable[..., Any]) -> None:
    done = cli(*filled(PLAIN[name], place))
    assert done.returncode in ((0,) if name in ("calibrate", "apply") else (2,)), done.stderr
    check_text(done.stdout, "terminal")
    check_text(done.stderr, "messages")


def test_a_pasted_command_is_the_command(place: dict[str, str], cli: Callable[..., Any], tmp_path: Path) -> None:
    """Every command of an audit's advice, given to a shell, has the words that were meant, and runs nothing else."""
    done = cli(*filled(COMMANDS["audit"], place))
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("polyjudge ")]
    assert lines
    for line in lines:
        shell = ["bash", "-c", "polyjudge() { printf '%s\\0' \"$@\"; }\n" + line]
        words = subprocess.run(shell, capture_output=True, cwd=tmp_path, check=True).stdout.decode()
        assert place["SCORES"] in words.split("\0"), line
        assert list(tmp_path.iterdir()) == []
