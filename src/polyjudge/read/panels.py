"""A source becomes a panel: columns are chosen, names factorised in the engine, checks made on whole columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, plural, shell
from polyjudge.panel import AXES, CELLS, Panel, scale_of
from polyjudge.read import columns as col
from polyjudge.read import rows, scale, shape
from polyjudge.read.columns import Asked
from polyjudge.read.labels import labels_of, spelled_as
from polyjudge.read.long import Indicator, Long, Sums, distinct, make_panel
from polyjudge.read.pairs import NOTHING_TO_WRITE, holds_pairs, read_pairs
from polyjudge.read.table import FILE, Table, ident, label_sql, open_frame, open_table, stacked
from polyjudge.read.texts import ItemTexts, SourceTexts
from polyjudge.read.work import Reading, Work

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
ROLES = ("task", *CELLS, "replicate", "cluster")
ODD = re.compile(r"[^!-~\n]|__|^_|_$|^-?(0\d+|\d+\.0+)$", re.MULTILINE)
"""What many labels have that are spelled in two ways, where it is not their capitals: spaces, 007, 3.0."""
DOCUMENTS = (
    "doc", "document", "doc_id", "document_id", "passage", "passage_id", "conversation_id", "thread_id", "article",
)  # fmt: skip


def read_panel(
    source: Any,
    *,
    task: str | None = None,
    system: str | None = None,
    language: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    human: str | None = None,
    criterion: str | None = None,
    cluster: str | None = None,
    replicate: str | None = None,
    by: str | None = None,
    languages: tuple[str, ...] | None = None,
    judges: tuple[str, ...] | None = None,
    systems: tuple[str, ...] | None = None,
    criteria: tuple[str, ...] | None = None,
    range: str | None = None,
    drop: tuple[str, ...] | None = None,
    engine: str | None = None,
    verdict: str | None = None,
    favours: str | None = None,
    human_judges: tuple[str, ...] | None = None,
    labels: Path | None = None,
    items: Path | None = None,
) -> Panel:
    """Read scores into a panel: a file, a frame, a table of a database or warehouse, files of an evaluation tool.

    Long tables have one row a score, wide ones a column of scores for each judge; columns are found by their usual
    names. What is not there is one: one language, one judge; a row without a task is a task.

    source : path, `file.db::table`, `-`, address of a database, data frame, Arrow or Ibis table, or a panel
    task : the column of tasks (items, questions, cases)
    system : the column of systems, whose answers are scored
    language : the column of languages
    judge : the column of judges; in a wide table --judges names theirs
    score : the column of scores
    criterion : the column of criteria, where there are several scores for each answer
    cluster : the column of what tasks belong to, such as the document that they ask about
    replicate : the column of repeated measurements; `row`: rows that repeat are such
    human : the column of human labels, or the judge that stands for people
    by : a column that takes the place of the language, such as a rubric or a domain
    languages : only these languages
    judges : only these judges; in a table with a column of scores for each judge, those columns
    systems : only these systems
    criteria : only these criteria; in a table with a column of scores for each criterion, those columns
    range : the lowest and the highest score, such as 0:100
    drop : scores that mean that there is none, such as -1
    engine : spark, to read files or tables by Spark
    verdict : of pairs the column that says who won; 'result:0=tie,1=first,2=second' says what its values mean
    favours : first or second: which of the two systems a high number in that column favours
    human_judges : judges who are people, such as 'expert_*,author_*'
    labels : a file or frame of human labels
    items : a file or frame with the texts of the tasks

    Examples:
        polyjudge check scores.csv
        polyjudge check scores.csv --judge backbone --range 0:100
    """
    given = {k: v for k, v in locals().items() if k not in ("source", "labels", "items") and v is not None}
    if not isinstance(source, Panel):
        return explain(source, labels=labels, items=items, **given).panel
    if odd := sorted(given.keys() - {"systems", "languages", "judges"}):
        raise UsageError(f"{names(odd)}: a panel is read already, and is not read again.")
    return source.select(**{axis: _several(x) for axis, x in given.items()}) if given else source  # type: ignore[arg-type]


def _several(given: Any) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, (int, float)) else list(given)
    return tuple(x for x in ((f"{p:g}" if isinstance(p, float) else str(p)).strip() for p in parts) if x)


def begin(source: Any, options: Mapping[str, Any]) -> Work:
    """Open a source of scores, and decide what its columns are; verdicts on pairs are refused."""
    table, asked = _open(source, options)
    if holds_pairs(table, asked):
        raise UsageError(NOTHING_TO_WRITE)
    return _settle(table, asked)


def _open(source: Any, options: Mapping[str, Any]) -> tuple[Table, Asked]:
    """The source as a table, and what the user said about it."""
    if odd := sorted(options.keys() - {*col.OPTIONS}):
        raise UsageError(f"read_panel has no such option: {names(odd)}.")
    said = {k: _several(v) if k in col.LISTS else v for k, v in options.items()}
    asked = Asked(**said | {"range": scale.parse_range(options.get("range"))})
    return open_table(source, asked.engine), asked


def _settle(table: Table, asked: Asked) -> Work:
    """What the columns of a table of scores are."""
    roles = col.find_roles(list(table.columns), asked, table.where, table.notes, bool(table.tool))
    work = Work(table, roles, asked, table.notes)
    shape.settle(work)
    return work


def explain(source: Any, *, labels: Any = None, items: Any = None, **options: Any) -> Reading:
    """Read a source, and say how it was read."""
    table, asked = _open(source, options)
    pairs = read_pairs(table, asked, source, labels)
    if pairs is not None:
        return pairs
    work = _settle(table, asked)
    used, columns, tool = work.roles.used(), work.table.columns, work.table.tool
    panel, levels = _panel(work)
    shown = str(source) if isinstance(source, (str, Path)) else ""
    panel = replace(panel, source=shown, read=work.asked.words(), texts=SourceTexts.of(work, source))
    if isinstance(panel.indicator, Indicator):
        again = replace(panel.indicator, read=read_panel, source=source, options=options)
        panel = replace(panel, indicator=again)
    columns_of = _columns_of_roles(work, panel)
    panel = replace(panel, roles=_roles_in_words(work, panel, columns_of), question=work.question)
    panel = _with_files_beside(panel, source, labels, items)
    return Reading(panel, columns_of, tuple(c for c in columns if c not in used), levels, work.failed, tool)


def _with_files_beside(panel: Panel, source: Any, labels: Any, items: Any) -> Panel:
    """The panel with people's labels and texts of tasks that stand in files of their own."""
    if labels is not None:
        import pandas as pd

        more = spelled_as(labels_of(labels), panel).astype({"label": float})
        panel = replace(panel, human=pd.concat([panel.human, more], ignore_index=True))
    if items is None and isinstance(source, (str, Path)) and (Path(source) / "polyjudge-run.json").is_file():
        beside = Path(source) / "texts.csv"  # a folder of `polyjudge collect`
        items = beside if beside.is_file() else None
    return panel if items is None else replace(panel, texts=ItemTexts.of(items, panel))


