"""Pages of compare and gate, the end of the demo's page, and what these pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyjudge.core.labels import labels
from polyjudge.core.results import Result
from polyjudge.report.charts.theme import unchecked
from polyjudge.report.page.deeper import gate_section, held_out_section
from polyjudge.report.page.made import facts
from polyjudge.report.page.model import POINTS, Column, Page, Section, table
from polyjudge.report.page.protocols import protocol_parts

if TYPE_CHECKING:
    from polyjudge.analyse.gates import Gates
    from polyjudge.analyse.held_out import Comparison
    from polyjudge.analyse.recovery import Recovery
    from polyjudge.core.panel import Panel


def comparison_page(result: Result, panel: Panel, command: str, payload: dict[str, Any]) -> Page:
    """The page of any protocol of `compare`."""
    from polyjudge.analyse.held_out import Comparison

    with unchecked():
        if not isinstance(result, Comparison):
            title, verdict, sections = protocol_parts(result)
            return make_page(title, result, panel, command, payload, sections, verdict)
        best = result.advice.text if result.advice is not None else "The gain of calibrating was not measured."
        sections = (held_out_section(result, said=True), *_comparison_tables(result))
        verdict = (best, "Agreement between languages is consistency, not accuracy.", result.scope)
        return make_page("Methods on left-out tasks", result, panel, command, payload, sections, verdict)


def _comparison_tables(c: Comparison) -> list[Section]:
    differences = {
        "method_a": Column("method"),
        "method_b": Column("against"),
        "difference": Column("difference of tau", 3, True, "low", "high"),
        "favour_a": Column("resamples for it", 1, percent=True),
        "favour_b": Column("for the other", 1, percent=True),
    }
    pairs = {
        "method": Column("method"),
        "language_a": Column("language"),
        "language_b": Column("and"),
        "tau": Column("tau", 3, low="low", high="high"),
        "defined": Column("resamples with a tau", 1, percent=True),
    }
    paired = table(c.differences, "Paired over the same resamples", differences, judges=())
    by_pair = table(c.language_pairs, "Agreement of two languages on the judges' order", pairs, judges=(), most=400)
    return [
        Section("differences", "Method against method", blocks=(paired,)),
        Section("language-pairs", "Pairs of languages", blocks=(by_pair,)),
    ]


def gate_page(result: Gates, panel: Panel, command: str, payload: dict[str, Any]) -> Page:
    """The page of a gate."""
    with unchecked():
        section = gate_section(result, result.sweep, result.level)
        return make_page(
            f"Gate at {result.threshold:g}", result, panel, command, payload, (section,), section.lead[:1], panel.judges
        )


def recovery_section(found: Recovery) -> Section:
    """How close an audit came to a planted truth."""
    cells = found.cells.reindex(found.cells["planted"].abs().sort_values(ascending=False).index)
    columns = {
        "language": Column("language"),
        "judge": Column("judge"),
        "planted": Column("planted", POINTS, True),
        "estimated": Column("estimated", POINTS, True),
        "error": Column("error", POINTS, True),
    }
    words = (
        f"The scores are simulated, so the truth is known. Root mean square error {found.root_mean_square_error:.2f} "
        f"points where the planted interaction has {found.root_mean_square_planted:.2f}; the largest error is "
        f"{found.largest_error:.2f}. {found.inside} of {len(cells)} intervals hold the planted value, at "
        f"{found.level:.0%}; the band {'holds' if found.in_band else 'does not hold'} all of them at once."
    )
    return Section(
        "recovery",
        "How close the estimate came to the planted truth",
        lead=(words,),
        blocks=(table(cells, "Planted and estimated interaction, largest first, in points", columns),),
    )


def make_page(
    title: str,
    result: Result,
    panel: Panel,
    command: str,
    payload: dict[str, Any],
    sections: tuple[Section, ...],
    verdict: tuple[str, ...],
    judges: tuple[str, ...] = (),
) -> Page:
    """A page about a result on a panel, without findings."""
    settings = {name: getattr(result, name) for name in ("seed", "resamples", "level") if hasattr(result, name)}
    return Page(
        title,
        f"{panel.n_tasks:,} tasks x {len(panel.languages)} languages x {len(panel.judges)} judges",
        verdict,
        (),
        sections,
        tuple(labels(judges).values()),
        facts(settings | {"input fingerprint": panel.fingerprint}),
        command,
        payload,
    )
