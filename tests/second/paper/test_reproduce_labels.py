"""The DevAI panel beside human labels, requirement types, and fetching them."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from conftest import shared_file
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.paper import inputs as sources
from polyjudge.second.paper.fetch import LABELS_COMMIT, FetchError, fetch_labels
from polyjudge.second.paper.follow_up import OWN, agrees, follow_up
from polyjudge.second.paper.human_labels import check_labels, read_labels
from polyjudge.second.paper.published import data
from polyjudge.second.paper.requirements import (
    GROUPS,
    ablate_types,
    read_instances,
    read_judgments,
    requirement_dawid_skene,
    slice_panel,
    typed,
)
from polyjudge.second.paper.run import reproduce
from polyjudge.second.questions.audit.orders import rank_reversals
from refusals import refused


@pytest.fixture(scope="module")
def panel(devai_like_path: Path) -> pj.Panel:
    return sources.devai_panel(devai_like_path)


@pytest.fixture(scope="module")
def instances(like: Callable[[str], Path]) -> list[dict[str, Any]]:
    return read_instances(like("data/devai/instances.jsonl"))


@pytest.fixture(scope="module")
def labels(panel: pj.Panel, like: Callable[[str], Path]) -> pd.DataFrame:
    return read_labels(like("data/devai/human_labels.csv"), panel)


@pytest.mark.real_data
def test_the_panel_hardly_sees(devai_path: Path, panel: pj.Panel, labels: pd.DataFrame) -> None:
    check = check_labels(panel, labels)
    assert check.signal.verdict == "do not agree"
    assert check.signal.mean_one == pytest.approx(0.005, abs=0.001)
    assert check.panel["r"] == pytest.approx(0.033, abs=0.001)
    assert check.panel["low"] < 0 < check.panel["high"]
    assert (check.helped + check.hurt + check.unclear, check.helped > check.hurt > 0) == (48, True)


def test_agreement_is_a_plain_correlation(panel: pj.Panel, labels: pd.DataFrame) -> None:
    check = check_labels(panel, labels, resamples=200)
    human = labels.groupby(["task", "framework"])["satisfied"].mean()
    assert panel.replicate_scores is not None
    mine = panel.replicate_scores[:, 3, 2]
    plain = np.corrcoef(mine.ravel(), [human[t, f] for t in panel.tasks for f in panel.replicates])[0, 1]
    row = check.cells[(check.cells["language"] == panel.languages[3]) & (check.cells["judge"] == panel.judges[2])]
    assert row["r"].item() == pytest.approx(plain)
    assert len(check.cells) == 48 + 8 + 6 + 1
    assert check.helped + check.hurt + check.unclear == 48


def test_a_panel_that_copies_the_humans_sees(panel: pj.Panel, labels: pd.DataFrame) -> None:
    human = labels.groupby(["task", "framework"])["satisfied"].mean().mul(100).unstack()
    truth = human.loc[list(panel.tasks), list(panel.replicates)].to_numpy()
    noise = np.random.default_rng(0).normal(0, 5, (55, 8, 6, 3))
    axes = (panel.tasks, panel.languages, panel.judges, panel.replicates)
    copy = pj.Panel.from_array(truth[:, None, None, :] + noise, *axes, declared_range=(-50, 150))
    check = check_labels(copy, labels, resamples=200)
    assert check.signal.verdict == "agree"
    assert check.panel["low"] > 0.95


def test_bad_labels_are_refused(panel: pj.Panel, labels: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    for table, named in (
        (labels[labels["task"] != panel.tasks[0]], (3, panel.tasks[0], "MetaGPT")),
        (labels.assign(satisfied=2), ("satisfied", 0, 1)),
        (labels.drop(columns="framework"), ("framework", "task, requirement_id")),
    ):
        table.to_csv(path, index=False)
        with refused(PanelError, "labels.csv", *named):
            read_labels(path, panel)


@pytest.mark.real_data
def test_types_give_the_published_counts(devai_path: Path, instances: list[dict[str, Any]]) -> None:
    known = typed(instances)
    assert len(known) == 365
    assert [(known["type"] == t).sum() for types in GROUPS.values() for t in types] == [62, 20, 64, 50]
    assert [known[known["type"].isin(types)]["task"].nunique() for types in GROUPS.values()] == [54, 51]


def made_verdicts(panel: pj.Panel, instances: list[dict[str, Any]], labels: pd.DataFrame) -> pd.DataFrame:
    """Verdicts with the released task scores: as many as the score says, those first that the humans gave."""
    sizes = {i["task"]: [int(r["requirement_id"]) for r in i["requirements"]] for i in instances}
    liked = {(t, f): dict(zip(g["requirement_id"], g["satisfied"], strict=True))
             for (t, f), g in labels.groupby(["task", "framework"])}  # fmt: skip
    assert panel.replicate_scores is not None
    rows = []
    for (t, k, m, f), score in np.ndenumerate(panel.replicate_scores):
        task, framework = panel.tasks[t], panel.replicates[f]
        ids = sorted(sizes[task], key=lambda r: (-liked[task, framework].get(r, 0), r))
        met = round(score / 100 * len(ids))
        rows += [(task, framework, panel.languages[k], panel.judges[m], r, int(i < met)) for i, r in enumerate(ids)]
    return pd.DataFrame(rows, columns=["task", "framework", "language", "backbone", "requirement_id", "satisfied"])


@pytest.mark.real_data
def test_ablation_by_type_from_verdicts(
    panel: pj.Panel, instances: list[dict[str, Any]], labels: pd.DataFrame, devai_path: Path, tmp_path: Path
) -> None:
    verdicts = made_verdicts(panel, instances, labels)
    verdicts.to_csv(tmp_path / "verdicts.csv", index=False)
    read = read_judgments(tmp_path / "verdicts.csv", typed(instances), panel)
    everything = slice_panel(read.assign(type="x"), panel, ("x",))
    assert np.abs(everything.scores - panel.scores).max() < 1e-9  # all requirements together are the released scores
    tau = ablate_types(read, panel)
    # The tasks of a group, its rows averaged, by hand for one cell.
    part = slice_panel(read, panel, GROUPS["semantic"])
    mine = read[read["type"].isin(GROUPS["semantic"]) & (read["language"] == "Hindi") & (read["backbone"] == "Qwen")]
    mean = mine.groupby("task")["satisfied"].mean().mul(100)
    assert part.scores[7, 4, 5] == pytest.approx(mean[part.tasks[7]])
    assert len(part.tasks) == 51
    assert all(-1 <= x <= 1 for row in tau.values() for x in row.values())
    assert tau["semantic"]["cbc"] > tau["semantic"]["raw"]
    result = reproduce(
        "devai",
        devai_path,
        instances=shared_file("data/devai/instances.jsonl"),
        judgments=tmp_path / "verdicts.csv",
    )
    rows = result.ledger.rows.set_index("key")["computed"]
    assert rows["requirement_types > semantic > cbc"] == tau["semantic"]["cbc"]
    # Made verdicts are not the published ones, and the ledger says so.
    assert "requirement_types > operational > raw" in set(result.ledger.differs["key"])


@pytest.mark.real_data
def test_the_authors_folder_of_verdicts_is_read(
    panel: pj.Panel, instances: list[dict[str, Any]], labels: pd.DataFrame, devai_path: Path, tmp_path: Path
) -> None:
    """Their layout, one file for each run, with made verdicts: the same numbers as from one CSV file."""
    known = typed(instances)
    made_verdicts(panel, instances, labels).to_csv(tmp_path / "all.csv", index=False)
    assert 0 < requirement_dawid_skene(read_judgments(tmp_path / "all.csv", known, panel), panel) <= 1
    panel = panel.select(languages=panel.languages[:2])  # a quarter of the files
    verdicts = made_verdicts(panel, instances, labels)
    folders = {judge: model for model, judge in data("requirements")["folders"].items()}
    for (judge, language, framework, task), rows in verdicts.groupby(["backbone", "language", "framework", "task"]):
        place = tmp_path / "judgments" / folders[judge] / language / framework / "gray_box"
        place.mkdir(parents=True, exist_ok=True)
        stats = [{"requirement_index": int(r), "satisfied": bool(s)}
                 for r, s in zip(rows["requirement_id"], rows["satisfied"], strict=True)]  # fmt: skip
        (place / f"{task}.json").write_text(json.dumps({"name": task, "judge_stats": stats}))
    verdicts.to_csv(tmp_path / "verdicts.csv", index=False)
    columns = ["task", "framework", "language", "backbone", "requirement_id", "satisfied", "type"]
    read = [
        read_judgments(tmp_path / name, known, panel)[columns].sort_values(columns[:5], ignore_index=True)
        for name in ("judgments", "verdicts.csv")
    ]
    pd.testing.assert_frame_equal(*read)
    broken = tmp_path / "judgments" / "gpt-4o" / "English" / "MetaGPT" / "gray_box"
    first = sorted(broken.glob("*.json"))[0]
    text = first.read_text()
    first.write_text(json.dumps({"name": first.stem, "judge_stats": [{"requirement_index": 0, "satisfied": True}]}))
    with refused(PanelError, "released score"):
        read_judgments(tmp_path / "judgments", known, panel)
    first.write_text("{}")
    with refused(PanelError, first.name, "judge_stats"):
        read_judgments(tmp_path / "judgments", known, panel)
    first.unlink()
    with refused(PanelError, 1979, "gray_box"):
        read_judgments(tmp_path / "judgments", known, panel)
    first.write_text(text)


@pytest.mark.real_data
def test_later_figures_of_the_authors(panel: pj.Panel, devai_path: Path, tmp_path: Path) -> None:
    """All but three print as theirs; those three come from resamples."""
    repeats = pd.DataFrame(
        [(t, lang, b, r, 10.0 * r) for t in range(2) for lang in "xy" for b in "uv" for r in range(3)],
        columns=["task", "language", "evaluator", "repeat", "score"],
    )
    repeats.to_csv(tmp_path / "replication_scores.csv", index=False)
    table = follow_up(panel, rank_reversals(panel), tmp_path / "replication_scores.csv").set_index("quantity")
    assert table.loc["repeat calls: mean sd", "computed"] == pytest.approx(10)
    assert table.loc["repeat calls: ratio to the largest cell", "computed"] == pytest.approx(10 / 20.6058, abs=1e-4)
    rest = table[table["authors_later"].notna() & ~table.index.str.startswith("repeat calls")]
    assert len(rest) == 65
    off = rest[rest["agrees"] != "yes"]
    assert set(off.index) == {
        "gate 25: GPT-4o, localised less English",
        "gate 25: Gemini, localised less English",
        "gate 25: reduction on left-out tasks",
    }
    assert (off["computed"] - off["authors_later"]).abs().max() < 0.2
    assert table.loc[f"{OWN}: Spearman", "computed"] == pytest.approx(0.923, abs=0.0005)
    assert table.loc[f"{OWN}: sign changes", "computed"] == 0
    assert (agrees(1.5, 1.5501), agrees(1.5, 1.5499), agrees(3.0, 2.96), agrees(None, 1.0)) == ("no", "yes", "yes", "")


class Upstream(http.server.ThreadingHTTPServer):
    """The benchmark's repository: one file for each task, and for each task and framework."""

    files: dict[str, bytes]
    asked = 0


