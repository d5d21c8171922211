"""The command line: every command is made from the signature and the docstring of one function.

Arguments of the function that may be given by position are arguments of the command, keyword-only ones are its options.
A function that takes `**columns` passes them to `read_panel`, whose arguments are then options of the command; `check`
shows them. What a function returns is printed, written (`-o`, `--json`, `--junit`) and decides the exit code: 0 fine, 1
a finding at `--fail-on` or an answer that is not whole, 2 bad input, 3 our fault.
"""

from __future__ import annotations

import enum
import gc
import inspect
import os
import sys
import traceback
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer

from polyjudge.base.errors import PolyjudgeError, UsageError
from polyjudge.base.signals import INTERRUPTED, TERMINATED, Terminated, unwinding
from polyjudge.base.text import name, shell, tell


class Command(NamedTuple):
    """Where a command stands in the help, its function, and one line of help."""

    group: str
    function: str
    help: str


COMMANDS = {
    "demo": Command("Start", "polyjudge.demo:demo", "Audit a panel whose truth is known, or write it to a file."),
    "check": Command("Start", "polyjudge.answers.check:check", "Show how a file of scores is read."),
    "audit": Command(
        "Start", "polyjudge.answers.audit.audit:audit", "See who wins, whether the judges agree, what is off."
    ),
    "calibrate": Command(
        "Calibrate", "polyjudge.answers.calibrate:calibrate", "Remove the effect of language on each judge."
    ),
    "apply": Command("Calibrate", "polyjudge.answers.calibrate:apply", "Apply a saved calibrator to other scores."),
    "compare": Command("Calibrate", "polyjudge.answers.compare:compare", "Compare calibrators on tasks held out."),
    "humans": Command("People", "polyjudge.answers.humans.compare:humans", "Compare judges with people's labels."),
    "label make": Command("People", "polyjudge.answers.humans.draw:draw_labels", "Draw answers for people to label."),
    "label read": Command("People", "polyjudge.answers.humans.returned:read_labels", "Join the labels that came back."),
    "probe": Command("People", "polyjudge.answers.probe:probe", "Test whether judges notice damaged answers."),
    "drift": Command("Watch", "polyjudge.answers.drift:drift", "See what changed since an earlier run."),
    "swap": Command("Watch", "polyjudge.answers.swap:swap", "Test whether one judge can replace another."),
    "plan": Command("Collect", "polyjudge.answers.plan:plan", "Work out how many tasks a question needs."),
    "collect": Command("Collect", "polyjudge.collect.run:collect", "Have judges score items (with Inspect)."),
    "paper reproduce": Command(
        "Paper", "polyjudge.paper.ledger:reproduce", "Recompute the paper's numbers, beside the published ones."
    ),
    "paper report": Command("Paper", "polyjudge.paper.tables:report", "Make the paper's tables for your own panel."),
}
GROUPS = {
    "label": ("People", "Have people label some answers."),
    "paper": ("Paper", "Reproduce the paper, or make its tables for your panel."),
}
READ = ("panel", "old", "new")
"""Names of arguments that are scores to be read."""


class OutputClosed(Exception):
    """The reader of standard output has gone."""


