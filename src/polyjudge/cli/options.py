"""Options that several commands share, and the two things every command does: read scores, print a result."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyjudge.core.errors import UsageError
from polyjudge.core.schema import SCHEMA as SCHEMA
from polyjudge.core.schema import envelope, to_json

if TYPE_CHECKING:
    from polyjudge.core.panel import Panel

Scores = Annotated[
    str,
    typer.Argument(
        metavar="SCORES",
        help="Scores: CSV, Parquet or JSON lines (also 'several*.parquet'), FILE::TABLE of a DuckDB or SQLite file, "
        "postgres://...::TABLE, or a collection run.",
    ),
]
ScoresOption = Annotated[
    str | None, typer.Option("--from", metavar="SCORES", help="Scores to take sigma and effects from.")
]
TaskColumn = Annotated[str | None, typer.Option("--task", help="Column of the task.", rich_help_panel="Columns")]
LanguageColumn = Annotated[str | None, typer.Option("--language", help="Column of the language.")]
JudgeColumn = Annotated[str | None, typer.Option("--judge", help="Column of the judge.")]
ScoreColumn = Annotated[str | None, typer.Option("--score", help="Column of the score.")]
ReplicateColumn = Annotated[str | None, typer.Option("--replicate", help="Column of the replicate.")]
GroupColumn = Annotated[str | None, typer.Option("--group", help="Column of task strata or requirement types.")]
Json = Annotated[bool, typer.Option("--json", help="Print all results as JSON to standard output.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for what is written.")]
Figures = Annotated[
    str | None, typer.Option("--figures", metavar="svg,png,pdf", help="Save the figures of the report too; needs -o.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of everything random. The same seed gives the same answer.")
]

MOST_RESAMPLES = 1_000_000
"""More would take hours and all memory, and change no digit that is printed."""

Calibrator = Annotated[Path, typer.Argument(metavar="CAL", help="A calibrator that calibrate --save wrote.")]
NewColumn = Annotated[str, typer.Option("--column", help="Name of the column with the calibrated scores.")]
PartitionBy = Annotated[
    str | None, typer.Option("--partition-by", metavar="COLUMN", help="Divide a folder of Parquet by this column.")
]
SpreadsheetSafe = Annotated[
    bool, typer.Option("--spreadsheet-safe", help="In CSV, put an apostrophe before text a spreadsheet would run.")
]


class Duplicates(StrEnum):
    """What to do with several rows of one entry."""

    error = "error"
    mean = "mean"
    first = "first"


class Incomplete(StrEnum):
    """What to do with entries that have no score."""

    estimate = "estimate"
    drop = "drop"
    error = "error"


class EngineName(StrEnum):
    """Who reads files."""

    duckdb = "duckdb"
    spark = "spark"


READING: dict[str, tuple[Any, Any]] = {
    "system": (
        Annotated[str | None, typer.Option("--system", help="Column of the system, the thing that is judged.")],
        None,
    ),
    "cluster": (
        Annotated[str | None, typer.Option("--cluster", help="Column of clusters: tasks of one source or template.")],
        None,
    ),
    "score_range": (
        Annotated[
            str | None,
            typer.Option("--range", metavar="LOW:HIGH", help="The score scale. A score outside it is an error."),
        ],
        None,
    ),
    "duplicates": (
        Annotated[
            Duplicates,
            typer.Option("--duplicates", help="Several rows of one task, system, language, judge and replicate."),
        ],
        Duplicates.error,
    ),
    "languages": (
        Annotated[
            str | None,
            typer.Option("--languages", metavar="A,B,...", help="Read only these languages, in this order."),
        ],
        None,
    ),
    "judges": (
        Annotated[
            str | None, typer.Option("--judges", metavar="A,B,...", help="Read only these judges, in this order.")
        ],
        None,
    ),
    "incomplete": (
        Annotated[Incomplete, typer.Option("--incomplete", help="Entries without a score.")],
        Incomplete.estimate,
    ),
    "max_units": (
        Annotated[int, typer.Option("--max-units", min=2, help="Beyond this many tasks, tasks are hashed into units.")],
        100_000,
    ),
    "engine": (Annotated[EngineName, typer.Option("--engine", help="Who reads the files.")], EngineName.duckdb),
}
"""Options of reading: annotation and default. `with_reading` gives them to every command that takes SCORES."""

_reading: ContextVar[dict[str, Any] | None] = ContextVar("reading", default=None)


def with_reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of reading added, unless it takes no SCORES. `load` finds what was given."""
    signature = inspect.signature(command, eval_str=True)
    if not any(p.annotation in (Scores, ScoresOption) for p in signature.parameters.values()):
        return command
    added = {n: option for n, option in READING.items() if n not in signature.parameters}

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        token = _reading.set({n: given.pop(n) for n in added})
        try:
            return command(**given)
        finally:
            _reading.reset(token)

    more = [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for n, (kind, default) in added.items()
    ]
    old = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values()]
    run.__signature__ = signature.replace(parameters=[*old, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*old, *more)}
    return run


def reading_options() -> dict[str, Any]:
    """What the user asked of reading, as arguments of `read_panel`."""
    given = dict(_reading.get() or {})
    out: dict[str, Any] = {n: v.value if isinstance(v, StrEnum) else v for n, v in given.items()}
    if "score_range" in out:
        out["range"] = parse_range(out.pop("score_range"))
    for name in ("languages", "judges"):
        if out.get(name) is not None:
            out[name] = [part.strip() for part in out[name].split(",")]
    return out


def parse_range(text: str | None) -> tuple[float, float] | None:
    """LOW:HIGH as two numbers."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise UsageError(f"--range takes two numbers with a colon between them, such as 0:100, not {text!r}.") from None


def load(scores: str, **options: Any) -> Panel:
    """The panel a command works on: `read`, without the languages and judges that missing scores leave unknown."""
    from polyjudge.estimate.identify import settle_incomplete

    return settle_incomplete(read(scores, **options))


def read(scores: str, **options: Any) -> Panel:
    """Read a panel with the columns a command names and the options of reading the user gave."""
    import warnings

    from polyjudge.core.errors import PolyjudgeWarning
    from polyjudge.sources import read_panel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PolyjudgeWarning)
        panel = read_panel(scores, **{**reading_options(), **options})
    for warning in caught:
        if issubclass(warning.category, PolyjudgeWarning):
            print(f"polyjudge: warning: {warning.message}", file=sys.stderr)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return panel


def print_written(written: Any) -> None:
    """Say what was written, and what was left as it is."""
    print(f"Wrote {written.rows} rows to {written.path}")
    if written.missing:
        print(f"  {written.missing} rows have no score and no calibrated score")
    if written.unseen:
        print(
            f"  {written.unseen} rows have a language or judge the calibrator does not know: their score is unchanged"
        )


def print_json(command: str, result: dict[str, Any]) -> None:
    """Print a result with the schema version, the command and the program's version."""
    text = to_json(envelope(command, result), indent=1) + "\n"
    if (sys.stdout.encoding or "utf-8").lower().startswith("utf"):
        sys.stdout.write(text)
    else:
        sys.stdout.buffer.write(text.encode())  # JSON is UTF-8 whatever the terminal is
