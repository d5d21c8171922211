"""Words about drift."""

from collections.abc import Sequence

from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.numbers import points
from polyjudge.second.panel.say import Template, Values, names, plural


def _size(v: Values) -> str:
    """Points lower or higher than before, with the interval."""
    low, high = sorted((abs(v["low"]), abs(v["high"])))
    return f"{points(abs(v['change']), low, high)} points {'lower' if v['change'] < 0 else 'higher'}"


def _cells(named: Sequence[tuple[str, str]]) -> str:
    return names([f"{language} by {judge}" for language, judge in named])


def _differ(v: Values) -> str:
    """Which systems came and went."""
    parts = [f"{names(v['new'])} {plural(len(v['new']), 'is a new system', 'are new systems')}"] if v["new"] else []
    parts += [f"{names(v['gone'])} {plural(len(v['gone']), 'is', 'are')} gone"] if v["gone"] else []
    return "; ".join(parts)


def _compared(v: Values) -> str:
    return f" The judges are compared on the {plural(v['compared'], 'other system', '{compared} other systems')}."


WORDS: dict[str, Template] = {
    "drift.title": "Drift since the calibrator was fitted",
    "drift.paired": "{paired} tasks compared one by one; a false alarm in {alarm:share} of runs at most",
    "drift.samples": "{before} tasks then and {after} now, compared as two samples; a false alarm in {alarm:share} of "
    "runs at most",
    "cell-broke": lambda v: (
        f"{{language}} by {{judge}} broke: it now scores {_size(v)}. "
        + ("The other judges and languages are as they were. " if v["alone"] else "")
        + "Check its prompt, parser and model version; do not fit again."
    ),
    "cells-broke": lambda v: (
        f"{len(v['named'])} cells broke: {_cells(v['named'])}. The largest change, {{language}} by {{judge}}: "
        f"{_size(v)}. Check their prompts, parsers and model versions; do not fit again."
    ),
    "judge-changed": lambda v: (
        f"{{judge}} changed against the other judges, most in {{language}}: {_size(v)}. "
        + ("They are as they were. " if v["alone"] else "")
        + "Was its model or prompt replaced? Fit again without it, or with its new scores."
    ),
    "language-changed": lambda v: (
        f"{{language}} changed against the other languages, most by {{judge}}: {_size(v)}. "
        + ("They are as they were. " if v["alone"] else "")
        + "Was its prompt or translation replaced? Fit again once that is settled."
    ),
    "interaction-changed": lambda v: (
        (
            "{judge} in {language} has changed: {change/low/high:+points} points."
            if v["count"] == 1
            else "{count} of {cells} cells have changed, most {judge} in {language}: {change/low/high:+points} points."
        )
        + " That is no accident ({p:p}). Fit the calibrator again."
    ),
    "interaction-stable": "Nothing has clearly changed ({p:p} for the largest change).",
    "new-languages": "The calibrator has never seen {names}. Fit it again with them, or extend it.",
    "new-judges": "The calibrator has never seen {names}. Fit it again with them, or extend it.",
    "gone-languages": "The scores lack {names}, which the calibrator knows.",
    "gone-judges": "The scores lack {names}, which the calibrator knows.",
    "range-changed": "The scale may have changed: scores lie in [{low}, {high}], the calibrator was fitted on "
    "[{low_before}, {high_before}].",
    "range-narrowed": "The scale may have changed: scores lie in [{low}, {high}], less than half of the calibrator's "
    "range.",
    "judge-offset-changed": lambda v: (
        f"{{label}} now scores {_size(v)} against the mean of the judges, in every language alike. Calibrating leaves "
        "this in: check its version and prompt."
    ),
    "language-shift-changed": lambda v: (
        f"All judges now score {{label}} {_size(v)} against the mean of the languages. Were its tasks or its "
        "translation replaced?"
    ),
    "agreement-changed": lambda v: (
        "{label} now "
        + ("hardly agrees" if v["after"] < 0.3 else "agrees otherwise")
        + " with the other judges about the systems: on the same task it follows them with a slope of {after:.2f}, "
        "before {before:.2f} (change {change/low/high:+.2f}). Look at its answers before fitting again."
    ),
    "discrimination-changed": "{label} now follows the other judges with a slope of {after:.2f}, before {before:.2f} "
    "(change {change/low/high:+.2f}): it scores the tasks in another way. Fit again only after looking at its answers.",
    "floor-changed": lambda v: (
        "{judge} in {language} now gives the lowest score {after:share} of the time, before {before:share} (change "
        "{/low/high:+share})"
        + ("" if v["count"] == 1 else f"; {v['count'] - 1} more {plural(v['count'] - 1, 'cell', 'cells')} changed too")
        + ". Look for parser failures or refusals."
    ),
    "too-few-for-runs": "{tasks} tasks are too few for {runs} runs: no change, however large, could be told from "
    "chance. Score more tasks in every run, or allow more false alarms (--level 0.9).",
    "replicates-differ": "Score as many replicates in every run as at the fit ({then}; now {now}): smaller changes are "
    "seen then. As they differ only half of the error level is spent, or skewed scores would raise false alarms.",
    "level-changed": lambda v: (
        f"{{label}} now scores {_size(v)} on the same tasks. Was its model or prompt replaced, or the answers?"
    ),
    "not-paired-alone": "With one language, or one judge, only the tasks of the fit tell what changed: score them "
    "again.",
    "not-paired": "The tasks differ from those of the fit, so only large changes can be seen. Score the same tasks "
    "again to see small ones.",
    "system-changed": lambda v: (
        f"{{system}} itself changed{'' if v['language'] == ALL else ' in {language}'}: against the other systems it "
        f"scores {_size(v)}, and not by one judge alone."
        + (f" So did {names(v['systems'][1:])}." if len(v["systems"]) > 1 else "")
        + _compared(v)
    ),
    "systems-differ": lambda v: f"{_differ(v)}.{_compared(v)}",
    "systems-unlike": lambda v: (
        f"{_differ(v)}, so what changed may be the systems and not the judges. To tell, score the systems of the fit "
        "on its tasks again."
    ),
    "drift.picture": "Change of each judge in each language since the fit, in points.",
    "drift.picture-note": lambda v: (
        ("[ ] changed; " if v["broke"] else "") + ". not clear of noise, or within the tolerance"
    ),
    "drift.picture-chart": lambda v: (
        "Nothing is clear of noise." if not v["changed"] else "{changed} of {cells} are clear of noise."
    ),
    "drift.judge-offset": "Leniency of each judge: change against the mean of the judges",
    "drift.language-shift": "Level of each language: change against the mean of the languages",
    "drift.discrimination": "How each judge follows the others over the tasks: change of the slope",
    "drift.agreement": "How each judge follows the others over the systems of a task: change of the slope",
    "drift.level": "Level of the judge on the same tasks",
    "drift.effect-chart": "{changed} of {of} changed; the intervals hold for all together.",
    "drift.systems": "Systems that themselves changed, points against the other systems",
    "drift.cells": "Change of each cell in points, clearest first; the intervals hold for all cells together",
    "drift.floor": "Share of scores at the lowest value, then and now",
    "drift.global": "Test that nothing changed: {p:p}.",
    "difference.title": "What changed between two audits",
    "difference.read": "{old} tasks before, {new} now",
    "difference.same": "Both audits are of the same scores.",
    "difference.none": "Nothing changed beyond noise.",
    "difference.cells": lambda v: (
        f"{{count}} of {{of}} {plural(v['of'], 'cell', 'cells')} changed beyond noise, most {{judge}} in {{language}}"
        ": {change/low/high:+points} points (was {old:+points}, now {new:+points})."
    ),
    "difference.judges": lambda v: (
        f"{{count}} {plural(v['count'], 'judge', 'judges')} became "
        f"{'more' if v['change'] > 0 else 'less'} lenient, most {{judge}}: {{change/low/high:+points}} points."
        if v["count"] == 1
        else "{count} judges changed how lenient they are, most {judge}: {change/low/high:+points} points."
    ),
    "difference.languages": "All judges together shifted {language}: {change/low/high:+points} points.",
    "difference.gone": "No longer found: {codes}.",
    "difference.arrived": "Newly found: {codes}.",
    "difference.table.cells": "Points a judge gives in a language beyond its own and the language's level",
    "difference.table.means": "Mean score of each judge in each language",
    "difference.table.judges": "How lenient each judge is, in points from the panel's mean",
    "difference.table.languages": "The shift that all judges share in a language",
    "difference.how": "Intervals hold for all rows of a table together and take the audits as independent. Where they "
    "share tasks, true intervals are narrower.",
}
