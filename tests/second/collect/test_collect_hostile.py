"""Plans, items, price files, stores and replies that are broken or hostile: our error or a retry, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import judge_server as js
import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan, parse_plan, read_summary
from polyjudge.second.collect.calls import prepare
from polyjudge.second.collect.models import _retry_after
from polyjudge.second.collect.secrets import allowed, looks_secret
from polyjudge.second.collect.store import FILE, LOCK, locked
from polyjudge.second.panel.errors import CollectError, PanelError, PolyjudgeError
from refusals import lacks, refused

KEY = "sk-planted-0123456789abcdef"


def rows(run: Path, query: str) -> list[Any]:
    con = sqlite3.connect(run / "store.sqlite")
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def small(folder: Path, **change: Any) -> dict[str, Any]:
    items = [{"id": i, "language": c, "prompt": "p", "response": "r"} for c in ("en", "ar") for i in range(2)]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    plan = {
        "languages": ["en", "ar"],
        "items": {"path": "items.jsonl"},
        "rubric": {"kind": "rating"},
        "judges": ["a/b"],
    }
    return {**plan, **change}


# --- plans ---

DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "change",
    [
        {"judges": None}, {"judges": {}}, {"judges": [None]}, {"judges": [[]]}, {"judges": [{"model": None}]},
        {"judges": [{"model": ["a/b"]}]}, {"judges": [{"model": "a/b", "settings": []}]},
        {"judges": [{"model": "a/b", "retries": 10**400}]}, {"judges": [{"model": "a/b", "timeout": 10**400}]},
        {"judges": [{"model": "a/b", "price": [1, 2]}]}, {"judges": [{"model": "a/b", "concurrency": True}]},
        {"judges": [{"model": "a/b", "name": "\ud800"}]}, {"items": None}, {"items": []}, {"items": {"path": "\0"}},
        {"items": {"path": "items.jsonl", "fields": {"a": None}}}, {"items": {"path": "x" * 5000}}, {"rubric": []},
        {"rubric": {"kind": ["rating"]}}, {"rubric": {"kind": "rating", "scale": [1, None]}},
        {"rubric": {"kind": "rating", "scale": [1, 10**400]}}, {"rubric": {"kind": "rating", "criteria": 5.5}},
        {"rubric": {"kind": "rating", "templates": "\0"}}, {"languages": [None]}, {"languages": [["en"]]},
        {"languages": {"en": 1}}, {"name": []}, {"name": DEEP}, {"prices": "\0"}, {"defaults": []}, {"lead": -1},
        {"repeats": 1e300}, {"repeats": float("nan")}, {"defaults": {"settings": 3}}, {"accounts": []},
        {"judges": [{"model": "a/b", "base_url": "file:///etc/passwd"}]}, {"prices": "."},
    ],
    ids=lambda change: repr(change)[:50].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_broken_plans(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises((CollectError, PanelError)) as caught:
        prepare(parse_plan(small(tmp_path, **change), tmp_path))
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1000, "a: " * 3, "x: &a [*a]", "a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b]\n" * 2,
        "n: " + "9" * 5000, "{? [a] : b}", "", "null", "- 1", "\x00", "a: !!binary x", "a: 2020-01-01",
    ],
    ids=lambda text: repr(text)[:20],
)  # fmt: skip
def test_broken_plan_files(tmp_path: Path, text: str) -> None:
    for name in ("plan.yaml", "plan.json"):
        (tmp_path / name).write_text(text)
        done = js.command("collect", tmp_path / name, "--dry-run")
        assert done.returncode == 2, text[:20]
        assert "Traceback" not in done.stderr
        assert len(done.stderr) < 2000
    (tmp_path / "latin.yaml").write_bytes("name: é".encode("latin-1"))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    for name in ("latin.yaml", "deep.json"):
        assert js.command("collect", tmp_path / name, "--dry-run").returncode == 2


def test_aliases_that_unfold_without_end(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    (tmp_path / "plan.yaml").write_text(bomb)
    done = js.command("collect", tmp_path / "plan.yaml", "--dry-run")
    assert done.returncode == 2
    assert not lacks(done.stderr, "plan", "unfolds")


def test_names_of_a_plan_are_cleaned(tmp_path: Path) -> None:
    evil = "\x1b[31m\u202eevil"
    (tmp_path / "plan.json").write_text(json.dumps(small(tmp_path, judges=[{"model": "a/b", evil: 1}])))
    done = js.command("collect", tmp_path / "plan.json", "--dry-run")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(small(tmp_path, judges=[{"model": "a/b", "name": evil}], name=evil)))
    done = js.command("collect", path, "--dry-run")
    assert done.returncode == 2, done.stderr  # there is no provider a
    assert "\x1b[31m" not in done.stdout
    assert "\u202e" not in done.stdout


# --- items and price files ---


@pytest.mark.parametrize(
    "line",
    [
        "null", "[]", "3", '"x"', "{", "[" * 50_000, '{"id": ' + "9" * 5000 + "}", "\x00",
        '{"id": null, "language": "en", "prompt": "p", "response": "r"}',
        '{"id": [1], "language": "en", "prompt": "p", "response": "r"}',
        '{"id": 1, "language": "en", "prompt": "p"}',
        '{"id": 1, "language": "en", "prompt": "p", "response": "r", "requirements": 3}',
        '{"id": 1, "language": "en", "prompt": "p", "response": "r", "requirements": [3, null]}',
        '{"id": 1, "language": "en", "prompt": "p", "response": "r", "requirements": [[]]}',
        '{"id": 1, "language": "en", "prompt": "p", "response": "r", "requirements": "nope"}',
    ],
    ids=lambda line: line[:60],
)  # fmt: skip
def test_broken_items(tmp_path: Path, line: str) -> None:
    for kind in ("rating", "checklist"):
        plan = small(tmp_path, rubric={"kind": kind})
        (tmp_path / "items.jsonl").write_text(line + "\n")
        if kind == "rating" and "requirements" in line:
            continue
        with pytest.raises(CollectError):
            prepare(parse_plan(plan, tmp_path))
        if line.startswith("{") and line.endswith("}"):
            (tmp_path / "items.json").write_text(f"[{line}]")
            with pytest.raises(CollectError):
                prepare(parse_plan({**plan, "items": {"path": "items.json"}}, tmp_path))


def test_items_with_surrogates_and_odd_values_are_judged(tmp_path: Path) -> None:
    planted = js.plant("rating", 2, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        for item in items:
            item["prompt"] = {"turns": ["\ud800 half", None, 1.5]}
            item["response"] += " \ud83d"
        (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        assert collect(load_plan(path), tmp_path / "run").complete
    assert pj.read_panel(tmp_path / "run").complete


def test_a_disk_without_room_for_the_items_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "wb"))  # noqa: SIM115
    with refused(CollectError, tempfile.gettempdir(), "No space left", "TMPDIR"):
        prepare(parse_plan(small(tmp_path), tmp_path))


def test_a_file_that_changes_during_a_run_changes_nothing_of_it(tmp_path: Path) -> None:
    work = prepare(parse_plan(small(tmp_path), tmp_path))
    assert work.aligned.item(1).fields["en"]["prompt"] == "p"
    text = (tmp_path / "items.jsonl").read_text()
    (tmp_path / "items.jsonl").write_text(text.replace('"prompt": "p"', '"prompt": "q"'))
    assert work.aligned.item(0).fields["en"]["prompt"] == "p"


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[]", b"{}", b"null", "é".encode("latin-1"), b"[" * 50_000,
                                  b'{"date": 1, "models": {"a/b": {"input": "x", "output": 1}}}'])  # fmt: skip
def test_broken_price_files(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "prices.json").write_bytes(data)
    with pytest.raises((CollectError, PanelError)):
        prepare(parse_plan(small(tmp_path, prices="prices.json"), tmp_path))


# --- stores ---


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A finished run and its plan."""
    folder = tmp_path_factory.mktemp("finished")
    planted = js.plant("rating", 6, ["en", "ar"], ["ja", "jb"])
    with js.running(planted) as server:
        path = js.write_plan(folder, server.url, "rating", planted)
        collect(load_plan(path), folder / "run")
    return folder / "run", path


