"""Writing a result into a folder: its JSON, and its tables as CSV that a spreadsheet can open safely."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.core.errors import UsageError
from polyjudge.core.files import atomic_write, new_folder, spreadsheet_safe
from polyjudge.core.schema import envelope, to_json

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.report.page.model import Page


@contextmanager
def result_folder(output: Path, command: str) -> Iterator[Path]:
    """A folder to write a result to, which becomes `output` as a whole: it never holds a mix of two runs."""
    from polyjudge.cli.writing import overwrite

    with new_folder(output, command, overwrite=overwrite()) as folder:
        yield folder
    if (output / "report.html").exists():
        figures = len(list((output / "figures").glob("*")))
        more = f" and {figures} figures in {output / 'figures'}" if figures else ""
        print(f"polyjudge: wrote {output / 'report.html'}{more}", file=sys.stderr)


def write_result(folder: Path, command: str, result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """`command`.json with everything, and one CSV file per table."""
    with atomic_write(folder / f"{command}.json") as file:
        file.write(to_json(envelope(command, result), indent=1) + "\n")
    for name, frame in tables.items():
        with atomic_write(folder / f"{name}.csv") as file:
            frame.map(spreadsheet_safe).rename(columns=spreadsheet_safe).to_csv(file, index=False, lineterminator="\n")


def figure_formats(figures: str | None, output: Path | None) -> tuple[str, ...]:
    """The formats of --figures, checked before the work begins."""
    if figures is None:
        return ()
    if output is None:
        raise UsageError("--figures needs a folder to save them in: add -o DIR.")
    from polyjudge.report.export import parse_formats

    return parse_formats(figures)


def write_page(
    folder: Path,
    command: str,
    result: dict[str, Any],
    page: Callable[[str, dict[str, Any]], Page],
    formats: tuple[str, ...] = (),
) -> None:
    """report.html, and the figures. `page` takes the command line that makes it again, and its JSON."""
    from polyjudge.report import export
    from polyjudge.report.page.made import command_line

    export.write_page(page(command_line(), envelope(command, result)), folder, formats)
