"""Which columns hold pairs: the two systems, the verdicts, the order in which answers were shown (METHODS 37).

Names of columns propose, values decide: a column is a verdict where its values can be one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import name, names, shell
from polyjudge.read import columns as col
from polyjudge.read.columns import Asked
from polyjudge.read.pair_words import NOTHING, are_picks, are_places, are_verdicts, parse_meanings
from polyjudge.read.scale import PATTERN
from polyjudge.read.table import Table
from polyjudge.verdicts import KEY

OTHER_SIDE = {"a": "b", "1": "2", "left": "right", "first": "second", "x": "y", "one": "two"}
STEMS = "model|system|sys|candidate|generator|llm|assistant|agent|bot|framework|team|player|competitor"
SYSTEM = re.compile(
    rf"((?:{STEMS})_?(?:name_|id_)?)({'|'.join(OTHER_SIDE)})((?:_(?:name|id|model))?)|({'|'.join(OTHER_SIDE)})(_(?:{STEMS}))"
)
"""Columns of the first system: model_a, model_1, model_a_name, left_model."""
SIDES = re.compile(r"(left|right)")
"""Columns that say no more than the place of a system: they count where a column of verdicts is beside them."""
AGAINST = (
    ("winner_model", "loser_model"), ("winner", "loser"), ("model", "baseline"), ("system", "baseline"),
    ("candidate", "baseline"), ("model", "opponent"), ("system", "opponent"),
)  # fmt: skip
"""Columns of two systems that say nothing of the place in which their answers were shown."""
IDENTITIES = frozenset(("uid", "pid", "pair_id", "battle_id", "comparison_id", "match_id", "conversation_id"))
"""Columns that number pairs of answers, where none has a usual name of tasks."""
GENERIC = frozenset(("score", "rating", "grade", "value", "metric", "judge", "answer", "response", "verdicts"))
"""Names of a single column of verdicts that are no judge's."""
RATING = re.compile(rf"((?:score|rating|grade|points)_?)({'|'.join(OTHER_SIDE)})")
ANSWERS = "response|answer|output|completion|conversation|text|generation|translation|summary"
ANSWER = re.compile(rf"((?:{ANSWERS})_?)({'|'.join(OTHER_SIDE)})")
VERDICT_WORDS = (
    "winner|verdict|preference|preferred|pref|choice|vote|voted|pick|picked|decision|selection|selected|better|outcome|"
    "chosen|margin"
)
VERDICT = re.compile(
    rf"(?:(.*?)_)?({VERDICT_WORDS}|result|judge?ment|label)(?:_(?:model|system|response|answer|id|name))*"
)
PEOPLE = re.compile(r"(human|people|person|user|crowd|expert|annotator|annotation|rater|worker)s?\d*(_.*)?")
PICK = re.compile(r"(.*_)?(winner|preferred|preference|pick|picked|better)(_(response|answer|output))?")
GAME = re.compile(rf"(?:g|game|round|order|pass|judge?ment)_?([12])_(?:{VERDICT_WORDS})")
ORDER = re.compile(
    r"(is_)?(swapped|swap|flipped|flip|reversed|reverse|order|presentation_order|shown_first|position|position_swapped|swap_order)"
)
TIES = ("tie", "ties", "draw", "both", "both_equal", "both_bad", "bothbad", "both_good", "tie_both_bad", "tie_bothbad",
        "neither")  # fmt: skip
"""Ends of the names of one-hot columns that say that nobody won."""
ONE_HOT = re.compile(r"(?:winner|win|won|is_winner)_(model_a|a|model_1|1|first|left)")
BOARD = re.compile(r"(.*_)?(win_?rate|elo|elo_rating|arena_score|rating_q\d+|length_controlled_win_?rate)(_.*)?")


@dataclass(frozen=True)
class VerdictColumn:
    """A column of verdicts. judge : its name, "" where another column says who judged; game : 1, 2 or 0."""

    column: str
    judge: str = ""
    game: int = 0
    is_people: bool = False


