"""A machine without browser, R, PostgreSQL and Java: tests skip, each with the name of a package, and none errors."""

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
    marks = "browser or r or postgres or spark"
    command = [sys.executable, "-m", "pytest", "-m", marks, "-q", "-rsA", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, env=hidden, capture_output=True, text=True, timeout=260, check=False)
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", done.stdout)}
    assert done.returncode == 0, done.stdout[-3000:]
    assert set(counts) == {"skipped"}, done.stdout[-3000:]
    for component in PACKAGES:
        assert f"needs {component} (Debian: " in done.stdout


def test_hidden_components_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    find.cache_clear()
    monkeypatch.setenv(HIDE, "java,r")
    assert find("java") is None
    assert find("r") is None
    find.cache_clear()
