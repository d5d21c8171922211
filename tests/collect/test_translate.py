"""Items that a model translates: each text once, checked, with its source beside it."""

# ruff: noqa: E501
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from collect_plans import write_plan
from judge_server import Running, truth

from polyjudge.base.errors import CollectError, UsageError
from polyjudge.collect.journal import Answer
from polyjudge.collect.run import collect
from polyjudge.collect.translate import check_translation


def plan_with(folder: Path, server: Running, step: dict[str, Any] | None = None, **more: Any) -> Path:
    """Items in English alone, and a model that translates them into German and Thai."""
    plan = write_plan(folder, server.url, languages=["en"], judges=["ja"], **more)
    raw = json.loads(plan.read_text())
    model = {"model": "openai-api/local/translator", "base_url": server.url}
    raw["languages"] = ["en", "de", "th"]
    raw["items"]["translate"] = {"from": "en", "to": ["de", "th"], **model, **(step or {})}
    plan.write_text(json.dumps(raw))
    return plan


@pytest.mark.parametrize("kind", ["rating", "pair", "checklist"])
def test_items_are_translated_once_and_judged_in_every_language(tmp_path: Path, server: Running, kind: str) -> None:
    plan = plan_with(tmp_path, server, kind=kind, tasks=3)
    found = collect(plan, output=tmp_path / "run")
    assert not found.incomplete
    texts = {"rating": 2, "pair": 3, "checklist": 5}[kind]
    assert server.stats()["models"]["translator"] == 3 * 2 * texts
    frame = pd.read_csv(tmp_path / "run" / "translations.csv")
    assert (
        frame["translation"] == "(" + frame["language"].map({"de": "German", "th": "Thai"}) + ") " + frame["source"]
    ).all()
    assert frame["missing"].isna().all()
    scores = pd.read_csv(tmp_path / "run" / "scores.csv")
    assert set(scores["language"]) == {"en", "de", "th"}
    if kind == "rating":
        assert list(scores["score"]) == [truth("ja", r.task, "en", "all") for r in scores.itertuples()]
    before = sum(server.stats()["models"].values())
    assert not collect(plan, output=tmp_path / "run").incomplete
    assert sum(server.stats()["models"].values()) == before


def test_what_is_lost_is_asked_again_then_left_out_and_named(tmp_path: Path, server: Running) -> None:
    server.post("config", always=[["German.*t0001", "prose"]])
    found = collect(plan_with(tmp_path, server, tasks=3), output=tmp_path / "run")
    said = " ".join(f.text for f in found.findings)
    assert "translated 10 of 12 texts" in said
    assert "2 translations lost something of the source, asked twice: t0001 in de: " in said
    assert "1 item left out, not whole in all languages: t0001 (not in de)" in said
    assert server.stats()["models"]["translator"] == 12 + 2
    assert set(pd.read_csv(tmp_path / "run" / "scores.csv")["task"]) == {"t0000", "t0002"}
    frame = pd.read_csv(tmp_path / "run" / "translations.csv")
    assert frame["missing"].notna().sum() == 2


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("Take 2 of 3.", "Nimm 2 von 3.", ""), ("Take 2 of 3.", "Nimm zwei von 3.", "the number 2"),
        ("1,000.5 km", "1.000,5 km", ""), ("In 2020 and 2020", "In 2020", "the number 2020"), ("४ items", "4 Dinge", ""),
        ("Use `x = 1`.", "Benutze `x = 1`.", ""), ("Use `x = 1`.", "Benutze `x = 2`.", "`x = 1`"),
        ("```py\nprint(1)\n```", "```py\ndrucke(1)\n```", "```py\\nprint(1)\\n```"), ("Dear {name}", "Liebe {Name}", "{name}"),
        ("See https://a.org/b", "Siehe https://a.org/b", ""), ("<b>x</b> %s", "<b>y</b> %d", "%s"), ("x", "", "all of it"),
        ("x", "<think>hm</think> y", ""),
    ],
)  # fmt: skip
def test_numbers_code_and_placeholders_survive(source: str, translation: str, lost: str) -> None:
    assert check_translation(source, Answer(translation, "stop")) == lost
    assert check_translation(source, Answer("1 x", "max_tokens")) != ""


def test_a_limit_covers_translations(tmp_path: Path, server: Running) -> None:
    price = {"price": {"input": 1.0, "output": 10.0}}
    plan = plan_with(tmp_path, server, judge=price, tasks=3)
    with pytest.raises(UsageError, match=r"price and settings.max_tokens of items.translate"):
        collect(plan, output=tmp_path / "run", max_cost=1)
    plan = plan_with(tmp_path, server, step=price, judge=price, tasks=3)
    with pytest.raises(CollectError, match="The translation alone may cost"):
        collect(plan, output=tmp_path / "run", max_cost=0.001)
    assert server.stats()["models"] == {}
    assert not collect(plan, output=tmp_path / "run", max_cost=1).incomplete


def test_a_dry_run_translates_nothing(tmp_path: Path, server: Running) -> None:
    found = collect(plan_with(tmp_path, server, tasks=3), dry_run=True)
    assert found.calls == 9
    assert server.stats()["models"] == {}


@pytest.mark.parametrize(
    ("step", "words"),
    [({"to": ["fr"]}, "fr is no language of the plan"), ({"to": ["en"]}, "not the one that is translated"), ({"model": "x"}, "provider/model")],
)  # fmt: skip
def test_bad_steps_are_refused(tmp_path: Path, server: Running, step: dict[str, Any], words: str) -> None:
    with pytest.raises(CollectError, match=words):
        collect(plan_with(tmp_path, server, step=step, tasks=1), dry_run=True)