def _columns_of_roles(work: Work, panel: Panel) -> dict[str, str]:
    """Role -> its column, or its columns in words."""
    roles = work.roles
    axes = [*next(iter(roles.wide.values()), {}), "judges"]
    several = {"judges" if "judge" in axes else axes[0]: roles.wide, "human": roles.humans, "error": roles.errors}
    columns = roles.of | {role: names(listed, 6) for role, listed in several.items() if listed}
    if panel.human is not None and not roles.humans:
        columns["human"] = names(dict.fromkeys(panel.human["annotator"]), 6)
    return columns


PLAIN = {
    "task": ("task", "task_id"), "system": ("system",), "language": ("language", "lang"), "judge": ("judge",),
    "score": ("score",), "human": ("human",), "winner": ("winner",), "criterion": ("criterion",),
}  # fmt: skip
"""Names of columns that declare their role by themselves."""


def _roles_in_words(work: Work, panel: Panel, columns_of: Mapping[str, str]) -> dict[str, str]:
    """What was taken for what, where a role was declared neither by the user nor by the plain name of its column."""
    words: dict[str, str] = {}
    wide_axes = {axis for labels in work.roles.wide.values() for axis in labels} - {"replicate"}
    labels_of_axis = {"judge": panel.judges, "system": panel.systems, "language": panel.languages}
    for axis in wide_axes:
        title = NOUNS.get(axis, plural(axis))
        if not vars(work.asked)[title]:
            words[title] = names(labels_of_axis.get(axis, tuple(panel.criteria)), 8)
    for role in ("judge", "human", "score", "system", "language", "criterion", "task"):
        column = columns_of.get(role, "")
        if column and role not in wide_axes and not _is_declared(work, role, column):
            words[NOUNS.get(role, plural(role))] = name(column, 200)
    if "score" in words:
        words["score"] += ", {:g} to {:g}".format(*panel.scale)
    return words


