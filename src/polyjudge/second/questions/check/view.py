"""What `check` says: how scores were read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import say
from polyjudge.second.questions.check.check import Check, Formats
from polyjudge.second.read.words import HOW
from polyjudge.second.report.build import column, pivot, read_says, table, value_says
from polyjudge.second.report.schema import envelope
from polyjudge.second.report.sections import Folded, Grid, Report, Section, Step


def build(result: Check, panel: Panel | None = None) -> Report:
    """Roles and values first, then coverage, doubts and the command to paste."""
    reading = result.reading
    if not result.readable:
        verdict, full = say("check.unclear", questions=len(reading.questions)), say("check.then")
    elif not result.commands:
        verdict, full = say("check.useless"), say("check.full")
    else:
        verdict = say("check.able", commands=result.commands, doubts=len(reading.doubts))
        full = say("check.full")
    says = (
        *value_says(reading),
        *((say("check.scale", scale=result.scale, low=result.low, high=result.high),) if result.readable else ()),
        *((say("read.unused", columns=list(reading.unused)),) if reading.unused else ()),
        *(note for note in result.notes if getattr(note, "code", "") not in {d.code for d in reading.doubts}),
    )
    how = column("how", words=HOW)
    head = ("role | where = column:label", how, "different = distinct:count | such as = labels")
    found = result.roles()
    found["column"] = [where or None for where in found["column"]]
    roles = table("roles", say("check.roles"), found, *head)
    first = Section(name="roles", title="Roles", says=says, blocks=(roles,), folded=False)
    return Report(
        command="check",
        title=say("check.title", source="standard input" if reading.source == "-" else reading.source),
        read=read_says(panel)[:2] if panel is not None else (),
        verdict=(verdict,),
        next=(Step(why=full, command=_command(result)),),
        findings=tuple(result.findings),
        sections=(first, *_covered(result)) if result.missing else Folded(lambda: _covered(result), first),
        facts={"input fingerprint": result.fingerprint} if result.fingerprint else {},
        payload=lambda: envelope("check", result.to_dict()),
        judges=result.judges,
    )


def _covered(result: Check) -> Iterator[Section]:
    """What can be answered, and from which scores."""
    if not result.readable:
        return
    why = {name: [row[i] for row in result.able] for i, name in enumerate(("command", "able", "why"))}
    answers = table("answers", say("check.answers"), why, "command | able | why = why:text")
    yield Section(name="answers", title="What can be answered", blocks=(answers,))
    wide = pivot(result.coverage, "scored")
    grid = Grid(name="coverage", caption=say("check.coverage", tasks=result.tasks), values=wide, kind="count")
    yield Section(name="coverage", title="Coverage", blocks=(grid,), folded=not result.missing)


def _command(result: Check) -> str:
    """The full command; before that, the next check, with what is known and a place for what is not."""
    if result.readable:
        return result.reading.command(next(iter(result.commands), "check"))
    flags: dict[str, str] = {}
    for question in result.reading.questions:
        v = question.values
        role = v.get("role", "judge")
        first = next(iter([*v.get("candidates", ()), *v.get("columns", ())]), "NAME")
        flags |= {
            "read.swapped": {"--swapped": "flip"},
            "read.metrics": {"--metric": v.get("metrics", [""])[0]},
            "read.winner": {"--winner": f"{v.get('column')}:name"},
            "read.alike": {"--alike": "same"},
            "read.summary": {f"--{v.get('axis')}s": ",".join(v.get("rest", ()))},
            "read.scales": {
                "--range": v.get("range", ""),
                "--rescale": ",".join(f"{judge}={ends}" for judge, ends in v.get("rescale", {}).items()),
            },
            "read.far_column": {"--wide": v.get("pattern", "")},
            "read.lone_model": {"--judge": v.get("column", "")},
        }.get(question.code, {f"--{role}": first})
    taken = {name: column for name, column in result.reading.options.items() if column not in flags.values()}
    return replace(result.reading, options={**taken, **flags}).command("check")


def build_formats(result: Formats, panel: Panel | None = None) -> Report:
    """The tools and the tables."""
    blocks = (
        table("tools", say("formats.tools"), result.tools, "name | files | reads | needs"),
        table("tables", say("formats.tables"), result.tables, "name | holds"),
    )
    return Report(
        command="formats",
        title=say("formats.title"),
        sections=(Section(name="formats", title="", blocks=blocks, folded=False),),
        payload=lambda: envelope("formats", result.to_dict()),
    )


VIEWS = {"Check": build, "Formats": build_formats}