class Handler(http.server.BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        self.server.asked += 1
        body = self.server.files.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def upstream(instances: list[dict[str, Any]], labels: pd.DataFrame) -> Iterator[Upstream]:
    root = f"/{LABELS_COMMIT}/benchmark"
    files = {f"{root}/devai/instances/{i['task']}.json": json.dumps(i).encode() for i in instances}
    for (task, framework), rows in labels.groupby(["task", "framework"]):
        body = {"requirements": rows[["requirement_id", "satisfied"]].to_dict("records")}
        files[f"{root}/judgment/{framework}/human_as_a_judge/{task}.json"] = json.dumps(body).encode()
    with Upstream(("127.0.0.1", 0), Handler) as server:
        server.files = files
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def test_requirements_and_labels_are_fetched_once(
    upstream: Upstream,
    panel: pj.Panel,
    instances: list[dict[str, Any]],
    labels: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("POLYJUDGE_CACHE", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    source = f"http://127.0.0.1:{upstream.server_address[1]}"
    lost = next(iter(upstream.files))
    body = upstream.files.pop(lost)
    with refused(FetchError, 404, Path(lost).name):
        fetch_labels(panel.tasks, panel.replicates, source=source)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    upstream.files[lost] = body
    found, human = fetch_labels(panel.tasks, panel.replicates, source=source)
    assert typed(read_instances(found)).equals(typed(instances))
    columns = ["task", "framework", "requirement_id", "satisfied"]
    both = [t[columns].sort_values(columns).reset_index(drop=True) for t in (read_labels(human, panel), labels)]
    assert both[0].equals(both[1])
    asked = upstream.asked
    assert fetch_labels(panel.tasks, panel.replicates, source=source) == (found, human)
    assert upstream.asked == asked