NOUNS = {"human": "people", "score": "score", "criterion": "criteria"}
"""What roles are called on the screen, where that is not their plural."""


def _is_declared(work: Work, role: str, column: str) -> bool:
    """Whether the user named the column of a role, or its own name does."""
    option = "by" if role == "language" and work.asked.by else role
    return bool(col.norm(column) in PLAIN[role] or vars(work.asked).get(option) or work.table.tool)


# --- copying and typing ---


def _spool(work: Work) -> None:
    """The chosen columns as `work.raw`, and their rows with scores as numbers as `work.typed`."""
    roles = work.roles
    _fetch(work)
    table = work.table
    chosen = [c for role, c in roles.of.items() if role != "annotator" or roles.humans]
    parts = {c: table.columns[c][0] for c in [*chosen, *roles.wide, *roles.errors, *roles.humans] if c in table.columns}
    listed = [f"{sql} AS {ident(c)}" for c, sql in parts.items()]
    response = roles.texts.get("response") if not roles.wide else None
    if response:
        listed.append(f"length(CAST({table.columns[response][0]} AS VARCHAR)) AS polyjudge_length")
    work.raw = f"(SELECT {', '.join(listed)} FROM {table.relation}) AS raw"
    if table.spool or "task" not in roles.of:
        work.raw = table.keep("raw", f"SELECT * FROM {work.raw}")
    work.types = {c: table.columns[c][1] for c in parts}
    of = {r: (ident(roles.of[r]), work.types[roles.of[r]]) for r in ROLES if r in roles.of}
    numbers = {r for r, (_, kind) in of.items() if kind != "VARCHAR" and r in (*CELLS, "replicate")}
    work.keys = {
        r: label_sql(*column) if r in numbers else column[0] for r, column in of.items()
    }  # texts: stripped later
    work.keys.setdefault("task", "'row ' || (rowid + 1)")
    if response:
        work.keys["length"] = "polyjudge_length"
    if roles.wide:
        work.typed = _melted(work)
        return
    made = dict(work.keys)
    made["score"] = next(iter(score_columns(work).values()))
    listed = [f"{sql} AS {ident(n)}" for n, sql in made.items()]
    work.typed = f"(SELECT {', '.join(listed)} FROM {work.raw}) AS typed"


def _melted(work: Work) -> str:
    """A wide table as a long one: `place` is the place of the score's column."""
    table, roles = work.table, work.roles
    failed = _failed(work)
    kind = "DOUBLE" if all(scale.is_number(work.types[c]) for c in roles.wide) else "VARCHAR"
    values = [f"CAST({ident(c)} AS {kind})" for c in roles.wide]
    parts = ", ".join(f"{sql} AS {ident(n)}" for n, sql in work.keys.items()) + f", ({failed or 'false'}) AS failed"
    long = stacked(table, values, work.raw, f"{parts}, ")
    made = scale.score_sql(table, f"({long}) AS melted", {"v": kind}, work.asked.drop, work.notes, list(roles.wide))
    return f"(SELECT *, CASE WHEN failed THEN NULL ELSE {made['v']} END AS score FROM ({long}) AS melted) AS typed"


def _fetch(work: Work) -> None:
    """Of another engine: its chosen columns, where they are no more than a panel holds."""
    table, roles = work.table, work.roles
    if table.ibis is None:
        return
    if "task" not in roles.of:
        raise PanelError(f"Rows of {table.where} have no order, so they cannot be the tasks: --task COLUMN.")
    task = table.columns[roles.of["task"]][0]
    few = f"SELECT DISTINCT {task} AS task FROM {table.relation} LIMIT {rows.MOST_TASKS + 1}"
    if int(table.rows(f"SELECT count(*) FROM ({few}) AS few")[0][0]) <= rows.MOST_TASKS:
        wanted = [c for c in roles.used() - {*roles.texts.values()} if c in table.columns]
        listed = ", ".join(f"{table.columns[c][0]} AS {ident(c)}" for c in wanted)
        whole = f"SELECT {listed} FROM {table.relation}"
        parts = table.rows(f"SELECT count(*) FROM {table.relation}")[0][0] // 1_000_000 + 1
        part = f" WHERE coalesce({rows.digits_sql(task, table)}, 0) % {parts} = "
        asked = [f"{whole}{part}{i}" for i in range(parts)] if parts > 1 else [whole]
        work.table = open_frame([table.con.execute(sql).found for sql in asked], table.where)
        roles.texts.pop("response", None)


