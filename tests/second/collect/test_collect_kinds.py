"""What judges do: comparisons, several criteria, expected scores, own parsers, structured answers, asking again."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan, parse_plan, read_summary
from polyjudge.second.collect.languages import SHIPPED, phrases
from polyjudge.second.collect.parse import expected_score
from polyjudge.second.collect.plan import Rubric
from polyjudge.second.collect.preview import preview
from polyjudge.second.collect.prompts import answer_schema, layout
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.questions.position import position
from refusals import refused


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / "store.sqlite")
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


# --- asking again ---


def test_an_unreadable_answer_is_asked_for_in_another_way(tmp_path: Path) -> None:
    planted = js.plant("rating", 10, ["en", "ar"], ["ja"])
    with js.running({**planted, "faults": {"prose": 0.3}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        summary = collect(load_plan(path), tmp_path / "run")
        bodies = server.stats()["bodies"]
    assert summary.complete
    again = [body for body in bodies if body["temperature"] > 0]
    assert again
    assert all(body["seed"] >= 1 for body in again)
    assert {body["temperature"] for body in bodies} >= {0, 0.4}
    longest = max(body["n"] for body in bodies if body["temperature"] == 0)
    assert all(body["n"] > longest - 200 for body in again)  # the reminder is in it
    reminded = rows(tmp_path / "run", "select count(*) from answers where reminded")[0][0]
    assert reminded == summary.cells["reminded"].sum() > 0
    # One text for each prompt, without the reminder.
    assert rows(tmp_path / "run", "select count(*), count(distinct text) from prompts") == [(20, 20)]


def test_retry_missing_and_fail_on_missing(tmp_path: Path) -> None:
    planted = js.plant("rating", 12, ["en", "ar"], ["ja"])
    with js.running({**planted, "faults": {"prose": 0.4}}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric={"reask": 0})
        first = js.command("collect", path, "-o", tmp_path / "run", "--json")
        missing = json.loads(first.stdout)["judges"][0]["missing"]
        assert (first.returncode, missing > 0) == (0, True)
        assert js.command("collect", path, "-o", tmp_path / "run", "--fail-on", "missing").returncode == 1
        asked = server.stats()["total"]
        server.set_faults({})
        done = js.command("collect", path, "-o", tmp_path / "run", "--retry-missing", "--fail-on", "missing", "--json")
        assert done.returncode == 0, done.stderr
        assert server.stats()["total"] == asked + missing  # only those, once
        result = json.loads(done.stdout)
    assert result["judges"][0]["missing"] == 0
    kept = rows(tmp_path / "run", "select count(*), sum(cost > 0), count(answer) from errors where kind = 'unreadable'")
    assert kept == [(missing, missing, missing)]  # what was paid for stays on record
    assert rows(tmp_path / "run", "select count(*) from answers where reminded") == [(missing,)]


@pytest.mark.statistical
def test_missingness_that_follows_the_content_is_found() -> None:
    from polyjudge.second.collect.summary import follows

    rng = np.random.default_rng(0)
    cells = np.repeat(np.arange(6), 200)
    length = rng.integers(100, 5000, 1200)
    by_chance = (rng.random(1200) < 0.05).astype(int)
    by_length = (rng.random(1200) < 0.1 * length / 5000).astype(int)
    chance, found = follows(by_chance, length, cells), follows(by_length, length, cells)
    assert chance is not None
    assert found is not None
    assert chance > 0.05
    assert found < 0.001
    assert follows(np.zeros(1200, int), length, cells) is None
    # Held at its level: p-values under chance are uniform.
    draws = [follows((rng.random(1200) < 0.03).astype(int), length, cells) for _ in range(400)]
    assert 0.02 <= np.mean([p is not None and p < 0.05 for p in draws]) <= 0.09


def test_the_summary_names_what_missing_answers_follow(tmp_path: Path) -> None:
    planted = js.plant("rating", 80, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric={"reask": 0})
        items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        for item in items:  # a sum in a quarter of the tasks, which the judge below does not answer
            if int(item["id"][1:]) % 4 == 0:
                item["prompt"] += " 12345 * 67890 = 838102050?"
        (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        collect(load_plan(path), tmp_path / "run")
    con = sqlite3.connect(tmp_path / "run" / "store.sqlite")
    from polyjudge.second.collect.store import checksum

    query = "select * from answers where cast(substr(task, 2) as integer) % 8 = 0"
    names = [c[1] for c in con.execute("pragma table_info(answers)")]
    for row in con.execute(query).fetchall():
        entry = dict(zip(names, row, strict=True))
        kept = [entry[k] for k in names[:9]] + [None, entry["expected"], "no score found", entry["detail"]]
        con.execute(
            "update answers set score = null, how = 'no score found', checksum = ? where task = ? and language = ? and "
            "judge = ?", [checksum(*kept), entry["task"], entry["language"], entry["judge"]],
        )  # fmt: skip
    con.commit()
    con.close()
    tests = read_summary(tmp_path / "run").missing_tests.set_index("factor")
    assert tests.loc["digits", "alarm"]
    assert tests.loc["task", "alarm"]
    assert not tests.loc["cells", "alarm"]
    pj.read_panel(tmp_path / "run")  # the checksums are right


# --- kinds of verdicts ---


def test_comparisons_ask_both_positions(tmp_path: Path) -> None:
    planted = js.plant("compare", 60, ["en", "ar"], ["fair", "leans"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "compare", planted)
        raw = json.loads(path.read_text())
        fair = {**raw, "judges": raw["judges"][:1]}
        path.write_text(json.dumps(fair))
        collect(load_plan(path), tmp_path / "run")
        server.set(lean=0.5)
        path.write_text(json.dumps(raw))
        collect(load_plan(path), tmp_path / "run")
        assert server.stats()["total"] == 60 * 2 * 2 * 2
    panel = pj.read_panel(tmp_path / "run")
    assert panel.range == (0, 100)
    assert set(np.unique(panel.scores)) == {0.0, 50.0, 100.0}
    fairly = panel.scores[:, :, panel.judges.index("fair")]
    assert set(np.unique(fairly)) == {0.0, 100.0}


def test_a_collected_judge_that_follows_the_slot_is_found_by_audit_and_judges(tmp_path: Path) -> None:
    """35% of the verdicts of one judge of three follow the first place: every verdict of it in both orders, so that
    half of them are worth 17.5 points of preference."""
    planted = js.plant("compare", 120, ["en", "ar"], ["fair", "other", "leans"], seed=3)
    with js.running({**planted, "lean": {"leans": 0.35}}) as server:
        path = js.write_plan(tmp_path, server.url, "compare", planted)
        assert js.command("collect", path, "-o", tmp_path / "run").returncode == 0
    told = {
        command: js.command(command, tmp_path / "run", "--resamples", 100, "--json", "--fail-on", "warning")
        for command in ("audit", "judges")
    }
    values = next(f for f in json.loads(told["audit"].stdout)["findings"] if f["code"] == "position")["values"]
    assert (values["judge"], values["count"], values["judges"]) == ("leans", 1, 3)
    assert 0 < values["low"] <= 0.175 <= values["high"]
    assert values["consistency"] == pytest.approx(0.65, abs=0.1)
    assert told["judges"].returncode == 1  # the same finding
    assert json.loads(told["judges"].stdout)["position"] == json.loads(told["audit"].stdout)["position"]
    panel = pj.read_panel(tmp_path / "run")
    found = position(panel)
    assert found is not None
    assert found.paired
    assert found.balanced
    rows = found.cells.set_index(["language", "judge"])
    for language in ("en", "ar"):
        assert rows.loc[(language, "fair"), ["preference", "consistency"]].tolist() == [0.0, 1.0]
        assert rows.loc[(language, "leans"), "low"] > 0
    assert set(found.systems["system"]) == {"chosen", "rejected"}
    part = position(pj.read_panel(tmp_path / "run", judges=["leans", "fair"], languages=["ar"]))
    assert part is not None
    again = part.cells.set_index("judge").loc["leans"]  # one language: no rows of it beside those of all
    assert again["preference"] == pytest.approx(rows.loc[("ar", "leans"), "preference"])


def test_several_criteria_in_one_call(tmp_path: Path) -> None:
    planted = js.plant("rating", 6, ["en", "ar"], ["ja", "jb"])
    criteria = [{"name": "accuracy", "text": "It is right."}, {"name": "style", "text": {"en": "Fine.", "ar": "جيد."}}]
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric={"criteria": criteria})
        summary = collect(load_plan(path), tmp_path / "run")
        assert server.stats()["total"] == 24
    assert summary.missing == 0
    truth = js.Planted(planted)
    panel = pj.read_panel(tmp_path / "run")
    each = [truth.rating("jb", "t0002", "ar", name) for name in ("accuracy", "style")]
    assert panel.scores[2, 1, 1] == np.mean(each)
    typed = pj.read_panel(tmp_path / "run", group="type")
    assert typed.grouping is not None
    assert sorted(typed.grouping.labels) == ["accuracy", "style"]
    assert typed.slice("style").scores[2, 1, 1] == each[1]


def test_expected_scores_from_log_probabilities(tmp_path: Path) -> None:
    planted = js.plant("rating", 5, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric={"expected": True, "reason": "none"})
        summary = collect(load_plan(path), tmp_path / "run")
    assert summary.missing == 0
    score, expected, logprobs = rows(tmp_path / "run", "select score, expected, logprobs from answers limit 1")[0]
    assert expected == pytest.approx(0.7 * score + 0.2 * max(1, score - 1) + 0.1 * min(5, score + 1))
    assert json.loads(logprobs)[str(int(score))] >= 0.7
    panel = pj.read_panel(tmp_path / "run")
    assert not np.allclose(panel.scores, panel.scores.round())


def test_an_expected_score_that_is_not_settled_is_none() -> None:
    def tokens(*entries: tuple[str, dict[str, float]]) -> list[Any]:
        return [(text, [(t, float(np.log(p))) for t, p in top.items()]) for text, top in entries]

    five, ten = Rubric(kind="rating", expected=True), Rubric(kind="rating", scale=[1, 10], expected=True)
    head, tail = ('{"score":', {}), ("}", {})
    value = expected_score(tokens(head, (" 4", {" 4": 0.6, " 5": 0.3, " 3": 0.05}), tail), five)[0]
    assert value == pytest.approx((4 * 0.6 + 5 * 0.3 + 3 * 0.05) / 0.95)
    assert expected_score(tokens(head, (" 4", {" 4": 0.6, " five": 0.3}), tail), five) == (None, None)
    assert expected_score(tokens(head, ("1", {"1": 0.9}), ("0", {"0": 1}), tail), ten) == (None, None)  # two tokens
    assert expected_score(tokens(head, ("8", {"8": 0.6, "1": 0.3}), tail), ten) == (None, None)  # 1, or 10?
    merged = expected_score(tokens(head, ("8", {"8": 0.6, "1": 0.1, "10": 0.2}), tail), ten)[0]
    assert merged == pytest.approx((8 * 0.6 + 1 * 0.1 + 10 * 0.2) / 0.9)
    assert expected_score([], five) == (None, None)


def test_own_prompts_and_parsers_are_tried_on_examples(tmp_path: Path) -> None:
    planted = js.plant("rating", 3, ["en", "ar"], ["ja"])
    for code in ("en", "ar"):
        (tmp_path / "mine" / code).mkdir(parents=True)
        text = 'Judge.\n{prompt}\n{response}\n"score" "x": <'
        (tmp_path / "mine" / code / "rating.txt").write_text(text)
    rubric = {"templates": "mine", "parser": {"regex": r'"score": (\d)'},
              "examples": [{"answer": 'so {"score": 3', "score": 3}, {"answer": "none", "score": None}]}  # fmt: skip
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, rubric=rubric)
        assert preview(load_plan(path)).examples == 2
        assert collect(load_plan(path), tmp_path / "run").missing == 0
    raw = json.loads(path.read_text())
    raw["rubric"]["parser"] = {"json": "$.score"}
    path.write_text(json.dumps(raw))
    done = js.command("collect", path, "--dry-run")
    assert done.returncode == 2
    assert "rubric.examples[0]" in done.stderr
    raw["rubric"]["parser"] = {"regex": "("}
    path.write_text(json.dumps(raw))
    assert js.command("collect", path, "--dry-run").returncode == 2
    values = Rubric(kind="rating", templates="x", parser={"regex": "(good|bad)", "values": {"good": 5.0, "bad": 1.0}})
    from polyjudge.second.collect.parse import parse

    assert parse("it is good", values).score == 5
    assert parse("good or bad", values).score is None


# --- structured answers, models, accounts ---


def test_structured_answers_are_asked_for_and_left_out_where_refused(tmp_path: Path) -> None:
    planted = js.plant("rating", 4, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "unstructured": ["jb"]}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 1})
        assert collect(load_plan(path), tmp_path / "run").complete
        bodies = server.stats()["bodies"]
        total = server.stats()["total"]
        schema = next(b["response_format"] for b in bodies if b["model"] == "ja")["json_schema"]["schema"]
        assert schema == answer_schema(load_plan(path).rubric)
        assert [b for b in bodies if b["model"] == "jb" and "response_format" not in b]
        assert total == 16 + 1  # it was refused once and the run remembers
        assert rows(tmp_path / "run", "select value from meta where key = 'omitted'") == [('{"jb": ["structured"]}',)]
    assert answer_schema(Rubric(kind="checklist")) is None
    first = answer_schema(Rubric(kind="rating", reason="first"))
    assert first is not None
    assert list(first["properties"]) == ["reason", "score"]


def test_a_change_of_the_model_behind_a_name_is_a_warning(tmp_path: Path) -> None:
    planted = js.plant("rating", 4, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        raw = json.loads(path.read_text())
        path.write_text(json.dumps({**raw, "items": {**raw["items"], "limit": 2}}))
        assert collect(load_plan(path), tmp_path / "run").models.empty
        server.set(reports={"ja": "ja-2027"})
        path.write_text(json.dumps(raw))
        summary = collect(load_plan(path), tmp_path / "run")
    assert summary.models["model"].tolist() == ["ja-2026", "ja-2027"]
    assert set(summary.models["judge"]) == {"ja"}


def test_judges_of_one_account_share_its_limits(tmp_path: Path) -> None:
    planted = js.plant("rating", 5, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "delay": 0.02}) as server:
        account = {"accounts": {"ours": {"concurrency": 3, "requests_per_minute": 1200}}}
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"account": "ours"}, **account)
        begun = time.monotonic()
        assert collect(load_plan(path), tmp_path / "run").complete
        assert time.monotonic() - begun >= 0.9 * 19 * 60 / 1200
        assert server.stats()["most"] <= 3
    with refused(CollectError, "accounts", "ours"):
        parse_plan({**json.loads(path.read_text()), "accounts": {}}, tmp_path)


def test_a_hanging_judge_stalls_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.second.collect import calls

    monkeypatch.setattr(calls, "PATIENCE", 0.3)
    planted = js.plant("rating", 8, ["en", "ar"], ["ja", "jb"])
    with js.running({**planted, "hang": 20, "dead": {"ja": "hang"}}) as server:
        limits = {"timeout": 1.5, "retries": 0, "give_up_after": 2, "concurrency": 2}
        path = js.write_plan(tmp_path, server.url, "rating", planted, lead=2, defaults=limits)
        summary = collect(load_plan(path), tmp_path / "run")
    assert set(summary.aside) == {"ja"}
    assert summary.reasons.iloc[0][["judge", "kind"]].tolist() == ["ja", "timeout"]
    count, last = rows(tmp_path / "run", "select count(*), max(at) from answers where judge = 'jb'")[0]
    assert count == 16
    assert last < rows(tmp_path / "run", "select min(at) from errors")[0][0]  # before the other gave up


# --- prompts in all languages ---


@pytest.mark.parametrize("code", SHIPPED)
def test_every_language_says_everything(code: str) -> None:
    say, english = phrases(code), phrases("en")
    assert set(say) == set(english)
    assert set(say["words"]) == set(english["words"])
    assert say["written"] in ("machine", "person")
    assert len(say["criteria"]) == 4
    for rubric in (
        Rubric(kind="rating"), Rubric(kind="rating", reason="first"), Rubric(kind="rating", reason="none", step=None),
        Rubric(kind="compare"), Rubric(kind="checklist"), Rubric(kind="checklist", calls="all"),
        Rubric(kind="rating", criteria=[{"name": "a", "text": "b"}]),
    ):  # fmt: skip
        text, reminder = layout(rubric, say)
        assert text.count("<request-{fence}>") == 1
        assert "{fence}" not in text.split("<request-{fence}>")[0]  # what all items share comes first, unmarked
        assert reminder.startswith(say["again"])
        assert text.rstrip().endswith(reminder.split("\n", 1)[1])
    if code != "en":
        same = [k for k, v in say.items() if isinstance(v, str) and v == english[k] and k not in ("written",)]
        assert same == []