def change(sql: str) -> Any:
    def apply(path: Path) -> None:
        con = sqlite3.connect(path)
        con.executescript(sql)
        con.commit()
        con.close()

    return apply


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("this is not a database, but it is long enough to look at" * 50),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "zeroed": lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\0" * (path.stat().st_size - 4096)),
    "foreign": lambda path: (path.unlink(), change("create table meta (key, value); create table t (x)")(path)),
    "flipped score": change("update answers set score = 6 - score where task = 't0002'"),
    "changed answer": change("update answers set answer = 'x' where task = 't0002'"),
    "moved answer": change("update answers set language = 'xx' where task = 't0001' and language = 'en'"),
    "other plan": change("update meta set value = replace(value, 'ja', 'jx') where key = 'plan'"),
    "no json": change("update meta set value = '{' where key = 'plan'"),
    "no plan": change("delete from meta where key = 'plan'"),
    "no table": change("drop table items"),
    "a view": change("drop table answers; create view answers as with recursive r(x) as (select 1 union all select "
                     "x + 1 from r) select x as task from r"),
    "no column": change("alter table answers drop column how"),
    "newer": change("update meta set value = '3' where key = 'schema'"),
    "no schema": change("delete from meta where key = 'schema'"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_and_foreign_stores(tmp_path: Path, finished: tuple[Path, Path], name: str) -> None:
    shutil.copytree(finished[0], tmp_path / "run")
    DAMAGE[name](tmp_path / "run" / FILE)
    with pytest.raises(PolyjudgeError) as caught:
        pj.read_panel(tmp_path / "run")
    assert len(str(caught.value)) < 600
    if name not in ("flipped score", "changed answer", "moved answer"):
        for args in (("-o", tmp_path / "run"), (finished[1], "-o", tmp_path / "run")):
            if name == "no plan" and len(args) == 3:
                continue  # the plan is written anew
            done = js.command("collect", *args)
            assert done.returncode == 2, (name, done.stdout)
            assert "Traceback" not in done.stderr


def test_a_run_without_answers_is_not_called_damaged(tmp_path: Path, finished: tuple[Path, Path]) -> None:
    shutil.copytree(finished[0], tmp_path / "run")
    change("delete from answers")(tmp_path / "run" / FILE)
    with refused(PanelError, "no answers"):
        pj.read_panel(tmp_path / "run")


def test_a_run_that_cannot_be_written_can_be_read(tmp_path: Path, finished: tuple[Path, Path]) -> None:
    shutil.copytree(finished[0], tmp_path / "run")
    wanted = pj.read_panel(tmp_path / "run").fingerprint
    con = sqlite3.connect(tmp_path / "run" / FILE)
    con.execute("pragma journal_mode = wal")
    con.execute("update answers set latency = 1")
    con.commit()  # a log beside the store, as a killed run leaves it
    shutil.copytree(tmp_path / "run", tmp_path / "killed")
    con.close()
    for folder in ("run", "killed"):
        for file in (tmp_path / folder).iterdir():
            file.chmod(stat.S_IRUSR)
        (tmp_path / folder).chmod(stat.S_IRUSR | stat.S_IXUSR)
    before = {f: sorted(os.listdir(tmp_path / f)) for f in ("run", "killed")}
    access = os.access
    with pytest.MonkeyPatch.context() as patch:  # root may write anywhere
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
        for folder in ("run", "killed"):
            assert pj.read_panel(tmp_path / folder).fingerprint == wanted
            assert read_summary(tmp_path / folder).complete
    assert {f: sorted(os.listdir(tmp_path / f)) for f in ("run", "killed")} == before
    for folder in ("run", "killed"):
        (tmp_path / folder).chmod(0o700)


# --- replies ---


@pytest.mark.parametrize("fault", ["error200", "surrogate", "list", "nousage", "date", "long", "redirect"])
def test_odd_replies(tmp_path: Path, fault: str) -> None:
    planted = js.plant("rating", 4, ["en", "ar"], ["ja"])
    config = {"faults": {fault: 0.4}, "elsewhere": "http://127.0.0.1:9/"}
    with js.running({**planted, **config}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted, defaults={"concurrency": 8}, rubric={"reask": 9})
        summary = collect(load_plan(path), tmp_path / "run")
        seen = server.stats()["requests"][fault]
    assert seen > 0
    kinds = dict(rows(tmp_path / "run", "select kind, max(error) from errors group by kind"))
    if fault == "redirect":  # a key must not follow to another host; it is a failure
        assert summary.failed == {"ja": seen}
        assert set(summary.reasons["kind"]) == {"http 302"}
        return
    assert summary.complete
    assert summary.missing == 0
    wanted = {"error200": ("error in reply", "upstream is down"), "surrogate": ("http 500", "half"),
              "date": ("rate limit", "slow down"), "long": ("unreadable", "cut")}  # fmt: skip
    if fault in wanted:
        assert wanted[fault][1] in kinds[wanted[fault][0]]
    else:
        assert not kinds
    truth = js.Planted(planted)
    scores = rows(tmp_path / "run", "select task, language, score from answers")
    assert all(score == truth.rating("ja", task, language, "all") for task, language, score in scores)


def test_retry_after_by_date_is_read_against_the_servers_clock() -> None:
    stamp, later = "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:30 GMT"
    assert _retry_after({"retry-after": later, "date": stamp}) == 30
    assert _retry_after({"retry-after": later}) == 0  # long ago by our clock
    assert _retry_after({"retry-after": "2.5"}) == 2.5
    assert _retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert _retry_after({"retry-after": "soon"}) is None
    assert _retry_after({}) is None


# --- keys ---


@pytest.mark.parametrize(
    ("value", "where", "secret"),
    [
        (KEY, "judges[0].settings.extra_headers.X-Mine", True), ("Bearer abcdefgh1234", "x.extra_headers.A", True),
        ("https://h/v1?key=abc", "judges[0].base_url", True), ("hunter2", "judges[0].api_key", True),
        ("https://h/9f8e7d6c5b4a39281706f5e4d3c2b1a0/v1", "judges[0].base_url", True),
        ("AIzaSyA1234567890abcdefghijklmnopqrs", "judges[0].model_args.x", True), ("hf_abcdefghij", "name", True),
        ("us-east-1", "judges[0].model_args.region", False), ("gpt-4o-2024-08-06", "judges[0].model", False),
        ("A secret santa", "rubric.criteria", False), ("https://api.deepseek.com/v1", "judges[0].base_url", False),
        ("2024-10-01-preview", "judges[0].model_args.api_version", False),
        ("medium", "x.settings.reasoning_effort", False),
    ],
)  # fmt: skip
def test_keys_in_plans_are_known_by_value(value: str, where: str, secret: bool) -> None:
    assert looks_secret(value, where) is secret


def test_an_environment_key_in_a_plan_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "plain words of mine")
    with refused(CollectError, "name", "OPENAI_API_KEY") as error:
        parse_plan(small(tmp_path, name="run with plain words of mine"), tmp_path)
    assert "plain words" not in error.message


