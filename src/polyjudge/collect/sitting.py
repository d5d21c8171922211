"""One sitting of a run: Inspect asks for what is missing, a folder holds what came back."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from hashlib import sha256
from inspect import signature
from itertools import accumulate
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd
import rich
from inspect_ai import Task
from inspect_ai import eval as eval_tasks
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from rich.console import Console
from rich.progress import Progress as Bars

from polyjudge.base.errors import CollectError
from polyjudge.base.files import read_json, write_text
from polyjudge.base.signals import Terminated
from polyjudge.base.text import count, names, redact, tell
from polyjudge.base.text import name as shown
from polyjudge.collect.guard import Guard
from polyjudge.collect.journal import ANSWERS, Journal
from polyjudge.collect.parse import parse
from polyjudge.collect.plan import Judge, Plan, hide_keys
from polyjudge.collect.prompts import Call, load_templates
from polyjudge.collect.run import Collection
from polyjudge.collect.tables import KINDS, Asked, answers, count_calls, write_tables
from polyjudge.collect.task import ASKED, CUT, judge_task, model_of, old_answer
from polyjudge.report.model import Finding

NO_ROOM = "No space left|quota exceeded|File too large|disk is full|disk I/O error"


RUN = "polyjudge-run.json"
PROMPT = "the prompt of "


class Sitting:
    """One sitting in a run folder: the plan, what it asks, and what judges have answered so far."""

    def __init__(
        self, plan: Plan, folder: Path, asked: Asked, kind: str, *, journal: Journal | None = None, spent: float = 0.0
    ) -> None:
        self.plan, self.folder, self.asked, self.kind, self.spent = plan, folder, asked, kind, spent
        self.logs = (folder / "logs").absolute()
        self.journal = journal or Journal(folder / ANSWERS)
        self.prompts = {call.id: prompt for call, prompt in asked}
        self.reminders = {language: x.reminder for (language, _), x in load_templates(plan).items()}
        self.progress = Progress(len(asked) * len(plan.judges))
        self.guards: dict[str, Guard] = {}

    # --- the plan of this sitting, beside that of the run ---

    def compare_with_before(self) -> list[Finding]:
        """Refuse a plan whose texts or settings are not those that were judged; accept more or fewer of them."""
        parts = self._parts()
        path = self.folder / RUN
        findings: list[Finding] = []
        if path.exists():
            before = _read_parts(path)
            if not self.journal.answers:
                _take_old_logs(self.logs, self.journal)
            findings += self._rename_judges(before)
            self._refuse_changes(before, parts)
            findings += self._name_what_is_gone(before, parts)
            parts = {**before, **parts}
        write_text(path, json.dumps({"format": "polyjudge-run", "version": 3, "parts": parts}, indent=0) + "\n")
        self.guards = {judge.name: self._guard_of(judge) for judge in self.plan.judges}
        return findings

    def _guard_of(self, judge: Judge) -> Guard:
        before = self.journal.answers.get(judge.name, {}).values()
        has_scored = any(parse(x.text, self.plan.rubric, x.stop).score is not None for x in before)
        is_batch = bool(judge.settings.get("batch"))
        tick = self.progress.tick
        return Guard(judge.name, self.journal, tries=judge.tries, alive=has_scored or is_batch, tick=tick)

    def _parts(self) -> dict[str, Any]:
        """What decides the answers: of texts their hashes, for they are long."""
        rubric = self.plan.rubric.model_dump(mode="json", include={"kind", "scale", "step"})
        parts: dict[str, Any] = {f"rubric.{key}": value for key, value in rubric.items()}
        for judge in self.plan.judges:
            parts |= {f"{judge.name}: {key}": value for key, value in judge.identity.items()}
        texts = {f"{PROMPT}{id}": prompt for id, prompt in self.prompts.items()}
        texts |= {f"the reminder in {language}": text for language, text in self.reminders.items()}
        return parts | {name: sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}

    def _refuse_changes(self, before: dict[str, Any], parts: dict[str, Any]) -> None:
        answers = self.journal.answers
        if not any(answers.values()):
            return  # nobody was asked yet
        unheard = tuple(f"{judge.name}: " for judge in self.plan.judges if not answers.get(judge.name))
        changed = [
            name for name, value in parts.items() if before.get(name, value) != value and not name.startswith(unheard)
        ]
        if changed:
            text = f"The plan is not the one that this run began with: {names(changed)} changed. Answers to two"
            raise CollectError(f"{text} plans do not make a panel: use a new folder (-o), or rename a judge.")

    def _rename_judges(self, before: dict[str, Any]) -> list[Finding]:
        """A judge without answers that is asked as one that left the plan was asked is the same under another name."""
        planned = {judge.name for judge in self.plan.judges}
        left = [name for name in self.journal.answers if name not in planned and self.journal.answers[name]]
        findings = []
        for judge in self.plan.judges:
            is_known = f"{judge.name}: model" in before and judge.name not in self.journal.left_names
            if is_known or self.journal.answers.get(judge.name):
                continue
            same = [name for name in left if all(before.get(f"{name}: {k}") == v for k, v in judge.identity.items())]
            if same:
                left.remove(same[0])
                self.journal.rename(same[0], judge.name)
                n_answers = count(len(self.journal.answers[judge.name]), "answer")
                text = f"{shown(judge.name)} is asked as {shown(same[0])} was: its {n_answers} are taken over."
                findings.append(Finding("notice", "renamed", text, where={"judge": judge.name}))
        return findings

    def _name_what_is_gone(self, before: dict[str, Any], parts: dict[str, Any]) -> list[Finding]:
        gone = [name for name in before if name.startswith(PROMPT) and name not in parts]
        if not gone:
            return []
        text = f"The plan lacks {count(len(gone), 'call')} of this run ({names(x.removeprefix(PROMPT) for x in gone)})"
        kept = f"The answers stay in {ANSWERS}, and are not in the tables."
        return [Finding("notice", "gone", f"{text}. {kept}")]

    # --- asking ---

    def go(self, max_cost: float, findings: list[Finding]) -> Collection:
        """Ask for all that is missing, then write down what there is."""
        try:
            self.progress.start_from(len(self.asked) * len(self.plan.judges) - self._n_missing())
            with terminable(), self.progress:
                findings += self._ask_within(max_cost)
        except (KeyboardInterrupt, Terminated):
            collection = self.write(findings)
            tell(f"stopped with {collection.scored:,} of {collection.calls:,} scores. The same command continues.")
            raise
        return self.write(findings)

    def write(self, findings: list[Finding]) -> Collection:
        """What was answered, counted and as tables."""
        frame = answers(self.plan, self.asked, self.journal)
        if self.kind == "run":
            write_tables(self.plan, self.folder, frame)
        collection = count_calls(self.plan, self.kind, frame, findings, str(self.folder))
        is_limited = any(finding.key == "limit" for finding in findings)
        return replace(collection, findings=(*self._name_gaps(frame, collection.cells, is_limited), *findings))

    def _ask_within(self, max_cost: float) -> list[Finding]:
        """Ask in slices of whole tasks whose worst case still fits into what remains of the money."""
        tasks: dict[str, list[tuple[Call, str]]] = {}
        for call, prompt in self.asked:
            tasks.setdefault(call.item.task, []).append((call, prompt))
        n_missing = self._n_missing()
        while n_missing:
            spent = count_calls(self.plan, "run", answers(self.plan, self.asked, self.journal), []).cost or 0.0
            spent += self.spent  # on translations
            costs = [self._worst_cost(calls) for calls in tasks.values()]
            n_tasks = sum(total <= max_cost - spent for total in accumulate(costs))
            funded = [x for calls in list(tasks.values())[:n_tasks] for x in calls]
            if not any(self._missing(judge, funded) for judge in self._living()):
                return [_limit_finding(max_cost, spent)]
            self._ask(funded)
            n_before, n_missing = n_missing, self._n_missing()
            if n_missing == n_before:  # what Inspect has not asked now, it would not ask in a next round
                break
        return []

    def _worst_cost(self, calls: Asked) -> float:
        """The most that the missing ones of these calls can cost, each asked for twice."""
        reminder = max(500, *(len(text.encode()) for text in self.reminders.values()))
        return sum(
            judge.worst(self.prompts[id], reminder, ASKED)
            for judge in self._living()
            for id in self._missing(judge, calls)
        )

    def _ask(self, asked: Asked) -> None:
        """One evaluation of Inspect: each judge gets those of the calls that it has not answered."""
        with quiet_inspect(self.folder):
            jobs = []
            for judge in self._living():
                failed, missing = self.journal.failures.get(judge.name, {}), set(self._missing(judge, asked))
                calls = sorted((x for x in asked if x[0].id in missing), key=lambda x: x[0].id in failed)
                if calls:
                    jobs.append(judge_task(self.plan, judge, model_of(judge), calls, self.guards[judge.name]))
            self.logs.mkdir(parents=True, exist_ok=True)
            logs = evaluate(jobs, self.logs)
            if self.journal.broken:
                raise self.journal.broken
            if any(log.error and re.search(NO_ROOM, log.error.message) for log in logs):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if len(logs) < len(jobs) or any(log.status == "cancelled" for log in logs):
                raise KeyboardInterrupt  # which Inspect keeps to itself

    def _living(self) -> list[Judge]:
        return [judge for judge in self.plan.judges if not self.guards[judge.name].dead]

    def _missing(self, judge: Judge, asked: Asked) -> list[str]:
        """Ids of the calls that the judge has not answered, and that were not given up in this sitting."""
        answered, given_up = self.journal.answers.get(judge.name, {}), self.guards[judge.name].given_up
        return [call.id for call, _ in asked if call.id not in answered and call.id not in given_up]

    def _n_missing(self) -> int:
        """Calls that judges which are not set aside have not answered."""
        return sum(len(self._missing(judge, self.asked)) for judge in self._living())

    # --- what came back ---

    def _name_gaps(self, frame: pd.DataFrame, cells: pd.DataFrame, is_limited: bool) -> Iterator[Finding]:
        """What is missing: how much, why, and where; and whether the same command asks for it."""
        n_lost = {kind: int(cells[kind].sum()) for kind in KINDS[2:] if cells[kind].sum()}
        total = count(len(frame), "call")
        if not n_lost:
            yield Finding("info", "complete", f"All {total} gave a score.")
            return
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in n_lost.items())
        text = f"{sum(n_lost.values()):,} of {total} gave no score: {kinds}. Missing: {_cells_with_gaps(cells)}."
        can_be_asked = bool(n_lost.keys() & KINDS[4:]) and self.kind == "run" and not is_limited
        again = " The same command asks again for what failed or was not asked." if can_be_asked else ""
        yield Finding("serious", "gaps", text + again)
        for judge, guard in self.guards.items():
            lines = frame[(frame["judge"] == judge) & frame["what"].isin(["failed", "unreadable"])]
            if guard.dead:
                text = (
                    f"{shown(judge)} was stopped after {count(len(guard.failing), 'failed call')} in a row: {guard.why}"
                )
                yield Finding("serious", "stopped", text, where={"judge": judge})
            elif len(lines):
                why, times = Counter(lines["missing"].replace("cut", CUT)).most_common(1)[0]
                text = f"{shown(judge)}, most often ({times:,} times): {shown(why, 300)}."
                yield Finding("warning", "why", text, where={"judge": judge})


def _read_parts(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path)["parts"])
    except (ValueError, KeyError, TypeError):
        text = f"{shown(path, 200)} is damaged, or not of a run of polyjudge. The answers are in {ANSWERS}."
        raise CollectError(f"{text} Put it back, or use a new folder (-o).") from None


def _take_old_logs(logs: Path, journal: Journal) -> None:
    """Answers of a run of an earlier version, which kept them in Inspect's logs alone."""
    for info in list_eval_logs(str(logs)) if logs.is_dir() else []:
        with suppress(ValueError, KeyError, OSError, EOFError, BadZipFile):  # half a log of a run that was killed
            log = read_eval_log(info)
            for sample in log.samples or []:
                if sample.scores and str(sample.id) not in journal.answers[log.eval.task]:
                    usages = list(sample.model_usage.values())
                    journal.add_answer(log.eval.task, str(sample.id), old_answer(sample, usages))


