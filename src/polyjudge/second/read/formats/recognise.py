"""From an opened table to the long form that engines group: its shape, columns and values, and how they were read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polyjudge.second.panel.adjustment import quote
from polyjudge.second.panel.columns import UNREAD, Columns, listed, spelled
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.reading import ROLES, Reading, RoleRead, Unclear, message
from polyjudge.second.panel.say import Say, Words
from polyjudge.second.read import duck
from polyjudge.second.read.duck import FILE, ROW, Source, engine_errors, name
from polyjudge.second.read.engine import Engine
from polyjudge.second.read.formats import ragas
from polyjudge.second.read.formats import values as v
from polyjudge.second.read.formats.names import SCORE_WORDS, Spread, compile_pattern, guess_spread, tokens, words
from polyjudge.second.read.formats.roles import OTHER, Asked, Roles, candidates, conditions, find_roles, only_one
from polyjudge.second.read.formats.table import Place, Table, as_number
from polyjudge.second.read.opener import Opened

if TYPE_CHECKING:
    from polyjudge.second.read.formats.verdicts import Pair

NO_JUDGE = words(
    "mean avg average median std stdev sd var variance sum total min max overall consensus majority ensemble human "
    "gold reference truth"
)
"""Columns beside those of judges that are summaries or labels."""
MODEL = ("model", "model_name", "model_id", "evaluated_model")
"""Columns that may name what judges or what is judged."""
REPEAT = "polyjudge_repeat"
"""Column with the place of a score in its list."""
SHOWN = 8
"""Labels of a role that a reading shows."""
READABLE = ("VARCHAR", "ENUM", "BOOLEAN", "JSON", "NULL", '"NULL"', *duck.NUMBERS)
"""Types of the engine that may hold scores."""
FAR = 5.0
"""A score column whose largest value is so many times the others' is asked about."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where scores stand in the rows of a source as they are, so that others can be put beside them.

    labels : language and judge, where a row says them
    scores : place of each score, and the labels that its column's name says
    """

    labels: Mapping[str, Place]
    scores: tuple[tuple[Place, Mapping[str, str]], ...]
    values: v.Values
    typed: bool
    """The scores are numbers of the engine, not text."""


@dataclass(frozen=True, kw_only=True)
class Understood:
    """A source that engines can group, its columns, and how it was understood."""

    source: Source | Engine
    """An engine where another than ours holds the rows."""
    columns: Columns
    reading: Reading
    limits: tuple[float, float] | None = None
    layout: Layout | None = None
    """None for winners of pairs, which are no scores yet."""
    average: bool = False
    """Several rows of one entry belong together (margins over several opponents) and are averaged."""
    notes: tuple[Words, ...] = ()
    opened: Opened | None = None
    """What its format says, where our own engine opened it."""


@dataclass(kw_only=True)
class _Draft:
    """A reading in the making."""

    table: Table
    asked: Asked
    roles: Roles
    spread: Spread | None = None
    pair: Pair | None = None
    by_row: bool = False
    lists: bool = False
    """Each score is a list: repeats of one measurement."""
    format: str = ""

    def missing(self) -> list[str]:
        have = set(self.roles.found)
        if self.pair is not None:
            have |= {"score"}
        if self.spread is not None:
            have |= {"score", *self.spread.roles}
        if self.by_row:
            have |= {"task"}
        needed = ("task", "language", "judge", "score") if self.asked.require_task else ("language", "judge", "score")
        return [r for r in needed if r not in have]

    def take_only(self) -> None:
        """Say of all rows what no column says, where there is but one language or judge."""
        for role in [r for r in self.missing() if r in ("language", "judge") and r not in self.roles.several]:
            if place := only_one(self.table, self.roles, self.asked, role):
                self.roles.found[role] = (place, "only")


def recognise(opened: Opened, asked: Asked) -> Understood:
    """Find roles and shape, copy what is needed into the engine where that is costly, and read the scores' values.

    A table that could be read in two ways raises `Unclear` with all that has to be said.
    """
    source, needs = opened.source, opened.needs
    table = Table(source)
    draft = _Draft(table=table, asked=asked, roles=find_roles(table, asked), format=asked.format or source.kind)
    if asked.names.get("task") is None and needs:
        _join_tasks(draft, source.frame)
    _find_shape(draft, _ragas_metrics(draft))
    draft.take_only()
    if asked.languages and not (asked.wide or draft.spread or draft.pair) and draft.missing():
        _find_wide(draft)  # judges in the names of columns, now that the language is said
    if "score" in draft.roles.found and draft.spread is None:
        place = draft.roles.found["score"][0]
        draft.lists = place.plain and "replicate" not in draft.roles.found and table.holds_lists(place.text)
    reading = _reading(draft, opened.shown or source.where)
    if reading.questions:
        raise Unclear(message(reading, table.names) + (f" This format needs: {needs}." if needs else ""), reading)
    with engine_errors(source.where):
        duck.spool(source, _needed(draft))
        if draft.lists:
            _open_lists(draft)
        return _settle(draft, duck.column_types(source), reading)


# --- shape ---


def _ragas_metrics(draft: _Draft) -> list[str]:
    """Columns that are metrics of ragas, where a table may be of ragas, or where no score is."""
    names = draft.table.names
    if "score" in draft.roles.found and not {"response", "answer"} & set(names):
        return []
    draft.format = "ragas" if ragas.fits(names) else draft.format
    return ragas.metrics(names)


def _find_shape(draft: _Draft, metrics: list[str]) -> None:
    table, roles, asked = draft.table, draft.roles, draft.asked
    if asked.wide is not None:
        free, rule = _scorable(draft), compile_pattern(asked.wide)
        found = {n: m.groupdict() for n in free if (m := rule.fullmatch(n))}
        if len(found) < 2:
            raise PanelError(
                f"--wide {clean(asked.wide)!r} fits {len(found)} of the columns of {table.source.where}: "
                f"{listed(free)}."
            )
        draft.spread = Spread(asked.wide, found)
        for role in ("score", *draft.spread.roles):
            roles.found.pop(role, None)
            roles.several.pop(role, None)
    elif "score" not in roles.found and metrics:
        if len(metrics) == 1:
            roles.found["score"] = (Place(metrics[0]), "usual name")
        else:
            roles.several["score"] = metrics
    elif "score" not in roles.found or asked.names.get("winner"):
        from polyjudge.second.read.formats.verdicts import find_pair

        draft.pair = find_pair(table, roles, asked)
        if draft.pair is None and asked.names.get("score") is None:
            _find_wide(draft)
    if draft.missing() == ["task"] and draft.spread is not None and "task" not in roles.several:
        whole = {"language", "judge"} <= set(draft.spread.roles)  # a row holds all scores of its task
        maybe = [n for n in candidates(table, roles, "task") if not OTHER.match(n)] if whole else []
        ids = [n for n in maybe if len(table.distinct(n)) == len(table.texts(n))]
        if len(ids) == 1:
            roles.found["task"] = (table.place(ids[0]), "content")
        draft.by_row = whole and len(ids) != 1


def _find_wide(draft: _Draft) -> None:
    """Scores in several columns, when one row does not say its language, its judge, or either."""
    table, roles = draft.table, draft.roles
    need_language, need_judge = "language" not in roles.found, "judge" not in roles.found
    if not (need_language or need_judge):
        return
    several = roles.several.get("score", [])
    numeric = _scorable(draft)
    named = [n for n in numeric if SCORE_WORDS & {t.lower() for t in tokens(n)}]
    numeric = named if len(named) > 1 else numeric
    others = [n for n in numeric if _no_judge(n)] if need_judge else []
    if not need_language:  # a field of the whole file, such as its run: no judge gives one score throughout
        others += [n for n in numeric if n not in others and len(table.texts(n)) > 9 and len(table.distinct(n)) == 1]
    numeric = [n for n in numeric if n not in (*several, *others)] or several
    spread = guess_spread(numeric, need_language, need_judge)
    if spread is None and need_language and need_judge:
        spread = guess_spread(numeric, need_language=True, need_judge=False)
    if spread is None or (not need_language and "task" not in roles.found):
        return  # names of judges are known by nothing: only a table whose other columns are clear is read by them
    for role in ("score", *spread.roles):
        roles.several.pop(role, None)
    draft.spread = spread
    if others:
        roles.doubts.append(Say("read.no_judges", {"columns": others, "pattern": spread.pattern}))
    numbers = {n: [x for x in map(as_number, table.texts(n)) if x is not None] for n in numeric}
    tops = {n: max(map(abs, some), default=0.0) for n, some in numbers.items()}
    middle = sorted(tops.values())[len(tops) // 2]
    far = [n for n, top in tops.items() if middle > 0 and top > FAR * middle]
    if far:
        roles.doubts.append(Say("read.far_column", {"columns": far, "pattern": spread.pattern}))


def _no_judge(column: str) -> bool:
    """By its name a mean of judges or labels (`mean`, `score_avg`, `human`), or a number of something else
    (`answer_chars`, `gpt-4_latency`)."""
    parts = [t.lower() for t in tokens(column)[::2]]
    rest = [t for t in parts if t not in SCORE_WORDS]
    return (len(rest) == 1 and rest[0] in NO_JUDGE) or any(map(OTHER.fullmatch, parts))


def _scorable(draft: _Draft) -> list[str]:
    """Free columns that could hold scores: all that the sample shows are scores, and no name of something else."""
    table, taken = draft.table, draft.roles.taken()
    free = [n for n in [*table.names, *table.leaves] if n not in taken]
    numbers = [n for n in free if table.score_like(n) and not table.is_row_number(n)]
    return [n for n in numbers if not OTHER.match(n) and spelled(n) not in UNREAD]


def _join_tasks(draft: _Draft, frame: Any) -> None:
    """Of a tool's files whose tests differ only in language: the field that makes them one task, where one does."""
    found = draft.roles.found
    if not {"task", "language"} <= set(found) or not all(found[r][0].column in frame for r in ("task", "language")):
        return
    task, language = (frame[found[r][0].column].astype(str) for r in ("task", "language"))
    if bool((language.groupby(task).nunique() > 1).any()) or language.nunique() < 2:
        return
    system = frame["system"].astype(str) if "system" in frame else language
    tests = len(set(zip(task, language, system, strict=True)))
    keys: dict[tuple[Any, ...], str] = {}
    for column in (c for c in frame if "." in str(c) and c != found["language"][0].column and frame[c].notna().all()):
        values = frame[column].astype(str)
        joined = values.groupby(values).ngroup()
        each = language.groupby(values).nunique()
        apart = len(set(zip(values, language, system, strict=True))) == tests  # no two tests of one language
        if apart and (each > 1).mean() > 0.5 and len(each) > 1 and ".mlflow." not in str(column):
            keys.setdefault(tuple(joined), str(column))
    if len(keys) == 1:
        column = next(iter(keys.values()))
        found["task"] = (Place(column), "joins")
        draft.roles.doubts.append(Say("read.task_key", {"column": column}))
    elif keys:
        del found["task"]
        draft.roles.several["task"] = list(keys.values())


