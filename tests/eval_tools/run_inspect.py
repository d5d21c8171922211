"""Run Inspect with mock systems and mock graders, once as models in a list and once as scorers of our own.

python run_inspect.py FOLDER
"""

import os

import planted

FOLDER = planted.target()
os.environ |= {"INSPECT_LOG_FORMAT": "eval", "INSPECT_DISPLAY": "none"}

from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, model_graded_qa, scorer


def model(name: str, says: Any) -> Any:
    def answer(messages: Any, *_: Any) -> Any:
        out = ModelOutput.from_content(f"mockllm/{name}", says("\n".join(m.text for m in messages)))
        out.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return out

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def rule(judge: str) -> Any:
    @scorer(metrics=[mean()], name=judge)
    def build() -> Any:
        async def score(state: Any, target: Any) -> Any:
            return Score(value=planted.judged(state.output.completion, judge))

        return score

    return build()


def grades(judge: str) -> Any:
    """C from 5 on."""
    return model(judge, lambda text: "GRADE: " + ("C" if planted.judged(text, judge) >= 5 else "I"))


samples = [
    Sample(id=task, input=f"{task} {lang}", target="!", metadata={"language": lang})
    for task in planted.TASKS
    for lang in planted.LANGUAGES
]
for lang in planted.LANGUAGES:
    own = [s for s in samples if (s.metadata or {})["language"] == lang]
    for system in planted.SYSTEMS:
        says = model(system, lambda text, system=system: planted.answer(*text.split()[:1], system, text.split()[-1]))
        for kind, scorers in (
            ("rules", [rule(j) for j in planted.JUDGES]),
            ("graders", [model_graded_qa(model=grades(j)) for j in planted.JUDGES]),
            ("panel", model_graded_qa(model=[grades(j) for j in planted.JUDGES])),
        ):
            task = Task(dataset=MemoryDataset(own), scorer=scorers, name=f"{kind}_{lang}")
            eval(task, model=says, log_dir=str(FOLDER / kind))