def main() -> None:
    """Run the command line."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small: threads would wait for each other
    gc.set_threshold(100_000)  # imports leave no garbage: looking for it took 7% of a short command
    debug = "--debug" in sys.argv[1:]
    sys.argv = [a for a in sys.argv if a != "--debug"]
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by whoever started us
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        with unwinding():
            code = _run(sys.argv[1:])
    except (Exception, KeyboardInterrupt, Terminated) as error:
        if debug:
            traceback.print_exc()
        code = explain(error)
    for out in (sys.stdout, sys.stderr):
        try:
            out.flush()
        except (OSError, ValueError):
            _forget(out)
            code = max(code, 2) if out is sys.stdout else code
    sys.exit(code)


GONE = {("swap", "--guard"): "Failures too rare to have shown are always allowed for now."}
"""Options of the version before, with what takes their place."""


def _gone(words: list[str], text: str) -> str:
    """What takes the place of an option that is no longer there; "" for all others."""
    for (command, option), reason in GONE.items():
        if words[:1] == [command] and option in text:
            return f"No such option: {option}. {reason}"
    return ""


def _run(words: list[str]) -> int:
    app = _app(words)
    try:
        code = typer.main.get_command(app)(args=words, prog_name="polyjudge", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
            raise
        ctx = getattr(error, "ctx", None)  # an error of usage
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return 0
        known = ctx.command.list_commands(ctx) if ctx and "No such command" in error.format_message() else []
        text = error.format_message() + (f" There are: {', '.join(known)}." if known else "")
        tell(_gone(words, text) or text)
        if ctx is not None:
            print(f"{ctx.get_usage()}\nAll options: {ctx.command_path} --help", file=sys.stderr)
        return int(error.exit_code)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def explain(error: BaseException) -> int:
    """Say in one paragraph what went wrong; the exit code."""
    chain: BaseException | None = error
    while chain is not None:  # a library may answer an interrupt with an error of its own
        if isinstance(chain, Terminated):
            return TERMINATED
        if isinstance(chain, KeyboardInterrupt):
            tell("interrupted.")
            return INTERRUPTED
        chain = chain.__cause__ or chain.__context__
    if isinstance(error, OutputClosed | BrokenPipeError):
        _forget(sys.stdout)
        return 2  # the reader went away; 0 and 1 would claim a result
    if isinstance(error, PolyjudgeError):
        tell(str(error))
        return 2
    if isinstance(error, OSError):
        where = name(error.filename, 200) if error.filename is not None else "the output"
        tell(f"Cannot read or write {where}: {error.strerror or error}.")
        return 2
    if isinstance(error, RuntimeError) and "Symlink loop" in str(error):
        tell(f"{name(error, 200)}: these links lead back to themselves. Name an ordinary file.")
        return 2
    if isinstance(error, MemoryError):
        tell("There is not enough memory for this panel. Read fewer languages, judges or systems.")
        return 2
    tell(
        f"An internal error ({name(f'{type(error).__name__}: {error}', 300)}). This is a fault of polyjudge, not of "
        "your data: please report it with what --debug adds to the same command."
    )
    return 3


def _forget(stream: Any) -> None:
    """Send what is still held back for an output to nowhere: it cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# --- commands from functions ---


def _version(value: bool) -> None:
    if value:
        from polyjudge import __version__

        print(f"polyjudge {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    debug: bool = typer.Option(False, "--debug", help="Show where an error came from. Can be given anywhere."),
) -> None:
    pass


def _app(words: list[str]) -> typer.Typer:
    """The command line; only the command that is asked for is imported."""
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
    kind: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "context_settings": settings}
    app = typer.Typer(
        name="polyjudge",
        help="Find out whether you can trust your LLM-judge leaderboard, before you ship on it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        cls=_Grouped,
        **kind,
    )
    app.callback()(_root)
    asked = [w for w in words if not w.startswith("-")][:2]
    groups = {g: typer.Typer(help=text, no_args_is_help=True, **kind) for g, (_, text) in GROUPS.items()}
    for key, command in COMMANDS.items():
        group, _, last = key.rpartition(" ")
        if asked[: 1 + bool(group)] == key.split():
            made, text = _command(key, _function(key), words)
        else:
            made, text = (lambda: None), command.help
        (groups[group] if group else app).command(last, help=text, short_help=command.help)(made)
    for group, made_group in groups.items():
        app.add_typer(made_group, name=group)
    return app


