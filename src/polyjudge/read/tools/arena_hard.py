"""Arena-Hard judgments: a model against the baseline, asked twice with the places exchanged."""

from __future__ import annotations

from polyjudge.read.pair_words import PLACES
from polyjudge.read.tools import Record, Rows

TITLE = "Arena-Hard judgments"
FITS = ({"uid", "judge", "model", "baseline", "games"},)


def rows(record: Record) -> Rows:
    """One row a game. In the first A is the baseline, in the second the model."""
    games = record.get("games") or []
    for game, (sign, place) in zip(games, ((-1, -1), (1, 1)), strict=False):
        label = (game or {}).get("score")
        share = PLACES.get(str(label).lower()) if label else None
        yield {
            "task": record["uid"],
            "judge": record.get("judge"),
            "first": record["model"],
            "second": record["baseline"],
            "won": share if share is None or sign > 0 else 1 - share,
            "place": place,
            "category": record.get("category"),
            "reason": (game or {}).get("judgment"),
        }
