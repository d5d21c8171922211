"""`collect`: run the judges of a plan and keep every answer (docs/collect.md).

Here is what needs no extra, so that help works without Inspect; the rest is imported when a plan is run.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from polyjudge.base.errors import UsageError
from polyjudge.base.text import count, names, shell
from polyjudge.base.text import name as shown
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.collect.plan import Plan

ODD = re.compile(r"[#?\0-\x1f\x7f]|%[0-9a-f]{2}", re.I)
"""What Inspect loses in the path of a log."""


@dataclass(frozen=True)
class Collection(Result):
    """What was collected.

    kind : "run", "dry run" (counts and costs are estimates) or "check" (one call per judge and language)
    judges : judge, model, calls, scored, input_tokens, output_tokens, cost (dollars)
    cells : judge, language, calls, scored, refused, unreadable, failed, not asked
    prompts : of a dry run, the first prompt in each language
    """

    name: str
    kind: str
    calls: int
    scored: int
    cost: float | None
    judges: pd.DataFrame
    cells: pd.DataFrame
    findings: tuple[Finding, ...]
    folder: str = ""
    by: str = "language"
    has_probes: bool = False
    has_orders: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def incomplete(self) -> bool:
        """Whether the command ends with 1: a score is missing."""
        return self.scored < self.calls and self.kind != "dry run"

    def report(self) -> Report:
        """The answer as it is shown."""
        known = {"judge": "name", "model": "name", "language": "name", "cost": "number"}
        board, cells = ({str(c): known.get(str(c), "count") for c in x} for x in (self.judges, self.cells))
        title = "By judge and language"
        sections = [Section("cells", title, tables=(Table("cells", title, self.cells, cells),))]
        sections += [Section("prompt", f"First prompt in {shown(x)}", (text,)) for x, text in self.prompts.items()]
        by = "" if self.by == "language" else f" --by {self.by}"
        step = Step(f"polyjudge audit {shell(self.folder)}{by}", "audit the scores")
        heading = f"{ {'run': 'Run', 'check': 'Check'}.get(self.kind, 'Plan') }: {shown(self.name)}"
        table = Table("judges", "Judges", self.judges, board, {"cost": "dollars"})
        probing = Step(f"polyjudge probe {shell(self.folder)}", "see whether judges notice damage")
        ordered = Step(f"polyjudge audit {shell(f'{self.folder}/orders.csv')}", "see which answer wins in which order")
        wanted = ((step, True), (ordered, self.has_orders), (probing, self.has_probes))
        next_steps = tuple(x for x, is_wanted in wanted if is_wanted and self.kind == "run" and self.scored)
        return Report("collect", heading, (), self.findings, table, next_steps, tuple(sections))


def collect(
    plan: Path, *, output: Path | None = None, dry_run: bool = False, check: bool = False, max_cost: float | None = None
) -> Collection:
    """Run the judges of a plan and keep every answer.

    The same command continues a run that was stopped, also by kill -9: what was answered is not asked again. Calls are
    made by Inspect, and the logs in RUN/logs open in `inspect view`.

    plan : YAML or JSON: languages, items, rubric and judges (docs/collect.md)
    output : folder of the run, created or resumed
    dry_run : count calls, tokens and dollars, show the prompts (--full); nobody is asked
    check : one call per judge and language; nothing is kept
    max_cost : stop before the run has cost more than so many dollars; every judge needs a price and max_tokens

    Examples:
        polyjudge collect plan.yaml --dry-run
        polyjudge collect plan.yaml --check
        polyjudge collect plan.yaml -o run/ --max-cost 20
        polyjudge audit run/
    """
    _check_arguments(output, dry_run or check, max_cost)
    from polyjudge.collect.plan import load_plan  # says which extra is missing

    read = load_plan(plan)
    if max_cost is not None:
        _check_prices(read)
    from polyjudge.collect.journal import ANSWERS, Journal
    from polyjudge.collect.sitting import Sitting, check_folder, locked
    from polyjudge.collect.tables import preview
    from polyjudge.collect.task import ready
    from polyjudge.collect.translate import stand_ins, translate_items

    if dry_run:
        asked, dropped = ready(read, stand_ins(read))
        return preview(read, asked, _dropped_findings(dropped))
    limit = inf if max_cost is None else max_cost
    with tempfile.TemporaryDirectory(prefix="polyjudge-") as away:
        folder = output if output is not None and not check else Path(away)
        with locked(folder):
            check_folder(folder)
            journal = Journal(folder / ANSWERS)
            translated = translate_items(read, folder, journal, limit, most=1 if check else None)
            asked, dropped = ready(read, translated.texts)
            if check:
                asked = list({call.language: (call, prompt) for call, prompt in reversed(asked)}.values())[::-1]
            kind = "check" if check else "run"
            sitting = Sitting(read, folder, asked, kind, journal=journal, spent=translated.cost)
            findings = [*translated.findings, *_dropped_findings(dropped), *sitting.compare_with_before()]
            return sitting.go(limit, findings)


def _dropped_findings(dropped: Sequence[str]) -> list[Finding]:
    text = f"{count(len(dropped), 'item')} left out, not whole in all languages: {names(dropped)}."
    return [Finding("warning", "dropped", text)] if dropped else []


def _check_arguments(output: Path | None, keeps_nothing: bool, max_cost: float | None) -> None:
    if output is None and not keeps_nothing:
        raise UsageError("Say where the run is kept: -o run/ (output=), or --dry-run to see what the plan would do.")
    if output is not None and ODD.search(str(output.absolute())):
        raise UsageError(f"Logs are lost in a path with #, ?, %20 or a line break: {shown(output.absolute(), 200)}.")
    if max_cost is not None and not 0 < max_cost < 1e9:
        raise UsageError(f"--max-cost is a number of dollars above 0, not {max_cost:g}.")


def _check_prices(plan: Plan) -> None:
    for judge in plan.judges:
        if judge.price is None or judge.max_tokens is None:
            raise UsageError(f"--max-cost needs price and max_tokens of every judge; {shown(judge.name)} lacks one.")
    step = plan.items.translate
    if step is not None and (step.price is None or "max_tokens" not in plan.settings_of(step.settings)):
        raise UsageError("--max-cost needs price and settings.max_tokens of items.translate too.")
