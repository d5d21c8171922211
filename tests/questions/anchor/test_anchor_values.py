"""The values of panels beside labels: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.gold import align_gold
from polyjudge.panel.say import say
from polyjudge.questions.anchor.helped import whom_it_helps
from polyjudge.questions.anchor.raters import _reliability, annotators
from values import Cases, Said, binary, human_scores, probes, simulated, weighted

CASES = Cases(__file__)


@CASES
def anchor_scores() -> Any:
    panel = simulated(50, 3, 3, seed=18)
    return pj.anchor(panel, human_scores(panel), resamples=60)


@CASES
def anchor_systems() -> Any:
    panel = simulated(40, 2, 3, systems=3, clusters=10, missing=0.05, seed=19)
    return pj.anchor(panel, human_scores(panel, labels=25), resamples=60, matters=3.0)


@CASES
def anchor_passing() -> Any:
    panel = simulated(50, 3, 3, seed=20)
    asked = pj.probe(probes(3, 3, seed=5)[0])
    return pj.anchor(panel, human_scores(panel, annotators=1), threshold=50.0, probed=asked, resamples=60)


@CASES
def anchor_preferences() -> Any:
    rng = np.random.default_rng(21)
    margins = np.rint(rng.normal(0.5, 1.5, (60, 3, 1)) + rng.normal(0, 1, (60, 3, 4)) + rng.normal(0, 0.7, (3, 4)))
    panel = pj.Panel.from_array(margins)
    rows = [
        (panel.tasks[t], panel.languages[x], int(np.sign(margins[t, x].sum() + rng.normal(0, 2)) or 1))
        for t, x in np.ndindex(45, 3)
    ]
    return pj.anchor(panel, pd.DataFrame(rows, columns=["task", "language", "preference"]), resamples=60)


@CASES
def anchor_trusted() -> Any:
    return pj.anchor(weighted(simulated(40, 3, 4, seed=22)), trusted="judge2", resamples=60)


@CASES
def anchor_raters() -> Any:
    panel = simulated(60, 3, 3, seed=59)
    labels = human_scores(panel, labels=40, annotators=3)
    odd = labels["annotator"].str.endswith("-2") & (labels["language"] == "language1")
    labels.loc[odd, "score"] += 25.0
    linked = labels["annotator"].replace({"language2-0": "both", "language3-0": "both"})
    again = labels.head(30).assign(score=labels["score"] + 2.0)
    return pj.anchor(panel, pd.concat([labels.assign(annotator=linked), again]), resamples=60, contradictions="mean")


@CASES
def anchor_few_levels() -> Any:
    panel = binary(3, 3, tasks=60)
    labels = human_scores(panel, labels=40, annotators=1)
    return pj.anchor(panel, labels.assign(score=(labels["score"] > -5.5) * 1.0), resamples=60, sample=30)


@CASES
def anchor_one_language() -> Any:
    whole = simulated(50, 2, 3, seed=60)
    panel = whole.select(languages=whole.languages[:1])
    return pj.anchor(panel, human_scores(panel, labels=12), resamples=60)


@CASES
def anchor_few_labels() -> Any:
    """From ten labels on intervals of a cell come from resamples."""
    panel = simulated(14, 2, 2, seed=61)
    labels = [align_gold(panel, human_scores(panel, labels=count, annotators=1)) for count in (9, 10)]
    found = [whom_it_helps(panel, gold, resamples=60) for gold in labels]
    return [helped.cells.assign(few=len(helped.notes)) for helped in found]


@CASES
def anchor_who_prefers() -> Any:
    """One who is surely milder, but by less than 5% of the scale, is not odd."""
    panel = pj.Panel.from_array(np.random.default_rng(62).normal(0, 1, (200, 2, 2)))
    rows = [
        (panel.tasks[t], panel.languages[x], f"{x}-{a}", -1 if t % 3 or (t < 27 and x < a) else 1)
        for t, x, a in np.ndindex(200, 2, 2)
    ]
    labels = pd.DataFrame(rows, columns=["task", "language", "annotator", "preference"])
    found = annotators(panel, align_gold(panel, labels, contradictions="mean"), resamples=60)
    assert found is not None
    return found.table


def test_items_with_one_label_have_its_noise_whole() -> None:
    grid = np.random.default_rng(1).normal(0, 2, (20, 2, 2))
    grid[:8, :, 1] = np.nan
    variance = np.nanmean(grid, axis=2).var(axis=0, ddof=1).mean()
    assert _reliability(grid, 0.5) == pytest.approx(1 - 0.5 * (8 + 12 / 2) / 20 / variance)


@CASES
def anchor_severe() -> Any:
    """Annotators who differ by some, much and most of what languages do; and labels that are too few."""
    panel = simulated(40, 3, 2, seed=63)
    labels = human_scores(panel, labels=20, annotators=3)
    turn = labels["annotator"].str[-1].astype(int) - 1
    severe = [labels.assign(score=labels["score"] + by * turn) for by in (0.5, 4.0, 8.0)]
    few = simulated(60, 3, 3, interaction=9.0, noise_sd=3, seed=64)
    found = [pj.anchor(panel, each, resamples=60) for each in severe]
    return Said((*found, pj.anchor(few, human_scores(few, labels=6, annotators=1), resamples=60)))


@CASES
def anchor_sentences() -> Any:
    ends = {"low": 0.3, "high": 0.7}
    odd = [("annotator1", "noisy", 0.0), ("annotator2", "harsh", -4.0), ("a3", "mild", 5.0), ("a4", "mild", 6.0)]
    told = {"most": True, "linked": False, "share": 0.5, "spread": 4.0, "spread_low": 3.0, "spread_high": 5.0, **ends}
    fall = {"free": 0.1, "free_low": 0.05, "free_high": 0.2, "removed": 0.5, "before": 8.0, "after": 4.0, **ends}
    best = {"best": "judge1", "sure": 0.9, "other": []}
    board = {"first": "system1", "tied": [], "same": True, "panel": "system2"}
    other = [(f"language{i}", f"judge{i}") for i in range(5)]
    off, none = ("language1", 4.0), (None, 0.0)
    more = {"cells": 4, "few": 10, "most": 30}
    return [
        *(say("raters.verdict", verdict=x, alpha=0.5, **ends) for x in ("alone", "well", "enough", "poor")),
        *(say("raters.odd", who=odd[:count]) for count in (1, 2, 3, 4)),
        *(
            say("raters.explained", **told | {x: y})
            for x, y in (("share", 0.5), ("share", 0.4), ("most", False), ("linked", True))
        ),
        *(say("humans.error", above=a, below=b, every=None) for a in (off, none) for b in (off, none)),
        *(say("humans.error", above=off, below=none, every=(s, by * s, "fr")) for s in (4, -4) for by in (1, 2)),
        say("humans.link"),
        *(say("humans.fall", **fall | {"free": free, "low": low}) for free in (None, 0.1) for low in (0.0, 0.3)),
        *(say("humans.judges", **best | {x: y}) for x, y in (("best", None), ("sure", 0.9), ("sure", 0.8))),
        *(say("humans.judges", **best | {"other": other[:count]}) for count in (1, 3, 4)),
        *(say("humans.board", **board | {x: y}) for x, y in (("same", False), ("same", True))),
        *(say("humans.board", **board | {"tied": other[0][:count]}) for count in (1, 2)),
        *(say("anchor.read", labels=40, judge=judge, languages=n) for judge in (None, "judge1") for n in (1, 2)),
        *(say("anchor.helped", helped=n, hurt=2, unclear=3, level=0.95) for n in (1, 4)),
        *(say("anchor.invariance", holds=x, changed=0, entries=90, most=1e-15) for x in (True, False)),
        *(say("anchor.more-labels", **more | {"most": most}) for most in (10, 30)),
        *(say("anchor.probes", agrees=5, places=x, open=y) for x in ([], other[:1]) for y in (0, 2)),
        *(say(f"anchor.chart{x}", agreement=y) for x in ("", "-text") for y in (True, False)),
        say("raters.linked", annotators=2, languages=3, of=4, language="language1", by=1.5, low=1.0, high=2.0),
        say("anchor.hurt", judge="judge1", language="language2", loss=3.0, low=2.0, high=4.0),
        *(say("humans.open", open=x, languages=3, more=40, matters=2.5) for x in (1, 2)),
        *(say("humans.raters-limit", open=x, languages=3) for x in (1, 2)),
    ]


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
