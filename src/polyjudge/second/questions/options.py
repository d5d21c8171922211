"""Options that commands share, in groups that they declare, and the reading of scores.

A group is a dataclass: each field is an option. A command has the groups `Columns`, `Reading` and `Output`, or those
that its module names in `OPTIONS`. It takes the `Context` and finds the filled group there (`Reading.of(ctx)`). An
option for all commands is one field here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, dataclass_transform

import typer
from typer import Argument, Context, Option
from typer.core import TyperCommand

from polyjudge.second.panel.errors import OutputClosed, UsageError
from polyjudge.second.panel.files import check_apart, check_folder, check_name, check_new
from polyjudge.second.panel.labels import tell

if TYPE_CHECKING:
    from polyjudge.second.panel.panel import Panel

T = TypeVar("T")

Scores = Annotated[
    str,
    Argument(
        metavar="SCORES",
        help="Scores: CSV, Parquet, JSON or Excel (also 'several*.parquet'), an eval tool's files "
        "(polyjudge check --formats), - for standard input, FILE::TABLE of a DuckDB or SQLite file, "
        "postgres://...::TABLE, or a collection run.",
    ),
]
ScoresOption = Annotated[str | None, Option("--from", metavar="SCORES", help="Scores to take sigma and effects from.")]
Folder = Annotated[Path | None, Option("-o", "--output", metavar="DIR", help="Folder for what is written.")]
Seed = Annotated[int, Option(min=0, help="Seed of everything random. The same seed gives the same answer.")]

MOST_RESAMPLES = 1_000_000
"""More would take hours and all memory, and change no digit that is printed."""

Resamples = Annotated[int, Option(min=100, max=MOST_RESAMPLES, help="Resamples of the tasks.")]

Matters = Annotated[
    float | None, Option(metavar="POINTS", min=0, help="Smallest effect that counts (default: 2% of the scale).")
]

Calibrator = Annotated[Path, Argument(metavar="CAL", help="A calibrator that calibrate --save wrote.")]
CALIBRATED = Option(
    "-o",
    "--output",
    metavar="OUT",
    help="Calibrated scores in the shape they came in: .csv, .jsonl, .json (also .gz), .xlsx, .parquet, a folder, or "
    "::TABLE beside the database table that is read.",
)
Families = Annotated[
    str | None,
    Option(metavar="NAME=MAKER,...", help="Makers of judges and systems, where their names do not tell."),
]
Items = Annotated[
    str | None, Option(metavar="FILE", help="Texts of the answers (task, response, reason), if they are elsewhere.")
]
Criterion = Annotated[str | None, Option(help="Column of criteria: each is looked at, together.")]
Criteria = Annotated[str | None, Option(metavar="A,B,...", help="Score columns, one for each criterion, instead.")]
NewColumn = Annotated[str, Option(help="Name of the new column; of wide tables, ending of the new columns.")]
Clip = Annotated[
    bool, Option("--clip", help="Cut calibrated scores to the scale. Then the mean over the judges no longer stays.")
]
SpreadsheetSafe = Annotated[
    bool, Option("--spreadsheet-safe", help="In CSV, put an apostrophe before text a spreadsheet would run.")
]


Duplicates = StrEnum("Duplicates", "error mean first")
"""What to do with several rows of one entry."""
Incomplete = StrEnum("Incomplete", "estimate drop error")
"""What to do with entries that have no score."""
EngineName = StrEnum("EngineName", "duckdb spark")
"""Who reads files."""
Severity = StrEnum("Severity", "never info notice warning serious")
"""From what severity on findings end the command with 1."""


@dataclass_transform(frozen_default=True)
class Group:
    """A group of options, with its heading in the help. Its classes are frozen dataclasses."""

    title = "Options"

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    @classmethod
    def of(cls, ctx: Context) -> Self:
        """The group as the user filled it."""
        return ctx.meta[cls.__qualname__]


class Labels(Group):
    """Columns that a calibrator needs."""

    title = "Columns"

    language: Annotated[str | None, Option(help="Column of the language.")] = None
    judge: Annotated[str | None, Option(help="Column of the judge.")] = None
    score: Annotated[str | None, Option(help="Column of the score.")] = None


class Columns(Labels):
    """Which columns hold what."""

    by: Annotated[str | None, Option(help="Column to compare by in place of language: a rubric's wording, ...")] = None
    task: Annotated[str | None, Option(help="Column of the task.")] = None
    system: Annotated[str | None, Option(help="Column of the system, the thing that is judged.")] = None
    replicate: Annotated[str | None, Option(help="Column of the replicate.")] = None
    group: Annotated[str | None, Option(help="Column of task strata or requirement types.")] = None
    cluster: Annotated[str | None, Option(help="Column of clusters: tasks of one source or template.")] = None


class Layout(Group):
    """Where scores stand and how they are written."""

    title = "Reading"

    engine: Annotated[EngineName, Option(help="Who reads the files.")] = EngineName.duckdb
    language_from: Annotated[
        str | None, Option(metavar="PATTERN", help="Where the language stands: 'x_{language}.csv', COLUMN:PATTERN.")
    ] = None
    judge_from: Annotated[str | None, Option(metavar="PATTERN", help="Where the judge stands, likewise.")] = None
    wide: Annotated[
        str | None, Option(metavar="PATTERN", help="Names of score columns, such as '{judge}_{language}'.")
    ] = None
    values: Annotated[
        list[str] | None,
        Option("--map", metavar="WORD=NUMBER,...", help="Numbers of words and grades; WORD= is no score."),
    ] = None
    decimal: Annotated[str | None, Option(metavar="comma", help="Numbers such as 1,234 have a decimal comma.")] = None
    winner: Annotated[str | None, Option(help="Column of the winners of pairs: A, B, tie.")] = None
    swapped: Annotated[
        str | None, Option(metavar="flip|keep", help="Rows marked as swapped: turn the winner back, or not.")
    ] = None
    format: Annotated[str | None, Option(metavar="NAME", help="Format, as check --formats lists them.")] = None
    metric: Annotated[str | None, Option(metavar="NAME", help="Which one of several metrics in a tool's files.")] = None
    alike: Annotated[
        str | None, Option(metavar="same|different", help="Labels that differ only in case, spaces or invisible signs.")
    ] = None
    rescale: Annotated[
        str | None, Option(metavar="JUDGE=LOW:HIGH,...", help="Scales of judges that differ from --range.")
    ] = None
    languages: Annotated[
        str | None, Option(metavar="A,B,...", help="Read only these languages; one name where no column says it.")
    ] = None
    judges: Annotated[
        str | None, Option(metavar="A,B,...", help="Read only these judges; one name where no column says it.")
    ] = None
    kept: Annotated[
        Path | None, Option("--reading", metavar="FILE", help="Read as this file says, which check --save wrote.")
    ] = None

    def layout(self) -> dict[str, Any]:
        """What the user said about it, as arguments of `read_panel`."""
        own = ("language_from", "judge_from", "wide", "decimal", "winner", "swapped", "format", "metric")
        said = {name: getattr(self, name) for name in (*own, "alike", "rescale")}
        for axis in ("languages", "judges"):
            text = getattr(self, axis)
            said[axis] = None if text is None else [part.strip() for part in text.split(",")]
        return {"engine": self.engine.value, "map": self.values, "reading": self.kept, **said}


class Reading(Layout):
    """How scores are read."""

    score_range: Annotated[
        str | None, Option("--range", metavar="LOW:HIGH", help="The score scale. A score outside it is an error.")
    ] = None
    duplicates: Annotated[
        Duplicates, Option(help="Several rows of one task, system, language, judge and replicate.")
    ] = Duplicates.error
    incomplete: Annotated[Incomplete, Option(help="Entries without a score.")] = Incomplete.estimate

    def arguments(self) -> dict[str, Any]:
        """What the user asked, as arguments of `read_panel`."""
        return {
            "range": parse_range(self.score_range),
            "duplicates": self.duplicates.value,
            "incomplete": self.incomplete.value,
            **self.layout(),
        }


class Json(Group):
    """JSON or text."""

    title = "Output"

    as_json: Annotated[bool, Option("--json", help="Print all results as JSON to standard output.")] = False


class Overwrite(Group):
    """What may be replaced."""

    title = "Output"

    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace a file that is not polyjudge's, or its files among others.")
    ] = False


class Output(Overwrite, Json):
    """Where a result goes. The folder and the formats are checked before the work begins."""

    output: Annotated[
        Path | None, Option("-o", "--output", metavar="DIR", help="Folder for report, summary, JSON and tables.")
    ] = None
    figures: Annotated[
        str | None, Option(metavar="svg,png,pdf", help="Save the figures of the report too; needs -o.")
    ] = None
    full: Annotated[bool, Option("--full", help="Show every detail, not only the first screen.")] = False
    fail_on: Annotated[Severity | None, Option(help="Exit 1 when a finding is at least this severe.")] = None
    junit: Annotated[Path | None, Option(metavar="FILE", help="Write the findings as JUnit XML for CI.")] = None

    def __post_init__(self) -> None:
        if self.figures is not None and self.output is None:
            raise UsageError("--figures needs a folder to save them in: add -o DIR.")
        _ = self.formats

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats of --figures."""
        if self.figures is None:
            return ()
        from polyjudge.second.report.export import parse_formats

        return parse_formats(self.figures)


