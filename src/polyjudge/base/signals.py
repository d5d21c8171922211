"""An interrupt and a request to end unwind the program, so that nothing half-written stays."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
GRACE = 5.0
"""Seconds that a program which was asked to end may take to unwind: a library may wait for itself forever."""


class Terminated(BaseException):
    """The program was asked to end (SIGTERM)."""


def _end_now(code: int = TERMINATED) -> None:
    from polyjudge.base.files import remove_unfinished

    remove_unfinished()
    os._exit(code)


def _swallowed(found: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in some callbacks, of imports too: an interrupt there ends the program at once."""
    if found.exc_type in (KeyboardInterrupt, Terminated):
        _end_now(INTERRUPTED if found.exc_type is KeyboardInterrupt else TERMINATED)
    sys.__unraisablehook__(found)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    last = threading.Timer(GRACE, _end_now)
    last.daemon = True
    last.start()
    raise Terminated


@contextmanager
def unwinding() -> Iterator[None]:
    """Have signals unwind what runs inside, where this is the main thread."""
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return
    before, hook = signal.signal(signal.SIGTERM, _terminate), sys.unraisablehook
    sys.unraisablehook = _swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


@contextmanager
def kept_back() -> Iterator[None]:
    """Signals wait until what runs inside is whole: a library may abort Python where one comes while it is loaded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda number, frame: came.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for first in came[:1]:
            signal.raise_signal(first)