# --- what is asked ---


def _questions(draft: _Draft) -> list[Say]:
    table, roles = draft.table, draft.roles
    out = []
    for role in draft.missing():
        if role in roles.several:
            out.append(Say("read.several", {"role": role, "columns": roles.several[role]}))
            continue
        model = next((n for n in table.names if n.strip().lower() in MODEL), None)
        others = {place.text for taken, (place, _) in roles.found.items() if taken != "system"}
        if role == "judge" and model is not None and model not in others:
            out.append(Say("read.lone_model", {"column": model, "labels": table.distinct(model)[:SHOWN]}))
        else:
            maybe = candidates(table, roles, role)
            by = conditions(table, roles) if role == "language" and not maybe else []
            out.append(Say("read.missing", {"role": role, "candidates": maybe, "by": by}))
    if draft.pair is not None:
        from polyjudge.second.read.formats.verdicts import swapped_question

        out += filter(None, [swapped_question(table, draft.pair, draft.asked)])
    out += [d for d in roles.doubts if d.code == "read.far_column" and draft.asked.wide is None]
    return out


# --- the reading ---


def _reading(draft: _Draft, shown: str) -> Reading:
    table, roles = draft.table, draft.roles
    parts = []
    options: dict[str, str] = {"--format": draft.asked.format} if draft.asked.format else {}
    for role in ROLES:
        if role in roles.found:
            place, how = roles.found[role]
            if how == "only":
                parts.append(RoleRead(role=role, column="", how=how, labels=(place.label,), distinct=1))
                continue
            where, labels = place.text, [] if place.regex else table.distinct(place.text)
            if how in ("file name", "pattern"):
                if role != "task":  # the pattern of the language says it too
                    options[f"--{role}-from"] = roles.patterns[role]
                where = roles.patterns[role] if place.column == FILE else where
            else:
                options[f"--{role}"] = place.text
            parts.append(RoleRead(role=role, column=where, how=how, labels=tuple(labels[:SHOWN])))
        elif draft.spread is not None and role in ("score", *draft.spread.roles):
            said = tuple(dict.fromkeys(cell[role] for cell in draft.spread.labels.values() if role in cell))
            some = RoleRead(role=role, column=draft.spread.pattern, how="column names", labels=said[:SHOWN])
            parts.append(replace(some, distinct=len(said) or None))
        elif role == "task" and draft.by_row:
            parts.append(RoleRead(role=role, column="", how="row"))
        elif role == "score" and draft.pair is not None:
            parts.append(RoleRead(role=role, column=draft.pair.winner.text, how="usual name"))
            options["--winner"] = draft.pair.winner.text + (f":{draft.pair.means}" if draft.pair.means else "")
    if draft.spread is not None:
        options["--wide"] = draft.spread.pattern
        if any(d.code == "read.no_judges" for d in roles.doubts):
            options["--judges"] = ",".join(dict.fromkeys(cell["judge"] for cell in draft.spread.labels.values()))
    if draft.asked.swapped:
        options["--swapped"] = draft.asked.swapped
    used = roles.taken() | set(draft.spread.labels if draft.spread else ())
    used |= {p.text for p in draft.pair.places()} if draft.pair else set()
    questions = _questions(draft)
    asked = {q.values["column"] for q in questions if q.code == "read.lone_model"}
    tops = {u.split(".")[0] for u in used if u not in table.names}
    return Reading(
        source=shown,
        format=draft.format,
        shape="wide" if draft.spread else "pairs" if draft.pair else "long",
        roles=tuple(p for p in parts if p.role != "system" or p.column not in asked),
        unused=tuple(n for n in table.names if n not in (*used, *tops, FILE)),
        doubts=tuple(d for d in roles.doubts if d.code != "read.far_column" or draft.asked.wide is not None),
        questions=tuple(questions),
        options=options,
    )


