"""The embedded sample panel, with the truth that was planted in it. `make` is the code that made it."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from polyjudge.second.panel.panel import Panel


def sample_panel() -> Panel:
    """A simulated panel of 55 tasks x 8 languages x 6 judges x 3 replicates on a scale of 0 to 100.

    >>> sample_panel().shape
    (55, 8, 6)
    """
    from polyjudge.second.read import read_panel

    with as_file(files(__name__) / "scores.csv.gz") as path:
        panel = read_panel(path, range=(0, 100))
    assert panel.reading is not None
    # What `polyjudge demo --write scores.csv` writes: the place inside the package is nobody's business.
    return replace(panel, reading=replace(panel.reading, source="scores.csv", format="csv"))


def sample_csv() -> bytes:
    """The scores of the sample panel as the text of a CSV file."""
    import gzip

    return gzip.decompress((files(__name__) / "scores.csv.gz").read_bytes())


def sample_truth() -> pd.DataFrame:
    """The interaction planted in the sample panel: a language x judge table, in score points."""
    cells = pd.DataFrame(json.loads((files(__name__) / "truth.json").read_text(encoding="utf-8")))
    return cells.set_index("language").rename_axis(columns="judge")
