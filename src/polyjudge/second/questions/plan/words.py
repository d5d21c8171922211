"""Words about plans: tasks, labels, systems to tell apart."""

from polyjudge.second.panel.say import Template, Values, plural

ASKED = {
    "judges": "orders of two judges in a language",
    "systems": "orders of two systems in a language",
    "cells": "deviations of a judge in a language",
    "gate": "pass rates of a judge in a language",
}


def _saved(v: Values) -> str:
    what = ASKED[v["questions"]]
    done = (
        f"All {{of}} {what} would have been settled"
        if not v["open"]
        else f"{{settled}} of {{of}} {what} would have been settled"
    )
    unit = "percentage points" if v["questions"] == "gate" else "points"
    return f"{done} with {{share:share}} of the scores ({{calls}}), to within {{matters}} {unit}."


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


def _choice(v: Values) -> str:
    """The judges to keep, as "3 judges, 140 tasks, $41 instead of $195"."""
    if len(v["judges"]) == v["all"] or v["cost"] >= v["full"]:
        return "Keep all {all} judges: no smaller panel is cheaper."
    count = f"{len(v['judges'])} {plural(len(v['judges']), 'judge', 'judges')}"
    money = "${cost:,.2f} instead of ${full:,.2f}" if v["priced"] else "{cost:,.0f} scores instead of {full:,.0f}"
    return f"Cheapest: {count} ({{judges}}), {{tasks}} tasks, {money}."


WORDS: dict[str, Template] = {
    "separate.title": "Plan: tell systems apart",
    "separate.needed": lambda v: (
        "No number of tasks surely tells systems {points:.3g} points apart with these judges: their tastes differ more."
        if v["needed"] is None
        else "To tell the best system apart from all others, {points:.3g} points behind, you need {needed} tasks "
        "with these judges and languages ({power:share} of the time, {level:share} sure"
        + (", whoever of the judges is left out)." if v["judges"] > 1 else ").")
    ),
    "separate.choice": _choice,
    "separate.now": lambda v: (
        "Your {tasks} tasks already tell {first} and {second} apart"
        + (", but not without {judge}" if v["judge"] else "")
        + ": {difference/low/high:points} points."
        if v["low"] > 0
        else "Your {tasks} tasks leave {first} and {second} {difference/low/high:+points} points apart."
    ),
    "separate.judges": lambda v: (
        ("More judges help little: " if v["many_tasks"] > 0.8 * v["few_tasks"] else "More judges help: ")
        + ("1 average judge needs" if v["few"] == 1 else "{few} average judges need")
        + " {few_tasks} tasks, {many} need {many_tasks}."
    ),
    "separate.table": "Tasks needed",
    "separate.curve": "Tasks needed to tell two systems apart, by the number of judges.",
    "separate.curve-chart": "From {most} tasks with {few} judges to {least} with {many}.",
    "separate.components": "Where the scores of systems vary, share of the variance",
    "separate.scope": "Tasks are counted for these very judges and languages. If they stand for others like them, no "
    "number of tasks shows less than the floor.",
    "plan.answer": _plan,
    "plan.ruled-out": "To rule out that a gap between two judges changes by {radius:.4g} points from one language to "
    "another, as audit asks, takes about {tasks}, if none does.",
    "plan.curve": "Deviations that a number of tasks cannot rule out.",
    "plan.curve-chart": "The curves fall as tasks are added; the broken line is the {radius:points} points aimed at.",
    "plan.cost": lambda v: (
        "Cost: {scores} "
        + ("more " if v["more"] else "")
        + "scores"
        + (", {cost:,.2f} at your prices." if v["cost"] is not None else ".")
    ),
    "plan.finds": "With {tasks} tasks expect an audit to show about {found/low/high:.0f} of these numbers clearly.",
    "plan.advice": lambda v: (  # what is bought is part of the sentence, so that languages have the name of --by
        f"To make the order of the judges surer, buy {v['facet']} first: its reliability over all languages is "
        f"{{now/now_low/now_high:.2f}} now and {{then/then_low/then_high:.2f}} with twice the {v['facet']}. "
        "More judges do not help."
    ),
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
        + " to within {half_width} ({level:share}), even if the pilot understates their spread: {total} labels in all "
        "with the panel's help, {alone} without it"
        + (", {design} where label make draws them." if v["design"] is not None else ".")
    ),
    "plan.labels-short": "{languages}: labelling every task is not enough there. Add tasks, or accept a larger "
    "--half-width.",
    "plan.simulated": "Intervals of expected numbers are simulation error.",
    "plan.labels": "Labels for ±{half_width} ({level:share}): {quantity:text}",
    "replay.title": "Adaptive collection, replayed",
    "replay.saved": _saved,
    "replay.blind-spot": lambda v: (
        f"Failures on fewer than 1 of {max(1, round(v['tasks'] / 3))} tasks would not have shown where {{tasks}} tasks "
        "settled an answer; they could move it by {points:.3g} points"
        + (" (the intervals allow for that)." if v["guard"] else " (--guard allows for that).")
    ),
    "replay.looks": "Looks, planned before the first call",
    "replay.questions": "What was asked, and the answer when it was settled",
    "replay.scope": "above, below: the first surely has the higher mean, or the lower. tied: surely no further apart "
    "than what matters. All answers of a run together hold at the level asked for, however many looks it took. In the "
    "end: from all scores bought, less what stopping at a lucky moment adds.",
}
