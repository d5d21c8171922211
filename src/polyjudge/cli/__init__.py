"""The command line. Each command lives in a module of its own and imports the heavy rooms when it runs."""

from __future__ import annotations

import os
import sys

import typer

from polyjudge.core.errors import OutputClosed, PolyjudgeError

app = typer.Typer(
    name="polyjudge",
    help="Audit and calibrate panels of LLM judges across languages.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: "resamples" if name == "replicates" else name,  # the former name
    },
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(value: bool) -> None:
    if value:
        from polyjudge import __version__

        typer.echo(f"polyjudge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line: exit 0 fine, 1 a finding at or over --fail-on, 2 bad input or usage."""
    from polyjudge.cli import commands

    commands.register(app)
    try:
        app()
    except PolyjudgeError as error:
        print(f"polyjudge: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("polyjudge: interrupted.", file=sys.stderr)
        sys.exit(130)
    except OutputClosed:
        _forget_output()
        sys.exit(141)  # what a shell reports of any tool whose reader went away; 0 and 1 would claim a result
    except OSError as error:
        _forget_output()
        where = error.filename if error.filename is not None else "the output"
        print(f"polyjudge: Cannot read or write {where}: {error.strerror or error}.", file=sys.stderr)
        sys.exit(2)


def _forget_output() -> None:
    """Send what is still held back for standard output to nowhere: it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
