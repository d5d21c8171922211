"""What the model of levels says: the interaction on a scale without ends, beside that in points."""

from __future__ import annotations

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.audit.bounded import Bounded
from polyjudge.report.build import by_size, column, frame_of, notes, table
from polyjudge.report.sections import Report, Section

AGREES = {"same": "yes", "lost": "only in points", "new": "only in logits", "turned": "opposite"}


def build(result: Bounded, panel: Panel | None = None) -> Report:
    """Whether the linear conclusion survives, and cell by cell."""
    frame, title = frame_of("bounded", result, panel), say("bounded.title")
    return Report(**frame, title=title, verdict=(result.verdict,), sections=(bounded_section(result),))


def bounded_section(result: Bounded) -> Section:
    """The section of an audit."""
    band = f"logits and {result.level:.0%} band = latent/band_low/band_high:+points.2"
    cells = table(
        "latent",
        "Cells by size, in logits",
        by_size(result.cells, "latent"),
        f"language | judge | {band} | points = linear:+points | clear in logits = clear:yes "
        "| in points = linear_clear:yes",
        column("agree = agrees", words=AGREES),
    )
    head = "level:count | scores from = low:number | to = high:number | share of scores = share:share"
    levels = table("levels", "Levels of the scores", result.levels, head)
    says: list[Words] = [
        say("bounded.why", reason=result.reason, levels=len(result.levels), binned=result.binned),
        result.verdict,
        say("bounded.method", unit_sd=result.unit_sd),
        *notes(result.notes),
    ]
    blocks = (levels, cells) if result.binned else (cells,)
    return Section(name="bounded", title=say("bounded.title"), says=tuple(says), blocks=blocks)
