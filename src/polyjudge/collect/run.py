"""Run the judges of a plan and keep every answer: Inspect asks, a folder holds what came back (docs/collect.md)."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
import rich
from inspect_ai import eval_set
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
from rich.console import Console
from rich.progress import Progress

from polyjudge.base.errors import CollectError, UsageError
from polyjudge.base.files import atomic_path, read_json, write_text
from polyjudge.base.signals import Terminated
from polyjudge.base.text import count, names, redact, shell, tell
from polyjudge.base.text import name as shown
from polyjudge.collect.languages import tokens
from polyjudge.collect.plan import ODD, Judge, Plan, hide_keys, load_plan
from polyjudge.collect.prompts import Call, load_templates
from polyjudge.collect.task import ASKED, CUT, STOPPED, Guard, judge_task, model_of, ready
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table

NO_ROOM = "No space left|quota exceeded|File too large|disk is full|disk I/O error"
KINDS = ("calls", "scored", "refused", "unreadable", "failed", "not asked")
OUTPUT = 100  # output tokens guessed per call (the paper's took 94)
COLUMNS = ("judge", "model", "calls", "scored", "input_tokens", "output_tokens", "cost")
AT = ["task", "system", "version", "language", "wording", "judge", "replicate"]
Asked = Sequence[tuple[Call, str]]  # calls with their prompts


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
        after = (step,) if self.kind == "run" and self.scored else ()
        return Report("collect", heading, (), self.findings, table, after, tuple(sections))


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
    if output is None and not (dry_run or check):
        raise UsageError("Say where the run is kept: -o run/ (output=), or --dry-run to see what the plan would do.")
    if output is not None and ODD.search(str(output.absolute())):
        raise UsageError(f"Logs are lost in a path with #, ?, %20 or a line break: {shown(output.absolute(), 200)}.")
    if max_cost is not None and not 0 < max_cost < 1e9:
        raise UsageError(f"--max-cost is a number of dollars above 0, not {max_cost:g}.")
    read = load_plan(plan)
    for judge in read.judges if max_cost is not None else ():
        if judge.price is None or judge.max_tokens is None:
            raise UsageError(f"--max-cost needs price and max_tokens of every judge; {shown(judge.name)} lacks one.")
    asked, dropped = ready(read)
    gone = f"{count(len(dropped), 'item')} left out, not whole in all languages: {names(dropped)}."
    said = [Finding("warning", "dropped", gone)] if dropped else []
    if dry_run:
        return _preview(read, asked, said)
    with tempfile.TemporaryDirectory(prefix="polyjudge-") as away:
        folder = output if output is not None and not check else Path(away)
        if check:
            asked = list({call.language: (call, prompt) for call, prompt in reversed(asked)}.values())[::-1]
        with _locked(folder):
            run = _Run(read, folder, asked, "check" if check else "run")
            run.compare_with_before()
            return run.go(inf if max_cost is None else max_cost, said)


class _Run:
    """One sitting in a run folder."""

    def __init__(self, plan: Plan, folder: Path, asked: Asked, kind: str) -> None:
        self.plan, self.folder, self.asked, self.kind = plan, folder, asked, kind
        self.logs = (folder / "logs").absolute()
        self.guards = {j.name: Guard(self.tick, careful=not j.settings.get("batch")) for j in plan.judges}
        self.prompts = {call.id: prompt for call, prompt in asked}
        self.reminders = {language: x.reminder for (language, _), x in load_templates(plan).items()}
        self.found: dict[str, dict[str, Any]] = {}
        self.failed = 0
        self.bars = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self.bar = self.bars.add_task("answers", total=len(asked) * len(plan.judges))

    def tick(self, ok: bool) -> None:
        """A call ended: move the line of progress."""
        self.failed += not ok
        self.bars.update(self.bar, advance=ok, description=f"answers, {count(self.failed, 'failed attempt')}")

    # --- the change guard ---

    def compare_with_before(self) -> None:
        """Refuse a plan whose texts or settings are not those that were judged; accept more of them."""
        path = self.folder / "polyjudge-run.json"
        rubric = self.plan.rubric.model_dump(mode="json", include={"kind", "scale", "step"})
        parts: dict[str, Any] = {f"rubric.{k}": v for k, v in rubric.items()}
        parts |= {f"{j.name}: {k}": v for j in self.plan.judges for k, v in j.identity.items()}
        texts = {f"the prompt of {id_}": prompt for id_, prompt in self.prompts.items()}
        texts |= {f"the reminder in {language}": text for language, text in self.reminders.items()}
        parts |= {k: sha256(text.encode()).hexdigest()[:16] for k, text in texts.items()}
        if path.exists():
            try:
                before = dict(read_json(path)["parts"])
            except (ValueError, KeyError, TypeError):
                text = f"{shown(path, 200)} is damaged, or not of a run of polyjudge. The answers are in logs/."
                raise CollectError(f"{text} Put it back, or use a new folder (-o).") from None
            self.read_logs()
            before = before if any(self.logs.glob("*")) else {}  # nobody was asked yet
            new = tuple(f"{j}: " for j, found in self.found.items() if not any(s.scores for s in found.values()))
            if changed := [k for k, v in parts.items() if before.get(k, v) != v and not k.startswith(new)]:
                text = f"The plan is not the one that this run began with: {names(changed)} changed. Answers to two"
                raise CollectError(f"{text} plans do not make a panel: use a new folder (-o), or rename a judge.")
            if gone := [k for k in before if k.startswith("the prompt of ") and k not in parts]:
                text = f"A run may grow, not shrink, and the plan lacks {count(len(gone), 'call')} of it: {names(gone)}"
                raise CollectError(f"{text}. Put them back, or use a new folder (-o).")
            parts = {**before, **parts}
        elif any(p.name != ".lock" for p in self.folder.iterdir()):
            raise CollectError(f"{shown(self.folder, 200)} holds other files, and no run. Use a new folder (-o).")
        made = {"format": "polyjudge-run", "version": 2, "parts": parts}
        write_text(path, json.dumps(made, indent=0) + "\n")

    # --- asking ---

    def go(self, max_cost: float, said: list[Finding]) -> Collection:
        """Ask for all that is missing, then write down what there is."""
        try:
            with _terminable(), self.bars:
                self.read_logs()
                said += self.in_slices(max_cost)
        except (KeyboardInterrupt, Terminated):
            made = self.written(said)
            tell(f"stopped with {made.scored:,} of {made.calls:,} scores. The same command continues.")
            raise
        return self.written(said)

    def written(self, said: list[Finding]) -> Collection:
        """What the logs hold, counted and as tables."""
        self.read_logs()
        frame = answers(self.plan, self.asked, self.found)
        if self.kind == "run":
            write_tables(self.plan, self.folder, frame)
        made = _collection(self.plan, self.kind, frame, said, str(self.folder))
        return replace(made, findings=(*self.gaps(frame, made.cells), *said))

    def ask(self, asked: Asked) -> None:
        """One sitting of Inspect over all judges that lack one of these answers."""
        with _inspect(self.folder):
            jobs = []
            for judge in (j for j in self.plan.judges if self.missing(j, asked) and not self.guards[j.name].dead):
                guard, known = self.guards[judge.name], self.found[judge.name]
                guard.before = set(known)
                guard.alive |= any(s.scores and pd.notna(s.scores["verdict"].value) for s in known.values())
                new, old = ([x for x in asked if (x[0].id in known) is again] for again in (False, True))
                jobs.append(judge_task(self.plan, judge, model_of(judge), new + old, guard))
            if jobs:
                self.logs.mkdir(parents=True, exist_ok=True)
                again = {"retry_attempts": 1, "retry_immediate": False, "continue_on_fail": True}
                quiet = {"display": "none", "log_level": "critical", "ctl_server": False, "score_display": False}
                # the folder may hold logs of judges that have left the plan
                folder = {"log_dir": str(self.logs), "log_dir_allow_dirty": True}
                _, logs = eval_set(jobs, max_tasks=len(jobs), **folder, **again, **quiet)
                if any(log.error and re.search(NO_ROOM, log.error.message) for log in logs):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if len(logs) < len(jobs) or any(log.status == "cancelled" for log in logs):
                    raise KeyboardInterrupt  # which Inspect keeps to itself

    def missing(self, judge: Judge, asked: Asked) -> list[str]:
        """Ids of the calls that the judge has not answered, and that were not given up in this sitting."""
        done, lost = self.found.get(judge.name, {}), self.guards[judge.name].lost
        return [x.id for x, _ in asked if x.id not in lost and (x.id not in done or not done[x.id].scores)]

    def in_slices(self, max_cost: float) -> list[Finding]:
        """Ask in slices of whole tasks whose worst case still fits into what is left of the money."""
        by_task: dict[str, list[tuple[Call, str]]] = defaultdict(list)
        for call, prompt in self.asked:
            by_task[call.item.task].append((call, prompt))
        tasks, seen = list(by_task.values()), {x for found in self.found.values() for x in found}
        upto = max([i for i, calls in enumerate(tasks) if any(c.id in seen for c, _ in calls)], default=-1)
        more = max(500, *(len(x.encode()) for x in self.reminders.values()))
        while upto < len(tasks):
            spent = _collection(self.plan, "run", answers(self.plan, self.asked, self.found), []).cost or 0.0
            alive = [j for j in self.plan.judges if not self.guards[j.name].dead]
            waiting = [[(j, x) for j in alive for x in self.missing(j, calls)] for calls in tasks]
            if not any(waiting):
                break
            costs = [sum(j.worst(self.prompts[x], more, ASKED) for j, x in calls) for calls in waiting]
            fits = sum(most <= max_cost - spent for most in accumulate(costs))
            if fits <= upto:  # Inspect drops what a later slice lacks: a slice never shrinks
                text = (
                    f"The limit of ${max_cost:g} is near: ${spent:.2f} is spent, and the next task may cost more than"
                )
                return [Finding("notice", "limit", f"{text} is left. Raise --max-cost to continue.")]
            self.ask([x for calls in tasks[:fits] for x in calls])
            self.read_logs()
            upto = fits
        return []

    # --- what came back ---

    def read_logs(self) -> None:
        """By judge and id of the sample, what the newest log that holds an answer says of it."""
        self.found = {judge: {} for judge in self.guards}
        logs = list_eval_logs(str(self.logs)) if self.logs.is_dir() else []
        for info in sorted(logs, key=lambda x: x.mtime or 0):
            with suppress(ValueError, KeyError, OSError, EOFError):  # half a log of a run that was killed
                known = self.found.get(read_eval_log(info, header_only=True).eval.task)
                for sample in read_eval_log_sample_summaries(info) if known is not None else ():
                    if known is not None and (sample.scores or str(sample.id) not in known):
                        known[str(sample.id)] = sample
        done = sum(bool(s.scores) for found in self.found.values() for s in found.values())
        self.bars.update(self.bar, completed=done)

    def gaps(self, frame: pd.DataFrame, cells: pd.DataFrame) -> Iterator[Finding]:
        """What is missing: how much, why, and where."""
        lost = {k: int(cells[k].sum()) for k in KINDS[2:] if cells[k].sum()}
        total = count(len(frame), "call")
        if not lost:
            yield Finding("info", "complete", f"All {total} gave a score.")
            return
        again = " The same command asks again for what failed or was not asked." if lost.keys() & KINDS[4:] else ""
        said = f"{sum(lost.values()):,} of {total} gave no score: {', '.join(f'{n:,} {k}' for k, n in lost.items())}."
        gone = cells.assign(missing=cells["calls"] - cells["scored"]).query("missing > 0")
        rows = gone.sort_values("missing", ascending=False, kind="stable").itertuples()
        at = [f"{shown(r.judge)} in {shown(r.language)} {r.missing:,} of {r.calls:,}" for r in rows]
        where = ", ".join(at[:6]) + (f" and {len(at) - 6} more" if len(at) > 6 else "")
        yield Finding("serious", "gaps", f"{said} Missing: {where}.{again if self.kind == 'run' else ''}")
        for judge, guard in self.guards.items():
            lines = frame[(frame["judge"] == judge) & frame["what"].isin(["failed", "unreadable"])]
            if guard.dead:
                why = shown(hide_keys(redact(guard.why)), 300)
                text = f"{shown(judge)} was stopped after {count(len(guard.row), 'failed call')} in a row: {why}"
                yield Finding("serious", "stopped", text, where={"judge": judge})
            elif len(lines):
                why, times = Counter(lines["missing"].replace("cut", CUT)).most_common(1)[0]
                text = f"{shown(judge)}, most often ({times:,} times): {shown(why, 300)}."
                yield Finding("warning", "why", text, where={"judge": judge})


def _collection(plan: Plan, kind: str, frame: pd.DataFrame, said: Sequence[Finding], folder: str = "") -> Collection:
    """What became of the calls, counted by judge and by cell, and what it took: tokens in and out, dollars."""
    language = frame["language"].where(frame["wording"] == "", frame["wording"])
    kinds = pd.get_dummies(frame["what"]).reindex(columns=list(KINDS[1:]), fill_value=0)
    cells = kinds.groupby([frame["judge"], language.rename("language")], sort=False).sum()
    cells.insert(0, "calls", cells.sum(axis=1))
    total = cells.groupby("judge")[["calls", "scored"]].sum()
    used = frame.groupby("judge")[["input_tokens", "output_tokens"]].sum()
    rows = []
    for judge in plan.judges:
        counts = [int(x) for x in (*total.loc[judge.name], *used.loc[judge.name])]
        rows.append((judge.name, judge.model, *counts, judge.dollars(*counts[2:])))
    board = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"cost": float})
    if kind == "dry run":
        board, cells = board.drop(columns="scored"), cells[["calls"]]
    cost = None if board["cost"].isna().any() else float(board["cost"].sum())
    calls, scored = (int(x) for x in total.sum())
    by = "wording" if plan.wordings else "language"
    return Collection(plan.name, kind, calls, scored, cost, board, cells.reset_index(), tuple(said), folder, by)


def _preview(plan: Plan, asked: Asked, said: list[Finding]) -> Collection:
    """What a plan would take: calls, tokens with the system message, dollars."""
    frame, estimates = answers(plan, asked, {}), []
    for judge in plan.judges:
        system = tokens(str(judge.settings.get("system_message", "")), "en", judge.model)
        estimates += [tokens(prompt, call.language, judge.model) + system + 8 for call, prompt in asked]
    frame["input_tokens"] = estimates
    frame["output_tokens"] = [min(OUTPUT, judge.max_tokens or OUTPUT) for judge in plan.judges for _ in asked]
    found = _collection(plan, "dry run", frame, said)
    prompts: dict[str, str] = {}
    for call, prompt in asked:
        prompts.setdefault(call.wording or call.language, prompt)
    items = count(len({(c.item.task, c.item.system) for c, _ in asked if not c.item.version}), "item")
    judges, calls = count(len(plan.judges), "judge"), count(found.calls, "call")
    dollars = "" if found.cost is None else f", about ${found.cost:,.2f}"
    text = f"{items} x {count(len(prompts), found.by)} x {judges}: {calls}{dollars}. No judge was called."
    guess = "Tokens are estimated from the text, give or take a third; those of the output are a guess."
    if unpriced := [j.name for j in plan.judges if j.price is None]:
        guess += f" No total cost is shown for want of a price: {names(unpriced)}."
    findings = Finding("info", "plan", text), Finding("info", "estimate", guess), *said
    return replace(found, findings=findings, prompts=prompts)


# --- tables ---


def answers(plan: Plan, asked: Asked, found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each judge and call: where it stands, its score, its reason, and what became of it."""
    rows = []
    for judge in plan.judges:
        samples = found.get(judge.name, {})
        for call, prompt in asked:
            sample, item = samples.get(call.id), call.item
            score = reason = why = None
            if sample is not None and sample.scores:
                verdict = sample.scores["verdict"]
                score, reason = float(verdict.value), hide_keys(verdict.explanation or "")[:1000]
                why = (verdict.metadata or {}).get("how", "")
                what = "scored" if score == score else "refused" if why == "refused" else "unreadable"
            elif sample is None or re.match(f"CancelledError|.*{STOPPED}", str(sample.error)):
                what = why = "not asked"
            else:
                what, why = "failed", f"failed: {' '.join(hide_keys(redact(str(sample.error or ''))).split())[:300]}"
            usages = list(sample.model_usage.values()) if sample is not None else []
            cached = sum((u.input_tokens_cache_read or 0) + (u.input_tokens_cache_write or 0) for u in usages)
            sent = cached + sum(u.input_tokens for u in usages)
            got = sum(u.output_tokens for u in usages)
            if sample is not None and sample.scores and not got:  # what a service does not count is put at its worst
                times = (verdict.metadata or {}).get("asked", 1)
                sent, got = (times * n for n in (judge.size(prompt), judge.max_tokens or 0))
            at = (item.task, item.system, item.version, call.language, call.wording, judge.name, call.replicate)
            rows.append((*at, call.part, score, reason, "" if what == "scored" else why, what, sent, got, item))
    columns = [*AT, "part", "score", "reason", "missing", "what", "input_tokens", "output_tokens", "item"]
    return pd.DataFrame(rows, columns=columns).astype({"score": float})


