"""What a drift check says."""

from __future__ import annotations

import numpy as np

from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say, word
from polyjudge.second.questions.drift.difference import Difference
from polyjudge.second.questions.drift.drift import DRAWS, Drift
from polyjudge.second.report.build import by_size, chart, column, frame_of, marked_grid, pivot, table
from polyjudge.second.report.sections import Block, Chart, Report, Section


def build(result: Drift, panel: Panel | None = None) -> Report:
    """Findings first; then the change of every cell, clearest first, and the shares at the floor."""
    how = (
        say("drift.paired", paired=result.paired_tasks, alarm=1 - result.level)
        if result.paired_tasks
        else say("drift.samples", before=result.tasks_before, after=result.tasks_after, alarm=1 - result.level)
    )
    frame = frame_of("drift", result, panel)
    frame["read"] = (*frame.get("read", ()), how)
    cells = result.cells
    clear = cells["change"].abs() / cells["se"]
    change = table(
        "cells",
        say("drift.cells"),
        cells.loc[clear.sort_values(ascending=False, kind="stable").index],
        "language | judge | before:+points | now = after:+points",
        column("change/band_low/band_high:+points", like=("before",)),
        column("p", floor=0.0 if result.paired_tasks else 1 / (1 + DRAWS)),
        "changed:yes",
    )
    floor = result.floor.sort_values("p", kind="stable") if len(result.floor) else result.floor
    shares = "language | judge | before:share | now = after:share | change/low/high:+share | p | changed:yes"
    tested = (say("drift.global", p=result.p_global),)
    return Report(
        **frame,
        title=say("drift.title"),
        verdict=tuple(result.findings[:1]),
        picture=(_picture(result),),
        findings=tuple(result.findings),
        sections=(
            Section(name="cells", title="Change of the interaction", says=tested, blocks=(change,)),
            *_effects(result),
            Section(
                name="floor", title="Scores at the floor", blocks=(table("floor", say("drift.floor"), floor, shares),)
            ),
        ),
    )


ALIKE = {"judge-offset-changed": "judge", "language-shift-changed": "language", "level-changed": "judge"}
"""Changes that no interaction shows -> the axis of their label."""


def _picture(result: Drift) -> Chart:
    """The change of every cell as a heatmap, those that broke framed; in text a grid."""
    cells = result.cells[["language", "judge", "change"]].rename(columns={"change": "excess"})
    cells["low"], cells["high"] = result.cells["band_low"], result.cells["band_high"]
    places = list(zip(cells["language"], cells["judge"], strict=True))
    broken = result.broken.set_index(["language", "judge"]) if len(result.broken) else result.broken
    broke = set(broken.index) if len(broken) else set()
    cells["named"] = [place in broke for place in places]
    cells["small"] = ~(result.cells["changed"] | cells["named"])
    if broke and result.kind != "diffuse":
        # What broke is shown with its own change; its traces in other cells are no changes of theirs.
        own = np.array([float(broken.loc[place, "change"]) if place in broke else 0.0 for place in places])
        wide = pivot(cells.assign(own=own), "own")
        trace = dict(
            zip([(a, b) for a in wide.index for b in wide.columns], double_centre(wide.to_numpy()).ravel(), strict=True)
        )
        shift = own - np.array([trace[place] for place in places])
        for name in ("excess", "low", "high"):
            cells[name] += shift
        cells["small"] = ~cells["named"]
    for found in result.findings:
        if found.code in ALIKE:  # a judge in every language alike, or a language by all judges
            alike = (cells[ALIKE[found.code]] == found.values["label"]) & ~cells["named"]
            for name, value in (("excess", "change"), ("low", "low"), ("high", "high")):
                cells.loc[alike, name] = found.values[value]
            cells["named"] |= alike
            cells["small"] &= ~alike
    caption = say("drift.picture")
    return chart(
        "changes",
        "deviations",
        caption,
        say("drift.picture-chart", changed=int((~cells["small"]).sum()), cells=len(cells)),
        marked_grid("changes", caption, cells, say("drift.picture-note", broke=bool(cells["named"].any()))),
        cells=cells,
        matters=result.tolerance,
        title="What changed, and where",
        note="points more or less than at the fit",
    )


def _effects(result: Drift) -> tuple[Section, ...]:
    """What judges, languages and systems changed as a whole."""
    blocks: list[Block] = []
    head = "of = label:label | before:number.2 | now = after:number.2 | change/low/high:+points | p | changed:yes"
    for effect, rows in result.effects.groupby("effect", sort=False):
        caption = say(f"drift.{effect}")
        blocks.append(
            chart(
                f"effect-{effect}",
                "intervals",
                caption,
                say("drift.effect-chart", changed=int(rows["changed"].sum()), of=len(rows)),
                table(str(effect), caption, rows, head),
                frame=rows,
                label="label",
                value="change",
                title=word(caption),
                unit="points" if effect in ("judge-offset", "language-shift", "level") else "change of the slope",
            )
        )
    if len(result.systems):
        head = "system | language | change/low/high:+points | p"
        blocks.append(table("systems", say("drift.systems"), result.systems, head))
    if not blocks:
        return ()
    return (Section(name="effects", title="Judges, languages and systems as a whole", blocks=tuple(blocks)),)


def build_difference(result: Difference, panel: Panel | None = None) -> Report:
    """Clear changes first, then every cell, judge and language."""
    read: list[Words] = [say("difference.read", old=result.tasks_old, new=result.tasks_new)]
    if result.same_scores:
        read.append(say("difference.same"))
    says: list[Words] = [say("difference.how")]
    for code, found in (("difference.arrived", result.arrived), ("difference.gone", result.gone)):
        if found:
            says.append(say(code, codes=list(dict.fromkeys(found))))
    sections = []
    for name, title in (("cells", "Cells"), ("judges", "Judges"), ("languages", "Languages")):
        frame = by_size(getattr(result, name), "change")
        if frame.empty:  # an audit inside languages has mean scores alone
            continue
        keys = [c for c in ("language", "judge") if c in frame]
        head = "before = old:+points | now = new:+points | change/low/high:+points | clear:yes"
        what = "means" if result.inside else name
        changes = table(name, say(f"difference.table.{what}"), frame, *keys, head)
        sections.append(Section(name=name, title=title, says=tuple(says) if name == "cells" else (), blocks=(changes,)))
    return Report(
        **frame_of("drift", result, panel) | {"read": tuple(read)},
        title=say("difference.title"),
        verdict=tuple(result.findings) or (say("difference.none"),),
        findings=tuple(result.findings),
        sections=tuple(sections),
    )


VIEWS = {"Difference": build_difference, "Drift": build}
