"""How scores were read, in sentences: the first lines of every report, and the whole report of `check`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from polyjudge.core.panel import Panel
from polyjudge.core.schema import envelope
from polyjudge.core.sections import Grid, Report, Section, Step, Words, say
from polyjudge.report.build.shared import column, table
from polyjudge.report.words.reading import HOW

if TYPE_CHECKING:
    from polyjudge.analyse.audit import Summary
    from polyjudge.analyse.check import Check
    from polyjudge.core.reading import Reading


def read_says(panel: Panel | Summary) -> tuple[Words, ...]:
    """The first lines: what was read, from where, and how to correct it."""
    facts = {n: len(getattr(panel, n)) for n in ("systems", "languages", "judges", "replicates")}
    if isinstance(panel, Panel):
        (low, high), tasks, found = panel.range, panel.n_tasks, panel.n_scores
        missing, entries = int(panel.lost.sum()), int(panel.asked.sum())
    else:
        low, high, tasks, found = panel.low, panel.high, panel.tasks, panel.scores
        missing, entries = panel.missing, panel.entries
    facts = {"tasks": tasks, **facts}
    scores = say(
        "read.values", scores=found, missing=missing, entries=entries, low=low, high=high, unanswered=panel.unanswered
    )
    reading = panel.reading
    if reading is None:
        return say("read.from", **facts), scores
    named = {r.role: r.column for r in reading.roles if r.how != "column names"}
    piped = reading.source == "-"
    where = "standard input" if piped else reading.source if reading.format != "data frame" else ""
    first = say("read.from", **facts, source=where, **{r: named.get(r, "") for r in ("system", "language", "judge")})
    change = (say("read.else", source=shlex.quote(where)),) if where and not piped else ()
    return first, scores, *value_says(reading), *change


def value_says(reading: Reading) -> tuple[Words, ...]:
    """What was done to shape and values, where anything was."""
    v = reading.values
    wide = [r.column for r in reading.roles if r.how == "column names"]
    numbers = {word: number for word, number in (v.get("map") or {}).items() if number is not None}
    said = (
        (wide, say("read.wide", pattern=wide[0] if wide else "")),
        (numbers, say("read.map", map=numbers)),
        (v.get("percent"), say("read.percent")),
        (v.get("out_of"), say("read.out_of", most=v.get("out_of"))),
        (v.get("decimal_comma"), say("read.comma")),
        (v.get("missing_words"), say("read.absent", words=v.get("missing_words"))),
        (v.get("kind") == "margins", say("read.margins", **{k: x for k, x in v.items() if k != "kind"})),
    )
    return tuple(words for holds, words in said if holds)


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
