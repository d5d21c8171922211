"""`label read`: what came back of a folder of labels, by annotator, and what is missing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.panel.files import atomic_write, safe_csv
from polyjudge.second.read.label_folder import read_label_folder
from polyjudge.second.report.result import Result


class Returned(Result):
    """Labels that came back. `annotators` has a row per annotator: language, annotator, asked, labelled, skipped,
    missing. `labels` are the labels themselves, as `anchor` takes them."""

    folder: str
    labels: pd.DataFrame
    annotators: pd.DataFrame
    skipped: pd.DataFrame
    files: tuple[str, ...]
    odd: tuple[str, ...]
    """What did not fit, in words: files of another manifest, answers that were not offered, unreadable files."""
    replaced: int
    """Answers that a later one to the same item replaced."""

    @property
    def missing(self) -> int:
        """Items that were given out and have neither a label nor a reason for skipping them."""
        return int(self.annotators["missing"].sum())


def read(folder: str | Path, output: str | Path | None = None) -> Returned:
    """Join the files that came back to a folder of `label make`; `output` also writes the labels as CSV."""
    found = read_label_folder(folder)
    shown: Counter[tuple[str, str]] = Counter()
    for look in found.manifest["shown"].values():
        language = found.manifest["items"][look["item"]]["language"]
        shown[language, look["annotator"]] += 1

    def counted(frame: pd.DataFrame) -> dict[Any, int]:
        return {} if frame.empty else frame.groupby(["language", "annotator"]).size().to_dict()

    labelled, skipped = counted(found.labels), counted(found.skipped)
    rows = [
        (*who, asked, labelled.get(who, 0), skipped.get(who, 0), asked - labelled.get(who, 0) - skipped.get(who, 0))
        for who, asked in sorted(shown.items())
    ]
    if output is not None:
        with atomic_write(output) as file:
            file.write(safe_csv(found.labels))
    columns = ["language", "annotator", "asked", "labelled", "skipped", "missing"]
    return Returned(
        folder=str(folder),
        annotators=pd.DataFrame(rows, columns=columns),
        labels=found.labels,
        skipped=found.skipped,
        files=found.files,
        odd=found.odd,
        replaced=found.replaced,
    )
