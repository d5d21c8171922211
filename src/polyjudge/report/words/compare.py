"""Words of comparisons on left-out tasks."""

from __future__ import annotations

from polyjudge.report.words import Template

WORDS: dict[str, Template] = {
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
    "held-out.one-sided": "dawid-skene says little here: it asks only whether a score is the top of the scale ({top}), "
    "and {share:.2%} of the scores are.",
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
    "unseen.title": "A new {what}",
    "unseen.verdict": "With no task of it scored, a new {what} agrees with the others at tau "
    "{zero/zero_low/zero_high:.3f} after calibrating them; raw {raw/raw_low/raw_high:.3f}.",
    "unseen.enough": "{enough} scored tasks bring 95% of what all tasks would (tau {full:.3f}).",
    "unseen.identity": "Mean imputation equals zero-shot by arithmetic: the mean of the seen rows of the interaction "
    "is 0.",
    "unseen.curve-chart": "From {first:.3f} with {few} tasks to {last:.3f} with {many}. The dashed line is what all "
    "drawn tasks give; the band holds 95% of the resamples.",
    "unseen.judge": "tau compares how two judges order the languages; consistency is the agreement of the languages on "
    "the order of all judges, the new one among them.",
    "unseen.skipped": "{skipped} of {resamples} resamples could not be evaluated and were skipped.",
    "unseen.no-gain": "Scoring tasks of the new {what} does not raise the agreement here.",
    "unseen.beyond": "Left out: {shots} shots; the panel has only {tasks} tasks.",
    "unseen.use-all": "A resample draws about {tasks} different tasks; more shots than that use them all.",
    "decisions.title": "Picking the top judge",
    "decisions.verdict": "Picking each language's top judge by {method} meets the target in "
    "{accuracy/low/high:share} of the languages of left-out tasks.",
    "decisions.target": "The target is the top judge after removing the left-out tasks' own interaction: the additive "
    "model's answer, not a human one. The top judge is the most lenient one, not the best.",
    "decisions.chart": "How often each way of picking meets the target; {method} does in {accuracy/low/high:share}.",
    "decisions.interval": "Intervals are percentiles over resamples of the tasks: more resamples do not narrow them.",
    "ablation.title": lambda v: {
        "judges": "Fewer judges",
        "tasks": "Fewer tasks",
        "groups": "Each group on its own",
    }[v["by"]],
    "ablation.verdict": "With {what} {size} the languages agree on left-out tasks at tau {tau/low/high:.3f} after "
    "calibrating; squared error falls by {gain/gain_low/gain_high:points}.",
    "ablation.chart": "Agreement of the languages after calibrating, by {what}; intervals are over resamples.",
    "ablation.judges-identity": "On the same draws and without ties the mean tau over all subsets of a size is that of "
    "all judges by arithmetic. Only the spread (sd, low, high) says something about the number of judges.",
    "ablation.drawn": "{drawn} of the {all} subsets of {size} judges were drawn at random.",
    "ablation.skipped": "{skipped} of {drawn} subsets of {size} tasks left none out: skipped.",
    "ablation.bounds": "The bounds hold for all cells together with 95% confidence; the error is a mean over cells.",
    "ablation.group-fails": "Group {group} cannot be evaluated: {why:text}",
    "ablation.group-note": "Group {group}: {note:text}",
}
