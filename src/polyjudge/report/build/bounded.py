"""What the model of levels says: the interaction on a scale without ends, beside that in points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyjudge.core.sections import Column, Report, Section, Table, Words, say
from polyjudge.report.build.shared import JUDGE, LANGUAGE, frame_of, notes, value

if TYPE_CHECKING:
    from polyjudge.analyse.bounded import Bounded
    from polyjudge.core.panel import Panel

AGREES = {"same": "yes", "lost": "only in points", "new": "only in logits", "turned": "opposite"}
LEVELS = (
    Column(name="level", title="level", kind="count"),
    Column(name="low", title="scores from", kind="number"),
    Column(name="high", title="to", kind="number"),
    Column(name="share", title="share of scores", kind="share"),
)


def build(result: Bounded, panel: Panel | None = None) -> Report:
    """Whether the linear conclusion survives, and cell by cell."""
    section = bounded_section(result)
    return Report(
        **frame_of("bounded", result, panel),
        title=say("bounded.title"),
        verdict=(result.verdict,),
        sections=(section,),
    )


def bounded_section(result: Bounded) -> Section:
    """The section of an audit."""
    cells = result.cells.reindex(result.cells["latent"].abs().sort_values(ascending=False, kind="stable").index)
    columns = (
        LANGUAGE,
        JUDGE,
        Column(
            name="latent", title=f"logits and {result.level:.0%} band", kind="points", digits=2, sign=True,
            low="band_low", high="band_high",
        ),
        value("linear", "points", sign=True),
        Column(name="clear", title="clear in logits", kind="yes"),
        Column(name="linear_clear", title="in points", kind="yes"),
        Column(name="agrees", title="agree", words=AGREES),
    )  # fmt: skip
    says: list[Words] = [
        say("bounded.why", reason=result.reason, levels=len(result.levels), binned=result.binned),
        result.verdict,
        say("bounded.method", unit_sd=result.unit_sd),
        *notes(result.notes),
    ]
    levels = Table(name="levels", caption="Levels of the scores", frame=result.levels, columns=LEVELS)
    table = Table(name="latent", caption="Cells by size, in logits", frame=cells, columns=columns, most=200)
    blocks = (levels, table) if result.binned else (table,)
    return Section(name="bounded", title=say("bounded.title"), says=tuple(says), blocks=blocks)
