"""The paper's collections, from the benchmarks' instances to a panel, against a server on loopback."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.collect import collect, load_plan
from polyjudge.second.collect.preview import preview
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.paper import collection
from polyjudge.second.paper.collection import named_files, read_workspace
from polyjudge.second.paper.requirements import JUDGMENT_COLUMNS, read_instances
from polyjudge.second.paper.translate import parse_judge, read_translations, translate
from refusals import refused

JUDGES = ("ja", "jb", "jc")


class Models(http.server.ThreadingHTTPServer):
    """Speaks the chat API: translates by a mark before each text, judges by a hash of what it is asked."""

    asked: list[dict[str, Any]]
    daemon_threads = True
    request_queue_size = 128  # three judges open 16 connections each; who is turned away tries again after seconds


class Handler(http.server.BaseHTTPRequestHandler):
    server: Models
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(request)
        text = self.answer(request["model"], request["messages"][-1]["content"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body = json.dumps({"id": "x", "model": request["model"], "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def answer(model: str, prompt: str) -> str:
        if prompt.startswith("Translate"):
            head, text = prompt.split("\n\n", 1)
            if "to English" in head:
                return text.removeprefix("~ ").strip()
            return f"~ {text.replace('`', '') if 'Swahili' in head else text}"  # one language loses the marks
        chance = int(hashlib.sha256(f"{model}{prompt}".encode()).hexdigest(), 16) % 5
        if "<requirement-" in prompt:
            return "<satisfied>" if chance > 1 else "<unsatisfied>"
        return json.dumps({"score": 1 + chance, "reason": "so"})

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    monkeypatch.setenv("LOCAL_API_KEY", "a-key-for-loopback")
    with Models(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def url(server: Models) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


@pytest.fixture
def instances(like: Callable[[str], Path]) -> list[dict[str, Any]]:
    return read_instances(like("data/devai/instances.jsonl"))[:4]


@pytest.fixture
def workspaces(instances: list[dict[str, Any]], tmp_path: Path) -> Path:
    root = tmp_path / "workspaces"
    for one in instances:
        for framework in collection.FRAMEWORKS:
            place = root / framework / one["task"]
            (place / "src").mkdir(parents=True)
            (place / "src" / "train.py").write_text(f"# {framework}\n" + "x = 1\n" * 4000)
            (place / "src" / "model.py").write_text("model = 2\n")
            (place / "weights.pt").write_bytes(b"\0" * 50)
    return root


def local_plan(folder: Path, address: str) -> Path:
    """The written plan with judges on loopback."""
    text = (folder / "plan.yaml").read_text(encoding="utf-8")
    head = text[: text.index("judges:\n")]
    lines = [
        f'  - {{name: {j}, model: openai-api/local/{j}, base_url: "{address}", price: {{input: 1, output: 1}}}}'
        for j in JUDGES
    ]
    (folder / "plan.yaml").write_text(head + "judges:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return folder / "plan.yaml"


def test_workspace_as_text(workspaces: Path, instances: list[dict[str, Any]], tmp_path: Path) -> None:
    place = workspaces / "MetaGPT" / instances[0]["task"]
    (tmp_path / "secret.txt").write_text("not for judges")
    (place / "src" / "link.py").symlink_to(tmp_path / "secret.txt")
    assert named_files(["Save `models/x.pt` by `src/train.py` with `numpy`."]) == ["models/x.pt", "src/train.py"]
    text = read_workspace(place, ["src/train.py", "src/model.py", "weights.pt", "results/a.txt"], budget=5000)
    assert "model = 2" in text
    assert "(binary, 50 bytes)" in text
    assert re.search(r"\(cut: [\d,]+ bytes in all\)", text)
    assert "Not there: results/a.txt" in text
    assert "not for judges" not in text
    assert len(text) < 5400


def test_translations_are_kept_and_edited(models: Models, tmp_path: Path) -> None:
    judge = parse_judge({"model": "openai-api/local/t", "name": "t", "base_url": url(models)})
    path = tmp_path / "Spanish.jsonl"
    first = translate({"a": "Save it as `x.pt`.", "b": "Load it."}, "Spanish", judge, path)
    assert first["a"].translation == "~ Save it as `x.pt`."
    assert (first["a"].alike, first["a"].lost, first["a"].doubtful) == (1.0, (), False)
    assert len(models.asked) == 4  # there and back
    edited = path.read_text().replace("~ Load it.", "Cargarlo.")
    path.write_text(edited)
    again = translate({"a": "Save it as `x.pt`.", "b": "Load it.", "c": "New `y.py`."}, "Spanish", judge, path)
    assert again["b"].translation == "Cargarlo."
    assert len(models.asked) == 6  # only the new one
    lossy = translate({"a": "Save it as `x.pt`."}, "Swahili", judge, tmp_path / "Swahili.jsonl")
    assert lossy["a"].lost == ("`x.pt`",)
    assert lossy["a"].doubtful
    path.write_text("{}\n")
    with refused(CollectError, "Spanish.jsonl", "line 1", "translation"):
        read_translations(path)
    with refused(CollectError, "gpt", "openai/gpt-4o"):
        parse_judge({"model": "gpt"})


def test_devai_from_instances_to_a_panel(
    models: Models, instances: list[dict[str, Any]], workspaces: Path, tmp_path: Path
) -> None:
    said = collection.translations(
        instances, ["English", "Spanish", "Arabic"], tmp_path / "said", "openai-api/local/t", url(models)
    )
    collection.write_devai(tmp_path / "devai", instances, workspaces, said, 3000, None)
    plan = load_plan(local_plan(tmp_path / "devai", url(models)))
    assert [x.name for x in plan.languages] == ["English", "Arabic", "Spanish"]
    requirements = sum(len(o["requirements"]) for o in instances)
    assert preview(plan).calls == requirements * 3 * 3 * 3  # frameworks, languages, judges
    models.asked.clear()
    summary = collect(plan, tmp_path / "run")
    assert summary.complete
    prompts = [r["messages"][-1]["content"] for r in models.asked]
    assert sum("~ " in p for p in prompts) == 2 * len(prompts) // 3
    panel = pj.read_panel(tmp_path / "run")
    assert (panel.shape, set(panel.systems)) == ((4, 3, 3), set(collection.FRAMEWORKS))
    verdicts = collection.run_verdicts(tmp_path / "run")
    assert len(verdicts) == requirements * 27
    scores = collection.task_scores(verdicts)
    one = scores.iloc[0]
    at = panel.tasks.index(one["task"]), panel.systems.index(one["framework"])
    cell = panel.languages.index(one["language"]), panel.judges.index(one["backbone"])
    assert panel.system_scores is not None
    assert one["score"] == pytest.approx(panel.system_scores[(*at, *cell)])
    strict = collection.task_scores(collection.honour(verdicts, instances))
    assert (strict["score"] <= scores["score"] + 1e-9).all()
    assert (strict["score"] < scores["score"]).any()
    written = collection.write_verdicts(tmp_path / "out", verdicts, instances)
    assert pd.read_csv(written[0]).columns.tolist() == JUDGMENT_COLUMNS


def test_prerequisites_count() -> None:
    task = {
        "task": "t",
        "requirements": [
            {"requirement_id": i, "criteria": "", "prerequisites": p} for i, p in enumerate([[], [0], [1], []])
        ],
    }
    rows = [("t", "f", "l", "b", i, v) for i, v in enumerate([0.0, 1.0, 1.0, 1.0])]
    verdicts = pd.DataFrame(rows, columns=JUDGMENT_COLUMNS)
    assert collection.honour(verdicts, [task])["satisfied"].tolist() == [0, 0, 0, 1]
    verdicts.loc[0, "satisfied"] = np.nan
    strict = collection.honour(verdicts, [task])["satisfied"]
    assert strict.isna().tolist() == [True, True, True, False]


def test_mrewardbench_as_the_paper_asked(models: Models, tmp_path: Path) -> None:
    folder = tmp_path / "plan"
    collection.write_mrewardbench(folder)
    plan = local_plan(folder, url(models))
    text = plan.read_text().replace("path: hub ", f"path: {tmp_path / 'bench'} ").replace("limit: 1500", "limit: 5")
    plan.write_text(text)
    codes = ("eng_Latn", "arb_Arab", "tur_Latn", "zho_Hans", "hin_Deva", "jpn_Jpan", "spa_Latn")
    for code in codes:
        (tmp_path / "bench" / code).mkdir(parents=True)
        rows = [
            {"id": i, "subset": "alpacaeval-easy", "language": code, "prompt": f"p{i}", "chosen": f"good {i}",
             "rejected": f"bad {i}", "chosen_model": "a", "rejected_model": "b"}
            for i in range(5)
        ]  # fmt: skip
        (tmp_path / "bench" / code / "raw.json").write_text(json.dumps(rows))
    assert collect(load_plan(plan), tmp_path / "run").complete
    sent = models.asked[0]
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert (sent["temperature"], sent["top_p"]) == (0, 1)
    assert sent.get("max_tokens", sent.get("max_completion_tokens")) == 2048
    prompts = [r["messages"][1]["content"] for r in models.asked]
    assert {re.search(r"Language code: (\S+)", p)[1] for p in prompts} == set(codes)  # type: ignore[index]
    assert all("Subset: alpacaeval-easy" in p and "<answer-" not in p for p in prompts)
    assert pj.read_panel(tmp_path / "run").shape == (5, 7, 3)


@pytest.mark.parametrize("name", ["agent-as-a-judge.yaml", "mrewardbench.yaml", "mrewardbench-english.yaml"])
def test_every_judge_of_the_shipped_plans_has_a_price(name: str, tmp_path: Path) -> None:
    from polyjudge.second.collect.cost import load_prices

    source = Path(collection.__file__).parents[1] / "collect" / "examples"
    shutil.copytree(source / "mrewardbench-english", tmp_path / "prompts")
    (tmp_path / name).write_text(collection.example(name))
    prices = load_prices(load_plan(tmp_path / name))
    assert all(price is not None for price in prices.by_judge.values())
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", prices.date)


def test_prepare_command(
    cli: Any,
    models: Models,
    instances: list[dict[str, Any]],
    workspaces: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("\n".join(json.dumps(one) for one in instances))
    asked = (
        "paper",
        "prepare",
        "devai",
        "--instances",
        tasks,
        "--workspaces",
        workspaces,
        "--languages",
        "English,Swahili",
    )
    lacking = cli(*asked, "--translations", tmp_path / "said", "-o", tmp_path / "one")
    assert lacking.returncode == 2
    assert "--translate" in lacking.stderr
    model = ("--translate", "openai-api/local/t", "--base-url", url(models))
    done = cli(*asked, "--translations", tmp_path / "said", *model, "-o", tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert "doubtful" in done.stderr  # Swahili lost its backticks
    assert {p.name for p in (tmp_path / "two").iterdir()} >= {"plan.yaml", "items.English.jsonl", "items.Swahili.jsonl"}
    monkeypatch.chdir(tmp_path)
    other = cli("paper", "prepare", "mrewardbench", "-o", "mrewardbench")  # the name of a benchmark is no file
    assert other.returncode == 0, other.stderr
    assert (tmp_path / "mrewardbench" / "prompts" / "en" / "rating.txt").exists()


def test_prompts_of_the_user_and_the_two_arm_control(
    cli: Any, instances: list[dict[str, Any]], workspaces: Path, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("\n".join(json.dumps(one) for one in instances))
    asked = (
        "paper",
        "prepare",
        "devai",
        "--instances",
        tasks,
        "--workspaces",
        workspaces,
        "--languages",
        "English,Swahili",
    )
    lacking = cli(*asked, "--shared", "--prompts", tmp_path / "prompts", "-o", tmp_path / "one")
    assert lacking.returncode == 2
    assert "checklist.txt" in lacking.stderr
    for language in ("English", "Swahili"):
        (tmp_path / "prompts" / language).mkdir(parents=True)
        text = f"{language}: {{prompt}} {{response}} {{requirement}}\n<SATISFIED> or <UNSATISFIED>?"
        (tmp_path / "prompts" / language / "checklist.txt").write_text(text)
    done = cli(*asked, "--shared", "--prompts", tmp_path / "prompts", "-o", tmp_path / "two")
    assert done.returncode == 0, done.stderr
    plan = load_plan(tmp_path / "two" / "plan.yaml")
    assert plan.items.shared
    assert [x.name for x in plan.languages] == ["English", "Swahili"]
    assert (tmp_path / "two" / "prompts" / "Swahili" / "checklist.txt").read_text().startswith("Swahili")
    assert plan.rubric.templates == "prompts"
    assert not (tmp_path / "two" / "items.Swahili.jsonl").exists()
