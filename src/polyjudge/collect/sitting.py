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
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
import rich
from inspect_ai import eval_set
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
from rich.console import Console
from rich.progress import Progress

from polyjudge.base.errors import CollectError
from polyjudge.base.files import read_json, write_text
from polyjudge.base.signals import Terminated
from polyjudge.base.text import count, names, redact, tell
from polyjudge.base.text import name as shown
from polyjudge.collect.plan import Judge, Plan, hide_keys
from polyjudge.collect.prompts import Call, load_templates
from polyjudge.collect.run import Collection
from polyjudge.collect.tables import KINDS, Asked, answers, count_calls, write_tables
from polyjudge.collect.task import ASKED, CUT, Guard, judge_task, model_of
from polyjudge.report.model import Finding

NO_ROOM = "No space left|quota exceeded|File too large|disk is full|disk I/O error"


class Sitting:
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
        made = count_calls(self.plan, self.kind, frame, said, str(self.folder))
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
            spent = count_calls(self.plan, "run", answers(self.plan, self.asked, self.found), []).cost or 0.0
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
