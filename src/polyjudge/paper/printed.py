"""Tables as CSV (all digits), Markdown and LaTeX (rounded). Labels are escaped for each of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.panel.files import safe_csv, write_texts
from polyjudge.panel.labels import clean
from polyjudge.paper.published import data

_NAMED = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {c: f"\\text{name}{{}}" for c, name in {**_NAMED, '"': "quotedbl"}.items()}
    | {"–": "--"}
)
MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|~"} | {"&": "&amp;", "@": "&#64;"})


@dataclass(frozen=True)
class Table:
    """A table of the paper: `digits` says how many decimals a column shows ("p" stands for a p-value)."""

    name: str
    title: str
    frame: pd.DataFrame
    digits: Mapping[str, int | str | None] = field(default_factory=dict)
    note: str = ""

    def csv(self) -> str:
        return safe_csv(self.frame.astype(object).where(self.frame.notna(), None), to_be_seen=True)

    def markdown(self) -> str:
        return f"**{markdown_text(self.title)}**\n\n{markdown_table(self.frame, self.digits)}" + (
            f"\n{markdown_text(self.note)}\n" if self.note else ""
        )

    def latex(self) -> str:
        align = "".join("l" if _is_text(self.frame[c]) else "r" for c in self.frame)
        lines = [
            "% needs \\usepackage{booktabs}",
            "\\begin{table}[t]",
            "\\centering\\footnotesize",
            f"\\caption{{{latex_text(self.title)}.{' ' + latex_text(self.note) if self.note else ''}}}",
            f"\\label{{tab:{self.name.replace('_', '-')}}}",
            f"\\begin{{tabular}}{{@{{}}{align}@{{}}}}",
            "\\toprule",
            " & ".join(latex_text(_title(c)) for c in self.frame.columns) + " \\\\",
            "\\midrule",
        ]
        for row in self.frame.to_dict("records"):
            lines.append(" & ".join(latex_text(shown(v, self.digits.get(str(c)))) for c, v in row.items()) + " \\\\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])

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


def markdown_table(frame: pd.DataFrame, digits: Mapping[str, int | str | None] | None = None) -> str:
    digits = digits or {}
    marks = [":--" if _is_text(frame[c]) else "--:" for c in frame]
    lines = [
        "| " + " | ".join(markdown_text(_title(c)) for c in frame.columns) + " |",
        "|" + "|".join(marks) + "|",
    ]
    for row in frame.to_dict("records"):
        lines.append("| " + " | ".join(markdown_text(shown(v, digits.get(str(c)))) for c, v in row.items()) + " |")
    return "\n".join(lines) + "\n"


def markdown_text(text: object) -> str:
    """Text without any meaning to Markdown or HTML: no markup, mention or link comes of it."""
    plain = clean(text, 2000).translate(MARKDOWN)
    return re.sub(r"(?i)(:/)(?=/)|\b(www)\.", lambda m: f"{m[1]}\\" if m[1] else f"{m[2]}\\.", plain)


def latex_text(text: object) -> str:
    return clean(text, 2000).translate(LATEX)


def _title(column: object) -> str:
    return str(column).replace("_", " ")


def _is_text(column: pd.Series[Any]) -> bool:
    return any(isinstance(v, str) for v in column)