def _limit_finding(max_cost: float, spent: float) -> Finding:
    text = f"${spent:.2f} of ${max_cost:g} is spent, and the next task could cost more than what remains, at its worst."
    return Finding("notice", "limit", f"{text} Raise --max-cost to continue.")


def _cells_with_gaps(cells: pd.DataFrame) -> str:
    gone = cells.assign(missing=cells["calls"] - cells["scored"]).query("missing > 0")
    rows = gone.sort_values("missing", ascending=False, kind="stable").itertuples()
    places = [f"{shown(r.judge)} in {shown(r.language)} {r.missing:,} of {r.calls:,}" for r in rows]
    return ", ".join(places[:6]) + (f" and {len(places) - 6} more" if len(places) > 6 else "")


def evaluate(jobs: list[Task], logs: Path) -> list[EvalLog]:
    """Run the jobs side by side, each with a log of its own."""
    wanted = {"display": "none", "log_level": "critical", "score_display": False, "ctl_server": False}
    quiet = {name: value for name, value in wanted.items() if name in signature(eval_tasks).parameters}
    return eval_tasks(jobs, log_dir=str(logs), max_tasks=len(jobs), fail_on_error=False, **quiet)


def check_folder(folder: Path) -> None:
    """Refuse a folder of other files."""
    ours = {".lock", RUN, ANSWERS, "logs", "translations.csv"}
    if not (folder / RUN).exists() and any(path.name not in ours for path in folder.iterdir()):
        raise CollectError(f"{shown(folder, 200)} holds other files, and no run. Use a new folder (-o).")