# --- SQL ---


def _needed(draft: _Draft) -> list[str]:
    places = [place for place, _ in draft.roles.found.values()]
    wanted = [p.column for p in (*places, *(draft.pair.places() if draft.pair else ()))]
    wanted += [draft.table.place(n).column for n in draft.spread.labels] if draft.spread else []
    return [column for column in dict.fromkeys(wanted) if column]


def _settle(draft: _Draft, types: Mapping[str, str], reading: Reading) -> Understood:
    """The relation, its columns and the final reading."""
    source, found = draft.table.source, draft.roles.found
    if draft.pair is not None:
        return _settle_pairs(draft, types, reading)
    cells = {n: draft.table.place(n) for n in draft.spread.labels} if draft.spread else {"": found["score"][0]}
    simple = draft.spread is None and all(place.plain for place, _ in found.values())
    kinds = {p: types.get(p.column, "") for p in cells.values()}
    typed = all(p.plain and duck.is_number(k) for p, k in kinds.items())
    typed = typed and not v.numbers_in(v.parse_map(draft.asked.map))
    for place, kind in kinds.items():
        if place.plain and ("[" in kind or not kind.startswith(READABLE)):
            raise PanelError(
                f"The score column {place.text!r} holds {clean(kind.lower().partition('_')[0])}, not numbers."
            )
    texts = {n: f"CAST({p.sql(types)} AS VARCHAR)" for n, p in cells.items()}
    where = f"The score column {found['score'][0].text!r} of {source.where}" if not draft.spread else source.where
    read = v.Values() if typed else _values(draft, source, list(texts.values()), where)
    stated = ",".join(f"{word}={'' if number is None else f'{number:g}'}" for word, number in read.mapping.items())
    flags = {"--map": stated, "--decimal": "comma" if read.comma else ""}
    options = {**reading.options, **{flag: said for flag, said in flags.items() if said}}
    reading = replace(reading, values=read.to_dict(), options=options)
    labels = {role: place for role, (place, _) in found.items() if role in ("language", "judge")}
    spread = draft.spread.labels if draft.spread else {"": {}}
    layout = Layout(labels=labels, scores=tuple((cells[n], spread[n]) for n in cells), values=read, typed=typed)
    if simple and read.as_written:
        chosen = {"task": "", **{role: found[role][0].column for role in found}}
        return Understood(source=source, columns=Columns(**chosen), reading=reading, limits=read.limits, layout=layout)
    row = source.row or "0"
    keys = {role: place.sql(types) for role, (place, _) in found.items() if role != "score"}
    if draft.by_row:
        keys["task"] = f"'row ' || ({row} + 1)"
    titles = _titles(draft, keys)
    picked = "".join(f", {sql} AS {name(titles[role])}" for role, sql in keys.items())
    if draft.spread is None:
        score = read.sql(texts[""]) if not typed else name(found["score"][0].column)
        titles["score"] = found["score"][0].text
        relation = f"(SELECT {row} AS {ROW}{picked}, {score} AS {name(titles['score'])} FROM {source.relation})"
        width = 1
    else:
        relation, width = _wide_sql(draft, read, texts, picked, row)
    used = [*keys, "score", *(draft.spread.roles if draft.spread else ())]
    columns = Columns(**{"task": "", **{role: titles.get(role, role) for role in used}})
    at = ROW if source.row else None
    turned = replace(source, relation=relation, columns=[*vars(columns).values()], row=at, rows_per_line=width)
    return Understood(source=turned, columns=columns, reading=reading, limits=read.limits, layout=layout)


