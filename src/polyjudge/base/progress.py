"""A progress bar on standard error for work that takes more than a second; silent when nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds of work before a bar appears."""


def track(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """The items, with a bar once they have taken `PATIENCE` seconds and standard error is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    begun = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total, visible=False)
        for item in items:
            yield item
            bars.update(task, advance=1, visible=time.monotonic() - begun > PATIENCE)