def test_a_key_goes_only_where_the_user_sends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "https://api.openai.com/v1"
    assert allowed("OPENAI_API_KEY", own, own, ())
    assert not allowed("OPENAI_API_KEY", "https://evil.example/v1", own, ())
    assert not allowed("OPENAI_API_KEY", "https://api.openai.com.evil.example/v1", own, ())
    assert allowed("OPENAI_API_KEY", "https://proxy.example/v1", own, ["OPENAI_API_KEY=proxy.example"])
    assert not allowed("OPENAI_API_KEY", "https://proxy.example/v1", own, ["OTHER_API_KEY=proxy.example"])
    monkeypatch.setenv("OPENAI_BASE_URL", "https://mine.example/v1")
    assert allowed("OPENAI_API_KEY", "https://mine.example/v1", own, ())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    planted = js.plant("rating", 2, ["en", "ar"], ["ja"])
    with js.running(planted) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        assert collect(load_plan(path), tmp_path / "unnamed").complete  # this machine is asked without the key
        assert server.stats()["keys"] == 0
        collect(load_plan(path), tmp_path / "named", send_key=[f"LOCAL_API_KEY={server.url.split('/')[2]}"])
        assert server.stats()["keys"] == 4
        raw = json.loads(path.read_text())
        for model in ("openai/ja", "inspect/openai-api/openai/ja", "anthropic/ja"):
            monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
            raw["judges"] = [{"name": "ja", "model": model, "base_url": "https://evil.example/v1"}]
            path.write_text(json.dumps(raw))
            summary = collect(load_plan(path), tmp_path / model.replace("/", "-"))
            assert "evil.example" in summary.aside["ja"]
            assert "--send-key" in summary.aside["ja"]


