"""What `check` says: how scores were read."""

from __future__ import annotations

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import say
from polyjudge.questions.check.check import Check
from polyjudge.read.words import HOW
from polyjudge.report.build import column, read_says, table, value_says
from polyjudge.report.schema import envelope
from polyjudge.report.sections import Grid, Report, Section, Step


def build(result: Check, panel: Panel | None = None) -> Report:
    """Roles and values first, then coverage, doubts and the command to paste."""
    reading = result.reading
    if not result.readable:
        verdict = say("check.unclear", questions=len(reading.questions))
    elif reading.doubts:
        verdict = say("check.doubtful")
    else:
        verdict = say("check.clear")
    says = (
        *value_says(reading),
        *((say("check.scale", scale=result.scale, low=result.low, high=result.high),) if result.readable else ()),
        *((say("read.unused", columns=list(reading.unused)),) if reading.unused else ()),
        *(note for note in result.notes if getattr(note, "code", "") not in {d.code for d in reading.doubts}),
    )
    how = column("how", words=HOW)
    head = ("role | where = column:label", how, "different = distinct:count | such as = labels")
    roles = table("roles", say("check.roles"), result.to_frame(), *head)
    sections = [Section(name="roles", title="Roles", says=says, blocks=(roles,), folded=False)]
    if result.readable:
        wide = result.coverage.pivot(index="language", columns="judge", values="scored")
        wide = wide.loc[list(result.languages), list(result.judges)]
        grid = Grid(name="coverage", caption=say("check.coverage", tasks=result.tasks), values=wide, kind="count")
        sections.append(Section(name="coverage", title="Coverage", blocks=(grid,), folded=not result.missing))
    return Report(
        command="check",
        title=say("check.title", source="standard input" if reading.source == "-" else reading.source),
        read=read_says(panel)[:2] if panel is not None else (),
        verdict=(verdict,),
        next=(Step(why=say("check.full"), command=reading.command()),) if result.readable else (),
        findings=tuple(result.findings),
        sections=tuple(sections),
        facts={"input fingerprint": result.fingerprint} if result.fingerprint else {},
        payload=lambda: envelope("check", result.to_dict()),
        judges=result.judges,
    )


VIEWS = {Check: build}