@dataclass(frozen=True)
class PairColumns:
    """What the columns of a source of pairs hold.

    first, second : of the names of systems; "" where nobody names them
    answers : of the two answers' texts, or ()
    one_hot : of the first, the second and of ties, instead of verdicts
    knows_places : whether the first of a row was shown first, as far as no other column says who was
    first_wins : whether the columns themselves are the winner and the loser
    ratings : of the two answers, of which the higher wins, instead of verdicts
    ties : a column that says that both are equal
    order : who was shown first, or ""
    meanings : of the values, as the user said
    """

    first: str
    second: str
    answers: tuple[str, ...]
    verdicts: tuple[VerdictColumn, ...]
    one_hot: tuple[str, ...] = ()
    ratings: tuple[str, ...] = ()
    ties: str = ""
    order: str = ""
    meanings: dict[str, float] | None = None
    roles: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    knows_places: bool = True
    first_wins: bool = False

    @property
    def used(self) -> set[str]:
        """All columns that hold something."""
        single = {self.first, self.second, self.ties, self.order, *self.answers, *self.one_hot, *self.ratings}
        named = {verdict.column for verdict in self.verdicts} | {
            *self.roles.values(),
            *self.texts.values(),
            *self.errors,
        }
        return (single | named) - {""}


def find_pair_columns(table: Table, asked: Asked) -> PairColumns | None:
    """The columns of a source of pairs; None where it holds none."""
    columns = list(table.columns)
    if asked.score or asked.criteria:
        return None
    _refuse_board(table, columns)
    first, second, knows_places = _find_systems(table, columns)
    answers = tuple(x for x in find_two_sides(columns, ANSWER) if x)
    if not (first or answers or asked.verdict or _has_picks_alone(table, columns)):
        return None
    bare = PairColumns(first, second, answers, (), knows_places=knows_places)
    if col.norm(second).startswith("loser"):
        pairs: PairColumns | None = replace(bare, first_wins=True)
    else:
        pairs = _with_verdicts(table, bare, asked)
    return None if pairs is None else _with_roles(table, pairs, asked)


def _find_systems(table: Table, columns: Sequence[str]) -> tuple[str, str, bool]:
    """The columns of the two systems, and whether they say which was shown first; "" where there are none."""
    first, second = find_two_sides(columns, SYSTEM)
    if first:
        return first, second, True
    by_name = {col.norm(column): column for column in columns}
    if {"winner_model", "loser_model"} <= set(by_name) or {"winner", "loser"} <= set(by_name):
        one, other = next(pair for pair in AGAINST if set(pair) <= set(by_name))
        return by_name[one], by_name[other], False
    picks = [column for column in columns if VERDICT.fullmatch(col.norm(column))]
    outcomes = [column for column in picks if are_verdicts(list_values(table, column), set())]
    if not outcomes:
        return "", "", True
    first, second = find_two_sides(columns, SIDES)
    if first:
        return first, second, True
    named = next((pair for pair in AGAINST if set(pair) <= set(by_name)), ("", ""))
    return by_name.get(named[0], ""), by_name.get(named[1], ""), False


def _with_verdicts(table: Table, pairs: PairColumns, asked: Asked) -> PairColumns | None:
    """One column an outcome, columns of verdicts, or two columns of scores; None where there is none of these."""
    free = [column for column in table.columns if column not in (pairs.first, pairs.second, *pairs.answers)]
    one_hot = find_one_hot(free)
    if one_hot and pairs.first:
        return replace(pairs, one_hot=one_hot)
    verdicts, meanings = _find_verdicts(table, free, pairs, asked)
    ratings = find_two_sides(free, RATING)
    if any(not verdict.is_people for verdict in verdicts) or not pairs.first:
        ratings = ("", "")
    if ratings[0]:
        table.notes.append(f"{names(ratings)} are read as a verdict: the system with the higher one wins.")
    elif not verdicts and pairs.first:
        raise _no_verdict_error(table, pairs.first, pairs.second)
    elif not verdicts:
        return None
    found = replace(pairs, verdicts=verdicts, meanings=meanings, ties=_find_ties(free, verdicts))
    return replace(found, ratings=tuple(x for x in ratings if x))


