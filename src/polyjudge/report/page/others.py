"""Pages of the other commands: compare, gate and anchor."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.panel import clean
from polyjudge.report import charts
from polyjudge.report.charts.theme import unchecked
from polyjudge.report.labels import labels
from polyjudge.report.page.deeper import gate_section, held_out_section, plain_table
from polyjudge.report.page.made import facts
from polyjudge.report.page.model import Column, Figure, Page, Section, table
from polyjudge.results import Result

if TYPE_CHECKING:
    from polyjudge.analyse.anchors import Anchor
    from polyjudge.analyse.gates import Gates
    from polyjudge.analyse.held_out import Comparison
    from polyjudge.panel import Panel


def comparison_page(result: Result, panel: Panel, command: str, payload: dict[str, Any]) -> Page:
    """The page of any protocol of `compare`."""
    from polyjudge.analyse.held_out import Comparison

    with unchecked():
        if not isinstance(result, Comparison):
            name = str(payload.get("protocol", "compare")).replace("-", " ")
            return _page(f"Comparison: {name}", result, panel, command, payload, tuple(_tables(result)), _words(result))
        best = result.advice.text if result.advice is not None else "The gain of calibrating was not measured."
        sections = (held_out_section(result), *_comparison_tables(result))
        verdict = (best, "Agreement between languages is consistency, not accuracy.", result.scope)
        return _page("Methods on left-out tasks", result, panel, command, payload, sections, verdict)


def _comparison_tables(c: Comparison) -> list[Section]:
    differences = {
        "method_a": Column("method"),
        "method_b": Column("against"),
        "difference": Column("difference of tau", 3, True, "low", "high"),
        "favour_a": Column("replicates for it", 1, percent=True),
        "favour_b": Column("for the other", 1, percent=True),
    }
    pairs = {
        "method": Column("method"),
        "language_a": Column("language"),
        "language_b": Column("and"),
        "tau": Column("tau", 3, low="low", high="high"),
        "defined": Column("replicates with a tau", 1, percent=True),
    }
    paired = table(c.differences, "Paired over the same replicates", differences, judges=())
    by_pair = table(c.language_pairs, "Agreement of two languages on the judges' order", pairs, judges=(), most=400)
    return [
        Section("differences", "Method against method", blocks=(paired,)),
        Section("language-pairs", "Pairs of languages", blocks=(by_pair,)),
    ]


def gate_page(result: Gates, panel: Panel, command: str, payload: dict[str, Any]) -> Page:
    """The page of a gate."""
    with unchecked():
        section = gate_section(result, result.sweep, result.level)
        return _page(
            f"Gate at {result.threshold:g}", result, panel, command, payload, (section,), section.lead[:1], panel.judges
        )


def anchor_page(result: Anchor, panel: Panel, command: str, payload: dict[str, Any]) -> Page:
    """The page of a comparison with human labels."""
    with unchecked():
        i = result.invariance
        check = "This was checked and holds" if i.holds else "This was checked and does NOT hold: please report it"
        verdict = (
            f"Measured: {clean(result.measure, 200)}, against {int(result.labels.sum()):,} labels.",
            f"The decision of the panel mean cannot change by calibrating. {check}: {i.changed} of {i.entries} "
            f"decisions changed, the largest move is {i.largest_change:.1g} points.",
        )
        frame = result.table.assign(judge=result.table["decision"])
        agreement = result.measure == "agreement"
        what = "Agreement with the labels" if agreement else "Squared error against the labels"
        moves = (
            "The panel mean, a majority vote and each judge, with intervals over tasks. A judge's agreement can move "
            "only because calibrating moves its threshold."
            if agreement
            else "The panel mean and each judge, with intervals over tasks. Smaller is nearer to the humans."
        )
        figures = tuple(
            charts.intervals(
                frame, "judge", name, f"{what}, {name}", result.measure,
                low=f"{name}_low", high=f"{name}_high", zero=None,
            )
            for name in ("raw", "calibrated")
            if f"{name}_low" in frame
        )  # fmt: skip
        first = Section(
            "agreement",
            "Agreement of each decision" if agreement else "Squared error of each judge",
            blocks=(
                Figure(
                    "agreement-chart",
                    figures,
                    f"{what} before and after calibrating.",
                    moves,
                    plain_table(frame.drop(columns="decision"), result.measure.capitalize()),
                ),
            ),
        )
        rest = [s for s in _tables(result) if s.name != "table"]
        return _page(
            "Panel beside human labels", result, panel, command, payload, (first, *rest), verdict, panel.judges
        )


def _page(
    title: str,
    result: Result,
    panel: Panel,
    command: str,
    payload: dict[str, Any],
    sections: tuple[Section, ...],
    verdict: tuple[str, ...],
    judges: tuple[str, ...] = (),
) -> Page:
    settings = {name: getattr(result, name) for name in ("seed", "replicates", "level") if hasattr(result, name)}
    return Page(
        title,
        f"{panel.n_tasks:,} tasks x {len(panel.languages)} languages x {len(panel.judges)} judges",
        verdict,
        (),
        sections,
        tuple(labels(judges).values()),
        facts(fingerprint=panel.fingerprint, **settings),
        command,
        payload,
    )


def _words(result: Result) -> tuple[str, ...]:
    """The sentences a result brings along."""
    out = []
    for name in ("advice", "scope", "identity", "notes"):
        value = getattr(result, name, None)
        out += [clean(x, 800) for x in ([value] if isinstance(value, str) else value or ()) if isinstance(x, str) and x]
    return tuple(out)


def _tables(result: Result, prefix: str = "") -> list[Section]:
    """A section for each table of a result, and for those of the results inside it."""
    out: list[Section] = []
    for field in dataclasses.fields(result):  # type: ignore[arg-type]
        value = getattr(result, field.name)
        name = f"{prefix}{field.name}".replace("_", "-")
        title = f"{prefix}{field.name}".replace("_", " ").replace("-", ": ", 1)
        if isinstance(value, pd.Series):
            value = value.rename("value").rename_axis(str(value.index.name or "name")).reset_index()
        if isinstance(value, pd.DataFrame) and not field.name.startswith("replicate_") and len(value):
            frame = value.reset_index() if value.index.name else value
            out.append(Section(name, title.capitalize(), blocks=(plain_table(frame, title),)))
        elif isinstance(value, Result):
            inner = _tables(value, f"{name}-")
            if inner and _words(value):
                inner[0] = dataclasses.replace(inner[0], lead=_words(value))
            out += inner
    return out