OUTPUTS = {"output": "-o"} | {name: f"--{name}" for name in ("save", "page", "write", "export", "junit")}
"""Parameters that name a place to write to, whatever the command."""
INPUTS = ("SCORES", "CAL", "GOLD", "FILE", "PLAN", "LABELS")
"""How options are shown that name what is read, as every argument does."""
RUN = "RUN"
"""How a parameter is shown that names a collection run, which is read and written."""


def _check_paths(command: str, parameters: Sequence[Any], given: Mapping[str, Any]) -> None:
    """Refuse an output that is an input, and a folder that holds something else than results.

    parameters : click parameters of the command; given : their values by name
    """
    shown = {p.name: p.metavar for p in parameters}
    named = {n: v for n, v in given.items() if isinstance(v, (str, Path)) and str(v)}
    outputs = {OUTPUTS[n]: v for n, v in named.items() if n in OUTPUTS and shown[n] != RUN}
    places = [p for p in parameters if not (p.metavar or "").islower()]  # a choice of words (devai|...) names no file
    read = {p.name for p in places if p.param_type_name == "argument" or p.metavar in (RUN, *INPUTS)}
    inputs = [v for n, v in named.items() if n in read and (n not in OUTPUTS or shown[n] == RUN)]
    check_apart(outputs, [*inputs, *(Path(v) / "*" for v in inputs if os.path.isdir(v))])
    overwrite = bool(given.get("overwrite"))
    for option, path in outputs.items():
        if option == "-o" and shown["output"] == "DIR":
            check_folder(path, command, overwrite)
        elif not (os.path.isdir(path) or "::" in str(path)):  # folders and tables are checked where they are written
            check_new(option, path, overwrite)