def _open_lists(draft: _Draft) -> None:
    """A row for each number of a list of scores; its place in the list is the replicate."""
    source, score = draft.table.source, draft.roles.found["score"][0].column
    plain = f"replace(replace(CAST({name(score)} AS VARCHAR), 'None', 'null'), 'nan', 'null')"
    order = f" ORDER BY {source.row}" if source.row else ""
    source.con.execute(
        f"CREATE TEMP TABLE listed AS SELECT * EXCLUDE ({name(score)}, polyjudge_list), "
        f"unnest(polyjudge_list) AS {name(score)}, generate_subscripts(polyjudge_list, 1) AS {REPEAT} "
        f"FROM (SELECT *, json_extract_string({plain}, '$[*]') AS polyjudge_list FROM {source.relation}{order})"
    )
    source.relation, source.row, source.first_line = "listed", "rowid", None
    draft.roles.found["replicate"] = (Place(REPEAT), "content")


def _titles(draft: _Draft, keys: Mapping[str, str]) -> dict[str, str]:
    """Role -> name of its column after reshaping: the user's own where no other column has it."""
    taken = {"score", "line", "cell", ROW, *(draft.spread.roles if draft.spread else ())}
    out = {}
    for role in keys:
        own = draft.roles.found[role][0] if role in draft.roles.found else None
        mine = own is not None and own.column not in (FILE, "") and own.text not in taken | (keys.keys() - {role})
        out[role] = own.text if own is not None and mine else role
        taken.add(out[role])
    return out


