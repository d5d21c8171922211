"""Words of calibrators."""

from __future__ import annotations

from polyjudge.second.panel.say import Template, Values, names


def _more(v: Values) -> str:
    """What to score next, to reach the goal of an extension."""
    if not v["more"]:
        return "No more tasks are needed to {goal:text}."
    if v["more"] <= v["left"]:
        return "Score {more} more tasks to {goal:text}."
    rest = "Score the {left} tasks it lacks. " if v["left"] else ""
    return rest + (
        f"All {v['tasks'] + v['left']:,} tasks of the calibrator give about ±{{whole:points}} points; to {{goal:text}} "
        f"takes {v['more'] - v['left']:,} tasks that are new to every {{kind}}."
    )


WORDS: dict[str, Template] = {
    "calibrate.fall": lambda v: (
        "Against labels of other tasks the language error falls from {before:points} to {after:points} points "
        "({removed/low/high:share} of it removed)."
        if v["low"] > 0
        else "Whether these labels lower the language error cannot be told"
        + (": at most {high:share} of it is removed." if v["high"] < 0.995 else " yet.")
    ),
    "calibrate.annotators": lambda v: (
        ("All" if v["share"] >= 0.995 else "{share:share} or more")
        + " of the difference between languages may be your annotators' own severity: do not use this before people "
        "who read two languages have labelled (label make --link)."
    ),
    "calibrate.no-labels": "{languages} have no labels: the mean shift of the others is removed there, and may be off "
    "by {half:points} points.",
    "calibrate.slope": "Scores are also stretched to the humans' scale, by {low:.2f} to {high:.2f}: left-out labels "
    "gain by it.",
    "calibrate.isotonic": "Scores are also bent to the humans' scale, by a rising curve of each judge: left-out labels "
    "gain by it.",
    "calibrate.ordinal": "Each level becomes the humans' mean for it, moved by language on the logit scale: left-out "
    "labels gain by it, and no score leaves the scale.",
    "calibrate.outside": lambda v: (
        "{count} of {of} calibrated scores lay beyond the scale ({low:g} to {high:g}) and were cut: the mean over the "
        "judges moves."
        if v["clipped"]
        else "{count} of {of} calibrated scores lie beyond the scale ({low:g} to {high:g}). --clip cuts them and moves "
        "the judges' mean."
    ),
    "calibrate.few-levels": "The scores have {levels} levels. Calibrated scores fall between them, and where a "
    "score equals the mark of a gate a small shift decides. For a gate leave the scores and move the mark: "
    "calibrate --mark LEVEL.",
    "calibrate.mark": "A score passes when it is above the mark of its language and judge; the scores stay. The new "
    "column is the score less that mark.",
    "calibrate.part-of-panel": lambda v: (
        "These scores lack " + names(v["judges"], 4) + ". The calibrator speaks of its own panel: over a part of the "
        "judges the mean of calibrated scores is not the raw mean. Fit one on the judges you use."
    ),
    "calibrate.other-scale": "These scores run from {low:g} to {high:g}, those the calibrator was fitted on from "
    "{own_low:g} to {own_high:g}: another panel. What was learnt on one panel says nothing about another.",
    "extend.newcomer": lambda v: (
        "{label} was added from {tasks} tasks: its cells are known to about ±{half_width:points} points "
        "({level:share}), {clear} of {cells} are clearly not 0, and {shrunk:share} of the row was taken off as noise. "
        + _more(v)
    ),
    "extend.goal.target": "know the row to ±{target:g} points",
    "extend.goal.as-well": "know the row as well as the cells fitted before",
    "extend.goal.as-many": "have as many tasks as the cells fitted before",
    "extend.unchanged": "The cells fitted before are unchanged. Fitting again on all scores would use the new tasks "
    "for them too.",
    "extend.mean-moves": "The mean over judges of calibrated scores equals the raw mean over the judges fitted before; "
    "with a new judge in it the mean may move by that judge's cells.",
    "extend.lacking": lambda v: (
        "{label} has no scores with " + names(v["others"], 6) + ": those cells are 0, so nothing is taken off there."
    ),
    "shrink.no": "The tasks are enough for the cells: shrinking would change nothing worth having.",
    "shrink.yes": lambda v: (
        (
            "Shrink: it takes {amount:share} off the interaction, and left-out tasks say it helps"
            if v["proven"]
            else "Shrinking is expected to help: it takes {amount:share} off the interaction. The tasks are too few to "
            "prove it"
        )
        + " (gain {gain:+.3g} points² per score, {level:share} interval {low:.3g} to {high:.3g})."
    ),
    "robust.apart": "{language} x {judge}: the mean gives {mean:+.2f} but trimmed mean {trimmed:+.2f}, median of means "
    "{median_of_means:+.2f} and Huber {huber:+.2f}: a few tasks carry this cell; look at them before trusting it.",
}
