"""The progress bar: silent unless somebody watches, and never in the way."""

from __future__ import annotations

import io
import sys
import time

import pytest

from polyjudge.second.panel import progress


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


def test_one_bar_for_the_whole_work_names_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Terminal()
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with progress.stages(2) as run:
        assert run("first part", sum, [1, 2]) == 3
        slow = (x for x in range(3) if time.sleep(0.2) is None)  # longer than it takes until a bar is drawn again
        assert run("second part", lambda: list(progress.track(slow, 3, "inside it"))) == [0, 1, 2]
        with pytest.raises(ZeroDivisionError):
            run("third part", lambda: 1 / 0)
    for name in ("first part", "second part", "inside it", "third part"):
        assert name in file.getvalue()
    assert list(progress.track(range(2), 2, "afterwards")) == [0, 1]
    assert "afterwards" in file.getvalue()