def test_a_key_that_comes_back_is_stored_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    planted = js.plant("rating", 3, ["en", "ar"], ["ja"])
    with js.running({**planted, "echo": KEY}) as server:
        path = js.write_plan(tmp_path, server.url, "rating", planted)
        assert collect(load_plan(path), tmp_path / "run").complete
    assert rows(tmp_path / "run", "select distinct model from answers") == [("ja-2026 [key]",)]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def test_a_lock_file_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to(victim)
    with refused(CollectError, "run", "symbolic links", "-o"), locked(tmp_path / "run"):
        pass
    assert victim.read_text() == "mine"
    (tmp_path / "run" / LOCK).unlink()
    with locked(tmp_path / "run"), refused(CollectError, "run", os.getpid()), locked(tmp_path / "run"):
        pass


def test_a_lock_is_taken_where_there_is_no_fcntl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows: the other module is asked, and its refusal is a lock held."""
    asked: list[int] = []

    def locking(number: int, mode: int, size: int) -> None:
        asked.append(size)
        if len(asked) > 1:
            raise OSError

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    monkeypatch.delattr("os.O_NOFOLLOW")
    with locked(tmp_path / "run"), refused(CollectError, "run", os.getpid()), locked(tmp_path / "run"):
        pass
    assert asked == [1, 1]
