"""Pairwise verdicts as scores: the share of its comparisons that a system wins, per task (METHODS 25).

One row a verdict: task, two systems in the order in which they were shown, and the winner by name or by place. A tie is
half a win. Who was shown first stays in `panel.order`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.base.errors import PanelError
from polyjudge.base.text import count, name
from polyjudge.read.columns import natural
from polyjudge.read.scale import ABSENT
from polyjudge.read.table import ident

if TYPE_CHECKING:
    import pandas as pd

FIRST = {
    "a", "model_a", "model a", "system_a", "system a", "[[a]]", "1", "model_1", "model 1", "first", "left",
    "response_a", "assistant a", "a>b", "a>>b", "a > b", "win", "wins", "won", "answer a", "response a",
    "candidate_a",
}  # fmt: skip
SECOND = {
    "b", "model_b", "model b", "system_b", "system b", "[[b]]", "2", "model_2", "model 2", "second", "right",
    "response_b", "assistant b", "b>a", "b>>a", "b > a", "a<b", "a<<b", "a < b", "lose", "loses", "lost", "loss",
    "answer b", "response b", "candidate_b",
}  # fmt: skip
TIE = {
    "tie", "ties", "tied", "draw", "equal", "same", "both", "neither", "tie (bothbad)", "both_bad", "bothbad",
    "both bad", "[[c]]", "c", "0", "a=b", "a = b", "a==b", "0.5",
}  # fmt: skip
"""What judges and arenas write for the place of the winner."""


def pair_rows(work: Any, axes: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Verdicts as a frame of `axes`, first, second, won; and the systems."""
    import pandas as pd

    table, where = work.table, work.table.where
    listed = [*axes, "first", "second", "winner"]
    rows = table.rows(f"SELECT {', '.join(map(ident, listed))} FROM {work.typed} WHERE score IS NOT NULL ORDER BY ALL")
    frame = pd.DataFrame(rows, columns=listed)
    work.rows = len(frame)
    for axis in axes:
        frame[axis] = frame[axis].fillna("").str.strip()
        if (frame[axis] == "").any():
            raise PanelError(f"Some verdicts in {where} have no {axis}. Fill the column, or delete those rows.")
    blank = frame["first"].isna() | frame["second"].isna()
    if blank.any():
        raise PanelError(
            f"{count(int(blank.sum()), 'verdict')} in {where} {'lacks' if blank.sum() == 1 else 'lack'} one of the two "
            "systems. Fill them."
        )
    frame = frame[frame["first"] != frame["second"]]
    low = frame["winner"].fillna("").str.strip().str.lower()
    by_name = np.select([frame["winner"] == frame[c] for c in ("first", "second")], [1.0, 0.0], np.nan)
    by_place = np.select([low.isin(words) for words in (FIRST, SECOND, TIE)], [1.0, 0.0, 0.5], np.nan)
    unclear = np.isfinite(by_name) & np.isfinite(by_place) & (by_name != by_place)
    names_used = set(frame["first"]) | set(frame["second"])
    astray = np.isfinite(by_place) & (by_place != 0.5) & np.isnan(by_name) & frame["winner"].isin(names_used)
    if unclear.any() or astray.any():
        word = frame["winner"][unclear | astray].iloc[0]
        raise PanelError(
            f"In {where}, the winner {name(word)} is the name of a system and also a place. Write model_a, model_b or "
            "tie for the winner, or give the systems other names."
        )
    won = np.where(np.isfinite(by_name), by_name, by_place)
    odd = np.isnan(won) & ~low.isin({*ABSENT, ""})
    if odd.any():
        raise PanelError(
            f"In {where}, the winner {name(frame['winner'][odd].iloc[0])} ({count(int(odd.sum()), 'row')}) is neither "
            "of the two systems, nor model_a, model_b or tie."
        )
    rows_there = int(table.rows(f"SELECT count(*) FROM {work.raw}")[0][0])
    gone = int(np.isnan(won).sum()) + rows_there - work.failed - work.rows
    if gone:
        verb = "names no winner, and is" if gone == 1 else "name no winner, and are"
        work.notes.append(f"{count(gone, 'verdict')} {verb} missing.")
    frame = frame.drop(columns="winner").assign(won=won)[np.isfinite(won)].reset_index(drop=True)
    systems = sorted(set(frame["first"]) | set(frame["second"]), key=natural)
    if len(systems) < 2:
        raise PanelError(f"{where} holds no verdict on two systems.")
    return frame, systems


def shares(frame: pd.DataFrame, axes: list[str]) -> pd.DataFrame:
    """One row for each system, task and judge: the share of its comparisons that it won."""
    import pandas as pd

    one = frame[[*axes, "first", "won"]].rename(columns={"first": "system", "won": "score"})
    two = frame[[*axes, "second", "won"]].rename(columns={"second": "system", "won": "score"})
    both = pd.concat([one, two.assign(score=1.0 - two["score"])], ignore_index=True)
    return both.groupby([*axes, "system"], sort=True)["score"].mean().reset_index()
