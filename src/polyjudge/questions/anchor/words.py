"""Words about human labels and plans."""

from __future__ import annotations

from polyjudge.panel.say import Template, Values, places, plural


def _plan(v: Values) -> str:
    goal = (
        "how far each of {judges} judges is off in each of {languages} languages, to within {radius:.4g} points "
        "({level:share}, all {cells} numbers at once)."
    )
    if v["enough"] is None:
        return f"Not even 10,000,000 tasks tell {goal} Accept a larger --radius."
    if v["have"] is None:
        return f"Score {{enough}} tasks. They tell {goal}"
    if v["more"]:
        tasks = plural(v["more"], "task", "tasks")
        return f"Score {{more}} more {tasks}, {{enough}} in all. They tell {goal}"
    return f"Your {{have}} tasks are enough: {{enough}} tell {goal}"


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
    "plan.answer": _plan,
    "plan.curve": "Deviations that a number of tasks cannot rule out.",
    "plan.curve-chart": "The curves fall as tasks are added; the broken line is the {radius:points} points aimed at.",
    "plan.cost": lambda v: (
        "Cost: {scores} "
        + ("more " if v["more"] else "")
        + "scores"
        + (", {cost:,.2f} at your prices." if v["cost"] is not None else ".")
    ),
    "plan.finds": "With {tasks} tasks expect an audit to show about {found/low/high:.0f} of these numbers clearly.",
    "plan.advice": "To make the order of the judges surer, buy {facet} first: its reliability over all languages is "
    "{now/now_low/now_high:.2f} now and {then/then_low/then_high:.2f} with twice the {facet}. More judges do not help.",
    "plan.assumed": "Expected numbers take true cells with sd {effect}, judges' means with sd {apart} and independent "
    "noise with sd {sigma}.",
    "plan.learned": "Expected numbers take the panel's own means and covariances as the truth, the interaction scaled "
    "to {factor:.2f} of its estimate to allow for noise.",
    "plan.own-radius": "No --radius was given: half of the largest cell is taken, {radius:points} points.",
    "plan.no-range": "The distribution-free bound needs the scale of the scores: --range LOW:HIGH.",
    "plan.no-study": "Scores are missing: what to buy more of is measured only where every task is scored everywhere.",
    "plan.no-replicates": "Without replicates the noise of a score cannot be told from what is particular to its task; "
    "replicates are left out.",
    "plan.needed": "Tasks for ±{radius:.4g} points on all {languages} x {judges} cells at once ({level:share}); the "
    "band is what an audit prints",
    "plan.buys": "Half-widths in points, and what would be found",
    "plan.labels-answer": lambda v: (
        ("Collect {more} more labels" if v["more"] else "You have enough labels")
        + " to know the mean of "
        + ("each language" if v["all"] else "{languages}")
        + " to within {half_width} ({level:share}): {total} labels in all with the panel's help, {alone} without it."
    ),
    "plan.labels-short": "{languages}: labelling every task is not enough there. Add tasks, or accept a larger "
    "--half-width.",
    "plan.simulated": "Intervals of expected numbers are simulation error.",
    "plan.labels": "Labels for ±{half_width} ({level:share}): {quantity:text}",
    "plan.next": "Where the next {batch} labels help most",
    "extend.title": "New {kind}: {label}",
}
