"""What a plan would do, without asking anybody: counts, example prompts, estimated tokens and cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from polyjudge.collect.cost import Estimate, estimate, estimate_tokens
from polyjudge.collect.plan import Plan
from polyjudge.collect.prompts import item_prompts
from polyjudge.collect.runner import prepare
from polyjudge.collect.store import FILE, open_store
from polyjudge.core.results import Result


@dataclass(frozen=True, repr=False, eq=False)
class Preview(Result):
    """A plan seen before it runs. `prompts` has the first item's first prompt in every language; `answered` counts the
    calls that the run folder already holds."""

    name: str
    tasks: int
    items: int
    languages: list[str]
    judges: list[str]
    calls: int
    answered: int
    dropped: list[list[str]]
    estimate: Estimate
    prompts: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        return self.estimate.judges


def preview(plan: Plan, folder: str | Path | None = None) -> Preview:
    """Check a plan and count what it would take. Makes no request and writes nothing."""
    work = prepare(plan)
    items = work.aligned.items
    calls, tokens = 0, 0.0
    shown = []
    for i, item in enumerate(items):
        for language in plan.languages:
            for j, prompt in enumerate(item_prompts(plan, work.templates, item, language.name)):
                calls += plan.repeats
                tokens += plan.repeats * estimate_tokens(prompt.text)
                if i == j == 0:
                    shown.append((language.name, item.task, prompt.part, prompt.text))
    answered = 0
    if folder is not None and (Path(folder) / FILE).is_file():
        con = open_store(Path(folder))
        answered = con.execute("select count(*) from answers").fetchone()[0]
        con.close()
    return Preview(
        plan.name,
        len({item.task for item in items}),
        len(items),
        [language.name for language in plan.languages],
        [judge.name for judge in plan.judges],
        calls * len(plan.judges),
        answered,
        [list(d) for d in work.aligned.dropped],
        estimate(plan, work.prices, calls, tokens),
        pd.DataFrame(shown, columns=["language", "task", "part", "prompt"]),
    )
