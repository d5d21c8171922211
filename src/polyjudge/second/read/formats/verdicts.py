"""Winners of pairs (A, B, tie) as margins: +1 where the first system won, -1 where the second did, 0 for a tie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polyjudge.second.panel.adjustment import quote
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Say
from polyjudge.second.read.duck import SHOWN, Source
from polyjudge.second.read.formats.roles import Asked, Roles
from polyjudge.second.read.formats.table import Place, Table

WINNER = (
    "winner", "preference", "preferred", "preferred_model", "chosen_model", "choice", "verdict", "outcome", "result",
)  # fmt: skip
FIRST = ("model_a", "system_a", "model_1", "system_1", "candidate_a", "a", "model_left", "first_model")
SECOND = ("model_b", "system_b", "model_2", "system_2", "candidate_b", "b", "model_right", "second_model")
SWAPPED = ("swapped", "is_swapped", "swap", "flipped", "is_flipped", "reversed")
WORDS: dict[float, tuple[str, ...]] = {
    1.0: ("a", "model_a", "system_a", "model a", "[[a]]", "1", "model_1", "first", "left", "response_a", "a>b", "a>>b",
          "a > b", "win", "wins", "won"),
    -1.0: ("b", "model_b", "system_b", "model b", "[[b]]", "2", "model_2", "second", "right", "response_b", "b>a",
           "b>>a", "b > a", "a<b", "a<<b", "a < b", "lose", "loses", "lost", "loss"),
    0.0: ("tie", "draw", "equal", "same", "both", "neither", "tie (bothbad)", "both_bad", "bothbad", "[[c]]", "c", "0",
          "a=b", "a = b", "a==b", "tied"),
}  # fmt: skip
"""What judges and arenas write for the winner: the position of the one that was shown first or second, or a tie."""


@dataclass(frozen=True)
class Pair:
    """The columns of a pairwise comparison."""

    winner: Place
    first: Place | None
    second: Place | None
    swapped: Place | None
    means: str = ""
    """"name" or "position": what a winner is that is both the name of a system and a position, such as B."""

    def places(self) -> list[Place]:
        return [place for place in vars(self).values() if isinstance(place, Place)]


def find_pair(table: Table, roles: Roles, asked: Asked) -> Pair | None:
    """The columns of a table of winners, or None when it is none."""
    named, means = asked.names.get("winner"), ""
    if named is not None and named not in table.names:
        column, _, last = named.rpartition(":")
        named, means = (column, last) if last in ("name", "position") else (named, "")
    low = {n.strip().lower(): n for n in table.names}
    hits = [low[n] for n in WINNER if n in low and low[n] not in roles.taken()]
    if named is None and (len(hits) != 1 or "score" in roles.found):
        return None
    winner = table.place(named, "winner") if named else Place(hits[0])
    sides = [next((Place(low[n]) for n in names if n in low), None) for names in (FIRST, SECOND)]
    if (sides[0] is None) != (sides[1] is None):
        sides = [None, None]
    swapped = next((Place(low[n]) for n in SWAPPED if n in low), None)
    if named is None and not _reads(table, winner, sides[0], sides[1]):
        return None
    return Pair(winner, sides[0], sides[1], swapped, means)


def _reads(table: Table, winner: Place, first: Place | None, second: Place | None) -> bool:
    """Whether every winner of the sample is a side, a tie or the name of a system."""
    known = {word for words in WORDS.values() for word in words}
    for place in (first, second):
        known |= {t.casefold() for t in table.distinct(place.text)} if place else set()
    return all(t.strip().casefold() in known for t in table.distinct(winner.text))


def _readings(pair: Pair, types: Mapping[str, str]) -> tuple[str, str, str]:
    """SQL of a winner, and of the margin that it stands for as the name of a system and as a position, or NULL."""
    won = f"trim({pair.winner.sql(types)})"
    cases = "".join(
        f" WHEN lower({won}) IN ({', '.join(quote(w) for w in words)}) THEN '{margin:g}'"
        for margin, words in WORDS.items()
    )
    name = "NULL"
    if pair.first is not None and pair.second is not None:
        name = f"CASE WHEN {won} = {pair.first.sql(types)} THEN '1' WHEN {won} = {pair.second.sql(types)} THEN '-1' END"
    return won, name, f"CASE{cases} END"


def _margin(pair: Pair, types: Mapping[str, str], swapped: str | None) -> str:
    """SQL of the margin as text; a winner that says nothing stays, to be reported."""
    won, name, position = _readings(pair, types)
    if pair.means == "name":  # a name that is not of this pair says nothing; a tie does
        position = f"nullif(nullif({position}, '1'), '-1')"
    if pair.swapped is not None and swapped != "keep":
        if swapped not in ("flip", None):
            raise UsageError(f"--swapped takes flip or keep, not {swapped!r}.")
        position = f"CASE WHEN {_flag(pair.swapped, types)} THEN {_signed(position, '-1')} ELSE {position} END"
    return f"coalesce({'NULL' if pair.means == 'position' else name}, {position}, {won})"


def ambiguous(source: Source, pair: Pair, types: Mapping[str, str]) -> list[str]:
    """Winners that are the name of a system and a position, and mean two things or name one that the row has not."""
    if pair.first is None or pair.second is None or pair.means:
        return []
    won, name, position = _readings(pair, types)
    names = " UNION ".join(f"SELECT {p.sql(types)} FROM {source.relation}" for p in (pair.first, pair.second))
    rows = source.con.execute(
        f"SELECT DISTINCT {won} AS w FROM {source.relation} WHERE {won} IN ({names}) AND "
        f"{position} IS NOT NULL AND {position} IS DISTINCT FROM {name} ORDER BY 1 LIMIT 8"
    ).fetchall()
    return [str(row[0]) for row in rows]


def pair_relation(
    source: Source, pair: Pair, roles: Mapping[str, str], types: Mapping[str, str], asked: Asked, row: str
) -> tuple[str, dict[str, Any]]:
    """SQL of the margins, with `system` or `replicate` columns as there are; and what was done.

    Two systems: the margin of the first one over the second, and the order of showing as a replicate when both orders
    are there. More: each system's margin over whom it met. With both orders `SHOWN` says of each verdict who was shown
    first, who second, and the sign that turns the score into the margin of the first; NULL on a row that repeats one.
    """
    keys = "".join(f", {sql} AS {role}" for role, sql in roles.items())
    inner = f"SELECT {row} AS polyjudge_row{keys}, {_margin(pair, types, asked.swapped)} AS score"
    if pair.first is None or pair.second is None:
        a, b, names = "'A'", "'B'", ["A", "B"]
    else:
        a, b = pair.first.sql(types), pair.second.sql(types)
        rows = source.con.execute(
            f"SELECT v FROM (SELECT {a} AS v, min({row}) AS place FROM {source.relation} GROUP BY 1 UNION ALL "
            f"SELECT {b}, min({row}) + 1 FROM {source.relation} GROUP BY 1) WHERE v IS NOT NULL GROUP BY v "
            "ORDER BY min(place), v"
        ).fetchall()
        names = [str(name) for (name,) in rows]
    if len(names) < 2:
        raise PanelError(f"{source.where} compares {clean(names[0]) if names else 'nothing'} with nothing else.")
    shown, orders = _order(source, pair, types, a, b)
    inner += f", {a} AS a, {b} AS b, {shown} AS shown"
    other = "CASE WHEN shown = a THEN b ELSE a END"
    if len(names) == 2:
        order = ", shown || ' first' AS replicate" if orders == 2 and "replicate" not in roles else ""
        order += (
            _shown("shown", other, f"CASE WHEN shown = {quote(names[0])} THEN 1 ELSE -1 END") if orders == 2 else ""
        )
        sign = f"CASE WHEN a = {quote(names[0])} THEN 1 ELSE -1 END"
        turned = f"{_signed('score', sign)} AS score{order}"
        out = f"(SELECT * EXCLUDE (score), {turned} FROM ({inner} FROM {source.relation}))"
        return out, {"first": names[0], "second": names[1], "systems": 2, "orders": orders}
    first, again = (
        (_shown("shown", other, "CASE WHEN shown = a THEN 1 ELSE -1 END"), _shown("NULL", "NULL", "NULL"))
        if orders == 2
        else ("", "")
    )
    out = (
        f"(SELECT * EXCLUDE (polyjudge_row, score), polyjudge_row * 2 AS polyjudge_row, a AS system, score{first} FROM "
        f"({inner} FROM {source.relation}) UNION ALL SELECT * EXCLUDE (polyjudge_row, score), polyjudge_row * 2 + 1, "
        f"b, {_signed('score', '-1')}{again} FROM ({inner} FROM {source.relation}))"
    )
    return out, {"systems": len(names), "orders": orders, "labels": names[:8]}


def _shown(first: str, second: str, sign: str) -> str:
    return ", " + ", ".join(f"{sql} AS {name}" for sql, name in zip((first, second, sign), SHOWN, strict=True))


def _order(source: Source, pair: Pair, types: Mapping[str, str], a: str, b: str) -> tuple[str, int]:
    """SQL of the system that was shown first, by the flag, else by the columns; and whether some two systems were
    shown in both orders (2) or none were (1)."""
    options = [a] if pair.swapped is None else [f"CASE WHEN {_flag(pair.swapped, types)} THEN {b} ELSE {a} END", a]
    for shown in options:
        rows = source.con.execute(
            f"SELECT max(n) FROM (SELECT count(DISTINCT {shown}) AS n FROM {source.relation} "
            f"GROUP BY least({a}, {b}), greatest({a}, {b}))"
        ).fetchall()
        if rows[0][0] is not None and int(rows[0][0]) > 1:
            return shown, 2
    return a, 1


def _signed(score: str, sign: str) -> str:
    """A margin as text times a sign; a text that is no number stays, to be reported."""
    return f"coalesce(CAST(try_cast({score} AS DOUBLE) * ({sign}) AS VARCHAR), {score})"


def _flag(swapped: Place | None, types: Mapping[str, str]) -> str:
    assert swapped is not None
    return f"lower({swapped.sql(types)}) IN ('true', '1', 'yes', 'y', 't', 'swapped', 'ba')"


def swapped_question(table: Table, pair: Pair, asked: Asked) -> Say | None:
    """Rows marked as swapped may name the winner as shown or as stored: only the user knows. A name is clear."""
    if pair.swapped is None or asked.swapped is not None:
        return None
    names = {t for place in (pair.first, pair.second) if place for t in table.distinct(place.text)}
    sides = {word for margin, words in WORDS.items() if margin for word in words}
    by_position = [w for w in table.distinct(pair.winner.text) if w.strip() not in names and w.strip().lower() in sides]
    return Say("read.swapped", {"column": pair.swapped.text}) if by_position or pair.means == "position" else None