def _has_picks_alone(table: Table, columns: Sequence[str]) -> bool:
    """Whether a column of winners says A or B, though nobody names the systems and there is no score."""
    if col.usual("score", columns):
        return False
    picks = [column for column in columns if PICK.fullmatch(col.norm(column.split(".")[-1]))]
    values = [{value.removesuffix(".0") for value in list_values(table, column)} for column in picks]
    return any(are_places(sorted(x)) or {"1", "2"} <= x <= {"0", "1", "2"} for x in values)


def find_two_sides(columns: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, str]:
    """Two columns that are called alike but for a and b, 1 and 2, left and right; ("", "") where there are none."""
    by_name = {col.norm(column.split(".")[-1]): column for column in columns}
    for called, column in by_name.items():
        match = pattern.fullmatch(called)
        if match is None:
            continue
        parts = [part for part in match.groups() if part is not None]
        for place, part in enumerate(parts):
            if part in OTHER_SIDE:
                other = "".join([*parts[:place], OTHER_SIDE[part], *parts[place + 1 :]])
                if other in by_name:
                    return column, by_name[other]
    return "", ""


def find_one_hot(columns: Sequence[str]) -> tuple[str, ...]:
    """Columns winner_model_a, winner_model_b and those of ties: winner_tie, winner_both_bad."""
    by_name = {col.norm(column): column for column in columns}
    for called, column in by_name.items():
        match = ONE_HOT.fullmatch(called)
        if match is None:
            continue
        stem, side = called[: match.start(1)], match[1]
        for mark, other in OTHER_SIDE.items():
            if side.endswith(mark) and stem + side[: -len(mark)] + other in by_name:
                ties = [by_name[stem + tie] for tie in TIES if stem + tie in by_name]
                return column, by_name[stem + side[: -len(mark)] + other], *ties
    return ()


def _refuse_board(table: Table, columns: Sequence[str]) -> None:
    """A table of systems with their win rates is a result, and holds no verdict."""
    rates = [column for column in columns if BOARD.fullmatch(col.norm(column))]
    who = [column for column in columns if col.norm(column) in ("name", "model", "model_name", "system", "generator")]
    is_about_tasks = bool(col.usual("language", columns)) or any(
        col.norm(column) in ("task", "task_id", "question_id", "winner", "judge") for column in columns
    )
    if not rates or not who or is_about_tasks:
        return
    sql = table.columns[who[0]][0]
    total, different = table.rows(f"SELECT count(*), count(DISTINCT {sql}) FROM {table.relation}")[0]
    if total == different:
        raise PanelError(
            f"{table.where} is a leaderboard: one row a system, with its {name(rates[0])}. Give the verdicts it was "
            "made from."
        )


def _no_verdict_error(table: Table, first: str, second: str) -> PanelError:
    return PanelError(
        f"{table.where} has pairs of systems ({name(first)}, {name(second)}) and no column `winner`, which says "
        "model_a, model_b or tie. Make it, or name the column of verdicts: --verdict COLUMN; or that of scores: "
        "--score COLUMN."
    )


# --- verdicts ---


def _find_verdicts(
    table: Table, free: Sequence[str], pairs: PairColumns, asked: Asked
) -> tuple[tuple[VerdictColumn, ...], dict[str, float] | None]:
    """Columns of verdicts, of judges and of people, and what the user said their values mean."""
    named, meanings = _named_verdict(table, asked)
    rest = [column for column in free if column not in (named, asked.human)]
    people = [VerdictColumn(column, is_people=True) for column in _people_columns(table, rest, pairs, asked)]
    taken = {verdict.column for verdict in people}
    judged = [VerdictColumn(named)]
    if not named:
        unread = [column for column in rest if column not in taken]
        judged = _judge_columns(table, unread) or _bare_judge_columns(table, unread, pairs)
    if not judged and people and not pairs.first and not asked.human:
        return (), None  # answers beside a label, and no verdict
    return (*judged, *people), meanings


