"""The command line. Each command lives in a module of its own and imports the heavy rooms when it runs."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache
from types import FrameType
from typing import Any

import typer

from polyjudge.second.panel.budget import require_room
from polyjudge.second.panel.errors import OutputClosed, PolyjudgeError, UsageError
from polyjudge.second.panel.labels import clean, redact, tell

DEBUG = "--debug"
INTERRUPTED = 130
TERMINATED = 143

app = typer.Typer(
    name="polyjudge",
    help="Audit and calibrate panels of LLM judges across languages.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(value: bool) -> None:
    if value:
        from polyjudge.second import __version__

        typer.echo(f"polyjudge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
    debug: bool = typer.Option(False, DEBUG, help="Show where an error came from. May stand anywhere."),
) -> None:
    pass


def main() -> None:
    """Run the command line: exit 0 fine, 1 a finding (--fail-on), 2 bad input or usage, 3 an internal error."""
    # Matrix products here are many and small: threads of them would wait for each other more than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    debug = DEBUG in sys.argv[1:]
    sys.argv = [a for a in sys.argv if a != DEBUG]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if os.path.expanduser("~") == "~":  # an unknown user without HOME: libraries insist on one
        os.environ["HOME"] = tempfile.mkdtemp(prefix="polyjudge-home-")
        atexit.register(shutil.rmtree, os.environ["HOME"], ignore_errors=True)
    try:
        if sys.flags.optimize > 1:
            raise UsageError(
                "Python runs with -OO (or PYTHONOPTIMIZE=2), which the charts cannot. Leave it out; -O works."
            )
        require_room()
        with _interrupting_queries():
            code = _run()
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        code = _stopped(error) or _explain(error)
    for stream in (sys.stdout, sys.stderr):  # left to Python, one that cannot be written would end with 120
        try:
            stream.flush()
        except (OSError, ValueError):
            _forget(stream)
            code = max(code, 2) if stream is sys.stdout else code
    sys.exit(code)


_terminated = threading.Event()
"""Set once the program was asked to end: an engine in the midst of a query says only that it was interrupted."""


def _terminate(number: int, frame: FrameType | None) -> None:
    """Unwind, so that unfinished files are removed; a library that is being loaded is left to end that first, for one
    that is not written in Python prints what passes through it."""
    _terminated.set()
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None:
        sys.exit(TERMINATED)
    threading.Timer(0.02, os.kill, (os.getpid(), number)).start()


GRACE = 5.0
"""Seconds that a program which was asked to end (SIGTERM) may take to unwind: an engine may wait for itself forever."""


@contextmanager
def _interrupting_queries() -> Iterator[None]:
    """Have a signal end a running query at once: Python itself would hear of it only when the query is over."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    last = threading.Timer(GRACE, _end_now)
    last.daemon = True

    def watch() -> None:
        while number := ours.recv(1):
            if number[0] == signal.SIGTERM and not last.is_alive():
                last.start()
            engine = sys.modules.get("polyjudge.second.read.duck")
            if engine is not None:
                engine.interrupt_all()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    _terminated.clear()
    before = signal.signal(signal.SIGTERM, _terminate)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, before)
        theirs.close()
        watcher.join(10)  # a thread must not be inside the engine when the program ends
        last.cancel()
        ours.close()


def _end_now() -> None:
    """End without unwinding; what is half-written goes."""
    from polyjudge.second.panel.files import remove_unfinished

    remove_unfinished()
    os._exit(TERMINATED)


@cache
def _built(name: str) -> Any:
    """The command line with the command that is asked for; with all of them where none is called so."""
    from polyjudge.second.cli import commands

    commands.check_known(name)
    if name not in ("", *commands.COMMANDS):
        return _built("")
    root = copy(app)
    root.registered_commands, root.registered_groups = [], []
    root.info.cls = commands.Commands
    commands.register(root, [name] if name else commands.COMMANDS)
    return typer.main.get_command(root)


def _run() -> int:
    try:
        code = _built(next(iter(sys.argv[1:]), ""))(standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
            raise
        # An error of usage, wherever typer keeps click.
        ctx = getattr(error, "ctx", None)
        tell(error.format_message())
        if ctx is not None:
            print(f"{ctx.get_usage()}\nAll options: {ctx.command_path} --help", file=sys.stderr)
        return int(error.exit_code)
    if code == INTERRUPTED:  # typer takes the interrupt for itself and says nothing
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _stopped(error: BaseException) -> int:
    """The exit code after an interrupt, else 0. NumPy may answer an interrupt with an error of its own."""
    chain: BaseException | None = error
    while chain is not None and not isinstance(chain, KeyboardInterrupt):
        chain = chain.__cause__ or chain.__context__
    if chain is None:
        return 0
    if not _terminated.is_set():
        tell("interrupted.")
    return TERMINATED if _terminated.is_set() else INTERRUPTED


def _explain(error: BaseException) -> int:
    """Say in one paragraph what went wrong; the exit code."""
    if isinstance(error, OutputClosed | BrokenPipeError):
        _forget(sys.stdout)
        return 2  # the reader went away; 0 and 1 would claim a result
    if isinstance(error, PolyjudgeError):
        tell(str(error))
        return 2
    if isinstance(error, OSError):
        _forget(sys.stdout)
        where = error.filename if error.filename is not None else "the output"
        tell(f"Cannot read or write {clean(where, 200)}: {error.strerror or error}.")
        return 2
    if isinstance(error, MemoryError):
        tell("There is not enough memory for this panel. Read fewer languages or judges.")
        return 2
    what = clean(redact(f"{type(error).__name__}: {error}"), 300)
    tell(
        f"An internal error ({what}). This is a fault of polyjudge, not of your data: please report it with what "
        f"{DEBUG} adds to the same command."
    )
    return 3


def _forget(stream: Any) -> None:
    """Send what is still held back for an output to nowhere: it cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
