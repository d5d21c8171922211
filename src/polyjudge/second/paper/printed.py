"""Tables as CSV (all digits), Markdown and LaTeX (rounded). Labels are escaped for each of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.panel.files import safe_csv, write_texts
from polyjudge.second.panel.labels import clean
from polyjudge.second.paper.published import data

_NAMED = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {c: f"\\text{name}{{}}" for c, name in {**_NAMED, '"': "quotedbl"}.items()}
    | {"–": "--"}
)
MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|~"} | {"&": "&amp;", "@": "&#64;"})


Digits = Mapping[str, int | str | None]


@dataclass(frozen=True)
class Table:
    """A table of the paper: `digits` says how many decimals a column shows ("p" stands for a p-value)."""

    name: str
    title: str
    frame: pd.DataFrame
    digits: Digits = field(default_factory=dict)
    note: str = ""

    def csv(self) -> str:
        return safe_csv(self.frame.astype(object).where(self.frame.notna(), None), to_be_seen=True)

    def markdown(self) -> str:
        return f"**{markdown_text(self.title)}**\n\n{markdown_table(self.frame, self.digits)}" + (
            f"\n{markdown_text(self.note)}\n" if self.note else ""
        )

    def latex(self) -> str:
        head, rows = _grid(self.frame, self.digits, latex_text)
        align = "".join("l" if _is_text(self.frame[c]) else "r" for c in self.frame)
        text = pd.DataFrame(rows, columns=head).style.hide(axis="index").to_latex(
            column_format=f"@{{}}{align}@{{}}", position="t", position_float="centering", hrules=True,
            caption=f"{latex_text(self.title)}.{' ' + latex_text(self.note) if self.note else ''}",
            label=f"tab:{self.name.replace('_', '-')}",
        )  # fmt: skip
        return "% needs \\usepackage{booktabs}\n" + text.replace("\\centering", "\\centering\\footnotesize", 1)

    def write(self, folder: Path) -> list[Path]:
        forms = {"csv": self.csv(), "md": self.markdown(), "tex": self.latex()}
        return write_texts(folder, {f"{self.name}.{ending}": text for ending, text in forms.items()})


def table(part: str, name: str, frame: pd.DataFrame, **values: Any) -> Table:
    """A table with the title, the digits (by pattern of column) and the note of data/tables.json."""
    about = data("tables")[part][name]
    rules = about.get("digits", {}).items()
    digits = {str(c): next((d for rule, d in rules if re.fullmatch(rule, str(c))), None) for c in frame.columns}
    return Table(name, about["title"], frame, digits, about.get("note", "").format(**values))


def shown(value: Any, digits: int | str | None = None) -> str:
    """A value as a reader wants it: rounded, a dash where there is none."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, (bool, str)):
        return str(value)
    if digits == "p":
        return "1" if value == 1 else (f"{value:.4f}" if value >= 1e-3 else f"{value:.1e}")
    if isinstance(value, int) or (digits is None and float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value)}"
    if digits is None:
        return f"{value:.4g}"
    # Rounding twice keeps 0.9675 and 0.96749999999999 alike; adding 0.0 turns -0.0 into 0.0.
    return f"{round(round(float(value), 12), int(digits)) + 0.0:.{digits}f}"


def _grid(frame: pd.DataFrame, digits: Digits, escape: Callable[[object], str]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows as text, rounded and escaped."""
    rows = frame.to_dict("records")
    cells = [[escape(shown(v, digits.get(str(c)))) for c, v in row.items()] for row in rows]
    return [escape(str(c).replace("_", " ")) for c in frame.columns], cells


def markdown_table(frame: pd.DataFrame, digits: Digits | None = None) -> str:
    head, rows = _grid(frame, digits or {}, markdown_text)
    marks = "|".join(":--" if _is_text(frame[c]) else "--:" for c in frame)
    first, *rest = (f"| {' | '.join(cells)} |" for cells in (head, *rows))
    return "\n".join([first, f"|{marks}|", *rest, ""])


def markdown_text(text: object) -> str:
    """Text without any meaning to Markdown or HTML: no markup, mention or link comes of it."""
    plain = clean(text, 2000).translate(MARKDOWN)
    return re.sub(r"(?i)(:/)(?=/)|\b(www)\.", lambda m: f"{m[1]}\\" if m[1] else f"{m[2]}\\.", plain)


def latex_text(text: object) -> str:
    return clean(text, 2000).translate(LATEX)


def _is_text(column: pd.Series[Any]) -> bool:
    return any(isinstance(v, str) for v in column)
