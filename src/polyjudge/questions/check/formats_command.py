"""`polyjudge formats`."""

from __future__ import annotations

from typer import Context

from polyjudge.questions import options as o

OPTIONS = (o.Json,)


def formats(ctx: Context) -> None:
    """List the formats that are read, and what each needs.

    Example: polyjudge formats
    """
    import pandas as pd

    from polyjudge.panel.say import say
    from polyjudge.questions.emit import print_json
    from polyjudge.read.formats import TABLES, TOOLS
    from polyjudge.report import terminal
    from polyjudge.report.build import table
    from polyjudge.report.sections import Report, Section

    tools = pd.DataFrame([{n: getattr(t, n) for n in ("name", "title", "files", "reads", "needs")} for t in TOOLS])
    tables = pd.DataFrame([{"name": name, "holds": text} for name, text in TABLES.items()])
    if o.Json.of(ctx).as_json:
        print_json({"tools": tools.to_dict("records"), "tables": tables.to_dict("records")}, "formats")
        return
    blocks = (
        table("tools", say("formats.tools"), tools, "name | files | reads | needs"),
        table("tables", say("formats.tables"), tables, "name | holds"),
    )
    section = Section(name="formats", title="", blocks=blocks, folded=False)
    terminal.show(Report(command="formats", title=say("formats.title"), sections=(section,)))
