"""What adaptive collection says: questions settled, calls bought and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyjudge.core.sections import Column, Report, Section, Table, say
from polyjudge.report.build.shared import LANGUAGE, frame_of

if TYPE_CHECKING:
    from polyjudge.analyse.sequential import Replay
    from polyjudge.core.panel import Panel

LOOKS = (
    Column(name="look", title="look", kind="count"),
    Column(name="tasks", title="tasks", kind="count"),
    Column(name="settled", title="settled", kind="count"),
    Column(name="open", title="open", kind="count"),
    Column(name="calls", title="scores bought", kind="count"),
    Column(name="share", title="of all", kind="share"),
)
ANSWERS = (
    LANGUAGE,
    Column(name="first", title="first", kind="label"),
    Column(name="second", title="second", kind="label"),
    Column(name="verdict", title="answer"),
    Column(name="estimate", title="difference", kind="points", sign=True, low="low", high="high"),
    Column(name="settled_at", title="at look", kind="count"),
    Column(name="final", title="in the end", kind="points", sign=True),
)


def build(result: Replay, panel: Panel | None = None) -> Report:
    """What was settled for how many calls."""
    last = result.looks.iloc[-1]
    verdict = say(
        "replay.saved",
        settled=int(last["settled"]),
        of=len(result.state.verdict),
        open=int(last["open"]),
        share=result.share,
        calls=result.calls,
        questions=result.rule.questions,
        matters=result.rule.matters,
        level=result.rule.level,
    )
    looks = Table(name="looks", caption=say("replay.looks"), frame=result.looks, columns=LOOKS)
    answers = Table(name="questions", caption=say("replay.questions"), frame=result.to_frame(), columns=ANSWERS)
    return Report(
        **frame_of("replay", result, panel),
        title=say("replay.title"),
        verdict=(verdict,),
        picture=(looks,),
        sections=(Section(name="questions", title="The questions", says=(say("replay.scope"),), blocks=(answers,)),),
    )
