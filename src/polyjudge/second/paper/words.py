"""Words of a reproduction of the paper."""

from __future__ import annotations

from polyjudge.second.panel.say import Template

WORDS: dict[str, Template] = {
    "paper.read": "{title}: {rows:count} values of the paper and of its released results",
    "paper.count": "{computed:count} of the {rows:count} values can be computed and could come out otherwise: "
    "{reproduced:count} print as published, {artefact:count} do too but are not what they are taken for, "
    "{differs:count} "
    "differ. The rest is arithmetic, names, settings, a check of the file, or needs data that is not here.",
    "paper.labels": "Beside human labels: the judges' mean has a correlation of {r/low/high:.2f} with the humans. "
    "Calibration brings {helped:count} of {cells:count} cells nearer to them and {hurt:count} further away.",
    "paper.differs": "{count:count} values differ from the paper.",
    "paper.needs": "{count:count} values ({places:text}): {reading:text}",
    "paper.correction": lambda v: (
        "{claim:text}. Published: {published:text}. "
        + ("The paper concedes: {conceded:text}. " if v["conceded"] else "")
        + ("The authors later: {later:text}. " if v["later"] else "")
        + "Instead: {correct:text}. Why: {why:text}"
    ),
    "paper.report": "The paper's tables: {tasks:count} tasks, {languages:count} languages, {judges:count} judges.",
    "paper.left-out": "Left out ({part:text}): {why:text}",
    "metadata.few": "With {languages} languages only a variable that explains more than {smallest:share} of the "
    "interaction could show at all.",
    "metadata.cause": "What goes with the interaction need not be its cause.",
    "unseen.title": "A new {what}",
    "unseen.enough": "{enough} scored tasks bring 95% of what all tasks would (tau {full:.3f}).",
    "unseen.identity": "Mean imputation equals zero-shot by arithmetic: the mean of the seen rows of the interaction "
    "is 0.",
    "unseen.judge": "tau compares how two judges order the languages; consistency is the agreement of the languages on "
    "the order of all judges, the new one among them.",
    "unseen.skipped": "{skipped} of {resamples} resamples could not be evaluated and were skipped.",
    "unseen.no-gain": "Scoring tasks of the new {what} does not raise the agreement here.",
    "unseen.beyond": "Left out: {shots} shots; the panel has only {tasks} tasks.",
    "unseen.use-all": "A resample draws about {tasks} different tasks; more shots than that use them all.",
    "decisions.title": "Picking the top judge",
    "decisions.target": "The target is the top judge after removing the left-out tasks' own interaction: the additive "
    "model's answer, not a human one. The top judge is the most lenient one, not the best.",
    "ablation.title": lambda v: {
        "judges": "Fewer judges",
        "tasks": "Fewer tasks",
        "groups": "Each group on its own",
    }[v["by"]],
    "ablation.judges-identity": "On the same draws and without ties the mean tau over all subsets of a size is that of "
    "all judges by arithmetic. Only the spread (sd, low, high) says something about the number of judges.",
    "ablation.drawn": "{drawn} of the {all} subsets of {size} judges were drawn at random.",
    "ablation.skipped": "{skipped} of {drawn} subsets of {size} tasks left none out: skipped.",
    "ablation.bounds": "The bounds hold for all cells together with 95% confidence; the error is a mean over cells.",
    "ablation.group-fails": "Group {group} cannot be evaluated: {why:text}",
    "ablation.group-note": "Group {group}: {note:text}",
    "information.ties": "Distances between scores are compared exactly, as published; counting those equal up to "
    "rounding as tied gives {tolerant:.4f} in place of {exact:.4f}.",
    "information.part": "Measured on {chosen} of {units} units drawn at random.",
    "information.replicates": "Measured on {kept} of {replicates} replicates drawn at random.",
    "information.missing": "Some replicates are missing; those that are there are used.",
    "held-out.one-sided": "dawid-skene says little here: it asks only whether a score is the top of the scale ({top}), "
    "and {share:.2%} of the scores are.",
}
