"""Writing a result into a folder: its JSON, and its tables as CSV that a spreadsheet can open safely."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.files import atomic_write, spreadsheet_safe
from polyjudge.schema import envelope

if TYPE_CHECKING:
    import pandas as pd


def write_result(folder: Path, command: str, result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """`command`.json with everything, and one CSV file per table."""
    with atomic_write(folder / f"{command}.json") as file:
        json.dump(envelope(command, result), file, ensure_ascii=False, indent=1, allow_nan=False)
        file.write("\n")
    for name, frame in tables.items():
        with atomic_write(folder / f"{name}.csv") as file:
            frame.map(spreadsheet_safe).rename(columns=spreadsheet_safe).to_csv(file, index=False, lineterminator="\n")