def score_columns(work: Work) -> dict[str, str]:
    """SQL of each score column as a number; NULL where there is none, or the row says that it failed."""
    wanted = [work.roles.of["score"]] if "score" in work.roles.of else list(work.roles.wide)
    failed = _failed(work)
    made = scale.score_sql(work.table, work.raw, {c: work.types[c] for c in wanted}, work.asked.drop, work.notes)
    return {c: f"CASE WHEN {failed} THEN NULL ELSE {sql} END" if failed else sql for c, sql in made.items()}


def _failed(work: Work) -> str:
    """SQL of whether a row says that it failed; empty where none does.

    A column says so only where its rows hold no score, or one constant score, and other scores are left.
    """
    table, tests = work.table, {}
    for column in work.roles.errors:
        text = f"lower(trim(CAST({ident(column)} AS VARCHAR)))"
        states = {
            str(value): int(times)
            for value, times in table.rows(f"SELECT {text}, count(*) FROM {work.raw} GROUP BY 1 LIMIT 500")
            if value is not None
        }
        test = scale.failed_sql(column, work.types[column], list(states))
        if test and _marks_failed_rows(work, column, test):
            tests[column] = f"coalesce({test}, false)"
            _note_unknown_states(work, column, states)
    if not tests:
        return ""
    failed = f"({' OR '.join(tests.values())})"
    lost, total = table.rows(f"SELECT sum(CASE WHEN {failed} THEN 1 ELSE 0 END), count(*) FROM {work.raw}")[0]
    work.failed = int(lost or 0)
    if work.failed == total:
        raise PanelError(f"Every row of {table.where} says that it failed ({names(tests)}): there is no score.")
    if not work.failed:
        return ""
    verb = "is" if work.failed == 1 else "are"
    work.notes.append(f"{count(work.failed, 'failed row')} ({names(tests)}) {verb} read without a score.")
    return failed


def _marks_failed_rows(work: Work, column: str, test: str) -> bool:
    """Whether the rows of a test hold no score, or one constant score, and the others more than one. Rows with
    different scores, or with all low scores of two, are verdicts: nothing is deleted."""
    failed_levels, other_levels = (
        _levels_where(work, f"{negation}coalesce({test}, false)") for negation in ("", "NOT ")
    )
    of_criteria = [levels for levels in failed_levels.values() if levels]
    if not of_criteria or not any(other_levels.values()):
        return True
    are_different = any(len(levels) > 1 for levels in of_criteria)
    are_low_of_two = all(
        len(other_levels.get(criterion, ())) == 1 and not levels & other_levels[criterion]
        for criterion, levels in failed_levels.items()
    )
    if are_different or are_low_of_two:
        work.notes.append(
            f"{name(column)} is not read as a mark of failed rows: those rows hold scores like the others."
        )
    return not (are_different or are_low_of_two)


def _levels_where(work: Work, condition: str) -> dict[str, set[str]]:
    """The distinct scores, as text, of rows of a condition, by criterion."""
    wanted = [work.roles.of["score"]] if "score" in work.roles.of else list(work.roles.wide)
    criterion = f"CAST({ident(work.roles.of['criterion'])} AS VARCHAR)" if "criterion" in work.roles.of else "''"
    levels: dict[str, set[str]] = {}
    for score in wanted:
        text = f"lower(trim(CAST({ident(score)} AS VARCHAR)))"
        rows_of = f"{work.raw} WHERE {condition} AND {ident(score)} IS NOT NULL"
        for value, label in work.table.rows(f"SELECT DISTINCT {text}, {criterion} FROM {rows_of} LIMIT 500"):
            if str(value) not in {"", *scale.ABSENT}:
                levels.setdefault(str(label), set()).add(str(value))
    return levels


def _note_unknown_states(work: Work, column: str, states: Mapping[str, int]) -> None:
    """Name a word in a column of states that is not known."""
    unknown = scale.unknown_states(states) if scale.is_state(column) else {}
    if unknown:
        listed = ", ".join(f"{name(value, 40)} ({count(times, 'row')})" for value, times in list(unknown.items())[:4])
        drop = "If such rows failed, empty their scores."
        work.notes.append(f"{name(column)} also holds {listed}: their scores are read. {drop}")


