"""A progress bar on standard error for work that takes more than a second; silent when nobody watches."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")
P = ParamSpec("P")
PATIENCE = 1.0
"""Seconds of work before a bar appears."""
_shown: list[Progress] = []
"""The bars on the screen: work inside other work has its bar below that one's."""


@contextmanager
def _bars() -> Iterator[Progress]:
    if _shown:
        yield _shown[-1]
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=False, auto_refresh=True) as bars:
        _shown.append(bars)
        try:
            yield bars
        finally:
            _shown.pop()


def track(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """The items, with a bar once they have taken `PATIENCE` seconds and standard error is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    begun, inside = time.monotonic(), bool(_shown)
    with _bars() as bars:
        task = bars.add_task(label, total=total, visible=False)
        try:
            for item in items:
                yield item
                bars.update(task, advance=1, visible=time.monotonic() - begun > PATIENCE)
        finally:
            if inside:
                bars.remove_task(task)


class Stages(Protocol):
    """Calls the functions of a long piece of work, each by its name, under one bar for the whole of it."""

    def __call__(self, label: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...


@contextmanager
def stages(total: int) -> Iterator[Stages]:
    """A bar for `total` calls, shown once they have taken `PATIENCE` seconds and standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda label, function, *args, **kwargs: function(*args, **kwargs)
        return
    with _bars() as bars:
        task, begun = bars.add_task("", total=total, visible=False), time.monotonic()

        def show() -> None:
            bars.update(task, visible=True, refresh=True)

        def run(label: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
            bars.update(task, description=label)
            if time.monotonic() - begun > PATIENCE:
                show()
            out = function(*args, **kwargs)
            bars.update(task, advance=1)
            return out

        late = threading.Timer(PATIENCE, show)  # the first of them may take minutes
        late.daemon = True
        late.start()
        try:
            yield run
        finally:
            late.cancel()
