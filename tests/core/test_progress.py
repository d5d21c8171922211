"""The progress bar: silent unless somebody watches, and never in the way."""

from __future__ import annotations

import io
import sys

import pytest

from polyjudge.core import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_when_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    assert list(progress.track(range(5), 5, "counting")) == [0, 1, 2, 3, 4]
    assert file.getvalue() == ""


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (60.0, False)])
def test_a_bar_appears_only_when_work_is_long(monkeypatch: pytest.MonkeyPatch, patience: float, shown: bool) -> None:
    file = Terminal()
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress.track(iter("abc"), 3, "counting")) == ["a", "b", "c"]
    assert ("counting" in file.getvalue()) is shown