# --- one panel ---


def _panel(work: Work) -> tuple[Panel, Array]:
    """The panel, and the distinct scores."""
    _spool(work)
    unsettled, labels, again = _rows_of_scores(work)
    long, people = _settle_rows(work, unsettled, labels)
    levels = _check_levels(work, long)
    shape = long.shape
    limits.require(
        8.0 * float(np.prod(np.array(shape, dtype=float))) * 3,
        f"{work.table.where} ({' x '.join(f'{x:,}' for x in shape[:4])})",
    )
    scores, repeats = _average(work, long)
    if again is None:
        _check_tasks(work, long)
    scales = [scale_of(of_criterion, work.asked.range) for of_criterion in levels]
    noun = col.norm(work.asked.by).replace("_", " ") if work.asked.by else "language"
    _note_blank(work, noun)
    panel = make_panel(
        long, scores, repeats, scales, work.asked.range is not None, noun=noun, human=people,
        notes=tuple(work.notes), clustered="cluster" in work.roles.of, blank_scores=work.blank_scores,
        blank_tasks=len(work.blank.get("task", ())),
    )  # fmt: skip
    if again is not None:
        panel = long.with_indicator(panel, again)
    return panel, np.unique(np.concatenate(levels)) if again is None else np.zeros(0)


def _rows_of_scores(work: Work) -> tuple[Long, Any, Callable[[str], Sums] | None]:
    """Scores in rows; people's labels; of hashed units what asks for pass rates."""
    again, people = None, None
    is_large = rows.tasks_of(work) > rows.MOST_TASKS
    rows.one_cluster(work)
    if is_large:
        long, again = rows.hashed(work)
        if work.roles.humans:
            work.notes.append(f"Of more than {rows.MOST_TASKS:,} tasks no human labels are read.")
    else:
        _refuse_merged_scales(work)
        long = rows.each_score(work)
        people = _people(work) if work.roles.humans else None
    long.any_row |= work.asked.replicate in ("row", "rows")
    if not len(long.total):
        raise PanelError(f"{work.table.where} holds no score. Name the column of scores: --score COLUMN.")
    return long, people, again


def _settle_rows(work: Work, long: Long, people: Any) -> tuple[Long, Any]:
    """Leave one spelling of each label, no summaries and people, and only what was asked for."""
    for axis in [a for a in CELLS if a in work.roles.of]:
        rows.all_have(work, axis, int(long.times[long.having(axis, [""])].sum()))
    _one_spelling(work, long, people)
    _without_summaries(work, long)
    people = _people_among_judges(work, long, people)
    _only(work, long)
    if not len(long.total):
        raise PanelError(f"No score in {work.table.where} is left.")
    long.shrink()
    is_hashed = long.levels is not None
    for axis in CELLS if is_hashed else ("task", *CELLS):
        few = len(long.labels[axis]) < 20_000  # else by length, which is quick
        long.sort(axis, col.natural if few else lambda x: (len(x), x))
    if is_hashed and len(long.labels["criterion"]) > 1:
        raise PanelError(
            f"{work.table.where} has too many tasks to read several criteria at once. Read one of them: --criteria "
            f"{shell(long.labels['criterion'][0])}."
        )
    return long, people


MIN_RUN = 30
"""So many rows one after the other may be another run."""


def _refuse_merged_scales(work: Work) -> None:
    """Refuse a file in which rows that stand one after the other are on a scale of their own: merged runs."""
    has_criteria = "criterion" in work.roles.of or any("criterion" in cell for cell in work.roles.wide.values())
    if work.asked.range is not None or work.table.ibis is not None or has_criteria:
        return
    scores = rows.plain(work.table.arrays(f"SELECT score FROM {work.typed}")["score"], float)
    scores = scores[np.isfinite(scores)]
    if len(scores) < 2 * MIN_RUN or (np.diff(scores) >= 0).all() or (np.diff(scores) <= 0).all():
        return
    is_small = 4 * np.abs(scores) <= np.abs(scores).max()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_small, [False]]).astype(int)))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return
    longest = int(np.argmax(ends - starts))
    run_mask = np.zeros(len(scores), dtype=bool)
    run_mask[starts[longest] : ends[longest]] = True
    n_run, rest = int(run_mask.sum()), scores[~run_mask]
    # Rows of one run are all small by chance in so many of the others.
    share_small = (is_small[~run_mask].sum() + 1) / (len(rest) + 1)
    if n_run < MIN_RUN or len(rest) < MIN_RUN or n_run * np.log(share_small) > np.log(1e-9):
        return
    small, large = np.unique(scores[run_mask]), np.unique(rest)
    if scale.is_own_scale(small, large):
        first = int(starts[longest]) + 1
        raise PanelError(
            f"Not all parts of {work.table.where} are on one scale: scores {first:,} to {first + n_run - 1:,} go from "
            f"{small[0]:g} to {small[-1]:g}, the others from {large[0]:g} to {large[-1]:g}. Bring them to one scale in "
            f"the file; if it is one scale: --range {min(small[0], large[0]):g}:{large[-1]:g}."
        )