def _wide_sql(draft: _Draft, read: v.Values, texts: Mapping[str, str], keys: str, row: str) -> tuple[str, int]:
    """One row for each score column of each row, in the order of rows and columns."""
    assert draft.spread is not None
    width = len(draft.spread.labels)
    structs = []
    for i, (n, cell) in enumerate(draft.spread.labels.items()):
        labels = ", ".join(f"'{role}': {quote(label)}" for role, label in cell.items())
        structs.append(f"{{'at': {i}, {labels}, 'score': {read.sql(texts[n])}}}")
    cells = "".join(f", cell.{role} AS {role}" for role in draft.spread.roles)
    inner = f"SELECT {row} AS line{keys}, unnest([{', '.join(structs)}]) AS cell FROM {draft.table.source.relation}"
    place = f"line * {width} + cell.at AS {ROW}"
    return f"(SELECT * EXCLUDE (line, cell), {place}{cells}, cell.score AS score FROM ({inner}))", width


def _values(draft: _Draft, source: Source, texts: list[str], where: str) -> v.Values:
    """What the score columns hold together, in one pass: scores are few different texts, each looked at once."""
    one = " UNION ALL ".join(f"SELECT trim({t}) AS t FROM {source.relation}" for t in texts)
    one = f"SELECT t, count(*) AS n FROM ({one}) GROUP BY t"
    given = v.parse_map(draft.asked.map)
    profile = None if given else v.plain_profile(source.con.execute(f"{one} LIMIT {v.FEW + 1}").fetchall())
    if profile is None:
        counts, is_word = v.profile_sql("t", given)
        cursor = source.con.execute(f"SELECT {counts}, bool_or({is_word}) AS words FROM ({one})")
        found = dict(zip((column[0] for column in cursor.description), cursor.fetchall()[0], strict=True))
        grouped = f"SELECT t, n FROM ({one}) WHERE {is_word} ORDER BY 2 DESC, 1 LIMIT {v.MOST_WORDS}"
        words = source.con.execute(grouped).fetchall() if found["words"] else []
        found["words"] = {str(t): int(n) for t, n in words}
        profile = v.Profile(**found)
    profile = replace(profile, semicolons=source.delimiter == ";")
    return v.recognise(profile, given, draft.asked.decimal, where, lambda some: _where(source, texts, some))


