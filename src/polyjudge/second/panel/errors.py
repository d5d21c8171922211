"""Errors a user can act on. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polyjudge.second.panel.labels import clean, redact


class PolyjudgeError(Exception):
    """Base of all errors that polyjudge raises on purpose. The command line shows it without a traceback."""


class PanelError(PolyjudgeError, ValueError):
    """The scores cannot form a panel, or a panel cannot answer the question asked of it."""


class TooWide(PanelError):
    """A panel has so many languages or judges that one analysis takes too much memory or time. Others can be had."""


class CalibratorError(PolyjudgeError, ValueError):
    """A calibrator file is not usable, or does not fit the scores it is applied to."""


class UsageError(PolyjudgeError, ValueError):
    """An argument is out of its range, or arguments do not go together."""


class PolyjudgeWarning(UserWarning):
    """Something a user should look at that does not stop the work."""


class OutputClosed(Exception):
    """The reader of standard output has gone (a closed pipe). The command line ends quietly."""


class CollectError(PolyjudgeError, ValueError):
    """A plan, its items or a run folder cannot be used for a collection."""


@contextmanager
def foreign_errors(where: str) -> Iterator[None]:
    """Turn any error of a foreign engine into one paragraph, without the address's password."""
    try:
        yield
    except PolyjudgeError:
        raise
    except ImportError as error:
        raise UsageError(f"{where} needs a package that is not installed: {clean(error, 200)}.") from None
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        message = clean(redact(lines[0]) if lines else type(error).__name__, 300)
        raise PanelError(
            f"{where[:1].upper() + where[1:]} could not answer: {message}. If the engine lost a worker or a "
            "connection, run the command again."
        ) from None
