"""What a plan would do, without asking anybody: counts, example prompts, estimated tokens and cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.collect.adaptive import Expected, expected
from polyjudge.collect.calls import prepare
from polyjudge.collect.cost import Estimate, estimate, learnt_output
from polyjudge.collect.languages import phrases, shipped
from polyjudge.collect.plan import Plan
from polyjudge.collect.prompts import parts, render
from polyjudge.collect.store import FILE, damaged, open_store
from polyjudge.collect.tokens import characters
from polyjudge.core.arrays import Array
from polyjudge.core.results import Result

SAMPLE = 1000
"""Items whose prompts are measured; of more, this many evenly spaced ones stand for all."""


@dataclass(frozen=True, repr=False, eq=False)
class Preview(Result):
    """A plan seen before it runs. `prompts` has the first item's first prompt in every language; `answered` counts the
    calls that the run folder already holds; `unreviewed` are languages whose prompts no speaker has reviewed;
    `examples` is how many example answers the plan's parser read as it should; `expected` is for an adaptive run."""

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
    unreviewed: list[str]
    examples: int
    expected: Expected | None = None

    def to_frame(self) -> pd.DataFrame:
        return self.estimate.judges


def preview(
    plan: Plan,
    folder: str | Path | None = None,
    settings: dict[str, Any] | None = None,
    pilot: Array | None = None,
) -> Preview:
    """Check a plan and count what it would take. Makes no request and writes nothing.

    settings : of the rule, for an adaptive run
    pilot : earlier scores from which the adaptive run is simulated
    """
    work = prepare(plan)
    aligned = work.aligned
    counts: dict[str, int] = {}
    shown = []
    step = max(1, len(aligned) // SAMPLE)
    places = range(0, len(aligned), step)
    for place in places:
        item = aligned.item(place)
        for language in plan.languages:
            template = work.templates[language.name]
            for j, part in enumerate(parts(plan, tuple(line[0] for line in aligned.lines(place)))):
                text = render(plan, template, item, language.name, part)
                for code, n in characters(text, language.template).items():
                    counts[code] = counts.get(code, 0) + n * plan.repeats
                if place == j == 0:
                    shown.append((language.name, item.name.task, part, text))
    counts = {code: round(n * len(aligned) / len(places)) for code, n in counts.items()}
    answered, learnt = 0, {}
    if folder is not None and (Path(folder) / FILE).is_file():
        con = open_store(Path(folder))
        with damaged(Path(folder) / FILE):
            answered = con.execute(
                "select count(*) from a join i using (task, system, replicate) where place >= 0"
            ).fetchone()[0]
            learnt = learnt_output(con)
        con.close()
    own = plan.rubric.templates is not None
    codes = {} if own else {language.name: shipped(language.template) or "en" for language in plan.languages}
    costs = estimate(plan, work.prices, work.calls, counts, learnt)
    return Preview(
        plan.name,
        len({name.task for name in aligned.names}),
        len(aligned),
        [language.name for language in plan.languages],
        [judge.name for judge in plan.judges],
        work.calls * len(plan.judges),
        answered,
        [list(d) for d in aligned.dropped],
        costs,
        pd.DataFrame(shown, columns=["language", "task", "part", "prompt"]),
        [name for name, code in codes.items() if not phrases(code)["reviewed"]],
        len(plan.rubric.examples),
        None if settings is None else expected(plan, settings, costs, pilot),
    )
