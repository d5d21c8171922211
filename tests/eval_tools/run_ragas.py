"""Score answers with ragas and mock models as judges; its tables as users save them, and an experiment as it saves it.

python run_ragas.py FOLDER
"""

import os

import planted

FOLDER = planted.target()
os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "TQDM_DISABLE": "1"}

import asyncio
import json
import warnings
from typing import Any

warnings.simplefilter("ignore")

from langchain_core.outputs import Generation, LLMResult
from ragas import Dataset, EvaluationDataset, SingleTurnSample, evaluate, experiment
from ragas.llms import BaseRagasLLM
from ragas.metrics import SimpleCriteriaScore
from ragas.metrics.numeric import numeric_metric
from ragas.run_config import RunConfig


class Judge(BaseRagasLLM):
    """A model that says what was planted; one answer it cannot judge."""

    def __init__(self, name: str, fails: str = "") -> None:
        super().__init__(run_config=RunConfig(max_retries=1))
        self.name, self.fails = name, fails

    def generate_text(self, prompt: Any, *_: Any, **__: Any) -> LLMResult:
        text = prompt.to_string()
        if self.fails and self.fails in text:
            raise RuntimeError("the judge is down")
        said = json.dumps({"reason": "planted", "score": planted.judged(text, self.name)})
        return LLMResult(generations=[[Generation(text=said)]])

    async def agenerate_text(self, prompt: Any, *_: Any, **__: Any) -> LLMResult:
        return self.generate_text(prompt)

    def is_finished(self, response: LLMResult) -> bool:
        return True


def tables() -> None:
    """A table of results for each judge and system, with the columns that users add."""
    for judge in planted.JUDGES:
        for system in planted.SYSTEMS:
            own = [item for item in planted.items() if item[1] == system]
            samples = [
                SingleTurnSample(user_input=planted.question(t, lang), response=planted.answer(t, s, lang))
                for t, s, lang in own
            ]
            model = Judge(judge, planted.answer("q2", "base", "de"))
            metric = SimpleCriteriaScore(name="quality", definition="From 0 to 10: is it good?", llm=model)
            result = evaluate(
                EvaluationDataset(samples=samples),
                [metric],
                llm=model,
                show_progress=False,
                run_config=RunConfig(max_retries=1, max_wait=1),
            )
            frame = result.to_pandas()
            frame["question_id"], frame["language"] = [t for t, _, _ in own], [lang for _, _, lang in own]
            frame["system"] = system
            frame.to_csv(FOLDER / f"{judge}_{system}.csv", index=False)
            frame.to_json(FOLDER / f"{judge}_{system}.jsonl", orient="records", lines=True)
            result.to_pandas().to_csv(FOLDER / f"bare_{judge}_{system}.csv", index=False)


async def experiments() -> None:
    """An experiment for each judge: the rows that its function returns, in the file that ragas writes."""

    @numeric_metric(name="quality", allowed_values=(0, 10))
    def quality(response: str, judge: str) -> float:
        return float(planted.judged(response, judge))

    dataset: Dataset[Any] = Dataset(name="answers", backend="local/csv", root_dir=str(FOLDER))
    for task, system, language in planted.items():
        dataset.append({"question_id": task, "system": system, "language": language})
    dataset.save()
    for judge in planted.JUDGES:

        @experiment()
        async def run(row: dict[str, Any], judge: str = judge) -> dict[str, Any]:
            response = planted.answer(row["question_id"], row["system"], row["language"])
            found = await quality.ascore(response=response, judge=judge)
            return {**row, "response": response, "judge": judge, "score": found.value}

        await run.arun(dataset, name=judge)


asyncio.run(experiments())
tables()