def write_tables(plan: Plan, folder: Path, frame: pd.DataFrame) -> None:
    """All tables of a run, each whole or not at all. The score of a pair is that of the chosen answer less that of the
    rejected, of a comparison the percent for the chosen one in both orders, of a checklist the percent satisfied."""
    kind = plan.rubric.kind
    value = frame["score"].copy()
    if kind == "pair":
        value *= frame["part"].map({"chosen": 2.0, "rejected": -2.0})
    if kind == "compare":
        value = value.where(frame["part"] == "AB", 100 - value)
    groups = frame.assign(value=value).groupby(AT, sort=False)
    whole = groups["value"].count() == groups.size()
    kept = {c: (c, "max" if c == "missing" else "first") for c in ("reason", "missing", "item")}
    scores = groups.agg(score=("value", "mean"), **kept)
    scores["score"] = scores["score"].where(whole)
    if kind == "pair":
        scores = scores.join(frame.set_index([*AT, "part"])["score"].unstack("part"))
    scores = scores.reset_index()
    if kind == "checklist":
        verdicts = _verdicts(frame)
        met = 100 * verdicts.groupby(AT, sort=False)["with_prerequisites"].agg(lambda x: float(x.mean(skipna=False)))
        scores = scores.drop(columns="reason").join(met, on=AT)
        _csv(plan, folder / "verdicts.csv", verdicts)
    if kind == "compare":
        other = {"AB": ("chosen", "rejected"), "BA": ("rejected", "chosen")}
        orders = frame[[*AT, "part", "reason", "item"]].assign(won=frame["score"] / 100)
        orders[["first", "second"]] = [other[part] for part in frame["part"]]
        _csv(plan, folder / "orders.csv", orders.drop(columns="part"))
    for column in plan.items.keep:
        scores[column] = [item.keep[column] for item in scores["item"]]
    probes = scores["version"] != ""
    if probes.any():
        _csv(plan, folder / "probes.csv", scores[probes].assign(share=[x.share for x in scores["item"][probes]]))
    _csv(plan, folder / "scores.csv", scores[~probes])
    items = {(item.task, item.system): item for item in frame["item"] if not item.version}.values()
    languages = frame["language"].unique()
    rows = [{"task": x.task, "system": x.system, "language": c, **x.fields[c]} for x in items for c in languages]
    _csv(plan, folder / "texts.csv", pd.DataFrame(rows))