def _named_verdict(table: Table, asked: Asked) -> tuple[str, dict[str, float] | None]:
    """The column of verdicts that the user named, "" where none was, and what its values mean."""
    if not asked.verdict:
        return "", None
    named, meanings = parse_meanings(asked.verdict, table.where)
    if named not in table.columns:
        raise UsageError(
            f"{table.where} has no column {name(named)} (--verdict). Its columns: {names(table.columns, 20)}."
        )
    return named, meanings


def _people_columns(table: Table, free: Sequence[str], pairs: PairColumns, asked: Asked) -> list[str]:
    """Columns of people's votes and of answer keys."""
    if asked.human in table.columns:
        return [asked.human]
    called = {column: col.norm(column.split(".")[-1]) for column in free}
    likely = [column for column in free if is_of_people(called[column])]
    return [column for column in likely if _can_be_verdict(table, column, pairs)]


def is_of_people(called: str) -> bool:
    """Whether a column is called as people's votes or an answer key are."""
    return bool(KEY.fullmatch(called) or PEOPLE.fullmatch(called))


def _judge_columns(table: Table, free: Sequence[str]) -> list[VerdictColumn]:
    """Columns of judges' verdicts, by their names and by whether their values can be one."""
    found = []
    for column in free:
        called = col.norm(column.split(".")[-1])
        game = GAME.fullmatch(called)
        match = VERDICT.fullmatch(called)
        if game:
            found.append(VerdictColumn(column, game=int(game[1])))
        elif match and not is_of_people(called) and _may_be_verdict(table, column, match[2]):
            found.append(VerdictColumn(column, judge=_name_judge(column, match[1] or "")))
    return _only_one_of_each(table, found)


def _name_judge(column: str, called: str) -> str:
    """The judge in the name of a column, as it is written there: gpt-5 of `gpt-5_winner`."""
    written = column.split(".")[-1][: len(called)]
    return written if col.norm(written) == called else called


def _bare_judge_columns(table: Table, free: Sequence[str], pairs: PairColumns) -> list[VerdictColumn]:
    """Columns called as their judges are, or `score`: all their values are verdicts in words, for both sides."""
    if not pairs.first:
        return []
    columns = _columns_of_picks(table, free, pairs)
    has_judges = bool(col.usual("judge", free))
    if len(columns) == 1:
        is_judge = not has_judges and col.norm(columns[0]) not in GENERIC
        return [VerdictColumn(columns[0], judge=columns[0] if is_judge else "")]
    # Columns that are numbered are orders or tries of one judge, and beside a column of judges nobody's name.
    stems = [re.sub(r"[_\W]*\d$", "", col.norm(column)) for column in columns]
    if has_judges or any(re.fullmatch(VERDICT_WORDS, stem) for stem in stems):
        return []
    return [VerdictColumn(column, judge=column) for column in columns]


def _columns_of_picks(table: Table, free: Sequence[str], pairs: PairColumns) -> list[str]:
    """Columns without another role, all of whose values are verdicts in words, for both sides."""
    systems = {*list_values(table, pairs.first), *list_values(table, pairs.second)}
    roles = ("task", "language", "judge", "cluster", "replicate")
    usual = {column for role in roles for column in col.usual(role, free)}
    called = {column: col.norm(column.split(".")[-1]) for column in free if column not in usual}
    orders = ("shown", "shown_as")
    without_role = [column for column, word in called.items() if not ORDER.fullmatch(word) and word not in orders]
    return [column for column in without_role if are_picks(list_values(table, column), systems)]


def _can_be_verdict(table: Table, column: str, pairs: PairColumns) -> bool:
    """Whether all values of a column are verdicts by words or places."""
    values = list_values(table, column)
    systems: set[str] = set()
    for side in (pairs.first, pairs.second):
        systems |= set(list_values(table, side)) if side else set()
    places = {"0", "1", "2", "0.0", "1.0", "2.0"}
    known = [value for value in values if value.lower() not in NOTHING]
    return bool(known) and (are_verdicts(known, systems) or set(known) <= places)


def _may_be_verdict(table: Table, column: str, word: str) -> bool:
    """Whether values may be a verdict: few different ones, or numbers; texts of judgments are none."""
    values = list_values(table, column)
    if all(re.fullmatch(PATTERN, value) for value in values):
        return True
    few = len(values) <= 60 and max((len(value) for value in values), default=0) <= 80
    return few or word in ("winner", "chosen")


