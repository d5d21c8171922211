"""Collection against a real HTTP server on loopback: what is asked, kept, read back and paid for."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan, read_summary
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import CollectError, PanelError
from polyjudge.second.questions.audit import uncertainty
from refusals import lacks, refused

LANGUAGES = ["en", "ar", "zh", "sw"]
JUDGES = ["ja", "jb", "jc"]
ITEMS = 28


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "a-key-for-loopback")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / "store.sqlite")
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def agrees(panel: pj.Panel, planted: dict[str, Any]) -> float:
    """The largest distance of the estimated from the planted interaction, in standard errors."""
    beta = double_centre(np.array([[planted["cells"][l][j] for j in panel.judges] for l in panel.languages]))  # noqa: E741
    table = uncertainty(panel).to_frame()
    estimate, se = (table[c].to_numpy().reshape(beta.shape) for c in ("interaction", "se"))
    assert np.abs(double_centre(beta[::-1]) - estimate).max() > 4 * se.max() or beta.shape[0] < 3
    return float(np.abs((estimate - beta) / se).max())


@pytest.fixture(scope="module")
def pair_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """A finished pair run, what was planted, and what the server saw."""
    folder = tmp_path_factory.mktemp("pair")
    planted = js.plant("pair", ITEMS, LANGUAGES, JUDGES)
    with pytest.MonkeyPatch.context() as patch, js.running(planted) as server:
        patch.setenv("LOCAL_API_KEY", "a-key-for-loopback")
        collect(load_plan(js.write_plan(folder, server.url, "pair", planted)), folder / "run")
        yield folder, planted, server.stats()


def test_a_pair_run_recovers_the_planted_interaction(pair_run: Any) -> None:
    folder, planted, seen = pair_run
    panel = pj.read_panel(folder / "run")
    assert panel.shape == (ITEMS, 4, 3)
    assert panel.complete
    assert panel.range == (-4, 4)
    assert panel.languages == tuple(LANGUAGES)
    assert panel.judges == tuple(JUDGES)
    assert agrees(panel, planted) < 4
    assert seen["total"] == seen["distinct"] == ITEMS * 4 * 3 * 2
    assert seen["most"] <= 48


def test_the_store_holds_everything(pair_run: Any) -> None:
    folder, planted, _ = pair_run
    run = folder / "run"
    assert rows(run, "pragma journal_mode")[0][0] == "wal"
    assert rows(run, "select count(*), count(distinct prompt) from answers") == [(ITEMS * 24, ITEMS * 8)]
    assert rows(run, "select count(*) from prompts") == [(ITEMS * 8,)]
    one = rows(
        run,
        "select a.answer, a.score, a.how, a.input_tokens, a.output_tokens, a.attempt, a.model, a.stop, p.text, "
        "a.latency from answers a join prompts p on p.hash = a.prompt where task = 't0003' and language = 'zh' "
        "and judge = 'jb' and part = 'rejected'",
    )[0]
    expected = js.Planted(planted).rating("jb", "t0003", "zh", "rejected")
    assert json.loads(one[0])["score"] == one[1] == expected
    assert one[2:8] == ("strict", len(one[8]) // 4, 20, 1, "jb-2026", "stop")
    assert "[[t0003 zh rejected]]" in one[8]
    assert one[9] > 0
    plan = json.loads(rows(run, "select value from meta where key = 'plan'")[0][0])
    assert [judge["name"] for judge in plan["judges"]] == JUDGES


def test_a_finished_run_asks_nobody(pair_run: Any) -> None:
    folder, _, _ = pair_run
    done = js.command(
        "collect", folder / "plan.json", "-o", folder / "run", "--json", "--export", folder / "scores.parquet"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["complete"]
    assert [j["answered"] for j in result["judges"]] == [ITEMS * 8] * 3
    tokens = [(j["input_tokens"], j["output_tokens"]) for j in result["judges"]]
    assert result["cost"] == pytest.approx(sum(i + 2 * o for i, o in tokens) / 1e6)
    exported = pj.read_panel(folder / "scores.parquet")
    assert exported.fingerprint == pj.read_panel(folder / "run").fingerprint
    shown = js.command("collect", "-o", folder / "run")
    assert shown.returncode == 0
    assert not lacks(shown.stdout, ITEMS * 24)


def test_audit_reads_a_run(pair_run: Any) -> None:
    folder, _, _ = pair_run
    done = js.command("audit", folder / "run")
    assert done.returncode == 0, done.stderr
    assert f"{ITEMS} tasks" in done.stdout


@pytest.mark.parametrize("calls", ["each", "all"])
def test_checklists_with_replicates(folder: Path, calls: str) -> None:
    planted = js.plant("checklist", 8, ["en", "tr", "hi"], ["ja", "jb"])
    path = js.write_plan(folder, "http://x", "checklist", planted, calls=calls, frameworks=["F1", "F2"], requirements=3)
    with js.running(planted) as server:
        plan = load_plan(path)
        raw = json.loads(path.read_text())
        raw["defaults"]["base_url"] = server.url
        path.write_text(json.dumps(raw))
        plan = load_plan(path)
        summary = collect(plan, folder / "run")
        assert server.stats()["total"] == 8 * 2 * 3 * 2 * (3 if calls == "each" else 1)
    assert summary.complete
    panel = pj.read_panel(folder / "run")
    assert panel.shape == (8, 3, 2)
    assert panel.replicates == ("F1", "F2")
    assert panel.range == (0, 100)
    truth = js.Planted(planted)
    for t, task in enumerate(panel.tasks):
        verdicts = [truth.verdict("jb", f"{task}F2", "tr", f"F2r{i}") for i in range(3)]
        assert panel.replicate_scores is not None
        assert panel.replicate_scores[t, 1, 1, 1] == pytest.approx(100 * np.mean(verdicts))
    typed = pj.read_panel(folder / "run", group="type")
    assert typed.grouping is not None
    assert sorted(typed.grouping.labels) == ["data", "model"]
    assert np.allclose(typed.scores, panel.scores)
    data = typed.slice("data")  # requirements r0 and r2 of each framework
    mean = np.mean([truth.verdict("ja", f, "en", r) for f, r in _marks(data.tasks[0], ("r0", "r2"))])
    assert data.scores[0, 0, 0] == pytest.approx(100 * mean)


@pytest.mark.parametrize("repeats", [1, 2])
def test_systems_of_a_plan_are_systems_of_the_panel(folder: Path, repeats: int) -> None:
    planted = js.plant("checklist", 4, ["en", "tr"], ["ja", "jb"])
    path = js.write_plan(folder, "http://x", "checklist", planted, calls="all", frameworks=["F1", "F2"], requirements=3)
    with js.running(planted) as server:
        raw = json.loads(path.read_text())
        raw["defaults"]["base_url"] = server.url
        raw["items"]["system"] = raw["items"].pop("replicate")
        raw["repeats"] = repeats
        path.write_text(json.dumps(raw))
        assert collect(load_plan(path), folder / "run").complete
    panel = pj.read_panel(folder / "run")
    assert panel.systems == ("F1", "F2")
    assert panel.replicates == (() if repeats == 1 else ("1", "2"))
    truth = js.Planted(planted)
    assert panel.system_scores is not None
    for t, task in enumerate(panel.tasks):
        verdicts = [truth.verdict("jb", f"{task}F2", "tr", f"F2r{i}") for i in range(3)]
        assert panel.system_scores[t, 1, 1, 1] == pytest.approx(100 * np.mean(verdicts))


def _marks(task: str, requirements: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"{task}{f}", f"{f}{r}") for f in ("F1", "F2") for r in requirements]


def test_unreadable_answers_are_missing_with_their_text(folder: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "faults": {"prose": 0.3}}) as server:
        plan = load_plan(js.write_plan(folder, server.url, "rating", planted, rubric={"reask": 0}))
        summary = collect(plan, folder / "run")
        prose = server.stats()["requests"]["prose"]
    assert summary.complete
    assert summary.judges["missing"].sum() == prose > 0
    missing = rows(folder / "run", "select answer, score, how from answers where score is null")
    assert missing == [("A fine piece of work that I enjoyed.", None, "no score found")] * prose
    panel = pj.read_panel(folder / "run")
    assert int(np.isnan(panel.scores).sum()) == prose
    assert "run.unread" in [n.code for n in panel.notes]
    assert summary.missing_p is not None


def test_uneven_parse_failures_are_flagged() -> None:
    from polyjudge.second.collect.summary import uneven

    sizes = np.full(8, 100)
    assert uneven(np.zeros(8), sizes) is None
    even, odd = uneven(np.array([2, 1, 3, 2, 2, 1, 2, 3]), sizes), uneven(np.array([9, 0, 0, 0, 0, 0, 1, 0]), sizes)
    assert even is not None
    assert odd is not None
    assert even > 0.1
    assert odd < 0.01


def test_a_run_grows_but_does_not_change(folder: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja", "jb", "jc"])
    with js.running(planted) as server:
        path = js.write_plan(folder, server.url, "rating", planted)
        raw = json.loads(path.read_text())

        def run(**change: Any) -> Any:
            path.write_text(json.dumps({**raw, **change}))
            return collect(load_plan(path), folder / "run")

        run(judges=raw["judges"][:2], items={**raw["items"], "limit": 3})
        assert server.stats()["total"] == 3 * 2 * 2
        run()  # more items and another judge
        assert (server.stats()["total"], server.stats()["distinct"]) == (36, 36)
        run(defaults={**raw["defaults"], "concurrency": 2, "retries": 1})  # limits may change
        assert server.stats()["total"] == 36
        with refused(CollectError, "judge ja", "settings", {"temperature": 0}, {"temperature": 1}):
            run(defaults={**raw["defaults"], "settings": {"temperature": 1}})
        with refused(CollectError, "rubric", "scale", [1, 5], [1.0, 10.0]):
            run(rubric={"kind": "rating", "scale": [1, 10]})
        with refused(CollectError, "prompts", "ar", "-o"):
            run(rubric={"kind": "rating", "criteria": "- It is blue."})
        assert server.stats()["total"] == 36


def test_max_cost_stops_cleanly_and_the_rest_is_a_balanced_panel(folder: Path) -> None:
    planted = js.plant("rating", 30, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "delay": 0.005}) as server:
        path = js.write_plan(folder, server.url, "rating", planted, lead=3, defaults={"concurrency": 4})
        whole = 30 * 2 * 2 * (330 + 2 * 20) / 1e6
        summary = collect(load_plan(path), folder / "run", max_cost=whole / 2)
        assert summary.stopped == "cost"
        assert not summary.complete
        assert summary.cost is not None
        assert whole / 4 < summary.cost <= whole / 2
        panel = pj.read_panel(folder / "run")
        assert panel.complete
        assert panel.tasks == tuple(f"t{i:04d}" for i in range(len(panel.tasks)))
        asked = rows(folder / "run", "select count(distinct task) from answers")[0][0]
        assert len(panel.tasks) >= asked - 2 - 3  # what lies beyond the panel is bounded by the lead
        before = server.stats()["total"]
        done = js.command("collect", path, "-o", folder / "run", "--max-cost", whole / 2)
        assert done.returncode == 0
        assert not lacks(done.stdout, "cost limit")
        assert server.stats()["total"] <= before + 2  # a cheaper call may still fit
        assert (read_summary(folder / "run").cost or 0) <= whole / 2
        assert collect(load_plan(path), folder / "run").complete
        assert (server.stats()["total"], server.stats()["distinct"]) == (120, 120)
    unknown = json.loads(path.read_text())
    del unknown["defaults"]["price"]
    unknown["defaults"]["base_url"] = "https://judges.example/v1"  # a server on this machine is free
    path.write_text(json.dumps(unknown))
    with refused(CollectError, "--max-cost", "ja, jb"):
        collect(load_plan(path), folder / "other", max_cost=1)


def test_dry_run_asks_nobody_and_writes_nothing(folder: Path) -> None:
    planted = js.plant("pair", 3, ["en", "ja"], ["ja", "jb"])
    path = js.write_plan(folder, "http://127.0.0.1:9/v1", "pair", planted)
    done = js.command("collect", path, "--dry-run", "-o", folder / "run")
    assert done.returncode == 0, done.stderr
    assert "24 calls" in done.stdout
    assert "Prompt in ja" in done.stdout
    assert "公平な審査員" in done.stdout
    assert not (folder / "run").exists()
    result = json.loads(js.command("collect", path, "--dry-run", "--json").stdout)
    assert result["calls"] == 24
    assert len(result["prompts"]) == 2


def test_bad_usage_is_one_paragraph(folder: Path) -> None:
    (folder / "bad.yaml").write_text("judges: []\n")
    for args, named in [
        ((), ("plan", "-o")),
        (("-o", folder), (folder.name, "store.sqlite")),
        ((folder / "bad.yaml", "-o", folder / "run"), ("languages",)),
        ((folder / "none.yaml", "-o", folder / "run"), ("There is no file", "none.yaml")),
        ((folder / "bad.yaml",), ("-o", "--dry-run")),
        ((folder / "bad.yaml", "-o", folder, "--export", "x.xls"), ("--export", ".csv")),
    ]:
        done = js.command("collect", *args)
        assert done.returncode == 2, args
        assert not lacks(done.stderr, *named)
        assert "Traceback" not in done.stderr
    with refused(PanelError, "store.sqlite", "*.csv"):
        pj.read_panel(folder)
    with refused(CollectError, "store.sqlite"):
        read_summary(folder)