def _note_blank(work: Work, noun: str) -> None:
    """Name tasks, systems, languages and judges without any score."""
    for axis, labels in work.blank.items():
        called = noun if axis == "language" else axis
        verb = "has" if len(labels) == 1 else "have"
        work.notes.append(f"{count(len(labels), called)} {verb} no score at all: {names(labels)}.")


def _people(work: Work) -> pd.DataFrame:
    """Human labels of a table: one row a label."""
    import pandas as pd

    shown = {"task": work.keys["task"]}
    for key in ("task", "system", "language", "annotator"):
        if key in work.roles.of:
            shown[key] = label_sql(ident(work.roles.of[key]), work.types[work.roles.of[key]])
    parts = []
    for column in work.roles.humans:
        kind = {column: work.types[column]}
        shown["label"] = scale.score_sql(work.table, work.raw, kind, work.asked.drop, [])[column]
        listed = ", ".join(f"{sql} AS {ident(k)}" for k, sql in shown.items())
        said = f"(SELECT DISTINCT {listed} FROM {work.raw}) AS said WHERE label IS NOT NULL ORDER BY ALL"
        part = work.table.frame({k: ident(k) for k in shown}, said)
        levels, times = np.unique(part["label"].to_numpy(dtype=float), return_counts=True)
        if len(levels):
            scale.check_range(levels, times, None, f"the column {name(column)}", work.notes)
        part[list(shown)[:-1]] = part[list(shown)[:-1]].fillna("")
        if "annotator" not in shown:
            part["annotator"] = column if len(work.roles.humans) > 1 else ""
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


# --- what is decided on all scores ---


def _one_spelling(work: Work, long: Long, people: Any) -> None:
    """Two spellings of one label are one where no answer has both, of people's labels too."""
    for axis in ("judge", "system", "language", "task"):
        labels = long.labels[axis]
        text = "\n".join(labels).casefold()
        if axis == "task" and (long.levels or (len(set(text.split("\n"))) == len(labels) and not ODD.search(text))):
            continue
        found = col.spellings(axis, labels, long.counts(axis)[1])
        merged = long.merge(axis, found) if found else {}
        if merged and people is not None and axis in people:
            people[axis] = people[axis].replace(merged)
        if merged:
            o, k = next(iter(merged.items()))
            more = f", and {len(merged) - 1:,} more alike" if len(merged) > 1 else ""
            work.notes.append(f"The {axis}s {name(o)} and {name(k)} are read as one{more}: no answer has both.")


def _without_summaries(work: Work, long: Long) -> None:
    for axis in ("task", *AXES):
        wanted = getattr(work.asked, f"{axis}s", ())
        short = [x for x in long.labels[axis] if not x[-1:].isdigit() and x not in wanted]
        if axis == "task" and 2 * len(short) > len(long.labels[axis]):
            continue  # tasks have words as names
        means = col.SUMMARY if axis == "judge" else re.compile(f"(({col.MEANS}|scores?)(_|$))+")
        found = [x for x in short if means.fullmatch(col.norm(x)) and col.norm(x) != "score"]
        if found and axis == "task":
            found += [x for x in short if col.SPREADS.fullmatch(col.norm(x))]
        rows_of = long.having(axis, found)
        if not rows_of.any() or rows_of.all():
            continue
        times = int(long.times[rows_of].sum())
        long.keep(~rows_of)
        verb = "is" if times == 1 else "are"
        work.notes.append(f"{count(times, 'score')} of {names(found)} {verb} left out: a summary of the other {axis}s.")


