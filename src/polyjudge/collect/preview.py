"""What a plan would do, without asking anybody: counts, example prompts, estimated tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.collect.adaptive import Expected, expected
from polyjudge.collect.askers import make_asker
from polyjudge.collect.calls import Work, prepare
from polyjudge.collect.cost import Learnt, Prices, characters, expected_output, learnt_output, tokens
from polyjudge.collect.languages import phrases, shipped
from polyjudge.collect.models import Problem
from polyjudge.collect.plan import Plan
from polyjudge.collect.prompts import parts, render
from polyjudge.collect.store import FILE, damaged, open_store
from polyjudge.panel.arrays import Array
from polyjudge.report.result import Result

SAMPLE = 1000
"""Items whose prompts are measured; of more, this many evenly spaced ones stand for all."""


@dataclass(frozen=True, repr=False, eq=False)
class Estimate(Result):
    """What a run will take: calls, tokens and dollars per judge. `input_low`, `input_high`, `cost_low` and `cost_high`
    are the range of what may come: a third either way for a measured tokenizer, from the leanest to the largest
    otherwise. The output is a guess, or what was learnt from the run so far (`learnt`), and has no range."""

    judges: pd.DataFrame
    price_date: str


def estimate(
    plan: Plan, prices: Prices, calls: int, characters: dict[str, int], learnt: Mapping[str, Learnt]
) -> Estimate:
    """The estimate for `calls` calls to every judge with these characters in all of their prompts."""
    rows = []
    for judge in plan.judges:
        sizes = tokens(characters, judge.model)
        output = calls * (learnt[judge.name].mean if judge.name in learnt else expected_output(judge, plan))
        costs = [prices.cost(judge.name, size, output, batch=judge.batch) for size in sizes]
        counted = (calls, *map(round, sizes), round(output), judge.name in learnt, judge.batch)
        rows.append((judge.name, judge.model, *counted, *costs))
    columns = ["judge", "model", "calls", "input_tokens", "input_low", "input_high", "output_tokens", "learnt", "batch"]
    money = ["cost", "cost_low", "cost_high"]
    return Estimate(pd.DataFrame(rows, columns=columns + money).astype(dict.fromkeys(money, float)), prices.date)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Preview(Result):
    """A plan seen before it runs. `prompts` has the first item's first prompt in every language; `answered` counts the
    calls that the run folder already holds; `unreviewed` are languages whose prompts no speaker has reviewed;
    `examples` is how many example answers the plan's parser read as it should; `expected` is for an adaptive run.
    `probes` has what the plan's probes take of it: tasks, versions, calls, cost (None without prices), and shares
    discarded by language. `unusable` has the judges that cannot be asked as they are set up, and why; `one_rubric` the
    languages whose prompts hold criteria written for another."""

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
    probes: dict[str, Any] | None = None
    unusable: dict[str, str] = field(default_factory=dict)
    one_rubric: list[str] = field(default_factory=list)

    def to_frame(self) -> pd.DataFrame:
        return self.estimate.judges


def preview(
    plan: Plan, folder: str | Path | None = None, settings: dict[str, Any] | None = None, pilot: Array | None = None,
    send_key: Sequence[str] = (),
) -> Preview:  # fmt: skip
    """Check a plan and count what it would take. Makes no request and writes nothing.

    settings : of the rule, for an adaptive run
    pilot : earlier scores from which the adaptive run is simulated
    """
    work = prepare(plan)
    aligned = work.aligned
    shown: list[tuple[str, str, str, str]] = []
    own = len(aligned) if aligned.first_version is None else aligned.first_version
    counts = _characters(work, range(0, own, max(1, own // SAMPLE)), own, shown)
    versions = _characters(work, range(own, len(aligned)), len(aligned) - own, shown)
    counts = {code: counts.get(code, 0) + versions.get(code, 0) for code in {**counts, **versions}}
    answered, learnt = 0, dict[str, Learnt]()
    if folder is not None and (Path(folder) / FILE).is_file():
        here = "select count(*) from answers join items using (task, system, replicate) where place >= 0"
        with closing(open_store(Path(folder))) as con, damaged(Path(folder) / FILE):
            answered, learnt = con.execute(here).fetchone()[0], learnt_output(con)
    own = plan.rubric.templates is not None
    codes = {} if own else {language.name: shipped(language.template) or "en" for language in plan.languages}
    costs = estimate(plan, work.prices, work.calls, counts, learnt)
    return Preview(
        name=plan.name,
        tasks=len({name.task for name in aligned.names}),
        items=len(aligned),
        languages=[language.name for language in plan.languages],
        judges=[judge.name for judge in plan.judges],
        calls=work.calls * len(plan.judges),
        answered=answered,
        dropped=[list(d) for d in aligned.dropped],
        estimate=costs,
        prompts=pd.DataFrame(shown, columns=["language", "task", "part", "prompt"]),
        unreviewed=[name for name, code in codes.items() if not phrases(code)["reviewed"]],
        examples=len(plan.rubric.examples),
        expected=None if settings is None else expected(work, settings, costs, pilot),
        probes=_probes(work, versions, learnt),
        unusable=unusable_judges(plan, send_key),
        one_rubric=one_rubric(plan),
    )


def unusable_judges(plan: Plan, send_key: Sequence[str]) -> dict[str, str]:
    """Judges that cannot be asked at all: an unknown provider, no key, no address, no such function. Asks nobody."""
    out = {}
    for judge in plan.judges:
        try:
            make_asker(judge, plan, None, send_key)
        except Problem as problem:
            out[judge.name] = problem.message
    return out


def one_rubric(plan: Plan) -> list[str]:
    """Languages whose prompts hold criteria that are one text for all languages, so of another language."""
    criteria, own = plan.rubric.criteria, plan.languages[0].template
    texts = [c.text for c in criteria] if isinstance(criteria, tuple) else [criteria]
    if not any(isinstance(text, str) for text in texts):
        return []
    english = all(text.isascii() for text in texts if isinstance(text, str))
    return [x.name for x in plan.languages if x.template != own or (english and (shipped(x.template) or "en") != "en")]


def _characters(work: Work, places: range, stands_for: int, shown: list[tuple[str, str, str, str]]) -> dict[str, int]:
    """Characters by script of the prompts at `places`, which stand for so many items."""
    plan, counts = work.plan, dict[str, int]()
    for place in places:
        item = work.aligned.item(place)
        for language in plan.languages:
            template = work.templates[language.name]
            for j, part in enumerate(parts(plan, tuple(line[0] for line in work.aligned.lines(place)))):
                text = render(plan, template, item, language.name, part)
                for code, n in characters(text, language.template).items():
                    counts[code] = counts.get(code, 0) + n * plan.repeats
                if place == j == 0:
                    shown.append((language.name, item.name.task, part, text))
    return {code: round(n * stands_for / max(1, len(places))) for code, n in counts.items()}


def _probes(work: Work, versions: dict[str, int], learnt: dict[str, Learnt]) -> dict[str, Any] | None:
    """What the probes take: their share of the calls and of the cost."""
    aligned = work.aligned
    if aligned.probes is None or aligned.first_version is None:
        return None
    calls = sum(work.size(place) for place in range(aligned.first_version, len(aligned)))
    cost = estimate(work.plan, work.prices, calls, versions, learnt).judges["cost"]
    return {
        "tasks": aligned.probes.tasks,
        "versions": len({name.system for name in aligned.names[aligned.first_version :]}),
        "calls": calls * len(work.plan.judges),
        "cost": float(cost.sum()) if cost.notna().all() else None,
        "discarded": aligned.probes.lost(),
        "short": list(aligned.probes.short),
    }
