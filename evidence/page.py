"""What the study says: in the terminal, and as the page of the documentation with two charts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from evidence.answers import Answer
from evidence.figures import figures
from evidence.readers.base import Source
from evidence.sets import Evidence

CHARTS = ("data/evidence-agreement.svg", "data/evidence-labels.svg")
COLOURS = ("#1b6ca8", "#c8553d", "#2a9d8f", "#8d6a9f", "#e9a03b", "#6c757d")


def _short(value: object) -> str:
    if isinstance(value, float):
        return "–" if pd.isna(value) else f"{value:.2f}"
    return "yes" if value is True else "no" if value is False else str(value)


def rows_of(table: pd.DataFrame, most: int | None = None) -> list[str]:
    """A table in Markdown."""
    head = ["| " + " | ".join(map(str, table.columns)) + " |", "|" + "---|" * len(table.columns)]
    shown = table if most is None else table.head(most)
    return head + ["| " + " | ".join(_short(x) for x in row) + " |" for row in shown.itertuples(index=False)]


def terminal(answers: Sequence[Answer], absent: Sequence[tuple[Source, str]]) -> str:
    """Questions, answers and tables as text."""
    out = []
    for a in answers:
        out += [f"{a.question} {a.word}. {a.sentence}", ""]
        for title, table in a.tables.items():
            out += [f"  {title}", table.to_string(index=False, float_format=lambda x: f"{x:.2f}"), ""]
    out += [f"Not there: {source.name}: {why}. ({source.where}: {source.needs})" for source, why in absent]
    return "\n".join(out)


def markdown(sets: Sequence[Evidence], answers: Sequence[Answer], absent: Sequence[tuple[Source, str]]) -> str:
    """The page."""
    absent_names = ", ".join(source.name for source, _ in absent) or "nothing"
    out = [
        "# Evidence: polyjudge against people",
        "",
        "Statistics on planted truth ([validation](validation.md)) show that intervals hold. Whether the advice helps, "
        'only people\'s labels show. Written by `make evidence DATA=... ARGS="--page docs/evidence.md"` from '
        f"{', '.join(e.name for e in sets)}. Readers for {absent_names} are there too; their data was not. "
        "First screens and advice say nothing that this page refutes (a test reads both).",
        "",
        *(f"{i}. **{a.question}** {a.word}. {a.sentence}" for i, a in enumerate(answers, 1)),
        "",
        f"![Agreement among judges against agreement with people]({CHARTS[0]})",
        "",
        f"![Language error removed by labels]({CHARTS[1]})",
        "",
        "## Figures said before, and ours",
        "",
        "Ranges were said of all categories and sets; two categories are here.",
        "",
        *rows_of(figures(sets)),
        "",
        "## Tables",
    ]
    for a in answers:
        for title, table in a.tables.items():
            out += ["", f"### {title}", "", *rows_of(table, 60)]
    return "\n".join(out) + "\n"


def sources(known: Sequence[Source]) -> list[str]:
    """Licences and commits, one row a source."""
    frame = pd.DataFrame([(s.name, s.where, s.licence, s.commit, s.needs) for s in known])
    return ["", "## Sources", "", *rows_of(frame.set_axis(["set", "from", "licence", "commit", "files"], axis=1)), ""]


def charts(answers: Sequence[Answer], languages: pd.DataFrame) -> dict[str, str]:
    """The two charts as SVG: a point a language; a line a set."""
    known = languages.dropna(subset="agreement")
    dots = {
        str(name): list(zip(rows["agreement"], rows["people"], strict=True))
        for name, rows in known.groupby("set", sort=False)
    }
    labels = next((a for a in answers if a.key == "labels"), None)
    lines = {}
    if labels is not None:
        for name, rows in next(iter(labels.tables.values())).groupby("set", sort=False):
            lines[str(name)] = list(zip(rows["labels"], rows["shared variance"], strict=True))
    return {
        CHARTS[0]: _svg(dots, "agreement of two judges", "r of the panel with people", (0.0, 1.0), False),
        CHARTS[1]: _svg(lines, "labels a language", "share of the squared language error removed", (0.0, 200.0), True),
    }


def _svg(
    series: dict[str, list[tuple[float, float]]], across: str, up: str, width: tuple[float, float], joined: bool
) -> str:
    """A small chart: dots, or lines with dots; up from -0.2 to 1."""
    left, top, w, h = 60, 20, 460, 300

    def place(x: float, y: float) -> tuple[float, float]:
        return left + (x - width[0]) / (width[1] - width[0]) * w, top + (1 - y) / 1.2 * h

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {top + h + 50}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="760" height="{top + h + 50}" fill="white"/>',
    ]
    for i in range(7):
        y = -0.2 + 0.2 * i
        px, py = place(width[0], y)
        parts.append(f'<line x1="{px}" x2="{left + w}" y1="{py:.1f}" y2="{py:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{py + 4:.1f}" text-anchor="end">{y:.1f}</text>')
    for i in range(6):
        x = width[0] + (width[1] - width[0]) * i / 5
        px, _ = place(x, 0)
        parts.append(f'<text x="{px:.1f}" y="{top + h + 16}" text-anchor="middle">{x:g}</text>')
    parts.append(f'<text x="{left + w / 2}" y="{top + h + 38}" text-anchor="middle">{escape(across)}</text>')
    parts.append(f'<text transform="translate(16 {top + h / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>')
    for (name, points), colour in zip(series.items(), COLOURS * 9, strict=False):
        at = [place(x, max(-0.2, y)) for x, y in points]
        if joined:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.8"/>' for x, y in at]
        line = top + 14 + 18 * list(series).index(name)
        parts.append(f'<circle cx="{left + w + 20}" cy="{line - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + w + 30}" y="{line}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
