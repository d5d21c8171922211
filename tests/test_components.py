"""A machine without browser, PostgreSQL, Java and lme4: tests skip, each names a package, and none errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from components import HIDE, PACKAGES, find

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.timeout(280)
def test_tests_skip_without_their_components() -> None:
    """Run with everything hidden. A test that found its component all the same would pass, and is reported here."""
    hidden = {**os.environ, HIDE: ",".join(PACKAGES), "POLYJUDGE_NO_SKIP": ""}
    marks = "browser or postgres or spark or lme4"
    names = re.compile(r"\bbrowser\b|mark\.(postgres|spark|lme4)\b")
    files = [str(p) for p in sorted((ROOT / "tests").rglob("test_*.py")) if names.search(p.read_text("utf-8"))]
    command = [sys.executable, "-m", "pytest", "-m", marks, "-q", "-rsA", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command += files
    done = subprocess.run(command, cwd=ROOT, env=hidden, capture_output=True, text=True, timeout=260, check=False)
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", done.stdout)}
    assert done.returncode == 0, done.stdout[-3000:]
    assert set(counts) == {"skipped"}, done.stdout[-3000:]
    for component in PACKAGES:
        assert f"needs {component}: make system installs it (Debian: " in done.stdout


def test_hidden_components_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    find.cache_clear()
    monkeypatch.setenv(HIDE, "java,chromium")
    assert find("java") is None
    assert find("chromium") is None
    find.cache_clear()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="apt needs root")
@pytest.mark.parametrize("lacks", ["nothing", "postgresql"])
def test_what_is_absent_is_asked_of_apt(tmp_path: Path, lacks: str) -> None:
    """A stand-in for apt-get notes what it is asked for. One package it does not have keeps no other away."""
    log = tmp_path / "log"
    apt = f'#!/bin/sh\necho "$@" >> {log}\ncase "$*" in *{lacks}*) exit 100;; esac\n'
    for name, script in (("apt-get", apt), ("chromium", "#!/bin/sh\n")):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path), HIDE: "java,postgres,lme4"}
    command = [sys.executable, str(ROOT / "tools" / "components.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    asked = log.read_text().splitlines()
    wanted = [p for c in ("java", "postgres", "lme4", "chromium") for p in PACKAGES[c].split() if p != "chromium"]
    assert asked[0].endswith(" update")
    assert asked[1].endswith(" ".join(wanted))
    single = [line.split()[-1] for line in asked[2:]]
    assert single == ([] if lacks == "nothing" else wanted)
    absent = [line for line in done.stdout.splitlines() if line.startswith("Absent: ")]
    stay = ("java", "postgres", "lme4")
    assert [line.split()[1] for line in absent] == [f"{c}." for c in stay]
    assert all(f"apt install {PACKAGES[c]}" in line for c, line in zip(stay, absent, strict=True))
