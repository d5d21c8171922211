"""The three sentences at the top of a report, and pages of panels that are odd."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.core.sections import Say
from polyjudge.report.build.audit import verdict


def test_a_panel_that_reverses() -> None:
    audit = pj.audit(pj.sample_panel(), resamples=200)
    change, sure, gain = verdict(audit)
    assert isinstance(change, Say)
    assert isinstance(sure, Say)
    assert isinstance(gain, Say)
    assert (change.code, change.values["count"], change.values["pairs"]) == ("audit.verdict.reversal", 11, 15)
    assert [sure.values[n] for n in ("judge_i", "judge_j", "above", "below")] == [
        "Aster",
        "Dahlia",
        "English",
        "Spanish",
    ]
    row = audit.held_out.table.set_index("method").loc["cbc"]
    assert gain.code == "gain.advised"
    assert [gain.values[n] for n in ("gain", "low", "high")] == [row["gain"], row["gain_low"], row["gain_high"]]


def test_a_panel_without_interaction() -> None:
    panel, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, interaction=0.0, seed=5)
    change, sure, gain = verdict(pj.audit(panel, resamples=200))
    assert isinstance(gain, Say)
    assert [getattr(s, "code", "") for s in (change, sure)] == ["audit.verdict.none", "audit.verdict.chance"]
    assert gain.code in ("gain.open", "gain.loss")


def test_cells_without_reversals_and_a_missing_gain() -> None:
    audit = pj.audit(pj.sample_panel(), resamples=100)
    calm = dataclasses.replace(audit.reversals, count_selected=0, pairs=audit.reversals.pairs.assign(reverses=False))
    audit = dataclasses.replace(
        audit,
        reversals=calm,
        held_out=dataclasses.replace(audit.held_out, advice=None),
        findings=[f for f in audit.findings if f.code != "reversal"],
    )
    found = [getattr(s, "code", "") for s in verdict(audit)]
    assert found == ["audit.verdict.cells", "audit.verdict.chance", "audit.verdict.gain-unknown"]


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
    table = html.split('id="interaction-table-1"')[1].split("</table>")[0]
    shown = [float(x) for x in re.findall(r'data-v="[^"]*"><bdi>([^<]*)</bdi> <small>', table)]
    expected = cells["interaction"].iloc[cells["interaction"].abs().argsort()[::-1]]
    assert shown == pytest.approx(expected.tolist(), abs=1e-3 * cells["interaction"].abs().max())
