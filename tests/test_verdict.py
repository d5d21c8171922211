"""The three sentences at the top of a report."""

from __future__ import annotations

import dataclasses
import math

import polyjudge as pj
from polyjudge.report.verdict import verdict


def test_a_panel_that_reverses() -> None:
    audit = pj.audit(pj.sample_panel(), replicates=200)
    change, sure, gain = verdict(audit)
    assert change.startswith("Language changes the ranking of the judges: 11 of 15 pairs")
    assert "Aster and Dahlia between English and Spanish" in sure
    row = audit.held_out.table.set_index("method").loc["cbc"]
    assert f"{row['gain']:.3g} points squared [{row['gain_low']:.3g}, {row['gain_high']:.3g}]" in gain
    assert "not known without human labels" in gain


def test_a_panel_without_interaction() -> None:
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, interaction=0.0, seed=5)
    change, sure, gain = verdict(pj.audit(panel, replicates=200))
    assert change.startswith("No sure sign")
    assert "with probability" in sure
    assert gain.startswith("Calibrating is not advised")


def test_cells_without_reversals_and_a_missing_gain() -> None:
    audit = pj.audit(pj.sample_panel(), replicates=100)
    calm = dataclasses.replace(audit.reversals, count_selected=0, pairs=audit.reversals.pairs.assign(reverses=False))
    table = audit.held_out.table.assign(gain=math.nan)
    audit = dataclasses.replace(audit, reversals=calm, held_out=dataclasses.replace(audit.held_out, table=table))
    change, sure, gain = verdict(audit)
    assert change.startswith("The judges react differently to the languages")
    assert "none of them is sure by itself" in sure
    assert "was not measured here" in gain
