"""Figures of METHODS 26 and of the data's README that these sets can give, beside what comes out here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evidence import agree, error, ranks
from evidence.sets import Evidence

VIOLENCE, IDENTITY, QUALITY = "RTP-LX Violence", "RTP-LX IdentityAttack", "PARIKSHA quality"
SAID = {
    VIOLENCE: (5.5, 2.7, (14, 41, 71, 83, 90)),
    IDENTITY: (12.1, 3.5, (56, 74, 89, 94, 96)),
}
"""Language error, spread of a language's annotators, share that 10 to 200 labels remove."""


def figures(sets: Sequence[Evidence]) -> pd.DataFrame:
    """figure, said, here, same: one row each, of the sets that are there."""
    known = {e.name: e for e in sets}
    rows: list[tuple[str, str, str, str]] = []
    for name, said in SAID.items():
        if name in known:
            rows += _harm(known[name], *said)
    if QUALITY in known:
        found = error.sizes(known[QUALITY])
        rows.append(_number("language error, PARIKSHA (all scores and labels)", 7.4, found["all scores"]))
        rows.append(_number("annotators of a language differ by, PARIKSHA", 11.2, found["annotators"]))
        rows.append(_number("what that can make of the language error, PARIKSHA", 6.5, found["of it"]))
        board = pd.concat([ranks.rank_sets(e) for e in sets if e.name.startswith("PARIKSHA")])
        share = 100 * board.groupby("set")["tasks all"].mean()
        here = f"{share.min():.0f} to {share.max():.0f}%"
        rows.append(("boards whose rank sets hold people's ranks of all systems, PARIKSHA", "10 to 33%", here,
                     "in part: said of more sets"))  # fmt: skip
    if VIOLENCE in known and IDENTITY in known:
        both = [agree.by_language(known[name]) for name in (VIOLENCE, IDENTITY)]
        names = ["people", "agreement", "consistency"]
        within = pd.concat([t[names] - t[names].mean() for t in both]).corr()["people"]
        rows.append(("consistency and agreement with r with people by language, RTP-LX", "0.49 and 0.17",
                     f"{within['consistency']:.2f} and {within['agreement']:.2f}",
                     "the order, not the figures: said of more categories"))  # fmt: skip
    return pd.DataFrame(rows, columns=["figure", "said", "here", "same"])


def _harm(e: Evidence, sd: float, severity: float, removed: tuple[int, ...]) -> list[tuple[str, str, str, str]]:
    """The rows of one category of RTP-LX."""
    found = error.sizes(e)
    rows = [
        _number(f"language error of the panel mean, {e.name}", sd, found["sd"]),
        _number(f"annotators of a language differ by, {e.name}", severity, found["annotators"]),
        _range(f"shared by all judges, {e.name}", (72, 95), 100 * float(found["shared"])),
        _range(f"CBC removes of single judges', {e.name}", (2, 16), 100 * float(found["cbc removes"])),
    ]
    for said, row in zip(removed, error.labels_remove(e).itertuples(), strict=True):
        here, low, high = (100 * float(x) for x in (row[5], row[6], row[7]))
        same = "yes" if abs(said - here) < 1.5 else "within what one draw gives" if low <= said <= high else "no"
        text = f"{here:.0f}% (one draw {low:.0f} to {high:.0f})"
        rows.append((f"{row.labels} labels a language remove, {e.name}", f"{said}%", text, same))
    return rows


def _number(figure: str, said: float, here: float | str) -> tuple[str, str, str, str]:
    """A figure with one decimal; the last digit may differ by one where it was made of rounded ones."""
    return figure, f"{said:.1f}", f"{float(here):.1f}", "yes" if abs(said - float(here)) < 0.1 else "no"


def _range(figure: str, said: tuple[int, int], here: float) -> tuple[str, str, str, str]:
    """A figure that was said as a range over more panels than are here."""
    same = "within it" if said[0] - 0.5 <= here <= said[1] + 0.5 else "no"
    return figure, f"{said[0]} to {said[1]}%", f"{here:.0f}%", same
