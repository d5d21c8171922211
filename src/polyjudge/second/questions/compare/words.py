"""Words of comparisons on left-out tasks."""

from polyjudge.second.panel.say import Template

GAIN: dict[str, Template] = {
    "gain.advised": "If you use a single judge, calibrate: one picked at random comes "
    "{closer/closer_low/closer_high:points} points closer to the panel. If you average the judges, nothing changes. "
    "Which judge gains most needs labels.",
    "gain.open": "Do not calibrate: it may only add noise (squared distance to the panel falls by "
    "{gain/low/high:+points}, which includes 0). More tasks, or shrinkage, may show a gain.",
    "gain.loss": "Do not calibrate: it adds error (squared distance to the panel changes by {gain/low/high:+points}). "
    "More tasks, or shrinkage, may show a gain.",
    "gain.too-few": "Do not calibrate: {tasks} tasks are too few to measure what it gains.",
}

WORDS: dict[str, Template] = {
    **GAIN,
    "gain.scope": "The gain is that of one judge drawn at random: it comes nearer to the panel mean, and so on average "
    "to any truth that is the same for all judges. Who uses the panel mean gains exactly 0. A given judge may gain or "
    "lose, and only labels tell. Shifts of all judges of a language alike are not counted: they need labels too.",
    "held-out.skipped": lambda v: (
        "{skipped} of {resamples} resamples drew every task"
        + ("" if v["complete"] else " or do not identify the interaction")
        + "; they were skipped."
    ),
    "held-out.missing": "Scores are missing: cell means and interaction are estimates, and so is the gain.",
    "held-out.need-complete": "Left out because they need a complete panel: {methods}.",
    "held-out.two-judges": "With two judges tau of a language pair is only 1, -1 or undefined (a tie).",
    "held-out.wide": "Whether {languages:,} languages agree on the order of {judges:,} judges was not measured: there "
    "are too many to compare. Read fewer (--languages, --judges).",
    "held-out.all-tie": "All judges tie in every language: tau is undefined and counted as 0.",
    "held-out.title": "Methods on left-out tasks",
    "held-out.chart": lambda v: (
        ("" if v["method"] is None else "{method} agrees most on left-out tasks: {tau/low/high:.3f}. ")
        + "What is true by arithmetic is pale. {resamples} resamples of the tasks; intervals are their percentiles. "
        "Agreement is consistency, not accuracy."
    ),
    "held-out.consistency": "Agreement between languages is consistency, not accuracy.",
    "held-out.full-fit": "The full fit is measured on the tasks it was fitted on, so it has no interval; in sample the "
    "gain cannot be negative.",
    "held-out.unmeasured": "The gain of calibrating was not measured.",
    "identity.full-fit": "full fit is 1 by arithmetic",
    "identity.as-cbc": "same order and gain as cbc, full fit is 1: arithmetic",
    "identity.oracle": "uses the evaluation tasks: tau 1 and a positive gain are arithmetic",
    "identity.as-raw": "same order as raw: arithmetic",
}
