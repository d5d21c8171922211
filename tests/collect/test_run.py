"""A run against a judge on loopback whose scores are known: what is written is the truth, and no gap is silent."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from collect_plans import write_plan
from judge_server import Running, met, truth

from polyjudge.answers.probe import probes_of_run
from polyjudge.base.errors import CollectError, UsageError
from polyjudge.collect.languages import phrases
from polyjudge.collect.run import Collection, collect
from polyjudge.read import read_panel


def run(plan: Path, **more: Any) -> Collection:
    return collect(plan, output=plan.parent / "run", **more)


def scores(plan: Path, name: str = "scores") -> pd.DataFrame:
    return pd.read_csv(plan.parent / "run" / f"{name}.csv", keep_default_na=True, dtype={"task": str})


def keys_of(found: Collection) -> list[str]:
    return [f.key for f in found.findings]


def text_of(found: Collection) -> str:
    return "\n".join(f.text for f in found.findings)


def check_ratings(frame: pd.DataFrame, count: int) -> None:
    wanted = [truth(r.judge, r.task, r.language, "all") for r in frame.itertuples()]
    assert list(frame["score"]) == wanted
    assert len(frame) == count
    assert not frame.duplicated(["task", "language", "judge"]).any()


@pytest.mark.parametrize("tasks", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_every_score_is_the_truth(tmp_path: Path, server: Running, tasks: int) -> None:
    plan = write_plan(tmp_path, server.url, tasks=tasks)
    found = run(plan)
    assert not found.incomplete
    assert keys_of(found) == ["complete"]
    assert server.answered == found.calls == 4 * tasks
    check_ratings(scores(plan), 4 * tasks)
    assert scores(plan)["reason"].iloc[0] == "because of t0000"
    texts = scores(plan, "texts")
    assert list(texts.columns) == ["task", "language", "prompt", "response"]
    assert len(texts) == 2 * tasks
    assert found.judges["output_tokens"].tolist() == [40 * tasks] * 2
    again = run(plan)
    assert not again.incomplete
    assert server.answered == 4 * tasks


def test_pairs_comparisons_and_replicates(tmp_path: Path, server: Running) -> None:
    pair = write_plan(tmp_path / "pair", server.url, "pair", tasks=4, items={"keep": ["subset"]})
    assert not run(pair).incomplete
    for r in scores(pair).itertuples():
        want = [truth(r.judge, r.task, r.language, part) for part in ("chosen", "rejected")]
        assert (r.chosen, r.rejected, r.score, r.subset) == (*want, want[0] - want[1], f"g{r.task[-1]}")
    compare = write_plan(tmp_path / "compare", server.url, "compare", tasks=4)
    compared = run(compare)
    assert not compared.incomplete
    steps = [step.command for step in compared.report().next]
    assert steps == [
        f"polyjudge audit {compare.parent / 'run'}",
        f"polyjudge audit {compare.parent / 'run'}/orders.csv",
    ]
    for r in scores(compare).itertuples():
        a, b = (truth(r.judge, r.task, r.language, part) for part in ("chosen", "rejected"))
        assert r.score == (50 if a == b else 100 if a > b else 0)
    orders = scores(compare, "orders")
    assert len(orders) == 32
    for r in orders.itertuples():
        a, b = (truth(r.judge, r.task, r.language, part) for part in (r.model_a, r.model_b))
        assert r.winner == ("tie" if a == b else "model_a" if a > b else "model_b")
    read = read_panel(compare.parent / "run" / "orders.csv")
    assert (read.systems, len(read.tasks)) == (("chosen", "rejected"), 4)
    twice = write_plan(tmp_path / "twice", server.url, tasks=3, rubric={"criteria": "It is right."}, replicates=2)
    assert not run(twice).incomplete
    assert len(scores(twice)) == 3 * 2 * 2 * 2


def test_checklists_with_prerequisites(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, "checklist", tasks=3, systems=["A", "B"], judges=["ja"])
    found = run(plan)
    assert not found.incomplete
    assert found.calls == 3 * 2 * 2 * 3
    verdicts, frame = scores(plan, "verdicts"), scores(plan)
    assert len(verdicts) == 3 * 2 * 2 * 3
    for r in frame.itertuples():
        got = [met(r.judge, r.task + r.system, r.language, f"R{i}") for i in range(3)]
        chain = [all(got[: i + 1]) for i in range(3)]
        assert r.score == pytest.approx(100 * sum(got) / 3)
        assert r.with_prerequisites == pytest.approx(100 * sum(chain) / 3)
        own = verdicts[
            (verdicts["task"] == r.task) & (verdicts["system"] == r.system) & (verdicts["language"] == r.language)
        ]
        assert own["satisfied"].tolist() == got
        assert own["with_prerequisites"].tolist() == chain
        assert own["prerequisites"].fillna("").tolist() == ["", "R0", "R1"]


def test_wordings_stand_in_place_of_languages(tmp_path: Path, server: Running) -> None:
    plan = write_plan(
        tmp_path, server.url, tasks=3, languages=["en"], wordings={"short": "Be short.", "kind": "Be kind."}
    )
    found = run(plan)
    assert not found.incomplete
    assert found.by == "wording"
    frame = scores(plan)
    assert list(frame.columns[:3]) == ["task", "wording", "judge"]
    assert len(frame) == 12


def test_probes_stand_apart(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=3, judges=["ja"], probes=2)
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    for row in rows:
        row["response"] += (
            " The library opens at nine. Visitors may borrow books. Please return them in time. Late ones cost."
        )
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = run(plan)
    probes = scores(plan, "probes")
    assert len(scores(plan)) == 6
    assert [step.command for step in found.report().next] == [
        f"polyjudge audit {plan.parent / 'run'}",
        f"polyjudge probe {plan.parent / 'run'}",
    ]
    assert probes_of_run(plan.parent / "run", {}) == (plan.parent / "run" / "probes.csv", {"system": "version"})
    assert {"clean", "padding", "plea-own", "plea-english"} <= set(probes["version"])
    assert probes.groupby("version")["language"].nunique().eq(2).all()
    assert found.calls == 6 + len(probes)


def test_a_key_is_written_nowhere(tmp_path: Path, server: Running, capfd: pytest.CaptureFixture[str]) -> None:
    run(write_plan(tmp_path, server.url, tasks=2))
    key = b"local-key-of-the-test"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and key in path.read_bytes()]
    said = capfd.readouterr()
    assert key.decode() not in said.out + said.err


@pytest.mark.parametrize("key", ["pw-1234567", f"sk-own-{'a' * 20}-{'b' * 20}"], ids=["short", "long"])
@pytest.mark.parametrize("answer", ["x" * 190 + " KEY", f'{{"score": 3, "reason": "{"x " * 490}KEY{" y" * 50}"}}'])
def test_a_key_is_hidden_before_a_cut(tmp_path: Path, server: Running, monkeypatch: Any, key: str, answer: str) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", key)
    server.post("config", says=answer.replace("KEY", key))
    said = text_of(run(write_plan(tmp_path, server.url, tasks=8, judges=["ja"])))
    assert key[:6] not in said + "".join(x.read_text() for x in (tmp_path / "run").iterdir() if x.is_file())


# --- faults ---


@pytest.mark.parametrize(
    ("faults", "settings"),
    [
        ({"500": 0.2, "cut": 0.1, "malformed": 0.1}, {}),
        ({"429": 0.1}, {"max_retries": 2}),
        ({"hang": 0.05}, {"attempt_timeout": 6}),
    ],
    ids=["errors", "rate", "hang"],
)
def test_faults_that_pass_leave_no_trace(tmp_path: Path, server: Running, faults: Any, settings: Any) -> None:
    server.post("config", faults=faults)
    plan = write_plan(tmp_path, server.url, tasks=10, settings=settings)
    found = run(plan)
    for _ in range(3):  # a sample may fail four times in a row
        found = run(plan) if found.incomplete else found
    check_ratings(scores(plan), 40)
    assert not found.incomplete
    assert server.answered == 40


@pytest.mark.parametrize(("fault", "why"), [("prose", "no score found"), ("empty", "empty"), ("long", "cut")])
def test_garbage_never_ends_as_success(tmp_path: Path, server: Running, fault: str, why: str) -> None:
    server.post("config", faults={fault: 0.5})
    plan = write_plan(tmp_path, server.url, tasks=10)
    found = run(plan)
    frame = scores(plan)
    lost = frame["score"].isna()
    assert 0 < lost.sum() == found.calls - found.scored
    assert set(frame["missing"][lost]) == {why}
    gaps = next(f for f in found.findings if f.key == "gaps")
    assert gaps.severity == "serious"
    assert f"{lost.sum()} of 40 calls gave no score: {lost.sum()} unreadable. Missing: j" in gaps.text
    kept = frame[~lost]
    assert list(kept["score"]) == [truth(r.judge, r.task, r.language, "all") for r in kept.itertuples()]
    cells = found.cells.set_index(["judge", "language"])
    for (judge, language), part in frame.groupby(["judge", "language"]):
        assert cells.loc[(judge, language), "unreadable"] == part["score"].isna().sum()


def test_a_dead_judge_is_stopped_after_eight_calls_and_asked_again(
    tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.post("config", dead={"jb": 401}, says_in_error="bad key local-key-of-the-test")
    plan = write_plan(tmp_path, server.url, tasks=20)
    found = run(plan)
    assert server.stats()["models"] == {"ja": 40, "jb": 8}
    assert [f.severity for f in found.findings] == ["serious", "serious"]
    assert "jb was stopped after 8 failed calls in a row: AuthenticationError" in text_of(found)
    assert "1 judge of this run has no score: jb (40 missing: failed" in read_panel(tmp_path / "run").notes[0]
    assert "jb in en 20 of 20" in text_of(found)
    ours = [p for p in (tmp_path / "run").iterdir() if p.is_file()]
    assert not [p for p in ours if b"local-key-of" in p.read_bytes()]
    assert "[key]" in text_of(found)
    server.post("config", dead={})
    assert not run(plan).incomplete
    assert server.answered == 80
    check_ratings(scores(plan), 80)


def test_calls_that_always_fail_keep_no_run_from_growing(tmp_path: Path, server: Running) -> None:
    server.post("config", always=[["t00.5", "400"]])
    for tasks in (50, 60):
        found = run(write_plan(tmp_path, server.url, tasks=tasks, judges=["ja"]))
        assert (found.scored, int(found.cells["failed"].sum())) == (1.8 * tasks, 0.2 * tasks)
    assert "ja, most often (12 times): failed: BadRequestError: Error code: 400 - ja has fault 400." in text_of(found)


def test_every_answer_that_is_paid_is_counted(tmp_path: Path, server: Running) -> None:
    again = re.escape(phrases("en")["again"])
    server.post("config", always=[[f"t00.[123].*{again}", "400"], ["t00.[123]", "prose"], ["t00.4", "400"]])
    price = {"input": 1.0, "output": 10.0}
    found = run(write_plan(tmp_path, server.url, tasks=20, languages=["en"], judge={"price": price}), max_cost=0.05)
    assert found.judges["output_tokens"].sum() == 20 * server.answered
    assert found.cells[["unreadable", "failed", "not asked"]].sum().tolist() == [12, 4, 0]
    # what the service refuses is not asked again; once more without a schema, where none was accepted before
    assert 0 <= sum(server.stats()["models"].values()) - server.answered - (12 + 4) <= 2 * 4


def test_reasons_are_kept_and_are_text(tmp_path: Path, server: Running) -> None:
    server.post("config", says=json.dumps({"score": 4, "reason": "\0" + "ค" * 3000}))
    assert not run(plan := write_plan(tmp_path, server.url, tasks=2)).incomplete
    assert set(scores(plan)["reason"]) == {"ค" * 999}
    assert read_panel(tmp_path / "run").complete


def test_a_judge_that_says_nothing_readable_or_is_not_there_is_stopped(tmp_path: Path, server: Running) -> None:
    server.post("config", says="Lovely.")
    plan = write_plan(tmp_path / "a", server.url, tasks=50, judges=["ja"])
    found = run(plan)
    assert "stopped after" in text_of(found)
    assert sum(server.stats()["models"].values()) <= 16
    server.post("config", says=None)
    again = run(plan)
    assert again.scored >= again.calls - 8  # what was unreadable stays so, and is said
    away = write_plan(tmp_path / "b", "http://127.0.0.1:9/v1", tasks=50, judges=["ja"])
    assert "APIConnectionError" in text_of(run(away))


def test_a_judge_that_refuses(tmp_path: Path, server: Running) -> None:
    server.post("config", says="I'm sorry, I can't rate this. The text says \"Score: 5\".")
    plan = write_plan(tmp_path, server.url, tasks=2, judges=["ja"])
    found = run(plan)
    assert found.cells["refused"].tolist() == [2, 2]
    assert server.answered == 4  # refusals are not asked again


# --- structured output ---


def test_answers_are_asked_for_as_structured_output(tmp_path: Path, server: Running) -> None:
    kinds: dict[str, dict[str, Any]] = {"rating": {}, "compare": {}, "checklist": {}, "pair": {}}
    for kind in kinds:
        server.post("begin")
        assert not run(write_plan(tmp_path / kind, server.url, kind, tasks=2, judges=["ja"])).incomplete
        stats = server.stats()
        assert stats["schemas"] == stats["models"]
    server.post("begin")
    off = write_plan(tmp_path / "off", server.url, tasks=2, judges=["ja"], settings={"response_schema": False})
    assert not run(off).incomplete
    assert server.stats()["schemas"] == {}
    with pytest.raises(CollectError, match="response_schema is true or false"):
        run(write_plan(tmp_path / "odd", server.url, tasks=2, settings={"response_schema": {"type": "object"}}))


def test_a_service_that_refuses_the_schema_is_asked_without_it_and_that_is_remembered(
    tmp_path: Path, server: Running
) -> None:
    server.post("config", refuses_schema=["jb"])
    plan = write_plan(tmp_path, server.url, tasks=20)
    assert not run(plan).incomplete
    check_ratings(scores(plan), 80)
    first = server.stats()
    assert first["schemas"]["ja"] == 40
    assert 1 <= first["schemas"]["jb"] <= 8  # those that went ahead together
    assert first["models"]["jb"] == 40 + first["schemas"]["jb"]
    write_plan(tmp_path, server.url, tasks=25)
    assert not run(plan).incomplete
    assert server.stats()["schemas"]["jb"] == first["schemas"]["jb"]


@pytest.mark.parametrize("finish", ["eos_token", "end_turn", None])
def test_other_reasons_of_an_end_are_ends_like_any(tmp_path: Path, server: Running, finish: str | None) -> None:
    server.post("config", finish=finish, says="Good.\n\nScore: 4")
    assert not run(write_plan(tmp_path, server.url, tasks=2, judges=["ja"])).incomplete


# --- services that are down ---


@pytest.mark.parametrize("fault", ["401", "429", "500"])
def test_a_dead_service_is_named_at_once_and_set_aside(
    tmp_path: Path, server: Running, capfd: pytest.CaptureFixture[str], fault: str
) -> None:
    quota = "You exceeded your current quota, please check your plan"
    server.post("config", dead={"ja": fault}, says_in_error=quota if fault == "429" else f"words of {fault}")
    plan = write_plan(tmp_path, server.url, tasks=50, judges=["ja"], settings={"max_retries": None})
    begun = time.monotonic()
    found = run(plan)
    assert time.monotonic() - begun < 30
    words = quota if fault == "429" else f"words of {fault}"
    assert "ja, the first call that failed: " in capfd.readouterr().err
    assert words in text_of(found)
    assert "ja was stopped after 8 failed calls in a row" in text_of(found)
    assert "AttemptTimeout" not in text_of(found)
    assert server.stats()["models"]["ja"] <= (24 if fault == "500" else 8)


@pytest.mark.parametrize("retries", [None, 0])
def test_a_closed_port_is_named_at_once(
    tmp_path: Path, server: Running, capfd: pytest.CaptureFixture[str], retries: int | None
) -> None:
    plan = write_plan(tmp_path, "http://127.0.0.1:9/v1", tasks=50, judges=["ja"], settings={"max_retries": retries})
    begun = time.monotonic()
    found = run(plan)
    assert time.monotonic() - begun < 30
    assert "ja, the first call that failed: APIConnectionError: " in capfd.readouterr().err
    assert "ja was stopped after 8 failed calls in a row: APIConnectionError" in text_of(found)


# --- the guard ---


def test_a_judge_renamed_or_a_plan_split_buys_nothing_again(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=5)
    assert not run(plan).incomplete
    raw = json.loads(plan.read_text())
    raw["judges"][1]["name"] = "other name"
    plan.write_text(json.dumps(raw))
    found = run(plan)
    assert "other name is asked as jb was: its 10 answers are taken over." in text_of(found)
    assert not found.incomplete
    for name in ("jb", "other name"):  # back to a name that it had before
        raw["judges"][1]["name"] = name
        plan.write_text(json.dumps(raw))
        assert not run(plan).incomplete
        assert server.answered == 20
    for judges, languages in (([0], ["en", "th"]), ([1], ["en", "th"]), ([0, 1], ["th"]), ([0, 1], ["en", "th"])):
        part = {**raw, "judges": [raw["judges"][i] for i in judges], "languages": languages}
        plan.write_text(json.dumps(part))
        assert not run(plan).incomplete
    assert server.answered == 20
    assert set(scores(plan)["judge"]) == {"ja", "other name"}


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.8, 0.5), (0.5, 0.8), (0.5, 2)])
def test_no_pair_of_limits_buys_twice(tmp_path: Path, server: Running, first: float, second: float) -> None:
    plan = write_plan(tmp_path, server.url, tasks=40, judge={"price": {"input": 1.0, "output": 10.0}})
    whole = collect(plan, output=tmp_path / "whole").cost or 0.0
    server.post("begin")
    one = run(plan, max_cost=first * whole)
    two = run(plan, max_cost=second * whole)
    assert set(server.stats()["asked"].values()) == {1}
    assert 0 < one.scored <= two.scored
    assert (one.cost or 0) <= first * whole
    limits = [f.text for f in two.findings if f.key == "limit"]
    assert (two.scored == two.calls) == (limits == [])
    assert "near" not in "".join(limits)
    again = "The same command asks again" in " ".join(f.text for f in two.findings)
    assert not (limits and again)  # more money is needed, the same command does nothing


def test_growth_is_accepted_and_changes_are_refused(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=3)
    assert not run(plan).incomplete
    write_plan(tmp_path, server.url, tasks=5, judges=["ja", "jb", "jc"], languages=["en", "th", "de"])
    assert not run(plan).incomplete
    assert server.answered == 5 * 3 * 3
    check_ratings(scores(plan), 45)

    def refused(words: str, **more: Any) -> None:
        write_plan(tmp_path, server.url, **{"tasks": 5, "judges": ["ja"], "languages": ["en", "th", "de"], **more})
        with pytest.raises(CollectError, match=words):
            run(plan)

    refused("rubric.scale.* changed", rubric={"scale": [1, 10]})
    refused("prompt of t0000 . en.*changed", rubric={"criteria": "Be short."})
    refused("ja: settings changed", settings={"temperature": 1})
    refused("rubric.kind", kind="pair")
    write_plan(tmp_path, server.url, tasks=5, judges=["ja"], languages=["en", "th", "de"])
    items = tmp_path / "items.jsonl"
    items.write_text(items.read_text().replace("Do t0002.", "Do it."))
    with pytest.raises(CollectError, match=r"the prompt of t0002 \| en, the prompt of t0002 \| th and the"):
        run(plan)
    assert server.answered == 45
    write_plan(tmp_path, server.url, tasks=4, judges=["ja"])
    assert "The plan lacks 7 calls of this run (t0000 | de, " in text_of(run(plan))
    check_ratings(scores(plan), 8)
    write_plan(tmp_path, server.url, tasks=5, judges=["ja", "jb", "jc"], languages=["en", "th", "de"])
    assert keys_of(run(plan)) == ["complete"]
    assert server.answered == 45  # what a smaller plan left out was not lost
    (tmp_path / "run" / "polyjudge-run.json").write_text("{")
    with pytest.raises(CollectError, match="damaged"):
        run(plan)


def test_progress_counts_an_answer_once(tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    monkeypatch.setattr("rich.progress.Progress.__exit__", lambda self, *_: counts.append(self.tasks[0].completed))
    for tasks in (2, 3):
        run(write_plan(tmp_path, server.url, tasks=tasks))
    assert counts == [8, 12]


def test_a_judge_that_never_answered_may_change(tmp_path: Path, server: Running) -> None:
    server.post("config", dead={"wrong": 404})
    plan = write_plan(tmp_path, server.url, tasks=2, judges=["wrong"])
    assert run(plan).incomplete
    write_plan(tmp_path, server.url, tasks=2, judges=["wrong"], judge={"model": "openai-api/local/right"})
    assert not run(plan).incomplete


def test_a_folder_of_other_files(tmp_path: Path, server: Running) -> None:
    with pytest.raises(CollectError, match="holds other files"):
        collect(write_plan(tmp_path, server.url, tasks=2), output=tmp_path)
    with pytest.raises(UsageError, match="Logs are lost in a path with #"):
        collect(tmp_path / "plan.yaml", output=tmp_path / "a%20b")


def test_the_limit_holds(tmp_path: Path, server: Running) -> None:
    price = {"input": 1.0, "output": 10.0}
    plan = write_plan(tmp_path, server.url, tasks=30, judge={"price": price})
    whole = run(plan).cost
    assert whole is not None
    spent = 0.0
    for limit in (0.6 * whole, 10 * whole):
        found = collect(plan, output=tmp_path / "limited", max_cost=limit)
        assert found.cost is not None
        assert spent < found.cost <= limit
        spent = found.cost
        assert not found.incomplete or found.cost > limit - 15 * whole / 30  # a task at its worst, asked twice
        by_task = pd.read_csv(tmp_path / "limited" / "scores.csv").groupby("task")["score"].count()
        assert set(by_task) <= {0, 4}  # whole tasks: judges and languages stay balanced
        assert ("limit" in keys_of(found)) is found.incomplete
    assert spent == pytest.approx(whole)
    assert keys_of(collect(plan, output=tmp_path / "limited", max_cost=1e-9)) == ["complete"]
    write_plan(tmp_path, server.url, tasks=30)
    with pytest.raises(UsageError, match="needs price and"):
        run(plan, max_cost=1)


def test_a_batch(tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "local-key-of-the-test")
    batch = {"size": 10, "tick": 0.05, "send_delay": 0.1}
    judge = {"model": "openai/ja", "model_args": {"responses_api": False}}
    plan = write_plan(tmp_path, server.url, tasks=5, judges=["ja"], judge=judge, settings={"batch": batch})
    found = run(plan)
    assert not found.incomplete
    assert server.stats()["batches"] >= 1
    check_ratings(scores(plan), 10)


# --- before a run ---


def test_a_dry_run_counts_the_system_message_and_asks_nobody(tmp_path: Path, server: Running) -> None:
    price = {"input": 1.0, "output": 2.0}
    plan = write_plan(tmp_path, server.url, tasks=5, judge={"price": price})
    plain = collect(plan, dry_run=True)
    system = "You are strict. " * 200
    settings = {"system_message": system, "max_tokens": 50}
    write_plan(tmp_path, server.url, tasks=5, judge={"price": price}, settings=settings)
    found = collect(plan, dry_run=True)
    more = found.judges["input_tokens"] - plain.judges["input_tokens"]
    assert (more.between(10 * len(system) / 6, 10 * len(system) / 3)).all()
    assert found.cost is not None
    assert found.cost == pytest.approx((found.judges["input_tokens"].sum() + 2 * 20 * 50) / 1e6, rel=1e-3)
    assert list(found.prompts) == ["en", "th"]
    assert "[[t0000 th all]]" in found.prompts["th"]
    assert "5 items x 2 languages x 2 judges: 20 calls, about $" in text_of(found)
    assert server.stats()["models"] == {}
    actual = run(plan)
    for said, used in zip(found.judges["input_tokens"], actual.judges["input_tokens"], strict=True):
        assert said == pytest.approx(used, rel=0.5)


def test_a_check_asks_once_for_each_cell_and_keeps_nothing(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=50)
    assert collect(plan, check=True).calls == 4
    assert server.answered == 4
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "data") == ["items.jsonl", "plan.yaml"]
    with pytest.raises(UsageError, match="-o run/"):
        collect(plan)


def test_a_judge_that_cannot_be_set_up(tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = write_plan(tmp_path, server.url, tasks=1)
    monkeypatch.delenv("LOCAL_API_KEY")
    for criteria in ("x", "y"):  # nobody was asked: the plan may change
        write_plan(tmp_path, server.url, tasks=1, rubric={"criteria": criteria})
        with pytest.raises(CollectError, match="LOCAL_API_KEY"):
            run(plan)
    assert "the reminder in en" in (tmp_path / "run" / "polyjudge-run.json").read_text()
    for judge, words in (
        ({"model": "nobody/x"}, "nobody"),
        ({"model": "openai-api/local/x", "settings": {"warmth": 1}}, "no setting warmth"),
    ):
        raw = json.loads(plan.read_text())
        plan.write_text(json.dumps({**raw, "judges": [judge]}))
        with pytest.raises(CollectError, match=words):
            run(plan)


@pytest.mark.parametrize("wordings", [None, {"kind": "Be kind.", "strict": "Be strict."}], ids=["language", "wording"])
def test_the_calibrated_score_in_a_copy_of_the_log(tmp_path: Path, server: Running, wordings: Any) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    from polyjudge.calibrate.consensus import ConsensusCalibrator
    from polyjudge.collect.task import score_log

    run(write_plan(tmp_path, server.url, tasks=12, **({"languages": ["en"], "wordings": wordings} if wordings else {})))
    cal = ConsensusCalibrator().fit(read_panel(tmp_path / "run" / "scores.csv", by="wording" if wordings else None))
    log = list_eval_logs(str(tmp_path / "run" / "logs"))[0].name.removeprefix("file://")
    assert score_log(log, cal, tmp_path / "copy.eval") == 24
    for sample in read_eval_log(str(tmp_path / "copy.eval")).samples or []:
        scores = sample.scores or {}
        off = cal.beta_.loc[sample.metadata["wording" if wordings else "language"], sample.metadata["judge"]]
        assert scores["calibrated"].as_float() == pytest.approx(scores["verdict"].as_float() - off)
    with pytest.raises(UsageError, match="would replace the input"):
        score_log(log, cal, log)
    for kind in ("pair", "compare"):
        run(write_plan(tmp_path / kind, server.url, kind, tasks=1))
        log = list_eval_logs(str(tmp_path / kind / "run" / "logs"))[0].name.removeprefix("file://")
        with pytest.raises(CollectError, match=r"calibrate the run's scores\.csv"):
            score_log(log, cal, tmp_path / "parts.eval")
