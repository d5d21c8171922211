"""The three sentences at the top of a report, and pages of panels that are odd."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.report.verdict import verdict


def test_a_panel_that_reverses() -> None:
    audit = pj.audit(pj.sample_panel(), resamples=200)
    change, sure, gain = verdict(audit)
    assert change.startswith("Language changes the ranking of the judges: 11 of 15 pairs")
    assert "Aster and Dahlia between English and Spanish" in sure
    row = audit.held_out.table.set_index("method").loc["cbc"]
    assert f"{row['gain']:.3g} points squared [{row['gain_low']:.3g}, {row['gain_high']:.3g}]" in gain
    assert "not known without human labels" in gain


def test_a_panel_without_interaction() -> None:
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, interaction=0.0, seed=5)
    change, sure, gain = verdict(pj.audit(panel, resamples=200))
    assert change.startswith("No sure sign")
    assert "with probability" in sure
    assert gain.startswith("Calibrating is not advised")


def test_cells_without_reversals_and_a_missing_gain() -> None:
    audit = pj.audit(pj.sample_panel(), resamples=100)
    calm = dataclasses.replace(audit.reversals, count_selected=0, pairs=audit.reversals.pairs.assign(reverses=False))
    table = audit.held_out.table.assign(gain=math.nan)
    audit = dataclasses.replace(audit, reversals=calm, held_out=dataclasses.replace(audit.held_out, table=table))
    change, sure, gain = verdict(audit)
    assert change.startswith("The judges react differently to the languages")
    assert "none of them is sure by itself" in sure
    assert "was not measured here" in gain


RNG = np.random.default_rng(0)
ODD = {
    "constant": np.full((6, 3, 3), 5.0),
    "ties": RNG.integers(0, 2, (12, 3, 4)).astype(float),
    "two of all": RNG.normal(size=(2, 2, 2)),
    "a constant judge": np.concatenate([RNG.normal(size=(15, 3, 2)), np.zeros((15, 3, 1))], axis=2),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_panels_have_a_page(name: str) -> None:
    html = pj.audit(pj.Panel.from_array(ODD[name]), resamples=100).to_html()
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None)\b", text)


@pytest.mark.parametrize("scale", [1e-6, 0.01, 1.0, 1e9])
def test_numbers_keep_their_digits_on_any_scale(scale: float) -> None:
    panel = pj.Panel.from_array(pj.simulate_panel(tasks=20, languages=3, judges=3, seed=2)[0].scores * scale)
    audit = pj.audit(panel, resamples=100)
    html = audit.to_html()
    cells = audit.uncertainty.cells
    table = html.split('id="heatmap-table"')[1].split("</table>")[0]
    shown = [float(x) for x in re.findall(r'data-v="[^"]*"><bdi>([^<]*)</bdi> <small>', table)]
    expected = cells["interaction"].iloc[cells["interaction"].abs().argsort()[::-1]]
    assert shown == pytest.approx(expected.tolist(), abs=1e-3 * cells["interaction"].abs().max())
