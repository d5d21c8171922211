"""`polyjudge probe make` and `polyjudge probe read`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from polyjudge.second.questions import options as o
from polyjudge.second.rooms import load

Action = StrEnum("Action", "make read")
"""What to do with probes."""


def probe(
    ctx: Context,
    action: Annotated[Action, Argument(help="make: versions from items; read: what the judges made of them.")],
    source: Annotated[
        str, Argument(metavar="ITEMS|SCORES", help="Items with responses (make), or scores of probes (read).")
    ],
    response: Annotated[str, Option(help="make: column of the response.")] = "response",
    tasks: Annotated[int, Option(min=1, help="make: how many tasks to take.")] = 30,
    every_kind: Annotated[bool, Option("--every-kind", help="make: every kind of damage, every task.")] = False,
    audit: Annotated[
        str | None, Option(metavar="SCORES", help="read: the scores whose interaction is in question.")
    ] = None,
    matters: o.Matters = None,
    seed: o.Seed = 7,
) -> None:
    """Damage responses in a known order, and see who notices.

    This tells error from competence without annotators.

    make writes versions of the responses to -o FILE (JSON lines); collect their scores with a plan whose items are that
    file and whose items.system is version, or write probes: true in the plan of the items themselves. read takes those
    scores.

    Example: polyjudge probe make items.jsonl -o probes.jsonl
    Example: polyjudge probe read run/ --audit scores.csv
    """
    room = load("probes")[0]  # making versions, and runs that hold them, belong to the room of collecting
    if action is Action.make:
        room.write_from_items(ctx, Path(source), response, tasks, every_kind, seed)
        return
    from polyjudge.second.estimate.identify import settle_incomplete
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.questions.probe.reaction import probe as analyse
    from polyjudge.second.read import read_panel, read_probes

    panel = settle_incomplete(o.read(ctx, source, read_probes), inside=True)
    if audit is None and room.holds_probes(source):
        audit = source  # the items of the same run
    audited = None if audit is None else read_panel(audit)
    result = o.run(analyse, panel, audit=audited, matters=matters)
    emit(ctx, result, panel, tables={"probes": result.cells, "susceptibility": result.susceptibility})
