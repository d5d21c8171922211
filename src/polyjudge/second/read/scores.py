"""`read_panel`: from wherever the scores are to a validated Panel."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.columns import ANNOTATOR, USUAL, Columns, doubts, usual_columns
from polyjudge.second.panel.errors import UsageError, foreign_errors
from polyjudge.second.panel.files import file_of
from polyjudge.second.panel.labels import clean, redact_address
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.reading import ROLES, Reading, RoleRead, kept_options
from polyjudge.second.panel.say import LANGUAGE, Say, Words, say
from polyjudge.second.read import duck, warehouse
from polyjudge.second.read.assemble import Ways, assemble
from polyjudge.second.read.duck_engine import DuckEngine
from polyjudge.second.read.engine import Duplicates
from polyjudge.second.read.formats.recognise import Understood, recognise
from polyjudge.second.read.formats.roles import Asked
from polyjudge.second.read.formats.values import pairs_of
from polyjudge.second.read.limits import LARGEST_SCORE
from polyjudge.second.read.opener import Opened, chosen_rows, open_table
from polyjudge.second.rooms import load

Incomplete = Literal["estimate", "drop", "error"]
USUAL_WAYS = {"duplicates": "error", "incomplete": "estimate", "alike": None}
"""What is done unless the user says something else."""


@duck.released()
def read_panel(
    source: Any,
    *,
    task: str | None = None,
    language: str | None = None,
    by: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    replicate: str | None = None,
    group: str | None = None,
    system: str | None = None,
    cluster: str | None = None,
    only: Mapping[str, str] | None = None,
    table: str | None = None,
    range: tuple[float, float] | None = None,
    duplicates: Duplicates = "error",
    languages: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    incomplete: Incomplete = "estimate",
    max_units: int | None = None,
    engine: Literal["duckdb", "spark"] = "duckdb",
    language_from: str | None = None,
    judge_from: str | None = None,
    wide: str | None = None,
    map: Mapping[str, float | None] | str | Sequence[str] | None = None,
    decimal: Literal["comma", "point"] | None = None,
    winner: str | None = None,
    swapped: Literal["flip", "keep"] | None = None,
    format: str | None = None,
    metric: str | None = None,
    alike: Literal["same", "different"] | None = None,
    rescale: Mapping[str, tuple[float, float]] | str | Sequence[str] | None = None,
    reading: str | Path | None = None,
) -> Panel:
    """Read scores into a Panel: one grouped pass in the engine that holds the rows.

    source : path or glob of CSV (.gz), Parquet, JSON or Excel files, or of an eval tool's files (`polyjudge check
        --formats`); "-" for standard input; a DuckDB or SQLite file (`FILE::TABLE`); a `postgres://` address
        (`ADDRESS::TABLE`); a pandas, polars or pyarrow table, a Series, a list of records; an Ibis table of any
        backend; a Spark data frame; a collection run
    task, language, judge, score, replicate, group, system, cluster : names of columns; found by their usual names when
        not given, except `group` (strata of tasks, or requirement types inside tasks), which must be named. A system is
        what is judged, a replicate a repeat of one measurement, a cluster tasks that share a source or template. ""
        says that the table has no system, replicate or cluster whatever its columns are called
    by : a column to compare judges by in place of language: rubric wording, prompt version, domain, month. Everything
        is then said of that
    only : column -> the one value whose rows are read, such as one criterion of several
    table : table of a database
    range : (low, high) of the score scale; a score outside it is an error
    duplicates : rows with the same task, system, language, judge and replicate: "error", their "mean", or the "first"
    languages, judges : read only these, in this order; where no column says it, one name is that of all rows. Without
        them labels keep the order of their first appearance, or are sorted where rows have no order (Spark, warehouses)
    incomplete : entries without a score: "estimate" keeps them as missing for the methods that can work with them,
        "drop" leaves out the tasks that lack one, "error" stops with a table of what is missing
    max_units : beyond this many tasks, tasks are hashed into that many units inside the engine; unless given, beyond
        100,000 tasks into 10,000 units
    engine : "duckdb", or "spark" to read files with a Spark session
    language_from, judge_from : where the label stands when it has no column: a dotted path, a pattern on the file's
        name (`scores_{language}.csv`), or `COLUMN:PATTERN`
    wide : pattern of the names of score columns: `{judge}`, `score_{language}`, `{judge}_{language}`
    map : words -> numbers (None: no score), for grades and words
    decimal : "comma" where 1,234 is a decimal number
    winner : column of the winners of pairs (A, B, tie); read as margins from -1 to 1
    swapped : rows marked as swapped name the winner as shown ("flip") or already turned back ("keep")
    format : a name of `polyjudge check --formats`, where the format is not the one recognised
    metric : which one to read of several metrics that a tool's judges gave
    alike : labels that differ only in case, spaces, hyphens or invisible characters are the "same" or "different";
        asked for where there are any
    rescale : judge -> (low, high) of its own scale; its scores are brought to `range` in proportion
    reading : a file of `check --save`; what it says holds where nothing else is said

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     [(t, l, j, i) for i, (t, l, j) in enumerate((t, l, j) for t in "ab" for l in ("en", "fr") for j in "xy")],
    ...     columns=["task", "language", "judge", "score"],
    ... )
    >>> read_panel(frame).shape
    (2, 2, 2)
    """
    said = {name: value for name, value in locals().items() if name not in ("source", "reading")}
    if reading is not None:
        return read_panel(source, **with_kept(said, reading))
    said |= {"range": _check_options(said), "rescale": parse_rescale(rescale)}
    if isinstance(source, Panel):
        return source
    if by is not None and language is not None:
        raise UsageError("by (--by) takes the place of language (--language): give one of them.")
    return _assembled(_understood(source, Asked.of(said), said), said)


def _assembled(found: Understood, said: Mapping[str, Any]) -> Panel:
    """The panel of what was understood. Its reading has all that the user said, so that its command reads the same."""
    rows, how, by = found.source, found.reading, said["by"]
    if by is not None:
        options = {"--by" if flag == "--language" else flag: value for flag, value in how.options.items()}
        how = replace(how, options=options)
    engine = DuckEngine(rows, found.columns) if isinstance(rows, duck.Source) else rows
    averaged = found.average and said["duplicates"] == "error"
    ways = Ways(
        limits=said["range"] or found.limits,
        duplicates="mean" if averaged else said["duplicates"],
        chosen={axis: [*map(str, said[f"{axis}s"])] for axis in ("language", "judge") if said[f"{axis}s"] is not None},
        **{way: said[way] for way in ("incomplete", "max_units", "alike", "rescale")},
    )
    how = replace(how, options={**how.options, **_flags(said)})
    panel = assemble(engine, found.columns, ways, found.notes, how)
    opened = found.opened
    more: dict[str, Any] = {"looks": opened.looks, "condition": opened.condition or LANGUAGE} if opened else {}
    if opened is not None and opened.orders is not None:
        from polyjudge.second.panel.shown import Shown

        more["shown"] = Shown.of(opened.orders, panel.tasks, panel.languages, panel.judges)
    return replace(panel, **more | ({} if by is None else {"condition": condition_name(by)}))


def _flags(said: Mapping[str, Any]) -> dict[str, str]:
    """What the user said beside the columns."""
    lists = {f"--{axis}": ",".join(map(str, said[axis])) for axis in ("languages", "judges") if said[axis] is not None}
    ways = {f"--{way}": str(said[way]) for way, usual in USUAL_WAYS.items() if said[way] != usual}
    limits = {"--range": "{:g}:{:g}".format(*said["range"])} if said["range"] else {}
    each = [f"{judge}={low:g}:{high:g}" for judge, (low, high) in said["rescale"].items()]
    return {**lists, **ways, **limits, **({"--rescale": ",".join(each)} if each else {})}


def _understood(source: Any, asked: Asked, said: Mapping[str, Any]) -> Understood:
    """The source opened and understood, by whichever engine holds it."""
    engine, only = said["engine"], said["only"]
    if not is_foreign(source, engine):
        return understand(source if only is None else chosen_rows(open_table(source, asked), only), asked)
    if only is not None:
        raise UsageError(
            "only (--criterion) reads files and frames; of a table of another engine give a query or a view."
        )
    if reads_itself(asked):
        return _open_foreign(source, asked, engine)
    return understand(copied(source, asked.table, engine), asked)


def condition_name(column: str) -> str:
    """What a condition is called, from its column: "prompt_version" is a prompt version.

    >>> condition_name("prompt_version"), condition_name("meta.Domain")
    ('prompt version', 'domain')
    """
    last = column.rpartition(".")[2]
    return clean(
        " ".join(re.sub("([a-z])([A-Z])", r"\1 \2", last).replace("_", " ").replace("-", " ").split()).lower(), 30
    )


def understand(source: Any, asked: Asked) -> Understood:
    """Open scores and find out what is what, without reading them yet. Raises `Unclear` where a person must say."""
    opened = source if isinstance(source, Opened) else open_table(source, asked)
    read = recognise(opened, asked)
    says, taken = _doubtful([] if opened.sure else opened.source.columns, read.columns, asked.names)
    format = read.reading.format if read.reading.format == "ragas" else opened.format
    no_judges = (say(d.code, **d.values) for d in read.reading.doubts if d.code == "read.no_judges")
    return replace(
        read,
        reading=replace(read.reading, format=format, doubts=(*opened.doubts, *read.reading.doubts, *says)),
        limits=opened.limits or read.limits,
        notes=(*opened.notes, *no_judges, *taken),
        opened=opened,
    )


def is_foreign(source: Any, engine: str = "duckdb") -> bool:
    """Whether another engine holds the rows: Spark, a database server, an Ibis table."""
    if isinstance(source, (str, Path)):
        return engine == "spark" or ("://" in str(source) and file_of(str(source)) is None)
    return type(source).__module__.split(".")[0] in ("ibis", "pyspark")


def _open_foreign(source: Any, asked: Asked, engine: str) -> Understood:
    held = warehouse.open_foreign(source, asked.table, engine)
    for role, said in (("language", asked.languages), ("judge", asked.judges)):
        if said and len(said) == 1 and not (asked.names.get(role) or usual_columns(role, held.columns)):
            held = warehouse.with_label(held, role, str(said[0]))
    rows, columns = warehouse.open_engine(held, {role: asked.names[role] for role in ROLES})
    says, notes = _doubtful(held.columns, columns, asked.names)
    taken = {role: column for role in ROLES if (column := getattr(columns, role))}
    how = {role: "named" if asked.names.get(role) else "usual name" for role in taken}
    reading = Reading(
        source=_shown(source),
        format="table",
        roles=tuple(RoleRead(role=role, column=taken[role], how=how[role]) for role in taken),  # type: ignore[arg-type]
        unused=tuple(str(c) for c in held.columns if c not in taken.values()),
        doubts=says,
        options={f"--{role}": column for role, column in taken.items()},
    )
    return Understood(source=rows, columns=columns, reading=reading, notes=notes)


def _shown(source: Any) -> str:
    return redact_address(str(source)) if isinstance(source, (str, Path)) else "TABLE"


def _doubtful(
    there: Iterable[str], columns: Columns, names: Mapping[str, str | None]
) -> tuple[tuple[Say, ...], tuple[Words, ...]]:
    """The columns whose role a person should confirm, and what is noted of those that were taken."""
    found = doubts(there, columns, names.values())
    says = tuple(say("read.role_doubt", column=column, role=role) for column, role in found.items())
    return says, tuple(say("read.taken", column=column, role=role) for column, role in found.items() if role)


def reads_itself(asked: Asked) -> bool:
    """Whether the engine that holds a table can group it as it is: one row for each score, numbers as numbers."""
    for name, value in (("format", asked.format), ("metric", asked.metric)):
        if value is not None:
            raise UsageError(
                f"{name} (--{name}) speaks of an eval tool's files, and these scores are a table of "
                "another engine. Leave it out; files of eval tools are read without --engine spark."
            )
    ways = (asked.language_from, asked.judge_from, asked.wide, asked.map, asked.decimal, asked.swapped)
    return not asked.names.get("winner") and all(way is None for way in ways)


def copied(source: Any, table: str | None = None, engine: str = "duckdb") -> Opened:
    """The rows of a table that another engine holds in our own one, for readings that only ours can do."""
    with foreign_errors("the table"):
        rows = warehouse.open_foreign(source, table, engine).to_pyarrow_batches()
        local = duck.open_frame(rows)
        duck.spool(local, local.columns)
    local.frame = None  # a stream is read once
    return Opened(source=local, shown=_shown(source), format="table", notes=(say("panel.copied"),))


CHOICES = {
    "engine": ("duckdb", "spark"),
    "decimal": ("comma", "point", None),
    "alike": ("same", "different", None),
    "duplicates": ("error", "mean", "first"),
    "incomplete": ("estimate", "drop", "error"),
}
"""Arguments that are one of a few words, or nothing."""


def _check_options(said: Mapping[str, Any]) -> tuple[float, float] | None:
    """The range as numbers, once all is well."""
    for name, choices in CHOICES.items():
        if said[name] not in choices:
            *others, last = (repr(word) for word in choices if word)
            raise UsageError(f"{name} must be {', '.join(others)} or {last}, not {said[name]!r}.")
    for axis in ("languages", "judges"):
        if isinstance(said[axis], str) or not isinstance(said[axis], Iterable | None):
            raise UsageError(f"{axis} must be a list of names, not {clean(repr(said[axis]), 60)}.")
    if said["max_units"] is not None and said["max_units"] < 2:
        raise UsageError(f"max_units must be at least 2, not {said['max_units']}.")
    limits = said["range"]
    if limits is None:
        return None
    try:
        low, high = (float(x) for x in limits)
    except (TypeError, ValueError):
        raise UsageError(f"range must be two numbers (low, high), not {limits!r}.") from None
    if not (-LARGEST_SCORE <= low < high <= LARGEST_SCORE):
        raise UsageError(
            f"range must be two numbers up to {LARGEST_SCORE:g}, the lower one first, not {clean(repr(limits), 100)}."
        )
    return low, high


def parse_rescale(given: Any) -> dict[str, tuple[float, float]]:
    """`--rescale gpt-4=0:1,claude=1:10` as a dictionary.

    >>> parse_rescale("gpt-4=0:1")
    {'gpt-4': (0.0, 1.0)}
    """
    takes = "--rescale takes JUDGE=LOW:HIGH, a judge and the ends of its scale"
    try:
        each = {judge: ends.split(":") if isinstance(ends, str) else ends for judge, ends in pairs_of(given, takes)}
        out = {judge: (float(low), float(high)) for judge, (low, high) in each.items()}
    except (TypeError, ValueError):
        out = {"": (1.0, 0.0)}
    if any(not (judge and -LARGEST_SCORE <= low < high <= LARGEST_SCORE) for judge, (low, high) in out.items()):
        raise UsageError(f"{takes}, several separated by commas.")
    return out


def with_kept(said: Mapping[str, Any], kept: str | Path) -> dict[str, Any]:
    """Arguments of reading: what the user said, else what a file of `check --save` says."""
    usual = {name: parameter.default for name, parameter in inspect.signature(read_panel).parameters.items()}
    found = kept_options(kept)
    return {**said, **{name: value for name, value in found.items() if said.get(name) == usual.get(name)}}


def read_probes(source: Any, **options: Any) -> Panel:
    """The scores of probes: `read_panel`, but of a collection run with `probes:` in its plan the versions, not items.

    options : of `read_panel`
    """
    kinds = load("formats") if isinstance(source, (str, Path)) else []
    holder = next((kind for kind in kinds if kind.holds_probes(source)), None)
    if holder is not None:
        run = holder.read_run(source, probes=True)
        given = {name: value for name, value in options.items() if name in ("languages", "judges", "incomplete")}
        return read_panel(run.frame, system="system", range=run.declared_range, **given)
    return read_panel(source, **options)


def read_gold(path: str | Path) -> pd.DataFrame:
    """Read labels from a CSV, Parquet or JSON lines file, from FILE::TABLE of a DuckDB or SQLite file, or from a folder
    that `label make` wrote.

    Tasks and languages become text, exactly as written. The columns wanted are task, language, and preference
    (+1, -1, 0) or score; `pj.anchor` checks them.
    """
    from polyjudge.second.read.label_folder import is_label_folder, read_labels

    if is_label_folder(path):
        return read_labels(path)
    source = duck.open_file(str(path))
    as_text = (*USUAL["task"], *USUAL["language"], *USUAL["system"], *ANNOTATOR)
    columns = ", ".join(
        f"CAST({duck.name(c)} AS VARCHAR) AS {duck.name(c)}" if c.strip().lower() in as_text else duck.name(c)
        for c in source.columns
    )
    with duck.engine_errors(source.where):
        duck.spool(source, source.columns)
        frame: pd.DataFrame = source.con.execute(f"SELECT {columns} FROM {source.relation}").df()
    return frame
