"""What was asked of annotators, and what came back."""

from __future__ import annotations

from polyjudge.second.panel.labels import shell
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say
from polyjudge.second.questions.label.making import Made
from polyjudge.second.questions.label.returned import Returned
from polyjudge.second.report.build import frame_of, notes, table
from polyjudge.second.report.sections import Report, Section, Step


def made(result: Made, panel: Panel | None = None) -> Report:
    """Where the pages are, who gets which, and how the items were drawn."""
    count = result.files["items"]
    verdict: list[Words] = [
        say("label.made", items=result.items, pages=len(result.files), folder=result.folder),
        say("label.each", few=int(count.min()), most=int(count.max())),
        say("label.keep"),
    ]
    steps = (
        Step(why=say("label.send", folder=result.folder)),
        Step(why=say("label.then"), command=f"polyjudge label read {shell(result.folder)}"),
        Step(why=say("label.anchor"), command=f"polyjudge anchor SCORES --labels {shell(result.folder)}"),
    )
    pages = table("pages", "Pages", result.files, "page | language | annotator | items:count")
    head = "language | stratum:count | panel mean from = panel_low:number | to = panel_high:number | tasks:count"
    drawn = table("drawn", "Items drawn from each stratum of the panel's mean", result.drawn,
                  head + " | drawn:count | chance = probability:share.1")  # fmt: skip
    sections = (
        Section(name="pages", title="Who gets what", says=notes(result.notes), blocks=(pages,), folded=False),
        Section(name="drawn", title="How items were drawn", blocks=(drawn,)),
    )
    frame = frame_of("label", result, panel)
    return Report(**frame, title="Labels to make", verdict=tuple(verdict), next=steps, sections=sections)


def returned(result: Returned, panel: Panel | None = None) -> Report:
    """How much is back from whom."""
    frame = result.annotators
    total = {name: int(frame[name].sum()) for name in ("asked", "labelled", "skipped", "missing")}
    verdict: list[Words] = [say("label.back", **total)]
    absent = frame.loc[frame["missing"] == frame["asked"], "annotator"].tolist()
    if absent and total["labelled"]:
        verdict.append(say("label.absent", annotators=absent))
    if result.replaced:
        verdict.append(say("label.replaced", count=result.replaced))
    verdict += [say("label.odd", text=text) for text in result.odd]
    steps = (Step(why=say("label.anchor"), command=f"polyjudge anchor SCORES --labels {shell(result.folder)}"),)
    columns = "annotator | language | asked:count | labelled:count | skipped:count | missing:count"
    least = frame.sort_values("missing", ascending=False, kind="stable")  # a screen shows the first rows
    blocks = [table("annotators", "Answers by annotator", least, columns)]
    if len(result.skipped):
        blocks.append(table("skipped", "Skipped items", result.skipped, "task | language | annotator | why"))
    section = Section(name="annotators", title="What came back", blocks=tuple(blocks), folded=False)
    return Report(
        **frame_of("label", result, panel), title="Labels that came back", verdict=tuple(verdict),
        next=steps if total["labelled"] else (), sections=(section,),
    )  # fmt: skip


VIEWS = {"Made": made, "Returned": returned}