@cache
def _options_of(group: Any) -> Any:
    """A command whose options are the fields of a group and whose callback makes the group of their values."""
    app = typer.Typer(add_completion=False)
    app.command()(group)
    return typer.main.get_command(app)


class Light:
    """A command that takes what cannot be wrong as it is: to check it Typer would load Pydantic, for 0.1 seconds."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the command."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for p in found:
            if not isinstance(p.process_value, partial):
                p.process_value = partial(_taken, p, p.process_value)
        return found


def _taken(p: Any, check: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """The value of a parameter: nothing, a default of ours, or any text; the rest is checked."""
    text = getattr(getattr(p, "type_descriptor", None), "annotation", None) is str and isinstance(value, str)
    if not (text or value is p.default) or (p.required and value is None):
        return check(ctx, value)
    value = () if value is None and (p.multiple or p.nargs != 1) else value
    return value if p.callback is None else p.callback(ctx, p, value)


def command_class(groups: tuple[Any, ...]) -> type[TyperCommand]:
    """A command with these groups of options. An option of the command's own goes before one of a group."""

    class Command(Light, TyperCommand):
        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings)
            own = {p.name for p in self.params}
            self.shared: dict[Any, list[Any]] = {
                g: [p for p in _options_of(g).params if p.name not in own] for g in groups
            }
            self.params += [p for shared in self.shared.values() for p in shared]

        def format_options(self, ctx: Any, formatter: Any) -> None:
            for title, lines in _help_lines(self, ctx).items():
                with formatter.section(title):
                    formatter.write_dl(lines)

        def collect_usage_pieces(self, ctx: Any) -> list[str]:
            return [piece for piece in super().collect_usage_pieces(ctx) if piece != "[]"]  # an argument without a name

        def invoke(self, ctx: Any) -> Any:
            for value in ctx.params.values():
                if isinstance(value, str | Path):
                    check_name(value)
            _check_paths(self.name or "", self.params, ctx.params)
            for group, shared in self.shared.items():
                values = {p.name: ctx.params.pop(p.name) for p in shared}
                ctx.meta[group.__qualname__] = _options_of(group).callback(**values)
            try:
                try:
                    return super().invoke(ctx)
                finally:
                    sys.stdout.flush()
            except BrokenPipeError:
                # Left to itself the closed pipe would end the command with 1, which says that there is a finding.
                raise OutputClosed from None

    return Command


