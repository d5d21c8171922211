"""The values of panels beside labels: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from values import Cases, binary, human_scores, probes, simulated, weighted

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


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
