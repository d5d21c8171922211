"""Money and completeness: the limit is kept, every attempt counts, complete means the current plan."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan, read_summary
from polyjudge.second.collect.cost import Prices, characters, family, load_prices, tokens
from polyjudge.second.collect.languages import SHIPPED
from polyjudge.second.collect.plan import Price
from polyjudge.second.collect.preview import preview


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / "store.sqlite")
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def test_cached_and_batch_prices() -> None:
    prices = Prices("2026", {"j": Price(input=2, output=10, cached=0.5), "k": Price(input=2, output=10, batch=0.25)})
    assert prices.cost("j", 1e6, 1e6) == 12
    assert prices.cost("j", 1e6, 0, cached=4e5) == pytest.approx(0.6 * 2 + 0.4 * 0.5)
    assert prices.cost("j", 1e6, 1e6, batch=True) == 6
    assert prices.cost("k", 1e6, 1e6, cached=1e6, batch=True) == 3
    assert prices.cost("nobody", 1, 1) is None


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_limit_is_never_passed(tmp_path: Path, concurrency: int) -> None:
    planted = js.plant("rating", 30, ["en", "ar"], ["ja", "jb"])
    faults = {"prose": 0.1, "malformed": 0.05, "nousage": 0.2}
    with js.running({**planted, "faults": faults, "delay": 0.01}) as server:
        settings = {"concurrency": concurrency, "settings": {"max_tokens": 30}, "price": {"input": 1, "output": 2}}
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults=settings)
        whole = 30 * 2 * 2 * (200 + 2 * 20) / 1e6
        for share in (0.2, 0.5, 0.8):  # sittings that share one limit
            summary = collect(load_plan(path), tmp_path / "run", max_cost=share * whole)
            assert summary.stopped == "cost"
            assert summary.cost is not None
            assert share * whole * 0.6 < summary.cost <= share * whole
    kinds = dict(rows(tmp_path / "run", "select kind, sum(cost > 0) * 1.0 / count(*) from errors group by kind"))
    assert kinds == {"unreadable": 1.0, "unreadable reply": 1.0}  # both were paid for
    estimated = rows(tmp_path / "run", "select count(*) from answers where estimated")[0][0]
    assert estimated > 0
    assert read_summary(tmp_path / "run").judges["estimated"].sum() >= estimated


def test_a_reply_without_usage_is_charged(tmp_path: Path) -> None:
    planted = js.plant("rating", 4, ["en", "ar"], ["ja"])
    with js.running({**planted, "faults": {"nousage": 1.0}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        summary = collect(load_plan(path), tmp_path / "run")
    assert summary.judges["estimated"].tolist() == [8]
    spent = rows(tmp_path / "run", "select min(input_tokens), min(output_tokens), min(cost) from answers")[0]
    assert min(spent) > 0


def test_under_a_limit_a_judge_makes_one_round_of_calls_that_nobody_tells_the_price_of(tmp_path: Path) -> None:
    """What a service hides may be any number: the limit then holds only where max_tokens bounds it."""
    planted = js.plant("rating", 30, ["en", "ar"], ["ja"])
    with js.running({**planted, "faults": {"nousage": 1.0}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 5})
        for _ in range(2):  # nor in a second sitting
            blind = collect(load_plan(path), tmp_path / "blind", max_cost=1.0)
            assert "max_tokens" in blind.aside["ja"]
            assert server.stats()["total"] <= 6
        server.reset()
        raw = json.loads(path.read_text())
        raw["defaults"]["settings"] = {"max_tokens": 50}
        path.write_text(json.dumps(raw))
        bounded = collect(load_plan(path), tmp_path / "bounded", max_cost=1.0)
        assert bounded.complete
        assert (bounded.cost or 0) >= 60 * 50 * 2e-6  # each at max_tokens
        raw["defaults"] |= {"settings": {}, "price": {"input": 0, "output": 0}}
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), tmp_path / "free", max_cost=1.0).complete


def test_removed_judges_and_earlier_sittings_count(tmp_path: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        raw = json.loads(path.read_text())
        first = collect(load_plan(path), tmp_path / "run").cost
        assert first is not None
        path.write_text(json.dumps({**raw, "judges": [raw["judges"][0], {**raw["judges"][1], "name": "jc"}]}))
        summary = collect(load_plan(path), tmp_path / "run", max_cost=first)
        assert summary.stopped == "cost"  # nothing is left for the new judge
        assert summary.cost == pytest.approx(first)
        assert summary.cost_of_removed == pytest.approx(first / 2)
        assert summary.orphans.to_dict("records") == [
            {"judge": "jb", "language": "ar", "no_longer": "judge", "answers": 6},
            {"judge": "jb", "language": "en", "no_longer": "judge", "answers": 6},
        ]
        raw["defaults"]["price"] = {"input": 100, "output": 100}  # what was paid stays paid at the old price
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), tmp_path / "run").cost == pytest.approx(first)


def test_complete_means_every_call_of_the_current_plan(tmp_path: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar", "tr"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        raw = json.loads(path.read_text())

        def run(**change: Any) -> Any:
            path.write_text(json.dumps({**raw, **change}))
            return collect(load_plan(path), tmp_path / "run")

        assert run(languages=["en", "ar"]).complete
        one = run(languages=["en", "tr"], items={**raw["items"], "limit": 4})
        assert one.complete
        assert one.judges["answered"].tolist() == [8, 8]
        assert set(one.orphans["no_longer"]) == {"language", "item"}
        assert one.orphans["answers"].sum() == 12 + 4  # 6 Arabic answers of each judge, 2 items more of each in English
        asked = server.stats()["total"]
        # A judge that is far behind does not look complete because old answers make up the number.
        server.set(dead={"jb": 500})
        raw["defaults"]["retries"] = 0
        behind = run(languages=["tr", "ar"])
        assert not behind.complete
        assert behind.judges["remaining"].tolist() == [0, 2]
        assert server.stats()["total"] == asked + 2 + 2
        panel = pj.read_panel(tmp_path / "run")
        assert sorted(panel.languages) == ["ar", "tr"]


def test_more_repeats_reuse_what_was_bought(tmp_path: Path) -> None:
    planted = js.plant("rating", 5, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        raw = json.loads(path.read_text())
        collect(load_plan(path), tmp_path / "run")
        path.write_text(json.dumps({**raw, "repeats": 3}))
        assert collect(load_plan(path), tmp_path / "run").complete
        assert server.stats()["total"] == 20 + 40
        assert pj.read_panel(tmp_path / "run").replicates == ("1", "2", "3")
        path.write_text(json.dumps({**raw, "repeats": 2}))
        fewer = collect(load_plan(path), tmp_path / "run")
        assert fewer.complete
        assert fewer.orphans["no_longer"].unique().tolist() == ["repeat"]
        assert fewer.orphans["answers"].sum() == 20
        assert server.stats()["total"] == 60


def test_a_server_on_another_port_resumes(tmp_path: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja"])
    with js.running(planted) as first, js.running(planted) as second:
        path = js.write_plan(tmp_path, first.url, "rating", planted)
        raw = json.loads(path.read_text())
        path.write_text(json.dumps({**raw, "items": {**raw["items"], "limit": 3}}))
        collect(load_plan(path), tmp_path / "run")
        assert second.url != first.url
        raw["defaults"]["base_url"] = second.url
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), tmp_path / "run").complete
        assert second.stats()["total"] == 6


def test_output_tokens_are_set_or_learnt(tmp_path: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"output_tokens": 50})
        assert preview(load_plan(path)).estimate["output_tokens"].tolist() == [12 * 50]
        collect(load_plan(path), tmp_path / "run")
        after = preview(load_plan(path), tmp_path / "run")
    assert after.estimate[["output_tokens", "learnt"]].values.tolist() == [[12 * 20, True]]
    assert after.answered == 12


def test_token_estimates_are_within_a_third_in_every_language() -> None:
    # Texts the rates were not made from, counted by the real tokenizers.
    models = {
        "o200k": "gpt-4o",
        "cl100k": "gpt-4-turbo",
        "qwen": "qwen3",
        "tekken": "mistral-large",
        "deepseek": "deepseek-v3",
        "llama3": "ollama/llama3.3",
        "gemma": "google/gemma-3-27b-it",
        "command-r": "command-r-plus",
    }
    lines = (Path(__file__).parent / "tokens.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == len(SHIPPED)
    for row in map(json.loads, lines):
        for name, model in models.items():
            assert tokens(characters(row["text"], row["language"]), model)[0] == pytest.approx(
                row["tokens"][name], rel=1 / 3
            )
        _, low, high = tokens(characters(row["text"], row["language"]), "google/gemini-2.5-pro")
        assert low * 0.9 <= min(row["tokens"].values())
        assert max(row["tokens"].values()) <= high


def test_token_estimates_know_their_range() -> None:
    assert family("openai/gpt-4o-mini") == "o200k"
    assert family("openrouter/qwen/qwen3-32b") == "qwen"
    assert family("google/gemini-2.5-pro") is None
    hindi = characters("सही और स्पष्ट, बस एक छोटी कमी है।", "hi")
    middle, low, high = tokens(hindi, "openai/gpt-4o")
    assert (low, high) == (middle * 3 / 4, middle * 4 / 3)
    unknown = tokens(hindi, "google/gemini-2.5-pro")
    assert unknown[1] <= middle < unknown[2]
    assert unknown[2] > 3 * unknown[1]  # tokenizers differ that much in Hindi
    assert all(sum(characters("abc def", code).values()) == 7 for code in SHIPPED)


def test_the_shipped_prices_know_what_people_use(tmp_path: Path) -> None:
    planted = js.plant("rating", 1, ["en", "ar"], ["ja"])
    path = js.write_plan(tmp_path, "https://judges.example/v1", "rating", planted)
    raw = json.loads(path.read_text())
    del raw["defaults"]["price"]
    known = {
        "openai/gpt-4o": (2.5, 10.0, 1.25),
        "openrouter/openai/gpt-4o-mini": (0.15, 0.6, 0.075),
        "openrouter/anthropic/claude-sonnet-4.5": (3.0, 15.0, 0.3),
        "inspect/google/gemini-2.5-pro": (1.25, 10.0, 0.125),
        "ollama/llama3:8b": (0.0, 0.0, None),
        "openai-api/here/own": (0.0, 0.0, None),
    }
    raw["judges"] = [{"model": model, "name": model} for model in (*known, "openai-api/there/own", "python:a.b:c")]
    raw["defaults"] |= {"base_url": None}
    raw["judges"][5] |= {"base_url": "http://localhost:8000/v1"}
    path.write_text(json.dumps(raw))
    prices = load_prices(load_plan(path))
    found = {name: None if p is None else (p.input, p.output, p.cached) for name, p in prices.by_judge.items()}
    assert found == {**known, "openai-api/there/own": None, "python:a.b:c": None}
    assert prices.by_judge["openrouter/anthropic/claude-sonnet-4.5"].write == 3.75
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", prices.date)


def test_every_class_of_tokens_has_its_price() -> None:
    prices = Prices("", {"j": Price(input=1, output=10, cached=0.1, write=2, reasoning=20)})
    assert prices.cost("j", 1e6, 1e6, cached=4e5, written=1e5, reasoning=5e5) == pytest.approx(
        0.5 + 0.04 + 0.2 + 5 + 10
    )
    plain = Prices("", {"j": Price(input=1, output=10)})
    assert plain.cost("j", 1e6, 1e6, cached=4e5, written=1e5, reasoning=5e5) == pytest.approx(0.9 + 0.125 + 10)