def _people_among_judges(work: Work, long: Long, people: Any) -> Any:
    """Judges that are called as people are: what they say are labels."""
    judges, said = long.labels["judge"], work.asked.human
    chosen = [j for j in judges if (j == said if said else col.HUMANS.fullmatch(col.norm(j)))]
    if said and not chosen and said not in work.table.columns:
        raise UsageError(f"There is no column and no judge {name(said)} (--human). The judges: {names(judges, 12)}.")
    theirs = long.having("judge", chosen)
    if not theirs.any() or theirs.all():
        return people
    if not said and not all("human" in j.lower() for j in chosen):
        work.notes.append(
            f"What {names(chosen)} said is read as people's labels. If it is a model, give it another name."
        )
    if long.levels is not None:
        work.notes.append(f"{names(chosen)} {'is' if len(chosen) == 1 else 'are'} left out: people, and no judge.")
        long.keep(~theirs)
        return people
    import pandas as pd

    texts = {a: np.array(long.labels[a], dtype=object)[long.of(a)[theirs]] for a in ("task", *AXES)}
    frame = pd.DataFrame(texts | {"label": long.total[theirs]}).rename(columns={"judge": "annotator"})
    long.keep(~theirs)
    return pd.concat([people, frame], ignore_index=True)


def _only(work: Work, long: Long) -> None:
    """Keep the labels that were asked for."""
    asked = work.asked
    listed = {"language": asked.languages, "judge": asked.judges, "system": asked.systems, "criterion": asked.criteria}
    for axis, said in listed.items():
        if not said:
            continue
        have = [x for x, times in zip(*long.counts(axis), strict=True) if times]
        wanted = [w for w in said if w in have or w not in work.roles.wide]
        odd = [w for w in wanted if w not in have]
        if odd:
            noun = asked.by or axis if axis == "language" else axis
            raise UsageError(f"There is no {noun} {name(odd[0])} in {work.table.where}. It has: {names(have, 12)}.")
        if wanted:
            long.keep(long.having(axis, wanted))


