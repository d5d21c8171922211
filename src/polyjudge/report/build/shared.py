"""What builders share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.core.schema import envelope
from polyjudge.core.sections import Column, Say, Words, say

if TYPE_CHECKING:
    from polyjudge.core.panel import Panel
    from polyjudge.core.results import Result


AHEAD = ("check", "plan", "label_plan", "replay")
"""Commands without an interval from the scores read: how often their collection looked has no part in them."""


def looked(looks: int, level: float | None) -> tuple[Say, ...]:
    """What the looks of an adaptive collection left of the level, where there were several."""
    return (say("read.looks", looks=looks, level=level),) if looks > 1 else ()


def frame_of(command: str, result: Result, panel: Panel | None) -> dict[str, Any]:
    """The fields of a report that follow from its result and panel: what was read, facts, payload, judges."""
    facts = {name: getattr(result, name) for name in ("seed", "resamples", "level") if hasattr(result, name)}
    out: dict[str, Any] = {
        "command": command,
        "facts": facts,
        "payload": lambda: envelope(command, result.to_dict()),
    }
    if panel is not None:
        from polyjudge.report.build.reading import read_says

        read = None if panel.reading is None else panel.reading.to_dict()
        out["payload"] = lambda: envelope(command, {"read": read, **result.to_dict()})
        out["read"] = (
            read_says(panel) if command in AHEAD else (*read_says(panel), *looked(panel.looks, facts.get("level")))
        )
        out["facts"] = facts | {"input fingerprint": panel.fingerprint}
        out["judges"] = panel.judges
    return out


LANGUAGE = Column(name="language", title="language", kind="label")
JUDGE = Column(name="judge", title="judge", kind="judge")


def value(name: str, title: str, low: str = "", high: str = "", *, sign: bool = False, pale: str = "") -> Column:
    """A column of points, with its interval."""
    return Column(name=name, title=title, kind="points", sign=sign, pale=pale, low=low, high=high)


def pivot(cells: pd.DataFrame, values: str) -> pd.DataFrame:
    """A language x judge table of a column of `cells`, both in their order of appearance."""
    wide = cells.pivot(index="language", columns="judge", values=values)
    return wide.loc[cells["language"].drop_duplicates().tolist(), cells["judge"].drop_duplicates().tolist()]


def notes(*of: tuple[Words, ...]) -> tuple[Words, ...]:
    """Notes of results, each once; a text that came with the data is shown in full."""
    every = [n if isinstance(n, Say) else say("note", text=n) for part in of for n in part]
    return tuple(n for i, n in enumerate(every) if n not in every[:i])