SHOWS_ALL = "check"
"""The command whose help shows the options of reading, which every command takes, and the rarer ones."""
RARE = ("overwrite", "figures")
"""Shown by that command alone."""
MORE = ("base", "sweep", "criteria")
"""Options of a command's own that stand together in one line at the end."""


def _help_lines(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Heading -> options and what they do. Elsewhere than in `check` columns and reading are one line each."""
    titles = {p.name: group.title for group, shared in command.shared.items() for p in shared}
    whole, more = command.name == SHOWS_ALL, list[tuple[str, str]]()
    out: dict[str, list[tuple[str, str]]] = {
        title: [] for title in ("Arguments", "Options", "Columns", "Reading", "Output")
    }
    for p in command.get_params(ctx):
        title = titles.get(p.name, "Arguments" if p.param_type_name == "argument" else "Options")
        record = p.get_help_record(ctx)
        if record is not None and (whole or (title not in ("Columns", "Reading") and p.name not in RARE)):
            (more if p.name in MORE else out[title]).append(record)
    if more:
        out["Options"].append(("more", "; ".join(f"{flag}: {text.rstrip('.')}" for flag, text in more) + "."))
    if not whole and "Columns" in titles.values():
        names = ", ".join(n for n in ("system", "task", "language", "score") if n in titles)
        out["Columns"].append(
            ("--judge NAME", f"Column of the judge, where it is not found; likewise --{names.replace(', ', ', --')}.")
        )
    if not whole and "Reading" in titles.values():
        out["Columns"].append(
            ("--reading FILE", "How to read, as check --save keeps it. Single options: polyjudge check --help.")
        )
    return {title: lines for title, lines in out.items() if lines}


def parse_range(text: str | None, flag: str = "--range") -> tuple[float, float] | None:
    """LOW:HIGH as two numbers."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise UsageError(f"{flag} takes two numbers with a colon between them, such as 0:100, not {text!r}.") from None
    return low, high


def parse_families(text: str | None) -> dict[str, str]:
    """NAME=MAKER pairs, with commas between them."""
    out = {}
    for part in text.split(",") if text else []:
        name, equals, family = part.partition("=")
        if not equals or not name.strip() or not family.strip():
            raise UsageError(f"--families takes NAME=MAKER pairs with commas between them, not {part!r}.")
        out[name.strip()] = family.strip()
    return out


def load(ctx: Context, scores: str, inside: bool = False) -> Panel:
    """The panel a command works on: `read`, without the languages and judges that missing scores leave unknown.

    inside : see `settle_incomplete`
    """
    from polyjudge.second.estimate.identify import settle_incomplete

    return settle_incomplete(read(ctx, scores), inside)


def load_criteria(ctx: Context, scores: str, criterion: str | None, criteria: str | None) -> dict[str, Panel]:
    """The panels of all criteria as `load` has them: criterion -> Panel; one under "" where there is only one."""
    from polyjudge.second.estimate.identify import settle_incomplete

    found = criteria_panels(ctx, scores, criterion, criteria)
    return {name: settle_incomplete(panel, inside=True) for name, panel in found.items()}


def criteria_panels(ctx: Context, scores: str, criterion: str | None, criteria: str | None) -> dict[str, Panel]:
    """The same as they were read."""
    from polyjudge.second.read.criterion_panels import read_criteria

    columns = criteria.split(",") if criteria is not None else None
    return read(ctx, scores, partial(read_criteria, criterion=criterion, criteria=columns))


def run(analysis: Callable[..., T], *given: Any, **options: Any) -> T:
    """Call an analysis of a panel that `load` read, at the level that the looks of an adaptive collection left."""
    from polyjudge.second.panel.arguments import run as call

    return call(analysis, *given, **options)


def read(ctx: Context, scores: str, reader: Callable[..., Any] | None = None) -> Any:
    """Read a panel with the columns and the options of reading that the user gave; warnings go to the terminal.

    reader : in place of `read_panel`
    """
    import warnings

    from polyjudge.second.panel.errors import PolyjudgeWarning
    from polyjudge.second.read import read_panel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PolyjudgeWarning)
        found = (reader or read_panel)(scores, **Reading.of(ctx).arguments(), **vars(Columns.of(ctx)))
    for warning in caught:
        if issubclass(warning.category, PolyjudgeWarning):
            tell(f"warning: {warning.message}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return found
