"""What a reader did to the rows, what labels lack, what an analysis left aside: notes beside the numbers."""

from __future__ import annotations

from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Template, Values, plural


def _lonely(v: Values) -> str:
    out = "; left out" if v["out"] else ""
    if not v["partners"]:
        return "{label} has no score at all" + out
    if v["kind"] == "language":
        return "{label} was scored by one judge only ({partners}), so no interaction can be separated there" + out
    return "{label} scored in one language only ({partners}), so no interaction can be separated for it" + out


def _missing(v: Values) -> str:
    text = "{missing} of {entries} entries ({share:.1%}) have no score: cell means are least squares within tasks"
    if v["design"] == "paired":
        return text
    if v["design"] == "answers":
        return text.replace("tasks", "answers")
    return text + (
        ", with task and cell effects only: too few tasks have two languages scored by the same two judges, so a "
        "judge's own view of single tasks is not removed"
    )


WORDS: dict[str, Template] = {
    "panel.by-design": "adaptive collection: what is missing was not bought, by design",
    "panel.missing": _missing,
    "panel.left-out": lambda v: "Left out: " + ", ".join(f"{clean(j)} in {clean(i)}" for i, j in v["cells"]) + ".",
    "panel.copied": "The rows were copied out of their table, because they are no plain numbers, one in each row.",
    "panel.averaged": "{count} entries had several rows; they were averaged",
    "panel.spellings": "of tasks with unusual signs in their names only {count} were compared for their spelling",
    "panel.first-kept": "{count} repeated rows were left out (first kept)",
    "panel.no-score": "{count} rows have no score; their entries count as missing",
    "panel.chosen": "{count} of {all} {axis}s were left out as asked",
    "panel.rescaled": "the scores of {judges} were brought to the scale of the panel",
    "panel.dropped": lambda v: (
        "{count} of {tasks} tasks lack a score somewhere and were left out"
        + ("; beyond max_units only complete tasks count" if v["hashed"] else "")
    ),
    "panel.hashed": "{tasks} tasks were hashed into {units} units ({how:text})",
    "panel.too-large": "{count} {what} were averaged, not kept: the panel would have {entries} entries",
    "panel.system-holes": "{count} of {all} scores of systems are missing; means over systems allow for who is missing",
    "panel.no-system": lambda v: (
        "{column} is not used: "
        + (
            "it is the same in all rows, so there are no systems to compare"
            if v["systems"] == 1
            else "no judge scored two systems on one task"
        )
    ),
    "run.unread": "{count} of {all} scores are missing: an answer could not be read",
    "run.behind": "left out, with less than half of the others' answers: {judges}",
    "run.unfinished": "{count} of {all} tasks left out: not all of their calls are answered yet",
    "run.begun": "the run has only begun: most entries are missing",
    "read.taken": lambda v: (
        "{column} is taken as the system, the thing that is judged; if it repeats a measurement: --replicate {column}"
        if v["role"] == "system"
        else "{column} is taken as repeats of one measurement; if it is what is judged: --system {column}"
    ),
    "inspect.ended": "{log} ended with status {status}; its finished samples are read",
    "inspect.scorers": "each scorer is taken as a judge, for all graders are the same model",
    "inspect.several": "a grader with several scorers is taken as several judges",
    "inspect.short": "{count} lists of collected scores are shorter than the list of graders, so whose they are is "
    "unknown",
    "inspect.unread": "{count} of {all} scores are missing: their value is not a number or grade",
    "identify.empty": "{judge} scored no task in {language}",
    "identify.lonely": _lonely,
    "identify.hole": lambda v: (
        "{label} was left out: "
        + ("{others} scored no task in it" if v["kind"] == "language" else "it scored no task in {others}")
        + ", and a row or column with a hole has no mean"
    ),
    "identify.apart": "{label} shares too few answers with the rest to be compared; left out",
    "gold.other-scores": "The labels were drawn by other scores than these: {count} of {of} labelled items have moved. "
    "Each counts by the chance it was drawn with.",
    "gold.bare": lambda v: (
        "No labels in {languages}: nothing is said about " + plural(len(v["languages"]), "it", "them") + "."
    ),
    "gold.trusted": "The scores of {judge} stand in for human labels: what it shares with the others stays hidden.",
    "gold.sample": lambda v: (
        "A sample of at most {labels} labels per language"
        + (", in proportion to {group}" if v["group"] else "")
        + f" (seed {v['seed']})."
    ),
    "gold.strange": "{count} labels name a {role} that the panel does not have: {names}.",
    "gold.no-minus": "The preferences are only 1 and 0. Here 0 is a tie; write the other side as -1.",
    "gold.one-side": "Every human choice is the same side, so AUC says nothing, and agreement cannot tell a "
    "good judge from one that always favours that side.",
    "gold.narrow": lambda v: (
        "Labels span only {low:g} to {high:g} while scores span {bottom:g} to {top:g}. If the labels are on another "
        "scale, give it (scale=(1, 5), --label-scale 1:5) and they are carried over."
        + (
            ""
            if v["declared"]
            else " If the panel's scale is wider than its scores, declare it (range=(0, 100), --range 0:100)."
        )
    ),
    "gold.empty": "{count} rows have no label and are left out.",
    "gold.repeated": "{count} pairs of task and language have the same label more than once; it counts once.",
    "gold.contradictory": "{count} pairs of task and language with contradictory labels are left out.",
    "gold.several": "{count} pairs of task and language have several labels; their mean is used.",
    "labels.one": "{language} has one label: no interval.",
    "labels.few": "{language} has only {labels} labels; its intervals lean on the shape of the scores.",
    "labels.no-estimate": lambda v: (
        "{language} has " + ("one label" if v["labels"] else "no labels") + ": no estimate."
    ),
    "labels.no-panel-mean": "{count} labels stand where a judge's score is missing; the panel mean is not comparable "
    "there.",
    "labels.under-two": "{languages}: fewer than two labels. The other languages are compared among themselves.",
    "labels.few-wide": "Languages with fewer than {fewest} labels get wide intervals by Student's t.",
    "labels.not-random": "The labelled tasks are not like the others in {languages}: the panel scores them "
    "differently. Means from labels hold only for labels on a random part of the tasks.",
    "labels.pilot": "Planned labels are enough for the largest spread that the pilot leaves possible ({level:share}, "
    "one-sided); likely is what it takes if the pilot's spread is the true one.",
    "labels.all-equal": "{languages}: all labels are equal so far; the numbers there mean little.",
    "labels.pooled": "{languages}: fewer than {fewest} labels, so spread and correlation come from all languages "
    "together.",
    "anchor.missing": "{holed} of {tasks} tasks lack a score; calibration is least squares within tasks.",
    "worth.two-judges": "With two judges none can be left out.",
    "worth.upper-bound": "Noise of the labels counts as a shared error: the correlation is an upper bound.",
    "btl.endless": "In {language}, {judge} wins or loses every comparison: its strength has no finite value, only its "
    "place in the order counts.",
    "uncertainty.no-band": "In many resamples of the tasks a cell has no spread at all, so the band has no bound.",
    "uncertainty.constant-cells": "{constant} of {cells} cells have the same deviation in every task, so they have no "
    "interval; they are judged by the sign test.",
    "uncertainty.missing": "Scores are missing. The Gaussian bound is that of a complete panel with the same standard "
    "errors; the distribution-free bound holds for complete panels only and is left out.",
    "uncertainty.observed-scale": "The distribution-free bound takes the observed scores [{low}, {high}] as the scale.",
    "uncertainty.units": "Scores were summed over many tasks per unit, so the sd of all single scores is not known.",
}
