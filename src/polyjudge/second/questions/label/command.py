"""`polyjudge label make` and `polyjudge label read`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import shell
from polyjudge.second.questions import options as o

label = typer.Typer(
    help="Human labels: make pages for annotators, read what came back.\n\n"
    "Example: polyjudge label make scores.csv --items items.jsonl -o labels",
    no_args_is_help=True,
)


def make(
    ctx: Context,
    scores: o.Scores,
    items: Annotated[
        str | None,
        Option(metavar="FILE", help="Texts: task, language, system, prompt, response. Else names are shown."),
    ] = None,
    folder: Annotated[Path, Option("-o", "--output", metavar="DIR", help="New folder for the pages.")] = Path("labels"),
    per_language: Annotated[
        int | None, Option("--per-language", "-n", min=2, help="Items of each language (default 50).")
    ] = None,
    annotators: Annotated[
        int | None, Option(min=1, help="Annotators of each language (default 2, or those of the folder).")
    ] = None,
    ask: Annotated[str | None, Option(help="pass, levels, slider or pairs (default: by the scale).")] = None,
    levels: Annotated[int | None, Option(min=2, help="Number of levels.")] = None,
    rubric: Annotated[
        str | None, Option(metavar="TEXT", help="How to judge: a text, or a file (.json: a text for each language).")
    ] = None,
    overlap: Annotated[float, Option(help="Share of items that every annotator of a language gets.")] = 0.3,
    repeats: Annotated[float, Option(help="Share of items that an annotator sees twice.")] = 0.1,
    link: Annotated[bool, Option("--link", help="Pages for annotators who read two languages, too.")] = False,
    more: Annotated[bool, Option("--more", help="Add items to a folder: those that its labels ask for.")] = False,
    within: Annotated[
        float | None, Option(metavar="POINTS", help="With --more: how near shifts are to be known.")
    ] = None,
    seed: o.Seed = 7,
) -> None:
    """Choose what to label and write a page for every annotator.

    Example: polyjudge label make scores.csv --items items.jsonl -o labels/
    """
    from polyjudge.second.questions.emit import show
    from polyjudge.second.questions.label.making import make as write
    from polyjudge.second.report import report_of

    panel = o.load(ctx, scores, inside=True)
    made = write(
        panel, items, folder, per_language=per_language, annotators=annotators, ask=ask,  # type: ignore[arg-type]
        levels=levels, rubric=_rubric(rubric), overlap=overlap, repeats=repeats, link=link, more=more, within=within,
        seed=seed,
    )  # fmt: skip
    report = report_of(made, panel)
    assert report is not None
    steps = [replace(step, command=step.command.replace("SCORES", shell(scores))) for step in report.next]
    show(replace(report, next=tuple(steps)), o.Json.of(ctx).as_json, False, "details.json")


def read(
    ctx: Context,
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder of label make, with what came back in it.")],
    output: Annotated[Path | None, Option("-o", "--output", metavar="CSV", help="Write the labels as a table.")] = None,
) -> None:
    """Join the files that came back, and say what is missing.

    Example: polyjudge label read labels/
    """
    from polyjudge.second.questions.emit import show
    from polyjudge.second.questions.label.returned import read as join
    from polyjudge.second.report import report_of

    show(report_of(join(folder, output)), o.Json.of(ctx).as_json, False, "details.json")


def _rubric(text: str | None) -> Any:
    if text is None or not Path(text[:4000]).is_file():
        return text
    from polyjudge.second.panel.files import read_json, read_text

    if not text.lower().endswith(".json"):
        return read_text(text)
    found = read_json(text)
    if not isinstance(found, dict):
        raise UsageError("The rubric's JSON is an object: language -> text.")
    return found


label.command("make", cls=o.command_class((o.Columns, o.Reading, o.Json)))(make)
label.command("read", cls=o.command_class((o.Json,)))(read)