class Progress:
    """How many calls were answered: a bar on a terminal, elsewhere a line each half minute."""

    EVERY = 30.0

    def __init__(self, total: int, noun: str = "answers") -> None:
        self.total, self.noun, self.n_failed, self.n_answered = total, noun, 0, 0
        self.bars = Bars(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self.bar = self.bars.add_task(noun, total=total)
        self.ended = threading.Event()

    def start_from(self, n_answered: int) -> None:
        """So many were answered in earlier sittings."""
        self.n_answered = n_answered
        self.bars.update(self.bar, completed=n_answered)

    def tick(self, is_answered: bool) -> None:
        """A call was answered, or a try of one failed."""
        self.n_answered += is_answered
        self.n_failed += not is_answered
        self.bars.update(self.bar, completed=self.n_answered, description=self._failed(self.noun))

    def __enter__(self) -> None:
        self.bars.__enter__()
        if not sys.stderr.isatty():
            threading.Thread(target=self._tell_now_and_then, daemon=True).start()

    def __exit__(self, *error: Any) -> None:
        self.ended.set()
        self.bars.__exit__(*error)

    def _failed(self, text: str) -> str:
        return f"{text}, {count(self.n_failed, 'failed attempt')}"

    def _tell_now_and_then(self) -> None:
        while not self.ended.wait(self.EVERY):
            tell(self._failed(f"{self.n_answered:,} of {self.total:,} {self.noun}"))


# --- around a run ---


@contextmanager
def terminable() -> Iterator[None]:
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
def quiet_inspect(folder: Path) -> Iterator[None]:
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
def locked(folder: Path) -> Iterator[None]:
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