class _Grouped(typer.core.TyperGroup):
    """Help of the whole: commands in groups, in the order of use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys(key.split()[0] for key in COMMANDS))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        for key in self.list_commands(ctx):
            group, text = GROUPS.get(key) or COMMANDS[key][::2]
            rows.setdefault(group, []).append((key, text))
        for group, lines in rows.items():
            with formatter.section(group):
                formatter.write_dl(lines)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        formatter.write_paragraph()
        formatter.write_text(
            "Try: polyjudge demo. Then: polyjudge audit scores.csv. As a gate in CI: --fail-on warning."
        )


def _function(key: str) -> Callable[..., Any]:
    module, _, function = COMMANDS[key].function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def documented(function: Callable[..., Any]) -> tuple[str, dict[str, str], str]:
    """Text, arguments and examples of a docstring: `name : text`, and lines under `Examples:`.

    >>> documented(check_sample)
    ('Say it.', {'text': 'what is said, aloud'}, '    say hello')
    """
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("Examples:\n")
    examples = examples.split("\n\n    >>>")[0].split("\n\n>>>")[0].rstrip()
    about: dict[str, str] = {}
    lines, last = [], ""
    known = inspect.signature(function).parameters
    for line in text.split("\n"):
        word, colon, rest = line.partition(" : ")
        if colon and all(w.strip() in known for w in word.split(",")):
            last = word
            about |= {w.strip(): rest for w in word.split(",")}
        elif last and line.startswith("    "):
            about |= {w.strip(): f"{about[w.strip()]} {line.strip()}" for w in last.split(",")}
        elif not line.startswith(">>>"):
            last = "" if line.strip() else last
            lines.append(line)
        else:
            break
    return "\n".join(lines).strip(), about, examples


def check_sample(text: str) -> None:
    """Say it.

    text : what is said,
        aloud

    Examples:
        say hello
    """


COMMON = {
    "full": (bool, False, "--full", "Show all details."),
    "as_json": (bool, False, "--json", "Print JSON (versioned)."),
    "output_folder": (
        Path | None,
        None,
        ("-o", "--output"),
        "Write a page, a summary, JSON and tables to this folder.",
    ),
    "overwrite": (bool, False, "--overwrite", "Replace what another command of ours wrote there."),
    "junit": (Path | None, None, "--junit", "Write the findings as JUnit XML."),
    "fail_on": (str, "", "--fail-on", "Exit 1 from this severity on: never, info, notice, warning, serious."),
}
HIDDEN = ("overwrite", "probes")
"""Options that are taken and not shown."""
ALSO_OPTIONS = ("labels",)
"""Arguments that may be given as options too, in the words of other commands."""
METAVARS = {str: "TEXT", Path: "PATH", int: "N", float: "X", list[str]: "A,B,..."}


def _command(key: str, function: Callable[..., Any], words: list[str]) -> tuple[Callable[..., Any], str]:
    """What typer runs for a function, and its help. The many options of reading are made where one may be meant."""
    text, about, examples = documented(function)
    hints = typing.get_type_hints(function)
    own = inspect.signature(function).parameters
    reads = [p for p in own if p in READ]
    is_reader = any(p.kind is p.VAR_KEYWORD for p in own.values())
    parameters: list[inspect.Parameter] = []
    reading: list[str] = []
    for p in own.values():
        if p.kind is not p.VAR_KEYWORD:
            parameters.append(_parameter(p, Any if p.name in READ else hints[p.name], about.get(p.name, "")))
        if p.name in ALSO_OPTIONS and p.kind is not p.KEYWORD_ONLY:
            option = p.replace(name=f"{p.name}_", kind=p.KEYWORD_ONLY)
            parameters.append(_parameter(option, str | None, f"the same as {p.name.upper()}"))
    common = [n for n in COMMON if not (n == "output_folder" and "output" in own) and n not in own]
    shared_options = []
    for n in common:
        kind, default, flags, about_it = COMMON[n]
        flags = (flags,) if isinstance(flags, str) else flags
        option = typer.Option(default, *flags, help=about_it, hidden=n in HIDDEN, show_default=False)
        if kind is not bool:
            option.metavar = "PATH" if kind is not str else "TEXT"
        shared_options.append(inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind))
    known = {"--help"}.union(*(p.default.param_decls or () for p in (*parameters, *shared_options)))
    said = {w.partition("=")[0] for w in words if w.startswith("--")}
    if is_reader and key != "check":
        text += "\n\nHow the file is read can be said with the options that `polyjudge check --help` lists."
    if is_reader and (key == "check" or not said <= known):
        from polyjudge.read import read_panel

        more, kinds = documented(read_panel)[1], typing.get_type_hints(read_panel)
        for p in inspect.signature(read_panel).parameters.values():
            if p.kind is p.KEYWORD_ONLY and p.name not in own:
                parameters.append(_parameter(p, kinds[p.name], more.get(p.name, ""), hidden=key != "check"))
                reading.append(p.name)
    parameters += shared_options

    def run(**given: Any) -> None:
        values = _with_options({n: _plain(x) for n, x in given.items()})
        shared = {n: values.pop(n) if n in common else values.get(n, x[1]) for n, x in COMMON.items()}
        columns = {n: v for n in reading if (v := values.pop(n)) is not None}
        try:
            _finish(key, function, reads, values | columns, shared)
        except BrokenPipeError:
            raise OutputClosed from None  # typer would end with 1, which claims a finding

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    body = "\n\n".join("\b\n" + part if part.startswith("  ") else part for part in text.split("\n\n"))
    return run, body + (f"\n\n\b\nExamples:\n{examples}" if examples else "")


def _with_options(values: dict[str, Any]) -> dict[str, Any]:
    """Arguments that were given as options take their place."""
    for argument in ALSO_OPTIONS:
        option = values.pop(f"{argument}_", None)
        if option is not None and values.get(argument) is not None:
            raise UsageError(f"The {argument} are given twice: {values[argument]} and --{argument} {option}.")
        if option is not None:
            values[argument] = option
    return values


def _parameter(p: inspect.Parameter, kind: Any, text: str, hidden: bool = False) -> inspect.Parameter:
    """One parameter as typer wants it. Positional ones are arguments, keyword-only ones options."""
    optional = _union(kind) and type(None) in typing.get_args(kind)
    parts = [a for a in typing.get_args(kind) if a is not type(None)] if optional or _union(kind) else [kind]
    inner: Any = parts[0]
    if Any in parts or len(parts) > 1 or p.name in READ:
        inner = str
    elif typing.get_origin(inner) is typing.Literal:
        choice: Any = enum.StrEnum  # made while running: no checker can know its members
        inner = choice("Choice", {str(v): v for v in typing.get_args(inner)})
    many = typing.get_origin(inner) is tuple
    inner = list[str] if many else inner
    needed = p.default is p.empty
    default = ... if needed else None if many else p.default
    if isinstance(inner, enum.EnumMeta) and isinstance(default, str):
        default = inner(default)
    option: Any
    if p.kind is p.KEYWORD_ONLY:
        flag = "--" + p.name.strip("_").replace("_", "-")
        flags = ("-o", "--output") if p.name == "output" else ("-n", flag) if p.name == "n" else (flag,)
        shown = default not in (None, "", False, ...)
        hidden = hidden or p.name in HIDDEN
        option = typer.Option(default, *flags, help=text, hidden=hidden, show_default=shown)
        option.metavar = METAVARS.get(inner)
    else:
        option = typer.Argument(default, metavar="SCORES" if p.name == "panel" else p.name.upper(), help=text)
    kind = inner | None if (optional or many) and not needed else inner
    return inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)


def _union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _plain(value: Any) -> Any:
    """What the function takes: lists may be given with commas."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list):
        return tuple(x for part in value for x in part.split(",") if x) or None
    return value


