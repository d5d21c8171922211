"""Files that eval tools themselves wrote, in runs with mock judges, give the planted panel or a question."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import polyjudge.second as pj
from conftest import ROOT, need_tools
from eval_tools import planted
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.reading import Unclear
from refusals import refused

pytestmark = pytest.mark.slow
KEYS = ["task", "system", "language", "judge"]
LOST = ("q2", "base", "de")
"""What the judges of these runs fail to judge."""


def truth(*lost: tuple[str, str, str], points: float = 10) -> pd.Series[float]:
    """The planted scores, without those that were lost."""
    kept = [item for item in planted.items() if item not in lost]
    rows = [(*item, judge, planted.score(*item, judge) / points) for item in kept for judge in planted.JUDGES]
    return pd.DataFrame(rows, columns=[*KEYS, "score"]).set_index(KEYS)["score"].sort_index()


def same(panel: pj.Panel, want: pd.Series[float]) -> None:
    got = panel.to_long().dropna(subset="score").set_index(KEYS)["score"].sort_index()
    pd.testing.assert_series_equal(got, want, check_index_type=False, rtol=1e-12)
    able = pj.check(panel).answers.set_index("command")["able"]
    assert able.all()


@pytest.fixture(scope="session")
def runs() -> Path:
    """FOLDER/TOOL/...: what every tool wrote when `make tools` ran it."""
    return need_tools()


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_promptfoo(runs: Path, kind: str) -> None:
    """Tests that differ only in language are joined by the variable that does; what failed is missing, not zero."""
    panel = pj.read_panel(runs / "promptfoo" / f"rules.{kind}")
    same(panel, truth())
    assert panel.reading is not None
    assert panel.reading.options["--task"] == "vars.nr"
    same(pj.read_panel(runs / "promptfoo" / f"graders.{kind}"), truth(LOST, ("q3", "tuned", "sw")))


def test_promptfoos_table_of_joined_graders_is_refused(runs: Path) -> None:
    with refused(PanelError, "graders.csv", "results.json"):
        pj.read_panel(runs / "promptfoo" / "graders.csv")


@pytest.mark.parametrize("name", ["graders", "rules", "failing"])
def test_deepeval(runs: Path, name: str) -> None:
    """Models as judges, metrics as judges, and a judge that failed; cases without a name are joined by their origin."""
    same(
        pj.read_panel(str(runs / "deepeval" / f"{name}_*.json")),
        truth(*[LOST] * (name == "failing")),
    )
    saved = runs / "deepeval" / "saved"  # all runs that it kept, of two kinds of metrics
    with refused(Unclear, "--metric"):
        pj.read_panel(saved)


@pytest.mark.parametrize("name", ["traces.jsonl", "traces.csv", "frame.jsonl", "frame.json"])
def test_mlflow(runs: Path, name: str) -> None:
    """Traces without a task's name are joined by the tag that does; expectations and errors are no scores."""
    same(pj.read_panel(runs / "mlflow" / name), truth(LOST))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_ragas(runs: Path, kind: str) -> None:
    """The judge is nowhere in a table of results: it is asked for, and no text of an answer is proposed for it."""
    files = str(runs / "ragas" / f"[ms]*_*.{kind}")
    with pytest.raises(Unclear) as caught:
        pj.read_panel(files)
    asked = {q.values["role"]: q.values["candidates"] for q in caught.value.reading.questions}
    assert asked == {"judge": [], "score": ["quality"]}
    panel = pj.read_panel(files, judge_from="{judge}_*." + kind, score="quality")
    same(panel, truth(LOST, points=1))


def test_ragas_experiments_and_bare_tables(runs: Path) -> None:
    same(pj.read_panel(str(runs / "ragas" / "experiments" / "*.csv")), truth(points=1))
    with refused(Unclear, "--task", "--language", "--judge"):
        pj.read_panel(str(runs / "ragas" / "bare_*.csv"))


@pytest.mark.parametrize("name", ["phoenix.json", "langfuse.json", "openai_evals.jsonl"])
def test_what_clients_write_is_what_the_other_tests_read(runs: Path, name: str) -> None:
    """Records as the clients of Phoenix, Langfuse and OpenAI serialise them."""
    kept = ROOT / "tests" / "fixtures" / "tools" / name
    assert pj.read_panel(runs / "clients" / name).fingerprint == pj.read_panel(kept).fingerprint


def test_the_versions_are_those_of_the_page() -> None:
    """docs/read.md names the versions that `make tools` installs, and Inspect's of the tests' own environment."""
    pins = {}
    for name in ("test", "tools"):
        pins |= dict(re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / f"requirements/{name}.txt").read_text(), re.MULTILINE))
    pins |= json.loads((ROOT / "requirements/node/package.json").read_text())["dependencies"]
    packages = {"MLflow": "mlflow-skinny", "Inspect": "inspect-ai", "Phoenix": "arize-phoenix-client"}
    listed = re.findall(r"^\| (\w+) ([\d.]+) \|", (ROOT / "docs/read.md").read_text(), re.MULTILINE)
    assert {tool for tool, _ in listed} == {
        "promptfoo", "deepeval", "ragas", "MLflow", "Inspect", "Phoenix", "Langfuse", "OpenAI",
    }  # fmt: skip
    assert {tool: pins[packages.get(tool, tool.lower())] for tool, _ in listed} == dict(listed)
