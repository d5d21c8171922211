"""Inspect eval logs read as scores. The logs are written here by Inspect itself."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import polyjudge.second as pj
from conftest import ROOT
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.reading import Unclear
from refusals import refused

pytestmark = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="needs inspect-ai")


CHILD = ROOT / "src" / "polyjudge" / "read" / "child.py"


def value(task: int, language: str, judge: str, epoch: int = 1) -> float:
    return task + 10 * ["en", "ar"].index(language) + 100 * ["ja", "jb"].index(judge) + 0.25 * epoch


def write_logs(folder: Path, judge: str, tasks: int = 3, epochs: int = 1, language_in: str = "sample") -> None:
    """One log for each language, as Inspect writes them (sample ids are unique in a log)."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ModelConfig
    from inspect_ai.scorer import Score

    for language in ("en", "ar"):
        about = {"language": language}
        spec = EvalSpec(
            created="2026-01-01T00:00:00+00:00", task="judging", dataset=EvalDataset(), model="mockllm/model",
            config=EvalConfig(), model_roles={"grader": ModelConfig(model=f"mockllm/{judge}")},
            task_args=about if language_in == "task" else {},
        )  # fmt: skip
        samples = [
            EvalSample(
                id=f"t{task}", epoch=epoch, input="x", target="y", metadata=about if language_in == "sample" else {},
                scores={"graded": Score(value=value(task, language, judge, epoch))},
            )
            for task in range(tasks)
            for epoch in range(1, epochs + 1)
        ]  # fmt: skip
        write_eval_log(EvalLog(eval=spec, samples=samples, status="success"), str(folder / f"{judge}-{language}.eval"))


def test_eval_logs_become_a_panel(tmp_path: Path) -> None:
    write_logs(tmp_path, "ja", epochs=2)
    write_logs(tmp_path, "jb", epochs=2, language_in="task")
    panel = pj.read_panel(tmp_path)
    assert sorted(panel.tasks) == ["t0", "t1", "t2"]
    assert sorted(panel.languages) == ["ar", "en"]
    assert sorted(panel.judges) == ["mockllm/ja", "mockllm/jb"]
    assert panel.complete
    ordered = panel.select(["t0", "t1", "t2"], ["en", "ar"], ["mockllm/ja", "mockllm/jb"], ["1", "2"])
    assert ordered.replicate_scores is not None
    for index in np.ndindex(ordered.replicate_scores.shape):
        t, l, j, r = index  # noqa: E741
        assert ordered.replicate_scores[index] == value(t, ["en", "ar"][l], ["ja", "jb"][j], r + 1)
    one = sorted(tmp_path.glob("*.eval"))[0]
    one.write_bytes(b"not a log")
    with refused(PanelError, one.name):
        pj.read_panel(tmp_path)


@pytest.mark.usefixtures("read_here")
def test_logs_without_a_language_say_where_to_put_it(tmp_path: Path) -> None:
    write_logs(tmp_path, "ja", tasks=1, language_in="nowhere")
    for place, path in enumerate(sorted(tmp_path.glob("*.eval"))):
        path.rename(tmp_path / f"log{place}.eval")
    with refused(Unclear, "language", "--language", "metadata"):
        pj.read_panel(tmp_path)


def test_the_process_that_reads_logs_loads_nothing_of_the_package(tmp_path: Path) -> None:
    write_logs(tmp_path, "ja", tasks=1)
    log = next(tmp_path.glob("*.eval"))
    command = [sys.executable, "-X", "importtime", str(CHILD), str(1 << 31), "inspect", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert '"task": "t0"' in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert {name for name in loaded if name.partition(".")[0] == "polyjudge"} == set()


def test_values_that_are_no_numbers_are_missing() -> None:
    from polyjudge.second.read.child import number as _value

    assert (_value("C"), _value("I"), _value("0.5"), _value(True), _value(3)) == (1.0, 0.0, 0.5, 1.0, 3.0)
    assert np.isnan([_value("no idea"), _value(float("nan")), _value([1]), _value({"a": 1}), _value("[1]")]).all()