def _finish(
    key: str,
    function: Callable[..., Any],
    reads: list[str],
    values: dict[str, Any],
    shared: dict[str, Any],
) -> None:
    """Read, run, print, write; exit 1 for what was found."""
    from polyjudge.base.files import check_apart, check_folder
    from polyjudge.report.model import SEVERITIES

    if isinstance(values.get("seed"), int) and values["seed"] < 0:
        raise UsageError(f"--seed is a whole number from 0 on, not {values['seed']}.")
    limit = shared.get("fail_on") or "never"
    if limit not in ("never", *SEVERITIES):
        raise UsageError(f"--fail-on takes never, {', '.join(SEVERITIES)}, not {limit[:40]!r}.")
    outputs = {"-o": shared.get("output_folder"), "--junit": shared.get("junit")}
    check_apart(outputs, [str(values[p]) for p in reads if values.get(p)])
    if outputs["-o"] is not None:
        check_folder(outputs["-o"], key, shared["overwrite"])
    kept = {n: v for n, v in values.items() if v is not None or n in reads}
    result = function(**kept)
    if result is None:
        return
    report = result.report()
    _show(result, report, shared)
    if outputs["-o"] is not None:
        _write(key, result, report, outputs["-o"], shared["overwrite"])
    if outputs["--junit"] is not None:
        from polyjudge.base.files import write_text
        from polyjudge.report.text import junit

        write_text(outputs["--junit"], junit(report, limit))
    worst = max((SEVERITIES.index(f.severity) for f in report.findings), default=-1)
    if result.incomplete or (limit != "never" and worst >= SEVERITIES.index(limit)):
        raise typer.Exit(1)


def _show(result: Any, report: Any, shared: dict[str, Any]) -> None:
    from polyjudge.report import terminal
    from polyjudge.report.text import to_json

    if shared.get("as_json"):
        text = to_json(result) + "\n"
        if (sys.stdout.encoding or "utf-8").lower().startswith("utf"):
            sys.stdout.write(text)
        else:
            sys.stdout.buffer.write(text.encode())  # JSON is UTF-8 whatever the terminal is
    else:
        terminal.show(report, full=bool(shared.get("full")))
    sys.stdout.flush()


def _write(key: str, result: Any, report: Any, folder: Path, overwrite: bool) -> None:
    """report.html, summary.md, NAME.json, NAME.txt and every table as CSV."""
    from polyjudge.base.files import new_folder
    from polyjudge.report import terminal, text
    from polyjudge.report.page import page

    files = {
        "report.html": page(report),
        "summary.md": text.markdown(report),
        f"{key.replace(' ', '-')}.json": text.to_json(result) + "\n",
        f"{key.replace(' ', '-')}.txt": terminal.screen(report, full=True) + "\n",
        **{f"{table.name}.csv": text.csv(table.frame) for table in report.tables},
    }
    with new_folder(folder, key, overwrite=overwrite) as place:
        for file, content in files.items():
            (place / file).write_text(content, encoding="utf-8", newline="")
    tell(f"wrote {shell(str(folder).rstrip('/') + '/report.html')}, and beside it {', '.join(list(files)[1:])}")
