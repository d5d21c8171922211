"""Words about human labels."""

from __future__ import annotations

from polyjudge.panel.say import Template, places, plural

WORDS: dict[str, Template] = {
    "anchor.read": lambda v: (
        "{labels} "
        + ("human labels" if v["judge"] is None else "scores of {judge}, taken as human,")
        + " in {languages} languages"
    ),
    "anchor.helped": lambda v: (
        f"Calibrating helps {{helped}} {plural(v['helped'], 'cell', 'cells')} and hurts {{hurt}}; for {{unclear}} it "
        "cannot be told (all at once, {level:share})."
    ),
    "anchor.invariance": lambda v: (
        "Calibrating cannot change what the average of the judges decides. "
        + ("Checked" if v["holds"] else "This does NOT hold, please report it")
        + ": {changed} of {entries} decisions changed, the largest move is {most:.1g} points."
    ),
    "anchor.chart": lambda v: (
        ("Agreement with" if v["agreement"] else "Squared error against") + " the labels, before and after calibrating."
    ),
    "anchor.chart-text": lambda v: (
        "Intervals are over tasks; calibration was fitted on other tasks. "
        + ("Ties count as no agreement." if v["agreement"] else "A gain is a fall of the error.")
    ),
    "anchor.ties": "A judge's agreement can move only because calibrating moves its threshold: its AUC inside a "
    "language stays. Decisions that changed from a tie were pushed to one side, not informed.",
    "anchor.incomplete": "{count} labelled entries lack a judge's score; there the mean of the others can move.",
    "anchor.gain": "Both columns estimate the same gain and are equal when every task is labelled. On the same tasks "
    "it is arithmetic and has no interval.",
    "anchor.hurt": "{judge} in {language} was nearer to the humans than the panel: calibrating adds "
    "{loss/low/high:points} points squared.",
    "anchor.more-labels": lambda v: (
        f"More labels would settle {v['cells']} open cells: "
        + (f"{v['few']}" if v["few"] == v["most"] else f"{v['few']} to {v['most']}")
        + " more per language. The others need more tasks, not labels."
    ),
    "anchor.shift": "What all judges together give more (or less) than the humans. Calibrating leaves it in.",
    "anchor.probes": lambda v: (
        "Labels and probes agree about {agrees} pairs of language and judge"
        + (f" and contradict each other about {places(v['places'])}: trust the labels." if v["places"] else ".")
        + (" {open} are open." if v["open"] else "")
    ),
    "anchor.probes-table": "What probes and labels say of every judge",
    "anchor.means": "The panel-only interval knows nothing of a shared shift. Labelled tasks must be a random part of "
    "all tasks.",
}
