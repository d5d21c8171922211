"""`polyjudge probe make` and `polyjudge probe read`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from polyjudge.questions import options as o

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
    """Tell error from competence without annotators: damage responses in a known order and see who notices.

    make writes versions of the responses to -o FILE (JSON lines); collect their scores with a plan whose items are that
    file and whose items.system is version, or write probes: true in the plan of the items themselves. read takes those
    scores.

    Example: polyjudge probe make items.jsonl -o probes.jsonl
    Example: polyjudge probe read run/ --audit scores.csv
    """
    if action is Action.make:
        _make(ctx, Path(source), response, tasks, every_kind, seed)
        return
    from polyjudge import probe as run
    from polyjudge.collect.runs import holds_probes
    from polyjudge.questions.emit import emit
    from polyjudge.read import read_panel

    panel = o.load_probes(ctx, source)
    if audit is None and holds_probes(source):
        audit = source  # the items of the same run
    audited = None if audit is None else read_panel(audit)
    result = run(panel, audit=audited, matters=matters)
    emit(ctx, result, panel, tables={"probes": result.cells})


def _make(ctx: Context, path: Path, response: str, tasks: int, every_kind: bool, seed: int) -> None:
    from polyjudge.collect.items import read_rows
    from polyjudge.collect.probes import make_probes, write_probes
    from polyjudge.panel.errors import UsageError
    from polyjudge.panel.say import say, word
    from polyjudge.questions.emit import print_json

    options, columns = o.Output.of(ctx), o.Columns.of(ctx)
    if options.output is None:
        raise UsageError("Name the file to write: -o probes.jsonl.")
    rows = read_rows(path)
    first = rows[0] if rows else {}
    task = columns.task or next((n for n in ("id", "task", "item_id", "task_id") if n in first), "id")
    probes = make_probes(
        rows,
        task=task,
        language=columns.language or ("language" if "language" in first else "lang"),
        response=response,
        tasks=tasks,
        every_kind=every_kind,
        seed=seed,
    )
    write_probes(probes, options.output)
    lost = probes.lost()
    gone = sum(probes.discarded.values())
    if options.as_json:
        summary = {
            "rows": len(probes.rows),
            "tasks": probes.tasks,
            "discarded": gone,
            "discarded_by_language": lost,
            "short": list(probes.short),
            "shares": {f"{language} {severity}": share for (language, severity), share in probes.shares.items()},
        }
        print_json(summary, "probe")
        return
    print(word(say("probe.made", rows=len(probes.rows), tasks=probes.tasks, languages=len(lost), discarded=gone)))
    for language, share in lost.items():
        if share > 0.1:
            print(word(say("probe.lost", language=language, share=share)))
    if probes.short:
        print(word(say("probe.short", tasks=probes.short)))
    print(word(say("probe.ask", path=str(options.output))))
    print(f"polyjudge: wrote {options.output}", file=sys.stderr)
