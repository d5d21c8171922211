"""A plan that varies the wording of its rubric: the wordings stand in place of languages, and are called so."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan, parse_plan
from polyjudge.second.collect.runs import export_run
from polyjudge.second.panel.errors import CollectError
from refusals import refused

JUDGE = '''
def steady(prompt: str, item: dict) -> float:
    return 1 + int(item["task"][1:]) % 5

def touchy(prompt: str, item: dict) -> float:
    """Ten words more in the rubric make it harsher."""
    return max(1, steady(prompt, item) - 2) if "without mercy" in prompt else steady(prompt, item)
'''
WORDINGS = {"plain": "The answer is right.", "strict": "The answer is right. Judge without mercy."}


def plan(folder: Path, items: list[dict[str, Any]], path: str = "items.jsonl", **more: Any) -> dict[str, Any]:
    (folder / path.replace("{language}", "en")).write_text("\n".join(map(json.dumps, items)))
    (folder / "wording_judges.py").write_text(JUDGE)
    return {
        "languages": ["en"], "items": {"path": path}, "rubric": {"kind": "rating"}, "wordings": WORDINGS,
        "judges": [{"model": "python:wording_judges:steady"}, {"model": "python:wording_judges:touchy"}], **more,
    }  # fmt: skip


@pytest.fixture
def items() -> list[dict[str, Any]]:
    return [{"id": f"t{i}", "language": "en", "prompt": f"Do {i}.", "response": f"Done {i}."} for i in range(30)]


def test_the_conclusion_is_held_against_another_wording(
    tmp_path: Path, items: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "wording_judges", raising=False)
    (tmp_path / "plan.json").write_text(json.dumps(plan(tmp_path, items)))
    assert collect(load_plan(tmp_path / "plan.json"), tmp_path / "run").complete
    panel = pj.read_panel(tmp_path / "run")
    assert (panel.shape, panel.languages, panel.condition) == ((30, 2, 2), ("plain", "strict"), "wording")
    means = panel.cell_means
    assert means[0].tolist() == [3.0, 3.0]
    assert means[1, 0] == 3.0 > means[1, 1] + 1
    # One command says it, and says it of wordings.
    out = js.command("audit", tmp_path / "run")
    assert out.returncode == 0, out.stderr
    assert "2 wordings" in out.stdout
    assert "anguage" not in out.stdout
    # A table that was exported names the column.
    export_run(tmp_path / "run", tmp_path / "scores.csv")
    assert "wording" in pd.read_csv(tmp_path / "scores.csv")
    again = pj.read_panel(tmp_path / "scores.csv", by="wording")
    assert (again.condition, again.languages) == ("wording", panel.languages)
    assert again.scores.tolist() == panel.scores.tolist()


@pytest.mark.parametrize("path", ["items.jsonl", "items.{language}.jsonl", "shared.jsonl"])
def test_every_wording_judges_the_same_items(tmp_path: Path, items: list[dict[str, Any]], path: str) -> None:
    if path == "shared.jsonl":
        items = [{k: v for k, v in item.items() if k != "language"} for item in items]
        raw = plan(tmp_path, items, path)
        raw["items"]["shared"] = True
    else:
        raw = plan(tmp_path, [*items, *([] if "{" in path else [{**items[0], "language": "de"}])], path)
    parsed = parse_plan(raw, tmp_path)
    assert [(x.name, x.template, x.items) for x in parsed.languages] == [
        ("plain", "en", "en"), ("strict", "en", "en"),
    ]  # fmt: skip
    assert parse_plan({k: v for k, v in parsed.to_dict().items() if k != "folder"}, tmp_path).wordings == WORDINGS
    from polyjudge.second.collect.items import load_items
    from polyjudge.second.collect.prompts import load_templates

    found = load_items(parsed)
    assert len(found) == 30
    assert found.item(3).fields["plain"] == found.item(3).fields["strict"]
    templates = load_templates(parsed)
    assert "without mercy" in templates["strict"].constants["criteria"]
    assert "without mercy" not in templates["plain"].constants["criteria"]


def test_what_does_not_fit_is_refused(tmp_path: Path, items: list[dict[str, Any]]) -> None:
    raw = plan(tmp_path, items)
    for change, *words in (
        ({"languages": ["en", "de"]}, "one language"),
        ({"wordings": {"plain": "Right."}}, "at least two"),
        ({"rubric": {"kind": "rating", "criteria": "Right."}}, "rubric.criteria"),
        ({"rubric": {"kind": "checklist"}}, "wordings"),
        ({"probes": True}, "plan of their own"),
    ):
        with refused(CollectError, *words):
            parse_plan({**raw, **change}, tmp_path)