def list_values(table: Table, column: str) -> list[str]:
    """The different values of a column, up to 300."""
    sql = f"SELECT DISTINCT trim(CAST({table.columns[column][0]} AS VARCHAR)) FROM {table.relation} LIMIT 300"
    return sorted(str(value) for (value,) in table.rows(sql) if value is not None)


def _only_one_of_each(table: Table, found: list[VerdictColumn]) -> list[VerdictColumn]:
    """Of several columns without a judge's name the most usual one; games go before what is made of them."""
    games = [verdict for verdict in found if verdict.game]
    if {verdict.game for verdict in games} == {1, 2}:
        return games
    plain = [
        verdict for verdict in found if col.norm(verdict.judge) in ("", "final", "judge", "judged", "model", "overall")
    ]
    if len(plain) < 2:
        return [replace(verdict, judge="") if verdict in plain else verdict for verdict in found]
    usual = VERDICT_WORDS.split("|")
    plain.sort(key=lambda verdict: next((i for i, x in enumerate(usual) if x in col.norm(verdict.column)), 99))
    chosen, *others = plain
    flag = shell(others[0].column)
    table.notes.append(
        f"{name(chosen.column)} is read as the verdict, and not {names([x.column for x in others])}. To read that: "
        f"--verdict {flag}."
    )
    return [replace(chosen, judge=""), *(verdict for verdict in found if verdict not in plain)]


def _find_ties(free: Sequence[str], verdicts: Sequence[VerdictColumn]) -> str:
    """A column that says that both are equal, beside the name of the chosen one."""
    taken = {verdict.column for verdict in verdicts}
    usual = ("both_equal", "tie", "is_tie", "equal", "tied", "both_bad", "draw")
    return next((column for column in free if col.norm(column) in usual and column not in taken), "")


# --- the rest ---


def _with_roles(table: Table, pairs: PairColumns, asked: Asked) -> PairColumns:
    """Tasks, languages, judges, the order and the texts, by their usual names or as the user said."""
    roles = _named_roles(table, asked)
    free = [column for column in table.columns if column not in pairs.used | {*roles.values()}]
    for role in ("judge", "language", "cluster", "annotator", "replicate", "task"):
        hits = _propose_columns(role, free)
        if hits and role not in roles:
            roles[role] = hits[0]
            free.remove(hits[0])
    if "annotator" in roles and "judge" not in roles:
        roles["judge"] = roles.pop("annotator")
    order = next((column for column in free if ORDER.fullmatch(col.norm(column))), "")
    errors = tuple(column for column in free if col.ERRORS.fullmatch(col.norm(column.split(".")[-1])))
    return replace(pairs, roles=roles, order=order, texts=_find_texts(roles, free), errors=errors)


def _propose_columns(role: str, free: Sequence[str]) -> list[str]:
    """Columns with a usual name of a role; tasks may also be numbered as pairs of answers are."""
    hits = col.usual(role, free)
    if role == "task":
        hits += [column for column in free if col.norm(column) in IDENTITIES and column not in hits]
    return hits


def _find_texts(roles: dict[str, str], free: Sequence[str]) -> dict[str, str]:
    """Columns of prompts and reasons; a task may be its prompt."""
    texts = {text: hits[0] for text in ("prompt", "reason") if (hits := col.usual(text, free))}
    if "prompt" not in texts and col.norm(roles.get("task", "")) in ("prompt", "question", "instruction", "input"):
        texts["prompt"] = roles["task"]
    return texts


def _named_roles(table: Table, asked: Asked) -> dict[str, str]:
    """The columns that the user named."""
    roles: dict[str, str] = {}
    for role in ("task", "language", "judge", "cluster", "replicate"):
        option = "by" if role == "language" and asked.by else role
        said = getattr(asked, option)
        if said in table.columns:
            roles[role] = said
        elif said and not (role == "replicate" and said in ("row", "rows")):
            raise UsageError(
                f"{table.where} has no column {name(said)} (--{option}). Its columns: {names(table.columns, 20)}."
            )
    return roles
