"""Run deepeval: GEval with mock models as judges, and metrics of our own without a model; test runs as it saves them.

python run_deepeval.py FOLDER
"""

import os

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_DISABLE_DOTENV": "1", "DEEPEVAL_NO_INSPECT_PROMPT": "1"}

import json
from pathlib import Path
from typing import Any

import planted

FOLDER = planted.target()
os.chdir(FOLDER)  # it keeps state where it runs

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric, GEval
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams


class Judge(DeepEvalBaseLLM):
    """A model that says what was planted, or fails where it is told to."""

    def __init__(self, name: str, fails: str = "") -> None:
        self.name, self.fails = name, fails
        super().__init__(name)

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def get_model_name(self, *_: Any, **__: Any) -> str:
        return self.name

    def generate(self, prompt: str, *_: Any, **__: Any) -> str:
        if self.fails and self.fails in prompt:
            raise RuntimeError("the judge is down")
        return json.dumps({"score": planted.judged(prompt, self.name), "reason": "planted"})

    async def a_generate(self, prompt: str, *_: Any, **__: Any) -> str:
        return self.generate(prompt)


class Rule(BaseMetric):
    """A metric of our own, without a model."""

    threshold = 0.5

    def __init__(self, name: str) -> None:
        self.name = name

    def measure(self, case: LLMTestCase, *_: Any, **__: Any) -> float:
        self.score = planted.judged(case.actual_output or "", self.name) / 10
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case: LLMTestCase, *_: Any, **__: Any) -> float:
        return self.measure(case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:  # type: ignore[override]
        return self.name


def run(name: str, metrics: list[Any], named: bool, key: str) -> None:
    """A test run for each system; cases have a name of their own, or none."""
    for system in planted.SYSTEMS:
        cases = [
            LLMTestCase(
                input=planted.question(task, language),
                actual_output=planted.answer(task, system, language),
                name=task if named else None,
                metadata={"language": language, key: task},
            )
            for task, own, language in planted.items()
            if own == system
        ]
        evaluate(
            cases,
            metrics,
            hyperparameters={"model": system},
            async_config=AsyncConfig(run_async=False),
            display_config=DisplayConfig(
                show_indicator=False, print_results=False, inspect_after_run=False, results_folder=str(FOLDER / "saved")
            ),
            cache_config=CacheConfig(write_cache=False),
            error_config=ErrorConfig(ignore_errors=True),
        )
        latest = Path(".deepeval/.latest_run_full.json")
        (FOLDER / f"{name}_{system}.json").write_bytes(latest.read_bytes())


def quality(judge: Judge) -> GEval:
    params = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]
    return GEval(name="Quality", evaluation_steps=["Is it good?"], evaluation_params=params, model=judge)


run("graders", [quality(Judge(name)) for name in planted.JUDGES], named=True, key="origin")
run("rules", [Rule(name) for name in planted.JUDGES], named=False, key="origin")
lost = planted.answer("q2", "base", "de")
run("failing", [quality(Judge(name, lost)) for name in planted.JUDGES], named=True, key="origin")
