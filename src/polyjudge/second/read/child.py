"""Run as a process of its own, with a limit of memory: readers of others that allocate what a file says.

    python child.py LIMIT excel FILE [SHEET]      python child.py LIMIT inspect FILE ...

Writes one JSON value in each line. It is started by its path and imports nothing of the package: that would take half
as long again.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's letter grades: correct, partial, incorrect, no answer."""

OWN = "polyjudge"
"""In the metadata of a score that was calibrated here: it is no grader's, and is not read as one."""


def _limit(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CORE):
        most = 0 if kind == resource.RLIMIT_CORE else size
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _excel(path: str, sheet: str = "") -> Iterator[Any]:
    """The names of the sheets, then [sheet, row] of those with something in them, without empty ends and rows."""
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(path)
    yield book.sheet_names
    for name in book.sheet_names:
        if sheet in ("", name):
            for row in book.get_sheet_by_name(name).iter_rows():
                cells = [c if isinstance(c, (str, int, float, bool)) else str(c) for c in row]
                while cells and cells[-1] == "":
                    cells.pop()
                if cells:
                    yield [name, cells]


def inspect_rows(path: str) -> Iterator[dict[str, Any]]:
    """The scores of one Inspect log, each with what is said about its sample, its task's arguments and the eval.

    The judge is the model a scorer grades with, else the model in the role `grader`, else the scorer where samples have
    several. The evaluated model is what is judged, unless the user says that it judges.
    """
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(path)
    except Exception as error:  # a broken or foreign file, whatever the reader makes of it
        raise ValueError(f"{os.path.basename(path)} is no Inspect log ({error})") from None
    role = (log.eval.model_roles or {}).get("grader")
    fallback = None if role is None else str(getattr(role, "model", role))
    common = {**(log.eval.metadata or {}), **(log.eval.task_args or {})}
    graders = [_graders(scorer) for scorer in log.eval.scorers or []]
    for sample in log.samples or []:
        about = {k: v for k, v in {**common, **(sample.metadata or {})}.items() if not isinstance(v, list)}
        given = {n: score for n, score in (sample.scores or {}).items() if OWN not in (score.metadata or {})}
        for place, (scorer, score) in enumerate(given.items()):
            known = graders[place] if len(graders) == len(given) else []
            for judge, value, lost in _parts(score.value, known, scorer):
                yield {
                    "task": str(sample.id),
                    "judge": judge or fallback,
                    "replicate": str(sample.epoch),
                    "score": value,
                    "scorer": scorer if len(known) <= 1 or judge is None else "",
                    "evaluated_model": str(log.eval.model),
                    "log": os.path.basename(path),
                    "status": str(log.status),
                    "lost": lost,
                    "about": about,
                }


def _graders(scorer: Any) -> list[str]:
    """The models a scorer grades with, in order; empty when its options do not name them."""
    options = scorer.options or {}
    if isinstance(options.get("scorers"), list):
        each = [s.get("params") or {} for s in options["scorers"] if isinstance(s, dict)]
        names = ["".join(_models(p.get("model"))[:1]) for p in each]
        titles = [str(s.get("name", "")) for s in options["scorers"] if isinstance(s, dict)]
        return names if all(names) and len(set(names)) == len(names) else [f"{t} {i}" for i, t in enumerate(titles, 1)]
    return _models(options.get("model"))


def _models(option: Any) -> list[str]:
    """The names in a scorer's option `model`: a name, a model that was made before (logged as a dict), or a list."""
    if isinstance(option, list):
        return [name for one in option for name in _models(one)[:1]]
    name = option.get("model") or option.get("name") if isinstance(option, dict) else option
    return [name] if isinstance(name, str) and name else []


def _parts(value: Any, known: list[str], scorer: str) -> Iterator[tuple[str | None, float, bool]]:
    """Judge (None: of the log), number, and whether it was lost: a single value, a list by grader, or a dictionary."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key), number(inner), False
    elif isinstance(value, (list, tuple)):
        if known and len(known) != len(value):
            yield from ((judge, math.nan, i == 0) for i, judge in enumerate(known))  # unscored graders are dropped
            return
        names = known or [f"{scorer} {i}" for i in range(1, len(value) + 1)]
        yield from ((judge, number(inner), False) for judge, inner in zip(names, value, strict=True))
    else:
        yield (known[0] if len(known) == 1 else None), number(value), False


def number(value: Any) -> float:
    """A score's value as a number; NaN when it is none."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        try:
            value = json.loads(value)
        except ValueError:
            return math.nan
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else math.nan


def main() -> None:
    """Write what is read; of an error one line {"error": its text}."""
    limit, kind, *given = sys.argv[1:]
    _limit(int(limit))
    try:
        logs = ([path, row] for path in given for row in inspect_rows(path))
        for value in _excel(*given) if kind == "excel" else logs:
            sys.stdout.write(json.dumps(value) + "\n")
    except MemoryError:
        sys.exit(9)
    except Exception as error:  # whatever the reader makes of a broken file
        sys.stdout.write(json.dumps({"error": f"{type(error).__name__}: {error}"[:400]}) + "\n")


if __name__ == "__main__":
    sys.path.pop(0)  # the modules beside this one are no modules of their own
    main()
