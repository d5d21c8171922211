"""Words about drift."""

from __future__ import annotations

from polyjudge.report.words import Template, plural

WORDS: dict[str, Template] = {
    "drift.title": "Drift since the calibrator was fitted",
    "drift.paired": "{paired} tasks compared one by one; a false alarm in {alarm:share} of runs at most",
    "drift.samples": "{before} tasks then and {after} now, compared as two samples; a false alarm in {alarm:share} of "
    "runs at most",
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
    "floor-changed": lambda v: (
        "{judge} in {language} now gives the lowest score {after:share} of the time, before {before:share} (change "
        "{/low/high:+share})"
        + ("" if v["count"] == 1 else f"; {v['count'] - 1} more {plural(v['count'] - 1, 'cell', 'cells')} changed too")
        + ". Look for parser failures or refusals."
    ),
    "not-paired": "The tasks differ from those of the fit, so only large changes can be seen. Score the same tasks "
    "again to see small ones.",
    "drift.cells": "Change of each cell in points, clearest first; the intervals hold for all cells together",
    "drift.floor": "Share of scores at the lowest value, then and now",
    "drift.global": "Test that nothing changed: {p:p}.",
}
