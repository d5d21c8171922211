"""What adaptive collection says: questions settled, calls bought and saved."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import say
from polyjudge.questions.plan.sequential import Replay
from polyjudge.report.build import fields, frame_of, table
from polyjudge.report.sections import Report, Section


def build(result: Replay, panel: Panel | None = None) -> Report:
    """What was settled for how many calls."""
    last = result.looks.iloc[-1]
    verdict = say(
        "replay.saved",
        settled=int(last["settled"]),
        of=len(result.state.verdict),
        open=int(last["open"]),
        **fields(result, "share", "calls"),
        **fields(result.rule, "questions", "matters", "level"),
    )
    head = "look:count | tasks:count | settled:count | open:count | scores bought = calls:count | of all = share:share"
    return Report(
        **frame_of("replay", result, panel),
        title=say("replay.title"),
        verdict=(verdict,),
        picture=(table("looks", say("replay.looks"), result.looks, head),),
        sections=(questions_section(result.to_frame(), folded=True),),
    )


def questions_section(answers: pd.DataFrame, folded: bool) -> Section:
    """What was asked, and the answers."""
    head = (
        "language | first:label | second:label | answer = verdict | difference = estimate/low/high:+points "
        "| at look = settled_at:count | in the end = final:+points"
    )
    answered = table("questions", say("replay.questions"), answers, head)
    scope = (say("replay.scope"),)
    return Section(name="questions", title="The questions", says=scope, blocks=(answered,), folded=folded)
