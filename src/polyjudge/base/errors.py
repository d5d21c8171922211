"""Errors a user can act on. Each message says what is wrong, where, and what to do."""

from __future__ import annotations


class PolyjudgeError(Exception):
    """Base of all errors that polyjudge raises on purpose. The command line shows it without a traceback."""


class PanelError(PolyjudgeError, ValueError):
    """The scores cannot form a panel, or a panel cannot answer the question asked of it."""


class TooLarge(PanelError):
    """One analysis would take too much memory or time."""


class CalibratorError(PolyjudgeError, ValueError):
    """A calibrator file is not usable, or does not fit the scores it is applied to."""


class UsageError(PolyjudgeError, ValueError):
    """An argument is out of its range, or arguments do not go together."""


class CollectError(PolyjudgeError, ValueError):
    """A plan, its items or a run folder cannot be used for a collection."""