def _check_levels(work: Work, long: Long) -> list[Array]:
    """The distinct scores of each criterion, after a look at what they are."""
    every = []
    for i, criterion in enumerate(long.labels["criterion"]):
        cell, score, times = long.seen(i)
        levels, at = np.unique(score, return_inverse=True)
        every.append(levels)
        where = f"{work.table.where} ({name(criterion)})" if criterion else work.table.where
        usual = scale.check_range(levels, np.bincount(at, times), work.asked.range, where, work.notes)
        if work.asked.range is None and levels.tolist() in ([1.0, 2.0], [0.0, 1.0, 2.0]):
            listed = names([f"{level:g}" for level in levels])
            work.notes.append(
                f"The only scores are {listed}. If they are codes, such as which of two answers won, they are no "
                "scores; if 2 means no score: --drop 2."
            )
        is_usual = np.isin(levels, usual)
        for axis in ("judge", "language", "system") if work.asked.range is None else ():
            labels, code = long.labels[axis], long.codes[axis][cell]
            known = distinct(code * len(levels) + at, len(labels) * len(levels))
            known = known[is_usual[known % len(levels)]]
            found = np.split(levels[known % len(levels)], np.searchsorted(known // len(levels), range(1, len(labels))))
            many = np.bincount(code, times, minlength=len(labels)) > 2
            own = {x: levels_of for x, levels_of, some in zip(labels, found, many, strict=True) if some}
            noun = (work.asked.by or axis) if axis == "language" else axis
            scale.check_scales(own, noun, f"{levels[0]:g}:{levels[-1]:g}", work.notes)
    return every


def _average(work: Work, long: Long) -> tuple[Array, Array | None]:
    """The scores as an array: the mean of replicates, refused where rows repeat for another reason."""
    y, repeats, odd, same = long.average()
    if odd is not None:
        _refuse_repeats(work, long, *odd)
    if same:
        said = "row repeats another" if same == 1 else "rows repeat others"
        work.notes.append(f"{same:,} {said} with the same score: such scores count once.")
    return y, repeats


def _refuse_repeats(work: Work, long: Long, row: int, times: int) -> None:
    """Refuse several scores of one cell, and name the column that tells them apart."""
    shown = {axis: long.labels[axis][long.of(axis)[row]] for axis in ("task", *CELLS)}
    words = [f"{a} {name(x)}" for a, x in shown.items() if x and not (a == "task" and long.levels)]
    mend = "Name the column that tells them apart; if they are repeated measurements, number them: --replicate COLUMN."
    column = _column_that_tells_apart(work)
    if column:
        free = {"judge": "judge", "system": "system", "language": "by", "criterion": "criterion"}
        options = [option for role, option in free.items() if role not in work.roles.of]
        if column == FILE and "by" in options:
            options[options.index("by")] = "language"
        flags = ", ".join(f"--{option} {shell(column)}" for option in options)
        mend = f"The column {name(column)} tells them apart. Say what it is: {flags} or --replicate {shell(column)}."
    raise PanelError(f"{work.table.where} has {times} scores for one {', '.join(words) or 'task'}. {mend}")


def _column_that_tells_apart(work: Work) -> str:
    """The column with the fewest values that, beside the chosen ones, makes every row another; empty without one."""
    table, roles = work.table, work.roles
    keys = [table.columns[roles.of[a]][0] for a in ROLES[:6] if a in roles.of]
    candidates: list[tuple[int, str]] = []
    for column in roles.unused[:60]:
        sql = table.columns[column][0]
        total, n_values = table.rows(f"SELECT count(*), count(DISTINCT {sql}) FROM {table.relation}")[0]
        again = f"SELECT 1 FROM {table.relation} GROUP BY {', '.join([*keys, sql])} HAVING count(*) > 1 LIMIT 1"
        if 1 < n_values <= max(200, total**0.5) and not table.rows(again):
            candidates.append((n_values, column))
    return min(candidates, key=lambda each: each[0])[1] if candidates else ""


def _check_tasks(work: Work, long: Long) -> None:
    """Tasks that nothing joins are no tasks; languages without a common task, and tasks of one document, are noted."""
    n, s, k, m, _ = long.shape
    column, system = (work.roles.of.get(role) for role in ("task", "system"))
    if n == 1 and not work.asked.task:
        taken = f"the column {name(column)}" if column else "a row"
        raise PanelError(
            f"{work.table.where} holds one task only: {taken} was taken for the task. What is a task there (a "
            "question, a document, a case)? Name its column: --task COLUMN."
        )
    met = distinct(long.of("system") * m + long.of("judge"), s * m)
    if system and not work.asked.system and min(s, m) > 1 and len(met) == m:
        raise PanelError(
            f"In {work.table.where} each judge has scores of one {name(system)} only. If that says something about the "
            f"judge, leave the column out; if it is what is judged: --system {shell(system)}."
        )
    if m > 1 and n > 2 and long.joined("judge") == 1:
        said = f"the column {name(column)}" if column else "there is no column of tasks, and a row"
        raise PanelError(
            f"In {work.table.where} no task has scores of two judges: {said} is not the task that they share. Name the "
            "column of tasks: --task COLUMN."
        )
    alone = s > 1 and long.joined("system") == 1
    tasks = distinct(long.task * s + long.of("system"), n * s) % s  # of each system
    if min(n, s) > 1 and np.bincount(tasks).max() == 1 and not work.asked.system:
        raise PanelError(
            f"In {work.table.where} no two tasks have the same {name(system)}. If these are answers, call the column "
            f"response; if they are what is judged: --system {shell(system)}."
        )
    noun = plural(work.asked.by or "language")
    for said, apart in ((f"is in two {noun}", k > 1 and long.joined("language") == 1), ("has two systems", alone)):
        if apart and n > k and not work.asked.task:
            work.notes.append(f"No task {said}. If a column joins them, name it: --task COLUMN.")
    if not column or "cluster" in work.roles.of or n <= 19:
        return
    for other in [c for c in work.roles.unused if col.norm(c) in DOCUMENTS]:
        task, document = work.table.columns[column][0], work.table.columns[other][0]
        pairs = f"SELECT DISTINCT {task} AS task, {document} AS document FROM {work.table.relation}"
        times, there = work.table.rows(f"SELECT count(*), count(DISTINCT document) FROM ({pairs}) AS pairs")[0]
        if times == n and 1 < there <= times / 2:
            said = f"Several tasks share one value of {name(other)}. If those were sampled: --cluster {shell(other)}."
            work.notes.append(said)
            return
    if long.alike_by_name():
        work.notes.append(
            "Tasks whose names begin alike are scored alike, as parts of one document are. If so, name its column: "
            "--cluster COLUMN."
        )
