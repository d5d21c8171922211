"""What the room of probes asks of the room of collecting: versions of items in a file, and runs that hold them."""

from __future__ import annotations

from pathlib import Path

from typer import Context

from polyjudge.second.collect.items import read_rows
from polyjudge.second.collect.probes import make_probes, write_probes
from polyjudge.second.collect.runs import holds_probes as holds_probes
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import tell
from polyjudge.second.panel.say import say, word
from polyjudge.second.questions import options as o
from polyjudge.second.questions.emit import print_json


def write_from_items(ctx: Context, path: Path, response: str, tasks: int, every_kind: bool, seed: int) -> None:
    """`polyjudge probe make`: versions of the items in a file, and what was made."""
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
    tell(f"wrote {options.output}")