def _verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """Each requirement with its verdict (1, 0 or nothing), and whether it counts with its prerequisites."""
    rows: list[tuple[Any, ...]] = []
    for at, group in frame.groupby(AT, sort=False):
        item = group["item"].iloc[0]
        lines = item.requirements[at[AT.index("language")]]
        needs = {r.id: r.needs for r in lines}
        got = dict(zip(group["part"], group["score"] / 100, strict=True))
        for r, why in zip(lines, group["reason"], strict=True):
            chain = [r.id]
            for id_ in chain:  # which grows
                chain += [x for x in needs[id_] if x not in chain]
            met = min((got[x] for x in chain), key=lambda x: (x != 0, x == x))  # one that is not met, else one unknown
            rows.append((*at, r.id, r.type, " ".join(r.needs), got[r.id], met, why, item))
    columns = [*AT, "requirement", "type", "prerequisites", "satisfied", "with_prerequisites", "reason", "item"]
    return pd.DataFrame(rows, columns=columns)


def _csv(plan: Plan, path: Path, frame: pd.DataFrame) -> None:
    """A table without unused columns, and without control characters, for one NUL makes a file no text to others."""
    unused = ["item", *(c for c in ("system", "version", "wording") if c in frame and not frame[c].any())]
    unused += ["replicate"] if plan.replicates == 1 else []
    unused += ["language"] if plan.wordings and "wording" in frame else []
    with atomic_path(path) as part:
        kept = frame.drop(columns=unused, errors="ignore").replace(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", "", regex=True)
        kept.to_csv(part, index=False, float_format="%.10g")


# --- around a run ---


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: Inspect closes its logs, and no traceback is shown."""
    came: list[int] = []

    def stop(*_: object) -> None:
        came.append(1)
        signal.raise_signal(signal.SIGINT)

    main = threading.current_thread() is threading.main_thread()
    # a job in the background begins without a handler of interrupts
    ours: dict[signal.Signals, Any] = {signal.SIGTERM: stop, signal.SIGINT: signal.default_int_handler} if main else {}
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}
    try:
        yield
    except KeyboardInterrupt:
        if came:
            raise Terminated from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _inspect(folder: Path) -> Iterator[None]:
    """Inspect without what it says on standard output, which is ours; a full disk is called a full disk, whichever
    error it stands behind, and what Inspect says of a model that it cannot set up becomes an error of ours."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    raising, logging.raiseExceptions = logging.raiseExceptions, False  # of a log that the disk has no room for
    try:
        with redirect_stdout(sys.stderr):  # what it says of batches
            yield
    except Exception as error:
        if re.search(NO_ROOM, "".join(traceback.format_exception(error))):
            text = f"The disk is full, a quota is reached, or it fails ({shown(folder, 200)} or Inspect's data folder)"
            again = "Make room: the same command continues, and what was kept is not asked again"
            raise CollectError(f"{text}. {again}.") from None
        if type(error).__name__ not in ("PrerequisiteError", "ValueError", "TypeError"):
            raise
        said = re.sub(r"\[/?[a-z]+\]|ERROR: ", "", " ".join(str(getattr(error, "message", error)).split()))
        raise CollectError(f"A judge cannot be called: {shown(hide_keys(redact(said)), 400)}") from None
    finally:
        console.quiet, logging.raiseExceptions = before, raising


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder, for one process at a time (not on Windows)."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        try:
            with suppress(ImportError):
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CollectError(f"Another process is collecting into {shown(folder, 200)}: wait for it.") from None
        yield
