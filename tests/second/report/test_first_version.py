"""A report of the first version opens, and what it holds is still there: a field that goes raises the version."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit.audit import Audit
from polyjudge.second.report.schema import SCHEMA, envelope, to_json
from refusals import lacks, refused

FIRST = Path(__file__).resolve().parents[1] / "first_version" / "audit.json"


def fields(value: Any, at: str = "") -> set[str]:
    """Paths of all fields; the rows of a list are taken together."""
    if isinstance(value, dict):
        return {at}.union(*(fields(v, f"{at}/{k}") for k, v in value.items()))
    return {at}.union(*(fields(v, f"{at}/*") for v in value)) if isinstance(value, list) else {at}


@pytest.fixture(scope="module")
def audit() -> Audit:
    return pj.audit(pj.simulate_panel(tasks=12, languages=2, judges=3, seed=1)[0], resamples=100)


def test_a_report_of_the_first_version_opens(audit: Audit) -> None:
    first = pj.read_report(FIRST)
    assert first["schema"] == 1
    assert first["command"] == "audit"
    assert first["summary"]["judges"] == list(audit.summary.judges)
    if SCHEMA == 1:
        now = fields(json.loads(to_json(envelope("audit", audit.to_dict()))))
        kept = {f for f in fields(first) if not f.startswith("/findings/*/values")}
        assert kept <= now, sorted(kept - now)


def test_a_page_opens_as_its_json(audit: Audit, tmp_path: Path) -> None:
    audit.to_html(tmp_path / "report.html")
    (tmp_path / "audit.json").write_text(to_json(envelope("audit", audit.to_dict())), encoding="utf-8")
    assert pj.read_report(tmp_path / "report.html") == pj.read_report(tmp_path / "audit.json")


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", "null", '{"command": "audit"}', '{"command": "audit", "schema": true}', "[" * 100_000, "\0",
     "<html>", '{"command": 1, "schema": 1}', f'{{"command": "audit", "schema": {SCHEMA + 1}}}',
     f'{{"schema": {"9" * 5000}}}'],
)  # fmt: skip
def test_what_is_no_report_of_this_version_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with refused(UsageError if content else pj.PanelError, "x.json"):
        pj.read_report(tmp_path / "x.json")
    with pytest.raises(pj.PolyjudgeError):
        pj.read_report(tmp_path / "absent\0.json")


def test_the_first_version_is_compared_with_the_present_one(
    audit: Audit, tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "audit.json").write_text(to_json(envelope("audit", audit.to_dict())), encoding="utf-8")
    done = cli("drift", FIRST, tmp_path)
    assert done.returncode == 0, done.stderr
    newer = json.loads(FIRST.read_text()) | {"schema": SCHEMA + 1}
    (tmp_path / "audit.json").write_text(json.dumps(newer), encoding="utf-8")
    done = cli("drift", FIRST, tmp_path)
    assert done.returncode == 2
    assert not lacks(done.stderr, "audit.json", SCHEMA + 1, pj.__version__)


@pytest.mark.parametrize("at", ["summary", "uncertainty", "judge_effect", "language_effect", "level"])
@pytest.mark.parametrize("value", [None, [], {}, "x", [1], {"cells": [{"judge": 1}]}])
def test_a_damaged_report_is_bad_input(
    at: str, value: Any, tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(json.loads(FIRST.read_text()) | {at: value}), encoding="utf-8")
    done = cli("drift", FIRST, tmp_path)
    assert done.returncode in (0, 2), done.stderr