def _where(source: Source, texts: list[str], some: list[str], most: int = 5) -> str:
    """The first rows that hold some words, by line or row."""
    among = ", ".join(map(quote, some))
    each = " UNION ALL ".join(
        f"SELECT {source.row or 0} AS place, trim({t}) AS t FROM {source.relation} WHERE trim({t}) IN ({among})"
        for t in texts
    )
    rows = source.con.execute(f"SELECT place, t FROM ({each}) ORDER BY place LIMIT {most}").fetchall()
    if source.row is None:
        return ", ".join(repr(clean(word, 40)) for word in some[:most])
    start, word = (source.first_line, "line") if source.first_line is not None else (1, "row")
    return ", ".join(f"{word} {int(at) % (1 << 40) + start} ({clean(text, 40)!r})" for at, text in rows)


def _settle_pairs(draft: _Draft, types: Mapping[str, str], reading: Reading) -> Understood:
    from polyjudge.second.read.formats.verdicts import ambiguous, pair_relation

    assert draft.pair is not None
    source, found = draft.table.source, draft.roles.found
    keys = {role: place.sql(types) for role, (place, _) in found.items() if role not in ("score", "system")}
    if source.row is None:
        raise PanelError(f"{source.where} has no row order, which winners of pairs need. Copy it into a file.")
    if both := ambiguous(source, draft.pair, types):
        question = Say("read.winner", {"column": draft.pair.winner.text, "words": both})
        raise Unclear(message(asks := replace(reading, questions=(question,))), asks)
    relation, facts = pair_relation(source, draft.pair, keys, types, draft.asked, source.row)
    many = facts["systems"] > 2
    more = ["system"] if many else ["replicate"] if facts["orders"] == 2 and "replicate" not in keys else []
    used = [*keys, "score", *more]
    ordered = {"row": ROW, "rows_per_line": 2 if many else 1, "shown": facts["orders"] == 2}
    turned = replace(source, relation=relation, columns=used, **ordered)
    says = replace(reading, values={"kind": "margins", **facts})
    columns = Columns(**{role: role for role in dict.fromkeys(used)})
    return Understood(source=turned, columns=columns, reading=says, limits=(-1.0, 1.0), average=many)
