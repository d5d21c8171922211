"""Writing a result into a folder: its JSON, and its tables as CSV that a spreadsheet can open safely."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.core.errors import UsageError
from polyjudge.core.files import atomic_write, spreadsheet_safe
from polyjudge.core.schema import envelope, to_json

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.report.page.model import Page


def write_result(folder: Path, command: str, result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """`command`.json with everything, and one CSV file per table."""
    with atomic_write(folder / f"{command}.json") as file:
        file.write(to_json(envelope(command, result), indent=1) + "\n")
    for name, frame in tables.items():
        with atomic_write(folder / f"{name}.csv") as file:
            frame.map(spreadsheet_safe).rename(columns=spreadsheet_safe).to_csv(file, index=False, lineterminator="\n")


def figure_formats(figures: str | None, output: Path | None) -> tuple[str, ...]:
    """The formats of --figures; they and the folder are checked before the work begins."""
    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"-o {output} is a file. Name a folder: it is made when it is not there.")
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

    written = export.write_page(page(command_line(), envelope(command, result)), folder, formats)
    more = f" and {len(written) - 1} figures in {folder / 'figures'}" if len(written) > 1 else ""
    print(f"polyjudge: wrote {written[0]}{more}", file=sys.stderr)
