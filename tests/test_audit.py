"""The audit as a whole: sections, findings, JSON, and the command."""

from __future__ import annotations

import json

import polyjudge as pj


def test_audit_holds_its_sections_and_is_plain_json() -> None:
    panel, _ = pj.simulate_panel(seed=1)
    audit = pj.audit(panel)
    data = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert {"findings", "summary", "calibrator", "uncertainty", "reversals", "ranks", "caveats"} <= set(data)
    weights = [f.weight for f in audit.findings]
    assert weights == sorted(weights, reverse=True)


def test_audit_is_deterministic() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4, seed=3)
    assert pj.audit(panel, seed=5).to_dict() == pj.audit(panel, seed=5).to_dict()
