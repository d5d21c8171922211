"""Pairwise verdicts as scores: the share of its comparisons that a system wins, a tie half a win (METHODS 25)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.base.errors import PanelError
from polyjudge.base.text import count, name
from polyjudge.panel import Panel
from polyjudge.read.rows import DEFAULT
from polyjudge.read.scale import ABSENT
from polyjudge.read.table import ident
from polyjudge.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

PLACES = {
    **dict.fromkeys(("a", "1", "first", "left", "a>b", "a>>b", "win", "won"), 1.0),
    **dict.fromkeys(("b", "2", "second", "right", "b>a", "b>>a", "a<b", "a<<b", "loss", "lost"), 0.0),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "same", "both", "neither", "bothbad", "tie(bothbad)"), 0.5),
    **dict.fromkeys(("c", "a=b", "a==b"), 0.5),
}
"""What judges and arenas write for the place of the winner, without spaces and brackets, and without `model_`."""


def pair_rows(work: Any, axes: list[str]) -> pd.DataFrame:
    """Verdicts as a frame of `axes`, first, second, won."""
    table, where = work.table, work.table.where
    listed = [*axes, "first", "second", "winner"]
    frame = table.frame({c: ident(c) for c in listed}, f"{work.typed} WHERE score IS NOT NULL ORDER BY ALL")
    rows = len(frame)
    for axis in [*axes, "first", "second"]:
        frame[axis] = frame[axis].fillna("").str.strip()
        if (frame[axis] == "").any():
            column = name(work.roles.of.get(axis, axis))
            raise PanelError(f"Some verdicts in {where} have nothing in {column}. Fill it, or delete those rows.")
    frame = frame[frame["first"] != frame["second"]]
    low = frame["winner"].fillna("").str.strip().str.lower()
    word = low.str.replace(r"[\s_\[\]]", "", regex=True)
    word = word.str.replace(r"^(model|system|assistant|response|answer|candidate)(?=[ab12]$)", "", regex=True)
    by_name = np.select([frame["winner"] == frame[c] for c in ("first", "second")], [1.0, 0.0], np.nan)
    by_place = word.map(PLACES).to_numpy(dtype=float)
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
    there = int(table.rows(f"SELECT count(*) FROM {work.raw}")[0][0])
    gone = int(np.isnan(won).sum()) + there - work.failed - rows
    if gone:
        work.notes.append(f"{count(gone, 'verdict')} with no winner {'is' if gone == 1 else 'are'} missing.")
    absent = {a: DEFAULT.get(a, "") for a in ("language", "judge") if a not in axes}
    frame = frame.drop(columns="winner").assign(won=won, **absent)[np.isfinite(won)].reset_index(drop=True)
    if frame.empty:
        raise PanelError(f"{where} holds no verdict on two systems.")
    return frame


def shares(frame: pd.DataFrame, axes: list[str]) -> pd.DataFrame:
    """One row for each system, task and judge: the share of its comparisons that it won."""
    import pandas as pd

    one = frame[[*axes, "first", "won"]].rename(columns={"first": "system", "won": "score"})
    two = frame[[*axes, "second", "won"]].rename(columns={"second": "system", "won": "score"})
    both = pd.concat([one, two.assign(score=1.0 - two["score"])], ignore_index=True)
    return both.groupby([*axes, "system"], sort=True)["score"].mean().reset_index()


def as_verdicts(order: pd.DataFrame, panel: Panel) -> Verdicts:
    """The verdicts of a frame (task, language, judge, first, second, won) as numbers of the panel's names."""
    import pandas as pd

    names_of = {"task": panel.tasks, "language": panel.languages, "judge": panel.judges}
    names_of |= {"first": panel.systems, "second": panel.systems}
    codes = {axis: pd.Index(listed).get_indexer(pd.Index(order[axis])) for axis, listed in names_of.items()}
    won = order["won"].to_numpy(dtype=float)
    made = Verdicts(
        task=codes["task"],
        first=codes["first"],
        second=codes["second"],
        language=codes["language"],
        judge=codes["judge"],
        won=won,
        place=np.ones(len(won)),
        part=np.zeros(len(won), dtype=np.int64),
    )
    return made.take(np.min(np.stack(list(codes.values())), axis=0) >= 0)
